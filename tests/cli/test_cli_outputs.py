"""`--csv`, `--markdown` and `--svg`: every command that prints tables writes its results in these forms."""

from __future__ import annotations

import csv
import errno
import io
import json
import shlex
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from cudamm.cli import app

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


@pytest.mark.long
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
        ("--json /", ("--json /", "folder")),
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
    assert "0 of 2: compiling tiled" in steps
    assert "0 of 2: verifying tiled BLOCK_SIZE=4 at 16x16x16 float32" in steps
    assert "1 of 2: verifying tiled BLOCK_SIZE=8 at 16x16x16 float32" in steps
    ended = run(f"{BENCH} --quiet")
    assert ended.stderr == "" and ended.stdout.count("✓") == 2
    run(f"{BENCH} -q -v").refused(2, "--quiet", "--verbose")


INPUT_COMMANDS = {
    "bench": "bench --device cpu -n 16 --kernel my.cu",
    "sweep": "sweep --device cpu -n 16 --kernel my.cu",
    "verify": "verify --device cpu -n 16 --kernel my.cu",
    "trace": "trace -n 16 --kernel my.cu",
    "check": "check -n 16 --kernel my.cu",
    "tune": "tune --device cpu -n 16 --kernel my.cu",
    "roofline": "roofline --peak 1 --bandwidth 1 --kernel my.cu --traffic M,N",
    "occupancy": "occupancy --arch sm_90 --kernel my.cu",
}
"""Commands that read a kernel."""


@pytest.fixture
def inputs(kernel, tmp_path):
    """Write a kernel with an included file, and links to both; return their contents."""
    kernel(replacing="__global__", by='#include "part.data"\n__global__')
    (tmp_path / "part.data").write_text("// included\n")
    (tmp_path / "link.json").symlink_to("my.cu")
    (tmp_path / "hard.json").hardlink_to(tmp_path / "part.data")
    return {path: path.read_bytes() for path in tmp_path.iterdir()}


@pytest.mark.long
@pytest.mark.parametrize("command", INPUT_COMMANDS)
def test_no_output_replaces_a_kernel_or_a_file_that_it_includes(run, inputs, command) -> None:
    for option in ("--json", "--csv", "--markdown", "--svg"):
        for name in ("my.cu", "part.data", "link.json", "hard.json"):
            line = f"{INPUT_COMMANDS[command]} {option} {name}"
            ended = run(line)
            if command == "occupancy" and ended.status == 3:
                pytest.skip("there is no nvcc here")
            ended.refused(2, f"{option} {name} would replace", "which this command reads")
    assert {path: path.read_bytes() for path in inputs} == inputs


@pytest.mark.parametrize("name", ["other.cu", "note.PY", "to_source.json"])
def test_no_output_replaces_a_source_file(run, tmp_path, name) -> None:
    (tmp_path / "to_source.json").symlink_to("other.cu")
    for source in ("other.cu", "note.PY"):
        (tmp_path / source).write_text("precious")
    run(f"{COMMANDS['list']} --json {name}").refused(2, f"--json {name} would replace a source file")
    assert (tmp_path / "other.cu").read_text() == (tmp_path / "note.PY").read_text() == "precious"
    assert run(f"{COMMANDS['list']} --json new.py").status == 0


@pytest.mark.parametrize("beside", ["out.json.journal", ".out.json.lock"])
def test_no_file_beside_the_results_replaces_an_input_or_another_output(
    run, tmp_path, inputs, beside
) -> None:
    run(f"{BENCH} --json out.json --csv {beside}").refused(2, "--csv is a file that cudamm writes beside")
    (tmp_path / beside).hardlink_to(tmp_path / "part.data")
    run(f"{INPUT_COMMANDS['bench']} --json out.json").refused(2, "--json out.json would replace")
    assert (tmp_path / "part.data").read_text() == "// included\n"


def test_the_store_of_parameters_is_an_input(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path))
    run("tune --list --device cpu --json tuned.json").refused(2, "--json tuned.json would replace")


@pytest.mark.parametrize(
    "option", ["--json", "--csv", "--svg", "--markdown", "--plot", "--resume", "--kernel"]
)
def test_an_empty_file_name_is_refused(run, option) -> None:
    run(f"{BENCH} {option} ''").refused(2, f"{option} needs the name of a file")


