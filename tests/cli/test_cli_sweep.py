"""`cudamm sweep`: which variants it measures, which it calls best, and how it resumes a file of results."""

from __future__ import annotations

import json
import re

import pytest

QUICK = "--device cpu --warmup 0 --runs 2 --times "
DROPPING = f"sweep {QUICK} -n 16 "
SWEEP = f"{DROPPING} --full "
"""A sweep that drops nothing. Times of such small products vary too much to predict what is dropped."""
GRID = "--threads BX,BY --grid ceil(N/BX),ceil(M/BY)"


@pytest.fixture
def plane(kernel, tmp_path):
    """Write a kernel whose block has two edges, which no header declares."""
    text = kernel().read_text()
    text = text[text.index("__global__") :]
    text = text.replace("blockIdx.y * BLOCK_SIZE", "blockIdx.y * BY")
    (tmp_path / "plane.cu").write_text(text.replace("blockIdx.x * BLOCK_SIZE", "blockIdx.x * BX"))
    return f"--kernel plane.cu {GRID}"


def blocks(records):
    return [record["params"]["BLOCK_SIZE"] for record in records]


def pairs(ended):
    return [(r["params"]["BX"], r["params"]["BY"]) for r in ended.records]


def rows_of(text):
    return [
        [cell.strip() for cell in line.strip("│").split("│")] for line in text.splitlines() if "│" in line
    ]


def saved(path):
    return json.loads(path.read_text())


# Variants.


def test_every_value_of_a_parameter_is_swept_unless_values_are_named(run):
    records = run(f"{SWEEP} -m tiled-coarse --block 4 --json -").records
    assert {r["params"]["BLOCK_SIZE"] for r in records} == {4}
    assert len({r["params"]["COARSE"] for r in records}) == len(records) > 1
    assert blocks(run(f"{SWEEP} -m naive --json -").records) == [1, 2, 4, 8, 16, 32]
    assert blocks(run(f"{SWEEP} -m naive --block 8,16 --json -").records) == [8, 16]


def test_the_values_of_a_users_parameters_make_every_combination(run, plane):
    ended = run(f"{SWEEP} {plane} -D BX=4,8 -D BY=1,2 --json -")
    assert ended.status == 0
    assert sorted(pairs(ended)) == [(x, y) for x in (4, 8) for y in (1, 2)]
    assert all((r["status"], r["correct"]) == ("ok", True) for r in ended.records)
    document = json.loads(ended.stdout)
    assert document["schema"] == "cudamm.bench/2"
    assert document["options"]["runs"] == 2 and document["options"]["cache"] == "cold"


def test_where_leaves_the_variants_that_meet_all_conditions(run, plane):
    line = f'{SWEEP} {plane} -D BX=4,8 -D BY=1,2,4 --where "BX*BY<=16" --where "BY<M/4"'
    assert sorted(pairs(run(f"{line} --json -"))) == [(4, 1), (4, 2), (8, 1), (8, 2)]
    assert "--where leaves 4 of 6" in run(line).stdout
    assert "--where" not in run(f"{SWEEP} -m naive --block 8").stdout


def test_where_may_depend_on_the_size(run):
    ended = run(f'sweep {QUICK} -m naive --block 8,16 -n 8 -n 24 --where "BLOCK_SIZE<=M" --json -')
    assert [(r["m"], r["params"]["BLOCK_SIZE"]) for r in ended.records] == [(8, 8), (24, 8), (24, 16)]


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("BLOCK_SIZE>99", ["--where leaves none of 6 variants"]),
        ("BLOCK_SIZE<", ["BLOCK_SIZE<"]),
        ("EDGE<4", ["EDGE", "BLOCK_SIZE"]),
        ("BLOCK_SIZE=8", ["BLOCK_SIZE=8"]),
        ("__import__('os')", ["__import__"]),
        ("M%0==0", ["zero"]),
        ("", ["“” is not arithmetic"]),
    ],
)
def test_a_wrong_condition_is_refused(run, launches, where, words):
    run(f'{SWEEP} -m naive --where "{where}"').refused(2, *words)
    assert launches == []


