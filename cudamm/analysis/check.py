"""Which mistake makes a kernel wrong, or slow: executed by the CPU device, every access of it watched."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from cudamm.analysis.mistakes import Mistake, advice_of, errors_of, merged, shared_memory_limit
from cudamm.analysis.sanitizer import ToolVerdict
from cudamm.compile.compile_all import compile_each
from cudamm.compile.host_compiler import STATIC_SHARED_BYTES
from cudamm.compile.program import Program, program
from cudamm.devices.device import padded
from cudamm.devices.observation import Observation
from cudamm.devices.observe import Watch, observe
from cudamm.errors import KernelError, RequirementError
from cudamm.execution.case import Case
from cudamm.execution.prepare import Progress, check_user_kernels, plan_all
from cudamm.kernels.launch_plan import Launch, plan, unsupported_reason
from cudamm.kernels.method import Value
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import ChosenBy, Variant, chosen_record

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor

SCHEMA = "cudamm.check/1"

Status = Literal["clean", "wrong", "failed", "skipped"]
"""`failed`: it could not be looked at, because it did not compile, say."""

MOST_WATCHED = 2**22
"""Multiplications that are watched at a size: of a larger one, as many blocks at the grid's corners and in
its middle as come below that, and one at least."""

REQUESTS = 4096
"""Of the first warp, from which strides are read."""

Sanitize = Callable[[Variant, Problem], tuple[ToolVerdict, ...]]
"""Asks compute-sanitizer about a variant on a problem."""


@dataclass(frozen=True)
class CheckResult:
    """What was found of one variant in one element type, over all sizes.

    Attributes:
        sizes: that were looked at, as M x N x K.
        skipped: sizes that were not, and why.
        watched: of each size, how many of its blocks, and of how many.
        reason: why it failed or was skipped; empty otherwise.
        source: a hash of the program's text.
        sanitizer: what compute-sanitizer says; empty if it was not asked.
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

    @property
    def errors(self) -> tuple[Mistake, ...]:
        """What makes it wrong."""
        return tuple(mistake for mistake in self.mistakes if mistake.severity == "error")

    @property
    def advice(self) -> tuple[Mistake, ...]:
        """What makes it slow."""
        return tuple(mistake for mistake in self.mistakes if mistake.severity == "advice")

    @property
    def all_well(self) -> bool:
        """Whether nothing is wrong, whoever looked."""
        quiet = not any(verdict.errors or verdict.failed for verdict in self.sanitizer)
        return self.status in ("clean", "skipped") and quiet

    def record(self) -> dict[str, Any]:
        """An entry of `checked` in a `cudamm.check/1` file."""
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
                "compute_sanitizer": [dataclasses.asdict(verdict) for verdict in self.sanitizer],
            }
        )

    def mistake_records(self) -> list[dict[str, Any]]:
        """The rows of a `cudamm.check/1` file, a mistake each."""
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
    """The most shared memory that a block may have, static and dynamic together.

    Attributes:
        of: whose limit it is, for people.
    """

    bytes_per_block: int
    of: str

    def passed(self, source: Program, static_bytes: int, launch: Launch, size: str) -> list[Mistake]:
        """Return a mistake if a launch needs more."""
        if static_bytes > STATIC_SHARED_BYTES:
            return [shared_memory_limit(source, static_bytes, STATIC_SHARED_BYTES, "", size)]
        needed = static_bytes + launch.shared_bytes
        if needed > self.bytes_per_block:
            return [shared_memory_limit(source, needed, self.bytes_per_block, self.of, size)]
        return []


