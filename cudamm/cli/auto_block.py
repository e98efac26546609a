"""`--block auto`: time the block size of highest occupancy beside the default one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cudamm.api.defaults import OCCUPANCY_ARCH
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import Target
    from cudamm.kernels.input_kinds import AnyKind
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
    quiet: bool,
    inputs: AnyKind = "",
) -> tuple[list[tuple[Variant, Problem]], list[str]]:
    """Return each method at its default block size and at that of highest occupancy, and remarks on these.

    Raises:
        UsageError: no chosen method has a block size.
        NoDeviceError: there is no nvcc, which reports how many registers a kernel uses.
    """
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.devices.gpu_device import GpuTarget
    from cudamm.kernels.architecture import find_architecture
    from cudamm.kernels.variant import Variant
    from cudamm.occupancy.block_size import BLOCK_SIZE, best_block_sizes
    from cudamm.output.occupancy_suggestions import suggestion_line

    at_default = dataclasses.replace(selection, block=None)
    at_every_size = dataclasses.replace(at_default, swept=(BLOCK_SIZE,))
    defaults = asked_cases(
        at_default.variants(), selection.is_named, sizes, dtypes, seed, quiet=quiet, inputs=inputs
    )
    swept = asked_cases(
        at_every_size.variants(), selection.is_named, sizes, dtypes, seed, quiet=True, inputs=inputs
    )

    def has_block_size(variant: Variant) -> bool:
        return not variant.method.runs_on_host and BLOCK_SIZE in variant.params

    candidates = [case for case in swept if has_block_size(case[0])]
    if not candidates:
        raise UsageError(
            f"--block auto needs a method with the parameter {BLOCK_SIZE} that runs on a GPU, such as "
            "-m tiled-dynamic"
        )
    architecture = target.architecture if isinstance(target, GpuTarget) else find_architecture(OCCUPANCY_ARCH)
    best = best_block_sizes([architecture], candidates, fmad, None, lambda doing, done, total: None)
    chosen: list[tuple[Variant, Problem]] = []
    remarks: list[str] = []
    for variant, problem in defaults:
        chosen.append((variant, problem))
        if not has_block_size(variant):
            continue
        result = next(best)
        if result.suggestion is None:
            remarks.append(f"{variant.method.name}: no block size can run on {result.arch}: {result.reason}")
            continue
        suggested = Variant(variant.method, tuple(result.params.items()))
        remarks.append(suggestion_line(result) + (", the default" if suggested == variant else ""))
        if suggested != variant:
            chosen.append((suggested, problem))
    return chosen, list(dict.fromkeys(remarks))
