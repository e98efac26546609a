"""Drawings of a warp's accesses to a matrix: lanes in the cells, time periods as exponents."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.text import Text

from cudamm.analysis.trace import WarpAccess, Watched
from cudamm.output.plots.style import PALETTE, rgb

WIDEST = 120
"""Maximum columns of a drawing."""

MOST_ROWS = 10
"""Maximum number of matrix rows in a drawing, gaps included."""

CONTEXT = 2
"""Rows and columns beyond the last one touched, and the longest gap that is drawn in full."""

EXPONENTS = "¹²³⁴⁵⁶⁷⁸⁹"
MOST_PERIODS = len(EXPONENTS)

_UNTOUCHED, _GAP = "·", "…"

_LEGEND = (
    "A cell is an element of the matrix. It shows the lanes of the warp that access the element, and the "
    "time period as an exponent and a colour. 0-15: lanes 0 to 15; 0+: lane 0 and others; ¹⁺: period 1 and "
    "later ones; ·: no access. Period p of an access is the p-th time that the warp executes it. Each access "
    "is drawn as the source has it, also if the table counts several as one that nvcc merges."
)
_CUT_SHORT = "Only the first requests of the warp are drawn; choose a smaller -n to draw all of them."
_IN_BANKS = (
    "Shared memory is drawn with one column per bank of 4 bytes; an element of 8 bytes takes two columns."
)


def render(console: Console, warps: Sequence[tuple[str, Watched]]) -> None:
    """Print a drawing and a description of each access of each warp, and a legend.

    Args:
        warps: the accesses of each warp, with a title.
    """
    width = min(console.width, WIDEST)
    for title, watched in warps:
        x, y, z = watched.block
        block = f"({x}, {y})" if z == 0 else f"({x}, {y}, {z})"
        console.print(f"[bold]{escape(title)}[/]", soft_wrap=True)
        console.print(f"warp {watched.warp} of block {block}", soft_wrap=True)
        for access in watched.accesses:
            console.print()
            console.print(escape(_heading(access)))
            console.print(drawing(access, width), soft_wrap=True)
            for line in sentences(access):
                console.print(escape(line))
        if not watched.to_the_end:
            console.print(_CUT_SHORT, style="dim")
        console.print()
    if warps:
        console.print(_LEGEND, style="dim")
    if any(access.access.space == "shared" for _, watched in warps for access in watched.accesses):
        console.print(_IN_BANKS, style="dim")


def _heading(of: WarpAccess) -> str:
    access = of.access
    size = f"{of.layout.rows} x {of.layout.columns}" if access.space == "global" else "shared memory"
    return f"{access.array} ({size}), {access.op} in line {access.line}: {' '.join(access.text.split())}"


def drawing(of: WarpAccess, width: int) -> Text:
    """Return a drawing of the touched part of the matrix, at most `width` columns wide."""
    touched: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
    for period in range(len(of.periods)):
        for cell, lanes in of.cells(period).items():
            touched.setdefault(cell, (lanes, []))[1].append(period)
    several = len(of.periods) > 1
    labels = {
        cell: _lanes(lanes) + (_exponents(periods) if several else "")
        for cell, (lanes, periods) in touched.items()
    }
    rows = _shown({row for row, _ in touched}, of.layout.rows, MOST_ROWS)
    beside = max(len(str(row)) for row in rows if row is not None)
    cell_width = max(map(len, labels.values())) + (0 if several else 1)
    columns = _shown(
        {column for _, column in touched}, of.layout.columns, max(3, (width - beside - 3) // cell_width)
    )

    text = Text(no_wrap=True)
    text.append(" " * (beside + 2) + _axis(columns, cell_width).rstrip() + "\n", style="dim")
    for row in rows:
        if row is None:
            text.append(f"{_GAP:>{beside}} │\n", style="dim")
            continue
        text.append(f"{row:>{beside}} │", style="dim")
        for column in columns:
            if column is None:
                text.append(_GAP.center(cell_width), style="dim")
            elif (row, column) in touched:
                first = touched[row, column][1][0]
                label = labels[row, column] if several else labels[row, column] + " "
                text.append(label.rjust(cell_width), style=_style(first))
            else:
                text.append(_UNTOUCHED.center(cell_width), style="dim")
        text.append("\n")
    text.right_crop(1)
    return text


def _shown(touched: set[int], extent: int, most: int) -> list[int | None]:
    """Return at most `most` rows or columns to draw, with None in place of a gap."""
    last = max(touched)
    near = set(touched) | set(range(last + 1, min(extent, last + 1 + CONTEXT)))
    found = _with_gaps(near, extent)
    if len(found) > most:
        found = _with_gaps(touched, extent)
    if len(found) > most:
        tail = min(3, most // 4)
        found = [*found[: most - tail - 1], None, *found[len(found) - tail :]]
        found = [at for i, at in enumerate(found) if at is not None or i == 0 or found[i - 1] is not None]
    return found


def _with_gaps(wanted: set[int], extent: int) -> list[int | None]:
    found: list[int | None] = []
    before = -1
    for at in sorted(wanted):
        if at - before - 1 > CONTEXT:
            found.append(None)
        else:
            found += range(before + 1, at)
        found.append(at)
        before = at
    return found if before >= extent - 1 else [*found, None]


def _axis(columns: Sequence[int | None], cell_width: int) -> str:
    """Return the line of column numbers, as many as fit; ends of a run of columns come first."""
    line = [" "] * (len(columns) * cell_width + 12)
    numbered = [(i, column) for i, column in enumerate(columns) if column is not None]
    begins = [i for i, _ in numbered if i == 0 or columns[i - 1] is None]
    fourths = [i for i, column in numbered if column % 4 == 0]
    for i in dict.fromkeys((*begins, *fourths)):
        label = str(columns[i])
        start = max(0, (i + 1) * cell_width - 1 - len(label))
        room = line[max(0, start - 1) : start + len(label) + 1]
        if all(character == " " for character in room):
            line[start : start + len(label)] = label
    return "".join(line)


def _lanes(lanes: Sequence[int]) -> str:
    """Return `7`, `0-15`, or `0+` for lane 0 and other lanes that are not consecutive."""
    first, last = lanes[0], lanes[-1]
    if len(lanes) == 1:
        return str(first)
    return f"{first}-{last}" if last - first == len(lanes) - 1 else f"{first}+"


def _exponents(periods: Sequence[int]) -> str:
    return "".join(EXPONENTS[p] for p in periods[:1]) + ("⁺" if len(periods) > 1 else "")


def _style(period: int) -> str:
    """Return a background colour of the palette, and black or white text, whichever has more contrast."""
    ground = PALETTE[period % len(PALETTE)]
    light = _luminance(ground)
    # WCAG 2.1: contrast is (L1 + 0.05) / (L2 + 0.05).
    return f"{'#000000' if (light + 0.05) ** 2 > 1.05 * 0.05 else '#ffffff'} on {ground}"


def _luminance(colour: str) -> float:
    """Return the relative luminance, as WCAG 2.1 defines it."""
    parts = [value / 255 for value in rgb(colour)]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def sentences(of: WarpAccess) -> list[str]:
    """Return a drawing's description: the layout of the lanes, its cost, and the step between periods."""
    described = [f"{_lanes_apart(of, p)}: {_cost(of, p)}" for p in range(len(of.periods))]
    if len(described) == 1:
        found = described
    elif len(set(described)) == 1:
        found = [f"in each time period {described[0]}"]
    else:
        found = [f"time period {p + 1}: {text}" for p, text in enumerate(described)]
    steps = {_step(before, after) for before, after in itertools.pairwise(of.periods)}
    step = steps.pop() if len(steps) == 1 else None
    if step is not None:
        moves = f"each lane moves by {_distance(of, step)}" if step else "no lane moves"
        found.append(f"from one period to the next {moves}")
    return found


