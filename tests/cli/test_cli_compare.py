"""`cudamm compare`: exit statuses, warnings, the JSON document and what is refused."""

from __future__ import annotations

import json

import pytest

RELATIVE_SAMPLES = (0.99, 0.992, 0.994, 0.996, 0.998, 1.0, 1.002, 1.004, 1.006, 1.008, 1.01)
"""Samples as fractions of their median. Samples of two medians that differ by 10% do not overlap."""


def row(method="tiled", median=1.0, **other):
    fields = {
        "method": method, "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
        "fmad": True, "execution": "gpu", "padded": False, "status": "ok", "reason": "", "source": "ab12",
        "cache": "cold", "samples_ms": [median * sample for sample in RELATIVE_SAMPLES],
        "clock_mhz": 1980, "throttled": 0,
    }  # fmt: skip
    return fields | other


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file of results; named arguments replace fields of the document."""

    def write(name, *rows, **replaced):
        document = {
            "schema": "cudamm.bench/2",
            "device": {"kind": "gpu", "spec": "gpu", "name": "Some GPU", "driver": "580.1"},
            "environment": {"cudamm": "1.0", "nvcc": "13.0"},
            "options": {"cache": "cold"},
        }
        (tmp_path / name).write_text(json.dumps(document | replaced | {"results": rows}))

    return write


@pytest.fixture
def files(write):
    """Write two files: one variant becomes faster, one a tenth slower, and one stays the same."""
    write("old.json", row("naive"), row("tiled"), row("row"))
    write("new.json", row("naive", 0.5), row("tiled", 1.1), row("row", 1.001))


def test_a_table_and_a_summary_are_printed(run, files):
    result = run("compare old.json new.json")
    assert (result.status, result.stderr) == (0, "")
    for word in ("2.00×", "0.909×", "faster", "slower", "no difference"):
        assert word in result.stdout
    assert result.stdout.endswith("1 faster, 1 slower, 1 no difference (95% confidence)\n")


def test_confidence_is_given_as_a_fraction_or_in_percent(run, files):
    assert "(99% confidence)" in run("compare old.json new.json --confidence 0.99").stdout
    assert "(99.9% confidence)" in run("compare old.json new.json --confidence 99.9%").stdout


@pytest.mark.parametrize(
    ("allowed", "status"),
    [("5%", 1), ("'5 %'", 1), ("0.05", 1), (".05", 1), ("0", 1), ("12%", 0), ("200%", 0)],
)
def test_a_slowdown_beyond_fail_on_ends_with_1(run, files, allowed, status):
    assert run(f"compare old.json new.json --fail-on {allowed}").status == status


def test_a_row_that_now_fails_ends_with_1_only_with_fail_on(run, write):
    write("old.json", row(), row("naive"))
    write("new.json", row(), row("naive", status="failed", reason="off by [one]", samples_ms=[]))
    result = run("compare old.json new.json")
    assert result.status == 0
    assert "off by [one]" in result.stdout and "1 now failing" in result.stdout
    assert run("compare old.json new.json --fail-on 50%").status == 1
    assert run("compare new.json old.json --fail-on 50%").status == 0


def test_warnings_go_to_standard_error(run, write):
    write("old.json", row())
    write("new.json", row(source="cd34", clock_mhz=1500, throttled=2), environment={"cudamm": "1.1"})
    result = run("compare old.json new.json")
    assert result.status == 0
    lines = result.stderr.splitlines()
    assert len(lines) == 5 and all(line.startswith("cudamm: ") for line in lines)
    for words in ("nvcc: 13.0 in old.json", "cudamm: 1.0", "source differs: tiled", "1500 MHz", "throttled"):
        assert sum(words in line for line in lines) == 1, words
    assert "1500 MHz" not in result.stdout


def test_files_of_different_devices_are_refused_without_force(run, write):
    write("old.json", row())
    write("new.json", row(), device={"kind": "gpu", "name": "Other GPU"})
    run("compare old.json new.json").refused(2, "Some GPU", "Other GPU", "--force")
    result = run("compare old.json new.json --force")
    assert result.status == 0 and "devices differ" in result.stderr and "1 no difference" in result.stdout


def test_files_without_a_common_variant_are_refused(run, write):
    write("old.json", row())
    write("new.json", row("naive"), row("row"))
    run("compare old.json new.json").refused(2, "no variant is in both", "if each file has only one")


def test_the_only_variants_of_two_files_are_compared(run, write):
    write("old.json", row("v1"), row("cublas"))
    write("new.json", row("v2", 0.5, params={"BM": 64}), row("cublas"))
    result = run("compare old.json new.json")
    assert result.status == 0
    for words in ("v1 → v2", "BLOCK_SIZE=16 → BM=64", "2.00×", "1 faster, 0 slower, 1 no difference"):
        assert words in result.stdout
    assert "v1 BLOCK_SIZE=16, the only variant in old.json, is compared with v2 BM=64" in result.stderr
    assert "source differs" not in result.stderr
    pair, cublas = run("compare old.json new.json --json -").records
    assert (pair["old_method"], pair["method"], pair["verdict"]) == ("v1", "v2", "faster")
    assert pair["old_params"] == {"BLOCK_SIZE": 16} and "old_method" not in cublas


def test_the_json_document_has_options_and_verdicts(run, files):
    result = run("compare old.json new.json --json - --fail-on 5%")
    document = json.loads(result.stdout)
    assert result.status == 1
    assert document["schema"] == "cudamm.compare/1"
    assert document["old"]["path"] == "old.json" and document["new"]["device"]["name"] == "Some GPU"
    assert document["options"] == {"confidence": 0.95, "fail_on": 0.05}
    assert document["warnings"] == []
    naive, tiled, same = document["results"]
    assert (naive["verdict"], naive["ratio"]) == ("faster", 2.0)
    assert tiled["low"] < tiled["ratio"] < tiled["high"] < 1 and tiled["verdict"] == "slower"
    assert same["low"] <= 1 <= same["high"]


def test_json_is_written_in_addition_to_the_table_and_not_over_an_input(run, files, tmp_path):
    result = run("compare old.json new.json --json out.json")
    assert "1 faster" in result.stdout
    assert len(json.loads((tmp_path / "out.json").read_text())["results"]) == 3
    before = (tmp_path / "old.json").read_text()
    run("compare old.json new.json --json ./old.json").refused(2, "--json")
    assert (tmp_path / "old.json").read_text() == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--fail-on 5", "5% or 0.05"),
        ("--fail-on -5%", "5% or 0.05"),
        ("--fail-on nan", "5% or 0.05"),
        ("--fail-on ''", "5% or 0.05"),
        ("--confidence 0", "between"),
        ("--confidence 100%", "between"),
        ("--json nowhere/out.json", "nowhere"),
    ],
)
def test_a_wrong_option_is_refused(run, files, options, words):
    run(f"compare old.json new.json {options}").refused(2, words)


def test_a_missing_or_damaged_file_is_refused(run, write, files, tmp_path):
    run("compare old.json").refused(2, "NEW.json")
    run("compare old.json nowhere.json").refused(2, "nowhere.json")
    write("v1.json", row(), schema="cudamm.bench/1")
    run("compare v1.json new.json").refused(2, "another version")
    (tmp_path / "text.json").write_text("naive 1.0")
    run("compare old.json text.json").refused(2, "text.json is not JSON")


def test_files_without_times_are_reported_and_do_not_pass_fail_on(run, write):
    untimed = row() | {"samples_ms": [], "median_ms": None, "gflops": None}
    write("old.json", untimed)
    write("new.json", untimed)
    result = run("compare old.json new.json")
    assert result.status == 0
    assert "1 variant has no time in one of the files" in result.stderr
    result = run("compare old.json new.json --fail-on 5%")
    assert result.status == 2
    assert "--fail-on: the files have no variant that can be compared" in result.stderr
