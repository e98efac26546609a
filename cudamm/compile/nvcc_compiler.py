"""Compile with nvcc for a GPU; the GPU itself is not needed.

To run a kernel, PyCUDA's `SourceModule` compiles it (`devices/source_module.py`) with the options from this
module. This module calls nvcc directly on machines without a driver, to read the report of ptxas, for GPUs of
a cluster, and for cudamm's own kernels.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cached
from cudamm.compile.compile_errors import check_unrolling
from cudamm.compile.compiler_process import (
    CompilerKilled,
    compile_failure,
    preprocessed,
    run_in_folder,
    temporary_folder,
)
from cudamm.compile.elf import check_elf
from cudamm.compile.host_compiler import macros_in, submitted
from cudamm.compile.identity import compiler_identity, finds_other_headers
from cudamm.compile.program import Program
from cudamm.compile.resources import Resources, find_kernel, read_resources
from cudamm.compile.toolkit import find_nvcc, include_options, release_in, run_nvcc
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.architecture import find_architecture


@dataclass(frozen=True)
class Cubin:
    """A program compiled for one GPU architecture.

    Attributes:
        image: the file that the driver loads.
        kernel: the name of the kernel in the image.
    """

    image: bytes
    arch: str
    kernel: str


@dataclass(frozen=True)
class ReportedCubin(Cubin):
    """A cubin with the resources that ptxas reported for it."""

    resources: Resources


@dataclass(frozen=True)
class _Nvcc:
    path: Path
    version: str
    architectures: tuple[str, ...]

    @property
    def release(self) -> tuple[int, int]:
        """The release of the compiler's CUDA toolkit, such as (13, 0)."""
        return release_in(self.version, self.path)


def compile_with_nvcc(program: Program, arch: str) -> tuple[bytes, str]:
    """Compile a program with nvcc; return the cubin, and the report of ptxas, which it does not contain.

    Raises:
        KernelError, NoDeviceError: as `compile_for_gpu`.
    """
    return made_by_nvcc([*nvcc_command(program, arch), *_TO_CUBIN], program.text, ".cubin")


NvccRun = Callable[[Program, str], tuple[bytes, str]]
"""A function that does what `compile_with_nvcc` does, possibly on another machine."""


def compile_for_gpu(program: Program, arch: str, run: NvccRun = compile_with_nvcc) -> ReportedCubin:
    """Compile a program for an architecture such as `sm_90`, or take it from the cache.

    Args:
        run: is called if the cache does not have the program.

    Raises:
        KernelError: the program does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for that architecture.
    """

    program = submitted(program, _macros(arch))

    def make(target: Path) -> None:
        """Write the cubin, followed by the report of ptxas."""
        try:
            image, report = run(program, arch)
        except KernelError as error:
            refuse_broken_nvcc(error)
            if program.may_include or not is_lasting(error):
                raise
            # The same text fails again in the same way, so the failure is cached too.
            target.write_bytes(_SEPARATOR + str(error).encode(errors="replace"))
            return
        check_elf(image)
        target.write_bytes(image + _SEPARATOR + report.encode(errors="replace"))

    image, _, report = (
        cached([*made_from(program, arch), *_TO_CUBIN], ".cubin", make).read_bytes().rpartition(_SEPARATOR)
    )
    if not image:
        raise KernelError(report.decode())
    kernel = find_kernel(image, program.entry)
    return ReportedCubin(image, arch, kernel, read_resources(image, report.decode(), kernel))


