"""Changes of the places that a thread's elements have in a tile, if a thread computes several elements."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.changed_expression import (
    KernelChange,
    Site,
    counters_at,
    edits_within,
    grouped,
    replaced,
    sign_of,
    terms_of,
)
from cudamm.source.parsed_source import all_of, ancestors, file_and_line_of, text_of

TWO_PLACES = "the kernel places a thread's elements in two ways"
"""Beginning of the mistake of a thread whose j-th element is at `tx * 4 + j`, and at `tx + j * 16`."""


@dataclass(frozen=True)
class _Place:
    """The place of a thread's j-th element in an index: `t * W + j`, or `t + j * R`.

    Attributes:
        site: the index, or the value that contains the place.
        of_thread, of_counter: the two terms.
        thread, counter: `t` and `j`.
        factor: `W` or `R`.
        is_side_by_side: whether the place is `t * W + j`, so that a thread's elements are side by side.
        loop: the loop that counts `j`.
    """

    site: Site
    of_thread: Node
    of_counter: Node
    thread: Node
    counter: Node
    factor: str
    is_side_by_side: bool
    loop: Node


def other_orders_of_elements(
    body: Node, sites: Sequence[Site], local: Collection[str], of_thread: set[str], of_block: set[str]
) -> Iterator[KernelChange]:
    """Yield `tx + j * 16` for `tx * 4 + j`, and the other way round, where a loop over elements counts `j`.

    Args:
        body: the function's.
        sites: the function's indices, conditions and values.
        local: the local variables that are no pointers.
        of_thread, of_block: the variables that depend on the thread's index, and on the block's.
    """
    of_elements = {
        text_of(name)
        for node in all_of(body, "subscript_expression")
        if text_of(node).partition("[")[0] in local
        for name in all_of(node, "identifier")
    }
    places = [place for site in sites for place in _places_in(site, of_elements, of_thread)]
    written_out = [*_written_out(sites, of_thread)]
    distances = [place.factor for place in written_out if not place.is_side_by_side]
    # The index of a store and the condition before it are one group.
    groups: dict[tuple[bool, str, str, Node], list[_Place]] = {}
    for place in places:
        if place.thread == place.of_thread and _names(place.thread) & of_block:
            continue  # its factor would be one of the block's index too
        key = place.is_side_by_side, text_of(place.of_thread), text_of(place.of_counter), place.loop
        groups.setdefault(key, []).append(place)
    number = {form: sum(key[0] == form for key in groups) for form in (True, False)}
    # The form that fewer places have is likelier to be the wrong one.
    ordered = sorted(groups.items(), key=lambda item: number[item[0][0]])
    options: dict[bool, list[list[tuple[_Place, str]]]] = {True: [], False: []}
    for (form, *_), group in ordered:
        place = group[0]
        if form:
            apart = [p for p in places if not p.is_side_by_side]
            apart.sort(key=lambda p: text_of(p.thread) != text_of(place.thread))
            factors = list(dict.fromkeys([*(p.factor for p in apart), *distances]))
        else:
            condition = place.loop.child_by_field_name("condition")
            limit = condition.child_by_field_name("right") if condition is not None else None
            factors = [grouped(limit)] if limit is not None and not _names(limit) & of_thread else []
        for factor in factors[:_MOST_FACTORS]:
            # `tx + j * 4` for `tx * 4 + j` is the mistake of two variables that are swapped.
            if factor != place.factor or place.thread.type != "identifier":
                options[form].append([(each, factor) for each in group])
                yield _with_other_form(options[form][-1], sites)
    for form in sorted(options, key=lambda form: number[form]):  # rows and columns at once
        for one, other in itertools.combinations(options[form], 2):
            if text_of(one[0][0].thread) != text_of(other[0][0].thread):
                yield dataclasses.replace(_with_other_form([*one, *other], sites), rank=2)
    distances += [place.factor for place in places if not place.is_side_by_side]
    for each in written_out:
        for factor in dict.fromkeys(distances) if each.is_side_by_side else [str(len(each.indices))]:
            yield each.in_other_form(factor, sites)


@dataclass(frozen=True)
class _WrittenOut:
    """The places of a thread's elements in an index, without a loop: `s[t]` and `s[t + R]`.

    Attributes:
        thread: `t`.
        indices: the indices of each element.
        factor: `R`, or `W` where the indices are `t * W` and `t * W + 1`.
        is_side_by_side: as for `_Place`.
    """

    thread: str
    indices: tuple[tuple[Site, ...], ...]
    factor: str
    is_side_by_side: bool

    def in_other_form(self, factor: str, sites: Sequence[Site]) -> KernelChange:
        """Return the change of all these indices to the other form, with its factor."""
        new: dict[Site, str] = {}
        for number, same in enumerate(self.indices):
            first, step = (
                (self.thread, factor) if self.is_side_by_side else (f"{self.thread} * {factor}", "1")
            )
            rest = ("", f" + {step}", f" + {number if step == '1' else f'{number} * {step}'}")[min(number, 2)]
            new.update(dict.fromkeys(same, first + rest))
        site = self.indices[1][0]
        old = " and ".join(same[0].shown(text_of(same[0].node)) for same in self.indices)
        better = " and ".join(same[0].shown(new[same[0]]) for same in self.indices)
        edits = edits_within({each.node: text for each, text in new.items()}, sites)
        return KernelChange(
            f"{TWO_PLACES}: {old} instead of {better}", f"write {better}", site.array,
            *file_and_line_of(site.node), edits, 1,
        )  # fmt: skip


def _written_out(sites: Sequence[Site], of_thread: set[str]) -> Iterator[_WrittenOut]:
    """Yield the places of elements that no loop counts."""
    groups: dict[tuple[str, int, str], dict[str, list[Site]]] = {}
    terms_by_text: dict[str, Node] = {}
    for site in sites:
        terms = terms_of(site.node) if site.kind == "index" else []
        of_index = [term for term in terms if _names(term) & of_thread]
        if len(of_index) == 1 and len(terms) < 3:
            rest = "".join(text_of(term) for term in terms if term != of_index[0])
            dimension = text_of(site.whole)[: site.node.start_byte - site.whole.start_byte].count("[")
            key = site.array, dimension, text_of(of_index[0])
            groups.setdefault(key, {}).setdefault(rest, []).append(site)
            terms_by_text[text_of(of_index[0])] = of_index[0]
    for (*_, text), by_rest in groups.items():
        for thread, width in _split(terms_by_text[text], of_thread, ()) if len(by_rest) > 1 else ():
            for step in ("1",) if width else [rest for rest in by_rest if rest not in ("", "1")]:
                indices = [
                    next((by_rest[rest] for rest in _multiples(step, j) if rest in by_rest), [])
                    for j in range(len(by_rest))
                ]
                if all(indices):
                    yield _WrittenOut(text_of(thread), tuple(map(tuple, indices)), width or step, bool(width))


def _multiples(step: str, number: int) -> tuple[str, ...]:
    """Return how a program may write so many times a step: nothing, `R`, `2 * R` or `R * 2`, or a number."""
    if number < 2:
        return ("", step)[number : number + 1]
    if step.isdigit():
        return (str(number * int(step)),)
    return f"{number} * {step}", f"{step} * {number}"


_MOST_FACTORS = 3
"""Maximum number of distances between a thread's elements that are tried for one place."""


