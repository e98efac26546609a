"""Run a case in a process of its own under a tool: Nsight Compute or compute-sanitizer.

The case and the process's answer pass through pickled files. The output of the tool is returned as text.
"""

from __future__ import annotations

import math
import os
import pickle
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.compile.compiler_process import temporary_folder
from cudamm.compile.process_group import run_group
from cudamm.errors import CudammError, NoDeviceError
from cudamm.execution.case import Case
from cudamm.execution.module_command import module_command
from cudamm.execution.process_protocol import Failure, Success, answer_to


@dataclass(frozen=True)
class Ended:
    """The outcome of a run under a tool.

    Attributes:
        status: exit status of the tool.
        stdout: standard output of the tool.
        stderr: standard error of the tool and of the process under the tool.
        answer: answer of the process under the tool; None if the process ended without an answer.
    """

    status: int
    stdout: str
    stderr: str
    answer: Success | Failure | None

    @property
    def value(self) -> Any:
        """The value from the process under the tool; None if the process failed or did not answer."""
        return self.answer.value if isinstance(self.answer, Success) else None

    @property
    def error(self) -> CudammError | None:
        """The error of the process under the tool; None if there was none."""
        return self.answer.error if isinstance(self.answer, Failure) else None


def run_under(tool: Path, options: Sequence[str], module: str, case: Case, timeout_s: float) -> Ended | None:
    """Run a case under a tool; return None if the run took longer than `timeout_s`.

    Args:
        options: options of the tool.
        module: module that is run as a program under the tool, and calls `answer_case`.
        timeout_s: time limit for the run, in seconds.

    Raises:
        NoDeviceError: the tool cannot be run.
    """
    with temporary_folder() as folder:
        case_file, answer_file = folder / "case", folder / "answer"
        case_file.write_bytes(pickle.dumps(case))
        seconds = str(math.ceil(timeout_s) + 10)
        program = module_command(module, str(case_file), str(answer_file), seconds)
        try:
            completed = run_group(
                [tool, *options, *program],
                timeout_s=timeout_s,
                environment={"LC_ALL": "C"},  # numbers must not depend on the locale
                removed=folder,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            raise NoDeviceError(f"{tool} cannot be run: {error.strerror}") from None
        answer = pickle.loads(answer_file.read_bytes()) if answer_file.exists() else None  # noqa: S301 - from `answer_case`
        return Ended(completed.returncode, completed.stdout, completed.stderr, answer)


def answer_case(arguments: Sequence[str], work: Callable[[Case], Any]) -> None:
    """Call `work` with the case, and write the answer to its file; runs in the process under the tool."""
    case_file, answer_file, seconds = arguments
    # If the parent is killed while a kernel hangs, only this alarm ends the process.
    signal.alarm(int(seconds))
    # The output of a kernel goes to standard error, because the tool prints to standard output.
    os.dup2(2, 1)
    case: Case = pickle.loads(Path(case_file).read_bytes())  # noqa: S301 - written by `run_under`
    Path(answer_file).write_bytes(pickle.dumps(answer_to(lambda: work(case))))
