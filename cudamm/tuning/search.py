"""Which parameters of a method are fastest on this device? Searched, verified, held against the next best.

A small space is tried as a whole. Of a large one some variants are drawn at random and halved by the time
they take (successive halving: Jamieson and Talwalkar 2016, arXiv:1502.07943); from the best of them the
search goes on to its neighbours for as long as one is faster. The two fastest then take turns.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cudamm.benchmark import measure
from cudamm.benchmark.result import Cache, Result, Timing, result_of_case
from cudamm.benchmark.sample_statistics import Ratio, ratio_of_medians
from cudamm.benchmark.sampling_policy import Settings
from cudamm.compile.compile_all import compile_each
from cudamm.devices.find_device import host
from cudamm.errors import KernelError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress, check_user_kernels, plan_all
from cudamm.kernels.method import Method, Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

SCHEMA = "cudamm.tune/1"

MOST_VARIANTS = 100_000
"""Of one method on one problem, before any is left out: planning more takes longer than a search should."""

ALL_TRIED = 96
"""Variants that can be launched, up to which each of them is tried."""

START = 32
"""Drawn at random from more than that, the defaults always among them."""

START_RUNS, MOST_RUNS = 3, 24
"""Samples of a variant in the first round, and in the last of those that halve what is left."""

NEIGHBOUR_RUNS = 6

SEARCH_SHARE = 0.85
"""Of the budget; the rest is for confirming."""

CONFIRM_ROUNDS = 5
FEWEST_CONFIRM_RUNS, MOST_CONFIRM_RUNS = 2, 6
CONFIRM_S = 2.0
"""The two fastest take turns so often, each with so many samples a turn, as many as fit into this time."""

MOST_CHALLENGES = 3
"""Pairs that take turns."""

FEWEST_FOR_INTERVAL = 8
"""Samples of each, below which a bootstrap says nothing."""

MEASURED_AT_ONCE = 8
"""Variants on a GPU that are compiled before they are measured, while others compile."""

NOT_TIMED = "no winner, because times on the CPU device are not those of a GPU"
"""Choice of every outcome on the CPU device."""

ROOM_SHARE = 0.25
"""Share of free memory below which a problem's matrices stay allocated between two steps of a search."""

BYTES_AN_ELEMENT = 48
"""Upper bound on the bytes per matrix element: inputs, copies, and a reference in float64."""

Stage = Literal["start", "halving", "neighbours", "confirmation"]

Ended = Literal["complete", "budget", "cut short"]
"""`complete`: all was tried, or no neighbour of the best is faster."""


@dataclass(frozen=True)
class Request:
    """How to search.

    Attributes:
        budget_s: of each method on each problem, compiling included.
        seed: of the random start.
        cache: as `Settings` of `sampling_policy` has it.
    """

    budget_s: float = 60.0
    seed: int = 0
    cache: Cache = "cold"


@dataclass(frozen=True)
class Task:
    """One method on one problem.

    Attributes:
        offered: variants that were asked for and meet the user's conditions.
        cases: those of them that the device can launch, in order; their positions are all tasks' together.
    """

    method: Method
    problem: Problem
    offered: int
    cases: tuple[Case, ...]


@dataclass(frozen=True)
class Trial:
    """What is known of one variant that was tried.

    Attributes:
        stage: the last in which it was.
    """

    stage: Stage
    result: Result

    @property
    def is_right(self) -> bool:
        """Whether it was verified, and timed, as far as it was worth it."""
        result = self.result
        timed = result.status in ("ok", "dropped") and result.median_ms is not None
        return timed and result.verdict.correct is True

    def record(self, winners: Sequence[int]) -> dict[str, Any]:
        """The row of a `cudamm.tune/1` file.

        Args:
            winners: positions of those that won.
        """
        row = self.result.bench_record()
        left_out = ("samples_ms", "mean_ms", "min_ms", "outliers", "throttle_reasons", "bit_equal")
        row = {name: value for name, value in row.items() if name not in left_out}
        row["samples"] = len(self.result.timing.samples_ms)
        return row | {"stage": self.stage, "winner": self.result.position in winners}


