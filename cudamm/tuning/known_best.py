"""What was measured: by `tune` on this device, and on the GPUs whose tables come with cudamm.

A table is what `cudamm tune --list --json FILE` writes on its GPU, in the folder `tables`. An entry may have
one more field, `accepted_source`: the hash of a later source of the method, for which the entry still holds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cudamm.benchmark.json_records import DamagedError, parse_json, read_as
from cudamm.errors import CudammError, UsageError
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning import tuned_store
from cudamm.tuning.place import Place
from cudamm.tuning.tuned_store import Entry

TABLES = Path(__file__).parent / "tables"

NEAR = 2.0
"""Factor by which M, N and K may each differ from those measured."""
ALIKE = 4.0
"""Factor by which a larger shape's ratios of M, N and K to those measured may differ from one another."""

MeasuredBy = Literal["tuned", "table"]


@dataclass(frozen=True)
class Row:
    """An entry of a table, or of what was tuned here.

    Attributes:
        multiprocessors: of the table's GPU; 0 if the table does not say.
        accepted_source: a second source hash of the method for which the entry holds; may be empty.
    """

    entry: Entry
    multiprocessors: int = 0
    accepted_source: str = ""

    @property
    def is_current(self) -> bool:
        """Whether the method is what was measured, or was accepted as equal to that."""
        return tuned_store.source_hash(find(self.entry.method)) in (self.entry.source, self.accepted_source)


@dataclass(frozen=True)
class Measured:
    """An entry that can be used for a shape.

    Attributes:
        is_exact: whether it is of that shape.
        is_current: whether the method has not changed since.
    """

    chosen_by: MeasuredBy
    variant: Variant
    entry: Entry
    is_exact: bool
    is_current: bool

    @property
    def shape(self) -> Shape:
        """The measured shape."""
        return Shape(self.entry.m, self.entry.n, self.entry.k)

    @property
    def gflops(self) -> float:
        """10⁹ operations a second, at the measured shape."""
        return 2 * self.entry.m * self.entry.n * self.entry.k / self.entry.median_ms / 1e6

    @property
    def why(self) -> str:
        """Where and when it was measured, in words."""
        where = "tuned here" if self.chosen_by == "tuned" else f"measured on {self.entry.device}"
        at = "" if self.is_exact else f" at {self.shape}"
        changed = "" if self.is_current else "; the method has changed since"
        return f"{where}{at} on {self.entry.date[:10]}{changed}"


def fastest(place: Place, shape: Shape, element: ElementType) -> Measured | None:
    """Return the fastest variant of those measured at the shape or near it; None if there is none.

    What was tuned here goes before a table, unless the table is of this very GPU and its entry is as near and
    faster.

    Raises:
        UsageError: the file of what was tuned is of another version.
        CudammError: a table is damaged.
    """
    tuned = _fastest(_tuned_rows(place, element), "tuned", place, shape, element)
    table = _fastest(_table_rows(place, element), "table", place, shape, element)
    if tuned is None or table is None:
        return tuned or table
    of_this_gpu = table.entry.device == place.device  # rates of another GPU cannot be compared
    is_better = table.is_exact >= tuned.is_exact and table.gflops > tuned.gflops
    return table if of_this_gpu and is_better else tuned


def rows(folder: Path | None = None) -> tuple[Row, ...]:
    """Return the rows of all tables. Raises CudammError, naming the file, if one is damaged."""
    return _rows(folder or TABLES)


@functools.cache
def _rows(folder: Path) -> tuple[Row, ...]:
    return tuple(row for path in sorted(folder.glob("*.json")) for row in _read(path))


@dataclass(frozen=True)
class _Device:
    name: str
    multiprocessors: int = 0


@dataclass(frozen=True)
class _Table:
    """What the file of a table has to hold."""

    device: _Device
    results: list[dict[str, Any]]


def _read(path: Path) -> list[Row]:
    try:
        document = read_as(dict[str, Any], parse_json(path.read_text(encoding="utf-8")))
        if document.get("schema") != tuned_store.SCHEMA:
            raise CudammError(f"its schema is not {tuned_store.SCHEMA}")
        table = read_as(_Table, document)
        return [_row(record, table.device) for record in table.results]
    except OSError as error:
        why = str(error.strerror)
    except UnicodeDecodeError:
        why = "it is no text in UTF-8"
    except CudammError as error:
        why = str(error)
    raise CudammError(f"the table {path} is damaged: {why}")


def _row(record: dict[str, Any], device: _Device) -> Row:
    """Return the row of a record, which lacks the device's name and has fields that no entry has."""
    try:
        entry = read_as(Entry, {**record, "device": device.name})
    except DamagedError as error:
        raise DamagedError(f"the entry of {record.get('method')}: {error}") from None
    if entry.kernel:
        raise CudammError(f"the entry of {entry.method} is of somebody's own kernel, {entry.kernel}")
    if not entry.median_ms > 0:
        raise CudammError(f"the entry of {entry.method} has a median of {entry.median_ms} ms")
    find(entry.method)
    return Row(entry, device.multiprocessors, str(record.get("accepted_source", "")))