def check_all(
    executor: Executor,
    cases: Sequence[tuple[Variant, Problem]],
    fmad: bool,
    limit: SharedLimit,
    progress: Progress,
    sanitize: Sanitize | None = None,
) -> Iterator[CheckResult]:
    """Check each variant in each element type at all of its sizes, one result as soon as it is there.

    Args:
        executor: on the CPU device; it judges the products.
        sanitize: asks compute-sanitizer about a variant.

    Raises:
        UsageError: the request is impossible; raised before anything is launched.
        NoDeviceError: there is no C++ compiler.
    """
    looks = _planned(executor, cases, fmad, limit)
    compiled = _compiled([look.case for look in looks if look.case is not None], executor, progress)
    groups: dict[tuple[Variant, str], list[_Look]] = {}
    for look in looks:
        groups.setdefault((look.variant, look.problem.element.name), []).append(look)
    done = itertools.count()
    for (variant, dtype), group in groups.items():
        for look in group:
            progress(f"{variant} at {look.size} {dtype}", next(done), len(cases))
            if look.case is not None:
                case = dataclasses.replace(look.case, compiled=compiled.get(look.case.program))
                _look_at(executor, case, limit, look)
        yield _result(variant, dtype, group, sanitize)


@dataclass
class _Look:
    """One variant at one size: what is to be looked at, and then what was seen.

    Attributes:
        case: None if it is known beforehand that it cannot be launched.
        failed: why it could not be watched; empty if it could.
        watched: how many of its blocks, and of how many; None if the launch did not come to its end.
    """

    variant: Variant
    problem: Problem
    case: Case | None = None
    errors: list[Mistake] = field(default_factory=list)
    advice: list[Mistake] = field(default_factory=list)
    skipped: str = ""
    failed: str = ""
    watched: tuple[int, int] | None = None

    @property
    def size(self) -> str:
        """M x N x K as asked for."""
        return str(self.problem.shape)

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.problem.shape.m * self.problem.shape.n * self.problem.shape.k


def _planned(
    executor: Executor, cases: Sequence[tuple[Variant, Problem]], fmad: bool, limit: SharedLimit
) -> list[_Look]:
    """Plan each case. One that needs too much shared memory is a mistake, which `prepare` would refuse."""
    looks = [_Look(variant, problem) for variant, problem in cases]
    for look in looks:
        if unsupported_reason(look.variant.method, executor.target.limits):
            continue  # which is told in its place
        try:
            launch = plan(look.variant, look.problem.shape, look.problem.element)
        except RequirementError:
            continue  # which is told in its place
        source = program(look.variant, look.problem.element, fmad)
        look.errors = limit.passed(source, 0, launch, look.size)
    left = [look for look in looks if not look.errors]
    if left:
        planned = plan_all(executor, [(look.variant, look.problem) for look in left], fmad)
        for position, (look, case) in enumerate(zip(left, planned, strict=True)):
            look.case = dataclasses.replace(case, position=position)
    return looks


def _look_at(executor: Executor, case: Case, limit: SharedLimit, look: _Look) -> None:
    """Verify and watch a case, and note what is seen."""
    if case.skipped or case.launch is None:
        look.skipped = case.skipped
        return
    if isinstance(case.compiled, KernelError):
        static_bytes = _declared_bytes(case.compiled)
        look.errors = limit.passed(case.program, static_bytes, case.launch, look.size)
        look.failed = "" if look.errors else str(case.compiled)
        return
    try:
        # Verify first: a kernel that hangs is ended there, and need not be watched.
        verdict = executor.verify(case, thread_order=True)
        observation = _observed(case, case.launch)
    except KernelError as error:
        file = case.variant.method.path.name
        look.errors = [Mistake("crash", str(error), file=file, sizes=(look.size,))]
        return
    static_bytes = _static_bytes(observation, case.program)
    look.errors = limit.passed(case.program, static_bytes, case.launch, look.size)
    look.errors += errors_of(observation, verdict, case.program, case.launch, look.size)
    if not observation.ended:
        look.watched = len(observation.blocks), case.launch.blocks
        look.advice = advice_of(observation, case.program, case.launch, look.size)
    case.problem.release()