@dataclass(frozen=True)
class Outcome:
    """What came of one task.

    Attributes:
        winner: None if no variant was right, or on the CPU device, whose times are not those of a GPU.
        runner_up: the next best; None where there is none.
        ratio: of the runner-up's median to the winner's, with its interval; None where too few samples were
            taken in turn.
        choice: why this one, in words.
        ended: what ended the search.
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
        """Whether the winner is faster than the runner-up beyond what their samples leave open."""
        return self.ratio is not None and self.ratio.low > 1

    def record(self) -> dict[str, Any]:
        """What the head of a `cudamm.tune/1` file says of it."""
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


def tasks_of(executor: Executor, cases: Sequence[tuple[Variant, Problem]]) -> list[Task]:
    """The methods and problems among cases, each with the variants that the device can launch.

    Raises:
        UsageError: there are too many, or of one method none can be launched.
    """
    groups: dict[tuple[Method, Problem], list[Variant]] = {}
    for variant, problem in cases:
        groups.setdefault((variant.method, problem), []).append(variant)
    tasks: list[Task] = []
    first = 0
    for (method, problem), variants in groups.items():
        if len(variants) > MOST_VARIANTS:
            raise UsageError(
                f"{method.name} has {len(variants):,} variants, more than {MOST_VARIANTS:,}: "
                "name fewer values with -D, or leave some out with --where"
            )
        positions = range(first, first + len(variants))
        first += len(variants)
        pairs = [(variant, problem) for variant in variants]
        planned = plan_all(executor, pairs, True, positions, each_may_fail=True)
        possible = tuple(case for case in planned if case.launch is not None)
        if not possible:
            reason = next((str(case.compiled) for case in planned if not case.skipped), planned[0].skipped)
            raise UsageError(f"none of the {len(variants)} variants of {method.name} is possible: {reason}")
        tasks.append(Task(method, problem, len(variants), possible))
    return tasks


class Tuner:
    """Tunes one task after the other.

    Attributes:
        outcomes: of the tasks that are concluded.
    """

    def __init__(
        self,
        executor: Executor,
        tasks: Sequence[Task],
        request: Request,
        concluded: Callable[[Outcome], object] = lambda outcome: None,
    ) -> None:
        """`concluded` is told each outcome as soon as it is there."""
        self._executor, self._tasks, self._request = executor, tasks, request
        self._concluded = concluded
        self._search: _Search | None = None
        self.outcomes: list[Outcome] = []

    def run(self, progress: Progress) -> Iterator[Trial]:
        """Search; a trial each time that more is known of a variant.

        Raises:
            UsageError: a user's kernel that compiles in no variant.
        """
        for task in self._tasks:
            self._search = _Search(self._executor, task, self._request, progress)
            yield from self._search.run()
            self.conclude()
            self._executor.release()

    def conclude(self) -> None:
        """Take what is known of the task at hand for its outcome, though its search was cut short perhaps."""
        if self._search is not None:
            search, self._search = self._search, None
            self.outcomes.append(search.outcome())
            self._concluded(self.outcomes[-1])


class _OutOfTimeError(Exception):
    """The budget is over. It ends a search, and is no failure."""


class _Search:
    """The search of one task."""

    def __init__(self, executor: Executor, task: Task, request: Request, progress: Progress) -> None:
        self._executor = executor
        self._task, self._request, self._progress = task, request, progress
        self._keep_matrices = _fit_beside_others(executor, task.problem)
        self._is_timed = executor.target.info.kind == "gpu"
        self._cases = {case.position: case for case in task.cases}
        self._begun = time.monotonic()
        self._ends = self._begun + (SEARCH_SHARE if self._is_timed else 1) * request.budget_s
        self._stage: Stage = "start"
        self._trials: dict[int, Trial] = {}
        self._compiled: dict[int, Any] = {}
        self._in_turn: dict[int, list[float]] = {}
        self._confirmed: dict[int, list[float]] = {}
        self._challenges = 0
        self._ended: Ended = "cut short"

    def run(self) -> Iterator[Trial]:
        """Yield each trial of the search. On the CPU device, verify the variants of the start only."""
        ended: Ended = "complete"
        try:
            yield from self._try(self._start(), START_RUNS)
            self._check_it_compiles()
            if self._is_timed:
                yield from self._halve()
                if len(self._cases) > ALL_TRIED:
                    yield from self._climb()
        except _OutOfTimeError:
            ended = "budget"
        self._check_it_compiles()
        self._ends = self._begun + self._request.budget_s
        try:
            if self._is_timed:
                yield from self._confirm()
        except _OutOfTimeError:
            ended = ended if self._has_enough_samples() else "budget"
        self._ended = ended

    def outcome(self) -> Outcome:
        """As far as it is known."""
        ranked = self._finalists()
        winner, runner_up, ratio, choice = None, None, None, "no variant was right"
        if ranked and not self._is_timed:
            choice = NOT_TIMED
        elif len(ranked) == 1:
            winner, choice = ranked[0], "the only one that was right"
        elif ranked:
            winner, runner_up, ratio, choice = self._chosen(*ranked[:2])
        for result in filter(None, (winner, runner_up)):
            position = result.position
            self._trials[position] = Trial(self._trials[position].stage, result)
        trials = [self._trials[position] for position in sorted(self._trials)]
        spent_s = time.monotonic() - self._begun
        return Outcome(
            self._task, tuple(trials), winner, runner_up, ratio, choice, self._ended, spent_s
        )  # fmt: skip

    # What is tried.

    def _start(self) -> list[Case]:
        """All, or some drawn at random; the defaults first, which their author found good."""
        cases = list(self._task.cases)
        defaults = {parameter.name: parameter.default for parameter in self._task.method.parameters}
        if len(cases) > ALL_TRIED:
            drawn = np.random.default_rng(self._request.seed).permutation(len(cases))
            by_default = [i for i, case in enumerate(cases) if case.variant.params == defaults]
            chosen = dict.fromkeys([*by_default, *drawn.tolist()])
            return [cases[i] for i in list(chosen)[:START]]
        return sorted(cases, key=lambda case: case.variant.params != defaults)

    def _halve(self) -> Iterator[Trial]:
        """The faster half again, with twice the samples, until two are left."""
        self._stage = "halving"
        runs, left = START_RUNS, self._fastest()
        while len(left) > 2:
            left, runs = left[: (len(left) + 1) // 2], min(2 * runs, MOST_RUNS)
            yield from self._measured([self._cases[r.position] for r in left], runs)
            again = {result.position for result in left}
            left = [result for result in self._fastest() if result.position in again]

    def _climb(self) -> Iterator[Trial]:
        """From the best to the best of its neighbours, for as long as that is a step forward."""
        self._stage = "neighbours"
        neighbours = _Neighbours(self._task.cases)
        while fastest := self._fastest():
            best = fastest[0].position
            around = [case for case in neighbours.of(best) if case.position not in self._trials]
            yield from self._try(around, NEIGHBOUR_RUNS, self._cases[best])
            if self._fastest()[:1] and self._fastest()[0].position == best:
                return

    def _confirm(self) -> Iterator[Trial]:
        """The two fastest in turn.

        What fails is out. Where a third one's few samples say that it is faster than the winner's many, it
        takes turns with the winner, and so on.
        """
        self._stage = "confirmation"
        for _ in range(MOST_CHALLENGES + len(self._cases)):
            pair = self._ranked()[:2]
            positions = {result.position for result in pair}
            if len(pair) < 2 or positions == set(self._confirmed) or self._challenges >= MOST_CHALLENGES:
                return
            self._in_turn = {position: [] for position in positions}
            yield from self._take_turns(pair)
            if all(self._trials[position].is_right for position in positions):
                self._confirmed = {p: list(samples) for p, samples in self._in_turn.items()}
                self._challenges += 1

    def _take_turns(self, pair: Sequence[Result]) -> Iterator[Trial]:
        """Samples of two, in turn, until there are enough or one of them fails."""
        longest_ms = max(result.median_ms or 0.0 for result in pair)
        fitting = int(1e3 * CONFIRM_S / CONFIRM_ROUNDS / max(longest_ms, 1e-3))
        runs = max(FEWEST_CONFIRM_RUNS, min(fitting, MOST_CONFIRM_RUNS))
        for turn in range(CONFIRM_ROUNDS):
            cases = [self._cases[result.position] for result in (pair if turn % 2 else pair[::-1])]
            # Between one turn and the next nothing cools down.
            yield from self._measured(cases, runs, drop=False, warmup=1 if turn else None)
            if not all(self._trials[result.position].is_right for result in pair):
                return

    # How it is tried.

    def _try(self, cases: Sequence[Case], runs: int, best: Case | None = None) -> Iterator[Trial]:
        """Compile cases, and measure those that fit the device, against the best so far."""
        for batch in self._ready(cases):
            if isinstance(batch, Trial):
                yield batch
            else:
                yield from self._measured([*batch, *([best] if best else [])], runs)

    def _ready(self, cases: Sequence[Case]) -> Iterator[Trial | list[Case]]:
        """Failed trials, and cases that are compiled, some at a time.

        On a GPU others compile while they are measured; on the host, whose times that would disturb, not.
        """
        if not cases:
            return
        on_host = cases[0].on_host
        size = 2 * (os.cpu_count() or 1) if on_host else len(cases)
        for first in range(0, len(cases), size):
            ready: list[Case] = []
            waiting: dict[Any, list[Case]] = {}
            for case in cases[first : first + size]:
                waiting.setdefault(case.program, []).append(case)
            compiling = compile_each(list(waiting), cases[0].target.compile)
            with contextlib.closing(compiling):  # type: ignore[type-var] # it is a generator
                for program, made in compiling:
                    for case in waiting[program]:
                        self._compiled[case.position] = made
                        reason = str(made) if isinstance(made, KernelError) else ""
                        if reason:
                            timing = Timing([], self._request.cache)
                            yield self._kept(result_of_case(case, "failed", reason, timing))
                        else:
                            ready.append(case)
                    self._tell(f"compiling {program.method.name}")
                    if ready and self._is_over():  # at least one is measured
                        yield ready[:1]
                        raise _OutOfTimeError
                    if len(ready) >= MEASURED_AT_ONCE and not on_host:
                        yield ready
                        ready = []
            if ready:
                yield ready

    def _measured(
        self, cases: Sequence[Case], runs: int, *, drop: bool = True, warmup: int | None = None
    ) -> Iterator[Trial]:
        """Measure compiled cases. On the CPU device, take one sample of each, and drop none."""
        if not self._is_timed:
            runs, warmup, drop = 1, 0, False
        settings = Settings(
            runs=runs, warmup=warmup, cache=self._request.cache, drop=drop, each_may_fail=True,
            keep_matrices=self._keep_matrices,
        )  # fmt: skip
        again = {case.position for case in cases}
        kept = [result for result in self._fastest()[:1] if result.position not in again]
        pairs = [(case.variant, case.problem) for case in cases]
        positions = [case.position for case in cases]

        def tell(doing: str, done: int, total: int) -> None:
            # What is compiled already comes from the cache, which is not worth a line.
            self._tell(doing, is_shown=not doing.startswith("compiling"))

        results = measure.bench(self._executor, pairs, settings, tell, positions, kept if drop else ())
        with contextlib.closing(results):  # type: ignore[type-var] # it is a generator
            for result in results:
                yield self._kept(result)

    def _kept(self, result: Result) -> Trial:
        """Note what came of a case; samples taken in turn are all counted."""
        position = result.position
        if self._stage == "confirmation" and position in self._in_turn and result.timing.samples_ms:
            self._in_turn[position] += result.timing.samples_ms
            timing = dataclasses.replace(result.timing, samples_ms=list(self._in_turn[position]))
            result = dataclasses.replace(result, timing=timing)
        self._trials[position] = Trial(self._stage, result)
        return self._trials[position]

    def _tell(self, doing: str, *, is_shown: bool = True) -> None:
        """Say what is done. Raises _OutOfTimeError where there is no time left, and something to show."""
        if is_shown:
            self._progress(f"{self._stage}: {doing}", len(self._trials), len(self._cases))
        if self._is_over() and self._fastest():
            raise _OutOfTimeError

    def _is_over(self) -> bool:
        return time.monotonic() >= self._ends

    def _check_it_compiles(self) -> None:
        """Raise UsageError where a user's kernel compiled in no variant."""
        check_user_kernels(
            [(self._cases[position].program, made) for position, made in self._compiled.items()]
        )

    # What is best.

    def _fastest(self) -> list[Result]:
        """What was right and not dropped, the fastest first."""
        return [result for result in self._ranked() if result.status == "ok"]

    def _ranked(self) -> list[Result]:
        """What was right, the fastest first."""
        right = [trial.result for trial in self._trials.values() if trial.is_right]
        return sorted(right, key=lambda r: (r.median_ms, r.position))

    def _finalists(self) -> list[Result]:
        """The two that took turns, as far as they did; else all that is right."""
        ranked = self._ranked()
        right = {result.position for result in ranked}
        if not self._confirmed and self._has_enough_samples():
            self._confirmed = self._in_turn
        if self._confirmed and set(self._confirmed) <= right:
            pair = [result for result in ranked if result.position in self._confirmed]
            return sorted(map(self._as_confirmed, pair), key=lambda r: (r.median_ms, r.position))
        self._confirmed = {}
        return sorted(ranked, key=lambda r: r.status == "dropped")

    def _has_enough_samples(self) -> bool:
        """Whether a pair has taken turns for as long as an interval needs, the last one or one before."""
        samples = self._confirmed or self._in_turn
        return min(map(len, samples.values()), default=0) >= FEWEST_FOR_INTERVAL

    def _as_confirmed(self, result: Result) -> Result:
        """A result with the samples that were taken in turn, and no others taken since."""
        timing = dataclasses.replace(result.timing, samples_ms=self._confirmed[result.position])
        return dataclasses.replace(result, timing=timing)

    def _chosen(self, first: Result, second: Result) -> tuple[Result, Result, Ratio | None, str]:
        """The winner of the two fastest, the other, their ratio, and why."""
        samples = [self._confirmed.get(result.position, []) for result in (first, second)]
        if min(map(len, samples)) < FEWEST_FOR_INTERVAL:
            return first, second, None, "the fastest so far; it was not confirmed against the next best"
        ratio = ratio_of_medians(samples[1], samples[0])
        if ratio.low > 1:
            return first, second, ratio, "faster than the next best"
        chosen, other, why = self._simpler(first, second)
        if chosen is not first:
            ratio = ratio_of_medians(samples[0], samples[1])
        return chosen, other, ratio, f"the two fastest cannot be told apart; {why}"

    def _simpler(self, first: Result, second: Result) -> tuple[Result, Result, str]:
        """Of two, the one that takes no more of anything and less of something; else the earlier one."""
        takes = [self._takes(result.position) for result in (first, second)]
        if takes[0] and takes[1] and takes[0] != takes[1]:
            if all(a <= b for a, b in zip(*takes, strict=True)):
                return first, second, "this one takes fewer resources"
            if all(a >= b for a, b in zip(*takes, strict=True)):
                return second, first, "this one takes fewer resources"
        if second.position < first.position:
            first, second = second, first
        return first, second, "this one comes first"

    def _takes(self, position: int) -> tuple[int, ...]:
        """Registers a thread and bytes of shared memory a block; empty where they are not known."""
        case = self._cases[position]
        used = case.target.resources(case.program)
        if used is None or case.launch is None:
            return ()
        return used.registers_per_thread, used.static_shared_bytes + case.launch.shared_bytes


