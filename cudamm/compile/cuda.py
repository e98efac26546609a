"""Compiling with nvcc for a GPU, through PyCUDA and its compiler cache.

PyCUDA's SourceModule is two steps, compiling and loading. They are taken apart here: the first needs no
GPU and can run on all cores at once, the second (`devices.gpu`) happens where the kernel is to run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from cudamm.compile.host import compile_message
from cudamm.compile.program import Program
from cudamm.compile.toolkit import find_nvcc, include_options
from cudamm.errors import KernelError, NoDeviceError


@dataclass(frozen=True)
class Cubin:
    """A program compiled for one GPU architecture: the image that the driver loads."""

    image: bytes
    arch: str


def compile_for_gpu(program: Program, arch: str) -> Cubin:
    """Compile a program for an architecture such as `sm_90`.

    Raises:
        KernelError: it does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no nvcc.
    """
    from pycuda import compiler, driver

    nvcc = find_nvcc()
    if nvcc is None:
        raise NoDeviceError(
            "nvcc was not found: run make setup, install the CUDA toolkit, or use --device cpu"
        )
    options = [*include_options(nvcc), "-fmad=true" if program.fmad else "-fmad=false"]
    folders = [str(program.include_folder)] if program.include_folder else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # nvcc's remarks on code that compiles
            image = compiler.compile(
                program.text, str(nvcc), options, no_extern_c=True, arch=arch, include_dirs=folders
            )
    except driver.CompileError as error:
        raise KernelError(compile_message(error.stderr or error.stdout or str(error))) from None
    return Cubin(image, arch)
