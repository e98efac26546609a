"""Work on the pieces of a matrix in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def in_threads(work: Callable[..., T], *arguments: Iterable[Any]) -> list[T]:
    """Return the results of `work` for each piece; the arguments are those of `map`.

    After an error, or an interrupt of the main thread, no further piece is begun.
    """
    pieces = list(zip(*arguments, strict=True))
    if len(pieces) == 1:
        return [work(*pieces[0])]
    threads = ThreadPoolExecutor()
    try:
        return list(threads.map(work, *zip(*pieces, strict=True)))
    finally:
        threads.shutdown(cancel_futures=True)
