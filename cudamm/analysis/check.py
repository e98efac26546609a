"""Search for the mistakes that make a kernel wrong or slow.

The CPU device executes the kernel and records its memory accesses; `mistakes` describes what it recorded.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cudamm.analysis.mistakes import (
    AFTER_READING,
    BLOCK_LIKE_TILE,
    LEFT_THE_KERNEL,
    ONCE_MENDED,
    Kind,
    Mistake,
    advice_of,
    beyond_edges,
    bounds_cure,
    brief,
    errors_of,
    explains_races,
    in_next_step,
    is_outside_of_matrix,
    may_follow_from_another,
    merged,
    of_requirement,
    proven,
    shared_memory_limit,
    with_cause_first,
    with_condition,
    with_zero_for_load,
    without_bounds_check,
    without_cure,
)
from cudamm.analysis.proven_cause import AND_CHECK, ProvenCause, is_right, product_of, proven_cause
from cudamm.analysis.sanitizer import ToolVerdict
from cudamm.analysis.second_look import (
    BEFORE_SET,
    IN_OWN_TYPE,
    endless_loop,
    hidden_mistakes,
    local_variable_of,
    with_overrun,
)
from cudamm.analysis.storing_blocks import storing_extents
from cudamm.analysis.surplus_blocks import surplus_blocks
from cudamm.analysis.trace import (
    as_compiled,
    joined_lines,
    lines_as_compiled,
    may_be_joined,
    may_be_wide,
    with_counts_of_grid,
    with_stores_selected,
)
from cudamm.benchmark.verify import hangs_too, verified_in_time
from cudamm.compile.compile_all import compile_each
from cudamm.compile.host_compiler import STATIC_SHARED_BYTES, compile_for_host
from cudamm.compile.program import Program, program
from cudamm.compile.signature import check_block
from cudamm.devices.device import padded
from cudamm.devices.observation import Fault, Observation
from cudamm.devices.observe import TIMEOUT_S, Watch, observe, overrun_of_variable
from cudamm.errors import HangError, KernelError, NoDeviceError, RequirementError, UnfinishedError, UsageError
from cudamm.execution.case import ORDER_MATTERS, Case, Verdict
from cudamm.execution.judge import UNSET_LOCAL
from cudamm.execution.prepare import Progress, case_at, check_user_kernels, plan_all
from cudamm.execution.usual_causes import FEW_BLOCKS
from cudamm.execution.where_right import RightSizes, where_right, without_faults
from cudamm.kernels.launch_plan import Extents, Launch, plan, unsupported_reason
from cudamm.kernels.method import Value
from cudamm.kernels.problem import UNSCALED, Problem, Shape
from cudamm.kernels.usual_sizes import own_size_not_run
from cudamm.kernels.variant import EMPTY_GRID, ChosenBy, Variant, chosen_record
from cudamm.source.c_text import dynamic_arrays_in
from cudamm.source.included_files import line_directive
from cudamm.source.kernel_changes import (
    ADDED_BARRIER,
    end_of_inner_loop,
    line_of_loop,
    with_all_barriers,
    with_barriers,
    with_values_of_locals,
)

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor, LocalExecutor

SCHEMA = "cudamm.check/1"

Status = Literal["clean", "wrong", "failed", "skipped"]
"""`failed`: the variant could not be checked, for example because it does not compile."""

MOST_WATCHED = 2**22
"""Maximum number of multiplications that are watched at one size.

