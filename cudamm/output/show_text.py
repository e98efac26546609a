"""The output of `show`: a program's source, PTX or machine code; two of them compared; resources."""

from __future__ import annotations

import difflib
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from cudamm.compile.listing import Line
from cudamm.compile.resources import Resources
from cudamm.output.console import print_fitting
from cudamm.output.number_format import folded, parameters
from cudamm.output.readable_text import readable

Language = Literal["cuda", "c++", "python", "ptx", "sass"]

NARROWEST_PAIR = 100
"""Minimum columns of a console for two listings side by side."""

CONTEXT_LINES = 3
"""Lines shown around a difference in a unified diff."""

_COLOURS = "ansi_dark"  # the terminal's own sixteen colours, whatever its background is
_LEFT, _RIGHT = "red", "green"


@dataclass(frozen=True)
class Shown:
    """A listing to be printed.

    Attributes:
        title: the variant, and the target of its compilation.
        name: a short name.
        text: the whole listing.
        lines: the lines to compare with another listing.
    """

    title: str
    name: str
    language: Language
    text: str
    lines: tuple[Line, ...]

    @property
    def is_source(self) -> bool:
        """Return whether the listing is source code, which has no instructions to count."""
        return self.language not in ("ptx", "sass")

    @property
    def opcodes(self) -> tuple[str, ...]:
        """Return the opcodes of the listing's instructions, in order."""
        return tuple(line.opcode for line in self.lines if line.opcode)


def source_lines(text: str) -> tuple[Line, ...]:
    """Return the lines of a source for a comparison that ignores spaces at their ends."""
    return tuple(Line(line, "", line.rstrip()) for line in _lines(text))


def _lines(text: str) -> list[str]:
    """Return the lines as compilers count them: only a line feed ends a line."""
    return text.removesuffix("\n").split("\n")


def render(console: Console, shown: Sequence[Shown], numbers: bool) -> None:
    """Print listings in order: in colour on a terminal, else unchanged, so that they can be compiled.

    Args:
        numbers: whether to print the line numbers of sources.
    """
    for position, listing in enumerate(shown):
        if position:
            console.print()
        sign = "#" if listing.language == "python" else "//"
        console.print(Text(f"{sign} {listing.title}", "bold"), soft_wrap=True)
        is_numbered = numbers and listing.is_source
        if not console.is_terminal:
            _print_plain(console, listing, is_numbered)
        elif is_numbered:
            table = Table.grid(padding=(0, 1))
            table.add_column(justify="right", style="dim", no_wrap=True)
            table.add_column(overflow="fold")
            lines = _highlighted(listing.text, listing.language)
            for number, line in zip(_line_numbers(listing.text), lines, strict=True):
                table.add_row(number, line)
            console.print(table)
        else:
            for line in _highlighted(listing.text, listing.language):
                console.print(line, soft_wrap=True)


def _print_plain(console: Console, listing: Shown, numbers: bool) -> None:
    if not numbers:
        # Unchanged in a file, tabs included: it may be compiled again.
        console.file.write(readable(listing.text) if console.is_terminal else listing.text)
        return
    numbered = _line_numbers(listing.text)
    for number, line in zip(numbered, _lines(listing.text), strict=True):
        console.out(f"{number:>{len(numbered[-1])}} {line}".rstrip(), highlight=False)


def _line_numbers(text: str) -> list[str]:
    """Return each line's number in its method's own file, as in compilers' messages.

    Lines that cudamm inserts before the file, between two `#line` directives, have no number.
    """
    lines = _lines(text)
    directives = [at for at, line in enumerate(lines) if line.startswith('#line 1 "')]
    before = directives[1] + 1 if len(directives) > 1 else 0
    return [str(at + 1 - before) if at >= before else "" for at in range(len(lines))]


def _highlighted(text: str, language: Language) -> list[Text]:
    """Return a text per line, without colours if the language has none."""
    syntax = Syntax(
        "", "text" if language == "sass" else language, theme=_COLOURS, background_color="default"
    )
    found = list(syntax.highlight(text).split("\n"))
    wanted = len(_lines(text))  # the highlighter drops or adds empty lines at the end
    return [*found, *(Text() for _ in range(wanted - len(found)))][:wanted]


def render_diff(console: Console, left: Shown, right: Shown) -> None:
    """Print two aligned listings with their differences marked, then the differences in instructions.

    The listings are side by side if the console is wide enough, else a unified diff. Marks: `|` differs,
    `<` only in the left listing, `>` only in the right listing.
    """
    rows = _aligned(left, right)
    if console.width >= NARROWEST_PAIR:
        console.print(_pair(console, rows, left, right))
    else:
        for line in _unified(rows, left, right):
            console.print(line, soft_wrap=True)
    for sentence in _conclusion(rows, left, right):
        console.print(escape(sentence), soft_wrap=not console.is_terminal)


