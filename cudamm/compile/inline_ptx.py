"""Translate inline PTX (`asm` statements) to C++, for kernels on the CPU device.

The translation works on preprocessed text, in which macros have been expanded and strings are whole. An
`asm` statement becomes a C++ block: each register is a variable, and each instruction is one statement. Loads
and stores become those of C++, in the line of the `asm` statement, so `trace` and `check` record them.

Source: NVIDIA's “Inline PTX Assembly in CUDA”.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from cudamm.compile.ptx_instructions import (
    REGISTER_TYPES,
    Scope,
    UnknownInstructionError,
    translated_instruction,
)
from cudamm.compile.runtime_headers import RUNTIME
from cudamm.errors import KernelError
from cudamm.source.c_text import without_comments_and_literals

_STRING = r'R"(?P<end>[^()\\\s]{0,16})\(.*?\)(?P=end)"|"(?:\\.|[^"\\\n])*"'
_SCANNED = re.compile(
    rf"(?P<marker>^#[^\n]*)|(?P<string>{_STRING})|'(?:\\.|[^'\\\n])*'|(?<![\w.])\d(?:'?[\w.])*"
    r"|(?P<asm>(?<!\w)(?:asm|__asm__|__asm)(?!\w)(?:\s+(?:volatile|__volatile__|__volatile|inline))*\s*\()",
    re.DOTALL | re.MULTILINE,
)
_MARKER = re.compile(r"^#[^\n]*", re.MULTILINE)
_LITERAL = re.compile(_STRING, re.DOTALL)

_CONSTRAINTS = {
    "h": "unsigned short", "r": "unsigned", "l": "unsigned long long", "f": "float", "d": "double",
    "b": "unsigned char", "n": "", "i": "",
}  # fmt: skip
"""The C++ type of an operand; empty for a constant."""

STILL_TAKEN = "commands that compile with nvcc, and all commands on a GPU, take the kernel"
"""End of a message about a kernel that the CPU device refuses."""


def has_inline_ptx(text: str) -> bool:
    """Return whether C++ text may contain an `asm` statement."""
    return re.search(r"\b(?:asm|__asm__|__asm)\b", without_comments_and_literals(text)) is not None


def with_ptx_translated(text: str) -> str:
    """Return preprocessed C++ text with its `asm` statements translated; lines keep their numbers.

    An instruction that has no translation becomes a call of a function that no program may call, so that the
    compiler reports it only if the kernel uses it.

    Raises:
        KernelError: an `asm` statement is not written as nvcc reads it.
    """
    parts, position, in_other_header, number = list[str](), 0, False, 0
    for found in _SCANNED.finditer(text):
        if found.start() < position:
            continue
        if found["marker"] is not None:
            # “Preprocessor Output” in GCC's manual: the flag 3 marks a system header.
            in_other_header = (
                "3" in found["marker"].rpartition('"')[2].split() or str(RUNTIME) in found["marker"]
            )
        elif found["asm"] is not None and not in_other_header:
            number += 1
            try:
                end = _closing(text, found.end())
                statement = _translated_statement(text[found.end() : end - 1], number)
            except _MalformedError as error:
                place = place_in_preprocessed(text, found.start())
                raise KernelError(f"does not compile: {place}: {error} (inline PTX)") from None
            parts += [text[position : found.start()], statement]
            # Line ends and markers of the statement follow it.
            parts.append("".join(re.findall(r"\n(?:#[^\n]*)?", text[found.start() : end])))
            position = end
    return "".join([*parts, text[position:]])


class _MalformedError(Exception):
    """An `asm` statement that nvcc would not read."""


def place_in_preprocessed(text: str, position: int) -> str:
    """Return the file and the line of a place in preprocessed text."""
    markers = list(re.finditer(r'^# (\d+) "([^\n]*)"[\d ]*$', text[:position], re.MULTILINE))
    if not markers:
        return "the kernel"
    last = markers[-1]
    return f"{last[2]}:{int(last[1]) + text.count(chr(10), last.end(), position) - 1}"


def _closing(text: str, position: int) -> int:
    """Return the place after the bracket that closes the one before `position`."""
    depth = 1
    for found in re.compile(rf"{_STRING}|'(?:\\.|[^'\\\n])*'|[()]", re.DOTALL).finditer(text, position):
        depth += (found[0] == "(") - (found[0] == ")")
        if not depth:
            return found.end()
    raise _MalformedError("an asm statement has no closing bracket")


@dataclass(frozen=True)
class _Operand:
    """An operand of an `asm` statement: its constraint without modifiers, its expression, and its type."""

    constraint: str
    expression: str
    is_output: bool
    is_read: bool

    @property
    def type(self) -> str:
        return _CONSTRAINTS[self.constraint]


def _translated_statement(content: str, number: int) -> str:
    """Return the C++ block of an `asm` statement, given what is between its brackets."""
    template, operands = _parsed(_MARKER.sub("", content))
    registers = {f"%{i}": (f"cudamm_{i}", operand.type) for i, operand in enumerate(operands)}
    scope = Scope(registers, number)
    before, after = [], []
    for i, operand in enumerate(operands):
        expression = " ".join(operand.expression.split())
        if not operand.type:
            before.append(f"const auto cudamm_{i} = ({expression});")
            scope.registers[f"%{i}"] = (f"cudamm_{i}", "constant")
        elif operand.is_read:
            before.append(f"{operand.type} cudamm_{i} = cudamm::ptx::in<{operand.type}>({expression});")
        else:
            before.append(f"{operand.type} cudamm_{i};")
        if operand.is_output:
            after.append(f"cudamm::ptx::out({expression}, cudamm_{i});")
    body = _translated_body(template, scope)
    return " ".join(["do {", *before, body, *after, "} while (0)"])


def _parsed(content: str) -> tuple[str, list[_Operand]]:
    """Return the PTX text and the operands of an `asm` statement."""
    texts: list[str] = []
    operands: list[_Operand] = []
    section, position = 0, 0
    while position < len(content):
        character = content[position]
        literal = _LITERAL.match(content, position)
        if character == ":":
            section += 1
            position += 1
        elif literal is None:
            if not character.isspace() and character != ",":
                shown = content[position:][:40].strip()
                raise _MalformedError(f"an asm statement contains {shown!r} in the place of a string")
            position += 1
        elif section in (1, 2):
            constraint = "".join(_text_of(literal))
            bracket = re.compile(r"\s*\(").match(content, literal.end())
            if bracket is None or constraint.lstrip("=+&") not in _CONSTRAINTS:
                raise _MalformedError(f'"{constraint}" is no kind of operand')
            position = _closing(content, bracket.end())
            operands.append(
                _Operand(
                    constraint.lstrip("=+&"),
                    content[bracket.end() : position - 1],
                    is_output=constraint[:1] in ("=", "+"),
                    is_read=constraint[:1] != "=",
                )
            )
        else:
            if section == 0:
                texts.append(_text_of(literal))
            position = literal.end()
    return "".join(texts), operands


def _text_of(literal: re.Match[str]) -> str:
    """Return the text that a C++ string literal stands for."""
    if literal[0].startswith("R"):
        end = literal["end"]
        return literal[0][len(end) + 3 : -len(end) - 2]
    escapes = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
    return re.sub(r"\\(.)", lambda m: escapes.get(m[1], m[1]), literal[0][1:-1], flags=re.DOTALL)


_ITEM = re.compile(
    r"\s*(?:(?P<brace>[{}])|(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)"
    r"|(?P<statement>(?:[^{};]|\{[^{};]*\})+)(?:;|(?=\}|\Z))|;)"
)


def _items(template: str) -> Iterator[re.Match[str]]:
    """Yield the braces, labels and statements of PTX text."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL).strip()
    position = 0
    while position < len(text):
        item = _ITEM.match(text, position)
        if item is None or item.end() == position:
            raise _MalformedError(f"{text[position:][:40]!r} is no instruction")
        yield item
        position = item.end()


