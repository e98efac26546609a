"""Files of results with one or several places changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from arena import ROOT, Line
from hypothesis import strategies as st

GPU = json.loads((ROOT / "tests" / "output" / "data" / "gpu.json").read_text())
GPU["results"] = GPU["results"][1:3]
EMULATED = json.loads(Path(__file__).with_name("emulated.json").read_text())

Place = tuple[str | int, ...]

VALUES = (
    None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63, 2**64, 10**400, 0.5, -0.0, 5e-324, 1e-300, 1e308,
    float("nan"),
    float("inf"), float("-inf"), "", "x", "\ud800", "\0", "\x1b[31m", "</script><script>", "x" * 10_000,
    "9" * 400, [], {},
    [[]], [None], ["x"], {"": ""}, [5e-324] * 8, [1e308] * 8, [-1.0], [0.0], list(range(3000)),
    "cudamm.bench/1",
    "cudamm.bench/99", "ok", "failed", "dropped", "skipped", "gpu", "cpu", "host", "naive", "best", "sm_00",
    "int32",
)  # fmt: skip


def places(value: Any, here: Place = ()) -> list[Place]:
    """Return the path of each value inside a JSON value."""
    found = [here]
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        found += places(inner, (*here, key))
    return found


def changed(document: Any, place: Place, change: str, value: Any) -> Any:
    """Return a document with one place changed."""
    if not place:
        return value if change == "replace" else [document]
    document = copy.deepcopy(document)
    inner = document
    for key in place[:-1]:
        try:
            inner = inner[key]
        except (TypeError, KeyError, IndexError):
            return document  # an earlier change removed the place
    key = place[-1]
    try:
        if change == "replace":
            inner[key] = value
        elif change == "remove":
            del inner[key]
        elif change == "nest":
            inner[key] = [inner[key]]
        elif change == "double":
            inner[key] = [inner[key]] * 2
        else:
            inner[f"{key}!"] = value
    except (TypeError, KeyError, IndexError):
        pass
    return document


def encoded(document: Any, how: str) -> bytes:
    """Return a document as the bytes of a file."""
    text = json.dumps(document)
    return {
        "utf-16": text.encode("utf-16"),
        "with a mark": b"\xef\xbb\xbf" + text.encode(),
        "cut": text.encode()[: len(text) * 2 // 3],
        "with a zero": text.encode() + b"\0",
        "twice": text.encode() * 2,
        "deep": b"[" * 100_000,
        "no UTF-8": text.encode().replace(b"naive", b"na\xffve"),
        "key twice": text.encode().replace(b'"schema"', b'"device": 1, "schema"'),
        "empty": b"",
    }.get(how, text.encode())


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return the bytes of a damaged file of results."""
    document = copy.deepcopy(draw(st.sampled_from([GPU, EMULATED])))
    known = places(document)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(known))
        change = draw(st.sampled_from(["replace"] * 6 + ["remove", "nest", "double", "add"]))
        document = changed(document, place, change, draw(st.sampled_from(VALUES)))
    how = draw(st.sampled_from(["plain"] * 20)) if draw(st.integers(0, 5)) else draw(st.sampled_from(HOW))
    return encoded(document, how)


HOW = ("utf-16", "with a mark", "cut", "with a zero", "twice", "deep", "no UTF-8", "key twice", "empty")

READERS = (
    ("report", "edited.json"),
    ("report", "edited.json", "--csv", "out.csv", "--markdown", "out.md", "--svg", "out.svg"),
    ("compare", "edited.json", "gpu.json"),
    ("compare", "old.json", "edited.json", "--force", "--json", "out.json"),
    ("compare", "edited.json", "edited.json", "--fail-on", "5%", "--svg", "out.svg"),
    ("bench", "-m", "numpy", "-n", "16", "--runs", "1", "--resume", "edited.json"),
)


def lines() -> st.SearchStrategy[Line]:
    """Return command lines that read a damaged file of results."""
    return st.builds(_line, st.sampled_from(READERS), documents())


def _line(words: tuple[str, ...], content: bytes) -> Line:
    options = {"--csv", "--markdown", "--svg", "--json", "--resume"}
    outputs = {word: words[i + 1] for i, word in enumerate(words) if word in options}
    return Line(words, outputs=outputs, files={"edited.json": content})
