"""An NVIDIA GPU, through PyCUDA: primary context, prepared launches, CUDA events."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any

import numpy as np

from cudamm.architecture import of_gpu
from cudamm.catalog.method import Execution, Method
from cudamm.compile.cuda import Cubin, compile_for_gpu
from cudamm.compile.program import Program
from cudamm.compile.signature import parameter_formats
from cudamm.devices.device import (
    GUARD_BYTES,
    GUARDS,
    POISON,
    Device,
    DeviceInfo,
    Region,
    Run,
    region_bytes,
)
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.launch import Launch, Limits, MatrixName
from cudamm.problem import Matrix

SHARED_BYTES_WITHOUT_OPT_IN = 48 * 1024


class GpuDevice(Device[Cubin]):
    """One GPU, its primary context current from here to `close`."""

    has_thread_order = False

    def __init__(self, index: int) -> None:
        """Raises NoDeviceError without PyCUDA, driver or GPU, UsageError for an index that no GPU has."""
        cuda = import_driver()
        count = cuda.Device.count()
        if index >= count:
            raise UsageError(
                f"there is no gpu:{index}: this machine has {count}, the last is gpu:{count - 1}"
            )
        self._device = cuda.Device(index)
        try:
            self._context = self._device.retain_primary_context()
            self._context.push()
        except cuda.Error as error:
            raise NoDeviceError(f"gpu:{index} cannot be used ({error})") from None
        of = {str(name).lower(): int(value) for name, value in self._device.get_attributes().items()}
        self.arch = "sm_{}{}".format(*self._device.compute_capability())
        self.architecture = of_gpu(self.arch, self._device.name(), of)
        self.limits = Limits(
            of["max_threads_per_block"],
            (of["max_block_dim_x"], of["max_block_dim_y"], of["max_block_dim_z"]),
            (of["max_grid_dim_x"], of["max_grid_dim_y"], of["max_grid_dim_z"]),
            of.get("max_shared_memory_per_block_optin", of["max_shared_memory_per_block"]),
        )
        self.info = DeviceInfo(
            kind="gpu",
            spec=f"gpu:{index}",
            name=self._device.name(),
            properties={
                "arch": self.arch,
                "multiprocessors": of["multiprocessor_count"],
                "clock_mhz": of["clock_rate"] // 1000,
                "memory_bytes": self._device.total_memory(),
                "memory_clock_mhz": of["memory_clock_rate"] // 1000,
                "memory_bus_bits": of["global_memory_bus_width"],
                "l2_bytes": of["l2_cache_size"],
                "max_threads_per_multiprocessor": of["max_threads_per_multiprocessor"],
                "max_registers_per_multiprocessor": of["max_registers_per_multiprocessor"],
                "max_shared_bytes_per_multiprocessor": of["max_shared_memory_per_multiprocessor"],
                "max_threads_per_block": of["max_threads_per_block"],
                "max_shared_bytes_per_block": self.limits.shared_bytes_per_block,
                "driver_cuda": _version(cuda.get_driver_version()),
            },
        )

    def execution(self, method: Method) -> Execution:
        """On the GPU."""
        return "gpu"

    def compile(self, program: Program) -> Cubin:
        """Compile with nvcc for this GPU's architecture, or take it from the cache."""
        return compile_for_gpu(program, self.arch)

    def open(self, program: Program, compiled: Cubin, launch: Launch, a: Matrix, b: Matrix) -> Run:
        """Load the kernel, and place the matrices in device memory."""
        return _GpuRun(_Kernel(program, compiled, launch), launch, a, b)

    def free_bytes(self) -> int:
        """Free device memory."""
        free: int = import_driver().mem_get_info()[0]
        return free

    def close(self) -> None:
        """Leave the context: one left on PyCUDA's stack at exit aborts the process."""
        self._context.pop()
        self._context.detach()


class _Kernel:
    """A compiled kernel loaded into the current context."""

    def __init__(self, program: Program, cubin: Cubin, launch: Launch) -> None:
        cuda = import_driver()
        entry = program.method.entry
        try:
            self.module = cuda.module_from_buffer(cubin.image)
            self.function = self.module.get_function(cubin.kernel)
            for name, value in launch.constants:
                address, size = self.module.get_global(name)
                cuda.memcpy_htod(address, np.array([value], dtype=f"i{size}"))
            if launch.shared_bytes + self.function.shared_size_bytes > SHARED_BYTES_WITHOUT_OPT_IN:
                attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.function.set_attribute(attribute, launch.shared_bytes)
        except cuda.Error as error:
            raise KernelError(f"{entry} cannot be loaded: {error}") from None
        self.formats = parameter_formats(program.text, entry, program.element)
        self.function.prepare(self.formats)


