"""Run a kernel on the CPU device with instrumented memory accesses, and report the accesses and faults.

`cpu_runtime/observe.cpp` observes the accesses and writes a report. This module reads the report, and
translates addresses to source lines and names.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import re
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from cudamm.compile.compiler_process import run_to_end
from cudamm.compile.elf import is_guard, sections
from cudamm.compile.host_compiler import compile_to_count, compile_to_observe, compile_to_watch_variables
from cudamm.compile.process_group import CORES
from cudamm.compile.program import Program
from cudamm.devices.cpu_device import ProcessRun
from cudamm.devices.observation import (
    PAIR_BYTES,
    WIDEST_BYTES,
    Access,
    Fault,
    FaultKind,
    Observation,
    Op,
    Reach,
    Request,
    SharedArray,
)
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.kernels.launch_plan import Launch, Scratch
from cudamm.kernels.problem import Matrix
from cudamm.source.c_text import (
    dynamic_arrays_in,
    indexed_at,
    is_word,
    shared_arrays_in,
    tokens,
    without_comments,
)

MOST_CALLS = 10_000_000
"""Approximate maximum of accesses and basic blocks to trace in one block of threads, about a second of work.

The limit applies if no thread waits for another, and not every warp is requested.
"""

TIMEOUT_S = 60.0
"""Time limit in seconds for a block of a launch, unless another is given."""

DYNAMIC = "cudamm_dynamic_shared"
"""Name of the array of the dynamic shared memory in an executable."""

_OBJECT_SYMBOL, _TLS_SYMBOL = 1, 6  # STT_OBJECT, STT_TLS


@dataclass(frozen=True)
class Watch:
    """A warp whose first requests are kept.

    Attributes:
        block: linear index of the block.
        warp: index of the warp in the block.
        most: maximum number of requests to keep.
    """

    block: int
    warp: int
    most: int


def observe(
    program: Program,
    launch: Launch,
    a: Matrix,
    b: Matrix,
    *,
    blocks: Sequence[int] | None = None,
    every_warp: bool = True,
    watch: Watch | None = None,
    checked: bool = False,
    c: Matrix | None = None,
    trapped: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Observation:
    """Launch a kernel once, and return its memory accesses.

    Args:
        a: input of the launch's shape (m x k), padded.
        b: input of the launch's shape (k x n), padded.
        blocks: linear indices of the blocks to run, x fastest; None for all blocks.
        every_warp: trace every warp of each block. If False, and no thread waits for another, only some
            evenly spread warps of a block with much work are traced; `Observation.warps` has their number.
        watch: a warp whose first requests are kept.
        c: the matrix that C holds before the launch; None: C is not initialised.
        checked: also find faults: races, accesses out of bounds, and reads of uninitialised memory.
        trapped: end the kernel at the first NaN that it computes, which is a fault.
        timeout_s: time limit in seconds for a block of the launch.

    Raises:
        KernelError: the program does not compile, its process died before it wrote a report, or no block
            ends in time.
        NoDeviceError: there is no C++ compiler, or no addr2line.
        UsageError: the method is no kernel, or its grid lacks one of `blocks`.
    """
    if program.method.language != "cuda":
        raise UsageError(f"{program.method.name} runs on the host, and only kernels have warps to observe")
    block_count = math.prod(launch.grid)
    for block in blocks or ():
        if not 0 <= block < block_count:
            raise UsageError(
                f"there is no block {block} in a grid of {block_count:,}: "
                f"choose a number from 0 to {block_count - 1}"
            )
    executable = compile_to_observe(program, checked=checked)
    shared = _shared_arrays(executable.path, program)
    workers = 1 if checked else CORES
    ended = ""
    # The report is a file in memory, of which nothing is left if this process is killed.
    with os.fdopen(os.memfd_create("cudamm-report"), encoding="utf-8") as report:
        run = ProcessRun(
            program,
            executable,
            launch,
            a,
            b,
            workers,
            timeout_s=timeout_s,
            inherited=[report.fileno()],
            shows_output=not checked,  # `check` also launches the kernel to verify it
        )
        with run:
            if c is None:
                run.fill_output()
            else:
                run.load_output(c)
            for name, offset, size_bytes in shared:
                run.ask(f"shared {name} {offset} {size_bytes}")
            for offset in _guards(executable.path):
                run.ask(f"guard {offset}")
            for name, offset, size_bytes in [] if checked else _device_variables(executable.path, program):
                run.ask(f"device {name} {offset} {size_bytes}")
            run.ask(f"observe {int(checked)} {0 if every_warp else MOST_CALLS}")
            if watch is not None:
                run.ask(f"watch {watch.block} {watch.warp} {watch.most}")
            if trapped:
                run.ask("trap")
            run.ask(f"into {report.fileno()}")
            if blocks is not None:
                run.ask(f"blocks {' '.join(map(str, blocks))}")
            try:
                run.ask(run.launch_command())
                run.ask("report")
            except KernelError as error:
                ended = str(error)
                if not os.fstat(report.fileno()).st_size:
                    raise
        report.seek(0)  # both processes share the position
        lines = _lines_of(report)
    sizes = {name: size or launch.shared_bytes for name, _, size in shared}
    try:
        names = run.memory_names
        memories = {name: isinstance(launch.arguments[position], Scratch) for position, name in names.items()}
        observation = _observation(lines, executable.path, program, sizes, ended, memories)
    except (ValueError, LookupError):
        raise KernelError("the process running the kernel wrote a report that cannot be read") from None
    may_read_output = c is not None or launch.may_scale_output or launch.adds_to_zeros
    if may_read_output:  # the caller of such a kernel has set C
        of_c = tuple(f for f in observation.faults if (f.kind, f.array) == ("uninitialised", "C"))
        others = tuple(f for f in observation.faults if f not in of_c)
        observation = dataclasses.replace(observation, faults=others, reads_of_output=of_c)
    return observation


_OUTSIDE_OF_VARIABLE = re.compile(
    r"outside of a local variable: (\w+) (\d+) (\d+) (-?\d+) (\d+) ([^ :]+)(?::(\d+))?((?: \d+){6})"
)


def overrun_of_variable(
    program: Program,
    launch: Launch,
    a: Matrix,
    b: Matrix,
    *,
    blocks: Sequence[int] | None = None,
    c: Matrix | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Fault | None:
    """Launch a kernel once, and return the first access beside a thread's local variables; None if none is.

    Args:
        a, b, blocks, c, timeout_s: as for `observe`.

    Raises:
        KernelError: the program does not compile so.
        NoDeviceError: there is no C++ compiler, or no addr2line.
    """
    executable = compile_to_watch_variables(program)
    run = ProcessRun(program, executable, launch, a, b, 1, timeout_s=timeout_s, shows_output=False)
    with run:
        if c is None:
            run.fill_output()
        else:
            run.load_output(c)
        if blocks is not None:
            run.ask(f"blocks {' '.join(map(str, blocks))}")
        try:
            run.ask(run.launch_command())
        except KernelError as error:
            found = _OUTSIDE_OF_VARIABLE.fullmatch(str(error))
        else:
            return None
    if found is None:
        return None
    pc = int(found[2])
    place = _places(executable.path, frozenset({pc}), program)[pc]
    bx, by, bz, tx, ty, tz = map(int, found[8].split())
    return Fault(
        kind="overrun",
        line=place.line,
        op=_op(found[1]),
        space="local",
        block=(bx, by, bz),
        thread=(tx, ty, tz),
        array=found[6],
        offset_bytes=int(found[4]),
        size_bytes=int(found[3]),
        file=place.file,
        other_line=int(found[7] or 0),
        extents=(int(found[5]),),
    )


def unseen_bytes(
    program: Program,
    launch: Launch,
    a: Matrix,
    b: Matrix,
    *,
    blocks: Sequence[int],
    c: Matrix | None = None,
    timeout_s: float = TIMEOUT_S,
) -> int:
    """Launch a kernel twice, and return how many bytes of its accesses to matrices `observe` does not see.

    Another instrumentation counts them. It sees structures that a function takes by value or returns, which
    the one for `observe` does not if the function is not inlined. What functions of cudamm access, such as
    those for tensor cores, only `observe` sees: then the result may be negative.

    Args:
        a, b, blocks, c, timeout_s: as for `observe`.

    Raises:
        KernelError: the kernel fails.
        NoDeviceError: there is no C++ compiler, or no addr2line.
    """
    seen = observe(program, launch, a, b, blocks=blocks, c=c, timeout_s=timeout_s)
    if seen.ended:
        raise KernelError(seen.ended)
    executable = compile_to_count(program)
    run = ProcessRun(program, executable, launch, a, b, 1, timeout_s=timeout_s, shows_output=False)
    with run:
        if c is None:
            run.fill_output()
        else:
            run.load_output(c)
        run.ask(f"blocks {' '.join(map(str, blocks))}")
        run.ask(run.launch_command())
        accessed = int(run.ask("accessed"))
    seen_bytes = 0
    for access in seen.accesses:
        if access.space == "global":  # an atomic operation loads and stores
            seen_bytes += access.bytes_requested * (2 if access.op == "atomic" else 1)
    return accessed - seen_bytes


def _lines_of(report: TextIO) -> list[str]:
    """Return the lines of a report, which may be damaged like the process that wrote it."""
    try:
        return report.read().splitlines()
    except UnicodeDecodeError:
        raise KernelError("the process running the kernel wrote a report that cannot be read") from None


def _shared_arrays(path: Path, program: Program) -> list[tuple[str, int, int]]:
    """Return the name, the offset in the thread-local segment and the bytes of each shared variable.

    The dynamic array has 0 bytes. Sources: the ELF-64 specification, “Symbol Table”, and the Itanium C++ ABI,
    “Scope Encoding”, for names such as `_ZZ6kerneliPfE2As`.
    """
    found: dict[int, tuple[str, int]] = {}
    dynamic: tuple[int, str] | None = None
    declared = set(dynamic_arrays_in(program.text))
    for symbol, offset, size in _symbols(path, _TLS_SYMBOL):
        # The variable of a function or of the file; the runtime's own variables are in a namespace.
        local = re.fullmatch(r"_Z(?:Z.*E|L)(\d+)(\w+?)(?:_\d+)?", symbol)
        if symbol == DYNAMIC or symbol in declared:
            if dynamic is None or symbol != DYNAMIC:
                dynamic = offset, symbol
        elif local and len(local[2]) >= int(local[1]):
            found[offset] = local[2][: int(local[1])], size
        elif not symbol.startswith("_Z") and not is_guard(symbol):
            found[offset] = symbol, size
    arrays = [(name, offset, size) for offset, (name, size) in sorted(found.items())]
    if dynamic is not None and declared:
        arrays.append((dynamic[1] if dynamic[1] != DYNAMIC else min(declared), dynamic[0], 0))
    return arrays


def _guards(path: Path) -> list[int]:
    """Return the offsets of the bytes that say whether a shared variable's constructor has run."""
    return [offset for symbol, offset, _ in _symbols(path, _TLS_SYMBOL) if is_guard(symbol)]


