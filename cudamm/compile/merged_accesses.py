"""What nvcc makes of a kernel's accesses to memory, line by line, found in the machine code.

A kernel says one element at a time; where ptxas can prove that four words that a thread reads or writes lie
side by side and aligned, it makes one access of 16 bytes of them (LDS.128, STS.128). It unrolls a loop of
stores whose length it does not know. Source: NVIDIA's “CUDA Binary Utilities”, what nvdisasm prints with -g,
and its instruction set reference.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cached, finished, run_compiler, temporary_folder
from cudamm.compile.listing import nvdisasm
from cudamm.compile.nvcc_compiler import check_architecture, nvcc, nvcc_command
from cudamm.compile.program import Program
from cudamm.errors import KernelError, NoDeviceError

_LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_WIDE_LOAD = re.compile(r"\bLDS(?:\.\w+)*\.128\b")
_WIDE_STORE = re.compile(r"\bSTS(?:\.\w+)*\.128\b")
_GLOBAL_STORE = re.compile(r"\bSTG\b")

UNROLLED_STORES = 3 + 16 + 8 + 4
"""Of a loop around one store, as ptxas unrolls it: first what four does not divide, then in such turns."""


@dataclass(frozen=True)
class Lines:
    """Lines of a program's own file.

    Attributes:
        wide_loads: that read shared memory 16 bytes at a time.
        wide_stores: that write it so.
        unrolled_stores: that write global memory in a loop of which every turn stands in the machine code.
    """

    wide_loads: frozenset[int]
    wide_stores: frozenset[int]
    unrolled_stores: frozenset[int]


def merged_lines(program: Program, arch: str) -> Lines:
    """The lines of a program's own file that do not access memory as they say.

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
    return _merged_lines(path.read_bytes().decode(errors="replace"), program.method.path.name)


def _merged_lines(text: str, name: str) -> Lines:
    wide_loads: set[int] = set()
    wide_stores: set[int] = set()
    stores: Counter[int] = Counter()
    line = 0
    for row in text.splitlines():
        place = _LINE.search(row)
        if place:
            line = int(place["line"]) if Path(place["file"]).name == name else 0
        elif line and _WIDE_LOAD.search(row):
            wide_loads.add(line)
        elif line and _WIDE_STORE.search(row):
            wide_stores.add(line)
        elif line and _GLOBAL_STORE.search(row):
            stores[line] += 1
    unrolled = (line for line, count in stores.items() if count == UNROLLED_STORES)
    return Lines(frozenset(wide_loads), frozenset(wide_stores), frozenset(unrolled))
