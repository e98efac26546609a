"""`-m best` in each command, and the mark `chosen_by` of its rows."""

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
    """Replace the folder of tables and the data folder by empty ones; return the folder of tables."""
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path / "data"))
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr(known_best, "TABLES", folder)
    return folder


def tune(run, method="naive", block="8", size="16"):
    result = run(f"tune --device cpu -m {method} --block {block} -n {size} --budget 20s")
    assert result.status == 0


# Commands that measure.


def test_bench_marks_the_row_and_prints_why_it_was_chosen(run):
    # --block is for tiled, because best has no parameters of its own: at 64 it is tiled with BLOCK_SIZE=16.
    result = run(f"bench --device cpu -m best -m tiled --block 8 -n 64 {ONCE}")
    assert result.status == 0
    (row,) = [line for line in result.stdout.splitlines() if "best: " in line and "│" in line]
    (choice,) = [line for line in result.stdout.splitlines() if line.startswith("best at 64x64x64 float32: ")]
    name, params = (
        choice.removeprefix("best at 64x64x64 float32: ").split(", not measured on ")[0].split(" ", 1)
    )
    assert f"best: {name} †" in row and params in row and "✓" in row
    assert "a small GPU" in choice and "preference order: " in choice


def test_records_have_the_name_of_the_chosen_method_and_chosen_by(run):
    result = run(f"bench --device cpu -m best,tiled --block 8 -n 8 -n 64 {ONCE} --json -")
    best, tiled = result.records[::2], result.records[1::2]
    assert {row["chosen_by"] for row in best} == {"preference"}
    assert not any("chosen_by" in row for row in tiled)
    assert all(row["status"] == "ok" and row["correct"] and row["method"] != "best" for row in best)
    assert best[0]["params"] != best[1]["params"]  # chosen for each size


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_best_is_what_tune_found(run):
    tune(run)
    (row,) = run(f"bench --device cpu -m best -n 16 {ONCE} --json -").records
    assert (row["method"], row["params"], row["chosen_by"]) == ("naive", {"BLOCK_SIZE": 8}, "tuned")
    assert "naive BLOCK_SIZE=8, tuned here on 20" in run(f"bench --device cpu -m best -n 16 {ONCE}").stdout
    (larger,) = run(f"bench --device cpu -m best -n 64 {ONCE} --json -").records
    assert larger["chosen_by"] == "preference"


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_a_file_of_tune_list_can_serve_as_a_table(run, tables):
    tune(run, "coalesced", "4")
    assert run("tune --device cpu --list --json tables/here.json").status == 0
    assert run("tune --device cpu --forget").status == 0
    (row,) = run(f"bench --device cpu -m best -n 16 {ONCE} --json -").records
    assert (row["method"], row["params"], row["chosen_by"]) == ("coalesced", {"BLOCK_SIZE": 4}, "table")
    shown = run(f"bench --device cpu -m best -n 16 {ONCE}").stdout
    assert f"measured on {find('cpu').info.name} on 20" in shown


def test_a_damaged_table_is_an_error_only_if_best_is_asked_for(run, tables):
    (tables / "bad.json").write_text("{")
    run(f"bench --device cpu -m best -n 16 {ONCE}").refused(1, "the table", "bad.json is damaged")
    assert run(f"bench --device cpu -m naive -n 16 {ONCE}").status == 0


@pytest.mark.usefixtures("cpu_passes_for_a_gpu")
def test_resume_measures_best_again_if_another_variant_is_chosen(run, tmp_path, launches):
    line = f"bench --device cpu -m best,naive --block 8 -n 16 {ONCE} --resume out.json"
    assert run(line).status == 0
    launches.clear()
    assert "2 of 2 results were in out.json already" in run(line).stdout and launches == []
    # After tuning, best is the variant of the row of naive. The row of best is measured all the same.
    tune(run)
    launches.clear()
    assert "1 of 2 results were in out.json already" in run(line).stdout
    assert set(launches) == {"naive"}
    rows = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(r["method"], r.get("chosen_by")) for r in rows[:2]] == [("naive", "tuned"), ("naive", None)]
    report = run("report out.json --csv -")
    assert [row.get("chosen_by") for row in csv.DictReader(io.StringIO(report.stdout))][:2] == ["tuned", ""]
    assert "best: naive" in run("report out.json --markdown -").stdout


def test_compare_and_report_accept_a_file_with_best(run, tmp_path):
    line = f"bench --device cpu -m best,tiled --block 8 -n 32 {ONCE} --json"
    assert run(f"{line} a.json --svg a.svg --markdown a.md").status == 0
    assert run(f"{line} b.json").status == 0
    assert "best: " in (tmp_path / "a.md").read_text()
    assert run("compare a.json b.json").status == 0
    assert run("report a.json -o a.html").status == 0


def test_sweep_has_one_row_of_best(run):
    result = run(f"sweep --device cpu -m best,naive --block 4,8 -n 16 {ONCE} --json -")
    assert result.status == 0
    assert [row.get("chosen_by", "") for row in result.records] == ["preference", "", ""]


def test_the_report_style_names_the_chosen_variant(run):
    shown = run(f"bench --device cpu -m best -n 64 {ONCE} --style report").stdout
    assert re.search(r"^best: [a-z0-9-]+ [A-Z_]+ = \d+", shown, re.MULTILINE)


