"""A connection to a Dask scheduler, and what this machine knows of its workers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import pickle
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

import cudamm
from cudamm.compile.compiler_process import temporary_folder
from cudamm.compile.nvcc_compiler import nvcc_identity
from cudamm.compile.process_group import STEP_S, stop_if_asked
from cudamm.devices.device import DeviceInfo
from cudamm.errors import DeviceLostError, NoDeviceError
from cudamm.execution.cluster_compiler import COMPILER, ClusterCompiler, compiled_here
from cudamm.execution.cluster_service import (
    NAME,
    ClusterRequest,
    WorkerFacts,
    WorkProgress,
    perform,
    source_hash,
)
from cudamm.execution.cluster_worker import DEVICE
from cudamm.execution.dask_workers import DaskWorker
from cudamm.execution.executor import OPENING_STEP_S
from cudamm.execution.scheduler_address import CONNECT_S, SchedulerAddress, import_distributed

LOOK_S = 1.0
"""Time between two looks at the scheduler's list of workers, in seconds."""

SILENCE_S = 30.0
"""Time without an answer of the scheduler, or a sign of life of a worker, after which it counts as lost."""

RELEASE_S = 1.0
"""Time limit for a Dask worker to free its matrices, and for the scheduler to let go, in seconds."""

DASHBOARD_S = 1.0
"""Time limit for the answer of a scheduler's dashboard, in seconds."""

JOIN_S = 120.0
"""Time limit for devices to open and to join, in seconds."""

MOST_HOSTS_LOST = 3
"""Number of times that hosts may be lost while they compile one program; then this machine compiles it."""

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class ClusterDevice:
    """A device of a cluster: a Dask worker that `cudamm worker` has started.

    Attributes:
        name: name of the Dask worker, such as `node1/gpu:0`.
        address: address of the Dask worker.
        info: description of the device, whose `spec` is the name of the Dask worker.
    """

    name: str
    address: str
    facts: WorkerFacts
    info: DeviceInfo


