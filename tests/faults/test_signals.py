"""Signals, at chosen moments and at any: one line, the right status, a whole file, nothing left running."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import time
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
ENDS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
BENCH = "bench --device cpu -n 48 -m tiled,coalesced,naive,tiled-bounds --block 8 --times --json out.json "
SEED = int(os.environ.get("CUDAMM_FAULT_SEED", "20261121"))

# Runs in the process itself: a signal to it, once, when a function is called for the nth time.
AT = """
import os, signal
from cudamm.compile import host_compiler
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.analysis import exact_figures
from cudamm.output import bench_table as tables, live_json, output_files
def at(where, name, number):
    inner, calls = getattr(where, name), []
    def outer(*arguments, **named):
        calls.append(1)
        if len(calls) == number:
            os.kill(os.getpid(), {signal})
        return inner(*arguments, **named)
    setattr(where, name, outer)
at({where}, {name!r}, {number})
"""

MOMENTS = {
    "compiling": ("host_compiler", "run_compiler", 2, 0),
    "verifying": ("WorkerExecutor", "verify", 3, 2),
    "sampling": ("WorkerExecutor", "sample", 2, 0),
    "sampling the third": ("WorkerExecutor", "sample", 7, 2),
    "writing a result": ("live_json.LiveJson", "append", 2, 2),
    "replacing the file": ("output_files.Path", "replace", 2, 2),
    "computing figures": ("exact_figures", "exact_figures", 1, 4),
    "printing tables": ("tables", "render", 1, 4),
}


def check(place, ended, number):
    """Return how many rows were kept."""
    name = "" if number == signal.SIGINT else f" by {number.name}"
    assert ended.status == ENDS[number], ended
    assert len(ended.lines) == 1 and ended.lines[0].startswith(f"cudamm: interrupted{name}"), ended.stderr
    assert "Traceback" not in ended.stdout
    place.nothing_left()
    rows = place.rows() if (place.folder / "out.json").exists() else []
    assert all(row["status"] == "ok" for row in rows)
    return len(rows)


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        *((signal.SIGINT, moment) for moment in MOMENTS),
        (signal.SIGTERM, "sampling the third"),
        (signal.SIGTERM, "replacing the file"),
        (signal.SIGHUP, "verifying"),
    ],
)
def test_at_a_chosen_moment(place, number, moment):
    where, name, count, at_least = MOMENTS[moment]
    if moment == "compiling":
        place = place.with_(CUDAMM_CACHE=str(place.folder / "cache"))
    prefix = AT.format(signal=int(number), where=where, name=name, number=count)
    ended = place.run(BENCH + "--runs 2 --warmup 0", prefix=prefix)
    kept = check(place, ended, number)
    assert kept >= at_least
    if kept and moment != "printing tables":
        assert ended.stdout.count("✓") == kept


@pytest.mark.parametrize("number", ENDS, ids=lambda number: number.name)
def test_at_random_moments(place, number):
    """From when the command is known to run to some way into the sampling."""
    chance = random.Random(SEED + number)  # noqa: S311
    for _ in range(2):
        (place.folder / "out.json").unlink(missing_ok=True)
        ready, told = os.pipe()
        process = place.start(
            BENCH + "--max-time 60 --max-noise 0.0001%", prefix=TELL.format(told), pass_fds=[told]
        )
        os.close(told)
        os.read(ready, 1)
        os.close(ready)
        time.sleep(chance.uniform(0, 1.5))
        process.send_signal(number)
        check(place, place.end(process), number)


# The handlers are in place once `main` has begun.
TELL = """
import os
from cudamm.cli import app
inner = app.main
def outer(*arguments, **named):
    os.write({}, b".")
    return inner(*arguments, **named)
app.main = outer
"""


def test_two_signals_shortly_after_one_another(place):
    process = place.start(BENCH + "--max-time 0.5 --max-noise 0.0001%")
    wait_for_rows(place)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    ended = place.end(process)
    assert check(place, ended, signal.SIGTERM) >= 1


def wait_for_rows(place, within_s=30):
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        if place.journal():
            return
        time.sleep(0.02)
    raise AssertionError("no row within time")


@pytest.mark.parametrize("command", ["bench --times --warmup 0 --max-time 0.5 --max-noise 0.0001%", "verify"])
def test_a_terminal_that_is_closed(place, command):
    """The kernel hangs up: SIGHUP, and a standard output and error that take nothing any more."""
    ours, theirs = pty.openpty()
    process = place.start(
        f"{command} --device cpu -n 48 -n 300 -n 500 -m tiled,coalesced --block 8 --json out.json",
        prefix=HERE_IS_A_TERMINAL,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"FIRST RESULT" not in shown:
        shown += os.read(ours, 65536)
    os.close(ours)
    assert process.wait(timeout=30) == ENDS[signal.SIGHUP]
    place.nothing_left()
    rows = json.loads((place.folder / "out.json").read_text())["results"]
    assert 1 <= len(rows) < 6 and all(row["status"] == "ok" for row in rows)


HERE_IS_A_TERMINAL = """
import fcntl, os, termios
from cudamm.cli.session import LiveSession, Session
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
def telling(keep):
    def outer(self, result):
        keep(self, result)
        if len(self.results) == 1:
            os.write(1, b"FIRST RESULT")
    return outer
LiveSession.keep, Session.keep = telling(LiveSession.keep), telling(Session.keep)
"""


def test_killed_parent_leaves_no_process(place):
    """While a kernel runs that never ends, and nobody can be told to stop it."""
    process = place.start(
        f"bench --device cpu -n 32 --runs 2 --times --kernel {FAULTS} -D FAULT=9 --json out.json "
        "-m tiled --block 8"
    )
    wait_for_rows(place)
    time.sleep(0.3)
    assert any(".kernel" in line for line in place.left_over())
    process.kill()
    process.communicate()
    place.nothing_left()
    assert [row["status"] for row in place.journal()] == ["ok"]
    assert not (place.folder / "out.json").exists()
