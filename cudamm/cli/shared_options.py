"""Options that several commands share: which variants, on what problems, on which device."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from cloup import option, option_group

from cudamm.api.defaults import TIMED_SIZES
from cudamm.cli.completion_command import complete_files, complete_methods, complete_words
from cudamm.cli.option_rules import Command, Decorator

if TYPE_CHECKING:
    from cudamm.kernels.selection import Selection


_KERNEL_OPTIONS = (
    ("entry", "NAME", "The function to launch."),
    ("args", "LIST", "What it takes, in order, such as M,N,K,1.0,A,B,0.0,C."),
    ("threads", "X,Y,Z", "Threads in a block, such as 16,16."),
    ("grid", "X,Y,Z", "Blocks in the grid, such as ceil(N/16),ceil(M/16)."),
    ("shared-bytes", "EXPR", "Dynamic shared memory a block."),
    ("requires", "LIST", "Conditions, such as M%64==0; multiples are met by padding."),
)

KERNEL_PARAMETERS = tuple(name.replace("-", "_") for name, _, _ in _KERNEL_OPTIONS)
"""The parameters whose options stand in for the fields of a kernel's header."""


def gathered(name: str, make: Callable[..., Any], options: Sequence[str], *groups: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, which receives them as one object.

    Args:
        name: of the argument by which the command receives the object.
        make: makes the object; takes the options by their names.
        options: their names; an option that the command does not have is left to `make`'s defaults.
        groups: decorators that add the options.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            values = {option: given.pop(option) for option in options if option in given}
            return command(**{name: make(**values)}, **given)

        wrapped: Command = run
        for add in reversed(groups):
            wrapped = add(wrapped)
        return wrapped

    return decorate


def fields_of(record: type[Any]) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(field.name for field in dataclasses.fields(record))


_CHOOSING = ("methods", "block", "tile", "defines")


def _selection(kernel: str | None, **given: Any) -> Selection:
    from pathlib import Path

    from cudamm.kernels.selection import Selection

    chosen = {name: given.pop(name) for name in _CHOOSING}
    kernels = () if kernel is None else (Path(kernel),)
    fields = {name.replace("_", "-"): text for name, text in given.items() if text is not None}
    return Selection(kernels=kernels, kernel_fields=fields, **chosen)


def selection_options(*parameters: Decorator, kernel: Sequence[Decorator] = ()) -> Decorator:
    """Add the options that choose variants; the command receives them as `selection`.

    Args:
        parameters: further options to be listed in the group of parameters.
        kernel: further options to be listed in the group of kernels.
    """
    return gathered(
        "selection",
        _selection,
        ("kernel", *_CHOOSING, *KERNEL_PARAMETERS, "traffic"),
        option_group(
            "Kernel",
            methods_option("A method or alias, all, or best, which is chosen for the device; repeatable."),
            option(
                "--kernel", metavar="FILE", shell_complete=complete_files,
                help="A kernel of your own. Its header describes it, or the options below.",
            ),
            *(option(f"--{name}", metavar=metavar, help=text) for name, metavar, text in _KERNEL_OPTIONS),
            *kernel,
        ),
        option_group(
            "Parameters",
            option(
                "--block", metavar="VALUES",
                help="BLOCK_SIZE: 16, a list 8,16,32, a range 1:32:*2, or all worth trying.",
            ),
            option("--tile", metavar="VALUES", help="TILE_SIZE, likewise."),
            option(
                "-D", "defines", multiple=True, metavar="NAME=VALUES",
                help="Any other parameter, values as for --block; repeatable.",
            ),
            *parameters,
        ),
    )  # fmt: skip


def methods_option(help_text: str) -> Decorator:
    """Add `-m`, repeatable."""
    return option(
        "-m", "--method", "methods", multiple=True, metavar="NAME", shell_complete=complete_methods,
        show_default="all", help=help_text,
    )  # fmt: skip


def problem_options(sizes: str, dtypes: str = "float32", *others: Decorator) -> Decorator:
    """Add `-n` and `--dtype`, both repeatable.

    Args:
        sizes: the default, in words.
        dtypes: the default, in words.
        others: further options of the same group.
    """
    return option_group(
        "Problem",
        option(
            "-n", "--size", "sizes", multiple=True, metavar="SIZE", show_default=sizes,
            help="1024 for a square, 640x480x320 for MxNxK; repeatable.",
        ),
        option(
            "--dtype", "dtypes", multiple=True, metavar="TYPE", show_default=dtypes,
            shell_complete=complete_words("float32", "float64", "int32"),
            help="Element type: float32, float64 or int32; repeatable.",
        ),
        *others,
    )  # fmt: skip


SIZES_BY_DEVICE = "{gpu} on a GPU, {cpu} on the CPU device".format(**TIMED_SIZES)

fmad_option = option(
    "--fmad/--no-fmad", default=True,
    help="Let the compiler fuse a multiplication and an addition, or not.",
)  # fmt: skip
where_option = option(
    "--where", "conditions", multiple=True, metavar="EXPR",
    help="Only variants for which this holds, such as BM*BN<=8192; repeatable.",
)  # fmt: skip
seed_option = option("--seed", type=click.IntRange(0), default=0, help="Seed of the random inputs.")
cold_option = option(
    "--cold/--hot", default=True,
    help="Write over the GPU's L2 cache before each sample, or time launches back to back.",
)  # fmt: skip
device_option = option(
    "--device", "device_spec", default="auto", metavar="NAME",
    shell_complete=complete_words("auto", "gpu", "cpu"),
    help="gpu, gpu:1, cpu, or auto: a GPU if there is one.",
)  # fmt: skip
timeout_option = option(
    "--timeout", "timeout_s", type=click.FloatRange(0, 86_400, min_open=True), default=60.0,
    metavar="SECONDS", help="Time without an answer after which a variant counts as hung.",
)  # fmt: skip
device_options = option_group("Device", device_option, timeout_option)