@pytest.mark.parametrize("option", ["--json", "--csv", "--svg", "--markdown", "--plot", "--resume"])
def test_an_option_is_not_taken_for_the_name_of_a_file(run, tmp_path, option) -> None:
    run(f"{BENCH} {option} --verbose").refused(2, f"{option} needs the name of a file before --verbose")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stream", ["-", "/dev/null"])
def test_a_document_on_a_stream_leaves_the_resumed_file_to_be_written(run, tmp_path, stream) -> None:
    line = BENCH.replace("--block 4,8", "--block {}")
    assert run(line.format(4) + " --resume run.json").status == 0
    ended = run(line.format("4,8") + f" --resume run.json --json {stream}")
    assert ended.status == 0
    results = json.loads((tmp_path / "run.json").read_text())["results"]
    assert [result["params"]["BLOCK_SIZE"] for result in results] == [4, 8]
    assert stream != "-" or ended.records == results
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


class BrokenStream(io.TextIOBase):
    """A standard output that accepts nothing, as /dev/full and a pipe without a reader do."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.buffer = self

    def write(self, text: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.long
@pytest.mark.parametrize(
    "command", [*COMMANDS, "compare", "report", "check", "tune", "tune --list", "occupancy --plot"]
)
def test_every_file_is_written_before_anything_is_printed(
    run, tmp_path, command, request, monkeypatch
) -> None:
    lines = COMMANDS | {
        "check": "check -m tiled --block 4 -n 16",
        "tune": "tune --device cpu -n 16 -m tiled --block 4",
        "tune --list": "tune --list --device cpu",
        "occupancy --plot": "occupancy --arch sm_90 --threads 256 --plot out.png",
    }
    wanted = ["out.json", "out.csv", "out.md", "out.svg"]
    if command in ("compare", "report"):
        line = request.getfixturevalue("comparison")
    if command == "report":
        line, wanted[0] = "report old.json --no-occupancy -o out.html", "out.html"
    elif command in lines:
        line = f"{lines[command]}"
    if command != "report":
        line += " --json out.json"
    monkeypatch.setattr(sys, "stdout", BrokenStream())
    with pytest.raises(SystemExit) as end:
        app.main(shlex.split(f"{line} --csv out.csv --markdown out.md --svg out.svg"), prog_name="cudamm")
    assert end.value.code == 1
    assert not [name for name in wanted if not (tmp_path / name).exists()]
    assert "--plot" not in line or (tmp_path / "out.png").stat().st_size


def test_a_full_disk_costs_neither_the_tables_nor_the_other_files(run, tmp_path) -> None:
    ended = run(f"{BENCH} --json /dev/full --csv out.csv --svg out.svg")
    assert ended.status == 2 and ended.stderr.count("\n") == 1
    assert "--json /dev/full: it cannot be written (No space left on device)" in ended.stderr
    assert ended.stdout.count("✓") == 2
    assert (tmp_path / "out.csv").stat().st_size and (tmp_path / "out.svg").stat().st_size


def test_an_error_between_two_results_keeps_the_first_ones(run, tmp_path, monkeypatch) -> None:
    from cudamm.benchmark import measure
    from cudamm.errors import UsageError

    original = measure.bench

    def fails_after_one(*arguments, **named):
        yield next(original(*arguments, **named))
        raise UsageError("the second one is refused")

    monkeypatch.setattr(measure, "bench", fails_after_one)
    ended = run(f"{BENCH} --json out.json --csv out.csv")
    assert (ended.status, ended.stderr) == (2, "cudamm: the second one is refused; 1 result by then\n")
    assert ended.stdout.count("✓") == 1
    assert len(json.loads((tmp_path / "out.json").read_text())["results"]) == 1
    assert (tmp_path / "out.csv").exists()


def test_every_file_is_written_although_the_reader_of_the_table_has_left(tmp_path, monkeypatch) -> None:
    class ClosedPipe(BrokenStream):
        def write(self, text: object) -> int:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    forms = {"--json": "out.json", "--csv": "out.csv", "--markdown": "out.md", "--svg": "out.svg"}
    with pytest.raises(SystemExit) as end:
        app.main([*shlex.split(COMMANDS["list"]), *(word for pair in forms.items() for word in pair)])
    assert end.value.code == 1
    assert all((tmp_path / name).stat().st_size for name in forms.values())
