"""Dask workers on this host: a process for each device, and one that compiles.

This module imports neither Dask nor NumPy: the processes are started before these are imported here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

import msgspec

from cudamm.compile.compiler_process import temporary_folder
from cudamm.compile.process_group import kill_group, start_mortal_group
from cudamm.devices.named_devices import named_kinds
from cudamm.execution.module_command import module_command
from cudamm.execution.scheduler_address import SchedulerAddress, check_installed
from cudamm.execution.worker_executor import ExpectedProblem


@dataclasses.dataclass(frozen=True)
class WorkerSettings:
    """What a Dask worker has to know.

    Attributes:
        device_spec: name of the device for `--device`; empty for the worker that compiles.
        name: name of the Dask worker, which no other worker of the scheduler has.
        folder: folder for Dask's temporary files.
        reports: whether to print a line when the worker has joined.
        expected: the problem that will be requested first, if it is known.
        joins_again: whether a worker of this name has joined before.
    """

    device_spec: str
    name: str
    folder: str
    reports: bool
    expected: ExpectedProblem | None = None
    joins_again: bool = False


class DaskWorker:
    """A Dask worker on this host, in a process of its own.

    Attributes:
        name: name of the Dask worker.
        compiles: whether it compiles, and has no device.
        process: the process that was started last.
        restarts: number of times that the process was started again.
    """

    def __init__(self, settings: WorkerSettings) -> None:
        """Start the process, which opens its device and waits for `join`."""
        self.name, self.compiles = settings.name, not settings.device_spec
        self.restarts = 0
        self._settings = settings
        self._address: SchedulerAddress | None = None
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        settings = msgspec.json.encode(self._settings).decode()
        return start_mortal_group(
            module_command("cudamm.execution.cluster_worker_process", settings, str(os.getpid())),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            bufsize=0,  # `join` and `close` have nothing to flush
        )

    def join(self, address: SchedulerAddress) -> None:
        """Have the worker join a scheduler as soon as it can."""
        self._address = address
        assert self.process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(BrokenPipeError):  # the process has ended, which its owner will notice
            self.process.stdin.write(msgspec.json.encode(address) + b"\n")

    def start_again(self) -> None:
        """Start a new process with the same device and name, after the last one has ended."""
        self.close()
        self._settings = dataclasses.replace(self._settings, joins_again=True)
        self.process = self._start()
        self.restarts += 1
        if self._address is not None:
            self.join(self._address)

    def close(self) -> None:
        """Kill the process, and wait until it has ended."""
        if self.process.poll() is None:
            kill_group(self.process)
            self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()


def device_names(specs: Sequence[str], host: str) -> list[str]:
    """Return a name for the Dask worker of each device: `HOST/gpu:1`, or `HOST/cpu:0` for the first `cpu`."""
    names: list[str] = []
    for spec in specs:
        count = sum(name.startswith(f"{host}/cpu") for name in names)
        names.append(f"{host}/cpu:{count}" if spec == "cpu" else f"{host}/{spec}")
    return names


def specs_of(device_spec: str) -> list[str]:
    """Return the devices that the value of `--device` names.

    Raises:
        UsageError, NoDeviceError: see `named_kinds`.
    """
    return [spec for kind in named_kinds(device_spec) for spec in kind.specs]


@contextlib.contextmanager
def dask_workers(
    specs: Sequence[str],
    host: str,
    *,
    reports: bool,
    compiles: bool = False,
    expected: ExpectedProblem | None = None,
) -> Iterator[list[DaskWorker]]:
    """Start a Dask worker for each device, and kill the processes after the block.

    The workers open their devices, and wait for `DaskWorker.join`. The process of a worker that has joined
    ends when the scheduler ends.

    Args:
        host: begins the names of the workers.
        reports: whether each worker prints a line when it has joined.
        compiles: whether a further worker compiles programs for GPUs, on all cores.
        expected: the problem that will be requested first, if it is known.

    Raises:
        NoDeviceError: Dask is not installed.
    """
    check_installed()
    with contextlib.ExitStack() as opened:
        folder = opened.enter_context(temporary_folder())
        workers: list[DaskWorker] = []
        named = list(zip(specs, device_names(specs, host), strict=True))
        for spec, name in [*named, ("", f"{host}/nvcc")] if compiles else named:
            settings = WorkerSettings(spec, name, str(folder), reports, expected if spec else None)
            workers.append(DaskWorker(settings))
            opened.callback(workers[-1].close)
        yield workers


def print_line(line: str) -> None:
    """Print a line on standard error, which the other workers of this host share, in one write."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