For a larger product, only blocks at the corners and in the middle of the grid are watched: as many as stay
below this number, and at least one.
"""

REQUESTS = 4096
"""Maximum number of recorded requests of the first warp; they show the strides between its threads."""

MORE_STEPS = 4
"""Factor of K at which it is tried whether barriers between two lines are all that a loop lacks."""

USUAL_STEP = 16
"""Least K that is multiplied by it: a step of the loop in most kernels."""

MOST_BARRIERS = 3
"""Maximum number of times that further missing barriers are tried."""

Sanitize = Callable[[Variant, Problem], tuple[ToolVerdict, ...]]
"""Function that runs compute-sanitizer on a variant and a problem."""


@dataclass(frozen=True)
class CheckResult:
    """The result of checking one variant in one element type at all sizes.

    Attributes:
        sizes: sizes that were checked, as M x N x K.
        skipped: sizes that were not checked, each with the reason.
        watched: for each size, the number of watched blocks and the number of all blocks.
        reason: why the check failed or was skipped; empty otherwise.
        source: hash of the program's text.
        sanitizer: verdicts of compute-sanitizer; empty if it was not run.
        remark: what the check could not decide, in a sentence; empty if it decided everything.
        right_where: the sizes at which a kernel that is wrong at others is right, in words; empty if unknown.
        untried: element types, parts of the program and its own size, in words, if they were not checked.
    """

    method: str
    params: dict[str, Value]
    dtype: str
    file: str
    status: Status
    reason: str = ""
    mistakes: tuple[Mistake, ...] = ()
    sizes: tuple[str, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    watched: dict[str, tuple[int, int]] = field(default_factory=dict)
    source: str = ""
    sanitizer: tuple[ToolVerdict, ...] = ()
    chosen_by: ChosenBy = ""
    remark: str = ""
    right_where: str = ""
    untried: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Mistake, ...]:
        """Mistakes that make the kernel wrong."""
        return tuple(mistake for mistake in self.mistakes if mistake.severity == "error")

    @property
    def advice(self) -> tuple[Mistake, ...]:
        """Mistakes that make the kernel slow."""
        return tuple(mistake for mistake in self.mistakes if mistake.severity == "advice")

    @property
    def all_well(self) -> bool:
        """True if neither cudamm nor compute-sanitizer found an error or failed."""
        quiet = not any(verdict.errors or verdict.failed for verdict in self.sanitizer)
        return self.status in ("clean", "skipped") and quiet and not self.shows_nothing

    @property
    def was_not_run(self) -> bool:
        """True if a mistake of the host code kept the kernel from being run at any size."""
        return bool(self.errors) and not self.watched and all(m.kind == "launch" for m in self.errors)

    @property
    def shows_nothing(self) -> bool:
        """True if nothing but 1x1x1 was checked, because the other sizes were skipped."""
        return bool(self.skipped) and self.sizes == ("1x1x1",)

    def record(self) -> dict[str, Any]:
        """Return the entry of `checked` in a `cudamm.check/1` file."""
        names = ("method", "params", "dtype", "file", "status", "reason", "source")
        return (
            {name: getattr(self, name) for name in names}
            | chosen_record(self.chosen_by)
            | {
                "errors": len(self.errors),
                "advice": len(self.advice),
                "sizes": list(self.sizes),
                "skipped": [{"size": size, "reason": reason} for size, reason in self.skipped],
                "blocks_watched": {size: list(counts) for size, counts in self.watched.items()},
                "remark": self.remark,
                "right_where": self.right_where,
                "untried": list(self.untried),
                "compute_sanitizer": [dataclasses.asdict(verdict) for verdict in self.sanitizer],
            }
        )

    def mistake_records(self) -> list[dict[str, Any]]:
        """Return the rows of a `cudamm.check/1` file, one for each mistake."""
        return [self._mistake_record(mistake) for mistake in self.mistakes]

    def _mistake_record(self, mistake: Mistake) -> dict[str, Any]:
        m, n, k = map(int, mistake.sizes[0].split("x")) if mistake.sizes else (None, None, None)
        return {
            "method": self.method,
            "params": self.params,
            "m": m,
            "n": n,
            "k": k,
            "dtype": self.dtype,
            "kind": mistake.kind,
            "severity": mistake.severity,
            "file": mistake.file,
            "line": mistake.line,
            "source_line": mistake.text,
            "other_line": mistake.other_line,
            "array": mistake.array,
            "element": mistake.element,
            "threads": [dataclasses.asdict(at) for at in mistake.threads],
            "count": mistake.count,
            "sizes": list(mistake.sizes),
            "message": mistake.message,
            "cure": mistake.cure,
        }


@dataclass(frozen=True)
class SharedLimit:
    """The maximum shared memory of a block, static and dynamic together.

    Attributes:
        gpu: the GPU with this limit, for people.
    """

    bytes_per_block: int
    gpu: str

    def exceeded_by(self, source: Program, static_bytes: int, launch: Launch, size: str) -> list[Mistake]:
        """Return the mistake if a launch needs more shared memory; empty if it does not.

        Args:
            static_bytes: static shared memory of a block.
            size: M x N x K as asked for, before padding.
        """
        if static_bytes > STATIC_SHARED_BYTES:
            return [shared_memory_limit(source, static_bytes, STATIC_SHARED_BYTES, "", size)]
        needed = static_bytes + launch.shared_bytes
        if needed > self.bytes_per_block:
            return [shared_memory_limit(source, needed, self.bytes_per_block, self.gpu, size)]
        return []


def check_all(
    executor: LocalExecutor,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    limit: SharedLimit,
    progress: Progress,
    sanitize: Sanitize | None = None,
    timeout_s: float = TIMEOUT_S,
    *,
    arch: str | None = None,
    advises: bool = False,
    keeps_consequences: bool = False,
) -> Iterator[CheckResult]:
    """Check each variant in each element type at all of its sizes; yield each result when it is complete.

    Args:
        executor: an executor on the CPU device, which verifies the products.
        sanitize: runs compute-sanitizer on a variant; None: compute-sanitizer is not run.
        timeout_s: time limit in seconds for a block of threads.
        arch: the architecture for which nvcc merges accesses; None: advice takes them as written.
        advises: skip a size that would take longer than the time limit, and look for the sizes at which a
            wrong kernel is right.
        keeps_consequences: report each kind of mistake that was observed, also if it follows from another.

    Raises:
        UsageError: the request is impossible; raised before the first launch.
        NoDeviceError: there is no C++ compiler.
    """
    checks = _planned(executor, cases, fmad, limit)
    compiled = _compiled([check.case for check in checks if check.case is not None], executor, progress)
    groups: dict[tuple[Variant, str], list[_SizeCheck]] = {}
    for check in checks:
        groups.setdefault((check.variant, check.problem.element.name), []).append(check)
    counter = itertools.count()
    for (variant, dtype), group in groups.items():
        for check in sorted(group, key=lambda check: check.problem.scale != UNSCALED):
            progress(f"checking {variant} at {check.size} {dtype}", next(counter), len(cases))
            hung = next(
                (c for c in group if c.hung and hangs_too(c.problem.shape, check.problem.shape)), None
            )
            is_scaled = check.problem.scale != UNSCALED
            if hung is not None:
                check.skipped = f"not run: it hung at {hung.size}"
            elif is_scaled and not check.errors and _is_wrong_in_part(group):
                check.skipped = "not run with the program's alpha and beta: the kernel is wrong with 1 and 0"
            elif check.case is not None:
                check.case = dataclasses.replace(check.case, compiled=compiled.get(check.case.program))
                _check_size(executor, check.case, limit, check, timeout_s, advises)
        has_cause = _look_for_cause(executor, group, limit, timeout_s, keeps_consequences)
        right_where = _right_where(executor, group) if advises else None
        if right_where is not None and not has_cause:
            _explain_by_requirement(group, right_where)
        result = _result(variant, dtype, group, sanitize, str(right_where or ""))
        if not result.errors or keeps_consequences:  # a kernel is made right first: advice is for later
            advice = _advice(group, arch, timeout_s)
            result = dataclasses.replace(result, mistakes=(*result.mistakes, *advice))
        yield result


def _is_wrong_in_part(group: Sequence[_SizeCheck]) -> bool:
    """Return whether a variant is wrong at some sizes with alpha = 1 and beta = 0, and right at others."""
    unscaled = [bool(check.errors) for check in group if check.problem.scale == UNSCALED]
    return any(unscaled) and not all(unscaled)


@dataclass
class _SizeCheck:
    """The check of one variant at one size, and what it found.

    Attributes:
        case: None if planning showed that the variant cannot be launched.
        failed: why the launch could not be watched; empty if it could.
        remark: as in `CheckResult`.
        watched: number of watched blocks and number of all blocks; None if the launch did not finish.
        hung: the kernel did not answer in time.
        is_explained: the last of the errors is a wrong product, and its message begins with the cause.
        cause: that cause.
        observation: what was observed, if the launch finished.
        explains_races: that cause may also be the one of a race on C, at any size.
    """

    variant: Variant
    problem: Problem
    case: Case | None = None
    errors: list[Mistake] = field(default_factory=list)
    observation: Observation | None = None
    skipped: str = ""
    failed: str = ""
    remark: str = ""
    watched: tuple[int, int] | None = None
    hung: bool = False
    is_explained: bool = False
    cause: str = ""
    explains_races: bool = False

    @property
    def size(self) -> str:
        """M x N x K as asked for, before padding."""
        return str(self.problem.shape)

    @property
    def is_partly_watched(self) -> bool:
        """Return whether some blocks of the launch were not watched."""
        return self.watched is not None and self.watched[0] < self.watched[1]

    @property
    def work(self) -> int:
        """Number of multiplications."""
        return self.problem.shape.m * self.problem.shape.n * self.problem.shape.k


def _planned(
    executor: LocalExecutor, cases: Sequence[tuple[Variant, Problem]], fmad: bool, limit: SharedLimit
) -> list[_SizeCheck]:
    """Plan each case.

    Too much shared memory and an empty grid become mistakes of that case here, so that the other sizes are
    checked.
    """
    checks = [_SizeCheck(variant, problem) for variant, problem in cases]
    for check in checks:
        if unsupported_reason(check.variant.method, executor.target.limits):
            continue  # `plan_all` reports it below
        source = program(check.variant, check.problem.element, fmad, check.problem.shape)
        try:
            launch = plan(check.variant, check.problem.shape, check.problem.element, check.problem.scale)
            if check.variant.method.is_kernel:
                check_block(source, launch)
        except RequirementError:
            continue  # `plan_all` reports it below
        except KernelError as error:  # the grid is empty at this size, or the block is too large
            method = check.variant.method
            file, line = method.shown_at(str(error))
            text = source.line_text(line, file)
            file = file or method.path.name
            message, _, cure = str(error).partition("; ")
            check.errors = [Mistake("launch", message, cure, file, line, text, sizes=(check.size,))]
            continue
        check.errors = limit.exceeded_by(source, 0, launch, check.size)
    feasible = [check for check in checks if not check.errors]
    if feasible:
        planned = plan_all(
            executor, [(check.variant, check.problem) for check in feasible], fmad, verified=True
        )
        for position, (check, case) in enumerate(zip(feasible, planned, strict=True)):
            check.case = dataclasses.replace(case, position=position)
    return checks


def _check_size(
    executor: LocalExecutor,
    case: Case,
    limit: SharedLimit,
    check: _SizeCheck,
    timeout_s: float,
    advises: bool,
) -> None:
    """Verify and watch a case, and store what was found in `check`."""
    if case.skipped or case.launch is None:
        check.skipped = case.skipped
        return
    if isinstance(case.compiled, KernelError):
        static_bytes = _declared_bytes(case.compiled)
        check.errors = limit.exceeded_by(case.program, static_bytes, case.launch, check.size)
        check.failed = "" if check.errors else str(case.compiled)
        return
    try:
        # Verify first: verification ends a kernel that hangs, which then is not watched.
        verify = functools.partial(verified_in_time, executor) if advises else executor.verify
        verdict = verify(case, thorough=True)
        observation, errors = _observed_mistakes(case, case.launch, verdict, timeout_s)
    except UnfinishedError as error:
        check.skipped = str(error)
        return
    except KernelError as error:
        file = case.variant.method.path.name
        check.hung = isinstance(error, HangError)
        hung = Mistake("crash", str(error), file=file, sizes=(check.size,))
        check.errors = (endless_loop(case) if check.hung else []) or [hung]
        return
    check.remark = _remark(observation, case)
    static_bytes = _static_bytes(observation, case.program)
    check.errors = limit.exceeded_by(case.program, static_bytes, case.launch, check.size) + errors
    check.explains_races = explains_races(verdict)
    has_cause = verdict.cause not in ("", ORDER_MATTERS)
    check.cause = verdict.cause
    check.is_explained = has_cause and bool(errors) and errors[-1].kind == "wrong-result"
    if not observation.ended:
        check.watched = len(observation.blocks), case.launch.blocks
        check.observation = observation
    case.problem.release()


def _observed_mistakes(
    case: Case, launch: Launch, verdict: Verdict, timeout_s: float
) -> tuple[Observation, list[Mistake]]:
    """Watch a case, and return what was observed and the mistakes that make it wrong.

    Raises:
        KernelError: the launch could not be watched.
    """
    observation = _observed(case, launch, timeout_s)
    mistakes = errors_of(observation, verdict, case.program, launch, str(case.problem.shape))
    is_unset = UNSET_LOCAL in verdict.reason
    races = [mistake for mistake in mistakes if mistake.kind == "race" and is_unset]
    if mistakes and all(m in races or m.kind in ("wrong-result", "crash") for m in mistakes):
        hidden = hidden_mistakes(
            case,
            launch,
            verdict,
            lambda: _observed(case, launch, timeout_s, trapped=True),
            lambda: _overrun(case, launch, timeout_s),
        )
        # The crash, or the wrong product, follows from them.
        follows = any(
            mistake.kind in ("out-of-bounds", "uninitialised") or mistake.cure == IN_OWN_TYPE
            for mistake in hidden
        )
        mistakes = [*hidden, *(races if follows else mistakes)]
    elif not observation.ended:
        mistakes = with_overrun(mistakes, case, launch, lambda: _overrun(case, launch, timeout_s))
    return observation, mistakes


def _overrun(case: Case, launch: Launch, timeout_s: float) -> Fault | None:
    """Return the first access beside a thread's local variables; None if there is none."""
    c = case.problem.output if case.problem.scale.beta else None
    inputs, blocks = padded(launch, *case.problem.inputs), _chosen_blocks(launch, launch.grid)
    return overrun_of_variable(case.program, launch, *inputs, blocks=blocks, c=c, timeout_s=timeout_s)


