"""Tensor maps: the arguments of the driver's function, and the numbers of its header."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from cudamm.compile.host_compiler import compiler
from cudamm.compile.toolkit import find_nvcc, header_folders
from cudamm.devices import tensor_map

# Returns the errors of libcuda, and writes the function's arguments to the map, in 16 bits each.
DRIVER = """
#include <cstdint>
#include <cstring>
typedef uint64_t u64;
extern "C" int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const u64* sizes,
                                      const u64* strides, const uint32_t* box, const uint32_t* steps,
                                      int interleave, int swizzle, int promotion, int fill) {
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16) return 1;
    const u64 numbers[] = {(u64)type, (u64)rank, (u64)address, (u64)interleave, (u64)swizzle, (u64)promotion,
                           (u64)fill};
    uint16_t* place = (uint16_t*)map;
    for (u64 number : numbers) *place++ = number;
    for (uint32_t i = 0; i < rank; ++i) *place++ = sizes[i];
    for (uint32_t i = 0; i + 1 < rank; ++i) *place++ = strides[i];
    for (uint32_t i = 0; i < rank; ++i) *place++ = box[i];
    for (uint32_t i = 0; i < rank; ++i) *place++ = steps[i];
    memset(place, 0, (char*)map + 128 - (char*)place);
    return 0;
}
"""

ASK = """
import json, struct, sys
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.devices.tensor_map import encode
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import TensorMap
spec, address, m, n, element = json.loads(sys.argv[1])
try:
    made = encode(TensorMap(**spec), address, m, n, ELEMENT_TYPES[element])
except KernelError as error:
    sys.exit(str(error))
print(json.dumps(struct.unpack("64H", made)))
"""

Ask = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """Return a function that makes a map in a process that loads DRIVER."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "empty").mkdir()
    library = ["-shared", "-fPIC", "-x", "c++", "-", "-o"]
    for place, text in ((folder, DRIVER), (folder / "empty", "int nothing;")):
        command = [*compiler().command, *library, str(place / "libcuda.so.1")]
        subprocess.run(command, input=text, text=True, check=True)

    def run(
        matrix: str, rows: int, columns: int, *values: object, is_old: bool = False, **optional: object
    ) -> subprocess.CompletedProcess[str]:
        spec = {"matrix": matrix, "box_rows": rows, "box_columns": columns, **optional}
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "empty" if is_old else folder)}
        command = [sys.executable, "-c", ASK, json.dumps([spec, *values])]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    return run


@pytest.mark.parametrize(
    ("element", "size", "data_type"), [("float32", 4, 7), ("int32", 4, 3), ("float64", 8, 8)]
)
def test_the_driver_gets_columns_before_rows(ask: Ask, element: str, size: int, data_type: int) -> None:
    completed = ask("A", 128, 32, 4096, 500, 1000, element, swizzle_bytes=64)
    assert completed.returncode == 0, completed.stderr
    interleave, swizzle, promotion, fill = 0, 2, 2, 0
    sizes, strides, box, steps = [1000, 500], [1000 * size], [32, 128], [1, 1]
    numbers = [data_type, 2, 4096, interleave, swizzle, promotion, fill]
    arguments = [*numbers, *sizes, *strides, *box, *steps]
    assert json.loads(completed.stdout) == arguments + [0] * (64 - len(arguments))


def test_bands_are_a_third_dimension(ask: Ask) -> None:
    """A row has 320 bfloat16, which are 5 bands of 64. The box takes 2 bands of 128 rows."""
    completed = ask("A", 128, 64, 4096, 500, 320, "bfloat16", band_columns=64, box_bands=2, dimensions=3)
    assert completed.returncode == 0, completed.stderr
    sizes, strides, box, steps = [64, 500, 5], [640, 128], [64, 128, 2], [1, 1, 1]
    assert json.loads(completed.stdout)[1] == 3
    assert json.loads(completed.stdout)[7:18] == [*sizes, *strides, *box, *steps]


@pytest.mark.parametrize("band", [0, 32])
def test_dimensions_that_are_not_needed_have_the_length_1(ask: Ask, band: int) -> None:
    completed = ask("A", 8, 32, 4096, 40, 64, "float32", band_columns=band, dimensions=5)
    assert completed.returncode == 0, completed.stderr
    rank, *_ = (arguments := json.loads(completed.stdout))[1:]
    sizes, strides, box = arguments[7:12], arguments[12:16], arguments[16:21]
    assert (rank, sizes) == (5, [32, 40, 2, 1, 1] if band else [64, 40, 1, 1, 1])
    assert strides[:2] == [256, 128 if band else 256] and not any(stride % 16 for stride in strides)
    assert (box, arguments[21:26]) == ([32, 8, 1, 1, 1], [1] * 5)


def test_the_rows_of_a_padded_copy_begin_at_multiples_of_128_bytes(ask: Ask) -> None:
    completed = ask("A", 128, 32, 4096, 500, 1001, "float32", of_copy=True)
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)[7:10] == [1001, 500, 32 * 128]


def test_a_map_that_the_driver_refuses_is_a_failed_row(ask: Ask) -> None:
    completed = ask("B", 8, 16, 4100, 24, 64, "float32")
    assert completed.returncode == 1
    assert "the driver makes no tensor map of B, 24 x 64 float32" in completed.stderr
    assert "returns error 1" in completed.stderr


def test_a_driver_without_tensor_maps_is_reported(ask: Ask) -> None:
    completed = ask("B", 8, 16, 4096, 24, 64, "float32", is_old=True)
    assert completed.returncode == 1
    assert "this driver makes no tensor maps, which need a driver of CUDA 12 or later" in completed.stderr


def test_the_numbers_are_those_of_cudas_header(needs_nvcc: None) -> None:
    folders = header_folders(find_nvcc())
    names = {
        **{f"DATA_TYPE_{name.upper()}": number for name, number in tensor_map.DATA_TYPES.items()},
        **{f"SWIZZLE_{size or 'NONE'}{'B' * (size > 0)}": n for size, n in tensor_map.SWIZZLE.items()},
        "INTERLEAVE_NONE": tensor_map.INTERLEAVE_NONE,
        "L2_PROMOTION_L2_128B": tensor_map.L2_PROMOTION_128B,
        "FLOAT_OOB_FILL_NONE": tensor_map.OUT_OF_BOUNDS_IS_ZERO,
    }
    assert len(names) == 13
    checks = [f'static_assert(CU_TENSOR_MAP_{name} == {number}, "{name}");' for name, number in names.items()]
    size = f'static_assert(sizeof(CUtensorMap) == {tensor_map.TENSOR_MAP_BYTES}, "size");'
    text = "\n".join(["#include <cuda.h>", *checks, size])
    command = [*compiler().command, "-fsyntax-only", *(f"-I{folder}" for folder in folders), "-x", "c++", "-"]
    completed = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr
