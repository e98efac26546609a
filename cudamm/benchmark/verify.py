"""Verify cases: judge each product without timing it."""

from __future__ import annotations

import bisect
import dataclasses
import functools
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cudamm.benchmark.result import Result, Status, result_of_case
from cudamm.errors import (
    DeviceLostError,
    HangError,
    KernelError,
    UnfinishedError,
    UsageError,
)
from cudamm.execution.case import ORDER_MATTERS, ORDER_SEEN, Case, Verdict
from cudamm.execution.duration_estimate import Estimate, estimate
from cudamm.execution.executor import Executor, Executors, LocalExecutor, Report
from cudamm.execution.executor_group import device_threads
from cudamm.execution.prepare import Progress, case_at, in_turn, prepare
from cudamm.execution.shared_cases import SharedCases
from cudamm.execution.usual_causes import IN_TILES, OF_LAUNCH, WITHOUT_LINE
from cudamm.execution.where_right import RightSizes, where_right, without_faults
from cudamm.execution.worker_executor import SMALL_WORK, TIMEOUT_S
from cudamm.kernels.chosen_cases import remarks_on_padding, remarks_on_scale
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.source.endless_loops import endless_loop_in

LookAgain = Callable[[Case, Verdict], str | None]
"""Function that runs a case once more, and returns what is wrong in a sentence; empty for nothing.

None if it could not run the case so that its accesses are watched.
"""

VERIFIED_AT_ONCE = 8
"""Number of cases that a device takes at once."""

MOST_PARTLY_WRONG = 8
"""Maximum number of wrong kernels of which the sizes are looked for at which they are right."""

MOST_WATCHED_VARIANTS = 8
"""Maximum number of right variants whose accesses are watched."""

MOST_WATCHED_WORK = 2**19
"""Number of multiplications, over all sizes of a variant, after which no further size is watched."""

LARGE_EDGE = 1024
"""M, N and K at which a launch is expected to have several blocks along each axis that its grid has."""


def verify_all(
    executors: Executors,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    progress: Progress,
    look_again: LookAgain | None = None,
    *,
    advises: bool = False,
    watches: bool = False,
) -> Iterator[Result]:
    """Verify each case, and yield each result as soon as it is complete.

    A result that is looked at again is yielded a second time if its status or its reason changes.

    Args:
        look_again: is called for a user's kernel that is wrong on the CPU device, if no result shows why; and
            for one that adds to C, which blocks may do at the same time on a GPU.
        watches: call `look_again` also for a user's kernel that is right at each size on the CPU device, at
            its smallest sizes, and at its program's own size if it is wrong elsewhere: races, accesses out of
            bounds and reads of what was never written need not show in the product.
        advises: skip a case that would take longer than the time limit, and look for the sizes at which a
            wrong kernel is right.

    Raises:
        UsageError, NoDeviceError: the request is impossible; raised before anything is launched.
    """
    prepared = prepare(executors, cases, fmad, progress, verified=True)
    verification = _Verification(SharedCases(in_turn(prepared, progress)), advises)
    with device_threads(executors) as threads:
        yield from threads.run(verification.run, verification.cases.may_have_any)
        if look_again is not None and watches:
            yield from verification.watched(verification.right_in_part(), look_again)
        for (case, _), sizes in threads.share(verification.partly_wrong(), _where_right):
            right = _watched(case, sizes, look_again)
            if right is not None:
                yield verification.updated(case, right_where=str(right))
    if look_again is None:
        return
    explained: set[Variant] = set()
    for case, verdict in _to_look_at(verification.doubtful):
        cause = look_again(case, verdict)
        if cause:
            yield verification.failed(case, verdict, cause)
            explained.add(case.variant)
    for case, verdict in verification.with_refuted_guess(explained):
        yield verification.updated(case, reason=verdict.reason, verdict=verdict)
    yield from verification.watched(verification.to_watch(only_if_adding=not watches), look_again)


def is_success(results: Sequence[Result]) -> bool:
    """Return whether nothing failed, and a case ran that shows more than the product of two numbers."""
    if any(result.status == "failed" for result in results):
        return False
    ran = [result for result in results if result.status == "ok"]
    is_whole = len(ran) == len(results)
    return bool(ran) and (is_whole or any(max(r.m, r.n, r.k) > 1 for r in ran))


