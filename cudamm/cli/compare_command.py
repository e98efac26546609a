"""`cudamm compare`: what became better between two files of results, or two kernels, and what worse."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
from cloup import option_group

from cudamm.api.defaults import OCCUPANCY_ARCH, SIZE
from cudamm.cli.arch_options import one_architecture
from cudamm.cli.chosen_devices import opened
from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import INCREASE, SHARE
from cudamm.cli.option_rules import refuse_given
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.cli.shared_options import (
    fmad_option,
    problem_options,
    seed_option,
    selection_options,
    timeout_option,
)
from cudamm.errors import ALL_WELL, FAILED_RESULT, UsageError

if TYPE_CHECKING:
    from cudamm.analysis.kernel_comparison import KernelComparison
    from cudamm.benchmark.result_file import Saved
    from cudamm.cli.progress_bar import ReportProgress
    from cudamm.kernels.selection import Selection

OF_RESULTS = {"confidence", "fail_on", "force"}
"""Options that apply to files of results only."""

OF_BOTH = {"names", "json", "csv", "markdown", "svg", "quiet", "verbose"}
"""Parameters that apply to files of results and to kernels. All others apply to kernels only."""


@cloup.command()
@cloup.argument(
    "names", nargs=-1, metavar="OLD NEW", shell_complete=complete_files,
    help="Two files of results, or two kernels: files or names of methods, with values as in my.cu,BM=64.",
)  # fmt: skip
@option_group(
    "Comparison of results",
    option(
        "--confidence", type=SHARE, metavar="SHARE", default="95%",
        help="Confidence of each speed-up's interval, such as 95% or 0.95.",
    ),
    option(
        "--fail-on", type=INCREASE, metavar="SHARE",
        help="Exit with status 1 if a variant fails now, or is slower by more than this share, such as 5% or "
        "0.05, even at the most favourable end of its interval.",
    ),
    option("--force", is_flag=True, help="Compare results of two different devices."),
)  # fmt: skip
@selection_options(fmad_option, named=False)
@problem_options(f"{SIZE}, or the size of your program", "that of the kernels", seed_option)
@option_group(
    "Comparison of kernels",
    option(
        "--arch", "--gpu", default=OCCUPANCY_ARCH, metavar="NAME",
        help="Architecture or GPU of registers, occupancy and instructions, such as sm_86 or rtx3090.",
    ),
    option("--all", "every", is_flag=True, help="Count the accesses of every block of the grid."),
    timeout_option,
)  # fmt: skip
@output_options()
@click.pass_context
def compare_command(
    context: click.Context,
    names: tuple[str, ...],
    confidence: float,
    fail_on: float | None,
    force: bool,
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    arch: str,
    every: bool,
    timeout_s: float,
    fmad: bool,
    seed: int,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm compare old.json new.json               files of bench --json
    cudamm compare v1.cu v2.cu                     kernels, without a GPU
    cudamm compare old.json new.json --fail-on 5%  status 1 if one is 5% slower

    Print what became better between two files of results, or between two kernels, and what became worse.

    Of results, the speed-up is the old median divided by the new one, with its bootstrap interval. A variant
    is faster or slower if the interval excludes 1. Other changes (driver, compiler, clocks, options) cause a
    warning. The interval contains the noise within a run, but not the differences between runs: to see those,
    compare two files of the same kernels. If each file has one variant, the two are compared whatever their
    names are.

    Of kernels, the CPU device verifies the products and counts sectors, bank conflicts and operations per
    byte. nvcc compiles for --arch: registers, shared memory, occupancy and instructions. No time follows from
    these figures, and no kernel is called the faster one.

    \b
    cudamm compare naive tiled --gpu rtx3090       methods of cudamm
    cudamm compare my.cu,BM=64 my.cu,BM=128        two values of a parameter
    cudamm compare my.cu,entry=v1 my.cu,entry=v2   two functions of a file
    """
    if len(names) != 2:
        (only,) = names if len(names) == 1 else [""]
        other_way = (
            f"{only},entry=ONE {only},entry=OTHER are two functions of a file"
            if only and _is_kernel(only)
            else "cudamm bench shows several kernels in one table"
        )
        raise UsageError(
            "compare takes two files of results (OLD.json NEW.json) or two kernels (OLD.cu NEW.cu), not "
            f"{len(names) or 'none'}; {other_way}"
        )
    from cudamm.kernels.misnamed_file import misnamed_kernel

    kernel, other = sorted(names, key=_is_kernel, reverse=True)
    for name in names:
        if reason := misnamed_kernel(name):
            raise UsageError(f"{reason}, or a file of results" if Path(name).is_dir() else reason)
    if _is_kernel(kernel) != _is_kernel(other):
        raise UsageError(
            f"“{kernel}” is a kernel and “{other}” is neither a kernel file nor a method: compare takes two "
            "kernels, or two files that bench --json wrote"
        )
    if not _is_kernel(kernel):
        refuse_given(context, lambda name: name not in OF_RESULTS | OF_BOTH, "kernels", "files of results")
        return _compare_results(*names, confidence, fail_on, force, outputs)
    refuse_given(context, lambda name: name in OF_RESULTS, "files of results", "kernels")

    from cudamm.analysis.kernel_comparison import SCHEMA, KernelComparison, compare_kernels
    from cudamm.cli.compared_kernels import compared_kernels
    from cudamm.cli.session import Session
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.usual_sizes import not_verified
    from cudamm.output import kernel_comparison_table as tables

    architecture = one_architecture(arch)
    kernels, problem = compared_kernels(
        selection, names, sizes, dtypes, seed, architecture.name, outputs.quiet
    )
    with (
        WorkerExecutor("cpu", timeout_s) as worker,
        Session[KernelComparison](SCHEMA, outputs, opened(worker, outputs).info) as session,
    ):

        def compared(report_progress: ReportProgress) -> Iterator[KernelComparison]:
            yield compare_kernels(
                worker, kernels, problem, architecture, fmad, report_progress, timeout_s, every
            )

        session.collect(compared)
        session.add_tables(lambda console, found: tables.render(console, *found))
        for comparison in session.results:
            verified = [comparison.verified_shape.extents] if comparison.verified_shape else []
            both = (comparison.old, comparison.new)
            counted = [kernel.variant for kernel in both if not kernel.is_wrong and kernel.traced]
            session.add_remarks(not_verified(counted, verified))
            rows = [row.record() for row in comparison.rows]
            session.write(rows, **comparison.head(), conclusion=tables.conclusion(comparison))
        return session.exit_status(all(comparison.all_well for comparison in session.results))


