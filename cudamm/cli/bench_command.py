"""`cudamm bench`: time every chosen variant, verified first."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option

from cudamm.api.defaults import TIMED_SIZES
from cudamm.cli.completion_command import complete_methods
from cudamm.cli.measure_and_show import measure_and_show, worker_for
from cudamm.cli.measuring_options import Measuring, measuring_options
from cudamm.cli.output_options import PLOT, RESUME, Outputs, output_options
from cudamm.cli.shared_options import (
    SIZES_BY_DEVICE,
    fmad_option,
    problem_options,
    seed_option,
    selection_options,
)
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudamm.kernels.method import Method
    from cudamm.kernels.selection import Selection

REPORT_RUNS = 5
"""Number of samples per variant in a course report, if --runs is not given."""


@cloup.command()
@selection_options(fmad_option)
@problem_options(SIZES_BY_DEVICE, "float32", seed_option)
@measuring_options
@output_options(
    option(
        "--style", type=click.Choice(["table", "report"]), default="table",
        help="Tables, or a course report's lines.",
    ),
    option(
        "--baseline", metavar="NAME", shell_complete=complete_methods, show_default="naive",
        help="The method that speed-ups are over.",
    ),
    RESUME,
    PLOT,
)  # fmt: skip
def bench_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    measuring: Measuring,
    outputs: Outputs,
    style: str,
    baseline: str | None,
) -> int:
    """Time every chosen variant on every size, each verified before it is timed.

    \b
    cudamm bench                                     the whole ladder
    cudamm bench --method tiled --block 16           one variant
    cudamm bench -m tiled --block all --style report a sweep, as a course report prints it
    cudamm bench -n 1024 -n 640x480x320 -m cosimple  sizes, and CMU's names
    cudamm bench --kernel my.cu -m tiled             your kernel beside ours
    cudamm bench -m tiled,cublas -n 4096             how near to NVIDIA's library it comes
    cudamm bench -m best -n 4096                     the method and parameters that suit the device
    cudamm bench -m tiled-dynamic --block auto       the block size of highest occupancy, and the default
    cudamm bench -n 4096 --resume all.json           written as it comes; the same again goes on from there
    """
    from cudamm.kernels.selection import AUTO

    auto = selection.block == AUTO
    variants = [] if auto else selection.variants()
    if style == "report" and measuring.runs is None:
        measuring = dataclasses.replace(measuring, runs=REPORT_RUNS)
    with worker_for(sizes, dtypes, measuring) as worker:
        from cudamm.cli.auto_block import default_and_best
        from cudamm.kernels.chosen_cases import cases
        from cudamm.output import bench_table, course_style
        from cudamm.tuning.fitted_cases import fitted_to

        sizes = sizes or (TIMED_SIZES[worker.target.info.kind],)
        found: list[str] = []
        if auto:
            chosen, found = default_and_best(selection, worker.target, sizes, dtypes, measuring.seed, fmad)
        else:
            chosen = cases(variants, sizes, dtypes, measuring.seed)
        chosen, remarks = fitted_to(worker.target, chosen, selection.is_named)
        tables = functools.partial(bench_table.render, verbose=outputs.verbose)
        render = course_style.render if style == "report" else tables
        settings = measuring.settings(fmad)
        over = _baseline(baseline, [variant.method for variant, _ in chosen])
        return measure_and_show(
            worker, chosen, measuring, outputs, settings, render, [*found, *remarks], over
        )


def _baseline(name: str | None, methods: Sequence[Method]) -> str | None:
    """Return the name of the method that speed-ups are over. Raises UsageError if it is not measured."""
    if name is None:
        return None
    for method in methods:
        if name.lower() in (method.name.lower(), *method.aliases):
            return method.name
    measured = ", ".join(dict.fromkeys(method.name for method in methods))
    raise UsageError(f"--baseline {name}: it is not among the methods to measure: {measured}")
