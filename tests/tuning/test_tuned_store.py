"""The store of tuned parameters: looking entries up, replacing them, and damaged files."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import Method
from cudamm.kernels.problem import Shape
from cudamm.tuning import tuned_store
from cudamm.tuning.tuned_store import Entry, Store, lookup

GPU = DeviceInfo("gpu", "gpu:0", "A GPU", {"arch": "sm_90"})
SQUARE = Shape(1024, 1024, 1024)
WriteKernel = Callable[..., Path]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a data folder that does not exist yet."""
    path = tmp_path / "data" / "cudamm"
    monkeypatch.setenv("CUDAMM_DATA", str(path))
    return path


def entry(method: Method | None = None, **changes: Any) -> Entry:
    method = method or find("tiled-coarse")
    made = Entry(
        device="A GPU",
        arch="sm_90",
        method=method.name,
        source=tuned_store.source_hash(method),
        dtype="float32",
        m=1024,
        n=1024,
        k=1024,
        params={parameter.name: parameter.default for parameter in method.parameters},
        median_ms=0.5,
        cache="cold",
        confirmed=True,
        complete=True,
        tried=12,
        possible=12,
        date="2026-11-21T12:00:00+00:00",
        kernel="" if method.builtin else str(method.path.resolve()),
    )
    return dataclasses.replace(made, **changes)


def coarse_entry(coarse: int, edge: int = 1024, **changes: Any) -> Entry:
    return entry(m=edge, n=edge, k=edge, params={"COARSE": coarse, "BLOCK_SIZE": 16}, **changes)


def stored_coarse(shape: Shape = SQUARE, device: DeviceInfo = GPU, dtype: str = "float32") -> Any:
    """Return the value of COARSE that is stored for tiled-coarse, or None."""
    params = lookup(device, find("tiled-coarse"), dtype, shape)
    return params and params["COARSE"]


# Lookup.


def test_a_stored_entry_is_found() -> None:
    assert stored_coarse() is None
    Store().put(coarse_entry(4))
    assert lookup(GPU, find("tiled-coarse"), "float32", Shape(1024, 1024, 1024)) == {
        "COARSE": 4,
        "BLOCK_SIZE": 16,
    }
    assert Store().entries() == [coarse_entry(4)]


def test_an_entry_is_found_only_for_its_device_architecture_method_and_type() -> None:
    Store().put(coarse_entry(4))
    assert stored_coarse(device=dataclasses.replace(GPU, name="Another")) is None
    assert stored_coarse(device=dataclasses.replace(GPU, properties={"arch": "sm_80"})) is None
    assert stored_coarse(dtype="float64") is None
    assert lookup(GPU, find("tiled"), "float32", Shape(1024, 1024, 1024)) is None


def test_the_entry_of_the_exact_or_nearest_shape_is_found() -> None:
    store = Store()
    for coarse, edge in ((1, 256), (2, 1024), (4, 4096)):
        store.put(coarse_entry(coarse, edge))
    assert [stored_coarse(Shape(e, e, e)) for e in (16, 256, 500, 525, 1024, 2040, 2060, 9999)] == [
        1, 1, 1, 2, 2, 2, 4, 4,
    ]  # fmt: skip
    # Every dimension counts: 4096x4096x2048 is nearer to the cube than to the entry with k = 64.
    store.put(entry(m=4096, n=4096, k=64, params={"COARSE": 8, "BLOCK_SIZE": 16}))
    assert stored_coarse(Shape(4096, 4096, 64)) == 8
    assert stored_coarse(Shape(4096, 4096, 2048)) == 4


