"""The progress bar on standard error, and with `--verbose` a line for each step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cudamm.cli.output_options import OutputOptions
from cudamm.output.console import messages

ReportProgress = Callable[[str, int, int], None]
"""Function that shows the current step, the number of steps done, and their total."""


@contextlib.contextmanager
def progress_bar(outputs: OutputOptions) -> Iterator[ReportProgress]:
    """Show a bar until the end of the block, and yield the function that moves it."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    stderr = messages()
    # With FORCE_COLOR a file counts as a terminal, and a bar is not for files.
    shown = stderr.is_terminal and stderr.file.isatty() and not outputs.quiet
    with Progress(*columns, console=stderr, transient=True, disable=not shown) as bar:
        task = bar.add_task("starting", total=None)

        def report_progress(doing: str, done: int, total: int) -> None:
            bar.update(task, description=doing, completed=done, total=total)
            if outputs.verbose:
                stderr.print(f"{done} of {total}: {doing}", markup=False, soft_wrap=True)

        yield report_progress
