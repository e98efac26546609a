"""Find sizes that host code takes from the wrong dimension of a tensor, such as B.size(0) for B.size(1).

A kernel that reads `B[k * N + col]` takes N for the length of B's rows. If the host code passes B.size(0) for
N, then either this size is wrong, or the kernel reads B in the wrong way. A check such as
`TORCH_CHECK(A.size(1) == B.size(0))`, the program's own product `A @ B`, or the shapes that it passes decide.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.c_definitions import Function, flat_name, without_casts
from cudamm.source.c_text import LAUNCHER
from cudamm.source.host_code import first_name
from cudamm.source.launch_roles import LaunchRoles
from cudamm.source.matrix_roles import DIMENSIONS
from cudamm.source.parsed_source import all_of, place_of, text_of
from cudamm.source.passed_shapes import TENSOR_SIZE
from cudamm.source.program_values import callers_of, own_value

_WORDS = "rows", "columns"

_EXTENTS = "rows", "cols"
_EXTENT = re.compile(r"(\w+)_(rows|cols)")
"""The name of an extent of an array in a Python program, as `host_values.py` writes it."""

Dimension = tuple[str, int]
"""A tensor and the number of one of its dimensions."""


@dataclass(frozen=True)
class WrongDimension:
    """Sizes that the host code takes from the wrong dimension of a tensor.

    Attributes:
        text: what is wrong; after a semicolon, the cure.
        assumption: what is taken instead, for a remark.
        place: the line of the first of them.
        source: the whole source with the right dimensions.
        matrices: the letters of the tensors; the mistake does no harm where these are square.
    """

    text: str
    assumption: str
    place: str
    source: str
    matrices: str


def wrong_dimension(found: LaunchRoles) -> WrongDimension | None:
    """Return the sizes of a launch that are taken from the wrong dimension; None if none certainly is."""
    of_letter = {letter: parameter for parameter, letter in found.letters.items()}
    if found.swapped or not {*"ABC"} <= of_letter.keys():
        return None
    if not all(p.is_pointer for p in found.parameters if p.name in found.letters):
        return None
    changes, texts, assumed, matrices = dict[Node, str](), list[str](), list[str](), ""
    for letter in "AB":
        tensor = _tensor(found, of_letter[letter])
        exchanged = _exchanged(found, of_letter[letter], tensor) if tensor else {}
        is_transposed = _is_read_transposed(found, of_letter, letter)
        if not exchanged or is_transposed is None:
            continue
        inner = int((letter == "A") != is_transposed)  # the dimension that both tensors have, K
        if any(
            _is_of_other(found, of_letter[letter], tensor, 1 - each) for each in exchanged if each == inner
        ):
            continue  # the sizes are passed in another order
        reasons = _orientations(found, of_letter, letter)
        if reasons.keys() - {is_transposed} or (not reasons and (is_transposed or len(exchanged) > 1)):
            continue  # the kernel reads the matrix in the wrong way, or may do so
        rows, columns = DIMENSIONS[letter][:: -1 if is_transposed else 1]
        kernel, why = found.kernel.name, reasons.get(is_transposed, "")
        matrices += letter
        for wanted, (size, name) in exchanged.items():
            text, right = _in_words(size), _in_words(size, wanted)
            changes[size] = _with_dimension(text_of(size), wanted)
            number = f"the number of {tensor}'s {_WORDS[1 - wanted]}"
            given = f"{name} is {text}, {number}" if name else f"{text} is passed, {number}"
            assumed.append(f"tried with {f'{name} = ' if name else ''}{right}; the program has {text}")
            texts.append(
                f"{given}, and {kernel} reads {tensor} as {rows} x {columns} ({why}); write {right}"
                if why
                else f"{given}, and {kernel} takes it for the number of {_WORDS[wanted]}; write {right}, or, "
                f"if {tensor} is {columns} x {rows}, let {kernel} read it so"
            )
    if not changes:
        return None
    first = min(changes, key=lambda node: node.start_byte)
    source = _with(found.file.tree, changes)
    return WrongDimension(_joined(texts), "; ".join(assumed), place_of(first), source, matrices)


def _with_dimension(size: str, number: int) -> str:
    """Return `B.size(0)`, `B.size(-2)` or `B_rows` with the number of another dimension."""
    if _EXTENT.fullmatch(size):
        return _EXTENT.sub(rf"\1_{_EXTENTS[number]}", size)
    from_end = re.search(r"-\d\D*$", size)
    return re.sub(r"-?\d(?=\D*$)", str(number - 2 if from_end else number), size)


def _in_words(size: Node, number: int | None = None) -> str:
    """Return a size as the program has it, perhaps with another dimension: `b.shape[0]` for `b_rows`."""
    text = text_of(size) if number is None else _with_dimension(text_of(size), number)
    extent = _EXTENT.fullmatch(text)
    return f"{extent[1]}.shape[{_EXTENTS.index(extent[2])}]" if extent else text


def _joined(texts: list[str]) -> str:
    """Return several mistakes as one, with one cure."""
    parts = [text.partition("; ") for text in texts]
    return f"{'; '.join(', and '.join(part) for part in zip(*(part[::2] for part in parts), strict=True))}"


def _with(tree: Node, changes: Mapping[Node, str]) -> str:
    """Return the text of a file with other texts for some of its nodes."""
    code, begin = tree.text or b"", tree.start_byte
    for node in sorted(changes, key=lambda each: each.start_byte, reverse=True):
        code = code[: node.start_byte - begin] + changes[node].encode() + code[node.end_byte - begin :]
    return "\n" * tree.start_point[0] + code.decode(errors="surrogateescape")


def _tensor(found: LaunchRoles, parameter: str) -> str:
    """Return the tensor that a launch passes for a parameter; empty if it is none, or a view."""
    shape = found.shapes.shape_of(parameter)
    rows, extent = TENSOR_SIZE.fullmatch(shape.rows), _EXTENT.fullmatch(shape.rows)
    if extent and found.function.name == LAUNCHER:
        return extent[1] if (shape.is_ordered and shape.width == f"{extent[1]}_cols") else ""
    return rows[1] if rows and rows[2] == "0" else ""


def _passed_dimensions(
    found: LaunchRoles, parameter: str
) -> list[tuple[tuple[Node, str] | None, Dimension | None]]:
    """Return what the kernel gets for the rows and the row length of a matrix, and its dimension."""
    indexed = found.shapes.indexed(parameter)
    given = [
        _origin(found.function, found.shapes.passed[size]) if size in found.shapes.passed else None
        for size in (indexed.rows, indexed.width)
    ]
    return [(each, each and _dimension(found.function, each[0])) for each in given]


def _is_of_other(found: LaunchRoles, parameter: str, tensor: str, axis: int) -> bool:
    """Return whether the kernel gets a dimension of another tensor for one of a tensor."""
    dimension = _passed_dimensions(found, parameter)[axis][1]
    return dimension is not None and dimension[0] != tensor


def _exchanged(found: LaunchRoles, parameter: str, tensor: str) -> dict[int, tuple[Node, str]]:
    """Return the dimensions for which the kernel gets the other one, each with its size and its variable.

    A kernel for square matrices gets one size for both.
    """
    indexed = found.shapes.indexed(parameter)
    kernel_sizes = indexed.rows, indexed.width
    passed = _passed_dimensions(found, parameter)
    given, dimensions = [each for each, _ in passed], [dimension for _, dimension in passed]
    is_in_python = found.function.name == LAUNCHER
    exchanged = {
        wanted: each
        for wanted, (each, dimension) in enumerate(zip(given, dimensions, strict=True))
        if each and (each[0].type != "identifier" or is_in_python) and dimension == (tensor, 1 - wanted)
    }
    if any(one[0] == other[0] == tensor for one, other, _ in _compared(found.function)):
        return {}  # a square matrix
    if dimensions[0] and dimensions[0] == dimensions[1]:
        own = {_value(found, tensor, axis) for axis in (0, 1)}
        if kernel_sizes[0] == kernel_sizes[1] or None in own or len(own) == 1:
            return {}
    return exchanged


def _origin(function: Function, node: Node) -> tuple[Node, str] | None:
    """Return the expression `B.size(0)` that an argument has its value from, and the last variable."""
    name = ""
    for _ in range(len(function.first_values) + 1):
        node = without_casts(node)
        value = function.first_values.get(text_of(node)) if node.type == "identifier" else None
        is_named_so = value is not None and _dimension(function, without_casts(value)) is None
        is_named_so |= function.name == LAUNCHER and TENSOR_SIZE.fullmatch(text_of(node)) is not None
        if _dimension(function, node) and (value is None or is_named_so):
            return node, name
        if value is None:
            break
        name, node = text_of(node), value
    return None


def _dimension(function: Function, node: Node) -> Dimension | None:
    """Return the dimension that `B.size(0)`, `B.size(-2)`, or `s[0]` of `auto s = B.sizes();` is."""
    text = re.sub(r"\s", "", text_of(node))
    size, element = TENSOR_SIZE.fullmatch(flat_name(node)), re.fullmatch(r"(\w+)\[([01])\]", text)
    from_end = re.fullmatch(r"(\w+)\.size\(-([12])\)", text)
    if from_end:
        return from_end[1], 2 - int(from_end[2])
    extent = _EXTENT.fullmatch(text) if function.name == LAUNCHER else None
    if extent:
        return extent[1], _EXTENTS.index(extent[2])
    sizes = function.first_values.get(element[1]) if element else None
    tensor = re.fullmatch(r"(\w+)\.sizes\(\)", text_of(sizes))
    if element and tensor:
        return tensor[1], int(element[2])
    return (size[1], int(size[2])) if size else None


def _is_read_transposed(found: LaunchRoles, of_letter: Mapping[str, str], letter: str) -> bool | None:
    """Return whether the kernel takes A as K x M, or B as N x K; None if its indices do not show it."""
    own, result = found.shapes.indexed(of_letter[letter]), found.shapes.indexed(of_letter["C"])
    size = result.rows if letter == "A" else result.width
    sides = [size == each != "" for each in (own.rows, own.width)]
    return None if sides[0] == sides[1] else sides[0] == (letter == "B")


def _orientations(found: LaunchRoles, of_letter: Mapping[str, str], letter: str) -> dict[bool, str]:
    """Return whether the program has A as K x M, or B as N x K, each with why; both if it contradicts itself.

    The conditions of the function itself come first, then the products of its callers, then their shapes.
    """
    tensors = [_tensor(found, of_letter[each]) or first_name(found.passed(of_letter[each])) for each in "AB"]
    for kind in (_checked, _multiplied, _shaped):
        pairs = dict(kind(found, tensors[0], tensors[1]))
        sides = {pair[0] if letter == "A" else pair[1] for pair in pairs}
        if len(sides) == 1 or (pairs and kind is not _shaped):
            return {(pair[0] == 0 if letter == "A" else pair[1] == 1): why for pair, why in pairs.items()}
    return {}


def _checked(found: LaunchRoles, a: str, b: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the dimensions of A and B that the launching function compares, with why they are equal."""
    for one, other, node in _compared(found.function):
        pair = {one[0]: one[1], other[0]: other[1]}
        if pair.keys() == {a, b}:
            yield (pair[a], pair[b]), f"{place_of(node)} checks it"


