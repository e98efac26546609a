"""The interface of a device, and the guarded memory that both devices give a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from cudamm.compile.program import Program
from cudamm.compile.resources import Resources
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import Launch, Limits, MatrixName, unsupported_reason
from cudamm.kernels.method import Execution, Method
from cudamm.kernels.problem import Matrix, Problem

Region = npt.NDArray[np.uint8]
Compiled = TypeVar("Compiled")
Entered = TypeVar("Entered")

POISON = np.uint32(0x7FF8DEAD)
"""Fills the output before a launch: NaN as float32, as float64 (twice in a row), far off as int32."""

GUARDS: dict[MatrixName, np.uint32] = {
    "A": np.uint32(0x7FF80A0A),
    "B": np.uint32(0x7FF80B0B),
    "C": np.uint32(0x7FF80C0C),
}
"""Fill the guards. Other NaNs: a processor hands their bits on, so a result tells where it read."""

SHARED = np.uint32(0x7FF85EED)
"""Fills shared memory on the CPU device before a block runs; `runtime.cpp` has the same."""

GUARD_BYTES = 64 * 1024
"""Before and behind each matrix: a miss by a row or two lands there and is seen."""


SCHEMA = "cudamm.devices/1"
"""Of the file of `devices`, whose rows are `DeviceInfo`."""


@dataclass(frozen=True)
class DeviceInfo:
    """What tables and records say of a device.

    Attributes:
        kind: `gpu` or `cpu`.
        spec: what `--device` calls it.
        properties: those that matter, in the order to show them; units are in the names.
        note: what a user should know of this choice of device; mostly nothing.
    """

    kind: str
    spec: str
    name: str
    properties: dict[str, Any] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Ceilings:
    """The fastest a device can be at all, measured.

    Attributes:
        fma_gflops: float32 fused multiply-adds from registers alone, two operations each.
        copy_gbytes_per_s: bytes read and written by a copy within device memory.
    """

    fma_gflops: float
    copy_gbytes_per_s: float


@dataclass(frozen=True)
class Deviation:
    """A product held against its reference where it lies.

    Attributes:
        wrong: elements whose error is above their bound.
        error: of the element that comes closest to its bound, or passes it furthest.
        bound: what that may be.
    """

    wrong: int
    error: float
    bound: float


class Run(ABC):
    """A compiled kernel with its matrices in place, to be launched any number of times.

    Each matrix lies between guards. The output is poisoned before it counts, so that an element nobody
    writes is seen, and the guards are looked at afterwards, so that a write beside a matrix is.
    """

    def __init__(self, launch: Launch, a: Matrix, b: Matrix) -> None:
        self.plan = launch
        c = np.empty((launch.shape.m, launch.shape.n), a.dtype)
        self.matrices: dict[MatrixName, Matrix] = {"A": a, "B": b, "C": c}

    @abstractmethod
    def launch(self, descending: bool = False) -> float:
        """Run the kernel once, and return the milliseconds it took.

        Args:
            descending: take the threads of a block in reverse order, on a device that has an order.

        Raises:
            KernelError: the launch was refused, or the kernel crashed.
        """

    def sample(self, samples: int, launches: int = 1, cold: bool = False) -> list[float]:
        """Milliseconds a launch takes, in `samples` readings over `launches` launches each.

        Args:
            cold: with an L2 cache that holds none of the matrices, on a device that can see to it.

        Raises:
            KernelError: as `launch` does.
        """
        return [sum(self.launch() for _ in range(launches)) / launches for _ in range(samples)]

    def deviation(self, problem: Problem) -> Deviation | None:
        """The product held against the problem's reference; None where that has to be done on the host."""
        return None

    def load(self, a: Matrix, b: Matrix) -> None:
        """Replace the inputs; both have the launch's shape."""
        self.matrices["A"], self.matrices["B"] = np.ascontiguousarray(a), np.ascontiguousarray(b)
        names: tuple[MatrixName, ...] = ("A", "B")
        for name in names:
            self._place(name, self.matrices[name])

    @abstractmethod
    def _place(self, name: MatrixName, matrix: Matrix) -> None:
        """Copy a matrix to where the kernel reads it."""

    @abstractmethod
    def fill_output(self, word: np.uint32 = POISON) -> None:
        """Fill C, but not its guards, with a 32-bit pattern."""

    @abstractmethod
    def region(self, name: MatrixName) -> Region:
        """A copy or view of a matrix's memory, guards included."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory."""

    def product(self) -> Matrix:
        """C as the kernel left it, padding included."""
        c = self.matrices["C"]
        inner = self.region("C")[GUARD_BYTES : GUARD_BYTES + c.nbytes]
        product: Matrix = inner.view(c.dtype).reshape(c.shape)
        return product

    def check_memory(self) -> None:
        """Raise KernelError if the kernel wrote beside a matrix or into an input."""
        for name, matrix in self.matrices.items():
            region = self.region(name)
            damage = _damage(name, matrix, region)
            if damage:
                raise KernelError(damage)

    def __enter__(self) -> Run:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Target(ABC, Generic[Compiled]):
    """What has to be known of a device to plan and compile for it; it may be open in another process."""

    info: DeviceInfo
    limits: Limits
    has_thread_order: bool
    """Whether the threads of a block run in an order that can be reversed, which shows up races."""

    @abstractmethod
    def execution(self, method: Method) -> Execution:
        """How this device runs a method."""

    def lacks(self, method: Method) -> str:
        """Why this device cannot run a method at all, in words; empty where it can."""
        if method.package:
            return f"{method.name} runs on an NVIDIA GPU, and on nothing else"
        return "" if method.runs_on_host else unsupported_reason(method, self.limits)

    @abstractmethod
    def compile(self, program: Program) -> Compiled:
        """Compile a program. Raises KernelError if it does not compile, NoDeviceError without a compiler."""

    def resources(self, program: Program) -> Resources | None:
        """Return what the compiler reports that a kernel takes; None if it does not run on a GPU."""
        return None


