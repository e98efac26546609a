"""`compare` of two files whose differences are known."""

from __future__ import annotations

import numpy as np
import pytest

from cudamm.benchmark.comparison import check_devices, compare, differences
from cudamm.benchmark.result_file import Saved
from cudamm.errors import UsageError


def row(method="tiled", median=1.0, *, noise=0.01, count=50, seed=0, **other):
    samples = median * np.random.default_rng(seed).normal(1, noise, count)
    fields = {
        "method": method, "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
        "fmad": True, "execution": "gpu", "status": "ok", "reason": "", "source": "ab12", "cache": "cold",
        "samples_ms": samples.tolist(), "clock_mhz": 1980, "throttled": 0,
    }  # fmt: skip
    return fields | other


def saved(*rows, path="old.json", device=None, environment=None, options=None):
    document = {
        "schema": "cudamm.bench/2",
        "device": {"kind": "gpu", "name": "Some GPU", "driver": "580.1", **(device or {})},
        "environment": {"cudamm": "1.0", "nvcc": "13.0", **(environment or {})},
        "options": {"cache": "cold", "runs": None, "fmad": True, **(options or {})},
    }
    return Saved(path, document, list(rows))


def compare_rows(old_row, new_row, confidence=0.95):
    (compared,) = compare(saved(old_row), saved(new_row, path="new.json"), confidence)
    return compared


FAILED = {"status": "failed", "reason": "C[0][0] is wrong", "samples_ms": []}


@pytest.mark.parametrize(
    ("median", "outcome"), [(0.5, "faster"), (0.95, "faster"), (1.05, "slower"), (2.0, "slower")]
)
def test_the_speed_up_is_old_over_new(median, outcome):
    compared = compare_rows(row(seed=1), row(median=median, seed=2))
    assert compared.outcome == outcome
    assert compared.ratio.value == pytest.approx(1 / median, rel=0.01)
    assert compared.ratio.low < 1 / median < compared.ratio.high


def test_differences_within_the_noise_are_no_difference():
    assert compare_rows(row(seed=1), row(seed=2)).outcome == "no difference"
    assert (
        compare_rows(row(seed=1, noise=0.3), row(median=1.02, seed=2, noise=0.3)).outcome == "no difference"
    )


def test_a_file_does_not_differ_from_itself():
    assert compare_rows(row(), row()).outcome == "no difference"
    assert compare_rows(row(noise=0), row(noise=0)).ratio.value == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("method", "naive"), ("params", {"BLOCK_SIZE": 32}), ("m", 65), ("n", 65), ("k", 65),
     ("dtype", "int32"), ("fmad", False), ("cache", "hot")],
)  # fmt: skip
def test_rows_match_by_method_parameters_problem_and_settings(name, value):
    compared = compare(saved(row(), row("both")), saved(row(**{name: value}), row("both")), 0.95)
    assert {c.outcome for c in compared} == {"only in the old file", "only in the new file", "no difference"}
    assert all(c.ratio is None for c in compared if c.outcome.startswith("only"))


def test_two_kinds_of_inputs_are_compared_with_a_warning():
    old, new = saved(row()), saved(row(inputs="normal"), path="new.json")
    assert differences(old, new, compare(old, new, 0.95)) == [
        "inputs: uniform in old.json, normal in new.json: the rate of a kernel depends on its numbers"
    ]
    named = saved(row(inputs="uniform"), path="new.json")
    assert differences(old, named, compare(old, named, 0.95)) == []


def test_the_order_of_parameters_does_not_matter_for_matching_rows():
    old, new = row(params={"A": 1, "B": "x"}), row(params={"B": "x", "A": 1})
    assert compare_rows(old, new).outcome == "no difference"


def test_duplicate_rows_match_one_by_one():
    compared = compare(saved(row(), row(median=2.0)), saved(row(), row(median=2.0), row()), 0.95)
    assert [c.outcome for c in compared] == ["no difference", "no difference", "only in the new file"]


def test_files_without_a_common_variant_are_refused():
    with pytest.raises(UsageError, match=r"no variant is in both old\.json and new\.json"):
        compare(saved(row()), saved(row("naive"), row("row"), path="new.json"), 0.95)
    with pytest.raises(UsageError, match="no variant is in both"):
        compare(saved(row("v1")), saved(row("v2", m=65)), 0.95)
    with pytest.raises(UsageError, match="no variant is in both"):
        compare(saved(), saved(row()), 0.95)


def test_the_only_variants_of_two_files_are_compared_at_each_common_problem():
    old = saved(row("v1"), row("v1", m=65), row("v1", m=66))
    new = saved(row("v2", median=2.0), row("v2", m=65, source="cd34"), path="new.json")
    compared = compare(old, new, 0.95)
    assert [(c.row["m"], c.outcome) for c in compared] == [
        (64, "slower"), (65, "no difference"), (66, "only in the old file"),
    ]  # fmt: skip
    assert [c.other_variant and c.other_variant["method"] for c in compared] == ["v1", "v1", None]
    (line,) = differences(old, new, compared)
    assert line.startswith("v1 BLOCK_SIZE=16, the only variant in old.json, is compared with v2")


