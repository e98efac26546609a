"""Check the launch that an assignment prescribes, as far as that is possible without a submission.

A mistake in it would cost every student all points. What a submission defines, such as TILE, is not known:
fields with such names are checked for everything but their values.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from cudamm.devices.cpu_device import CpuDevice
from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.kernels.header import ARRAY_FILE, TENSOR_MAP, Overrides, parse_method
from cudamm.kernels.launch_plan import check, is_decimal, plan
from cudamm.kernels.method import ELEMENT_TYPES, SIZE_NAMES, ElementType, Method
from cudamm.kernels.parameter_types import (
    REAL_LETTERS,
    TENSOR_MAP_LETTER,
    TENSOR_MAP_POINTER_LETTER,
    each_format,
    parameters_of,
)
from cudamm.kernels.problem import UNSCALED, Shape
from cudamm.kernels.variant import Variant
from cudamm.source.expression import Expression, parse, parse_conditions, parse_list, split_at_commas

MATRICES = ("A", "B", "C")

_KNOWN = (*SIZE_NAMES, "element")
"""Names that expressions may use for every submission."""

_PATH = Path("kernel.cu")
"""Name of a file that is not there: a kernel without a body, which has the assignment's signature."""

_NO_SIGNATURE = "__global__ void kernel(int M, int N, int K, const float *A, const float *B, float *C)"

_EXTENTS = ("threads", "grid")

_TILES = (8, 16, 32)
"""Values of macros for which at least one division has to be exact."""


class WrongFieldError(Exception):
    """A field of [kernel] that is wrong for every submission.

    Attributes:
        key: the field.
    """

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


