"""The page of `report`: its contents, its safety with hostile files, and its behaviour in a browser."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import html.parser
import itertools
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cudamm
from cudamm.benchmark.result_file import Saved, load, results_of
from cudamm.compile.program import program
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant
from cudamm.output.page import page as page_module
from cudamm.output.page.page import page
from cudamm.output.page.page_charts import MOST_SERIES, PageChart, against_parameters, against_size
from cudamm.output.page.page_kernels import architecture_of, kernel_of, occupancy_of, on_gpu
from cudamm.output.results_view import ResultsView, results_view

GPU_FILE = Path(__file__).parent / "data" / "gpu.json"
PACKAGE = Path(page_module.__file__).parent
ATTACKS = (
    "<script>alert(1)</script>",
    '"><b onmouseover="alert(1)">',
    "</script><img src=x onerror=alert(1)>",
    "</style><svg/onload=alert(1)>",
    "--><!--<script>",
    "\u2028\u2029&lt;&amp;'\ud800\x00\x1b[31m",
)


class ParsedPage(html.parser.HTMLParser):
    """The elements of a page.

    Attributes:
        tags: name and attributes of every element.
        texts: by tag, the text of each element, without scripts and styles.
        tables: by name, the text of each cell of a table.
        raw: tag, attributes and content of scripts and styles.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.tables: dict[str, list[list[str]]] = {}
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self._open: list[tuple[str, int]] = []
        self._name = ""
        self.feed(text)
        self.close()
        assert self._open == [], "an element is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if tag in ("meta", "br", "input"):
            return
        if attributes.get("role") == "region":
            self._name = attributes["aria-label"] or ""
        if tag == "table":
            self.tables[self._name] = []
        elif tag == "tr":
            self.tables[self._name].append([])
        elif tag in ("script", "style"):
            self.raw.append((tag, attributes, ""))
        self.texts.setdefault(tag, []).append("")
        self._open.append((tag, len(self.texts[tag]) - 1))

    def handle_endtag(self, tag: str) -> None:
        opened, place = self._open.pop()
        assert opened == tag
        if tag in ("td", "th"):
            self.tables[self._name][-1].append(self.texts[tag][place])

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] in ("script", "style"):
            tag, attributes, text = self.raw[-1]
            self.raw[-1] = tag, attributes, text + data
            return
        for tag, place in self._open:
            self.texts[tag][place] += data

    @property
    def text(self) -> str:
        """Return the text of the whole page."""
        return self.texts["body"][0]

    @property
    def charts(self) -> list[dict[str, Any]]:
        """Return the data that the script draws."""
        (found,) = [text for tag, attributes, text in self.raw if attributes.get("id") == "chart-data"]
        charts: list[dict[str, Any]] = json.loads(found)
        return charts


def parsed_page(saved: Saved, why_no_occupancy: str = "") -> ParsedPage:
    """Return the page of a file, without occupancy."""
    return ParsedPage(page_text(saved, why_no_occupancy))


def page_text(saved: Saved, why_no_occupancy: str = "") -> str:
    kernels = [kernel_of(result) for result in results_of(saved)]
    return page(saved, view_of(saved), kernels, [], why_no_occupancy)


def view_of(saved: Saved) -> ResultsView:
    """Return the view of a file's rows."""
    return results_view(saved.document["device"]["name"], results_of(saved))


@pytest.fixture(scope="module")
def saved() -> Saved:
    """Return a made-up file of a GPU: three sizes, a sweep, and a row with each mark and each failure."""
    return load(str(GPU_FILE))


@pytest.fixture(scope="module")
def gpu_page(saved: Saved) -> ParsedPage:
    """Return the page of the made-up file, parsed once for all tests."""
    return parsed_page(saved)


def record(method: str = "tiled", median: float = 1.0, **other: Any) -> dict[str, Any]:
    """Return a row of a file, as `bench` writes it."""
    samples = [median * share for share in (0.99, 0.995, 1.0, 1.005, 1.01, 1.0, 1.0, 1.0)]
    fields: dict[str, Any] = {
        "method": method, "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
        "fmad": True, "execution": "gpu", "padded": False, "status": "ok", "reason": "", "source": "ab12",
        "cache": "cold", "samples_ms": samples, "correct": True,
    }  # fmt: skip
    return fields | other


