"""`bench` and `sweep` without a GPU show exact figures, and no rate of an emulated kernel."""

from __future__ import annotations

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from cudamm.compile.nvcc_compiler import nvcc

FIGURES = {
    "sectors_per_1000_multiply_adds", "share_of_ideal_sectors", "wavefronts_per_1000_multiply_adds",
    "share_of_ideal_wavefronts", "memory_instructions_per_1000_multiply_adds", "operations_per_byte",
    "registers_per_thread", "shared_bytes_per_block", "occupancy",
}  # fmt: skip


def rows_of(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if "│" in line]


def defines(row: dict[str, Any]) -> str:
    return " ".join(f"-D {name}={value}" for name, value in row["params"].items())


@pytest.mark.long
def test_exact_figures_are_those_of_trace_and_occupancy(run, needs_nvcc, tmp_path) -> None:
    # Other tests compile these kernels for sm_90, with these parameters.
    methods, options = "-m naive,tiled,vectorized", "-n 70x50x30 --arch sm_90 --json"
    measured = run(f"bench --device cpu {methods} {options} -").records
    run(f"trace {methods} {options} trace.json")
    traced = json.loads((tmp_path / "trace.json").read_text())["variants"]
    occupancies = [
        run(f"occupancy -m {row['method']} {defines(row)} {options} -").records[0] for row in measured
    ]

    def of_accesses(trace: dict[str, Any], name: str, spaces: tuple[str, ...]) -> int:
        kinds = [f"{space}_{op}s" for space in spaces for op in ("load", "store", "atomic")]
        return sum(trace[kind][name] for kind in kinds)

    for row, trace, occupancy in zip(measured, traced, occupancies, strict=True):
        assert row["method"] == trace["method"] and row["correct"] is True
        sectors = of_accesses(trace, "sectors", ("global",))
        wavefronts = of_accesses(trace, "wavefronts", ("shared",)) or None
        instructions = of_accesses(trace, "requests", ("global", "shared"))
        assert row["exact"] == {
            "arch": "sm_90",
            "gpu": "H100 SXM",
            "sectors_per_1000_multiply_adds": pytest.approx(sectors / (70 * 50 * 30 / 1000)),
            "share_of_ideal_sectors": of_accesses(trace, "ideal_sectors", ("global",)) / sectors,
            "wavefronts_per_1000_multiply_adds": wavefronts
            and pytest.approx(wavefronts / (70 * 50 * 30 / 1000)),
            "share_of_ideal_wavefronts": wavefronts
            and of_accesses(trace, "ideal_wavefronts", ("shared",)) / wavefronts,
            "memory_instructions_per_1000_multiply_adds": pytest.approx(instructions / (70 * 50 * 30 / 1000)),
            "operations_per_byte": trace["intensity"],
            "registers_per_thread": occupancy["registers_per_thread"],
            "shared_bytes_per_block": occupancy["shared_bytes_per_block"],
            "occupancy": occupancy["occupancy"],
            "unknown": [],
            "nvcc": re.search(r"^Build (\S+)", nvcc().version, re.MULTILINE)[1],
        }


@pytest.mark.slow
def test_the_table_has_exact_figures_and_times_of_host_methods_only(run, needs_nvcc) -> None:
    ended = run("bench --device cpu -n 64 -m naive,tiled,cpu-simple --runs 2")
    naive, tiled, host = rows_of(ended.stdout)
    # For 32 multiply-adds a warp of naive executes two loads, which touch a sector in each of 32 rows of A,
    # and one of B; for each 64 of these it stores C, to 32 rows.
    sectors, instructions = (64 * 33 + 32) / (64 * 32) * 1000, (64 * 2 + 1) / (64 * 32) * 1000
    assert naive[:6] == ["naive †", "BLOCK_SIZE=32", f"{round(sectors, -1):.0f}", "15.1%", "-", "-"]
    assert naive[6:] == [f"{instructions:.1f}", "32", "0", "100%", "✓"]
    assert tiled[8] == "8192"  # two tiles of 4096 bytes
    assert host[0] == "cpu-simple ‡" and "1.00×" in host
    kernels, _, timed = ended.stdout.partition("on ")
    assert not re.search(r"GFLOP|\(ms\)|over |best", kernels) and "GFLOP/s" in timed
    assert "on sm_80 (A100); --arch chooses another" in ended.stdout
    assert [len(row["samples_ms"]) for row in run(
        "bench --device cpu -n 64 -m naive,cpu-simple --runs 2 --json -").records] == [0, 2]  # fmt: skip


