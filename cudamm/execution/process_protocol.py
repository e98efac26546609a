"""Messages between this process and a process that runs kernels.

Requests and answers are pickled. `answer_to` turns an exception into an answer, and `value_of` turns the
answer into an exception again. Both are used for the worker process and for processes under a tool.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cudamm.errors import CudammError, KernelError

# This module does not import NumPy: the worker process is started before NumPy is loaded here.
if TYPE_CHECKING:
    from cudamm.devices.device import LoadedUnit
    from cudamm.execution.case import Case
    from cudamm.execution.in_process_executor import InProcessExecutor
    from cudamm.kernels.problem import Problem


# Requests.


@dataclass(frozen=True)
class FreeBytes:
    """Request for the free bytes of device memory."""


@dataclass(frozen=True)
class MeasureFacts:
    """Request for the device's `Facts`."""


@dataclass(frozen=True)
class MeasureOtherPeaks:
    """Request for the peaks of all units and types but float32 fused multiply-adds."""


@dataclass(frozen=True)
class LoadUnit:
    """Arguments of `Executor.load`."""

    unit: LoadedUnit
    seconds: float


@dataclass(frozen=True)
class MakeReady:
    """Request to make a problem's inputs, and the reference that its products are compared with."""

    problem: Problem


@dataclass(frozen=True)
class Release:
    """Request to free all matrices, and to forget the cases that were sent."""


@dataclass(frozen=True)
class Verify:
    """Arguments of `Executor.verify`."""

    thorough: bool


@dataclass(frozen=True)
class Sample:
    """Arguments of `Executor.sample`."""

    samples: int
    launches_per_sample: int
    cold: bool
    check: bool


@dataclass(frozen=True)
class RunCase:
    """Request to verify or sample a case.

    Attributes:
        position: the position of the case among those of the command.
        case: None if the case was sent before; the worker process keeps every case it receives.
    """

    position: int
    case: Case | None
    step: Verify | Sample


Request = FreeBytes | MeasureFacts | MeasureOtherPeaks | LoadUnit | MakeReady | Release | RunCase


# Answers.


@dataclass(frozen=True)
class Success:
    """Answer to a request that succeeded."""

    value: Any


@dataclass(frozen=True)
class Failure:
    """Answer to a request that failed on a device that can still be used."""

    error: CudammError


@dataclass(frozen=True)
class DeviceBroken:
    """Answer to a request after which the device cannot be used any more in that process."""

    reason: str


Answer = Success | Failure | DeviceBroken


class WorkerLostError(KernelError):
    """A failure of the process that runs kernels: it died, does not answer, or has a broken device.

    Attributes:
        is_hang: the process did not answer in time.
        has_died: the process ended by itself, or was killed.
    """

    def __init__(self, message: str, *, is_hang: bool = False, has_died: bool = False) -> None:
        super().__init__(message)
        self.is_hang, self.has_died = is_hang, has_died


def answer_to(work: Callable[[], Any], is_device_broken: Callable[[], bool] = lambda: False) -> Answer:
    """Call `work`, and return its value or its error as an answer.

    Args:
        is_device_broken: called after a KernelError.
    """
    try:
        return Success(work())
    except KernelError as error:
        # A new error is made, because a subclass or a traceback may refer to objects that cannot be pickled.
        return DeviceBroken(str(error)) if is_device_broken() else Failure(KernelError(str(error)))
    except CudammError as error:
        return Failure(error)
    except MemoryError:
        return Failure(KernelError("out of memory: a smaller size would do"))


def value_of(answer: Answer) -> Any:
    """Return the value of an answer.

    Raises:
        WorkerLostError: the device is broken.
        CudammError: the request failed.
    """
    if isinstance(answer, DeviceBroken):
        raise WorkerLostError(answer.reason)
    if isinstance(answer, Failure):
        raise answer.error
    return answer.value


class RequestHandler:
    """A handler that answers requests in the worker process by calls of an executor."""

    def __init__(self, executor: InProcessExecutor) -> None:
        self._executor = executor
        self._cases: dict[int, Case] = {}

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request."""
        return answer_to(lambda: self._perform(request), self._is_device_broken)

    def _is_device_broken(self) -> bool:
        """Return whether the device's context is lost, for example after an illegal address."""
        try:
            self._executor.device.check()
        except KernelError:
            return True
        return False

    def _perform(self, request: Request) -> Any:
        executor = self._executor
        if isinstance(request, FreeBytes):
            return executor.free_bytes()
        if isinstance(request, MeasureFacts):
            return executor.facts()
        if isinstance(request, MeasureOtherPeaks):
            return executor.other_peaks()
        if isinstance(request, LoadUnit):
            return executor.load(request.unit, request.seconds)
        if isinstance(request, MakeReady):
            return executor.make_ready(request.problem)
        if isinstance(request, Release):
            self._cases.clear()
            return executor.release()
        if request.case is not None:
            self._cases[request.position] = request.case
        case, step = self._cases[request.position], request.step
        if isinstance(step, Verify):
            verdict = executor.verify(case, thorough=step.thorough)
            if verdict.correct is False and self._is_device_broken():
                # After this error `answer_to` reports a broken device, and the process is replaced.
                raise KernelError(verdict.reason)
            return verdict
        return executor.sample(
            case,
            samples=step.samples,
            launches_per_sample=step.launches_per_sample,
            cold=step.cold,
            check=step.check,
        )