def made_by_nvcc(command: Sequence[str], source: str, suffix: str) -> tuple[bytes, str]:
    """Compile a source; return the contents of the file that nvcc makes, and what nvcc reports.

    nvcc runs in a folder of its own: it includes `cuda_runtime.h` in each source, and its C++ compiler looks
    for that file in the current folder first.

    Raises:
        KernelError: the source does not compile.
        NoDeviceError: nvcc does not start, or the disk is full.
    """
    with temporary_folder() as folder:
        source_file, made = folder / "kernel.cu", folder / f"kernel{suffix}"
        source_file.write_text(source, encoding="utf-8", errors="surrogateescape")
        completed = run_in_folder([*command, "-o", str(made), str(source_file)], "", folder)
        if completed.returncode != 0:
            raise compile_failure(command[0], completed.stderr)
        return made.read_bytes() if made.is_file() else b"", completed.stderr


def nvcc_command(program: Program, arch: str) -> list[str]:
    """Return nvcc and the options to compile a program with, except those that choose the output format.

    Raises:
        KernelError: the program's method needs another architecture.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for that architecture.
    """
    target, options = nvcc_options(program, arch)
    return [str(nvcc().path), f"-arch={target}", *options]


def nvcc_options(program: Program, arch: str) -> tuple[str, list[str]]:
    """Return the architecture to compile a program for, and nvcc's other options.

    Raises:
        KernelError: the program's method needs another architecture, or nvcc would not compile its text.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for that architecture.
    """
    check_unrolling(program)
    compiler = nvcc()
    check_architecture(arch)
    missing = program.method.unsupported_reason(arch)
    if missing:
        raise KernelError(f"does not compile for {arch}: {missing}")
    fmad = "-fmad=true" if program.fmad else "-fmad=false"
    user_headers = [f"-I{folder}" for folder in program.include_folders]
    options = [f"-Xptxas={option}" for option in program.method.ptxas]
    return program.method.target(arch), [*include_options(compiler.path), fmad, *options, *user_headers]


def made_from(program: Program, arch: str) -> list[str]:
    """Return everything that determines a program's machine code: text, headers, compiler, options.

    Raises:
        KernelError: the program's method needs another architecture.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for that architecture.
    """
    command = nvcc_command(program, arch)
    full_source = program.text
    if program.may_include or finds_other_headers(_user_options()):
        with temporary_folder() as folder:
            completed = run_in_folder([*command, "-E", "-x", "cu", "/dev/stdin"], program.text, folder)
        full_source = preprocessed(completed, program.text)
    return [full_source, *command, *compiler_identity(command[0], nvcc().version)]


@functools.cache
def _macros(arch: str) -> Callable[[str], dict[str, str]]:
    """Return a function that returns nvcc's macros after some directives, with their values."""

    def after(includes: str) -> dict[str, str]:
        command = [
            str(nvcc().path),
            f"-arch={arch}",
            *include_options(nvcc().path),
            "-E",
            "-Xcompiler",
            "-dM",
        ]
        with temporary_folder() as folder:
            completed = run_in_folder([*command, "-x", "cu", "/dev/stdin"], includes, folder)
        return macros_in(completed.stdout)

    return after


def refuse_broken_nvcc(error: KernelError) -> None:
    """Raise NoDeviceError if nvcc failed because it finds no host compiler, or refuses the one it finds."""
    if "nvcc fatal" in str(error) or "host_config.h" in str(error):
        raise NoDeviceError(f"nvcc does not work: {error}") from None


_TO_CUBIN = ["-cubin", "-lineinfo", "-Xptxas=-v"]
"""Options for a cubin with the source line of each instruction, and for the report of ptxas."""

_SEPARATOR = b"\nptxas -v:\n"


def is_lasting(error: KernelError) -> bool:
    """Return whether the failure will repeat: no compiler was killed, and no header is missing."""
    missing = ("cannot open source file", "No such file")
    return not isinstance(error, CompilerKilled) and not any(words in str(error) for words in missing)


