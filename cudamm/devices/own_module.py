"""Modules of cudamm's own kernels: they draw inputs, time and judge other kernels, and measure a GPU's peaks.

A worker process compiles at the same time those that every measurement needs, while its GPU is
being opened, and nvcc compiles the kernels to measure (`compile_own_modules`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.compile.compile_cache import cached
from cudamm.compile.identity import compiler_identity
from cudamm.compile.nvcc_compiler import made_by_nvcc, nvcc
from cudamm.compile.process_group import CORES, thread_pool
from cudamm.compile.toolkit import include_options
from cudamm.devices.source_module import ModuleImage
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.method import ElementType

FOLDER = Path(__file__).parent / "gpu_runtime"


@dataclass(frozen=True)
class OwnModule:
    """A module of cudamm's own kernels.

    Attributes:
        files: names of the files in `gpu_runtime` that are compiled as one.
        macros: nvcc's options that define macros, such as `-DELEMENT=float`.
        uses_wgmma: whether it uses `wgmma` on sm_90, which only code for sm_90a may use.
    """

    files: tuple[str, ...]
    macros: tuple[str, ...] = ()
    uses_wgmma: bool = False

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in self.files)

    def load(self, arch: str) -> Any:
        """Return PyCUDA's module, loaded into the current context.

        Raises:
            NoDeviceError: the module cannot be compiled or cached.
        """
        return ModuleImage(self.image(arch)).load()

    def image(self, arch: str) -> bytes:
        """Return the cubin for an architecture such as `sm_90`: compile the module, or find it in the cache.

        Raises:
            NoDeviceError: the module cannot be compiled or cached.
        """
        compiler, text = nvcc(), self.text
        target = "sm_90a" if self.uses_wgmma and arch == "sm_90" else arch
        command = [str(compiler.path), f"-arch={target}", *self.macros, "-cubin"]
        command += include_options(compiler.path)

        def make(path: Path) -> None:
            image, _ = made_by_nvcc(command, text, ".cubin")
            path.write_bytes(image)

        made_from = [text, *command, *compiler_identity(command[0], compiler.version)]
        try:
            return cached(made_from, ".cubin", make).read_bytes()
        except KernelError as error:
            raise NoDeviceError(f"nvcc does not work: {error}") from None


SUPPORT = OwnModule(("elements.cu", "support.cu"))
CEILINGS = OwnModule(("ceilings.cu",))
PEAKS = OwnModule((*CEILINGS.files, "other_peaks.cu"), uses_wgmma=True)
"""The kernels of all peaks; nvcc needs a second or two for those that `CEILINGS` lacks."""


def fresh_inputs_module(element: ElementType) -> OwnModule:
    """Return the module of `fresh_inputs.cu` for an element type."""
    macros = f"-DELEMENT={element.c_name}", f"-DRESULT={element.of_results.c_name}"
    return OwnModule(("elements.cu", "fresh_inputs.cu"), macros)


def own_modules(element: ElementType) -> tuple[OwnModule, ...]:
    """Return the modules for the measurement of products of an element type."""
    return SUPPORT, fresh_inputs_module(element), CEILINGS


def compile_own_modules(arch: str, element: ElementType) -> None:
    """Compile the modules for an element type at the same time.

    An error of one is raised later, when the module is loaded.

    Raises:
        NoDeviceError: nvcc is not found, or does not work.
    """
    nvcc()  # is remembered; each thread would else ask nvcc for its version
    modules = own_modules(element)
    with thread_pool(min(len(modules), CORES)) as pool:
        for module in modules:
            pool.submit(module.image, arch)
