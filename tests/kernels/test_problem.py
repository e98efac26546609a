"""Problems: inputs, reference and error bound, compared with exact rational arithmetic."""

from __future__ import annotations

import dataclasses
import math
import statistics
import struct
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.errors import UsageError
from cudamm.kernels.in_threads import in_threads
from cudamm.kernels.input_kinds import INPUT_KINDS, AnyKind, InputKind, has_kind
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import MOST_ELEMENTS, Problem, Scale, Shape, check_size, parse_shape

FLOAT32, FLOAT64, INT32 = (ELEMENT_TYPES[name] for name in ("float32", "float64", "int32"))
FLOAT16, BFLOAT16 = ELEMENT_TYPES["float16"], ELEMENT_TYPES["bfloat16"]
IN_MEMORY = {
    "tf32": "float32", "float8_e4m3": "float8_e4m3fn", "float16_to_float32": "float16",
    "bfloat16_to_float32": "bfloat16", "float8_e4m3_to_float32": "float8_e4m3fn",
}  # fmt: skip
"""NumPy's types of A and B whose type has another name in NumPy."""
KINDS_OF_TYPES = [
    pytest.param(element, kind, id=f"{name}-{kind}")
    for name, element in ELEMENT_TYPES.items()
    for kind in INPUT_KINDS
    if has_kind(element, kind)
]


