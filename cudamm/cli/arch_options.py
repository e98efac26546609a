"""The architectures that `--arch` and `--device` choose."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from cloup import option_group

from cudamm.api.defaults import MOST_SMS, OCCUPANCY_ARCH
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import WholeNumber
from cudamm.cli.option_rules import Decorator, one_target
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.kernels.architecture import Architecture
    from cudamm.tuning.place import Place


def architecture_options(*others: Decorator) -> Decorator:
    """Add `--arch`, `--sms`, `--carveout` and `others`."""
    return option_group(
        "Device",
        option(
            "--arch", "--gpu", "names", multiple=True, metavar="NAME",
            show_default=f"this machine's GPU, else {OCCUPANCY_ARCH}",
            help="Architecture such as sm_86 or 8.6, or a GPU such as rtx3090, a list of them, or all. "
            "Repeatable.",
        ),
        option(
            "--sms", type=WholeNumber(1, MOST_SMS), metavar="N", show_default="the architecture's GPU",
            help="Number of multiprocessors (SMs) of the GPU.",
        ),
        option(
            "--carveout", type=WholeNumber(0, 100), metavar="PERCENT", show_default="100",
            help="Preferred share of an SM's largest shared memory; the rest is L1 cache.",
        ),
        *others,
        one_target("names"),
    )  # fmt: skip


def one_architecture(name: str) -> Architecture:
    """Return the architecture with a name, or that of a named GPU. Raise UsageError for `all`."""
    from cudamm.kernels.architecture import find_architecture

    if name.strip().lower() == "all":
        raise UsageError("--arch all: name one architecture or GPU, such as sm_86 or rtx3090")
    return find_architecture(name)


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
