"""From `--arch` and `--device` to the architectures a command is about."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click
from cloup import option, option_group

from cudamm.api.defaults import OCCUPANCY_ARCH
from cudamm.cli.option_rules import Decorator, one_target
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.tuning.place import Place


def architecture_options(*others: Decorator) -> Decorator:
    """Add `--arch`, `--sms` and `--carveout`, and other options of the device."""
    return option_group(
        "Device",
        option(
            "--arch", "names", multiple=True, metavar="NAME",
            show_default=f"the present GPU's, else {OCCUPANCY_ARCH}",
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
