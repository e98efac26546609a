"""Say in the user's terms why a kernel does not compile."""

from __future__ import annotations

import dataclasses
import re

from cudamm.compile.compiler_process import CompileError
from cudamm.compile.program import Program
from cudamm.source.c_text import without_comments
from cudamm.source.device_code import host_function_line
from cudamm.source.passed_arguments import CUPY, PASSED

_UNDECLARED = re.compile(r"error: [‘'](\w+)[’'] was not declared in this scope")
_NOT_IN_STD = re.compile(r"error: [‘'](cout|cerr|vector|string|endl)[’'] is not a member of [‘']std[’']")
_LIBRARY = re.compile(r"(?:cuda|cublas|curand|cusparse)[A-Z]\w*|malloc|free")


def check_unrolling(program: Program) -> None:
    """Raise CompileError for a macro in `#pragma unroll TILE`, which nvcc does not replace by its number.

    A compiler of the host ignores the directive. CuPy compiles with NVRTC, which replaces the macro.
    """
    if f'{PASSED} = "{CUPY};' in program.method.source:
        return
    if "unroll" not in program.text:
        return
    code = dataclasses.replace(program, text=without_comments(program.text))
    macros = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]", code.text, re.MULTILINE))
    for (file, number), line in code.lines.items():
        found = re.match(r"\s*#\s*pragma\s+unroll\b[\s(]*([A-Za-z_]\w*)", line)
        if found and found[1] in macros:
            raise CompileError(
                f"does not compile: {file}:{number}:{found.start(1) + 1}: nvcc replaces no macros in #pragma "
                f"unroll, so that {found[1]} is undefined there: write its number, or define it by const int "
                f"{found[1]} = …;"
            )


def in_users_terms(failure: CompileError, program: Program) -> CompileError:
    """Return a failure with the source lines of its errors, which names functions of the host."""
    message = str(failure)
    for pattern, explain in ((_UNDECLARED, _about_function), (_NOT_IN_STD, _about_std)):
        found = pattern.search(message)
        explanation = explain(found[1], program) if found else ""
        if found and explanation:
            end = re.search(r" \(and \d+ more\)$", message)
            message = message[: found.start()] + explanation + (end[0] if end else "")
    explained = CompileError(message, failure.output)
    explained.details = _source_at(message.removeprefix("does not compile: "), program)
    explained.all_details = [
        shown for line in failure.output.splitlines() for shown in (line, *_source_at(line, program))
    ]
    return explained


def _source_at(message: str, program: Program) -> list[str]:
    """Return the source line of an error that begins with its place, and a line with a caret; else nothing.

    A compiler itself would look for the source in files that have the names of the parts of the program.
    """
    place = re.match(r"([^:]+):(\d+):(\d+): (?!note)", message)
    text = program.lines.get((place[1], int(place[2]))) if place else None
    if place is None or text is None:
        return []
    caret = " " * (int(place[3]) - 1) + "^"
    return [f"{place[2]:>6} | {text.expandtabs()}", f"{'':6} | {caret}"]


def _about_function(name: str, program: Program) -> str:
    if _LIBRARY.fullmatch(name):
        return f"{name} is a function of the host, which a kernel cannot call"
    line = host_function_line(program.method.source, name)
    return (
        f"{name} is called by the kernel and is a host function: add __device__ (line {line})" if line else ""
    )


def _about_std(name: str, program: Program) -> str:
    return f"std::{name} is of the host, and a kernel cannot use it" + (
        "; it can print with printf" if name in ("cout", "cerr", "endl") else ""
    )
