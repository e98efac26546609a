"""The common course of commands that measure: progress bar, results, tables, files, exit status."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from cudamm.benchmark.result import Result, Yardsticks, yardsticks_of
from cudamm.cli.output_options import Outputs, TextFiles
from cudamm.devices.device import DeviceInfo
from cudamm.errors import ALL_WELL, FAILED_RESULT, Interrupted, NoDeviceError, UsageError
from cudamm.output.console import console, messages
from cudamm.output.document import document
from cudamm.output.live_json import LiveJson
from cudamm.output.output_files import JsonFile
from cudamm.output.text_formats import Render

if TYPE_CHECKING:
    from cudamm.output.plots.chart import Drawing
    from cudamm.output.plots.plot import Plot

R = TypeVar("R")
S = TypeVar("S", bound="Session[Any]")
ReportProgress = Callable[[str, int, int], None]
"""Function that shows the current step, the number of steps done, and their total."""


class Session(Generic[R]):
    """The results of one command: collected, printed and written.

    The JSON file is opened before the measuring, so that a path that cannot be written costs no measurement.
    Ctrl-C ends the measuring; the results so far are printed and written.
    """

    def __init__(self, schema: str, outputs: Outputs, device: DeviceInfo) -> None:
        """Open the files.

        Raises:
            UsageError: a file cannot be written.
            NoDeviceError: the library that draws charts is missing.
        """
        self.results: list[R] = []
        self._schema = schema
        self._device = device
        self._interrupted: KeyboardInterrupt | None = None
        self._lost: NoDeviceError | None = None
        self._outputs = outputs
        self._printed: list[Render] = []
        self._plot: Plot | None = None
        self._json: JsonFile | LiveJson | None = None
        with contextlib.ExitStack() as opened:
            if outputs.plot is not None:
                from cudamm.output.plots.plot import Plot

                self._plot = opened.enter_context(Plot(outputs.plot, outputs.named))
            self._text_files = opened.enter_context(TextFiles(outputs))
            path = outputs.json_path
            if path is not None:
                self._json = self._opened(path)
                opened.callback(self._json.discard)
            self._files = opened.pop_all()

    def _opened(self, path: str) -> JsonFile | LiveJson:
        return JsonFile(path)

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.close()

    def collect(self, measure: Callable[[ReportProgress], Iterator[R]]) -> None:
        """Measure everything, and show progress meanwhile. Do nothing after Ctrl-C or a lost device."""
        if self._interrupted is not None or self._lost is not None:
            return
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        stderr = messages()
        hidden = self._outputs.quiet or not stderr.is_terminal
        progress = Progress(*columns, console=stderr, transient=True, disable=hidden)
        with self._ignoring_a_closed_terminal(), progress as bar:
            task = bar.add_task("starting", total=None)

            def report_progress(doing: str, done: int, total: int) -> None:
                bar.update(task, description=doing, completed=done, total=total)
                if self._outputs.verbose:
                    stderr.print(f"{done} of {total}: {doing}", markup=False, soft_wrap=True)

            try:
                results = measure(report_progress)
                with contextlib.ExitStack() as opened:
                    if isinstance(results, Generator):  # after an interrupt it still has to stop its threads
                        opened.callback(results.close)
                    for result in results:  # results that came before an interrupt are kept
                        self.keep(result)
            except KeyboardInterrupt as interrupt:
                self._interrupted = interrupt
            except NoDeviceError as error:
                if not self.results:
                    raise
                self._lost = error  # the GPU failed meanwhile: its results so far are kept

    def keep(self, result: R) -> None:
        """Add a result."""
        self.results.append(result)

    def show(
        self,
        render: Callable[[Console, list[R]], None],
        draw: Callable[[list[R]], Drawing] | None = None,
    ) -> None:
        """Print the tables, and the charts if `--plot` names the terminal.

        Nothing is printed if a file goes to standard output.
        """
        if self._device.note and not self._outputs.quiet:
            messages().print(f"cudamm: {escape(self._device.note)}", soft_wrap=True)

        def render_all(console: Console) -> None:
            render(console, self.results)
            if self._plot is not None and draw is not None:
                self._plot.show(console, draw(self.results))

        self._print(render_all)

    def write_picture(self, draw: Callable[[list[R]], Drawing]) -> None:
        """Write the file of `--plot`. Call this last: a full disk must not cost the results."""
        if self._plot is not None and self.results:
            self._plot.write(draw(self.results))

    def print_remarks(self, remarks: Sequence[str]) -> None:
        """Print remarks below the tables, unless a file goes to standard output."""

        def render(console: Console) -> None:
            for remark in remarks:
                console.print(escape(remark), soft_wrap=True)

        self._print(render)

    def _print(self, render: Render) -> None:
        if not self.results:
            return
        self._printed.append(render)
        if not (self._text_files.take_standard_output or (self._json and self._json.is_standard_output)):
            with self._ignoring_a_closed_terminal():
                render(console())

    def _write_text_files(self, rows: Iterable[dict[str, Any]]) -> None:
        if self.results:
            self._text_files.write(self._print_again, rows)

    def _print_again(self, console: Console) -> None:
        for printed in self._printed:
            printed(console)

    @contextlib.contextmanager
    def _ignoring_a_closed_terminal(self) -> Iterator[None]:
        """Ignore errors of a closed terminal after its signal: they must not cost the file of results."""
        try:
            yield
        except OSError:
            if self._interrupted is None:
                raise

    def save(self, record: Callable[[R], dict[str, Any]]) -> None:
        """Write a row for each result to the files."""
        self.write([record(result) for result in self.results])

    def write(
        self, rows: Sequence[dict[str, Any]], csv_rows: Iterable[dict[str, Any]] | None = None, **head: Any
    ) -> None:
        """Write the files. Call this after the tables: a full disk must not cost them.

        Args:
            rows: rows of the JSON document.
            csv_rows: rows of the CSV file, if they differ.
            head: other fields of the JSON document.
        """
        # An interrupt before the first result must not replace an older file by an empty one.
        if isinstance(self._json, JsonFile) and (self.results or not self._interrupted):
            self._json.write(document(self._schema, self._device) | head, rows)
        self._write_text_files(rows if csv_rows is None else csv_rows)

    def exit_status(self, all_well: bool) -> int:
        """Return the exit status.

        Raises:
            Interrupted: after Ctrl-C.
            NoDeviceError: the device was lost.
        """
        count = len(self.results)
        progress = f"{count} result{'s' * (count > 1)} by then" if count else "nothing was measured yet"
        if self._interrupted is not None:
            raise Interrupted(self._interrupted, progress)
        if self._lost is not None:
            raise NoDeviceError(f"{self._lost}; {progress}")
        return ALL_WELL if all_well else FAILED_RESULT


class LiveSession(Session[Result]):
    """A session that keeps each result in a journal, from which `--resume` continues after a kill."""

    def __init__(
        self,
        schema: str,
        outputs: Outputs,
        device: DeviceInfo,
        record: Callable[[Result, Yardsticks], dict[str, Any]],
        options: dict[str, Any] | None = None,
    ) -> None:
        """Open the files.

        Args:
            record: makes the row of a result, given the results of cuBLAS.

        Raises:
            UsageError: a file cannot be written.
        """
        self._record = record
        self._options = options
        self._restored: dict[int, dict[str, Any]] = {}
        super().__init__(schema, outputs, device)

    def _opened(self, path: str) -> LiveJson:
        return LiveJson(path, document(self._schema, self._device, self._options))

    def restore(self, results: Sequence[Result], records: Mapping[int, dict[str, Any]]) -> None:
        """Take over the results of an earlier run.

        Args:
            results: results to show beside the new ones.
            records: rows of the file by position: those of `results`, and others that stay in the file.
        """
        self.results += results
        self._restored = dict(records)
        if isinstance(self._json, LiveJson):
            self._json.restore(records)

    def keep(self, result: Result) -> None:
        """Put a result at its position, in place of an earlier one. A result of cuBLAS changes all rows."""
        first = bisect.bisect_left(self.results, result.position, key=lambda r: r.position)
        end = bisect.bisect_right(self.results, result.position, key=lambda r: r.position)
        self.results[first:end] = [result]
        if isinstance(self._json, LiveJson):
            self._json.append(self._records(self.results if result.is_yardstick else [result]))

    def finish(self) -> None:
        """Write the files. Call this after the tables: a full disk must not cost them."""
        if self.results or not self._interrupted:
            self._write_json()
        self._write_text_files(self._records(self.results).values())

    def _write_json(self) -> None:
        if isinstance(self._json, LiveJson):
            records = self._restored | self._records(self.results)
            self._json.write(records[position] for position in sorted(records))

    def _records(self, results: Sequence[Result]) -> dict[int, dict[str, Any]]:
        """Return the rows of results by position."""
        yardsticks = yardsticks_of(self.results)
        return {result.position: self._record(result, yardsticks) for result in results}

    def __exit__(self, *error: Any) -> None:
        try:
            if isinstance(self._json, LiveJson) and self._json.is_behind:  # an error prevented `finish`
                with contextlib.suppress(UsageError):
                    self._write_json()
        finally:
            super().__exit__(*error)
