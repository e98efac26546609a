"""The launch of a variant on a problem: grid, block, arguments and padding, from the method's header."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.array_file import FileArray, read_array
from cudamm.kernels.header import ARRAY_FILE, SCRATCH_BYTES, TENSOR_MAP
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import SIZE_NAMES, ElementType, MatrixName, Method
from cudamm.kernels.problem import UNSCALED, Scale, Shape, check_size
from cudamm.kernels.variant import Variant
from cudamm.source.expression import MOST_THREADS, SCRATCH, parse, split_at_commas

Extents = tuple[int, int, int]

SHARED_BYTES_WITHOUT_OPT_IN = 48 << 10
"""Maximum shared memory of a block, in bytes, for which the kernel needs no function attribute."""

LONGEST_BOX_SIDE = 256
"""Maximum edge of a tensor map's box, in elements (CUDA driver API, cuTensorMapEncodeTiled: `boxDim`)."""

TENSOR_MAP_GRANULE_BYTES = 16
"""Rows of a tensor map's matrix, and of its boxes, are a multiple of this many bytes (ibid.)."""

PADDED_COPIES: dict[str, MatrixName] = {"padded(A)": "A", "padded(B)": "B"}
"""The arguments that are device memory for a copy of a matrix, which the kernel makes, and the matrix."""

PADDED_ROW_BYTES = 128
"""Rows of such a copy begin at multiples of this many bytes, a line of the L2 cache."""

MOST_DIMENSIONS = 5
"""Maximum number of dimensions of a tensor map (ibid.)."""

SWIZZLES = (0, 32, 64, 128)
"""Swizzle spans of a tensor map: bytes within which a copy reorders 16-byte pieces; 0: no swizzle."""


@dataclass(frozen=True)
class TensorMap:
    """An argument that describes a matrix to the copy engine, which copies boxes of it to shared memory.

    Attributes:
        box_rows, box_columns: size of the box that one copy moves, in elements. A matrix that lies in memory
            column by column is described as its transpose, so a row of the box is a part of a column.
        swizzle_bytes: one of SWIZZLES.
        band_columns: columns of the bands into which the matrix is cut; 0: it is not cut. A third dimension
            counts the bands. A box may be wider than a band.
        box_bands: number of bands in a box.
        dimensions: number of dimensions; those that rows, columns and bands do not need have the length 1.
        of_copy: whether it describes the padded copy of the matrix, one of PADDED_COPIES.
    """

    matrix: MatrixName
    box_rows: int
    box_columns: int
    swizzle_bytes: int = 0
    band_columns: int = 0
    box_bands: int = 1
    dimensions: int = 2
    of_copy: bool = False

    @property
    def memory(self) -> str:
        """Return the name of what it describes: the matrix, or its padded copy."""
        return f"padded({self.matrix})" if self.of_copy else self.matrix


PlainArgument = str | int | float
"""A matrix or its padded copy, by name, or a number."""


@dataclass(frozen=True)
class StructValue:
    """An argument that is a struct passed by value: the values of its members, in their order."""

    members: tuple[PlainArgument, ...]


@dataclass(frozen=True)
class Scratch:
    """An argument that is memory to which a kernel only writes, filled with zeros when it is allocated."""

    size_bytes: int


Argument = PlainArgument | TensorMap | FileArray | Scratch | StructValue


@dataclass(frozen=True)
class Limits:
    """The largest launch that a device accepts.

    Attributes:
        block, grid: maximum extents in x, y and z.
        shared_bytes_per_block: maximum of static and dynamic shared memory together, after opting in to more
            than the default.
        device: name of the device, for messages.
        arch: the newest architecture whose kernels the device runs, such as `sm_90`; empty for any.
    """

    threads_per_block: int
    block: Extents
    grid: Extents
    shared_bytes_per_block: int
    device: str = "this device"
    arch: str = ""


