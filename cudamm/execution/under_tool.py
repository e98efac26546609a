"""A case in a process of its own, under a tool that watches it: Nsight Compute or compute-sanitizer.

The case and what came of it pass through pickled files; what the tool prints is for whoever asked.
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.errors import NoDeviceError
from cudamm.execution.case import Case


@dataclass(frozen=True)
class Ended:
    """What was left behind.

    Attributes:
        status: of the tool.
        what: what the process under it made of the case; None where it did not get there.
    """

    status: int
    stdout: str
    stderr: str
    what: Any


def run_under(tool: Path, options: Sequence[str], module: str, case: Case, timeout_s: float) -> Ended | None:
    """Run a case under a tool; None where that took too long.

    Args:
        options: of the tool.
        module: run as a program there; it calls `answer`.

    Raises:
        NoDeviceError: the tool cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="cudamm-") as folder:
        given, outcome = Path(folder, "case"), Path(folder, "outcome")
        given.write_bytes(pickle.dumps(case))
        seconds = str(math.ceil(timeout_s) + 10)
        program = [sys.executable, "-m", module, str(given), str(outcome), seconds]
        try:
            process = subprocess.Popen(
                [str(tool), *options, *program],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | {"LC_ALL": "C"},  # else numbers as the locale writes them
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is for this process to handle
            )
        except OSError as error:
            raise NoDeviceError(f"{tool} cannot be run: {error.strerror}") from None
        with process:
            try:
                stdout, stderr = process.communicate(timeout=timeout_s)
            except BaseException as error:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # the tool, and what it has started
                if isinstance(error, subprocess.TimeoutExpired):
                    return None
                raise
        what = pickle.loads(outcome.read_bytes()) if outcome.exists() else None  # noqa: S301 - `answer` wrote it
        return Ended(process.returncode, stdout, stderr, what)


def answer(arguments: Sequence[str], outcome: Callable[[Case], Any]) -> None:
    """What the process under the tool does: find out what comes of the case, and write it down."""
    case, outcome_file, seconds = arguments
    # A kernel may hang and whoever waits be killed: then nobody else ends this process.
    signal.alarm(int(seconds))
    # What a kernel prints must not end up among what the tool prints.
    os.dup2(2, 1)
    prepared: Case = pickle.loads(Path(case).read_bytes())  # noqa: S301 - written by `run_under`
    Path(outcome_file).write_bytes(pickle.dumps(outcome(prepared)))
