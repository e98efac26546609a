"""What a course's document asks for, and the record of what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cudamm.benchmark.result import Result
from cudamm.benchmark.sampling_policy import Settings
from cudamm.devices.device import Ceilings
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant

SCHEMA = "cudamm.reproduce/1"

Unit = Literal["ms", "GFLOP/s", "op/B", "blocks", "registers", "cycles", "bytes", "share"]


@dataclass(frozen=True)
class Setting:
    """Where a course's document is run again.

    Attributes:
        device: its name.
        architecture: the GPU's; on the CPU device the one that occupancy is computed for.
        ceilings: of the GPU, measured; None where they are not known.
        shape: of every timed product, where it is not the source's own.
        seed: of the random inputs.
    """

    is_gpu: bool
    device: str
    architecture: Architecture
    ceilings: Ceilings | None = None
    shape: Shape | None = None
    seed: int = 0


@dataclass(frozen=True)
class CourseCase:
    """One product to compute, with the name that the source has for it."""

    label: str
    variant: Variant
    problem: Problem


@dataclass(frozen=True)
class Outcome:
    """A case and what came of it."""

    case: CourseCase
    result: Result


def _nothing_against(earlier: Sequence[Outcome]) -> str:
    return ""


@dataclass(frozen=True)
class Group:
    """Cases that are run in one go, and how.

    Attributes:
        is_timed: False: they are verified only.
        why_not: of the outcomes before it, why it is not to be run; empty where it is.
    """

    cases: tuple[CourseCase, ...]
    settings: Settings = field(default_factory=Settings)
    is_timed: bool = True
    why_not: Callable[[Sequence[Outcome]], str] = _nothing_against


@dataclass(frozen=True)
class Plan:
    """What is run for a source.

    Attributes:
        known: what was found out before anything ran, by names that the source's module gives.
        remarks: what a reader has to know of the choices that the source leaves open.
    """

    setting: Setting
    groups: tuple[Group, ...]
    known: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A figure of the source's beside the one found here.

    Attributes:
        label: the source's name of what it is of.
        quantity: what it is, such as `median` or `blocks an SM`.
        published, measured: in `unit`; None where there is none. What is computed counts as measured.
        published_size, size: of the matrices, as M x N x K; empty where there are none or it is not stated.
        ratio: of measured to published; None where they cannot be compared.
        ratio_of: what is divided, where it is not the two as they are.
        status: of the measurement: `ok`, or what became of it; `computed` where nothing ran.
    """

    label: str
    quantity: str
    unit: Unit
    published: float | None
    measured: float | None
    ratio: float | None = None
    ratio_of: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    published_size: str = ""
    size: str = ""
    status: str = "ok"


@dataclass(frozen=True)
class Conclusion:
    """One of the source's conclusions, held against this device.

    Attributes:
        name: short, and the same in every run.
        holds: None where this device cannot say, or it was not measured.
        sentence: what was found, with its numbers, or why nothing can be said.
    """

    name: str
    holds: bool | None
    sentence: str


@dataclass(frozen=True)
class CourseReport:
    """What a source's module makes of the outcomes.

    Attributes:
        printed: what the source has its program print, line by line.
    """

    rows: tuple[Row, ...]
    checks: tuple[Conclusion, ...]
    printed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A course's document: what it ran, and what follows from it.

    Attributes:
        name: as the command line calls it.
        title: course and document.
        plan: raises UsageError where what is asked for is impossible.
        conclude: of the outcomes so far, which may be few: Ctrl-C can come at any time.
    """

    name: str
    title: str
    plan: Callable[[Setting, Progress], Plan]
    conclude: Callable[[Plan, Sequence[Outcome]], CourseReport]


@dataclass(frozen=True)
class Reproduction:
    """A source run again: what is printed and written of it.

    Attributes:
        outcomes: in the order of the cases.
        is_complete: whether all of it was run.
    """

    name: str
    title: str
    device: str
    outcomes: tuple[Outcome, ...]
    findings: CourseReport
    remarks: tuple[str, ...]
    is_complete: bool

    @property
    def is_right(self) -> bool:
        """Whether no kernel failed or was wrong. A conclusion that does not hold is no failure."""
        return all(outcome.result.status != "failed" for outcome in self.outcomes)

    def record(self) -> dict[str, Any]:
        """The row of a `cudamm.reproduce/1` file."""
        return {
            "source": self.name,
            "title": self.title,
            "complete": self.is_complete,
            **dataclasses.asdict(self.findings),
            "remarks": self.remarks,
            "measurements": [{"label": o.case.label} | o.result.bench_record() for o in self.outcomes],
        }
