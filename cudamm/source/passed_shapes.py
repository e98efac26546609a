"""Compare the shapes that a kernel's indices give to its matrices with those of the arrays that it gets.

An index `A[row * K + k]`, with `row < M`, reads rows of K elements, M of them. The host code may say that the
array has other extents: then it is the array of another matrix. Nothing is concluded from an extent that is
not known.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile, flat_name
from cudamm.source.c_numbers import Translation, constant_values
from cudamm.source.c_text import LAUNCHER
from cudamm.source.host_code import allocations, first_name, name_here, size_name
from cudamm.source.kernel_body import KernelBody, MatrixUse
from cudamm.source.parsed_source import all_of, text_of
from cudamm.source.passed_arguments import passed_by
from cudamm.source.program_values import callers_of, own_number, own_value

TENSOR_SIZE = re.compile(r"(\w+)_(?:size|sizes|shape)_([01])")
"""The flat name of `A.size(0)` and `A.sizes()[0]`, with the tensor and the dimension."""

PRODUCT_OF_FACTORS = re.compile(r"\(*(?:\w+|sizeof\(element\))(?:\)* \* \(*(?:\w+|sizeof\(element\)))+\)*")
"""A product of names and numbers."""

_IN_ORDER = re.compile(r"\w+ \* \w+ \* sizeof\(float\)")
"""The size of a Python program's array that lies row by row, as `python_launch.py` writes it."""

_TRANSPOSES = re.compile(r"\.(?:t\(|mT\b|T\b|transpose|permute|view|reshape)|transpose\(")
_SIZES_OF_ELEMENTS = ("1", "2", "4", "8")


@dataclass(frozen=True)
class Shape:
    """Two extents, each the name of a size or a number; empty if it is not known.

    Attributes:
        is_ordered: whether the first extent certainly is the number of rows in memory.
    """

    rows: str = ""
    width: str = ""
    is_ordered: bool = False

    @property
    def reversed(self) -> Shape:
        """Return the shape of the transposed array."""
        return Shape(self.width, self.rows, self.is_ordered)


