"""Tsinghua University, computer architecture, CUDA experiment (2022): two sweeps of int32 products.

Each configuration is run five times. The size of the matrices is not stated, so times are compared only
relative to the fastest of the same report.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import EMULATED, case, factor_text, is_timed, milliseconds, right, square
from cudamm.courses.course_records import Conclusion, CourseReport, Group, Outcome, Plan, Row, Setting, Source
from cudamm.courses.published_figures import TSINGHUA_BLOCK_SIZE, TSINGHUA_FIGURES, TSINGHUA_TILE_SIZE, Figure
from cudamm.execution.prepare import Progress
from cudamm.kernels.launch_plan import plan as plan_launch

RUNS = 5
SIZE, SMALL_SIZE = 1024, 128

FLAT_WITHIN = 0.10
"""A sweep is flat from the first value on from which every mean is within this of the sweep's lowest."""


def plan(setting: Setting, progress: Progress) -> Plan:
    """Every configuration of the report, on one problem."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)
    cases = tuple(
        case(_label(figure), figure.method, shape, setting, figure.dtype, figure.params)
        for figure in TSINGHUA_FIGURES
    )
    remarks = [
        f"the report does not state its matrices' size: {shape} here, and figures are compared only relative "
        "to the fastest configuration, theirs to theirs and ours to ours"
    ]
    if not setting.is_gpu:
        remarks.append("the means of emulated runs are compared with nothing")
    return Plan(setting, (Group(cases, Settings(runs=RUNS)),), remarks=tuple(remarks))


def _label(figure: Figure) -> str:
    values = " ".join(f"{name} = {value}" for name, value in figure.params.items())
    return f"{figure.label}, {values}" if values else figure.label


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """The report's configurations, and what it says of its sweeps."""
    means_ms = {o.case.label: _mean_ms(o) for o in outcomes}
    known = [mean_ms for mean_ms in means_ms.values() if mean_ms is not None]
    best_ms, their_best_ms = min(known, default=None), min(f.time_ms for f in TSINGHUA_FIGURES)
    is_complete = len(known) == len(TSINGHUA_FIGURES)
    emulated = any(o.result.execution == "emulated" for o in outcomes)
    rows: list[Row] = []
    for figure in TSINGHUA_FIGURES:
        found = next((o for o in outcomes if o.case.label == _label(figure)), None)
        if found is None:
            continue
        mean_ms = means_ms[_label(figure)]
        ratio = None
        if mean_ms is not None and best_ms and is_complete and not emulated:
            ratio = (mean_ms / best_ms) / (figure.time_ms / their_best_ms)
        rows.append(
            Row(
                label=figure.label,
                quantity="mean",
                unit="ms",
                published=figure.time_ms,
                measured=mean_ms,
                ratio=ratio,
                ratio_of="each relative to the fastest of its own report",
                params=dict(figure.params),
                size=str(found.case.problem.shape),
                status=found.result.status,
            )
        )
    return CourseReport(
        tuple(rows), (_success(outcomes), *_tile_checks(planned.setting, outcomes), *_block_checks(outcomes))
    )


def _mean_ms(outcome: Outcome) -> float | None:
    of = outcome.result.statistics
    return of.mean_ms if of is not None and is_timed(outcome) else None


def _success(outcomes: Sequence[Outcome]) -> Conclusion:
    check = right(outcomes)
    return Conclusion("success", check.holds, ("Success! " if check.holds else "") + check.sentence)


def _sweep_ms(figures: Sequence[Figure], outcomes: Sequence[Outcome]) -> dict[int, float] | str:
    """Mean times by the value swept over, rising; why there are none where one is missing."""
    found: dict[int, float] = {}
    for figure in figures:
        outcome = next((o for o in outcomes if o.case.label == _label(figure)), None)
        if outcome is not None and outcome.result.execution == "emulated":
            return EMULATED
        mean_ms = _mean_ms(outcome) if outcome is not None else None
        if mean_ms is None:
            return f"{_label(figure)} has no time" if outcome is not None else f"{_label(figure)} was not run"
        (value,) = figure.params.values()
        found[value] = mean_ms
    return found


def _their_ms(figures: Sequence[Figure]) -> dict[int, float]:
    return {value: figure.time_ms for figure in figures for value in figure.params.values()}


def _best(sweep_ms: dict[int, float]) -> int:
    return min(sweep_ms, key=lambda value: sweep_ms[value])


def _threads(outcomes: Sequence[Outcome], figures: Sequence[Figure], value: int) -> int:
    """How many are launched at a value of the sweep."""
    label = next(_label(f) for f in figures if value in f.params.values())
    of = next(o.case for o in outcomes if o.case.label == label)
    launch = plan_launch(of.variant, of.problem.shape, of.problem.element)
    return math.prod(launch.grid) * math.prod(launch.block)


def _tile_checks(setting: Setting, outcomes: Sequence[Outcome]) -> list[Conclusion]:
    """Method 2 first gains from reuse, then loses parallelism: an optimum lies between."""
    sweep_ms = _sweep_ms(TSINGHUA_TILE_SIZE, outcomes)
    their_best = _best(_their_ms(TSINGHUA_TILE_SIZE))
    inside, at = "method-2-has-optimum", f"method-2-best-at-{their_best}"
    if isinstance(sweep_ms, str):
        return [
            Conclusion(inside, None, f"whether method 2 has an optimum inside the sweep: {sweep_ms}"),
            Conclusion(at, None, f"whether it is at TILE_SIZE {their_best}: {sweep_ms}"),
        ]
    best, values = _best(sweep_ms), list(sweep_ms)
    first, last = values[0], values[-1]
    least = milliseconds(sweep_ms[best])
    if best in (first, last):
        shape = f"its best, {least} ms, is at the {'start' if best == first else 'end'} of the sweep"
    else:
        shape = (
            f"TILE_SIZE {best} takes {least} ms, {first} {factor_text(sweep_ms[first] / sweep_ms[best])} and "
            f"{last} {factor_text(sweep_ms[last] / sweep_ms[best])} times as long"
        )
    return [
        Conclusion(inside, best not in (first, last), f"method 2: {shape}"),
        Conclusion(at, best == their_best, _where_fastest(setting, outcomes, sweep_ms, best, their_best)),
    ]


