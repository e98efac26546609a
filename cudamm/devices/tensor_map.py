"""Make tensor maps, which describe a matrix to the hardware that copies boxes of it to shared memory.

The driver makes a tensor map. The driver is called through ctypes, because PyCUDA lacks the function, and
because some versions of cuda-bindings align the map to 16 bytes as Python does, although the driver requires
64 (github.com/NVIDIA/cuda-python/pull/1692 reports the crash).
"""

from __future__ import annotations

import ctypes

from cudamm.compile.signature import TENSOR_MAP_BYTES
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import SWIZZLES, TensorMap, padded_row_bytes
from cudamm.kernels.method import ElementType

# From cuda.h: CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle (by its bytes),
# CUtensorMapL2promotion and CUtensorMapFloatOOBfill.
DATA_TYPES = {"int32": 3, "float16": 6, "float32": 7, "float64": 8, "bfloat16": 9, "uint8": 0}
INTERLEAVE_NONE = 0
SWIZZLE = {size_bytes: number for number, size_bytes in enumerate(SWIZZLES)}
L2_PROMOTION_128B = 2
OUT_OF_BOUNDS_IS_ZERO = 0

ALIGNMENT_BYTES = 64
"""Alignment that the driver requires of a tensor map, in bytes."""


def encode(spec: TensorMap, address: int, rows: int, columns: int, element: ElementType) -> bytes:
    """Return the 128 bytes of a tensor map of a row-major matrix, or of its copy, for a kernel's argument.

    A column-major matrix is described as its transpose, which is row-major.

    Elements of a box beyond the matrix's edge are copied as zeros.

    Args:
        address: address of the matrix in device memory, a multiple of 16.

    Raises:
        KernelError: the driver is older than CUDA 12 and has no tensor maps, or it refuses this tensor map.
    """
    try:
        encode_tiled = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise KernelError(
            f"this driver makes no tensor maps, which need a driver of CUDA 12 or later: {error}"
        ) from None
    row_bytes = padded_row_bytes(columns, element) if spec.of_copy else columns * element.size_bytes
    memory = ctypes.create_string_buffer(TENSOR_MAP_BYTES + ALIGNMENT_BYTES)
    aligned = -(-ctypes.addressof(memory) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    # Columns come first: the driver's first dimension is the one whose elements are adjacent in memory.
    band = spec.band_columns or columns
    sizes = [band, rows, columns // band, 1, 1][: spec.dimensions]
    band_bytes = band * element.size_bytes if spec.band_columns else row_bytes
    strides = [row_bytes, band_bytes, row_bytes, row_bytes][: spec.dimensions - 1]
    box = [spec.box_columns, spec.box_rows, spec.box_bands, 1, 1][: spec.dimensions]
    status = encode_tiled(
        ctypes.c_void_p(aligned),
        ctypes.c_int(DATA_TYPES["uint8" if element.size_bytes == 1 else element.of_inputs.name]),
        ctypes.c_uint32(spec.dimensions),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * len(sizes))(*sizes),
        (ctypes.c_uint64 * len(strides))(*strides),
        (ctypes.c_uint32 * len(box))(*box),
        (ctypes.c_uint32 * len(box))(*([1] * len(box))),
        ctypes.c_int(INTERLEAVE_NONE),
        ctypes.c_int(SWIZZLE[spec.swizzle_bytes]),
        ctypes.c_int(L2_PROMOTION_128B),
        ctypes.c_int(OUT_OF_BOUNDS_IS_ZERO),
    )
    if status != 0:
        raise KernelError(
            f"the driver makes no tensor map of {spec.matrix}, {rows} x {columns} {element.name}: "
            f"cuTensorMapEncodeTiled returns error {status}"
        )
    return ctypes.string_at(aligned, TENSOR_MAP_BYTES)
