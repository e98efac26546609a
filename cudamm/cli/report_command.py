"""`cudamm report`: a file of results as an HTML page to read and to hand in."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cloup

from cudamm.cli.documented_option import option
from cudamm.cli.output_options import AllAtOnce, OutputOptions, page_options
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.result_file import Saved
    from cudamm.occupancy.occupancy_result import OccupancyResult
    from cudamm.output.page.page_kernels import Kernel


STREAMS = ("/dev/", "/proc/")
"""Folders whose entries are streams, so that no page can be named after them."""


@cloup.command()
@cloup.argument("path", metavar="RESULTS.json")
@page_options(
    option(
        "-o", "--output", "page", metavar="FILE", show_default="the name of RESULTS.json, ending in .html",
        help="Write the page to FILE; - for standard output.",
    ),
    option(
        "--occupancy/--no-occupancy", default=True,
        help="Add the occupancy of kernels that ran on a GPU, or not; it needs nvcc.",
    ),
)  # fmt: skip
def report_command(path: str, occupancy: bool, outputs: OutputOptions) -> None:
    """\b
    cudamm report results.json                  write results.html
    cudamm report sweep.json -o handed-in.html  write handed-in.html
    cudamm report results.json --markdown -     print the table as Markdown

    Write one HTML page about a file that bench --json or sweep --json wrote.

    The page contains a summary, the table with bars, charts, the kernels' sources, their occupancy, and every
    statistic of the samples. It is one file, which loads nothing from the network.

    With --csv, --markdown or --svg, the table of bench is written in that format instead of the page. Add -o
    to write the page too.
    """
    from rich.text import Text

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
        console().print(Text(f"{outputs.page}: {len(results)} rows, {size} kB"), soft_wrap=True)


def _page_path(path: str) -> str:
    """Return the path of a page that is named after its file of results. Raise UsageError for a stream."""
    if path.startswith(STREAMS) or not Path(path).is_file():
        raise UsageError(f"the page cannot be named after {path}: name the page with -o FILE")
    return str(Path(path).with_suffix(".html"))


def _occupancy(saved: Saved, kernels: Sequence[Kernel]) -> tuple[list[OccupancyResult], str]:
    """Return the occupancy of the kernels that can be compiled here, and why others have none."""
    from cudamm.cli.session import Session
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
        return session.results, why_not if missing else ""
