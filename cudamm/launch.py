"""How a variant is launched on a problem: geometry, arguments and padding, all from its method's header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cudamm.catalog.method import ElementType
from cudamm.catalog.variant import Variant
from cudamm.errors import UsageError
from cudamm.expression import parse
from cudamm.problem import Shape, check_size

MatrixName = Literal["A", "B", "C"]
Argument = MatrixName | int | float

Extents = tuple[int, int, int]


@dataclass(frozen=True)
class Limits:
    """What a device can launch.

    Attributes:
        shared_bytes_per_block: static and dynamic together, opted in to where that is needed.
        device: what has these limits, for messages.
    """

    threads_per_block: int
    block: Extents
    grid: Extents
    shared_bytes_per_block: int
    device: str = "this device"


@dataclass(frozen=True)
class Launch:
    """One launch of a compiled kernel.

    Attributes:
        shape: of the matrices on the device, padded as the method requires.
        block: threads in x, y and z.
        grid: blocks in x, y and z.
        shared_bytes: dynamic shared memory a block.
        constants: what is copied to symbols in constant memory first.
    """

    shape: Shape
    block: Extents
    grid: Extents
    shared_bytes: int
    constants: tuple[tuple[str, int], ...]
    arguments: tuple[Argument, ...]

    @property
    def threads_per_block(self) -> int:
        """Threads in one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


def plan(variant: Variant, shape: Shape, element: ElementType) -> Launch:
    """The launch of a variant on matrices of a shape.

    Raises:
        UsageError: an expression of the header makes no sense there, or a requirement cannot be met.
    """
    method = variant.method
    padded = Shape(*variant.padded(element, shape.m, shape.n, shape.k))
    check_size(padded)
    names = variant.names(element, padded.m, padded.n, padded.k)
    one = (1, 1, 1)
    shared_bytes = method.shared_bytes.whole(names)
    if shared_bytes < 0:
        raise UsageError(f"{variant}: shared-bytes is {shared_bytes}")
    return Launch(
        shape=padded,
        block=one if method.runs_on_host else variant.extents("threads", method.threads, names),
        grid=one if method.runs_on_host else variant.extents("grid", method.grid, names),
        shared_bytes=shared_bytes,
        constants=tuple((name, value.whole(names)) for name, value in method.constants),
        arguments=tuple(_argument(text, names) for text in method.arguments),
    )


def check(variant: Variant, launch: Launch, limits: Limits) -> None:
    """Refuse a launch that the device cannot make, before anything runs. Raises UsageError."""
    if variant.method.runs_on_host:
        return
    block, grid = " x ".join(map(str, launch.block)), " x ".join(map(str, launch.grid))
    if launch.threads_per_block > limits.threads_per_block:
        raise UsageError(
            f"{variant}: a block of {block} has {launch.threads_per_block} threads; "
            f"{limits.device} allows {limits.threads_per_block}"
        )
    for axis, asked, most in zip("xyz", launch.block, limits.block, strict=True):
        if asked > most:
            raise UsageError(
                f"{variant}: a block of {block} is too long in {axis}; {limits.device} allows {most}"
            )
    for axis, asked, most in zip("xyz", launch.grid, limits.grid, strict=True):
        if asked > most:
            raise UsageError(
                f"{variant}: a grid of {grid} blocks is too long in {axis}; {limits.device} allows {most:,}; "
                "larger blocks or a smaller matrix would do"
            )
    if launch.shared_bytes > limits.shared_bytes_per_block:
        raise UsageError(
            f"{variant}: {launch.shared_bytes:,} bytes of shared memory a block; "
            f"{limits.device} allows {limits.shared_bytes_per_block:,}"
        )


def _argument(text: str, names: dict[str, int]) -> Argument:
    if text in ("A", "B", "C"):
        return text  # type: ignore[return-value]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return parse(text).whole(names)
