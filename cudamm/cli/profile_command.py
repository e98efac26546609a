"""`cudamm profile`: Nsight Compute's counters of kernels, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cloup

from cudamm.cli.output_options import OutputOptions, output_options
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

_WITHOUT_GPU = (
    "without a GPU, use cudamm trace, cudamm occupancy, or cudamm roofline --peak GFLOPS --bandwidth GB/S"
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
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm profile -m tiled                    one kernel
    cudamm profile -m naive,coalesced          what coalescing changes
    cudamm profile --kernel my.cu -n 2048      your kernel

    Profile each kernel with Nsight Compute, and name what limits its speed.

    The table shows throughputs, traffic, cache hits, coalescing, bank conflicts and achieved occupancy of one
    launch. An earlier launch warms the GPU up and is verified. The command needs an NVIDIA GPU and ncu, which
    is a part of the CUDA toolkit.
    """
    if device_spec == "cpu":
        raise UsageError(f"Nsight Compute profiles GPUs only, not the CPU device: {_WITHOUT_GPU}")
    from cudamm.analysis.profile import SCHEMA, WHERE_TO_GET_NCU, ProfileResult, profile
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.cli.session import Session
    from cudamm.compile.toolkit import find_ncu, find_nvcc
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.chosen_cases import kernels_of
    from cudamm.output import profile_table as tables
    from cudamm.tuning.fitted_cases import fitted_to

    why_refused = "do not run on a GPU: name a method that does"
    variants = kernels_of(selection.variants(), selection.is_named, why_refused, "profile; ncu does")
    chosen = asked_cases(
        variants, selection.is_named, sizes or (DEFAULT_SIZE,), dtypes, seed, quiet=outputs.quiet
    )
    with WorkerExecutor(device_spec, timeout_s) as worker:
        _check_gpu(worker)
        ncu = find_ncu(find_nvcc())
        if ncu is None:
            raise NoDeviceError(WHERE_TO_GET_NCU)
        chosen, remarks = fitted_to(worker.target, chosen, selection.is_named)
        info = worker.target.info
        with Session[ProfileResult](SCHEMA, outputs, info) as session:
            session.collect(
                lambda report_progress: profile(worker, ncu, chosen, fmad, timeout_s, report_progress)
            )
            session.add_tables(lambda console, results: tables.render(console, info, results))
            session.add_remarks(remarks)
            session.save(ProfileResult.record)
            return session.exit_status(all(result.status != "failed" for result in session.results))


def _check_gpu(executor: Executor) -> None:
    """Raise NoDeviceError if there is no GPU."""
    info = executor.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(f"{missing}, and Nsight Compute needs one: {_WITHOUT_GPU}")
