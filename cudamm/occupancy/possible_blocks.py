"""The other blocks that a kernel can have: `--why` proposes the nearest that raise the occupancy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.architecture import WARP_THREADS, Architecture
from cudamm.kernels.launch_plan import Extents
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.block_constants import has_number_instead, names_in_block, uses, with_constants
from cudamm.occupancy.block_size import LARGEST_EDGE
from cudamm.occupancy.kernel_occupancy import compile_for_all, plan_for, results_of
from cudamm.occupancy.occupancy_result import OccupancyResult, Step

Case = tuple[Variant, Problem]


def steps_of_block_size(
    architecture: Architecture,
    case: Case,
    result: OccupancyResult,
    fmad: bool,
    carveout_percent: int | None,
) -> tuple[Step, ...]:
    """Return the nearest smaller and the nearest larger block of a kernel with more active warps.

    If one parameter or constant of the file gives the block, the kernel is compiled with its other values,
    because they change registers and shared memory too. If several do, and the kernel itself uses one, none
    is proposed: they are its tiles. None is proposed either if the launch of a user's kernel has the value as
    a number too, as `N / 32` beside a block of TILE threads: another value does not change that number. A
    block that the launch alone fixes keeps its form, and the kernel its registers and shared memory.
    """
    case = with_constants(case[0]), case[1]
    variant, _ = case
    names = names_in_block(variant.method) & variant.params.keys()
    if len(names) == 1:
        name = names.pop()
        if has_number_instead(variant, name):
            return ()
        return nearest(_with_other_values(architecture, case, name, fmad, carveout_percent), result)
    if names and (variant.method.builtin or uses(variant.method, names)):
        return ()
    return nearest(_of_fixed_block(architecture, case, result, fmad, carveout_percent), result)


def nearest(steps: Iterable[Step], result: OccupancyResult) -> tuple[Step, ...]:
    """Return the nearest smaller and the nearest larger block size that allow more active warps."""
    better = [step for step in steps if step.active_warps > result.active_warps]
    sized = sorted((step.threads_per_block or 0, number) for number, step in enumerate(better))
    smaller = [number for threads, number in sized if threads < result.threads_per_block]
    larger = [number for threads, number in sized if threads > result.threads_per_block]
    return tuple(better[number] for number in (*smaller[-1:], *larger[:1]))


def _with_other_values(
    architecture: Architecture, case: Case, name: str, fmad: bool, carveout_percent: int | None
) -> Iterator[Step]:
    variant, problem = case
    (values,) = (parameter.values for parameter in variant.method.parameters if parameter.name == name)
    others = [
        Variant(variant.method, tuple((n, value if n == name else v) for n, v in variant.values))
        for value in values
        if value != variant.params[name]
    ]
    planned = [plan_for(architecture, other, problem, fmad) for other in others]
    launchable = [plan for plan in planned if not plan.impossible]
    try:
        compiled = compile_for_all({architecture: launchable}, lambda *_: None)
    except UsageError:  # the kernel compiles with none of the other values
        return
    for found in results_of(architecture, launchable, compiled[architecture], carveout_percent):
        if not found.reason:
            params = {name: found.params[name]}
            yield Step(
                found.active_blocks, found.active_warps, found.occupancy,
                threads_per_block=found.threads_per_block, params=params,
            )  # fmt: skip


def _of_fixed_block(
    architecture: Architecture,
    case: Case,
    result: OccupancyResult,
    fmad: bool,
    carveout_percent: int | None,
) -> Iterator[Step]:
    launch = plan_for(architecture, *case, fmad).launch
    if launch is None:
        return
    most = architecture.threads_per_block
    if result.resources is not None and result.resources.max_threads_per_block is not None:
        most = min(most, result.resources.max_threads_per_block)
    for block in _blocks_like(launch.block):
        threads = int(np.prod(block))
        if threads % WARP_THREADS or threads > most:
            continue
        after = active_blocks(
            architecture, threads, result.registers_per_thread, result.shared_bytes_per_block,
            result.barriers, carveout_percent,
        )  # fmt: skip
        warps = int(after.warps)
        yield Step(
            int(after.active), warps, warps / architecture.warps, threads_per_block=threads, block=block
        )


def _blocks_like(block: Extents) -> Sequence[tuple[int, ...]]:
    """Return blocks of the same form: squares whose edge is a power of two, rows, or the same rows."""
    x, y, z = block
    if x == y and z == 1:
        return [(edge, edge) for edge in (4, 8, 16, LARGEST_EDGE)]
    if y == z == 1:
        return [(threads,) for threads in range(WARP_THREADS, LARGEST_EDGE**2 + 1, WARP_THREADS)]
    return [(x, rows, z)[: 3 if z > 1 else 2] for rows in range(1, LARGEST_EDGE**2 + 1)]
