"""The page of `report`: what it says, that nothing of a file gets out of its place, and how it behaves in a
browser."""

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


class Seen(html.parser.HTMLParser):
    """What a page consists of.

    Attributes:
        tags: every element's name and attributes.
        texts: of each kind of element, what stands in each, without what is in scripts and styles.
        tables: of each table by its name, the text of its cells.
        raw: what scripts and styles hold, with the element's attributes.
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
        assert self._open == [], "something is not closed"

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
        """All that is read."""
        return self.texts["body"][0]

    @property
    def charts(self) -> list[dict[str, Any]]:
        """What the script draws."""
        (found,) = [text for tag, attributes, text in self.raw if attributes.get("id") == "chart-data"]
        charts: list[dict[str, Any]] = json.loads(found)
        return charts


def shown(saved: Saved, why_no_occupancy: str = "") -> Seen:
    """The page of a file, without occupancy."""
    return Seen(text_of(saved, why_no_occupancy))


def text_of(saved: Saved, why_no_occupancy: str = "") -> str:
    kernels = [kernel_of(result) for result in results_of(saved)]
    return page(saved, view_of(saved), kernels, [], why_no_occupancy)


def view_of(saved: Saved) -> ResultsView:
    """What `report` shows of a file."""
    return results_view(saved.document["device"]["name"], results_of(saved))


@pytest.fixture
def saved() -> Saved:
    """A file as a GPU's, made up: three sizes, a sweep, and one of every trouble."""
    return load(str(GPU_FILE))


def record(method: str = "tiled", median: float = 1.0, **other: Any) -> dict[str, Any]:
    """A row of a file, as `bench` writes it."""
    samples = [median * share for share in (0.99, 0.995, 1.0, 1.005, 1.01, 1.0, 1.0, 1.0)]
    fields: dict[str, Any] = {
        "method": method, "params": {"BLOCK_SIZE": 16}, "m": 64, "n": 64, "k": 64, "dtype": "float32",
        "fmad": True, "execution": "gpu", "padded": False, "status": "ok", "reason": "", "source": "ab12",
        "cache": "cold", "samples_ms": samples, "correct": True,
    }  # fmt: skip
    return fields | other


def file_of(*records: dict[str, Any], **document: Any) -> Saved:
    """A file with these rows; further arguments are of its document."""
    parts = {"device": {"kind": "gpu", "name": "Some GPU"}, "environment": {}, "options": {}}
    return Saved("some.json", parts | document, list(records))


def hashed(method: str, dtype: str = "float32", **params: int) -> str:
    """The hash that `bench` writes for a variant today."""
    variant = Variant(find(method), tuple(params.items()))
    return program(variant, ELEMENT_TYPES[dtype], True).hash


def test_the_best_row_of_each_problem_and_its_speed_up(saved: Saved) -> None:
    seen = shown(saved)
    cards = [text for text in seen.texts["li"] if "the fastest verified row" in text]
    rates = [float(text.split()[0]) for text in seen.texts["span"] if text.endswith(" GFLOP/s")]
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


def test_what_failed_and_why(saved: Saved) -> None:
    seen = shown(saved)
    head, *rows = seen.tables["What failed or was skipped"]
    assert [(row[0], row[2]) for row in rows] == [
        ("tiled-coarse COARSE=8 BLOCK_SIZE=32", "failed"),
        ("tiled-padded BLOCK_SIZE=32 PAD=1", "skipped"),
    ]
    assert rows[0][3].startswith("impossible: reads A and B") and len(head) == 4
    assert "34 rows: 31 measured and right, 1 failed, 1 skipped, 1 dropped early" in seen.text
    assert "What failed" not in shown(file_of(record())).text


def test_a_wrong_or_unverified_row_is_never_the_best() -> None:
    rows = [
        record("naive", 4.0),
        record("tiled", 1.0, correct=None),
        record("coalesced", 0.5, status="failed", reason="wrong", correct=False),
        record("tiled", 2.0, params={"BLOCK_SIZE": 32}),
    ]
    (card,) = [text for text in shown(file_of(*rows)).texts["li"] if "fastest" in text]
    assert "tiled BLOCK_SIZE=32" in card and "2.00× (" in card
    none = shown(file_of(record(correct=None))).text
    assert "No row was both timed and verified" in none and "1 not verified" in none


