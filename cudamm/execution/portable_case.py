"""Cases that travel to a host with another file system: compiled files travel as their contents."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cached
from cudamm.compile.host_compiler import Executable
from cudamm.compile.identity import hash_of
from cudamm.devices.cpu_device import PythonFunction
from cudamm.devices.gpu_library import LibraryFunction
from cudamm.execution.case import Case

CompiledFile = Executable | PythonFunction | LibraryFunction
"""What was compiled into a file, or is a file of Python."""


@dataclass(frozen=True)
class FileContent:
    """A compiled file and its contents."""

    file: CompiledFile
    content: bytes


def to_send(case: Case) -> Case:
    """Return a case whose compiled program needs no file of this machine."""
    if not isinstance(case.compiled, CompiledFile):
        return case
    content = FileContent(case.compiled, case.compiled.path.read_bytes())
    return dataclasses.replace(case, compiled=content)


def received(case: Case) -> Case:
    """Return a case that `to_send` has made, with its file in the cache folder of this machine."""
    if not isinstance(case.compiled, FileContent):
        return case
    file, content = case.compiled.file, case.compiled.content

    def write(path: Path) -> None:
        path.write_bytes(content)

    path = cached(["received", hash_of([content.hex()], digits=32)], file.path.suffix, write)
    return dataclasses.replace(case, compiled=dataclasses.replace(file, path=path))
