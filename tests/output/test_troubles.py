"""The lines on failed and skipped variants, which all tables share."""

from __future__ import annotations

import dataclasses
import io

from rich.console import Console

from cudamm.benchmark.result import Result
from cudamm.execution.case import Verdict
from cudamm.output.failed_rows import print_troubles
from cudamm.output.results_view import troubles


def row(status, reason, size=8, dtype="float32", **params):
    return Result("warp-tile", params, size, size, size, dtype, True, "gpu", False, status, reason)


def printed(rows):
    file = io.StringIO()
    print_troubles(Console(file=file, width=300, highlight=False), troubles(rows))
    return file.getvalue().splitlines()


def test_variants_skipped_for_one_reason_share_a_line():
    rows = [row("skipped", f"warp-tile TM={tm} requires TM == 3", TM=tm) for tm in (4, 5, 6)]
    rows.insert(1, row("skipped", "warp-tile TM=9 requires TM < 9", TM=9))
    rows.insert(2, row("ok", "", TM=3))
    assert printed(rows) == [
        "skipped 3 variants of warp-tile at 8x8x8 float32: requires TM == 3",
        "skipped warp-tile TM=9 at 8x8x8 float32: requires TM < 9",
    ]
    assert [len(trouble.rows) for trouble in troubles(rows)] == [3, 1]


def test_a_variant_skipped_at_many_sizes_has_one_line():
    rows = [row("skipped", "warp-tile requires M == 1", n) for n in range(2, 9)]
    (line,) = printed(rows)
    assert line.startswith("skipped warp-tile at 2x2x2 float32, 3x3x3 float32, ")
    assert line.endswith("6x6x6 float32 and 2 more: requires M == 1")


def test_each_failed_variant_has_its_own_line():
    rows = [row("failed", "crashed", TM=tm) for tm in (4, 5)]
    assert printed(rows) == [f"failed warp-tile TM={tm} at 8x8x8 float32: crashed" for tm in (4, 5)]


def test_only_the_first_five_failures_of_a_variant_are_shown():
    lines = printed([row("failed", f"wrong at {n}", n, TM=4) for n in range(7)])
    assert len(lines) == 6 and lines[-1] == "… and 2 more of warp-tile TM=4; --json FILE writes all of them"


def test_different_methods_and_choices_of_best_have_separate_lines():
    tma = Result("tma", {}, 8, 8, 8, "float32", True, "gpu", False, "skipped", "why")
    rows = [row("skipped", "why"), tma, dataclasses.replace(tma, chosen_by="model")]
    assert [trouble.variants for trouble in troubles(rows)] == ["warp-tile", "tma", "best: tma"]


def wrong(reason, size, cause=""):
    made = row("failed", "; ".join(filter(None, (cause, reason))), size, TM=4)
    return dataclasses.replace(made, verdict=Verdict(False, made.reason, cause=cause))


def test_failures_share_a_line_only_if_they_have_one_reason():
    empty, cause = "cannot be launched: the grid is 0 x 0 x 1 blocks", "row and column of C are swapped"
    assert printed([wrong(empty, 8), wrong("9 wrong", 9, cause), wrong("4 wrong", 4), wrong(empty, 7)]) == [
        "failed warp-tile TM=4 at 9x9x9 float32: row and column of C are swapped; 9 wrong",
        f"failed warp-tile TM=4 at 8x8x8 float32, 7x7x7 float32: {empty}",
        "failed warp-tile TM=4 at 4x4x4 float32: 4 wrong",
    ]


def test_what_differs_between_sizes_with_one_cause_is_said_of_the_first():
    cause = "row and column of C are swapped"
    assert printed([wrong("9 wrong", 9, cause), wrong("7 wrong", 7, cause)]) == [
        f"failed warp-tile TM=4 at 9x9x9 float32, 7x7x7 float32: {cause}; at 9x9x9: 9 wrong"
    ]
    causes = [
        "thread (1,2) leaves in line 12",
        "thread (3,4) leaves in line 12",
        "thread (1,2) leaves in line 13",
    ]
    assert printed([wrong("", size, cause) for size, cause in zip((5, 6, 7), causes, strict=True)]) == [
        "failed warp-tile TM=4 at 5x5x5 float32, 6x6x6 float32: at 5x5x5: thread (1,2) leaves in line 12",
        "failed warp-tile TM=4 at 7x7x7 float32: thread (1,2) leaves in line 13",
    ]
