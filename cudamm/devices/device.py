"""Interface of a device, and the guards around the matrices of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from cudamm.compile.process_group import CORES
from cudamm.compile.program import Program
from cudamm.compile.resources import Resources
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import Launch, Limits, unsupported_reason
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ElementType, Execution, MatrixName, Method
from cudamm.kernels.problem import Matrix, Problem
from cudamm.kernels.sampled_product import SampledProduct, sampled_product

Region = npt.NDArray[np.uint8]
Compiled = TypeVar("Compiled")
Entered = TypeVar("Entered")

POISON = np.uint32(0x49ABCDEF)
"""Bits that fill the output before a launch, in the millions as float32 and of 47 digits as float64.

They are not NaN, because a kernel may multiply the old C by 0, and zero times NaN is NaN.
"""

GUARDS: dict[MatrixName, np.uint32] = {
    "A": np.uint32(0x7FF80A0A),
    "B": np.uint32(0x7FF80B0B),
    "C": np.uint32(0x7FF80C0C),
}
"""Bits that fill the guards of each matrix: a different NaN for each.

Processors propagate the bits of a NaN, so the bits of a wrong result show which guard was read.
"""

NARROW_POISON = np.uint32(0x7BCD7BCD)
"""Bits that fill an output of 16-bit elements, as `POISON` does: 63,904 as float16, 2e36 as bfloat16."""

NARROW_GUARDS: dict[MatrixName, np.uint32] = {
    "A": np.uint32(0x7FAA7FAA),
    "B": np.uint32(0x7FBB7FBB),
    "C": np.uint32(0x7FCC7FCC),
}
"""Bits that fill the guards of 16-bit elements: a different NaN for each, in equal halves.

An odd number of elements can precede a guard then.
"""


BYTE_GUARDS: dict[MatrixName, np.uint32] = {"A": np.uint32(0x7F7F7F7F), "B": np.uint32(0xFFFFFFFF)}
"""The same for inputs of 8-bit elements, float8_e4m3, which has two NaNs."""


def guards_of(matrix: Matrix) -> dict[MatrixName, np.uint32]:
    """Return the bits that fill the guards of matrices with such elements."""
    return {1: BYTE_GUARDS, 2: NARROW_GUARDS}.get(matrix.itemsize, GUARDS)


def poison_of(matrix: Matrix) -> np.uint32:
    """Return the bits that fill an output with such elements before a launch."""
    return NARROW_POISON if matrix.itemsize == 2 else POISON


SHARED = np.uint32(0x7FF85EED)
"""Bits that fill shared memory on the CPU device before each block; equal to `poison` in `runtime.cpp`."""

UNSET_LOCALS = (np.uint32(0xFEFEFEFE), np.uint32(0xFFFFFFFF))
"""Bits with which GCC and Clang fill the local variables of a kernel for the CPU device.

