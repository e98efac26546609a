"""The output of `reproduce`: each source in its own form, then which of its conclusions hold."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cudamm.courses.course_records import Conclusion, Outcome, Reproduction, Row
from cudamm.devices.device import DeviceInfo
from cudamm.output.console import fits, frameless, print_fitting
from cudamm.output.course_style import outcome_in_words, runs_line
from cudamm.output.failed_rows import print_marks
from cudamm.output.number_format import parameters, percent, significant
from cudamm.output.plots.chart import Drawing
from cudamm.output.plots.result_charts import MOST_CHARTS, captioned, charts_of
from cudamm.output.result_marks import execution_sign, marks_of
from cudamm.output.results_view import VERIFIED, ResultRow, results_view

_VERDICTS = {True: ("holds", "green"), False: ("does not hold", "yellow"), None: ("not shown here", "dim")}
_THEIRS, _HERE = "theirs", "here"
_PARAMETERS, _SIZE = "parameters", "M x N x K"


def drawing_of(device: DeviceInfo, reproductions: Sequence[Reproduction]) -> Drawing:
    """Return each source's times, drawn as by `bench`, with the source's published curves if it has any."""
    measured = {found.name: [outcome.result for outcome in found.outcomes] for found in reproductions}
    charts = [
        dataclasses.replace(chart, title=f"{name}: {chart.title}")
        for name, results in measured.items()
        for chart in charts_of(results_view(device.name, results))[:MOST_CHARTS]
    ]
    return captioned(results_view(device.name, itertools.chain(*measured.values())), charts)


def render(console: Console, reproductions: Sequence[Reproduction]) -> None:
    """Print each source's figures beside those found here, its checks, and what the marks mean."""
    for position, found in enumerate(reproductions):
        if position:
            console.print()
        partly = "" if found.is_complete else " (interrupted: some parts did not run)"
        console.print(f"{escape(found.title)}, on {escape(found.device)}{partly}", style="bold")
        for remark in found.remarks:
            console.print(escape(remark), style="dim")
        console.print()
        _FORMS.get(found.name, _figures)(console, found)
        for line in found.findings.printed:
            console.print(escape(line))
        if found.findings.printed:
            console.print()
        _print_troubles(console, found.outcomes)
        _print_checks(console, found.findings.checks)
    print_marks(console, marks_of(o.result for found in reproductions for o in found.outcomes))


