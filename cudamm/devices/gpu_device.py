"""An NVIDIA GPU, used through PyCUDA with its primary context, prepared launches and CUDA events."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cudamm.compile.nvcc_compiler import check_driver, compile_for_gpu, made_from
from cudamm.compile.program import Program
from cudamm.compile.resources import Resources, parameter_offsets
from cudamm.compile.signature import packed_formats, passed_value
from cudamm.devices import visible_gpu
from cudamm.devices.dependent_kernel import DependentKernel
from cudamm.devices.device import (
    GUARD_BYTES,
    Ceilings,
    Deviation,
    Device,
    DeviceInfo,
    Judged,
    Load,
    LoadedUnit,
    Peak,
    Region,
    Run,
    Slot,
    Target,
    guards_of,
    poison_of,
    region_bytes,
)
from cudamm.devices.gpu_ceilings import measured_ceilings, measured_load, measured_other_peaks
from cudamm.devices.gpu_fresh_inputs import FreshInputs
from cudamm.devices.gpu_library import (
    Library,
    LibraryFunction,
    LibraryProduct,
    missing_package,
    package_version,
)
from cudamm.devices.gpu_support import Support
from cudamm.devices.gpu_timed_memory import OUTPUTS, WINDOWS, Place, TimedMemory, arguments_of
from cudamm.devices.nvml import open_monitor
from cudamm.devices.source_module import CompiledSource, compile_source, prepare_to_load
from cudamm.devices.tensor_map import encode
from cudamm.errors import KernelError, NoDeviceError, NoSuchGpuError
from cudamm.kernels.architecture import Architecture, gpu_architecture
from cudamm.kernels.array_file import FileArray
from cudamm.kernels.launch_plan import (
    SHARED_BYTES_WITHOUT_OPT_IN,
    Launch,
    Limits,
    Scratch,
    TensorMap,
    padded_row_bytes,
)
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ElementType, Execution, MatrixName, Method
from cudamm.kernels.parameter_types import TENSOR_MAP_POINTER_LETTER, each_format, parameter_formats
from cudamm.kernels.problem import UNSCALED, Matrix, Problem, Shape
from cudamm.kernels.sampled_product import SampledProduct

LEAST_FLOPS = 10**9
"""Operations of a problem above which the GPU computes its reference; below, the host takes milliseconds."""


TimedKey = tuple[Shape, tuple[MatrixName, ...], str, int]
"""What determines the memory of timed launches: shape, layout, element type and the pattern in C."""


class GpuTarget(Target[CompiledSource | LibraryFunction]):
    """The properties of a GPU that are needed to plan and compile for it."""

    has_thread_order = False

    def __init__(self, info: DeviceInfo, limits: Limits, architecture: Architecture) -> None:
        self.info, self.limits, self.architecture = info, limits, architecture

    @property
    def arch(self) -> str:
        """The GPU's architecture, such as `sm_90`."""
        return self.architecture.name

    def execution(self, method: Method) -> Execution:
        """Return `gpu`."""
        return "gpu"

    def lacks(self, method: Method) -> str:
        """Return the reason why this GPU cannot run a method; empty if it can."""
        return missing_package(method) if method.package else super().lacks(method)

    def compile(self, program: Program) -> CompiledSource | LibraryFunction:
        """Compile a program for this GPU's architecture; a library's method needs no compiling.

        Raises:
            KernelError: the program does not compile.
            NoDeviceError: nvcc cannot be used, or the driver is too old for programs of this nvcc.
        """
        if program.method.package:
            return LibraryFunction(program.method.name, program.method.path)
        major, minor = map(int, str(self.info.properties["driver_cuda"]).split("."))
        check_driver((major, minor))
        return compile_source(program, self.arch)

    def made_from(self, program: Program) -> list[str]:
        """Return everything that determines the compiled program; for a library its package's version."""
        if program.method.package:
            return [program.text, package_version(program.method)]
        return made_from(program, self.arch)

    def resources(self, program: Program) -> Resources | None:
        """Compile a program with nvcc, and return the resources that ptxas reports; None for a library."""
        return None if program.method.package else compile_for_gpu(program, self.arch).resources


