"""A case, which is a variant on a problem, and the verdict on its product."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from cudamm.compile.identity import hash_of
from cudamm.compile.program import Program
from cudamm.devices.device import Target
from cudamm.errors import KernelError
from cudamm.kernels.input_kinds import unusual_inputs
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.method import Execution
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant


@dataclass(frozen=True)
class Case:
    """A variant on a problem: planned, then compiled, or the reason why it cannot run.

    Attributes:
        position: index among the requested cases.
        target: the device that runs the case; the host's own methods run on the CPU device beside a GPU too.
        launch: None if the case cannot be launched.
        compiled: the compiled program, or the error if it does not compile or cannot be launched; None before
            compiling.
        skipped: the reason why the case is not run; empty if the case is run.
        program_identity: a hash of everything that determined the compiled program; empty before compiling.
    """

    position: int
    variant: Variant
    problem: Problem
    fmad: bool
    target: Target[Any]
    program: Program
    launch: Launch | None
    compiled: Any | KernelError
    skipped: str
    program_identity: str = ""

    @property
    def identity(self) -> str:
        """A hash of everything that makes the case's result, except the device and the options of measuring.

        Empty if the case was not compiled, or cannot be launched.
        """
        if not self.program_identity or self.launch is None:
            return ""
        method, problem = self.variant.method, self.problem
        made_from = (
            self.program_identity, method.entry, method.sums_in_k_order, method.ceiling, self.launch,
            problem.shape, problem.element, problem.seed, self.fmad,
            *filter(None, [problem.allowed_precision]),
            *filter(None, [unusual_inputs(problem.element.name, problem.input_kind)]),
        )  # fmt: skip
        return hash_of(map(repr, made_from))

    @property
    def title(self) -> str:
        """The variant and the problem as text, to report progress."""
        return f"{self.variant} at {self.problem.shape} {self.problem.element.name}"

    @property
    def execution(self) -> Execution:
        """The way in which the device runs the method: on a GPU, natively on the host, or emulated."""
        return self.target.execution(self.variant.method)

    @property
    def on_host(self) -> bool:
        """True if the CPU device runs the case."""
        return self.target.info.kind == "cpu"

    @property
    def is_yardstick(self) -> bool:
        """True if the method calls a library, with which kernels are compared and which is never the best."""
        return bool(self.variant.method.package)


ORDER_SEEN = "the result depends on the order in which threads run"
"""What two products that differ show."""

ORDER_MATTERS = f"{ORDER_SEEN}: the kernel has a race"
"""Cause of two products that differ, before the race is known."""

FIRST_LAUNCH_ONLY = "right on the first launch only"
"""Beginning of the cause of products that are wrong because a kernel leaves a value for its next launch."""

RIGHT_AT_FIRST = "right with the first inputs, and wrong with others"
"""Beginning of the reason why a product is wrong that was right on the inputs of the first launch."""


@dataclass(frozen=True)
class Verdict:
    """The result of verifying one product.

    Attributes:
        correct: None if the product was not verified.
        reason: a description of what is wrong and where; empty if nothing is wrong.
        bit_equal: whether the bits are those of a host sum in k order, or the exact integers; None if the
            bits are not determined.
        max_error: |got − expected| of the element whose error is the largest share of its bound; None if the
            error is not a number.
        error_bound: the largest error that is allowed for that element.
        effective_bits: significant bits of products that have such errors, at most those of the type; None
            for whole numbers, and if the errors show no precision.
        launch_ms: duration of the launches, in milliseconds.
        cause: the mistake that explains the wrong product, and begins the reason; empty if it is not known.
    """

    correct: bool | None = None
    reason: str = ""
    bit_equal: bool | None = None
    max_error: float | None = None
    error_bound: float | None = None
    effective_bits: float | None = None
    launch_ms: float = 0.0
    cause: str = ""

    def because_of(self, cause: str) -> Verdict:
        """Return this verdict with a cause, and a reason that begins with it."""
        if not cause:
            return self
        # What follows from the value that a launch leaves looks like a race.
        seen = "" if cause.startswith(FIRST_LAUNCH_ONLY) or self.reason in cause else self.reason
        return dataclasses.replace(self, cause=cause, reason="; ".join(filter(None, (cause, seen))))


UNVERIFIED = Verdict()
