"""The architectures of a request, chosen by name or by this machine's GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cudamm.api.defaults import OCCUPANCY_ARCH
from cudamm.errors import NoDeviceError

if TYPE_CHECKING:
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.architecture import Architecture


def chosen_architectures(
    names: Sequence[str], device_spec: str, multiprocessors: int | None, to_compile: bool
) -> tuple[list[Architecture], DeviceInfo]:
    """Return the chosen architectures, and the device under which records and tables list them.

    Args:
        to_compile: True if kernels are to be compiled; `all` then means all architectures of nvcc.

    Raises:
        UsageError: an architecture does not exist.
        NoDeviceError: `device_spec` names a GPU and there is none, or no nvcc compiles for an architecture.
    """
    from cudamm.devices.device import DeviceInfo
    from cudamm.devices.find_device import find_gpu, is_left_out
    from cudamm.kernels.architecture import ARCHITECTURES, find_architecture

    missing = "no GPU here"
    if not names:
        try:
            with find_gpu(device_spec) as device:
                return [_sized(device.architecture, multiprocessors)], device.info
        except NoDeviceError as error:
            if device_spec != "auto":
                raise
            missing = f"no GPU is used ({error})" if is_left_out() else missing
    found: dict[Architecture, None] = {}
    for name in ",".join(names or [OCCUPANCY_ARCH]).split(","):
        every = name.strip().lower() == "all"
        for architecture in ARCHITECTURES.values() if every else [find_architecture(name)]:
            if not (every and to_compile and not _can_compile(architecture)):
                found[_sized(architecture, multiprocessors)] = None
    architectures = list(found)
    note = ""
    if to_compile:
        architectures, note = _that_compile(architectures)
    shown = ", ".join(map(str, architectures))
    if not names:
        note = f"{missing}, so results are for {shown}; choose another with --arch"
    info = DeviceInfo("architecture", ",".join(a.name for a in architectures), shown, note=note)
    return architectures, info


def _that_compile(architectures: Sequence[Architecture]) -> tuple[list[Architecture], str]:
    """Return the architectures for which nvcc compiles, and a remark on the others, which is empty for none.

    Raises:
        NoDeviceError: there is no nvcc, or it compiles for none of them.
    """
    from cudamm.compile.nvcc_compiler import check_architecture, compiled_as

    refused: dict[Architecture, str] = {}
    for architecture in architectures:
        try:
            check_architecture(compiled_as(architecture.name))
        except NoDeviceError as error:
            refused[architecture] = str(error)
    advice = "--threads, --registers and --shared need no compiler"
    left = [architecture for architecture in architectures if architecture not in refused]
    if not left:
        architecture, reason = next(iter(refused.items()))
        raise NoDeviceError(f"{architecture}: {reason}; {advice}")
    others = ", ".join(map(str, refused))
    return left, f"left out: {others}, for which nvcc cannot compile; {advice}" if others else ""


def _can_compile(architecture: Architecture) -> bool:
    from cudamm.compile.nvcc_compiler import nvcc

    return architecture.name in nvcc().architectures


def _sized(architecture: Architecture, multiprocessors: int | None) -> Architecture:
    """Return the architecture with the given number of multiprocessors, if one is given."""
    if multiprocessors is None:
        return architecture
    return dataclasses.replace(architecture, gpu="a GPU", multiprocessors=multiprocessors)
