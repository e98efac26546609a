"""Compiling a batch of programs over all cores, each one once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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
    distinct = list(dict.fromkeys(programs))
    compiled: dict[Program, Compiled | KernelError] = {}
    pool = ThreadPoolExecutor(os.cpu_count() or 1)
    try:
        futures = {pool.submit(compile_one, p): p for p in distinct}
        for future in as_completed(futures):
            try:
                compiled[futures[future]] = future.result()
            except KernelError as error:
                compiled[futures[future]] = error
            progress(futures[future].method.name)
    finally:
        # After Ctrl-C nothing that has not begun is begun.
        pool.shutdown(cancel_futures=True)
    return compiled
