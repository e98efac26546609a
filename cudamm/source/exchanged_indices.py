"""Changes of both indices where a loop over the terms of a sum reads two tiles, such as `As[k][ty]`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from cudamm.source.changed_expression import KernelChange, Site, sign_of, terms_of
from cudamm.source.parsed_source import all_of, file_and_line_of, is_inside, text_of

_MOST_FORMS = 8
"""Maximum number of ways in which the elements of one tile are tried."""


@dataclass(frozen=True)
class _Read:
    """The elements of a tile that a loop over terms reads, `As[ty][k]` or `As[ty * TILE + k]`.

    Attributes:
        sites: its last two indices, or the index of an array of one dimension.
        of_thread: the index that is not the loop's counter.
        counter: the loop's counter.
        is_row: whether the counter is the first index, as in `Bs[k][tx]`.
        width: the length of a row in an index of one dimension; empty for an array of two.
    """

    sites: tuple[Site, ...]
    of_thread: str
    counter: str
    is_row: bool
    width: str

    def with_indices(self, of_thread: str, *, is_row: bool, width: str) -> tuple[str, ...]:
        """Return the texts of the sites with another index for the thread's, or in the other order."""
        first, second = (self.counter, of_thread) if is_row else (of_thread, self.counter)
        if not self.width:
            return first, second
        row = first if re.fullmatch(r"[\w.]+", first) else f"({first})"
        return (f"{row} * {width} + {second}",)

    def shown(self, texts: Sequence[str]) -> str:
        """Return the whole element with other texts of the sites."""
        whole = self.sites[0].whole
        text, begin = whole.text or b"", whole.start_byte
        for site, new in zip(reversed(self.sites), reversed(texts), strict=True):
            text = text[: site.node.start_byte - begin] + new.encode() + text[site.node.end_byte - begin :]
        return " ".join(text.decode().split())


def exchanged_indices(
    loops: Iterator[Node],
    sites: Sequence[Site],
    extents: dict[str, list[str]],
    variables: Collection[str],
    with_axes_swapped: Callable[[Node], str | None],
    is_usual: Callable[[str, str], bool],
) -> Iterator[KernelChange]:
    """Yield `As[ty][k] * Bs[k][tx]` for `As[k][ty] * Bs[tx][k]`, and for two indices with one variable wrong.

    Args:
        loops: those in which tiles may be read.
        sites: the indices of shared arrays that are read.
        extents: the names and numbers in the extents of each shared array.
        variables: those that depend on the thread's index, and that no loop counts.
        with_axes_swapped: returns an expression with x and y of the thread's index swapped.
        is_usual: returns whether two indices of a tile are usual: x is not in the first, nor y in the second.
    """
    seen: set[tuple[int, ...]] = set()
    for loop in loops:
        update = loop.child_by_field_name("update")
        counted = update and (update.child_by_field_name("left") or update.child_by_field_name("argument"))
        counters = {text_of(counted)} if counted else set()
        reads: dict[str, list[_Read]] = {}
        for read in _reads_in(loop, sites, counters):
            reads.setdefault(read.sites[0].array, []).append(read)
        if len(reads) != 2 or any(len({_text(r) for r in same}) > 1 for same in reads.values()):
            continue
        places = tuple(read.sites[0].node.start_byte for same in reads.values() for read in same)
        if places not in seen:
            seen.add(places)
            yield from _of_two(list(reads.values()), extents, variables, with_axes_swapped, is_usual)


def _text(read: _Read) -> str:
    return text_of(read.sites[0].whole)


def _reads_in(loop: Node, sites: Sequence[Site], counters: set[str]) -> Iterator[_Read]:
    """Yield the elements that a loop reads, of which one index is the loop's counter."""
    wholes: dict[Node, list[Site]] = {}
    for site in sites:
        if is_inside(site.whole, loop):
            wholes.setdefault(site.whole, []).append(site)
    for own in wholes.values():
        own.sort(key=lambda site: site.node.start_byte)
        *_, last = own
        if len(own) > 1:
            first, second = (text_of(site.node) for site in own[-2:])
            if (first in counters) != (second in counters):
                counter, other = (first, second) if first in counters else (second, first)
                yield _Read(tuple(own[-2:]), other, counter, first in counters, "")
            continue
        if (read := _read_of(last, counters)) is not None:
            yield read


