"""`cudamm occupancy`: calculate the occupancy of kernels, or of bare numbers, and what limits it."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.api.bare_numbers import bare_numbers, whole_numbers
from cudamm.cli.arch_options import architecture_options
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import WholeNumber
from cudamm.cli.option_rules import belongs_to
from cudamm.cli.output_options import PLOT, OutputOptions, output_options
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
    option("--barriers", type=WholeNumber(0, 16), metavar="N", show_default="1", help="Barriers per block."),
)
@problem_options("1024, or the size of your program; it decides the number of waves")
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
    outputs: OutputOptions,
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
    from cudamm.api.occupancy_request import occupancy_request
    from cudamm.cli.asked_cases import print_remarks
    from cudamm.cli.session import Session
    from cudamm.kernels.usual_sizes import not_verified
    from cudamm.occupancy.occupancy_curves import curves_of_results
    from cudamm.occupancy.occupancy_questions import Questions, latency_sources
    from cudamm.occupancy.occupancy_result import SCHEMA, OccupancyResult
    from cudamm.output import occupancy_drawing as drawings
    from cudamm.output import occupancy_output as tables
    from cudamm.output.plots.plot import check_terminal

    numbers = bare_numbers(selection, registers, shared, barriers, fmad, searched=suggest)
    questions = Questions(
        why,
        whole_numbers("ilp", ilp, least=1) if ilp is not None else (),
        _cycles("load-cycles", load_cycles),
        _cycles("instruction-cycles", instruction_cycles),
    )
    curves = curves or outputs.plot is not None
    request = occupancy_request(
        selection, numbers, sizes, dtypes,
        names=names, device_spec=device_spec, multiprocessors=sms, carveout_percent=carveout, fmad=fmad,
        suggest=suggest, sweep_block_size=suggest or not curves, questions=questions,
    )  # fmt: skip
    print_remarks(request.left_out, outputs.quiet)
    architectures = request.architectures
    sources = latency_sources(architectures, questions) if questions.independent else []
    if curves:
        check_terminal()
    with Session[OccupancyResult](SCHEMA, outputs, request.device) as session:
        session.collect(request.results)
        shown = curves_of_results(session.results, architectures, carveout) if curves else []
        if len(shown) > MOST_CURVES:
            raise UsageError(
                f"--curves draws at most {MOST_CURVES} configurations, and these are {len(shown)}: name fewer"
            )

        def render(console: Console, found: list[OccupancyResult]) -> None:
            tables.render(console, found, sources)
            drawings.render(console, shown)

        session.add_tables(render, lambda found: drawings.drawing_of(shown), draw_in_terminal=False)
        variants = [variant for _, cases in request.groups for variant, _ in cases]
        session.add_remarks([*request.remarks, *not_verified(variants)])
        session.save(OccupancyResult.record)
        # A kernel that cannot run is a failure; bare numbers that cannot run are an answer.
        return session.exit_status(numbers is not None or not any(r.reason for r in session.results))


def _cycles(option: str, text: str | None) -> Fraction | None:
    """Return a number of cycles, exactly as written. Raise UsageError for anything else."""
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}", text) or not Fraction(text):
        raise UsageError(f"--{option} {text} is not a number of cycles, such as 400 or 0.25")
    return Fraction(text)
