"""`cudamm roofline`: each method at its arithmetic intensity, under the device's roofs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option, option_group
from cloup.constraints import IsSet

from cudamm.cli.option_rules import Decorator, all_with, belongs_to, contradict, one_target
from cudamm.cli.output_options import PLOT, Outputs, output_options
from cudamm.cli.shared_options import (
    cold_option,
    device_option,
    fmad_option,
    gathered,
    problem_options,
    seed_option,
    selection_options,
    timeout_option,
)
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.roofline import DataSheet, Roofline, RooflineResult
    from cudamm.cli.session import Tell
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.selection import Selection
    from cudamm.output.plots.chart import Drawing

DEFAULT_SIZE = "1024"

LARGEST_NUMBER = 1e9
"""Largest rate in GFLOP/s or GB/s, or clock in MHz; far above any device, so a slip of the keyboard."""

_BY_NUMBERS = "an A100: --peak 19500 --bandwidth 1555"
_BY_CLOCKS = "an A100: --arch sm_80 --sms 108 --clock 1410 --memory-clock 1215 --bus-width 5120"


def _positive(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= LARGEST_NUMBER:  # nor NaN
        raise click.BadParameter(f"{value:g} is not above 0 and at most {LARGEST_NUMBER:,.0f}")
    return value


def _number(flag: str, metavar: str, text: str) -> Decorator:
    return option(flag, type=float, callback=_positive, metavar=metavar, help=text)


def _data_sheet(**given: object) -> DataSheet:
    from cudamm.benchmark.roofline import DataSheet

    return DataSheet(**given)  # type: ignore[arg-type]


_roofs_options: Decorator = gathered(
    "sheet",
    _data_sheet,
    ("peak", "bandwidth", "arch", "sms", "clock", "memory_clock", "bus_width"),
    option_group(
        "Roofs",
        _number("--peak", "GFLOPS", "Peak rate of a device that is not here; goes with --bandwidth."),
        _number("--bandwidth", "GB/S", "Its memory bandwidth."),
        option("--theoretical", is_flag=True, help="Compute the roofs from the GPU's clocks; measure none."),
        option("--arch", metavar="NAME", help="Compute the roofs of a GPU that is not here, such as sm_86."),
        option("--sms", type=click.IntRange(1, 100_000), metavar="N", help="--arch: its multiprocessors."),
        _number("--clock", "MHZ", "--arch: clock of the multiprocessors."),
        _number("--memory-clock", "MHZ", "--arch: clock of the memory, which transfers twice a cycle."),
        option(
            "--bus-width", type=click.IntRange(8, 100_000), metavar="BITS",
            help="--arch: bus width of the memory.",
        ),
    ),
    belongs_to("--arch", "sms", "clock", "memory_clock", "bus_width"),
    contradict("arch", "peak"),
    contradict("theoretical", "peak"),
    contradict("bandwidth", "memory_clock"),
    contradict("bandwidth", "bus_width"),
    all_with(IsSet("peak"), "bandwidth", example=_BY_NUMBERS),
    all_with(IsSet("bandwidth") & ~IsSet("arch"), "peak", example=_BY_NUMBERS),
    all_with(
        IsSet("arch") & ~IsSet("bandwidth"), "clock", "memory_clock", "bus_width", example=_BY_CLOCKS
    ),
    all_with(IsSet("arch"), "clock", example=_BY_CLOCKS),
)  # fmt: skip


@cloup.command()
@selection_options(
    fmad_option,
    kernel=[
        option("--traffic", metavar="LIST", help="Bytes that all threads load, and store: two expressions.")
    ],
)
@problem_options(DEFAULT_SIZE, "float32", seed_option)
@_roofs_options
@option_group(
    "Measuring",
    option(
        "--runs",
        type=click.IntRange(1, 100_000),
        show_default="until stable",
        help="Number of samples per variant.",
    ),
    cold_option,
)
@option_group("Device", device_option, timeout_option, one_target("arch", "cpu"))
@output_options(PLOT)
def roofline_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    sheet: DataSheet,
    theoretical: bool,
    runs: int | None,
    cold: bool,
    timeout_s: float,
    seed: int,
    device_spec: str,
    outputs: Outputs,
) -> int:
    """Say what rate the peak and the memory of a device allow each method.

    On a GPU each method is measured, and its rate held against the bound; the roofs are measured too. For a
    device by its numbers (--peak and --bandwidth, or --arch and clocks) the bounds are printed, and nothing
    is measured unless --device gpu asks for it.

    \b
    cudamm roofline                                          every method on this GPU
    cudamm roofline -m tiled --block all --theoretical       roofs from clocks and widths
    cudamm roofline --peak 19500 --bandwidth 1555            an A100 by its numbers
    cudamm roofline --arch sm_80 --sms 108 --clock 1410 --bandwidth 1555
    cudamm roofline --kernel my.cu --traffic "8*M*N*K,4*M*N" --peak 19500 --bandwidth 1555
    """
    from cudamm.benchmark import roofline
    from cudamm.benchmark.sampling_policy import Settings
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.chosen_cases import cases, kernels_of
    from cudamm.tuning.fitted_cases import fitted, fitted_to
    from cudamm.tuning.place import of_architecture

    if device_spec == "cpu" and not sheet.is_given:
        raise UsageError(
            "times on the CPU device are no GPU's, so no roof belongs to them: --peak GFLOPS and "
            f"--bandwidth GB/S of a GPU give the bounds ({_BY_NUMBERS})"
        )
    if sheet.arch is not None and sheet.arch.strip().lower() == "all":
        raise UsageError("--arch all: a roofline is of one device, so name one")
    without_roofs = "do not run on a GPU and have no roofline: name a method that does"
    variants = kernels_of(selection.variants(), selection.is_named, without_roofs)
    chosen = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed)
    if sheet.is_given and device_spec in ("auto", "cpu"):
        chosen, remarks = fitted(chosen, selection.is_named, sheet.lacks, of_architecture(sheet.architecture))
        note = "nothing is measured: times on the CPU device are no GPU's" if device_spec == "cpu" else ""
        info = dataclasses.replace(sheet.device, note=note)
        return _show(
            outputs, info, sheet.roofs, lambda tell: roofline.bounds(chosen, sheet.roofs, fmad), remarks
        )
    settings = Settings(fmad=fmad, runs=runs, cache="cold" if cold else "hot")
    with WorkerExecutor(device_spec, timeout_s) as worker:
        roofs = sheet.roofs if sheet.is_given else roofline.roofs_of(worker, theoretical)
        chosen, remarks = fitted_to(worker.target, chosen, selection.is_named)

        def measured(tell: Tell) -> Iterator[RooflineResult]:
            yield from roofline.measure(worker, chosen, settings, roofs, tell)
            worker.dismiss()

        return _show(outputs, worker.target.info, roofs, measured, remarks)


def _show(
    outputs: Outputs,
    device: DeviceInfo,
    roofs: Roofline,
    results: Callable[[Tell], Iterator[RooflineResult]],
    remarks: Sequence[str],
) -> int:
    """Collect results, print, draw and write them, with remarks below; return the exit status."""
    from cudamm.benchmark.roofline import SCHEMA, RooflineResult
    from cudamm.cli.session import Session
    from cudamm.output import roofline_table as tables

    info = dataclasses.replace(device, properties=device.properties | roofs.record())

    def draw(found: list[RooflineResult]) -> Drawing:
        return tables.drawing_of(info, roofs, found)

    with Session[RooflineResult](SCHEMA, outputs, info) as session:
        session.collect(results)
        session.results.sort(key=lambda result: result.position)
        session.show(lambda console, found: tables.render(console, info, roofs, found), draw)
        session.say(remarks)
        session.save(RooflineResult.record)
        session.write_picture(draw)
        return session.exit_status(all(result.status != "failed" for result in session.results))
