"""From `--arch` and `--device` to the architectures a command is about."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.devices.device import DeviceInfo
    from cudamm.kernels.architecture import Architecture

DEFAULT = "sm_80"
"""Where there is neither a GPU nor a name: the A100 of the PMPP notes."""

Command = Callable[..., Any]


def architecture_options(command: Command) -> Command:
    """Add `--arch`, `--sms` and `--carveout`."""
    options = [
        click.option(
            "--arch", "names", multiple=True, metavar="NAME",
            help="An architecture such as sm_86 or 8.6, or all; repeatable. Default: the present GPU's, else "
            f"{DEFAULT}.",
        ),
        click.option(
            "--sms", type=click.IntRange(1, 100_000), metavar="N",
            help="Multiprocessors of the GPU, where it is not the one that the table names.",
        ),
        click.option(
            "--carveout", type=click.IntRange(0, 100), metavar="PERCENT",
            help="Of the largest shared memory an SM can be set to, the share to prefer; the rest is L1.",
        ),
    ]  # fmt: skip
    for option in reversed(options):
        command = option(command)
    return command


def chosen_architectures(
    names: Sequence[str], device_spec: str, multiprocessors: int | None, to_compile: bool
) -> tuple[list[Architecture], DeviceInfo]:
    """The architectures asked for, and what records and tables say of where they come from.

    Args:
        to_compile: whether kernels are to be compiled for them: `all` are those that nvcc knows.

    Raises:
        UsageError: an architecture that does not exist, or both an architecture and a device.
        NoDeviceError: a GPU is asked for and there is none; there is no nvcc that can compile for them.
    """
    from cudamm.devices.device import DeviceInfo
    from cudamm.devices.find_device import find_gpu, is_left_out
    from cudamm.kernels.architecture import ARCHITECTURES, find_architecture

    if names and device_spec != "auto":
        raise UsageError("--arch and --device both say what it is for: name one of them")
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


def _can_compile(architecture: Architecture) -> bool:
    from cudamm.compile.nvcc_compiler import nvcc

    return architecture.name in nvcc().architectures


def _sized(architecture: Architecture, multiprocessors: int | None) -> Architecture:
    """The architecture with the number of multiprocessors asked for."""
    if multiprocessors is None:
        return architecture
    return dataclasses.replace(architecture, gpu="a GPU", multiprocessors=multiprocessors)
