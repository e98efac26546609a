"""A command's output as plain text, HTML, Markdown, SVG and CSV."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cudamm.output.text_formats import csv_of, html, markdown, plain_text, svg


def a_table(*rows: tuple[str, ...], title: str = "1 x 2", caption: str | None = None) -> Table:
    table = Table(title=escape(title), caption=caption)
    table.add_column("method")
    table.add_column("GFLOP/s", justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def test_markdown_has_the_title_columns_rows_and_caption_of_a_table() -> None:
    table = a_table(("naive", "1.5"), ("[bold]tiled[/]", "22"), caption="2 methods")
    assert markdown(lambda console: console.print(table)) == (
        "**1 x 2**\n\n| method | GFLOP/s |\n|---|---:|\n| naive | 1.5 |\n| tiled | 22 |\n\n2 methods\n"
    )


def test_markdown_escapes_special_characters() -> None:
    evil = "a|b <script> *x* _y_ BLOCK_SIZE `c` [d](e) & \\ ."
    text = markdown(lambda console: console.print(a_table((escape(evil), "1"))))
    assert "| a\\|b &lt;script&gt; \\*x\\* \\_y\\_ BLOCK_SIZE \\`c\\` \\[d\\](e) &amp; \\\\ . | 1 |" in text
    assert markdown(lambda console: console.print(escape("# no *heading*"))) == "\\# no \\*heading\\*\n"


def test_markdown_has_lines_as_paragraphs_and_drawings_as_code_blocks() -> None:
    def render(console: Console) -> None:
        console.print("[dim]a note[/]", style="dim")
        console.print()
        console.print(Text("┌──┐\n│  │\n└──┘"), soft_wrap=True)
        console.print("one", "two")

    assert markdown(render) == "a note\n\n```text\n┌──┐\n│  │\n└──┘\n```\n\none\n\ntwo\n"


def test_markdown_uses_a_longer_fence_for_a_drawing_that_contains_one() -> None:
    assert markdown(lambda console: console.print(Text("```\nx"))) == "````text\n```\nx\n````\n"


def test_markdown_of_no_output_is_empty() -> None:
    assert markdown(lambda console: None) == ""


def test_markdown_joins_the_lines_of_a_cell() -> None:
    assert "| a b | 1 |" in markdown(lambda console: console.print(a_table(("a\nb", "1"))))


def test_html_has_the_cells_of_a_table_and_bold_rows() -> None:
    table = a_table(("naive", "1.5"), caption="2 methods")
    table.add_row("[green]tiled[/]", "22", style="bold")
    text = html(lambda console: console.print(table, "a note"))
    root = ElementTree.fromstring(f"<div>{text}</div>")  # noqa: S314 - made by this test
    shown = [[cell.text for cell in row] for row in root.iter("tr")]
    assert shown == [["method", "GFLOP/s"], ["naive", "1.5"], ["tiled", "22"]]
    assert [row.get("style") for row in root.iter("tr")] == [None, None, "font-weight: bold"]
    assert [cell.get("style") for cell in root.iter("td")][:2] == ["text-align: left", "text-align: right"]
    assert root.findtext("table/caption") == "1 x 2"
    assert [paragraph.text for paragraph in root.iter("p")] == ["2 methods", "a note"]


def test_html_escapes_all_text() -> None:
    evil = "<script>alert('&')</script> \"[x]\""

    def render(console: Console) -> None:
        console.print(a_table((escape(evil), "1"), title=evil))
        console.print(escape(evil))
        console.print(escape(f"{evil}\n  two"))

    root = ElementTree.fromstring(f"<div>{html(render)}</div>")  # noqa: S314 - made by this test
    assert root.findtext("table/caption") == root.findtext("table/tbody/tr/td") == root.findtext("p") == evil
    assert root.findtext("pre") == f"{evil}\n  two"
    assert {element.tag for element in root.iter()} == {
        "div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "pre"
    }  # fmt: skip


def test_plain_text_has_no_colours() -> None:
    assert plain_text(lambda console: console.print("[bold red]no[/]", style="dim")) == "no\n"


def test_an_svg_picture_is_well_formed_and_loads_nothing() -> None:
    text = svg(lambda console: console.print(a_table(("<script>", "1"), ("tiled", "2"))), "cudamm bench")
    root = ElementTree.fromstring(text)  # noqa: S314 - made by this test
    shown = "".join(root.itertext()).replace("\xa0", " ")
    assert "cudamm bench" in shown and "<script>" in shown and "tiled" in shown
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert text == svg(
        lambda console: console.print(a_table(("<script>", "1"), ("tiled", "2"))), "cudamm bench"
    )


RECORDS = [
    {
        "method": "tiled",
        "params": {"BLOCK_SIZE": 16},
        "median_ms": 0.25,
        "samples_ms": [0.25, 0.5],
        "fmad": True,
        "verdict": {"correct": True, "max_error": None},
    },
    {
        "method": "a,b",
        "params": {"COARSE": 2},
        "median_ms": None,
        "reason": 'line 1\nwith "quotes", and a comma',
    },
]


def test_csv_has_a_column_per_value_and_can_be_read_back() -> None:
    text = csv_of(RECORDS)
    assert text.count("\r\n") == 3
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert first == {
        "method": "tiled",
        "params.BLOCK_SIZE": "16",
        "median_ms": "0.25",
        "samples_ms": "0.25 0.5",
        "fmad": "true",
        "verdict.correct": "true",
        "verdict.max_error": "",
        "params.COARSE": "",
        "reason": "",
    }
    assert second["reason"] == RECORDS[1]["reason"]
    assert second["params.COARSE"] == "2"
    assert second["median_ms"] == ""


@pytest.mark.parametrize("start", [*"=+-@", "\t", "\r"])
def test_csv_text_is_not_a_formula_for_a_spreadsheet(start: str) -> None:
    (row,) = csv.DictReader(io.StringIO(csv_of([{"method": f"{start}x", "ratio": -1.5}]), newline=""))
    assert row == {"method": f"'{start}x", "ratio": "-1.5"}


def test_csv_numbers_have_all_digits() -> None:
    value = 0.1 + 0.2
    (row,) = csv.DictReader(io.StringIO(csv_of([{"median_ms": value}]), newline=""))
    assert float(row["median_ms"]) == value == json.loads(row["median_ms"])


def test_csv_of_no_records_is_empty() -> None:
    assert csv_of([]) == ""
