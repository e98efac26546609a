"""What `best` stands for on a device, at a shape, in an element type: as measured, else by preference."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cudamm.errors import UsageError
from cudamm.kernels.best_method import BEST
from cudamm.kernels.chosen_cases import Cases
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning import known_best
from cudamm.tuning.place import Place
from cudamm.tuning.preference_order import preferred


@dataclass(frozen=True)
class Choice:
    """A variant that was chosen.

    Attributes:
        variant: marked with what it was chosen by.
        why: in words.
    """

    variant: Variant
    why: str


def choose(place: Place, shape: Shape, element: ElementType) -> Choice:
    """Return the variant that was measured to be fastest, by `tune` or a table, else the preferred one.

    Raises:
        UsageError: no method of the ladder can compute the product there, or what was tuned cannot be read.
        CudammError: a table is damaged.
    """
    known = known_best.fastest(place, shape, element)
    if known is not None:
        return Choice(dataclasses.replace(known.variant, chosen_by=known.chosen_by), known.why)
    by_order = preferred(place, shape, element)
    if by_order is None:
        where = place.device or str(place.architecture)
        raise UsageError(f"best: no kernel of the ladder can compute {shape} {element.name} on {where}")
    variant, why = by_order
    return Choice(
        dataclasses.replace(variant, chosen_by="preference"),
        f"not measured on {place.architecture}; preference order: {why}",
    )


def is_asked(variants: Iterable[Variant]) -> bool:
    """Return whether `best` is among the variants."""
    return any(variant.method is BEST for variant in variants)


def resolve(cases: Sequence[tuple[Variant, Problem]], place: Place) -> tuple[Cases, list[str]]:
    """Replace `best` by each problem's own choice; return the cases, and lines that say what was chosen.

    Raises:
        UsageError, CudammError: as `choose` does.
    """
    resolved: Cases = []
    chosen: dict[tuple[str, str], list[str]] = {}
    for variant, problem in cases:
        if variant.method is BEST:
            choice = choose(place, problem.shape, problem.element)
            variant = choice.variant
            problems = chosen.setdefault((str(variant), choice.why), [])
            problems.append(f"{problem.shape} {problem.element.name}")
        resolved.append((variant, problem))
    lines = [
        f"best at {', '.join(dict.fromkeys(problems))}: {name}, {why}"
        for (name, why), problems in chosen.items()
    ]
    return resolved, lines
