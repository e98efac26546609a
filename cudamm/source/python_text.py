"""The text of a kernel as a Python program builds it; each part knows its file and its line."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cudamm.source.c_text import without_comments
from cudamm.source.included_files import line_directive

LONGEST_TEXT = 1 << 20
"""Number of characters of a text above which it is not built."""

LARGEST_CONSTANT = 2**31 - 1

_CONVERSION = re.compile(r"%(?:\((\w+)\))?([-+ #0]*\d{0,3}(?:\.\d{1,2})?)[hlL]?([diouxXeEfFgGcrsa%])")
SPECIFICATION = re.compile(r"[-<>^+ 0]{0,2}\d{0,3}(?:\.\d{1,2})?[bcdeEfFgGosxX]?")
_CPP_WORDS = """
alignas asm auto bool break case catch char class const constexpr continue default delete do double else enum
explicit export extern false float for friend goto if inline int long namespace new operator private protected
public register return short signed sizeof static struct switch template this throw true try typedef typename
union unsigned using virtual void volatile while
"""
CPP_WORDS = frozenset(_CPP_WORDS.split())

_NAMES_OF_CUDAMM = frozenset({"A", "B", "C", "element", "accumulator", "result"})


@dataclass(frozen=True)
class HostNumber:
    """A number of the program."""

    text: str  # C++ for it, over the variables of the program
    value: int | float | None = (
        None  # what it is unless the program's user chooses another; None if not known
    )
    is_whole: bool = True  # False for floating-point numbers


@dataclass(frozen=True)
class Piece:
    """A part of a text; for a number, its digits."""

    text: str
    line: int = 0  # that it begins in; 0 if unknown
    file: str = ""  # with that line; empty for the program itself
    name: str = ""  # what the program calls a number that it inserts
    number: HostNumber | None = None


@dataclass(frozen=True)
class KernelText:
    """A text in pieces."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        """Return the text as the program has it."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def is_too_long(self) -> bool:
        """Return whether the text is longer than those that are built."""
        return sum(len(piece.text) for piece in self.pieces) > LONGEST_TEXT

    def __add__(self, other: KernelText) -> KernelText:
        """Return a text followed by another one."""
        return KernelText(self.pieces + other.pieces)

    def with_replaced(self, old: str, new: KernelText) -> KernelText:
        """Return a text in which another one stands for each `old`."""
        if not old:
            return self
        pieces: list[Piece] = []
        for piece in self.pieces:
            first, *others = [piece.text] if piece.number else piece.text.split(old)
            line, before = piece.line, first
            pieces.append(replace(piece, text=first))
            for part in others:
                line += before.count("\n") + old.count("\n") if piece.line else 0
                pieces += [replace(inner, line=line, file=piece.file) for inner in _named(new, old).pieces]
                pieces.append(replace(piece, text=part, line=line))
                before = part
        return KernelText(tuple(pieces))


def plain(text: str, line: int = 0, file: str = "") -> KernelText:
    """Return a text in one piece."""
    return KernelText((Piece(text, line, file),))


def number_text(number: HostNumber) -> KernelText | None:
    """Return the digits of a number; None if its value is not known."""
    if number.value is None:
        return None
    is_variable = re.fullmatch(r"[A-Za-z_]\w*", number.text, re.ASCII) is not None
    is_constant = isinstance(number.value, int) and 0 <= number.value <= LARGEST_CONSTANT
    name = number.text if is_variable and is_constant else ""
    return KernelText((Piece(str(number.value), name=name, number=number),))


def _named(text: KernelText, name: str) -> KernelText:
    """Return the digits of a number with the name of the place where a template has them."""
    piece = text.pieces[0] if len(text.pieces) == 1 else Piece("")
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        return text
    if piece.name:
        return KernelText((replace(piece, name=name),))
    digits = piece.text.strip()
    if not piece.number and re.fullmatch(r"[0-9]{1,9}", digits):
        return KernelText((Piece(digits, name=name, number=HostNumber(digits, int(digits))),))
    return text


