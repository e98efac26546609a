"""The figures that five courses print, as they print them, each with its unit.

Sources:
    CMU 15-418/618, recitation 2 (2019): six methods of square float32 matrix multiplication.
    Tsinghua University, computer architecture, CUDA experiment (2022): int32, five runs a configuration.
        The size of the matrices and the GPU are not stated.
    Sheffield Com4521, lab 06 (2018): rules, and no times.
    SJTU CS427, lecture 8 (2016): limits and latencies of compute capability 1.0.
    Programming Massively Parallel Processors, chapter 5 (course notes): an A100's roofline and limits.

All are of the hardware of their day. Methods have this program's names; a course's own is beside it.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One published time, or the mean of several.

    Attributes:
        source: short name of the course and its year, such as "CMU 2019".
        method: this program's name of it.
        label: the course's own name of it.
        params: of the method; empty where it has none that was varied.
        n: M = N = K; None where it is not stated.
        dtype: of the elements.
        runs_ms: each run, in milliseconds; empty where only `time_ms` is published.
        time_ms: in milliseconds, as printed: a mean where there are runs.
        gflops: 10⁹ operations a second, as printed; None where it is not.
    """

    source: str
    method: str
    label: str
    n: int | None
    dtype: str
    time_ms: float
    params: dict[str, int] = field(default_factory=dict)
    runs_ms: tuple[float, ...] = ()
    gflops: float | None = None

    @property
    def mean_ms(self) -> float:
        """Of the runs, in milliseconds; the published time where there are none."""
        return statistics.fmean(self.runs_ms) if self.runs_ms else self.time_ms


CMU = "CMU 2019"
TSINGHUA = "Tsinghua 2022"
SHEFFIELD = "Sheffield 2018"
SJTU = "SJTU 2016"
PMPP = "PMPP, chapter 5"

SOURCES = (CMU, TSINGHUA, SHEFFIELD, SJTU, PMPP)

CMU_BLOCK_EDGE = 32
"""LBLK: a block of threads is LBLK x LBLK, and so are the sub-matrices."""


def _cmu(method: str, label: str, *rows: tuple[int, float, float]) -> tuple[Figure, ...]:
    return tuple(
        Figure(CMU, method, label, n, "float32", time_ms, gflops=gflops) for n, time_ms, gflops in rows
    )


CMU_FIGURES: tuple[Figure, ...] = (
    *_cmu("cpu-simple", "simple", (1024, 1950.0, 1.1), (2048, 16000.0, 1.1)),
    *_cmu("naive", "cosimple", (1024, 44.5, 48.2), (2048, 301.0, 57.0)),
    *_cmu("coalesced", "csimple", (1024, 4.95, 434.0), (2048, 38.4, 443.0)),
    *_cmu("cpu-block", "block", (1024, 612.0, 3.5), (2048, 4940.0, 3.5)),
    *_cmu("block-coarse-local", "ccblock", (1024, 111.0, 19.4), (2048, 303.0, 56.7)),
    *_cmu("tiled", "cblock", (1024, 2.05, 1050.0), (2048, 15.7, 1100.0)),
)
"""Milliseconds and GFLOP/s of CMU's six methods at 1024 and 2048."""


def _tsinghua(
    method: str, label: str, name: str, *rows: tuple[int, float, tuple[float, ...]]
) -> tuple[Figure, ...]:
    return tuple(
        Figure(TSINGHUA, method, label, None, "int32", time_ms, {name: value}, runs_ms)
        for value, time_ms, runs_ms in rows
    )


TSINGHUA_GLOBAL = Figure(
    TSINGHUA, "coalesced", "method 1", None, "int32", 3.456,
    runs_ms=(3.425792, 3.452032, 3.533216, 3.417024, 3.453568),
)  # fmt: skip
"""Method 1: one element a thread, from global memory."""

TSINGHUA_TILE_SIZE: tuple[Figure, ...] = _tsinghua(
    "register-tile", "method 2", "TILE_SIZE",
    (1, 3.440, (3.440544, 3.434144, 3.468192, 3.423360, 3.433440)),
    (2, 2.780, (2.772032, 2.765888, 2.737216, 2.872800, 2.752608)),
    (4, 2.590, (2.561184, 2.663968, 2.567392, 2.567200, 2.589536)),
    (8, 3.534, (3.533632, 3.523648, 3.593344, 3.567008, 3.451136)),
    (16, 8.391, (8.452352, 8.379648, 8.386816, 8.361056, 8.377408)),
    (32, 27.13, (27.050304, 27.187263, 27.233791, 27.108671, 27.085184)),
    (64, 98.68, (98.427170, 98.351425, 98.505630, 99.080605, 99.031837)),
)  # fmt: skip
"""Method 2: TILE_SIZE x TILE_SIZE elements a thread in registers; fastest at 4."""

