"""The sizes at which `verify` and `check` try kernels if the user names none: one list for both."""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cudamm.errors import KernelError, UsageError
from cudamm.kernels.method import ELEMENT_TYPES, SIZE_NAMES
from cudamm.source.c_text import without_comments
from cudamm.source.expression import LARGEST_INT, MOST_THREADS

if TYPE_CHECKING:
    from cudamm.kernels.launch_plan import Launch
    from cudamm.kernels.method import Method
    from cudamm.kernels.problem import Problem
    from cudamm.kernels.variant import Variant

VERIFIED_SIZES = ("17x31x13", "33x65x129", "100x1x50", "5x130x1", "64x64x64", "96x128x64", "1x1x1")
"""Sizes for most kernels: primes; near multiples of a warp; one column; few rows, and K = 1; a square;
several complete tiles in each direction; the smallest, which is last because it shows least of a mistake."""

SQUARE_SIZES = ("17", "33", "64", "100", "1")
"""Sizes for kernels that multiply square matrices only."""

_SMALL_EDGES = (32, 24, 21, 16, 13, 8, 7, 5, 4, 3, 2)
"""Edges of matrices for kernels that allow few sizes, such as those with one block for a whole matrix."""

_SMALL_SIZES = ("32x32x32", "24x16x40", "31x29x34", "16x16x16", "13x15x9", "8x8x8", "5x7x6", "4x4x4", "3x2x5")
"""The same for matrices that need not be square."""

_MOST_VARIANTS = 32
"""Number of variants whose tiles are looked at, so that a sweep begins soon."""

_FEWEST = 3
"""Number of sizes beyond 1x1x1 below which small sizes are added."""

_MAIN = re.compile(r"\bmain\s*\(")
"""The function with which a program begins, and which has its sizes."""

_LARGEST_USUAL_TILE = 32
"""Edge of the largest tile for which VERIFIED_SIZES and SQUARE_SIZES have sizes with several tiles."""

_WITHIN_ONE_TILE = frozenset(("17x31x13", "64x64x64", "96x128x64", "17", "64"))
"""Those of these sizes that show nothing of a kernel with larger tiles that others do not show."""

_LONG_EDGE = 4096
"""Extent of matrices at which a grid shows how large a tile is, and the longest tile that is looked for."""

_USUAL_STEP = 32
"""Number of terms of a step of K, for kernels that do not say it."""

AFFORDABLE_WORK = 2**25
"""Largest number of multiplications of a size that nobody named; the processor takes about a second."""

AFFORDABLE_OWN_WORK = 2**27
"""The same for the size that a user's program has; the processor takes a few seconds."""

_MOST_OWN = 6
"""Number of sizes of a program that are run."""

_FEW_TERMS = 40
"""Terms of each sum at a large size of a grid of plain numbers, which K does not change."""


def usual_sizes(variants: Sequence[Variant]) -> tuple[str, ...]:
    """Return the sizes at which variants are verified or checked if the user names none.

    For a user's kernel whose tiles are so large that it has one tile at most of them, sizes with several
    tiles are added, with and without a remainder. Sizes that no variant accepts are replaced by smaller ones.
    The sizes that a user's program has are added, if they can be afforded; one whose grid is empty comes
    first, because that is then the first mistake.
    """
    chosen = list(SQUARE_SIZES if are_square_only(variants) else VERIFIED_SIZES)
    own: list[str] = []
    empty: list[str] = []
    users = [variant for variant in variants if not variant.method.builtin][:_MOST_VARIANTS]
    are_users = bool(users) and not any(variant.method.builtin for variant in variants)
    if are_users and all(_has_large_tile(variant) for variant in users):
        chosen = [size for size in chosen if size not in _WITHIN_ONE_TILE]
    for variant in users:
        chosen += _with_several_tiles(variant, chosen)
        chosen += _with_fixed_extents(variant)
        for size in variant.method.program_sizes[:_MOST_OWN]:
            if all(is_affordable(each, size) for each in users):
                (empty if cannot_launch(variant, size) else own).append("x".join(map(str, size)))
            elif not any(extent.names & {*SIZE_NAMES} for extent in variant.method.grid):
                few = min(size[2], _FEW_TERMS)
                chosen.append(f"{size[0]}x{size[1]}x{few}")  # too few blocks show only there
    if are_users:
        chosen = _accepted(users, chosen)
    known = {*own, *empty}
    return tuple(dict.fromkeys((*empty, *(size for size in chosen if _full(size) not in known), *own)))