def exact_product(a: np.ndarray, b: np.ndarray, absolute: bool = False) -> list[list[Fraction]]:
    """Return A B, or |A| |B|, without rounding: every float is a fraction."""
    size = abs if absolute else lambda x: x
    rows = [[size(Fraction(x.item())) for x in row] for row in a]
    columns = [[size(Fraction(x.item())) for x in column] for column in b.T]
    return [[sum((x * y for x, y in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in rows]


@pytest.mark.parametrize("element", ELEMENT_TYPES.values(), ids=list(ELEMENT_TYPES))
def test_inputs_depend_only_on_the_seed(element) -> None:
    shape = Shape(20, 30, 40)
    a, b = Problem(shape, element, seed=5).inputs
    again_a, again_b = Problem(shape, element, seed=5).inputs
    other_a, other_b = Problem(shape, element, seed=6).inputs
    assert a.shape == (20, 40)
    assert b.shape == (40, 30)
    assert a.dtype == b.dtype
    assert (a.dtype.name, a.itemsize) == (IN_MEMORY.get(element.name, element.name), element.size_bytes)
    assert np.array_equal(a, again_a)
    assert np.array_equal(b, again_b)
    assert not np.array_equal(a, other_a)
    assert not np.array_equal(b, other_b)


def half_of(x: float) -> float:
    """Return a number rounded to float16."""
    rounded: float = struct.unpack("<e", struct.pack("<e", x))[0]
    return rounded


E4M3 = sorted((8 * (e > 0) + f) * 2.0 ** (max(e, 1) - 10) for e in range(16) for f in range(8))[:-1]
"""The numbers of float8_e4m3 that are not negative, in the order of their bits; the last bits are a NaN."""


def e4m3_of(x: float) -> float:
    """Return a number rounded to float8_e4m3; of two that are as near, the one with even bits.

    The differences are exact if the number is a multiple of 2⁻⁴⁴, and at most 448.
    """
    near = min(range(len(E4M3)), key=lambda bits: (abs(E4M3[bits] - abs(x)), bits % 2))
    return math.copysign(E4M3[near], x)


def bfloat16_of(x: float) -> float:
    """Return a number that is exact in float32, rounded to bfloat16, which is the upper half of float32."""
    (bits,) = struct.unpack("<I", struct.pack("<f", x))
    bits += 0x7FFF + (bits >> 16 & 1)  # to the nearest, ties to even
    rounded: float = struct.unpack("<f", struct.pack("<I", bits >> 16 << 16))[0]
    return rounded


def philox(counter: int, key: list[int]) -> list[int]:
    """Return the four words of Philox4x64-10, as its authors define it, with whole numbers of any length."""
    mask = 2**64 - 1
    words, keys = [counter, 0, 0, 0], list(key)
    for _ in range(10):
        first, second = 0xD2E7470EE14C6C93 * words[0], 0xCA5A826395121157 * words[2]
        words = [
            (second >> 64) ^ words[1] ^ keys[0], second & mask,
            (first >> 64) ^ words[3] ^ keys[1], first & mask,
        ]  # fmt: skip
        keys = [(keys[0] + 0x9E3779B97F4A7C15) & mask, (keys[1] + 0xBB67AE8584CAA73B) & mask]
    return words


def float32_of(x: float) -> float:
    """Return a number rounded to float32."""
    rounded: float = struct.unpack("<f", struct.pack("<f", x))[0]
    return rounded


def quantile(i: int) -> int:
    """Return a quantile of the normal distribution in multiples of 2⁻¹²."""
    return round(4096 * statistics.NormalDist().inv_cdf((i + 0.5) / 65536))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("window", [0, 3])
@pytest.mark.parametrize(("element", "kind"), KINDS_OF_TYPES)
def test_inputs_are_the_same_on_every_machine(element, kind: InputKind, window: int) -> None:
    """The generator is part of the promise: results of two machines are comparable only on equal inputs."""
    problem = Problem(Shape(3, 5, 7), element, seed=9, draw=4, window=window, input_kind=kind)
    for matrix, drawn in enumerate(problem.inputs):
        key = np.random.SeedSequence([9, 3, 5, 7, 4, matrix]).generate_state(2, np.uint64).tolist()
        first = 8 * window
        words = [word for step in range(first, first + 12) for word in philox(step + 1, key)]
        halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
        eighths = [word >> shift & 0xFF for word in words for shift in range(0, 64, 8)]
        quarters = [word >> shift & 0xFFFF for word in words for shift in (0, 16, 32, 48)]
        normal = [quantile(quarter) * 2.0**-12 for quarter in quarters]
        expected_of: dict[str, list[float]] = {
            "float16 uniform": [half_of(quarter * 2.0**-15 - 1) for quarter in quarters],
            "bfloat16 uniform": [bfloat16_of(quarter * 2.0**-15 - 1) for quarter in quarters],
            "float8_e4m3fn uniform": [e4m3_of(eighth * 2.0**-7 - 1) for eighth in eighths],
            "float8_e4m3fn normal": [e4m3_of(quantile(eighth << 8 | 128) * 2.0**-12) for eighth in eighths],
            "float8_e4m3fn integers": [(eighth * 33 >> 8) - 16 for eighth in eighths],
            "float32 uniform": [(half >> 8) * 2.0**-23 - 1 for half in halves],
            "float64 uniform": [(word >> 11) * 2.0**-52 - 1 for word in words],
            "float16 normal": [half_of(x) for x in normal],
            "bfloat16 normal": [bfloat16_of(x) for x in normal],
            "float32 normal": [
                float32_of((quantile(half >> 16) * 2**16 + (half & 0xFFFF) - 2**15) * 2.0**-28)
                for half in halves
            ],
            "float64 normal": [
                float(quantile(word >> 48) * 2**48 + (word & 2**48 - 1) - 2**47) * 2.0**-60 for word in words
            ],
            "float16 integers": [(quarter * 193 >> 16) - 96 for quarter in quarters],  # 7 * 96² < 65504
            "bfloat16 integers": [(quarter * 201 >> 16) - 100 for quarter in quarters],
            "float32 integers": [(half * 201 >> 32) - 100 for half in halves],
            "float64 integers": [((word >> 32) * 201 >> 32) - 100 for word in words],
            "int32 integers": [
                (half * (2 * 17515 + 1) >> 32) - 17515 for half in halves
            ],  # 7 * 17515² < 2**31
            "int8 integers": [(eighth * 255 >> 8) - 127 for eighth in eighths],
        }
        if element.name == "float16_to_float32":  # its sums are float32
            expected_of["float16 integers"] = [(quarter * 201 >> 16) - 100 for quarter in quarters]
        expected = expected_of.get(f"{IN_MEMORY.get(element.name, element.name)} {kind}", [0.0] * 200)
        assert drawn.reshape(-1).astype(np.float64).tolist() == expected[: drawn.size]


def test_the_kind_of_inputs_depends_on_the_element_type_unless_one_is_asked_for() -> None:
    kinds = {element.name: Problem(Shape(1, 1, 1), element).input_kind for element in ELEMENT_TYPES.values()}
    assert kinds == {
        "float32": "uniform", "float64": "uniform", "int32": "integers", "float16": "normal",
        "bfloat16": "normal", "tf32": "normal",
        "float8_e4m3": "normal", "float16_to_float32": "normal", "bfloat16_to_float32": "normal",
        "float8_e4m3_to_float32": "normal", "int8": "integers",
    }  # fmt: skip
    assert Problem(Shape(1, 1, 1), FLOAT16) == Problem(Shape(1, 1, 1), FLOAT16, input_kind="normal")
    assert Problem(Shape(1, 1, 1), FLOAT16) != Problem(Shape(1, 1, 1), FLOAT16, input_kind="uniform")


@pytest.mark.parametrize("element", [FLOAT32, FLOAT64, FLOAT16, BFLOAT16], ids=lambda element: element.name)
def test_normal_inputs_are_normal(element) -> None:
    """The moments of 250,000 numbers, each within five standard errors, and shares of the tails."""
    a, _ = Problem(Shape(500, 1, 500), element, input_kind="normal").inputs
    x = a.reshape(-1).astype(np.float64)
    assert abs(x.mean()) < 5 / 500
    assert abs((x**2).mean() - 1) < 5 * 2**0.5 / 500
    assert abs((x**4).mean() - 3) < 5 * 96**0.5 / 500
    assert (np.abs(x) > 3).mean() == pytest.approx(0.0027, rel=0.2)


@pytest.mark.parametrize("element", ELEMENT_TYPES.values(), ids=list(ELEMENT_TYPES))
@pytest.mark.parametrize("k", [1, 100, 1677, 1678, 65504])
def test_all_sums_of_whole_numbers_are_exact(element, k: int) -> None:
    problem = Problem(Shape(1, 2, k), element, input_kind="integers")
    problem.check_inputs()
    limit = {"int32": 2**31 - 1, "int8": 2**31 - 1, "float64": 2**53, "float16": 65504}.get(
        element.name, 2**24
    )
    largest = problem.streams[0].largest
    most = 16 if element.name.startswith("float8_e4m3") else 100
    assert 1 <= largest <= most
    assert largest == most or k * (largest + 1) ** 2 > limit
    assert k * largest**2 <= limit
    assert not problem.error_bound.any()
    exact = problem.inputs[0].astype(int) @ problem.inputs[1].astype(int)
    rounded = {"float16": half_of, "bfloat16": bfloat16_of, "float8_e4m3": bfloat16_of}.get(
        element.name, float
    )
    assert problem.reference[0].tolist() == [[rounded(x) for x in row] for row in exact.tolist()]
    assert not problem.reference[1].any()


@pytest.mark.parametrize(
    ("element", "k", "limit"), [(FLOAT16, 65505, "65,504"), (FLOAT32, 2**24 + 1, "16,777,216")]
)
def test_a_k_without_exact_sums_is_refused(element, k: int, limit: str) -> None:
    Problem(Shape(1, 1, k - 1), element, input_kind="integers").check_inputs()
    with pytest.raises(UsageError, match=rf"K is {k:,}: .*{limit}.*choose --inputs uniform"):
        Problem(Shape(1, 1, k), element, input_kind="integers").check_inputs()


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_int32_has_whole_numbers_only(kind: InputKind) -> None:
    with pytest.raises(UsageError, match=f"^int32 has no {kind} inputs: choose integers or zeros, or"):
        Problem(Shape(1, 1, 1), INT32, input_kind=kind).check_inputs()


def test_a_product_of_zeros_cannot_be_verified() -> None:
    with pytest.raises(UsageError, match=r"^--inputs zeros verifies nothing"):
        Problem(Shape(1, 1, 1), FLOAT32, input_kind="zeros").check_verifiable()


@pytest.mark.parametrize("alpha", [2.0, 0.5])
def test_scaled_whole_numbers_of_floating_point_are_exact(alpha: float) -> None:
    problem = Problem(Shape(3, 4, 5), FLOAT16, scale=Scale(alpha, -3.0), input_kind="integers")
    if alpha != 2:
        with pytest.raises(UsageError, match="for --inputs integers both have to be whole numbers"):
            problem.check_verifiable()
        return
    problem.check_verifiable()
    a, b = (matrix.astype(int) for matrix in problem.inputs)
    exact = 2 * (a @ b) - 3 * problem.output.astype(int)
    assert problem.reference[0].tolist() == [[half_of(x) for x in row] for row in exact.tolist()]
    assert not problem.error_bound.any()


def test_each_draw_has_other_inputs_and_a_window_begins_256_bytes_later() -> None:
    first, second = (Problem(Shape(4, 8, 100), FLOAT32, draw=draw) for draw in (0, 1))
    assert not np.isin(first.inputs[0], second.inputs[0]).any()
    moved = Problem(Shape(4, 8, 100), FLOAT32, window=2).inputs[0].reshape(-1)
    assert np.array_equal(moved[:-128], first.inputs[0].reshape(-1)[128:])


def test_long_inputs_are_one_stream() -> None:
    """The pieces that threads make are those of one generator."""
    (a, _), key = Problem(Shape(2, 1, 2**20 + 1), FLOAT32).inputs, [0, 2, 1, 2**20 + 1, 0, 0]
    words = np.random.SeedSequence(key).generate_state(2, np.uint64)
    whole = np.random.Generator(np.random.Philox(key=words)).random(a.size, np.float32)
    assert np.array_equal(a.reshape(-1), whole * 2 - 1)


@pytest.mark.parametrize("element", ELEMENT_TYPES.values(), ids=list(ELEMENT_TYPES))
def test_inputs_have_both_signs_and_spread_over_their_range(element) -> None:
    for matrix in Problem(
        Shape(50, 50, 50), element, input_kind="" if element.is_integer else "uniform"
    ).inputs:
        largest = 100 if element.is_integer else 1
        assert (matrix < 0).mean() == pytest.approx(0.5, abs=0.1)
        assert (matrix > 0).mean() == pytest.approx(0.5, abs=0.1)
        assert 0.9 * largest < np.abs(matrix).max() <= largest
        assert len(np.unique(matrix)) > (60 if element.size_bytes == 1 else 150)


@pytest.mark.parametrize("k", [1, 2, 100, 214_748, 214_749, 10**6, 10**8, 2**31 - 1])
@pytest.mark.parametrize("draw", [0, 1])
def test_integer_sums_cannot_overflow(k: int, draw: int) -> None:
    largest = Problem(Shape(1, 1, k), INT32, draw=draw).streams[0].largest
    assert largest >= 1
    assert k * largest * largest <= 2**31 - 1


@pytest.mark.parametrize("element", [FLOAT32, FLOAT64], ids=["float32", "float64"])
@pytest.mark.parametrize("k", [1, 2, 17])
def test_the_error_bound_is_at_least_highams_and_little_more(element, k: int) -> None:
    problem = Problem(Shape(3, 4, k), element, seed=1)
    a, b = ([[Fraction(x.item()) for x in row] for row in matrix] for matrix in problem.inputs)
    u = Fraction(1, 2**24) if element is FLOAT32 else Fraction(1, 2**53)
    gamma = k * u / (1 - k * u)
    for i, row in enumerate(exact_product(*problem.inputs, absolute=True)):
        for j, size in enumerate(row):
            bound = Fraction(problem.error_bound[i, j].item())
            assert bound >= gamma * size
            # The bound exceeds that of the norms only by the rounding errors of its own float64 arithmetic.
            squares = sum(x * x for x in a[i]) * sum(line[j] * line[j] for line in b)
            assert bound**2 <= gamma**2 * squares * (1 + Fraction(1, 2**18))


def test_the_error_bound_of_long_sums_is_a_third_above_highams() -> None:
    problem = Problem(Shape(3, 4, 10_000), FLOAT32)
    a, b = (np.abs(x).astype(np.float64) for x in problem.inputs)
    gamma = 10_000 / 2**24 / (1 - 10_000 / 2**24)
    assert problem.error_bound / (gamma * (a @ b)) == pytest.approx(4 / 3, rel=0.02)


def test_the_error_bound_of_integers_is_zero() -> None:
    assert not Problem(Shape(3, 4, 1000), INT32).error_bound.any()


@pytest.mark.parametrize("shape", ["3x4x1", "2x3x50", "1x1x3000", "5x2x129"])
def test_the_float64_reference_is_far_more_accurate_than_float64(shape: str) -> None:
    problem = Problem(parse_shape(shape), FLOAT64, seed=3)
    high, low = problem.reference
    exact = exact_product(*problem.inputs)
    sizes = exact_product(*problem.inputs, absolute=True)
    for (i, j), _ in np.ndenumerate(high):
        error = abs(Fraction(high[i, j].item()) + Fraction(low[i, j].item()) - exact[i][j])
        assert error <= sizes[i][j] / 2**95


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    k=st.integers(1, 40),
    exponents=st.tuples(st.integers(-300, 0), st.integers(0, 300)),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_float64_reference_is_accurate_for_elements_of_different_magnitudes(
    k: int, exponents: tuple[int, int], seed: int
) -> None:
    """A large element in a row must not cost the others the digits that decide the judgement."""
    problem = Problem(Shape(2, 2, k), FLOAT64, seed=seed)
    a, b = problem.inputs
    a[0, 0] *= 2.0 ** exponents[0]
    b[0, 0] *= 2.0 ** (exponents[1] / 10)
    high, low = problem.reference
    exact = exact_product(a, b)
    sizes = exact_product(a, b, absolute=True)
    for (i, j), _ in np.ndenumerate(high):
        error = abs(Fraction(high[i, j].item()) + Fraction(low[i, j].item()) - exact[i][j])
        # The error of the reference must be negligible beside the error that float64 may have.
        assert error <= sizes[i][j] * Fraction(1, 2**53) / 2**10


@pytest.mark.parametrize("element", [FLOAT32, INT32], ids=["float32", "int32"])
def test_float32_and_int32_references_are_accurate_enough_for_their_type(element) -> None:
    problem = Problem(Shape(4, 5, 300), element, seed=2)
    high, low = problem.reference
    exact = exact_product(*problem.inputs)
    for (i, j), bound in np.ndenumerate(problem.error_bound):
        error = abs(Fraction(high[i, j].item()) + Fraction(low[i, j].item()) - exact[i][j])
        assert error <= Fraction(bound.item()) / 2**20


def test_the_sum_in_k_order_rounds_after_every_step() -> None:
    problem = Problem(Shape(5, 4, 70), FLOAT32, seed=4)
    a, b = problem.inputs
    rows = np.array([0, 3])
    sums = problem.sum_in_k_order(rows)
    for out, i in enumerate(rows):
        for j in range(4):
            total = np.float32(0)
            for k in range(70):
                total = np.float32(total + np.float32(a[i, k] * b[k, j]))
            assert sums[out, j] == total
    assert sums.dtype == np.float32
    assert not np.array_equal(sums, (a @ b)[rows].astype(np.float64))


def test_a_k_too_large_for_any_bound_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    too_large, largest = (Problem(Shape(1, 1, k), FLOAT32) for k in (2**24, 2**24 - 1))
    zero = np.zeros((1, 1), np.float32)
    for problem in (too_large, largest):
        monkeypatch.setitem(problem.__dict__, "inputs", (zero, zero))  # the real inputs have 64 MB each
    refusal = r"no error bound.*--dtype float64 or --no-verify"
    with pytest.raises(UsageError, match=refusal):
        _ = too_large.error_bound
    with pytest.raises(UsageError, match=refusal):
        Problem(too_large.shape, FLOAT32).check_verifiable()
    largest.check_verifiable()
    assert largest.error_bound.shape == (1, 1)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("1024", Shape(1024, 1024, 1024)),
        ("640x480x320", Shape(640, 480, 320)),
        ("1x2X3", Shape(1, 2, 3)),
        (" 5×6×7 ", Shape(5, 6, 7)),
        ("46340", Shape(46340, 46340, 46340)),
        ("1x1x2147483647", Shape(1, 1, 2**31 - 1)),
        ("007", Shape(7, 7, 7)),
    ],
)
def test_sizes_are_read(text: str, shape: Shape) -> None:
    assert parse_shape(text) == shape


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1.5",
        "1e3",
        "5x6",
        "5x6x7x8",
        "5x0x7",
        "x5x6",
        "5xx6",
        "1 000",
        "abc",
        "5*6*7",
        "0x10x1",
    ],
)
def test_malformed_sizes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a size"):
        parse_shape(text)


