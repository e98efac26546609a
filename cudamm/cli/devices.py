"""`cudamm devices`: what there is to run on."""

from __future__ import annotations

import click


@click.command(short_help="List the devices here, with the properties that matter.")
def devices() -> None:
    """List the CPU device and every GPU, with the properties that matter for matrix products."""
    from cudamm.devices.find import every
    from cudamm.report import devices as tables
    from cudamm.report.console import console

    infos, missing = every()
    tables.render(console(), infos, missing)
