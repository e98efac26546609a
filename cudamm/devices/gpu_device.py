"""An NVIDIA GPU, through PyCUDA: primary context, prepared launches, CUDA events."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cudamm.compile.nvcc_compiler import check_driver, compile_for_gpu
from cudamm.compile.program import Program
from cudamm.compile.resources import Resources, parameter_offsets
from cudamm.compile.signature import packed_formats, parameter_formats
from cudamm.devices.device import (
    GUARD_BYTES,
    GUARDS,
    POISON,
    Ceilings,
    Deviation,
    Device,
    DeviceInfo,
    Region,
    Run,
    Target,
    region_bytes,
)
from cudamm.devices.gpu_library import Library, LibraryFunction, LibraryProduct, missing_package
from cudamm.devices.gpu_support import Support
from cudamm.devices.nvml import open_monitor
from cudamm.devices.source_module import CompiledSource, compile_source, prepare_to_load
from cudamm.devices.tensor_map import encode
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.kernels.architecture import Architecture, gpu_architecture
from cudamm.kernels.launch_plan import Launch, Limits, MatrixName, TensorMap
from cudamm.kernels.method import Execution, Method
from cudamm.kernels.problem import Matrix, Problem, Shape

SHARED_BYTES_WITHOUT_OPT_IN = 48 * 1024

LEAST_FLOPS = 10**9
"""Of a problem whose reference the GPU computes; a smaller one takes a processor milliseconds."""


class GpuTarget(Target[CompiledSource | LibraryFunction]):
    """What has to be known of a GPU to compile for it."""

    has_thread_order = False

    def __init__(self, info: DeviceInfo, limits: Limits, architecture: Architecture) -> None:
        self.info, self.limits, self.architecture = info, limits, architecture

    @property
    def arch(self) -> str:
        """Such as `sm_90`."""
        return self.architecture.name

    def execution(self, method: Method) -> Execution:
        """On the GPU."""
        return "gpu"

    def lacks(self, method: Method) -> str:
        """A library's Python package, where it is not installed; what a newer architecture has."""
        return missing_package(method) if method.package else super().lacks(method)

    def compile(self, program: Program) -> CompiledSource | LibraryFunction:
        """Compile a program for this GPU's architecture; of a library there is nothing to compile.

        Raises NoDeviceError too where this GPU's driver could not load what nvcc makes.
        """
        if program.method.package:
            return LibraryFunction(program.method.name, program.method.path)
        major, minor = map(int, str(self.info.properties["driver_cuda"]).split("."))
        check_driver((major, minor))
        return compile_source(program, self.arch)

    def resources(self, program: Program) -> Resources | None:
        """Return what ptxas reports of a program, which nvcc compiles once more for that."""
        return None if program.method.package else compile_for_gpu(program, self.arch).resources


