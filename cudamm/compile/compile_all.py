"""Compile a batch of programs on all cores, each program once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

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
    for program, result in compile_each(programs, compile_one):
        compiled[program] = result
        progress(program.method.name)
    return compiled


def compile_each(
    programs: Iterable[Program], compile_one: Callable[[Program], Compiled]
) -> Iterator[tuple[Program, Compiled | KernelError]]:
    """Yield each distinct program with its result, or its error, as soon as the program is compiled."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        futures = {pool.submit(compile_one, program): program for program in dict.fromkeys(programs)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except KernelError as error:
                yield futures[future], error
    finally:
        # After Ctrl-C no further compiler is started.
        pool.shutdown(cancel_futures=True)
