"""The text of a kernel as a Python program builds it; each part knows its file and its line."""

from __future__ import annotations

import ast
import io
import re
import string
import tokenize
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from cudamm.source.c_text import without_comments
from cudamm.source.included_files import line_directive

LONGEST_TEXT = 1 << 20
"""Number of characters of a text above which it is not built."""

LARGEST_CONSTANT = 2**31 - 1

_CONVERSION = re.compile(r"%(?:\((\w+)\))?([-+ #0]*)(\d{0,3})((?:\.\d{1,2})?)[hlL]?([diouxXeEfFgGcrsa%])")
_SPECIFICATION = re.compile(r"[-<>^+ 0]{0,2}\d{0,3}(?:\.\d{1,2})?[bcdeEfFgGosxX]?")
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
    """A number of the program.

    Attributes:
        text: C++ for it, over the variables of the program.
        value: what it is unless the program's user chooses another; None if this is not known.
        is_whole: False for floating-point numbers.
        by_user: whether the program's user chooses it.
    """

    text: str
    value: int | float | None = None
    is_whole: bool = True
    by_user: bool = False


@dataclass(frozen=True)
class Piece:
    """A part of a text.

    Attributes:
        text: for a number, its digits.
        line: number of the line that it begins in; 0 if unknown.
        file: name of the file with that line; empty for the program itself.
        name: what the program calls a number that it inserts; empty for others.
        number: that number.
    """

    text: str
    line: int = 0
    file: str = ""
    name: str = ""
    number: HostNumber | None = None


@dataclass(frozen=True)
class KernelText:
    """A text in pieces."""

    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        """Return the text as the program has it."""
        return "".join(piece.text for piece in self.pieces)

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


Formatter = Callable[[str], "KernelText | HostNumber | None"]


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


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _named(text: KernelText, name: str) -> KernelText:
    """Return the digits of a number with the name of the place where a template has them."""
    pieces = text.pieces
    is_name = re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is not None
    if len(pieces) == 1 and not pieces[0].number and pieces[0].text.strip().isdecimal():
        digits = pieces[0].text.strip()
        if len(digits) < 10 and digits.isascii() and is_name:
            return KernelText((Piece(digits, name=name, number=HostNumber(digits, int(digits))),))
    if len(pieces) == 1 and pieces[0].name and is_name:
        return KernelText((replace(pieces[0], name=name),))
    return text


class _Builder:
    """Puts the literal parts of a template and what stands between them together."""

    def __init__(self, template: KernelText) -> None:
        self.pieces: list[Piece] = []
        self._places: list[tuple[int, str]] = []  # of each line of the template
        begins = True
        for piece in template.pieces:
            lines = _lines_of(piece.text)
            for number in range(len(lines)):
                if begins:
                    self._places.append((piece.line + number if piece.line else 0, piece.file))
                begins = lines[number].endswith("\n")
        self._places = self._places or [(0, "")]
        self._newlines = 0

    def add(self, text: str) -> None:
        """Add a literal part of the template."""
        for line in _lines_of(text):
            number, file = self._places[min(self._newlines, len(self._places) - 1)]
            self.pieces.append(Piece(line, number, file))
            self._newlines += line.count("\n")

    def insert(self, text: KernelText, name: str = "") -> None:
        """Add what stands at a place of the template, which may have a name."""
        number, file = self._places[min(self._newlines, len(self._places) - 1)]
        self.pieces += [
            replace(piece, line=number, file=file) if piece.number or not piece.line else piece
            for piece in (_named(text, name) if name else text).pieces
        ]

    def built(self) -> KernelText | None:
        """Return the whole text; None if it is too long."""
        text = KernelText(tuple(self.pieces))
        return text if sum(len(piece.text) for piece in self.pieces) <= LONGEST_TEXT else None


def _formatted(
    value: KernelText | HostNumber | None, specification: str, sign: str = ""
) -> KernelText | None:
    """Return a value as a template inserts it; with a specification, as plain digits.

    Args:
        sign: `%` if the specification is one of the operator `%`.
    """
    if isinstance(value, HostNumber) and not specification:
        return number_text(value)
    if isinstance(value, KernelText) and not specification:
        return value
    raw = value.value if isinstance(value, HostNumber) else None if value is None else str(value)
    try:
        if raw is None:
            return None
        return plain(f"%{specification}" % (raw,) if sign else format(raw, specification))
    except (ValueError, TypeError, OverflowError):
        return None


