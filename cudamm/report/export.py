"""Results as JSON, in a file that is whole or is not there."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, TextIO

from cudamm.errors import UsageError


class JsonFile:
    """A JSON file to be written once, at the end.

    It is opened at the start, so that a path that cannot be written is known before anything is
    measured, and beside its final name, so that an older file there is kept until this one is whole.
    """

    def __init__(self, path: str) -> None:
        """Raises UsageError where `path` cannot be written; `-` is standard output."""
        self.is_standard_output = path == "-"
        self._partial: Path | None = None
        self._stream: TextIO | None = None
        if self.is_standard_output:
            return
        if not path:
            raise UsageError("--json needs the name of a file, or - for standard output")
        self._target = Path(path)
        if self._target.is_dir():
            raise UsageError(f"--json {path}: that is a folder; name a file in it")
        try:
            if self._target.exists() and not self._target.is_file():
                # A pipe, a terminal, /dev/null: never replaced, and a pipe's reader leaves when it is closed.
                self._stream = self._target.open("a", encoding="utf-8")
                return
            self._target = self._target.resolve()
            if self._target.exists() and not os.access(self._target, os.W_OK):
                raise PermissionError(13, "Permission denied")
            handle, partial = tempfile.mkstemp(dir=self._target.parent, prefix=".cudamm-", suffix=".json")
        except OSError as error:
            raise UsageError(f"--json {path}: it cannot be written ({error.strerror})") from None
        os.close(handle)
        self._partial = Path(partial)

    def write(self, document: dict[str, Any]) -> None:
        """Write the document. Raises UsageError where the disk will not take it."""
        text = json.dumps(document, indent=2, allow_nan=False) + "\n"
        if self.is_standard_output:
            sys.stdout.write(text)
            return
        try:
            if self._stream is not None:
                with self._stream as stream:
                    stream.write(text)
            elif self._partial is not None:
                self._partial.write_text(text, encoding="utf-8")
                self._partial.chmod(_usual_mode(self._target))
                self._partial.replace(self._target)
        except OSError as error:
            raise UsageError(f"--json {self._target}: it cannot be written ({error.strerror})") from None

    def discard(self) -> None:
        """Remove what was opened, if it was not written."""
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)
        if self._stream is not None:
            self._stream.close()


def _usual_mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those that any new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
