"""An executor that runs cases in a worker process, which owns the device.

The worker process is replaced if it dies, reports a broken device, or does not answer in time: a broken
kernel costs one row of the table, not the command.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from cudamm.compile.compile_cache import remove_all_abandoned
from cudamm.compile.confinement import is_delayed, kernel_command, kernel_output, machine_fault
from cudamm.compile.process_group import STEP_S, kill_group, start_mortal_group, stop_if_asked
from cudamm.errors import (
    DeviceLostError,
    HangError,
    KernelError,
    NoDeviceError,
    UnfinishedError,
    signal_name,
)
from cudamm.execution.duration_estimate import shows_hang
from cudamm.execution.executor import Facts, LocalExecutor, SampleBatch
from cudamm.execution.module_command import module_command
from cudamm.execution.process_protocol import (
    Answer,
    DeviceBroken,
    FreeBytes,
    LoadUnit,
    MakeReady,
    MeasureFacts,
    MeasureOtherPeaks,
    Release,
    Request,
    RunCase,
    Sample,
    Verify,
    WorkerLostError,
    value_of,
)

# The process is started before anything long is imported: both processes import their modules in parallel.
if TYPE_CHECKING:
    from cudamm.devices.device import Load, LoadedUnit, Peak, Target
    from cudamm.execution.case import Case, Verdict

TIMEOUT_S = 60.0
"""Time limit for a request that runs a case, in seconds, unless another is given."""

SMALL_TIMEOUT_S = 10.0
"""The same for verifying a small product on the CPU device, which takes milliseconds."""

SMALL_WORK = 2**24
"""Largest number of multiplications of a small product."""

START_TIMEOUT_S = 120
"""Time limit for opening the device, in seconds; the first context after a boot can take long."""

HOST_WORK_TIMEOUT_S = 3600
"""Time limit for requests that run no case, such as making inputs and references, in seconds."""

LOAD_TIMEOUT_S = 180
"""Time limit for `load` beyond its own duration, in seconds; nvcc may have to compile the kernels first."""

MOST_DEATHS = 3
"""Number of worker processes that die with a case before the case counts as failed.