def test_times_of_emulated_kernels_have_no_rate_and_no_speed_up(run) -> None:
    ended = run("bench --device cpu -n 16 -m naive,tiled --runs 2 --warmup 0 --times")
    assert "median (ms)" in ended.stdout
    assert not re.search(r"GFLOP|over |★|speed-up", ended.stdout)


@pytest.mark.parametrize("option", ["--csv", "--markdown", "--svg"])
def test_csv_markdown_and_svg_have_no_rate_of_a_kernel(run, tmp_path, option) -> None:
    run(f"bench --device cpu -n 16 -m naive,tiled --runs 2 --warmup 0 --times {option} out")
    text = (tmp_path / "out").read_text()
    if option == "--csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert [row["gflops"] for row in rows] == ["", ""] and all(row["samples_ms"] for row in rows)
        assert {f"exact.{name}" for name in FIGURES} <= set(rows[0])
    else:
        assert "naive" in text and not re.search("GFLOP|best|★", text)


@pytest.mark.parametrize("times", ["", "--times"])
def test_the_page_has_exact_figures_and_no_winner(run, tmp_path, times) -> None:
    run(f"bench --device cpu -n 16 -m naive,tiled,numpy --runs 2 --warmup 0 {times} --json out.json")
    assert run("report out.json --no-occupancy").status == 0
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "Only a GPU can show which kernel is the fastest." in page
    assert "the fastest verified row" not in page and "per 1000 multiply-adds" in page
    assert 'id="charts"' not in page


@pytest.mark.parametrize("columns", ["80", "120"])
@pytest.mark.slow
def test_the_figures_fit_the_terminal_without_wrapping(on_terminal, columns) -> None:
    line = "bench --device cpu -n 16 -m naive,tiled,block-coarse-local,vectorized --arch sm_90"
    text = on_terminal(line, COLUMNS=columns, NO_COLOR="1").stdout
    text = re.sub(r"\x1b\[[\d;]*m", "", text)
    assert max(map(len, text.splitlines())) <= int(columns) and "…" not in text
    rows = rows_of(text)
    assert [row[0] for row in rows] == ["naive †", "tiled †", "block-coarse-local †", "vectorized †"]
    assert all(len(row) in (7, 10) and row[-1].startswith("✓") for row in rows)


def test_without_nvcc_a_line_explains_how_to_install_it(run, monkeypatch) -> None:
    from cudamm.compile.nvcc_compiler import nvcc

    monkeypatch.setattr("cudamm.compile.nvcc_compiler.find_nvcc", lambda: None)
    nvcc.cache_clear()
    try:
        ended = run("bench --device cpu -n 16 -m naive,tiled")
    finally:
        monkeypatch.undo()
        nvcc.cache_clear()
    naive, tiled = rows_of(ended.stdout)
    assert naive[2] != "-" and naive[7:10] == ["-"] * 3 == tiled[7:10]
    assert ended.stdout.count("nvcc was not found: run make setup, or install the CUDA toolkit") == 1


def test_an_architecture_that_does_not_exist_is_refused(run) -> None:
    run("bench --device cpu -n 16 -m naive --arch sm_1").refused(2, "sm_1")


def test_speed_ups_are_relative_to_the_baseline(run) -> None:
    ended = run("bench --device cpu -n 16 -m cpu-simple,numpy --runs 2 --warmup 0 --baseline numpy")
    assert "over numpy" in ended.stdout and "1.00×" in rows_of(ended.stdout)[1]
    line = "bench --device cpu -n 16 -m naive,tiled --baseline numpy"
    run(line).refused(2, "--baseline numpy", "naive, tiled")


def test_an_old_file_with_times_is_resumed_with_times_only(run, tmp_path: Path) -> None:
    """Files of version 0.1.0 lack the option `times`, and all their rows have times."""
    line = "bench --device cpu -n 16 -m naive,tiled --runs 2 --warmup 0"
    run(f"{line} --times --json out.json")
    path = tmp_path / "out.json"
    document = json.loads(path.read_text())
    del document["options"]["times"]
    for row in document["results"]:
        del row["exact"]
    path.write_text(json.dumps(document))
    run(f"{line} --resume out.json").refused(2, "the file has times True")
    assert "2 of 2 results were in out.json already" in run(f"{line} --times --resume out.json").stdout
    assert all(set(row["exact"]) > FIGURES for row in json.loads(path.read_text())["results"])


