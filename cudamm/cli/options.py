"""Options that several commands share: which variants, on what problems, on which device."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cudamm.cli.completion_command import complete_files, complete_methods, complete_words
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.kernels.method import Method, Value
    from cudamm.kernels.variant import Variant

Command = TypeVar("Command", bound=Callable[..., Any])

AUTO = "auto"
"""`--block auto`: the block size of highest occupancy, beside the default."""

_KERNEL_FIELDS = ("entry", "args", "threads", "grid", "shared-bytes", "requires")


@dataclass(frozen=True)
class Selection:
    """What the options that choose variants say, as given.

    Attributes:
        kernel_fields: the options that stand in for a header's fields, by the fields' names.
        swept: parameters that take every value worth trying where none is asked for; None: all of them.
    """

    methods: tuple[str, ...]
    block: str | None
    tile: str | None
    defines: tuple[str, ...]
    kernel: str | None
    kernel_fields: dict[str, str]
    swept: tuple[str, ...] | None = ()

    def variants(self) -> list[Variant]:
        """The variants chosen, in order.

        Raises:
            UsageError: a method, parameter or value that does not exist, or a kernel file that is wrong.
        """
        from cudamm.kernels.variant import variants

        methods = self._methods()
        asked = self._asked()
        known = {p.name for method in methods for p in method.parameters}
        for name in asked.keys() - known:
            has = "; ".join(
                f"{m.name} has {', '.join(p.name for p in m.parameters) or 'none'}" for m in methods[:3]
            )
            raise UsageError(
                f"no method chosen has the parameter {name} ({has}{'; …' if len(methods) > 3 else ''})"
            )

        def chosen(method: Method) -> Mapping[str, Sequence[Value]]:
            swept = {
                p.name: p.values for p in method.parameters if self.swept is None or p.name in self.swept
            }
            return swept | {
                p.name: _values(p.name, asked[p.name], p.values) for p in method.parameters if p.name in asked
            }

        return [variant for method in methods for variant in variants(method, chosen(method))]

    def _methods(self) -> list[Method]:
        from cudamm.kernels.ladder import find
        from cudamm.kernels.ladder import methods as every_method

        methods: list[Method] = []
        names = [name for text in self.methods for name in text.split(",")]
        if not names and self.kernel is None:
            names = ["all"]
        for name in names:
            methods += every_method() if name.strip() == "all" else [find(name.strip())]
        if self.kernel is not None:
            methods.append(self._user_kernel(self.kernel, methods))
        elif self.kernel_fields:
            given = " and ".join(f"--{name}" for name in self.kernel_fields)
            raise UsageError(f"{given} describes a kernel file: say which with --kernel")
        return list(dict.fromkeys(methods))

    def _user_kernel(self, path: str, others: Sequence[Method]) -> Method:
        from cudamm.kernels.best_method import BEST
        from cudamm.kernels.header import Overrides, read_method, without_comments
        from cudamm.kernels.ladder import methods as every_method
        from cudamm.kernels.method import Parameter

        empty = [name for name, text in self.kernel_fields.items() if not text.strip()]
        if empty:
            raise UsageError(f"--{empty[0]} is empty")
        file = read_method(Path(path), Overrides(self.kernel_fields))
        code = "\n".join((without_comments(file.source), *self.kernel_fields.values()))
        elsewhere = {p.name for method in others for p in method.parameters}
        added: list[Parameter] = []
        # What -D names need not be declared: the file may be somebody else's, unchanged.
        for name, text in self._asked().items():
            if name in {p.name for p in file.parameters}:
                continue
            if re.search(rf"\b{name}\b", code):
                values = _values(name, text, ())
                added.append(Parameter(name, values[0], values))
            elif name not in elsewhere:
                raise UsageError(f"{path} does not mention {name}")
        method = read_method(Path(path), Overrides(self.kernel_fields, tuple(added)))
        taken = {name for m in (*every_method(), BEST) for name in (m.name, *m.aliases)}
        # A changed copy of one of ours must not be taken for it.
        return replace(method, name=method.path.name) if method.name in taken else method

    def names(self, method: Method) -> bool:
        """Whether a method is named itself, as a user's file is, and not just among all."""
        words = {word.strip().lower() for text in self.methods for word in text.split(",")}
        return not method.builtin or not words.isdisjoint((method.name, *method.aliases))

    def gives(self, name: str) -> bool:
        """Whether values of a parameter are asked for."""
        return name in self._asked()

    def _asked(self) -> dict[str, str]:
        """Parameter names and the values asked for, still as text."""
        asked: dict[str, str] = {}
        for name, text in (("BLOCK_SIZE", self.block), ("TILE_SIZE", self.tile), *map(_define, self.defines)):
            if text is None:
                continue
            if name in asked:
                raise UsageError(f"{name} is given twice; list its values: {name}={asked[name]},{text}")
            asked[name] = text
        return asked