def test_the_host_is_not_called_best_of_a_gpu() -> None:
    both = [record("numpy", 0.1, params={}, execution="native"), record("tiled", 1.0)]
    (card,) = [text for text in shown(file_of(*both)).texts["li"] if "fastest" in text]
    assert "tiled" in card and "numpy" not in card
    assert "say nothing about a GPU" not in shown(file_of(*both)).text
    emulated = shown(file_of(record(execution="emulated"))).text
    assert emulated.count("ts times say nothing about a GPU") == 2  # the warning, and the mark


def test_cublas_is_best_only_where_it_is_alone() -> None:
    cublas = record("cublas", 0.5, params={})
    (card,) = [text for text in shown(file_of(record("tiled", 1.0), cublas)).texts["li"] if "fastest" in text]
    assert (
        "tiled BLOCK_SIZE=16" in card
        and "fastest verified row except cuBLAS, with 50% of the rate of cuBLAS" in card
    )
    (alone,) = [text for text in shown(file_of(cublas)).texts["li"] if "fastest" in text]
    assert "cublas" in alone and "but for" not in alone


def test_what_best_chose_is_named_so() -> None:
    text = shown(file_of(record("tiled"), record("tiled", chosen_by="model"))).text
    assert text.count("best: tiled") >= 1


def test_variants_skipped_for_one_reason_are_one_row() -> None:
    why = "tiled BLOCK_SIZE={0} requires M == 1"
    skipped = [
        record(params={"BLOCK_SIZE": size}, status="skipped", samples_ms=[], reason=why.format(size))
        for size in (8, 16, 32)
    ]
    _, *rows = shown(file_of(record("naive"), *skipped)).tables["What failed or was skipped"]
    assert [row[0] for row in rows] == ["3 variants of tiled"] and rows[0][3] == "requires M == 1"


def test_bars_are_as_long_as_rates_are_high() -> None:
    rows = [record("naive", 4.0), record("tiled", 1.0), record("coalesced", 2.0)]
    bars = [attributes["width"] for tag, attributes in shown(file_of(*rows)).tags if tag == "rect"]
    assert bars == ["25.00%", "100.00%", "50.00%"]


def test_marks_are_explained_where_they_are_used(saved: Saved) -> None:
    seen = shown(saved)
    rows = {
        (row[0], row[1]): row[-1] for row in seen.tables["Results at 2048 × 2048 × 2048 (M × N × K), float32"]
    }
    assert "throttled" in rows["tiled", "BLOCK_SIZE=16"] and "throttled" not in rows["tiled", "BLOCK_SIZE=8"]
    short = seen.tables["Results at 128 × 128 × 128 (M × N × K), float32"]
    assert "short" in short[2][-1] and "host" in short[1][-1]
    explained = seen.texts["dt"]
    assert explained == ["host", "throttled", "short", "out of time", "best", "best of its sweep"]


def test_statistics_are_those_of_the_samples(saved: Saved) -> None:
    table = shown(saved).tables["Samples at 2048 × 2048 × 2048 (M × N × K), float32"]
    rows = {row[0]: dict(zip(table[0], row, strict=True)) for row in table[1:]}
    measured = next(
        r for r in saved.rows if (r["method"], r["n"], r["params"]) == ("tiled", 2048, {"BLOCK_SIZE": 16})
    )
    said = rows["tiled BLOCK_SIZE=16"]
    times = measured["samples_ms"]
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive")
    found = [float(said[name]) for name in ("min (ms)", "quartile 1", "median", "quartile 3", "mean")]
    assert found == pytest.approx([min(times), low, middle, high, statistics.fmean(times)], rel=3e-3)
    noise = 100 * statistics.stdev(times) / statistics.fmean(times)
    assert float(said["noise"].rstrip("%")) == pytest.approx(noise, abs=0.06)
    assert (said["samples"], said["clock (MHz)"], said["repeated"]) == ("8", "1755", "6")
    assert said["throttled"] == "3 (power cap)" and said["event floor (µs)"] == "2.90"


def test_a_sweep_is_drawn_against_each_of_its_parameters(saved: Saved) -> None:
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


def test_many_lines_become_the_best_one() -> None:
    sizes = range(1, MOST_SERIES + 2)
    rows = [record(params={"A": a, "B": b}, median=1 + abs(a - 4) + b) for a in sizes for b in sizes]
    charts = against_parameters(view_of(file_of(*rows)))
    assert [(chart.x.label, len(chart.series), bool(chart.note)) for chart in charts] == [
        ("A", 1, True),
        ("B", 1, True),
    ]
    drawn = PageChart(charts[0]).record["series"][0]
    assert drawn["ms"] == pytest.approx([2 + abs(a - 4) for a in sizes])
    assert drawn["texts"][3][0] == "tiled A=4 B=1 at 64"
    assert "fastest row of its line" in shown(file_of(*rows)).text


