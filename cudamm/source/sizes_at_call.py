"""Find a call of a launching function that passes the sizes in another order than the matrices have them.

`multiply(a, b, c, M, K, N)` for `void multiply(float *a, float *b, float *c, int M, int N, int K)` launches
a right kernel with wrong sizes. The memory of the caller's matrices shows it: `a = malloc(M * K * 4)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile
from cudamm.source.c_numbers import Translation
from cudamm.source.changed_expression import replaced
from cudamm.source.host_code import allocations, first_name, size_name
from cudamm.source.parsed_source import all_of, text_of
from cudamm.source.passed_shapes import PRODUCT_OF_FACTORS
from cudamm.source.program_values import callers_of, own_value


class CallWithOtherSizes(NamedTuple):
    """A call whose sizes are in another order, what is wrong with it, and the right call."""

    call: Node
    mistake: str
    right: str


def call_with_other_sizes(
    file: SourceFile, function: Function, sizes: Mapping[str, str], letters: Mapping[str, str]
) -> CallWithOtherSizes | None:
    """Return the first such call; None if there is none, or if the memory does not show all three sizes.

    Args:
        function: the launching function.
        sizes: its parameters for M, N and K.
        letters: the matrix that the launch gets for each of its pointers on the GPU.
    """
    matrices = dict(_parameters_of_copies(function, letters))
    names = function.parameter_names
    if {*sizes} != {*"MNK"} or {*matrices} != {*"ABC"} or not {*sizes.values()} <= {*names}:
        return None
    roles, passed = [*sizes, *matrices], [*sizes.values(), *matrices.values()]
    for call in zip(*(callers_of(file, function, name) for name in passed), strict=False):
        caller = call[0][0]
        nodes = dict(zip(roles, (node for _, node in call), strict=True))
        a, b, c = (_extents(file, caller, first_name(nodes[letter])) for letter in "ABC")
        common = {"M": a & c, "N": b & c, "K": a & b}
        if not (len(a) == len(b) == len(c) == 2 and all(len(of) == 1 for of in common.values())):
            continue
        right = {role: next(iter(of)) for role, of in common.items()}
        given = {role: _written_size(caller, nodes[role]) for role in right}
        wrong = [role for role in right if given[role] != right[role]]
        values = {int(of) if (of := right[role]).isdigit() else own_value(file, caller, of) for role in wrong}
        is_harmless = None not in values and len(values) == 1  # such as two sizes of 512
        if sorted(given.values()) != sorted(right.values()) or not wrong or is_harmless:
            continue
        whole = nodes["A"].parent
        while whole is not None and whole.type != "call_expression":
            whole = whole.parent
        if whole is None:
            continue
        as_passed = (f"{given[role]} for {sizes[role]}" for role in wrong)
        pointers = (first_name(nodes[letter]) for letter in "ABC")
        shapes = (f"{right[rows]} x {right[columns]}" for rows, columns in ("MK", "KN", "MN"))
        has = [f"{pointer} has {shape}" for pointer, shape in zip(pointers, shapes, strict=True)]
        return CallWithOtherSizes(
            whole,
            f"the call {' '.join(text_of(whole).split())} passes {' and '.join(as_passed)}, but "
            f"{has[0]} elements, {has[1]} and {has[2]}",
            " ".join(replaced(whole, {nodes[role]: right[role] for role in wrong}).split()),
        )
    return None


def _parameters_of_copies(function: Function, letters: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield each matrix with the parameter that cudaMemcpy copies to it, or to which it copies the result."""
    for call in all_of(function.node, "call_expression"):
        given = call.child_by_field_name("arguments")
        if text_of(call.child_by_field_name("function")) != "cudaMemcpy" or given is None:
            continue
        target, source = ([*map(first_name, given.named_children), "", ""])[:2]
        for on_gpu, on_host, is_back in ((target, source, False), (source, target, True)):
            letter = letters.get(on_gpu, "")
            if letter and (letter == "C") == is_back and on_host in function.parameter_names:
                yield letter, on_host


def _written_size(caller: Function, node: Node) -> str:
    """Return the number, or the name of the number, that an argument passes on."""
    return text_of(node) if node.type == "number_literal" else size_name(caller, node)


_OF_ELEMENT = ("sizeof", "element")
_BYTES_OF_ELEMENT = ("2", "4", "8")


def _extents(file: SourceFile, caller: Function, name: str) -> frozenset[str]:
    """Return the names and numbers that the size of a matrix's memory multiplies; none if not certain."""
    found: set[frozenset[str]] = set()
    value = caller.first_values.get(name)
    made = all_of(value, "new_expression") if value is not None else ()
    sizes = [(caller, new.child_by_field_name("declarator")) for new in made]
    for function, size in (*allocations(file, caller, name), *sizes):
        if size is None or function is not caller:
            continue
        size = size.named_children[0] if size.type == "new_declarator" else size
        number = Translation(file, caller, frozenset(), keeps_leaves=True).of(size)
        if number is not None and PRODUCT_OF_FACTORS.fullmatch(number.text):
            factors = [each for each in re.findall(r"\w+", number.text) if each not in _OF_ELEMENT]
            if len(factors) > 2 and factors[-1] in _BYTES_OF_ELEMENT:
                factors.pop()
            found.add(frozenset(factors))
    return found.pop() if len(found) == 1 else frozenset()
