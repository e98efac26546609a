"""Places that `best` is chosen for: a device, or an architecture without a device."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from cudamm.devices.device import Target
from cudamm.devices.gpu_device import GpuTarget
from cudamm.kernels.architecture import Architecture, find_architecture
from cudamm.kernels.launch_plan import Limits, limits_of
from cudamm.tuning.tuned_store import arch_of

SMALL_GPU = dataclasses.replace(find_architecture("sm_86"), gpu="a small GPU", multiprocessors=16)
"""GPU that the CPU device stands for; a small one, because small tiles are verified quickly."""


@dataclass(frozen=True)
class Place:
    """The device or architecture on which the chosen variant is to run.

    Attributes:
        device: name of the device; empty for an architecture without a device.
        arch: name under which `tune` stores entries: `sm_90`, or the machine type of the CPU device.
        architecture: architecture with the number of multiprocessors that tiles are counted for.
        limits: limits of a launch.
    """

    device: str
    arch: str
    architecture: Architecture
    limits: Limits


def of_target(target: Target[Any]) -> Place:
    """Return the place of a device that is open in this or another process."""
    architecture = target.architecture if isinstance(target, GpuTarget) else SMALL_GPU
    return Place(target.info.name, arch_of(target.info), architecture, target.limits)


def on_host(target: Target[Any], arch: str | None = None) -> Place:
    """Return the place of kernels that the CPU device executes for a GPU of an architecture.

    A launch has the limits of the older architecture: this one, or the newest that the CPU device supports.

    Args:
        target: the CPU device.
        arch: name of the architecture; None: the CPU device itself.

    Raises:
        UsageError: there is no such architecture.
    """
    if arch is None:
        return of_target(target)
    place = of_architecture(find_architecture(arch))
    architecture = min(
        place.architecture, find_architecture(target.limits.arch), key=lambda candidate: candidate.capability
    )
    return dataclasses.replace(place, limits=dataclasses.replace(place.limits, arch=architecture.name))


def of_architecture(architecture: Architecture, device: str = "") -> Place:
    """Return the place of an architecture.

    Args:
        device: the name of the GPU, if there is one.
    """
    return Place(device, architecture.name, architecture, limits_of(architecture))
