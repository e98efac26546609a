"""What more is asked of each configuration: what would help it, and whether it hides a load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cudamm.kernels.architecture import Architecture
from cudamm.occupancy.latency import hidden, instruction_cycles, load_cycles
from cudamm.occupancy.next_step import next_steps
from cudamm.occupancy.occupancy_result import OccupancyResult


@dataclass(frozen=True)
class Questions:
    """What is asked.

    Attributes:
        steps: what leads to the next step up.
        independent: instructions a load, for each of which: is the load hidden? Empty: it is not asked.
        load_cycles: of a load; None takes what is known of the architecture.
        instruction_cycles: of an instruction for a warp; None likewise.
    """

    steps: bool = False
    independent: tuple[int, ...] = ()
    load_cycles: Fraction | None = None
    instruction_cycles: Fraction | None = None


def answered(
    results: Iterable[OccupancyResult],
    architectures: Sequence[Architecture],
    questions: Questions,
    carveout_percent: int | None,
) -> Iterator[OccupancyResult]:
    """The results with what is asked of them. Raises UsageError where an architecture's load is not known."""
    named = {architecture.name: architecture for architecture in architectures}
    for result in results:
        of = named[result.arch]
        if questions.steps:
            result = result._replace(steps=next_steps(of, result, carveout_percent))
        if questions.independent:
            latency = hidden(
                result.active_warps,
                questions.independent,
                questions.load_cycles or load_cycles(of)[0],
                questions.instruction_cycles or instruction_cycles(of),
            )
            result = result._replace(latency=latency)
        yield result


def latency_sources(architectures: Sequence[Architecture], questions: Questions) -> list[str]:
    """Where the cycles come from, a line an architecture. Raises UsageError where they are not known."""
    lines: list[str] = []
    for of in architectures:
        load = "a load: as given" if questions.load_cycles else "a load: {} ({})".format(*load_cycles(of))
        issue = (
            "as given"
            if questions.instruction_cycles
            else (
                f"{float(instruction_cycles(of)):g} (32 / {of.fp32_per_cycle} float32 results a cycle and SM)"
            )
        )
        lines.append(f"{of.name}: cycles of {load}; of an instruction: {issue}")
    return lines
