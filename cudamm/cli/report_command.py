"""`cudamm report`: a file of results as an HTML page to read and to hand in."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option_group

from cudamm.api.defaults import OCCUPANCY_ARCH, SIZE
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import refuse_given
from cudamm.cli.output_options import AllAtOnce, OutputOptions, page_options
from cudamm.cli.shared_options import fmad_option, problem_options, selection_options, timeout_option
from cudamm.errors import NoDeviceError, UsageError
from cudamm.kernels.header import KERNEL_FILES, STANDARD_INPUT, read_standard_input

if TYPE_CHECKING:
    from cudamm.benchmark.result_file import Saved
    from cudamm.kernels.selection import Selection
    from cudamm.occupancy.occupancy_result import OccupancyResult
    from cudamm.output.page.page_kernels import Kernel


STREAMS = ("/dev/", "/proc/")
"""Folders whose entries are streams, so that no page can be named after them."""


OF_RESULTS = {"occupancy", "csv", "markdown", "svg"}
"""Options that apply to a file of results only."""

OF_BOTH = {"path", "page", "quiet"}
"""Parameters that apply to a file of results and to a kernel. All others apply to a kernel only."""


@cloup.command()
@cloup.argument("path", metavar="RESULTS.json|FILE.cu")
@page_options(
    option(
        "-o", "--output", "page", metavar="FILE", show_default="the file's name, ending in .html",
        help="Write the page to FILE; - for standard output.",
    ),
    option(
        "--occupancy/--no-occupancy", default=True,
        help="Add the occupancy of kernels that ran on a GPU, or not; it needs nvcc.",
    ),
)  # fmt: skip
@selection_options(fmad_option, named=False)
@problem_options(f"{SIZE} for the accesses", "the kernel's")
@option_group(
    "Device",
    option(
        "--arch", "--gpu", default=OCCUPANCY_ARCH, metavar="NAME",
        help="Architecture or GPU of a kernel's registers and occupancy, such as sm_86 or rtx3090.",
    ),
    timeout_option,
)  # fmt: skip
@click.pass_context
def report_command(
    context: click.Context,
    path: str,
    occupancy: bool,
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    arch: str,
    fmad: bool,
    timeout_s: float,
    outputs: OutputOptions,
) -> None:
    """\b
    cudamm report results.json                  write results.html
    cudamm report my.cu                         write my.html, without a GPU
    cudamm report sweep.json -o handed-in.html  write handed-in.html

    Write one HTML page about a file that bench --json or sweep --json wrote, or about a kernel.

    The page of results contains a summary, the table with bars, charts, the kernels' sources, their
    occupancy, and every statistic of the samples. The page of a kernel contains its source with the mistakes
    of `check` and the accesses of `trace` below the lines, and its occupancy; it has no times. A page is one
    file, which loads nothing from the network.

    With --csv, --markdown or --svg, the table of bench is written in that format instead of the page. Add -o
    to write the page too.
    """
    from rich.text import Text

    from cudamm.kernels.misnamed_file import misnamed_kernel

    if path.endswith(KERNEL_FILES) or path == STANDARD_INPUT:
        refuse_given(context, lambda name: name in OF_RESULTS, "a file of results", "a kernel")
        from cudamm.cli.kernel_report import report_kernel
        from cudamm.output.console import console

        text = read_standard_input() if path == STANDARD_INPUT else Path(path)
        selection = dataclasses.replace(selection, kernels=(text,))
        if outputs.page is None:
            outputs = dataclasses.replace(outputs, page=_page_path(path))
        line = report_kernel(selection, sizes, dtypes, arch, fmad, timeout_s, outputs)
        if outputs.page != "-":
            console().print(Text(line), soft_wrap=True)
        return
    if reason := misnamed_kernel(path):
        raise UsageError(f"{reason}, or a file of results" if Path(path).is_dir() else reason)
    refuse_given(context, lambda name: name not in OF_RESULTS | OF_BOTH, "a kernel", "a file of results")
    from cudamm.benchmark.result import bench_record_among, yardsticks_of
    from cudamm.benchmark.result_file import load, results_of
    from cudamm.output import bench_table
    from cudamm.output.console import console
    from cudamm.output.page.page import page
    from cudamm.output.page.page_kernels import kernel_of
    from cudamm.output.results_view import results_view

    saved = load(path)
    results = results_of(saved)
    view = results_view(saved.document["device"]["name"], results)
    yardsticks = yardsticks_of(results)
    if outputs.page is None and not outputs.texts:
        outputs = dataclasses.replace(outputs, page=_page_path(path))

    @functools.cache
    def page_text() -> str:
        kernels = [kernel_of(row.result) for row in view.shortened().rows]
        found, why_not = _occupancy(saved, kernels) if occupancy else ([], "")
        return page(saved, view, kernels, found, why_not)

    with AllAtOnce(outputs) as output:
        output.deliver(
            lambda file: None,
            lambda console: bench_table.render(console, view),
            (bench_record_among(result, yardsticks) for result in results),
            page=page_text,
            prints_tables=False,
        )
    if outputs.page not in (None, "-") and "-" not in outputs.texts.values():
        size = max(1, len(page_text().encode()) // 1000)
        rows = "1 row" if len(results) == 1 else f"{len(results)} rows"
        console().print(Text(f"{outputs.page}: {rows}, {size} kB"), soft_wrap=True)


def _page_path(path: str) -> str:
    """Return the path of a page that is named after what it is about. Raise UsageError for a stream."""
    if (
        path == STANDARD_INPUT
        or path.startswith(STREAMS)
        or (Path(path).exists() and not Path(path).is_file())
    ):
        raise UsageError(f"the page cannot be named after {path}: name the page with -o FILE")
    return str(Path(path).with_suffix(".html"))


def _occupancy(saved: Saved, kernels: Sequence[Kernel]) -> tuple[list[OccupancyResult], str]:
    """Return the occupancy of the kernels that can be compiled here, and remarks on it."""
    from cudamm.cli.session import Session
    from cudamm.compile.nvcc_compiler import remark_on_estimate
    from cudamm.devices.device import DeviceInfo
    from cudamm.occupancy.occupancy_result import SCHEMA, OccupancyResult
    from cudamm.output.page.page_kernels import architecture_of, occupancy_of, on_gpu

    device = saved.document["device"]
    if device["kind"] != "gpu":
        return (
            [],
            "This section is empty: the results are not from a GPU. cudamm occupancy --arch works for any "
            "GPU.",
        )
    architecture = architecture_of(device)
    if architecture is None:
        return [], "This section is empty: the file names no architecture whose limits are known."
    chosen = on_gpu(kernels)
    timed = [k for k in kernels if k.row.execution == "gpu" and k.row.status in ("ok", "dropped")
             and not (k.method and k.method.package)]  # fmt: skip
    if not chosen:
        return [], "This section is empty: the sources of all kernels have changed since the measurement."
    missing = len({k.row.method for k in timed} - {k.row.method for k in chosen})
    why_not = (
        f"{missing} method{'s are' if missing > 1 else ' is'} not shown: the present source was not measured."
    )
    info = DeviceInfo(device["kind"], "", device["name"])
    with Session[OccupancyResult](SCHEMA, OutputOptions(), info) as session:
        try:
            session.collect(lambda report_progress: occupancy_of(architecture, chosen, report_progress))
            session.exit_status(True)
        except (NoDeviceError, UsageError) as error:
            return [], f"This section is empty: {error}."
        estimate = remark_on_estimate(architecture.name)
        remarks = ([why_not] if missing else []) + ([f"The {estimate}."] if estimate else [])
        return session.results, " ".join(remarks)
