"""Grade a submission: run the tests of an assignment, and add up the points.

The results come from this process's own data. The submission is compiled and run by confined processes
(`compile/confinement.py`), which know nothing of points.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cudamm.compile.confinement import Confinement, confined, file_confinement
from cudamm.compile.host_compiler import compile_for_host
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.compile.program import program
from cudamm.devices.device import DeviceInfo
from cudamm.devices.find_device import gpu_index, has_driver, host
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.executor import LocalExecutor
from cudamm.execution.prepare import Progress
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.grading.assignment import Assignment, shown
from cudamm.grading.graded_test import NEEDS, GradedTest, Need
from cudamm.grading.outcome import Outcome
from cudamm.grading.student_advice import without_options
from cudamm.grading.submission import RefusedSubmission, Submission, taken, variant_of
from cudamm.grading.test_runs import TestRuns
from cudamm.kernels.variant import Variant

SCHEMA = "cudamm.grade/1"

GIGABYTE = 1 << 30

CPU_SECONDS = 20
"""Limit on a kernel's processor time, for each core, as a multiple of the limit for one problem."""


@dataclass(frozen=True)
class Graded:
    """The outcome of one test.

    Attributes:
        was_run: false if the machine lacks what the test needs; its points then do not count.
        score: the points of the submission.
    """

    test: GradedTest
    outcome: Outcome
    was_run: bool = True

    @property
    def score(self) -> Decimal:
        """The points of the submission, rounded to hundredths."""
        return (self.test.points * Decimal(repr(self.outcome.share))).quantize(
            Decimal("0.01")
        ).normalize() + 0

    @property
    def status(self) -> str:
        """The outcome in a word: passed, partly, failed or not run."""
        if not self.was_run:
            return "not run"
        return "passed" if self.outcome.share >= 1 else "partly" if self.outcome.share > 0 else "failed"


@dataclass(frozen=True)
class Grade:
    """The grade of a submission.

    Attributes:
        submission: name of the file.
        refused: why the submission was not graded and has no points; empty if it was.
        graded: the outcomes of the tests, in the order of the assignment.
        seconds: duration of the grading.
        device: the device on which speed was measured; without such a test, the CPU device. All other tests
            run on the CPU device.
        remarks: what the teacher has to know about this grading, in sentences.
        is_public: only the public tests were run.
    """

    assignment: Assignment
    submission: str
    refused: str
    graded: tuple[Graded, ...]
    seconds: float
    device: DeviceInfo
    remarks: tuple[str, ...]
    is_public: bool

    @property
    def score(self) -> Decimal:
        """The points of the submission."""
        return sum((graded.score for graded in self.graded if graded.was_run), Decimal(0))

    @property
    def points(self) -> Decimal:
        """The most points of the tests that were run, without a bonus."""
        return sum((g.test.points for g in self.graded if g.was_run and not g.test.is_bonus), Decimal(0))

    @property
    def is_full(self) -> bool:
        """Return whether every test that was run has all its points."""
        return all(graded.status in ("passed", "not run") for graded in self.graded) and not self.refused


def grade(
    assignment: Assignment,
    submission: Path,
    *,
    device_spec: str = "auto",
    public: bool = False,
    without: Collection[Need] = (),
    unconfined: bool = False,
    progress: Progress,
) -> Grade:
    """Grade a submission.

    Args:
        public: run the public tests only.
        without: what the machine may lack: tests that need it are left out if it is missing.
        unconfined: grade also where nothing keeps a compiler from the machine's files.

    Raises:
        UsageError: there is no such submission or device, or no public test.
        NoDeviceError: the machine lacks what a test needs, or cannot confine a submission.
    """
    start = time.monotonic()
    tests = [test for test in assignment.tests if test.is_public or not public]
    if not tests:
        raise UsageError(f"{assignment.name} has no public tests")
    with contextlib.ExitStack() as opened:
        spec, info = _speed_device(device_spec, tests)
        lacking = _lacking(tests, spec, info)
        _refuse_lacking(tests, lacking, without)
        remarks = _refuse_unconfined(unconfined)
        refused, name = "", submission.name
        outcomes: Sequence[Outcome] = ()
        wanted = [test for test in tests if test.needs not in lacking]
        try:
            handed_in = opened.enter_context(taken(submission))
            name = handed_in.name
            outcomes = _outcomes(assignment, handed_in, wanted, spec, progress)
        except RefusedSubmission as error:
            refused = without_options(str(error))
            outcomes = [Outcome(0.0, "not run")] * len(wanted)
    by_test = dict(zip(wanted, outcomes, strict=True))
    graded = tuple(
        Graded(test, by_test[test])
        if test in by_test
        else Graded(test, Outcome(0.0, f"not run: {lacking[test.needs]}"), was_run=False)
        for test in tests
    )
    remarks += [
        f"“{g.test.name}” was not run, and its {shown(g.test.points)} points do not count: "
        f"it needs {NEEDS[g.test.needs]}, and {lacking[g.test.needs]}"
        for g in graded
        if not g.was_run and g.test.needs is not None
    ]
    seconds = time.monotonic() - start
    return Grade(assignment, name, refused, graded, seconds, info, tuple(remarks), public)


