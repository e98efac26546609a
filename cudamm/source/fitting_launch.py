"""Propose the block and the grid that fit a kernel's indices, for a kernel whose launch is not known.

`row = blockIdx.y * BM + threadIdx.y` says that a block covers BM rows of C with BM threads. With a loop over
`c * TILE`, `col = blockIdx.x * TILE * COARSE + threadIdx.x` says that a block covers TILE * COARSE columns
with TILE threads. A proposal has to be tried: loads may need another block than the indices of C.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cudamm.source.kernel_body import MatrixUse
from cudamm.source.simplified_expression import bracketed

_NUMBER = re.compile(r"number_(\d+)")


@dataclass(frozen=True)
class _Extents:
    """What the indices of one dimension of C say about the launch.

    Attributes:
        grid_axis: the axis of the grid along it; empty if each block covers all rows or columns.
        tile: the number of rows or columns that a block covers, as an expression.
        block_axis: the axis of the block along it; empty if no thread's number enters.
        threads: the number of threads along it, as an expression.
    """

    grid_axis: str = ""
    tile: str = "1"
    block_axis: str = ""
    threads: str = "1"


@dataclass(frozen=True)
class FittingLaunch:
    """Finds the block and the grid that fit the indices of C.

    Attributes:
        sizes: names in the kernel that are sizes of the matrices.
        fixed: names that are the same for all threads, such as constants.
        block: the extents of the block by `x`, `y` and `z`, for a kernel that works with any block.
        kernel: the kernel's text, which orders the factors of a product.
    """

    sizes: frozenset[str]
    fixed: frozenset[str]
    block: Mapping[str, str]
    kernel: str

    def fields(self, result: MatrixUse, is_column_major: bool) -> dict[str, str]:
        """Return threads, a grid and the multiples that its tiles need; nothing if the indices lack them.

        Args:
            result: how the kernel uses C, with names for its numbers.
        """
        outer = [term - self.sizes for term in result.terms if term & self.sizes]
        inner = [term for term in result.terms if not term & self.sizes]
        of_rows, of_columns = map(self._extents, (inner, outer) if is_column_major else (outer, inner))
        if of_rows is None or of_columns is None or of_rows.grid_axis == of_columns.grid_axis:
            return {}
        if "threadIdx" in self.kernel and not of_rows.block_axis + of_columns.block_axis:
            return {}  # the threads share something else than the elements of C
        threads: dict[str, list[str]] = {}
        grid: dict[str, str] = {}
        for size, extents in (("N", of_columns), ("M", of_rows)):
            if extents.block_axis:
                threads.setdefault(extents.block_axis, []).append(extents.threads)
            if extents.grid_axis:
                tile = extents.tile
                grid[extents.grid_axis] = size if tile == "1" else f"ceil({size} / {bracketed(tile)})"
        products = {a: " * ".join(map(bracketed, t)) if len(t) > 1 else t[0] for a, t in threads.items()}
        pairs = [(size, e.tile) for size, e in (("M", of_rows), ("N", of_columns)) if e.tile != "1"]
        multiples = ", ".join(f"{size} % {bracketed(tile)} == 0" for size, tile in pairs)
        return {"threads": _listed(products), "grid": _listed(grid), "requires": multiples}

    def _extents(self, terms: Iterable[frozenset[str]]) -> _Extents | None:
        """Return what the terms of a row's or a column's number say; None if they say nothing certain."""
        of_grid, of_block = set[tuple[str, str]](), set[tuple[str, str]]()  # axes, each with its factor
        steps = set[str]()  # factors of the variables of loops
        for term in terms:
            grid_axes = [name[-1] for name in term if name.startswith("blockIdx_")]
            block_axes = [name[-1] for name in term if name.startswith("threadIdx_")]
            varying = {name for name in term if not self._is_fixed(name)}
            factor = self._product(term - varying)
            if len(varying) > 1:
                return None
            if not varying:
                continue
            if grid_axes:
                of_grid.add((grid_axes[0], factor))
            elif block_axes:
                of_block.add((block_axes[0], factor))
            elif factor != "1":
                steps.add(factor)
        if len(of_grid) > 1 or len(of_block) > 1 or len(steps) > 1:
            return None
        if not of_grid:
            return None if of_block else _Extents()
        (grid_axis, tile), *_ = of_grid
        if not of_block:
            return _Extents(grid_axis, tile)
        (block_axis, factor), *_ = of_block
        threads = tile if factor == "1" else f"{bracketed(tile)} // {bracketed(factor)}"
        if factor == "1" and steps:  # the threads go on by a step, as wide as the block
            threads = next(iter(steps))
        return _Extents(grid_axis, tile, block_axis, threads)

    def _is_fixed(self, name: str) -> bool:
        return name in self.fixed or name.startswith("blockDim_") or _NUMBER.fullmatch(name) is not None

    def _product(self, factors: Iterable[str]) -> str:
        """Return the product of names and numbers, in the order in which the kernel names them."""
        texts = [
            self.block.get(name[-1], name) if name.startswith("blockDim_") else _NUMBER.sub(r"\1", name)
            for name in factors
        ]
        return " * ".join(sorted(texts, key=self.kernel.find)) or "1"


def _listed(extents: Mapping[str, str]) -> str:
    """Return `32, 8` for the extents along x and y; 1 for an axis without one."""
    last = max(extents, default="x")
    return ", ".join(extents.get(axis, "1") for axis in "xyz" if axis <= last)
