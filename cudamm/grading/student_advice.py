"""Advice for students, who hand in a kernel: they choose neither its launch nor cudamm's options."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from cudamm.analysis.mistakes import OR_ATOMIC, OR_PADDED, WARP_THREADS, Mistake
from cudamm.analysis.proven_cause import WITHIN_MATRIX
from cudamm.kernels.problem import parse_shape
from cudamm.kernels.variant import Variant

_OPTIONS = (
    (r"; pass options such as .*?, or write", "; launch it in main, or write"),
    (r": name its arguments, as in --entry '[^']*'", ": hand in a kernel that is none"),
    (r": choose one with --entry", ": hand in one"),
    (r"; list its arguments with --args[^;]*", ""),
    (r" \(if [^()]* meant to be column-major: --layout [^()]*\)", ""),
    (r": pass the number of bytes with --shared-bytes[^;]*", ": give the array a constant size"),
    (r"; write its types as `element`, or choose another type with --dtype", ""),
)
"""Parts of messages that name options, and what students are told instead."""


def without_options(text: str) -> str:
    """Return a message without the advice to use an option."""
    for pattern, advice in _OPTIONS:
        text = re.sub(pattern, advice, text)
    return text


def described(
    mistake: Mistake, at_same_sizes: Sequence[Mistake], sizes: Collection[str], variant: Variant
) -> str:
    """Return a mistake in words, with its line and a cure that changes the kernel alone.

    Args:
        at_same_sizes: all mistakes of the kernel.
        sizes: sizes at which mistakes were searched for.
    """
    place = f"{mistake.file}:{mistake.line}: " if mistake.line else ""
    cure, message = mistake.cure.partition(OR_PADDED)[0], mistake.message
    if _leaves_row(mistake, at_same_sizes, sizes):
        message = (
            f"an index past the end of a row of {mistake.array} is an element of the next row, which another "
            f"block owns: {message}"
        )
        cure = WITHIN_MATRIX
    if not variant.method.adds_to_zeros:
        cure = cure.removesuffix(OR_ATOMIC)
    return f"{place}{message} (at {mistake.sizes[0]})" + (f"; cure: {cure}" if cure else "")


def _leaves_row(mistake: Mistake, others: Sequence[Mistake], sizes: Collection[str]) -> bool:
    """Return whether a race between blocks shows that an index leaves its row.

    Its line also leaves the matrix, or it is seen only at sizes whose rows are no multiples of a warp.
    """
    blocks = {thread.block for thread in mistake.threads}
    if mistake.kind != "race" or mistake.array not in ("A", "B", "C") or len(blocks) == 1:
        return False
    lines = {mistake.line, mistake.other_line}
    leaves_matrix = any(
        m.kind == "out-of-bounds" and m.array == mistake.array and m.line in lines for m in others
    )
    whole = {size for size in sizes if parse_shape(size).n % WARP_THREADS == 0}
    return leaves_matrix or (bool(whole) and whole.isdisjoint(mistake.sizes))
