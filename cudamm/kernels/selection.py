"""Which variants a user asks for: methods by their names, parameters with their values, a kernel file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels import ladder
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import Overrides, kernels_in, parse_method, read_method, without_comments
from cudamm.kernels.method import Method, Parameter, Value
from cudamm.kernels.variant import Variant, parse_values, variants

AUTO = "auto"
"""`--block auto`: the block size of highest occupancy, beside the default."""


@dataclass(frozen=True)
class Selection:
    """The options that choose variants, as they were given.

    Attributes:
        kernels: the user's own kernels: a path is a kernel file, and a string is source text.
        kernel_fields: the options that stand in for the fields of their headers, by the fields' names.
        swept: parameters that take every value worth trying where none is asked for; None: all of them.
    """

    methods: tuple[str, ...]
    block: str | None = None
    tile: str | None = None
    defines: tuple[str, ...] = ()
    kernels: tuple[Path | str, ...] = ()
    kernel_fields: dict[str, str] = dataclasses.field(default_factory=dict)
    swept: tuple[str, ...] | None = ()

    def variants(self) -> list[Variant]:
        """The variants chosen, in order.

        Raises:
            UsageError: a method, parameter or value that does not exist, or a kernel file that is wrong.
        """
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

    @property
    def words(self) -> list[str]:
        """The names of methods, as they were given."""
        return [word.strip() for text in self.methods for word in text.split(",")]

    def _methods(self) -> list[Method]:
        methods: list[Method] = []
        for name in self.words or ([] if self.kernels else ["all"]):
            methods += ladder.methods() if name == "all" else [ladder.find(name)]
        if self.kernel_fields and not self.kernels:
            given = " and ".join(f"--{name}" for name in self.kernel_fields)
            raise UsageError(f"{given} describes a kernel file: say which with --kernel")
        methods += self._user_kernels()
        known = {p.name for method in methods for p in method.parameters}
        for name in self._asked():
            if self.kernels and name not in known:
                files = " and ".join(str(method.path) for method in methods if not method.builtin)
                raise UsageError(f"{files} {'do' if len(self.kernels) > 1 else 'does'} not mention {name}")
        return list(dict.fromkeys(methods))

    def _user_kernels(self) -> list[Method]:
        """Return the user's own kernels, each with a name that no other method has."""
        empty = [name for name, text in self.kernel_fields.items() if not text.strip()]
        if empty:
            raise UsageError(f"--{empty[0]} is empty")
        taken = {name for m in (*ladder.methods(), BEST) for name in (m.name, *m.aliases)}
        kernels: list[Method] = []
        for method in dict.fromkeys(map(self._user_kernel, self.kernels)):
            # A changed copy of one of ours must not be taken for it.
            base = method.path.name if method.name in taken else method.name
            names = (base, *(f"{base}-{number}" for number in range(2, len(self.kernels) + 1)))
            free = next(name for name in names if name not in {kernel.name for kernel in kernels})
            kernels.append(replace(method, name=free))
        return kernels

    def _user_kernel(self, kernel: Path | str) -> Method:
        file = self._read(kernel)
        code = "\n".join((without_comments(file.source), *self.kernel_fields.values()))
        added: list[Parameter] = []
        # What -D names need not be declared: the file may be somebody else's, unchanged.
        for name, text in self._asked().items():
            if name in {p.name for p in file.parameters}:
                continue
            if re.search(rf"\b{name}\b", code):
                values = _values(name, text, ())
                added.append(Parameter(name, values[0], values))
        return self._read(kernel, tuple(added))

    def _read(self, kernel: Path | str, added: tuple[Parameter, ...] = ()) -> Method:
        overrides = Overrides(self.kernel_fields, added)
        if isinstance(kernel, Path):
            return read_method(kernel, overrides)
        # Source text is named for the function to launch, as if it were in a file of that name.
        entry = self.kernel_fields.get("entry") or next(iter(kernels_in(kernel)), "source")
        return parse_method(kernel, Path(f"{entry}.cu"), overrides)

    def names(self, method: Method) -> bool:
        """Whether a method is named itself, as a user's file is, and not just among all."""
        words = {word.lower() for word in self.words}
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


def is_kernel_file(name: str) -> bool:
    """Return whether a name means a kernel file, and not a method of cudamm."""
    return name.endswith((".cu", ".cpp")) or "/" in name


def _define(text: str) -> tuple[str, str]:
    name, equals, values = text.partition("=")
    if not equals or not name.isidentifier() or not name.isascii() or not values:
        raise UsageError(f"“-D {text}” is not like -D NAME=VALUE or -D NAME=8,16,32")
    return name, values


def _values(name: str, text: str, worth_sweeping: Sequence[Value]) -> tuple[Value, ...]:
    if text == AUTO:
        raise UsageError("--block auto is for bench; cudamm occupancy --suggest names the block size")
    values = parse_values(text, worth_sweeping)
    if name.endswith("_SIZE") and any(not isinstance(v, int) or v < 1 for v in values):
        raise UsageError(f"{name} has to be a whole number of at least 1, not “{text}”")
    return values
