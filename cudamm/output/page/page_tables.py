"""The page's tables: the ladder with its bars, the statistics of the samples, and occupancy."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from cudamm.benchmark.result import Result, share_of_cublas
from cudamm.benchmark.sample_statistics import outliers
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.bench_table import best_of_sweeps, outcome, rate_unit
from cudamm.output.console import milliseconds, parameters, percent, significant
from cudamm.output.failed_rows import troubles
from cudamm.output.occupancy_tables import UNUSED
from cudamm.output.page.elements import Child, element, row, table
from cudamm.output.page.page_rows import (
    Problem,
    baseline,
    best,
    by_problem,
    is_timed,
    name_of,
    rate,
    speed_up,
)

MARKS = {
    "emulated": "executed by the CPU device, thread by thread, to check the kernel: its times say nothing "
    "about a GPU, not even which kernel is faster",
    "host": "ran natively on the host",
    "padded": "the matrices were padded with zeros to the multiples the kernel needs; rates count the real "
    "size",
    "throttled": "the GPU was slowed down while this was measured, and pauses did not help",
    "short": "so short that what two events around an empty kernel read counts; --hot times many launches "
    "together",
    "out of time": "sampling ended with --max-time, before the noise was below --max-noise",
    "best of its sweep": "the fastest verified variant of its method",
}
_LIMITS = ("warps", "blocks", "registers", "shared")
MOST_DRAWN = 100
"""Samples that a line shows; of more, evenly spaced ones."""


def marks_of(result: Result, best_of_sweep: bool = False) -> list[str]:
    """The words of MARKS that are true of a row."""
    is_true = {
        "emulated": result.execution == "emulated",
        "host": result.execution == "native",
        "padded": result.padded,
        "throttled": bool(result.timing.throttled),
        "short": result.is_near_floor,
        "out of time": result.timing.ended_by == "time",
        "best of its sweep": best_of_sweep,
    }
    return [mark for mark in MARKS if is_true[mark]]


def ladder(results: Sequence[Result]) -> list[Element]:
    """A table a problem, with bars of the rates; below them what the marks mean."""
    made: list[Element] = []
    used: set[str] = set()
    for problem, rows in by_problem(results).items():
        of_sweeps = best_of_sweeps(rows)
        for result in rows:
            used.update(marks_of(result, id(result) in of_sweeps))
        made += [element("h3", str(problem)), _ladder_of(problem, rows, of_sweeps)]
    explained = [
        part
        for mark, meaning in MARKS.items()
        if mark in used
        for part in (element("dt", element("span", mark, class_="mark")), element("dd", meaning))
    ]
    return [*made, element("dl", *explained, class_="marks")] if explained else made


def _ladder_of(problem: Problem, rows: Sequence[Result], of_sweeps: set[int]) -> Element:
    over, top, unit = baseline(rows), best(rows), rate_unit(rows[0])
    most = max((rate(r) or 0.0 for r in rows), default=0.0)
    shares = [share_of_cublas(result, rows) for result in rows]
    has_cublas = any(shares)
    numbers = (2, 3, 5, 6) if has_cublas else (2, 3, 5)
    heads: list[Child] = [
        "method",
        "parameters",
        "median (ms)",
        unit,
        element("span", f"{unit} as a bar", class_="unseen"),
        f"speed-up over {over.method}" if over else "speed-up",
        *(["of cuBLAS"] if has_cublas else []),
        "result",
    ]
    lines = []
    for result, share in zip(rows, shares, strict=True):
        found = rate(result)
        marks = [element("span", mark, class_="mark") for mark in marks_of(result, id(result) in of_sweeps)]
        said = outcome(result)
        kind = "top" if result is top else "failed" if result.status == "failed" else None
        lines.append(
            row(
                [
                    result.label,
                    element("code", parameters(result.params)) if result.params else None,
                    milliseconds(result.median_ms) if is_timed(result) else None,
                    significant(found) if found is not None else None,
                    _bar(found / most if found is not None and most else 0.0, result.execution),
                    speed_up(over, result),
                    *([percent(share) if share is not None else None] if has_cublas else []),
                    element("span", element("span", f"{said} ", class_="outcome"), *marks),
                ],
                numbers,
                kind,
            )
        )
        lines[-1][4].set("class", "bar")
        lines[-1][-1].set("class", "outcomes")
    made = table(heads, lines, f"Results at {problem}", numbers)
    made[0].set("class", "ladder")
    return made


def _bar(share: float, execution: str) -> Element:
    """A share between 0 and 1; at least a sign of it where it is above 0."""
    width = max(0.3, 100 * share) if share > 0 else 0.0
    inner = element("rect", width=f"{width:.2f}%", height="100%", class_=execution)
    return element("svg", inner, aria_hidden="true")


def failures(results: Sequence[Result]) -> Element | None:
    """What failed or was skipped, and why; None where nothing was."""
    found = troubles(results)
    if not found:
        return None
    lines = [
        row(
            [
                element("code", trouble.variants),
                ", ".join(dict.fromkeys(Problem(r.m, r.n, r.k, r.dtype, r.fmad).short for r in trouble.rows)),
                element("span", trouble.status, class_="outcome"),
                trouble.reason or "the file gives no reason",
            ],
            class_=trouble.status,
        )
        for trouble in found
    ]
    return table(["variant", "problem", "", "why"], lines, "What failed or was skipped")


def samples(results: Sequence[Result]) -> list[Element]:
    """A table a problem: what the samples of each row say, and how they were taken."""
    heads = [
        "variant",
        "in order",
        "samples",
        "launches each",
        "min (ms)",
        "quartile 1",
        "median",
        "quartile 3",
        "mean",
        "noise",
        "outliers",
        "ended by",
        "cache",
        "clock (MHz)",
        "throttled",
        "taken again",
        "event floor (µs)",
    ]
    numbers = (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 15, 16)
    made: list[Element] = []
    for problem, rows in by_problem(results).items():
        lines = []
        for result in rows:
            of, timing = result.statistics, result.timing
            if of is None:
                continue
            lines.append(
                row(
                    [
                        element("code", name_of(result)),
                        _course(result),
                        str(of.count),
                        str(timing.launches_per_sample),
                        milliseconds(of.min_ms),
                        milliseconds(of.q1_ms),
                        milliseconds(of.median_ms),
                        milliseconds(of.q3_ms),
                        milliseconds(of.mean_ms),
                        percent(of.noise) if of.count > 1 else None,
                        str(of.outliers),
                        timing.ended_by,
                        timing.cache,
                        None if timing.clock_mhz is None else f"{timing.clock_mhz:.0f}",
                        f"{timing.throttled} ({', '.join(timing.throttle_reasons) or 'unknown'})"
                        if timing.throttled
                        else "no"
                        if result.execution == "gpu"
                        else None,
                        str(timing.retaken),
                        None if timing.event_floor_ms is None else f"{timing.event_floor_ms * 1e3:.2f}",
                    ],
                    numbers,
                )
            )
            lines[-1][1].set("class", "course")
        made.append(element("h3", str(problem)))
        if lines:
            made.append(table(heads, lines, f"Samples at {problem}", numbers))
        else:
            made.append(element("p", "Nothing was timed.", class_="quiet"))
    return made


def _course(result: Result) -> Element:
    """The samples one after the other, from the lowest to the highest."""
    every = result.timing.samples_ms
    low, high = min(every), max(every)
    step = max(1, -(-len(every) // MOST_DRAWN))
    drawn = every[::step]
    across = max(1, len(drawn) - 1)
    room = (high - low) or 1.0
    places = [
        f"{100 * i / across:.1f},{18 - 16 * (sample - low) / room:.1f}" for i, sample in enumerate(drawn)
    ]
    if len(places) == 1:
        places.append("100,18")
    name = (
        f"{len(every)} samples from {milliseconds(low)} to {milliseconds(high)} ms, "
        f"{sum(outliers(every))} outliers"
    )
    return element(
        "svg",
        element("title", name),
        element("polyline", points=" ".join(places)),
        viewBox="0 0 100 20",
        preserveAspectRatio="none",
        role="img",
        aria_label=name,
    )


def verification(results: Sequence[Result]) -> Element:
    """How far each product was from its reference."""
    heads = ["variant", "problem", "right", "bits of the sum in k order", "largest error", "its bound"]
    lines = [
        row(
            [
                element("code", name_of(r)),
                Problem(r.m, r.n, r.k, r.dtype, r.fmad).short,
                _yes_or_no(r.verdict.correct, "not looked at"),
                _yes_or_no(r.verdict.bit_equal, "not determined"),
                None if r.verdict.max_error is None else f"{r.verdict.max_error:.3g}",
                None if r.verdict.error_bound is None else f"{r.verdict.error_bound:.3g}",
            ],
            (4, 5),
        )
        for r in results
        if r.status != "skipped"
    ]
    return table(heads, lines, "Verification", (4, 5))


def _yes_or_no(value: bool | None, unknown: str) -> str:
    return unknown if value is None else "yes" if value else "no"


def occupancy(results: Sequence[OccupancyResult]) -> Element:
    """What a multiprocessor holds of each variant, and what limits it."""
    heads: list[Child] = [
        "variant",
        "occupancy",
        element("span", "occupancy as a bar", class_="unseen"),
        "limited by",
        "active warps",
        "active blocks",
        "blocks by warps",
        "by blocks",
        "by registers",
        "by shared memory",
        "threads a block",
        "registers a thread",
        "shared bytes a block",
    ]
    numbers = (1, *range(4, 13))
    several = len({r.dtype for r in results}) > 1
    lines = []
    for r in results:
        name = f"{r.method} {parameters(r.params)}".strip() + (f" {r.dtype}" if several else "")
        limits = ["–" if r.limits[of] == UNUSED else f"{r.limits[of]:,}" for of in _LIMITS]
        known = r.is_known
        lines.append(
            row(
                [
                    element("code", name),
                    percent(r.occupancy) if known else None,
                    _bar(r.occupancy, "gpu"),
                    r.reason or ", ".join(r.limited_by),
                    str(r.active_warps) if known else None,
                    str(r.active_blocks) if known else None,
                    *(limits if known else [None] * len(limits)),
                    f"{r.threads_per_block:,}",
                    f"{r.registers_per_thread:,}" if known else None,
                    f"{r.shared_bytes_per_block:,}" if known else None,
                ],
                numbers,
            )
        )
        lines[-1][2].set("class", "bar")
        lines[-1][3].set("class", "limits")
    made = table(heads, lines, "Occupancy", numbers)
    made[0].set("class", "ladder")
    return made
