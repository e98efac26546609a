"""Compiling a batch of programs over all cores, each one once."""

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
    """Compile each distinct program; a failure is kept in its place, for the rows it concerns.

    Args:
        progress: called with a method's name whenever one of its programs is done.
    """
    compiled: dict[Program, Compiled | KernelError] = {}
    for program, made in compile_each(programs, compile_one):
        compiled[program] = made
        progress(program.method.name)
    return compiled


def compile_each(
    programs: Iterable[Program], compile_one: Callable[[Program], Compiled]
) -> Iterator[tuple[Program, Compiled | KernelError]]:
    """Compile each distinct program, and give out each as soon as it is done; begins when first asked."""
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        futures = {pool.submit(compile_one, program): program for program in dict.fromkeys(programs)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except KernelError as error:
                yield futures[future], error
    finally:
        # After Ctrl-C nothing that has not begun is begun.
        pool.shutdown(cancel_futures=True)