def remarks_on(
    results: Sequence[Result], cases: Sequence[tuple[Variant, Problem]], watched: Sequence[Case]
) -> list[str]:
    """Return remarks on padded sizes, and on what was not looked at if nothing failed.

    Args:
        watched: the cases whose accesses were watched.
    """
    ran = {(result.m, result.n, result.k) for result in results if result.status in ("ok", "failed")}
    has_right = any(result.status == "ok" for result in results)
    remarks = [
        *remarks_on_padding([case for case in cases if has_right and case[1].shape.extents in ran]),
        *remarks_on_scale(cases),
    ]
    unrun = {variant.method.path.name: None for variant, _ in cases if variant.method.type_conflict}
    remarks += [
        f"{file} was not run: once this is mended, verify its kernel, which may be wrong too."
        for file in unrun
    ]
    if is_success(results):
        remarks += not_watched(list(dict.fromkeys(variant for variant, _ in cases)), watched)
    return remarks


def not_watched(variants: Iterable[Variant], watched: Sequence[Case]) -> list[str]:
    """Return remarks on what was not looked at in users' programs: unwatched accesses, and host code."""
    users = [variant for variant in variants if not variant.method.builtin]
    watched_variants = {case.variant for case in watched}
    unwatched = {variant.method for variant in users if variant not in watched_variants}
    files = sorted(method.in_commands for method in unwatched if not method.runs_on_host)
    remarks = []
    if files:
        file = files[0] if len(files) == 1 else "FILE"
        remarks.append(
            f"Races and accesses out of bounds were not looked for: cudamm check {file} finds them."
        )
    single = {
        variant.method.path.name: axes
        for variant in users
        if (axes := _axes_of_one_block([case for case in watched if case.variant == variant]))
    }
    for file, axes in itertools.islice(single.items(), 1):
        remarks.append(
            f"Races between blocks along {axes} of the grid were not looked for: {file} was watched at sizes "
            f"with one block there. cudamm check {file} -n SIZE finds them at a larger size."
        )
    texts = dict.fromkeys(text for variant in users for text in variant.method.left_out)
    remarks += [f"{text[0].upper()}{text[1:]}." for text in texts]
    launched = [variant.method for variant in users if variant.method.launched_at[1]]
    if launched and all(method.path.suffix == ".py" for method in launched):
        remarks.append(
            "Of the Python code, only the launch and the arrays and sizes that it gets were read: not "
            "whether a copy is missing."
        )
    elif launched:
        remarks.append(
            "Of the host code, only the launch and, beside it, the bytes and directions in plain calls of "
            "cudaMalloc and cudaMemcpy were read: not whether one is missing, or where it waits."
        )
    return remarks


def _axes_of_one_block(watched: Sequence[Case]) -> str:
    """Return the axes of the grid along which no watched case of a variant has several blocks, if any has."""
    if not watched:
        return ""
    variant, problem = watched[0].variant, watched[0].problem
    shape = Shape(*(variant.method.program_size or (LARGE_EDGE,) * 3))
    try:
        grid = plan(variant, shape, problem.element, problem.scale).grid
    except (KernelError, UsageError):
        return ""
    axes = [
        name
        for axis, name in enumerate("xyz")
        if grid[axis] > 1 and not any(has_several_blocks(case, axis) for case in watched)
    ]
    return " and ".join(axes)


@dataclass(frozen=True)
class _Verified:
    """What a device found out about a case.

    Attributes:
        verdict: None if the case was not run to its end.
        has_hung: whether the kernel did not answer in time.
    """

    position: int
    result: Result
    verdict: Verdict | None = None
    has_hung: bool = False


@dataclass(frozen=True)
class _VerifyInTurn:
    """Work for `Executor.carry_out`: verify cases, one after the other.

    Attributes:
        hung: the shape at which a variant hung earlier.
        advises: as for `verify_all`.
    """

    hung: Mapping[Variant, Shape]
    advises: bool

    def __call__(self, executor: LocalExecutor, cases: Iterable[Case], report: Report) -> Iterator[_Verified]:
        hung = dict(self.hung)
        for case in cases:
            report(case.title)
            verified = _verified(executor, case, hung.get(case.variant), self.advises)
            if verified.has_hung:
                hung[case.variant] = case.problem.shape
            yield verified


