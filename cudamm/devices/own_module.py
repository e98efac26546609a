"""Modules of cudamm's own kernels, which time, check and judge other kernels on a GPU.

nvcc needs a second or two for each of them. A sweep needs all of them, but first waits until the GPU is open,
and until nvcc has compiled a kernel to measure. Meanwhile `compile_own_modules` compiles them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cudamm.compile.nvcc_compiler import nvcc
from cudamm.compile.process_group import thread_pool
from cudamm.compile.toolkit import include_options
from cudamm.devices.source_module import ModuleSource
from cudamm.errors import KernelError, NoDeviceError

FOLDER = Path(__file__).parent / "gpu_runtime"


@dataclass(frozen=True)
class OwnModule:
    """A module of cudamm's own kernels.

    Attributes:
        files: names of the files in `gpu_runtime` that are compiled as one.
        has_wgmma: whether it uses `wgmma` where the architecture has it: only code for sm_90a may.
    """

    files: tuple[str, ...]
    has_wgmma: bool = False

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in self.files)

    def load(self, arch: str) -> Any:
        """Return PyCUDA's module, loaded into the current context.

        Raises:
            NoDeviceError: nvcc cannot compile it.
        """
        return self.compiled(arch).load()

    def compiled(self, arch: str) -> ModuleSource:
        """Compile the module for an architecture such as `sm_90`, or find it in the cache.

        Raises:
            NoDeviceError: nvcc cannot compile it.
        """
        compiler, text = nvcc(), self.text
        target = "sm_90a" if self.has_wgmma and arch == "sm_90" else arch
        options = tuple(include_options(compiler.path))
        source = ModuleSource(text, str(compiler.path), options, target)
        try:
            return source.compiled([text, compiler.version, str(compiler.path), *options, target])
        except KernelError as error:
            raise NoDeviceError(f"nvcc does not work: {error}") from None


SUPPORT = OwnModule(("elements.cu", "support.cu"))
FRESH_INPUTS = OwnModule(("elements.cu", "fresh_inputs.cu"))
CEILINGS = OwnModule(("ceilings.cu",), has_wgmma=True)


class OwnKernels:
    """The kernels of one module, loaded into the current context."""

    def __init__(self, cuda: Any, module: OwnModule, arch: str, multiprocessors: int, results: Any) -> None:
        """Load the module.

        Args:
            cuda: PyCUDA's module of the driver.
            results: device memory of two 64-bit words, which some kernels write.

        Raises:
            NoDeviceError: nvcc cannot compile it.
            cuda.Error: the driver refuses.
        """
        self.cuda, self.arch, self.multiprocessors = cuda, arch, multiprocessors
        self._module, self.results = module.load(arch), results

    def _function(self, name: str, formats: str) -> Any:
        function = self._module.get_function(name)
        function.prepare(formats)
        return function

    def _launch(self, name: str, formats: str, *arguments: float) -> None:
        """Queue a kernel whose threads share the work, however many there are."""
        self._function(name, formats).prepared_async_call(
            (8 * self.multiprocessors, 1), (256, 1, 1), None, *arguments
        )

    def _result(self, index: int) -> int:
        """Return one of the two words."""
        words = np.zeros(2, np.uint64)
        self.cuda.memcpy_dtoh(words, self.results)
        return int(words[index])


def compile_own_modules(arch: str) -> None:
    """Compile all modules at the same time.

    A failure repeats when a module is loaded, and is reported then.
    """
    with thread_pool(3) as pool:
        for module in (CEILINGS, SUPPORT, FRESH_INPUTS):  # in the order in which a sweep needs them
            pool.submit(module.compiled, arch)
