"""Tsinghua University, computer architecture, CUDA experiment (2022): two sweeps of int32 products.

Each configuration is run five times. The report does not state the size of its matrices. So each time is
divided by the fastest of its own report, and these ratios are compared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import NEEDS_GPU, case, factor_text, is_timed, milliseconds, right, square
from cudamm.courses.course_records import Conclusion, CourseReport, Group, Outcome, Plan, Row, Setting, Source
from cudamm.courses.published_figures import TSINGHUA_BLOCK_SIZE, TSINGHUA_FIGURES, TSINGHUA_TILE_SIZE, Figure
from cudamm.execution.prepare import Progress
from cudamm.kernels.launch_plan import plan as plan_launch

RUNS = 5
SIZE, SMALL_SIZE = 1024, 128

FLAT_WITHIN = 0.10
"""Maximum excess over the sweep's lowest mean, as a fraction, of every mean in a flat stretch."""


def plan(setting: Setting, progress: Progress) -> Plan:
    """Plan every configuration of the report on one problem."""
    shape = setting.shape or square(SIZE if setting.is_gpu else SMALL_SIZE)
    cases = tuple(
        case(_label(figure), figure.method, shape, setting, figure.dtype, figure.params)
        for figure in TSINGHUA_FIGURES
    )
    remarks = [
        f"the report does not state the size of its matrices, {shape} here: each mean is divided by the "
        "fastest of its own report before the two are compared"
    ]
    if not setting.is_gpu:
        remarks.append("without a GPU nothing is timed")
    return Plan(setting, (Group(cases, Settings(runs=RUNS)),), remarks=tuple(remarks))


def _label(figure: Figure) -> str:
    values = " ".join(f"{name} = {value}" for name, value in figure.params.items())
    return f"{figure.label}, {values}" if values else figure.label


def conclude(planned: Plan, outcomes: Sequence[Outcome]) -> CourseReport:
    """Compare the outcomes with the report's configurations and with its conclusions about the sweeps."""
    means_ms = {o.case.label: _mean_ms(o) for o in outcomes}
    known = [mean_ms for mean_ms in means_ms.values() if mean_ms is not None]
    best_ms, their_best_ms = min(known, default=None), min(f.time_ms for f in TSINGHUA_FIGURES)
    is_complete = len(known) == len(TSINGHUA_FIGURES)
    emulated = any(o.result.execution == "emulated" for o in outcomes)
    rows: list[Row] = []
    for figure in TSINGHUA_FIGURES:
        outcome = next((o for o in outcomes if o.case.label == _label(figure)), None)
        if outcome is None:
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
                size=str(outcome.case.problem.shape),
                status=outcome.result.status,
            )
        )
    return CourseReport(
        tuple(rows), (_success(outcomes), *_tile_checks(planned.setting, outcomes), *_block_checks(outcomes))
    )


def _mean_ms(outcome: Outcome) -> float | None:
    statistics = outcome.result.statistics
    return statistics.mean_ms if statistics is not None and is_timed(outcome) else None


def _success(outcomes: Sequence[Outcome]) -> Conclusion:
    check = right(outcomes)
    return Conclusion("success", check.holds, ("Success! " if check.holds else "") + check.sentence)


def _sweep_ms(figures: Sequence[Figure], outcomes: Sequence[Outcome]) -> dict[int, float] | str:
    """Return the mean times of a sweep by rising value; if one is missing, the reason instead."""
    means_ms: dict[int, float] = {}
    for figure in figures:
        outcome = next((o for o in outcomes if o.case.label == _label(figure)), None)
        if outcome is not None and outcome.result.execution == "emulated":
            return NEEDS_GPU
        mean_ms = _mean_ms(outcome) if outcome is not None else None
        if mean_ms is None:
            return f"{_label(figure)} has no time" if outcome is not None else f"{_label(figure)} was not run"
        (value,) = figure.params.values()
        means_ms[value] = mean_ms
    return means_ms


