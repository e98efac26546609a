"""The only GPU that the driver shows to this process, so that the driver starts faster.

The driver initialises every GPU that it shows: it needs 0.9 s on a machine with four GPUs, and 0.2 s if
CUDA_VISIBLE_DEVICES names one of them.
"""

from __future__ import annotations

import os

VARIABLE = "CUDA_VISIBLE_DEVICES"

_shown: int | None = None
"""Number of the only GPU that is shown; None if all are shown."""

_before: str | None = None
"""Value of the variable before `show_only`."""


def are_hidden() -> bool:
    """Return whether the variable hides every GPU."""
    return _entries() == []


def show_only(index: int) -> None:
    """Have the driver show `gpu:INDEX` alone. This has to be called before the driver is initialised.

    It does nothing if the variable lists fewer GPUs: the driver can then report how many there are.
    """
    global _shown, _before
    entries = _entries()
    if entries is None or index < len(entries):
        _before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(index) if entries is None else entries[index]
        _shown = index


def show_all() -> None:
    """Take back `show_only`: the driver knows no such GPU."""
    global _shown
    if _shown is None:
        return
    _shown = None
    if _before is None:
        del os.environ[VARIABLE]
    else:
        os.environ[VARIABLE] = _before


def driver_number(index: int) -> int:
    """Return the driver's number of `gpu:INDEX`, which is 0 if no other GPU is shown."""
    return 0 if index == _shown else index


def _entries() -> list[str] | None:
    """Return the GPUs that the variable lists; None if it is not set. An empty entry or -1 ends the list."""
    value = os.environ.get(VARIABLE)
    if value is None:
        return None
    entries = [entry.strip() for entry in value.split(",")]
    end = next((i for i, entry in enumerate(entries) if entry in ("", "-1")), len(entries))
    return entries[:end]