def file_of(*records: dict[str, Any], **document: Any) -> Saved:
    """Return a file with these rows. Further arguments are fields of its document."""
    parts = {"device": {"kind": "gpu", "name": "Some GPU"}, "environment": {}, "options": {}}
    return Saved("some.json", parts | document, list(records))


def hashed(method: str, dtype: str = "float32", **params: int) -> str:
    """Return the hash that `bench` writes for a variant."""
    variant = Variant(find(method), tuple(params.items()))
    return program(variant, ELEMENT_TYPES[dtype], True).hash


@pytest.mark.slow
def test_the_summary_has_the_best_row_of_each_problem(saved: Saved, gpu_page: ParsedPage) -> None:
    cards = [text for text in gpu_page.texts["li"] if "the fastest verified row" in text]
    rates = [float(text.split()[0]) for text in gpu_page.texts["span"] if text.endswith(" GFLOP/s")]
    assert len(cards) == len(rates) == 3
    for card, size in zip(cards, (128, 1024, 2048), strict=True):
        medians = {
            (row["method"], *row["params"].values()): statistics.median(row["samples_ms"])
            for row in saved.rows
            if row["n"] == size and row["status"] == "ok" and row["execution"] == "gpu"
        }
        best = min(medians, key=lambda name: medians[name])
        assert f"{size} × {size} × {size}" in card and best[0] in card
        rate = rates.pop(0)
        assert rate == pytest.approx(2e-6 * size**3 / medians[best], rel=1e-3)
        gain = float(re.findall(r"([\d.]+)× ", card)[-1])
        assert gain == pytest.approx(medians["naive", 32] / medians[best], rel=3e-3)


def test_failed_and_skipped_rows_are_listed_with_their_reasons(gpu_page: ParsedPage) -> None:
    head, *rows = gpu_page.tables["What failed or was skipped"]
    assert [(row[0], row[2]) for row in rows] == [
        ("tiled-coarse COARSE=8 BLOCK_SIZE=32", "failed"),
        ("tiled-padded BLOCK_SIZE=32 PAD=1", "skipped"),
    ]
    assert rows[0][3].startswith("impossible: reads A and B") and len(head) == 4
    assert "34 rows: 31 measured and right, 1 failed, 1 skipped, 1 dropped early" in gpu_page.text
    assert "What failed" not in parsed_page(file_of(record())).text


def test_a_wrong_or_unverified_row_is_never_the_best() -> None:
    rows = [
        record("naive", 4.0),
        record("tiled", 1.0, correct=None),
        record("coalesced", 0.5, status="failed", reason="wrong", correct=False),
        record("tiled", 2.0, params={"BLOCK_SIZE": 32}),
    ]
    (card,) = [text for text in parsed_page(file_of(*rows)).texts["li"] if "fastest" in text]
    assert "tiled BLOCK_SIZE=32" in card and "2.00× (" in card
    none = parsed_page(file_of(record(correct=None))).text
    assert "No row was both timed and verified" in none and "1 not verified" in none


def test_a_host_method_is_never_the_best_beside_a_gpu_kernel() -> None:
    both = [record("numpy", 0.1, params={}, execution="native"), record("tiled", 1.0)]
    (card,) = [text for text in parsed_page(file_of(*both)).texts["li"] if "fastest" in text]
    assert "tiled" in card and "numpy" not in card
    assert "say nothing about a GPU" not in parsed_page(file_of(*both)).text
    emulated = parsed_page(file_of(record(execution="emulated"))).text
    assert emulated.count("ts times say nothing about a GPU") == 2  # the warning, and the mark


def test_cublas_is_the_best_row_only_if_there_is_no_other() -> None:
    cublas = record("cublas", 0.5, params={})
    both = parsed_page(file_of(record("tiled", 1.0), cublas))
    (card,) = [text for text in both.texts["li"] if "fastest" in text]
    assert (
        "tiled BLOCK_SIZE=16" in card
        and "fastest verified row except cuBLAS, with 50% of the rate of cuBLAS" in card
    )
    (alone,) = [text for text in parsed_page(file_of(cublas)).texts["li"] if "fastest" in text]
    assert "cublas" in alone and "except cuBLAS" not in alone


def test_a_row_that_best_chose_is_labelled_best() -> None:
    text = parsed_page(file_of(record("tiled"), record("tiled", chosen_by="model"))).text
    assert text.count("best: tiled") >= 1


