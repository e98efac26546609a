"""Options that name files for results, and the writing of these files."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from cloup import option_group

from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import Decorator, contradict
from cudamm.cli.shared_options import fields_of, gathered
from cudamm.errors import UsageError
from cudamm.output.output_files import (
    JsonFile,
    OutputFile,
    check_named,
    is_stream,
    print_document,
    write_then_print,
)

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.output.plots.chart import Drawing
    from cudamm.output.plots.plot import Plot
    from cudamm.output.text_formats import Render


@dataclass(frozen=True)
class OutputOptions:
    """Files to write; `-` is standard output, and None means that no such file is written.

    Attributes:
        resume: a file of results, whose run the command continues.
        page: the page of `report`.
        out: the results of `grade`, as Gradescope reads them.
        junit: the results of `grade`, as JUnit XML.
        feedback: the results of `grade`, as Markdown for the student.
        quiet: print nothing on standard error but errors and warnings.
        verbose: print a line on standard error for each step.
    """

    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    svg: str | None = None
    resume: str | None = None
    plot: str | None = None
    page: str | None = None
    out: str | None = None
    junit: str | None = None
    feedback: str | None = None
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """Check the names before a command does any work.

        Raises:
            UsageError: a name is empty, two of the files are the same, or `--plot` names no picture.
            NoDeviceError: the library that draws charts is missing.
        """
        options: dict[str, str] = {}
        for option_name, path in self._named.items():
            check_named(option_name, path)
            key = path if path == "-" else os.path.realpath(path)
            if options.get(key) == "--json" and option_name == "--resume":
                continue  # the run continues in its own file
            if key in options:
                name = "standard output" if path == "-" else path
                raise UsageError(f"{options[key]} and {option_name} are both {name}: choose two files")
            options[key] = option_name
        self._check_files_beside(options)
        if self.plot is not None:
            from cudamm.output.plots.plot import check_plot

            check_plot(self.plot)

    @staticmethod
    def _check_files_beside(options: Mapping[str, str]) -> None:
        """Raise UsageError if a file is the journal or the lock file of another one."""
        for path, option_name in options.items():
            if option_name not in ("--json", "--resume") or path in ("-", "/"):
                continue
            from cudamm.output.live_json import files_beside

            for beside in files_beside(Path(path)):
                if str(beside) in options:
                    raise UsageError(
                        f"{options[str(beside)]} is a file that cudamm writes beside {option_name} "
                        f"{Path(path).name}: choose another name"
                    )

    @property
    def _named(self) -> dict[str, str]:
        """Return the named files by their options."""
        paths = {
            "--json": self.json, "--resume": self.resume, "--csv": self.csv, "--markdown": self.markdown,
            "--svg": self.svg, "--plot": self.plot, "-o": self.page, "--out": self.out, "--junit": self.junit,
            "--feedback": self.feedback,
        }  # fmt: skip
        return {name: path for name, path in paths.items() if path is not None}

    @property
    def names_files(self) -> bool:
        """Return whether results are written anywhere but in tables on the terminal."""
        return bool(self._named)

    @property
    def texts(self) -> dict[str, str]:
        """Return the named files with the results in other forms than JSON and the page, by form."""
        paths = {
            "csv": self.csv, "markdown": self.markdown, "svg": self.svg, "out": self.out, "junit": self.junit,
            "feedback": self.feedback,
        }  # fmt: skip
        return {form: path for form, path in paths.items() if path is not None}

    @property
    def documents(self) -> list[tuple[str, str]]:
        """Return the JSON documents, each as its option and path.

        A continued run writes its own file, unless `--json` names another file. A stream is no such file.
        """
        named = [("--json", self.json)] if self.json is not None else []
        if self.resume is not None and (self.json is None or self.json == "-" or is_stream(self.json)):
            named.append(("--resume", self.resume))
        return named


def _file_option(name: str, help_text: str) -> Decorator:
    return option(f"--{name}", metavar="FILE", shell_complete=complete_files, help=help_text)


_TEXT_FILES = (
    _file_option("csv", "Write the results as CSV; - for standard output, without tables."),
    _file_option("markdown", "Write what is printed as Markdown; - as for --csv."),
    _file_option("svg", "Write what is printed as an SVG picture; - as for --csv."),
)

PLOT = _file_option("plot", "Draw charts in a .png, .svg or .pdf file; - for the terminal.")
GRADESCOPE = _file_option(
    "out", "Write the grade as Gradescope's results.json, without details of hidden tests; - as for --csv."
)
JUNIT = _file_option(
    "junit", "Write the grade as JUnit XML, without details of hidden tests; - as for --csv."
)
FEEDBACK = _file_option(
    "feedback",
    "Write the grade as Markdown for the student, without details of hidden tests; - as for --csv.",
)
RESUME = _file_option("resume", "Continue the run that wrote FILE, without measuring its results again.")

_QUIET = option("-q", "--quiet", is_flag=True, help="Print no progress and no remarks on standard error.")

_STREAMS: tuple[Decorator, ...] = (
    _QUIET,
    option("-v", "--verbose", is_flag=True, help="Print a line on standard error for each step."),
    contradict("quiet", "verbose"),
)


def output_options(*others: Decorator) -> Decorator:
    """Add the options that name files; the command receives them as `outputs`.

    Args:
        others: more options for the group "Output", such as `PLOT`.
    """
    json = _file_option("json", "Write the results as JSON; - for standard output, without tables.")
    return _gathered_outputs(json, *_TEXT_FILES, *others, *_STREAMS)


def page_options(*others: Decorator) -> Decorator:
    """Add `others`, `--csv`, `--markdown`, `--svg` and `--quiet`; the command receives them as `outputs`.

    Args:
        others: more options for the group "Output", with `-o` for the page.
    """
    return _gathered_outputs(*others, *_TEXT_FILES, _QUIET)


def _gathered_outputs(*options: Decorator) -> Decorator:
    return gathered("outputs", OutputOptions, fields_of(OutputOptions), option_group("Output", *options))


class Document(Protocol):
    """A JSON document that is open: a file, or standard output."""

    is_standard_output: bool

    def discard(self) -> None:
        """Close the document, and remove what was not written."""


D = TypeVar("D", bound=Document)
Opened = TypeVar("Opened", bound="Output[Any]")


class Output(Generic[D]):
    """What a command puts out: files, which are opened before the measuring, and tables.

    Attributes:
        documents: the JSON documents.
    """

    def __init__(self, outputs: OutputOptions, open_document: Callable[[str, str], D]) -> None:
        """Open the files.

        Args:
            open_document: opens a JSON document, given its path and the option that names it.

        Raises:
            UsageError: a file cannot be written.
            NoDeviceError: the library that draws charts is missing.
        """
        self.documents: list[D] = []
        self._texts = outputs.texts | ({"page": outputs.page} if outputs.page is not None else {})
        self._files: dict[str, OutputFile] = {}
        self._plot: Plot | None = None
        with contextlib.ExitStack() as opened:
            if outputs.plot is not None:
                from cudamm.output.plots.plot import Plot

                self._plot = opened.enter_context(Plot(outputs.plot))
            for form, path in self._texts.items():
                if path != "-":
                    self._files[form] = OutputFile("-o" if form == "page" else f"--{form}", path)
                    opened.callback(self._files[form].discard)
            for option_name, path in outputs.documents:
                self.documents.append(open_document(path, option_name))
                opened.callback(self.documents[-1].discard)
            self._opened = opened.pop_all()

    def __enter__(self: Opened) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files that were opened but not written."""
        self._opened.close()

    @property
    def _takes_standard_output(self) -> bool:
        """Return whether one of the documents and forms goes to standard output."""
        return "-" in self._texts.values() or any(d.is_standard_output for d in self.documents)

    def deliver(
        self,
        write_document: Callable[[D], None],
        render: Render,
        records: Iterable[Mapping[str, Any]],
        draw: Callable[[], Drawing] | None = None,
        *,
        draw_in_terminal: bool = True,
        page: Callable[[], str] = str,
        prints_tables: bool = True,
        other_forms: Mapping[str, Callable[[], str]] | None = None,
    ) -> None:
        """Write the files, whole or not at all; then print the tables, or the form for standard output.

        Args:
            write_document: writes one of the JSON documents.
            render: prints the tables.
            records: rows of the CSV file.
            draw: returns the charts of `--plot`.
            draw_in_terminal: print the charts below the tables if `--plot` names the terminal.
            page: returns the page of `report`.
            prints_tables: print the tables if no other form goes to standard output.
            other_forms: functions that return the texts of a command's own forms, by their options' names.

        Raises:
            UsageError: a file cannot be written; everything else is written and printed.
        """
        from cudamm.output import text_formats
        from cudamm.output.console import console

        plot = self._plot
        drawing = functools.cache(draw) if draw is not None else None

        def render_all(console: Console) -> None:
            render(console)
            if plot is not None and drawing is not None and draw_in_terminal:
                plot.show(console, drawing())

        forms: dict[str, Callable[[], str]] = {
            "csv": lambda: text_formats.csv_of(records),
            "markdown": lambda: text_formats.markdown(render_all),
            "svg": lambda: text_formats.svg(render_all, _command_line()),
            "page": page,
            **(other_forms or {}),
        }

        def write_text(form: str) -> None:
            self._files[form].write_text(forms[form]())

        def write_drawing() -> None:
            if plot is not None and drawing is not None:
                plot.write(drawing())

        def print_all() -> None:
            for document in self.documents:
                if document.is_standard_output:
                    write_document(document)
            for form, path in self._texts.items():
                if path == "-":
                    print_document(forms[form]())
            if prints_tables and not self._takes_standard_output:
                render_all(console())

        in_files = [document for document in self.documents if not document.is_standard_output]
        write_then_print(
            [
                *(functools.partial(write_document, document) for document in in_files),
                *(functools.partial(write_text, form) for form in self._files),
                write_drawing,
            ],
            print_all,
        )