def _is_kernel(name: str) -> bool:
    """Return whether an argument means a kernel, by its ending or because it is the name of a method."""
    from cudamm.kernels import ladder
    from cudamm.kernels.header import KERNEL_FILES, STANDARD_INPUT

    first = name.partition(",")[0].strip()
    if first.endswith(KERNEL_FILES) or first == STANDARD_INPUT:
        return True
    return first.lower() in ladder.names()


def _compare_results(
    old_path: str,
    new_path: str,
    confidence: float,
    fail_on: float | None,
    force: bool,
    outputs: OutputOptions,
) -> int:
    """Compare two files of results; return the exit status."""
    from rich.markup import escape

    from cudamm.benchmark import comparison
    from cudamm.benchmark.result_file import load
    from cudamm.output import compare_table as tables
    from cudamm.output.console import messages

    old, new = load(old_path), load(new_path)
    warnings = comparison.check_devices(old, new, force)
    comparisons = comparison.compare(old, new, confidence)
    warnings += comparison.differences(old, new, comparisons)
    with AllAtOnce(outputs) as output:
        for warning in warnings:
            messages().print(f"cudamm: {escape(warning)}", soft_wrap=True)
        output.present(
            lambda console: tables.render(console, old, new, comparisons, confidence),
            _document(old, new, confidence, fail_on, warnings),
            (c.record() for c in comparisons),
        )
    if fail_on is None:
        return ALL_WELL
    if not any(c.ratio or c.outcome in ("now fails", "works now") for c in comparisons):
        raise UsageError("--fail-on: the files have no variant that can be compared")
    return FAILED_RESULT if any(c.is_worse(fail_on) for c in comparisons) else ALL_WELL


def _document(
    old: Saved, new: Saved, confidence: float, fail_on: float | None, warnings: list[str]
) -> dict[str, Any]:
    from cudamm.benchmark.comparison import SCHEMA
    from cudamm.output.document import environment

    return {
        "schema": SCHEMA,
        "environment": environment(),
        "old": {"path": old.path, **old.document},
        "new": {"path": new.path, **new.document},
        "options": {"confidence": confidence, "fail_on": fail_on},
        "warnings": warnings,
    }
