"""Running compilers, and keeping what they made, in the user's cache folder."""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

from cudamm.errors import KernelError, NoDeviceError

END = b"\nwhole\n"
"""What every file in the cache ends with."""


@functools.cache
def cache_folder() -> Path:
    """Where compiled programs are kept; $CUDAMM_CACHE overrides the user's cache folder."""
    folder = Path(os.environ.get("CUDAMM_CACHE") or platformdirs.user_cache_dir("cudamm"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoDeviceError(
            f"the cache folder {folder} cannot be made ({error.strerror}); set CUDAMM_CACHE"
        ) from None
    return folder


def cached(made_from: Sequence[str], suffix: str, make: Callable[[Path], object]) -> Path:
    """The file made from all of `made_from`; `make` writes it, to the path it is given, where it is missing.

    It appears under its final name only once it is whole. One that was cut off all the same, by a power
    failure perhaps, is made anew: its last bytes are missing, which loaders and linkers do not mind.
    """
    key = hashlib.sha256("\0".join(made_from).encode(errors="surrogateescape")).hexdigest()[:32]
    target = cache_folder() / f"{key}{suffix}"
    if _is_whole(target):
        return target
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, suffix=suffix)
        os.close(handle)
    except OSError as error:
        raise NoDeviceError(
            f"nothing can be written to {target.parent} ({error.strerror}); set CUDAMM_CACHE"
        ) from None
    partial = Path(name)
    try:
        make(partial)
        with partial.open("ab") as file:
            file.write(END)
        partial.chmod(0o755)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return target


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            file.seek(-len(END), os.SEEK_END)
            return file.read() == END
    except OSError:
        return False


def run_compiler(command: Sequence[str], source: str = "") -> str:
    """Run a compiler with `source` as its input; return what it remarks. Raises KernelError if it fails."""
    done = finished(command, source)
    if done.returncode != 0:
        raise KernelError(compile_message(done.stderr) or f"{command[0]} ended with status {done.returncode}")
    return done.stderr


def finished(command: Sequence[str], source: str = "") -> subprocess.CompletedProcess[str]:
    """What became of a compiler, its streams as text whatever their encoding."""
    return subprocess.run(
        command, input=source, capture_output=True, encoding="utf-8", errors="surrogateescape", check=False
    )


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