class TextBuilder:
    """Puts the literal parts of a template and what stands between them together.

    Args:
        places: the line and the file of each line of the template.
    """

    def __init__(self, places: Sequence[tuple[int, str]]) -> None:
        self._pieces: list[Piece] = []
        self._places, self._newlines = places or [(0, "")], 0

    def _place(self) -> tuple[int, str]:
        return self._places[min(self._newlines, len(self._places) - 1)]

    def add(self, text: str) -> None:
        """Add a literal part of the template."""
        for line in _lines_of(text):
            self._pieces.append(Piece(line, *self._place()))
            self._newlines += line.count("\n")

    def insert(self, value: object, specification: str = "", name: str = "", sign: str = "") -> bool:
        """Add a value at a place of the template, and return whether it is known.

        Args:
            value: the value.
            specification: of its format; empty for the value as it is.
            name: of the place; empty if it has none.
            sign: `%` if the specification is one of the operator `%`.
        """
        text: KernelText | None = None
        if specification and isinstance(value, HostNumber | KernelText):
            raw = value.value if isinstance(value, HostNumber) else str(value)
            try:
                digits = f"%{specification}" % (raw,) if sign else format(raw, specification)
                text = None if raw is None else plain(digits)
            except (ValueError, TypeError, OverflowError):
                return False
        elif isinstance(value, HostNumber):
            text = number_text(value)
        elif isinstance(value, KernelText):
            text = value
        if text is None:
            return False
        line, file = self._place()
        self._pieces += [
            replace(piece, line=line, file=file) if piece.number or not piece.line else piece
            for piece in (_named(text, name) if name else text).pieces
        ]
        return True

    def built(self) -> KernelText:
        """Return the whole text."""
        return KernelText(tuple(self._pieces))


def filled(template: KernelText, kind: str, values: Mapping[str, object]) -> KernelText | None:
    """Return a template with its values; None if it is not known.

    Args:
        template: the text with places for values.
        kind: `%` for the operator, `{` for `format`, `$` for `string.Template`.
        values: by their keys; those without a key by their places, as `"0"`.
    """
    places: list[tuple[int, str]] = []
    begins = True
    for piece in template.pieces:
        for number, line in enumerate(_lines_of(piece.text)):
            if begins:
                places.append((piece.line + number if piece.line else 0, piece.file))
            begins = line.endswith("\n")
    builder, place = TextBuilder(places), 0
    try:
        for literal, key, specification in _PARTS[kind](str(template)):
            builder.add(literal)
            if key is None:
                continue
            value = values.get(key or str(place))
            place += not key
            if kind == "%" and specification in ("d", "i", "u"):  # which cut what is no whole number
                is_whole = isinstance(value, HostNumber) and isinstance(value.value, int)
                specification = "" if is_whole else specification
            plain_form = "" if specification in PLAIN_FORMS[kind] else specification
            if not builder.insert(
                value, plain_form, "" if key.isdigit() else key, "%" if kind == "%" else ""
            ):
                return None
    except ValueError:
        return None
    return builder.built()


Part = tuple[str, str | None, str]
"""A literal part of a template, the key of the value after it, and the value's format; no key at the end."""

PLAIN_FORMS = {"%": ("s", "r"), "{": ("d", "s"), "$": ()}
"""The formats that insert a value as it is, by the kind of template."""


def _percent_parts(text: str) -> Iterator[Part]:
    end = 0
    for found in _CONVERSION.finditer(text):
        key, form, kind = found.groups()
        literal, end = text[end : found.start()], found.end()
        yield (f"{literal}%", None, "") if kind == "%" else (literal, key or "", form + kind)
    yield text[end:], None, ""


def _brace_parts(text: str) -> Iterator[Part]:
    for literal, key, specification, conversion in string.Formatter().parse(text):
        if (
            not SPECIFICATION.fullmatch(specification or "")
            or conversion == "a"
            or re.search(r"\W", key or "")
        ):
            raise ValueError(f"{key}: a format that is not followed")
        yield literal, key, specification or ""


