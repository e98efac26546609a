"""`cudamm check`: which mistake makes a kernel wrong or slow, on which line, between which threads."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

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
from cudamm.cli.verify_command import SHAPES
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.analysis.check import Sanitize, SharedLimit
    from cudamm.execution.executor import Executor

LARGER = "96x128x64"
"""Beside the awkward shapes: several blocks in both directions, none of them at an edge of a tile."""

SIZES = (*SHAPES[1:], LARGER, SHAPES[0])
"""The smallest comes last: what is found is told of the first size where it is."""

DEFAULT_ARCH = "sm_90"

SANITIZER = "compute-sanitizer"


@click.command(short_help="Which mistake makes a kernel wrong or slow, and on which line.")
@selection_options
@sizes_option(", ".join(SIZES))
@dtype_option("float32")
@click.option(
    "--arch",
    metavar="NAME",
    help=f"Whose limit of shared memory counts, such as sm_86; {DEFAULT_ARCH} by default: 227 KB a block.",
)
@click.option(
    "--with",
    "tool",
    type=click.Choice([SANITIZER]),
    help="Ask NVIDIA's tool too, on a GPU: memcheck, racecheck, initcheck and synccheck.",
)
@fmad_option
@seed_option
@device_option
@timeout_option
@output_options
def check(
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
    unchecked = "have no threads, blocks or barriers to check: name a kernel"
    variants = kernels_of(selection.variants(), selection.names, unchecked, "check")

    from cudamm.analysis.check import SCHEMA, check_all
    from cudamm.cli.check_session import CheckSession
    from cudamm.cli.chosen_cases import able, cases
    from cudamm.execution.worker import WorkerExecutor
    from cudamm.output import check_text as paragraphs
    from cudamm.tuning.best_choice import resolve
    from cudamm.tuning.place import on_host

    limit = _shared_limit(arch)
    chosen = cases(variants, sizes or SIZES, dtypes, seed)
    with contextlib.ExitStack() as closing:
        sanitize = None if tool is None else _sanitizer(device_spec, timeout_s, fmad, closing)
        worker = closing.enter_context(WorkerExecutor("cpu", timeout_s))
        chosen, left_out = able(chosen, selection.names, worker.target.lacks)
        chosen, told = resolve(chosen, on_host(worker.target, arch))
        info = worker.target.info
        with CheckSession(SCHEMA, outputs, info) as session:
            session.collect(lambda tell: check_all(worker, chosen, fmad, limit, tell, sanitize))
            session.show(paragraphs.render)
            session.say([*left_out, *told])
            session.save_findings()
            return session.status(all(result.all_well for result in session.results))


def _shared_limit(arch: str | None) -> SharedLimit:
    """Of an architecture. Raises UsageError where there is none of that name."""
    from cudamm.analysis.check import SharedLimit
    from cudamm.kernels.architecture import find_architecture

    architecture = find_architecture(arch if arch is not None else DEFAULT_ARCH)
    return SharedLimit(architecture.shared_bytes_per_block, str(architecture))


def _sanitizer(device_spec: str, timeout_s: float, fmad: bool, closing: contextlib.ExitStack) -> Sanitize:
    """What asks compute-sanitizer. Raises NoDeviceError without a GPU or without the tool."""
    from cudamm.analysis.sanitizer import find_compute_sanitizer, sanitizing
    from cudamm.execution.worker import WorkerExecutor

    gpu: Executor = closing.enter_context(WorkerExecutor(device_spec, timeout_s))
    info: Any = gpu.target.info
    if info.kind == "cpu":
        missing = info.note or "there is no GPU here"
        raise NoDeviceError(
            f"{missing}, and {SANITIZER} watches nothing else: cudamm check without --with does without"
        )
    return sanitizing(find_compute_sanitizer(), gpu, fmad, timeout_s)