class _GpuRun(Run):
    """A kernel on the GPU, with its matrices in device memory."""

    def __init__(self, kernel: _Kernel, launch: Launch, a: Matrix, b: Matrix) -> None:
        super().__init__(launch, a, b)
        self._cuda = cuda = import_driver()
        self._kernel = kernel
        self._memory: dict[MatrixName, Any] = {}
        try:
            for name, matrix in self.matrices.items():
                bytes_ = region_bytes(matrix)
                self._memory[name] = cuda.mem_alloc(bytes_)
                cuda.memset_d32(self._memory[name], int(GUARDS[name]), bytes_ // 4)
            self.load(a, b)
            self._start, self._end = cuda.Event(), cuda.Event()
        except cuda.Error as error:
            self.close()
            raise KernelError(f"no place for the matrices: {error}") from None
        self._arguments = [
            self._address(value) if isinstance(value, str) else float(value) if letter in "fd" else value
            for letter, value in zip(kernel.formats, launch.arguments, strict=True)
        ]

    def _address(self, name: MatrixName) -> int:
        return int(self._memory[name]) + GUARD_BYTES

    def _place(self, name: MatrixName, matrix: Matrix) -> None:
        try:
            self._cuda.memcpy_htod(self._address(name), np.ascontiguousarray(matrix))
        except self._cuda.Error as error:
            raise KernelError(f"the GPU does not answer: {error}") from None

    def launch(self, descending: bool = False) -> float:
        """Run the kernel once between two events."""
        plan = self.plan
        try:
            self._start.record()
            self._kernel.function.prepared_async_call(
                plan.grid, plan.block, None, *self._arguments, shared_size=plan.shared_bytes
            )
            self._end.record()
            self._end.synchronize()
            elapsed_ms: float = self._start.time_till(self._end)
        except self._cuda.Error as error:
            raise KernelError(f"launch failed: {error}") from None
        return elapsed_ms

    def fill_output(self, word: np.uint32 = POISON) -> None:
        """Fill C with a 32-bit pattern."""
        try:
            self._cuda.memset_d32(self._address("C"), int(word), self.matrices["C"].nbytes // 4)
        except self._cuda.Error as error:
            raise KernelError(f"the GPU does not answer: {error}") from None

    def region(self, name: MatrixName) -> Region:
        """A copy from device memory."""
        region: Region = np.empty(region_bytes(self.matrices[name]), np.uint8)
        try:
            self._cuda.memcpy_dtoh(region, self._memory[name])
        except self._cuda.Error as error:
            raise KernelError(f"the GPU does not answer: {error}") from None
        return region

    def close(self) -> None:
        """Free device memory; after a crashed kernel there is nothing left to free."""
        for memory in self._memory.values():
            with contextlib.suppress(self._cuda.Error):
                memory.free()
        self._memory.clear()


def import_driver() -> Any:
    """PyCUDA's driver interface, initialised. Raises NoDeviceError, saying what to do, where that fails."""
    try:
        from pycuda import driver
    except ImportError as error:
        if "libcuda" in str(error) or not _has_driver():
            raise NoDeviceError(
                "there is no NVIDIA driver here: on a machine with a GPU, install it, then run make setup"
            ) from None
        if "pycuda" in str(error) and isinstance(error, ModuleNotFoundError):
            raise NoDeviceError(
                "PyCUDA is not installed: run make setup, or pip install 'cudamm[gpu]'"
            ) from None
        raise NoDeviceError(f"PyCUDA cannot be loaded ({error}): reinstall it") from None
    try:
        driver.init()
        count = driver.Device.count()
    except driver.Error as error:
        raise NoDeviceError(f"no GPU answers ({error})") from None
    if count == 0:
        raise NoDeviceError("there is no NVIDIA GPU here")
    return driver


def _has_driver() -> bool:
    """Whether the driver's library can be loaded, PyCUDA or not."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def gpu_count() -> int:
    """GPUs that can be used. Raises NoDeviceError where there is none."""
    count: int = import_driver().Device.count()
    return count


def _version(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
