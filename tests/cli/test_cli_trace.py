"""`cudamm trace`: forms of output, the choice of blocks and warps, and what is refused."""

from __future__ import annotations

import csv
import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from cudamm.cli.trace_command import MOST_STEPS
from cudamm.output.warp_drawing import MOST_PERIODS

LINE = "trace -m naive --block 16 -n 64 "


def rows_of(text):
    return [
        [c.strip() for c in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")
    ]


def test_the_table_has_the_figures_of_nsight_compute(run):
    """Nsight Compute reports 8.5 sectors per load request: 16 for A and 1 for B."""
    ended = run(LINE + "--blocks 7")
    assert (ended.status, ended.stderr) == (0, "")
    rows = rows_of(ended.stdout)
    assert rows[0][:5] == ["25", "A load", "sum += accumulator(A[row * K + k]) * accumulato…", "8,192", "16"]
    assert rows[1][1] == "B load" and rows[1][4] == "1"
    assert next(row for row in rows if row[1] == "all loads")[3:5] == ["16,384", "8.5"]
    assert "naive BLOCK_SIZE=16, 64 x 64 x 64 (M x N x K), float32" in ended.stdout
    assert (
        "from 7 traced blocks to the grid's 16 (interior 2 of 9; last column 2 of 3; last row 2 of 3; "
        "corner 1 of 1)" in ended.stdout
    )


def test_json_has_a_row_for_each_access(run):
    document = json.loads(run(LINE + "--json -").stdout)
    assert document["schema"] == "cudamm.trace/1"
    assert [(r["line"], r["space"], r["op"], r["array"]) for r in document["results"]] == [
        (25, "global", "load", "A"), (25, "global", "load", "B"), (26, "global", "store", "C"),
    ]  # fmt: skip
    row = document["results"][0]
    requests = 64**3 // 32
    assert row["requests"] == requests and row["sectors"] == 16 * requests and row["wavefronts"] is None
    assert row["ideal_sectors"] == 2 * requests and row["bytes_requested"] == 4 * 64**3
    assert row["bytes_used"] == 4 * 16 * requests and row["bytes_moved"] == 32 * row["sectors"]
    assert row["file"] == "04_naive.cu" and row["scaled"] is False and row["dtype"] == "float32"
    assert (row["method"], row["params"], row["m"], row["n"], row["k"]) == (
        "naive",
        {"BLOCK_SIZE": 16},
        64,
        64,
        64,
    )
    (variant,) = document["variants"]
    assert variant["global_loads"]["sectors"] == 17 * requests and variant["grid"] == [4, 4, 1]
    assert variant["intensity"] == 0.25


def test_traced_blocks_stand_for_all_blocks(run):
    default, every, two = (run(LINE + f"--json - {option}").records for option in ("", "--all", "--blocks 2"))
    assert [r["scaled"] for r in (*default, *every)] == [False] * 6
    assert [r["scaled"] for r in two] == [True] * 3
    for records in (default, two):
        assert [r["sectors"] for r in records] == [r["sectors"] for r in every]


def test_accesses_of_shared_memory_have_wavefronts(run):
    records = run("trace -m tiled-padded --block 32 -D PAD=0 -n 32 --as-written --json -").records
    (row,) = (r for r in records if (r["array"], r["op"]) == ("As", "load"))
    assert row["wavefronts"] == 32 * row["requests"] and row["sectors"] is None
    assert row["pattern"] == "32-way conflict"


def test_every_form_contains_the_accesses(run, tmp_path):
    ended = run(LINE + "--json f.json --csv f.csv --markdown f.md --svg f.svg")
    assert (ended.status, ended.stderr) == (0, "") and "A load" in ended.stdout
    results = json.loads((tmp_path / "f.json").read_text())["results"]
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text().splitlines()))
    assert [int(row["sectors"]) for row in rows] == [r["sectors"] for r in results]
    assert "| 25 | A load |" in (tmp_path / "f.md").read_text()
    picture = ElementTree.fromstring((tmp_path / "f.svg").read_text())  # noqa: S314 - cudamm wrote it
    assert "uncoalesced" in "".join(picture.itertext())


