"""The common course of commands that measure: progress bar, results, tables, files, exit status."""

from __future__ import annotations

import bisect
import contextlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rich.console import Console
from rich.markup import escape

from cudamm.benchmark.result import Result, Yardsticks, yardsticks_of
from cudamm.cli.output_options import Output, OutputOptions
from cudamm.cli.progress_bar import ReportProgress, progress_bar
from cudamm.devices.device import DeviceInfo
from cudamm.errors import ALL_WELL, FAILED_RESULT, CudammError, Interrupted, UsageError
from cudamm.output.console import messages
from cudamm.output.document import document
from cudamm.output.live_json import LiveJson
from cudamm.output.output_files import JsonFile
from cudamm.output.text_formats import Render

if TYPE_CHECKING:
    from cudamm.output.plots.chart import Drawing

R = TypeVar("R")
S = TypeVar("S", bound="Session[Any]")


class Session(Generic[R]):
    """The results of one command: collected, printed and written.

    The JSON file is opened before the measuring, so that a path that cannot be written costs no measurement.
    Ctrl-C ends the measuring; the results so far are printed and written.
    """

    def __init__(self, schema: str, outputs: OutputOptions, device: DeviceInfo) -> None:
        """Open the files.

        Raises:
            UsageError: a file cannot be written.
            NoDeviceError: the library that draws charts is missing.
        """
        self.results: list[R] = []
        self._schema = schema
        self._device = device
        self._interrupted: KeyboardInterrupt | None = None
        self.failure: CudammError | None = None
        self._outputs = outputs
        self._renders: list[Render] = []
        self._forms: dict[str, Callable[[], str]] = {}
        self._draw: Callable[[list[R]], Drawing] | None = None
        self._draws_in_terminal = True
        self._output: Output[JsonFile | LiveJson] = Output(outputs, self._open_document)

    def _open_document(self, path: str, option: str) -> JsonFile | LiveJson:
        return JsonFile(path, option)

    def __enter__(self: S) -> S:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._output.__exit__()

    def collect(
        self, measure: Callable[[ReportProgress], Iterator[R]], part: tuple[float, float] = (0.0, 1.0)
    ) -> None:
        """Measure everything, and show progress meanwhile. Do nothing after Ctrl-C or an error.

        An error after the first result ends the measuring; `exit_status` raises it when the results are
        written and printed.

        Args:
            part: the part of the progress bar that is filled, of a command that collects several times.
        """
        if self._interrupted is not None or self.failure is not None:
            return
        with self._ignoring_a_closed_terminal(), progress_bar(self._outputs, part) as report_progress:
            try:
                results = measure(report_progress)
                with contextlib.ExitStack() as opened:
                    if isinstance(results, Generator):  # after an interrupt it still has to stop its threads
                        opened.callback(results.close)
                    for result in results:  # results that came before an interrupt are kept
                        self.keep(result)
            except KeyboardInterrupt as interrupt:
                self._interrupted = interrupt
            except CudammError as error:
                if not self.results:
                    raise
                self.failure = error  # such as a GPU that failed meanwhile

    def keep(self, result: R) -> None:
        """Add a result."""
        self.results.append(result)

    def add_tables(
        self,
        render: Callable[[Console, list[R]], None],
        draw: Callable[[list[R]], Drawing] | None = None,
        *,
        draw_in_terminal: bool = True,
    ) -> None:
        """Add tables, which are printed once the files are written, and the charts of `--plot`.

        Args:
            draw_in_terminal: false if `render` prints the charts itself.
        """
        self._draw, self._draws_in_terminal = draw, draw_in_terminal
        self._renders.append(lambda console: render(console, self.results))

    def add_remarks(self, remarks: Sequence[str]) -> None:
        """Add remarks, which are printed below the tables."""

        def render(console: Console) -> None:
            for remark in remarks:
                console.print(escape(remark), soft_wrap=True)

        self._renders.append(render)

    def add_form(self, option: str, text: Callable[[R], str]) -> None:
        """Add a form of the only result that an option of this command writes, such as `junit`."""
        self._forms[option] = lambda: text(self.results[0])

    def _render(self, console: Console) -> None:
        with self._ignoring_a_closed_terminal():
            for render in self._renders:
                render(console)

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
        """Write the files, then print the tables.

        Args:
            rows: rows of the JSON document.
            csv_rows: rows of the CSV file, if they differ.
            head: other fields of the JSON document.
        """

        def write_document(file: JsonFile | LiveJson) -> None:
            if isinstance(file, JsonFile):
                file.write(document(self._schema, self._device) | head, rows)

        self._deliver(write_document, rows if csv_rows is None else csv_rows)

    def _deliver(
        self, write_document: Callable[[JsonFile | LiveJson], None], csv_rows: Iterable[dict[str, Any]]
    ) -> None:
        if self._device.note and not self._outputs.quiet:
            messages().print(f"cudamm: {escape(self._device.note)}", soft_wrap=True)
        if not self.results:
            # An interrupt before the first result must not replace an older file by an empty one.
            for file in () if self._interrupted else self._output.documents:
                write_document(file)
            return
        draw = self._draw
        self._output.deliver(
            write_document,
            self._render,
            csv_rows,
            (lambda: draw(self.results)) if draw is not None else None,
            draw_in_terminal=self._draws_in_terminal,
            other_forms=self._forms,
        )

    def exit_status(self, all_well: bool) -> int:
        """Return the exit status.

        Raises:
            Interrupted: after Ctrl-C.
            CudammError: an error that ended the measuring, such as a lost device.
        """
        count = len(self.results)
        progress = f"{count} result{'s' * (count > 1)} by then" if count else "nothing was measured yet"
        if self._interrupted is not None:
            raise Interrupted(self._interrupted, progress)
        if self.failure is not None:
            self.failure.args = (f"{self.failure}; {progress}",)
            raise self.failure
        return ALL_WELL if all_well else FAILED_RESULT


