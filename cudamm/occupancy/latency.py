"""Compute whether the active warps hide the latency of a load from global memory.

The model is that of SJTU's lecture. While a warp waits for a load, the other warps issue instructions, and
the warp itself issues instructions that do not depend on the load. The load is hidden if independent
instructions x cycles per instruction x active warps >= cycles of the load. More independent instructions
therefore help as much as more warps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from cudamm.errors import UsageError
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.occupancy.occupancy_result import Latency

_GUIDE = "CUDA Programming Guide"
_AI_KERNELS = "pointer chase of github.com/markdewing/AI_kernels"
_LUO = "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, 2024"
_LOADS: dict[tuple[int, int], tuple[int, str]] = {
    **dict.fromkeys(
        [(1, 0), (1, 1), (1, 2), (1, 3)], (400, "SJTU CS427; CUDA Best Practices Guide: 400 to 600")
    ),
    **dict.fromkeys([(2, 0), (2, 1)], (600, f"{_GUIDE}: 400 to 800")),
    **dict.fromkeys([(3, 0), (3, 2), (3, 5), (3, 7)], (300, f"{_GUIDE}: 200 to 400")),
    (7, 0): (460, f"V100, {_AI_KERNELS}"),
    (8, 0): (466, f"A100, {_LUO}"),
    (8, 6): (529, "RTX 3060, github.com/YKTian-x2b/AmpereArchViaMicroBenchMark"),
    (8, 9): (542, f"RTX 4090, {_LUO}"),
    (9, 0): (691, "H200, benchmarks/load_latency.py, 2026-11-21"),
    (10, 0): (860, f"B200, {_AI_KERNELS}"),
    (12, 0): (936, f"RTX 5090, {_AI_KERNELS}"),
}
"""Cycles from a load that misses every cache to its result, by compute capability, and their source."""


def load_cycles(architecture: Architecture) -> tuple[Fraction, str]:
    """Return the cycles of a load from global memory, and their source. Raise UsageError if unknown."""
    known = _LOADS.get(architecture.capability)
    if known is None:
        raise UsageError(
            f"cudamm's table contains no latency of a load on {architecture.name}: "
            "give the cycles with --load-cycles"
        )
    cycles, source = known
    return Fraction(cycles), source


def instruction_cycles(architecture: Architecture) -> Fraction:
    """Return the cycles between two float32 instructions of a multiprocessor, each for a whole warp.

    Source: the table of arithmetic throughput in NVIDIA's CUDA Programming Guide. For example, 8 results per
    cycle on 1.x are one warp in 4 cycles.
    """
    return Fraction(WARP_THREADS, architecture.fp32_per_cycle)


def latencies(
    active_warps: int, independent: Sequence[int], load: Fraction, instruction: Fraction
) -> tuple[Latency, ...]:
    """Return for each number of independent instructions whether the active warps hide a load.

    Args:
        independent: numbers of independent instructions per load.
        load: cycles from a load to its result.
        instruction: cycles of one instruction of a warp.
    """
    return tuple(
        Latency(
            load_cycles=float(load),
            instruction_cycles=float(instruction),
            independent=count,
            hidden_cycles=float(count * instruction * active_warps),
            warps_needed=math.ceil(load / (count * instruction)),
            independent_needed=math.ceil(load / (active_warps * instruction)) if active_warps else None,
            covered=count * instruction * active_warps >= load,
        )
        for count in independent
    )
