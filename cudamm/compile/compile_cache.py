"""Running compilers, and keeping what they made, in the user's cache folder.

A file in the cache ends with a checksum of what comes before it, so that one that was cut off or has changed
since is noticed and made anew. Loaders and linkers do not mind the bytes at its end.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import platformdirs

from cudamm.errors import KernelError, NoDeviceError

TEMPORARY = ".partial-"
"""What the names of files begin with that are still being made."""

STALE_S = 24 * 60 * 60
"""The age at which such a file is what a killed run has left: no compiler takes as long."""

_MARK = b"\nwhole\n"
_SEAL_BYTES = hashlib.sha256().digest_size + len(_MARK)


class CompilerKilled(KernelError):
    """The compiler was killed, for want of memory perhaps: it has said nothing about the kernel."""


@functools.cache
def cache_folder() -> Path:
    """Where compiled programs are kept; $CUDAMM_CACHE overrides the user's cache folder."""
    # Absolute: what is in it is run, and a bare name would be looked for on PATH.
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
    """The file made from all of `made_from`; `make` writes it, to the path it is given, where it is missing.

    It appears under its final name only once it is whole, whoever else makes it at the same time. One that
    is damaged all the same, by a power failure perhaps, is made anew.

    Raises:
        NoDeviceError: the cache folder takes no file.
    """
    key = hashlib.sha256("\0".join(made_from).encode(errors="surrogateescape")).hexdigest()[:32]
    folder = cache_folder()
    target = folder / f"{key}{suffix}"
    if _is_whole(target):
        return target
    try:
        _remove_stale(folder)
        handle, name = tempfile.mkstemp(dir=folder, prefix=TEMPORARY, suffix=suffix)
        os.close(handle)
        partial = Path(name)
        try:
            make(partial)
            seal = _seal(partial.read_bytes())
            with partial.open("ab") as file:
                file.write(seal)
            partial.chmod(0o755)
            if target.is_dir() and not target.is_symlink():
                shutil.rmtree(target)  # not of our making, and a file cannot replace it
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable("the cache folder", folder, error, "CUDAMM_CACHE") from None
    return target


def contents(path: Path) -> bytes:
    """What was made, from a file in the cache."""
    return path.read_bytes()[:-_SEAL_BYTES]


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder for what a compiler reads and writes. Raises NoDeviceError where there is no room for it."""
    try:
        with tempfile.TemporaryDirectory(prefix="cudamm-") as folder:
            yield Path(folder)
    except OSError as error:
        raise _unwritable("the temporary folder", _temporary_place(), error, "TMPDIR") from None


def _temporary_place() -> Path:
    """Where compilers keep what they need for a moment."""
    return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - only to be named


def _unwritable(what: str, folder: Path, error: OSError, variable: str) -> NoDeviceError:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = f"make room there, or set {variable} to another" if is_full else f"set {variable} to another"
    return NoDeviceError(f"nothing can be written to {what} {folder} ({error.strerror or error}); {remedy}")


def _seal(made: bytes) -> bytes:
    return hashlib.sha256(made).digest() + _MARK


def _is_whole(path: Path) -> bool:
    try:
        found = path.read_bytes()
    except OSError:  # it is missing, or is no file that can be read: made anew, and that may raise
        return False
    return found[-_SEAL_BYTES:] == _seal(found[:-_SEAL_BYTES])


def _remove_stale(folder: Path) -> None:
    """Remove what killed runs have left behind."""
    for path in folder.glob(f"{TEMPORARY}*"):
        with contextlib.suppress(OSError):  # another run removes it too, or it is another user's
            if time.time() - path.lstat().st_mtime > STALE_S:
                path.unlink()


def run_compiler(command: Sequence[str], source: str = "") -> str:
    """Run a compiler with `source` as its input; return what it remarks.

    Raises:
        KernelError: it fails; CompilerKilled where that is not for what it was given.
        NoDeviceError: it does not start, or the disk is full.
    """
    done = finished(command, source)
    if done.returncode != 0:
        raise KernelError(compile_message(done.stderr) or f"{command[0]} ended with status {done.returncode}")
    return done.stderr


def finished(command: Sequence[str], source: str = "") -> subprocess.CompletedProcess[str]:
    """What became of a compiler, its streams as text whatever their encoding.

    Raises:
        CompilerKilled: it, or a program that it runs, was killed.
        NoDeviceError: it does not start, or the disk is full.
    """
    name = Path(command[0]).name
    try:
        done = subprocess.run(
            command,
            input=source,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
            env={**os.environ, "LANGUAGE": "en"},  # its messages are read here
        )
    except OSError as error:
        raise NoDeviceError(f"the compiler {name} cannot be run ({error.strerror})") from None
    if done.returncode != 0:
        _check_it_could_work(name, done)
    return done


def _check_it_could_work(name: str, done: subprocess.CompletedProcess[str]) -> None:
    """Raise where a compiler failed for want of something other than a correct program."""
    if done.returncode < 0:
        killer = signal.Signals(-done.returncode).name
        raise CompilerKilled(f"{name} was killed by {killer}{_HINT if killer == 'SIGKILL' else ''}")
    killed = _KILLED.search(done.stderr)
    if killed:
        child = next(filter(None, killed.groups()), "a program")
        raise CompilerKilled(f"{child}, run by {name}, was killed{_HINT}")
    if done.returncode in _SHELLS_KILLED:
        raise CompilerKilled(f"a program run by {name} was killed{_HINT}")
    full = _NO_SPACE.search(done.stderr)
    if full:
        raise NoDeviceError(
            f"{name} says: {full[0]}; make room in {_temporary_place()} and in {cache_folder()}, "
            "or set TMPDIR and CUDAMM_CACHE to other folders"
        )


_HINT = ": is there too little memory?"

# nvcc runs its programs through a shell, and ends with the status that the shell has for a killed one.
_SHELLS_KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)

# What g++, its linker, nvcc and clang say of a program they run.
_KILLED = re.compile(
    r"(?:Killed|Terminated) signal terminated program (\S+)"
    r"|(\S+) terminated with signal (?:9|15) \["
    r"|'([^'\n]+)' died due to signal (?:9|15)\b"
    r"|unable to execute command: (?:Killed|Terminated)"
)
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded")


def preprocessed(command: Sequence[str], source: str) -> str:
    """What `command` makes of `source` and all that it includes; `source` itself where that fails."""
    return finished(command, source).stdout or source


def compile_message(stderr: str) -> str:
    """The first error in a compiler's output, as one line, and how many more there are."""
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


# What begins a message, after its place or the tool that has it: not the source line shown below it, nor
# nvcc's count of errors.
_ERROR = re.compile(
    r"(?:.*?(?:\(\d+\)|:\d+): |(?:ptxas|nvcc|nvlink) |[\w+-]+: )?(?:fatal |catastrophic |internal )?error\b"
)
