"""What is wrong with a kernel, in words: from what the CPU device observed to mistakes with their messages.

Each kind of mistake has a function, named as the kind is, with the text of its message and of its cure.
A cure is given only if it follows from what was observed. Nothing is executed here; `check` does that.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.analysis.array_elements import ArrayShape, array_shapes, element_name
from cudamm.compile.program import Program
from cudamm.devices.observation import BANKS, SECTOR_BYTES, Access, Fault, FaultKind, Observation, Op, Space
from cudamm.execution.case import Verdict
from cudamm.kernels.header import without_comments
from cudamm.kernels.launch_plan import Launch

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
"""Ratio of the sectors touched to those needed from which an access is called uncoalesced. A row that begins
amid a sector takes 5 sectors instead of 4, and no kernel can change that."""

LEAST_CONFLICT = 1.5
"""Ratio of the wavefronts to those needed from which an access is called a bank conflict."""

WARP_THREADS = 32


@dataclass(frozen=True)
class ThreadAt:
    """A thread that takes part in a mistake.

    Attributes:
        line: of the kernel's file.
        op: what it did to memory; empty if it did nothing.
    """

    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    line: int
    op: Op | Literal[""] = ""


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong, or could be faster.

    Attributes:
        line: of the kernel's file; 0 if it belongs to none.
        text: that line.
        message: what is wrong, in a sentence.
        cure: what to do about it; may be empty.
        array: A, B or C, or the name of a shared variable; empty if it is about none.
        element: of that array, as in `As[3][4]`; empty if it is about none.
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
        """What does not change when one mistake is seen at two sizes."""
        return self.kind, self.array, *sorted((self.line, self.other_line))


def merged(mistakes: Iterable[Mistake]) -> tuple[Mistake, ...]:
    """Return each mistake once, errors first, in the order in which they were found."""
    found: dict[tuple[object, ...], Mistake] = {}
    for mistake in mistakes:
        known = found.get(mistake._same)
        if known is None:
            found[mistake._same] = mistake
        else:
            sizes = tuple(dict.fromkeys(known.sizes + mistake.sizes))
            found[mistake._same] = dataclasses.replace(known, count=known.count + mistake.count, sizes=sizes)
    return tuple(sorted(found.values(), key=lambda mistake: mistake.severity == "advice"))


@dataclass(frozen=True)
class WatchedLaunch:
    """A launch whose accesses were observed.

    Attributes:
        size: M x N x K as asked for, before padding.
    """

    observation: Observation
    program: Program
    launch: Launch
    size: str

    @functools.cached_property
    def shapes(self) -> dict[str, ArrayShape]:
        """The shape of each array that has one."""
        return array_shapes(self.observation, self.program, self.launch)

    def mistake(self, kind: Kind, message: str, cure: str = "", line: int = 0, **more: Any) -> Mistake:
        """Return a mistake in a line of the kernel's file."""
        text, file = line_text(self.program, line), self.program.method.path.name
        return Mistake(kind, message, cure, file, line, text, sizes=(self.size,), **more)

    def in_use(self, of_axes: tuple[int, int, int]) -> tuple[int, ...]:
        """Return the values of x and y, and that of z if the launch has a z."""
        has_z = self.launch.block[2] > 1 or self.launch.grid[2] > 1
        return of_axes if has_z else of_axes[:2]

    def index(self, index: tuple[int, int, int]) -> str:
        """Return a thread's or block's index: (x,y), or (x,y,z) if the launch has a z."""
        return f"({','.join(map(str, self.in_use(index)))})"

    def thread(self, at: ThreadAt | Fault) -> str:
        """Return `thread (1,0) of block (0,2)`."""
        return f"thread {self.index(at.thread)} of block {self.index(at.block)}"

    def element(self, fault: Fault) -> str:
        """Return the element that a fault is about, such as `As[3][4]`."""
        return element_name(fault, self.shapes.get(fault.array))

    def access(self, fault: Fault) -> str:
        """Return `thread (1,0) of block (0,2) reads As[3][4]`."""
        return f"{self.thread(fault)} {_READS[fault.op]} {self.element(fault)}"