def _device_variables(path: Path, program: Program) -> list[tuple[str, int, int]]:
    """Return the name, the offset in the program and the bytes of each `__device__` variable.

    Faults in these variables are not looked for, because the variables are initialised when the program
    starts, and blocks may communicate through them.
    """
    declared: dict[str, str] = {}  # names by symbol
    name, in_declaration, in_extents = "", False, False
    for word in tokens(without_comments(program.text)):
        if word == "__device__":
            name, in_declaration, in_extents = "", True, False
        elif not in_declaration:
            continue
        elif word in ";={":
            declared |= {name: name, f"_ZL{len(name)}{name}": name}
            in_declaration = False
        elif word == "}" or (word in "()" and not in_extents):  # a function
            in_declaration = False
        elif word == "[":
            in_extents = True
        elif is_word(word) and not in_extents:
            name = word
    return [
        (declared[symbol], offset, size)
        for symbol, offset, size in _symbols(path, _OBJECT_SYMBOL)
        if symbol in declared
    ]


def _symbols(path: Path, kind: int) -> Iterator[tuple[str, int, int]]:
    """Yield the name, value and size of each symbol of a kind.

    Source: the ELF-64 specification, “Symbol Table”.
    """
    by_name = {s.name: s.data for s in sections(path.read_bytes())}
    names = by_name[".strtab"]
    for name_start, info, _, _, value, size in struct.iter_unpack("=IBBHQQ", by_name[".symtab"]):
        if info & 15 == kind:
            yield names[name_start : names.index(b"\0", name_start)].decode(), value, size


