"""Configurations that `--threads`, `--registers` and `--shared` describe by numbers, without a kernel."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from cudamm.errors import UsageError
from cudamm.source.expression import LARGEST_VALUE

if TYPE_CHECKING:
    from cudamm.kernels.selection import Selection
    from cudamm.occupancy.configurations import Numbers

LARGEST = 2**31 - 1
"""Largest number of threads, registers, bytes of shared memory or blocks along one axis."""


def bare_numbers(
    selection: Selection,
    registers: str | None,
    shared: str | None,
    barriers: int | None,
    fmad: bool,
    searched: bool,
) -> Numbers | None:
    """Return the numbers that the options give; None if the options describe kernels.

    `--threads` and `--grid` are bare numbers if no kernel is named.

    Args:
        searched: True if the block size is to be found instead of given.

    Raises:
        UsageError: a number is impossible, a text is no list or range, or a kernel is named beside numbers.
    """
    from cudamm.occupancy.configurations import Numbers

    fields = selection.kernel_fields
    if registers is None and shared is None and (selection.kernels or "threads" not in fields):
        if barriers is not None:
            raise UsageError(
                "--barriers goes with bare numbers: leave it out, the compiler counts a kernel's barriers"
            )
        return None
    if selection.kernels:
        named = selection.kernels[0]
        raise UsageError(
            f"bare numbers (--registers, --shared) stand for a kernel: leave out {named}, and give its"
            f" threads and the shared memory that cudamm occupancy {named} prints, as in "
            f"--threads 256 --registers {registers or 32} --shared {shared or 2048}"
        )
    kernel_options = {
        "-m": selection.methods,
        "--block": selection.block,
        "--tile": selection.tile,
        "-D": selection.defines,
        "--no-fmad": not fmad,
    } | {f"--{name}": name not in ("threads", "grid") for name in fields}
    for option, is_given in kernel_options.items():
        if is_given:
            raise UsageError(
                f"bare numbers (--threads, --registers, --shared) stand for a kernel: leave out {option}"
            )
    if "threads" not in fields and not searched:
        raise UsageError("--threads is missing: add the number of threads per block, such as --threads 256")
    if "threads" in fields and searched:
        raise UsageError("--suggest finds the threads of a block: leave out --threads")
    return Numbers(
        threads=() if searched else _threads(fields["threads"]),
        registers=whole_numbers("registers", registers, least=0) if registers is not None else (0,),
        shared_bytes=_shared(shared) if shared is not None else (0,),
        barriers=1 if barriers is None else barriers,
        grid_blocks=_grid(fields["grid"]) if "grid" in fields else None,
    )


def whole_numbers(option: str, text: str, least: int) -> tuple[int, ...]:
    """Return the numbers of a list such as 8,16,32 or a range such as 32:1024:32.

    Raises:
        UsageError: a value is no whole number, is below `least`, or exceeds 32 bits. The message names the
            option.
    """
    from cudamm.kernels.variant import parse_values

    try:
        values = parse_values(text)
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None
    wrong = [value for value in values if not isinstance(value, int) or not least <= value <= LARGEST]
    if wrong:
        raise UsageError(f"--{option} {wrong[0]} is not a whole number between {least} and {LARGEST:,}")
    return tuple(value for value in values if isinstance(value, int))


def _threads(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if len(set(words)) < len(words):
        extents = [int(word) for word in words if word.isdigit() and len(word) < 5]
        block = extents if len(extents) == len(words) == 2 else [16, 16]
        raise UsageError(
            f"--threads {text} without a kernel is a list of block sizes, and repeats one: "
            f"write {block[0] * block[1]} for a block of {block[0]} x {block[1]}"
        )
    return whole_numbers("threads", text, least=1)


def _grid(text: str) -> int:
    """Return the number of blocks of a grid that is given by its extents."""
    extents = text.split(",")
    if len(extents) > 3 or not all(
        re.fullmatch(r"\s*[0-9]{1,10}\s*", e) and 0 < int(e) <= LARGEST for e in extents
    ):
        raise UsageError(f"--grid {text} is not one to three numbers of blocks, such as 64,64")
    blocks = math.prod(map(int, extents))
    if blocks >= LARGEST_VALUE:
        raise UsageError(f"--grid {text} has {blocks:,} blocks: the number has to be below 2^63")
    return blocks


def _shared(text: str) -> tuple[int, ...] | Callable[[int], int]:
    """Return values in bytes, or a function of the threads per block if the text names `threads`."""
    if ":" in text or not re.search(r"[a-z*/+()-]", text):
        return whole_numbers("shared", text, least=0)
    from cudamm.kernels.architecture import WARP_THREADS
    from cudamm.source.expression import parse

    def shared_bytes(threads: int) -> int:
        try:
            value = parse(text).whole({"threads": threads})
        except UsageError as error:
            raise UsageError(f"--shared: {error}") from None
        if not 0 <= value <= LARGEST:
            raise UsageError(
                f"--shared {text} is {value} bytes at {threads} threads: it must be 0 to {LARGEST}"
            )
        return value

    shared_bytes(WARP_THREADS)  # raises an error early
    return shared_bytes
