"""Compiling with the host's C++ compiler: kernels for the CPU device, and the native host methods.

A program becomes an executable of its own (`devices/cpu_runtime` says why).
"""

from __future__ import annotations

import functools
import os
import platform
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cached, finished, preprocessed, run_compiler
from cudamm.compile.elf import check_elf, sections
from cudamm.compile.program import Program
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import without_comments

STATIC_SHARED_BYTES = 48 * 1024
"""The most a kernel may declare, on every GPU."""

ELF_THREAD_LOCAL = 0x400
"""Section flag SHF_TLS."""

_INSTRUMENTED = ["-O0", "-gdwarf-4", "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-DCUDAMM_OBSERVED",
                 "-fno-strict-aliasing", "-fwrapv", "-w"]  # fmt: skip
"""Each access to memory as it is written, and a call ahead of it: `observe.cpp` says what for."""

RUNTIME = Path(__file__).resolve().parents[1] / "devices" / "cpu_runtime"


@dataclass(frozen=True)
class Executable:
    """A program compiled for the host: a file to run, driven as `runtime.cpp` describes."""

    path: Path


@dataclass(frozen=True)
class _Compiler:
    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version


def compile_for_host(program: Program) -> Executable:
    """Compile a program, or take it from the cache.

    Raises:
        KernelError: it does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no C++ compiler.
    """
    # The machine's own instructions, fused multiply-add among them, and no reordering of sums. CUDA code
    # casts between pointer types freely and counts on 32-bit ints wrapping around.
    options = ["-O3", "-march=native", "-ffp-contract=fast" if program.fmad else "-ffp-contract=off",
               "-fno-strict-aliasing", "-fstack-clash-protection", "-fwrapv", "-w"]  # fmt: skip
    if not compiler().is_clang:
        options.append("-fno-extern-tls-init")  # a dynamic array needs no initialisation on first use
    if program.include_folder:
        options.append(f"-I{program.include_folder}")
    kernel = _compile(_main_file(program), options, includes=program.include_folder is not None)
    static_bytes = _static_shared_bytes(kernel)
    if static_bytes > STATIC_SHARED_BYTES and not program.method.runs_on_host:
        raise KernelError(
            f"does not compile: it declares {static_bytes:,} bytes of static shared memory, and a kernel may "
            f"declare {STATIC_SHARED_BYTES:,} (more has to be dynamic)"
        )
    return _linked([kernel, _compile(_dynamic_shared_file(program), _RUNTIME_OPTIONS)], "runtime.cpp")


def compile_to_observe(program: Program) -> Executable:
    """The same with every access to memory instrumented; driven as `observe.cpp` describes too.

    Raises:
        KernelError: it does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no C++ compiler.
    """
    options = list(_INSTRUMENTED)
    if compiler().is_clang:  # a read in `x += y` is one too
        options += ["-mllvm", "-tsan-instrument-read-before-write"]
    else:
        options.append("-fno-extern-tls-init")
    if program.include_folder:
        options.append(f"-I{program.include_folder}")
    kernel = _compile(_main_file(program), options, includes=program.include_folder is not None)
    parts = [kernel, _compile(_dynamic_shared_file(program), [*_RUNTIME_OPTIONS, "-DCUDAMM_OBSERVED"])]
    wrapped = ["-Wl,--wrap=memcpy"] if compiler().is_clang else []
    return _linked(parts, "runtime.cpp", "observe.cpp", options=wrapped)


_RUNTIME_OPTIONS = ["-O2", "-pthread"]


def _linked(parts: list[Path], *runtime: str, options: Sequence[str] = ()) -> Executable:
    """An executable of a kernel's parts and of ours."""
    parts = [*parts, *(_compile((RUNTIME / name).read_text(), _RUNTIME_OPTIONS) for name in runtime)]
    link = [*compiler().command, "-pthread", *options, *map(str, parts), "-o"]
    return Executable(
        cached([*options, *(p.name for p in parts)], ".kernel", lambda path: run_compiler([*link, str(path)]))
    )