def errors_of(
    observation: Observation, verdict: Verdict | None, program: Program, launch: Launch, size: str
) -> list[Mistake]:
    """Return what makes a launch wrong.

    Args:
        verdict: on the same launch, made without being watched; None if there is none.
        size: M x N x K as asked for, before padding.
    """
    watched = WatchedLaunch(observation, program, launch, size)
    found = [
        _FAULTS[fault.kind](watched, fault) for fault in observation.faults if not _is_late(watched, fault)
    ]
    if observation.ended and not any(f.kind in ("divergent-barrier", "crash") for f in observation.faults):
        found.append(crash(watched, Fault("crash", message=observation.ended)))
    # A launch that did not come to its end has no result.
    if verdict is not None and verdict.correct is False and not observation.ended:
        beside = verdict.reason.startswith(("wrote past the end", "wrote before the start"))
        if not (beside and any(mistake.kind == "out-of-bounds" for mistake in found)):
            found.append(wrong_result(watched, verdict.reason))
    return found


def advice_of(observation: Observation, program: Program, launch: Launch, size: str) -> list[Mistake]:
    """Return what makes a launch slower than it need be, as far as it can be seen from its accesses."""
    watched = WatchedLaunch(observation, program, launch, size)
    found = [partial_warp(watched)]
    for access in observation.accesses:
        found.append((uncoalesced if access.space == "global" else bank_conflict)(watched, access))
    return [mistake for mistake in found if mistake is not None]


def _is_late(watched: WatchedLaunch, fault: Fault) -> bool:
    """Return whether a fault is a read of what another thread writes too late, which is told as a race."""
    return fault.kind == "uninitialised" and any(
        other.kind == "race"
        and (other.array, other.space) == (fault.array, fault.space)
        and fault.line in (other.line, other.other_line)
        and "load" in (other.op, other.other_op)
        for other in watched.observation.faults
    )


# Errors, a function for each kind.


