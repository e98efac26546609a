"""Runs cases in this process, on a device that is open here."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Iterator
from typing import Any

from cudamm.devices.device import Device, Run, Target, padded
from cudamm.devices.find_device import host
from cudamm.errors import CudammError, KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.executor import Batch, Executor, Facts
from cudamm.execution.judge import is_still_right, verify
from cudamm.kernels.problem import Matrix, Problem, Shape

MOST_OPEN = 32
"""Kernels' processes on the CPU device at a time."""


class Expected:
    """A problem that is made while a device is opened, as far as no device is needed for it."""

    def __init__(self, problem: Problem) -> None:
        """Begins at once."""
        self._problem = problem
        self._thread = threading.Thread(target=self._make, daemon=True)
        self._thread.start()

    def _make(self) -> None:
        # What fails here fails again where it is needed, and is reported there.
        with contextlib.suppress(CudammError, MemoryError):
            self._problem.prepare()

    def made(self) -> Problem:
        """The problem, once all of that is done."""
        self._thread.join()
        return self._problem


class InProcessExecutor(Executor):
    """Runs cases in this process."""

    def __init__(self, device: Device[Any], expected: Expected | None = None) -> None:
        """`expected`: a problem that is probably asked for first."""
        self.device = device
        self._expected = expected
        self._problem: Problem | None = None
        self._padded: dict[Shape, tuple[Matrix, Matrix]] = {}
        self._runs: dict[int, tuple[Case, Run]] = {}
        self._facts: Facts | None = None

    @functools.cached_property
    def target(self) -> Target[Any]:
        """Of the device."""
        return self.device.target()

    def free_bytes(self) -> int:
        """Of the device."""
        return self.device.free_bytes()

    def facts(self) -> Facts:
        """Measured when they are asked for first."""
        if self._facts is None:
            self._facts = Facts(self.device.event_floor_ms, self.device.ceilings())
        return self._facts

    def verify(self, case: Case, thread_order: bool) -> Verdict:
        """Launch a case and judge its product."""
        with self.open(case) as run:
            verdict = verify(
                run, self._same(case.problem), case.variant, fmad=case.fmad, thread_order=thread_order
            )
        if not verdict.correct:
            self.release(keep_problem=True)  # what a faulty kernel may have damaged is made anew
        return verdict

    def sample(self, case: Case, samples: int, launches: int, cold: bool, check: bool) -> Batch:
        """Time a case."""
        with self.open(case) as run:
            if check:
                run.fill_output()
            samples_ms = run.sample(samples, launches, cold)
            reasons: tuple[str, ...] = ()
            clock_mhz = None
            if not case.on_host:
                reasons, clock_mhz = self.device.throttle_reasons(), self.device.clock_mhz()
            if check and not is_still_right(run, self._same(case.problem)):
                raise KernelError("it was right when it was verified, but not when it was timed")
            return Batch(samples_ms, clock_mhz, reasons)

    def make_ready(self, problem: Problem) -> None:
        """Make its inputs, and what its products will be judged by."""
        self.device.make_ready(self._same(problem))

    @contextlib.contextmanager
    def open(self, case: Case) -> Iterator[Run]:
        """A run of a case, made when first needed. Raises KernelError where there is no kernel to run."""
        try:
            yield self._run(case)
        except KernelError:
            self.release(keep_problem=True)
            raise

    def _run(self, case: Case) -> Run:
        if isinstance(case.compiled, KernelError):
            raise case.compiled
        if case.launch is None:
            raise KernelError(case.skipped)
        problem = self._same(case.problem)
        known = self._runs.pop(case.position, None)
        if known is None or known[0].program != case.program:
            if known is not None:
                known[1].close()
            shape = case.launch.shape
            if shape not in self._padded:
                self._padded[shape] = padded(case.launch, *problem.inputs)
            self._make_room(shape, problem.element.size_bytes)
            device = host() if case.on_host else self.device
            run = device.open(case.program, case.compiled, case.launch, *self._padded[shape])
            known = case, run
        self._runs[case.position] = known  # the last used stand last
        return known[1]

    def _make_room(self, shape: Shape, element_bytes: int) -> None:
        """Close the runs used longest ago where all of them together take much of the host's memory."""
        on_host = [i for i, (case, _) in self._runs.items() if case.on_host]
        needed = shape.elements * element_bytes * (len(on_host) + 1)
        while on_host and (needed > host().free_bytes() // 2 or len(on_host) >= MOST_OPEN):
            self._runs.pop(on_host.pop(0))[1].close()
            needed -= shape.elements * element_bytes

    def _same(self, problem: Problem) -> Problem:
        """The problem of that value whose matrices have been made already, if there is one."""
        if self._expected is not None:
            self._problem, self._expected = self._expected.made(), None
        if self._problem != problem:
            self.release()
            # Never the caller's own: that would keep its matrices alive.
            self._problem = dataclasses.replace(problem)
        assert self._problem is not None  # noqa: S101 - it was set above
        return self._problem

    def release(self, keep_problem: bool = False) -> None:
        """Close every run, and give up the matrices."""
        for _, run in self._runs.values():
            run.close()
        self._runs.clear()
        self._padded.clear()
        self.device.forget()
        if not keep_problem:
            if self._problem is not None:
                self._problem.release()
            self._problem = None

    def close(self) -> None:
        """Close every run; the device is its opener's to close."""
        self.release()
