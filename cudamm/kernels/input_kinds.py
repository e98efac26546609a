"""The kinds of random inputs: which numbers the elements of A and B are."""

from __future__ import annotations

from typing import Literal, get_args

from cudamm.errors import UsageError
from cudamm.kernels.method import ElementType

InputKind = Literal["normal", "uniform", "integers", "zeros"]
"""`normal`: standard normal numbers. `uniform`: numbers in [-1, 1). `integers`: whole numbers so small that
all sums are exact. `zeros`: for timing only, because many wrong kernels have the same product."""

AnyKind = InputKind | Literal[""]
"""A kind, or empty for the default of the element type."""

INPUT_KINDS: tuple[InputKind, ...] = get_args(InputKind)

NOT_VERIFIED = (
    "nothing is verified on zeros, because many wrong kernels have the same product; the rates are those of "
    "kernels that multiply zeros"
)


def default_kind(element: ElementType) -> InputKind:
    """Return the kind of inputs that a problem has if none is asked for."""
    if element.is_integer:
        return "integers"
    return "normal" if element.rounds_sums else "uniform"


def has_kind(element: ElementType, kind: AnyKind) -> bool:
    """Return whether elements of the type can be numbers of the kind."""
    return not element.is_integer or kind in ("", "integers", "zeros")


def check_kind(element: ElementType, kind: AnyKind) -> None:
    """Raise UsageError if the type has no numbers of the kind."""
    if not has_kind(element, kind):
        raise UsageError(f"{element.name} has no {kind} inputs: choose integers or zeros, or another type")


def unusual_inputs(dtype: str, kind: AnyKind) -> str:
    """Return `normal inputs`; empty for uniform floating-point numbers, and for whole numbers of int32.

    These were the only inputs of versions whose results do not name their inputs.
    """
    usual = "integers" if dtype == "int32" else "uniform"
    return "" if kind in ("", usual) else f"{kind} inputs"