def test_an_entry_is_ignored_if_the_source_of_its_method_changed(write_kernel: WriteKernel) -> None:
    source = find("coalesced").source
    path = write_kernel(source, "mine.cu")
    before = read_method(path)
    Store().put(entry(before, params={"BLOCK_SIZE": 8}))
    shape = Shape(1024, 1024, 1024)
    assert lookup(GPU, before, "float32", shape) == {"BLOCK_SIZE": 8}
    write_kernel(source.replace("accumulator sum = 0;", "accumulator sum{0};"), "mine.cu")
    after = read_method(path)
    assert lookup(GPU, after, "float32", shape) is None
    (stored,) = Store().entries()
    assert tuned_store.state_of(stored) == "its source has changed since: ignored"
    # An entry for the new source replaces it.
    Store().put(entry(after, params={"BLOCK_SIZE": 32}))
    (stored,) = Store().entries()
    assert stored.params == {"BLOCK_SIZE": 32} and tuned_store.state_of(stored) == ""
    path.unlink()
    assert tuned_store.state_of(stored) == "its kernel file is gone: ignored"


def test_the_source_hash_depends_on_the_launch_fields_of_the_header(write_kernel: WriteKernel) -> None:
    source = find("coalesced").source
    one, other = (
        read_method(write_kernel(text, name))
        for text, name in ((source, "one.cu"), (source.replace("// threads:", "// threads: 1 *"), "two.cu"))
    )
    assert tuned_store.source_hash(one) != tuned_store.source_hash(other)
    assert tuned_store.source_hash(one) == tuned_store.source_hash(read_method(one.path))


def test_an_entry_whose_requirements_fail_at_the_shape_is_ignored(write_kernel: WriteKernel) -> None:
    source = find("coalesced").source.replace("// threads:", "// requires: BLOCK_SIZE <= M\n// threads:")
    method = read_method(write_kernel(source))
    store = Store()
    store.put(entry(method, m=64, n=64, k=64, params={"BLOCK_SIZE": 32}))
    store.put(entry(method, m=4096, n=4096, k=4096, params={"BLOCK_SIZE": 8}))
    assert lookup(GPU, method, "float32", Shape(32, 32, 32)) == {"BLOCK_SIZE": 32}
    assert lookup(GPU, method, "float32", Shape(16, 16, 16)) == {"BLOCK_SIZE": 8}
    assert lookup(GPU, method, "float32", Shape(4, 4, 4)) is None


# Storing and forgetting.


def test_a_later_entry_replaces_the_one_with_the_same_key() -> None:
    store = Store()
    store.put(coarse_entry(4, median_ms=0.5))
    store.put(coarse_entry(2, median_ms=0.7))
    store.put(coarse_entry(8, dtype="int32"))
    assert [(e.dtype, e.params["COARSE"]) for e in store.entries()] == [("float32", 2), ("int32", 8)]


def test_an_incomplete_search_does_not_replace_a_faster_entry() -> None:
    store = Store()
    store.put(coarse_entry(4, median_ms=0.5))
    slower = coarse_entry(2, median_ms=0.7, complete=False)
    assert store.put(slower) == coarse_entry(4, median_ms=0.5)
    assert stored_coarse() == 4
    faster = coarse_entry(8, median_ms=0.4, complete=False)
    assert store.put(faster) == faster
    assert stored_coarse() == 8
    # Hot and cold times are not compared.
    assert store.put(dataclasses.replace(slower, cache="hot")).cache == "hot"


def test_forget_removes_and_returns_the_matching_entries() -> None:
    store = Store()
    store.put(coarse_entry(4))
    store.put(coarse_entry(8, dtype="int32"))
    assert store.forget(lambda e: e.dtype == "int32") == [coarse_entry(8, dtype="int32")]
    assert store.entries() == [coarse_entry(4)]
    assert store.forget(lambda e: False) == [] and store.entries() == [coarse_entry(4)]


