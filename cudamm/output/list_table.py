"""The table of `list`: a row a method, as its file's header describes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.kernels.best_method import BEST
from cudamm.kernels.method import FULL_WIDTH, Method, Parameter
from cudamm.output.console import print_fitting
from cudamm.output.document import environment

SCHEMA = "cudamm.list/1"

_TITLE = "The methods, in the order of the ladder"
_STACKED = "method\n= alias\nruns on"


def render(console: Console, methods: Sequence[Method], cpu_arch: str) -> None:
    """Print the widest form of the table that fits, and what its words mean.

    Args:
        cpu_arch: the newest architecture whose kernels the CPU device executes, such as `sm_80`.
    """
    print_fitting(console, _tables(methods, cpu_arch))
    console.print(
        "A parameter's default comes first, then the values that sweep tries. GPU, CPU: the kernel runs on a "
        "GPU, and the CPU device can execute it. GPU: libraries, and kernels for GPUs newer than "
        f"{cpu_arch}, run on a GPU only. host: the method runs on the processor of this machine. Element "
        f"types stand there if a method lacks one of {', '.join(FULL_WIDTH)}.",
        style="dim",
    )
    console.print(f"{BEST.name}: {BEST.summary[0].lower()}{BEST.summary[1:]}", style="dim")


def _tables(methods: Sequence[Method], cpu_arch: str) -> Iterator[Table]:
    wide = _table("method", "aliases", "parameters", "runs on", "what it teaches", "sources")
    for method in methods:
        aliases, parameters = escape(", ".join(method.aliases)), escape(_parameters(method))
        taught, sources = escape(method.summary), escape(method.sources)
        where = "\n".join([runs_on(method, cpu_arch), *_unusual_types(method)])
        wide.add_row(escape(method.name), aliases, parameters, where, taught, sources)
    # The widest form fits a terminal of 200 columns, with the long texts folded.
    wide.columns[4].max_width, wide.columns[5].max_width = 60, 46
    yield wide

    medium = _table(_STACKED, "parameters", "what it teaches")
    for method in methods:
        medium.add_row(_named(method, cpu_arch), escape(_parameters(method)), _taught(method))
    medium.columns[2].max_width = 46
    yield medium

    narrow = _table(_STACKED, "what it teaches")
    for method in methods:
        parameters = escape(_parameters(method, one_line=True))
        narrow.add_row(_named(method, cpu_arch), "\n".join(filter(None, (_taught(method), parameters))))
    yield narrow


def _table(*names: str) -> Table:
    table = Table(title=_TITLE, title_justify="left", title_style="bold", show_lines=True)
    for name in names:
        # Names are not folded, since a reader could not see where a folded name ends.
        table.add_column(name, no_wrap=name in (_STACKED, "method", "aliases", "parameters", "runs on"))
    return table


def _named(method: Method, cpu_arch: str) -> str:
    """Return the method's name, its other names, where it runs, and its types if they are unusual."""
    aliases = (f"= {escape(alias)}" for alias in method.aliases)
    return "\n".join([escape(method.name), *aliases, runs_on(method, cpu_arch), *_unusual_types(method)])


def _taught(method: Method) -> str:
    """Return the summary of what the method teaches, and its sources below."""
    sources = f"[dim]{escape(method.sources)}[/]" if method.sources else ""
    return "\n".join(filter(None, (escape(method.summary), sources)))


def runs_on(method: Method, cpu_arch: str) -> str:
    """Return `host` for a host method, `GPU, CPU` if the CPU device executes the kernel too, else `GPU`."""
    if method.runs_on_host:
        return "host"
    return "GPU, CPU" if method.is_kernel and not method.unsupported_reason(cpu_arch) else "GPU"


def _unusual_types(method: Method) -> Sequence[str]:
    """Return the method's element types if it lacks a usual one; else nothing."""
    return () if set(FULL_WIDTH) <= set(method.element_types) else method.element_types


def _parameters(method: Method, one_line: bool = False) -> str:
    return "\n".join(_parameter(p, ": " if one_line else "\n  ") for p in method.parameters)


def _parameter(parameter: Parameter, between: str) -> str:
    """Return `BLOCK_SIZE = 32`, and the values worth sweeping."""
    values = ", ".join(map(str, parameter.values))
    return f"{parameter.name} = {parameter.default}{between}{values}"


def document() -> dict[str, Any]:
    """Return the JSON document without its results, of which there is one per method."""
    return {"schema": SCHEMA, "environment": environment()}


def record(method: Method) -> dict[str, Any]:
    """Return the row of a `cudamm.list/1` file."""
    return {
        "method": method.name,
        "aliases": list(method.aliases),
        "file": method.path.name if method is not BEST else None,
        "language": method.language,
        "runs_on_host": method.runs_on_host,
        "library": method.package or None,
        "summary": method.summary,
        "sources": method.sources,
        "parameters": [
            {"name": p.name, "default": p.default, "values": list(p.values)} for p in method.parameters
        ],
        "requires": list(map(str, method.requires)),
        "needs": method.needs or None,
        "element_types": list(method.element_types),
    }