def _their_ms(figures: Sequence[Figure]) -> dict[int, float]:
    return {value: figure.time_ms for figure in figures for value in figure.params.values()}


def _best(sweep_ms: dict[int, float]) -> int:
    return min(sweep_ms, key=lambda value: sweep_ms[value])


def _threads(outcomes: Sequence[Outcome], figures: Sequence[Figure], value: int) -> int:
    """Return the number of threads that are launched at a value of the sweep."""
    label = next(_label(f) for f in figures if value in f.params.values())
    swept_case = next(o.case for o in outcomes if o.case.label == label)
    launch = plan_launch(swept_case.variant, swept_case.problem.shape, swept_case.problem.element)
    return math.prod(launch.grid) * math.prod(launch.block)


def _tile_checks(setting: Setting, outcomes: Sequence[Outcome]) -> list[Conclusion]:
    """Conclude whether method 2 has an optimum inside the sweep, and whether it is the published one.

    Larger tiles first gain from reuse and then lose parallelism.
    """
    sweep_ms = _sweep_ms(TSINGHUA_TILE_SIZE, outcomes)
    their_best = _best(_their_ms(TSINGHUA_TILE_SIZE))
    has_optimum, best_at = "method-2-has-optimum", f"method-2-best-at-{their_best}"
    if isinstance(sweep_ms, str):
        return [
            Conclusion(has_optimum, None, f"whether method 2 has an optimum inside the sweep: {sweep_ms}"),
            Conclusion(best_at, None, f"whether method 2 is fastest at TILE_SIZE {their_best}: {sweep_ms}"),
        ]
    best, values = _best(sweep_ms), list(sweep_ms)
    first, last = values[0], values[-1]
    best_time = milliseconds(sweep_ms[best])
    if best in (first, last):
        finding = f"its best, {best_time} ms, is at the {'start' if best == first else 'end'} of the sweep"
    else:
        finding = (
            f"TILE_SIZE {best} takes {best_time} ms; "
            f"TILE_SIZE {first} takes {factor_text(sweep_ms[first] / sweep_ms[best])} times as long, and "
            f"TILE_SIZE {last} takes {factor_text(sweep_ms[last] / sweep_ms[best])} times as long"
        )
    return [
        Conclusion(has_optimum, best not in (first, last), f"method 2: {finding}"),
        Conclusion(
            best_at, best == their_best, _best_sentence(setting, outcomes, sweep_ms, best, their_best)
        ),
    ]


def _best_sentence(
    setting: Setting, outcomes: Sequence[Outcome], sweep_ms: dict[int, float], best: int, theirs: int
) -> str:
    """Return where method 2 is fastest, and the numbers of threads if that is not the published tile size.

    Larger tiles need fewer loads and fewer threads, which may be too few for a large GPU.
    """
    sentence = (
        f"method 2 is fastest at TILE_SIZE {best}, {milliseconds(sweep_ms[best])} ms (theirs: {theirs})"
    )
    if best == theirs:
        return sentence
    capacity = setting.architecture.threads * setting.architecture.multiprocessors
    threads = [
        f"{_threads(outcomes, TSINGHUA_TILE_SIZE, value):,} threads at {value}" for value in (best, theirs)
    ]
    return (
        f"{sentence}; at {theirs} it takes {milliseconds(sweep_ms[theirs])} ms: a thread computes TILE_SIZE "
        f"x TILE_SIZE elements, so there are {threads[0]} and {threads[1]}, and this GPU holds {capacity:,}"
    )


def flat_from(sweep_ms: dict[int, float]) -> int | None:
    """Return the first value from which on every mean is within `FLAT_WITHIN` of the sweep's lowest.

    Returns:
        None if there is no such value or it is the last one: a single point is not a flat stretch.
    """
    limit_ms = (1 + FLAT_WITHIN) * min(sweep_ms.values())
    values = list(sweep_ms)
    flat = [v for i, v in enumerate(values[:-1]) if all(sweep_ms[later] <= limit_ms for later in values[i:])]
    return flat[0] if flat else None


