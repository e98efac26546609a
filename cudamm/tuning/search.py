"""Search for the fastest parameters of a method on this device.

In a small space every variant is tried. In a large one some variants are drawn at random, and the faster half
is kept repeatedly (successive halving: Jamieson and Talwalkar 2016, arXiv:1502.07943). From the best of them
the search moves to neighbours as long as one is faster. Every variant is verified. In the end the two fastest
take samples in turn, which confirms the winner.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cudamm.benchmark import measure
from cudamm.benchmark.result import Cache, Result, Timing, result_of_case
from cudamm.benchmark.sample_statistics import Ratio, ratio_of_medians
from cudamm.benchmark.sampling_policy import Settings
from cudamm.compile.compile_all import compile_each
from cudamm.compile.process_group import CORES
from cudamm.devices.find_device import host
from cudamm.errors import KernelError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.executor import Executors
from cudamm.execution.executor_group import most_typical
from cudamm.execution.prepare import Progress, check_user_kernels, plan_all
from cudamm.kernels.method import Method, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

SCHEMA = "cudamm.tune/1"

ALL_TRIED = 96
"""Maximum number of launchable variants that are all tried."""

START = 32
"""Number of variants drawn at random from a larger space; the default parameters are always among them."""

START_RUNS, MOST_RUNS = 3, 24
"""Samples of a variant in the first round, and maximum in the last round of halving."""

NEIGHBOUR_RUNS = 6
"""Samples of each neighbour of the best variant."""

SEARCH_SHARE = 0.85
"""Share of the budget for the search; the rest is for the confirmation."""

CONFIRM_ROUNDS = 5
"""Number of turns of each of the two fastest variants."""

FEWEST_CONFIRM_RUNS, MOST_CONFIRM_RUNS = 2, 6
"""Minimum and maximum number of samples in a turn."""

CONFIRM_S = 2.0
"""Duration that limits the samples of a variant in all its turns, in seconds."""

MOST_CHALLENGES = 3
"""Maximum number of pairs that are confirmed."""

FEWEST_FOR_INTERVAL = 8
"""Minimum number of samples of each variant for a bootstrap interval."""

MEASURED_AT_ONCE = 8
"""Number of compiled variants for each GPU that are measured together, while others compile."""

NOT_TIMED = "no winner, because times on the CPU device are not those of a GPU"
"""Choice of every outcome on the CPU device."""

ROOM_SHARE = 0.25
"""Share of free memory; smaller matrices of a problem stay allocated between the steps of a search."""

BYTES_AN_ELEMENT = 48
"""Upper bound on the bytes per matrix element: inputs, copies, and a reference in float64."""

Stage = Literal["start", "halving", "neighbours", "confirmation"]

Ended = Literal["complete", "budget", "cut short"]
"""`complete`: all variants were tried, or no neighbour of the best is faster."""


@dataclass(frozen=True)
class Request:
    """The settings of a search.

    Attributes:
        budget_s: time for each method on each problem in seconds, compilation included.
        seed: seed of the random draw of variants.
        cache: state of the L2 cache before each sample, as in `Settings` of `sampling_policy`.
    """

    budget_s: float = 60.0
    seed: int = 0
    cache: Cache = "cold"


@dataclass(frozen=True)
class Task:
    """One method on one problem.

    Attributes:
        offered: number of requested variants that meet the user's conditions.
        cases: cases that the device can launch, in order; their positions are unique among all tasks.
    """

    method: Method
    problem: Problem
    offered: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Trial:
    """A variant that was tried, with its latest result.

    Attributes:
        stage: latest stage in which the variant was tried.
    """

    stage: Stage
    result: Result

    @property
    def is_right(self) -> bool:
        """True if the product is right. On a GPU the variant has a time; it may be dropped as too slow."""
        result = self.result
        has_time = result.median_ms is not None or result.execution == "emulated"
        return result.status in ("ok", "dropped") and has_time and result.verdict.correct is True

    def record(self, winners: Sequence[int]) -> dict[str, Any]:
        """Return the row of a `cudamm.tune/1` file.

        Args:
            winners: positions of the winners.
        """
        record = self.result.bench_record()
        omitted = ("samples_ms", "mean_ms", "min_ms", "outliers", "throttle_reasons", "bit_equal")
        record = {name: value for name, value in record.items() if name not in omitted}
        record["samples"] = len(self.result.timing.samples_ms)
        return record | {"stage": self.stage, "winner": self.result.position in winners}


@dataclass(frozen=True)
class Outcome:
    """The outcome of one task.

    Attributes:
        winner: result of the chosen variant; None if no variant was right, or on the CPU device, whose times
            are not those of a GPU.
        runner_up: result of the next best variant; None if there is none.
        ratio: ratio of the runner-up's median to the winner's, with its interval; None if too few samples
            were taken in turn.
        choice: reason for the choice, in words.
        ended: what ended the search.
        spent_s: duration of the search in seconds.
    """

    task: Task
    trials: tuple[Trial, ...]
    winner: Result | None
    runner_up: Result | None
    ratio: Ratio | None
    choice: str
    ended: Ended
    spent_s: float

    @property
    def right(self) -> int:
        """Number of variants that were verified."""
        return sum(trial.is_right for trial in self.trials)

    @property
    def is_confirmed(self) -> bool:
        """True if the interval of the ratio shows that the winner is faster than the runner-up."""
        return self.ratio is not None and self.ratio.low > 1

    def record(self) -> dict[str, Any]:
        """Return the entry of `outcomes` in a `cudamm.tune/1` file."""
        shape = self.task.problem.shape
        ratio = self.ratio
        return {
            "method": self.task.method.name,
            **dataclasses.asdict(shape),
            "dtype": self.task.problem.element.name,
            "params": self.winner.params if self.winner else None,
            "median_ms": self.winner.median_ms if self.winner else None,
            "runner_up": self.runner_up.params if self.runner_up else None,
            "ratio": [ratio.value, ratio.low, ratio.high] if ratio and math.isfinite(ratio.low) else None,
            "confirmed": self.is_confirmed,
            "choice": self.choice,
            "offered": self.task.offered,
            "possible": len(self.task.cases),
            "tried": len(self.trials),
            "ended": self.ended,
            "spent_s": self.spent_s,
        }


def tasks_of(executors: Executors, cases: Sequence[tuple[Variant, Problem]]) -> list[Task]:
    """Group cases by method and problem, each with the variants that the device can launch.

    Raises:
        UsageError: a method has too many variants, or none that can be launched.
    """
    groups: dict[tuple[Method, Problem], list[Variant]] = {}
    for variant, problem in cases:
        groups.setdefault((variant.method, problem), []).append(variant)
    tasks: list[Task] = []
    first_position = 0
    for (method, problem), variants in groups.items():
        positions = range(first_position, first_position + len(variants))
        first_position += len(variants)
        pairs = [(variant, problem) for variant in variants]
        planned = plan_all(executors, pairs, True, positions, verified=True, each_may_fail=True)
        launchable = tuple(case for case in planned if case.launch is not None)
        if not launchable:
            reason = next((str(case.compiled) for case in planned if not case.skipped), planned[0].skipped)
            raise UsageError(
                f"none of the {len(variants)} variants of {method.name} can be launched: {reason}"
            )
        tasks.append(Task(method, problem, len(variants), launchable))
    return tasks


class Tuner:
    """Tuner of one task after the other.

    Attributes:
        outcomes: outcomes of the tasks that are concluded.
    """

    def __init__(
        self,
        executors: Executors,
        tasks: Sequence[Task],
        request: Request,
        on_outcome: Callable[[Outcome], object] = lambda outcome: None,
    ) -> None:
        """Create a tuner.

        Args:
            on_outcome: called with each outcome as soon as it is known.
        """
        self._executors, self._tasks, self._request = executors, tasks, request
        self._on_outcome = on_outcome
        self._search: _Search | None = None
        self.outcomes: list[Outcome] = []

    def run(self, progress: Progress) -> Iterator[Trial]:
        """Search, and yield a trial whenever a variant has a new result.

        Raises:
            UsageError: a user's kernel compiles in no variant.
        """
        for task in self._tasks:
            self._search = _Search(self._executors, task, self._request, progress)
            yield from self._search.run()
            self.conclude()
            self._executors.release()

    def conclude(self) -> None:
        """Conclude the current task with the results so far; its search may have been interrupted."""
        if self._search is not None:
            search, self._search = self._search, None
            self.outcomes.append(search.outcome())
            self._on_outcome(self.outcomes[-1])


class _OutOfTimeError(Exception):
    """The budget is spent, which ends a search and is not a failure."""


class _Search:
    """The search of one task."""

    def __init__(self, executors: Executors, task: Task, request: Request, progress: Progress) -> None:
        self._executors = executors
        self._task, self._request, self._progress = task, request, progress
        self._keep_matrices = _may_stay_allocated(executors, task.problem)
        self._is_timed = executors.target.info.kind == "gpu"
        self._cases = {case.position: case for case in task.cases}
        self._started = time.monotonic()
        self._deadline = self._started + (SEARCH_SHARE if self._is_timed else 1) * request.budget_s
        self._stage: Stage = "start"
        self._trials: dict[int, Trial] = {}
        self._compiled: dict[int, Any] = {}
        self._turn_samples: dict[int, list[float]] = {}
        self._confirmed_samples: dict[int, list[float]] = {}
        self._challenges = 0
        self._ended: Ended = "cut short"

    def run(self) -> Iterator[Trial]:
        """Search and confirm, and yield a trial whenever a variant has a new result.

        On the CPU device, the variants of the start are verified, and nothing follows.
        """
        ended: Ended = "complete"
        try:
            yield from self._try(self._start(), START_RUNS)
            self._check_compiled()
            if self._is_timed:
                yield from self._halve()
                if len(self._cases) > ALL_TRIED:
                    yield from self._climb()
        except _OutOfTimeError:
            ended = "budget"
        self._check_compiled()
        self._deadline = self._started + self._request.budget_s
        try:
            if self._is_timed:
                yield from self._confirm()
        except _OutOfTimeError:
            ended = ended if self._has_enough_samples() else "budget"
        self._ended = ended

    def outcome(self) -> Outcome:
        """Return the outcome by the results so far."""
        ranked = self._finalists()
        winner, runner_up, ratio, choice = None, None, None, "no variant was right"
        if ranked and not self._is_timed:
            choice = NOT_TIMED
        elif len(ranked) == 1:
            winner, choice = ranked[0], "the only variant whose result was right"
        elif ranked:
            winner, runner_up, ratio, choice = self._choose(*ranked[:2])
        for result in filter(None, (winner, runner_up)):
            position = result.position
            self._trials[position] = Trial(self._trials[position].stage, result)
        trials = [self._trials[position] for position in sorted(self._trials)]
        spent_s = time.monotonic() - self._started
        return Outcome(
            self._task, tuple(trials), winner, runner_up, ratio, choice, self._ended, spent_s
        )  # fmt: skip

    # Choice of the variants to try.

    def _start(self) -> list[Case]:
        """Return all cases, or some drawn at random; the case with the default parameters comes first."""
        cases = list(self._task.cases)
        defaults = {parameter.name: parameter.default for parameter in self._task.method.parameters}
        if len(cases) > ALL_TRIED:
            drawn_indices = np.random.default_rng(self._request.seed).permutation(len(cases))
            default_indices = [i for i, case in enumerate(cases) if case.variant.params == defaults]
            start_indices = dict.fromkeys([*default_indices, *drawn_indices.tolist()])
            return [cases[i] for i in list(start_indices)[:START]]
        return sorted(cases, key=lambda case: case.variant.params != defaults)

    def _halve(self) -> Iterator[Trial]:
        """Measure the faster half again with twice the samples, until two variants remain."""
        self._stage = "halving"
        runs, remaining = START_RUNS, self._fastest()
        while len(remaining) > 2:
            remaining, runs = remaining[: (len(remaining) + 1) // 2], min(2 * runs, MOST_RUNS)
            yield from self._measure([self._cases[r.position] for r in remaining], runs)
            positions = {result.position for result in remaining}
            remaining = [result for result in self._fastest() if result.position in positions]

    def _climb(self) -> Iterator[Trial]:
        """Move from the best variant to its fastest neighbour, as long as a neighbour is faster."""
        self._stage = "neighbours"
        neighbours = _Neighbours(self._task.cases)
        while fastest := self._fastest():
            best_position = fastest[0].position
            untried = [case for case in neighbours.of(best_position) if case.position not in self._trials]
            yield from self._try(untried, NEIGHBOUR_RUNS, self._cases[best_position])
            if self._fastest()[:1] and self._fastest()[0].position == best_position:
                return

    def _confirm(self) -> Iterator[Trial]:
        """Let the two fastest variants take samples in turn.

        A variant that fails is replaced by the next one. If a third variant's few samples are faster than the
        winner's many, the third variant and the winner take turns next.
        """
        self._stage = "confirmation"
        self._executors = most_typical(self._executors)  # times of two devices are not compared
        for _ in range(MOST_CHALLENGES + len(self._cases)):
            pair = self._ranked()[:2]
            positions = {result.position for result in pair}
            if (
                len(pair) < 2
                or positions == set(self._confirmed_samples)
                or self._challenges >= MOST_CHALLENGES
            ):
                return
            self._turn_samples = {position: [] for position in positions}
            yield from self._take_turns(pair)
            if all(self._trials[position].is_right for position in positions):
                self._confirmed_samples = {p: list(samples) for p, samples in self._turn_samples.items()}
                self._challenges += 1

    def _take_turns(self, pair: Sequence[Result]) -> Iterator[Trial]:
        """Take samples of two variants in turn, until there are enough or one of the two fails."""
        longest_ms = max(result.median_ms or 0.0 for result in pair)
        runs_in_time = int(1e3 * CONFIRM_S / CONFIRM_ROUNDS / max(longest_ms, 1e-3))
        runs = max(FEWEST_CONFIRM_RUNS, min(runs_in_time, MOST_CONFIRM_RUNS))
        for turn in range(CONFIRM_ROUNDS):
            cases = [self._cases[result.position] for result in (pair if turn % 2 else pair[::-1])]
            # One warm-up launch is enough after the first turn: the device does not cool down between turns.
            yield from self._measure(cases, runs, drop=False, warmup=1 if turn else None)
            if not all(self._trials[result.position].is_right for result in pair):
                return

    # Compilation and measurement.

    def _try(self, cases: Sequence[Case], runs: int, best: Case | None = None) -> Iterator[Trial]:
        """Compile cases and measure them together with the best variant so far."""
        with contextlib.closing(self._compiled_batches(cases)) as batches:
            for batch in batches:
                if isinstance(batch, Trial):
                    yield batch
                else:
                    yield from self._measure([*batch, *([best] if best else [])], runs)

    def _compiled_batches(self, cases: Sequence[Case]) -> Generator[Trial | list[Case], None, None]:
        """Compile cases; yield a trial for each failure, and lists of compiled cases to be measured.

        On a GPU, further cases compile while a list is measured. On the host they do not, because that would
        disturb the times.
        """
        if not cases:
            return
        on_host = cases[0].on_host
        batch_size = 2 * CORES if on_host else len(cases)
        for first in range(0, len(cases), batch_size):
            batch: list[Case] = []
            cases_of_program: dict[Any, list[Case]] = {}
            for case in cases[first : first + batch_size]:
                cases_of_program.setdefault(case.program, []).append(case)
            target = cases[0].target
            with compile_each(list(cases_of_program), target.compile, target.compile_threads) as programs:
                for program, executable in programs:
                    for case in cases_of_program[program]:
                        self._compiled[case.position] = executable
                        reason = str(executable) if isinstance(executable, KernelError) else ""
                        if reason:
                            timing = Timing([], self._request.cache)
                            yield self._add_trial(result_of_case(case, "failed", reason, timing))
                        else:
                            batch.append(case)
                    self._report_progress(f"compiling {program.method.name}")
                    if batch and self._is_out_of_time():  # at least one variant is measured
                        yield batch[:1]
                        raise _OutOfTimeError
                    enough = MEASURED_AT_ONCE * len(self._executors.members)
                    if len(batch) >= enough and not on_host:
                        yield batch
                        batch = []
            if batch:
                yield batch

    def _measure(
        self, cases: Sequence[Case], runs: int, *, drop: bool = True, warmup: int | None = None
    ) -> Iterator[Trial]:
        """Measure compiled cases. On the CPU device, verify them without timing."""
        settings = Settings(
            runs=runs, warmup=warmup, cache=self._request.cache, drop=drop, each_may_fail=True,
            keep_matrices=self._keep_matrices, times=self._is_timed, shares_variants=True,
        )  # fmt: skip
        positions = [case.position for case in cases]
        leader = [result for result in self._fastest()[:1] if result.position not in positions]
        pairs = [(case.variant, case.problem) for case in cases]

        def report_progress(doing: str, done: int, total: int) -> None:
            # These programs are in the compiler cache already: "compiling" is not shown a second time.
            self._report_progress(doing, is_shown=not doing.startswith("compiling"))

        results = measure.bench(
            self._executors, pairs, settings, report_progress, positions, leader if drop else ()
        )
        with contextlib.closing(results):  # type: ignore[type-var] # it is a generator
            for result in results:
                yield self._add_trial(result)

    def _add_trial(self, result: Result) -> Trial:
        """Store a result as a trial; all samples taken in turn are combined."""
        position = result.position
        if self._stage == "confirmation" and position in self._turn_samples and result.timing.samples_ms:
            self._turn_samples[position] += result.timing.samples_ms
            timing = dataclasses.replace(result.timing, samples_ms=list(self._turn_samples[position]))
            result = dataclasses.replace(result, timing=timing)
        self._trials[position] = Trial(self._stage, result)
        return self._trials[position]

    def _report_progress(self, doing: str, *, is_shown: bool = True) -> None:
        """Report progress.

        Raises:
            _OutOfTimeError: the time is over, and at least one variant was measured.
        """
        if is_shown:
            self._progress(f"{self._stage}: {doing}", len(self._trials), len(self._cases))
        if self._is_out_of_time() and self._fastest():
            raise _OutOfTimeError

    def _is_out_of_time(self) -> bool:
        return time.monotonic() >= self._deadline

    def _check_compiled(self) -> None:
        """Raise UsageError if a user's kernel compiled in no variant."""
        check_user_kernels(
            [(self._cases[position].program, executable) for position, executable in self._compiled.items()]
        )

    # Choice of the winner.

    def _fastest(self) -> list[Result]:
        """Return the results that are right and not dropped, the fastest first."""
        return [result for result in self._ranked() if result.status == "ok"]

    def _ranked(self) -> list[Result]:
        """Return the results that are right, the fastest first."""
        # A copy, because the threads of several devices call this to report progress.
        right = [trial.result for trial in list(self._trials.values()) if trial.is_right]
        return sorted(right, key=lambda r: (r.median_ms, r.position))

    def _finalists(self) -> list[Result]:
        """Return the two results that took turns, if they have enough samples; else all right results."""
        ranked = self._ranked()
        right_positions = {result.position for result in ranked}
        if not self._confirmed_samples and self._has_enough_samples():
            self._confirmed_samples = self._turn_samples
        if self._confirmed_samples and set(self._confirmed_samples) <= right_positions:
            pair = [result for result in ranked if result.position in self._confirmed_samples]
            return sorted(map(self._as_confirmed, pair), key=lambda r: (r.median_ms, r.position))
        self._confirmed_samples = {}
        return sorted(ranked, key=lambda r: r.status == "dropped")

    def _has_enough_samples(self) -> bool:
        """Return whether the confirmed pair, or else the present one, has enough samples for an interval."""
        samples = self._confirmed_samples or self._turn_samples
        return min(map(len, samples.values()), default=0) >= FEWEST_FOR_INTERVAL

    def _as_confirmed(self, result: Result) -> Result:
        """Return a result with only the samples that were taken in its confirmed pair."""
        timing = dataclasses.replace(result.timing, samples_ms=self._confirmed_samples[result.position])
        return dataclasses.replace(result, timing=timing)

    def _choose(self, first: Result, second: Result) -> tuple[Result, Result, Ratio | None, str]:
        """Return the winner of the two fastest, the runner-up, their ratio, and the reason."""
        samples = [self._confirmed_samples.get(result.position, []) for result in (first, second)]
        if min(map(len, samples)) < FEWEST_FOR_INTERVAL:
            return first, second, None, "the fastest so far, but not confirmed against the next best"
        ratio = ratio_of_medians(samples[1], samples[0])
        if ratio.low > 1:
            return first, second, ratio, "faster than the next best"
        winner, runner_up, reason = self._choose_simpler(first, second)
        if winner is not first:
            ratio = ratio_of_medians(samples[0], samples[1])
        return winner, runner_up, ratio, f"the two fastest variants do not differ measurably; {reason}"

    def _choose_simpler(self, first: Result, second: Result) -> tuple[Result, Result, str]:
        """Return the winner, the other one and the reason, if the times of the two do not differ.

        The winner is the one with fewer registers or less shared memory and no more of the other; if neither
        is, the one that comes first among the cases.
        """
        resources = [self._resources(result.position) for result in (first, second)]
        if resources[0] and resources[1] and resources[0] != resources[1]:
            if all(a <= b for a, b in zip(*resources, strict=True)):
                return first, second, "this one takes fewer resources"
            if all(a >= b for a, b in zip(*resources, strict=True)):
                return second, first, "this one takes fewer resources"
        if second.position < first.position:
            first, second = second, first
        return first, second, "this one comes first"

    def _resources(self, position: int) -> tuple[int, ...]:
        """Return the registers of a thread and the shared bytes of a block; empty if they are not known."""
        case = self._cases[position]
        usage = case.target.resources(case.program)
        if usage is None or case.launch is None:
            return ()
        return usage.registers_per_thread, usage.static_shared_bytes + case.launch.shared_bytes


