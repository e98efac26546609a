"""The devices that the option `--device` names: one, or several of one or more kinds."""

from __future__ import annotations

import ctypes
import os
import re
from dataclasses import dataclass

from cudamm.devices import visible_gpu
from cudamm.devices.listed_gpus import are_alike, listed_gpus
from cudamm.errors import NoDeviceError, UsageError

ALL = "all"
"""Value of `--device` that means every GPU of this machine."""

_NUMBERS = re.compile(r"gpu:\d{1,3}(?:,\d{1,3})*")
"""A list of GPUs with their numbers alone, such as `gpu:0,2`."""


@dataclass(frozen=True)
class DeviceKind:
    """Devices whose times may be compared after a final measurement on one of them: those with one name.

    Attributes:
        name: the name of each of the devices; empty if `--device` names a single device, which is not asked.
        specs: the name of each device for `--device`.
    """

    name: str
    specs: tuple[str, ...]


def names_several(spec: str) -> bool:
    """Return whether the value of `--device` is a list, or `all`."""
    return spec == ALL or "," in spec


def named_kinds(spec: str) -> list[DeviceKind]:
    """Return the kinds of devices that `--device` names, in the order of their first devices.

    Args:
        spec: one device; or a list such as `gpu:0,2`, `gpu:0,gpu:2` or `cpu,cpu`; or `all`.

    Raises:
        UsageError: a name means no device, or a GPU is named twice.
        NoDeviceError: GPUs are named, and the driver has no such GPU.
    """
    if not names_several(spec):
        return [DeviceKind("", (spec,))]
    names = _gpu_names() if spec == ALL or "gpu" in spec else []
    specs = [f"gpu:{index}" for index in range(len(names))] if spec == ALL else _listed(spec)
    kinds: dict[str, list[str]] = {}
    for listed in specs:
        if listed == "cpu":
            kinds.setdefault("cpu", []).append(listed)
            continue
        index = int(listed.removeprefix("gpu:"))
        if index >= len(names):
            raise NoDeviceError(
                f"--device {spec}: there is no {listed}, this machine has {len(names)}; "
                "cudamm devices lists them"
            )
        if listed in kinds.get(names[index], ()):
            raise UsageError(f"--device {spec} names {listed} twice: name each GPU once")
        kinds.setdefault(names[index], []).append(listed)
    return [DeviceKind(name, tuple(specs)) for name, specs in kinds.items()]


def _listed(spec: str) -> list[str]:
    """Return the names in a list of devices."""
    items = spec.split(",")
    if _NUMBERS.fullmatch(spec):
        items = [items[0], *(f"gpu:{number}" for number in items[1:])]
    wrong = [item for item in items if item != "cpu" and not re.fullmatch(r"gpu:\d{1,3}", item)]
    if wrong:
        raise UsageError(
            f"--device {spec}: {wrong[0] or 'an empty name'} is not a device of a list; "
            "write gpu:0,2 or all, or cpu,cpu for several processes on the processor"
        )
    return [item if item == "cpu" else f"gpu:{int(item.removeprefix('gpu:'))}" for item in items]


def _gpu_names() -> list[str]:
    """Return the name of each GPU, without opening one.

    Raises:
        NoDeviceError: there is no driver or no GPU.
    """
    listed = [] if visible_gpu.VARIABLE in os.environ else listed_gpus()
    return [gpu.name for gpu in listed] if are_alike(listed) else _names_of_driver()


def _names_of_driver() -> list[str]:
    """Return the name of each GPU from the driver.

    Raises:
        NoDeviceError: there is no driver or no GPU.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoDeviceError(
            "there is no NVIDIA driver here: install it on a machine with a GPU, then run make setup"
        ) from None
    count = ctypes.c_int()
    status = cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(count))
    if status or not count.value:
        reason = f"the driver answers with error {status}" if status else "the driver finds none"
        raise NoDeviceError(f"no GPU can be used ({reason}): run cudamm doctor")
    return [_name_of(cuda, index) for index in range(count.value)]


def _name_of(cuda: ctypes.CDLL, index: int) -> str:
    device, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    if cuda.cuDeviceGet(ctypes.byref(device), index) or cuda.cuDeviceGetName(name, len(name), device):
        raise NoDeviceError(f"the driver does not name gpu:{index}: run cudamm doctor")
    return name.value.decode(errors="replace")