def _translated_body(template: str, scope: Scope) -> str:
    """Return the C++ statements of PTX text."""
    parts: list[str] = []
    outer: list[dict[str, tuple[str, str]]] = []
    for item in _items(template.replace("%%", "%")):
        if item["brace"] == "{":
            outer.append(dict(scope.registers))
            parts.append("{")
        elif item["brace"] == "}":
            scope.registers = outer.pop() if outer else scope.registers
            parts.append("}")
        elif item["label"]:
            parts.append(f"{scope.label(item['label'])}: ;")
        elif item["statement"] and item["statement"].strip():
            parts.append(_statement(" ".join(item["statement"].split()), scope))
    return " ".join(parts)


def _statement(text: str, scope: Scope) -> str:
    """Return the C++ text of a declaration or an instruction of PTX."""
    if text.startswith(".reg"):
        return _registers(text, scope)
    guard = _GUARD.match(text)
    opcode, _, rest = text[guard.end() if guard else 0 :].partition(" ")
    try:
        statement = translated_instruction(opcode, [o.strip() for o in _OPERAND.findall(rest)], scope)
        return f"if ({guard[1]}{scope.value(guard[2], 'bool')}) {{ {statement} }}" if guard else statement
    except UnknownInstructionError:
        kind = "tensor core " if re.match(r"w?mma|wgmma|ldmatrix|tcgen", opcode) else ""
        return _unsupported(f"{kind}instruction {opcode}", scope)


_GUARD = re.compile(r"@(!?)\s*([\w%$]+)\s+")
_OPERAND = re.compile(r"(?:[^,\[{]|\[[^\]]*\]|\{[^}]*\})+")


def _unsupported(what: str, scope: Scope) -> str:
    """Return a call that no program may make.

    In a template that is not used, or behind a constant condition, it does no harm.
    """
    shown = re.sub(r"[^\w.: <>]", "", what)[:80]
    function = f"cudamm_unsupported_{scope.number}_{re.sub(r'[^a-zA-Z0-9]', '_', shown)}"
    message = f"the CPU device has no {shown} (inline PTX): {STILL_TAKEN}"
    return f'{{ extern void {function}() __attribute__((error("{message}"))); {function}(); }}'


def _registers(text: str, scope: Scope) -> str:
    """Declare the registers of a `.reg` statement."""
    declared = re.fullmatch(r"\.reg\s*\.(\w+)\s+(.*)", text)
    names: list[str] = []
    for name in declared[2].split(",") if declared else []:
        several = re.fullmatch(r"([^<]*)<(\d{1,4})>", name.strip())
        names += [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name.strip()]
    if (
        not declared
        or declared[1] not in REGISTER_TYPES
        or not all(re.fullmatch(r"[\w$%]+", name) for name in names)
    ):
        return _unsupported(f"register {text.removeprefix('.reg').strip()}", scope)
    for name in names:
        scope.registers[name] = ("cudamm_r_" + re.sub(r"\W", "_", name), REGISTER_TYPES[declared[1]])
    return " ".join(f"{REGISTER_TYPES[declared[1]]} {scope.registers[name][0]};" for name in names)
