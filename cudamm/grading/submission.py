"""What a student handed in: which file is graded, what it may be, and the variant that it declares.

The file and the headers beside it are copied into a folder of their own, so that nothing else is in reach of
`#include`. A submission that is no kernel is refused with a reason, and gets no points.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import stat
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compiler_process import temporary_folder
from cudamm.compile.process_group import run_group
from cudamm.compile.untrusted_source import check_text
from cudamm.errors import CudammError, KernelError, UsageError
from cudamm.execution.module_command import module_command
from cudamm.grading.assignment import Assignment
from cudamm.kernels.header import ARRAY_FILE
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.parameter_types import each_format, parameter_formats
from cudamm.kernels.problem import UNSCALED
from cudamm.kernels.selection import Selection
from cudamm.kernels.variant import Variant
from cudamm.source.expression import Expression, parse, parse_conditions

KERNEL_ENDING = ".cu"
HEADER_ENDINGS = (".cuh", ".h", ".hpp")

LARGEST_FILE_BYTES = 1 << 17
"""Maximum size of a file that is handed in, in bytes: ten times that of a long kernel."""

SHORT_BYTES = 1 << 14
"""Size of the files of a submission, in bytes, below which every text is read in seconds."""

MOST_HEADERS = 50
"""Maximum number of headers beside a submission."""

LONGEST_LINE = 10_000
"""Maximum length of a line, in characters."""


class RefusedSubmission(CudammError):
    """A submission that cannot be graded; the message is the reason, for the student."""


@dataclass(frozen=True)
class Submission:
    """A submission in a folder of its own.

    Attributes:
        name: the name of the file that was handed in.
        path: the copy of the file.
    """

    name: str
    path: Path

    @property
    def folder(self) -> Path:
        """The folder that contains the submission and its headers only."""
        return self.path.parent

    def without_folder(self, text: str) -> str:
        """Return a message without the folder, which means nothing to a student."""
        return text.replace(f"{self.folder}{os.sep}", "").replace(str(self.folder), "the submission")


@contextlib.contextmanager
def taken(path: Path) -> Iterator[Submission]:
    """Yield a submission, copied to a folder of its own, which is removed after the block.

    Args:
        path: the file, or a folder with one file that ends in .cu.

    Raises:
        RefusedSubmission: the file is not one that can be graded.
        UsageError: there is no such file.
        NoDeviceError: nothing can be written to the temporary folder.
    """
    file = _file_of(path)
    text = _text_of(file, file.name)
    headers = {
        other.name: _text_of(other, other.name)
        for other in sorted(file.parent.iterdir())
        if other.suffix in HEADER_ENDINGS and stat.S_ISREG(other.lstat().st_mode) and other != file
    } if '#' in text and "include" in text else {}  # fmt: skip
    if len(headers) > MOST_HEADERS:
        raise RefusedSubmission(
            f"there are {len(headers)} headers beside the submission; the most is {MOST_HEADERS}"
        )
    for name, source in {file.name: text, **headers}.items():
        try:
            check_text(source, name)
        except KernelError as error:
            raise RefusedSubmission(str(error)) from None
    with temporary_folder() as folder:
        inside = folder / "submission"
        inside.mkdir()
        for name, source in headers.items():
            (inside / name).write_text(source, encoding="utf-8")
        copy = inside / _plain_name(file.name)
        copy.write_text(text, encoding="utf-8")
        yield Submission(file.name, copy)


def _plain_name(name: str) -> str:
    """Return a file's name without characters that mean something to a compiler, a table or a page."""
    stem = re.sub(r"[^A-Za-z0-9_.-]", "_", Path(name).stem).lstrip(".-") or "submission"
    return f"{stem[:80]}{KERNEL_ENDING}"


def _file_of(path: Path) -> Path:
    """Return the file that is graded."""
    try:
        mode = path.lstat().st_mode
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"there is no submission {path}: {reason}") from None
    if stat.S_ISDIR(mode):
        found = sorted(file for file in path.iterdir() if file.suffix.lower() == KERNEL_ENDING)
        if len(found) != 1:
            names = ", ".join(file.name for file in found[:5])
            raise RefusedSubmission(
                f"{len(found)} files end in {KERNEL_ENDING} ({names}), and one is graded: hand in one"
                if found
                else f"no file ends in {KERNEL_ENDING}: hand in one"
            )
        path, mode = found[0], found[0].lstat().st_mode
    if path.suffix.lower() != KERNEL_ENDING:
        raise RefusedSubmission(f"{path.name} does not end in {KERNEL_ENDING}: a submission is a CUDA file")
    if not stat.S_ISREG(mode):
        what = "a link" if stat.S_ISLNK(mode) else "no regular file"
        raise RefusedSubmission(f"{path.name} is {what}: hand in the file itself")
    return path