def _look_for_cause(
    executor: LocalExecutor,
    checks: Sequence[_SizeCheck],
    limit: SharedLimit,
    timeout_s: float,
    keeps_consequences: bool,
) -> bool:
    """Look for one cause of a variant's mistakes beside missing barriers; drop what follows from them.

    Args:
        keeps_consequences: drop none, and give accesses outside of a matrix the cure of the cause.

    Returns:
        Whether it is proven.
    """
    races = [[mistake for mistake in check.errors if mistake.barrier] for check in checks]
    is_wrong_anyway = _try_barriers(checks, timeout_s)
    is_wrong_anyway |= any(not mistake.needs_barrier for check in checks for mistake in check.errors)
    unset = merged(m for check in checks for m in check.errors if BEFORE_SET in m.message)
    if is_wrong_anyway and (any(races) or unset) and not keeps_consequences:
        wrong = [
            (check, check.case, seen)
            for check, seen in zip(checks, races, strict=True)
            if check.case is not None and (check.errors or seen)
        ]
        if _look_behind(executor, wrong, unset, limit, timeout_s):
            return True
    return _cause_of_rest(executor, checks, timeout_s, keeps_consequences)


def _look_behind(
    executor: LocalExecutor,
    wrong: Sequence[tuple[_SizeCheck, Case, list[Mistake]]],
    unset: Sequence[Mistake],
    limit: SharedLimit,
    timeout_s: float,
) -> bool:
    """Look for what is wrong once races have their barriers and variables a value; report it beside these.

    Args:
        wrong: the checks that are not clean, their cases and their races.
        unset: the variables that are used before they are set.

    Returns:
        Whether all is explained.
    """
    racing, case, races = max(wrong, key=lambda each: len(each[2]))
    barriers = _are_all_barriers(case, races, timeout_s, is_wrong_anyway=True) if races else _Barriers(True)
    if barriers.hidden and _ends_races(case, _end_of_loop(races), timeout_s):  # one instead of several
        barriers = _Barriers(True, places=frozenset(_end_of_loop(races)))
        wrong = [(check, of, [_at_end_of_loop(seen, of)] if seen else []) for check, of, seen in wrong]
    variant = _mended(case.variant, barriers, unset) if barriers.are_enough else None
    if variant is None:
        return False
    rest = [_checked_as(executor, check, case, variant, limit, timeout_s) for check, case, _ in wrong]
    if not unset and (hidden := merged(m for left in rest for m in left.errors if BEFORE_SET in m.message)):
        return _look_behind(executor, wrong, hidden, limit, timeout_s)  # a race kept them from being seen
    is_clean = not any(check.errors or check.failed or check.skipped for check in rest)
    if not is_clean and not _cause_of_rest(executor, rest, timeout_s, keeps_consequences=False):
        return False
    follow = bool(races) and _do_races_follow(_case_of(case, variant), timeout_s)
    for (check, _, races), left in zip(wrong, rest, strict=True):
        if left.failed or left.skipped:
            continue
        races = [] if follow else races
        further = barriers.hidden if check is racing and not follow else ()
        of_values = [dataclasses.replace(mistake, sizes=(check.size,)) for mistake in unset]
        check.errors, check.is_explained = [*of_values, *races, *further, *left.errors], left.is_explained
    return True


def _do_races_follow(case: Case, timeout_s: float) -> bool:
    """Return whether a case with added barriers needs none of them once its other mistake is undone.

    So it is if each thread reads what it wrote itself, to the wrong one of two buffers.
    """
    cause = proven_cause([case])[0]
    if cause is None or case.launch is None or not (cause.has_change and cause.fits(case.launch)):
        return False
    try:
        changed = cause.applied(case)
        text = changed.program.text.replace(ADDED_BARRIER, "")
        without_barriers, mistakes = _observed_with(changed, text, timeout_s)
        return not mistakes and is_right(without_barriers)
    except KernelError:
        return False


def _mended(variant: Variant, barriers: _Barriers, unset: Sequence[Mistake] = ()) -> Variant | None:
    """Return a variant whose kernel has further barriers, and a value for each variable that is not set.

    None if there is no place for one of them.
    """
    method = variant.method
    named, file = line_directive(method.path.name) + "\n", method.path.name
    code: str | None = named + method.code
    if barriers.places:
        code = with_barriers(named + method.code, file, barriers.places, is_innermost=barriers.are_innermost)
    if code is not None and unset:
        code = with_values_of_locals(code, file, {(m.line, local_variable_of(m)) for m in unset})
    if code is None:
        return None
    return dataclasses.replace(variant, method=dataclasses.replace(method, code=code.removeprefix(named)))


def _checked_as(
    executor: LocalExecutor,
    check: _SizeCheck,
    case: Case,
    variant: Variant,
    limit: SharedLimit,
    timeout_s: float,
) -> _SizeCheck:
    """Return the check of a case with another kernel."""
    changed = _case_of(case, variant)
    found = _SizeCheck(variant, check.problem, changed)
    _check_size(executor, changed, limit, found, timeout_s, advises=True)
    return found


def _case_of(case: Case, variant: Variant) -> Case:
    """Return a case with another kernel, compiled."""
    source = program(variant, case.problem.element, case.fmad, case.problem.shape)
    return dataclasses.replace(case, variant=variant, program=source, compiled=compile_for_host(source))


