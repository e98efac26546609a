"""The exceptions that are reported to users, each with the exit status of the program.

An exception's message states what is wrong and what the user can do. Only `cudamm.cli` catches these
exceptions: it prints the message as one line and exits. A wrong result raises no exception; the command
ends with `FAILED_RESULT`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])

ALL_WELL, FAILED_RESULT = 0, 1
"""Exit statuses of a command that ran to its end: all results are right, or one is wrong or failed."""


class CudammError(Exception):
    """Base class of the errors that are reported as one line, without a traceback.

    Attributes:
        details: lines that are printed above that line, such as the source with a caret.
        all_details: lines that `--verbose` prints instead.
    """

    exit_status = 1
    details: Sequence[str] = ()
    all_details: Sequence[str] = ()


class UsageError(CudammError):
    """Error in the request: an unknown method, an impossible size, a broken kernel file."""

    exit_status = 2


class MissingLaunchError(UsageError):
    """Error for a kernel whose threads or grid are not known.

    Attributes:
        path: the kernel's file.
        missing: the fields that are not known.
        why: the reason, in words.
        suggested: fields that may fit the kernel; `benchmark.tried_launch` finds out whether they do.
        options: the same as options, ready for a shell.
    """

    def __init__(
        self,
        path: str,
        missing: Sequence[str],
        why: str,
        suggested: Mapping[str, str],
        options: str,
        tried: str = "",
    ) -> None:
        self.path, self.missing, self.why = path, missing, why
        self.suggested, self.options = suggested, options
        advice = "pass " + " and ".join(f"--{key}" for key in missing) + " as your program launches it"
        if suggested:
            advice = f"pass options such as {options}{tried}"
        super().__init__(
            f"{path} lacks {' and '.join(missing)}: {why}; {advice}, or write “// {missing[0]}: …” above the "
            "kernel"
        )

    def without_suggestion(self) -> MissingLaunchError:
        """Return the error for a suggestion with which the kernel does not run."""
        return MissingLaunchError(self.path, self.missing, self.why, {}, "")

    def doubted(self, size: str) -> MissingLaunchError:
        """Return the error for a suggestion with which the kernel runs and computes something else."""
        tried = f" (with them its product is wrong at {size}, so your program may launch it in another way)"
        return MissingLaunchError(self.path, self.missing, self.why, self.suggested, self.options, tried)


class RequirementError(UsageError):
    """A condition that a variant requires does not hold.

    The variant is skipped if the command runs other variants too; otherwise the command fails.
    """


class NoDeviceError(CudammError):
    """Error for a device or a compiler that the request needs and this machine lacks."""

    exit_status = 3


class NoSuchGpuError(NoDeviceError):
    """Number of a GPU that this machine does not have: an error in the request."""

    exit_status = UsageError.exit_status


class DeviceLostError(NoDeviceError):
    """Failure of a device that was in use: no new process can open it, or its host cannot be reached."""


class KernelError(CudammError):
    """Failure of one variant to compile, to launch or to finish; other variants are not affected."""


class HangError(KernelError):
    """A kernel that does not answer in time."""


class UnfinishedError(HangError):
    """A kernel that was not run to its end, because it may need longer than the time limit: no failure."""


class Signalled(KeyboardInterrupt):
    """A signal that asks the program to end, as Ctrl-C does.

    Attributes:
        number: the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


UNINTERRUPTED: set[CodeType] = set()
"""The code of each function that no `Signalled` ends early."""


def uninterrupted(function: _Function) -> _Function:
    """Mark a function that must not be left half done: `Signalled` is raised after it, not in it."""
    UNINTERRUPTED.add(cast(FunctionType, function).__code__)
    return function


class Interrupted(CudammError):
    """End of the program by Ctrl-C or another signal; the results measured so far are reported."""

    def __init__(self, signalled: KeyboardInterrupt, progress: str = "") -> None:
        number = signalled.number if isinstance(signalled, Signalled) else signal.SIGINT
        by_signal = "" if number == signal.SIGINT else f" by {signal_name(number)}"
        super().__init__(f"interrupted{by_signal}" + (f": {progress}" if progress else ""))
        self.exit_status = 128 + number


def signal_name(number: int) -> str:
    """Return a signal's name, such as SIGKILL; most real-time signals have none and become `signal 40`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
