"""The table of `compare` for two kernels: their figures side by side, and what is better and worse."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.analysis.kernel_comparison import ComparedFigure, KernelComparison
from cudamm.benchmark.result import Result
from cudamm.compile.nvcc_compiler import compiled_as, remark_on_estimate
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_failed
from cudamm.output.number_format import parameters, percent, significant, times
from cudamm.output.trace_table import remarks

_STYLES = {"better": "green", "worse": "red"}
_NOT_JUDGED = (
    "A row without a verdict is neither better nor worse in itself, or not exact. Instructions are those of "
    "the code, not of its execution: one in a loop counts once."
)


def render(console: Console, comparison: KernelComparison) -> None:
    """Print the table, what is unknown and why, how the figures came about, and the conclusion."""
    print_fitting(console, (_table(comparison, narrow) for narrow in (False, True)))
    _print_troubles(console, comparison)
    for note in (*notes(comparison), _NOT_JUDGED):
        console.print(escape(note), style="dim", soft_wrap=True)
    for line in conclusion(comparison):
        console.print(escape(line), soft_wrap=True)


def notes(comparison: KernelComparison) -> list[str]:
    """Return what was counted where: the device, the shape, the blocks and the architecture."""
    traced = [kernel.traced for kernel in (comparison.old, comparison.new) if kernel.traced is not None]
    problem = comparison.problem
    found = [
        f"accesses: counted on the CPU device at {problem.shape} {problem.element.name}, all requests to the "
        "L1 cache, hits included; a sector is 32 bytes",
        *remarks(traced),
    ]
    of_code = [kernel.figures.occupancy for kernel in (comparison.old, comparison.new)]
    if any(of is not None and of.is_known for of in of_code):
        arch = comparison.architecture.name
        found.append(
            f"registers, occupancy and instructions: code for {comparison.architecture}"
            if compiled_as(arch) == arch
            else f"{remark_on_estimate(arch)}; so are the instructions"
        )
    if any(of.padded for of in traced):
        found.append(
            "the matrices are padded with zeros; accesses to the padding count, its operations do not"
        )
    return found


def conclusion(comparison: KernelComparison) -> list[str]:
    """Return whether the kernels are right, what became better and worse, and that this is no time."""
    old, new = comparison.old, comparison.new
    lines = [_of_verification(comparison)]
    if not (old.is_wrong or new.is_wrong):
        better, worse = comparison.having("better"), comparison.having("worse")
        if better or worse:
            parts = [f"{word}: {_listed(of)}" for word, of in (("better", better), ("worse", worse)) if of]
            lines.append(f"{new.name} compared with {old.name}: {'; '.join(parts)}.")
        elif comparison.having("same"):
            lines.append(
                f"{new.name} compared with {old.name}: no difference in the figures that are judged."
            )
    lines.append("No time follows from these figures: to know which kernel is faster, measure both on a GPU.")
    return lines


def _of_verification(comparison: KernelComparison) -> str:
    shape, kernels = comparison.verified_shape, (comparison.old, comparison.new)
    if shape is None:
        return "The products were not verified, because this size takes too long here: run cudamm verify."
    wrong = [kernel.name for kernel in kernels if kernel.is_wrong]
    if wrong:
        return (
            f"{' and '.join(wrong)} failed, see above. The figures of a wrong kernel are those of another "
            "computation and are not judged; cudamm check names the mistake."
        )
    skipped = [kernel.name for kernel in kernels if kernel.verified and kernel.verified.status == "skipped"]
    if skipped:
        return f"{' and '.join(skipped)}: the product was not verified, see above."
    return (
        f"Both products are right at {shape}, executed on the CPU device. cudamm check tries other sizes, "
        "and looks for races and accesses out of bounds."
    )


def _listed(rows: Sequence[ComparedFigure]) -> str:
    return ", ".join(f"{row.name} ({_cell(row, row.old)} → {_cell(row, row.new)})" for row in rows)


def _table(comparison: KernelComparison, narrow: bool) -> Table:
    old, new = comparison.old, comparison.new
    shape, element = comparison.problem.shape, comparison.problem.element.name
    title = f"{shape.m} x {shape.n} x {shape.k} (M x N x K), {element}, {comparison.architecture}"
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("", no_wrap=not narrow)
    for kernel in (old, new):
        heading = f"{kernel.name}\n{parameters(kernel.variant.params)}".strip()
        table.add_column(escape(heading), justify="right", no_wrap=not narrow)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for section, rows in itertools.groupby(comparison.rows, key=lambda row: row.section):
        table.add_row(f"[bold]{section}[/]", "", "", "", "")
        for row in rows:
            ratio = "" if row.ratio in (None, 0, 1) else times(row.ratio)
            is_compiled = row.section in ("multiprocessor", "machine code")
            unknown = "needs nvcc" if is_compiled and not comparison.has_nvcc else "?"
            cells = (_cell(row, value) or unknown for value in (row.old, row.new))
            table.add_row(f" {escape(row.name)}", *cells, ratio, row.verdict, style=_STYLES.get(row.verdict))
    return table


def _cell(row: ComparedFigure, value: float | None) -> str:
    """Return a figure; empty if it is not known."""
    if value is None:
        return ""
    if row.kind == "share":
        return percent(value)
    return significant(value) if row.kind == "number" else f"{value:,.0f}"


def _print_troubles(console: Console, comparison: KernelComparison) -> None:
    """Print why kernels are wrong, and why figures are unknown: a reason of both kernels once."""
    kernels = (comparison.old, comparison.new)
    for kernel in kernels:
        result = kernel.verified
        if result is not None and result.status != "ok":
            print_failed(console, result.status, f"{kernel.name} at {_shape_of(result)}", result.reason)
    reasons: dict[str, dict[str, list[str]]] = {}
    for kernel in kernels:
        for what, reason in kernel.missing.items():
            reasons.setdefault(reason, {}).setdefault(what, []).append(kernel.name)
    for reason, unknown in reasons.items():
        names = dict.fromkeys(name for of in unknown.values() for name in of)
        of_kernel = "" if len(names) == 2 else f"{', '.join(names)}: "
        line = f"{of_kernel}{' and '.join(unknown)} are not known: {reason}"
        console.print(escape(line), soft_wrap=True)


def _shape_of(result: Result) -> str:
    return f"{result.m}x{result.n}x{result.k} {result.dtype}"
