"""The answers for each configuration: what leads to the next step up, and whether a load is hidden."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.occupancy.occupancy_result import OccupancyResult, Step
from cudamm.output.console import print_fitting
from cudamm.output.number_format import parameters, percent
from cudamm.output.occupancy_names import configuration


def print_steps(console: Console, results: Sequence[OccupancyResult]) -> None:
    console.print("\nChanges that raise the occupancy", style="bold")
    for result in results:
        for line in step_lines(result):
            console.print(escape(f"{configuration(result, results)}: {line}"), soft_wrap=True)


def step_lines(result: OccupancyResult) -> list[str]:
    """Return a sentence on each change that leads to the next step up, or one sentence if none does.

    A kernel that cannot run, and of which nothing was tried, has none.
    """
    if not result.has_steps:
        return []
    if result.steps:
        return [_step(result, step) for step in result.steps]
    if result.occupancy == 1:
        return [f"the occupancy is full: an SM has room for {result.active_warps} warps"]
    return ["no change of registers, shared memory or block size that was tried raises the occupancy"]


def _step(result: OccupancyResult, step: Step) -> str:
    gain = f"{percent(step.occupancy)} occupancy (now {percent(result.occupancy)})"
    if step.threads_per_block is not None:
        blocks = f"blocks of {step.threads_per_block} threads (now {result.threads_per_block})"
        if step.params:
            chosen = parameters(step.params)
            if step.params.keys() <= {"BLOCK_SIZE", "TILE_SIZE"}:
                return f"{chosen}, with {blocks}, would give {gain}"
            return (
                f"-D {chosen}, with {blocks}, would give {gain}; if the file has another number, the kernel "
                f"may rely on it: verify it with -D {chosen} first"
            )
        if step.block:
            shape = " x ".join(map(str, step.block))
            return (
                f"blocks of {shape} threads (now {result.threads_per_block} threads) would give {gain}; the "
                "launch fixes the block: change it there, and in the kernel what depends on it"
            )
        return f"{blocks} would give {gain}"
    changes: list[str] = []
    if step.registers_per_thread is not None:
        now = result.registers_per_thread
        changes.append(f"{step.registers_per_thread} registers per thread (now {now})")
    if step.shared_bytes_per_block is not None:
        left = step.shared_bytes_per_block
        less = result.shared_bytes_per_block - left
        changes.append(f"{less:,} byte{'s' * (less > 1)} less shared memory ({left:,} per block)")
    blocks = (
        f"{step.active_blocks} block{'s' * (step.active_blocks > 1)} fit{'s' * (step.active_blocks == 1)}"
    )
    text = f"with {' and '.join(changes)}, {blocks} (now {result.active_blocks}): {gain}"
    return f"{text}{_how_to_save_registers(result, step)}"


def _how_to_save_registers(result: OccupancyResult, step: Step) -> str:
    """Return how to compile a kernel for a step's registers; empty if its registers stay as they are."""
    registers = step.registers_per_thread
    if registers is None:
        return ""
    return (
        f"; __launch_bounds__({result.threads_per_block}, {step.active_blocks}) before the kernel's name, or "
        f"nvcc -maxrregcount={registers}, limits a thread to {registers} registers (values beyond them spill "
        "to local memory, which takes time); if a thread computes several elements of C, fewer need fewer "
        "registers"
    )


def print_latency(console: Console, results: Sequence[OccupancyResult], sources: Sequence[str]) -> None:
    table = Table(
        title="Is the latency of a load from global memory hidden?", title_justify="left", title_style="bold"
    )
    table.add_column("configuration", min_width=14)
    for name in ("inde-\npendent", "x\ncycles", "x\nwarps", "=\ncycles", "", "load", "hidden"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("warps\nneeded", "or inde-\npendent"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in results:
        for i, row in enumerate(result.latency or ()):
            table.add_row(
                escape(configuration(result, results)) if i == 0 else "",
                str(row.independent),
                _decimal(row.instruction_cycles),
                str(result.active_warps),
                _decimal(row.hidden_cycles),
                "≥" if row.covered else "<",
                _decimal(row.load_cycles),
                "yes" if row.covered else "no",
                f"{row.warps_needed:,}",
                "" if row.independent_needed is None else f"{row.independent_needed:,}",
            )
        table.add_section()
    print_fitting(console, [table])
    for line in sources:
        console.print(escape(line), style="dim", soft_wrap=True)


def _decimal(value: float) -> str:
    """Return a number with at most four decimals: 0.1667, 384."""
    return f"{value:,.4f}".rstrip("0").rstrip(".")
