"""Text without characters that a terminal obeys, or that no reader of SVG, HTML or UTF-8 accepts."""

from __future__ import annotations

import re

_UNREADABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Control characters except tabs and line ends, halves of surrogate pairs, and two that are no characters."""

REPLACEMENT = "\ufffd"


def readable(text: str) -> str:
    """Return text with a replacement for each character that is not readable.

    File names, results and compilers' messages can contain any character: names that are not UTF-8 contain
    halves of surrogate pairs, and others the escape sequences of a terminal.
    """
    return _UNREADABLE.sub(REPLACEMENT, text)
