"""Kernels compiled through PyCUDA, its cache filled ahead, and loaded as a `SourceModule`."""

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


def default_of(method: str):
    (variant,) = variants(find(method), {})
    return program(variant, FLOAT32, True)


@pytest.fixture
def counted_nvcc(tmp_path):
    """A stand-in for nvcc that writes down what nvcc is asked, and the file with those lines."""
    asked, script = tmp_path / "asked", tmp_path / "nvcc"
    script.write_text(f'#!/bin/sh\necho "$@" >>{asked}\nexec {nvcc().path} "$@"\n')
    script.chmod(0o755)
    return script, lambda: asked.read_text().splitlines() if asked.exists() else []


@pytest.mark.parametrize("method", ["tiled", "async-copy"])
def test_loading_asks_nvcc_for_its_version_alone(gpu, counted_nvcc, method: str) -> None:
    """async-copy includes a header, over which PyCUDA would run the preprocessor."""
    script, asked = counted_nvcc
    compiled = compile_source(default_of(method), gpu.arch)
    module = dataclasses.replace(compiled.module, nvcc=str(script)).load()
    assert module.get_function(compiled.kernel).num_regs > 0
    assert asked() == ["--version"]


def test_another_process_finds_what_one_has_compiled(gpu, compiler_cache: Path) -> None:
    compiled = compile_source(default_of("naive"), gpu.arch)
    (cubin,) = Path(compiled.module.cache_dir).glob("*.cubin")
    made_ns = cubin.stat().st_mtime_ns
    code = (
        "from cudamm.devices.find_device import find\n"
        "with find('gpu') as gpu:\n"
        f"    from pycuda.compiler import SourceModule\n"
        f"    SourceModule(**{compiled.module._arguments()!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [path.name for path in cubin.parent.iterdir()] == [cubin.name]
    assert cubin.stat().st_mtime_ns == made_ns


def test_what_does_not_compile_is_said_with_its_line_and_leaves_nothing(
    gpu, write_kernel, tmp_path, monkeypatch
):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    (variant,) = variants(read_method(write_kernel(BROKEN)), {})
    broken = program(variant, FLOAT32, True)
    for _ in range(2):  # the second time the failure is remembered
        with pytest.raises(KernelError, match=r'kernel\.cu\(6\).*"missing" is undefined'):
            compile_source(broken, gpu.arch)
    assert not list(folder.iterdir()), "PyCUDA's temporary folder is left"


def test_a_block_of_more_threads_than_the_registers_allow_says_so(gpu, verify_one, write_kernel) -> None:
    bounded = BROKEN.replace("missing", "A[0]").replace("void broken", "void __launch_bounds__(32) broken")
    result = verify_one(gpu, write_kernel(bounded.replace("threads: 32", "threads: 64")), "1x1x1")
    assert result.status == "failed"
    assert "a block has 64 threads" in result.reason and "allow 32" in result.reason
