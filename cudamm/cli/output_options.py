"""Where a command's results go beside the terminal: the options, and the files they name."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloup import option, option_group

from cudamm.cli.completion_command import complete_files
from cudamm.cli.option_rules import Decorator, contradict
from cudamm.cli.shared_options import fields_of, gathered
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.output.output_files import OutputFile
    from cudamm.output.text_formats import Render


@dataclass(frozen=True)
class Outputs:
    """The files asked for; `-` is standard output, None a file that is not wanted.

    Attributes:
        resume: a file of results that the command continues.
        quiet: nothing on standard error but errors and warnings.
        verbose: a line there for each step.
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
                continue  # the run goes on in its own file
            if key in seen:
                what = "standard output" if path == "-" else path
                raise UsageError(f"{seen[key]} and {option_name} are both {what}")
            seen[key] = option_name

    @property
    def named(self) -> dict[str, str]:
        """The files asked for, by their options; the picture is not among them."""
        paths = {
            "--json": self.json, "--resume": self.resume, "--csv": self.csv, "--markdown": self.markdown,
            "--svg": self.svg,
        }  # fmt: skip
        return {name: path for name, path in paths.items() if path is not None}

    @property
    def json_path(self) -> str | None:
        """Where the JSON document goes: a run that goes on writes to its own file if no other is named."""
        return self.resume if self.json is None else self.json


def _file_option(name: str, help_text: str) -> Decorator:
    return option(f"--{name}", metavar="FILE", shell_complete=complete_files, help=help_text)


_TEXT_FILES = (
    _file_option("csv", "Write the results as CSV, a row each; - for standard output and no tables."),
    _file_option("markdown", "Write what is printed as Markdown; - likewise."),
    _file_option("svg", "Write a picture of what is printed; - likewise."),
)

PLOT = _file_option("plot", "Draw the results in a .png, .svg or .pdf file; - for the terminal.")
RESUME = _file_option("resume", "Continue the run that wrote FILE: what it holds is not measured again.")

_STREAMS: tuple[Decorator, ...] = (
    option("-q", "--quiet", is_flag=True, help="No progress and no remarks on standard error."),
    option("-v", "--verbose", is_flag=True, help="A line on standard error for each step."),
    contradict("quiet", "verbose"),
)


def output_options(*others: Decorator) -> Decorator:
    """Add the options that name files; the command receives them as `outputs`.

    Args:
        others: further options of the same group, such as `PLOT`.
    """
    json = _file_option("json", "Write the results as JSON; - for standard output and no tables.")
    return _gathered_outputs(json, *_TEXT_FILES, *others, *_STREAMS)


def text_file_options(*others: Decorator) -> Decorator:
    """Add `--csv`, `--markdown` and `--svg` alone; the command receives them as `outputs`."""
    return _gathered_outputs(*others, *_TEXT_FILES)


def _gathered_outputs(*options: Decorator) -> Decorator:
    return gathered("outputs", Outputs, fields_of(Outputs), option_group("Output", *options))


class TextFiles:
    """The CSV, Markdown and SVG files, opened before anything is measured."""

    def __init__(self, outputs: Outputs) -> None:
        """Raises UsageError if one cannot be written."""
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
        """Remove what was opened, if it was not written."""
        self._opened.close()

    def write(self, render: Render, records: Iterable[Mapping[str, Any]]) -> None:
        """Write each: what `render` prints, or the records. Raises UsageError if the disk is full."""
        from cudamm.output import text_formats

        make = {
            "csv": lambda: text_formats.csv_of(records),
            "markdown": lambda: text_formats.markdown(render),
            "svg": lambda: text_formats.svg(render, _command_line()),
        }
        for name in self._paths:
            text = make[name]()
            if name in self._files:
                self._files[name].write([text.encode()])
            else:
                sys.stdout.write(text)


class Output:
    """Tables on the terminal and the files asked for, of a command that has all its results at once."""

    def __init__(self, outputs: Outputs) -> None:
        """Raises UsageError if a file cannot be written."""
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
        """Print tables, unless standard output is taken, and write the files.

        Raises UsageError if the disk is full.
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
    """Return the command line as it was given, without where its results go and how much it prints."""
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
