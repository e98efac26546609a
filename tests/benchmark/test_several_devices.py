"""Cases shared among several devices: each is measured once, and the finalists again on one device."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator, Sequence
from itertools import repeat

import pytest
from scripted_device import ScriptedDevice, silent

from cudamm.benchmark.finalists import finalists, key_of, to_measure_again
from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result, share_of_cublas, yardsticks_of
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Ceilings, DeviceInfo
from cudamm.errors import DeviceLostError, NoDeviceError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.executor import Facts, SampleBatch
from cudamm.execution.executor_group import ExecutorGroup, most_typical
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, variants
from cudamm.output.results_view import results_view

PROBLEM = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])
OTHER_PROBLEM = Problem(Shape(3, 5, 6), ELEMENT_TYPES["float32"])
BLOCKS = tuple(range(1, 13))
MILLISECONDS = {block: 1.0 + 0.1 * block for block in BLOCKS}
"""Duration of a launch by BLOCK_SIZE: the smaller, the faster."""


class Gpu(InProcessExecutor):
    """An executor on a scripted GPU, which can be lost.

    Attributes:
        requests: the BLOCK_SIZE of each request to verify or to sample, in order.
    """

    def __init__(
        self,
        number: int,
        factor: float = 1.0,
        lost_after: int | None = None,
        barrier: threading.Barrier | None = None,
        fma_gflops: float = 1e6,
    ) -> None:
        """Create a GPU.

        Args:
            factor: duration of each launch, relative to `MILLISECONDS`.
            lost_after: number of requests after which the device is lost.
            barrier: is waited for before the first request, so that no device does all the work.
        """
        scripts = {block: repeat(factor * ms) for block, ms in MILLISECONDS.items()}
        device = ScriptedDevice(scripts=scripts, ceilings=Ceilings(fma_gflops, 1e6))
        device.info = DeviceInfo("gpu", f"gpu:{number}", "a script")
        super().__init__(device)
        self.requests: list[int] = []
        self.is_closed = self.is_dismissed = False
        self._lost_after, self._barrier = lost_after, barrier
        self._in_use = threading.Lock()

    def _use(self, case: Case) -> None:
        if not self.requests and self._barrier is not None:
            self._barrier.wait(10)
        if len(self.requests) == self._lost_after:
            raise DeviceLostError(f"{self.spec} fell off the bus")
        self.requests.append(int(case.variant.params["BLOCK_SIZE"]))

    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        assert self._in_use.acquire(blocking=False), "two requests at a time"
        try:
            self._use(case)
            return super().verify(case, thorough=thorough)
        finally:
            self._in_use.release()

    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        assert self._in_use.acquire(blocking=False), "two requests at a time"
        try:
            self._use(case)
            return super().sample(
                case, samples=samples, launches_per_sample=launches_per_sample, cold=cold, check=check
            )
        finally:
            self._in_use.release()

    def dismiss(self) -> None:
        self.is_dismissed = True

    def close(self) -> None:
        self.is_closed = True
        super().close()


class NeverOpens(Gpu):
    """A GPU that another program has locked."""

    def is_open(self, wait_s: float = 0.0) -> bool:
        raise NoDeviceError(f"{self.spec} cannot be used")


class OpensLate(Gpu):
    """A GPU that takes longer to open than the others take for everything."""

    def is_open(self, wait_s: float = 0.0) -> bool:
        threading.Event().wait(wait_s)
        return False


def two_gpus(*factors: float) -> list[Gpu]:
    barrier = threading.Barrier(len(factors))
    return [Gpu(number, factor, barrier=barrier) for number, factor in enumerate(factors)]


def cases(blocks: Sequence[int] = BLOCKS, *problems: Problem) -> list[tuple[Variant, Problem]]:
    chosen = variants(find("coalesced"), {"BLOCK_SIZE": tuple(blocks)})
    return [(variant, problem) for problem in problems or (PROBLEM,) for variant in chosen]


def settings(**given: object) -> Settings:
    chosen = {"runs": 5, "warmup": 0, "shares_variants": True, "finalists": 3, "each_may_fail": True}
    return Settings(**(chosen | given))  # type: ignore[arg-type]


def last_of_each_position(results: Sequence[Result]) -> list[Result]:
    return [dict(zip((r.position for r in results), results, strict=True))[p] for p in range(len(BLOCKS))]


def test_variants_are_shared_and_the_finalists_are_measured_again_on_one_device() -> None:
    members = two_gpus(1.0, 1.05)
    results = list(bench(ExecutorGroup(members), cases(), settings(), silent))
    first, again = results[: len(BLOCKS)], results[len(BLOCKS) :]
    assert sorted(r.position for r in first) == list(range(len(BLOCKS)))
    assert {r.device for r in first} == {"gpu:0", "gpu:1"} and not any(r.is_final for r in first)
    assert sorted(r.params["BLOCK_SIZE"] for r in again) == [1, 2, 3]
    assert len({r.device for r in again}) == 1 and all(r.is_final and r.status == "ok" for r in again)
    by_spec = {member.spec: member for member in members}
    for result in first:
        assert result.params["BLOCK_SIZE"] in by_spec[result.device].requests
        assert result.median_ms == pytest.approx(
            MILLISECONDS[int(result.params["BLOCK_SIZE"])] * (1.05 if result.device == "gpu:1" else 1.0)
        )


def test_finalists_take_turns() -> None:
    members = two_gpus(1.0, 1.0)
    results = list(bench(ExecutorGroup(members), cases(), settings(runs=40), silent))
    (final,) = {r.device for r in results if r.is_final}
    requests = next(member for member in members if member.spec == final).requests
    last = requests[-9:]
    assert last[:3] == last[3:6] == last[6:] == [1, 2, 3]


def test_a_clearly_slower_finalist_is_dropped_as_on_one_device() -> None:
    """Variant 2 is 9% slower than 1. Devices may differ by 7%, so only the final measurement drops it."""
    members = ExecutorGroup(two_gpus(1.0, 1.0))  # the barrier gives each device one of the two variants
    results = list(bench(members, cases((1, 2)), settings(drop=True), silent))
    for is_final, statuses in ((False, {1: "ok", 2: "ok"}), (True, {1: "ok", 2: "dropped"})):
        assert {r.params["BLOCK_SIZE"]: r.status for r in results if r.is_final is is_final} == statuses


def test_one_device_measures_nothing_twice() -> None:
    results = list(bench(Gpu(0), cases(), settings(), silent))
    assert [r.position for r in results] == list(range(len(BLOCKS)))
    assert {(r.device, r.is_final) for r in results} == {("gpu:0", False)}


@pytest.mark.parametrize("devices", [1, 2])
def test_skipped_variants_are_reported_without_a_device_after_the_first_measured_one(devices: int) -> None:
    members = two_gpus(*[1.0] * devices)
    impossible = variants(find("async-copy"), {"BM": (64,), "WM": range(100, 120)})
    asked = [(variant, PROBLEM) for variant in impossible] + cases()
    results = list(bench(ExecutorGroup(members), asked, settings(), silent))
    assert [r.status for r in results[: 1 + len(impossible)]] == ["ok"] + ["skipped"] * len(impossible)
    skipped = [r for r in results if r.status == "skipped"]
    assert [(r.position, r.device) for r in skipped] == [(i, "") for i in range(len(impossible))]
    assert all("requires BM % WM == 0" in r.reason for r in skipped)
    assert {block for member in members for block in member.requests} == set(BLOCKS)


def test_problems_that_are_only_skipped_change_nothing_for_the_others() -> None:
    members = two_gpus(1.0, 1.0)
    impossible = variants(find("async-copy"), {"WM": range(100, 140)})
    asked = [(variant, OTHER_PROBLEM) for variant in impossible]
    progress: list[tuple[int, int]] = []
    results = list(
        bench(
            ExecutorGroup(members), asked + cases() + asked, settings(),
            lambda _, done, total: progress.append((done, total)),
        )
    )  # fmt: skip
    assert sum(result.status == "skipped" for result in results) == 2 * len(asked)
    # The bar counts what is measured, and one device has shut down before the end, as without these problems.
    assert {total for _, total in progress} == {len(BLOCKS)}
    assert max(done for done, _ in progress) == len(BLOCKS)
    assert sorted(member.is_dismissed for member in members) == [False, True]


def test_skipped_variants_are_reported_if_nothing_is_left_to_measure() -> None:
    (measured,) = bench(Gpu(0), cases([3]), settings(), silent)
    impossible = [(v, PROBLEM) for v in variants(find("async-copy"), {"WM": (100,)})]
    (skipped,) = bench(Gpu(0), impossible, settings(), silent, positions=[1], kept=[measured])
    assert (skipped.position, skipped.status) == (1, "skipped")


def test_the_best_is_a_finalist_and_times_of_two_devices_have_no_ratio() -> None:
    """The other device is 40% faster, so that its variants would win if times were compared."""
    members = two_gpus(1.0, 0.6)
    results = last_of_each_position(list(bench(ExecutorGroup(members), cases(), settings(), silent)))
    (problem,) = results_view("a GPU", results).problems
    assert problem.best is not None and problem.best.result.is_final
    assert [row.result.is_final for row in problem.fastest_first] == [True] * 3 + [False] * 9
    for row in problem.rows:
        assert (row.slowdown is None) == (row.is_best or row.result.device != problem.best.result.device)
    as_before = [dataclasses.replace(r, is_final=False) for r in results]
    assert results_view("a GPU", as_before).problems[0].best is None  # interrupted before the finalists
    on_one = [dataclasses.replace(r, is_final=False, device="gpu:0") for r in results]
    assert results_view("a GPU", on_one).problems[0].best is not None


@pytest.mark.parametrize("lost_after", [0, 1, 7])
def test_what_a_lost_device_has_not_finished_is_measured_by_the_others(lost_after: int) -> None:
    barrier = threading.Barrier(2)
    kept, lost = Gpu(0, barrier=barrier), Gpu(1, lost_after=lost_after, barrier=barrier)
    group = ExecutorGroup([kept, lost])
    results = list(bench(group, cases(), settings(), silent))
    first = [r for r in results if not r.is_final]
    assert sorted(r.position for r in first) == list(range(len(BLOCKS)))
    assert all(r.status == "ok" for r in first)
    assert list(group.members) == [kept] and lost.is_closed
    assert len(group.losses) == 1 and "gpu:1 fell off the bus" in group.losses[0]


@pytest.mark.parametrize("keep_matrices", [False, True])
def test_devices_without_more_work_shut_down_while_the_last_finalists_are_measured(
    keep_matrices: bool,
) -> None:
    members = two_gpus(1.0, 1.0)
    asked = cases(BLOCKS, PROBLEM, OTHER_PROBLEM)
    seen: dict[tuple[int, bool], set[bool]] = {}
    for result in bench(ExecutorGroup(members), asked, settings(keep_matrices=keep_matrices), silent):
        (other,) = (member for member in members if member.spec != result.device)
        seen.setdefault((result.m, result.is_final), set()).add(other.is_dismissed)
    first, last = PROBLEM.shape.m, OTHER_PROBLEM.shape.m
    assert seen == {
        (first, False): {False}, (first, True): {False},
        (last, False): {False}, (last, True): {not keep_matrices},
    }  # fmt: skip


def test_a_device_lost_among_the_finalists_is_replaced() -> None:
    barrier = threading.Barrier(2)
    members = [Gpu(0, barrier=barrier, fma_gflops=1e6), Gpu(1, barrier=barrier, fma_gflops=2e6)]
    group = ExecutorGroup(members)
    results = bench(group, cases(), settings(), silent)
    first = [next(results) for _ in BLOCKS]
    members[0]._lost_after = len(members[0].requests)
    again = list(results)
    assert len(first) == len(BLOCKS)
    assert {r.device for r in again} == {"gpu:1"} and len(again) == 3


def test_a_device_lost_before_the_finalists_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its host vanishes while the other device measures the last cases, so that no request has told."""
    members = two_gpus(1.0, 1.0)
    group = ExecutorGroup(members)
    results = bench(group, cases(), settings(), silent)
    first = [next(results) for _ in BLOCKS]

    def lost() -> Facts:
        raise DeviceLostError("gpu:0 fell off the bus")

    monkeypatch.setattr(members[0], "facts", lost)
    again = list(results)
    assert len(first) == len(BLOCKS) and {r.device for r in again} == {"gpu:1"} and len(again) == 3
    assert list(group.members) == [members[1]] and "fell off the bus" in group.losses[0]


