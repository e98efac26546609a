"""The look of series, distinguishable without colours too.

The palette is that of M. Okabe and K. Ito, *Color Universal Design* (2008), which people with any common
kind of colour blindness can tell apart; without its yellow, which nobody sees on white.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY_BLUE, BLACK = "#E69F00", "#56B4E9", "#000000"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY_BLUE, BLACK)
GREY = "#6E6E6E"
"""Colour of series that are not measured here: published curves, ceilings."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
_DASHES: tuple[Literal["-", "-."] | tuple[float, tuple[float, ...]], ...] = (
    "-",
    "-.",
    (0, (1, 1.5)),
    (0, (7, 2, 1, 2, 1, 2)),
)
"""Line styles in pictures. Plain dashes are reserved for published figures."""

TERMINAL_COLOURS = (BLUE, VERMILLION, GREEN, PURPLE, None)
"""Colours of the palette with a contrast of at least 3 on black and on white, by WCAG 2.1 (1.4.11).
None is the terminal's own colour."""
_FILLED, _HOLLOW = "●■▲◆▼", "○□△◇▽"
_FILLED_LETTERS, _HOLLOW_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
BEST = "★"


class Look(NamedTuple):
    """A series' look in a picture: matplotlib's colour, marker and line style."""

    colour: str
    marker: str
    line: Literal["-", "-."] | tuple[float, tuple[float, ...]]


class Characters(NamedTuple):
    """A series' look in the terminal: its colour (None for the terminal's own) and its point characters."""

    colour: str | None
    filled: str
    hollow: str


def look(style: int) -> Look:
    """Return the look of a series by its number; the first 252 looks all differ."""
    return Look(PALETTE[style % len(PALETTE)], _MARKERS[style % len(_MARKERS)], _DASHES[style % len(_DASHES)])


def characters(style: int) -> Characters:
    """Return a series' look in the terminal by its number; the first 31 differ by their points alone."""
    colour = TERMINAL_COLOURS[style % len(TERMINAL_COLOURS)]
    if style < len(_FILLED):
        return Characters(colour, _FILLED[style], _HOLLOW[style])
    letter = (style - len(_FILLED)) % len(_FILLED_LETTERS)
    return Characters(colour, _FILLED_LETTERS[letter], _HOLLOW_LETTERS[letter])


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue, 0 to 255, of #RRGGBB."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
