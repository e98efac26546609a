"""Tuning: the variants that are tried, the winner, and the end of the search."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scripted_device import ScriptedDevice, ScriptedRun, silent

from cudamm.compile.resources import Resources
from cudamm.devices.device import Device
from cudamm.errors import KernelError, UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants
from cudamm.source.expression import parse
from cudamm.tuning import search
from cudamm.tuning.search import Outcome, Request, Stage, Task, Trial, Tuner, tasks_of

PROBLEM = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])
Params = dict[str, int]

KERNEL = """\
// A kernel that is never compiled.
//
// param:    X = {x} in {xs}
// param:    Y = {y} in {ys}
// threads:  {threads}
// grid:     1
{more}
__global__ void plane(int M, int N, int K, const float *A, const float *B, float *C) {{ C[X] = A[Y]; }}
"""


class Landscape(ScriptedDevice):
    """A device on which a variant's duration is a function of its parameters."""

    def __init__(
        self,
        duration_ms: Callable[[Params], float],
        *,
        is_wrong: Callable[[Params], bool] = lambda params: False,
        fails: Callable[[Params], bool] = lambda params: False,
        compile_s: float = 0.0,
        compiled: Callable[[Params], Any] = lambda params: "compiled",
        resources: Callable[[Params], Resources | None] = lambda params: None,
    ) -> None:
        super().__init__()
        self.duration_ms, self.is_wrong, self.fails = duration_ms, is_wrong, fails
        self.compile_s, self.compiled, self.resources_of = compile_s, compiled, resources
        self.launched: list[Params] = []
        self.interrupted_at = 0

    def compile(self, program: Any) -> Any:
        self.sleep(self.compile_s)
        return self.compiled(params_in(program.text))

    def resources(self, program: Any) -> Resources | None:
        return self.resources_of(params_in(program.text))

    def open(self, program: Any, compiled: Any, launch: Launch, a: np.ndarray, b: np.ndarray) -> Any:
        self.opened += 1
        return LandscapeRun(self, params_in(program.text), launch, program.element, a, b)


class LandscapeRun(ScriptedRun):
    def __init__(
        self, device: Landscape, params: Params, launch: Launch, element: Any, a: Any, b: Any
    ) -> None:
        super().__init__(device, launch, element, a, b)
        self.landscape, self.params = device, params

    def launch(self, descending: bool = False) -> float:
        landscape = self.landscape
        landscape.launched.append(self.params)
        if len(landscape.launched) == landscape.interrupted_at:
            raise KeyboardInterrupt
        if landscape.fails(self.params):
            raise KernelError("it broke")
        milliseconds = landscape.duration_ms(self.params)
        landscape.now_s += milliseconds / 1e3
        wrong = landscape.is_wrong(self.params)
        self.product()[:] = self.matrices["A"] @ self.matrices["B"] + (1 if wrong else 0)
        return milliseconds


def params_in(text: str) -> Params:
    return {name: int(value) for name, value in re.findall(r"#define (\w+) (\d+)", text)}