class EventLoop:
    """A thread with an event loop, in which everything of Dask runs."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, work: Callable[[], Awaitable[T]]) -> concurrent.futures.Future[T]:
        """Start `work` in the loop, and return a future of its value."""

        async def value() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(value(), self._loop)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return the value of `work`. An interrupt, or the end of this thread's pool, ends the wait."""
        future = self.start(work)
        try:
            while not concurrent.futures.wait([future], STEP_S).done:
                stop_if_asked()
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        """End the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _HostLost(Exception):
    """A Dask worker that compiles has ended, or gives no sign of life."""


class Cluster:
    """A connection to a scheduler, and the devices of its workers."""

    def __init__(self, loop: EventLoop, address: SchedulerAddress) -> None:
        """Connect to a scheduler.

        Raises:
            NoDeviceError: the scheduler does not answer, or Dask is not installed.
        """
        self._loop, self._address = loop, address
        self._silent: set[str] = set()
        self._joined: list[ClusterDevice] = []
        self._looked = 0.0  # when `_joined` was right
        self._signs: dict[str, tuple[float, float]] = {}  # of each worker: its last one, and when it was new

        async def connect() -> Any:
            return await address.client()

        try:
            self._client = loop.run(connect)
            loop.run(lambda: self._ask(CONNECT_S))
        except (OSError, ValueError, TimeoutError, asyncio.TimeoutError):
            raise NoDeviceError(
                f"the scheduler {address.uri} did not answer within {CONNECT_S:g} s: start it with dask "
                "scheduler, and check the address and the network"
            ) from None
        self._watching = loop.start(self._watch)

    async def _watch(self) -> None:
        """Look at the scheduler's list of workers again and again."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self._ask(SILENCE_S)
            except (OSError, TimeoutError, asyncio.TimeoutError):
                self._look({"workers": {}})

    async def _ask(self, limit_s: float) -> None:
        """Ask the scheduler for its list of workers. Raises a TimeoutError after the limit."""
        self._look(await asyncio.wait_for(self._client.scheduler.identity(), limit_s))

    def _look(self, identity: dict[str, Any]) -> None:
        """Take over what the scheduler knows, without workers that gave no sign of life for SILENCE_S.

        The scheduler itself waits five minutes for a worker that stands still.
        """
        now, alive = time.monotonic(), {}
        self._silent = set()
        for address, worker in identity["workers"].items():
            sign, since = self._signs.get(address, (None, now))
            if worker["last_seen"] != sign:
                since = now
            self._signs[address] = worker["last_seen"], since
            if now - since < SILENCE_S:
                alive[address] = worker
            else:
                self._silent.add(address)
        self._identity = {**identity, "workers": alive}

    def devices(self) -> list[ClusterDevice]:
        """Return the devices of all workers that `cudamm worker` has started, in the order of their names.

        Raises:
            NoDeviceError: there is none, or a worker has another cudamm.
        """
        found = self.joined()
        if not found:
            workers = self._identity["workers"]
            others = f"; {len(workers)} other Dask workers have joined it" if workers else ""
            raise NoDeviceError(
                f"the scheduler {self._address.uri} has no worker with a device{others}: start cudamm worker "
                f"--scheduler {self._address.uri} on each host"
            )
        return found

    def wait_for(self, count: int) -> None:
        """Wait until a number of devices have joined. Raise NoDeviceError if they have not within JOIN_S."""
        deadline = time.monotonic() + JOIN_S
        while len(found := self.joined()) < count:
            if time.monotonic() > deadline:
                raise NoDeviceError(
                    f"{len(found)} of {count} devices have joined the scheduler {self._address.uri} within "
                    f"{JOIN_S:g} s: cudamm worker prints why a device does not join"
                )
            time.sleep(STEP_S)

    def joined(self) -> list[ClusterDevice]:
        """Return the devices that have joined by now.

        Raises:
            NoDeviceError: a worker has another cudamm, or the scheduler does not answer any more.
        """
        try:
            self._loop.run(lambda: self._ask(SILENCE_S))
        except (OSError, TimeoutError, asyncio.TimeoutError):  # also Dask's CommClosedError
            raise NoDeviceError(self._gone()) from None
        found = []
        for address, worker in self._identity["workers"].items():
            if DEVICE in worker:
                _check_version(worker[NAME], str(worker["name"]))
                name = str(worker["name"])
                facts = msgspec.convert(worker[NAME], WorkerFacts)
                info = msgspec.convert(worker[DEVICE], DeviceInfo)
                info = dataclasses.replace(info, spec=name, note="")
                found.append(ClusterDevice(name, address, facts, info))
        return sorted(found, key=lambda device: device.name)

    def device_of(self, worker: DaskWorker) -> ClusterDevice | None:
        """Return the device of a Dask worker of this machine; None as long as the worker has not joined.

        Raises:
            NoDeviceError: the worker has ended.
        """
        has_ended = worker.process.poll() is not None
        if has_ended or time.monotonic() - self._looked > OPENING_STEP_S:
            self._joined = self.joined()
            self._looked = time.monotonic()
        for device in self._joined:
            if device.name == worker.name:
                return device
        if has_ended:
            raise NoDeviceError("the Dask worker of the device has ended: run cudamm doctor")
        return None

    def dashboard(self) -> str:
        """Return the address of the scheduler's dashboard; empty if this machine reaches none.

        A scheduler has an HTTP server also if it has no dashboard, because of `--no-dashboard` or because
        Bokeh is not installed. Only a dashboard has a list of plots.
        """
        import dask
        from tornado.httpclient import AsyncHTTPClient, HTTPError

        port = self._identity.get("services", {}).get("dashboard")
        if not port:
            return ""
        host = self._address.uri.partition("://")[2].rpartition(":")[0]
        scheme = "https" if dask.config.get("distributed.scheduler.dashboard.tls.cert", None) else "http"
        server = f"{scheme}://{host}:{port}"
        try:
            answer = self._loop.run(
                lambda: AsyncHTTPClient().fetch(
                    f"{server}/individual-plots.json", connect_timeout=DASHBOARD_S,
                    request_timeout=DASHBOARD_S, validate_cert=False,
                )
            )  # fmt: skip
            return f"{server}/status" if json.loads(answer.body) else ""
        except (HTTPError, OSError, ValueError):
            return ""

    def has(self, device: ClusterDevice) -> bool:
        """Return whether the scheduler answers, and still had a worker when it was last asked."""
        return self._client.status == "running" and device.address in self._identity["workers"]

    def compilers(self) -> list[ClusterCompiler]:
        """Return the hosts' Dask workers that compile as this machine does, in the order of their names.

        They have the same cudamm, the same version of nvcc, and the same options for nvcc.
        """
        try:
            identity = nvcc_identity()
        except NoDeviceError:
            return []
        found = [
            ClusterCompiler(str(worker["name"]), address, int(worker["nthreads"]))
            for address, worker in self._identity["workers"].items()
            if worker.get(COMPILER) == identity and worker[NAME].get("sources") == source_hash()
        ]
        return sorted(found, key=lambda compiler: compiler.name)

    def compile(self, program: bytes, arch: str) -> tuple[bytes, str] | None:
        """Return what `compiled_here` returns on one of the hosts; None also if none of them answers.

        Args:
            program: the pickled program.
        """
        for _ in range(MOST_HOSTS_LOST):
            workers = [compiler.address for compiler in self.compilers()]
            if not workers:
                return None
            with contextlib.suppress(_HostLost):
                return self._compiled_on(workers, program, arch)
        return None

    def _compiled_on(self, workers: Sequence[str], program: bytes, arch: str) -> tuple[bytes, str] | None:
        """Return what `compiled_here` returns on one of these workers; None if they were lost with the task.

        Raises:
            _HostLost: all are lost, or one stands still and may have the task, which Dask leaves there.
        """

        async def compiled() -> tuple[bytes, str] | None:
            future = self._client.submit(
                compiled_here, program, arch, workers=workers, resources={"CPU": 1}, pure=False
            )
            try:
                made: tuple[bytes, str] | None = await future
                return made
            finally:
                future.release()  # a task that still waits is forgotten

        running = self._loop.start(compiled)
        try:
            while not concurrent.futures.wait([running], STEP_S).done:
                stop_if_asked()
                if self._silent.intersection(workers) or self._identity["workers"].keys().isdisjoint(workers):
                    raise _HostLost
            return running.result()
        except (OSError, concurrent.futures.CancelledError, import_distributed().KilledWorker):
            return None  # the scheduler has ended, or hosts were lost again and again
        finally:
            running.cancel()

    def start(
        self, device: ClusterDevice, session: str, request: ClusterRequest
    ) -> concurrent.futures.Future[dict[str, bytes]]:
        """Send a request to a device's worker; the future has the pickled answer, by the worker's address."""
        sent = pickle.dumps(request)
        return self._loop.start(lambda: self._client.run(perform, session, sent, workers=[device.address]))

    def request(self, device: ClusterDevice, session: str, request: ClusterRequest) -> WorkProgress:
        """Return the answer of a device's worker to a request.

        Raises:
            DeviceLostError: the worker or the scheduler cannot be reached any more.
        """
        running = self.start(device, session, request)
        try:
            while not concurrent.futures.wait([running], STEP_S).done:
                stop_if_asked()
                if not self.has(device):
                    raise DeviceLostError(self._lost(device))
            answered: bytes = running.result()[device.address]
        except OSError:  # also Dask's CommClosedError
            raise DeviceLostError(self._lost(device)) from None
        finally:
            running.cancel()
        progress: WorkProgress = pickle.loads(answered)  # noqa: S301 - of a worker, as trusted as the client
        return progress

    def _lost(self, device: ClusterDevice) -> str:
        if self._client.status != "running":
            return self._gone()
        return f"its Dask worker {device.address} has ended, or gives the scheduler no sign of life"

    def _gone(self) -> str:
        return f"the scheduler {self._address.uri} does not answer any more"

    def close(self) -> None:
        """Leave the scheduler."""
        self._watching.cancel()
        closing = self._loop.start(lambda: self._client.close())  # it would wait for a scheduler that ended
        concurrent.futures.wait([closing], RELEASE_S)


