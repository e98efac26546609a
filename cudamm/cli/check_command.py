"""`cudamm check`: which mistake makes a kernel wrong or slow, on which line, between which threads."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import click
import cloup
from cloup import option, option_group

from cudamm.api.defaults import VERIFIED_SIZES
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
    from cudamm.analysis.check import Sanitize, SharedLimit
    from cudamm.execution.executor import Executor
    from cudamm.kernels.selection import Selection

LARGER = "96x128x64"
"""Beside the awkward shapes: several blocks in both directions, none of them at an edge of a tile."""

SIZES = (*VERIFIED_SIZES[1:], LARGER, VERIFIED_SIZES[0])
"""The smallest comes last: each mistake is reported at the first size that shows it."""

DEFAULT_ARCH = "sm_90"

SANITIZER = "compute-sanitizer"


@cloup.command()
@selection_options(fmad_option)
@problem_options(", ".join(SIZES), "float32", seed_option)
@option_group(
    "Checking",
    option(
        "--arch", metavar="NAME", show_default=f"{DEFAULT_ARCH}, 227 KB per block",
        help="The architecture whose limit of shared memory counts, such as sm_86.",
    ),
    option(
        "--with", "tool", type=click.Choice([SANITIZER]),
        help="Ask NVIDIA's tool too, on a GPU: memcheck, racecheck, initcheck and synccheck.",
    ),
)  # fmt: skip
@device_options
@output_options()
def check_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    arch: str | None,
    tool: str | None,
    fmad: bool,
    seed: int,
    device_spec: str,
    timeout_s: float,
    outputs: Outputs,
) -> int:
    """Execute kernels on the processor, every access watched, and say what is wrong with them.

    Races, accesses out of bounds, reads of what nobody wrote, barriers that not all threads reach,
    misaligned vectors, wrong results: with the line, the threads and the element. Bank conflicts,
    uncoalesced accesses and warps that are not full are advice. No GPU is needed.

    \b
    cudamm check --kernel my.cu                  your own
    cudamm check -m tiled --block all            every block size of one
    cudamm check --kernel my.cu -n 50x70x40      at one size
    cudamm check --kernel my.cu --with compute-sanitizer
    """
    if tool is None and device_spec not in ("auto", "cpu"):
        raise UsageError(
            f"check executes kernels on the processor: leave --device {device_spec} out, or add "
            f"--with {SANITIZER}"
        )
    if tool is not None and device_spec == "cpu":
        raise UsageError(f"{SANITIZER} watches GPUs: leave --device cpu out, or --with {SANITIZER}")
    from cudamm.analysis.check import SCHEMA, CheckResult, check_all
    from cudamm.cli.session import Session
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.kernels.chosen_cases import cases, kernels_of
    from cudamm.output import check_text
    from cudamm.tuning.fitted_cases import fitted
    from cudamm.tuning.place import on_host

    unchecked = "have no threads, blocks or barriers to check: name a kernel"
    variants = kernels_of(selection.variants(), selection.is_named, unchecked, "check")
    limit = _shared_limit(arch)
    chosen = cases(variants, sizes or SIZES, dtypes, seed)
    with contextlib.ExitStack() as closing:
        sanitize = None if tool is None else _sanitizer(device_spec, timeout_s, fmad, closing)
        worker = closing.enter_context(WorkerExecutor("cpu", timeout_s))
        target = worker.target
        chosen, remarks = fitted(chosen, selection.is_named, target.lacks, on_host(target, arch))
        with Session[CheckResult](SCHEMA, outputs, target.info) as session:
            session.collect(lambda tell: check_all(worker, chosen, fmad, limit, tell, sanitize))
            session.show(check_text.render)
            session.say(remarks)
            mistakes = [row for result in session.results for row in result.mistake_records()]
            checked = [result.record() for result in session.results]
            session.write(mistakes, map(check_text.csv_record, mistakes), checked=checked)
            return session.exit_status(all(result.all_well for result in session.results))


def _shared_limit(arch: str | None) -> SharedLimit:
    """Of an architecture. Raises UsageError where there is none of that name."""
    from cudamm.analysis.check import SharedLimit
    from cudamm.kernels.architecture import find_architecture

    architecture = find_architecture(arch if arch is not None else DEFAULT_ARCH)
    return SharedLimit(architecture.shared_bytes_per_block, str(architecture))


def _sanitizer(device_spec: str, timeout_s: float, fmad: bool, closing: contextlib.ExitStack) -> Sanitize:
    """What asks compute-sanitizer. Raises NoDeviceError without a GPU or without the tool."""
    from cudamm.analysis.sanitizer import find_compute_sanitizer, sanitizing
    from cudamm.execution.worker_executor import WorkerExecutor

    gpu: Executor = closing.enter_context(WorkerExecutor(device_spec, timeout_s))
    info: Any = gpu.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(
            f"{missing}, and {SANITIZER} watches nothing else: cudamm check without --with does without"
        )
    return sanitizing(find_compute_sanitizer(), gpu, fmad, timeout_s)
