"""docs/ladder.md is complete, with the figures that the script draws and the times that were measured."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from cudamm.kernels.ladder import ladder
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.variant import variants

DOCS = Path(__file__).resolve().parents[1] / "docs"
FIGURES = DOCS / "figures"
LADDER = DOCS / "ladder.md"


def sections() -> dict[str, str]:
    """Return the text of each numbered section of docs/ladder.md by the name of its method, in order."""
    text = LADDER.read_text(encoding="utf-8")
    parts = re.split(r"^## \d+\. `([\w-]+)`\n", text.split("\n## Tiles in registers")[0], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def measured(n: int) -> dict[str, str]:
    """Return each method's median in docs/measured.md, as printed by `cudamm bench -m all` at size n."""
    text = (DOCS / "measured.md").read_text(encoding="utf-8")
    table = text.split(f"\n{n} x {n} x {n} (M x N x K)")[1].split("\n└")[0]
    rows = re.findall(r"^│ ([\w-]+)(?: ‡)? *│[^│]*│[^│]*│ *([\d.]+) │", table, flags=re.MULTILINE)
    return dict(rows)


def measured_rates() -> dict[str, str]:
    """Return GFLOP/s at n = 4096 of the methods in the section "Tiles in registers" of docs/measured.md."""
    section = (DOCS / "measured.md").read_text(encoding="utf-8").split("\n## Tiles in registers\n")[1]
    return dict(re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \|$", section.split("\n## ")[0], flags=re.MULTILINE))


def measured_hot() -> dict[str, dict[tuple[str, str], str]]:
    """Return TFLOP/s by size of each method in the tables of docs/measured.md for a warm cache.

    A size is the title of its column, as in "n = 1024" or "64 × 64 × 65536". A method that is in several of
    the tables, for comparison, has its rates from the first.
    """
    text = (DOCS / "measured.md").read_text(encoding="utf-8")
    rates: dict[str, dict[tuple[str, str], str]] = {}
    for title in (
        "Steps from warp-tile to async-copy",
        "Tensor cores",
        "Launches that overlap",
        "Tensor cores in float64",
        "Float64 without pauses",
        "Float8",
        "Tiles that fill whole waves",
        "Tensor cores for tf32",
        "Tensor cores and rows that begin anywhere",
    ):
        table = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
        head = table.split("\n|---")[0].split("\n| method")[1]
        sizes = re.findall(r"\| ([^|]+) (?=\|)", head)
        for name, cells in re.findall(r"^\| `([\w-]+)` \|(.+)\|$", table, flags=re.MULTILINE):
            values = cells.replace(" ", "").split("|")
            found = {(size, "TFLOP/s"): value for size, value in zip(sizes, values, strict=True) if value}
            rates.setdefault(name, found)
    return rates


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the figures that the script draws now."""
    folder = tmp_path_factory.mktemp("figures")
    script = FIGURES / "draw.py"
    completed = subprocess.run(
        [sys.executable, str(script), str(folder)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stderr == ""
    return folder


def test_every_method_has_a_section_in_the_ladders_order() -> None:
    assert list(sections()) == [method.name for method in ladder()]


def test_sections_have_the_numbers_of_the_files() -> None:
    numbers = re.findall(r"^## (\d+)\. ", LADDER.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [int(number) for number in numbers] == [int(m.path.name.split("_")[0]) for m in ladder()]


@pytest.mark.parametrize("method", ladder(), ids=lambda method: method.name)
def test_a_section_has_its_figure_and_all_paragraphs(method: Method) -> None:
    text = sections()[method.name]
    assert re.findall(r"!\[[^\]]+\]\(figures/(\S+)\)", text) == [f"{method.path.stem}.svg"]
    required = ["Cost", "Measured", "Limit", "Next"]
    paragraphs = re.findall(r"^\*\*([\w ]+)\.\*\*", text, flags=re.MULTILINE)
    assert [word for word in paragraphs if word != "From the courses"] == required


@pytest.mark.parametrize("method", ladder(), ids=lambda method: method.name)
def test_the_times_in_a_section_are_the_measured_times(method: Method) -> None:
    line = sections()[method.name].split("**Measured.** ")[1].split("\n\n")[0]
    a_size = r"n = \d+|\d+ × \d+ × \d+"
    times = re.findall(rf"([\d.]+) (ms|[GT]FLOP/s)\s+at\s+({a_size})", re.split(r"[:.]\s", line)[0])
    quoted = {(size, unit): value for value, unit, size in times}
    tables = {
        ("n = 1024", "ms"): measured(1024),
        ("n = 2048", "ms"): measured(2048),
        ("n = 4096", "GFLOP/s"): measured_rates(),
    }
    expected = {key: table[method.name] for key, table in tables.items() if method.name in table}
    if not expected:  # a warm cache, if there are no rates from a cold one
        hot = measured_hot().get(method.name, {})
        usual = {key: value for key, value in hot.items() if key[0] in ("n = 1024", "n = 4096")}
        expected = usual or hot  # a method for long sums is measured at another size
        assert not expected or ", hot" in line
    assert quoted == expected
    assert expected or line == "Not measured yet."


def test_the_rates_in_the_last_table_are_the_measured_rates() -> None:
    table = LADDER.read_text(encoding="utf-8").split("\n## Tiles in registers side by side\n")[1]
    rates = re.findall(r"^\| `([\w-]+)` \|.*\| ([\d.]*) ?\|$", table.split("\n## ")[0], flags=re.MULTILINE)
    assert len(rates) > 3
    assert {name: rate for name, rate in rates if rate} == measured_rates()


@pytest.mark.parametrize(
    "method", [m for m in ladder() if not m.runs_on_host and m.traffic], ids=lambda method: method.name
)
def test_the_bytes_in_the_table_are_those_of_the_kernels_headers(method: Method) -> None:
    text = LADDER.read_text(encoding="utf-8")
    row = re.search(rf"^\| `{method.name}` \| [^|]* \| ([\d.]+) \|", text, re.MULTILINE)
    assert row is not None
    (variant,) = variants(method, {})
    element = ELEMENT_TYPES[method.element_types[0]]
    traffic = variant.traffic(element, 1024, 1024, 1024)
    assert traffic is not None
    # C is stored once per 1024 multiply-adds, which is less than the table's last digit.
    requested = (traffic.load_bytes + traffic.store_bytes) / 1024**3
    assert float(row[1]) == pytest.approx(requested, abs=element.size_bytes / 1024 + 0.001)


def test_every_file_that_the_page_links_to_exists() -> None:
    text = LADDER.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > len(ladder())
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_the_script_draws_one_figure_per_method_and_no_other_is_stored(drawn: Path) -> None:
    names = {f"{method.path.stem}.svg" for method in ladder()}
    assert {path.name for path in drawn.glob("*.svg")} == names
    assert {path.name for path in FIGURES.glob("*.svg")} == names


def test_the_stored_figures_are_those_that_the_script_draws(drawn: Path) -> None:
    stored = sorted(FIGURES.glob("*.svg"))
    changed = [path.name for path in stored if path.read_bytes() != (drawn / path.name).read_bytes()]
    assert changed == [], "run python docs/figures/draw.py"


@pytest.mark.parametrize("path", sorted(FIGURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_figure_is_a_small_white_page_with_text_in_the_readers_font(path: Path) -> None:
    figure = ElementTree.parse(path).getroot()  # noqa: S314 - a file of the repository
    size = {name: figure.attrib[name] for name in ("width", "height")}
    page = figure[0]
    assert page.tag == "{http://www.w3.org/2000/svg}rect"
    assert page.attrib == {**size, "fill": "#ffffff"}
    assert figure.attrib["font-family"].endswith(",sans-serif")
    assert "font-face" not in path.read_text(encoding="utf-8")
    assert path.stat().st_size < 20_000


def test_adjacent_cells_are_joined_to_one_rectangle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FIGURES)
    from drawing import joined

    square = {(row, col) for row in (2, 3) for col in (5, 6, 7)}
    assert list(joined(square | {(4, 5), (9, 9)})) == [(2, 5, 2, 3), (4, 5, 1, 1), (9, 9, 1, 1)]