def _block_checks(outcomes: Sequence[Outcome]) -> list[Conclusion]:
    """Conclude whether method 3 gains at every step and becomes flat, and where, compared with the report."""
    sweep_ms = _sweep_ms(TSINGHUA_BLOCK_SIZE, outcomes)
    theirs_ms = _their_ms(TSINGHUA_BLOCK_SIZE)
    their_flat = flat_from(theirs_ms) or _best(theirs_ms)
    gains, flattens, at_theirs = "method-3-gains", "method-3-flattens", f"method-3-flat-from-{their_flat}"
    if isinstance(sweep_ms, str):
        return [
            Conclusion(
                gains, None, f"whether method 3 gains at every step to BLOCK_SIZE {their_flat}: {sweep_ms}"
            ),
            Conclusion(flattens, None, f"whether method 3 becomes flat: {sweep_ms}"),
            Conclusion(
                at_theirs, None, f"whether method 3 is flat from BLOCK_SIZE {their_flat} on: {sweep_ms}"
            ),
        ]
    values, start = list(sweep_ms), flat_from(sweep_ms)
    first, last = values[0], values[-1]
    small_gains = [
        f"from {a} to {b} it gains less than {FLAT_WITHIN:.0%}"
        for a, b in itertools.pairwise(values)
        if b <= their_flat and sweep_ms[b] > sweep_ms[a] * (1 - FLAT_WITHIN)
    ]
    gain = factor_text(sweep_ms[first] / sweep_ms[their_flat])
    their_gain = factor_text(theirs_ms[first] / theirs_ms[their_flat])
    gain_sentence = (
        f"method 3 is {gain} times as fast at BLOCK_SIZE {their_flat} as at {first} (theirs: {their_gain})"
    )
    definition = f"flat: every later mean is within {FLAT_WITHIN:.0%} of the sweep's lowest"
    if start is None:
        best = _best(sweep_ms)
        comparison = (
            f"and takes {milliseconds(sweep_ms[last])} ms at {last}"
            if last != best
            else f"{factor_text(sweep_ms[values[-2]] / sweep_ms[best])} times as fast as at {values[-2]}"
        )
        finding = (
            f"method 3 is not flat at any BLOCK_SIZE ({definition}): it is fastest at {best}, "
            f"{milliseconds(sweep_ms[best])} ms, {comparison}"
        )
    else:
        spread = max(sweep_ms[v] for v in values if v >= start) / min(sweep_ms.values()) - 1
        finding = f"method 3 is flat from BLOCK_SIZE {start} on, within {spread:.1%} ({definition})"
    return [
        Conclusion(gains, not small_gains, "; ".join((gain_sentence, *small_gains))),
        Conclusion(flattens, start is not None, finding),
        Conclusion(at_theirs, start == their_flat, _flat_sentence(sweep_ms, theirs_ms, start, their_flat)),
    ]


def _flat_sentence(
    sweep_ms: dict[int, float], theirs_ms: dict[int, float], start: int | None, their_flat: int
) -> str:
    """Return where method 3 becomes flat, and what larger blocks gain if that is not the published size.

    Larger blocks need fewer loads from global memory; whether they are faster depends on the hardware.
    """
    where = f"is flat from BLOCK_SIZE {start} on" if start is not None else "is not flat at any BLOCK_SIZE"
    sentence = f"method 3 {where} (theirs: from {their_flat} on)"
    last = max(sweep_ms)
    if start == their_flat:
        return sentence
    ours, theirs = (times_ms[their_flat] / times_ms[last] for times_ms in (sweep_ms, theirs_ms))
    return (
        f"{sentence}: from BLOCK_SIZE {their_flat} to {last} each element is loaded {last // their_flat} "
        f"times less often, and the speed-up of method 3 is {factor_text(ours)} here, "
        f"{factor_text(theirs)} in the report"
    )


SOURCE = Source("tsinghua", "Tsinghua University, CUDA experiment (2022)", plan, conclude)
