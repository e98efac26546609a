"""Store of the fastest parameters that `tune` found, by method and device, in the user's data folder.

The store is one JSON file. A change takes a lock, reads the file, writes a new file beside it and renames the
new file. So two runs at once lose nothing, and a reader always finds a complete file.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import platform
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
from cudamm.benchmark.unnamed_file import UnnamedFile
from cudamm.compile.identity import hash_of
from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method, Value
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant
from cudamm.source.c_text import without_comments
from cudamm.source.input_file import read_input, remember_input

SCHEMA = "cudamm.tuned/1"
FILE_NAME = "tuned.json"
LARGEST_FILE_BYTES = 1 << 24

DType = Annotated[str, Meta(pattern=f"^({'|'.join(ELEMENT_TYPES)})$")]

Number = Annotated[int, Meta(ge=1)]


@dataclass(frozen=True)
class Entry:
    """The fastest parameters of one method for one problem on one device.

    Attributes:
        device: name of the device.
        arch: architecture of the GPU, such as `sm_90`; machine type for the CPU device.
        source: `source_hash` of the method when it was tuned.
        median_ms: median of the winner's samples, in milliseconds.
        cache: state of the L2 cache before each sample, `cold` or `hot`.
        confirmed: whether the winner is faster than the runner-up beyond the bootstrap interval of their
            ratio; true if there is no runner-up.
        complete: whether search and confirmation finished; false after Ctrl-C or at the end of the budget.
        tried: number of variants that were tried.
        possible: number of variants that can be launched.
        date: date and time in UTC.
        kernel: path of the user's file; empty for a method of cudamm.
        kernel_fields: options that replaced fields of that file's header.
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
        """The fields that identify an entry: a later entry with the same key replaces it."""
        shape = f"{self.m}x{self.n}x{self.k}"
        return self.device, self.arch, self.method, self.source, self.dtype, shape

    @property
    def is_of_gpu(self) -> bool:
        """True if a GPU was measured. Older versions of cudamm stored what the CPU device took, too."""
        return self.arch.startswith("sm_")

    @property
    def subject(self) -> tuple[str, ...]:
        """The key without the source, and the file: a later entry with another source replaces it as well."""
        device, arch, method, _, dtype, shape = self.key
        return device, arch, method, dtype, shape, self.kernel


@dataclass(frozen=True)
class _Document:
    """The required contents of the file."""

    entries: list[Entry]


def data_folder() -> Path:
    """Return the folder of the store, which may not exist yet: $CUDAMM_DATA, or the user's data folder."""
    return Path(os.environ.get("CUDAMM_DATA") or platformdirs.user_data_dir("cudamm")).absolute()


def arch_of(device: DeviceInfo) -> str:
    """Return the architecture under which a device's entries are stored."""
    return str(device.properties.get("arch") or platform.machine())


def source_hash(method: Method) -> str:
    """Return a hash of a method's code, of the files that it includes, and of its launch.

    The hash covers the header's fields of the launch. It does not cover comments and white space.
    """
    launch_expressions = (method.threads, method.grid, method.requires, (method.shared_bytes,))
    parts = [
        *(" ".join(without_comments(text).split()) for text in (method.source, *method.included)),
        method.entry,
        *method.arguments,
        *method.ptxas,
        *(f"{name}=column" for name in method.column_major),
        *(["initial-c=0"] if method.adds_to_zeros else []),
        *(["dependent-launch"] if method.dependent_launch else []),
    ]
    parts += [f"{name}={expression}" for name, expression in method.constants]
    parts += [
        f"{i}:{expression}" for i, expressions in enumerate(launch_expressions) for expression in expressions
    ]
    return hash_of(parts)


