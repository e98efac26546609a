"""The cases that `trace` runs on the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cudamm.api.defaults import SIZE
from cudamm.devices.find_device import host
from cudamm.kernels.chosen_cases import Cases, cases_of_supported_types, kernels_of
from cudamm.kernels.method import Method
from cudamm.kernels.usual_sizes import differing_sizes, own_size_or
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
) -> tuple[Cases, list[str], list[str]]:
    """Return each variant with a kernel on each problem, and two lists of remarks.

    The first list is about methods that lack an element type. The second is about other methods left out, and
    about the choice of `best`.

    Args:
        is_named: returns whether a method is named itself, so that it may not be left out.
        arch: the architecture for which `best` is chosen.

    Raises:
        UsageError: a named method has no warps, or a size, a type or the architecture does not exist.
    """
    why_refused = "have no warps to trace; name a method that runs on a GPU"
    kernels = kernels_of(variants, is_named, why_refused, "trace")
    differing = [] if sizes else differing_sizes(kernels, SIZE)
    sizes = sizes or [own_size_or(kernels, SIZE)]
    chosen, left_out = cases_of_supported_types(kernels, is_named, sizes, dtypes, seed)
    fitting, remarks = fitted(chosen, is_named, host().lacks, on_host(host(), arch))
    return fitting, left_out, [*differing, *remarks]
