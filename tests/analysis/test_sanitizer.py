"""Reading compute-sanitizer's output, and the process that compute-sanitizer watches, on the CPU device."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cudamm.analysis import sanitizer
from cudamm.analysis.sanitizer import ToolVerdict, find_compute_sanitizer, launch_once, parse
from cudamm.errors import KernelError, NoDeviceError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.execution.process_protocol import Success, answer_to
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

# The form of NVIDIA's manual, “Compute Sanitizer”, and of its versions 2022.1 to 2025.3.
MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at mine(int, int, int, const float *, const float *, float *)+0x230 in mine.cu:14
=========     by thread (0,1,0) in block (0,1,0)
=========     Access at 0x7f05c7e0083c is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f05c7e00000 of size 2108 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: cuLaunchKernel [0x331fe4] in libcuda.so.1
=========
========= Invalid __global__ write of size 4 bytes
=========     at mine(int, int, int, const float *, const float *, float *)+0x230 in mine.cu:14
=========     by thread (1,1,0) in block (0,1,0)
=========     Access at 0x7f05c7e00840 is out of bounds
=========
========= ERROR SUMMARY: 31 errors
========= ERROR SUMMARY: 21 errors were not printed. Use --print-limit option to adjust the number of errors
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at mine(float *)+0x90 in mine.cu:16
=========     and Read access at mine(float *)+0x100 in mine.cu:19 [508 hazards]
=========
========= Warning: Race reported between Read access at 0x570 in mine(float *)
========= and Write access at 0x600 in mine(float *) [4 hazards]
=========
========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)
"""
SYNCCHECK = """\
========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at mine(float *)+0x15520 in mine.cu:18
=========     by thread (1,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
"""


def test_memcheck_errors_are_counted_and_shown_without_the_hosts_stack():
    verdict = parse("memcheck", "17x31x13", MEMCHECK)
    assert verdict is not None
    assert (verdict.tool, verdict.size, verdict.errors) == ("memcheck", "17x31x13", 31)
    assert verdict.messages[0] == (
        "Invalid __global__ write of size 4 bytes at mine(int, int, int, const float *, const float *, "
        "float *) in mine.cu:14 by thread (0,1,0) in block (0,1,0) Access at 0x7f05c7e0083c is out of bounds "
        "and is 1 bytes after the nearest allocation at 0x7f05c7e00000 of size 2108 bytes"
    )
    assert len(verdict.messages) == 2 and "Frame" not in "".join(verdict.messages)


def test_racecheck_errors_count_and_warnings_do_not():
    verdict = parse("racecheck", "8x8x8", RACECHECK)
    assert verdict is not None and verdict.errors == 1
    assert "mine.cu:16 and Read access" in verdict.messages[0] and "mine.cu:19" in verdict.messages[0]
    assert "and Write access at 0x600" in verdict.messages[1]


def test_synccheck_errors_are_counted_and_a_clean_run_has_none():
    verdict = parse("synccheck", "8x8x8", SYNCCHECK)
    assert verdict is not None and verdict.errors == 1
    assert "mine.cu:18 by thread (1,0,0)" in verdict.messages[0]
    clean = parse("initcheck", "8", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
    assert clean == ToolVerdict("initcheck", "8")


@pytest.mark.parametrize(
    "text", ["", "garbage\0", "========= COMPUTE-SANITIZER\n", MEMCHECK.split("===== ERROR")[0]]
)
def test_incomplete_output_gives_no_verdict(text):
    assert parse("memcheck", "8", text) is None


def test_compute_sanitizer_is_found_on_path_then_in_the_toolkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sanitizer, "toolkit_roots", lambda: [tmp_path / "cuda"])
    monkeypatch.setattr(sanitizer, "wheel_roots", lambda folders: [])
    monkeypatch.setattr(sanitizer, "find_nvcc", lambda: None)
    with pytest.raises(NoDeviceError, match="apt: cuda-sanitizer"):
        find_compute_sanitizer()
    for folder in ("cuda/compute-sanitizer", "bin"):
        tool = tmp_path / folder / "compute-sanitizer"
        tool.parent.mkdir(parents=True)
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o755)
        assert find_compute_sanitizer() == tool


@pytest.fixture
def prepared(cpu, kernels):
    def prepare_one(name: str):
        path = kernels / "mistakes" / f"{name}.cu"
        (variant,) = variants(read_method(path) if path.exists() else find(name), {})
        with InProcessExecutor(cpu) as executor:
            problem = Problem(parse_shape("20x16x16"), ELEMENT_TYPES["float32"])
            (case,) = prepare(executor, [(variant, problem)], True, lambda *_: None, verified=True)
        return case

    return prepare_one


@pytest.mark.slow
def test_a_right_kernel_is_launched_without_an_error(prepared, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "")  # `launch_once` sets it
    assert answer_to(lambda: launch_once(prepared("tiled"))) == Success(None)


@pytest.mark.slow
def test_the_watched_process_writes_its_error_to_a_file(prepared, tmp_path: Path):
    (tmp_path / "case").write_bytes(pickle.dumps(prepared("barriers_at_two_lines")))
    command = [sys.executable, "-m", "cudamm.analysis.sanitizer"]
    command += [str(tmp_path / "case"), str(tmp_path / "answer"), "60"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert completed.returncode == 0, completed.stderr
    answer = pickle.loads((tmp_path / "answer").read_bytes())  # noqa: S301 - written by this test
    assert isinstance(answer.error, KernelError) and "different barriers" in str(answer.error)
