"""`cudamm profile`: what Nsight Compute says of kernels, in a table and a sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloup

from cudamm.cli.output_options import Outputs, output_options
from cudamm.cli.shared_options import (
    device_options,
    fmad_option,
    problem_options,
    seed_option,
    selection_options,
)
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor
    from cudamm.kernels.selection import Selection

DEFAULT_SIZE = "1024"

_WITHOUT = (
    "cudamm roofline --peak GFLOPS --bandwidth GB/S and cudamm occupancy --arch NAME say what can be known "
    "without a GPU"
)


@cloup.command()
@selection_options(fmad_option)
@problem_options(DEFAULT_SIZE, "float32", seed_option)
@device_options
@output_options()
def profile_command(
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
    from cudamm.analysis.profile import SCHEMA, WHERE_TO_GET_NCU, ProfileResult, profile
    from cudamm.cli.session import Session
    from cudamm.compile.toolkit import find_ncu, find_nvcc
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.chosen_cases import cases, kernels_of
    from cudamm.output import profile_table as tables
    from cudamm.tuning.fitted_cases import fitted_to

    unprofiled = "do not run on a GPU: name a method that does"
    variants = kernels_of(selection.variants(), selection.is_named, unprofiled, "profile; ncu does")
    chosen = cases(variants, sizes or (DEFAULT_SIZE,), dtypes, seed)
    with WorkerExecutor(device_spec, timeout_s) as worker:
        _check_gpu(worker)
        ncu = find_ncu(find_nvcc())
        if ncu is None:
            raise NoDeviceError(WHERE_TO_GET_NCU)
        chosen, remarks = fitted_to(worker.target, chosen, selection.is_named)
        info = worker.target.info
        with Session[ProfileResult](SCHEMA, outputs, info) as session:
            session.collect(lambda tell: profile(worker, ncu, chosen, fmad, timeout_s, tell))
            session.show(lambda console, results: tables.render(console, info, results))
            session.say(remarks)
            session.save(ProfileResult.record)
            return session.exit_status(all(result.status != "failed" for result in session.results))


def _check_gpu(executor: Executor) -> None:
    """Raise NoDeviceError if there is no GPU."""
    info = executor.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(f"{missing}, and Nsight Compute profiles nothing else: {_WITHOUT}")
