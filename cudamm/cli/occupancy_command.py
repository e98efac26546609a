"""`cudamm occupancy`: how full kernels, or bare numbers, can keep a multiprocessor, and what limits them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import click
import cloup
from cloup import option, option_group

from cudamm.cli.arch_options import architecture_options, chosen_architectures
from cudamm.cli.bare_numbers import bare_numbers, whole_numbers
from cudamm.cli.option_rules import belongs_to
from cudamm.cli.output_options import PLOT, Outputs, output_options
from cudamm.cli.shared_options import device_option, fmad_option, problem_options, selection_options
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.cli.session import Tell
    from cudamm.kernels.architecture import Architecture
    from cudamm.kernels.chosen_cases import Cases
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
    from cudamm.cli.session import Session
    from cudamm.kernels.chosen_cases import cases, kernels_of, supported_cases, unsupported_on
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
        raise UsageError("bare numbers have no matrices: leave out -n and --dtype; --grid gives the waves")
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
        without = "have no occupancy: name a method that runs on a GPU"
        variants = kernels_of(swept.variants(), swept.is_named, without, "compute the occupancy of")
        chosen = cases(variants, sizes or ("1024",), dtypes, seed=0)
        chosen, remarks = supported_cases(
            chosen, swept.is_named, unsupported_on([of.name for of in architectures])
        )
        if is_asked(variants):  # another choice for each architecture
            here = info.name if info.kind == "gpu" else ""
            for of in architectures:
                on_one, choices = resolve(chosen, of_architecture(of, here))
                groups.append(([of], on_one))
                remarks += [f"{of.name}: {choice}" for choice in choices]
        else:
            groups.append((architectures, chosen))

    def results(tell: Tell) -> Iterator[OccupancyResult]:
        if numbers is not None:
            compute = best_of_numbers if suggest else of_numbers
            yield from compute(architectures, numbers, carveout)
        for group, on_group in groups:
            if suggest:
                given = selection.has_values_for(BLOCK_SIZE)
                yield from best_block_sizes(group, on_group, fmad, carveout, tell, given)
            else:
                yield from of_kernels(group, on_group, fmad, carveout, tell)

    if curves:
        check_terminal()
    with Session[OccupancyResult](SCHEMA, outputs, info) as session:
        session.collect(lambda tell: answered(results(tell), architectures, questions, carveout))
        shown = drawn(session.results, architectures, carveout) if curves else []
        if len(shown) > MOST_CURVES:
            raise UsageError(f"curves of {len(shown)} configurations: name at most {MOST_CURVES}")

        def render(console: Console, found: list[OccupancyResult]) -> None:
            tables.render(console, found, sources)
            drawings.render(console, shown)

        session.show(render)
        session.say(remarks)
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
