"""`cudamm sweep`: verify and time every combination of a method's parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import cloup

from cudamm.api.defaults import FINALISTS, TIMED_SIZES
from cudamm.cli.chosen_devices import opened, run_on_devices, useful_devices
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.documented_option import option
from cudamm.cli.measure_and_show import expected_problem, measure_and_show
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
    from cudamm.execution.executor import Executors
    from cudamm.kernels.selection import Selection


@cloup.command()
@selection_options(
    where_option,
    option("--full", is_flag=True, help="Sample slow variants fully too, instead of dropping them early."),
    option(
        "--finalists",
        type=WholeNumber(1, 1000),
        default=FINALISTS,
        metavar="K",
        help="On several GPUs: the K fastest of each problem are measured again, in turn, on one of them.",
    ),
    fmad_option,
    block=EVERY_VALUE,
    values=EVERY_VALUE,
)
@problem_options(SIZES_BY_DEVICE, "float32", seed_option, inputs_option, precision_option)
@measuring_options
@cluster_options
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
    finalists: int,
    measuring: Measuring,
    cluster: ClusterChoice,
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

    def sweep(executors: Executors) -> int:
        from cudamm.cli.asked_cases import asked_cases
        from cudamm.output import sweep_table as tables
        from cudamm.tuning.fitted_cases import fitted_to

        asked = asked_cases(
            variants,
            selection.is_named,
            sizes or (TIMED_SIZES[opened(executors, outputs).info.kind],),
            dtypes,
            measuring.seed,
            quiet=outputs.quiet,
            allowed_precision=measuring.allowed_precision,
            inputs=measuring.inputs,
        )
        asked, remarks = fitted_to(executors.target, asked, selection.is_named)
        chosen = [case for case in asked if all_hold(restrictions, *case)]
        if not chosen:
            raise UsageError(f"--where leaves none of {len(asked)} variants: loosen the condition")
        if conditions:
            remarks = [f"--where leaves {len(chosen)} of {len(asked)} variants", *remarks]
        return measure_and_show(
            executors,
            chosen,
            measuring,
            outputs,
            measuring.settings(fmad, drop=not full, each_may_fail=True, finalists=finalists),
            lambda console, view: tables.render(console, view, top),
            remarks,
        )

    return run_on_devices(
        measuring.device_spec,
        cluster,
        measuring.timeout_s,
        expected_problem(sizes, dtypes, measuring),
        useful_devices(len(variants) * max(1, len(sizes)) * max(1, len(dtypes))),
        outputs,
        sweep,
    )
