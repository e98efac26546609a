"""Compare two result files of `bench`: the speed-up of each variant, with its confidence interval."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.benchmark.result import YARDSTICKS
from cudamm.benchmark.result_file import Saved
from cudamm.benchmark.sample_statistics import Ratio, ratio_of_medians
from cudamm.errors import UsageError
from cudamm.kernels.input_kinds import usual_kind

SCHEMA = "cudamm.compare/1"
CLOCK_TOLERANCE = 0.02
"""Largest relative difference of a variant's median clock that is not reported."""
MOST_NAMES = 5
"""Maximum number of methods that a line names."""

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
    """One variant on one problem, in both files or in one of them; or the only variant of each file.

    Attributes:
        old, new: the row in each file; None if the file has no such row.
        ratio: old median over new median, above 1 if the variant became faster; None if either was not timed.
        outcome: `faster` or `slower` if the interval of the ratio does not contain 1.
    """

    old: Row | None
    new: Row | None
    ratio: Ratio | None
    outcome: Outcome

    @property
    def row(self) -> Row:
        """Return the row of the new file, or of the old file if the new one has none."""
        row = self.new if self.new is not None else self.old
        assert row is not None  # noqa: S101 # at least one of the files has the row
        return row

    @property
    def problem(self) -> tuple[Any, ...]:
        """Return what all rows of a table share: sizes, element type, fused or not, and cache state."""
        return tuple(self.row[name] for name in _PROBLEM)

    @property
    def other_variant(self) -> Row | None:
        """Return the old row if it is another variant than the new one; None if both are one variant."""
        if self.old is None or self.new is None:
            return None
        same = all(self.old[name] == self.new[name] for name in ("method", "params"))
        return None if same else self.old

    @property
    def is_emulated(self) -> bool:
        """Return whether either side ran on the CPU device's model of a GPU."""
        return any(row is not None and row["execution"] == "emulated" for row in (self.old, self.new))

    def is_worse(self, allowed: float) -> bool:
        """Return whether the variant fails now, or its time grew by more than the share `allowed`.

        The upper end of the speed-up's interval decides: even the smallest slow-down in the interval exceeds
        the allowed one.
        """
        if self.outcome == "now fails":
            return True
        return self.ratio is not None and self.ratio.high * (1 + allowed) < 1

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.compare/1` file."""
        names = ("method", "params", "m", "n", "k", "dtype", "fmad", "cache", "execution")
        record = {name: self.row[name] for name in names}
        other = self.other_variant
        if other is not None:
            record |= {"old_method": other["method"], "old_params": other["params"]}
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
    """Compare every variant of both files; return the comparisons grouped by problem, then by method.

    If each file has only one variant, besides cuBLAS, the two are compared, whatever their names are.

    Args:
        confidence: confidence of each single interval, between 0 and 1; not of all intervals together.

    Raises:
        UsageError: no variant is in both files.
    """
    renamed = _only_variants(old.complete_rows, new.complete_rows)
    old_rows, new_rows = _by_variant(old.complete_rows), _by_variant(new.complete_rows, renamed)
    if not old_rows.keys() & new_rows.keys():
        raise UsageError(
            f"no variant is in both {old.path} and {new.path}: method, parameters, sizes, type, fmad and "
            "cache must be the same; variants of other names are compared if each file has only one"
        )
    variants = dict.fromkeys((*old_rows, *new_rows))
    comparisons = [_compare_rows(old_rows.get(v), new_rows.get(v), confidence) for v in variants]
    problems = _ranks(c.problem for c in comparisons)
    methods = _ranks(c.row["method"] for c in comparisons)
    return sorted(comparisons, key=lambda c: (problems[c.problem], methods[c.row["method"]]))


def median_ms(row: Row | None) -> float | None:
    """Return the median of a row; None if the row was not measured to the end."""
    if row is None or row["status"] != "ok" or not row["samples_ms"]:
        return None
    return float(statistics.median(row["samples_ms"]))


def check_devices(old: Saved, new: Saved, force: bool) -> list[str]:
    """Return a warning if the devices differ; raise UsageError instead unless `force` is true."""
    before, after = (f"{s.document['device']['name']} ({s.document['device']['kind']})" for s in (old, new))
    if before == after:
        return []
    line = f"the devices differ: {old.path} was measured on {before}, {new.path} on {after}"
    if not force:
        raise UsageError(f"{line}; --force compares them anyway")
    return [line]


def differences(old: Saved, new: Saved, comparisons: Sequence[Comparison]) -> list[str]:
    """Return a line for each difference that can have changed the times, besides a different kernel."""
    both = [c for c in comparisons if c.old is not None and c.new is not None]
    return [
        *_other_variants(old, new, both),
        *_changed_settings(old, new),
        *_changed_inputs(old, new, both),
        *_changed_sources([c for c in both if c.other_variant is None]),
        *_changed_clocks(old, new, both),
        *_throttled(old, [c.old for c in both if c.old is not None]),
        *_throttled(new, [c.new for c in both if c.new is not None]),
        *_without_times(both),
    ]


def _other_variants(old: Saved, new: Saved, both: Sequence[Comparison]) -> list[str]:
    """Return a line for each two variants that are compared because each is its file's only one."""
    pairs = dict.fromkeys(
        (variant_name(c.other_variant), variant_name(c.row)) for c in both if c.other_variant is not None
    )
    return [
        f"{old_name}, the only variant in {old.path}, is compared with {new_name}, the only one in {new.path}"
        for old_name, new_name in pairs
    ]


def _without_times(both: Sequence[Comparison]) -> list[str]:
    untimed = [c for c in both if c.outcome == "not compared"]
    if not untimed:
        return []
    rows = "1 variant has" if len(untimed) == 1 else f"{len(untimed)} variants have"
    return [f"{rows} no time in one of the files, as without a GPU, and cannot be compared"]


def _by_variant(
    rows: Iterable[Row], renamed: Mapping[Hashable, Hashable] | None = None
) -> dict[Hashable, Row]:
    """Return rows by the fields that must be equal in both files, and a counter.

    If a file contains a variant twice, its first row is compared with the first row of the other file.

    Args:
        renamed: variants of the other file under which rows of these variants are returned.
    """
    by_variant: dict[Hashable, Row] = {}
    counts: Counter[Hashable] = Counter()
    for row in rows:
        variant = (renamed or {}).get(_variant(row), _variant(row))
        key = variant, *(row[name] for name in _PROBLEM)
        by_variant[key, counts[key]] = row
        counts[key] += 1
    return by_variant


def _only_variants(old: Sequence[Row], new: Sequence[Row]) -> dict[Hashable, Hashable]:
    """Return the old file's only variant by the new file's, besides cuBLAS; empty if a file has several."""
    (old_variants, new_variants) = (
        {_variant(row) for row in rows if row["method"] not in YARDSTICKS} for rows in (old, new)
    )
    if len(old_variants) == len(new_variants) == 1 and old_variants != new_variants:
        return {new_variants.pop(): old_variants.pop()}
    return {}


def _variant(row: Row) -> Hashable:
    return row["method"], tuple(sorted(row["params"].items()))


def _ranks(values: Iterable[Hashable]) -> dict[Hashable, int]:
    """Return the rank of each distinct value in the order of first appearance."""
    return {value: rank for rank, value in enumerate(dict.fromkeys(values))}


def _compare_rows(old: Row | None, new: Row | None, confidence: float) -> Comparison:
    if old is None or new is None:
        return Comparison(old, new, None, "only in the new file" if old is None else "only in the old file")
    if old["status"] == "ok" and new["status"] == "failed":
        return Comparison(old, new, None, "now fails")
    if old["status"] == "failed" and new["status"] == "ok":
        return Comparison(old, new, None, "works now")
    # A median of 0 means that the clock was too coarse to measure the time.
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


def _changed_settings(old: Saved, new: Saved) -> list[str]:
    """Return a line for each version or option that differs."""
    before, after = _settings(old), _settings(new)
    return [
        f"{name}: {_format(before.get(name))} in {old.path}, {_format(after.get(name))} in {new.path}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _changed_inputs(old: Saved, new: Saved, both: Sequence[Comparison]) -> list[str]:
    """Return a line for each two kinds of random inputs that are compared."""
    pairs = dict.fromkeys((_inputs(c.old), _inputs(c.new)) for c in both if c.old and c.new)
    return [
        f"inputs: {before} in {old.path}, {after} in {new.path}: the rate of a kernel depends on its numbers"
        for before, after in pairs
        if before != after
    ]


def _inputs(row: Row) -> str:
    return row["inputs"] or usual_kind(row["dtype"])


def _settings(saved: Saved) -> dict[str, Any]:
    device, environment = saved.document["device"], saved.document["environment"]
    versions = {"driver": device.get("driver"), "nvcc": environment.get("nvcc")}
    versions["cudamm"] = environment.get("cudamm")
    return versions | {f"option {name}": value for name, value in saved.document["options"].items()}


def _format(value: Any) -> str:
    if value is None:
        return "unknown or none"
    return ("on" if value else "off") if isinstance(value, bool) else str(value)


def _changed_sources(both: Sequence[Comparison]) -> list[str]:
    sources = [(c.row, (c.old or {}).get("source"), (c.new or {}).get("source")) for c in both]
    changed = [row for row, before, after in sources if before and after and before != after]
    return [f"the kernel's source differs: {_method_names(changed)}"] if changed else []


def _changed_clocks(old: Saved, new: Saved, both: Sequence[Comparison]) -> list[str]:
    clocks = [(c, (c.old or {}).get("clock_mhz"), (c.new or {}).get("clock_mhz")) for c in both]
    changed = [
        (c, before, after)
        for c, before, after in clocks
        if before and after and abs(after / before - 1) > CLOCK_TOLERANCE
    ]
    if not changed:
        return []
    most, before, after = max(changed, key=lambda change: abs(math.log(change[2] / change[1])))
    return [
        f"the SM clock differs by more than {CLOCK_TOLERANCE:.0%} in {len(changed)} of {len(both)} variants, "
        f"most in {variant_name(most.row)}: {before:.0f} MHz in {old.path}, {after:.0f} MHz in {new.path}"
    ]


def _throttled(saved: Saved, rows: Sequence[Row]) -> list[str]:
    slowed = [row for row in rows if row.get("throttled")]
    if not slowed:
        return []
    return [f"{saved.path}: the GPU was throttled while it ran {_method_names(slowed)}"]


def variant_name(row: Row) -> str:
    """Return a variant's name, as in `tiled BLOCK_SIZE=16`."""
    return " ".join((row["method"], *(f"{param}={value}" for param, value in row["params"].items())))


def _method_names(rows: Iterable[Row]) -> str:
    """Return the methods of rows, each named once."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    more = f" and {len(methods) - MOST_NAMES} more" if len(methods) > MOST_NAMES else ""
    return ", ".join(itertools.islice(methods, MOST_NAMES)) + more
