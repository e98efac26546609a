"""Run compilers: their time, memory and temporary files are limited, and their messages are read."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from cudamm.compile.compile_cache import cache_folder, unwritable
from cudamm.compile.confinement import LONGEST_DELAY_S, compiler_command, confinement, machine_fault
from cudamm.compile.owned_folder import owned_folder
from cudamm.compile.process_group import CORES, STEP_S, run_group, stop_if_asked
from cudamm.errors import KernelError, NoDeviceError, signal_name
from cudamm.source.included_files import FOLDERS_OF_HEADERS

COMPILE_TIMEOUT_S = 600
"""Time limit of a compiler in seconds: a source can make it loop, or wait for a pipe that stays empty."""

_MEMORY_BYTES = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
MOST_COMPILER_BYTES = min(16 << 30, max(4 << 30, _MEMORY_BYTES // 4))
"""Limit on the memory of a compiler, in bytes: a source that includes /dev/zero would take all of it."""


MOST_PRINTED_BYTES = 1 << 26
"""Maximum size of what a confined compiler may print, in bytes; macros can make a text of any length."""


class CompileError(KernelError):
    """A program that does not compile.

    Attributes:
        output: what the compiler printed.
        details, all_details: the source lines of the first error and of all, as in every `CudammError`.
    """

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output
        self.all_details = output.splitlines()


class CompilerKilled(KernelError):
    """A compiler that was killed, perhaps for lack of memory; the kernel itself may be correct."""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a temporary folder for a compiler. Raises NoDeviceError if it cannot be written to."""
    try:
        with owned_folder() as folder:
            yield folder
    except OSError as error:
        raise unwritable("the temporary folder", _temporary_files_folder(), error, "TMPDIR") from None


def _temporary_files_folder() -> Path:
    """Return the folder in which compilers write temporary files."""
    return Path(os.environ.get("TMPDIR") or "/tmp")  # noqa: S108 - only named in messages


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


