"""Limit this process, and become the program that it is asked to run.

Only `confinement.py` starts it: python -I -S confined_process.py POLICY COMMAND...

POLICY is JSON: the limits `as`, `cpu`, `fsize` and `nofile` of setrlimit(2), environment variables that are
set, the names of those that are kept, and the files and folders that the program may read and execute, or
also write. Linux's Landlock confines it to them; without these two keys, files are not confined, and without
`kept` all variables are kept. This file needs only the standard library, because it runs
before anything of cudamm is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import sys
from collections.abc import Sequence

# Numbers of linux/landlock.h and of the system calls, which are the same on all architectures.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_OF_VERSION_1 = (1 << 13) - 1
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
"""Rights that apply to a file; the others apply to folders only."""

_NO_NEW_PRIVILEGES = 38


class _Ruleset(ctypes.Structure):
    _fields_ = (("handled_access_fs", ctypes.c_uint64),)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


def landlock_version() -> int:
    """Return the version of Landlock's interface; 0 if this system has no Landlock."""
    if sys.platform != "linux":
        return 0
    return max(0, int(ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)))


def confine_files(readable: Sequence[str], writable: Sequence[str]) -> None:
    """Leave this process, and those that it starts, only some files and folders.

    Raises:
        OSError: Landlock refuses.
    """
    library = ctypes.CDLL(None, use_errno=True)
    version = landlock_version()
    handled = _OF_VERSION_1 | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    attributes = _Ruleset(handled)
    rules = _checked(library.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.sizeof(attributes), 0))
    for paths, rights in ((readable, _EXECUTE | _READ_FILE | _READ_DIR), (writable, handled)):
        for path in paths:
            try:
                opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue  # there is nothing to read
            allowed = rights & handled & (~0 if os.path.isdir(path) else _OF_FILES)  # noqa: PTH112
            beneath = _PathBeneath(allowed, opened)
            _checked(library.syscall(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(beneath), 0))
            os.close(opened)
    _checked(library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    _checked(library.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _limit(name: str, most: int) -> None:
    number: int = getattr(resource, f"RLIMIT_{name.upper()}")
    _, hardest = resource.getrlimit(number)
    value = most if hardest == resource.RLIM_INFINITY else min(most, hardest)
    # At the harder limit of processor time Linux sends SIGKILL, as it does if the machine lacks memory.
    harder = value + 5 if name == "cpu" and hardest == resource.RLIM_INFINITY else value
    with contextlib.suppress(ValueError):
        resource.setrlimit(number, (value, harder))


def _found(program: str) -> str:
    """Return the path of a program, which is searched for on PATH if it has no slash."""
    folders = [] if "/" in program else os.get_exec_path()
    candidates = [os.path.join(folder, program) for folder in folders]  # noqa: PTH118 - pathlib loads slowly
    return next((path for path in candidates if os.access(path, os.X_OK)), program)


def _main(text: str, command: Sequence[str]) -> None:
    policy = json.loads(text)
    program = _found(command[0])  # afterwards, folders of PATH may not be readable
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for name in ("cpu", "fsize", "nofile"):
        if name in policy:
            _limit(name, policy[name])
    if "readable" in policy:
        confine_files(policy["readable"], policy["writable"])
    kept = policy.get("kept", os.environ)
    environment = {name: os.environ[name] for name in kept if name in os.environ} | policy.get(
        "variables", {}
    )
    if "as" in policy:
        _limit("as", policy["as"])
    os.execve(program, list(command), environment)  # noqa: S606 - this process becomes the program


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
