"""`cudamm list`: the fields of the headers, in full at every width."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "cuda_src"
LADDER = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cu", ".cpp", ".py"))
LIBRARIES = sorted((SOURCES / "library").glob("*.py"))
FILES = [*LADDER, *LIBRARIES]


def names_of(path: Path) -> list[str]:
    """Return the name and the aliases of a method, read from its file."""
    name = re.sub(r"^\d+_", "", path.stem).replace("_", "-")
    aliases = re.search(r"^// aliases: *(.+)$", path.read_text(), re.MULTILINE)
    return [name, *(re.split(r",\s*", aliases[1]) if aliases else [])]


def squeezed(text: str) -> str:
    """Return the text without spaces and without the lines of a table."""
    return re.sub(r"[\s│┃]+", "", text)


def test_the_json_rows_have_the_fields_of_the_headers(run) -> None:
    result = run("list --json -")
    assert result.status == 0 and result.stderr == ""
    document = json.loads(result.stdout)
    assert document["schema"] == "cudamm.list/1"
    assert document["environment"]["cudamm"]
    assert [row["file"] for row in document["results"]] == [path.name for path in FILES]
    for row, path in zip(document["results"], FILES, strict=True):
        text = path.read_text()
        assert [row["method"], *row["aliases"]] == names_of(path)
        assert row["runs_on_host"] == (path.suffix != ".cu" and path in LADDER)
        needs = re.search(r"^// needs: +(\w+)$", text, re.MULTILINE)
        assert row["needs"] == (needs[1] if needs else None)
        assert row["summary"] == text.splitlines()[0].lstrip("/# ")
        declared = re.findall(r"^// param: +(\w+) = (\d+) in (.+)$", text, re.MULTILINE)
        assert row["parameters"] == [
            {"name": name, "default": int(default), "values": list(map(int, values.split(",")))}
            for name, default, values in declared
        ]


def test_a_column_tells_whether_a_method_runs_on_host_gpu_or_cpu(on_terminal) -> None:
    """The CPU device executes kernels for sm_80 and older architectures."""
    result = on_terminal("list", COLUMNS="240", NO_COLOR="1")
    rows = [[cell.strip() for cell in line.split("│")] for line in result.stdout.splitlines() if "│" in line]
    where = {cells[1]: cells[4] for cells in rows if cells[1]}
    names = ("numpy", "naive", "stream-k", "tma", "bf16x9", "cublas")
    assert [where[name] for name in names] == ["host", "GPU, CPU", "GPU, CPU", "GPU", "GPU", "GPU"]


@pytest.mark.parametrize("columns", [100, 240])
def test_element_types_stand_below_the_device_if_they_are_not_the_usual_ones(
    on_terminal, columns: int
) -> None:
    for name, types in (
        ("naive", []),
        ("tma", []),
        ("bf16x9", ["float32"]),
        ("dmma", ["float64"]),
        ("mma", ["float16", "bfloat16"]),
        ("cublas", ["float32", "float64", "float16", "bfloat16", "tf32"]),
    ):
        shown = on_terminal(f"list -m {name}", COLUMNS=str(columns), NO_COLOR="1").stdout
        column = 4 if columns == 240 else 1
        cells = [line.split("│")[column].strip() for line in shown.splitlines() if line.startswith("│")]
        where = next(i for i, cell in enumerate(cells) if cell in ("GPU", "GPU, CPU"))
        assert [cell for cell in cells[where + 1 :] if cell] == types, name


@pytest.mark.parametrize("columns", [60, 80, 100, 160, 240])
def test_the_table_is_complete_at_every_width(on_terminal, columns: int) -> None:
    result = on_terminal("list", COLUMNS=str(columns), NO_COLOR="1")
    assert result.status == 0
    assert max(map(len, result.stdout.splitlines())) <= columns
    assert "…" not in result.stdout
    words = set(re.split(r"[\s│┃,]+", result.stdout))
    for path in FILES:
        assert set(names_of(path)) <= words
    positions = [re.search(rf"\b{re.escape(names_of(path)[0])}\s", result.stdout) for path in FILES]
    assert all(positions)
    for name, default, values in [("TILE_SIZE", 4, "1, 2, 4, 8, 16, 32, 64"), ("PAD", 1, "0, 1")]:
        assert f"{name} = {default}" in result.stdout
        assert values in result.stdout
    assert "host" in words


def test_every_summary_and_source_is_printed_in_full(run) -> None:
    for path in FILES:
        # With one method, the folded lines of a cell follow each other.
        record = run(f"list -m {names_of(path)[0]} --json -").records[0]
        shown = run(f"list -m {names_of(path)[0]}").stdout
        rows = [line.split("│") for line in shown.splitlines() if line.startswith("│")]
        columns = ["".join(cells) for cells in zip(*rows, strict=True)]
        assert squeezed(columns[5]) == squeezed(record["summary"])
        assert squeezed(columns[6]) == squeezed(record["sources"])


def test_methods_are_listed_in_the_order_of_the_ladder_and_by_alias(run) -> None:
    rows = run("list -m method3,cosimple -m numpy -m tiled --json -").records
    assert [row["method"] for row in rows] == ["numpy", "naive", "tiled"]
    assert "coalesced" not in run("list -m tiled").stdout


def test_the_json_file_is_written_in_addition_to_the_table(run, tmp_path: Path) -> None:
    result = run("list -m naive --json methods.json")
    assert "naive" in result.stdout
    assert [r["method"] for r in json.loads((tmp_path / "methods.json").read_text())["results"]] == ["naive"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("list -m tild", ["unknown method tild", "did you mean tiled"]),
        ("list --json nowhere/methods.json", ["--json", "nowhere"]),
        ("list tiled", ["tiled"]),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(run, line: str, words: list[str]) -> None:
    run(line).refused(2, *words)


def test_output_without_a_terminal_has_no_escape_codes(run) -> None:
    result = run("list")
    assert result.status == 0 and result.stderr == ""
    assert "\x1b" not in result.stdout
