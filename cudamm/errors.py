"""What can go wrong, as exceptions whose message tells the user what to do.

Every exception carries the exit status the program ends with; `cudamm.cli` prints the message as one
line and exits, and nothing else does.
"""

from __future__ import annotations


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


class Interrupted(CudammError):
    """The user pressed Ctrl-C; what was measured by then has been reported."""

    exit_status = 130