def _user_options() -> list[str]:
    """Return the options for nvcc in the user's environment."""
    return [value for name in ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS") if (value := os.environ.get(name))]


def nvcc_identity() -> str:
    """Return what two machines must have in common to make the same cubins.

    These are nvcc's version, and the environment variables that nvcc and GCC obey.

    Raises:
        NoDeviceError: nvcc is not found, or does not work.
    """
    return "\n".join(compiler_identity(str(nvcc().path), nvcc().version))


@functools.cache
def nvcc() -> _Nvcc:
    """Return nvcc with its version and the architectures it can compile for.

    Raises:
        NoDeviceError: nvcc is not found, or does not work.
    """
    path = find_nvcc()
    if path is None:
        raise NoDeviceError("nvcc was not found: run make setup, or install the CUDA toolkit")
    listed = run_nvcc(path, "--list-gpu-code")
    architectures = sorted(re.findall(r"\bsm_[0-9]{2,3}\b", listed), key=lambda arch: int(arch[3:]))
    if not architectures:
        raise NoDeviceError(f"{path} --list-gpu-code names no architecture; is it NVIDIA's compiler?")
    version = run_nvcc(path, "--version")
    release_in(version, path)
    return _Nvcc(path, version, tuple(dict.fromkeys(architectures)))


STAND_INS = ("sm_80", "sm_75")
"""Architectures whose registers may be taken for those of a GPU that is older than nvcc compiles for.

sm_80 has 65,536 registers for 2048 threads of an SM, as most GPUs from sm_30 to sm_72; sm_75 has twice as
many for each thread, as sm_37.
"""


def _registers_per_thread(arch: str) -> float:
    """Return how many registers an SM has for each of its threads."""
    found = find_architecture(arch)
    return found.registers / found.threads


def compiled_as(arch: str) -> str:
    """Return the architecture to compile for if nothing is run: for a GPU older than nvcc knows, another."""
    try:
        known = nvcc().architectures
    except NoDeviceError:
        return arch
    is_older = int(arch.removeprefix("sm_").rstrip("af")) < int(known[0].removeprefix("sm_"))
    stand_ins = [name for name in STAND_INS if name in known]
    if not is_older or not stand_ins:
        return arch
    own = _registers_per_thread(arch)
    return next((name for name in stand_ins if _registers_per_thread(name) == own), stand_ins[0])


def remark_on_estimate(arch: str) -> str:
    """Return a remark on registers that were compiled for another architecture; empty if they were not."""
    if (used := compiled_as(arch)) == arch:
        return ""
    of_used, own = _registers_per_thread(used), _registers_per_thread(arch)
    has = f"{of_used:g} registers for each thread of an SM, where {arch} has {own:.3g}"
    if of_used == own:
        has = "as many registers for each thread of an SM"
    return (
        f"registers are an estimate: nvcc {_dotted(nvcc().release)} cannot compile for {arch}, and they are "
        f"those for {used}, which has {has}"
    )


def check_architecture(arch: str) -> None:
    """Raise NoDeviceError, listing the possible architectures, if this nvcc cannot compile for `arch`."""
    compiler = nvcc()
    if arch.rstrip("af") not in compiler.architectures:
        raise NoDeviceError(
            f"nvcc {_dotted(compiler.release)} cannot compile for {arch}, "
            f"only for {', '.join(compiler.architectures)}"
        )


def check_driver(driver_cuda: tuple[int, int] | None) -> None:
    """Raise NoDeviceError if the driver cannot load programs of this nvcc.

    A driver loads programs that were compiled with the same major version of CUDA, or with an older one.

    Args:
        driver_cuda: the CUDA version that the driver supports; None if it is not known.
    """
    if driver_cuda is None:
        return
    compiler = nvcc()
    if compiler.release[0] > driver_cuda[0]:
        raise NoDeviceError(
            f"nvcc is of CUDA {_dotted(compiler.release)} and the driver supports CUDA "
            f"{_dotted(driver_cuda)}, which loads no program of CUDA {compiler.release[0]}: update the "
            f"driver, or put the nvcc of a CUDA {driver_cuda[0]} toolkit first on PATH (now it is "
            f"{compiler.path})"
        )


def _dotted(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))