def test_a_file_without_times_is_resumed_and_compared(run) -> None:
    line = "bench --device cpu -n 16 -m naive,tiled"
    run(f"{line} --json old.json")
    assert "2 of 2 results were in old.json already" in run(f"{line} --resume old.json").stdout
    run(f"{line} --json new.json")
    ended = run("compare old.json new.json")
    assert ended.status == 0 and "2 not compared" in ended.stdout


@pytest.mark.slow
def test_a_sweep_shows_exact_figures_in_the_given_order(run) -> None:
    ended = run("sweep --device cpu -n 32 -m tiled --block 32,16")
    rows = rows_of(ended.stdout)
    assert [row[1] for row in rows] == ["BLOCK_SIZE=32", "BLOCK_SIZE=16"]
    assert all(row[-1] == "✓" for row in rows)
    assert not re.search(r"GFLOP|\(ms\)|best", ended.stdout)


def test_the_columns_fall_as_the_kernels_of_the_ladder_get_better(run, needs_nvcc) -> None:
    """Each kernel is better in a column than the one before it, and the last is far better than the first."""
    ladder = "naive,coalesced,tiled,tile-1d,tile-2d,vectorized"
    rows = [row["exact"] for row in run(f"bench --device cpu -n 128 -m {ladder} --json -").records]
    names = ("sectors_per_1000_multiply_adds", "memory_instructions_per_1000_multiply_adds")
    figures = [[row[name] for name in names] for row in rows]
    assert all(
        min(a / b for a, b in zip(new, old, strict=True)) < 1 for old, new in itertools.pairwise(figures)
    )
    assert all(last < first / 20 for first, last in zip(figures[0], figures[-1], strict=True))
    assert rows[0]["share_of_ideal_sectors"] < 0.2 and rows[1]["share_of_ideal_sectors"] == 1


def test_the_table_says_once_that_fewer_accesses_are_better(run) -> None:
    ended = run("bench --device cpu -n 16 -m naive,tiled -n 32")
    assert ended.stdout.count("Fewer is better.") == 1
    assert "for a kernel" not in ended.stdout and "op/B" not in ended.stdout


HANGS = """
// threads: 16, 16
// grid: N / 16, M / 16
__global__ void spin(int M, int N, int K, const float *A, const float *B, float *C) {
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    volatile int go = 1;
    while (go) {}
    C[row * N + col] = 0;
}
"""


@pytest.mark.slow
def test_a_size_that_takes_too_long_is_estimated_and_its_exact_figures_are_shown(spawn) -> None:
    line = "bench --device cpu -n 2048 -m naive --timeout 0.5"
    ended = spawn(line)
    assert ended.status == 0 and "FAILED" not in ended.stdout and "failed" not in ended.stdout
    (row,) = rows_of(ended.stdout)
    assert row[-1] == "not verified" and row[2] == "1030"  # 32 + 1 sectors for 32 multiply-adds
    assert re.search(
        r"-n 2048 would take about \d+ (s|minutes) here; -n (32|64|128|256|512|1024) takes "
        r"(less than a |\d )s",
        ended.stdout,
    )
    (record,) = spawn(f"{line} --json -").records
    assert record["status"] == "skipped" and record["correct"] is None
    assert record["exact"]["sectors_per_1000_multiply_adds"] == pytest.approx(33 / 32 * 1000, rel=0.01)


@pytest.mark.slow
def test_a_kernel_that_hangs_is_still_called_failed(spawn, tmp_path: Path) -> None:
    (tmp_path / "spin.cu").write_text(HANGS)
    for size in ("64", "512"):
        ended = spawn(f"bench spin.cu --device cpu -n {size} --timeout 2")
        assert ended.status == 1 and "no answer within 2 s (--timeout)" in ended.stdout
    ended = spawn("trace spin.cu -n 64 --timeout 2")
    assert ended.status == 1 and "failed" in ended.stdout


@pytest.mark.slow
def test_a_time_limit_that_is_too_short_is_no_failure_of_a_sound_kernel(spawn) -> None:
    for line in ("verify -m naive -n 512 --dtype float32", "bench -m naive -n 512"):
        ended = spawn(f"{line} --device cpu --timeout 0.01")
        assert "failed naive" not in ended.stdout and "FAILED" not in ended.stdout
        assert re.search(r"skipped naive.*--timeout", ended.stdout)  # an estimate, or no answer in time
    ended = spawn("trace -m naive -n 4096 --timeout 0.01")
    assert ended.status == 1 and "failed" not in ended.stdout
    assert "no block of threads ended within 0.01 s (--timeout)" in ended.stdout