@pytest.mark.parametrize("text", ["46341", "1x1x2147483648", "65536x32768x1", "999999999999"])
def test_sizes_whose_matrices_an_int_cannot_index_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="32-bit int"):
        parse_shape(text)


def test_the_limit_of_the_size_is_exact() -> None:
    check_size(Shape(1, MOST_ELEMENTS, 1))
    with pytest.raises(UsageError):
        check_size(Shape(1, MOST_ELEMENTS + 1, 1))


def test_a_shape_counts_its_elements_and_operations() -> None:
    shape = Shape(2, 3, 5)
    assert shape.elements == 2 * 5 + 5 * 3 + 2 * 3
    assert shape.flops == 60
    assert str(shape) == "2x3x5"


# References that a device computed.


def product_of(problem: Problem) -> np.ndarray:
    a, b = (x.astype(np.float64) for x in problem.inputs)
    return a @ b


@pytest.mark.parametrize("kind", ["", "integers"])
@pytest.mark.parametrize("element", [FLOAT32, INT32], ids=["float32", "int32"])
@pytest.mark.parametrize("size", ["1x1x1", "3x50x7", "200x100x300", "1000x1000x1000"])
def test_a_right_product_is_accepted_as_the_reference(element, size: str, kind: AnyKind) -> None:
    problem = Problem(parse_shape(size), element, input_kind=kind)
    product = product_of(problem)
    assert not problem.has_reference
    assert problem.offer_reference(product)
    assert problem.has_reference
    assert problem.reference[0] is product
    assert not problem.reference[1].any()
    problem.release()
    assert not problem.has_reference


