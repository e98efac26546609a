"""The target of `--plot`: a picture file, or the terminal."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cudamm.errors import NoDeviceError, UsageError
from cudamm.output.console import messages
from cudamm.output.output_files import OutputFile
from cudamm.output.plots.chart import Drawing, readable_drawing

KINDS = (".png", ".svg", ".pdf")
TERMINAL = "-"


def check_plot(path: str) -> None:
    """Check what `--plot` names, and that the library that draws it is installed.

    Raises:
        UsageError: `path` names no picture.
        NoDeviceError: the library is not installed, or does not start.
    """
    if path == TERMINAL:
        check_terminal()
    elif Path(path).suffix.lower() in KINDS:
        _import_matplotlib()
    else:
        raise UsageError(f"--plot {path}: the name must end in {', '.join(KINDS)}, or be - for the terminal")


class Plot:
    """A picture file to be written once, at the end, or the terminal.

    It is opened at the start, so that errors are known before anything is measured. The file is complete or
    absent; an older file is kept until the new one is complete.

    Attributes:
        is_terminal: whether it is drawn with characters, on standard output.
    """

    def __init__(self, path: str) -> None:
        """Open what `--plot` names.

        Args:
            path: a name that ends in .png, .svg or .pdf, or `-` for the terminal.

        Raises:
            UsageError: `path` cannot be written, or names no picture.
            NoDeviceError: the library that draws it is not installed.
        """
        check_plot(path)
        self.is_terminal = path == TERMINAL
        self._path = path
        self._kind = Path(path).suffix.lower()
        self._file = None if self.is_terminal else OutputFile("--plot", path)
        self._has_reported = False

    def __enter__(self) -> Plot:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def discard(self) -> None:
        """Remove the file if it was not written."""
        if self._file is not None:
            self._file.discard()

    def show(self, console: Console, drawing: Drawing) -> None:
        """Draw with characters if the target is the terminal; do nothing for a file."""
        from cudamm.output.plots import terminal_charts

        if self.is_terminal and self._has_charts(drawing):
            terminal_charts.render(console, readable_drawing(drawing))

    def write(self, drawing: Drawing) -> None:
        """Write the file; do nothing for the terminal, or if the drawing has no charts.

        Raises UsageError if the disk does not accept the file.
        """
        if self._file is None or not self._has_charts(drawing):
            return
        from cudamm.output.plots import matplotlib_picture

        self._file.write([matplotlib_picture.contents(readable_drawing(drawing), self._kind[1:])])

    def _has_charts(self, drawing: Drawing) -> bool:
        """Return whether there is anything to draw; if not, report it on standard error."""
        if not drawing.charts and not self._has_reported:
            self._has_reported = True
            messages().print(
                Text(f"cudamm: --plot {self._path}: there is nothing to draw, because no rate was measured"),
                soft_wrap=True,
            )
        return bool(drawing.charts)


def _import_matplotlib() -> None:
    """Import matplotlib for a picture file. Raise NoDeviceError if it is not installed or does not start.

    MPLBACKEND chooses how windows are shown, and may name a module that this Python lacks, such as Jupyter's.
    Picture files need no window.
    """
    named = os.environ.pop("MPLBACKEND", None)
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # its settings and its cache are not the user's
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise NoDeviceError("--plot needs matplotlib: pip install 'cudamm[plot]'") from None
    except (OSError, ValueError) as error:  # such as a file matplotlibrc that is not text
        raise NoDeviceError(f"--plot needs matplotlib, which does not start: {error}") from None
    finally:
        if named is not None:
            os.environ["MPLBACKEND"] = named


def check_terminal() -> None:
    """Raise NoDeviceError if plotext is not installed."""
    try:
        import plotext  # noqa: F401
    except ImportError:
        raise NoDeviceError("curves in the terminal need plotext: pip install 'cudamm[plot]'") from None
