"""A faulty kernel costs its own row. The other rows and the file are complete, and no process is left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
NO_ANSWER = r"no answer within 1 s \(--timeout\)"

FAULTY = {  # value of FAULT, and what the reported reason matches
    "worker killed": (1, r"runs kernels was killed by SIGKILL \(3 times in a row\)"),
    "worker ended": (2, "runs kernels was killed by SIGTERM"),
    "worker stopped": (3, NO_ANSWER),
    "worker killed by a real-time signal": (5, r"runs kernels was killed by signal \d+"),
    "illegal address": (6, "bad memory access"),
    "assert": (7, r"assertion failed in line \d+ of faults.cu: !first, in thread"),
    "abort": (8, "call of abort"),
    "endless": (9, NO_ANSWER),
    "endless when sampled": (10, NO_ANSWER),
    "exit 3": (11, "ended with status 3"),
    "exit 0": (12, "ended with status 0"),
    "kernel killed": (13, "running the kernel was killed by SIGKILL"),
    "kernel killed by a real-time signal": (14, "running the kernel was killed by signal"),
    "malloc of 64 TB": (15, "bad memory access"),
    "new of 64 TB": (16, "call of abort"),
    "write past C": (17, "past the end of C"),
    "write far past C": (18, "past the end of C"),
    "write to A": (19, "wrote into the input A"),
    "division by zero": (20, "division by zero"),
    "divergent barrier": (21, "threads wait at different barriers"),
    "waits for a waiting thread": (22, NO_ANSWER),
    "wrong when sampled": (23, "right on (the first launch|early launches) only; in a later one"),
    "stack overflow": (25, "bad memory access"),
    "trap": (26, "illegal instruction"),
    "exception": (27, "call of abort"),
    "closes its handles": (28, "running the kernel ended with status 4"),
    "truncates the shared memory": (29, "bad memory access|SIGBUS"),
    "row not written": (32, "never written"),
    "sleeps": (33, NO_ANSWER),
    "forges answers": (34, "answered “what” instead of a duration"),
    "stops itself": (36, NO_ANSWER),
    "starts a process": (37, "attempt to start a process"),
    "runs a program": (38, "running the kernel was killed by SIGSYS: it tried to start a process"),
}
TALKATIVE = 24
KILLED_ONCE = 4
"""A fault that kills the worker at a sample, and not when a new worker takes that sample again."""
NOT_COMPILED = {
    30: "this variant does not compile",
    31: "bytes of static shared memory, more than the 49,152",
}


BENCH = f"bench --device cpu --runs 2 --warmup 0 --times --timeout 1 --kernel {FAULTS} --json out.json "


@pytest.mark.long
def test_each_fault_costs_its_own_row_and_no_other(workspace):
    """All faults are in one run, so each case but the first comes after a fault."""
    reasons = dict(FAULTY.values())
    correct = [0, TALKATIVE, KILLED_ONCE, 99]
    faults = [*correct[:1], *reasons, *correct[1:]]
    sizes = " ".join(f"-n 32x32x{100 + fault}" for fault in faults)
    completed = workspace.run(f"{BENCH} {sizes} -D FAULT=100")
    rows = {row["k"] - 100: row for row in workspace.rows()}
    assert {fault: row["status"] for fault, row in rows.items()} == (
        dict.fromkeys(correct, "ok") | dict.fromkeys(reasons, "failed")
    )
    for fault, reason in reasons.items():
        assert re.search(reason, rows[fault]["reason"]), rows[fault]
    for fault in list(reasons)[:5]:  # of one variant the first five reasons are printed
        assert re.search(f"failed faults .* at 32x32x{100 + fault} .*{reasons[fault]}", completed.stdout)
    assert completed.stdout.count("FAILED") == len(reasons)
    assert completed.status == 1
    assert "Traceback" not in completed.stderr and "Traceback" not in completed.stdout
    assert completed.stdout.count("✓") == len(correct)
    # What a kernel prints is not printed among the tables.
    assert "a long line" not in completed.stdout and completed.stderr.count("a long line") == 2000
    workspace.assert_nothing_left()


@pytest.mark.long
def test_a_variant_that_does_not_compile_costs_its_own_row(workspace):
    completed = workspace.run(BENCH + "-m tiled,coalesced --block 8 -n 32 -D FAULT=0,30,31,99")
    assert completed.status == 1 and "Traceback" not in completed.stderr + completed.stdout
    rows = workspace.rows()
    assert [row["status"] for row in rows] == ["ok", "ok", "ok", "failed", "failed", "ok"]
    for row in rows[3:5]:
        reason = NOT_COMPILED[row["params"]["FAULT"]]
        assert reason in row["reason"] and reason in " ".join(completed.stdout.split())
    workspace.assert_nothing_left()


# Lets the first worker process start, and no other.
ONE_START = """
import pytest

from cudamm.errors import NoDeviceError
from cudamm.execution.worker_executor import WorkerExecutor
start = WorkerExecutor._start
def fail(self, *arguments): raise NoDeviceError("the device is gone")
def start_once(self, *arguments):
    WorkerExecutor._start = fail
    start(self, *arguments)
WorkerExecutor._start = start_once
"""


@pytest.mark.slow
def test_a_killed_worker_that_cannot_start_again_ends_the_run_with_its_rows(workspace):
    completed = workspace.run(BENCH + "-m tiled,coalesced --block 8 -n 32 -D FAULT=0,1,99", prefix=ONE_START)
    assert completed.status == 3
    assert [row["status"] for row in workspace.rows()] == ["ok", "ok", "ok"]
    assert completed.stdout.count("✓") == 3
    assert completed.stderr_lines == ["cudamm: the device is gone; 3 results by then"]
    workspace.assert_nothing_left()


@pytest.mark.slow
def test_a_worker_that_never_starts_ends_the_command(workspace):
    completed = workspace.run(BENCH + "-n 32", prefix="import sys; sys.executable = '/bin/false'")
    assert (completed.status, completed.stdout) == (3, "")
    assert len(completed.stderr_lines) == 1 and "did not start" in completed.stderr_lines[0]
    assert not (workspace.folder / "out.json").exists()
    workspace.assert_nothing_left()