def is_affordable(variant: Variant, size: tuple[int, int, int]) -> bool:
    """Return whether a program's size takes seconds here; also if its launch fails before it begins."""
    if math.prod(size) <= AFFORDABLE_OWN_WORK:
        return True
    m, n, k = size
    return max(m * k, k * n, m * n) <= AFFORDABLE_WORK and cannot_launch(variant, size)


def cannot_launch(variant: Variant, size: tuple[int, int, int]) -> bool:
    """Return whether the launch fails at a size: the grid is empty, or the program's block is too large."""
    return bool(_why_not_launched(variant, size))


def _why_not_launched(variant: Variant, size: tuple[int, int, int]) -> str:
    """Return why the launch fails at a size, such as an empty grid; empty if it does not."""
    try:
        _planned(variant, "x".join(map(str, size)))
    except KernelError as error:
        return str(error)
    except UsageError:
        return ""
    return ""


def own_size_not_run(variant: Variant, sizes: Sequence[tuple[int, ...]]) -> list[str]:
    """Return a sentence on each size of a program that is not among sizes."""
    method, own = variant.method, variant.method.program_size
    if own is None and method.launched_at[1] and _MAIN.search(without_comments(method.source)):
        usual = {tuple(map(int, _full(size).split("x"))) for size in usual_sizes([variant])}
        is_named = not usual.issuperset(sizes)  # by the user
        why = (
            "the program's own size, if it has a single one, was not found in the file and not tried; -n "
            "names it, such as -n 96x80x64 for M x N x K"
        )
        return [] if is_named else [why]
    return [_why_not_run(variant, size) for size in method.program_sizes if size not in sizes]


def _why_not_run(variant: Variant, own: tuple[int, int, int]) -> str:
    """Return a sentence on a size of the program that is not run, with the option that runs it."""
    option = f"-n {own[0]}" if len(set(own)) == 1 else f"-n {'x'.join(map(str, own))}"
    size = " x ".join(map(str, own))
    m, n, k = own
    if (largest := max(m * k, k * n, m * n)) > LARGEST_INT:
        return (
            f"the program's own size, {size}, was not run: a matrix has {largest:,} elements, and cudamm "
            f"runs at most {LARGEST_INT:,}. That is the largest int: an index that the kernel computes as "
            "int overflows at this size; compute it as size_t"
        )
    why = "" if is_affordable(variant, own) else ", because it is large for a processor"
    return f"the program's own size, {size}, was not run{why}; {option} runs it, or says how long it takes"


def own_sizes_not_run(chosen: Sequence[tuple[Variant, Problem]]) -> list[str]:
    """Return remarks on programs' own sizes that are not among those that are run."""
    tried = list(dict.fromkeys(problem.shape.extents for _, problem in chosen))
    methods = {variant.method: variant for variant, _ in chosen}
    texts = [text for variant in methods.values() for text in own_size_not_run(variant, tried)]
    return [f"{text[0].upper()}{text[1:]}." for text in dict.fromkeys(texts)]


def own_size_or(variants: Iterable[Variant], default: str) -> str:
    """Return the size of the user's program, as M x N x K, if all variants are of it; else a default."""
    sizes = {None if variant.method.builtin else variant.method.program_size for variant in variants}
    own = sizes.pop() if len(sizes) == 1 else None
    return default if own is None else "x".join(map(str, own))


def differing_sizes(variants: Iterable[Variant], used: str) -> list[str]:
    """Return a remark if the user's programs have several sizes, so that the figures are for none of them.

    Args:
        used: the size that is used, such as 1024.
    """
    users = [variant.method for variant in variants if not variant.method.builtin]
    sizes = {method.program_size for method in users if method.program_size}
    if len(sizes) < 2:
        return []
    return [f"The programs have different sizes, and the figures are for {used}: -n names another size."]


def not_verified(variants: Iterable[Variant], verified: Collection[tuple[int, ...]] = ()) -> list[str]:
    """Return a remark on each user's kernel whose figures are shown although its product may be wrong.

    Args:
        verified: sizes at which its product is compared with a reference by the same command; a kernel whose
            program has one of these sizes gets no remark.
    """
    remarks = []
    variants_of: dict[Method, list[Variant]] = {}
    for variant in variants:
        variants_of.setdefault(variant.method, []).append(variant)
    for method, its_variants in variants_of.items():
        own, file = method.program_size, method.path.name
        if method.builtin or method.runs_on_host or own in verified:
            continue
        size = " x ".join(map(str, own or ()))
        # Of several values of a constant, some may give too large a block.
        reasons = [_why_not_launched(variant, own) for variant in its_variants] if own is not None else [""]
        if all(reasons):
            reason = reasons[0]
            remarks.append(f"{file} at its program's own size, {size}: {reason}.")
        elif verified:
            at = ", ".join("x".join(map(str, shape)) for shape in verified)
            others = f"other sizes; its program has {size}" if own is not None else "other sizes"
            remarks.append(
                f"{file} was verified at {at} only: cudamm verify {method.in_commands} tries {others}."
            )
        else:
            remarks.append(
                f"{file} was not verified here: cudamm verify {method.in_commands} reports whether its "
                "product is right."
            )
    return list(dict.fromkeys(remarks))


