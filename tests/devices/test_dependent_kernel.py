"""Launches that may start early: what the driver gets, and the numbers of its header.

The driver is a stand-in. `tests/gpu/test_dependent_launch_on_gpu.py` launches on a GPU.
"""

from __future__ import annotations

import ctypes
import gc
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cudamm.compile.host_compiler import compiler
from cudamm.compile.toolkit import find_nvcc, header_folders
from cudamm.devices import dependent_kernel
from cudamm.devices.dependent_kernel import DependentKernel
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.problem import Shape
from tests.fake_cuda_driver import Error

# Keeps what the functions of libcuda get in `seen`, and refuses the function whose name is in `refused`. The
# module and the function have addresses of more than 32 bits.
DRIVER = """
#include <cstring>
struct Attribute { int id; char padding[4]; union { char bytes[64]; int is_allowed; } value; };
struct Config {
    unsigned grid[3], block[3], shared_bytes;
    void* stream;
    Attribute* attributes;
    unsigned attribute_count;
};
static char module, function, variable[24];
extern "C" {
char refused[64];
struct {
    char image[8], name[8], arguments[16];
    int attribute, shared_bytes, launches, unloaded;
    unsigned grid[3], block[3], launch_shared_bytes, attribute_count;
    int attribute_id, is_allowed, has_stream, has_parameters;
} seen;

int answer(const char* name) { return strcmp(name, refused) ? 0 : 222; }
int cuModuleLoadData(void** loaded, const void* image) {
    *loaded = &module;
    strncpy(seen.image, (const char*)image, sizeof seen.image);
    return answer("cuModuleLoadData");
}
int cuModuleUnload(void* loaded) { return seen.unloaded += loaded == &module, 0; }
int cuModuleGetFunction(void** found, void* loaded, const char* name) {
    *found = &function;
    strncpy(seen.name, name, sizeof seen.name);
    return loaded == &module ? answer("cuModuleGetFunction") : 1;
}
int cuFuncSetAttribute(void* of, int attribute, int value) {
    seen.attribute = attribute, seen.shared_bytes = value;
    return of == &function ? answer("cuFuncSetAttribute") : 1;
}
int cuModuleGetGlobal_v2(unsigned long long* address, size_t* bytes, void* loaded, const char* name) {
    *address = (unsigned long long)variable, *bytes = sizeof variable;
    return loaded == &module && !strcmp(name, "variable") ? 0 : 500;
}
int cuLaunchKernelEx(const Config* config, void* of, void** parameters, void** extra) {
    if (of != &function) return 1;
    seen.launches += 1;
    memcpy(seen.grid, config->grid, sizeof seen.grid), memcpy(seen.block, config->block, sizeof seen.block);
    seen.launch_shared_bytes = config->shared_bytes, seen.attribute_count = config->attribute_count;
    seen.attribute_id = config->attributes[0].id, seen.is_allowed = config->attributes[0].value.is_allowed;
    seen.has_stream = config->stream != 0, seen.has_parameters = parameters != 0;
    if (extra[0] != (void*)1 || extra[2] != (void*)2 || extra[4] != 0) return 1;  // as in cuda.h
    size_t bytes = *(size_t*)extra[3];
    if (bytes > sizeof seen.arguments) return 1;
    memcpy(seen.arguments, extra[1], bytes);
    return answer("cuLaunchKernelEx");
}
int cuGetErrorString(int status, const char** text) {
    *text = status == 222 ? "the reason" : 0;
    return status == 222 ? 0 : 1;
}
}
"""


class Seen(ctypes.Structure):
    """The variable `seen` of DRIVER."""

    _fields_ = (
        ("image", ctypes.c_char * 8),
        ("name", ctypes.c_char * 8),
        ("arguments", ctypes.c_char * 16),
        *((name, ctypes.c_int) for name in ("attribute", "shared_bytes", "launches", "unloaded")),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        *((name, ctypes.c_uint) for name in ("launch_shared_bytes", "attribute_count")),
        *((name, ctypes.c_int) for name in ("attribute_id", "is_allowed", "has_stream", "has_parameters")),
    )


class LogicError(Error):
    """The error of PyCUDA for a refused call."""


CUDA: Any = SimpleNamespace(LogicError=LogicError, Error=Error)
LAUNCH = Launch(
    Shape(8, 8, 8), grid=(5, 4, 3), block=(128, 2, 1), shared_bytes=70_000, constants=(), arguments=(),
    is_dependent=True,
)  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("driver") / "libcuda.so.1"
    command = [*compiler().command, "-shared", "-fPIC", "-x", "c++", "-", "-o", str(path)]
    subprocess.run(command, input=DRIVER, text=True, check=True)
    return path


@pytest.fixture
def driver(library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ctypes.CDLL]:
    """Load the stand-in in the place of libcuda."""
    loaded = ctypes.CDLL(str(library))
    gc.collect()  # unloads the kernels of earlier tests
    ctypes.memset(ctypes.addressof(seen_by(loaded)), 0, ctypes.sizeof(Seen))
    real = ctypes.CDLL

    def load(name: str) -> ctypes.CDLL:
        assert name == "libcuda.so.1"
        return real(str(library))

    monkeypatch.setattr(dependent_kernel.ctypes, "CDLL", load)
    yield loaded
    refuse(loaded, "")


