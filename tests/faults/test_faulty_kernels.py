"""A faulty kernel costs its own row: every other row, the file and the machine are as they would be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
NO_ANSWER = r"no answer within 1 s \(--timeout\)"

FAULTY = {
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
    "stops itself": (36, NO_ANSWER),
}


def bench(faults: str) -> str:
    return (
        f"bench --device cpu -n 32 --runs 2 --warmup 0 --times --timeout 1 -m tiled,coalesced --block 8 "
        f"--kernel {FAULTS} -D FAULT={faults} --json out.json"
    )


@pytest.mark.parametrize("answers", [True, False], ids=["an answer", "no answer"])
def test_each_fault_costs_its_own_row(place, answers):
    """All in one run, so that each follows another: a case after a fault is what it would be without."""
    faults = {fault: reason for fault, reason in FAULTY.values() if (reason != NO_ANSWER) == answers}
    ended = place.run(bench(",".join(map(str, [0, *faults, 99]))))
    rows = {row["params"].get("FAULT", row["method"]): row for row in place.rows()}
    sound = ["tiled", "coalesced", 0, 99]
    assert {name: row["status"] for name, row in rows.items()} == (
        dict.fromkeys(sound, "ok") | dict.fromkeys(faults, "failed")
    )
    shown = " ".join(ended.stdout.split())
    for fault, reason in faults.items():
        assert re.search(reason, rows[fault]["reason"]), rows[fault]
        assert re.search(f"failed faults [^:]*FAULT={fault} .*?({reason})", shown)
    assert ended.status == 1
    assert "Traceback" not in ended.stderr and "Traceback" not in ended.stdout
    assert ended.stdout.count("✓") == len(sound)
    place.nothing_left()


@pytest.mark.parametrize("name", ["worker killed", "stack overflow", "stops itself"])
def test_nothing_is_left_of_one_fault(place, name):
    ended = place.run(bench(f"0,{FAULTY[name][0]},99"))
    assert [row["status"] for row in place.rows()] == ["ok", "ok", "ok", "failed", "ok"]
    assert ended.status == 1
    place.nothing_left()


def test_what_a_kernel_prints_is_not_among_the_tables(place):
    ended = place.run(bench("0,24,99"))
    assert ended.status == 0
    assert [row["status"] for row in place.rows()] == ["ok"] * 5
    assert "a long line" not in ended.stdout and ended.stderr.count("a long line") >= 3 * 2000
    place.nothing_left()


def test_a_kernel_that_forges_answers(place):
    ended = place.run(bench("0,34,99"))
    assert [row["status"] for row in place.rows()] == ["ok", "ok", "ok", "failed", "ok"]
    assert "Traceback" not in ended.stderr


def test_a_worker_that_does_not_start_again_keeps_what_there_is(place):
    """The kernel kills the worker, and there is no second one."""
    once = """
from cudamm.errors import NoDeviceError
from cudamm.execution.worker_executor import WorkerExecutor
start = WorkerExecutor._start
def fail(self, *arguments): raise NoDeviceError("the device is gone")
def first(self, *arguments):
    WorkerExecutor._start = fail
    start(self, *arguments)
WorkerExecutor._start = first
"""
    ended = place.run(bench("0,1,99"), prefix=once)
    assert ended.status == 3
    assert [row["status"] for row in place.rows()] == ["ok", "ok", "ok"]
    assert ended.stdout.count("✓") == 3
    assert ended.lines == ["cudamm: the device is gone; 3 results by then"]
    place.nothing_left()


def test_a_worker_that_never_starts(place):
    ended = place.with_(PYTHONPATH=f"{place.folder}:{place.environment['PYTHONPATH']}").run(
        bench("0"), prefix=f"import sys; sys.executable = {'/bin/false'!r}"
    )
    assert (ended.status, ended.stdout) == (3, "")
    assert len(ended.lines) == 1 and "did not start" in ended.lines[0]
    assert not (place.folder / "out.json").exists()
    place.nothing_left()