def test_variants_skipped_for_one_reason_share_a_row() -> None:
    why = "tiled BLOCK_SIZE={0} requires M == 1"
    skipped = [
        record(params={"BLOCK_SIZE": size}, status="skipped", samples_ms=[], reason=why.format(size))
        for size in (8, 16, 32)
    ]
    _, *rows = parsed_page(file_of(record("naive"), *skipped)).tables["What failed or was skipped"]
    assert [row[0] for row in rows] == ["3 variants of tiled"] and rows[0][3] == "requires M == 1"


def test_bar_lengths_are_proportional_to_rates() -> None:
    rows = [record("naive", 4.0), record("tiled", 1.0), record("coalesced", 2.0)]
    bars = [attributes["width"] for tag, attributes in parsed_page(file_of(*rows)).tags if tag == "rect"]
    assert bars == ["25.00%", "100.00%", "50.00%"]


def test_marks_stand_beside_their_rows_and_are_explained_once(gpu_page: ParsedPage) -> None:
    table = gpu_page.tables["Results at 2048 × 2048 × 2048 (M × N × K), float32"]
    rows = {(row[0], row[1]): row[-1] for row in table}
    assert "throttled" in rows["tiled", "BLOCK_SIZE=16"] and "throttled" not in rows["tiled", "BLOCK_SIZE=8"]
    short = gpu_page.tables["Results at 128 × 128 × 128 (M × N × K), float32"]
    assert "short" in short[2][-1] and "host" in short[1][-1]
    explained = gpu_page.texts["dt"]
    assert explained == ["host", "throttled", "short", "out of time", "best", "best of its sweep"]


def test_the_table_of_samples_has_their_statistics(saved: Saved, gpu_page: ParsedPage) -> None:
    table = gpu_page.tables["Samples at 2048 × 2048 × 2048 (M × N × K), float32"]
    rows = {row[0]: dict(zip(table[0], row, strict=True)) for row in table[1:]}
    measured = next(
        r for r in saved.rows if (r["method"], r["n"], r["params"]) == ("tiled", 2048, {"BLOCK_SIZE": 16})
    )
    cells = rows["tiled BLOCK_SIZE=16"]
    times = measured["samples_ms"]
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    found = [float(cells[name]) for name in ("min (ms)", "quartile 1", "median", "quartile 3", "mean")]
    assert found == pytest.approx([min(times), low, middle, high, statistics.fmean(times)], rel=3e-3)
    noise = 100 * statistics.stdev(times) / statistics.fmean(times)
    assert float(cells["noise"].rstrip("%")) == pytest.approx(noise, abs=0.06)
    assert (cells["samples"], cells["clock (MHz)"], cells["repeated"]) == ("8", "1755", "6")
    assert cells["throttled"] == "3 (power cap)" and cells["event floor (µs)"] == "2.90"


def test_a_sweep_has_a_chart_for_each_of_its_parameters(saved: Saved) -> None:
    charts = {chart.title: chart for chart in against_parameters(view_of(saved))}
    chart = PageChart(charts["tiled-coarse against COARSE, 1024 × 1024 × 1024 (M × N × K), float32"]).record
    assert (chart["values"], chart["label"]) == (["1", "2", "4", "8"], "COARSE")
    drawn = chart["series"]
    assert [series["name"] for series in drawn] == [f"BLOCK_SIZE = {size}" for size in (8, 16, 32)]
    for series, block in zip(drawn, (8, 16, 32), strict=True):
        for coarse, ms, rate in zip((1, 2, 4, 8), series["ms"], series["rate"], strict=True):
            (row,) = [r for r in saved.rows if r["params"] == {"COARSE": coarse, "BLOCK_SIZE": block}]
            assert ms == row["median_ms"]
            assert rate == (None if ms is None else pytest.approx(2e-6 * 1024**3 / ms))
    assert drawn[2]["ms"][3] is None  # it failed
    assert "dropped early" in drawn[0]["texts"][3]
    assert len(charts) == 5  # tiled at three sizes, tiled-coarse against two parameters