@functools.cache
def compiler() -> _Compiler:
    """The host's C++ compiler: $CXX, else g++, c++ or clang++. Raises NoDeviceError where there is none."""
    chosen = os.environ.get("CXX")
    for name in [chosen] if chosen else ["g++", "c++", "clang++"]:
        command = shlex.split(name)
        if not shutil.which(command[0]):
            continue
        return _Compiler(tuple(command), _version([*command, "--version"]))
    wanted = (
        f"$CXX is {chosen}, which is not there" if chosen else "no C++ compiler was found (g++, c++, clang++)"
    )
    raise NoDeviceError(f"{wanted}: install one, for example with: apt install g++")


def _version(asked: list[str]) -> str:
    """Return the first line that the compiler answers. Raises NoDeviceError if the compiler does not work."""
    done = finished(asked)
    if done.returncode != 0:
        shown, status = shlex.join(asked), done.returncode
        raise NoDeviceError(f"the C++ compiler {asked[0]} does not work: {shown} ends with {status}")
    return done.stdout.split("\n")[0]


@functools.cache
def _processor() -> str:
    """What -march=native depends on: a cache shared between machines must not mix them up."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    wanted = re.findall(r"^(?:model name|flags|Features)\s*:.*$", cpuinfo.split("\n\n")[0], re.MULTILINE)
    return "\n".join([platform.machine(), *wanted])


def _compile(source: str, options: list[str], includes: bool = False) -> Path:
    """Compile C++ to an object file in the cache, named by what it was made from.

    Args:
        includes: whether it includes more than our own header: what those files hold counts as well.
    """
    folders = [f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}"]
    command = [*compiler().command, "-std=c++17", *options, *folders, "-x", "c++", "-"]
    whole = preprocessed([*command, "-E"], source) if includes else source
    headers = [path.read_text() for path in sorted(RUNTIME.rglob("*.h"))]
    made_from = [whole, *headers, *command, compiler().version, _processor()]

    def make(target: Path) -> None:
        run_compiler([*command, "-c", "-o", str(target)], source)
        check_elf(target.read_bytes())  # what is no object file must not be kept

    return cached(made_from, ".o", make)


def _static_shared_bytes(object_file: Path) -> int:
    """What a kernel's `__shared__` variables take: the sizes of its object's thread-local sections."""
    return sum(s.size_bytes for s in sections(object_file.read_bytes()) if s.flags & ELF_THREAD_LOCAL)


def _main_file(program: Program) -> str:
    """The kernel's file between the header that gives it CUDA and what the runtime needs to know of it."""
    method = program.method
    constants = "".join(f'{{"{name}", (void*)&{name}, sizeof {name}}}, ' for name, _ in method.constants)
    return f"""#include "cuda_on_cpu.h"
{program.text}
namespace cudamm {{
static void call_kernel(const Argument* arguments) {{ call(&::{method.entry}, arguments); }}
static const Constant constants[] = {{ {constants}{{nullptr, nullptr, 0}} }};
const Kernel kernel = {{call_kernel, constants, {len(method.constants)}}};
}}
"""


def _dynamic_shared_file(program: Program) -> str:
    """The array that all `extern __shared__` arrays of a kernel stand for, under each of their names.

    A file of its own, because here they have not the types that they have in the kernel's.
    """
    code = without_comments(program.text)
    declarations = (
        d for d in re.split("[;{}]", code) if {"extern", "__shared__"} <= set(re.findall(r"\w+", d))
    )
    names = dict.fromkeys(n for d in declarations for n in re.findall(r"(\w+)\s*\[\s*\]\s*$", d))
    size = "cudamm::largest_dynamic_shared + cudamm::dynamic_shared_guard" if names else "0"
    aliases = "\n".join(
        f'extern __thread unsigned char {name}[1] __attribute__((alias("cudamm_dynamic_shared")));\n'
        f"void _ZTH{len(name)}{name}() {{}}  // would initialise it; Clang calls it\n"
        for name in names
    )
    return f"""#include "cuda_on_cpu.h"
namespace cudamm {{ const size_t dynamic_shared_bytes = {size}; }}
extern "C" {{
__thread unsigned char cudamm_dynamic_shared[{size} + 1] __attribute__((aligned(1024)));
{aliases}}}
"""
