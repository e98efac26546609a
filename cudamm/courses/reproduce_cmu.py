"""CMU 15-418/618, recitation 2 (2019): six methods, from three loops on the host to shared memory.

The two host loops run at the larger size only if their times at the smaller size show that it does not take
long. The recitation asks a profiler whether a method is memory bound; `cudamm roofline` answers that.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import (
    EQUAL_WITHIN,
    NEEDS_GPU,
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
"""Names of the six methods in the slides, by their names in the recitation's program (`-m`)."""

METHODS = {figure.label: figure.method for figure in CMU_FIGURES}
SIZES = tuple(dict.fromkeys(figure.n for figure in CMU_FIGURES if figure.n is not None))
SMALL_SIZES = (64, 128)
"""Sizes on the CPU device, which executes the threads one after the other."""

HOST_LABELS = ("simple", "block")
HOST_RUNS = 3
MOST_HOST_MS = 20_000.0
"""Maximum expected duration of a host loop that is run, in milliseconds; the recitation's took 16 s."""

FEWEST_FOR_BLOCKING = 512
"""Minimum number of rows for a comparison of host blocking; smaller matrices fit into the cache anyway."""


def plan(setting: Setting, progress: Progress) -> Plan:
    """Plan the six methods at both sizes, or at the requested size."""
    if setting.shape is not None:
        shapes: tuple[Shape, ...] = (setting.shape,)
    else:
        shapes = tuple(map(square, SIZES if setting.is_gpu else SMALL_SIZES))
    groups: list[Group] = []
    for shape in shapes:
        cases = [_case(label, shape, setting) for label in METHODS]
        gpu_cases = tuple(c for c in cases if c.label not in HOST_LABELS)
        groups.append(Group(gpu_cases))
        for host_case in (c for c in cases if c.label in HOST_LABELS):
            reason = functools.partial(_reason_to_skip, host_case)
            groups.append(Group((host_case,), Settings(runs=HOST_RUNS, warmup=0), why_not=reason))
    remarks = [
        "the slides' names: " + ", ".join(f"{label}: {name}" for label, name in SLIDES.items()),
        f"LBLK = SBLK = {CMU_BLOCK_EDGE}"
        + (f"; the host loops run {HOST_RUNS} times on one core" if setting.is_gpu else ""),
    ]
    if setting.shape is None and not setting.is_gpu:
        remarks.append(
            f"n = {' and '.join(map(str, SMALL_SIZES))} instead of {' and '.join(map(str, SIZES))}: "
            "the CPU device executes the threads one after the other"
        )
    return Plan(setting, tuple(groups), remarks=tuple(remarks))


def _case(label: str, shape: Shape, setting: Setting) -> CourseCase:
    params = {} if label == "simple" else {"BLOCK_SIZE": CMU_BLOCK_EDGE}
    return case(label, METHODS[label], shape, setting, params=params)


def _reason_to_skip(host_case: CourseCase, earlier: Sequence[Outcome]) -> str:
    """Return why a host loop is not run at this size; empty if it is run.

    Its duration is estimated from its time at another size.
    """
    flops = host_case.problem.shape.flops
    for outcome in earlier:
        measured_ms = outcome.result.median_ms
        if outcome.case.label != host_case.label or measured_ms is None:
            continue
        expected_ms = measured_ms * flops / outcome.case.problem.shape.flops
        if expected_ms > MOST_HOST_MS:
            return (
                f"not run: one launch would take {expected_ms / 1e3:.0f} s or more; "
                f"run it with -n {host_case.problem.shape.m}"
            )
    return ""


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Compare the outcomes with the recitation's table and conclusions at each size."""
    shapes = list(dict.fromkeys(c.problem.shape for group in planned.groups for c in group.cases))
    rows: list[Row] = []
    checks: list[Conclusion] = [right(outcomes)]
    for position, shape in enumerate(shapes):
        published_n = _published_size(shape, position)
        figures = {figure.label: figure for figure in CMU_FIGURES if figure.n == published_n}
        at_size = [o for o in outcomes if o.case.problem.shape == shape]
        for label, figure in figures.items():
            outcome = outcome_of(at_size, label)
            if outcome is not None:
                rows += _rows(outcome, figure)
        checks += _checks(shape, at_size, figures)
    checks.append(_attempt_1(planned.setting))
    return CourseReport(tuple(rows), tuple(checks))


def _published_size(shape: Shape, position: int) -> int:
    """Return the recitation's size to show beside this size: the same one, or the one that it replaces."""
    published = [n for n in SIZES if shape == square(n)]
    return published[0] if published else SIZES[min(position, len(SIZES) - 1)]


