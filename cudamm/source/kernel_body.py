"""Read from a kernel's body how it uses its matrices: indices, loops over tiles, and checks of the edges."""

from __future__ import annotations

import ast
import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from cudamm.source.c_definitions import Function, SourceFile, function_of_node, initialised
from cudamm.source.c_numbers import Number, Translation
from cudamm.source.expression import syntax_tree
from cudamm.source.parsed_source import all_of, declared_name, is_inside, parsed_expression, text_of
from cudamm.source.simplified_expression import simplified

MOST_TERMS = 200
"""Number of terms of an index that are looked at."""

_LOOPS = ("for_statement", "while_statement", "do_statement")


@dataclass
class MatrixUse:
    """How a kernel uses the memory behind one of its pointers.

    Attributes:
        strides: the names of sizes that multiply a part of the index, and how often they do.
        multiplied: the variables in the parts that a size multiplies; row-major: those of the row.
        added: the variables in the other parts; row-major: those of the column.
        is_written: whether the kernel stores there.
        moves_by_size: whether a size itself is added to the index or to the pointer.
        terms: the names in each term of the index.
    """

    strides: Counter[str] = field(default_factory=Counter)
    multiplied: set[str] = field(default_factory=set)
    added: set[str] = field(default_factory=set)
    is_written: bool = False
    moves_by_size: bool = False
    terms: set[frozenset[str]] = field(default_factory=set)

    @property
    def is_vector(self) -> bool:
        """Return whether the index is known, and no part of it is multiplied by a size or moves by one."""
        return bool(self.added) and not (self.strides or self.multiplied or self.moves_by_size)


def terms(text: str) -> set[frozenset[str]]:
    """Return the names in each term of a sum: `{row, K}` and `{k}` for `row * K + k`."""
    try:
        return _terms(syntax_tree(text))
    except (SyntaxError, RecursionError, ValueError, MemoryError):
        return set()


