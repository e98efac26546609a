"""The tests of an assignment: each kind of test, what it needs, and what it is called."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from cudamm.kernels.architecture import Architecture
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant

Visibility = Literal["public", "hidden", "secret", "after-due-date"]
VISIBILITIES: dict[str, str] = {
    "public": "the student sees everything",
    "hidden": "the student sees whether the test passed, and nothing else",
    "secret": "the student sees nothing; the points count",
    "after-due-date": "the student sees everything after the due date, and nothing before",
}

Need = Literal["gpu", "nvcc"]
NEEDS: dict[Need, str] = {"gpu": "a GPU", "nvcc": "nvcc"}
"""What a machine may lack, in words."""

RIGHT = "right"
MISTAKES = {
    "race": "no races",
    "out-of-bounds": "no accesses out of bounds",
    "uninitialised": "no reads of uninitialised memory",
    "divergent-barrier": "no divergent barriers",
    "misaligned": "no misaligned accesses",
}
"""Kinds of tests for a mistake that `check` finds, and the names of the tests."""

SECTORS_PER_LOAD, SECTORS_PER_STORE = "sectors-per-load", "sectors-per-store"
BANK_CONFLICTS, GLOBAL_BYTES = "bank-conflicts", "global-bytes"
TRACED = (SECTORS_PER_LOAD, SECTORS_PER_STORE, BANK_CONFLICTS, GLOBAL_BYTES)
"""Kinds of tests of the accesses that `trace` counts."""

OCCUPANCY, NOT_COPIED, SPEED = "occupancy", "not-copied", "speed"


@dataclass(frozen=True)
class Kind:
    """A kind of test.

    Attributes:
        required, optional: keys of its table, beside those of every test.
        needs: what a machine must have to run it; None: nothing.
    """

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    needs: Need | None = None


KINDS: dict[str, Kind] = {
    **dict.fromkeys(MISTAKES, Kind()),
    SECTORS_PER_LOAD: Kind(("at_most",)),
    SECTORS_PER_STORE: Kind(("at_most",)),
    BANK_CONFLICTS: Kind((), ("at_most",)),
    GLOBAL_BYTES: Kind(("of",), ("times",)),
    OCCUPANCY: Kind(("at_least",), ("arch",), "nvcc"),
    NOT_COPIED: Kind(("of",), ("arch",), "nvcc"),
    SPEED: Kind(("of", "full_at"), ("zero_at",), "gpu"),
}
"""The kinds of `[[test]]`; a `[[problem]]` is a test of the kind `right`."""


@dataclass(frozen=True)
class GradedTest:
    """A test of an assignment.

    Attributes:
        points: the most that a submission gets for it.
        is_bonus: the points come on top of the assignment's total.
        on_leaderboard: the figure that the test measures is an entry of the leaderboard.
        shapes: the shapes of its problems; a test of accesses, occupancy or speed has one.
        at_most, at_least: the limit of what is measured.
        times: the factor between the limit and the bytes of the compared method.
        of: the variants with which the submission is compared.
        full_at, zero_at: shares of the compared method's rate that are worth all points and none.
        student_name: name that students see; that of a hidden test must not show its problem.
    """

    kind: str
    name: str
    points: Decimal
    visibility: Visibility
    is_bonus: bool
    on_leaderboard: bool
    shapes: tuple[Shape, ...]
    element: ElementType
    seed: int
    at_most: float = 0.0
    at_least: float = 0.0
    times: float = 1.0
    architecture: Architecture | None = None
    of: tuple[Variant, ...] = ()
    full_at: float = 1.0
    zero_at: float = 0.0
    student_name: str = ""

    @property
    def needs(self) -> Need | None:
        """What a machine must have to run the test."""
        return None if self.kind == RIGHT else KINDS[self.kind].needs

    @property
    def is_public(self) -> bool:
        """Return whether the student sees everything of the test."""
        return self.visibility == "public"

    def named(self, name: str, student_name: str = "") -> GradedTest:
        """Return the test with another name, and another one for students if it is given."""
        return dataclasses.replace(self, name=name, student_name=student_name)


def usual_name(test: GradedTest) -> str:
    """Return the name of a test that the assignment does not name; it shows what is tested."""
    compared = ", ".join(dict.fromkeys(variant.method.name for variant in test.of))
    if test.kind in MISTAKES:
        return MISTAKES[test.kind]
    if test.kind == SECTORS_PER_LOAD:
        return f"at most {test.at_most:g} sectors per load"
    if test.kind == SECTORS_PER_STORE:
        return f"at most {test.at_most:g} sectors per store"
    if test.kind == BANK_CONFLICTS:
        return f"at most {test.at_most:g} bank conflicts per access" if test.at_most else "no bank conflicts"
    if test.kind == GLOBAL_BYTES:
        return f"at most {'' if test.times == 1 else f'{test.times:g} times '}the global bytes of {compared}"
    if test.kind == OCCUPANCY:
        arch = test.architecture.name if test.architecture else ""
        return f"occupancy of at least {test.at_least:.0%} on {arch}"
    if test.kind == NOT_COPIED:
        return f"not a copy of {compared}"
    if test.kind == SPEED:
        return f"speed compared with {compared}"
    return f"right at {test.shapes[0]} {test.element.name}"
