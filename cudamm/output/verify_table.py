"""The table of `verify`: a row per variant and type, a column per shape."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.result import Result
from cudamm.benchmark.verify import is_success
from cudamm.devices.device import DeviceInfo
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_troubles
from cudamm.output.number_format import parameters, variant
from cudamm.output.results_view import VERIFIED, inputs_of, troubles
from cudamm.output.variant_table import Parameters, shown_parameters

_PADDED = "(✓)"

_MARKS = {
    "✓": "every element is within its error bound",
    "✓=": "every bit equals the reference",
    _PADDED: "so with matrices padded with zeros to the multiples that the kernel requires",
    "✗": "wrong or failed",
    "-": "not run",
}
"""Marks of results, and their meanings."""

_COLUMNS = (
    "error / allowed: the largest error of the right results as a share of its bound, which is a rounding "
    "where K is 1; up to 100% is right   bits: the precision that the errors show"
)

Shape = tuple[int, int, int]
"""M, N and K."""

_LAYOUTS: tuple[tuple[Parameters, bool], ...] = (
    ("all", False),
    ("all", True),
    ("those that vary", True),
    ("one a line", True),
)
"""Layouts from widest to narrowest: parameters, and whether a shape takes three lines."""


def render(console: Console, device: DeviceInfo, results: Sequence[Result]) -> None:
    """Print the table, then every failure with its place, then the count."""
    shapes = list(dict.fromkeys((r.m, r.n, r.k) for r in results))
    fmad = "" if results[0].fmad else "no fused multiply-add"
    title = ", ".join(filter(None, (f"Verified on {escape(device.name)}", inputs_of(results), fmad)))

    # Results are grouped by variant. Variants are in the order of their first results.
    order = {name: i for i, name in enumerate(dict.fromkeys(_variant(r) for r in results))}
    types = {name: i for i, name in enumerate(dict.fromkeys(r.dtype for r in results))}
    ordered = sorted(results, key=lambda r: (order[_variant(r)], types[r.dtype]))
    print_fitting(console, (_table(title, shapes, ordered, *layout) for layout in _LAYOUTS))
    for result in ordered:
        if result.right_where:
            dtype = f" {result.dtype}" if len(types) > 1 else ""
            name = variant(result.label, result.params)
            where = result.right_where.removeprefix("right ")
            console.print(f"{escape(name + dtype)} is [bold green]right[/] {escape(where)}", soft_wrap=True)
    print_troubles(console, troubles(ordered))
    shown = {_mark(result) for result in results}
    marks = {mark.strip("()") for mark in shown} | (
        {_PADDED} if any("(" in mark for mark in shown) else set()
    )
    legend = (f"{mark} {meaning}" for mark, meaning in _MARKS.items() if mark in marks)
    console.print("   ".join(legend), style="dim")
    if any(result.status == "ok" for result in results):
        console.print(_COLUMNS, style="dim")
    console.print(_counted(results))


def _counted(results: Sequence[Result]) -> str:
    """Return how many results are right, and whether that is a success."""
    right = sum(r.status == "ok" for r in results)
    skipped = sum(r.status == "skipped" for r in results)
    unrun = sum(r.is_of_host_code for r in results)
    if unrun == len(results):
        return "Nothing was verified."
    padded = sum(r.status == "ok" and r.padded for r in results)
    with_padding = f", {'all' if padded == right else padded} with padded matrices" if padded else ""
    text = f"{right} of {len(results)} results are right{with_padding}."
    if skipped:
        text += f" {skipped} {'was' if skipped == 1 else 'were'} skipped."
    if unrun:
        text += f" {unrun} {'was' if unrun == 1 else 'were'} not run."
    if right == len(results):
        text += " Success!"
    elif right + skipped == len(results) and not is_success(results):
        only = "Only 1x1x1 was run, which verifies nothing: name a size that the kernel accepts with -n."
        text += f" {only if right else 'Nothing was verified.'}"
    return text


def _table(
    title: str, shapes: Sequence[Shape], results: Sequence[Result], shown: Parameters, in_lines: bool
) -> Table:
    """Return the table.

    Args:
        results: the results, grouped by variant.
        shown: which parameters to show.
        in_lines: whether a shape takes three lines.
    """
    params = shown_parameters(results, shown)
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in ["method"] + ["parameters"] * any(params) + ["type"]:
        table.add_column(name, no_wrap=True)
    for m, n, k in shapes:
        table.add_column(f"{m}x\n{n}x\n{k}" if in_lines else f"{m}x{n}x{k}", justify="center", no_wrap=True)
    table.add_column("error /\nallowed" if in_lines else "error / allowed", justify="right", no_wrap=True)
    table.add_column("bits", justify="right", no_wrap=True)
    named = zip(results, params, strict=True)
    for _, group in itertools.groupby(named, key=lambda pair: _variant(pair[0])):
        rows = list(group)
        names = [escape(rows[0][0].label)] + [escape(rows[0][1])] * any(params)
        for i, (dtype, cells) in enumerate(itertools.groupby(rows, key=lambda pair: pair[0].dtype)):
            found = {(r.m, r.n, r.k): r for r, _ in cells}
            marks = [_styled_mark(found[shape]) if shape in found else "" for shape in shapes]
            measured = _share_of_bound(found.values()), _bits(found.values())
            table.add_row(*(names if i == 0 else [""] * len(names)), dtype, *marks, *measured)
        table.add_section()
    return table


def _variant(result: Result) -> tuple[str, str]:
    return result.label, parameters(result.params)


def _mark(result: Result) -> str:
    if result.status == "skipped" or result.is_of_host_code:
        return "-"
    if result.status == "failed":
        return "✗"
    mark = f"{VERIFIED}=" if result.verdict.bit_equal else VERIFIED
    return f"({mark})" if result.padded else mark


def _styled_mark(result: Result) -> str:
    return f"[bold red]{mark}[/]" if (mark := _mark(result)) == "✗" else mark


def _share_of_bound(results: Iterable[Result]) -> str:
    """Return the largest error as a share of its bound."""
    shares = [
        verdict.max_error / verdict.error_bound
        for verdict in (r.verdict for r in results if r.status == "ok")
        if verdict.max_error is not None and verdict.error_bound
    ]
    return f"{max(shares):.1%}" if shares else ""


def _bits(results: Iterable[Result]) -> str:
    """Return the fewest bits of products that have such errors; empty if the errors show none."""
    bits = [r.verdict.effective_bits for r in results if r.verdict.effective_bits is not None]
    return f"{min(bits):.0f}" if bits else ""