def padded_row_bytes(columns: int, element: ElementType) -> int:
    """Return the bytes from the beginning of a row of a padded copy to that of the next one."""
    return -(-columns * element.size_bytes // PADDED_ROW_BYTES) * PADDED_ROW_BYTES


def limits_of(architecture: Architecture) -> Limits:
    """Return the limits of any GPU of an architecture; the grid limit is that of all GPUs from 3.0 on."""
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
        shape: shape of the matrices on the device, padded as the method requires.
        block: threads in x, y and z.
        grid: blocks in x, y and z.
        shared_bytes: dynamic shared memory per block.
        constants: symbols in constant memory, and the values that are copied there before the launch.
        arguments: the kernel's arguments, in order.
        column_major: the matrices that lie in memory column by column; the others lie row by row.
        adds_to_zeros: whether C has to hold zeros before the launch.
        is_dependent: whether the kernel may start before the previous one is complete, and waits for it.
    """

    shape: Shape
    block: Extents
    grid: Extents
    shared_bytes: int
    constants: tuple[tuple[str, int], ...]
    arguments: tuple[Argument, ...]
    column_major: tuple[MatrixName, ...] = ()
    adds_to_zeros: bool = False
    is_dependent: bool = False

    @property
    def layouts(self) -> dict[MatrixName, MatrixLayout]:
        """Return the extents of A, B and C on the device, and the order of their elements there."""
        m, n, k = self.shape.m, self.shape.n, self.shape.k
        extents: dict[MatrixName, tuple[int, int]] = {"A": (m, k), "B": (k, n), "C": (m, n)}
        return {name: MatrixLayout(*of, name in self.column_major) for name, of in extents.items()}

    @property
    def padded_copies(self) -> dict[str, MatrixLayout]:
        """Return the padded copies that arguments name, and the layouts of their matrices."""
        named = [a.memory for a in self.arguments if isinstance(a, TensorMap)] + self._plain_arguments
        return {name: self.layouts[matrix] for name, matrix in PADDED_COPIES.items() if name in named}

    @property
    def may_scale_output(self) -> bool:
        """Return whether an argument is 0.0, which may be the factor of the old C, as β is in BLAS."""
        return any(isinstance(a, float) and a == 0.0 for a in self._plain_arguments)

    @property
    def _plain_arguments(self) -> list[PlainArgument]:
        """Return the arguments that are matrices or numbers, those in structs too."""
        plain: list[PlainArgument] = []
        for argument in self.arguments:
            if isinstance(argument, StructValue):
                plain += argument.members
            elif not isinstance(argument, TensorMap | FileArray | Scratch):
                plain.append(argument)
        return plain

    @property
    def threads_per_block(self) -> int:
        """Return the number of threads in a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def blocks(self) -> int:
        """Return the number of blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]


def plan(variant: Variant, shape: Shape, element: ElementType, scale: Scale = UNSCALED) -> Launch:
    """Return the launch of a variant on matrices of a shape.

    Args:
        scale: the values of the arguments `alpha` and `beta`.

    Raises:
        UsageError: an expression of the header has no valid value for this shape.
        RequirementError: a condition that the variant requires does not hold.
        KernelError: the grid is empty, the program's block is too large, or the program passes
            something that the kernel does not take.
    """
    method = variant.method
    if method.type_conflict:
        raise KernelError(method.type_conflict)
    _check_scale(variant, scale)
    padded = Shape(*variant.padded(element, shape.m, shape.n, shape.k))
    check_size(padded)
    names = variant.names(element, padded.m, padded.n, padded.k)
    single = (1, 1, 1)
    shared_bytes = method.shared_bytes.whole(names)
    if shared_bytes < 0:
        raise UsageError(f"{variant}: shared-bytes is {shared_bytes}, and must not be negative")
    if method.keeps_shared_limit and shared_bytes > SHARED_BYTES_WITHOUT_OPT_IN:
        raise KernelError(
            f"cannot be launched: {shared_bytes:,} bytes of dynamic shared memory, and a launch gets at most "
            f"{SHARED_BYTES_WITHOUT_OPT_IN:,} if the program does not ask for more; call "
            f"cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared_bytes}) before it"
        )
    block = single if not method.is_kernel else variant.extents("threads", method.threads, names)
    grid = single if not method.is_kernel else variant.extents("grid", method.grid, names)
    threads = math.prod(block)
    is_of_program = shape.extents == method.program_size or (
        method.launched_at[1] and not any(extent.names & {*SIZE_NAMES} for extent in method.threads)
    )
    if threads > MOST_THREADS and is_of_program:
        extents = re.sub(r"( x 1)+$", "", " x ".join(map(str, block)))
        product, fitting = (f"{extents} = ", "32 x 32") if max(block[1:]) > 1 else ("", "256")
        raise KernelError(
            f"cannot be launched: {product}{threads} threads, and a block has at most {MOST_THREADS}; "
            f"launch fewer threads, e.g. {fitting}, with a grid and tiles to match, or let each thread "
            "compute several elements"
        )
    scratch = Scratch(
        SCRATCH_BYTES
        * max(
            padded.m * padded.n, padded.m * padded.k, padded.k * padded.n, math.prod(block) * math.prod(grid)
        )
    )
    return Launch(
        shape=padded,
        block=block,
        grid=grid,
        shared_bytes=shared_bytes,
        constants=tuple((name, value.whole(names)) for name, value in method.constants),
        arguments=tuple(
            scratch if text == SCRATCH else _argument(variant, text, names, scale)
            for text in method.arguments
        ),
        column_major=method.column_major,
        adds_to_zeros=method.adds_to_zeros and not scale.beta,
        is_dependent=method.dependent_launch,
    )


def _check_scale(variant: Variant, scale: Scale) -> None:
    """Raise UsageError if the factors are not those of A B, and the arguments do not name them.

    A kernel that adds to C computes A B + C, whatever its arguments.
    """
    if variant.method.adds_to_zeros and scale == Scale(1.0, 1.0):
        return
    named = {word.lower() for text in variant.method.arguments for word in re.findall(r"\w+", text)}
    for name, value in scale.names.items():
        if value != UNSCALED.names[name] and name not in named:
            given = ", ".join(variant.method.arguments)
            raise UsageError(
                f"{variant}: --{name} {value:g} needs a kernel with {name} among its arguments ({given}); "
                "name it in --args, as in M,N,K,alpha,A,B,beta,C"
                + (", or take --beta 1 alone: it adds to C" if variant.method.adds_to_zeros else "")
            )


def unsupported_reason(method: Method, limits: Limits) -> str:
    """Return why a device with these limits cannot run a method; empty if it can."""
    reason = method.unsupported_reason(limits.arch) if limits.arch else ""
    if not reason or limits.device == limits.arch:
        return reason
    return f"{reason}, and {limits.device} executes kernels for {limits.arch} at most"


def check(variant: Variant, launch: Launch, limits: Limits) -> None:
    """Check a launch against the device's limits, before anything runs.

    Raises:
        UsageError: the launch exceeds a limit.
        RequirementError: the method needs another architecture.
    """
    if not variant.method.is_kernel:
        return
    reason = unsupported_reason(variant.method, limits)
    if reason:
        raise RequirementError(reason)
    block, grid = " x ".join(map(str, launch.block)), " x ".join(map(str, launch.grid))
    if launch.threads_per_block > limits.threads_per_block:
        raise UsageError(
            f"{variant}: a block of {block} has {launch.threads_per_block} threads; "
            f"{limits.device} allows {limits.threads_per_block}"
        )
    for axis, extent, maximum in zip("xyz", launch.block, limits.block, strict=True):
        if extent > maximum:
            raise UsageError(
                f"{variant}: a block of {block} is too long in {axis}; {limits.device} allows {maximum}"
            )
    for axis, extent, maximum in zip("xyz", launch.grid, limits.grid, strict=True):
        if extent > maximum:
            raise UsageError(
                f"{variant}: a grid of {grid} blocks is too long in {axis}; {limits.device} allows "
                f"{maximum:,}: choose larger blocks or a smaller matrix"
            )
    if launch.shared_bytes > limits.shared_bytes_per_block:
        raise UsageError(
            f"{variant}: {launch.shared_bytes:,} bytes of shared memory per block; "
            f"{limits.device} allows {limits.shared_bytes_per_block:,}"
        )


def _argument(variant: Variant, text: str, names: dict[str, int], scale: Scale) -> Argument:
    if text.startswith(TENSOR_MAP):
        return _tensor_map(variant, text, names)
    if text.startswith(ARRAY_FILE):
        name = re.sub(r"\{([^{}]*)\}", lambda size: str(parse(size[1]).whole(names)), text[len(ARRAY_FILE) :])
        if not name.endswith(")"):
            raise UsageError(f"{variant}: “{text}” in --args must have the form file(order-{{M}}x{{N}}.npy)")
        return read_array(variant.method.path.parent / name.removesuffix(")"))
    if text.startswith("{"):
        members = split_at_commas(text[1:].removesuffix("}").removesuffix(","))
        if not text.endswith("}") or any(
            member.startswith(("{", TENSOR_MAP, ARRAY_FILE)) for member in members
        ):
            raise UsageError(
                f"{variant}: “{text}” in --args must have the form {{N, K, B}}: the values of a struct's "
                "members, in the order in which the struct declares them"
            )
        return StructValue(tuple(_value(variant, member, names, scale) for member in members))
    return _value(variant, text, names, scale)


def _value(variant: Variant, text: str, names: dict[str, int], scale: Scale) -> PlainArgument:
    if text in ("A", "B", "C") or text in PADDED_COPIES:
        return text
    if text.lower() in scale.names and text not in names:
        return scale.names[text.lower()]
    if is_decimal(text):
        if not math.isfinite(float(text)):
            raise UsageError(f"{variant}: {text} in --args is larger than every float")
        return float(text)
    return parse(text).whole(names)


def is_decimal(text: str) -> bool:
    """Return whether an argument is a number with a point or an exponent, which is passed as a float."""
    return (
        re.fullmatch(r"[+-]?([0-9]+\.[0-9]*|\.?[0-9]+(?=[eE])|\.[0-9]+)([eE][+-]?[0-9]+)?", text) is not None
    )


_ADJACENT = {"A": ("K", "M"), "B": ("N", "K"), "C": ("N", "M")}
"""Names of each matrix's row length and column length."""


def _tensor_map(variant: Variant, text: str, names: dict[str, int]) -> TensorMap:
    """Parse `tensor_map(A, box rows, box columns, swizzle, band columns, box bands, dimensions)`.

    The numbers after the box columns are optional. The map of a matrix that is stored column by column
    describes the transpose, which is stored row by row.

    The conditions are those of cuTensorMapEncodeTiled, whose error does not name the condition that fails.
    """
    memory, *numbers = split_at_commas(text.removeprefix(TENSOR_MAP).removesuffix(")"))
    matrix = PADDED_COPIES.get(memory, memory)
    if matrix not in ("A", "B", "C") or not 2 <= len(numbers) <= 6 or not text.endswith(")"):
        raise UsageError(
            f"{variant}: “{text}” must have the form “tensor_map(A, BM, BK)”: a matrix, the rows and columns "
            "of a box, and optionally a swizzle in bytes, the columns of a band, the bands of a box and the "
            "number of dimensions"
        )
    rows, columns, *optional = (parse(number).whole(names) for number in numbers)
    swizzle, band, bands = (*optional, *(0, 0, 1)[len(optional) :])[:3]
    dimensions = optional[3] if len(optional) > 3 else 3 if band else 2
    size = names["result" if matrix == "C" else "element"]
    if not (1 <= rows <= LONGEST_BOX_SIDE and 1 <= columns <= LONGEST_BOX_SIDE):
        raise UsageError(
            f"{variant}: {text} has boxes of {rows} x {columns}; a side is 1 to {LONGEST_BOX_SIDE} elements"
        )
    if swizzle not in SWIZZLES:
        raise UsageError(f"{variant}: {text} has a swizzle of {swizzle} bytes; choose one of {SWIZZLES}")
    if columns * size % TENSOR_MAP_GRANULE_BYTES:
        raise UsageError(
            f"{variant}: a row of a box of {text} has {columns * size} bytes, and must have a multiple of "
            f"{TENSOR_MAP_GRANULE_BYTES}"
        )
    extent = _ADJACENT[matrix][matrix in variant.method.column_major]
    line = "column" if matrix in variant.method.column_major else "row"
    if memory == matrix and names[extent] * size % TENSOR_MAP_GRANULE_BYTES:
        raise UsageError(
            f"{variant}: a {line} of {matrix} has {names[extent] * size} bytes, and for {text} must have a "
            f"multiple of {TENSOR_MAP_GRANULE_BYTES}: add {extent} % {TENSOR_MAP_GRANULE_BYTES // size} == 0 "
            "to the header's “requires:”, which pads the matrix"
        )
    if swizzle and columns * size > swizzle:
        raise UsageError(
            f"{variant}: a row of a box of {text} has {columns * size} bytes, and its swizzle allows at most "
            f"{swizzle}"
        )
    spec = TensorMap(matrix, rows, columns, swizzle, band, bands, dimensions, memory != matrix)  # type: ignore[arg-type]
    _check_bands(f"{variant}: {text}", spec, size, extent, names[extent])
    return spec


def _check_bands(argument: str, spec: TensorMap, size_bytes: int, extent: str, columns: int) -> None:
    """Check the bands and the number of dimensions of a tensor map.

    Args:
        argument: the argument of the variant, for messages.
        size_bytes: of an element.
        extent: the name of the number of columns that are cut, such as `K`.

    Raises:
        UsageError: the driver would refuse the tensor map, or the last band would be incomplete.
    """
    band, least = spec.band_columns, 3 if spec.band_columns else 2
    if band < 0 or band * size_bytes % TENSOR_MAP_GRANULE_BYTES:
        raise UsageError(
            f"{argument} has bands of {band} columns, or {band * size_bytes} bytes; choose a multiple of "
            f"{TENSOR_MAP_GRANULE_BYTES} bytes, or 0 for no bands"
        )
    if band and columns % band:
        raise UsageError(
            f"{argument} cuts {spec.matrix} into bands of {band}, and {extent} is {columns}: add "
            f"{extent} % {band} == 0 to the header's “requires:” or to --requires, which pads the matrix"
        )
    if not 1 <= spec.box_bands <= (LONGEST_BOX_SIDE if band else 1):
        raise UsageError(
            f"{argument} has boxes of {spec.box_bands} bands; a box has 1 to {LONGEST_BOX_SIDE} bands, and 1 "
            "if the matrix is not cut"
        )
    if not least <= spec.dimensions <= MOST_DIMENSIONS:
        raise UsageError(
            f"{argument} has {spec.dimensions} dimensions; {'with' if band else 'without'} bands it has "
            f"{least} to {MOST_DIMENSIONS}"
        )
