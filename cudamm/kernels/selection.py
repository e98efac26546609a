"""The variants that a user chooses: methods by name, values of parameters, a kernel file."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels import ladder
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import (
    KERNEL_FILES,
    STANDARD_INPUT,
    Overrides,
    entries,
    name_of,
    parse_method,
    read_source,
)
from cudamm.kernels.launch_fields import EXTENTS, as_options
from cudamm.kernels.method import NOT_TRIED, SIZE_NAMES, Method, Parameter, Value
from cudamm.kernels.variant import Variant, check_count, count_variants, parse_values, variants
from cudamm.source.c_text import function_of, kernels_in, without_comments
from cudamm.source.kernel_changes import template_values
from cudamm.source.variables_as_parameters import with_variable_as_constant

AUTO = "auto"
"""Value of `--block` that adds the block size of highest occupancy to the default one."""

_MOST_INSTANCES = 8
"""Number of instances of a template that are tried if the user names none."""

_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
"""A name in a kernel file that may be a constant, to find what a misspelt name means."""


@dataclass(frozen=True)
class Selection:
    """The values of the options that choose variants.

    Attributes:
        methods: values of `-m`: names separated by commas.
        block, tile: values for BLOCK_SIZE and TILE_SIZE, as text.
        defines: values of `-D`, such as `STAGES=2,3`.
        kernels: the user's own kernels: a path is a kernel file, and a string is source text.
        kernel_fields: options that replace fields of the kernel's header, by field name.
        swept: parameters that take every value of their header if the user gives none; None: all parameters.
    """

    methods: tuple[str, ...]
    block: str | None = None
    tile: str | None = None
    defines: tuple[str, ...] = ()
    kernels: tuple[Path | str, ...] = ()
    kernel_fields: dict[str, str] = dataclasses.field(default_factory=dict)
    swept: tuple[str, ...] | None = ()

    def variants(self) -> list[Variant]:
        """Return the chosen variants, in order.

        Raises:
            UsageError: a method, parameter or value does not exist, the kernel file is wrong, there are too
                many variants, or a value leaves a grid without blocks at every size.
        """
        methods = self._methods()
        given = self._given_values()
        known = {p.name for method in methods for p in method.parameters}
        for name in given.keys() - known:
            existing = "; ".join(
                f"{m.name} has {', '.join(p.name for p in m.parameters) or 'none'}" for m in methods[:3]
            )
            raise UsageError(
                f"no chosen method has the parameter {name}{did_you_mean(name, known)} "
                f"({existing}{'; …' if len(methods) > 3 else ''})"
            )

        def values_of(method: Method) -> Mapping[str, Sequence[Value]]:
            swept = {
                p.name: p.values for p in method.parameters if self.swept is None or p.name in self.swept
            }
            return swept | {
                p.name: _values(p.name, given[p.name], p.values) for p in method.parameters if p.name in given
            }

        values = [(method, values_of(method)) for method in methods]
        check_count(sum(count_variants(*of_method) for of_method in values), "variants")
        for method, chosen in values:
            _check_grid(method, chosen)
        return [variant for of_method in values for variant in variants(*of_method)]

    @property
    def words(self) -> list[str]:
        """Return the method names as the user typed them. Raises UsageError if a name is empty."""
        words = [word.strip() for text in self.methods for word in text.split(",")]
        if "" in words:
            raise UsageError(f"“-m {','.join(self.methods)}” contains an empty method name")
        return words

    def _methods(self) -> list[Method]:
        methods: list[Method] = []
        for name in self.words or ([] if self.kernels else ["all"]):
            if is_kernel_file(name):
                raise UsageError(f"{name} is a kernel file, not a method: choose it with --kernel {name}")
            methods += ladder.methods() if name == "all" else [ladder.find(name)]
        if self.kernel_fields and not self.kernels:
            given = " and ".join(f"--{name}" for name in self.kernel_fields)
            raise UsageError(f"{given} describes a kernel file: name the file with --kernel")
        methods += self._user_kernels()
        known = {p.name for method in methods for p in method.parameters}
        for name in self._given_values():
            if self.kernels and name not in known:
                files = " and ".join(str(method.path) for method in methods if not method.builtin)
                not_mentioned = f"{'do' if len(self.kernels) > 1 else 'does'} not mention {name}"
                if any(method.path.suffix == ".py" for method in methods):
                    not_mentioned += " as a number of a kernel or of its launch"
                raise UsageError(f"{files} {not_mentioned}{did_you_mean(name, self._settable())}")
            # What is chosen becomes a macro, which a template's parameter cannot be, unless the entry has it.
            of_template = re.compile(rf"\btemplate\s*<[^>]*\b\w+\s+{name}\b")
            for method in methods:
                is_of_entry = re.search(rf"\b{name}\b", method.entry) is not None
                if not (method.builtin or is_of_entry) and of_template.search(method.code):
                    raise UsageError(
                        f"{name} is a template parameter in {method.path}: name it with --entry, as in "
                        f"{_with_parameter(method, name)}"
                    )
        return list(dict.fromkeys(methods))

    def _user_kernels(self) -> list[Method]:
        """Return the user's own kernels, each with a name that no other method has."""
        empty = [name for name, text in self.kernel_fields.items() if not text.strip()]
        if empty:
            kept = "; --save-launch writes the launch to a file, from which conditions can be removed"
            raise UsageError(f"--{empty[0]} is empty" + kept * (empty[0] == "requires"))
        taken = {*ladder.names(), BEST.name, *BEST.aliases}
        kernels: list[Method] = []
        for method in dict.fromkeys(m for kernel in self.kernels for m in self._kernels_in(kernel)):
            # A changed copy of one of ours must not be taken for it.
            base = method.name
            if base in taken:
                of_file = name_of(method.path)
                base = method.path.name if base == of_file else f"{of_file}-{base}"
            names = (base, *(f"{base}-{number}" for number in range(2, len(kernels) + 3)))
            free = next(name for name in names if name not in {kernel.name for kernel in kernels})
            kernels.append(replace(method, name=free))
        return kernels

    def _kernels_in(self, kernel: Path | str) -> list[Method]:
        """Return the kernel that the options or the file's header name; else all that multiply matrices."""
        source, path = self._source(kernel)
        is_chosen = bool(self._given_values())  # a value of the program may choose the instance
        names = entries(source, path, Overrides(self.kernel_fields), with_instances=not is_chosen)
        if not names:
            return [self._user_kernel(source, path, self.kernel_fields)]
        found: list[Method] = []
        reasons: list[UsageError] = []
        tried, untried = _first_instances(names)
        verb = "are" if untried[1:] else "is"
        remarks = [f"{' and '.join(untried)} {verb} {NOT_TRIED} one with --entry"] if untried else []
        for name in tried:
            try:
                method = self._user_kernel(source, path, self.kernel_fields | {"entry": name})
            except UsageError as reason:
                reasons.append(reason)
                remarks.append(f"{name} is left out: {reason}")
                continue
            found.append(replace(method, name=_name_of_entry(method.entry, names)))
        if not found:
            raise reasons[0]
        return [replace(found[0], remarks=(*found[0].remarks, *remarks)), *found[1:]]

    def _user_kernel(self, source: str, path: Path, fields: Mapping[str, str]) -> Method:
        try:
            file = parse_method(source, path, Overrides(fields))
        except UsageError:  # a value of -D may be the one that the launch lacks
            known = source
            for name, text in self._given_values().items():
                known = _with_host_constant(known, path, fields, name, _values(name, text, ())) or known
            if known == source:
                raise
            file = parse_method(known, path, Overrides(fields))
        found = (*(text for _, text in file.found_fields), *(name for name, _ in file.numbers))
        code = "\n".join((without_comments(file.code), *fields.values(), *found))
        added: list[Parameter] = []
        # A user's file need not declare the parameters that -D sets.
        for name, text in self._given_values().items():
            if name in {p.name for p in file.parameters}:
                continue
            values = _values(name, text, ())
            is_constant = _is_constant(name, without_comments(source))
            size = {own: letter for letter, own in file.size_names}.get(name)
            if size and not is_constant and size in SIZE_NAMES:
                raise UsageError(f"{name} is the size {size} of the problem in {path}: choose it with -n")
            if size and not is_constant:
                raise UsageError(f"{name} is {size} of the kernel in {path}: give -D {size}={text}")
            changed = None if size else _with_host_constant(source, path, fields, name, values)
            source = changed or source
            if changed or re.search(rf"\b{name}\b", code):
                is_of_host = changed is not None and not is_constant
                added.append(Parameter(name, values[0], values, is_of_host))
        if not added:
            return file
        method = parse_method(source, path, Overrides(fields, tuple(added)))
        tried = [f"-D {parameter.name}=" for parameter in added]
        left_out = tuple(text for text in method.left_out if not any(each in text for each in tried))
        return replace(method, left_out=left_out)

    def _source(self, kernel: Path | str) -> tuple[str, Path]:
        """Return the text of a kernel, and the path of its file."""
        if isinstance(kernel, Path):
            return read_source(kernel, self.kernel_fields.get("entry", "")), kernel
        # Source text is named for the function to launch, as if it were in a file of that name.
        entry = self.kernel_fields.get("entry") or next(iter(kernels_in(kernel)), "source")
        return kernel, Path(f"{entry}.cu")

    def is_named(self, method: Method) -> bool:
        """Return whether the user named the method itself, or its file, and not only `all`."""
        words = {word.lower() for word in self.words}
        return not method.builtin or not words.isdisjoint((method.name, *method.aliases))

    def has_values_for(self, name: str) -> bool:
        """Return whether the user gave values for a parameter."""
        return name in self._given_values()

    def _settable(self) -> set[str]:
        """Return names that `-D` may mean: parameters of the named methods, and constants of the files."""
        words = self.words or ([] if self.kernels else ["all"])
        methods = [m for word in words for m in (ladder.methods() if word == "all" else [ladder.find(word)])]
        code = "\n".join(without_comments(self._source(kernel)[0]) for kernel in self.kernels)
        return {p.name for m in methods for p in m.parameters} | set(_CONSTANT.findall(code))

    def _define(self, text: str) -> tuple[str, str]:
        name, equals, values = text.partition("=")
        if not values and any(name in kernels_in(self._source(kernel)[0]) for kernel in self.kernels):
            raise UsageError(f"{name} is a kernel of the file: entry={name}, or --entry {name}, chooses it")
        if not values and name.isidentifier() and name.isascii():
            names = self._settable()
            near = [name] if name in names else near_names(name, names)
            example, meant = [*near, *sorted(names), name][0], ""
            if example != name:
                others = (
                    f"did you mean {' or '.join(near)}?" if near else f"there is {', '.join(sorted(names))}"
                )
                meant = f" ({others})"
            raise UsageError(
                f"“-D {text}” has no value{meant}: write -D {example}=16, or a list, -D {example}=8,16,32"
            )
        if not equals or not name.isidentifier() or not name.isascii() or not values:
            raise UsageError(f"“-D {text}” must have the form -D NAME=VALUE or -D NAME=8,16,32")
        return name, values

    def _given_values(self) -> dict[str, str]:
        """Return the values that the user gave for parameters, by name, as text."""
        given: dict[str, str] = {}
        defines = map(self._define, self.defines)
        for name, text in (("BLOCK_SIZE", self.block), ("TILE_SIZE", self.tile), *defines):
            if text is None:
                continue
            if name in given:
                raise UsageError(f"{name} is given twice; list its values: {name}={given[name]},{text}")
            given[name] = text
        return given