def test_variants_that_cannot_be_launched_are_failed_rows(run, tmp_path):
    ended = run(f"{SWEEP} -m naive --block 8,33,16 --json out.json")
    assert ended.status == 1 and ended.stderr == ""
    records = saved(tmp_path / "out.json")["results"]
    assert [(b, r["status"]) for b, r in zip(blocks(records), records, strict=True)] == [
        (8, "ok"),
        (33, "failed"),
        (16, "ok"),
    ]
    assert "1089 threads" in records[1]["reason"] and records[1]["samples_ms"] == []
    assert "failed naive BLOCK_SIZE=33" in ended.stdout and "1089 threads" in ended.stdout
    assert [row[-1] for row in rows_of(ended.stdout)] == ["✓", "FAILED", "✓"]


def test_a_sweep_of_one_variant_that_cannot_be_launched_is_a_failed_row(run):
    ended = run(f"{SWEEP} -m naive --block 33 --json -")
    assert ended.status == 1
    assert [r["status"] for r in ended.records] == ["failed"]
    assert run(f"{SWEEP} -m naive --block 33").stderr == ""


# Tables.


def test_the_fastest_variant_comes_first_and_is_called_best(run, tmp_path):
    ended = run(f"{SWEEP} -m cpu-block --block 4,8,16 --json out.json")
    assert ended.status == 0
    records = sorted(saved(tmp_path / "out.json")["results"], key=lambda r: r["median_ms"])
    rows = rows_of(ended.stdout)
    assert [row[1] for row in rows] == [f"BLOCK_SIZE={b}" for b in blocks(records)]
    assert [row[-1] for row in rows] == ["best", "", ""]


def test_top_limits_the_table_and_not_the_file(run, tmp_path):
    ended = run(f"{SWEEP} -n 24 -m cpu-block --block 4,8,16 --top 1 --json out.json")
    rows = rows_of(ended.stdout)
    assert [row[-1] for row in rows] == ["best", "best"]
    assert ended.stdout.count("2 slower (not shown)") == 2
    assert len(saved(tmp_path / "out.json")["results"]) == 6
    run(f"{SWEEP} -m naive --top 0").refused(2, "--top")


def test_a_wrong_variant_is_a_failed_row(run, kernel, tmp_path):
    # The kernel writes nothing if its blocks have an edge of 8.
    kernel(
        "hasty.cu",
        "if (row >= M || col >= N) return;",
        "if (BLOCK_SIZE == 8 || row >= M || col >= N) return;",
    )
    ended = run(f"{SWEEP} --kernel hasty.cu --block 8,16 --json out.json")
    assert ended.status == 1
    assert [r["status"] for r in saved(tmp_path / "out.json")["results"]] == ["failed", "ok"]
    assert [row[-1] for row in rows_of(ended.stdout)] == ["FAILED", "✓"]
    assert "never written" in ended.stdout


def test_an_unverified_variant_is_never_called_best(run):
    ended = run(f"{SWEEP} -m cpu-block --block 8,16 --no-verify")
    assert ended.status == 0
    assert [row[-1] for row in rows_of(ended.stdout)] == ["", ""]


def test_a_clearly_slower_variant_is_dropped_unless_full_is_given(run, kernel, tmp_path):
    idle = "for (volatile int i = 0; BLOCK_SIZE == 8 && i < 100000;) i = i + 1;"
    kernel("slow.cu", "float sum = 0;", f"float sum = 0; {idle}")
    ended = run(f"{DROPPING.replace('--runs 2', '--runs 20')} --kernel slow.cu --block 16,8 --json out.json")
    assert ended.status == 0
    best, slow = saved(tmp_path / "out.json")["results"]
    assert (best["status"], slow["status"]) == ("ok", "dropped")
    assert len(best["samples_ms"]) == 20 and len(slow["samples_ms"]) < 20
    assert [row[-1] for row in rows_of(ended.stdout)] == ["✓", "dropped"]
    assert "1 row was dropped early" in ended.stdout and "--full" in ended.stdout
    ended = run(f"{SWEEP} --kernel slow.cu --block 16,8")
    assert [row[-1] for row in rows_of(ended.stdout)] == ["✓", "✓"] and "dropped" not in ended.stdout


