"""The table of `health`: a row a GPU, then the GPUs that fall behind or fail."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.benchmark.health import UNITS, GpuHealth, Mode
from cudamm.devices.device import LoadedUnit

_COLUMNS: dict[LoadedUnit, tuple[str, float]] = {
    "FMA": ("FMA\nTFLOP/s", 1e-3),
    "tensor cores": ("tensor cores\nTFLOP/s", 1e-3),
    "memory": ("memory\nGB/s", 1.0),
}
"""Title and factor of the rate of each unit."""


def render(console: Console, gpus: Sequence[GpuHealth]) -> None:
    """Print a row a GPU, and below the table what is wrong."""
    table = Table(title="Health of the GPUs", title_justify="left", title_style="bold")
    table.add_column("GPU")
    table.add_column("name")
    for unit in UNITS:
        table.add_column(_COLUMNS[unit][0], justify="right")
    for title in ("lowest clock\nMHz", "power\nW", "°C", "ECC errors\ncorrected, not"):
        table.add_column(title, justify="right")
    table.add_column("")
    for gpu in gpus:
        outcome = "failed" if gpu.failure else "outlier" if gpu.outliers else "well"
        rates = [_rates(gpu, unit) for unit in UNITS]
        table.add_row(escape(gpu.spec), escape(gpu.name), *rates, *_state(gpu), outcome)
    console.print(table)
    if any(len(gpu.loads) > len(UNITS) for gpu in gpus):
        console.print("rates: alone / while all GPUs run the same kernel", style="dim")
    for gpu in gpus:
        for reason in (*filter(None, [gpu.failure]), *gpu.outliers):
            console.print(f"{gpu.spec}: {escape(reason)}", soft_wrap=True)


def _rates(gpu: GpuHealth, unit: LoadedUnit) -> str:
    modes: tuple[Mode, ...] = ("alone", "together")
    loads = [gpu.loads[unit, mode] for mode in modes if (unit, mode) in gpu.loads]
    factor = _COLUMNS[unit][1]
    digits = 1 if factor < 1 else 0
    return " / ".join(f"{load.rate * factor:,.{digits}f}" for load in loads) or "-"


def _state(gpu: GpuHealth) -> list[str]:
    """Return the lowest clock, the highest power and temperature, and the memory errors."""
    loads = gpu.loads.values()
    clocks = [load.clock_mhz for load in loads if load.clock_mhz is not None]
    powers = [load.power_w for load in loads if load.power_w is not None]
    temperatures = [load.temperature_c for load in loads if load.temperature_c is not None]
    corrected = [load.ecc_corrected for load in loads if load.ecc_corrected is not None]
    uncorrected = [load.ecc_uncorrected for load in loads if load.ecc_uncorrected is not None]
    return [
        f"{min(clocks):.0f}" if clocks else "-",
        f"{max(powers):.0f}" if powers else "-",
        f"{max(temperatures)}" if temperatures else "-",
        f"{max(corrected)}, {max(uncorrected)}" if corrected and uncorrected else "-",
    ]
