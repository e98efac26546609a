"""What is wrong with a kernel, in words: from what the CPU device observed to findings with their cure.

Knows records and source text, and runs nothing; `check` does.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.compile.program import Program
from cudamm.devices.observation import BANKS, SECTOR_BYTES, Access, Fault, Observation, Op, Space
from cudamm.errors import UsageError
from cudamm.execution.case import Verdict
from cudamm.kernels.expression import parse
from cudamm.kernels.header import without_comments
from cudamm.kernels.launch import Launch

Kind = Literal[
    "race",
    "out-of-bounds",
    "uninitialised",
    "divergent-barrier",
    "misaligned",
    "wrong-result",
    "shared-memory-limit",
    "crash",
    "bank-conflict",
    "uncoalesced",
    "partial-warp",
]
Severity = Literal["error", "advice"]

ADVICE: frozenset[Kind] = frozenset(("bank-conflict", "uncoalesced", "partial-warp"))
"""What costs time, and no correctness."""

MOST_SECTORS = 2.0
"""Times the sectors that hold what a request uses, from which it is called uncoalesced. Rows that begin amid
a sector take 5 where 4 would do, and that no kernel can help."""

LEAST_CONFLICT = 1.5
"""Times the wavefronts that would do, from which it is called a bank conflict."""

WARP_THREADS = 32

MOST_LINES_APART = 10
"""From an access out of bounds to a comparison that may have let it through."""


@dataclass(frozen=True)
class ThreadAt:
    """A thread that a finding is about, and what it did where.

    Attributes:
        line: of the kernel's file.
        op: what it did to memory; empty where it did nothing.
    """

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    op: Op | Literal[""] = ""

    def __str__(self) -> str:
        return f"block {_index(self.block)} thread {_index(self.thread)}"


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong, or could be faster.

    Attributes:
        line: of the kernel's file; 0 where it belongs to none.
        text: that line.
        message: what is wrong, in a sentence.
        cure: what to do about it; may be empty.
        array: A, B or C, or the name of a shared variable; empty where it is about none.
        element: of that array, as in `As[3][4]`; empty where it is about none.
        other_line: where the other thread of a race was.
        count: how often it was seen, over all sizes.
        sizes: at which it was seen, as M x N x K; the message is about the first.
    """

    kind: Kind
    message: str
    cure: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    array: str = ""
    element: str = ""
    threads: tuple[ThreadAt, ...] = ()
    other_line: int = 0
    count: int = 1
    sizes: tuple[str, ...] = ()

    @property
    def severity(self) -> Severity:
        """`advice` for what costs time only."""
        return "advice" if self.kind in ADVICE else "error"

    @property
    def _same(self) -> tuple[object, ...]:
        """What two findings of the same mistake, at two sizes, have in common."""
        return self.kind, self.array, *sorted((self.line, self.other_line))


