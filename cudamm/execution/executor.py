"""Interface of the executors, which run cases in this process, in a worker process, or on another host."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

# This module does not import NumPy: the worker process is started before NumPy is loaded here.
if TYPE_CHECKING:
    from cudamm.devices.device import Ceilings, Load, LoadedUnit, Peak, Target
    from cudamm.errors import NoDeviceError
    from cudamm.execution.case import Case, Verdict

Entered = TypeVar("Entered")
T = TypeVar("T")

OPENING_STEP_S = 0.02
"""Time between two looks whether a device is open, in seconds."""

Report = Callable[[str], None]
"""Function that is called with a description before each step."""

Work = Callable[["LocalExecutor", "Iterable[Case]", Report], Iterator[T]]
"""Work on cases: it is called on the host of a device, and yields what it finds."""


@dataclass(frozen=True)
class SampleBatch:
    """Samples of one case, taken one after the other.

    Attributes:
        samples_ms: milliseconds per launch, for each sample.
        clock_mhz: the multiprocessors' clock after the last sample; None if the clock cannot be read.
        throttle_reasons: reasons why the device was throttled during the samples; empty if it was not.
        judged: number of launches whose products were judged after they were timed.
        judged_whole: whether every element of each of these was compared.
    """

    samples_ms: list[float]
    clock_mhz: int | None
    throttle_reasons: tuple[str, ...]
    judged: int = 0
    judged_whole: bool = True


@dataclass(frozen=True)
class Facts:
    """Measured properties of an open device.

    Attributes:
        event_floor_ms: milliseconds between two events around an empty kernel; None if the device has no
            events.
        ceilings: None if the ceilings are not known.
    """

    event_floor_ms: float | None
    ceilings: Ceilings | None


class Executors(ABC):
    """One executor, or those of several devices of one kind: what is needed to plan cases and to share them.

    `device_threads` runs cases on each member.
    """

    @property
    @abstractmethod
    def members(self) -> Sequence[Executor]:
        """The executors, one per device; at least one."""

    @abstractmethod
    def open_members(self) -> Sequence[Executor]:
        """Return the members whose devices are open; remove those whose devices cannot be used.

        Raises:
            NoDeviceError: no device can be used.
        """

    @property
    @abstractmethod
    def target(self) -> Target[Any]:
        """The properties of a device that are needed to compile for each of them."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Return the number of bytes of device memory that matrices may still take."""

    @property
    def losses(self) -> Sequence[str]:
        """What became of members that are no members any more, each in a sentence."""
        return ()

    @abstractmethod
    def remove(self, member: Executor, error: NoDeviceError) -> None:
        """Close a member whose device cannot be used. Raise the error if it is the only member."""

    @abstractmethod
    def release(self) -> None:
        """Free the matrices of the problem that was run last."""

    def dismiss(self) -> None:  # noqa: B027 - most executors have nothing to wait for
        """Start to shut down without waiting; `close` waits. A device that is used again starts again."""

    @abstractmethod
    def close(self) -> None:
        """Free all that is held."""

    def __enter__(self: Entered) -> Entered:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Executor(Executors):
    """An executor of cases on one device, and of the host's own methods beside the device."""

    runs_here = True
    """Whether the device is one of this machine, so that cases take this machine's memory."""

    _facts: Facts | None = None

    @property
    def members(self) -> Sequence[Executor]:
        """This executor."""
        return (self,)

    def open_members(self) -> Sequence[Executor]:
        """Wait until the device is open, and return this executor."""
        _ = self.target
        return (self,)

    def remove(self, member: Executor, error: NoDeviceError) -> None:
        """Raise the error."""
        raise error

    @property
    def spec(self) -> str:
        """The device's name for `--device`."""
        return self.target.info.spec

    def is_open(self, wait_s: float = 0.0) -> bool:
        """Return whether the device can run cases now.

        Args:
            wait_s: time to wait for the device, in seconds.

        Raises:
            NoDeviceError: the device cannot be used.
        """
        return True

    def facts(self) -> Facts:
        """Return the measured properties of the device; only the first call measures."""
        if self._facts is None:
            self._facts = self._measure_facts()
        return self._facts

    @abstractmethod
    def _measure_facts(self) -> Facts:
        """Measure the properties of the device."""

    @abstractmethod
    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the measured peaks of all units and types but float32 fused multiply-adds."""

    @abstractmethod
    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of the device's units busy for a time; None if it has no such units.

        Raises:
            KernelError: a launch or a query of the device's state fails.
        """

    @abstractmethod
    def carry_out(self, work: Work[T], cases: Iterable[Case], report: Report) -> Iterator[T]:
        """Do work on cases, and yield its values as they come.

        The work runs on the host of the device: it waits for no network between its steps. It has to be
        a value that can be pickled, such as a dataclass with a method `__call__`.

        Raises:
            DeviceLostError: the device, or its host, cannot be used any more.
        """


class LocalExecutor(Executor):
    """An executor on a device of this host."""

    timeout_s: float | None = None
    """Time limit for a request that runs a case, in seconds; None for the usual limits."""

    warm_until = 0.0
    """Time of `time.monotonic` until which the device counts as warm, because it has just worked."""

    def carry_out(self, work: Work[T], cases: Iterable[Case], report: Report) -> Iterator[T]:
        """Do work on cases, and yield its values as they come."""
        return work(self, cases, report)

    @abstractmethod
    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        """Launch a case and judge its product.

        Args:
            thorough: launch again, with the threads in reverse order if the device has an order, and on other
                inputs. Timed launches have other inputs anyway.

        Raises:
            KernelError: the case cannot be launched.
        """

    @abstractmethod
    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        """Time a case.

        Args:
            cold: evict the matrices from the L2 cache before each sample.
            check: judge the product of the timed launches.

        Raises:
            KernelError: the case cannot be launched, or the product is wrong.
        """
