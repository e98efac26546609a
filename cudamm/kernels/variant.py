"""A variant: a method with its parameters chosen."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.kernels.method import SIZE_NAMES, ElementType, Method, Value
from cudamm.source.c_text import without_comments
from cudamm.source.expression import Expression, evaluated

ChosenBy = Literal["", "tuned", "table", "preference", "model"]
"""The source of the choice for `best`; empty if the user chose. Only older files contain `model`."""

MOST_VALUES = 10_000
"""Maximum number of values in a list or range; more is taken for a typing error."""

MOST_VARIANTS = 1_000_000
"""Maximum number of variants, and of combinations with problems, before `--where` leaves some out."""

MOST_CASES = 100_000
"""Maximum number of cases that a command plans; each takes several kilobytes."""


def chosen_record(chosen_by: ChosenBy | None) -> dict[str, str]:
    """Return the field `chosen_by` of a record; no field if the user chose the variant."""
    return {"chosen_by": chosen_by} if chosen_by else {}


@dataclass(frozen=True)
class Traffic:
    """The bytes that all threads of a launch request from global memory, each access of each thread counted.

    Bytes that a cache delivers, and bytes that several threads of a warp request, count each time.

    Attributes:
        load_bytes: bytes loaded by all threads together.
        store_bytes: bytes stored by all threads together.
        is_counted: whether `trace` counted them; else the method's header contains them.
    """

    load_bytes: int
    store_bytes: int
    is_counted: bool = False


@dataclass(frozen=True)
class Variant:
    """A method with a value for each of its parameters.

    Attributes:
        values: parameter names and values, in the method's order.
        chosen_by: the source of the choice, if the user chose `best`.
    """

    method: Method
    values: tuple[tuple[str, Value], ...]
    chosen_by: ChosenBy = ""

    def __str__(self) -> str:
        chosen = (f"{name}={value}" for name, value in self.values if value not in SIZE_NAMES)
        return " ".join((self.method.name, *chosen))

    @property
    def params(self) -> dict[str, Value]:
        """Return the values by name, as in records."""
        return dict(self.values)

    def names(self, element: ElementType, m: int, n: int, k: int) -> dict[str, int]:
        """Return the names that expressions may use, with their values.

        `element` and `result` are the sizes of an element of A and of C, in bytes.
        """
        sizes = {"M": m, "N": n, "K": k}
        chosen = {name: sizes.get(value, value) for name, value in self.values if name not in sizes}  # type: ignore[arg-type]
        known = {"element": element.size_bytes, "result": element.of_results.size_bytes} | sizes
        known |= {name: value for name, value in chosen.items() if isinstance(value, int)}
        return evaluated(dict(self.method.numbers), known) if self.method.numbers else known

    def compiled_values(self, element: ElementType, shape: tuple[int, int, int] | None) -> dict[str, Value]:
        """Return the values to compile with, in which a size of the problem stands for M, N or K.

        Without a shape, a parameter that is such a size has no value.
        """
        if not any(value in SIZE_NAMES for _, value in self.values):
            return dict(self.values)
        sizes: Mapping[str, int] = {}
        if shape:
            with contextlib.suppress(RequirementError):  # the case is skipped, with this reason
                shape = self.padded(element, *shape)
            sizes = dict(zip(SIZE_NAMES, shape, strict=True))
        return {name: sizes.get(str(v), v) for name, v in self.values if v not in SIZE_NAMES or sizes}

    def padded(self, element: ElementType, m: int, n: int, k: int) -> tuple[int, int, int]:
        """Return M, N and K rounded up to the multiples that the method requires.

        Raises:
            UsageError: the header requires a multiple of a number below 1.
            RequirementError: a requirement that padding cannot meet does not hold.
        """
        names = self.names(element, m, n, k)
        multiples = {"M": 1, "N": 1, "K": 1}
        for required in self.method.requires:
            multiple = required.multiple
            if multiple and multiple[0] in multiples:
                divisor = multiple[1].whole(names)
                if divisor < 1:
                    raise UsageError(
                        f"{self}: “{required}” requires a multiple of {divisor}, which must be at least 1"
                    )
                multiples[multiple[0]] = math.lcm(multiples[multiple[0]], divisor)
        equal = [pair for required in self.method.requires if (pair := required.equal)]
        for first, second in equal * 2:  # `M == N, N == K` makes M and K equal too
            if first in multiples and second in multiples:
                step = math.lcm(multiples[first], multiples[str(second)])
                multiples |= {first: step, str(second): step}
        rounded = {name: -(-names[name] // step) * step for name, step in multiples.items()}
        for required in self.method.requires:
            if not required.holds(names | rounded):
                raise RequirementError(f"{self} requires {required}")
        return rounded["M"], rounded["N"], rounded["K"]

    def traffic(self, element: ElementType, m: int, n: int, k: int) -> Traffic | None:
        """Return the traffic of a launch on a problem, padding included; None if the header has none.

        Raises:
            RequirementError: a requirement that padding cannot meet does not hold.
            UsageError: the header's numbers are not whole, or too small.
        """
        if self.method.traffic is None:
            return None
        names = self.names(element, *self.padded(element, m, n, k))
        loaded, stored = (expression.whole(names) for expression in self.method.traffic)
        if loaded < 1 or stored < 0:
            raise UsageError(
                f"{self}: traffic is {loaded} bytes loaded and {stored} stored; the minimum is 1 and 0"
            )
        return Traffic(loaded, stored)

    def extents(
        self, field: str, expressions: Sequence[Expression], names: Mapping[str, int]
    ) -> tuple[int, int, int]:
        """Evaluate `threads` or `grid` to three numbers.

        Raises:
            UsageError: a number is always less than 1, or there are more than three.
            KernelError: the grid has no blocks for these sizes, so that CUDA refuses the launch.
        """
        if not 1 <= len(expressions) <= 3:
            raise UsageError(f"{self}: {field} needs one to three numbers, not {len(expressions)}")
        try:
            x, y, z = (*(e.whole(names) for e in expressions), 1, 1)[:3]
        except UsageError as error:
            raise UsageError(f"{self.method.path}: {field}: {error}") from None
        if min(x, y, z) < 1:
            if field == "grid" and any(expression.names for expression in expressions):
                empty = [e for e in expressions if e.whole(names) < 1]
                cure = self.rounded_up(empty) + self._or_by_tile(empty)
                raise KernelError(f"{EMPTY_GRID} {x} x {y} x {z} blocks; {cure}")
            raise UsageError(f"{self}: {field} is {x} x {y} x {z}; each number must be at least 1")
        return x, y, z

    def rounded_up(self, extents: Sequence[Expression], what: str = "their number") -> str:
        """Return how to round numbers of blocks up: as C++ if the launch is in host code."""
        quotients = (
            re.search(r"\bceil\(([MNK]) / (\w+)\) // (\w+)", extent.text)  # (N + 15) / 16 / 4
            or re.search(rf"\b({_SIZES}) // (\w+|\([^()]*\))", extent.text)
            or re.fullmatch(r"[^MNK]*\b([MNK])\b[^MNK]* // (\w+)\)*", extent.text)  # (N + 7) // 16
            for extent in extents
        )
        found = list(dict.fromkeys(quotient.groups() for quotient in quotients if quotient))
        if not found:
            return "each number must be at least 1"
        is_of_host_code = "grid" in dict(self.method.found_fields)

        def up(size: str, *tiles: str) -> str:
            return functools.reduce(self.method.rounded_up, tiles, size)

        for size, tile, *_ in found:  # a block more for a part of a vector would access what is beside it
            if tile.isdigit() and re.search(rf"{_OF_VECTOR}{tile}\b", without_comments(self.method.code)):
                text = (
                    f"{size} has to be a multiple of {tile}, the elements of a vector: pad the matrices, or "
                )
                return self.method.with_own_sizes(text) + "access the rest of each row one by one"
        source = without_comments(self.method.source)
        function = next(_ROUNDS_DOWN.finditer(source), None)
        in_grid = r"(?:\bdim3\b|<<<|[gG]rid(?!Dim)|[bB]locks)[^;]*"
        of_grid = rf"{in_grid}\b{function['name']}\s*\(" if is_of_host_code and function else ""
        if of_grid and function and re.search(of_grid, source[function.end() :]):
            line = source.count("\n", 0, function.end()) + 1
            up_in_it = self.method.rounded_up(function["size"], function["tile"])
            return f"round {what} up in {function['name']}: {up_in_it} (line {line})"
        text = f"round {what} up: " + ", ".join(itertools.starmap(up, found))
        is_cpp = is_of_host_code and self.method.path.suffix != ".py"
        if is_cpp and re.search(r"\bceilf?\(", without_comments(self.method.source)):
            size, tile, *_ = found[0]
            text += f"; C++ rounds {size} / {tile} down before ceil({size} / {tile}) sees it"
        return self.method.with_own_sizes(text) if is_of_host_code else text

    def _or_by_tile(self, extents: Sequence[Expression]) -> str:
        """Return that a number of blocks that is divided twice may have one divisor too many."""
        for extent in extents:
            if twice := re.search(r"\bceil\(([MN]) / (\w+)\) // ", extent.text):
                size, tile = twice.groups()
                once = self.method.rounded_up(size, tile)
                text = f", or {once} if a block covers {tile} {'columns' if size == 'N' else 'rows'}"
                return self.method.with_own_sizes(text)
        return ""

    def why_too_few(self, names: Mapping[str, int], larger: Sequence[int]) -> str:
        """Return why a launch has fewer blocks in x and y than another grid, which is right.

        Args:
            names: those of `names`.

        Returns:
            Empty if it is not known.
        """
        own = [
            (axis, extent, needed)
            for axis, extent, needed in zip("xy", self.method.grid, larger, strict=False)
            if extent.whole(names) < needed
        ]
        if own and all(
            extent.rounds_down(names) and extent.rounded_up().value(names) >= needed
            for _, extent, needed in own
        ):
            return "their number rounded down; it has to be rounded up"
        sign = "//" if self.method.path.suffix == ".py" else "/"
        parts = [
            f"their number in {axis} is computed from {size} {sign} {divisor}, not from {size}"
            for axis, extent, needed in own
            for size, divisor, whole in extent.with_whole_sizes()
            if whole.value(names) == needed
        ]
        exchanged = {**names, "M": names["N"], "N": names["M"]}
        sizes = [sorted(extent.names & {"M", "N"}) for extent in self.method.grid[:2]]
        if sizes == [["M"], ["N"]] and all(extent.whole(exchanged) == needed for _, extent, needed in own):
            parts = ["x is computed from M and y from N, not the other way round"] * len(own)
        return self.method.with_own_sizes("; ".join(dict.fromkeys(parts))) if len(parts) == len(own) else ""


EMPTY_GRID = "cannot be launched: the grid is"
"""How the reason of a launch begins whose grid has no blocks at a size."""

_OF_VECTOR = r"(?:char|short|int|long|float|double|half|bfloat16)"
"""How the name of a type of vectors begins, such as float4."""

_ROUNDS_DOWN = re.compile(
    r"\b(?P<name>\w+)\s*\((?:[\w\s]*\s)?(?P<size>\w+)\s*,(?:[\w\s]*\s)?(?P<tile>\w+)\s*\)"
    r"\s*(?:\{\s*return\s)?[\s(]*(?P=size)\)*\s*/\s*\(*(?P=tile)\b"
)
"""A function, or a macro, of the host code that divides a size by a tile, and that does not round up."""

_SIZES = r"[MNK](?: \* [MNK])*"
"""A size, or a product of sizes."""


def variants(method: Method, chosen: Mapping[str, Sequence[Value]]) -> list[Variant]:
    """Return a variant for each combination of the chosen values.

    A parameter without chosen values has its default. Names that the method lacks are ignored.
    """
    axes = [[(p.name, value) for value in chosen.get(p.name, (p.default,))] for p in method.parameters]
    return [Variant(method, values) for values in itertools.product(*axes)]


def count_variants(method: Method, chosen: Mapping[str, Sequence[Value]]) -> int:
    """Return the number of variants that `variants` returns."""
    return math.prod(len(chosen.get(parameter.name, (parameter.default,))) for parameter in method.parameters)


def check_count(count: int, what: str, most: int = MOST_VARIANTS) -> None:
    """Raise UsageError for too many variants or cases, before they are made."""
    if count > most:
        raise UsageError(
            f"{count:,} {what} are more than {most:,}: give fewer values, or leave some out with --where"
        )


def parse_values(text: str, worth_sweeping: Sequence[Value] = ()) -> tuple[Value, ...]:
    """Parse `8,16,32`, a range `1:64:*2` or `8:64:8` (ends included), or `all`: the values worth sweeping.

    Raises:
        UsageError: the text has none of these forms.
    """
    values: list[Value] = []
    for part in text.split(","):
        word = part.strip()
        match = re.fullmatch(r"([0-9]{1,30}):([0-9]{1,30})(?::([*+]?)([0-9]{1,30}))?", word)
        if word == "all" and worth_sweeping:
            values += worth_sweeping
        elif match:
            values += _range(word, int(match[1]), int(match[2]), match[3] or "+", int(match[4] or 1))
        elif re.fullmatch(r"[0-9]{1,18}", word):
            values.append(int(word))
        elif re.fullmatch(r"[A-Za-z_][\w ]*\*?|\d*\.\d+f?", word, re.ASCII):
            values.append(word)
        else:
            raise UsageError(f"“{text}” is not a list of values such as 8,16,32 or 1:64:*2")
        if len(values) > MOST_VALUES:
            raise UsageError(f"“{text}” stands for more than {MOST_VALUES:,} values")
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
            break  # the caller refuses them
        value = value * step if kind == "*" else value + step
    return values