def _verified(executor: LocalExecutor, case: Case, hung_at: Shape | None, advises: bool) -> _Verified:
    if case.skipped:
        return _Verified(case.position, result_of_case(case, "skipped", case.skipped))
    if hung_at is not None and hangs_too(hung_at, case.problem.shape):
        return _Verified(case.position, result_of_case(case, "skipped", f"not run: it hung at {hung_at}"))
    device = "cpu" if case.on_host else executor.target.info.spec
    if isinstance(case.compiled, KernelError) and case.launch is None:
        verdict = _not_launched(case, str(case.compiled))
        return _Verified(
            case.position, result_of_case(case, "failed", verdict.reason, verdict=verdict, device=device)
        )
    try:
        verify = functools.partial(verified_in_time, executor) if advises else executor.verify
        verdict = verify(case, thorough=True)
    except UnfinishedError as error:
        return _Verified(case.position, result_of_case(case, "skipped", str(error)))
    except KernelError as error:
        has_hung = isinstance(error, HangError) and not case.variant.method.builtin
        loop = endless_loop_in(case.program.text) if has_hung else None
        reason = f"{loop[0]}; {error}" if loop else str(error)
        result = result_of_case(case, "failed", reason, verdict=Verdict(False, reason), device=device)
        return _Verified(case.position, result, has_hung=has_hung)
    method = case.variant.method
    if verdict.cause and verdict.cause == method.wrong_dimension:
        verdict = Verdict(False).because_of(verdict.cause + method.wrong_dimension_place)
    elif OF_LAUNCH.match(verdict.cause):
        rest = verdict.reason.removeprefix(verdict.cause).removeprefix("; ")
        cause = verdict.cause + method.launch_place_of(verdict.cause)
        verdict = dataclasses.replace(verdict, reason=rest).because_of(cause)
    status: Status = "ok" if verdict.correct else "failed"
    result = result_of_case(case, status, verdict.reason, verdict=verdict, device=device)
    return _Verified(case.position, result, verdict)


def _not_launched(case: Case, why: str) -> Verdict:
    """Return the verdict on a case that cannot be launched. At the program's own size, that is the cause."""
    method = case.variant.method
    why += method.launch_place_of(why)
    is_own = method.program_size == case.problem.shape.extents and not method.type_conflict
    return Verdict(False).because_of(f"the program's own size {why}") if is_own else Verdict(False, why)


def takes_too_long(expected: Estimate) -> str:
    """Return why a case is not run, with the options that run it or a smaller one."""
    return f"{expected} (--timeout {math.ceil(1.5 * expected.seconds)} allows it)"


def verified_in_time(executor: LocalExecutor, case: Case, *, thorough: bool) -> Verdict:
    """Return the verdict on a case, as `LocalExecutor.verify`, unless it would take too long here.

    Raises:
        UnfinishedError: the estimate exceeds the time limit, or the kernel, which ends at smaller sizes, did
            not answer in time.
        KernelError: the case cannot be launched, or hangs.
    """
    limit_s = executor.timeout_s or TIMEOUT_S
    expected = estimate_of(executor, case, limit_s, thorough=thorough)
    if expected is not None and expected.seconds > limit_s:
        raise UnfinishedError(takes_too_long(expected))
    try:
        return executor.verify(case, thorough=thorough)
    except HangError as error:
        if expected is None:
            raise
        expected = dataclasses.replace(expected, seconds=max(expected.seconds, limit_s), is_least=True)
        raise UnfinishedError(f"not verified: {error}; {expected}") from None


