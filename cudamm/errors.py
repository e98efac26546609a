"""What can go wrong, as exceptions whose message tells the user what to do.

Every exception carries the exit status the program ends with; `cudamm.cli` prints the message as one
line and exits, and nothing else does. A wrong result raises nothing: see `FAILED_RESULT`.
"""

from __future__ import annotations

import signal

ALL_WELL, FAILED_RESULT = 0, 1
"""Exit statuses of a command that ran to its end: every result is right, or one is wrong or has failed."""


class CudammError(Exception):
    """Base of every error that is reported to the user rather than shown as a traceback."""

    exit_status = 1


class UsageError(CudammError):
    """The request itself is wrong: an unknown method, an impossible size, a broken kernel file."""

    exit_status = 2


class RequirementError(UsageError):
    """A variant's own condition does not hold; among others it is skipped, alone it is an error."""


class NoDeviceError(CudammError):
    """A device or a compiler that the request needs is not on this machine."""

    exit_status = 3


class KernelError(CudammError):
    """One variant failed: it did not compile, could not be launched, or crashed. Costs its row only."""


class Signalled(KeyboardInterrupt):
    """A signal that asks the program to end, as Ctrl-C does.

    Attributes:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Interrupted(CudammError):
    """The user pressed Ctrl-C, or another signal asked the program to end; what was measured is reported."""

    def __init__(self, by: KeyboardInterrupt, what: str = "") -> None:
        number = by.number if isinstance(by, Signalled) else signal.SIGINT
        name = "" if number == signal.SIGINT else f" by {signal_name(number)}"
        super().__init__(f"interrupted{name}" + (f": {what}" if what else ""))
        self.exit_status = 128 + number


def signal_name(number: int) -> str:
    """Such as SIGKILL; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