# Resumed runs.


def test_rows_of_a_resumed_file_are_not_measured_again(run, tmp_path, launches):
    path = tmp_path / "out.json"
    first = run(f"{SWEEP} -m naive --block 8,16 --json out.json")
    before = saved(path)["results"]
    del launches[:]
    again = run(f"{SWEEP} -m naive --block 8,16 --resume out.json")
    assert (again.status, launches) == (0, [])
    assert rows_of(again.stdout) == rows_of(first.stdout)
    assert "2 of 2 results were in out.json already" in again.stdout
    assert saved(path)["results"] == before
    more = run(f"{SWEEP} -m naive --block 4,8,16 --resume out.json")
    assert more.status == 0 and "2 of 3 results were in out.json already" in more.stdout
    assert launches == ["naive"] * 3  # one verification and two samples
    after = saved(path)["results"]
    assert blocks(after) == [4, 8, 16] and after[1:] == before


def test_a_journal_of_a_killed_run_can_be_resumed(run, tmp_path, launches):
    path = tmp_path / "out.json"
    run(f"{SWEEP} -m naive --block 8,16 --json out.json")
    head = saved(path)
    before = head.pop("results")
    lines = [head, [0, before[0]], [1, before[1]]]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "out.json.journal").write_text(text)  # the last line is not complete
    path.unlink()
    for command in ("report out.json", "compare out.json out.json"):
        run(command).refused(2, "out.json.journal", "`cudamm bench … --resume out.json`")
    del launches[:]
    ended = run(f"{SWEEP} -m naive --block 8,16 --resume out.json")
    assert ended.status == 0 and "1 of 2 results were in out.json already" in ended.stdout
    assert launches == ["naive"] * 3
    assert blocks(saved(path)["results"]) == [8, 16] and saved(path)["results"][0] == before[0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.json"]


def test_resuming_a_missing_file_begins_it(run, tmp_path):
    line = f"{SWEEP} -m naive --block 8 --resume out.json"
    assert "already" not in run(line).stdout
    assert blocks(saved(tmp_path / "out.json")["results"]) == [8]


def test_rows_of_other_variants_stay_in_a_resumed_file(run, tmp_path):
    run(f"{SWEEP} -m naive --block 8,16 --json out.json")
    ended = run(f"{SWEEP} -m coalesced --block 8 --resume out.json")
    assert ended.status == 0
    records = saved(tmp_path / "out.json")["results"]
    assert sorted((r["method"], r["params"]["BLOCK_SIZE"]) for r in records) == [
        ("coalesced", 8),
        ("naive", 8),
        ("naive", 16),
    ]
    assert [row[0] for row in rows_of(ended.stdout)] == ["coalesced †"]


def test_a_resumed_run_may_write_to_another_file(run, tmp_path):
    run(f"{SWEEP} -m naive --block 8 --json old.json")
    old = (tmp_path / "old.json").read_bytes()
    run(f"{SWEEP} -m naive --block 8,16 --resume old.json --json new.json")
    assert (tmp_path / "old.json").read_bytes() == old
    assert blocks(saved(tmp_path / "new.json")["results"]) == [8, 16]


def test_failed_rows_and_changed_kernels_are_measured_again(run, kernel, tmp_path, launches):
    kernel("my.cu", "= sum;", "= BLOCK_SIZE == 8 ? 0 : sum;")
    line = f"{SWEEP} --kernel my.cu --block 8,16 --resume out.json"
    assert run(line).status == 1
    del launches[:]
    assert run(line).status == 1
    assert launches == ["my"]  # the verification of the failed row
    del launches[:]
    kernel("my.cu")
    ended = run(line)
    assert ended.status == 0 and "already" not in ended.stdout
    assert launches.count("my") == 6
    records = saved(tmp_path / "out.json")["results"]
    assert [(b, r["status"]) for b, r in zip(blocks(records), records, strict=True)] == [
        (8, "ok"),
        (16, "ok"),
    ]


def test_dropped_rows_are_measured_again_by_full_and_by_bench(run, tmp_path, launches):
    path = tmp_path / "out.json"
    run(f"{SWEEP} -m naive --block 8 --json out.json")
    document = saved(path)
    document["results"][0] |= {"status": "dropped", "ended_by": "dropped"}
    path.write_text(json.dumps(document))
    del launches[:]
    assert "dropped" in run(f"{DROPPING} -m naive --block 8 --resume out.json").stdout
    assert launches == []
    for command in (SWEEP, f"bench {QUICK} -n 16"):
        path.write_text(json.dumps(document))
        assert run(f"{command} -m naive --block 8 --resume out.json").status == 0
        assert [r["status"] for r in saved(path)["results"]] == ["ok"]


OTHER_OPTIONS = {
    "--runs 3": ["runs 2", "this run has runs 3"],
    "--runs 2 --seed 1": ["seed 0", "this run has seed 1"],
    "--runs 2 --hot": ["cache cold", "this run has cache hot"],
    "--runs 2 --no-fmad": ["fmad"],
    "--runs 2 --no-verify": ["verify"],
    "--runs 2 --warmup 1 --times": ["warmup 0", "this run has warmup 1"],
    "--until-stable": ["runs 2", "this run has runs None"],
    "--runs 2 --until-stable": ["--runs and --until-stable"],
}


def test_a_file_of_other_options_is_refused(run, tmp_path, launches):
    run(f"{SWEEP} -m naive --block 8 --json out.json")
    before = (tmp_path / "out.json").read_bytes()
    del launches[:]
    for options, words in OTHER_OPTIONS.items():
        line = f"sweep --device cpu --warmup 0 -n 16 -m naive --block 8,16 {options} --resume out.json"
        run(line).refused(2, *words)
        assert (tmp_path / "out.json").read_bytes() == before and launches == []


OTHER_FILES = [
    ({"device": {"kind": "gpu", "name": "Some GPU", "driver": "1"}}, ["kind gpu", "this run has kind cpu"]),
    ({"device": {"kind": "cpu", "name": "Another"}}, ["name Another"]),
    ({"schema": "cudamm.bench/1"}, ["cudamm.bench/1", "another version"]),
    ({"schema": "cudamm.verify/1"}, ["verify"]),
    ({"results": 3}, ["damaged"]),
]


def test_a_file_of_another_device_or_command_is_refused(run, tmp_path, launches):
    path = tmp_path / "out.json"
    run(f"{SWEEP} -m naive --block 8 --json out.json")
    document = saved(path)
    del launches[:]
    for change, words in OTHER_FILES:
        path.write_text(json.dumps(document | change))
        before = path.read_bytes()
        run(f"{SWEEP} -m naive --block 8 --resume out.json").refused(2, "out.json", *words)
        assert path.read_bytes() == before and launches == []


def test_bench_resumes_a_file_too(run, tmp_path, launches):
    run(f"bench {QUICK} -n 16 -m naive --json out.json")
    del launches[:]
    ended = run(f"bench {QUICK} -n 16 -m naive,tiled --resume out.json")
    assert ended.status == 0 and set(launches) == {"tiled"}
    assert [r["method"] for r in saved(tmp_path / "out.json")["results"]] == ["naive", "tiled"]
    assert re.search(r"1 of 2 results were in out\.json already", ended.stdout)


def test_refused_combinations_are_one_line_of_output_and_rows_of_the_file(run, tmp_path):
    line = f"{SWEEP} -m warp-tile -D BM=64 -D BN=64 -D BK=8 -D WM=32 -D TM=4"
    ended = run(f"{line} --json out.json")
    assert ended.status == 0, ended.stderr
    refused = [r for r in saved(tmp_path / "out.json")["results"] if r["status"] == "skipped"]
    assert len(refused) == 3 and all("WM * WN == 32 * TM * TN" in r["reason"] for r in refused)
    (line_of_output,) = (text for text in ended.stdout.splitlines() if text.startswith("skipped"))
    count = f"skipped {len(refused)} variants of warp-tile at 16x16x16 float32: "
    assert line_of_output == f"{count}requires WM * WN == 32 * TM * TN"
    again = run(f"{line} --resume out.json")
    assert again.status == 0 and line_of_output in again.stdout
