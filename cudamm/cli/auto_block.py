"""`--block auto`: the block size of highest occupancy, to be timed against the default."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cudamm.api.defaults import OCCUPANCY_ARCH
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import Target
    from cudamm.kernels.problem import Problem
    from cudamm.kernels.selection import Selection
    from cudamm.kernels.variant import Variant


def default_and_best(
    selection: Selection,
    target: Target[Any],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    fmad: bool,
) -> tuple[list[tuple[Variant, Problem]], list[str]]:
    """Return each method at its default block size and at the best, if they differ; and how it was found.

    Raises:
        UsageError: no method chosen has a block size.
        NoDeviceError: there is no nvcc to say how many registers a kernel takes.
    """
    from cudamm.devices.gpu_device import GpuTarget
    from cudamm.kernels.architecture import find_architecture
    from cudamm.kernels.chosen_cases import cases
    from cudamm.kernels.variant import Variant
    from cudamm.occupancy.block_size import BLOCK_SIZE, best_block_sizes
    from cudamm.output.occupancy_suggestions import suggestion_line

    plain = dataclasses.replace(selection, block=None)
    defaults = cases(plain.variants(), sizes, dtypes, seed)
    swept = dataclasses.replace(plain, swept=(BLOCK_SIZE,))

    def has_block_size(variant: Variant) -> bool:
        return not variant.method.runs_on_host and BLOCK_SIZE in variant.params

    tried = [case for case in cases(swept.variants(), sizes, dtypes, seed) if has_block_size(case[0])]
    if not tried:
        raise UsageError(f"--block auto: no method chosen has the parameter {BLOCK_SIZE} and runs on a GPU")
    architecture = target.architecture if isinstance(target, GpuTarget) else find_architecture(OCCUPANCY_ARCH)
    best = best_block_sizes([architecture], tried, fmad, None, lambda doing, done, total: None)
    chosen: list[tuple[Variant, Problem]] = []
    lines: list[str] = []
    for variant, problem in defaults:
        chosen.append((variant, problem))
        if not has_block_size(variant):
            continue
        result = next(best)
        if result.suggestion is None:
            lines.append(f"{variant.method.name}: no block size can run on {result.arch}: {result.reason}")
            continue
        suggested = Variant(variant.method, tuple(result.params.items()))
        lines.append(suggestion_line(result) + (", the default" if suggested == variant else ""))
        if suggested != variant:
            chosen.append((suggested, problem))
    return chosen, list(dict.fromkeys(lines))