def _observation(
    lines: Sequence[str],
    path: Path,
    program: Program,
    sizes: dict[str, int],
    ended: str,
    memories: Mapping[str, bool],
) -> Observation:
    """Return the observation that the lines of a report describe.

    Args:
        memories: names of the kernel's memory other than A, B and C, and whether the kernel only writes to
            it. Races in such memory are left out, because they do not change C.
    """
    rows = [line.split() for line in lines]
    addresses = {int(row[1]) for row in rows if row[0] in ("site", "request")}
    for row in rows:
        if row[0] == "fault":
            addresses |= {int(row[2]), int(row[14])} - {0}
    place_of = _places(path, frozenset(addresses), program)
    sites = {pc: number for number, pc in enumerate(sorted(addresses))}
    accesses: list[Access] = []
    requests: list[Request] = []
    faults: list[Fault] = []
    reaches: list[Reach] = []
    reached_by: dict[int, int] = {}  # by block: 0 nothing in global memory, 1 loads only, 2 stores
    traced_warps = all_warps = 0
    crashed_at = Place("", 0)
    for row in rows:
        if row[0] == "warps":
            traced_warps, all_warps = int(row[1]), int(row[2])
        elif row[0] == "block":
            reached_by[int(row[1])] = int(row[2])
        elif row[0] == "site":
            place = place_of[int(row[1])]
            access = _access(sites[int(row[1])], place.line, program.line_text(place.line, place.file), row)
            accesses.append(dataclasses.replace(access, file=place.file))
        elif row[0] == "reach":
            place = place_of[int(row[1])]
            reaches.append(Reach(place.file, place.line, row[2], int(row[3]), int(row[4])))
        elif row[0] == "request":
            pairs = (word.partition(":") for word in row[3:])
            offsets = {int(lane): int(offset) for lane, _, offset in pairs}
            requests.append(Request(len(requests), sites[int(row[1])], offsets))
        elif row[:2] == ["fault", "crash"]:
            crashed_at = place_of[int(row[2])]
        elif row[0] == "fault":
            fault = _fault(row, place_of, memories)
            if not (fault.kind == "race" and memories.get(fault.array)):
                faults.append(fault)
        elif row[0] == "index":
            faults.append(_index_fault(row, program))
    if ended and not any(fault.kind == "nan" for fault in faults):
        faults.append(_fault_from_message(ended, crashed_at))
    accesses.sort(key=lambda access: access.site)
    shared = tuple(SharedArray(name, size) for name, size in sizes.items())
    return Observation(
        accesses=tuple(accesses),
        blocks=tuple(reached_by),
        warps=(traced_warps, all_warps),
        requests=tuple(requests),
        faults=tuple(faults),
        shared=shared,
        ended=ended,
        reaches=tuple(reaches),
        accessing=frozenset(block for block, reached in reached_by.items() if reached > 0),
        storing=frozenset(block for block, reached in reached_by.items() if reached > 1),
    )


