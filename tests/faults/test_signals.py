"""Signals end a command with one message, the right status, a complete file and no process left."""

from __future__ import annotations

import ctypes
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

FAULTS = Path(__file__).with_name("faults.cu")
STATUS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
BENCH = "bench --device cpu -n 48 -m tiled,coalesced,naive,tiled-bounds --block 8 --times --json out.json "
LONG_BENCH = BENCH + "--max-time 60 --max-noise 0.0001% "

# A process that sends itself SIGINT when it calls a function for the nth time.
INTERRUPT_AT_CALL = """
import fcntl, os, shutil, signal
from cudamm.compile import host_compiler
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.analysis import exact_figures
from cudamm.benchmark import unnamed_file
from cudamm.output import bench_table, live_json
inner, calls = {owner}.{name}, []
def outer(*arguments, **named):
    calls.append(1)
    if len(calls) == {number}:
        os.kill(os.getpid(), signal.SIGINT)
    return inner(*arguments, **named)
{owner}.{name} = outer
"""

MOMENTS = {  # owner of the function, its name, the number of the call, and the rows that must be kept
    "compiling": ("host_compiler", "run_compiler", 2, 0),
    "sampling the third case": ("WorkerExecutor", "sample", 7, 2),
    "writing a result": ("live_json.LiveJson", "append", 2, 2),
    "replacing the file": ("unnamed_file.UnnamedFile", "place", 2, 2),
    "computing figures": ("exact_figures", "exact_figures", 1, 4),
    "printing tables": ("bench_table", "render", 1, 4),
}


def rows_after_interrupt(workspace, completed):
    """Check what an interrupted command has left, and return the number of rows in its file."""
    assert completed.status == STATUS[signal.SIGINT], completed
    (message,) = completed.stderr_lines
    assert message.startswith("cudamm: interrupted")
    assert "Traceback" not in completed.stdout
    workspace.assert_nothing_left()
    rows = workspace.rows() if (workspace.folder / "out.json").exists() else []
    assert all(row["status"] == "ok" for row in rows)
    return len(rows)


@pytest.mark.parametrize(
    "moment", [pytest.param(m, marks=pytest.mark.long if i % 2 else ()) for i, m in enumerate(MOMENTS)]
)
def test_an_interrupt_at_a_chosen_moment_keeps_the_rows_measured_so_far(workspace, moment):
    owner, name, call, least_rows = MOMENTS[moment]
    line = BENCH + "--runs 2 --warmup 0 "
    if moment == "compiling":  # the mark makes a program that is in no cache
        (workspace.folder / "new.cu").write_text(f"{FAULTS.read_text()}\n// {workspace.mark}\n")
        line += "--kernel new.cu"
    prefix = INTERRUPT_AT_CALL.format(owner=owner, name=name, number=call)
    completed = workspace.run(line, prefix=prefix)
    rows = rows_after_interrupt(workspace, completed)
    assert rows >= least_rows
    if rows and moment != "printing tables":
        assert completed.stdout.count("✓") == rows


@pytest.mark.parametrize(
    ("owner", "name"),
    [("signal", "set_wakeup_fd"), ("fcntl", "flock"), ("shutil", "rmtree")],
    ids=["the start", "making a temporary folder", "removing a temporary folder"],
)
def test_an_interrupt_at_the_start_or_around_a_temporary_folder_leaves_nothing(workspace, owner, name):
    prefix = INTERRUPT_AT_CALL.format(owner=owner, name=name, number=1)
    completed = workspace.run("doctor", prefix=prefix)
    assert rows_after_interrupt(workspace, completed) == 0


# A signal in a function that takes the locks of all futures, whose exception would leave them locked.
WITH_LOCKS_HELD = """
import os, signal
from concurrent.futures import _base
def __enter__(self):
    for future in self.futures:
        future._condition.acquire()
    os.kill(os.getpid(), signal.SIGINT)
_base._AcquireFutures.__enter__ = __enter__
"""

# A signal in a destructor, whose exceptions Python ignores.
IN_A_DESTRUCTOR = """
import os, signal
from cudamm.execution.worker_executor import WorkerExecutor
class Destructor:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        len("the handler runs before this line")
inner = WorkerExecutor.verify
def outer(*arguments, **named):
    Destructor()
    return inner(*arguments, **named)
WorkerExecutor.verify = outer
"""

