"""Have the driver show a worker process one GPU, so that the driver starts faster.

The driver initialises every GPU that it shows: it needs 0.9 s on a machine with four GPUs, and 0.2 s if
CUDA_VISIBLE_DEVICES names one of them.
"""

from __future__ import annotations

import os

VARIABLE = "CUDA_VISIBLE_DEVICES"

_shown: int | None = None
"""Number of the only GPU that is shown; None if the driver shows what the user's variable lists."""

_of_user: str | None = None
"""The user's value of the variable."""


def are_hidden() -> bool:
    """Return whether the variable hides every GPU."""
    return os.environ.get(VARIABLE) in ("", "-1")


def show_only(index: int, count: int) -> bool:
    """Have the driver show `gpu:INDEX` alone; return False, and change nothing, if its place is not certain.

    This has to be called before the driver is initialised.

    Args:
        count: number of this machine's GPUs, which are all alike.
    """
    global _shown, _of_user
    listed = os.environ.get(VARIABLE)
    places = list(map(str, range(count)))
    entries = places if listed is None else listed.split(",")
    # The driver ignores all entries after a wrong one, and repeated ones hide every GPU.
    if index >= len(entries) or len(set(entries)) < len(entries) or not set(entries) <= set(places):
        return False
    os.environ[VARIABLE] = entries[index]
    _shown, _of_user = index, listed
    return True


def restore() -> None:
    """Take back `show_only`."""
    global _shown
    if _shown is None:
        return
    _shown = None
    if _of_user is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = _of_user


def driver_number(index: int) -> int:
    """Return the driver's number of `gpu:INDEX`, which is 0 if no other GPU is shown."""
    if _shown is None:
        return index
    assert index == _shown  # noqa: S101 - a process that shows one GPU opens no other
    return 0
