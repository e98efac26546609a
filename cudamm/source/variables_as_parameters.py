"""Make parameters of the matrices and sizes that a kernel reads from variables of the file.

A program may declare its matrices as `__device__ float A[M][K];` and launch `gemm<<<grid, block>>>()`. Here
this becomes `gemm<<<grid, block>>>(A)` for a kernel with a parameter `float (*A)[K]`, line for line. So do
sizes such as `__constant__ int width;` to which the program copies a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tree_sitter import Node

from cudamm.source.c_text import blanked
from cudamm.source.parsed_source import (
    all_of,
    ancestors,
    declared_name,
    is_inside,
    is_of_value,
    parsed,
    text_of,
)

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
        if not used or "__global__" not in _head(function):
            continue
        if len(used) != MATRICES or parameters is None or parameters.named_child_count:
            return source
        declared = ", ".join(arrays[name][1] for name in used)
        edits.add((parameters.start_byte, parameters.end_byte, f"({declared})"))
        edits.update(_launches(tree, declared_name(head), {name: arrays[name] for name in used}))
        for declaration, _ in (arrays[name] for name in used):
            if "__managed__" in text_of(declaration):
                continue  # its name is an address for the host too
            edits.add((declaration.start_byte, declaration.end_byte, blanked(text_of(declaration))))
    return _edited(source, edits)


def with_constants_as_parameters(source: str) -> str:
    """Return C++ source in which kernels have the numbers in constant memory that they use as parameters.

    A number stays in constant memory if a device function uses it, or if the function that launches the
    kernel does not copy one variable to it.
    """
    if "__constant__" not in source or len(source) != len(source.encode()):
        return source
    tree = parsed(source)
    kernels = [node for node in all_of(tree, "function_definition") if "__global__" in _head(node)]
    edits: set[tuple[int, int, str]] = set()
    added: dict[Node, list[str]] = {}  # to lists of parameters and of arguments
    for declaration in tree.named_children:
        names = [text_of(node) for node in declaration.children_by_field_name("declarator")]
        c_type = text_of(declaration.child_by_field_name("type"))
        if declaration.type != "declaration" or "__constant__" not in text_of(declaration):
            continue
        found = [_lists_for_constant(tree, kernels, declaration, name, c_type) for name in names]
        if c_type in _WHOLE and all(found):
            edits.add((declaration.start_byte, declaration.end_byte, blanked(text_of(declaration))))
            for given, text in (pair for lists in found for pair in lists):
                added.setdefault(given, []).append(text)
    for given, texts in added.items():
        comma = ", " if given.named_child_count else ""
        edits.add((given.end_byte - 1, given.end_byte - 1, comma + ", ".join(texts)))
    return _edited(source, edits)


def with_variable_as_constant(source: str, name: str, value: int) -> str | None:
    """Return C++ source in which a variable of the host code is a constant of the file.

    So the launch can be read for other values of `int tile = argc > 1 ? atoi(argv[1]) : 16;`.

    Returns:
        None if neither a function that launches a kernel, nor `main`, nor the file declares such a variable.
    """
    tree = parsed(source)
    functions = all_of(tree, "function_definition")
    launching = [
        function
        for function in functions
        if any(all_of(function, "kernel_call_syntax"))
        or declared_name(function.child_by_field_name("declarator")) == "main"
    ]
    edits: set[tuple[int, int, str]] = set()
    for function in launching:
        declarations = all_of(function, "declaration", "parameter_declaration")
        own = list(_variables((each for each in declarations if not is_of_value(each)), name))
        of_file = () if own else (node for node in tree.named_children if "const" not in text_of(node))
        scope, declared = (function, own) if own else (tree, list(_variables(of_file, name)))
        if not declared:
            continue
        changed = [part.child_by_field_name("left") for part in all_of(scope, "assignment_expression")]
        changed += [part.child_by_field_name("argument") for part in all_of(scope, "pointer_expression")]
        targets = {node for node in (*declared, *changed) if node is not None and text_of(node) == name}
        edits |= {(node.end_byte, node.end_byte, "_of_user") for node in targets}
        around = list(ancestors(declared[0]))
        start = around[-2].start_byte  # of what the file has at its outermost level
        edits.add((start, start, f"const int {name} = {value}; "))
    return _edited(source, edits) if edits else None


def _variables(nodes: Iterable[Node], name: str) -> Iterator[Node]:
    """Yield the identifiers of the variables of a name that declarations declare."""
    for declaration in nodes:
        for each in declaration.children_by_field_name("declarator"):
            inner = each.child_by_field_name("declarator") if each.type == "init_declarator" else each
            if inner is not None and inner.type == "identifier" and text_of(inner) == name:
                yield inner


def sizes_without_value(source: str) -> list[str]:
    """Return the whole numbers in constant memory to which a C++ source gives no value."""
    return [
        declared_name(declarator)
        for node in (parsed(source).named_children if "__constant__" in source else ())
        if node.type == "declaration" and "__constant__" in text_of(node)
        if text_of(node.child_by_field_name("type")) in _WHOLE
        for declarator in node.children_by_field_name("declarator")
        if declarator.type != "init_declarator"
    ]


_WHOLE = ("int", "unsigned", "unsigned int", "long", "size_t", "uint32_t", "int32_t")


def _lists_for_constant(
    tree: Node, kernels: list[Node], declaration: Node, name: str, c_type: str
) -> list[tuple[Node, str]]:
    """Return the lists of parameters and of arguments that get a constant, each with what is added to it.

    There are none if a kernel cannot have it as a parameter.
    """
    uses = [node for node in all_of(tree, "identifier") if text_of(node) == name]
    users = [kernel for kernel in kernels if any(is_inside(use, kernel) for use in uses)]
    copies = [
        given
        for call in all_of(tree, "call_expression")
        if text_of(call.child_by_field_name("function")).startswith("cudaMemcpyToSymbol")
        and (given := call.child_by_field_name("arguments"))
        and given.named_child_count > 1
        and text_of(given.named_children[0]) == name
    ]
    places = [declaration, *copies, *users]
    if len(copies) != 1 or not all(any(is_inside(use, place) for place in places) for use in uses):
        return []
    value, around = text_of(copies[0].named_children[1]), copies[0].parent
    while around is not None and around.type != "function_definition":
        around = around.parent
    found: list[tuple[Node, str]] = []
    for kernel in users:
        head = next(all_of(kernel, "function_declarator"), None)
        parameters = head.child_by_field_name("parameters") if head else None
        calls = list(_calls(tree, declared_name(head)))
        if parameters is None or around is None or not value.startswith("&"):
            return []
        if not all(is_inside(call, around) for call in calls):
            return []
        found += [(parameters, f"{c_type} {name}"), *((call, value[1:]) for call in calls)]
    return found


def _edited(source: str, edits: set[tuple[int, int, str]]) -> str:
    """Return a source in which a text replaces what is between two places, in bytes."""
    encoded = source.encode()
    for start, end, text in sorted(edits, reverse=True):
        encoded = encoded[:start] + text.encode() + encoded[end:]
    return encoded.decode()


def _head(function: Node) -> str:
    return text_of(function).partition("{")[0]


def _launches(
    tree: Node, kernel: str, arrays: Mapping[str, tuple[Node, str]]
) -> Iterator[tuple[int, int, str]]:
    """Yield the arguments of each launch, and an allocation of each array, which says its extents."""
    for given in _calls(tree, kernel):
        function = next((node for node in ancestors(given) if node.type == "function_definition"), given)
        passed = {name: _address_of(function, name) or name for name in arrays}
        yield given.start_byte, given.end_byte, f"({', '.join(passed.values())})"
        body = function.child_by_field_name("body")
        if body is not None:
            begin = body.start_byte + 1
            # Not cudaMalloc, whose bytes are judged: no message quotes a call that the program lacks.
            calls = (f" cudaMallocManaged(&{passed[name]}, {_bytes_of(arrays[name][0])});" for name in arrays)
            yield begin, begin, "".join(calls)


def _bytes_of(declaration: Node) -> str:
    """Return `H * W * sizeof(float)` for `float a[H][W];`."""
    sizes = [text_of(node.child_by_field_name("size")) for node in all_of(declaration, "array_declarator")]
    # The outermost declarator holds the last size.
    return " * ".join((*sizes[::-1], f"sizeof({text_of(declaration.child_by_field_name('type'))})"))


def _address_of(function: Node, array: str) -> str:
    """Return the pointer that gets the address of a `__device__` array in a function; empty for none."""
    for call in all_of(function, "call_expression"):
        given = call.child_by_field_name("arguments")
        if given and text_of(call.child_by_field_name("function")) == "cudaGetSymbolAddress":
            pointer, symbol = given.named_children[0], given.named_children[-1]
            if text_of(symbol) == array:
                return next(map(text_of, all_of(pointer, "identifier")), "")
    return ""


def _calls(tree: Node, kernel: str) -> Iterator[Node]:
    """Yield the arguments of each launch of a kernel."""
    for syntax in all_of(tree, "kernel_call_syntax"):
        call = syntax.parent
        given = call.child_by_field_name("arguments") if call else None
        if call and given and text_of(call.child_by_field_name("function")) == kernel:
            yield given


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
