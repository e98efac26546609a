"""What runs the prepared cases, a step at a time: in this process (`here`), or in another (`worker`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

# Nothing here may import NumPy: the worker starts before that is loaded.
if TYPE_CHECKING:
    from cudamm.devices.device import Ceilings, Target
    from cudamm.execution.case import Case, Verdict


@dataclass(frozen=True)
class Batch:
    """Samples taken one after the other.

    Attributes:
        samples_ms: milliseconds a launch.
        clock_mhz: of the multiprocessors afterwards; None where it cannot be read.
        throttle_reasons: why the device was slower than by itself meanwhile; empty where it was not.
    """

    samples_ms: list[float]
    clock_mhz: int | None
    throttle_reasons: tuple[str, ...]


@dataclass(frozen=True)
class Facts:
    """What is known of a device once something runs on it.

    Attributes:
        event_floor_ms: read around a kernel that does nothing; None where times are not read by events.
        ceilings: None where they are not known.
    """

    event_floor_ms: float | None
    ceilings: Ceilings | None


class Executor(ABC):
    """What runs cases on one device, and the host's own methods beside it."""

    @property
    @abstractmethod
    def target(self) -> Target[Any]:
        """The device, as much of it as is needed to compile for it."""

    @abstractmethod
    def free_bytes(self) -> int:
        """Memory of the device that matrices may still take."""

    @abstractmethod
    def facts(self) -> Facts:
        """What has been measured of the device itself."""

    @abstractmethod
    def verify(self, case: Case, thread_order: bool) -> Verdict:
        """Launch a case and judge its product. Raises KernelError where it cannot be launched."""

    @abstractmethod
    def sample(self, case: Case, samples: int, launches: int, cold: bool, check: bool) -> Batch:
        """Time a case.

        Args:
            check: judge what the timed launches left.

        Raises:
            KernelError: it cannot be launched, or what it left is wrong.
        """

    @abstractmethod
    def release(self) -> None:
        """Give up the matrices of the problem that was run last."""

    def dismiss(self) -> None:  # noqa: B027 - where nothing has to be waited for
        """Nothing more will be asked: begin with what `close` has to wait for."""

    @abstractmethod
    def close(self) -> None:
        """Give the device back."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
