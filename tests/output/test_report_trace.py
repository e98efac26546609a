"""The tables of `trace` for known results."""

from __future__ import annotations

import dataclasses
import io

import pytest
from rich.console import Console

from cudamm.analysis.trace import ACROSS_LINES, BlockClass, Totals, TraceResult
from cudamm.devices.observation import Access
from cudamm.output.trace_table import remarks, render, render_comparison

A_LOAD = Access(
    site=0, line=23, text="sum += A[row * K + k] * B[k * N + col];", space="global", op="load", array="A",
    size_bytes=4, requests=1000, threads=32000, bytes_requested=128_000, bytes_used=128_000,
    sectors=32_000, ideal_sectors=4000,
)  # fmt: skip
B_LOAD = dataclasses.replace(
    A_LOAD, site=1, array="B", bytes_used=4000, sectors=1000, ideal_sectors=1000, broadcasts=1000
)
C_STORE = dataclasses.replace(
    A_LOAD, site=2, line=24, text="C[i] = sum;", op="store", array="C", requests=10, sectors=40,
    ideal_sectors=40, bytes_requested=1280, bytes_used=1280,
)  # fmt: skip
SHARED = Access(
    site=3, line=30, text="x += As[k];", space="shared", op="load", array="As", size_bytes=4, requests=200,
    threads=6400, bytes_requested=25_600, bytes_used=25_600, wavefronts=6400, ideal_wavefronts=200,
    wide_requests=200, wide_wavefronts=6400, wide_ideal_wavefronts=200,
)  # fmt: skip
ONE_BLOCK = (BlockClass("interior", 1, (0,)),)


def result(method="naive", accesses=(A_LOAD, B_LOAD, C_STORE), size=100, **other):
    fields = {"params": {"BLOCK_SIZE": 16}, "dtype": "float32", "file": "k.cu", "padded": False} | other
    fields = {"status": "ok", "classes": ONE_BLOCK, "warps": (8, 8)} | fields
    return TraceResult(method=method, m=size, n=size, k=size, accesses=tuple(accesses), **fields)


def shown(results, width=240, function=None):
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    if function is None:
        render(console, results)
    else:
        function(console, *results)
    return file.getvalue()


def rows_of(text):
    return [
        [c.strip() for c in line.strip("│").split("│")] for line in text.splitlines() if line.startswith("│")
    ]


def test_the_table_has_a_row_per_access_and_totals():
    rows = rows_of(shown([result()]))
    assert rows[0] == [
        "23", "A load", "sum += A[row * K + k] * B[k * N + col];", "1,000", "32", "4", "12.5%", "0.128",
        "1.02", "12.5%", "uncoalesced",
    ]  # fmt: skip
    assert rows[1] == ["", "B load", "", "1,000", "1", "1", "100%", "0.128", "0.0320", "12.5%", "broadcast"]
    assert rows[2][:2] == ["24", "C store"] and rows[2][-1] == "coalesced"
    totals = {row[1]: row[3:] for row in rows[3:]}
    assert list(totals) == ["all loads", "all stores", "total"]
    assert totals["all loads"][:4] == ["2,000", "16.5", "2.5", "15.2%"]
    assert totals["total"][0] == "2,010"


def test_shared_memory_has_its_own_table():
    text = shown([result(accesses=(A_LOAD, SHARED))])
    assert "global memory (k.cu)" in text and "shared memory (k.cu)" in text and "wavefront: one pass" in text
    assert ["30", "As load", "x += As[k];", "200", "32", "1", "3.1%", "0.0256", "32-way conflict"] in rows_of(
        text
    )
    assert "wavefront" not in shown([result()])


def test_intensities_and_the_comparison_with_naive_are_printed():
    naive = Totals(requests=1, bytes_requested=2 * 257_280, sectors=66_080)
    text = shown([result(naive=naive)])
    # There are 2 x 100^3 operations, 256,000 bytes loaded, 1,280 bytes stored and 33,040 sectors.
    assert "7.81 op/B loaded (7.77 with stores); 1.89 op/B moved in sectors" in text
    assert "compared with cudamm's naive: 0.5× the bytes and 0.5× the sectors" in text
    assert "compared with cudamm's naive" not in shown([result()])


@pytest.mark.parametrize("width", [60, 80, 120, 240])
def test_tables_fit_the_terminal(width):
    tables = [result(naive=Totals(1, 1, 1, 1, 1)), result("tiled", (A_LOAD, SHARED))]
    text = shown(tables, width)
    assert all(len(line) <= width for line in text.splitlines() if line[:1] in "┏┃┡│├└")
    assert "32-way" in text and "A load" in text


