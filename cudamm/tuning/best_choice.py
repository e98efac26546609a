"""Choice of the variant that `best` stands for, by device, shape and element type.

A measured variant is preferred; without one, the order of preference decides.
"""

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
        variant: the variant; its `chosen_by` is set.
        why: the reason for the choice, in words.
    """

    variant: Variant
    why: str


def choose(place: Place, shape: Shape, element: ElementType) -> Choice:
    """Return the variant that was measured to be fastest, by `tune` or in a table, else the preferred one.

    Raises:
        UsageError: no method of the ladder can compute the product, or the file of `tune` cannot be read.
        CudammError: a table is damaged.
    """
    measured = known_best.fastest(place, shape, element)
    if measured is not None:
        return Choice(dataclasses.replace(measured.variant, chosen_by=measured.chosen_by), measured.why)
    preference = preferred(place, shape, element)
    if preference is None:
        target = place.device or str(place.architecture)
        raise UsageError(f"best: no kernel of the ladder can compute {shape} {element.name} on {target}")
    variant, why = preference
    return Choice(
        dataclasses.replace(variant, chosen_by="preference"),
        f"not measured on {place.architecture}; preference order: {why}",
    )


def is_asked(variants: Iterable[Variant]) -> bool:
    """Return whether `best` is among the variants."""
    return any(variant.method is BEST for variant in variants)


def resolve(cases: Sequence[tuple[Variant, Problem]], place: Place) -> tuple[Cases, list[str]]:
    """Replace `best` by the choice for each problem; return the cases, and a line on each choice.

    Raises:
        UsageError, CudammError: as `choose` does.
    """
    resolved: Cases = []
    problems_by_choice: dict[tuple[str, str], list[str]] = {}
    for variant, problem in cases:
        if variant.method is BEST:
            choice = choose(place, problem.shape, problem.element)
            variant = choice.variant
            problems = problems_by_choice.setdefault((str(variant), choice.why), [])
            problems.append(f"{problem.shape} {problem.element.name}")
        resolved.append((variant, problem))
    lines = [
        f"best at {', '.join(dict.fromkeys(problems))}: {name}, {why}"
        for (name, why), problems in problems_by_choice.items()
    ]
    return resolved, lines
