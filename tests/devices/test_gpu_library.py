"""Calls of cuBLAS, against a stand-in that multiplies matrices stored by columns, as documented."""

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
COMPUTE_32F, FAST_TF32 = 68, 77
"""Numbers of CUBLAS_COMPUTE_32F and CUBLAS_COMPUTE_32F_FAST_TF32 in cublas_api.h."""


class Refused(Exception):
    """The stand-in's cuBLASError."""


class Columns:
    """cublasSgemm and cublasDgemm as NVIDIA's reference defines them: matrices stored column by column."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.failure: Exception | None = None

    def recorded(self, name: str) -> Any:
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
            alpha_value, beta_value = (kind.from_address(address).value for address in (alpha, beta))
            assert beta_value == 0  # cuBLAS does not read C if beta is 0
            product = stored(a, lda, k)[:m] @ stored(b, ldb, n)[:k]
            stored(c, ldc, n)[:m] = alpha_value * product

        return call

    def gemm_ex(
        self, handle: int, transa: int, transb: int, m: int, n: int, k: int, alpha: int,
        a: int, of_a: int, lda: int, b: int, of_b: int, ldb: int,
        beta: int, c: int, of_c: int, ldc: int, compute_type: int, algorithm: int,
    ) -> None:  # fmt: skip
        """Multiply as cublasGemmEx does, with scalars in float32; FAST_TF32 cuts the inputs."""
        dtype = {0: np.dtype(np.float32), 2: np.dtype(np.float16), 14: ELEMENT_TYPES["bfloat16"].dtype}[of_a]
        assert (handle, transa, transb, algorithm) == (HANDLE, 0, 0, -1) and of_a == of_b == of_c
        assert [ctypes.c_float.from_address(address).value for address in (alpha, beta)] == [1, 0]

        def stored(address: int, leading: int, columns: int) -> np.ndarray:
            memory = (ctypes.c_char * (leading * columns * dtype.itemsize)).from_address(address)
            return np.frombuffer(memory, dtype).reshape(columns, leading).T

        left, right = (x.astype(np.float32) for x in (stored(a, lda, k)[:m], stored(b, ldb, n)[:k]))
        if compute_type == FAST_TF32:
            left, right = (cut(x) for x in (left, right))
        else:
            assert compute_type == COMPUTE_32F
        stored(c, ldc, n)[:m] = left @ right


def cut(matrix: np.ndarray) -> np.ndarray:
    """Return float32 numbers without their last 13 bits."""
    return (np.ascontiguousarray(matrix).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Columns:
    """Replace nvmath-python by a stand-in, even if nvmath-python is not installed."""
    stand_in = Columns()
    cublas = ModuleType("nvmath.bindings.cublas")
    names = ("create", "destroy", "set_stream", "set_workspace", "set_pointer_mode", "set_math_mode")
    values: dict[str, Any] = {name: stand_in.recorded(name) for name in names} | {
        "sgemm": stand_in.gemm(ctypes.c_float),
        "dgemm": stand_in.gemm(ctypes.c_double),
        "gemm_ex": stand_in.gemm_ex,
        "ComputeType": IntEnum(
            "ComputeType", {"COMPUTE_32F": COMPUTE_32F, "COMPUTE_32F_FAST_TF32": FAST_TF32}
        ),
        "GemmAlgo": IntEnum("GemmAlgo", {"DEFAULT": -1}),
        "cuBLASError": Refused,
        "Operation": IntEnum("Operation", {"N": 0, "T": 1}),
        "PointerMode": IntEnum("PointerMode", {"HOST": 0, "DEVICE": 1}),
        "Math": IntEnum(
            "Math",
            {
                "DEFAULT_MATH": 0,
                "PEDANTIC_MATH": 2,
                "TF32_TENSOR_OP_MATH": 3,
                "DISALLOW_REDUCED_PRECISION_REDUCTION": 16,
            },
        ),
    }
    vars(cublas).update(values)
    bindings = ModuleType("nvmath.bindings")
    bindings.cublas = cublas  # type: ignore[attr-defined]
    for name, module in (("nvmath", ModuleType("nvmath")), (bindings.__name__, bindings),
                         (cublas.__name__, cublas)):  # fmt: skip
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("NVIDIA_TF32_OVERRIDE", "CUBLAS_EMULATE_SINGLE_PRECISION"):
        monkeypatch.delenv(name, raising=False)
    return stand_in


class Memory:
    """An allocation that counts how often it is freed."""

    def __init__(self, size: int) -> None:
        self.size, self.freed = size, 0

    def __int__(self) -> int:
        return 0x7000_0000

    def free(self) -> None:
        self.freed += 1


class Driver:
    """The part of PyCUDA that a library's workspace needs."""

    class Error(Exception):
        """PyCUDA's error."""

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
    dimensions = parse_shape(shape)
    random = np.random.default_rng(3)
    a = random.uniform(-1, 1, (dimensions.m, dimensions.k)).astype(dtype)
    b = random.uniform(-1, 1, (dimensions.k, dimensions.n)).astype(dtype)
    c = np.full((dimensions.m, dimensions.n), np.nan, dtype)
    (variant,) = variants(find("cublas"), {})
    launch = plan(variant, dimensions, ELEMENT_TYPES[dtype])
    product = Library(Driver(), FUNCTION).product(dtype)
    arguments = product.arguments(launch, {"A": a.ctypes.data, "B": b.ctypes.data, "C": c.ctypes.data})
    product.enqueue(launch, arguments)
    expected = [[sum(float(a[i, k]) * float(b[k, j]) for k in range(dimensions.k))
                 for j in range(dimensions.n)]
                for i in range(dimensions.m)]  # fmt: skip
    assert c == pytest.approx(np.array(expected), rel=0, abs=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "tf32"])
