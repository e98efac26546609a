"""`cudamm verify`: is every chosen variant right, on shapes that catch what square powers of two hide?"""

from __future__ import annotations

import click

from cudamm.cli.options import (
    Selection,
    device_option,
    dtype_option,
    fmad_option,
    seed_option,
    selection_options,
    sizes_option,
    timeout_option,
)
from cudamm.cli.output_options import Outputs, output_options

SHAPES = ("1x1x1", "17x31x13", "33x65x129", "100x1x50", "127x128x1", "64x64x64")
"""The smallest, primes, around multiples of a warp, a single column, a single product, a square."""


@click.command(short_help="Check methods against a reference, on awkward shapes.")
@selection_options
@sizes_option(", ".join(SHAPES))
@dtype_option("all that a method has")
@fmad_option
@seed_option
@device_option
@timeout_option
@output_options
def verify(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    seed: int,
    device_spec: str,
    timeout_s: float,
    outputs: Outputs,
) -> int:
    """Check every element of every product against a float64 reference and the error rounding allows.

    With --no-fmad, methods that sum in k order must also match a host sum bit for bit. The CPU device
    launches each kernel twice, its threads in opposite orders: a result that changes betrays a race.

    \b
    cudamm verify                              every method, shape and type
    cudamm verify -m tiled --block all         every block size of one
    cudamm verify --kernel my.cu --device cpu  your own, without a GPU
    """
    from cudamm.benchmark import verify
    from cudamm.benchmark.result import VERIFY_SCHEMA
    from cudamm.cli.chosen_cases import able, cases
    from cudamm.cli.session import LiveSession
    from cudamm.execution.worker import WorkerExecutor
    from cudamm.output import verify_table as tables
    from cudamm.tuning.best_choice import resolve
    from cudamm.tuning.place import of_target

    chosen = cases(selection.variants(), sizes or SHAPES, dtypes, seed, all_types=True)
    with WorkerExecutor(device_spec, timeout_s) as worker:
        info = worker.target.info
        chosen, left_out = able(chosen, selection.names, worker.target.lacks)
        chosen, told = resolve(chosen, of_target(worker.target))
        with LiveSession(VERIFY_SCHEMA, outputs, info, lambda r, _: r.verify_record()) as session:
            session.collect(lambda progress: verify.verify_all(worker, chosen, fmad, progress))
            session.show(lambda console, results: tables.render(console, info, results))
            session.say([*left_out, *told])
            session.finish()
            return session.status(all(result.status != "failed" for result in session.results))
