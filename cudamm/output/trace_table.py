"""The tables of `trace`: a row per access, then totals, intensity, and what was traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.analysis.trace import (
    ACROSS_LINES,
    AS_WRITTEN,
    IN_PART,
    Totals,
    TraceResult,
    arrays,
    may_be_wide,
    pattern,
    varying,
)
from cudamm.devices.observation import Access, Space
from cudamm.output.console import print_fitting
from cudamm.output.failed_rows import print_failed
from cudamm.output.number_format import folded, parameters, percent, significant, times, variant
from cudamm.output.warp_drawing import render as render_warp

_LEGEND = {
    "global": "sector: 32 bytes of global memory. ideal: sectors per request if the different bytes "
    "requested were adjacent. efficiency: ideal sectors / actual sectors. used: share of the moved bytes "
    "that a thread requested.",
    "shared": "wavefront: one pass through the 32 banks of shared memory. ideal: wavefronts per request "
    "without bank conflicts.",
}

_COUNTED = (
    "All requests to the L1 cache are counted, hits included. Accesses to registers, stacks and constants "
    "are not counted."
)
_PADDED = (
    "the matrices are padded with zeros to the multiples that the kernel needs; accesses to the padding "
    "count, its operations do not"
)
_AS_WRITTEN = (
    "shared loads are counted as written in the source, although nvcc may merge some of them into loads of "
    "16 bytes"
)

MOST_DETAILED = 6
"""Maximum number of variants for which each access has a row."""

_NOT_DETAILED = (
    f"A row for each load and store is printed only for {MOST_DETAILED} variants or fewer: choose them with "
    "-m. --json FILE writes all rows."
)

MOST_SOURCE = 48
"""Maximum columns of a source line in a table."""


def render(console: Console, results: Sequence[TraceResult]) -> None:
    """Print a summary of several variants, tables of each, what varies with the size, remarks, a legend."""
    traced = [result for result in results if result.status == "ok"]
    if len(traced) > 1:
        for _, group in itertools.groupby(traced, key=_size):
            rows = list(group)
            print_fitting(console, (_summary(rows, detail) for detail in (2, 1, 0)))
    if len(traced) <= MOST_DETAILED:
        for result in traced:
            _print_one(console, result)
    else:
        console.print(_NOT_DETAILED, style="dim")
    _print_troubles(console, results)
    for line in of_sizes(traced):
        console.print(escape(line))
    _print_notes(console, traced)


def render_warps(console: Console, results: Sequence[TraceResult]) -> None:
    """Print the elements that one warp of each variant touches, drawn as matrices."""
    render_warp(console, [(_title(result), result.watched) for result in results if result.watched])
    _print_troubles(console, results)


def render_comparison(console: Console, left: TraceResult, right: TraceResult) -> None:
    """Print two variants side by side, by kind of access, with ratios."""
    if left.status == right.status == "ok":
        console.print(_comparison(left, right))
        for result in (left, right):
            console.print(escape(_name(result, False) + ": " + _of_intensity(result)))
    _print_troubles(console, (left, right))
    if left.status == right.status == "ok":
        _print_notes(console, (left, right))


def _size(result: TraceResult) -> tuple[int, int, int, str]:
    return result.m, result.n, result.k, result.dtype


def _name(result: TraceResult, with_size: bool = True) -> str:
    name = variant(result.method, result.params)
    return f"{name} at {_of_size(result)}" if with_size else name


def _short_name(result: TraceResult, among: Sequence[TraceResult]) -> str:
    """Return the shortest name that distinguishes a variant from the others."""
    name = result.method
    if any(other.method == name and other.params != result.params for other in among):
        name = _name(result, False)
    return name if len({_size(other) for other in among}) == 1 else f"{name} at {_of_size(result)}"


def _of_size(result: TraceResult) -> str:
    return f"{result.m}x{result.n}x{result.k} {result.dtype}"


def _title(result: TraceResult) -> str:
    size = f"{result.m} x {result.n} x {result.k} (M x N x K)"
    return f"{_name(result, False)}, {size}, {result.dtype}"


def _print_troubles(console: Console, results: Sequence[TraceResult]) -> None:
    for result in results:
        if result.status != "ok":
            print_failed(console, result.status, _name(result), result.reason)


def _print_notes(console: Console, traced: Sequence[TraceResult]) -> None:
    for note in notes(traced):
        console.print(escape(note), style="dim")


def notes(traced: Sequence[TraceResult]) -> list[str]:
    """Return how variants were traced, what was counted, and what the words of the tables mean."""
    found = remarks(traced)
    if any(result.padded for result in traced):
        found.append(_PADDED)
    spaces = {access.space for result in traced for access in result.accesses}
    found += [text for space, text in _LEGEND.items() if space in spaces]
    if traced:
        found.append(_COUNTED)
    return found


def remarks(results: Sequence[TraceResult]) -> list[str]:
    """Return notes on how variants were traced: the number of blocks, and how loads were merged."""
    found: dict[str, list[TraceResult]] = {}
    for result in results:
        for text in _remarks(result):
            found.setdefault(text, []).append(result)
    return [
        text
        if len(of) == len(results)
        else f"{', '.join(_short_name(result, results) for result in of)}: {text}"
        for text, of in found.items()
    ]


def _remarks(result: TraceResult) -> Iterator[str]:
    traced, blocks = result.blocks
    if traced < blocks:
        parts = [(c.name, len(c.traced), c.blocks) for c in result.classes if c.stores]
        beyond = [c for c in result.classes if not c.stores]
        if beyond:
            counts = sum(len(c.traced) for c in beyond), sum(c.blocks for c in beyond)
            parts.append(("blocks that store nothing", *counts))
        of = "; ".join(f"{name} {count:,} of {number:,}" for name, count, number in parts)
        yield (
            f"scaled from {traced} traced blocks to the grid's {blocks:,} ({of}): exact if all blocks of a "
            "part access memory alike, else estimates; --all traces all blocks"
        )
    warps, had = result.warps
    if warps < had:
        represent = "represents" if warps == 1 else "represent"
        yield (
            f"{warps:,} of the {had:,} warps in these blocks {represent} all warps: exact if the warps of a "
            "block access memory alike, else estimates; --all traces all warps"
        )
    if result.wide_lines:
        lines = ", ".join(map(str, sorted(result.wide_lines)))
        wide = (a for a in result.accesses if a.space == "shared" and a.line in (result.wide_lines or ()))
        what = " and ".join(sorted({f"{access.op}s" for access in wide}))
        widths = " and ".join(map(str, result.merged_bytes))
        yield f"shared {what} in line {lines} are counted as nvcc merges them, into {what} of {widths} bytes"
    if result.repeated_lines:
        lines = ", ".join(map(str, sorted(result.repeated_lines)))
        yield f"an element that is read again in line {lines} comes from a register, and is counted once"
    if ACROSS_LINES in result.why_as_written:
        yield (
            f"{result.why_as_written}; these are counted one by one, and a GPU makes fewer requests, perhaps "
            "with fewer wavefronts"
        )
    elif result.why_as_written.startswith(IN_PART):
        yield (
            f"{result.why_as_written}, whose rows begin at different multiples of 16 bytes: their count is "
            "an estimate, and a GPU may need fewer"
        )
    elif result.wide_lines is None and any(map(may_be_wide, result.accesses)):
        is_asked = result.why_as_written in ("", AS_WRITTEN)
        yield _AS_WRITTEN + ("" if is_asked else f": {result.why_as_written}")


def _print_one(console: Console, result: TraceResult) -> None:
    console.print(f"[bold]{escape(_title(result))}[/]", soft_wrap=True)
    spaces: tuple[Space, ...] = ("global", "shared")
    for space in spaces:
        if any(access.space == space for access in result.accesses):
            print_fitting(console, (_table(result, space, detail) for detail in (4, 3, 2, 1, 0)))
    console.print(escape(_of_intensity(result)))


def _of_intensity(result: TraceResult) -> str:
    parts = []
    if result.intensity is not None and result.intensity_with_stores is not None:
        with_stores = significant(result.intensity_with_stores)
        parts.append(f"{significant(result.intensity)} op/B loaded ({with_stores} with stores)")
    if result.sector_intensity is not None:
        parts.append(f"{significant(result.sector_intensity)} op/B moved in sectors, with stores")
    of_bytes, of_sectors = result.bytes_against_naive, result.sectors_against_naive
    if of_bytes is not None and of_sectors is not None:
        parts.append(
            f"compared with cudamm's naive: {times(of_bytes)} the bytes and {times(of_sectors)} the sectors"
        )
    if result.shared_bytes_per_multiply_add is not None:
        of_shared = significant(result.shared_bytes_per_multiply_add)
        parts.append(f"{of_shared} B loaded from shared memory per multiply-add")
    return "; ".join(parts)


Column = tuple[str, int, Callable[[Any], str]]
"""A heading, the minimum detail at which it is shown, and the cell of an access or of totals."""


def _per_request(count: int, requests: int) -> str:
    return f"{count / requests:.4g}" if requests else ""


def _share(part: int, whole: int) -> str:
    return percent(part / whole) if whole else ""


def _megabytes(count_bytes: float) -> str:
    amount = count_bytes / 1e6
    return significant(amount) if amount < 1000 else f"{amount:,.0f}"


_COLUMNS: dict[Space, tuple[Column, ...]] = {
    "global": (
        ("requests", 1, lambda of: f"{of.requests:,}"),
        ("sectors per request", 0, lambda of: _per_request(of.sectors, of.requests)),
        ("ideal", 1, lambda of: _per_request(of.ideal_sectors, of.requests)),
        ("efficiency", 0, lambda of: _share(of.ideal_sectors, of.sectors)),
        ("requested (MB)", 3, lambda of: _megabytes(of.bytes_requested)),
        ("moved (MB)", 2, lambda of: _megabytes(of.sectors * 32)),
        ("used", 2, lambda of: _share(of.bytes_used, of.sectors * 32)),
    ),
    "shared": (
        ("requests", 1, lambda of: f"{of.requests:,}"),
        ("wavefronts per request", 0, lambda of: _per_request(of.wavefronts, of.requests)),
        ("ideal", 1, lambda of: _per_request(of.ideal_wavefronts, of.requests)),
        ("efficiency", 0, lambda of: _share(of.ideal_wavefronts, of.wavefronts)),
        ("requested (MB)", 3, lambda of: _megabytes(of.bytes_requested)),
    ),
}


def _table(result: TraceResult, space: Space, detail: int) -> Table:
    """Return a table of the accesses to a memory and their totals.

    Args:
        detail: 4 with the source line; 3 without it; 2 also without the bytes requested; 1 also without the
            bytes moved, and with short words; 0 also without the requests.
    """
    title = f"{space} memory ({result.file})"
    table = Table(title=escape(title), title_justify="left")
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("access", no_wrap=True)
    if detail > 3:
        table.add_column("source", no_wrap=True)
    shown = [column for column in _COLUMNS[space] if column[1] <= detail]
    for heading, _, _ in shown:
        words = (
            heading
            if detail > 1
            else heading.replace(" per ", "\nper ").replace("efficiency", "effi-\nciency")
        )
        table.add_column(words, justify="right", no_wrap=True)
    table.add_column("pattern", no_wrap=True)
    accesses = [access for access in result.accesses if access.space == space]
    for line, group in itertools.groupby(accesses, key=lambda access: access.line):
        for i, access in enumerate(group):
            source = [_source(access.text) if i == 0 else ""] if detail > 3 else []
            texts = [str(line) if i == 0 else "", f"{access.array or '?'} {access.op}", *source]
            cells = [cell(access) for _, _, cell in shown]
            table.add_row(*map(escape, texts), *cells, _pattern(pattern(access), detail))
    table.add_section()
    for name, of in _sums(result, space, accesses):
        table.add_row("", name, *([""] if detail > 3 else []), *(cell(of) for _, _, cell in shown), "")
    return table


def _pattern(words: str, detail: int) -> str:
    return words if detail > 0 else words.replace(" ", "\n")


def _source(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MOST_SOURCE else text[: MOST_SOURCE - 1] + "…"


def _sums(result: TraceResult, space: Space, accesses: Sequence[Access]) -> Iterator[tuple[str, Totals]]:
    """Yield the totals of each kind of access that has several rows, and the totals of all kinds."""
    ops = list(dict.fromkeys(access.op for access in accesses))
    for op in ops:
        yield f"all {op}s", result.total(space, op)
    if len(ops) > 1:
        yield "total", result.total(space)


def _summary(results: Sequence[TraceResult], detail: int) -> Table:
    """Return a table with a row per variant.

    Args:
        detail: 2 for everything; 1 with a parameter a line and short words; 0 without intensities and stores.
    """
    of = results[0]
    title = f"{of.m} x {of.n} x {of.k} (M x N x K), {of.dtype}"
    table = Table(title=escape(title), title_justify="left", title_style="bold")
    table.add_column("method", no_wrap=True)
    table.add_column("parameters", no_wrap=True)
    headings: list[tuple[str, int, Callable[[TraceResult], str]]] = [
        ("sectors per load", 0, lambda r: _mean(r.total("global", "load"))),
        ("sectors per store", 1, lambda r: _mean(r.total("global", "store"))),
        ("wavefronts per load", 0, lambda r: _mean(r.total("shared", "load"))),
        ("wavefronts per store", 1, lambda r: _mean(r.total("shared", "store"))),
        ("op/B loaded", 1, lambda r: significant(r.intensity)),
        (
            "op/B in sectors",
            1,
            lambda r: significant(r.sector_intensity),
        ),
        ("sectors vs naive", 0, lambda r: times(r.sectors_against_naive)),
    ]
    shown = [(heading, cell) for heading, least, cell in headings if least <= detail]
    for heading, _ in shown:
        table.add_column(heading if detail > 1 else heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for method, group in itertools.groupby(results, key=lambda r: r.method):
        for i, result in enumerate(group):
            values = parameters(result.params) if detail > 1 else folded(result.params)
            table.add_row(
                escape(method) if i == 0 else "", escape(values), *(cell(result) for _, cell in shown)
            )
    return table


def _mean(of: Totals) -> str:
    return _per_request(of.sectors or of.wavefronts, of.requests)


def _comparison(left: TraceResult, right: TraceResult) -> Table:
    """Return a table of the counts of both variants, by kind of access."""
    same_method = left.method == right.method
    table = Table(title=escape(_of_sizes((left, right))), title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    for result in (left, right):
        values = folded(result.params) if same_method else ""
        table.add_column(escape(f"{result.method}\n{values}".strip()), justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)

    def add(name: str, space: Space, of: tuple[Totals, Totals]) -> None:
        unit = "sectors" if space == "global" else "wavefronts"
        table.add_row(f"[bold]{escape(name)}[/]", "", "", "")
        rows: list[tuple[str, Callable[[Totals], float], Callable[[float], str]]] = [
            ("requests", lambda t: t.requests, lambda v: f"{v:,.0f}"),
            (unit, lambda t: getattr(t, unit), lambda v: f"{v:,.0f}"),
            (
                f"{unit} per request",
                lambda t: getattr(t, unit) / t.requests,
                lambda v: f"{v:.4g}",
            ),
        ]
        if space == "global":
            rows.append(("moved (MB)", lambda t: t.bytes_moved, _megabytes))
        for label, value, text in rows:
            values = [value(t) if t.requests else None for t in of]
            first, second = values
            ratio = times(second / first) if first and second is not None else ""
            table.add_row(f"  {label}", *("" if v is None else text(v) for v in values), ratio)

    for space, kinds in itertools.groupby(arrays((left, right)), key=lambda kind: kind[0]):
        for _, array, op in kinds:
            pair = left.total(space, op, array), right.total(space, op, array)
            add(f"{array or 'several arrays'} {op}s", space, pair)
        add(f"total, {space} memory", space, (left.total(space), right.total(space)))
        table.add_section()
    return table


def _of_sizes(pair: Sequence[TraceResult]) -> str:
    left, right = pair
    size = f"{left.m} x {left.n} x {left.k} (M x N x K)"
    return f"{size}, {' and '.join(dict.fromkeys((left.dtype, right.dtype)))}"


def of_sizes(results: Sequence[TraceResult]) -> list[str]:
    """Return which accesses of a variant need more or less per request at another size, and which do not.

    Empty if no variant was traced at several sizes of the same type.
    """
    lines = []
    groups: dict[tuple[str, str, str], list[TraceResult]] = {}
    for result in results:
        groups.setdefault((result.method, parameters(result.params), result.dtype), []).append(result)
    for (method, params, dtype), group in groups.items():
        if len(group) < 2:
            continue
        name = f"{method} {params}".strip() + f" {dtype}"
        differ = []
        for (line, array, op), values in varying(group).items():
            if len({round(value, 6) for _, value in values}) > 1:
                each = ", ".join(f"{value:.4g} at {r.m}x{r.n}x{r.k}" for r, value in values)
                differ.append(f"{array or 'the'} {op} in line {line}: {each}")
        if differ:
            differences = "; ".join(differ)
            lines.append(
                f"{name}: sectors or wavefronts per request depend on the size for these accesses: "
                f"{differences}; for all others they do not"
            )
        else:
            lines.append(f"{name}: the sectors and wavefronts per request are the same at each size")
    return lines
