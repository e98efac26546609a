"""Find out what a launch passes: which arguments are the matrices A, B and C, and which sizes M, N and K."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from tree_sitter import Node

from cudamm.source.around_launch import is_transposed
from cudamm.source.c_definitions import Function, SourceFile, flat_name, without_casts
from cudamm.source.c_numbers import BYTES, Translation, constant_values, constants, renamed
from cudamm.source.expression import SCRATCH, evaluated, parse
from cudamm.source.extra_pointers import only_written
from cudamm.source.host_code import (
    LaunchStatement,
    allocations,
    first_name,
    multiplies_by_rows,
    name_here,
    size_name,
)
from cudamm.source.kernel_body import KernelBody, MatrixUse
from cudamm.source.kernel_parameters import KernelParameter, kernel_parameters, members_of_structs
from cudamm.source.matrix_roles import (
    DIMENSIONS,
    STRONG,
    best_roles,
    evidence_in,
    is_column_major,
    is_transposed_b,
    matrix_letters,
    reads_by_column,
    roles_in_name,
)
from cudamm.source.parsed_source import all_of, text_of
from cudamm.source.passed_arguments import passed_by
from cudamm.source.passed_shapes import PRODUCT_OF_FACTORS, TENSOR_SIZE, PassedShapes
from cudamm.source.program_values import callers_of, own_value, template_parameters
from cudamm.source.simplified_expression import ROLES, simplified
from cudamm.source.wmma_use import WmmaUse, wmma_use

_OUTPUT = re.compile(r"out|res|dst|prod|erg|sal|d?_?c(?![a-z])", re.IGNORECASE)
"""How the names of matrices that a kernel writes begin."""

NUMBER = "number_"
"""Beginning of the name of a number in the kernel that is a size."""

_CERTAIN = 100
"""The weight of evidence that outweighs all other."""

_LARGEST_ELEMENT = 16
"""Largest number in the size of memory that may be an element's size in bytes, not an extent."""

_QUOTIENT = re.compile(r"N // (\w+)|ceil\(N / (\w+)\)")
_VECTOR = re.compile(r"\b(?:float|double|u?(?:char|short|int|long)|(?:__)?half|__nv_bfloat16)([234])\b")
"""Types such as `float4`, with their numbers of elements."""

SMALLEST_SIZE = 16
"""The smallest number in a kernel that may be a size; smaller ones are parts of an index."""

_TRANSPOSED_TENSOR = re.compile(
    r"(?P<view>(?P<base>\w+)\.(?:t\(\)|mT\(\)|transpose\((?:0, ?1|1, ?0|-2, ?-1|-1, ?-2)\)))(?P<copy>\.\w+)?"
)
_TO_GPU, _FROM_GPU = "cudaMemcpyHostToDevice", "cudaMemcpyDeviceToHost"
_WHOLE = re.compile(r"\b(int|unsigned|long|short|u?int\d+_t|size_t|ptrdiff_t)\b")

_ARRAY_OF_SIZES = re.compile("shape|stride|dim|size", re.IGNORECASE)
"""What the name of an array of sizes, or of row lengths, contains."""

_BY_COLUMN = re.compile(r"col(umn)?[-_ ]?major", re.IGNORECASE)
"""What a program mentions, perhaps in a comment, whose matrices lie column by column."""

_BY_ROW = re.compile(r"row[-_ ]?major", re.IGNORECASE)
"""What a program mentions whose matrices lie row by row."""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_OTHER_PRODUCTS = {"gemv": "a matrix and a vector", "triang|trmm": "a triangular matrix"}
"""What kernels multiply that have certain words in their names."""


FEW_ARGUMENTS = "it passes"
"""The beginning of what is unknown of a launch that lacks an argument."""


class UnknownLaunch(Exception):
    """Something about a launch that cannot be worked out; the text says what."""


class NoProduct(UnknownLaunch):
    """A kernel computes something other than the product of two matrices; the text says what."""


_BY_ATOMICS = "let each block add its part to C with atomicAdd()"
"""How a kernel that has a part of each sum may give the whole product."""


def _names_transposed(letter: str) -> re.Pattern[str]:
    """Return what names of a transposed matrix contain: `B_t`, `d_bT`, `bt`, and not `mat`."""
    short = rf"{letter}_?[tT]$|(?:^|_){letter.lower()}_?[tT]$"
    return re.compile(rf"(?i:transp|(?<!no)(?<!no_)trans$|col_?maj)|{short}")


