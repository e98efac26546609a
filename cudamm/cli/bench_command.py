"""`cudamm bench`: verify and time variants."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING

import click
import cloup

from cudamm.api.defaults import TIMED_SIZES
from cudamm.cli.chosen_devices import opened, run_on_devices
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.completion_command import complete_methods
from cudamm.cli.documented_option import option
from cudamm.cli.measure_and_show import expected_problem, measure_and_show
from cudamm.cli.measuring_options import Measuring, measuring_options
from cudamm.cli.output_options import PLOT, RESUME, OutputOptions, output_options
from cudamm.cli.shared_options import (
    SIZES_BY_DEVICE,
    fmad_option,
    inputs_option,
    precision_option,
    problem_options,
    seed_option,
    selection_options,
)

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.execution.executor import Executors
    from cudamm.kernels.selection import Selection
    from cudamm.output.results_view import ResultsView

REPORT_RUNS = 5
"""Number of samples per variant in the style of a course report, if `--runs` is not given."""


@cloup.command()
@selection_options(fmad_option)
@problem_options(SIZES_BY_DEVICE, "float32", seed_option, inputs_option, precision_option)
@measuring_options
@cluster_options
@output_options(
    option(
        "--style", type=click.Choice(["table", "report"]), default="table",
        help="Print tables, or lines in the style of a course report.",
    ),
    option(
        "--baseline", metavar="NAME", shell_complete=complete_methods, show_default="naive",
        help="Method with which speed-ups compare the others.",
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
    cluster: ClusterChoice,
    outputs: OutputOptions,
    style: str,
    baseline: str | None,
) -> int:
    """\b
    cudamm bench                           every method
    cudamm bench -m tiled --block 8,16,32  one method at three block sizes
    cudamm bench --kernel my.cu -m tiled   your kernel beside one of cudamm's

    Verify every variant on every size, then time it. A variant is a method with values for its parameters.

    Without a GPU, kernels run on the CPU device, which verifies them. Instead of times, the table shows what
    is exact: the sectors and wavefronts that cudamm trace counts, registers, and occupancy.

    \b
    cudamm bench -n 1024,640x480x320            two sizes
    cudamm bench -m tiled,cublas -n 4096        how near to NVIDIA's library?
    cudamm bench -m best -n 4096                what suits this device and size
    cudamm bench -m tiled-dynamic --block auto  the best block size
    cudamm bench -n 4096 --resume all.json      continue after an interruption
    """
    from cudamm.api.chosen_baseline import chosen_baseline
    from cudamm.kernels.selection import AUTO

    auto = selection.block == AUTO
    kinds: dict[str, ResultsView] = {}
    variants = [] if auto else selection.variants()
    if style == "report" and measuring.runs is None:
        measuring = dataclasses.replace(measuring, runs=REPORT_RUNS)

    def bench(executors: Executors) -> int:
        from cudamm.cli.asked_cases import asked_cases
        from cudamm.cli.auto_block import default_and_best
        from cudamm.kernels.usual_sizes import not_verified
        from cudamm.output import bench_table, course_style
        from cudamm.tuning.fitted_cases import fitted_to

        target = opened(executors, outputs)
        shapes = sizes or (TIMED_SIZES[target.info.kind],)
        found: list[str] = []
        if auto:
            chosen, found = default_and_best(
                selection, target, shapes, dtypes, measuring.seed, fmad, outputs.quiet, measuring.inputs
            )
        else:
            chosen = asked_cases(
                variants,
                selection.is_named,
                shapes,
                dtypes,
                measuring.seed,
                quiet=outputs.quiet,
                allowed_precision=measuring.allowed_precision,
                inputs=measuring.inputs,
            )
        chosen, remarks = fitted_to(target, chosen, selection.is_named)
        tables = functools.partial(bench_table.render, verbose=outputs.verbose)
        render = course_style.render if style == "report" else tables

        def show(console: Console, view: ResultsView) -> None:
            kinds[view.device] = view
            render(console, view)

        settings = measuring.settings(fmad)
        if measuring.inputs != "zeros":
            verified = dict.fromkeys(problem.shape.extents for _, problem in chosen)
            remarks += not_verified([variant for variant, _ in chosen], list(verified))
        compared_with = chosen_baseline(baseline, [variant.method for variant, _ in chosen])
        return measure_and_show(
            executors, chosen, measuring, outputs, settings, show, [*found, *remarks], compared_with
        )

    status = run_on_devices(
        measuring.device_spec,
        cluster,
        measuring.timeout_s,
        expected_problem(sizes, dtypes, measuring),
        max(1, len(sizes)) * max(1, len(dtypes)),
        outputs,
        bench,
    )
    if len(kinds) > 1:
        from cudamm.output import kinds_table
        from cudamm.output.console import console

        kinds_table.render(console(), list(kinds.values()))
    return status
