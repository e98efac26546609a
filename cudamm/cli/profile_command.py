"""`cudamm profile`: what Nsight Compute says of kernels, in a table and a sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cudamm.cli.chosen_cases import kernels_of
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
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor

DEFAULT_SIZE = "1024"

_WITHOUT = (
    "cudamm roofline --peak GFLOPS --bandwidth GB/S and cudamm occupancy --arch NAME say what can be known "
    "without a GPU"
)


@click.command(short_help="What Nsight Compute says of kernels, and what bounds them.")
@selection_options
@sizes_option(DEFAULT_SIZE)
@dtype_option("float32")
@fmad_option
@seed_option
@device_option
@timeout_option
@output_options
def profile(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    fmad: bool,
    seed: int,
    device_spec: str,
    timeout_s: float,
    outputs: Outputs,
) -> int:
    """Profile each kernel with Nsight Compute, and say what keeps it from being faster.

    Throughputs, traffic, cache hits, coalescing, bank conflicts and achieved occupancy of one launch, after
    one that warms up and is verified. It needs an NVIDIA GPU, and ncu, which the CUDA toolkit has.

    \b
    cudamm profile -m tiled                         one kernel
    cudamm profile -m naive,coalesced               what coalescing changes
    cudamm profile -m tiled-padded -D PAD=0,1       what padding does to bank conflicts
    cudamm profile --kernel my.cu -n 2048           your own
    """
    if device_spec == "cpu":
        raise UsageError(f"Nsight Compute profiles GPUs, and the CPU device is none: {_WITHOUT}")
    unprofiled = "do not run on a GPU: name a method that does"
    variants = kernels_of(selection.variants(), selection.names, unprofiled, "profile; ncu does")

    from cudamm.analysis.profile import SCHEMA, WHERE_TO_GET_NCU, ProfileResult
    from cudamm.analysis.profile import profile as profiled
    from cudamm.cli.chosen_cases import able, cases
    from cudamm.cli.session import Session
    from cudamm.compile.toolkit import find_ncu, find_nvcc
    from cudamm.execution.worker import WorkerExecutor
    from cudamm.output import profile_table as tables
    from cudamm.tuning.best_choice import resolve
    from cudamm.tuning.place import of_target

    chosen = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed)
    with WorkerExecutor(device_spec, timeout_s) as worker:
        _check_gpu(worker)
        ncu = find_ncu(find_nvcc())
        if ncu is None:
            raise NoDeviceError(WHERE_TO_GET_NCU)
        chosen, left_out = able(chosen, selection.names, worker.target.lacks)
        chosen, told = resolve(chosen, of_target(worker.target))
        info = worker.target.info
        with Session[ProfileResult](SCHEMA, outputs, info) as session:
            session.collect(lambda tell: profiled(worker, ncu, chosen, fmad, timeout_s, tell))
            session.show(lambda console, results: tables.render(console, info, results))
            session.say([*left_out, *told])
            session.save(ProfileResult.record)
            return session.status(all(result.status != "failed" for result in session.results))


def _check_gpu(executor: Executor) -> None:
    """Raise NoDeviceError where there is no GPU."""
    info = executor.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(f"{missing}, and Nsight Compute profiles nothing else: {_WITHOUT}")