def percent_formatted(template: KernelText, of: Formatter) -> KernelText | None:
    """Return `template % values`; None if it is not known.

    Args:
        of: returns the value of a key, or of a number's place as `"0"`.
    """
    text, builder, end, place = str(template), _Builder(template), 0, 0
    for found in _CONVERSION.finditer(text):
        builder.add(text[end : found.start()])
        end = found.end()
        key, flags, width, precision, kind = found.groups()
        if kind == "%":
            builder.add("%")
            continue
        value = of(key or str(place))
        place += not key
        is_whole = isinstance(value, HostNumber) and isinstance(value.value, int)
        is_plain = kind in "sr" or (kind in "diu" and is_whole)
        form = f"{flags}{width}{precision}"
        inserted = _formatted(value, "" if is_plain and not form else form + kind, "%")
        if inserted is None:
            return None
        builder.insert(inserted, key or "")
    builder.add(text[end:])
    return builder.built()


def brace_formatted(template: KernelText, of: Formatter) -> KernelText | None:
    """Return `template.format(…)`; None if it is not known.

    Args:
        of: returns the value of a key, or of a number's place as `"0"`.
    """
    builder, place = _Builder(template), 0
    try:
        for literal, key, specification, conversion in string.Formatter().parse(str(template)):
            builder.add(literal)
            if key is None:
                continue
            specification = specification or ""
            if not _SPECIFICATION.fullmatch(specification) or not re.fullmatch(r"\w*", key):
                return None
            value = of(key or str(place))
            place += not key
            form = "" if specification in ("d", "s") else specification
            inserted = _formatted(value, form)
            if inserted is None or conversion == "a":
                return None
            builder.insert(inserted, key if not key.isdigit() else "")
    except ValueError:
        return None
    return builder.built()


