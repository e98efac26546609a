"""The tables of `devices`: a column a device of this machine, or a row a device of a cluster."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.devices.device import DeviceInfo


def render(console: Console, infos: Sequence[DeviceInfo], missing: str) -> None:
    """Print the devices; if no GPU is among them, print the reason."""
    table = Table(title="Devices", title_justify="left", title_style="bold")
    table.add_column("")
    for info in infos:
        table.add_column(f"--device {info.spec}")
    table.add_row("name", *(escape(info.name) for info in infos))
    for name in dict.fromkeys(name for info in infos for name in info.properties):
        table.add_row(_label(name), *(_value(name, info.properties.get(name)) for info in infos))
    console.print(table)
    if missing:
        console.print(f"No GPU: {escape(missing)}")


@dataclass(frozen=True)
class ClusterRow:
    """A device of a cluster in the table and in the file of `devices`.

    Attributes:
        info: the device; its `spec` is the name of its Dask worker.
        compiler: the compiler that cudamm finds on the host, with its version; empty without one.
    """

    info: DeviceInfo
    host: str
    compiler: str

    def record(self) -> dict[str, Any]:
        """Return the row of a `cudamm.devices/1` file: the fields of `DeviceInfo`, and two more."""
        return dataclasses.asdict(self.info) | {"host": self.host, "compiler": self.compiler}


def render_cluster(console: Console, rows: Sequence[ClusterRow], compilers: Mapping[str, int]) -> None:
    """Print the devices of a cluster.

    Args:
        compilers: number of cores of each Dask worker that compiles, by its name.
    """
    table = Table(title="Devices of the cluster", title_justify="left", title_style="bold")
    for title in ("host", "Dask worker", "device", "driver", "CUDA of\nthe driver", "compiler"):
        table.add_column(title)
    for title in ("clock", "memory"):
        table.add_column(title, justify="right")
    for row in rows:
        properties = row.info.properties
        named = ("driver", "driver_cuda", "clock_mhz", "memory_bytes")
        driver, driver_cuda, clock, memory = (_value(name, properties.get(name)) or "-" for name in named)
        table.add_row(
            *map(escape, (row.host, row.info.spec, row.info.name)),
            driver, driver_cuda, escape(row.compiler) or "-", clock, memory,
        )  # fmt: skip
    console.print(table)
    if compilers:
        workers = ", ".join(f"{escape(name)} ({cores} cores)" for name, cores in compilers.items())
        console.print(f"Programs are compiled by {workers}.")


def _label(name: str) -> str:
    return name.removesuffix("_bytes").removesuffix("_mhz").removesuffix("_bits").replace("_", " ")


def _value(name: str, value: object) -> str:
    if value is None:
        return ""
    if name.endswith("_bytes") or "_bytes_" in name:
        size = int(str(value))
        return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size // 2**10} KiB"
    unit = {"mhz": " MHz", "bits": " bits"}.get(name.rsplit("_", 1)[-1], "")
    return escape(f"{value}{unit}")
