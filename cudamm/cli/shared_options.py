"""Options that several commands share: which variants, on which problems, on which device."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from cloup import argument, option_group

from cudamm.api.defaults import LARGEST_SEED, MOST_SCALE, MOST_SECONDS, TIMED_SIZES
from cudamm.cli.completion_command import complete_files, complete_methods, complete_words
from cudamm.cli.documented_option import option
from cudamm.cli.launch_saving import saving_launches
from cudamm.cli.number_types import DecimalNumber, WholeNumber
from cudamm.cli.option_rules import Command, Decorator
from cudamm.errors import UsageError
from cudamm.kernels.input_kinds import INPUT_KINDS, default_kind
from cudamm.kernels.method import ELEMENT_TYPES

if TYPE_CHECKING:
    from cudamm.kernels.selection import Selection


_FOUND = "the header's, else the launch's"
"""Default of an option whose value is in the header, in the saved launch, or in the launch of the file."""

_HEADER_OPTIONS = (
    option(
        "--entry", metavar="NAME", show_default="the header's, else each kernel that the file launches",
        help="Function to launch.",
    ),
    option(
        "--args", metavar="LIST", show_default=f"{_FOUND}, else M,N,K,A,B,C",
        help="Arguments of the function, in order, such as M,N,K,1.0,A,B,0.0,C.",
    ),
    option(
        "--threads", metavar="X,Y,Z", show_default=_FOUND,
        help="Threads per block, such as 16,16.",
    ),
    option(
        "--grid", metavar="X,Y,Z", show_default=_FOUND,
        help="Blocks in the grid, such as 'ceil(N/16),ceil(M/16)'.",
    ),
    option(
        "--shared-bytes", metavar="EXPR", show_default=f"{_FOUND}, else 0",
        help="Bytes of dynamic shared memory per block.",
    ),
    option(
        "--requires", multiple=True, metavar="LIST", show_default=_FOUND,
        help="Conditions that add to the file's own, such as 'M%64==0, N%64==0'; repeatable. Matrices are "
        "padded to required multiples.",
    ),
    option(
        "--layout", multiple=True, metavar="LIST", show_default=f"{_FOUND}, else row",
        help="Matrices that the kernel stores column by column, such as A=column,B=column; repeatable.",
    ),
    option(
        "--initial-c", metavar="0", show_default=_FOUND,
        help="Fill C with zeros before each launch, for a kernel that adds to C.",
    ),
    option(
        "-I", "--include", multiple=True, metavar="DIR",
        help="Folder of headers that the kernel includes, searched before the project's own. Repeatable.",
    ),
)  # fmt: skip

HEADER_FIELDS = (
    "entry",
    "args",
    "threads",
    "grid",
    "shared_bytes",
    "requires",
    "layout",
    "initial_c",
    "include",
)
"""Parameters of the options that replace fields of a kernel's header."""


def gathered(name: str, make: Callable[..., Any], options: Sequence[str], *groups: Decorator) -> Decorator:
    """Return a decorator that adds options to a command, which receives them as one object.

    Args:
        name: the command's argument for the object.
        make: makes the object from the values of the options, by name.
        options: names of the options. An option that the command does not have is not passed to `make`.
        groups: decorators that add the options.
    """

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def run(**given: Any) -> Any:
            values = {option: given.pop(option) for option in options if option in given}
            return command(**{name: make(**values)}, **given)

        decorated: Command = run
        for add_options in reversed(groups):
            decorated = add_options(decorated)
        return decorated

    return decorate


def fields_of(record: type[Any]) -> tuple[str, ...]:
    """Return the names of a dataclass's fields."""
    return tuple(field.name for field in dataclasses.fields(record))


_CHOOSING = ("methods", "block", "tile", "defines")


