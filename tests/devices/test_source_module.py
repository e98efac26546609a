"""Compilation through PyCUDA. A stand-in for PyCUDA runs nvcc; tests/gpu tests the real PyCUDA."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from cudamm.compile.program import program
from cudamm.devices.device import DeviceInfo
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.source_module import CompiledSource, compile_source
from cudamm.errors import KernelError
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Limits
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.variant import variants

pytestmark = pytest.mark.usefixtures("needs_nvcc", "own_cache")

FLOAT32 = ELEMENT_TYPES["float32"]
BROKEN = """\
// Does not compile.
//
// threads: 32
// grid:    1
__global__ void broken(int M, int N, int K, const float *A, const float *B, float *C) {
    C[0] = missing;
}
"""
INCLUDING = BROKEN.replace("__global__", '#include "two.h"\n__global__').replace("missing", "TWO")


class CompileError(Exception):
    """The stand-in for PyCUDA's error, with the message and nvcc's output."""

    def __init__(self, msg: str, stderr: str) -> None:
        super().__init__(msg)
        self.msg, self.stderr = msg, stderr


@pytest.fixture(autouse=True)
def compiled_sources(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace PyCUDA by a stand-in, and return the list of sources that it compiles."""
    sources: list[str] = []

    def compile_it(
        source: str, nvcc: str, options: list[str], arch: str, cache_dir: str, no_extern_c: bool
    ) -> bytes:
        sources.append(source)
        folder = Path(tempfile.mkdtemp())
        (folder / "kernel.cu").write_text(source)
        command = [nvcc, "--cubin", *options, "-arch", arch, "kernel.cu"]
        status, _, stderr = prefork.forker.call_capture_output(command, str(folder), False)  # type: ignore[attr-defined]
        if status:
            raise CompileError(f"nvcc compilation of {folder}/kernel.cu failed", stderr.decode())
        image = (folder / "kernel.cubin").read_bytes()
        if "PYCUDA_DISABLE_CACHE" in os.environ:
            return image
        Path(cache_dir, f"{hashlib.sha256(source.encode()).hexdigest()}.cubin").write_bytes(image)
        return image

    package, compiler, driver = (ModuleType(f"pycuda{part}") for part in ("", ".compiler", ".driver"))
    compiler.compile, driver.CompileError = compile_it, CompileError  # type: ignore[attr-defined]
    pytools, prefork = ModuleType("pytools"), ModuleType("pytools.prefork")
    pytools.prefork = prefork  # type: ignore[attr-defined]
    for module in (package, compiler, driver, pytools, prefork):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return sources


def compiled(method: Method, arch: str = "sm_90") -> CompiledSource:
    (variant,) = variants(method, {})
    return compile_source(program(variant, FLOAT32, True), arch)


@pytest.mark.slow
def test_a_target_compiles_without_the_gpu(compiled_sources: list[str]) -> None:
    info = DeviceInfo("gpu", "gpu:0", "a GPU", {"driver_cuda": "99.0"})
    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024)
    target = GpuTarget(info, limits, find_architecture("sm_90"))
    (variant,) = variants(find("tiled"), {})
    compiled_module: Any = target.compile(program(variant, FLOAT32, True))
    assert (
        compiled_module.arch == "sm_90"
        and compiled_module.image.startswith(b"\x7fELF")
        and "tiled" in compiled_module.kernel
    )
    assert len(compiled_sources) == 1


def test_the_same_source_is_compiled_once(compiled_sources: list[str]) -> None:
    first, second = compiled(find("naive")), compiled(find("naive"))
    assert first == second and len(compiled_sources) == 1
    (cubin,) = Path(first.module.cache_dir).iterdir()
    assert cubin.read_bytes() == first.image
    assert compiled(find("naive"), "sm_80").module.cache_dir != first.module.cache_dir


def test_a_kernel_compiles_if_pycudas_cache_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYCUDA_DISABLE_CACHE", "1")
    assert compiled(find("naive")).image.startswith(b"\x7fELF")


@pytest.mark.slow
def test_a_changed_header_is_compiled_again(
    write_kernel: Callable[..., Path], compiled_sources: list[str]
) -> None:
    header = write_kernel("#define TWO 2.0f\n", "two.h")
    kernel = write_kernel(INCLUDING)
    first = compiled(read_method(kernel))
    header.write_text("#define TWO 3.0f\n")
    assert compiled(read_method(kernel)).image != first.image and len(compiled_sources) == 2


@pytest.mark.slow
def test_pycuda_gets_no_include_and_so_runs_no_preprocessor(
    write_kernel: Callable[..., Path], compiled_sources: list[str]
) -> None:
    method = read_method(write_kernel(BROKEN.replace("__global__", "#include <cuda_pipeline.h>\n__global__")))
    with pytest.raises(KernelError, match="missing"):
        compiled(method)
    assert "#include" not in compiled_sources[0] and "# include" in compiled_sources[0]


def test_a_failure_names_the_line_is_cached_and_leaves_no_files(
    write_kernel: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    compiled_sources: list[str],
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    method = read_method(write_kernel(BROKEN))
    for _ in range(2):
        with pytest.raises(KernelError, match=r'kernel\.cu\(6\).*"missing" is undefined'):
            compiled(method)
    assert len(compiled_sources) == 1 and not list(temporary.iterdir())


def test_an_interrupted_compilation_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def interrupt(*_: Any, **__: Any) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr("cudamm.compile.compiler_process.run_group", interrupt)
    monkeypatch.setattr("cudamm.devices.source_module.made_from", lambda *_: ["one"])
    with pytest.raises(KeyboardInterrupt):
        compiled(find("naive"))
    assert not list(temporary.iterdir())


@pytest.mark.slow
def test_a_missing_header_is_not_cached(write_kernel: Callable[..., Path]) -> None:
    path = write_kernel(INCLUDING)
    with pytest.raises(KernelError, match=r"two\.h"):
        compiled(read_method(path))
    write_kernel("#define TWO 2.0f\n", "two.h")
    assert compiled(read_method(path)).image
