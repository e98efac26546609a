"""`cudamm report`: a file of results as an HTML page to read and to hand in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
import cloup

from cudamm.cli.documented_option import option
from cudamm.cli.output_options import Outputs, text_file_options
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.result import Result
    from cudamm.benchmark.result_file import Saved
    from cudamm.occupancy.occupancy_result import OccupancyResult
    from cudamm.output.page.page_kernels import Kernel


STREAMS = ("/dev/", "/proc/")
"""Folders whose entries are streams, so that no page can be named after them."""


@cloup.command()
@cloup.argument("path", metavar="RESULTS.json")
@text_file_options(
    option(
        "-o", "--output", metavar="FILE", show_default="the name of RESULTS.json, ending in .html",
        help="Write the page to FILE; - for standard output.",
    ),
    option(
        "--occupancy/--no-occupancy", default=True,
        help="Add the occupancy of kernels that ran on a GPU, or not; it needs nvcc.",
    ),
)  # fmt: skip
def report_command(path: str, output: str | None, occupancy: bool, outputs: Outputs) -> None:
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
    from cudamm.benchmark.result_file import load, results_of
    from cudamm.output.output_files import OutputFile
    from cudamm.output.page.page import MOST_ROWS, page
    from cudamm.output.page.page_kernels import kernel_of
    from cudamm.output.results_view import results_view

    saved = load(path)
    results = results_of(saved)
    if outputs.named:
        _write_text_files(saved, results, outputs, output)
        if output is None:
            return
    target = _target(path, output)
    file = OutputFile("-o", target)
    try:
        view = results_view(saved.document["device"]["name"], results)
        kernels = [kernel_of(row.result) for row in view.shortened(MOST_ROWS).rows]
        found, why_not = _occupancy(saved, kernels) if occupancy else ([], "")
        text = page(saved, view, kernels, found, why_not)
        content = text.encode()
        file.write([content])
    finally:
        file.discard()
    if output != "-":
        click.echo(f"{target}: {len(results)} rows, {max(1, len(content) // 1000)} kB")


def _write_text_files(saved: Saved, results: list[Result], outputs: Outputs, page: str | None) -> None:
    """Write the table as CSV, Markdown and SVG. Raise UsageError if one would replace the file of results."""
    from cudamm.benchmark.result import bench_record_among, yardsticks_of
    from cudamm.cli.output_options import TextFiles
    from cudamm.output import bench_table
    from cudamm.output.results_view import results_view

    for name, path in outputs.named.items():
        if path != "-" and Path(path).exists() and Path(path).samefile(saved.path):
            raise UsageError(f"{name} {path} would replace the file of results: choose another name")
        if page is not None and os.path.realpath(path) == os.path.realpath(page):
            raise UsageError(
                f"{name} and -o are both {'standard output' if path == '-' else path}: choose two files"
            )
    with TextFiles(outputs) as files:
        view = results_view(saved.document["device"]["name"], results)
        yardsticks = yardsticks_of(results)
        records = [bench_record_among(result, yardsticks) for result in results]
        files.write(lambda console: bench_table.render(console, view), records)


def _target(path: str, output: str | None) -> str:
    """Return the page's path. Raise UsageError if the page would replace the file of results."""
    if output == "-":
        return "/dev/stdout"
    given = Path(path)
    if output is None and (path.startswith(STREAMS) or not given.is_file()):
        raise UsageError(f"the page cannot be named after {path}: name the page with -o FILE")
    target = given.with_suffix(".html") if output is None else Path(output)
    if target.exists() and target.samefile(given):
        raise UsageError(f"-o {target} would replace the file of results: choose another name")
    return str(target) if output is None else output


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
    with Session[OccupancyResult](SCHEMA, Outputs(), info) as session:
        try:
            session.collect(lambda report_progress: occupancy_of(architecture, chosen, report_progress))
            session.exit_status(True)
        except (NoDeviceError, UsageError) as error:
            return [], f"This section is empty: {error}."
        return session.results, why_not if missing else ""