@dataclass(frozen=True)
class _Pair:
    """Two lines side by side; None if only the other listing has a line."""

    left: Line | None
    right: Line | None

    @property
    def mark(self) -> str:
        if self.left is None or self.right is None:
            return ">" if self.left is None else "<"
        return " " if self.left.compared == self.right.compared else "|"


def _aligned(left: Shown, right: Shown) -> list[_Pair]:
    # If both have the same instructions in order, equal instructions are paired, whatever their operands.
    by_opcode = not left.is_source and left.opcodes == right.opcodes
    ours, theirs = (
        [line.opcode if by_opcode and line.opcode else line.compared for line in of.lines]
        for of in (left, right)
    )
    pairs: list[_Pair] = []
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        both = itertools.zip_longest(left.lines[i1:i2], right.lines[j1:j2])
        pairs += (_Pair(*lines) for lines in both)
    return pairs


def _pair(console: Console, rows: Sequence[_Pair], left: Shown, right: Shown) -> Table:
    half = (console.width - 3) // 2
    table = Table(box=None, padding=0, pad_edge=False, header_style="bold")
    for of in (left, right):
        if of is right:
            table.add_column("", width=3, justify="center")
        widest = max([len(of.title), *(len(line.text) for line in of.lines)])
        table.add_column(Text(of.title), overflow="fold", width=min(half, widest))
    for row in rows:
        ours, theirs = (line.text if line else "" for line in (row.left, row.right))
        same = row.mark == " "
        table.add_row(
            Text(ours, "" if same else _LEFT), Text(row.mark, "bold"), Text(theirs, "" if same else _RIGHT)
        )
    return table


def _unified(rows: Sequence[_Pair], left: Shown, right: Shown) -> Iterator[Text]:
    yield Text(f"--- {left.title}", f"bold {_LEFT}")
    yield Text(f"+++ {right.title}", f"bold {_RIGHT}")
    for start, end in _hunks(rows):
        counts = _counted(rows[start:end])
        before = _counted(rows[:start])
        yield Text(f"@@ -{before[0] + 1},{counts[0]} +{before[1] + 1},{counts[1]} @@", "cyan")
        for differs, group in itertools.groupby(rows[start:end], key=lambda row: row.mark != " "):
            ours, theirs = _sides(list(group))
            if not differs:
                yield from (Text(f" {line.text}") for line in ours if line)
                continue
            yield from (Text(f"-{line.text}", _LEFT) for line in ours if line)
            yield from (Text(f"+{line.text}", _RIGHT) for line in theirs if line)


def _sides(rows: Sequence[_Pair]) -> tuple[list[Line | None], list[Line | None]]:
    return [row.left for row in rows], [row.right for row in rows]


def _counted(rows: Sequence[_Pair]) -> tuple[int, int]:
    """Return the number of lines of the left listing, and of the right one."""
    ours, theirs = (sum(line is not None for line in lines) for lines in _sides(rows))
    return ours, theirs


