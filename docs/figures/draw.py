"""Draw the figures of docs/ladder.md, one for each method: `python docs/figures/draw.py`.

The contents of a figure are computed: addresses from the kernel's own index arithmetic, measured times from
the tables in docs/measured.md. The script needs only Python, and always writes the same bytes.

Matrices are row-major, as in the kernels: element [row][col] of a matrix with `width` columns lies at
row * width + col. Elements are float32, 4 bytes.
"""

from __future__ import annotations

import argparse
import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

from drawing import GRID, INK, Page, Panel, Place, pale

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "cuda_src"
MEASURED = HERE.parent / "measured.md"

# Okabe and Ito's colours, which most colour-blind readers can tell apart. Each colour has one meaning in all
# figures.
A_COLOUR, B_COLOUR, C_COLOUR = "#0072B2", "#E69F00", "#009E73"
B_TEXT = "#9A6A00"  # B's colour, darker so that text is readable
TROUBLE = "#D55E00"
IDLE, PADDING = "#DDDDDD", "#B0B0B0"

ELEMENT_BYTES = 4
WARP = 32
SECTOR = 32 // ELEMENT_BYTES  # elements in a sector, the unit in which a GPU fetches memory
CACHE_LINE = 64 // ELEMENT_BYTES  # elements in a cache line of a usual processor
BANKS = 32  # number of banks of shared memory; each bank is one element wide
MULTIPROCESSORS = 132  # number of multiprocessors of an H200
REGISTER_BYTES = 255 * 4  # maximum size of one thread's registers

PANEL_LEFTS = (24, 304, 584)  # left edges of three square panels, in pixels
SIDE = 256  # edge of these panels, in pixels