def _first_instances(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the kernels with at most `_MOST_INSTANCES` of each template, and the other instances."""
    tried: list[str] = []
    for entry in entries:
        if [*map(function_of, tried)].count(function_of(entry)) < _MOST_INSTANCES:
            tried.append(entry)
    return tried, [entry for entry in entries if entry not in tried]


def _name_of_entry(entry: str, entries: Sequence[str]) -> str:
    """Return the method's name of a kernel, with template arguments if there are other instances."""
    kernel = function_of(entry)
    arguments = re.sub(r"\s", "", entry.removeprefix(kernel))
    is_one = [function_of(each) for each in entries].count(kernel) == 1
    return kernel.replace("_", "-") + ("" if is_one else arguments)


def _is_constant(name: str, code: str) -> bool:
    """Return whether a code defines a name as a macro or as a constant that is the same for all threads."""
    of_threads = r"[^;]*(?:Dim|Idx)\b"
    constant = rf"\bconst(?:expr)?\b[^;(){{}}=]*\b{name}\s*=(?!{of_threads})"
    return re.search(rf"#\s*define\s+{name}\s|{constant}", code) is not None


def _with_host_constant(
    source: str, path: Path, fields: Mapping[str, str], name: str, values: Sequence[Value]
) -> str | None:
    """Return a source in which a variable of the host code is a constant; None if the file has none.

    Raises:
        UsageError: the values lead to different launches.
    """
    numbers = [value for value in values if isinstance(value, int)]
    texts = [with_variable_as_constant(source, name, number) for number in numbers]
    if not texts or texts[0] is None:
        return None
    launched = {
        parse_method(text, path, Overrides(fields, (Parameter(name, value, (value,), True),))).found_fields
        for text, value in zip(texts, numbers, strict=True)
        if text
    }
    if len(launched) > 1:
        raise UsageError(
            f"{path} launches another kernel, or in another way, for some values of {name}: give -D {name}= "
            "one value at a time"
        )
    return texts[0]


def _with_parameter(method: Method, name: str) -> str:
    """Return the options that launch a kernel with the name of a template parameter in place of its value."""
    values = template_values(method.code, method.entry) or {name: ""}
    arguments = ", ".join(name if parameter == name else value for parameter, value in values.items())
    fields = dict(method.found_fields) | {"entry": f"{function_of(method.entry)}<{arguments}>"}
    others = {key: fields.pop(key) for key in sorted(EXTENTS & fields.keys(), reverse=True)}
    numbers = [value for value in values.values() if value.isdigit()]
    if not others or numbers != [values[name]]:  # which number is which is not known
        now = f" instead of {as_options(others)}" if others else ""
        return (
            f"“{as_options(fields)}”, with --threads and --grid that have {name} where they depend on it{now}"
        )
    of_value = re.compile(rf"(?<![\w.]){values[name]}(?![\w.])")
    return f"“{as_options(fields | {key: of_value.sub(name, text) for key, text in others.items()})}”"


def _check_grid(method: Method, chosen: Mapping[str, Sequence[Value]]) -> None:
    """Raise UsageError if values of parameters alone make an extent of the grid less than 1.

    An extent that depends on the size, or cannot be evaluated, is checked when the launch is planned.
    """
    values = {p.name: chosen.get(p.name, (p.default,)) for p in method.parameters}
    for extent in method.grid:
        names = sorted(extent.names)
        if not names or not extent.names <= values.keys():
            continue
        for combination in itertools.product(*(values[name] for name in names)):
            numbers = {name: v for name, v in zip(names, combination, strict=True) if isinstance(v, int)}
            try:
                blocks = extent.whole(numbers)
            except UsageError:
                continue
            if blocks < 1:
                given = ", ".join(f"{name}={value}" for name, value in numbers.items())
                formula = "" if extent.text in numbers else f" (grid: {extent})"
                raise UsageError(
                    f"{method.name} {given}: the grid has {blocks} blocks{formula}; a launch needs at least 1"
                )


def is_kernel_file(name: str) -> bool:
    """Return whether a name means a kernel file, and not a method of cudamm."""
    return name.endswith(KERNEL_FILES) or "/" in name or name == STANDARD_INPUT


def near_names(name: str, names: Collection[str]) -> list[str]:
    """Return up to two names of parameters that a misspelt name may mean, the nearest first."""
    spelled = {known.upper(): known for known in sorted(names) if known != name}
    near = difflib.get_close_matches(name.upper(), spelled, n=2, cutoff=0.6)
    longer = sorted((known for known in spelled if known.startswith(name.upper())), key=len)
    return [spelled[known] for known in dict.fromkeys((*longer, *near))][:2]


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return a question after the misspelt name of a parameter; empty if no name is near."""
    near = near_names(name, names)
    return f": did you mean {' or '.join(near)}?" if near else ""


def _values(name: str, text: str, worth_sweeping: Sequence[Value]) -> tuple[Value, ...]:
    if text == AUTO:
        raise UsageError("--block auto is for bench only; cudamm occupancy --suggest prints the block size")
    values = parse_values(text, worth_sweeping)
    if name.endswith("_SIZE") and any(not isinstance(v, int) or v < 1 for v in values):
        raise UsageError(f"{name} must be a whole number of at least 1, not “{text}”")
    return values
