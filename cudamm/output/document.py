"""The fields of a JSON document beside its results: schema, device, versions, date and command."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
import sys
from typing import Any

from cudamm import __version__
from cudamm.devices.device import DeviceInfo


def document(schema: str, device: DeviceInfo, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the JSON document of a command without its results: device, environment and options."""
    return {
        "schema": schema,
        "device": device_record(device),
        "environment": environment(),
        **({"options": options} if options is not None else {}),
    }


def device_record(device: DeviceInfo) -> dict[str, Any]:
    """Return the field `device` of a document."""
    return {"kind": device.kind, "spec": device.spec, "name": device.name, **device.properties}


def environment() -> dict[str, Any]:
    """Return the date and the versions that can change a figure."""
    return {
        "cudamm": __version__,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "pycuda": _version("pycuda"),
        "nvmath_python": _version("nvmath-python"),
        "system": platform.platform(),
        "command": ["cudamm", *sys.argv[1:]],
    }


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