def today() -> str:
    """Return the present date and time in UTC, as an entry contains it."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def state_of(entry: Entry) -> str:
    """Return why an entry is ignored, in words; empty if it holds for the present method."""
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
        return "its kernel file is no longer a kernel: ignored" if entry.kernel else "no such method: ignored"
    return "" if source_hash(method) == entry.source else "its source has changed since: ignored"


def stored() -> list[Entry]:
    """Return all entries; none if the file is damaged.

    Raises:
        UsageError: as `lookup` does.
    """
    return _read(data_folder() / FILE_NAME)[0]


def lookup(device: DeviceInfo, method: Method, dtype: str, shape: Shape) -> dict[str, Value] | None:
    """Return the fastest parameters that `tune` stored for a method; None if it stored none.

    Entries count if device, architecture, element type and the method's present source agree. The entry of
    exactly this shape is taken, else the nearest one by the sum of squared logarithms of the ratios of M, N
    and K; of two equally near entries, the later one. Entries whose requirements this shape does not meet are
    skipped. A damaged file is left unchanged and counts as empty.

    Raises:
        UsageError: another version of cudamm wrote the file, or it cannot be read.
    """

    def distance(entry: Entry) -> float:
        pairs = ((shape.m, entry.m), (shape.n, entry.n), (shape.k, entry.k))
        return sum(math.log(requested / tuned) ** 2 for requested, tuned in pairs)

    key = (device.name, arch_of(device), method.name, source_hash(method), dtype)
    entries = [entry for entry in stored() if entry.is_of_gpu and entry.key[: len(key)] == key]
    entries.sort(key=lambda entry: entry.date, reverse=True)
    for entry in sorted(entries, key=distance):
        if _is_possible(entry, method, dtype, shape):
            return dict(entry.params)
    return None


def _is_possible(entry: Entry, method: Method, dtype: str, shape: Shape) -> bool:
    names = [parameter.name for parameter in method.parameters]
    if set(names) != set(entry.params):  # a user's kernel that now has other -D names
        return False
    variant = Variant(method, tuple((name, entry.params[name]) for name in names))
    try:
        variant.padded(ELEMENT_TYPES[dtype], shape.m, shape.n, shape.k)
    except UsageError:
        return False
    return True


class Store:
    """The file of stored entries, for reading and changing.

    Attributes:
        remarks: messages for the user; one for each damaged file that was renamed.
    """

    def __init__(self) -> None:
        """Check that the folder is writable, before a search begins.

        Raises:
            UsageError: no file can be written in the folder.
        """
        self.path = data_folder() / FILE_NAME
        self.remarks: list[str] = []
        remember_input(self.path)
        with self._file_errors(), self._locked():
            UnnamedFile(self.path).close()

    def entries(self) -> list[Entry]:
        """Return all entries.

        Raises:
            UsageError: the file is of another version or cannot be read.
        """
        with self._file_errors(), self._locked():
            return self._read_or_set_aside()

    def put(self, entry: Entry) -> Entry:
        """Add an entry; it replaces the entry with its key and those of older sources of the same file.

        An entry of an incomplete search does not replace a faster one.

        Returns:
            The entry that is stored now: the new one or the faster one.

        Raises:
            UsageError: the file is of another version, or cannot be written.
        """
        stored_entry = entry

        def replace_entry(old: list[Entry]) -> list[Entry]:
            nonlocal stored_entry
            existing = next((e for e in old if e.key == entry.key and e.cache == entry.cache), None)
            if existing is not None and not entry.complete and existing.median_ms < entry.median_ms:
                stored_entry = existing
                return old
            return [e for e in old if e.subject != entry.subject] + [entry]

        self._edit(replace_entry)
        return stored_entry

    def forget(self, is_meant: Callable[[Entry], bool]) -> list[Entry]:
        """Remove the entries for which `is_meant` is true, and return them.

        Raises:
            UsageError: as `put` does.
        """
        removed: list[Entry] = []

        def remove_entries(old: list[Entry]) -> list[Entry]:
            removed.extend(entry for entry in old if is_meant(entry))
            return [entry for entry in old if not is_meant(entry)]

        self._edit(remove_entries)
        return removed

    def _edit(self, edit: Callable[[list[Entry]], list[Entry]]) -> None:
        with self._file_errors(), self._locked():
            old = self._read_or_set_aside()
            new = edit(old)
            if new == old:
                return
            document = {"schema": SCHEMA, "entries": [dataclasses.asdict(entry) for entry in new]}
            with contextlib.closing(UnnamedFile(self.path)) as file:
                file.write([json.dumps(document, indent=1, allow_nan=False).encode(), b"\n"])
                os.fsync(file.stream.fileno())
                file.place()

    def _read_or_set_aside(self) -> list[Entry]:
        """Return the entries; rename a damaged file and return none. The caller holds the lock."""
        entries, damage = _read(self.path)
        if damage:
            damaged_path = next(
                path
                for number in range(1, 10_000)
                if not (path := self.path.with_name(f"tuned.damaged-{number}.json")).exists()
            )
            self.path.rename(damaged_path)
            self.remarks.append(
                f"{self.path} was damaged ({damage}); it was renamed to {damaged_path}, and a new file is "
                "begun"
            )
        return entries

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the store's lock inside the `with` block."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path.with_suffix(".lock")):
            yield

    @contextlib.contextmanager
    def _file_errors(self) -> Iterator[None]:
        """Raise an OSError of the `with` block as a UsageError for the user."""
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"nothing can be stored in the data folder {self.path.parent} ({error.strerror}); "
                "set CUDAMM_DATA to another folder"
            ) from None


def _read(path: Path) -> tuple[list[Entry], str]:
    """Return the entries of a file, none if there is no file, and a description of any damage.

    Raises:
        UsageError: the file cannot be read, or another version of cudamm wrote it.
    """
    try:
        text = read_input(path, "the store of parameters", LARGEST_FILE_BYTES).decode()
    except FileNotFoundError:
        return [], ""
    except UnicodeDecodeError:
        return [], "it is not text"
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read ({error.strerror}); set CUDAMM_DATA to another folder"
        ) from None
    try:
        document = parse_json(text)
    except DamagedError as error:
        return [], f"it is not JSON: {error}"
    schema = document.get("schema") if isinstance(document, dict) else None
    if isinstance(schema, str) and schema.startswith("cudamm.tuned/") and schema != SCHEMA:
        raise UsageError(
            f"{path} has the schema {schema} of another version of cudamm; this version reads {SCHEMA}"
        )
    if schema != SCHEMA:
        return [], f"its schema is not {SCHEMA}"
    try:
        return read_as(_Document, document).entries, ""
    except DamagedError as error:
        return [], str(error)
