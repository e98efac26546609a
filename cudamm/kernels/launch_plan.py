"""How a variant is launched on a problem: geometry, arguments and padding, all from its method's header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cudamm.errors import RequirementError, UsageError
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.expression import parse, split_at_commas
from cudamm.kernels.header import TENSOR_MAP
from cudamm.kernels.method import ElementType, Method
from cudamm.kernels.problem import Shape, check_size
from cudamm.kernels.variant import Variant

MatrixName = Literal["A", "B", "C"]

Extents = tuple[int, int, int]

LONGEST_BOX_SIDE = 256
"""Elements, of what one bulk tensor copy moves (CUDA driver API, cuTensorMapEncodeTiled: `boxDim`)."""

TENSOR_MAP_GRANULE_BYTES = 16
"""A matrix that a tensor map describes has rows of a multiple of this, and so have its boxes (ibid.)."""

SWIZZLES = (0, 32, 64, 128)
"""Bytes within which a bulk tensor copy can swap 16-byte pieces on their way; 0: it does not."""


@dataclass(frozen=True)
class TensorMap:
    """An argument that describes a matrix to the hardware that copies boxes of it to shared memory.

    Attributes:
        box_rows, box_columns: what one copy moves, in elements.
        swizzle_bytes: one of SWIZZLES.
    """

    matrix: MatrixName
    box_rows: int
    box_columns: int
    swizzle_bytes: int = 0


Argument = MatrixName | int | float | TensorMap


@dataclass(frozen=True)
class Limits:
    """What a device can launch.

    Attributes:
        shared_bytes_per_block: static and dynamic together, opted in to where that is needed.
        device: what has these limits, for messages.
        arch: the newest architecture whose kernels it can run, such as `sm_90`; empty for any.
    """

    threads_per_block: int
    block: Extents
    grid: Extents
    shared_bytes_per_block: int
    device: str = "this device"
    arch: str = ""


def limits_of(architecture: Architecture) -> Limits:
    """What any GPU of an architecture can launch; the largest grid is that of every one from 3.0 on."""
    threads = architecture.threads_per_block
    return Limits(
        threads,
        (threads, threads, 64),
        (2**31 - 1, 65535, 65535),
        architecture.shared_bytes_per_block,
        device=architecture.name,
        arch=architecture.name,
    )


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
        block=one if not method.is_kernel else variant.extents("threads", method.threads, names),
        grid=one if not method.is_kernel else variant.extents("grid", method.grid, names),
        shared_bytes=shared_bytes,
        constants=tuple((name, value.whole(names)) for name, value in method.constants),
        arguments=tuple(_argument(variant, text, names) for text in method.arguments),
    )


def unfit(method: Method, limits: Limits) -> str:
    """Why a method is not for what has these limits, in words; empty where it is."""
    needs = method.lacks_on(limits.arch) if limits.arch else ""
    if not needs or limits.device == limits.arch:
        return needs
    return f"{needs}, and {limits.device} executes kernels for {limits.arch} at most"


def check(variant: Variant, launch: Launch, limits: Limits) -> None:
    """Refuse a launch that the device cannot make, before anything runs.

    Raises:
        UsageError: it is beyond the device's limits.
        RequirementError: the method needs another architecture.
    """
    if not variant.method.is_kernel:
        return
    lacks = unfit(variant.method, limits)
    if lacks:
        raise RequirementError(lacks)
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


def _argument(variant: Variant, text: str, names: dict[str, int]) -> Argument:
    if text in ("A", "B", "C"):
        return text  # type: ignore[return-value]
    if text.startswith(TENSOR_MAP):
        return _tensor_map(variant, text, names)
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return parse(text).whole(names)


def _tensor_map(variant: Variant, text: str, names: dict[str, int]) -> TensorMap:
    """`tensor_map(A, box rows, box columns)`, with a swizzle in bytes behind that or without.

    The conditions are those of cuTensorMapEncodeTiled, which says of none of them which one fails.
    """
    matrix, *numbers = split_at_commas(text.removeprefix(TENSOR_MAP).removesuffix(")"))
    if matrix not in ("A", "B", "C") or len(numbers) not in (2, 3) or not text.endswith(")"):
        raise UsageError(
            f"{variant}: “{text}” is not like “tensor_map(A, BM, BK)”: a matrix, the rows and columns of a "
            "box, and perhaps a swizzle in bytes"
        )
    rows, columns, *swizzles = (parse(number).whole(names) for number in numbers)
    swizzle = swizzles[0] if swizzles else 0
    size = names["element"]
    if not (1 <= rows <= LONGEST_BOX_SIDE and 1 <= columns <= LONGEST_BOX_SIDE):
        raise UsageError(
            f"{variant}: {text} has boxes of {rows} x {columns}; a side is 1 to {LONGEST_BOX_SIDE} elements"
        )
    if swizzle not in SWIZZLES:
        raise UsageError(f"{variant}: {text} has a swizzle of {swizzle} bytes; there are {SWIZZLES}")
    if columns * size % TENSOR_MAP_GRANULE_BYTES:
        raise UsageError(
            f"{variant}: a row of a box has {columns * size} bytes, and {text} wants a multiple of "
            f"{TENSOR_MAP_GRANULE_BYTES}"
        )
    extent = "K" if matrix == "A" else "N"
    if names[extent] * size % TENSOR_MAP_GRANULE_BYTES:
        raise UsageError(
            f"{variant}: a row of {matrix} has {names[extent] * size} bytes, and {text} wants a multiple of "
            f"{TENSOR_MAP_GRANULE_BYTES}: {extent} % {TENSOR_MAP_GRANULE_BYTES // size} == 0 among what it "
            "requires has the matrix padded"
        )
    if swizzle and columns * size > swizzle:
        raise UsageError(
            f"{variant}: a row of a box has {columns * size} bytes, and the swizzle of {text} works within "
            f"{swizzle}"
        )
    return TensorMap(matrix, rows, columns, swizzle)  # type: ignore[arg-type]
