"""`cudamm tune`: the winner that it prints and stores, interrupts, and what is refused."""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import shlex
import threading

import pytest

pytestmark = pytest.mark.usefixtures("cpu_passes_for_a_gpu")

TUNE = "tune --device cpu -n 16 --budget 20s "


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Return the data folder of the test, which does not exist yet."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CUDAMM_DATA", str(folder))
    return folder


def stored_entries(data):
    return json.loads((data / "tuned.json").read_text())["entries"]


# Winners.


def test_the_winner_is_printed_and_stored_with_a_command_to_measure_it(run, data, tmp_path):
    ended = run(f"{TUNE} -m naive --block 2,8,16 --json out.json")
    assert (ended.status, ended.stderr) == (0, "")
    document = json.loads((tmp_path / "out.json").read_text())
    assert document["schema"] == "cudamm.tune/1"
    assert document["options"] == {"budget_s": 20.0, "seed": 0, "cache": "cold"}
    rows = document["results"]
    assert sorted(row["params"]["BLOCK_SIZE"] for row in rows) == [2, 8, 16]
    (winner,) = [row for row in rows if row["winner"]]
    assert winner["correct"] is True and winner["stage"] == "confirmation" and winner["median_ms"] > 0
    (outcome,) = document["outcomes"]
    assert outcome["params"] == winner["params"] and outcome["median_ms"] == winner["median_ms"]
    assert (outcome["offered"], outcome["possible"], outcome["tried"]) == (3, 3, 3)
    assert outcome["ended"] == "complete" and len(outcome["ratio"]) == 3
    assert outcome["confirmed"] == (outcome["ratio"][1] > 1)
    block = winner["params"]["BLOCK_SIZE"]
    assert f"BLOCK_SIZE={block}" in ended.stdout
    assert "The search tried 3 of 3 variants in" in ended.stdout
    assert "say nothing about a GPU" in ended.stdout
    (again,) = re.findall(r"^    (cudamm bench .*)$", ended.stdout, re.MULTILINE)
    bench = run(f"{again.removeprefix('cudamm ')} --runs 2 --warmup 0 --json -")
    assert bench.status == 0
    assert [(r["method"], r["params"], r["m"]) for r in bench.records] == [("naive", winner["params"], 16)]
    (entry,) = stored_entries(data)
    assert (entry["method"], entry["params"], entry["complete"]) == ("naive", winner["params"], True)
    assert str(data) in ended.stdout


def test_each_method_and_size_has_a_winner(run, data):
    ended = run("tune --device cpu --budget 20s -m naive,coalesced -n 8 -n 4x6x8 --block 4 --json -")
    assert ended.status == 0
    rows = [(r["method"], r["m"], r["n"], r["k"], r["winner"]) for r in ended.records]
    assert sorted(rows) == [
        (method, *shape, True) for method in ("coalesced", "naive") for shape in ((4, 6, 8), (8, 8, 8))
    ]
    assert len(stored_entries(data)) == 4


def test_the_options_limit_the_search(run):
    line = f'{TUNE} -m tiled-coarse --block 4,8 -D COARSE=1,2 --where "BLOCK_SIZE*COARSE<16" --json -'
    ended = run(line)
    assert sorted((r["params"]["COARSE"], r["params"]["BLOCK_SIZE"]) for r in ended.records) == [
        (1, 4), (1, 8), (2, 4),
    ]  # fmt: skip


def test_a_wrong_variant_never_wins(run, kernel, data):
    # The kernel writes nothing if its blocks have an edge of 8, and so it is fast.
    kernel(
        "hasty.cu",
        "if (row >= M || col >= N) return;",
        "if (BLOCK_SIZE == 8 || row >= M || col >= N) return;",
    )
    ended = run(f"{TUNE} --kernel hasty.cu --block 8,16")
    assert ended.status == 0
    assert "the only variant whose result was right" in ended.stdout and "never written" in ended.stdout
    (entry,) = stored_entries(data)
    assert entry["params"] == {"BLOCK_SIZE": 16} and entry["kernel"].endswith("hasty.cu")


def test_without_a_correct_variant_nothing_is_stored(run, kernel, data):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    ended = run(f"{TUNE} --kernel wrong.cu --block 8,16")
    assert ended.status == 1
    assert "no variant was right" in ended.stdout and "none" in ended.stdout
    assert "stored in" not in ended.stdout and "cudamm bench" not in ended.stdout
    assert not (data / "tuned.json").exists()


def test_variants_that_cannot_be_launched_are_not_tried(run):
    ended = run(f"{TUNE} -m naive --block 8,16,33 --json -")
    assert ended.status == 0
    assert sorted(r["params"]["BLOCK_SIZE"] for r in ended.records) == [8, 16]


