"""Processes that are killed together with every process they start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def start_group(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process that leads a group of its own; Ctrl-C reaches this process only.

    Args:
        options: of `subprocess.Popen`.
    """
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)


def kill_group(leader: subprocess.Popen[Any]) -> None:
    """Kill a process and every process of its group; `leader.wait` is left to the caller."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