def _check_version(facts: dict[str, Any], name: str) -> None:
    """Raise NoDeviceError if a worker has another cudamm than this machine."""
    there, here = str(facts.get("version")), cudamm.__version__
    if there == here and facts.get("sources") == source_hash():
        return
    what = f"cudamm {there}, and this machine has {here}"
    if there == here:
        what = f"cudamm {here} with other source files than this machine"
    place = name
    if facts.get("driver"):
        place = f"{name}; driver {facts['driver']}, {facts.get('compiler') or 'no compiler'}"
    raise NoDeviceError(
        f"{facts.get('host')} ({place}) has {what}: install the same cudamm on both, and start cudamm worker "
        "there again"
    )


def of_each_kind(devices: Sequence[ClusterDevice]) -> list[list[ClusterDevice]]:
    """Return the devices of each kind: those with one name.

    Raises:
        NoDeviceError: GPUs of one kind have different drivers; a program may be faster with one of them.
    """
    kinds: dict[tuple[str, str], list[ClusterDevice]] = {}
    for device in devices:
        kinds.setdefault((device.facts.kind, device.facts.device), []).append(device)
    for (_, name), members in kinds.items():
        first = members[0]
        for other in members:
            if other.facts.driver != first.facts.driver:
                raise NoDeviceError(
                    f"the hosts of {name} have different drivers: {first.facts.host} has "
                    f"{first.facts.driver}, and {other.facts.host} has {other.facts.driver}: install one "
                    "driver on all, or use a scheduler for each"
                )
    return list(kinds.values())