class LiveSession(Session[Result]):
    """A session that keeps each result in a journal, from which `--resume` continues after a kill."""

    def __init__(
        self,
        schema: str,
        outputs: OutputOptions,
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

    def _open_document(self, path: str, option: str) -> LiveJson:
        return LiveJson(path, document(self._schema, self._device, self._options), option)

    @property
    def _live_documents(self) -> list[LiveJson]:
        return [file for file in self._output.documents if isinstance(file, LiveJson)]

    def restore(self, results: Sequence[Result], records: Mapping[int, dict[str, Any]]) -> None:
        """Take over the results of an earlier run.

        Args:
            results: results to show beside the new ones.
            records: rows of the file by position: those of `results`, and others that stay in the file.
        """
        self.results += results
        self._restored = dict(records)
        for file in self._live_documents:
            file.restore(records)

    def keep(self, result: Result) -> None:
        """Put a result at its position, in place of an earlier one. A result of cuBLAS changes all rows."""
        first = bisect.bisect_left(self.results, result.position, key=lambda r: r.position)
        end = bisect.bisect_right(self.results, result.position, key=lambda r: r.position)
        self.results[first:end] = [result]
        if self._live_documents:
            records = self._records(self.results if result.is_yardstick else [result])
            for file in self._live_documents:
                file.append(records)

    def finish(self) -> None:
        """Write the files, then print the tables."""
        self._deliver(self._write_document, self._records(self.results).values())

    def _write_document(self, file: JsonFile | LiveJson) -> None:
        if isinstance(file, LiveJson):
            records = self._restored | self._records(self.results)
            file.write(records[position] for position in sorted(records))

    def _records(self, results: Sequence[Result]) -> dict[int, dict[str, Any]]:
        """Return the rows of results by position."""
        yardsticks = yardsticks_of(self.results)
        return {result.position: self._record(result, yardsticks) for result in results}

    def __exit__(self, *error: Any) -> None:
        try:
            for file in self._live_documents:
                if file.is_behind:  # an error prevented `finish`
                    with contextlib.suppress(UsageError):
                        self._write_document(file)
        finally:
            super().__exit__(*error)
