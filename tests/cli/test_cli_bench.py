"""`cudamm bench`: the variants and problems that it runs, and what it prints."""

from __future__ import annotations

import json
import re

import pytest

BENCH = "bench --device cpu --warmup 0 --runs 2 --times "
RUNS = re.compile(r"^\(ms\) \((.+)\) / (\d+) = ([\d.]+)$", re.MULTILINE)


def variants(result):
    return [(row["method"], *row["params"].values()) for row in result.records]


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-m tiled --block 16", [("tiled", 16)]),
        ("--method tiled --block 8,16", [("tiled", 8), ("tiled", 16)]),
        ("-m naive --block 8:24:8", [("naive", 8), ("naive", 16), ("naive", 24)]),
        ("-m naive --block 1:2", [("naive", 1), ("naive", 2)]),
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
def test_the_requested_variants_run_in_order(run, options, expected):
    result = run(f"{BENCH} -n 16 --json - {options}")
    assert result.status == 0
    assert variants(result) == expected
    assert all(row["status"] == "ok" and row["correct"] is True for row in result.records)


@pytest.mark.long
def test_all_and_no_method_at_all_are_the_whole_ladder(run):
    result = run(f"{BENCH} -m all -n 17x31x13 --json -")  # primes: no tile divides the matrices
    assert result.status == 0
    assert {"cpu-simple", "numpy", "naive", "tiled", "double-buffer"} <= {v[0] for v in variants(result)}
    assert {row["status"] for row in result.records} == {"ok"}
    assert all(row["correct"] and row["max_error"] <= row["error_bound"] for row in result.records)
    unnamed = run("bench --device cpu --warmup 0 --runs 1 --times --no-verify -n 1 --json -")
    assert variants(unnamed) == variants(result)


def test_an_alias_is_shown_as_the_methods_own_name(run):
    result = run(f"{BENCH} -n 64 -m cosimple")
    assert result.status == 0
    assert "naive" in result.stdout and "cosimple" not in result.stdout


def test_sizes_and_types_can_be_repeated(run):
    result = run(f"{BENCH} -m naive -n 17x31x13 -n 16 -n 16 --dtype int32 --dtype float32 --json -")
    found = [(row["m"], row["n"], row["k"], row["dtype"]) for row in result.records]
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
    # The largest rounding error differs if the inputs differ.
    errors = [
        run(f"{BENCH} -n 33 -m naive --seed {seed} --json -").records[0]["max_error"] for seed in (1, 1, 2)
    ]
    assert errors[0] == errors[1] != errors[2]


@pytest.mark.parametrize(("warmup", "launches"), [(0, 2), (3, 5)])
def test_warm_up_launches_are_added_to_the_runs(run, kernel, warmup, launches):
    # The first thread of the grid writes a character to a file.
    path = kernel("count.cu", "float sum = 0;", "float sum = 0; if (row + col == 0) count_launch();")
    counter = """\
__device__ static void count_launch() { if (FILE *f = fopen("launches", "a")) { fputc('x', f); fclose(f); } }
"""
    path.write_text(path.read_text().replace("__global__", counter + "__global__", 1))
    line = f"bench --device cpu -n 16 --runs 2 --times --no-verify --warmup {warmup} --kernel count.cu"
    assert run(line).status == 0
    assert len(path.with_name("launches").read_text()) == launches


def test_no_verify_is_shown_and_recorded(run):
    result = run(f"{BENCH} -n 16 -m naive --no-verify")
    assert result.status == 0
    assert "not verified" in result.stdout and "✓" not in result.stdout
    (row,) = run(f"{BENCH} -n 16 -m naive --no-verify --json -").records
    assert row["correct"] is None and row["max_error"] is None


@pytest.mark.usefixtures("no_gpu")
def test_auto_is_the_cpu_device_if_there_is_no_gpu(run):
    result = run("bench --device auto -n 16 -m numpy --warmup 0 --runs 1 --times --json -")
    assert result.status == 0
    assert json.loads(result.stdout)["device"]["kind"] == "cpu"


def test_the_report_style_prints_the_mean_of_its_samples(run):
    result = run("bench --device cpu --warmup 0 -n 32 -m naive --block 8,16 --style report --times")
    assert result.status == 0
    found = RUNS.findall(result.stdout)
    assert len(found) == 2
    for samples, count, mean in found:
        times = [float(sample) for sample in samples.split(" + ")]
        assert len(times) == int(count) == 5
        assert float(mean) == pytest.approx(sum(times) / 5, abs=1e-6)  # six decimals are printed
    assert result.stdout.count("Success!") == 2
    assert "BLOCK_SIZE = 8" in result.stdout and "BLOCK_SIZE = 16" in result.stdout
    assert "The fastest" not in result.stdout  # times of emulated kernels do not show which is best


