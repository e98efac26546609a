"""Runs a kernel on the CPU device with every access to memory instrumented, and says what was seen.

`cpu_runtime/observe.cpp` does the seeing; here its report is read, and addresses become lines and names.
"""

from __future__ import annotations

import functools
import math
import os
import re
import shutil
import struct
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import run_to_end
from cudamm.compile.elf import sections
from cudamm.compile.host_compiler import compile_to_observe
from cudamm.compile.program import Program
from cudamm.devices.cpu_device import ProcessRun
from cudamm.devices.observation import Access, Fault, FaultKind, Observation, Op, Request, SharedArray
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.kernels.header import without_comments
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.problem import Matrix

MOST_CALLS = 10_000_000
"""Accesses and basic blocks of one block of threads, about, where no thread waits for another and not every
warp is asked for: a second's worth."""

DYNAMIC = "cudamm_dynamic_shared"

_OBJECT_SYMBOL, _TLS_SYMBOL = 1, 6  # STT_OBJECT, STT_TLS


@dataclass(frozen=True)
class Watch:
    """A warp the requests of which are kept.

    Attributes:
        block: its linear index.
        warp: of that block.
        most: requests to keep, the first ones.
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
) -> Observation:
    """Launch a kernel once, and return what its warps did to memory.

    Args:
        a: input of the launch's shape (m x k), padded.
        b: input of the launch's shape (k x n), padded.
        blocks: linear indices of those to run, x fastest; None: all.
        every_warp: of each block; else, where warps do not wait for one another and have much to do, some
            that are evenly spread stand for all (`Observation.warps` says how many).
        checked: look for faults too: races, accesses out of bounds, reads of what nobody wrote.

    Raises:
        KernelError: it does not compile, or its process died before anything was seen.
        NoDeviceError: there is no C++ compiler, or no addr2line.
        UsageError: the method is no kernel, or its grid has not a block that is asked for.
    """
    if program.method.language != "cuda":
        raise UsageError(f"{program.method.name} runs on the host: only kernels have warps to look at")
    most = math.prod(launch.grid)
    for block in blocks or ():
        if not 0 <= block < most:
            raise UsageError(f"there is no block {block} in a grid of {most:,}: they are counted from 0")
    executable = compile_to_observe(program)
    shared = _shared_arrays(executable.path, program)
    workers = 1 if checked else len(os.sched_getaffinity(0))
    ended = ""
    run = ProcessRun(program.method, executable, launch, a, b, workers)
    with tempfile.TemporaryDirectory(prefix="cudamm") as folder, run:
        report = Path(folder, "report")
        run.fill_output()
        for name, offset, size_bytes in shared:
            run.ask(f"shared {name} {offset} {size_bytes}")
        for name, offset, size_bytes in [] if checked else _device_variables(executable.path, program):
            run.ask(f"device {name} {offset} {size_bytes}")
        run.ask(f"observe {int(checked)} {0 if every_warp else MOST_CALLS}")
        if watch is not None:
            run.ask(f"watch {watch.block} {watch.warp} {watch.most}")
        run.ask(f"into {report}")
        if blocks is not None:
            run.ask(f"blocks {' '.join(map(str, blocks))}")
        try:
            run.ask(run.launch_command())
            run.ask("report")
        except KernelError as error:
            ended = str(error)
            if not report.exists():
                raise
        lines = report.read_text().splitlines()
    sizes = {name: size or launch.shared_bytes for name, _, size in shared}
    return _observation(lines, executable.path, program, sizes, ended)


def _shared_arrays(path: Path, program: Program) -> list[tuple[str, int, int]]:
    """Name, offset in the thread-local segment and bytes of each shared variable; 0 bytes: the dynamic one.

    Source: the ELF-64 specification, “Symbol Table”; the Itanium C++ ABI, “Scope Encoding”, for names such as
    `_ZZ6kerneliPfE2As`.
    """
    found: dict[int, tuple[str, int]] = {}
    dynamic: tuple[int, str] | None = None
    declared = set(re.findall(r"extern\s+__shared__[^;]*?(\w+)\s*\[\s*\]", program.text))
    for symbol, offset, size in _symbols(path, _TLS_SYMBOL):
        # Of a function, or of the file; neither is in a namespace of ours.
        local = re.fullmatch(r"_Z(?:Z.*E|L)(\d+)(\w+?)(?:_\d+)?", symbol)
        if symbol == DYNAMIC or symbol in declared:
            if dynamic is None or symbol != DYNAMIC:
                dynamic = offset, symbol
        elif local and len(local[2]) >= int(local[1]):
            found[offset] = local[2][: int(local[1])], size
        elif not symbol.startswith("_Z"):
            found[offset] = symbol, size
    arrays = [(name, offset, size) for offset, (name, size) in sorted(found.items())]
    if dynamic is not None and declared:
        arrays.append((dynamic[1] if dynamic[1] != DYNAMIC else min(declared), dynamic[0], 0))
    return arrays


def _device_variables(path: Path, program: Program) -> list[tuple[str, int, int]]:
    """Name, offset from the start of the program and bytes of each `__device__` variable of a kernel's file.

    They are in memory from the start, and blocks may speak through them: faults are not looked for there.
    """
    declared = set(
        re.findall(r"__device__\s[^;(){}=]*?(\w+)\s*(?:\[[^;={}]*)?[;={]", without_comments(program.text))
    )
    return [
        (name, offset, size)
        for symbol, offset, size in _symbols(path, _OBJECT_SYMBOL)
        for name in declared
        if symbol in (name, f"_ZL{len(name)}{name}")
    ]


def _symbols(path: Path, kind: int) -> Iterator[tuple[str, int, int]]:
    """Name, value and size of each symbol of a kind. Source: the ELF-64 specification, “Symbol Table”."""
    own = {s.name: s.data for s in sections(path.read_bytes()) if s.name in (".symtab", ".strtab")}
    for name_at, info, _, _, value, size in struct.iter_unpack("=IBBHQQ", own[".symtab"]):
        if info & 15 == kind:
            yield own[".strtab"][name_at : own[".strtab"].index(b"\0", name_at)].decode(), value, size


def _observation(
    lines: Sequence[str], path: Path, program: Program, sizes: dict[str, int], ended: str
) -> Observation:
    words = [line.split() for line in lines]
    addresses = {int(w[1]) for w in words if w[0] in ("site", "request")}
    for w in words:
        if w[0] == "fault":
            addresses |= {int(w[2]), int(w[14])} - {0}
    lines_of = _lines(path, frozenset(addresses), program.method.path.name)
    source = program.method.source.splitlines()
    sites = {pc: number for number, pc in enumerate(sorted(addresses))}
    accesses: list[Access] = []
    requests: list[Request] = []
    faults: list[Fault] = []
    blocks: list[int] = []
    traced = of = 0
    for w in words:
        if w[0] == "warps":
            traced, of = int(w[1]), int(w[2])
        elif w[0] == "block":
            blocks.append(int(w[1]))
        elif w[0] == "site":
            line = lines_of[int(w[1])]
            text = source[line - 1].strip() if 0 < line <= len(source) else ""
            counts = list(map(int, w[5:]))
            accesses.append(_access(sites[int(w[1])], line, text, w, counts))
        elif w[0] == "request":
            offsets = {int(lane): int(at) for lane, _, at in (word.partition(":") for word in w[3:])}
            requests.append(Request(len(requests), sites[int(w[1])], offsets))
        elif w[0] == "fault":
            faults.append(_fault(w, lines_of))
    if ended:
        faults.append(_of_message(ended))
    accesses.sort(key=lambda access: access.site)
    shared = tuple(SharedArray(name, size) for name, size in sizes.items())
    return Observation(
        tuple(accesses), tuple(blocks), (traced, of), tuple(requests), tuple(faults), shared, ended
    )


def _access(site: int, line: int, text: str, w: Sequence[str], counts: Sequence[int]) -> Access:
    size, requests, threads, requested, used, sectors, least, wavefronts, least_w, broadcasts, *others = (
        counts
    )
    wide_requests, wide_wavefronts, wide_least, unrolled_requests, unrolled_sectors, by_copy = others
    is_shared = w[2] == "shared"
    return Access(
        site=site,
        line=line,
        text=text,
        space="shared" if is_shared else "global",
        op=_op(w[3]),
        array="" if w[4] == "-" else w[4],
        size_bytes=size,
        requests=requests,
        threads=threads,
        bytes_requested=requested,
        bytes_used=used,
        sectors=sectors,
        ideal_sectors=least,
        wavefronts=wavefronts,
        ideal_wavefronts=least_w,
        broadcasts=broadcasts,
        wide_requests=wide_requests if is_shared else requests,
        wide_wavefronts=wide_wavefronts,
        wide_ideal_wavefronts=wide_least,
        unrolled_requests=unrolled_requests or requests,
        unrolled_sectors=unrolled_sectors or sectors,
        by_copy=bool(by_copy),
    )


def _op(word: str) -> Op:
    return "load" if word == "load" else "store" if word == "store" else "atomic"


_KINDS: dict[str, FaultKind] = {
    "race": "race",
    "out-of-bounds": "out-of-bounds",
    "uninitialised": "uninitialised",
    "misaligned": "misaligned",
}


def _fault(w: Sequence[str], lines_of: dict[int, int]) -> Fault:
    """Of a line such as `fault race PC OP ARRAY SIZE OFFSET COUNT BX BY BZ TX TY TZ PC OP BX …`."""
    bx, by, bz, tx, ty, tz = map(int, w[8:14])
    obx, oby, obz, otx, oty, otz = map(int, w[16:22])
    other = int(w[14])
    return Fault(
        kind=_KINDS[w[1]],
        line=lines_of[int(w[2])],
        op=_op(w[3]),
        space="global" if w[4] in ("A", "B", "C") else "shared",
        block=(bx, by, bz),
        thread=(tx, ty, tz),
        array="" if w[4] == "-" else w[4],
        offset_bytes=int(w[6]),
        size_bytes=int(w[5]),
        count=int(w[7]),
        other_line=lines_of[other] if other else 0,
        other_op=_op(w[15]),
        other_block=(obx, oby, obz),
        other_thread=(otx, oty, otz),
    )


def _of_message(message: str) -> Fault:
    """A fault that the device describes itself."""
    at_barrier = re.search(r"barrier|is stuck|not in the mask", message)
    line = re.search(r"line (\d+)", message)
    return Fault("divergent-barrier" if at_barrier else "crash", int(line[1]) if line else 0, message=message)


def _lines(path: Path, addresses: frozenset[int], name: str) -> dict[int, int]:
    """The line of the kernel's file at each return address; 0 where it is in another file.

    Raises:
        NoDeviceError: there is no addr2line.
    """
    if not addresses:
        return {}
    tool = _addr2line()
    ordered = sorted(addresses)
    # The instruction before a return address is the call, which is what has the line.
    done = run_to_end([tool, "-i", "-a", "-e", str(path), *(hex(address - 1) for address in ordered)])
    found: dict[int, int] = {}
    for address, places in zip(ordered, _answers(done.stdout), strict=True):
        of_file = [line for file, line in places if Path(file).name == name]
        found[address] = of_file[0] if of_file else 0
    return found


def _answers(text: str) -> Iterator[list[tuple[str, int]]]:
    """For each address, the file and line of its innermost function first."""
    places: list[tuple[str, int]] | None = None
    for line in text.splitlines():
        if line.startswith("0x"):
            if places is not None:
                yield places
            places = []
        elif places is not None:
            file, _, number = line.partition(" (")[0].rpartition(":")
            places.append((file, int(number) if number.isdigit() else 0))
    if places is not None:
        yield places


@functools.cache
def _addr2line() -> str:
    for name in ("addr2line", "llvm-addr2line"):
        found = shutil.which(name)
        if found:
            return found
    raise NoDeviceError("addr2line was not found: install it, for example with: apt install binutils")
