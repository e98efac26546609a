"""A command's output in other forms: plain text, HTML, Markdown and SVG; its records as CSV."""

from __future__ import annotations

import csv
import html as html_text
import io
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.terminal_theme import SVG_EXPORT_THEME
from rich.text import Text

from cudamm.output.console import WIDTH_OF_FILES, ReadableConsole
from cudamm.output.readable_text import REPLACEMENT

Render = Callable[[Console], None]
"""Prints everything on a console."""

WIDTH_OF_PICTURES = 120
"""Width in columns. A README shows a wider picture smaller than its text."""

UNLIMITED = 100_000

_AS_TEXT: dict[str, Any] = {
    "color_system": None, "highlight": False, "emoji": False, "force_jupyter": False
}  # fmt: skip
"""Options of a console that writes text. In a notebook, rich would otherwise display the output."""

# Rich's own format without its font, which would be fetched from the network.
SVG_FORMAT = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
    <style>
    .{unique_id}-matrix {{
        font-family: monospace; font-size: {char_height}px; line-height: {line_height}px;
    }}
    .{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
    {styles}
    </style>
    <defs>
    <clipPath id="{unique_id}-clip-terminal">
      <rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
    </clipPath>
    {lines}
    </defs>
    {chrome}
    <g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
    {backgrounds}
    <g class="{unique_id}-matrix">
    {matrix}
    </g>
    </g>
</svg>
"""


def svg(render: Render, title: str, width: int = WIDTH_OF_PICTURES) -> str:
    """Return a picture of a terminal in which everything is printed.

    Args:
        title: the text at the top of the picture.
        width: width of the terminal, in columns.
    """
    console = ReadableConsole(
        record=True, file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor",
        highlight=False, emoji=False, legacy_windows=False,
    )  # fmt: skip
    render(console)
    # By default rich makes identifiers from the contents, so that they would change with every figure.
    return console.export_svg(title=title, code_format=SVG_FORMAT, theme=SVG_EXPORT_THEME, unique_id="cudamm")


def plain_text(render: Render) -> str:
    """Return everything that is printed, as in a file: without colours."""
    text = io.StringIO()
    render(ReadableConsole(file=text, width=WIDTH_OF_FILES, **_AS_TEXT))
    return text.getvalue()


def markdown(render: Render) -> str:
    """Return everything that is printed, as GitHub's Markdown: tables, and other lines as paragraphs."""
    console = _Blocks(_table, _paragraphs)
    render(console)
    return "\n\n".join(console.blocks) + "\n" if console.blocks else ""


def html(render: Render) -> str:
    """Return everything that is printed, as a part of a page: tables as tables, other lines as paragraphs."""
    console = _Blocks(_html_table, _html_paragraphs)
    render(console)
    return "\n".join(console.blocks)


class _Blocks(Console):
    """A console that stores its output as blocks of another form."""

    def __init__(
        self, table: Callable[[Console, Table], list[str]], paragraphs: Callable[[str], list[str]]
    ) -> None:
        """Take the functions that make blocks of a table, and of plain text."""
        super().__init__(file=io.StringIO(), width=UNLIMITED, **_AS_TEXT)
        self.blocks: list[str] = []
        self._table_blocks = table
        self._paragraphs = paragraphs

    def print(self, *objects: Any, **_: Any) -> None:
        for printed in objects:
            if isinstance(printed, Table):
                self.blocks += self._table_blocks(self, printed)
            else:
                self.blocks += self._paragraphs(_plain(self, printed))


def _plain(console: Console, printed: Any) -> str:
    if isinstance(printed, Text):
        return printed.plain
    if isinstance(printed, str):
        return console.render_str(printed).plain
    with console.capture() as captured:
        Console.print(console, printed)
    return captured.get()


def _paragraphs(text: str) -> list[str]:
    lines = text.strip("\n").rstrip()
    if not lines:
        return []
    if "\n" in lines:  # a drawing, or lines that belong below one another
        fence = "```" + "`" * max((len(run) - 2 for run in re.findall("`{3,}", lines)), default=0)
        return [f"{fence}text\n{lines}\n{fence}"]
    return [_escaped(lines)]


def _table(console: Console, table: Table) -> list[str]:
    titles = [f"**{_cell(console, table.title)}**"] if table.title else []
    captions = [_cell(console, table.caption)] if table.caption else []
    columns = [[_cell(console, cell) for cell in (column.header, *column.cells)] for column in table.columns]
    if not columns:
        return titles + captions
    head, *rows = ("| " + " | ".join(row) + " |" for row in zip(*columns, strict=True))
    rule = "|" + "|".join("---:" if c.justify == "right" else "---" for c in table.columns) + "|"
    return [*titles, "\n".join((head, rule, *rows)), *captions]


def _cell(console: Console, content: Any) -> str:
    return _escaped(_in_one_line(console, content))


def _in_one_line(console: Console, content: Any) -> str:
    return " ".join(_plain(console, content).split())


def _escaped(text: str) -> str:
    """Return text escaped for Markdown. An underscore within a word needs no escape."""
    text = re.sub(r"([\\`*\[\]|~#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))", r"\\\1", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _html_paragraphs(text: str) -> list[str]:
    lines = text.strip("\n").rstrip()
    if not lines:
        return []
    kind = "pre" if "\n" in lines else "p"
    return [f"<{kind}>{html_text.escape(lines)}</{kind}>"]


def _html_table(console: Console, table: Table) -> list[str]:
    """Return a table with the alignment of its columns, and no other style."""
    sides = ["right" if column.justify == "right" else "left" for column in table.columns]

    def row(contents: Iterable[Any], kind: str, style: str = "") -> str:
        texts = (html_text.escape(_in_one_line(console, content)) for content in contents)
        cells = (f'<{kind} style="text-align: {s}">{t}</{kind}>' for s, t in zip(sides, texts, strict=True))
        return f"<tr{style}>{''.join(cells)}</tr>"

    def style_of(number: int) -> str:
        style = table.rows[number].style
        bold = style is not None and console.get_style(style).bold
        return ' style="font-weight: bold"' if bold else ""

    columns = ([*column.cells] for column in table.columns)
    rows = [row(cells, "td", style_of(number)) for number, cells in enumerate(zip(*columns, strict=True))]
    title = html_text.escape(_in_one_line(console, table.title)) if table.title else ""
    made = [
        "<table>",
        *([f'<caption style="text-align: left">{title}</caption>'] if title else []),
        f"<thead>{row([column.header for column in table.columns], 'th')}</thead>",
        "<tbody>", *rows, "</tbody>",
        "</table>",
    ]  # fmt: skip
    caption = _html_paragraphs(_in_one_line(console, table.caption)) if table.caption else []
    return ["\n".join(made), *caption]


def csv_of(records: Iterable[Mapping[str, Any]]) -> str:
    """Return records as CSV (RFC 4180), a row per record, with the names and values of the JSON.

    A nested value is named by its path, such as `params.BLOCK_SIZE`. Lists are joined by spaces. Missing
    and null values are empty.
    """
    rows = [_flat(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    if names:
        writer.writerow(_without_nul(name) for name in names)
    writer.writerows(map(row.get, names) for row in rows)
    return text.getvalue()


_AS_CSV_WRITES = frozenset({int, float, type(None)})
"""Types of values that the writer of CSV itself makes text of, faster: digits, and nothing for None."""


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the writer of CSV gets: the values by their paths."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if type(value) in _AS_CSV_WRITES:
            flat[name] = value
        elif not isinstance(value, str) and isinstance(value, Mapping):  # the check for a mapping is slow
            flat.update((f"{name}.{path}", inner) for path, inner in _flat(value).items())
        else:
            flat[name] = _text(value)
    return flat


def _without_nul(text: str) -> str:
    """Replace the character 0, which Python 3.10 neither writes to CSV nor reads."""
    return text.replace("\0", REPLACEMENT)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return " ".join(map(repr if {*map(type, value)} == {float} else _text, value))
    if isinstance(value, str):
        # Spreadsheets interpret such text as a formula, and its origin is not trusted.
        is_formula = value[:1] in ("=", "+", "-", "@", "\t", "\r")
        return _without_nul(f"'{value}" if is_formula else value)
    return repr(value)
