"""Find out whether `bench` can run on this machine, what prevents it, and what would disturb its times.

Each check is a row of CHECKS. A check takes the state of the machine, examines one more part of the machine,
and yields diagnoses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from cudamm.devices import find_device, gpu_checks, machine_checks
from cudamm.devices.diagnosis import Diagnosis, Machine, on_one_line
from cudamm.errors import KernelError, NoDeviceError

Check = Callable[[Machine], Iterable[Diagnosis]]

CHECKS: tuple[tuple[str, Check, tuple[type[Exception], ...]], ...] = (
    ("Python", machine_checks.python, ()),
    ("NVIDIA driver", gpu_checks.driver, ()),
    ("PyCUDA", gpu_checks.pycuda, ()),
    ("nvidia-ml-py", gpu_checks.nvidia_ml_py, (KernelError,)),
    ("nvmath-python", gpu_checks.nvmath_python, ()),
    ("nvcc", gpu_checks.nvcc, ()),
    ("nvdisasm", gpu_checks.nvdisasm, ()),
    ("C++ compiler", machine_checks.host_compiler, ()),
    ("GPU's state", gpu_checks.gpu_state, (KernelError,)),
    ("environment", machine_checks.environment, ()),
    ("cache folder", machine_checks.folder_for_cache, ()),
    ("temporary folder", machine_checks.folder_for_temporary_files, ()),
    ("shared memory", machine_checks.shared_memory, ()),
    ("host memory", machine_checks.host_memory, (KernelError,)),
    ("processor", machine_checks.processor, (OSError,)),
)
"""Subject, check, and the exceptions that the check may raise on a faulty machine.

A check itself catches exceptions for which it has advice. The rows are in the order in which to fix problems.
"""


def examine(spec: str = "auto") -> list[Diagnosis]:
    """Check everything that bench on a device needs, and everything that changes its times.

    Args:
        spec: the device's name for `--device`.

    Raises:
        UsageError: the name means no device.
    """
    index = find_device.gpu_index(spec)
    pycuda = gpu_checks.find_pycuda()
    gpu = next((gpu for gpu in pycuda.gpus if gpu.index == index), None)
    # If there is a GPU, `auto` means that GPU, whether it works or not.
    on_gpu = spec != "cpu" and (spec != "auto" or bool(pycuda.gpus) or find_device.is_left_out())
    machine = Machine(on_gpu, gpu_checks.find_driver(), pycuda, gpu)
    found: list[Diagnosis] = []
    for subject, check, expected in CHECKS:
        try:
            found += check(machine)
        except expected as error:
            found.append(Diagnosis(subject, "warning", f"could not be checked ({on_one_line(error)})"))
    # Opening the device changes the GPU's clock and power, so the checks have read them before.
    return [*found, _verdict(spec, machine, found)]


def _verdict(spec: str, machine: Machine, found: Sequence[Diagnosis]) -> Diagnosis:
    """Open the device as bench does, and return a diagnosis of whether bench can run on it."""
    errors = [diagnosis for diagnosis in found if diagnosis.status == "error"]
    opened, failure = _open(spec, machine)
    if failure:
        is_advised = any(error.advice for error in errors)
        return Diagnosis("bench", "error", failure, "" if is_advised else failure)
    if errors:
        return Diagnosis("bench", "error", f"cannot run on {opened}: {', '.join(e.subject for e in errors)}")
    return Diagnosis("bench", "ok", f"can run on {opened}")


def _open(spec: str, machine: Machine) -> tuple[str, str]:
    """Return the name of the device, and the reason why it cannot be opened; one of the two is empty."""
    if machine.on_gpu and machine.pycuda.failure:
        return "", f"{machine.pycuda.failure}; --device cpu needs no GPU"
    expected: tuple[type[Exception], ...] = (NoDeviceError, KernelError)
    if "pycuda.driver" in sys.modules:
        expected += (sys.modules["pycuda.driver"].Error,)
    try:
        with find_device.find(spec) as device:
            info = device.info
    except expected as error:
        return "", on_one_line(error)
    # If the GPU cannot be used, `auto` falls back to the CPU device, whose note contains the reason.
    return ("", info.note) if info.note else (f"{info.spec}, {info.name}", "")