def _read_of(site: Site, counters: set[str]) -> _Read | None:
    """Return the element of a tile of one dimension, such as `As[ty * TILE + k]`; None for other indices."""
    terms = terms_of(site.node)
    for product in (term for term in terms if sign_of(term) == "*"):
        rest = " + ".join(text_of(term) for term in terms if term != product)
        sides = [product.child_by_field_name(side) for side in ("left", "right")]
        for row, width in (sides, sides[::-1]):
            is_width = re.fullmatch(r"\w+", text_of(width)) and text_of(width) not in counters
            if not (is_width and rest):
                continue
            if text_of(row) in counters and not counters & {*re.findall(r"\w+", rest)}:
                return _Read((site,), rest, text_of(row), True, text_of(width))
            if rest in counters:
                return _Read((site,), text_of(row).strip("()"), rest, False, text_of(width))
    return None


def _of_two(
    pair: Sequence[Sequence[_Read]],
    extents: dict[str, list[str]],
    variables: Collection[str],
    with_axes_swapped: Callable[[Node], str | None],
    is_usual: Callable[[str, str], bool],
) -> Iterator[KernelChange]:
    """Yield the elements of two tiles with other indices: of one tile, or of both."""
    names = [{text_of(n) for s in same[0].sites for n in all_of(s.node, "identifier")} for same in pair]
    own = [sorted(each & set(variables)) for each in names]
    options: list[dict[tuple[str, ...], bool]] = []  # the texts of the sites, and whether they are usual
    for (read, *_), threads, others in zip(pair, own, own[::-1], strict=True):
        of_thread = [read.of_thread]
        for site in read.sites:
            swapped = with_axes_swapped(site.node)
            if swapped is not None and text_of(site.node) == read.of_thread:
                of_thread.append(swapped)
        of_thread += [
            re.sub(rf"\b{re.escape(one)}\b", other, read.of_thread)
            for one, other in itertools.product(threads, others)
        ]
        forms: dict[tuple[str, ...], bool] = {}
        for text, is_row in itertools.product(of_thread, (read.is_row, not read.is_row)):
            other_widths = (
                extents.get(read.sites[0].array, []) if is_row != read.is_row and read.width else []
            )
            indices = (read.counter, text) if is_row else (text, read.counter)
            for width in (read.width, *other_widths):
                forms[read.with_indices(text, is_row=is_row, width=width)] = is_usual(*indices)
        options.append(dict(itertools.islice(forms.items(), _MOST_FORMS)))
    old = [next(iter(forms)) for forms in options]
    was_usual = any(forms[texts] for forms, texts in zip(options, old, strict=True))
    for new in itertools.product(*options):
        changed = [(same, new[n]) for n, same in enumerate(pair) if new[n] != old[n]]
        are_usual = all(forms[texts] for forms, texts in zip(options, new, strict=True))
        is_swap = len(changed) == 1 and len(changed[0][1]) == 2 and changed[0][1][::-1] in old
        if changed and not is_swap:  # of the two indices of one array, which is a change of its own
            yield _change(changed, 1 if are_usual and not was_usual else 1 + len(changed))


def _change(changed: Sequence[tuple[Sequence[_Read], tuple[str, ...]]], rank: int) -> KernelChange:
    sites = [
        (site, text)
        for same, new in changed
        for read in same
        for site, text in zip(read.sites, new, strict=True)
    ]
    arrays = " and ".join(same[0].sites[0].array for same, _ in changed)
    old = " and ".join(" ".join(_text(same[0]).split()) for same, _ in changed)
    better = " and ".join(same[0].shown(new) for same, new in changed)
    lines = sorted({file_and_line_of(site.node)[1] for site, _ in sites})
    where = f" in lines {' and '.join(map(str, lines))}" if len(lines) > 1 else ""
    return KernelChange(
        f"the wrong indices are used where {arrays} {'are' if len(changed) > 1 else 'is'} read: {old} "
        f"instead of {better}",
        f"write {better}{where}", "" if len(changed) > 1 else arrays, *file_and_line_of(sites[0][0].node),
        tuple((site.node.start_byte, site.node.end_byte, text) for site, text in sites), rank,
    )  # fmt: skip
