"""Figures that five courses published, exactly as printed, each with its unit.

Sources:
    CMU 15-418/618, recitation 2 (2019): six methods of square float32 matrix multiplication.
    Tsinghua University, computer architecture, CUDA experiment (2022): int32, five runs each. The size of the
        matrices and the GPU are not stated.
    Sheffield Com4521, lab 06 (2018): rules, and no times.
    SJTU CS427, lecture 8 (2016): limits and latencies of compute capability 1.0.
    Programming Massively Parallel Processors, chapter 5 (course notes): roofline and limits of an A100.

The figures were measured on the hardware of their time. Methods have their names in cudamm, with the course's
name beside them.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Figure:
    """One published time, or the mean of several.

    Attributes:
        source: short name of the course and its year, such as "CMU 2019".
        method: name of the method in cudamm.
        label: name of the method in the course.
        n: M = N = K; None if the size is not stated.
        dtype: type of the elements.
        time_ms: time in milliseconds, as printed; the mean if there are several runs.
        params: parameters that the course varied; empty if it varied none.
        runs_ms: time of each run in milliseconds; empty if only `time_ms` is published.
        gflops: rate in 10⁹ operations a second, as printed; None if no rate is published.
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
        """Mean of the runs in milliseconds; the published time if there are no runs."""
        return statistics.fmean(self.runs_ms) if self.runs_ms else self.time_ms


CMU = "CMU 2019"
TSINGHUA = "Tsinghua 2022"
SHEFFIELD = "Sheffield 2018"
SJTU = "SJTU 2016"
PMPP = "PMPP, chapter 5"

SOURCES = (CMU, TSINGHUA, SHEFFIELD, SJTU, PMPP)

CMU_BLOCK_EDGE = 32
"""LBLK: threads along each edge of a block, and elements along each edge of a sub-matrix."""


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
"""Times and rates of CMU's six methods at n = 1024 and 2048."""


def _tsinghua(
    method: str, label: str, parameter: str, *rows: tuple[int, float, tuple[float, ...]]
) -> tuple[Figure, ...]:
    return tuple(
        Figure(TSINGHUA, method, label, None, "int32", time_ms, {parameter: value}, runs_ms)
        for value, time_ms, runs_ms in rows
    )


TSINGHUA_GLOBAL = Figure(
    TSINGHUA, "coalesced", "method 1", None, "int32", 3.456,
    runs_ms=(3.425792, 3.452032, 3.533216, 3.417024, 3.453568),
)  # fmt: skip
"""Method 1: each thread computes one element from global memory."""

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
"""Method 2: each thread computes TILE_SIZE x TILE_SIZE elements in registers; fastest at 4."""

TSINGHUA_BLOCK_SIZE: tuple[Figure, ...] = _tsinghua(
    "tiled", "method 3", "BLOCK_SIZE",
    (1, 51.74, (51.712097, 51.725086, 51.678879, 51.765663, 51.833473)),
    (2, 9.09, (9.067776, 9.069152, 9.130688, 9.096960, 9.095712)),
    (4, 3.26, (3.275680, 3.224512, 3.325344, 3.240224, 3.241024)),
    (8, 2.38, (2.395712, 2.349440, 2.401856, 2.404064, 2.350624)),
    (16, 2.38, (2.411744, 2.398976, 2.359040, 2.380992, 2.367104)),
    (32, 2.41, (2.497248, 2.368448, 2.373824, 2.386144, 2.430048)),
)  # fmt: skip
"""Method 3: tiles in shared memory, BLOCK_SIZE x BLOCK_SIZE threads; times fall up to 8, then stay flat."""

TSINGHUA_FIGURES: tuple[Figure, ...] = (TSINGHUA_GLOBAL, *TSINGHUA_TILE_SIZE, *TSINGHUA_BLOCK_SIZE)

FIGURES: tuple[Figure, ...] = (*CMU_FIGURES, *TSINGHUA_FIGURES)
"""All published times."""


def swept(method: str, parameter: str) -> tuple[Figure, ...]:
    """Return the published sweep of a method over one parameter, by rising value; empty if there is none."""
    figures = [f for f in FIGURES if f.method == method and tuple(f.params) == (parameter,)]
    return tuple(sorted(figures, key=lambda figure: figure.params[parameter]))


SHEFFIELD_ROUNDING_BASE = 4
"""Base of the lab's rounding of threads to 4 ^ floor(log4(threads)), whose square root is a power of two."""
SHEFFIELD_TILES_IN_SHARED_MEMORY = 2
"""Tiles of BLOCK_SIZE x BLOCK_SIZE elements that requiredSM(block size) counts; a step has two barriers."""

SJTU_REGISTERS_PER_SM = 8192
SJTU_THREADS_PER_SM = 768
SJTU_BLOCKS_PER_SM = 8
"""Limits of a multiprocessor of compute capability 1.0: registers, threads and blocks."""
SJTU_THREADS_PER_BLOCK = 256
SJTU_BLOCKS_BY_REGISTERS_PER_THREAD: dict[int, int] = {10: 3, 11: 2}
"""Active blocks of 256 threads on a multiprocessor, by registers for each thread: an 11th costs a third."""
SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD: dict[int, int] = {10: 2560, 11: 2816}
SJTU_LOAD_CYCLES = 400
"""Latency of a load from global memory, in cycles."""
SJTU_INSTRUCTION_CYCLES = 4
"""Cycles that a warp needs for an instruction."""


@dataclass(frozen=True)
class HiddenLatency:
    """Cycles of a load's latency that warps with independent instructions hide.

    Attributes:
        independent_instructions: instructions of a warp between a load and the use of its value.
        covered: whether the whole latency is hidden.
    """

    independent_instructions: int
    warps: int
    hidden_cycles: int
    covered: bool


SJTU_LATENCIES: tuple[HiddenLatency, ...] = (
    HiddenLatency(independent_instructions=4, warps=24, hidden_cycles=384, covered=False),
    HiddenLatency(independent_instructions=8, warps=16, hidden_cycles=512, covered=True),
)
"""The lecture's two examples: fewer warps hide the latency better if they have more instructions."""
SJTU_ELEMENTS_PER_THREAD = 2
"""Elements of the product that a thread computes; a tile of the first matrix serves both."""

PMPP_GPU = "A100"
PMPP_BANDWIDTH_GBYTES_PER_S = 1555.0
PMPP_PEAK_GFLOPS = 19500.0
"""Peak rate of float32."""
PMPP_TILE_WIDTH = 16
PMPP_NAIVE_FLOP_PER_BYTE = 0.25
"""Intensity of the naive kernel: two operations for two float32 loads of 4 bytes.

The notes also print 0.5 B/op for it, which is wrong.
"""
PMPP_TILED_FLOP_PER_BYTE = 4.0
"""Intensity of the kernel with tiles of 16 x 16."""
PMPP_TILED_BOUND_GFLOPS = 6220.0
"""Rate that the memory bandwidth allows the tiled kernel."""
PMPP_TILED_BOUND_OF_PEAK = 0.32
"""Rate that the memory bandwidth allows the tiled kernel, as a fraction of the peak."""
PMPP_SHARED_BYTES_PER_SM = 164 * 1024
PMPP_THREADS_PER_SM = 2048
PMPP_SHARED_BYTES_PER_THREAD_AT_MOST = 82
"""Maximum shared memory for each thread that still lets an SM hold all its threads, in bytes."""
PMPP_TILED_SHARED_BYTES_PER_THREAD = 8
"""Shared memory for each thread of the tiled kernel: two elements, in bytes."""
