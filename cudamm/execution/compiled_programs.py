"""Programs compiled without being run: what became of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from cudamm.compile.compile_all import compile_all
from cudamm.compile.program import Program
from cudamm.errors import KernelError
from cudamm.execution.prepare import check_user_kernels

Made = TypeVar("Made")


def compile_programs(
    programs: Sequence[Program], compile_one: Callable[[Program], Made], tell: Callable[[str], None]
) -> list[Made | KernelError]:
    """Return what each program was compiled to, or why it was not, in order.

    Args:
        tell: is called with the name of each program that is done.

    Raises:
        UsageError: a user's kernel does not compile at all.
    """
    made = compile_all(programs, compile_one, tell)
    check_user_kernels(list(made.items()))
    return [made[program] for program in programs]


def refuse_failures(
    titles: Sequence[str], programs: Sequence[Program], compiled: Sequence[Made | KernelError]
) -> None:
    """Raise KernelError, or UsageError for a user's file, for the first program that does not compile."""
    for title, program, made in zip(titles, programs, compiled, strict=True):
        check_user_kernels([(program, made)])
        if isinstance(made, KernelError):
            raise KernelError(f"{title}: {made}")
