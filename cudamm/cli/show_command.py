"""`cudamm show`: what a compiler makes of a variant: its source, PTX, machine code, and what it takes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

import cloup
from cloup import option, option_group

from cudamm.cli.arch_options import compiled_architecture, present_place
from cudamm.cli.option_rules import at_most_one, contradict
from cudamm.cli.shared_options import fmad_option, problem_options, selection_options
from cudamm.errors import KernelError, UsageError

if TYPE_CHECKING:
    from cudamm.compile.program import Program
    from cudamm.kernels.method import ElementType
    from cudamm.kernels.selection import Selection
    from cudamm.kernels.variant import Variant
    from cudamm.output.show_text import Shown

What = Literal["source", "ptx", "sass", "resources"]
Made = TypeVar("Made")

DEFAULT = "sm_90"
"""The architecture if there is neither a GPU nor a name; if nvcc does not know it, nvcc's newest."""

DEFAULT_SIZE = "1024"
"""The size for which `best` is chosen if none is named; nothing else depends on the size."""

_NO_LAUNCH = {"threads": "1", "grid": "1"}
"""Nothing is launched here, so a kernel file need not describe its launch."""


@cloup.command()
@selection_options(fmad_option)
@problem_options(f"{DEFAULT_SIZE}; it goes with -m best alone")
@option_group(
    "What to print",
    option(
        "--source", is_flag=True, show_default="if no other is named",
        help="What the compiler gets, parameters substituted.",
    ),
    option("--ptx", is_flag=True, help="PTX, the virtual machine's code, by nvcc."),
    option("--sass", is_flag=True, help="The GPU's machine code, by nvdisasm."),
    option("--resources", is_flag=True, help="Registers, memory, spills and barriers, as a table."),
    constraint=at_most_one,
)  # fmt: skip
@option_group(
    "How to print it",
    option(
        "--diff", nargs=2, metavar="A B",
        help="Two side by side, differences marked; a method or file each, as in tiled-padded,PAD=0.",
    ),
    option(
        "--arch", metavar="NAME", show_default=f"the present GPU's, else {DEFAULT}",
        help="Compile for an architecture such as sm_86 or 8.6.",
    ),
    option(
        "--numbers/--no-numbers", default=None, show_default="on a terminal, not in a file",
        help="Number the lines of a source, or not.",
    ),
    contradict("diff", "methods"),
    contradict("diff", "kernel"),
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
    """Print what a compiler gets of a variant, and what it makes of it.

    Nothing is run, and no GPU is needed. Several variants are printed one after the other.

    \b
    cudamm show -m tiled --block 16              the source, as it is compiled
    cudamm show -m tiled --sass --arch sm_86     machine code
    cudamm show --resources                      what every kernel takes
    cudamm show --diff naive coalesced --ptx     do they have the same instructions?
    """
    from cudamm.compile import listing
    from cudamm.compile.program import program
    from cudamm.execution.compiled_programs import refuse_failures
    from cudamm.kernels.chosen_cases import cases, kernels_of, supported_cases, unsupported_on
    from cudamm.kernels.variant_pair import pair
    from cudamm.output import show_text as pages
    from cudamm.output.console import console, messages
    from cudamm.tuning.best_choice import is_asked, resolve

    given: dict[What, bool] = {"source": source, "ptx": ptx, "sass": sass, "resources": resources}
    named = [what for what, is_given in given.items() if is_given]
    what = named[0] if named else "source"
    if diff is not None:
        variants = pair(selection, diff, "--diff", _NO_LAUNCH)
    else:
        if selection.kernels:
            selection = dataclasses.replace(selection, kernel_fields=_NO_LAUNCH | selection.kernel_fields)
        variants = selection.variants()
    if what != "source":
        is_named = selection.is_named if diff is None else lambda method: True
        without = f"so there is no --{what}; --source works"
        variants = kernels_of(
            variants, is_named, f"are not compiled for a GPU, {without}", f"compile, {without}"
        )
    if sizes and not is_asked(variants):
        raise UsageError("what a compiler makes does not depend on the size: -n goes with -m best")
    problems = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed=0)
    if is_asked(variants):
        problems, choices = resolve(problems, present_place(arch, DEFAULT))
        for line in choices:
            messages().print(f"cudamm: {line}", soft_wrap=True, markup=False)
    chosen = [(variant, problem.element) for variant, problem in problems]
    if diff is None:
        chosen = list(dict.fromkeys(chosen))  # of several sizes each is shown once
    if diff is not None and len(chosen) != 2:
        raise UsageError("--diff compares two variants: name one --dtype that both have")
    target = compiled_architecture(arch, DEFAULT) if what != "source" else ""
    if what != "source":
        chosen, left_out = supported_cases(chosen, is_named, unsupported_on([target]))
        for line in left_out:
            messages().print(f"cudamm: {line}", soft_wrap=True, markup=False)
    programs = [program(variant, element, fmad) for variant, element in chosen]
    titles = [_title(v, p, target) for (v, _), p in zip(chosen, programs, strict=True)]

    if what == "resources":
        return _show_resources(target, chosen, programs)
    if what == "source":
        shown: list[Shown] = [
            pages.Shown(t, str(v), p.method.language, p.text, pages.source_lines(p.text))
            for t, (v, _), p in zip(titles, chosen, programs, strict=True)
        ]
    else:
        compiled = _compiled(programs, lambda source: listing.LISTINGS[what](source, target))
        if diff is not None or len(programs) == 1:
            refuse_failures(titles, programs, compiled)
        shown = [
            pages.Shown(t, str(v), what, made.text, made.lines)
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
    """Return a title such as `tiled BLOCK_SIZE=16, float32, sm_90, no fmad`; source has no architecture."""
    parts = [str(variant), program.element.name, arch, "" if program.fmad else "no fmad"]
    return ", ".join(filter(None, parts))


def _named_apart(shown: Sequence[Shown]) -> list[Shown]:
    """Return the two named by their methods alone, if these differ."""
    short = [of.name.split()[0] for of in shown]
    if len(set(short)) != len(shown):
        return list(shown)
    return [dataclasses.replace(of, name=name) for of, name in zip(shown, short, strict=True)]


def _compiled(
    programs: Sequence[Program], compile_one: Callable[[Program], Made]
) -> list[Made | KernelError]:
    """Return what became of each program, in order; show progress meanwhile.

    Raises:
        UsageError: a user's kernel that does not compile at all.
    """
    from cudamm.execution.compiled_programs import compile_programs
    from cudamm.output.console import messages

    with messages().status("compiling") as status:
        return compile_programs(programs, compile_one, lambda name: status.update(f"compiled {name}"))


def _report_failures(titles: Sequence[str], compiled: Sequence[object]) -> None:
    """Print why each variant that does not compile does not."""
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
