"""The folder in which attacked commands run, with the files that they may read and must not harm."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """\
// A kernel of the tests.
//
// param:   BLOCK_SIZE = 8 in 4, 8
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)
// traffic: 8 * M * N * K, 4 * M * N
#include "part.h"
__global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = START;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""

HOSTILE_NAMES = (
    b"not-utf8-\xff.cu",
    b"new\nline.cu",
    b"escape\x1b[31m.cu",
    b"-dash.cu",
    "blüte ☃.cu".encode(),
)
"""Names of kernel files that programs mishandle."""

NO_COMPILER = """\
#!/bin/sh
case "$*" in
*-version*) echo "Build compiler of the tests, release 13.0, V13.0.1"; exit 0 ;;
*list-gpu*) for n in 75 80 86 90 100; do echo "sm_$n"; done; exit 0 ;;
esac
echo "error: this compiler compiles nothing" >&2
exit 1
"""
"""A compiler, or nvcc, that fails at once: most of what a command does, it does without compiled kernels."""

FOREIGN = 'open("executed-foreign-code", "w").close()\n'
"""A module that would take the place of one of Python's if the current folder were on Python's path."""

Snapshot = dict[str, object]
"""Type and contents of each file of a folder, by path."""


@dataclass
class Ended:
    """How a command ended, and what it left."""

    status: int
    seconds: float
    cpu_s: float
    sent: list[int]
    answered_after_s: float | None
    hung: bool
    most_bytes: int
    left: list[str]
    stdout: bytes
    stderr: str


@dataclass(frozen=True)
class Line:
    """A command line with its environment.

    Attributes:
        words: the command and its arguments.
        groups: numbers of words, after the command, that belong together; the first group begins the line.
        outputs: names of the output files by option.
        stdout: `file`, `closed pipe` or `/dev/full`.
        fresh: whether a new interpreter runs the command, with the imports that this takes.
        figures: whether `bench` and `sweep` compute exact figures.
        files: contents of files that are written before, by name.
        signals: signals to send: seconds after the start, and the signal's number.
        to_all: whether signals go to all processes of the command, as those of a terminal do.
        answer_s: time in which the command must end after the last signal.
    """

    words: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    groups: tuple[int, ...] = ()
    outputs: dict[str, str] = field(default_factory=dict)
    stdout: str = "file"
    fresh: bool = False
    figures: bool = True
    files: dict[str, bytes] = field(default_factory=dict)
    signals: tuple[tuple[float, int], ...] = ()
    to_all: bool = False
    answer_s: float = 60.0

    @property
    def command(self) -> str:
        """Return the name of the command."""
        return self.words[0]

    def as_json(self) -> str:
        """Return the text from which `from_json` makes the line again."""
        values = dict(vars(self))
        values["files"] = {name: content.decode("latin-1") for name, content in self.files.items()}
        return json.dumps({name: value for name, value in values.items() if value or name == "figures"})

    @classmethod
    def from_json(cls, text: str) -> Line:
        """Return the line that `as_json` wrote."""
        values = json.loads(text)
        values["words"] = tuple(values["words"])
        values["groups"] = tuple(values.get("groups", ()))
        values["files"] = {
            name: content.encode("latin-1") for name, content in values.get("files", {}).items()
        }
        values["signals"] = tuple(map(tuple, values.get("signals", ())))
        return cls(**values)


class Arena:
    """A folder with files, in which a server runs command lines."""

    def __init__(self, base: Path, cache: Path | None = None, *, compiles: bool = True) -> None:
        """Make the folders.

        Args:
            cache: the cache of compiled programs; by default one of the arena's own.
            compiles: whether there are compilers; otherwise each program fails to compile at once.
        """
        self.folder, self.temporary = base / "work", base / "temporary"
        self.data, self.cache = base / "data", cache or base / "cache"
        self._stdout, self._stderr = base / "stdout", base / "stderr"
        for folder in (self.folder, self.temporary, self.data):
            folder.mkdir(parents=True)
        self.owns_cache = cache is None
        self._tools = None if compiles else base / "tools"
        if self._tools is not None:
            self._tools.mkdir()
            for name in ("g++", "nvcc"):
                (self._tools / name).write_text(NO_COMPILER)
                (self._tools / name).chmod(0o755)
        self._server: subprocess.Popen[bytes] | None = None
        self.fill()

    def fill(self) -> None:
        """Write the files that commands read, and remove all others."""
        for folder in (self.folder, self.temporary):
            shutil.rmtree(folder)
            folder.mkdir()
        gpu = json.loads((ROOT / "tests" / "output" / "data" / "gpu.json").read_text())
        gpu["results"] = gpu["results"][:3]
        emulated = Path(__file__).with_name("emulated.json").read_text()
        files = {
            "mine.cu": KERNEL,
            "part.h": "#define START 0\n",
            "gpu.json": json.dumps(gpu, indent=1),
            "old.json": emulated,
            "new.json": emulated,
            "assignment.toml": "[[problem]]\nsize = 8\npoints = 1\n",
            "notes.txt": "Not to be lost.\n",
            "random.py": FOREIGN,
            "numpy.py": FOREIGN,
        }
        for name, text in files.items():
            (self.folder / name).write_text(text)
        for raw in HOSTILE_NAMES:
            Path(os.fsdecode(os.fsencode(self.folder) + b"/" + raw)).write_text(KERNEL)
        (self.folder / "folder").mkdir()
        (self.folder / "link.json").symlink_to("old.json")
        (self.folder / "link.cu").symlink_to("mine.cu")
        (self.folder / "circle").symlink_to("circle")
        os.mkfifo(self.folder / "fifo")

    def run(self, line: Line) -> Ended:
        """Run a command line in the folder as it is."""
        if self._server is None or self._server.poll() is not None:
            self._server = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=self.environment(),
            )
        request = {
            "folder": str(self.folder),
            "environment": self.environment() | line.environment,
            "words": line.words,
            "stdout": str(self._stdout) if line.stdout == "file" else line.stdout,
            "stderr": str(self._stderr),
            "fresh": line.fresh,
            "figures": line.figures,
            "signals": line.signals,
            "to_all": line.to_all,
            "answer_s": line.answer_s,
        }
        assert self._server.stdin is not None and self._server.stdout is not None
        self._stdout.write_bytes(b"")
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        stderr = self._stderr.read_bytes().decode(errors="replace")
        return Ended(**answer, stdout=self._stdout.read_bytes(), stderr=stderr)

    def environment(self) -> dict[str, str]:
        """Return the environment of commands, without what a user's shell says about looks."""
        removed = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONIOENCODING", "CXX")
        path = os.pathsep.join(filter(None, (str(self._tools or ""), os.environ.get("PATH"))))
        return {name: value for name, value in os.environ.items() if name not in removed} | {
            "PATH": path,
            "CUDA_VISIBLE_DEVICES": "",
            "CUDAMM_CACHE": str(self.cache),
            "XDG_DATA_HOME": str(self.data),
            "TMPDIR": str(self.temporary),
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
        }

    def snapshot(self) -> Snapshot:
        """Return the type and contents of each file."""
        found: Snapshot = {}
        for path in self.folder.rglob("*"):
            mode = path.lstat().st_mode
            name = str(path.relative_to(self.folder))
            if stat.S_ISREG(mode):
                found[name] = path.read_bytes()
            else:
                found[name] = (stat.S_IFMT(mode), str(path.readlink()) if stat.S_ISLNK(mode) else "")
        return found

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            assert self._server.stdin is not None
            self._server.stdin.close()
            self._server.wait()
