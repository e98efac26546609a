"""The cases that the options of a command line ask for."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cudamm.errors import NoDeviceError
from cudamm.kernels.method import NOT_TRIED, LaunchRemark

if TYPE_CHECKING:
    from cudamm.kernels.chosen_cases import Cases
    from cudamm.kernels.input_kinds import AnyKind
    from cudamm.kernels.lower_precision import LowerPrecision
    from cudamm.kernels.method import Method
    from cudamm.kernels.variant import Variant


def asked_cases(
    variants: Sequence[Variant],
    is_named: Callable[[Method], bool],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int = 0,
    *,
    quiet: bool = False,
    all_types: bool = False,
    scale: tuple[float, float] | None = (1.0, 0.0),
    allowed_precision: LowerPrecision = "",
    inputs: AnyKind = "",
) -> Cases:
    """Return every variant on every problem, without methods of `all` that lack an element type.

    Print the names of the methods left out on standard error, unless `quiet`.

    Args:
        is_named: returns whether a method is named itself, so that it may not be left out.
        all_types: if no element type is named, take all types of each method instead of one.
        scale: as for `cases`.
        allowed_precision: a format to which kernels may round.
        inputs: kind of the random inputs.

    Raises:
        UsageError: a size or an element type does not exist.
    """
    from cudamm.kernels.chosen_cases import cases_of_supported_types

    chosen, remarks = cases_of_supported_types(
        variants, is_named, sizes, dtypes, seed, all_types, scale, allowed_precision, inputs
    )
    print_remarks(remarks, quiet)
    return chosen


def print_remarks(remarks: Sequence[str], quiet: bool) -> None:
    """Print remarks on standard error, unless `quiet`.

    A terminal shows the launch of a file's kernel once, until the launch changes: every command finds it.
    What is not tried is said each time.
    """
    from cudamm.output.console import messages

    console = messages()
    for remark in () if quiet else remarks:
        if isinstance(remark, LaunchRemark) and NOT_TRIED not in remark and console.file.isatty():
            if not _is_new(remark):
                continue
            remark += " (shown once; --save-launch keeps it in a file)"
        console.print(f"cudamm: {remark}", soft_wrap=True, markup=False)


def _is_new(remark: str) -> bool:
    """Return whether a remark was never printed in this folder, as far as the cache folder shows."""
    from cudamm.compile.compile_cache import cached

    made = []

    def make(path: Path) -> None:
        path.write_bytes(b"")
        made.append(path)

    with contextlib.suppress(NoDeviceError, OSError):
        cached(["shown remark", str(Path.cwd()), remark], ".shown", make)
        return bool(made)
    return True