GCC's pattern is -1.7e38 as float32, -5.3e303 as float64: adding a product's terms does not change the bits.
Clang fills real numbers with a NaN.
"""

GUARD_BYTES = 64 * 1024
"""Size of the guard before each matrix and of the guard behind it, in bytes: several rows of a matrix."""


SCHEMA = "cudamm.devices/1"
"""Schema of the file that `cudamm devices` writes; its rows are `DeviceInfo`."""


@dataclass(frozen=True)
class DeviceInfo:
    """The description of a device in tables and records.

    Attributes:
        kind: `gpu` or `cpu`.
        spec: the device's name for `--device`.
        properties: the important properties in the order to show them; units are in the names.
        note: a note for the user about this choice of device; usually empty.
    """

    kind: str
    spec: str
    name: str
    properties: dict[str, Any] = field(default_factory=dict)
    note: str = ""


Unit = Literal["FMA", "tensor cores"]
"""Arithmetic units: those of fused multiply-adds, or tensor cores."""


@dataclass(frozen=True)
class Peak:
    """The maximum rate of one kind of units in one element type.

    Attributes:
        element_type: type of the factors; the sums of 16-bit types are float32. Empty if the user gave the
            number, which then counts for every type.
        gflops: 10⁹ operations per second; a fused multiply-add counts as two.
        source: source of the number, in words.
        clock_mhz: clock of the multiprocessors under the load of the measurement; None if it is not known.
    """

    unit: Unit
    element_type: str
    gflops: float
    source: str
    clock_mhz: float | None = None


@dataclass(frozen=True)
class Ceilings:
    """Measured upper bounds for the rates of a device.

    Attributes:
        fma_gflops: GFLOP/s of float32 fused multiply-adds on registers, two operations each.
        copy_gbytes_per_s: GB/s read and written by a copy within device memory.
        fma_clock_mhz: clock of the multiprocessors at `fma_gflops`; None if it is not known.
    """

    fma_gflops: float
    copy_gbytes_per_s: float
    fma_clock_mhz: float | None = None

    @property
    def fma_peak(self) -> Peak:
        """Return the peak of float32 fused multiply-adds."""
        source = "measured: float32 multiply-adds from registers"
        return Peak("FMA", "float32", self.fma_gflops, source, self.fma_clock_mhz)


LoadedUnit = Literal["FMA", "tensor cores", "memory"]
"""What a kernel of `cudamm health` keeps busy: arithmetic units, or device memory."""


@dataclass(frozen=True)
class Load:
    """What a GPU did while a known kernel kept one kind of units busy; None for what NVML does not report.

    Attributes:
        kernel: what the kernel executes, in words.
        rate: median over the launches, in GFLOP/s; for memory in GB/s, read and written.
        launches: number of timed launches.
        clock_mhz: median clock of the multiprocessors.
        power_w: power of the board at the end of the load, in watts.
        temperature_c: temperature at the end of the load.
        throttle_reasons: why the GPU was throttled at the end of the load; empty if it was not.
        ecc_corrected: corrected memory errors since the driver was loaded.
        ecc_uncorrected: uncorrected memory errors since the driver was loaded.
    """

    unit: LoadedUnit
    kernel: str
    rate: float
    launches: int
    clock_mhz: float | None = None
    power_w: float | None = None
    temperature_c: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None


@dataclass(frozen=True)
class Slot:
    """The memory of one timed launch.

    Attributes:
        window: the window of the streams of random elements that the launch multiplies.
        output: index of the memory that is its C; a sample of several launches has more than one.
    """

    window: int = 0
    output: int = 0


@dataclass(frozen=True)
class Deviation:
    """The result of comparing C with the reference in device memory.

    Attributes:
        wrong: number of elements whose error exceeds their bound.
        error: error of the element whose error is largest relative to its bound.
        bound: bound on that error.
    """

    wrong: int
    error: float
    bound: float


@dataclass(frozen=True)
class Judged:
    """The result of judging the product of a timed launch in device memory.

    Attributes:
        wrong: whether an element's error exceeds its bound.
        rows: number of rows that were compared in full; of the others a random sum was compared.
    """

    wrong: bool
    rows: int


class DamagedMemoryError(KernelError):
    """A write outside of a matrix or into an input, found when the launch had ended.

    Attributes:
        matrix: the matrix whose surroundings, or whose own memory, the kernel changed.
    """

    def __init__(self, message: str, matrix: MatrixName) -> None:
        super().__init__(message)
        self.matrix = matrix


class Run(ABC):
    """A compiled kernel with its matrices in the device's memory, ready for any number of launches.

    Each matrix is between two guards. Before a verified launch the output is filled with a pattern, which
    reveals elements that the kernel does not write. After the launch the guards are checked, which reveals
    writes outside a matrix.
    """

    undefined_shuffle: str = ""
    """Description of a shuffle of the last launch whose value is undefined; empty if the device saw none."""

    missed_barrier: str = ""
    """Description of a barrier that some threads of the last launch never reached; empty for none."""

    windows: range = range(1)
    """The windows that the timed launches of a sample may choose from, each with inputs of its own."""

    most_outputs: int = 1
    """Maximum number of outputs of timed launches that are kept until they are judged."""

    def __init__(self, launch: Launch, element: ElementType, a: Matrix, b: Matrix) -> None:
        self.plan = launch
        self.layouts = launch.layouts
        c = np.empty((launch.shape.m, launch.shape.n), element.of_results.dtype)
        given = zip(self.layouts.items(), (a, b, c), strict=True)
        self.matrices: dict[MatrixName, Matrix] = {
            name: layout.stored(matrix) for (name, layout), matrix in given
        }
        self.poison = np.uint32(0) if launch.adds_to_zeros else poison_of(c)

    @abstractmethod
    def launch(self, descending: bool = False) -> float:
        """Run the kernel once, and return its duration in milliseconds.

        Args:
            descending: run the threads of a block in reverse order, if the device runs them in an order.

        Raises:
            KernelError: the launch was refused, or the kernel crashed.
        """

    def launch_with_late_inputs(self, descending: bool = False) -> float:
        """As `launch`, but A and B are not complete yet when the kernel starts, if it has to wait for them.

        A kernel that does not wait for the previous one then reads NaN, or -1 in an integer type.
        """
        return self.launch(descending)

    def sample(self, samples: int, launches: int = 1, cold: bool = False) -> list[float]:
        """Return `samples` samples, in milliseconds per launch, each over `launches` launches.

        Args:
            cold: evict the matrices from the L2 cache before each sample, if the device can do so.

        Raises:
            KernelError: a launch was refused, or the kernel crashed.
        """
        return [sum(self.launch() for _ in range(launches)) / launches for _ in range(samples)]

    def deviation(self, problem: Problem) -> Deviation | None:
        """Return the product's deviation from the reference; None if the host has to compare them."""
        return None

    def redraw(self, problem: Problem, place: int = 0, outputs: int = 1) -> None:
        """Prepare a sample on inputs that no launch has seen, and fill its outputs for α A B + β C.

        Args:
            problem: its shape is that of the launch, and its draw a new one.
            place: chooses where the outputs lie; less than the number of `windows`.
            outputs: number of outputs, at most `most_outputs`.
        """
        self.load(*problem.inputs)
        self.prepare_output(problem)

    def time(self, slots: Sequence[Slot], cold: bool = False) -> float | None:
        """Return one sample after `redraw`, in milliseconds per launch; None if it has to be repeated.

        Args:
            slots: the memory of each launch, in order; each has a window of its own if there are several.
            cold: evict the matrices from the L2 cache first, if the device can do so.

        Raises:
            KernelError: a launch was refused, or the kernel crashed.
        """
        return sum(self.launch() for _ in slots) / len(slots)

    def judge(self, problem: Problem, output: int, rows: int, columns: int) -> Judged | None:
        """Judge the first rows and columns of a timed launch's product; None if the host has to.

        Args:
            problem: the launch's problem, with its window.
            output: the output of its slot.
        """
        return None

    def timed_product(self, output: int) -> Matrix:
        """Return C of a timed launch, in the launch's shape."""
        return self.product()

    def sampled_timed_product(
        self, problem: Problem, output: int, rows: Matrix, columns: Matrix
    ) -> SampledProduct:
        """Return elements of C after a timed launch, and the sums that they should be.

        Args:
            problem: the launch's problem, with its window.
            output: the output of its slot.
            rows, columns: the numbers of the elements' rows and columns, int32.
        """
        return sampled_product(problem, self.timed_product(output), rows, columns)

    def check_timed_memory(self, problem: Problem, output: int) -> None:
        """Raise DamagedMemoryError if timed launches wrote outside of an output or into an input."""
        self.check_memory()

    def load(self, a: Matrix, b: Matrix) -> None:
        """Replace the inputs by matrices of the launch's shape."""
        inputs: dict[MatrixName, Matrix] = {"A": a, "B": b}
        for name, matrix in inputs.items():
            self.matrices[name] = self.layouts[name].stored(matrix)
            self._place(name, self.layouts[name].memory_of(self.matrices[name]))

    def prepare_output(self, problem: Problem) -> None:
        """Fill C with a pattern that reveals elements that are not written, or with the C of α A B + β C."""
        if problem.scale.beta:
            self.load_output(problem.output)
        else:
            self.fill_output()

    def load_output(self, c: Matrix) -> None:
        """Fill C with a matrix, padded with zeros."""
        shape = self.plan.shape
        layout = self.layouts["C"]
        self._place("C", layout.memory_of(layout.stored(_pad(c, shape.m, shape.n))))

    @abstractmethod
    def _place(self, name: MatrixName, elements: Matrix) -> None:
        """Copy the elements of a matrix, in their order, into the memory from which the kernel reads them."""

    @abstractmethod
    def fill_output(self, word: np.uint32 | None = None) -> None:
        """Fill C, but not its guards, with a 32-bit pattern; None: `poison`."""

    @abstractmethod
    def region(self, name: MatrixName) -> Region:
        """Return a copy or a view of a matrix's memory, with its guards."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory."""

    def sampled_product(self, problem: Problem, rows: Matrix, columns: Matrix) -> SampledProduct:
        """Return elements of C after the last launch, and the sums that they should be.

        Args:
            problem: the problem whose inputs are loaded.
            rows, columns: the numbers of the elements' rows and columns, int32.
        """
        return sampled_product(problem, self.product(), rows, columns)

    def product(self) -> Matrix:
        """Return C after the last launch, with its padding."""
        c = self.matrices["C"]
        inner = self.region("C")[GUARD_BYTES : GUARD_BYTES + c.nbytes]
        return self.layouts["C"].matrix_in(inner.view(c.dtype))

    def check_memory(self) -> None:
        """Raise DamagedMemoryError if the kernel wrote outside a matrix or into an input."""
        for name, matrix in self.matrices.items():
            region = self.region(name)
            damage = _damage(name, matrix, self.layouts[name], region)
            if damage:
                raise DamagedMemoryError(damage, name)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Target(ABC, Generic[Compiled]):
    """The properties of a device that are needed to plan and compile for it.

    The device may be open in another process.
    """

    info: DeviceInfo
    limits: Limits
    has_thread_order: bool
    """True if the threads of a block run in an order that can be reversed, which reveals races."""
    compile_threads: int = CORES
    """Number of programs that are compiled at once for this device."""

    @abstractmethod
    def execution(self, method: Method) -> Execution:
        """Return the way in which this device runs a method."""

    def lacks(self, method: Method) -> str:
        """Return the reason why this device cannot run a method; empty if it can."""
        if method.package:
            return f"{method.name} runs on an NVIDIA GPU, and on nothing else"
        return "" if method.runs_on_host else unsupported_reason(method, self.limits)

    @abstractmethod
    def compile(self, program: Program) -> Compiled:
        """Compile a program. Raises KernelError if it does not compile, NoDeviceError without a compiler."""

    @abstractmethod
    def made_from(self, program: Program) -> Sequence[str]:
        """Return everything that determines the compiled program, headers and compiler included.

        Raises:
            KernelError: the device cannot run the program.
            NoDeviceError: there is no compiler.
        """

    def resources(self, program: Program) -> Resources | None:
        """Return the resources that the compiler reports for a kernel; None if it does not run on a GPU."""
        return None