def exchanged_counters(body: Node, sites: Sequence[Site]) -> Iterator[KernelChange]:
    """Yield `sum[i][j] += a[i] * b[j]` for `sum[i][j] += a[j] * b[i]`, where loops count `i` and `j`.

    Args:
        body, sites: as for `other_orders_of_elements`.
    """
    for product in all_of(body, "binary_expression"):
        factors = factors_of(product) if sign_of(product) == "*" else []
        if len(factors) != 2 or any(factor.type != "subscript_expression" for factor in factors):
            continue
        counters = [
            [node for node in all_of(factor, "identifier") if text_of(node) in counters_at(product)]
            for factor in factors
        ]
        names = [set(map(text_of, nodes)) for nodes in counters]
        one, other = (
            [node for node in nodes if text_of(node) not in others]
            for nodes, others in zip(counters, reversed(names), strict=True)
        )
        if len(one) == len(other) == 1:
            exchanged = {one[0]: text_of(other[0]), other[0]: text_of(one[0])}
            new = replaced(product, exchanged)
            # If the outer loop's counter comes first, as in a[i] * b[j], rather the sum's indices are wrong.
            inner = counters_at(product)
            rank = 1 if inner.index(text_of(one[0])) < inner.index(text_of(other[0])) else 2
            yield KernelChange(
                f"two counters are exchanged, {text_of(one[0])} and {text_of(other[0])}: "
                f"{text_of(product)} instead of {new}",
                f"write {new}", "", *file_and_line_of(product), edits_within(exchanged, sites), rank,
            )  # fmt: skip


