"""Draw the figures of docs/ladder.md, one a method: `python docs/figures/draw.py`.

What a figure shows is computed: addresses from the kernel's own index arithmetic, measured times from the
tables in docs/measured.md. The same bytes come out each time with one version of matplotlib, which the files
name.

Matrices are row-major, as in the kernels: element [row][col] of a matrix with `width` columns lies at
row * width + col. Elements are float32, 4 bytes.
"""

from __future__ import annotations

import argparse
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

HERE = Path(__file__).resolve().parent
MEASURED = HERE.parent / "measured.md"

# Okabe and Ito's colours, which most colour-blind readers can tell apart. One meaning each, in all figures.
A_COLOUR, B_COLOUR, C_COLOUR = "#0072B2", "#E69F00", "#009E73"
TROUBLE = "#D55E00"
INK, GRID, IDLE = "#222222", "#C8C8C8", "#DDDDDD"

ELEMENT_BYTES = 4
WARP = 32
SECTOR = 32 // ELEMENT_BYTES  # elements in a sector, the unit in which a GPU fetches memory
CACHE_LINE = 64 // ELEMENT_BYTES  # elements in a cache line of a usual processor
BANKS = 32  # of shared memory, one element wide each
MULTIPROCESSORS = 132  # of an H200
REGISTER_BYTES = 255 * 4  # the most that one thread can have

Place = tuple[int, int]  # row, column


