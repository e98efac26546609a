"""Courses that several devices share: each runs on one device, and what is timed on the host runs alone."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import repeat

import pytest
from made_up_outcomes import GPU, silent
from scripted_device import ScriptedDevice

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import case
from cudamm.courses.course_records import CourseCase, CourseReport, Group, Outcome, Plan, Reproduction, Source
from cudamm.courses.reproduce import reproduce
from cudamm.devices.device import Ceilings, DeviceInfo
from cudamm.errors import DeviceLostError
from cudamm.execution.case import Case
from cudamm.execution.executor import SampleBatch
from cudamm.execution.executor_group import ExecutorGroup
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.problem import Shape

BLOCK = 8


class Gpu(InProcessExecutor):
    """An executor on a scripted GPU, which may be lost.

    Attributes:
        spans: method, begin and end of each request to sample.
    """

    def __init__(self, number: int, barrier: threading.Barrier, lost_after: int | None = None) -> None:
        """Create a GPU.

        Args:
            barrier: is waited for before the first request, so that no device does all the work.
            lost_after: number of requests after which the device is lost.
        """
        device = ScriptedDevice(scripts={BLOCK: repeat(1.0)}, ceilings=Ceilings(1e6, 1e6))
        device.info = DeviceInfo("gpu", f"gpu:{number}", "a script")
        super().__init__(device)
        self.spans: list[tuple[str, float, float]] = []
        self._barrier, self._lost_after = barrier, lost_after

    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        if not self.spans:
            self._barrier.wait(10)
        if len(self.spans) == self._lost_after:
            raise DeviceLostError(f"{self.spec} fell off the bus")
        begun = time.monotonic()
        time.sleep(0.02)  # without a pause the other device has no chance to begin meanwhile
        batch = super().sample(
            case, samples=samples, launches_per_sample=launches_per_sample, cold=cold, check=check
        )
        self.spans.append((case.variant.method.name, begun, time.monotonic()))
        return batch


def gpus(*lost_after: int | None) -> list[Gpu]:
    barrier = threading.Barrier(len(lost_after))
    return [Gpu(number, barrier, count) for number, count in enumerate(lost_after)]


def make_case(label: str, method: str = "coalesced", rows: int = 8) -> CourseCase:
    return case(
        label, method, Shape(rows, 8, 8), GPU, "float32", {} if method == "numpy" else {"BLOCK_SIZE": BLOCK}
    )


TIMED = Settings(runs=2, warmup=0)


def source(name: str, *groups: Group) -> Source:
    plan = Plan(GPU, groups)
    return Source(name, name, lambda *_: plan, lambda *_: CourseReport((), ()))


def course(name: str, *groups: tuple[CourseCase, ...]) -> Source:
    return source(name, *(Group(cases, TIMED) for cases in groups))


def reproduced(devices: list[Gpu], courses: list[Source]) -> tuple[list[Reproduction], ExecutorGroup]:
    with contextlib.closing(ExecutorGroup(devices)) as executors:
        return list(reproduce(executors, courses, lambda _: GPU, silent)), executors


def devices_of(found: Reproduction) -> set[str]:
    return {outcome.result.device for outcome in found.outcomes if outcome.result.execution == "gpu"}


def test_a_course_runs_on_one_device_and_each_device_runs_some() -> None:
    courses = [course(name, (make_case("first"),), (make_case("second", rows=16),)) for name in "abcd"]
    found, _ = reproduced(gpus(None, None), courses)
    assert sorted(f.name for f in found) == ["a", "b", "c", "d"]
    assert all(f.is_complete and f.is_right and len(f.outcomes) == 2 for f in found)
    assert all(len(devices_of(f)) == 1 for f in found)
    assert {"gpu:0", "gpu:1"} == set().union(*map(devices_of, found))


def test_what_is_timed_on_the_host_is_timed_alone() -> None:
    several = [(make_case("gpu", rows=rows),) for rows in (8, 16, 24, 32)]
    courses = [
        course("a", several[0], (make_case("host", "numpy"),), *several[1:]),
        course("b", *several[:3], (make_case("host", "numpy"),), several[3]),
    ]
    devices = gpus(None, None)
    found, _ = reproduced(devices, courses)
    assert all(f.is_right and len(f.outcomes) == 5 for f in found)
    spans = [span for device in devices for span in device.spans]
    alone = [span for span in spans if span[0] == "numpy"]
    assert len(alone) >= 2
    for _, begin, end in alone:
        assert all(
            other_end <= begin or end <= other_begin for _, other_begin, other_end in others(spans, begin)
        )


def others(spans: list[tuple[str, float, float]], begin: float) -> Iterator[tuple[str, float, float]]:
    return (span for span in spans if span[1] != begin)


@pytest.mark.parametrize("lost_after", [0, 1, 3])
def test_the_course_of_a_lost_device_runs_again_on_another(lost_after: int) -> None:
    courses = [course(name, (make_case("first"),), (make_case("second", rows=16),)) for name in "abc"]
    found, executors = reproduced(gpus(None, lost_after), courses)
    assert sorted(f.name for f in found if f.is_complete) == ["a", "b", "c"]
    assert all(len(f.outcomes) == 2 and len(devices_of(f)) == 1 for f in found)
    (loss,) = executors.losses
    assert "gpu:1 fell off the bus" in loss


def test_if_every_device_is_lost_what_is_known_of_each_course_is_reported() -> None:
    courses = [course(name, (make_case("first"),), (make_case("second", rows=16),)) for name in "ab"]
    with contextlib.closing(ExecutorGroup(gpus(2, 2))) as executors:
        running = reproduce(executors, courses, lambda _: GPU, silent)
        found: list[Reproduction] = []
        with pytest.raises(DeviceLostError, match="fell off the bus"):
            found.extend(running)
    assert sorted(f.name for f in found) == ["a", "b"] and not any(f.is_complete for f in found)
    assert all([o.case.label for o in f.outcomes] == ["first"] for f in found)


def test_a_second_device_that_is_lost_too_costs_nothing_that_the_first_had_found() -> None:
    alone = threading.Barrier(1)
    lost = [Gpu(0, alone, lost_after=2), Gpu(1, alone, lost_after=0)]
    found: list[Reproduction] = []
    with contextlib.closing(ExecutorGroup(lost)) as executors, pytest.raises(DeviceLostError):
        several = course("a", (make_case("first"),), (make_case("second", rows=16),))
        found.extend(reproduce(executors, [several], lambda _: GPU, silent))
    assert [[o.case.label for o in f.outcomes] for f in found] == [["first"]]


def test_after_ctrl_c_what_is_known_of_each_course_is_reported() -> None:
    both = threading.Barrier(2)

    def interrupt(earlier: Sequence[Outcome]) -> str:
        if both.wait(10) == 0:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)  # the main thread ends this one meanwhile
        return ""

    first, second = (make_case("first"),), (make_case("second", rows=16),)
    groups = (Group(first, TIMED), Group(second, TIMED, why_not=interrupt))
    found, error = interrupted([source(name, *groups) for name in "ab"])
    assert isinstance(error, KeyboardInterrupt)
    assert sorted(f.name for f in found) == ["a", "b"]
    assert all([o.case.label for o in f.outcomes] == ["first"] and not f.is_complete for f in found)


def test_ctrl_c_after_the_last_case_of_a_course_costs_nothing() -> None:
    reports = iter([KeyboardInterrupt()])

    def conclude(plan: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
        for error in reports:
            raise error
        return CourseReport((), ())

    plan = Plan(GPU, (Group((make_case("first"),), TIMED),))
    found, error = interrupted([Source("a", "a", lambda *_: plan, conclude)])
    assert isinstance(error, KeyboardInterrupt)
    assert [(f.name, f.is_complete, len(f.outcomes)) for f in found] == [("a", True, 1)]


def interrupted(courses: list[Source]) -> tuple[list[Reproduction], BaseException | None]:
    found: list[Reproduction] = []
    with contextlib.closing(ExecutorGroup(gpus(*[None] * len(courses)))) as executors:
        try:
            found.extend(reproduce(executors, courses, lambda _: GPU, silent))
        except KeyboardInterrupt as error:
            return found, error
    return found, None
