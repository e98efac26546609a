"""Reading result files and journals back, and the messages for files that are damaged or of another kind."""

from __future__ import annotations

import errno
import json
import os

import pytest

from cudamm.benchmark.comparison import compare, differences
from cudamm.benchmark.journal import Journal, journal_path
from cudamm.benchmark.result import SCHEMA, bench_record_among, yardsticks_of
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
def message_of(tmp_path):
    """Return a function that loads a file with the given content and returns its UsageError's message."""

    def load_refused(content):
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

    return load_refused


def test_a_file_is_read_as_rows_and_a_document(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT))
    saved = load(str(path))
    assert saved.path == str(path)
    assert saved.rows == [ROW]
    assert saved.document == {name: value for name, value in DOCUMENT.items() if name != "results"}


def test_unknown_fields_of_later_versions_are_kept(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"more": 1, "results": [ROW | {"more": 1}]}))
    assert load(str(path)).rows[0]["more"] == 1


def test_a_row_is_read_as_the_result_that_wrote_it(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"results": [ROW | VERDICT | {"chosen_by": "table"}]}))
    (result,) = load(str(path)).results
    assert (result.method, result.params, result.m, result.padded) == ("tiled", {"BLOCK_SIZE": 16}, 64, False)
    assert (result.timing.samples_ms, result.timing.cache) == ([1.0, 2.0, 3.5], "cold")
    assert (result.verdict.correct, result.verdict.max_error, result.source) == (True, 1e300, "ab12")
    written = bench_record_among(result, {})
    path.write_text(json.dumps(DOCUMENT | {"results": [written]}))
    assert load(str(path)).results == [result]
    assert bench_record_among(load(str(path)).results[0], {}) == written


@pytest.mark.parametrize(("dtype", "kind"), [("float32", "uniform"), ("int32", "integers")])
def test_a_row_without_a_kind_of_inputs_has_that_of_older_versions(tmp_path, dtype, kind):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"results": [ROW | VERDICT | {"dtype": dtype}]}))
    assert "inputs" not in ROW
    assert [result.inputs for result in load(str(path)).results] == [kind]


def test_a_missing_file_and_an_empty_name_are_refused():
    with pytest.raises(UsageError, match=r"nowhere\.json: there is no such file"):
        load("nowhere.json")
    with pytest.raises(UsageError, match="the name of the result file is empty"):
        load("")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        load(str(tmp_path))


def test_a_file_without_read_permission_is_refused(message_of, monkeypatch):
    def read(*_):  # root can read files of any mode
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("cudamm.source.input_file.os.read", read)
    assert "it cannot be read (Permission denied)" in message_of(DOCUMENT)


def test_a_symlink_to_itself_is_refused(tmp_path):
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
def test_a_file_that_is_not_json_is_refused_with_the_reason(message_of, text, words):
    message = message_of(text)
    assert "is not JSON" in message and words in message


@pytest.mark.parametrize("text", ["[]", "3", "null", "{}", '{"schema": 3}', '{"schema": "x/1"}'])
def test_json_of_another_program_is_refused(message_of, text):
    assert "is not a file of cudamm" in message_of(text)


def test_a_file_of_another_version_or_another_command_is_refused(message_of):
    message = message_of(DOCUMENT | {"schema": "cudamm.bench/1"})
    assert "was written by another version" in message and SCHEMA in message
    message = message_of(DOCUMENT | {"schema": "cudamm.verify/1"})
    assert "cudamm verify" in message and SCHEMA in message and "another version" not in message


@pytest.mark.parametrize("results", [None, {}, "x", [1], [ROW, []]])
def test_results_that_are_not_a_list_of_objects_are_damaged(message_of, results):
    assert "is damaged: `results" in message_of(DOCUMENT | {"results": results})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("device", None, "`device`: expected `object`, got `null`"),
        ("device", {"kind": "gpu"}, "`device`: missing required field `name`"),
        ("options", [], "`options`: expected `object`, got `array`"),
        ("environment", 1, "`environment`: expected `object`, got `int`"),
    ],
)
def test_a_damaged_document_is_refused_with_the_field(message_of, name, value, words):
    assert f"is damaged: {words}; measure again" in message_of(DOCUMENT | {name: value})


@pytest.mark.parametrize(
    "name", ["method", "params", "m", "samples_ms", "status", "cache", "execution", "fmad"]
)
def test_a_row_without_a_required_field_is_damaged(message_of, name):
    rows = [ROW, {key: value for key, value in ROW.items() if key != name}]
    message = message_of(DOCUMENT | {"results": rows})
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
        ("inputs", "ones"),
    ],
)  # fmt: skip
def test_a_row_with_a_wrong_type_or_value_is_damaged(message_of, name, value):
    message = message_of(DOCUMENT | {"results": [ROW | {name: value}]})
    assert f"is damaged: result 1, `{name}" in message


