"""One process at a time starts the driver, but no process waits for long."""

from __future__ import annotations

import errno
import fcntl
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from cudamm.execution import driver_turn

FOREVER_S = 1e9

LONGEST_START_S = 60
"""Within this time in seconds, a process that does not wait has written its line."""

PROCESS = """
import sys
from cudamm.execution import driver_turn
driver_turn.__file__, driver_turn.LONGEST_WAIT_S = sys.argv[1], float(sys.argv[2])
print("waits", flush=True)
with driver_turn.driver_turn():
    print("starts", flush=True)
    sys.stdin.read()
"""

Start = Callable[[float], "subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def locked_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Take turns by a file that no other process of this machine locks, and wait for ever."""
    path = tmp_path / "locked"
    path.touch()
    monkeypatch.setattr(driver_turn, "__file__", str(path))
    monkeypatch.setattr(driver_turn, "LONGEST_WAIT_S", FOREVER_S)
    return path


@pytest.fixture
def start(locked_file: Path) -> Iterator[Start]:
    """Start a process that waits for its turn, at most the given time in seconds, and then keeps it."""
    with ExitStack() as stack:

        def started(longest_wait_s: float) -> subprocess.Popen[bytes]:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", PROCESS, str(locked_file), str(longest_wait_s)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    bufsize=0,  # `select` does not see what a buffer holds
                )
            )
            stack.callback(process.kill)
            assert _line(process) == "waits"
            return process

        yield started


def _line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None and _writes_within(process, LONGEST_START_S)
    return process.stdout.readline().decode().strip()


def _writes_within(process: subprocess.Popen[bytes], time_s: float) -> bool:
    return bool(select.select([process.stdout], [], [], time_s)[0])


def test_a_process_waits_until_another_has_started_the_driver(start: Start) -> None:
    with driver_turn.driver_turn():
        process = start(FOREVER_S)
        assert not _writes_within(process, 0.3)
    assert _line(process) == "starts"


def test_the_turn_of_a_killed_process_ends(start: Start) -> None:
    killed = start(FOREVER_S)
    assert _line(killed) == "starts"
    process = start(FOREVER_S)
    assert not _writes_within(process, 0.3)
    killed.kill()
    assert _line(process) == "starts"


def test_a_process_does_not_wait_for_a_driver_that_hangs(start: Start) -> None:
    hanging = start(FOREVER_S)
    assert _line(hanging) == "starts"
    assert _line(start(0.05)) == "starts" and hanging.poll() is None


def test_without_locks_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(errno.EBADF, "a network's file system locks no file that is open for reading only")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with driver_turn.driver_turn():
        pass
