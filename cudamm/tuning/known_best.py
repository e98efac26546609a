"""Variants measured to be fastest: by `tune` on this device, and in the tables that come with cudamm.

A table is a file in the folder `tables`, written by `cudamm tune --list --json FILE` on its GPU. An entry may
have one more field, `accepted_source`: the hash of a later source of the method for which the entry still
holds.
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
from cudamm.source.input_file import read_input
from cudamm.tuning import tuned_store
from cudamm.tuning.place import Place
from cudamm.tuning.tuned_store import Entry

TABLES = Path(__file__).parent / "tables"

NEAR = 2.0
"""Maximum factor by which each of M, N and K may differ from the measured ones."""
ALIKE = 4.0
"""Maximum factor between a larger shape's ratios of M, N and K to the measured ones."""

MeasuredBy = Literal["tuned", "table"]


@dataclass(frozen=True)
class Row:
    """An entry of a table, or of the file of `tune`.

    Attributes:
        multiprocessors: number of multiprocessors of the table's GPU; 0 if it is not known.
        accepted_source: another source hash of the method for which the entry holds; may be empty.
    """

    entry: Entry
    multiprocessors: int = 0
    accepted_source: str = ""

    @property
    def is_current(self) -> bool:
        """True if the method has the source that was measured, or the accepted one."""
        return tuned_store.source_hash(find(self.entry.method)) in (self.entry.source, self.accepted_source)


@dataclass(frozen=True)
class Measured:
    """An entry that can be used for a shape.

    Attributes:
        is_exact: whether the entry was measured at that shape.
        is_current: whether the method is unchanged since the measurement.
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
        """Rate at the measured shape, in 10⁹ operations a second."""
        return 2 * self.entry.m * self.entry.n * self.entry.k / self.entry.median_ms / 1e6

    @property
    def why(self) -> str:
        """Place and date of the measurement, in words."""
        origin = "tuned here" if self.chosen_by == "tuned" else f"measured on {self.entry.device}"
        at_shape = "" if self.is_exact else f" at {self.shape}"
        change_remark = "" if self.is_current else "; the method has changed since"
        return f"{origin}{at_shape} on {self.entry.date[:10]}{change_remark}"


def fastest(place: Place, shape: Shape, element: ElementType) -> Measured | None:
    """Return the fastest variant that was measured at the shape or near it; None if there is none.

    An entry of `tune` precedes a table's entry, unless the table is of this very GPU and its entry is as near
    and faster.

    Raises:
        UsageError: the file of `tune` is of another version or cannot be read.
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
    """Return the rows of all tables.

    Raises:
        CudammError: a table is damaged; the message names the file.
    """
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
    """The required contents of a table's file."""

    device: _Device
    results: list[dict[str, Any]]


def _read(path: Path) -> list[Row]:
    try:
        document = read_as(
            dict[str, Any], parse_json(read_input(path, "a table", tuned_store.LARGEST_FILE_BYTES).decode())
        )
        if document.get("schema") != tuned_store.SCHEMA:
            raise CudammError(f"its schema is not {tuned_store.SCHEMA}")
        table = read_as(_Table, document)
        return [_row(record, table.device) for record in table.results]
    except OSError as error:
        reason = str(error.strerror)
    except UnicodeDecodeError:
        reason = "it is not text in UTF-8"
    except CudammError as error:
        reason = str(error)
    raise CudammError(f"the table {path} is damaged: {reason}")


def _row(record: dict[str, Any], device: _Device) -> Row:
    """Return the row of a table's record, which lacks the device's name and has more fields than an entry."""
    try:
        entry = read_as(Entry, {**record, "device": device.name})
    except DamagedError as error:
        raise DamagedError(f"the entry of {record.get('method')}: {error}") from None
    if entry.kernel:
        raise CudammError(f"the entry of {entry.method} is of a user's own kernel, {entry.kernel}")
    if not entry.median_ms > 0:
        raise CudammError(f"the entry of {entry.method} has a median of {entry.median_ms} ms")
    find(entry.method)
    return Row(entry, device.multiprocessors, str(record.get("accepted_source", "")))


