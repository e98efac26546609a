"""`--save-launch`: keep how a user's kernels are launched in a file beside each kernel's file."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudamm.cli.option_rules import Command
from cudamm.errors import MissingLaunchError, UsageError

if TYPE_CHECKING:
    from cudamm.kernels.selection import Selection


def saving_launches(command: Command) -> Command:
    """Return a command that saves the launches of its selection on request, when it has run.

    If a launch is not known, the one that its error suggests is tried first.
    """

    @functools.wraps(command)
    def run(*, selection: Selection, saves_launch: bool = False, **given: Any) -> Any:
        try:
            files = _files_to_save(selection) if saves_launch else {}
            status = command(selection=selection, **given)
        except MissingLaunchError as error:
            from cudamm.benchmark.tried_launch import tried

            raise tried(error, selection) from None
        for path, text in files.items():
            _save(path, text)
        return status

    decorated: Command = run
    return decorated


def _files_to_save(selection: Selection) -> dict[Path, str]:
    """Return the files that keep the launches of the user's kernels, and their texts.

    Launches of other kernels that a file keeps stay.

    Raises:
        UsageError: a kernel is not in a file, or its header already says all of its launch.
    """
    from cudamm.kernels.saved_launch import as_toml, saved_launches, saved_path
    from cudamm.source.c_text import function_of

    methods = dict.fromkeys(v.method for v in selection.variants() if not v.method.builtin)
    if not methods or not all(method.path.is_file() for method in methods):
        raise UsageError("--save-launch needs a kernel in a file")
    launches: dict[Path, dict[str, dict[str, str]]] = {}
    for method in methods:
        fields = selection.kernel_fields | dict(method.found_fields)
        if not fields:
            raise UsageError(f"--save-launch: the header of {method.path} already says how it is launched")
        of_file = launches.setdefault(method.path, saved_launches(method.path))
        kernel = function_of(method.entry)
        of_file[kernel] = fields if method.entry == kernel else fields | {"entry": method.entry}
    return {saved_path(file): as_toml(file, kernels) for file, kernels in launches.items()}


def _save(path: Path, text: str) -> None:
    """Write a file as a whole or not at all, and say so. Raises UsageError if it cannot be written."""
    from cudamm.benchmark.unnamed_file import UnnamedFile
    from cudamm.output.console import messages

    try:
        with contextlib.closing(UnnamedFile(path)) as file:
            file.write([text.encode()])
            file.place()
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    messages().print(f"cudamm: the launch is saved in {path}", soft_wrap=True, markup=False)
