"""CMU 15-418/618, recitation 2 (2019): six methods from three loops on the host to shared memory.

Of the two host loops, the larger size is run only where the smaller one says that it does not take long.
Whether a method is memory bound, which the recitation asks of a profiler, is `cudamm roofline`'s to say.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import (
    EMULATED,
    EQUAL_WITHIN,
    case,
    factor_text,
    faster,
    is_timed,
    listed,
    milliseconds,
    outcome_of,
    right,
    square,
    times_ms,
)
from cudamm.courses.course_records import (
    Conclusion,
    CourseCase,
    CourseReport,
    Group,
    Outcome,
    Plan,
    Row,
    Setting,
    Source,
)
from cudamm.courses.published_figures import CMU_BLOCK_EDGE, CMU_FIGURES, Figure
from cudamm.execution.prepare import Progress
from cudamm.kernels.launch_plan import plan as launch_of
from cudamm.kernels.problem import Shape

SLIDES = {
    "simple": "Simple C++",
    "cosimple": "Simple",
    "csimple": "Simple++",
    "block": "Block C++",
    "ccblock": "Block attempt 1",
    "cblock": "Block++",
}
"""What the slides call the six methods, by the program's `-m`."""

METHODS = {figure.label: figure.method for figure in CMU_FIGURES}
SIZES = tuple(dict.fromkeys(figure.n for figure in CMU_FIGURES if figure.n is not None))
SMALL_SIZES = (64, 128)
"""In place of the recitation's, where each thread is executed in turn."""

HOST_LABELS = ("simple", "block")
HOST_RUNS = 3
MOST_HOST_MS = 20_000.0
"""A launch of a host loop may be expected to take: the recitation's took 16 s."""

FEWEST_FOR_BLOCKING = 512
"""Matrices of fewer rows fit into a processor's cache, where blocking has nothing to gain."""


def plan(setting: Setting, progress: Progress) -> Plan:
    """The six methods at both sizes, or at one that is asked for."""
    if setting.shape is not None:
        shapes: tuple[Shape, ...] = (setting.shape,)
    else:
        shapes = tuple(map(square, SIZES if setting.is_gpu else SMALL_SIZES))
    groups: list[Group] = []
    for shape in shapes:
        cases = [_case(label, shape, setting) for label in METHODS]
        device = tuple(c for c in cases if c.label not in HOST_LABELS)
        groups.append(Group(device, Settings() if setting.is_gpu else Settings(runs=5)))
        for host_case in (c for c in cases if c.label in HOST_LABELS):
            why_not = functools.partial(_takes_long, host_case)
            groups.append(Group((host_case,), Settings(runs=HOST_RUNS, warmup=0), why_not=why_not))
    remarks = [
        "the slides' names: " + ", ".join(f"{label}: {name}" for label, name in SLIDES.items()),
        f"LBLK = {CMU_BLOCK_EDGE}, and so is SBLK; the host's loops run on one core, {HOST_RUNS} times",
    ]
    if setting.shape is None and not setting.is_gpu:
        remarks.append(
            f"n = {' and '.join(map(str, SMALL_SIZES))} here, in place of {' and '.join(map(str, SIZES))}: "
            "the CPU device executes every thread in turn"
        )
    return Plan(setting, tuple(groups), remarks=tuple(remarks))


def _case(label: str, shape: Shape, setting: Setting) -> CourseCase:
    params = {} if label == "simple" else {"BLOCK_SIZE": CMU_BLOCK_EDGE}
    return case(label, METHODS[label], shape, setting, params=params)


def _takes_long(of: CourseCase, earlier: Sequence[Outcome]) -> str:
    """Why a host loop is not run at this size: what it took at another says how long it would be."""
    flops = of.problem.shape.flops
    for outcome in earlier:
        took_ms = outcome.result.median_ms
        if outcome.case.label != of.label or took_ms is None:
            continue
        expected_ms = took_ms * flops / outcome.case.problem.shape.flops
        if expected_ms > MOST_HOST_MS:
            return (
                f"not run: it would take {expected_ms / 1e3:.0f} s or more; -n {of.problem.shape.m} runs it"
            )
    return ""


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """The recitation's table, and its conclusions at each size."""
    shapes = list(dict.fromkeys(c.problem.shape for group in planned.groups for c in group.cases))
    rows: list[Row] = []
    checks: list[Conclusion] = [right(outcomes)]
    for position, shape in enumerate(shapes):
        published_n = _published_size(shape, position)
        figures = {figure.label: figure for figure in CMU_FIGURES if figure.n == published_n}
        at = [o for o in outcomes if o.case.problem.shape == shape]
        for label, figure in figures.items():
            found = outcome_of(at, label)
            if found is not None:
                rows += _rows(found, figure)
        checks += _checks(shape, at, figures)
    checks.append(_attempt_1(planned.setting))
    return CourseReport(tuple(rows), tuple(checks))


def _published_size(shape: Shape, position: int) -> int:
    """The recitation's size to be shown beside one of ours: the same, or the one it stands for."""
    same = [n for n in SIZES if shape == square(n)]
    return same[0] if same else SIZES[min(position, len(SIZES) - 1)]


