"""Reading results back: what comes back, and what is said of every file that is something else."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from cudamm.benchmark.result_file import load
from cudamm.errors import UsageError

SCHEMA = "cudamm.bench/2"
ROW = {
    "method": "tiled", "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
    "fmad": True, "execution": "gpu", "padded": False, "status": "ok", "reason": "", "cache": "cold",
    "samples_ms": [1.0, 2, 3.5], "clock_mhz": None, "throttled": 0, "source": "ab12", "median_ms": 2.0,
}  # fmt: skip
DOCUMENT = {
    "schema": SCHEMA,
    "device": {"kind": "gpu", "name": "Some GPU"},
    "environment": {},
    "options": {},
    "results": [ROW],
}


@pytest.fixture
def refused(tmp_path):
    """Load a file with this text, or of this document, and say how it is refused."""

    def load_it(content):
        path = tmp_path / "file.json"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        with pytest.raises(UsageError) as caught:
            load(str(path), SCHEMA)
        message = str(caught.value)
        assert str(path) in message and "\n" not in message
        return message

    return load_it


def test_a_file_comes_back_in_two_parts(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT))
    saved = load(str(path), SCHEMA)
    assert saved.path == str(path)
    assert saved.rows == [ROW]
    assert saved.document == {name: value for name, value in DOCUMENT.items() if name != "results"}


def test_what_later_versions_add_is_no_hindrance(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"more": 1, "results": [ROW | {"more": 1}]}))
    assert load(str(path), SCHEMA).rows[0]["more"] == 1


def test_another_schema_can_be_asked_for(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"schema": "cudamm.occupancy/1", "results": [{"arch": "sm_90"}]}))
    assert load(str(path), "cudamm.occupancy/1").rows == [{"arch": "sm_90"}]


def test_a_file_that_is_not_there():
    with pytest.raises(UsageError, match=r"nowhere\.json: there is no such file"):
        load("nowhere.json", SCHEMA)
    with pytest.raises(UsageError, match="the name is empty"):
        load("", SCHEMA)


def test_a_folder(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        load(str(tmp_path), SCHEMA)


def test_a_file_that_is_not_ours_to_read(refused, monkeypatch):
    def read_text(*_, **__):  # root reads everything, whatever its mode
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", read_text)
    assert "it cannot be read (Permission denied)" in refused(DOCUMENT)


def test_a_link_to_itself_cannot_be_read(tmp_path):
    path = tmp_path / "loop.json"
    path.symlink_to(path)
    with pytest.raises(UsageError, match=r"loop\.json: it cannot be read"):
        load(str(path), SCHEMA)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ('{\n "schema": oops}', "line 2 column 12"),
        ('{"schema": NaN}', "NaN is no number"),
        ('{"schema": 1e999}', "1e999 is too large"),
        ('{"schema": ' + "1" * 5000 + "}", "is not JSON"),
        (b"\xff\xfe\x00", "UTF-8"),
    ],
)
def test_what_is_not_json(refused, text, words):
    message = refused(text)
    assert "is not JSON" in message and words in message


@pytest.mark.parametrize(
    "text", ["[]", "3", "null", "{}", '{"schema": 3}', '{"schema": "x/1"}', "[" * 200_000]
)
def test_json_of_somebody_else(refused, text):
    assert "is not a file of cudamm" in refused(text)


def test_another_version_and_another_command(refused):
    message = refused(DOCUMENT | {"schema": "cudamm.bench/1"})
    assert "was written by another version" in message and SCHEMA in message
    message = refused(DOCUMENT | {"schema": "cudamm.verify/1"})
    assert "cudamm verify" in message and SCHEMA in message and "another version" not in message


@pytest.mark.parametrize("results", [None, {}, "x", [1], [ROW, []]])
def test_results_that_are_none(refused, results):
    assert "“results” has to be a list of objects" in refused(DOCUMENT | {"results": results})


@pytest.mark.parametrize(
    ("name", "value"), [("device", None), ("device", {"kind": "gpu"}), ("options", []), ("environment", 1)]
)
def test_a_document_that_is_damaged(refused, name, value):
    assert f"“{name}” has to be" in refused(DOCUMENT | {name: value})


@pytest.mark.parametrize(
    "name", ["method", "params", "m", "samples_ms", "status", "cache", "execution", "fmad"]
)
def test_a_row_that_lacks_something(refused, name):
    rows = [ROW, {key: value for key, value in ROW.items() if key != name}]
    assert f"result 2 has no “{name}”" in refused(DOCUMENT | {"results": rows})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", 1), ("params", []), ("params", {"A": [1]}), ("m", 1.5), ("m", True), ("m", -1),
        ("samples_ms", 3), ("samples_ms", ["1"]), ("samples_ms", [None]), ("samples_ms", [-1.0]),
        ("samples_ms", [10**400]), ("samples_ms", [True]), ("status", "great"), ("execution", []),
        ("cache", "warm"), ("fmad", "yes"), ("clock_mhz", "fast"), ("throttled", 1.5), ("source", 1),
    ],
)  # fmt: skip
def test_a_row_of_wrong_types(refused, name, value):
    message = refused(DOCUMENT | {"results": [ROW | {name: value}]})
    assert f"“{name}” of result 1 has to be" in message
