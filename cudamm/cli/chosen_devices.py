"""Run a command on the devices that `--device` or `--cluster` names: once for each kind of device."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cudamm.cli.cluster_options import LOCAL, ClusterChoice
from cudamm.cli.output_options import OutputOptions
from cudamm.devices.named_devices import ALL, DeviceKind, named_kinds, names_several
from cudamm.errors import CudammError, UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import Target
    from cudamm.execution.cluster import Cluster
    from cudamm.execution.executor import Executors
    from cudamm.execution.worker_executor import ExpectedProblem, WorkerExecutor

Groups = Generator["Executors", None, None]
"""The executors of each kind of devices; those of one kind are closed before the next are yielded."""

CASES_PER_DEVICE = 8
"""Number of cases for which one more device pays: its process takes a second or two to start."""


def useful_devices(cases: int) -> int:
    """Return the number of devices that pay for a number of cases."""
    return max(1, math.ceil(cases / CASES_PER_DEVICE))


def opened(executors: Executors, outputs: OutputOptions) -> Target[Any]:
    """Return the properties of a device, and show that it is being opened meanwhile.

    Raises:
        NoDeviceError: the device cannot be used.
    """
    from cudamm.cli.progress_bar import progress_bar

    with progress_bar(outputs, first_step="opening the device"):
        return executors.target


def run_on_devices(
    spec: str,
    cluster: ClusterChoice,
    timeout_s: float | None,
    expected: ExpectedProblem | None,
    most_devices: int,
    outputs: OutputOptions,
    run: Callable[[Executors], int],
) -> int:
    """Call `run` with the executors of each kind of devices, and return the highest exit status.

    The worker processes start before `run` is called, so that its imports take place at the same time.

    Args:
        expected: the problem that will be requested first.
        most_devices: number of devices of a kind that pay.

    Raises:
        UsageError: the devices are of several kinds, and the results are to be written to files.
    """
    if cluster.is_local:
        named = ALL if spec == "auto" else spec
        groups = _groups_of_local_cluster(named, timeout_s, expected, most_devices, outputs)
    elif cluster.place:
        groups = _groups_of_cluster(spec, cluster, timeout_s, most_devices, outputs)
    else:
        groups = _groups_of_machine(spec, timeout_s, expected, most_devices, outputs)
    with contextlib.closing(groups):
        return max(run(executors) for executors in groups)


def _groups_of_machine(
    spec: str,
    timeout_s: float | None,
    expected: ExpectedProblem | None,
    most_devices: int,
    outputs: OutputOptions,
) -> Groups:
    """Yield the executors of this machine's devices, each in a worker process."""
    from cudamm.execution.worker_executor import WorkerExecutor

    if not names_several(spec):
        with WorkerExecutor(spec, timeout_s, expected) as worker:
            yield worker
        return
    # The first GPU opens while all of them are listed, for which the driver may have to start.
    first = WorkerExecutor("gpu:0", timeout_s, expected) if spec == ALL else None
    try:
        kinds = _named_kinds(spec, outputs)
    except CudammError:
        if first is not None:
            first.close()
        raise
    for kind in kinds:
        with _group(kind, first, timeout_s, expected, most_devices) as executors:
            first = None
            yield executors


def _groups_of_local_cluster(
    spec: str,
    timeout_s: float | None,
    expected: ExpectedProblem | None,
    most_devices: int,
    outputs: OutputOptions,
) -> Groups:
    """Yield the executors of this machine's devices, which join a cluster meanwhile."""
    from cudamm.execution.dask_workers import dask_workers

    kinds = [kind.specs[:most_devices] for kind in _named_kinds(spec, outputs)]
    every = list(itertools.chain(*kinds))
    with dask_workers(every, LOCAL, reports=False, expected=expected) as workers:
        # Imported after the processes of the devices have been started.
        from cudamm.execution.cluster import local_cluster
        from cudamm.execution.cluster_executor import ClusterExecutor
        from cudamm.execution.executor_group import ExecutorGroup

        remaining = iter(workers)
        with local_cluster(workers) as cluster:
            for specs in kinds:
                of_kind = itertools.islice(remaining, len(specs))
                members = [ClusterExecutor(cluster, worker, timeout_s, runs_here=True) for worker in of_kind]
                with ExecutorGroup(members) as executors:
                    yield executors


