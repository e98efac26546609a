"""The health of GPUs: known kernels on each GPU alone and on all at once, and the GPUs that fall behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, get_args

from cudamm.compile.process_group import thread_pool
from cudamm.devices.device import Load, LoadedUnit
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import Progress

SCHEMA = "cudamm.health/1"
"""Schema of the files of `health`; `GpuHealth.record` makes their rows."""

OUTLIER_SHARE = 0.03
"""Share below the median of its kind from which a GPU is an outlier."""

UNITS: tuple[LoadedUnit, ...] = get_args(LoadedUnit)

Mode = Literal["alone", "together"]
"""Whether the other GPUs were idle, or ran the same kernel at the same time."""


@dataclass(frozen=True)
class GpuHealth:
    """What is known of one GPU.

    Attributes:
        spec: the GPU's name for `--device`.
        name: the name of its kind.
        loads: what the GPU did under each load.
        failure: why the GPU could not be measured to the end; empty if it was.
        outliers: each rate that is far below the median of its kind, in a sentence.
    """

    spec: str
    name: str
    loads: dict[tuple[LoadedUnit, Mode], Load]
    failure: str = ""
    outliers: tuple[str, ...] = ()

    @property
    def is_well(self) -> bool:
        """Return whether the GPU was measured to the end and is no outlier."""
        return not self.failure and not self.outliers

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.health/1` file."""
        return {
            "spec": self.spec,
            "name": self.name,
            "loads": self._load_records(),
            "failure": self.failure,
            "outliers": list(self.outliers),
        }

    def csv_rows(self) -> list[dict[str, Any]]:
        """Return a row for each load, or one row with the failure if there is none."""
        gpu = {"spec": self.spec, "name": self.name, "failure": self.failure}
        return [gpu | load for load in self._load_records()] or [gpu]

    def _load_records(self) -> list[dict[str, Any]]:
        return [{"mode": mode} | dataclasses.asdict(load) for (_, mode), load in self.loads.items()]


def measure_health(executors: Sequence[Executor], seconds: float, progress: Progress) -> list[GpuHealth]:
    """Load each unit of each GPU, one GPU after the other, then all at once; return what each GPU did.

    Args:
        seconds: duration of each load.

    Raises:
        UsageError: a device is no GPU.
    """
    every = [_GpuUnderLoad(executor) for executor in executors]
    well = [gpu for gpu in every if not gpu.failure]
    loads: list[tuple[LoadedUnit, Mode, list[_GpuUnderLoad]]] = [
        (unit, "alone", [gpu]) for gpu in well for unit in UNITS
    ]
    if len(well) > 1:
        loads += [(unit, "together", well) for unit in UNITS]
    with thread_pool(max(1, len(well))) as pool:
        for done, (unit, mode, gpus) in enumerate(loads):
            place = f"{len(gpus)} GPUs" if mode == "together" else gpus[0].spec
            progress(f"{unit} of {place}", done, len(loads))
            for waiting in [pool.submit(gpu.load, unit, mode, seconds) for gpu in gpus]:
                waiting.result()
    found = [GpuHealth(gpu.spec, gpu.name, gpu.loads, gpu.failure) for gpu in every]
    return [dataclasses.replace(gpu, outliers=tuple(_outliers(gpu, found))) for gpu in found]


class _GpuUnderLoad:
    """A GPU that is being measured; after a failure it is loaded no more."""

    def __init__(self, executor: Executor) -> None:
        self.spec, self.name, self.failure = executor.spec, "", ""
        self.loads: dict[tuple[LoadedUnit, Mode], Load] = {}
        self._executor = executor
        try:
            info = executor.target.info
        except NoDeviceError as error:
            self.failure = str(error)
            return
        if info.kind != "gpu":
            raise UsageError(
                f"health measures GPUs, and {info.spec} is none: name GPUs, such as gpu:0,1 or all"
            )
        self.spec, self.name = info.spec, info.name

    def load(self, unit: LoadedUnit, mode: Mode, seconds: float) -> None:
        """Load a unit, and keep what the GPU did, or the reason why it failed."""
        if self.failure:
            return
        try:
            load = self._executor.load(unit, seconds)
        except (KernelError, NoDeviceError) as error:
            self.failure = str(error)
        else:
            if load is not None:
                self.loads[unit, mode] = load


def _outliers(gpu: GpuHealth, every: Sequence[GpuHealth]) -> Iterator[str]:
    """Yield a sentence for each rate of a GPU that is far below the median of its kind."""
    for (unit, mode), load in gpu.loads.items():
        rates = [o.loads[unit, mode].rate for o in every if o.name == gpu.name and (unit, mode) in o.loads]
        middle = median(rates)
        if load.rate < (1 - OUTLIER_SHARE) * middle:
            below = 1 - load.rate / middle
            words = f"{unit} {mode}: {in_unit(load, load.rate)} is {below:.1%} below the median of {gpu.name}"
            yield f"{words}, {in_unit(load, middle)}"


def in_unit(load: Load, rate: float) -> str:
    """Return a rate with its unit: TFLOP/s, or GB/s of memory."""
    return f"{rate:,.0f} GB/s" if load.unit == "memory" else f"{rate / 1e3:,.1f} TFLOP/s"
