"""Programs in the styles of sixty courses, books and people, given to `cudamm verify` without an option.

They were written without a look at cudamm's rules. `cases.json` names each one's mistake, empty for a sound
program, and what the first line about it has to say.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
CASES = json.loads((FOLDER / "cases.json").read_text("utf-8"))
EVERY = 14
"""A run without `-m long` takes one of so many programs."""


def _programs(*, sound: bool) -> list[object]:
    chosen = [case for case in CASES if bool(case["mistake"]) != sound]
    marks = [[] if place % EVERY == 0 else [pytest.mark.long] for place in range(len(chosen))]
    return [pytest.param(c, id=c["file"], marks=m) for c, m in zip(chosen, marks, strict=True)]


def _verify(file: str, device: str) -> tuple[int, str]:
    """Return the exit status, and the first line that says what is wrong."""
    command = [sys.executable, "-m", "cudamm", "verify", "--device", device, str(FOLDER / file)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in ended.stderr, ended.stderr
    lines = [line for line in ended.stdout.splitlines() if line.startswith("failed ")]
    refused = [line for line in ended.stderr.splitlines() if " launches " not in line]
    return ended.returncode, [*lines, *refused, ""][0]


def test_there_are_forty_sound_programs_and_twenty_broken_ones() -> None:
    assert [bool(case["mistake"]) for case in CASES].count(False) == 40
    assert {case["file"] for case in CASES} == {path.name for path in FOLDER.glob("*.cu")} and len(
        CASES
    ) == 60


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", _programs(sound=True))
def test_a_sound_program_is_verified(case: dict[str, str]) -> None:
    assert _verify(case["file"], "cpu") == (0, "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", _programs(sound=False))
def test_the_first_line_about_a_broken_program_names_the_cause(case: dict[str, str]) -> None:
    status, line = _verify(case["file"], "cpu")
    assert status in (1, 2) and re.search(case["cause"], line), line


@pytest.mark.gpu
@pytest.mark.parametrize("case", [c for c in CASES if not c["mistake"]][::3], ids=lambda case: case["file"])
def test_a_sound_program_is_verified_on_a_gpu(case: dict[str, str], gpu: object) -> None:
    assert _verify(case["file"], "gpu") == (0, "")