def _put(folder: str, first: int, barrier: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDAMM_DATA", folder)
        store = Store()
        barrier.wait(timeout=60)
        for i in range(first, first + 10):
            store.put(coarse_entry(i, i))


def test_processes_that_store_at_the_same_time_lose_no_entry(folder: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(3)
    others = [context.Process(target=_put, args=(str(folder), first, barrier)) for first in (100, 200, 300)]
    for process in others:
        process.start()
    for process in others:
        process.join(timeout=60)
    assert [process.exitcode for process in others] == [0, 0, 0]
    found = sorted(e.params["COARSE"] for e in Store().entries())
    assert found == [*range(100, 110), *range(200, 210), *range(300, 310)]
    assert sorted(path.name for path in folder.iterdir()) == ["tuned.json", "tuned.lock"]


# Damaged and unwritable files.


def changed(**fields: Any) -> str:
    """Return the text of a file whose only entry has these fields changed."""
    return json.dumps({"schema": "cudamm.tuned/1", "entries": [dataclasses.asdict(coarse_entry(4)) | fields]})


def test_unknown_fields_of_later_versions_are_no_damage(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "tuned.json").write_text(changed(more=1))
    assert stored_coarse() == 4 and Store().entries() == [coarse_entry(4)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ('{"schema": "cudamm.tuned/1", "entr', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("3", "schema"),
        ('{"schema": "cudamm.bench/2", "results": []}', "schema"),
        ('{"schema": "cudamm.tuned/1"}', "missing required field `entries`"),
        ('{"schema": "cudamm.tuned/1", "entries": [3]}', "`entries[0]`: expected `object`, got `int`"),
        (changed(arch=None), "`entries[0].arch`: expected `str`, got `null`"),
        (changed(m="many"), "`entries[0].m`: expected `int`, got `str`"),
        (changed(k=0), "`entries[0].k`: expected `int` >= 1"),
        (changed(tried=True), "`entries[0].tried`"),
        (changed(dtype="float8"), "`entries[0].dtype`"),
        (changed(params={"COARSE": [4]}), "`entries[0].params[...]`"),
        (changed(median_ms=float("nan")), "NaN is not a JSON number"),
    ],
)
def test_a_damaged_file_is_renamed_and_reported(folder: Path, text: str, why: str) -> None:
    folder.mkdir(parents=True)
    (folder / "tuned.json").write_text(text)
    assert stored_coarse() is None
    assert (folder / "tuned.json").read_text() == text  # lookup does not move the file
    store = Store()
    store.put(coarse_entry(4))
    (remark,) = store.remarks
    assert why in remark and "tuned.damaged-1.json" in remark
    assert (folder / "tuned.damaged-1.json").read_text() == text
    assert store.entries() == [coarse_entry(4)]
    (folder / "tuned.json").write_bytes(b"\xff\xfe")
    assert Store().entries() == []
    assert (folder / "tuned.damaged-2.json").read_bytes() == b"\xff\xfe"
    assert (folder / "tuned.damaged-1.json").read_text() == text


def test_a_file_of_another_version_is_refused_and_unchanged(folder: Path) -> None:
    folder.mkdir(parents=True)
    text = '{"schema": "cudamm.tuned/2", "entries": {}}'
    (folder / "tuned.json").write_text(text)
    store = Store()
    for request in (store.entries, lambda: store.put(coarse_entry(4)), lambda: stored_coarse()):
        with pytest.raises(UsageError, match=r"cudamm\.tuned/2 of another version"):
            request()
    assert (folder / "tuned.json").read_text() == text


def test_a_data_folder_that_cannot_be_written_is_refused_at_once(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file")
    with pytest.raises(UsageError, match=r"data folder .*CUDAMM_DATA"):
        Store()


def test_a_full_disk_leaves_the_stored_file_unchanged(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    store.put(coarse_entry(4))
    before = (folder / "tuned.json").read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("cudamm.tuning.tuned_store.os.fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        store.put(coarse_entry(8))
    assert (folder / "tuned.json").read_bytes() == before
    assert sorted(path.name for path in folder.iterdir()) == ["tuned.json", "tuned.lock"]


def test_the_default_data_folder_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CUDAMM_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert tuned_store.data_folder() == tmp_path / "home" / "cudamm"