@dataclasses.dataclass(frozen=True)
class PrescribedLaunch:
    """What `[kernel]` says of a launch.

    Attributes:
        fields: the prescribed fields of the kernel's header.
        signature: the kernel's declaration; empty if there is none.
        formats: the types of its parameters, as `parameter_formats` writes them.
        macros: names that a submission has to define; None if the assignment does not list them.
    """

    fields: Mapping[str, str]
    signature: str
    formats: str
    macros: Collection[str] | None

    def check_fields(self) -> None:
        """Raise WrongFieldError for the first field that is wrong for every submission."""
        for key in ("threads", "grid", "shared-bytes", "requires"):
            if key in self.fields:
                self._check_expressions(key)
        if ARRAY_FILE in self.fields.get("args", ""):
            raise WrongFieldError("args", "file(…) reads a file, and an assignment has none for its kernels")
        if "args" in self.fields and self.signature:
            self._check_arguments()
        self._method({}, "signature")
        for key in ("layout", "initial-c"):
            if key in self.fields:
                self._method({key: self.fields[key]}, key)

    @functools.cached_property
    def element(self) -> ElementType | None:
        """Return the type of the matrices in the signature; None if it allows several."""
        types = self._method({}, "signature").element_types
        return ELEMENT_TYPES[types[0]] if self.signature and len(types) == 1 else None

    def check_launch(self, shape: Shape, element: ElementType) -> None:
        """Raise WrongFieldError for a field without names of a submission that is wrong at a shape."""
        requires = {key: value for key, value in self.fields.items() if key == "requires"}
        if requires and self._names("requires").difference(_KNOWN):
            return  # what the sizes are padded to is not known
        for key in ("requires", *_EXTENTS, "shared-bytes"):
            if key not in self.fields:
                continue
            if self._names(key).difference(_KNOWN):
                self._check_divisions(key, shape, element)
                continue
            variant = Variant(self._method({**requires, key: self.fields[key]}, key), ())
            at_shape = f" (at {shape})" if self._names(key) else ""
            try:
                check(variant, plan(variant, shape, element), CpuDevice.limits)
            except RequirementError:
                raise WrongFieldError(
                    key, f"{shape} is no size that requires = {self.fields[key]} allows"
                ) from None
            except (UsageError, KernelError) as error:
                message = str(error).removeprefix(f"{variant}: ")
                raise WrongFieldError(key, f"{message}{at_shape}") from None

    def _check_divisions(self, key: str, shape: Shape, element: ElementType) -> None:
        """Raise WrongFieldError for a division that leaves a remainder with each of the usual tile sizes."""
        sizes = dict(zip(SIZE_NAMES, (shape.m, shape.n, shape.k), strict=True))
        for expression in self._expressions(key) if key != "requires" else ():
            macros = sorted(expression.names.difference(_KNOWN))
            given = [
                {**dict.fromkeys(macros, tile), **sizes, "element": element.size_bytes} for tile in _TILES
            ]
            try:
                is_whole = any(expression.value(names).denominator == 1 for names in given)
            except UsageError:
                continue  # such as a division by the difference of two macros, which are equal here
            if not is_whole:
                down = re.sub("/+", "//", str(expression))
                raise WrongFieldError(
                    key,
                    f"“{expression}” is no whole number at {shape} with {' and '.join(macros)} = "
                    f"{', '.join(map(str, _TILES))}: write {down}, which rounds down as in C, or ceil(…)",
                )

    def _check_expressions(self, key: str) -> None:
        try:
            expressions = self._expressions(key)
        except UsageError as error:
            raise WrongFieldError(key, str(error)) from None
        if key in _EXTENTS and not 1 <= len(expressions) <= 3:
            raise WrongFieldError(key, f"{key} needs one to three numbers, not {len(expressions)}")
        for expression in expressions:
            self._check_names(key, expression)

    def _expressions(self, key: str) -> Sequence[Expression]:
        text = self.fields[key]
        if key == "requires":
            return parse_conditions(text)
        return (parse(text),) if key == "shared-bytes" else parse_list(text)

    def _names(self, key: str) -> frozenset[str]:
        """Return the names in the expressions of a field."""
        return frozenset[str]().union(*(expression.names for expression in self._expressions(key)))

    def _check_names(self, key: str, expression: Expression) -> None:
        for name in sorted(expression.names.difference(_KNOWN)):
            if name in MATRICES:
                raise WrongFieldError(key, f"“{expression}”: {name} is a matrix, and not a number")
            if name in map(_name_of, self._parameters):
                raise WrongFieldError(
                    key, f"“{expression}”: {name} is a parameter of the kernel: write M, N or K for a size"
                )
            if name in ("m", "n", "k"):
                raise WrongFieldError(
                    key, f"“{expression}”: unknown name {name}: did you mean {name.upper()}?"
                )
            if self.macros is not None and name not in self.macros:
                known = [*SIZE_NAMES, *self.macros]
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
                raise WrongFieldError(key, f"“{expression}”: {name} is not among the macros: {hint}")

    @property
    def _parameters(self) -> list[str]:
        """Return the declarations of the signature's parameters."""
        return parameters_of(f"{self.signature} {{}}", self.fields["entry"]) if self.signature else []

    def _check_arguments(self) -> None:
        """Raise WrongFieldError if `args` does not fit the signature."""
        given, declared = split_at_commas(self.fields["args"]), self._parameters
        if len(given) != len(declared):
            raise WrongFieldError(
                "args", f"args has {len(given)} arguments, and the signature has {len(declared)} parameters"
            )
        for argument, letter, parameter in zip(given, each_format(self.formats), declared, strict=True):
            self._check_argument(argument, letter, " ".join(parameter.split()))
        passed = {word for argument in given for word in re.findall(r"\w+", argument)}
        for matrix in MATRICES:
            if matrix not in passed:
                raise WrongFieldError("args", f"args does not pass {matrix}")

    def _check_argument(self, argument: str, letter: str, parameter: str) -> None:
        def refuse(why: str) -> None:
            raise WrongFieldError("args", f"args passes {argument or 'nothing'} for “{parameter}”, {why}")

        if letter == "P":
            if argument not in MATRICES:
                refuse("which is a pointer: pass A, B or C")
            if argument == "C" and _points_to_const(parameter):
                refuse("which the kernel cannot write: leave out const, or pass A or B")
        elif letter in (TENSOR_MAP_LETTER, TENSOR_MAP_POINTER_LETTER):
            if not argument.startswith(TENSOR_MAP):
                refuse("which is a tensor map, as in tensor_map(A, 64, 32)")
        elif argument in MATRICES or argument.startswith(TENSOR_MAP):
            refuse("which is a number: pass M, N, K or another number")
        elif is_decimal(argument):
            if letter not in REAL_LETTERS:
                refuse("which is a whole number")
        elif argument.lower() not in UNSCALED.names:
            try:
                self._check_names("args", parse(argument))
            except UsageError as error:
                raise WrongFieldError("args", str(error)) from None

    def _method(self, given: Mapping[str, str], key: str) -> Method:
        """Return a kernel without a body, with some of the prescribed fields.

        Raises:
            WrongFieldError: the kernel cannot be read; `key` is the field that is at fault.
        """
        formats = each_format(self.formats) if self.signature else each_format("iiiPPP")
        # Which pointer is which matrix does not matter where the arguments are not checked.
        matrices = iter([*MATRICES, *("C" for _ in formats)])
        fields = {
            "args": ", ".join(next(matrices) if letter == "P" else "1" for letter in formats),
            "threads": "1",
            "grid": "1",
            "entry": self.fields["entry"] if self.signature else "kernel",
            **given,
        }
        try:
            return parse_method(f"{self.signature or _NO_SIGNATURE} {{}}\n", _PATH, Overrides(fields))
        except UsageError as error:
            raise WrongFieldError(key, str(error).removeprefix(f"{_PATH}: ")) from None


def _name_of(parameter: str) -> str:
    """Return the name in the declaration of a parameter."""
    *_, name = re.findall(r"\w+", re.split(r"[=\[]", parameter)[0])
    return str(name)


def _points_to_const(parameter: str) -> bool:
    """Return whether a pointer or an array is declared to elements that cannot be written."""
    return re.search(r"\bconst\b", re.split(r"[*\[]", parameter)[0]) is not None
