"""What a Dask worker of cudamm does: it passes requests to cudamm's own worker process, one at a time.

The Dask worker never opens a device. A kernel that crashes or hangs costs its row, as on one machine.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import pickle
import platform
import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cudamm
from cudamm.errors import CudammError
from cudamm.execution.portable_case import received
from cudamm.execution.process_protocol import (
    Failure,
    FreeBytes,
    LoadUnit,
    MeasureFacts,
    Release,
    RunCase,
    Success,
    Verify,
)

if TYPE_CHECKING:
    from cudamm.execution.case import Case
    from cudamm.execution.worker_executor import WorkerExecutor

NAME = "cudamm"
"""Name under which a Dask worker has its `ClusterService`, and tells the scheduler its `WorkerFacts`."""


@dataclass(frozen=True)
class GetTarget:
    """Request for the device's `Target`."""


@dataclass(frozen=True)
class CaseMissing:
    """Answer to a request that names a case without sending it, if the Dask worker does not have the case."""


ClusterRequest = GetTarget | FreeBytes | MeasureFacts | LoadUnit | Release | RunCase
ClusterAnswer = Success | Failure | CaseMissing


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


class ClusterService:
    """The requests of all clients to one device, one after the other."""

    def __init__(self, executor: WorkerExecutor) -> None:
        self._executor = executor
        self._session = ""
        self._cases: dict[int, Case] = {}
        self._thread = ThreadPoolExecutor(1)

    async def answer(self, session: str, timeout_s: float | None, request: bytes) -> bytes:
        """Return the pickled answer to a pickled request, after all earlier requests.

        Args:
            session: names the client and its numbering of cases.
            timeout_s: time limit for a request that runs a case, in seconds; None for the default.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._answer, session, timeout_s, request)

    def _answer(self, session: str, timeout_s: float | None, request: bytes) -> bytes:
        if session != self._session:
            self._session = session
            self._cases.clear()
        self._executor.timeout_s = timeout_s
        answer: ClusterAnswer
        try:
            answer = self._perform(pickle.loads(request))  # noqa: S301 - of a client, whom Dask trusts
        except CudammError as error:
            answer = Failure(error)
        return pickle.dumps(answer)

    def _perform(self, request: ClusterRequest) -> ClusterAnswer:
        executor = self._executor
        if isinstance(request, GetTarget):
            return Success(executor.target)
        if isinstance(request, FreeBytes):
            return Success(executor.free_bytes())
        if isinstance(request, MeasureFacts):
            return Success(executor.facts())
        if isinstance(request, LoadUnit):
            return Success(executor.load(request.unit, request.seconds))
        if isinstance(request, Release):
            self._cases.clear()
            executor.release()
            return Success(None)
        if request.case is not None:
            self._cases[request.position] = received(request.case)
        if request.position not in self._cases:
            return CaseMissing()
        case, step = self._cases[request.position], request.step
        if isinstance(step, Verify):
            return Success(executor.verify(case, thorough=step.thorough))
        return Success(
            executor.sample(
                case,
                samples=step.samples,
                launches_per_sample=step.launches_per_sample,
                cold=step.cold,
                check=step.check,
            )
        )

    def close(self) -> None:
        """Kill the worker process."""
        self._executor.close()
        self._thread.shutdown(wait=False, cancel_futures=True)


async def perform(session: str, timeout_s: float | None, request: bytes, dask_worker: Any) -> bytes:
    """Answer a request in a Dask worker, to which Dask sends the name of this function."""
    service: ClusterService = dask_worker.extensions[NAME]
    return await service.answer(session, timeout_s, request)
