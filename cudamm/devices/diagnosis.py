"""Records of `cudamm doctor`: the state of a machine, and the diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "error", "missing", "not needed"]
Release = tuple[int, int]
"""A release of CUDA, such as (13, 0)."""

GIB = 2**30

LOW_MEMORY_BYTES = GIB
"""Free memory, of the host or of a GPU, below which only small matrices fit."""


@dataclass(frozen=True)
class Diagnosis:
    """The result of a check of one part of the machine.

    Attributes:
        subject: the part that was checked.
        status: `error` if the subject prevents bench on the requested device; `missing` if the subject is not
            installed and bench runs without it, with fewer figures; `not needed` if it is not installed and
            only a GPU needs it.
        found: the state of the subject, on one line.
        advice: what the user can do; empty if there is nothing to do.
    """

    subject: str
    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Gpu:
    """A GPU that CUDA lists.

    Attributes:
        pci_bus_id: address such as `0000:65:00.0`.
    """

    index: int
    name: str
    capability: Release
    pci_bus_id: str

    @property
    def arch(self) -> str:
        """The GPU's architecture, such as `sm_90`."""
        return "sm_{}{}".format(*self.capability)


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver.

    Attributes:
        version: version such as `580.65.06`; empty if it is not known.
        cuda: the newest CUDA that the driver supports; None if the driver's library cannot be used.
        failure: the reason why the library cannot be used; empty if it can.
    """

    version: str
    cuda: Release | None
    failure: str = ""


@dataclass(frozen=True)
class PyCuda:
    """PyCUDA, and the GPUs that it finds.

    Attributes:
        version: None if PyCUDA is not installed.
        built_for: the CUDA that it was built with; None if PyCUDA cannot be loaded.
        failure: the reason why PyCUDA finds no GPU; empty if PyCUDA finds a GPU.
    """

    version: str | None
    built_for: Release | None = None
    gpus: tuple[Gpu, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Machine:
    """The state of a machine that several checks need.

    Attributes:
        on_gpu: true if the requested device is a GPU.
        gpu: the requested GPU; None if it does not exist, or the CPU device was requested.
    """

    on_gpu: bool
    driver: Driver
    pycuda: PyCuda
    gpu: Gpu | None

    def error_or(self, otherwise: Status) -> Status:
        """Return the status of a problem that prevents bench on a GPU only."""
        return "error" if self.on_gpu else otherwise

    @property
    def missing_for_gpu(self) -> Status:
        """Return the status of something that is not installed and that only bench on a GPU makes use of."""
        return "missing" if self.on_gpu else "not needed"


def can_bench(found: Sequence[Diagnosis]) -> bool:
    """Return whether bench can run on the requested device."""
    return not any(diagnosis.status == "error" for diagnosis in found)


def most_important(found: Sequence[Diagnosis]) -> str:
    """Return the first advice among the errors, which are in the order in which to fix them."""
    errors = [diagnosis for diagnosis in found if diagnosis.status == "error"]
    return next((e.advice for e in errors if e.advice), errors[0].found if errors else "")


def judged(subject: str, found: str, advice: str, trouble: Status = "warning") -> Diagnosis:
    """Return a diagnosis with the status `ok` if `advice` is empty, else with the status `trouble`."""
    return Diagnosis(subject, trouble if advice else "ok", found, advice)


def memory(subject: str, free_bytes: int, total_bytes: int | None = None) -> Diagnosis:
    """Judge whether there is enough free memory for more than small matrices."""
    total = f" of {size(total_bytes)}" if total_bytes is not None else ""
    advice = f"{subject}: only {size(free_bytes)} free; end programs that use it, or choose small matrices"
    return judged(subject, f"{size(free_bytes)}{total} free", advice if free_bytes < LOW_MEMORY_BYTES else "")


def size(size_bytes: int) -> str:
    """Return a number of bytes in GiB, or in MiB if it is less than one GiB."""
    return f"{size_bytes / GIB:.1f} GiB" if size_bytes >= GIB else f"{size_bytes // 2**20} MiB"


def on_one_line(error: Exception) -> str:
    """Return an exception's message without line breaks."""
    return " ".join(str(error).split())
