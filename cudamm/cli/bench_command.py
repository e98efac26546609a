"""`cudamm bench`: time every chosen variant, verified first."""

from __future__ import annotations

import dataclasses
import functools

import click

from cudamm.cli.measuring_options import Measuring, measure_and_show, measuring_options, worker_for
from cudamm.cli.options import AUTO, Selection, dtype_option, fmad_option, selection_options, sizes_option

REPORT_RUNS = 5
"""A variant, in a course report, where --runs does not say otherwise."""

DEFAULT_SIZE = {"gpu": "1024", "cpu": "256"}


@click.command(short_help="Time methods, each verified first.")
@selection_options
@sizes_option("1024 on a GPU, 256 on the CPU device")
@dtype_option("float32")
@fmad_option
@measuring_options
@click.option(
    "--style",
    type=click.Choice(["table", "report"]),
    default="table",
    help="Tables, or a course report's lines.",
)
def bench(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    measuring: Measuring,
    style: str,
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
    auto = selection.block == AUTO
    variants = [] if auto else selection.variants()
    if style == "report" and measuring.runs is None:
        measuring = dataclasses.replace(measuring, runs=REPORT_RUNS)
    with worker_for(sizes, dtypes, measuring) as worker:
        from cudamm.cli.auto_block import default_and_best
        from cudamm.cli.chosen_cases import able, cases
        from cudamm.output import bench_table as tables
        from cudamm.output import course_style
        from cudamm.tuning.best_choice import resolve
        from cudamm.tuning.place import of_target

        sizes = sizes or (DEFAULT_SIZE[worker.target.info.kind],)
        found: list[str] = []
        if auto:
            chosen, found = default_and_best(selection, worker.target, sizes, dtypes, measuring.seed, fmad)
        else:
            chosen = cases(variants, sizes, dtypes, measuring.seed)
        chosen, left_out = able(chosen, selection.names, worker.target.lacks)
        chosen, told = resolve(chosen, of_target(worker.target))
        found = [*found, *left_out, *told]
        verbose = measuring.outputs.verbose
        render = (
            course_style.render if style == "report" else functools.partial(tables.render, verbose=verbose)
        )
        return measure_and_show(worker, chosen, measuring, measuring.settings(fmad), render, found)
