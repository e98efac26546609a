"""A small SVG writer: a white page with panels, each of which has its own coordinates.

Text is drawn in the reader's sans-serif font, so panels leave room for DejaVu Sans, the widest usual font.
Page coordinates are pixels, rounded to a hundredth: the same calls write the same bytes on every machine.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

WIDTH = 864  # pixels of every page
INK, GRID = "#222222", "#C8C8C8"

Place = tuple[int, int]  # row, column


@dataclass
class Page:
    """A white page; its height follows from the elements drawn on it."""

    elements: list[str] = field(default_factory=list)
    bottom: float = 0.0  # the lowest pixel in use

    def add(self, name: str, content: str = "", **attributes: str | float | None) -> None:
        """Append an SVG element; attributes that are None are left out."""
        attribute_text = "".join(
            f' {key.replace("_", "-")}="{value if isinstance(value, str) else rounded(value)}"'
            for key, value in attributes.items()
            if value is not None
        )
        opening = f"<{name}{attribute_text}"
        self.elements.append(f"{opening}>{content}</{name}>" if content else f"{opening}/>")

    def panel(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        x: tuple[float, float],
        y: tuple[float, float],
    ) -> Panel:
        """Return a new panel; its place and size are in pixels, `x` and `y` are the coordinates of its edges.

        y goes from the panel's top edge to its bottom edge, so (0, 8) counts downwards and (8, 0) upwards.
        """
        self.bottom = max(self.bottom, top + height)
        return Panel(self, left, top, width, height, x, y)

    def legend(self, *entries: tuple[str, str]) -> None:
        """Write a line below everything drawn so far: for each (words, colour) a square and the words."""
        self.bottom += 30
        line = "\u2003 ".join(
            f'<tspan fill="{colour}" font-size="16">■</tspan> {escape(words)}' for words, colour in entries
        )
        self.add("text", line, x=WIDTH / 2, y=self.bottom)

    def svg(self) -> str:
        """Return the page as the text of an SVG file."""
        size = f'width="{WIDTH}" height="{rounded(self.bottom + 10)}"'
        style = f'font-family="Helvetica,Arial,sans-serif" font-size="12" text-anchor="middle" fill="{INK}"'
        page = f'<rect {size} fill="#ffffff"/>'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>'
        return "\n".join([head, page, *self.elements, "</svg>", ""])


@dataclass(frozen=True)
class Panel:
    """A rectangle of a page with coordinates of its own; the methods draw in these coordinates."""

    page: Page
    left: float
    top: float
    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel of a point of the panel."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        down = (y - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + across * self.width, self.top + down * self.height

    def rectangle(self, x: float, y: float, width: float, height: float) -> str:
        """Return the SVG path of a rectangle."""
        (x0, y0), (x1, y1) = self.pixel(x, y), self.pixel(x + width, y + height)
        return f"M{rounded(x0)} {rounded(y0)}H{rounded(x1)}V{rounded(y1)}H{rounded(x0)}z"

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        colour: str = "none",
        edge: str | None = None,
        line: float | None = None,
    ) -> None:
        """Fill a rectangle; `line` is the width of its edge in pixels, None for 1."""
        self.page.add(
            "path", d=self.rectangle(x, y, width, height), fill=colour, stroke=edge, stroke_width=line
        )

    def cells(self, places: Iterable[Place], colour: str) -> None:
        """Fill cells of 1 x 1, given as (row, column); neighbours become one rectangle."""
        path = "".join(self.rectangle(col, row, cols, rows) for row, col, rows, cols in joined(places))
        if path:
            self.page.add("path", d=path, fill=colour)

    def grid(
        self,
        rows: int,
        cols: int,
        step: int = 1,
        x: float = 0,
        y: float = 0,
        colour: str = GRID,
        line: float = 0.5,
        edge: str = INK,
    ) -> None:
        """Draw lines over `rows` x `cols` cells, `step` cells apart, and a frame around them."""
        path = ""
        for row in range(step, rows, step):
            (x0, y0), (x1, _) = self.pixel(x, y + row), self.pixel(x + cols, y + row)
            path += f"M{rounded(x0)} {rounded(y0)}H{rounded(x1)}"
        for col in range(step, cols, step):
            (x0, y0), (_, y1) = self.pixel(x + col, y), self.pixel(x + col, y + rows)
            path += f"M{rounded(x0)} {rounded(y0)}V{rounded(y1)}"
        if path:
            self.page.add("path", d=path, stroke=colour, stroke_width=line)
        self.box(x, y, cols, rows, edge=edge)

    def line(
        self,
        points: Iterable[tuple[float, float]],
        colour: str = INK,
        line: float = 1,
        dashes: str | None = None,
    ) -> None:
        """Draw straight lines from point to point."""
        path = "L".join(f"{rounded(x)} {rounded(y)}" for x, y in itertools.starmap(self.pixel, points))
        self.page.add(
            "path", d=f"M{path}", fill="none", stroke=colour, stroke_width=line, stroke_dasharray=dashes
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        size: float = 12,
        align: str = "middle",
        colour: str = INK,
        weight: str | None = None,
        dx: float = 0,
        dy: float = 0,
        upwards: bool = False,
    ) -> None:
        """Write lines of text, vertically centred at a point; `dx` and `dy` move them by pixels.

        `align` is "start", "middle" or "end"; `upwards` turns the text by 90 degrees.
        """
        lines = words.split("\n")
        left, middle = self.pixel(x, y)
        for i, line in enumerate(lines):
            line_x, line_y = left + dx, middle + dy + size * (0.36 + 1.25 * (i - (len(lines) - 1) / 2))
            self.page.add(
                "text",
                escape(line),
                x=line_x,
                y=line_y,
                fill=None if colour == INK else colour,
                font_size=None if size == 12 else size,
                font_weight=weight,
                text_anchor=None if align == "middle" else align,
                transform=f"rotate(-90 {rounded(left + dx)} {rounded(middle + dy)})" if upwards else None,
            )
            if not upwards:
                self.page.bottom = max(self.page.bottom, line_y + 4)

    def title(self, words: str) -> None:
        """Write one or two lines above the panel."""
        lines = words.count("\n") + 1
        self.text(sum(self.x) / 2, self.y[0], words, size=13, dy=-6 - 8 * lines)

    def below(
        self, words: str = "", ticks: dict[float, str] | None = None, line: bool = False, size: float = 12
    ) -> None:
        """Write below the panel: a text at each x of `ticks`, then `words`; `line` draws an axis."""
        ticks = ticks or {}
        if line:
            bottom = rounded(self.top + self.height)
            marks = "".join(f"M{rounded(self.pixel(x, 0)[0])} {bottom}v4" for x in ticks)
            path = f"M{rounded(self.left)} {bottom}H{rounded(self.left + self.width)}{marks}"
            self.page.add("path", d=path, stroke=INK)
        lines = max((text.count("\n") + 1 for text in ticks.values()), default=0)
        for x, text in ticks.items():
            self.text(x, self.y[1], text, size=size, dy=6 + 7.5 * (text.count("\n") + 1))
        if words:
            dy = 8 + 15 * lines + 7.5 * (words.count("\n") + 1)
            self.text(sum(self.x) / 2, self.y[1], words, size=size, dy=dy)

    def beside(self, words: str = "", names: dict[float, str] | None = None) -> None:
        """Write to the left of the panel: a name at each y of `names`, and `words` upwards along the edge."""
        for y, name in (names or {}).items():
            self.text(self.x[0], y, name, align="end", dx=-8)
        if words:
            self.text(self.x[0], sum(self.y) / 2, words, size=11, dx=-12, upwards=True)


def rounded(value: float) -> str:
    """Return a number as text, rounded to a hundredth, in as few characters as possible."""
    return f"{round(value, 2) + 0.0:g}"


def pale(colour: str, share: float = 0.3) -> str:
    """Return a colour, "#RRGGBB", mixed with white; `share` is the colour's share."""
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02X}" for part in parts)


def joined(places: Iterable[Place]) -> Iterator[tuple[int, int, int, int]]:
    """Yield rectangles that cover exactly the places: (row, column, number of rows, number of columns)."""
    remaining = set(places)
    while remaining:
        row, col = min(remaining)
        cols = next(n for n in itertools.count(1) if (row, col + n) not in remaining)
        rows = next(
            n for n in itertools.count(1) if any((row + n, col + i) not in remaining for i in range(cols))
        )
        remaining -= {(row + i, col + j) for i in range(rows) for j in range(cols)}
        yield row, col, rows, cols
