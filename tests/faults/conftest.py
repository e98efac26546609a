"""Running cudamm where something breaks, and what it must have left behind afterwards: nothing."""

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

from cudamm.benchmark.journal import journal_of, read_journal

MARK = "CUDAMM_FAULT_TEST"
FAULTS = Path(__file__).with_name("faults.cu")


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[str]:
        """Of standard error; click ends the line that a ^C stands in."""
        return [line for line in self.stderr.splitlines() if line]


# Exact figures are two compilations per case, whose results no test here looks at.
NO_FIGURES = """
from cudamm.analysis import exact_figures
from cudamm.benchmark.result import ExactFigures
def no_figures(cases, architecture, *_):
    return [ExactFigures(architecture.name, architecture.gpu)] * len(cases)
exact_figures.exact_figures = no_figures
"""


@dataclass(frozen=True)
class Place:
    """A folder to work in, one for temporary files, and a mark that all processes started here carry."""

    folder: Path
    temporary: Path
    mark: str
    environment: dict[str, str]

    def start(self, line: str, *, prefix: str = "", **options: Any) -> subprocess.Popen[bytes]:
        """Start a command line; `prefix` is Python to run in its process first."""
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
        return self.end(self.start(line, **options))

    def end(self, process: subprocess.Popen[bytes], timeout_s: float = 120) -> Ended:
        """Wait for what was started."""
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        finally:
            process.kill()
        return Ended(process.returncode, (stdout or b"").decode(), (stderr or b"").decode(errors="replace"))

    def rows(self, name: str = "out.json") -> list[dict[str, Any]]:
        """Of a file of results, which has to be whole."""
        return self._checked(json.loads((self.folder / name).read_text()))

    def journal(self, name: str = "out.json") -> list[dict[str, Any]]:
        """Of what a run that goes on, or was killed, has measured; none where there is no journal."""
        try:
            return self._checked(read_journal(journal_of(self.folder / name)))
        except FileNotFoundError:
            return []

    @staticmethod
    def _checked(document: dict[str, Any]) -> list[dict[str, Any]]:
        assert document["schema"] == "cudamm.bench/2"
        rows: list[dict[str, Any]] = document["results"]
        assert all(row["status"] in ("ok", "failed", "skipped", "dropped") for row in rows)
        assert all(row["samples_ms"] for row in rows if row["status"] == "ok")
        return rows

    def left_over(self) -> list[str]:
        """Processes started here that still run."""
        found = []
        for number in _marked(self.mark):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(f"{number} {command}")
        return found

    def nothing_left(self, within_s: float = 5) -> None:
        """Assert that no process is left after a moment, and no temporary file."""
        end = time.monotonic() + within_s
        while self.left_over() and time.monotonic() < end:
            time.sleep(0.05)
        assert self.left_over() == []
        assert sorted(path.name for path in self.temporary.iterdir()) == []
        # A test's own cache lies in its folder. The shared one is not searched: other workers write to it.
        unfinished = [path.name for path in self.folder.rglob("*") if "partial" in path.name]
        assert unfinished == []
        assert [path.name for path in self.folder.rglob(".cudamm-*")] == []

    def with_(self, **environment: str) -> Place:
        """The same place, its environment changed."""
        return dataclasses.replace(self, environment=self.environment | environment)


def _marked(mark: str) -> Iterator[int]:
    wanted = f"{MARK}={mark}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Where a test runs cudamm, without a GPU; whatever it leaves running is killed in the end."""
    folder, temporary, mark = tmp_path / "work", tmp_path / "temporary", uuid.uuid4().hex
    folder.mkdir()
    temporary.mkdir()
    shown = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONIOENCODING", "CXX")
    environment = {name: value for name, value in os.environ.items() if name not in shown}
    environment |= {
        "CUDA_VISIBLE_DEVICES": "",
        "COLUMNS": "200",
        "TMPDIR": str(temporary),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")))
        ),
        MARK: mark,
    }
    yield Place(folder, temporary, mark, environment)
    for number in _marked(mark):
        with contextlib.suppress(OSError):
            os.kill(number, signal.SIGKILL)
