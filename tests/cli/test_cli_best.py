"""`-m best`: what each command makes of it, and how its rows are told from others."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys

import pytest

from cudamm.devices.find_device import find
from cudamm.tuning import known_best

ONCE = "--runs 1 --warmup 0 --times"


@pytest.fixture(autouse=True)
def tables(tmp_path, monkeypatch):
    """An empty folder of tables, and an empty data folder."""
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path / "data"))
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr(known_best, "TABLES", folder)
    return folder


def tune(run, method="naive", block="8", size="16"):
    ended = run(f"tune --device cpu -m {method} --block {block} -n {size} --budget 20s")
    assert ended.status == 0


# Measuring.


def test_bench_marks_the_row_and_says_what_was_chosen(run):
    ended = run(f"bench --device cpu -m best -m tiled --block 8 -n 64 {ONCE}")
    assert ended.status == 0
    # --block is for tiled; best has no parameters of its own.
    (row,) = [line for line in ended.stdout.splitlines() if "best: " in line and "│" in line]
    (said,) = [line for line in ended.stdout.splitlines() if line.startswith("best at 64x64x64 float32: ")]
    name, params = (
        said.removeprefix("best at 64x64x64 float32: ").split(", not measured on ")[0].split(" ", 1)
    )
    assert f"best: {name} †" in row and params in row and "✓" in row
    assert "a small GPU" in said and "preference order: " in said


def test_records_have_the_rungs_name_and_what_chose_it(run):
    ended = run(f"bench --device cpu -m best,tiled -n 8 -n 96x80x64 {ONCE} --json -")
    best, tiled = ended.records[::2], ended.records[1::2]
    assert {row["chosen_by"] for row in best} == {"preference"} and not any(
        "chosen_by" in row for row in tiled
    )
    assert all(row["status"] == "ok" and row["correct"] and row["method"] != "best" for row in best)
    assert best[0]["params"] != best[1]["params"]  # each size its own


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_what_was_tuned_is_chosen_next_time(run):
    tune(run)
    (row,) = run(f"bench --device cpu -m best -n 16 {ONCE} --json -").records
    assert (row["method"], row["params"], row["chosen_by"]) == ("naive", {"BLOCK_SIZE": 8}, "tuned")
    assert "naive BLOCK_SIZE=8, tuned here on 20" in run(f"bench --device cpu -m best -n 16 {ONCE}").stdout
    (far,) = run(f"bench --device cpu -m best -n 64 {ONCE} --json -").records
    assert far["chosen_by"] == "preference"


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_what_tune_lists_is_a_table(run, tables):
    tune(run, "coalesced", "4")
    assert run("tune --device cpu --list --json tables/here.json").status == 0
    assert run("tune --device cpu --forget").status == 0
    (row,) = run(f"bench --device cpu -m best -n 16 {ONCE} --json -").records
    assert (row["method"], row["params"], row["chosen_by"]) == ("coalesced", {"BLOCK_SIZE": 4}, "table")
    said = run(f"bench --device cpu -m best -n 16 {ONCE}").stdout
    assert f"measured on {find('cpu').info.name} on 20" in said


def test_a_damaged_table_is_said_in_a_line(run, tables):
    (tables / "bad.json").write_text("{")
    run(f"bench --device cpu -m best -n 16 {ONCE}").refused(1, "the table", "bad.json is damaged")
    # Nobody else reads it.
    assert run(f"bench --device cpu -m naive -n 16 {ONCE}").status == 0


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_resume_goes_on_as_long_as_the_choice_is_the_same(run, tmp_path, launches):
    line = f"bench --device cpu -m best,naive --block 8 -n 16 {ONCE} --resume out.json"
    assert run(line).status == 0
    launches.clear()
    assert "2 of 2 were in out.json already" in run(line).stdout and launches == []
    # Now best is what stands beside it: another row all the same, and not the one without its mark.
    tune(run)
    launches.clear()
    assert "1 of 2 were in out.json already" in run(line).stdout
    assert set(launches) == {"naive"}
    rows = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(r["method"], r.get("chosen_by")) for r in rows[:2]] == [("naive", "tuned"), ("naive", None)]
    report = run("report out.json --csv -")
    assert [row.get("chosen_by") for row in csv.DictReader(io.StringIO(report.stdout))][:2] == ["tuned", ""]
    assert "best: naive" in run("report out.json --markdown -").stdout


def test_compare_and_other_forms_take_it(run, tmp_path):
    line = f"bench --device cpu -m best,tiled --block 8 -n 32 {ONCE} --json"
    assert run(f"{line} a.json --svg a.svg --markdown a.md").status == 0
    assert run(f"{line} b.json").status == 0
    assert "best: " in (tmp_path / "a.md").read_text()
    assert run("compare a.json b.json").status == 0
    assert run("report a.json -o a.html").status == 0


def test_sweep_has_one_row_of_it(run):
    ended = run(f"sweep --device cpu -m best,naive --block 4,8 -n 16 {ONCE} --json -")
    assert ended.status == 0
    assert [row.get("chosen_by", "") for row in ended.records] == ["preference", "", ""]


def test_a_course_report_names_it(run):
    shown = run(f"bench --device cpu -m best -n 64 {ONCE} --style report").stdout
    assert re.search(r"^best: [a-z0-9-]+ [A-Z_]+ = \d+", shown, re.MULTILINE)


def test_verify_takes_a_choice_for_each_size_and_type(run):
    ended = run("verify --device cpu -m best --json -")
    assert ended.status == 0
    assert len(ended.records) == 18 and all(row["chosen_by"] == "preference" for row in ended.records)
    assert len({(row["method"], *row["params"].values()) for row in ended.records}) > 1
    shown = run("verify --device cpu -m best -n 1 -n 96x80x64 --dtype float32")
    assert "best: " in shown.stdout and "best at 1x1x1 float32: " in shown.stdout


def test_block_auto_leaves_it_alone(run, needs_nvcc):
    ended = run(f"bench --device cpu -m best,tiled-dynamic --block auto -n 16 {ONCE} --json -")
    assert ended.records[0]["chosen_by"] == "preference"
    assert {row["method"] for row in ended.records[1:] if "chosen_by" not in row} == {"tiled-dynamic"}
    run(f"bench --device cpu -m best --block auto -n 16 {ONCE}").refused(2, "BLOCK_SIZE")


def test_all_leaves_it_out(run):
    ended = run("show -m all")
    assert ended.status == 0 and "best at" not in ended.stderr and ended.stdout.count("__global__") > 10


# Without measuring.


def test_show_prints_what_was_chosen_for_an_architecture(run):
    ended = run("show -m best -n 4096 --arch sm_86")
    assert ended.status == 0 and "__global__" in ended.stdout
    assert "best at 4096x4096x4096 float32: " in ended.stderr and "sm_86 (GeForce RTX 3090" in ended.stderr
    small = run("show -m best -n 64 --arch sm_86")
    assert small.stdout != ended.stdout
    # The same choice is printed once.
    assert run("show -m best -n 4096 -n 4096x4096x4000 --arch sm_86").stdout == ended.stdout


def test_show_compares_it(run):
    ended = run("show --diff best naive --arch sm_86")
    assert ended.status == 0 and "lines of" in ended.stdout and "and " in ended.stdout


def test_trace_and_check_take_it(run, tmp_path):
    trace = run("trace -m best -n 64 --json -")
    assert trace.status == 0 and {row["chosen_by"] for row in trace.records} == {"preference"}
    assert "not measured on sm_80 (A100" in run("trace -m best -n 64 --arch sm_80").stdout
    check = run("check -m best -n 16 --json out.json")
    assert (
        check.status == 0
        and "1 of 1 variants are clean" in check.stdout
        and "best at 16x16x16" in check.stdout
    )
    (checked,) = json.loads((tmp_path / "out.json").read_text())["checked"]
    assert checked["chosen_by"] == "preference"


def test_roofline_takes_it(run):
    (row,) = run("roofline -m best -n 2048 --peak 19500 --bandwidth 1555 --json -").records
    assert row["chosen_by"] == "preference" and row["method"] != "best"
    ended = run("roofline -m best --arch sm_86 --sms 10 --clock 1700 --bandwidth 900")
    assert "not measured on sm_86 (a GPU, 10 SMs)" in ended.stdout


def test_occupancy_chooses_for_each_architecture(run, needs_nvcc):
    ended = run("occupancy -m best -n 4096 --arch sm_75 --arch sm_90 --json -")
    assert ended.status == 0
    assert [(row["arch"], row["chosen_by"]) for row in ended.records] == [
        ("sm_75", "preference"),
        ("sm_90", "preference"),
    ]
    assert ended.records[0]["params"] != ended.records[1]["params"]
    shown = run("occupancy -m best -n 4096 --arch sm_75 --arch sm_90").stdout
    assert "sm_75: best at 4096x4096x4096" in shown and "sm_90: best at 4096x4096x4096" in shown


# The name.


def test_list_has_a_line_of_it(run):
    ended = run("list")
    assert sum(line.startswith("best: ") for line in ended.stdout.splitlines()) == 1
    (row,) = run("list -m best --json -").records
    assert (row["method"], row["file"], row["parameters"]) == ("best", None, [])
    assert "best" not in [row["method"] for row in run("list --json -").records]


def test_shells_complete_it(run, monkeypatch):
    from cudamm.cli.completion_command import complete_methods

    found = [item.value for item in complete_methods(None, None, "tiled,be")]  # type: ignore[arg-type]
    assert found == ["tiled,best"]


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("tune --device cpu -m best", 2, ["best", "tune finds"]),
        ("tune --device cpu -m naive,BEST", 2, ["best", "tune finds"]),
        ("tune --device cpu --list -m best", 2, ["best", "tune finds"]),
        ("bench -m bst", 2, ["unknown method bst", "did you mean best"]),
        ("bench --device cpu -m best -D BM=64", 2, ["BM", "best has none"]),
        ("show -m tiled -n 64", 2, ["leave out -n, which goes with -m best"]),
        ("show -m best -n 6x4", 2, ["6x4"]),
        ("show -m best --arch sm_1", 2, ["sm_1"]),
        ("trace -m best --arch sm_1", 2, ["sm_1"]),
        ("profile -m best --device cpu", 2, ["Nsight Compute"]),
    ],
)
def test_what_is_wrong_is_said_in_a_line(run, line, status, words):
    run(line).refused(status, *words)


def test_a_kernel_of_the_users_is_not_taken_for_it(run, kernel):
    kernel("best.cu")
    (row,) = run(f"bench --device cpu --kernel best.cu -n 16 {ONCE} --json -").records
    assert row["method"] == "best.cu" and "chosen_by" not in row


def test_a_terminal_has_it_in_every_width(on_terminal):
    for columns in ("80", "160"):
        ended = on_terminal(f"bench --device cpu -m best,naive -n 16 {ONCE}", COLUMNS=columns, NO_COLOR="1")
        assert ended.status == 0 and "best: " in ended.stdout


def test_help_imports_no_numpy():
    modules = "import cudamm.cli.bench_command, cudamm.kernels.best_method"
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", modules],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert " numpy" not in done.stderr