def run_in_folder(command: Sequence[str], source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a compiler, as `run_to_end` does, in a given folder instead of the current one."""
    try:
        # A relative folder means one in the current folder.
        searched = {
            name: os.pathsep.join(map(os.path.abspath, value.split(os.pathsep)))
            for name in FOLDERS_OF_HEADERS
            if (value := os.environ.get(name))
        }
    except OSError as error:
        raise NoDeviceError(f"the current folder cannot be used ({error.strerror})") from None
    return run_with_folder(command, source, folder, working_folder=folder, environment=searched)


_free_cores = threading.BoundedSemaphore(CORES)


@contextlib.contextmanager
def _free_core() -> Iterator[None]:
    """Wait until fewer than CORES compilers run; more threads wait if hosts of a cluster compile."""
    while not _free_cores.acquire(timeout=STEP_S):
        stop_if_asked()
    try:
        yield
    finally:
        _free_cores.release()


def run_with_folder(
    command: Sequence[str],
    source: str,
    folder: Path,
    *,
    working_folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a compiler, as `run_to_end` does, with a given folder for its temporary files.

    Args:
        folder: a folder for this compiler alone, which is removed if cudamm is killed.
        working_folder: current folder of the compiler; None: that of cudamm.
        environment: variables that are added to the environment.
    """
    limits = confinement()
    if limits is None:
        return _run_once(command, source, folder, working_folder, environment)
    name = Path(command[0]).name
    for _ in range(ATTEMPTS):
        try:
            completed = _run_once(command, source, folder, working_folder, environment)
        except CompilerKilled as error:
            reason = str(error)
            continue
        if completed.returncode == 0 or _blames_source(
            completed.stderr.replace(f"{limits.folder}{os.sep}", "")
        ):
            return completed
        if "CPU time limit exceeded" in completed.stderr:
            raise KernelError(
                f"{name} did not end within {limits.compile_s:g} s of processor time: does the source keep "
                "it busy?"
            )
        message = compile_message(completed.stderr).removeprefix("does not compile: ")
        if "too large" in message:  # the limit on files is ours: `confined` refuses a lower one
            raise KernelError(f"the source is too much for {name}: {message}")
        reason = f"{name} failed: {message or 'it printed no reason'}"
    raise machine_fault(reason)


ATTEMPTS = 2
"""How often a confined compiler is tried that fails for another reason than its source."""

_PLACED = re.compile(
    r"^(?:[^\s/:][^:\n]*(?::\d+)+: (?:fatal )?error: |/[^:\n]*(?::\d+)+: error: "
    r"|[^\n]*\(\d+\): (?:catastrophic )?error\b|ptxas (?:[^\n]*; )?error\b|ptxas fatal\s*: Unresolved)"
    r"|\.s:\d+: Error: |undefined reference to|multiple definition of",
    re.MULTILINE,
)
"""An error in a source: it has a place, and is no missing file of the system."""


def _blames_source(stderr: str) -> bool:
    """Return whether a compiler ran to its end and reports a mistake in its source."""
    return _PLACED.search(stderr) is not None and "internal compiler error" not in stderr


def _run_once(
    command: Sequence[str],
    source: str,
    folder: Path,
    working_folder: Path | None,
    environment: Mapping[str, str] | None,
) -> subprocess.CompletedProcess[str]:
    """Run a compiler as `run_with_folder` does, and report what is known of its failure."""
    name = Path(command[0]).name
    limits = confinement()
    # Of a confined compiler the processor time is limited too, which does not depend on other processes.
    timeout_s = COMPILE_TIMEOUT_S if limits is None else 4 * limits.compile_s + LONGEST_DELAY_S
    try:
        with _free_core():
            completed = run_group(
                compiler_command(command, folder),
                source,
                timeout_s=timeout_s,
                # Messages are parsed below.
                environment={"LANGUAGE": "en", "TMPDIR": str(folder), **(environment or {})},
                working_folder=working_folder,
                removed=folder,
                most_bytes=MOST_COMPILER_BYTES if limits is None else limits.compiler_bytes,
                most_printed=None if limits is None else MOST_PRINTED_BYTES,
            )
    except subprocess.TimeoutExpired:
        raise CompilerKilled(
            f"{name} did not end within {timeout_s:g} s: does the source make it wait?"
        ) from None
    except OSError as error:
        raise NoDeviceError(f"the compiler {name} cannot be run ({error.strerror})") from None
    if (
        limits is not None and len(completed.stdout) >= MOST_PRINTED_BYTES // 4
    ):  # characters, of up to 4 bytes
        raise KernelError(f"the source becomes more than {MOST_PRINTED_BYTES // 4:,} characters")
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
    return (
        CompileError(message, stderr)
        if message
        else CompilerKilled(f"{name} failed and printed no reason{_HINT}")
    )


_HINT = ": is there too little memory?"

# nvcc runs its programs through a shell, and ends with the shell's exit status for a killed program.
_SHELLS_KILLED = (128 + signal.SIGKILL, 128 + signal.SIGTERM)

# Messages of g++, its linker, nvcc and clang about a killed program that they ran.
_KILLED = re.compile(
    r"(?:Killed|Terminated) signal terminated program (\S+)"
    r"|(?<!\S)(\S+) terminated with signal (?:9|15) \["  # at the beginning of a word only: a line may be long
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
    """Return the first error in a compiler's output as one line, and the number of further errors.

    An error in a header of cudamm gets the place in the user's file that leads there.
    """
    lines = [line.strip() for line in stderr.splitlines()]
    errors = [
        re.sub(r"^.*?(?=undefined reference)", "", line) for line in lines if "undefined reference" in line
    ]
    errors = errors or [_at_user(lines, i) for i, line in enumerate(lines) if _ERROR.match(line)]
    errors = errors or [line for line in lines if re.search(r"\berror\b", line)]
    errors = errors or [re.sub(r"\s+", " ", line) for line in lines if _FATAL.match(line)]
    if not errors:
        return " ".join(stderr.split())[:300]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"does not compile: {errors[0]}{more}"


def _at_user(lines: Sequence[str], number: int) -> str:
    """Return an error line; one in a header of cudamm gets the user's line that leads there."""
    in_own_header = re.match(rf"\S*{_OWN_HEADERS}\S*:\d+:\d+: ((?:fatal )?error: .*)", lines[number])
    if in_own_header is None:
        return lines[number]
    around = [*reversed(lines[:number]), *lines[number + 1 :]]
    for line in around:
        place = re.match(r"(\S+:\d+:\d+):\s+(?:required from here|note: in instantiation of)", line)
        if place and _OWN_HEADERS not in place[1]:
            return f"{place[1]}: {in_own_header[1]}"
    return lines[number]


_OWN_HEADERS = "cpu_runtime/"

# A message of nvcc's programs without the word error: "ptxas fatal   : Unresolved extern function 'f'".
_FATAL = re.compile(r"(?:ptxas|nvlink) fatal\s*:")


# The beginning of an error message, which names a place or a tool first. Neither the source line that is
# shown below a message nor nvcc's count of errors matches.
_ERROR = re.compile(
    r"(?:.*?(?:\(\d+\)|:\d+): |(?:ptxas|nvcc|nvlink) |[\w+-]+: )?(?:fatal |catastrophic |internal )?error\b"
)
