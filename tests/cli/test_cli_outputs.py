"""`--csv`, `--markdown` and `--svg`: every command that prints tables writes its results in these forms."""

from __future__ import annotations

import csv
import io
import json
import sys
import xml.etree.ElementTree as ElementTree

import pytest

BENCH = "bench --device cpu -n 16 -m tiled --block 4,8 --runs 2 --warmup 0 --times"
COMMANDS = {
    "bench": BENCH,
    "sweep": "sweep --device cpu -n 16 -m tiled --block 4,8 --runs 3 --warmup 0 --times --full",
    "verify": "verify --device cpu -n 16 -m tiled --dtype float32",
    "occupancy": "occupancy --arch sm_90 --threads 256 --registers 32,64 --shared 0",
    "roofline": "roofline --peak 19500 --bandwidth 1555 -m tiled,naive --block 16",
    "list": "list -m tiled,naive",
    "doctor": "doctor --device cpu",
    "devices": "devices",
    "reproduce": "reproduce sjtu --device cpu -n 16",
    "trace": "trace -m tiled --block 16 -n 16",
}


@pytest.fixture
def comparison(run) -> str:
    """Write two files of results, and return the command that compares them."""
    for name in ("old", "new"):
        assert run(f"{BENCH} --json {name}.json").status == 0
    return "compare old.json new.json"


@pytest.mark.parametrize("command", [*COMMANDS, "compare"])
def test_every_form_contains_the_results(run, tmp_path, command, request) -> None:
    line = COMMANDS[command] if command in COMMANDS else request.getfixturevalue("comparison")
    ended = run(f"{line} --json out.json --csv out.csv --markdown out.md --svg out.svg")
    assert (ended.status, ended.stderr) == (0, "")
    assert ended.stdout  # the tables are printed too
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    text = (tmp_path / "out.csv").read_bytes().decode()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == len(results) > 0
    for row, result in zip(rows, results, strict=True):
        for name, value in result.items():
            if isinstance(value, str) and value[:1] not in "=+-@":
                assert row[name] == value
            elif isinstance(value, int | float) and not isinstance(value, bool):
                assert float(row[name]) == value
    markdown = (tmp_path / "out.md").read_text()
    assert markdown.count("\n|---") >= 1
    picture = ElementTree.fromstring((tmp_path / "out.svg").read_text())  # noqa: S314 - cudamm wrote it
    shown = "".join(picture.itertext()).replace("\xa0", " ")
    lines = [line.replace("|", " ").split() for line in markdown.splitlines() if line.startswith("| ")]
    words = max(lines, key=len)
    assert sum(word in shown for word in words) > len(words) / 2  # the picture may fold the other words


def test_markdown_contains_the_cells_of_the_printed_table(run, tmp_path) -> None:
    ended = run(f"{BENCH} --markdown out.md")
    text = (tmp_path / "out.md").read_text()
    assert "**16 x 16 x 16 (M x N x K), float32" in text
    for line in (row for row in ended.stdout.splitlines() if "✓" in row):
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        assert all(cell.rstrip(" *†") in text for cell in cells)


@pytest.mark.parametrize("form", ["csv", "markdown", "svg"])
def test_a_form_on_standard_output_replaces_the_table(run, tmp_path, form) -> None:
    ended = run(f"{BENCH} --{form} -")
    assert (ended.status, ended.stderr) == (0, "")
    ended_with_file = run(f"{BENCH} --{form} out")
    starts = {"csv": "method,", "markdown": "**16 x 16 x 16", "svg": "<svg"}
    assert ended.stdout.startswith(starts[form])
    assert (tmp_path / "out").read_bytes().decode().startswith(starts[form])
    assert "┏" not in ended.stdout.replace("<text", "") or form == "svg"
    assert "┏" in ended_with_file.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--csv a --svg a", ("--csv and --svg are both a",)),
        ("--csv a --json ./a", ("--json and --csv are both",)),
        ("--csv - --json -", ("--json and --csv are both standard output",)),
        ("--markdown none/x.md", ("--markdown", "No such file or directory")),
        ("--svg .", ("--svg", "folder")),
    ],
)
@pytest.mark.parametrize("command", ["bench", "verify", "list"])
def test_output_files_that_cannot_be_written_are_refused_before_measuring(
    run, tmp_path, command, options, words
) -> None:
    run(f"{COMMANDS[command]} {options}").refused(2, *words)
    assert not list(tmp_path.iterdir())


def test_an_output_may_not_replace_an_input_file(run, tmp_path, comparison) -> None:
    before = (tmp_path / "old.json").read_bytes()
    run(f"{comparison} --csv old.json").refused(2, "--csv old.json would replace old.json")
    run(f"{BENCH} --resume old.json --csv old.json").refused(2, "--resume and --csv are both old.json")
    assert (tmp_path / "old.json").read_bytes() == before


def test_the_title_of_a_picture_is_the_command_without_output_options(run, tmp_path, monkeypatch) -> None:
    given = ["cudamm", "list", "--svg", "a.svg", "-m", "tiled", "--csv=b.csv", "--json", "-", "-q"]
    monkeypatch.setattr(sys, "argv", given)
    assert run(" ".join(given[1:])).status == 0
    picture = ElementTree.fromstring((tmp_path / "a.svg").read_text())  # noqa: S314 - cudamm wrote it
    assert "cudamm list -m tiled" in [text.strip().replace("\xa0", " ") for text in picture.itertext()]


def test_a_refused_command_leaves_no_output_file(run, tmp_path) -> None:
    run(f"{BENCH} -D PAD=1 --csv a.csv --svg b.svg").refused(2, "PAD")
    assert not list(tmp_path.iterdir())


def test_verbose_prints_each_step_and_quiet_prints_none(run) -> None:
    steps = run(f"{BENCH} -v").stderr.splitlines()
    assert "0 of 2: tiled BLOCK_SIZE=4 at 16x16x16 float32" in steps
    assert "1 of 2: tiled BLOCK_SIZE=8 at 16x16x16 float32" in steps
    ended = run(f"{BENCH} --quiet")
    assert ended.stderr == "" and ended.stdout.count("✓") == 2
    run(f"{BENCH} -q -v").refused(2, "--quiet", "--verbose")