def test_a_device_lost_while_cases_are_planned_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [Gpu(0), Gpu(1)]
    group = ExecutorGroup(members)

    def lost() -> int:
        raise DeviceLostError("gpu:1 fell off the bus")

    monkeypatch.setattr(members[1], "free_bytes", lost)
    results = list(bench(group, cases(), settings(), silent))
    assert [r.status for r in results] == ["ok"] * len(BLOCKS)
    assert list(group.members) == [members[0]] and members[1].is_closed


def test_each_device_is_asked_once_for_its_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    members = [Gpu(0), Gpu(1)]
    asked: list[str] = []

    def free_bytes(executor: Gpu) -> int:
        asked.append(executor.spec)
        return 2**30

    monkeypatch.setattr(Gpu, "free_bytes", free_bytes)
    results = bench(ExecutorGroup(members), cases(BLOCKS, PROBLEM, OTHER_PROBLEM), settings(), silent)
    assert {r.status for r in results} == {"ok"}
    assert sorted(asked) == ["gpu:0", "gpu:1"]


def test_the_last_lost_device_ends_the_run_with_the_results_so_far() -> None:
    barrier = threading.Barrier(2)
    group = ExecutorGroup([Gpu(n, lost_after=4 + 4 * n, barrier=barrier) for n in range(2)])
    results = bench(group, cases(), settings(runs=1), silent)
    found: list[Result] = []
    with pytest.raises(DeviceLostError, match="fell off the bus"):
        found.extend(results)
    assert len({r.position for r in found}) == len(found)