class _Neighbours:
    """Which variants lie beside which."""

    def __init__(self, cases: Sequence[Case]) -> None:
        names = list(cases[0].variant.params)
        self._axes = [_in_order([case.variant.params[name] for case in cases]) for name in names]
        self._at = {self._place(case): case for case in cases}
        self._places = {case.position: place for place, case in self._at.items()}

    def _place(self, case: Case) -> tuple[int, ...]:
        values = case.variant.params.values()
        return tuple(axis[value] for axis, value in zip(self._axes, values, strict=True))

    def of(self, position: int) -> list[Case]:
        """Those with one parameter a step up or down; where there is none there, with a second one too.

        A header's conditions tie parameters together: often none can change alone.
        """
        place = self._places[position]
        found: dict[tuple[int, ...], None] = {}
        for axis in range(len(place)):
            for stepped in _steps(place, axis):
                if stepped in self._at:
                    found[stepped] = None
                    continue
                for other in range(len(place)):
                    if other != axis:
                        found |= dict.fromkeys(s for s in _steps(stepped, other) if s in self._at)
        return [self._at[stepped] for stepped in found]


def _in_order(values: Sequence[Value]) -> dict[Value, int]:
    """The place of each value on its axis: numbers by size, others as they were given."""
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, int) for value in distinct):
        distinct.sort()
    return {value: i for i, value in enumerate(distinct)}


def _steps(place: tuple[int, ...], axis: int) -> Iterator[tuple[int, ...]]:
    for step in (1, -1):
        yield (*place[:axis], place[axis] + step, *place[axis + 1 :])


def _fit_beside_others(executor: Executor, problem: Problem) -> bool:
    """Return whether a problem's matrices may stay allocated between one step of a search and the next.

    If a large problem's stayed, `plan_all` would find too little free memory for them in the next step.
    """
    needed = BYTES_AN_ELEMENT * problem.shape.elements
    return needed < ROOM_SHARE * min(executor.free_bytes(), host().free_bytes())
