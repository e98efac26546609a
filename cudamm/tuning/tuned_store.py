"""What `tune` found: the fastest parameters of methods on devices, kept in the user's data folder.

One JSON file holds all of it. Whoever changes it reads it again under a lock, writes the new one beside it
and renames that, so that two runs at once lose nothing and a reader always finds a whole file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import os
import platform
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import platformdirs
from msgspec import Meta

from cudamm import __version__
from cudamm.benchmark.file_lock import locked
from cudamm.benchmark.json_records import DamagedError, parse_json, read_as
from cudamm.benchmark.result import Amount, Cache, Size
from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.kernels.header import Overrides, read_method, without_comments
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method, Value
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant

SCHEMA = "cudamm.tuned/1"
FILE_NAME = "tuned.json"

DType = Annotated[str, Meta(pattern=f"^({'|'.join(ELEMENT_TYPES)})$")]

Number = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class Entry:
    """The fastest parameters of one method for one problem on one device.

    Attributes:
        device: its name.
        arch: of the GPU, such as `sm_90`; of the CPU device the machine's.
        source: `source_hash` of the method when it was tuned.
        median_ms: of the winner's samples.
        cache: `cold` or `hot`, as it was measured.
        confirmed: whether the bootstrap interval of the ratio to the runner-up excludes 1, or there is none.
        complete: whether search and confirmation came to their end; not so after Ctrl-C, or out of budget.
        tried: variants that were.
        possible: variants that could be launched.
        date: when, in UTC.
        kernel: the user's file; empty for a method of cudamm's own.
        kernel_fields: the options that stood in for fields of that file's header.
    """

    device: str
    arch: str
    method: str
    source: str
    dtype: DType
    m: Size
    n: Size
    k: Size
    params: dict[str, Value]
    median_ms: Amount
    cache: Cache
    confirmed: bool
    complete: bool
    tried: Number
    possible: Number
    date: str
    kernel: str = ""
    kernel_fields: dict[str, str] = field(default_factory=dict)
    version: str = __version__

    @property
    def key(self) -> tuple[str, ...]:
        """Two entries with the same key are about the same thing: the later one replaces the other."""
        shape = f"{self.m}x{self.n}x{self.k}"
        return self.device, self.arch, self.method, self.source, self.dtype, shape

    @property
    def is_of_gpu(self) -> bool:
        """True if a GPU was measured. Older versions of cudamm stored what the CPU device took, too."""
        return self.arch.startswith("sm_")

    @property
    def subject(self) -> tuple[str, ...]:
        """The key without the source, and the file: what another source of it replaces."""
        device, arch, method, _, dtype, shape = self.key
        return device, arch, method, dtype, shape, self.kernel


@dataclass(frozen=True)
class _Document:
    """What the file has to hold."""

    entries: list[Entry]


def data_folder() -> Path:
    """Where they are kept; $CUDAMM_DATA overrides the user's data folder. It need not exist."""
    return Path(os.environ.get("CUDAMM_DATA") or platformdirs.user_data_dir("cudamm")).absolute()


def arch_of(device: DeviceInfo) -> str:
    """The architecture under which a device's entries are kept."""
    return str(device.properties.get("arch") or platform.machine())


def source_hash(method: Method) -> str:
    """Of all that makes a method what it is: its code, and how it is launched. Sixteen digits.

    Comments and white space do not count; what the header says of the launch does.
    """
    launched = (method.threads, method.grid, method.requires, (method.shared_bytes,))
    parts = [
        " ".join(without_comments(method.source).split()),
        method.entry,
        *method.arguments,
        *method.ptxas,
    ]
    parts += [f"{name}={expression}" for name, expression in method.constants]
    parts += [f"{i}:{expression}" for i, expressions in enumerate(launched) for expression in expressions]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:16]