@pytest.mark.parametrize("kind", [NeverOpens, OpensLate])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_device_that_does_not_open_delays_nothing(kind: type[Gpu], is_first: bool) -> None:
    other, opened = (kind(0), Gpu(1)) if is_first else (kind(1), Gpu(0))
    group = ExecutorGroup(sorted([other, opened], key=lambda gpu: gpu.spec))
    results = list(bench(group, cases(), settings(), silent))
    assert sorted(r.position for r in results) == list(range(len(BLOCKS)))
    assert {r.device for r in results} == {opened.spec}
    on_host = [(variant, PROBLEM) for variant in variants(find("cpu-block"), {})]  # is timed alone
    assert [r.status for r in bench(group, on_host, settings(finalists=0), silent)] == ["ok"]
    assert other.requests == []
    assert [*verify_all(group, cases([1, 2, 3]), True, silent)]


def test_methods_are_compared_on_one_device_and_problems_are_shared() -> None:
    members = two_gpus(1.0, 1.0)
    chosen = cases([1, 2, 3], PROBLEM, OTHER_PROBLEM)
    shared = settings(shares_variants=False, finalists=0)
    results = list(bench(ExecutorGroup(members), chosen, shared, silent))
    assert sorted(r.position for r in results) == list(range(6))
    devices = {m: {r.device for r in results if r.m == m} for m in (3, 4)}
    assert sorted(map(list, devices.values())) == [["gpu:0"], ["gpu:1"]]