class GpuDevice(GpuTarget, Device[CompiledSource | LibraryFunction]):
    """An open GPU, whose primary context is current until `close`."""

    def __init__(self, index: int) -> None:
        """Open a GPU.

        Raises:
            NoDeviceError: there is no PyCUDA, no driver or no GPU, or the GPU cannot be used.
            NoSuchGpuError: there is no GPU with that index.
        """
        cuda = import_driver()
        count, driver_number = cuda.Device.count(), visible_gpu.driver_number(index)
        if driver_number >= count:
            raise NoSuchGpuError(
                f"there is no gpu:{index}: this machine has {count}, the last is gpu:{count - 1}"
            )
        self._device = cuda.Device(driver_number)
        try:
            self._context = self._device.retain_primary_context()
            self._context.push()
        except cuda.Error as error:
            raise NoDeviceError(f"gpu:{index} cannot be used ({error})") from None
        attributes = {str(name).lower(): int(value) for name, value in self._device.get_attributes().items()}
        arch = "sm_{}{}".format(*self._device.compute_capability())
        limits = Limits(
            attributes["max_threads_per_block"],
            (attributes["max_block_dim_x"], attributes["max_block_dim_y"], attributes["max_block_dim_z"]),
            (attributes["max_grid_dim_x"], attributes["max_grid_dim_y"], attributes["max_grid_dim_z"]),
            attributes.get("max_shared_memory_per_block_optin", attributes["max_shared_memory_per_block"]),
            arch=arch,
        )
        self._monitor = open_monitor(self._device.pci_bus_id())
        info = DeviceInfo(
            kind="gpu",
            spec=f"gpu:{index}",
            name=self._device.name(),
            properties={
                "arch": arch,
                "multiprocessors": attributes["multiprocessor_count"],
                "clock_mhz": attributes["clock_rate"] // 1000,
                "memory_bytes": self._device.total_memory(),
                "memory_clock_mhz": attributes["memory_clock_rate"] // 1000,
                "memory_bus_bits": attributes["global_memory_bus_width"],
                "l2_bytes": attributes["l2_cache_size"],
                "max_threads_per_multiprocessor": attributes["max_threads_per_multiprocessor"],
                "max_registers_per_multiprocessor": attributes["max_registers_per_multiprocessor"],
                "max_shared_bytes_per_multiprocessor": attributes["max_shared_memory_per_multiprocessor"],
                "max_threads_per_block": attributes["max_threads_per_block"],
                "max_shared_bytes_per_block": limits.shared_bytes_per_block,
                "driver_cuda": _version(cuda.get_driver_version()),
                "driver": self._monitor.driver_version() if self._monitor else None,
            },
        )
        super().__init__(info, limits, gpu_architecture(arch, self._device.name(), attributes))
        self._matrices: dict[tuple[int, int, Shape, tuple[MatrixName, ...], str], _Matrices] = {}
        self._timed: tuple[TimedKey, TimedMemory] | None = None
        self._reference: _Reference | None = None
        self._libraries: dict[LibraryFunction, Library] = {}
        self._fresh_inputs: dict[str, FreshInputs] = {}

    def target(self) -> GpuTarget:
        """Return the properties that another process needs to plan and compile for this GPU."""
        return GpuTarget(self.info, self.limits, self.architecture)

    @functools.cached_property
    def support(self) -> Support:
        """The kernels of cudamm itself on this GPU, which time launches and check memory."""
        properties = self.info.properties
        return Support(import_driver(), self.arch, properties["l2_bytes"], properties["multiprocessors"])

    def fresh_inputs(self, element: ElementType) -> FreshInputs:
        """Return the kernels of cudamm itself that make inputs of timed launches, and judge the products."""
        stored = element.of_memory
        if stored.name not in self._fresh_inputs:
            multiprocessors = self.info.properties["multiprocessors"]
            self._fresh_inputs[stored.name] = FreshInputs(import_driver(), self.arch, multiprocessors, stored)
        return self._fresh_inputs[stored.name]

    def clock_mhz(self) -> int | None:
        """Return the current clock of the multiprocessors, from NVML; None if it cannot be read."""
        return self._monitor.sm_clock_mhz() if self._monitor else None

    def throttle_reasons(self) -> tuple[str, ...]:
        """Return the reasons why the GPU is throttled now, from NVML; empty if it is not."""
        return self._monitor.throttle_reasons() if self._monitor else ()

    def ceilings(self) -> Ceilings | None:
        """Return the upper bounds for this GPU's rates, which are measured once for each GPU and driver."""
        return measured_ceilings(self.support, self._gpu_and_driver(), self.clock_mhz)

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the peaks of all units and types but float32 FMAs, measured once for each GPU and driver."""
        return measured_other_peaks(self.support, self._gpu_and_driver(), self.clock_mhz)

    def _gpu_and_driver(self) -> str:
        uuid = self._monitor.uuid() if self._monitor else self.info.name
        return f"{uuid} {self.info.properties['driver']} {self.info.properties['driver_cuda']}"

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of units busy for a time, and return what the GPU did; None if it has none."""
        with _driver_errors():
            return measured_load(self.support, unit, seconds, self._monitor)

    @property
    def event_floor_ms(self) -> float | None:
        """Milliseconds between two events around an empty kernel."""
        return self.support.floor_ms

    def prepare_to_load(self) -> None:
        """Prepare PyCUDA to load kernels."""
        prepare_to_load()

    def open(
        self,
        program: Program,
        compiled: CompiledSource | LibraryFunction,
        launch: Launch,
        a: Matrix,
        b: Matrix,
    ) -> Run:
        """Load the kernel, and copy the matrices to device memory.

        Runs on the same inputs share device memory, because they are launched one after the other.
        """
        kernel = self._kernel(program, compiled, launch)
        key = (id(a), id(b), launch.shape, launch.column_major, program.element.name)
        if key not in self._matrices:
            self._matrices[key] = _Matrices(launch.shape, program.element, a, b)
        run = _GpuRun(self, kernel, launch, self._matrices[key])
        if isinstance(compiled, LibraryFunction):
            run.launch()  # loads the library's kernels and may wait for the GPU; later the stream is held
        return run

    def _kernel(
        self, program: Program, compiled: CompiledSource | LibraryFunction, launch: Launch
    ) -> _Kernel | LibraryProduct:
        """Return the loaded kernel, or the library's product, that a launch of a method queues."""
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
        """Launch once on matrices without guards, with an output that was never written unless β may be 0.

        With guards and a filled output, a tool such as compute-sanitizer would miss accesses outside a matrix
        and reads of elements that the kernel has not written.
        """
        cuda = import_driver()
        kernel = self._kernel(program, compiled, launch)
        memories: dict[str, Any] = {}
        try:
            with _driver_errors():
                memories["A"] = _on_device(_elements(launch.layouts["A"], a))
                memories["B"] = _on_device(_elements(launch.layouts["B"], b))
                c = np.empty((launch.shape.m, launch.shape.n), program.element.of_results.dtype)
                memories["C"] = cuda.mem_alloc(c.nbytes)
                if (
                    launch.may_scale_output
                ):  # the kernel may read C, which the caller of such a kernel has set
                    _fill(memories["C"], poison_of(c), c.nbytes)
                addresses = {name: int(memory) for name, memory in memories.items()}
                kernel.enqueue(launch, kernel.arguments(launch, addresses))
                cuda.Context.synchronize()
        finally:
            for memory in memories.values():
                with contextlib.suppress(cuda.Error):  # after a crashed kernel nothing can be freed
                    memory.free()

    def timed_memory(self, launch: Launch, element: ElementType, poison: int, outputs: int) -> TimedMemory:
        """Return memory for the timed launches of a shape; that of another shape is freed.

        Raises:
            KernelError: there is no room.
        """
        key = launch.shape, launch.column_major, element.name, poison
        if self._timed is not None and (self._timed[0] != key or self._timed[1].outputs < outputs):
            self._free_timed_memory()
        if self._timed is None:
            kernels = self.fresh_inputs(element)
            memory = TimedMemory(self.support, kernels, launch, element, poison, outputs)
            self._timed = key, memory
        return self._timed[1]

    def _free_timed_memory(self) -> None:
        if self._timed is not None:
            self._timed[1].free()
            self._timed = None

    def reference(self, problem: Problem) -> _Reference:
        """Return a problem's reference and bound in device memory. Raises KernelError if there is no room."""
        if self._reference is None or self._reference.problem is not problem:
            if self._reference:
                self._reference.free()
            self._reference = None
            self._reference = _Reference(problem, self.support)
        return self._reference

    def make_ready(self, problem: Problem) -> None:
        """Make the reference and the error bound of a problem, in device memory if possible.

        The GPU computes the reference of a large problem. cudamm's own kernels are loaded too: nvcc may have
        to compile them, and later the kernel's time limit holds.
        """
        # A host method needs no kernels. A run on the GPU raises the same error if they cannot be loaded. If
        # device memory has no room, the host judges.
        with contextlib.suppress(NoDeviceError, KernelError):
            _ = self.support, self.fresh_inputs(problem.element)
            if _can_judge(problem):
                self.reference(problem)
                return
        super().make_ready(problem)

    def check(self) -> None:
        """Raise KernelError if the device cannot be used any more in this process."""
        with _driver_errors():
            import_driver().Context.synchronize()

    def report_if_broken(self) -> None:
        """Report a broken context before PyCUDA's destructors print a warning for each allocation."""
        try:
            self.check()
        except KernelError:
            if self.when_broken is not None:
                self.when_broken()

    def forget(self) -> None:
        """Free every matrix; open runs must not be used any more."""
        for matrices in self._matrices.values():
            matrices.free()
        self._matrices.clear()
        self._free_timed_memory()
        if self._reference:
            self._reference.free()
            self._reference = None

    def free_bytes(self) -> int:
        """Return the number of free bytes of device memory."""
        free: int = import_driver().mem_get_info()[0]
        return free

    def close(self) -> None:
        """Free all memory, and pop the context: a context on PyCUDA's stack at exit aborts the process."""
        self.forget()
        for library in self._libraries.values():
            library.close()
        support = self.__dict__.get("support")
        for own in (*([support] if support else []), *self._fresh_inputs.values()):
            with contextlib.suppress(import_driver().Error):  # after a crashed kernel nothing can be freed
                own.close()
        if self._monitor:
            self._monitor.close()
        self._context.pop()
        self._context.detach()


