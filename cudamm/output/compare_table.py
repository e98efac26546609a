"""The table of `compare`: old and new times, speed-ups with their intervals, and what they come to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark import comparison
from cudamm.benchmark.comparison import Comparison, Outcome, Row
from cudamm.benchmark.result_file import Saved
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_failed, print_left_out, print_marks
from cudamm.output.number_format import folded, parameters, percent, ratio, significant
from cudamm.output.result_marks import EXECUTION_MARKS, Mark, execution_sign
from cudamm.output.results_view import MOST_ROWS, ProblemLabel

ALWAYS_COUNTED: tuple[Outcome, ...] = ("faster", "slower", "no difference")
_COUNTED: dict[Outcome, str] = {
    "now fails": "now failing",
    "works now": "working now",
    "not compared": "not compared",
    "only in the old file": "only in the old file",
    "only in the new file": "only in the new file",
}
_STYLES = {"faster": "green", "slower": "red", "now fails": "bold red", "works now": "green"}
_OLD, _NEW = "old (ms)", "new (ms)"
_ONE_LINE = "all in one line"
_LEFT_OUT_IN_NARROW_TERMINALS = ((), (_ONE_LINE,), (_ONE_LINE, _OLD), (_ONE_LINE, _OLD, _NEW))


def render(
    console: Console, old: Saved, new: Saved, comparisons: Sequence[Comparison], confidence: float
) -> None:
    """Print a table per problem, the reasons of failures, what the marks mean, and the summary."""
    for which, saved in (("old", old), ("new", new)):
        console.print(f"{which}: {escape(_origin(saved))}", soft_wrap=True)
    shown = _shown(comparisons)
    for _, group in itertools.groupby(shown, key=lambda c: c.problem):
        rows = list(group)
        print_fitting(console, (_table(new, rows, left_out) for left_out in _LEFT_OUT_IN_NARROW_TERMINALS))
    _print_troubles(console, shown)
    print_left_out(console, len(shown), len(comparisons), "those with a difference come first")
    print_marks(console, _marks(comparisons))
    console.print(summary(comparisons, confidence), soft_wrap=True)


def _shown(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return `MOST_ROWS` comparisons at most, in their order; those with a difference come before others."""
    places = sorted(range(len(comparisons)), key=lambda place: not _is_different(comparisons[place]))
    return [comparisons[place] for place in sorted(places[:MOST_ROWS])]


def _is_different(found: Comparison) -> bool:
    return found.outcome in ("faster", "slower", "now fails", "works now")


def summary(comparisons: Sequence[Comparison], confidence: float) -> str:
    """Return `3 faster, 1 slower, 11 no difference (95% confidence)`, and the number of other outcomes."""
    counts = Counter(c.outcome for c in comparisons)
    compared = ", ".join(f"{counts[outcome]} {outcome}" for outcome in ALWAYS_COUNTED)
    others = [f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    return "; ".join((f"{compared} ({percent(confidence)} confidence)", *others))


def _origin(saved: Saved) -> str:
    environment = saved.document["environment"]
    version = f"cudamm {environment['cudamm']}" if environment.get("cudamm") else None
    return ", ".join(str(part) for part in (saved.path, environment.get("date"), version) if part)


def _table(new: Saved, rows: Sequence[Comparison], left_out: Sequence[str]) -> Table:
    first, device = rows[0].row, new.document["device"]["name"]
    label = ProblemLabel(first["m"], first["n"], first["k"], first["dtype"], first["fmad"], first["inputs"])
    title = f"{label.spaced} (M x N x K), {label.kind}, {first['cache']} cache, on {device}"
    table = Table(title=escape(title), title_justify="left", title_style="bold", expand=False)
    narrow = _ONE_LINE in left_out
    space = "\n" if narrow else " "
    table.add_column("method", no_wrap=True)
    table.add_column("parameters", no_wrap=True)
    times = [heading for heading in (_OLD, _NEW) if heading not in left_out]
    for heading in times:
        table.add_column(heading.replace(" ", space), justify="right", no_wrap=True)
    table.add_column("speed-up", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    several = len({c.row["method"] for c in rows}) < len(rows)
    for method, group in itertools.groupby(rows, key=_method):
        for i, found in enumerate(group):
            time = {_OLD: _time(found.old), _NEW: _time(found.new)}
            table.add_row(
                escape(method) + execution_sign(found.row["execution"]) if i == 0 else "",
                escape(_parameters(found, narrow)),
                *(time[heading] for heading in times),
                ratio(found.ratio, side_of_one=True).replace(" ", space),
                found.outcome.replace(" the ", " ").replace(" file", ""),
                style=_STYLES.get(found.outcome, ""),
            )
        if several:
            table.add_section()
    return table


def _method(found: Comparison) -> str:
    """Return the method's name; `v1 → v2` if the two files have different methods."""
    old, new = found.other_variant, found.row["method"]
    return f"{old['method']} → {new}" if old is not None and old["method"] != new else str(new)


def _parameters(found: Comparison, narrow: bool) -> str:
    """Return the parameters, those of the old file first if they differ."""
    form = folded if narrow else parameters
    rows = [found.other_variant, found.row] if found.other_variant is not None else [found.row]
    return " → ".join(dict.fromkeys(form(row["params"]) for row in rows if row is not None)).strip(" →")


def _time(row: Row | None) -> str:
    """Return the median, or the row's status if it has no valid time."""
    if row is None:
        return ""
    return significant(comparison.median_ms(row)) if row["status"] == "ok" else row["status"].upper()


def _print_troubles(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Print why rows have no time, the new file's reason before the old one's."""
    for found in comparisons:
        row = next((r for r in (found.new, found.old) if r is not None and r["status"] != "ok"), None)
        if row is None:
            continue
        where = "new" if row is found.new else "old"
        what = f"{comparison.variant_name(row)} at {row['m']}x{row['n']}x{row['k']} {row['dtype']}"
        print_failed(console, row["status"], f"{what} ({where})", row["reason"])


def _marks(comparisons: Sequence[Comparison]) -> list[Mark]:
    executions = {c.row["execution"] for c in comparisons}
    if any(c.is_emulated for c in comparisons):
        executions.add("emulated")
    return [mark for execution, mark in EXECUTION_MARKS.items() if execution in executions]