def _print_checks(console: Console, checks: Sequence[Conclusion]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        verdict, style = _VERDICTS[check.holds]
        table.add_row(Text(verdict, style=style), escape(check.sentence))
    console.print(table)


def _print_troubles(console: Console, outcomes: Sequence[Outcome]) -> None:
    for found in outcomes:
        result = found.result
        if result.status not in ("failed", "skipped"):
            continue
        where = f"{found.case.label} at {found.case.problem.shape}"
        style = "bold red" if result.status == "failed" else "bold"
        console.print(f"[{style}]{result.status}[/] {escape(where)}: {escape(result.reason)}")


def _recitation(console: Console, found: Reproduction) -> None:
    """Print CMU's tables of times and rates: a table per size, a row per method."""
    for size, rows in itertools.groupby(found.findings.rows, key=lambda row: row.size):
        of_size = list(rows)
        theirs = of_size[0].published_size
        console.print(f"{size} (M x N x K)" + (f"; theirs: {theirs}" if theirs != size else ""))
        outcomes = {o.case.label: o for o in found.outcomes if str(o.case.problem.shape) == size}
        print_fitting(console, (_recitation_table(of_size, outcomes, narrow) for narrow in (False, True)))
        console.print()


def _recitation_table(rows: Sequence[Row], outcomes: dict[str, Outcome], narrow: bool) -> Table:
    table = _table("")
    table.add_column("method", no_wrap=True)
    is_timed = any(row.measured is not None for row in rows)
    for whose in (_THEIRS, _HERE)[: 1 + is_timed]:
        table.add_column(f"{whose}\nms", justify="right", no_wrap=True)
        if whose == _HERE or not narrow or not is_timed:
            table.add_column(f"{whose}\nGFLOP/s", justify="right", no_wrap=True)
    if is_timed:
        table.add_column("rate: here\n/ theirs", justify="right", no_wrap=True)
    if not narrow or not is_timed:
        table.add_column("result", no_wrap=True)
    for label, group in itertools.groupby(rows, key=lambda row: row.label):
        of = {row.quantity: row for row in group}
        time, rate, result = of["median"], of["rate"], outcomes[label].result
        measured = [significant(time.measured), significant(rate.measured), _ratio(rate.ratio)]
        cells = [
            escape(label) + execution_sign(result.execution),
            _as_printed(time.published),
            *([] if narrow and is_timed else [_as_printed(rate.published)]),
            *(measured if is_timed else []),
            *([] if narrow and is_timed else [ResultRow(result).outcome]),
        ]
        table.add_row(*cells, style="red" if result.status == "failed" else "")
    return table


def _report(console: Console, found: Reproduction) -> None:
    """Print Tsinghua's lines: a configuration's runs, their sum over their number, the mean; then a table."""
    for done in found.outcomes:
        row = ResultRow(done.result)
        console.print(escape(done.case.label) + (" (padded)" if done.result.padded else ""))
        if done.result.timing.samples_ms:
            console.print(runs_line(done.result))
        console.print(escape(outcome_in_words(row)))
        console.print()
    rows = found.findings.rows
    print_fitting(console, (_means_table(rows, narrow) for narrow in (False, True)))
    console.print()


def _means_table(rows: Sequence[Row], narrow: bool) -> Table:
    table = _table("means, and each mean divided by the fastest of the same report")
    table.add_column("method", no_wrap=True)
    is_timed = any(row.measured is not None for row in rows)
    for whose in (_THEIRS, _HERE)[: 1 + is_timed]:
        table.add_column(f"{whose}\nms", justify="right", no_wrap=True)
        if not narrow:
            table.add_column("divided by\nfastest", justify="right", no_wrap=True)
    if is_timed:
        table.add_column("here /\ntheirs", justify="right", no_wrap=True)
    fastest_ms = min((row.published for row in rows if row.published is not None), default=None)
    fastest_here_ms = min((row.measured for row in rows if row.measured is not None), default=None)
    for label, group in itertools.groupby(rows, key=lambda row: row.label):
        for row in group:
            values = " ".join(f"{name} = {value}" for name, value in row.params.items())
            over_fastest = [] if narrow else [_over(row.measured, fastest_here_ms)]
            here = [significant(row.measured), *over_fastest, _ratio(row.ratio)]
            table.add_row(
                escape(", ".join(filter(None, (label, values)))),
                _as_printed(row.published),
                *([] if narrow else [_over(row.published, fastest_ms)]),
                *(here if is_timed else []),
            )
        table.add_section()
    return table


def _figures(console: Console, found: Reproduction) -> None:
    """Print computed figures beside published ones, then figures that are not published, one per row."""
    rows = found.findings.rows
    computed = [row for row in rows if row.published is not None]
    others = [row for row in rows if row.published is None]
    if computed:
        _print(console, _computed_table(computed))
        console.print()
    if others:
        marks = {
            (o.case.label, str(o.case.problem.shape)): execution_sign(o.result.execution)
            for o in found.outcomes
        }
        left_out = ((), (_PARAMETERS,), (_PARAMETERS, _SIZE))
        print_fitting(console, (_found_table(others, marks, names) for names in left_out))
        console.print()


def _computed_table(rows: Sequence[Row]) -> Table:
    table = _table("computed figures, beside the published ones")
    for heading in ("subject", "quantity"):
        table.add_column(heading, overflow="fold")
    for heading in (_THEIRS, _HERE):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for row in rows:
        figures = (_value(row, row.published), _value(row, row.measured))
        table.add_row(escape(row.label), escape(row.quantity), *figures, _unit(row))
    return table


def _found_table(rows: Sequence[Row], marks: dict[tuple[str, str], str], left_out: Sequence[str]) -> Table:
    table = _table("figures found on this device")
    table.add_column("subject", overflow="fold")
    described = [name for name in (_PARAMETERS, _SIZE) if name not in left_out]
    for name in described:
        table.add_column(name, no_wrap=True)
    table.add_column("quantity", overflow="fold")
    table.add_column(_HERE, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for row in rows:
        description = {_PARAMETERS: parameters(row.params), _SIZE: row.size}
        table.add_row(
            escape(row.label) + marks.get((row.label, row.size), ""),
            *(escape(description[name]) for name in described),
            escape(row.quantity),
            _value(row, row.measured) or _status(row),
            _unit(row),
            style="red" if row.status == "failed" else "",
        )
    return table


_FORMS: dict[str, Callable[[Console, Reproduction], None]] = {"cmu": _recitation, "tsinghua": _report}


def _table(title: str) -> Table:
    return Table(title=escape(title), title_justify="left", title_style="", expand=False)


def _print(console: Console, table: Table) -> None:
    """Print a table with its frame if it fits, cells folded if necessary; else without its frame."""
    console.print(table if fits(console, table, folded=True) else frameless(table))


def _as_printed(value: float | None) -> str:
    """Return a published figure with the digits of its publication."""
    return "" if value is None else f"{value:g}"


def _status(row: Row) -> str:
    return VERIFIED if row.status == "ok" else row.status


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{significant(value)}×"


def _over(value: float | None, best: float | None) -> str:
    return "" if value is None or not best else f"{value / best:.2f}"


def _value(row: Row, value: float | None) -> str:
    if value is None:
        return ""
    if row.unit == "share":
        return percent(value)
    if float(value).is_integer() and row.unit not in ("ms", "GFLOP/s"):
        return f"{value:,.0f}"
    return significant(value) if row.unit != "op/B" else f"{value:g}"


def _unit(row: Row) -> str:
    if row.measured is None and row.published is None:
        return ""
    return {"share": "", "blocks": "", "registers": "", "cycles": "", "bytes": "B"}.get(row.unit, row.unit)