class Device(Target[Compiled]):
    """An open device, which compiles and runs methods."""

    when_broken: Callable[[], None] | None = None
    """Callback for the moment when the device cannot be used any more in this process."""

    def target(self) -> Target[Compiled]:
        """Return the properties that another process needs to plan and compile for this device."""
        return self

    def clock_mhz(self) -> int | None:
        """Return the current clock of the multiprocessors; None if it cannot be read."""
        return None

    def throttle_reasons(self) -> tuple[str, ...]:
        """Return the reasons why the device is throttled now; empty if it is not."""
        return ()

    def ceilings(self) -> Ceilings | None:
        """Return the measured upper bounds for the device's rates; None if they are not known."""
        return None

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the measured peaks of all units and types but float32 fused multiply-adds."""
        return ()

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of units busy for a time, and return what the device did; None if it has none.

        Raises:
            KernelError: a launch or a query of the device's state fails.
        """
        return None

    @property
    def event_floor_ms(self) -> float | None:
        """Milliseconds between two events around an empty kernel; None if the device has no events."""
        return None

    def check(self) -> None:
        """Raise KernelError if the device cannot be used any more in this process."""

    def prepare_to_load(self) -> None:
        """Do the slow part of loading the first kernel in advance; may run in a thread."""

    def make_ready(self, problem: Problem) -> None:
        """Make the reference and the error bound of a problem, which takes long for a large problem."""
        _ = problem.reference, problem.error_bound

    def forget(self) -> None:
        """Free memory that a faulty kernel may have damaged; the caller has closed every run."""

    @abstractmethod
    def open(self, program: Program, compiled: Compiled, launch: Launch, a: Matrix, b: Matrix) -> Run:
        """Place the matrices, and make the kernel ready to launch.

        Args:
            a: input of the launch's shape (m x k), padded.
            b: input of the launch's shape (k x n), padded.

        Raises:
            KernelError: the kernel cannot be loaded or does not fit the device.
        """

    def launch_watched(
        self, program: Program, compiled: Compiled, launch: Launch, a: Matrix, b: Matrix
    ) -> None:
        """Launch once under a tool such as a profiler; arguments and errors are those of `open`."""
        with self.open(program, compiled, launch, a, b) as run:
            run.launch()

    @abstractmethod
    def free_bytes(self) -> int:
        """Return the number of bytes of memory that matrices may still take."""

    def close(self) -> None:
        """Release the device."""

    def __enter__(self: Entered) -> Entered:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def region_bytes(matrix: Matrix) -> int:
    """Return the bytes of a matrix with its guards; the second guard starts directly behind the data."""
    return GUARD_BYTES + -(-matrix.nbytes // 8) * 8 + GUARD_BYTES


def guarded(name: MatrixName, matrix: Matrix) -> Region:
    """Return memory for a matrix and its guards, filled with the guards' pattern."""
    return np.full(region_bytes(matrix) // 4, guards_of(matrix)[name]).view(np.uint8)


def fill(memory: Region, word: np.uint32) -> None:
    """Fill memory with a 32-bit pattern; memory of half a word more with the pattern's lower half."""
    bits = np.uint32 if memory.nbytes % 4 == 0 else np.uint16
    memory.view(bits)[:] = np.full(1, word).view(bits)[0]


def padded(launch: Launch, a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """Return the inputs in the launch's shape, padded with zeros."""
    shape = launch.shape
    return _pad(a, shape.m, shape.k), _pad(b, shape.k, shape.n)


def _pad(matrix: Matrix, rows: int, columns: int) -> Matrix:
    if matrix.shape == (rows, columns):
        return matrix
    larger = np.zeros((rows, columns), matrix.dtype)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger


def _damage(name: MatrixName, matrix: Matrix, layout: MatrixLayout, region: Region) -> str | None:
    """Return a message about writes that damaged a matrix's memory; None if there are none."""
    # Words of 4 bytes, or of an element's size if it is smaller.
    word_bytes = min(4, matrix.itemsize)
    guard = np.full(1, guards_of(matrix)[name]).view(f"u{word_bytes}")[0]
    before = region[:GUARD_BYTES].view(f"u{word_bytes}") != guard
    after = region[GUARD_BYTES + matrix.nbytes :].view(f"u{word_bytes}") != guard
    words, rows, columns = matrix.itemsize // word_bytes, layout.rows, layout.columns
    if after.any():
        first = int(after.argmax()) // words
        count = len(np.unique(np.flatnonzero(after) // words))
        row, column = layout.element_at(rows * columns + first)
        elements = f"{count} element{'s' * (count > 1)}"
        return (
            f"wrote past the end of {name}: {elements} beyond its {rows} x {columns}, the first where "
            f"{name}[{row}][{column}] would be"
        )
    if before.any():
        nearest = int(before[::-1].argmax()) // words + 1
        return (
            f"wrote before the start of {name}: {nearest} element{'s' * (nearest > 1)} ahead of {name}[0][0]"
        )
    if name != "C":
        changed = region[GUARD_BYTES : GUARD_BYTES + matrix.nbytes] != layout.memory_of(matrix).view(np.uint8)
        if changed.any():
            row, column = layout.element_at(int(changed.argmax()) // matrix.itemsize)
            return f"wrote into the input {name}, first at {name}[{row}][{column}]"
    return None
