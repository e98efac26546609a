"""An executor that runs cases in this process, on a device that this process has opened."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cudamm.devices.device import Device, Load, LoadedUnit, Peak, Run, Target, padded
from cudamm.devices.find_device import host
from cudamm.errors import CudammError, KernelError
from cudamm.execution.case import RIGHT_AT_FIRST, Case, Verdict
from cudamm.execution.executor import Facts, LocalExecutor, SampleBatch
from cudamm.execution.judge import verify
from cudamm.execution.precision_judge import PrecisionJudge
from cudamm.execution.timed_launches import TimedLaunches, TimedSamples
from cudamm.kernels.problem import Matrix, Problem, Shape

MOST_OPEN = 32
"""Maximum number of open runs on the CPU device; each run is a process."""


class Expected:
    """The problem of the first request, whose matrices a thread makes while the device is being opened."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def _make(self) -> None:
        # A failure here repeats when the matrices are needed, and is reported then.
        with contextlib.suppress(CudammError, MemoryError):
            self._problem.prepare()

    def wait(self) -> Problem:
        """Wait for the matrices, and return the problem."""
        self._thread.join()
        return self._problem


@dataclass(frozen=True)
class _OpenRun:
    case: Case
    run: Run
    timed: TimedLaunches


class InProcessExecutor(LocalExecutor):
    """An executor that runs cases in this process."""

    def __init__(self, device: Device[Any], expected: Expected | None = None) -> None:
        """Create an executor on an open device.

        Args:
            expected: the problem that is probably requested first.
        """
        self.device = device
        self._expected = expected
        self._problem: Problem | None = None
        self._precision: PrecisionJudge | None = None
        self._padded: dict[Shape, tuple[Matrix, Matrix]] = {}
        self._runs: dict[int, _OpenRun] = {}

    @functools.cached_property
    def target(self) -> Target[Any]:
        """The properties of the device that are needed to compile for it."""
        return self.device.target()

    def free_bytes(self) -> int:
        """Return the number of bytes of device memory that matrices may still take."""
        return self.device.free_bytes()

    def _measure_facts(self) -> Facts:
        return Facts(self.device.event_floor_ms, self.device.ceilings())

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the measured peaks of all units and types but float32 fused multiply-adds."""
        return self.device.other_peaks()

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of the device's units busy for a time; None if it has no such units."""
        return self.device.load(unit, seconds)

    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        """Launch a case and judge its product."""
        with self.open(case) as run:
            timed = self._runs[case.position].timed
            if timed.has_begun:
                run.load(*self._padded[run.plan.shape])
            verdict = verify(
                run,
                self._kept(case.problem),
                case.variant,
                fmad=case.fmad,
                thread_order=thorough and case.execution == "emulated",
            )
            if verdict.correct:
                verdict = self._precision_judge().judged(verdict, run, case.variant.method)
            if verdict.correct and thorough:
                verdict = self._on_other_inputs(case, timed, verdict)
        if not verdict.correct:
            self._free_runs()  # a faulty kernel may have damaged matrices in device memory
        return verdict

    def _on_other_inputs(self, case: Case, timed: TimedLaunches, verdict: Verdict) -> Verdict:
        """Return the verdict on a right product after one more launch, on other inputs."""
        try:
            timed.check_once()
        except KernelError as error:
            first = self._wrong_in_any_launch(case, timed)
            return first or dataclasses.replace(verdict, correct=False, reason=str(error))
        return verdict

    def _wrong_in_any_launch(self, case: Case, timed: TimedLaunches) -> Verdict | None:
        """Return why a later launch was wrong, if the first of a new process is wrong on its inputs too.

        Then the inputs matter, and not that it was a later launch.
        """
        problem = timed.wrong_problem
        if problem is None or case.execution != "emulated" or case.launch is None:
            return None
        try:
            inputs = padded(case.launch, *problem.inputs)
            run = self.device.open(case.program, case.compiled, case.launch, *inputs)
        except KernelError:
            return None
        with contextlib.closing(run):
            verdict = verify(run, problem, case.variant, fmad=case.fmad, thread_order=False)
        if verdict.correct is not False:
            return None
        at = "" if problem.shape == case.problem.shape else f" at {problem.shape}, to which it was padded"
        reason = f"{RIGHT_AT_FIRST}{at}: {verdict.reason}"
        return dataclasses.replace(verdict, reason=reason)

    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        """Time a case."""
        with self.open(case) as run:
            if check:
                timed = self._runs[case.position].timed
                try:
                    taken = timed.sample(samples, launches_per_sample, cold)
                except KernelError:
                    first = self._wrong_in_any_launch(case, timed)
                    if first is None:
                        raise
                    raise KernelError(first.reason) from None
            else:
                taken = TimedSamples(run.sample(samples, launches_per_sample, cold))
            reasons: tuple[str, ...] = ()
            clock_mhz = None
            if not case.on_host:
                reasons, clock_mhz = self.device.throttle_reasons(), self.device.clock_mhz()
            return SampleBatch(taken.samples_ms, clock_mhz, reasons, taken.judged, taken.judged_whole)

    def _precision_judge(self) -> PrecisionJudge:
        assert self._problem is not None  # noqa: S101 - a run of it is open
        if self._precision is None:
            self._precision = PrecisionJudge(self._problem)
        return self._precision

    def make_ready(self, problem: Problem) -> None:
        """Make a problem's inputs, and the reference that its products are compared with."""
        self.device.make_ready(self._kept(problem))

    @contextlib.contextmanager
    def open(self, case: Case) -> Iterator[Run]:
        """Yield a run of a case; the first call opens the run.

        Raises:
            KernelError: the case did not compile, cannot be launched, or failed.
        """
        try:
            yield self._run(case)
        except KernelError:
            self._free_runs()
            raise

    def _run(self, case: Case) -> Run:
        if isinstance(case.compiled, KernelError):
            raise case.compiled
        if case.launch is None:
            raise KernelError(case.skipped)
        problem = self._kept(case.problem)
        entry = self._runs.pop(case.position, None)
        if entry is None or entry.case.program != case.program:
            if entry is not None:
                entry.run.close()
            shape = case.launch.shape
            if shape not in self._padded:
                self._padded[shape] = padded(case.launch, *problem.inputs)
            self._make_room(shape.bytes_of(problem.element))
            # An executor on a GPU runs the host's own methods too.
            device = host() if case.on_host and self.device.info.kind != "cpu" else self.device
            run = device.open(case.program, case.compiled, case.launch, *self._padded[shape])
            entry = _OpenRun(case, run, TimedLaunches(run, problem, case.variant, self._precision_judge()))
        self._runs[case.position] = entry  # the most recently used run is last
        return entry.run

    def _make_room(self, case_bytes: int) -> None:
        """Close the least recently used runs on the host if all of them take too much of its memory."""
        on_host = [position for position, entry in self._runs.items() if entry.case.on_host]
        needed = case_bytes * (len(on_host) + 1)
        while on_host and (needed > host().free_bytes() // 2 or len(on_host) >= MOST_OPEN):
            self._runs.pop(on_host.pop(0)).run.close()
            needed -= case_bytes

    def _kept(self, problem: Problem) -> Problem:
        """Return an equal problem whose matrices are kept from one case to the next."""
        if self._expected is not None:
            self._problem, self._expected = self._expected.wait(), None
        if self._problem != problem:
            self.release()
            # A copy: the caller's own problem would keep its matrices alive after `release`.
            self._problem = dataclasses.replace(problem)
        assert self._problem is not None  # noqa: S101 - it was set above
        return self._problem

    def _free_runs(self) -> None:
        """Close every run and free the matrices in device memory; the problem's own matrices stay."""
        for entry in self._runs.values():
            entry.run.close()
        self._runs.clear()
        self._padded.clear()
        self.device.forget()

    def release(self) -> None:
        """Close every run, and free the matrices of the problem."""
        self._free_runs()
        if self._problem is not None:
            self._problem.release()
        self._problem = self._precision = None

    def close(self) -> None:
        """Close every run; the caller that opened the device closes it."""
        self.release()