def seen_by(driver: ctypes.CDLL) -> Seen:
    return Seen.in_dll(driver, "seen")


def refuse(driver: ctypes.CDLL, function: str) -> None:
    (ctypes.c_char * 64).in_dll(driver, "refused").value = function.encode()


def loaded_kernel() -> DependentKernel:
    return DependentKernel(CUDA, b"cubin", "gemm", 70_000)


def test_the_kernel_is_loaded_with_its_shared_memory(driver: ctypes.CDLL) -> None:
    loaded_kernel()
    seen = seen_by(driver)
    assert (seen.image, seen.name) == (b"cubin", b"gemm")
    assert (seen.attribute, seen.shared_bytes) == (8, 70_000)


def test_a_launch_may_start_early_and_has_all_numbers(driver: ctypes.CDLL) -> None:
    kernel = loaded_kernel()
    kernel.enqueue(LAUNCH, b"\x01\x00arguments")
    seen = seen_by(driver)
    assert seen.launches == 1
    assert (list(seen.grid), list(seen.block), seen.launch_shared_bytes) == ([5, 4, 3], [128, 2, 1], 70_000)
    assert (seen.attribute_count, seen.attribute_id, seen.is_allowed) == (1, 6, 1)
    assert not seen.has_stream and not seen.has_parameters
    at = ctypes.addressof(seen) + Seen.arguments.offset
    assert ctypes.string_at(at, 11) == b"\x01\x00arguments"


def test_a_global_variable_has_an_address_and_a_size(driver: ctypes.CDLL) -> None:
    address, size_bytes = loaded_kernel().get_global("variable")
    assert address > 2**32 and size_bytes == 24


@pytest.mark.parametrize(
    "function", ["cuModuleLoadData", "cuModuleGetFunction", "cuFuncSetAttribute", "cuLaunchKernelEx"]
)
def test_what_the_driver_refuses_is_an_error_with_its_reason(driver: ctypes.CDLL, function: str) -> None:
    refuse(driver, function)
    with pytest.raises(LogicError, match=f"^{function} failed: the reason$"):
        loaded_kernel().enqueue(LAUNCH, b"")


def test_an_error_without_a_text_has_its_number(driver: ctypes.CDLL) -> None:
    with pytest.raises(LogicError, match=r"^cuModuleGetGlobal_v2 failed: error 500$"):
        loaded_kernel().get_global("another")


def test_the_kernel_is_unloaded_when_nothing_refers_to_it(driver: ctypes.CDLL) -> None:
    kernel = loaded_kernel()
    assert seen_by(driver).unloaded == 0
    del kernel
    gc.collect()
    assert seen_by(driver).unloaded == 1


def test_numbers_and_structs_are_those_of_cudas_header(needs_nvcc: None, tmp_path: Path) -> None:
    attribute, config = dependent_kernel._Attribute, dependent_kernel._Config
    numbers = {
        "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES": dependent_kernel.MAX_DYNAMIC_SHARED_BYTES,
        "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION": (
            dependent_kernel.PROGRAMMATIC_STREAM_SERIALIZATION
        ),
        "sizeof(CUlaunchAttribute)": ctypes.sizeof(attribute),
        "offsetof(CUlaunchAttribute, value)": attribute.value.offset,
        "sizeof(CUlaunchConfig)": ctypes.sizeof(config),
        "offsetof(CUlaunchConfig, gridDimX)": config.grid.offset,
        "offsetof(CUlaunchConfig, blockDimX)": config.block.offset,
        "offsetof(CUlaunchConfig, sharedMemBytes)": config.shared_bytes.offset,
        "offsetof(CUlaunchConfig, hStream)": config.stream.offset,
        "offsetof(CUlaunchConfig, attrs)": config.attributes.offset,
        "offsetof(CUlaunchConfig, numAttrs)": config.attribute_count.offset,
        "(long)CU_LAUNCH_PARAM_END": dependent_kernel.END,
        "(long)CU_LAUNCH_PARAM_BUFFER_POINTER": dependent_kernel.BUFFER_POINTER,
        "(long)CU_LAUNCH_PARAM_BUFFER_SIZE": dependent_kernel.BUFFER_SIZE,
    }
    checks = [
        f"    if ({name} != {number}) return {i};" for i, (name, number) in enumerate(numbers.items(), 1)
    ]
    text = "\n".join(
        ["#include <cstddef>", "#include <cuda.h>", "int main() {", *checks, "    return 0;", "}"]
    )
    executable = tmp_path / "check"
    folders = [f"-I{folder}" for folder in header_folders(find_nvcc())]
    command = [*compiler().command, *folders, "-x", "c++", "-", "-o", str(executable)]
    subprocess.run(command, input=text, text=True, check=True)
    failed = subprocess.run([executable], check=False).returncode
    assert failed == 0, list(numbers)[failed - 1]