TSINGHUA_BLOCK_SIZE: tuple[Figure, ...] = _tsinghua(
    "tiled", "method 3", "BLOCK_SIZE",
    (1, 51.74, (51.712097, 51.725086, 51.678879, 51.765663, 51.833473)),
    (2, 9.09, (9.067776, 9.069152, 9.130688, 9.096960, 9.095712)),
    (4, 3.26, (3.275680, 3.224512, 3.325344, 3.240224, 3.241024)),
    (8, 2.38, (2.395712, 2.349440, 2.401856, 2.404064, 2.350624)),
    (16, 2.38, (2.411744, 2.398976, 2.359040, 2.380992, 2.367104)),
    (32, 2.41, (2.497248, 2.368448, 2.373824, 2.386144, 2.430048)),
)  # fmt: skip
"""Method 3: tiles in shared memory, BLOCK_SIZE x BLOCK_SIZE threads; steep down to 8, flat from there on."""

TSINGHUA_FIGURES: tuple[Figure, ...] = (TSINGHUA_GLOBAL, *TSINGHUA_TILE_SIZE, *TSINGHUA_BLOCK_SIZE)

FIGURES: tuple[Figure, ...] = (*CMU_FIGURES, *TSINGHUA_FIGURES)
"""Every published time."""


def swept(method: str, parameter: str) -> tuple[Figure, ...]:
    """The published sweep of a method over one parameter, by rising value; empty where there is none."""
    found = [f for f in FIGURES if f.method == method and tuple(f.params) == (parameter,)]
    return tuple(sorted(found, key=lambda figure: figure.params[parameter]))


SHEFFIELD_ROUNDING_BASE = 4
"""The lab rounds threads a block to 4 ^ floor(log4(threads)): its square root is a power of two."""
SHEFFIELD_TILES_IN_SHARED_MEMORY = 2
"""requiredSM(block size): so many tiles of BLOCK_SIZE x BLOCK_SIZE elements; two barriers a step."""

SJTU_REGISTERS_PER_SM = 8192
SJTU_THREADS_PER_SM = 768
SJTU_BLOCKS_PER_SM = 8
"""Limits of a multiprocessor of compute capability 1.0."""
SJTU_THREADS_PER_BLOCK = 256
SJTU_BLOCKS_BY_REGISTERS_PER_THREAD: dict[int, int] = {10: 3, 11: 2}
"""Active blocks of 256 threads a multiprocessor: one register a thread more costs a third of them."""
SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD: dict[int, int] = {10: 2560, 11: 2816}
SJTU_LOAD_CYCLES = 400
"""Of a load from global memory."""
SJTU_INSTRUCTION_CYCLES = 4
"""Of an instruction, a warp."""


@dataclass(frozen=True)
class HiddenLatency:
    """What so many warps with so many independent instructions a load hide of it, in cycles."""

    independent_instructions: int
    warps: int
    hidden_cycles: int
    covered: bool


SJTU_LATENCIES: tuple[HiddenLatency, ...] = (
    HiddenLatency(independent_instructions=4, warps=24, hidden_cycles=384, covered=False),
    HiddenLatency(independent_instructions=8, warps=16, hidden_cycles=512, covered=True),
)
"""Fewer threads, better hidden."""
SJTU_ELEMENTS_PER_THREAD = 2
"""Each thread computes so many elements of the product, so a tile of the first matrix serves both."""

PMPP_GPU = "A100"
PMPP_BANDWIDTH_GBYTES_PER_S = 1555.0
PMPP_PEAK_GFLOPS = 19500.0
"""float32."""
PMPP_TILE_WIDTH = 16
PMPP_NAIVE_FLOP_PER_BYTE = 0.25
"""Two operations for two float32 loads of 4 bytes. The notes also print 0.5 B/op for it, which is wrong."""
PMPP_TILED_FLOP_PER_BYTE = 4.0
"""With tiles of 16 x 16."""
PMPP_TILED_BOUND_GFLOPS = 6220.0
"""What the bandwidth allows the tiled kernel."""
PMPP_TILED_BOUND_OF_PEAK = 0.32
"""As a fraction of the peak."""
PMPP_SHARED_BYTES_PER_SM = 164 * 1024
PMPP_THREADS_PER_SM = 2048
PMPP_SHARED_BYTES_PER_THREAD_AT_MOST = 82
"""More than that, and shared memory limits how many threads are active."""
PMPP_TILED_SHARED_BYTES_PER_THREAD = 8
"""The tiled kernel's: two elements."""
