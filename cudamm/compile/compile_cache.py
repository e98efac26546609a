"""Run compilers, and keep their output in the user's cache folder."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import signal
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

import platformdirs

from cudamm.compile.identity import hash_of
from cudamm.compile.owned_folder import owned_folder
from cudamm.compile.process_group import run_group
from cudamm.errors import KernelError, NoDeviceError, signal_name

COMPILE_TIMEOUT_S = 600
"""Time limit of a compiler in seconds: a source can make it loop, or wait for a pipe that stays empty."""

_MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MOST_COMPILER_BYTES = min(16 << 30, max(4 << 30, _MEMORY_BYTES // 4))
"""Limit on the memory of a compiler, in bytes: a source that includes /dev/zero would take all of it."""

LAYOUT = "2"
"""Version of the layout of the cached files. A file of another layout is never read."""


class CompilerKilled(KernelError):
    """A compiler that was killed, perhaps for lack of memory; the kernel itself may be correct."""


@functools.cache
def cache_folder() -> Path:
    """Return the folder of compiled programs; $CUDAMM_CACHE overrides the user's cache folder."""
    # Absolute: files in the folder are executed, and a bare name would be searched for on PATH.
    folder = Path(os.environ.get("CUDAMM_CACHE") or platformdirs.user_cache_dir("cudamm")).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NoDeviceError(f"the cache folder {folder} is a file; set CUDAMM_CACHE to a folder") from None
    except OSError as error:
        raise NoDeviceError(
            f"the cache folder {folder} cannot be made ({error.strerror}); set CUDAMM_CACHE to another"
        ) from None
    return folder


def cached(made_from: Sequence[str], suffix: str, make: Callable[[Path], object]) -> Path:
    """Return the cached file that depends on all of `made_from`.

    If the file is missing, `make` writes it to the path that `make` is given. The file gets its final name
    only when all of it is on the disk: no crash, no power failure and no other process that makes the same
    file can leave an incomplete file under that name.

    Raises:
        NoDeviceError: the cache folder cannot be written to.
    """
    folder, target = _folder_and_target(made_from, suffix)
    with _locks[target]:
        if not target.is_file():
            _make_file(folder, target, make)
    return target


_locks: defaultdict[Path, Lock] = defaultdict(Lock)
"""A lock for each cached file: two threads of a process would else make the same file at the same time."""


def _make_file(folder: Path, target: Path, make: Callable[[Path], object]) -> None:
    try:
        with owned_folder(folder) as temporary:
            partial = temporary / f"partial{target.suffix}"
            make(partial)
            partial.chmod(0o755)
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(target)
    except OSError as error:
        raise _unwritable("the cache folder", folder, error, "CUDAMM_CACHE") from None


