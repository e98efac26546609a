"""Find the sizes at which a kernel that is wrong at others is right: mostly multiples of its tile."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence

from cudamm.errors import DeviceLostError, HangError, KernelError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.executor import LocalExecutor
from cudamm.execution.prepare import case_at
from cudamm.kernels.method import SIZE_NAMES
from cudamm.kernels.problem import UNSCALED, Shape
from cudamm.kernels.usual_sizes import AFFORDABLE_WORK, are_square_only, tile_of

_USUAL_STEP = 64
"""Multiple of M, N and K that is taken for a multiple of the tile if the tile is not known."""

_LARGEST_STEP = 256
"""The largest extent of a tile that is taken for such a step: of larger ones, a part may do."""

_LEAST_STEP = 32
"""A number of which the extents of the first shape are multiples, even if the tile is smaller."""

_FACTORS = ((2, 3, 1), (1, 3, 2), (1, 2, 3), (3, 2, 1), (2, 1, 3), (3, 1, 2))
"""Numbers of steps in the extents of the first shape: the first of these with which all extents differ."""

_MOST_WATCHED_WORK = 2**22
"""Number of multiplications up to which a product is made larger, to have several blocks along each axis."""

_MOST_S = 30.0
"""Time after which the search for one kernel's condition ends without a result, in seconds."""

Groups = tuple[tuple[int, ...], ...]
"""Extents that are equal to each other: M is 0, N is 1 and K is 2."""

_ALL_EQUAL: Groups = ((0, 1, 2),)
_NONE_EQUAL: Groups = ((0,), (1,), (2,))
_ROWS_LIKE_COLUMNS: Groups = ((0, 1), (2,))
_TWO_EQUAL: tuple[Groups, ...] = (_ROWS_LIKE_COLUMNS, ((0,), (1, 2)), ((0, 2), (1,)))


@dataclasses.dataclass(frozen=True)
class RightSizes:
    """The sizes at which a kernel is right.

    Attributes:
        groups: extents that have to be equal.
        steps: for each group, the number that its extents have to be multiples of.
        program_size: M, N and K in the program; None if they are not known.
        is_only_own: the kernel is right at the size of its program, and no more general condition is known.
        most_k: K has to be at most so large, and no more is required; 0 for any K.
        of_blocks: sizes at which a grid has as many blocks along x as along y are right too; those known, and
            the program's; None if it is not so.
        is_unscaled: the kernel was run with alpha 1 and beta 0, and its program has others.
    """

    groups: Groups
    steps: tuple[int, ...]
    program_size: tuple[int, int, int] | None = None
    is_only_own: bool = False
    most_k: int = 0
    of_blocks: frozenset[Shape] | None = None
    is_unscaled: bool = False

    def holds(self, shape: Shape) -> bool:
        """Return whether a shape is one of these sizes."""
        extents = shape.extents
        if self.is_only_own:
            return extents == self.program_size
        if self.most_k:
            return shape.k <= self.most_k
        return shape in (self.of_blocks or ()) or all(
            len({extents[axis] for axis in group}) == 1 and extents[group[0]] % step == 0
            for group, step in zip(self.groups, self.steps, strict=True)
        )

    @property
    def steps_by_size(self) -> tuple[int, ...] | None:
        """The numbers of which M, N and K have to be multiples; None if that is not the whole condition."""
        is_whole = self.groups == _NONE_EQUAL and not (self.is_only_own or self.most_k)
        return self.steps if is_whole else None

    def shape(self, factors: Sequence[int]) -> Shape:
        """Return the shape with a number of steps for each group."""
        extents = [0, 0, self.most_k]
        for group, step, factor in zip(self.groups, self.steps, factors, strict=False):
            for axis in group:
                extents[axis] = extents[axis] or step * factor
        return Shape(*extents)

    def shape_of_several_steps(self) -> Shape:
        """Return a small shape in which no extents are equal that need not be."""
        shapes = [self.shape(factors) for factors in _FACTORS]
        differing = (s for s in shapes if len({s.extents[g[0]] for g in self.groups}) == len(self.groups))
        return next(differing, shapes[0])

    def shape_of_several_blocks(self, case: Case) -> Shape:
        """Return a shape with several blocks along each axis: only there, blocks can race with each other."""
        factor, shape = 1, self.shape((1, 1, 1))
        while shape.work < _MOST_WATCHED_WORK and min(_grid_at(case, shape)) == 1:
            factor *= 2
            shape = self.shape([factor if {0, 1} & {*group} else 1 for group in self.groups])
        return shape

    def __str__(self) -> str:
        """Return "right where M and N are multiples of 32 (the program has 64 x 64 x 8, which is …)"."""
        size = " x ".join(map(str, self.program_size or ()))
        if self.is_only_own:
            return f"right at the program's own size, {size}"
        scale = "with alpha 1 and beta 0 " * self.is_unscaled
        text = f"right {scale}where {' and '.join(self._conditions())}"
        if self.program_size is None:
            return text
        is_one = "such a size" if self.holds(Shape(*self.program_size)) else "no such size"
        return f"{text} (the program has {size}, which is {is_one})"

    def _conditions(self) -> list[str]:
        """Return such as `M and N are multiples of 32`, for each step and each group of equal extents."""
        if self.most_k:
            return [f"K is at most {self.most_k}"]
        conditions, of_steps = [], dict[int, list[str]]()
        for group, step in zip(self.groups, self.steps, strict=True):
            names = [SIZE_NAMES[axis] for axis in group]
            if len(names) > 1:
                multiple = f" is a multiple of {step}" if step > 1 else ""
                blocks = ", or where both need equally many blocks" if self.of_blocks else ""
                conditions.append(" = ".join(names) + multiple + blocks)
            elif step > 1:
                of_steps.setdefault(step, []).append(names[0])
        for step, names in of_steps.items():
            listed = f"{', '.join(names[:-1])} and {names[-1]} are multiples" if names[1:] else ""
            conditions.append(f"{listed or f'{names[0]} is a multiple'} of {step}")
        return conditions