def _names(node: Node) -> set[str]:
    return {text_of(name) for name in all_of(node, "identifier")}


def _places_in(site: Site, of_elements: set[str], of_thread: set[str]) -> Iterator[_Place]:
    """Yield the places of elements in a site."""
    loops = {
        name: loop
        for loop in ancestors(site.node)
        if loop.type == "for_statement"
        for name in counters_at(loop.child_by_field_name("body") or loop)[:1]
    }
    # Another loop may count a variable of the same name from the thread's index.
    from_0 = {name for name, loop in loops.items() if _begins_at_number(loop)}
    of_thread = of_thread - from_0
    counters = loops.keys() & of_elements
    for chain in all_of(site.node, "binary_expression") if counters else ():
        is_part = chain != site.node and chain.parent is not None and sign_of(chain.parent) == "+"
        if sign_of(chain) != "+" or is_part:
            continue
        of_counter = [
            (term, *split) for term in terms_of(chain) for split in _split(term, counters, of_thread)
        ]
        varying = [term for term in terms_of(chain) if not _names(term) & loops.keys()]
        of_index = [(term, *split) for term in varying for split in _split(term, of_thread, counters)]
        for term, counter, step in of_counter:
            for other, thread, width in of_index:
                loop = loops.get(text_of(counter))  # None for `(j + 1)`
                if loop is not None and bool(step) != bool(width):
                    yield _Place(site, other, term, thread, counter, step or width, bool(width), loop)


def _begins_at_number(loop: Node) -> bool:
    start = loop.child_by_field_name("initializer")
    declared = next(all_of(start, "init_declarator"), None) if start is not None else None
    value = declared.child_by_field_name("value") if declared is not None else None
    return value is not None and value.type == "number_literal"


def _split(term: Node, own: Collection[str], not_of: Collection[str]) -> Iterator[tuple[Node, str]]:
    """Yield the factor of a term that depends on some variables, and the other factors as one text.

    Args:
        own: the variables on which one factor depends.
        not_of: variables on which no factor may depend.
    """
    factors = factors_of(term)
    of_own = [factor for factor in factors if _names(factor) & set(own)]
    if len(of_own) == 1 and not _names(term) & set(not_of):
        yield of_own[0], " * ".join(text_of(factor) for factor in factors if factor != of_own[0])


def factors_of(node: Node) -> list[Node]:
    """Return the factors of a product; the expression itself if it is none."""
    if node.type == "binary_expression" and sign_of(node) == "*":
        sides = (node.child_by_field_name("left"), node.child_by_field_name("right"))
        return [factor for side in sides if side is not None for factor in factors_of(side)]
    return [node]


def _with_other_form(places: Sequence[tuple[_Place, str]], sites: Sequence[Site]) -> KernelChange:
    """Return the change of `t * W + j` to `t + j * R`, or the other way round, in several places.

    Args:
        places: each with the factor of its new form.
    """
    edits: dict[Site, dict[Node, str]] = {}
    for place, factor in places:
        of_thread, of_counter = text_of(place.thread), f"{text_of(place.counter)} * {factor}"
        if not place.is_side_by_side:
            of_thread, of_counter = f"{grouped(place.thread)} * {factor}", text_of(place.counter)
        edits.setdefault(place.site, {}).update({place.of_thread: of_thread, place.of_counter: of_counter})
    group = [place for place, _ in places]
    place = next((each for each in group if each.site.array), group[0])  # an index rather than its condition
    site = place.site
    old = f"{text_of(place.of_thread)} + {text_of(place.of_counter)}"
    new = f"{edits[site][place.of_thread]} + {edits[site][place.of_counter]}"
    better = " and ".join(dict.fromkeys(each.shown(replaced(each.node, by)) for each, by in edits.items()))
    lines = sorted({file_and_line_of(each.node)[1] for each in edits})
    where = f" in lines {' and '.join(map(str, lines))}" if len(lines) > 1 else ""
    return KernelChange(
        f"{TWO_PLACES}: {site.shown(text_of(site.node))} has {old} instead of {new}",
        f"write {better}{where}", site.array, *file_and_line_of(site.node),
        edits_within({node: text for by in edits.values() for node, text in by.items()}, sites), 0,
    )  # fmt: skip
