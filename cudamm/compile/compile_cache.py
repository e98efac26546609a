"""Keep what compilers make in the user's cache folder.

Beside each file lies a hash of its content. A file that was damaged, or is another user's, is made again.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import hashlib
import os
import stat
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

import platformdirs

from cudamm.compile.identity import hash_of
from cudamm.compile.owned_folder import owned_folder, remove_abandoned
from cudamm.compile.process_group import stop_if_asked
from cudamm.errors import NoDeviceError

LOCKS = "locks"
"""Name of the file in the cache folder whose bytes processes lock."""

LONGEST_WAIT_S = 60.0
"""How long to wait for another process that makes the same file, in seconds: it may be stopped."""

LAYOUT = "4"
"""Version of the cached files, raised if older ones may be wrong. Files of other versions are never read."""


@functools.cache
def cache_folder() -> Path:
    """Return the folder of compiled programs; $CUDAMM_CACHE overrides the user's cache folder."""
    folder = _cache_path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NoDeviceError(f"the cache folder {folder} is a file; set CUDAMM_CACHE to a folder") from None
    except OSError as error:
        raise NoDeviceError(
            f"the cache folder {folder} cannot be made ({error.strerror}); set CUDAMM_CACHE to another"
        ) from None
    return folder


def _cache_path() -> Path:
    # Absolute: files in the folder are executed, and a bare name would be searched for on PATH.
    return Path(os.environ.get("CUDAMM_CACHE") or platformdirs.user_cache_dir("cudamm")).absolute()


def remove_all_abandoned() -> None:
    """Remove the temporary folders that killed processes have left where compilers write."""
    for find in (tempfile.gettempdir, _cache_path):
        with contextlib.suppress(OSError):  # there is no such folder
            remove_abandoned(Path(find()))


def cached(
    made_from: Sequence[str], suffix: str, make: Callable[[Path], object], *, is_program: bool = False
) -> Path:
    """Return the cached file that depends on all of `made_from`.

    If the file is missing or not as it was made, `make` writes it to the path that `make` is given. The file
    gets its final name only when all of it is on the disk: no crash, no power failure and no other process
    that makes the same file can leave an incomplete file under that name. A process that finds another one
    making it waits.

    Args:
        is_program: the file will be executed.

    Raises:
        NoDeviceError: the cache folder cannot be written to, or programs in it cannot be executed.
    """
    folder, target = _folder_and_target(made_from, suffix)
    with _locks[target]:
        if not _is_whole(target, is_program):
            _make_file(folder, target, make, is_program)
    if is_program and not os.access(target, os.X_OK):
        raise NoDeviceError(
            f"programs in the cache folder {folder} cannot be executed (is it mounted with noexec?); set "
            "CUDAMM_CACHE to another"
        )
    return target


def _is_whole(path: Path, is_program: bool = False) -> bool:
    """Return whether a file of the cache, or each file of a folder of it, is there and as it was made."""
    try:
        state = path.stat()
        files = [path] if stat.S_ISREG(state.st_mode) else sorted(path.iterdir())
        if state.st_uid not in (os.geteuid(), 0) or (is_program and not os.access(path, os.X_OK)):
            return False
        changed = tuple((file.stat().st_ino, file.stat().st_size, file.stat().st_mtime_ns) for file in files)
        return _hash_file(path).read_text() == _content_hash(path, changed)
    except (OSError, UnicodeDecodeError):
        return False


def _hash_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.hash")


@functools.lru_cache(maxsize=1024)
def _content_hash(path: Path, _changed: object = None) -> str:
    """Return a hash of a name and of the content of that file, or of all files of that folder.

    Args:
        _changed: what tells that the content may have changed since the last call.
    """
    found = hashlib.sha256(path.name.encode())
    for file in [path] if path.is_file() else sorted(path.iterdir()):
        found.update(file.read_bytes())
    return found.hexdigest()


_locks: defaultdict[Path, Lock] = defaultdict(Lock)
"""A lock for each cached file: two threads of a process would else make the same file at the same time."""


