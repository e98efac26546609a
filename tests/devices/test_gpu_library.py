"""How cuBLAS is called, against a stand-in that multiplies by columns in host memory, as documented."""

from __future__ import annotations

import ctypes
import importlib.metadata
import pickle
import sys
from enum import IntEnum
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cudamm.compile.program import program
from cudamm.devices.device import DeviceInfo
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.gpu_library import Library, LibraryFunction, missing_package
from cudamm.errors import KernelError
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Limits, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import parse_shape
from cudamm.kernels.variant import variants

LIMITS = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024)
FUNCTION = LibraryFunction("cublas", find("cublas").path)
HANDLE = 7001


class Refused(Exception):
    """What the stand-in raises as cuBLASError."""


class Columns:
    """cublasSgemm and cublasDgemm as NVIDIA's reference defines them: matrices stored column by column."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.failure: Exception | None = None

    def note(self, name: str) -> Any:
        def call(*arguments: Any) -> int:
            if self.failure is not None:
                raise self.failure
            self.calls.append((name, *arguments))
            return HANDLE

        return call

    def gemm(self, kind: type[ctypes.c_float] | type[ctypes.c_double]) -> Any:
        def stored(address: int, leading: int, columns: int) -> np.ndarray:
            flat = np.ctypeslib.as_array((kind * (leading * columns)).from_address(address))
            return flat.reshape(columns, leading).T

        def call(handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int,
                 b: int, ldb: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
            if self.failure is not None:
                raise self.failure
            assert (handle, transa, transb) == (HANDLE, 0, 0)
            assert lda >= m and ldb >= k and ldc >= m  # or CUBLAS_STATUS_INVALID_VALUE
            factor, rest = (kind.from_address(where).value for where in (alpha, beta))
            assert rest == 0  # then C is not read, whatever is there
            product = stored(a, lda, k)[:m] @ stored(b, ldb, n)[:k]
            stored(c, ldc, n)[:m] = factor * product

        return call


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Columns:
    """In place of nvmath-python, whether that is installed or not."""
    made = Columns()
    cublas = ModuleType("nvmath.bindings.cublas")
    names = ("create", "destroy", "set_stream", "set_workspace", "set_pointer_mode", "set_math_mode")
    values: dict[str, Any] = {name: made.note(name) for name in names} | {
        "sgemm": made.gemm(ctypes.c_float),
        "dgemm": made.gemm(ctypes.c_double),
        "cuBLASError": Refused,
        "Operation": IntEnum("Operation", {"N": 0, "T": 1}),
        "PointerMode": IntEnum("PointerMode", {"HOST": 0, "DEVICE": 1}),
        "Math": IntEnum("Math", {"DEFAULT_MATH": 0, "PEDANTIC_MATH": 2, "TF32_TENSOR_OP_MATH": 3}),
    }
    vars(cublas).update(values)
    bindings = ModuleType("nvmath.bindings")
    bindings.cublas = cublas  # type: ignore[attr-defined]
    for name, module in (("nvmath", ModuleType("nvmath")), (bindings.__name__, bindings),
                         (cublas.__name__, cublas)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"):
        monkeypatch.delenv(name, raising=False)
    return made


class Memory:
    """An allocation that knows whether it was freed."""

    def __init__(self, size: int) -> None:
        self.size, self.freed = size, 0

    def __int__(self) -> int:
        return 0x7000_0000

    def free(self) -> None:
        self.freed += 1


class Driver:
    """As much of PyCUDA as a library's workspace takes."""

    class Error(Exception):
        """PyCUDA's."""

    def __init__(self, has_room: bool = True) -> None:
        self.has_room = has_room
        self.memory: list[Memory] = []

    def mem_alloc(self, size: int) -> Memory:
        if not self.has_room:
            raise self.Error("cuMemAlloc failed: out of memory")
        self.memory.append(Memory(size))
        return self.memory[-1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", ["1x1x1", "2x3x4", "17x31x13", "100x1x50", "1x9x5", "7x5x1", "64x64x64"])
def test_the_product_is_row_major(columns: Columns, shape: str, dtype: str) -> None:
    of = parse_shape(shape)
    random = np.random.default_rng(3)
    a = random.uniform(-1, 1, (of.m, of.k)).astype(dtype)
    b = random.uniform(-1, 1, (of.k, of.n)).astype(dtype)
    c = np.full((of.m, of.n), np.nan, dtype)
    (variant,) = variants(find("cublas"), {})
    launch = plan(variant, of, ELEMENT_TYPES[dtype])
    product = Library(Driver(), FUNCTION).product(dtype)
    arguments = product.arguments(launch, {"A": a.ctypes.data, "B": b.ctypes.data, "C": c.ctypes.data})
    product.enqueue(launch, arguments)
    expected = [[sum(float(a[i, k]) * float(b[k, j]) for k in range(of.k)) for j in range(of.n)]
                for i in range(of.m)]  # fmt: skip
    assert c == pytest.approx(np.array(expected), rel=0, abs=1e-5 if dtype == "float32" else 1e-13)


def test_stream_workspace_and_precision_are_given_and_in_an_order_that_keeps_them(columns: Columns) -> None:
    driver = Driver()
    Library(driver, FUNCTION)
    names = [name for name, *_ in columns.calls]
    # cublasSetStream takes the workspace away again (cuBLAS reference, cublasSetWorkspace).
    assert names.index("create") < names.index("set_stream") < names.index("set_workspace")
    calls = {name: arguments for name, *arguments in columns.calls}
    assert calls["set_stream"] == [HANDLE, 0]
    assert calls["set_workspace"] == [HANDLE, 0x7000_0000, 32 * 2**20]
    assert [memory.size for memory in driver.memory] == [32 * 2**20]
    assert calls["set_math_mode"] == [HANDLE, 0]
    assert calls["set_pointer_mode"] == [HANDLE, 0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NVIDIA_TF32_OVERRIDE", "1"),
        ("CUBLAS_EMULATE_SINGLE_PRECISION", "1"),
        ("CUBLAS_EMULATE_DOUBLE_PRECISION", "1"),
        ("CUBLAS_EMULATION_STRATEGY", "eager"),
    ],
)
def test_another_precision_by_the_environment_is_refused(
    columns: Columns, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    driver = Driver()
    with pytest.raises(KernelError, match=f"^cublas cannot be used: {name} is set.*unset it$"):
        Library(driver, FUNCTION)
    assert [memory.freed for memory in driver.memory] == [1]
    for harmless in ("0", ""):
        monkeypatch.setenv(name, harmless)
        Library(driver, FUNCTION)


def test_what_the_library_refuses_fails_a_row(columns: Columns) -> None:
    library = Library(Driver(), FUNCTION)
    columns.failure = Refused("CUBLAS_STATUS_EXECUTION_FAILED (13):\nit broke")
    with pytest.raises(
        KernelError, match=r"^cublas failed: CUBLAS_STATUS_EXECUTION_FAILED \(13\): it broke$"
    ):
        library.product("float32").enqueue(None, [1, 1, 1, 0, 0, 0])  # type: ignore[arg-type]


def test_a_library_that_is_not_there_is_told_in_a_line(columns: Columns) -> None:
    columns.failure = RuntimeError("Failure finding libcublas.so:\n  not found")
    with pytest.raises(KernelError, match=r"^cublas cannot be used: Failure finding .*nvidia-cublas$"):
        Library(Driver(), FUNCTION)


def test_bindings_that_do_not_load_are_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvmath", None)
    with pytest.raises(KernelError, match=r"^cublas cannot be loaded: [^\n]*nvmath[^\n]*$"):
        Library(Driver(), FUNCTION)


def test_no_room_for_the_workspace(columns: Columns) -> None:
    with pytest.raises(KernelError, match=r"no device memory for the workspace of cublas.*out of memory"):
        Library(Driver(has_room=False), FUNCTION)


def test_closing_gives_all_back_even_where_the_handle_is_broken(columns: Columns) -> None:
    driver = Driver()
    library = Library(driver, FUNCTION)
    library.close()
    assert ("destroy", HANDLE) in columns.calls
    broken = Library(driver, FUNCTION)
    columns.failure = Refused("CUBLAS_STATUS_NOT_INITIALIZED (1)")
    broken.close()
    assert [memory.freed for memory in driver.memory] == [1, 1]


def installed(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """Have the package be installed, or not, whatever is here."""

    def version(name: str) -> str:
        assert name == "nvmath-python"
        if not is_there:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0.0"

    monkeypatch.setattr("cudamm.devices.gpu_library.importlib", SimpleNamespace(
        metadata=SimpleNamespace(version=version,
                                 PackageNotFoundError=importlib.metadata.PackageNotFoundError)
    ))  # fmt: skip


def target() -> GpuTarget:
    info = DeviceInfo("gpu", "gpu:0", "a GPU", {"driver_cuda": "13.0"})
    made: GpuTarget = pickle.loads(pickle.dumps(GpuTarget(info, LIMITS, find_architecture("sm_90"))))  # noqa: S301
    return made


def test_a_gpu_runs_it_where_its_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, True)
    assert missing_package(find("cublas")) == ""
    assert target().lacks(find("cublas")) == ""


def test_without_its_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, False)
    said = target().lacks(find("cublas"))
    assert "nvmath-python" in said and "pip install nvmath-python" in said and "\n" not in said
    assert target().lacks(find("tiled")) == ""


def test_nothing_is_compiled_of_it() -> None:
    (variant,) = variants(find("cublas"), {})
    compiled = target().compile(program(variant, ELEMENT_TYPES["float32"], True))
    assert pickle.loads(pickle.dumps(compiled)) == FUNCTION  # noqa: S301 - as the worker gets it
