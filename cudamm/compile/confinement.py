"""Confine what compilers and kernels may do while an untrusted source is compiled and run.

Inside `confined`, compilers and the processes that run kernels start through `confined_process.py`, which
limits them and then becomes them. If the system can confine files, with Landlock or bubblewrap,
compilers read only their own folders and the source. A kernel's process has only the system calls that
kernels need (`runtime.cpp`), and what it prints is dropped.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cache_folder
from cudamm.compile.confined_process import landlock_version
from cudamm.compile.identity import VARIABLES
from cudamm.compile.process_group import CORES, processor_seconds
from cudamm.compile.runtime_headers import RUNTIME
from cudamm.compile.toolkit import find_nvcc, find_nvdisasm, toolkit_root
from cudamm.errors import CudammError, KernelError, NoDeviceError

LARGEST_FILE_BYTES = 1 << 28
"""Maximum size of a file that a confined process writes, in bytes."""

MOST_OPEN_FILES = 1024
FEWEST_OPEN_FILES = 256

STACK_OF_COMPILER_BYTES = 4 << 20

STACK_BYTES = 1 << 30
"""Address space that each thread of the CPU device reserves for stacks, in bytes."""

CONFINED = "CUDAMM_CONFINED"
"""Variable in the environment of confined processes."""

_OF_PROGRAMS = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANGUAGE")
"""The variables of the environment that programs need."""

_PR_GET_SECCOMP = 21

_SYSTEM_FOLDERS = (
    "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/include",
    "/usr/local/bin", "/usr/local/lib", "/usr/local/include", "/lib", "/lib64", "/bin", "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/dev/urandom", "/proc/cpuinfo",
    "/proc/meminfo", "/proc/self", "/sys/devices/system/cpu",
)  # fmt: skip
"""What compilers read of the system, if it is there."""


@dataclass(frozen=True)
class Confinement:
    """The limits on the processes of an untrusted source.

    Attributes:
        folder: the folder of the source, which compilers may read.
        compile_s: time limit of a compiler, in seconds.
        compiler_bytes: limit on the memory of a compiler, in bytes.
        kernel_bytes: limit on the memory of a process that runs a kernel, in bytes, without its stacks.
        kernel_cpu_s: limit on the processor time of a process that runs a kernel, in seconds for each core.
    """

    folder: Path
    compile_s: float
    compiler_bytes: int
    kernel_bytes: int
    kernel_cpu_s: int


_present: Confinement | None = None
"""The confinement of this process; None outside of `confined`. Threads that compile share it."""


@contextlib.contextmanager
def confined(confinement: Confinement) -> Iterator[None]:
    """Confine compilers and kernels inside the `with` block.

    Raises:
        NoDeviceError: this system cannot restrict the system calls of a kernel, or restricts this process
            more than the confinement does: what exceeds such a limit would seem to be the source's fault.
    """
    global _present
    _refuse_lower_limits(confinement)
    if not has_seccomp():
        raise NoDeviceError(
            "this system has no seccomp, which keeps an untrusted kernel from the machine: grade on Linux, "
            "on x86-64 or AArch64, in a container that allows seccomp"
        )
    outer, _present = _present, confinement
    try:
        yield
    finally:
        _present = outer


def machine_fault(message: str) -> CudammError:
    """Return the error for a failure that no kernel causes: of a graded one, nothing may be graded."""
    if not is_confined():
        return KernelError(message)
    return NoDeviceError(f"nothing was graded, and not because of the submission: {message}")


LONGEST_DELAY_S = 30
"""How long the machine may keep a confined process waiting, in seconds, beside four times its own limit."""


def is_delayed(process: int, limit_s: float, waited_s: float) -> bool:
    """Return whether a confined process that exceeds its time limit is to be waited for.

    It is if it has not used as much processor time: other processes may keep it waiting.

    Args:
        process: its number; the processes that it started count too.

    Raises:
        NoDeviceError: it has waited for too long.
    """
    if not is_confined() or processor_seconds(process) >= limit_s:
        return False
    if waited_s > 4 * limit_s + LONGEST_DELAY_S:
        raise machine_fault(f"a kernel got less than {limit_s:g} s of processor time within {waited_s:.0f} s")
    return True


def is_confined() -> bool:
    """Return whether this process confines others, or is confined."""
    return _present is not None or CONFINED in os.environ


def _refuse_lower_limits(confinement: Confinement) -> None:
    """Raise NoDeviceError if this process has a lower limit than a confined one needs."""
    memory = max(confinement.compiler_bytes, confinement.kernel_bytes + CORES * STACK_BYTES)
    seconds = max(math.ceil(confinement.compile_s), confinement.kernel_cpu_s * CORES)
    for number, option, needed, unit in (
        (resource.RLIMIT_FSIZE, "f", LARGEST_FILE_BYTES, "bytes in a file"),
        (resource.RLIMIT_CPU, "t", seconds, "seconds of processor time"),
        (resource.RLIMIT_AS, "v", memory, "bytes of memory"),
        (resource.RLIMIT_NOFILE, "n", FEWEST_OPEN_FILES, "open files"),
        (resource.RLIMIT_STACK, "s", STACK_OF_COMPILER_BYTES, "bytes of stack"),
    ):
        limit, _ = resource.getrlimit(number)
        if limit != resource.RLIM_INFINITY and limit < needed:
            raise NoDeviceError(
                f"this shell allows {limit:,} {unit}, and grading needs {needed:,}: raise ulimit -{option}"
            )


def confinement() -> Confinement | None:
    """Return the confinement of the untrusted source that is being compiled or run; None if there is none."""
    return _present


@functools.cache
def has_seccomp() -> bool:
    """Return whether this system can restrict the system calls of a process."""
    if sys.platform != "linux":
        return False
    return int(ctypes.CDLL(None).prctl(_PR_GET_SECCOMP, 0, 0, 0, 0)) >= 0


@functools.cache
def file_confinement() -> str:
    """Return what confines the files of compilers: `Landlock`, `bubblewrap`, or an empty text for nothing."""
    if landlock_version() > 0:
        return "Landlock"
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        return ""
    tried = subprocess.run(
        [bubblewrap, "--ro-bind", "/", "/", "--unshare-net", "/bin/true"], capture_output=True, check=False
    )
    return "bubblewrap" if tried.returncode == 0 else ""


def compiler_command(command: Sequence[str | Path], folder: Path) -> list[str | Path]:
    """Return the command that runs a compiler, confined if a confinement is present.

    Args:
        folder: the compiler's own folder, in which it may write.
    """
    if _present is None:
        return list(command)
    writable = [str(folder), str(cache_folder()), os.devnull]
    readable = [str(path) for path in dict.fromkeys(_compilers_folders()) if path.exists()]
    readable.append(str(_present.folder))
    policy: dict[str, object] = {
        "fsize": LARGEST_FILE_BYTES,
        "cpu": math.ceil(_present.compile_s),
        "kept": [*_OF_PROGRAMS, *VARIABLES],
    }
    if file_confinement() == "Landlock":
        policy |= {"readable": readable, "writable": writable}
    elif file_confinement() == "bubblewrap":
        command = _in_bubblewrap(command, readable, writable)
    return _launched(policy, command)


def _in_bubblewrap(
    command: Sequence[str | Path], readable: Sequence[str], writable: Sequence[str]
) -> list[str | Path]:
    """Return the command that runs a command where only some files exist."""
    start: list[str | Path] = [
        shutil.which("bwrap") or "bwrap", "--die-with-parent", "--unshare-net", "--unshare-ipc",
        "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",  # noqa: S108 - an empty folder
    ]  # fmt: skip
    for path in readable:
        start += [] if path.startswith(("/dev/", "/proc/")) else ["--ro-bind", path, path]
    for path in writable:
        start += [] if path.startswith("/dev/") else ["--bind", path, path]
    return [*start, "--", *command]


def kernel_command(command: Sequence[str | Path], *, is_short: bool) -> list[str | Path]:
    """Return the command that starts a process that runs kernels, confined if a confinement is present.

    Args:
        is_short: the process runs one kernel, and not one after the other: its processor time is limited.
    """
    if _present is None:
        return list(command)
    policy: dict[str, object] = {
        "as": _present.kernel_bytes + CORES * STACK_BYTES,
        "fsize": LARGEST_FILE_BYTES,
        "nofile": MOST_OPEN_FILES,
        "variables": {CONFINED: "1"},
    }
    if is_short:
        policy["cpu"] = _present.kernel_cpu_s * CORES
    return _launched(policy, command)


def kernel_environment() -> dict[str, str] | None:
    """Return the environment of a process that runs one kernel; None for that of this process.

    A graded kernel could print what the environment contains.
    """
    if not is_confined():
        return None
    return {CONFINED: "1"} | {name: os.environ[name] for name in _OF_PROGRAMS if name in os.environ}


def kernel_output(usual: int) -> int:
    """Return where a process that runs kernels prints: nowhere if a confinement is present.

    What a kernel prints could contain a hidden problem, or fill a disk.
    """
    return usual if _present is None else subprocess.DEVNULL


_LAUNCHER = Path(__file__).with_name("confined_process.py")


def _launched(policy: dict[str, object], command: Sequence[str | Path]) -> list[str | Path]:
    # -I and -S: nothing of the current folder or of the environment is imported.
    return [sys.executable, "-I", "-S", str(_LAUNCHER), json.dumps(policy), *command]


@functools.cache
def _compilers_folders() -> tuple[Path, ...]:
    """Return what compilers read: files and folders of the system, of the compilers, and of the runtime."""
    found = [*map(Path, _SYSTEM_FOLDERS), RUNTIME]
    host = shutil.which(os.environ.get("CXX", "").split(" ")[0] or "g++")
    if host is not None:
        found += [Path(host).parent, Path(host).resolve().parent.parent]
    nvcc = find_nvcc()
    if nvcc is not None:
        found += [nvcc.parent, nvcc.resolve().parent.parent, toolkit_root(nvcc)]
        nvdisasm = find_nvdisasm(nvcc)
        found += [nvdisasm.parent] if nvdisasm is not None else []
    return tuple(path for path in found if path not in (Path("/"), Path("/usr"), Path.home()))
