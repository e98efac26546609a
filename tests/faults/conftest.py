"""Run cudamm while something breaks, and check that no process and no temporary file is left."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cudamm.benchmark.journal import journal_path, read_journal
from cudamm.compile.owned_folder import PREFIX

MARK = "CUDAMM_FAULT_TEST"
FAULTS = Path(__file__).with_name("faults.cu")


@dataclass(frozen=True)
class Ended:
    """The exit status and the output of a command."""

    status: int
    stdout: str
    stderr: str

    @property
    def stderr_lines(self) -> list[str]:
        """The lines of standard error that are not empty: click prints an empty line after ^C."""
        return [line for line in self.stderr.splitlines() if line]


# Exact figures take two compilations per case, and no test in this folder reads them.
NO_FIGURES = """
from cudamm.analysis import exact_figures
from cudamm.benchmark.result import ExactFigures
def no_figures(cases, architecture, *_):
    return [ExactFigures(architecture.name, architecture.gpu)] * len(cases)
exact_figures.exact_figures = no_figures
"""


@dataclass(frozen=True)
class Workspace:
    """A working folder, a folder of temporary files, and a mark in the environment of all processes."""

    folder: Path
    temporary: Path
    mark: str
    environment: dict[str, str]

    def start(self, line: str, *, prefix: str = "", **options: Any) -> subprocess.Popen[bytes]:
        """Start a command line in a process that first runs the Python code `prefix`."""
        program = ["-c", f"{NO_FIGURES}\n{prefix}\nfrom cudamm.cli import main\nmain()"]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(
            [sys.executable, *program, *shlex.split(line)],
            cwd=self.folder,
            env=self.environment,
            **(streams | options),
        )

    def run(self, line: str, **options: Any) -> Ended:
        """Run a command line to its end."""
        return self.wait_for(self.start(line, **options))

    def wait_for(self, process: subprocess.Popen[bytes], timeout_s: float = 120) -> Ended:
        """Wait for the end of a process that `start` started."""
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        finally:
            process.kill()
        return Ended(process.returncode, (stdout or b"").decode(), (stderr or b"").decode(errors="replace"))

    def rows(self, name: str = "out.json") -> list[dict[str, Any]]:
        """Return the rows of a file of results. The file has to be complete."""
        return self._checked(json.loads((self.folder / name).read_text()))

    def journal_rows(self, name: str = "out.json") -> list[dict[str, Any]]:
        """Return the rows in the journal of a file of results; none if there is no journal."""
        try:
            return self._checked(read_journal(journal_path(self.folder / name)))
        except FileNotFoundError:
            return []

    @staticmethod
    def _checked(document: dict[str, Any]) -> list[dict[str, Any]]:
        assert document["schema"] == "cudamm.bench/2"
        rows: list[dict[str, Any]] = document["results"]
        assert all(row["status"] in ("ok", "failed", "skipped", "dropped") for row in rows)
        assert all(row["samples_ms"] for row in rows if row["status"] == "ok")
        return rows

    def wait_for_rows(
        self,
        process: subprocess.Popen[bytes],
        more_than: int = 0,
        name: str = "out.json",
        within_s: float = 30,
    ) -> None:
        """Wait until a command has written more rows than this to its journal, or has ended."""
        deadline = time.monotonic() + within_s
        while process.poll() is None and len(self.journal_rows(name)) <= more_than:
            assert time.monotonic() < deadline, f"the journal has no new row after {within_s} s"
            time.sleep(0.02)

    def running_processes(self) -> list[str]:
        """Return the processes with this workspace's mark that still run."""
        processes = []
        for number in _marked(self.mark):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                processes.append(f"{number} {command}")
        return processes

    def assert_nothing_left(self, within_s: float = 5) -> None:
        """Assert that all processes end within a time limit, and that no temporary file is left."""
        self.assert_no_process_runs(within_s)
        assert sorted(path.name for path in self.temporary.iterdir()) == []
        # These are in a cache of the test's own. Other workers write to the shared cache.
        unfinished = [path.name for path in self.folder.rglob(f"{PREFIX}*")]
        assert unfinished == []
        assert [path.name for path in self.folder.rglob(".cudamm-*")] == []

    def assert_the_next_command_removes_what_is_left(self) -> None:
        """Assert that a killed command has left no process, and nothing but temporary folders."""
        self.assert_no_process_runs()
        self.run("trace -m naive -n 16")
        self.assert_nothing_left()

    def assert_no_process_runs(self, within_s: float = 5) -> None:
        """Assert that all processes with this workspace's mark end within a time limit."""
        deadline = time.monotonic() + within_s
        while self.running_processes() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.running_processes() == []

    def with_environment(self, **environment: str) -> Workspace:
        """Return the same workspace with some environment variables changed."""
        return dataclasses.replace(self, environment=self.environment | environment)


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Yield a workspace without a GPU, and kill the processes that a test leaves running."""
    folder, temporary, mark = tmp_path / "work", tmp_path / "temporary", uuid.uuid4().hex
    folder.mkdir()
    temporary.mkdir()
    removed = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONIOENCODING", "CXX")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    environment |= {
        "CUDA_VISIBLE_DEVICES": "",
        "COLUMNS": "200",
        "TMPDIR": str(temporary),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")))
        ),
        MARK: mark,
    }
    yield Workspace(folder, temporary, mark, environment)
    for number in _marked(mark):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
