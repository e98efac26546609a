"""Drawings of a warp's accesses with known offsets."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from cudamm.analysis.trace import WarpAccess, Watched
from cudamm.devices.observation import Access
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.output.warp_drawing import drawing, render, sentences


def access(periods, rows=1024, columns=1024, **fields):
    fields = {"array": "A", "space": "global", "op": "load", "size_bytes": 4} | fields
    of = Access(
        site=0, line=23, text="sum += A[row * K + k];", requests=1, threads=32, bytes_requested=128,
        bytes_used=128, **fields,
    )  # fmt: skip
    return WarpAccess(of, MatrixLayout(rows, columns), 4, tuple(periods))


def matrix(*elements, columns=1024):
    """Return a period in which lane i accesses the i-th element."""
    return {lane: 4 * (row * columns + column) for lane, (row, column) in enumerate(elements)}


DOWN_A_COLUMN = access([matrix(*((row, k) for row in range(32))) for k in range(3)])
ALONG_A_ROW = access([matrix(*((k, column) for column in range(32))) for k in range(3)])
BROADCAST = access([matrix(*[(5, k)] * 32) for k in range(2)])


def lines(of, width=120):
    return drawing(of, width).plain.splitlines()


def test_lanes_along_a_row_are_drawn_along_a_row():
    found = lines(ALONG_A_ROW)
    assert found[1].startswith("0 │ 0¹ 1¹ 2¹") and "31¹ ·  ·  …" in found[1]
    assert found[2].startswith("1 │ 0² 1²") and found[3].startswith("2 │ 0³")
    assert found[4].startswith("3 │ ·") and found[-1] == "… │"
    assert found[0].split()[:3] == ["0", "4", "8"]
    assert found[0].index("8") + 1 == found[1].index("8¹") + 1  # the number of a column is above its cells


def test_a_long_column_of_lanes_is_cut_in_the_middle():
    found = lines(DOWN_A_COLUMN)
    assert [line.split()[0] for line in found[1:]] == ["0", "1", "2", "3", "4", "5", "6", "…", "31", "…"]
    assert found[1].rstrip() == " 0 │ 0¹ 0² 0³ ·  ·  …" and found[9].rstrip() == "31 │31¹31²31³ ·  ·  …"


def test_lanes_at_one_address_are_drawn_as_a_range():
    found = lines(BROADCAST)
    (row,) = (line for line in found if line.startswith("5 │"))
    assert row.split("│")[1].split()[0] == "0-31¹0-31²"


def test_lanes_that_are_not_consecutive_are_drawn_with_a_plus():
    of = access([{0: 0, 16: 0, 1: 4, 17: 4, 3: 8}])
    assert lines(of)[1].startswith("0 │0+ 1+  3  ·")


def test_an_element_accessed_in_several_periods_has_a_plus_as_exponent():
    assert "0¹⁺" in lines(access([{0: 0}, {0: 0}]))[1]


def test_a_single_period_has_no_exponents():
    of = access([matrix(*((row, 0) for row in range(4)), columns=1)], rows=4, columns=1)
    assert [line.rstrip() for line in lines(of)[1:]] == ["0 │0", "1 │1", "2 │2", "3 │3"]


def test_a_small_matrix_is_drawn_completely():
    of = access([matrix((0, 0), (2, 2), columns=3)], rows=3, columns=3)
    assert [line.rstrip() for line in lines(of)[1:]] == ["0 │0 · ·", "1 │· · ·", "2 │· · 1"]


OFFSETS = st.lists(
    st.dictionaries(st.integers(0, 31), st.integers(0, 64 * 64 - 1), min_size=1), min_size=1, max_size=9
)


@settings(max_examples=20, deadline=None)
@given(OFFSETS, st.integers(40, 160))
def test_any_accesses_fit_the_width(elements, width):
    of = access([{lane: 4 * e for lane, e in period.items()} for period in elements], rows=64, columns=64)
    found = lines(of, width)
    assert max(map(len, found)) <= width
    assert len({len(line) for line in found[1:] if not line.endswith("… │")}) == 1
    row = min(e for period in elements for e in period.values()) // 64
    assert any(re.match(rf" *{row} │", line) for line in found)  # the first accessed row is drawn


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("of", [DOWN_A_COLUMN, ALONG_A_ROW, BROADCAST])
def test_drawings_fit_the_terminal_and_contain_the_last_lane(of, width):
    assert max(map(len, lines(of, width))) <= width
    assert any("31" in line for line in lines(of, width))


def test_each_period_has_a_colour_with_contrast():
    spans = [str(span.style) for span in drawing(ALONG_A_ROW, 120).spans]
    colours = list(dict.fromkeys(style for style in spans if " on #" in style))
    assert colours == ["#ffffff on #0072B2", "#000000 on #D55E00", "#000000 on #009E73"]


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (DOWN_A_COLUMN, ["in each time period lanes 0 to 31 at a stride of 4,096 bytes (1 row): 32 sectors",
                         "from one period to the next each lane moves by 4 bytes (1 element)"]),
        (ALONG_A_ROW, ["in each time period lanes 0 to 31 at consecutive addresses: 4 sectors",
                       "from one period to the next each lane moves by 4,096 bytes (1 row)"]),
        (BROADCAST, ["in each time period lanes 0 to 31 at the same address: 1 sector",
                     "from one period to the next each lane moves by 4 bytes (1 element)"]),
        (access([{4: 8}]), ["lane 4: 1 sector"]),
        (access([{0: 0, 1: 8, 2: 4}]), ["lanes 0 to 2 at no regular distance: 1 sector"]),
        (access([{0: 0, 2: 8, 4: 16}]),
         ["lanes (3 of 0 to 4) at a stride of 8 bytes (2 elements): 1 sector"]),
        (access([{0: 0, 1: 4, 2: 4096, 3: 4100}]),
         ["lanes 0 to 3 in groups of 2, each at consecutive addresses, the groups at a stride of 4,096 bytes "
          "(1 row): 2 sectors"]),
        (access([{0: 0, 1: 4}, {0: 0, 1: 64}, {0: 4, 1: 4}]),
         ["time period 1: lanes 0 to 1 at consecutive addresses: 1 sector",
          "time period 2: lanes 0 to 1 at a stride of 64 bytes (16 elements): 2 sectors",
          "time period 3: lanes 0 to 1 at the same address: 1 sector"]),
        (access([{0: 0, 1: 128}, {0: 0, 1: 128}], space="shared", array="As", columns=32),
         ["in each time period lanes 0 to 1 at a stride of 128 bytes: 2 different words in the busiest bank",
          "from one period to the next no lane moves"]),
    ],
)  # fmt: skip
def test_a_drawing_is_described_in_words(of, words):
    assert sentences(of) == words


def shown(watched, width=120):
    file = io.StringIO()
    render(Console(file=file, width=width, highlight=False), [("naive [x]", watched)])
    return file.getvalue()


def test_the_output_has_titles_drawings_and_notes():
    of_shared = access([{0: 0}], rows=4, columns=32, space="shared", array="As", op="store")
    text = shown(Watched((2, 1, 0), 3, (DOWN_A_COLUMN, of_shared), True))
    assert text.startswith("naive [x]\nwarp 3 of block (2, 1)\n")
    assert "A (1024 x 1024), load in line 23: sum += A[row * K + k];" in text
    assert "As (shared memory), store in line 23" in text and "one column per bank" in text
    assert "choose a smaller -n" not in text
    assert "choose a smaller -n" in shown(Watched((0, 0, 1), 0, (BROADCAST,), False), 300)
    assert "bank" not in shown(Watched((0, 0, 1), 0, (BROADCAST,), True))
    assert "block (0, 0, 1)" in shown(Watched((0, 0, 1), 0, (BROADCAST,), True))
