"""`--plot` of `bench` and `sweep` in files and in the terminal, and of `occupancy` in the terminal."""

from __future__ import annotations

import json
import re
import sys

import pytest

from cudamm.benchmark import measure
from cudamm.output.number_format import significant

ON_CPU = "--device cpu -n 16 --runs 3 --warmup 0 --times"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("suffix", "begins"), [("png", b"\x89PNG"), ("SVG", b"<?xml"), ("pdf", b"%PDF")])
def test_bench_draws_a_picture_in_the_format_of_the_suffix(run, tmp_path, suffix, begins):
    (tmp_path / f"x.{suffix}").write_text("old")
    ended = run(f"bench {ON_CPU} -m cpu-simple -m cpu-block --plot x.{suffix} --json -")
    assert (ended.status, ended.stderr, len(ended.records)) == (0, "", 2)
    assert (tmp_path / f"x.{suffix}").read_bytes().startswith(begins)
    assert [path.name for path in tmp_path.iterdir()] == [f"x.{suffix}"]


@pytest.mark.slow
def test_a_picture_shows_the_best_of_each_method_that_is_timed(run, tmp_path):
    ended = run(f"sweep {ON_CPU} -m tiled,cpu-block --block 4,8,16 --plot x.svg --json x.json")
    assert (ended.status, ended.stderr) == (0, "")
    rows = json.loads((tmp_path / "x.json").read_text())["results"]
    native = [row for row in rows if row["status"] == "ok" and row["method"] == "cpu-block"]
    best = min(native, key=lambda row: row["median_ms"])
    svg = (tmp_path / "x.svg").read_text()
    assert f"best at {best['params']['BLOCK_SIZE']}: {significant(best['median_ms'])} ms" in svg
    assert svg.count("best at") == 1  # the emulated kernel has no best
    assert "BLOCK_SIZE" in svg and "Tsinghua 2022, scaled" in svg and "† executed by the CPU device" in svg


@pytest.mark.slow
def test_charts_in_the_terminal_come_below_the_table(run):
    ended = run(f"bench {ON_CPU} -m cpu-block -m cpu-simple --plot -")
    assert (ended.status, ended.stderr) == (0, "")
    table, bars = ended.stdout.split("GFLOP/s\n")
    assert "✓" in table
    assert re.search(r"^cpu-block ‡ BLOCK_SIZE=32 +\S* +[\d.]+", bars, re.M) and "best" in bars
    two = run(f"sweep {ON_CPU} -m tiled-coarse --block 4,8 -D COARSE=1,2 --plot -").stdout
    assert re.search(r"median time \(ms\); (BLOCK_SIZE down, COARSE|COARSE down, BLOCK_SIZE) across", two)
    sizes = run("bench --device cpu -n 8 -n 16 --runs 2 --warmup 0 -m cpu-simple --plot -").stdout
    assert "GFLOP/s against n (M = N = K)" in sizes and "●" in sizes


def test_results_in_the_style_of_a_report_can_be_drawn(run):
    shown = run(f"bench {ON_CPU} -m tiled --block 4,8 --style report --plot -").stdout
    assert "(ms) (" in shown and "median time (ms) against BLOCK_SIZE" in shown


def test_failed_results_are_counted_below_the_chart(run, kernel):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    ended = run(f"bench {ON_CPU} --kernel wrong.cu -m cpu-simple --plot -")
    assert ended.status == 1 and "Not drawn: 1 failed" in ended.stdout


def test_without_a_timed_result_no_chart_is_drawn(run, kernel, tmp_path):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    for path in ("x.png", "-"):
        ended = run(f"bench {ON_CPU} --kernel wrong.cu --plot {path}")
        assert ended.status == 1 and ended.stderr.startswith(
            f"cudamm: --plot {path}: there is nothing to draw"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["wrong.cu"]


def test_after_ctrl_c_the_results_so_far_are_drawn(run, monkeypatch, tmp_path):
    original = measure.bench

    def interrupted(*arguments):
        results = original(*arguments)
        yield next(results)
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "bench", interrupted)
    ended = run(f"bench {ON_CPU} -m cpu-simple -m numpy --plot x.svg")
    assert ended.status == 130 and ended.stderr.startswith("cudamm: interrupted: 1 result")
    svg = (tmp_path / "x.svg").read_text()
    assert "cpu-simple ‡" in svg and "numpy" not in svg


