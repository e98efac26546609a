"""`cudamm sweep`: every combination of a method's parameters, and which is best."""

from __future__ import annotations

import dataclasses

import click

from cudamm.cli.bench_command import DEFAULT_SIZE
from cudamm.cli.chosen_cases import able, all_hold, cases, restrictions_of
from cudamm.cli.measuring_options import Measuring, measure_and_show, measuring_options, worker_for
from cudamm.cli.options import Selection, dtype_option, fmad_option, selection_options, sizes_option
from cudamm.errors import UsageError


@click.command(short_help="Search a method's parameters for the fastest variant.")
@selection_options
@sizes_option("1024 on a GPU, 256 on the CPU device")
@dtype_option("float32")
@fmad_option
@click.option(
    "--where", "conditions", multiple=True, metavar="EXPR",
    help="Only variants for which this holds, such as BLOCK_SIZE*COARSE<=64; repeatable.",
)  # fmt: skip
@click.option("--top", type=click.IntRange(1), metavar="K", help="Show the K fastest of each problem only.")
@click.option("--full", is_flag=True, help="Measure slow variants too, which are dropped early otherwise.")
@measuring_options
def sweep(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    conditions: tuple[str, ...],
    top: int | None,
    full: bool,
    measuring: Measuring,
) -> int:
    """Time every combination of a method's parameters, as many as its header finds worth it or you name.

    What is clearly slower than the best so far after one sample is not measured further. Variants that
    cannot be launched are listed as failed, and only what was verified is ever called best.

    \b
    cudamm sweep -m tiled-coarse -n 4096                     every value worth trying
    cudamm sweep -m register-tile --block 8,16 --top 5       the five fastest
    cudamm sweep --kernel my.cu -D TX=1,2,4 -D TY=1,2,4 --where "TX*TY<=8"
    """
    variants = dataclasses.replace(selection, swept=None).variants()
    restrictions = restrictions_of(conditions)
    with worker_for(sizes, dtypes, measuring) as worker:
        from cudamm.output import sweep_table as tables
        from cudamm.tuning.best_choice import resolve
        from cudamm.tuning.place import of_target

        sizes = sizes or (DEFAULT_SIZE[worker.target.info.kind],)
        asked = cases(variants, sizes, dtypes, measuring.seed)
        asked, left_out = able(asked, selection.names, worker.target.lacks)
        asked, told = resolve(asked, of_target(worker.target))
        chosen = [case for case in asked if all_hold(restrictions, *case)]
        if not chosen:
            raise UsageError(f"--where leaves none of {len(asked)} variants")
        settings = measuring.settings(fmad, drop=not full, each_may_fail=True)
        remarks = [f"--where leaves {len(chosen)} of {len(asked)}"] if conditions else []
        remarks += [*left_out, *told]
        return measure_and_show(
            worker,
            chosen,
            measuring,
            settings,
            lambda console, view: tables.render(console, view, top),
            remarks,
        )
