"""`cudamm bench`: which variants it runs, on what, and what it prints of them."""

from __future__ import annotations

import json
import re

import pytest

BENCH = "bench --device cpu --warmup 0 --runs 2 --times "
RUNS = re.compile(r"^\(ms\) \((.+)\) / (\d+) = ([\d.]+)$", re.MULTILINE)


def variants(ended):
    return [(row["method"], *row["params"].values()) for row in ended.records]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-m tiled --block 16", [("tiled", 16)]),
        ("--method tiled --block 8,16", [("tiled", 8), ("tiled", 16)]),
        ("-m naive --block 8:32:8", [("naive", 8), ("naive", 16), ("naive", 24), ("naive", 32)]),
        ("-m naive --block 4:6", [("naive", 4), ("naive", 5), ("naive", 6)]),
        ("-m naive --block 1:32:*2", [("naive", 2**i) for i in range(6)]),
        ("-m naive --block all", [("naive", 2**i) for i in range(6)]),
        ("-m naive --block 16,8,16", [("naive", 16), ("naive", 8)]),
        ("-m naive -D BLOCK_SIZE=8", [("naive", 8)]),
        ("-m naive,tiled --block 8", [("naive", 8), ("tiled", 8)]),
        ("-m tiled -m naive -m tiled --block 8", [("tiled", 8), ("naive", 8)]),
        ("-m cosimple --block 8", [("naive", 8)]),
        ("-m cblock,csimple --block 8", [("tiled", 8), ("coalesced", 8)]),
        ("-m cpu-simple,naive --block 8", [("cpu-simple",), ("naive", 8)]),
        ("-m register-tile --tile 1,2 --block 8", [("register-tile", 1, 8), ("register-tile", 2, 8)]),
        ("-m tiled-padded --block 8 -D PAD=0,1", [("tiled-padded", 8, 0), ("tiled-padded", 8, 1)]),
        ("-m naive,register-tile --tile 2 --block 8", [("naive", 8), ("register-tile", 2, 8)]),
    ],
)
def test_the_variants_asked_for_are_run_in_order(run, options, expected):
    ended = run(f"{BENCH} -n 16 --json - {options}")
    assert ended.status == 0
    assert variants(ended) == expected
    assert all(row["status"] == "ok" and row["correct"] is True for row in ended.records)


def test_all_is_the_whole_ladder_and_so_is_nothing(run):
    # Unverified and run once: which variants there are is the question here.
    ended = run("bench --device cpu --warmup 0 --runs 1 --times --no-verify -n 1 -m all --json -")
    assert ended.status == 0
    assert {"cpu-simple", "numpy", "naive", "tiled", "double-buffer"} <= {v[0] for v in variants(ended)}
    unnamed = run("bench --device cpu --warmup 0 --runs 1 --times --no-verify -n 1 --json -")
    assert variants(unnamed) == variants(ended)


def test_a_cmu_alias_shows_the_method_s_own_name(run):
    ended = run(f"{BENCH} -n 64 -m cosimple")
    assert ended.status == 0
    assert "naive" in ended.stdout and "cosimple" not in ended.stdout


def test_sizes_and_types_can_be_repeated(run):
    ended = run(f"{BENCH} -m naive -n 17x31x13 -n 16 -n 16 --dtype int32 --dtype float32 --json -")
    found = [(row["m"], row["n"], row["k"], row["dtype"]) for row in ended.records]
    expected = [(*shape, dtype) for shape in ((17, 31, 13), (16, 16, 16)) for dtype in ("int32", "float32")]
    assert sorted(found) == sorted(expected)


def test_gflops_and_statistics_come_from_the_runs(run):
    (row,) = run("bench --device cpu -m cpu-simple -n 17x31x13 --runs 4 --warmup 1 --times --json -").records
    runs = sorted(row["samples_ms"])
    assert len(runs) == 4 and runs[0] > 0
    assert row["mean_ms"] == pytest.approx(sum(runs) / 4)
    assert row["median_ms"] == pytest.approx((runs[1] + runs[2]) / 2)
    assert row["min_ms"] == runs[0]
    assert row["gflops"] == pytest.approx(2 * 17 * 31 * 13 / row["median_ms"] / 1e6)