def estimate_of(
    executor: LocalExecutor, case: Case, limit_s: float, *, thorough: bool = True
) -> Estimate | None:
    """Return the estimated duration of verifying a large case on the CPU device.

    None if the case needs no estimate, or if the kernel fails at smaller sizes too.

    Raises:
        HangError: the kernel hangs at a smaller size too.
    """
    if case.execution != "emulated" or isinstance(case.compiled, KernelError):
        return None

    def measure(shape: Shape) -> float | None:
        # The time of the launches, without that of starting a process, which is the same at each size.
        try:
            launched_ms = executor.verify(case_at(case, shape), thorough=thorough).launch_ms
        except UnfinishedError:
            return None
        except HangError as error:
            raise HangError(f"at {shape}: {error}") from None
        except DeviceLostError:
            raise
        except (KernelError, UsageError):
            return None
        return (1.5 if thorough else 1.0) * launched_ms / 1e3 or None  # one of three launches is not counted

    return estimate(case.problem.shape, measure, limit_s)


@dataclass(frozen=True)
class _FindWhereRight:
    """Work for `Executor.carry_out`: find the sizes at which a kernel is right.

    Attributes:
        known: shapes at which it was run, and whether it was right.
    """

    known: Mapping[Shape, bool]

    def __call__(
        self, executor: LocalExecutor, cases: Iterable[Case], report: Report
    ) -> Iterator[RightSizes | None]:
        for case in cases:
            yield where_right(executor, case, self.known)


def _where_right(executor: Executor, wrong: tuple[Case, Mapping[Shape, bool]]) -> Iterator[RightSizes]:
    """Yield the sizes at which a kernel is right, if there are any."""
    case, known = wrong
    yield from filter(None, executor.carry_out(_FindWhereRight(known), [case], _ignore))


def _watched(case: Case, found: RightSizes, look_again: LookAgain | None) -> RightSizes | None:
    """Return the sizes at which a kernel is right, and has no fault either if it can be watched."""
    if look_again is None:
        return found

    def has_fault(shape: Shape) -> bool:
        try:
            return bool(look_again(case_at(case, shape), Verdict(True)))
        except (KernelError, UsageError):
            return True

    return without_faults(found, has_fault)


_ToWatch = tuple[list[tuple[Case, Verdict]], list[tuple[Case, Verdict]]]
"""Right cases of a variant: those to watch, and those to watch if one of the former has a fault."""