@contextlib.contextmanager
def connected_to(address: SchedulerAddress) -> Iterator[Cluster]:
    """Yield a connection to a scheduler that runs somewhere."""
    with contextlib.closing(EventLoop()) as loop, contextlib.closing(Cluster(loop, address)) as cluster:
        yield cluster


@contextlib.contextmanager
def local_cluster(workers: Sequence[DaskWorker]) -> Iterator[Cluster]:
    """Yield a connection to a scheduler of this process, which the workers join; at the end, close these."""
    with _local_scheduler(import_distributed()) as (loop, address):
        try:
            for worker in workers:
                worker.join(address)
            with contextlib.closing(Cluster(loop, address)) as cluster:
                yield cluster
        finally:
            for worker in workers:  # a worker whose scheduler has ended would look for it
                worker.close()


@contextlib.contextmanager
def _local_scheduler(distributed: Any) -> Iterator[tuple[EventLoop, SchedulerAddress]]:
    """Run a scheduler in this process; yield its event loop and its address."""
    import dask

    async def start_scheduler(folder: Path) -> Any:
        security = distributed.Security(require_encryption=False)
        with dask.config.set({"temporary-directory": str(folder)}):
            return await distributed.Scheduler(
                host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0", security=security
            )

    with contextlib.closing(EventLoop()) as loop, contextlib.ExitStack() as opened:
        folder = opened.enter_context(temporary_folder())
        scheduler = loop.run(functools.partial(start_scheduler, folder))
        opened.callback(lambda: loop.start(lambda: scheduler.close()).result(CONNECT_S))
        yield loop, SchedulerAddress(scheduler.address)


def wait_for_workers(cluster: Cluster, workers: Sequence[DaskWorker]) -> None:
    """Wait until each Dask worker has joined or ended, or JOIN_S. Raise NoDeviceError if all have ended."""
    deadline = time.monotonic() + JOIN_S
    while time.monotonic() < deadline:
        joined = {device.name for device in cluster.joined()}
        ended = [worker for worker in workers if worker.process.poll() is not None]
        if len(ended) == len(workers):
            raise NoDeviceError("no device of this machine can be opened: run cudamm doctor")
        if len(joined) + len(ended) >= len(workers):
            return
        time.sleep(STEP_S)