class GpuDevice(GpuTarget, Device[CompiledSource | LibraryFunction]):
    """One GPU, its primary context current from here to `close`."""

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
        arch = "sm_{}{}".format(*self._device.compute_capability())
        limits = Limits(
            of["max_threads_per_block"],
            (of["max_block_dim_x"], of["max_block_dim_y"], of["max_block_dim_z"]),
            (of["max_grid_dim_x"], of["max_grid_dim_y"], of["max_grid_dim_z"]),
            of.get("max_shared_memory_per_block_optin", of["max_shared_memory_per_block"]),
            arch=arch,
        )
        self._monitor = open_monitor(self._device.pci_bus_id())
        info = DeviceInfo(
            kind="gpu",
            spec=f"gpu:{index}",
            name=self._device.name(),
            properties={
                "arch": arch,
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
                "max_shared_bytes_per_block": limits.shared_bytes_per_block,
                "driver_cuda": _version(cuda.get_driver_version()),
                "driver": self._monitor.driver_version() if self._monitor else None,
            },
        )
        super().__init__(info, limits, gpu_architecture(arch, self._device.name(), of))
        self._placed: dict[tuple[int, int, Shape], _Matrices] = {}
        self._judged: _Judged | None = None
        self._libraries: dict[LibraryFunction, Library] = {}

    def target(self) -> GpuTarget:
        """Without what only this process can use."""
        return GpuTarget(self.info, self.limits, self.architecture)

    @functools.cached_property
    def support(self) -> Support:
        """Timing and judging, on this GPU."""
        properties = self.info.properties
        return Support(import_driver(), self.arch, properties["l2_bytes"], properties["multiprocessors"])

    def clock_mhz(self) -> int | None:
        """As NVML reads it."""
        return self._monitor.sm_clock_mhz() if self._monitor else None

    def throttle_reasons(self) -> tuple[str, ...]:
        """As NVML reads them."""
        return self._monitor.throttle_reasons() if self._monitor else ()

    def ceilings(self) -> Ceilings | None:
        """Measured once for this GPU and driver."""
        uuid = self._monitor.uuid() if self._monitor else self.info.name
        key = f"{uuid} {self.info.properties['driver']} {self.info.properties['driver_cuda']}"
        return self.support.ceilings(key)

    @property
    def event_floor_ms(self) -> float | None:
        """What two events around an empty kernel read."""
        return self.support.floor_ms

    def prepare_to_load(self) -> None:
        """Have PyCUDA ready to load kernels."""
        prepare_to_load()

    def open(
        self,
        program: Program,
        compiled: CompiledSource | LibraryFunction,
        launch: Launch,
        a: Matrix,
        b: Matrix,
    ) -> Run:
        """Load the kernel, and place the matrices in device memory.

        Runs on the same inputs share the memory: they are launched one after the other.
        """
        kernel = self._kernel(program, compiled, launch)
        key = (id(a), id(b), launch.shape)
        if key not in self._placed:
            self._placed[key] = _Matrices(launch.shape, a, b)
        run = _GpuRun(self, kernel, launch, self._placed[key])
        if isinstance(compiled, LibraryFunction):
            run.launch()  # the first loads kernels, which may wait for the GPU: never behind a held stream
        return run

    def _kernel(
        self, program: Program, compiled: CompiledSource | LibraryFunction, launch: Launch
    ) -> _Kernel | LibraryProduct:
        """What a launch of a method queues."""
        if isinstance(compiled, CompiledSource):
            return _Kernel(program, compiled, launch)
        if compiled not in self._libraries:
            self._libraries[compiled] = Library(import_driver(), compiled)
        return self._libraries[compiled].product(program.element.name)

    def launch_watched(
        self,
        program: Program,
        compiled: CompiledSource | LibraryFunction,
        launch: Launch,
        a: Matrix,
        b: Matrix,
    ) -> None:
        """Launch once on matrices without guards, and an output that nobody has written.

        A tool that watches takes the guards for the matrix, and a filled output for one that may be read.
        """
        cuda = import_driver()
        kernel = self._kernel(program, compiled, launch)
        held: dict[str, Any] = {}
        try:
            with _answering():
                held |= {"A": _on_device(np.ascontiguousarray(a)), "B": _on_device(np.ascontiguousarray(b))}
                held["C"] = cuda.mem_alloc(launch.shape.m * launch.shape.n * a.itemsize)
                addresses = {name: int(memory) for name, memory in held.items()}
                kernel.enqueue(launch, kernel.arguments(launch, addresses))
                cuda.Context.synchronize()
        finally:
            for memory in held.values():
                with contextlib.suppress(cuda.Error):  # after a crashed kernel nothing can be freed
                    memory.free()

    def judged(self, problem: Problem) -> _Judged:
        """A problem's reference and bound in device memory. Raises KernelError where there is no room."""
        if self._judged is None or self._judged.problem is not problem:
            if self._judged:
                self._judged.free()
            self._judged = None
            self._judged = _Judged(problem, self.support)
        return self._judged

    def make_ready(self, problem: Problem) -> None:
        """In device memory too, and the reference of a large problem by the GPU."""
        if _is_judged_here(problem):
            with contextlib.suppress(KernelError):  # no room for it: the host has
                self.judged(problem)
                return
        super().make_ready(problem)

    def check(self) -> None:
        """Ask for something small."""
        with _answering():
            import_driver().Context.synchronize()

    def notice(self) -> None:
        """Tell, where the device is broken, before PyCUDA frees what it has there and remarks on each."""
        try:
            self.check()
        except KernelError:
            if self.when_broken is not None:
                self.when_broken()

    def forget(self) -> None:
        """Free every matrix; open runs must not be used any more."""
        for matrices in self._placed.values():
            matrices.free()
        self._placed.clear()
        if self._judged:
            self._judged.free()
            self._judged = None

    def free_bytes(self) -> int:
        """Free device memory."""
        free: int = import_driver().mem_get_info()[0]
        return free

    def close(self) -> None:
        """Leave the context: one left on PyCUDA's stack at exit aborts the process."""
        self.forget()
        for library in self._libraries.values():
            library.close()
        if "support" in self.__dict__:
            with contextlib.suppress(import_driver().Error):  # after a crashed kernel nothing can be freed
                self.support.close()
        if self._monitor:
            self._monitor.close()
        self._context.pop()
        self._context.detach()