class Device(Target[Compiled]):
    """Something that compiles and runs methods written in CUDA C."""

    when_broken: Callable[[], None] | None = None
    """Called as soon as the device answers nothing any more, in this process at least."""

    def target(self) -> Target[Compiled]:
        """What another process needs to know of it."""
        return self

    def clock_mhz(self) -> int | None:
        """The multiprocessors' clock now; None where it cannot be read."""
        return None

    def throttle_reasons(self) -> tuple[str, ...]:
        """Why the device is slower now than it would be by itself; empty where it is not."""
        return ()

    def ceilings(self) -> Ceilings | None:
        """How fast it can be at all; None where that is not known."""
        return None

    @property
    def event_floor_ms(self) -> float | None:
        """What is read around a kernel that does nothing; None where times are not read by events."""
        return None

    def check(self) -> None:
        """Raise KernelError where the device answers nothing any more, in this process at least."""

    def prepare_to_load(self) -> None:
        """Do ahead what the first kernel's loading takes time for; may run in a thread."""

    def make_ready(self, problem: Problem) -> None:
        """Make what the problem's products will be judged by, which takes a while for a large one."""
        _ = problem.reference, problem.error_bound

    def forget(self) -> None:
        """Give up what a faulty kernel may have damaged; every run is closed by then."""

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
        """Launch once, for a tool that watches; arguments and errors as of `open`."""
        with self.open(program, compiled, launch, a, b) as run:
            run.launch()

    @abstractmethod
    def free_bytes(self) -> int:
        """Memory that matrices may still take."""

    def close(self) -> None:
        """Give the device back."""

    def __enter__(self: Entered) -> Entered:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def region_bytes(matrix: Matrix) -> int:
    """Bytes of a matrix between its guards; the second starts right behind the data."""
    return GUARD_BYTES + -(-matrix.nbytes // 8) * 8 + GUARD_BYTES


def guarded(name: MatrixName, matrix: Matrix) -> Region:
    """Memory for a matrix, all of it guard so far."""
    return np.full(region_bytes(matrix) // 4, GUARDS[name]).view(np.uint8)


def padded(launch: Launch, a: Matrix, b: Matrix) -> tuple[Matrix, Matrix]:
    """The inputs in the launch's shape, zeros where they are padded."""
    shape = launch.shape
    return _pad(a, shape.m, shape.k), _pad(b, shape.k, shape.n)


def _pad(matrix: Matrix, rows: int, columns: int) -> Matrix:
    if matrix.shape == (rows, columns):
        return matrix
    larger = np.zeros((rows, columns), matrix.dtype)
    larger[: matrix.shape[0], : matrix.shape[1]] = matrix
    return larger


def _damage(name: MatrixName, matrix: Matrix, region: Region) -> str | None:
    """What is wrong with a matrix's memory after a launch, None where nothing is."""
    before = region[:GUARD_BYTES].view(np.uint32) != GUARDS[name]
    after = region[GUARD_BYTES + matrix.nbytes :].view(np.uint32) != GUARDS[name]
    words, (rows, columns) = matrix.itemsize // 4, matrix.shape
    if after.any():
        first = int(after.argmax()) // words
        count = len(np.unique(np.flatnonzero(after) // words))
        index = rows * columns + first
        elements = f"{count} element{'s' * (count > 1)}"
        return (
            f"wrote past the end of {name}: {elements} beyond its {rows} x {columns}, the first where "
            f"{name}[{index // columns}][{index % columns}] would be (is a bounds check off by one?)"
        )
    if before.any():
        nearest = int(before[::-1].argmax()) // words + 1
        return (
            f"wrote before the start of {name}: {nearest} element{'s' * (nearest > 1)} ahead of {name}[0][0]"
        )
    if name != "C":
        changed = region[GUARD_BYTES : GUARD_BYTES + matrix.nbytes] != matrix.reshape(-1).view(np.uint8)
        if changed.any():
            index = int(changed.argmax()) // matrix.itemsize
            return f"wrote into the input {name}, first at {name}[{index // columns}][{index % columns}]"
    return None
