"""`cudamm check`: find a kernel's mistakes, with their lines and threads."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click
import cloup
from cloup import option_group

from cudamm.cli.chosen_devices import opened
from cudamm.cli.documented_option import option
from cudamm.cli.output_options import OutputOptions, output_options
from cudamm.cli.shared_options import (
    device_option,
    fmad_option,
    problem_options,
    scale_options,
    seed_option,
    selection_options,
    verify_timeout_option,
)
from cudamm.errors import NoDeviceError, UsageError
from cudamm.kernels.usual_sizes import VERIFIED_SIZES, usual_sizes

if TYPE_CHECKING:
    from cudamm.analysis.check import Sanitize
    from cudamm.execution.executor import Executor
    from cudamm.kernels.selection import Selection

DEFAULT_ARCH = "sm_90"
"""Architecture whose limit of shared memory per block counts, if none is named."""

SANITIZER = "compute-sanitizer"


@cloup.command()
@selection_options(fmad_option)
@problem_options(", ".join(VERIFIED_SIZES), "float32", seed_option, *scale_options)
@option_group(
    "Checking",
    option(
        "--arch", metavar="NAME", show_default=f"{DEFAULT_ARCH}, 227 KB per block",
        help="Architecture whose limit of shared memory applies, such as sm_86.",
    ),
    option(
        "--with", "tool", type=click.Choice([SANITIZER]),
        help="Run NVIDIA's tool too, on a GPU: memcheck, racecheck, initcheck and synccheck.",
    ),
)  # fmt: skip
@option_group("Device", device_option, verify_timeout_option)
@output_options()
def check_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    arch: str | None,
    tool: str | None,
    fmad: bool,
    seed: int,
    alpha: float | None,
    beta: float | None,
    device_spec: str,
    timeout_s: float | None,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm check --kernel my.cu                your kernel, at seven awkward sizes
    cudamm check --kernel my.cu -n 50x70x40    your kernel, at one size
    cudamm check -m tiled --block all          every block size of one method

    Find what is wrong with a kernel. The kernel runs on the processor, which watches every access. No GPU is
    needed.

    Mistakes are races, accesses out of bounds, reads of uninitialised memory, barriers that some threads do
    not reach, misaligned vectors and wrong results. Each is reported with the line, the threads and the
    element. Bank conflicts, uncoalesced accesses and partly filled warps are reported as advice.
    """
    if tool is None and device_spec not in ("auto", "cpu"):
        raise UsageError(
            f"check executes kernels on the processor, not on {device_spec}: leave out --device "
            f"{device_spec}, or add --with {SANITIZER}"
        )
    if tool is not None and device_spec == "cpu":
        raise UsageError(
            f"{SANITIZER} needs a GPU, not the CPU device: leave out --device cpu, or --with {SANITIZER}"
        )
    from cudamm.analysis.check import SCHEMA, CheckResult, SharedLimit, check_all
    from cudamm.cli.asked_cases import asked_cases
    from cudamm.cli.session import Session
    from cudamm.execution.worker_executor import TIMEOUT_S, WorkerExecutor
    from cudamm.kernels.architecture import find_architecture
    from cudamm.kernels.chosen_cases import kernels_of, remarks_on_padding, remarks_on_scale, scale_of
    from cudamm.output import check_text
    from cudamm.tuning.fitted_cases import fitted
    from cudamm.tuning.place import on_host

    why_refused = "have no threads, blocks or barriers to check: name a kernel"
    variants = kernels_of(selection.variants(), selection.is_named, why_refused, "check")
    architecture = find_architecture(arch if arch is not None else DEFAULT_ARCH)
    limit = SharedLimit(architecture.shared_bytes_per_block, str(architecture))
    chosen = asked_cases(
        variants,
        selection.is_named,
        sizes or usual_sizes(variants),
        dtypes,
        seed,
        quiet=outputs.quiet,
        scale=scale_of(alpha, beta),
    )
    with contextlib.ExitStack() as closing:
        sanitize = None if tool is None else _sanitizer(device_spec, timeout_s or TIMEOUT_S, fmad, closing)
        worker = closing.enter_context(WorkerExecutor("cpu", timeout_s))
        target = opened(worker, outputs)
        chosen, remarks = fitted(chosen, selection.is_named, target.lacks, on_host(target, arch))
        with Session[CheckResult](SCHEMA, outputs, target.info) as session:
            session.collect(
                lambda report_progress: check_all(
                    worker,
                    chosen,
                    fmad,
                    limit,
                    report_progress,
                    sanitize,
                    timeout_s or TIMEOUT_S,
                    arch=architecture.name,
                    advises=True,
                )
            )
            session.add_tables(check_text.render)
            ran = {(result.method, size) for result in session.results for size in result.sizes}
            checked = [case for case in chosen if (case[0].method.name, str(case[1].shape)) in ran]
            has_right = any(result.status == "clean" for result in session.results)
            padded = remarks_on_padding(checked if has_right else [])
            session.add_remarks([*remarks, *padded, *remarks_on_scale(checked)])
            mistakes = [row for result in session.results for row in result.mistake_records()]
            cases = [result.record() for result in session.results]
            session.write(mistakes, map(check_text.csv_record, mistakes), checked=cases)
            was_checked = any(result.status != "skipped" for result in session.results)
            return session.exit_status(was_checked and all(result.all_well for result in session.results))


def _sanitizer(device_spec: str, timeout_s: float, fmad: bool, closing: contextlib.ExitStack) -> Sanitize:
    """Return the function that runs compute-sanitizer. Raise NoDeviceError without a GPU or the tool."""
    from cudamm.analysis.sanitizer import find_compute_sanitizer, sanitizing
    from cudamm.execution.worker_executor import WorkerExecutor

    gpu: Executor = closing.enter_context(WorkerExecutor(device_spec, timeout_s))
    info: Any = gpu.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(f"{missing}, and {SANITIZER} needs one: leave out --with {SANITIZER}")
    return sanitizing(find_compute_sanitizer(), gpu, fmad, timeout_s)
