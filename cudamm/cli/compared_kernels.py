"""The two kernels that a command line of `compare` names, and the problem on which they are compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.kernels.problem import Problem
    from cudamm.kernels.selection import Selection
    from cudamm.kernels.variant import Variant


def compared_kernels(
    selection: Selection,
    names: Sequence[str],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    arch: str,
    quiet: bool,
) -> tuple[list[tuple[str, Variant]], Problem]:
    """Return the two kernels, each with the name under which it is shown, and their problem.

    Without `--dtype`, the element type is the first one that both kernels have. What had to be assumed about
    the files is printed on standard error, unless `quiet`.

    Raises:
        UsageError: a name matches no kernel or several, both names are the same, or there is no problem that
            both kernels compute.
    """
    from cudamm.api.traceable_cases import traceable_cases
    from cudamm.cli.asked_cases import print_remarks
    from cudamm.kernels.variant_pair import pair

    old, new = names
    if old == new:
        raise UsageError(
            f"both kernels are {old}: name two, or two values of a parameter, as in {old},BM=64, or two "
            f"functions of a file, as in {old},entry=NAME"
        )
    if len(sizes) > 1 or len(dtypes) > 1:
        raise UsageError("compare takes two kernels on one problem: name one size and one --dtype")
    variants = pair(selection, (old, new), "compare")
    methods = [variant.method for variant in variants]
    print_remarks([remark for method in methods for remark in method.remarks], quiet)
    common = [name for name in methods[0].element_types if name in methods[1].element_types]
    if not common:
        types = [", ".join(method.element_types) for method in methods]
        raise UsageError(
            f"{old} multiplies matrices of {types[0]} and {new} of {types[1]}: compare takes two kernels of "
            "one element type; cudamm trace --compare takes these two, and cudamm occupancy"
        )
    chosen, _, remarks = traceable_cases(
        variants, lambda method: True, sizes, dtypes or common[:1], seed, arch
    )
    print_remarks(remarks, quiet)
    (old_variant, problem), (new_variant, _) = chosen
    shown = zip(short_names(old, new), (old_variant, new_variant), strict=True)
    return [(name, _named(variant, name)) for name, variant in shown], problem


def short_names(old: str, new: str) -> tuple[str, str]:
    """Return the shortest names that tell the kernels apart: without folders, with them, or with values."""
    from cudamm.kernels.header import STANDARD_INPUT

    files = [name.partition(",")[0].strip() for name in (old, new)]
    files = ["standard input" if file == STANDARD_INPUT else file for file in files]
    for first, second in ([Path(file).name for file in files], files):
        if first != second:
            return first, second
    return old.strip(), new.strip()


def _named(variant: Variant, name: str) -> Variant:
    """Return the variant of a user's file with a name that tells it from the other kernel."""
    if variant.method.builtin:
        return variant
    return dataclasses.replace(variant, method=dataclasses.replace(variant.method, name=name))
