"""`cudamm reproduce`: run a course's experiment again, beside its published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import cloup
from cloup import option_group

from cudamm.cli.chosen_devices import opened, run_on_devices
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.documented_option import option
from cudamm.cli.output_options import PLOT, OutputOptions, output_options
from cudamm.cli.shared_options import seed_option, several_devices_options
from cudamm.courses import NAMES
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor, Executors
    from cudamm.output.plots.chart import Drawing

ALL = "all"


@cloup.command()
@cloup.argument("names", nargs=-1, required=True, metavar="COURSE...", type=click.Choice([*NAMES, ALL]))
@option_group(
    "Problem",
    option(
        "-n", "--size", metavar="SIZE",
        show_default="the course's sizes, or 1024; smaller on the CPU device",
        help="1024 for square matrices, 640x480x320 for MxNxK.",
    ),
    seed_option,
)  # fmt: skip
@several_devices_options
@cluster_options
@output_options(PLOT)
def reproduce_command(
    names: tuple[str, ...],
    size: str | None,
    seed: int,
    device_spec: str,
    timeout_s: float,
    cluster: ClusterChoice,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm reproduce cmu                     beside the table of CMU's slides
    cudamm reproduce tsinghua -n 2048        at another size
    cudamm reproduce all --json all.json     every figure, ratio and conclusion

    Run exactly what a course document ran, and report which of its conclusions hold on this device.

    \b
    cmu        CMU 15-418/618, recitation 2: from C++ to shared memory
    tsinghua   Tsinghua CUDA experiment: TILE_SIZE and BLOCK_SIZE, in int32
    sheffield  Sheffield Com4521, lab 06: bank conflicts, -fmad, occupancy
    sjtu       SJTU CS427, lecture 8: registers, latency, double buffering
    pmpp       Programming Massively Parallel Processors, chapter 5: roofline
    all        all five

    The figures were published for older GPUs. A conclusion that does not hold here is a finding, not a
    failure: the exit status is 1 only if a kernel failed or was wrong. Without a GPU nothing is timed:
    launches, arithmetic and results are confirmed, and what needs a GPU is named. Of several devices, each
    runs whole courses.
    """
    from cudamm.kernels.problem import parse_shape

    shape = parse_shape(size) if size is not None else None
    chosen = NAMES if ALL in names else tuple(dict.fromkeys(names))

    def run(executors: Executors) -> int:
        from cudamm.api.defaults import OCCUPANCY_ARCH
        from cudamm.cli.session import Session
        from cudamm.courses.course_records import SCHEMA, Reproduction, Setting
        from cudamm.courses.reproduce import find, reproduce
        from cudamm.devices.gpu_device import GpuTarget
        from cudamm.kernels.architecture import find_architecture
        from cudamm.output import reproduce_table as tables

        info = opened(executors, outputs).info
        if outputs.plot is not None and info.kind != "gpu":
            raise UsageError(
                f"--plot {outputs.plot} draws times, and reproduce times nothing without a GPU: run this "
                "command on a machine with a GPU"
            )
        has_several = len(executors.members) > 1

        def setting_of(executor: Executor) -> Setting:
            target = executor.target
            is_gpu = isinstance(target, GpuTarget)
            return Setting(
                is_gpu=is_gpu,
                device=f"{target.info.name} ({executor.spec})" if has_several else target.info.name,
                architecture=(
                    target.architecture
                    if isinstance(target, GpuTarget)
                    else find_architecture(OCCUPANCY_ARCH)
                ),
                ceilings=executor.facts().ceilings if is_gpu else None,
                shape=shape,
                seed=seed,
            )

        sources = [find(name) for name in chosen]
        with Session[Reproduction](SCHEMA, outputs, info) as session:
            session.collect(
                lambda report_progress: reproduce(executors, sources, setting_of, report_progress)
            )
            executors.dismiss()
            session.results.sort(key=lambda found: chosen.index(found.name))

            def draw(found: list[Reproduction]) -> Drawing:
                return tables.drawing_of(info, found)

            session.add_tables(tables.render, draw)
            session.add_remarks(executors.losses)
            session.save(Reproduction.record)
            return session.exit_status(all(found.is_right for found in session.results))

    return run_on_devices(device_spec, cluster, timeout_s, None, len(chosen), outputs, run)