def _tuned_rows(place: Place, element: ElementType) -> list[Row]:
    of_place = place.device, place.arch, element.name, ""
    entries = [entry for entry in tuned_store.stored() if entry.is_of_gpu]
    return [Row(e) for e in entries if (e.device, e.arch, e.dtype, e.kernel) == of_place]


def _table_rows(place: Place, element: ElementType) -> list[Row]:
    """Return this GPU's rows; if it has none, the rows of GPUs like it.

    GPUs are alike if they have the same architecture and as many multiprocessors. For an architecture without
    a GPU, the rows of all its GPUs count.
    """
    of_type = [row for row in rows() if row.entry.dtype == element.name]
    return [row for row in of_type if row.entry.device == place.device] or [
        row
        for row in of_type
        if row.entry.arch == place.arch
        and (not place.device or row.multiprocessors == place.architecture.multiprocessors)
    ]


def _fastest(
    of_place: Sequence[Row], chosen_by: MeasuredBy, place: Place, shape: Shape, element: ElementType
) -> Measured | None:
    """Return the fastest of the rows near the shape, each method taking part with its nearest.

    If no row of a table is near, rows of a smaller shape with about the same proportions count: what fills a
    GPU goes on filling it. Rates grow with the matrices, so two methods are compared at the nearest shape at
    which both were measured, and by the rates of their own rows only if there is none.
    """

    def usable(is_meant: Callable[[Entry, Shape], bool]) -> list[Measured]:
        meant = (row for row in of_place if is_meant(row.entry, shape))
        found = (_measured(row, chosen_by, place, shape, element) for row in meant)
        return [measured for measured in found if measured is not None]

    found = usable(_is_near) or (usable(_is_larger) if chosen_by == "table" else [])
    # Times from a warm cache and from a cold one are not compared.
    found = [measured for measured in found if measured.entry.cache == "cold"] or found
    found.sort(key=lambda measured: measured.entry.date, reverse=True)
    found.sort(key=lambda measured: _distance(measured.shape, shape))
    nearest: dict[str, Measured] = {}
    medians_ms: dict[str, dict[Shape, float]] = {}
    for measured in found:
        nearest.setdefault(measured.entry.method, measured)
        of_method = medians_ms.setdefault(measured.entry.method, {})
        median_ms = measured.entry.median_ms
        of_method[measured.shape] = min(median_ms, of_method.get(measured.shape, median_ms))

    def faster(best: Measured, other: Measured) -> Measured:
        if best.is_exact != other.is_exact:
            return best if best.is_exact else other
        best_ms, other_ms = medians_ms[best.entry.method], medians_ms[other.entry.method]
        both = best_ms.keys() & other_ms.keys()
        if not both:
            return other if other.gflops > best.gflops else best
        at = min(both, key=lambda measured_at: _distance(measured_at, shape))
        return other if other_ms[at] < best_ms[at] else best

    return functools.reduce(faster, nearest.values()) if nearest else None


def _measured(
    row: Row, chosen_by: MeasuredBy, place: Place, shape: Shape, element: ElementType
) -> Measured | None:
    """Return the row's variant, if the method as it is now can be launched so at the shape."""
    entry = row.entry
    try:
        method = find(entry.method)
        names = [parameter.name for parameter in method.parameters]
        if not method.is_kernel or set(names) != set(entry.params):
            return None
        if element.name not in method.element_types or not entry.median_ms > 0:  # a clock that is too coarse
            return None
        variant = Variant(method, tuple((name, entry.params[name]) for name in names))
        check(variant, plan(variant, shape, element), place.limits)
    except UsageError:
        return None
    if chosen_by == "tuned" and not row.is_current:
        return None
    return Measured(chosen_by, variant, entry, _shape(entry) == shape, row.is_current)


def _shape(entry: Entry) -> Shape:
    return Shape(entry.m, entry.n, entry.k)


def _ratios(measured: Shape, shape: Shape) -> tuple[float, float, float]:
    """Return what is asked for over what was measured, of M, N and K."""
    return shape.m / measured.m, shape.n / measured.n, shape.k / measured.k


def _distance(measured: Shape, shape: Shape) -> float:
    return sum(math.log(ratio) ** 2 for ratio in _ratios(measured, shape))


def _is_near(entry: Entry, shape: Shape) -> bool:
    return all(1 / NEAR <= ratio <= NEAR for ratio in _ratios(_shape(entry), shape))


def _is_larger(entry: Entry, shape: Shape) -> bool:
    ratios = _ratios(_shape(entry), shape)
    return min(ratios) >= 1 / NEAR and max(ratios) <= ALIKE * min(ratios)
