"""The table of `doctor`: a row per finding, then numbered advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cudamm.devices.diagnosis import Diagnosis
from cudamm.output.document import environment

SCHEMA = "cudamm.doctor/1"

_STYLES = {"ok": "green", "warning": "yellow", "error": "bold red", "missing": "yellow", "not needed": "dim"}

_NOT_NEEDED = "not needed: only a GPU makes use of it, and kernels run on this machine's processor"


def render(console: Console, findings: Sequence[Diagnosis]) -> None:
    """Print the table, and each different piece of advice once, with the status it comes from."""
    table = Table(
        title="What bench needs, and what affects its times", title_justify="left", title_style="bold"
    )
    table.add_column("subject")
    table.add_column("status", no_wrap=True)
    table.add_column("found", overflow="fold")
    for finding in findings:
        style = _STYLES[finding.status]
        table.add_row(escape(finding.subject), f"[{style}]{finding.status}[/]", escape(finding.found))
    console.print(table)
    if any(finding.status == "not needed" for finding in findings):
        console.print(_NOT_NEEDED, style="dim")
    for number, (advice, status) in enumerate(numbered(findings), 1):
        console.print(f"{number}. [{_STYLES[status]}]{status}[/]: {escape(advice)}", soft_wrap=True)


def numbered(findings: Sequence[Diagnosis]) -> list[tuple[str, str]]:
    """Return each piece of advice with the status of its finding; advice on what stops bench comes first."""
    rank = ("error", "warning", "missing", "not needed", "ok")
    advised = sorted((f for f in findings if f.advice), key=lambda finding: rank.index(finding.status))
    first: dict[str, str] = {}
    for finding in advised:
        first.setdefault(finding.advice, finding.status)
    return list(first.items())


def document(device_spec: str, usable: bool) -> dict[str, Any]:
    """Return the JSON document without its results, of which there is one per finding.

    Args:
        device_spec: the device as the user named it.
        usable: whether bench can run on the device.
    """
    return {"schema": SCHEMA, "device": device_spec, "usable": usable, "environment": environment()}