class PassedShapes:
    """The shapes of the three matrices of one launch.

    Attributes:
        function: the host function that launches the kernel.
        body: the kernel's body, in which every whole number may be a size.
        passed: what the launch passes for each parameter.
    """

    def __init__(
        self, file: SourceFile, function: Function, body: KernelBody, passed: Mapping[str, Node]
    ) -> None:
        self.file, self.function, self.body, self.passed = file, function, body, passed
        self.uses = body.uses()

    def are_swapped(self, inputs: Collection[str], output: str) -> bool:
        """Return whether the two inputs fit the kernel's indices in the other order alone."""
        one, other = inputs
        in_order = self.fits(one, one), self.fits(other, other)
        in_other_order = self.fits(one, other), self.fits(other, one)
        if False not in in_order or in_other_order != (True, True) or self.fits(output, output) is False:
            return False
        # In memory, A and B swapped look like M and N swapped; the extents of C are written in their order.
        is_ordered = self.shape_of(one).is_ordered and self.shape_of(other).is_ordered
        return is_ordered or self.is_written_as_read(output) is True

    def is_product(self, first: str, second: str, output: str) -> bool:
        """Return whether the kernel reads two arrays row by row, and multiplies the first by the second."""
        of_rows, of_columns = self._own(output)
        is_read_so = of_rows & self.uses[first].multiplied and of_columns & self.uses[second].added
        return bool(is_read_so) and self.first_factor((first, second), output) == first

    def fits(self, parameter: str, passed: str) -> bool | None:
        """Return whether the indices of a parameter fit the array that is passed for another one.

        None if it is not known.
        """
        return self._fits(self.addressed(parameter), self.shape_of(passed))

    def is_written_as_read(self, parameter: str) -> bool | None:
        """Return whether an array has the rows that the kernel reads, and not those of its transpose.

        Its first extent in the host code is taken for its number of rows. False: it has the rows of its
        transpose. None: they are not known, or as long as its columns.
        """
        wanted, shape = self.addressed(parameter), self.shape_of(parameter)
        straight, across = self._agree(wanted, shape), self._agree(wanted, shape.reversed)
        return straight if {straight, across} == {True, False} else None

    def is_stored_as_read(self, parameter: str) -> bool | None:
        """Return the same, if the first extent certainly is the number of rows in memory; else None."""
        return self.is_written_as_read(parameter) if self.shape_of(parameter).is_ordered else None

    def reads_transposed(self, parameter: str, output: str, *, is_first: bool) -> bool:
        """Return whether the kernel's rows of A have the length M, or whether those of B are N rows."""
        own, result = self.indexed(parameter), self.indexed(output)
        pair = (own.width, result.rows) if is_first else (own.rows, result.width)
        return pair[0] == pair[1] != ""

    def first_factor(self, inputs: Collection[str], output: str) -> str:
        """Return the input whose indices have the row of the output; empty if it is not known."""
        of_rows, of_columns = self._own(output)
        sides = [self.uses[name].multiplied | self.uses[name].added for name in inputs]
        has_row, has_column = ([bool(side & own) for side in sides] for own in (of_rows, of_columns))
        one, other = inputs
        first = one if has_row == [True, False] else other
        return first if sorted(has_row) == [False, True] and has_column == has_row[::-1] else ""

    def _own(self, parameter: str) -> tuple[set[str], set[str]]:
        """Return the variables that only a row of a matrix has, and those that only a column has.

        Of an element's thread and block, the block: the thread's indices may count along K too.
        """
        use = self.uses.get(parameter, MatrixUse())
        both = use.multiplied - use.added, use.added - use.multiplied
        of_blocks = tuple({name for name in own if name.startswith("blockIdx")} for own in both)
        return (of_blocks[0] or both[0], of_blocks[1] or both[1])

    def addressed(self, parameter: str) -> Shape:
        """Return the shape that the kernel's indices give to a matrix, in the sizes of the host code."""
        shape = self.indexed(parameter)
        return Shape(self._passed_size(shape.rows), self._passed_size(shape.width), is_ordered=True)

    def indexed(self, parameter: str) -> Shape:
        """Return the shape that the kernel's indices give to a matrix, in the kernel's own sizes."""
        use = self.uses.get(parameter, MatrixUse())
        lengths = set(use.strides)
        bounds = {
            size
            for varying, size in self._bounds
            if varying and varying <= use.multiplied and not varying <= use.added
        }
        rows, width = (next(iter(sizes)) if len(sizes) == 1 else "" for sizes in (bounds, lengths))
        return Shape(rows, width, is_ordered=True)

    @functools.cached_property
    def _bounds(self) -> list[tuple[frozenset[str], str]]:
        loops = [(frozenset([variable]), size) for variable, size in self.body.loop_bounds()]
        return [*self.body.checks(), *loops]

    def _passed_size(self, size: str) -> str:
        """Return the host code's extent for a size of the kernel; empty for none."""
        if size not in self.passed:
            return size  # a constant of the file
        name = size_name(self.function, self.passed[size])
        if name:
            return self._first_name(name)
        number = own_number(self.file, self.function, self.passed[size])
        return "" if number is None else str(number)

    @functools.cached_property
    def _passed_sizes(self) -> set[str]:
        return {self._passed_size(size) for size in self.body.sizes} - {""}

    def _first_name(self, name: str) -> str:
        """Return the variable of which another one is a copy, and one name for `A.size(0)`."""
        seen = set[str]()
        while name not in seen and (value := self.function.first_values.get(name)) is not None:
            seen.add(name)
            if value.type == "identifier" and name in self.function.values:
                name = text_of(value)
            elif TENSOR_SIZE.fullmatch(flat_name(value)):
                name = flat_name(value)
        tensor = TENSOR_SIZE.fullmatch(name)
        return f"{tensor[1]}_size_{tensor[2]}" if tensor else name

    def shape_of(self, parameter: str) -> Shape:
        """Return the shape of the array that the launch passes for a parameter."""
        node = self.passed[parameter]
        found = {*self._allocated(first_name(node))} or {self._of_tensor(node)}
        return found.pop() if len(found) == 1 else Shape()

    def _allocated(self, name: str) -> Iterator[Shape]:
        for function, size in allocations(self.file, self.function, name):
            is_here = function is self.function
            kept = frozenset(self._passed_sizes if is_here else ())
            number = Translation(self.file, function, kept, keeps_leaves=True).of(size)
            product = number.text if number and PRODUCT_OF_FACTORS.fullmatch(number.text) else ""
            factors = [each for each in re.findall(r"sizeof\(element\)|\w+", product) if "(" not in each]
            if len(factors) == 3 and factors[-1] in _SIZES_OF_ELEMENTS:
                factors.pop()
            if len(factors) != 2:
                yield Shape()
                continue
            rows, width = (each if is_here else self._name_here(each, function) for each in factors)
            is_ordered = self.function.name == LAUNCHER and bool(_IN_ORDER.fullmatch(text_of(size)))
            yield Shape(self._first_name(rows), self._first_name(width), is_ordered)

    def _name_here(self, name: str, caller: Function) -> str:
        """Return the launching function's name for an extent of a function that calls it; empty for none."""
        if name.isdigit() or name in constant_values(self.file):
            return name
        return name_here(self.file, self.function, name, caller)

    def _of_tensor(self, node: Node) -> Shape:
        """Return the shape of a tensor of PyTorch, or of an array that a function gets, by its own sizes."""
        name = first_name(node)
        made_from = self.function.first_values.get(name)
        if made_from is not None and not _TRANSPOSES.search(text_of(made_from)):
            name = next((text_of(each) for each in all_of(made_from, "identifier")), name)
        code = text_of(self.function.node)
        is_tensor = re.search(rf"\b{name}\s*\.\s*sizes?\s*\(", code) if name else None
        if is_tensor and f"{name}.size(2)" not in code and not _TRANSPOSES.search(text_of(node)):
            if self._is_another_later(name):
                return Shape()
            made = "" if made_from is None else text_of(made_from)
            shape = Shape(f"{name}_size_0", f"{name}_size_1", is_ordered=True)
            return shape.reversed if self._is_passed_view(name) and "contiguous(" not in made else shape
        extents = f"{name}_rows", f"{name}_cols"  # of an unknown array in Python
        is_unknown = self.function.name == LAUNCHER and not {*extents}.isdisjoint(
            self.function.parameter_names
        )
        return Shape(*extents, is_ordered=True) if is_unknown else Shape()

    def _is_another_later(self, tensor: str) -> bool:
        """Return whether the function gives a tensor's name to a tensor of another shape."""
        values = (
            node.child_by_field_name("right")
            for node in all_of(self.function.node, "assignment_expression")
            if text_of(node.child_by_field_name("left")) == tensor
        )
        same = rf"{tensor}\s*\.\s*(?:contiguous|to|cuda|detach)\([^()]*\)"
        return any(not re.fullmatch(same, text_of(value)) for value in values)

    def _is_passed_view(self, tensor: str) -> bool:
        """Return whether a Python program passes a transposed view, whose memory is not transposed."""
        for caller, _ in callers_of(self.file, self.function, tensor):
            passed, place = passed_by(caller), self.function.parameter_names.index(tensor)
            if passed and place < len(passed.kinds) and passed.kinds[place].startswith("view"):
                return True
        return False

    def _fits(self, wanted: Shape, shape: Shape) -> bool | None:
        """Return whether an array has a shape, in either order if it is not known; None for not known."""
        if shape.is_ordered:
            return self._agree(wanted, shape)
        both = self._agree(wanted, shape), self._agree(wanted, shape.reversed)
        return True if True in both else False if both == (False, False) else None

    def _agree(self, wanted: Shape, shape: Shape) -> bool | None:
        """Return whether two shapes are the same, as far as both are known; None if nothing is known."""
        found = [self._is_same(wanted.rows, shape.rows), self._is_same(wanted.width, shape.width)]
        return False if False in found else True if True in found else None

    def _is_same(self, size: str, other: str) -> bool | None:
        """Return whether two extents are equal; None if it is not known."""
        if not (size and other):
            return None
        if size == other:
            return True
        values = self._value(size), self._value(other)
        if None not in values and values[0] != values[1]:
            return False
        if {size, other} <= self._passed_sizes:
            return False  # two sizes of one launch
        return None if None in values else True

    def _value(self, size: str) -> int | None:
        return int(size) if size.isdigit() else own_value(self.file, self.function, size)
