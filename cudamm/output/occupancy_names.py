"""The names of results, by which results that are shown together can be distinguished."""

from __future__ import annotations

from collections.abc import Sequence

from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.number_format import parameters


def configuration(result: OccupancyResult, among: Sequence[OccupancyResult] = ()) -> str:
    """Return a configuration's name, such as `tiled BLOCK_SIZE=16 on sm_90`, or its numbers.

    Args:
        among: results from which the name distinguishes it, by size and type if necessary.
    """
    if result.method is not None:
        return f"{result.method} {names_of(result, among)}".strip() + f" on {result.arch}"
    return (
        f"{result.threads_per_block} threads, {result.registers_per_thread} registers, "
        f"{result.shared_bytes_per_block:,} bytes on {result.arch}"
    )


def names_of(result: OccupancyResult, results: Sequence[OccupancyResult]) -> str:
    """Return a kernel's parameters, with its size and element type if the results have several."""
    names = [parameters(result.params)] if result.params else []
    if len({(r.m, r.n, r.k) for r in results}) > 1 and result.method is not None:
        names.append(f"{result.m}x{result.n}x{result.k}")
    if len({r.dtype for r in results}) > 1 and result.dtype is not None:
        names.append(result.dtype)
    return " ".join(names)


def several_architectures(results: Sequence[OccupancyResult]) -> bool:
    """Return whether the results are for more than one architecture, or several GPUs of one."""
    return len({(result.arch, result.gpu) for result in results}) > 1


def architecture_name(result: OccupancyResult, results: Sequence[OccupancyResult]) -> str:
    """Return a result's architecture; its GPU if the results are for several GPUs of one architecture."""
    several_gpus = len({other.gpu for other in results if other.arch == result.arch}) > 1
    return result.gpu if several_gpus else result.arch


def bare_numbers(result: OccupancyResult) -> str:
    """Return registers and shared memory, for a request that searches for the block size."""
    return f"{result.registers_per_thread} registers, {result.shared_bytes_per_block:,} bytes"
