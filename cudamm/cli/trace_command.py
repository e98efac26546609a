"""`cudamm trace`: count what each load and store of a warp requests from memory, without a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.api.defaults import SIZE, TRACE_ARCH
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import WholeNumber
from cudamm.cli.option_rules import belongs_to, contradict
from cudamm.cli.output_options import OutputOptions, output_options
from cudamm.cli.shared_options import (
    fmad_option,
    problem_options,
    seed_option,
    selection_options,
    timeout_option,
)
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.analysis.trace import TraceResult
    from cudamm.kernels.launch_plan import Extents
    from cudamm.kernels.selection import Selection

MOST_STEPS = 9

LARGEST_BLOCK = 2**31 - 1
"""Largest number of a block or a warp: the largest extent of a grid."""


@cloup.command()
@selection_options(fmad_option)
@problem_options(f"{SIZE}, or the size of your program", "float32", seed_option)
@option_group(
    "Tracing",
    option(
        "--blocks", type=WholeNumber(1, LARGEST_BLOCK), metavar="N", show_default="8, all of a small product",
        help="Number of blocks to trace, at least one of each class. Counts are scaled up to the grid.",
    ),
    option("--all", "every", is_flag=True, help="Trace every block of the grid."),
    option(
        "--compare", nargs=2, metavar="A B",
        help="Print two kernels side by side, with ratios. Each is a method or file, as in "
        "tiled-padded,PAD=0.",
    ),
    option(
        "--arch", default=TRACE_ARCH, metavar="NAME",
        help="Architecture for which nvcc decides which shared-memory loads to merge into wider ones.",
    ),
    option(
        "--as-written", is_flag=True,
        help="Count shared-memory loads as the source has them, without nvcc's merging.",
    ),
    timeout_option,
    contradict("every", "blocks"),
    contradict("compare", "methods"),
    contradict("compare", "kernels"),
)  # fmt: skip
@option_group(
    "Drawing",
    option(
        "--warp", type=WholeNumber(0, LARGEST_BLOCK), metavar="W",
        help="Draw which elements the threads of warp W of a block access.",
    ),
    option("--of-block", metavar="X,Y,Z", show_default="0,0", help="Index of the block of --warp."),
    option(
        "--steps", type=WholeNumber(1, MOST_STEPS), metavar="N", show_default="3",
        help="Number of requests of each load and store that --warp draws.",
    ),
    contradict("compare", "warp"),
    belongs_to("--warp", "of_block", "steps"),
)  # fmt: skip
@output_options()
def trace_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    blocks: int | None,
    every: bool,
    warp: int | None,
    of_block: str | None,
    steps: int | None,
    compare: tuple[str, str] | None,
    arch: str,
    as_written: bool,
    timeout_s: float,
    fmad: bool,
    seed: int,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm trace -m naive                   a row for each load and store
    cudamm trace -m naive --warp 0          draw which elements warp 0 accesses
    cudamm trace --compare naive coalesced  two kernels side by side

    Count what the warps of a kernel request from memory: requests, sectors, wavefronts, bytes moved and used.

    The kernel runs on the processor, which records every access. No GPU is needed. A few blocks are traced
    and represent the others of their class: the interior, the last column, the last row and the corner of
    the grid.

    \b
    cudamm trace -m tiled-padded -D PAD=0,1       bank conflicts, and their cure
    cudamm trace -m tiled-bounds -n 1000 --all    every block
    """
    from cudamm.analysis.trace import DEFAULT_BLOCKS, SCHEMA, Settings, TraceResult, trace
    from cudamm.api.traceable_cases import traceable_cases
    from cudamm.cli.asked_cases import print_remarks
    from cudamm.cli.session import Session
    from cudamm.devices.find_device import host
    from cudamm.kernels.architecture import find_architecture
    from cudamm.kernels.usual_sizes import not_verified
    from cudamm.kernels.variant_pair import pair
    from cudamm.output import trace_table as tables

    settings = Settings(
        blocks=None if every else blocks or DEFAULT_BLOCKS,
        arch=None if as_written else find_architecture(arch).name,
        warp=warp,
        of_block=_block_index(of_block) if of_block is not None else (0, 0, 0),
        steps=steps or Settings.steps,
        timeout_s=timeout_s,
    )
    variants = pair(selection, compare, "--compare") if compare is not None else selection.variants()
    is_named = selection.is_named if compare is None else lambda method: True
    chosen, left_out, remarks = traceable_cases(variants, is_named, sizes, dtypes, seed, arch)
    print_remarks(left_out, outputs.quiet)
    if compare is not None and len(chosen) != 2:
        raise UsageError("--compare takes two variants on one problem: name one size and one --dtype")

    def render(console: Console, results: list[TraceResult]) -> None:
        if warp is not None:
            tables.render_warps(console, results)
        elif compare is not None and len(results) == 2:  # fewer after Ctrl-C
            tables.render_comparison(console, *results)
        else:
            tables.render(console, results)

    with Session[TraceResult](SCHEMA, outputs, host().info) as session:
        session.collect(lambda report_progress: trace(chosen, settings, fmad, report_progress))
        session.add_tables(render)
        session.add_remarks([*remarks, *not_verified(variant for variant, _ in chosen)])
        rows = [record for result in session.results for record in result.records()]
        session.write(rows, variants=[result.summary() for result in session.results])
        statuses = {result.status for result in session.results}
        return session.exit_status("failed" not in statuses and statuses != {"skipped"})


def _block_index(text: str) -> Extents:
    """Return the index that `5`, `5,2` or `5,2,1` stands for. Raise UsageError for anything else."""
    words = [word.strip() for word in text.split(",")]
    if not 1 <= len(words) <= 3 or not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
        raise UsageError(f"--of-block {text} is not the index of a block in x, y and z, such as 5,2")
    x, y, z = (*map(int, words), 0, 0)[:3]
    return x, y, z
