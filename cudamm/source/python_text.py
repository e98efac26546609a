"""The text of a kernel as a Python program builds it; each part knows its file and its line."""

from __future__ import annotations

import ast
import itertools
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cudamm.source.c_text import without_comments
from cudamm.source.included_files import line_directive

LONGEST_TEXT = 1 << 21
"""Number of characters of a text above which it is not built."""

LARGEST_CONSTANT = 2**31 - 1

_CONVERSION = re.compile(r"%(?:\((\w+)\))?([-+ #0]*\d{0,3}(?:\.\d{1,2})?)[hlL]?([diouxXeEfFgGcrsa%])")
_SPECIFICATION = re.compile(r"[-<>^+ 0]{0,2}\d{0,3}(?:\.\d{1,2})?[bcdeEfFgGosxX]?")
_DOLLAR = re.compile(r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_CPP_WORDS = """
alignas asm auto bool break case catch char class const constexpr continue default delete do double else enum
explicit export extern false float for friend goto if inline int long namespace new operator private protected
public register return short signed sizeof static struct switch template this throw true try typedef typename
union unsigned using virtual void volatile while
"""
CPP_WORDS = frozenset(_CPP_WORDS.split())

_NAMES_OF_CUDAMM = frozenset({"A", "B", "C", "element", "accumulator", "result"})


_MARK = re.compile("\ue000(\\d+),([^\ue001]*)\ue001|\ue002(\\w*),([^,]*),(\\w*)\ue003")
"""What a marked text contains: the line and the file of what follows, or a number: name, digits, variable."""


@dataclass(frozen=True)
class HostNumber:
    """A number of the program."""

    text: str  # C++ for it, over the variables of the program
    value: int | float | None = None  # unless the program's user chooses another; None if not known
    is_whole: bool = True  # False for floating-point numbers
    dtype: str = field(
        default="", compare=False
    )  # `int` or `float` of Python, or NumPy's; empty if not known
    bytes_of: str = field(default="", compare=False)  # type of the elements, if it is an array's `nbytes`


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
    """A text with marks, which Python's own operations on texts keep."""

    marked: str

    def __str__(self) -> str:
        """Return the text as the program has it."""
        return _MARK.sub(lambda mark: mark[4] or "", self.marked)

    @property
    def pieces(self) -> list[Piece]:
        """Return the parts of the text between its marks, and its numbers."""
        found: list[Piece] = []
        line, file, end = 0, "", 0
        for mark in [*_MARK.finditer(self.marked), None]:
            text = self.marked[end : mark.start() if mark else None]
            found += [Piece(text, line, file)] if text else []
            line += text.count("\n") if line else 0
            if mark and mark[1]:
                line, file = int(mark[1]), mark[2]
            elif mark:
                number = HostNumber(mark[5], ast.literal_eval(mark[4]))
                found.append(Piece(mark[4], line, file, mark[3], number))
            end = mark.end() if mark else end
        return found

    def with_replaced(self, old: str, new: KernelText) -> KernelText:
        """Return a text in which another one stands for each `old`."""
        words = re.escape(old).replace("\\\n", "\n(?:\ue000[^\ue001]*\ue001)?")
        inserted = _inserted_text(new, name=old)
        replaced = re.sub(
            f"{_MARK.pattern}|({words})", lambda found: inserted if found[6] else found[0], self.marked
        )
        return KernelText(replaced) if old else self


def plain(text: str, lines: Sequence[int] = (), file: str = "") -> KernelText:
    """Return a text whose lines have these numbers in a file; those of the program have no file."""
    text = re.sub("[\ue000-\ue003]", "", text)
    places = [*lines, *[each for each in lines[-1:] for _ in range(text.count("\n"))]]
    name = re.sub(r"[^\w./ -]", "_", file)  # of which no template has a place
    parts = zip(_lines_of(text), places, strict=False)
    return KernelText("".join(f"\ue000{line},{name}\ue001{part}" for part, line in parts) if lines else text)


def number_text(number: HostNumber, name: str = "") -> KernelText | None:
    """Return the digits of a number; None if its value is not known.

    Args:
        number: the number.
        name: of the place where a template has it; empty for the name of its variable.
    """
    if number.value is None:
        return None
    variable = number.text if re.fullmatch(r"[A-Za-z_]\w*", number.text, re.ASCII) else ""
    is_constant = isinstance(number.value, int) and 0 <= number.value <= LARGEST_CONSTANT
    return KernelText(f"\ue002{(name or variable) if is_constant else ''},{number.value},{variable}\ue003")


def _inserted_text(value: object, specification: str = "", name: str = "") -> str:
    """Return what a template has for a value; ValueError if it is not known.

    Args:
        value: the value.
        specification: of its format, beginning with `%` for that operator; empty for the value as it is.
        name: of the place; a number is known by it.
    """
    if not isinstance(value, HostNumber | KernelText):
        raise ValueError("the value is not known")
    if specification:
        raw = value.value if isinstance(value, HostNumber) else str(value)
        if raw is None:
            raise ValueError("the number is not known")
        return specification % (raw,) if specification[0] == "%" else format(raw, specification)
    name = name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else ""
    digits = str(value).strip() if isinstance(value, KernelText) else ""
    mark = _MARK.fullmatch(value.marked) if isinstance(value, KernelText) else None
    if name and re.fullmatch(r"[0-9]{1,9}", digits) and (not mark or mark[3]):
        value = HostNumber(mark[5] if mark else digits, int(digits))
    text = number_text(value, name) if isinstance(value, HostNumber) else value
    if text is None:
        raise ValueError("the number is not known")
    return text.marked


def filled(template: KernelText, kind: str, values: Mapping[str, object]) -> KernelText | None:
    """Return a template with its values; None if it is not known.

    Args:
        template: the text with places for values.
        kind: `%` for the operator, `{` for `format`, `$` for `string.Template`.
        values: by their keys; those without a key by their places, as `"0"`.
    """
    places = itertools.count()
    longest = max(
        (len(value.marked) for value in values.values() if isinstance(value, KernelText)), default=0
    )
    if template.marked.count(kind) * longest > LONGEST_TEXT:
        return None

    def percent(found: re.Match[str]) -> str:
        key, form, conversion = found.groups()
        if conversion == "%":
            return "%"
        value = values.get(key or str(next(places)))
        is_whole = isinstance(value, HostNumber) and isinstance(value.value, int)
        is_plain = not form and (conversion in "sr" or (conversion in "diu" and is_whole))
        return _inserted_text(value, "" if is_plain else f"%{form}{conversion}", key or "")

    def dollar(found: re.Match[str]) -> str:
        key = found[2] or found[3] or ""
        return _inserted_text(values.get(key), "", key) if key else "$"

    def braces() -> Iterator[str]:
        for literal, key, specification, conversion in string.Formatter().parse(template.marked):
            yield literal
            if key is not None:
                if conversion == "a" or re.search(r"\W", key):
                    raise ValueError(f"{key}: a format that is not followed")
                yield braced(values.get(key or str(next(places))), specification or "", key)

    try:
        if kind == "%":
            return KernelText(_CONVERSION.sub(percent, template.marked))
        if kind == "$":
            return KernelText(_DOLLAR.sub(dollar, template.marked))
        return KernelText("".join(braces()))
    except (ValueError, TypeError, OverflowError):
        return None


def braced(value: object, specification: str, name: str = "") -> str:
    """Return what a place in braces has for a value; ValueError if that is not known."""
    if not _SPECIFICATION.fullmatch(specification):
        raise ValueError(f"{specification}: a format that is not followed")
    return _inserted_text(
        value, "" if specification in ("d", "s") else specification, "" if name.isdigit() else name
    )


def is_certainly_python_3(tree: ast.Module) -> bool:
    """Return whether a program has what Python 2 has not, or the division of Python 3."""
    for node in ast.walk(tree):
        match node:
            case ast.JoinedStr() | ast.AnnAssign() | ast.NamedExpr() | ast.MatMult() | ast.Nonlocal():
                return True
            case ast.arg(annotation=ast.expr()) | ast.arguments(kwonlyargs=[_, *_]):
                return True
            case ast.ImportFrom(module="__future__", names=names):
                if any(each.name == "division" for each in names):
                    return True
            case ast.Call(func=ast.Name(id="print")) if node.keywords or len(node.args) != 1:
                return True
            case ast.Call(func=ast.Attribute(attr="default_rng")):  # of a NumPy for Python 3 only
                return True
    return False


def lines_of_literal(node: ast.expr, lines: Sequence[str]) -> list[int]:
    """Return the number of each line of a string that the program's text has.

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
    return numbers


def _lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _inserted(text: KernelText) -> Iterator[tuple[Piece, str, str, int]]:
    """Yield the numbers that the program inserts.

    Each comes with its line before it, the text after it, and the number of braces that are open there.
    """
    before, pieces, depth = "", text.pieces, 0
    for place, piece in enumerate(pieces):
        if piece.number:
            after = "".join(each.text for each in pieces[place + 1 : place + 3])
            yield piece, before.rpartition("\n")[2], after, depth
        before = (before + piece.text)[-400:]
        code = without_comments(re.sub(r'extern\s*"C"\s*\{', "", piece.text))
        depth = max(depth + code.count("{") - code.count("}"), 0)


def constants_in(texts: Sequence[KernelText]) -> dict[str, HostNumber]:
    """Return the numbers that kernels can have as constants of the file, by name.

    A name is one if the program inserts one number of that name, wherever it inserts it, as a word of its own
    outside of directives other than `#pragma unroll` and of quotes, and if no text has the word otherwise.
    """
    found: dict[str, HostNumber] = {}
    refused = set(CPP_WORDS | _NAMES_OF_CUDAMM)
    for text in texts:
        around = "".join("\0" if piece.name else piece.text for piece in text.pieces)
        refused.update(re.findall(r"[A-Za-z_]\w*", around))
        for piece, line, after, _ in _inserted(text):
            code = re.sub(r"^\s*#\s*pragma\s+unroll\b", "", line)
            is_code = not re.search(r"[\w.$]$|[#\"]", code) and not re.match(r"[\w.]", after)
            if piece.name and piece.number:
                same = found.setdefault(piece.name, piece.number).value == piece.number.value
                refused |= set() if is_code and same else {piece.name}
    return {name: number for name, number in found.items() if name not in refused}


def defined_numbers(texts: Sequence[KernelText]) -> dict[str, str]:
    """Return the macro or constant that texts define as a number of the program, by the number's C++.

    A variable of a kernel is not among them: the launch does not see it.
    """
    found: dict[str, str] = {}
    for piece, line, after, depth in (each for text in texts for each in _inserted(text)):
        of_file = r"#\s*define" if depth else r"#\s*define|\bint|\bconstexpr"
        defined = re.search(rf"(?:{of_file})\s+(\w+)\s*(?:=\s*)?\(?$", line)
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