def _access(site: int, line: int, text: str, row: Sequence[str]) -> Access:
    """Return the access that a row such as `site PC SPACE OP ARRAY COUNT …` describes."""
    (
        size, requests, threads, bytes_requested, bytes_used, sectors, ideal_sectors,
        wavefronts, ideal_wavefronts, broadcasts, wide_requests, wide_wavefronts, wide_ideal_wavefronts,
        pair_requests, pair_wavefronts, pair_ideal_wavefronts, merged_threads, merged_bytes_used,
        unrolled_requests, unrolled_sectors, aligned_bytes, by_copy,
    ) = map(int, row[5:])  # fmt: skip
    is_shared = row[2] == "shared"
    # nvcc merges accesses only if it can prove that they are aligned for every warp.
    if aligned_bytes < PAIR_BYTES:
        pair_requests, pair_wavefronts, pair_ideal_wavefronts = requests, wavefronts, ideal_wavefronts
        merged_threads, merged_bytes_used = threads, bytes_used
    if aligned_bytes < min(4 * size, WIDEST_BYTES):
        wide_requests, wide_wavefronts, wide_ideal_wavefronts = (
            pair_requests, pair_wavefronts, pair_ideal_wavefronts,
        )  # fmt: skip
    return Access(
        site=site,
        line=line,
        text=text,
        space="shared" if is_shared else "global",
        op=_op(row[3]),
        array="" if row[4] == "-" else row[4],
        size_bytes=size,
        requests=requests,
        threads=threads,
        bytes_requested=bytes_requested,
        bytes_used=bytes_used,
        sectors=sectors,
        ideal_sectors=ideal_sectors,
        wavefronts=wavefronts,
        ideal_wavefronts=ideal_wavefronts,
        broadcasts=broadcasts,
        wide_requests=wide_requests if is_shared else requests,
        wide_wavefronts=wide_wavefronts,
        wide_ideal_wavefronts=wide_ideal_wavefronts,
        pair_requests=pair_requests if is_shared else requests,
        pair_wavefronts=pair_wavefronts,
        pair_ideal_wavefronts=pair_ideal_wavefronts,
        merged_threads=merged_threads if is_shared else threads,
        merged_bytes_used=merged_bytes_used if is_shared else bytes_used,
        unrolled_requests=unrolled_requests or requests,
        unrolled_sectors=unrolled_sectors or sectors,
        by_copy=bool(by_copy),
    )