def test_fmad_is_recorded_and_shown(run):
    assert [row["fmad"] for row in run(f"{BENCH} -n 16 -m naive --no-fmad --json -").records] == [False]
    assert [row["fmad"] for row in run(f"{BENCH} -n 16 -m naive --fmad --json -").records] == [True]
    assert "no fused multiply-add" in run(f"{BENCH} -n 16 -m naive --no-fmad").stdout
    assert "fused" not in run(f"{BENCH} -n 16 -m naive").stdout


def test_the_seed_decides_the_inputs(run):
    # float32 rounds other inputs otherwise, so the largest error tells which inputs they were.
    errors = [
        run(f"{BENCH} -n 33 -m naive --seed {seed} --json -").records[0]["max_error"] for seed in (1, 1, 2)
    ]
    assert errors[0] == errors[1] != errors[2]


@pytest.mark.parametrize(("asked", "launched"), [("--warmup 0", 2), ("--warmup 3", 5)])
def test_warm_up_launches_come_on_top_of_the_runs(run, kernel, asked, launched):
    # One thread of the grid counts the launches; what a kernel prints arrives on standard error.
    path = kernel("count.cu")
    text = path.read_text().replace("float sum = 0;", "float sum = 0; if (row + col == 0) tick();")
    counted = path.with_name("launches")
    helper = (
        "#include <cstdio>\n"
        f'static void tick() {{ if (FILE *f = fopen("{counted}", "a")) {{ fputc(120, f); fclose(f); }} }}\n'
    )
    path.write_text(text.replace("__global__", helper + "__global__", 1))
    assert run(f"bench --device cpu -n 16 --runs 2 --times --no-verify {asked} --kernel count.cu").status == 0
    assert len(counted.read_text()) == launched


def test_no_verify_says_that_it_did_not_look(run):
    ended = run(f"{BENCH} -n 16 -m naive --no-verify")
    assert ended.status == 0
    assert "not verified" in ended.stdout and "✓" not in ended.stdout
    (row,) = run(f"{BENCH} -n 16 -m naive --no-verify --json -").records
    assert row["correct"] is None and row["max_error"] is None


def test_auto_and_cpu_name_a_device(spawn):
    for device in ("auto", "cpu"):
        ended = spawn(f"bench --device {device} -n 16 -m naive --warmup 0 --json -")
        assert ended.status == 0
        assert json.loads(ended.stdout)["device"]["kind"] == "cpu"


def test_the_report_style_adds_up(run):
    ended = run("bench --device cpu --warmup 0 -n 32 -m naive --block 8,16 --style report --times")
    assert ended.status == 0
    found = RUNS.findall(ended.stdout)
    assert len(found) == 2
    for runs, count, mean in found:
        times = [float(run) for run in runs.split(" + ")]
        assert len(times) == int(count) == 5
        assert float(mean) == pytest.approx(sum(times) / 5, abs=1e-6)  # six decimals are printed
    assert ended.stdout.count("Success!") == 2
    assert "BLOCK_SIZE = 8" in ended.stdout and "BLOCK_SIZE = 16" in ended.stdout
    assert "Best of" not in ended.stdout  # the processor's times do not say which


def test_the_report_style_ends_with_the_best_mean(run):
    ended = run("bench --device cpu --warmup 0 -n 32 -m cpu-block --block 8,16 --style report")
    best = re.search(r"The fastest of 2 is BLOCK_SIZE=(8|16) with ([\d.]+) ms", ended.stdout)
    means = [float(mean) for *_, mean in RUNS.findall(ended.stdout)]
    assert best and float(best[2]) == min(means)
    assert best[1] == ("8", "16")[means.index(min(means))]


def test_the_best_of_a_sweep_is_the_one_with_the_smallest_median(run, tmp_path):
    ended = run(f"{BENCH} -n 16 -m cpu-block --block 8,16 --json both.json")
    rows = [line for line in ended.stdout.splitlines() if "BLOCK_SIZE=" in line]
    marked = [line for line in rows if "✓ ★" in line]
    assert len(rows) == 2 and len(marked) == 1
    records = json.loads((tmp_path / "both.json").read_text())["results"]
    best = min(records, key=lambda row: row["median_ms"])
    assert f"BLOCK_SIZE={best['params']['BLOCK_SIZE']} " in marked[0]


