"""Read an assignment: a TOML file with the kernel's signature, the problems, the tests and their points.

Every mistake in the file is one message with its line, before anything is compiled or run.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from cudamm.devices.find_device import host
from cudamm.errors import UsageError
from cudamm.execution.prepare import host_bytes_needed
from cudamm.grading.graded_test import (
    KINDS,
    MISTAKES,
    NOT_COPIED,
    OCCUPANCY,
    RIGHT,
    VISIBILITIES,
    GradedTest,
    Visibility,
    usual_name,
)
from cudamm.grading.prescribed_launch import PrescribedLaunch, WrongFieldError
from cudamm.grading.toml_lines import first_duplicate, toml_lines
from cudamm.kernels import ladder
from cudamm.kernels.architecture import Architecture, find_architecture
from cudamm.kernels.method import ELEMENT_TYPES, ElementType
from cudamm.kernels.parameter_types import parameter_formats
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant, parse_values, variants
from cudamm.source.c_text import function_of
from cudamm.source.expression import split_at_commas
from cudamm.source.input_file import read_input

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_BYTES = 1 << 20

USUAL_ARCH = "sm_80"
"""Architecture of occupancy and machine code if a test names none."""

USUAL_SIZES = ("17x31x13", "33x65x129", "64x64x64", "96x128x64")
"""Sizes to search for mistakes if a test names none: primes, near multiples of a warp, whole tiles."""

MOST_TESTS = 200

_TOP = ("title", "points", "seed", "kernel", "limits", "problem", "test")
_FIELDS = ("entry", "args", "threads", "grid", "shared-bytes", "requires", "layout", "initial-c")
"""Fields of a kernel's header that an assignment may prescribe."""
_NUMBERS = ("threads", "grid", "shared-bytes", "initial-c")
"""Fields that may be whole numbers without quotes."""

_KERNEL = ("signature", "macros", *_FIELDS)
OTHER_BYTES = 10**8
"""Memory that a kernel's process needs beside the matrices: its program, and a stack for each thread."""

_LIMITS = ("compile_s", "run_s", "memory_gb")
_OF_EVERY = ("name", "points", "visibility", "bonus", "leaderboard", "size", "dtype", "seed")

Keys = tuple[str | int, ...]


@dataclass(frozen=True)
class Limits:
    """What the processes of a submission may take.

    Attributes:
        compile_s: time limit of a compiler, in seconds.
        run_s: time limit of a kernel on one problem, in seconds.
        memory_gb: limit on the memory of a compiler, and of a kernel's process, in GB.
    """

    compile_s: float = 60.0
    run_s: float = 10.0
    memory_gb: float = 4.0


@dataclass(frozen=True)
class Assignment:
    """An assignment.

    Attributes:
        name: the file's name.
        title: for people; the file's name if there is none.
        fields: fields of the kernel's header that the assignment prescribes, by the header's names.
        formats: the types of the kernel's parameters, as `parameter_formats` writes them; empty for any.
        signature: the kernel's declaration, as in the file.
        element: the element type of the matrices in the signature, by its name; empty for any.
    """

    name: str
    title: str
    fields: dict[str, str]
    signature: str
    formats: str
    element: str
    limits: Limits
    tests: tuple[GradedTest, ...]

    @property
    def points(self) -> Decimal:
        """The most points, without a bonus."""
        return sum((test.points for test in self.tests if not test.is_bonus), Decimal(0))


