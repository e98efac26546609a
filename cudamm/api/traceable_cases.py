"""The cases that `trace` runs on the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cudamm.api.defaults import SIZE
from cudamm.devices.find_device import host
from cudamm.kernels.chosen_cases import Cases, cases, kernels_of
from cudamm.kernels.method import Method
from cudamm.kernels.variant import Variant
from cudamm.tuning.fitted_cases import fitted
from cudamm.tuning.place import on_host


def traceable_cases(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    arch: str,
) -> tuple[Cases, list[str]]:
    """Return each variant with a kernel on each problem, and a remark on each method left out or chosen.

    Args:
        is_named: whether a method is named itself, so that it may not be left out.
        arch: the architecture that `best` is chosen for.

    Raises:
        UsageError: a named method has no warps, or a size, a type or the architecture does not exist.
    """
    untraced = "have no warps to trace; name a method that runs on a GPU"
    kernels = kernels_of(variants, is_named, untraced, "trace")
    chosen = cases(kernels, sizes or (SIZE,), dtypes, seed)
    return fitted(chosen, is_named, host().lacks, on_host(host(), arch))
