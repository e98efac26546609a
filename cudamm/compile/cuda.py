"""Compiling with nvcc for a GPU, present or not.

SourceModule, PyCUDA's usual way, compiles and loads at once. Here they are apart: compiling needs no GPU,
runs on all cores at once, and tells what a kernel takes of a multiprocessor; loading (`devices.gpu`) happens
where the kernel is to run.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.cache import END, cached, preprocessed, run_compiler
from cudamm.compile.program import Program
from cudamm.compile.resources import Resources, find_kernel, read_resources
from cudamm.compile.toolkit import find_nvcc, include_options, nvcc_version, run_nvcc
from cudamm.errors import KernelError, NoDeviceError


@dataclass(frozen=True)
class Cubin:
    """A program compiled for one GPU architecture: the image that the driver loads.

    Attributes:
        kernel: the name that its kernel has in the image.
    """

    image: bytes
    arch: str
    kernel: str
    resources: Resources


@dataclass(frozen=True)
class _Nvcc:
    path: Path
    version: str
    architectures: tuple[str, ...]


def compile_for_gpu(program: Program, arch: str) -> Cubin:
    """Compile a program for an architecture such as `sm_90`, or take it from the cache.

    Raises:
        KernelError: it does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no nvcc, or it cannot compile for that architecture.
    """
    compiler = nvcc()
    check_architecture(arch)
    command = [str(compiler.path), f"-arch={arch}", *include_options(compiler.path)]
    command.append("-fmad=true" if program.fmad else "-fmad=false")
    if program.include_folder:
        command.append(f"-I{program.include_folder}")

    def make(target: Path) -> None:
        """The cubin, and behind it in the same file what ptxas remarks, which the cubin does not hold."""
        with tempfile.TemporaryDirectory(prefix="cudamm-") as folder:
            source, cubin = Path(folder, "kernel.cu"), Path(folder, "kernel.cubin")
            source.write_text(program.text, encoding="utf-8", errors="surrogateescape")
            try:
                remarks = run_compiler([*command, "-cubin", "-Xptxas=-v", "-o", str(cubin), str(source)])
            except KernelError as error:
                # Not the program's fault: there is no host compiler, or one that nvcc refuses.
                if "nvcc fatal" in str(error) or "host_config.h" in str(error):
                    raise NoDeviceError(f"nvcc does not work: {error}") from None
                raise
            target.write_bytes(cubin.read_bytes() + _SEPARATOR + remarks.encode(errors="replace"))

    whole = program.text
    if program.include_folder:
        whole = preprocessed([*command, "-E", "-x", "cu", "/dev/stdin"], program.text)
    made_from = [whole, compiler.version, *command, *(os.environ.get(name, "") for name in _OWN_VARIABLES)]
    made = cached(made_from, ".cubin", make).read_bytes()
    image, _, remarks = made.removesuffix(END).rpartition(_SEPARATOR)
    kernel = find_kernel(image, program.method.entry)
    return Cubin(image, arch, kernel, read_resources(image, remarks.decode(), kernel))


_SEPARATOR = b"\nptxas -v:\n"
_OWN_VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")


@functools.cache
def nvcc() -> _Nvcc:
    """The compiler and what it can compile for. Raises NoDeviceError where there is none."""
    path = find_nvcc()
    if path is None:
        raise NoDeviceError("nvcc was not found: run make setup, or install the CUDA toolkit")
    listed = run_nvcc(path, "--list-gpu-code")
    architectures = sorted(re.findall(r"\bsm_\d+\b", listed), key=lambda arch: int(arch[3:]))
    return _Nvcc(path, run_nvcc(path, "--version"), tuple(dict.fromkeys(architectures)))


def check_architecture(arch: str) -> None:
    """Raise NoDeviceError, naming those there are, where this nvcc cannot compile for `arch`."""
    compiler = nvcc()
    if arch.rstrip("af") not in compiler.architectures:
        release = ".".join(map(str, nvcc_version(compiler.path)))
        raise NoDeviceError(
            f"nvcc {release} cannot compile for {arch}, only for {', '.join(compiler.architectures)}"
        )