def read_assignment(path: Path) -> Assignment:
    """Return the assignment in a file.

    Raises:
        UsageError: the file cannot be read, or has a mistake; the message has the line.
    """
    try:
        text = read_input(path, "an assignment", LARGEST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        raise UsageError(f"there is no assignment {path}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}:{line}: this is not UTF-8: save the file as UTF-8") from None
    text = text.replace("\r\n", "\n")
    try:
        document = tomllib.loads(text, parse_float=Decimal)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        twice = first_duplicate(text)
        if twice:
            name, second, first = twice
            raise UsageError(f"{path}:{second}: {name} is there twice: line {first} has it too") from None
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        reason = re.sub(r" \(at .*\)$", "", str(error)) or "too many brackets"
        raise UsageError(f"{path}:{line}: this is not TOML: {reason[:1].lower()}{reason[1:]}") from None
    return _Reader(path, toml_lines(text)).assignment(document)


class _Reader:
    """Reads the tables of a document, and names the line of each mistake."""

    def __init__(self, path: Path, lines: Mapping[Keys, int]) -> None:
        self._path = path
        self._lines = lines

    def refuse(self, keys: Keys, message: str) -> NoReturn:
        """Raise UsageError with the line of a key, or of the table that lacks it."""
        outer = [keys[:n] for n in range(len(keys), 0, -1)]
        found = next((self._lines[k] for key in outer for k in (key, (*key, 0)) if k in self._lines), 1)
        raise UsageError(f"{self._path}:{found}: {message}")

    def assignment(self, document: Mapping[str, Any]) -> Assignment:
        self.known(document, (), _TOP, "the assignment")
        title = self.text(document, ("title",), self._path.stem)
        seed = self.whole(document, ("seed",), 0)
        launch = self._launch = self.kernel(self.table(document, ("kernel",)))
        limits = self._limits = self.limits(self.table(document, ("limits",)))
        problems = [
            self.problem(table, ("problem", i), seed)
            for i, table in enumerate(self.tables(document, "problem"))
        ]
        if not problems:
            self.refuse((), "the assignment has no [[problem]]: add one, such as size = 64 and points = 5")
        usual = next((problem for problem in problems if problem.is_public), problems[0])
        tests = [
            self.test(table, ("test", i), seed, usual)
            for i, table in enumerate(self.tables(document, "test"))
        ]
        if len(problems) + len(tests) > MOST_TESTS:
            self.refuse(("test",), f"the assignment has more than {MOST_TESTS} tests")
        found = Assignment(
            self._path.name, title, dict(launch.fields), launch.signature, launch.formats,
            launch.element.name if launch.element else "", limits,
            _with_own_names([*problems, *tests]),
        )  # fmt: skip
        if "points" in document:
            promised = self.points(document, ("points",))
            if promised != found.points:
                self.refuse(
                    ("points",),
                    f"points is {shown(promised)}, and those of the problems and tests add up to "
                    f"{shown(found.points)} (without a bonus)",
                )
        if not found.points:
            self.refuse(("points",), "no problem and no test has points")
        return found

    def kernel(self, table: Mapping[str, Any]) -> PrescribedLaunch:
        self.known(table, ("kernel",), _KERNEL, "[kernel]")
        numbers = {key: str(value) for key, value in table.items() if type(value) is int and key in _NUMBERS}
        given = {key: self.text({**table, **numbers}, ("kernel", key), "") for key in _KERNEL if key in table}
        for key, value in given.items():
            if not value.strip():
                self.refuse(("kernel", key), f"{key} is empty")
        fields = {key: value for key, value in given.items() if key in _FIELDS}
        macros = split_at_commas(given["macros"]) if "macros" in given else None
        for name in macros or ():
            if not name.isidentifier():
                self.refuse(("kernel", "macros"), f"“{name}” in macros is no name, such as TILE")
        signature = given.get("signature", "").strip().removesuffix(";").removesuffix("{}").strip()
        formats = ""
        if signature:
            head = signature.partition("(")[0]
            found = re.search(r"(\w+)\s*$", head)
            if found is None or "__global__" not in head or not signature.endswith(")"):
                self.refuse(
                    ("kernel", "signature"),
                    "signature is no declaration of a kernel, such as __global__ void f(int M, float *A)",
                )
            entry = fields.setdefault("entry", found[1])
            if function_of(entry) != found[1]:
                self.refuse(("kernel", "entry"), f"entry is {entry}, and the signature declares {found[1]}")
            try:
                formats = parameter_formats(f"{signature} {{}}", entry, ELEMENT_TYPES["float32"])
            except UsageError as error:
                self.refuse(("kernel", "signature"), str(error))
        launch = PrescribedLaunch(fields, signature, formats, macros)
        try:
            launch.check_fields()
        except WrongFieldError as error:
            self.refuse(("kernel", error.key), str(error))
        return launch

    def limits(self, table: Mapping[str, Any]) -> Limits:
        self.known(table, ("limits",), _LIMITS, "[limits]")
        usual = Limits()
        values = {
            name: self.number(table, ("limits", name), getattr(usual, name), 0.5, 86_400) for name in _LIMITS
        }
        return Limits(**values)

    def problem(self, table: Mapping[str, Any], keys: Keys, seed: int) -> GradedTest:
        self.known(table, keys, _OF_EVERY, "[[problem]]")
        if "size" not in table:
            self.refuse(keys, 'this [[problem]] has no size, such as size = 64 or size = "17x31x13"')
        return self.common(RIGHT, table, keys, seed, self.shapes(table, keys, several=False), None)

    def test(self, table: Mapping[str, Any], keys: Keys, seed: int, first: GradedTest) -> GradedTest:
        kind = table.get("kind")
        if kind not in KINDS:
            hint = _similar(str(kind), KINDS) if kind else f"kind is one of {', '.join(KINDS)}"
            self.refuse(
                (*keys, "kind"),
                f"there is no test of the kind {kind}: {hint}"
                if kind
                else f"this [[test]] has no kind: {hint}",
            )
        rules = KINDS[kind]
        self.known(
            table, keys, (*_OF_EVERY, "kind", *rules.required, *rules.optional), f"a test of the kind {kind}"
        )
        for key in rules.required:
            if key not in table:
                self.refuse(keys, f"this test of the kind {kind} has no {key}")
        shapes = first.shapes
        if "size" in table:
            shapes = self.shapes(table, keys, several=kind in MISTAKES)
        elif kind in MISTAKES:
            shapes = tuple(map(parse_shape, USUAL_SIZES))
        test = self.common(kind, table, keys, seed, shapes, first)
        if shapes == first.shapes and "size" not in table and test.is_public and not first.is_public:
            self.refuse(keys, "this public test needs a size, because every problem is hidden")
        changes: dict[str, Any] = {}
        if "at_most" in table:
            changes["at_most"] = self.number(table, (*keys, "at_most"), 0, 0, 1e6)
        if "at_least" in table:
            changes["at_least"] = self.share(table, (*keys, "at_least"), 1)
        if "times" in table:
            changes["times"] = self.number(table, (*keys, "times"), 1, 1e-6, 1e6)
        if kind in (OCCUPANCY, NOT_COPIED):
            changes["architecture"] = self.architecture(table, (*keys, "arch"))
        if "of" in table:
            changes["of"] = self.methods(table, (*keys, "of"), every_value=kind == NOT_COPIED)
        if "full_at" in table:
            full_at = self.share(table, (*keys, "full_at"), 100)
            zero_at = self.share(table, (*keys, "zero_at"), 100) if "zero_at" in table else 0.0
            if zero_at >= full_at:
                self.refuse(
                    (*keys, "zero_at"),
                    f"zero_at is {zero_at:g}, and has to be below full_at, which is {full_at:g}",
                )
            changes |= {"full_at": full_at, "zero_at": zero_at}
        return replace(test, **changes)

    def common(
        self,
        kind: str,
        table: Mapping[str, Any],
        keys: Keys,
        seed: int,
        shapes: tuple[Shape, ...],
        first: GradedTest | None,
    ) -> GradedTest:
        visibility = self.text(table, (*keys, "visibility"), "public")
        if visibility not in VISIBILITIES:
            self.refuse(
                (*keys, "visibility"),
                f"there is no visibility {visibility}: {_similar(visibility, VISIBILITIES)}",
            )
        element = self.element(table, (*keys, "dtype"), first.element if first else None)
        own_seed = self.whole(table, (*keys, "seed"), seed)
        for shape in shapes:
            self.check_memory(keys, Problem(shape, element, own_seed))
            try:
                self._launch.check_launch(shape, element)
            except WrongFieldError as error:
                if error.key == "requires":
                    self.refuse((*keys, "size"), f"{error}: choose another size")
                self.refuse(("kernel", error.key), str(error))
        if "points" not in table:
            self.refuse(keys, "this entry has no points")
        return GradedTest(
            kind=kind,
            name=self.text(table, (*keys, "name"), ""),
            points=self.points(table, (*keys, "points")),
            visibility=_visibility(visibility),
            is_bonus=self.truth(table, (*keys, "bonus")),
            on_leaderboard=self.truth(table, (*keys, "leaderboard")),
            shapes=shapes,
            element=element,
            seed=own_seed,
        )

    def check_memory(self, keys: Keys, problem: Problem) -> None:
        needed, free = host_bytes_needed(problem, problem.shape), host().free_bytes()
        if needed > free:
            self.refuse(
                (*keys, "size"),
                f"{problem.shape} {problem.element.name} needs {needed / 1e9:,.1f} GB of this machine's "
                f"memory, verification included; {free / 1e9:,.1f} GB are free",
            )
        matrices = problem.shape.bytes_of(problem.element)
        if matrices + OTHER_BYTES > self._limits.memory_gb * 2**30:
            self.refuse(
                (*keys, "size"),
                f"the matrices of {problem.shape} {problem.element.name} take {matrices / 1e9:,.1f} GB, and "
                f"memory_gb allows {self._limits.memory_gb:g} GB",
            )
        try:
            problem.check_verifiable()
        except UsageError as error:
            self.refuse((*keys, "size"), str(error))

    # Values of keys.

    def known(self, table: Mapping[str, Any], keys: Keys, names: Collection[str], where: str) -> None:
        for key in table:
            if key not in names:
                self.refuse((*keys, key), f"{where} has no key {key}: {_similar(key, names)}")

    def table(self, document: Mapping[str, Any], keys: Keys) -> Mapping[str, Any]:
        found = document.get(str(keys[-1]), {})
        if not isinstance(found, dict):
            self.refuse(keys, f"{keys[-1]} has to be a table: [{keys[-1]}]")
        return found

    def tables(self, document: Mapping[str, Any], name: str) -> Sequence[Mapping[str, Any]]:
        found = document.get(name, [])
        if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
            self.refuse((name,), f"{name} has to be written as [[{name}]]")
        return found

    def text(self, table: Mapping[str, Any], keys: Keys, usual: str) -> str:
        value = table.get(str(keys[-1]), usual)
        if not isinstance(value, str):
            self.refuse(keys, f"{keys[-1]} has to be a text in quotes")
        return value

    def truth(self, table: Mapping[str, Any], keys: Keys) -> bool:
        value = table.get(str(keys[-1]), False)
        if not isinstance(value, bool):
            self.refuse(keys, f"{keys[-1]} has to be true or false")
        return value

    def whole(self, table: Mapping[str, Any], keys: Keys, usual: int) -> int:
        value = table.get(str(keys[-1]), usual)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            self.refuse(keys, f"{keys[-1]} has to be a whole number from 0")
        return value

    def number(self, table: Mapping[str, Any], keys: Keys, usual: float, least: float, most: float) -> float:
        value = table.get(str(keys[-1]), usual)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float | Decimal)
            or not least <= value <= most
        ):
            self.refuse(keys, f"{keys[-1]} has to be a number between {least:g} and {most:g}")
        return float(value)

    def share(self, table: Mapping[str, Any], keys: Keys, most: float) -> float:
        value = table[str(keys[-1])]
        percent = re.fullmatch(r"(\d+(?:\.\d+)?) ?%", value) if isinstance(value, str) else None
        if percent:
            value = float(percent[1]) / 100
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal) or not 0 < value <= most:
            self.refuse(
                keys, f'{keys[-1]} has to be a share such as 0.5 or "50%", above 0 and at most {most:g}'
            )
        return float(value)

    def points(self, table: Mapping[str, Any], keys: Keys) -> Decimal:
        value = table[str(keys[-1])]
        if isinstance(value, bool) or not isinstance(value, int | Decimal) or not 0 <= value <= 1_000_000:
            self.refuse(keys, f"{keys[-1]} has to be a number from 0 to 1000000")
        return Decimal(value)

    def element(self, table: Mapping[str, Any], keys: Keys, usual: ElementType | None) -> ElementType:
        """Return the type of the matrices: the signature's, unless it allows several."""
        of_signature = self._launch.element
        usual = usual or of_signature or ELEMENT_TYPES["float32"]
        name = self.text(table, keys, usual.name)
        if name not in ELEMENT_TYPES:
            self.refuse(keys, f"there is no dtype {name}: {_similar(name, ELEMENT_TYPES)}")
        if of_signature and name != of_signature.name:
            self.refuse(keys, f"dtype is {name}, and the signature has matrices of {of_signature.c_name}")
        return ELEMENT_TYPES[name]

    def shapes(self, table: Mapping[str, Any], keys: Keys, *, several: bool) -> tuple[Shape, ...]:
        keys = (*keys, "size")
        given = table["size"]
        sizes = given if isinstance(given, list) else [given]
        if not sizes or (len(sizes) > 1 and not several):
            self.refuse(keys, 'size has to be one size, such as 64 or "17x31x13"')
        if any(isinstance(size, bool) or not isinstance(size, int | str) for size in sizes):
            self.refuse(keys, 'size has to be a number such as 64, or a text such as "17x31x13"')
        try:
            return tuple(parse_shape(str(size)) for size in sizes)
        except UsageError as error:
            self.refuse(keys, str(error))

    def architecture(self, table: Mapping[str, Any], keys: Keys) -> Architecture:
        try:
            return find_architecture(self.text(table, keys, USUAL_ARCH))
        except UsageError as error:
            self.refuse(keys, str(error))

    def methods(self, table: Mapping[str, Any], keys: Keys, *, every_value: bool) -> tuple[Variant, ...]:
        """Return the variants that `of` names: `tiled`, `tiled,BLOCK_SIZE=16`, or a list of such."""
        given = table["of"]
        names = given if isinstance(given, list) else [given]
        if not names or not all(isinstance(name, str) for name in names):
            self.refuse(keys, 'of has to be the name of a method, such as "tiled" or "tiled,BLOCK_SIZE=16"')
        try:
            return tuple(variant for name in names for variant in _named_variants(name, every_value))
        except UsageError as error:
            self.refuse(keys, str(error))