def _step(before: dict[int, int], after: dict[int, int]) -> int | None:
    """Return the distance that all lanes move; None if they do not move together."""
    steps = {after[lane] - offset if lane in after else None for lane, offset in before.items()}
    return steps.pop() if len(steps) == 1 and before.keys() == after.keys() else None


def _lanes_apart(of: WarpAccess, period: int) -> str:
    offsets = of.periods[period]
    lanes = sorted(offsets)
    who = f"lane{'s' * (len(lanes) > 1)} {_list_of(lanes)}"
    if len(lanes) == 1:
        return who
    steps = [offsets[b] - offsets[a] for a, b in itertools.pairwise(lanes)]
    run = next((i for i, step in enumerate(steps) if step != steps[0]), len(steps)) + 1
    if run == len(lanes):
        return f"{who} {_apart(of, steps[0])}"
    between = {step for i, step in enumerate(steps) if (i + 1) % run == 0}
    within = {step for i, step in enumerate(steps) if (i + 1) % run}
    if within == {steps[0]} and len(between) == 1 and len(lanes) >= 2 * run:
        groups = offsets[lanes[run]] - offsets[lanes[0]]
        return f"{who} in groups of {run}, each {_apart(of, steps[0])}, the groups {_apart(of, groups)}"
    return f"{who} at no regular distance"


def _list_of(lanes: Sequence[int]) -> str:
    if lanes[-1] - lanes[0] == len(lanes) - 1:
        return f"{lanes[0]} to {lanes[-1]}" if len(lanes) > 1 else str(lanes[0])
    return f"({len(lanes)} of {lanes[0]} to {lanes[-1]})"


def _apart(of: WarpAccess, step: int) -> str:
    if step == 0:
        return "at the same address"
    return (
        "at consecutive addresses"
        if step == of.access.size_bytes
        else f"at a stride of {_distance(of, step)}"
    )


def _distance(of: WarpAccess, count_bytes: int) -> str:
    """Return a distance such as `4,096 bytes (1 row)` or `8 bytes (2 elements)`."""
    line = "column" if of.layout.by_column else "row"
    line_bytes = of.layout.leading * of.element_bytes
    distance = f"{count_bytes:,} byte{'s' * (abs(count_bytes) != 1)}"
    for unit, size in ((line, line_bytes), ("element", of.element_bytes)):
        if count_bytes % size == 0 and of.access.space == "global":
            count = count_bytes // size
            return f"{distance} ({count:,} {unit}{'s' * (abs(count) != 1)})"
    return distance


def _cost(of: WarpAccess, period: int) -> str:
    if of.access.space == "shared":
        count = of.words_of_a_bank(period)
        return f"{count} different word{'s' * (count != 1)} in the busiest bank"
    count = of.sectors(period)
    return f"{count} sector{'s' * (count != 1)}"
