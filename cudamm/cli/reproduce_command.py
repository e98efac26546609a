"""`cudamm reproduce`: what a course ran, run again, beside the figures it published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import cloup
from cloup import option, option_group

from cudamm.cli.output_options import PLOT, Outputs, output_options
from cudamm.cli.shared_options import device_options, seed_option
from cudamm.courses import NAMES

if TYPE_CHECKING:
    from cudamm.output.plots.chart import Drawing

ALL = "all"


@cloup.command()
@cloup.argument("names", nargs=-1, required=True, metavar="COURSE...", type=click.Choice([*NAMES, ALL]))
@option_group(
    "Problem",
    option(
        "-n", "--size", metavar="SIZE",
        show_default="the source's own, or 1024; smaller on the CPU device",
        help="1024 for a square, 640x480x320 for MxNxK.",
    ),
    seed_option,
)  # fmt: skip
@device_options
@output_options(PLOT)
def reproduce_command(
    names: tuple[str, ...],
    size: str | None,
    seed: int,
    device_spec: str,
    timeout_s: float,
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
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.problem import parse_shape

    shape = parse_shape(size) if size is not None else None
    with WorkerExecutor(device_spec, timeout_s) as worker:
        from cudamm.api.defaults import OCCUPANCY_ARCH
        from cudamm.cli.session import Session
        from cudamm.courses.course_records import SCHEMA, Reproduction, Setting
        from cudamm.courses.reproduce import find
        from cudamm.courses.reproduce import reproduce as run_again
        from cudamm.devices.gpu_device import GpuTarget
        from cudamm.kernels.architecture import find_architecture
        from cudamm.output import reproduce_table as tables

        target = worker.target
        is_gpu = isinstance(target, GpuTarget)
        setting = Setting(
            is_gpu=is_gpu,
            device=target.info.name,
            architecture=(
                target.architecture if isinstance(target, GpuTarget) else find_architecture(OCCUPANCY_ARCH)
            ),
            ceilings=worker.facts().ceilings if is_gpu else None,
            shape=shape,
            seed=seed,
        )
        sources = [find(name) for name in (NAMES if ALL in names else dict.fromkeys(names))]
        with Session[Reproduction](SCHEMA, outputs, target.info) as session:
            session.collect(lambda tell: run_again(worker, sources, setting, tell))
            worker.dismiss()

            def draw(found: list[Reproduction]) -> Drawing:
                return tables.drawing_of(target.info, found)

            session.show(tables.render, draw)
            session.save(Reproduction.record)
            session.write_picture(draw)
            return session.exit_status(all(found.is_right for found in session.results))