def test_a_chart_with_too_many_lines_shows_only_the_best_values() -> None:
    sizes = range(1, MOST_SERIES + 2)
    rows = [record(params={"A": a, "B": b}, median=1 + abs(a - 4) + b) for a in sizes for b in sizes]
    charts = list(against_parameters(view_of(file_of(*rows))))
    assert [(chart.x.label, len(chart.series), bool(chart.note)) for chart in charts] == [
        ("A", 1, True),
        ("B", 1, True),
    ]
    drawn = PageChart(charts[0]).record["series"][0]
    assert drawn["ms"] == pytest.approx([2 + abs(a - 4) for a in sizes])
    assert drawn["texts"][3][0] == "tiled A=4 B=1 at 64"
    assert "fastest row of its line" in parsed_page(file_of(*rows)).text


def test_parameter_values_can_be_words() -> None:
    rows = [record(params={"TYPE": value}, median=2.0) for value in ("half", 8, "float", 2)]
    (chart,) = against_parameters(view_of(file_of(*rows)))
    assert PageChart(chart).record["values"] == ["2", "8", "float", "half"]


def test_only_square_sizes_have_a_logarithmic_axis(saved: Saved) -> None:
    (chart,) = against_size(view_of(saved))
    drawn = PageChart(chart).record
    assert (drawn["sizes"], drawn["values"]) == ([128, 1024, 2048], ["128", "1024", "2048"])
    lines = {series["name"]: series["texts"] for series in drawn["series"]}
    assert ["BLOCK_SIZE=32" in texts[0] for texts in lines["tiled"]] == [True, True, True]
    assert [texts is None for texts in lines["tiled-coarse"]] == [True, False, True]
    flat = [record(m=64), record(m=32, n=256), record(m=16)]
    (chart,) = against_size(view_of(file_of(*flat)))
    drawn = PageChart(chart).record
    assert drawn["sizes"] is None and drawn["values"] == ["16 × 64 × 64", "64", "32 × 256 × 64"]
    other = against_size(view_of(file_of(record(), record(m=32, dtype="int32"))))
    assert other == []  # one size of each type


def test_each_chart_has_a_table_with_the_same_data(saved: Saved, gpu_page: ParsedPage) -> None:
    for chart in [*against_size(view_of(saved)), *against_parameters(view_of(saved))]:
        rows = gpu_page.tables[f"{chart.title}, as a table"][1:]
        described = PageChart(chart).record
        drawn = [
            (series["name"], value, ms)
            for series in described["series"]
            for value, ms in zip(described["values"], series["ms"], strict=True)
            if ms is not None
        ]
        assert [row[:2] for row in rows] == [[name, value] for name, value, _ in drawn]
        assert [float(row[4]) for row in rows] == pytest.approx([ms for *_, ms in drawn], rel=1e-2)
    assert [len(chart["series"]) for chart in gpu_page.charts] == [6, 1, 1, 3, 4, 1]


def test_a_source_is_shown_with_its_substitutions() -> None:
    params = {"COARSE": 2, "BLOCK_SIZE": 16}
    saved = file_of(record("tiled-coarse", params=params, source=hashed("tiled-coarse", **params)))
    content = parsed_page(saved)
    assert "The source is that of this version" in content.text
    assert content.texts["pre"] == [find("tiled-coarse").source]
    substituted = content.tables["Substitutions in tiled-coarse"][1][2]
    types = "typedef float element; typedef float result; typedef float accumulator;"
    assert substituted == f"#define COARSE 2; #define BLOCK_SIZE 16; {types}"
    marked = {a["title"] for tag, a in content.tags if tag == "b" and a.get("class") == "parameter"}
    assert marked == {"COARSE = 2", "BLOCK_SIZE = 16", "element = float32"}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"source": "0123456789abcdef"}, "has changed since the measurement"),
        ({"params": {"BLOCK_SIZE": 16, "GONE": 1}}, "has changed since the measurement"),
        ({"params": {"BLOCK_SIZE": '16\n#include "/etc/hostname"'}}, "has changed since the measurement"),
        ({"dtype": "float16"}, "has changed since the measurement"),
        ({"source": ""}, "does not contain which source"),
        ({"method": "mine"}, "not one of cudamm's own methods"),
        ({"method": "cblock"}, "not one of cudamm's own methods"),  # an alias: no record has it
    ],
)
def test_a_source_that_differs_from_the_measured_one_is_reported(changed: dict[str, Any], words: str) -> None:
    right = record("tiled", source=hashed("tiled", BLOCK_SIZE=16))
    assert kernel_of(results_of(file_of(right))[0]).state == "as measured"
    saved = file_of(right | changed)
    assert words in parsed_page(saved).text
    assert on_gpu([kernel_of(result) for result in results_of(saved)]) == []


