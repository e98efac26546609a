"""`cudamm sweep`: verify and time every combination of a method's parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import cloup

from cudamm.api.defaults import TIMED_SIZES
from cudamm.cli.documented_option import option
from cudamm.cli.measure_and_show import measure_and_show, worker_for
from cudamm.cli.measuring_options import Measuring, measuring_options
from cudamm.cli.number_types import WholeNumber
from cudamm.cli.output_options import PLOT, RESUME, OutputOptions, output_options
from cudamm.cli.shared_options import (
    EVERY_VALUE,
    SIZES_BY_DEVICE,
    fmad_option,
    inputs_option,
    precision_option,
    problem_options,
    seed_option,
    selection_options,
    where_option,
)
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.kernels.selection import Selection


@cloup.command()
@selection_options(
    where_option,
    option("--full", is_flag=True, help="Sample slow variants fully too, instead of dropping them early."),
    fmad_option,
    block=EVERY_VALUE,
    values=EVERY_VALUE,
)
@problem_options(SIZES_BY_DEVICE, "float32", seed_option, inputs_option, precision_option)
@measuring_options
@output_options(
    option(
        "--top",
        type=WholeNumber(1, 1_000_000),
        metavar="K",
        show_default="all",
        help="Show only the K fastest of each problem.",
    ),
    RESUME,
    PLOT,
)
def sweep_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    conditions: tuple[str, ...],
    top: int | None,
    full: bool,
    measuring: Measuring,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm sweep -m tiled-coarse -n 4096                 one method
    cudamm sweep -m register-tile --block 8,16 --top 5   show the five fastest
    cudamm sweep --kernel my.cu -D TX=1,2,4 -D TY=1,2,4  your kernel

    Verify and time every combination of a method's parameters: the values in the method's header, or those
    that you name.

    A variant that is clearly slower than the best so far is dropped after one sample. Variants that cannot
    be launched are listed as failed. Only a verified variant is called the best.
    """
    from cudamm.kernels.chosen_cases import all_hold, restrictions_of

    variants = dataclasses.replace(selection, swept=None).variants()
    restrictions = restrictions_of(conditions)
    with worker_for(sizes, dtypes, measuring) as worker:
        from cudamm.cli.asked_cases import asked_cases
        from cudamm.output import sweep_table as tables
        from cudamm.tuning.fitted_cases import fitted_to

        sizes = sizes or (TIMED_SIZES[worker.target.info.kind],)
        asked = asked_cases(
            variants,
            selection.is_named,
            sizes,
            dtypes,
            measuring.seed,
            quiet=outputs.quiet,
            allowed_precision=measuring.allowed_precision,
            inputs=measuring.inputs,
        )
        asked, remarks = fitted_to(worker.target, asked, selection.is_named)
        chosen = [case for case in asked if all_hold(restrictions, *case)]
        if not chosen:
            raise UsageError(f"--where leaves none of {len(asked)} variants: loosen the condition")
        if conditions:
            remarks = [f"--where leaves {len(chosen)} of {len(asked)} variants", *remarks]
        return measure_and_show(
            worker,
            chosen,
            measuring,
            outputs,
            measuring.settings(fmad, drop=not full, each_may_fail=True),
            lambda console, view: tables.render(console, view, top),
            remarks,
        )
