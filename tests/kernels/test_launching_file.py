"""The launch of a kernel is read from another file of its project if its own file does not launch it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.header import parse_method
from cudamm.kernels.method import Method
from cudamm.kernels.selection import Selection

HEAD = "const float *A, const float *B, float *C, int m, int n, int k"
KERNEL = f"""#pragma once
template <int EDGE>
__global__ void tiled({HEAD}) {{
    __shared__ float as[EDGE][EDGE], bs[EDGE][EDGE];
    int row = blockIdx.y * EDGE + threadIdx.y, col = blockIdx.x * EDGE + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (k + EDGE - 1) / EDGE; ++t) {{
        int x = t * EDGE + threadIdx.x, y = t * EDGE + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < m && x < k ? A[row * k + x] : 0;
        bs[threadIdx.y][threadIdx.x] = y < k && col < n ? B[y * n + col] : 0;
        __syncthreads();
        for (int i = 0; i < EDGE; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }}
    if (row < m && col < n) C[row * n + col] = sum;
}}
"""
RUN = """#define EDGE_OF_BLOCK 32
void run(const float *A, const float *B, float *C, int m, int n, int k) {
    dim3 block(EDGE_OF_BLOCK, EDGE_OF_BLOCK);
    dim3 grid((n + EDGE_OF_BLOCK - 1) / EDGE_OF_BLOCK, (m + EDGE_OF_BLOCK - 1) / EDGE_OF_BLOCK);
    tiled<EDGE_OF_BLOCK><<<grid, block>>>(A, B, C, m, n, k);
}
"""


def project(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def method(path: Path) -> Method:
    return parse_method(path.read_text(), path)


@pytest.mark.parametrize(
    ("kernel", "runner", "include"),
    [
        ("2_tiled.cuh", "main.cu", '#include "2_tiled.cuh"'),
        ("kernels/2_tiled.cuh", "runner.cu", '#include "kernels.h"'),
        ("include/2_tiled.cuh", "src/main.cu", '#include "2_tiled.cuh"'),
        ("src/cuda/2_tiled.cu", "benchmark/bench.cu", '#include "2_tiled.cu"'),
        ("kernels/2_tiled.cu", "runner.cu", f"template <int EDGE> __global__ void tiled({HEAD});"),
    ],
)
def test_the_launch_is_found_in_the_file_that_includes_or_declares_the_kernel(
    tmp_path: Path, kernel: str, runner: str, include: str
) -> None:
    project(tmp_path, {kernel: KERNEL, runner: f"{include}\n{RUN}"})
    project(tmp_path, {"kernels.h": '#include "kernels/2_tiled.cuh"\n'} if "kernels.h" in include else {})
    found = method(tmp_path / kernel)
    assert found.entry == "tiled<32>", "its own file has no EDGE_OF_BLOCK"
    assert dict(found.found_fields)["grid"] == "ceil(N / EDGE_OF_BLOCK), ceil(M / EDGE_OF_BLOCK)"
    assert dict(found.numbers)["EDGE_OF_BLOCK"].value({}) == 32
    assert found.remarks[0].startswith(f"{Path(runner).name} launches tiled as ")


def test_a_function_that_launches_gets_its_block_from_another_file(tmp_path: Path) -> None:
    head = (
        RUN.partition("\n")[2].replace("EDGE_OF_BLOCK", "T").replace("void run", "template <int T> void run")
    )
    body = "constexpr int edge = 4 * 2; CALL(A, B, C, n, n, n);"
    caller = f"void all(float *A, float *B, float *C, int n) {{ {body} }}"
    project(tmp_path, {"k/tiled.cuh": KERNEL + head})
    with pytest.raises(UsageError, match="T, whose value is not known"):
        method(tmp_path / "k/tiled.cuh")
    project(tmp_path, {"main.cu": f'#include "k/tiled.cuh"\n{caller.replace("CALL", "run<edge>")}'})
    found = method(tmp_path / "k/tiled.cuh")
    assert found.entry == "tiled<8>" and dict(found.found_fields)["threads"] == "8, 8"


def test_a_kernel_of_the_same_name_in_another_file_is_another_kernel(tmp_path: Path) -> None:
    project(tmp_path, {"a.cu": KERNEL, "b.cu": KERNEL + RUN})
    with pytest.raises(UsageError, match="tiled is a template"):
        method(tmp_path / "a.cu")


def test_a_text_that_is_in_no_file_belongs_to_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, {"main.cu": f"template <int EDGE> __global__ void tiled({HEAD});\n{RUN}"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="tiled is a template"):
        Selection((), kernels=(KERNEL,)).variants()


def test_the_files_own_launch_comes_first(tmp_path: Path) -> None:
    project(tmp_path, {"a.cuh": KERNEL + RUN, "b.cu": '#include "a.cuh"\n' + RUN.replace("32", "8")})
    assert dict(method(tmp_path / "a.cuh").numbers)["EDGE_OF_BLOCK"].value({}) == 32


def test_only_the_kernels_of_the_file_itself_are_taken(tmp_path: Path) -> None:
    other = KERNEL.replace("tiled", "other").replace("#pragma once", "")
    launches = RUN + RUN.replace("tiled", "other").replace("void run", "void run_other").partition("\n")[2]
    both = KERNEL + KERNEL.replace("tiled", "second").replace("#pragma once", "")
    project(tmp_path, {"k/a.cuh": both, "main.cu": f'#include "k/a.cuh"\n{other}{launches}'})
    variants = Selection((), kernels=(tmp_path / "k/a.cuh",)).variants()
    assert [variant.method.entry for variant in variants] == ["tiled<32>"]