def test_parameters_that_no_option_accepts_are_not_compiled() -> None:
    """The hash of a row proves nothing, because a file can contain any hash."""
    value = '16\n#include "/etc/hostname"'
    text = f"#define BLOCK_SIZE {value}"
    forged = program(Variant(find("tiled"), (("BLOCK_SIZE", value),)), ELEMENT_TYPES["float32"], True)
    assert text in forged.text
    (result,) = results_of(file_of(record("tiled", params={"BLOCK_SIZE": value}, source=forged.hash)))
    assert kernel_of(result).program is None


def test_the_occupancy_equals_that_of_cudamm_occupancy(needs_nvcc: None) -> None:
    rows = [
        record("tiled", params={"BLOCK_SIZE": b}, source=hashed("tiled", BLOCK_SIZE=b), m=256, n=256, k=256)
        for b in (16, 32)
    ]
    saved = file_of(
        *rows, *rows, device={"kind": "gpu", "name": "Some GPU", "arch": "sm_86", "multiprocessors": 7}
    )
    kernels = [kernel_of(result) for result in results_of(saved)]
    architecture = architecture_of(saved.document["device"])
    assert architecture is not None
    found = list(occupancy_of(architecture, on_gpu(kernels), lambda *_: None))
    content = ParsedPage(page(saved, view_of(saved), kernels, found, ""))
    assert "on Some GPU (sm_86, 7 multiprocessors)" in content.text
    head, *table = content.tables["Occupancy"]
    expected = cudamm.occupancy("tiled", params={"BLOCK_SIZE": [16, 32]}, arch="sm_86", n=256)
    assert len(table) == len(expected) == 2  # each variant once
    for row, result in zip(table, expected, strict=True):
        cells = dict(zip(head, row, strict=True))
        assert float(cells["occupancy"].rstrip("%")) == pytest.approx(100 * result.occupancy, abs=0.06)
        assert cells["limited by"] == ", ".join(result.limited_by)
        assert cells["registers per thread"] == str(result.registers_per_thread)
        assert cells["shared bytes per block"] == f"{result.shared_bytes_per_block:,}"


@pytest.mark.parametrize("arch", [None, "sm_1", "x; rm -rf", 90, "sm_88"])
def test_an_unknown_architecture_has_no_occupancy(arch: Any) -> None:
    assert architecture_of({"kind": "gpu", "name": "", "arch": arch}) is None
    assert architecture_of({"kind": "cpu", "name": "", "arch": "sm_90"}) is None


def hostile() -> Saved:
    """Return a file with markup and scripts in all its texts."""
    rows = [
        record(attack, median=i + 1.0, params={attack: attack, "B": i}, n=64 * (i + 1), throttled=1,
               throttle_reasons=[attack], status="failed" if i == 1 else "ok", reason=attack,
               dtype=attack)
        for i, attack in enumerate(ATTACKS)
    ]  # fmt: skip
    everything = "".join(ATTACKS)
    swept = [record("tiled", params={everything: everything * i}, median=i) for i in (1, 2)]
    sizes = [record(everything, params={}, m=s, n=s, k=s) for s in (64, 128)]
    return Saved(
        f"{ATTACKS[2]}.json",
        {
            "device": {"kind": "gpu", "name": everything, everything: everything, "arch": everything},
            "environment": {"date": everything, "command": ["cudamm", *ATTACKS], everything: [everything]},
            "options": {everything: {everything: everything}},
        },
        [*rows, *swept, *sizes],
    )


def test_the_contents_of_a_hostile_file_are_shown_as_text() -> None:
    text = page_text(hostile(), ATTACKS[0])
    harmless = parsed_page(file_of(record(), record(params={"BLOCK_SIZE": 32}, median=2.0)))
    content = ParsedPage(text)
    for tag in ("script", "style", "meta"):  # their number is the same on every page
        assert sum(t == tag for t, _ in content.tags) == sum(t == tag for t, _ in harmless.tags), tag
    known = {tag for tag, _ in harmless.tags} | {"b"}
    assert {tag for tag, _ in content.tags} <= known | {"dl", "dt", "dd"}
    assert not [name for _, attributes in content.tags for name in attributes if name.startswith("on")]
    for attack in ATTACKS[:5]:
        assert attack in content.text and text.count(attack) == 0
    assert ATTACKS[2] in json.dumps(content.charts, ensure_ascii=False)
    text.encode()  # UTF-8 has no halves of surrogate pairs
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    (data,) = [raw for _, attributes, raw in content.raw if attributes.get("id") == "chart-data"]
    assert not re.search("[<>&\u2028\u2029]", data)