@pytest.mark.slow
def test_the_command_for_a_users_kernel_repeats_its_launch_options(run, kernel, data, tmp_path):
    text = kernel().read_text()
    text = text[text.index("__global__") :].replace("blockIdx.y * BLOCK_SIZE", "blockIdx.y * BY")
    (tmp_path / "plane.cu").write_text(text.replace("blockIdx.x * BLOCK_SIZE", "blockIdx.x * BX"))
    ended = run(f'{TUNE} --kernel plane.cu --threads BX,BY --grid "ceil(N/BX),ceil(M/BY)" -D BX=4,8 -D BY=4')
    assert ended.status == 0
    (again,) = re.findall(r"^    (cudamm bench .*)$", ended.stdout, re.MULTILINE)
    assert run(f"{again.removeprefix('cudamm ')} --runs 1 --warmup 0").status == 0
    assert "--threads" in shlex.split(again)
    listed = run("tune --device cpu --list --json -")
    assert [(r["method"], r["is_current"]) for r in listed.records] == [("plane", True)]


def test_csv_markdown_and_svg_contain_the_variants(run, tmp_path):
    ended = run(f"{TUNE} -m naive --block 4,8 --csv - --markdown out.md --svg out.svg")
    rows = list(csv.DictReader(io.StringIO(ended.stdout)))
    assert sorted(row["params.BLOCK_SIZE"] for row in rows) == ["4", "8"]
    assert sorted(row["winner"] for row in rows) == ["false", "true"]
    assert "| naive |" in (tmp_path / "out.md").read_text()
    assert "<svg" in (tmp_path / "out.svg").read_text()


@pytest.mark.slow
def test_verbose_prints_each_step_and_quiet_prints_none(run):
    ended = run(f"{TUNE} -m naive --block 4,8 -v")
    assert "start: compiling naive" in ended.stderr and "confirmation: verifying naive" in ended.stderr
    assert run(f"{TUNE} -m naive --block 4,8 -q").stderr == ""


# Interrupts and budgets.


def test_ctrl_c_stores_the_best_so_far(run, interrupted_at, data, tmp_path, monkeypatch):
    # The first two variants have all their samples before Ctrl-C, which comes when the third is verified.
    monkeypatch.setattr("cudamm.tuning.search.MEASURED_AT_ONCE", 2)
    interrupted_at(3)
    ended = run(f"{TUNE} -m naive --block 4,8,16 --json out.json")
    assert ended.status == 130
    assert ended.stderr.startswith("cudamm: interrupted") and ended.stderr.count("\n") == 1
    assert "the search was interrupted" in ended.stdout
    document = json.loads((tmp_path / "out.json").read_text())
    (outcome,) = document["outcomes"]
    assert outcome["ended"] == "cut short" and outcome["params"] is not None and outcome["ratio"] is None
    (entry,) = stored_entries(data)
    assert (entry["params"], entry["complete"]) == (outcome["params"], False)
    assert "incomplete search" in run("tune --device cpu --list").stdout


def test_ctrl_c_before_the_first_result_stores_nothing(run, interrupted_at, data):
    interrupted_at(1)
    ended = run(f"{TUNE} -m naive --block 4,8,16")
    assert (ended.status, ended.stdout) == (130, "")
    assert not (data / "tuned.json").exists()


def test_ctrl_c_leaves_no_thread_that_waits_for_compilers(run, interrupted_at):
    """Otherwise the garbage collector ends the threads later, perhaps inside a function that starts one."""
    before = set(threading.enumerate())
    interrupted_at(1)
    gc.disable()
    try:
        assert run(f"{TUNE} -m naive --block 4,8,16").status == 130
        assert set(threading.enumerate()) <= before
    finally:
        gc.enable()


def test_a_small_budget_measures_at_least_one_variant(run, data):
    ended = run("tune --device cpu -n 8 -m naive --block 2,4,8 --budget 0.001s --json -")
    assert ended.status == 0 and len(ended.records) >= 1
    assert json.loads(ended.stdout)["outcomes"][0]["ended"] == "budget"
    assert len(stored_entries(data)) == 1


# The store.