def test_verbose_prints_each_step_and_quiet_prints_none(run):
    assert "tracing naive BLOCK_SIZE=16" in run(LINE + "-v").stderr
    assert run(LINE + "-q").stderr == ""


def test_the_addresses_of_a_warp_are_drawn(run, tmp_path):
    ended = run("trace -m naive,coalesced --block 32 -n 64 --warp 0 --steps 2 --svg f.svg --json f.json")
    assert (ended.status, ended.stderr) == (0, "")
    naive, coalesced = ended.stdout.split("coalesced BLOCK_SIZE=32", 1)
    assert "A (64 x 64), load in line 25" in naive
    assert "lanes 0 to 31 at a stride of 256 bytes (1 row): 32 sectors" in naive
    assert re.search(r"^ 1 │ 1¹ 1² ·", naive, re.MULTILINE)
    assert "lanes 0 to 31 at consecutive addresses: 4 sectors" in coalesced
    assert re.search(r"^1 │ 0² 1² 2²", coalesced, re.MULTILINE)
    picture = (tmp_path / "f.svg").read_text()
    assert "#0072b2" in picture.lower() and "31¹" in picture
    warp = json.loads((tmp_path / "f.json").read_text())["variants"][0]["warp"]
    assert warp["block"] == [0, 0, 0] and warp["warp"] == 0
    (loads_of_a,) = (loads for loads in warp["offset_bytes_by_lane"] if loads["array"] == "A")
    assert loads_of_a["periods"] == [{str(lane): lane * 256 + 4 * k for lane in range(32)} for k in (0, 1)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("columns", [60, 120])
def test_a_drawing_fits_the_terminal_and_needs_no_colour(on_terminal, columns):
    line = "trace -m coalesced --block 32 -n 64 --warp 0"
    plain = on_terminal(line, COLUMNS=str(columns), NO_COLOR="1").stdout
    assert "\x1b[" not in plain.replace("\x1b[0m", "")
    drawn = [row for row in plain.splitlines() if "│" in row]
    assert drawn and max(map(len, drawn)) <= columns
    assert any("0² 1² 2²" in row and "31²" in row for row in drawn)
    coloured = on_terminal(line, COLUMNS=str(columns), COLORTERM="truecolor").stdout
    assert "48;2;0;114;178" in coloured


def test_the_drawing_has_an_exponent_for_each_step():
    assert MOST_STEPS == MOST_PERIODS


def test_two_variants_are_compared_side_by_side(run):
    ended = run("trace --compare naive coalesced --block 32 -n 64")
    assert ended.status == 0
    rows = rows_of(ended.stdout)
    at = {row[0]: i for i, row in enumerate(rows)}
    assert rows[at["A loads"] + 3] == ["sectors per request", "32", "1", "0.0312×"]
    assert rows[at["B loads"] + 3] == ["sectors per request", "1", "4", "4×"]
    ended = run("trace --compare tiled-padded,PAD=0 tiled-padded --block 32 -n 32 --as-written --json -")
    assert [v["params"]["PAD"] for v in json.loads(ended.stdout)["variants"]] == [0, 1]


def test_a_users_kernel_is_traced_by_its_own_lines(run, kernel):
    kernel()
    records = run("trace --kernel my.cu -n 40x24x16 --all --json -").records
    assert {r["file"] for r in records} == {"my.cu"} and {r["line"] for r in records} == {11, 12}
    assert sum(r["bytes_requested"] for r in records if r["op"] == "load") == 2 * 4 * 40 * 24 * 16


def test_host_methods_are_left_out_of_all_and_refused_by_name(run, monkeypatch):
    traced = []

    def trace(cases, *_):
        traced.extend(variant.method.name for variant, _ in cases)
        return iter(())

    monkeypatch.setattr("cudamm.analysis.trace.trace", trace)
    assert run("trace -n 8").status == run("trace -m all -n 8").status == 0
    assert {"naive", "tiled", "double-buffer"} < set(traced)
    assert not {"numpy", "cpu-simple", "cpu-block"} & set(traced)
    run("trace -m numpy").refused(2, "numpy", "no warps")
    run("trace -m naive,cpu-block").refused(2, "cpu-block")


def test_a_crashed_kernel_is_a_failed_row(run, kernel, tmp_path):
    kernel("crash.cu", "C[row * N + col] = sum", "((volatile int *)nullptr)[row] = (int)sum")
    ended = run("trace --kernel crash.cu -m naive -n 16 --json f.json")
    assert ended.status == 1 and ended.stderr == ""
    assert "failed crash BLOCK_SIZE=16 at 16x16x16 float32: crashed" in ended.stdout
    rows = json.loads((tmp_path / "f.json").read_text())["results"]
    assert [r["status"] for r in rows] == ["ok", "ok", "ok", "failed"]
    assert rows[3]["line"] is None and "crashed" in rows[3]["reason"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-m tield", ["did you mean tiled"]),
        ("-m naive --blocks 0", ["--blocks"]),
        ("-m naive --blocks 3 --all", ["--all", "--blocks"]),
        ("-m naive --steps 2", ["--steps", "--warp"]),
        ("-m naive --of-block 1,1", ["--of-block", "--warp"]),
        ("-m naive --warp -1", ["--warp"]),
        ("-m naive --warp 0 --steps 10", ["--steps"]),
        ("-m naive --warp 0 --of-block 1,x", ["--of-block 1,x", "5,2"]),
        ("-m naive --warp 0 --of-block 1,2,3,4", ["--of-block"]),
        ("-m naive --warp 0 --of-block 0,99 -n 64", ["no block 0,99,0", "2 x 2 x 1"]),
        ("-m naive --warp 32 -n 64", ["no warp 32", "32 warps, 0 to 31"]),
        ("--compare naive coalesced --warp 0", ["--compare", "--warp"]),
        ("--compare naive coalesced -m tiled", ["--compare", "-m"]),
        ("--compare naive all", ["all matches"]),
        ("--compare naive numpy", ["numpy", "no warps"]),
        ("--compare naive tiled -D PAD=0", ["neither naive nor tiled has the parameter PAD"]),
        ("--compare naive tiled --threads 8", ["--threads", "names no kernel file"]),
        ("--compare naive tiled -n 8 -n 9", ["one size"]),
        ("-m naive --arch sm_1", ["sm_1", "did you mean"]),
        ("-m naive --dtype int4", ["unknown element type"]),
        ("-m naive -n 0", ["at least 1"]),
        ("-m naive --block 64 -n 64", ["4096 threads"]),
        ("-m naive -q -v", ["contradict"]),
        ("-m naive --csv none/f", ["--csv", "No such file"]),
    ],
)
def test_a_wrong_command_line_is_refused(run, options, words):
    run(f"trace {options}").refused(2, *words)


def test_a_kernel_that_does_not_compile_is_refused(run, kernel):
    kernel("broken.cu", "float sum = 0;", "float sum = nope;")
    run("trace --kernel broken.cu -n 16").refused(2, "broken.cu", "nope")


def test_without_a_compiler_the_command_is_refused(run, monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent/compiler")
    from cudamm.compile import host_compiler

    host_compiler.compiler.cache_clear()
    try:
        run(LINE).refused(3, "compiler")
    finally:
        host_compiler.compiler.cache_clear()


def test_a_kernel_that_does_not_end_is_a_failed_row(run, kernel, tmp_path):
    kernel("endless.cu", "float sum = 0;", "float sum = 0; for (volatile int i = 0; i < 1;) {}")
    ended = run("trace --kernel endless.cu --block 8 -n 8 --timeout 0.3 --json out.json")
    assert ended.status == 1
    assert "failed endless" in ended.stdout and "no answer within 0.3 s (--timeout)" in ended.stdout
    (row,) = json.loads((tmp_path / "out.json").read_text())["results"]
    assert row["status"] == "failed"
