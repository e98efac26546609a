"""The GPUs of this machine as NVML lists them, in some milliseconds; the driver may take a second to start.

NVML numbers the GPUs in another order than the driver, and lists those that CUDA_VISIBLE_DEVICES hides too.
It is called through ctypes, because processes ask it before they import anything long.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import NamedTuple

_NAME_BYTES = 96
"""NVML_DEVICE_NAME_V2_BUFFER_SIZE of nvml.h."""


class ListedGpu(NamedTuple):
    """A GPU that NVML lists.

    Attributes:
        name: the GPU's name, such as `NVIDIA H200`; empty if NVML does not tell it.
        arch: the architecture, such as `sm_90`; empty if NVML does not tell it.
        is_divided: whether the GPU is divided into instances (MIG), which the driver lists instead.
    """

    name: str
    arch: str
    is_divided: bool


def listed_gpus() -> list[ListedGpu]:
    """Return the GPUs that NVML lists; an empty list if NVML cannot be used.

    A later initialisation of NVML in this process takes no time.
    """
    with contextlib.suppress(OSError, AttributeError):
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        count = ctypes.c_uint()
        if nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0:
            return [_listed(nvml, number) for number in range(count.value)]
    return []


def are_alike(gpus: Sequence[ListedGpu]) -> bool:
    """Return whether there are GPUs, and no order of them matters, because the driver names all the same."""
    return len(set(gpus)) == 1 and gpus[0].name != "" and not gpus[0].is_divided


def _listed(nvml: ctypes.CDLL, number: int) -> ListedGpu:
    gpu, name = ctypes.c_void_p(), ctypes.create_string_buffer(_NAME_BYTES)
    major, minor, current, pending = (ctypes.c_int() for _ in range(4))
    if nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(gpu)):
        return ListedGpu("", "", is_divided=False)
    has_name = nvml.nvmlDeviceGetName(gpu, name, len(name)) == 0
    has_arch = nvml.nvmlDeviceGetCudaComputeCapability(gpu, ctypes.byref(major), ctypes.byref(minor)) == 0
    # This call fails on GPUs that cannot be divided.
    is_known = nvml.nvmlDeviceGetMigMode(gpu, ctypes.byref(current), ctypes.byref(pending)) == 0
    return ListedGpu(
        name.value.decode(errors="replace") if has_name else "",
        f"sm_{major.value}{minor.value}" if has_arch else "",
        is_divided=is_known and current.value == 1,
    )