def test_rows_are_grouped_by_problem_and_method():
    old = saved(row("a"), row("b"), row("a", m=65))
    new = saved(row("b"), row("a", params={"BLOCK_SIZE": 32}), row("a"), row("b", m=65))
    order = [(c.row["m"], c.row["method"]) for c in compare(old, new, 0.95)]
    assert order == [(64, "a"), (64, "a"), (64, "b"), (65, "a"), (65, "b")]


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ({}, FAILED, "now fails"),
        (FAILED, {}, "works now"),
        (FAILED, FAILED, "not compared"),
        ({}, {"status": "dropped"}, "not compared"),
        ({"status": "skipped", "samples_ms": []}, {}, "not compared"),
        ({}, {"samples_ms": []}, "not compared"),
        ({"samples_ms": [0.0, 0.0]}, {}, "not compared"),
        ({}, {"samples_ms": [0.0, 0.0, 1.0]}, "not compared"),
    ],
)
def test_rows_without_a_time_have_no_ratio(old, new, outcome):
    compared = compare_rows(row(**old), row(**new))
    assert (compared.outcome, compared.ratio) == (outcome, None)
    assert compared.is_worse(0.05) == (outcome == "now fails")


def test_a_row_is_worse_if_it_is_surely_slower_than_the_tolerance():
    # Both rows are 20% slower; the first with little noise, the second with so much that they may be equal.
    compared = compare_rows(row(noise=0.001, seed=1), row(median=1.2, noise=0.001, seed=2))
    assert compared.is_worse(0.19) and not compared.is_worse(0.21)
    assert not compare_rows(row(noise=0.4, seed=1), row(median=1.2, noise=0.4, seed=2)).is_worse(0.05)
    assert not compare_rows(row(), row(median=0.5)).is_worse(0)


def test_a_record_contains_both_medians_and_the_ratio():
    record = compare_rows(row(noise=0), row(median=2.0, noise=0)).record()
    assert record["old_median_ms"] == 1.0 and record["new_median_ms"] == 2.0
    assert (record["ratio"], record["low"], record["high"]) == (0.5, 0.5, 0.5)
    assert (record["verdict"], record["method"], record["new_status"]) == ("slower", "tiled", "ok")
    record = compare(saved(row()), saved(row(), row("naive")), 0.95)[1].record()
    assert (record["old_status"], record["old_median_ms"], record["ratio"]) == (None, None, None)


def warnings(old, new):
    return differences(old, new, compare(old, new, 0.95))


def test_equal_machines_and_options_give_no_warning():
    # A clock that is 1.8% lower is no difference.
    assert warnings(saved(row()), saved(row(clock_mhz=1945), path="new.json")) == []
    assert warnings(saved(row(clock_mhz=None, source=None)), saved(row())) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"device": {"driver": "590"}}, ["driver: 580.1 in old.json, 590 in new.json"]),
        ({"environment": {"nvcc": None}}, ["nvcc: 13.0 in old.json, unknown or none in new.json"]),
        ({"environment": {"cudamm": "1.1"}}, ["cudamm: 1.0 in", "1.1 in"]),
        ({"options": {"runs": 7}}, ["option runs: unknown or none in", "7 in"]),
        ({"options": {"fmad": False}}, ["option fmad: on in", "off in"]),
        ({"options": {"new_one": 3}}, ["option new_one"]),
    ],
)
def test_changed_drivers_tools_and_options_are_named(changed, words):
    (line,) = warnings(saved(row()), saved(row(), path="new.json", **changed))
    assert all(word in line for word in words)


def test_a_method_with_a_changed_source_is_named_once():
    old = saved(row("naive"), row(), row(m=65))
    new = saved(row("naive"), row(source="cd34"), row(m=65, source="cd34"), path="new.json")
    assert warnings(old, new) == ["the kernel's source differs: tiled"]


def test_changed_clocks_and_throttled_rows_are_named():
    old = saved(row("naive", clock_mhz=1980), row(clock_mhz=1980))
    new = saved(row("naive", clock_mhz=1900), row(clock_mhz=1485, throttled=3), path="new.json")
    clocks, throttled = warnings(old, new)
    assert "2 of 2 variants" in clocks and "tiled BLOCK_SIZE=16: 1980 MHz in old.json, 1485 MHz" in clocks
    assert "new.json" in throttled and "throttled" in throttled
    assert "tiled" in throttled and "naive" not in throttled


@pytest.mark.parametrize("other", [{"name": "Other GPU"}, {"kind": "cpu"}])
def test_results_of_different_devices_are_refused_unless_forced(other):
    old, new = saved(row()), saved(row(), path="new.json", device=other)
    with pytest.raises(UsageError, match=r"old\.json was measured on Some GPU \(gpu\), new.*--force"):
        check_devices(old, new, force=False)
    (line,) = check_devices(old, new, force=True)
    assert "devices differ" in line
    assert check_devices(old, old, force=False) == []