def warp_0(block_edge: int) -> list[tuple[int, int]]:
    """Return (threadIdx.x, threadIdx.y) of the 32 threads of a block's first warp; x changes fastest."""
    return [(lane % block_edge, lane // block_edge) for lane in range(WARP)]


def units(addresses: Iterable[int], size: int) -> set[int]:
    """Return the sectors or cache lines, of `size` elements each, that contain the addresses."""
    return {address // size for address in addresses}


def turns(words: Iterable[int]) -> int:
    """Return the number of turns in which shared memory serves one warp: a bank reads one word per turn."""
    return max(Counter(word % BANKS for word in set(words)).values())


def several(number: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless the count is 1."""
    return f"{number} {noun}" + ("" if number == 1 else "s")


# --- measured numbers


def measured_rates(n: int = 1024) -> dict[str, float]:
    """Return the GFLOP/s of each method, from the first table of docs/measured.md for size n."""
    text = MEASURED.read_text(encoding="utf-8")
    table = text[text.index(f"{n} x {n} x {n} (M x N x K)") :].split("└")[0]
    rows = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table.splitlines()]
    rows = [row for row in rows if row]
    column = rows[0].index("GFLOP/s")
    return {row[0].removesuffix(" ‡"): float(row[column]) for row in rows[1:]}


def measured_sweep(parameter: str) -> dict[int, float]:
    """Return the milliseconds at each value of the parameter, the mean of five runs in docs/measured.md."""
    text = MEASURED.read_text(encoding="utf-8")
    section = text[text.index(f"the sweep over {parameter}\n") :].split("\n## ")[0]
    means = re.findall(rf" {parameter} = (\d+).*\n\(ms\) .* = ([\d.]+)\n", section)
    return {int(value): float(mean) for value, mean in means}


# --- panels that several figures use


def square(page: Page, left: float, top: float, cells: int, title: str, side: float = SIDE) -> Panel:
    """Return a panel of `cells` x `cells` cells."""
    panel = page.panel(left, top, side, side, (0, cells), (0, cells))
    panel.title(title)
    return panel


def corner(panel: Panel, addresses: list[int], width: int, unit: int, shown: int, colour: str) -> None:
    """Draw which elements are used and fetched, in the first `shown` rows and columns of a matrix.

    The matrix has `width` columns. Elements at `addresses` are dark; the other elements of each fetched
    sector or cache line, of `unit` elements, are pale.
    """
    fetched = {
        divmod(first * unit + i, width) for first in units(addresses, unit) for i in range(min(unit, width))
    }
    used = {divmod(address, width) for address in addresses}
    visible = {(row, col) for row, col in fetched if row < shown and col < shown}
    panel.cells(visible - used, pale(colour))
    panel.cells({(row, col) for row, col in used if row < shown and col < shown}, colour)
    panel.grid(shown, shown)


def product(
    page: Page,
    left: float,
    top: float,
    unit: float,
    m: int,
    n: int,
    k: int,
    gap: int = 3,
    step: int = 1,
    names: Iterable[str] = "ABC",
) -> tuple[Panel, int]:
    """Draw the frames of A, B and C = A B: A (m x k) to the left of C (m x n), B (k x n) above C.

    `unit` is the size of an element in pixels. C starts at (0, 0). Return the panel, and the x at which A
    starts; B starts at the same y.
    """
    start = -k - gap
    panel = page.panel(left, top, unit * (n - start), unit * (m - start), (start, n), (start, m))
    for name, x, y, rows, cols in zip(names, (start, 0, 0), (0, start, 0), (m, k, m), (k, n, n), strict=True):
        panel.grid(rows, cols, step, x, y)
        panel.text(x, y, name, 14, align="end", weight="bold", dx=-5, dy=6)
    return panel, start


def walk(panel: Panel, start: int, n: int, edge: int, by: int, bx: int, wide: int, now: int) -> None:
    """Draw the tiles of A and B, n x n each, that the block of C at [by][bx] needs, one per step along K.

    The tiles have `edge` elements in A's direction and `wide` in B's; those of step `now` are dark.
    """
    for step, k0 in enumerate(range(0, n, edge)):
        depth = min(k0 + edge, n) - k0  # the last tile ends at the matrix's edge
        tile_start, middle = start + k0, start + k0 + depth / 2
        a_colour, b_colour = (A_COLOUR, B_COLOUR) if step == now else (pale(A_COLOUR), pale(B_COLOUR))
        panel.box(tile_start, by, depth, edge, a_colour)
        panel.text(middle, by + edge / 2, f"{step + 1}", 14, colour="white" if step == now else INK)
        panel.box(bx, tile_start, wide, depth, b_colour)
        panel.text(bx + wide / 2, middle, f"{step + 1}", 14)
    panel.grid(n, n, edge, start, 0)
    panel.grid(n, n, edge, 0, start)


def columns(
    page: Page,
    left: float,
    width: float,
    title: str,
    bars: list[tuple[str, float, str, str]],
    below: str = "",
) -> Panel:
    """Draw vertical bars, each (name, height from 0 to 1, colour, text above the bar); return the panel."""
    panel = page.panel(left, 66, width, 230, (0, len(bars)), (1, 0))
    panel.text(len(bars) / 2, 1, title, 13, dy=-46)
    for i, (_, height, colour, words) in enumerate(bars):
        panel.box(i + 0.16, 0, 0.68, height, colour)
        panel.text(i + 0.5, height, words, dy=-4 - 7.5 * (words.count("\n") + 1))
    panel.below(below, ticks={i + 0.5: name for i, (name, *_) in enumerate(bars)}, line=True)
    return panel


def timeline(
    page: Page,
    left: float,
    top: float,
    width: float,
    end: float,
    rows: float,
    names: dict[float, str],
    row_height: float = 34,
    below: str = "time, not to scale →",
) -> Panel:
    """Return a panel whose x is the time from 0 to `end`, and whose y counts rows of bars."""
    panel = page.panel(left, top, width, rows * row_height, (0, end), (0, rows))
    panel.beside(names=names)
    panel.below(below, line=True)
    return panel


def bar(panel: Panel, start: float, end: float, y: float, colour: str, text: str = "") -> None:
    """Draw a bar from time `start` to time `end` in row y of a timeline."""
    panel.box(start, y + 0.12, end - start, 0.76, colour)
    if text:
        panel.text((start + end) / 2, y + 0.5, text, colour=INK if colour == B_COLOUR else "white")


def logarithms(values: Iterable[float], low: float, high: float) -> list[float]:
    """Return the positions of values on a logarithmic scale, on which `low` is 0 and `high` is 1."""
    return [math.log(value / low) / math.log(high / low) for value in values]


# --- one figure for each method


def cpu_simple(page: Page) -> None:
    n, i, j = 16, 5, 9
    for left, addresses, colour, name in (
        (PANEL_LEFTS[0], [i * n + k for k in range(n)], A_COLOUR, "row i of A"),
        (PANEL_LEFTS[1], [k * n + j for k in range(n)], B_COLOUR, "column j of B"),
        (PANEL_LEFTS[2], [i * n + j], C_COLOUR, "C[i][j]"),
    ):
        count = several(len(units(addresses, CACHE_LINE)), "cache line")
        corner(square(page, left, 30, n, f"{name}: {count}"), addresses, n, CACHE_LINE, n, colour)
    page.legend(
        ("used for C[i][j] (dark)", INK),
        ("also fetched (pale): each row is one cache line of 64 bytes", pale(INK)),
    )


def cpu_block(page: Page) -> None:
    n, edge, bi, bj = 20, 8, 8, 0
    left, start = product(page, 60, 34, 7, n, n, n, step=edge)
    left.title("blocks of 8 on 20 × 20 matrices: step 2 of 3")
    walk(left, start, n, edge, bi, bj, wide=edge, now=1)
    left.box(bj, bi, edge, edge, C_COLOUR)
    left.text(bj + edge / 2, bi + edge / 2, "1 + 2\n+ 3", colour="white")

    # Number of times that an element of B is loaded from memory, counted from the loops for a cache that can
    # contain three blocks but not all of B. cpu-simple reads all of B for each row of C. cpu-block keeps a
    # block of B in the cache for BLOCK_SIZE rows of C.
    edges = [1, 8, 16, 32, 64, 128]
    names = ["plain\nloops", *(str(e) for e in edges[1:])]
    fetches = [1024 // e for e in edges]
    heights = logarithms(fetches, 4, 1024)
    colours = [IDLE] + [B_COLOUR] * 5
    bars = list(zip(names, heights, colours, map(str, fetches), strict=True))
    columns(page, 480, 370, "loads of each block of B from memory, n = 1024 (log scale)", bars, "BLOCK_SIZE")


def numpy(page: Page) -> None:
    rates = measured_rates()
    low, high, row = 0.1, 40000, 22
    panel = page.panel(140, 6, 700, row * len(rates), (0, 1), (0, len(rates)))
    for y, (name, rate, end) in enumerate(
        zip(rates, rates.values(), logarithms(rates.values(), low, high), strict=True)
    ):
        colour = TROUBLE if name == "numpy" else IDLE if name.startswith("cpu") else A_COLOUR
        panel.box(0, y + 0.15, end, 0.7, colour)
        panel.text(end, y + 0.5, f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}", align="start", dx=6)
    panel.beside(names={y + 0.5: name for y, name in enumerate(rates)})
    ticks = [0.1, 1, 10, 100, 1000, 10000]
    panel.below(
        "GFLOP/s at n = 1024, measured: H200, cold; numpy on 16 cores of the host, cpu-… on one core",
        ticks=dict(zip(logarithms(ticks, low, high), [f"{tick:,}" for tick in ticks], strict=True)),
        line=True,
    )


def one_element_a_thread(page: Page, row_from_x: bool) -> None:
    """Draw the elements that warp 0 of block (0, 0) accesses at one k, in 32 x 32 elements of n = 1024."""
    n, edge, k, shown = 1024, 32, 11, 32
    places = [(tx, ty) if row_from_x else (ty, tx) for tx, ty in warp_0(edge)]
    for left, addresses, colour, name in (
        (PANEL_LEFTS[0], [row * n + k for row, _ in places], A_COLOUR, "A[row][k]"),
        (PANEL_LEFTS[1], [k * n + col for _, col in places], B_COLOUR, "B[k][col]"),
        (PANEL_LEFTS[2], [row * n + col for row, col in places], C_COLOUR, "C[row][col], at the end"),
    ):
        panel = square(page, left, 30, shown, f"{name}: {several(len(units(addresses, SECTOR)), 'sector')}")
        corner(panel, addresses, n, SECTOR, shown, colour)
        panel.below("columns 0 to 31 of 1024")
        if left == PANEL_LEFTS[0]:
            panel.beside("rows 0 to 31")
    page.legend(
        (f"used by warp 0, at k = {k} (dark)", INK),
        ("also fetched (pale): sectors have 8 elements", pale(INK)),
    )


def naive(page: Page) -> None:
    one_element_a_thread(page, row_from_x=True)


def coalesced(page: Page) -> None:
    one_element_a_thread(page, row_from_x=False)


def block_coarse(page: Page) -> None:
    n, edge, tx, ty = 1024, 32, 4, 0
    c = square(page, 14, 30, edge, "C: one square per thread", side=240)
    c.cells([(y, x) for x, y in warp_0(edge)], pale(C_COLOUR, 0.45))
    c.grid(n // edge, n // edge)
    c.box(tx, ty, 1, 1, C_COLOUR, edge=INK)
    c.below("32 × 32 threads: one block;\nits first warp is the coloured row")

    zoom = square(page, 278, 30, edge, f"elements of C of thread ({tx}, {ty})", side=240)
    row, col = ty * edge, tx * edge
    zoom.box(0, 0, edge, edge, pale(C_COLOUR, 0.6))
    zoom.grid(edge, edge)
    zoom.below(f"rows {row} to {row + edge - 1}, columns {col} to {col + edge - 1}:\n{edge * edge} elements")

    for top, size in ((54, 1024), (190, 2048)):
        blocks = (-(-size // (edge * edge))) ** 2
        rows, cols = 6, MULTIPROCESSORS // 6
        device = page.panel(542, top, 308, 84, (0, cols), (0, rows))
        places = [divmod(sm, cols) for sm in range(MULTIPROCESSORS)]
        device.cells(places[blocks:], IDLE)
        device.cells(places[:blocks], TROUBLE)
        device.grid(rows, cols, colour="white", line=3, edge="white")
        device.title(f"n = {size}: {several(blocks, 'block')} on {MULTIPROCESSORS} multiprocessors")


def block_coarse_local(page: Page) -> None:
    n, edge, j, word = 1024, 32, 5, 5
    # The warp reads B[k][col0 + j], col0 = threadIdx.x * BLOCK_SIZE. A row of B is drawn as lines of 32.
    from_global = [tx * edge + j for tx, _ in warp_0(edge)]
    # In local memory the same word of 32 threads is stored as 32 neighbours (CUDA C++ Programming Guide).
    from_local = [word * WARP + lane for lane in range(WARP)]
    for left, addresses, name, below in (
        (14, from_global, "B[k][col0 + j] in global memory", f"one row of B ({n} elements), 32 per line"),
        (286, from_local, "the same element in subB", "local memory of the warp, 32 words per line"),
    ):
        sectors = several(len(units(addresses, SECTOR)), "sector")
        panel = square(page, left, 48, WARP, f"{name}:\n{sectors}")
        corner(panel, addresses, WARP, SECTOR, WARP, B_COLOUR)
        panel.below(below)

    edges, low, high = [1, 2, 4, 8, 16, 32], 1, 30000
    amounts = [3 * e * e * ELEMENT_BYTES for e in edges]
    sizes = page.panel(610, 48, 244, SIDE, (0, 1), (0, len(edges)))
    (limit,) = logarithms([REGISTER_BYTES], low, high)
    sizes.line([(limit, 0), (limit, len(edges))], dashes="4 3")
    for y, (amount, end) in enumerate(zip(amounts, logarithms(amounts, low, high), strict=True)):
        sizes.box(0, y + 0.12, end, 0.76, C_COLOUR if amount <= REGISTER_BYTES else TROUBLE)
        sizes.text(end, y + 0.5, f"{amount:,}", align="end", colour="white", dx=-5)
    sizes.text(limit, 1, f"{REGISTER_BYTES // 4} registers:\n{REGISTER_BYTES:,}", 11, align="start", dx=4)
    sizes.line([(0, 0), (0, len(edges))])
    sizes.beside(names={y + 0.5: str(e) for y, e in enumerate(edges)})
    sizes.text(0, len(edges) / 2, "BLOCK_SIZE", dx=-36, upwards=True)
    sizes.title("bytes of subA, subB and subC\nper thread (log scale)")


def register_tile(page: Page) -> None:
    tile, k, n, edge = 4, 2, 1024, 16
    outer, start = product(page, 40, 52, 19, tile, tile, 6, gap=1)
    outer.title(f"one thread at one k: {2 * tile} loads\nfor {tile * tile} multiply-adds")
    outer.box(start + k, 0, 1, tile, A_COLOUR)
    outer.box(0, start + k, tile, 1, B_COLOUR)
    outer.box(0, 0, tile, tile, pale(C_COLOUR, 0.6))
    outer.grid(tile, tile)
    outer.text(start + k + 0.5, tile, "a_vec", colour=A_COLOUR, dy=12)
    outer.text(tile, start + k + 0.5, "b_vec", align="start", colour=B_TEXT, dx=5)
    outer.text(tile / 2, tile, "sum", colour=C_COLOUR, dy=12)

    tiles = [1, 2, 4, 8, 16, 32, 64]
    sweep = measured_sweep("TILE_SIZE")
    blocks = [(-(-n // (edge * t))) ** 2 for t in tiles]
    ticks = {float(x): str(t) for x, t in enumerate(tiles)}
    work, time = (page.panel(left, 52, 240, 230, (-0.5, 6.5), (1.05, 0)) for left in (330, 606))
    for panel in (work, time):
        panel.below("TILE_SIZE", ticks=ticks, line=True)

    (limit, *heights) = logarithms([MULTIPROCESSORS, *blocks], 0.7, 6000)
    work.title("blocks of 256 threads\nat n = 1024")
    work.line([(-0.5, limit), (6.5, limit)], dashes="4 3")
    work.text(6.5, limit, f"{MULTIPROCESSORS} multiprocessors", 11, align="end", dy=-9)
    curve(work, list(enumerate(heights)), A_COLOUR)
    for x, (count, height) in enumerate(zip(blocks, heights, strict=True)):
        work.text(x, height, f"{count:,}", 11, align="start", colour=A_COLOUR, dx=6, dy=-7)

    time.title("ms at n = 1024, measured\n(H200, cold)")
    heights = logarithms(sweep.values(), 0.1, 200)
    curve(time, list(enumerate(heights)), TROUBLE)
    for x, (ms, height) in enumerate(zip(sweep.values(), heights, strict=True)):
        if tiles[x] < 8:
            time.text(x, height, f"{ms:.3g}", 11, dy=13)
        else:
            time.text(x, height, f"{ms:.3g}", 11, align="end", dx=-6, dy=-7)


def curve(panel: Panel, points: list[tuple[float, float]], colour: str) -> None:
    """Draw points and the line through them."""
    panel.line(points, colour, 2)
    for x, y in points:
        cx, cy = panel.pixel(x, y)
        panel.page.add("circle", cx=cx, cy=cy, r=3, fill=colour)


def tiled(page: Page) -> None:
    n, edge, by, bx = 32, 8, 8, 16
    left, a_start = product(page, 40, 34, 4.5, n, n, n, gap=5, step=edge)
    left.title("step 2 of 4: tiles of 8 on 32 × 32 matrices")
    walk(left, a_start, n, edge, by, bx, wide=edge, now=1)
    left.box(bx, by, edge, edge, pale(C_COLOUR, 0.6))

    # Three warps need different times; at each barrier all wait for the slowest.
    fill, use = [1.5, 2.3, 1.9], [2.6, 2.0, 2.3]
    first = max(fill)
    second = first + max(use)
    end = second + max(fill)
    names = {0.5 + warp: f"warp {warp}" for warp in range(3)}
    right = timeline(page, 484, 56, 366, end, 4.6, names, row_height=58)
    right.title("the two barriers (grey: a warp waits)")
    for warp in range(3):
        for start, stop, limit, colour, text in (
            (0, fill[warp], first, A_COLOUR, "fill 1"),
            (first, first + use[warp], second, C_COLOUR, "use 1"),
            (second, second + fill[warp], end, A_COLOUR, "fill 2"),
        ):
            bar(right, start, stop, warp, colour, text)
            bar(right, stop, limit, warp, IDLE)
    for x, words in (
        (first, "first barrier:\nno use before\nall have filled"),
        (second, "second barrier:\nno fill before\nall have used"),
    ):
        right.line([(x, -0.1), (x, 3.1)], TROUBLE, 2.5)
        right.text(x, 3.65, words, colour=TROUBLE)


def shared_memory(
    panel: Panel, words: list[int], rows: int, colour: str, below: str, padding: Iterable[int] = ()
) -> None:
    """Draw shared memory as lines of 32 words, so that a column is a bank, and the words of warp 0."""
    panel.cells({divmod(word, BANKS) for word in padding}, PADDING)
    panel.cells({divmod(word, BANKS) for word in words}, colour)
    panel.grid(rows, BANKS)
    panel.below(below, ticks={0.5: "bank 0", 15.5: "15", 31.5: "31"}, size=11)


def access_to_as(
    page: Page, left: float, words: list[int], rows: int, title: str, below: str, padding: Iterable[int] = ()
) -> None:
    """Draw the words of As that warp 0 accesses, in one of three panels, with the number of turns."""
    count = turns(words)
    panel = page.panel(left, 48, SIDE, rows * SIDE / BANKS, (0, BANKS), (0, rows))
    panel.title(f"{title}\n{several(count, 'turn')}")
    panel.beside("As, 32 words per line")
    shared_memory(panel, words, rows, C_COLOUR if count == 1 else TROUBLE, below, padding)


def tiled_transposed(page: Page) -> None:
    edge, k, ty = 32, 6, 0
    warp = warp_0(edge)
    for left, words, title, below in (
        (PANEL_LEFTS[0], [tx * edge + k for tx, _ in warp], "not transposed: read As[tx][k]",
         "all 32 words are in one bank,\nat every k"),
        (PANEL_LEFTS[1], [k * edge + tx for tx, _ in warp], "transposed: read As[k][tx]",
         "one word in each of 32 banks,\nat every k"),
        (PANEL_LEFTS[2], [tx * edge + ty for tx, _ in warp], "transposed: store As[tx][ty]",
         "now the store has the conflict,\nonce per tile"),
    ):  # fmt: skip
        access_to_as(page, left, words, edge, title, below)


def tiled_padded(page: Page) -> None:
    edge, k, ty = 32, 6, 0
    warp = warp_0(edge)
    stride = edge + 1
    padding = [row * stride + edge for row in range(edge)]
    access_to_as(page, PANEL_LEFTS[0], [tx * edge + k for tx, _ in warp], edge, "PAD = 0: read As[tx][k]",
          "rows of 32 words:\ncolumn k is one bank")  # fmt: skip
    access_to_as(page, PANEL_LEFTS[1], [tx * stride + k for tx, _ in warp], stride, "PAD = 1: read As[tx][k]",
          "rows of 33 words:\neach row starts one bank later", padding)  # fmt: skip
    access_to_as(page, PANEL_LEFTS[2], [ty * stride + tx for tx, _ in warp], stride,
          "PAD = 1: store As[ty][tx]", "along the row:\nalso 32 banks", padding)  # fmt: skip
    page.legend(("words that warp 0 accesses", INK), ("padding, not used", PADDING))


def tiled_bounds(page: Page) -> None:
    m, n, k, edge = 50, 70, 40, 16
    whole_m, whole_n, whole_k = (-(-size // edge) * edge for size in (m, n, k))
    page.add(
        "pattern", '<path d="M0 6L6 0" stroke="#888888" stroke-width="0.6"/>',
        id="hatch", width=6, height=6, patternUnits="userSpaceOnUse",
    )  # fmt: skip
    left, start = product(page, 24, 34, 3.2, whole_m, whole_n, whole_k, gap=6, step=edge, names=("", "", ""))
    left.title(f"tiles of {edge}; hatched: zeros, and no elements of C")
    for name, (x, y), rows, cols, whole_rows, whole_cols, colour in (
        ("A", (start, 0), m, k, whole_m, whole_k, A_COLOUR),
        ("B", (0, start), k, n, whole_k, whole_n, B_COLOUR),
        ("C", (0, 0), m, n, whole_m, whole_n, C_COLOUR),
    ):
        left.box(x, y, whole_cols, whole_rows, "url(#hatch)")
        left.box(x, y, cols, rows, pale(colour, 0.4), edge=INK)
        left.grid(whole_rows, whole_cols, edge, x, y)
        left.text(x + cols / 2, y + rows / 2, f"{name}\n{rows} × {cols}", 13)
    by, bx = whole_m - edge, whole_n - edge
    left.box(bx, by, edge, edge, edge=TROUBLE, line=3)

    threads = [(ty, tx) for ty in range(edge) for tx in range(edge)]
    has_row = {(ty, tx) for ty, tx in threads if by + ty < m}  # row < M: the thread loads an element of A
    has_col = {(ty, tx) for ty, tx in threads if bx + tx < n}  # col < N: the thread loads an element of B
    right = square(
        page, 506, 54, edge, f"the framed block: {edge**2} threads, all at every barrier", side=336
    )
    kinds = (
        (has_row & has_col, C_COLOUR, "load A and B, store C"),
        (has_row - has_col, pale(A_COLOUR, 0.5), "load A"),
        (has_col - has_row, pale(B_COLOUR, 0.6), "load B"),
        (set(threads) - has_row - has_col, IDLE, "only write zeros"),
    )
    for places, colour, _ in kinds:
        right.cells(places, colour)
    right.grid(edge, edge)
    page.legend(*((f"{len(places)} {words}", colour) for places, colour, words in kinds))


def tiled_dynamic(page: Page) -> None:
    for top, edge in ((56, 2), (138, 4)):
        words = edge * edge
        panel = page.panel(132, top, 17 * 2 * words, 20, (0, 2 * words), (0, 1))
        if edge == 2:
            panel.text(22, 0, "one array for two tiles; the shades mark the rows of a tile", 13, dy=-40)
        for word in range(2 * words):
            colour = A_COLOUR if word < words else B_COLOUR
            panel.box(word, 0, 1, 1, pale(colour, 0.35 if word // edge % 2 else 0.7))
            panel.text(word + 0.5, 0.5, str(word), 11)
        panel.grid(1, 2 * words)
        panel.beside(names={0.5: f"block_edge = {edge}"})
        panel.text(0, 0, "▼ As", align="start", colour=A_COLOUR, dy=-12)
        panel.text(words, 0, f"▼ Bs = As + {words}", align="start", colour=B_TEXT, dy=-12)
        ty, tx = 1, edge - 1
        index = ty * edge + tx
        panel.text(index + 0.15, 1, f"▲ As[{ty}][{tx}]: {ty} × {edge} + {tx} = {index}", align="start", dy=13)
        tile_bytes = words * ELEMENT_BYTES
        size = f"{2 * words} elements, {2 * tile_bytes} bytes."
        warning = f"{size}\nAs + {tile_bytes}, counted in\nbytes, is past the end"
        panel.text(33, 0.5, warning, align="start", colour=TROUBLE)


def tiled_coarse(page: Page) -> None:
    n, edge, coarse, tx, ty, by, bx = 32, 8, 2, 3, 2, 8, 16
    left, start = product(page, 50, 34, 4.5, n, n, n, gap=5, step=edge)
    left.title("two elements of C per thread (black: one thread)")
    walk(left, start, n, edge, by, bx, wide=edge * coarse, now=1)
    left.box(bx, by, edge * coarse, edge, pale(C_COLOUR, 0.6))
    left.line([(bx + edge, by), (bx + edge, by + edge)], "white", 1.5, dashes="4 3")
    for c in range(coarse):
        left.box(bx + tx + c * edge, by + ty, 1, 1, INK)

    # Bytes of global memory that a thread loads per multiply-add, counted from the kernel's loops.
    values = [1, 2, 4, 8]
    highest, b_bytes = 0.25, ELEMENT_BYTES / 32
    totals = [b_bytes / c + b_bytes for c in values]
    bars = [
        (str(c), total / highest, "none", f"{total:.3g}") for c, total in zip(values, totals, strict=True)
    ]
    right = columns(page, 460, 390, "bytes requested per multiply-add, BLOCK_SIZE = 32", bars, "COARSE")
    for x, total in enumerate(totals):
        right.box(x + 0.16, b_bytes / highest, 0.68, (total - b_bytes) / highest, A_COLOUR)
        right.box(x + 0.16, 0, 0.68, b_bytes / highest, B_COLOUR)
    page.legend(("of A", A_COLOUR), ("of B", B_COLOUR))


def double_buffer(page: Page) -> None:
    load, fill, compute, steps = 2.4, 0.5, 2.0, 3
    end = steps * (load + fill + compute)
    names = {0.5: "global memory", 1.5: "the block", 3.5: "global memory", 4.5: "the block"}
    panel = timeline(page, 110, 34, 740, end, 5.2, names, row_height=42)

    # tiled: load, fill and compute, one after the other.
    now, barriers = 0.0, []
    for step in range(1, steps + 1):
        bar(panel, now, now + load, 0, A_COLOUR, f"load {step}")
        bar(panel, now + load, now + load + fill, 1, B_COLOUR)
        now += load + fill
        bar(panel, now, now + compute, 1, C_COLOUR, f"compute {step}")
        barriers += [(now, 0), (now + compute, 0)]
        now += compute

    # double-buffer: the next load starts after the fill; the next fill waits for that load and for compute.
    bar(panel, 0, load, 3, A_COLOUR, "load 1")
    now = load
    for step in range(1, steps + 1):
        bar(panel, now, now + fill, 4, B_COLOUR)
        now += fill
        bar(panel, now, now + compute, 4, C_COLOUR, f"compute {step}")
        barriers += [(now, 3), (now + compute, 3)]
        if step < steps:
            bar(panel, now, now + load, 3, A_COLOUR, f"load {step + 1}")
        now += max(load, compute) if step < steps else compute
    for barrier, y in barriers:
        panel.line([(barrier, y), (barrier, y + 2)], TROUBLE, 2)
    panel.line([(now, 2.2), (now, 3)], dashes="2 2")
    panel.line([(now, 2.5), (end, 2.5)])
    panel.text(now, 2.5, "◀", 9, align="start")
    panel.text(end, 2.5, "▶", 9, align="end")
    panel.text((now + end) / 2, 2.5, "time saved", dy=12)
    panel.text(0, 0, "tiled", align="start", weight="bold", dy=-14)
    panel.text(0, 2.6, "double-buffer", align="start", weight="bold")
    page.legend(
        ("load into registers", A_COLOUR),
        ("fill the tiles in shared memory", B_COLOUR),
        ("compute with the tiles", C_COLOUR),
        ("barrier", TROUBLE),
    )


def shared_double_buffer(page: Page) -> None:
    load, fill, compute, steps = 1.6, 0.5, 2.0, 4
    end = load + steps * (fill + compute)
    names = {
        0.5: "global memory",
        1.5: "shared memory",
        3.5: "global memory",
        4.5: "buffer 0",
        5.5: "buffer 1",
    }
    panel = timeline(page, 110, 34, 740, end, 6.2, names, row_height=38)

    # Both forms load the next tiles while the block computes. They differ in where the tiles are stored.
    barriers = []
    for top, buffers in ((0, 1), (3, 2)):
        bar(panel, 0, load, top, A_COLOUR, "load 1")
        bar(panel, load, load + fill, top + 1, B_COLOUR)
        now = load + fill
        for step in range(steps):
            barriers.append((now, top, buffers))
            bar(panel, now, now + compute, top + 1 + step % buffers, C_COLOUR, f"compute {step + 1}")
            if step < steps - 1:
                bar(panel, now, now + load, top, A_COLOUR, f"load {step + 2}")
            now += compute
            if buffers == 1:
                barriers.append((now, top, buffers))
            if step < steps - 1:
                bar(panel, now, now + fill, top + 1 + (step + 1) % buffers, B_COLOUR)
                now += fill
        if buffers == 2:
            barriers.append((now, top, buffers))
    for x, top, buffers in barriers:
        panel.line([(x, top), (x, top + 1 + buffers)], TROUBLE, 2)
    for top, y, name in ((0, 0.0, "double-buffer"), (3, 2.6, "shared-double-buffer")):
        count = sum(line[1] == top for line in barriers)
        words = f"{name}: {count} barriers in {steps} steps"
        panel.text(0, y, words, align="start", weight="bold", dy=-14 if y == 0 else 0)
    page.legend(
        ("load into registers", A_COLOUR),
        ("fill the tiles in shared memory", B_COLOUR),
        ("compute with the tiles", C_COLOUR),
        ("barrier", TROUBLE),
    )


def reads_a_multiply_add(page: Page, bars: list[tuple[str, int, int]], marked: str) -> None:
    """Draw the reads of shared memory per multiply-add, for threads with tm x tn results: (name, tm, tn)."""
    reads = [(tm + tn) / (tm * tn) for _, tm, tn in bars]
    columns(
        page,
        450,
        400,
        "reads of shared memory per multiply-add, in the source",
        [
            (name, value / max(reads), TROUBLE if name == marked else IDLE, f"{value:.4g}")
            for (name, _, _), value in zip(bars, reads, strict=True)
        ],
    )


def tile_1d(page: Page) -> None:
    bm, bn, bk, tm, k = 64, 64, 8, 8, 2
    left, start = product(page, 70, 34, 4, bm, bn, bk, gap=4, step=64, names=("As", "Bs", ""))
    # The first result of each thread of warp 0, as (row, column) in the block, computed as in the kernel.
    firsts = [(thread // bn * tm, thread % bn) for thread in range(WARP)]
    row, col = firsts[12]
    left.cells([(row + t, col) for row, col in firsts for t in range(tm)], pale(C_COLOUR, 0.35))
    left.cells([(row + t, col) for t in range(tm)], INK)
    left.box(firsts[0][1], start + k, WARP, 1, B_COLOUR)
    left.box(start + k, row, 1, tm, A_COLOUR)
    left.text(
        2, tm + 5, "warp 0: 32 columns of 8 results;\nblack: the results of one thread", align="start", dy=4
    )
    left.title("a block's 64 × 64 results, and one k")
    reads_a_multiply_add(page, [("tiled", 1, 1), ("TM = 4", 4, 1), ("8", 8, 1), ("16", 16, 1)], "8")
    page.legend(("Bs: 32 words, one for each thread", B_COLOUR), ("As: 8 words for all threads", A_COLOUR))


def tile_2d(page: Page) -> None:
    bm, bn, bk, tm, tn, k = 128, 128, 8, 8, 8, 2
    left, start = product(page, 70, 34, 2, bm, bn, bk, gap=8, step=128, names=("As", "Bs", ""))
    firsts = [(thread // (bn // tn) * tm, thread % (bn // tn) * tn) for thread in range(WARP)]
    left.cells(
        [(row + i, col + j) for row, col in firsts for i in range(tm) for j in range(tn)],
        pale(C_COLOUR, 0.35),
    )
    left.grid(2 * tm, bn, tm, colour="white", line=1)
    row, col = firsts[21]
    left.box(col, row, tn, tm, INK)
    left.box(col, start + k, tn, 1, B_COLOUR, edge=B_COLOUR)
    left.box(start + k, row, 1, tm, A_COLOUR, edge=A_COLOUR)
    left.text(64, 26, "warp 0: two rows of 16 threads;\nblack: one thread's 8 × 8 results")
    left.title("a block's 128 × 128 results, and one k")
    bars = [("tiled", 1, 1), ("tile-1d\n8 × 1", 8, 1), ("TM × TN\n4 × 4", 4, 4), ("8 × 4", 8, 4),
            ("8 × 8", 8, 8)]  # fmt: skip
    reads_a_multiply_add(page, bars, "8 × 8")
    page.legend(("b: 8 words in a row of Bs", B_COLOUR), ("a: 8 words in a column of As", A_COLOUR))


def vectorized(page: Page) -> None:
    bm, bk, tm, row, k = 128, 8, 8, 24, 2
    # Addresses of the TM elements of A's tile that a thread needs at one k, in the tile of each kernel.
    in_column = [(row + i) * bk + k for i in range(tm)]
    in_row = [k * bm + row + i for i in range(tm)]
    for left, words, size, title in (
        (14, in_column, 1, "tile-2d: As[thread_row + i][dot_k]"),
        (440, in_row, 4, "vectorized: As[dot_k][thread_row + i], transposed"),
    ):
        reads = sorted({word // size * size for word in words})
        first = min(words) // (4 * BANKS) * 4 * BANKS
        panel = page.panel(left, 48, 410, 52, (0, BANKS), (0, 4))
        panel.cells([divmod(word - first, BANKS) for word in words], A_COLOUR)
        panel.grid(4, BANKS)
        for word in reads:
            line, bank = divmod(word - first, BANKS)
            panel.box(bank, line, size, 1, edge=TROUBLE, line=2)
        panel.title(f"{title}\n{several(len(reads), 'read')} of {size * ELEMENT_BYTES} bytes")
        panel.below("part of the tile: four lines of 32 words")
    page.legend(("elements of A that a thread needs at one k", A_COLOUR), ("one read (framed)", TROUBLE))


def warp_tile(page: Page) -> None:
    bm, bn, wm, wn, tm, tn, wide, quarter = 128, 128, 64, 32, 8, 8, 4, 8
    lanes_x, lanes_y = wn // tn, wm // tm
    words = "a block's 128 × 128 results, one tile per warp;\nthreads 0 (black) and 9: 4 groups of 16 results"
    block = square(page, 24, 48, bm, words, side=320)
    block.box(0, 0, wn, wm, pale(C_COLOUR, 0.2))
    block.grid(wm, wn, wide)
    for lane, colour in ((0, INK), (9, TROUBLE)):
        row, col = lane // lanes_x * wide, lane % lanes_x * wide
        for i in range(tm // wide):
            for j in range(tn // wide):
                block.box(col + j * lanes_x * wide, row + i * lanes_y * wide, wide, wide, colour)
    for warp in range(bm // wm * (bn // wn)):
        y, x = warp // (bn // wn) * wm, warp % (bn // wn) * wn
        block.box(x, y, wn, wm, edge=INK)
        block.text(x + wn / 2, y + wm, f"warp {warp}", dy=-10)

    # Words of Bs[k] that the lanes read with their first 16-byte read (j = 0), in each kernel.
    by_columns = [[lane % (bn // tn) * tn + w for w in range(wide)] for lane in range(WARP)]
    by_groups = [[lane % lanes_x * wide + w for w in range(wide)] for lane in range(WARP)]
    for top, lane_words, name in ((90, by_columns, "vectorized"), (250, by_groups, "warp-tile")):
        together = {word for words in lane_words[:quarter] for word in words}
        others = {word for words in lane_words for word in words} - together
        panel = page.panel(402, top, 448, 56, (0, BANKS), (0, bn // BANKS))
        panel.title(f"{name}: threads 0 to 7 read Bs[k]: {several(turns(together), 'turn')}")
        panel.cells({divmod(word, BANKS) for word in others}, pale(B_COLOUR))
        shared_memory(panel, list(together), bn // BANKS, B_COLOUR, "one row of Bs: 128 words, 32 per line")
    page.legend(
        ("read together, by a quarter of the warp", B_COLOUR), ("read by the other quarters", pale(B_COLOUR))
    )


def row_tile(page: Page) -> None:
    bk, wide, quarter, lanes_y, k = 16, 4, 8, 8, 4
    # The rows that a quarter of a warp reads together, as in the kernel.
    together = sorted({lane % 2 + lane // 4 % (lanes_y // 2) * 2 for lane in range(quarter)})
    for left, pitch, name in (
        (24, bk, "rows of 16 words"),
        (304, bk + wide, "rows of 20 words: 4 are padding"),
    ):
        words = [row * pitch + k + w for row in together for w in range(wide)]
        lines = -(-(len(together) * pitch) // BANKS)
        padding = [row * pitch + word for row in together for word in range(bk, pitch)]
        panel = page.panel(left, 66, SIDE, 24 * lines, (0, BANKS), (0, lines))
        panel.title(f"{name}\nrows 0 to 3 are read in {several(turns(words), 'turn')}")
        colour = C_COLOUR if turns(words) == 1 else TROUBLE
        shared_memory(panel, words, lines, colour, "As, 32 words per line", padding)

    # The instructions with which a thread stores 16 bytes of a row of A.
    bars = [("warp-tile:\nstores", 4), ("row-tile:\nstores", 1)]
    columns(
        page, 620, 220, "stores for 16 bytes of A",
        [(name, 0.8 * count / 4, IDLE if count > 1 else C_COLOUR, str(count)) for name, count in bars],
    )  # fmt: skip
    page.legend(
        ("read together, each bank once", C_COLOUR), ("with a conflict", TROUBLE), ("padding", PADDING)
    )


def async_ring(page: Page) -> None:
    stages, tiles, wait, compute, fill, gap = 4, 6, 4.2, 2.0, 0.5, 0.06
    shown = 3  # number of tiles that are drawn for row-tile, above the rows of async-ring
    first = 3  # the row of stage 0
    end = shown * (wait + fill + compute)
    names = {0.5: "global memory", 1.5: "the block", first + stages + 0.5: "the block"}
    names |= {first + stage + 0.5: f"stage {stage}" for stage in range(stages)}
    panel = timeline(page, 110, 34, 740, end, first + stages + 1.2, names)

    # row-tile: load into registers, store, barrier, compute, barrier.
    now = 0.0
    for tile in range(shown):
        bar(panel, now, now + wait, 0, A_COLOUR, f"load {tile}")
        bar(panel, now + wait, now + wait + fill, 1, B_COLOUR)
        now += wait + fill
        bar(panel, now, now + compute, 1, C_COLOUR, str(tile))
        now += compute

    # async-ring: the copy of a tile starts when the computation STAGES - 1 tiles earlier begins.
    arrivals = [wait] * (stages - 1) + [0.0] * (tiles - stages + 1)
    for tile in range(stages - 1):
        bar(panel, gap, wait, first + tile % stages, A_COLOUR, f"copy {tile}")
    now = 0.0
    for tile in range(tiles):
        now = max(now, arrivals[tile])
        ahead = tile + stages - 1
        if ahead < tiles:
            arrivals[ahead] = now + wait
            bar(panel, now + gap, arrivals[ahead], first + ahead % stages, A_COLOUR, f"copy {ahead}")
        bar(panel, now + gap, now + compute, first + stages, C_COLOUR, str(tile))
        now += compute
    panel.text(0, 0, f"row-tile: {shown} tiles", align="start", weight="bold", dy=-14)
    panel.text(0, 2.5, f"async-ring: {tiles} tiles, STAGES = {stages}", align="start", weight="bold")
    page.legend(("load, copy", A_COLOUR), ("store into shared memory", B_COLOUR), ("compute", C_COLOUR))


def fragment_prefetch(page: Page) -> None:
    ks, latency, issue, compute, gap = 4, 1.5, 0.25, 2.0, 0.04
    end = ks * (latency + compute)
    names = {0.5: "shared memory", 1.5: "multiply-adds", 3.5: "shared memory", 4.5: "multiply-adds"}
    panel = timeline(page, 110, 34, 740, end, 5.2, names, row_height=42)

    # async-ring: read the fragments of a k, wait, multiply.
    now = 0.0
    for k in range(ks):
        bar(panel, now + gap, now + latency, 0, B_COLOUR, f"read {k}")
        bar(panel, now + latency + gap, now + latency + compute, 1, C_COLOUR, f"k = {k}")
        now += latency + compute

    # fragment-prefetch: the reads for the next k are issued first, and the multiply-adds of this k follow.
    bar(panel, gap, latency, 3, B_COLOUR, "read 0")
    now = latency
    for k in range(ks):
        bar(panel, now + issue, now + issue + latency, 3, B_COLOUR, f"read {k + 1}")
        bar(panel, now + issue + gap, now + issue + compute, 4, C_COLOUR, f"k = {k}")
        now += issue + compute
    panel.line([(now, 2.2), (now, 3)], dashes="2 2")
    panel.line([(now, 2.5), (end, 2.5)])
    panel.text(now, 2.5, "◀", 9, align="start")
    panel.text(end, 2.5, "▶", 9, align="end")
    panel.text((now + end) / 2, 2.5, "time saved", dy=12)
    panel.text(0, 0, "async-ring, one warp", align="start", weight="bold", dy=-14)
    panel.text(0, 2.6, "fragment-prefetch, one warp", align="start", weight="bold")
    page.legend(("read the elements for one k", B_COLOUR), ("multiply with them", C_COLOUR))


def lean_loop(page: Page) -> None:
    # Instructions of the loop over tiles, as nvcc 13.0 compiles it for sm_90 with the default parameters.
    multiply_adds, reads, most = 1024, 48, 1600
    bars = [("fragment-prefetch", 1418), ("lean-loop", 1112)]
    panel = columns(
        page, 200, 460, "instructions per tile of 8 ks",
        [(name, count / most, TROUBLE, f"{count}: {multiply_adds / count:.0%} multiply-adds")
         for name, count in bars],
    )  # fmt: skip
    for x in range(len(bars)):
        panel.box(x + 0.16, 0, 0.68, multiply_adds / most, C_COLOUR)
        panel.text(x + 0.5, multiply_adds / most / 2, str(multiply_adds), colour="white")
        panel.box(x + 0.16, multiply_adds / most, 0.68, reads / most, B_COLOUR)
    page.legend(
        ("multiply-adds", C_COLOUR),
        ("reads of shared memory", B_COLOUR),
        ("addresses, bounds, copies, the loop", TROUBLE),
    )


def async_copy(page: Page) -> None:
    # The orders of a thread's multiply-adds at one k, as in the two kernels.
    rows, cols = 8, 16
    one_way = [(i, n) for i in range(rows) for n in range(cols)]
    to_and_fro = [(i, cols - 1 - n if i % 2 else n) for i in range(rows) for n in range(cols)]

    def both_new(steps: list[Place]) -> int:
        """Return the number of multiply-adds for which both elements differ from the previous ones."""
        return sum(step[0] != previous[0] and step[1] != previous[1] for previous, step in pairwise(steps))

    for left, name, order in (
        (80, "lean-loop: row by row", one_way),
        (520, "async-copy: to and fro", to_and_fro),
    ):
        panel = page.panel(left, 104, 288, 144, (0, cols), (0, rows))
        panel.text(
            cols / 2 - 1,
            -1.6,
            f"{name}\nboth elements are new {both_new(order)} times in {len(order)}",
            13,
            dy=-28,
        )
        for i in range(rows):
            panel.box(-1.6, i, 1, 1, A_COLOUR if i % 2 else pale(A_COLOUR, 0.5))
        for j in range(cols):
            panel.box(j, -1.6, 1, 1, B_COLOUR if j % 2 else pale(B_COLOUR, 0.5))
        panel.grid(rows, cols)
        panel.line([(j + 0.5, i + 0.5) for i, j in order if j in (0, cols - 1)], INK, 1.5)
        for (i, j), (_, after) in pairwise(order):
            if j == after:
                panel.line([(j + 0.5, i + 0.5), (j + 0.5, i + 1.5)], TROUBLE, 3)
    page.legend(("elements of A", A_COLOUR), ("elements of B", B_COLOUR), ("the element of B stays", TROUBLE))


def tma(page: Page) -> None:
    bk, wide, rows_shown, wanted = 16, 4, 8, 2  # a row of A's tile has 64 bytes, in pieces of 16 bytes
    pieces, quarter, lanes_y = bk // wide, 8, 4
    rows_per_line = BANKS // bk  # number of rows that fill one line of all banks
    # The rows that a quarter of a warp reads together, and the place of a row's piece, as in the kernel.
    together = sorted({lane % 2 + lane // 4 % (lanes_y // 2) * 2 for lane in range(quarter)})

    def swizzled_place(row: int, piece: int) -> int:
        return piece ^ row * pieces // 8 % pieces

    for left, name, place in (
        (24, "laid out as in A", lambda row, piece: piece),
        (232, "swizzled", swizzled_place),
    ):
        words = [(row * pieces + place(row, wanted)) * wide + w for row in together for w in range(wide)]
        lines = rows_shown // rows_per_line
        panel = page.panel(left, 66, 184, 184, (0, BANKS // wide), (0, lines))
        panel.title(f"{name}: {several(turns(words), 'turn')}")
        for row in range(rows_shown):
            for piece in range(pieces):
                x, y = row % rows_per_line * pieces + place(row, piece), row // rows_per_line
                if piece == wanted:
                    panel.box(x, y, 1, 1, A_COLOUR if row in together else pale(A_COLOUR))
                ink = "white" if piece == wanted and row in together else INK
                panel.text(x + 0.5, y + 0.5, f"{row}\n{'abcd'[piece]}", 11, colour=ink)
        panel.grid(lines, BANKS // wide)
        panel.below(ticks={0.9: "banks 0–3", BANKS // wide - 0.6: "28–31"}, size=11)

    # All warps wait for one another at the end of a tile. Then one thread starts the copy of a later tile
    # into the same stage.
    stages, tiles, copying, gap = 3, 6, 1.5, 0.06
    computing = [
        [2.0, 2.0, 2.4, 2.0, 2.0, 2.0],
        [2.3, 2.4, 2.0, 2.2, 2.1, 2.0],
        [2.0, 2.2, 2.2, 2.0, 2.0, 2.0],
    ]
    copied: list[float] = []  # end of the copy of each tile
    starts: list[float] = []  # start of the computation on each tile
    ends: list[float] = []  # end of the computation on each tile by the slowest warp
    for tile in range(tiles):
        requested = ends[tile - stages] if tile >= stages else 0.0
        copied.append(max(copied[-1] if copied else 0.0, requested) + copying)
        starts.append(max(ends[-1] if ends else 0.0, copied[tile]))
        ends.append(starts[tile] + max(times[tile] for times in computing))

    names = {0.5: "copy engine"} | {warp + 1.5: f"warp {warp}" for warp in range(len(computing))}
    right = timeline(page, 504, 34, 346, ends[-1], 4, names, row_height=60)
    right.title(f"tiles 0 to {tiles - 1} in a ring of {stages} stages")
    for tile, (arrival, start, end) in enumerate(zip(copied, starts, ends, strict=True)):
        previous_end = ends[tile - 1] if tile else 0.0
        bar(right, arrival - copying + gap, arrival, 0, B_COLOUR, str(tile))
        for warp, times in enumerate(computing):
            done = start + times[tile]
            if start > previous_end:
                bar(right, previous_end + gap, start, warp + 1, IDLE)
            bar(right, start + gap, done, warp + 1, C_COLOUR, str(tile))
            if end > done:
                bar(right, done + gap, end, warp + 1, IDLE)
    page.legend(
        ("piece c of rows 0 to 3, read together", A_COLOUR),
        ("copy", B_COLOUR),
        ("compute", C_COLOUR),
        ("wait", IDLE),
    )


def sliced_k(page: Page) -> None:
    bm, bn, bk, wm, wn, splits = 64, 128, 16, 32, 64, 2
    ks = splits * bk
    left, start = product(page, 40, 34, 2.6, bm, bn, ks, gap=8, step=128, names=("As", "Bs", ""))
    left.title(f"a block's {bm} × {bn} results, and {ks} values of k")
    for group, shade in enumerate((1, 0.4)):
        begin, middle = start + group * bk, start + (group + 0.5) * bk
        left.box(begin, 0, bk, bm, pale(A_COLOUR, shade))
        left.box(0, begin, bn, bk, pale(B_COLOUR, shade))
        left.text(middle, bm / 2, str(group), colour=INK if group else "white")
        left.text(bn / 2, middle, f"group {group}")
    across = bn // wn
    warps = bm // wm * across
    for warp in range(warps):
        y, x = warp // across * wm, warp % across * wn
        left.box(x, y, wn, wm, pale(C_COLOUR, 0.2), edge=INK)
        numbers = " + ".join(str(group * warps + warp) for group in range(splits))
        left.text(x + wn / 2, y + wm / 2, f"warps {numbers}")

    # The number of active warps: one block of each of these kernels fits on a multiprocessor.
    n, most = 1024, 1100
    bars = []
    for m, w, tall, wide, parts, name in (
        (256, 128, 32, 128, 1, "async-copy"),
        (bm, bn, wm, wn, 1, "SPLITS = 1"),
        (bm, bn, wm, wn, splits, f"SPLITS = {splits}"),
    ):
        blocks = n // m * (n // w)
        active = blocks * m // tall * (w // wide) * parts
        words = f"{active}\non {min(blocks, MULTIPROCESSORS)} of {MULTIPROCESSORS}"
        colour = TROUBLE if parts > 1 else IDLE
        bars.append((f"{m} × {w}\n{name}", active / most, colour, words))
    columns(page, 510, 344, f"active warps, and multiprocessors in use, n = {n}", bars)
    page.legend(
        ("A: each group reads its own columns", A_COLOUR), ("B: each group reads its own rows", B_COLOUR)
    )


def stream_k(page: Page) -> None:
    blocks, tiles, steps = 6, 14, 8
    gap = 0.1
    rounds = -(-tiles // blocks)
    left, right = (
        timeline(
            page, edge, 34, 350, rounds * steps, blocks,
            {0.5 + i: f"{name} {i}" for i in range(blocks)}, row_height=40, below="steps along k",
        )
        for edge, name in ((62, "SM"), (496, "block"))
    )  # fmt: skip
    left.title(f"{tiles} whole tiles on {blocks} multiprocessors: {rounds * steps} steps")
    for tile in range(tiles):
        start = tile // blocks * steps
        bar(left, start + gap, start + steps, tile % blocks, C_COLOUR, str(tile))
    for block in range(tiles % blocks, blocks):
        bar(left, (rounds - 1) * steps + gap, rounds * steps, block, IDLE)

    # As in the kernel: the tiles of the incomplete round and of one more round are cut into equal shares; the
    # other tiles stay whole.
    remaining = tiles % blocks
    shared = remaining + blocks if remaining else 0
    share, larger = divmod(shared * steps, blocks)
    ends, parts = [], 0
    for block in range(blocks):
        step, now = block * share + min(block, larger), 0
        end = (block + 1) * share + min(block + 1, larger)
        while step < end:
            length = min(steps - step % steps, end - step)
            is_part = length < steps
            parts += is_part
            colour = B_COLOUR if is_part else C_COLOUR
            bar(right, now + gap, now + length, block, colour, str(step // steps))
            step, now = step + length, now + length
        for tile in range(shared + block, tiles, blocks):
            bar(right, now + gap, now + steps, block, C_COLOUR, str(tile))
            now += steps
        ends.append(now)
    right.title(f"stream-k: {max(ends)} steps; {parts} parts must be added")
    for panel in (left, right):
        panel.line([(max(ends), 0), (max(ends), blocks)], dashes="2 2")
    page.legend(("a whole tile and its number", C_COLOUR), ("a part of a tile", B_COLOUR), ("idle", IDLE))


def wmma(page: Page) -> None:
    edge, ks, now = 16, 64, 1
    left, start = product(page, 40, 34, 3.6, edge, edge, ks, gap=6, step=edge)
    left.title("a warp's 16 × 16 sums, and 64 values of k")
    for step in range(ks // edge):
        k0 = start + step * edge
        left.box(k0, 0, edge, edge, A_COLOUR if step == now else pale(A_COLOUR))
        left.box(0, k0, edge, edge, B_COLOUR if step == now else pale(B_COLOUR))
        left.text(k0 + edge / 2, edge / 2, str(step + 1), 14, colour="white" if step == now else INK)
        left.text(edge / 2, k0 + edge / 2, str(step + 1), 14)
    left.box(0, 0, edge, edge, pale(C_COLOUR))

    # One multiply-add of each lane: 32. One multiplication of matrices: 16 x 16 x 16.
    bars = []
    for name, number, colour in (("FMA", WARP, IDLE), ("mma_sync", edge**3, C_COLOUR)):
        bars.append((name, number / 5000, colour, f"{number:,}"))
    columns(page, 510, 344, "multiply-adds by one call of a warp", bars)
    page.legend(("A", A_COLOUR), ("B", B_COLOUR), ("C: the sums of one warp", pale(C_COLOUR)))


def mma(page: Page) -> None:
    bk, piece_elements, rows = 32, 8, 8
    pieces, wide, wanted = bk // piece_elements, 4, 1  # pieces in a row; words in a piece
    side_by_side = 8 // pieces  # rows that fill one line of all banks

    def swizzled_place(row: int, piece: int) -> int:
        return piece ^ row // side_by_side % pieces

    for left, name, place in (
        (24, "in order", lambda row, piece: piece),
        (232, "swizzled", swizzled_place),
    ):
        words = [(row * pieces + place(row, wanted)) * wide + w for row in range(rows) for w in range(wide)]
        lines = rows // side_by_side
        panel = page.panel(left, 66, 184, 184, (0, BANKS // wide), (0, lines))
        panel.title(f"{name}: {several(turns(words), 'turn')}")
        for row in range(rows):
            for piece in range(pieces):
                x, y = row % side_by_side * pieces + place(row, piece), row // side_by_side
                if piece == wanted:
                    panel.box(x, y, 1, 1, A_COLOUR)
                panel.text(
                    x + 0.5,
                    y + 0.5,
                    f"{row}\n{'abcd'[piece]}",
                    11,
                    colour="white" if piece == wanted else INK,
                )
        panel.grid(lines, BANKS // wide)
        panel.below(ticks={0.9: "banks 0–3", BANKS // wide - 0.6: "28–31"}, size=11)

    # The lane that holds each sum of a 16 x 8 matrix, as in PTX ISA, "Matrix Fragments for mma.m16n8k16".
    right = page.panel(560, 48, 200, 240, (0, 8), (0, 16))
    right.title("which lane holds which sum")
    marked = 5
    for row in range(16):
        for pair in range(4):
            lane = row % 8 * 4 + pair
            if lane == marked:
                right.box(pair * 2, row, 2, 1, C_COLOUR)
            right.text(pair * 2 + 1, row + 0.5, str(lane), 11, colour="white" if lane == marked else INK)
    right.grid(16, 8, 2)
    page.legend(("piece b of 8 rows, read together by ldmatrix", A_COLOUR), ("the sums of lane 5", C_COLOUR))


def mma_tf32(page: Page) -> None:
    rows, pieces, wide, read = 4, 8, 4, (0, 1)  # pieces in a row; words in a piece; pieces that 8 lanes read

    for left, name, place in (
        (24, "in order", lambda row, piece: piece),
        (232, "swizzled", lambda row, piece: piece ^ row % 4 * 2),
    ):
        words = [
            (row * pieces + place(row, piece)) * wide + w
            for row in range(rows)
            for piece in read
            for w in range(wide)
        ]
        panel = page.panel(left, 66, 184, 184, (0, BANKS // wide), (0, rows))
        panel.title(f"B's tile {name}: {several(turns(words), 'turn')}")
        for row in range(rows):
            for piece in range(pieces):
                x, is_read = place(row, piece), piece in read
                if is_read:
                    panel.box(x, row, 1, 1, B_COLOUR)
                text = f"{row}\n{'abcdefgh'[piece]}"
                panel.text(x + 0.5, row + 0.5, text, 11, colour="white" if is_read else INK)
        panel.grid(rows, BANKS // wide)
        panel.below(ticks={0.9: "banks 0–3", BANKS // wide - 0.6: "28–31"}, size=11)

    # Column n of multiplication v is column 4 n + v of 32. Lane i holds the sums of columns 2 i and 2 i + 1.
    right = page.panel(520, 66, 310, 184, (0, 32), (0, wide))
    right.title("the columns of each multiplication")
    for v in range(wide):
        for n in range(8):
            is_marked = n // 2 == 1
            right.box(4 * n + v, v, 1, 1, C_COLOUR if is_marked else pale(C_COLOUR))
    right.grid(wide, 32, edge=INK)
    right.below(ticks={column + 0.5: str(column) for column in (0, 8, 15, 23, 31)}, size=11)
    right.beside(names={v + 0.5: str(v) for v in range(wide)})
    page.legend(
        ("what 8 lanes read: pieces a and b of 4 rows", B_COLOUR),
        ("a multiplication's columns of C", pale(C_COLOUR)),
        ("those of lane 1", C_COLOUR),
    )


def register_operand(page: Page) -> None:
    rows, pieces, wide = 4, 8, 4  # pieces in a row of B's tile; words in a piece
    for left, name, read in ((24, "neighbouring pieces", (0, 1)), (444, "pieces 4 apart", (0, 4))):
        words = [
            (row * pieces + (piece ^ row)) * wide + w
            for row in range(rows)
            for piece in read
            for w in range(wide)
        ]
        panel = page.panel(left, 66, 380, 184, (0, BANKS // wide), (0, rows))
        panel.title(f"{name}: {several(turns(words), 'turn')}")
        for row in range(rows):
            for piece in range(pieces):
                x, is_read = piece ^ row, piece in read
                if is_read:
                    panel.box(x, row, 1, 1, B_COLOUR)
                text = f"k {row}\n{'abcdefgh'[piece]}"
                panel.text(x + 0.5, row + 0.5, text, 11, colour="white" if is_read else INK)
        panel.grid(rows, BANKS // wide)
        panel.below(ticks={0.9: "banks 0–3", BANKS // wide - 0.6: "28–31"}, size=11)
    page.legend(("what a warp reads: 4 words of each of two pieces in 4 rows", B_COLOUR))


def aligned_copy(page: Page) -> None:
    in_piece, rows, length = 8, 10, 2049
    copied_length = -(-length // 64) * 64  # rows of the copy begin at multiples of 128 bytes
    for left, title, of_row in (
        (100, f"the first 8 elements of rows of {length:,}", length),
        (490, "the same elements in the copy", copied_length),
    ):
        panel = page.panel(left, 66, 320, 230, (0, 2 * in_piece), (0, rows))
        panel.title(title)
        for row in range(rows):
            first = row * of_row % in_piece
            panel.box(first, row, in_piece, 1, pale(A_COLOUR) if first else A_COLOUR)
        for piece in range(3):
            panel.box(piece * in_piece - 0.05, 0, 0.1, rows, INK)
        panel.below(ticks={(i + 0.5) * in_piece: "a piece of 16 bytes" for i in range(2)}, size=11)
        panel.beside(names={row + 0.5: f"row {row}" for row in range(rows)})
    page.legend(("fill a piece: the copy engine takes the row", A_COLOUR), ("in two pieces", pale(A_COLOUR)))


def float8(page: Page) -> None:
    # Two warpgroups take turns at the tensor cores: cycles of a stage with 128 columns, and of its additions.
    multiplying, adding, rounds = 256, 64, 3
    names = {0.5: "warpgroup 0", 1.5: "warpgroup 1"}
    left = timeline(page, 110, 96, 360, 2 * rounds * multiplying + adding, 2, names, 44, "cycles →")
    for turn in range(2 * rounds):
        begin, row = turn * multiplying, turn % 2
        bar(left, begin, begin + multiplying, row, C_COLOUR, str(turn // 2))
        bar(left, begin + multiplying, begin + multiplying + adding, row, A_COLOUR)
    left.text(0, 0, "one multiplies a stage while the other one adds", align="start", weight="bold", dy=-12)

    # The relative error of a sum of equal products, in numbers of 14 bits that are cut.
    def cut(number: float) -> float:
        mantissa, exponent = math.frexp(number)
        return math.ldexp(math.floor(mantissa * 2**14), exponent - 14)

    ks, group, value, largest = 4096, 32, 0.6875 * 0.8125, 0.1
    right = page.panel(560, 40, 270, 224, (0, ks), (largest, 0))
    right.title("the error of a long sum")
    for i, (name, colour, together) in enumerate(
        (("one sum of 14 bits", TROUBLE, ks), ("float sums of 128 products", C_COLOUR, 128))
    ):
        points, whole, part = [], 0.0, 0.0
        for k in range(group, ks + 1, group):
            unit = math.ldexp(1.0, math.frexp(max(part, value))[1] - 1 - 13)
            part = cut(unit * (group * math.floor(value / unit) + math.floor(part / unit)))
            points.append((k, 1 - (whole + part) / (k * value)))
            if k % together == 0:
                whole, part = float32(whole + part), 0.0
        right.line(points, colour, 2)
        y = largest * (0.95 - 0.09 * i)
        right.line([(150, y), (550, y)], colour, 2)
        right.text(550, y, name, 11, align="start", dx=6)
    right.below(
        f"number of products (each {value:.3f})",
        ticks={k: str(k) for k in range(0, ks + 1, 1024)},
        line=True,
        size=11,
    )
    right.beside(names={step / 100: f"{step}%" for step in range(0, 11, 2)})
    right.line([(0, 0), (0, largest)])
    page.legend(("multiply, on tensor cores", C_COLOUR), ("add to float sums", A_COLOUR))


def full_waves(page: Page) -> None:
    edge, multiprocessors, in_row = 1536, 132, 12
    in_column = multiprocessors // in_row

    def cut(panel: Panel, rows: Iterable[float], columns: Iterable[float], gap: float) -> None:
        """Draw white lines at these rows and columns."""
        for x in columns:
            panel.box(x - gap / 2, 0, gap, panel.y[1], "white")
        for y in rows:
            panel.box(0, y - gap / 2, panel.x[1], gap, "white")

    for left, rows, columns in ((64, 128, 256), (484, 144, 128)):
        tiles = -(-edge // rows) * -(-edge // columns)
        panel = page.panel(left, 66, 200, 200, (0, edge), (0, edge))
        panel.title(f"{tiles} tiles of {rows} × {columns}")
        panel.box(0, 0, edge, edge, C_COLOUR)
        cut(panel, range(rows, edge, rows), range(columns, edge, columns), 16)
        places = page.panel(left + 220, 66, 130, 200, (0, in_row), (0, in_column))
        places.title(f"{multiprocessors} multiprocessors")
        places.box(0, 0, in_row, in_column, IDLE)
        places.box(0, 0, in_row, tiles / in_row, C_COLOUR)  # whole rows, in both cases
        cut(places, range(1, in_column), range(1, in_row), 0.2)
    page.legend(("a tile of C, 1536 × 1536, and a multiprocessor that has one", C_COLOUR), ("idle", IDLE))


def dmma(page: Page) -> None:
    bk, padding, rows, k = 16, 4, 4, 4
    words_each = 2  # a double is two words
    for left, pitch, name in (
        (24, bk, "rows of 16 doubles"),
        (444, bk + padding, "4 doubles of padding after each"),
    ):
        words = [
            (row * pitch + k + column) * words_each + half
            for row in range(rows)
            for column in range(4)
            for half in range(words_each)
        ]
        unused = [
            (row * pitch + bk + column) * words_each + half
            for row in range(rows - 1)
            for column in range(pitch - bk)
            for half in range(words_each)
        ]
        lines = -(-rows * pitch * words_each // BANKS)
        count = turns(words)
        panel = page.panel(left, 66, 400, lines * 30, (0, BANKS), (0, lines))
        panel.title(f"{name}: {several(count, 'turn')}")
        colour = C_COLOUR if count == 1 else TROUBLE
        shared_memory(panel, words, lines, colour, "16 lanes read 4 doubles of 4 rows", unused)
    page.legend(("words that half a warp reads", INK), ("padding, not used", PADDING))


def dmma_pipelined(page: Page) -> None:
    pieces, words, rows = 8, 4, 8  # pieces of 16 bytes in a row, and words in a piece
    for left, two_rows in ((76, (0, 1)), (466, (0, 4))):
        read = [(row, piece ^ row) for row in two_rows for piece in range(4)]
        count = turns((row * pieces + x) * words + word for row, x in read for word in range(words))
        panel = page.panel(left, 66, 300, 200, (0, pieces), (0, rows))
        panel.title(f"8 lanes read rows {two_rows[0]} and {two_rows[1]}: {several(count, 'turn')}")
        for row in range(rows):
            for piece in range(pieces):
                x = piece ^ row
                is_read = (row, x) in read
                if is_read:
                    panel.box(x, row, 1, 1, A_COLOUR if count == 1 else TROUBLE)
                panel.text(x + 0.5, row + 0.5, str(piece), 11, colour="white" if is_read else INK)
        panel.grid(rows, pieces)
        panel.beside(names={row + 0.5: f"row {row}" for row in range(rows)})
        panel.below(ticks={0.6: "banks 0–3", pieces - 0.6: "28–31"}, size=11)
    page.legend(("pieces 0 to 3 of both rows, which 8 lanes read together", A_COLOUR))


def dmma_specialized(page: Page) -> None:
    step, pause, rounds = 8, 2, 3  # multiplications of a warp between pauses; both units are arbitrary
    names = {0.5: "warp 0", 1.5: "warp 4", 2.5: "tensor cores"}
    total = rounds * (2 * step + pause)
    for edge, drifts, title in ((100, False, "a barrier for all"), (530, True, "barriers of each stage")):
        panel = timeline(page, edge, 66, 310, total, 3, names, 40, "time →")
        panel.text(0, 0, title, align="start", weight="bold", dy=-12)
        now = 0
        for turn in range(2 * rounds):
            warp = turn % 2
            bar(panel, now, now + step, warp, A_COLOUR, str(turn // 2))
            bar(panel, now, now + step, 2, C_COLOUR)
            now += step
            if drifts:
                bar(panel, now, now + pause, warp, PADDING)
            elif warp == 1:
                for row in range(2):
                    bar(panel, now, now + pause, row, PADDING)
                bar(panel, now, now + pause, 2, IDLE)
                now += pause
    page.legend(("multiplies", A_COLOUR), ("waits for a tile, fetches", PADDING), ("idle", IDLE))


def wgmma(page: Page) -> None:
    bn, bk, rows, step = 128, 64, 8, 1  # the second of four instructions for a stage is marked
    row_bytes, piece_bytes, element_bytes, instruction_k, band_columns = 128, 16, 2, 16, 64
    pieces, words = row_bytes // piece_bytes, piece_bytes // 4  # pieces in a row, words in a piece
    group_bytes, band_bytes = 8 * row_bytes, bk * row_bytes

    # Eight rows of A's tile as the copy engine stores them, and the pieces that the instruction reads.
    per_step = instruction_k * element_bytes // piece_bytes
    wanted = range(step * per_step, (step + 1) * per_step)
    taken = turns(
        (row * pieces + (wanted[0] ^ row)) * words + word for row in range(rows) for word in range(words)
    )
    left = page.panel(24, 66, 184, 184, (0, pieces), (0, rows))
    left.title(f"8 rows of A's tile, swizzled:\n8 pieces {'abcdefgh'[wanted[0]]} in {several(taken, 'turn')}")
    for row in range(rows):
        for piece in range(pieces):
            x = piece ^ row % 8
            if piece in wanted:
                left.box(x, row, 1, 1, A_COLOUR)
            ink = "white" if piece in wanted else INK
            left.text(x + 0.5, row + 0.5, f"{row}\n{'abcdefgh'[piece]}", 9, colour=ink)
    left.grid(rows, pieces)
    left.below(ticks={0.9: "banks 0–3", pieces - 0.6: "28–31"}, size=11)

    # B's tile: bands of 64 columns, one after the other in memory.
    gap = 12
    middle = page.panel(276, 66, 190, 184, (0, bn + gap), (0, bk))
    middle.title(f"B's tile: {bn // band_columns} bands\nof {bk} rows of 128 bytes")
    for band in range(bn // band_columns):
        x = band * (band_columns + gap)
        middle.box(x, step * instruction_k, band_columns, instruction_k, B_COLOUR)
        for row in range(8, bk, 8):
            middle.line([(x, row), (x + band_columns, row)], GRID, 0.5)
        middle.box(x, 0, band_columns, bk, edge=INK)
        middle.text(x + band_columns / 2, bk, f"from byte {band * band_bytes}", 11, dy=14)
    middle.beside(names={row + 4: str(row // 8 * group_bytes) for row in (0, 8, 16, 24)})
    middle.text(0, 38, "group of\n8 rows:\n+ 1024", 11, align="end", dx=-8)

    # The sums of a thread, as in PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16".
    thread = 5
    lane, warp = thread % 32, thread // 32
    right = page.panel(540, 66, 300, 184, (0, bn), (0, 64))
    right.title("64 × 128 sums of a warpgroup;\nblack: the 64 of thread 5")
    right.box(0, warp * 16, bn, 16, pale(C_COLOUR, 0.35))
    for j in range(bn // 8):
        for half in range(2):
            right.box(j * 8 + lane % 4 * 2, warp * 16 + lane // 4 + half * 8, 2, 1, INK)
    for first in range(16, 64, 16):
        right.line([(0, first), (bn, first)])
    right.box(0, 0, bn, 64, edge=INK)
    right.beside(names={number * 16 + 8: f"warp {number}" for number in range(4)})
    right.below(ticks={0: "0", 64: "64", 128: "128"}, size=11)

    # The fields of a descriptor, as in PTX ISA, "Matrix Descriptor Format".
    bits = page.panel(32, 326, 800, 30, (64, 0), (0, 1))
    bits.text(
        32,
        0,
        f"descriptor of B's tile: 64 bits; + {instruction_k * row_bytes} bytes for each next 16 ks",
        13,
        dy=-14,
    )
    bits.box(0, 0, 64, 1, IDLE, edge=INK)
    for low, high, value, name in (
        (0, 14, "address / 16", "where the part begins"),
        (16, 30, f"{band_bytes} / 16", "distance between bands"),
        (32, 46, f"{group_bytes} / 16", "distance between groups"),
        (62, 64, "1", "swizzle:\n128 bytes"),
    ):
        bits.box(low, 0, high - low, 1, pale(B_COLOUR), edge=INK)
        bits.text((low + high) / 2, 0.5, value)
        bits.text((low + high) / 2, 1, f"{name}\nbits {low} to {high - 1}" if low < 62 else name, 11, dy=20)
    page.legend(
        ("A, and", A_COLOUR), ("B: what the second instruction for a stage reads", B_COLOUR),
        ("the sums of a warp", pale(C_COLOUR, 0.35)),
    )  # fmt: skip


def warp_specialized(page: Page) -> None:
    # The durations are invented. With `wgmma` the tensor cores have no work for `restart` after each barrier.
    stages, tiles, copying, restart, gap = 4, 8, 1.3, 0.5, 0.06
    computing = [[2.0, 2.3, 2.0, 2.1, 2.3, 2.0, 2.0, 2.2], [2.2, 2.0, 2.3, 2.0, 2.0, 2.3, 2.1, 2.0]]

    def simulated(together: bool) -> list[list[tuple[float, float]]]:
        """Return begin and end of each copy, then those of each warpgroup's work on each tile.

        `together`: the warpgroups meet after each tile.
        """
        copies: list[tuple[float, float]] = []
        work: list[list[tuple[float, float]]] = [[] for _ in computing]
        for tile in range(tiles):
            free = max(bars[tile - stages][1] for bars in work) if tile >= stages else 0.0
            begin = max(copies[-1][1] if copies else 0.0, free)
            copies.append((begin, begin + copying))
            met = max(bars[-1][1] for bars in work) + restart if tile else 0.0
            for times, bars in zip(computing, work, strict=True):
                ready = met if together or not bars else bars[-1][1]
                start = max(copies[tile][1], ready)
                bars.append((start, start + times[tile]))
        return [copies, *work]

    meeting, alone = simulated(True), simulated(False)
    end, now = (max(bars[-1][1] for bars in result) for result in (meeting, alone))
    names = ("copy engine", "warpgroup 0", "warpgroup 1", "producer", "consumer 0", "consumer 1")
    rows = (0.0, 1.0, 2.0, 4.2, 5.7, 6.7)
    labels = {row + 0.5: name for row, name in zip(rows, names, strict=True)}
    panel = timeline(page, 110, 34, 740, end, 7.9, labels, row_height=34)
    for row, name, bars in zip(rows, names, [*meeting, *alone], strict=True):
        is_copy = name in ("copy engine", "producer")
        for tile, (begin, done) in enumerate(bars):
            before = bars[tile - 1][1] if tile else 0.0
            if begin > before and name != "copy engine":
                bar(panel, before + gap, begin, row, IDLE)
            bar(panel, begin + gap, done, row, B_COLOUR if is_copy else C_COLOUR, str(tile))

    # The first tile's barrier `full`, and the barrier `empty` for which the copy of the last tile waits.
    _, _, _, producer, *consumers = rows
    copies = alone[0]
    for x, to, sign, words, align, shift in (
        (copies[0][1], consumers[1] + 0.5, "▼", "tile 0: full", "start", 6),
        (copies[tiles - 1][0], producer + 0.5, "▲", f"tile {tiles - 1 - stages}: empty", "end", -6),
    ):
        panel.line([(x, producer + 0.5), (x, consumers[1] + 0.5)], TROUBLE, 2)
        panel.text(x, to, sign, 9, colour=TROUBLE)
        panel.text(x, producer + 1.25, words, 11, colour=TROUBLE, align=align, dx=shift)
    panel.line([(now, 3.1), (now, 7.7)], dashes="2 2")
    panel.line([(now, 3.5), (end, 3.5)])
    panel.text(now, 3.5, "◀", 9, align="start")
    panel.text(end, 3.5, "▶", 9, align="end")
    panel.text((now + end) / 2, 3.5, "time saved", dy=12)
    panel.text(
        0, 0, f"wgmma: all meet after each tile, STAGES = {stages}", align="start", weight="bold", dy=-12
    )
    words = "warp-specialized: producer and consumers wait only at barriers of tiles"
    panel.text(0, producer, words, align="start", weight="bold", dy=-12)
    page.legend(
        ("copy a pair of tiles", B_COLOUR),
        ("multiply", C_COLOUR),
        ("wait", IDLE),
        ("a barrier's signal", TROUBLE),
    )


def persistent(page: Page) -> None:
    # One multiprocessor computes three tiles. All durations are invented.
    tiles, ahead, multiply, store, move, gap = 3, 1.0, 4.0, 1.2, 0.4, 0.06
    stores, second = pale(C_COLOUR, 0.5), 4.7
    end = tiles * (ahead + multiply + store)
    names = {0.5: "copies", 1.5: "tensor cores", 2.5: "stores of C",
             second + 0.5: "copies", second + 1.5: "tensor cores", second + 2.5: "stores of C"}  # fmt: skip
    panel = timeline(page, 110, 34, 740, end, 7.9, names, row_height=26)
    now = 0.0
    for tile in range(tiles):
        bar(panel, now + gap, now + multiply, 0, B_COLOUR, f"tile {tile}")
        bar(panel, now + ahead + gap, now + ahead + multiply, 1, C_COLOUR, f"tile {tile}")
        now += ahead + multiply
        bar(panel, now + gap, now + store, 2, stores)
        panel.text(now + store / 2, 2.5, f"tile {tile}")
        bar(panel, now + gap, now + store + ahead if tile < tiles - 1 else now + store, 1, IDLE)
        now += store
    now = ahead
    for tile in range(tiles):
        begin = 0.0 if tile == 0 else now - ahead
        bar(panel, begin + gap, now - ahead + multiply + move, second, B_COLOUR, f"tile {tile}")
        bar(panel, now + gap, now + multiply, second + 1, C_COLOUR, f"tile {tile}")
        bar(panel, now + multiply + gap, now + multiply + move, second + 1, stores)
        moved = now + multiply + move
        bar(panel, moved + gap, moved + store, second + 2, stores)
        panel.text(moved + store / 2, second + 2.5, f"tile {tile}")
        now += multiply + move
    now += store
    panel.line([(now, 3.2), (now, second + 3)], dashes="2 2")
    panel.line([(now, 3.7), (end, 3.7)])
    panel.text(now, 3.7, "◀", 9, align="start")
    panel.text(end, 3.7, "▶", 9, align="end")
    panel.text((now + end) / 2, 3.7, "time saved", dy=12)
    panel.text(0, 0, "warp-specialized: a block for each tile", align="start", weight="bold", dy=-12)
    panel.text(0, second, "persistent: one block", align="start", weight="bold", dy=-12)

    # The tiles of the first round of blocks, and what these blocks read, at n = 8192.
    n, bm, bn, strip_rows, unit, depth = 8192, 128, 256, 16, 128, 6
    tile_rows, tile_columns = n // bm, n // bn
    across = bn // unit  # units of 128 elements in a tile's row

    def in_strips(tile: int) -> Place:
        """Return row and column of a tile, as `tile_at` in hopper.cuh computes them."""
        strip_tiles = strip_rows * tile_columns
        first_row, within = tile // strip_tiles * strip_rows, tile % strip_tiles
        rows = min(strip_rows, tile_rows - first_row)
        return first_row + within % rows, within // rows

    for left, name, order in (
        (60, "warp-specialized: row by row", lambda tile: divmod(tile, tile_columns)),
        (470, f"persistent: strips of {strip_rows} rows of tiles", in_strips),
    ):
        places = [order(tile) for tile in range(MULTIPROCESSORS)]
        rows, cols = {row for row, _ in places}, {col for _, col in places}
        picture, start = product(
            page, left, 310, 2.5, tile_rows, n // unit, depth, gap=3, step=64, names=("A", "B", "")
        )
        picture.cells({(row, col * across + i) for row, col in places for i in range(across)}, C_COLOUR)
        picture.cells({(row, start + k) for row in rows for k in range(depth)}, A_COLOUR)
        picture.cells(
            {(start + k, col * across + i) for col in cols for i in range(across) for k in range(depth)},
            B_COLOUR,
        )
        picture.grid(tile_rows, n // unit, 64)
        picture.text((start + n // unit) / 2, start, name, 13, dy=-14)
        words = (
            f"{MULTIPROCESSORS} tiles read\n{len(rows)} × {bm} rows of A,\n{len(cols)} × {bn} columns of B:\n"
            f"{len(rows) * bm + len(cols) * bn:,} together"
        )
        picture.text(n // unit, 32, words, align="start", dx=14)
    page.legend(
        ("copies of tiles; B", B_COLOUR),
        ("multiplications; C", C_COLOUR),
        ("stores of C", stores),
        ("A", A_COLOUR),
        ("idle", IDLE),
    )


def dependent_launch(page: Page) -> None:
    # Two launches of four blocks, of which the last one has no tile. All durations are invented.
    blocks, begin, set_up, load, store, gap = 4, 1.0, 0.8, 1.1, 0.7, 0.05
    multiply = (3.2, 3.9, 3.5)  # of each tile
    stores, second = pale(C_COLOUR, 0.5), blocks + 1.7

    def simulated(overlaps: bool) -> tuple[list[tuple[int, int, list[float]]], float, float]:
        """Return the blocks of both launches, and when each launch is complete.

        A block is its launch, its multiprocessor, and the times at which it starts, is set up, may load, and
        has loaded, multiplied and stored.
        """
        free, ends, bars = [0.0] * blocks, [0.0], []
        for launch in range(2):
            first = ends[-1] + begin if launch and not overlaps else 0.0
            for block in range(blocks):
                starts = [max(at, first) for at in free]
                place = starts.index(min(starts))
                times = [starts[place]]
                times.append(times[0] + set_up)
                times.append(max(times[1], ends[launch]))
                if block < len(multiply):
                    for duration in (load, multiply[block], store):
                        times.append(times[-1] + duration)
                free[place] = times[-1]
                bars.append((launch, place, times))
            ends.append(max(free))
        return bars, ends[1], ends[2]

    results = [simulated(False), simulated(True)]
    end = results[0][2]
    names = {top + place + 0.5: f"multiprocessor {place}" for top in (0.0, second) for place in range(blocks)}
    panel = timeline(page, 130, 34, 720, end, second + blocks, names, row_height=25)
    colours = (PADDING, IDLE, B_COLOUR, C_COLOUR, stores)
    for top, (bars, complete, _) in zip((0.0, second), results, strict=True):
        for launch, place, times in bars:
            for colour, (start, until) in zip(colours, pairwise(times), strict=False):
                if until > start:
                    words = f"launch {launch + 1}" if colour == C_COLOUR else ""
                    bar(panel, start + gap, until, top + place, colour, words)
        panel.line([(complete, top), (complete, top + blocks)], TROUBLE, 2)
    now = results[1][2]
    panel.line([(now, blocks + 0.2), (now, second + blocks)], dashes="2 2")
    panel.line([(now, blocks + 0.6), (end, blocks + 0.6)])
    panel.text(now, blocks + 0.6, "◀", 9, align="start")
    panel.text(end, blocks + 0.6, "▶", 9, align="end")
    panel.text((now + end) / 2, blocks + 0.6, "time saved", dy=12)
    words = "persistent: launch 2 begins when launch 1 is complete"
    panel.text(0, 0, words, align="start", weight="bold", dy=-12)
    words = "dependent-launch: blocks of launch 2 take free places, and wait"
    panel.text(0, second, words, align="start", weight="bold", dy=-12)
    page.legend(
        ("set up", PADDING),
        ("wait", IDLE),
        ("first copies", B_COLOUR),
        ("multiply", C_COLOUR),
        ("store", stores),
        ("launch 1 is complete", TROUBLE),
    )


def cluster(page: Page) -> None:
    blocks, bm, bn, bk, element_bytes = 2, 128, 256, 64, 2
    half = bn // blocks
    shades = (1.0, 0.45)
    left, start = product(page, 34, 66, 0.7, blocks * bm, bn, bk, gap=26, step=256)
    left.title(f"the {blocks * bm} × {bn} results of a cluster,\nand {bk} values of k")
    for block, shade in enumerate(shades):
        a_ink = "white" if block == 0 else INK
        left.box(start, block * bm, bk, bm, pale(A_COLOUR, shade), edge=INK)
        left.text(start + bk / 2, (block + 0.5) * bm, str(block), 14, colour=a_ink)
        left.box(block * half, start, half, bk, pale(B_COLOUR, shade), edge=INK)
        left.text((block + 0.5) * half, start + bk / 2, str(block), 14)
        left.box(0, block * bm, bn, bm, pale(C_COLOUR, 0.2), edge=INK)
        left.text(bn / 2, (block + 0.5) * bm, f"block {block}")
    left.below("numbers: the block that loads the part")

    # A stage of the ring in the shared memory of each block, in KiB.
    a_kib, half_kib = bm * bk * element_bytes // 1024, bk * half * element_bytes // 1024
    middle = page.panel(318, 66, 300, 230, (0, 10), (0, a_kib + blocks * half_kib))
    middle.title("a stage of the ring in the shared memory\nof each block")
    for block in range(blocks):
        x = block * 6
        middle.box(x, 0, 4, a_kib, pale(A_COLOUR, shades[block]), edge=INK)
        rows = f"A, rows\n{block * bm} to {(block + 1) * bm - 1}"
        middle.text(x + 2, a_kib / 2, rows, colour="white" if block == 0 else INK)
        for loader in range(blocks):
            y = a_kib + loader * half_kib
            middle.box(x, y, 4, half_kib, pale(B_COLOUR, shades[loader]), edge=INK)
            columns_text = f"B, columns\n{loader * half} to {(loader + 1) * half - 1}"
            middle.text(x + 2, y + half_kib / 2, columns_text)
    for loader in range(blocks):
        y = a_kib + (loader + 0.5) * half_kib
        middle.line([(4.1, y), (5.9, y)], INK, 1.5)
        if loader == 0:
            middle.text(5.9, y, "▶", 10, align="end", dx=3)
        else:
            middle.text(4.1, y, "◀", 10, align="start", dx=-3)
        middle.text(5, y, "multicast", 11, dy=-10)
    middle.below(ticks={block * 6 + 2: f"block {block}" for block in range(blocks)})

    # What two neighbouring blocks request for 64 values of k.
    bars = []
    most = 110
    for name, copies_of_b, colour in (("persistent", blocks, IDLE), ("cluster", 1, C_COLOUR)):
        kib = blocks * a_kib + copies_of_b * blocks * half_kib
        bars.append((name, kib / most, colour, f"{kib} KiB"))
    columns(page, 664, 186, "two blocks request", bars, f"for {bk} values of k")
    page.legend(
        ("A: each block loads its own rows", A_COLOUR), ("B: each block loads a half for both", B_COLOUR)
    )


def bf16x9(page: Page) -> None:
    # Number of significant bits of a float32, of parts they are divided into, and of bits of the exponent.
    bits, parts, exponent = 24, 3, 8
    part_bits = bits // parts
    # A float32 as stored in memory: its first significant bit is always 1 and is not stored. Then its parts.
    left = page.panel(14, 72, 330, 184, (0, exponent + bits), (0, 4))
    left.title("x = x0 + x1 + x2, exactly")
    shades = [1.0, 0.65, 0.35]
    for row in range(1 + parts):
        top, height = row + 0.2, 0.6
        left.box(0, top, 1, height, IDLE, edge=INK)
        left.text(0.5, row + 0.5, "±", 11)
        left.box(1, top, exponent, height, IDLE, edge=INK)
        left.text(1 + exponent / 2, row + 0.5, "its exponent" if row > 1 else "exponent")
        for part in range(parts) if row == 0 else [row - 1]:
            begin = 1 + exponent + (max(0, part * part_bits - 1) if row == 0 else 0)
            end = exponent + ((part + 1) * part_bits if row == 0 else part_bits)
            ink = INK if part == 2 else "white"
            left.box(begin, top, end - begin, height, pale(A_COLOUR, shades[part]), edge=INK)
            left.text(
                (begin + end) / 2, row + 0.5, f"{end - begin}" + (" bits" if row == 0 else ""), colour=ink
            )
        if row > 0:
            left.text(17.3, row + 0.5, f"x{row - 1}, a bfloat16", align="start")

    # Nine products of parts, each with its maximum relative to the first product.
    middle = square(page, 392, 64, parts, "x y is nine products", side=192)
    superscript = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    for a in range(parts):
        for b in range(parts):
            power = -part_bits * (a + b)
            middle.box(b, a, 1, 1, pale(C_COLOUR, 0.5 - 0.09 * (a + b)) if power else C_COLOUR)
            size = "2" + str(power).translate(superscript) if power else "1"
            middle.text(b + 0.5, a + 0.5, size, 13, colour=INK if power else "white")
    middle.grid(parts, parts, colour="white", line=1, edge="white")
    middle.below(ticks={b + 0.5: f"y{b}" for b in range(parts)})
    middle.beside(names={a + 0.5: f"x{a}" for a in range(parts)})

    # The error of a sum of equal numbers, whose intermediate sums are rounded to 24 bits or truncated.
    ks, together, value, largest = 4096, 32, float32(0.1), 2200
    right = page.panel(664, 34, 180, 230, (0, ks), (largest, 0))
    right.title("a long sum")
    for i, (name, colour, errors) in enumerate(
        (
            ("truncated, one sum", TROUBLE, error_of_sum(value, ks, ks, truncated)),
            ("rounded, one sum (FMA)", B_COLOUR, error_of_sum(value, ks, ks, float32)),
            ("truncated, sums of 32", C_COLOUR, error_of_sum(value, ks, together, truncated)),
        )
    ):
        right.line(zip(range(together, ks + 1, together), errors, strict=True), colour, 2)
        y = largest - 130 * i - 60
        right.line([(100, y), (420, y)], colour, 2)
        right.text(420, y, name, 11, align="start", dx=6)
    right.below(
        f"number of terms (each {value:.1f})",
        ticks={k: str(k) for k in range(0, ks, 1000)},
        line=True,
        size=11,
    )
    right.beside(names={error: str(error) for error in range(0, largest, 500)})
    right.line([(0, 0), (0, largest)])
    right.text(0, largest / 2, "relative error, in 2⁻²⁴", dx=-52, upwards=True)


def tensor_stream_k(page: Page) -> None:
    blocks, tiles, steps, gap = 6, 14, 8, 0.1
    rounds = -(-tiles // blocks)
    left, right = (
        timeline(
            page, edge, 34, 350, rounds * steps, blocks,
            {0.5 + i: f"block {i}" for i in range(blocks)}, row_height=40, below="steps along k",
        )
        for edge in (62, 496)
    )  # fmt: skip
    left.title(f"persistent: {rounds * steps} steps")
    for tile in range(tiles):
        start = tile // blocks * steps
        bar(left, start + gap, start + steps, tile % blocks, C_COLOUR, str(tile))
    for block in range(tiles % blocks, blocks):
        bar(left, (rounds - 1) * steps + gap, rounds * steps, block, IDLE)

    # As in schedule.cuh: the tiles of the incomplete round and of one more round are cut into equal shares. A
    # block walks through its share backwards. Then it computes its whole tiles.
    cut = tiles % blocks + blocks
    share, larger = divmod(cut * steps, blocks)
    ends = []
    for block in range(blocks):
        first, end = (number * share + min(number, larger) for number in (block, block + 1))
        now = 0
        while end > first:
            tile = (end - 1) // steps
            begin = max(tile * steps, first)
            is_last = end == (tile + 1) * steps
            colour = C_COLOUR if end - begin == steps else A_COLOUR if is_last else B_COLOUR
            bar(right, now + gap, now + end - begin, block, colour, str(tile))
            now, end = now + end - begin, begin
        for tile in range(cut + block, tiles, blocks):
            bar(right, now + gap, now + steps, block, C_COLOUR, str(tile))
            now += steps
        ends.append(now)
    right.title(f"tensor-stream-k: {max(ends)} steps")
    for panel in (left, right):
        panel.line([(max(ends), 0), (max(ends), blocks)], dashes="2 2")
    page.legend(
        ("a whole tile", C_COLOUR),
        ("a part, left for another block", B_COLOUR),
        ("a part to which those are added", A_COLOUR),
        ("idle", IDLE),
    )


def tensor_split_k(page: Page) -> None:
    blocks, clusters, edge, marked = 8, 8, 64, 2
    part_kib = edge * edge * 4 // 1024

    # Each block's sums in eighths, and the eighth that one block adds up.
    left = page.panel(70, 66, 250, 250, (0, blocks), (0, blocks))
    left.title(f"the sums of {blocks} blocks of a cluster,\nin shared memory")
    left.box(0, 0, blocks, blocks, pale(C_COLOUR, 0.15))
    left.box(0, marked, blocks, 1, C_COLOUR)
    left.grid(blocks, blocks)
    left.beside(names={row + 0.5: f"eighth {row}" for row in range(blocks)})
    left.below("block", ticks={block + 0.5: str(block) for block in range(blocks)})
    left.text(blocks / 2, marked + 0.5, f"added up by block {marked}", colour="white", weight="bold")

    # The same eighth in the parts of all clusters.
    middle = page.panel(436, 66, 160, 250, (0, 2), (0, clusters))
    middle.title(f"eighth {marked} of {clusters} clusters,\nin device memory")
    for part in range(clusters):
        middle.box(0, part + 0.1, 0.62, 0.8, C_COLOUR)
        middle.line([(0.66, part + 0.5), (1.2, clusters / 2)], GRID)
    middle.beside(names={part + 0.5: f"cluster {part}" for part in range(clusters)})
    middle.box(1.2, clusters / 2 - 0.5, 0.8, 1, A_COLOUR)
    middle.text(1.6, clusters / 2, "last one", colour="white", weight="bold")
    middle.text(1.6, clusters / 2 + 1.05, "adds in order")

    # The parts of a product of 64 x 64 x 65536: in `tensor-stream-k` the last block keeps its own.
    bars = [
        (name, kib / (MULTIPROCESSORS * part_kib), colour, f"{kib} KiB")
        for name, kib, colour in (
            ("tensor-\nstream-k", (MULTIPROCESSORS - 1) * part_kib, IDLE),
            ("tensor-\nsplit-k", clusters * part_kib, C_COLOUR),
        )
    ]
    columns(page, 664, 186, "parts in device memory", bars)
    page.legend(("sums", C_COLOUR), ("the cluster whose warp comes last", A_COLOUR))


def float32(number: float) -> float:
    """Return the number rounded to the nearest float32."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def truncated(number: float) -> float:
    """Return a number rounded towards zero to a float32."""
    bits = struct.unpack("<Q", struct.pack("<d", number))[0]
    return float(struct.unpack("<d", struct.pack("<Q", bits >> 29 << 29))[0])


def error_of_sum(
    value: float, terms: int, together: int, to_float32: Callable[[float], float]
) -> list[float]:
    """Return the relative error of a sum of equal terms, in 2⁻²⁴, after every 32 terms.

    Partial sums of up to `together` terms are converted with `to_float32`; the sum of these is rounded.
    """
    errors, whole, part = [], 0.0, 0.0
    for term in range(1, terms + 1):
        part = to_float32(part + value)
        if term % 32 == 0:
            errors.append(abs(float32(whole + part) / (term * value) - 1) * 2**24)
        if term % together == 0:
            whole, part = float32(whole + part), 0.0
    return errors


# Each function has the name of a file in cuda_src, whose number its figure gets.
FIGURES = (cpu_simple, cpu_block, numpy, naive, coalesced, block_coarse, block_coarse_local, register_tile,
           tiled, tiled_transposed, tiled_padded, tiled_bounds, tiled_dynamic, tiled_coarse, double_buffer,
           shared_double_buffer, tile_1d, tile_2d, vectorized, warp_tile, row_tile, async_ring,
           fragment_prefetch, lean_loop, async_copy, tma, sliced_k, stream_k, wmma, mma, dmma,
           wgmma, warp_specialized, persistent, dependent_launch, cluster, bf16x9, tensor_stream_k, mma_tf32,
           register_operand, aligned_copy, float8, full_waves, dmma_pipelined, dmma_specialized,
           tensor_split_k)  # fmt: skip


def main() -> None:
    """Write all figures."""
    parser = argparse.ArgumentParser(description="Draw the figures of docs/ladder.md.")
    parser.add_argument("folder", nargs="?", type=Path, default=HERE, help="default: beside this file")
    folder = parser.parse_args().folder
    for draw in FIGURES:
        page = Page()
        draw(page)
        (kernel,) = KERNELS.glob(f"[0-9][0-9]_{draw.__name__}.*")
        (folder / f"{kernel.stem}.svg").write_text(page.svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
