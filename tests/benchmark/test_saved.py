"""Reading results back: what comes back, and what is said of every file that is something else."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from cudamm.benchmark.journal import Journal, journal_of
from cudamm.benchmark.result import SCHEMA, bench_record_among
from cudamm.benchmark.result_file import load, load_to_resume, results_of
from cudamm.errors import UsageError

ROW = {
    "method": "tiled", "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
    "fmad": True, "execution": "gpu", "padded": False, "status": "ok", "reason": "", "cache": "cold",
    "samples_ms": [1.0, 2, 3.5], "clock_mhz": None, "throttled": 0, "source": "ab12", "median_ms": 2.0,
}  # fmt: skip
VERDICT = {"correct": True, "bit_equal": None, "max_error": 1e300, "error_bound": 0}
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
            load(str(path))
        message = str(caught.value)
        assert str(path) in message and "\n" not in message
        return message

    return load_it


def test_a_file_comes_back_in_two_parts(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT))
    saved = load(str(path))
    assert saved.path == str(path)
    assert saved.rows == [ROW]
    assert saved.document == {name: value for name, value in DOCUMENT.items() if name != "results"}


def test_what_later_versions_add_is_no_hindrance(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"more": 1, "results": [ROW | {"more": 1}]}))
    assert load(str(path)).rows[0]["more"] == 1


def test_a_row_comes_back_as_the_result_that_wrote_it(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"results": [ROW | VERDICT | {"chosen_by": "table"}]}))
    (result,) = load(str(path)).results
    assert (result.method, result.params, result.m, result.padded) == ("tiled", {"BLOCK_SIZE": 16}, 64, False)
    assert (result.timing.samples_ms, result.timing.cache) == ([1.0, 2.0, 3.5], "cold")
    assert (result.verdict.correct, result.verdict.max_error, result.source) == (True, 1e300, "ab12")
    written = bench_record_among(result, [result])
    path.write_text(json.dumps(DOCUMENT | {"results": [written]}))
    assert load(str(path)).results == [result]
    assert bench_record_among(load(str(path)).results[0], []) == written


def test_a_file_that_is_not_there():
    with pytest.raises(UsageError, match=r"nowhere\.json: there is no such file"):
        load("nowhere.json")
    with pytest.raises(UsageError, match="the name of the result file is empty"):
        load("")


def test_a_folder(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        load(str(tmp_path))


def test_a_file_that_is_not_ours_to_read(refused, monkeypatch):
    def read_text(*_, **__):  # root reads everything, whatever its mode
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "read_text", read_text)
    assert "it cannot be read (Permission denied)" in refused(DOCUMENT)


def test_a_link_to_itself_cannot_be_read(tmp_path):
    path = tmp_path / "loop.json"
    path.symlink_to(path)
    with pytest.raises(UsageError, match=r"loop\.json: it cannot be read"):
        load(str(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it is empty"),
        ('{\n "schema": oops}', "line 2 column 12"),
        ('{"schema": NaN}', "NaN is not a JSON number"),
        ('{"schema": 1e999}', "1e999 is too large"),
        ('{"schema": ' + "1" * 5000 + "}", "is not JSON"),
        (b"\xff\xfe\x00", "UTF-8"),
        ("[" * 200_000, "nested too deeply"),
    ],
)
def test_what_is_not_json(refused, text, words):
    message = refused(text)
    assert "is not JSON" in message and words in message


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"schema": 3}', '{"schema": "x/1"}'])
def test_json_of_somebody_else(refused, text):
    assert "is not a file of cudamm" in refused(text)


def test_another_version_and_another_command(refused):
    message = refused(DOCUMENT | {"schema": "cudamm.bench/1"})
    assert "was written by another version" in message and SCHEMA in message
    message = refused(DOCUMENT | {"schema": "cudamm.verify/1"})
    assert "cudamm verify" in message and SCHEMA in message and "another version" not in message


@pytest.mark.parametrize("results", [None, {}, "x", [1], [ROW, []]])
def test_results_that_are_none(refused, results):
    assert "is damaged: `results" in refused(DOCUMENT | {"results": results})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("device", None, "`device`: expected `object`, got `null`"),
        ("device", {"kind": "gpu"}, "`device`: missing required field `name`"),
        ("options", [], "`options`: expected `object`, got `array`"),
        ("environment", 1, "`environment`: expected `object`, got `int`"),
    ],
)
def test_a_document_that_is_damaged(refused, name, value, words):
    assert f"is damaged: {words}; measure again" in refused(DOCUMENT | {name: value})


@pytest.mark.parametrize(
    "name", ["method", "params", "m", "samples_ms", "status", "cache", "execution", "fmad"]
)
def test_a_row_that_lacks_something(refused, name):
    rows = [ROW, {key: value for key, value in ROW.items() if key != name}]
    message = refused(DOCUMENT | {"results": rows})
    assert f"is damaged: result 2, missing required field `{name}`; measure again" in message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("method", 1), ("params", []), ("params", {"A": [1]}), ("params", {"A": True}), ("m", 1.5),
        ("m", True), ("m", -1), ("m", 0), ("k", 10**400), ("padded", "no"), ("samples_ms", 3),
        ("samples_ms", ["1"]), ("samples_ms", [None]), ("samples_ms", [-1.0]), ("samples_ms", [10**400]),
        ("samples_ms", [True]), ("samples_ms", [1e15]), ("status", "great"), ("execution", []),
        ("cache", "warm"), ("fmad", "yes"), ("clock_mhz", "fast"), ("throttled", 1.5), ("source", 1),
        ("launches_per_sample", 0), ("throttle_reasons", [1]), ("event_floor_ms", "short"), ("correct", 1),
        ("max_error", 10**400), ("retaken", -1), ("ended_by", None), ("chosen_by", "chance"),
    ],
)  # fmt: skip
def test_a_row_of_wrong_types(refused, name, value):
    message = refused(DOCUMENT | {"results": [ROW | {name: value}]})
    assert f"is damaged: result 1, `{name}" in message


def test_a_file_without_results_is_none_to_report_on(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"results": []}))
    with pytest.raises(UsageError, match=r"file\.json contains no results yet"):
        results_of(load(str(path)))


# The journal of a run that was killed.


@pytest.fixture
def killed(tmp_path):
    """Leave a journal of two rows, in the wrong order, beside a file that is not there."""
    path = tmp_path / "file.json"
    journal = Journal(
        journal_of(path), {name: value for name, value in DOCUMENT.items() if name != "results"}
    )
    journal.add({1: ROW | {"method": "naive"}})
    journal.append({0: ROW})
    journal.close()
    return path


def test_a_journal_counts_before_the_file_where_a_run_goes_on(killed):
    assert [row["method"] for row in load_to_resume(str(killed)).rows] == ["tiled", "naive"]
    killed.write_text(json.dumps(DOCUMENT | {"results": []}))
    assert len(load_to_resume(str(killed)).rows) == 2
    assert load(str(killed)).rows == []


def test_where_only_a_journal_is_the_message_says_what_to_do(killed):
    with pytest.raises(UsageError, match=r"not written yet.*file\.json\.journal.*`cudamm bench … --resume"):
        load(str(killed))


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_line_that_the_kill_has_cut_off_does_not_count(killed, cut):
    journal = journal_of(killed)
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert [row["method"] for row in load_to_resume(str(killed)).rows] == ["naive"]


@pytest.mark.parametrize(
    ("number", "line", "words"),
    [
        (0, "{}", "is not a file of cudamm"),
        (0, "[]", "is damaged: line 1: expected `object`, got `array`"),
        (0, '{"schema": "cudamm.bench/1"}', "another version"),
        (1, '[0, {"method": ', "is damaged: line 2"),
        (1, "[1]", "is damaged: line 2"),
        (2, "[0, {}]", "is damaged: result 1, missing required field"),
    ],
)
def test_a_damaged_journal(killed, number, line, words):
    journal = journal_of(killed)
    lines = journal.read_text().splitlines()
    lines[number] = line
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=rf"file\.json\.journal .*{words}"):
        load_to_resume(str(killed))


def test_nothing_to_go_on_from(tmp_path):
    assert load_to_resume(str(tmp_path / "file.json")) is None
