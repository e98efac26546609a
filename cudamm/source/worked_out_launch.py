"""Work out from a program how its host code launches a kernel, as fields of a header.

A launch `gemm<<<grid, block>>>(d_A, d_B, d_C, n)` and what its host code says about `grid`, `block` and `n`
become `args: A, B, C, N`, `threads: …` and `grid: …`, with the sizes M, N and K of cudamm.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from cudamm.errors import UsageError
from cudamm.source.c_numbers import Function, Number, SourceFile, Translation, source_file
from cudamm.source.expression import evaluated, parse, split_at_commas
from cudamm.source.host_code import (
    LaunchStatement,
    allocations,
    callers_of,
    class_argument,
    first_name,
    is_filled,
    is_transposed,
    launches,
    own_value,
    required_multiples,
    size_name,
    template_parameters,
    template_value,
)
from cudamm.source.matrix_roles import (
    DIMENSIONS,
    STRONG,
    KernelBody,
    MatrixUse,
    best_roles,
    evidence_in,
    is_column_major,
    matrix_letters,
    roles_in_name,
)
from cudamm.source.parsed_source import all_of, declared_name, text_of

_ROLES = ("M", "N", "K")
_USUAL_BLOCK_EDGE = 16
_LARGEST_BLOCK = 1024
_OTHER_TASKS = re.compile(
    r"init|fill|random|rand(?!om)|check|verify|valid|compare|diff|print|transpos|copy|zero|clear|scale|reset"
)
"""Words in the names of kernels that accompany a product."""

_OUTPUT = re.compile(r"out|res|dst|prod|erg|sal|d?_?c(?![a-z])", re.IGNORECASE)
"""How the names of matrices that a kernel writes begin."""

_REAL = frozenset({"float", "double", "half", "__half"})
_TRIED = (1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 250, 255, 256, 257, 1000, 1024)
"""Sizes for which two expressions are compared."""


@dataclass(frozen=True)
class WorkedOutLaunch:
    """What a program says about the launch of one of its kernels.

    Attributes:
        kernel: name of the kernel.
        fields: fields of a header, such as `threads`, and their values.
        unknown: what could not be worked out, in words; empty if all was.
        line: number of the line that launches it; 0 if none does.
        suggestion: threads and a grid that may fit the kernel.
    """

    kernel: str
    fields: Mapping[str, str]
    unknown: str = ""
    line: int = 0
    suggestion: Mapping[str, str] = field(default_factory=dict)


_QUOTIENT = re.compile(r"\b([MNK]) // (\w+|\([^()]*\))")
_ROUNDED_UP = re.compile(r"\bceil\(([MNK]) / (\w+|\([^()]*\))\)")


class _Unknown(Exception):
    """Something that cannot be worked out; the text says what."""


@functools.lru_cache(maxsize=16)
def worked_out_launches(source: str) -> tuple[WorkedOutLaunch, ...]:
    """Return the launch of each kernel that multiplies two matrices, in the order of the first launches.

    Args:
        source: C++ source with its own headers in it.
    """
    file = source_file(source)
    found: dict[str, WorkedOutLaunch] = {}
    statements = launches(file)
    for statement in sorted(statements, key=lambda launch: launch.doubts):
        kernel = _kernel_named(file, statement.kernel)
        if kernel is None or not _is_product(file, kernel):
            continue
        known = found.get(statement.kernel)
        if known is None or known.unknown:
            found[statement.kernel] = _Launch(file, statement, kernel).worked_out()
    return tuple(sorted(found.values(), key=lambda launch: launch.line))


def unlaunched(source: str, name: str) -> WorkedOutLaunch | None:
    """Return the arguments of a kernel that the file does not launch, by the names of its parameters.

    None if the file defines no kernel of that name, or if it has not three matrices.
    """
    file = source_file(source)
    kernel = _kernel_named(file, name)
    if kernel is None or not _is_product(file, kernel):
        return None
    declarators = [parameter.child_by_field_name("declarator") for parameter in kernel.parameters]
    names = [next(all_of(node, "identifier"), None) for node in declarators if node]
    if len(names) != len(kernel.parameters) or None in names:
        return None
    arguments = tuple(node for node in names if node)
    statement = LaunchStatement(kernel, name, None, (), arguments, kernel.node, line=0, doubts=0)
    return _Launch(file, statement, kernel).worked_out()


def file_numbers(source: str) -> dict[str, str]:
    """Return the macros and constants of C++ source that are whole numbers, each as an expression."""
    return source_file(source).numbers


def _kernel_named(file: SourceFile, name: str) -> Function | None:
    for function in file.functions_named(name):
        if function.is_kernel:
            return function
    return None


@dataclass(frozen=True)
class _Parameter:
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
    def is_matrix(self) -> bool:
        """Return whether it may be a matrix: a pointer, or a struct with a pointer in it."""
        return self.is_pointer or any(member.startswith("*") for member in self.members)


def _parameters(file: SourceFile, kernel: Function) -> list[_Parameter]:
    structs = _structs(file)
    found = []
    for node, name in zip(kernel.parameters, kernel.parameter_names, strict=True):
        declarator = node.child_by_field_name("declarator")
        c_type = text_of(node.child_by_field_name("type"))
        has_star = any(all_of(declarator, "pointer_declarator", "array_declarator")) if declarator else False
        sizes = [text_of(d.child_by_field_name("size")) for d in all_of(node, "array_declarator")]
        found.append(
            _Parameter(
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


def _structs(file: SourceFile) -> dict[str, tuple[str, ...]]:
    """Return the members of each struct, by the names of the struct; `shape_rows` for those of a member."""
    found: dict[str, tuple[str, ...]] = {}
    for node in all_of(file.tree, "struct_specifier", "class_specifier"):
        body = node.child_by_field_name("body")
        members: list[str] = []
        for part in body.named_children if body else ():
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


def _is_product(file: SourceFile, kernel: Function) -> bool:
    """Return whether a kernel may multiply two matrices: whether it has three, and a loop or a sum."""
    parameters = _parameters(file, kernel)
    matrices = [p for p in parameters if p.is_matrix]
    called = {text_of(node) for node in all_of(kernel.node, "identifier")}
    bodies = [kernel.node, *(f.node for f in file.functions if f.name in called and f is not kernel)]
    loops = ("for_statement", "while_statement", "do_statement")
    repeats = any(any(all_of(body, *loops)) for body in bodies)
    repeats = repeats or re.search(r"atomicAdd|__shfl|__syncthreads", text_of(kernel.node)) is not None
    multiplies = "*" in (
        text_of(n.child_by_field_name("operator")) for n in all_of(kernel.node, "binary_expression")
    )
    return len(matrices) >= 3 and repeats and multiplies and not _OTHER_TASKS.search(kernel.name.lower())


class _Launch:
    """One launch, while it is worked out."""

    def __init__(self, file: SourceFile, statement: LaunchStatement, kernel: Function) -> None:
        self.file, self.statement, self.kernel = file, statement, kernel
        self.function = statement.function
        self.parameters = _parameters(file, kernel)
        self.letters: dict[str, str] = {}  # A, B or C for the name of a parameter
        self.roles: dict[str, tuple[str, ...]] = {}  # M, N, K for the name of a size
        self.columns: frozenset[str] = frozenset()  # the matrices that are stored column by column
        self.evidence: Mapping[str, Mapping[str, int]] = {}
        self.rounded_down: list[str] = []
        self.allocated_for: dict[str, set[str]] = {}  # the matrices whose memory a name is in the size of
        self.batches: set[str] = set()
        self.same: dict[str, str] = {}  # the variable that a member of a struct has its value from
        self.grid: list[str] = []  # its extents
        self.in_kernel: dict[str, str] = {}  # the host code's name for what the kernel calls a size

    def worked_out(self) -> WorkedOutLaunch:
        """Return the fields of a header, or what is unknown."""
        fields: dict[str, str] = {}
        unknown = ""
        try:
            self._find_matrices()
            self._find_sizes()
            self._find_batches()
            entry = self._entry()
            fields |= {"entry": entry} if entry != self.statement.kernel else {}
            fields["args"] = ", ".join(map(self._argument, range(len(self.parameters))))
            if self.statement.configuration:
                for key, text in self._configuration():  # the fields before an unknown one are kept
                    fields[key] = text
                fields |= self._conditions(fields["threads"])
            if self.columns:
                fields["layout"] = ", ".join(f"{letter}=column" for letter in sorted(self.columns))
            if self._accumulates():
                fields["initial-c"] = "0"
            sizes = {name: self._role(name) for name in self._compiled_sizes()}
            if sizes:
                fields["sizes"] = ", ".join(f"{name}={role}" for name, role in sizes.items())
        except _Unknown as reason:
            unknown = str(reason)
        return WorkedOutLaunch(
            self.statement.kernel,
            fields,
            unknown,
            self.statement.line,
            self._suggestion(fields.get("threads", "")),
        )

    def _suggestion(self, threads: str) -> dict[str, str]:
        """Return threads and a grid with a thread for each element of C.

        Args:
            threads: those of the launch; if empty, the extents of the kernel's tiles are taken.
        """
        arrays = all_of(self.kernel.node, "array_declarator")
        sizes = (text_of(node.child_by_field_name("size")) for node in arrays)
        known = (size for size in sizes if size in self.file.numbers or size in ("8", "16", "32"))
        edge = next(known, str(_USUAL_BLOCK_EDGE))
        output = next((name for name, letter in self.letters.items() if letter == "C"), "")
        rows = self._raw_uses()[output].multiplied if output in self._raw_uses() else set()
        x, y = ("M", "N") if "blockIdx_x" in rows and "blockIdx_y" not in rows else ("N", "M")
        threads = threads or f"{edge}, {edge}"
        extents = split_at_commas(threads)
        pairs = zip((x, y) if len(extents) > 1 else ("M * N",), extents, strict=False)
        grid = ", ".join(f"ceil({size} / {_bracketed(extent)})" for size, extent in pairs)
        return {"threads": threads, "grid": grid}

    # -- matrices ------------------------------------------------------------------------------------------

    def _find_matrices(self) -> None:
        """Find which parameters are A, B and C."""
        if len(self.statement.arguments) > len(self.parameters):
            raise _Unknown(f"{self.kernel.name} is launched with more arguments than it has parameters")
        matrices = [p for p in self.parameters if p.is_matrix]
        passed = [first_name(self._passed(p.name)) for p in matrices]
        if len(matrices) > 3:
            pointers = ", ".join(p.name for p in matrices)
            raise _Unknown(f"{self.kernel.name} has more than three pointers: {pointers}")
        written = [p.name for p in matrices if p.is_pointer and self._raw_uses()[p.name].is_written]
        writable = [p.name for p in matrices if not p.is_const]
        output = next((found[0] for found in (writable, written) if len(found) == 1), "")
        names = [p.name for p in matrices]
        for telling in (passed, names):
            letters = matrix_letters(telling)
            if letters and (not output or letters[names.index(output)] == "C"):
                self.letters = dict(zip(names, letters, strict=True))
                return
        named = [name for name in names if _OUTPUT.match(name)]
        output = output or (written or named or names)[-1]
        inputs = [name for name in names if name != output]
        self.letters = dict(zip((*inputs, output), "ABC", strict=True))

    def _passed(self, parameter: str) -> Node:
        """Return what the launch passes for a parameter."""
        place = [p.name for p in self.parameters].index(parameter)
        if place >= len(self.statement.arguments):
            raise _Unknown(f"nothing is passed for {parameter} of {self.kernel.name}")
        return self.statement.arguments[place]

    def _body(self, sizes: Iterable[str]) -> KernelBody:
        pointers = tuple(p.name for p in self.parameters if p.is_pointer)
        fixed = {*template_parameters(self.kernel), *self.file.numbers}
        return KernelBody(self.file, self.kernel, pointers, frozenset(sizes), frozenset(fixed))

    def _raw_uses(self) -> dict[str, MatrixUse]:
        return self._body(p.name for p in self.parameters if self._is_whole(p)).uses()

    @staticmethod
    def _is_whole(parameter: _Parameter) -> bool:
        return not (parameter.is_pointer or parameter.is_real or parameter.members)

    # -- sizes ---------------------------------------------------------------------------------------------

    def _find_sizes(self) -> None:
        """Find which names of the host code, and which constants of the file, are M, N and K."""
        passed: dict[str, str] = {}  # the name in the host code for a parameter that may be a size
        for parameter in self.parameters:
            if self._is_whole(parameter):
                name = size_name(self.function, self._passed(parameter.name))
                if name and not self._is_tile(name) and not self._is_product_of_sizes(name):
                    passed[parameter.name] = name
            for member in parameter.members:
                if not member.startswith("*"):
                    passed[f"{parameter.name}_{member}"] = self._member_name(parameter.name, member)
        allocated = self._evidence_of_allocations()
        members = self._evidence_of_members()
        telling = [name for name in sorted(self._used_constants) if STRONG in roles_in_name(name).values()]
        names = dict.fromkeys((*passed.values(), *allocated, *members, *telling))
        in_block = self._names_of_block()
        names = {name: None for name in names if name not in in_block} or names
        in_all = {name for name, matrices in self.allocated_for.items() if matrices == set("ABC")} - {
            *passed.values()
        }
        if len(names.keys() - in_all) > 1:  # a number of products, such as `batch * M * N`
            self.batches = in_all
            names = {name: None for name in names if name not in in_all}
        in_kernel = {parameter: name for parameter, name in passed.items() if name in names}
        in_kernel |= {name: name for name in names if name in self._used_constants}
        self.in_kernel = in_kernel
        evidence = {name: Counter[str]() for name in names}
        for used, roles in self._evidence_of_kernel(in_kernel).items():
            evidence[in_kernel[used]].update(roles)
        for used, name in in_kernel.items():
            evidence[name].update(roles_in_name(used, self.columns))
        for name, found in evidence.items():
            found.update(roles_in_name(name, self.columns))
            found.update(allocated.get(name, {}))
            found.update(members.get(name, {}))
            for caller, argument in callers_of(self.file, self.function, name):
                found.update(roles_in_name(size_name(caller, argument), self.columns))
        self.roles = best_roles({name: found for name, found in evidence.items() if found})
        self.evidence = evidence
        if not self.roles:
            raise _Unknown(f"no argument of {self.kernel.name} is known to be a size of the matrices")

    def _find_batches(self) -> None:
        """Take a number of layers of the grid that the caller chooses for a number of products."""
        grid = self.statement.configuration[0] if self.statement.configuration else None
        extents = self._translation.extents(grid) if grid else None
        layers = extents[2].text if extents and len(extents) > 2 else ""
        known = self.roles.keys() | self.file.numbers.keys()
        if layers.isidentifier() and layers not in known and not self._own_size(layers):
            self.batches = {*self.batches, layers}

    @functools.cached_property
    def _used_constants(self) -> frozenset[str]:
        """Return the whole-number constants of the file that the kernel uses, directly or through others."""
        found, unread = set[str](), [text_of(node) for node in all_of(self.kernel.node, "identifier")]
        while unread:
            name = unread.pop()
            if name in found:
                continue
            found.add(name)
            _, text = self.file.macros.get(name, (None, ""))
            unread += re.findall(r"[A-Za-z_]\w*", text or text_of(self.file.constants.get(name)))
            for function in self.file.functions_named(name):
                if "__device__" in function.head:
                    unread += [text_of(node) for node in all_of(function.node, "identifier")]
        return frozenset(found & self.file.numbers.keys())

    def _compiled_sizes(self) -> list[str]:
        """Return the sizes that are constants of the file in the kernel."""
        return [name for name in self.roles if name in self._used_constants]

    def _is_product_of_sizes(self, name: str) -> bool:
        value = Translation(self.file, self.function, keeps_leaves=True).of(self.function.values.get(name))
        return (
            value is not None
            and re.fullmatch(r"\(\w+ \* (?:\w+|sizeof\(element\))\)", value.text) is not None
        )

    def _is_tile(self, name: str) -> bool:
        """Return whether a constant of the file is the extent of an array in the kernel."""
        arrays = all_of(self.kernel.node, "array_declarator")
        return name in self.file.numbers and any(
            name in re.findall(r"\w+", text_of(node.child_by_field_name("size")))
            for node in arrays
            if node.parent and node.parent.type != "parameter_declaration"
        )

    def _names_of_block(self) -> set[str]:
        if not self.statement.configuration:
            return set()
        block = Translation(self.file, self.function).extents(self.statement.configuration[1])
        return set().union(*(parse(number.text).names for number in block or ()))

    def _evidence_of_kernel(self, sizes: Iterable[str]) -> dict[str, Counter[str]]:
        if not all(p.is_pointer for p in self.parameters if p.name in self.letters):
            return {}
        body = self._body(sizes)
        uses = {self.letters[name]: use for name, use in body.uses().items() if name in self.letters}
        if is_column_major(uses["A"], uses["B"], uses["C"]):
            self.columns = frozenset("ABC")
        else:
            passed = {letter: first_name(self._passed(name)) for name, letter in self.letters.items()}
            at = self.statement.node
            self.columns = frozenset(
                x for x in "AB" if is_transposed(self.file, self.function, passed[x], at)
            )
        return evidence_in(body, uses, self.columns)

    def _accumulates(self) -> bool:
        """Return whether the kernel adds to C, which the host code has filled."""
        name = next((name for name, letter in self.letters.items() if letter == "C"), "")
        if not is_filled(self.function, first_name(self._passed(name)), self.statement.node):
            return False
        return (
            re.search(
                rf"atomicAdd\w*\s*\(\s*&?\s*\(?{name}\b|\b{name}\s*\[[^;=]*\]\s*\+=",
                text_of(self.kernel.node),
            )
            is not None
        )

    def _evidence_of_members(self) -> dict[str, Counter[str]]:
        """Return the evidence of structs, whose members are the rows and the columns of one matrix."""
        found: dict[str, Counter[str]] = {}
        for parameter in self.parameters:
            for member in parameter.members:
                roles = roles_in_name(f"{self.letters.get(parameter.name, '')}_{member}")
                if not member.startswith("*") and roles:
                    found[self._member_name(parameter.name, member)] = Counter(roles)
        return found

    def _member_name(self, parameter: str, member: str) -> str:
        """Return the host code's name for a member: `m` after `d.m = m` and `Dims d = {m, n, k}`."""
        variable = first_name(self._passed(parameter))
        name = f"{variable}_{member}"
        value = self.function.values.get(name)
        first = self.function.values.get(variable)
        listed = first.named_children if first and first.type == "initializer_list" else []
        members = next(p.members for p in self.parameters if p.name == parameter)
        if value is None and len(listed) == len(members):
            value = listed[members.index(member)]
            value = value.child_by_field_name("value") or value  # `.m = m`
        own = size_name(self.function, value) if value else ""
        if own:
            self.same[name] = own
        return own or name

    def _evidence_of_allocations(self) -> dict[str, Counter[str]]:
        """Return the evidence of the names in the sizes of the memory behind A, B and C."""
        found: dict[str, Counter[str]] = {}
        for parameter, letter in self.letters.items():
            columns = next(p.columns for p in self.parameters if p.name == parameter)
            if columns in self.file.numbers:  # `float (*A)[columns]`
                found.setdefault(columns, Counter())[DIMENSIONS[letter][1]] += STRONG
            for function, size in allocations(self.file, self.function, first_name(self._passed(parameter))):
                number = Translation(self.file, function, keeps_leaves=True).of(size)
                for name in parse(number.text).names - {"element"} if number else ():
                    own = name if function is self.function else self._name_here(name, function)
                    if own and not self._is_tile(own):
                        self.allocated_for.setdefault(own, set()).add(letter)
                        found.setdefault(own, Counter()).update(dict.fromkeys(DIMENSIONS[letter], 2))
        return found

    def _name_here(self, name: str, caller: Function) -> str:
        """Return the launching function's name for what a calling function calls `name`; empty for none."""
        if name in self.file.numbers:
            return name
        for parameter in self.function.parameter_names:
            for function, argument in callers_of(self.file, self.function, parameter):
                if function is caller and size_name(caller, argument) == name:
                    return parameter
        return ""

    # -- fields --------------------------------------------------------------------------------------------

    @property
    def _translation(self) -> Translation:
        return Translation(self.file, self.function, frozenset(self.roles) | self.batches)

    def _role(self, size: str) -> str:
        """Return the role of a size; of several equal ones, the one that most evidence speaks for."""
        roles = self.roles[size]
        return "N" if roles == _ROLES else max(roles, key=lambda role: self.evidence[size].get(role, 0))

    def _text(self, number: Number | None, what: str) -> str:
        """Return an expression over M, N, K and constants of the file.

        Raises:
            _Unknown: it depends on something else.
        """
        if number is None:
            raise _Unknown(f"{what} is no arithmetic that cudamm reads")
        renamed = {name: self._role(name) for name in self.roles}
        renamed |= dict.fromkeys(self.batches, "1")
        for name in parse(number.text).names - renamed.keys() - self.file.numbers.keys() - {"element"}:
            if self.same.get(name) in self.roles:
                renamed[name] = self._role(self.same[name])
                continue
            value = own_value(self.file, self.function, name)
            role = roles_in_name(name, self.columns)
            if max(role.values(), default=0) >= STRONG:
                renamed[name] = next(iter(role))
                continue
            if value is None and name in self._names_of_block():  # the program's user chooses it
                value = _USUAL_BLOCK_EDGE
            if value is None:
                raise _Unknown(f"{what} depends on {name}, whose value is not known")
            renamed[name] = str(value)
        return re.sub(r"[A-Za-z_]\w*", lambda name: renamed.get(name[0], name[0]), number.text)

    def _entry(self) -> str:
        """Return the kernel with its template arguments, in which variables of the host code have values."""
        given = self.statement.template_arguments
        if given is None:
            return self.statement.kernel

        def value(name: re.Match[str]) -> str:
            if name[0] in self.file.numbers:
                return name[0]
            if name[0] in template_parameters(self.function):
                return template_value(self.file, self.function, name[0]) or name[0]
            number = own_value(self.file, self.function, name[0])
            if number is None and name[0] == "scalar_t":  # a macro of PyTorch sets it to each type
                return "float"
            return class_argument(self.file, self.function, name[0]) if number is None else str(number)

        arguments = re.sub(r"(?<![\w.:])[A-Za-z_]\w*", value, given)
        return f"{self.statement.kernel}<{arguments}>"

    def _argument(self, place: int) -> str:
        parameter = self.parameters[place]
        letter = self.letters.get(parameter.name, "")
        if parameter.members:
            members = (
                letter
                if member.startswith("*")
                else self._role_of_member(self._member_name(parameter.name, member), member)
                for member in parameter.members
            )
            return "{" + ", ".join(members) + "}"
        if letter:
            return letter
        if parameter.is_real:
            if parameter.name.lower() in ("alpha", "beta"):
                return parameter.name.lower()
            return "0.0" if any(p.is_real for p in self.parameters[:place]) else "1.0"
        if place >= len(self.statement.arguments):
            raise _Unknown(f"nothing is passed for {parameter.name} of {self.kernel.name}")
        node = self.statement.arguments[place]
        name = size_name(self.function, node)
        if name in self.roles:
            return self._role(name)
        return self._simplified(self._text(self._translation.of(node), f"the argument {text_of(node)}"))

    def _role_of_member(self, name: str, member: str) -> str:
        if name not in self.roles:
            raise _Unknown(f"the member {member} is no known size of a matrix")
        return self._role(name)

    def _configuration(self) -> Iterator[tuple[str, str]]:
        """Yield the fields of what is between `<<<` and `>>>`."""
        grid, block, *rest = self.statement.configuration
        for key, node in (("threads", block), ("grid", grid)):
            numbers = self._translation.extents(node)
            if not numbers:
                raise _Unknown(f"{key}: {text_of(node)} is no arithmetic that cudamm reads")
            full = [self._text(number, f"{key}: {text_of(node)}") for number in numbers]
            texts = [self._simplified(text) for text in full]
            if key == "grid":
                # `ceil(N / 16)` of whole numbers rounds down although its author wants to round up.
                pairs = zip(texts, full, strict=True)
                self.rounded_down = [
                    text for text, raw in pairs if "ceil" not in raw and self._is_empty(text)
                ]
                self.grid = texts
            while len(texts) > 1 and texts[-1] == "1":
                texts.pop()
            yield key, ", ".join(texts)
        if rest and text_of(rest[0]) != "0":
            text = self._text(self._translation.of(rest[0]), "shared memory")
            yield "shared-bytes", self._simplified(text)

    def _is_empty(self, extent: str) -> bool:
        """Return whether an extent is 0 for the smallest matrices, so that it is written for multiples."""
        return _values(extent, [{**self.file.number_values, "M": 1, "N": 1, "K": 1}]) == [0]

    def _simplified(self, text: str) -> str:
        return simplified(text, self.file.number_values)

    def _limit_of_block(self, threads: str) -> list[str]:
        """Return the condition that a block as large as the matrix is allowed, as it is in the program."""
        expression = parse(" * ".join(f"({extent})" for extent in split_at_commas(threads)))
        used = [size for size, roles in self.roles.items() if expression.names & set(roles)]
        own = {role: self._own_size(size) for size in used for role in self.roles[size]}
        known = {role: size for role, size in own.items() if size is not None}
        known |= self.file.number_values
        number = evaluated({"threads": expression}, known).get("threads") if used else None
        is_allowed = number is not None and number <= _LARGEST_BLOCK
        return [f"{expression} <= {_LARGEST_BLOCK}"] if is_allowed else []

    def _conditions(self, threads: str) -> dict[str, str]:
        """Return the conditions on the sizes that the program relies on."""
        conditions = [
            f"{first} == {second}"
            for roles in self.roles.values()
            for first, second in itertools.pairwise(roles)
        ]
        multiples: dict[tuple[str, str], None] = {}
        for extent in self.rounded_down:
            for role, step in _QUOTIENT.findall(extent):
                multiples[role, step] = None
        for size, multiple in self._multiples():
            multiples[size, multiple] = None
        conditions += self._limit_of_block(threads)
        equal = {role: roles for roles in self.roles.values() for role in roles}
        for role, multiple in multiples:
            if self._own_sizes_are_multiples(role, multiple):
                conditions += [f"{each} % {multiple} == 0" for each in equal.get(role, (role,))]
        return {"requires": ", ".join(dict.fromkeys(conditions))} if conditions else {}

    def _multiples(self) -> Iterator[tuple[str, str]]:
        """Yield sizes and what they are multiples of, by checks of the host code and loops of the kernel."""
        for size, multiple in required_multiples(self._translation, self.roles):
            yield self._role(size), self._text(Number(multiple), "a condition")
        for name in sorted(self._used_constants - self.roles.keys()):
            number = Translation(self.file, kept=frozenset(self.roles)).of(self.file.value_of(name))
            quotient = re.fullmatch(r"\((\w+) // (\w+)\)", number.text) if number else None
            if quotient and quotient[1] in self.roles:  # a part of the matrix, such as `#define PART (K / 4)`
                yield self._role(quotient[1]), self._text(Number(quotient[2]), "a condition")
        body = self._body(self.in_kernel)
        given = [part.strip() for part in self._entry().partition("<")[2].removesuffix(">").split(",")]
        arguments = dict(zip(template_parameters(self.kernel), given, strict=False))
        checked = {size for _, size in body.checks()}
        for size, tile in body.tile_loops():
            name = self.in_kernel[size]
            passed = [p.name for p in self.parameters if p.name == tile]
            number = self._translation.of(self._passed(tile)) if passed else None
            text = number.text if number else arguments.get(tile, tile)
            if name in self.roles and size not in checked and (text.isdigit() or text in self.file.numbers):
                yield self._role(name), text
        if checked:
            return
        # A kernel that checks nothing is written for multiples if its grid or its loop over K is.
        if self.rounded_down and not any(body.tile_loops()):
            for extent in self.rounded_down:
                yield from (("K", step) for _, step in _QUOTIENT.findall(extent))
        elif any(body.tile_loops()):
            for extent in self.grid:
                yield from _ROUNDED_UP.findall(extent)

    def _own_sizes_are_multiples(self, role: str, multiple: str) -> bool:
        """Return whether the sizes of the program itself, as far as they are known, are multiples."""
        step = evaluated({"step": parse(multiple)}, self.file.number_values).get("step")
        sizes = [size for size, roles in self.roles.items() if role in roles]
        values = [self._own_size(size) for size in sizes]
        return step is None or all(value is None or value % step == 0 for value in values)

    def _own_size(self, size: str) -> int | None:
        return own_value(self.file, self.function, size)


