"""Calls of cuBLASLt, against a stand-in that multiplies matrices stored by columns, as documented."""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum
from types import ModuleType

import ml_dtypes
import numpy as np
import pytest

from cudamm.devices.gpu_library import Library, LibraryFunction
from cudamm.errors import KernelError
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

ELEMENT = ELEMENT_TYPES["float8_e4m3"]
FUNCTION = LibraryFunction("cublaslt", find("cublaslt").path)
HANDLE, WORKSPACE = 7001, 0x7000_0000
ATTRIBUTES = {"TRANSA": 3, "TRANSB": 4, "FAST_ACCUM": 13}
OF_PROPOSAL = np.dtype([("algo", "<u8", (8,)), ("workspace", "<u8"), ("state", "<i4"), ("rest", "V20")])
TYPES = {28: np.dtype(ml_dtypes.float8_e4m3fn), 14: np.dtype(ml_dtypes.bfloat16)}


class Refused(Exception):
    """The stand-in's cuBLASLtError."""


class Proposals:
    """Memory for proposals, as nvmath's MatmulHeuristicResult."""

    def __init__(self, size: int) -> None:
        self.memory = np.zeros(size, OF_PROPOSAL)
        self.ptr = self.memory.ctypes.data


class Lt:
    """cublasLtMatmul as NVIDIA's reference defines it, for 8-bit elements."""

    def __init__(self) -> None:
        self.attributes: dict[int, int] = {}
        self.objects: dict[int, tuple[int, ...]] = {}
        self.destroyed: list[int] = []
        self.asked: list[int] = []
        self.algorithms = [3, 1, 2]
        self.refused: set[int] = set()
        self.calls: list[int] = []
        self.clock = 0.0

    def made(self, *arguments: int) -> int:
        self.objects[len(self.objects) + 1] = arguments
        return len(self.objects)

    def set_attribute(self, target: int, attribute: int, address: int, size: int) -> None:
        assert target in self.objects and size == np.dtype(self.type_of(attribute)).itemsize
        memory = (ctypes.c_char * size).from_address(address)
        self.attributes[attribute] = int(np.frombuffer(memory, self.type_of(attribute))[0])

    @staticmethod
    def type_of(attribute: int) -> type[np.generic]:
        return {13: np.int8, 1: np.uint64}.get(attribute, np.int32)

    def heuristic(self, handle: int, operation: int, a: int, b: int, c: int, d: int, preference: int,
                  requested: int, results: int, count: int) -> None:  # fmt: skip
        assert handle == HANDLE and c == d and {operation, a, b, c, preference} <= set(self.objects)
        self.asked.append(requested)
        given = self.algorithms[:requested]
        ctypes.c_int.from_address(count).value = len(given)
        for i, algorithm in enumerate(given):
            ctypes.c_uint64.from_address(results + i * OF_PROPOSAL.itemsize).value = algorithm

    def matmul(self, handle: int, operation: int, alpha: int, a: int, of_a: int, b: int, of_b: int, beta: int,
               c: int, of_c: int, d: int, of_d: int, algorithm: int, workspace: int, size: int,
               stream: int) -> None:  # fmt: skip
        assert (handle, workspace, size, stream) == (HANDLE, WORKSPACE, 32 * 2**20, 0)
        assert [ctypes.c_float.from_address(address).value for address in (alpha, beta)] == [1, 0]
        assert (c, of_c) == (d, of_d)
        number = ctypes.c_uint64.from_address(algorithm).value
        if number in self.refused:
            raise Refused("CUBLAS_STATUS_NOT_SUPPORTED (15)")
        assert (self.attributes[3], self.attributes[4]) == (1, 0)  # or CUBLAS_STATUS_NOT_SUPPORTED

        def stored(address: int, layout: int) -> np.ndarray:
            of_type, rows, columns, leading = self.objects[layout]
            dtype = TYPES[of_type]
            assert leading >= rows and leading * dtype.itemsize % 16 == 0
            memory = (ctypes.c_char * (leading * columns * dtype.itemsize)).from_address(address)
            return np.frombuffer(memory, dtype).reshape(columns, leading).T[:rows]

        left, right = stored(a, of_a).astype(np.float32), stored(b, of_b).astype(np.float32)
        stored(d, of_d)[:] = left.T @ right
        self.calls.append(number)
        self.clock += float(number)


