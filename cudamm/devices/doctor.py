"""Whether `bench` can run on this machine, what stops it, and what would spoil its times.

Each check is a row of CHECKS. A check takes what is known of the machine, looks at one more thing there, and
yields what that means for bench.
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
    ("C++ compiler", machine_checks.host_compiler, ()),
    ("GPU's state", gpu_checks.gpu_state, (KernelError,)),
    ("environment", machine_checks.environment, ()),
    ("cache folder", machine_checks.folder_for_cache, ()),
    ("temporary folder", machine_checks.folder_for_temporary_files, ()),
    ("shared memory", machine_checks.shared_memory, ()),
    ("host memory", machine_checks.host_memory, (KernelError,)),
    ("processor", machine_checks.processor, (OSError,)),
)
"""Subject, check, and the exceptions to expect of it on a faulty machine; any other is a bug of ours.

A check itself catches exceptions that have advice of their own. Rows stand in the order in which to mend
things.
"""


def examine(spec: str = "auto") -> list[Diagnosis]:
    """Look at everything that bench on a device needs, or that changes its times.

    Args:
        spec: the device, as `--device` takes it.

    Raises:
        UsageError: the name means no device.
    """
    index = find_device.gpu_index(spec)
    pycuda = gpu_checks.find_pycuda()
    gpu = next((gpu for gpu in pycuda.gpus if gpu.index == index), None)
    # If there is a GPU, `auto` means that GPU, working or not.
    on_gpu = spec != "cpu" and (spec != "auto" or bool(pycuda.gpus) or find_device.is_left_out())
    machine = Machine(on_gpu, gpu_checks.find_driver(), pycuda, gpu)
    found: list[Diagnosis] = []
    for subject, check, expected in CHECKS:
        try:
            found += check(machine)
        except expected as error:
            found.append(Diagnosis(subject, "warning", f"could not be looked at ({on_one_line(error)})"))
    # Last, when all that NVML says has been read: opening the device wakes the GPU.
    return [*found, _verdict(spec, machine, found)]


def _verdict(spec: str, machine: Machine, others: Sequence[Diagnosis]) -> Diagnosis:
    """Open the device as bench does, and say whether bench can run on it."""
    errors = [diagnosis for diagnosis in others if diagnosis.status == "error"]
    opened, failure = _open(spec, machine)
    if failure:
        is_advised = any(error.advice for error in errors)
        return Diagnosis("bench", "error", failure, "" if is_advised else failure)
    if errors:
        return Diagnosis("bench", "error", f"cannot run on {opened}: {', '.join(e.subject for e in errors)}")
    return Diagnosis("bench", "ok", f"can run on {opened}")


def _open(spec: str, machine: Machine) -> tuple[str, str]:
    """Return the name of the device, and why it cannot be opened; one of the two is empty."""
    if machine.on_gpu and machine.pycuda.failure:
        return "", f"{machine.pycuda.failure}; --device cpu does without"
    expected: tuple[type[Exception], ...] = (NoDeviceError, KernelError)
    if "pycuda.driver" in sys.modules:
        expected += (sys.modules["pycuda.driver"].Error,)
    try:
        with find_device.find(spec) as device:
            info = device.info
    except expected as error:
        return "", on_one_line(error)
    # `auto` falls back to the CPU device if the GPU cannot be used, and notes why.
    return ("", info.note) if info.note else (f"{info.spec}, {info.name}", "")