def _terms(tree: ast.expr) -> set[frozenset[str]]:
    match tree:
        case ast.Name(id=name):
            return {frozenset([name])}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _terms(left) | _terms(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            pairs = itertools.product(_terms(left), _terms(right))
            return {a | b for a, b in itertools.islice(pairs, MOST_TERMS)}
        case ast.BinOp(left=left):  # of a quotient or a remainder, the dividend
            return _terms(left)
        case ast.UnaryOp(operand=operand):
            return _terms(operand)
        case ast.Call(args=arguments):
            return set().union(*map(_terms, arguments))
    return {frozenset()}


@dataclass(frozen=True)
class TileLoop:
    """A loop over the tiles of a size.

    Attributes:
        step: the extent of a tile, such as `TILE`, `number_16` or `blockDim_x`.
        loses_rest: whether what remains of a size that is no multiple of the step is not used.
        is_of_thread: whether each thread has steps of its own, as in `for (k = lane; k < K; k += 32)`.
    """

    size: str
    step: str
    loses_rest: bool = False
    is_of_thread: bool = False


@dataclass(frozen=True)
class KernelBody:
    """A kernel's body, with the names that may be sizes in it.

    Attributes:
        pointers: names of its parameters that are pointers.
        sizes: names that may be sizes: parameters, or constants of the file.
        fixed: names that are the same for all threads, such as template parameters.
        named_from: the smallest number that may be a size, by a name such as `number_96`; 0: none may.
    """

    file: SourceFile
    function: Function
    pointers: tuple[str, ...]
    sizes: frozenset[str]
    fixed: frozenset[str]
    named_from: int = 0

    @property
    def _translation(self) -> Translation:
        return Translation(self.file, self.function, self.sizes, named_from=self.named_from)

    def uses(self) -> dict[str, MatrixUse]:
        """Return how the kernel uses the memory behind each pointer."""
        uses: dict[str, MatrixUse] = {name: MatrixUse() for name in self.pointers}
        pointed = self._pointed()
        translation = self._translation
        for pointer, node in self._moves(pointed):
            number = replace(translation, bound=self._begins_around(node)).of(node)
            self._add(uses[pointer], terms(number.text) if number else set(), {pointer, *pointed})
        for subscript, at in self._subscripts(self.function.node, translation):
            name, indices = _subscripted(subscript)
            name = at.bound[name].text if name in at.bound else name  # a parameter of a macro
            if name not in pointed:
                continue
            use = uses[pointed[name]]
            numbers = [number.text for index in indices if (number := at.of(index))]
            if len(numbers) == 2:  # `A[row][k]`
                use.multiplied |= self._varying(terms(numbers[0]))
                use.added |= self._varying(terms(numbers[1]))
            elif len(numbers) == 1:
                self._add(use, terms(numbers[0]), set())
            use.is_written |= _is_written(subscript)
        return uses

    @functools.cached_property
    def _counters(self) -> frozenset[str]:
        """Return the variables that begin with a number and are incremented, alike for all threads."""
        translation = self._translation

        def is_uniform(node: Node | None) -> bool:
            number = translation.of(node)
            return number is not None and not self._varying(terms(number.text))

        found = {name for name, value in self.function.first_values.items() if is_uniform(value)}
        found -= self.function.values.keys()
        for change in all_of(self.function.node, "assignment_expression"):
            sign = text_of(change.child_by_field_name("operator"))
            if sign not in ("=", "+=") or not is_uniform(change.child_by_field_name("right")):
                found.discard(text_of(change.child_by_field_name("left")))
        return frozenset(found)

    def loop_bounds(self) -> Iterator[tuple[str, str]]:
        """Yield the variable and the size of each loop from 0 to a size, or to a number of tiles of it."""
        translation = self._translation
        for loop in all_of(self.function.node, "for_statement"):
            begin, condition = loop.child_by_field_name("initializer"), loop.child_by_field_name("condition")
            start = re.search(r"(\w+)\s*=\s*0\s*;?$", text_of(begin)) if begin else None
            number = translation.of(condition.child_by_field_name("right")) if condition and start else None
            names = self.sizes & _names(number.text) if number else frozenset()
            if start and len(names) == 1:
                yield start[1], next(iter(names))

    def checks(self) -> Iterator[tuple[frozenset[str], str]]:
        """Yield the varying names and the size of comparisons such as `row < M`, but not of loops.

        The comparison of a counter, such as `if (k < K)` after `k += TILE`, concerns a loop too.
        """
        yield from self._own_checks()
        for call in all_of(self.function.node, "call_expression"):
            yield from ((frozenset(), size) for size in self._checked_by(call))

    def _checked_by(self, call: Node) -> Iterator[str]:
        """Yield the sizes that a function checks for its caller, as in `load(tile, A, row, col, M, K)`."""
        called = text_of(call.child_by_field_name("function")).partition("<")[0]
        struct, _, name = called.rpartition(".")  # of a method, as in `A.get(row, k)`
        local = self.function.values.get(name)
        if local is not None and local.type == "lambda_expression":
            function: Function | None = function_of_node(local)
        else:
            function = next(iter(self.file.functions_named(name)), None)
        given = call.child_by_field_name("arguments")
        if function is None or given is None:
            return
        pairs = [*zip(function.parameter_names, given.named_children, strict=False)]
        passed = {
            parameter: number.text
            for parameter, argument in pairs
            if (number := self._translation.of(argument)) and number.text in self.sizes
        }
        structs = {f"{text_of(argument)}_": f"{parameter}_" for parameter, argument in pairs}
        if struct:
            structs[f"{struct}_"] = ""
        for size, (whole, part) in itertools.product(self.sizes, structs.items()):
            if size.startswith(whole):
                passed[part + size.removeprefix(whole)] = size
        body = replace(self, function=function, pointers=(), sizes=frozenset(passed))
        yield from (passed[size] for _, size in body._own_checks())

    def _own_checks(self) -> Iterator[tuple[frozenset[str], str]]:
        """Yield those of `checks` that the function itself has."""
        translation = self._translation
        for node in all_of(self.function.node, "binary_expression"):
            sign = text_of(node.child_by_field_name("operator"))
            if sign not in ("<", ">=", "<=", ">") or _is_of_loop(node):
                continue
            at = replace(translation, bound=self._redeclared_at(node, translation))
            left, right = (at.of(node.child_by_field_name(side)) for side in ("left", "right"))
            varying = frozenset(self._varying(terms(left.text))) if left else frozenset()
            if left and right and right.text in self.sizes and not (varying and varying <= self._counters):
                yield varying, right.text

    def tile_loops(self) -> Iterator[TileLoop]:
        """Yield loops over `K / TILE` or `(K + TILE - 1) / TILE`, and over K elements in steps of TILE."""
        translation = self._translation
        for loop in all_of(self.function.node, *_LOOPS):
            condition = next(all_of(loop.child_by_field_name("condition") or loop, "binary_expression"), None)
            number = translation.of(condition.child_by_field_name("right")) if condition else None
            if condition is None or number is None:
                continue
            sizes = self.sizes & _names(number.text)
            size = next(iter(sizes)) if len(sizes) == 1 else ""
            tiles = simplified(re.sub(rf"\b{size}\b", "K", number.text), {}) if size else ""
            quotient = re.fullmatch(r"K // (\w+)|ceil\(K / (\w+)\)", tiles)
            if quotient:
                counter = text_of(condition.child_by_field_name("left"))
                is_guarded = any(size == of and counter in varying for varying, of in self._own_checks())
                # A guard of its elements, `t * TILE + x < K`, says that it is for all K: it ends too early.
                loses_rest = quotient[1] is not None and size not in self._divided() and not is_guarded
                yield TileLoop(size, quotient[1] or quotient[2], loses_rest)
                continue
            variable = text_of(condition.child_by_field_name("left"))
            begin = translation.of(self.function.first_values.get(variable))
            begins = [variable, *([begin.text] if begin else [])]
            ends = [f"({first} + {size})" for first in begins]
            ends += [size, *(f"({end} - 1)" for end in ends)]
            for given in self._steps(loop, variable) if size else ():
                step = translation.of(given)
                is_whole_range = step and number.text in (*ends, f"({size} - {step.text})")
                if step and is_whole_range and "gridDim" not in step.text:
                    values = self.function.first_values
                    first = values.get(variable)
                    parts = all_of(first, "identifier") if first is not None else ()
                    named = [first, *(values.get(text_of(part)) for part in parts)]
                    is_of_thread = any("threadIdx" in text_of(value) for value in named)
                    if not (is_of_thread and "blockDim" in step.text):  # else its threads share the range
                        yield TileLoop(size, step.text, is_of_thread=is_of_thread)

    def sizes_of_single_steps(self) -> set[str]:
        """Return the sizes at which loops in steps of 1 end, as in `k < K; k++` and in `k < K - 1; k++`."""
        found = set[str]()
        for loop in all_of(self.function.node, "for_statement"):
            condition, update = (loop.child_by_field_name(part) for part in ("condition", "update"))
            if condition and update and update.type == "update_expression":
                number = self._translation.of(condition.child_by_field_name("right"))
                if number and not re.search(r"//|ceil", number.text):
                    found |= self.sizes & _names(number.text)
        return found

    def tile_widths(self, matrices: Collection[str]) -> frozenset[str]:
        """Return the sizes that are widths of tiles in the indices of three matrices.

        Such a size multiplies only numbers of blocks and of tiles, or divides another size, and the rows of
        each matrix have another length. Neither a row nor a column is compared with it, and no loop over
        tiles ends at it.
        """
        uses = [use for name, use in self.uses().items() if name in matrices]
        bounds = [
            (size, [variable in use.added | use.multiplied for use in uses])
            for variable, size in self.loop_bounds()
        ]
        extents = {size for _, size in self.checks()} | {size for size, used in bounds if sum(used) > 1}
        extents |= {loop.size for loop in self.tile_loops()}
        found = set[str]()
        for size in self.sizes - extents:
            tiles = self._counters_of_tiles(size)
            multiplied = [
                {name for name in self._varying([term]) - tiles if not name.startswith("blockIdx")}
                for use in uses
                for term in use.terms
                if size in term
            ]
            lengths = [
                {name for term in use.terms if self._varying([term]) for name in (term & self.sizes) - {size}}
                for use in uses
            ]
            is_width = self._divides_other_size(size) or any(
                size in term and term & self.sizes - {size} <= of_rows
                for use, of_rows in zip(uses, lengths, strict=True)
                for term in use.terms
            )
            if all(lengths) and is_width and not any(multiplied):
                found.add(size)
        return frozenset(found)

    def _divides_other_size(self, divisor: str) -> bool:
        translated = map(self._translation.of, all_of(self.function.node, "binary_expression"))
        found = (re.fullmatch(rf"\((.*) // {divisor}\)", number.text) for number in translated if number)
        return any(match and self.sizes & _names(match[1]) - {divisor} for match in found)

    def _counters_of_tiles(self, width: str) -> set[str]:
        """Return the variables of loops over tiles: `t` of `t < K / width` and of `t * width < K`."""
        found = set[str]()
        for loop in all_of(self.function.node, *_LOOPS):
            condition = next(all_of(loop.child_by_field_name("condition") or loop, "binary_expression"), None)
            sides = (condition.child_by_field_name(side) if condition else None for side in ("left", "right"))
            left, right = map(self._translation.of, sides)
            if left and right and re.search(rf"/ {width}\b", right.text):
                found |= _names(left.text)
            for term in terms(left.text) if left else ():
                found |= term - {width} if width in term else set()
        return found - self.sizes

    def _begins_around(self, node: Node) -> dict[str, Number]:
        """Return the begins of the loops around a node, the inner loop's of several variables of a name."""
        return {
            name: number
            for loop, name, number in self._begins_of_loops
            if loop.start_byte <= node.start_byte and node.end_byte <= loop.end_byte
        }

    @functools.cached_property
    def _begins_of_loops(self) -> list[tuple[Node, str, Number]]:
        """Return `(a + begin)` for `a` of each loop `for (int a = begin; …)`, which moves on from there."""
        translation = self._translation
        found: list[tuple[Node, str, Number]] = []
        for loop in all_of(self.function.node, "for_statement"):
            begin = loop.child_by_field_name("initializer")
            for name, value in initialised(begin) if begin and begin.type == "declaration" else ():
                number = translation.of(value)
                if number and self._varying(terms(number.text)):
                    found.append((loop, name, Number(f"({name} + {number.text})")))
        return found

    def shares_tiles_by_a_loop(self) -> bool:
        """Return whether a loop begins at blockIdx and ends at a number that all blocks share."""
        for loop in all_of(self.function.node, "for_statement"):
            condition = next(all_of(loop.child_by_field_name("condition") or loop, "binary_expression"), None)
            end = self._translation.of(condition.child_by_field_name("right")) if condition else None
            begins = [
                number.text for of, _, number in self._begins_of_loops if of.start_byte == loop.start_byte
            ]
            is_of_block = any(re.search(r"\bblockIdx[._][xy]\b", begin) for begin in begins)
            if is_of_block and end and not re.search(r"\b(?:block|thread)Idx", end.text):
                return True
        return False

    def _divided(self) -> set[str]:
        """Return the names of which the kernel takes remainders."""
        quotients = all_of(self.function.node, "binary_expression")
        remainders = (node for node in quotients if text_of(node.child_by_field_name("operator")) == "%")
        return {text_of(node.child_by_field_name("left")) for node in remainders}

    @staticmethod
    def _steps(loop: Node, variable: str) -> Iterator[Node]:
        """Yield what a loop adds to its variable."""
        for node in all_of(loop, "assignment_expression"):
            step = node.child_by_field_name("right")
            is_step = text_of(node.child_by_field_name("operator")) == "+="
            if is_step and step and text_of(node.child_by_field_name("left")) == variable:
                yield step

    def _varying(self, found: Iterable[frozenset[str]]) -> set[str]:
        names = set().union(*found)
        return {
            name for name in names - self.sizes - self.fixed if not name.startswith(("blockDim", "gridDim"))
        }

    def _add(self, use: MatrixUse, found: set[frozenset[str]], ignored: set[str]) -> None:
        for term in sorted(found, key=sorted):  # the order decides between sizes that are used as often
            names = term - ignored
            sizes, varying = names & self.sizes, self._varying([names])
            use.terms.add(names)
            if not varying:
                use.moves_by_size |= bool(sizes)
                continue
            if len(sizes) == 1:
                use.strides.update(sizes)
            (use.multiplied if sizes else use.added).update(varying)

    def _pointed(self) -> dict[str, str]:
        """Return the pointer parameter that each pointer variable is made from."""
        pointed = {name: name for name in self.pointers}
        for name, value in self.function.first_values.items():
            used = {text_of(node) for node in all_of(value, "identifier")} & pointed.keys()
            is_pointer = (
                "&" in text_of(value) or "*" in self._declared_type(name) or "[" not in text_of(value)
            )
            if len(used) == 1 and is_pointer and name not in pointed:
                pointed[name] = pointed[used.pop()]
        return pointed

    def _declared_type(self, name: str) -> str:
        for node in all_of(self.function.node, "declaration"):
            for declarator in node.children_by_field_name("declarator"):
                if declared_name(declarator) == name:
                    return text_of(declarator).partition("=")[0]
        return ""

    def _moves(self, pointed: Mapping[str, str]) -> Iterator[tuple[str, Node]]:
        """Yield what is added to a pointer: `row * K` for `A += row * K` and for `float *a = A + row * K`."""
        for node in all_of(self.function.node, "assignment_expression"):
            name, value = text_of(node.child_by_field_name("left")), node.child_by_field_name("right")
            if name in pointed and value:
                yield pointed[name], value
        for name, value in self.function.first_values.items():
            if name in pointed and name not in self.pointers and value.type == "binary_expression":
                yield pointed[name], value
        for node in all_of(self.function.node, "argument_list"):  # `dot(A + row * K, K)`
            for argument in node.named_children:
                used = {text_of(n) for n in all_of(argument, "identifier")} & pointed.keys()
                if argument.type == "binary_expression" and len(used) == 1:
                    yield pointed[used.pop()], argument
        for node in all_of(self.function.node, "pointer_expression"):
            inner = node.child_by_field_name("argument")
            if text_of(node.child_by_field_name("operator")) == "*" and inner:
                used = {text_of(n) for n in all_of(inner, "identifier")} & pointed.keys()
                if inner.type == "cast_expression":  # `*(const int *)(A + row * K + k)`
                    inner = inner.child_by_field_name("value") or inner
                if len(used) == 1:
                    yield pointed[used.pop()], inner

    def _subscripts(self, node: Node, at: Translation, level: int = 0) -> Iterator[tuple[Node, Translation]]:
        """Yield subscripts, those that macros contain too, each with the translation for its indices."""
        outer = at
        for found in all_of(node, "subscript_expression", "call_expression"):
            at = outer if level else replace(outer, bound=self._begins_around(found))
            at = replace(at, bound={**self._redeclared_at(found, at), **at.bound})
            if found.type == "subscript_expression":
                above = found.parent
                is_inner = above is not None and above.child_by_field_name("argument") == found
                if (
                    not is_inner or above is None or above.type != "subscript_expression"
                ):  # `A[row]` of `A[row][k]`
                    yield found, at
                continue
            parameters, text = self.file.macros.get(
                text_of(found.child_by_field_name("function")), (None, "")
            )
            given = found.child_by_field_name("arguments")
            body = parsed_expression(text) if parameters else None
            if body is None or given is None or "[" not in text or level > 3:
                continue
            numbers = [at.of(argument) for argument in given.named_children]
            bound = {name: number for name, number in zip(parameters or (), numbers, strict=False) if number}
            yield from self._subscripts(body, replace(at, bound=bound), level + 1)

    def _redeclared_at(self, place: Node, at: Translation) -> dict[str, Number]:
        """Return the values at a place of variables that several blocks declare, each with its own value."""
        numbers = {
            name: at.of(max(seen, key=lambda pair: pair[0].start_byte)[1])
            for name, declared in self._redeclared.items()
            if (seen := [pair for pair in declared if is_inside(place, pair[0])])
        }
        return {name: number for name, number in numbers.items() if number is not None}

    @functools.cached_property
    def _redeclared(self) -> dict[str, list[tuple[Node, Node]]]:
        """Return the blocks and the values of variables that are declared several times and never changed."""
        found: dict[str, list[tuple[Node, Node]]] = {}
        for declarator in all_of(self.function.node, "init_declarator"):
            value, block = declarator.child_by_field_name("value"), declarator.parent
            while block is not None and block.type != "compound_statement":
                block = None if block.type in _LOOPS else block.parent
            if value is not None and block is not None:
                found.setdefault(declared_name(declarator), []).append((block, value))
        changes = all_of(self.function.node, "assignment_expression", "update_expression")
        changed = {text_of(change.child_by_field_name("left") or change).strip("+-") for change in changes}
        return {n: declared for n, declared in found.items() if len(declared) > 1 and n not in changed}


def _is_of_loop(node: Node) -> bool:
    """Return whether a comparison is the condition of a loop."""
    around = node.parent
    inner = node
    while around is not None and around.type in (
        "parenthesized_expression",
        "condition_clause",
        "binary_expression",
    ):
        inner, around = around, around.parent
    return around is not None and around.type in _LOOPS and inner != around.child_by_field_name("body")


def _names(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_]\w*", text))


def _subscripted(node: Node) -> tuple[str, list[Node]]:
    """Return the variable and the indices of `A[i]`, of `A[i][j]`, and of `((float4 *)&A[i])[0]`."""
    indices: list[Node] = []
    current: Node | None = node
    while current is not None and current.type == "subscript_expression":
        given = current.child_by_field_name("indices")
        indices = [*(given.named_children if given else ()), *indices]
        current = current.child_by_field_name("argument")
    return (text_of(current), indices) if current is not None and current.type == "identifier" else ("", [])


def _is_written(node: Node) -> bool:
    """Return whether a subscript is the target of an assignment, or of an atomic function."""
    part: Node | None = node
    while part is not None and part.type not in ("expression_statement", "declaration", "compound_statement"):
        above = part.parent
        if above is not None and above.type == "assignment_expression":
            return above.child_by_field_name("left") == part
        if above is not None and above.type == "update_expression":
            return True
        if above is not None and above.type == "call_expression":
            return text_of(above.child_by_field_name("function")).startswith("atomic")
        if (
            above is not None
            and above.type == "subscript_expression"
            and above.child_by_field_name("argument") != part
        ):
            return False
        part = above
    return False