class _Verification:
    """The verification of cases, by one or several devices.

    Attributes:
        cases: the cases that no device has taken yet.
        doubtful: wrong products, by variant.
    """

    def __init__(self, cases: SharedCases, advises: bool) -> None:
        self.cases = cases
        self._advises = advises
        self.doubtful: dict[Variant, list[tuple[Case, Verdict]]] = {}
        self._right: dict[Variant, list[tuple[Case, Verdict]]] = {}
        self._hung: dict[Variant, Shape] = {}
        self._ran: dict[tuple[Variant, ElementType], list[tuple[Case, Result]]] = {}

    def run(self, executor: Executor) -> Iterator[Result]:
        """Verify cases on a device until there are none."""
        unfinished: dict[int, Case] = {}
        try:
            while self.cases.may_have_any():
                taken = itertools.islice(self._taken(unfinished), VERIFIED_AT_ONCE)
                for verified in executor.carry_out(
                    _VerifyInTurn(dict(self._hung), self._advises), taken, _ignore
                ):
                    self._look_at(unfinished.pop(verified.position), verified)
                    yield verified.result
        except DeviceLostError:
            self.cases.put_back(unfinished.values())
            raise

    def _taken(self, unfinished: dict[int, Case]) -> Iterator[Case]:
        """Take cases, and put each into `unfinished`."""
        for case in self.cases.of_any_problem():
            unfinished[case.position] = case
            yield case

    def _look_at(self, case: Case, verified: _Verified) -> None:
        """Remember a variant that hung, a doubtful product, and what was right of a user's kernel."""
        method, verdict = case.variant.method, verified.verdict
        if method.is_kernel and not method.builtin:
            self._ran.setdefault((case.variant, case.problem.element), []).append((case, verified.result))
        if verified.has_hung:
            self._hung[case.variant] = case.problem.shape
        elif (
            verdict is not None
            and case.target.has_thread_order
            and not (method.runs_on_host or method.builtin)
        ):
            kept = self.doubtful if verdict.correct is False else self._right
            kept.setdefault(case.variant, []).append((case, verdict))

    def partly_wrong(self) -> list[tuple[Case, Mapping[Shape, bool]]]:
        """Return a case of each user's kernel that is wrong in a type, with the shapes at which it ran.

        Empty if no advice is wanted, and if these are many, as in a sweep.
        """
        if not self._advises:
            return []
        found: dict[Variant, tuple[Case, Mapping[Shape, bool]]] = {}
        for ran in self._ran.values():
            wrong = [case for case, result in ran if result.status == "failed" and case.launch is not None]
            first = min(wrong, key=lambda case: case.position, default=None)
            if first and first.variant not in self._hung and not isinstance(first.compiled, KernelError):
                known = {
                    case.problem.shape: result.status == "ok"
                    for case, result in ran
                    if result.status in ("ok", "failed") and case.problem.scale == first.problem.scale
                }
                found.setdefault(first.variant, (first, known))
        return list(found.values()) if len(found) <= MOST_PARTLY_WRONG else []

    def right_in_part(self) -> Iterator[_ToWatch]:
        """Yield the right cases to watch, the program's own size among them, of variants wrong elsewhere."""
        for variant in self._right:
            if variant in self.doubtful:
                small, large = self._chosen(variant)
                own = variant.method.program_size
                large.sort(key=lambda pair: pair[0].problem.shape.extents != own)
                count = sum(case.problem.shape.extents == own for case, _ in large)
                yield small + large[:count], large[count:]

    def to_watch(self, *, only_if_adding: bool) -> Iterator[_ToWatch]:
        """Yield the cases to watch, in one type, of each of the first variants that are right.

        Args:
            only_if_adding: only of variants that add to C.
        """
        failed = {
            key[0] for key, ran in self._ran.items() if any(result.status == "failed" for _, result in ran)
        }
        variants = [
            variant
            for variant in self._right
            if variant not in failed and (variant.method.adds_to_zeros or not only_if_adding)
        ]
        yield from map(self._chosen, variants[:MOST_WATCHED_VARIANTS])

    def watched(self, chosen: Iterable[_ToWatch], look_again: LookAgain) -> Iterator[Result]:
        """Watch right cases, and yield the result of each that has a fault after all."""
        for small, large in chosen:
            found = [(*pair, cause) for pair in small if (cause := look_again(*pair))]
            if found:
                found += [(*pair, cause) for pair in large if (cause := look_again(*pair))]
            for case, verdict, cause in found:
                yield self.failed(case, verdict, cause)

    def _chosen(self, variant: Variant) -> _ToWatch:
        """Return the right cases of a variant, in one type, that are worth watching, and the others.

        These are the smallest, and for each axis of the grid the smallest with several blocks along it: only
        these show a race between blocks.
        """
        element = self._right[variant][0][0].problem.element
        cases = [pair for pair in self._right[variant] if pair[0].problem.element == element]
        cases.sort(key=lambda pair: pair[0].problem.shape.work)
        work = [*itertools.accumulate(case.problem.shape.work for case, _ in cases)]
        count = max(1, bisect.bisect(work, MOST_WATCHED_WORK))
        small, large = cases[:count], cases[count:]
        for axis in range(3):
            if not any(has_several_blocks(case, axis) for case, _ in small):
                several = next((pair for pair in large if has_several_blocks(pair[0], axis)), None)
                if several is not None:
                    small.append(several)
                    large.remove(several)
        return sorted(small, key=lambda pair: _is_of_vectors(pair[0].problem.shape)), large

    def with_refuted_guess(self, explained: Collection[Variant]) -> Iterator[tuple[Case, Verdict]]:
        """Yield cases whose cause was a guess, with what was observed, if the cause is known at another size.

        Args:
            explained: variants of which a second look has found the cause at one size.
        """
        for variant, pairs in self.doubtful.items():
            is_known = variant in explained or not _are_guesses(pairs)
            for case, verdict in pairs if is_known or _have_other_launches(pairs) else []:
                is_of_launch = _have_other_launches(pairs) and OF_LAUNCH.match(verdict.cause)
                is_guess = _is_guess(verdict) and (
                    verdict.cause == ORDER_MATTERS or (verdict.cause and variant in explained)
                )
                if (is_guess or is_of_launch) and self._result(case).verdict == verdict:
                    yield case, _without_guess(verdict)

    def failed(self, case: Case, verdict: Verdict, cause: str) -> Result:
        """Return the result of a case in which a second look has found a cause, and remember it."""
        if verdict.cause.startswith(IN_TILES):
            cause = f"{verdict.cause.partition(':')[0]}: {cause}"
        if verdict.cause.startswith(WITHOUT_LINE):  # the cause with its line is the better one
            verdict = dataclasses.replace(verdict, reason=verdict.reason.removeprefix(f"{verdict.cause}; "))
        is_of_order = verdict.cause == ORDER_MATTERS and not _IS_RACE.search(cause)
        if is_of_order or OF_LAUNCH.match(verdict.cause):
            verdict = _without_guess(verdict)
        if verdict.correct and not verdict.reason:
            verdict = dataclasses.replace(verdict, reason="the product is right all the same")
        verdict = dataclasses.replace(verdict, correct=False).because_of(cause)
        return self.updated(case, status="failed", reason=verdict.reason, verdict=verdict, device="cpu")

    def _result(self, case: Case) -> Result:
        ran = self._ran[case.variant, case.problem.element]
        return next(result for of, result in ran if of.position == case.position)

    def updated(self, case: Case, **changes: Any) -> Result:
        """Return the result of a case with changes, and remember it."""
        ran = self._ran[case.variant, case.problem.element]
        place = next(i for i, (of, _) in enumerate(ran) if of.position == case.position)
        ran[place] = case, dataclasses.replace(ran[place][1], **changes)
        return ran[place][1]


