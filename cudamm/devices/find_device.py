"""Find and open the device that a user names."""

from __future__ import annotations

import ctypes
import dataclasses
import difflib
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cudamm.devices import visible_gpu
from cudamm.devices.device import Device, DeviceInfo
from cudamm.devices.named_devices import names_several
from cudamm.errors import NoDeviceError, UsageError
from cudamm.kernels.named_gpus import known_gpu

if TYPE_CHECKING:
    from cudamm.devices.gpu_device import GpuDevice

_GPU = re.compile(r"gpu(?::(\d{1,3}))?")


def find(spec: str = "auto") -> Device[Any]:
    """Open `gpu`, `gpu:1`, `cpu`, or `auto`: the first GPU if there is one, else the CPU.

    Raises:
        UsageError: the name means no device.
        NoDeviceError: a GPU is requested and cannot be used; NoSuchGpuError if it does not exist.
    """
    if gpu_index(spec) is None:
        return host()
    try:
        return find_gpu(spec)
    except NoDeviceError as error:
        if spec != "auto":
            raise type(error)(f"{error}; --device cpu needs no GPU") from None
        device = host()
        if is_left_out():
            device.info = dataclasses.replace(device.info, note=f"no GPU is used: {error}")
        return device


def gpu_index(spec: str) -> int | None:
    """Return the number of the GPU that a device's name means: 0 for `auto`; None for `cpu`.

    Raises:
        UsageError: the name means no device.
    """
    if spec in ("auto", "cpu"):
        return 0 if spec == "auto" else None
    if names_several(spec):
        raise UsageError(
            f"--device {spec} names several devices, and this command uses one: name it, such as gpu:0; "
            "sweep, tune, bench, verify and reproduce share their work among several"
        )
    match = _GPU.fullmatch(spec)
    if match:
        return int(match[1] or 0)
    if known_gpu(spec):
        raise UsageError(
            f"--device names a device of this machine; occupancy and roofline calculate for --gpu {spec}"
        )
    near = difflib.get_close_matches(spec, ("auto", "cpu", "gpu", "gpu:0"), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(f"unknown device {spec}: {hint}there are auto, cpu, gpu, gpu:1, …")


def is_left_out() -> bool:
    """Return whether this machine has a GPU that CUDA_VISIBLE_DEVICES does not hide.

    If such a GPU cannot be used, the user is told why.
    """
    return any(Path("/dev").glob("nvidia[0-9]*")) and not visible_gpu.are_hidden()


def has_driver() -> bool:
    """Return whether NVIDIA's driver is installed, without starting it."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def find_gpu(spec: str = "auto") -> GpuDevice:
    """Open a GPU; `auto` is the first GPU.

    Raises:
        NoDeviceError: the GPU cannot be used.
        UsageError: the name means no GPU.
    """
    from cudamm.devices.gpu_device import GpuDevice

    index = gpu_index(spec)
    if index is None:
        raise UsageError(f"this needs a GPU, and {spec} is not one: omit --device, or use gpu or gpu:1")
    return GpuDevice(index)


def every() -> tuple[list[DeviceInfo], str]:
    """Return the description of every device of this machine, and the reason if there is no GPU."""
    infos: list[DeviceInfo] = []
    missing = ""
    try:
        from cudamm.devices.gpu_device import gpu_count

        for index in range(gpu_count()):
            with find_gpu(f"gpu:{index}") as device:
                infos.append(device.info)
    except NoDeviceError as error:
        missing = str(error)
    return [*infos, host().info], missing


@functools.cache
def host() -> Device[Any]:
    """Return the CPU device, which also runs the host's own methods beside a GPU."""
    from cudamm.devices.cpu_device import CpuDevice

    return CpuDevice()
