"""The occupancy of configurations given as numbers: threads, registers, shared memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cudamm.errors import UsageError
from cudamm.kernels.architecture import Architecture
from cudamm.occupancy.active_blocks import Integers
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.occupancy.occupancy_rows import results

MOST_CONFIGURATIONS = 2_000_000


@dataclass(frozen=True)
class Numbers:
    """Configurations: every combination of the values, in their order.

    Attributes:
        shared_bytes: static and dynamic, a block: values, or a function of the threads.
        grid_blocks: blocks to be run, None where waves do not matter.
    """

    threads: tuple[int, ...]
    registers: tuple[int, ...] = (0,)
    shared_bytes: tuple[int, ...] | Callable[[int], int] = (0,)
    barriers: int = 1
    grid_blocks: int | None = None

    def columns(self) -> tuple[Integers, Integers, Integers]:
        """Threads, registers and shared bytes of every configuration."""
        shared = self.shared_bytes
        if callable(shared):
            of_threads = {t: shared(t) for t in self.threads}
            rows = [(t, r, of_threads[t]) for t in self.threads for r in self.registers]
        else:
            rows = list(itertools.product(self.threads, self.registers, shared))
        threads, registers, shared_bytes = np.array(rows, np.int64).reshape(-1, 3).T
        return threads, registers, shared_bytes


def of_numbers(
    architectures: Sequence[Architecture],
    numbers: Numbers,
    carveout_percent: int | None,
    checked: bool = False,
) -> Iterator[OccupancyResult]:
    """The occupancy of every configuration, on one architecture after the other.

    Args:
        checked: whether it is known that some architecture allows each number.

    Raises:
        UsageError: a number that none of the architectures allows, or too many configurations.
    """
    check_count(architectures, numbers)
    threads, registers, shared_bytes = numbers.columns()
    if not checked:
        check_numbers(architectures, threads, registers, shared_bytes)
    for architecture in architectures:
        yield from results(
            architecture,
            threads,
            registers,
            shared_bytes,
            np.full_like(threads, numbers.barriers),
            carveout_percent,
            None if numbers.grid_blocks is None else np.full_like(threads, numbers.grid_blocks),
        )


def check_count(architectures: Sequence[Architecture], numbers: Numbers) -> None:
    """Raise UsageError for more configurations than there is memory for."""
    shared = 1 if callable(numbers.shared_bytes) else len(numbers.shared_bytes)
    count = len(architectures) * max(1, len(numbers.threads)) * len(numbers.registers) * shared
    if count > MOST_CONFIGURATIONS:
        raise UsageError(f"{count:,} configurations are more than {MOST_CONFIGURATIONS:,}; take larger steps")


def check_numbers(
    architectures: Sequence[Architecture], threads: Integers, registers: Integers, shared_bytes: Integers
) -> None:
    """Raise UsageError for a number that none of the architectures allows."""
    for values, what, allowed in (
        (threads, "threads a block", {a.name: a.threads_per_block for a in architectures}),
        (registers, "registers a thread", {a.name: a.registers_per_thread for a in architectures}),
        (shared_bytes, "bytes of shared memory a block",
         {a.name: a.shared_bytes_per_block for a in architectures}),
    ):  # fmt: skip
        most, name = max((limit, name) for name, limit in allowed.items())
        if values.size and values.max() > most:
            raise UsageError(f"{values.max():,} {what} are too many: {name} allows {most:,}")
