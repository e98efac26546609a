"""Find the source lines whose memory accesses nvcc merges or unrolls, by reading the machine code.

A kernel accesses one element at a time. If ptxas can prove that several elements that a thread reads or
writes are adjacent and aligned, ptxas merges them into one access of 8 bytes (LDS.64, STS.64) or of 16
(LDS.128, STS.128). ptxas also unrolls loops of stores whose length it cannot know. Source: NVIDIA's “CUDA
Binary Utilities”, the output of `nvdisasm -gi` and the instruction set reference.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.listing import disassembled
from cudamm.compile.program import Program

_LINE = re.compile(r'//## File "(?P<file>[^"]*)", line (?P<line>\d+)')
_MERGED = re.compile(r"\b(?P<op>LDS|STS)(?:\.\w+)*\.(?P<bits>64|128)\b")
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
        pair_loads, pair_stores: the same for 8 bytes.
        unrolled_stores: lines that write global memory in a loop that ptxas unrolls.
    """

    wide_loads: frozenset[int]
    wide_stores: frozenset[int]
    unrolled_stores: frozenset[int]
    pair_loads: frozenset[int] = frozenset()
    pair_stores: frozenset[int] = frozenset()


def merged_lines(program: Program, arch: str) -> Lines:
    """Return the lines whose machine code accesses memory otherwise than the source does.

    Raises:
        KernelError: the program does not compile.
        NoDeviceError: there is no nvcc or no nvdisasm, or one of them does not support the architecture.
    """
    _, text = disassembled(program, arch, "-gi")
    return _merged_lines(text, program.method.path.name)


def _merged_lines(text: str, name: str) -> Lines:
    found: dict[tuple[str, str], set[int]] = {}
    stores: Counter[int] = Counter()
    line, follows_place = 0, False
    for row in text.splitlines():
        place = _LINE.search(row)
        if place:
            # An inlined function comes first, such as a conversion in NVIDIA's header, then its caller.
            own = int(place["line"]) if Path(place["file"]).name == name else 0
            line = (line if follows_place else 0) or own
        elif line and (merged := _MERGED.search(row)):
            found.setdefault((merged["op"], merged["bits"]), set()).add(line)
        elif line and _GLOBAL_STORE.search(row):
            stores[line] += 1
        follows_place = bool(place)

    def lines(op: str, bits: str) -> frozenset[int]:
        return frozenset(found.get((op, bits), ()))

    return Lines(
        wide_loads=lines("LDS", "128"),
        wide_stores=lines("STS", "128"),
        unrolled_stores=frozenset(line for line, count in stores.items() if count == UNROLLED_STORES),
        pair_loads=lines("LDS", "64"),
        pair_stores=lines("STS", "64"),
    )
