"""__half and __nv_bfloat16 on the CPU device, compared with NumPy and with exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cudamm.devices.device import Device

Kernel = Callable[..., Any]
Bits = np.ndarray[Any, np.dtype[np.uint32]]

KERNEL = """\
// types:   int32
// args:    C, N
// threads: 256
// grid:    ceil(N / 256)
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ unsigned bits(NAME x) { return *(unsigned short *)&x; }
__device__ NAME number(unsigned bits) {
    const unsigned short half_of_word = (unsigned short)bits;
    return *(const NAME *)&half_of_word;
}

__global__ void k(int *C, int n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned hashed = i * 40503u >> 3, third = i * 30011u >> 2;
    const NAME a = number(i), b = number(hashed), c = number(third);
    const float to_next = 0.5f * (float)a + 0.5f * (float)number(i + 1);
    const double wide = to_next;
    int row = 0;
#define ROW(value) C[row++ * n + i] = (int)(value)
    ROW(__float_as_int((float)a));
    ROW(__float_as_int(A_TO_FLOAT(a)));
    ROW(bits(FROM_FLOAT(to_next)));
    ROW(bits(NAME(__uint_as_float(__float_as_uint(to_next) + 1))));
    ROW(bits(__uint_as_float(__float_as_uint(to_next) - 1)));
    ROW(bits(NAME(__uint_as_float(0x477f0000u + i))));
    ROW(bits(NAME(__uint_as_float(i * 65537u))));
    ROW(bits(NAME(wide)));
    ROW(bits(wide * (1 + 0x1p-40)));
    ROW(bits(wide * (1 - 0x1p-40)));
    ROW(bits(NAME((int)(i * 65521u))));
    ROW(bits(NAME((i * 2654435761ull << 31) + (hashed & 1))));
    ROW(bits(a + b));
    ROW(bits(a - b));
    ROW(bits(a * b));
    ROW(bits(a / b));
    ROW(bits(__hfma(a, b, c)));
    ROW(bits(-a));
    ROW((a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a >= b) + 32 * (a > b));
    ROW(__hlt(a, b) + 2 * __hle(a, b) + 4 * __heq(a, b) + 8 * __hne(a, b) + 16 * __hge(a, b)
        + 32 * __hgt(a, b));
    ROW(bits(__hfma2(NAME2(a, b), NAME2(b, c), NAME2(c, a)).x));
    ROW(bits(__hfma2(NAME2(a, b), NAME2(b, c), NAME2(c, a)).y));
    ROW(bits(FROM_FLOAT_rd(to_next)));
    ROW(bits(FROM_FLOAT_ru(to_next)));
    ROW(bits(FROM_FLOAT_rz(to_next)));
}
"""
COUNT = 65536
NUMBERS = np.arange(COUNT, dtype=np.uint32)
HASHED, THIRD = (NUMBERS * np.uint32(40503) >> 3) & 0xFFFF, (NUMBERS * np.uint32(30011) >> 2) & 0xFFFF
SAMPLE = range(1, COUNT, 43)
"""Numbers for which the exact result is computed with fractions."""


class Half:
    """IEEE 754's binary16, in NumPy."""

    digits, least_exponent = 11, -14

    @staticmethod
    def value(bits: Bits) -> Any:
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)

    @staticmethod
    def rounded(numbers: Any) -> Bits:
        return numbers.astype(np.float16).view(np.uint16).astype(np.uint32)


class Bfloat16:
    """The upper half of a float32, with arithmetic on the bits."""

    digits, least_exponent = 8, -126

    @staticmethod
    def value(bits: Bits) -> Any:
        return ((bits & 0xFFFF) << 16).astype(np.uint32).view(np.float32)

    @staticmethod
    def rounded(numbers: Any) -> Bits:
        words = numbers.view(np.uint32).astype(np.uint64)
        upper = (words + 0x7FFF + (words >> 16 & 1)) >> 16
        return np.where(np.isnan(numbers), 0x7FFF, upper).astype(np.uint32)


def _rounded(kind: Any, exact: Fraction) -> int:
    """Return the bits of the number that is nearest to a fraction; of two, that with the even last digit.

    The largest number is followed by infinity.
    """
    sign, size = 0x8000 if exact < 0 else 0, abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(kind.least_exponent, exponent - (size < Fraction(2) ** exponent))
    steps = round(size / Fraction(2) ** (exponent - kind.digits + 1))  # Python rounds to even
    bits = int(((exponent - kind.least_exponent) << kind.digits - 1) + steps)
    return sign | min(bits, _special(kind, np.inf))


def _special(kind: Any, number: float) -> int:
    infinity = 0x7C00 if kind is Half else 0x7F80
    return 0x7FFF if number != number else infinity if number > 0 else 0x8000 + infinity


def is_nan(kind: Any, bits: Bits) -> Any:
    return np.isnan(kind.value(bits))


@pytest.fixture(scope="module", params=[Half, Bfloat16])
def computed(
    request: pytest.FixtureRequest,
    cpu: Device[Any],
    open_run: Kernel,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Any, Any]:
    kind = request.param
    names = ("half", "half", "half2") if kind is Half else ("bfloat16", "__nv_bfloat16", "__nv_bfloat162")
    text = KERNEL.replace("A_TO_FLOAT", f"__{names[0]}2float").replace("FROM_FLOAT", f"__float2{names[0]}")
    path = tmp_path_factory.mktemp("kernels") / "numbers.cu"
    path.write_text(text.replace("NAME2", names[2]).replace("NAME", names[1]), encoding="utf-8")
    rows = text.count("ROW(") - 1
    with open_run(cpu, path, f"{rows}x{COUNT}x1", "int32") as run:
        run.launch()
        return kind, run.product().view(np.uint32)


