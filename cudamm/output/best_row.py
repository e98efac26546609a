"""The rules which of several rows is faster, and which one is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cudamm.output.results_view import ResultRow


def speed_order(row: ResultRow) -> tuple[bool, float]:
    """Return a key that sorts rows with a time, the fastest first; the finalists of several GPUs precede."""
    return not row.result.is_final, row.median_ms


def best_row(rows: Iterable[ResultRow]) -> ResultRow | None:
    """Return the fastest row that is known to be right; None if there is none.

    cuBLAS is never the best. If a kernel is among the rows, no row of the host is: an emulated kernel cannot
    be compared with the host.
    """
    return min(best_candidates(list(rows)), key=lambda row: row.median_ms, default=None)


def best_of_several(rows: Sequence[ResultRow]) -> ResultRow | None:
    """Return the fastest of at least two rows, as `best_row` does; None for a single row."""
    return best_row(rows) if len(rows) > 1 else None


def best_candidates(rows: Sequence[ResultRow]) -> list[ResultRow]:
    """Return the rows that can be the best.

    Times of different GPUs are not compared: if there are finalists, only these can be the best, and without
    finalists there is no best row among those of several GPUs.
    """
    right = [row for row in rows if row.is_right and not row.result.is_yardstick]
    if all(row.result.execution == "native" for row in rows):
        return right
    on_gpu = [row for row in right if row.result.execution == "gpu"]
    candidates = [row for row in on_gpu if row.result.is_final] or on_gpu
    return candidates if len({row.result.device for row in candidates} - {""}) < 2 else []