class Event:
    """CUDA's event: a launch of algorithm i takes i milliseconds."""

    lt: Lt

    def record(self) -> None:
        self.time = self.lt.clock

    def synchronize(self) -> None:
        """Wait for nothing."""

    def time_till(self, end: Event) -> float:
        return end.time - self.time


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Lt:
    """Replace nvmath-python and PyCUDA by stand-ins, even if they are not installed."""
    lt = Lt()
    monkeypatch.setattr(Event, "lt", lt, raising=False)
    cublas, cublas_lt, driver = (ModuleType(name) for name in ("cublas", "cublasLt", "driver"))
    vars(cublas).update(
        ComputeType=IntEnum("ComputeType", {"COMPUTE_32F": 68}),
        Operation=IntEnum("Operation", {"N": 0, "T": 1}),
    )
    vars(driver).update(Event=Event)
    vars(cublas_lt).update(
        cuBLASLtError=Refused,
        MatmulDescAttribute=IntEnum("MatmulDescAttribute", ATTRIBUTES),
        MatmulPreferenceAttribute=IntEnum("MatmulPreferenceAttribute", {"MAX_WORKSPACE_BYTES": 1}),
        MatmulHeuristicResult=Proposals,
        matmul_heuristic_result_dtype=OF_PROPOSAL,
        create=lambda: HANDLE,
        destroy=lt.destroyed.append,
        matmul=lt.matmul,
        matmul_algo_get_heuristic=lt.heuristic,
        matmul_desc_create=lt.made,
        matmul_desc_destroy=lt.destroyed.append,
        matmul_desc_set_attribute=lt.set_attribute,
        get_matmul_desc_attribute_dtype=lt.type_of,
        matmul_preference_create=lt.made,
        matmul_preference_destroy=lt.destroyed.append,
        matmul_preference_set_attribute=lt.set_attribute,
        get_matmul_preference_attribute_dtype=lt.type_of,
        matrix_layout_create=lt.made,
        matrix_layout_destroy=lt.destroyed.append,
    )
    bindings, pycuda = ModuleType("nvmath.bindings"), ModuleType("pycuda")
    vars(bindings).update(cublas=cublas, cublasLt=cublas_lt)
    vars(pycuda).update(driver=driver)
    for name, module in (
        ("nvmath", ModuleType("nvmath")),
        ("nvmath.bindings", bindings),
        ("pycuda", pycuda),
        ("pycuda.driver", driver),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    return lt


class Memory:
    """An allocation in device memory."""

    def __int__(self) -> int:
        return WORKSPACE

    def free(self) -> None:
        """Free nothing."""


class Driver:
    """The part of PyCUDA that a library's workspace needs."""

    class Error(Exception):
        """PyCUDA's error."""

    def mem_alloc(self, size: int) -> Memory:
        assert size == 32 * 2**20
        return Memory()


def product(lt: Library, size: str) -> tuple[np.ndarray, np.ndarray]:
    """Return C of the library and the exact product, both of the padded shape."""
    (variant,) = variants(find("cublaslt"), {})
    launch = plan(variant, parse_shape(size), ELEMENT)
    a, b = Problem(launch.shape, ELEMENT, input_kind="integers").inputs
    layouts = launch.layouts
    memory = {"A": layouts["A"].memory_of(a), "B": layouts["B"].memory_of(layouts["B"].stored(b))}
    c = np.zeros(launch.shape.m * launch.shape.n, ELEMENT.of_results.dtype)
    addresses = {name: of.ctypes.data for name, of in memory.items()} | {"C": c.ctypes.data}
    made = lt.product(ELEMENT.name)
    made.enqueue(launch, made.arguments(launch, addresses))
    return layouts["C"].matrix_in(c).astype(np.float64), a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("size", ["1x1x1", "17x31x13", "64x64x64", "16x48x32", "100x1x50"])
def test_the_product_is_row_major_and_b_is_column_major(library: Lt, size: str) -> None:
    found, exact = product(Library(Driver(), FUNCTION), size)
    assert np.array_equal(found, exact.astype(np.float32).astype(ELEMENT.of_results.dtype).astype(np.float64))


def test_matrices_are_padded_to_multiples_of_16(library: Lt) -> None:
    product(Library(Driver(), FUNCTION), "17x31x13")
    layouts = [of for of in library.objects.values() if len(of) == 4]
    assert layouts == [(28, 16, 32, 16), (28, 16, 32, 16), (14, 32, 32, 32)]


def test_the_fastest_of_the_proposed_algorithms_is_kept_for_a_shape(library: Lt) -> None:
    lt = Library(Driver(), FUNCTION)
    product(lt, "16x16x16")
    assert library.asked == [8] and library.attributes[1] == 32 * 2**20
    assert {library.calls.count(i) for i in library.algorithms} == {1 + 3 * 5, 1 + 3 * 5 + 1}
    assert library.calls[-1] == 1
    tried = len(library.calls)
    product(lt, "16x16x16")
    assert library.calls[tried:] == [1]
    library.algorithms = [2, 4]
    product(lt, "32x16x16")
    assert library.calls[-1] == 2 and library.asked == [8, 8]


def test_algorithms_that_do_not_run_are_left_out_and_if_none_runs_the_row_fails(library: Lt) -> None:
    lt = Library(Driver(), FUNCTION)
    library.refused = {1}
    product(lt, "16x16x16")
    assert library.calls[-1] == 2
    library.refused = {1, 2, 3}
    with pytest.raises(KernelError, match=r"^cublaslt failed: CUBLAS_STATUS_NOT_SUPPORTED \(15\)$"):
        product(lt, "32x16x16")
    library.algorithms = []
    with pytest.raises(KernelError, match=r"^cublaslt failed: the library proposes no algorithm"):
        product(lt, "48x16x16")


def test_sums_are_not_accumulated_fast(library: Lt) -> None:
    Library(Driver(), FUNCTION)
    assert {name: library.attributes[number] for name, number in ATTRIBUTES.items()} == {
        "TRANSA": 1, "TRANSB": 0, "FAST_ACCUM": 0,
    }  # fmt: skip
    assert (68, 0) in library.objects.values()


def test_everything_is_destroyed(library: Lt) -> None:
    lt = Library(Driver(), FUNCTION)
    for size in ("16x16x16", "32x16x16"):
        product(lt, size)
    lt.close()
    assert sorted(library.destroyed) == [*sorted(library.objects), HANDLE]


def test_a_missing_type_names_the_library_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from cudamm.execution.prepare import _unsupported_type

    (cublas,) = variants(find("cublas"), {})
    reason = _unsupported_type(cublas, Problem(parse_shape("8"), ELEMENT))
    assert reason.startswith("cublas has no product of float8_e4m3, only of float32")
    assert reason.endswith("; cublaslt has one")