class _Kernel:
    """A compiled kernel loaded into the current context."""

    def __init__(self, program: Program, compiled: CompiledSource, launch: Launch) -> None:
        cuda = import_driver()
        entry = program.method.entry
        try:
            self.module = compiled.module.load()
            self.function = self.module.get_function(compiled.kernel)
            for name, value in launch.constants:
                address, size = self.module.get_global(name)
                cuda.memcpy_htod(address, np.array([value], dtype=f"i{size}"))
            most_threads = self.function.max_threads_per_block
            if math.prod(launch.block) > most_threads:
                raise KernelError(
                    f"cannot be launched: {math.prod(launch.block)} threads a block; its registers "
                    f"({self.function.num_regs} a thread) or its __launch_bounds__ allow {most_threads}"
                )
            if launch.shared_bytes + self.function.shared_size_bytes > SHARED_BYTES_WITHOUT_OPT_IN:
                attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.function.set_attribute(attribute, launch.shared_bytes)
        except cuda.Error as error:
            raise KernelError(f"{entry} cannot be loaded: {error}") from None
        self._element = program.element
        self._formats = parameter_formats(program.text, entry, program.element)
        offsets = parameter_offsets(compiled.image, compiled.kernel)
        self.function.prepare(packed_formats(self._formats, offsets))

    def arguments(self, launch: Launch, addresses: Mapping[str, int]) -> list[int | float | bytes]:
        """What it is called with, given where A, B and C are."""
        m, n, k = launch.shape.m, launch.shape.n, launch.shape.k
        shapes = {"A": (m, k), "B": (k, n), "C": (m, n)}
        given: list[int | float | bytes] = []
        for letter, value in zip(self._formats, launch.arguments, strict=True):
            if isinstance(value, TensorMap):
                matrix = value.matrix
                given.append(encode(value, addresses[matrix], *shapes[matrix], self._element))
            elif isinstance(value, str):
                given.append(addresses[value])
            else:
                given.append(float(value) if letter in "fd" else value)
        return given

    def enqueue(self, launch: Launch, arguments: list[int | float | bytes]) -> None:
        """Queue one launch."""
        self.function.prepared_async_call(
            launch.grid, launch.block, None, *arguments, shared_size=launch.shared_bytes
        )


