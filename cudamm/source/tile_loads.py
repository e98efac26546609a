"""Changes that load a whole tile where each thread of a smaller block loads one element of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.changed_expression import KernelChange, counters_at, replaced, sign_of, terms_of
from cudamm.source.parsed_source import all_of, file_and_line_of, text_of


@dataclass(frozen=True)
class _Load:
    """A statement that writes one element of a tile for each thread.

    Attributes:
        statement: the statement, with the conditions around it.
        array: the tile.
        extents: its rows and columns.
        steps: for each variable that has to take further values, the number up to which it counts, and the
            distance of these values, a number.
    """

    statement: Node
    array: str
    extents: tuple[int, ...]
    steps: Mapping[str, tuple[int, int]]


def loads_of_whole_tiles(
    stores: Sequence[Node],
    extents_of: Callable[[str], tuple[int, ...]],
    number_of: Callable[[str], int | None],
    names: Mapping[str, Sequence[str]],
    values: Mapping[str, Node],
    block: tuple[int, int],
) -> Iterator[KernelChange]:
    """Yield loops that load what the threads of a block leave of tiles: of all tiles, and of each one.

    Args:
        stores: the elements of shared arrays that assignments set.
        extents_of: returns the extents of a shared array; empty if they are not known.
        number_of: returns the value of a constant; None if it is not known.
        names: the names of threadIdx.x and threadIdx.y, by their axes.
        values: the values of the variables.
        block: the threads of a block along x and y.
    """
    found: list[_Load] = []
    for left in stores:
        statement = _statement_of(left)
        array = text_of(left).partition("[")[0].strip()
        extents = extents_of(array)
        if statement is None or len(extents) not in (1, 2):
            continue
        steps = _steps(left, extents, number_of, names, block)
        if steps and not any(each.array == array for each in found):
            found.append(_Load(statement, array, extents, steps))
    for chosen in [*([found] if len(found) > 1 else []), *([each] for each in found)]:
        if len({each.statement for each in chosen}) == len(chosen):
            yield _change(chosen, names, values, block)


def _statement_of(left: Node) -> Node | None:
    """Return the statement that sets an element, with an `if` around it; None if there is a loop between."""
    node = left
    while node.parent is not None and node.parent.type != "compound_statement":
        node = node.parent
        if node.type in ("for_statement", "while_statement", "do_statement", "declaration"):
            return None
    return node if node.type in ("expression_statement", "if_statement") else None


def _steps(
    left: Node,
    extents: Sequence[int],
    number_of: Callable[[str], int | None],
    names: Mapping[str, Sequence[str]],
    block: tuple[int, int],
) -> dict[str, tuple[int, int]]:
    """Return the variables in the index of a tile that take too few values; see `_Load`."""
    indices = [each for part in all_of(left, "subscript_argument_list") for each in part.named_children]
    indices.sort(key=lambda node: node.start_byte)
    if len(indices) != len(extents):
        return {}
    threads = block[0] * block[1]
    if len(extents) == 2:
        pairs = list(zip(map(text_of, indices), extents, strict=True))
    else:
        terms = terms_of(indices[0])
        if len(terms) == 1 and re.fullmatch(r"[\w.]+", text_of(terms[0])):
            name = text_of(terms[0])
            is_of_axis = any(name in of_axis for of_axis in names.values())
            return {} if is_of_axis or extents[0] <= threads else {name: (extents[0], threads)}
        row, columns = _row_of(terms, number_of)
        if not columns or extents[0] % columns:
            return {}
        pairs = [(row, extents[0] // columns), ("", columns)]
    of_axis = {
        text: (extent, block["xy".index(axis)])
        for text, extent in pairs
        for axis, known in names.items()
        if text in known
    }
    if of_axis:
        return {name: (count, step) for name, (count, step) in of_axis.items() if count > step + 1}
    (row, rows), (_, columns) = pairs
    is_name = re.fullmatch(r"\w+", row) is not None
    is_part = threads % columns == 0 and threads < rows * columns
    return {row: (rows, threads // columns)} if is_name and is_part else {}


def _row_of(terms: Sequence[Node], number_of: Callable[[str], int | None]) -> tuple[str, int]:
    """Return `row` and the number `BK` of an index `row * BK + column`; 0 if it has another form."""
    product = terms[0] if len(terms) == 2 else None
    if product is None or sign_of(product) != "*":
        return "", 0
    row, columns = (text_of(product.child_by_field_name(side)) for side in ("left", "right"))
    return row, number_of(columns) or 0


def _change(
    chosen: Sequence[_Load],
    names: Mapping[str, Sequence[str]],
    values: Mapping[str, Node],
    block: tuple[int, int],
) -> KernelChange:
    edits, shown, tiles = [], [], []
    for load in chosen:
        node = load.statement
        free = [c for c in "ijsruv" if re.search(rf"\b{c}\b", text_of(node)) is None]
        changed: dict[Node, str] = {}
        loops = ""
        for counter, (name, (count, step)) in zip(free, load.steps.items(), strict=False):
            alike = {name, *next((known for known in names.values() if name in known), ())}
            alike |= {
                other
                for other, value in values.items()
                if other not in alike and alike & set(map(text_of, terms_of(value)))
            }
            for part in all_of(node, "identifier", "field_expression"):
                if text_of(part) in alike:
                    is_factor = part.parent is not None and sign_of(part.parent) in ("*", "/", "%")
                    new = f"{text_of(part)} + {counter}"
                    changed[part] = f"({new})" if is_factor else new
            loops += f"for (int {counter} = 0; {counter} < {count}; {counter} += {step}) "
        new = loops + " ".join(replaced(node, changed).split())
        edits.append((node.start_byte, node.end_byte, new))
        shown.append(new)
        tiles.append(f"the {' x '.join(map(str, load.extents))} elements of {load.array}")
    x, y = block
    threads = str(x) if y == 1 else f"{x} x {y}"
    loads = "which together do not load all of" if any(map(_is_in_loop, chosen)) else "and each loads one of"
    return KernelChange(
        f"the block has {threads} threads, {loads} {' and of '.join(tiles)}: the rest is never written",
        f"load the rest too: {' and '.join(text.rstrip(';') for text in shown)}",
        chosen[0].array if len(chosen) == 1 else "",
        *file_and_line_of(chosen[0].statement), tuple(edits), 0,
    )  # fmt: skip


def _is_in_loop(load: _Load) -> bool:
    """Return whether a loop counts an index of the tile, so that a thread loads several elements."""
    target = next(all_of(load.statement, "subscript_expression"), None)
    names = set(map(text_of, all_of(target, "identifier"))) if target is not None else set()
    return not names.isdisjoint(counters_at(load.statement))
