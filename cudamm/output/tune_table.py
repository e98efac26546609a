"""The output of `tune`: the winners, why they won, how to measure them again, and what is stored."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.devices.device import DeviceInfo
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_marks, print_troubles
from cudamm.output.number_format import parameters, percent, rate_unit, ratio, significant
from cudamm.output.result_marks import marks_of
from cudamm.output.results_view import ResultRow, caches_of, inputs_of, troubles
from cudamm.tuning.search import NOT_TIMED, Outcome
from cudamm.tuning.tuned_store import Entry

MOST_TROUBLES = 3
"""Maximum number of failed variants shown; there may be very many."""

_TYPE, _SAMPLES, _NOISE, _TRIED = "type", "samples", "noise", "tried"
_LEFT_OUT_IN_NARROW_TERMINALS: tuple[tuple[str, ...], ...] = (
    (),
    (_SAMPLES, _NOISE),
    (_SAMPLES, _NOISE, _TYPE, _TRIED),
)


def render(console: Console, device: DeviceInfo, outcomes: Sequence[Outcome]) -> None:
    """Print a row for each method and problem, then a line on each, then what failed, then notes."""
    if device.kind == "gpu":
        print_fitting(console, (_table(device, outcomes, left) for left in _LEFT_OUT_IN_NARROW_TERMINALS))
        lines = [sentence(outcome) for outcome in outcomes]
    else:
        print_fitting(console, [_verified_table(device, outcomes)])
        lines = [NOT_TIMED]
    for line in lines:
        console.print(escape(line), soft_wrap=True)
    results = [trial.result for outcome in outcomes for trial in outcome.trials]
    failed = [result for result in results if result.status == "failed"]
    print_troubles(console, troubles(failed[:MOST_TROUBLES]))
    if len(failed) > MOST_TROUBLES:
        console.print(f"… and {len(failed) - MOST_TROUBLES} more failed; --json FILE writes all of them")
    print_marks(console, marks_of(outcome.winner for outcome in outcomes if outcome.winner))


def _table(device: DeviceInfo, outcomes: Sequence[Outcome], left_out: Sequence[str]) -> Table:
    caches = caches_of(outcome.winner for outcome in outcomes if outcome.winner)
    words = f"The fastest parameters on {device.name}", caches and f"L2 {caches}", _inputs(outcomes)
    title = escape(", ".join(filter(None, words)))
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    units = {rate_unit(o.task.problem.element.name) for o in outcomes if o.trials}
    rate = " or ".join(sorted(units)) or "GFLOP/s"
    columns = {
        "method": False, "M x N x K": False, _TYPE: False, "parameters": False, _SAMPLES: True,
        "median (ms)": True, _NOISE: True, rate: True, _TRIED: True,
    }  # fmt: skip
    shown = [name for name in columns if name not in left_out]
    for name in shown:
        table.add_column(name, justify="right" if columns[name] else "left", no_wrap=name != "parameters")
    for outcome in outcomes:
        won, shape = ResultRow(outcome.winner) if outcome.winner else None, outcome.task.problem.shape
        cells = {
            "method": escape(outcome.task.method.name),
            "M x N x K": f"{shape.m} x {shape.n} x {shape.k}",
            _TYPE: outcome.task.problem.element.name,
            "parameters": escape(won.parameters) if won else "[red]none[/]",
            _SAMPLES: str(len(won.result.timing.samples_ms)) if won else "",
            "median (ms)": significant(won.result.median_ms) if won else "",
            _NOISE: percent(won.noise) if won else "",
            rate: significant(won.rate) if won else "",
            _TRIED: f"{len(outcome.trials)} of {len(outcome.task.cases)}",
        }
        table.add_row(*(cells[name] for name in shown))
    return table


def _inputs(outcomes: Sequence[Outcome]) -> str:
    return inputs_of(trial.result for outcome in outcomes for trial in outcome.trials)


def _verified_table(device: DeviceInfo, outcomes: Sequence[Outcome]) -> Table:
    """Return a table without times, since times on the CPU device say nothing about a GPU."""
    title = escape(", ".join(filter(None, (f"Variants verified on {device.name}", _inputs(outcomes)))))
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    for name in ("method", "M x N x K", "type", "right", "tried", "search"):
        table.add_column(name, justify="right" if name in ("right", "tried") else "left", no_wrap=True)
    for outcome in outcomes:
        problem, tried = outcome.task.problem, len(outcome.trials)
        shape, right = problem.shape, f"{outcome.right} of {tried}"
        table.add_row(
            escape(outcome.task.method.name),
            f"{shape.m} x {shape.n} x {shape.k}",
            problem.element.name,
            right if outcome.right == tried else f"[red]{right}[/]",
            f"{tried} of {len(outcome.task.cases)}",
            {"complete": "complete", "budget": "out of budget", "cut short": "interrupted"}[outcome.ended],
        )
    return table


def sentence(outcome: Outcome) -> str:
    """Return the outcome of one method on one problem, in words."""
    problem, tried, possible = outcome.task.problem, len(outcome.trials), len(outcome.task.cases)
    other = parameters(outcome.runner_up.params) if outcome.runner_up is not None else ""
    if outcome.ratio is not None and outcome.is_confirmed:
        why = f"{outcome.choice}, {other}, which takes {ratio(outcome.ratio, side_of_one=True)} as long"
    elif outcome.ratio is not None:
        why = f"{outcome.choice}; the other, {other}, takes {ratio(outcome.ratio, side_of_one=True)} as long"
    else:
        why = f"{outcome.choice}, {other}" if other else outcome.choice
    ended = {
        "complete": "",
        "budget": "; the budget ended before the search was complete",
        "cut short": "; the search was interrupted",
    }[outcome.ended]
    count = outcome.task.offered - possible
    refused = f"; {count} more cannot be launched" if count else ""
    return (
        f"{outcome.task.method.name} at {problem.shape} {problem.element.name}: {why}. "
        f"The search tried {tried} of {possible} variants in {outcome.spent_s:.1f} s{refused}{ended}."
    )


def command(entry: Entry, device_spec: str | None = None) -> str:
    """Return the command that measures an entry's parameters again.

    Args:
        device_spec: the device to name in the command; None: no device is named.
    """
    words = ["cudamm", "bench", *(["--kernel", entry.kernel] if entry.kernel else ["-m", entry.method])]
    for name, text in entry.kernel_fields.items():
        words += [f"--{name}", text]
    square = entry.m == entry.n == entry.k
    words += ["-n", str(entry.m) if square else f"{entry.m}x{entry.n}x{entry.k}", "--dtype", entry.dtype]
    for name, value in entry.params.items():
        words += ["-D", f"{name}={value}"]
    words += ["--hot"] if entry.cache == "hot" else []
    return shlex.join([*words, *(["--device", device_spec] if device_spec else [])])


def render_stored(console: Console, device: DeviceInfo, entries: Sequence[tuple[Entry, str]]) -> None:
    """Print the entries stored for a device, each with the reason why it is ignored, if it is."""
    title = escape(f"Parameters stored for {device.name}")
    table = Table(title=title, title_justify="left", title_style="bold", expand=False)
    for name in ("method", "M x N x K", "type", "parameters"):
        table.add_column(name, no_wrap=name != "parameters")
    table.add_column("median (ms)", justify="right", no_wrap=True)
    table.add_column("tuned on", no_wrap=True)
    table.add_column("")
    for entry, state in entries:
        table.add_row(
            escape(entry.method),
            f"{entry.m} x {entry.n} x {entry.k}",
            entry.dtype,
            escape(parameters(entry.params)),
            significant(entry.median_ms),
            entry.date[:10],
            escape(state or remark(entry)),
            style="dim" if state else "",
        )
    console.print(table)


def remark(entry: Entry) -> str:
    """Return how certain an entry is; empty if nothing is in doubt."""
    if not entry.complete:
        return "from an incomplete search"
    return "" if entry.confirmed else "not measurably faster than the next best"


def stored_record(entry: Entry, state: str) -> dict[str, Any]:
    """Return the row of `cudamm tune --list --json`."""
    return {
        "method": entry.method, "params": entry.params, "m": entry.m, "n": entry.n, "k": entry.k,
        "dtype": entry.dtype, "arch": entry.arch, "median_ms": entry.median_ms, "cache": entry.cache,
        "confirmed": entry.confirmed, "complete": entry.complete, "tried": entry.tried,
        "possible": entry.possible, "date": entry.date, "source": entry.source, "kernel": entry.kernel,
        "is_current": not state, "state": state,
    }  # fmt: skip
