"""What commands that measure have in common: a progress bar, results as they come, tables, a JSON file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Generic, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cudamm.errors import Interrupted
from cudamm.report.console import console, messages
from cudamm.report.export import JsonFile
from cudamm.results import DeviceInfo, document

R = TypeVar("R")
Tell = Callable[[str, int, int], None]


class Session(Generic[R]):
    """One command's results, from the first to the last thing done with them.

    The JSON file is opened before anything is measured: a path that cannot be written costs no
    measurement. Ctrl-C ends the measuring; what was measured is printed and written all the same.
    """

    def __init__(self, schema: str, json_path: str | None, device: DeviceInfo) -> None:
        """Raises UsageError where the JSON file cannot be written."""
        self.results: list[R] = []
        self._schema = schema
        self._device = device
        self._interrupted = False
        self._json = JsonFile(json_path) if json_path is not None else None

    def __enter__(self) -> Session[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._json:
            self._json.discard()

    def collect(self, measure: Callable[[Tell], Iterator[R]]) -> None:
        """Measure everything, showing how far it is."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        stderr = messages()
        with Progress(*columns, console=stderr, transient=True, disable=not stderr.is_terminal) as bar:
            task = bar.add_task("starting", total=None)

            def tell(doing: str, done: int, total: int) -> None:
                bar.update(task, description=doing, completed=done, total=total)

            try:
                for result in measure(tell):  # one by one: those before an interrupt are kept
                    self.results.append(result)
            except KeyboardInterrupt:
                self._interrupted = True

    def show(self, render: Callable[[Console, list[R]], None]) -> None:
        """Print the tables, unless standard output is taken by the JSON document."""
        if self._device.note:
            messages().print(f"cudamm: {escape(self._device.note)}", soft_wrap=True)
        if self.results and not (self._json and self._json.is_standard_output):
            render(console(), self.results)

    def say(self, lines: Sequence[str]) -> None:
        """Print remarks below the tables, under the same condition."""
        if self.results and not (self._json and self._json.is_standard_output):
            for line in lines:
                console().print(escape(line), soft_wrap=True)

    def save(self, record: Callable[[R], dict[str, Any]]) -> None:
        """Write the JSON file, if one is wanted. After the tables: a full disk must not cost them."""
        # An older file is worth more than a document without results.
        if self._json and (self.results or not self._interrupted):
            self._json.write(document(self._schema, self._device), map(record, self.results))

    def status(self, all_well: bool) -> int:
        """The exit status. Raises Interrupted after Ctrl-C."""
        if self._interrupted:
            count = len(self.results)
            what = f"{count} result{'s' * (count > 1)} by then" if count else "nothing was measured yet"
            raise Interrupted(f"interrupted: {what}")
        return 0 if all_well else 1
