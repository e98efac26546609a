"""Launch cudamm's own kernels on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from cudamm.devices.own_module import OwnModule
from cudamm.errors import NoDeviceError


class OwnKernels:
    """The kernels of one of cudamm's own modules, loaded into the current context."""

    def __init__(self, cuda: Any, module: OwnModule, arch: str, multiprocessors: int) -> None:
        """Load the module.

        Args:
            cuda: PyCUDA's module of the driver.

        Raises:
            NoDeviceError: nvcc cannot compile it, or the driver refuses.
        """
        self.cuda, self.arch, self.multiprocessors = cuda, arch, multiprocessors
        try:
            self._module = module.load(arch)
            # Two 64-bit words that some kernels write.
            self._results = cuda.mem_alloc(16)
        except cuda.Error as error:
            raise NoDeviceError(f"the GPU does not work: {error}") from None

    def _function(self, name: str, formats: str) -> Any:
        function = self._module.get_function(name)
        function.prepare(formats)
        return function

    def _launch(self, name: str, formats: str, *arguments: float) -> None:
        """Queue a kernel with a fixed grid, whose threads loop over the work."""
        self._function(name, formats).prepared_async_call(
            (8 * self.multiprocessors, 1), (256, 1, 1), None, *arguments
        )

    def _result(self, index: int) -> int:
        """Return one of the two words."""
        words = np.zeros(2, np.uint64)
        self.cuda.memcpy_dtoh(words, self._results)
        return int(words[index])

    def close(self) -> None:
        """Free what was allocated in device memory."""
        self._results.free()
