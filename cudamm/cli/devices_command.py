"""`cudamm devices`: the devices of this machine."""

from __future__ import annotations

import dataclasses

import cloup

from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options


@cloup.command()
@output_options()
def devices_command(outputs: OutputOptions) -> None:
    """\b
    cudamm devices                  every device
    cudamm devices --json -         for a program
    cudamm devices --markdown -     for a report

    List every GPU and the CPU device, with the properties that matter for matrix multiplication.
    """
    from cudamm.devices.device import SCHEMA
    from cudamm.devices.find_device import every
    from cudamm.output import devices_table as tables
    from cudamm.output.document import environment

    infos, missing = every()
    with AllAtOnce(outputs) as output:
        output.present(
            lambda console: tables.render(console, infos, missing),
            {"schema": SCHEMA, "environment": environment()},
            map(dataclasses.asdict, infos),
        )
