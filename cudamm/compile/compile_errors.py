"""Say in the user's terms why a kernel does not compile for the CPU device."""

from __future__ import annotations

import re

from cudamm.compile.compiler_process import CompileError
from cudamm.compile.program import Program
from cudamm.kernels.device_code import host_function_line

_UNDECLARED = re.compile(r"error: [‘'](\w+)[’'] was not declared in this scope")
_NOT_IN_STD = re.compile(r"error: [‘'](cout|cerr|vector|string|endl)[’'] is not a member of [‘']std[’']")
_LIBRARY = re.compile(r"(?:cuda|cublas|curand|cusparse)[A-Z]\w*|malloc|free")


def in_users_terms(failure: CompileError, program: Program) -> CompileError:
    """Return a failure that names the function of the host that the kernel uses; else the failure itself."""
    message = str(failure)
    for pattern, explain in ((_UNDECLARED, _about_function), (_NOT_IN_STD, _about_std)):
        found = pattern.search(message)
        explanation = explain(found[1], program) if found else ""
        if found and explanation:
            end = re.search(r" \(and \d+ more\)$", message)
            text = message[: found.start()] + explanation + (end[0] if end else "")
            return CompileError(text, failure.output)
    return failure


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