class _Matrices:
    """A, B and C of a shape in device memory, each between guards."""

    def __init__(self, shape: Shape, a: Matrix, b: Matrix) -> None:
        """Raises KernelError where there is no place for them."""
        cuda = import_driver()
        self.a, self.b = a, b  # what the memory is known by is alive as long as it is
        self.c = np.empty((shape.m, shape.n), a.dtype)
        self.fingerprints: dict[MatrixName, int] = {}
        self._memory: dict[MatrixName, Any] = {}
        matrices: dict[MatrixName, Matrix] = {"A": a, "B": b, "C": self.c}
        try:
            for name, matrix in matrices.items():
                bytes_ = region_bytes(matrix)
                self._memory[name] = cuda.mem_alloc(bytes_)
                cuda.memset_d32(self._memory[name], int(GUARDS[name]), bytes_ // 4)
        except cuda.Error as error:
            self.free()
            raise KernelError(f"no place for the matrices: {error}") from None

    def address(self, name: MatrixName) -> int:
        """Where a matrix's memory begins, its guard first."""
        return int(self._memory[name])

    def free(self) -> None:
        """Free device memory; after a crashed kernel there is nothing left to free."""
        for memory in self._memory.values():
            with contextlib.suppress(import_driver().Error):
                memory.free()
        self._memory.clear()


class _Judged:
    """A problem's reference and error bound in device memory."""

    def __init__(self, problem: Problem, support: Support) -> None:
        """Raises KernelError where there is no place for them."""
        cuda = import_driver()
        self.problem = problem
        self._memory: list[Any] = []
        try:
            self._memory.append(cuda.mem_alloc(8 * problem.shape.m * problem.shape.n))
            if problem.has_reference or problem.shape.flops < LEAST_FLOPS or not self._made(support):
                cuda.memcpy_htod(self._memory[0], np.ascontiguousarray(problem.reference[0]))
            for factors in problem.error_factors:
                self._memory.append(_on_device(factors))
        except cuda.Error as error:
            self.free()
            raise KernelError(f"no place for the reference: {error}") from None

    def _made(self, support: Support) -> bool:
        """Have the GPU compute the reference, and the problem judge it; whether it is one."""
        cuda = import_driver()
        problem, reference = self.problem, int(self._memory[0])
        m, n, k = problem.shape.m, problem.shape.n, problem.shape.k
        times_probe = np.empty(m)
        held: list[Any] = []
        try:
            for matrix in (*problem.inputs, problem.probe, times_probe):
                held.append(_on_device(matrix))
            a, b, x, y = map(int, held)
            support.product(problem.element.name, a, b, reference, m, n, k)
            support.times_vector(reference, x, y, m, n)
            cuda.memcpy_dtoh(times_probe, y)
        finally:
            for memory in held:
                memory.free()
        return problem.is_product(times_probe)

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Of the reference, and of the bound's factors for rows and columns."""
        reference, rows, columns = map(int, self._memory)
        return reference, rows, columns

    def at(self, row: int, column: int) -> tuple[float, float]:
        """An element of the reference and its bound."""
        rows, columns = self.problem.error_factors
        address = int(self._memory[0]) + 8 * (row * self.problem.shape.n + column)
        return _number_at(address, np.dtype(np.float64)), float(rows[row] * columns[column])

    def give_reference(self) -> None:
        """To the problem, which otherwise computes it, should it be asked for."""
        if not self.problem.has_reference:
            product = np.empty((self.problem.shape.m, self.problem.shape.n))
            import_driver().memcpy_dtoh(product, self._memory[0])
            self.problem.offer_reference(product)

    def free(self) -> None:
        """Free device memory."""
        for memory in self._memory:
            with contextlib.suppress(import_driver().Error):
                memory.free()
        self._memory.clear()


class _GpuRun(Run):
    """A kernel on the GPU, with its matrices in device memory."""

    def __init__(
        self, device: GpuDevice, kernel: _Kernel | LibraryProduct, launch: Launch, place: _Matrices
    ) -> None:
        super().__init__(launch, place.a, place.b)
        self._cuda = import_driver()
        self._device, self._kernel, self._place_ = device, kernel, place
        if not place.fingerprints:
            self.load(place.a, place.b)
        self._arguments = kernel.arguments(launch, {name: self._address(name) for name in self.matrices})

    def _address(self, name: MatrixName) -> int:
        return self._place_.address(name) + GUARD_BYTES

    def _place(self, name: MatrixName, matrix: Matrix) -> None:
        with _answering():
            self._cuda.memcpy_htod(self._address(name), np.ascontiguousarray(matrix))
            self._place_.fingerprints[name] = self._fingerprint(name)

    def _fingerprint(self, name: MatrixName) -> int:
        words = self.matrices[name].nbytes // 4
        return self._device.support.fingerprint(self._address(name), words)

    def _enqueue(self) -> None:
        self._kernel.enqueue(self.plan, self._arguments)

    def launch(self, descending: bool = False) -> float:
        """Run the kernel once between two events, without holding the stream: it may be the first launch."""
        start, end = self._cuda.Event(), self._cuda.Event()
        try:
            start.record()
            self._enqueue()
            end.record()
            end.synchronize()
            elapsed_ms: float = start.time_till(end)
        except self._cuda.Error as error:
            self._device.notice()
            raise KernelError(f"launch failed: {error}") from None
        return elapsed_ms

    def sample(self, samples: int, launches: int = 1, cold: bool = False) -> list[float]:
        """By events, on a stream that is held until all is queued; with `cold`, L2 is written over first."""
        try:
            return self._device.support.time(self._enqueue, samples, launches, cold)
        except self._cuda.Error as error:
            self._device.notice()
            raise KernelError(f"launch failed: {error}") from None

    def fill_output(self, word: np.uint32 = POISON) -> None:
        """Fill C with a 32-bit pattern."""
        with _answering():
            self._cuda.memset_d32(self._address("C"), int(word), self.matrices["C"].nbytes // 4)

    def deviation(self, problem: Problem) -> Deviation | None:
        """Judged on the GPU, where it can be."""
        if not _is_judged_here(problem):
            return None
        try:
            judged = self._device.judged(problem)
        except KernelError:
            return None  # no room for it: the host has
        m, n, c = problem.shape.m, problem.shape.n, self.matrices["C"]
        with _answering():
            wrong, worst = self._device.support.judge(
                problem.element.name, self._address("C"), c.shape[1], m, n, *judged.addresses
            )
            row, column = divmod(worst, n)
            found = _number_at(self._address("C") + (row * c.shape[1] + column) * c.itemsize, c.dtype)
            expected, bound = judged.at(row, column)
            if wrong:  # the host will say what is
                judged.give_reference()
        return Deviation(wrong, abs(found - expected), bound)

    def check_memory(self) -> None:
        """On the GPU; only where something is amiss is the memory fetched, to say what."""
        support = self._device.support
        with _answering():
            changed = 0
            for name, matrix in self.matrices.items():
                begin, guard = self._place_.address(name), int(GUARDS[name])
                end = GUARD_BYTES + matrix.nbytes
                changed += support.count_changed(begin, GUARD_BYTES // 4, guard)
                changed += support.count_changed(begin + end, (region_bytes(matrix) - end) // 4, guard)
                changed += name != "C" and self._fingerprint(name) != self._place_.fingerprints[name]
        if changed:
            super().check_memory()

    def region(self, name: MatrixName) -> Region:
        """A copy from device memory."""
        region: Region = np.empty(region_bytes(self.matrices[name]), np.uint8)
        with _answering():
            self._cuda.memcpy_dtoh(region, self._place_.address(name))
        return region

    def close(self) -> None:
        """The matrices stay for the next run on them; the device frees them."""


def _on_device(matrix: Matrix) -> Any:
    """A copy in device memory; PyCUDA's own way makes another copy on the host first."""
    cuda = import_driver()
    memory = cuda.mem_alloc(matrix.nbytes)
    cuda.memcpy_htod(memory, matrix)
    return memory


def _number_at(address: int, dtype: np.dtype[Any]) -> float:
    """One element in device memory."""
    found = np.empty(1, dtype)
    import_driver().memcpy_dtoh(found, address)
    return float(found[0])


def _is_judged_here(problem: Problem) -> bool:
    """float64 needs more precision than the GPU has."""
    return problem.element.name != "float64"


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    """Make a KernelError of what the driver says."""
    try:
        yield
    except import_driver().Error as error:
        raise KernelError(f"the GPU does not answer: {error}") from None


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
