"""The table of `devices`: a column a device, a row a property."""

from __future__ import annotations

from collections.abc import Sequence

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
