"""Command lines of every command, made from its parameters: an option that is added is attacked at once."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import click
import environments
import file_names
import option_values
from arena import Line
from hypothesis import strategies as st

from cudamm.cli.app import COMMANDS, app

NAMES = tuple(name for group in COMMANDS.values() for name in group)

OUTPUTS = {"json", "csv", "markdown", "svg", "resume", "plot", "page", "out", "junit"}
"""Parameters that name a file to write."""

INPUTS = {"kernels", "path", "old_path", "new_path", "assignment", "submission"}
"""Parameters that name a file to read."""

MEASURED = (
    ("-m", "naive", "--block", "8", "-n", "16"),
    ("--kernel", "mine.cu", "-n", "16"),
)
BASES: dict[str, tuple[tuple[str, ...], ...]] = {
    "bench": tuple((*line, "--runs", "1", "--warmup", "0") for line in MEASURED),
    "verify": MEASURED,
    "sweep": tuple((*line, "--runs", "1", "--warmup", "0") for line in MEASURED),
    "tune": (*MEASURED, ("--list",)),
    "trace": (*MEASURED, (*MEASURED[0], "--warp", "0")),
    "check": MEASURED,
    "grade": (
        ("assignment.toml", "mine.cu"),
        ("assignment.toml", "mine.cu", "--public", "--out", "grade.json"),
    ),
    "occupancy": (
        ("--threads", "64", "--registers", "32", "--arch", "sm_86"),
        ("--threads", "32:256:32", "--shared", "8*threads", "--arch", "all"),
        ("--threads", "64", "--why", "--suggest", "--arch", "sm_90"),
    ),
    "roofline": (
        ("--peak", "19500", "--bandwidth", "1555", "-m", "naive,tiled"),
        ("--kernel", "mine.cu", "--arch", "sm_80", "--clock", "1410", "--bandwidth", "1555"),
        ("--kernel", "mine.cu", "--gpu", "RTX 3090", "-n", "32"),
    ),
    "profile": (("-m", "naive"),),
    "show": (("-m", "naive", "--block", "8"), ("--kernel", "mine.cu"), ("--diff", "naive", "coalesced")),
    "report": (
        ("gpu.json",),
        ("old.json",),
        ("gpu.json", "-o", "page.html"),
        ("gpu.json", "--svg", "table.svg"),
    ),
    "compare": (("old.json", "new.json"), ("gpu.json", "gpu.json")),
    "list": ((),),
    "reproduce": (("sjtu",),),
    "devices": ((),),
    "health": ((),),
    "doctor": ((),),
    "completion": (("bash",), ("fish",)),
}
"""Beginnings of command lines that a command accepts and that take little time."""


@functools.cache
def parameters(name: str) -> tuple[click.Parameter, ...]:
    """Return the parameters of a command."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    return tuple(command.params)


@dataclass(frozen=True)
class Part:
    """A few words of a command line, and the output file that they name."""

    words: tuple[str, ...]
    output: tuple[str, str] | None = None


def _words(parameter: click.Parameter, value: str) -> tuple[str, ...]:
    if isinstance(parameter, click.Argument):
        return (value,)
    return (parameter.opts[0], *(value,) * parameter.nargs)


def _part(parameter: click.Parameter, value: str) -> Part:
    output = (parameter.opts[-1], value) if parameter.name in OUTPUTS else None
    return Part(_words(parameter, value), output)


def good_parts(parameter: click.Parameter) -> st.SearchStrategy[Part]:
    """Return uses of a parameter that a command accepts."""
    name = parameter.name or ""
    if getattr(parameter, "is_flag", False):
        return st.sampled_from([Part((text,)) for text in (*parameter.opts[-1:], *parameter.secondary_opts)])
    if name in OUTPUTS:
        ending = file_names.SUFFIXES[name][0]
        return st.sampled_from([_part(parameter, f"out-{name}{ending}")])
    if isinstance(parameter.type, click.Choice):
        return st.sampled_from([_part(parameter, str(value)) for value in parameter.type.choices])
    values = file_names.GOOD_INPUTS.get(name) or option_values.GOOD.get(name, ("1",))
    return st.sampled_from([_part(parameter, value) for value in values])


def bad_parts(parameter: click.Parameter) -> st.SearchStrategy[Part]:
    """Return attacks on a parameter."""
    if getattr(parameter, "is_flag", False):
        return good_parts(parameter)
    if parameter.name in OUTPUTS:
        values = file_names.outputs(parameter.name)
    elif parameter.name in INPUTS:
        values = file_names.inputs()
    else:
        values = option_values.bad_values(parameter.metavar)
    return values.map(functools.partial(_part, parameter))


def _base(name: str) -> st.SearchStrategy[Part]:
    """Return the beginning of a good command line, or arguments that are no good."""
    known = parameters(name)
    good = st.sampled_from([Part(words, _output_among(words)) for words in BASES.get(name, ((),))])
    arguments = [parameter for parameter in known if isinstance(parameter, click.Argument)]
    if not arguments:
        return good
    bad = st.tuples(*(bad_parts(parameter) | good_parts(parameter) for parameter in arguments))
    return good | bad.map(lambda parts: Part(tuple(word for part in parts for word in part.words)))


def _output_among(words: tuple[str, ...]) -> tuple[str, str] | None:
    for option, named in (("-o", "--output"), ("--svg", "--svg"), ("--out", "--out")):
        if option in words:
            return named, words[words.index(option) + 1]
    return None


@st.composite
def command_lines(draw: st.DrawFn, name: str) -> Line:
    """Return a command line: a good one, with an attack or two among good options."""
    options = [parameter for parameter in parameters(name) if not isinstance(parameter, click.Argument)]
    parts = [draw(_base(name))]
    if options:
        parts += draw(st.lists(st.sampled_from(options).flatmap(good_parts), max_size=2))
        parts += draw(st.lists(st.sampled_from(options).flatmap(bad_parts), max_size=2))
    environment = draw(environments.environments()) if draw(st.integers(0, 5)) == 0 else {}
    return Line(
        (name, *(word for part in parts for word in part.words)),
        environment,
        tuple(len(part.words) for part in parts),
        dict(part.output for part in parts if part.output is not None),
        draw(st.sampled_from(["file"] * 10 + ["closed pipe", "/dev/full"])),
        fresh=bool(environments.READ_BY_INTERPRETER & set(environment)),
    )