def _named_variants(text: str, every_value: bool) -> list[Variant]:
    """Return the variants that a text such as `tiled,BLOCK_SIZE=16` names.

    Args:
        every_value: a parameter without a value takes each value that its header lists.
    """
    name, *values = (part.strip() for part in text.split(","))
    method = ladder.find(name)
    if not method.is_kernel:
        raise UsageError(f"{name} is no CUDA kernel of cudamm, with which a submission can be compared")
    parameters = {parameter.name: parameter for parameter in method.parameters}
    chosen = {p.name: p.values or (p.default,) for p in method.parameters} if every_value else {}
    for value in values:
        parameter, equals, word = value.partition("=")
        if not equals or parameter not in parameters:
            raise UsageError(f"{name} has no parameter {parameter}: it has {', '.join(parameters) or 'none'}")
        chosen[parameter] = parse_values(word)[:1]
    return variants(method, chosen)


def _with_own_names(tests: Sequence[GradedTest]) -> tuple[GradedTest, ...]:
    """Return tests with different names; for students, a hidden test without a name has a number."""
    taken: Counter[str] = Counter()
    named = []
    for number, test in enumerate(tests, 1):
        name = test.name or usual_name(test)
        taken[name] += 1
        own = name if taken[name] == 1 else f"{name} ({taken[name]})"
        is_telling = not test.name and not test.is_public
        named.append(test.named(own, f"hidden test {number}" if is_telling else own))
    return tuple(named)


def _visibility(text: str) -> Visibility:
    visibility: Visibility = text  # type: ignore[assignment]
    return visibility


def _similar(word: str, words: Collection[str]) -> str:
    """Return a hint at the words that may be meant."""
    close = difflib.get_close_matches(word, list(words), n=2, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(words)}"


def shown(points: Decimal) -> str:
    """Return points as text, without zeros at the end."""
    return f"{points.normalize():f}"