def _dollar_parts(text: str) -> Iterator[Part]:
    end = 0
    for found in re.finditer(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", text):
        literal, end = text[end : found.start()], found.end()
        yield (f"{literal}$", None, "") if found[1] else (literal, found[2] or found[3], "")
    yield text[end:], None, ""


_PARTS = {"%": _percent_parts, "{": _brace_parts, "$": _dollar_parts}


def lines_of_literal(node: ast.expr, lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the place of each line of a string that the program's text has.

    Args:
        node: the string, which may be of several literals.
        lines: those of the program.
    """
    numbers = list(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    begin = lines[node.lineno - 1].encode()[node.col_offset :].decode("utf-8", "replace")
    quotes = re.match(r"([A-Za-z]*)(?:\"{3}|'{3})(\\?$)?", begin)
    if quotes and "r" not in quotes[1].lower():
        # A backslash at the end of a line joins it with the next one.
        joined = [each + 1 for each in numbers[quotes[2] is not None :] if lines[each - 1].endswith("\\")]
        numbers = [each for each in numbers[bool(quotes[2]) :] if each not in joined]
    return [(number, "") for number in numbers]


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _inserted(text: KernelText) -> Iterator[tuple[Piece, str, str]]:
    """Yield the numbers that the program inserts, each with its line before it and the text after it."""
    before = ""
    for place, piece in enumerate(text.pieces):
        if piece.number:
            after = "".join(each.text for each in text.pieces[place + 1 : place + 3])
            yield piece, before.rpartition("\n")[2], after
        before = (before + piece.text)[-400:]


def constants_in(texts: Sequence[KernelText]) -> dict[str, HostNumber]:
    """Return the numbers that kernels can have as constants of the file, by name.

    A name is one if the program inserts one number of that name, wherever it inserts it, as a word of its own
    outside of directives and quotes, and if no text has the word otherwise.
    """
    found: dict[str, HostNumber] = {}
    refused = set(CPP_WORDS | _NAMES_OF_CUDAMM)
    for text in texts:
        around = "".join("\0" if piece.name else piece.text for piece in text.pieces)
        refused.update(re.findall(r"[A-Za-z_]\w*", around))
        for piece, line, after in _inserted(text):
            is_code = not re.search(r"[\w.$]$|[#\"]", line) and not re.match(r"[\w.]", after)
            if piece.name and piece.number:
                same = found.setdefault(piece.name, piece.number).value == piece.number.value
                refused |= set() if is_code and same else {piece.name}
    return {name: number for name, number in found.items() if name not in refused}


def defined_numbers(texts: Sequence[KernelText]) -> dict[str, str]:
    """Return the macro or constant that texts define as a number of the program, by the number's C++."""
    found: dict[str, str] = {}
    for piece, line, after in (each for text in texts for each in _inserted(text)):
        defined = re.search(r"(?:#\s*define|\bint|\bconstexpr)\s+(\w+)\s*(?:=\s*)?\(?$", line)
        if piece.number and defined and re.match(r"\s*(?:\)?\s*(?:\n|;|//|/\*)|$)", after):
            found.setdefault(piece.number.text, defined[1])
    return found


class Placement:
    """C++ source whose lines have the numbers that they have in the files of a program."""

    def __init__(self, program: str) -> None:
        self.parts: list[str] = []
        self._program = program
        self._file, self._line = "", 1
        self._is_line_begun = False

    def add_text(self, text: KernelText, constants: Mapping[str, HostNumber]) -> None:
        """Add the text of kernels, with definitions of its constants before it."""
        for name, number in constants.items():
            self.add(f"static constexpr int {name} = {number.value}; ", 0, "")
        self.add("\n" * bool(constants), 0, "")
        for piece in text.pieces:
            self.add(piece.name if piece.name in constants else piece.text, piece.line, piece.file)
        self.add("\n", 0, "")

    def add(self, text: str, line: int, file: str) -> None:
        """Add a text that begins in a line of a file; 0 for one that follows what is there."""
        for number, part in enumerate(_lines_of(text)):
            wanted = line + number if line else 0
            if not self._is_line_begun and wanted and part.strip():
                self._go_to(wanted, file)
            self.parts.append(part)
            self._is_line_begun = not part.endswith("\n")
            self._line += part.count("\n")

    def _go_to(self, line: int, file: str) -> None:
        blank = line - self._line
        if file == self._file and blank >= 0:
            self.parts.append("\n" * blank)
        else:
            self.parts.append(f"{line_directive(file or self._program, line)}\n")
        self._file, self._line = file, line

    def source(self) -> str:
        """Return the whole source."""
        return "".join(self.parts)


def defined_names(source: str) -> dict[str, str]:
    """Return the macros without parameters and the constants that C++ source defines, with their texts."""
    code = re.sub(r'extern\s*"C"\s*\{', "", without_comments(source))
    outside, depth = [], 0
    for part in re.split(r"([{}])", code):
        depth += {"{": 1, "}": -1}.get(part, 0)
        outside.append(part if depth <= 0 else "")
    macros = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)", code, re.MULTILINE)
    constant = r"\b(?:const|constexpr)\s+(?:unsigned\s+)?int\s+(\w+)\s*=\s*([^;,]+);"
    constants = re.findall(constant, "".join(outside))
    return {name: value.strip() for name, value in (*macros, *constants)}
