"""An executor in a process of its own, which owns the device: what a kernel breaks there costs one row.

The two talk through a socket: a method's name and arguments there, its value or its error back. The process
is started again where it dies, says that its device is broken, or does not answer in time.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any

from cudamm import devices
from cudamm.devices import Target
from cudamm.errors import CudammError, KernelError, NoDeviceError, signal_name
from cudamm.executor import Batch, Executor, Expected, Facts, Here
from cudamm.prepare import Prepared
from cudamm.problem import Problem
from cudamm.results import Verdict

START_TIMEOUT_S = 120
"""For a driver to come up; the first context after a boot can take a while."""

HOST_WORK_TIMEOUT_S = 3600
"""For making inputs and references, which no kernel can hold up."""

PR_SET_PDEATHSIG = 1


class Worker(Executor):
    """Runs cases in another process."""

    def __init__(self, device_spec: str, timeout_s: float, expected: Problem | None = None) -> None:
        """Open a device there.

        Args:
            device_spec: as `devices.find` takes it.
            timeout_s: how long a kernel may take to answer.
            expected: a problem that will be asked for, to be made while the device is opened.

        Raises:
            UsageError, NoDeviceError: as `devices.find` does.
        """
        self._spec = device_spec
        self._timeout_s = timeout_s
        self._facts: Facts | None = None
        self._sent: set[int] = set()
        self._start(expected)

    def _start(self, expected: Problem | None = None) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "cudamm.worker", self._spec, str(theirs.fileno()), str(os.getpid())],
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
        try:
            self._send(expected)
            self.target: Target[Any] = self._answer(START_TIMEOUT_S, "it did not start")
        except KernelError as error:
            self.close()
            raise NoDeviceError(f"the process that is to run kernels did not start: {error}") from None
        except BaseException:
            self.close()
            raise
        self._spec = self.target.info.spec  # what `auto` found stays the choice

    def free_bytes(self) -> int:
        """Of the device."""
        free: int = self._ask("free_bytes")
        return free

    def facts(self) -> Facts:
        """Asked once: they are the device's, not the process's."""
        if self._facts is None:
            self._facts = self._ask("facts")
        return self._facts

    def verify(self, case: Prepared, thread_order: bool) -> Verdict:
        """Launch a case and judge its product."""
        self._ask("make_ready", case.problem)
        verdict: Verdict = self._launch("verify", case, thread_order)
        return verdict

    def sample(self, case: Prepared, samples: int, launches: int, cold: bool, check: bool) -> Batch:
        """Time a case."""
        batch: Batch = self._launch("sample", case, samples, launches, cold, check)
        return batch

    def release(self) -> None:
        """Give up the matrices of the problem that was run last."""
        self._sent.clear()
        self._ask("release")

    def close(self) -> None:
        """End the process, and with it all that runs there."""
        self._connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _launch(self, method: str, case: Prepared, *arguments: Any) -> Any:
        """Ask for something that launches a kernel: it may crash, or never end."""
        known = case.position in self._sent
        try:
            self._send((method, (case.position, None if known else case, *arguments)))
            answer = self._answer(self._timeout_s, f"no answer within {self._timeout_s:g} s (--timeout)")
        except _WorkerGone as error:
            # Whatever it was, the next case gets a process in which nothing is broken.
            self.close()
            self._start()
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
                self.close()
                if again:
                    raise NoDeviceError(f"the device cannot be used any more: {error}") from None
                self._start()
        raise AssertionError("unreachable")

    def _send(self, message: object) -> None:
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


class _Inside:
    """The other end: answers what it is asked, on the device it owns."""

    def __init__(self, connection: Connection, here: Here) -> None:
        self._connection = connection
        self._here = here
        self._cases: dict[int, Prepared] = {}

    def serve(self) -> None:
        """Answer until nobody asks any more."""
        while True:
            try:
                method, arguments = self._connection.recv()
            except EOFError:
                return
            self._connection.send(self._answer(method, arguments))

    def _answer(self, method: str, arguments: Sequence[Any]) -> tuple[str, Any]:
        try:
            value = getattr(self, method)(*arguments)
            if isinstance(value, Verdict) and value.correct is False and not self._is_well():
                return "broken", value.reason
            return "value", value
        except KernelError as error:
            return ("error", KernelError(str(error))) if self._is_well() else ("broken", str(error))
        except CudammError as error:
            return "error", error
        except MemoryError:
            return "error", KernelError("out of memory: a smaller size would do")

    def _is_well(self) -> bool:
        """Whether the device still answers: after an illegal address nothing works in its context."""
        try:
            self._here.device.check()
        except KernelError:
            return False
        return True

    def free_bytes(self) -> int:
        return self._here.free_bytes()

    def facts(self) -> Facts:
        return self._here.facts()

    def make_ready(self, problem: Any) -> None:
        self._here.make_ready(problem)

    def verify(self, position: int, case: Prepared | None, thread_order: bool) -> Verdict:
        return self._here.verify(self._case(position, case), thread_order)

    def sample(self, position: int, case: Prepared | None, *how: Any) -> Batch:
        return self._here.sample(self._case(position, case), *how)

    def release(self) -> None:
        self._cases.clear()
        self._here.release()

    def _case(self, position: int, case: Prepared | None) -> Prepared:
        if case is not None:
            self._cases[position] = case
        return self._cases[position]


def _mute() -> None:
    """PyCUDA remarks on all that cannot be freed any more; this process is about to be replaced."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _main(device_spec: str, handle: str, parent: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # A parent that is killed cannot end this process, and a kernel may never let it see that.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            return
    connection = Connection(int(handle))
    problem = connection.recv()
    expected = None if problem is None else Expected(problem)
    try:
        device = devices.find(device_spec)
    except CudammError as error:
        connection.send(("error", error))
        return
    with device:
        connection.send(("value", device.target()))
        device.when_broken = _mute
        with contextlib.suppress(BrokenPipeError):  # nobody is there to be answered
            _Inside(connection, Here(device, expected)).serve()


if __name__ == "__main__":
    _main(*sys.argv[1:])
