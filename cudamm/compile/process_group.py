"""Start processes, wait for them, and end them together with every process that they start.

Every process that cudamm starts leads a group and a session of its own. Ctrl-C in the terminal reaches only
cudamm, which then kills the groups. A group that `run_group` started ends even if cudamm is killed.

A thread of `thread_pool` waits for its processes in short steps: it notices that the block of the pool has
ended by an exception, such as Ctrl-C in the main thread, and ends what it waits for.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

CORES = len(os.sched_getaffinity(0))
"""Number of cores on which this process, and those that it starts, may run."""

STEP_S = 0.1
"""Duration, in seconds, after which a waiting thread looks whether it has to stop."""


_PR_SET_PDEATHSIG = 1


class Stopped(BaseException):
    """The end of a thread whose pool is no longer needed; no other thread reads it."""


class _Pool:
    """The pool of the running thread: whether its threads have to stop."""

    def __init__(self, outer: _Pool | None = None) -> None:
        self._outer = outer
        self._has_ended = False

    def end(self) -> None:
        self._has_ended = True

    @property
    def has_ended(self) -> bool:
        return self._has_ended or (self._outer is not None and self._outer.has_ended)


_pool: ContextVar[_Pool | None] = ContextVar("pool", default=None)


@contextlib.contextmanager
def thread_pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads. After the block no thread runs, and no process for which one waited.

    If the block ends by an exception, its threads stop; otherwise they finish their work. A generator with
    such a block has to be closed: if the garbage collector ended the block, it could wait for threads inside
    a function that starts one, and hang.
    """
    own = _Pool(_pool.get())
    pool = ThreadPoolExecutor(threads, initializer=_pool.set, initargs=(own,))
    try:
        yield pool
        pool.shutdown()
    finally:
        own.end()
        pool.shutdown(cancel_futures=True)


def stop_if_asked() -> None:
    """Raise Stopped if the pool of this thread is no longer needed. Waiting loops call this function."""
    pool = _pool.get()
    if pool is not None and pool.has_ended:
        raise Stopped