@pytest.fixture
def tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Return a function that tunes a kernel with two parameters on a scripted device with its own clock."""

    def tune_it(
        device: Landscape,
        xs: range | list[int],
        ys: range | list[int],
        *,
        where: str = "1",
        requires: str = "",
        threads: str = "X, Y",
        **request: Any,
    ) -> Outcome:
        tuner = Tuner(
            InProcessExecutor(with_scripted_clock(device, monkeypatch)),
            [plane(tmp_path, device, xs, ys, where, requires, threads)],
            Request(**request),
        )
        try:
            for trial in tuner.run(silent):
                assert isinstance(trial, Trial)
        except KeyboardInterrupt:
            tuner.conclude()
        (outcome,) = tuner.outcomes
        return outcome

    return tune_it


def with_scripted_clock(device: Landscape, monkeypatch: pytest.MonkeyPatch) -> Landscape:
    device.with_own_clock(monkeypatch)
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: device.now_s))

    def in_order(programs: Any, compile_one: Any, _: int) -> Iterator[tuple[Any, Any]]:
        for program in programs:
            try:
                yield program, compile_one(program)
            except KernelError as error:
                yield program, error

    monkeypatch.setattr(search, "compile_each", lambda *given: contextlib.nullcontext(in_order(*given)))
    monkeypatch.setattr(
        "cudamm.execution.prepare.compile_each",
        lambda programs, compiled, *_: contextlib.nullcontext((p, ("", "compiled")) for p in programs),
    )
    return device


def plane(
    folder: Path,
    device: Device[Any],
    xs: Any,
    ys: Any,
    where: str = "1",
    requires: str = "",
    threads: str = "X, Y",
) -> Task:
    xs, ys = list(xs), list(ys)
    path = folder / "plane.cu"
    listed = [", ".join(map(str, values)) for values in (xs, ys)]
    more = f"// requires: {requires}\n" if requires else ""
    path.write_text(KERNEL.format(x=xs[0], xs=listed[0], y=ys[0], ys=listed[1], threads=threads, more=more))
    every = variants(read_method(path), {"X": xs, "Y": ys})
    condition = parse(where)
    candidates = [variant for variant in every if condition.holds(variant.names(PROBLEM.element, 4, 5, 6))]
    (task,) = tasks_of(InProcessExecutor(device), [(variant, PROBLEM) for variant in candidates])
    return task


def bowl(x: int, y: int) -> Callable[[Params], float]:
    """Return a duration that is shortest at one place and grows with the distance from it."""
    return lambda params: 1.0 + 0.1 * (abs(params["X"] - x) + abs(params["Y"] - y))


def params_of(outcome: Outcome) -> list[dict[str, Any]]:
    return [trial.result.params for trial in outcome.trials]


def in_stage(outcome: Outcome, stage: Stage) -> list[Trial]:
    return [trial for trial in outcome.trials if trial.stage == stage]


def resources(registers: int, shared_bytes: int = 0) -> Resources:
    return Resources(registers, shared_bytes, 0, 0, 0, 0, 1, None)


# Variants that are tried, and the winner.


def test_every_variant_of_a_small_space_is_tried_and_the_fastest_wins(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(3, 2)), range(1, 7), range(1, 5))
    assert sorted((p["X"], p["Y"]) for p in params_of(outcome)) == [
        (x, y) for x in range(1, 7) for y in range(1, 5)
    ]
    assert outcome.winner is not None and outcome.runner_up is not None and outcome.ratio is not None
    assert outcome.winner.params == {"X": 3, "Y": 2}
    assert abs(outcome.runner_up.params["X"] - 3) + abs(outcome.runner_up.params["Y"] - 2) == 1
    assert outcome.ratio.value == pytest.approx(1.1)
    assert outcome.is_confirmed and outcome.ended == "complete"
    assert in_stage(outcome, "neighbours") == []


def test_the_fastest_variant_of_a_large_space_is_found_with_few_trials(tuned: Callable[..., Outcome]) -> None:
    """The fastest variant is not among those drawn at first; the search of neighbours finds it."""
    device = Landscape(bowl(11, 23))
    outcome = tuned(device, range(1, 31), range(1, 31), seed=1)
    assert outcome.task.offered == 900
    assert outcome.winner is not None
    assert outcome.winner.params == {"X": 11, "Y": 23}
    assert len(outcome.trials) < 200
    first = device.launched[: search.START]
    assert {"X": 11, "Y": 23} not in first
    assert {"X": 1, "Y": 1} in first  # the default values
    assert in_stage(outcome, "neighbours")
    assert outcome.ended == "complete"


@pytest.mark.slow
def test_the_seed_determines_the_variants_that_are_tried(tuned: Callable[..., Outcome]) -> None:
    tried = [
        params_of(tuned(Landscape(bowl(5, 5)), range(1, 13), range(1, 13), seed=seed)) for seed in (7, 7, 8)
    ]
    assert tried[0] == tried[1] != tried[2]


@pytest.mark.slow
def test_two_parameters_change_together_if_neither_can_change_alone(tuned: Callable[..., Outcome]) -> None:
    """On the diagonal X + Y = 101 no variant has a neighbour with one parameter changed."""
    device = Landscape(lambda params: 1.0 + 0.1 * abs(params["X"] - 77))
    outcome = tuned(device, range(1, 101), range(1, 101), where="X + Y == 101", threads="X", seed=3)
    assert len(outcome.task.cases) == 100
    assert outcome.winner is not None and outcome.winner.params == {"X": 77, "Y": 24}
    assert len(outcome.trials) < 100


def test_a_slow_variant_is_launched_at_most_twice(tuned: Callable[..., Outcome]) -> None:
    device = Landscape(lambda params: 1.0 if params["X"] == 1 else 50.0)
    outcome = tuned(device, range(1, 9), [1])
    # X = 2 takes turns with the best as the second best, and the other six are dropped.
    assert [trial.result.status for trial in outcome.trials[2:]] == ["dropped"] * 6
    assert all(device.launched.count({"X": x, "Y": 1}) <= 2 for x in range(3, 9))
    assert outcome.winner is not None and outcome.winner.params == {"X": 1, "Y": 1}


def test_the_two_fastest_take_turns(tuned: Callable[..., Outcome]) -> None:
    device = Landscape(lambda params: {1: 1.0, 2: 1.02}.get(params["X"], 30.0))
    outcome = tuned(device, range(1, 5), [1])
    assert outcome.winner is not None and outcome.runner_up is not None
    launched = [params["X"] for params in device.launched]
    alone = launched[len(launched) - next(i for i, x in enumerate(reversed(launched)) if x > 2) :]
    assert sum(a != b for a, b in itertools.pairwise(alone)) >= 2 * search.CONFIRM_ROUNDS - 1
    for result in (outcome.winner, outcome.runner_up):
        assert len(result.timing.samples_ms) == search.CONFIRM_ROUNDS * search.MOST_CONFIRM_RUNS
    assert [t.result.params["X"] for t in in_stage(outcome, "confirmation")] == [1, 2]


def test_a_few_lucky_samples_do_not_win(tuned: Callable[..., Outcome]) -> None:
    """X = 3 is fast only in its first launches, so it loses when it takes turns with the second best."""
    launches = {3: 0}

    def duration_ms(params: Params) -> float:
        if params["X"] != 3:
            return 1.0 + 0.02 * params["X"]
        launches[3] += 1
        return 0.9 if launches[3] < 20 else 1.5

    outcome = tuned(Landscape(duration_ms), range(1, 5), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] == 1
    assert outcome.is_confirmed


# Variants that never win.


def test_a_wrong_variant_never_wins_however_fast(tuned: Callable[..., Outcome]) -> None:
    device = Landscape(bowl(3, 1), is_wrong=lambda params: params["X"] == 3)
    outcome = tuned(device, range(1, 7), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] in (2, 4)
    (wrong,) = [trial for trial in outcome.trials if trial.result.params["X"] == 3]
    assert wrong.result.status == "failed" and not wrong.is_right


def test_there_is_no_winner_if_every_variant_is_wrong(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(3, 1), is_wrong=lambda params: True), range(1, 5), [1])
    assert (outcome.winner, outcome.runner_up, outcome.ratio) == (None, None, None)
    assert outcome.choice == "no variant was right"


def test_a_failing_variant_does_not_end_the_search(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(3, 1), fails=lambda params: params["X"] == 3), range(1, 7), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] in (2, 4)
    failed = [trial for trial in outcome.trials if trial.result.status == "failed"]
    assert [(t.result.params["X"], t.result.reason) for t in failed] == [(3, "it broke")]
    assert len(outcome.trials) == 6


def test_a_variant_that_fails_in_the_confirmation_is_replaced_by_the_next(
    tuned: Callable[..., Outcome],
) -> None:
    """X = 1 fails after so many launches that it has reached the confirmation."""
    device = Landscape(lambda params: 1.0 + 0.02 * params["X"])
    device.fails = lambda params: params["X"] == 1 and device.launched.count(params) > 40
    outcome = tuned(device, range(1, 5), [1])
    assert outcome.winner is not None and outcome.runner_up is not None
    assert [outcome.winner.params["X"], outcome.runner_up.params["X"]] == [2, 3]
    assert outcome.is_confirmed
    assert outcome.trials[0].result.status == "failed"


def test_a_variant_that_does_not_compile_does_not_end_the_search(tuned: Callable[..., Outcome]) -> None:
    def compiled(params: Params) -> str:
        if params["X"] < 4:
            raise KernelError("does not compile: no")
        return "compiled"

    device = Landscape(bowl(1, 1), compiled=compiled)
    outcome = tuned(device, range(1, 7), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] == 4
    assert [t.result.status for t in outcome.trials[:3]] == ["failed"] * 3
    assert all(params["X"] >= 4 for params in device.launched)


def test_a_kernel_that_compiles_in_no_variant_is_an_error(tuned: Callable[..., Outcome]) -> None:
    def compiled(params: Params) -> str:
        raise KernelError("does not compile: no")

    with pytest.raises(UsageError, match=r"plane\.cu does not compile"):
        tuned(Landscape(bowl(1, 1), compiled=compiled), range(1, 4), [1])


# Variants that cannot be launched.


def test_variants_that_the_header_or_the_device_rules_out_are_not_launched(
    tuned: Callable[..., Outcome],
) -> None:
    device = Landscape(bowl(64, 32))
    outcome = tuned(device, [16, 32, 64], [16, 32], requires="X >= Y")
    # 64 x 32 threads are more than the device allows, and 16 x 32 do not meet the header's requirement.
    possible = {(16, 16), (32, 16), (32, 32), (64, 16)}
    assert {(p["X"], p["Y"]) for p in device.launched} == possible
    assert (outcome.task.offered, len(outcome.task.cases)) == (6, 4)


def test_a_method_without_a_variant_that_can_be_launched_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none of the 2 variants of plane can be launched.*2048 threads"):
        plane(tmp_path, Landscape(bowl(1, 1)), [64, 128], [32])


def test_too_many_variants_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudamm.execution.prepare.MOST_CASES", 10)
    with pytest.raises(UsageError, match="12 cases are more than 10"):
        plane(tmp_path, Landscape(bowl(1, 1)), range(1, 5), range(1, 4))


# Variants that are equally fast.


def jittering() -> Callable[[Params], float]:
    """Return durations that are equal for X < 3, apart from random noise."""
    random = np.random.default_rng(5)
    return lambda params: (1.0 if params["X"] < 3 else 20.0) * random.uniform(0.97, 1.03)


def test_two_variants_within_the_noise_are_reported_as_equally_fast(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(jittering()), range(1, 6), [1])
    assert outcome.winner is not None and outcome.runner_up is not None and outcome.ratio is not None
    assert outcome.winner.params["X"] == 1 and outcome.runner_up.params["X"] == 2
    assert outcome.ratio.low <= 1 <= outcome.ratio.high
    assert not outcome.is_confirmed
    assert outcome.choice == "the two fastest variants do not differ measurably; this one comes first"


def test_of_two_equally_fast_variants_the_one_with_fewer_resources_wins(
    tuned: Callable[..., Outcome],
) -> None:
    device = Landscape(jittering(), resources=lambda params: resources(64 if params["X"] == 1 else 40))
    outcome = tuned(device, range(1, 6), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] == 2
    assert outcome.choice.endswith("this one takes fewer resources")
    # Fewer registers with more shared memory are not fewer resources.
    device = Landscape(
        jittering(), resources=lambda params: resources(64, 0) if params["X"] == 1 else resources(40, 4096)
    )
    outcome = tuned(device, range(1, 6), [1])
    assert outcome.winner is not None and outcome.winner.params["X"] == 1
    assert outcome.choice.endswith("this one comes first")


def test_the_only_variant_wins_without_a_runner_up(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(1, 1)), [2], [2])
    assert outcome.winner is not None and outcome.runner_up is None and outcome.ratio is None
    assert outcome.choice == "the only variant whose result was right"


# The end of the search.


def test_compiling_counts_against_the_budget(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(9, 9), compile_s=1.0), range(1, 21), range(1, 21), budget_s=20.0)
    assert outcome.ended == "budget"
    assert 8 <= len(outcome.trials) < 20
    assert outcome.winner is not None
    assert outcome.spent_s < 25


def test_a_budget_that_ends_before_the_confirmation_is_reported(
    tuned: Callable[..., Outcome],
) -> None:
    outcome = tuned(Landscape(lambda params: 100.0 + params["X"]), range(1, 3), [1], budget_s=1.6)
    assert outcome.winner is not None and outcome.winner.params["X"] == 1
    assert (outcome.ended, outcome.ratio, len(outcome.trials)) == ("budget", None, 2)
    outcome = tuned(Landscape(lambda params: 100.0 + params["X"]), range(1, 3), [1], budget_s=60.0)
    assert outcome.ended == "complete" and outcome.is_confirmed


def test_at_least_one_variant_is_measured_however_small_the_budget(tuned: Callable[..., Outcome]) -> None:
    outcome = tuned(Landscape(bowl(9, 9), compile_s=5.0), range(1, 21), range(1, 21), budget_s=0.001)
    assert outcome.winner is not None and outcome.winner.params == {"X": 1, "Y": 1}
    assert (outcome.ended, len(outcome.trials), outcome.ratio) == ("budget", 1, None)


def test_ctrl_c_keeps_the_best_right_variant_so_far(tuned: Callable[..., Outcome]) -> None:
    device = Landscape(bowl(3, 1), is_wrong=lambda params: params["X"] == 3)
    device.interrupted_at = 200
    outcome = tuned(device, range(1, 7), range(1, 11))
    assert outcome.ended == "cut short"
    assert outcome.winner is not None and outcome.winner.verdict.correct is True
    assert outcome.winner.params["X"] != 3
    device = Landscape(bowl(3, 1))
    device.interrupted_at = 2
    outcome = tuned(device, range(1, 7), range(1, 11))
    assert (outcome.winner, outcome.ended) == (None, "cut short")


def test_each_method_and_problem_is_tuned_separately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = with_scripted_clock(Landscape(bowl(2, 1)), monkeypatch)
    path = tmp_path / "plane.cu"
    path.write_text(KERNEL.format(x=1, xs="1, 2, 3", y=1, ys="1", threads="X", more=""))
    every = variants(read_method(path), {"X": (1, 2, 3)})
    other = Problem(Shape(2, 2, 2), PROBLEM.element)
    tasks = tasks_of(
        InProcessExecutor(device), [(variant, problem) for problem in (PROBLEM, other) for variant in every]
    )
    assert [case.position for task in tasks for case in task.cases] == [0, 1, 2, 3, 4, 5]
    reported: list[Outcome] = []
    tuner = Tuner(InProcessExecutor(device), tasks, Request(), reported.append)
    trials = list(tuner.run(silent))
    assert reported == tuner.outcomes and len(reported) == 2
    assert [o.winner and o.winner.params["X"] for o in reported] == [2, 2]
    assert [o.winner and o.winner.m for o in reported] == [4, 2]
    assert {trial.result.position for trial in trials} == set(range(6))


# The CPU device.


def test_tuning_on_the_cpu_device_verifies_every_variant_and_has_no_winner(cpu: Device[Any]) -> None:
    """The kernels are compiled and verified, and none wins because emulated kernels are not timed."""
    every = variants(find("naive"), {"BLOCK_SIZE": (16, 32)})
    problem = Problem(Shape(20, 30, 10), ELEMENT_TYPES["float32"])
    with InProcessExecutor(cpu) as executor:
        tuner = Tuner(executor, tasks_of(executor, [(variant, problem) for variant in every]), Request(20.0))
        list(tuner.run(silent))
    (outcome,) = tuner.outcomes
    assert (outcome.winner, outcome.choice) == (None, search.NOT_TIMED)
    assert len(outcome.trials) == outcome.right == 2
    rows = [trial.record([]) for trial in outcome.trials]
    assert all(row["correct"] and row["median_ms"] is None and not row["winner"] for row in rows)