def same(kind: Any, bits: Bits, expected: Bits) -> bool:
    nan = is_nan(kind, expected)
    return bool((np.where(nan, is_nan(kind, bits), bits == expected)).all())


def values(kind: Any) -> tuple[Any, Any, Any]:
    return kind.value(NUMBERS), kind.value(HASHED), kind.value(THIRD)


def middles(kind: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.float32(0.5) * kind.value(NUMBERS) + np.float32(0.5) * kind.value((NUMBERS + 1) & 0xFFFF)


@pytest.mark.sampled(2)
def test_every_number_becomes_the_float_of_its_value(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    expected = kind.value(NUMBERS)
    for row in rows[:2]:
        numbers = row.view(np.float32)
        assert np.where(np.isnan(expected), np.isnan(numbers), row == expected.view(np.uint32)).all()


def test_a_float_is_rounded_to_the_nearest_number_and_a_tie_to_even(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    middle = middles(kind).view(np.uint32)
    inputs = (middle, middle + 1, middle - 1, np.uint32(0x477F0000) + NUMBERS, NUMBERS * np.uint32(65537))
    with np.errstate(over="ignore", invalid="ignore"):
        for row, words in zip(rows[2:7], inputs, strict=True):
            assert same(kind, row, kind.rounded(words.astype(np.uint32).view(np.float32)))


def test_a_double_and_a_whole_number_are_rounded_once(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    with np.errstate(over="ignore", invalid="ignore"):
        middle = middles(kind).astype(np.float64)
    finite = [i for i in SAMPLE if np.isfinite(middle[i]) and middle[i]]
    for row, factor in zip(rows[7:10], (1, 1 + 2.0**-40, 1 - 2.0**-40), strict=True):
        assert row[finite].tolist() == [_rounded(kind, Fraction(middle[i] * factor)) for i in finite]
    whole = (NUMBERS * np.uint32(65521)).view(np.int32).tolist()
    long = [((i * 2654435761 << 31) + (hashed & 1)) % 2**64 for i, hashed in enumerate(HASHED.tolist())]
    for row, numbers in ((rows[10], whole), (rows[11], long)):
        assert row[list(SAMPLE)].tolist() == [_rounded(kind, Fraction(numbers[i])) for i in SAMPLE]


OPERATIONS: dict[str, Callable[[Fraction, Fraction, Fraction], Fraction]] = {
    "a + b": lambda a, b, _: a + b,
    "a - b": lambda a, b, _: a - b,
    "a * b": lambda a, b, _: a * b,
    "a / b": lambda a, b, _: a / b,
    "a b + c": lambda a, b, c: a * b + c,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_the_result_of_an_operation_is_the_exact_one_rounded_once(
    computed: tuple[Any, Any], operation: str
) -> None:
    kind, rows = computed
    row = rows[12 + list(OPERATIONS).index(operation)]
    tested = 0
    for i in SAMPLE:
        a, b, c = (float(x[i]) for x in values(kind))
        if not np.isfinite([a, b, c]).all() or (operation == "a / b" and b == 0):
            continue
        x, y, z = Fraction(a), Fraction(b), Fraction(c)
        exact = OPERATIONS[operation](x, y, z)
        if exact == 0:
            assert row[i] & 0x7FFF == 0
            continue
        assert row[i] == _rounded(kind, exact), (hex(i), a, b, c)
        tested += 1
    assert tested > 1200


def test_operations_on_infinity_and_nan_are_those_of_float(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    a, b, c = values(kind)
    special = ~(np.isfinite(a) & np.isfinite(b) & np.isfinite(c))
    assert special.sum() > 100
    with np.errstate(all="ignore"):
        for row, exact in ((12, a + b), (13, a - b), (14, a * b), (16, a * b + c)):
            assert same(kind, rows[row][special], kind.rounded(exact[special]))
    assert same(kind, rows[17], NUMBERS ^ 0x8000)


def test_comparisons_are_those_of_the_values(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    a, b, _ = values(kind)
    expected = (a < b) + 2 * (a <= b) + 4 * (a == b) + 8 * (a != b) + 16 * (a >= b) + 32 * (a > b)
    assert (rows[18] == expected).all()
    ordered = ~(np.isnan(a) | np.isnan(b))
    assert (rows[19] == np.where(ordered, expected, 0)).all()  # also `__hne` is false for NaN


def test_two_numbers_at_a_time_give_the_same_as_one(computed: tuple[Any, Any]) -> None:
    kind, rows = computed
    assert same(kind, rows[20], rows[16])
    a, b, c = values(kind)
    finite = [i for i in SAMPLE if np.isfinite([a[i], b[i], c[i]]).all()]
    exact = [Fraction(float(b[i])) * Fraction(float(c[i])) + Fraction(float(a[i])) for i in finite]
    assert rows[21][finite].tolist() == [_rounded(kind, x) if x else 0 for x in exact]


def test_directed_rounding_gives_the_neighbour_on_that_side(
    computed: tuple[Any, Any],
) -> None:
    kind, rows = computed
    middle = middles(kind)
    finite = np.isfinite(middle)
    down, up, to_zero = (kind.value(row)[finite] for row in rows[22:25])
    middle = middle[finite]
    low, high = (
        np.minimum(kind.value(NUMBERS), kind.value(NUMBERS + 1)),
        np.maximum(kind.value(NUMBERS), kind.value(NUMBERS + 1)),
    )
    assert (down == low[finite]).all() and (up == high[finite]).all()
    assert (to_zero == np.where(middle > 0, down, up)).all()