def test_words_are_values_too() -> None:
    rows = [record(params={"TYPE": value}, median=2.0) for value in ("half", 8, "float", 2)]
    (chart,) = against_parameters(view_of(file_of(*rows)))
    assert PageChart(chart).record["values"] == ["2", "8", "float", "half"]


def test_sizes_lie_on_a_scale_where_all_are_square(saved: Saved) -> None:
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


def test_a_table_holds_what_each_chart_shows(saved: Saved) -> None:
    seen = shown(saved)
    for chart in [*against_size(view_of(saved)), *against_parameters(view_of(saved))]:
        rows = seen.tables[f"{chart.title}, as a table"][1:]
        described = PageChart(chart).record
        drawn = [
            (series["name"], value, ms)
            for series in described["series"]
            for value, ms in zip(described["values"], series["ms"], strict=True)
            if ms is not None
        ]
        assert [row[:2] for row in rows] == [[name, value] for name, value, _ in drawn]
        assert [float(row[4]) for row in rows] == pytest.approx([ms for *_, ms in drawn], rel=1e-2)
    assert [len(chart["series"]) for chart in seen.charts] == [6, 1, 1, 3, 4, 1]


def test_a_source_is_shown_with_what_is_substituted() -> None:
    params = {"COARSE": 2, "BLOCK_SIZE": 16}
    saved = file_of(record("tiled-coarse", params=params, source=hashed("tiled-coarse", **params)))
    seen = shown(saved)
    assert "The source is that of this version" in seen.text
    assert seen.texts["pre"] == [find("tiled-coarse").source]
    substituted = seen.tables["Substitutions in tiled-coarse"][1][2]
    assert substituted == "#define COARSE 2; #define BLOCK_SIZE 16; typedef float element;"
    marked = {a["title"] for tag, a in seen.tags if tag == "b" and a.get("class") == "parameter"}
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
def test_a_source_that_is_not_what_was_measured(changed: dict[str, Any], words: str) -> None:
    right = record("tiled", source=hashed("tiled", BLOCK_SIZE=16))
    assert kernel_of(results_of(file_of(right))[0]).state == "as measured"
    saved = file_of(right | changed)
    assert words in shown(saved).text
    assert on_gpu([kernel_of(result) for result in results_of(saved)]) == []


def test_parameters_that_no_option_takes_reach_no_compiler() -> None:
    """A file says what its rows' sources are, so a hash proves nothing."""
    value = '16\n#include "/etc/hostname"'
    text = f"#define BLOCK_SIZE {value}"
    forged = program(Variant(find("tiled"), (("BLOCK_SIZE", value),)), ELEMENT_TYPES["float32"], True)
    assert text in forged.text
    (result,) = results_of(file_of(record("tiled", params={"BLOCK_SIZE": value}, source=forged.hash)))
    assert kernel_of(result).program is None


def test_occupancy_is_that_of_the_occupancy_command(needs_nvcc: None, run_occupancy: Any) -> None:
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
    seen = Seen(page(saved, view_of(saved), kernels, found, ""))
    assert "on Some GPU (sm_86, 7 multiprocessors)" in seen.text
    head, *table = seen.tables["Occupancy"]
    expected = run_occupancy("tiled", "16,32", "sm_86", 256)
    assert len(table) == len(expected) == 2  # each variant once
    for row, wanted in zip(table, expected, strict=True):
        said = dict(zip(head, row, strict=True))
        assert float(said["occupancy"].rstrip("%")) == pytest.approx(100 * wanted["occupancy"], abs=0.06)
        assert said["limited by"] == ", ".join(wanted["limited_by"])
        assert said["registers per thread"] == str(wanted["registers_per_thread"])
        assert said["shared bytes per block"] == f"{wanted['shared_bytes_per_block']:,}"


@pytest.fixture
def run_occupancy(tmp_path: Path) -> Any:
    """What `cudamm occupancy` says of a method's block sizes."""

    def run(method: str, blocks: str, arch: str, size: int) -> list[dict[str, Any]]:
        command = [sys.executable, "-m", "cudamm", "occupancy", "-m", method, "--block", blocks]
        command += ["--arch", arch, "-n", str(size), "--json", "-"]
        done = subprocess.run(command, capture_output=True, check=True, cwd=tmp_path, timeout=120)
        records: list[dict[str, Any]] = json.loads(done.stdout)["results"]
        return records

    return run