def start_group(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """Start a process as the leader of a new group.

    Args:
        options: options of `subprocess.Popen`. Without `stdin` the process reads nothing.
    """
    stop_if_asked()
    return subprocess.Popen(command, start_new_session=True, **{"stdin": subprocess.DEVNULL} | options)


_starter: ThreadPoolExecutor | None = None
"""A thread that ends with cudamm; it starts the processes of `start_mortal_group` for other threads."""


def start_mortal_group(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """Start a process, as `start_group` does, that gets a signal when its parent ends (`PR_SET_PDEATHSIG`).

    Linux sends that signal when the thread ends that started the process, not when the whole parent ends.
    """
    global _starter
    if threading.current_thread() is threading.main_thread():
        return start_group(command, **options)
    stop_if_asked()
    if _starter is None:
        _starter = ThreadPoolExecutor(1)
    return _starter.submit(start_group, command, **options).result()


def end_with_parent(parent: int) -> bool:
    """Have this process killed when its parent ends; return whether the parent still runs.

    Only a process of `start_mortal_group` calls this function.

    Args:
        parent: number of the parent, which may have ended already.
    """
    if sys.platform != "linux":
        return True
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == parent


def kill_group(leader: subprocess.Popen[Any]) -> None:
    """Kill a process and every process of its group; the caller calls `leader.wait`."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)


def processor_seconds(leader: int) -> float:
    """Return the processor time of a process and of all that it has started and that still run, in seconds.

    Source: proc(5), the fields ppid, utime and stime of /proc/PID/stat.
    """
    used, parents = dict[int, float](), dict[int, int]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            parents[int(path.parent.name)] = int(fields[1])
            used[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    own = {leader}
    while more := {process for process, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(used.get(process, 0.0) for process in own)


def run_group(
    command: Sequence[str | Path],
    source: str = "",
    *,
    timeout_s: float,
    environment: Mapping[str, str] | None = None,
    working_folder: Path | None = None,
    removed: Path | None = None,
    most_bytes: int | None = None,
    most_printed: int | None = None,
    errors: str = "surrogateescape",
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; return its exit status and its streams, decoded as UTF-8.

    No process of its group is left, whether the command ends, takes too long, or is interrupted. If cudamm
    itself is killed, a process in the group notices it, removes `removed`, and kills the group.

    Args:
        source: standard input of the command.
        timeout_s: time limit in seconds.
        environment: variables that are added to the environment.
        working_folder: current folder of the command; None: that of cudamm.
        removed: folder to remove if cudamm is killed.
        most_bytes: limit on the memory of each process; None: no limit.
        most_printed: most bytes of each stream that are kept, for a command that may print without an end.
            Such a command needs a limit on the size of files. None: no limit.
        errors: what becomes of bytes that are no UTF-8; see `codecs`.

    Raises:
        OSError: the command cannot be started.
        subprocess.TimeoutExpired: the command exceeds its time limit.
    """
    _check_executable(command[0])
    # The other end of this pipe is open as long as cudamm lives.
    guarded, lifeline = os.pipe()
    try:
        limit = "unlimited" if most_bytes is None else str(most_bytes // 1024)
        printed = None if most_printed is None else (_unnamed_file(), _unnamed_file())
        start = ["/bin/sh", "-c", _GUARDED, _SHELL, str(guarded), limit, str(removed or "")]
        leader = start_group(
            [*start, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if printed is None else printed[0],
            stderr=subprocess.PIPE if printed is None else printed[1],
            env={**os.environ, **(environment or {})},
            pass_fds=[guarded],
            cwd=working_folder,
            encoding="utf-8",
            errors=errors,
        )
        try:
            stdout, stderr = _communicate(leader, source, time.monotonic() + timeout_s)
        except subprocess.TimeoutExpired:
            raise subprocess.TimeoutExpired(list(command), timeout_s) from None
        finally:
            kill_group(leader)  # the guard too
            leader.wait()
            for stream in filter(None, (leader.stdin, leader.stdout, leader.stderr)):
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        if printed is not None:
            stdout, stderr = (_beginning(file, most_printed or 0, errors) for file in printed)
    finally:
        os.close(guarded)
        os.close(lifeline)
    if leader.returncode in (126, 127) and stderr.startswith(f"{_SHELL}:"):
        raise OSError(errno.ENOEXEC, stderr.rstrip().rpartition(": ")[2])
    return subprocess.CompletedProcess(command, leader.returncode, stdout, stderr)


def _unnamed_file() -> IO[bytes]:
    """Return a new file that `_beginning` closes."""
    return tempfile.TemporaryFile()


def _beginning(file: IO[bytes], most_bytes: int, errors: str) -> str:
    """Close an unnamed file, and return the beginning of its text."""
    with file:
        file.seek(0)
        return file.read(most_bytes).decode("utf-8", errors).replace("\r\n", "\n").replace("\r", "\n")


_SHELL = "cudamm-start"
"""Name that the shell puts before its message if it cannot start the command."""

# Arguments: the pipe, the limit in KB, the folder, the command. The guard is no child of the command, which
# may wait for all its children. It ends the programs that write to the folder before it removes the folder.
_GUARDED = """
( { read -r _; trap '' TERM; kill -KILL $$; kill -TERM 0; [ -z "$3" ] || rm -rf -- "$3"; kill -KILL 0; } \
  <"/proc/self/fd/$1" >/dev/null 2>&1 & )
ulimit -v "$2" 2>/dev/null
shift 3
exec "$@"
"""


def _check_executable(program: str | Path) -> None:
    """Raise OSError, as `subprocess` does, if a program cannot be executed."""
    if shutil.which(program) is None:
        number = errno.EACCES if os.path.exists(program) else errno.ENOENT  # noqa: PTH110 - no Path for a name
        raise OSError(number, os.strerror(number))


def _communicate(process: subprocess.Popen[str], source: str, deadline: float) -> tuple[str, str]:
    """Send `source`, and return all that the process prints into pipes until its end."""
    sent: str | None = source
    while True:
        try:
            return process.communicate(sent, timeout=STEP_S)
        except subprocess.TimeoutExpired:
            sent = None  # `communicate` keeps what it has not sent
            if time.monotonic() > deadline:
                raise
            stop_if_asked()
