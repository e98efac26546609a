"""Kernels that PyCUDA compiles into its cache in advance and loads as a `SourceModule`."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from cudamm.compile.nvcc_compiler import nvcc
from cudamm.compile.program import program
from cudamm.devices.source_module import compile_source
from cudamm.errors import KernelError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import variants

pytestmark = pytest.mark.gpu

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


def default_program(method: str):
    (variant,) = variants(find(method), {})
    return program(variant, FLOAT32, True)


@pytest.fixture
def counted_nvcc(tmp_path):
    """Return a script that records each call of nvcc, and a function that returns the recorded arguments."""
    record, script = tmp_path / "record", tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\necho "$@" >>{record}\nexec {nvcc().path} "$@"\n')
    script.chmod(0o755)
    return script, lambda: record.read_text().splitlines() if record.exists() else []


@pytest.mark.parametrize("method", ["tiled", "async-copy"])
def test_loading_calls_nvcc_only_for_its_version(gpu, counted_nvcc, method: str) -> None:
    """PyCUDA would also run nvcc's preprocessor over async-copy if it recognised the `#include` there."""
    script, recorded_calls = counted_nvcc
    compiled = compile_source(default_program(method), gpu.arch)
    module = dataclasses.replace(compiled.module, nvcc=str(script)).load()
    assert module.get_function(compiled.kernel).num_regs > 0
    assert recorded_calls() == ["--version"]


def test_a_compiled_kernel_is_reused_by_another_process(gpu, compiler_cache: Path) -> None:
    compiled = compile_source(default_program("naive"), gpu.arch)
    (cubin,) = Path(compiled.module.cache_dir).glob("*.cubin")
    compiled_ns = cubin.stat().st_mtime_ns
    code = (
        "from cudamm.devices.find_device import find\n"
        "with find('gpu') as gpu:\n"
        f"    from pycuda.compiler import SourceModule\n"
        f"    SourceModule(**{compiled.module._arguments()!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [path.name for path in cubin.parent.iterdir()] == [cubin.name]
    assert cubin.stat().st_mtime_ns == compiled_ns


def test_a_compiler_error_is_reported_with_its_line_and_leaves_no_files(
    gpu, write_kernel, tmp_path, monkeypatch
):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (variant,) = variants(read_method(write_kernel(BROKEN)), {})
    broken = program(variant, FLOAT32, True)
    for _ in range(2):  # the second call reports the remembered failure
        with pytest.raises(KernelError, match=r'kernel\.cu\(6\).*"missing" is undefined'):
            compile_source(broken, gpu.arch)
    assert not list(folder.iterdir()), "PyCUDA's temporary folder was not removed"


def test_a_block_with_too_many_threads_for_its_launch_bounds_is_reported(
    gpu, verify_one, write_kernel
) -> None:
    # Only the driver knows this bound: cudamm's reading of the source does not evaluate sizeof.
    bound = "__launch_bounds__(sizeof(float) * 8)"
    bounded = BROKEN.replace("missing", "A[0]").replace("void broken", f"void {bound} broken")
    result = verify_one(gpu, write_kernel(bounded.replace("threads: 32", "threads: 64")), "1x1x1")
    assert result.status == "failed"
    assert "a block has 64 threads" in result.reason and "allow 32" in result.reason