def test_several_variants_have_a_summary_first():
    text = shown([result(naive=Totals(sectors=33_040 * 4)), result("tiled", (C_STORE, SHARED))])
    rows = rows_of(text)
    assert rows[0][0] == "naive" and rows[0][2:4] == ["16.5", "4"] and rows[0][-1] == "0.25×"
    assert rows[1][0] == "tiled" and rows[1][2:5] == ["", "4", "32"]
    assert len(rows_of(shown([result(f"m{i}") for i in range(7)]))) == 7
    assert "choose them with -m" in shown([result(f"m{i}") for i in range(7)])


SCALED = {
    "grid": (32, 32, 1),
    "classes": (BlockClass("interior", 961, (0, 7)), BlockClass("corner", 1, (1023,))),
}


def test_remarks_describe_scaling_traced_warps_and_merged_loads():
    (text,) = remarks([result(**SCALED)])
    assert text.startswith(
        "scaled from 3 traced blocks to the grid's 1,024 (interior 2 of 961; corner 1 of 1)"
    )
    assert remarks([result()]) == []
    (text,) = remarks([result(warps=(3, 8))])
    assert text.startswith("3 of the 8 warps in these blocks represent all warps: exact if the warps of")
    merged = dataclasses.replace(SHARED, wide_requests=50)
    assert "counted as written" in remarks([result(accesses=[merged])])[0]
    (text,) = remarks([result(accesses=[SHARED], wide_lines={30}, merged_bytes=(8, 16))])
    assert text == "shared loads in line 30 are counted as nvcc merges them, into loads of 8 and 16 bytes"
    assert remarks([result(accesses=[merged], wide_lines=frozenset())]) == []
    (text,) = remarks(
        [result(accesses=[SHARED], wide_lines=frozenset(), why_as_written=f"{ACROSS_LINES} 23")]
    )
    assert "in line 23; these are counted one by one, and a GPU makes fewer requests" in text


def test_remarks_name_the_variants_that_they_apply_to():
    same = remarks([result(**SCALED), result("tiled", **SCALED)])
    assert len(same) == 1 and same[0].startswith("scaled")
    (one,) = remarks([result(**SCALED), result("tiled")])
    assert one.startswith("naive: scaled")
    (one,) = remarks([result(**SCALED), result(params={"BLOCK_SIZE": 8})])
    assert one.startswith("naive BLOCK_SIZE=16: scaled")
    (one,) = remarks([result(**SCALED), result(size=50)])
    assert one.startswith("naive at 100x100x100 float32: scaled")


def test_a_failed_variant_is_printed_with_its_reason():
    failed = result(accesses=(), status="failed", reason="crashed [here]", classes=(), warps=(0, 0))
    text = shown([failed])
    assert text == "failed naive BLOCK_SIZE=16 at 100x100x100 float32: crashed [here]\n"
    text = shown((result(), failed), function=render_comparison)
    assert text.startswith("failed naive")


def test_accesses_that_vary_with_the_size_are_named():
    larger = dataclasses.replace(A_LOAD, sectors=36_000)
    text = shown([result(), result(size=101, accesses=(larger, B_LOAD, C_STORE)), result("tiled")])
    assert (
        "naive BLOCK_SIZE=16 float32: sectors or wavefronts per request depend on the size for these "
        "accesses: A load in line 23: 32 at 100x100x100, 36 at 101x101x101; for all others they do not"
        in text
    )
    text = shown([result(), result(size=101)])
    assert "float32: the sectors and wavefronts per request are the same at each size" in text
    different = shown([result(), result("tiled", size=101)])
    assert "depend on the size" not in different and "the same at each size" not in different


def test_the_comparison_has_counts_of_both_variants_and_ratios():
    other = dataclasses.replace(A_LOAD, sectors=1000)
    rows = rows_of(
        shown((result(), result("coalesced", (other, B_LOAD, SHARED))), function=render_comparison)
    )
    at = {row[0]: i for i, row in enumerate(rows)}
    assert rows[at["A loads"] + 2] == ["sectors", "32,000", "1,000", "0.0312×"]
    assert rows[at["A loads"] + 3] == ["sectors per request", "32", "1", "0.0312×"]
    assert rows[at["C stores"] + 1] == ["requests", "10", "", ""]
    assert rows[at["As loads"] + 2] == ["wavefronts", "", "6,400", ""]
    assert rows[at["total, global memory"] + 1] == ["requests", "2,010", "2,000", "0.995×"]
    assert next(iter(at)) == "A loads"
