"""Which reads of shared memory nvcc merges into wide ones, line by line, found in the machine code.

A kernel says one element at a time; where ptxas can prove that four consecutive reads of a thread lie side by
side and aligned, it makes one 16-byte read of them (LDS.128). Source: NVIDIA's “CUDA Binary Utilities”, what
nvdisasm prints with -g, and its instruction set reference.
"""

from __future__ import annotations

import re
from pathlib import Path

from cudamm.compile.cache import cached, contents, finished, run_compiler, temporary_folder
from cudamm.compile.cuda import check_architecture, nvcc, nvcc_command
from cudamm.compile.listing import nvdisasm
from cudamm.compile.program import Program
from cudamm.errors import KernelError, NoDeviceError

_LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_WIDE = re.compile(r"\bLDS(?:\.\w+)*\.128\b")


def wide_lines(program: Program, arch: str) -> frozenset[int]:
    """The lines of a program's own file that read shared memory 16 bytes at a time.

    Raises:
        KernelError: it does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or either does not know the architecture.
    """
    if program.include_folder:  # what it includes is not part of the cache's key
        raise KernelError("what it includes is not looked at")
    disassembler = nvdisasm()
    check_architecture(arch)
    command = [*nvcc_command(program, arch), "-lineinfo", "-cubin"]

    def make(target: Path) -> None:
        with temporary_folder() as folder:
            source, image = folder / "kernel.cu", folder / "kernel.cubin"
            source.write_text(program.text, encoding="utf-8", errors="surrogateescape")
            run_compiler([*command, "-o", str(image), str(source)])
            done = finished([str(disassembler), "-g", "-c", str(image)])
        if done.returncode != 0:
            said = " ".join(done.stderr.split())[:200] or f"status {done.returncode}"
            raise NoDeviceError(f"{disassembler} cannot read code for {arch} ({said})")
        target.write_text(done.stdout, encoding="utf-8", errors="surrogateescape")

    path = cached([program.text, nvcc().version, *command, str(disassembler)], ".lines", make)
    return _wide_lines(contents(path).decode(errors="replace"), program.method.path.name)


def _wide_lines(text: str, name: str) -> frozenset[int]:
    found: set[int] = set()
    line = 0
    for row in text.splitlines():
        place = _LINE.search(row)
        if place:
            line = int(place["line"]) if Path(place["file"]).name == name else 0
        elif line and _WIDE.search(row):
            found.add(line)
    return frozenset(found)
