"""The kinds of random inputs: which numbers the elements of A and B are."""

from __future__ import annotations

from typing import Literal, get_args

from cudamm.errors import UsageError
from cudamm.kernels.method import ElementType

InputKind = Literal["normal", "uniform", "integers", "zeros"]
"""`normal`: standard normal numbers. `uniform`: numbers in [-1, 1), some of which 8 and 16 bits round to 1.
`integers`: whole numbers so small that all sums are exact. `zeros`: for timing only, because many wrong
kernels have the same product."""

AnyKind = InputKind | Literal[""]
"""A kind, or empty for the default of the element type."""

INPUT_KINDS: tuple[InputKind, ...] = get_args(InputKind)

NOT_VERIFIED = "nothing was verified, because many wrong kernels have the right product of zeros"
"""Remark on what was timed on zeros."""


def named_kind(name: str) -> AnyKind:
    """Return the kind of a name, or the empty one. Raises UsageError if there is no such kind."""
    kinds: tuple[AnyKind, ...] = ("", *INPUT_KINDS)
    for kind in kinds:
        if name == kind:
            return kind
    raise UsageError(f"inputs={name!r}: it has to be one of {', '.join(INPUT_KINDS)}, or empty")


def default_kind(element: ElementType) -> InputKind:
    """Return the kind of inputs that a problem has if none is asked for."""
    if element.is_integer:
        return "integers"
    return "normal" if element.is_narrow else "uniform"


def has_kind(element: ElementType, kind: AnyKind) -> bool:
    """Return whether elements of the type can be numbers of the kind."""
    return not element.is_integer or kind in ("", "integers", "zeros")


def check_kind(element: ElementType, kind: AnyKind) -> None:
    """Raise UsageError if the type has no numbers of the kind."""
    if not has_kind(element, kind):
        raise UsageError(f"{element.name} has no {kind} inputs: choose integers or zeros, or another type")


def usual_kind(dtype: str) -> InputKind:
    """Return the kind of inputs of versions whose results do not name it."""
    return "integers" if dtype in ("int32", "int8") else "uniform"


def unusual_inputs(dtype: str, kind: AnyKind) -> str:
    """Return `normal inputs`, `integer inputs` or the like; empty for `usual_kind`."""
    return "" if kind in ("", usual_kind(dtype)) else f"{kind.removesuffix('s')} inputs"
