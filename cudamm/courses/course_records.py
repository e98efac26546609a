"""Records of `reproduce`: the cases of a course document, their outcomes, and the conclusions from them."""

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
    """The device and the options with which course documents are run again.

    Attributes:
        device: name of the device.
        architecture: architecture of the GPU; on the CPU device, the one that occupancy is computed for.
        ceilings: measured ceilings of the GPU; None if they are not known.
        shape: shape of every timed product; None: the shapes of the source.
        seed: seed of the random inputs.
    """

    is_gpu: bool
    device: str
    architecture: Architecture
    ceilings: Ceilings | None = None
    shape: Shape | None = None
    seed: int = 0


@dataclass(frozen=True)
class CourseCase:
    """One product to compute, with its name in the source."""

    label: str
    variant: Variant
    problem: Problem


@dataclass(frozen=True)
class Outcome:
    """A case and its result."""

    case: CourseCase
    result: Result


def _always_run(earlier: Sequence[Outcome]) -> str:
    return ""


@dataclass(frozen=True)
class Group:
    """Cases that are run together, with the same settings.

    Attributes:
        is_timed: True if the cases are timed on a machine with a GPU, False if they are only verified.
        why_not: function of the earlier outcomes that returns why the group is not run; empty if it is run.
    """

    cases: tuple[CourseCase, ...]
    settings: Settings = field(default_factory=Settings)
    is_timed: bool = True
    why_not: Callable[[Sequence[Outcome]], str] = _always_run


@dataclass(frozen=True)
class Plan:
    """The groups of cases that are run for a source.

    Attributes:
        known: facts computed before the first run, by names that the source's module chooses.
        remarks: explanations of the choices that the source leaves open.
    """

    setting: Setting
    groups: tuple[Group, ...]
    known: dict[str, Any] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A figure published by the source beside the figure of this run.

    Attributes:
        label: name in the source of the case that the figure belongs to.
        quantity: name of the quantity, such as `median` or `blocks per SM`.
        published, measured: figures in `unit`; None if there is none. A computed figure counts as measured.
        ratio: ratio of measured to published; None if they cannot be compared.
        ratio_of: values that were divided, if they are not the two figures themselves.
        published_size, size: sizes of the matrices, as M x N x K; empty if there are none or none is stated.
        status: status of the measurement, such as `ok`; `computed` if nothing was run.
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
    """One of the source's conclusions, checked on this device.

    Attributes:
        name: short name, the same in every run.
        holds: whether the conclusion holds; None if this device cannot show it or it was not measured.
        sentence: the finding with its numbers, or why there is none.
    """

    name: str
    holds: bool | None
    sentence: str


@dataclass(frozen=True)
class CourseReport:
    """The figures and conclusions that a source's module derives from the outcomes.

    Attributes:
        printed: lines that the source's program prints.
    """

    rows: tuple[Row, ...]
    checks: tuple[Conclusion, ...]
    printed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A course document: how to plan its cases and how to conclude from their outcomes.

    Attributes:
        name: name on the command line.
        title: course and document.
        plan: returns the cases to run; raises UsageError if the request is impossible.
        conclude: derives the report from the outcomes; some may be missing, because Ctrl-C can end the run.
    """

    name: str
    title: str
    plan: Callable[[Setting, Progress], Plan]
    conclude: Callable[[Plan, Sequence[Outcome]], CourseReport]


@dataclass(frozen=True)
class Reproduction:
    """The results of running a source again.

    Attributes:
        outcomes: outcomes in the order of the cases.
        is_complete: whether all cases were run.
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
        """True if no kernel failed or was wrong. A conclusion that does not hold is not a failure."""
        return all(outcome.result.status != "failed" for outcome in self.outcomes)

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.reproduce/1` file."""
        return {
            "source": self.name,
            "title": self.title,
            "complete": self.is_complete,
            **dataclasses.asdict(self.findings),
            "remarks": self.remarks,
            "measurements": [{"label": o.case.label} | o.result.bench_record() for o in self.outcomes],
        }
