"""Arguments of users' kernels: structs, layouts, alpha and beta, and folders of headers.

All tests share one kernel, which is compiled once: the arguments give the steps between rows and columns.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.devices.find_device import host
from cudamm.execution.prepare import identities
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Scale, Shape
from cudamm.kernels.selection import Selection

KERNEL = """\
#include "steps/view.h"

__global__ void product(View A, const View B, View C, const size_t M, int N, int K, float alpha, float beta) {
    const int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M || j >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A(i, k) * B.data[k * B.row_step + j * B.column_step];
    float &c = C.data[i * C.row_step + j * C.column_step];
    c = alpha * sum + beta * c;
}

int main() { return 0; }
"""
VIEW = """\
struct View {
    int row_step;
    float *data;
    int column_step;
    __device__ float operator()(int i, int j) const { return data[i * row_step + j * column_step]; }
};
"""
ROWS = {"A": "{K, A, 1}", "B": "{N, B, 1}", "C": "{N, C, 1}"}
COLUMNS = {"A": "{1, A, M}", "B": "{1, B, K}", "C": "{1, C, M}"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "product.cu").write_text(KERNEL)
    (tmp_path / "common/steps").mkdir(parents=True)
    (tmp_path / "common/steps/view.h").write_text(VIEW)


def launch(by_column: str = "", args: str = "", n: str = "17x31x13") -> str:
    views = ", ".join((COLUMNS if name in by_column else ROWS)[name] for name in "ABC")
    layout = "".join(f" --layout {name}=column" for name in by_column)
    return (
        f'product.cu -I common --args "{args or f"{views}, M, N, K, alpha, beta"}" --threads 8,8 '
        f'--grid "ceil(N/8),ceil(M/8)" -n {n}{layout} '
    )


@pytest.mark.parametrize("by_column", ["", "B", "AC", "ABC"])
def test_matrices_may_be_stored_by_column(run, by_column: str) -> None:
    assert run(f"verify --device cpu {launch(by_column)} --beta -0.5 --alpha 3 --requires M%5==0").status == 0


def test_another_layout_than_the_kernels_is_wrong(run) -> None:
    ended = run(f"verify --device cpu {launch()} --layout C=column,B=row --json -")
    assert ended.status == 1
    assert "of 527 elements wrong" in ended.records[0]["reason"]


def test_results_of_different_layouts_and_factors_have_different_identities(tmp_path: Path) -> None:
    args = f"{', '.join(ROWS.values())}, M, N, K, alpha, beta"
    fields = {"threads": "8", "grid": "1", "args": args, "include": str(tmp_path / "common")}
    shape, element = Shape(8, 8, 8), ELEMENT_TYPES["float32"]
    found = []
    for layout, scale in (
        ("A=row", Scale()),
        ("A=column", Scale()),
        ("B=column", Scale()),
        ("A=row", Scale(2, 1)),
    ):
        selection = Selection(
            (), kernels=(tmp_path / "product.cu",), kernel_fields={**fields, "layout": layout}
        )
        (variant,) = selection.variants()
        found += identities(host(), [(variant, Problem(shape, element, 0, scale))], fmad=True)
    assert len(set(found)) == 4 and all(found)


@pytest.mark.slow
def test_messages_name_the_elements_of_a_matrix_that_is_stored_by_column(run) -> None:
    views = f"{ROWS['A']}, {ROWS['B']}, {{1, C, M + 1}}, M, N, K, alpha, beta"
    ended = run(f"check {launch('C', views)} --json -")
    assert ended.status == 1
    (beyond,) = (mistake for mistake in ended.records if mistake["kind"] == "out-of-bounds")
    assert beyond["element"].endswith("[31]")  # a column that C does not have


def test_check_remarks_that_c_is_read_unless_it_is_verified_with_beta(run) -> None:
    ended = run(f"check {launch()}")
    assert ended.status == 0
    assert ended.stdout.count("remark: line 9 of product.cu reads C before the kernel writes it") == 1
    assert "--beta 1 verifies alpha A B + beta C" in ended.stdout
    ended = run(f"check {launch()} --beta 1")
    assert ended.status == 0 and "remark" not in ended.stdout


@pytest.mark.slow
def test_factors_that_the_kernel_ignores_are_found(run) -> None:
    views = ", ".join(ROWS.values())
    assert run(f"verify --device cpu {launch(args=f'{views}, M, N, K, ALPHA, 1.0')}").status == 1
    assert run(f"verify --device cpu {launch(args=f'{views}, M, N, K, ALPHA, Beta')} --beta 1").status == 0
    assert run(f"verify --device cpu {launch(args=f'{views}, M, N, K, beta, alpha')} --beta 2").status == 1


def test_an_element_that_no_thread_writes_is_found_with_every_beta(run) -> None:
    for beta, said in (("0", "never written"), ("2", "wrong, left as they were")):
        ended = run(f"verify --device cpu {launch(n='17x8x13')} --beta {beta} --grid 1,2 --json -")
        assert f"8 of 136 elements {said}, first C[16][0]" in ended.records[0]["reason"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            'verify product.cu -I common --threads 8 --grid 1 --beta 1 '
            '--args "{M,A,K}, {K,B,N}, {M,C,N}, M, N, K, alpha, 0.0"',
            "--beta 1 needs a kernel with beta",
        ),
        ("verify -m tiled --alpha 2", "--alpha 2 needs a kernel with alpha among its arguments"),
        ("verify product.cu --threads 8 --grid 1 -I nowhere", "nowhere: there is no such folder"),
        ("verify product.cu --threads 8 --grid 1 -I product.cu", "product.cu: there is no such folder"),
        ("verify product.cu --threads 8 --grid 1 -I a:b", "must not be empty or contain :"),
        ("verify product.cu -I common --threads 8 --grid 1 --layout B=colum", "“layout: B=colum” must have"),
        ("verify product.cu -I common --threads 8 --grid 1 --layout B=row,B=row", "must have the form"),
        ("verify -m tiled --layout B=column", "--layout describes a kernel file"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_in_one_line(run, given: str, message: str) -> None:
    ended = run(f"{given} --device cpu")
    assert ended.status == 2
    assert message in ended.stderr and ended.stderr.count("\n") == 1