def test_products_on_tensor_cores_have_sums_in_float32_and_only_those_of_tf32_cut_inputs(
    columns: Columns, dtype: str
) -> None:
    of_type = ELEMENT_TYPES[dtype].dtype
    random = np.random.default_rng(3)
    a, b = (random.uniform(-1, 1, shape).astype(of_type) for shape in ((17, 13), (13, 31)))
    c = np.zeros((17, 31), of_type)
    (variant,) = variants(find("cublas"), {})
    launch = plan(variant, parse_shape("17x31x13"), ELEMENT_TYPES[dtype])
    product = Library(Driver(), FUNCTION).product(dtype)
    addresses = {"A": a.ctypes.data, "B": b.ctypes.data, "C": c.ctypes.data}
    product.enqueue(launch, product.arguments(launch, addresses))
    left, right = (cut(x.astype(np.float32)).astype(np.float64) for x in (a, b))
    exact = left @ right
    unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "tf32": 2.0**-24}[dtype]
    assert (np.abs(c.astype(np.float64) - exact) <= unit * np.abs(exact) + 1e-5).all()
    if dtype == "tf32":
        assert np.abs(c - a.astype(np.float64) @ b).max() > 1e-4


def test_stream_workspace_and_precision_are_set_in_an_order_that_keeps_them(columns: Columns) -> None:
    driver = Driver()
    Library(driver, FUNCTION)
    names = [name for name, *_ in columns.calls]
    # cublasSetStream resets the workspace (cuBLAS reference, cublasSetWorkspace).
    assert names.index("create") < names.index("set_stream") < names.index("set_workspace")
    calls = {name: arguments for name, *arguments in columns.calls}
    assert calls["set_stream"] == [HANDLE, 0]
    assert calls["set_workspace"] == [HANDLE, 0x7000_0000, 32 * 2**20]
    assert [memory.size for memory in driver.memory] == [32 * 2**20]
    assert calls["set_math_mode"] == [HANDLE, 16]
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
def test_a_precision_set_by_the_environment_is_refused(
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


def test_an_error_of_the_library_is_a_kernel_error(columns: Columns) -> None:
    library = Library(Driver(), FUNCTION)
    columns.failure = Refused("CUBLAS_STATUS_EXECUTION_FAILED (13):\nit broke")
    with pytest.raises(
        KernelError, match=r"^cublas failed: CUBLAS_STATUS_EXECUTION_FAILED \(13\): it broke$"
    ):
        library.product("float32").enqueue(None, [1, 1, 1, 0, 0, 0])  # type: ignore[arg-type]


def test_a_missing_library_is_reported_in_one_line(columns: Columns) -> None:
    columns.failure = RuntimeError("Failure finding libcublas.so:\n  not found")
    with pytest.raises(KernelError, match=r"^cublas cannot be used: Failure finding .*nvidia-cublas$"):
        Library(Driver(), FUNCTION)


def test_bindings_that_do_not_load_are_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nvmath", None)
    with pytest.raises(KernelError, match=r"^cublas cannot be loaded: [^\n]*nvmath[^\n]*$"):
        Library(Driver(), FUNCTION)


def test_too_little_memory_for_the_workspace_is_reported(columns: Columns) -> None:
    with pytest.raises(KernelError, match=r"no device memory for the workspace of cublas.*out of memory"):
        Library(Driver(has_room=False), FUNCTION)


def test_closing_frees_the_workspace_even_if_the_handle_is_broken(columns: Columns) -> None:
    driver = Driver()
    library = Library(driver, FUNCTION)
    library.close()
    assert ("destroy", HANDLE) in columns.calls
    broken = Library(driver, FUNCTION)
    columns.failure = Refused("CUBLAS_STATUS_NOT_INITIALIZED (1)")
    broken.close()
    assert [memory.freed for memory in driver.memory] == [1, 1]


def set_installed(monkeypatch: pytest.MonkeyPatch, is_installed: bool) -> None:
    """Make nvmath-python look installed or not installed."""

    def version(name: str) -> str:
        assert name == "nvmath-python"
        if not is_installed:
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0.0"

    monkeypatch.setattr("cudamm.devices.gpu_library.importlib", SimpleNamespace(
        metadata=SimpleNamespace(version=version,
                                 PackageNotFoundError=importlib.metadata.PackageNotFoundError)
    ))  # fmt: skip


def target() -> GpuTarget:
    info = DeviceInfo("gpu", "gpu:0", "a GPU", {"driver_cuda": "13.0"})
    received: GpuTarget = pickle.loads(pickle.dumps(GpuTarget(info, LIMITS, find_architecture("sm_90"))))  # noqa: S301
    return received


def test_a_gpu_supports_cublas_if_its_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    set_installed(monkeypatch, True)
    assert missing_package(find("cublas")) == ""
    assert target().lacks(find("cublas")) == ""


def test_without_the_package_the_message_names_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    set_installed(monkeypatch, False)
    message = target().lacks(find("cublas"))
    assert "nvmath-python" in message and "pip install nvmath-python" in message and "\n" not in message
    assert target().lacks(find("tiled")) == ""


def test_a_library_method_is_not_compiled() -> None:
    (variant,) = variants(find("cublas"), {})
    compiled = target().compile(program(variant, ELEMENT_TYPES["float32"], True))
    assert pickle.loads(pickle.dumps(compiled)) == FUNCTION  # noqa: S301 - as it is sent to the worker
