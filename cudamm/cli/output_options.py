"""Options that name files for results, and the writing of these files."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloup import option_group

from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import Decorator, contradict
from cudamm.cli.shared_options import fields_of, gathered
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.output.output_files import OutputFile
    from cudamm.output.text_formats import Render


@dataclass(frozen=True)
class Outputs:
    """Files to write; `-` is standard output, and None means that no such file is written.

    Attributes:
        resume: a file of results, whose run the command continues.
        quiet: print nothing on standard error but errors and warnings.
        verbose: print a line on standard error for each step.
    """

    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    svg: str | None = None
    resume: str | None = None
    plot: str | None = None
    quiet: bool = False
    verbose: bool = False

    def __post_init__(self) -> None:
        """Raise UsageError if two of the files are the same."""
        seen: dict[str, str] = {}
        for option_name, path in self.named.items():
            key = path if path == "-" else os.path.realpath(path)
            if seen.get(key) == "--json" and option_name == "--resume":
                continue  # the run continues in its own file
            if key in seen:
                name = "standard output" if path == "-" else path
                raise UsageError(f"{seen[key]} and {option_name} are both {name}: choose two files")
            seen[key] = option_name

    @property
    def named(self) -> dict[str, str]:
        """Return the named files by their options, without that of `--plot`."""
        paths = {
            "--json": self.json, "--resume": self.resume, "--csv": self.csv, "--markdown": self.markdown,
            "--svg": self.svg,
        }  # fmt: skip
        return {name: path for name, path in paths.items() if path is not None}

    @property
    def json_path(self) -> str | None:
        """Return the path of the JSON document: a continued run writes to its own file, if none is named."""
        return self.resume if self.json is None else self.json


def _file_option(name: str, help_text: str) -> Decorator:
    return option(f"--{name}", metavar="FILE", shell_complete=complete_files, help=help_text)


_TEXT_FILES = (
    _file_option("csv", "Write the results as CSV; - for standard output, without tables."),
    _file_option("markdown", "Write what is printed as Markdown; - as for --csv."),
    _file_option("svg", "Write what is printed as an SVG picture; - as for --csv."),
)

PLOT = _file_option("plot", "Draw charts in a .png, .svg or .pdf file; - for the terminal.")
RESUME = _file_option("resume", "Continue the run that wrote FILE, without measuring its results again.")

_STREAMS: tuple[Decorator, ...] = (
    option("-q", "--quiet", is_flag=True, help="Print no progress and no remarks on standard error."),
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


def text_file_options(*others: Decorator) -> Decorator:
    """Add `others`, `--csv`, `--markdown` and `--svg`; the command receives them as `outputs`."""
    return _gathered_outputs(*others, *_TEXT_FILES)


def _gathered_outputs(*options: Decorator) -> Decorator:
    return gathered("outputs", Outputs, fields_of(Outputs), option_group("Output", *options))


class TextFiles:
    """CSV, Markdown and SVG files that are opened before the measuring."""

    def __init__(self, outputs: Outputs) -> None:
        """Open the files. Raise UsageError if one cannot be written."""
        from cudamm.output.output_files import OutputFile

        self._paths = {name: path for name in ("csv", "markdown", "svg") if (path := getattr(outputs, name))}
        self.take_standard_output = "-" in self._paths.values()
        self._files: dict[str, OutputFile] = {}
        with contextlib.ExitStack() as opened:
            for name, path in self._paths.items():
                if path != "-":
                    self._files[name] = OutputFile(f"--{name}", path)
                    opened.callback(self._files[name].discard)
            self._opened = opened.pop_all()

    def __enter__(self) -> TextFiles:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the files that were opened but not written."""
        self._opened.close()

    def write(self, render: Render, records: Iterable[Mapping[str, Any]]) -> None:
        """Write the records as CSV, and what `render` prints in the other formats.

        Raises:
            UsageError: the disk is full.
        """
        from cudamm.output import text_formats

        formats = {
            "csv": lambda: text_formats.csv_of(records),
            "markdown": lambda: text_formats.markdown(render),
            "svg": lambda: text_formats.svg(render, _command_line()),
        }
        for name in self._paths:
            text = formats[name]()
            if name in self._files:
                self._files[name].write([text.encode()])
            else:
                sys.stdout.write(text)


class Output:
    """Output of a command that has all its results at once: tables on the terminal, and files."""

    def __init__(self, outputs: Outputs) -> None:
        """Open the files. Raise UsageError if one cannot be written."""
        from cudamm.output.output_files import JsonFile

        with contextlib.ExitStack() as opened:
            self._text_files = opened.enter_context(TextFiles(outputs))
            self._json = JsonFile(outputs.json) if outputs.json is not None else None
            if self._json is not None:
                opened.callback(self._json.discard)
            self._opened = opened.pop_all()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def present(self, render: Render, document: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
        """Print the tables, unless a file goes to standard output, and write the files.

        Raises:
            UsageError: the disk is full.
        """
        from cudamm.output.console import console

        rows = list(records)
        if not (self._text_files.take_standard_output or (self._json and self._json.is_standard_output)):
            render(console())
        if self._json:
            self._json.write(document, rows)
        self._text_files.write(render, rows)


_FILES = ("--json", "--csv", "--markdown", "--svg")


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