def are_square_only(variants: Sequence[Variant]) -> bool:
    """Return whether the requirements of every variant hold for square matrices only."""

    def holds(variant: Variant, m: int, n: int, k: int) -> bool:
        try:
            variant.padded(ELEMENT_TYPES[variant.method.element_types[0]], m, n, k)
        except UsageError:
            return False
        return True

    def is_square_only(variant: Variant) -> bool:
        for edge in (2048, 16):  # a multiple of most tiles; an edge that a single block allows
            shapes = ((edge, edge, 2 * edge), (edge, 2 * edge, edge), (2 * edge, edge, edge))
            if holds(variant, edge, edge, edge):
                return not any(holds(variant, *shape) for shape in shapes)
        return False

    return bool(variants) and all(map(is_square_only, variants))


@dataclass(frozen=True)
class Tile:
    """The part of C that a block computes, and the step of K; 0 for an extent that is not known."""

    m: int
    n: int
    k: int


def tile_of(variant: Variant) -> Tile:
    """Return the tile of a variant, as far as its grid and its requirements show it."""
    step = _multiple(variant, "K")
    if are_square_only([variant]):
        edge = max(_rows_of_a_block(variant, (1, 1, 1), axis) for axis in range(3))
        return Tile(edge, edge, step)
    return Tile(_rows_of_a_block(variant, (1, 0, 0)), _rows_of_a_block(variant, (0, 1, 0)), step)


def _rows_of_a_block(variant: Variant, direction: tuple[int, int, int], axis: int | None = None) -> int:
    """Return how far matrices have to grow in a direction from one growth of the grid to the next.

    Return 0 if the grid does not grow, or grows by several blocks, as one with all blocks in one dimension.

    Args:
        axis: the only axis of the grid that counts; None for all.
    """

    def blocks(further: int) -> int:
        launch = _launch(variant, "x".join(str(_LONG_EDGE + further * step) for step in direction))
        return 0 if launch is None else sum(launch.grid) if axis is None else launch.grid[axis]

    def next_growth(start: int) -> int:
        return bisect.bisect_right(range(_LONG_EDGE), blocks(start), lo=start, key=blocks)

    first = next_growth(0)
    second = next_growth(first) if first < _LONG_EDGE else _LONG_EDGE
    growth = blocks(first) - blocks(0)
    is_steady = second < _LONG_EDGE and blocks(second) - blocks(first) == growth <= len(direction)
    return second - first if is_steady else 0


