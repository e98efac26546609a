"""Read the parameters of a kernel from the tree of its source, and whether it may multiply two matrices."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile
from cudamm.source.parsed_source import all_of, declared_name, text_of

_OTHER_TASKS = re.compile(r"init|fill|random|rand(?!om)|check|verify|valid|compare|diff|print")
"""Words in the names of kernels that accompany a product."""

_SUM = re.compile(r"fma|mma|\bmad|atomicAdd|\basm\b|__dp[24]a|__hadd|reduce|__shfl|(\b\w+)\s*=\s*\1\s*\+")
"""Functions that add up products or sums, and `sum = sum + …`."""

_REAL = frozenset({"float", "double", "half", "__half", "nv_bfloat16", "__nv_bfloat16"})


@dataclass(frozen=True)
class KernelParameter:
    """A parameter of a kernel.

    Attributes:
        members: names of the members if it is a struct, in order, pointers with a `*`.
        columns: the extent of its rows in `float (*A)[columns]`; empty for others.
    """

    name: str
    is_pointer: bool
    is_real: bool
    is_const: bool
    members: tuple[str, ...] = ()
    columns: str = ""

    @property
    def is_whole_number(self) -> bool:
        """Return whether it may be a size: neither a pointer, a floating-point number nor a struct."""
        return not (self.is_pointer or self.is_real or self.members)

    @property
    def is_scale(self) -> bool:
        """Return whether it is α or β of C = α A B + β C, by its name."""
        return self.name.lower() in ("alpha", "beta")

    @property
    def is_matrix(self) -> bool:
        """Return whether it may be a matrix: a pointer, or a struct with a pointer in it."""
        return self.is_pointer or any(member.startswith("*") for member in self.members)


def kernel_parameters(file: SourceFile, kernel: Function) -> list[KernelParameter]:
    """Return the parameters of a kernel, in order."""
    structs = members_of_structs(file)
    found = []
    for node, name in zip(kernel.parameters, kernel.parameter_names, strict=True):
        declarator = node.child_by_field_name("declarator")
        c_type = text_of(node.child_by_field_name("type")).removeprefix("struct ")
        has_star = any(all_of(declarator, "pointer_declarator", "array_declarator")) if declarator else False
        sizes = [text_of(d.child_by_field_name("size")) for d in all_of(node, "array_declarator")]
        found.append(
            KernelParameter(
                name,
                is_pointer=has_star,
                is_real=not has_star and (c_type in _REAL or _names_real(file, c_type)),
                is_const="const" in text_of(node).partition("*")[0].split(),
                members=() if has_star else structs.get(c_type.partition("<")[0], ()),
                columns=next((size for size in sizes if size), ""),
            )
        )
    return found


def _names_real(file: SourceFile, c_type: str) -> bool:
    """Return whether a type is a name for a floating-point type, or a template parameter such as T."""
    if re.fullmatch(r"T|[A-Z]\w*_?[Tt]|[a-z]+_t|real|scalar|Real|Scalar|element", c_type):
        return not re.fullmatch(r"u?int\d*_t|size_t|ssize_t|ptrdiff_t", c_type)
    named = all_of(file.tree, "type_definition", "alias_declaration")
    texts = [text_of(n) for n in named if re.search(rf"\b{re.escape(c_type)}\s*(?:;|=)", text_of(n))]
    texts.append(file.macros.get(c_type, (None, ""))[1])
    return any(not _REAL.isdisjoint(re.findall(r"\w+", text)) for text in texts if "{" not in text)


@functools.lru_cache(maxsize=8)
def members_of_structs(file: SourceFile) -> dict[str, tuple[str, ...]]:
    """Return the members of each struct, by the names of the struct; `shape_rows` for those of a member."""
    found: dict[str, tuple[str, ...]] = {}
    for node in all_of(file.tree, "struct_specifier", "class_specifier"):
        body = node.child_by_field_name("body")
        if body is None:  # `struct Matrix A`
            continue
        members: list[str] = []
        for part in body.named_children:
            inner = found.get(text_of(part.child_by_field_name("type")), ())
            for declarator in part.children_by_field_name("declarator"):
                name = declared_name(declarator)
                if part.type == "field_declaration" and declarator.type != "function_declarator":
                    is_pointer = "pointer" in declarator.type
                    members += (
                        [f"{name}_{member}" for member in inner] if inner else ["*" * is_pointer + name]
                    )
        names = [text_of(node.child_by_field_name("name"))]
        if node.parent and node.parent.type == "type_definition":
            for declarator in node.parent.children_by_field_name("declarator"):
                names += [declared_name(declarator), text_of(declarator)]
        found |= dict.fromkeys(filter(None, names), tuple(members))
    return found


@functools.lru_cache(maxsize=256)
def may_be_product(file: SourceFile, kernel: Function) -> bool:
    """Return whether a kernel may multiply two matrices: whether it has three, and a loop or a sum."""
    parameters = kernel_parameters(file, kernel)
    matrices = [p for p in parameters if p.is_matrix]
    called = {text_of(node) for node in all_of(kernel.node, "identifier")}
    bodies = [kernel.node, *(f.node for f in file.functions if f.name in called and f is not kernel)]
    loops = ("for_statement", "while_statement", "do_statement")
    repeats = any(any(all_of(body, *loops)) for body in bodies)
    repeats = repeats or re.search(r"atomicAdd|__shfl|__syncthreads", text_of(kernel.node)) is not None
    multiplies = "*" in (
        text_of(n.child_by_field_name("operator")) for n in all_of(kernel.node, "binary_expression")
    )
    multiplies = multiplies and any(map(_adds_up, bodies))
    return len(matrices) >= 3 and repeats and multiplies and not _OTHER_TASKS.search(kernel.name.lower())


def _adds_up(body: Node) -> bool:
    """Return whether code adds up numbers, as `sum += a * b` and not `i += blockDim.x` does."""
    if _SUM.search(text_of(body)):
        return True
    head = text_of(body.child_by_field_name("declarator"))
    for node in all_of(body, "assignment_expression"):
        value, sign = (text_of(node.child_by_field_name(part)) for part in ("right", "operator"))
        target = text_of(node.child_by_field_name("left")).replace(" ", "")
        spaceless = value.replace(" ", "")
        is_sum = sign == "+=" or spaceless.startswith(f"{target}+") or spaceless.endswith(f"+{target}")
        around = node.parent
        while around is not None and around.type == "comma_expression":
            around = around.parent
        is_of_loop = around is not None and around.type == "for_statement"
        is_index = "[" not in value and re.search("blockDim|gridDim", value)
        # `sum = a[k] * b[k]` is a sum whose += was forgotten.
        base = target.partition("[")[0]
        is_local = base.isidentifier() and re.search(rf"\b{base}\b", head) is None
        is_product = sign == "=" and is_local and "*" in value and value.count("[") > 1
        if (is_sum or is_product) and not is_of_loop and not is_index:
            return True
    return False
