"""The marks of rows: their sign in the terminal, their word on the page, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cudamm.benchmark.result import Result


@dataclass(frozen=True)
class Mark:
    """A remark on rows.

    Attributes:
        sign: the sign beside a marked value in the terminal; empty for none.
        word: the mark on the page; empty if the page does not mark rows with it.
        note: what the mark means.
        column: the terminal table's column in which the sign stands.
    """

    sign: str
    word: str
    note: str
    column: Literal["method", "samples", "median", "result", ""] = ""

    @property
    def text(self) -> str:
        """Return the line below a table of the terminal: sign and note."""
        return f"{self.sign} {self.note}".strip()


EMULATED = Mark(
    "†", "emulated",
    "executed by the CPU device, thread by thread, to check the kernel: "
    "its times say nothing about a GPU, not even which kernel is faster", "method",
)  # fmt: skip
NATIVE = Mark("‡", "host", "runs natively on the host", "method")
PADDED = Mark(
    "+",
    "padded",
    "the matrices are padded with zeros to the multiples that the kernel needs; "
    "rates are those of the requested size",
    "result",
)
BEST = Mark("★", "best", "the fastest verified row", "result")
BEST_OF_SWEEP = Mark("*", "best of its sweep", "the fastest verified row of its method", "result")
EXECUTION_MARKS = {"emulated": EMULATED, "native": NATIVE}


def execution_sign(execution: str) -> str:
    """Return ` †` or ` ‡`; empty for rows that ran on a GPU."""
    mark = EXECUTION_MARKS.get(execution)
    return f" {mark.sign}" if mark else ""


def marks_of(results: Iterable[Result]) -> list[Mark]:
    """Return the marks that apply to these results."""
    rows = list(results)
    kinds = {r.execution for r in rows if r.status != "skipped"}
    found = [mark for kind, mark in EXECUTION_MARKS.items() if kind in kinds]
    if any(r.padded for r in rows):
        found.append(PADDED)
    transposed = {r.label: " and ".join(r.column_major) for r in rows if r.column_major}
    for method, matrices in transposed.items():
        note = f"{method} has {matrices} column by column; the host transposes beforehand, which is not timed"
        found.append(Mark("", "", note))
    above = dict.fromkeys(r.method for r in rows if (r.share_of_fma_ceiling or 0) > 1 and r.status == "ok")
    if above:
        names = f"faster than the FMA ceiling: {', '.join(above)}"
        found.append(Mark("", "", f"{names}; the ceiling applies to FMAs, and tensor cores are faster"))
    judged = [r for r in rows if r.timing.judged_launches]
    if judged:
        found.append(_judged(judged))
    throttled = [r for r in rows if r.timing.throttled]
    if throttled:
        reasons = ", ".join(dict.fromkeys(reason for r in throttled for reason in r.timing.throttle_reasons))
        note = f"the GPU lowered its clock during this measurement ({reasons}); pauses did not help"
        found.append(Mark("~", "throttled", note, "median"))
    near = [r for r in rows if r.is_near_floor]
    if near:
        floor_us = max(r.timing.event_floor_ms or 0.0 for r in near) * 1e3
        note = (
            f"so short that the overhead of timing matters ({floor_us:.1f} µs for an empty kernel between "
            "two events); --hot times many launches together"
        )
        found.append(Mark("°", "short", note, "median"))
    if any(r.timing.ended_by == "time" for r in rows):
        note = "sampling ended at --max-time, before the noise fell below --max-noise"
        found.append(Mark("…", "out of time", note, "samples"))
    unknown: dict[str, dict[str, None]] = {}
    for figures, _, reason in (text.partition(": ") for r in rows if r.exact for text in r.exact.unknown):
        unknown.setdefault(reason, {}).update(dict.fromkeys(figures.split(", ")))
    found += [
        Mark("-", "not known", f"{', '.join(figures)}: {reason}") for reason, figures in unknown.items()
    ]
    if note := several_gpus(rows):
        found.append(Mark("", "", note))
    dropped = sum(r.status == "dropped" for r in rows)
    if dropped:
        rows_were = "row was" if dropped == 1 else "rows were"
        note = f"{dropped} {rows_were} dropped early: clearly slower than the best; --full measures every row"
        found.append(Mark("", "", note))
    return found


def gpus_of(results: Iterable[Result]) -> list[str]:
    """Return the names of the GPUs that took samples, in order."""
    return sorted({r.device for r in results if r.execution == "gpu" and r.device and r.timing.samples_ms})


def several_gpus(results: Sequence[Result]) -> str:
    """Return the remark that the times of several GPUs are not compared; empty if there are not several."""
    gpus, finalists = gpus_of(results), [r for r in results if r.is_final]
    if len(gpus) < 2:
        return ""
    note = f"measured on {len(gpus)} GPUs ({', '.join(gpus)}), whose times are not compared with each other"
    if finalists:
        last = ", ".join(gpus_of(finalists))
        note += (
            f"; the {len(finalists)} finalists were measured again, in turn, on {last}, and are ranked first"
        )
    return note


def _judged(results: Sequence[Result]) -> Mark:
    """Return the remark on how the products of timed launches were judged."""
    counts = [r.timing.judged_launches for r in results]
    fewest, most = min(counts), max(counts)
    number = str(fewest) if fewest == most else f"{fewest} to {most}"
    note = (
        f"judged after timing: {number} launches of each row, chosen at random, "
        "each on inputs that no launch had seen"
    )
    if not all(r.timing.judged_whole for r in results):
        note += "; of large products some rows in full, and a random sum of each row"
    return Mark("", "", note)
