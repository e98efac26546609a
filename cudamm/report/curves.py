"""The curves of `occupancy`: in the terminal, and as a picture."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cudamm.errors import NoDeviceError, UsageError
from cudamm.occupancy.curves import Curve
from cudamm.report.export import OutputFile
from cudamm.report.occupancy.names import configuration
from cudamm.results import OccupancyResult

Drawn = Sequence[tuple[OccupancyResult, tuple[Curve, ...]]]

KINDS = (".png", ".svg", ".pdf")
WIDTH, HEIGHT = 100, 14
"""Of a plot in the terminal, in characters; narrower where the terminal is."""
TICKS = 9


def render(console: Console, drawn: Drawn) -> None:
    """Draw the curves with characters. Raises NoDeviceError without plotext."""
    for result, curves in drawn:
        for curve in curves:
            value, warps = curve.present
            title = (
                f"{configuration(result)}: active warps an SM against {curve.quantity}; ● {value:,}: {warps}"
            )
            console.print(Text(f"\n{title}", style="bold"))
            console.print(Text.from_ansi(_characters(curve, min(WIDTH, console.width))), soft_wrap=True)


def check_terminal() -> None:
    """Raise NoDeviceError where plotext is not installed."""
    try:
        import plotext  # noqa: F401
    except ImportError:
        raise NoDeviceError("curves in the terminal need plotext: pip install 'cudamm[plot]'") from None


def _characters(curve: Curve, width: int) -> str:
    import plotext

    plot = plotext.figure
    plot.clear()
    plot.theme("colorless")
    plot.plot_size(width, HEIGHT)
    values, warps = _steps(curve)
    plot.draw(plot.signal(values, warps, marker="hd").lines())
    plot.draw(plot.signal([curve.present[0]], [curve.present[1]], marker="●"))
    ticks = _ticks(curve)
    plot.ruler("x").lim(0, curve.values[-1])
    plot.ruler("x").ticks(ticks, [str(tick) for tick in ticks])
    plot.ruler("y").lim(0, curve.warps)
    heights = [curve.warps * quarter // 4 for quarter in range(5)]
    plot.ruler("y").ticks(heights, [str(height) for height in heights])
    return str(plotext.uncolorize(plot.build().string()))


class Figure:
    """A picture of the curves, a row of three a configuration."""

    def __init__(self, path: str) -> None:
        """Raises UsageError where `path` cannot be written or names no picture, NoDeviceError without
        matplotlib."""
        self._kind = Path(path).suffix.lower()
        if self._kind not in KINDS:
            raise UsageError(f"--plot {path}: the name has to end in {', '.join(KINDS)}")
        try:
            import matplotlib.figure  # noqa: F401
        except ImportError:
            raise NoDeviceError("--plot needs matplotlib: pip install 'cudamm[plot]'") from None
        self._file = OutputFile("--plot", path)

    def __enter__(self) -> Figure:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.discard()

    def draw(self, drawn: Drawn) -> None:
        """Draw and write. Raises UsageError where the disk will not take it."""
        from matplotlib.figure import Figure as Picture

        if not drawn:
            return
        picture = Picture(figsize=(15, 3.8 * len(drawn)), layout="constrained")
        rows = picture.subplots(len(drawn), 3, squeeze=False, sharey="row")
        for axes, (result, curves) in zip(rows, drawn, strict=True):
            for plot, curve in zip(axes, curves, strict=True):
                plot.plot(*_steps(curve), linewidth=1.5)
                plot.plot(*curve.present, "o", color="tab:red", label="{:,}: {}".format(*curve.present))
                plot.set_xlabel(curve.quantity)
                plot.set_xlim(0, curve.values[-1])
                plot.set_ylim(0, curve.warps * 1.05)
                plot.set_yticks([curve.warps * quarter // 4 for quarter in range(5)])
                plot.grid(alpha=0.3)
                plot.legend(loc="best")
            axes[0].set_ylabel(f"active warps an SM (of {curves[0].warps})")
            axes[1].set_title(configuration(result), parse_math=False)
        contents = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that the font does not have
            picture.savefig(contents, format=self._kind[1:])
        self._file.write([contents.getvalue()])


def _steps(curve: Curve) -> tuple[list[int], list[int]]:
    """The points of a curve that changes in steps, not along slopes: both ends of each level part.

    The numbers in between are no configurations, or take what the next value takes.
    """
    values: list[int] = []
    warps: list[int] = []
    for before, value, height in zip(
        [curve.values[0], *curve.values], curve.values, curve.active_warps, strict=False
    ):
        if warps and warps[-1] != height:
            values.append(before)
            warps.append(height)
        values.append(value)
        warps.append(height)
    return values, warps


def _ticks(curve: Curve) -> list[int]:
    """Round values along the axis."""
    end = curve.values[-1]
    spacing = 1
    while end / spacing > TICKS:
        spacing *= 2
    return list(range(0, end + 1, spacing))