class _Kernel:
    """A compiled kernel loaded into the current context."""

    def __init__(self, program: Program, compiled: CompiledSource, launch: Launch) -> None:
        cuda = import_driver()
        entry = program.entry
        try:
            self.module = compiled.module.load()
            self.function = self.module.get_function(compiled.kernel)
            self._dependent = (
                DependentKernel(cuda, compiled.image, compiled.kernel, launch.shared_bytes)
                if launch.is_dependent
                else None
            )
            for name, value in launch.constants:  # of the module that is launched
                address, size = (self._dependent or self.module).get_global(name)
                kind = "i" if value < 0 else "u"  # `unsigned` holds more than `int`
                cuda.memcpy_htod(address, np.array([value], dtype=f"{kind}{size}"))
            max_threads = self.function.max_threads_per_block
            if math.prod(launch.block) > max_threads:
                raise KernelError(
                    f"cannot be launched: a block has {math.prod(launch.block)} threads, and the kernel's "
                    f"registers ({self.function.num_regs} per thread) or __launch_bounds__ allow "
                    f"{max_threads}"
                )
            needed_bytes = launch.shared_bytes + self.function.shared_size_bytes
            if not self._dependent and needed_bytes > SHARED_BYTES_WITHOUT_OPT_IN:
                attribute = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.function.set_attribute(attribute, launch.shared_bytes)
        except cuda.Error as error:
            raise KernelError(f"{entry} cannot be loaded: {error}") from None
        self._element = program.element
        self._formats = parameter_formats(program.text, entry, program.element)
        offsets = parameter_offsets(compiled.image, compiled.kernel)
        self.function.prepare(packed_formats(self._formats, offsets))
        self._constant_memory: dict[tuple[int, bytes], Any] = {}
        self._padded_copies: dict[str, Any] = {}
        for name, layout in launch.padded_copies.items():
            try:
                size_bytes = layout.lines * padded_row_bytes(layout.leading, self._element)
                self._padded_copies[name] = cuda.mem_alloc(size_bytes)
            except cuda.Error as error:
                raise KernelError(f"no device memory for {name}: {error}") from None

    def arguments(self, launch: Launch, addresses: Mapping[str, int]) -> list[int | float | bytes]:
        """Return the kernel's arguments for the addresses of A, B and C."""
        addresses = {**addresses, **{name: int(memory) for name, memory in self._padded_copies.items()}}
        arguments: list[int | float | bytes] = []
        parts = zip(each_format(self._formats), launch.arguments, strict=True)
        for position, (part, value) in enumerate(parts):
            if isinstance(value, TensorMap):
                layout = launch.layouts[value.matrix]
                element = self._element.of_results if value.matrix == "C" else self._element
                address = addresses[value.memory]
                encoded = encode(value, address, layout.lines, layout.leading, element)
                is_pointer = part == TENSOR_MAP_POINTER_LETTER
                arguments.append(self._address_of(position, encoded) if is_pointer else encoded)
            elif isinstance(value, FileArray):
                arguments.append(self._address_of(position, value.content))
            elif isinstance(value, Scratch):
                arguments.append(self._scratch_address(position, value.size_bytes))
            else:
                arguments.append(passed_value(part, value, addresses))
        return arguments

    def _address_of(self, position: int, content: bytes) -> int:
        """Return the address of a tensor map or an array in device memory, which is freed with the kernel.

        Each content has its own memory, because several launches on different matrices may be queued. Each
        argument has its own, because the kernel may write there.
        """
        key = position, content
        if key not in self._constant_memory:
            try:
                self._constant_memory[key] = _on_device(np.frombuffer(content, np.uint8))
            except import_driver().Error as error:
                raise KernelError(f"no device memory for an argument: {error}") from None
        return int(self._constant_memory[key])

    def _scratch_address(self, position: int, size_bytes: int) -> int:
        """Return the address of memory for an argument to which the kernel only writes."""
        cuda, key = import_driver(), (position, b"")
        if key not in self._constant_memory:
            try:
                self._constant_memory[key] = cuda.mem_alloc(size_bytes)
                cuda.memset_d8(self._constant_memory[key], 0, size_bytes)
            except cuda.Error as error:
                raise KernelError(f"no device memory for an argument: {error}") from None
        return int(self._constant_memory[key])

    def enqueue(self, launch: Launch, arguments: list[int | float | bytes]) -> None:
        """Queue one launch."""
        if self._dependent:
            self._dependent.enqueue(launch, struct.pack(self.function.arg_format, *arguments))
            return
        self.function.prepared_async_call(
            launch.grid, launch.block, None, *arguments, shared_size=launch.shared_bytes
        )