def substituted(template: KernelText, of: Formatter) -> KernelText | None:
    """Return `string.Template(template).substitute(…)`; None if it is not known."""
    text, builder, end = str(template), _Builder(template), 0
    for found in re.finditer(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", text):
        builder.add(text[end : found.start()])
        end = found.end()
        if found[1]:
            builder.add("$")
            continue
        inserted = _formatted(of(found[2] or found[3]), "")
        if inserted is None:
            return None
        builder.insert(inserted, found[2] or found[3])
    builder.add(text[end:])
    return builder.built()


def interpolated(
    parts: Sequence[tuple[str | KernelText | HostNumber | None, str]], line: int
) -> KernelText | None:
    """Return an f-string; None if it is not known.

    Args:
        parts: its literal parts as strings, and its values, each with a specification.
        line: number of the line of its first character.
    """
    pieces: list[Piece] = []
    for value, specification in parts:
        if isinstance(value, str):
            pieces.append(Piece(value, line))
            line += value.count("\n")
            continue
        form = "" if specification in ("d", "s") else specification
        is_known = _SPECIFICATION.fullmatch(specification)
        inserted = _formatted(value, form) if is_known else None
        if inserted is None:
            return None
        pieces += [piece if piece.line else replace(piece, line=line) for piece in inserted.pieces]
    text = KernelText(tuple(pieces))
    return text if len(str(text)) <= LONGEST_TEXT else None


def segment_of(node: ast.expr, lines: Sequence[bytes]) -> str:
    """Return the text of an expression, from the lines of the program."""
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    inside = list(lines[first : last + 1])
    inside[-1:] = [line[: node.end_col_offset] for line in inside[-1:]]
    inside[:1] = [line[node.col_offset :] for line in inside[:1]]
    return b"\n".join(inside).decode("utf-8", "replace")


def literal_text(node: ast.Constant, lines: Sequence[bytes]) -> KernelText:
    """Return a string of the program, which may be of several literals.

    Args:
        lines: those of the program.
    """
    value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else str(node.value)
    if node.end_lineno == node.lineno:
        return plain(value, node.lineno)
    segment = segment_of(node, lines)
    pieces: list[Piece] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({segment})").readline):
            if token.type == tokenize.STRING:
                pieces += _lines_of_literal(token.string, node.lineno + token.start[0] - 1)
    except (tokenize.TokenError, SyntaxError, ValueError):
        pieces = []
    text = KernelText(tuple(pieces))
    return text if str(text) == value else plain(value, node.lineno)


def _lines_of_literal(literal: str, line: int) -> list[Piece]:
    """Return the lines of what a literal such as `r\"\"\"…\"\"\"` stands for."""
    prefix = re.match(r"[A-Za-z]*", literal)
    is_raw = prefix is not None and "r" in prefix[0].lower()
    # A physical line of the literal, read by itself, stands for what it adds to the value.
    pieces: list[Piece] = []
    quote = '"""' if literal.rstrip().endswith('"""') else "'''" if literal.rstrip().endswith("'''") else ""
    if not quote:
        value = ast.literal_eval(literal)
        return [Piece(value if isinstance(value, str) else value.decode("utf-8", "replace"), line)]
    body = literal[literal.index(quote) + 3 : -3]
    for number, part in enumerate(_lines_of(body)):
        if "\\" not in part or is_raw:
            pieces.append(Piece(part, line + number))
            continue
        escaped = re.sub(r"(?<!\\)((?:\\\\)*)\"", r'\1\\"', part)
        value = ast.literal_eval(f'"""{escaped}"""')
        pieces.append(Piece(value, line + number))
    return pieces


def constants_in(texts: Sequence[KernelText]) -> dict[str, HostNumber]:
    """Return the numbers that kernels can have as constants of the file, by name.

    A name is one if the program inserts one number of that name, wherever it inserts it, as a word of its own
    outside of directives and quotes, and if no text has the word otherwise.
    """
    found: dict[str, HostNumber] = {}
    refused: set[str] = set()
    words: set[str] = set()
    for text in texts:
        around = "".join(piece.text if not piece.name else "\0" for piece in text.pieces)
        words.update(re.findall(r"[A-Za-z_]\w*", around))
        before = ""
        for place, piece in enumerate(text.pieces):
            if piece.name and piece.number:
                after = "".join(inner.text for inner in text.pieces[place + 1 : place + 3])
                line = before.rpartition("\n")[2]
                is_word = not re.search(r"[\w.$]$", line) and not re.match(r"[\w.]", after)
                is_code = is_word and "#" not in line and '"' not in line
                same = found.setdefault(piece.name, piece.number).value == piece.number.value
                if not (is_code and same):
                    refused.add(piece.name)
            before = (before + piece.text)[-400:]
    return {name: found[name] for name in found.keys() - refused - words - CPP_WORDS - _NAMES_OF_CUDAMM}


def defined_numbers(texts: Sequence[KernelText]) -> dict[str, str]:
    """Return the macro or constant that texts define as a number of the program, by the number's C++."""
    found: dict[str, str] = {}
    for text in texts:
        before = ""
        for place, piece in enumerate(text.pieces):
            line = before.rpartition("\n")[2]
            defined = re.search(r"(?:#\s*define|\bint|\bconstexpr)\s+(\w+)\s*(?:=\s*)?\(?$", line)
            after = "".join(inner.text for inner in text.pieces[place + 1 : place + 3])
            if piece.number and defined and re.match(r"\s*(?:\)?\s*(?:\n|;|//|/\*)|$)", after):
                found.setdefault(piece.number.text, defined[1])
            before = (before + piece.text)[-400:]
    return found


def placed(texts: Sequence[tuple[KernelText, Mapping[str, HostNumber]]], program: str) -> Placement:
    """Return C++ source with the texts of kernels in it, each line with the number that it has in its file.

    Args:
        texts: with the constants of each.
        program: name of the Python file.
    """
    placement = Placement(program)
    for text, constants in texts:
        definitions = [f"static constexpr int {name} = {number.value};" for name, number in constants.items()]
        if definitions:
            placement.add(" ".join(definitions) + "\n", 0, "")
        for piece in text.pieces:
            placement.add(piece.name if piece.name in constants else piece.text, piece.line, piece.file)
        placement.add("\n", 0, "")
    return placement


class Placement:
    """C++ source whose lines have the numbers that they have in the files of a program."""

    MOST_BLANK = 3000
    """Number of blank lines above which a directive is written instead."""

    def __init__(self, program: str) -> None:
        self.parts: list[str] = []
        self._program = program
        self._file, self._line = "", 1
        self._is_line_begun = False

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
        if file == self._file and 0 <= blank <= self.MOST_BLANK:
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