def _text_of(path: Path, name: str) -> str:
    """Return the text of a file of the submission. Raises RefusedSubmission if it is no source text."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise RefusedSubmission(f"{name} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST_FILE_BYTES:
        raise RefusedSubmission(f"{name} is larger than {LARGEST_FILE_BYTES:,} bytes")
    if b"\0" in content:
        raise RefusedSubmission(f"{name} is not text: it contains NUL bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RefusedSubmission(
            f"{name}:{line}: the byte 0x{content[error.start]:02x} is not UTF-8 (is the file in Latin-1?): "
            "save the file as UTF-8"
        ) from None
    if not text.strip():
        raise RefusedSubmission(f"{name} is empty")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    longest = max(map(len, text.split("\n")))
    if longest > LONGEST_LINE:
        raise RefusedSubmission(f"{name} has a line of {longest:,} characters; the most is {LONGEST_LINE:,}")
    return text


def variant_of(submission: Submission, assignment: Assignment) -> Variant:
    """Return the kernel of a submission, with the values that its parameters have by default.

    A process of its own reads a long text first: a text can be made so that to read it takes hours.

    Raises:
        RefusedSubmission: there is no such kernel, it has another signature, or it cannot be read.
    """
    asked = AskedKernel(assignment.fields, assignment.formats, assignment.signature, assignment.element)
    if sum(file.stat().st_size for file in submission.folder.iterdir()) > SHORT_BYTES:
        _try_to_read(submission, asked, assignment.limits.compile_s)
    try:
        return asked.variant_in(submission.path)
    except RefusedSubmission as error:
        raise RefusedSubmission(submission.without_folder(str(error))) from None


def _try_to_read(submission: Submission, asked: AskedKernel, limit_s: float) -> None:
    """Raise RefusedSubmission if a process cannot read a submission in time."""
    arguments = [str(submission.path), json.dumps(dataclasses.asdict(asked))]
    try:
        completed = run_group(module_command("cudamm.grading.trial_reading", *arguments), timeout_s=limit_s)
    except subprocess.TimeoutExpired:
        raise RefusedSubmission(f"{submission.name} could not be read within {limit_s:g} s") from None
    if completed.returncode != 0:
        raise RefusedSubmission(f"{submission.name} could not be read: is it nested too deeply?")
    if completed.stdout:
        raise RefusedSubmission(submission.without_folder(completed.stdout))


@dataclass(frozen=True)
class AskedKernel:
    """The kernel that an assignment asks for; the attributes are those of `Assignment`."""

    fields: dict[str, str]
    formats: str
    signature: str
    element: str

    def variant_in(self, path: Path) -> Variant:
        """Return the kernel in a file. Raises RefusedSubmission if the file has no such kernel."""
        # A header cannot raise the rate that counts as possible.
        fields = {"ceiling": "1"} | self.fields
        try:
            found = Selection((), kernels=(path,), kernel_fields=fields).variants()
        except (UsageError, KernelError) as error:
            raise RefusedSubmission(str(error)) from None
        methods = list(dict.fromkeys(variant.method for variant in found))
        if len(methods) > 1:
            names = ", ".join(method.entry for method in methods)
            raise RefusedSubmission(
                f"the file launches several kernels that multiply matrices ({names}): hand in one"
            )
        method = found[0].method
        if any(ARRAY_FILE in argument for argument in method.arguments):
            raise RefusedSubmission(
                f"{path.name} takes an array from a file: its args may not contain file(…)"
            )
        if not method.is_kernel:
            raise RefusedSubmission(f"{path.name} contains no __global__ function")
        # A submission does not choose what it has to compute: padded matrices need no bounds check.
        method = dataclasses.replace(
            method,
            requires=parse_conditions(self.fields.get("requires", "")),
            column_major=method.column_major if "layout" in self.fields else (),
            adds_to_zeros=method.adds_to_zeros and "initial-c" in self.fields,
        )
        variant = dataclasses.replace(found[0], method=method)
        if self.formats:
            try:
                formats = parameter_formats(method.code, method.entry, ELEMENT_TYPES["float32"])
            except UsageError as error:
                raise RefusedSubmission(str(error)) from None
            if each_format(formats) != each_format(self.formats) or self._is_for_another_type(method):
                raise RefusedSubmission(
                    f"{method.entry} has other parameters than the assignment's {self.signature}"
                )
        self._check_defined(path.name, variant)
        return variant

    def _is_for_another_type(self, method: Method) -> bool:
        """Return whether the matrices of a kernel have another type than those of the signature."""
        return bool(self.element) and self.element not in method.element_types

    def _check_defined(self, name: str, variant: Variant) -> None:
        """Raise RefusedSubmission if the prescribed launch uses a name that is not defined."""
        method = variant.method
        expressions = {
            "args": _numbers_among(method.arguments),
            "threads": method.threads,
            "grid": method.grid,
            "shared-bytes": (method.shared_bytes,),
            "requires": method.requires,
        }
        known = variant.names(ELEMENT_TYPES["float32"], 64, 64, 64)
        for field, used in expressions.items():
            lacking = sorted(word for expression in used for word in expression.names.difference(known))
            if field in self.fields and lacking:
                raise RefusedSubmission(
                    f"{name} does not define {lacking[0]} as a whole number, and the assignment uses it "
                    f"({field} = {self.fields[field]}): add a line such as #define {lacking[0]} 16"
                )


def _numbers_among(arguments: Sequence[str]) -> Iterator[Expression]:
    """Yield the arguments that are arithmetic over names."""
    for argument in arguments:
        if argument not in ("A", "B", "C") and argument.lower() not in UNSCALED.names:
            with contextlib.suppress(UsageError):  # a struct, a tensor map or a number such as 1.0
                yield parse(argument)
