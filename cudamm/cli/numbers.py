"""From `--threads`, `--registers` and `--shared` to configurations given as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.cli.options import Selection
    from cudamm.occupancy.numbers import Numbers


def bare_numbers(
    selection: Selection, registers: str | None, shared: str | None, barriers: int, searched: bool
) -> Numbers | None:
    """What the options say, None where they are about kernels.

    `--threads` and `--grid` belong to bare numbers where no kernel is named.

    Args:
        searched: whether the block size is to be found, and not given.

    Raises:
        UsageError: a number that cannot be, text that is no list or range, or numbers beside kernels.
    """
    from cudamm.occupancy.numbers import Numbers

    fields = selection.kernel_fields
    if registers is None and shared is None and (selection.kernel is not None or "threads" not in fields):
        return None
    beside = [name for name in fields if name not in ("threads", "grid")]
    if selection.methods or selection.kernel or selection.block or selection.tile or selection.defines:
        beside.append("a kernel's own options")
    if beside:
        raise UsageError(
            f"--registers and --shared are bare numbers and go with no kernel: leave out {beside[0]}"
        )
    if "threads" not in fields and not searched:
        raise UsageError("--threads is missing: how many threads has a block?")
    if "threads" in fields and searched:
        raise UsageError("--suggest finds the threads of a block: leave out --threads")
    grid = fields.get("grid")
    return Numbers(
        threads=() if searched else whole_numbers("threads", fields["threads"], least=1),
        registers=whole_numbers("registers", registers, least=0) if registers is not None else (0,),
        shared_bytes=_shared(shared) if shared is not None else (0,),
        barriers=barriers,
        grid_blocks=None
        if grid is None
        else math.prod(
            number for extent in grid.split(",") for number in whole_numbers("grid", extent, least=1)
        ),
    )


def whole_numbers(option: str, text: str, least: int) -> tuple[int, ...]:
    """A list such as 8,16,32 or a range such as 32:1024:32. Raises UsageError, naming the option."""
    from cudamm.catalog import parse_values

    try:
        values = parse_values(text)
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None
    wrong = [value for value in values if not isinstance(value, int) or value < least]
    if wrong:
        raise UsageError(f"--{option} {wrong[0]}: it has to be a whole number of at least {least}")
    return tuple(value for value in values if isinstance(value, int))


def _shared(text: str) -> tuple[int, ...] | Callable[[int], int]:
    """Values, or arithmetic over `threads`: the lab's `requiredSM`."""
    if "threads" not in text:
        return whole_numbers("shared", text, least=0)
    from cudamm.expression import parse

    expression = parse(text)

    def shared_bytes(threads: int) -> int:
        value = expression.whole({"threads": threads})
        if value < 0:
            raise UsageError(f"--shared {text}: that is {value} at {threads} threads")
        return value

    return shared_bytes