def merged(findings: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Each mistake once, errors first, in the order in which they were found."""
    found: dict[tuple[object, ...], Mistake] = {}
    for finding in findings:
        known = found.get(finding._same)
        if known is None:
            found[finding._same] = finding
        else:
            sizes = tuple(dict.fromkeys(known.sizes + finding.sizes))
            found[finding._same] = dataclasses.replace(known, count=known.count + finding.count, sizes=sizes)
    return tuple(sorted(found.values(), key=lambda finding: finding.severity == "advice"))


def errors_of(
    observation: Observation, verdict: Verdict | None, program: Program, launch: Launch, size: str
) -> list[Mistake]:
    """What makes a launch wrong.

    Args:
        verdict: on the same launch, made without being watched; None where there is none.
        size: M x N x K as asked for, before padding.
    """
    about = _About(observation, program, launch, size)
    found = [about.fault(fault) for fault in observation.faults if not about.follows_from_a_race(fault)]
    kinds = {finding.kind for finding in found}
    if observation.ended and not any(f.kind in ("divergent-barrier", "crash") for f in observation.faults):
        found.append(about.crash(observation.ended))
    ended = bool(observation.ended)
    if verdict is not None and verdict.correct is False:
        damage = verdict.reason.startswith(("wrote past the end", "wrote before the start"))
        # A launch that did not come to its end has no result, and a write beside a matrix is said already.
        if not (ended or (damage and "out-of-bounds" in kinds)):
            wrong = about.wrong_result(verdict.reason)
            # The races say better what to do.
            found.append(dataclasses.replace(wrong, cure="") if "race" in kinds else wrong)
    return found


def advice_of(observation: Observation, program: Program, launch: Launch, size: str) -> list[Mistake]:
    """What makes a launch slower than it need be, as far as it can be seen from its accesses."""
    about = _About(observation, program, launch, size)
    found = [about.partial_warp()]
    for access in observation.accesses:
        found.append(about.uncoalesced(access) if access.space == "global" else about.conflict(access))
    return [finding for finding in found if finding is not None]


def too_much_shared(program: Program, bytes_needed: int, limit_bytes: int, what: str, size: str) -> Mistake:
    """Of a kernel that wants more shared memory than a block can have.

    Args:
        what: which limit that is, for people.
    """
    line = line_of(program, r"__shared__")
    return Mistake(
        "shared-memory-limit",
        f"a block needs {bytes_needed:,} bytes of shared memory, and {what} is {limit_bytes:,}",
        "smaller tiles would do; more than 48 KB has to be dynamic (extern __shared__, its size given at "
        "launch), and the host has to opt in with cudaFuncAttributeMaxDynamicSharedMemorySize",
        program.method.path.name,
        line,
        line_text(program, line),
        sizes=(size,),
    )


def line_of(program: Program, pattern: str) -> int:
    """The first line of code that a pattern is found in; 0 where there is none."""
    match = re.search(pattern, without_comments(program.method.source))
    return program.method.source.count("\n", 0, match.start()) + 1 if match else 0


def line_text(program: Program, line: int) -> str:
    """A line of the kernel's file, without the space around it."""
    lines = program.method.source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


@dataclass(frozen=True)
class _Shape:
    """What an array is made of: extents, outermost first, and the bytes of an element."""

    extents: tuple[int, ...]
    element_bytes: int

    @property
    def elements(self) -> int:
        return math.prod(self.extents)

    def __str__(self) -> str:
        return " x ".join(f"{extent:,}" for extent in self.extents)

    def index(self, offset_bytes: int) -> str:
        """`[3][4]`; the first extent may be passed, but not undershot."""
        rest = offset_bytes // self.element_bytes
        found: list[int] = []
        for extent in self.extents[:0:-1]:
            found.append(rest % extent)
            rest //= extent
        return "".join(f"[{i}]" for i in (rest, *found[::-1]))


class _About:
    """A launch that was watched, and the words for what was seen."""

    def __init__(self, observation: Observation, program: Program, launch: Launch, size: str) -> None:
        self._observation = observation
        self._program = program
        self._launch = launch
        self._size = size
        self._code = without_comments(program.method.source)
        self._shapes = _shapes(observation, program, launch)
        self._deep = launch.block[2] > 1 or launch.grid[2] > 1

    def finding(self, kind: Kind, message: str, cure: str = "", line: int = 0, **more: Any) -> Mistake:
        text = line_text(self._program, line)
        name = self._program.method.path.name
        return Mistake(kind, message, cure, name, line, text, sizes=(self._size,), **more)

    # Faults.

    def follows_from_a_race(self, fault: Fault) -> bool:
        """Whether it is a read of memory that another thread writes too late, which is found as a race."""
        return fault.kind == "uninitialised" and any(
            race.kind == "race"
            and race.array == fault.array
            and race.space == fault.space
            and fault.line in (race.line, race.other_line)
            and "load" in (race.op, race.other_op)
            for race in self._observation.faults
        )

    def fault(self, fault: Fault) -> Mistake:
        thread = ThreadAt(fault.block, fault.thread, fault.line, _op(fault))
        named = {"count": fault.count, "array": fault.array, "threads": (thread,)}
        element = "" if fault.kind in ("divergent-barrier", "crash") else self._element(fault)
        if fault.kind == "race":
            return self._race(fault, element)
        if fault.kind == "divergent-barrier":
            return self._divergent(fault)
        if fault.kind == "crash":
            return self.crash(fault.message or self._observation.ended or "the kernel crashed", fault.line)
        named["element"] = element
        who = f"thread {self._thread(fault.thread)} of block {self._thread(fault.block)}"
        what = f"{who} {_VERBS[fault.op]} {element}"
        if fault.kind == "out-of-bounds":
            message = f"{what}{self._beyond(fault)}"
            return self.finding(fault.kind, message, self._bounds_cure(fault), fault.line, **named)
        if fault.kind == "misaligned":
            message = (
                f"{what}, {fault.size_bytes} bytes at once, but its offset of {fault.offset_bytes:,} bytes "
                f"is no multiple of {fault.size_bytes}; a GPU ends the kernel with “misaligned address”"
            )
            cure = (
                "start each vector access at a multiple of its size: where the row length or the offset is "
                "no multiple of the vector's, have the matrices padded (requires: N % 4 == 0) or access the "
                "elements one by one"
            )
            return self.finding(fault.kind, message, cure, fault.line, **named)
        return self.finding(
            fault.kind,
            f"{what}, which nothing has been written to",
            _unwritten_cure(fault),
            fault.line,
            **named,
        )

    def crash(self, message: str, line: int = 0) -> Mistake:
        """Of a launch that ended before its time, as the device says."""
        at = re.search(r"in thread \(([\d,]+)\) of block \(([\d,]+)\)", message)
        threads = (ThreadAt(_extents(at[2]), _extents(at[1]), line),) if at else ()
        far = re.search(r"it reached (\d+) bytes (past the end|before the start) of ([ABC])\b", message)
        if far and threads:
            shape = self._shapes[far[3]]
            past = far[2] == "past the end"
            offset = shape.elements * shape.element_bytes + int(far[1]) if past else -int(far[1])
            fault = Fault(
                "out-of-bounds", line, "load", "global", threads[0].block, threads[0].thread, far[3], offset
            )
            who = f"thread {self._thread(fault.thread)} of block {self._thread(fault.block)}"
            return self.finding(
                "out-of-bounds",
                f"{who} reaches {self._element(fault)}{self._beyond(fault)}, which ended the kernel",
                self._bounds_cure(fault),
                line,
                array=far[3],
                element=self._element(fault),
                threads=threads,
            )
        cure = "look for an index far beyond its array, or a pointer that was never set"
        return self.finding(
            "crash", message, cure if "bad memory access" in message else "", line, threads=threads
        )

    def _race(self, fault: Fault, element: str) -> Mistake:
        here = ThreadAt(fault.block, fault.thread, fault.line, fault.op)
        there = ThreadAt(fault.other_block, fault.other_thread, fault.other_line, fault.other_op)
        # The one that reads is said last, and of two that write the one further up first.
        first, second = sorted((there, here), key=lambda at: (at.op == "load", at.line))
        apart = first.block != second.block
        other = self._who(second, of_block=apart)
        if first.op == second.op and first.line == second.line:
            pair = f"{self._who(first)} and {other}" if apart else self._pair(first, second)
            message = f"{pair} both {_VERBS[first.op].removesuffix('s')} {element} in line {first.line}"
        else:
            message = (
                f"{self._who(first)} {_VERBS[first.op]} {element} in line {first.line} and {other} "
                f"{_VERBS[second.op]} it in line {second.line}"
            )
        message += ", and nothing orders different blocks" if apart else ", with no barrier between them"
        cause, cure = self._order(first, second, fault.space)
        if apart:
            cause, cure = "", _ONE_OWNER
        message += f": {cause}" if cause else ""
        line, other_line = (second.line, first.line) if second.op == "load" else (first.line, second.line)
        return self.finding(
            "race", message, cure, line, other_line=other_line, array=fault.array, element=element,
            threads=(first, second), count=fault.count,
        )  # fmt: skip

    def _order(self, writer: ThreadAt, other: ThreadAt, space: Space) -> tuple[str, str]:
        """Which barrier is missing, and where it should be."""
        low, high = sorted((writer.line, other.line))
        barriers = self._barriers()
        between = any(low < line < high for line in barriers)
        where = "the array" if space == "global" else "the tile"
        if other.op != "load":
            if space == "global":
                return "", _ONE_OWNER
            return "", "let one thread write each element, or put __syncthreads() between the two writes"
        if writer.line == other.line:
            if space == "global":
                return "", _ONE_OWNER
            return (
                "in one statement each thread reads what another writes",
                "read into a variable first, then __syncthreads(), then write, then __syncthreads() again",
            )
        if writer.line < other.line and not between:
            # The usual places: what a loop writes again must also have been read by all.
            loops = re.search(r"\b(?:for|while)\b", self._code) and not barriers
            also = f", and, in a loop, another behind line {other.line}" if loops else ""
            return (
                "the barrier after writing is missing, and it may be read before it is written",
                f"put __syncthreads() between line {writer.line}, which writes {where}, and line "
                f"{other.line}, which reads it{also}",
            )
        if writer.line < other.line:
            return (
                "the barrier after reading is missing, and a thread that is ahead writes the next step's "
                "element before others have read this step's",
                f"put __syncthreads() behind line {other.line}, within the loop, before line {writer.line} "
                "writes again",
            )
        if not between:
            return (
                "it is written before all threads have read what was there",
                f"put __syncthreads() between line {other.line}, which reads, and line {writer.line}, which "
                "writes",
            )
        return (
            "what one step writes is read by the next before all threads are there",
            f"put __syncthreads() behind line {writer.line}, before line {other.line} reads again",
        )

    def _divergent(self, fault: Fault) -> Mistake:
        message = fault.message or self._observation.ended or "not all threads of a block reach a barrier"
        threads = _threads_in(message) or (ThreadAt(fault.block, fault.thread, fault.line),)
        lines = sorted({at.line for at in threads if at.line})
        if "left the kernel" in message:
            cure = (
                "do not let threads return or continue past a barrier: threads beyond the edge stay in the "
                "loop, put 0 where there is nothing to load, and leave out only the final store"
            )
        else:
            cure = "move the barrier behind the if and its else, so that all threads meet at one line"
        return self.finding(
            "divergent-barrier", message, cure, fault.line or lines[0] if lines else fault.line,
            threads=threads, other_line=lines[-1] if len(lines) > 1 else 0, count=fault.count,
        )  # fmt: skip

    def _bounds_cure(self, fault: Fault) -> str:
        # i <= n where i is one name; i + 4 <= n is right where four elements are read at once.
        pattern = r"(?:^|[;(&|])\s*\w+\s*<=\s*[A-Za-z_]\w*\s*(?:[;)&|?]|$)"
        loose = [
            number
            for number, line in enumerate(self._code.splitlines(), 1)
            if re.search(pattern, line) and abs(number - fault.line) <= MOST_LINES_APART
        ]
        if loose:
            near = min(loose, key=lambda number: abs(number - fault.line))
            return f"line {near} compares with <=: the last valid index is one less than the size, so write <"
        if fault.space == "shared":
            if self._counts_bytes():
                return (
                    "offsets into an array are counted in its elements, sizes of shared memory in bytes: "
                    "divide the offset by sizeof(element), or give the array the size that its last index "
                    "needs"
                )
            return "make the array large enough for the largest index, or keep the index below its extent"
        return (
            f"let only threads do this whose row and column lie within {fault.array or 'the matrix'}, or "
            "have the matrices padded (requires: M % BLOCK_SIZE == 0 in the header)"
        )

    def _counts_bytes(self) -> bool:
        """Whether a size in bytes may have become an offset: dynamic shared memory, and a size in a name."""
        return bool(re.search(r"\bextern\s+__shared__", self._code)) and bool(
            re.search(r"sizeof|[Bb]ytes|_sz\b|[Ss]ize\b", self._code)
        )

    def wrong_result(self, reason: str) -> Mistake:
        """What verification says, at the line that stores to C; or, where one is known, that of the cause."""
        stores = {a.line for a in self._observation.accesses if a.array == "C" and a.op == "store"}
        line = stores.pop() if len(stores) == 1 else 0
        unused = self._loop_without_its_variable()
        if "should use every k once" in reason and unused is not None:
            line, variable = unused
            return self.finding(
                "wrong-result",
                f"{reason}; the loop's variable {variable} does not occur in line {line}, so each step reads "
                "the same elements",
                f"index the tiles with {variable}, as in As[ty][{variable}] * Bs[{variable}][tx]",
                line,
                array="C",
            )
        cure = ""
        if "order in which threads run" in reason:
            cure = "put a __syncthreads() between what one thread writes and another reads"
        elif "never written" in reason:
            cure = "let the grid and the bounds check cover all of C"
        elif "should use every k once" in reason:
            cure = (
                "look at the indices into A and B, or into their tiles, and at the bounds of the loop over k"
            )
        return self.finding("wrong-result", reason, cure, line, array="C")

    def _loop_without_its_variable(self) -> tuple[int, str] | None:
        """The line of a load from shared memory that does not mention the variable of the loop around it."""
        lines = self._code.splitlines()
        for access in self._observation.accesses:
            if access.space != "shared" or access.op != "load" or not 0 < access.line <= len(lines):
                continue
            for number in range(access.line, max(access.line - 3, 0), -1):
                loop = re.search(
                    r"\bfor\s*\(\s*(?:\w+\s+)*(\w+)\s*=[^;]*;[^;]*;[^)]*\)(.*)", lines[number - 1]
                )
                if loop:
                    body = loop[2] if number == access.line else lines[access.line - 1]
                    if not re.search(rf"\b{loop[1]}\b", body):
                        return access.line, loop[1]
                    break
        return None

    # Advice.

    def partial_warp(self) -> Mistake | None:
        threads = self._launch.threads_per_block
        idle = -threads % WARP_THREADS
        if not idle:
            return None
        block = " x ".join(map(str, self._launch.block[: 3 if self._deep else 2]))
        match = re.search(r"^//\s+threads:", self._program.method.source, re.MULTILINE)
        line = self._program.method.source.count("\n", 0, match.start()) + 1 if match else 0
        return self.finding(
            "partial-warp",
            f"a block of {block} has {threads} thread{'s' * (threads > 1)}, no multiple of 32: {idle} of the "
            "32 lanes of its last warp do nothing",
            f"take a multiple of 32 threads a block, such as {threads + idle}",
            line,
        )

    def uncoalesced(self, access: Access) -> Mistake | None:
        # A full warp needs so many; where its threads share elements fewer would do, and need no cure.
        least = max(access.ideal_sectors, access.bytes_requested / SECTOR_BYTES)
        if access.sectors < MOST_SECTORS * least or not access.requests:
            return None
        touched, enough = access.sectors / access.requests, least / access.requests
        message = (
            f"a warp {_DONE[access.op]} {access.array or 'global memory'} in {_number(touched)} sectors of "
            f"{SECTOR_BYTES} bytes where {_number(max(1, enough))} would do"
        )
        stride = self._stride(access)
        shape = self._shapes.get(access.array)
        row_bytes = shape.extents[-1] * shape.element_bytes if shape else 0
        if stride and stride > access.size_bytes:
            message += f": neighbouring threads are {stride:,} bytes apart"
        narrow = self._launch.block[0] * access.size_bytes < SECTOR_BYTES
        if stride == access.size_bytes and narrow:
            message += f": a row of the block is only {self._launch.block[0]} threads wide"
            cure = f"make the block wider: {SECTOR_BYTES // access.size_bytes} threads in x fill a sector"
        elif stride == 0:
            message += ": neighbouring threads share an element, and those of other rows are a row apart"
            cure = (
                "make the block wider and lower, so that a warp has fewer rows, or go through shared memory"
            )
        elif stride and access.size_bytes < stride < row_bytes:
            cure = (
                "let neighbouring threads own neighbouring columns, and each thread those blockDim.x apart, "
                "or go through shared memory"
            )
        else:
            cure = (
                "let threadIdx.x run along the row, so that neighbouring threads access neighbouring "
                "elements: swap x and y where row and column are computed, or go through shared memory"
            )
        return self.finding(
            "uncoalesced", message, cure, access.line, array=access.array, count=access.requests
        )

    def conflict(self, access: Access) -> Mistake | None:
        if access.wavefronts < LEAST_CONFLICT * max(access.ideal_wavefronts, 1):
            return None
        ways = access.wavefronts / access.ideal_wavefronts
        message = (
            f"a warp {_DONE[access.op]} {access.array or 'shared memory'} in {_number(ways)} times as many "
            f"passes through the {BANKS} banks as are needed: a {_number(ways)}-way bank conflict"
        )
        wide = access.wide_wavefronts / access.wide_ideal_wavefronts if access.wide_ideal_wavefronts else ways
        if round(wide, 1) != round(ways, 1):
            message += f" ({_number(wide)}-way where the compiler merges four loads into one)"
        padded = "one element longer"
        shape = self._shapes.get(access.array)
        if shape and len(shape.extents) == 2:
            rows, columns = shape.extents
            padded = f"one element longer, {access.array}[{rows}][{columns + 1}]"
        cure = f"make the rows of the tile {padded}; or store it transposed; or swap x and y in the index"
        return self.finding(
            "bank-conflict", message, cure, access.line, array=access.array, count=access.requests
        )

    def _stride(self, access: Access) -> int | None:
        """Bytes between the first two lanes of the access, in the first request that has them."""
        for request in self._observation.requests:
            if request.site == access.site and 0 in request.offsets and 1 in request.offsets:
                return abs(request.offsets[1] - request.offsets[0])
        return None

    # Words.

    def _thread(self, index: tuple[int, int, int]) -> str:
        return f"({','.join(map(str, index if self._deep else index[:2]))})"

    def _who(self, at: ThreadAt, of_block: bool = True) -> str:
        block = f" of block {self._thread(at.block)}" if of_block else ""
        return f"thread {self._thread(at.thread)}{block}"

    def _pair(self, one: ThreadAt, other: ThreadAt) -> str:
        threads = f"{self._thread(one.thread)} and {self._thread(other.thread)}"
        return f"threads {threads} of block {self._thread(one.block)}"

    def _element(self, fault: Fault) -> str:
        """`As[3][4]`, `A[1][4] to A[1][7]`, or the offset where the array's shape is not known."""
        shape = self._shapes.get(fault.array)
        if not fault.array:
            return f"{fault.space} memory outside of every array"
        if shape is None:
            return f"byte {fault.offset_bytes:,} of {fault.array}"
        if fault.offset_bytes < 0:
            return f"{fault.array}[{fault.offset_bytes // shape.element_bytes}]"
        name = f"{fault.array}{shape.index(fault.offset_bytes)}"
        if fault.size_bytes > shape.element_bytes:
            last = fault.offset_bytes + fault.size_bytes - shape.element_bytes
            name += f" to {fault.array}{shape.index(last)}"
        return name

    def _beyond(self, fault: Fault) -> str:
        """How far outside of its array an access is."""
        shape = self._shapes.get(fault.array)
        if shape is None:
            size = next((s.size_bytes for s in self._observation.shared if s.name == fault.array), 0)
            return f", outside of its {size:,} bytes" if size else ", outside of it"
        have = f"{fault.array} has {shape}"
        if fault.offset_bytes < 0:
            before = -(fault.offset_bytes // shape.element_bytes)
            return f", {before:,} element{'s' * (before > 1)} before its start ({have} elements)"
        last = (fault.offset_bytes + fault.size_bytes - 1) // shape.element_bytes
        return f", element {last:,} counted from 0, past its end ({have} elements)"

    def _barriers(self) -> list[int]:
        return [
            number
            for number, line in enumerate(self._code.splitlines(), 1)
            if re.search(r"\b__syncthreads(?:_\w+)?\s*\(|\.sync\s*\(|\bbarrier\b", line)
        ]


def _threads_in(message: str) -> tuple[ThreadAt, ...]:
    """The threads that the device's own message about a barrier names, and the lines where they wait.

    Such as: block (4,0): thread (6,0) left the kernel while thread (0,0) waits at the barrier in line 28 of …
    """
    block = re.search(r"block \(([\d,]+)\)", message)
    found = re.findall(r"thread \(([\d,]+)\)(?:(?! thread ).)*?(?= thread |$|;)", message)
    if block is None:
        return ()
    threads = []
    for index in found:
        after = message.partition(f"thread ({index})")[2].partition(" thread ")[0]
        line = re.search(r"in line (\d+)", after)
        threads.append(ThreadAt(_extents(block[1]), _extents(index), int(line[1]) if line else 0))
    return tuple(threads)


def _extents(text: str) -> tuple[int, int, int]:
    x, y, z = (*map(int, text.split(",")), 0, 0)[:3]
    return x, y, z


_VERBS: Mapping[str, str] = {"load": "reads", "store": "writes", "atomic": "updates"}

_DONE: Mapping[str, str] = {"load": "loads", "store": "stores", "atomic": "updates"}

_ONE_OWNER = "let one thread own each element, or add to it with atomicAdd()"


def _op(fault: Fault) -> Op | Literal[""]:
    return "" if fault.kind in ("divergent-barrier", "crash") else fault.op


_UNSET = (
    "C holds anything before the launch: set each element to 0 before the first sum is added to it, or add "
    "in a variable and store that once"
)


def _unwritten_cure(fault: Fault) -> str:
    if fault.space == "global":
        return _UNSET
    return (
        "write every element that is read before the barrier, zeros where there is nothing to load, and look "
        "whether the index is the one that was written"
    )


def _shapes(observation: Observation, program: Program, launch: Launch) -> dict[str, _Shape]:
    """The shapes of A, B, C and of the shared arrays whose declarations can be read."""
    of, size = launch.shape, program.element.size_bytes
    shapes = {
        "A": _Shape((of.m, of.k), size),
        "B": _Shape((of.k, of.n), size),
        "C": _Shape((of.m, of.n), size),
    }
    for array in observation.shared:
        extents = declared_extents(program.text, array.name)
        count = math.prod(extents)
        if extents and count > 0 and array.size_bytes % count == 0:
            shapes[array.name] = _Shape(extents, array.size_bytes // count)
        elif not extents and array.size_bytes % size == 0:
            shapes[array.name] = _Shape((array.size_bytes // size,), size)
    return shapes


def declared_extents(text: str, name: str) -> tuple[int, ...]:
    """The extents of a `__shared__` array as its declaration says; empty where that cannot be computed.

    Args:
        text: of a program, in which parameters are `#define`d.
    """
    code = without_comments(text)
    names: dict[str, int] = {}
    for define in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE):
        value = _whole(define[2], names)
        if value is not None:
            names[define[1]] = value
    for declaration in re.finditer(r"\b__shared__\b([^;{}]*)[;{}]", code):
        found = re.search(rf"\b{re.escape(name)}\s*((?:\[[^\]]+\]\s*)+)", declaration[1])
        if found:
            extents = [_whole(text, names) for text in re.findall(r"\[([^\]]+)\]", found[1])]
            return tuple(e for e in extents if e is not None) if None not in extents else ()
    return ()


def _whole(text: str, names: Mapping[str, int]) -> int | None:
    # C's / of whole numbers is our //; the rest is written alike.
    try:
        return parse(re.sub(r"/+", "//", text.strip())).whole(names)
    except UsageError:
        return None


def _index(index: Sequence[int]) -> str:
    return f"({','.join(map(str, index))})"


def _number(value: float) -> str:
    """One decimal where it is not whole."""
    return f"{value:,.1f}".removesuffix(".0")
