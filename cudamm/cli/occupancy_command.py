"""`cudamm occupancy`: calculate the occupancy of kernels, or of bare numbers, and what limits it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option_group

from cudamm.cli.arch_options import architecture_options, chosen_architectures
from cudamm.cli.bare_numbers import bare_numbers, whole_numbers
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import belongs_to
from cudamm.cli.output_options import PLOT, Outputs, output_options
from cudamm.cli.shared_options import (
    EVERY_VALUE,
    device_option,
    fmad_option,
    problem_options,
    selection_options,
)
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.cli.session import ReportProgress
    from cudamm.kernels.architecture import Architecture
    from cudamm.kernels.chosen_cases import Cases
    from cudamm.kernels.selection import Selection
    from cudamm.occupancy.occupancy_result import OccupancyResult

MOST_CURVES = 8
"""Largest number of configurations whose curves are drawn."""


@cloup.command()
@selection_options(fmad_option, block=EVERY_VALUE)
@option_group(
    "Bare numbers, with --threads and --grid",
    option("--registers", metavar="LIST", show_default="0", help="Registers per thread."),
    option(
        "--shared",
        metavar="LIST",
        show_default="0",
        help="Bytes of shared memory per block, or an expression such as '8*threads'.",
    ),
    option(
        "--barriers", type=click.IntRange(0, 16), metavar="N", show_default="1", help="Barriers per block."
    ),
)
@problem_options("1024, which decides the number of waves")
@architecture_options(device_option)
@option_group(
    "Questions",
    option("--suggest", is_flag=True, help="Which block size has the highest occupancy?"),
    option("--why", is_flag=True, help="What is the smallest change that raises the occupancy?"),
    option(
        "--ilp", is_flag=False, flag_value="1,2,4,8,16,32", metavar="[LIST]", show_default="not asked",
        help="Is the latency of a load hidden, with these numbers of independent instructions?",
    ),
    option(
        "--load-cycles", metavar="NUMBER", show_default="the architecture's",
        help="Latency of a load in cycles, for --ilp.",
    ),
    option(
        "--instruction-cycles", metavar="NUMBER", show_default="the architecture's",
        help="Cycles between two warp instructions of a multiprocessor, for --ilp.",
    ),
    option(
        "--curves", is_flag=True,
        help="How does occupancy depend on threads, registers and shared memory?",
    ),
    belongs_to("--ilp", "load_cycles", "instruction_cycles"),
)  # fmt: skip
@output_options(PLOT)
def occupancy_command(
    selection: Selection,
    registers: str | None,
    shared: str | None,
    barriers: int | None,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    names: tuple[str, ...],
    sms: int | None,
    carveout: int | None,
    device_spec: str,
    suggest: bool,
    why: bool,
    ilp: str | None,
    load_cycles: str | None,
    instruction_cycles: str | None,
    curves: bool,
    outputs: Outputs,
) -> int:
    """\b
    cudamm occupancy -m tiled --block 16,32 --arch sm_90  two block sizes
    cudamm occupancy --kernel my.cu --why                 what would help?
    cudamm occupancy --arch sm_86 --threads 256 --registers 37 --shared 5000

    Calculate occupancy: the share of a multiprocessor's warps that a kernel can keep active, and what limits
    it.

    nvcc compiles the kernels, for this machine's GPU or for the architecture of --arch, at every block size
    in the method's header. Bare numbers need no compiler: --threads, --registers and --shared take lists
    (16,37) and ranges (32:1024:32), and every combination is calculated.

    \b
    cudamm occupancy                             every method and block size
    cudamm occupancy -m tiled-dynamic --suggest  the best block size
    """
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.cli.session import Session
    from cudamm.kernels.chosen_cases import able, kernels_of, unfit_on
    from cudamm.occupancy.block_size import BLOCK_SIZE, best_block_sizes, best_of_numbers
    from cudamm.occupancy.configurations import of_numbers
    from cudamm.occupancy.kernel_occupancy import of_kernels
    from cudamm.occupancy.occupancy_curves import drawn
    from cudamm.occupancy.occupancy_questions import Questions, answered, latency_sources
    from cudamm.occupancy.occupancy_result import SCHEMA, OccupancyResult
    from cudamm.output import occupancy_drawing as drawings
    from cudamm.output import occupancy_output as tables
    from cudamm.output.plots.plot import check_terminal
    from cudamm.tuning.best_choice import is_asked, resolve
    from cudamm.tuning.place import of_architecture

    numbers = bare_numbers(selection, registers, shared, barriers, fmad, searched=suggest)
    if numbers is not None and (sizes or dtypes):
        raise UsageError(
            "bare numbers have no matrices: leave out -n and --dtype; --grid sets the number of blocks"
        )
    questions = Questions(
        why,
        whole_numbers("ilp", ilp, least=1) if ilp is not None else (),
        _cycles("load-cycles", load_cycles),
        _cycles("instruction-cycles", instruction_cycles),
    )
    curves = curves or outputs.plot is not None
    architectures, info = chosen_architectures(names, device_spec, sms, to_compile=numbers is None)
    sources = latency_sources(architectures, questions) if questions.independent else []
    groups: list[tuple[list[Architecture], Cases]] = []
    remarks: list[str] = []
    if numbers is None:
        swept = dataclasses.replace(selection, swept=() if curves and not suggest else (BLOCK_SIZE,))
        why_refused = "have no occupancy: name a method that runs on a GPU"
        variants = kernels_of(swept.variants(), swept.names, why_refused, "compute the occupancy of")
        chosen = asked_cases(variants, swept.names, sizes or ("1024",), dtypes, quiet=outputs.quiet)
        names_of_archs = [architecture.name for architecture in architectures]
        chosen, remarks = able(chosen, swept.names, unfit_on(names_of_archs))
        if is_asked(variants):  # `best` can be another variant on each architecture
            gpu_name = info.name if info.kind == "gpu" else ""
            for architecture in architectures:
                resolved, choices = resolve(chosen, of_architecture(architecture, gpu_name))
                groups.append(([architecture], resolved))
                remarks += [f"{architecture.name}: {choice}" for choice in choices]
        else:
            groups.append((architectures, chosen))

    def results(report_progress: ReportProgress) -> Iterator[OccupancyResult]:
        if numbers is not None:
            compute = best_of_numbers if suggest else of_numbers
            yield from compute(architectures, numbers, carveout)
        for group, group_cases in groups:
            if suggest:
                is_given = selection.gives(BLOCK_SIZE)
                yield from best_block_sizes(group, group_cases, fmad, carveout, report_progress, is_given)
            else:
                yield from of_kernels(group, group_cases, fmad, carveout, report_progress)

    if curves:
        check_terminal()
    with Session[OccupancyResult](SCHEMA, outputs, info) as session:
        session.collect(
            lambda report_progress: answered(results(report_progress), architectures, questions, carveout)
        )
        shown = drawn(session.results, architectures, carveout) if curves else []
        if len(shown) > MOST_CURVES:
            raise UsageError(
                f"--curves draws at most {MOST_CURVES} configurations, and these are {len(shown)}: name fewer"
            )

        def render(console: Console, found: list[OccupancyResult]) -> None:
            tables.render(console, found, sources)
            drawings.render(console, shown)

        session.show(render)
        session.print_remarks(remarks)
        session.write_picture(lambda found: drawings.drawing_of(shown))
        session.save(OccupancyResult.record)
        # A kernel that cannot run is a failure; bare numbers that cannot run are an answer.
        return session.exit_status(numbers is not None or not any(r.reason for r in session.results))


def _cycles(option: str, text: str | None) -> Fraction | None:
    """Return a number of cycles, exactly as written. Raise UsageError for anything else."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", text) or not Fraction(text):
        raise UsageError(f"--{option} {text} is not a number of cycles, such as 400 or 0.25")
    return Fraction(text)