def _cause_of_rest(
    executor: LocalExecutor, checks: Sequence[_SizeCheck], timeout_s: float, keeps_consequences: bool
) -> bool:
    """Look for one cause of mistakes that no missing barrier explains, as `_look_for_cause`."""
    errors = [mistake for check in checks for mistake in check.errors]
    # At a size, numbers that are cut may not be told from wrong ones, nor a sum that begins with any number.
    hidden = [m for m in errors if m.cure == IN_OWN_TYPE or BEFORE_SET in m.message]
    for check in checks:
        if hidden and check.errors and all(m.kind == "wrong-result" for m in check.errors):
            check.errors, check.is_explained = [dataclasses.replace(hidden[0], sizes=(check.size,))], False
    failed = {
        check.size: (check, check.case)
        for check in checks
        if check.case is not None
        and not check.hung  # each trial would take its whole time
        and may_follow_from_another(check.errors, check.case.program)
    }
    cause, multiple = proven_cause([case for _, case in failed.values()])
    errors = [mistake for check, _ in failed.values() for mistake in check.errors]
    outside = beyond_edges(errors)
    # The sizes have one mistake, which is reported as it was seen first.
    at_first = next((check.errors for check, _ in failed.values()), [])
    left = {
        check.size: [] if cause is None else _remaining(executor, case, cause, timeout_s)
        for check, case in failed.values()
        if not keeps_consequences
    }
    # A cause is no cause of an access that is still there without it.
    stays = bool(cause) and bool(at_first) and not _without(at_first, next(iter(left.values()), []))
    beyond = next((mistake for mistake in at_first if mistake.kind == "out-of-bounds"), None)
    kinds = {mistake.kind for mistake in errors}
    is_unset = kinds == {"uninitialised"}
    kind: Kind = "out-of-bounds" if beyond and not stays else "wrong-result"
    if len(kinds) == 1 and kinds <= {"uninitialised", "race"}:  # then the product may be right
        (kind,) = kinds
    array = beyond.array if beyond and not stays else at_first[0].array if is_unset else "C"
    effects = {
        check.size: _effects(executor, cause, check, case, left[check.size], timeout_s)
        for check, case in failed.values()
        if cause is not None and not keeps_consequences
    }
    kinds_of = {} if cause is None else _kinds_of(cause, effects.values(), kind, array)
    harmless: list[Mistake] | None = None  # not looked for yet
    for check, case in failed.values():
        explained = check.errors[-1:] if check.is_explained else []
        if keeps_consequences:
            cure = cause.cure if cause else bounds_cure(case.program, multiple)
            check.errors = [
                dataclasses.replace(m, cure=cure) if is_outside_of_matrix(m) else m for m in check.errors
            ]
        elif cause is not None and (shown := effects[check.size]):
            is_cause_known = check.errors[:1] == explained
            messages = {mistake.message for mistake in check.errors}
            first, gone = shown[0]
            beside = (m for m in gone if m.kind == "out-of-bounds" and m.array == cause.array)
            of_kind = (m for m in gone if m.kind == kind)
            known = check.errors[:1] if is_cause_known else ()
            seen = next(itertools.chain(known, beside, of_kind, gone), check.errors[0])
            if is_cause_known and not cause.is_of_index:  # what the product suggested is not what is proven
                seen = dataclasses.replace(seen, message=seen.message.removeprefix(f"{check.cause}; "))
                is_cause_known = False
            found = []
            for each, gone in shown:
                access = next((m for m in gone if m.kind == "out-of-bounds"), None)
                is_of_all = len(shown) > 1 and seen.kind == "wrong-result"  # a product shows all mistakes
                at_this = access if each is not first or is_of_all else seen if gone else None
                if access is not None and at_this is access and first.line and access.message not in messages:
                    message = f"once line {first.line} is mended, {access.message}"
                    at_this = dataclasses.replace(access, message=message)
                mistake = proven(at_this or seen, each, case.program, is_explained=is_cause_known)
                if at_this is None:  # what was seen is said once
                    mistake = dataclasses.replace(mistake, message=each.mistake)
                its_kind, its_array = kinds_of[each.place]
                found.append(dataclasses.replace(mistake, kind=its_kind, array=its_array))
            remaining = left[check.size]
            if not _without(check.errors, remaining):
                found[:1] = [dataclasses.replace(found[0], message=first.mistake)]
            check.errors = [*found, *(m for m in remaining if any(m.is_same(seen) for seen in check.errors))]
            check.is_explained = False
            case.problem.release()
            if cause.is_of_block:
                _explain_by_block(checks, found[0])
        elif multiple is not None and outside:
            if harmless is None:
                harmless = _harmless_at_whole_k(
                    executor, [c for c, _ in failed.values()], multiple, timeout_s
                )
            rest = [m for m in check.errors if not any(map(m.is_same, harmless))]
            rest = without_bounds_check(rest, outside, case.program, multiple)
            check.errors = [*(mistake for mistake in rest if mistake not in explained), *explained]
    in_tile = [m for m in errors if m.kind == "misaligned" and m.array not in ("A", "B", "C")]
    if in_tile and cause is None and not keeps_consequences:  # the other elements of the vector are wrong
        for check, _ in failed.values():
            rest = [m for m in check.errors if m.kind not in ("wrong-result", "crash")]
            check.errors = rest or [dataclasses.replace(in_tile[0], sizes=(check.size,))]
    is_of_bounds = multiple is not None and outside and all(m.kind != "misaligned" for m in errors)
    return cause is not None or bool(is_of_bounds)


