"""Where a command's results go beside the terminal: the options, and the files they name."""

from __future__ import annotations

import dataclasses
import functools
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cudamm.cli.completion_command import complete_files
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.output.output_files import OutputFile
    from cudamm.output.text_formats import Render

Command = TypeVar("Command", bound=Callable[..., Any])

_HELP = {
    "json": "Write the results there; - for standard output and no tables.",
    "csv": "The results as CSV, a row each, values named as in JSON; - likewise.",
    "markdown": "What is printed, as Markdown; - likewise.",
    "svg": "A picture of what is printed; - likewise.",
}


_SAID_HOW = ("-q", "--quiet", "-v", "--verbose")


@dataclass(frozen=True)
class Outputs:
    """The files asked for; `-` is standard output, None a form that is not wanted.

    Attributes:
        quiet: nothing on standard error but errors and warnings.
        verbose: a line there for each step.
    """

    json: str | None = None
    csv: str | None = None
    markdown: str | None = None
    svg: str | None = None
    quiet: bool = False
    verbose: bool = False

    @property
    def named(self) -> dict[str, str]:
        """Those asked for, by their options."""
        paths = {f"--{name}": getattr(self, name) for name in _HELP}
        return {option: path for option, path in paths.items() if path is not None}

    def checked(self) -> Outputs:
        """These, or UsageError where two of them are the same, or contradict each other."""
        if self.quiet and self.verbose:
            raise UsageError("--quiet and --verbose contradict each other: give one of them")
        seen: dict[str, str] = {}
        for option, path in self.named.items():
            key = path if path == "-" else os.path.realpath(path)
            if key in seen:
                what = "standard output" if path == "-" else path
                raise UsageError(f"{seen[key]} and {option} are both {what}")
            seen[key] = option
        return self


_FILE_OPTIONS = {
    name: click.option(f"--{name}", name, metavar="FILE", shell_complete=complete_files, help=text)
    for name, text in _HELP.items()
}

FORM_OPTIONS = tuple(option for name, option in _FILE_OPTIONS.items() if name != "json")
"""`--csv`, `--markdown` and `--svg`, each a decorator."""

OUTPUT_OPTIONS = (
    *_FILE_OPTIONS.values(),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks on standard error."),
    click.option("-v", "--verbose", is_flag=True, help="A line on standard error for each step."),
)
"""`--json`, `--csv`, `--markdown`, `--svg`, `--quiet` and `--verbose`, each a decorator."""


def take_outputs(given: dict[str, Any]) -> Outputs:
    """Take what those options say out of a command's arguments. Raises UsageError where two are the same."""
    return Outputs(**{field.name: given.pop(field.name) for field in dataclasses.fields(Outputs)}).checked()


def output_options(command: Command) -> Command:
    """Add `OUTPUT_OPTIONS`; the command receives them as `outputs`."""

    @functools.wraps(command)
    def collect(**given: Any) -> Any:
        return command(outputs=take_outputs(given), **given)

    wrapped: Any = collect
    for option in reversed(OUTPUT_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


class Forms:
    """The files for CSV, Markdown and SVG, opened before anything is measured."""

    def __init__(self, outputs: Outputs) -> None:
        """Raises UsageError where one cannot be written."""
        from cudamm.output.output_files import OutputFile

        self._paths = {name: path for name in ("csv", "markdown", "svg") if (path := getattr(outputs, name))}
        self.take_standard_output = "-" in self._paths.values()
        self._files: dict[str, OutputFile] = {}
        try:
            for name, path in self._paths.items():
                if path != "-":
                    self._files[name] = OutputFile(f"--{name}", path)
        except BaseException:
            self.discard()
            raise

    def write(self, render: Render, records: Iterable[Mapping[str, Any]]) -> None:
        """Write each: what `render` prints, or the records. Raises UsageError where the disk is full."""
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

    def discard(self) -> None:
        """Remove what was opened, if it was not written."""
        for file in self._files.values():
            file.discard()


class Output:
    """Tables on the terminal and the files asked for, of a command that has all its results at once."""

    def __init__(self, outputs: Outputs) -> None:
        """Raises UsageError where a file cannot be written."""
        from cudamm.output.output_files import JsonFile

        self._forms = Forms(outputs)
        try:
            self._json = JsonFile(outputs.json) if outputs.json is not None else None
        except BaseException:
            self._forms.discard()
            raise

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        self._forms.discard()
        if self._json:
            self._json.discard()

    def present(self, render: Render, document: dict[str, Any], records: Iterable[dict[str, Any]]) -> None:
        """Print tables, unless standard output is taken, and write the files.

        Raises UsageError where the disk is full.
        """
        from cudamm.output.console import console

        rows = list(records)
        if not (self._forms.take_standard_output or (self._json and self._json.is_standard_output)):
            render(console())
        if self._json:
            self._json.write(document, rows)
        self._forms.write(render, rows)


def _command_line() -> str:
    """As it was given, without where its results go."""
    words: list[str] = []
    left_out = False
    for word in sys.argv[1:]:
        if left_out:
            left_out = False
        elif word.removeprefix("--") in _HELP and word.startswith("--"):
            left_out = True
        elif word not in _SAID_HOW and not any(word.startswith(f"--{name}=") for name in _HELP):
            words.append(word)
    return shlex.join(["cudamm", *words])
