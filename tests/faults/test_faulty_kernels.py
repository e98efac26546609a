"""A faulty kernel costs its own row. The other rows and the file are complete, and no process is left."""

from __future__ import annotations

import re
from pathlib import Path

FAULTS = Path(__file__).with_name("faults.cu")
NO_ANSWER = r"no answer within 1 s \(--timeout\)"

FAULTY = {  # value of FAULT, and what the reported reason matches
    "worker killed": (1, "runs kernels was killed by SIGKILL"),
    "worker ended": (2, "runs kernels was killed by SIGTERM"),
    "worker stopped": (3, NO_ANSWER),
    "worker killed when sampled": (4, "runs kernels was killed by SIGKILL"),
    "worker killed by a real-time signal": (5, r"runs kernels was killed by signal \d+"),
    "illegal address": (6, "bad memory access"),
    "assert": (7, "failed assertion"),
    "abort": (8, "failed assertion"),
    "endless": (9, NO_ANSWER),
    "endless when sampled": (10, NO_ANSWER),
    "exit 3": (11, "ended with status 3"),
    "exit 0": (12, "ended with status 0"),
    "kernel killed": (13, "running the kernel was killed by SIGKILL"),
    "kernel killed by a real-time signal": (14, "running the kernel was killed by signal"),
    "malloc of 64 TB": (15, "bad memory access"),
    "new of 64 TB": (16, "failed assertion"),
    "write past C": (17, "past the end of C"),
    "write far past C": (18, "past the end of C"),
    "write to A": (19, "wrote into the input A"),
    "division by zero": (20, "division by zero"),
    "divergent barrier": (21, "waits at the barrier"),
    "waits for a waiting thread": (22, NO_ANSWER),
    "wrong when sampled": (23, "right when it was verified, but not when it was timed"),
    "stack overflow": (25, "bad memory access"),
    "trap": (26, "illegal instruction"),
    "exception": (27, "failed assertion"),
    "closes its handles": (28, "running the kernel ended with status 4"),
    "truncates the shared memory": (29, "bad memory access|SIGBUS"),
    "does not compile": (30, "does not compile"),
    "too much shared memory": (31, "262,144 bytes of static shared memory"),
    "row not written": (32, "never written"),
    "sleeps": (33, NO_ANSWER),
    "forges answers": (34, "answered “what” instead of a duration"),
    "stops itself": (36, NO_ANSWER),
    "starts a process": (37, "attempt to start a process"),
    "runs a program": (38, "running the kernel was killed by SIGSYS: it tried to start a process"),
}


def bench(faults: str) -> str:
    return (
        f"bench --device cpu -n 32 --runs 2 --warmup 0 --times --timeout 1 -m tiled,coalesced --block 8 "
        f"--kernel {FAULTS} -D FAULT={faults} --json out.json"
    )


def test_each_fault_costs_its_own_row_and_no_other(workspace):
    """All faults are in one run, so each case but the first comes after a fault."""
    reasons = dict(FAULTY.values())
    completed = workspace.run(bench(",".join(map(str, [0, *reasons, 99]))))
    rows = {row["params"].get("FAULT", row["method"]): row for row in workspace.rows()}
    correct = ["tiled", "coalesced", 0, 99]
    assert {name: row["status"] for name, row in rows.items()} == (
        dict.fromkeys(correct, "ok") | dict.fromkeys(reasons, "failed")
    )
    shown = " ".join(completed.stdout.split())
    for fault, reason in reasons.items():
        assert re.search(reason, rows[fault]["reason"]), rows[fault]
        assert re.search(f"failed faults [^:]*FAULT={fault} .*?({reason})", shown)
    assert completed.status == 1
    assert "Traceback" not in completed.stderr and "Traceback" not in completed.stdout
    assert completed.stdout.count("✓") == len(correct)
    workspace.assert_nothing_left()


def test_output_of_a_kernel_is_not_printed_among_the_tables(workspace):
    completed = workspace.run(bench("24"))
    assert completed.status == 0
    assert [row["status"] for row in workspace.rows()] == ["ok"] * 3
    assert "a long line" not in completed.stdout and completed.stderr.count("a long line") >= 3 * 2000
    workspace.assert_nothing_left()


# Lets the first worker process start, and no other.
ONE_START = """
from cudamm.errors import NoDeviceError
from cudamm.execution.worker_executor import WorkerExecutor
start = WorkerExecutor._start
def fail(self, *arguments): raise NoDeviceError("the device is gone")
def start_once(self, *arguments):
    WorkerExecutor._start = fail
    start(self, *arguments)
WorkerExecutor._start = start_once
"""


def test_a_killed_worker_that_cannot_start_again_ends_the_run_with_its_rows(workspace):
    completed = workspace.run(bench("0,1,99"), prefix=ONE_START)
    assert completed.status == 3
    assert [row["status"] for row in workspace.rows()] == ["ok", "ok", "ok"]
    assert completed.stdout.count("✓") == 3
    assert completed.stderr_lines == ["cudamm: the device is gone; 3 results by then"]
    workspace.assert_nothing_left()


def test_a_worker_that_never_starts_ends_the_command(workspace):
    completed = workspace.run(bench("0"), prefix="import sys; sys.executable = '/bin/false'")
    assert (completed.status, completed.stdout) == (3, "")
    assert len(completed.stderr_lines) == 1 and "did not start" in completed.stderr_lines[0]
    assert not (workspace.folder / "out.json").exists()
    workspace.assert_nothing_left()