class AllAtOnce(Output[JsonFile]):
    """The output of a command that has all its results at once."""

    def __init__(self, outputs: OutputOptions) -> None:
        """Open the files. Raises UsageError if a file cannot be written."""
        super().__init__(outputs, JsonFile)

    def present(
        self,
        render: Render,
        document: dict[str, Any],
        records: Iterable[dict[str, Any]],
        csv_rows: Iterable[dict[str, Any]] | None = None,
    ) -> None:
        """Write the files, then print the tables.

        Args:
            csv_rows: rows of the CSV file, if they differ from those of the document.

        Raises:
            UsageError: a file cannot be written.
        """
        rows = list(records)
        self.deliver(lambda file: file.write(document, rows), render, rows if csv_rows is None else csv_rows)


_FILES = ("--json", "--csv", "--markdown", "--svg", "--out", "--junit", "--feedback")


def _command_line() -> str:
    """Return the command line as it was given, without the options of output."""
    words: list[str] = []
    is_path = False
    for word in sys.argv[1:]:
        if is_path:
            is_path = False
        elif word in _FILES:
            is_path = True
        elif word not in ("-q", "--quiet", "-v", "--verbose") and word.partition("=")[0] not in _FILES:
            words.append(word)
    return shlex.join(["cudamm", *words])