class _Matrices:
    """A, B and C of a shape in device memory, each between guards."""

    def __init__(self, shape: Shape, element: ElementType, a: Matrix, b: Matrix) -> None:
        """Allocate the memory and fill the guards. Raises KernelError if there is no room."""
        cuda = import_driver()
        self.a, self.b = (
            a,
            b,
        )  # the device identifies this memory by the `id` of both, so they must stay alive
        self.element = element
        self.c = np.empty((shape.m, shape.n), element.of_results.dtype)
        self.fingerprints: dict[MatrixName, int] = {}
        self._memory: dict[MatrixName, Any] = {}
        matrices: dict[MatrixName, Matrix] = {"A": a, "B": b, "C": self.c}
        try:
            for name, matrix in matrices.items():
                size_bytes = region_bytes(matrix)
                self._memory[name] = cuda.mem_alloc(size_bytes)
                _fill(self._memory[name], guards_of(matrix)[name], size_bytes)
        except cuda.Error as error:
            self.free()
            raise KernelError(f"no device memory for the matrices: {error}") from None

    def address(self, name: MatrixName) -> int:
        """Return the address of a matrix's memory, which begins with a guard."""
        return int(self._memory[name])

    def free(self) -> None:
        """Free the device memory; after a crashed kernel the driver refuses, which is ignored."""
        for memory in self._memory.values():
            with contextlib.suppress(import_driver().Error):
                memory.free()
        self._memory.clear()


