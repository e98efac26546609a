"""The lines of a TOML file on which its tables and keys stand, which Python's parser does not tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

Path = tuple[str | int, ...]
"""A place in a document: names of tables and keys, and the numbers of the tables of an array."""

_HEADER = re.compile(r"^[ \t]*(\[\[?)[ \t]*([\w.\"' \t-]+?)[ \t]*\]\]?[ \t]*(?:#.*)?$")
_KEY = re.compile(r"^[ \t]*((?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')(?:[ \t]*\.[ \t]*[\w-]+)*)[ \t]*=")
_TOKEN = re.compile(
    r'"""(?:\\.|.)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\.|[^"\\\n])*"?|\'[^\'\n]*\'?|#[^\n]*|[\[\]{}]|\n',
    re.DOTALL,
)


def toml_lines(text: str) -> dict[Path, int]:
    """Return the line of each table and key of a TOML document, such as `("test", 0, "points")`."""
    lines: dict[Path, int] = {}
    for place, number in _places(text):
        lines.setdefault(place, number)
    return lines


def first_duplicate(text: str) -> tuple[str, int, int] | None:
    """Return the first table or key that is there twice, with its second line and its first; None: none is.

    A table has its brackets, as in `[kernel]`.
    """
    lines: dict[Path, int] = {}
    for place, number in _places(text):
        if place in lines:
            is_table = text.split("\n")[number - 1].lstrip().startswith("[")
            return f"[{place[-1]}]" if is_table else str(place[-1]), number, lines[place]
        lines[place] = number
    return None


def _places(text: str) -> Iterator[tuple[Path, int]]:
    """Yield each table and key of a TOML document with its line."""
    counts: Counter[str] = Counter()
    table: Path = ()
    for number, line in _first_lines(text):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            name = _plain(header[2])
            table = (name,)
            if header[1] == "[[":
                table = (name, counts[name])
                counts[name] += 1
            yield table, number
        elif key:
            yield (*table, _plain(key[1])), number


def _plain(name: str) -> str:
    return name.replace('"', "").replace("'", "").replace(" ", "").replace("\t", "")


def _first_lines(text: str) -> list[tuple[int, str]]:
    """Return the lines on which something begins: no strings and lists that began earlier."""
    begins, depth, number = [1], 0, 1
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth = max(0, depth - 1)
        number += token[0].count("\n")
        if token[0] == "\n" and depth == 0:
            begins.append(number)
    lines = text.split("\n")
    return [(number, lines[number - 1]) for number in begins if number <= len(lines)]
