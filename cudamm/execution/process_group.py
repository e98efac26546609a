"""Start and kill processes together with every process that they start."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any


def start_group(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a process as the leader of a new group, which Ctrl-C in the terminal does not reach.

    Args:
        options: options of `subprocess.Popen`.
    """
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)


def kill_group(leader: subprocess.Popen[Any]) -> None:
    """Kill a process and every process of its group; the caller calls `leader.wait`."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader.pid, signal.SIGKILL)