def test_verification_is_shared_and_each_case_is_verified_once() -> None:
    members = two_gpus(1.0, 1.0)
    results = list(verify_all(ExecutorGroup(members), cases(), True, silent))
    assert sorted(r.position for r in results) == list(range(len(BLOCKS)))
    assert {r.device for r in results} == {"gpu:0", "gpu:1"}
    assert sorted(members[0].requests + members[1].requests) == list(BLOCKS)


def test_verification_goes_on_without_a_lost_device() -> None:
    barrier = threading.Barrier(2)
    group = ExecutorGroup([Gpu(0, barrier=barrier), Gpu(1, lost_after=1, barrier=barrier)])
    results = list(verify_all(group, cases(), True, silent))
    assert sorted(r.position for r in results) == list(range(len(BLOCKS)))
    assert all(r.status == "ok" for r in results)


def test_an_error_of_one_device_ends_the_work_of_all() -> None:
    class OutOfTimeError(Exception):
        pass

    def report(doing: str, done: int, total: int) -> None:
        if done >= 4:
            raise OutOfTimeError

    threads = threading.active_count()
    with pytest.raises(OutOfTimeError):
        list(bench(ExecutorGroup(two_gpus(1.0, 1.0)), cases(), settings(), report))
    assert threading.active_count() == threads