def _op(word: str) -> Op:
    return "load" if word == "load" else "store" if word == "store" else "atomic"


_KINDS: dict[str, FaultKind] = {
    "nan": "nan",
    "race": "race",
    "out-of-bounds": "out-of-bounds",
    "uninitialised": "uninitialised",
    "misaligned": "misaligned",
}


def _fault(row: Sequence[str], place_of: dict[int, Place], memories: Mapping[str, bool]) -> Fault:
    """Return the fault that a row describes; `memories` are those of `_observation`.

    A row has the words `fault KIND PC OP ARRAY SIZE OFFSET COUNT BX BY BZ TX TY TZ PC OP BX BY BZ TX TY TZ`.
    The second PC and the words after it belong to the other thread of a race.
    """
    bx, by, bz, tx, ty, tz = map(int, row[8:14])
    other_bx, other_by, other_bz, other_tx, other_ty, other_tz = map(int, row[16:22])
    other_pc = int(row[14])
    place, other_place = place_of[int(row[2])], place_of.get(other_pc, Place("", 0))
    return Fault(
        kind=_KINDS[row[1]],
        line=place.line,
        op=_op(row[3]),
        space="global" if row[4] in ("A", "B", "C", *memories) else "shared",
        block=(bx, by, bz),
        thread=(tx, ty, tz),
        array="" if row[4] == "-" else row[4],
        offset_bytes=int(row[6]),
        size_bytes=int(row[5]),
        count=int(row[7]),
        other_line=other_place.line,
        other_op=_op(row[15]),
        other_block=(other_bx, other_by, other_bz),
        other_thread=(other_tx, other_ty, other_tz),
        file=place.file,
        other_file=other_place.file,
        call_line=place.call_line,
    )


