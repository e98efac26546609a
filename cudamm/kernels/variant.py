"""A variant: a method with its parameters chosen."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cudamm.errors import RequirementError, UsageError
from cudamm.kernels.expression import Expression
from cudamm.kernels.method import ElementType, Method, Value

ChosenBy = Literal["", "tuned", "table", "preference", "model"]
"""What chose a variant in the place of `best`; empty if a user did. Only older files contain `model`."""

MOST_VALUES = 10_000
"""A list or range may stand for; more is a slip of the keyboard."""


def chosen_record(chosen_by: ChosenBy | None) -> dict[str, str]:
    """The field of a record that says what chose its variant; none where a user did."""
    return {"chosen_by": chosen_by} if chosen_by else {}


@dataclass(frozen=True)
class Traffic:
    """Bytes that the threads of one launch ask global memory for, each access of each thread counted.

    What caches hold, and what threads of a warp fetch together, is counted as often as it is asked for.

    Attributes:
        load_bytes: loaded by all threads together.
        store_bytes: stored by them.
    """

    load_bytes: int
    store_bytes: int


@dataclass(frozen=True)
class Variant:
    """A method with a value for each of its parameters.

    Attributes:
        values: parameter names and values, in the method's order.
        chosen_by: what `best` was resolved by.
    """

    method: Method
    values: tuple[tuple[str, Value], ...]
    chosen_by: ChosenBy = ""

    def __str__(self) -> str:
        return " ".join((self.method.name, *(f"{name}={value}" for name, value in self.values)))

    @property
    def params(self) -> dict[str, Value]:
        """The values by name, as records hold them."""
        return dict(self.values)

    def names(self, element: ElementType, m: int, n: int, k: int) -> dict[str, int]:
        """What the method's expressions may use: M, N, K, its parameters, and `element`, a size in bytes."""
        numbers = {name: value for name, value in self.values if isinstance(value, int)}
        return {"M": m, "N": n, "K": k, "element": element.size_bytes, **numbers}

    def padded(self, element: ElementType, m: int, n: int, k: int) -> tuple[int, int, int]:
        """M, N and K rounded up to the multiples that the method requires.

        Raises:
            RequirementError: a requirement that padding cannot meet does not hold.
        """
        names = self.names(element, m, n, k)
        multiples = {"M": 1, "N": 1, "K": 1}
        for required in self.method.requires:
            multiple = required.multiple()
            if multiple and multiple[0] in multiples:
                divisor = multiple[1].whole(names)
                if divisor < 1:
                    raise UsageError(f"{self}: “{required}” asks for a multiple of {divisor}")
                multiples[multiple[0]] = math.lcm(multiples[multiple[0]], divisor)
        rounded = {name: -(-names[name] // step) * step for name, step in multiples.items()}
        for required in self.method.requires:
            if not required.holds(names | rounded):
                raise RequirementError(f"{self} requires {required}")
        return rounded["M"], rounded["N"], rounded["K"]

    def traffic(self, element: ElementType, m: int, n: int, k: int) -> Traffic | None:
        """What a launch on an M x N x K problem requests, padding included; None where the file does not say.

        Raises:
            RequirementError: as `padded` does.
            UsageError: the header's numbers are not whole or cannot be right.
        """
        if self.method.traffic is None:
            return None
        names = self.names(element, *self.padded(element, m, n, k))
        loaded, stored = (expression.whole(names) for expression in self.method.traffic)
        if loaded < 1 or stored < 0:
            raise UsageError(f"{self}: traffic of {loaded} bytes loaded and {stored} stored cannot be")
        return Traffic(loaded, stored)

    def extents(
        self, what: str, expressions: Sequence[Expression], names: Mapping[str, int]
    ) -> tuple[int, int, int]:
        """Evaluate `threads` or `grid` to three numbers. Raises UsageError where one is less than 1."""
        if not 1 <= len(expressions) <= 3:
            raise UsageError(f"{self}: {what} needs one to three numbers, not {len(expressions)}")
        x, y, z = (*(e.whole(names) for e in expressions), 1, 1)[:3]
        if min(x, y, z) < 1:
            raise UsageError(f"{self}: {what} of {x} x {y} x {z} is empty")
        return x, y, z


def variants(method: Method, chosen: Mapping[str, Sequence[Value]]) -> list[Variant]:
    """The product of the chosen values, parameters left out at their default; names of others are ignored."""
    axes = [[(p.name, value) for value in chosen.get(p.name, (p.default,))] for p in method.parameters]
    return [Variant(method, values) for values in itertools.product(*axes)]


def parse_values(text: str, worth_sweeping: Sequence[Value] = ()) -> tuple[Value, ...]:
    """`8,16,32`, a range `1:64:*2` or `8:64:8` (ends included), or `all`: those worth sweeping.

    Raises:
        UsageError: it is none of these.
    """
    values: list[Value] = []
    for part in text.split(","):
        word = part.strip()
        match = re.fullmatch(r"(\d+):(\d+)(?::([*+]?)(\d+))?", word)
        if word == "all" and worth_sweeping:
            values += worth_sweeping
        elif match:
            values += _range(word, int(match[1]), int(match[2]), match[3] or "+", int(match[4] or 1))
        elif re.fullmatch(r"\d{1,18}", word):
            values.append(int(word))
        elif re.fullmatch(r"[A-Za-z_][\w ]*\*?|\d*\.\d+f?", word):
            values.append(word)
        else:
            raise UsageError(f"“{text}” is not a list of values such as 8,16,32 or 1:64:*2")
    return tuple(dict.fromkeys(values))


def _range(text: str, start: int, stop: int, kind: str, step: int) -> list[Value]:
    if stop < start or step < 1 or (kind == "*" and (step < 2 or start < 1)):
        raise UsageError(
            f"“{text}” is an empty or endless range; write start:stop:step or start:stop:*factor"
        )
    values: list[Value] = []
    value = start
    while value <= stop:
        values.append(value)
        if len(values) > MOST_VALUES:
            raise UsageError(f"“{text}” stands for more than {MOST_VALUES} values")
        value = value * step if kind == "*" else value + step
    return values
