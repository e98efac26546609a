"""What changed between two files of `bench`: each variant's speed-up, and how sure it is."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.benchmark.result_file import Saved
from cudamm.benchmark.sample_statistics import Ratio, ratio_of_medians
from cudamm.errors import UsageError

SCHEMA = "cudamm.compare/1"
CLOCK_TOLERANCE = 0.02
"""Share by which a variant's median clock may differ before it is worth a word."""
MOST_NAMES = 5

Row = dict[str, Any]
Outcome = Literal[
    "faster",
    "slower",
    "no difference",
    "now fails",
    "works now",
    "not compared",
    "only in the old file",
    "only in the new file",
]

_PROBLEM = ("m", "n", "k", "dtype", "fmad", "cache")


@dataclass(frozen=True)
class Comparison:
    """One variant on one problem, in both files or in one of them.

    Attributes:
        old, new: its row in each file; None where there is none.
        ratio: old median over new median, above 1 where it became faster; None where either was not timed.
        outcome: `faster` and `slower` where the ratio's interval is on one side of 1.
    """

    old: Row | None
    new: Row | None
    ratio: Ratio | None
    outcome: Outcome

    @property
    def row(self) -> Row:
        """The row of the new file, else of the old: what was compared is the same in both."""
        found = self.new if self.new is not None else self.old
        assert found is not None  # noqa: S101 # it comes from one of them
        return found

    @property
    def problem(self) -> tuple[Any, ...]:
        """What a table is about: sizes, type, whether fused, and the state of the cache."""
        return tuple(self.row[name] for name in _PROBLEM)

    @property
    def is_emulated(self) -> bool:
        """Whether either side ran on the CPU device's model of a GPU."""
        return any(row is not None and row["execution"] == "emulated" for row in (self.old, self.new))

    def is_worse(self, allowed: float) -> bool:
        """Whether it fails now, or its time surely grew by more than a share of what it was.

        Surely: the upper end of the speed-up's interval counts, which is the least slow-down in it.
        """
        if self.outcome == "now fails":
            return True
        return self.ratio is not None and self.ratio.high * (1 + allowed) < 1

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.compare/1` file."""
        names = ("method", "params", "m", "n", "k", "dtype", "fmad", "cache", "execution")
        record = {name: self.row[name] for name in names}
        for side, row in (("old", self.old), ("new", self.new)):
            record[f"{side}_status"] = row["status"] if row is not None else None
            record[f"{side}_reason"] = row["reason"] if row is not None else None
            record[f"{side}_median_ms"] = median_ms(row)
        return record | {
            "ratio": self.ratio.value if self.ratio else None,
            "low": self.ratio.low if self.ratio else None,
            "high": self.ratio.high if self.ratio else None,
            "verdict": self.outcome,
        }


def compare(old: Saved, new: Saved, confidence: float) -> list[Comparison]:
    """Every variant of both files, a problem and method after the other.

    Args:
        confidence: of the intervals, between 0 and 1; of each by itself, not of all at once.

    Raises:
        UsageError: no variant is in both.
    """
    old_rows, new_rows = _by_variant(old.rows), _by_variant(new.rows)
    if not old_rows.keys() & new_rows.keys():
        raise UsageError(
            f"no variant is in both {old.path} and {new.path}: method, parameters, sizes, type, fmad and "
            "cache have to be the same"
        )
    variants = dict.fromkeys((*old_rows, *new_rows))
    found = [_compared(old_rows.get(v), new_rows.get(v), confidence) for v in variants]
    problems = _ranks(c.problem for c in found)
    methods = _ranks(c.row["method"] for c in found)
    return sorted(found, key=lambda c: (problems[c.problem], methods[c.row["method"]]))


def median_ms(row: Row | None) -> float | None:
    """The median of a row that was measured to the end, else None."""
    if row is None or row["status"] != "ok" or not row["samples_ms"]:
        return None
    return float(statistics.median(row["samples_ms"]))


def check_devices(old: Saved, new: Saved, force: bool) -> list[str]:
    """What to warn of where the devices differ. Raises UsageError there, unless it is forced."""
    before, after = (f"{s.document['device']['name']} ({s.document['device']['kind']})" for s in (old, new))
    if before == after:
        return []
    line = f"the devices differ: {old.path} is of {before}, {new.path} of {after}"
    if not force:
        raise UsageError(f"{line}; --force compares them all the same")
    return [line]


def differences(old: Saved, new: Saved, comparisons: Sequence[Comparison]) -> list[str]:
    """What else than the kernels can have changed the times, a line each."""
    both = [c for c in comparisons if c.old is not None and c.new is not None]
    return [
        *_circumstances(old, new),
        *_sources(both),
        *_clocks(old, new, both),
        *_throttled(old, [c.old for c in both if c.old is not None]),
        *_throttled(new, [c.new for c in both if c.new is not None]),
    ]


def _by_variant(rows: Iterable[Row]) -> dict[Hashable, Row]:
    """Rows by what has to be the same; of one that is there twice, the first goes with the first."""
    names = ("method", "m", "n", "k", "dtype", "fmad", "cache")
    found: dict[Hashable, Row] = {}
    seen: Counter[Hashable] = Counter()
    for row in rows:
        variant = tuple(sorted(row["params"].items())), *(row[name] for name in names)
        found[variant, seen[variant]] = row
        seen[variant] += 1
    return found


def _ranks(values: Iterable[Hashable]) -> dict[Hashable, int]:
    """Values by the order in which they are first seen."""
    return {value: rank for rank, value in enumerate(dict.fromkeys(values))}


def _compared(old: Row | None, new: Row | None, confidence: float) -> Comparison:
    if old is None or new is None:
        return Comparison(old, new, None, "only in the new file" if old is None else "only in the old file")
    if old["status"] == "ok" and new["status"] == "failed":
        return Comparison(old, new, None, "now fails")
    if old["status"] == "failed" and new["status"] == "ok":
        return Comparison(old, new, None, "works now")
    # A median of 0 is a clock that is too coarse, and no time.
    if not median_ms(old) or not median_ms(new):
        return Comparison(old, new, None, "not compared")
    ratio = ratio_of_medians(old["samples_ms"], new["samples_ms"], confidence)
    if not all(map(math.isfinite, (ratio.value, ratio.low, ratio.high))):
        return Comparison(old, new, None, "not compared")
    return Comparison(old, new, ratio, _outcome(ratio))


def _outcome(ratio: Ratio) -> Outcome:
    if ratio.low > 1:
        return "faster"
    return "slower" if ratio.high < 1 else "no difference"


def _circumstances(old: Saved, new: Saved) -> list[str]:
    """Versions and options that differ."""
    before, after = _known(old), _known(new)
    return [
        f"{name}: {_shown(before.get(name))} in {old.path}, {_shown(after.get(name))} in {new.path}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _known(saved: Saved) -> dict[str, Any]:
    device, environment = saved.document["device"], saved.document["environment"]
    known = {"driver": device.get("driver"), "nvcc": environment.get("nvcc")}
    known["cudamm"] = environment.get("cudamm")
    return known | {f"option {name}": value for name, value in saved.document["options"].items()}


def _shown(value: Any) -> str:
    if value is None:
        return "unknown or none"
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _sources(both: Sequence[Comparison]) -> list[str]:
    sources = [(c.row, (c.old or {}).get("source"), (c.new or {}).get("source")) for c in both]
    changed = [row for row, before, after in sources if before and after and before != after]
    return [f"the kernel's source differs: {_names(changed)}"] if changed else []


def _clocks(old: Saved, new: Saved, both: Sequence[Comparison]) -> list[str]:
    clocks = [(c, (c.old or {}).get("clock_mhz"), (c.new or {}).get("clock_mhz")) for c in both]
    changed = [
        (c, before, after)
        for c, before, after in clocks
        if before and after and abs(after / before - 1) > CLOCK_TOLERANCE
    ]
    if not changed:
        return []
    most, before, after = max(changed, key=lambda found: abs(math.log(found[2] / found[1])))
    return [
        f"the SM clock differs by more than {CLOCK_TOLERANCE:.0%} in {len(changed)} of {len(both)} variants, "
        f"most in {variant_name(most.row)}: {before:.0f} MHz in {old.path}, {after:.0f} MHz in {new.path}"
    ]


def _throttled(saved: Saved, rows: Sequence[Row]) -> list[str]:
    slowed = [row for row in rows if row.get("throttled")]
    if not slowed:
        return []
    return [f"{saved.path}: the GPU was throttled while it ran {_names(slowed)}"]


def variant_name(row: Row) -> str:
    """`tiled BLOCK_SIZE=16`."""
    return " ".join((row["method"], *(f"{param}={value}" for param, value in row["params"].items())))


def _names(rows: Iterable[Row]) -> str:
    """The methods of rows, each once."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    more = f" and {len(methods) - MOST_NAMES} more" if len(methods) > MOST_NAMES else ""
    return ", ".join(itertools.islice(methods, MOST_NAMES)) + more