def simplified(text: str, numbers: Mapping[str, int]) -> str:
    """Return a shorter expression with the same values: `ceil(N / 16)` for `(((N + 16) - 1) // 16)`.

    Args:
        numbers: values of the names that are neither M, N nor K.
    """
    expression = parse(text)
    known = {name: numbers.get(name, 4) for name in (*expression.names, *numbers)}
    tried = [
        known
        | {"M": m, "N": _TRIED[(place * 5 + 3) % len(_TRIED)], "K": _TRIED[(place * 7 + 1) % len(_TRIED)]}
        for place, m in enumerate(_TRIED)
    ]
    wanted = _values(text, tried)
    constants = [name for name in expression.names if name not in _ROLES and name != "element"]
    constants += re.findall(r"\b\d+\b", text)
    if not expression.names:
        return str(math.floor(expression.value({})))
    products = [f"{a} * {b}" for a, b in itertools.combinations(dict.fromkeys(constants), 2)]
    steps = [step for step in (*dict.fromkeys(constants), *products) if step not in ("0", "1")]
    simple = [*(role for role in _ROLES if role in expression.names), *steps, "1"]
    roles = [role for role in _ROLES if role in expression.names]
    for size in (*roles, *(f"{a} * {b}" for a, b in itertools.combinations_with_replacement(roles, 2))):
        simple += [f"ceil({size} / {_bracketed(step)})" for step in steps]
        simple += [f"{size} // {_bracketed(step)}" for step in steps]
    if not any(role in expression.names for role in _ROLES) and expression.names:
        simple = [step for step in simple if not step.isdigit()]
    for candidate in simple:
        if _values(candidate, tried) == wanted:
            return candidate
    return text[1:-1] if re.fullmatch(r"\([^()]*\)", text) else text


def _bracketed(step: str) -> str:
    return f"({step})" if " " in step else step


def _values(text: str, tried: Sequence[Mapping[str, int]]) -> list[int] | None:
    expression = parse(text)
    try:
        return [math.floor(expression.value({**names, "element": 4})) for names in tried]
    except UsageError:
        return None
