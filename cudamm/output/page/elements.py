"""HTML elements. Whatever a file says goes into one as text, and is escaped when the page is written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from xml.etree.ElementTree import Element, tostring

Child = Element | str | None

_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
WIDE = 10
"""Columns from which on a table is printed in small letters."""
_RAW = ("script", "style")


def element(tag: str, *children: Child, **attributes: str | bool | None) -> Element:
    """An HTML element.

    Args:
        children: elements, and text in between; None is left out.
        attributes: with _ for -, and one at the end where Python has the word itself (`class_`). True is an
            attribute without a value; what is False or None is left out.

    Raises:
        ValueError: text for a script or a style, which are not escaped; `verbatim` makes those.
    """
    if tag in _RAW and children:
        raise ValueError(f"{tag} is not escaped: it is made by verbatim")
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None and value is not False:
            made.set(name.rstrip("_").replace("_", "-"), "" if value is True else visible(value))
    for child in children:
        if child is None:
            continue
        if isinstance(child, str):
            _add_text(made, visible(child))
        else:
            made.append(child)
    return made


def verbatim(tag: str, text: str, **attributes: str) -> Element:
    """A script or a style of our own, which a browser reads as it stands.

    Raises:
        ValueError: the text would end the element.
    """
    if tag not in _RAW or re.search(r"</|<!--", text):
        raise ValueError(f"no text for a {tag}")
    made = Element(tag, attributes)
    made.text = text
    return made


def data(identity: str, value: Any) -> Element:
    """A value for scripts to read, as JSON. Nothing in it can end the element or a line of it."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))  # ASCII: no U+2028 either
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return verbatim("script", text, type="application/json", id=identity)


def table(heads: Sequence[Child], rows: Sequence[Element], name: str, numbers: Sequence[int] = ()) -> Element:
    """A table in a frame that scrolls where the window is too narrow.

    Args:
        name: what it holds, for those who do not see it.
        numbers: columns whose heads stand to the right, above numbers.
    """
    head = element(
        "tr",
        *(
            element("th", text, scope="col", class_="number" if column in numbers else None)
            for column, text in enumerate(heads)
        ),
    )
    wide = " wide" if len(heads) >= WIDE else ""
    inner = element("table", element("thead", head), element("tbody", *rows))
    return element("div", inner, class_=f"scroll{wide}", tabindex="0", role="region", aria_label=name)


def row(cells: Sequence[Child], numbers: Sequence[int] = (), class_: str | None = None) -> Element:
    """A row of a table; the first cell is its head."""
    made = [
        element(
            "td" if column else "th",
            cell,
            scope=None if column else "row",
            class_="number" if column in numbers else None,
        )
        for column, cell in enumerate(cells)
    ]
    return element("tr", *made, class_=class_)


def written(page: Element) -> str:
    """The page as a browser reads it."""
    return "<!DOCTYPE html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def visible(text: str) -> str:
    """Text with a sign in place of what HTML does not allow: control characters and halves of pairs."""
    return _NO_TEXT.sub("\ufffd", text.replace("\r\n", "\n"))


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