def _selection(kernels: Sequence[str] = (), files: Sequence[str] = (), **given: Any) -> Selection:
    from pathlib import Path

    from cudamm.kernels.header import STANDARD_INPUT, read_standard_input
    from cudamm.kernels.misnamed_file import why_no_kernel
    from cudamm.kernels.selection import Selection, is_kernel_file
    from cudamm.source.included_files import folders_field

    for file in files:
        if re.fullmatch(r"\d+(x\d+x\d+)?", file):
            raise UsageError(f"“{file}” belongs to no option: several sizes are written -n 64,128")
        if not is_kernel_file(file):
            meant = f"did you mean {file}.cu?" if Path(f"{file}.cu").is_file() else "choose a method with -m"
            raise UsageError(
                why_no_kernel(file) or f"“{file}” is neither an option nor a kernel file ({meant})"
            )
    named = (*kernels, *files)
    if "" in named:
        raise UsageError("--kernel needs the name of a file, and its value is empty")
    chosen = {"methods": ()} | {name: given.pop(name) for name in _CHOOSING if name in given}
    for repeated in ("requires", "layout"):
        given[repeated] = _joined(given[repeated])
    given["include"] = folders_field(given["include"]) or None
    fields = {name.replace("_", "-"): text for name, text in given.items() if text is not None}
    texts = [read_standard_input() if name == STANDARD_INPUT else Path(name) for name in dict.fromkeys(named)]
    return Selection(kernels=tuple(texts), kernel_fields=fields, **chosen)


def _joined(lists: Sequence[str]) -> str | None:
    """Return the lists of an option that may be repeated as one list; None if there are none."""
    if not all(text.strip() for text in lists):
        return ""  # `Selection` refuses an empty field, with the option's name
    return ", ".join(text.strip().removesuffix(",") for text in lists) or None


ONE_VALUE, EVERY_VALUE = "the method's own", "every value in the method's header"
"""Defaults of parameters, in words."""


def selection_options(
    *parameters: Decorator,
    kernel: Sequence[Decorator] = (),
    block: str = ONE_VALUE,
    values: str = ONE_VALUE,
    named: bool = True,
) -> Decorator:
    """Add the options that choose variants; the command receives them as `selection`.

    Args:
        parameters: more options for the group "Parameters".
        kernel: more options for the group "Kernel".
        block: the default of `--block`.
        values: the default of the other parameters.
        named: add the options and the argument that name methods and files; false for a command that has
            arguments of its own for them.
    """
    naming = (
        methods_option("Name or alias of a method; all; or best, chosen for the device. Repeatable."),
        option(
            "--kernel", "kernels", multiple=True, metavar="FILE", shell_complete=complete_files,
            help="Your own kernel; - for standard input. Options below come before its header, which comes "
            "before the launch in its host code. Repeatable.",
        ),
    )  # fmt: skip
    files = argument(
        "files", nargs=-1, metavar="[FILE.cu]...", shell_complete=complete_files,
        help="Your own kernels, as with --kernel.",
    )  # fmt: skip
    saving = option(
        "--save-launch", "saves_launch", is_flag=True,
        help="Save the launch in FILE.launch.toml beside FILE.cu, from which every command reads it.",
    )  # fmt: skip
    add_options = gathered(
        "selection",
        _selection,
        ("kernels", "files", *_CHOOSING, *HEADER_FIELDS, "traffic"),
        *((files,) if named else ()),
        option_group(
            "Kernel",
            *(naming if named else ()),
            *_HEADER_OPTIONS,
            *((saving,) if named else ()),
            *kernel,
        ),
        option_group(
            "Parameters",
            option(
                "--block", metavar="VALUES", show_default=block,
                help="BLOCK_SIZE: 16, a list 8,16,32, a range 1:32:*2, or all values in the method's header.",
            ),
            option(
                "--tile", metavar="VALUES", show_default=values, help="TILE_SIZE; values as for --block.",
            ),
            option(
                "-D", "defines", multiple=True, metavar="NAME=VALUES", show_default=values,
                help="Any other parameter; values as for --block. Repeatable.",
            ),
            *parameters,
        ),
    )  # fmt: skip
    return (lambda command: add_options(saving_launches(command))) if named else add_options


def methods_option(help_text: str) -> Decorator:
    """Return `-m`, which can be repeated."""
    return option(
        "-m", "--method", "methods", multiple=True, metavar="NAME", shell_complete=complete_methods,
        show_default="all", help=help_text,
    )  # fmt: skip