def _rows(outcome: Outcome, figure: Figure) -> list[Row]:
    result, shape = outcome.result, outcome.case.problem.shape
    published_shape = square(figure.n) if figure.n is not None else None
    comparable = shape == published_shape and result.execution != "emulated" and is_timed(outcome)

    def row(quantity: str, unit: str, published: float | None, measured: float | None) -> Row:
        return Row(
            label=figure.label,
            quantity=quantity,
            unit="GFLOP/s" if unit == "GFLOP/s" else "ms",
            published=published,
            measured=measured,
            ratio=measured / published if comparable and measured and published else None,
            params=result.params,
            published_size=str(published_shape or ""),
            size=str(shape),
            status=result.status,
        )

    return [
        row("median", "ms", figure.time_ms, result.median_ms),
        row("rate", "GFLOP/s", figure.gflops, result.gflops),
    ]


def _checks(shape: Shape, outcomes: Sequence[Outcome], figures: dict[str, Figure]) -> list[Conclusion]:
    size = shape.m if shape == square(shape.m) else shape
    at_size = f"n = {size}" if shape == square(shape.m) else str(shape)

    def compared(name: str, fast: str, slow: str) -> Conclusion:
        return faster(
            f"{name}-{size}",
            outcomes,
            fast,
            slow,
            names=(SLIDES[fast], SLIDES[slow]),
            prefix=f"{at_size}: ",
            published_factor=figures[slow].time_ms / figures[fast].time_ms,
        )

    checks = [
        _order(f"order-{size}", at_size, outcomes, figures),
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
                f"{at_size}: whether {SLIDES['block']} is faster than {SLIDES['simple']}: matrices this "
                f"small fit into the processor's cache anyway; use -n {FEWEST_FOR_BLOCKING}",
            )
        )
    return checks


def _order(name: str, at_size: str, outcomes: Sequence[Outcome], figures: dict[str, Figure]) -> Conclusion:
    """Conclude whether the methods have the recitation's order of speed; its ties may have any order."""
    timed = {o.case.label: times_ms([o])[0] for o in outcomes if is_timed(o) and o.case.label in figures}
    if any(o.result.execution == "emulated" for o in outcomes):
        return Conclusion(name, None, f"{at_size}: the order of the methods: {NEEDS_GPU}")
    if len(timed) < 2:
        return Conclusion(name, None, f"{at_size}: the order of the methods: fewer than two were measured")
    published_order = sorted(timed, key=lambda label: -figures[label].time_ms)
    order = sorted(timed, key=lambda label: -timed[label])
    swapped = [
        f"{SLIDES[slow]} ({milliseconds(timed[slow])} ms) is not slower than {SLIDES[fast]} "
        f"({milliseconds(timed[fast])} ms)"
        for slow, fast in itertools.combinations(published_order, 2)
        if figures[slow].time_ms > (1 + EQUAL_WITHIN) * figures[fast].time_ms and timed[slow] <= timed[fast]
    ]
    left_out = [SLIDES[label] for label in figures if label not in timed]
    methods = f"{len(timed)} methods" + (f" (without {listed(left_out)})" if left_out else "")
    if swapped:
        return Conclusion(
            name,
            False,
            f"{at_size}: the order of {methods} differs: {'; '.join(swapped)} "
            f"(theirs: {_written(published_order)})",
        )
    factor = factor_text(timed[order[0]] / timed[order[-1]])
    return Conclusion(
        name,
        True,
        f"{at_size}: {methods} have the published order, slowest first: {_written(order)}; the first takes "
        f"{factor} times as long as the last",
    )


def _written(labels: Sequence[str]) -> str:
    return " > ".join(SLIDES[label] for label in labels)


def _attempt_1(setting: Setting) -> Conclusion:
    """Conclude whether attempt 1 launches only one block at n = 1024; this is computed, not measured."""
    shape = square(SIZES[0])
    attempt_1, tiled = (_case(label, shape, setting) for label in ("ccblock", "cblock"))
    launch, tiled_launch = (
        launch_of(c.variant, c.problem.shape, c.problem.element) for c in (attempt_1, tiled)
    )
    gpu = (
        f"the {setting.architecture.multiprocessors} multiprocessors of {setting.device}"
        if setting.is_gpu
        else "a whole GPU"
    )
    blocks = f"{launch.blocks} thread block{'s' * (launch.blocks != 1)}"
    return Conclusion(
        "attempt-1-one-block",
        launch.blocks == 1,
        f"n = {shape.m}: {SLIDES['ccblock']} launches {blocks} of {launch.threads_per_block:,} threads "
        f"for {gpu} (theirs: 1 block); {SLIDES['cblock']} launches {tiled_launch.blocks:,}",
    )


SOURCE = Source("cmu", "CMU 15-418/618, recitation 2 (2019)", plan, conclude)
