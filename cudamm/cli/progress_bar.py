"""The progress bar on standard error, and with `--verbose` a line for each step.

The bar never moves back: compiling and running share it, and so do the parts of a command that follow one
another. The clock counts from the beginning of the command.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from cudamm.cli.output_options import OutputOptions
from cudamm.execution.executor_group import DeviceAtWork, device_at_work
from cudamm.output.console import messages

ReportProgress = Callable[[str, int, int], None]
"""Function that shows the current step, the number of steps done, and their total."""

COMPILING_SHARE = 0.3
"""Share of the bar that compiling fills, in a command that compiles."""

_BEGUN_S = time.monotonic()
"""Time at which the command began, or nearly: this module is imported at once."""


class _Clock(ProgressColumn):
    """The time since the command began."""

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds."""
        minutes, seconds = divmod(int(time.monotonic() - _BEGUN_S), 60)
        return Text(f"{minutes // 60}:{minutes % 60:02}:{seconds:02}", style="progress.elapsed")


class _Course:
    """How much of a part of the bar is filled, from 0 to 1; it never decreases."""

    def __init__(self, part: tuple[float, float]) -> None:
        self._begin, self._end = part
        self._compiled: float | None = None
        self._run = self._reached = 0.0

    def filled(self, doing: str, done: int, total: int) -> float:
        """Return the filled share of the bar after a step."""
        share = done / total if total else 0.0
        if doing.startswith("compiling"):
            self._compiled = share
        else:
            self._run = share
        reached = self._run
        if self._compiled is not None:
            reached = COMPILING_SHARE * self._compiled + (1 - COMPILING_SHARE) * self._run
        self._reached = max(self._reached, reached)
        return self._begin + (self._end - self._begin) * self._reached


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
def progress_bar(
    outputs: OutputOptions, part: tuple[float, float] = (0.0, 1.0), first_step: str = "starting"
) -> Iterator[ReportProgress]:
    """Show a bar until the end of the block, and yield the function that moves it.

    If several devices run cases, each has a line below the bar: the thread that calls the function decides
    to which device the step belongs.

    Args:
        part: the begin and the end of the part of the bar that the block fills, as shares.
        first_step: what is done before the first call of the function.
    """
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False, style="progress.download"),
        _Clock(),
    )
    stderr = messages()
    # With FORCE_COLOR a file counts as a terminal, and a bar is not for files.
    shown = stderr.is_terminal and stderr.file.isatty() and not outputs.quiet
    course = _Course(part)
    with _BarOfDevices(*columns, console=stderr, disable=not shown) as bar:
        task = bar.add_task(first_step, total=1.0 if part[0] else None, count="")
        bar.update(task, completed=part[0])

        def report_progress(doing: str, done: int, total: int) -> None:
            device = device_at_work()
            if device is not None:
                bar.show_step(device, doing)
            filled, number = course.filled(doing, done, total), f"{done}/{total}" if total else ""
            bar.update(task, description=doing, completed=filled, total=1.0, count=number)
            if outputs.verbose:
                place = "" if device is None else f" on {device.name}"
                stderr.print(f"{done} of {total}: {doing}{place}", markup=False, soft_wrap=True)

        yield report_progress