def _ignore(doing: str) -> None:
    """Report nothing: preparing reports the cases."""


def _to_look_at(
    doubtful: Mapping[Variant, Sequence[tuple[Case, Verdict]]],
) -> Iterator[tuple[Case, Verdict]]:
    """Yield the case of each unexplained variant that shows most.

    One with a race shows most, for it may have another mistake too; else a small one, no product of vectors.
    """

    def rank(pair: tuple[Case, Verdict]) -> tuple[bool, bool, int]:
        shape = pair[0].problem.shape
        return pair[1].cause != ORDER_MATTERS, _is_of_vectors(shape), shape.elements

    for cases in doubtful.values():
        if _are_guesses(cases):
            yield min(cases, key=rank)


def _are_guesses(pairs: Sequence[tuple[Case, Verdict]]) -> bool:
    """Return whether no cause is known for the wrong products of a variant."""
    return _have_other_launches(pairs) or all(_is_guess(verdict) for _, verdict in pairs)


def _have_other_launches(pairs: Sequence[tuple[Case, Verdict]]) -> bool:
    """Return whether products would be right with another launch, and not all with the same change of it."""
    found = (OF_LAUNCH.match(verdict.cause) for _, verdict in pairs)
    return len({change[0] for change in found if change}) > 1


def _is_guess(verdict: Verdict) -> bool:
    """Return whether the cause of a wrong product is not known, or may follow from another."""
    # An index outside of a local array also lets a compiler end a loop early.
    return verdict.cause in ("", ORDER_MATTERS) or verdict.cause.startswith(WITHOUT_LINE)


_IS_RACE = re.compile(r"\brace\b|barrier|__sync|atomic|\bwrites?\b.*\band\b")
"""What a cause says that is a race, or that makes one."""


def _without_guess(verdict: Verdict) -> Verdict:
    """Return a verdict with what was observed instead of its cause."""
    observed = verdict.reason.removeprefix(verdict.cause).removeprefix("; ")
    seen = ORDER_SEEN if verdict.cause == ORDER_MATTERS else ""
    reason = "; ".join(filter(None, (seen, observed))) or verdict.reason
    return dataclasses.replace(verdict, cause=seen, reason=reason)


def has_several_blocks(case: Case, axis: int) -> bool:
    """Return whether a case launches several blocks along an axis of the grid."""
    return case.launch is not None and case.launch.grid[axis] > 1


def hangs_too(hung: Shape, shape: Shape) -> bool:
    """Return whether a kernel that did not answer in time at one shape is not worth running at another."""
    return hung.work <= SMALL_WORK or shape.work >= hung.work


def _is_of_vectors(shape: Shape) -> bool:
    return min(shape.m, shape.n, shape.k) == 1
