"""A process ends with every process that it started: also after an interrupt, and if cudamm is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.compile import compiler_process
from cudamm.compile.process_group import CORES, run_group, thread_pool
from cudamm.errors import KernelError

IsRunning = Callable[[int], bool]
BACKGROUND = 'sleep 60 >/dev/null 2>&1 & echo $! >"$0"; '
"""Starts a process, and writes its number to the file that the shell is given."""


def wait_until(condition: Callable[[], bool], within_s: float = 10) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def number_in(path: Path) -> int:
    """Wait for the number that a process writes to a file."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def test_output_and_status_are_those_of_the_command() -> None:
    ended = run_group(["sh", "-c", "cat; echo problem >&2; exit 3"], "a\nb", timeout_s=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "a\nb", "problem\n")
    assert run_group(["sh", "-c", "kill -SEGV $$"], timeout_s=60).returncode == -signal.SIGSEGV


def test_a_command_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/no/interpreter\n")
    with pytest.raises(PermissionError):
        run_group([script], timeout_s=60)
    script.chmod(0o755)
    with pytest.raises(OSError, match=r"not found|[Nn]o such file|cannot execute"):
        run_group([script], timeout_s=60)
    with pytest.raises(FileNotFoundError):
        run_group([tmp_path / "absent"], timeout_s=60)


def test_no_process_outlives_the_command_that_started_it(tmp_path: Path, is_running: IsRunning) -> None:
    file = tmp_path / "number"
    run_group(["sh", "-c", BACKGROUND, str(file)], timeout_s=60)
    wait_until(lambda: not is_running(number_in(file)))


def test_a_command_that_takes_too_long_ends_with_its_processes(tmp_path: Path, is_running: IsRunning) -> None:
    file = tmp_path / "number"
    with pytest.raises(subprocess.TimeoutExpired):
        run_group(["sh", "-c", f"{BACKGROUND} wait", str(file)], timeout_s=0.2)
    wait_until(lambda: not is_running(number_in(file)))


@pytest.mark.parametrize("depth", [1, 2])
def test_an_exception_in_the_block_of_a_pool_ends_what_its_threads_wait_for(
    tmp_path: Path, is_running: IsRunning, depth: int
) -> None:
    file = tmp_path / "number"

    def work(depth: int) -> None:
        if depth == 1:
            run_group(["sh", "-c", f"{BACKGROUND} wait", str(file)], timeout_s=60)
        else:
            with thread_pool(1) as pool:
                pool.submit(work, depth - 1).result()

    def interrupt() -> None:
        with thread_pool(1) as pool:
            pool.submit(work, depth)
            number_in(file)
            raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert time.monotonic() - start < 5
    wait_until(lambda: not is_running(number_in(file)))


def test_a_killed_program_leaves_no_compiler_and_no_folder(tmp_path: Path, is_running: IsRunning) -> None:
    file, folder = tmp_path / "number", tmp_path / "folder"
    folder.mkdir()
    (folder / "cc1.s").touch()
    code = f"""
from pathlib import Path
from cudamm.compile.process_group import run_group
run_group(["sh", "-c", {BACKGROUND + "wait"!r}, {str(file)!r}], timeout_s=60, removed=Path({str(folder)!r}))
"""
    killed = subprocess.Popen([sys.executable, "-c", code])
    compiler = number_in(file)
    killed.kill()
    killed.wait()
    wait_until(lambda: not is_running(compiler))
    wait_until(lambda: not folder.exists())


def compile_including(included: str) -> str:
    """Compile a source that includes a file, as a header on the compiler's own path can."""
    return compiler_process.run_compiler(["g++", "-x", "c++", "-", "-E"], f'#include "{included}"\n')


def test_a_compiler_that_waits_for_ever_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.h")
    monkeypatch.setattr(compiler_process, "COMPILE_TIMEOUT_S", 0.3)
    with pytest.raises(compiler_process.CompilerKilled, match=r"did not end within 0\.3 s: does the source"):
        compile_including(str(tmp_path / "pipe.h"))


def test_a_compiler_that_takes_too_much_memory_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler_process, "MOST_COMPILER_BYTES", 512 << 20)
    with pytest.raises(KernelError, match="memory"):
        compile_including("/dev/zero")


def test_temporary_files_of_a_compiler_are_removed(tmp_path: Path) -> None:
    named = tmp_path / "named"
    script = f'touch "$TMPDIR/cc1.s"; echo "$TMPDIR" >{named}; [ -z "$1" ] || kill -KILL $$'
    for argument in ("", "fail"):
        with contextlib.suppress(KernelError):
            compiler_process.run_to_end(["sh", "-c", script, "sh", argument])
        assert named.read_text().strip() and not Path(named.read_text().strip()).exists()


def test_no_more_compilers_run_at_once_than_there_are_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool has more threads than cores if the hosts of a cluster compile."""
    spans: list[tuple[float, float]] = []

    def run(command: list[str], *_: object, **__: object) -> subprocess.CompletedProcess[str]:
        begun = time.monotonic()
        time.sleep(0.05)
        spans.append((begun, time.monotonic()))
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(compiler_process, "run_group", run)
    with thread_pool(3 * CORES) as pool:
        for _ in range(3 * CORES):
            pool.submit(compiler_process.run_to_end, ["compiler"])
    assert len(spans) == 3 * CORES
    assert max(sum(begin <= begun < end for begin, end in spans) for begun, _ in spans) <= CORES