def _separated(_context: click.Context, option: click.Parameter, lists: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an option whose values may be lists with commas."""
    values: list[str] = []
    for text in lists:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) > 1 and "" in parts:
            raise UsageError(f"“{option.opts[0]} {text}” contains an empty value")
        values += parts
    return tuple(values)


def problem_options(sizes: str, dtypes: str = "float32", *others: Decorator) -> Decorator:
    """Add `-n` and `--dtype`, which can be repeated.

    Args:
        sizes: the default size, in words.
        dtypes: the default element type, in words.
        others: more options for the group "Problem".
    """
    return option_group(
        "Problem",
        option(
            "-n", "--size", "sizes", multiple=True, metavar="SIZE", show_default=sizes, callback=_separated,
            help="1024 for square matrices, 640x480x320 for MxNxK, or a list 512,1024. Repeatable.",
        ),
        option(
            "--dtype", "dtypes", multiple=True, metavar="TYPE", show_default=dtypes, callback=_separated,
            shell_complete=complete_words(*ELEMENT_TYPES),
            help=f"Element type: {', '.join(ELEMENT_TYPES)}. Repeatable.",
        ),
        *others,
    )  # fmt: skip


def _usual_inputs() -> str:
    """Return the default of `--inputs`: that of float32, and the others with their types."""
    usual = default_kind(ELEMENT_TYPES["float32"])
    by_kind: dict[str, list[str]] = {}
    for name, element in ELEMENT_TYPES.items():
        by_kind.setdefault(default_kind(element), []).append(name)
    others = [f"{kind} for {', '.join(names)}" for kind, names in by_kind.items() if kind != usual]
    return "; ".join([usual, *others])


SIZES_BY_DEVICE = "{gpu} on a GPU, {cpu} on the CPU device".format(**TIMED_SIZES)

fmad_option = option(
    "--fmad/--no-fmad", default=True,
    help="Let the compiler fuse a multiplication and an addition into one instruction, or not.",
)  # fmt: skip
where_option = option(
    "--where", "conditions", multiple=True, metavar="EXPR",
    help="Only variants that meet this condition, such as 'BM*BN<=8192'. Repeatable.",
)  # fmt: skip
seed_option = option(
    "--seed", type=WholeNumber(0, LARGEST_SEED), default=0, metavar="N", help="Seed of the random matrices."
)
precision_option = option(
    "--allow-precision", "allowed_precision", type=click.Choice(["tf32", "half", "bfloat16"]),
    callback=lambda _context, _parameter, name: name or "", show_default="none",
    help="Format to which a kernel may round A and B, or their products; and its sums, if it is that of C.",
)  # fmt: skip
inputs_option = option(
    "--inputs", type=click.Choice(INPUT_KINDS), callback=lambda _context, _parameter, name: name or "",
    show_default=_usual_inputs(),
    help="Numbers in the random matrices. A tensor core's speed depends on them.",
)  # fmt: skip
scale_options = (
    option(
        "--alpha", type=DecimalNumber(-MOST_SCALE, MOST_SCALE), default=None, metavar="NUMBER",
        show_default="1; at one size the program's",
        help="Value of the argument alpha: C has to be alpha A B + beta C.",
    ),
    option(
        "--beta", type=DecimalNumber(-MOST_SCALE, MOST_SCALE), default=None, metavar="NUMBER",
        show_default="0; at one size the program's",
        help="Value of the argument beta; unless it is 0, C is random before each launch.",
    ),
)  # fmt: skip
cold_option = option(
    "--cold/--hot", default=True,
    help="Overwrite the GPU's L2 cache before each sample, or launch back to back.",
)  # fmt: skip
device_option = option(
    "--device", "device_spec", default="auto", metavar="NAME",
    shell_complete=complete_words("auto", "gpu", "cpu"),
    help="gpu, gpu:1, cpu, or auto: the first GPU, or the CPU device if there is no GPU.",
)  # fmt: skip
several_devices_option = option(
    "--device", "device_spec", default="auto", metavar="NAMES",
    shell_complete=complete_words("auto", "all", "gpu", "cpu"),
    help="gpu, gpu:1, cpu; all GPUs, or gpu:0,2, which share the work; or auto: the first GPU, or the CPU "
    "device if there is no GPU.",
)  # fmt: skip
timeout_option = option(
    "--timeout", "timeout_s", type=DecimalNumber(0, MOST_SECONDS, above=True), default=60.0,
    metavar="SECONDS", help="Time without an answer after which a variant counts as hung.",
)  # fmt: skip
device_options = option_group("Device", device_option, timeout_option)
several_devices_options = option_group("Device", several_devices_option, timeout_option)
verify_timeout_option = option(
    "--timeout", "timeout_s", type=DecimalNumber(0, MOST_SECONDS, above=True), metavar="SECONDS",
    show_default="60, or 10 on the CPU device up to 256x256x256",
    help="Time without an answer after which a variant counts as hung; its other sizes are not run.",
)  # fmt: skip
