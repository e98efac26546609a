"""The output of `tune`: the winner, the reason, the command to measure it again, and stored entries."""

from __future__ import annotations

import dataclasses
import io
import shlex
from typing import Any

import pytest
from rich.console import Console

from cudamm.benchmark.result import Result, Timing
from cudamm.benchmark.sample_statistics import Ratio
from cudamm.devices.device import DeviceInfo
from cudamm.execution.case import Verdict
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.output import tune_table as tables
from cudamm.tuning.search import Outcome, Task, Trial
from cudamm.tuning.tuned_store import Entry

GPU = DeviceInfo("gpu", "gpu:0", "A [GPU]")


def result(block: int, median_ms: float | None, status: Any = "ok", reason: str = "") -> Result:
    samples = [] if median_ms is None else [median_ms] * 30
    return Result(
        "tiled", {"BLOCK_SIZE": block}, 1000, 2000, 500, "float32", True, "gpu", False, status, reason,
        Timing(samples, "cold"), Verdict(status != "failed"), position=block,
    )  # fmt: skip


def outcome(ratio: Ratio | None = None, failed: int = 0, **changes: Any) -> Outcome:
    won, second = result(16, 0.5), result(32, 0.55)
    bad = [result(100 + i, None, "failed", f"reason {i}") for i in range(failed)]
    trials = tuple(Trial("confirmation", r) for r in (won, second, *bad))
    problem = Problem(Shape(1000, 2000, 500), ELEMENT_TYPES["float32"])
    task = Task(find("tiled"), problem, 96, (None,) * 40)  # type: ignore[arg-type]
    made = Outcome(task, trials, won, second, ratio, "faster than the next best", "complete", 12.34)
    return dataclasses.replace(made, **changes)


def entry(**changes: Any) -> Entry:
    made = Entry(
        "A [GPU]", "sm_90", "tiled", "0" * 16, "float32", 64, 64, 64, {"BLOCK_SIZE": 16}, 0.5, "cold",
        True, True, 3, 3, "2026-11-21T12:00:00+00:00",
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def printed(*outcomes: Outcome, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width)
    tables.render(console, GPU, outcomes)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_a_row_has_the_winner_and_a_sentence_gives_the_reason() -> None:
    text = printed(outcome(Ratio(1.1, 1.08, 1.12)))
    assert "The fastest parameters on A [GPU], L2 cold" in text
    (row,) = [line for line in text.splitlines() if "│ tiled" in line]
    cells = [cell.strip() for cell in row.strip("│").split("│")]
    # The rate is that of 2 x 1000 x 2000 x 500 operations in half a millisecond.
    assert cells == [
        "tiled", "1000 x 2000 x 500", "float32", "BLOCK_SIZE=16", "30", "0.500", "0%", "4000", "2 of 40",
    ]  # fmt: skip
    assert (
        "tiled at 1000x2000x500 float32: faster than the next best, BLOCK_SIZE=32, which takes "
        "1.10× (1.08–1.12) as long. The search tried 2 of 40 variants in 12.3 s; 56 more cannot be launched."
        in text
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {
                "ratio": Ratio(1.0, 0.98, 1.01),
                "choice": "the two fastest variants do not differ measurably; this one comes first",
            },
            "this one comes first; the other, BLOCK_SIZE=32, takes 1.00× (0.98–1.01) as long. The search",
        ),
        ({"ended": "budget"}, "; the budget ended before the search was complete."),
        ({"ended": "cut short"}, "; the search was interrupted."),
        (
            {"choice": "the fastest so far, but not confirmed against the next best"},
            "not confirmed against the next best, BLOCK_SIZE=32. The search tried",
        ),
        (
            {"runner_up": None, "choice": "the only variant whose result was right"},
            "float32: the only variant whose result was right.",
        ),
        (
            {"winner": None, "runner_up": None, "choice": "no variant was right"},
            "float32: no variant was right.",
        ),
    ],
)
def test_the_sentence_describes_each_end_of_a_search(changes: dict[str, Any], words: str) -> None:
    assert words in tables.sentence(outcome(**changes))
    assert words in printed(outcome(**changes))


def test_a_row_without_a_winner_has_none_as_parameters() -> None:
    text = printed(outcome(winner=None, runner_up=None, choice="no variant was right"))
    (row,) = [line for line in text.splitlines() if "│ tiled" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")][3:8] == ["none", "", "", "", ""]


def test_only_the_first_failed_variants_are_shown() -> None:
    text = printed(outcome(failed=5))
    assert "reason 0" in text and "reason 2" in text and "reason 3" not in text
    assert "… and 2 more failed; --json FILE writes all of them" in text
    assert "more failed" not in printed(outcome(failed=3))


def test_a_narrow_terminal_gets_fewer_columns() -> None:
    text = printed(outcome(), width=80)
    (row,) = [line for line in text.splitlines() if "tiled" in line and "1000 x 2000 x 500" in line]
    assert "BLOCK_SIZE=16" in row and "0.500" in row


def test_the_printed_command_measures_the_same_variant_again() -> None:
    assert tables.command(entry()) == "cudamm bench -m tiled -n 64 --dtype float32 -D BLOCK_SIZE=16"
    words = shlex.split(
        tables.command(
            entry(
                kernel="/my folder/k.cu",
                kernel_fields={"threads": "T, 1", "grid": "ceil(N/T)"},
                m=1,
                n=2,
                k=3,
                params={"T": 8, "TYPE": "unsigned int"},
                cache="hot",
            ),
            "gpu:1",
        )
    )
    assert words == [
        "cudamm", "bench", "--kernel", "/my folder/k.cu", "--threads", "T, 1", "--grid", "ceil(N/T)",
        "-n", "1x2x3", "--dtype", "float32", "-D", "T=8", "-D", "TYPE=unsigned int", "--hot",
        "--device", "gpu:1",
    ]  # fmt: skip


def test_stored_entries_are_listed_with_a_remark() -> None:
    console = Console(file=io.StringIO(), width=200)
    rows = [
        (entry(), ""),
        (entry(method="naive"), "its source has changed since: ignored"),
        (entry(method="coalesced", confirmed=False), ""),
        (entry(method="tiled-padded", complete=False), ""),
    ]
    tables.render_stored(console, GPU, rows)
    lines = {
        line.split("│")[1].strip(): line.split("│")[-2].strip()
        for line in console.file.getvalue().splitlines()  # type: ignore[attr-defined]
        if "│" in line
    }
    assert lines == {
        "tiled": "",
        "naive": "its source has changed since: ignored",
        "coalesced": "not measurably faster than the next best",
        "tiled-padded": "from an incomplete search",
    }
    record = tables.stored_record(*rows[1])
    assert (record["is_current"], record["state"]) == (False, "its source has changed since: ignored")
