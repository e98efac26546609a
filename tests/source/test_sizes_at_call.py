"""Calls of launching functions that pass the sizes in another order than the matrices have them."""

from __future__ import annotations

import pytest

from cudamm.source.c_definitions import source_file
from cudamm.source.sizes_at_call import call_with_other_sizes

LAUNCHER = """
void multiply(const float *a, const float *b, float *c, int M, int N, int K) {
    float *da, *db, *dc;
    cudaMemcpy(da, a, M * K * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(db, b, K * N * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpy(c, dc, M * N * sizeof(float), cudaMemcpyDeviceToHost);
}
"""
MEMORY = """
    float *x = (float *)malloc(M * K * sizeof(float)), *y = new float[K * N];
    std::vector<float> z(M * N);
"""


def right_call(values: str, call: str) -> str:
    """Return the right call for a call in main; empty if nothing is certainly wrong with it."""
    file = source_file(f"{LAUNCHER}\nint main(int argc, char **argv) {{\n{values}{MEMORY}{call};\n}}")
    (launcher,) = file.functions_named("multiply")
    letters = {"da": "A", "db": "B", "dc": "C"}
    found = call_with_other_sizes(file, launcher, {size: size for size in "MNK"}, letters)
    return found.right if found else ""


VALUES = "int M = 300, N = 200, K = 130;"


@pytest.mark.parametrize("values", [VALUES, "int M = atoi(argv[1]), N = atoi(argv[2]), K = atoi(argv[3]);"])
def test_sizes_in_another_order_are_found(values):
    right = "multiply(x, y, z.data(), M, N, K)"
    assert right_call(values, "multiply(x, y, z.data(), M, K, N)") == right
    assert right_call(values, "multiply(x, y, z.data(), K, M, N)") == right
    assert right_call(values, right) == ""


def test_a_product_of_the_other_two_matrices_is_right():
    """The transposed product, for matrices by columns: Bᵀ Aᵀ."""
    assert right_call(VALUES, "multiply(y, x, z.data(), N, M, K)") == ""


def test_sizes_of_one_value_may_be_exchanged():
    assert right_call("int M = 300, N = 512, K = 512;", "multiply(x, y, z.data(), M, K, N)") == ""
