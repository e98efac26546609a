"""The progress bar on standard error, and with `--verbose` a line for each step."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from cudamm.cli.output_options import OutputOptions
from cudamm.execution.executor_group import DeviceAtWork, device_at_work
from cudamm.output.console import messages

ReportProgress = Callable[[str, int, int], None]
"""Function that shows the current step, the number of steps done, and their total."""


class _BarOfDevices(Progress):
    """The bar of all steps. Below it, each of several devices has a line with its current step."""

    def __init__(self, *columns: ProgressColumn, console: Console, disable: bool) -> None:
        self._steps: dict[DeviceAtWork, str] = {}
        self._steps_lock = threading.Lock()
        super().__init__(*columns, console=console, transient=True, disable=disable)

    def show_step(self, device: DeviceAtWork, doing: str) -> None:
        """Set the line of a device, which disappears when the device has no more steps."""
        with self._steps_lock:
            self._steps[device] = doing

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield the bar, then the lines."""
        yield from super().get_renderables()
        with self._steps_lock:
            self._steps = {device: doing for device, doing in self._steps.items() if not device.has_ended}
            steps = sorted(self._steps.items(), key=lambda step: step[0].position)
        width = max((len(device.name) for device, _ in steps), default=0)
        for device, doing in steps:
            yield Text(f"  {device.name:<{width}}  {doing}", no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def progress_bar(outputs: OutputOptions) -> Iterator[ReportProgress]:
    """Show a bar until the end of the block, and yield the function that moves it.

    If several devices run cases, each has a line below the bar: the thread that calls the function decides
    to which device the step belongs.
    """
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    stderr = messages()
    # With FORCE_COLOR a file counts as a terminal, and a bar is not for files.
    shown = stderr.is_terminal and stderr.file.isatty() and not outputs.quiet
    with _BarOfDevices(*columns, console=stderr, disable=not shown) as bar:
        task = bar.add_task("starting", total=None)

        def report_progress(doing: str, done: int, total: int) -> None:
            device = device_at_work()
            if device is not None:
                bar.show_step(device, doing)
            bar.update(task, description=doing, completed=done, total=total)
            if outputs.verbose:
                place = "" if device is None else f" on {device.name}"
                stderr.print(f"{done} of {total}: {doing}{place}", markup=False, soft_wrap=True)

        yield report_progress
