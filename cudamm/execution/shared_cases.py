"""Cases that the threads of several devices take, each case once."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator

from cudamm.compile.process_group import stop_if_asked
from cudamm.execution.case import Case
from cudamm.kernels.problem import Problem


class SharedCases:
    """Cases that become available one after the other, as they are compiled, for several threads."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._source: Iterator[Case] = iter(cases)
        self._is_exhausted = False
        self._error: BaseException | None = None
        self._waiting: defaultdict[Problem, deque[Case]] = defaultdict(deque)
        self._lock = threading.Lock()

    def of(self, problem: Problem) -> Iterator[Case]:
        """Yield cases of a problem until there are no more; wait for cases that are not compiled yet."""
        while (case := self._next(problem)) is not None:
            yield case

    def of_any_problem(self) -> Iterator[Case]:
        """Yield cases in their order until there are no more."""
        while (case := self._next(None)) is not None:
            yield case

    def may_have_any(self) -> bool:
        """Return whether `of_any_problem` could still yield a case."""
        return not self._is_exhausted or any(list(self._waiting.values()))

    def may_have(self, problem: Problem) -> bool:
        """Return whether `of` could still yield a case."""
        return bool(self._waiting.get(problem)) or not self._is_exhausted

    def put_back(self, cases: Iterable[Case]) -> None:
        """Make cases available again, because the device that took them is lost."""
        with self._lock:
            for case in cases:
                self._waiting[case.problem].append(case)

    def _next(self, problem: Problem | None) -> Case | None:
        """Return a case of a problem, or of any; None if there are no more."""
        with self._lock:
            stop_if_asked()
            while not (waiting := self._waiting_of(problem)):
                case = self._next_of_source()
                if case is None:
                    self._is_exhausted = True
                    return None
                self._waiting[case.problem].append(case)
            return waiting.popleft()

    def _waiting_of(self, problem: Problem | None) -> deque[Case]:
        if problem is not None:
            return self._waiting[problem]
        return next((cases for cases in self._waiting.values() if cases), deque())

    def _next_of_source(self) -> Case | None:
        """Return the next case. Raise the source's error each time: a generator raises it only once."""
        if self._error is not None:
            raise self._error
        try:
            return next(self._source, None)
        except BaseException as error:
            self._error = error
            raise
