"""Executors that run cases on the devices of a cluster, through a Dask scheduler and its workers."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import operator
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from cudamm.compile.process_group import STEP_S, stop_if_asked
from cudamm.devices.device import Load, LoadedUnit, Peak, Target
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.remote_gpu import RemoteGpuTarget
from cudamm.errors import KernelError, NoDeviceError
from cudamm.execution.cluster import JOIN_S, RELEASE_S, Cluster, ClusterDevice
from cudamm.execution.cluster_compiler import HostCompilers
from cudamm.execution.cluster_service import (
    ClusterRequest,
    GetProgress,
    StartWork,
    StopWork,
    WorkProgress,
    processor_hash,
)
from cudamm.execution.dask_workers import DaskWorker
from cudamm.execution.executor import OPENING_STEP_S, Executor, Facts, Report, Work
from cudamm.execution.portable_case import to_send
from cudamm.execution.process_protocol import value_of

if TYPE_CHECKING:
    from cudamm.execution.case import Case

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class _AskOnce:
    """Work that asks an executor for one value."""

    ask: Callable[[Executor], Any]

    def __call__(self, executor: Executor, cases: Iterable[Case], report: Report) -> Iterator[Any]:
        yield self.ask(executor)


class ClusterExecutor(Executor):
    """An executor that has work on cases done by the Dask worker of a device."""

    def __init__(
        self,
        cluster: Cluster,
        device: ClusterDevice | DaskWorker,
        timeout_s: float | None,
        *,
        runs_here: bool = False,
    ) -> None:
        """Create an executor for a device.

        Args:
            device: the device, or a Dask worker of this machine that opens it, and has not joined yet.
            timeout_s: time limit for a launch, in seconds; None for the default.
            runs_here: whether the device is one of this machine.
        """
        self.runs_here = runs_here
        self._cluster, self._timeout_s = cluster, timeout_s
        self._name = device.name
        self._worker = device if isinstance(device, DaskWorker) else None
        self._device = None if isinstance(device, DaskWorker) else device
        self._joins_until = time.monotonic() + JOIN_S
        self._stopping: concurrent.futures.Future[Any] | None = None
        self._session = uuid.uuid4().hex
        self._target: Target[Any] | None = None

    def is_open(self, wait_s: float = 0.0) -> bool:
        """Return whether the Dask worker has joined the scheduler, or joins within a time.

        Raises:
            NoDeviceError: the Dask worker has ended, or has not joined within JOIN_S.
        """
        until = time.monotonic() + wait_s
        while self._device is None and self._worker is not None:
            self._device = self._cluster.device_of(self._worker)
            if self._device is None:
                if time.monotonic() > self._joins_until:
                    raise NoDeviceError(f"the Dask worker of the device has not joined within {JOIN_S:g} s")
                if time.monotonic() >= until:
                    return False
                time.sleep(min(wait_s, OPENING_STEP_S))
        return True

    def _wait_until_joined(self) -> ClusterDevice:
        """Wait until the Dask worker has joined the scheduler, and return the device."""
        while self._device is None:
            stop_if_asked()
            self.is_open(STEP_S)
        return self._device

    @property
    def target(self) -> Target[Any]:
        """The properties of the device that are needed to compile for it; its name is the Dask worker's."""
        if self._target is None:
            target: Target[Any] = self._ask(operator.attrgetter("target"))
            if isinstance(target, GpuTarget):
                hosts = HostCompilers(self._cluster)
                target = RemoteGpuTarget(
                    target.info, target.limits, target.architecture, hosts.compile, hosts.threads()
                )
            self._target = target
        return self._target

    @property
    def spec(self) -> str:
        """The name of the Dask worker."""
        return self._name

    def free_bytes(self) -> int:
        """Return the number of bytes of device memory that matrices may still take."""
        free: int = self._ask(operator.methodcaller("free_bytes"))
        return free

    def _measure_facts(self) -> Facts:
        facts: Facts = self._ask(operator.methodcaller("facts"))
        return facts

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the measured peaks of all units and types but float32 fused multiply-adds."""
        peaks: tuple[Peak, ...] = self._ask(operator.methodcaller("other_peaks"))
        return peaks

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of the device's units busy for a time; None if it has no such units."""
        load: Load | None = self._ask(operator.methodcaller("load", unit, seconds))
        return load

    def carry_out(self, work: Work[T], cases: Iterable[Case], report: Report) -> Iterator[T]:
        """Wait until all `cases` are compiled, send them at once, and yield the values as they come."""
        sent = [self._to_send(case) for case in cases]
        progress = self._request(StartWork(work, sent, self._timeout_s))
        while True:
            if progress.doing:
                report(progress.doing)
            yield from progress.values
            if progress.ended is not None:
                value_of(progress.ended)
                return
            progress = self._request(GetProgress())

    def release(self) -> None:
        """Free the matrices of the problem that was run last."""
        self._ask(operator.methodcaller("release"))

    def dismiss(self) -> None:
        """Stop the work on the host, and start to free the matrices there; the Dask worker stays."""
        if self._stopping is None and self._device is not None and self._cluster.has(self._device):
            self._stopping = self._cluster.start(self._device, self._session, StopWork())

    def close(self) -> None:
        """Free the matrices on the host. A kernel that still runs there is not waited for."""
        self.dismiss()
        if self._stopping is not None:
            concurrent.futures.wait([self._stopping], RELEASE_S)

    def _to_send(self, case: Case) -> Case:
        facts = self._wait_until_joined().facts
        if case.on_host and facts.processor != processor_hash():
            refused = f"it is compiled for this machine's processor, and {facts.host} has another"
            return dataclasses.replace(case, compiled=KernelError(refused))
        return to_send(case)

    def _ask(self, ask: Callable[[Executor], Any]) -> Any:
        (value,) = self.carry_out(_AskOnce(ask), (), lambda _: None)
        return value

    def _request(self, request: ClusterRequest) -> WorkProgress:
        return self._cluster.request(self._wait_until_joined(), self._session, request)
