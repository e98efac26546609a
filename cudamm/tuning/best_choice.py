"""What `best` stands for on a device, at a shape, in an element type."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cudamm.errors import UsageError
from cudamm.kernels.best_method import BEST
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning import known_best, model
from cudamm.tuning.known_best import Measured
from cudamm.tuning.place import Place

Case = tuple[Variant, Problem]


@dataclass(frozen=True)
class Choice:
    """A variant that was chosen.

    Attributes:
        variant: marked with what it was chosen by.
        why: where that comes from, in words.
    """

    variant: Variant
    why: str


def choose(place: Place, shape: Shape, element: ElementType) -> Choice:
    """The variant to take: as tuned here, else as a table says, else as the model computes.

    Raises:
        UsageError: no method of the ladder can compute the product there, or what was tuned cannot be read.
        CudammError: a table is damaged.
    """
    known = known_best.fastest(place, shape, element)
    if known is not None:
        return Choice(dataclasses.replace(known.variant, chosen_by=known.chosen_by), _why(known))
    variant = model.fastest(place, shape, element)
    if variant is None:
        where = place.device or str(place.architecture)
        raise UsageError(f"best: no kernel of the ladder can compute {shape} {element.name} on {where}")
    return Choice(
        dataclasses.replace(variant, chosen_by="model"), f"computed for {place.architecture}, not measured"
    )


def is_asked(variants: Iterable[Variant]) -> bool:
    """Whether `best` is among them."""
    return any(variant.method is BEST for variant in variants)


def resolve(cases: Sequence[Case], place: Place) -> tuple[list[Case], list[str]]:
    """The cases with a variant in the place of `best`, each problem's own; and what was chosen, in lines.

    Raises:
        UsageError, CudammError: as `choose` does.
    """
    resolved: list[Case] = []
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


def _why(known: Measured) -> str:
    entry = known.entry
    at = "" if known.is_exact else f" at {Shape(entry.m, entry.n, entry.k)}"
    where = "tuned here" if known.chosen_by == "tuned" else f"measured on {entry.device}"
    return f"{where}{at} on {entry.date[:10]}" + (f"; {known.remark}" if known.remark else "")
