"""Find a struct in C source, and read its members, so that a kernel can be passed the struct by value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.source.c_text import ATTRIBUTE, DIRECTIVE, closing_angle
from cudamm.source.expression import split_at_commas

_NO_MEMBER = frozenset({"using", "typedef", "static", "static_assert", "friend", "enum", "template"})
"""First words of statements that a struct may contain, and that declare no member of its values."""

_LAYOUT_WORDS = ("virtual", "alignas", "__align__", "__attribute__", "union", "#")
"""Texts in a struct whose layout does not follow from its members alone."""

LONGEST_HEAD = 4000
"""Number of characters before or behind a struct's braces in which its name has to occur."""


@dataclass(frozen=True)
class Member:
    """A member of a struct: its name, and its declaration, as in `float *elements`."""

    name: str
    declared: str


@dataclass(frozen=True)
class Struct:
    """A struct that C source defines.

    Attributes:
        parameters: names of its template's parameters.
        members: the members that are understood, in their order.
        unknown: the first part that is not understood; empty if there is none.
    """

    parameters: tuple[str, ...]
    members: tuple[Member, ...]
    unknown: str


def find_struct(code: str, name: str) -> Struct | None:
    """Return the first struct of a name, which may be that of its `typedef`; None if there is none.

    Args:
        code: C source without comments.
    """
    if not re.search(r"\b(?:struct|class)\b", code):
        return None
    begin = 0
    open_heads: list[tuple[str, int]] = []  # the text before each open brace, and the place after the brace
    found: list[tuple[int, Struct]] = []
    for mark in re.finditer(r"[{};]", code):
        if mark[0] == "{":
            head = DIRECTIVE.sub(" ", code[max(begin, mark.start() - LONGEST_HEAD) : mark.start()])
            open_heads.append((head, mark.end()))
        elif mark[0] == "}" and open_heads:
            head, start = open_heads.pop()
            if name in _names(head, code[mark.end() : mark.end() + LONGEST_HEAD]):
                found.append((start, _struct(head, code[start : mark.start()])))
        begin = mark.end()
    return min(found, key=lambda struct: struct[0])[1] if found else None


def _names(head: str, after: str) -> list[str]:
    """Return the names of a struct; none for another text in braces.

    Args:
        head: the text between the statement before it and its `{`.
        after: the text behind its `}`.
    """
    _, keyword, tag = _without_template(head)
    tag = ATTRIBUTE.sub(" ", tag)
    if not keyword or "(" in tag:
        return []
    names = re.findall(r"[A-Za-z_]\w*", re.sub(r"\bfinal\b", " ", tag.partition(":")[0]))[-1:]
    if re.search(r"\btypedef\b", head):
        names += [part.strip() for part in after.partition(";")[0].split(",")]
    return names


def _without_template(head: str) -> tuple[str, str, str]:
    """Split `template <class T> struct A` into the template's parameters, `struct` and `A`."""
    before, template, rest = head.partition("template")
    end = closing_angle(rest, rest.find("<") + 1) if template else 0
    keyword = re.search(r"\b(struct|class)\b(.*)", rest[end:] if template else before, re.DOTALL)
    return rest[:end], keyword[1] if keyword else "", keyword[2] if keyword else ""


def _struct(head: str, body: str) -> Struct:
    parameters, _, tag = _without_template(head)
    listed = split_at_commas(parameters.strip()[1:-1], brackets="([{<")
    names = [re.findall(r"\w+", text.partition("=")[0])[-1:] for text in listed]
    _, colon, bases = tag.replace("::", "").partition(":")
    unknown = next((word for word in _LAYOUT_WORDS if word in head + body), "") or (colon + bases).strip()
    members: list[Member] = []
    for statement in () if unknown else _statements(body):
        of_statement = _members(statement)
        if of_statement is None:
            unknown = " ".join(statement.split())
            break
        members += of_statement
    return Struct(tuple(name for of_parameter in names for name in of_parameter), tuple(members), unknown)


def _statements(body: str) -> Iterator[str]:
    """Yield what a struct contains, without the bodies of functions, and without `public:` and the like."""
    begin = depth = 0
    declared = ""
    for mark in re.finditer(r"[{};]", body):
        if mark[0] == "{":
            declared += body[begin : mark.start()] if depth == 0 else ""
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth == 0:
                begin = mark.end()
                declared = "" if "(" in declared else declared + "{}"
        elif depth == 0:
            yield _without_access(declared + body[begin : mark.start()])
            declared, begin = "", mark.end()


def _without_access(text: str) -> str:
    return re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", text).strip()


def _members(statement: str) -> list[Member] | None:
    """Return the members that a statement declares; None if it is not understood."""
    words = re.findall(r"\w+", statement)
    if not words or words[0] in _NO_MEMBER:
        return []
    first, *others = split_at_commas(statement, brackets="([{<")
    plain = re.sub(r"[={].*|\w+\s*::", " ", first, flags=re.DOTALL)
    if "(" in plain and not re.search(r"\(\s*[*&]", plain):
        return []  # a function
    match = re.fullmatch(
        r"(.*?[\w>])(?:\s*\*[\s*]*|\s+)(?:(?:const|__restrict__|__restrict)\s+)*([A-Za-z_]\w*)\s*",
        plain,
        re.DOTALL,
    )
    if match is None or (words[0] in ("struct", "class") and "{" in statement):
        return None
    members = [Member(match[2], plain.strip())]
    for other in others:
        declarator = re.sub(r"[={].*", "", other, flags=re.DOTALL).strip()
        if not re.fullmatch(r"[*\s]*[A-Za-z_]\w*", declarator):
            return None
        members.append(Member(declarator.strip("* "), f"{match[1]} {declarator}"))
    return members
