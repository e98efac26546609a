"""`cudamm doctor`: check whether `bench` can run here, and what would disturb its times."""

from __future__ import annotations

import cloup
from cloup import option_group

from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.cli.shared_options import device_option


@cloup.command()
@option_group("Device", device_option)
@output_options()
def doctor_command(device_spec: str, outputs: OutputOptions) -> int:
    """\b
    cudamm doctor                  the device that bench would use
    cudamm doctor --device gpu     why is my GPU not used?
    cudamm doctor --json -         for a program

    Check Python, the driver, the compilers, the state of the GPU and this machine, and print what to repair.

    Nothing is changed. Exit status: 0 if bench can run on the device, 3 if not.
    """
    import dataclasses

    from cudamm.devices.diagnosis import can_bench, most_important
    from cudamm.devices.doctor import examine
    from cudamm.errors import NoDeviceError
    from cudamm.output import doctor_table as tables

    with AllAtOnce(outputs) as output:
        findings = examine(device_spec)
        output.present(
            lambda console: tables.render(console, findings),
            tables.document(device_spec, can_bench(findings)),
            map(dataclasses.asdict, findings),
        )
    if not can_bench(findings):
        raise NoDeviceError(f"bench cannot run here: {most_important(findings)}")
    return 0
