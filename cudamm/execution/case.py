"""A case, which is a variant on a problem, and the verdict on its product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cudamm.compile.program import Program
from cudamm.devices.device import Target
from cudamm.errors import KernelError
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
        launch_ms: duration of the launches, in milliseconds.
    """

    correct: bool | None = None
    reason: str = ""
    bit_equal: bool | None = None
    max_error: float | None = None
    error_bound: float | None = None
    launch_ms: float = 0.0


UNVERIFIED = Verdict()
