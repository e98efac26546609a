"""Run a command on the devices that `--device` names: once for each kind of device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from cudamm.cli.output_options import OutputOptions
from cudamm.devices.named_devices import ALL, DeviceKind, named_kinds, names_several
from cudamm.errors import CudammError, UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executors
    from cudamm.execution.worker_executor import ExpectedProblem, WorkerExecutor

CASES_PER_DEVICE = 8
"""Number of cases for which one more device pays: its process takes a second or two to start."""


def useful_devices(cases: int) -> int:
    """Return the number of devices that pay for a number of cases."""
    return max(1, math.ceil(cases / CASES_PER_DEVICE))


def run_on_devices(
    spec: str,
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
    from cudamm.execution.worker_executor import WorkerExecutor

    if not names_several(spec):
        with WorkerExecutor(spec, timeout_s, expected) as worker:
            return run(worker)
    # The first GPU opens while the driver lists all of them.
    first = WorkerExecutor("gpu:0", timeout_s, expected) if spec == ALL else None
    try:
        kinds = named_kinds(spec)
        if len(kinds) > 1 and outputs.names_files:
            raise UsageError(_several_kinds(kinds))
    except CudammError:
        if first is not None:
            first.close()
        raise
    status = 0
    for kind in kinds:
        with _group(kind, first, timeout_s, expected, most_devices) as executors:
            first = None
            status = max(status, run(executors))
    return status


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


def _several_kinds(kinds: list[DeviceKind]) -> str:
    of_one_kind = max((kind.specs for kind in kinds), key=len)
    names = ", ".join(kind.name for kind in kinds)
    return (
        f"these devices are of {len(kinds)} kinds ({names}), and a file holds "
        f"the results of one: name devices of one kind, such as --device {','.join(of_one_kind)}"
    )
