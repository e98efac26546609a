"""`cudamm roofline`: the arithmetic intensity of methods, and the rates that a device allows them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import cloup
from cloup import option_group
from cloup.constraints import IsSet

from cudamm.api.defaults import MOST_RUNS, MOST_SMS, TRACE_ARCH
from cudamm.cli.chosen_devices import opened
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import DecimalNumber, WholeNumber
from cudamm.cli.option_rules import Decorator, all_with, belongs_to, contradict, one_target
from cudamm.cli.output_options import PLOT, OutputOptions, output_options
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
    from cudamm.cli.progress_bar import ReportProgress
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.selection import Selection
    from cudamm.output.plots.chart import Drawing

DEFAULT_SIZE = "1024"

LARGEST_NUMBER = 1_000_000_000
"""Largest accepted rate in GFLOP/s or GB/s, or clock in MHz, far above that of any device."""

LEAST_NUMBER = 1e-6
"""Least accepted rate or clock, far below that of any device: quotients stay finite."""

_BY_NUMBERS = "an A100: --peak 19500 --bandwidth 1555"
_BY_CLOCKS = (
    "--gpu needs none of them, such as --gpu rtx3080; an A100 by its clocks: --arch sm_80 --sms 108 "
    "--clock 1410 --memory-clock 1215 --bus-width 5120"
)


def _number(flag: str, metavar: str, text: str) -> Decorator:
    return option(flag, type=DecimalNumber(LEAST_NUMBER, LARGEST_NUMBER), metavar=metavar, help=text)


def _data_sheet(gpu: tuple[str, ...] = (), **given: object) -> DataSheet:
    from cudamm.benchmark.roofline import DataSheet

    names = [name.strip() for each in gpu for name in each.split(",")]
    if len(names) > 1:
        raise UsageError(f"roofline takes one GPU: run it once for each of {', '.join(names)}")
    given["gpu"] = names[0] if names else None
    return DataSheet(**given)  # type: ignore[arg-type]


_roofs_options: Decorator = gathered(
    "sheet",
    _data_sheet,
    ("gpu", "peak", "bandwidth", "arch", "sms", "clock", "memory_clock", "bus_width"),
    option_group(
        "Roofs",
        option(
            "--gpu", multiple=True, metavar="NAME",
            help="Roofs of a named GPU, by its data sheet: a100, h100, v100, t4, rtx3090, rtx4090, …",
        ),
        _number("--peak", "GFLOPS", "Peak rate of a GPU, by its data sheet; goes with --bandwidth."),
        _number("--bandwidth", "GB/S", "Memory bandwidth of the GPU, by its data sheet."),
        option(
            "--theoretical", is_flag=True,
            help="Calculate the roofs of this machine's GPU from its clocks instead of measuring them.",
        ),
        option(
            "--arch", metavar="NAME",
            help="Calculate the roofs of another GPU, of an architecture such as sm_86, from its clocks.",
        ),
        option(
            "--sms", type=WholeNumber(1, MOST_SMS), metavar="N", show_default="the architecture's GPU",
            help="Number of multiprocessors, for --arch.",
        ),
        _number("--clock", "MHZ", "Clock of the multiprocessors, for --arch."),
        _number("--memory-clock", "MHZ", "Clock of the memory, for --arch; it transfers twice per cycle."),
        option(
            "--bus-width", type=WholeNumber(8, 100_000), metavar="BITS",
            help="Bus width of the memory, for --arch.",
        ),
    ),
    belongs_to("--arch", "sms", "clock", "memory_clock", "bus_width"),
    contradict("gpu", "arch"),
    contradict("gpu", "peak"),
    contradict("gpu", "bandwidth"),
    contradict("gpu", "theoretical"),
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
        option(
            "--traffic", metavar="LIST", show_default="the header's",
            help="Bytes that all threads load and bytes that they store, such as '8*M*N*K,4*M*N'.",
        )
    ],
)  # fmt: skip
@problem_options(f"{DEFAULT_SIZE}, or the size of your program", "float32", seed_option)
@_roofs_options
@option_group(
    "Measuring",
    option(
        "--runs", type=WholeNumber(1, MOST_RUNS), metavar="N", show_default="until the median is stable",
        help="Number of samples per variant.",
    ),
    cold_option,
)  # fmt: skip
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
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm roofline                                every method, on this GPU
    cudamm roofline my.cu --gpu rtx3090            your kernel on a named GPU
    cudamm roofline --peak 19500 --bandwidth 1555  on an A100, by its numbers

    Calculate each method's arithmetic intensity, and the rate that the peak and the memory of a GPU allow it.

    On a GPU, the methods and the roofs are measured, and each rate is compared with its bound. For a GPU that
    is named (--gpu) or described by its numbers (--peak and --bandwidth, or --arch and clocks) only bounds
    are printed; add --device gpu to measure the methods as well. If the header of your kernel has no field
    `traffic`, the bytes that `trace` counts take its place.

    \b
    cudamm roofline -m tiled --block all --theoretical  roofs from its clocks
    cudamm roofline --arch sm_80 --sms 108 --clock 1410 --bandwidth 1555
    """
    from cudamm.analysis.counted_traffic import counted_traffic
    from cudamm.benchmark import roofline
    from cudamm.benchmark.sampling_policy import Settings
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.chosen_cases import kernels_of
    from cudamm.kernels.launchable_cases import launchable_cases
    from cudamm.kernels.usual_sizes import differing_sizes, not_verified, own_size_or
    from cudamm.tuning.fitted_cases import fitted, fitted_to
    from cudamm.tuning.place import of_architecture

    if device_spec == "cpu" and not sheet.is_given:
        raise UsageError(
            "times on the CPU device are not those of a GPU and have no roofline: add --gpu NAME, or --peak "
            f"GFLOPS and --bandwidth GB/S of a GPU ({_BY_NUMBERS})"
        )
    if sheet.arch is not None and sheet.arch.strip().lower() == "all":
        raise UsageError("--arch all: a roofline belongs to one GPU; name one architecture, such as sm_86")
    why_refused = "do not run on the GPU and have no roofline: name a method that runs on a GPU"
    variants = kernels_of(selection.variants(), selection.is_named, why_refused)
    differing = [] if sizes else differing_sizes(variants, DEFAULT_SIZE)
    sizes = sizes or (own_size_or(variants, DEFAULT_SIZE),)
    chosen = asked_cases(variants, selection.is_named, sizes, dtypes, seed, quiet=outputs.quiet)
    if sheet.is_given and device_spec in ("auto", "cpu"):
        chosen, remarks = fitted(chosen, selection.is_named, sheet.lacks, of_architecture(sheet.architecture))
        chosen, cannot_launch = launchable_cases(chosen, selection.is_named, [sheet.limits])
        remarks += [*differing, *cannot_launch, *not_verified(variant for variant, _ in chosen)]
        measures_nothing = "no rates are measured: times on the CPU device are not those of a GPU"
        note = measures_nothing if device_spec == "cpu" else ""
        info = dataclasses.replace(sheet.device, note=note)
        remarks += sheet.roofs.remarks_on(chosen)
        roofs = sheet.roofs.of(chosen)

        def bounds(report_progress: ReportProgress) -> Iterator[RooflineResult]:
            # The first pass refuses a case before any is traced.
            list(roofline.bounds(chosen, roofs, fmad, limits=sheet.limits))
            counted = counted_traffic(chosen, TRACE_ARCH, fmad, report_progress, timeout_s)
            yield from roofline.bounds(chosen, roofs, fmad, counted, sheet.limits)

        return _show(outputs, info, roofs, bounds, remarks)
    settings = Settings(fmad=fmad, runs=runs, cache="cold" if cold else "hot")
    with WorkerExecutor(device_spec, timeout_s) as worker:
        chosen, remarks = fitted_to(opened(worker, outputs), chosen, selection.is_named)
        all_roofs = sheet.roofs if sheet.is_given else roofline.roofs_of(worker, theoretical)
        remarks = [*differing, *remarks, *all_roofs.remarks_on(chosen)]
        roofs = all_roofs.of(chosen)

        def measured(report_progress: ReportProgress) -> Iterator[RooflineResult]:
            counted = counted_traffic(chosen, TRACE_ARCH, fmad, report_progress, timeout_s)
            yield from roofline.measure(worker, chosen, settings, roofs, report_progress, counted)
            worker.dismiss()

        return _show(outputs, worker.target.info, roofs, measured, remarks)


def _show(
    outputs: OutputOptions,
    device: DeviceInfo,
    roofs: Roofline,
    results: Callable[[ReportProgress], Iterator[RooflineResult]],
    remarks: Sequence[str],
) -> int:
    """Collect, print, draw and write the results, then print remarks; return the exit status."""
    from cudamm.benchmark.roofline import SCHEMA, RooflineResult
    from cudamm.cli.session import Session
    from cudamm.output import roofline_table as tables

    info = dataclasses.replace(device, properties=device.properties | roofs.record())

    def draw(found: list[RooflineResult]) -> Drawing:
        return tables.drawing_of(info, roofs, found)

    with Session[RooflineResult](SCHEMA, outputs, info) as session:
        session.collect(results)
        session.results.sort(key=lambda result: result.position)
        session.add_tables(lambda console, found: tables.render(console, info, roofs, found), draw)
        session.add_remarks(remarks)
        session.save(RooflineResult.record)
        return session.exit_status(all(result.status != "failed" for result in session.results))