def _make_file(folder: Path, target: Path, make: Callable[[Path], object], is_program: bool) -> None:
    try:
        with _alone(target), owned_folder(folder) as temporary:
            if _is_whole(target, is_program):  # another process has made it meanwhile
                return
            partial = temporary / target.name
            make(partial)
            partial.chmod(0o755)
            _write_hash(partial, target)
            _on_disk(partial)
            partial.replace(target)
    except OSError as error:
        raise unwritable("the cache folder", folder, error, "CUDAMM_CACHE") from None


def _write_hash(made: Path, target: Path) -> None:
    """Keep the hash of what was made, before it gets its place in the cache."""
    written = _hash_file(made)
    written.write_text(_content_hash(made))
    _on_disk(written)
    written.replace(_hash_file(target))


def _on_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Hold a lock of a cached file, which the operating system releases when this process ends.

    If another process holds it for LONGEST_WAIT_S, or there are no locks, go on without it. One file has the
    locks of all cached files: of lock files, killed processes would leave many.
    """
    handle = _lock_file(target.parent)
    if handle is None:
        yield
        return
    place, deadline = int(target.stem[:15], 16), time.monotonic() + LONGEST_WAIT_S
    while _is_locked_elsewhere(handle, place) and time.monotonic() < deadline:
        stop_if_asked()
        time.sleep(0.01)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # there are no locks
            fcntl.lockf(handle, fcntl.LOCK_UN, 1, place)


@functools.cache
def _lock_file(folder: Path) -> int | None:
    """Return a handle of the file that has a byte to lock for each cached file; None if it cannot be opened.

    The handle is never closed: that would release all locks of this process.
    """
    try:
        return os.open(folder / LOCKS, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        return None


def _is_locked_elsewhere(handle: int, place: int) -> bool:
    """Lock a byte; return whether that failed because another process has locked it."""
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno in (errno.EACCES, errno.EAGAIN)
    return False


def cached_folder(made_from: Sequence[str], make: Callable[[Path], object]) -> Path:
    """Return the cached folder that depends on all of `made_from`, with the same guarantees as `cached`.

    If the folder is missing, `make` fills the folder whose path it is given.

    Raises:
        NoDeviceError: the cache folder cannot be written to.
    """
    folder, target = _folder_and_target(made_from, ".folder")
    with _locks[target]:
        if not _is_whole(target):
            _make_folder(folder, target, make)
    return target


def _make_folder(folder: Path, target: Path, make: Callable[[Path], object]) -> None:
    try:
        with _alone(target), owned_folder(folder) as temporary:
            if _is_whole(target):  # another process has made it meanwhile
                return
            partial = temporary / target.name
            partial.mkdir()
            make(partial)
            for path in partial.iterdir():
                _on_disk(path)
            if target.exists():
                target.rename(temporary / "damaged")
            _write_hash(partial, target)
            try:
                partial.rename(target)
            except OSError:
                if not target.is_dir():  # another process was faster
                    raise
    except OSError as error:
        raise unwritable("the cache folder", folder, error, "CUDAMM_CACHE") from None


def find_cached_folder(made_from: Sequence[str]) -> Path | None:
    """Return the folder that `cached_folder` made from the same, in this process or another; else None."""
    _, target = _folder_and_target(made_from, ".folder")
    return target if _is_whole(target) else None


def _folder_and_target(made_from: Sequence[str], suffix: str) -> tuple[Path, Path]:
    """Return the cache folder, and the path in it that is named by a hash of all of `made_from`."""
    folder = cache_folder()
    return folder, folder / f"{hash_of([LAYOUT, *made_from], digits=32)}{suffix}"


def unwritable(purpose: str, folder: Path, error: OSError, variable: str) -> NoDeviceError:
    """Return the error for a folder that cannot be written to.

    Args:
        purpose: what the folder is for.
        variable: the environment variable that names another folder.
    """
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = f"make room there, or set {variable} to another" if is_full else f"set {variable} to another"
    return NoDeviceError(
        f"nothing can be written to {purpose} {folder} ({error.strerror or error}); {remedy}"
    )
