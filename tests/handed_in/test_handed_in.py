"""Files in the styles of what people hand in, each given to a command as it is.

Each folder holds the files of one kind, and a `cases.json` with what cudamm has to answer: the exit status,
what the output contains (regular expressions), and what it does not contain. `sound` is true if the kernel
has no mistake. A file that differs little from another is not stored: its case names the other file (`of`),
and each text that differs, with the one in its place (`with`). Such a case is a long test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
CASES = [
    case | {"folder": cases.parent}
    for cases in sorted(FOLDER.glob("*/cases.json"))
    for case in json.loads(cases.read_text("utf-8"))
]


def _name(case: dict[str, Any]) -> str:
    return f"{case['folder'].name}/{case['file']}-{case['command'].split()[0]}"


def _file(case: dict[str, Any], folder: Path) -> Path:
    """Return the file of a case, which is written to a folder if it is not stored."""
    if "of" not in case:
        return Path(case["folder"] / case["file"])
    text = (case["folder"] / case["of"]).read_text("utf-8")
    for old, new in case["with"]:
        assert text.count(old) == 1, f"{case['of']} has {old!r} {text.count(old)} times"
        text = text.replace(old, new)
    file = folder / case["file"]
    file.write_text(text, "utf-8")
    return file


@pytest.mark.sampled(200)
@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=pytest.mark.long if "of" in case else (), id=_name(case)) for case in CASES],
)
def test_a_file_that_is_handed_in_gets_the_right_answer(case: dict[str, Any], tmp_path: Path) -> None:
    command, *options = case["command"].split()
    ended = subprocess.run(
        [sys.executable, "-m", "cudamm", command, str(_file(case, tmp_path)), *options],
        env=os.environ | {"NO_COLOR": "1", "COLUMNS": "400"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    said = ended.stdout + ended.stderr
    assert "Traceback" not in said, said
    missing = [pattern for pattern in case["says"] if not re.search(pattern, said)]
    unwanted = [pattern for pattern in case["does_not_say"] if re.search(pattern, said)]
    assert (ended.returncode, missing, unwanted) == (case["exit"], [], []), said


@pytest.mark.parametrize("folder", sorted({case["folder"] for case in CASES}), ids=lambda path: path.name)
def test_every_file_has_a_case_and_about_half_of_the_kernels_are_sound(folder: Path) -> None:
    cases = [case for case in CASES if case["folder"] == folder]
    named = {Path(case.get("of", case["file"])).parts[0] for case in cases}
    assert named == {path.name for path in folder.iterdir()} - {"cases.json", "__pycache__"}
    sound = sum(case["sound"] for case in cases)
    assert len(cases) / 3 <= sound <= len(cases) * 2 / 3, f"{sound} of {len(cases)} are sound"
