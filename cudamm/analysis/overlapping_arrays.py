"""Pointers into one shared array that begin too close to each other, so that what they point to overlaps."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.compile.program import Program
from cudamm.devices.observation import Fault, Observation
from cudamm.source.c_definitions import Function, function_of_node
from cudamm.source.c_text import dynamic_arrays_in
from cudamm.source.parsed_source import all_of, declared_name, file_and_line_of, parsed, text_of


@dataclass(frozen=True)
class Overlap:
    """Two arrays in shared memory, the second of which begins within the first.

    Attributes:
        begins: where the second begins, as its definition says.
        file, line: place of the second's definition; no file for the kernel's own.
        used_bytes: the bytes of the first that the kernel accesses.
        of_one_type: whether both are pointers to elements of one type.
        first_type: the type of the first's elements, as it is declared.
        has_room: whether the second fits behind the first; if not, the first begins too late.
    """

    first: str
    second: str
    begins: str
    file: str
    line: int
    used_bytes: int
    of_one_type: bool
    first_type: str
    has_room: bool


def overlap_of(race: Fault, observation: Observation, program: Program) -> Overlap | None:
    """Return the overlap that a race shows; None if the source does not show two arrays in its lines.

    The threads of a block write the same element by two pointers with different, constant beginnings, and the
    shared array has room for both.
    """
    is_of_writes = race.op == race.other_op == "store" and race.block == race.other_block
    if race.kind != "race" or race.space != "shared" or not is_of_writes or race.file != race.other_file:
        return None
    own = program.method.path.name
    for node in all_of(parsed(program.text), "function_definition"):
        arrays = _ArraysOf(function_of_node(node), race.array, program)
        names = [arrays.written_in(race.file or own, line) for line in (race.line, race.other_line)]
        if len(names[0]) != 1 or len(names[1]) != 1 or names[0] == names[1]:
            continue
        (one,), (other,) = names
        reaches: dict[str, list[tuple[int, int]]] = {one: [], other: []}
        for reach in observation.reaches:
            used = arrays.used_in(reach.file or own, reach.line) if reach.array == race.array else set()
            if len(used) == 1 and used <= reaches.keys():
                reaches[used.pop()].append((reach.start, reach.end))
        return arrays.overlap(reaches, next(s.size_bytes for s in observation.shared if s.name == race.array))
    return None


class _ArraysOf:
    """The pointers into one shared array that a function defines once, with constant beginnings.

    Another `extern __shared__` array begins where the first does.
    """

    def __init__(self, function: Function, array: str, program: Program) -> None:
        self._function, self._own = function, program.method.path.name
        self._dynamic = dynamic_arrays_in(program.text)
        # Where each array is defined: its declaration in shared memory, or the value of the pointer.
        self._definitions: dict[str, Node] = {}
        declarations = [*all_of(function.node, "declaration")]
        for name in self._dynamic if array in self._dynamic else [array]:
            declared = (node for node in declarations if name in _names_in(node))
            self._definitions[name] = next(declared, function.node)
        pointers = {name for node in declarations for name in _names_in(node, "pointer_declarator")}
        swapped = {
            name
            for node in all_of(function.node, "call_expression")
            if text_of(node.child_by_field_name("function")).endswith("swap")
            for name in _identifiers(node)
        }
        for name, value in function.values.items():
            points = name in pointers or function.types.get(name) == "auto"
            is_within = bool(self._definitions.keys() & _identifiers(value))
            if points and is_within and name not in swapped and not self._depends_on_thread(value):
                self._definitions[name] = value

    def _depends_on_thread(self, value: Node, above: frozenset[str] = frozenset()) -> bool:
        """Return whether a value may differ between threads, or change."""
        if re.search(r"\b(?:threadIdx|blockIdx)\b", text_of(value)):
            return True
        for name in _identifiers(value) - self._definitions.keys() - above:
            defined: Mapping[str, Node] = self._function.values
            is_variable = name in self._function.types and name not in self._function.parameter_names
            if is_variable and (
                name not in defined or self._depends_on_thread(defined[name], above | {name})
            ):
                return True
        return False

    def used_in(self, file: str, line: int) -> set[str]:
        """Return the arrays that a line names."""
        return {
            name
            for node in all_of(self._function.node, "identifier")
            if (name := text_of(node)) in self._definitions and self._place(node) == (file, line)
        }

    def written_in(self, file: str, line: int) -> set[str]:
        """Return the arrays to whose elements a line assigns."""
        found = set[str]()
        for node in all_of(self._function.node, "assignment_expression"):
            left = node.child_by_field_name("left")
            if left is not None and self._place(node) == (file, line):
                found |= {
                    *[n for n in map(text_of, all_of(left, "identifier")) if n in self._definitions][:1]
                }
        return found

    def _place(self, node: Node) -> tuple[str, int]:
        file, line = file_and_line_of(node)
        return file or self._own, line

    def overlap(self, reaches: Mapping[str, list[tuple[int, int]]], total: int) -> Overlap | None:
        """Return the overlap of two arrays of which these bytes are accessed; None if it may be intended.

        Args:
            total: bytes of the shared array.
        """
        if not all(reaches.values()):
            return None
        start = {name: min(low for low, _ in parts) for name, parts in reaches.items()}
        used = {name: max(end for _, end in parts) - start[name] for name, parts in reaches.items()}
        first, second = sorted(reaches, key=lambda name: (start[name], list(self._definitions).index(name)))
        definition = self._definitions[second]
        is_other_array = {first, second} <= {*self._dynamic}
        is_within = second not in self._dynamic and start[first] < start[second] < start[first] + used[first]
        if sum(used.values()) > total or not (is_other_array or is_within):
            return None
        file, line = self._place(definition)
        types = [self._function.types.get(name, "") for name in (first, second)]
        return Overlap(
            first,
            second,
            "" if is_other_array else re.sub(r"\s+", " ", text_of(definition)),
            "" if file == self._own else file,
            line,
            used[first],
            of_one_type=types[0] == types[1] != "auto" and "(*)" not in text_of(definition).replace(" ", ""),
            first_type=types[0],
            has_room=start[first] + sum(used.values()) <= total,
        )


def _identifiers(node: Node) -> set[str]:
    """Return the names in an expression; the parser takes `(smem) + 2` for a cast to a type of that name."""
    return {text_of(name) for name in all_of(node, "identifier", "type_identifier")}


def _names_in(declaration: Node, *kinds: str) -> list[str]:
    """Return the names in a declaration, or only those of which the declarator has one of some types."""
    declarators = declaration.children_by_field_name("declarator")
    return [declared_name(node) for node in declarators if not kinds or any(all_of(node, *kinds))]
