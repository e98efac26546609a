"""`cudamm reproduce`: what a course ran, run again, beside the figures it published."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from cudamm.cli.options import device_option, seed_option, timeout_option
from cudamm.cli.output_options import Outputs, output_options
from cudamm.courses import NAMES

if TYPE_CHECKING:
    from rich.console import Console

ALL = "all"


@click.command(short_help="Run what a course ran, beside the figures it published.")
@click.argument("names", nargs=-1, required=True, metavar="COURSE...", type=click.Choice([*NAMES, ALL]))
@click.option(
    "-n", "--size", metavar="SIZE",
    help="1024 for a square, 640x480x320 for MxNxK. Default: the source's own, 1024 where it states none; "
    "smaller on the CPU device.",
)  # fmt: skip
@seed_option
@device_option
@timeout_option
@click.option("--plot", metavar="FILE", help="Draw it in a .png, .svg or .pdf file; - for the terminal.")
@output_options
def reproduce(
    names: tuple[str, ...],
    size: str | None,
    seed: int,
    device_spec: str,
    timeout_s: float,
    plot: str | None,
    outputs: Outputs,
) -> int:
    """Run just what a course document ran, and say which of its conclusions hold on this device.

    \b
    cmu        CMU 15-418/618, recitation 2: six methods from C++ to shared memory
    tsinghua   Tsinghua CUDA experiment: five runs of each TILE_SIZE and BLOCK_SIZE, int32
    sheffield  Sheffield Com4521, lab 06: blocking, bank conflicts, -fmad=false, occupancy
    sjtu       SJTU CS427, lecture 8: registers, latency, coalescing, double buffering
    pmpp       Programming Massively Parallel Processors, chapter 5: roofline, boundaries
    all        each of them

    The published figures are of the hardware of their day. A conclusion that does not hold here is a finding,
    not a failure: the exit status is 1 only where a kernel failed or was wrong. On the CPU device geometry,
    arithmetic and results carry over; times do not.

    \b
    cudamm reproduce cmu                      at n = 1024 and 2048, beside the slides' table
    cudamm reproduce tsinghua -n 2048         another size
    cudamm reproduce all --json all.json      every figure, ratio and conclusion
    """
    from cudamm.execution.worker import WorkerExecutor
    from cudamm.kernels.problem import parse_shape

    shape = parse_shape(size) if size is not None else None
    with WorkerExecutor(device_spec, timeout_s) as worker:
        from cudamm.cli.arch_options import DEFAULT
        from cudamm.cli.session import Session
        from cudamm.courses.course_records import SCHEMA, Reproduction, Setting
        from cudamm.courses.reproduce import find
        from cudamm.courses.reproduce import reproduce as run_again
        from cudamm.devices.gpu_device import GpuTarget
        from cudamm.kernels.architecture import find_architecture
        from cudamm.output import reproduce_table as tables
        from cudamm.output.plots.plot import Plot

        target = worker.target
        is_gpu = isinstance(target, GpuTarget)
        setting = Setting(
            is_gpu=is_gpu,
            device=target.info.name,
            architecture=target.architecture if isinstance(target, GpuTarget) else find_architecture(DEFAULT),
            ceilings=worker.facts().ceilings if is_gpu else None,
            shape=shape,
            seed=seed,
        )
        sources = [find(name) for name in (NAMES if ALL in names else dict.fromkeys(names))]
        with contextlib.ExitStack() as closing:
            picture = closing.enter_context(Plot(plot, outputs.named)) if plot is not None else None
            session = closing.enter_context(Session[Reproduction](SCHEMA, outputs, target.info))
            session.collect(lambda tell: run_again(worker, sources, setting, tell))
            worker.dismiss()

            def render(console: Console, found: list[Reproduction]) -> None:
                tables.render(console, found)
                if picture:
                    picture.show(console, tables.drawing_of(target.info, found))

            session.show(render)
            session.save(Reproduction.record)
            if picture and session.results:
                picture.write(tables.drawing_of(target.info, session.results))
            return session.status(all(found.is_right for found in session.results))