def _rows(outcome: Outcome, figure: Figure) -> list[Row]:
    result, shape = outcome.result, outcome.case.problem.shape
    published = square(figure.n) if figure.n is not None else None
    comparable = shape == published and result.execution != "emulated" and is_timed(outcome)

    def row(quantity: str, unit: str, theirs: float | None, ours: float | None) -> Row:
        return Row(
            label=figure.label,
            quantity=quantity,
            unit="GFLOP/s" if unit == "GFLOP/s" else "ms",
            published=theirs,
            measured=ours,
            ratio=ours / theirs if comparable and ours and theirs else None,
            params=result.params,
            published_size=str(published or ""),
            size=str(shape),
            status=result.status,
        )

    return [
        row("median", "ms", figure.time_ms, result.median_ms),
        row("rate", "GFLOP/s", figure.gflops, result.gflops),
    ]


def _checks(shape: Shape, at: Sequence[Outcome], figures: dict[str, Figure]) -> list[Conclusion]:
    size = shape.m if shape == square(shape.m) else shape
    at_size = f"n = {size}" if shape == square(shape.m) else str(shape)

    def compared(name: str, fast: str, slow: str) -> Conclusion:
        return faster(
            f"{name}-{size}",
            at,
            fast,
            slow,
            called=(SLIDES[fast], SLIDES[slow]),
            where=f"{at_size}: ",
            theirs=figures[slow].time_ms / figures[fast].time_ms,
        )

    checks = [
        _order(f"order-{size}", at_size, at, figures),
        compared("coalescing", "csimple", "cosimple"),
        compared("sharing", "cblock", "csimple"),
    ]
    if min(shape.m, shape.n, shape.k) >= FEWEST_FOR_BLOCKING:
        checks.append(compared("host-blocking", "block", "simple"))
    else:
        checks.append(
            Conclusion(
                f"host-blocking-{size}",
                None,
                f"{at_size}: whether {SLIDES['block']} is faster than {SLIDES['simple']}: matrices as "
                f"small as these fit into the processor's cache anyway; -n {FEWEST_FOR_BLOCKING} tells",
            )
        )
    return checks


def _order(name: str, size: str, at: Sequence[Outcome], figures: dict[str, Figure]) -> Conclusion:
    """Whether the methods, slowest first, stand as the recitation's do; its ties may stand either way."""
    timed = {o.case.label: times_ms([o])[0] for o in at if is_timed(o) and o.case.label in figures}
    if any(o.result.execution == "emulated" for o in at):
        return Conclusion(name, None, f"{size}: the order of the methods: {EMULATED}")
    if len(timed) < 2:
        return Conclusion(name, None, f"{size}: the order of the methods: fewer than two were measured")
    theirs = sorted(timed, key=lambda label: -figures[label].time_ms)
    ours = sorted(timed, key=lambda label: -timed[label])
    swapped = [
        f"{SLIDES[slow]} ({milliseconds(timed[slow])} ms) is not slower than {SLIDES[fast]} "
        f"({milliseconds(timed[fast])} ms)"
        for slow, fast in itertools.combinations(theirs, 2)
        if figures[slow].time_ms > (1 + EQUAL_WITHIN) * figures[fast].time_ms and timed[slow] <= timed[fast]
    ]
    left_out = [SLIDES[label] for label in figures if label not in timed]
    of = f"{size}: of {len(timed)} methods" + (f" (without {listed(left_out)})" if left_out else "")
    if swapped:
        return Conclusion(name, False, f"{of}, {'; '.join(swapped)}; theirs: {_written(theirs)}")
    span = factor_text(timed[ours[0]] / timed[ours[-1]])
    return Conclusion(
        name, True, f"{of}, slowest first, {_written(ours)}, as theirs: {span} times from end to end"
    )


def _written(labels: Sequence[str]) -> str:
    return " > ".join(SLIDES[label] for label in labels)


def _attempt_1(setting: Setting) -> Conclusion:
    """How many blocks of threads attempt 1 has at n = 1024: computed, whatever was run."""
    shape = square(SIZES[0])
    first, second = (_case(label, shape, setting) for label in ("ccblock", "cblock"))
    launch, other = (launch_of(c.variant, c.problem.shape, c.problem.element) for c in (first, second))
    on = (
        f"the {setting.architecture.multiprocessors} multiprocessors of {setting.device}"
        if setting.is_gpu
        else "a whole GPU"
    )
    blocks = f"{launch.blocks} thread block{'s' * (launch.blocks != 1)}"
    return Conclusion(
        "attempt-1-one-block",
        launch.blocks == 1,
        f"n = {shape.m}: {SLIDES['ccblock']} launches {blocks} of {launch.threads_per_block:,} threads "
        f"for {on} (theirs: 1 block), {SLIDES['cblock']} {other.blocks:,}",
    )


SOURCE = Source("cmu", "CMU 15-418/618, recitation 2 (2019)", plan, conclude)
