"""`cudamm show`: a variant's source, PTX, machine code, or use of resources."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import cloup
from cloup import option_group

from cudamm.cli.arch_options import compiled_architecture, present_place
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import at_most_one, contradict
from cudamm.cli.shared_options import fmad_option, problem_options, selection_options
from cudamm.errors import KernelError, UsageError

if TYPE_CHECKING:
    from cudamm.compile.program import Program
    from cudamm.kernels.method import ElementType
    from cudamm.kernels.selection import Selection
    from cudamm.kernels.variant import Variant
    from cudamm.output.show_text import Shown

View = Literal["source", "ptx", "sass", "resources"]
Made = TypeVar("Made")

DEFAULT = "sm_90"
"""Architecture if there is no GPU and none is named. If nvcc does not know it, nvcc's newest is used."""

DEFAULT_SIZE = "1024"
"""Size for which `best` is chosen if none is named. Nothing else depends on the size."""

_NO_LAUNCH = {"threads": "1", "grid": "1"}
"""Header fields for a kernel file without a header: `show` launches nothing, so any values will do."""


@cloup.command()
@selection_options(fmad_option)
@problem_options(f"{DEFAULT_SIZE}; only -m best depends on it")
@option_group(
    "What to print",
    option(
        "--source", is_flag=True, show_default="on, unless another is named",
        help="Source as the compiler gets it, with the parameters' values.",
    ),
    option("--ptx", is_flag=True, help="PTX, NVIDIA's portable assembly, from nvcc."),
    option("--sass", is_flag=True, help="SASS, the GPU's machine code, from nvdisasm."),
    option("--resources", is_flag=True, help="Table of registers, memory, spills and barriers."),
    constraint=at_most_one,
)  # fmt: skip
@option_group(
    "How to print it",
    option(
        "--diff", nargs=2, metavar="A B",
        help="Print two kernels side by side, with differences marked. Each is a method or file, as in "
        "tiled-padded,PAD=0.",
    ),
    option(
        "--arch", metavar="NAME", show_default=f"this machine's GPU, else {DEFAULT}",
        help="Compile for an architecture such as sm_86 or 8.6.",
    ),
    option(
        "--numbers/--no-numbers", default=None, show_default="numbers on a terminal, none in a file",
        help="Number the lines of the source, or not.",
    ),
    contradict("diff", "methods"),
    contradict("diff", "kernels"),
    contradict("diff", "resources"),
)  # fmt: skip
def show_command(
    selection: Selection,
    source: bool,
    ptx: bool,
    sass: bool,
    resources: bool,
    diff: tuple[str, str] | None,
    arch: str | None,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    numbers: bool | None,
) -> int:
    """\b
    cudamm show -m tiled --block 16           the source, as it is compiled
    cudamm show -m tiled --sass --arch sm_86  the machine code
    cudamm show --diff naive coalesced --ptx  two kernels side by side

    Print the source of a variant, or what nvcc compiles it to.

    Nothing is run, and no GPU is needed. Several variants are printed one after the other.
    """
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.compile import listing
    from cudamm.compile.program import program
    from cudamm.execution.compiled_programs import refuse_failures
    from cudamm.kernels.architecture import find_architecture
    from cudamm.kernels.chosen_cases import kernels_of
    from cudamm.kernels.launch_plan import limits_of
    from cudamm.kernels.launchable_cases import launchable_cases
    from cudamm.kernels.variant_pair import pair
    from cudamm.output import show_text as pages
    from cudamm.output.console import console, messages
    from cudamm.tuning.best_choice import is_asked, resolve

    flags: dict[View, bool] = {"source": source, "ptx": ptx, "sass": sass, "resources": resources}
    given = [name for name, is_given in flags.items() if is_given]
    view: View = given[0] if given else "source"
    if diff is not None:
        variants = pair(selection, diff, "--diff", _NO_LAUNCH)
    else:
        if selection.kernels:
            selection = dataclasses.replace(selection, kernel_fields=_NO_LAUNCH | selection.kernel_fields)
        variants = selection.variants()
    is_named = selection.is_named if diff is None else lambda method: True
    if view != "source":
        no_view = f"so there is no --{view}; --source works"
        variants = kernels_of(
            variants, is_named, f"are not compiled for a GPU, {no_view}", f"compile, {no_view}"
        )
    if sizes and not is_asked(variants):
        raise UsageError("compiled code does not depend on the size: leave out -n, which goes with -m best")
    problems = asked_cases(variants, is_named, sizes or (DEFAULT_SIZE,), dtypes)
    if is_asked(variants):
        problems, choices = resolve(problems, present_place(arch, DEFAULT))
        for line in choices:
            messages().print(f"cudamm: {line}", soft_wrap=True, markup=False)
    target = compiled_architecture(arch, DEFAULT) if view != "source" else ""
    if view != "source":
        limits = limits_of(find_architecture(target))
        problems, remarks = launchable_cases(problems, is_named, [limits])
        for remark in remarks:
            messages().print(f"cudamm: {remark}", soft_wrap=True, markup=False)
    chosen = [(variant, problem.element) for variant, problem in problems]
    if diff is None:
        chosen = list(dict.fromkeys(chosen))  # `best` can be the same variant at several sizes
    if diff is not None and len(chosen) != 2:
        raise UsageError("--diff compares two variants: name one --dtype that both have")
    programs = [program(variant, element, fmad) for variant, element in chosen]
    titles = [_title(v, p, target) for (v, _), p in zip(chosen, programs, strict=True)]

    if view == "resources":
        return _show_resources(target, chosen, programs)
    if view == "source":
        shown: list[Shown] = [
            pages.Shown(t, str(v), p.method.language, p.text, pages.source_lines(p.text))
            for t, (v, _), p in zip(titles, chosen, programs, strict=True)
        ]
    else:
        compiled = _compiled(programs, lambda source: listing.LISTINGS[view](source, target))
        if diff is not None or len(programs) == 1:
            refuse_failures(titles, programs, compiled)
        shown = [
            pages.Shown(t, str(v), view, made.text, made.lines)
            for t, (v, _), made in zip(titles, chosen, compiled, strict=True)
            if isinstance(made, listing.Listing)
        ]
        _report_failures(titles, compiled)
    out = console()
    if diff is not None:
        pages.render_diff(out, *_named_apart(shown))
    else:
        pages.render(out, shown, numbers=out.is_terminal if numbers is None else numbers)
    return 0 if len(shown) == len(chosen) else 1