def _result(variant: Variant, dtype: str, looks: Sequence[_Look], sanitize: Sanitize | None) -> CheckResult:
    """Return what was seen of a variant at all sizes."""
    seen = [look for look in looks if not look.skipped and not look.failed]
    whole = [look for look in seen if look.watched is not None]
    # At small sizes most accesses are at an edge, where no kernel is at its best.
    advice = max(whole, key=lambda look: look.work).advice if whole else []
    mistakes = merged([*(mistake for look in looks for mistake in look.errors), *advice])
    reason = next((look.failed for look in looks if look.failed), "")
    status: Status = "failed" if reason else "clean"
    if not reason and any(mistake.severity == "error" for mistake in mistakes):
        status = "wrong"
    elif not reason and not seen:
        status, reason = "skipped", looks[0].skipped
    return CheckResult(
        method=variant.method.name,
        params=variant.params,
        dtype=dtype,
        file=variant.method.path.name,
        status=status,
        reason=reason,
        mistakes=mistakes,
        sizes=tuple(look.size for look in seen),
        skipped=tuple((look.size, look.skipped) for look in looks if look.skipped),
        watched={look.size: look.watched for look in whole if look.watched is not None},
        source=next((look.case.program.hash for look in looks if look.case is not None), ""),
        sanitizer=_sanitized(sanitize, seen),
        chosen_by=variant.chosen_by,
    )


def _sanitized(sanitize: Sanitize | None, looks: Sequence[_Look]) -> tuple[ToolVerdict, ...]:
    """Return what compute-sanitizer says at the largest size only: each run of a tool takes seconds."""
    if sanitize is None or not looks:
        return ()
    largest = max(looks, key=lambda look: look.work)
    return sanitize(largest.variant, largest.problem)


def _observed(case: Case, launch: Launch) -> Observation:
    """Observe all blocks of a launch, or some of a large one."""
    blocks = _chosen_blocks(launch)
    watch = Watch(block=0, warp=0, most=REQUESTS)
    inputs = padded(launch, *case.problem.inputs)
    return observe(case.program, launch, *inputs, blocks=blocks, watch=watch, checked=True)


def _chosen_blocks(launch: Launch) -> list[int] | None:
    """Return the linear indices of the blocks to watch; None: all. Corners first: mistakes show at edges."""
    shape = launch.shape
    many = max(1, MOST_WATCHED * launch.blocks // (shape.m * shape.n * shape.k))
    if many >= launch.blocks:
        return None
    gx, gy, _ = launch.grid
    ends = (tuple(dict.fromkeys((0, extent - 1, extent // 2))) for extent in reversed(launch.grid))
    places = sorted(
        itertools.product(*ends),
        key=lambda place: sum(0 < i < e - 1 for i, e in zip(place, launch.grid[::-1], strict=True)),
    )
    return sorted([x + gx * (y + gy * z) for z, y, x in places][:many])


def _compiled(
    planned: Sequence[Case], executor: Executor, progress: Progress
) -> dict[Program, Any | KernelError]:
    """Compile each program to be judged. Raises UsageError if a user's file compiles in no variant."""
    programs = list(dict.fromkeys(case.program for case in planned if case.launch is not None))
    done: list[tuple[Program, Any]] = []
    for source, made in compile_each(programs, executor.target.compile):
        done.append((source, made))
        progress(f"compiling {source.method.name}", len(done), len(programs))
    check_user_kernels([(source, made) for source, made in done if not _declared_bytes(made)])
    return dict(done)


def _static_bytes(observation: Observation, source: Program) -> int:
    """Return the bytes of the shared arrays as declared; a compiler may leave out what has no effect."""
    dynamic = set(re.findall(r"\bextern\s+__shared__[^;]*?(\w+)\s*\[\s*\]", source.text))
    return sum(array.size_bytes for array in observation.shared if array.name not in dynamic)


def _declared_bytes(failure: object) -> int:
    """Return the bytes that a kernel declares if the compiler refused them as too many; else 0."""
    found = re.search(r"declares ([\d,]+) bytes of static shared memory", str(failure))
    return int(found[1].replace(",", "")) if isinstance(failure, KernelError) and found else 0