def test_verify_chooses_for_each_size_and_type(run, tmp_path):
    result = run("verify --device cpu -m best -n 1 -n 64 --dtype float32 --dtype int32 --json out.json")
    assert result.status == 0
    rows = json.loads((tmp_path / "out.json").read_text())["results"]
    assert len(rows) == 4 and all(row["chosen_by"] == "preference" for row in rows)
    assert len({(row["method"], *row["params"].values()) for row in rows}) > 1
    assert "best: " in result.stdout and "best at 1x1x1 float32, 1x1x1 int32: " in result.stdout


@pytest.mark.slow
def test_block_auto_does_not_apply_to_best(run, needs_nvcc):
    result = run(f"bench --device cpu -m best,tiled-dynamic --block auto -n 16 {ONCE} --json -")
    assert result.records[0]["chosen_by"] == "preference"
    assert {row["method"] for row in result.records[1:] if "chosen_by" not in row} == {"tiled-dynamic"}
    run(f"bench --device cpu -m best --block auto -n 16 {ONCE}").refused(2, "BLOCK_SIZE")


def test_all_does_not_contain_best(run):
    result = run("show -m all")
    assert result.status == 0 and "best at" not in result.stderr and result.stdout.count("__global__") > 10


# Commands that measure nothing.


def test_show_prints_the_choice_for_an_architecture(run):
    result = run("show -m best -n 4096 --arch sm_86")
    assert result.status == 0 and "__global__" in result.stdout
    assert "best at 4096x4096x4096 float32: " in result.stderr and "sm_86 (GeForce RTX 3090" in result.stderr
    small = run("show -m best -n 64 --arch sm_86")
    assert small.stdout != result.stdout
    # A variant that is chosen for two sizes is printed once.
    assert run("show -m best -n 4096 -n 4096x4096x4000 --arch sm_86").stdout == result.stdout


def test_show_diff_accepts_best(run):
    result = run("show --diff best naive --arch sm_86")
    assert result.status == 0 and "lines of" in result.stdout and "and " in result.stdout


@pytest.mark.long
def test_trace_accepts_best(run):
    trace = run("trace -m best -n 16 --json -")
    assert trace.status == 0 and {row["chosen_by"] for row in trace.records} == {"preference"}
    assert "not measured on sm_80 (A100" in run("trace -m best -n 16 --arch sm_80").stdout


def test_check_accepts_best(run, tmp_path):
    check = run("check -m best -n 16 --json out.json")
    assert (
        check.status == 0
        and "1 of 1 variants are clean" in check.stdout
        and "best at 16x16x16" in check.stdout
    )
    (checked,) = json.loads((tmp_path / "out.json").read_text())["checked"]
    assert checked["chosen_by"] == "preference"


def test_roofline_accepts_best(run):
    (row,) = run("roofline -m best -n 2048 --peak 19500 --bandwidth 1555 --json -").records
    assert row["chosen_by"] == "preference" and row["method"] != "best"
    result = run("roofline -m best --arch sm_86 --sms 10 --clock 1700 --bandwidth 900")
    assert "not measured on sm_86 (a GPU, 10 SMs)" in result.stdout


@pytest.mark.slow
def test_occupancy_chooses_for_each_architecture(run, needs_nvcc, tmp_path):
    result = run("occupancy -m best -n 128x128x16 --arch sm_75 --arch sm_90 --json out.json")
    assert result.status == 0
    rows = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [(row["arch"], row["chosen_by"]) for row in rows] == [
        ("sm_75", "preference"),
        ("sm_90", "preference"),
    ]
    assert rows[0]["params"] != rows[1]["params"]
    assert "sm_75: best at 128x128x16" in result.stdout and "sm_90: best at 128x128x16" in result.stdout


# The name `best`.


def test_list_has_one_line_on_best(run):
    result = run("list")
    assert sum(line.startswith("best: ") for line in result.stdout.splitlines()) == 1
    (row,) = run("list -m best --json -").records
    assert (row["method"], row["file"], row["parameters"]) == ("best", None, [])
    assert "best" not in [row["method"] for row in run("list --json -").records]


def test_shells_complete_best():
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
def test_a_wrong_use_of_best_is_refused_in_one_line(run, line, status, words):
    run(line).refused(status, *words)


def test_a_users_kernel_named_best_is_not_the_method_best(run, kernel):
    kernel("best.cu")
    (row,) = run(f"bench --device cpu --kernel best.cu -n 16 {ONCE} --json -").records
    assert row["method"] == "best.cu" and "chosen_by" not in row


@pytest.mark.parametrize("columns", ["80", "160"])
def test_a_terminal_of_any_width_shows_best(on_terminal, columns):
    line = f"bench --device cpu -m best,naive --block 8 -n 16 {ONCE}"
    result = on_terminal(line, COLUMNS=columns, NO_COLOR="1")
    assert result.status == 0 and "best: " in result.stdout


def test_importing_bench_and_best_imports_no_numpy():
    modules = "import cudamm.cli.bench_command, cudamm.kernels.best_method"
    result = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", modules],
        capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert " numpy" not in result.stderr