class _Neighbours:
    """Neighbours of each variant in the space of parameters."""

    def __init__(self, cases: Sequence[Case]) -> None:
        names = list(cases[0].variant.params)
        self._axes = [_axis_positions([case.variant.params[name] for case in cases]) for name in names]
        self._case_at = {self._place(case): case for case in cases}
        self._places = {case.position: place for place, case in self._case_at.items()}

    def _place(self, case: Case) -> tuple[int, ...]:
        values = case.variant.params.values()
        return tuple(axis[value] for axis, value in zip(self._axes, values, strict=True))

    def of(self, position: int) -> list[Case]:
        """Return the cases whose parameters differ by one step up or down in one parameter.

        If a step leads to no case, the cases with one more step in a second parameter count instead: the
        conditions of a header often allow no parameter to change alone.
        """
        place = self._places[position]
        neighbours: dict[tuple[int, ...], None] = {}
        for axis in range(len(place)):
            for stepped in _neighbour_places(place, axis):
                if stepped in self._case_at:
                    neighbours[stepped] = None
                    continue
                for second_axis in range(len(place)):
                    if second_axis != axis:
                        neighbours |= dict.fromkeys(
                            s for s in _neighbour_places(stepped, second_axis) if s in self._case_at
                        )
        return [self._case_at[stepped] for stepped in neighbours]


def _axis_positions(values: Sequence[Value]) -> dict[Value, int]:
    """Return the position of each value on its axis: numbers by size, other values in the given order."""
    ordered = list(dict.fromkeys(values))
    if all(isinstance(value, int) for value in ordered):
        ordered.sort()
    return {value: i for i, value in enumerate(ordered)}


def _neighbour_places(place: tuple[int, ...], axis: int) -> Iterator[tuple[int, ...]]:
    for step in (1, -1):
        yield (*place[:axis], place[axis] + step, *place[axis + 1 :])


def _may_stay_allocated(executors: Executors, problem: Problem) -> bool:
    """Return whether a problem's matrices may stay allocated between two steps of a search.

    If the matrices of a large problem stayed allocated, `plan_all` would find too little free memory for the
    next step.
    """
    needed = BYTES_AN_ELEMENT * problem.shape.elements
    return needed < ROOM_SHARE * min(executors.free_bytes(), host().free_bytes())