class _Reference:
    """A problem's reference and error bound in device memory."""

    def __init__(self, problem: Problem, support: Support) -> None:
        """Compute or copy the reference and the bound. Raises KernelError if there is no room."""
        cuda = import_driver()
        self.problem = problem
        self._memory: list[Any] = []
        try:
            self._memory.append(cuda.mem_alloc(8 * problem.shape.m * problem.shape.n))
            is_small = problem.shape.flops < LEAST_FLOPS
            if problem.has_reference or is_small or not self._compute(support):
                cuda.memcpy_htod(self._memory[0], np.ascontiguousarray(problem.reference[0]))
            for factors in problem.error_factors:
                self._memory.append(_on_device(factors))
        except cuda.Error as error:
            self.free()
            raise KernelError(f"no device memory for the reference: {error}") from None

    def _compute(self, support: Support) -> bool:
        """Compute the reference on the GPU; return whether the problem accepts it as its product."""
        cuda = import_driver()
        problem, reference = self.problem, int(self._memory[0])
        m, n, k = problem.shape.m, problem.shape.n, problem.shape.k
        times_probe = np.empty(m)
        memories: list[Any] = []
        try:
            for matrix in (*problem.inputs, problem.probe, times_probe):
                memories.append(_on_device(matrix))
            a, b, x, y = map(int, memories)
            support.product(problem.element.of_inputs.name, a, b, reference, m, n, k)
            support.times_vector(reference, x, y, m, n)
            cuda.memcpy_dtoh(times_probe, y)
        finally:
            for memory in memories:
                memory.free()
        return problem.is_product(times_probe)

    @property
    def addresses(self) -> tuple[int, int, int]:
        """Addresses of the reference, and of the bound's factors for rows and columns."""
        reference, rows, columns = map(int, self._memory)
        return reference, rows, columns

    def element_and_bound(self, row: int, column: int) -> tuple[float, float]:
        """Return an element of the reference and its bound."""
        rows, columns = self.problem.error_factors
        address = int(self._memory[0]) + 8 * (row * self.problem.shape.n + column)
        element = float(self.problem.nearest(np.array(_number_at(address, np.dtype(np.float64)))))
        of_rounding = self.problem.rounding_of_sums.of(element)
        return element, float(rows[row] * columns[column] + of_rounding)

    def offer_to_problem(self) -> None:
        """Copy the reference to the problem, which would otherwise compute it on the host."""
        if not self.problem.has_reference:
            product = np.empty((self.problem.shape.m, self.problem.shape.n))
            import_driver().memcpy_dtoh(product, self._memory[0])
            self.problem.offer_reference(product)

    def free(self) -> None:
        """Free the device memory; after a crashed kernel the driver refuses, which is ignored."""
        for memory in self._memory:
            with contextlib.suppress(import_driver().Error):
                memory.free()
        self._memory.clear()