# A signal after everything is printed, while Python ends.
AT_EXIT = """
import atexit, os, signal
atexit.register(os.kill, os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("prefix", [WITH_LOCKS_HELD, IN_A_DESTRUCTOR], ids=["locks held", "destructor"])
def test_a_signal_in_an_awkward_moment_is_heard_a_little_later(workspace, prefix):
    (workspace.folder / "new.cu").write_text(f"{FAULTS.read_text()}\n// {workspace.mark}\n")
    completed = workspace.run(LONG_BENCH + "--kernel new.cu", prefix=prefix)
    rows_after_interrupt(workspace, completed)


def test_a_signal_after_the_end_changes_nothing(workspace):
    completed = workspace.run("list", prefix=AT_EXIT)
    assert (completed.status, completed.stderr) == (0, "")


def test_a_second_signal_right_after_the_first_changes_nothing(workspace):
    process = workspace.start(BENCH + "--max-time 0.5 --max-noise 0.0001%")
    workspace.wait_for_rows(process)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    assert rows_after_interrupt(workspace, workspace.wait_for(process)) >= 1


def test_ctrl_c_during_the_imports_prints_nothing(workspace):
    (workspace.folder / "cloup.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "-m", "cudamm", "list"]
    ended = subprocess.run(
        command, cwd=workspace.folder, env=workspace.environment, capture_output=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (-signal.SIGINT, b"", b"")


@pytest.mark.parametrize(
    "command",
    ["bench --times --warmup 0 --max-time 0.5 --max-noise 0.0001%", "verify --dtype float32"],
    ids=["bench", "verify"],
)
def test_a_closed_terminal_ends_the_run_and_keeps_its_rows(workspace, command):
    """The system sends SIGHUP, and writing to standard output and standard error fails from then on."""
    terminal, terminal_of_process = pty.openpty()
    process = workspace.start(
        f"{command} --device cpu -n 48 -n 300 -n 500 -m tiled,coalesced --block 8 --json out.json",
        prefix=OWN_TERMINAL,
        stdin=terminal_of_process,
        stdout=terminal_of_process,
        stderr=terminal_of_process,
        start_new_session=True,
    )
    os.close(terminal_of_process)
    shown = b""
    while b"FIRST RESULT" not in shown:
        shown += os.read(terminal, 65536)
    os.close(terminal)
    assert process.wait(timeout=30) == STATUS[signal.SIGHUP]
    workspace.assert_nothing_left()
    rows = json.loads((workspace.folder / "out.json").read_text())["results"]
    assert 1 <= len(rows) < 6 and all(row["status"] == "ok" for row in rows)


OWN_TERMINAL = """
import fcntl, os, termios
from cudamm.cli.session import LiveSession, Session
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
def reporting(keep):
    def outer(self, result):
        keep(self, result)
        if len(self.results) == 1:
            os.write(1, b"FIRST RESULT")
    return outer
LiveSession.keep, Session.keep = reporting(LiveSession.keep), reporting(Session.keep)
"""


def test_a_killed_command_leaves_no_process_and_its_journal(workspace):
    """The command is killed while an endless kernel runs, so it cannot stop the kernel itself."""
    process = workspace.start(
        f"bench --device cpu -n 32 --runs 2 --times --kernel {FAULTS} -D FAULT=9 --json out.json "
        "-m tiled --block 8"
    )
    workspace.wait_for_rows(process)
    time.sleep(0.3)
    assert any(".kernel" in line for line in workspace.running_processes())
    process.kill()
    process.communicate()
    workspace.assert_the_next_command_removes_what_is_left()
    assert [row["status"] for row in workspace.journal_rows()] == ["ok"]
    assert not (workspace.folder / "out.json").exists()


def send_to_process(process, number):
    process.send_signal(number)


def send_to_another_thread(process, number):
    """Send a signal that, like one that arrives just before the main thread waits, does not end its wait."""
    *_, thread = (int(path.name) for path in Path(f"/proc/{process.pid}/task").iterdir())
    assert thread != process.pid
    assert ctypes.CDLL(None).tgkill(process.pid, thread, number) == 0


@pytest.mark.parametrize(
    ("command", "send", "signal_number"),
    [
        (f"trace -n 32 --kernel {FAULTS} -D FAULT=9", send_to_process, signal.SIGKILL),
        (f"trace -n 32 --kernel {FAULTS} -D FAULT=9", send_to_another_thread, signal.SIGTERM),
        ("trace -n 2048 -m naive --block 16 --all", send_to_process, signal.SIGINT),  # takes minutes
    ],
    ids=["endless, killed", "endless, terminated", "all blocks, interrupted"],
)
def test_a_signal_ends_a_long_trace_at_once(workspace, command, send, signal_number):
    process = workspace.start(command)
    deadline = time.monotonic() + 60
    while not any(re.match(r"\d+ \S+\.kernel \d+ \d+", line) for line in workspace.running_processes()):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    send(process, signal_number)
    assert process.wait(timeout=10) == STATUS.get(signal_number, -signal_number)
    process.communicate()
    if signal_number == signal.SIGKILL:
        workspace.assert_the_next_command_removes_what_is_left()
    workspace.assert_nothing_left()


# Starts a process and makes a temporary file, as compilers do, and does not end.
ENDLESS_COMPILER = """#!/bin/sh
[ "$1" = --version ] && exec g++ --version
touch "$TMPDIR/cc1.s"
echo $$ >compiling
sleep 60 &
wait
"""


@pytest.mark.parametrize(
    ("signal_number", "command"),
    [(signal.SIGTERM, "check"), (signal.SIGKILL, "trace")],
    ids=lambda given: getattr(given, "name", given),
)
def test_a_signal_ends_a_compiler_with_its_processes_and_files(workspace, signal_number, command):
    compiler = workspace.folder / "compiler"
    compiler.write_text(ENDLESS_COMPILER)
    compiler.chmod(0o755)
    workspace = workspace.with_environment(CXX=str(compiler), CUDAMM_CACHE=str(workspace.folder / "cache"))
    process = workspace.start(f"{command} -m naive,tiled -n 16")
    deadline = time.monotonic() + 60
    while not (workspace.folder / "compiling").exists():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal_number)
    assert process.wait(timeout=5) == STATUS.get(signal_number, -signal_number)
    process.communicate()
    workspace.assert_no_process_runs()
    if signal_number == signal.SIGKILL:
        compiler.write_text(ENDLESS_COMPILER.replace("touch", "exit 1\ntouch"))
        workspace.assert_the_next_command_removes_what_is_left()
    workspace.assert_nothing_left()
