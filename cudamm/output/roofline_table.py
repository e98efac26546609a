"""The tables of `roofline`: the roofs, then a row a variant, then what the numbers mean."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import YARDSTICKS
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_failed, print_marks, print_troubles
from cudamm.output.number_format import (
    folded,
    parameters,
    published_amount,
    rate_unit,
    rounded_percent,
    significant,
    variant,
)
from cudamm.output.plots.chart import Drawing, caption
from cudamm.output.plots.roofline_chart import RooflinePoint
from cudamm.output.plots.roofline_chart import roofline as roofline_chart
from cudamm.output.result_marks import Mark, marks_of
from cudamm.output.results_view import caches_of, troubles

if TYPE_CHECKING:
    from cudamm.benchmark.roofline import Bound, Roofline, RooflineResult
    from cudamm.devices.device import DeviceInfo, Peak

ONCE = "A and B once"
"""Name of the row of the compulsory traffic."""

MOST_FINDINGS = 5

MOST_NAMES = 3
"""Maximum number of names at one point of a picture."""

_LEGEND = (
    "op/B, in every row: operations per byte that the threads load from global memory; each load of each "
    "thread counts, also if a cache or one access of the warp serves it. bound: the lower of the peak and "
    "op/B x bandwidth, as if every loaded byte came from memory and stores took no time. region: "
    "memory-bound if op/B x bandwidth is lower, else compute-bound. Caches serve loads too, so a rate can "
    f"lie above its bound. With a cold cache no rate lies above the bound of “{ONCE}”, the fewest loads of "
    "any kernel."
)


def render(
    console: Console, device: DeviceInfo, roofline: Roofline, results: Sequence[RooflineResult]
) -> None:
    """Print the roofs, a table a size and type, what failed, what is above its roof, and a legend."""
    _print_roofs(console, roofline)
    for _, group in itertools.groupby(results, key=lambda r: (r.m, r.n, r.k, r.dtype)):
        rows = list(group)
        print_fitting(console, (_table(device, roofline, rows, detail) for detail in (3, 2, 1, 0)))
    measured = [r.measured for r in results if r.measured is not None]
    print_troubles(console, troubles(measured))
    for r in results:
        if r.measured is None and r.status != "ok":
            print_failed(console, r.status, _name(r), r.reason)
    for line in findings(results):
        console.print(escape(line), soft_wrap=True)
    padded = any(r.padded for r in results)
    print_marks(console, marks_of(measured) if measured else [_PADDED] * padded)
    console.print(escape(_LEGEND), style="dim")


def drawing_of(device: DeviceInfo, roofline: Roofline, results: Sequence[RooflineResult]) -> Drawing:
    """Return the results under the roofs: one point for each whose requested intensity is known."""
    sizes = {f"{r.m} x {r.n} x {r.k}, {r.dtype}" for r in results}
    unknown = sum(r.requested is None for r in results)
    remarks = ["The intensity counts every load of every thread"]
    if unknown:
        remarks.append(f"Not drawn, because their loads are not known: {unknown}")
    highest = max(roofline.peaks, key=lambda peak: peak.gflops)
    others = {label: peak.gflops for label, peak in _labelled(roofline).items() if peak is not highest}
    return roofline_chart(
        highest.gflops,
        roofline.bandwidth_gbytes_per_s,
        _points(results, highest),
        title=sizes.pop() if len(sizes) == 1 else "",
        caption=caption(device.name, remarks),
        other_peaks_gflops=others,
    )


def _points(results: Sequence[RooflineResult], highest: Peak) -> list[RooflinePoint]:
    """Return a point per measured result, and one point for all other results that share a bound."""
    count = Counter(r.method for r in results)
    several = len({(r.m, r.n, r.k, r.dtype) for r in results}) > 1
    found: list[RooflinePoint] = []
    bounds: dict[Bound, list[str]] = {}
    for r in results:
        if r.requested is None:
            continue
        label = r.method if count[r.method] == 1 else f"{r.method} {parameters(r.params)}"
        label += f" at {r.m}x{r.n}x{r.k}" if several else ""
        if r.gflops is None:
            bounds.setdefault(r.requested, []).append(label)
        else:
            own_bound = None if r.peak == highest else r.requested.gflops
            found.append(RooflinePoint(label, r.requested.intensity, r.gflops, own_bound))
    for bound, labels in bounds.items():
        more = len(labels) - MOST_NAMES
        names = ", ".join(labels[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        found.append(RooflinePoint(names, bound.intensity, bound_gflops=bound.gflops))
    return found


_PADDED = Mark(
    "",
    "",
    "the matrices are padded with zeros to the multiples that the kernel needs; loads of the padding count, "
    "its operations do not",
)


def findings(results: Sequence[RooflineResult]) -> list[str]:
    """Return lines on rates above a roof, with the reason, and on methods whose loads are unknown."""
    found = [line for result in results for line in _above(result)]
    more = len(found) - MOST_FINDINGS
    if more > 0:
        found = [*found[:MOST_FINDINGS], f"… and {more} more rates lie above their bounds"]
    unknown = {r.method: r for r in results if r.traffic is None and r.status == "ok"}
    for method, result in unknown.items():
        why = f" ({result.why_not_counted})" if result.why_not_counted else ""
        found.append(
            f"{method}: the loads of the library's kernels are not known"
            if method in YARDSTICKS
            else f"{method}: the bytes that its threads load are not known{why}; give them as arithmetic in "
            "its header, “// traffic: bytes loaded, bytes stored”, or with --traffic"
        )
    counted = dict.fromkeys(r.method for r in results if r.traffic is not None and r.traffic.is_counted)
    if counted:
        found.append(
            f"{', '.join(counted)}: the CPU device counted the bytes, as cudamm trace does, because the file "
            "has no line “traffic:”"
        )
    return found


def _above(result: RooflineResult) -> list[str]:
    """Return why a rate can lie above its bound, with the numbers; empty if the rate is not above it."""
    rate, requested, compulsory = result.gflops, result.requested, result.compulsory
    unit, name = rate_unit(result.dtype), _name(result)
    if rate is None:
        return []
    if rate > compulsory.gflops:
        what = f"{name}: {rate:,.0f} {unit} are {rate / compulsory.gflops:.2f} times"
        if compulsory.region == "memory-bound":
            of = f"the bound of “{ONCE}”, {compulsory.gflops:,.0f}"
            return [f"{what} {of}: a cache contained at least a part of A or B"]
        return [
            f"{what} the peak, {compulsory.gflops:,.0f}: the peak is not exact, or "
            "the kernel multiplies on faster units, which its header does not name (ceiling)"
        ]
    share = result.share_not_from_memory
    if share is None or requested is None:
        return []
    return [
        f"{name}: at {rate:,.0f} {unit} the threads load {rate / requested.intensity:,.0f} GB/s, "
        f"{rate / requested.gflops:.1f} times the bandwidth of memory: at least {rounded_percent(share)} of "
        "the bytes came from caches, or from one access for several threads of a warp"
    ]


def _labelled(roofline: Roofline) -> dict[str, Peak]:
    """Return the peaks by names that tell them apart."""
    if len(roofline.peaks) == 1:
        return {"peak": roofline.peaks[0]}
    several_types = len({peak.element_type for peak in roofline.peaks}) > 1
    return {
        f"peak of {peak.element_type} {peak.unit}" if several_types else f"peak of {peak.unit}": peak
        for peak in roofline.peaks
    }


def _print_roofs(console: Console, roofline: Roofline) -> None:
    peaks, rows = _labelled(roofline), []
    for label, peak in peaks.items():
        at_clock = f", at {published_amount(peak.clock_mhz)} MHz" if peak.clock_mhz else ""
        rows.append(
            (label, f"{published_amount(peak.gflops)} {rate_unit(peak.element_type)}", peak.source + at_clock)
        )
    bandwidth = published_amount(roofline.bandwidth_gbytes_per_s)
    rows.append(("bandwidth", f"{bandwidth} GB/s", roofline.bandwidth_from))
    for i, (label, peak) in enumerate(peaks.items()):
        words = "kernels below the ridge are memory-bound, others compute-bound" if i == 0 else ""
        ridge = f"{significant(roofline.ridge(peak))} op/B"
        rows.append((label.replace("peak", "ridge"), ridge, words))
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column()
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _table(device: DeviceInfo, roofline: Roofline, rows: Sequence[RooflineResult], detail: int) -> Table:
    """Return the table of a problem's rows.

    Args:
        detail: 3 for everything; 2 without the stores; 1 with a parameter a line and short words, and of
            measured rows without the bound's share of the peak; 0 with the parameters below the method, and
            without the rate's share of it.
    """
    first, measured = rows[0], any(r.measured is not None for r in rows)
    caches = caches_of(r.measured for r in rows if r.measured is not None)
    cache = f", L2 {caches}" if caches else ""
    title = f"{first.m} x {first.n} x {first.k} (M x N x K), {first.dtype}, on {device.name}{cache}"
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    if detail:
        table.add_column("parameters", no_wrap=True)
    unit = rate_unit(first.dtype)
    wide = detail > 1
    columns = [
        ("op/B", True),
        ("with stores", detail > 2),
        (f"bound ({unit})" if wide else f"bound\n{unit}", True),
        ("of peak" if wide else "of\npeak", wide or not measured),
        (f"measured ({unit})" if wide else "measured", measured),
        ("of bound" if wide else "of\nbound", measured),
        ("of peak" if wide else "of\npeak", measured and detail > 0),
    ]
    for name, shown in columns:
        if shown:
            table.add_column(name, justify="right", no_wrap=True)
    table.add_column("region", no_wrap=True)

    def add(
        names: Sequence[str],
        of: Bound | None,
        with_stores: float | None,
        result: RooflineResult | None = None,
        style: str = "",
    ) -> None:
        rate = result.gflops if result else None
        share = result.share_of_bound if result else None
        region = of.region if of else ""
        cells = [
            significant(of.intensity) if of else "?",
            significant(with_stores),
            _bound(of) if of else "?",
            rounded_percent(of.share_of_peak) if of else "",
            significant(rate),
            rounded_percent(share),
            rounded_percent(None if rate is None or result is None else rate / result.peak.gflops),
        ]
        kept = [cell for cell, (_, shown) in zip(cells, columns, strict=True) if shown]
        table.add_row(*names, *kept, region if wide else region.removesuffix("-bound"), style=style)

    for _, group in itertools.groupby(rows, key=lambda r: r.method):
        for i, row in enumerate(group):
            values = parameters(row.params) if wide else folded(row.params)
            method = row.method if i == 0 or not detail else ""
            names = [method, values] if detail else [f"{method}\n{values}".strip()]
            style = "red" if row.status == "failed" else ""
            add([escape(name) for name in names], row.requested, row.intensity_with_stores, row, style)
    table.add_section()
    by_unit = {row.unit: (row.compulsory, row.compulsory_intensity_with_stores) for row in rows}
    for unit, of_unit in by_unit.items():
        which = unit if len(by_unit) > 1 else ""
        add([ONCE, which] if detail else [f"{ONCE}\n{which}".strip()], *of_unit)
    return table


def _bound(of: Bound) -> str:
    """Return a bound in whole GFLOP/s; one below 100 with three significant digits."""
    return f"{of.gflops:.0f}" if of.gflops >= 100 else significant(of.gflops)


def _name(result: RooflineResult) -> str:
    return f"{variant(result.method, result.params)} at {result.m}x{result.n}x{result.k}"