class _GpuRun(Run):
    """A kernel on the GPU, with its matrices in device memory."""

    windows = WINDOWS
    most_outputs = OUTPUTS

    def __init__(
        self, device: GpuDevice, kernel: _Kernel | LibraryProduct, launch: Launch, memory: _Matrices
    ) -> None:
        super().__init__(launch, memory.element, memory.a, memory.b)
        self._cuda = import_driver()
        self._device, self._kernel, self._memory = device, kernel, memory
        if not memory.fingerprints:
            self.load(memory.a, memory.b)
        self._arguments = kernel.arguments(launch, {name: self._address(name) for name in self.matrices})
        self._timed: TimedMemory | None = None

    def _address(self, name: MatrixName) -> int:
        return self._memory.address(name) + GUARD_BYTES

    def _place(self, name: MatrixName, elements: Matrix) -> None:
        with _driver_errors():
            self._cuda.memcpy_htod(self._address(name), elements)
            self._memory.fingerprints[name] = self._fingerprint(name)

    def _fingerprint(self, name: MatrixName) -> int:
        words = -(-self.matrices[name].nbytes // 4)  # with the guard's first half if the elements are odd
        return self._device.support.fingerprint(self._address(name), words)

    def _enqueue(self) -> None:
        self._kernel.enqueue(self.plan, self._arguments)

    def launch(self, descending: bool = False) -> float:
        """Run the kernel once, and return the milliseconds between two events around it.

        The stream is not held, because a first launch may wait for the GPU.
        """
        return self._time_launch(late_inputs=False)

    def launch_with_late_inputs(self, descending: bool = False) -> float:
        """As `launch`; if the kernel may start early, parts of A and B are written after it can have."""
        return self._time_launch(late_inputs=self.plan.is_dependent)

    def _time_launch(self, late_inputs: bool) -> float:
        start, end = self._cuda.Event(), self._cuda.Event()
        late_ms = 0.0
        try:
            if late_inputs:
                # An event between `write_late` and the kernel would keep the kernel from starting early.
                saved = self._device.support.hide(
                    (self._address(name), self.matrices[name].nbytes) for name in ("A", "B")
                )
                start.record()
                late_ms = self._device.support.write_late(saved)
            else:
                start.record()
            self._enqueue()
            end.record()
            end.synchronize()
            elapsed_ms: float = start.time_till(end) - late_ms
        except self._cuda.Error as error:
            self._device.report_if_broken()
            raise KernelError(f"launch failed: {error}") from None
        return elapsed_ms

    def sample(self, samples: int, launches: int = 1, cold: bool = False) -> list[float]:
        """Return `samples` samples, in milliseconds per launch, each over `launches` launches.

        Each sample is the time between two events, on a stream that is held until all launches are queued.

        Args:
            cold: overwrite the L2 cache before each sample.
        """
        try:
            return self._device.support.time(self._enqueue, samples, launches, cold)
        except self._cuda.Error as error:
            self._device.report_if_broken()
            raise KernelError(f"launch failed: {error}") from None

    def redraw(self, problem: Problem, place: int = 0, outputs: int = 1) -> None:
        """Draw new inputs in device memory that is not that of verified launches, and fill the outputs."""
        with _driver_errors():
            memory = self._device.timed_memory(self.plan, problem.element, int(self.poison), outputs)
            memory.redraw(problem, place)
        self._timed = memory

    def time(self, slots: Sequence[Slot], cold: bool = False) -> float | None:
        """Return one sample, in milliseconds per launch: the time between two events around the launches.

        There is no launch between `redraw` and the first event. The kernel would find the inputs of all
        launches in memory then, and could compute their products in time that is not measured.
        """
        launches = [self._launch_in(slot) for slot in slots]
        try:
            return self._device.support.sample(launches, cold)
        except self._cuda.Error as error:
            self._device.report_if_broken()
            raise KernelError(f"launch failed: {error}") from None

    def _launch_in(self, slot: Slot) -> Callable[[], None]:
        """Return a function that queues a launch on the matrices of a slot."""
        arguments = self._kernel.arguments(self.plan, self._timed_memory.addresses(slot))
        return functools.partial(self._kernel.enqueue, self.plan, arguments)

    @property
    def _timed_memory(self) -> TimedMemory:
        assert self._timed is not None  # noqa: S101 - `redraw` was called
        return self._timed

    def judge(self, problem: Problem, output: int, rows: int, columns: int) -> Judged | None:
        """Judge the product of a timed launch on the GPU; α A B + β C is judged on the host."""
        if problem.scale != UNSCALED:
            return None
        with _driver_errors():
            return self._timed_memory.judge(problem, output, rows, columns)

    def timed_product(self, output: int) -> Matrix:
        """Return a copy of C of a timed launch."""
        with _driver_errors():
            return self._timed_memory.product(output)

    def sampled_timed_product(
        self, problem: Problem, output: int, rows: Matrix, columns: Matrix
    ) -> SampledProduct:
        """Return elements of C after a timed launch, and the sums that they should be."""
        with _driver_errors():
            return self._timed_memory.sampled_product(problem, output, rows, columns)

    def sampled_product(self, problem: Problem, rows: Matrix, columns: Matrix) -> SampledProduct:
        """Return elements of C after the last launch, and the sums that they should be."""
        places = {name: Place(self._address(name), layout) for name, layout in self.layouts.items()}
        kernels = self._device.fresh_inputs(problem.element)
        with _driver_errors():
            return kernels.sample_product(arguments_of(places), rows, columns, problem.shape.k)

    def check_timed_memory(self, problem: Problem, output: int) -> None:
        """Raise DamagedMemoryError if timed launches wrote outside of an output or into an input."""
        with _driver_errors():
            self._timed_memory.check(problem, output)

    def fill_output(self, word: np.uint32 | None = None) -> None:
        """Fill C with a 32-bit pattern."""
        pattern = self.poison if word is None else word
        with _driver_errors():
            _fill(self._address("C"), pattern, self.matrices["C"].nbytes)

    def deviation(self, problem: Problem) -> Deviation | None:
        """Return the product's deviation from the reference; None if the host has to compare them."""
        if not _can_judge(problem):
            return None
        try:
            reference = self._device.reference(problem)
        except KernelError:
            return None  # if device memory has no room, the host judges
        if self.plan.column_major[-1:] == ("C",):
            reference.offer_to_problem()
            return None
        m, n, c = problem.shape.m, problem.shape.n, self.matrices["C"]
        with _driver_errors():
            wrong, worst = self._device.support.judge(
                problem.element.of_results.name,
                self._address("C"),
                c.shape[1],
                m,
                n,
                *reference.addresses,
                problem.rounding_of_sums,
            )
            row, column = divmod(worst, n)
            actual = _number_at(self._address("C") + (row * c.shape[1] + column) * c.itemsize, c.dtype)
            expected, bound = reference.element_and_bound(row, column)
            if wrong:  # the host will use the reference to describe what is wrong
                reference.offer_to_problem()
        return Deviation(wrong, abs(actual - expected), bound)

    def check_memory(self) -> None:
        """Raise KernelError if the kernel wrote outside a matrix or into an input.

        The GPU checks its memory; the memory is copied to the host only to describe damage.
        """
        support = self._device.support
        with _driver_errors():
            changed = 0
            for name, matrix in self.matrices.items():
                begin, guard = self._memory.address(name), int(guards_of(matrix)[name])
                end = GUARD_BYTES + matrix.nbytes
                changed += support.count_changed(begin, GUARD_BYTES, guard)
                changed += support.count_changed(begin + end, region_bytes(matrix) - end, guard)
                changed += name != "C" and self._fingerprint(name) != self._memory.fingerprints[name]
        if changed:
            super().check_memory()

    def region(self, name: MatrixName) -> Region:
        """Return a copy of a matrix's device memory, with its guards."""
        region: Region = np.empty(region_bytes(self.matrices[name]), np.uint8)
        with _driver_errors():
            self._cuda.memcpy_dtoh(region, self._memory.address(name))
        return region

    def close(self) -> None:
        """Do nothing: the device keeps the matrices for the next run on them, and frees them."""


def _elements(layout: MatrixLayout, matrix: Matrix) -> Matrix:
    """Return the elements of a matrix in the order in which a kernel reads them."""
    return layout.memory_of(layout.stored(matrix))


def _on_device(matrix: Matrix) -> Any:
    """Return a copy of a matrix in device memory, without the copy on the host that PyCUDA would make."""
    cuda = import_driver()
    memory = cuda.mem_alloc(matrix.nbytes)
    cuda.memcpy_htod(memory, matrix)
    return memory


def _fill(memory: Any, word: np.uint32, size_bytes: int) -> None:
    """Fill device memory with a 32-bit pattern, of which 16-bit elements may leave one half at the end."""
    cuda = import_driver()
    if size_bytes % 4 == 0:
        cuda.memset_d32(memory, int(word), size_bytes // 4)
    else:
        cuda.memset_d16(memory, int(word) & 0xFFFF, size_bytes // 2)


def _number_at(address: int, dtype: np.dtype[Any]) -> float:
    """Return one element in device memory."""
    value = np.empty(1, dtype)
    import_driver().memcpy_dtoh(value, address)
    return float(value[0])


def _can_judge(problem: Problem) -> bool:
    """Return whether the GPU can judge results.

    A reference for float64 needs more precision than the GPU has. The host computes α A B + β C.
    """
    return problem.element.name != "float64" and problem.scale == UNSCALED


@contextlib.contextmanager
def _driver_errors() -> Iterator[None]:
    """Raise KernelError in place of an error of the driver."""
    try:
        yield
    except import_driver().Error as error:
        raise KernelError(f"the GPU does not answer: {error}") from None


def import_driver() -> Any:
    """Return PyCUDA's driver interface, initialised.

    Raises:
        NoDeviceError: PyCUDA, the driver or a GPU is missing; the message contains what to do.
    """
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
    """Return whether the driver's library can be loaded."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def gpu_count() -> int:
    """Return the number of GPUs that can be used. Raises NoDeviceError if there is none."""
    count: int = import_driver().Device.count()
    return count


def _version(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"
