"""Compile programs that are not run, as `cudamm show` does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cudamm.compile.compile_all import compile_all
from cudamm.compile.program import Program
from cudamm.errors import KernelError
from cudamm.execution.prepare import check_user_kernels

Compiled = TypeVar("Compiled")


def compile_programs(
    programs: Sequence[Program],
    compile_one: Callable[[Program], Compiled],
    report_progress: Callable[[str], None],
) -> list[Compiled | KernelError]:
    """Compile programs; return the result of each, or its error, in the order of the programs.

    Args:
        report_progress: called with the method's name after each compiled program.

    Raises:
        UsageError: every program is of a user's kernel, and none compiles.
    """
    results = compile_all(programs, compile_one, report_progress)
    check_user_kernels(list(results.items()))
    return [results[program] for program in programs]


def refuse_failures(
    titles: Sequence[str], programs: Sequence[Program], compiled: Sequence[Compiled | KernelError]
) -> None:
    """Raise KernelError, or UsageError for a user's file, for the first program that does not compile."""
    for title, program, result in zip(titles, programs, compiled, strict=True):
        check_user_kernels([(program, result)])
        if isinstance(result, KernelError):
            raise KernelError(f"{title}: {result}")
