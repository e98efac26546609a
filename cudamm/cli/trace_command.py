"""`cudamm trace`: what each warp's loads and stores look like to memory, without a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cudamm.cli.chosen_cases import able, cases, kernels_of
from cudamm.cli.options import (
    Selection,
    dtype_option,
    fmad_option,
    seed_option,
    selection_options,
    sizes_option,
)
from cudamm.cli.output_options import Outputs, output_options
from cudamm.cli.variant_pair import pair
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.kernels.launch import Extents

DEFAULT_SIZE = "1024"

DEFAULT_ARCH = "sm_90"

DEFAULT_BLOCKS = 8

MOST_STEPS = 9


@click.command(short_help="Sectors, bank conflicts and bytes of each load and store, without a GPU.")
@selection_options
@sizes_option(DEFAULT_SIZE)
@dtype_option("float32")
@click.option(
    "--blocks", type=click.IntRange(1), metavar="N",
    help=f"Blocks to trace, at least one of each class; the rest is scaled. Default: {DEFAULT_BLOCKS}.",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Trace every block of the grid.")
@click.option(
    "--warp", type=click.IntRange(0), metavar="W",
    help="Draw which elements the threads of this warp of a block touch.",
)  # fmt: skip
@click.option("--of-block", metavar="X,Y,Z", help="The block that --warp is of. Default: 0,0.")
@click.option(
    "--steps", type=click.IntRange(1, MOST_STEPS), metavar="N",
    help="Time periods that --warp draws, up to 9. Default: 3.",
)  # fmt: skip
@click.option(
    "--compare", nargs=2, metavar="A B",
    help="Two side by side, with ratios; a method or file each, as in tiled-padded,PAD=0.",
)  # fmt: skip
@click.option(
    "--arch", default=DEFAULT_ARCH, metavar="NAME",
    help=f"For which nvcc merges shared loads into wider ones. Default: {DEFAULT_ARCH}.",
)  # fmt: skip
@click.option("--as-written", is_flag=True, help="Count shared loads as the source has them, none merged.")
@fmad_option
@seed_option
@output_options
def trace(
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
    fmad: bool,
    seed: int,
    outputs: Outputs,
) -> int:
    """Count what the warps of a kernel ask of memory: requests, sectors, wavefronts, bytes moved and used.

    The kernel runs on the processor, every access watched; no GPU is needed. A few blocks are traced, and
    stand for the others like them: the interior, the last column, the last row and the corner of the grid.

    \b
    cudamm trace -m naive                          a row for each load and store
    cudamm trace -m naive --warp 0                 which elements warp 0 touches, drawn
    cudamm trace --compare naive coalesced         side by side, with ratios
    cudamm trace -m tiled-padded -D PAD=0,1        bank conflicts, and their cure
    cudamm trace -m tiled-bounds -n 1000 --all     every block
    """
    if every and blocks is not None:
        raise UsageError("--all traces every block: leave out --blocks")
    for option, given in (("--of-block", of_block), ("--steps", steps)):
        if given is not None and warp is None:
            raise UsageError(f"{option} describes a warp: say which with --warp")
    if compare is not None and warp is not None:
        raise UsageError("--compare prints a table and --warp a drawing: one at a time")
    of = _block_index(of_block) if of_block is not None else (0, 0, 0)
    variants = pair(selection, compare, "--compare") if compare is not None else selection.variants()
    is_named = selection.names if compare is None else lambda method: True
    untraced = "have no warps to trace; name a method that runs on a GPU"
    variants = kernels_of(variants, is_named, untraced, "trace")

    from cudamm.analysis.trace import SCHEMA, Settings
    from cudamm.analysis.trace import trace as traced
    from cudamm.cli.output_options import Output
    from cudamm.devices.find_device import host
    from cudamm.kernels.architecture import find_architecture
    from cudamm.output import trace_table as tables
    from cudamm.output.console import messages
    from cudamm.output.document import document
    from cudamm.tuning.best_choice import resolve
    from cudamm.tuning.place import on_host

    chosen = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed)
    chosen, left_out = able(chosen, is_named, host().lacks)
    chosen, told = resolve(chosen, on_host(host(), arch))
    if compare is not None and len(chosen) != 2:
        raise UsageError("--compare is of two variants on one problem: name one size, and one --dtype")
    settings = Settings(
        blocks=None if every else blocks or DEFAULT_BLOCKS,
        arch=None if as_written else find_architecture(arch).name,
        warp=warp,
        of_block=of,
        steps=steps or Settings.steps,
    )
    stderr = messages()
    with Output(outputs) as output:
        with stderr.status("tracing") as status:
            if outputs.quiet:
                status.stop()

            def tell(doing: str, done: int, total: int) -> None:
                status.update(f"{doing}, {done} of {total}")
                if outputs.verbose:
                    stderr.print(f"{done} of {total}: {doing}", markup=False, soft_wrap=True)

            results = list(traced(chosen, settings, fmad, tell))

        def render(console: Console) -> None:
            if warp is not None:
                tables.render_warps(console, results)
            elif compare is not None:
                tables.render_comparison(console, *results)
            else:
                tables.render(console, results)
            for line in (*left_out, *told):
                console.print(line, markup=False, soft_wrap=True)

        whole = document(SCHEMA, host().info) | {"variants": [result.summary() for result in results]}
        output.present(render, whole, (record for result in results for record in result.records()))
    return 1 if any(result.status == "failed" for result in results) else 0


def _block_index(text: str) -> Extents:
    """`5`, `5,2` or `5,2,1`. Raises UsageError for anything else."""
    words = [word.strip() for word in text.split(",")]
    if not 1 <= len(words) <= 3 or not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
        raise UsageError(f"--of-block {text}: it has to be a block's index in x, y and z, such as 5,2")
    x, y, z = (*map(int, words), 0, 0)[:3]
    return x, y, z
