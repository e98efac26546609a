"""An executor in a process of its own, which owns the device: what a kernel breaks there costs one row.

The two talk through a socket: a method's name and arguments there, its value or its error back. The process
is started again where it dies, says that its device is broken, or does not answer in time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from cudamm.errors import KernelError, NoDeviceError, signal_name
from cudamm.execution.executor import Batch, Executor, Facts

# The process is started first of all, so that what both need to import is imported at the same time.
if TYPE_CHECKING:
    from cudamm.devices.device import Target
    from cudamm.execution.case import Case, Verdict

START_TIMEOUT_S = 120
"""For a driver to come up; the first context after a boot can take a while."""

HOST_WORK_TIMEOUT_S = 3600
"""For making inputs and references, which no kernel can hold up."""


class WorkerExecutor(Executor):
    """Runs cases in another process."""

    def __init__(
        self, device_spec: str, timeout_s: float, expected: tuple[str, str, int] | None = None
    ) -> None:
        """Begin to open a device there; `target` says what came of it.

        Args:
            device_spec: as `find_device.find` takes it.
            timeout_s: how long a kernel may take to answer.
            expected: size, element type and seed of a problem that will be asked for, to be made meanwhile.
        """
        self._spec = device_spec
        self._timeout_s = timeout_s
        self._target: Target[Any] | None = None
        self._facts: Facts | None = None
        self._sent: set[int] = set()
        self._start(*map(str, expected or ()))

    def _start(self, *expected: str) -> None:
        ours, theirs = socket.socketpair()
        command = [
            sys.executable,
            "-m",
            "cudamm.execution.worker_process",
            self._spec,
            str(theirs.fileno()),
            str(os.getpid()),
        ]
        try:
            self._process = subprocess.Popen(
                [*command, *expected],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a kernel prints must not end up among the tables
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for this process to handle
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._connection = Connection(ours.detach())
        self._sent.clear()

    @property
    def target(self) -> Target[Any]:
        """The device, once it is open.

        Raises:
            UsageError, NoDeviceError: as `find_device.find` does.
        """
        if self._target is None:
            self._target = self._started()
            self._spec = self._target.info.spec  # what `auto` found stays the choice
        return self._target

    def _started(self) -> Target[Any]:
        try:
            target: Target[Any] = self._answer(START_TIMEOUT_S, "it did not start")
            return target
        except KernelError as error:
            self.close()
            raise NoDeviceError(f"the process that is to run kernels did not start: {error}") from None
        except BaseException:
            self.close()
            raise

    def _restart(self) -> None:
        self.close()
        self._start()
        self._started()

    def free_bytes(self) -> int:
        """Of the device."""
        free: int = self._ask("free_bytes")
        return free

    def facts(self) -> Facts:
        """Asked once: they are the device's, not the process's."""
        if self._facts is None:
            self._facts = self._ask("facts")
        return self._facts

    def verify(self, case: Case, thread_order: bool) -> Verdict:
        """Launch a case and judge its product."""
        self._ask("make_ready", case.problem)
        verdict: Verdict = self._launch("verify", case, thread_order)
        return verdict

    def sample(self, case: Case, samples: int, launches: int, cold: bool, check: bool) -> Batch:
        """Time a case."""
        batch: Batch = self._launch("sample", case, samples, launches, cold, check)
        return batch

    def release(self) -> None:
        """Give up the matrices of the problem that was run last."""
        self._sent.clear()
        self._ask("release")

    def dismiss(self) -> None:
        """Have the process end; a driver needs a tenth of a second to take back what it had."""
        if self._connection.closed:
            return
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """End the process, and with it all that runs there."""
        self.dismiss()
        self._process.wait()

    def _launch(self, method: str, case: Case, *arguments: Any) -> Any:
        """Ask for something that launches a kernel: it may crash, or never end."""
        known = case.position in self._sent
        try:
            self._send((method, (case.position, None if known else case, *arguments)))
            answer = self._answer(self._timeout_s, f"no answer within {self._timeout_s:g} s (--timeout)")
        except _WorkerGone as error:
            # Whatever it was, the next case gets a process in which nothing is broken.
            self._restart()
            raise KernelError(str(error)) from None
        self._sent.add(case.position)
        return answer

    def _ask(self, method: str, *arguments: Any) -> Any:
        """Ask for something that launches nothing of a user's; if the process is gone, of a new one."""
        for again in (False, True):
            try:
                self._send((method, arguments))
                return self._answer(HOST_WORK_TIMEOUT_S, "it did not answer")
            except _WorkerGone as error:
                if again:
                    raise NoDeviceError(f"the device cannot be used any more: {error}") from None
                self._restart()
        raise AssertionError("unreachable")

    def _send(self, message: object) -> None:
        _ = self.target  # its first answer says how it started
        try:
            self._connection.send(message)
        except OSError:
            raise _WorkerGone(self._ending()) from None

    def _answer(self, timeout_s: float, too_late: str) -> Any:
        """The next answer. Raises _WorkerGone where there will be none, or the process is of no more use."""
        try:
            if not self._connection.poll(timeout_s):
                raise _WorkerGone(f"{too_late}: it hangs, or needs longer than that")
            kind, value = self._connection.recv()
        except (EOFError, OSError):
            raise _WorkerGone(self._ending()) from None
        if kind == "value":
            return value
        if kind == "broken":
            raise _WorkerGone(str(value))
        raise value

    def _ending(self) -> str:
        """How the process ended, in words."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        status = self._process.returncode
        if status is None:
            return "the process that runs kernels stopped answering"
        how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
        return f"the process that runs kernels {how}"


class _WorkerGone(KernelError):
    """The process died, hangs, or has a device that answers nothing any more."""
