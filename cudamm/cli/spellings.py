"""Other spellings of commands and options: those that are understood, and what a mistyped one may mean."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import click

from cudamm.errors import UsageError

MEANT_BY = {
    **dict.fromkeys(("test", "validate", "correctness"), "verify"),
    **dict.fromkeys(("run", "time", "measure", "perf", "benchmark"), "bench"),
    **dict.fromkeys(("lint", "debug", "diagnose", "memcheck", "racecheck", "sanitize", "analyze"), "check"),
    **dict.fromkeys(("ls", "methods", "kernels", "ladder"), "list"),
    **dict.fromkeys(("gpu", "gpus", "info", "nvidia-smi"), "devices"),
    **dict.fromkeys(("optimize", "autotune", "search"), "tune"),
    **dict.fromkeys(("ncu", "nsight"), "profile"),
    **dict.fromkeys(("cat", "ptx", "sass", "source"), "show"),
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("setup", "install"), "doctor"),
    "diff": "compare",
    "version": "--version",
}
"""Words that people try as commands, and the command that does what they mean."""

_FMAD = re.compile(r"--?fmad(?:=(.*))?", re.DOTALL)


def respelled(arguments: Sequence[str], commands: Collection[str]) -> list[str]:
    """Return command-line arguments in cudamm's spelling: `help bench`, and nvcc's `-fmad=false`.

    Raises:
        UsageError: the value of `-fmad` is neither true nor false.
    """
    if arguments and arguments[0].lower() == "help":
        return [*(word for word in arguments[1:2] if word != "help" and word[:1] != "-"), "--help"]
    if len(arguments) == 2 and arguments[0] in commands and arguments[1] == "help":
        return [arguments[0], "--help"]
    return list(_with_fmad_as_flag(arguments))


def _with_fmad_as_flag(arguments: Sequence[str]) -> Iterator[str]:
    remaining = iter(arguments)
    held = next(remaining, None)
    while held is not None:
        argument, held = held, next(remaining, None)
        if argument == "--":
            yield argument
            if held is not None:
                yield from (held, *remaining)
            return
        given = _FMAD.fullmatch(argument)
        if given is None:
            yield argument
            continue
        value = given[1]
        if value is None and held in ("true", "false"):
            value, held = held, next(remaining, None)
        if value not in (None, "true", "false"):
            raise UsageError(f"“{argument}”: write -fmad=true or -fmad=false, or --fmad or --no-fmad")
        yield "--no-fmad" if value == "false" else "--fmad"


def unknown_command(word: str, commands: Collection[str]) -> str:
    """Return what is wrong with a word in the place of a command, and what to write instead."""
    from cudamm.kernels.ladder import names

    lower = word.lower()
    if lower.endswith((".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp", ".py")) or Path(word).is_file():
        return (
            f"“{word}” is a file, and a command is missing: cudamm verify {word} compares its product with a "
            f"reference, and cudamm check {word} finds the line of a mistake"
        )
    near = [MEANT_BY[lower]] if lower in MEANT_BY else (
        [lower] if lower in commands else difflib.get_close_matches(lower, commands, n=2, cutoff=0.6)
    )  # fmt: skip
    if near:
        meant = ", ".join(f"'{name}'" for name in near)
        return f"no such command '{word}' (did you mean {meant}?); see cudamm --help"
    if lower in names():
        return f"“{word}” is a method, and a command is missing: for example cudamm verify -m {lower}"
    return f"no such command '{word}'; see cudamm --help"


def unknown_option(error: click.NoSuchOption, arguments: Sequence[str]) -> str:
    """Return what is wrong with an option that a command does not have, and which one was probably meant."""
    called = "cudamm" if error.ctx is None else error.ctx.command_path
    command = None if error.ctx is None else error.ctx.command
    word = next((a for a in arguments if _is_long_with_one_dash(a, error.option_name)), error.option_name)
    option = word.partition("=")[0]
    if isinstance(command, click.Group) and not option.startswith("--"):
        return f"{option} belongs after a command, as in cudamm COMMAND {option}; see {called} --help"
    options = [] if command is None else [o for p in command.params for o in (*p.opts, *p.secondary_opts)]
    near = _near_options(option, [o for o in options if o.startswith("-")])
    meant = f" (did you mean {', '.join(near)}?)" if near else ""
    return f"no such option {option}{meant}; see {called} --help"


def _is_long_with_one_dash(argument: str, short: str) -> bool:
    """Return whether an argument is a word such as `-block`, of which click names the first letter only."""
    return argument.startswith(short) and len(argument) > len(short) == 2 and not short.startswith("--")


def _near_options(option: str, options: Sequence[str]) -> list[str]:
    word = option.lstrip("-")
    exact = [o for o in options if o.lstrip("-") == word]
    return exact or difflib.get_close_matches(f"--{word}", options, n=2, cutoff=0.7)
