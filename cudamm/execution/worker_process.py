"""The process behind a `WorkerExecutor`: owns the device, and answers until nobody asks any more.

Started by `worker` alone: python -m cudamm.execution.worker_process DEVICE SOCKET PARENT [SIZE TYPE SEED]
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any


def _wake_nvml() -> None:
    """Have NVML come up too; it stays up for whoever asks for it again."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libnvidia-ml.so.1").nvmlInit_v2()


def _wake_driver(device_spec: str) -> None:
    """Have the driver come up and make the GPU's primary context; whoever opens the GPU finds it there.

    What fails here fails again there, and is reported there.
    """
    kind, _, index = device_spec.partition(":")
    if kind not in ("gpu", "auto") or not (index or "0").isdecimal():
        return
    threading.Thread(target=_wake_nvml, daemon=True).start()
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGet(ctypes.byref(device), int(index or 0)) == 0:
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


if __name__ == "__main__":
    # The driver takes as long to come up as the imports below.
    threading.Thread(target=_wake_driver, args=sys.argv[1:2], daemon=True).start()
    # Threads that make matrices while others import would wait 5 ms for the interpreter, often.
    sys.setswitchinterval(0.0005)

from cudamm.devices import find_device  # noqa: E402
from cudamm.errors import CudammError, KernelError  # noqa: E402
from cudamm.execution.case import Case, Verdict  # noqa: E402
from cudamm.execution.executor import Batch, Facts  # noqa: E402
from cudamm.execution.in_process import Expected, InProcessExecutor  # noqa: E402
from cudamm.kernels.method import ELEMENT_TYPES  # noqa: E402
from cudamm.kernels.problem import Problem, parse_shape  # noqa: E402

PR_SET_PDEATHSIG = 1


class _Answers:
    """What a `WorkerExecutor` may ask for."""

    def __init__(self, connection: Connection, here: InProcessExecutor) -> None:
        self._connection = connection
        self._here = here
        self._cases: dict[int, Case] = {}

    def serve(self) -> None:
        """Answer until nobody asks any more."""
        while True:
            try:
                method, arguments = self._connection.recv()
            except (EOFError, OSError):  # nobody does, or not any more amid a question
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

    def verify(self, position: int, case: Case | None, thread_order: bool) -> Verdict:
        return self._here.verify(self._case(position, case), thread_order)

    def sample(self, position: int, case: Case | None, *how: Any) -> Batch:
        return self._here.sample(self._case(position, case), *how)

    def release(self) -> None:
        self._cases.clear()
        self._here.release()

    def _case(self, position: int, case: Case | None) -> Case:
        if case is not None:
            self._cases[position] = case
        return self._cases[position]


def _mute() -> None:
    """PyCUDA remarks on all that cannot be freed any more; this process is about to be replaced."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _expected(size: str, dtype: str, seed: str) -> Expected | None:
    """A problem in the making; None where there is none such, which is reported where it is asked for."""
    try:
        return Expected(Problem(parse_shape(size), ELEMENT_TYPES[dtype], int(seed)))
    except (CudammError, KeyError):
        return None


def _main(device_spec: str, handle: str, parent: str, *problem: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        # A parent that is killed cannot end this process, and a kernel may never let it see that.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != int(parent):
            return
    connection = Connection(int(handle))
    # The CPU device is open at once, and its references are NumPy's.
    expected = _expected(*problem) if problem and device_spec != "cpu" else None
    with contextlib.suppress(ConnectionError):  # nobody is there to be answered
        try:
            device = find_device.find(device_spec)
        except CudammError as error:
            connection.send(("error", error))
            return
        with device:
            connection.send(("value", device.target()))
            device.when_broken = _mute
            # Meanwhile the other process plans and compiles.
            threading.Thread(target=device.prepare_to_load, daemon=True).start()
            _Answers(connection, InProcessExecutor(device, expected)).serve()


if __name__ == "__main__":
    _main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(0)  # a thread that still makes matrices would complain that it cannot go on