def test_a_logarithmic_axis_has_ticks_around_all_its_points(gpu_page: ParsedPage) -> None:
    for chart in gpu_page.charts:
        for quantity in ("rate", "ms"):
            drawn = [value for series in chart["series"] for value in series[quantity] if value is not None]
            ticks = [value for value, _ in chart["ticks"][quantity]]
            assert 2 <= len(ticks) <= 14 and ticks == sorted(ticks)
            assert all(min(drawn) / 1.5 <= tick <= max(drawn) * 1.5 for tick in ticks)
            assert all(float(text) == pytest.approx(tick) for tick, text in chart["ticks"][quantity])


def test_the_security_policy_allows_only_the_style_and_script_of_the_page(gpu_page: ParsedPage) -> None:
    (policy,) = [
        a["content"] or "" for tag, a in gpu_page.tags if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        (text,) = [text for t, attributes, text in gpu_page.raw if t == tag and not attributes]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[source] == [f"'sha256-{digest}'"]
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    loading = [
        (tag, a) for tag, a in gpu_page.tags if {"src", "srcset", "data", "action", "style"} & a.keys()
    ]
    links = [a["href"] for _, a in gpu_page.tags if "href" in a]
    assert loading == [] and links and all(link and link.startswith("#") for link in links)
    anchors = {a["id"] for _, a in gpu_page.tags if "id" in a}
    assert {(link or "")[1:] for link in links} <= anchors


def test_a_page_without_charts_has_no_script() -> None:
    content = parsed_page(file_of(record()))
    assert not [tag for tag, _ in content.tags if tag == "script"] and "Charts" not in content.text


def test_uplot_has_the_documented_version_licence_and_hashes(gpu_page: ParsedPage) -> None:
    documentation = (PACKAGE / "uPlot.md").read_text(encoding="utf-8")
    sums = dict(re.findall(r"^    ([0-9a-f]{64})  (\S+)", documentation, re.MULTILINE))
    assert sorted(sums.values()) == ["uPlot.LICENSE", "uPlot.iife.min.js", "uPlot.min.css"]
    for digest, name in sums.items():
        assert hashlib.sha256((PACKAGE / name).read_bytes()).hexdigest() == digest, name
    (version,) = re.findall(r"^# uPlot (\S+)$", documentation, re.MULTILINE)
    assert f"uPlot {version} (MIT licence" in gpu_page.text
    assert f"(v{version})" in (PACKAGE / "uPlot.iife.min.js").read_text(encoding="utf-8")
    (script,) = [text for tag, attributes, text in gpu_page.raw if tag == "script" and not attributes]
    assert (PACKAGE / "uPlot.LICENSE").read_text(encoding="utf-8") in script


def test_headings_identifiers_and_regions_are_accessible(saved: Saved) -> None:
    content = parsed_page(saved, "This section is empty: a test.")
    levels = [int(tag[1]) for tag, _ in content.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    identities = [a["id"] for _, a in content.tags if "id" in a]
    assert len(identities) == len(set(identities))
    regions = [a for _, a in content.tags if "scroll" in (a.get("class") or "").split()]
    assert all(a.get("aria-label") and a.get("tabindex") == "0" for a in regions)
    assert len(regions) == sum(tag == "table" for tag, _ in content.tags)


def test_extreme_figures_are_shown_as_finite_numbers() -> None:
    """Rows with times of 0, a very small or large time, a large error, or few fields."""
    required = {name: record()[name] for name in record() if name not in ("correct", "source")}
    rows = [
        record(samples_ms=[0.0, 0.0]),
        record(samples_ms=[1e-12], n=10**9, m=10**9, k=10**9),
        record(samples_ms=[9e14] * 3, max_error=1e308, error_bound=0, clock_mhz=0.5),
        required,
        record(status="ok", samples_ms=[]),
    ]
    text = page_text(file_of(*rows))
    assert "inf" not in ParsedPage(text).text and "nan" not in ParsedPage(text).text


class Browser:
    """Chromium without a window, controlled through a pipe by the DevTools protocol."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # Chromium expects its ends of the pipes as descriptors 3 and 4, which may be in use in this process.
        far_ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        launcher = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
            "os.execv(sys.argv[3], sys.argv[3:])"
        )
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", launcher, *map(str, far_ends),
                program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--disable-background-networking", "--disable-component-update", "--disable-extensions",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                "about:blank",
            ],
            pass_fds=far_ends, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (to_read, to_write, *far_ends):
            os.close(end)
        self._messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self._count = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def _listen(self) -> None:
        incomplete = b""
        while chunk := os.read(self._from, 1 << 16):
            *messages, incomplete = (incomplete + chunk).split(b"\0")
            for message in messages:
                self._messages.put(json.loads(message))

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol. Store the events that arrive before its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._messages.get(timeout=60)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def show(self, path: Path, width: int = 1200, height: int = 900, scheme: str = "light") -> None:
        """Load a page and wait until it is drawn."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._load("about:blank")  # no late event of the previous page is counted
        self._load(path.as_uri())
        self.settle()

    def _load(self, url: str) -> None:
        self.events.clear()
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._messages.get(timeout=60))

    def settle(self) -> None:
        """Wait for two frames, after which the page is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, *, settle: bool = True) -> None:
        """Press and release a key, and wait until the page is drawn."""
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}[
            key
        ]
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        if settle:
            self.settle()

    def events_of(self, *methods: str) -> list[dict[str, Any]]:
        """Return the parameters of the events of these kinds since the page was loaded."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def problems(self) -> list[dict[str, Any]]:
        """Return errors, console messages and dialogs, except the warning that a test reads canvases."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
        entries = self.events_of("Log.entryAdded")
        logged = [entry for entry in entries if "readback" not in entry["entry"]["text"]]
        return [*self.events_of(*kinds), *logged]

    def close(self) -> None:
        with contextlib.suppress(OSError, AssertionError, queue.Empty):
            self._session = None
            self.ask("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium was found, so the page is not tested in a browser")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        found = Browser(program, Path(profile))
        yield found
        found.close()


@pytest.fixture(scope="module")
def gpu_page_file(saved: Saved, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the page of the made-up file."""
    path = tmp_path_factory.mktemp("page") / "gpu page.html"
    path.write_text(page_text(saved), encoding="utf-8")
    return path


CANVAS_COLOURS = """
[...document.querySelectorAll("figure.chart canvas")].map(canvas => {
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 250) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...colours];
})
"""
SPOKEN_TEXT = "[...document.querySelectorAll('.spoken')].map(place => place.textContent).join('')"
FOCUSED_CLASS = "document.activeElement.className"


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("scheme", "width", "first_line"),
    [("light", 1200, "0,114,178"), ("dark", 1200, "86,180,233"), ("light", 600, "0,114,178")],
)
def test_the_page_draws_its_charts_and_loads_nothing(
    browser: Browser, gpu_page_file: Path, scheme: str, width: int, first_line: str
) -> None:
    browser.show(gpu_page_file, width, scheme=scheme)
    assert browser.problems() == []
    requests = browser.events_of("Network.requestWillBeSent")
    assert [request["request"]["url"] for request in requests] == [gpu_page_file.as_uri()]
    colours_of_charts = browser.run(CANVAS_COLOURS)
    assert len(colours_of_charts) == 6 and all(first_line in colours for colours in colours_of_charts)
    assert browser.run("document.documentElement.scrollWidth") == width  # only tables scroll sideways