def _groups_of_cluster(
    spec: str, cluster: ClusterChoice, timeout_s: float | None, most_devices: int, outputs: OutputOptions
) -> Groups:
    """Yield the executors of a cluster's devices."""
    named = None if spec == "auto" else spec
    with connection_to(cluster, named, outputs) as found:
        from cudamm.execution.cluster import of_each_kind
        from cudamm.execution.cluster_executor import ClusterExecutor
        from cudamm.execution.executor_group import ExecutorGroup

        kinds = of_each_kind(found.devices())
        if len(kinds) > 1 and outputs.names_files:
            names = ", ".join(kind[0].facts.device for kind in kinds)
            raise UsageError(
                f"the devices of the cluster are of {len(kinds)} kinds ({names}), and a file holds the "
                "results of one: write no file, or use a scheduler with workers of one kind"
            )
        for devices in kinds:
            members = [ClusterExecutor(found, device, timeout_s) for device in devices[:most_devices]]
            with ExecutorGroup(members) as executors:
                yield executors


@contextlib.contextmanager
def connection_to(cluster: ClusterChoice, spec: str | None, outputs: OutputOptions) -> Iterator[Cluster]:
    """Yield a connection to a cluster, which is started first if it is one of this machine.

    The address of the scheduler's dashboard is printed on standard error, unless `--quiet` is given.

    Args:
        spec: value of `--device`; None if the option is not given.

    Raises:
        UsageError: devices of this machine are named for a cluster elsewhere.
    """
    from rich.markup import escape

    from cudamm.execution.dask_workers import specs_of

    if cluster.is_local:
        connection = _local_cluster(specs_of(spec or ALL))
    elif spec is None:
        from cudamm.execution.cluster import connected_to

        connection = connected_to(cluster.address())
    else:
        raise UsageError(
            f"--device {spec} names devices of this machine, and --cluster {cluster.place} those of its "
            f"workers: leave out --device, or use --cluster {LOCAL}"
        )
    with connection as found:
        from cudamm.output.console import messages

        if not outputs.quiet and (dashboard := found.dashboard()):
            messages().print(f"cudamm: the dashboard of the scheduler is {escape(dashboard)}", soft_wrap=True)
        yield found


@contextlib.contextmanager
def _local_cluster(specs: Sequence[str]) -> Iterator[Cluster]:
    """Yield a connection to a cluster of this machine, which every device has joined that can be opened."""
    from cudamm.execution.dask_workers import dask_workers

    with dask_workers(specs, LOCAL, reports=False) as workers:
        from cudamm.execution.cluster import local_cluster, wait_for_workers  # meanwhile the devices open

        with local_cluster(workers) as found:
            wait_for_workers(found, workers)
            yield found


def _group(
    kind: DeviceKind,
    first: WorkerExecutor | None,
    timeout_s: float | None,
    expected: ExpectedProblem | None,
    most_devices: int,
) -> Executors:
    """Start the worker processes of a kind of devices.

    Args:
        first: the executor of the first device, if it has been started.
    """
    from cudamm.execution.executor_group import ExecutorGroup
    from cudamm.execution.worker_executor import WorkerExecutor

    members = [] if first is None else [first]
    try:
        for spec in kind.specs[len(members) : most_devices]:
            members.append(WorkerExecutor(spec, timeout_s, expected))
    except BaseException:
        for member in members:
            member.close()
        raise
    return ExecutorGroup(members)


def _named_kinds(spec: str, outputs: OutputOptions) -> list[DeviceKind]:
    """Return the kinds of devices that `--device` names. Raise UsageError if a file would hold several."""
    kinds = named_kinds(spec)
    if len(kinds) > 1 and outputs.names_files:
        of_one_kind = max((kind.specs for kind in kinds), key=len)
        names = ", ".join(kind.name for kind in kinds)
        raise UsageError(
            f"these devices are of {len(kinds)} kinds ({names}), and a file holds "
            f"the results of one: name devices of one kind, such as --device {','.join(of_one_kind)}"
        )
    return kinds
