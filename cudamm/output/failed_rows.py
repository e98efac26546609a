"""What failed or was skipped, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cudamm.benchmark.result import Result, Status
from cudamm.output.console import parameters


@dataclass(frozen=True)
class Trouble:
    """A row that failed, or the rows of a method that are skipped for one reason.

    Attributes:
        rows: at least one.
    """

    rows: tuple[Result, ...]

    @property
    def status(self) -> Status:
        """Of all its rows."""
        return self.rows[0].status

    @property
    def variants(self) -> str:
        """`tiled BLOCK_SIZE=16`, or `57 variants of warp-tile`."""
        names = dict.fromkeys(f"{row.label} {parameters(row.params)}".strip() for row in self.rows)
        return next(iter(names)) if len(names) == 1 else f"{len(names)} variants of {self.rows[0].label}"

    @property
    def reason(self) -> str:
        """Why, without the variant; empty where a file gives no reason."""
        return _reason(self.rows[0])


def troubles(results: Sequence[Result]) -> list[Trouble]:
    """In the order of the rows."""
    groups: dict[tuple[str, str, int], list[Result]] = {}
    for row in results:
        if row.status in ("failed", "skipped"):
            alone = id(row) if row.status == "failed" else 0
            groups.setdefault((row.label, _reason(row), alone), []).append(row)
    return [Trouble(tuple(rows)) for rows in groups.values()]


def _reason(row: Result) -> str:
    """A row's reason may begin with its variant, which stands beside it in any case."""
    return row.reason.removeprefix(f"{row.method} {parameters(row.params)}".strip() + " ")
