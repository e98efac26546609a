"""Find the source lines whose memory accesses nvcc merges or unrolls, by reading the machine code.

A kernel accesses one element at a time. If ptxas can prove that four words that a thread reads or writes are
adjacent and aligned, ptxas merges them into one access of 16 bytes (LDS.128, STS.128). ptxas also unrolls
loops of stores whose length it cannot know. Source: NVIDIA's “CUDA Binary Utilities”, the output of
`nvdisasm -g` and the instruction set reference.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.listing import disassembled
from cudamm.compile.program import Program

_LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_WIDE_LOAD = re.compile(r"\bLDS(?:\.\w+)*\.128\b")
_WIDE_STORE = re.compile(r"\bSTS(?:\.\w+)*\.128\b")
_GLOBAL_STORE = re.compile(r"\bSTG\b")

UNROLLED_STORES = 3 + 16 + 8 + 4
"""Number of store instructions in the machine code of a loop around one store, as ptxas unrolls it.

3 are for the remainder of a division by 4; the others stand in bodies of 16, 8 and 4 iterations.
"""


@dataclass(frozen=True)
class Lines:
    """Line numbers in a program's own file.

    Attributes:
        wide_loads: lines that read shared memory 16 bytes at a time.
        wide_stores: lines that write shared memory 16 bytes at a time.
        unrolled_stores: lines that write global memory in a loop that ptxas unrolls.
    """

    wide_loads: frozenset[int]
    wide_stores: frozenset[int]
    unrolled_stores: frozenset[int]


def merged_lines(program: Program, arch: str) -> Lines:
    """Return the lines whose machine code accesses memory otherwise than the source does.

    Raises:
        KernelError: the program does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or one of them does not support the architecture.
    """
    _, text = disassembled(program, arch, "-g")
    return _merged_lines(text, program.method.path.name)


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