def _index_fault(row: Sequence[str], program: Program) -> Fault:
    """Return the fault of a row `index LINE COLUMN INDEX COUNT BX BY BZ TX TY TZ float[16] FILE`."""
    line, column, index, count, bx, by, bz, tx, ty, tz = map(int, row[1:11])
    file = " ".join(row[12:])
    own = program.method.path.name
    text = program.lines.get((file, line), "")
    name, *_ = indexed_at(text, column) or ("",)
    is_shared = name in shared_arrays_in(program.text)
    return Fault(
        kind="index",
        line=line,
        space="shared" if is_shared else "local",
        block=(bx, by, bz),
        thread=(tx, ty, tz),
        array=name,
        count=count,
        file="" if file == own else file,
        column=column,
        index=index,
        extents=tuple(map(int, re.findall(r"\[(\d+)\]", row[11]))),
    )


def _fault_from_message(message: str, crashed_at: Place) -> Fault:
    """Return the fault that a message of the device describes.

    Args:
        crashed_at: place of the access at which a signal ended the kernel; line 0 if none did.
    """
    at_barrier = re.search(r"barrier|is stuck|the mask 0x", message)
    line = re.search(r"line (\d+)", message)
    if at_barrier:
        return Fault("divergent-barrier", int(line[1]) if line else 0, message=message)
    place = crashed_at if line is None else Place("", int(line[1]))
    return Fault("crash", place.line, message=message, file=place.file)


@dataclass(frozen=True)
class Place:
    """A line of a user's file: of the kernel's own if `file` is empty, else of one that it includes.

    Attributes:
        call_line: the line of the kernel that calls the function with this line; 0 if it is the kernel's own.
    """

    file: str
    line: int
    call_line: int = 0


def _places(path: Path, addresses: frozenset[int], program: Program) -> dict[int, Place]:
    """Return the line of the user's files for each return address; line 0 if the code is from another file.

    Raises:
        NoDeviceError: there is no addr2line, or it does not work.
    """
    if not addresses:
        return {}
    tool = _addr2line()
    ordered = sorted(addresses)
    # The line is that of the call, which is the instruction before the return address.
    completed = run_to_end([tool, "-i", "-a", "-e", str(path), *(hex(address - 1) for address in ordered)])
    place_of: dict[int, Place] = {}
    places_of_addresses = list(_source_places(completed.stdout))
    if len(places_of_addresses) != len(ordered):
        raise NoDeviceError(
            f"{tool} found {len(places_of_addresses)} of {len(ordered)} addresses; is it that of binutils?"
        )
    own = program.method.path.name
    files = {file for file, _ in program.lines}
    for address, places in zip(ordered, places_of_addresses, strict=True):
        named = [
            ("" if name == own else name, line)
            for file, line in places
            for name in (f for f in files if f and (file == f or file.endswith(f"/{f}")))
        ]
        (file, line), (outer_file, call_line) = (named[0], named[-1]) if named else (("", 0), ("", 0))
        is_called = call_line != line and not outer_file
        place_of[address] = Place(file, line, call_line if is_called else 0)
    return place_of


def _source_places(text: str) -> Iterator[list[tuple[str, int]]]:
    """Yield the files and lines at each address in addr2line's output, innermost inlined function first."""
    places: list[tuple[str, int]] | None = None
    for line in text.splitlines():
        if line.startswith("0x"):
            if places is not None:
                yield places
            places = []
        elif places is not None:
            file, _, number = line.partition(" (")[0].rpartition(":")
            places.append((file, int(number) if re.fullmatch("[0-9]{1,9}", number) else 0))
    if places is not None:
        yield places


@functools.cache
def _addr2line() -> str:
    for name in ("addr2line", "llvm-addr2line"):
        path = shutil.which(name)
        if path:
            return path
    raise NoDeviceError("addr2line was not found: install it, for example with: apt install binutils")
