"""Find a shorter expression with the same values: `ceil(N / 16)` for `(((N + 16) - 1) // 16)`."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence

from cudamm.errors import UsageError
from cudamm.source.expression import parse

ROLES = ("M", "N", "K")
_TRIED = (
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    100,
    127,
    128,
    250,
    255,
    256,
    257,
    1000,
    1024,
    4096,
    65537,
    999983,
)
"""Sizes for which two expressions are compared."""


_BY_TYPE = re.compile(r"\((\w+ \* \(sizeof\(element\) \S+ \d\) \+ \w+ \* \(sizeof\(element\) \S+ \d\))\)")
"""A number that depends on the size of the elements, as `c_numbers.py` writes it."""


_DIVIDEND = r"(?P<size>\w+|\(\w+ (?://|\*) \w+\))"
_ROUNDED_UP = (
    re.compile(rf"\(\(\({_DIVIDEND} \+ (?P<step>\w+)\) - 1\) // (?P=step)\)"),
    re.compile(rf"(?:(?<=\()|(?<=, ))\(\({_DIVIDEND} \+ (?P<step>\w+)\) - 1\) // (?P=step)(?=[,)])"),
    re.compile(rf"\(\({_DIVIDEND} \+ (?P<less>\d+)\) // (?P<step>\d+)\)"),
    re.compile(rf"(?:(?<=\()|(?<=, ))\({_DIVIDEND} \+ (?P<less>\d+)\) // (?P<step>\d+)(?=[,)])"),
)
"""Quotients that are rounded up, within a longer expression."""


def _rounded_up(quotient: re.Match[str]) -> str:
    found = quotient.groupdict()
    if "less" in found and int(found["less"]) != int(found["step"]) - 1:
        return quotient[0]
    size = found["size"].strip("()") if "*" in found["size"] else found["size"]
    return f"ceil({size} / {found['step']})"


def simplified(text: str, numbers: Mapping[str, int]) -> str:
    """Return a shorter expression: `ceil(N / 16)` for `(((N + 16) - 1) // 16)`.

    It has the same values for some 27 sizes up to a million, and for the constants and multiples of them, and
    for elements of 4 bytes and more.

    Args:
        numbers: values of the names that are neither M, N nor K.
    """
    expression = parse(text)
    known = {name: numbers.get(name, 4) for name in (*expression.names, *numbers)}
    tried = [
        {name: value * (1 + place % 3) for name, value in known.items()}  # constants may be swept
        | {"M": m, "N": _TRIED[(place * 5 + 3) % len(_TRIED)], "K": _TRIED[(place * 7 + 1) % len(_TRIED)]}
        for place, m in enumerate(_TRIED)
    ]
    wanted = values_for(text, tried)
    words: list[str] = re.findall(r"[A-Za-z_]\w*|\b\d+\b", text)
    names = [word for word in words if word in expression.names]
    constants = [name for name in names if name not in ROLES and name != "element"]
    constants += [*_BY_TYPE.findall(text), *(word for word in words if word.isdigit())]
    if not expression.names:
        return str(math.floor(expression.value({})))
    products = [f"{a} * {b}" for a, b in itertools.combinations(dict.fromkeys(constants), 2)]
    steps = [step for step in (*dict.fromkeys(constants), *products) if step not in ("0", "1")]
    simple = [*(role for role in ROLES if role in expression.names), *steps, "1"]
    roles = [role for role in ROLES if role in expression.names]
    for size in (*roles, *(f"{a} * {b}" for a, b in itertools.combinations_with_replacement(roles, 2))):
        simple += [f"ceil({size} / {bracketed(step)})" for step in steps]
        simple += [f"{size} // {bracketed(step)}" for step in steps]
        pairs = itertools.permutations(dict.fromkeys(constants), 2)
        simple += [f"ceil({size} / {inner}) // {outer}" for inner, outer in pairs if size in roles]
    if not any(role in expression.names for role in ROLES) and expression.names:
        simple = [step for step in simple if not step.isdigit()]
    for candidate in simple:
        if values_for(candidate, tried) == wanted:
            return candidate
    for pattern in _ROUNDED_UP:
        text = pattern.sub(_rounded_up, text)
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def bracketed(step: str) -> str:
    """Return a sum or a product in brackets, and a single name or number as it is."""
    return f"({step})" if " " in step else step


def values_for(text: str, tried: Sequence[Mapping[str, int]]) -> list[int] | None:
    """Return the values of an expression for several values of its names; None if one has none."""
    expression = parse(text)
    try:
        return [math.floor(expression.value({"element": 4, **names})) for names in tried]
    except UsageError:
        return None
