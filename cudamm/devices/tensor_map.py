"""Tensor maps: how the hardware that copies boxes of a matrix to shared memory is told of the matrix.

The driver makes them. It is called through ctypes: PyCUDA does not know the function, and versions of
cuda-bindings put the map where Python allocates, at multiples of 16 bytes, though the driver asks for 64
(github.com/NVIDIA/cuda-python/pull/1692 reports the crash).
"""

from __future__ import annotations

import ctypes

from cudamm.compile.signature import TENSOR_MAP_BYTES
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import SWIZZLES, TensorMap
from cudamm.kernels.method import ElementType

# From cuda.h: CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle (by its bytes),
# CUtensorMapL2promotion and CUtensorMapFloatOOBfill.
DATA_TYPES = {"int32": 3, "float32": 7, "float64": 8}
INTERLEAVE_NONE = 0
SWIZZLE = {size_bytes: number for number, size_bytes in enumerate(SWIZZLES)}
L2_PROMOTION_128B = 2
OUT_OF_BOUNDS_IS_ZERO = 0

ALIGNMENT_BYTES = 64


def encode(of: TensorMap, address: int, rows: int, columns: int, element: ElementType) -> bytes:
    """The 128 bytes of a tensor map of a row-major matrix, for a kernel's argument.

    What a copy's box has beyond the matrix's edge arrives as zeros.

    Args:
        address: of the matrix in device memory, a multiple of 16.

    Raises:
        KernelError: the driver does not know tensor maps (before CUDA 12), or refuses this one.
    """
    try:
        make = ctypes.CDLL("libcuda.so.1").cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise KernelError(
            f"this driver makes no tensor maps, as one of CUDA 12 or later does: {error}"
        ) from None
    memory = ctypes.create_string_buffer(TENSOR_MAP_BYTES + ALIGNMENT_BYTES)
    place = -(-ctypes.addressof(memory) // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
    # Columns come first: the driver counts dimensions from the one whose elements are neighbours.
    status = make(
        ctypes.c_void_p(place),
        ctypes.c_int(DATA_TYPES[element.name]),
        ctypes.c_uint32(2),
        ctypes.c_void_p(address),
        (ctypes.c_uint64 * 2)(columns, rows),
        (ctypes.c_uint64 * 1)(columns * element.size_bytes),
        (ctypes.c_uint32 * 2)(of.box_columns, of.box_rows),
        (ctypes.c_uint32 * 2)(1, 1),
        ctypes.c_int(INTERLEAVE_NONE),
        ctypes.c_int(SWIZZLE[of.swizzle_bytes]),
        ctypes.c_int(L2_PROMOTION_128B),
        ctypes.c_int(OUT_OF_BOUNDS_IS_ZERO),
    )
    if status != 0:
        raise KernelError(
            f"the driver makes no tensor map of {of.matrix}, {rows} x {columns} {element.name}: "
            f"cuTensorMapEncodeTiled answers {status}"
        )
    return ctypes.string_at(place, TENSOR_MAP_BYTES)
