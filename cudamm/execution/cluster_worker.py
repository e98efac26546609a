"""A Dask worker: it owns one device through cudamm's own worker process, or compiles."""

from __future__ import annotations

import asyncio
import dataclasses
import socket
import sys
import time
from typing import Any
from urllib.parse import urlsplit

import msgspec

from cudamm.compile.nvcc_compiler import nvcc, nvcc_identity
from cudamm.compile.process_group import CORES
from cudamm.compile.toolkit import find_nvcc, nvcc_version
from cudamm.devices.device import DeviceInfo
from cudamm.errors import CudammError, NoDeviceError
from cudamm.execution.cluster_compiler import COMPILER
from cudamm.execution.cluster_service import NAME, ClusterService, facts_of
from cudamm.execution.dask_workers import WorkerSettings, print_line
from cudamm.execution.scheduler_address import CONNECT_S, SchedulerAddress, import_distributed
from cudamm.execution.worker_executor import WorkerExecutor

DEVICE = "cudamm device"
"""Name under which a Dask worker tells the scheduler the `DeviceInfo` of its device."""


PAUSE_S = 1.0
"""Time before each try to reach a scheduler again, and the limit of the try, in seconds."""

NETWORK_S = 60.0
"""Time for a network to come back, and for a scheduler to notice that a connection is broken, in seconds."""


def compiler_for(info: DeviceInfo) -> str:
    """Return the compiler on this host that compiles for a device, with its version; empty without one."""
    if info.kind == "cpu":
        return str(info.properties["compiler"])
    nvcc = find_nvcc()
    if nvcc is None:
        return ""
    try:
        major, minor = nvcc_version(nvcc)
    except NoDeviceError:
        return f"{nvcc}, which does not run"
    return f"nvcc {major}.{minor}"


@dataclasses.dataclass(frozen=True)
class _Role:
    """What a Dask worker does.

    Attributes:
        title: what the worker offers, for the line that it has joined.
        threads: number of Dask's tasks that it runs at once.
        resources: what Dask counts for its tasks.
        told: what the worker tells the scheduler, by name.
        extensions: objects of the worker that answer clients, by name.
    """

    title: str
    threads: int
    resources: dict[str, int]
    told: dict[str, Any]
    extensions: dict[str, Any]


def _device_role(settings: WorkerSettings, executor: WorkerExecutor) -> _Role:
    """Return the role of a worker with a device."""
    info = executor.target.info
    facts = facts_of(info.kind, info.name, str(info.properties.get("driver") or ""), compiler_for(info))
    # Results name their devices as the client does.
    executor.target.info = dataclasses.replace(info, spec=settings.name, note="")
    told = {NAME: dataclasses.asdict(facts), DEVICE: dataclasses.asdict(info)}
    resources = {"GPU": 1} if info.kind == "gpu" else {}
    return _Role(info.name, 1, resources, told, {NAME: ClusterService(executor)})


def _compiler_role() -> _Role:
    """Return the role of the worker that compiles. Raise NoDeviceError if nvcc does not work."""
    identity, (major, minor) = nvcc_identity(), nvcc().release
    facts = facts_of("compiler", "", "", f"nvcc {major}.{minor}")
    told = {NAME: dataclasses.asdict(facts), COMPILER: identity}
    return _Role(f"{facts.compiler} on {CORES} cores", CORES, {"CPU": CORES}, told, {})


async def _serve(settings: WorkerSettings, address: SchedulerAddress, role: _Role) -> None:
    """Run a Dask worker until its scheduler ends.

    Raises:
        NoDeviceError: the scheduler does not answer, or refuses this worker.
        CudammError: the connection broke, and the scheduler is not known to have ended.
    """
    distributed = import_distributed()
    try:
        if settings.joins_again:
            await _wait_until_forgotten(settings.name, address)
        worker: Any = await distributed.Worker(
            address.uri,
            name=settings.name,
            nthreads=role.threads,
            resources=role.resources,
            memory_limit=0,
            local_directory=settings.folder,
            # None: the address of this host that the scheduler can reach.
            host="127.0.0.1" if address.is_loopback else None,
            dashboard_address="127.0.0.1:0",
            security=address.security(),
            death_timeout=CONNECT_S,
            extensions={name: lambda _, found=found: found for name, found in role.extensions.items()},
            startup_information={name: lambda _, told=told: told for name, told in role.told.items()},
        )
    except (OSError, ValueError, RuntimeError, TimeoutError, asyncio.TimeoutError) as error:
        reason = " ".join(str(error.__cause__ or error).split())
        if "name taken" in reason and not settings.device_spec:
            return  # another `cudamm worker` of this host has started the one that compiles
        raise NoDeviceError(f"it cannot join the scheduler {address.uri}: {reason}") from None
    if settings.reports:
        print_line(f"cudamm: {settings.name} ({role.title}) has joined {address.uri}")
    await worker.finished()
    if await _may_still_run(address):
        raise CudammError(f"its connection to the scheduler {address.uri} broke")


async def _wait_until_forgotten(name: str, address: SchedulerAddress) -> None:
    """Wait until the scheduler knows no worker of this name any more, at most NETWORK_S."""
    deadline = time.monotonic() + NETWORK_S
    async with address.client() as client:
        while time.monotonic() < deadline:
            known = await asyncio.wait_for(client.scheduler.identity(), CONNECT_S)
            if name not in {worker["name"] for worker in known["workers"].values()}:
                return
            await asyncio.sleep(PAUSE_S)


async def _may_still_run(address: SchedulerAddress) -> bool:
    """Return whether a scheduler still listens, or its host could not be reached for NETWORK_S."""
    deadline = time.monotonic() + NETWORK_S
    while time.monotonic() < deadline:
        await asyncio.sleep(PAUSE_S)
        listening = await _listening(address)
        if True in listening:
            return True
        if listening and None not in listening:
            return False
    return True


async def _listening(address: SchedulerAddress) -> list[bool | None]:
    """Return whether each address of a scheduler's host lets a connection be made; None without an answer."""
    parts = urlsplit(address.uri)
    answers: list[bool | None] = []
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            parts.hostname, parts.port, type=socket.SOCK_STREAM
        )
        for *_, (host, port, *_) in found:
            answers.append(await _is_listening(str(host), int(port)))
    except OSError:  # the name is not known now
        return []
    return answers


async def _is_listening(host: str, port: int) -> bool | None:
    try:
        _, stream = await asyncio.wait_for(asyncio.open_connection(host, port), PAUSE_S)
    except ConnectionRefusedError:
        return False
    except (OSError, TimeoutError, asyncio.TimeoutError):
        return None
    stream.close()
    return True


async def _join(settings: WorkerSettings, role: _Role) -> None:
    """Wait for the address of the scheduler, and serve it; do nothing if none comes."""
    line = sys.stdin.buffer.readline()
    if line:
        await _serve(settings, msgspec.json.decode(line, type=SchedulerAddress), role)


def run(settings: WorkerSettings, executor: WorkerExecutor | None) -> None:
    """Join the scheduler whose address comes from standard input, and serve it until it ends.

    Args:
        executor: the executor on the worker's device; None: it compiles.

    Raises:
        CudammError: the worker cannot join, or loses the scheduler.
    """
    import_distributed()  # meanwhile the device opens
    role = _compiler_role() if executor is None else _device_role(settings, executor)
    asyncio.run(_join(settings, role))