@pytest.mark.slow
def test_keys_reach_every_chart_and_move_between_its_points(browser: Browser, gpu_page_file: Path) -> None:
    browser.show(gpu_page_file)
    reached = []
    for _ in range(200):
        browser.press("Tab", settle=False)
        if browser.run(FOCUSED_CLASS) == "plot":
            reached.append(browser.run("document.activeElement.getAttribute('aria-label')"))
            if "tiled-coarse against COARSE" in reached[-1]:
                break
    assert reached[0].startswith("Against the size") and len(reached) == 4
    assert browser.run(SPOKEN_TEXT).startswith(
        "tiled-coarse COARSE=2 BLOCK_SIZE=32 at 1024, 10500 GFLOP/s"
    )  # the best
    for key, name in (
        ("ArrowLeft", "COARSE=1 BLOCK_SIZE=32"),
        ("ArrowLeft", "COARSE=1 BLOCK_SIZE=32"),  # the line has no point further left
        ("ArrowDown", "COARSE=1 BLOCK_SIZE=16"),
        ("ArrowRight", "COARSE=2 BLOCK_SIZE=16"),
        ("ArrowUp", "COARSE=2 BLOCK_SIZE=32"),
    ):
        browser.press(key)
        assert name in browser.run(SPOKEN_TEXT), key
    browser.press("Escape")
    assert browser.run(SPOKEN_TEXT) == ""


