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
import struct
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from cudamm.catalog.header import without_comments
from cudamm.compile.program import Program
from cudamm.errors import KernelError, NoDeviceError

STATIC_SHARED_BYTES = 48 * 1024
"""The most a kernel may declare, on every GPU."""

ELF_THREAD_LOCAL = 0x400
"""Section flag SHF_TLS."""

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
    runtime_options = ["-O2", "-pthread"]
    kernel = _compile(_main_file(program), options)
    static_bytes = _static_shared_bytes(kernel)
    if static_bytes > STATIC_SHARED_BYTES and not program.method.runs_on_host:
        raise KernelError(
            f"does not compile: it declares {static_bytes:,} bytes of static shared memory, and a kernel may "
            f"declare {STATIC_SHARED_BYTES:,} (more has to be dynamic)"
        )
    parts = [
        kernel,
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
    folders = [f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}"]
    command = [*compiler().command, "-std=c++17", *options, *folders, "-x", "c++", "-"]
    contents = source
    if len(re.findall(r'^\s*#\s*include\s*"', source, re.MULTILINE)) > 1:
        # More than our own header: what the others hold counts as well.
        contents = _finished([*command, "-E"], source).stdout or source
    header = (RUNTIME / "cuda_on_cpu.h").read_text()
    made_from = "\0".join([contents, header, *command, compiler().version, _processor()])
    key = hashlib.sha256(made_from.encode(errors="surrogateescape")).hexdigest()[:32]
    target = cache_folder() / f"{key}.o"
    if not target.exists():
        _run([*command, "-c"], target, source)
    return target


def _static_shared_bytes(object_file: Path) -> int:
    """What a kernel's `__shared__` variables take: the sizes of its object's thread-local sections.

    After the ELF specification, 64-bit: the file header gives the section headers' place, size and number.
    """
    image = object_file.read_bytes()
    (offset,) = struct.unpack_from("=Q", image, 0x28)
    size, count = struct.unpack_from("=HH", image, 0x3A)
    sections = (struct.unpack_from("=IIQQQQ", image, offset + i * size) for i in range(count))
    return sum(length for _, _, flags, _, _, length in sections if flags & ELF_THREAD_LOCAL)


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
        done = _finished([*command, "-o", partial], source)
        if done.returncode != 0:
            raise KernelError(
                compile_message(done.stderr) or f"{command[0]} ended with status {done.returncode}"
            )
        Path(partial).chmod(0o755)
        Path(partial).replace(target)
    finally:
        Path(partial).unlink(missing_ok=True)


def _finished(command: list[str], source: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, input=source, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False
    )


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