def test_a_resumed_run_draws_the_rows_of_the_file_too(run, tmp_path):
    assert run(f"bench {ON_CPU} -m cpu-simple --json x.json").status == 0
    shown = run(f"bench {ON_CPU} -m cpu-simple -m numpy --resume x.json --plot -").stdout
    bars = shown.split("GFLOP/s\n")[1]
    assert "cpu-simple ‡" in bars and "numpy ‡" in bars


@pytest.mark.parametrize("command", ["bench", "sweep"])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--plot x.jpg", ["--plot x.jpg", ".png, .svg, .pdf"]),
        ("--plot png", [".png, .svg, .pdf"]),
        ("--plot ''", ["--plot needs the name of a file"]),
        ("--plot nowhere/x.png", ["nowhere/x.png", "cannot be written"]),
        ("--plot same.svg --json same.svg", ["--plot", "--json", "same"]),
        ("--plot ./same.svg --json same.svg", ["--plot", "--json", "same"]),
        ("--plot same.svg --resume same.svg", ["--plot", "--resume"]),
        ("--plot - --json -", ["--plot", "--json", "standard output"]),
    ],
)
def test_a_plot_that_cannot_be_written_is_refused_before_measuring(
    run, launches, tmp_path, command, options, words
):
    run(f"{command} {ON_CPU} -m tiled --block 8 {options}").refused(2, *words)
    assert launches == [] and list(tmp_path.iterdir()) == []


def test_occupancy_draws_its_curves_in_the_terminal(run):
    numbers = "occupancy --arch sm_86 --threads 256 --registers 42 --shared 5000"
    drawn = run(f"{numbers} --plot -")
    assert drawn == run(f"{numbers} --curves") and "┤" in drawn.stdout
    run(f"{numbers} --plot - --json -").refused(2, "standard output")


@pytest.mark.parametrize("columns", [60, 100])
def test_charts_fit_the_terminal_and_respect_no_color(on_terminal, columns):
    line = f"bench {ON_CPU} -m tiled --block 4,8,16 --plot -"
    plain = on_terminal(line, COLUMNS=str(columns), NO_COLOR="1").stdout
    axes = [row for row in plain.splitlines() if re.search("[┤└┌]", row) and "├" not in row]
    assert axes and max(map(len, axes)) <= columns and "\x1b[" not in re.sub(r"\x1b\[\?25[hl]", "", plain)


def test_charts_in_the_terminal_have_the_colours_of_the_pictures(on_terminal):
    line = f"bench {ON_CPU} -m cpu-block --block 4,8 --plot -"
    assert "\x1b[38;2;0;114;178m" in on_terminal(line, COLORTERM="truecolor").stdout


@pytest.mark.parametrize(("path", "library"), [("x.png", "matplotlib"), ("-", "plotext")])
@pytest.mark.parametrize("command", ["bench", "sweep", "roofline", "reproduce pmpp", "occupancy"])
def test_a_missing_library_is_reported_before_a_device_is_opened(run, monkeypatch, path, library, command):
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(
        "cudamm.execution.worker_executor.WorkerExecutor.__init__",
        lambda *_: pytest.fail("a device was opened"),
    )
    run(f"{command} --plot {path}").refused(3, library, "cudamm[plot]")


def test_without_a_gpu_kernels_have_no_times_to_draw_and_plot_says_so_at_once(run, monkeypatch):
    monkeypatch.setattr("cudamm.benchmark.measure.bench", lambda *_: pytest.fail("a kernel was run"))
    for command in ("bench -m naive,tiled", "sweep -m tiled --block 8,16"):
        run(f"{command} --device cpu -n 16 --plot x.png").refused(2, "--plot x.png", "a GPU", "--times")