@pytest.mark.parametrize("element", [FLOAT32, INT32], ids=["float32", "int32"])
def test_an_element_wrong_by_a_thousandth_of_its_bound_is_refused(element) -> None:
    problem = Problem(Shape(200, 100, 300), element)
    product = product_of(problem)
    random = np.random.default_rng(0)
    for row, column in zip(random.integers(0, 200, 100), random.integers(0, 100, 100), strict=True):
        wrong = product.copy()
        allowed = 1000 if element is INT32 else problem.error_bound[row, column]
        wrong[row, column] += random.choice([-1, 1]) * allowed / 1000
        assert not problem.offer_reference(wrong)
        assert not problem.has_reference
    assert np.array_equal(problem.reference[0], product)


def test_the_reference_of_whole_numbers_is_a_devices_product_rounded_once() -> None:
    problem = Problem(Shape(20, 30, 40), BFLOAT16, input_kind="integers")
    of_host = problem.reference[0]
    problem.release()
    product = product_of(problem)
    assert problem.offer_reference(product)
    assert np.array_equal(problem.reference[0], of_host)
    assert not np.array_equal(product, of_host)
    problem.release()
    product[3, 5] += 1
    assert not problem.offer_reference(product)


def test_wrong_products_are_not_accepted_as_the_reference() -> None:
    problem = Problem(Shape(200, 200, 300), FLOAT32)
    product = product_of(problem)
    short = product.copy()
    short[32:64] = 0
    for wrong in (product.T, short, product.astype(np.float32), np.full_like(product, np.nan)):
        assert not problem.offer_reference(wrong)


