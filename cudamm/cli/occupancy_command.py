"""`cudamm occupancy`: how full kernels, or bare numbers, can keep a multiprocessor, and what limits them."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option, option_group

from cudamm.api.bare_numbers import bare_numbers, whole_numbers
from cudamm.cli.arch_options import architecture_options
from cudamm.cli.option_rules import belongs_to
from cudamm.cli.output_options import PLOT, Outputs, output_options
from cudamm.cli.shared_options import device_option, fmad_option, problem_options, selection_options
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.kernels.selection import Selection
    from cudamm.occupancy.occupancy_result import OccupancyResult

MOST_CURVES = 8
"""Largest number of configurations whose curves are drawn."""


@cloup.command()
@selection_options(fmad_option)
@option_group(
    "Bare numbers, with --threads and --grid",
    option("--registers", metavar="LIST", help="Registers per thread."),
    option("--shared", metavar="LIST", help="Bytes of shared memory per block, or as in 8*threads."),
    option("--barriers", type=click.IntRange(0, 16), show_default="1", help="Barriers per block."),
)
@problem_options("1024; it gives the waves")
@architecture_options(device_option)
@option_group(
    "Questions",
    option("--suggest", is_flag=True, help="The block size of highest occupancy, and the lab's edge."),
    option("--why", is_flag=True, help="What to change to reach the next step up."),
    option(
        "--ilp", is_flag=False, flag_value="1,2,4,8,16,32", metavar="[LIST]",
        help="Is a load hidden, with so many independent instructions?",
    ),
    option("--load-cycles", metavar="NUMBER", help="--ilp: cycles of a load."),
    option("--instruction-cycles", metavar="NUMBER", help="--ilp: cycles of an instruction."),
    option("--curves", is_flag=True, help="Occupancy against threads, registers and shared memory."),
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
    """Say how full each kernel can keep a multiprocessor, and what limits it.

    Kernels are compiled with nvcc, for the present GPU or for an architecture by name, at every block size
    worth trying. Bare numbers need no compiler: --threads, --registers and --shared take lists (16,37) and
    ranges (32:1024:32), and every combination is computed.

    \b
    cudamm occupancy                                        every method and block size
    cudamm occupancy -m tiled --block 16,32 --arch sm_90    two variants, for a Hopper GPU
    cudamm occupancy --arch sm_86 --threads 256 --registers 37 --shared 5000
    cudamm occupancy --kernel my.cu --why                   your kernel: what would help?
    cudamm occupancy -m tiled-dynamic --suggest             the best block size
    """
    from cudamm.api.occupancy_request import occupancy_request
    from cudamm.cli.session import Session
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
    architectures = request.architectures
    sources = latency_sources(architectures, questions) if questions.independent else []
    if curves:
        check_terminal()
    with Session[OccupancyResult](SCHEMA, outputs, request.device) as session:
        session.collect(request.results)
        shown = curves_of_results(session.results, architectures, carveout) if curves else []
        if len(shown) > MOST_CURVES:
            raise UsageError(f"curves of {len(shown)} configurations: name at most {MOST_CURVES}")

        def render(console: Console, found: list[OccupancyResult]) -> None:
            tables.render(console, found, sources)
            drawings.render(console, shown)

        session.show(render)
        session.say(request.remarks)
        session.write_picture(lambda found: drawings.drawing_of(shown))
        session.save(OccupancyResult.record)
        # That bare numbers fit nowhere is an answer; that a kernel does not, is a failure.
        return session.exit_status(numbers is not None or not any(r.reason for r in session.results))


def _cycles(option: str, text: str | None) -> Fraction | None:
    """Return a number of cycles, exactly as written. Raises UsageError if it is none."""
    if text is None:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", text) or not Fraction(text):
        raise UsageError(f"--{option} {text}: it has to be a number of cycles, such as 400 or 0.25")
    return Fraction(text)
