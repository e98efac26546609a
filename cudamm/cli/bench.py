"""`cudamm bench`: time every chosen variant, verified first."""

from __future__ import annotations

import click

from cudamm.cli.options import (
    AUTO,
    Selection,
    device_option,
    dtype_option,
    fmad_option,
    json_option,
    seed_option,
    selection_options,
    sizes_option,
)

DEFAULT_SIZE = {"gpu": "1024", "cpu": "256"}


@click.command(short_help="Time methods, each verified first.")
@selection_options
@sizes_option("1024 on a GPU, 256 on the CPU device")
@dtype_option("float32")
@fmad_option
@click.option(
    "--runs", type=click.IntRange(1, 100_000), default=5, help="Timed launches a variant; 5 by default."
)
@click.option(
    "--warmup", type=click.IntRange(0), help="Launches before them; by default until 100 ms are spent."
)
@click.option("--verify/--no-verify", default=True, help="Verify each variant before it is timed (it is).")
@seed_option
@device_option
@click.option(
    "--style",
    type=click.Choice(["table", "report"]),
    default="table",
    help="Tables, or a course report's lines.",
)
@json_option
def bench(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    runs: int,
    warmup: int | None,
    verify: bool,
    seed: int,
    device_spec: str,
    style: str,
    json_path: str | None,
) -> int:
    """Time every chosen variant on every size, each verified before it is timed.

    \b
    cudamm bench                                     the whole ladder
    cudamm bench --method tiled --block 16           one variant
    cudamm bench -m tiled --block all --style report a sweep, as a course report prints it
    cudamm bench -n 1024 -n 640x480x320 -m cosimple  sizes, and CMU's names
    cudamm bench --kernel my.cu -m tiled             your kernel beside ours
    cudamm bench -m tiled-dynamic --block auto       the block size of highest occupancy, and the default
    """
    from cudamm import devices, measure
    from cudamm.cli.auto import default_and_best
    from cudamm.cli.cases import cases
    from cudamm.cli.session import Session
    from cudamm.report import bench as tables
    from cudamm.report import course
    from cudamm.results import Result

    auto = selection.block == AUTO
    variants = [] if auto else selection.variants()
    settings = measure.Settings(fmad=fmad, runs=runs, warmup=warmup, verify=verify)
    with devices.find(device_spec) as device:
        sizes = sizes or (DEFAULT_SIZE[device.info.kind],)
        found: list[str] = []
        if auto:
            chosen, found = default_and_best(selection, device, sizes, dtypes, seed, fmad)
        else:
            chosen = cases(variants, sizes, dtypes, seed)
        with Session[Result]("cudamm.bench/1", json_path, device.info) as session:
            session.collect(lambda progress: measure.bench(device, chosen, settings, progress))
            printed = course.render if style == "report" else tables.render
            session.show(lambda console, results: printed(console, device.info, results))
            session.say(found)
            session.save(Result.bench_record)
            return session.status(all(result.status != "failed" for result in session.results))