def test_the_report_style_ends_with_the_best_mean(run):
    result = run("bench --device cpu --warmup 0 -n 32 -m cpu-block --block 8,16 --style report")
    best = re.search(r"The fastest of 2 is BLOCK_SIZE=(8|16) with ([\d.]+) ms", result.stdout)
    means = [float(mean) for *_, mean in RUNS.findall(result.stdout)]
    assert best and float(best[2]) == min(means)
    assert best[1] == ("8", "16")[means.index(min(means))]


def test_the_row_with_the_smallest_median_is_marked_as_best(run, tmp_path):
    result = run(f"{BENCH} -n 16 -m cpu-block --block 8,16 --json both.json")
    rows = [line for line in result.stdout.splitlines() if "BLOCK_SIZE=" in line]
    marked = [line for line in rows if "✓ ★" in line]
    assert len(rows) == 2 and len(marked) == 1
    records = json.loads((tmp_path / "both.json").read_text())["results"]
    best = min(records, key=lambda row: row["median_ms"])
    assert f"BLOCK_SIZE={best['params']['BLOCK_SIZE']} " in marked[0]


def test_emulated_kernels_and_a_single_row_have_no_best_mark(run):
    shown = run(f"{BENCH} -n 16 -m naive,tiled --block 8,16").stdout
    assert "*" not in shown and "★" not in shown
    assert "★" not in run(f"{BENCH} -n 16 -m cpu-simple").stdout


def test_padding_is_mentioned_if_there_is_some(run):
    assert "padded" in run(f"{BENCH} -n 17 -m tiled --block 16").stdout
    assert "padded" in run(f"{BENCH} -n 17 -m tiled --block 16 --style report").stdout
    assert "padded" not in run(f"{BENCH} -n 16 -m tiled --block 16").stdout
    assert [r["padded"] for r in run(f"{BENCH} -n 17 -n 16 -m tiled --block 16 --json -").records] == [
        True,
        False,
    ]


@pytest.mark.parametrize("style", ["table", "report"])
def test_a_note_explains_the_times_of_emulated_kernels(run, style):
    note = "its times say nothing about a GPU"
    assert note in run(f"{BENCH} -n 16 -m naive --style {style}").stdout
    assert note not in run(f"{BENCH} -n 16 -m cpu-simple --style {style}").stdout


def test_a_wrong_kernel_fails_and_the_others_are_still_timed(run, kernel, tmp_path):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    result = run(f"{BENCH} -n 16 -m naive --kernel wrong.cu --json out.json")
    assert result.status == 1
    assert "✓" in result.stdout and "256 of 256 elements wrong" in result.stdout
    assert result.stderr == ""
    right, wrong = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (right["status"], right["correct"], right["reason"]) == ("ok", True, "")
    assert (wrong["status"], wrong["correct"], wrong["samples_ms"]) == ("failed", False, [])
    assert wrong["mean_ms"] is wrong["gflops"] is None and right["gflops"] is None
    assert wrong["max_error"] > wrong["error_bound"] > 0


def test_a_variant_is_skipped_at_a_size_that_it_cannot_run(run, kernel):
    kernel()
    result = run(f"{BENCH} -n 16 -n 32 --kernel my.cu --requires M<20 --json -")
    assert result.status == 0
    assert [(r["m"], r["status"]) for r in result.records] == [(16, "ok"), (32, "skipped")]
    assert "M<20" in result.records[1]["reason"]


def test_a_kernel_that_can_run_at_no_size_is_refused(run, kernel):
    kernel()
    run(f"{BENCH} -n 16 -n 32 --kernel my.cu --requires M==17").refused(2, "M==17")


@pytest.mark.slow
def test_block_auto_times_the_best_block_size_beside_the_default(run, kernel, needs_nvcc):
    """Without a GPU, --block auto takes the block size for sm_80: 1024 threads of 32 registers fill an SM."""
    small = kernel(replacing="BLOCK_SIZE = 16 in 8, 16", by="BLOCK_SIZE = 8 in 8, 32")
    result = run(f"{BENCH} -n 40 --kernel {small} --block auto --json out.json")
    rows = json.loads(small.with_name("out.json").read_text())["results"]
    assert [(row["params"], row["correct"]) for row in rows] == [
        ({"BLOCK_SIZE": 8}, True),
        ({"BLOCK_SIZE": 32}, True),
    ]
    assert "1024 threads per block have the highest occupancy on sm_80, 100%" in result.stdout
    assert "4^floor(log4 1024) = 1024, a block edge of 32; chosen: BLOCK_SIZE=32" in result.stdout


def test_block_auto_adds_no_row_if_the_default_is_best(run, needs_nvcc):
    result = run(f"{BENCH} -n 16 -m tiled-dynamic,numpy --block auto")
    assert "chosen: BLOCK_SIZE=32, the default" in result.stdout
    assert result.stdout.count("BLOCK_SIZE=32") == 2


def test_block_auto_needs_bench_and_a_method_with_a_block_size(run, needs_nvcc):
    run("bench --device cpu -m numpy --block auto").refused(
        2, "--block auto needs a method with the parameter BLOCK_SIZE"
    )
    run("verify --device cpu -m tiled --block auto").refused(2, "--block auto is for bench")
