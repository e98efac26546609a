"""A case on its way from planned to judged: the variant on its problem, and the verdict on its product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cudamm.compile.program import Program
from cudamm.devices.device import Target
from cudamm.errors import KernelError
from cudamm.kernels.launch import Launch
from cudamm.kernels.method import Execution
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant


@dataclass(frozen=True)
class Case:
    """A variant on a problem, compiled and ready to run, or the reason why it is not.

    Attributes:
        position: among the cases asked for.
        target: the device that runs it; the host's own methods run on the CPU device whatever was chosen.
        launch: None where there is none to make.
        compiled: what the device made of the program; the failure, where it did not compile.
        skipped: why it is not run at all; empty where it is.
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
    def execution(self) -> Execution:
        """Where it runs."""
        return self.target.execution(self.variant.method)

    @property
    def on_host(self) -> bool:
        """Whether the CPU device runs it."""
        return self.target.info.kind == "cpu"

    @property
    def is_yardstick(self) -> bool:
        """Whether it is a library's product: others are held against it, and it is not among the choices."""
        return bool(self.variant.method.package)


@dataclass(frozen=True)
class Verdict:
    """What verifying one product found.

    Attributes:
        correct: None where it was not looked at.
        reason: what is wrong, and where; empty where nothing is.
        bit_equal: whether the bits are those of a host sum in k order (or the exact integers); None where
            the bits are not determined.
        max_error: |got − expected| of the element that comes closest to its bound, or passes it furthest;
            None where that is not a number.
        error_bound: what that element's error may be at most.
        launch_ms: what the launches took.
    """

    correct: bool | None = None
    reason: str = ""
    bit_equal: bool | None = None
    max_error: float | None = None
    error_bound: float | None = None
    launch_ms: float = 0.0


UNVERIFIED = Verdict()