def where_right(
    executor: LocalExecutor,
    case: Case,
    known: Mapping[Shape, bool],
    is_right: Callable[[Shape], bool] | None = None,
) -> RightSizes | None:
    """Return the sizes at which a kernel is right; None if no such condition was found and confirmed.

    The condition is the weakest that the runs confirm: the kernel is right at the smallest such size and at
    further ones, and wrong if the condition does not hold for one extent.

    Args:
        executor: runs the kernel at further sizes.
        case: the kernel at a size at which it is wrong.
        known: shapes at which it was run, and whether it was right.
        is_right: runs the kernel at a shape; None compares its product with the reference alone.

    Raises:
        DeviceLostError: the device cannot be used any more.
    """
    try:
        found = _Search(executor, case, known, is_right).found()
    except HangError:  # each further run could take as long
        found = None
    own, scale = case.variant.method.program_size, case.variant.method.program_scale
    is_own = scale in (None, dataclasses.astuple(UNSCALED)) or case.problem.scale != UNSCALED
    if found is not None and not is_own:
        found = dataclasses.replace(found, is_unscaled=True)
    if own is None or not known.get(Shape(*own)) or (found is not None and found.holds(Shape(*own))):
        return found
    return RightSizes(_NONE_EQUAL, (1, 1, 1), own, is_only_own=True)


def without_faults(right: RightSizes, has_fault: Callable[[Shape], bool]) -> RightSizes | None:
    """Return the sizes, or else multiples of whole tiles, at which a kernel has no fault either.

    A product may be right although the kernel reads past the end of a matrix. Faults are looked for at the
    smallest of the sizes, where they are likeliest.

    Args:
        has_fault: runs the kernel at a shape, and watches its accesses.
    """
    if right.is_only_own:
        return right
    whole = dataclasses.replace(right, steps=(max(right.steps),) * len(right.steps))
    return next((sizes for sizes in (right, whole) if not has_fault(sizes.shape((1, 1, 1)))), None)


def _grid_at(case: Case, shape: Shape) -> tuple[int, int]:
    """Return the blocks along x and y at a shape; 0 and 0 if the kernel cannot be launched there."""
    try:
        launch = case_at(case, shape).launch
    except (KernelError, UsageError):
        return 0, 0
    return launch.grid[:2] if launch is not None else (0, 0)