def _tuned_rows(place: Place, element: ElementType) -> list[Row]:
    key = place.device, place.arch, element.name, ""
    entries = [entry for entry in tuned_store.stored() if entry.is_of_gpu]
    return [Row(e) for e in entries if (e.device, e.arch, e.dtype, e.kernel) == key]


def _table_rows(place: Place, element: ElementType) -> list[Row]:
    """Return the rows of this GPU; if it has none, the rows of similar GPUs.

    GPUs are similar if they have the same architecture and the same number of multiprocessors. For an
    architecture without a GPU, the rows of all its GPUs count.
    """
    of_type = [row for row in rows() if row.entry.dtype == element.name]
    return [row for row in of_type if row.entry.device == place.device] or [
        row
        for row in of_type
        if row.entry.arch == place.arch
        and (not place.device or row.multiprocessors == place.architecture.multiprocessors)
    ]


def _fastest(
    known_rows: Sequence[Row], chosen_by: MeasuredBy, place: Place, shape: Shape, element: ElementType
) -> Measured | None:
    """Return the fastest method of the rows near the shape, with its row that is nearest.

    If no row of a table is near, rows of a smaller shape with about the same proportions count, because a
    kernel that fills a GPU also fills it at larger shapes. Rates grow with the matrices. So two methods are
    compared at the nearest shape at which both were measured; only if there is none, by the rates of their
    nearest rows.
    """

    def usable(is_meant: Callable[[Entry, Shape], bool]) -> list[Measured]:
        meant_rows = (row for row in known_rows if is_meant(row.entry, shape))
        candidates = (_measured(row, chosen_by, place, shape, element) for row in meant_rows)
        return [measured for measured in candidates if measured is not None]

    candidates = usable(_is_near) or (usable(_is_larger) if chosen_by == "table" else [])
    # Times with a hot cache count only if there are none with a cold cache: the two cannot be compared.
    candidates = [measured for measured in candidates if measured.entry.cache == "cold"] or candidates
    candidates.sort(key=lambda measured: measured.entry.date, reverse=True)
    candidates.sort(key=lambda measured: _distance(measured.shape, shape))
    nearest: dict[str, Measured] = {}
    medians_ms: dict[str, dict[Shape, float]] = {}
    for measured in candidates:
        nearest.setdefault(measured.entry.method, measured)
        method_medians_ms = medians_ms.setdefault(measured.entry.method, {})
        median_ms = measured.entry.median_ms
        method_medians_ms[measured.shape] = min(median_ms, method_medians_ms.get(measured.shape, median_ms))

    def faster(first: Measured, second: Measured) -> Measured:
        if first.is_exact != second.is_exact:
            return first if first.is_exact else second
        first_ms, second_ms = medians_ms[first.entry.method], medians_ms[second.entry.method]
        common_shapes = first_ms.keys() & second_ms.keys()
        if not common_shapes:
            return second if second.gflops > first.gflops else first
        nearest_common = min(common_shapes, key=lambda common: _distance(common, shape))
        return second if second_ms[nearest_common] < first_ms[nearest_common] else first

    return functools.reduce(faster, nearest.values()) if nearest else None


def _measured(
    row: Row, chosen_by: MeasuredBy, place: Place, shape: Shape, element: ElementType
) -> Measured | None:
    """Return the row as a measurement if the present method can be launched with its parameters at the shape.

    Returns:
        None if it cannot be launched, or if `tune` measured another source of the method.
    """
    entry = row.entry
    try:
        method = find(entry.method)
        names = [parameter.name for parameter in method.parameters]
        if not method.is_kernel or set(names) != set(entry.params):
            return None
        if element.name not in method.element_types or not entry.median_ms > 0:  # 0: the clock was too coarse
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
    """Return the ratios of M, N and K to the measured ones."""
    return shape.m / measured.m, shape.n / measured.n, shape.k / measured.k


def _distance(measured: Shape, shape: Shape) -> float:
    return sum(math.log(ratio) ** 2 for ratio in _ratios(measured, shape))


def _is_near(entry: Entry, shape: Shape) -> bool:
    return all(1 / NEAR <= ratio <= NEAR for ratio in _ratios(_shape(entry), shape))


def _is_larger(entry: Entry, shape: Shape) -> bool:
    ratios = _ratios(_shape(entry), shape)
    return min(ratios) >= 1 / NEAR and max(ratios) <= ALIKE * min(ratios)
