"""Make parameters of the matrices that a kernel reads from variables of the file.

A program may declare its matrices as `__device__ float A[M][K];` and launch `gemm<<<grid, block>>>()`. Here
this becomes `gemm<<<grid, block>>>(A)` for a kernel with a parameter `float (*A)[K]`, line for line.
"""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from cudamm.source.c_text import blanked
from cudamm.source.parsed_source import all_of, declared_name, parsed, text_of

MATRICES = 3


def with_arrays_as_parameters(source: str) -> str:
    """Return C++ source in which a kernel without parameters has the three arrays that it uses as parameters.

    The source is returned as it is unless kernels, and only they, use exactly three `__device__` arrays.
    """
    if "__device__" not in source or len(source) != len(source.encode()):
        return source
    tree = parsed(source)
    arrays = dict(_device_arrays(tree))
    edits: set[tuple[int, int, str]] = set()  # the beginning and the end of what a text replaces
    for function in all_of(tree, "function_definition"):
        names = (text_of(node) for node in all_of(function, "identifier"))
        used = list(dict.fromkeys(name for name in names if name in arrays))
        head = next(all_of(function, "function_declarator"), None)
        parameters = head.child_by_field_name("parameters") if head else None
        if not used or "__global__" not in text_of(function).partition("{")[0]:
            continue
        if len(used) != MATRICES or parameters is None or parameters.named_child_count:
            return source
        declared = ", ".join(arrays[name][1] for name in used)
        edits.add((parameters.start_byte, parameters.end_byte, f"({declared})"))
        edits.update(_launches(tree, declared_name(head), used))
        for declaration, _ in (arrays[name] for name in used):
            edits.add((declaration.start_byte, declaration.end_byte, blanked(text_of(declaration))))
    for start, end, text in sorted(edits, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def _launches(tree: Node, kernel: str, arrays: list[str]) -> Iterator[tuple[int, int, str]]:
    for syntax in all_of(tree, "kernel_call_syntax"):
        call = syntax.parent
        given = call.child_by_field_name("arguments") if call else None
        if call and given and text_of(call.child_by_field_name("function")) == kernel:
            yield given.start_byte, given.end_byte, f"({', '.join(arrays)})"


def _device_arrays(tree: Node) -> Iterator[tuple[str, tuple[Node, str]]]:
    """Yield the name of each `__device__` array, its declaration, and the array as a parameter."""
    for declaration in tree.named_children:
        declarators = declaration.children_by_field_name("declarator")
        if (
            declaration.type != "declaration"
            or len(declarators) != 1
            or "__device__" not in text_of(declaration)
        ):
            continue
        declarator, c_type = declarators[0], text_of(declaration.child_by_field_name("type"))
        sizes = [text_of(node.child_by_field_name("size")) for node in all_of(declarator, "array_declarator")]
        name = declared_name(declarator)
        if declarator.type == "array_declarator" and name and all(sizes):
            # The outermost declarator holds the last size.
            pointer = f"{c_type} (*{name})[{sizes[0]}]" if len(sizes) == 2 else f"{c_type} *{name}"
            yield name, (declaration, pointer)
