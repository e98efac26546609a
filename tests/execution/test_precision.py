"""Precision: correct orders of summation pass, and kernels in less than their type are reported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cudamm.execution.precision import Precision, choose_sample, describe, yardstick_of

Matrix = npt.NDArray[Any]
Order = Callable[[Matrix], Matrix]
Inputs = Callable[[int, int], tuple[Matrix, Matrix]]


def both_signs(edge: int, k: int) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng([edge, k])
    return random.uniform(-1, 1, (edge, k)), random.uniform(-1, 1, (k, edge))


def all_positive(edge: int, k: int) -> tuple[Matrix, Matrix]:
    a, b = both_signs(edge, k)
    return abs(a), abs(b)


def wide_range(edge: int, k: int) -> tuple[Matrix, Matrix]:
    a, b = both_signs(edge, k)
    return np.sign(a) * np.exp2(40 * a), np.sign(b) * np.exp2(40 * b)


def signs_alternate(edge: int, k: int) -> tuple[Matrix, Matrix]:
    a, b = all_positive(edge, k)
    return a * (-1) ** np.arange(k), b


def whole_numbers(edge: int, k: int) -> tuple[Matrix, Matrix]:
    a, b = both_signs(edge, k)
    return np.rint(100 * a), np.rint(100 * b)


@pytest.mark.parametrize("k", [1, 5, 64, 700, 4096])
def test_sums_that_tensor_cores_cut_are_sums_in_float_and_those_in_half_are_not(k: int) -> None:
    """Each sum of four terms is cut to 24 bits, as on the first tensor cores."""
    a, b = (x.astype(np.float16).astype(np.float32) for x in both_signs(32, k))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    yardstick = yardstick_of(a, b, exact, np.zeros_like(exact), "float16_to_float32")
    assert yardstick is not None
    cut, halves = np.zeros_like(exact), np.zeros_like(exact, np.float16)
    for begin in range(0, k, 4):
        cut += a[:, begin : begin + 4].astype(np.float64) @ b[begin : begin + 4].astype(np.float64)
        cut = (cut.view(np.uint64) & np.uint64(2**64 - 2**29)).view(np.float64)
    for i in range(k):
        halves += a[:, i : i + 1].astype(np.float16) * b[i].astype(np.float16)
    of_cut, of_halves = (yardstick.precision_of(x.astype(np.float32)) for x in (cut, halves))
    assert of_cut is not None and not of_cut.is_lower
    assert of_halves is not None and of_halves.is_lower


def terms_of(a: Matrix, b: Matrix) -> Matrix:
    """Return the exact terms of each element (k x r x c)."""
    return a.astype(np.float64).T[:, :, None] * b.astype(np.float64)[:, None, :]


def judge_of(a: Matrix, b: Matrix) -> Callable[[Matrix], Precision]:
    """Return a function that judges a product by a reference that is summed in extended precision."""
    reference = terms_of(a, b).astype(np.longdouble).sum(axis=0)
    high = reference.astype(np.float64)
    yardstick = yardstick_of(a, b, high, (reference - high).astype(np.float64), "float32")
    assert yardstick is not None

    def judge(product: Matrix) -> Precision:
        precision = yardstick.precision_of(product.astype(np.float32))
        assert precision is not None
        return precision

    return judge


def judged(a: Matrix, b: Matrix, product: Matrix) -> Precision:
    return judge_of(a, b)(product)


def in_float32(inputs: Inputs, edge: int, k: int) -> tuple[Matrix, Matrix]:
    a, b = inputs(edge, k)
    return a.astype(np.float32), b.astype(np.float32)


def one_by_one(terms: Matrix) -> Matrix:
    total = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        total += term.astype(np.float32)
    return total


def even_and_odd(terms: Matrix) -> Matrix:
    return one_by_one(terms[0::2]) + one_by_one(terms[1::2])


def pairwise(terms: Matrix) -> Matrix:
    if len(terms) == 1:
        return terms[0].astype(np.float32)
    return pairwise(terms[: len(terms) // 2]) + pairwise(terms[len(terms) // 2 :])


def in_blocks(terms: Matrix) -> Matrix:
    return one_by_one(np.stack([one_by_one(terms[begin : begin + 8]) for begin in range(0, len(terms), 8)]))


def kahan(terms: Matrix) -> Matrix:
    total = lost = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        addend = (term - lost).astype(np.float32)
        total, lost = total + addend, ((total + addend) - total) - addend
    return total


def correctly_rounded(terms: Matrix) -> Matrix:
    return terms.sum(axis=0).astype(np.float32)


ORDERS = {
    "chain": one_by_one,
    "reverse": lambda terms: one_by_one(terms[::-1]),
    "even and odd": even_and_odd,
    "pairwise": pairwise,
    "blocks": in_blocks,
    "Kahan": kahan,
    "correctly rounded": correctly_rounded,
}


@pytest.mark.parametrize("k", [1, 2, 7, 16, 200])
@pytest.mark.parametrize("inputs", [both_signs, all_positive, wide_range, signs_alternate, whole_numbers])
def test_correct_orders_compute_in_full_precision(inputs: Inputs, k: int) -> None:
    a, b = in_float32(inputs, 24, k)
    judge = judge_of(a, b)
    for name, order in ORDERS.items():
        precision = judge(order(terms_of(a, b)))
        assert precision.ratio < 2, name
        assert not precision.is_lower
        assert precision.effective_bits == precision.effective_sum_bits == 24
        assert describe(precision) == "errors like those of float32"


@pytest.mark.parametrize("inputs", [both_signs, all_positive, wide_range, signs_alternate])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 5)])
def test_few_elements_pass_in_any_order(inputs: Inputs, rows: int, columns: int) -> None:
    for k in range(1, 33):
        a, b = in_float32(inputs, 5, k)
        a, b = a[:rows], b[:, :columns]
        judge = judge_of(a, b)
        for name, order in ORDERS.items():
            assert not judge(order(terms_of(a, b))).is_lower, (k, name)


def to_half(numbers: Matrix) -> Matrix:
    return numbers.astype(np.float16).astype(np.float64)


def to_bfloat16(numbers: Matrix) -> Matrix:
    """Round to the nearest number whose float32 ends in 16 zero bits."""
    bits = numbers.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32).astype(np.float64)


def to_tf32(numbers: Matrix) -> Matrix:
    bits = numbers.astype(np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)


@pytest.mark.parametrize("k", [16, 64, 1000])
@pytest.mark.parametrize(
    ("rounding", "bits", "names"),
    [(to_half, 11, "half, TF32"), (to_tf32, 11, "half, TF32"), (to_bfloat16, 8, "bfloat16")],
)
def test_lower_precision_of_inputs_and_products_is_reported_with_its_bits(
    rounding: Order, bits: int, names: str, k: int
) -> None:
    a, b = in_float32(both_signs, 24, k)
    products = {
        "inputs": correctly_rounded(terms_of(rounding(a), rounding(b))),
        "products": correctly_rounded(rounding(terms_of(a, b))),
    }
    for name, product in products.items():
        precision = judged(a, b, product)
        assert precision.is_lower, name
        assert abs(precision.effective_bits - bits) < 0.45, name
        assert describe(precision).startswith(f"errors like those of {bits}-bit products ({names})")
        assert describe(precision).endswith("; float32 has 24")


@pytest.mark.parametrize("k", [16, 64, 1000])
@pytest.mark.parametrize(("rounding", "bits"), [(to_half, 11), (to_bfloat16, 8)])
def test_sums_kept_in_lower_precision_are_reported(rounding: Order, bits: int, k: int) -> None:
    a, b = in_float32(both_signs, 24, k)
    total = np.zeros((24, 24))
    for term in terms_of(a, b):
        total = rounding(total + term)
    precision = judged(a, b, total)
    assert precision.is_lower
    assert abs(precision.effective_sum_bits - bits) < 0.5
    assert f"sums kept in {bits} bits" in describe(precision)


def test_half_products_are_reported_at_k_65536_unless_long_positive_sums_hide_them() -> None:
    for inputs, k, is_lower in ((both_signs, 65536, True), (all_positive, 16384, False)):
        a, b = in_float32(inputs, 4, k)
        precision = judged(a, b, to_half(terms_of(a, b)).sum(axis=0))
        assert precision.is_lower is is_lower
        assert (precision.noticeable_bits > 11) is is_lower


def test_lower_precision_of_small_rows_is_not_hidden_by_large_ones() -> None:
    a, b = in_float32(both_signs, 64, 256)
    a[1::2] *= 2.0**-30
    product = correctly_rounded(terms_of(a, b))
    assert not judged(a, b, product).is_lower
    product[1::2] = correctly_rounded(terms_of(to_tf32(a), to_tf32(b)))[1::2]
    assert judged(a, b, product).is_lower


def test_an_error_is_no_lower_precision_because_a_chain_has_none_by_chance() -> None:
    """The chain (1 + 2⁻²⁴) - 2⁻²⁴ is exact only in some orders; the yardstick is never 0."""
    a = np.array([[1, 2.0**-24, 2.0**-24]], np.float32)
    b = np.ones((3, 1), np.float32)
    chain, reverse = one_by_one(terms_of(a, b)), one_by_one(terms_of(a, b)[::-1])
    assert chain[0, 0] == 1
    assert reverse[0, 0] == 1 + 2.0**-23
    for product in (chain, reverse):
        assert not judged(a, b, product).is_lower


def test_a_float64_kernel_that_computes_in_float32_is_reported() -> None:
    a, b = both_signs(16, 200)
    reference = (a.astype(np.longdouble).T[:, :, None] * b.astype(np.longdouble)[:, None, :]).sum(axis=0)
    high = reference.astype(np.float64)
    yardstick = yardstick_of(a, b, high, (reference - high).astype(np.float64), "float64")
    assert yardstick is not None
    correct = yardstick.precision_of(a @ b)
    # A chain of our own: a library's sums differ from processor to processor, and some are a bit more exact.
    chain = one_by_one(terms_of(a.astype(np.float32), b.astype(np.float32)))
    lower = yardstick.precision_of(chain.astype(np.float64))
    assert correct is not None
    assert lower is not None
    assert correct.effective_bits == correct.full_bits == 53
    assert lower.is_lower
    assert "sums kept in 24 bits (float32); float64 has 53" in describe(lower)


def test_a_scaled_sum_is_judged_with_c_as_one_more_term() -> None:
    a, b = in_float32(both_signs, 16, 50)
    c = in_float32(both_signs, 16, 16)[0]
    alpha, beta = np.float32(1.5), np.float32(-0.75)
    wide_a = np.hstack((alpha * a, beta * np.eye(16, dtype=np.float32)))
    wide_b = np.vstack((b, c))
    reference = 1.5 * terms_of(a, b).sum(axis=0) - 0.75 * c.astype(np.float64)
    yardstick = yardstick_of(wide_a, wide_b, reference, np.zeros_like(reference), "float32")
    assert yardstick is not None
    correct = yardstick.precision_of(alpha * one_by_one(terms_of(a, b)) + beta * c)
    lower = yardstick.precision_of(alpha * one_by_one(to_half(terms_of(a, b))) + beta * c)
    assert correct is not None
    assert lower is not None
    assert (correct.is_lower, lower.is_lower) == (False, True)


def test_products_without_rounding_errors_have_no_precision() -> None:
    a, b = in_float32(both_signs, 4, 3)
    reference, zeros = a.astype(np.float64) @ b.astype(np.float64), np.zeros((4, 4))
    assert yardstick_of(a, b, reference, zeros, "int32") is None
    assert yardstick_of(0 * a, b, zeros, zeros, "float32") is None
    yardstick = yardstick_of(a, b, reference, zeros, "float32")
    assert yardstick is not None
    product = reference.astype(np.float32)
    for value in (np.nan, np.inf):
        product[2, 1] = value
        assert yardstick.precision_of(product) is None


@pytest.mark.parametrize(
    ("m", "n"), [(1, 1), (3, 5), (1, 10000), (10000, 1), (64, 64), (70, 37), (1000, 37), (5000, 5000)]
)
def test_a_sample_has_4096_elements_or_all(m: int, n: int) -> None:
    rows, columns = choose_sample(m, n, np.random.default_rng(0))
    assert len(rows) * len(columns) >= min(4096, m * n)
    assert len(rows) * len(columns) < 4096 + max(m, 64)
    for chosen, extent in ((rows, m), (columns, n)):
        assert list(chosen) == sorted(set(chosen))
        assert 0 <= chosen[0] <= chosen[-1] < extent


def test_samples_depend_on_the_generator() -> None:
    samples = [choose_sample(1000, 1000, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert all(np.array_equal(x, y) for x, y in zip(samples[0], samples[1], strict=True))
    assert not np.array_equal(samples[0][0], samples[2][0])
