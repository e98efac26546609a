"""Opening the device that a user names."""

from __future__ import annotations

import difflib
import functools
import re
from typing import Any

from cudamm.devices.device import Device
from cudamm.errors import NoDeviceError, UsageError


def find(spec: str = "auto") -> Device[Any]:
    """Open `gpu`, `gpu:1`, `cpu`, or `auto`: the first GPU if there is one, else the CPU.

    Raises:
        UsageError: the name means no device.
        NoDeviceError: a GPU is asked for and none can be used.
    """
    if spec == "cpu":
        return host()
    match = re.fullmatch(r"gpu(?::(\d{1,3}))?", spec)
    if match:
        from cudamm.devices.gpu import GpuDevice

        return GpuDevice(int(match[1] or 0))
    if spec == "auto":
        try:
            return find("gpu")
        except NoDeviceError:
            return find("cpu")
    near = difflib.get_close_matches(spec, ("auto", "cpu", "gpu", "gpu:0"), n=1)
    raise UsageError(f"unknown device {spec}: {f'did you mean {near[0]}? ' if near else ''}there are auto, cpu, gpu, gpu:1, …")


@functools.cache
def host() -> Device[Any]:
    """The CPU device, which also runs the host's own methods beside a GPU."""
    from cudamm.devices.cpu import CpuDevice

    return CpuDevice()
