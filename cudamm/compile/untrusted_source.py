"""Refuse an untrusted source that could make a compiler read files, or run code that is no CUDA.

`check_text` looks at a file before anything reads it: what it includes, and directives that mislead. It finds
its patterns in comments and strings too, because no source can hide from a search that parses nothing.

All compilers then get one text (`host_compiler.submitted`): a preprocessor that belongs to none of them
follows the directives of the submission, and expands its macros. It accepts no name that is a macro of one
compiler only. So a submission cannot tell one compiler from another, and hides nothing in macros.
`check_preprocessed` looks at that text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NoReturn

from cudamm.compile.inline_ptx import place_in_preprocessed, with_ptx_translated
from cudamm.errors import KernelError

_SPACE = r"[ \t\f\v]*"
_BEGIN = rf"(?:^|\*/){_SPACE}(?:#|%:|\?\?=){_SPACE}"
"""The beginning of a directive: only spaces and comments come before it in its line."""

_COMMENTED = re.compile(rf"{_BEGIN}/\*", re.MULTILINE)
_INCLUDE = re.compile(
    rf'{_BEGIN}(include_next|include|import|embed)\b{_SPACE}("[^"\n]*"|<[^>\n]*>)?', re.MULTILINE
)
_DIRECTIVE = re.compile(rf'{_BEGIN}(line\b|ident\b|sccs\b|assert\b|unassert\b|\d[^"\n]*")', re.MULTILINE)
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\n")

_FOR_LATER = "cudamm_include"
"""The pragma that stands for a header of CUDA or of the system while a submission is preprocessed."""


def check_text(text: str, name: str) -> None:
    """Raise KernelError if the text of a file includes files outside its folder, or misleads the compiler.

    Args:
        name: the file's name, for the message.
    """
    for part in _SPLICE.finditer(text):
        if part[0].startswith("?"):
            raise KernelError(f"{name}:{_line(text, part.start())}: trigraphs such as ??/ are not accepted")
    spliced, lines = _spliced(text)

    def refuse(position: int, what: str) -> NoReturn:
        position += len(spliced[position:]) - len(spliced[position:].lstrip())
        raise KernelError(f"{name}:{lines[spliced.count(chr(10), 0, position)]}: {what}")

    for found in _COMMENTED.finditer(spliced):
        refuse(found.start(), "a comment between # and the directive is not accepted in a submission")
    for found in _INCLUDE.finditer(spliced):
        kind, target = found[1], found[2]
        if kind != "include":
            refuse(found.start(), f"#{kind} is not accepted in a submission; #include is")
        if not target:
            refuse(found.start(), "#include needs the name of a file, and not a macro")
        included = target[1:-1].strip()
        if included.startswith(("/", "~")) or ".." in included.split("/") or "\\" in included:
            refuse(
                found.start(),
                f"#include {target}: a submission includes files of its own folder and of CUDA only",
            )
    for found in _DIRECTIVE.finditer(spliced):
        word = found[1] if found[1].isalpha() else "line"
        refuse(found.start(), f"#{word} is not accepted in a submission")


def without_headers(text: str, own: Collection[str], others: list[str]) -> str:
    """Return a text in which a pragma with a number stands for each header that is none of the submission's.

    Args:
        text: a text that `check_text` accepts.
        own: the names of the files beside the submission.
        others: gets the directives that include the other headers; `with_headers` puts them back.
    """

    def replaced(include: re.Match[str]) -> str:
        if include["file"].startswith('"') and include["file"][1:-1] in own:
            return include[0]
        others.append(f"#include {include['file']}")
        return f"{include['before']}#pragma {_FOR_LATER} {len(others) - 1}"

    return _ANY_INCLUDE.sub(replaced, text)


_ANY_INCLUDE = re.compile(
    rf"(?P<before>(?:^|\*/){_SPACE})(?:#|%:){_SPACE}include\b{_SPACE}(?P<file>\"[^\"\n]*\"|<[^>\n]*>)",
    re.MULTILINE,
)


def with_headers(preprocessed: str, others: Sequence[str]) -> str:
    """Return what a preprocessor made of a text of `without_headers`, which includes other headers again."""
    marked = re.sub(
        r'^# (\d+) ("(?:[^"\\\n]|\\.)*")[ \d]*$', r"#line \1 \2", preprocessed, flags=re.MULTILINE
    )
    numbers = range(len(others))
    return re.sub(
        rf"^#pragma {_FOR_LATER} (\d+)$",
        lambda pragma: others[int(pragma[1])] if int(pragma[1]) in numbers else "",
        marked,
        flags=re.MULTILINE,
    )


def _spliced(text: str) -> tuple[str, list[int]]:
    """Return a text without the line ends behind backslashes, and the original number of each line."""
    numbers, parts, start, number = [1], list[str](), 0, 1
    for end in re.finditer(r"(\\[ \t]*)?\n", text):
        number += 1
        if end[1] is None:
            numbers.append(number)
        else:
            parts.append(text[start : end.start()])
            start = end.end()
    return "".join([*parts, text[start:]]), [*numbers, number]


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


LONGEST_ATTRIBUTE = 2000

_ATTRIBUTES = """
noinline always_inline aligned used unused noreturn pure const hot cold packed vector_size may_alias
fallthrough nodiscard maybe_unused likely unlikely deprecated error warning nothrow gnu nv_pure device
global shared host constant device_builtin leaf malloc gnu_inline artificial warn_unused_result flatten
unroll
"""
"""Attributes that change neither where code lies nor whether it is watched; and the namespaces of some."""

_PRAGMAS = re.compile(
    rf"(?:{_FOR_LATER}|GCC\s+(?:unroll|ivdep)|clang\s+loop|unroll|nounroll|once|STDC|pack|push_macro|pop_macro|region|endregion|mark"
    r"|nv_\w+|message|omp)\b"
)
_HARMLESS = r"assume|expect|unreachable|trap|(?:LINE|FILE)\b"
"""Built-in functions that access no memory."""

_TOKEN_OF_INTEREST = re.compile(
    r'(?P<string>(?:u8|[uUL])?R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?<![\w.])\d(?:'?[\w.])*"
    r"|(?P<asm>(?<!\w)(?:asm|__asm__|__asm)(?!\w))"
    r"|(?P<attribute>(?<!\w)(?:__attribute__|__attribute|__declspec)\s*\(|\[\s*\[)"
    rf"|(?<!\w)(?P<unwatched>__builtin_(?!{_HARMLESS})\w+|__atomic_(?!thread_fence\b)\w+|__sync_\w+)\s*\("
    r"|^[ \t]*#[ \t]*pragma[ \t]+(?P<pragma>[^\n]*)|^#[^\n]*"
    r"|(?<!\w)(?P<own>(?:cudamm|CUDAMM)(?!_entry\b)\w*)|(?P<digraph><:(?!:(?![:>]))|<%|%:)",
    re.DOTALL | re.MULTILINE,
)


def check_preprocessed(text: str) -> None:
    """Raise KernelError if the text of a submission contains host assembly or other risks.

    Args:
        text: preprocessed text of the submission alone.
    """
    translated = with_ptx_translated(text)
    for found in _TOKEN_OF_INTEREST.finditer(translated):
        if found["asm"]:
            place = place_in_preprocessed(translated, found.start())
            raise KernelError(f"{place}: asm is accepted with PTX instructions only")
    for found in _TOKEN_OF_INTEREST.finditer(text):
        what = ""
        if found["attribute"]:
            what = _risky_attribute(text, found.start(), found.end())
        elif found["unwatched"]:
            what = f"{found['unwatched']} is not accepted: its accesses to memory could not be counted"
        elif found["pragma"] and not _PRAGMAS.match(found["pragma"]):
            what = f"#pragma {' '.join(found['pragma'].split()[:2])} is not accepted in a submission"
        elif found["own"]:
            what = f"{found['own']} is not accepted: names that begin with cudamm are those of the grader"
        elif found["digraph"]:
            what = f"{found['digraph']} is not accepted: write [ ] {{ }} and #"
        if what:
            raise KernelError(f"{place_in_preprocessed(text, found.start())}: {what}")


_WITH_TEXT = re.compile(r'\b(?:deprecated|nodiscard|error|warning)\s*\(\s*(?:"(?:\\.|[^"\\\n])*"\s*)+\)')
"""Attributes whose text is a message of the compiler."""


def _risky_attribute(text: str, start: int, position: int) -> str:
    """Return why an attribute is refused; empty if it is accepted."""
    opened = text[start:position]
    beginning = text[position : position + LONGEST_ATTRIBUTE]
    if opened.startswith("[") and not re.match(r"\s*(?:using\b|[A-Za-z_]\w*\s*(?:::|\(|,|\]))", beginning):
        return ""  # a lambda in an index
    depth = len(re.findall(r"[\[(]", opened))
    for bracket in re.finditer(r'"(?:\\.|[^"\\\n])*"|[\[\]()]', beginning):
        depth += (bracket[0] in "[(") - (bracket[0] in "])")
        if not depth:
            break
    else:
        return f"an attribute of more than {LONGEST_ATTRIBUTE:,} characters is not accepted in a submission"
    content = beginning[: bracket.start()]
    content = _WITH_TEXT.sub(" ", content)
    if '"' in content:
        return f"the attribute {' '.join(content.split())[:60]} is not accepted in a submission"
    outermost = re.sub(r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)", " ", content.strip().removeprefix("("))
    for name in re.findall(r"[A-Za-z_]\w*", outermost):
        if name.strip("_") not in _ATTRIBUTES.split() and name != "using":
            return f"the attribute {name} is not accepted in a submission"
    return ""