def _define(text: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not equals or not name.isidentifier() or not name.isascii() or not values:
        raise UsageError(f"“-D {text}” is not like -D NAME=VALUE or -D NAME=8,16,32")
    return name, values


def _values(name: str, text: str, worth_sweeping: Sequence[Value]) -> tuple[Value, ...]:
    from cudamm.kernels.variant import parse_values

    if text == AUTO:
        raise UsageError("--block auto is for bench; cudamm occupancy --suggest names the block size")
    values = parse_values(text, worth_sweeping)
    if name.endswith("_SIZE") and any(not isinstance(v, int) or v < 1 for v in values):
        raise UsageError(f"{name} has to be a whole number of at least 1, not “{text}”")
    return values


def selection_options(command: Command) -> Command:
    """Add the options that choose variants; the command receives them as `selection`."""
    described = [
        ("--block", "VALUES", "BLOCK_SIZE: 16, a list 8,16,32, a range 1:32:*2, or all worth trying."),
        ("--tile", "VALUES", "TILE_SIZE, likewise."),
        ("--entry", "NAME", "The function to launch."),
        ("--args", "LIST", "What it takes, in order, such as M,N,K,1.0,A,B,0.0,C."),
        ("--threads", "X,Y,Z", "Threads in a block, such as 16,16."),
        ("--grid", "X,Y,Z", "Blocks in the grid, such as ceil(N/16),ceil(M/16)."),
        ("--shared-bytes", "EXPR", "Dynamic shared memory a block."),
        ("--requires", "LIST", "Conditions, such as M%64==0; multiples are met by padding."),
    ]
    options = [click.option(flag, metavar=metavar, help=text) for flag, metavar, text in described]
    method = click.option(
        "-m", "--method", "methods", multiple=True, metavar="NAME", shell_complete=complete_methods,
        help="A method or alias, all (the default), or best, chosen for the device; repeatable.",
    )  # fmt: skip
    define = click.option(
        "-D", "defines", multiple=True, metavar="NAME=VALUES",
        help="Any other parameter, values as for --block; repeatable.",
    )  # fmt: skip
    kernel = click.option(
        "--kernel", metavar="FILE", shell_complete=complete_files,
        help="A kernel of your own; its header describes it, or the options below.",
    )  # fmt: skip
    options = [method, *options[:2], define, kernel, *options[2:]]

    @functools.wraps(command)
    def collect(**given: Any) -> Any:
        fields = {name: given.pop(name.replace("-", "_")) for name in _KERNEL_FIELDS}
        given["selection"] = Selection(
            methods=given.pop("methods"),
            block=given.pop("block"),
            tile=given.pop("tile"),
            defines=given.pop("defines"),
            kernel=given.pop("kernel"),
            kernel_fields={name: text for name, text in fields.items() if text is not None},
        )
        return command(**given)

    wrapped: Any = collect
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def sizes_option(default: str) -> Callable[[Command], Command]:
    """`-n`, repeatable."""
    return click.option(
        "-n", "--size", "sizes", multiple=True, metavar="SIZE",
        help=f"1024 for a square, 640x480x320 for MxNxK; repeatable. Default: {default}.",
    )  # fmt: skip


def dtype_option(default: str) -> Callable[[Command], Command]:
    """`--dtype`, repeatable."""
    return click.option(
        "--dtype", "dtypes", multiple=True, metavar="TYPE",
        shell_complete=complete_words("float32", "float64", "int32"),
        help=f"Element type: float32, float64 or int32; repeatable. Default: {default}.",
    )  # fmt: skip


fmad_option = click.option(
    "--fmad/--no-fmad",
    default=True,
    help="Whether the compiler may fuse a multiplication and an addition (it may).",
)
seed_option = click.option(
    "--seed", type=click.IntRange(0), default=0, help="Of the random inputs; 0 by default."
)
device_option = click.option(
    "--device", "device_spec", default="auto", metavar="NAME",
    shell_complete=complete_words("auto", "gpu", "cpu"),
    help="gpu, gpu:1, cpu, or auto (the default): a GPU if there is one.",
)  # fmt: skip
timeout_option = click.option(
    "--timeout", "timeout_s", type=click.FloatRange(0, 86_400, min_open=True), default=60.0,
    metavar="SECONDS", help="How long a variant may give no answer before it counts as hung; 60.",
)  # fmt: skip