def _harmless_at_whole_k(
    executor: LocalExecutor, checks: Sequence[_SizeCheck], multiple: int, timeout_s: float
) -> list[Mistake]:
    """Return the reads of unset elements that spoil no product where only K is a multiple of a number.

    Only threads beyond the edges of C read those elements: their sums are not stored.
    """
    check = next((c for c in checks if any(m.kind == "uninitialised" for m in c.errors)), None)
    if check is None or check.case is None:
        return []
    m, n, k = check.problem.shape.extents
    try:
        case = case_at(check.case, Shape(m, n, -(-k // multiple) * multiple))
        assert case.launch is not None  # noqa: S101 - the case was launched at another K before
        verdict = executor.verify(case, thorough=True)
        if not verdict.correct or _observed_mistakes(case, case.launch, verdict, timeout_s)[1]:
            return []
        return [mistake for mistake in check.errors if mistake.kind == "uninitialised"]
    except (KernelError, UsageError):
        return []


def _effects(
    executor: LocalExecutor,
    cause: ProvenCause,
    check: _SizeCheck,
    case: Case,
    remaining: list[Mistake],
    timeout_s: float,
) -> list[tuple[ProvenCause, list[Mistake]]]:
    """Return the mistakes of a cause that do harm at the size of a case, each with what is gone without it.

    Args:
        remaining: what is left without all of them.
    """
    shown = [each for each in cause.all if case.launch is None or each.shows_at(case.launch)]
    if len(shown) < 2 or case.launch is None or not all(m.has_change and m.fits(case.launch) for m in shown):
        return [(each, [] if i else check.errors) for i, each in enumerate(shown)]
    effects, before, product = [], check.errors, product_of(case)
    for each in shown:
        is_last = each is cause.all[-1]
        left = remaining if is_last else _remaining(executor, case, each, timeout_s)
        gone, mended = _without(before, left), _product_with(each, case)
        if gone or len(left) != len(before) or mended != product:
            effects.append((each, gone))
        before, product = left, mended
    return effects


def _product_with(cause: ProvenCause, case: Case) -> bytes | None:
    """Return the bytes of the product of a case whose mistake is mended; None if there is none."""
    try:
        return product_of(cause.applied(case))
    except KernelError:
        return None


def _kinds_of(
    cause: ProvenCause,
    effects: Iterable[Sequence[tuple[ProvenCause, Sequence[Mistake]]]],
    kind: Kind,
    array: str,
) -> dict[tuple[str, int], tuple[Kind, str]]:
    """Return the kind and the array of each mistake of a cause, by its place.

    Args:
        effects: what is gone without each mistake, at each size.
        kind, array: those of all that was seen.
    """
    if kind != "out-of-bounds" or len(cause.all) == 1:
        return dict.fromkeys((each.place for each in cause.all), (kind, array))
    gone = [(each.place, m) for at_size in effects for each, mistakes in at_size for m in mistakes]
    outside = {place: m.array for place, m in reversed(gone) if m.kind == "out-of-bounds"}
    return {
        each.place: ("out-of-bounds", outside[each.place]) if each.place in outside else ("wrong-result", "C")
        for each in cause.all
    }


def _without(mistakes: Sequence[Mistake], others: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes that are not among others, with the same message."""
    known = {other.message for other in others}
    return [m for m in mistakes if m.message not in known or not any(map(m.is_same, others))]


def _try_barriers(checks: Sequence[_SizeCheck], timeout_s: float) -> bool:
    """Try the missing barriers of a variant; return whether a size has another mistake with them.

    If a size has none, what else was seen there follows from them. If all have, another mistake is the cause,
    and the races stay without a cure.
    """
    lacking = [(check, check.case) for check in checks if check.case and any(m.barrier for m in check.errors)]
    cured: list[bool | None] = []
    seen: list[Mistake] = []
    at_more_steps: list[Mistake] = []
    shows_much = False
    for check, case in sorted(lacking, key=lambda pair: pair[0].work):
        races = [mistake for mistake in check.errors if mistake.barrier]
        if len(races) == len(check.errors) and shows_much and any(cured):
            continue
        unset = [mistake for mistake in check.errors if BEFORE_SET in mistake.message]
        cured.append(_are_all_barriers(case, races, timeout_s, is_wrong_anyway=bool(unset)).are_enough)
        case.problem.release()
        shows_much |= min(check.problem.shape.extents) > 1  # a product of two numbers is right with any index
        if cured[-1]:
            check.errors, check.is_explained = [*unset, *races], False
            if not at_more_steps:
                seen, at_more_steps = races, _barriers_of_more_steps(case, races, timeout_s)
    of_barriers = [check for check, _ in lacking if all(m.barrier for m in check.errors)]
    if at_more_steps[: len(seen)] == seen:
        deepest = max(of_barriers, key=lambda check: check.problem.shape.k, default=None)
        if deepest is not None:
            further = at_more_steps[len(seen) :]
            deepest.errors += [dataclasses.replace(race, sizes=(deepest.size,)) for race in further]
    else:
        for check in of_barriers:
            check.errors = [dataclasses.replace(race, sizes=(check.size,)) for race in at_more_steps]
    if cured and not any(is_cured or is_cured is None for is_cured in cured):
        for check, _ in lacking:
            check.errors = [without_cure(m) if m.barrier else m for m in check.errors]
    unplaced = [check for check in checks if any(map(_without_place, check.errors))]
    first = next((check.case for check in unplaced if check.case is not None), None)
    if first is not None and not _is_right_with_all_barriers(first, timeout_s):
        for check in unplaced:
            check.errors = [without_cure(m) if _without_place(m) else m for m in check.errors]
    return False in cured


def _without_place(mistake: Mistake) -> bool:
    """Return whether a race lacks a barrier at no known place, as in a function that is called twice."""
    return mistake.needs_barrier and not any(mistake.barrier_lines)


def _is_right_with_all_barriers(case: Case, timeout_s: float) -> bool:
    """Return whether a kernel is right, without a fault, with a barrier after each statement."""
    text = with_all_barriers(case.program.text, case.program.entry)
    try:
        changed, mistakes = _observed_with(case, text, timeout_s)
        return not mistakes and is_right(changed)
    except KernelError:
        return False
    finally:
        case.problem.release()


def _barriers_of_more_steps(case: Case, races: Sequence[Mistake], timeout_s: float) -> list[Mistake]:
    """Return the races if the barriers that they lack are enough with more steps of the loop, too.

    Otherwise, return one that a barrier at the end of the loop ends: so it is with two buffers, of which each
    step reads one and writes the other. Or return the races, and those that show once they are mended.
    """
    m, n, k = case.problem.shape.extents
    deeper = MORE_STEPS * max(k, USUAL_STEP)
    try:
        case = case_at(case, Shape(deeper, deeper, deeper) if m == n == k else Shape(m, n, deeper))
    except (KernelError, UsageError):
        return list(races)
    places, end = _places_of(races), _end_of_loop(races)
    if any(race.warp_barrier for race in races) or _is_enough(case, places, timeout_s):
        return list(races)
    if not _is_enough(case, end, timeout_s):
        found = _are_all_barriers(case, races, timeout_s)
        return [*races, *found.hidden] if found.are_enough else list(races)
    return [_at_end_of_loop(races, case)]


def _end_of_loop(races: Sequence[Mistake]) -> set[tuple[int, int, bool]]:
    """Return the place at the end of the loop of some races, as `with_barriers` takes it."""
    lines = [line for race in races for line in race.barrier_lines]
    return {(max(lines), min(lines), True)}


def _at_end_of_loop(races: Sequence[Mistake], case: Case) -> Mistake:
    """Return the first of some races, with a barrier at the end of the loop as the cure of all."""
    ((last, first, _),) = _end_of_loop(races)
    loop = line_of_loop(case.program.text, case.variant.method.path.name, last, first)
    cure = f"put __syncthreads() at the end of the loop's body, after line {last}"
    cure += f", of the loop in line {loop}" * bool(loop)
    return dataclasses.replace(without_cure(races[0]), cure=cure, needs_barrier=True)


def _is_enough(case: Case, places: set[tuple[int, int, bool]], timeout_s: float) -> bool:
    """Return whether barriers at some places leave no mistake, and give the right product."""
    try:
        tried = _with_barriers(case, places, timeout_s, is_innermost=False)
    except KernelError:
        return False
    return tried is not None and not tried[1] and is_right(tried[0])


def _ends_races(case: Case, places: set[tuple[int, int, bool]], timeout_s: float) -> bool:
    """Return whether barriers at some places leave no race."""
    try:
        tried = _with_barriers(case, places, timeout_s, is_innermost=False)
    except KernelError:
        return False
    return tried is not None and not any(mistake.needs_barrier for mistake in tried[1])


def _with_barriers(
    case: Case, places: set[tuple[int, int, bool]], timeout_s: float, *, is_innermost: bool
) -> tuple[Case, list[Mistake]] | None:
    """Return a case with further barriers, and its mistakes; None if there is no place for one of them.

    Raises:
        KernelError: a barrier cannot be where it is put.
    """
    name = case.variant.method.path.name
    text = with_barriers(case.program.text, name, places, is_innermost=is_innermost)
    return None if text is None else _observed_with(case, text, timeout_s)


def _observed_with(case: Case, text: str, timeout_s: float) -> tuple[Case, list[Mistake]]:
    """Return a case with another text of its program, and its mistakes.

    Raises:
        KernelError: the text does not compile, or its kernel cannot be watched.
    """
    source = dataclasses.replace(case.program, text=text)
    changed = dataclasses.replace(case, program=source, compiled=compile_for_host(source))
    assert changed.launch is not None  # noqa: S101 - the case was launched before
    seen = _observed(changed, changed.launch, timeout_s)
    return changed, errors_of(seen, None, source, changed.launch, str(case.problem.shape))


@dataclass(frozen=True)
class _Barriers:
    """What the barriers do that races lack.

    Attributes:
        are_enough: whether they are all that a case lacks; None if it is not known where to put them.
        hidden: the races that show once those seen are mended.
        places: where they are put, as `with_barriers` takes them.
        are_innermost: as for `with_barriers`.
    """

    are_enough: bool | None
    hidden: tuple[Mistake, ...] = ()
    places: frozenset[tuple[int, int, bool]] = frozenset()
    are_innermost: bool = False


def _are_all_barriers(
    case: Case, races: Sequence[Mistake], timeout_s: float, *, is_wrong_anyway: bool = False
) -> _Barriers:
    """Return whether barriers are all that a case lacks.

    Args:
        is_wrong_anyway: the product is wrong for another reason too: barriers only have to end the races.
    """
    name = case.variant.method.path.name
    if case.problem.scale != UNSCALED or any(m.warp_barrier or m.file != name for m in races):
        return _Barriers(None)
    try:
        with_all = functools.partial(_with_all_of, case, races, timeout_s, is_wrong_anyway=is_wrong_anyway)
        found = with_all(is_innermost=False)
        return found if found.are_enough else with_all(is_innermost=True)
    except KernelError:
        return _Barriers(None)


def _with_all_of(
    case: Case, races: Sequence[Mistake], timeout_s: float, *, is_innermost: bool, is_wrong_anyway: bool
) -> _Barriers:
    """Return as `_are_all_barriers`. A barrier may show that another one is missing too.

    Raises:
        KernelError: a barrier cannot be where it is put.
    """
    places: set[tuple[int, int, bool]] = set()
    hidden: list[Mistake] = []
    for _ in range(MOST_BARRIERS):
        missing = _places_of(races)
        if missing <= places:  # the end of the loop may lack one too
            races = [in_next_step(race) for race in races]
            missing = _places_of(races)
        if missing <= places:
            break
        if places:
            hidden += [dataclasses.replace(race, message=f"{ONCE_MENDED} {race.message}") for race in races]
        places |= missing
        tried = _with_barriers(case, places, timeout_s, is_innermost=is_innermost)
        if tried is None:
            return _Barriers(None)
        changed, found = tried
        if not found or (is_wrong_anyway and not any(mistake.needs_barrier for mistake in found)):
            are_enough = is_wrong_anyway or is_right(changed)
            return _Barriers(are_enough, tuple(hidden), frozenset(places), is_innermost)
        races = [mistake for mistake in found if mistake.barrier]
    return _Barriers(False)


def _places_of(races: Sequence[Mistake]) -> set[tuple[int, int, bool]]:
    """Return the places of the barriers that races lack, for `with_barriers`."""
    return {(*race.barrier_lines, race.barrier in (AFTER_READING, "before reading")) for race in races}


def _explain_by_block(checks: Sequence[_SizeCheck], first: Mistake) -> None:
    """Replace each index of a thread beyond its tile by a proven mistake in the block's extents."""
    for check in checks:
        if any(mistake.cure == BLOCK_LIKE_TILE for mistake in check.errors):
            others = [mistake for mistake in check.errors if mistake.cure != BLOCK_LIKE_TILE]
            check.errors = [dataclasses.replace(first, sizes=(check.size,)), *others]


def _remaining(executor: LocalExecutor, case: Case, cause: ProvenCause, timeout_s: float) -> list[Mistake]:
    """Return the mistakes of a case that are still there when its proven mistake is undone.

    A change may be incomplete, such as in one of two stores to a tile: its own faults are none of the kernel.
    With the sizes in another order, another size may have to be a multiple.
    """
    assert case.launch is not None  # noqa: S101 - the case was launched before
    if not (cause.has_change and cause.fits(case.launch)):
        return []
    try:
        changed = cause.applied(case)
        assert changed.launch is not None  # noqa: S101 - the same
        if changed.launch.arguments != case.launch.arguments and not _are_all_multiples(case):
            return []
        verdict = executor.verify(changed, thorough=True)
        return _observed_mistakes(changed, changed.launch, verdict, timeout_s)[1]
    except KernelError as error:
        return [
            Mistake("crash", str(error), file=case.variant.method.path.name, sizes=(str(case.problem.shape),))
        ]


def _are_all_multiples(case: Case) -> bool:
    """Return whether M, N and K are multiples of each number of which one of them has to be a multiple."""
    required = [multiple for each in case.variant.method.requires if (multiple := each.multiple)]
    names = case.variant.names(case.problem.element, *case.problem.shape.extents)
    steps = [step.whole(names) for _, step in required]
    assert case.launch is not None  # noqa: S101 - the case was launched
    return not any(extent % step for step in steps for extent in case.launch.shape.extents)


def _with_effect(mistakes: Sequence[Mistake]) -> list[Mistake]:
    """Return the mistakes of a kernel with a right product, without those that do no harm to it.

    Published kernels read C for beta before they look whether the element is within C, and use the value only
    then; and GPUs since compute capability 7.0 do not wait for threads that have left. `check` reports these
    reads, also as races, and these threads; they do not fail a right product.
    """

    def loads(mistake: Mistake) -> set[int]:
        # A far access may end the kernel while it is watched. A store there would have ended it before.
        return {at.line for at in mistake.threads if at.op in ("load", "")} if mistake.array == "C" else set()

    outside = [loads(mistake) for mistake in mistakes if mistake.kind == "out-of-bounds"]
    unused = set().union(*outside)
    return [m for m in mistakes if not loads(m) & unused and LEFT_THE_KERNEL not in m.message]


def observed_cause(case: Case, verdict: Verdict, timeout_s: float = TIMEOUT_S) -> str | None:
    """Watch a case, and return its mistake, or the cause of its wrong product, in a sentence; empty for none.

    None if it cannot be watched.

    Args:
        verdict: the verdict on its product.
    """
    if (
        case.launch is None
        or case.variant.method.language != "cuda"
        or case.problem.shape.elements > MOST_WATCHED
    ):
        return None
    try:
        _, mistakes = _observed_mistakes(case, case.launch, verdict, timeout_s)
    except (KernelError, NoDeviceError):
        return None  # a wrong verdict has a reason of its own
    if verdict.correct:
        mistakes = _with_effect(mistakes)
    races = [mistake for mistake in mistakes if mistake.barrier]
    are_all = _are_all_barriers(case, races, timeout_s).are_enough if races else None
    if are_all is False:
        behind = _cause_behind_races(case, races, timeout_s)
        if behind is not None:
            mistakes_behind, do_races_follow = behind
            if do_races_follow:
                return mistakes_behind
            return f"{brief(_with_loop(merged(races)[0], case.program.text))}; and {mistakes_behind}"
        mistakes = [without_cure(m) if m.barrier else m for m in mistakes]
    elif are_all:
        mistakes = _barriers_of_more_steps(case, races, timeout_s)
    if any(map(_without_place, mistakes)) and not _is_right_with_all_barriers(case, timeout_s):
        mistakes = [without_cure(m) if _without_place(m) else m for m in mistakes]
    cause, multiple = proven_cause([case] if may_follow_from_another(mistakes, case.program) else [])
    if cause is not None:
        return _stated(cause, case, timeout_s)
    misaligned = next((mistake for mistake in mistakes if mistake.kind == "misaligned"), None)
    if misaligned is not None:  # a kernel for whole vectors leaves the matrices too where they are not whole
        return brief(misaligned)
    outside = beyond_edges(mistakes)
    if multiple is not None and outside:
        return brief(without_bounds_check(mistakes, outside, case.program, multiple)[0])
    other = [m for m in merged(mistakes) if m.kind != "crash" and m.message != verdict.reason]
    found = [_with_loop(mistake, case.program.text) for mistake in other]
    further = (mistake.cure for mistake in found[1:] if found[0].needs_barrier and mistake.needs_barrier)
    return "; and ".join((*map(brief, found[:1]), *further))


def _cause_behind_races(case: Case, races: Sequence[Mistake], timeout_s: float) -> tuple[str, bool] | None:
    """Return what is wrong with the barriers that races lack, and whether these races follow from it."""
    barriers = _are_all_barriers(case, races, timeout_s, is_wrong_anyway=True)
    variant = _mended(case.variant, barriers) if barriers.are_enough else None
    if variant is None:
        return None
    with_barriers_added = _case_of(case, variant)
    cause = proven_cause([with_barriers_added])[0]
    if cause is None:
        return None
    return _stated(cause, with_barriers_added, timeout_s), _do_races_follow(with_barriers_added, timeout_s)


def _stated(cause: ProvenCause, case: Case, timeout_s: float) -> str:
    """Return the mistakes of a cause that do harm in a case, with their places."""
    file = case.variant.method.path.name
    shown = _harmful(cause, case, timeout_s) or cause.all
    # Where one of two places may be wrong, the mistake names one of them only.
    cures = [f"; {m.cure}" if ", or write " in m.cure else "" for m in shown]
    places = [f" ({m.file or file}:{m.line})" if m.line else "" for m in shown]
    return "; and ".join(f"{m.mistake}{at}{cure}" for m, at, cure in zip(shown, places, cures, strict=True))


def _harmful(cause: ProvenCause, case: Case, timeout_s: float) -> Sequence[ProvenCause]:
    """Return the mistakes of a cause without which the product of a case, or what is seen, is another."""
    if (
        len(cause.all) < 2
        or case.launch is None
        or not all(m.has_change and m.fits(case.launch) for m in cause.all)
    ):
        return cause.all

    def seen(of: Case) -> tuple[bytes | None, list[str]]:
        assert of.launch is not None  # noqa: S101 - the case was launched before
        observation = _observed(of, of.launch, timeout_s)
        found = errors_of(observation, None, of.program, of.launch, str(of.problem.shape))
        return product_of(of), [mistake.message for mistake in found]

    try:
        steps = [seen(case), *(seen(each.applied(case)) for each in cause.all)]
    except KernelError:
        return cause.all
    return [
        each
        for each, (before, after) in zip(cause.all, itertools.pairwise(steps), strict=True)
        if before != after
    ]


def _with_loop(mistake: Mistake, text: str) -> Mistake:
    """Return a race with the line of the loop at whose end a barrier is missing."""
    after, before = mistake.barrier_lines
    is_in_loop = mistake.barrier == AFTER_READING and "inside the loop," in mistake.cure
    loop = line_of_loop(text, mistake.file, after, before) if is_in_loop else 0
    cure = mistake.cure
    if loop:
        cure = cure.replace("inside the loop,", f"inside the loop of line {loop},")
        last = re.search(r"after line (\d+), inside", cure)
        end = end_of_inner_loop(text, mistake.file, int(last[1]), loop) if last else 0
        if last and end > int(last[1]):
            cure = cure.replace(last[0], f"after line {end}, where the inner loop ends, inside")
        written = re.search(r"(.*), before line (\d+) writes again", cure)
        if written and int(written[2]) < loop:  # another array is written before that loop
            cure = f"{written[1]}, at its end"
    return dataclasses.replace(mistake, cure=cure)


def _result(
    variant: Variant, dtype: str, checks: Sequence[_SizeCheck], sanitize: Sanitize | None, right_where: str
) -> CheckResult:
    """Combine the checks of one variant at all sizes into its result."""
    finished = [check for check in checks if not check.skipped and not check.failed]
    watched = [check for check in finished if check.watched is not None]
    errors = [mistake for check in checks for mistake in check.errors]
    if any(check.explains_races for check in checks):
        errors = [mistake for mistake in errors if not (mistake.kind == "race" and mistake.array == "C")]
    text = next((check.case.program.text for check in checks if check.case is not None), "")
    seen = merged(_of_one_grid(errors, variant.method.program_size))
    found = [with_condition(with_zero_for_load(_with_loop(mistake, text)), text) for mistake in seen]
    mistakes = with_cause_first(
        found, [mistake for check in checks if check.is_explained for mistake in check.errors[-1:]]
    )
    reason = next((check.failed for check in checks if check.failed), "")
    status: Status = "failed" if reason else "clean"
    if not reason and any(mistake.severity == "error" for mistake in mistakes):
        status = "wrong"
    elif not reason and not finished:
        status, reason = "skipped", checks[0].skipped
    return CheckResult(
        method=variant.method.name,
        params=variant.params,
        dtype=dtype,
        file=variant.method.path.name,
        status=status,
        reason=reason,
        mistakes=mistakes,
        sizes=tuple(check.size for check in finished),
        skipped=tuple((check.size, check.skipped) for check in checks if check.skipped),
        watched={check.size: check.watched for check in watched if check.watched is not None},
        source=next((check.case.program.hash for check in checks if check.case is not None), ""),
        sanitizer=_sanitized(sanitize, finished),
        chosen_by=variant.chosen_by,
        remark=next((check.remark for check in checks if check.remark), ""),
        right_where=right_where,
        untried=_untried(variant, dtype, checks),
    )


def _advice(checks: Sequence[_SizeCheck], arch: str | None, timeout_s: float) -> tuple[Mistake, ...]:
    """Return what makes the launch at the program's size slow, else at the largest, by what `trace` counts.

    Args:
        arch: the architecture for which nvcc merges accesses; None: they are taken as written.
        timeout_s: time limit in seconds for a block of threads.
    """
    # At small sizes most accesses are at an edge of the matrices.
    # A block may depend on the size, so the program's own size comes before larger ones.
    own = checks[0].variant.method.program_size
    watched = (check for check in checks if check.watched)
    check = max(watched, key=lambda of: (of.problem.shape.extents == own, of.work), default=checks[0])
    case, observation = check.case, check.observation
    if case is None or case.launch is None or observation is None:
        return ()
    watched_blocks, launch, program = observation, case.launch, case.program
    try:
        if arch is not None and (selected := with_stores_selected(case, lambda *_: None)) is not case:
            case, observation = selected, _observed(selected, launch, timeout_s)
        if 0 < len(observation.blocks) < launch.blocks:  # a third of them may be at an edge of the grid
            observation = with_counts_of_grid(observation, case, launch, timeout_s)
    except (KernelError, NoDeviceError):
        return ()
    advice = advice_of(observation, program, launch, check.size)
    may_be_merged = any(map(may_be_wide, observation.accesses)) or may_be_joined(observation.accesses)
    if any(mistake.kind == "bank-conflict" for mistake in advice) and may_be_merged:
        lines = lines_as_compiled(case, arch)
        if not isinstance(lines, str):
            joined = joined_lines(observation.accesses, lines, "store")
            # What stores nvcc makes of them, and with which conflicts, is not known.
            stored = {a.array for a in observation.accesses if a.op == "store" and a.line in joined}
            compiled = tuple(
                dataclasses.replace(
                    access,
                    wide_wavefronts=0,
                    wide_ideal_wavefronts=0,
                    wavefronts=access.ideal_wavefronts
                    if (access.space, access.op) == ("shared", "store") and access.array in stored
                    else access.wavefronts,
                )
                for access in as_compiled(observation.accesses, lines)
            )
            observation = dataclasses.replace(observation, accesses=compiled)
            advice = advice_of(observation, program, launch, check.size)
    surplus = surplus_blocks(case, launch, watched_blocks, check.size, timeout_s)
    return merged([*advice, *([surplus] if surplus else [])])


def _of_one_grid(errors: Sequence[Mistake], own_size: tuple[int, int, int] | None) -> Sequence[Mistake]:
    """Return mistakes in which an empty grid is one with too few blocks, if there is such a mistake.

    Args:
        own_size: M, N and K in the program; None if they are not known.
    """
    few = next((mistake for mistake in errors if mistake.message.startswith(FEW_BLOCKS)), None)
    empty = [mistake for mistake in errors if mistake.message.startswith(EMPTY_GRID)]
    if few is None or not empty:
        return errors
    launch, *check = few.cure.partition(AND_CHECK)
    rounded = max((mistake.cure for mistake in empty), key=len)  # for x and y, if it can
    # A grid that was found to be right without a quotient of the program is none that only has to be rounded.
    cure = few.cure if launch.startswith("launch ") and not check[0] else rounded + "".join(check)
    own = str(Shape(*own_size)) if own_size else ""
    at_own = "".join(
        f"the program's own size, {own}, {mistake.message}; " for mistake in empty if own in mistake.sizes
    )
    cured = dataclasses.replace(few, cure=cure, message=at_own + few.message)
    others = (cured if mistake is few else mistake for mistake in errors if mistake not in empty)
    return [*others, *(dataclasses.replace(cured, sizes=mistake.sizes) for mistake in empty)]


def _untried(variant: Variant, dtype: str, checks: Sequence[_SizeCheck]) -> tuple[str, ...]:
    """Return what was not looked at although the kernel may be used so: types, and the program's own size."""
    if variant.method.builtin:
        return ()
    others = [name for name in variant.method.element_types if name != dtype]
    types = [f"other types: {', '.join(others)} (--dtype)"] if others else []
    left_out = variant.method.left_out
    return (*left_out, *types, *own_size_not_run(variant, [check.problem.shape.extents for check in checks]))


def _right_where(executor: LocalExecutor, checks: Sequence[_SizeCheck]) -> RightSizes | None:
    """Return where a user's kernel is right that is wrong at other sizes; None if not known."""
    ran = [check for check in checks if not (check.skipped or check.failed)]
    wrong = [check.case for check in ran if check.errors and check.case is not None]
    is_known = any(check.hung for check in ran) or not wrong or isinstance(wrong[0].compiled, KernelError)
    if is_known or wrong[0].variant.method.builtin:
        return None
    scale = wrong[0].problem.scale
    seen = [fault for check in ran if check.observation for fault in check.observation.faults]
    has_race = any(fault.kind == "race" and fault.space != "shared" for fault in seen)
    known = {
        check.problem.shape: not check.errors
        for check in ran
        if check.problem.scale == scale and not (has_race and check.is_partly_watched)
    }

    def has_fault(shape: Shape) -> bool:
        try:
            case = case_at(wrong[0], shape)
            assert case.launch is not None  # noqa: S101 - `case_at` raises what cannot be launched
            verdict = executor.verify(case, thorough=True)
            return bool(_observed_mistakes(case, case.launch, verdict, TIMEOUT_S)[1])
        except (KernelError, UsageError):
            return True

    found = where_right(executor, wrong[0], known)
    if found is None or found.is_only_own or has_fault(found.shape((1, 1, 1))):
        # The product may be right at more sizes than those without an access beyond the edges.
        watched = where_right(executor, wrong[0], known, lambda shape: not has_fault(shape))
        found = watched or (found and without_faults(found, has_fault))
    if found is None or found.is_only_own:
        return found
    return None if has_fault(found.shape_of_several_blocks(wrong[0])) else found


def _explain_by_requirement(checks: Sequence[_SizeCheck], right: RightSizes) -> None:
    """Replace what is seen only where the sizes are not multiples of a tile or a vector by one mistake.

    It is a misaligned access, else one outside of a matrix: the others follow from it.
    """
    follows = ("misaligned", "out-of-bounds", "wrong-result", "crash")
    wrong = [check for check in checks if check.errors and not right.holds(check.problem.shape)]
    errors = [mistake for check in wrong for mistake in check.errors]
    outside = [m for m in errors if m.kind == "misaligned"] or [m for m in errors if is_outside_of_matrix(m)]
    # Where the grid is empty, nothing follows from the access.
    # Two vectors that reach beyond the ends of rows race on C.
    of_rows = (m for m in errors if not (m.kind == "race" and m.array == "C"))
    has_other = any(m.kind not in follows and not m.message.startswith(EMPTY_GRID) for m in of_rows)
    has_other = has_other or any(check.is_explained for check in wrong)
    if right.steps_by_size is None or not outside or has_other:
        return
    for check in wrong:
        if check.case is not None:
            of = of_requirement(outside[0], check.case.program, right.steps_by_size, check.size)
            check.errors, check.is_explained = [of], False


def _remark(observation: Observation, case: Case) -> str:
    """Return a remark on a kernel that reads C and was verified with β = 0; empty for any other."""
    method = case.variant.method
    beta_of_program = method.program_scale[1] if method.program_scale else 0.0
    is_verified = case.problem.scale.beta or beta_of_program  # which is taken at one size
    if not observation.reads_of_output or is_verified or method.adds_to_zeros:
        return ""
    line = observation.reads_of_output[0].line
    place = f"line {line} of {method.path.name}" if line else method.path.name
    names_beta = re.search(r"\bbeta\b", " ".join(method.arguments), re.IGNORECASE)
    how = "--beta 1 verifies" if names_beta else "name that argument beta in --args, and --beta 1 verifies"
    if names_beta:
        return f"{place} reads C before the kernel writes it, and beta was 0: {how} alpha A B + beta C"
    return (
        f"{place} reads C before the kernel writes it; this may be right, because an argument of 0.0 may be "
        f"beta: {how} alpha A B + beta C"
    )


def _sanitized(sanitize: Sanitize | None, checks: Sequence[_SizeCheck]) -> tuple[ToolVerdict, ...]:
    """Run compute-sanitizer at the largest size only, because each run of a tool takes seconds."""
    if sanitize is None or not checks:
        return ()
    largest = max(checks, key=lambda check: check.work)
    # The tools compute no product, and their launch sets C for a kernel whose beta is 0.
    return sanitize(largest.variant, dataclasses.replace(largest.problem, scale=UNSCALED))


def _observed(case: Case, launch: Launch, timeout_s: float, *, trapped: bool = False) -> Observation:
    """Observe all blocks of a launch, or some blocks of a large one; `trapped` as for `observe`.

    If some of these store nothing, as in a grid that is too large, the last ones that store are observed too.
    """
    watch = Watch(block=0, warp=0, most=REQUESTS)
    inputs = padded(launch, *case.problem.inputs)
    c = case.problem.output if case.problem.scale.beta else None

    def observed(blocks: Sequence[int] | None) -> Observation:
        return observe(
            case.program,
            launch,
            *inputs,
            blocks=blocks,
            watch=watch,
            checked=True,
            c=c,
            trapped=trapped,
            timeout_s=timeout_s,
        )

    blocks = _chosen_blocks(launch, launch.grid)
    first = observed(blocks)
    if blocks is None or first.ended or first.faults or first.storing == set(blocks):
        return first
    extents = storing_extents(launch.grid, lambda probed: observed(probed).storing)
    further = _chosen_blocks(launch, extents) or []
    return first if set(further) <= set(blocks) else observed(sorted({*blocks, *further}))


def _chosen_blocks(launch: Launch, extents: Extents) -> list[int] | None:
    """Return the linear indices of the blocks to watch, or None for all of them.

    Corners come first, because most mistakes show at the edges of the matrices.

    Args:
        extents: number of blocks along each axis of which they are chosen.
    """
    shape = launch.shape
    count = max(1, MOST_WATCHED * launch.blocks // (shape.m * shape.n * shape.k))
    if count >= launch.blocks:
        return None
    gx, gy, _ = launch.grid
    coordinates = (tuple(dict.fromkeys((0, extent - 1, extent // 2))) for extent in reversed(extents))
    blocks = sorted(
        itertools.product(*coordinates),
        key=lambda place: sum(0 < i < e - 1 for i, e in zip(place, extents[::-1], strict=True)),
    )
    return sorted([x + gx * (y + gy * z) for z, y, x in blocks][:count])


def _compiled(
    planned: Sequence[Case], executor: Executor, progress: Progress
) -> dict[Program, Any | KernelError]:
    """Compile each program.

    Raises:
        UsageError: a user's kernel compiles in no variant.
    """
    programs = list(dict.fromkeys(case.program for case in planned if case.launch is not None))
    compiled: list[tuple[Program, Any]] = []
    if programs:
        progress(f"compiling {programs[0].method.name}", 0, len(programs))
    with compile_each(programs, executor.target.compile) as compiled_programs:
        for source, executable in compiled_programs:
            compiled.append((source, executable))
            progress(f"compiling {source.method.name}", len(compiled), len(programs))
    check_user_kernels(
        [(source, executable) for source, executable in compiled if not _declared_bytes(executable)]
    )
    return dict(compiled)


def _static_bytes(observation: Observation, source: Program) -> int:
    """Return the declared bytes of the static shared arrays, although a compiler may remove unused ones."""
    dynamic = dynamic_arrays_in(source.text)
    return sum(array.size_bytes for array in observation.shared if array.name not in dynamic)


def _declared_bytes(failure: object) -> int:
    """Return the static shared bytes of a kernel if the compiler refused them as too many; else 0."""
    found = re.search(r"declares ([\d,]+) bytes of static shared memory", str(failure))
    return int(found[1].replace(",", "")) if isinstance(failure, KernelError) and found else 0
