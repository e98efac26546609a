"""Compile a batch of programs on all cores, each program once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, as_completed
from typing import Any, TypeVar

from cudamm.compile.process_group import CORES, thread_pool
from cudamm.compile.program import Program
from cudamm.errors import KernelError

Compiled = TypeVar("Compiled")


def compile_all(
    programs: Iterable[Program],
    compile_one: Callable[[Program], Compiled],
    progress: Callable[[str], None] = lambda done: None,
) -> dict[Program, Compiled | KernelError]:
    """Compile each distinct program; return each program's result, or the error that it failed with.

    Args:
        progress: called with the method's name after each compiled program.
    """
    compiled: dict[Program, Compiled | KernelError] = {}
    with compile_each(programs, compile_one) as compiled_programs:
        for program, result in compiled_programs:
            compiled[program] = result
            progress(program.method.name)
    return compiled


@contextlib.contextmanager
def compile_each(
    programs: Iterable[Program], compile_one: Callable[[Program], Compiled], threads: int = CORES
) -> Iterator[Iterator[tuple[Program, Compiled | KernelError]]]:
    """Yield an iterator over the distinct programs, each with its result, or its error, once it is compiled.

    After the `with` block no compiler runs. A generator with such a block has to be closed, as
    for `thread_pool`.
    """
    with thread_pool(threads) as pool:
        futures = {pool.submit(compile_one, program): program for program in dict.fromkeys(programs)}
        yield ((futures[future], _result_of(future)) for future in as_completed(futures))


def _result_of(future: Future[Any]) -> Any:
    """Return the result of a compilation, or the KernelError with which it ended."""
    try:
        return future.result()
    except KernelError as error:
        return error