def cached_folder(made_from: Sequence[str], make: Callable[[Path], object]) -> Path:
    """Return the cached folder that depends on all of `made_from`, with the same guarantees as `cached`.

    If the folder is missing, `make` fills the folder whose path it is given.

    Raises:
        NoDeviceError: the cache folder cannot be written to.
    """
    folder, target = _folder_and_target(made_from, ".folder")
    if target.is_dir():
        return target
    try:
        with owned_folder(folder) as temporary:
            partial = temporary / "partial"
            partial.mkdir()
            make(partial)
            for path in partial.iterdir():
                with path.open("rb") as file:
                    os.fsync(file.fileno())
            try:
                partial.rename(target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    except OSError as error:
        raise _unwritable("the cache folder", folder, error, "CUDAMM_CACHE") from None
    return target


def _folder_and_target(made_from: Sequence[str], suffix: str) -> tuple[Path, Path]:
    """Return the cache folder, and the path in it that is named by a hash of all of `made_from`."""
    folder = cache_folder()
    return folder, folder / f"{hash_of([LAYOUT, *made_from], digits=32)}{suffix}"


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder for a compiler. Raises NoDeviceError if it cannot be written to."""
    try:
        with owned_folder() as folder:
            yield folder
    except OSError as error:
        raise _unwritable("the temporary folder", _temporary_files_folder(), error, "TMPDIR") from None


def _temporary_files_folder() -> Path:
    """Return the folder in which compilers write temporary files."""
    return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - only named in messages


def _unwritable(purpose: str, folder: Path, error: OSError, variable: str) -> NoDeviceError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = f"make room there, or set {variable} to another" if is_full else f"set {variable} to another"
    return NoDeviceError(
        f"nothing can be written to {purpose} {folder} ({error.strerror or error}); {remedy}"
    )


def run_compiler(command: Sequence[str], source: str = "") -> str:
    """Run a compiler with `source` as its input; return its standard error.

    Raises:
        KernelError: the source does not compile; CompilerKilled if the compiler was killed.
        NoDeviceError: the compiler does not start, or the disk is full.
    """
    completed = run_to_end(command, source)
    if completed.returncode != 0:
        raise compile_failure(command[0], completed.stderr)
    return completed.stderr


def run_to_end(command: Sequence[str], source: str = "") -> subprocess.CompletedProcess[str]:
    """Run a compiler to its end; return its exit status and its streams, decoded whatever their encoding.

    Raises:
        CompilerKilled: the compiler, or a program that it runs, was killed, or took too long.
        NoDeviceError: the compiler does not start, or the disk is full.
    """
    with temporary_folder() as folder:
        return run_with_folder(command, source, folder)


def run_with_folder(
    command: Sequence[str], source: str, folder: Path, *, is_current: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a compiler, as `run_to_end` does, with a given folder for its temporary files.

    Args:
        folder: a folder for this compiler alone, which is removed if cudamm is killed.
        is_current: run the compiler in that folder.
    """
    name = Path(command[0]).name
    try:
        completed = run_group(
            command,
            source,
            timeout_s=COMPILE_TIMEOUT_S,
            environment={"LANGUAGE": "en", "TMPDIR": str(folder)},  # messages are parsed below
            working_folder=folder if is_current else None,
            removed=folder,
            most_bytes=MOST_COMPILER_BYTES,
        )
    except subprocess.TimeoutExpired:
        raise CompilerKilled(
            f"{name} did not end within {COMPILE_TIMEOUT_S:g} s: does the source make it wait?"
        ) from None
    except OSError as error:
        raise NoDeviceError(f"the compiler {name} cannot be run ({error.strerror})") from None
    if completed.returncode != 0:
        _raise_if_not_the_source(name, completed)
    return completed


def _raise_if_not_the_source(name: str, completed: subprocess.CompletedProcess[str]) -> None:
    """Raise if a compiler failed for another reason than its source: it was killed, or the disk is full."""
    if completed.returncode < 0:
        killer = signal_name(-completed.returncode)
        raise CompilerKilled(f"{name} was killed by {killer}{_HINT if killer == 'SIGKILL' else ''}")
    _check_messages(name, completed.stderr)
    if completed.returncode in _SHELLS_KILLED:
        raise CompilerKilled(f"a program run by {name} was killed{_HINT}")


def _check_messages(name: str, stderr: str) -> None:
    """Raise if a compiler reports that a program it runs was killed, or that the disk is full."""
    killed = _KILLED.search(stderr)
    if killed:
        child = next(filter(None, killed.groups()), "a program")
        raise CompilerKilled(f"{child}, run by {name}, was killed{_HINT}")
    full = _NO_SPACE.search(stderr)
    if full:
        raise NoDeviceError(
            f"{name} reports: {full[0]}; make room in {_temporary_files_folder()} and in {cache_folder()}, "
            "or set TMPDIR and CUDAMM_CACHE to other folders"
        )


def compile_failure(compiler: str, stderr: str) -> KernelError:
    """Return the reason why a program does not compile, from the compiler's standard error.

    Raises:
        CompilerKilled: a program that the compiler runs was killed.
        NoDeviceError: the disk is full.
    """
    name = Path(compiler).name
    _check_messages(name, stderr)
    message = compile_message(stderr)
    return KernelError(message) if message else CompilerKilled(f"{name} failed and printed no reason{_HINT}")


_HINT = ": is there too little memory?"

# nvcc runs its programs through a shell, and ends with the shell's exit status for a killed program.
_SHELLS_KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)

# Messages of g++, its linker, nvcc and clang about a killed program that they ran.
_KILLED = re.compile(
    r"(?:Killed|Terminated) signal terminated program (\S+)"
    r"|(\S+) terminated with signal (?:9|15) \["
    r"|'([^'\n]+)' died due to signal (?:9|15)\b"
    r"|unable to execute command: (?:Killed|Terminated)"
)
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")


def preprocessed(completed: subprocess.CompletedProcess[str], source: str) -> str:
    """Return what a preprocessor made of `source`, which contains all included files.

    If it failed, the result is the source with all that the preprocessor printed. Its output alone has no
    `#error` line, and could be that of another source.
    """
    if completed.returncode == 0:
        return completed.stdout
    return "\n".join([source, completed.stdout, completed.stderr])


def compile_message(stderr: str) -> str:
    """Return the first error in a compiler's output as one line, and the number of further errors."""
    lines = [line.strip() for line in stderr.splitlines()]
    errors = [
        re.sub(r"^.*?(?=undefined reference)", "", line) for line in lines if "undefined reference" in line
    ]
    errors = errors or [line for line in lines if _ERROR.match(line)]
    errors = errors or [line for line in lines if re.search(r"\berror\b", line)]
    if not errors:
        return " ".join(stderr.split())[:300]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"does not compile: {errors[0]}{more}"


# The beginning of an error message, which names a place or a tool first. Neither the source line that is
# shown below a message nor nvcc's count of errors matches.
_ERROR = re.compile(
    r"(?:.*?(?:\(\d+\)|:\d+): |(?:ptxas|nvcc|nvlink) |[\w+-]+: )?(?:fatal |catastrophic |internal )?error\b"
)