def test_no_reference_is_accepted_if_the_check_could_miss_an_error() -> None:
    """The bound of 16 terms is small, and the check itself adds up a row of 2²⁰ sums with rounding errors."""
    problem = Problem(Shape(1, 2**20, 16), FLOAT32)
    assert not problem.offer_reference(product_of(problem))


def test_after_an_interrupt_no_further_piece_is_begun() -> None:
    begun = []

    def work(piece: int) -> None:
        begun.append(piece)
        if piece == 0:
            raise KeyboardInterrupt
        time.sleep(0.001)

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(2000))
    assert len(begun) < 2000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("alpha", "beta"), [(2.0, 1.0), (-0.3, 0.0), (0.1, -7.5), (1.0, 1.0)])
def test_the_reference_of_scaled_products_is_exact_to_within_its_bound(dtype, alpha, beta):
    problem = Problem(Shape(5, 7, 33), ELEMENT_TYPES[dtype], 3, Scale(alpha, beta))
    (a, b), c = problem.inputs, problem.output
    assert c.shape == (5, 7) and c.dtype == dtype and np.abs(c).max() <= 1
    exact = [
        [
            Fraction(alpha)
            * sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a[i], b[:, j], strict=True))
            + Fraction(beta) * Fraction(float(c[i, j]))
            for j in range(7)
        ]
        for i in range(5)
    ]
    high, low = problem.reference
    for i in range(5):
        for j in range(7):
            error = abs(Fraction(high[i, j]) + Fraction(low[i, j]) - exact[i][j])
            assert error < Fraction(problem.error_bound[i, j]) / (1000 if dtype == "float64" else 10**6)
    kernel = (a.dtype.type(alpha) * (a @ b) + a.dtype.type(beta) * c).astype(np.float64)
    assert (np.abs(kernel - high - low) <= problem.error_bound).all()
    assert (problem.error_bound > Problem(problem.shape, problem.element, 3).error_bound * abs(alpha)).all()


def test_scaled_whole_numbers_do_not_overflow():
    problem = Problem(Shape(4, 4, 10**5), ELEMENT_TYPES["int32"], 0, Scale(-50.0, 1000.0))
    problem.check_verifiable()
    assert np.abs(problem.reference[0]).max() < 2**31 and not problem.error_bound.any()
    with pytest.raises(UsageError, match="both have to be whole numbers"):
        dataclasses.replace(problem, scale=Scale(0.5, 1.0)).check_verifiable()
    with pytest.raises(UsageError, match="beta is 1e-30: it has to be 0 or at least 1e-20"):
        dataclasses.replace(problem, scale=Scale(1.0, 1e-30)).check_verifiable()
    with pytest.raises(UsageError, match="too large for int32"):
        dataclasses.replace(problem, scale=Scale(1e6, 0.0)).check_verifiable()
