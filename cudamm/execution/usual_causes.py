"""Try a wrong product against the usual mistakes: what the kernel computed if it is not A·B.

A *reading* is what a kernel with one such mistake computes: which elements it takes from the matrices' memory
and where it puts the sums. A mistake is named only if its reading explains every element of C, within the
bound with which a right product is judged. Nothing is launched.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from cudamm.devices.device import GUARD_BYTES, Run, guards_of
from cudamm.errors import UsageError
from cudamm.kernels.error_bound import error_factors, norms_of
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import MatrixName
from cudamm.kernels.problem import Matrix, Problem, Shape

LEAST_LIKENESS = 0.5
"""Correlation of a product that was cut to whole numbers with the right one."""

WHOLE_NUMBERS = "every element of C is a whole number"
ENDS_EARLY = "the sums end too early"
ONLY_TERMS = "C holds only the "
IN_TILES = "each tile of "
FEW_BLOCKS = "the grid has too few blocks"
OF_EACH = "of each "
LOW_PRECISION = "C has the precision of "
ROUNDED = "A and B are rounded to "
LESS_THAN_TYPE = "computed in less than its type"
WITHOUT_LINE = (ENDS_EARLY, ONLY_TERMS, IN_TILES, OF_EACH, LOW_PRECISION, ROUNDED, LESS_THAN_TYPE)
"""Beginnings of what the kernel did of which it is worth looking for the line."""
ONLY_ZEROS = "and every element is 0"

OF_LAUNCH = re.compile(f"{FEW_BLOCKS}|x and y of the (grid|block) are swapped|the sizes are passed")
"""How the causes begin that the line of the launch, or of its grid, shows."""

MOST_WORK = 2**31
"""Maximum number of multiplications of a product that is tried, about a second of work."""

SAMPLES = 24
"""Number of elements with which a reading is tried before its whole product is computed."""

LARGEST_EXACT = 2.0**24
"""Whole numbers below this have no rounding error in float32; above it, every float32 is a whole number."""

LEAST_FACTOR = 0.01
"""Least difference from 1 of a factor by which a product is taken to be multiplied."""

LEAST_FINITE = 4
"""Number of sums that a reading has to give: each NaN from beyond the edge of a matrix is like any other."""

Mask = npt.NDArray[np.bool_]
Steps = tuple[int, int]
"""Elements from one row of a matrix to the next, and from one column to the next."""

SMALLEST = 2
"""Smallest M, N and K of a product that is tried. With a vector, different mistakes give the same result."""


@dataclass(frozen=True)
class _Reading:
    """What a kernel computes: `rows` x `columns` sums of `terms` products.

    Attributes:
        left, right: the matrices that it takes for A and B, each with the steps from element to element.
        out: the steps with which it stores the sums into C.
        tile, transposed: edge of the square tiles of which each is transposed in one of the matrices.
    """

    rows: int
    columns: int
    terms: int
    left: tuple[Literal["A", "B"], Steps]
    right: tuple[Literal["A", "B"], Steps]
    out: Steps
    tile: int = 0
    transposed: Literal["A", "B", ""] = ""


def usual_cause(run: Run, problem: Problem) -> str:
    """Return the usual mistake that explains every element of a wrong product; empty if none does.

    Args:
        run: a run whose C, as the last launch left it, is wrong.
    """
    shape = run.plan.shape
    if min(problem.shape.extents) < SMALLEST or shape.work > MOST_WORK:
        return ""
    with np.errstate(all="ignore"):
        observed = _Observed(run, problem)
        tiles = [edge for edge in dict.fromkeys(run.plan.block[:2]) if edge > 1]
        readings = (*_readings(shape), *_transposed_tiles(shape, tiles))
        if run.plan.column_major:  # those above are of matrices that lie row by row
            readings = (*_taken_by_row(shape, run.plan.column_major),)
        elif observed.is_explained_by(_right(shape)):
            readings = ()  # what was written is right, so that nothing is misread
        for sentence, reading in readings:
            if observed.is_explained_by(reading):
                # At a size of one tile, a matrix that is read across is no other than its only tile.
                is_one_tile = not reading.tile and min(run.plan.block[:2]) >= max(shape.extents)
                tiled = _transposed_tiles(shape, tiles) if is_one_tile else ()
                is_either = any(observed.is_explained_by(each) for _, each in tiled)
                return "" if is_either else sentence
        return _of_values(run, problem)


def missing_terms(run: Run, problem: Problem) -> str:
    """Return which terms at the beginning or the end of each sum are missing, if it is the same for all."""
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    product = _product(run, problem)
    k = problem.shape.k
    if k < SMALLEST or problem.shape.m * problem.shape.n * k > MOST_WORK:
        return ""
    with np.errstate(all="ignore"):
        # Sums of the first 0, 1, … k terms of one row show how many terms were added.
        row = int(np.argmax(np.abs(product[:, 0] - a @ b[:, 0])))
        partial = np.vstack([np.zeros(b.shape[1]), np.cumsum(a[row][:, None] * b, axis=0)])
        bound = _bound(a[row : row + 1], b, problem)[0]
        first = np.flatnonzero(_agree(partial, product[row], bound, problem).all(axis=1))
        last = np.flatnonzero(_agree(partial[-1] - partial, product[row], bound, problem).all(axis=1))
        for end in first[(first > 0) & (first < k)]:
            if _is_product(product, a[:, :end], b[:end], problem):
                return _end_missing(int(end), k)
        for start in last[(last > 0) & (last < k)]:
            if _is_product(product, a[:, start:], b[start:], problem):
                return _start_missing(int(start), k)
    return ""


def _end_missing(end: int, k: int) -> str:
    missing = "the last term is" if end == k - 1 else f"the last {k - end} of K = {k} terms are"
    return f"{ENDS_EARLY}: {missing} missing, k = {end}" + (f" to {k - 1}" if end < k - 1 else "")


def _start_missing(start: int, k: int) -> str:
    if start == k - 1:
        return f"{ONLY_TERMS}last term of each sum, k = {start}"
    return f"{ONLY_TERMS}terms from k = {start} on, and K is {k}"


def unwritten_part(
    run: Run,
    written: Mask,
    *,
    rest_is_right: bool,
    is_right_with: Callable[[tuple[int, int], tuple[int, int]], bool | None],
    why_too_few: Callable[[tuple[int, int]], str],
) -> str:
    """Return what is known of a regular part of C that no thread writes, and why if a launch proves it.

    Args:
        written: which elements of C were written.
        rest_is_right: the elements that were written are right.
        is_right_with: returns whether the product is right with another grid and another block, of which x
            and y are given; None if this may not be tried.
        why_too_few: returns why the launch has fewer blocks than a grid of which x and y are given.
    """
    rows: Mask = np.asarray(written.any(axis=1))
    columns: Mask = np.asarray(written.any(axis=0))
    if not written.any() or written.all() or not (written == np.outer(rows, columns)).all():
        return ""
    last_row, last_column = (int(np.flatnonzero(mask)[-1]) + 1 for mask in (rows, columns))
    if rows[:last_row].all() and columns[:last_column].all():
        if not rest_is_right:
            return ""
        shape = len(rows), len(columns)
        return _uncovered(run.plan, shape, (last_row, last_column), is_right_with, why_too_few)
    in_tile = _period(rows), _period(columns)
    if all(in_tile):
        (row_part, row_tile), (column_part, column_tile) = in_tile  # type: ignore[misc]
        block = run.plan.block[:2]
        larger = (block[0] * column_tile // column_part, block[1] * row_tile // row_part)
        part = (
            f"{OF_EACH}{row_tile} x {column_tile} elements of C only {row_part} x {column_part} are written, "
            f"with blocks of {_times(block)} threads"
        )
        in_one_row = [(larger[0] * larger[1], 1)] if block[1] == 1 < larger[1] else []
        for other in (larger, *in_one_row):
            if is_right_with(run.plan.grid[:2], other):
                return f"{part}, and the product is right with {_times(other)}"
        return part
    return ""


def _uncovered(
    launch: Launch,
    shape: tuple[int, int],
    covered: tuple[int, int],
    is_right_with: Callable[[tuple[int, int], tuple[int, int]], bool | None],
    why_too_few: Callable[[tuple[int, int]], str],
) -> str:
    """Return why the blocks write only the first rows and columns of C; empty if no grid proves it.

    Args:
        shape: rows and columns of C.
        covered: rows and columns that are written.
        is_right_with, why_too_few: as for `unwritten_part`.
    """
    grid, block = launch.grid[:2], launch.block[:2]
    covers = f"{_times(grid)} blocks cover {_times(covered)} elements of C, which has {_times(shape)}"
    # A kernel takes the row from y and the column from x, or the other way round.
    for row_axis, column_axis in ((1, 0), (0, 1)):
        axes = {row_axis: (covered[0], shape[0]), column_axis: (covered[1], shape[1])}
        edges = {axis: c // grid[axis] for axis, (c, size) in axes.items() if c < size}
        is_whole = all(axes[axis][0] % grid[axis] == 0 for axis in edges)
        edge = max(edges.values(), default=0)
        if not edge or not is_whole or all(edge % extent for extent in block):
            continue
        swapped = (grid[1], grid[0])
        of_blocks = dict(enumerate(block)) if edges.items() <= dict(enumerate(block)).items() else {}
        # More blocks than C needs are no sign of a swap: a grid with too few in one axis may have them.
        is_exact = all(
            swapped[axis] == -(-size // edges.get(axis, of_blocks.get(axis, edge)))
            for axis, (_, size) in axes.items()
        )
        if grid != swapped and is_exact and is_right_with(swapped, block):
            return (
                f"x and y of the grid are swapped: {covers}, and the product is right with "
                f"{_times(swapped)}; swap them, or swap blockIdx.x and blockIdx.y in the kernel"
            )
        turned = (block[1], block[0])
        needed = [-(-axes[axis][1] // edges[axis]) if axis in edges else grid[axis] for axis in (0, 1)]
        # A number that is rounded down lacks one block, and a turned block may cover C by chance.
        lacks_one = all(needed[axis] - grid[axis] == 1 for axis in edges)
        is_exact = all(grid[axis] == -(-size // turned[axis]) for axis, (_, size) in axes.items())
        if block != turned and (is_exact or not lacks_one) and is_right_with(grid, turned):
            return (
                f"x and y of the block are swapped: {covers}, and the product is right with blocks of "
                f"{_times(turned)} threads"
            )
        larger = needed[0], needed[1]
        is_right = is_right_with(larger, block)
        if is_right is None:
            return covers
        if is_right:
            why = why_too_few(larger)
            is_right_because = f"and the product is right with {_times(larger)}{f' ({why})' * bool(why)}"
            return f"{FEW_BLOCKS}: {covers}, {is_right_because}"
    return ""


def _times(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))


def _period(mask: npt.NDArray[np.bool_]) -> tuple[int, int] | None:
    """Return how many of how many elements are true, if that repeats: the first 8 of each 16."""
    if mask.all():
        return len(mask), len(mask)
    part = int(np.argmin(mask))
    rest = np.flatnonzero(mask[part:])
    period = part + int(rest[0]) if len(rest) else len(mask)
    repeated = np.arange(len(mask)) % period < part
    return (part, period) if (repeated == mask).all() else None


def _readings(shape: Shape) -> Iterator[tuple[str, _Reading]]:
    """Yield each mistake as a sentence and what a kernel with it computes, the likelier first."""
    m, n, k = shape.m, shape.n, shape.k
    right = _right(shape)
    yield (
        f"A and B are swapped: C is B·A{_meant('A', 'B', 'C')}",
        dataclasses.replace(right, left=("B", right.left[1]), right=("A", right.right[1])),
    )
    for steps, sentence in _misread("B", ("k", "col"), (n, 1), ("N", "K", "M"), shape):
        yield sentence, dataclasses.replace(right, right=("B", steps))
    for steps, sentence in _misread("A", ("row", "k"), (k, 1), ("K", "M", "N"), shape):
        yield sentence, dataclasses.replace(right, left=("A", steps))
    for steps, sentence in _misread("C", ("row", "col"), (n, 1), ("N", "M", "K"), shape):
        yield sentence, dataclasses.replace(right, out=steps)
    extents = {"M": m, "N": n, "K": k}
    for order in ("NMK", "MKN", "KNM", "NKM", "KMN"):
        rows, columns, terms = (extents[name] for name in order)
        passed = [f"{given} for {name}" for name, given in zip("MNK", order, strict=True) if given != name]
        yield (
            f"the sizes are passed in another order: the kernel gets {' and '.join(passed)}",
            _Reading(rows, columns, terms, ("A", (terms, 1)), ("B", (columns, 1)), (columns, 1)),
        )
    column_major = {"A": (1, m), "B": (1, k), "C": (1, m)}
    for names in ("AB", "ABC", "AC", "BC"):
        yield (
            f"{' and '.join((', '.join(names[:-1]), names[-1]))} are taken as if they were column-major"
            f"{_meant(*names)}",
            dataclasses.replace(
                right,
                left=("A", column_major["A"] if "A" in names else right.left[1]),
                right=("B", column_major["B"] if "B" in names else right.right[1]),
                out=column_major["C"] if "C" in names else right.out,
            ),
        )


def _taken_by_row(shape: Shape, column_major: Sequence[MatrixName]) -> Iterator[tuple[str, _Reading]]:
    """Yield what a kernel computes that takes a matrix as row-major, although its layout is column-major."""
    by_row = _right(shape)
    by_column = {"A": (1, shape.m), "B": (1, shape.k), "C": (1, shape.m)}
    indices = {"A": ("row * K + k", "k * M + row"), "B": ("k * N + col", "col * K + k")}
    indices["C"] = ("row * N + col", "col * M + row")
    for name in column_major:
        rest = set(column_major) - {name}
        taken, expected = indices[name]
        verb = "written" if name == "C" else "read"
        yield (
            f"{name} is {verb} row by row, and its layout is column by column: {name}[{taken}] instead of "
            f"{name}[{expected}]",
            dataclasses.replace(
                by_row,
                left=("A", by_column["A"] if "A" in rest else by_row.left[1]),
                right=("B", by_column["B"] if "B" in rest else by_row.right[1]),
                out=by_column["C"] if "C" in rest else by_row.out,
            ),
        )


def _transposed_tiles(shape: Shape, tiles: Sequence[int]) -> Iterator[tuple[str, _Reading]]:
    """Yield what a kernel computes that swaps the indices of a tile in shared memory."""
    right = _right(shape)
    names: tuple[Literal["A", "B"], ...] = ("B", "A")
    for name, tile in itertools.product(names, tiles):
        yield (
            f"{IN_TILES}{name}, {tile} x {tile}, is transposed: its two indices are swapped where the "
            "kernel stores or reads it",
            dataclasses.replace(right, tile=tile, transposed=name),
        )


def _right(shape: Shape) -> _Reading:
    """Return what a right kernel computes."""
    m, n, k = shape.m, shape.n, shape.k
    return _Reading(m, n, k, ("A", (k, 1)), ("B", (n, 1)), (n, 1))


def _misread(
    name: str, indices: tuple[str, str], right: Steps, extents: tuple[str, str, str], shape: Shape
) -> Iterator[tuple[Steps, str]]:
    """Yield the wrong steps of one matrix and the sentence about them.

    Args:
        indices: names of its row and its column in a kernel.
        extents: the names of M, N and K, first the extent of its rows, then the extent of its columns.
    """
    row, column = indices
    values = {"M": shape.m, "N": shape.n, "K": shape.k}
    verb = "written" if name == "C" else "read"
    expected = f"{name}[{row} * {extents[0]} + {column}]"
    seen = {right}
    natural = {"A": "M", "B": "K", "C": "M"}[name]
    for position, extent in enumerate((natural, extents[0], extents[2])):
        steps = (1, values[extent])
        if steps not in seen:
            seen.add(steps)
            is_natural = position == 0 and not (name == "C" and shape.m == shape.n)
            what = (
                f"{name} is {verb} as if it were column-major"
                if is_natural
                else f"row and column of {name} are swapped"
            )
            hint = _meant(name) if is_natural else ""
            yield steps, f"{what}: {name}[{column} * {extent} + {row}] instead of {expected}{hint}"
    for extent in extents[1:]:
        steps = (values[extent], 1)
        is_of_vectors = max(right) in (2 * values[extent], 4 * values[extent])  # it may be K / 4 as well
        if steps not in seen and not is_of_vectors:
            seen.add(steps)
            yield (
                steps,
                f"{name} is {verb} with the wrong row length: {name}[{row} * {extent} + {column}] instead of "
                f"{expected}",
            )


def _meant(*names: str) -> str:
    """Return what to do if matrices are meant to be column-major."""
    are = "they are" if len(names) > 1 else f"{names[0]} is"
    options = ",".join(f"{name}=column" for name in names)
    return f" (if {are} meant to be column-major: --layout {options})"


class _Observed:
    """The memory of a run after a launch, against which readings are tried."""

    def __init__(self, run: Run, problem: Problem) -> None:
        self._problem = problem
        dtype, of_inputs = run.matrices["C"].dtype, run.matrices["A"].dtype
        self._guard = GUARD_BYTES // dtype.itemsize
        self._guard_of_inputs = GUARD_BYTES // of_inputs.itemsize
        self._inputs: dict[str, npt.NDArray[Any]] = {
            name: run.region(name).view(of_inputs).astype(np.float64) for name in ("A", "B")
        }
        words = run.region("C").view(np.uint32).copy()
        before = np.full_like(words, guards_of(run.matrices["C"])["C"])
        bits = f"u{dtype.itemsize}"
        elements = before.view(bits)[self._guard :][: run.matrices["C"].size]
        elements[:] = np.full(2, run.poison).view(bits)[0]
        self._written: Mask = words.view(bits) != before.view(bits)
        self._values = words.view(dtype).astype(np.float64)

    def is_explained_by(self, reading: _Reading) -> bool:
        """Return whether a reading gives every element that was written, and no other."""
        left = self._view(reading.left[0], reading.rows, reading.terms, reading.left[1])
        right = self._view(reading.right[0], reading.terms, reading.columns, reading.right[1])
        if left is None or right is None:
            return False
        if reading.transposed:
            left, right = _with_transposed_tiles(left, right, reading.tile, reading.transposed)
        i, j = np.arange(reading.rows)[:, None], np.arange(reading.columns)[None, :]
        target = self._guard + i * reading.out[0] + j * reading.out[1]
        if target[-1, -1] >= len(self._values):
            return False
        # Fewer blocks than the sizes need may have run: then the last rows or columns were not computed.
        written = self._written[target]
        if not written.any():
            return False
        rows = int(np.flatnonzero(written.any(axis=1))[-1]) + 1
        columns = int(np.flatnonzero(written.any(axis=0))[-1]) + 1
        left, right, target = left[:rows], right[:, :columns], target[:rows, :columns]
        if not written[:rows, :columns].all():
            return False
        is_injective = reading.out[0] >= columns or reading.out[1] >= rows
        if is_injective:
            random = np.random.default_rng(0)
            i, j = random.integers(rows, size=SAMPLES), random.integers(columns, size=SAMPLES)
            sums = np.einsum("sk,ks->s", left[i], right[:, j])
            if not self._agree(sums, self._values[target[i, j]], left[i], right[:, j], diagonal=True).all():
                return False
        left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
        sums = left @ right
        if np.isfinite(sums).sum() < max(LEAST_FINITE, sums.size // 20):
            return False
        agree = self._agree(sums, self._values[target], left, right)
        explained = np.zeros(len(self._values), np.bool_)
        explained[target[agree]] = True  # of several sums for one element, one is enough
        return bool((explained | ~self._written).all() and explained[target].all())

    def _view(self, name: str, rows: int, columns: int, steps: Steps) -> Matrix | None:
        """Return the elements that a kernel reads with these steps; None if it would leave the memory."""
        memory = self._inputs[name]
        guard = self._guard_of_inputs
        last = guard + (rows - 1) * steps[0] + (columns - 1) * steps[1]
        if last >= len(memory):
            return None
        size = memory.itemsize
        view: Matrix = np.lib.stride_tricks.as_strided(
            memory[guard:], (rows, columns), (steps[0] * size, steps[1] * size), writeable=False
        )
        return view

    def _agree(
        self, sums: Matrix, found: Matrix, left: Matrix, right: Matrix, *, diagonal: bool = False
    ) -> Mask:
        """Return where sums equal what was found, within the bound on rounding errors. NaN equals NaN."""
        if self._problem.element.is_integer:
            return np.asarray((sums - found) % 2.0**32 == 0)
        bound = _bound(left, right, self._problem)
        if diagonal:
            bound = np.diagonal(bound)
        return _agree(sums, found, bound, self._problem) | np.asarray(np.isnan(sums) & np.isnan(found))


def _with_transposed_tiles(
    left: Matrix, right: Matrix, tile: int, name: Literal["A", "B", ""]
) -> tuple[Matrix, Matrix]:
    """Return two factors in tiles, padded with zeros, each tile of one of them transposed."""
    (m, k), (_, n) = left.shape, right.shape
    rows, terms, columns = (-(-extent // tile) * tile for extent in (m, k, n))
    left = np.pad(left, ((0, rows - m), (0, terms - k)))
    right = np.pad(right, ((0, terms - k), (0, columns - n)))
    if name == "A":
        left = _transposed_in_tiles(left, tile)
    else:
        right = _transposed_in_tiles(right, tile)
    return left[:m], right[:, :n]


def _transposed_in_tiles(matrix: Matrix, tile: int) -> Matrix:
    rows, columns = matrix.shape
    in_tiles = matrix.reshape(rows // tile, tile, columns // tile, tile)
    transposed: Matrix = in_tiles.transpose(0, 3, 2, 1).reshape(rows, columns)
    return transposed


def _bound(a: Matrix, b: Matrix, problem: Problem) -> Matrix:
    """Return the error bound of sums before they are rounded to the element type.

    For float64 it is doubled, because here sums are computed in float64 too.
    """
    try:
        relative_bound = problem.relative_bound_of(max(1, a.shape[1]))
        rows, columns = error_factors(norms_of(a, b), relative_bound)
    except UsageError:  # there is no bound: nothing is near enough
        return np.zeros((a.shape[0], b.shape[1]))
    bound: Matrix = np.outer(rows, columns) * (2 if problem.element.name == "float64" else 1)
    return bound


def _agree(sums: Matrix, found: Matrix, bound: Matrix, problem: Problem) -> Mask:
    """Return where elements of C equal sums within a bound on the sums' errors, and the sums' rounding."""
    error = np.abs(problem.nearest(sums) - found)
    return np.asarray(error <= bound + problem.rounding_of_sums.of(sums))


def _product(run: Run, problem: Problem) -> Matrix:
    """Return C without its padding, in float64."""
    with np.errstate(invalid="ignore"):  # a wrong product may hold any bits
        product: Matrix = run.product()[: problem.shape.m, : problem.shape.n].astype(np.float64)
    return product


def _is_product(product: Matrix, a: Matrix, b: Matrix, problem: Problem) -> bool:
    return bool(_agree(a @ b, product, _bound(a, b, problem), problem).all())


def _of_values(run: Run, problem: Problem) -> str:
    """Return a mistake that changes the values of the elements, not their places; empty if there is none."""
    product, reference = _product(run, problem), problem.reference[0]
    if not np.isfinite(product).all() or not product.any():
        return ""
    if (np.abs(product - reference) <= problem.error_bound).all():
        return ""  # the product is right, and the kernel damaged other memory
    factor = _factor(product, problem)
    if factor is not None:
        return f"C is {factor:g} times the product"
    if problem.element.is_integer:
        for bits in (8, 16):
            kept = (reference + 2.0 ** (bits - 1)) % 2.0**bits - 2.0 ** (bits - 1)
            if (product == kept).all():
                return (
                    f"C has the last {bits} bits of the product: the sum is kept in a variable of {bits} bits"
                )
    if problem.input_kind == "integers":
        return ""
    is_whole = (product == np.rint(product)).all() and np.abs(product).max() < LARGEST_EXACT
    if is_whole and _are_alike(product, reference):
        return f"{WHOLE_NUMBERS}: the kernel sums or stores in a variable of a whole-number type"
    a, b = problem.inputs
    for name, rounded in _ROUNDINGS.get(problem.element.name, ()):
        if _is_product(product, rounded(a), rounded(b), problem):
            return f"{ROUNDED}{name} before they are multiplied"
    if problem.element.name == "float64":
        scale = 2.0 * np.finfo(np.float32).eps / np.finfo(np.float64).eps
        if (np.abs(product - reference) <= scale * problem.error_bound).all():
            return f"{LOW_PRECISION}float32, and not of float64: is a variable or a constant a float?"
    return ""


def _are_alike(product: Matrix, reference: Matrix) -> bool:
    """Return whether a wrong product follows the right one; True for a single element."""
    with np.errstate(invalid="ignore", divide="ignore"):  # all elements may have one value
        likeness = np.corrcoef(product.ravel(), reference.ravel())[0, 1] if product.size > 1 else 1.0
    return bool(likeness > LEAST_LIKENESS)


def other_factors(product: Matrix, problem: Problem) -> str:
    """Return which factors A B and C have instead of alpha and beta; empty if that is not what is wrong."""
    alpha, beta = problem.scale.alpha, problem.scale.beta
    if not alpha:
        return ""
    if not beta:
        unscaled = problem.reference[0] / alpha
        bound = problem.error_bound * max(1.0, abs(1 / alpha)) * 1.5
        return "C is A B instead of alpha A B" if (np.abs(product - unscaled) <= bound).all() else ""
    c = problem.output.astype(np.float64)
    scaled = problem.reference[0] - beta * c
    values = {"": 1.0, "alpha ": alpha, "beta ": beta, "alpha beta ": alpha * beta}
    summands = {f" + {of_c}C": (y, c) for of_c, y in values.items()}
    summands |= {"": (0.0, c), " + beta": (beta, np.ones_like(c))}
    summands |= {" - beta C": (-beta, c), " + (1 + beta) C": (1 + beta, c)}
    values |= {"(alpha + beta) ": alpha + beta}
    found: list[str] = []  # such as both -beta and 1 + beta, if beta is -0.5
    for (of_product, x), (summand, (y, added)) in itertools.product(values.items(), summands.items()):
        bound = problem.error_bound * max(1.0, abs(x / alpha), abs(y / beta)) * 1.5  # other roundings
        if (np.abs(product - (x / alpha * scaled + y * added)) <= bound).all():
            found.append(f"{of_product}A B{summand}")
    return f"C is {' or '.join(found[:2])} instead of alpha A B + beta C" if found else ""


def _factor(product: Matrix, problem: Problem) -> float | None:
    """Return the number by which the product is multiplied, if it is one number for all elements."""
    reference = problem.reference[0]
    place = np.unravel_index(int(np.argmax(np.abs(reference))), reference.shape)
    if not reference[place]:
        return None
    exact = float(product[place] / reference[place])
    for digits in (2, 3, 4):  # rounding errors leave digits behind, many if the type has few bits
        factor = float(f"{exact:.{digits}g}")
        if not problem.is_exact and abs(factor - 1) < LEAST_FACTOR:
            continue  # rounding to fewer bits makes products a little smaller too
        if factor in (0, 1) or (problem.is_exact and factor != exact):
            continue
        bound = problem.error_bound * max(1.0, abs(factor)) * 1.5  # the multiplication is rounded too
        if (np.abs(product - factor * reference) <= bound).all():
            return factor
    return None


def _cut(kept_bits: int) -> Any:
    """Return a function that rounds float32 numbers to a number of bits of the fraction, ties to even."""
    dropped = 23 - kept_bits

    def rounded(matrix: Matrix) -> Matrix:
        bits = matrix.astype(np.float32).view(np.uint32).astype(np.uint64)
        bits += (1 << (dropped - 1)) - 1 + ((bits >> dropped) & 1)
        cut: Matrix = ((bits >> dropped) << dropped).astype(np.uint32).view(np.float32).astype(np.float64)
        return cut

    return rounded


_NARROW = (("half precision", _cut(10)), ("bfloat16", _cut(7)))
_ROUNDINGS: dict[str, tuple[tuple[str, Any], ...]] = {
    "float32": _NARROW,
    "float64": (("float32", lambda matrix: matrix.astype(np.float32).astype(np.float64)), *_NARROW),
    "float16": _NARROW[1:],
    "float16_to_float32": _NARROW[1:],
    "tf32": _NARROW[1:],
}
