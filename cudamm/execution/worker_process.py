"""The worker process, which owns the device and answers the requests of a `WorkerExecutor`.

Only `WorkerExecutor` starts it:
python -m cudamm.execution.worker_process DEVICE SOCKET PARENT [SIZE TYPE SEED INPUTS]
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

from cudamm.devices import visible_gpu
from cudamm.devices.listed_gpus import ListedGpu, are_alike, listed_gpus
from cudamm.execution.driver_turn import driver_turn

_CAPABILITY = (75, 76)
"""CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR of cuda.h."""

_may_open_device = threading.Event()
"""Set when the driver is initialised, or is not needed, or does not work."""


def _prepare(device_spec: str, element_name: str = "float32") -> None:
    """Initialise the driver, and make the GPU's primary context, which PyCUDA will use.

    Meanwhile another thread compiles cudamm's own kernels. A failure repeats when the GPU is opened, or when
    the kernels are loaded, and is reported then.

    Args:
        element_name: type of the first problem; if it is not known, the type that most problems have.
    """

    def compile_meanwhile(arch: str) -> None:
        threading.Thread(target=_compile_own_modules, args=(arch, element_name), daemon=True).start()

    cuda, index, arch = None, 0, ""
    with contextlib.ExitStack() as turn:  # until the context is made
        try:
            kind, _, number = device_spec.partition(":")
            if kind in ("gpu", "auto") and (number or "0").isdecimal():
                index = int(number or 0)
                # The order of NVML's list is not the driver's, so only what it tells of all GPUs can be used.
                gpus = [] if visible_gpu.are_hidden() else listed_gpus()
                if len({gpu.arch for gpu in gpus}) == 1 and gpus[0].arch:
                    arch = gpus[0].arch
                    compile_meanwhile(arch)
                turn.enter_context(driver_turn())
                cuda = _started_driver(index, gpus)
        finally:
            _may_open_device.set()
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if cuda is None or cuda.cuDeviceGet(ctypes.byref(device), visible_gpu.driver_number(index)):
            return
        if not arch:
            capability = [ctypes.c_int(), ctypes.c_int()]
            for value, attribute in zip(capability, _CAPABILITY, strict=True):
                cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
            compile_meanwhile("sm_{}{}".format(*(value.value for value in capability)))
        cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)


def _started_driver(index: int, gpus: Sequence[ListedGpu]) -> ctypes.CDLL | None:
    """Return the driver, initialised, which shows only one GPU if that is safe; None if it does not work.

    Args:
        gpus: this machine's GPUs, as NVML lists them.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    is_only = are_alike(gpus) and visible_gpu.show_only(index, len(gpus))
    if cuda.cuInit(0) == 0:
        return cuda
    if is_only:  # the driver has fewer GPUs than NVML lists
        visible_gpu.restore()
        return cuda if cuda.cuInit(0) == 0 else None
    return None


def _compile_own_modules(arch: str, element_name: str) -> None:
    from cudamm.devices.own_module import compile_own_modules
    from cudamm.errors import NoDeviceError
    from cudamm.kernels.method import ELEMENT_TYPES

    with contextlib.suppress(NoDeviceError, KeyError):  # an unknown type
        compile_own_modules(arch, ELEMENT_TYPES[element_name])


if __name__ == "__main__":
    # The driver takes as long to start as the imports below, so both run at the same time.
    threading.Thread(target=_prepare, args=(sys.argv[1], *sys.argv[5:6]), daemon=True).start()
    # With the default of 5 ms, threads that make matrices would often wait for a thread that imports modules.
    sys.setswitchinterval(0.0005)

from cudamm.compile.process_group import end_with_parent  # noqa: E402
from cudamm.devices import find_device  # noqa: E402
from cudamm.errors import CudammError  # noqa: E402
from cudamm.execution.in_process_executor import Expected, InProcessExecutor  # noqa: E402
from cudamm.execution.process_protocol import RequestHandler, Success, answer_to  # noqa: E402
from cudamm.kernels.input_kinds import named_kind  # noqa: E402
from cudamm.kernels.method import ELEMENT_TYPES  # noqa: E402
from cudamm.kernels.problem import Problem, parse_shape  # noqa: E402


def _serve(connection: Connection, handler: RequestHandler) -> None:
    """Answer requests until the other end of the connection is closed."""
    while True:
        try:
            request = connection.recv()
        except (EOFError, OSError):  # closed, perhaps in the middle of a request
            return
        connection.send(handler.answer(request))


def _mute() -> None:
    """Close standard error: PyCUDA prints a line for each allocation that a broken context cannot free."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _expected(size: str, dtype: str, seed: str, inputs: str) -> Expected | None:
    """Start to make a problem's matrices; return None if the arguments describe no problem.

    The request for the problem then reports the mistake.
    """
    try:
        shape, element = parse_shape(size), ELEMENT_TYPES[dtype]
        problem = Problem(shape, element, int(seed), input_kind=named_kind(inputs))
        problem.check_inputs()
        return Expected(problem)
    except (CudammError, KeyError):
        return None


def _main(device_spec: str, handle: str, parent: str, *problem: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A killed parent cannot end this process, and during an endless kernel this process cannot notice.
    if not end_with_parent(int(parent)):
        return
    connection = Connection(int(handle))
    # The CPU device needs no time to open in which a problem could be made.
    expected = _expected(*problem) if problem and device_spec != "cpu" else None
    with contextlib.suppress(ConnectionError):  # the parent is gone
        _may_open_device.wait()
        opened = answer_to(lambda: find_device.find(device_spec))
        if not isinstance(opened, Success):
            connection.send(opened)
            return
        with opened.value as device:
            connection.send(Success(device.target()))
            device.when_broken = _mute
            # The parent process plans and compiles at the same time.
            threading.Thread(target=device.prepare_to_load, daemon=True).start()
            executor = InProcessExecutor(device, expected)
            _serve(connection, RequestHandler(executor))
            executor.close()


if __name__ == "__main__":
    _main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(0)  # threads may still make matrices, or compile