@pytest.mark.parametrize("arch", [None, "sm_1", "x; rm -rf", 90, "sm_88"])
def test_an_architecture_that_is_not_known(arch: Any) -> None:
    assert architecture_of({"kind": "gpu", "name": "", "arch": arch}) is None
    assert architecture_of({"kind": "cpu", "name": "", "arch": "sm_90"}) is None


def hostile() -> Saved:
    """A file that wants to be more than text, wherever text can be."""
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


def test_nothing_of_a_file_gets_out_of_its_place() -> None:
    text = text_of(hostile(), ATTACKS[0])
    harmless = shown(file_of(record(), record(params={"BLOCK_SIZE": 32}, median=2.0)))
    seen = Seen(text)
    for tag in ("script", "style", "meta"):  # as many as on any page
        assert sum(t == tag for t, _ in seen.tags) == sum(t == tag for t, _ in harmless.tags), tag
    known = {tag for tag, _ in harmless.tags} | {"b"}
    assert {tag for tag, _ in seen.tags} <= known | {"dl", "dt", "dd"}
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on")]
    for attack in ATTACKS[:5]:
        assert attack in seen.text and text.count(attack) == 0
    assert ATTACKS[2] in json.dumps(seen.charts, ensure_ascii=False)
    text.encode()  # no half of a surrogate pair, which UTF-8 does not have
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    (data,) = [raw for _, attributes, raw in seen.raw if attributes.get("id") == "chart-data"]
    assert not re.search("[<>&\u2028\u2029]", data)


def test_a_logarithmic_axis_has_ticks_around_all_its_points(saved: Saved) -> None:
    for chart in shown(saved).charts:
        for quantity in ("rate", "ms"):
            drawn = [value for series in chart["series"] for value in series[quantity] if value is not None]
            ticks = [value for value, _ in chart["ticks"][quantity]]
            assert 2 <= len(ticks) <= 14 and ticks == sorted(ticks)
            assert all(min(drawn) / 1.5 <= tick <= max(drawn) * 1.5 for tick in ticks)
            assert all(float(text) == pytest.approx(tick) for tick, text in chart["ticks"][quantity])


