"""`cudamm occupancy`: what each variant's kernel takes of a multiprocessor, and what limits it."""

from __future__ import annotations

import dataclasses

import click

from cudamm.cli.options import (
    Selection,
    device_option,
    dtype_option,
    fmad_option,
    json_option,
    selection_options,
)


@click.command(short_help="Registers, shared memory and occupancy of each kernel.")
@selection_options
@dtype_option("float32")
@fmad_option
@device_option
@json_option
def occupancy(
    selection: Selection, dtypes: tuple[str, ...], fmad: bool, device_spec: str, json_path: str | None
) -> int:
    """Compile every chosen variant for the present GPU and say how full it can keep a multiprocessor.

    Without --block, every block size worth trying.

    \b
    cudamm occupancy                          every method and block size
    cudamm occupancy -m tiled --block 16,32   two variants
    """
    from cudamm import occupancy as calculation
    from cudamm.cli.cases import cases
    from cudamm.cli.session import Session
    from cudamm.devices.find import find_gpu
    from cudamm.errors import UsageError
    from cudamm.report import occupancy as tables
    from cudamm.results import OccupancyResult

    swept = dataclasses.replace(selection, swept=("BLOCK_SIZE",))
    variants = [variant for variant in swept.variants() if not variant.method.runs_on_host]
    if not variants:
        raise UsageError("host methods have no occupancy: name a method that runs on a GPU")
    with find_gpu(device_spec) as device:
        chosen = cases(variants, ("1024",), dtypes, seed=0)
        with Session[OccupancyResult]("cudamm.occupancy/1", json_path, device.info) as session:
            session.collect(lambda progress: calculation.occupancies(device, chosen, fmad, progress))
            session.show(lambda console, results: tables.render(console, device.info, results))
            session.save(OccupancyResult.record)
            return session.status(not any(result.reason for result in session.results))
