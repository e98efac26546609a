"""A process that has imported cudamm and forks a copy of itself for each command line.

Most commands take less time than their imports. The process is the reaper of all orphans below it, so it
knows exactly which processes a command has left. Requests and answers are lines of JSON.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

PR_SET_CHILD_SUBREAPER = 36

GRACE_S = 5.0
"""Time in which the processes of a command that has ended must end, in seconds."""

HELD_BACK = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that wait until the forked process calls cudamm."""

MOST_ADDRESSES = 6 << 30
"""Limit of a command's address space in bytes, which protects the machine."""


def become_the_command(request: dict[str, Any]) -> None:
    """Give this process the folder, environment and standard streams of a request."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(_standard_output(request), 1)
    os.dup2(os.open(request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
    os.closerange(3, 256)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK if request["fresh"] else ())
    sys.argv = ["cudamm", *request["words"]]
    if request["fresh"]:
        arguments = [sys.executable, __file__, "fresh", *request["words"]]
        os.execve(sys.executable, [os.fsencode(text) for text in arguments], os.environ)  # noqa: S606
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = _text_stream(1, "strict")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _text_stream(2, "backslashreplace")  # type: ignore[misc]


def _standard_output(request: dict[str, Any]) -> int:
    if request["stdout"] == "closed pipe":
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    return os.open(request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def _text_stream(handle: int, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.FileIO(handle, "w", closefd=False), "utf-8", errors, write_through=errors != "strict"
    )


def watch(pid: int, request: dict[str, Any]) -> dict[str, Any]:
    """Wait for a command, send it the requested signals, and report how it ended and what it left."""
    begin = time.monotonic()
    sent: list[int] = []
    answer_s = None
    handle = os.pidfd_open(pid)
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    for after_s, number in request["signals"]:
        if poll.poll(max(0.0, (begin + after_s - time.monotonic()) * 1000)):
            break
        (os.killpg if request["to_all"] else os.kill)(pid, number)
        sent.append(number)
        answer_s = time.monotonic()
    hung = not poll.poll(request["answer_s"] * 1000)
    if hung:
        os.kill(pid, signal.SIGKILL)
    os.close(handle)
    _, code, usage = os.wait4(pid, 0)
    end = time.monotonic()
    return {
        "status": os.waitstatus_to_exitcode(code),
        "seconds": end - begin,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "sent": sent,
        "answered_after_s": None if answer_s is None else end - answer_s,
        "hung": hung,
        "most_bytes": usage.ru_maxrss << 10,
        "left": left_processes(0.2 if hung else GRACE_S),
    }


def left_processes(grace_s: float) -> list[str]:
    """Wait for all processes below this one; kill and return those that do not end."""
    deadline = time.monotonic() + grace_s
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if pid == 0:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
    left = []
    for pid in _descendants():
        with contextlib.suppress(OSError):
            left.append(
                Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
            os.kill(pid, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    return left


def _descendants() -> list[int]:
    """Return the processes below this one."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def compute_no_figures() -> None:
    """Have the forked process compute no exact figures, which take two compilations per case."""
    from cudamm.analysis import exact_figures
    from cudamm.benchmark.result import ExactFigures

    def no_figures(cases: list[Any], architecture: Any, *_: Any) -> list[ExactFigures]:
        return [ExactFigures(architecture.name, architecture.gpu)] * len(cases)

    exact_figures.exact_figures = no_figures  # type: ignore[assignment]


def import_everything() -> None:
    """Import each module of cudamm that can be imported here, and read the ladder."""
    import cudamm
    from cudamm.kernels.ladder import ladder
    from cudamm.source import input_file

    for module in pkgutil.walk_packages(cudamm.__path__, "cudamm."):
        if not module.name.endswith("__main__") and "cuda_src" not in module.name:
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    ladder()
    input_file.SILENCE_S = 1.0  # an example with a silent pipe need not wait for ten seconds


def serve() -> None:
    """Answer requests until there are none; return in a forked process that is to run a command."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    import_everything()
    gc.freeze()
    for line in requests:
        request = json.loads(line)
        signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
        ready, says_ready = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setsid()  # signals to all processes of the command reach no other
            os.write(says_ready, b".")
            become_the_command(request)
            if not request["figures"]:
                compute_no_figures()
            return
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
        os.close(says_ready)
        os.read(ready, 1)
        os.close(ready)
        answers.write(json.dumps(watch(pid, request)).encode() + b"\n")
        answers.flush()
    os._exit(0)


def run_and_exit() -> None:
    """Run cudamm, and end without the interpreter's shutdown, which takes longer than most commands."""
    from cudamm.cli import main

    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD_BACK)
    except KeyboardInterrupt:
        os._exit(128 + signal.SIGINT)
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    # Only the folder of this file is on Python's path, never the current folder.
    if sys.argv[1:2] == ["fresh"]:
        del sys.argv[1]
        from cudamm.cli import main

        main()
    else:
        serve()
        run_and_exit()
