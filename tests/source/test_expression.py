"""Expressions of headers and options, compared with Python's arithmetic on Fractions."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.errors import UsageError
from cudamm.source.expression import LARGEST_TEXT, MOST_LEVELS, parse, parse_conditions, parse_list

NAMES = {"M": 100, "N": 7, "K": 1, "BLOCK_SIZE": 16, "element": 8}

# Each strategy draws a text and its expected value, or None if the expression divides by zero.
Drawn = tuple[str, "Fraction | None"]


def _binary(parts: tuple[Drawn, str, Drawn]) -> Drawn:
    (left, a), sign, (right, b) = parts
    text = f"({left} {sign} {right})"
    if a is None or b is None or (sign in ("/", "//", "%") and b == 0):
        return text, None
    values = {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a / b,
        "//": lambda: Fraction(math.floor(a / b)),
        "%": lambda: a - b * math.floor(a / b),
        "==": lambda: Fraction(int(a == b)),
        "!=": lambda: Fraction(int(a != b)),
        "<": lambda: Fraction(int(a < b)),
        "<=": lambda: Fraction(int(a <= b)),
        ">": lambda: Fraction(int(a > b)),
        ">=": lambda: Fraction(int(a >= b)),
    }
    return text, values[sign]()


def _function(parts: tuple[str, list[Drawn]]) -> Drawn:
    name, drawn = parts
    if name in ("ceil", "floor", "sizeof", "-"):
        drawn = drawn[:1]
    values = [value for _, value in drawn]
    text = f"{name}({', '.join(text for text, _ in drawn)})"
    if any(value is None for value in values):
        return text, None
    known = [value for value in values if value is not None]
    functions = {
        "ceil": lambda: Fraction(-((-known[0].numerator) // known[0].denominator)),
        "floor": lambda: Fraction(known[0].numerator // known[0].denominator),
        "sizeof": lambda: known[0],
        "-": lambda: -known[0],
        "min": lambda: sorted(known)[0],
        "max": lambda: sorted(known)[-1],
    }
    return text, functions[name]()


def _grow(inner: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    signs = st.sampled_from(["+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">="])
    names = st.sampled_from(["ceil", "floor", "sizeof", "-", "min", "max"])
    return st.one_of(
        st.tuples(inner, signs, inner).map(_binary),
        st.tuples(names, st.lists(inner, min_size=2, max_size=3)).map(_function),
    )


drawn_expressions = st.recursive(
    st.one_of(
        st.integers(0, 300).map(lambda n: (str(n), Fraction(n))),
        st.sampled_from(sorted(NAMES)).map(lambda name: (name, Fraction(NAMES[name]))),
    ),
    _grow,
    max_leaves=10,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(drawn_expressions)
def test_any_expression_has_the_value_of_exact_arithmetic(drawn: Drawn) -> None:
    text, expected = drawn
    if len(text) > LARGEST_TEXT:
        return
    if expected is None:
        with pytest.raises(UsageError, match="divides by zero"):
            parse(text).value(NAMES)
    else:
        with contextlib.suppress(UsageError):  # a number on the way may be too large
            assert parse(text).value(NAMES) == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 + 3 * 4", 14),
        ("2 - 3 - 4", -5),
        ("100 // 7 // 2", 7),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("1 < 2 < 3", 1),
        ("1 < 3 < 2", 0),
        ("M % 16 == 4 and N > 3", 1),
        ("M % 16 == 0 or N > 3", 1),
        ("M % 16 == 0 and N > 3", 0),
        ("M % 16 == 4 && N > 3", 1),
        ("M % 16 == 0 || N > 3", 1),
        ("ceil(M / BLOCK_SIZE)", 7),
        ("2 * BLOCK_SIZE * BLOCK_SIZE * sizeof(element)", 4096),
        ("min(4)", 4),
        # In float64 the quotient would be rounded to 3 x 10^17.
        ("ceil(300000000000000001 / 1)", 300000000000000001),
    ],
)
def test_operators_have_the_precedence_of_arithmetic(text: str, value: int) -> None:
    assert parse(text).whole(NAMES) == value


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "M.real",
        "[1][0]",
        "(1, 2)",
        "{1: 2}",
        "'text'",
        "1.5",
        "1j",
        "True",
        "None",
        "...",
        "lambda: 1",
        "lambda x=open('/etc/passwd'): x",
        "[x for x in (1,)]",
        "(x := 3)",
        "f'{M}'",
        "M if N else K",
        "2 ** 999999999",
        "1 << 999999999",
        "M | N",
        "M & N",
        "M ^ N",
        "~M",
        "not M",
        "+M",
        "M @ N",
        "M in N",
        "M is N",
        "open(M)",
        "eval(M)",
        "abs(M)",
        "ceil(x=1)",
        "min(*M)",
        "max(**M)",
        "ceil(M)(N)",
        "print",
        "M; N",
        "M = 1",
        "import os",
        "M\nN",
        "1 +",
        "(((",
        "",
        "   ",
        "\0",
        "# nothing",
        "await M",
        "yield",
    ],
)
def test_text_that_is_not_arithmetic_is_refused(text: str) -> None:
    # `print` is a valid name, and is refused because it has no value.
    with pytest.raises(UsageError):
        parse(text).value(NAMES)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "-" * 100_000 + "1", "9" * 100_000, "+".join(["M"] * 100_000)]
)
def test_huge_texts_are_refused_at_once(text: str) -> None:
    with pytest.raises(UsageError, match="too long"):
        parse(text)


@pytest.mark.parametrize(
    "text", ["(" * 249 + "1" + ")" * 249, "-" * 499 + "1", "9" * 500, "*".join(["9" * 98] * 5)]
)
def test_the_longest_texts_allowed_do_not_crash(text: str) -> None:
    assert len(text) <= LARGEST_TEXT
    with contextlib.suppress(UsageError):  # the text may be refused
        assert parse(text).value(NAMES).denominator == 1


def test_names_of_an_expression_are_those_that_need_a_value() -> None:
    assert parse("ceil(M / BLOCK_SIZE) + min(N, 3)").names == {"M", "BLOCK_SIZE", "N"}


def test_an_unknown_name_is_reported_with_the_known_names() -> None:
    with pytest.raises(UsageError, match=r"unknown name TILE \(known: BLOCK_SIZE, K, M, N, element\)"):
        parse("M / TILE").value(NAMES)


def test_a_value_that_is_not_whole_is_refused_where_a_whole_number_is_needed() -> None:
    assert parse("M / 4").whole(NAMES) == 25
    with pytest.raises(UsageError, match=r"is 14\.2857, not a whole number"):
        parse("M / N").whole(NAMES)


@pytest.mark.parametrize("text", ["ceil()", "ceil(1, 2)", "min()", "max()", "sizeof(1, 2)"])
def test_a_function_with_a_wrong_number_of_arguments_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="number of arguments"):
        parse(text).value(NAMES)


def test_a_condition_holds_if_its_value_is_not_zero() -> None:
    assert parse("M % 50 == 0").holds(NAMES)
    assert not parse("M % 51 == 0").holds(NAMES)
    assert parse("1 / 3").holds(NAMES)


def test_only_conditions_on_a_multiple_are_recognised_as_multiples() -> None:
    multiple = parse("N % (BLOCK_SIZE * 2) == 0").multiple
    assert multiple is not None
    name, divisor = multiple
    assert name == "N"
    assert divisor.whole(NAMES) == 32
    for other in ("N % 4 == 1", "N % 4", "N // 4 == 0", "4 % N == 0 == 0", "(N + 1) % 4 == 0", "N % 4 != 0"):
        assert parse(other).multiple is None, other


def test_lists_are_separated_by_commas() -> None:
    assert [e.whole(NAMES) for e in parse_list("ceil(M / 16), min(M, 4), 3")] == [7, 4, 3]
    assert [e.whole(NAMES) for e in parse_list("5,")] == [5]
    assert parse_list("") == parse_list("  ") == ()


@pytest.mark.parametrize("text", ["1, , 2", ",", "1, (2, 3)", "1, *M", "1), (2", "1; 2", "a=1"])
def test_malformed_lists_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_list(text)


def test_an_expression_keeps_its_text_for_messages() -> None:
    assert str(parse("  M %  4 == 0 ")) == "M %  4 == 0"


@pytest.mark.parametrize("text", ["10000000000 * 10000000000", "M * 9223372036854775807", "9" * 400])
def test_numbers_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"too large: every number has to be below 2\^63"):
        parse(text).value(NAMES)


def test_fractions_with_a_huge_denominator_are_refused() -> None:
    with pytest.raises(UsageError, match="too large"):
        parse("1" + "/997" * 50).value(NAMES)


@pytest.mark.parametrize("text", ["1_000", "1e3", "0b11", "0o17", "1and M == 1", "१२", "Ｍ", "12²"])
def test_numbers_are_written_in_decimal_or_hexadecimal_ascii_digits(text: str) -> None:
    with pytest.raises(UsageError, match="not"):
        parse(text)
    assert parse("0x10 + BLOCK_SIZE").whole(NAMES) == 32


@pytest.mark.parametrize("text", ["-" * 400 + "M == 0 and N == 1", "min(" * 99 + "1+1" + ")" * 99])
def test_deeply_nested_expressions_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="nested too deeply"):
        parse_conditions(text)


def test_the_deepest_expressions_allowed_are_evaluated() -> None:
    (first, _) = parse_conditions("-" * (MOST_LEVELS - 4) + "M == 100 and N == 7")
    assert first.holds(NAMES)
    assert first.multiple is None