def test_closing_the_results_ends_the_threads() -> None:
    threads = threading.active_count()
    results: Iterator[Result] = bench(ExecutorGroup(two_gpus(1.0, 1.0)), cases(), settings(runs=100), silent)
    next(results)
    results.close()  # type: ignore[attr-defined] # it is a generator
    assert threading.active_count() == threads


def test_the_most_typical_device_is_nearest_to_the_median_rate() -> None:
    group = ExecutorGroup([Gpu(0, fma_gflops=70e3), Gpu(1, fma_gflops=50e3), Gpu(2, fma_gflops=71e3)])
    assert most_typical(group).spec == "gpu:0"
    assert most_typical(Gpu(5)).spec == "gpu:5"


def test_a_variant_is_dropped_by_another_gpus_time_only_if_it_is_surely_slower() -> None:
    """GPUs differ by up to 7%: a variant that is 6% slower than another GPU's best may be the best here."""

    def status(ms_before: float, device: str) -> str:
        kept = [result(9, ms_before, device)]
        (measured,) = bench(Gpu(0), cases([1]), settings(drop=True, finalists=0), silent, None, kept)
        return measured.status

    here_ms = MILLISECONDS[1]
    assert status(here_ms / 1.06, "gpu:0") == "dropped"
    assert status(here_ms / 1.06, "gpu:1") == "ok"
    assert status(here_ms / 1.20, "gpu:1") == "dropped"


def result(
    position: int, ms: float, device: str, *, is_final: bool = False, method: str = "coalesced"
) -> Result:
    (measured,) = bench(Gpu(0), cases([1]), settings(runs=1), silent)
    timing = dataclasses.replace(measured.timing, samples_ms=[ms] * 3)
    return dataclasses.replace(
        measured, method=method, position=position, device=device, is_final=is_final, timing=timing
    )


def test_finalists_are_the_fastest_and_the_yardsticks() -> None:
    results = [result(n, 5.0 - n, f"gpu:{n % 2}") for n in range(4)]
    results.append(result(4, 9.0, "gpu:0", method="cublas"))
    assert [r.position for r in finalists(results, 2)] == [3, 2, 4]
    assert finalists(results[::2], 2) == []  # all from one device


def test_a_resumed_run_measures_again_what_could_be_a_finalist() -> None:
    shared = [result(n, 1.0 + n, f"gpu:{n % 2}") for n in range(4)]
    final = [*shared[2:], *(result(n, 1.0 + n, "gpu:1", is_final=True) for n in range(2))]
    key = {key_of(PROBLEM)}
    assert to_measure_again(shared, set(), ["gpu:0"], 2) == {0, 1}  # killed before the final measurement
    assert to_measure_again(final, set(), ["gpu:0", "gpu:1"], 2) == set()  # complete
    assert to_measure_again(final, key, ["gpu:0", "gpu:1"], 2) == {0, 1}  # further variants are measured
    on_one = shared[::2]
    assert to_measure_again(on_one, key, ["gpu:0"], 2) == set()
    assert to_measure_again(on_one, key, ["gpu:0", "gpu:1"], 1) == {0}
    assert to_measure_again(shared, key, ["gpu:0"], 0) == set()  # `bench` has no finalists


def test_a_share_of_cublas_needs_one_gpu() -> None:
    cublas = result(0, 1.0, "gpu:0", method="cublas")
    yardsticks = yardsticks_of([cublas])
    assert share_of_cublas(result(1, 2.0, "gpu:0"), yardsticks) == 0.5
    assert share_of_cublas(result(1, 2.0, "gpu:1"), yardsticks) is None
    assert share_of_cublas(result(1, 2.0, ""), yardsticks) == 0.5  # a file of an older version