@pytest.mark.slow
def test_the_pointer_shows_the_nearest_point(browser: Browser, gpu_page_file: Path) -> None:
    browser.show(gpu_page_file)
    tips = "[...document.querySelectorAll('.tip:not([hidden])')].map(tip => tip.textContent)"
    assert browser.run(tips) == []
    x, y, wide, high = browser.run(
        "(() => { const over = document.querySelectorAll('.u-over')[3];"
        "over.scrollIntoView({block: 'center'});"
        "const {x, y, width, height} = over.getBoundingClientRect(); return [x, y, width, height]; })()"
    )
    # The four values are evenly spaced from -0.35 to 3.35. The best point is at the second, near the top.
    browser.ask(
        "Input.dispatchMouseEvent", type="mouseMoved", x=x + wide * 1.35 / 3.7 + 4, y=y + high * 0.06 + 3
    )
    browser.settle()
    (tip,) = browser.run(tips)
    assert tip.startswith("tiled-coarse COARSE=2 BLOCK_SIZE=32 at 1024")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    browser.settle()
    assert browser.run(tips) == []


@pytest.mark.slow
def test_controls_hide_lines_and_change_quantity_and_scale(browser: Browser, gpu_page_file: Path) -> None:
    browser.show(gpu_page_file)
    figure = "document.querySelectorAll('figure.chart')[3]"
    before = browser.run(CANVAS_COLOURS)[3]
    browser.run(f"{figure}.querySelectorAll('.legend button')[0].click()")
    browser.settle()
    assert browser.run(f"{figure}.querySelector('.legend button').getAttribute('aria-pressed')") == "false"
    assert "0,114,178" in before and "0,114,178" not in browser.run(CANVAS_COLOURS)[3]
    ink = f"{figure}.querySelector('canvas').toDataURL()"
    pictures = [browser.run(ink)]
    for control in ("input[type=checkbox]", "input[type=radio]:not(:checked)"):
        browser.run(f"{figure}.querySelector('{control}').click()")
        browser.settle()
        pictures.append(browser.run(ink))
    assert len(set(pictures)) == 3
    assert browser.problems() == []


@pytest.mark.slow
def test_printing_uses_light_colours_and_opens_the_tables(browser: Browser, gpu_page_file: Path) -> None:
    browser.show(gpu_page_file, scheme="dark")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("[...document.querySelectorAll('figure.chart details')].every(table => table.open)")
    assert all("0,114,178" in colours for colours in browser.run(CANVAS_COLOURS))
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not browser.run("[...document.querySelectorAll('figure.chart details')].some(table => table.open)")
    assert base64.b64decode(browser.ask("Page.printToPDF")["data"]).startswith(b"%PDF")
    assert browser.problems() == []


@pytest.mark.slow
def test_no_code_of_a_hostile_file_runs_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(page_text(hostile(), ATTACKS[0]), encoding="utf-8")
    browser.show(path)
    charts = browser.run("document.querySelectorAll('.plot').length")
    assert charts > 0
    for number in range(charts):  # the script makes tips and spoken texts from the data of the file
        browser.run(f"document.querySelectorAll('.plot')[{number}].focus()")
        browser.press("ArrowRight")
        assert browser.run(SPOKEN_TEXT)
        browser.press("ArrowRight")
    assert browser.problems() == []
    assert len(browser.events_of("Network.requestWillBeSent")) == 1
    assert browser.run("document.querySelectorAll('img, b[onmouseover], svg[onload]').length") == 0
