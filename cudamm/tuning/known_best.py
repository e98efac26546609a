"""What was measured: by `tune` on this device, and on the GPUs whose tables come with cudamm.

A table is what `cudamm tune --list --json FILE` writes on its GPU, in the folder `tables`. An entry may have
one more field, `accepted_source`: the hash of a later source of the method, for which it holds still.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from cudamm.errors import CudammError, UsageError
from cudamm.kernels.ladder import find
from cudamm.kernels.launch import check, plan
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant
from cudamm.records import DamagedError, parse_json, read_as
from cudamm.tuning import store
from cudamm.tuning.place import Place
from cudamm.tuning.store import Entry

TABLES = Path(__file__).parent / "tables"

NEAR = 2.0
"""As far apart M may be, and N, and K, for what was measured at one shape to say something of another."""
ALIKE = 4.0
"""Of a larger shape, as far as the ratios of M, N and K to those measured may be apart from one another."""

From = Literal["tuned", "table"]


@dataclass(frozen=True)
class Row:
    """An entry of a table.

    Attributes:
        multiprocessors: of the table's GPU; 0 where it does not say.
        accepted_source: of the method, as it may be beside `entry.source`; empty where nobody looked.
    """

    entry: Entry
    multiprocessors: int = 0
    accepted_source: str = ""

    @property
    def is_current(self) -> bool:
        """Whether the method is what was measured, or as good as that."""
        return store.source_hash(find(self.entry.method)) in (self.entry.source, self.accepted_source)


@dataclass(frozen=True)
class Measured:
    """An entry that can be used for a shape.

    Attributes:
        is_exact: whether it is of that shape.
        remark: what is to be said of it; mostly nothing.
    """

    chosen_by: From
    variant: Variant
    entry: Entry
    is_exact: bool
    remark: str = ""

    @property
    def gflops(self) -> float:
        """10⁹ operations a second, at the shape that it was measured at."""
        return 2 * self.entry.m * self.entry.n * self.entry.k / self.entry.median_ms / 1e6


def fastest(place: Place, shape: Shape, element: ElementType) -> Measured | None:
    """The fastest of what is known; None where nothing is that says anything of the shape.

    What was tuned here goes first. An entry of a table is taken where nothing was, or where it is of this
    GPU, as near, and faster than what was.

    Raises:
        UsageError: the file of what was tuned is of another version.
        CudammError: a table is damaged.
    """
    here = _of_tuned(place, shape, element)
    there = _of_tables(place, shape, element)
    if here is None or there is None:
        return here or there
    of_this_gpu = there.entry.device == place.device  # rates of another say nothing of this one
    is_better = there.is_exact >= here.is_exact and there.gflops > here.gflops
    return there if of_this_gpu and is_better else here


def rows(folder: Path | None = None) -> tuple[Row, ...]:
    """Those of all tables. Raises CudammError, naming the file, where one is damaged."""
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
        if document.get("schema") != store.SCHEMA:
            raise CudammError(f"its schema is not {store.SCHEMA}")
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
    """The row of a record, which says no device and more than is kept of an entry."""
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


def _of_tuned(place: Place, shape: Shape, element: ElementType) -> Measured | None:
    """The exact shape's fastest, else of those near it the one of the highest rate there."""

    def usable(entry: Entry) -> Measured | None:
        variant = _variant(entry, place, shape, element)
        # What is kept may be of an older source, or of a clock that is too coarse.
        if variant is None or store.source_hash(variant.method) != entry.source or not entry.median_ms > 0:
            return None
        return Measured("tuned", variant, entry, _is_exact(entry, shape))

    entries = [
        entry
        for entry in store.stored()
        if (entry.device, entry.arch, entry.dtype, entry.kernel)
        == (place.device, place.arch, element.name, "")
    ]
    return _best(entries, shape, usable, _is_near)