A single death can have another cause than the kernel, such as a lack of memory.
"""


ExpectedProblem = tuple[str, str, int, str]
"""Size, element type, seed and kind of inputs of the problem that will be requested first."""


class WorkerExecutor(LocalExecutor):
    """An executor that runs cases in a worker process."""

    def __init__(
        self, device_spec: str, timeout_s: float | None, expected: ExpectedProblem | None = None
    ) -> None:
        """Start the worker process, which begins to open a device; `target` waits for the device.

        Args:
            device_spec: name of a device, for `find_device.find`.
            timeout_s: time limit for a request that runs a case, in seconds; None: TIMEOUT_S, or
                SMALL_TIMEOUT_S for a small product on the CPU device.
            expected: the worker process makes its matrices while the device is being opened.
        """
        self._spec = device_spec
        self.timeout_s = timeout_s
        self._target: Target[Any] | None = None
        self._sent: dict[int, Case] = {}
        self._start(*map(str, expected or ()))

    def _start(self, *expected: str) -> None:
        parent_end, child_end = socket.socketpair()
        module = "cudamm.execution.worker_process"
        arguments = [self._spec, str(child_end.fileno()), str(os.getpid()), *expected]
        try:
            self._process = start_mortal_group(
                kernel_command(module_command(module, *arguments), is_short=False),
                # The output of a kernel must not mix with the tables on standard output.
                stdout=kernel_output(2),
                stderr=kernel_output(2),
                pass_fds=[child_end.fileno()],
            )
        except BaseException:
            parent_end.close()
            raise
        finally:
            child_end.close()
        self._connection = Connection(parent_end.detach())
        self._has_unread_answer = False
        self._sent.clear()
        self._opens_until = time.monotonic() + START_TIMEOUT_S

    @property
    def target(self) -> Target[Any]:
        """The properties of the device that are needed to compile for it; waits until the device is open.

        Raises:
            UsageError: the device's name means no device.
            NoDeviceError: the device cannot be used, or the worker process does not start.
        """
        if self._target is None:
            self._target = self._wait_for_start()
            self._spec = self._target.info.spec  # after a restart `auto` must not choose another device
        return self._target

    @property
    def spec(self) -> str:
        """The device's name for `--device`; before the device is open, as it was given."""
        return self._spec

    def is_open(self, wait_s: float = 0.0) -> bool:
        """Return whether the device is open, or becomes so within a time."""
        if self._target is None:
            if self._connection.closed:  # dismissed before the device was open
                return False
            if not self._connection.poll(wait_s) and time.monotonic() < self._opens_until:
                return False
        _ = self.target
        return True

    def _wait_for_start(self) -> Target[Any]:
        try:
            left_s = max(0.0, self._opens_until - time.monotonic())
            target: Target[Any] = self._receive(left_s, "it did not start")
            return target
        except KernelError as error:
            self.close()
            raise NoDeviceError(f"the process that is to run kernels did not start: {error}") from None
        except BaseException:
            self.close()
            raise

    def _restart(self) -> None:
        """Replace the process. Raise DeviceLostError if no new process can open the device."""
        self.close()
        try:
            self._start()
            self._wait_for_start()
        except NoDeviceError as error:
            raise DeviceLostError(str(error)) from None

    def free_bytes(self) -> int:
        """Return the number of bytes of device memory that matrices may still take."""
        free: int = self._request(FreeBytes())
        return free

    def _measure_facts(self) -> Facts:
        facts: Facts = self._request(MeasureFacts())
        return facts

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return the measured peaks of all units and types but float32 fused multiply-adds."""
        peaks: tuple[Peak, ...] = self._request(MeasureOtherPeaks())
        return peaks

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Keep one kind of the device's units busy for a time; None if it has no such units."""
        load: Load | None = self._request(LoadUnit(unit, seconds), seconds + LOAD_TIMEOUT_S)
        return load

    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        """Launch a case and judge its product."""
        self._request(MakeReady(case.problem))
        verdict: Verdict = self._launch(case, Verify(thorough))
        return verdict

    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        """Time a case."""
        batch: SampleBatch = self._launch(case, Sample(samples, launches_per_sample, cold, check))
        return batch

    def release(self) -> None:
        """Free the matrices of the problem that was run last."""
        self._sent.clear()
        if not self._connection.closed:  # else the process is dismissed
            self._request(Release())

    def dismiss(self) -> None:
        """Kill the process without waiting: the driver takes a tenth of a second to free its memory."""
        if self._connection.closed:
            return
        self._connection.close()
        kill_group(self._process)

    def close(self) -> None:
        """Kill the process, wait until it has ended, and remove what it may have left."""
        self.dismiss()
        self._process.wait()
        remove_all_abandoned()

    def _launch(self, case: Case, step: Verify | Sample) -> Any:
        """Return the answer to a request that runs a case. The case's kernel may crash, or may never end."""
        timeout_s = self._time_limit(case)
        for deaths in range(1, MOST_DEATHS + 1):
            was_sent = self._sent.get(case.position) == case
            try:
                self._send(RunCase(case.position, None if was_sent else case, step))
                value = self._receive(timeout_s, f"no answer within {timeout_s:g} s (--timeout)")
            except WorkerLostError as error:
                self._restart()
                if error.is_hang:
                    if case.execution != "emulated" or shows_hang(case.problem.shape.work, timeout_s):
                        raise HangError(str(error)) from None
                    raise UnfinishedError(
                        f"no answer within {timeout_s:g} s (--timeout), which is too short a time to tell "
                        "whether it hangs: choose a smaller -n, or a longer --timeout"
                    ) from None
                if not error.has_died:
                    raise KernelError(str(error)) from None
                reason = f"{error} ({deaths} times in a row)"
            else:
                self._sent[case.position] = case
                return value
        if case.on_host:  # a kernel has a process of its own there
            raise machine_fault(reason)
        raise KernelError(reason)

    def _time_limit(self, case: Case) -> float:
        """Return the time limit for running a case, in seconds."""
        shape = case.problem.shape
        is_small = case.on_host and shape.m * shape.n * shape.k <= SMALL_WORK
        return self.timeout_s or (SMALL_TIMEOUT_S if is_small else TIMEOUT_S)

    def _request(self, request: Request, timeout_s: float = HOST_WORK_TIMEOUT_S) -> Any:
        """Return the answer to a request that runs no case; a lost process is replaced once."""
        try:
            return self._send_and_receive(request, timeout_s)
        except WorkerLostError:
            self._restart()
        try:
            return self._send_and_receive(request, timeout_s)
        except WorkerLostError as error:
            raise DeviceLostError(f"the device cannot be used any more: {error}") from None

    def _send_and_receive(self, request: Request, timeout_s: float) -> Any:
        self._send(request)
        return self._receive(timeout_s, "it did not answer")

    def _send(self, request: Request) -> None:
        _ = self.target  # the first message of the process reports whether the device is open
        if self._has_unread_answer:
            self._discard_answer()
        try:
            self._connection.send(request)
            self._has_unread_answer = True
        except OSError:
            raise WorkerLostError(self._how_it_ended(), has_died=True) from None

    def _discard_answer(self) -> None:
        """Read the answer to a request whose thread was stopped while it waited.

        Raises:
            WorkerLostError: the process cannot answer further requests. The next request is not to blame.
        """
        try:
            answer = self._read_answer(self.timeout_s or TIMEOUT_S, "it did not answer")
        except WorkerLostError as error:
            raise WorkerLostError(str(error), has_died=True) from None
        if isinstance(answer, DeviceBroken):
            raise WorkerLostError(answer.reason, has_died=True)

    def _receive(self, timeout_s: float, failure: str) -> Any:
        """Return the value of the next answer.

        Raises:
            WorkerLostError: there is no answer in time, or the device is broken.
            CudammError: the request failed.
        """
        return value_of(self._read_answer(timeout_s, failure))

    def _read_answer(self, timeout_s: float, failure: str) -> Answer:
        """Return the next answer.

        Args:
            failure: begins the message if there is no answer in time.

        Raises:
            WorkerLostError: there is no answer in time.
        """
        try:
            start = time.monotonic()
            while not self._connection.poll(STEP_S):
                stop_if_asked()
                waited_s = time.monotonic() - start
                if waited_s >= timeout_s and not self._is_delayed(timeout_s, waited_s):
                    raise WorkerLostError(f"{failure}: it hangs, or needs longer than that", is_hang=True)
            answer: Answer = self._connection.recv()
        except (EOFError, OSError):
            raise WorkerLostError(self._how_it_ended(), has_died=True) from None
        self._has_unread_answer = False
        return answer

    def _is_delayed(self, timeout_s: float, waited_s: float) -> bool:
        # On a GPU a kernel needs no time of the processor.
        return self._spec == "cpu" and is_delayed(self._process.pid, timeout_s, waited_s)

    def _how_it_ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        status = self._process.returncode
        if status is None:
            return "the process that runs kernels stopped answering"
        how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
        return f"the process that runs kernels {how}"