def test_the_policy_lets_nothing_in_but_what_is_here(saved: Saved) -> None:
    seen = shown(saved)
    (policy,) = [
        a["content"] or "" for tag, a in seen.tags if a.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == ["'none'"]
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        (text,) = [text for t, attributes, text in seen.raw if t == tag and not attributes]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[source] == [f"'sha256-{digest}'"]
    assert set(rules) == {"default-src", "style-src", "script-src", "base-uri", "form-action"}
    loading = [(tag, a) for tag, a in seen.tags if {"src", "srcset", "data", "action", "style"} & a.keys()]
    links = [a["href"] for _, a in seen.tags if "href" in a]
    assert loading == [] and links and all(link and link.startswith("#") for link in links)
    anchors = {a["id"] for _, a in seen.tags if "id" in a}
    assert {(link or "")[1:] for link in links} <= anchors


def test_a_page_without_charts_has_no_script() -> None:
    seen = shown(file_of(record()))
    assert not [tag for tag, _ in seen.tags if tag == "script"] and "Charts" not in seen.text


def test_uplot_is_what_it_is_said_to_be(saved: Saved) -> None:
    said = (PACKAGE / "uPlot.md").read_text(encoding="utf-8")
    sums = dict(re.findall(r"^    ([0-9a-f]{64})  (\S+)", said, re.MULTILINE))
    assert sorted(sums.values()) == ["uPlot.LICENSE", "uPlot.iife.min.js", "uPlot.min.css"]
    for digest, name in sums.items():
        assert hashlib.sha256((PACKAGE / name).read_bytes()).hexdigest() == digest, name
    (version,) = re.findall(r"^# uPlot (\S+)$", said, re.MULTILINE)
    assert f"uPlot {version} (MIT licence" in shown(saved).text
    assert f"(v{version})" in (PACKAGE / "uPlot.iife.min.js").read_text(encoding="utf-8")
    assert (PACKAGE / "uPlot.LICENSE").read_text(encoding="utf-8") in text_of(saved)


def test_every_heading_level_and_every_table_has_its_place(saved: Saved) -> None:
    seen = shown(saved, "This section is empty: a test.")
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    identities = [a["id"] for _, a in seen.tags if "id" in a]
    assert len(identities) == len(set(identities))
    regions = [a for _, a in seen.tags if "scroll" in (a.get("class") or "").split()]
    assert all(a.get("aria-label") and a.get("tabindex") == "0" for a in regions)
    assert len(regions) == sum(tag == "table" for tag, _ in seen.tags)


def test_rows_that_can_hardly_be_shown() -> None:
    """Times of 0, errors of any size, the least of fields: no number is infinite, and nothing fails."""
    least = {name: record()[name] for name in record() if name not in ("correct", "source")}
    rows = [
        record(samples_ms=[0.0, 0.0]),
        record(samples_ms=[5e-324], n=10**9, m=10**9, k=10**9),
        record(samples_ms=[9e14] * 3, max_error=1e308, error_bound=0, clock_mhz=0.5),
        least,
        record(status="ok", samples_ms=[]),
    ]
    text = text_of(file_of(*rows))
    assert "inf" not in Seen(text).text and "nan" not in Seen(text).text


class Browser:
    """Chromium without a window, spoken to through a pipe (the DevTools protocol)."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # The protocol says that its ends of the pipes are 3 and 4; here those numbers may be taken.
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, to_write)]
        become = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
            "os.execv(sys.argv[3], sys.argv[3:])"
        )
        self._process = subprocess.Popen(
            [
                sys.executable, "-c", become, *map(str, theirs),
                program, "--headless=new", "--remote-debugging-pipe", f"--user-data-dir={profile}",
                "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--disable-background-networking", "--disable-component-update", "--disable-extensions",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                "about:blank",
            ],
            pass_fds=theirs, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for end in (to_read, to_write, *theirs):
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
        left = b""
        while chunk := os.read(self._from, 1 << 16):
            *whole, left = (left + chunk).split(b"\0")
            for message in whole:
                self._messages.put(json.loads(message))

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method of the protocol; events that come before its answer are kept."""
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
        """Load a page, and wait until it is drawn."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._load("about:blank")  # waited for too: a late event of it would stand for the page's
        self._load(path.as_uri())
        self.settle()

    def _load(self, url: str) -> None:
        self.events.clear()
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._messages.get(timeout=60))

    def settle(self) -> None:
        """Wait for two frames: what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        code = {"Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Escape": 27}[
            key
        ]
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)
        self.settle()

    def picture(self, path: Path, whole: bool = False) -> None:
        """A screenshot, of the window or of the whole page."""
        taken = self.ask("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(taken["data"]))

    def said(self, *methods: str) -> list[dict[str, Any]]:
        """Parameters of the events of these kinds since the page was loaded."""
        return [event["params"] for event in self.events if event.get("method") in methods]

    def trouble(self) -> list[dict[str, Any]]:
        """Errors, whatever was written to the console, and dialogs; but not that a test reads canvases."""
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
        logged = [entry for entry in self.said("Log.entryAdded") if "readback" not in entry["entry"]["text"]]
        return [*self.said(*kinds), *logged]

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
        pytest.skip("no Chromium was found: the page is not tried in a browser")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        found = Browser(program, Path(profile))
        yield found
        found.close()


@pytest.fixture(scope="module")
def gpu_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the made-up GPU's file."""
    path = tmp_path_factory.mktemp("page") / "gpu page.html"
    path.write_text(text_of(load(str(GPU_FILE))), encoding="utf-8")
    return path


INKED = """
[...document.querySelectorAll("figure.chart canvas")].map(canvas => {
    const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 250) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
    return [...seen];
})
"""
SPOKEN = "[...document.querySelectorAll('.spoken')].map(place => place.textContent).join('')"
ACTIVE = "document.activeElement.className"


@pytest.mark.parametrize(
    ("scheme", "width", "first_line"),
    [("light", 1200, "0,114,178"), ("dark", 1200, "86,180,233"), ("light", 600, "0,114,178")],
)
def test_the_page_draws_its_charts_and_loads_nothing(
    browser: Browser, gpu_page: Path, scheme: str, width: int, first_line: str
) -> None:
    browser.show(gpu_page, width, scheme=scheme)
    assert browser.trouble() == []
    assert [r["request"]["url"] for r in browser.said("Network.requestWillBeSent")] == [gpu_page.as_uri()]
    inked = browser.run(INKED)
    assert len(inked) == 6 and all(first_line in colours for colours in inked)
    assert browser.run("document.documentElement.scrollWidth") == width  # only tables scroll sideways


def test_keys_reach_every_chart_and_move_in_it(browser: Browser, gpu_page: Path) -> None:
    browser.show(gpu_page)
    reached = []
    for _ in range(200):
        browser.press("Tab")
        if browser.run(ACTIVE) == "plot":
            reached.append(browser.run("document.activeElement.getAttribute('aria-label')"))
            if "tiled-coarse against COARSE" in reached[-1]:
                break
    assert reached[0].startswith("Against the size") and len(reached) == 4
    assert browser.run(SPOKEN).startswith(
        "tiled-coarse COARSE=2 BLOCK_SIZE=32 at 1024, 10500 GFLOP/s"
    )  # the best
    for key, name in (
        ("ArrowLeft", "COARSE=1 BLOCK_SIZE=32"),
        ("ArrowLeft", "COARSE=1 BLOCK_SIZE=32"),  # there is nothing further
        ("ArrowDown", "COARSE=1 BLOCK_SIZE=16"),
        ("ArrowRight", "COARSE=2 BLOCK_SIZE=16"),
        ("ArrowUp", "COARSE=2 BLOCK_SIZE=32"),
    ):
        browser.press(key)
        assert name in browser.run(SPOKEN), key
    browser.press("Escape")
    assert browser.run(SPOKEN) == ""


def test_the_pointer_shows_the_nearest_point(browser: Browser, gpu_page: Path) -> None:
    browser.show(gpu_page)
    tips = "[...document.querySelectorAll('.tip:not([hidden])')].map(tip => tip.textContent)"
    assert browser.run(tips) == []
    x, y, wide, high = browser.run(
        "(() => { const over = document.querySelectorAll('.u-over')[3];"
        "over.scrollIntoView({block: 'center'});"
        "const {x, y, width, height} = over.getBoundingClientRect(); return [x, y, width, height]; })()"
    )
    # The second of four values that lie evenly from -0.35 to 3.35; the best of all lies near the top.
    browser.ask(
        "Input.dispatchMouseEvent", type="mouseMoved", x=x + wide * 1.35 / 3.7 + 4, y=y + high * 0.06 + 3
    )
    browser.settle()
    (tip,) = browser.run(tips)
    assert tip.startswith("tiled-coarse COARSE=2 BLOCK_SIZE=32 at 1024")
    browser.ask("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    browser.settle()
    assert browser.run(tips) == []


def test_what_is_drawn_can_be_chosen(browser: Browser, gpu_page: Path) -> None:
    browser.show(gpu_page)
    figure = "document.querySelectorAll('figure.chart')[3]"
    before = browser.run(INKED)[3]
    browser.run(f"{figure}.querySelectorAll('.legend button')[0].click()")
    browser.settle()
    assert browser.run(f"{figure}.querySelector('.legend button').getAttribute('aria-pressed')") == "false"
    assert "0,114,178" in before and "0,114,178" not in browser.run(INKED)[3]
    ink = f"{figure}.querySelector('canvas').toDataURL()"
    pictures = [browser.run(ink)]
    for control in ("input[type=checkbox]", "input[type=radio]:not(:checked)"):
        browser.run(f"{figure}.querySelector('{control}').click()")
        browser.settle()
        pictures.append(browser.run(ink))
    assert len(set(pictures)) == 3
    assert browser.trouble() == []


def test_paper_is_white_and_has_the_tables(browser: Browser, gpu_page: Path) -> None:
    browser.show(gpu_page, scheme="dark")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("[...document.querySelectorAll('figure.chart details')].every(table => table.open)")
    assert all("0,114,178" in colours for colours in browser.run(INKED))
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert not browser.run("[...document.querySelectorAll('figure.chart details')].some(table => table.open)")
    assert base64.b64decode(browser.ask("Page.printToPDF")["data"]).startswith(b"%PDF")
    assert browser.trouble() == []


def test_nothing_of_a_hostile_file_runs(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(text_of(hostile(), ATTACKS[0]), encoding="utf-8")
    browser.show(path)
    for _ in range(40):
        browser.press("Tab")
        browser.press("ArrowRight")  # tips and what is spoken are made by the script
    assert browser.trouble() == []
    assert len(browser.said("Network.requestWillBeSent")) == 1
    assert browser.run("document.querySelectorAll('img, b[onmouseover], svg[onload]').length") == 0