def test_stored_entries_are_listed_and_forgotten(run, data):
    assert "No parameters are stored for" in run("tune --device cpu --list").stdout
    run(f"{TUNE} -m naive --block 4")
    run(f"{TUNE} -m coalesced --block 4")
    listed = run("tune --device cpu --list")
    assert listed.status == 0 and "naive" in listed.stdout and "coalesced" in listed.stdout
    assert [r["method"] for r in run("tune --device cpu --list -m csimple --json -").records] == ["coalesced"]
    entries = stored_entries(data)
    entries.append({**entries[0], "device": "Another"})
    (data / "tuned.json").write_text(json.dumps({"schema": "cudamm.tuned/1", "entries": entries}))
    assert len(run("tune --device cpu --list --json -").records) == 2
    assert "1 entry of" in run("tune --device cpu --forget -m naive").stdout
    assert [(e["method"], e["device"] == "Another") for e in stored_entries(data)] == [
        ("coalesced", False),
        ("naive", True),
    ]
    assert "1 entry of" in run("tune --device cpu --forget").stdout
    assert [e["device"] for e in stored_entries(data)] == ["Another"]
    assert "0 entries" in run("tune --device cpu --forget").stdout


def test_an_entry_of_a_changed_source_is_listed_as_ignored(run, kernel):
    kernel("mine.cu")
    run(f"{TUNE} --kernel mine.cu --block 8")
    assert "ignored" not in run("tune --device cpu --list").stdout
    kernel("mine.cu", "float sum = 0;", "float sum = 0.0f;")
    assert "its source has changed since: ignored" in run("tune --device cpu --list").stdout
    assert [r["is_current"] for r in run("tune --device cpu --list --json -").records] == [False]
    assert "1 entry of" in run("tune --device cpu --forget -m mine").stdout


def test_a_damaged_store_is_renamed_with_a_message(run, data):
    data.mkdir()
    (data / "tuned.json").write_text("{")
    ended = run(f"{TUNE} -m naive --block 4")
    assert ended.status == 0 and "was damaged" in ended.stdout and "tuned.damaged-1.json" in ended.stdout
    assert (data / "tuned.damaged-1.json").read_text() == "{"
    (data / "tuned.json").write_text("{")
    listed = run("tune --device cpu --list")
    assert listed.status == 0 and "tuned.damaged-2.json" in listed.stderr


# Refusals.


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-m numpy", ["numpy", "host"]),
        ("-m naive,cpu-block", ["cpu-block", "host"]),
        ("-m no-such-method", ["no-such-method"]),
        ("-m naive --budget 0", ["--budget", "0"]),
        ("-m naive --budget soon", ["soon", "60s or 2m"]),
        ("-m naive --budget -5s", ["-5s"]),
        ('-m naive --where "BLOCK_SIZE>99"', ["--where excludes every variant", "naive"]),
        ('-m naive --where "EDGE<4"', ["EDGE"]),
        ('-m naive --where "BLOCK_SIZE<"', ["--where", "BLOCK_SIZE<"]),
        ("-m naive --block 33,64", ["none of the 2 variants of naive", "1089 threads"]),
        ("-m naive -D EDGE=4", ["EDGE"]),
        ("--kernel missing.cu", ["missing.cu"]),
        ("-m naive --list --forget", ["--list and --forget"]),
        ("-m naive --list --block 8", ["leave out --block"]),
        ("-m no-such-method --forget", ["no-such-method"]),
        ("-m naive --seed -1", ["--seed"]),
        ("-m naive --json - --csv -", ["--json", "--csv"]),
    ],
)
def test_a_wrong_command_line_is_refused_before_any_launch(run, launches, data, line, words):
    run(f"tune --device cpu {line}").refused(2, *words)
    assert launches == [] and not (data / "tuned.json").exists()


def test_a_data_folder_that_cannot_be_written_is_refused(run, data, launches):
    data.write_text("a file")
    run(f"{TUNE} -m naive").refused(2, "data folder", "CUDAMM_DATA")
    assert launches == []


def test_on_a_full_disk_the_results_are_printed_and_written(run, monkeypatch, tmp_path):
    def raise_disk_full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cudamm.tuning.tuned_store.os.fsync", raise_disk_full)
    ended = run(f"{TUNE} -m naive --block 4 --json out.json")
    assert ended.status == 2 and "No space left" in ended.stderr and ended.stderr.count("\n") == 1
    assert "BLOCK_SIZE=4" in ended.stdout and "stored in" not in ended.stdout
    assert [r["winner"] for r in json.loads((tmp_path / "out.json").read_text())["results"]] == [True]


def test_a_kernel_that_does_not_compile_is_refused(run, kernel):
    kernel("broken.cu", "float sum = 0;", "float sum = ;")
    run(f"{TUNE} --kernel broken.cu").refused(2, "broken.cu", "does not compile")


def test_a_budget_is_a_duration_with_or_without_a_unit():
    from cudamm.cli.tune_command import Duration

    convert = Duration().convert
    seconds = [convert(text, None, None) for text in ("60s", "2m", "90", "1.5m", "1h", " 5 min ")]
    assert seconds == [60, 120, 90, 90, 3600, 300]