def race(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe two threads that access an element, with nothing to order them and one of them writing."""
    here = ThreadAt(fault.block, fault.thread, fault.line, fault.op)
    there = ThreadAt(fault.other_block, fault.other_thread, fault.other_line, fault.other_op)
    # The thread that reads is named last, and of two that write the one further up first.
    first, second = sorted((there, here), key=lambda at: (at.op == "load", at.line))
    apart = first.block != second.block
    element = watched.element(fault)
    if first.op == second.op and first.line == second.line:
        pair = (
            f"{watched.thread(first)} and {watched.thread(second)}"
            if apart
            else f"threads {watched.index(first.thread)} and {watched.index(second.thread)} of block "
            f"{watched.index(first.block)}"
        )
        message = f"{pair} both {_READS[first.op].removesuffix('s')} {element} in line {first.line}"
    else:
        other = watched.thread(second) if apart else f"thread {watched.index(second.thread)}"
        message = (
            f"{watched.thread(first)} {_READS[first.op]} {element} in line {first.line} and {other} "
            f"{_READS[second.op]} it in line {second.line}"
        )
    if apart:
        message += ", and nothing orders different blocks"
        cure = _ONE_OWNER
    else:
        cause, cure = _missing_barrier(watched.program, first, second, fault.space)
        message += ", with no barrier between them" + (f": {cause}" if cause else "")
    line, other_line = (second.line, first.line) if second.op == "load" else (first.line, second.line)
    return watched.mistake(
        "race", message, cure, line, other_line=other_line, array=fault.array, element=element,
        threads=(first, second), count=fault.count,
    )  # fmt: skip


def _missing_barrier(program: Program, writer: ThreadAt, other: ThreadAt, space: Space) -> tuple[str, str]:
    """Return which barrier is missing in a block, and where to put it: by the order of the lines."""
    write, read = writer.line, other.line
    if space == "global" and (other.op != "load" or write == read):
        return "", _ONE_OWNER
    if other.op != "load":
        return "", "let one thread write each element, or put __syncthreads() between the two writes"
    if write == read:
        return (
            "in one statement each thread reads what another writes",
            "read into a variable first, then __syncthreads(), then write, then __syncthreads() again",
        )
    is_between = any(min(write, read) < line < max(write, read) for line in _barriers(program))
    if write < read and not is_between:
        return (
            "the barrier after writing is missing, and it may be read before it is written",
            f"put __syncthreads() between line {write}, which writes, and line {read}, which reads",
        )
    if write < read:
        return (
            "the barrier after reading is missing, and a thread that is ahead writes the next step's element "
            "before others have read this step's",
            f"put __syncthreads() behind line {read}, within the loop, before line {write} writes again",
        )
    if not is_between:
        return (
            "it is written before all threads have read what was there",
            f"put __syncthreads() between line {read}, which reads, and line {write}, which writes",
        )
    return (
        "what one step writes is read by the next before all threads are there",
        f"put __syncthreads() behind line {write}, before line {read} reads again",
    )


def out_of_bounds(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe an access beside its array, in global or shared memory."""
    return _beside(watched, fault, f"{watched.access(fault)}{_how_far(watched, fault)}")


def _beside(watched: WatchedLaunch, fault: Fault, message: str) -> Mistake:
    cure = (
        "let only threads do this whose row and column lie within the matrix, or have the matrices padded "
        "(requires: M % BLOCK_SIZE == 0 in the header)"
    )
    return _of_element(watched, fault, message, cure if fault.space == "global" else "")


def _how_far(watched: WatchedLaunch, fault: Fault) -> str:
    """Return how far beside its array an access is."""
    shape = watched.shapes.get(fault.array)
    if shape is None:
        size = next((s.size_bytes for s in watched.observation.shared if s.name == fault.array), 0)
        return f", outside of its {size:,} bytes" if size else ", outside of it"
    extents = f"{fault.array} has {shape} elements"
    if fault.offset_bytes < 0:
        before = -(fault.offset_bytes // shape.element_bytes)
        return f", {before:,} element{'s' * (before > 1)} before its start ({extents})"
    last = (fault.offset_bytes + fault.size_bytes - 1) // shape.element_bytes
    return f", element {last:,} counted from 0, past its end ({extents})"


def uninitialised(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a read of shared memory, or of C, that nothing has been written to."""
    cure = (
        "C holds anything before the launch: set each element to 0 before the first sum is added to it, or "
        "add in a variable and store that once"
    )
    message = f"{watched.access(fault)}, which nothing has been written to"
    return _of_element(watched, fault, message, cure if fault.space == "global" else "")


def misaligned(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a vector access at an address that is no multiple of its size."""
    message = (
        f"{watched.access(fault)}, {fault.size_bytes} bytes at once, but its offset of "
        f"{fault.offset_bytes:,} bytes is no multiple of {fault.size_bytes}; a GPU ends the kernel with "
        "“misaligned address”"
    )
    cure = (
        "start each vector access at a multiple of its size: have the matrices padded (requires: N % 4 == 0) "
        "or access the elements one by one"
    )
    return _of_element(watched, fault, message, cure)


def divergent_barrier(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a barrier that not all threads of a block reach, or that they reach at different lines."""
    message = fault.message or watched.observation.ended or "not all threads of a block reach a barrier"
    threads = _threads_in(message) or (ThreadAt(fault.block, fault.thread, fault.line),)
    lines = sorted({at.line for at in threads if at.line})
    cure = (
        "do not let threads return or continue past a barrier: let them wait there too, and leave out only "
        "their loads and stores"
        if "left the kernel" in message
        else "let all threads of the block meet at one barrier, outside of the branches"
    )
    return watched.mistake(
        "divergent-barrier", message, cure, fault.line or lines[0] if lines else fault.line,
        threads=threads, other_line=lines[-1] if len(lines) > 1 else 0, count=fault.count,
    )  # fmt: skip


def crash(watched: WatchedLaunch, fault: Fault) -> Mistake:
    """Describe a launch that ended before its time, or not at all.

    An access so far beside a matrix that it ends the kernel is an access out of bounds.
    """
    message = fault.message or watched.observation.ended or "the kernel crashed"
    at = re.search(r"in thread \(([\d,]+)\) of block \(([\d,]+)\)", message)
    threads = (ThreadAt(_extents(at[2]), _extents(at[1]), fault.line),) if at else ()
    far = re.search(r"it reached (\d+) bytes (past the end|before the start) of ([ABC])\b", message)
    if not (far and threads):
        return watched.mistake("crash", message, line=fault.line, threads=threads)
    shape, distance = watched.shapes[far[3]], int(far[1])
    offset = shape.elements * shape.element_bytes + distance if far[2] == "past the end" else -distance
    (thread,) = threads
    beside = Fault("out-of-bounds", fault.line, "load", "global", thread.block, thread.thread, far[3], offset)
    reached = f"{watched.thread(beside)} reaches {watched.element(beside)}{_how_far(watched, beside)}"
    found = _beside(watched, beside, f"{reached}, which ended the kernel")
    return dataclasses.replace(found, threads=threads)  # it is not known whether it reads or writes


def wrong_result(watched: WatchedLaunch, reason: str) -> Mistake:
    """Describe a wrong product as verification does, at the line that stores C if there is only one."""
    stores = {a.line for a in watched.observation.accesses if a.array == "C" and a.op == "store"}
    return watched.mistake("wrong-result", reason, line=stores.pop() if len(stores) == 1 else 0, array="C")


def shared_memory_limit(
    program: Program, needed_bytes: int, limit_bytes: int, giver: str, size: str
) -> Mistake:
    """Describe a block that needs more shared memory than it can have.

    Args:
        giver: which GPU gives a block no more than the limit; empty: no kernel may declare more.
    """
    most = f"the most that {giver} gives a block" if giver else "the most that a kernel may declare"
    message = f"a block needs {needed_bytes:,} bytes of shared memory, and {most} is {limit_bytes:,}"
    cure = (
        "make the tiles smaller"
        if giver
        else "make the tiles smaller, or the shared memory dynamic: extern __shared__, its size given at "
        "launch, and for more than 48 KB the host opts in with cudaFuncAttributeMaxDynamicSharedMemorySize"
    )
    line = line_of(program, r"__shared__")
    file, text = program.method.path.name, line_text(program, line)
    return Mistake("shared-memory-limit", message, cure, file, line, text, sizes=(size,))


_FAULTS: Mapping[FaultKind, Callable[[WatchedLaunch, Fault], Mistake]] = {
    "race": race,
    "out-of-bounds": out_of_bounds,
    "uninitialised": uninitialised,
    "divergent-barrier": divergent_barrier,
    "misaligned": misaligned,
    "crash": crash,
}


# Advice, a function for each kind.


def bank_conflict(watched: WatchedLaunch, access: Access) -> Mistake | None:
    """Describe a warp's access to shared memory that takes more passes through the banks than needed."""
    if access.wavefronts < LEAST_CONFLICT * max(access.ideal_wavefronts, 1):
        return None
    ways = access.wavefronts / access.ideal_wavefronts
    message = (
        f"a warp {_LOADS[access.op]} {access.array or 'shared memory'} in {_number(ways)} times as many "
        f"passes through the {BANKS} banks as are needed: a {_number(ways)}-way bank conflict"
    )
    wide = access.wide_wavefronts / access.wide_ideal_wavefronts if access.wide_ideal_wavefronts else ways
    if round(wide, 1) != round(ways, 1):
        message += f" ({_number(wide)}-way where the compiler merges four loads into one)"
    shape, stride, cure = watched.shapes.get(access.array), _stride(watched, access), ""
    if shape and stride and len(shape.extents) == 2 and stride % shape.row_bytes == 0:
        message += ": neighbouring threads access one column"
        rows, columns = shape.extents
        cure = f"make the rows of the tile one element longer, {access.array}[{rows}][{columns + 1}]"
    return watched.mistake(
        "bank-conflict", message, cure, access.line, array=access.array, count=access.requests
    )


def uncoalesced(watched: WatchedLaunch, access: Access) -> Mistake | None:
    """Describe a warp's access to global memory that touches more sectors than a coalesced one would."""
    # A full warp needs so many; if its threads share elements fewer would do, and need no cure.
    least = max(access.ideal_sectors, access.bytes_requested / SECTOR_BYTES)
    if access.sectors < MOST_SECTORS * least or not access.requests:
        return None
    touched, enough = access.sectors / access.requests, least / access.requests
    message = (
        f"a warp {_LOADS[access.op]} {access.array or 'global memory'} in {_number(touched)} sectors of "
        f"{SECTOR_BYTES} bytes where {_number(max(1, enough))} would do"
    )
    cure = "let neighbouring threads access neighbouring elements of a row, or go through shared memory"
    stride, width = _stride(watched, access), watched.launch.block[0]
    if stride == access.size_bytes and width * access.size_bytes < SECTOR_BYTES:
        message += f": a row of the block is only {width} threads wide"
        cure = f"make the block wider: {SECTOR_BYTES // access.size_bytes} threads in x fill a sector"
    elif stride == 0:
        message += ": neighbouring threads share an element"
        cure = ""
    elif stride is not None and stride > access.size_bytes:
        message += f": neighbouring threads are {stride:,} bytes apart"
    return watched.mistake(
        "uncoalesced", message, cure, access.line, array=access.array, count=access.requests
    )


def partial_warp(watched: WatchedLaunch) -> Mistake | None:
    """Describe a block whose number of threads is no multiple of 32."""
    threads = watched.launch.threads_per_block
    idle = -threads % WARP_THREADS
    if not idle:
        return None
    block = " x ".join(map(str, watched.in_use(watched.launch.block)))
    header = re.search(r"^//\s+threads:", watched.program.method.source, re.MULTILINE)
    line = watched.program.method.source.count("\n", 0, header.start()) + 1 if header else 0
    return watched.mistake(
        "partial-warp",
        f"a block of {block} has {threads} thread{'s' * (threads > 1)}, no multiple of 32: {idle} of the 32 "
        "lanes of its last warp do nothing",
        f"take a multiple of 32 threads a block, such as {threads + idle}",
        line,
    )


def _stride(watched: WatchedLaunch, access: Access) -> int | None:
    """Return the bytes between the first two lanes of the access, in the first request that has them."""
    for request in watched.observation.requests:
        if request.site == access.site and 0 in request.offsets and 1 in request.offsets:
            return abs(request.offsets[1] - request.offsets[0])
    return None


# Words, and the lines of the source.

_READS: Mapping[str, str] = {"load": "reads", "store": "writes", "atomic": "updates"}

_LOADS: Mapping[str, str] = {"load": "loads", "store": "stores", "atomic": "updates"}

_ONE_OWNER = "let one thread own each element, or add to it with atomicAdd()"


def _of_element(watched: WatchedLaunch, fault: Fault, message: str, cure: str) -> Mistake:
    """Return a mistake that one thread makes with one element."""
    return watched.mistake(
        fault.kind, message, cure, fault.line, array=fault.array, element=watched.element(fault),
        threads=(ThreadAt(fault.block, fault.thread, fault.line, fault.op),), count=fault.count,
    )  # fmt: skip


def line_of(program: Program, pattern: str) -> int:
    """Return the first line of code that matches a pattern; 0 if there is none."""
    match = re.search(pattern, without_comments(program.method.source))
    return program.method.source.count("\n", 0, match.start()) + 1 if match else 0


def line_text(program: Program, line: int) -> str:
    """Return a line of the kernel's file, without the space around it."""
    lines = program.method.source.splitlines()
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _barriers(program: Program) -> list[int]:
    """Return the lines that have a barrier."""
    return [
        number
        for number, line in enumerate(without_comments(program.method.source).splitlines(), 1)
        if re.search(r"\b__syncthreads(?:_\w+)?\s*\(|\.sync\s*\(|\bbarrier\b", line)
    ]


def _threads_in(message: str) -> tuple[ThreadAt, ...]:
    """Return the threads that the device's own message about a barrier names, and the lines where they wait.

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


def _number(value: float) -> str:
    """Return a number with one decimal, without it if it is whole."""
    return f"{value:,.1f}".removesuffix(".0")
