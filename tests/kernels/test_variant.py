"""Variants: combinations of parameter values, lists of values that users write, and padding."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.errors import RequirementError, UsageError
from cudamm.kernels.chosen_cases import cases
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.selection import Selection
from cudamm.kernels.variant import MOST_VALUES, Variant, parse_values, variants

FLOAT32 = ELEMENT_TYPES["float32"]
WriteKernel = Callable[..., Path]


def requiring(write_kernel: WriteKernel, requires: str, **values: int) -> Variant:
    text = f"// requires: {requires}\n// threads: 1\n// grid: 1\n__global__ void k() {{}}\n"
    return Variant(read_method(write_kernel(text)), tuple(values.items()))


def test_variants_are_every_combination_in_order() -> None:
    combinations = variants(find("tiled-padded"), {"PAD": (0, 1), "BLOCK_SIZE": (8, 16), "OTHER": (3,)})
    assert [v.params for v in combinations] == [
        {"BLOCK_SIZE": 8, "PAD": 0},
        {"BLOCK_SIZE": 8, "PAD": 1},
        {"BLOCK_SIZE": 16, "PAD": 0},
        {"BLOCK_SIZE": 16, "PAD": 1},
    ]
    assert str(combinations[1]) == "tiled-padded BLOCK_SIZE=8 PAD=1"


def test_parameters_without_a_value_have_their_default() -> None:
    assert [v.params for v in variants(find("tiled-padded"), {})] == [{"BLOCK_SIZE": 32, "PAD": 1}]
    assert [v.params for v in variants(find("cpu-simple"), {"BLOCK_SIZE": (8,)})] == [{}]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8", (8,)),
        ("8,16, 32", (8, 16, 32)),
        ("8,8,16,8", (8, 16)),
        ("1:4", (1, 2, 3, 4)),
        ("8:64:8", (8, 16, 24, 32, 40, 48, 56, 64)),
        ("8:64:+28", (8, 36, 64)),
        ("1:64:*2", (1, 2, 4, 8, 16, 32, 64)),
        ("3:50:*3", (3, 9, 27)),
        ("5:5", (5,)),
        ("5:6:*2", (5,)),
        ("0:2", (0, 1, 2)),
        ("1:3,8,2:4:*2", (1, 2, 3, 8, 4)),
        ("all", (4, 8)),
        ("all,2", (4, 8, 2)),
        ("float", ("float",)),
        ("float,unsigned int, float4*", ("float", "unsigned int", "float4*")),
        ("1.5f,.5", ("1.5f", ".5")),
    ],
)
def test_lists_and_ranges_of_values_are_read(text: str, values: tuple) -> None:
    assert parse_values(text, (4, 8)) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a list"),
        ("8,,16", "is not a list"),
        ("8;16", "is not a list"),
        ("-8", "is not a list"),
        ("1:2:3:4", "is not a list"),
        ("1:2:/2", "is not a list"),
        ("a:b", "is not a list"),
        ("1)", "is not a list"),
        ('1\n#include "x"', "is not a list"),
        ("x;y", "is not a list"),
        ("8:4", "empty or endless"),
        ("1:8:0", "empty or endless"),
        ("1:8:*1", "empty or endless"),
        ("1:8:*0", "empty or endless"),
        ("0:8:*2", "empty or endless"),
        (f"1:{MOST_VALUES + 1}", "more than"),
        (f"1:{MOST_VALUES},{MOST_VALUES + 1}:{2 * MOST_VALUES}", "more than"),
        ("१६", "is not a list"),
        ("9" * 5000, "is not a list"),
        ("0:99999999999999999999", "more than"),
    ],
)
def test_malformed_lists_of_values_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_values(text, (4, 8))


def test_all_is_a_plain_word_if_the_header_lists_no_values() -> None:
    # Without values in the header, “all” is a word to substitute, like the name of a type.
    assert parse_values("all") == ("all",)


def test_the_largest_range_is_accepted() -> None:
    assert len(parse_values(f"1:{MOST_VALUES}")) == MOST_VALUES


@pytest.mark.parametrize(
    ("requires", "shape", "padded"),
    [
        ("M % 16 == 0", (17, 17, 17), (32, 17, 17)),
        ("M % 16 == 0, N % 16 == 0, K % 16 == 0", (16, 1, 33), (16, 16, 48)),
        ("M % T == 0, N % (T * 2) == 0", (5, 5, 5), (6, 12, 5)),
        ("M % 4 == 0, M % 6 == 0", (5, 5, 5), (12, 5, 5)),
        ("M % 4 == 0, M % 6 == 0, M % 10 == 0", (61, 5, 5), (120, 5, 5)),
        ("M % 16 == 0 and N % 16 == 0 and K % 16 == 0", (16, 1, 33), (16, 16, 48)),
        ("M % 16 == 0 and (N % 4 == 0 and M >= 16)", (3, 5, 5), (16, 8, 5)),
        ("K % 1 == 0", (5, 5, 5), (5, 5, 5)),
        ("M <= 16, M % 16 == 0", (3, 5, 5), (16, 5, 5)),
        # Conditions are judged after padding.
        ("M % 16 == 0, M == N", (3, 16, 5), (16, 16, 5)),
        ("M % element == 0", (3, 16, 5), (4, 16, 5)),
    ],
)
def test_padding_meets_conditions_on_multiples(
    write_kernel: WriteKernel, requires: str, shape: tuple, padded: tuple
) -> None:
    assert requiring(write_kernel, requires, T=6).padded(FLOAT32, *shape) == padded


@pytest.mark.parametrize(
    ("requires", "shape"),
    [
        ("M == N", (3, 4, 5)),
        ("M >= 64", (63, 64, 64)),
        ("M % 4 == 1", (4, 4, 4)),
        ("T % 4 == 0", (4, 4, 4)),
        ("M % 16 == 0 and M <= 16", (17, 5, 5)),
        ("M % 16 == 0 or N % 16 == 0", (17, 5, 5)),
        ("M % 16 == 0, M <= 16", (17, 5, 5)),
        ("M % 16 == 0, M == N", (32, 15, 5)),
    ],
)
def test_requirements_that_padding_cannot_meet_are_refused(
    write_kernel: WriteKernel, requires: str, shape: tuple
) -> None:
    with pytest.raises(RequirementError, match=r"kernel T=6 requires"):
        requiring(write_kernel, requires, T=6).padded(FLOAT32, *shape)


@pytest.mark.parametrize(
    "requires", ["M % 0 == 0", "M % (T - 6) == 0", "M % (T - 7) == 0", "M % (1 / 2) == 0"]
)
def test_multiples_of_zero_and_of_fractions_are_refused(write_kernel: WriteKernel, requires: str) -> None:
    with pytest.raises(UsageError):
        requiring(write_kernel, requires, T=6).padded(FLOAT32, 5, 5, 5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    tile=st.integers(1, 12),
    coarse=st.integers(1, 5),
    m=st.integers(1, 200),
    n=st.integers(1, 200),
    k=st.integers(1, 200),
)
def test_padding_is_the_smallest_possible(tile: int, coarse: int, m: int, n: int, k: int) -> None:
    (variant,) = variants(find("tiled-coarse"), {"BLOCK_SIZE": (tile,), "COARSE": (coarse,)})
    padded = variant.padded(FLOAT32, m, n, k)
    steps = tile, tile * coarse, tile
    for real, larger, step in zip((m, n, k), padded, steps, strict=True):
        assert larger == math.ceil(real / step) * step


def test_a_text_value_is_not_a_number_in_a_requirement(write_kernel: WriteKernel) -> None:
    variant = Variant(requiring(write_kernel, "M % T == 0").method, (("T", "float"),))
    with pytest.raises(UsageError, match="unknown name T"):
        variant.padded(FLOAT32, 5, 5, 5)


@pytest.mark.parametrize(
    ("selection", "count"),
    [
        (Selection(("tiled",), block="1:400", swept=()), None),
        (
            Selection(("tiled-coarse",), block="1:10000", defines=("COARSE=1:10000",)),
            "100,000,000 variants",
        ),
        (Selection(("tiled,tiled-padded",), block="1:10000", defines=("PAD=0:99",)), "1,010,000 variants"),
    ],
)
def test_products_of_values_are_counted_before_they_are_built(
    selection: Selection, count: str | None
) -> None:
    if count is None:
        assert selection.variants()
    else:
        with pytest.raises(UsageError, match=f"{count}.* more than 1,000,000"):
            selection.variants()


def test_cases_are_counted_before_they_are_built() -> None:
    variants = Selection(("tiled",), block="1:10000").variants()
    sizes = [str(size) for size in range(1, 102)]
    with pytest.raises(UsageError, match="1,010,000 cases are more than 1,000,000"):
        cases(variants, sizes, ("float32",), seed=0)
