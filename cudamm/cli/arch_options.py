"""The architectures that `--arch` and `--device` choose."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from cloup import option_group

from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import Decorator, one_target
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.architecture import Architecture
    from cudamm.tuning.place import Place

DEFAULT = "sm_80"
"""Architecture if there is no GPU and none is named: that of the A100 in the PMPP notes."""


def architecture_options(*others: Decorator) -> Decorator:
    """Add `--arch`, `--sms`, `--carveout` and `others`."""
    return option_group(
        "Device",
        option(
            "--arch", "names", multiple=True, metavar="NAME",
            show_default=f"this machine's GPU, else {DEFAULT}",
            help="Architecture such as sm_86 or 8.6, or all. Repeatable.",
        ),
        option(
            "--sms", type=click.IntRange(1, 100_000), metavar="N", show_default="the architecture's GPU",
            help="Number of multiprocessors (SMs) of the GPU.",
        ),
        option(
            "--carveout", type=click.IntRange(0, 100), metavar="PERCENT", show_default="100",
            help="Preferred share of an SM's largest shared memory; the rest is L1 cache.",
        ),
        *others,
        one_target("names"),
    )  # fmt: skip


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
    found: dict[str, Architecture] = {}
    for name in names or [DEFAULT]:
        every = name.strip().lower() == "all"
        for architecture in ARCHITECTURES.values() if every else [find_architecture(name)]:
            if not (every and to_compile and not _can_compile(architecture)):
                found[architecture.name] = _sized(architecture, multiprocessors)
    architectures = list(found.values())
    if to_compile:
        from cudamm.compile.nvcc_compiler import check_architecture

        for architecture in architectures:
            try:
                check_architecture(architecture.name)
            except NoDeviceError as error:
                raise NoDeviceError(
                    f"{error}; --threads, --registers and --shared need no compiler"
                ) from None
    shown = ", ".join(map(str, architectures))
    note = "" if names else f"{missing}, so results are for {shown}; choose another with --arch"
    info = DeviceInfo("architecture", ",".join(a.name for a in architectures), shown, note=note)
    return architectures, info


def present_place(name: str | None, default: str) -> Place:
    """Return the place for which `best` is chosen: the named architecture, this GPU, or the default."""
    from cudamm.devices.find_device import find_gpu
    from cudamm.kernels.architecture import find_architecture
    from cudamm.tuning.place import of_architecture, of_target

    if name is None:
        with contextlib.suppress(NoDeviceError), find_gpu() as device:
            return of_target(device)
    return of_architecture(find_architecture(default if name is None else name))


def compiled_architecture(name: str | None, default: str) -> str:
    """Return the one architecture to compile for. If there is no GPU and none is named, print the choice.

    Args:
        default: the architecture without a GPU. If nvcc does not know it, nvcc's newest is taken.

    Raises:
        UsageError: there is no such architecture.
        NoDeviceError: there is no nvcc, or nvcc cannot compile for the architecture.
    """
    from cudamm.compile.nvcc_compiler import check_architecture, nvcc
    from cudamm.devices.find_device import find_gpu, is_left_out
    from cudamm.kernels.architecture import find_architecture
    from cudamm.output.console import messages

    if name is not None:
        if name.strip().lower() == "all":
            raise UsageError("--arch all: show takes one architecture, such as --arch sm_86")
        named = find_architecture(name).name
        check_architecture(named)
        return named
    known = nvcc().architectures
    try:
        with find_gpu() as device:
            return device.arch
    except NoDeviceError as error:
        missing = f"no GPU is used ({error})" if is_left_out() else "no GPU here"
    chosen = default if default in known else known[-1]
    messages().print(
        f"cudamm: {missing}, so code is compiled for {chosen}; choose another with --arch",
        soft_wrap=True,
        markup=False,
    )
    return chosen


def _can_compile(architecture: Architecture) -> bool:
    from cudamm.compile.nvcc_compiler import nvcc

    return architecture.name in nvcc().architectures


def _sized(architecture: Architecture, multiprocessors: int | None) -> Architecture:
    """Return the architecture with the given number of multiprocessors, if one is given."""
    if multiprocessors is None:
        return architecture
    return dataclasses.replace(architecture, gpu="a GPU", multiprocessors=multiprocessors)