def _multiplied(found: LaunchRoles, a: str, b: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the dimensions of A and B that are equal in the program's own product of both."""
    product = found.product
    if product is not None:
        yield product, f"the program itself multiplies {a} by {f'the transpose of {b}' if product[1] else b}"
    for caller, names in _callers(found, a, b):
        for one, other, _ in _compared(caller):
            pair = {names.get(one[0]): one[1], names.get(other[0]): other[1]}
            if pair.keys() == {a, b}:
                second = f"the transpose of {b}" if pair[b] else b
                yield (pair[a], pair[b]), f"the program itself multiplies {a} by {second}"


def _shaped(found: LaunchRoles, a: str, b: str) -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the dimensions of A and B that are equal in the shapes that the program passes."""
    values = {(tensor, axis): _value(found, tensor, axis) for tensor in (a, b) for axis in (0, 1)}
    if None in values.values():
        return
    for i, j in itertools.product((0, 1), repeat=2):
        if values[a, i] == values[b, j]:
            yield (i, j), f"the program passes {a} of {_text(values, a)} and {b} of {_text(values, b)}"


def _value(found: LaunchRoles, tensor: str, axis: int) -> int | None:
    """Return the program's own value of a dimension; None if it is not known."""
    extent = _EXTENTS[axis] if found.function.name == LAUNCHER else f"size_{axis}"
    return own_value(found.file, found.function, f"{tensor}_{extent}")


def _text(values: Mapping[Dimension, int | None], tensor: str) -> str:
    return f"{values[tensor, 0]} x {values[tensor, 1]}"


def _callers(found: LaunchRoles, *parameters: str) -> Iterator[tuple[Function, dict[str, str]]]:
    """Yield the callers of the launching function, each with the parameters by what it passes for them."""
    callers: dict[Function, dict[str, str]] = {}
    for parameter in parameters:
        for caller, argument in callers_of(found.file, found.function, parameter):
            callers.setdefault(caller, {})[text_of(argument)] = parameter
    yield from callers.items()


def _compared(function: Function) -> Iterator[tuple[Dimension, Dimension, Node]]:
    """Yield two dimensions of tensors that a function compares, by themselves or by variables."""
    for node in all_of(function.node, "binary_expression"):
        if text_of(node.child_by_field_name("operator")) not in ("==", "!="):
            continue
        sides = (node.child_by_field_name(side) for side in ("left", "right"))
        origins = [_origin(function, side) if side else None for side in sides]
        found = [_dimension(function, each[0]) if each else None for each in origins]
        if found[0] and found[1]:
            yield found[0], found[1], node