def warp_0(block_edge: int) -> list[tuple[int, int]]:
    """(threadIdx.x, threadIdx.y) of the 32 threads of a block's first warp: x counts first."""
    return [(lane % block_edge, lane // block_edge) for lane in range(WARP)]


def units(addresses: Iterable[int], size: int) -> set[int]:
    """The sectors, or cache lines, of `size` elements in which the addresses lie."""
    return {address // size for address in addresses}


def turns(words: Iterable[int]) -> int:
    """How often shared memory must be read for one warp: a bank gives one of its words at a time."""
    return max(Counter(word % BANKS for word in set(words)).values())


def several(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


# --- drawing


def new_figure(height: float, widths: list[float]) -> tuple[Figure, list[Axes]]:
    """A white figure, `height` inches tall, with panels side by side in the given proportions."""
    figure = Figure(figsize=(9, height), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(1, len(widths), width_ratios=widths)
    return figure, [figure.add_subplot(grid[0, i]) for i in range(len(widths))]


def bare(axes: Axes, left: float, right: float, top: float, bottom: float) -> None:
    """Rows count downwards, a cell is square, and there are no ticks."""
    axes.set(xlim=(left, right), ylim=(bottom, top), xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(False)


def box(
    axes: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    colour: str,
    alpha: float = 1.0,
    edge: str = "none",
    line: float = 0.8,
    hatch: str = "",
) -> None:
    axes.add_patch(
        Rectangle((x, y), width, height, facecolor=colour, alpha=alpha, linewidth=0, edgecolor="none")
    )
    if edge != "none" or hatch:
        axes.add_patch(
            Rectangle((x, y), width, height, fill=False, edgecolor=edge, linewidth=line, hatch=hatch)
        )


def cells(axes: Axes, places: Iterable[Place], colour: str, alpha: float = 1.0) -> None:
    """Fill single elements, given as (row, column)."""
    squares = [Rectangle((col, row), 1, 1) for row, col in sorted(places)]
    axes.add_collection(PatchCollection(squares, facecolor=colour, edgecolor="none", alpha=alpha))


def lines(
    axes: Axes, rows: int, cols: int, step: int = 1, x: float = 0, y: float = 0, width: float = 0.4
) -> None:
    """A grid over `rows` x `cols` elements, with its frame; step: elements between two lines."""
    across = [((x, y + i), (x + cols, y + i)) for i in range(0, rows + 1, step)]
    down = [((x + i, y), (x + i, y + rows)) for i in range(0, cols + 1, step)]
    axes.add_collection(LineCollection(across + down, colors=GRID, linewidths=width))
    axes.add_patch(Rectangle((x, y), cols, rows, fill=False, edgecolor=INK, linewidth=0.9))


def corner(
    axes: Axes, addresses: list[int], width: int, unit: int, shown: int, colour: str, title: str
) -> None:
    """The first `shown` rows and columns of a matrix of `width` columns: what is read, and what comes along.

    Elements at `addresses` are dark; the rest of each fetched sector or cache line (`unit` elements) is pale.
    """
    fetched = {
        divmod(first * unit + i, width) for first in units(addresses, unit) for i in range(min(unit, width))
    }
    used = {divmod(address, width) for address in addresses}
    visible = {(row, col) for row, col in fetched if row < shown and col < shown}
    cells(axes, visible - used, colour, 0.3)
    cells(axes, {(row, col) for row, col in used if row < shown and col < shown}, colour)
    lines(axes, shown, shown)
    bare(axes, -0.3, shown + 0.3, -0.3, shown + 0.3)
    axes.set_title(title, fontsize=10)


def product(axes: Axes, m: int, n: int, k: int, gap: int = 3, step: int = 0) -> tuple[Place, Place]:
    """The frames of A, B and C = A B, A left of C and B above it. Returns where A and B start, as (x, y)."""
    a_at, b_at = (-k - gap, 0), (0, -k - gap)
    for name, (x, y), rows, cols in (("A", a_at, m, k), ("B", b_at, k, n), ("C", (0, 0), m, n)):
        lines(axes, rows, cols, step or max(rows, cols), x, y)
        axes.text(x - 0.6, y - 0.5, name, fontsize=12, ha="right", va="bottom", weight="bold", color=INK)
    bare(axes, -k - gap - 3, n + 0.5, -1.17 * k - gap, m + 0.5)
    return a_at, b_at


def label(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    defaults: dict[str, Any] = {"fontsize": 9, "ha": "center", "va": "center", "color": INK}
    axes.text(x, y, text, **(defaults | style))


def legend(figure: Figure, entries: list[tuple[str, str, float]]) -> None:
    """One line below the panels: (words, colour, opacity)."""
    handles = [Rectangle((0, 0), 1, 1, facecolor=colour, alpha=alpha) for _, colour, alpha in entries]
    words = [text for text, _, _ in entries]
    figure.legend(handles, words, loc="outside lower center", ncols=len(words), frameon=False, fontsize=9)


# --- what was measured


def measured_rates(n: int = 1024) -> dict[str, float]:
    """GFLOP/s of each method, from the first table of docs/measured.md for that size."""
    text = MEASURED.read_text(encoding="utf-8")
    table = text[text.index(f"{n} x {n} x {n} (M x N x K)") :].split("└")[0]
    rows = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table.splitlines()]
    rows = [row for row in rows if row]
    column = rows[0].index("GFLOP/s")
    return {row[0].removesuffix(" ‡"): float(row[column]) for row in rows[1:]}


def measured_sweep(parameter: str) -> dict[int, float]:
    """Milliseconds, the mean of five runs, at each value of the parameter: a course report's lines."""
    text = MEASURED.read_text(encoding="utf-8")
    section = text[text.index(f"the sweep over {parameter}\n") :].split("\n## ")[0]
    found = re.findall(rf" {parameter} = (\d+).*\n\(ms\) .* = ([\d.]+)\n", section)
    return {int(value): float(mean) for value, mean in found}


# --- one figure a method


def cpu_simple() -> Figure:
    n, i, j = 16, 5, 9
    figure, panels = new_figure(3.3, [1, 1, 1])
    read_a = [i * n + k for k in range(n)]
    read_b = [k * n + j for k in range(n)]
    for axes, addresses, colour, what in (
        (panels[0], read_a, A_COLOUR, "row i of A"),
        (panels[1], read_b, B_COLOUR, "column j of B"),
        (panels[2], [i * n + j], C_COLOUR, "C[i][j]"),
    ):
        count = several(len(units(addresses, CACHE_LINE)), "cache line")
        corner(axes, addresses, n, CACHE_LINE, n, colour, f"{what}: {count}")
    legend(
        figure,
        [
            ("used for C[i][j] (dark)", INK, 0.9),
            ("fetched with it (pale); here a row is one cache line of 64 bytes", INK, 0.3),
        ],
    )
    return figure


def cpu_block() -> Figure:
    n, edge, bi, bj, bk = 20, 8, 8, 0, 8
    figure, (left, right) = new_figure(4.1, [1.25, 1])
    (ax, ay), (bx, by) = product(left, n, n, n, step=edge)
    for step, k0 in enumerate(range(0, n, edge)):
        depth = min(k0 + edge, n) - k0  # the last block is cut off at the edge
        now = 0.85 if k0 == bk else 0.3
        box(left, ax + k0, ay + bi, depth, edge, A_COLOUR, now)
        box(left, bx + bj, by + k0, edge, depth, B_COLOUR, now)
        ink = "white" if k0 == bk else INK
        label(left, ax + k0 + depth / 2, ay + bi + edge / 2, f"{step + 1}", fontsize=11, color=ink)
        label(left, bx + bj + edge / 2, by + k0 + depth / 2, f"{step + 1}", fontsize=11)
    box(left, bj, bi, edge, edge, C_COLOUR, 0.85)
    label(left, bj + edge / 2, bi + edge / 2, "1 + 2\n+ 3", fontsize=9, color="white")

    # Times that an element of B comes from memory: cpu-simple walks all of B for each row of C; here the
    # block of B stays in the cache for BLOCK_SIZE rows. Counted from the loops, for a cache that holds three
    # blocks but not all of B.
    edges = [1, 8, 16, 32, 64, 128]
    right.bar(range(len(edges)), [1024 // e for e in edges], color=[IDLE] + [B_COLOUR] * 5, width=0.7)
    for at, e in enumerate(edges):
        label(right, at, 1024 // e * 1.15, str(1024 // e), va="bottom")
    right.set_yscale("log", base=2)
    right.set_ylim(4, 2600)
    right.set_xticks(range(len(edges)), ["plain\nloops", *[str(e) for e in edges[1:]]], fontsize=9)
    right.set_yticks([])
    right.spines[["top", "right", "left"]].set_visible(False)
    right.set_xlabel("BLOCK_SIZE", fontsize=9)
    right.set_title("times each block of B is fetched, n = 1024 (log scale)", fontsize=10)
    left.set_title("blocks of 8 on 20 × 20 matrices: step 2 of 3", fontsize=10)
    return figure


def numpy() -> Figure:
    rates = measured_rates()
    figure, (axes,) = new_figure(3.9, [1])
    names = list(rates)
    colours = [TROUBLE if name == "numpy" else IDLE if name.startswith("cpu") else A_COLOUR for name in names]
    places = range(len(names))
    axes.barh(places, [rates[name] for name in names], color=colours, height=0.7)
    for at, name in enumerate(names):
        words = f"{rates[name]:,.0f}" if rates[name] >= 1000 else f"{rates[name]:.4g}"
        label(axes, rates[name] * 1.1, at, words, ha="left", fontsize=8.5)
    axes.set_yticks(places, names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlim(0.1, 40000)
    axes.set_xticks([0.1, 1, 10, 100, 1000, 10000], ["0.1", "1", "10", "100", "1,000", "10,000"])
    axes.tick_params(axis="x", labelsize=8.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(
        "GFLOP/s at n = 1024, measured: H200, cold; the host's 16 cores for numpy, one for cpu-…", fontsize=9
    )
    return figure


def one_element_a_thread(row_from_x: bool) -> Figure:
    """What warp 0 of block (0, 0) touches at one k; n = 1024, of which 32 x 32 elements are drawn."""
    n, edge, k, shown = 1024, 32, 11, 32
    places = [(tx, ty) if row_from_x else (ty, tx) for tx, ty in warp_0(edge)]
    figure, panels = new_figure(3.8, [1, 1, 1])
    for axes, addresses, colour, what in (
        (panels[0], [row * n + k for row, _ in places], A_COLOUR, "A[row][k]"),
        (panels[1], [k * n + col for _, col in places], B_COLOUR, "B[k][col]"),
        (panels[2], [row * n + col for row, col in places], C_COLOUR, "C[row][col], at the end"),
    ):
        count = several(len(units(addresses, SECTOR)), "sector")
        corner(axes, addresses, n, SECTOR, shown, colour, f"{what}: {count}")
        axes.set_xlabel("columns 0 to 31 of 1024", fontsize=8.5)
    panels[0].set_ylabel("rows 0 to 31", fontsize=8.5)
    legend(
        figure,
        [
            (f"used by warp 0, at k = {k} (dark)", INK, 0.9),
            ("fetched with it (pale): sectors of 8 elements", INK, 0.3),
        ],
    )
    return figure


def naive() -> Figure:
    return one_element_a_thread(row_from_x=True)


def coalesced() -> Figure:
    return one_element_a_thread(row_from_x=False)


def multiprocessors(axes: Axes, n: int, edge: int, y: float) -> None:
    """132 small squares, those that get a block filled."""
    blocks = (-(-n // (edge * edge))) ** 2
    busy = min(blocks, MULTIPROCESSORS)
    for sm in range(MULTIPROCESSORS):
        row, col = divmod(sm, 22)
        box(axes, col + 0.1, y + row + 0.1, 0.8, 0.8, TROUBLE if sm < busy else IDLE)
    label(axes, 11, y - 1, f"n = {n}: {several(blocks, 'block')} on 132 multiprocessors", fontsize=9.5)


def block_coarse() -> Figure:
    n, edge = 1024, 32
    figure, (c, zoom, device) = new_figure(3.7, [1, 1, 1.25])
    for tx, ty in warp_0(edge):
        box(c, tx, ty, 1, 1, C_COLOUR, 0.45)
    tx, ty = 4, 0
    box(c, tx, ty, 1, 1, C_COLOUR, 1, edge=INK)
    lines(c, n // edge, n // edge)
    bare(c, -0.3, 32.3, -0.3, 32.3)
    c.set_title("C, one square a thread", fontsize=10)
    c.set_xlabel("32 × 32 threads: one block;\nits first warp is the coloured row", fontsize=8.5)

    row0, col0 = ty * edge, tx * edge
    box(zoom, 0, 0, edge, edge, C_COLOUR, 0.6)
    lines(zoom, edge, edge)
    bare(zoom, -0.3, 32.3, -0.3, 32.3)
    zoom.set_title(f"what thread ({tx}, {ty}) owns", fontsize=10)
    zoom.set_xlabel(
        f"rows {row0} to {row0 + edge - 1}, columns {col0} to {col0 + edge - 1}:\n{edge * edge} elements",
        fontsize=8.5,
    )

    multiprocessors(device, 1024, edge, 2)
    multiprocessors(device, 2048, edge, 12)
    bare(device, -0.5, 22.5, 0, 19)
    device.set_title("who works", fontsize=10)
    return figure


def block_coarse_local() -> Figure:
    n, edge, j, word = 1024, 32, 5, 5
    figure, (far, near, sizes) = new_figure(3.7, [1, 1, 1.1])
    # The warp reads B[k][col0 + j], col0 = threadIdx.x * BLOCK_SIZE; a row of B is drawn 32 elements a line.
    from_global = [tx * edge + j for tx, _ in warp_0(edge)]
    # Local memory lies so that the same word of 32 threads is 32 neighbours (CUDA C++ Programming Guide).
    from_local = [word * WARP + lane for lane in range(WARP)]
    for axes, addresses, what, below in (
        (far, from_global, "B[k][col0 + j] in global memory", f"one row of B ({n} elements), 32 a line"),
        (near, from_local, "the same from subB", "local memory of the warp, 32 words a line"),
    ):
        corner(
            axes,
            addresses,
            WARP,
            SECTOR,
            32,
            B_COLOUR,
            f"{what}:\n{several(len(units(addresses, SECTOR)), 'sector')}",
        )
        axes.set_xlabel(below, fontsize=8.5)

    edges = [1, 2, 4, 8, 16, 32]
    amounts = [3 * e * e * ELEMENT_BYTES for e in edges]
    colours = [C_COLOUR if amount <= REGISTER_BYTES else TROUBLE for amount in amounts]
    sizes.barh(range(len(edges)), amounts, color=colours, height=0.75)
    for at, amount in enumerate(amounts):
        label(sizes, amount / 1.15, at, f"{amount:,}", ha="right", fontsize=8.5, color="white")
    sizes.axvline(REGISTER_BYTES, color=INK, linewidth=0.9, linestyle="--", zorder=0)
    label(sizes, REGISTER_BYTES * 1.2, 1, f"255 registers:\n{REGISTER_BYTES:,}", ha="left", fontsize=8.5)
    sizes.set_xscale("log")
    sizes.set_xlim(1, 20000)
    sizes.set_xticks([])
    sizes.minorticks_off()
    sizes.set_yticks(range(len(edges)), [str(e) for e in edges], fontsize=9)
    sizes.invert_yaxis()
    sizes.spines[["top", "right", "bottom"]].set_visible(False)
    sizes.set_ylabel("BLOCK_SIZE", fontsize=8.5)
    sizes.set_title("bytes of subA, subB and subC\na thread (log scale)", fontsize=10)
    return figure


def register_tile() -> Figure:
    tile, k, n, edge = 4, 2, 1024, 16
    figure, (outer, work, time) = new_figure(3.5, [1.15, 1, 1])
    gap = 1
    (ax, ay), (bx, by) = product(outer, tile, tile, 6, gap=gap, step=1)
    box(outer, ax + k, ay, 1, tile, A_COLOUR, 0.85)
    box(outer, bx, by + k, tile, 1, B_COLOUR, 0.85)
    box(outer, 0, 0, tile, tile, C_COLOUR, 0.6)
    lines(outer, tile, tile)
    label(outer, ax + k + 0.5, tile + 0.7, "a_vec", color=A_COLOUR)
    label(outer, tile + 0.2, by + k + 0.5, "b_vec", ha="left", color="#9A6A00")
    label(outer, tile / 2, tile + 0.7, "sum", color=C_COLOUR)
    bare(outer, -9, 6.5, -9.5, 5.4)
    outer.set_title(f"one thread at one k: {2 * tile} loads,\n{tile * tile} multiply-adds", fontsize=10)

    tiles = [1, 2, 4, 8, 16, 32, 64]
    blocks = [(-(-n // (edge * t))) ** 2 for t in tiles]
    work.plot(tiles, blocks, "o-", color=A_COLOUR, markersize=4)
    work.axhline(MULTIPROCESSORS, color=INK, linewidth=0.9, linestyle="--")
    label(work, 64, MULTIPROCESSORS * 1.25, "132 multiprocessors", ha="right", va="bottom", fontsize=8.5)
    for t, b in zip(tiles, blocks, strict=True):
        label(work, t * 1.15, b * 1.1, f"{b:,}", ha="left", va="bottom", fontsize=8, color=A_COLOUR)
    work.set_ylim(0.7, 12000)
    work.set_title("blocks of 256 threads\nat n = 1024", fontsize=10)

    sweep = measured_sweep("TILE_SIZE")
    time.plot(list(sweep), list(sweep.values()), "o-", color=TROUBLE, markersize=4)
    for t, ms in sweep.items():
        if t < 8:
            label(time, t, ms / 1.3, f"{ms:.3g}", va="top", fontsize=8)
        else:
            label(time, t / 1.15, ms * 1.1, f"{ms:.3g}", ha="right", va="bottom", fontsize=8)
    time.set_ylim(0.1, 400)
    time.set_title("ms at n = 1024, measured\n(H200, cold)", fontsize=10)
    for axes in (work, time):
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xlim(0.7, 110)
        axes.set_xticks(tiles, [str(t) for t in tiles], fontsize=9)
        axes.set_yticks([])
        axes.minorticks_off()
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_xlabel("TILE_SIZE", fontsize=9)
    return figure


def walk(axes: Axes, n: int, edge: int, by: int, bx: int, wide: int, now: int) -> None:
    """Tiles of A and B on their way along K, for the block of C whose first element is [by][bx]."""
    (a_x, a_y), (b_x, b_y) = product(axes, n, n, n, step=edge)
    for step, k0 in enumerate(range(0, n, edge)):
        alpha = 0.85 if step == now else 0.25
        ink = "white" if step == now else INK
        box(axes, a_x + k0, a_y + by, edge, edge, A_COLOUR, alpha)
        label(axes, a_x + k0 + edge / 2, a_y + by + edge / 2, f"{step + 1}", color=ink, fontsize=11)
        box(axes, b_x + bx, b_y + k0, wide, edge, B_COLOUR, alpha)
        label(axes, b_x + bx + wide / 2, b_y + k0 + edge / 2, f"{step + 1}", fontsize=11)
    box(axes, bx, by, wide, edge, C_COLOUR, 0.6)


def bar(axes: Axes, start: float, end: float, y: float, colour: str, text: str, alpha: float = 0.85) -> None:
    box(axes, start, y + 0.12, end - start, 0.76, colour, alpha)
    label(axes, (start + end) / 2, y + 0.5, text, fontsize=8.5, color="white" if alpha > 0.5 else INK)


def time_axes(axes: Axes, end: float, rows: int) -> None:
    axes.set(xlim=(-0.1, end + 0.2), ylim=(rows + 0.1, -0.1), xticks=[])
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel("time, not to scale →", fontsize=9)
    axes.tick_params(axis="y", length=0, labelsize=9)


def tiled() -> Figure:
    n, edge = 32, 8
    figure, (left, right) = new_figure(4.0, [1.1, 1])
    walk(left, n, edge, by=8, bx=16, wide=edge, now=1)
    left.set_title("step 2 of 4: tiles of 8 on 32 × 32 matrices", fontsize=10)

    # Three warps that need different times; each waits at a barrier for the slowest.
    fill, use = [1.5, 2.3, 1.9], [2.6, 2.0, 2.3]
    first = max(fill)
    second = first + max(use)
    end = second + max(fill)
    for warp in range(3):
        bar(right, 0, fill[warp], warp, A_COLOUR, "fill 1")
        bar(right, first, first + use[warp], warp, C_COLOUR, "use 1")
        bar(right, second, second + fill[warp], warp, A_COLOUR, "fill 2")
        for start, stop in (
            (fill[warp], first),
            (first + use[warp], second),
            (second + fill[warp], end),
        ):
            box(right, start, warp + 0.12, stop - start, 0.76, IDLE)
    for at, words in (
        (first, "first barrier:\nno use before\nall have filled"),
        (second, "second barrier:\nno fill before\nall have used"),
    ):
        right.plot([at, at], [-0.1, 3.1], color=TROUBLE, linewidth=2)
        label(right, at, 3.75, words, color=TROUBLE, fontsize=8.5)
    time_axes(right, end, 3)
    right.set_ylim(4.4, -0.5)
    right.set_yticks([0.5, 1.5, 2.5], ["warp 0", "warp 1", "warp 2"])
    right.set_title("the two barriers (grey: a warp waits)", fontsize=10)
    return figure


def shared_panel(
    axes: Axes, words: list[int], rows: int, colour: str, title: str, below: str, padding: Iterable[int] = ()
) -> None:
    """Shared memory, 32 words a line, so that a column is a bank; the words that warp 0 touches."""
    cells(axes, {divmod(word, BANKS) for word in padding}, "#9E9E9E", 0.8)
    cells(axes, {divmod(word, BANKS) for word in words}, colour)
    lines(axes, rows, BANKS)
    bare(axes, -0.3, BANKS + 0.3, -0.3, 33.3)
    axes.set_title(f"{title}\n{several(turns(words), 'turn')}", fontsize=10)
    axes.set_ylabel("As, 32 words a line", fontsize=8.5)
    axes.set_xticks([0.5, 15.5, 31.5], ["bank 0", "15", "31"], fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(below, fontsize=8.5)


def tiled_transposed() -> Figure:
    edge, k, ty = 32, 6, 0
    figure, panels = new_figure(4.1, [1, 1, 1])
    warp = warp_0(edge)
    shared_panel(
        panels[0],
        [tx * edge + k for tx, _ in warp],
        edge,
        TROUBLE,
        "without the cure: read As[tx][k]",
        "one bank holds all 32 words,\nat every k",
    )
    shared_panel(
        panels[1],
        [k * edge + tx for tx, _ in warp],
        edge,
        C_COLOUR,
        "transposed: read As[k][tx]",
        "32 banks, a word each,\nat every k",
    )
    shared_panel(
        panels[2],
        [tx * edge + ty for tx, _ in warp],
        edge,
        TROUBLE,
        "transposed: store As[tx][ty]",
        "the conflict has moved here,\nonce a tile",
    )
    return figure


def tiled_padded() -> Figure:
    edge, k, ty = 32, 6, 0
    figure, panels = new_figure(4.6, [1, 1, 1])
    warp = warp_0(edge)
    stride = edge + 1
    padding = [row * stride + edge for row in range(edge)]
    shared_panel(
        panels[0],
        [tx * edge + k for tx, _ in warp],
        edge,
        TROUBLE,
        "PAD = 0: read As[tx][k]",
        "rows of 32 words:\ncolumn k is one bank",
    )
    shared_panel(
        panels[1],
        [tx * stride + k for tx, _ in warp],
        stride,
        C_COLOUR,
        "PAD = 1: read As[tx][k]",
        "rows of 33 words:\nrow tx starts tx banks further on",
        padding,
    )
    shared_panel(
        panels[2],
        [ty * stride + tx for tx, _ in warp],
        stride,
        C_COLOUR,
        "PAD = 1: store As[ty][tx]",
        "along the row,\n32 banks as well",
        padding,
    )
    legend(figure, [("words that warp 0 touches", INK, 0.9), ("unused: the padding", "#9E9E9E", 0.8)])
    return figure


def tiled_bounds() -> Figure:
    m, n, k, edge = 50, 70, 40, 16
    figure, (left, right) = new_figure(4.6, [1.35, 1])
    whole_m, whole_n, whole_k = (-(-size // edge) * edge for size in (m, n, k))
    gap = 6
    a_at, b_at = (-whole_k - gap, 0), (0, -whole_k - gap)
    for name, (x, y), rows, cols, whole_rows, whole_cols, colour in (
        ("A", a_at, m, k, whole_m, whole_k, A_COLOUR),
        ("B", b_at, k, n, whole_k, whole_n, B_COLOUR),
        ("C", (0, 0), m, n, whole_m, whole_n, C_COLOUR),
    ):
        box(left, x, y, whole_cols, whole_rows, "white", 1, edge="#888888", line=0.0, hatch="////")
        box(left, x, y, cols, rows, "white")
        box(left, x, y, cols, rows, colour, 0.4, edge=INK)
        lines(left, whole_rows, whole_cols, edge, x, y)
        label(left, x + cols / 2, y + rows / 2, f"{name}\n{rows} × {cols}", fontsize=10)
    by, bx = whole_m - edge, whole_n - edge
    left.add_patch(Rectangle((bx, by), edge, edge, fill=False, edgecolor=TROUBLE, linewidth=2))
    bare(left, -whole_k - gap - 1, whole_n + 1.5, -whole_k - gap - 1, whole_m + 1.5)
    left.set_title(f"tiles of {edge}: zeros where hatched; no element of C there", fontsize=10)

    threads = [(ty, tx) for ty in range(edge) for tx in range(edge)]
    has_row = {(ty, tx) for ty, tx in threads if by + ty < m}  # row < M: loads an element of A
    has_col = {(ty, tx) for ty, tx in threads if bx + tx < n}  # col < N: loads an element of B
    kinds = (
        (has_row & has_col, C_COLOUR, 1.0, "load A and B, store C"),
        (has_row - has_col, A_COLOUR, 0.5, "load A"),
        (has_col - has_row, B_COLOUR, 0.6, "load B"),
        (set(threads) - has_row - has_col, IDLE, 1.0, "put zeros only"),
    )
    for places, colour, alpha, _ in kinds:
        cells(right, places, colour, alpha)
    lines(right, edge, edge)
    bare(right, -0.3, edge + 0.3, -0.3, edge + 0.3)
    right.set_title(f"the framed block: {edge * edge} threads, all at every barrier", fontsize=10)
    legend(figure, [(f"{len(places)} {words}", colour, alpha) for places, colour, alpha, words in kinds])
    return figure


def tiled_dynamic() -> Figure:
    figure, (axes,) = new_figure(2.3, [1])
    for y, edge in ((0, 2), (4.6, 4)):
        words = edge * edge
        for word in range(2 * words):
            colour = A_COLOUR if word < words else B_COLOUR
            box(axes, word, y, 1, 1, colour, 0.7 if word // edge % 2 == 0 else 0.35)
            label(axes, word + 0.5, y + 0.5, str(word), fontsize=8)
        lines(axes, 1, 2 * words, 1, 0, y)
        label(axes, -0.6, y + 0.5, f"block_edge = {edge}", ha="right", fontsize=9.5)
        label(axes, 0, y - 0.7, "▼ As", ha="left", color=A_COLOUR)
        label(axes, words, y - 0.7, f"▼ Bs = As + {words}", ha="left", color="#9A6A00")
        ty, tx = 1, edge - 1
        at = ty * edge + tx
        label(
            axes, at + 0.1, y + 1.7, f"▲ As[{ty}][{tx}]: {ty} × {edge} + {tx} = {at}", ha="left", fontsize=8.5
        )
        in_bytes = words * ELEMENT_BYTES
        length = f"{2 * words} elements, {2 * in_bytes} bytes."
        too_far = f"{length}\nAs + {in_bytes}, counted in\nbytes, is past the end"
        label(axes, 33, y + 0.5, too_far, ha="left", fontsize=8.5, color=TROUBLE)
    bare(axes, -7.5, 43, -1.6, 7)
    axes.set_title("one array, two tiles; shades: the rows of a tile", fontsize=10)
    return figure


def tiled_coarse() -> Figure:
    n, edge, coarse, tx, ty = 32, 8, 2, 3, 2
    figure, (left, right) = new_figure(4.0, [1.1, 1])
    by, bx = 8, 16
    walk(left, n, edge, by=by, bx=bx, wide=edge * coarse, now=1)
    for c in range(coarse):
        box(left, bx + tx + c * edge, by + ty, 1, 1, INK)
    left.plot([bx + edge] * 2, [by, by + edge], color="white", linewidth=1, linestyle="--")
    left.set_title("two elements of C a thread (black: one thread's)", fontsize=10)

    # Counted from the kernel's loops: elements of global memory that a thread loads for one multiply-add.
    values = [1, 2, 4, 8]
    from_a = [1 / (32 * c) * ELEMENT_BYTES for c in values]
    from_b = [1 / 32 * ELEMENT_BYTES for _ in values]
    places = range(len(values))
    right.bar(places, from_b, color=B_COLOUR, alpha=0.85, width=0.65, label="of B")
    right.bar(places, from_a, bottom=from_b, color=A_COLOUR, alpha=0.85, width=0.65, label="of A")
    for at in places:
        total = from_a[at] + from_b[at]
        label(right, at, total + 0.005, f"{total:.3g}", va="bottom")
    right.set_xticks(places, [str(c) for c in values], fontsize=9)
    right.set_yticks([])
    right.set_ylim(0, 0.29)
    right.spines[["top", "right", "left"]].set_visible(False)
    right.set_xlabel("COARSE", fontsize=9)
    right.set_title("bytes requested a multiply-add, BLOCK_SIZE = 32", fontsize=10)
    right.legend(frameon=False, fontsize=9, loc="upper right")
    return figure


def double_buffer() -> Figure:
    load, fill, compute, steps = 2.4, 0.5, 2.0, 3
    figure, (top,) = new_figure(3.3, [1])

    # tiled: load, fill, compute, one after the other.
    at, barriers = 0.0, []
    for step in range(1, steps + 1):
        bar(top, at, at + load, 0, A_COLOUR, f"load {step}")
        box(top, at + load, 1.12, fill, 0.76, B_COLOUR)
        barriers.append(at + load + fill)
        bar(top, at + load + fill, at + load + fill + compute, 1, C_COLOUR, f"compute {step}")
        at += load + fill + compute
        barriers.append(at)
    end = at
    for barrier in barriers:
        top.plot([barrier, barrier], [0, 2], color=TROUBLE, linewidth=1.4)

    # double-buffer: the next load starts when the tile is filled; the next fill waits for it and for compute.
    bar(top, 0, load, 3, A_COLOUR, "load 1")
    at, barriers = load, []
    for step in range(1, steps + 1):
        box(top, at, 4.12, fill, 0.76, B_COLOUR)
        at += fill
        barriers.append(at)
        bar(top, at, at + compute, 4, C_COLOUR, f"compute {step}")
        barriers.append(at + compute)
        if step < steps:
            bar(top, at, at + load, 3, A_COLOUR, f"load {step + 1}")
            at += max(load, compute)
        else:
            at += compute
    for barrier in barriers:
        top.plot([barrier, barrier], [3, 5], color=TROUBLE, linewidth=1.4)
    top.plot([at, at], [2.2, 5], color=INK, linewidth=0.8, linestyle=":")
    top.annotate("", (at, 2.5), (end, 2.5), arrowprops={"arrowstyle": "<->", "color": INK, "linewidth": 0.9})
    label(top, (at + end) / 2, 2.8, "gained", fontsize=9)
    label(top, 0, 2.5, "double-buffer", ha="left", weight="bold")
    label(top, 0, -0.5, "tiled", ha="left", weight="bold")
    time_axes(top, end, 5)
    top.set_ylim(5.2, -0.9)
    places = [0.5, 1.5, 3.5, 4.5]
    top.set_yticks(places, ["global memory", "the block", "global memory", "the block"])
    legend(
        figure,
        [
            ("on its way to registers", A_COLOUR, 0.85),
            ("fill the tiles in shared memory", B_COLOUR, 1),
            ("compute on them", C_COLOUR, 0.85),
            ("barrier", TROUBLE, 1),
        ],
    )
    return figure


def tiles_of_a_block(axes: Axes, m: int, n: int, k: int) -> tuple[Place, Place]:
    """The tiles of A (m x k) and B (k x n) beside the block of C (m x n) that they serve; as `product`."""
    gap = m // 16
    a_at, b_at = (-k - gap, 0), (0, -k - gap)
    for name, (x, y), rows, cols in (("As", a_at, m, k), ("Bs", b_at, k, n), ("", (0, 0), m, n)):
        box(axes, x, y, cols, rows, "white", edge=INK)
        label(axes, x - 1, y - 1, name, ha="right", va="bottom", fontsize=10, weight="bold")
    bare(axes, -k - 2 * gap, n + 0.5, -k - 2 * gap, m + 0.5)
    return a_at, b_at


def reads_panel(axes: Axes, bars: list[tuple[str, int, int]], marked: str, title: str) -> None:
    """Reads of shared memory a multiply-add, of a thread with tm x tn results: (name, tm, tn)."""
    reads = [(tm + tn) / (tm * tn) for _, tm, tn in bars]
    colours = [TROUBLE if name == marked else IDLE for name, _, _ in bars]
    axes.bar(range(len(bars)), reads, color=colours, width=0.65)
    for at, value in enumerate(reads):
        label(axes, at, value + 0.04, f"{value:.4g}", va="bottom")
    axes.set_xticks(range(len(bars)), [name for name, _, _ in bars], fontsize=8.5)
    axes.set_yticks([])
    axes.set_ylim(0, 2.3)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(title, fontsize=10)


def bank_lines(
    axes: Axes, words: Iterable[int], others: Iterable[int], shown: int, title: str, below: str
) -> None:
    """`shown` words of shared memory, 32 a line: those read together, and pale what else the warp reads."""
    together = set(words)
    cells(axes, {divmod(word, BANKS) for word in set(others) - together}, B_COLOUR, 0.3)
    cells(axes, {divmod(word, BANKS) for word in together}, B_COLOUR)
    lines(axes, shown // BANKS, BANKS)
    bare(axes, -0.3, BANKS + 0.3, -0.3, shown // BANKS + 0.3)
    axes.set_title(title, fontsize=9.5)
    axes.set_xticks([0.5, 15.5, 31.5], ["bank 0", "15", "31"], fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_xlabel(below, fontsize=8.5)


def tile_1d() -> Figure:
    bm, bn, bk, tm, k = 64, 64, 8, 8, 2
    figure, (left, right) = new_figure(4.0, [1, 1])
    (ax, ay), (bx, by) = tiles_of_a_block(left, bm, bn, bk)
    # As in the kernel: the first result of each thread of warp 0, as (row, column) in the block.
    firsts = [(thread // bn * tm, thread % bn) for thread in range(WARP)]
    cells(left, [(row + t, col) for row, col in firsts for t in range(tm)], C_COLOUR, 0.35)
    row, col = firsts[12]
    cells(left, [(row + t, col) for t in range(tm)], INK)
    box(left, bx + firsts[0][1], by + k, WARP, 1, B_COLOUR)
    box(left, ax + k, ay + row, 1, tm, A_COLOUR)
    label(
        left,
        2,
        tm + 5,
        "warp 0: 32 columns of 8 results;\nblack: those of one thread",
        ha="left",
        fontsize=8.5,
    )
    left.set_title("a block's 64 × 64 results, and one k", fontsize=10)
    bars = [("tiled", 1, 1), ("TM = 4", 4, 1), ("8", 8, 1), ("16", 16, 1)]
    reads_panel(right, bars, "8", "reads of shared memory a multiply-add, as written")
    legend(
        figure,
        [
            ("of Bs: 32 words, once", B_COLOUR, 1),
            ("of As: 8 words, each for all threads", A_COLOUR, 1),
        ],
    )
    return figure


def tile_2d() -> Figure:
    bm, bn, bk, tm, tn, k = 128, 128, 8, 8, 8, 2
    figure, (left, right) = new_figure(4.0, [1, 1])
    (ax, ay), (bx, by) = tiles_of_a_block(left, bm, bn, bk)
    firsts = [(thread // (bn // tn) * tm, thread % (bn // tn) * tn) for thread in range(WARP)]
    for row, col in firsts:
        box(left, col, row, tn, tm, C_COLOUR, 0.35, edge="white", line=0.6)
    row, col = firsts[21]
    box(left, col, row, tn, tm, INK)
    box(left, bx + col, by + k, tn, 1, B_COLOUR, edge=B_COLOUR)
    box(left, ax + k, ay + row, 1, tm, A_COLOUR, edge=A_COLOUR)
    label(left, 64, 28, "warp 0: two rows of 16 threads;\nblack: one thread's 8 × 8 results", fontsize=8.5)
    left.set_title("a block's 128 × 128 results, and one k", fontsize=10)
    bars = [("tiled", 1, 1), ("tile-1d\n8 × 1", 8, 1), ("TM × TN\n4 × 4", 4, 4), ("8 × 4", 8, 4),
            ("8 × 8", 8, 8)]  # fmt: skip
    reads_panel(right, bars, "8 × 8", "reads of shared memory a multiply-add, as written")
    legend(
        figure,
        [
            ("b: 8 words of Bs, side by side", B_COLOUR, 1),
            ("a: 8 words of As, one below the other", A_COLOUR, 1),
        ],
    )
    return figure


def vectorized() -> Figure:
    bm, bk, tm, row, k = 128, 8, 8, 24, 2
    figure, (tall, flat) = new_figure(2.0, [1, 1])
    # The TM elements of A's tile that a thread needs at one k, in the tile as it lies in either kernel.
    below = [(row + i) * bk + k for i in range(tm)]
    beside = [k * bm + row + i for i in range(tm)]
    for axes, words, size, title in (
        (tall, below, 1, "tile-2d: As[row + i][k]"),
        (flat, beside, 4, "vectorized: As[k][row + i], transposed"),
    ):
        reads = len({word // size for word in words})
        first = min(words) // (4 * BANKS) * 4 * BANKS
        cells(axes, [divmod(word - first, BANKS) for word in words], A_COLOUR)
        for word in sorted({word // size * size for word in words}):
            line, bank = divmod(word - first, BANKS)
            box(axes, bank, line, size, 1, "none", 0, edge=TROUBLE, line=1.6)
        lines(axes, 4, BANKS)
        bare(axes, -0.3, BANKS + 0.3, -0.3, 4.3)
        axes.set_title(f"{title}\n{several(reads, 'read')} of {size * ELEMENT_BYTES} bytes", fontsize=10)
        axes.set_xlabel("four lines of 32 words of the tile", fontsize=8.5)
    legend(
        figure,
        [("what a thread needs of A at one k", A_COLOUR, 1), ("one read (framed)", TROUBLE, 1)],
    )
    return figure


def warp_tile() -> Figure:
    bm, bn, wm, wn, tm, tn, wide, quarter = 128, 128, 64, 32, 8, 8, 4, 8
    lanes_x, lanes_y = wn // tn, wm // tm
    figure = Figure(figsize=(9, 4.2), layout="constrained", facecolor="white")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 1.15])
    block = figure.add_subplot(grid[:, 0])
    before, after = figure.add_subplot(grid[0, 1]), figure.add_subplot(grid[1, 1])

    for warp in range(bm // wm * (bn // wn)):
        y, x = warp // (bn // wn) * wm, warp % (bn // wn) * wn
        box(block, x, y, wn, wm, C_COLOUR if warp == 0 else "white", 0.2, edge=INK)
        label(block, x + wn / 2, y + wm + (-6 if warp else -4), f"warp {warp}", fontsize=8.5)
    for lane in (0, 9):
        row, col = lane // lanes_x * wide, lane % lanes_x * wide
        for i in range(tm // wide):
            for j in range(tn // wide):
                y, x = row + i * lanes_y * wide, col + j * lanes_x * wide
                box(block, x, y, wide, wide, INK if lane == 0 else TROUBLE)
    lines(block, wm, wn, wide, width=0.3)
    bare(block, -0.5, bn + 0.5, -0.5, bm + 0.5)
    words = (
        "a block's 128 × 128 results, a tile each warp;\nthreads 0 (black) and 9: 16 results in each group"
    )
    block.set_title(words, fontsize=9.5)

    # Words of Bs[k] that the lanes read with their first 16-byte read (j = 0), in either kernel.
    of_columns = [[lane % (bn // tn) * tn + w for w in range(wide)] for lane in range(WARP)]
    of_groups = [[lane % lanes_x * wide + w for w in range(wide)] for lane in range(WARP)]
    for axes, of_lanes, name in ((before, of_columns, "vectorized"), (after, of_groups, "warp-tile")):
        first = [word for lane in of_lanes[:quarter] for word in lane]
        all_ = [word for lane in of_lanes for word in lane]
        title = f"{name}: threads 0 to 7 read Bs[k]: {several(turns(first), 'turn')}"
        bank_lines(axes, first, all_, bn, title, "one row of Bs: 128 words, 32 a line")
    legend(
        figure,
        [("read at once, by a quarter of the warp", B_COLOUR, 1), ("by the other quarters", B_COLOUR, 0.3)],
    )
    return figure


def async_copy() -> Figure:
    stages, tiles, wait, compute, fill, gap = 4, 6, 4.2, 2.0, 0.5, 0.06
    figure, (left, right) = new_figure(3.7, [1.5, 1])

    # warp-tile: load into registers, store, barrier, compute, barrier.
    at, shown = 0.0, 3
    for tile in range(shown):
        bar(left, at, at + wait, 0, A_COLOUR, f"load {tile}")
        box(left, at + wait, 1.12, fill, 0.76, B_COLOUR)
        bar(left, at + wait + fill, at + wait + fill + compute, 1, C_COLOUR, str(tile))
        at += wait + fill + compute
    end = at

    # async-copy: a tile is asked for when the one STAGES - 1 before it begins.
    first = 3  # the row of stage 0
    there = [wait] * (stages - 1) + [0.0] * (tiles - stages + 1)
    for tile in range(stages - 1):
        bar(left, gap, wait, first + tile % stages, A_COLOUR, f"copy {tile}")
    at = 0.0
    for tile in range(tiles):
        at = max(at, there[tile])
        ahead = tile + stages - 1
        if ahead < tiles:
            there[ahead] = at + wait
            bar(left, at + gap, there[ahead], first + ahead % stages, A_COLOUR, f"copy {ahead}")
        bar(left, at + gap, at + compute, first + stages, C_COLOUR, str(tile))
        at += compute
    label(left, 0, -0.5, f"warp-tile: {shown} tiles", ha="left", weight="bold")
    label(left, 0, 2.5, f"async-copy: {tiles} tiles, STAGES = {stages}", ha="left", weight="bold")
    time_axes(left, end, first + stages + 1)
    left.set_ylim(first + stages + 1.2, -0.9)
    left.set_yticks(
        [0.5, 1.5, *(first + stage + 0.5 for stage in range(stages + 1))],
        ["global memory", "the block", *(f"stage {stage}" for stage in range(stages)), "the block"],
    )

    # As in the kernel: the order of a thread's multiply-adds at one k.
    rows, cols = 8, 16
    order = [(i, cols - 1 - n if i % 2 else n) for i in range(rows) for n in range(cols)]
    one_way = [(i, n) for i in range(rows) for n in range(cols)]

    def both_new(steps: list[Place]) -> int:
        """Multiply-adds whose elements of A and of B are both others than those of the one before."""
        return sum(now[0] != before[0] and now[1] != before[1] for before, now in pairwise(steps))

    lines(right, rows, cols)
    for i in range(rows):
        box(right, -1.6, i, 1, 1, A_COLOUR, 0.85 if i % 2 else 0.5)
    for j in range(cols):
        box(right, j, -1.6, 1, 1, B_COLOUR, 0.85 if j % 2 else 0.5)
    right.plot([j + 0.5 for _, j in order], [i + 0.5 for i, _ in order], color=INK, linewidth=1.2)
    for (i, j), (_, after) in pairwise(order):
        if j == after:
            right.plot([j + 0.5] * 2, [i + 0.5, i + 1.5], color=TROUBLE, linewidth=2.4)
    bare(right, -2.2, cols + 0.3, -2.2, rows + 0.3)
    right.set_title(
        f"the order of {len(order)} multiply-adds\n"
        f"both elements new: {both_new(order)} times; in one direction {both_new(one_way)}",
        fontsize=9.5,
    )
    legend(
        figure,
        [
            ("load, copy; elements of A", A_COLOUR, 0.85),
            ("store; elements of B", B_COLOUR, 0.85),
            ("compute", C_COLOUR, 0.85),
            ("B's element stays", TROUBLE, 1),
        ],
    )
    return figure


def tma() -> Figure:
    bk, wide, rows_shown, wanted = 16, 4, 8, 2  # rows of A's tile of 64 bytes, in 16-byte pieces
    pieces, quarter, lanes_y = bk // wide, 8, 4
    a_line = BANKS // bk  # rows that lie in one line of all banks
    # As in the kernel: the rows that a quarter of a warp reads at once, and where a row's piece lies.
    together = sorted({lane % 2 + lane // 4 % (lanes_y // 2) * 2 for lane in range(quarter)})

    def swizzled_place(row: int, piece: int) -> int:
        return piece ^ row * pieces // 8 % pieces

    figure, (plain, swizzled, right) = new_figure(3.5, [1, 1, 1.9])
    for axes, name, place in (
        (plain, "as in A", lambda row, piece: piece),
        (swizzled, "swizzled", swizzled_place),
    ):
        words = [(row * pieces + place(row, wanted)) * wide + w for row in together for w in range(wide)]
        for row in range(rows_shown):
            for piece in range(pieces):
                x, y = row % a_line * pieces + place(row, piece), row // a_line * 2
                box(axes, x, y, 1, 2, "white", edge=GRID)
                if piece == wanted:
                    box(axes, x, y, 1, 2, A_COLOUR, 1 if row in together else 0.3)
                ink = "white" if piece == wanted and row in together else INK
                label(axes, x + 0.5, y + 1, f"{row}\n{'abcd'[piece]}", fontsize=8, color=ink)
        bare(axes, -0.2, BANKS // wide + 0.2, -0.2, rows_shown // a_line * 2 + 0.2)
        axes.set_title(f"{name}: {several(turns(words), 'turn')}", fontsize=10)
        axes.set_xticks([0.7, 7.3], ["banks 0–3", "28–31"], fontsize=8)
        axes.tick_params(axis="x", length=0)

    # All warps meet at the end of a tile; then one thread asks for the tile that takes its place.
    stages, tiles, copying, gap = 3, 6, 1.5, 0.06
    computing = [
        [2.0, 2.0, 2.4, 2.0, 2.0, 2.0],
        [2.3, 2.4, 2.0, 2.2, 2.1, 2.0],
        [2.0, 2.2, 2.2, 2.0, 2.0, 2.0],
    ]
    there, engine, met = [0.0] * tiles, 0.0, 0.0

    def fetch(tile: int, asked: float) -> None:
        nonlocal engine
        begin = max(engine, asked)
        engine = there[tile] = begin + copying
        bar(right, begin + gap, engine, 0, B_COLOUR, str(tile))

    for tile in range(stages):
        fetch(tile, 0.0)
    for tile in range(tiles):
        start = max(met, there[tile])
        meet = start + max(times[tile] for times in computing)
        for warp, times in enumerate(computing):
            if start > met:
                box(right, met + gap, warp + 1.12, start - met - gap, 0.76, IDLE)
            done = start + times[tile]
            bar(right, start + gap, done, warp + 1, C_COLOUR, str(tile))
            if meet > done:
                box(right, done + gap, warp + 1.12, meet - done - gap, 0.76, IDLE)
        met = meet
        if tile + stages < tiles:
            fetch(tile + stages, met)
    time_axes(right, met, 4)
    names = ["copy engine", *(f"warp {warp}" for warp in range(len(computing)))]
    right.set_yticks([0.5 + i for i in range(4)], names)
    right.set_title(f"tiles 0 to {tiles - 1} through a ring of {stages} stages", fontsize=10)
    legend(
        figure,
        [
            ("piece c of rows 0 to 3, read at once", A_COLOUR, 1),
            ("copy", B_COLOUR, 0.85),
            ("compute", C_COLOUR, 0.85),
            ("wait", IDLE, 1),
        ],
    )
    return figure


def split_k() -> Figure:
    bm, bn, bk, wm, wn, splits = 64, 128, 16, 32, 64, 2
    ks = splits * bk
    figure, (left, right) = new_figure(3.9, [1.25, 1])
    (ax, ay), (bx, by) = tiles_of_a_block(left, bm, bn, ks)
    shades = [0.85, 0.4]
    for group in range(splits):
        box(left, ax + group * bk, ay, bk, bm, A_COLOUR, shades[group])
        box(left, bx, by + group * bk, bn, bk, B_COLOUR, shades[group])
        label(left, ax + (group + 0.5) * bk, ay + bm / 2, str(group), color="white" if group == 0 else INK)
        label(left, bx + bn / 2, by + (group + 0.5) * bk, f"group {group}")
    across = bn // wn
    warps = bm // wm * across
    for warp in range(warps):
        y, x = warp // across * wm, warp % across * wn
        box(left, x, y, wn, wm, C_COLOUR, 0.2, edge=INK)
        both = " + ".join(str(group * warps + warp) for group in range(splits))
        label(left, x + wn / 2, y + wm / 2, f"warps {both}")
    left.set_title(f"a block's {bm} × {bn} results, and {ks} ks", fontsize=10)

    # Counted: one block of any of these fits on a multiprocessor.
    n = 1024
    shapes = [(256, 128, 32, 128, 1), (bm, bn, wm, wn, 1), (bm, bn, wm, wn, splits)]
    blocks = [n // m * (n // w) for m, w, _, _, _ in shapes]
    at_work = [
        count * m // tall * (w // wide) * parts
        for count, (m, w, tall, wide, parts) in zip(blocks, shapes, strict=True)
    ]
    right.bar(range(3), at_work, color=[IDLE, IDLE, TROUBLE], width=0.65)
    for at, (count, value) in enumerate(zip(blocks, at_work, strict=True)):
        words = f"{value}\non {min(count, MULTIPROCESSORS)} of {MULTIPROCESSORS}"
        label(right, at, value + 25, words, va="bottom")
    names = [
        f"{m} × {w}\nSPLITS = {parts}" if m == bm else f"{m} × {w}\nasync-copy"
        for m, w, _, _, parts in shapes
    ]
    right.set_xticks(range(3), names, fontsize=8.5)
    right.set_yticks([])
    right.set_ylim(0, 1.25 * max(at_work))
    right.spines[["top", "right", "left"]].set_visible(False)
    right.set_title(f"warps at work, on so many multiprocessors, n = {n}", fontsize=10)
    legend(
        figure,
        [
            ("of A: each group its own columns", A_COLOUR, 0.85),
            ("of B: each group its own rows", B_COLOUR, 0.85),
        ],
    )
    return figure


def stream_k() -> Figure:
    blocks, tiles, steps = 6, 14, 8
    figure, (left, right) = new_figure(3.4, [1, 1])
    rounds = -(-tiles // blocks)
    for tile in range(tiles):
        start = tile // blocks * steps
        bar(left, start + 0.1, start + steps, tile % blocks, C_COLOUR, str(tile))
    for block in range(tiles % blocks, blocks):
        box(left, (rounds - 1) * steps + 0.1, block + 0.12, steps - 0.1, 0.76, IDLE)
    left.set_title(f"{tiles} tiles on {blocks} multiprocessors, whole: {rounds * steps} steps", fontsize=10)

    # As in the kernel: what is left over and one round are cut into equal shares, the rest stays whole.
    rest = tiles % blocks
    shared = rest + blocks if rest else 0
    share, larger = divmod(shared * steps, blocks)
    ends, parts = [], []
    for block in range(blocks):
        at, now = block * share + min(block, larger), 0
        end = (block + 1) * share + min(block + 1, larger)
        while at < end:
            tile = at // steps
            length = min(steps - at % steps, end - at)
            is_part = length < steps
            parts.append(is_part)
            colour = B_COLOUR if is_part else C_COLOUR
            bar(right, now + 0.1, now + length, block, colour, str(tile))
            at, now = at + length, now + length
        for tile in range(shared + block, tiles, blocks):
            bar(right, now + 0.1, now + steps, block, C_COLOUR, str(tile))
            now += steps
        ends.append(now)
    right.set_title(f"stream-k: {max(ends)} steps, {sum(parts)} parts to add up", fontsize=10)
    for axes, name in ((left, "SM"), (right, "block")):
        time_axes(axes, rounds * steps, blocks)
        axes.set_xlabel("steps along k", fontsize=9)
        axes.set_yticks([0.5 + i for i in range(blocks)], [f"{name} {i}" for i in range(blocks)])
        axes.plot([max(ends)] * 2, [0, blocks], color=INK, linewidth=0.8, linestyle=":")
    legend(
        figure,
        [
            ("a whole tile (its number)", C_COLOUR, 0.85),
            ("a part of one", B_COLOUR, 0.85),
            ("nothing to do", IDLE, 1),
        ],
    )
    return figure


def bf16x9() -> Figure:
    bits, parts, exponent = (
        24,
        3,
        8,
    )  # significant bits of a float32; what they are cut into; bits of the exponent
    each = bits // parts
    figure, (left, middle, right) = new_figure(3.2, [1.75, 1, 1.2])
    # A float32 as it lies in memory, whose first significant bit is always 1 and not stored; then its parts.
    top, height, gap = 0.0, 2.6, 1.6
    middle_of = height / 2
    box(left, 0, top, 1, height, IDLE, edge=INK)
    box(left, 1, top, exponent, height, IDLE, edge=INK)
    label(left, 0.5, top + middle_of, "±")
    label(left, 1 + exponent / 2, top + middle_of, "exponent")
    shades = [1.0, 0.65, 0.35]
    for part in range(parts):
        begin = 1 + exponent + max(0, part * each - 1)
        end = exponent + (part + 1) * each
        box(left, begin, top, end - begin, height, A_COLOUR, shades[part], edge=INK)
        ink = "white" if part < 2 else INK
        label(left, (begin + end) / 2, top + middle_of, f"{end - begin} bits", color=ink)
        y = top + (part + 1) * (height + gap)
        box(left, 0, y, 1, height, IDLE, edge=INK)
        box(left, 1, y, exponent, height, IDLE, edge=INK)
        box(left, 1 + exponent, y, each - 1, height, A_COLOUR, shades[part], edge=INK)
        label(left, 0.5, y + middle_of, "±")
        label(left, 1 + exponent / 2, y + middle_of, "its exponent" if part else "exponent")
        label(left, 1 + exponent + (each - 1) / 2, y + middle_of, f"{each - 1}", color=ink)
        label(left, 17.5, y + middle_of, f"x{part}, a bfloat16", ha="left")
    bare(left, -0.3, exponent + bits + 0.3, -0.2, top + 4 * height + 3 * gap + 0.2)
    left.set_title("x = x0 + x1 + x2, without an error", fontsize=10)

    # Nine products of parts, and how large they are at most beside the first.
    for a in range(parts):
        for b in range(parts):
            power = -each * (a + b)
            shade = 0.85 if power == 0 else 0.5 - 0.09 * (a + b)
            box(middle, b, a, 1, 1, C_COLOUR, shade, edge="white")
            size = "1" if power == 0 else f"$2^{{{power}}}$"
            label(middle, b + 0.5, a + 0.5, size, color="white" if power == 0 else INK)
    bare(middle, -0.1, parts + 0.1, -0.1, parts + 0.1)
    middle.set_xticks([0.5, 1.5, 2.5], [f"y{b}" for b in range(parts)])
    middle.set_yticks([0.5, 1.5, 2.5], [f"x{a}" for a in range(parts)])
    middle.tick_params(length=0)
    middle.set_title("x y is nine products", fontsize=10)

    # What a sum of equal numbers becomes: rounded to 24 bits at each step, or cut off; or 32 at a time.
    ks, together, value = 4096, 32, float32(0.1)
    chains = {
        "cut off, all in one": summed(value, ks, ks, cut),
        "rounded, all in one (FMA)": summed(value, ks, ks, float32),
        "cut off, 32 at a time": summed(value, ks, together, cut),
    }
    colours = [TROUBLE, B_COLOUR, C_COLOUR]
    for (name, errors), colour in zip(chains.items(), colours, strict=True):
        right.plot(range(together, ks + 1, together), errors, color=colour, linewidth=1.6, label=name)
    right.set_xlabel(f"terms of {value:.1f}", fontsize=9)
    right.set_ylabel("error over the sum, in $2^{-24}$", fontsize=9)
    right.tick_params(labelsize=8)
    right.spines[["top", "right"]].set_visible(False)
    right.legend(fontsize=8, frameon=False)
    right.set_title("a long sum", fontsize=10)
    return figure


def float32(number: float) -> float:
    """Rounded to the nearest float32."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def cut(number: float) -> float:
    """The float32 next to it towards zero."""
    bits = struct.unpack("<Q", struct.pack("<d", number))[0]
    return float(struct.unpack("<d", struct.pack("<Q", bits >> 29 << 29))[0])


def summed(value: float, terms: int, together: int, kept: Callable[[float], float]) -> list[float]:
    """The error of a sum, over that and in 2⁻²⁴, after each 32 terms: `together` by `kept`, else rounded."""
    errors, whole, part = [], 0.0, 0.0
    for term in range(1, terms + 1):
        part = kept(part + value)
        if term % 32 == 0:
            errors.append(abs(float32(whole + part) / (term * value) - 1) * 2**24)
        if term % together == 0:
            whole, part = float32(whole + part), 0.0
    return errors


FIGURES: dict[str, Callable[[], Figure]] = {
    "01_cpu_simple": cpu_simple,
    "02_cpu_block": cpu_block,
    "03_numpy": numpy,
    "04_naive": naive,
    "05_coalesced": coalesced,
    "06_block_coarse": block_coarse,
    "07_block_coarse_local": block_coarse_local,
    "08_register_tile": register_tile,
    "09_tiled": tiled,
    "10_tiled_transposed": tiled_transposed,
    "11_tiled_padded": tiled_padded,
    "12_tiled_bounds": tiled_bounds,
    "13_tiled_dynamic": tiled_dynamic,
    "14_tiled_coarse": tiled_coarse,
    "15_double_buffer": double_buffer,
    "16_tile_1d": tile_1d,
    "17_tile_2d": tile_2d,
    "18_vectorized": vectorized,
    "19_warp_tile": warp_tile,
    "20_async_copy": async_copy,
    "21_tma": tma,
    "22_split_k": split_k,
    "23_stream_k": stream_k,
    "24_bf16x9": bf16x9,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the figures of docs/ladder.md.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="default: beside this file")
    parser.add_argument("--png", action="store_true", help="as PNG, to look at; the files kept are SVG")
    options = parser.parse_args()

    # What a user's matplotlibrc says must not matter; a fixed salt keeps the ids in a file the same.
    matplotlib.rcdefaults()
    matplotlib.rcParams["svg.hashsalt"] = "cudamm"
    matplotlib.rcParams["svg.fonttype"] = "path"
    matplotlib.rcParams["hatch.linewidth"] = 0.5
    for name, draw in FIGURES.items():
        if options.png:
            draw().savefig(options.folder / f"{name}.png", dpi=110)
        else:
            draw().savefig(options.folder / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