def _with_several_tiles(variant: Variant, chosen: Sequence[str]) -> Iterator[str]:
    """Yield a size with several tiles and a remainder, and one of complete tiles, as far as none has them."""
    if variant.method.runs_on_host:
        return
    tile, is_square = tile_of(variant), are_square_only([variant])
    step = max(tile.k, _USUAL_STEP)

    def size(m: int, n: int, k: int) -> str:
        return str(max(m, n)) if is_square else f"{m}x{n}x{k}"

    if not any(_has_blocks(variant, each) for each in chosen):
        m, n = (extent or _USUAL_STEP for extent in (tile.m, tile.n))
        remainders = size(2 * m + 2, 4 * n - 5, step + 1), size(m + 2, n + 3, 17)
        suitable = (s for s in remainders if _has_blocks(variant, s) and _is_affordable(variant, s))
        added = next(suitable, "")
        if added:
            chosen = [*chosen, added]
            yield added
    length = max(tile.m, tile.n)
    if not is_square and length and not min(tile.m, tile.n):

        def shows_other_extent(each: str) -> bool:
            m, n, _ = map(int, _full(each).split("x"))
            other, of_grid = (m, n) if tile.n else (n, m)
            return other > -(-of_grid // length) * length

        far, near = 2 * length + 2, length // 8 + 1
        other = size(far, near, 17) if tile.n else size(near, far, 17)
        if not any(map(shows_other_extent, chosen)) and _is_affordable(variant, other):
            yield other  # the grid may have blocks for the wrong one of M and N
    if min(tile.m, tile.n) <= 1 or any(_is_complete(tile, each) for each in chosen):
        return
    single = size(tile.m, (1 if is_square else 2) * tile.n, step)
    complete = size(2 * tile.m, (2 if is_square else 3) * tile.n, 2 * step)
    yield from (each for each in (single, complete) if _is_affordable(variant, each))


def _has_large_tile(variant: Variant) -> bool:
    tile = tile_of(variant)
    return min(tile.m, tile.n) > _LARGEST_USUAL_TILE


def _is_complete(tile: Tile, size: str) -> bool:
    """Return whether a size has several complete tiles in each direction, so that nothing is padded."""
    m, n, _ = map(int, _full(size).split("x"))
    return all(extent % length == 0 and extent > length for extent, length in ((m, tile.m), (n, tile.n)))


def _is_affordable(variant: Variant, size: str) -> bool:
    """Return whether a size, padded, is small enough for a size that nobody named."""
    launch = _launch(variant, size)
    return launch is not None and launch.shape.work <= AFFORDABLE_WORK


def _has_blocks(variant: Variant, size: str) -> bool:
    """Return whether the grid has several blocks along each axis that it has, and more along one of two."""
    launch, large = _launch(variant, size), _launch(variant, "x".join([str(_LONG_EDGE)] * 3))
    if launch is None or large is None:
        return False
    counts = [count for count, of_large in zip(launch.grid, large.grid, strict=True) if of_large > 1]
    is_uneven = len(counts) < 2 or launch.grid[0] != launch.grid[1] or "x" not in size
    return all(count > 1 for count in counts) and is_uneven


def _with_fixed_extents(variant: Variant) -> Iterator[str]:
    """Yield the size of a kernel that requires a size of its own, such as `N == 64`."""
    fixed = fixed_extents(variant)
    if fixed:
        usual = max(fixed.values())
        yield "x".join(str(fixed.get(name, usual)) for name in "MNK")


def fixed_extents(variant: Variant) -> dict[str, int]:
    """Return those of M, N and K for which a kernel requires a number, as 64 for `N == 64`."""
    equal = (required.equal for required in variant.method.requires)
    return {pair[0]: pair[1] for pair in equal if pair and isinstance(pair[1], int) and pair[0] in "MNK"}


def _accepted(variants: Sequence[Variant], chosen: Sequence[str]) -> list[str]:
    """Return the sizes that a variant accepts, and smaller ones if these are few."""

    def is_accepted(size: str) -> bool:
        return any(_accepts(variant, size) for variant in variants)

    accepted: list[str] = []
    for size in chosen:
        m, n, k = _full(size).split("x")
        # A·Aᵀ needs M = N, for example.
        alike = (size, f"{m}x{m}x{k}", f"{m}x{n}x{n}", f"{m}x{n}x{m}")
        accepted += [each for each in alike if is_accepted(each)][:1]
    accepted = list(dict.fromkeys(accepted))
    smaller = map(str, _SMALL_EDGES) if are_square_only(variants) else _SMALL_SIZES
    for size in smaller:
        if len([each for each in accepted if _full(each) != "1x1x1"]) >= _FEWEST:
            break
        if _full(size) not in map(_full, accepted) and is_accepted(size):
            accepted.append(size)
    return accepted or list(chosen)


def _accepts(variant: Variant, size: str) -> bool:
    """Return whether a variant's requirements hold and its block is not too large at a size."""
    try:
        launch = _planned(variant, size)
    except KernelError:
        return True  # an empty grid is a mistake, not a requirement
    except UsageError:
        return False
    return launch.threads_per_block <= MOST_THREADS


def _launch(variant: Variant, size: str) -> Launch | None:
    """Return the launch at a size; None if there is none."""
    try:
        return _planned(variant, size)
    except (KernelError, UsageError):
        return None


def _planned(variant: Variant, size: str) -> Launch:
    from cudamm.kernels.launch_plan import plan
    from cudamm.kernels.problem import parse_shape  # imports NumPy, which commands load late

    return plan(variant, parse_shape(size), ELEMENT_TYPES[variant.method.element_types[0]])


def _multiple(variant: Variant, extent: str) -> int:
    """Return the multiple that an extent is padded to; 0 if a variant requires none."""
    sizes = dict.fromkeys("MNK", 1)
    try:
        names = variant.names(ELEMENT_TYPES[variant.method.element_types[0]], *sizes.values())
        found = [
            multiple[1].whole(names)
            for required in variant.method.requires
            if (multiple := required.multiple) and multiple[0] == extent
        ]
    except UsageError:
        return 0
    return math.lcm(*found) if found and min(found) > 0 else 0


def _full(size: str) -> str:
    """Return `64x64x64` for `64`."""
    return size if "x" in size else f"{size}x{size}x{size}"
