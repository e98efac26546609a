"""`cudamm doctor`: whether bench can run here, and what would spoil its times."""

from __future__ import annotations

import click

from cudamm.cli.options import device_option, json_option


@click.command(short_help="Say whether bench can run here, and what to mend.")
@device_option
@json_option
def doctor(device_spec: str, json_path: str | None) -> int:
    """Look at Python, driver, compilers, the GPU's state and this machine, and say what to do.

    Nothing is changed. Exit status: 0 if bench can run on the device, 3 if not; auto means a GPU where this
    machine has one, and the CPU device where it has none.
    """
    import dataclasses

    from cudamm.doctor import can_bench, examine, most_important
    from cudamm.errors import NoDeviceError
    from cudamm.report import doctor as tables
    from cudamm.report.console import console
    from cudamm.report.export import JsonFile

    file = JsonFile(json_path) if json_path is not None else None
    try:
        findings = examine(device_spec)
        if not (file and file.is_standard_output):
            tables.render(console(), findings)
        if file:
            usable = can_bench(findings)
            file.write(tables.document(device_spec, usable), map(dataclasses.asdict, findings))
    finally:
        if file:
            file.discard()
    if not can_bench(findings):
        raise NoDeviceError(f"bench cannot run here: {most_important(findings)}")
    return 0
