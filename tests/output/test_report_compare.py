"""The table of `compare`, and how ratios look in it."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from cudamm.benchmark.comparison import Comparison
from cudamm.benchmark.result_file import Saved
from cudamm.benchmark.sample_statistics import Ratio
from cudamm.output.compare_table import render, summary
from cudamm.output.number_format import ratio

OLD = Saved("o[1].json", {"device": {"name": "Some GPU [8 GB]"}, "environment": {"date": "2026-01-02"}}, [])
NEW = Saved("new.json", {"device": {"name": "Some GPU [8 GB]"}, "environment": {"cudamm": "1.2"}}, [])


def row(median=1.0, **other):
    fields = {
        "method": "tiled", "params": {"BLOCK_SIZE": 16, "COARSE": 2}, "m": 1000, "n": 1000, "k": 1000,
        "dtype": "float32", "fmad": True, "cache": "cold", "execution": "gpu", "status": "ok", "reason": "",
        "samples_ms": [median], "inputs": "uniform",
    }  # fmt: skip
    return fields | other


def faster(**other):
    return Comparison(row(1.16, **other), row(1.0, **other), Ratio(1.16, 1.15, 1.17), "faster")


def shown(comparisons, width=200):
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    render(console, OLD, NEW, comparisons, 0.95)
    return file.getvalue()


def cells(text):
    return [[c.strip() for c in line.strip("│").split("│")] for line in text.splitlines() if "│" in line]


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (1.16, 1.15, 1.17, "1.16× (1.15–1.17)"),
        (1.16, 1.1594, 1.1612, "1.16×"),  # the interval is narrower than what is printed
        (2.5, 2.49998, 2.50002, "2.50×"),
        (0.08912, 0.0881, 0.0893, "0.0891× (0.0881–0.0893)"),
        (1.02, 1.003, 1.04, "1.020× (1.003–1.040)"),  # 1.00 would hide that the interval is above 1
        (0.99, 0.98, 0.9996, "0.9900× (0.9800–0.9996)"),
        (1.02, 1.0, 1.04, "1.02× (1.00–1.04)"),
        (1.02, 1.00001, 1.04, "1.02× (1.00–1.04)"),
        (1.5, 1.5, 1.5, "1.50×"),
        (12345.678, 12000, 13000.5, "12300× (12000–13000)"),
    ],
)
def test_a_ratio_near_one_has_enough_digits_to_show_its_side_of_one(value, low, high, text):
    assert ratio(Ratio(value, low, high), side_of_one=True) == text


def test_a_ratio_has_three_digits_and_an_interval():
    assert ratio(Ratio(1.02, 1.003, 1.04)) == "1.02× (1.00–1.04)"
    assert ratio(Ratio(1.02, 1.003, 1.04), with_interval=False) == "1.02×"
    assert ratio(14598.99) == "14600×" and ratio(None) == ""


def test_a_row_has_both_times_the_speed_up_and_the_verdict():
    text = shown([faster()])
    (cells_of_row,) = cells(text)
    assert cells_of_row == ["tiled", "BLOCK_SIZE=16 COARSE=2", "1.16", "1.00", "1.16× (1.15–1.17)", "faster"]
    assert "1000 x 1000 x 1000 (M x N x K), float32, cold cache, on Some GPU [8 GB]" in text
    assert "old: o[1].json, 2026-01-02\n" in text and "new: new.json, cudamm 1.2\n" in text


def test_each_problem_has_its_own_table():
    text = shown([faster(), faster(cache="hot"), faster(m=7, cache="hot"), faster(m=7, fmad=False)])
    assert len(re.findall(r"\(M x N x K\)", text)) == 4
    assert "hot cache" in text and "no fused multiply-add" in text


def test_rows_that_failed_or_are_in_one_file_only_have_a_verdict():
    failed = row(status="failed", reason="C[0][0] is [red]wrong[/]", samples_ms=[])
    text = shown(
        [
            Comparison(row(), failed, None, "now fails"),
            Comparison(row(), row(status="dropped"), None, "not compared"),
            Comparison(None, row(2.0), None, "only in the new file"),
        ]
    )
    first, second, third = cells(text)
    assert first[2:] == ["1.00", "FAILED", "", "now fails"]
    assert second[2:] == ["1.00", "DROPPED", "", "not compared"]
    assert third[2:] == ["", "2.00", "", "only in new"]
    assert (
        "failed tiled BLOCK_SIZE=16 COARSE=2 at 1000x1000x1000 float32 (new): C[0][0] is [red]wrong" in text
    )


def test_only_emulated_times_are_explained():
    assert "†" not in shown([faster()])
    text = shown([faster(execution="emulated")])
    assert "tiled †" in text and "times say nothing about a GPU" in text


def test_the_summary_counts_each_outcome():
    same = Comparison(row(), row(), Ratio(1, 0.9, 1.1), "no difference")
    assert summary([faster(), same, same], 0.95) == "1 faster, 0 slower, 2 no difference (95% confidence)"
    gone = Comparison(row(), None, None, "only in the old file")
    fails = Comparison(row(), row(status="failed"), None, "now fails")
    assert summary([gone, fails, fails], 0.995) == (
        "0 faster, 0 slower, 0 no difference (99.5% confidence); 2 now failing; 1 only in the old file"
    )
    assert shown([faster()]).endswith("1 faster, 0 slower, 0 no difference (95% confidence)\n")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_table_fits_the_width(width):
    text = shown([faster(), faster(method="double-buffered")], width)
    assert max(map(len, text.splitlines()[2:])) <= width
    assert "1.16×" in text and "(1.15–1.17)" in text and "faster" in text and "…" not in text