def _of_tables(place: Place, shape: Shape, element: ElementType) -> Measured | None:
    """The same of the tables of this GPU; else of those of a GPU like it, and without a GPU, of any such.

    Alike are GPUs of one architecture that have as many multiprocessors. Larger shapes of about the same
    proportions count too: what fills a GPU goes on filling it.
    """
    of_type = [row for row in rows() if row.entry.dtype == element.name]
    known = [row for row in of_type if row.entry.device == place.device] or [
        row
        for row in of_type
        if row.entry.arch == place.arch
        and (not place.device or row.multiprocessors == place.architecture.multiprocessors)
    ]
    return _of_rows(known, place, shape, element)


def _of_rows(table: Sequence[Row], place: Place, shape: Shape, element: ElementType) -> Measured | None:
    known = {id(row.entry): row for row in table}

    def usable(entry: Entry) -> Measured | None:
        variant = _variant(entry, place, shape, element)
        if variant is None:
            return None
        remark = "" if known[id(entry)].is_current else "the method has changed since"
        return Measured("table", variant, entry, _is_exact(entry, shape), remark)

    entries = [row.entry for row in known.values()]
    return _best(entries, shape, usable, _is_near) or _best(entries, shape, usable, _is_larger)


def _best(
    entries: Sequence[Entry],
    shape: Shape,
    usable: Callable[[Entry], Measured | None],
    is_meant: Callable[[Entry, Shape], bool],
) -> Measured | None:
    """Of each method the nearest entry that is meant and usable; of those, the exact first, the fastest.

    Rates grow with the matrices. So two methods are held against each other where both were measured, at the
    nearest such shape, and by the rates of their own entries only where there is none.
    """
    meant = [entry for entry in entries if is_meant(entry, shape)]
    # Times from a warm cache and from a cold one are not compared.
    meant = [entry for entry in meant if entry.cache == "cold"] or meant
    meant.sort(key=lambda entry: entry.date, reverse=True)
    nearest: dict[str, Measured] = {}
    for entry in sorted(meant, key=lambda entry: _apart(entry, shape)):
        if entry.method not in nearest:
            found = usable(entry)
            if found is not None:
                nearest[entry.method] = found
    medians_ms: dict[str, dict[Shape, float]] = {}
    for entry in meant:
        of_method = medians_ms.setdefault(entry.method, {})
        at = Shape(entry.m, entry.n, entry.k)
        of_method[at] = min(entry.median_ms, of_method.get(at, math.inf))

    def is_faster(one: Measured, other: Measured) -> bool:
        if one.is_exact != other.is_exact:
            return one.is_exact
        ones, others = medians_ms[one.entry.method], medians_ms[other.entry.method]
        both = [(_apart(at, shape), ones[at], others[at]) for at in ones.keys() & others.keys()]
        if both:
            _, ones_ms, others_ms = min(both)
            return ones_ms < others_ms
        return one.gflops > other.gflops

    best: Measured | None = None
    for found in nearest.values():
        if best is None or is_faster(found, best):
            best = found
    return best


def _variant(entry: Entry, place: Place, shape: Shape, element: ElementType) -> Variant | None:
    """The entry's, where it can be launched at the shape with the method as it is now."""
    try:
        method = find(entry.method)
        names = [parameter.name for parameter in method.parameters]
        if not method.is_kernel or set(names) != set(entry.params):
            return None
        if element.name not in method.element_types:
            return None
        variant = Variant(method, tuple((name, entry.params[name]) for name in names))
        check(variant, plan(variant, shape, element), place.limits)
    except UsageError:
        return None
    return variant


def _pairs(of: Entry | Shape, shape: Shape) -> Iterable[float]:
    """What is asked for over what was measured, of M, N and K."""
    return shape.m / of.m, shape.n / of.n, shape.k / of.k


def _apart(of: Entry | Shape, shape: Shape) -> float:
    return sum(math.log(ratio) ** 2 for ratio in _pairs(of, shape))


def _is_exact(entry: Entry, shape: Shape) -> bool:
    return (entry.m, entry.n, entry.k) == (shape.m, shape.n, shape.k)


def _is_near(entry: Entry, shape: Shape) -> bool:
    return all(1 / NEAR <= ratio <= NEAR for ratio in _pairs(entry, shape))


def _is_larger(entry: Entry, shape: Shape) -> bool:
    ratios = list(_pairs(entry, shape))
    return min(ratios) >= 1 / NEAR and max(ratios) <= ALIKE * min(ratios)