def _speed_device(spec: str, tests: Sequence[GradedTest]) -> tuple[str, DeviceInfo]:
    """Return the name and the description of the device for tests of speed: a GPU only if there are any."""
    wants_gpu = has_driver() and any(test.needs == "gpu" for test in tests)
    if gpu_index(spec) is None or (spec == "auto" and not wants_gpu):
        return "cpu", host().info
    with WorkerExecutor(spec, None) as worker:  # a GPU's driver needs memory that a confinement limits
        info = worker.target.info
    return info.spec, info


def _lacking(tests: Sequence[GradedTest], spec: str, info: DeviceInfo) -> Mapping[Need | None, str]:
    """Return what this machine lacks of what the tests need, each with the reason."""
    lacking: dict[Need | None, str] = {}
    needs = {test.needs for test in tests}
    if "gpu" in needs and spec == "cpu":
        lacking["gpu"] = info.note or "there is no GPU here"
    if "nvcc" in needs:
        try:
            nvcc()
        except NoDeviceError as error:
            lacking["nvcc"] = str(error)
    return lacking


def _refuse_lacking(
    tests: Sequence[GradedTest], lacking: Mapping[Need | None, str], without: Collection[Need]
) -> None:
    """Raise NoDeviceError if points that count would be lost for what the machine lacks."""
    for test in tests:
        if (
            test.needs in lacking
            and test.needs is not None
            and not test.is_bonus
            and test.needs not in without
        ):
            raise NoDeviceError(
                f"the test “{test.name}” needs {NEEDS[test.needs]}, and {lacking[test.needs]}; nothing was "
                f"graded (--without {test.needs} leaves out such tests and their points)"
            )


def _refuse_unconfined(unconfined: bool) -> list[str]:
    """Raise NoDeviceError if nothing confines the files of compilers; return a remark if that is accepted."""
    if file_confinement():
        return []
    lack = (
        "this system has neither Landlock nor bubblewrap, so a submission could read files while it compiles"
    )
    if not unconfined:
        raise NoDeviceError(
            f"{lack}; nothing was graded: install bubblewrap, or grade what you trust with --unconfined"
        )
    return [f"{lack} (--unconfined)"]


def _outcomes(
    assignment: Assignment, submission: Submission, tests: Sequence[GradedTest], spec: str, progress: Progress
) -> list[Outcome]:
    """Run tests, and return their outcomes in order.

    Raises:
        RefusedSubmission: the submission is no kernel of this assignment.
    """
    limits = assignment.limits
    most_bytes = int(limits.memory_gb * GIGABYTE)
    confinement = Confinement(
        folder=submission.folder,
        compile_s=limits.compile_s,
        compiler_bytes=most_bytes,
        kernel_bytes=most_bytes,
        kernel_cpu_s=int(limits.run_s * CPU_SECONDS) + 1,
    )
    with confined(confinement):
        variant = variant_of(submission, assignment)
        _check_compiles(variant, submission, tests)
        with contextlib.ExitStack() as opened:
            started: dict[str, LocalExecutor] = {}

            def worker(name: str) -> LocalExecutor:
                if name not in started:
                    started[name] = opened.enter_context(WorkerExecutor(name, limits.run_s))
                return started[name]

            runs = TestRuns(variant, tests, limits.run_s, worker, spec, submission.without_folder)
            outcomes = []
            for done, test in enumerate(tests):
                progress(test.name, done, len(tests))
                outcomes.append(runs.outcome(test))
            return outcomes


def _check_compiles(variant: Variant, submission: Submission, tests: Sequence[GradedTest]) -> None:
    """Raise RefusedSubmission if the kernel compiles in none of the element types that are graded."""
    failures = []
    elements = list(dict.fromkeys(test.element for test in tests))
    for element in elements:
        try:
            compile_for_host(program(variant, element, True, tests[0].shapes[0]))
        except (KernelError, UsageError) as error:
            failures.append(error)
    if len(failures) == len(elements):
        shown_lines = "\n".join(failures[0].details)
        reason = f"{failures[0]}" + (f"\n{shown_lines}" if shown_lines else "")
        raise RefusedSubmission(submission.without_folder(reason))