def test_a_file_without_results_cannot_be_reported_on(tmp_path):
    path = tmp_path / "file.json"
    path.write_text(json.dumps(DOCUMENT | {"results": []}))
    with pytest.raises(UsageError, match=r"file\.json contains no results yet"):
        results_of(load(str(path)))


# Journals of runs that were killed.


@pytest.fixture
def interrupted_file(tmp_path):
    """Write a journal with two rows in the wrong order. Return the path of the missing result file."""
    path = tmp_path / "file.json"
    journal = Journal(
        journal_path(path), {name: value for name, value in DOCUMENT.items() if name != "results"}
    )
    journal.add({1: ROW | {"method": "naive"}})
    journal.append({0: ROW})
    journal.close()
    return path


def test_a_resumed_run_reads_the_journal_instead_of_the_file(interrupted_file):
    assert [row["method"] for row in load_to_resume(str(interrupted_file)).rows] == ["tiled", "naive"]
    interrupted_file.write_text(json.dumps(DOCUMENT | {"results": []}))
    assert len(load_to_resume(str(interrupted_file)).rows) == 2
    assert load(str(interrupted_file)).rows == []


def test_a_journal_without_its_file_is_refused_with_the_command_to_resume(interrupted_file):
    with pytest.raises(UsageError, match=r"not written yet.*file\.json\.journal.*`cudamm bench … --resume"):
        load(str(interrupted_file))


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_an_incomplete_last_line_of_a_journal_is_ignored(interrupted_file, cut):
    journal = journal_path(interrupted_file)
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert [row["method"] for row in load_to_resume(str(interrupted_file)).rows] == ["naive"]


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
def test_a_damaged_journal_is_refused_with_the_line(interrupted_file, number, line, words):
    journal = journal_path(interrupted_file)
    lines = journal.read_text().splitlines()
    lines[number] = line
    journal.write_text("\n".join(lines) + "\n")
    with pytest.raises(UsageError, match=rf"file\.json\.journal .*{words}"):
        load_to_resume(str(interrupted_file))


def test_there_is_nothing_to_resume_without_file_and_journal(tmp_path):
    assert load_to_resume(str(tmp_path / "file.json")) is None


@pytest.mark.parametrize("field", ["clock_mhz", "event_floor_ms", "fma_ceiling_gflops", "samples_ms"])
@pytest.mark.parametrize("amount", [5e-324, 1e-300, 1e-13])
def test_amounts_too_small_to_compute_with_are_refused(message_of, field, amount):
    value = [1.0, amount] if field == "samples_ms" else amount
    message = message_of(DOCUMENT | {"results": [ROW | {field: value}]})
    assert f"damaged: result 1, `{field}`: {amount:g} is less than 1e-12; measure again" in message


def test_the_least_and_the_largest_amounts_have_finite_rates_and_ratios(tmp_path):
    path = tmp_path / "file.json"
    sizes = {"m": 10**9, "n": 10**9, "k": 10**9}
    extremes = {"samples_ms": [1e-12, 9e14], "clock_mhz": 1e-12, "fma_ceiling_gflops": 1e-12}
    path.write_text(json.dumps(DOCUMENT | {"results": [ROW | sizes | extremes]}))
    saved = load(str(path))
    json.dumps(bench_record_among(saved.results[0], yardsticks_of(saved.results)), allow_nan=False)
    (comparison,) = compare(saved, saved, 0.95)
    json.dumps(comparison.record(), allow_nan=False)


@pytest.mark.parametrize("status", ["failed", "skipped", "ok"])
def test_rows_of_older_versions_that_lack_fields_are_compared(tmp_path, status):
    path = tmp_path / "file.json"
    older = {name: value for name, value in ROW.items() if name not in ("reason", "source", "throttled")}
    path.write_text(json.dumps(DOCUMENT | {"results": [older | {"status": status}]}))
    saved = load(str(path))
    (comparison,) = compare(saved, saved, 0.95)
    assert comparison.record()["old_reason"] == ""
    assert differences(saved, saved, [comparison]) is not None


@pytest.mark.parametrize(
    "damage",
    [
        {"event_floor_ms": "x"}, {"throttle_reasons": 5}, {"samples_ms": [None]}, {"samples_ms": [-1]},
        {"samples_ms": [1e308]}, {"samples_ms": {}}, {"launches_per_sample": 10**30}, {"status": "fine"},
        {"status": "\ud800"}, {"params": []}, {"params": {"X": [1]}}, {"m": 10**10}, {"m": None}, {"fmad": 5},
    ],
)  # fmt: skip
def test_a_wrong_value_in_a_row_is_refused_with_the_place(message_of, damage):
    assert "damaged: result 1, " in message_of(DOCUMENT | {"results": [ROW | damage]})
