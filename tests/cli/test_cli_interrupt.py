"""Ctrl-C and signals: the exit status, and the results so far, which are printed and written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from cudamm.execution.worker_executor import WorkerExecutor

BENCH = "bench --device cpu --warmup 0 --runs 2 --times -n 16 "


@pytest.mark.parametrize("style", ["table", "report"])
def test_ctrl_c_prints_and_writes_the_results_so_far(run, interrupted_at, tmp_path, style):
    interrupted_at(3)
    result = run(f"{BENCH} -m numpy,cpu-simple,naive,tiled --block 8 --style {style} --json out.json")
    assert result.status == 130
    assert result.stdout.count("✓" if style == "table" else "Success!") == 2
    # The host's methods come last.
    assert "naive" in result.stdout and "tiled" in result.stdout and "numpy" not in result.stdout
    assert result.stderr.startswith("cudamm: interrupted") and result.stderr.count("\n") == 1
    records = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [record["method"] for record in records] == ["naive", "tiled"]


def test_ctrl_c_during_verify_prints_the_results_so_far(run, interrupted_at):
    interrupted_at(2)
    result = run("verify --device cpu -n 16 -n 32 -m numpy --dtype int32")
    assert result.status == 130
    assert "16x16x16" in result.stdout and "32x32x32" not in result.stdout
    assert "interrupted" in result.stderr


def test_ctrl_c_leaves_valid_json_on_standard_output(run, interrupted_at):
    interrupted_at(2)
    result = run(f"{BENCH} -m numpy,naive --block 8 --json -")
    assert result.status == 130
    assert [record["method"] for record in result.records] == ["naive"]


def test_ctrl_c_before_the_first_result_prints_one_message(run, interrupted_at):
    interrupted_at(1)
    result = run(f"{BENCH} -m naive --block 8")
    assert (result.status, result.stdout) == (130, "")
    assert "interrupted" in result.stderr and "Traceback" not in result.stderr


def test_ctrl_c_before_the_device_is_open_prints_one_message(run, monkeypatch):
    def target(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(WorkerExecutor, "target", property(target))
    result = run(f"{BENCH} -m naive")
    assert (result.status, result.stdout) == (130, "")
    # Click prints a line break after the terminal's ^C.
    assert [line for line in result.stderr.splitlines() if line] == ["cudamm: interrupted"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "status", "message"),
    [
        (signal.SIGINT, 130, "cudamm: interrupted: 1 result by then\n"),
        (signal.SIGTERM, 143, "cudamm: interrupted by SIGTERM: 1 result by then\n"),
    ],
)
def test_a_signal_during_an_endless_launch_keeps_the_results_so_far(
    kernel, tmp_path, number, status, message
):
    spin = 'if (row + col == 0) { fputs("spinning\\n", stderr); for (volatile int i = 0; i < 1;) {} }'
    path = kernel("spin.cu", "float sum = 0;", f"float sum = 0; {spin}")
    process = subprocess.Popen(
        [sys.executable, "-m", "cudamm", *BENCH.split(), "-m", "naive", "--kernel", str(path),
         "--block", "16", "--json", "out.json"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == "spinning\n"  # naive has been measured
        os.kill(process.pid, number)
        stdout, stderr = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == status
    assert "naive" in stdout and "✓" in stdout
    assert stderr == message
    records = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [record["method"] for record in records] == ["naive"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "spin.cu"]