class LaunchRoles:
    """The matrices and the sizes of one launch.

    Attributes:
        function: the host function that launches the kernel.
        letters: A, B or C for the name of a parameter.
        columns: the matrices that are stored column by column.
        roles: M, N, K for the name of a size: one, or several that are equal.
        evidence: the weight of what speaks for each role of a size.
        in_kernel: the host code's name for what the kernel calls a size.
        same: the variable that a member of a struct has its value from.
        batches: names of numbers of products, such as `batch` in `batch * M * N`.
        counted_products: the number of products if the launch says it as a number; empty if it does not.
        literal_sizes: names for the sizes that the launch passes as numbers, by the kernel's parameter.
        scratch: the pointers beside A, B and C, to which the kernel only writes.
        addend: the C that the kernel only reads, of D = alpha A B + beta C; D is C then, and both are passed
            the same memory. Empty if there is none.
        divisors: the 4 of `K / 4`, by the kernel's parameter that is a size divided by it.
        parts: the same by the host function's name, if its callers divide the size.
        swapped: what is passed for two matrices, in the wrong order; empty if all are in the right one.
        swapped_letters: which two these are, in the order of the parameters.
        partial: the size that a launch of some rows gets, by the kernel's parameter: `chunk` of `M / 4`.
        wholes: the same by the names of the whole matrices' sizes, which the kernel does not get: M.
        same_part: the same by other names for it in the grid, such as `most` of `min(most, M - first)`, and
            by its expressions, such as `(M // 4)`.
    """

    def __init__(self, file: SourceFile, statement: LaunchStatement, kernel: Function) -> None:
        self.file, self.statement, self.kernel = file, statement, kernel
        self.function = statement.function
        self.parameters = kernel_parameters(file, kernel)
        self.letters: dict[str, str] = {}
        self.columns: frozenset[str] = frozenset()
        self.roles: dict[str, tuple[str, ...]] = {}
        self.evidence: Mapping[str, Mapping[str, int]] = {}
        self.in_kernel: dict[str, str] = {}
        self.same: dict[str, str] = {}
        self.batches: set[str] = set()
        self.counted_products = ""
        self.literal_sizes: dict[str, str] = {}
        self.scratch: frozenset[str] = frozenset()
        self.addend = ""
        self.divisors: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self.swapped: tuple[str, ...] = ()  # two names
        self.swapped_letters: tuple[str, ...] = ()
        self.exchanged_members: dict[str, str] = {}  # of all structs, such as width and height
        self.partial: dict[str, str] = {}
        self.wholes: dict[str, str] = {}
        self.same_part: dict[str, str] = {}
        self._are_named = False  # the matrices, by what is passed or by the parameters
        self._are_in_order = False  # A has the rows of C, and lies row by row, as its shape says
        self._by_memory: set[str] = set()  # the sizes whose roles are proven by the memory of A, B and C
        self._allocated_for: dict[str, set[str]] = {}  # the matrices whose memory a name is in the size of
        self._has_number_as_extent = False  # in the size of the memory of A, B or C

    def find(self) -> None:
        """Find the matrices and the sizes.

        Raises:
            UnknownLaunch: they cannot be worked out; what was found before is kept.
        """
        self._find_matrices()
        self._refuse_product_of_each_block()
        self._check_that_c_is_written()
        self._mend_order()
        for words, operands in _OTHER_PRODUCTS.items():
            if re.search(words, self.kernel.name, re.IGNORECASE):
                raise NoProduct(f"{self.kernel.name} multiplies {operands}")
        self._find_sizes()
        self._find_batches()
        if self.swapped:
            one, two = self.swapped_letters
            other = {one: two, two: one}
            self.letters = {name: other.get(letter, letter) for name, letter in self.letters.items()}
            self.columns = frozenset(other.get(letter, letter) for letter in self.columns)

    def _check_that_c_is_written(self) -> None:
        """Raise NoProduct for a kernel that gets C as a struct and never uses its elements."""
        output = next((name for name, letter in self.letters.items() if letter == "C"), "")
        members = next((p.members for p in self.parameters if p.name == output), ())
        numbers = "|".join(member for member in members if not member.startswith("*"))
        uses = rf"\b{output}\b(?!\s*(?:\.|->)\s*(?:{numbers})\b(?!\s*\())"  # any but that of a number
        if numbers and not re.search(uses, text_of(self.kernel.node.child_by_field_name("body"))):
            raise NoProduct(
                f"{self.kernel.name} writes no element of {output}, so another kernel does (to have its "
                f"product verified, {_BY_ATOMICS})"
            )

    def _mend_order(self) -> None:
        """Find the sizes as if A and B were passed in the order that fits the kernel, if they are swapped.

        The arrays are those of the other matrix if their shapes fit the kernel's indices in the other order
        alone. Of two arrays whose names and parameters give no hint, A is that with the rows of C.
        """
        if len(self.letters) == 3 and all(p.members for p in self._matrices):
            self._mend_order_of_structs()
        if len(self.letters) != 3 or not all(p.is_pointer for p in self._matrices):
            return
        inputs = [p.name for p in self._matrices if self.letters[p.name] != "C"]
        output = next(name for name, letter in self.letters.items() if letter == "C")
        if self.shapes.are_swapped(inputs, output) or self._is_product_in_other_order(inputs, output):
            self._swap(inputs)
        elif (other := self._copied_instead_of(output, inputs)) is not None:
            self._swap([name for name in self.letters if name in (other, output)])
        if not self._are_named and all(map(self.shapes.is_written_as_read, self.letters)):
            first = self.shapes.first_factor(inputs, output)
            if first:
                self._are_in_order = True
                self.letters |= {name: "A" if name == first else "B" for name in inputs}

    def _mend_order_of_structs(self) -> None:
        """Go on as if two structs were in the other order, if their extents fit in that order alone."""
        names = [p.name for p in self._matrices]
        output = next(name for name, letter in self.letters.items() if letter == "C")
        letters = dict(zip(names, matrix_letters(names) or (), strict=False))
        inputs = sorted((name for name in names if name != output), key=lambda name: letters.get(name, ""))
        (one, other), product = map(self._extents_of_struct, inputs), self._extents_of_struct(output)

        def fits(a: tuple[str, str], b: tuple[str, str]) -> bool:
            return (a[0], b[1]) == product and a[1] == b[0]

        if "" in (*one, *other, *product) or fits(one, other) or not fits(other, one):
            return
        passed = matrix_letters([first_name(self.passed(name)) for name in names])
        if passed is None or dict(zip(names, passed, strict=True)) != letters:
            self._swap(inputs)
        else:  # the names of the variables say that they are in order
            rows, columns = self._members_of_rows_and_columns(inputs[0])
            lengths = {*re.findall(r"\*\s*\w+\s*\.\s*(\w+)", text_of(self.kernel.node))}  # row * A.width
            if lengths & {rows, columns} == {columns}:
                self.exchanged_members = {rows: columns, columns: rows}

    def _extents_of_struct(self, parameter: str) -> tuple[str, str]:
        """Return the host code's names for the rows and the columns of a struct; empty for unknown ones."""
        rows, columns = self._members_of_rows_and_columns(parameter)
        return self.member_name(parameter, rows), self.member_name(parameter, columns)

    def _members_of_rows_and_columns(self, parameter: str) -> tuple[str, str]:
        """Return the members of a struct that are rows and columns by their names; empty for unknown ones."""
        members = next(p.members for p in self.parameters if p.name == parameter)
        roles = {role: member for member in members for role in roles_in_name(f"A_{member}")}
        return roles.get("M", ""), roles.get("K", "")

    def _swap(self, parameters: Sequence[str]) -> None:
        """Go on as if the launch passed two matrices in the other order."""
        self.swapped = tuple(first_name(self.passed(name)) for name in parameters)
        arguments = list(self.statement.arguments)
        one, other = ([p.name for p in self.parameters].index(name) for name in parameters)
        arguments[one], arguments[other] = arguments[other], arguments[one]
        self.statement = replace(self.statement, arguments=tuple(arguments))
        self.__dict__.pop("shapes", None)  # of the old order
        self._find_matrices()
        self.swapped_letters = tuple(self.letters[name] for name in parameters)

    def _copied_instead_of(self, output: str, inputs: Sequence[str]) -> str | None:
        """Return the input for which a C++ program passes the array that it copies back; None for none.

        What it passes for the output it copies to the GPU only. Pointers that are exchanged tell nothing.
        """
        code = text_of(self.function.node)
        passed = "|".join(re.escape(first_name(self.passed(name))) for name in (output, *inputs))
        if re.search(rf"\bswap\s*\(|(?<![\w.*])(?:{passed})\s*=\s*\w+\s*;", code):
            return None
        if [name for name in (output, *inputs) if self.raw_uses[name].is_written] != [output]:
            return None
        copies: dict[str, set[str]] = {}
        for call in all_of(self.function.node, "call_expression"):
            given = call.child_by_field_name("arguments")
            arguments = given.named_children if given else []
            if text_of(call).startswith("cudaMemcpy") and len(arguments) >= 4:
                kind = text_of(arguments[3])
                if kind in (_TO_GPU, _FROM_GPU):
                    copies.setdefault(first_name(arguments[kind == _FROM_GPU]), set()).add(kind)
        kinds = {name: copies.get(first_name(self.passed(name)), set()) for name in (output, *inputs)}
        back = [name for name in inputs if _FROM_GPU in kinds[name]]
        return back[0] if kinds[output] == {_TO_GPU} and len(back) == 1 else None

    def _is_product_in_other_order(self, inputs: Sequence[str], output: str) -> bool:
        """Return whether a Python program multiplies its square arrays in the other order than the kernel."""
        factors = [*self._factors]
        return (
            {*factors} == {*inputs}
            and not any(self._factors.values())
            and all(self.shapes.shape_of(name).is_ordered for name in inputs)
            and all(self.shapes.fits(name, name) for name in (*inputs, output))
            and self.shapes.is_product(factors[1], factors[0], output)
        )

    @property
    def _factors(self) -> dict[str, bool]:
        """Return the parameters whose arrays a Python program itself multiplies, and which are transposed."""
        passed = passed_by(self.function)
        names = [p.name for p in self.parameters]
        found = passed.product.split() if passed else []
        return {names[int(each.removesuffix("T"))]: each.endswith("T") for each in found}

    @property
    def product(self) -> tuple[int, int] | None:
        """Return the dimensions of A and B that a Python program's own product has equal; None for none."""
        factors = [(self.letters.get(name), is_transposed) for name, is_transposed in self._factors.items()]
        return (1, int(factors[1][1])) if [letter for letter, _ in factors] == ["A", "B"] else None

    @property
    def _matrices(self) -> list[KernelParameter]:
        return [p for p in self.parameters if p.name in self.letters]

    @functools.cached_property
    def shapes(self) -> PassedShapes:
        """Return the shapes of the matrices by the kernel's indices, and by the host code."""
        sizes = {p.name for p in self.parameters if p.is_whole_number and not p.is_scale}
        sizes |= {name for name in self.used_constants if not self._is_tile(name)}
        given = zip(self.parameters, self.statement.arguments, strict=False)
        return PassedShapes(
            self.file, self.function, self._body(sizes, self.tile_widths), {p.name: x for p, x in given}
        )

    def _find_matrices(self) -> None:
        """Find which parameters are A, B and C."""
        if len(self.statement.arguments) > len(self.parameters):
            raise UnknownLaunch(f"{self.kernel.name} is launched with more arguments than it has parameters")
        all_names = [p.name for p in self.parameters]
        if len(set(all_names)) < len(all_names):
            raise UnknownLaunch(f"two parameters of {self.kernel.name} have one name")
        matrices = [p for p in self.parameters if p.is_matrix]
        passed = [first_name(self.passed(p.name)) for p in matrices]
        if len(matrices) > 3:
            self.scratch = self._find_scratch(matrices)
            self.addend = self._find_addend([p.name for p in matrices])
            if self.addend:
                return
            matrices = [p for p in matrices if p.name not in self.scratch]
            passed = [first_name(self.passed(p.name)) for p in matrices]
        written = [p.name for p in matrices if p.is_pointer and self.raw_uses[p.name].is_written]
        writable = [p.name for p in matrices if not p.is_const]
        output = next((found[0] for found in (writable, written) if len(found) == 1), "")
        names = [p.name for p in matrices]
        for telling in (passed, names):
            letters = matrix_letters(telling)
            if letters and (not output or letters[names.index(output)] == "C"):
                self.letters = dict(zip(names, letters, strict=True))
                self._are_named = True
                return
        named = [name for name in names if _OUTPUT.match(name)]
        output = output or (written or named or names)[-1]
        inputs = [name for name in names if name != output]
        self.letters = dict(zip((*inputs, output), "ABC", strict=True))

    def _find_scratch(self, matrices: Sequence[KernelParameter]) -> frozenset[str]:
        """Return the pointers beside A, B and C, of more than three, to which the kernel only writes.

        Raises:
            NoProduct: the kernel reads one of them, or it is not known which pointers are A, B and C.
        """
        names = [p.name for p in matrices]
        written = only_written(self.kernel, [p.name for p in matrices if p.is_pointer and not p.is_const])
        letters = self._three_letters(names, written)
        pointers = f"{self.kernel.name} has more than three pointers: {', '.join(names)}"
        if not letters:
            arrays = [n for n in names if _ARRAY_OF_SIZES.search(n) and _WHOLE.search(self._declaration(n))]
            if arrays:
                named = f"{self.kernel.name} takes arrays of sizes or strides: {', '.join(arrays)}"
                raise NoProduct(
                    f"{named}; write a kernel that takes the sizes as numbers, as in “int M, int N, int K”"
                )
            raise NoProduct(pointers)
        read = [name for name in names if name not in letters and name not in written]
        if not read:
            return frozenset(names) - letters.keys()
        are_sizes = all(_WHOLE.search(self._declaration(name)) for name in read)
        sizes = "take the sizes as numbers, as in “int M, int N, int K”, or " if are_sizes else ""
        end = "-{M}x{N}x{K}.npy)" if are_sizes else ".npy)"
        known = dict.fromkeys(written, SCRATCH) | letters | {name: f"file({name}{end}" for name in read}
        roles = {p.name: "".join([*roles_in_name(p.name)][:1]) for p in self.parameters if p.is_whole_number}
        arguments = ", ".join(known.get(p.name) or roles.get(p.name) or p.name for p in self.parameters)
        raise NoProduct(
            f"{self.kernel.name} reads {', '.join(read)} beside A, B and C; {sizes}save what it reads there "
            f"with numpy.save, and name the file in --args, as in '{arguments}', together with --threads and "
            "--grid"
        )

    def _find_addend(self, names: Sequence[str]) -> str:
        """Return the C that the kernel only reads, if it writes one other matrix; empty if there is none."""
        letters = self._three_letters(names, [*self.scratch])
        c = next((name for name, letter in letters.items() if letter == "C"), "")
        use = self.raw_uses.get(c)  # C may be a struct
        if len(self.scratch) != 1 or c in self.scratch or use is None or use.is_written:
            return ""
        (output,) = self.scratch
        del letters[c]
        self.letters, self.scratch = letters | {output: "C"}, frozenset()
        return c

    def _three_letters(self, names: Sequence[str], written: Sequence[str]) -> dict[str, str]:
        """Return which of more than three pointers are A, B and C; nothing if it is not known.

        Args:
            written: those to which the kernel only writes.
        """
        telling = names, [first_name(self.passed(name)) for name in names]
        for each in telling:
            pairs = list(zip(names, each, strict=True))
            triples = [(triple, matrix_letters([x for _, x in triple])) for triple in combinations(pairs, 3)]
            named = [(triple, letters) for triple, letters in triples if letters]
            if len(named) == 1:
                triple, letters = named[0]
                return {name: letter for (name, _), letter in zip(triple, letters, strict=True)}
        uses = {name: self.raw_uses[name] for name in names if name in self.raw_uses}
        inputs = [name for name in names if name not in written]
        by_name = [name for name in written if _OUTPUT.match(name)]
        by_index = [name for name in written if uses[name].multiplied]
        output = next((found[0] for found in (by_name, by_index) if len(found) == 1), "")
        if len(inputs) != 2 or not output:
            in_two_dimensions = [name for name, use in uses.items() if use.strides or use.multiplied]
            outputs = [name for name in in_two_dimensions if uses[name].is_written]
            output = outputs[0] if len(outputs) == 1 else ""
            inputs = [name for name in in_two_dimensions if name != output]
        return dict(zip((*inputs, output), "ABC", strict=True)) if len(inputs) == 2 and output else {}

    def _declaration(self, parameter: str) -> str:
        return text_of(self.kernel.parameters[self.kernel.parameter_names.index(parameter)])

    @functools.cached_property
    def wmma(self) -> WmmaUse:
        """Return how the kernel moves fragments of tensor cores to and from its matrices."""
        return wmma_use(self.kernel, self.letters)

    def passed(self, parameter: str) -> Node:
        """Return what the launch passes for a parameter."""
        place = [p.name for p in self.parameters].index(parameter)
        if place >= len(self.statement.arguments):
            raise self.lacks_argument(parameter)
        return self.statement.arguments[place]

    def lacks_argument(self, parameter: str) -> UnknownLaunch:
        """Return the error for a launch that passes nothing for a parameter."""
        names, given = self.kernel.parameter_names, len(self.statement.arguments)
        return UnknownLaunch(
            f"{FEW_ARGUMENTS} {given} arguments, and {self.kernel.name} takes {len(names)} "
            f"({', '.join(names)}); pass something for {parameter}"
        )

    def body(self, sizes: Iterable[str]) -> KernelBody:
        """Return the kernel's body, in which some names may be sizes."""
        return self._body(sizes, self.tile_widths)

    def _body(self, sizes: Iterable[str], widths: frozenset[str]) -> KernelBody:
        pointers = tuple(p.name for p in self.parameters if p.is_pointer)
        fixed = widths.union(template_parameters(self.kernel), constants(self.file))
        return KernelBody(self.file, self.kernel, pointers, frozenset(sizes) - widths, fixed)

    @functools.cached_property
    def raw_uses(self) -> dict[str, MatrixUse]:
        """Return how the kernel uses its pointers if every whole number may be a size."""
        return self._body((p.name for p in self.parameters if p.is_whole_number), frozenset()).uses()

    @functools.cached_property
    def tile_widths(self) -> frozenset[str]:
        """Return the parameters that are widths of tiles in the kernel, whatever their names are."""
        sizes = (p.name for p in self.parameters if p.is_whole_number and not p.is_scale)
        return self._body(sizes, frozenset()).tile_widths(self.letters)

    def _find_sizes(self) -> None:
        """Find which names of the host code, and which constants of the file, are M, N and K."""
        passed: dict[str, str] = {}  # the name in the host code for a parameter that may be a size
        self._find_parts()
        for parameter in self.parameters:
            if parameter.is_whole_number and not parameter.is_scale:
                name = size_name(self.function, self.passed(parameter.name))
                if parameter.name in self.tile_widths or self._is_edge_of_blocks(parameter.name):
                    continue
                if parameter.name in self.partial:
                    passed[parameter.name] = self.partial[parameter.name]
                    self.literal_sizes |= {} if name else {parameter.name: passed[parameter.name]}
                    continue
                whole = self._divided_size(parameter.name, name)
                if whole:
                    passed |= {parameter.name: whole} if parameter.name in self.divisors else {}
                elif name and not self._is_tile(name) and not self._is_product_of_sizes(name):
                    passed[parameter.name] = name
                elif not name and self._is_literal_size(parameter.name):
                    extent = self._extent_of_value(self._literal(parameter.name))
                    passed[parameter.name] = extent or f"{parameter.name}_passed"
                    self.literal_sizes[parameter.name] = passed[parameter.name]
            for member in parameter.members:
                if not member.startswith("*"):
                    passed[f"{parameter.name}_{member}"] = self.member_name(parameter.name, member)
        passed = passed or self.template_sizes
        allocated = self._evidence_of_allocations(frozenset(passed.values()))
        self._join_equal_sizes(allocated, passed.values())
        self._check_extents()
        members = self._evidence_of_members()
        telling = [
            name
            for name in sorted(self.used_constants)
            if STRONG in roles_in_name(name).values() and not self._is_tile(name)
        ]
        names = dict.fromkeys((*passed.values(), *allocated, *members, *telling))
        in_block = self.names_of_block()
        if not names:
            names = {name: None for name in sorted(self.used_constants) if not self._is_tile(name)}
        in_block -= self._by_memory | {
            passed[size]
            for parameter in self.letters
            if parameter in self.raw_uses
            for size, _ in self.raw_uses[parameter].strides.most_common(1)
            if size in passed
        }
        of_result = self._varying_in_result()
        in_block -= {passed[size] for of, size in self.body(passed).checks() if of and of <= of_result}
        names = {name: None for name in names if name not in in_block} or names
        of_parts = self.wholes.keys() | self.same_part.keys()
        in_grid = self._names_of_grid(kept=frozenset(passed.values()))
        of_grid = {name: role for name, role in in_grid.items() if name not in of_parts}
        names |= {name: None for name in of_grid if roles_in_name(name) and not self._is_tile(name)}
        of_extents = self._members_of_extents()
        unnamed = {
            name: role
            for name, role in of_grid.items()
            if role and name not in names and (name in of_extents or not self.own_size(name))
        }
        values = {self.own_size(name) for name in names}
        if len(names) == 2 and None not in values:  # sizes of different values are not made equal
            in_grid = {n: r for n, r in self._names_of_grid(constants(self.file)).items() if r}
            unnamed |= {n: r for n, r in in_grid.items() if self.own_size(n) not in {None, *values}}
        names |= dict.fromkeys(unnamed)
        in_all = {name for name, matrices in self._allocated_for.items() if matrices == set("ABC")}
        in_all -= {*passed.values(), *of_grid}
        if len(names.keys() - in_all) > 1:  # a number of products, such as `batch * M * N`
            self.batches = in_all
            names = {name: None for name in names if name not in in_all}
        checks = [(varying, passed[size]) for varying, size in self.body(passed).checks() if varying]
        of_plane = {size for varying, size in checks if not all(name.endswith("_z") for name in varying)}
        layers = {size for varying, size in checks if varying <= of_result} - of_plane
        if self._moves_with_layer:
            layers |= {self._layers, self._layers_in(frozenset(names))} & names.keys()
        self.batches |= layers
        names = {self._equal_members.get(name, name): None for name in names if name not in layers}
        in_kernel = {parameter: name for parameter, name in passed.items() if name in names}
        in_kernel |= {name: name for name in names if name in self.used_constants}
        self.in_kernel = in_kernel
        evidence = {name: Counter[str]() for name in names}
        for used, roles in self._evidence_of_kernel(in_kernel).items():
            evidence[in_kernel[used]].update(roles)
        for name, found in evidence.items():
            found.update(allocated.get(name, {}))
            # `A.height` is the rows of A, even if the program gives it to the width of another struct.
            own = roles_in_name(name, self.columns)
            found.update(own if STRONG in own.values() else members.get(name, {}))
            named = Counter[str]()
            for each in (name, *self._other_names(name)):
                named |= Counter(roles_in_name(each, self.columns))
            found.update(named)
            of_tensor = self.role_of_tensor_size(name)
            found.update({of_tensor: STRONG} if of_tensor else {})
            found.update({unnamed[name]: 1} if name in unnamed else {})
        for name, role in self._roles_of_tensors(evidence).items():
            evidence[name][role] += _CERTAIN
        numbers = self._numbers_as_sizes(passed)
        evidence |= {
            name: Counter({role: 2 * STRONG})
            for name, role in numbers.items()
            if self._may_be_own(name, names)
        }
        self._tell_apart_in_memory(evidence)
        self.roles = best_roles({name: found for name, found in evidence.items() if found})
        self.evidence = evidence
        if not self.roles:
            raise UnknownLaunch(f"no argument of {self.kernel.name} is known to be a size of the matrices")
        self._check_padding()

    def _tell_apart_in_memory(self, evidence: Mapping[str, Counter[str]]) -> None:
        """Add that `dimsB.y` is K if the memory of B is `dimsB.x * dimsB.y` and `dimsB.x` is N."""
        for name, matrices in self._allocated_for.items():
            one, other = DIMENSIONS[min(matrices)]
            found = evidence.get(name)
            if found is None or len(matrices) > 1 or found[one] != found[other]:
                continue
            beside = [x for x, of in self._allocated_for.items() if x != name and matrices <= of]
            likelier = [evidence[x][one] - evidence[x][other] for x in beside if x in evidence]
            if len(likelier) == 1 and likelier[0]:
                found[other if likelier[0] > 0 else one] += 1

    def _check_padding(self) -> None:
        """Raise UnknownLaunch if a size is computed from another one that the kernel uses too."""
        visible = {name for name in (*self.used_constants, *self.in_kernel.values()) if roles_in_name(name)}
        for size in self.roles:
            others = visible - {size}
            at_launch = Translation(self.file, self.function, others)
            value = at_launch.of(self.function.values.get(size) or self.file.value_of(size))
            inner = others & parse(value.text).names if value else set()
            if value and inner and value.text not in others:
                both = f"{size} is not {min(inner)}, and {self.kernel.name} uses both"
                raise UnknownLaunch(f"{both}; cudamm's matrices have one size")

    def _numbers_as_sizes(self, sizes: Collection[str]) -> dict[str, str]:
        """Return the roles of numbers that are sizes in the kernel, as in `for (k = 0; k < 96; k++)`."""
        if not all(p.is_pointer for p in self.parameters if p.name in self.letters):
            return {}
        literals = Counter(text_of(node) for node in all_of(self.kernel.node, "number_literal"))
        named = {f"{NUMBER}{x}" for x in literals if x.isdigit() and int(x) >= SMALLEST_SIZE}
        body = replace(self.body({*sizes, *named}), named_from=SMALLEST_SIZE)
        uses = {self.letters[name]: use for name, use in body.uses().items() if name in self.letters}
        a, b, c = (uses[letter] for letter in "ABC")
        along_k = (a.multiplied | a.added) & (b.multiplied | b.added) - c.multiplied - c.added
        found: dict[str, str] = {}
        if not c.multiplied:  # the names along K are those that C lacks
            return found
        kept = frozenset(sizes)
        if not any(term & kept for term in a.terms):  # else the length of A's rows is no number
            of_rows = [term for term in a.terms if term & c.multiplied]
            for variable, bound in body.loop_bounds():
                if bound in named and variable in along_k and of_rows and all(bound in t for t in of_rows):
                    found[bound] = "K"
        if not any(term & kept for term in b.terms):
            found |= {name: "N" for name in named for k in along_k if {name, k} in b.terms}
        for varying, bound in body.checks():
            for role, along, other in (("M", c.multiplied, c.added), ("N", c.added, c.multiplied)):
                of_blocks = {name for name in along if name.startswith("blockIdx")}
                if bound in named and varying and of_blocks <= varying <= along and not varying <= other:
                    found.setdefault(bound, role)
        # Of two numbers for one size, the kernel uses the wrong one less often.
        by_count = sorted(found, key=lambda name: literals[name.removeprefix(NUMBER)])
        of_role = {found[name]: name for name in by_count}
        return {name: role for name, role in found.items() if of_role[role] == name}

    def _may_be_own(self, number: str, sizes: Collection[str]) -> bool:
        """Return whether a number in the kernel may be a size of the program, whose `sizes` have names."""
        own = {self.own_size(size) for size in sizes}
        is_known = set("ABC") == set[str]().union(*self._allocated_for.values()) and None not in own
        return not is_known or self._has_number_as_extent or self.own_size(number) in own

    def numbers_of_kernel(self) -> dict[str, int]:
        """Return the roles that only the number in the kernel itself can have, and that number."""
        return {
            role: int(name.removeprefix(NUMBER))
            for name, roles in self.roles.items()
            for role in roles
            if name.startswith(NUMBER)
        }

    def numbers_in_indices(self) -> dict[str, set[int]]:
        """Return the numbers that may be M, N or K in the kernel: a row length, or the end of a loop along K.

        The extent of a tile or of the block is none.
        """
        if not all(p.is_pointer for p in self.parameters if p.name in self.letters):
            return {}
        literals = re.findall(r"(?<![\w.])\d+(?![\w.])", text_of(self.file.tree))  # also of macros
        values = {f"{NUMBER}{text}": int(text) for text in literals}
        values |= {x: constant_values(self.file)[x] for x in self.used_constants - self.in_kernel.keys()}
        tiles = {name for name in values if self._is_extent(name.removeprefix(NUMBER))}
        values = {x: n for x, n in values.items() if n >= SMALLEST_SIZE and n not in map(values.get, tiles)}
        body = replace(self.body({*self.in_kernel, *values}), named_from=SMALLEST_SIZE)
        uses = {self.letters[name]: use for name, use in body.uses().items() if name in self.letters}
        found: dict[str, set[int]] = {role: set() for role in ROLES}
        for parameter in self._matrices:
            columns = {int(parameter.columns)} if parameter.columns.isdigit() else set()  # `float (*A)[64]`
            found[DIMENSIONS[self.letters[parameter.name]][1]] |= columns
        for letter, use in uses.items():
            of_rows = [term for term in use.terms if term & use.multiplied]
            if not any(term & self.in_kernel.keys() for term in of_rows):
                lengths = {values[name] for term in of_rows for name in term & values.keys()}
                found[DIMENSIONS[letter][letter not in self.columns]] |= lengths
        a, b, c = (uses[letter].multiplied | uses[letter].added for letter in "ABC")
        ends = {bound for variable, bound in body.loop_bounds() if variable in a & b - c}
        ends |= {loop.size for loop in body.tile_loops()}
        found["K"] |= {values[name] for name in ends & values.keys()}
        return found

    def _names_of_grid(
        self, constant: Collection[str] = (), kept: frozenset[str] = frozenset()
    ) -> dict[str, str]:
        """Return the names in the grid's extents along x and y.

        With the only name of a quotient stands the role that the extent's axis gives to it.

        Args:
            constant: the constants of the file that are of interest.
            kept: names that are not replaced by their values.
        """
        if not self.statement.configuration:
            return {}
        kept = kept | self._members_of_extents() | self.same_part.keys()
        at_launch = Translation(self.file, self.function, kept, keeps_leaves=True)
        extents = at_launch.extents(self.statement.configuration[0]) or ()
        of_block = at_launch.extents(self.statement.configuration[1]) or ()
        in_block = self.names_of_block().union(*(parse(extent.text).names for extent in of_block))
        known = in_block | constants(self.file).keys() - {*constant}
        found: dict[str, str] = {}
        for role, extent in zip(self.roles_of_axes(), extents, strict=False):
            # A divisor such as `rows_each` is a number of elements of a block, whatever its name says.
            divisors = re.findall(r"/+ (\w+|\((?:[^()]|\([^()]*\))*\))", extent.text)
            in_divisor = set[str]().union(*(parse(divisor).names for divisor in divisors))
            names = sorted(parse(extent.text).names - known - in_divisor)
            is_quotient = len(names) == 1 and "/" in extent.text
            found |= dict.fromkeys(names, role if is_quotient else "")
        return found

    def _members_of_extents(self) -> frozenset[str]:
        """Return the flat names of members such as `dimsA.y`, of a dim3 with the sizes of a matrix."""
        launched = {text_of(n) for c in self.statement.configuration for n in all_of(c, "identifier")}
        members = all_of(self.function.node, "field_expression")
        return frozenset(
            flat_name(node)
            for node in members
            if text_of(node.child_by_field_name("field")) in ("x", "y", "z")
            and self.function.has_extents(variable := text_of(node.child_by_field_name("argument")))
            and variable not in launched
        )

    def roles_of_axes(self) -> tuple[str, str]:
        """Return the sizes along x and y of the grid: N and M, unless the kernel has them the other way."""
        output = next((name for name, letter in self.letters.items() if letter == "C"), "")
        uses = self.raw_uses
        rows = uses[output].multiplied if output in uses else set()
        return ("M", "N") if "blockIdx_x" in rows and "blockIdx_y" not in rows else ("N", "M")

    def _varying_in_result(self) -> set[str]:
        """Return the variables in the kernel's indices of C."""
        output = next((name for name, letter in self.letters.items() if letter == "C"), "")
        use = self.raw_uses.get(output, MatrixUse())
        return use.multiplied | use.added

    def _find_parts(self) -> None:
        """Find `partial`, `wholes` and `same_part` if C begins inside of an array, as in `C + first * N`."""
        arrays = {letter: self._array(name) for name, letter in self.letters.items()}
        output = next((name for name, letter in self.letters.items() if letter == "C"), "")
        if not output or not any(map(self._place_inside, self._all_passed(output))):
            return
        inside = [place for name in self.letters if (place := self.begins_inside(name))]
        terms = {text_of(term) for place in inside for term in all_of(place, "binary_expression")}
        terms = terms.union(*(self._computed_from("", place) for place in inside))
        sizes = [p.name for p in self.parameters if p.is_whole_number and not p.is_scale]
        given = {name: size_name(self.function, self.passed(name)) for name in sizes}
        in_memory = {
            name
            for array in arrays.values()
            for function, size in allocations(self.file, self.function, array)
            if function is self.function
            for number in [Translation(self.file, function, given.values(), keeps_leaves=True).of(size)]
            for name in (parse(number.text).names if number else ())
        } or {*self._names_of_grid()}
        for parameter, name in given.items():
            if parameter in self.tile_widths or name in in_memory or self._is_edge_of_blocks(parameter):
                continue
            node = self.function.first_values.get(name) if name else self.passed(parameter)
            used = self._computed_from(name, node)
            wholes = used & in_memory - {*given.values()} - self.names_of_block()
            in_kernel = {*given.values()} & in_memory & used
            if in_kernel and ({name, text_of(node)} | used - {*given.values()}) & terms:
                both = f"{self.kernel.name} gets {name or text_of(node)} and {min(in_kernel)}"
                cure = "pass --args with one size for both"
                raise UnknownLaunch(f"each launch multiplies a part of the matrices, and {both}; {cure}")
            if not wholes or in_kernel or (not name and "min" in text_of(node)):
                continue
            part = name or f"{parameter}_passed"
            self.partial[parameter] = part
            self.wholes |= dict.fromkeys(wholes, part)
            text = Translation(self.file, self.function, wholes).of(node)
            in_grid = self._names_of_grid(kept=frozenset(used)).keys() & used - wholes
            self.same_part |= dict.fromkeys(in_grid - {*given.values()}, part)
            self.same_part |= {text.text: part} if text and wholes & parse(text.text).names else {}
        variables = frozenset(self.function.first_values) & terms - {*given.values()}
        for rows in () if self.partial else variables & self._names_of_grid(kept=variables).keys():
            for whole in self._computed_from(rows, self.function.first_values.get(rows)) & {*given.values()}:
                own = [own_value(self.file, self.function, name) or 0 for name in (rows, whole)]
                if 0 < own[0] < own[1]:
                    grid = f"with a grid for {rows}, and {self.kernel.name} gets {whole}"
                    cure = "pass --args as for a product of one part"
                    raise UnknownLaunch(f"each launch multiplies a part of the matrices, {grid}; {cure}")

    def _computed_from(self, name: str, node: Node | None) -> set[str]:
        """Return the names that a variable's values, or an expression, are computed from."""
        found, unread = set[str](), [node] if node else []
        for change in all_of(self.function.node, "assignment_expression"):
            target, value = (change.child_by_field_name(side) for side in ("left", "right"))
            unread += [value] if name and value and text_of(target) == name else []
        while unread:
            for each in map(text_of, all_of(unread.pop(), "identifier")):
                if each not in found and each != name:
                    found.add(each)
                    value = self.function.first_values.get(each)
                    unread += [value] if value else []
        return found

    def _array(self, parameter: str) -> str:
        """Return the array that is passed, or in which a passed pointer `A + first * K` begins."""
        node = self.passed(parameter)
        return first_name(self.begins_inside(parameter) or node)

    def begins_inside(self, parameter: str) -> Node | None:
        """Return the place inside of an array, as `A + first * K`, that is passed; None for a beginning."""
        return self._place_inside(self.passed(parameter))

    def _place_inside(self, node: Node) -> Node | None:
        node = without_casts(node)
        node = without_casts(self.function.first_values.get(text_of(node)) or node)
        is_place = node.type == "binary_expression" or re.match(r"&.*\[", text_of(node)) is not None
        return node if is_place and not re.search(r"(?:\+\s*|\[)0\]?$", text_of(node)) else None

    def _all_passed(self, parameter: str) -> list[Node]:
        """Return what this launch, and others of the kernel in the same function, pass for a parameter."""
        place, found = [p.name for p in self.parameters].index(parameter), [self.passed(parameter)]
        for launch in all_of(self.function.node, "kernel_call_syntax"):
            parts = (
                (launch.parent.child_by_field_name(x) for x in ("function", "arguments"))
                if launch.parent
                else ()
            )
            called, given = (*parts, None, None)[:2]
            is_of_kernel = text_of(called).partition("<")[0] == self.kernel.name
            if is_of_kernel and given and place < given.named_child_count:
                found.append(given.named_children[place])
        return found

    def _divided_size(self, parameter: str, name: str) -> str:
        """Return K for an argument `K / 4`, or for one with this value: a row of K elements in vectors of 4.

        If the parameter is an extent of a matrix, `divisors` gets the 4. If callers of the function pass
        `K / 4`, or the program counts in vectors, the function has no name for K: `parts` gets the 4, for the
        function's name of `K / 4`.

        Args:
            name: the variable that is passed; empty for an expression.
        """
        value = self.function.values.get(name) or self.file.value_of(name) if name else self.passed(parameter)
        is_extent = self._is_extent_of_matrix(parameter)
        base, divisor = self._quotient(self.function, value, name, is_extent)
        callers = callers_of(self.file, self.function, name) if is_extent and not base else ()
        for caller, argument in callers:
            node = caller.values.get(text_of(argument), argument)
            _, divisor = self._quotient(caller, node, "", is_extent)
            self.parts |= {name: divisor} if divisor else {}
        if not divisor and is_extent and name:
            divisor = self._vectors_in_memory(name)
            self.parts |= {name: divisor} if divisor else {}
        self.divisors |= {parameter: divisor} if divisor and is_extent else {}
        return base

    def _quotient(self, function: Function, node: Node | None, name: str, is_extent: bool) -> tuple[str, str]:
        """Return K and 4 for `K / 4` if K is a size, and empty texts for other expressions.

        It is a size of its own if memory is allocated for it.

        Args:
            name: the variable that has this value; empty for none.
        """
        number = Translation(self.file, function, keeps_leaves=True).of(node)
        names = parse(number.text).names if number else frozenset[str]()
        memory = self._sizes_of_memory(function, {name, *names})
        in_memory = {each for text in memory for each in parse(text).names}
        if number is None or name in in_memory or any(number.text in text for text in memory):
            return "", ""
        vectors = _VECTOR.findall(text_of(self.kernel.node)) if is_extent else []
        given = {size_name(function, argument) for argument in self.statement.arguments}
        for base in sorted(names - self.names_of_block()):
            found = _QUOTIENT.fullmatch(simplified(renamed(number.text, {"N": "N_", base: "N"}), {}))
            divisor = (found[1] or found[2]) if found else ""
            if divisor and not divisor.isdigit() and divisor not in constants(self.file):
                divisor = str(own_value(self.file, function, divisor) or "")
            if divisor and (base in in_memory | given or divisor in vectors) and not self._is_tile(base):
                return base, divisor
        return "", ""

    def _vectors_in_memory(self, name: str) -> str:
        """Return the 4 if memory is allocated for vectors of 4, as many as a name says; empty if not."""
        widths = set[str]()
        at = Translation(self.file, self.function, {name}, keeps_leaves=True, has_bytes=True)
        for parameter in self.letters:
            declared = self.kernel.parameters[self.kernel.parameter_names.index(parameter)]
            c_type = re.sub("[2-4]$", "", text_of(declared.child_by_field_name("type")))
            for function, size in allocations(self.file, self.function, first_name(self.passed(parameter))):
                number = at.of(size) if function == self.function else None
                names = parse(number.text).names if number else frozenset[str]()
                if number and name in names:
                    product = evaluated({"it": parse(number.text)}, dict.fromkeys(names, 1)).get("it", 0)
                    is_product = PRODUCT_OF_FACTORS.fullmatch(number.text) is not None and c_type in BYTES
                    widths.add(str(product // BYTES[c_type]) if is_product else "")
        is_used = widths <= {*_VECTOR.findall(text_of(self.kernel.node))}
        return widths.pop() if len(widths) == 1 and is_used else ""

    def _sizes_of_memory(self, function: Function, kept: Collection[str]) -> list[str]:
        """Return the sizes of the memory that a function allocates for A, B and C, but not those in vectors.

        Args:
            kept: names that are not replaced by their values.
        """
        at = Translation(self.file, function, kept, keeps_leaves=True)
        sizes = [
            at.of(size)
            for parameter in self.letters
            for caller, size in allocations(self.file, self.function, first_name(self.passed(parameter)))
            if caller == function and not _VECTOR.search(text_of(size))
        ]
        return [number.text for number in sizes if number]

    def _is_extent_of_matrix(self, parameter: str) -> bool:
        """Return whether the kernel takes a parameter for the length of rows, or checks an edge with it."""
        body = self.body(p.name for p in self.parameters if p.is_whole_number)
        uses = [use for name, use in self.raw_uses.items() if name in self.letters]
        of_part = {parameter, "blockIdx_z"}  # where a block's part of K begins
        is_row = any(
            parameter in use.strides and any(parameter in t and t - of_part for t in use.terms)
            for use in uses
        )
        return is_row or any(size == parameter and varying for varying, size in body.checks())

    def _is_literal_size(self, parameter: str) -> bool:
        """Return whether a launch passes a number for a parameter that is an extent of a matrix."""
        value = self._literal(parameter)
        if value is None:
            return False
        body = self.body(p.name for p in self.parameters if p.is_whole_number)
        uses = [use for name, use in self.raw_uses.items() if name in self.letters]
        is_length = any(
            size == parameter and sum(variable in use.multiplied | use.added for use in uses) == 2
            for variable, size in body.loop_bounds()
        )
        # Otherwise it may be a number of parts.
        is_extent = (is_length or roles_in_name(parameter) != {}) and self._extent_of_value(value) != ""
        return self._is_extent_of_matrix(parameter) or is_extent

    def _literal(self, parameter: str) -> int | None:
        """Return the number that a launch passes for a parameter; None if it passes a variable."""
        number = Translation(self.file, self.function).of(self.passed(parameter))
        if number is None or not parse(number.text).names <= constants(self.file).keys():
            return None
        return evaluated({"it": parse(number.text)}, constant_values(self.file)).get("it")

    def _extent_of_value(self, value: int | None) -> str:
        """Return the extent of an array that has a value if M, N and K differ there; else nothing."""
        shapes = [self.shapes.shape_of(p.name) for p in self._matrices if p.is_pointer]
        extents = [
            extent for shape in shapes for extent in (shape.rows, shape.width) if extent.isidentifier()
        ]
        values = {extent: own_value(self.file, self.function, extent) for extent in extents}
        counts = Counter(map(values.__getitem__, extents))
        is_known = len(counts) == 3 and {*counts.values()} == {2}
        return next((extent for extent in extents if is_known and values[extent] == value), "")

    def transposed_tensor(self, parameter: str) -> re.Match[str] | None:
        """Return `b.t()`, with what follows, if a kernel gets that of a tensor; None otherwise."""
        node = self.passed(parameter)
        made_from = self.function.first_values.get(first_name(node))
        return _TRANSPOSED_TENSOR.match(text_of(node)) or (
            _TRANSPOSED_TENSOR.match(text_of(made_from)) if made_from else None
        )

    def role_of_tensor_size(self, name: str) -> str:
        """Return the role of a name for `A.size(0)` of a PyTorch tensor; empty for other names."""
        value = self.function.first_values.get(name)
        found = TENSOR_SIZE.fullmatch(flat_name(value) if value else name)
        if found is None or f"{found[1]}.size(2)" in text_of(self.function.node):
            return ""
        letter = self.letter_of(found[1])
        return DIMENSIONS[letter][int(found[2]) % 2] if letter and letter not in self.columns else ""

    def _roles_of_tensors(self, names: Iterable[str]) -> dict[str, str]:
        """Return the roles of sizes that are M and K of A, and N of B or C, if there is one for each role.

        Then the kernel, which may take them in another order, does not decide.
        """
        usual = {"A": "MK", "B": "N", "C": "N"}
        found: dict[str, str] = {}
        for name in names:
            value = self.function.first_values.get(name)
            size = TENSOR_SIZE.fullmatch(flat_name(value)) if value else None
            role = self.role_of_tensor_size(name)
            if size and role in usual.get(self.letter_of(size[1]), ""):
                found[name] = role
        return found if sorted(found.values()) == sorted(ROLES) else {}

    def letter_of(self, variable: str) -> str:
        """Return the letter of the matrix that a variable holds, such as `P` in `Pd = copy(P)`; or empty."""
        for parameter, letter in self.letters.items():
            passed = first_name(self.passed(parameter))
            made_from = self.function.first_values.get(passed)
            if variable == passed or (
                made_from and variable in map(text_of, all_of(made_from, "identifier"))
            ):
                return letter
        return ""

    def _other_names(self, size: str) -> Iterator[str]:
        """Yield what the kernel and the callers of the launching function call a size."""
        yield from (used for used, name in self.in_kernel.items() if name == size)
        for caller, argument in callers_of(self.file, self.function, size):
            yield size_name(caller, argument)

    def _find_batches(self) -> None:
        """Take a number of layers of the grid that the caller chooses for a number of products."""
        layers = self._layers
        known = self.roles.keys() | constants(self.file).keys()
        if layers.isidentifier() and layers not in known and not self.own_size(layers):
            self.batches = {*self.batches, layers}
        allocated = {
            letter
            for parameter, letter in self.letters.items()
            for _, size in allocations(self.file, self.function, first_name(self.passed(parameter)))
            if layers.isalnum() and re.search(rf"\b{layers}\b", text_of(size))
        }
        if layers.isidentifier() and allocated == {"C"} and not self._moves_with_layer:
            raise NoProduct(
                f"{self.kernel.name} writes a partial matrix for each of “{layers}” blocks in z, "
                f"which another kernel adds (to have its product verified, {_BY_ATOMICS})"
            )
        # `4 * M * K` may be the size of an array in bytes.
        is_in_index = any(name.endswith("_z") for name in self._varying_in_result())
        is_batch = is_in_index and (len(allocated) > 1 or self._moves_with_layer)
        if layers.isdigit() and layers != "1" and is_batch:
            self.counted_products = layers

    @functools.cached_property
    def _layers(self) -> str:
        """Return the extent of the grid in z; empty if there is none."""
        return self._layers_in(self.translation.kept)

    def _layers_in(self, kept: Collection[str]) -> str:
        """Return the extent of the grid in z, in which some names are not replaced by their values."""
        grid = self.statement.configuration[0] if self.statement.configuration else None
        extents = replace(self.translation, kept=kept).extents(grid) if grid else None
        return extents[2].text if extents and len(extents) > 2 else ""

    def _refuse_product_of_each_block(self) -> None:
        """Raise NoProduct for a kernel in which each block along x or y computes a product of its own."""
        code = text_of(self.kernel.node)
        for axis, other in ("xy", "yx"):
            block = rf"blockIdx\s*\.\s*{axis}"
            names = [block, *re.findall(rf"\b(\w+)\s*=\s*{block}\s*[,;]", code)]
            moved = rf"\b(?:{'|'.join(names)})\s*\*\s*\(?\s*(\w+)\s*\*\s*(\w+)"
            widths = [one for one, two in re.findall(moved, code) if one == two]
            if len(widths) > 1 and not re.search(rf"blockIdx\s*\.\s*{other}", code):
                raise NoProduct(
                    f"{self.kernel.name} computes a product of its own in each block along {axis}, from "
                    f"block * {widths[0]} * {widths[0]} on; name the launch of the first product with "
                    "--grid 1, --threads and --args"
                )

    @functools.cached_property
    def _moves_with_layer(self) -> bool:
        """Return whether C, and another matrix, are moved by whole matrices with blockIdx.z.

        Such as by `z * N * N`, or by `z * stride` if the launch passes a product for it.
        """
        if not any(name.endswith("_z") for name in self._varying_in_result()):
            return False
        code = text_of(self.kernel.node)
        cast = r"(?:\(\s*(?:size_t|long|int|unsigned)[\w ]*\)\s*)?"
        names = [r"blockIdx\s*\.\s*z", *re.findall(rf"\b(\w+)\s*=\s*{cast}blockIdx\s*\.\s*z\s*[,;]", code)]
        layer = rf"{cast}\b(?:{'|'.join(names)})\b"
        if re.search(rf"{layer}\s*\*\s*{cast}\(?\s*\w+\s*\*\s*\w+|\w+\s*\*\s*\w+\)?\s*\*\s*{layer}", code):
            return True
        strides = re.findall(rf"{layer}\s*\*\s*{cast}(\w+)", code)
        strides += re.findall(rf"(\w+)\s*\*\s*{layer}", code)
        return any("*" in text_of(self.passed(p.name)) for p in self.parameters if p.name in strides)

    @functools.cached_property
    def used_constants(self) -> frozenset[str]:
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
        return frozenset(found & constants(self.file).keys())

    def compiled_sizes(self) -> list[str]:
        """Return the sizes that are constants of the file in the kernel."""
        return [n for n in self.roles if n in self.used_constants or n in self.template_sizes.values()]

    @functools.cached_property
    def template_sizes(self) -> dict[str, str]:
        """Return the template arguments that may be sizes, by parameter, if no other argument may be one."""
        if any(p.members or (p.is_whole_number and not p.is_scale) for p in self.parameters):
            return {}
        given = [part.strip() for part in (self.statement.template_arguments or "").split(",")]
        pairs = dict(zip(template_parameters(self.kernel), given, strict=False))
        return {
            name: argument
            for name, argument in pairs.items()
            if argument.isidentifier() and roles_in_name(name) and not self._is_extent(name)
        }

    def _is_product_of_sizes(self, name: str) -> bool:
        value = Translation(self.file, self.function, keeps_leaves=True).of(self.function.values.get(name))
        product = r"\(([A-Za-z_]\w*) \* ([A-Za-z_]\w*|sizeof\(element\))\)"
        factors = re.fullmatch(product, value.text) if value else None
        return factors is not None and self.names_of_block().isdisjoint(factors.groups())

    def _is_tile(self, name: str) -> bool:
        """Return whether a constant of the file is the extent of an array in the kernel."""
        return name in constants(self.file) and self._is_extent(name)

    def _is_edge_of_blocks(self, parameter: str) -> bool:
        """Return whether the kernel only multiplies a parameter by a block's index: `blockIdx.x * BN`."""
        body = text_of(self.kernel.node.child_by_field_name("body"))
        block, name = r"blockIdx\s*\.\s*[xyz]", rf"\b{re.escape(parameter)}\b"
        uses = len(re.findall(name, body))
        return 0 < uses == len(re.findall(rf"{block}\s*\*\s*{name}|{name}\s*\*\s*{block}", body))

    def _is_extent(self, name: str) -> bool:
        arrays = all_of(self.kernel.node, "array_declarator")
        return any(
            name in re.findall(r"\w+", text_of(node.child_by_field_name("size")))
            for node in arrays
            if node.parent and node.parent.type != "parameter_declaration"
        )

    def names_of_block(self) -> set[str]:
        """Return the names that the extents of the block depend on."""
        if not self.statement.configuration:
            return set()
        block = Translation(self.file, self.function).extents(self.statement.configuration[1])
        return set().union(*(parse(number.text).names for number in block or ()))

    def _evidence_of_kernel(self, sizes: Iterable[str]) -> dict[str, Counter[str]]:
        if not all(p.is_pointer for p in self.parameters if p.name in self.letters):
            of_letters = {letter: name for name, letter in self.letters.items()}
            self.columns = frozenset(x for x in "AB" if self._is_called_transposed(of_letters[x]))
            return {}
        body = self.body(sizes)
        uses = {self.letters[name]: use for name, use in body.uses().items() if name in self.letters}
        a, b, c = (uses[letter] for letter in "ABC")
        of_threads = {name for name in a.added | b.added if name.startswith(("threadIdx", "blockIdx"))}
        if b.is_vector and c.is_vector and b.added.isdisjoint(of_threads):
            if a.strides:
                raise NoProduct(f"{self.kernel.name} multiplies a matrix and a vector")
            if of_threads:
                raise NoProduct(f"{self.kernel.name} multiplies by the same numbers in each thread")
        if a.is_vector and b.is_vector and a.added == b.added and not (c.added or c.multiplied):
            raise NoProduct(f"{self.kernel.name} multiplies two vectors")
        is_known = any(name.startswith(("threadIdx", "blockIdx")) for name in c.multiplied | c.added)
        of_fragments = {
            self.letters[x]: is_so for x, is_so in self.wmma.by_column.items() if x in self.letters
        }
        inputs = [self.letters[p.name] for p in self.parameters if self.letters.get(p.name) in ("A", "B")]
        is_by_mistake = inputs == ["B", "A"] and not self._are_in_order
        if is_by_mistake and not (self._says_by_column or "cublas" in text_of(self.file.tree).lower()):
            pass  # swapped by mistake: row by row, B·A has the indices that A·B has column by column
        elif len(of_fragments) == 3:
            self.columns = frozenset(letter for letter, is_by_column in of_fragments.items() if is_by_column)
        elif is_column_major(a, b, c if is_known else MatrixUse(multiplied=b.multiplied, added=a.added)):
            if not is_known:
                raise UnknownLaunch(
                    f"{self.kernel.name} reads A and B by column; its indices of C are not read"
                )
            self.columns = frozenset("ABC")
        elif is_transposed_b(a, b, c):
            of_columns = {size for varying, size in body.checks() if varying and varying <= c.multiplied}
            is_on_purpose = any(size in of_columns for size, _ in b.strides.most_common(1))
            if is_on_purpose or not self._says_by_column:
                raise UnknownLaunch(
                    f"{self.kernel.name} has A and C by column, and B by row: say so with --layout "
                    "A=column,C=column; if B is by column too, its index has row and column exchanged"
                )
            self.columns = frozenset("ABC")  # as a comment says, and B's index is a mistake
        else:
            passed = {letter: first_name(self.passed(name)) for name, letter in self.letters.items()}
            at = self.statement.node
            by_column = reads_by_column(a, b, c)
            by_one = {"B"} if passed["A"] and passed["A"] == passed["B"] else set()  # A·Aᵀ reads its rows
            self.columns = frozenset(x for x in by_column if x in by_one or self._is_stored_transposed(x)) | {
                x for x in "AB" if is_transposed(self.file, self.function, passed[x], at)
            }
            if not by_column:
                self.columns |= self._stored_across()
            self.columns |= set(filter(self._is_named_transposed, "AB"))  # whatever the kernel reads
        return evidence_in(body, uses, self.columns)

    @property
    def _says_by_column(self) -> bool:
        """Whether a name says that matrices are column-major, or a comment in a file that names no rows."""
        in_comment = _BY_COLUMN.search(self.file.text) and not _BY_ROW.search(self.file.text)
        return bool(in_comment or _BY_COLUMN.search(text_of(self.file.tree)))

    def _stored_across(self) -> set[str]:
        """Return A or B if it has the shape of the transpose of what the kernel reads, and the other fits."""
        as_read = {letter: self.shapes.is_stored_as_read(name) for name, letter in self.letters.items()}
        found = {letter for letter, is_so in as_read.items() if is_so is False}
        return found if found in ({"A"}, {"B"}) and True in as_read.values() else set()

    def _is_stored_transposed(self, letter: str) -> bool:
        """Return whether the shape of its array, or the host code, says that A or B is passed transposed."""
        parameter = next(name for name, each in self.letters.items() if each == letter)
        output = next(name for name, each in self.letters.items() if each == "C")
        if letter == "B" and multiplies_by_rows(self.file):
            return True
        as_read = self.shapes.is_stored_as_read(parameter)
        if as_read is None or not self.shapes.reads_transposed(parameter, output, is_first=letter == "A"):
            is_known = self.shapes.shape_of(parameter).is_ordered and not self.swapped
            in_product = self._factors.get(parameter) if is_known else None
            return self._is_passed_transposed(parameter) if in_product is None else in_product
        return as_read

    def _is_passed_transposed(self, parameter: str) -> bool:
        """Return whether Python, a tensor, a name or a comment says that a kernel gets A or B transposed."""
        if self._kind_in_python(parameter).startswith(("transposed", "view")):
            return True
        if self.transposed_tensor(parameter):
            return True
        letter = self.letters[parameter]
        names = (self.kernel.name, parameter, text_of(self.passed(parameter)))
        if any(map(_names_transposed(letter).search, names)):
            return True
        given = (self.statement.template_arguments or "").replace(" ", "").split(",")
        flags = zip(template_parameters(self.kernel), given, strict=False)
        if any(re.search(rf"(?i:trans\w*?_?{letter}$)", name) for name, value in flags if value == "true"):
            return True
        if self._is_called_transposed(parameter):
            return True
        return any(re.search("\\w_[tT]$|[a-z]T$", n) for n in (parameter, first_name(self.passed(parameter))))

    def _kind_in_python(self, parameter: str) -> str:
        """Return the kind of an argument of a Python program, as `Passed` has it; empty for others."""
        passed, place = passed_by(self.function), self.kernel.parameter_names.index(parameter)
        return passed.kinds[place] if passed and place < len(passed.kinds) else ""

    def _is_named_transposed(self, letter: str) -> bool:
        """Return whether kernel and host call A or B transposed, as `At` and `B.T`, or a comment says so."""
        parameter = next(name for name, each in self.letters.items() if each == letter)
        names = parameter, first_name(self.passed(parameter))
        called = "|".join((letter, *map(re.escape, names)))
        # Not “the tile of A is stored transposed”.
        said = rf"(?<!\bof )\b(?:{called}) is (?:stored|passed|given) transposed\b"
        is_said = any(re.search(said, comment) for comment in _COMMENT.findall(self.file.text))
        is_transposed_array = self._kind_in_python(parameter).startswith("transposed")
        chosen = names[: 1 if is_transposed_array else 2]
        return is_said or all(map(_names_transposed(letter).search, chosen))

    def _is_called_transposed(self, parameter: str) -> bool:
        """Return whether a comment says that a kernel gets A or B transposed, or column by column."""
        passed = re.escape(first_name(self.passed(parameter)))
        names = f"{self.letters[parameter]}|{parameter}|{passed}"
        words = rf"\b(?:{names})(?:\s*\^\s*\{{?T|(?: is)? (?:stored|passed|given) transposed)\b"
        others = "|".join((*self.letters, *self.letters.values(), "row", "not"))
        words += rf"|\b(?:{names})\b(?:(?!\b(?:{others})\b)[^.;\n]){{0,60}}?(?i:{_BY_COLUMN.pattern})"
        said = rf"{words}|\btranspose\((?:{names})\)"
        return any(re.search(said, comment) for comment in _COMMENT.findall(self.file.text))

    def _evidence_of_members(self) -> dict[str, Counter[str]]:
        """Return the evidence of structs, whose members are the rows and the columns of one matrix."""
        found: dict[str, Counter[str]] = {}
        for parameter in self.parameters:
            for member in parameter.members:
                roles = roles_in_name(f"{self.letters.get(parameter.name, '')}_{member}")
                if not member.startswith("*") and roles:
                    found[self.member_name(parameter.name, member)] = Counter(roles)
        return found

    def member_name(self, parameter: str, member: str) -> str:
        """Return the host code's name for a member: `m` after `d.m = m` and `Dims d = {m, n, k}`."""
        name = self._own_member_name(parameter, member)
        return self._equal_members.get(name, name)

    @functools.cached_property
    def _equal_members(self) -> dict[str, str]:
        """Return the first of several members to which the launching function's only caller gives one size.

        The function gets the matrices as structs. Those of C come first: its members say what they are.
        """
        names = sorted(self.letters, key=lambda name: "CAB".index(self.letters[name]))
        sizes: dict[str, str] = {}
        for parameter in (p for name in names for p in self.parameters if p.name == name):
            for member in parameter.members:
                own = "" if member.startswith("*") else self._own_member_name(parameter.name, member)
                if size := self._size_at_caller(own, parameter.members):
                    sizes[own] = size
        if len({*sizes.values()}) < 3:  # two sizes may have one number by chance
            sizes = {own: size for own, size in sizes.items() if not size.isdigit()}
        first: dict[str, str] = {}
        equal = {own: first.setdefault(size, own) for own, size in sizes.items()}
        self.same |= equal
        return equal

    def _size_at_caller(self, name: str, members: Sequence[str]) -> str:
        """Return what the only caller gives to a member of a struct that it passes: `K` of `a.width = K`.

        Args:
            members: all members of the struct, in order.
        """
        parameter = next((p for p in self.function.parameter_names if name.startswith(f"{p}_")), "")
        member = name.removeprefix(f"{parameter}_")
        callers = callers_of(self.file, self.function, parameter)
        if len(callers) != 1:
            return ""
        caller, argument = callers[0]
        variable = first_name(argument)
        value, whole = caller.values.get(f"{variable}_{member}"), caller.values.get(variable)
        if value is None and whole is not None and whole.type == "initializer_list":
            listed = whole.named_children if len(whole.named_children) == len(members) else []
            value = dict(zip(members, listed, strict=False)).get(member)
            value = value and (value.child_by_field_name("value") or value)  # `.width = K`
        while value is not None and value.type == "assignment_expression":  # `a.width = a.height = n`
            value = value.child_by_field_name("right")
        if value is None or value.type == "number_literal":
            return text_of(value)
        return size_name(caller, value)

    def _own_member_name(self, parameter: str, member: str) -> str:
        """Return the launching function's own name for a member, whatever its caller calls it."""
        member = self.exchanged_members.get(member, member)
        if not member:
            return ""
        variable = first_name(self.passed(parameter))
        name = f"{variable}_{member}"
        value = self.function.values.get(name)
        first = self.function.values.get(variable)
        listed = first.named_children if first and first.type == "initializer_list" else []
        members = next(p.members for p in self.parameters if p.name == parameter)
        if value is None and len(listed) == len(members):
            value = listed[members.index(member)]
            value = value.child_by_field_name("value") or value  # `.m = m`
        if value is None and first is not None and first.type == "call_expression":
            value = self._copied_member(first, member)
        if value is None and first is not None and first.type == "identifier":  # `d = a`
            return f"{text_of(first)}_{member}"
        while value is not None and value.type == "assignment_expression":  # `a.width = a.height = n`
            value = value.child_by_field_name("right")
        own = size_name(self.function, value) if value else ""
        if own:
            self.same[name] = own
        return own or name

    def _copied_member(self, call: Node, member: str) -> Node | None:
        """Return the value of a member that a function fills: of `h.width` for `Matrix d = to_device(h)`.

        It is an argument itself after `d.width = w`.
        """
        called = text_of(call.child_by_field_name("function"))
        function = next((each for each in self.file.functions if each.name == called), None)
        given = call.child_by_field_name("arguments")
        if function is None or given is None:
            return None
        code = text_of(function.node)
        for parameter, argument in zip(function.parameter_names, given.named_children, strict=False):
            if re.search(rf"\.{member}\s*=\s*{parameter}\s*;", code):
                return argument
            of_member = rf"\.{member}\s*=\s*{parameter}\s*(?:\.|->)\s*{member}\s*;"
            if re.search(rf"{of_member}|(?<!\.)\b\w+\s*=\s*\*?\s*{parameter}\s*;", code):
                return self.function.values.get(f"{first_name(argument)}_{member}")
        return None

    def _evidence_of_allocations(self, passed: frozenset[str]) -> dict[str, Counter[str]]:
        """Return the evidence of the names in the sizes of the memory behind A, B and C.

        The three products of M, N and K, such as `rows * inner * sizeof(float)`, outweigh all other evidence.
        """
        found: dict[str, Counter[str]] = {}
        # The names that each size of memory multiplies, by matrix.
        extents: dict[str, set[frozenset[str]]] = {letter: set() for letter in "ABC"}
        members = self._members_of_extents()
        of_grid = {name[:-1] for name in self._names_of_grid(kept=passed).keys() & members}
        in_grid = {name for name in members if name[:-1] in of_grid}  # `dimsA.y` with `dimsA.x`
        for parameter, letter in self.letters.items():
            columns = next(p.columns for p in self.parameters if p.name == parameter)
            if columns in constants(self.file):  # `float (*A)[columns]`
                found.setdefault(columns, Counter())[DIMENSIONS[letter][1]] += STRONG
            array = self._array(parameter) if self.partial else first_name(self.passed(parameter))
            for function, size in allocations(self.file, self.function, array):
                kept = passed | self.wholes.keys() | in_grid if function is self.function else frozenset()
                number = Translation(self.file, function, kept, keeps_leaves=True).of(size)
                names = sorted(parse(number.text).names - {"element"}) if number else []
                here = [
                    self.wholes.get(name, name)
                    if function is self.function
                    else self._name_here(name, function)
                    for name in names
                ]
                is_product = number is not None and PRODUCT_OF_FACTORS.fullmatch(number.text) is not None
                extents[letter].add(frozenset(here if is_product else ()))
                if number and any(int(n) > _LARGEST_ELEMENT for n in re.findall(r"\b\d+\b", number.text)):
                    self._has_number_as_extent = True
                for own in here:
                    # The memory of `Matrix A` has no name.
                    c_type = self.function.types.get(own, "").split()[-1:]
                    is_struct = not {*c_type}.isdisjoint(members_of_structs(self.file))
                    if own and not self._is_tile(own) and not is_struct:
                        self._allocated_for.setdefault(own, set()).add(letter)
                        found.setdefault(own, Counter()).update(dict.fromkeys(DIMENSIONS[letter], 2))
        a, b, c = (
            next(iter(of)) if len(of) == 1 else frozenset[str]() for of in map(extents.__getitem__, "ABC")
        )
        for same in (str, self._origin, self._first_of_value(a, b, c)):
            rows_a, rows_b, rows_c = ({same(name) for name in of} for of in (a, b, c))
            if not self._are_three_sizes(rows_a, rows_b, rows_c):
                continue
            for role, common in (("M", rows_a & rows_c), ("N", rows_b & rows_c), ("K", rows_a & rows_b)):
                for name in (name for name in a | b | c if {same(name)} == common):
                    self._by_memory.add(name)
                    found.setdefault(name, Counter())[role] += _CERTAIN
            break
        return found

    def _join_equal_sizes(self, allocated: dict[str, Counter[str]], passed: Collection[str]) -> None:
        """Take the size that a kernel gets for the one of the memory, if the program gives both one value.

        Args:
            allocated: the evidence of the names in the sizes of the memory, which is changed.
            passed: the sizes that the kernel gets.
        """
        of_value = {name: own_value(self.file, self.function, name) for name in passed}
        for name in allocated.keys() - of_value.keys() - self.used_constants:
            value = own_value(self.file, self.function, name) or constant_values(self.file).get(name)
            equal = [each for each, own in of_value.items() if value and own == value]
            if len(equal) == 1 and equal[0] not in allocated:
                allocated[equal[0]] = allocated.pop(name)
                self._allocated_for[equal[0]] = self._allocated_for.pop(name, set())

    @staticmethod
    def _are_three_sizes(a: set[str], b: set[str], c: set[str]) -> bool:
        """Return whether the names in the sizes of the memory of A, B and C are M, N and K, each in two."""
        names = a | b | c
        return len(a) == len(b) == len(c) == 2 and len(names) == 3 and "" not in names and not a & b & c

    def _origin(self, name: str) -> str:
        """Return the variable of which another is a copy in the launching function, as n in `int w = n`."""
        seen = {name}
        while (value := self.function.values.get(name)) is not None and value.type == "identifier":
            name = text_of(value)
            if name in seen:
                break
            seen.add(name)
        return name

    def _first_of_value(self, *extents: Collection[str]) -> Callable[[str], str]:
        """Return a function that returns the first name that is the same size as another.

        Two names, each in the size of one matrix, are the same size if the program gives them one value.
        """
        counts = Counter(origin for of in extents for origin in {self._origin(name) for name in of})
        values = {name: own_value(self.file, self.function, name) for name in counts if counts[name] == 1}

        def first(name: str) -> str:
            origin = self._origin(name)
            value = values.get(origin)
            return min((o for o in values if value is not None and values[o] == value), default=origin)

        return first

    def _check_extents(self) -> None:
        """Raise NoProduct if A has M x N elements, B has N and C has M, and no number is an extent."""
        if self._has_number_as_extent:
            return
        of = {x: {name for name, matrices in self._allocated_for.items() if x in matrices} for x in "ABC"}
        if len(of["B"]) == len(of["C"]) == 1 and len(of["A"]) == 2 and of["A"] == of["B"] | of["C"]:
            raise NoProduct(f"{self.kernel.name} multiplies a matrix and a vector")

    def _name_here(self, name: str, caller: Function) -> str:
        """Return the launching function's name for what a calling function calls `name`; empty for none."""
        if name in constants(self.file):
            return name
        return name_here(self.file, self.function, name, caller)

    @property
    def translation(self) -> Translation:
        """Return what translates the host code at the launch; sizes keep their names."""
        kept = frozenset(self.roles) | self.batches | self.wholes.keys() | self.same_part.keys()
        return Translation(self.file, self.function, kept, self.statement.passed_extents)

    def role(self, size: str) -> str:
        """Return the role of a size; of several equal ones, the one that most evidence speaks for."""
        roles = self.roles[size]
        return "N" if roles == ROLES else max(roles, key=lambda role: self.evidence[size].get(role, 0))

    def own_size(self, size: str, way: Mapping[str, int] | None = None) -> int | None:
        """Return the value that a size has in the program unless its user chooses another; or None.

        Args:
            way: the values of names for one way to reach the launch, as `ways_to_reach` has them.
        """
        if size.startswith(NUMBER):
            return int(size.removeprefix(NUMBER))
        parameter = next((p for p, name in self.literal_sizes.items() if name == size), "")
        own = self._literal(parameter) if parameter else own_value(self.file, self.function, size)
        own = (way or {}).get(size, own)
        return own * int(self.parts[size]) if own and self.parts.get(size, "").isdigit() else own