def _title(variant: Variant, program: Program, arch: str) -> str:
    """Return a title such as `tiled BLOCK_SIZE=16, float32, sm_90, no fmad`; `arch` is empty for source."""
    parts = [str(variant), program.element.name, arch, "" if program.fmad else "no fmad"]
    return ", ".join(filter(None, parts))


def _named_apart(shown: Sequence[Shown]) -> list[Shown]:
    """Return the two listings, named by their methods alone if the methods differ."""
    methods = [listing.name.split()[0] for listing in shown]
    if len(set(methods)) != len(shown):
        return list(shown)
    return [dataclasses.replace(listing, name=name) for listing, name in zip(shown, methods, strict=True)]


def _compiled(
    programs: Sequence[Program], compile_one: Callable[[Program], Made]
) -> list[Made | KernelError]:
    """Return each program's compiled form or its error, in order; show progress meanwhile.

    Raises:
        UsageError: a user's kernel compiles in no variant.
    """
    from cudamm.execution.compiled_programs import compile_programs
    from cudamm.output.console import messages

    with messages().status("compiling") as status:
        return compile_programs(programs, compile_one, lambda name: status.update(f"compiled {name}"))


def _report_failures(titles: Sequence[str], compiled: Sequence[object]) -> None:
    """Print the error of each variant that does not compile."""
    from cudamm.output.console import messages

    for title, made in zip(titles, compiled, strict=True):
        if isinstance(made, KernelError):
            messages().print(f"cudamm: {title}: {made}", soft_wrap=True, markup=False)


def _show_resources(
    arch: str, chosen: Sequence[tuple[Variant, ElementType]], programs: Sequence[Program]
) -> int:
    from cudamm.compile.nvcc_compiler import compile_for_gpu, nvcc
    from cudamm.output import show_text as pages
    from cudamm.output.console import console

    rows: list[pages.Row] = []
    compiled = _compiled(programs, lambda source: compile_for_gpu(source, arch))
    for (variant, element), made in zip(chosen, compiled, strict=True):
        failed = isinstance(made, KernelError)
        dynamic = str(variant.method.shared_bytes)
        rows.append(
            pages.Row(
                variant.method.name,
                variant.params,
                element.name,
                None if isinstance(made, KernelError) else made.resources,
                "" if failed or dynamic == "0" else dynamic,
                str(made) if failed else "",
            )
        )
    release = ".".join(map(str, nvcc().release))
    pages.render_resources(console(), arch, f"nvcc {release}", rows)
    return 1 if any(row.reason for row in rows) else 0
