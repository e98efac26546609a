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

# Returns the errors of libcuda, and writes the function's arguments to the map.
DRIVER = """
#include <cstdint>
#include <cstring>
typedef uint64_t u64;
extern "C" int cuTensorMapEncodeTiled(void* map, int type, uint32_t rank, void* address, const u64* sizes,
                                      const u64* strides, const uint32_t* box, const uint32_t* steps,
                                      int interleave, int swizzle, int promotion, int fill) {
    if ((uintptr_t)map % 64 || (uintptr_t)address % 16) return 1;
    u64 arguments[16] = {(u64)type, rank, (u64)address, sizes[0], sizes[1], strides[0], box[0], box[1],
                    steps[0], steps[1], (u64)interleave, (u64)swizzle, (u64)promotion, (u64)fill};
    memcpy(map, arguments, sizeof arguments);
    return 0;
}
"""

ASK = """
import json, struct, sys
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.devices.tensor_map import encode
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import TensorMap
matrix, rows, columns, swizzle, address, m, n, element, *of_copy = json.loads(sys.argv[1])
try:
    made = encode(TensorMap(matrix, rows, columns, swizzle, *of_copy), address, m, n, ELEMENT_TYPES[element])
except KernelError as error:
    sys.exit(str(error))
print(json.dumps(struct.unpack("16Q", made)))
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

    def run(*values: object, is_old: bool = False) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(folder / "empty" if is_old else folder)}
        command = [sys.executable, "-c", ASK, json.dumps(values)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    return run


@pytest.mark.parametrize(
    ("element", "size", "data_type"), [("float32", 4, 7), ("int32", 4, 3), ("float64", 8, 8)]
)
def test_the_driver_gets_columns_before_rows(ask: Ask, element: str, size: int, data_type: int) -> None:
    completed = ask("A", 128, 32, 64, 4096, 500, 1000, element)
    assert completed.returncode == 0, completed.stderr
    *arguments, _, _ = json.loads(completed.stdout)
    interleave, swizzle, promotion, fill = 0, 2, 2, 0
    assert arguments == [
        data_type, 2, 4096, 1000, 500, 1000 * size, 32, 128, 1, 1, interleave, swizzle, promotion, fill
    ]  # fmt: skip


def test_the_rows_of_a_padded_copy_begin_at_multiples_of_128_bytes(ask: Ask) -> None:
    completed = ask("A", 128, 32, 64, 4096, 500, 1001, "float32", True)
    assert completed.returncode == 0, completed.stderr
    assert json.loads(completed.stdout)[3:6] == [1001, 500, 32 * 128]


def test_a_map_that_the_driver_refuses_is_a_failed_row(ask: Ask) -> None:
    completed = ask("B", 8, 16, 0, 4100, 24, 64, "float32")
    assert completed.returncode == 1
    assert "the driver makes no tensor map of B, 24 x 64 float32" in completed.stderr
    assert "returns error 1" in completed.stderr


def test_a_driver_without_tensor_maps_is_reported(ask: Ask) -> None:
    completed = ask("B", 8, 16, 0, 4096, 24, 64, "float32", is_old=True)
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
