"""Compiling with the host's C++ compiler: kernels for the CPU device, and the native host methods.

A program becomes an executable of its own (`devices/cpu_runtime` says why), kept in the user's cache
folder under a name made from everything that went into it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from cudamm.catalog.header import without_comments
from cudamm.compile.program import Program
from cudamm.errors import KernelError, NoDeviceError

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
               "-fno-strict-aliasing", "-fwrapv", "-w"]  # fmt: skip
    if not compiler().is_clang:
        options.append("-fno-extern-tls-init")  # a dynamic array needs no initialisation on first use
    runtime_options = ["-O2", "-pthread"]
    parts = [
        _compile(_main_file(program), options),
        _compile(_dynamic_shared_file(program), runtime_options),
        _compile((RUNTIME / "runtime.cpp").read_text(), runtime_options),
    ]
    key = hashlib.sha256("\0".join(p.name for p in parts).encode()).hexdigest()[:32]
    target = cache_folder() / f"{key}.kernel"
    if not target.exists():
        _run([*compiler().command, "-pthread", *map(str, parts)], target)
    return Executable(target)


@functools.cache
def compiler() -> _Compiler:
    """The host's C++ compiler: $CXX, else g++, c++ or clang++. Raises NoDeviceError where there is none."""
    chosen = os.environ.get("CXX")
    for name in [chosen] if chosen else ["g++", "c++", "clang++"]:
        command = shlex.split(name)
        if not shutil.which(command[0]):
            continue
        try:
            shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
        except OSError as error:
            raise NoDeviceError(f"the C++ compiler {name} does not start: {error.strerror}") from None
        if shown.returncode != 0:
            raise NoDeviceError(
                f"the C++ compiler {name} does not work: {name} --version ends with {shown.returncode}"
            )
        return _Compiler(tuple(command), shown.stdout.split("\n")[0])
    wanted = (
        f"$CXX is {chosen}, which is not there" if chosen else "no C++ compiler was found (g++, c++, clang++)"
    )
    raise NoDeviceError(f"{wanted}: install one, for example with: apt install g++")


@functools.cache
def cache_folder() -> Path:
    """Where compiled programs are kept; $CUDAMM_CACHE overrides the user's cache folder."""
    folder = Path(os.environ.get("CUDAMM_CACHE") or platformdirs.user_cache_dir("cudamm"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoDeviceError(
            f"the cache folder {folder} cannot be made ({error.strerror}); set CUDAMM_CACHE"
        ) from None
    return folder


@functools.cache
def _processor() -> str:
    """What -march=native depends on: a cache shared between machines must not mix them up."""
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    wanted = re.findall(r"^(?:model name|flags|Features)\s*:.*$", cpuinfo.split("\n\n")[0], re.MULTILINE)
    return "\n".join([platform.machine(), *wanted])


def _compile(source: str, options: list[str]) -> Path:
    """Compile C++ to an object file in the cache, named by what it was made from."""
    header = (RUNTIME / "cuda_on_cpu.h").read_text()
    made_from = [source, header, *options, *compiler().command, compiler().version, _processor()]
    target = cache_folder() / (
        hashlib.sha256("\0".join(made_from).encode(errors="surrogateescape")).hexdigest()[:32] + ".o"
    )
    if not target.exists():
        command = [
            *compiler().command,
            "-std=c++17",
            *options,
            f"-I{RUNTIME}",
            f"-I{RUNTIME / 'include'}",
            "-x",
            "c++",
            "-c",
            "-",
        ]
        _run(command, target, source)
    return target


def _run(command: list[str], target: Path, source: str = "") -> None:
    """Run a compiler; its output appears under its final name only once it is whole."""
    try:
        handle, partial = tempfile.mkstemp(dir=target.parent, suffix=target.suffix)
        os.close(handle)
    except OSError as error:
        raise NoDeviceError(
            f"nothing can be written to {target.parent} ({error.strerror}); set CUDAMM_CACHE"
        ) from None
    try:
        done = subprocess.run(
            [*command, "-o", partial],
            input=source,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
        if done.returncode != 0:
            raise KernelError(
                compile_message(done.stderr) or f"{command[0]} ended with status {done.returncode}"
            )
        Path(partial).chmod(0o755)
        Path(partial).replace(target)
    finally:
        Path(partial).unlink(missing_ok=True)


def compile_message(stderr: str) -> str:
    """The first error in a compiler's output, as one line, and how many more there are."""
    lines = [line.strip() for line in stderr.splitlines()]
    errors = [
        re.sub(r"^.*?(?=undefined reference)", "", line) for line in lines if "undefined reference" in line
    ]
    errors = errors or [line for line in lines if re.search(r"\berror\b", line)]
    if not errors:
        return " ".join(stderr.split())[:300]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"does not compile: {errors[0]}{more}"


def _main_file(program: Program) -> str:
    """The kernel's file between the header that gives it CUDA and what the runtime needs to know of it."""
    method = program.method
    constants = "".join(f'{{"{name}", (void*)&{name}, sizeof {name}}}, ' for name, _ in method.constants)
    return f"""#include "cuda_on_cpu.h"
{program.text}
namespace cudamm {{
static void call_kernel(const Argument* arguments) {{ call(&::{method.entry}, arguments); }}
static const Constant constants[] = {{ {constants}{{nullptr, nullptr, 0}} }};
const Kernel kernel = {{call_kernel, arity(&::{method.entry}), constants, {len(method.constants)}}};
}}
"""


def _dynamic_shared_file(program: Program) -> str:
    """The array that all `extern __shared__` arrays of a kernel stand for, under each of their names.

    A file of its own, because here they have not the types that they have in the kernel's.
    """
    code = without_comments(program.text)
    names = dict.fromkeys(re.findall(r"\bextern\s+__shared__\s+[^;]*?(\w+)\s*\[\s*\]", code))
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
