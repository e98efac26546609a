"""What a Dask worker of cudamm does for its clients: it works on the cases of one client at a time.

The work uses cudamm's own worker process. The Dask worker itself never opens a device: a kernel that crashes
or hangs costs its row, as on one machine.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import pickle
import platform
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cudamm
from cudamm.errors import DeviceLostError
from cudamm.execution.portable_case import received
from cudamm.execution.process_protocol import Answer, Failure, Success, answer_to

if TYPE_CHECKING:
    from cudamm.execution.case import Case
    from cudamm.execution.executor import Work
    from cudamm.execution.worker_executor import WorkerExecutor

NAME = "cudamm"
"""Name under which a Dask worker has its `ClusterService`, and tells the scheduler its `WorkerFacts`."""

ANSWER_S = 1.0
"""Time after which a request is answered with what the work has found so far, in seconds."""

ABANDONED_S = 20.0
"""Time without a request of the client after which its work stops before the next step, in seconds."""


@dataclass(frozen=True)
class StartWork:
    """Request to begin work for `Executor.carry_out`, after all work that was asked for earlier.

    Attributes:
        cases: cases as `to_send` makes them.
        timeout_s: time limit for a launch, in seconds; None for the default.
    """

    work: Work[Any]
    cases: Sequence[Case]
    timeout_s: float | None


@dataclass(frozen=True)
class GetProgress:
    """Request for what the work of this client has found since the last answer."""


@dataclass(frozen=True)
class StopWork:
    """Request to stop the work of this client, and to free the device's matrices."""


ClusterRequest = StartWork | GetProgress | StopWork


@dataclass(frozen=True)
class WorkProgress:
    """Answer to a request: the progress of the client's work since the last answer.

    Attributes:
        values: what the work has yielded.
        doing: the description of its current step; empty before the first one.
        ended: how the work ended; None if it goes on.
    """

    values: list[Any]
    doing: str
    ended: Answer | None


@dataclass(frozen=True)
class WorkerFacts:
    """What a Dask worker tells the scheduler when it joins, as plain texts.

    Attributes:
        version: version of cudamm.
        sources: a hash of cudamm's source files.
        kind: `gpu` or `cpu`.
        device: name of the device.
        driver: version of the GPU's driver; empty for a processor.
        compiler: the compiler that cudamm finds on the host; empty if there is none.
        processor: a hash of the processor's model and features, for which host code is compiled.
    """

    version: str
    sources: str
    python: str
    host: str
    kind: str
    device: str
    driver: str
    compiler: str
    processor: str


def facts_of(kind: str, device: str, driver: str, compiler: str) -> WorkerFacts:
    """Return the facts of this process on this host, with a device."""
    return WorkerFacts(
        cudamm.__version__, source_hash(), platform.python_version(), socket.gethostname(),
        kind, device, driver, compiler, processor_hash(),
    )  # fmt: skip


@functools.cache
def source_hash() -> str:
    """Return a hash of cudamm's source files: two versions in development may have the same number."""
    folder = Path(cudamm.__file__).parent
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()[:16]


@functools.cache
def processor_hash() -> str:
    """Return a hash of the processor's model and features."""
    from cudamm.compile.host_compiler import processor

    return hashlib.sha256(processor().encode()).hexdigest()[:16]


class _StartedWork:
    """Work of one client that runs on the device, or waits for it."""

    def __init__(self, request: StartWork) -> None:
        self._request = request
        self._values: deque[Any] = deque()
        self._doing = ""
        self._is_stopped = False
        self._last_asked = time.monotonic()

    def run(self, executor: WorkerExecutor) -> Answer:
        """Do the work in this thread; return how it ended."""
        executor.timeout_s = self._request.timeout_s
        return answer_to(functools.partial(self._run, executor))

    def _run(self, executor: WorkerExecutor) -> None:
        self._end_if_stopped()
        cases = [received(case) for case in self._request.cases]
        for value in self._request.work(executor, cases, self._report):
            self._values.append(value)
            self._end_if_stopped()

    def _report(self, doing: str) -> None:
        self._doing = doing
        self._end_if_stopped()

    def _end_if_stopped(self) -> None:
        """Raise DeviceLostError if the work is stopped: a client that comes back must not think it done."""
        if self._is_stopped or self.is_abandoned:
            raise DeviceLostError(f"the work was stopped: no request had come for {ABANDONED_S:g} s")

    @property
    def is_abandoned(self) -> bool:
        """Return whether the client has not asked for too long."""
        return time.monotonic() - self._last_asked > ABANDONED_S

    def stop(self) -> None:
        """Have the work stop before its next step."""
        self._is_stopped = True

    async def progress(self, running: asyncio.Future[Answer]) -> WorkProgress:
        """Return the progress since the last call, when the work ends or after `ANSWER_S`.

        Args:
            running: the call of `run`.
        """
        self._last_asked = time.monotonic()
        await asyncio.wait([running], timeout=ANSWER_S)
        ended = running.result() if running.done() else None
        values = [self._values.popleft() for _ in range(len(self._values))]
        return WorkProgress(values, self._doing, ended)


class ClusterService:
    """The work of all clients on one device, one after the other."""

    def __init__(self, executor: WorkerExecutor) -> None:
        self._executor = executor
        self._works: dict[str, tuple[_StartedWork, asyncio.Future[Answer]]] = {}
        self._thread = ThreadPoolExecutor(1)

    async def answer(self, session: str, request: bytes) -> bytes:
        """Return the pickled answer to a pickled request.

        Args:
            session: names the client, which has one work at a time.
        """
        asked: ClusterRequest = pickle.loads(request)  # noqa: S301 - of a client, whom Dask trusts
        if isinstance(asked, StopWork):
            return pickle.dumps(self._stop(session))
        if isinstance(asked, StartWork):
            self._forget_abandoned()
            work = _StartedWork(asked)
            self._works[session] = work, self._in_thread(functools.partial(work.run, self._executor))
        if session not in self._works:
            lost = DeviceLostError("its Dask worker does not know this work (any more)")
            return pickle.dumps(WorkProgress([], "", Failure(lost)))
        work, running = self._works[session]
        progress = await work.progress(running)
        if progress.ended is not None:
            self._works.pop(session, None)
        return pickle.dumps(progress)

    def _forget_abandoned(self) -> None:
        for session, (work, running) in list(self._works.items()):
            if running.done() and work.is_abandoned:
                del self._works[session]

    def _stop(self, session: str) -> WorkProgress:
        if session in self._works:
            work, _ = self._works.pop(session)
            work.stop()
        self._in_thread(functools.partial(answer_to, self._executor.release))
        return WorkProgress([], "", Success(None))

    def _in_thread(self, function: Callable[[], Answer]) -> asyncio.Future[Answer]:
        return asyncio.get_running_loop().run_in_executor(self._thread, function)

    def close(self) -> None:
        """Kill the worker process."""
        self._executor.close()
        self._thread.shutdown(wait=False, cancel_futures=True)


async def perform(session: str, request: bytes, dask_worker: Any) -> bytes:
    """Answer a request in a Dask worker, to which Dask sends the name of this function."""
    service: ClusterService = dask_worker.extensions[NAME]
    return await service.answer(session, request)
