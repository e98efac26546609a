"""The output of `check` for known mistakes."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cudamm.analysis.check import CheckResult
from cudamm.analysis.mistakes import Mistake, ThreadAt
from cudamm.analysis.sanitizer import ToolVerdict
from cudamm.output import check_text

RACE = Mistake(
    "race", "thread (0,0) of block (0,0) writes As[0][0] in line 4 and thread (1,0) reads it in line 6",
    "put __syncthreads() between them", "my.cu", 6, "sum += As[ty][k] * Bs[k][tx];", "As", "As[0][0]",
    (ThreadAt((0, 0, 0), (0, 0, 0), 4, "store"), ThreadAt((0, 0, 0), (1, 0, 0), 6, "load")), 4, 12,
    ("17x31x13", "64x64x64"), needs_barrier=True,
)  # fmt: skip
ADVICE = Mistake("bank-conflict", "a 32-way bank conflict", "pad", "my.cu", 6, "x", "As", sizes=("64x64x64",))


def result(*mistakes: Mistake, **more: object) -> CheckResult:
    wrong = any(mistake.severity == "error" for mistake in mistakes)
    given = {"status": "wrong" if wrong else "clean", "sizes": ("17x31x13", "64x64x64")} | more
    return CheckResult("mine", {"BLOCK_SIZE": 16}, "float32", "my.cu", mistakes=mistakes, **given)


def shown(results: list[CheckResult], width: int = 200, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(
        file=file, width=width, highlight=False, emoji=False, force_terminal=terminal, color_system=None
    )
    check_text.render(console, results)
    return file.getvalue()


def test_a_mistake_has_kind_place_source_line_message_and_cure():
    lines = shown([result(RACE)]).splitlines()
    assert lines[0].startswith(
        "mine BLOCK_SIZE=16, float32 at 2 sizes: 1 error: a __syncthreads() is missing in my.cu: put "
    )
    assert lines[1].strip() == "error: race, my.cu:6"
    assert lines[2].strip() == "sum += As[ty][k] * Bs[k][tx];"  # brackets are not markup
    assert lines[3].strip() == (
        "Thread (0,0) of block (0,0) writes As[0][0] in line 4 and thread (1,0) reads it in line 6. "
        "This mistake was seen at 2 of 2 sizes, first at 17x31x13."
    )
    assert lines[4].strip() == "Cure: put __syncthreads() between them."
    assert "0 of 1 variants passed." in lines and "Success!" not in "".join(lines)


def test_a_variant_with_advice_only_is_clean():
    text = shown([result(ADVICE), result()])
    assert "clean, 1 piece of advice" in text and "advice: bank-conflict, my.cu:6" in text
    assert "2 of 2 variants are clean. Success!" in text and "This mistake occurs" not in text


def test_failures_skipped_variants_and_unchecked_blocks_are_reported():
    text = shown([
        result(status="failed", reason="does not compile: [x]"),
        result(status="skipped", reason="requires M == 17", sizes=()),
        result(watched={"17x31x13": (4, 4), "64x64x64": (9, 4096)}),
    ])  # fmt: skip
    assert "failed: does not compile: [x]" in text and "skipped: requires M == 17" in text
    assert "9 of 4,096 blocks were searched for mistakes at 64x64x64" in text and "4 of 4" not in text
    assert "1 of 2 variants are clean." in text


def test_verdicts_of_compute_sanitizer_are_shown_and_count():
    tools = (
        ToolVerdict("memcheck", "64x64x64"),
        ToolVerdict("racecheck", "64x64x64", 2, ("Race reported between [a] and [b]",)),
        ToolVerdict("initcheck", "64x64x64", failed="no answer within 60 s (--timeout)"),
    )
    checked = result(sanitizer=tools)
    assert not checked.all_well
    text = shown([checked])
    assert "compute-sanitizer memcheck at 64x64x64: 0 errors" in text
    assert "compute-sanitizer racecheck at 64x64x64: 2 errors" in text and "[a] and [b]" in text
    assert "no verdict: no answer within 60 s" in text and "0 of 1 variants passed." in text
    assert result(sanitizer=tools[:1]).all_well


@pytest.mark.parametrize("width", [40, 80])
def test_a_terminal_indents_folded_paragraphs(width):
    lines = shown([result(RACE)], width, terminal=True).splitlines()
    body = lines[lines.index(" error: race, my.cu:6") + 1 : -3]
    assert max(map(len, body)) <= width and all(line.startswith("   ") for line in body if line.strip())
    assert "and thread (1,0) reads it in line 6." in " ".join(" ".join(line.split()) for line in body)


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("n is an int of Python", "n is an int of Python."),
        ("rows is an int64 of 8 bytes", "rows is an int64 of 8 bytes."),
        ("b_gpu.T is a view", "b_gpu.T is a view."),
        ("x and y of threadIdx are swapped", "x and y of threadIdx are swapped."),
        ("it adds to what C held before", "It adds to what C held before."),
        ("a __syncthreads() is missing", "A __syncthreads() is missing."),
        ("thread (0,1) of block (0,0) reads a[2]", "Thread (0,1) of block (0,0) reads a[2]."),
    ],
)
def test_a_sentence_keeps_the_spelling_of_a_name_at_its_beginning(message, printed):
    assert check_text.sentence(message) == printed


def test_a_csv_cell_describes_the_threads_in_words():
    (record,) = result(RACE).mistake_records()
    assert record["threads"][1] == {"block": (0, 0, 0), "thread": (1, 0, 0), "line": 6, "op": "load"}
    assert check_text.csv_record(record)["threads"] == (
        "block (0,0,0) thread (0,0,0) line 4 store; block (0,0,0) thread (1,0,0) line 6 load"
    )
    assert (record["m"], record["n"], record["k"], record["sizes"]) == (17, 31, 13, ["17x31x13", "64x64x64"])
