"""The cases that the options of a command line ask for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

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
    scale: tuple[float, float] = (1.0, 0.0),
    allowed_precision: LowerPrecision = "",
    inputs: AnyKind = "",
) -> Cases:
    """Return every variant on every problem, without methods of `all` that lack an element type.

    Print the names of the methods left out on standard error, unless `quiet`.

    Args:
        is_named: returns whether a method is named itself, so that it may not be left out.
        all_types: if no element type is named, take all types of each method instead of one.
        scale: α and β of α A B + β C.
        allowed_precision: a format to which kernels may round.
        inputs: kind of the random inputs.

    Raises:
        UsageError: a size or an element type does not exist.
    """
    from cudamm.kernels.chosen_cases import cases_of_supported_types

    chosen, remarks = cases_of_supported_types(
        variants, is_named, sizes, dtypes, seed, all_types, scale, allowed_precision, inputs
    )
    print_remarks(remarks, quiet, [variant.method for variant in variants])
    return chosen


def print_remarks(remarks: Sequence[str], quiet: bool, methods: Sequence[Method] = ()) -> None:
    """Print remarks on standard error, unless `quiet`.

    On a terminal, what was read from a user's file is printed once for each version of the file; `--verbose`
    prints it again.

    Args:
        methods: those that the remarks may be about.
    """
    from cudamm.output.console import messages

    console = messages()
    is_first = not console.is_terminal or not {"-v", "--verbose"}.isdisjoint(sys.argv)
    for remark in () if quiet else remarks:
        about = [method for method in methods if remark in method.remarks]
        if is_first or not about or not _was_printed(remark, about[0]):
            console.print(f"cudamm: {remark}", soft_wrap=True, markup=False)


def _was_printed(remark: str, method: Method) -> bool:
    """Return whether a remark about this version of a file was printed earlier; remember that it is now."""
    from cudamm.compile.compile_cache import cache_folder
    from cudamm.compile.identity import hash_of

    identity = hash_of((str(method.path.absolute()), method.source, *method.included, remark), 32)
    try:
        (cache_folder() / f"{identity}.printed").touch(exist_ok=False)
    except FileExistsError:
        return True
    except OSError:
        pass  # it is printed again
    return False
