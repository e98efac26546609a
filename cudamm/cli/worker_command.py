"""`cudamm worker`: join the devices of this host to a cluster."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.cli.cluster_options import ClusterChoice, safety_options, tls_files_together
from cudamm.cli.completion_command import complete_files, complete_words
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import contradict
from cudamm.devices.named_devices import ALL
from cudamm.errors import FAILED_RESULT, UsageError, signal_name

if TYPE_CHECKING:
    from cudamm.execution.dask_workers import DaskWorker

MOST_RESTARTS = 3
"""Number of times that the Dask worker of a device is started again after it has died."""


@cloup.command()
@option_group(
    "Scheduler",
    option("--scheduler", metavar="ADDRESS", help="Address of the Dask scheduler, such as tcp://HOST:8786."),
    option(
        "--scheduler-file",
        metavar="FILE",
        shell_complete=complete_files,
        help="File that dask scheduler --scheduler-file has written.",
    ),
    contradict("scheduler", "scheduler_file"),
    *safety_options,
)
@option_group(
    "Device",
    option("--gpus", metavar="LIST", show_default=ALL, help="Numbers of the GPUs that join, such as 0,2."),
    option(
        "--device",
        "device_spec",
        metavar="NAMES",
        shell_complete=complete_words(ALL, "gpu", "cpu"),
        show_default=ALL,
        help="The same as names: all, gpu:0,2; or cpu,cpu for two processes on the processor.",
    ),
    contradict("gpus", "device_spec"),
    option(
        "--name", metavar="NAME", show_default="the host's", help="Beginning of the names of the devices."
    ),
)
@tls_files_together()
def worker_command(
    scheduler: str | None,
    scheduler_file: str | None,
    tls_ca: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    insecure: bool,
    gpus: str | None,
    device_spec: str | None,
    name: str | None,
) -> int:
    """\b
    cudamm worker --scheduler tcp://127.0.0.1:8786    every GPU of this host
    cudamm worker --scheduler-file cluster.json       the same, by its file
    cudamm worker --scheduler-file cluster.json --device cpu,cpu

    Join each GPU of this host to a Dask scheduler, for commands with --cluster. Each GPU has a Dask worker,
    which has a process of cudamm that runs the kernels. If nvcc is installed, one more Dask worker
    compiles, on all cores.

    Each Dask worker that dies is started again, at most three times.

    The command ends when the scheduler ends, or when no device is left. Exit status: 0, 1 if the Dask worker
    of a device has died once more, 3 if the scheduler does not answer or a device cannot be used.
    """
    import socket

    from cudamm.compile.toolkit import find_nvcc
    from cudamm.execution.cluster import connected_to
    from cudamm.execution.dask_workers import dask_workers, specs_of

    place = scheduler or scheduler_file
    if not place:
        raise UsageError(
            "--scheduler is missing: name the scheduler's address, or its file with --scheduler-file"
        )
    if gpus is not None and not re.fullmatch(r"\d{1,3}(,\d{1,3})*", gpus):
        raise UsageError(f"--gpus {gpus} is not a list of GPUs: write numbers, such as 0,2")
    address = ClusterChoice(place, tls_ca, tls_cert, tls_key, insecure).address()
    devices = device_spec or (f"gpu:{gpus}" if gpus else ALL)
    specs = specs_of(devices)
    with connected_to(address):
        pass  # a scheduler that does not answer is reported once, and not by each worker
    host = name or socket.gethostname()
    compiles = specs != ["cpu"] * len(specs) and find_nvcc() is not None
    with dask_workers(specs, host, reports=True, compiles=compiles) as workers:
        for worker in workers:
            worker.join(address)
        return _wait(workers)


def _wait(workers: Sequence[DaskWorker]) -> int:
    """Start workers that die again, and report each; return the exit status when all have ended."""
    from cudamm.compile.process_group import STEP_S

    status, running = 0, list(workers)
    while any(not worker.compiles for worker in running):
        time.sleep(STEP_S)
        for worker in list(running):
            ended = worker.process.poll()
            if ended is None:
                continue
            has_died = ended < 0 or ended == FAILED_RESULT  # else it has reported why it ends
            if has_died and worker.restarts < MOST_RESTARTS:
                worker.start_again()
                _report(worker, ended, f"is started again ({worker.restarts} of {MOST_RESTARTS})")
                continue
            running.remove(worker)
            if not worker.compiles:  # else the clients compile
                status = max(status, FAILED_RESULT if has_died else ended)
            if has_died:
                others = f"; {len(running)} of {len(workers)} Dask workers still run" if running else ""
                _report(worker, ended, f"is not started again after {MOST_RESTARTS} restarts{others}")
    return status


def _report(worker: DaskWorker, ended: int, consequence: str) -> None:
    """Print a line about a worker that has died."""
    from rich.markup import escape

    from cudamm.output.console import messages

    how = f"was killed by {signal_name(-ended)}" if ended < 0 else f"ended with status {ended}"
    line = f"cudamm: the Dask worker {escape(worker.name)} {how}, and {consequence}"
    messages().print(line, soft_wrap=True)