def _where_fastest(
    setting: Setting, outcomes: Sequence[Outcome], sweep_ms: dict[int, float], best: int, theirs: int
) -> str:
    """Larger tiles load less and need fewer threads: too few for a GPU that holds many more than theirs."""
    found = f"method 2 is fastest at TILE_SIZE {best}, {milliseconds(sweep_ms[best])} ms (theirs: {theirs})"
    if best == theirs:
        return found
    room = setting.architecture.threads * setting.architecture.multiprocessors
    at = [f"{_threads(outcomes, TSINGHUA_TILE_SIZE, value):,} threads at {value}" for value in (best, theirs)]
    return (
        f"{found}; at {theirs} it takes {milliseconds(sweep_ms[theirs])} ms: a thread computes TILE_SIZE x "
        f"TILE_SIZE elements, which leaves {at[0]} and {at[1]}, and this GPU holds {room:,}"
    )


def flat_from(sweep_ms: dict[int, float]) -> int | None:
    """The first value from which on every mean is within `FLAT_WITHIN` of the sweep's lowest.

    None where that is so of no value, or of the last alone: one point is no flat stretch.
    """
    most_ms = (1 + FLAT_WITHIN) * min(sweep_ms.values())
    values = list(sweep_ms)
    flat = [v for i, v in enumerate(values[:-1]) if all(sweep_ms[later] <= most_ms for later in values[i:])]
    return flat[0] if flat else None


def _block_checks(outcomes: Sequence[Outcome]) -> list[Conclusion]:
    """Method 3 gains steeply, and is flat from a block size on."""
    sweep_ms = _sweep_ms(TSINGHUA_BLOCK_SIZE, outcomes)
    theirs_ms = _their_ms(TSINGHUA_BLOCK_SIZE)
    their_flat = flat_from(theirs_ms) or _best(theirs_ms)
    gains, flat, at = "method-3-gains", "method-3-flattens", f"method-3-flat-from-{their_flat}"
    if isinstance(sweep_ms, str):
        return [
            Conclusion(
                gains, None, f"whether method 3 gains at every step to BLOCK_SIZE {their_flat}: {sweep_ms}"
            ),
            Conclusion(flat, None, f"whether method 3 becomes flat: {sweep_ms}"),
            Conclusion(at, None, f"whether it does from BLOCK_SIZE {their_flat} on: {sweep_ms}"),
        ]
    values, start = list(sweep_ms), flat_from(sweep_ms)
    first, last = values[0], values[-1]
    small = [
        f"from {a} to {b} it gains less than {FLAT_WITHIN:.0%}"
        for a, b in itertools.pairwise(values)
        if b <= their_flat and sweep_ms[b] > sweep_ms[a] * (1 - FLAT_WITHIN)
    ]
    gain = factor_text(sweep_ms[first] / sweep_ms[their_flat])
    their_gain = factor_text(theirs_ms[first] / theirs_ms[their_flat])
    gained = (
        f"method 3 is {gain} times as fast at BLOCK_SIZE {their_flat} as at {first} (theirs: {their_gain})"
    )
    definition = f"flat: within {FLAT_WITHIN:.0%} of the sweep's lowest mean from there on"
    if start is None:
        best = _best(sweep_ms)
        shape = f"best at BLOCK_SIZE {best}, {milliseconds(sweep_ms[best])} ms; at {last}, " + (
            f"{milliseconds(sweep_ms[last])} ms"
            if last != best
            else f"{factor_text(sweep_ms[values[-2]] / sweep_ms[best])} times as fast as at {values[-2]}"
        )
        shape = f"method 3 is nowhere flat ({definition}): {shape}"
    else:
        spread = max(sweep_ms[v] for v in values if v >= start) / min(sweep_ms.values()) - 1
        shape = f"method 3 is flat from BLOCK_SIZE {start} on, within {spread:.1%} ({definition})"
    return [
        Conclusion(
            gains,
            not small,
            "; ".join((gained, *small)),
        ),
        Conclusion(flat, start is not None, shape),
        Conclusion(at, start == their_flat, _where_flat(sweep_ms, theirs_ms, start, their_flat)),
    ]


def _where_flat(
    sweep_ms: dict[int, float], theirs_ms: dict[int, float], start: int | None, their_flat: int
) -> str:
    """Loads from global memory go on falling; whether that gains anything is the hardware's matter."""
    found = f"method 3 is flat from {start or 'nowhere'} on (theirs: {their_flat})"
    last = max(sweep_ms)
    if start == their_flat:
        return found
    ours, theirs = (of[their_flat] / of[last] for of in (sweep_ms, theirs_ms))
    return (
        f"{found}: from BLOCK_SIZE {their_flat} to {last} each element is loaded {last // their_flat} times "
        f"less often, which makes it {factor_text(ours)} times as fast here, and made it "
        f"{factor_text(theirs)} times as fast there"
    )


SOURCE = Source("tsinghua", "Tsinghua University, CUDA experiment (2022)", plan, conclude)
