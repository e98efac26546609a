"""From `--arch` and `--device` to the architectures a command is about."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from cloup import option, option_group

from cudamm.cli.option_rules import Decorator, one_target
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.architecture import Architecture
    from cudamm.tuning.place import Place

DEFAULT = "sm_80"
"""The architecture if there is neither a GPU nor a name: the A100 of the PMPP notes."""


def architecture_options(*others: Decorator) -> Decorator:
    """Add `--arch`, `--sms` and `--carveout`, and other options of the device."""
    return option_group(
        "Device",
        option(
            "--arch", "names", multiple=True, metavar="NAME",
            show_default=f"the present GPU's, else {DEFAULT}",
            help="An architecture such as sm_86 or 8.6, or all; repeatable.",
        ),
        option(
            "--sms", type=click.IntRange(1, 100_000), metavar="N",
            help="Number of multiprocessors, if it differs from that of the GPU in the table.",
        ),
        option(
            "--carveout", type=click.IntRange(0, 100), metavar="PERCENT",
            help="Share of an SM's largest shared memory to prefer; the rest is L1.",
        ),
        *others,
        one_target("names"),
    )  # fmt: skip


def chosen_architectures(
    names: Sequence[str], device_spec: str, multiprocessors: int | None, to_compile: bool
) -> tuple[list[Architecture], DeviceInfo]:
    """Return the architectures asked for, and what records and tables call their device.

    Args:
        to_compile: whether kernels are to be compiled for them: `all` are then those that nvcc knows.

    Raises:
        UsageError: an architecture that does not exist.
        NoDeviceError: a GPU is asked for and there is none; there is no nvcc that can compile for them.
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
                    f"{error}; --threads, --registers and --shared do without a compiler"
                ) from None
    shown = ", ".join(map(str, architectures))
    note = "" if names else f"{missing}, so this is for {shown}; --arch names another"
    info = DeviceInfo("architecture", ",".join(a.name for a in architectures), shown, note=note)
    return architectures, info


def present_place(name: str | None, default: str) -> Place:
    """Return what `best` is chosen for: an architecture by its name, the present GPU, or the default."""
    from cudamm.devices.find_device import find_gpu
    from cudamm.kernels.architecture import find_architecture
    from cudamm.tuning.place import of_architecture, of_target

    if name is None:
        with contextlib.suppress(NoDeviceError), find_gpu() as device:
            return of_target(device)
    return of_architecture(find_architecture(default if name is None else name))


def compiled_architecture(name: str | None, default: str) -> str:
    """Return the one architecture to compile for; if none is named, print on standard error which it is.

    Args:
        default: the architecture without a GPU; if nvcc does not know it, nvcc's newest is taken.

    Raises:
        UsageError: there is no such architecture.
        NoDeviceError: there is no nvcc, or it cannot compile for the architecture.
    """
    from cudamm.compile.nvcc_compiler import check_architecture, nvcc
    from cudamm.devices.find_device import find_gpu, is_left_out
    from cudamm.kernels.architecture import find_architecture
    from cudamm.output.console import messages

    if name is not None:
        if name.strip().lower() == "all":
            raise UsageError("--arch all: show is for one architecture at a time")
        named = find_architecture(name).name
        check_architecture(named)
        return named
    known = nvcc().architectures
    try:
        with find_gpu() as device:
            return device.arch
    except NoDeviceError as error:
        why = f"no GPU is used ({error})" if is_left_out() else "no GPU here"
    taken = default if default in known else known[-1]
    messages().print(
        f"cudamm: {why}, so this is for {taken}; --arch names another", soft_wrap=True, markup=False
    )
    return taken


def _can_compile(architecture: Architecture) -> bool:
    from cudamm.compile.nvcc_compiler import nvcc

    return architecture.name in nvcc().architectures


def _sized(architecture: Architecture, multiprocessors: int | None) -> Architecture:
    """Return the architecture with the number of multiprocessors asked for."""
    if multiprocessors is None:
        return architecture
    return dataclasses.replace(architecture, gpu="a GPU", multiprocessors=multiprocessors)