def today() -> str:
    """The date and time of an entry made now."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def state_of(entry: Entry) -> str:
    """Return why an entry is ignored; an empty text if it holds for the method as it is now."""
    if not entry.is_of_gpu:
        return "measured on the CPU device: ignored"
    try:
        if entry.kernel:
            if not Path(entry.kernel).is_file():
                return "its kernel file is gone: ignored"
            method = read_method(Path(entry.kernel), Overrides(entry.kernel_fields))
        else:
            method = find(entry.method)
    except UsageError:
        return "its kernel file is no kernel any more: ignored" if entry.kernel else "no such method: ignored"
    return "" if source_hash(method) == entry.source else "its source has changed since: ignored"


def stored() -> list[Entry]:
    """All entries there are; none where the file is damaged. Raises UsageError as `lookup` does."""
    return _read(data_folder() / FILE_NAME)[0]


def lookup(device: DeviceInfo, method: Method, dtype: str, shape: Shape) -> dict[str, Value] | None:
    """The parameters that `tune` found fastest, None where it has not been asked.

    Of the entries for this device, architecture, method (its source as it is now) and element type: the one
    of exactly this shape, else of the nearest, by the sum of squared logarithms of the ratios of M, N and K;
    of two as near, the later. One whose requirements do not hold for this shape is passed over. A file that
    is damaged is left as it is and counts as empty here.

    Raises:
        UsageError: the file was written by another version of cudamm, or cannot be read.
    """

    def distance(entry: Entry) -> float:
        pairs = ((shape.m, entry.m), (shape.n, entry.n), (shape.k, entry.k))
        return sum(math.log(asked / tuned) ** 2 for asked, tuned in pairs)

    of = (device.name, arch_of(device), method.name, source_hash(method), dtype)
    entries = [entry for entry in stored() if entry.is_of_gpu and entry.key[: len(of)] == of]
    entries.sort(key=lambda entry: entry.date, reverse=True)
    for entry in sorted(entries, key=distance):
        if _is_possible(entry, method, dtype, shape):
            return dict(entry.params)
    return None


def _is_possible(entry: Entry, method: Method, dtype: str, shape: Shape) -> bool:
    names = [parameter.name for parameter in method.parameters]
    if set(names) != set(entry.params):  # a user's kernel, with other -D names now
        return False
    variant = Variant(method, tuple((name, entry.params[name]) for name in names))
    try:
        variant.padded(ELEMENT_TYPES[dtype], shape.m, shape.n, shape.k)
    except UsageError:
        return False
    return True


class Store:
    """The file, to be read and changed.

    Attributes:
        remarks: what a user should be told of it: that a damaged one was set aside.
    """

    def __init__(self) -> None:
        """Raises UsageError where the folder takes no file: known before anything is searched."""
        self.path = data_folder() / FILE_NAME
        self.remarks: list[str] = []
        with self._told(), self._locked():
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".tuned-")
            os.close(handle)
            Path(name).unlink()

    def entries(self) -> list[Entry]:
        """All there are. Raises UsageError where the file is of another version, or cannot be read."""
        with self._told(), self._locked():
            return self._read_or_set_aside()

    def put(self, entry: Entry) -> Entry:
        """Add an entry, in place of the one with its key and of those of older sources of the same file.

        One whose search was not complete does not replace a faster one.

        Returns:
            What is stored now: the entry, or the faster one.

        Raises:
            UsageError: the file is of another version, or the disk will not take it.
        """
        stays = entry

        def changed(old: list[Entry]) -> list[Entry]:
            nonlocal stays
            same = next((e for e in old if e.key == entry.key and e.cache == entry.cache), None)
            if same is not None and not entry.complete and same.median_ms < entry.median_ms:
                stays = same
                return old
            return [e for e in old if e.subject != entry.subject] + [entry]

        self._change(changed)
        return stays

    def forget(self, is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Remove the entries that are meant, and return them. Raises UsageError as `put` does."""
        removed: list[Entry] = []

        def changed(old: list[Entry]) -> list[Entry]:
            removed.extend(entry for entry in old if is_meant(entry))
            return [entry for entry in old if not is_meant(entry)]

        self._change(changed)
        return removed

    def _change(self, changed: Callable[[list[Entry]], list[Entry]]) -> None:
        with self._told(), self._locked():
            old = self._read_or_set_aside()
            new = changed(old)
            if new == old:
                return
            document = {"schema": SCHEMA, "entries": [dataclasses.asdict(entry) for entry in new]}
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".tuned-", suffix=".json")
            os.close(handle)
            partial = Path(name)
            try:
                with partial.open("w", encoding="utf-8") as file:
                    json.dump(document, file, indent=1, allow_nan=False)
                    file.write("\n")
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(self.path)
            finally:
                partial.unlink(missing_ok=True)

    def _read_or_set_aside(self) -> list[Entry]:
        """The entries; a damaged file is renamed first, and there are none. Only under the lock."""
        entries, damage = _read(self.path)
        if damage:
            aside = next(
                path
                for number in range(1, 10_000)
                if not (path := self.path.with_name(f"tuned.damaged-{number}.json")).exists()
            )
            self.path.rename(aside)
            self.remarks.append(
                f"{self.path} was damaged ({damage}); it is now {aside}, and a new one is begun"
            )
        return entries

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone, until the end."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_suffix(".lock")):
            yield

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """What the file system refuses, as what a user is told."""
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"nothing can be stored in the data folder {self.path.parent} ({error.strerror}); "
                "set CUDAMM_DATA to another"
            ) from None


def _read(path: Path) -> tuple[list[Entry], str]:
    """The entries of a file, and what is damaged about it; none where there is no file.

    Raises:
        UsageError: it cannot be read, or another version of cudamm has written it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return [], ""
    except UnicodeDecodeError:
        return [], "it is no text"
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}); set CUDAMM_DATA to another") from None
    try:
        document = parse_json(text)
    except DamagedError as error:
        return [], f"it is no JSON: {error}"
    schema = document.get("schema") if isinstance(document, dict) else None
    if isinstance(schema, str) and schema.startswith("cudamm.tuned/") and schema != SCHEMA:
        raise UsageError(
            f"{path} has the schema {schema}, of another version of cudamm; this one reads {SCHEMA}"
        )
    if schema != SCHEMA:
        return [], f"its schema is not {SCHEMA}"
    try:
        return read_as(_Document, document).entries, ""
    except DamagedError as error:
        return [], str(error)