def _hunks(rows: Sequence[_Pair]) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows that contain all differences and some lines around them."""
    start = end = 0
    for at, row in enumerate(rows):
        if row.mark == " ":
            continue
        if at - CONTEXT_LINES > end and end:
            yield start, end
            start = at - CONTEXT_LINES
        elif not end:
            start = max(0, at - CONTEXT_LINES)
        end = min(len(rows), at + 1 + CONTEXT_LINES)
    if end:
        yield start, end


def _conclusion(rows: Sequence[_Pair], left: Shown, right: Shown) -> Iterator[str]:
    differing = [row for row in rows if row.mark != " "]
    counts = _counted(differing)
    sentence = (
        f"{counts[0]} of {len(left.lines)} lines of {left.name} and {counts[1]} of {len(right.lines)} of "
        f"{right.name} differ"
        if differing
        else "No line differs"
    )
    if left.is_source:
        yield f"{sentence}."
        return
    yield f"{sentence}; the numbers of registers and labels are not compared."
    yield compared_instructions(left.name, left.opcodes, right.name, right.opcodes)


def compared_instructions(name: str, opcodes: Sequence[str], other_name: str, others: Sequence[str]) -> str:
    """Return sentences that count the instructions of both listings by opcode, with the differences."""
    ours, theirs = Counter(opcodes), Counter(others)
    total = f"Instructions: {name} {len(opcodes)}, {other_name} {len(others)}."
    same = [f"{opcode} {count}" for opcode, count in ours.most_common() if theirs[opcode] == count]
    if ours == theirs:
        order = "in the same order" if tuple(opcodes) == tuple(others) else "in another order"
        return f"{total} Each opcode occurs equally often in both, {order}: {', '.join(same)}."
    every = list(dict.fromkeys([*ours, *theirs]))
    gap = {opcode: abs(ours[opcode] - theirs[opcode]) for opcode in every if ours[opcode] != theirs[opcode]}
    differing = sorted(gap, key=lambda opcode: -gap[opcode])
    counts = ", ".join(f"{opcode} {ours[opcode]} / {theirs[opcode]}" for opcode in differing)
    same_counts = f" Equal in both: {', '.join(same)}." if same else ""
    return f"{total} They differ in {counts}.{same_counts}"


@dataclass(frozen=True)
class Row:
    """The resources of a variant, or the reason why they are not known.

    Attributes:
        resources: the kernel's resources; None if it does not compile.
        dynamic_shared_bytes: the header's expression for a launch, in words; empty for none.
        reason: the reason why resources are missing.
    """

    method: str
    params: dict[str, int | str]
    dtype: str
    resources: Resources | None
    dynamic_shared_bytes: str = ""
    reason: str = ""


def render_resources(console: Console, arch: str, compiler: str, rows: Sequence[Row]) -> None:
    """Print the resources of a multiprocessor that the compiled kernels use, a row per variant.

    Args:
        compiler: the compiler's name and release.
    """
    print_fitting(console, _resource_tables(f"Resources on {arch}, by {compiler}", rows))
    dynamic = {row.method: row.dynamic_shared_bytes for row in rows if row.dynamic_shared_bytes}
    for method, expression in dynamic.items():
        console.print(
            escape(f"{method} also requests shared memory at launch: {expression} bytes per block."),
            style="dim",
        )
    for row in rows:
        if row.reason:
            what = " ".join(filter(None, (row.method, parameters(row.params), row.dtype)))
            console.print(f"{escape(what)}: [red]{escape(row.reason)}[/]", soft_wrap=True)


_NAMES = (
    "registers\nper thread", "shared memory\nper block (bytes)", "local memory\nper thread (bytes)",
    "spill stores\n(bytes)", "spill loads\n(bytes)", "constant memory\n(bytes)", "barriers\nper block",
    "max threads\nper block",
)  # fmt: skip
_SHORT_NAMES = ("regs", "shared\nbytes", "local\nbytes", "spill\nstores", "spill\nloads", "const\nbytes",
                "bars", "max\nthreads")  # fmt: skip


def _resource_tables(title: str, rows: Sequence[Row]) -> Iterator[Table]:
    several_types = len({row.dtype for row in rows}) > 1
    title += "" if several_types else f", {rows[0].dtype}"
    types = [[row.dtype] if several_types else [] for row in rows]

    wide = _resource_table(title, ("method", "parameters", *["type"] * several_types), _NAMES)
    for row, own in zip(rows, types, strict=True):
        wide.add_row(escape(row.method), escape(parameters(row.params)), *own, *_numbers(row.resources))
    yield wide

    stacked = [
        "\n ".join([row.method, *folded(row.params).splitlines(), *own])
        for row, own in zip(rows, types, strict=True)
    ]
    medium = _resource_table(title, ("method",), _SHORT_NAMES)
    for row, first in zip(rows, stacked, strict=True):
        medium.add_row(escape(first), *_numbers(row.resources))
    yield medium

    narrow = _resource_table(title, ("method",), ("regs", "shared", "local", "spills", "const", "bars"))
    for row, first in zip(rows, stacked, strict=True):
        registers, shared, local, stores, loads, constant, barriers, most = _numbers(row.resources)
        bound = "" if most in ("", "-") else f"\n max {most} threads"
        spills = f"{stores}/{loads}" if row.resources else ""
        narrow.add_row(escape(first + bound), registers, shared, local, spills, constant, barriers)
    yield narrow


def _resource_table(title: str, first: Sequence[str], names: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in first:
        table.add_column(name, no_wrap=True)
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _numbers(of: Resources | None) -> list[str]:
    if of is None:
        return [""] * len(_NAMES)
    bounds = of.max_threads_per_block
    counted = (
        of.registers_per_thread,
        of.static_shared_bytes,
        of.local_bytes_per_thread,
        of.spill_store_bytes,
        of.spill_load_bytes,
        of.constant_bytes,
        of.barriers,
    )
    return [*(f"{number:,}" for number in counted), "-" if bounds is None else f"{bounds:,}"]