def test_no_best_is_marked_of_emulated_kernels_or_of_one_row(run):
    shown = run(f"{BENCH} -n 16 -m naive,tiled --block 8,16").stdout
    assert "*" not in shown and "★" not in shown  # of emulated kernels none is the best
    assert "★" not in run(f"{BENCH} -n 16 -m cpu-simple").stdout


def test_padding_is_mentioned_where_there_is_some(run):
    assert "padded" in run(f"{BENCH} -n 17 -m tiled --block 16").stdout
    assert "padded" in run(f"{BENCH} -n 17 -m tiled --block 16 --style report").stdout
    assert "padded" not in run(f"{BENCH} -n 16 -m tiled --block 16").stdout
    assert [r["padded"] for r in run(f"{BENCH} -n 17 -n 16 -m tiled --block 16 --json -").records] == [
        True,
        False,
    ]


@pytest.mark.parametrize("style", ["table", "report"])
def test_times_of_the_cpu_device_are_called_what_they_are(run, style):
    note = "its times say nothing about a GPU"
    assert note in run(f"{BENCH} -n 16 -m naive --style {style}").stdout
    assert note not in run(f"{BENCH} -n 16 -m cpu-simple --style {style}").stdout


def test_a_wrong_kernel_fails_and_the_others_are_still_timed(run, kernel, tmp_path):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    ended = run(f"{BENCH} -n 16 -m naive --kernel wrong.cu --json out.json")
    assert ended.status == 1
    assert "✓" in ended.stdout and "256 of 256 elements wrong" in ended.stdout
    assert ended.stderr == ""
    right, wrong = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (right["status"], right["correct"], right["reason"]) == ("ok", True, "")
    assert (wrong["status"], wrong["correct"], wrong["samples_ms"]) == ("failed", False, [])
    assert wrong["mean_ms"] is wrong["gflops"] is None and right["gflops"] is None
    assert wrong["max_error"] > wrong["error_bound"] > 0


def test_a_variant_that_cannot_run_on_one_size_is_skipped_there(run, kernel):
    kernel()
    ended = run(f"{BENCH} -n 16 -n 32 --kernel my.cu --requires M<20 --json -")
    assert ended.status == 0
    assert [(r["m"], r["status"]) for r in ended.records] == [(16, "ok"), (32, "skipped")]
    assert "M<20" in ended.records[1]["reason"]


def test_where_every_variant_is_skipped_all_is_not_well(run, kernel):
    kernel()
    run(f"{BENCH} -n 16 -n 32 --kernel my.cu --requires M==17").refused(2, "M==17")


def test_the_whole_ladder_copes_with_a_shape_of_primes(run):
    ended = run(f"{BENCH} -m all -n 17x31x13 --json -")
    assert ended.status == 0
    assert {row["status"] for row in ended.records} == {"ok"}
    assert all(row["correct"] and row["max_error"] <= row["error_bound"] for row in ended.records)


def test_block_auto_times_the_best_block_size_beside_the_default(run, kernel, needs_nvcc):
    """Without a GPU it is the block size of sm_80, where 1024 threads of 32 registers fill an SM."""
    small = kernel(replacing="BLOCK_SIZE = 16 in 8, 16", by="BLOCK_SIZE = 8 in 8, 16, 32")
    ended = run(f"{BENCH} -n 40 --kernel {small} --block auto")
    rows = run(f"{BENCH} -n 40 --kernel {small} --block auto --json -")
    assert variants(rows) == [("my", 8), ("my", 32)]
    assert all(row["correct"] for row in rows.records)
    assert "1024 threads per block have the highest occupancy on sm_80, 100%" in ended.stdout
    assert "4^floor(log4 1024) = 1024, a block edge of 32; chosen: BLOCK_SIZE=32" in ended.stdout
    # Where the best is the default, there is nothing to time it against.
    same = run(f"{BENCH} -n 16 -m tiled-dynamic,numpy --block auto")
    assert "chosen: BLOCK_SIZE=32, the default" in same.stdout
    assert same.stdout.count("BLOCK_SIZE=32") == 2


def test_block_auto_needs_something_to_choose(run, needs_nvcc):
    run("bench --device cpu -m numpy --block auto").refused(
        2, "--block auto needs a method with the parameter BLOCK_SIZE"
    )
    run("verify --device cpu -m tiled --block auto").refused(2, "--block auto is for bench")