class _Search:
    """The search for the condition of one kernel."""

    def __init__(
        self,
        executor: LocalExecutor,
        case: Case,
        known: Mapping[Shape, bool],
        is_right: Callable[[Shape], bool] | None,
    ) -> None:
        self._executor, self._case = executor, case
        self._run = is_right or self._has_right_product
        self._given, self._known = known, dict(known)
        self._is_square = are_square_only([case.variant])
        tile = tile_of(case.variant)
        extents = tile.m, tile.n, tile.k
        self._tile = tuple(e if e and e <= _LARGEST_STEP else _USUAL_STEP for e in extents)
        self._ends = time.monotonic() + _MOST_S

    def found(self) -> RightSizes | None:
        """Return the condition, if there is one."""
        base = self._base()
        if base is None:
            return self._of_few_steps()
        # The steps of `base` are replaced by smaller ones, a group at a time.
        steps = [self._smallest_step(base, place) for place in range(len(base.groups))]
        right = RightSizes(base.groups, tuple(steps))
        own = sorted(self._case.variant.method.program_sizes, key=lambda size: right.holds(Shape(*size)))
        right = dataclasses.replace(right, program_size=next(iter(own), None))  # one that is wrong first
        if right.groups == _ROWS_LIKE_COLUMNS and max(steps) == 1:
            right = dataclasses.replace(right, of_blocks=self._of_equal_blocks(right.program_size))
        is_condition = max(steps) > 1 or (base.groups != _NONE_EQUAL and not self._is_square)
        return right if is_condition and self._is_confirmed(right, base) else None

    def _of_few_steps(self) -> RightSizes | None:
        """Return up to which K the kernel is right, as one whose steps race with each other; else None."""
        right = [shape.k for shape, is_right in self._given.items() if is_right]
        wrong = [shape.k for shape, is_right in self._given.items() if not is_right]
        low, high = max(right, default=0), min(wrong, default=0)
        if self._is_square or not 1 < low < high:
            return None
        m, n, _ = self._tile
        while high - low > 1:
            middle = (low + high) // 2
            is_right = self._is_right(Shape(2 * m + 1, 3 * n + 1, middle))
            low, high = (middle, high) if is_right else (low, middle)
        others = [Shape(2 * m, n, low), Shape(m + 1, 2 * n, 1), Shape(m + 1, n, high)]
        is_so = [*map(self._is_right, others)] == [True, True, False]
        # Whole tiles may be wrong where the others are right.
        below = {low - low % self._tile[2], *(1 << power for power in range(low.bit_length()))} - {0}
        is_so = is_so and all(self._is_right(Shape(m + 1, n, k)) for k in below)
        own = self._case.variant.method.program_size
        return RightSizes(_NONE_EQUAL, (1, 1, 1), own, most_k=low) if is_so else None

    def _of_equal_blocks(self, own: tuple[int, int, int] | None) -> frozenset[Shape] | None:
        """Return the sizes with as many blocks along x as along y, if these are the right ones of the given.

        With x and y of the grid swapped, the kernel is right there, and not at equal M and N alone.
        """
        shapes = [*self._given, *([Shape(*own)] if own else [])]
        equal = frozenset(filter(self._has_square_grid, shapes))
        is_so = all(is_right == (shape in equal) for shape, is_right in self._given.items())
        return equal if is_so and any(shape.m != shape.n for shape in equal) else None

    def _has_square_grid(self, shape: Shape) -> bool:
        x, y = _grid_at(self._case, shape)
        return x == y > 0

    def _base(self) -> RightSizes | None:
        """Return multiples of a whole tile at which the kernel is right; None if there are none."""
        if self._is_square:
            groups: list[Groups] = [_ALL_EQUAL]
        elif self._is_right_at(self._multiples(_NONE_EQUAL)):
            groups = [_NONE_EQUAL]
        elif self._is_right_at(self._multiples(_ALL_EQUAL)):
            groups = [*_TWO_EQUAL, _ALL_EQUAL]
        else:
            return None
        multiples = map(self._multiples, groups)
        return next((each for each in multiples if self._is_right_at(each)), None)

    def _multiples(self, groups: Groups) -> RightSizes:
        tiles = (math.lcm(*(self._tile[axis] for axis in group)) for group in groups)
        return RightSizes(groups, tuple(math.lcm(tile, _LEAST_STEP) for tile in tiles))

    def _is_right_at(self, sizes: RightSizes) -> bool:
        return self._is_right(sizes.shape_of_several_steps())

    def _smallest_step(self, base: RightSizes, place: int) -> int:
        """Return the smallest step by which a group may grow so that the kernel stays right."""

        def is_right(step: int) -> bool:
            extents = list(base.shape_of_several_steps().extents)
            for axis in base.groups[place]:
                extents[axis] += step
            return self._is_right(Shape(*extents))

        if is_right(1):
            return 1
        steps = [base.steps[place]]
        while steps[-1] % 2 == 0:
            steps.append(steps[-1] // 2)
        # The kernel is wrong with a step of 1; the largest step is confirmed at the end.
        wrong, right = len(steps) - 1 + (steps[-1] != 1), 0
        while wrong - right > 1:
            middle = (wrong + right) // 2
            wrong, right = (wrong, middle) if is_right(steps[middle]) else (middle, right)
        return steps[right]

    def _is_confirmed(self, right: RightSizes, base: RightSizes) -> bool:
        """Return whether the kernel is right at all known sizes that the condition allows, and at others."""
        if not all(is_right for shape, is_right in self._given.items() if right.holds(shape)):
            return False
        further = [right.shape(factors) for factors in ((1, 1, 1), (3, 2, 5), (1, 4, 2))]
        grown = zip(base.shape_of_several_steps().extents, right.shape((1, 1, 1)).extents, strict=True)
        return all(map(self._is_right, (*further, Shape(*map(sum, grown)))))

    def _is_right(self, shape: Shape) -> bool:
        """Return whether the kernel is right at a shape, at which it is run unless it was."""
        if shape not in self._known:
            if time.monotonic() > self._ends or shape.work > 2 * AFFORDABLE_WORK:
                return False
            self._known[shape] = self._run(shape)
        return self._known[shape]

    def _has_right_product(self, shape: Shape) -> bool:
        try:
            return self._executor.verify(case_at(self._case, shape), thorough=True).correct is True
        except (DeviceLostError, HangError):
            raise
        except (KernelError, UsageError):
            return False
