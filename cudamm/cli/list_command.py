"""`cudamm list`: the methods, and what each of them teaches."""

from __future__ import annotations

import cloup
from cloup import option_group

from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.cli.shared_options import methods_option


@cloup.command()
@option_group("Kernel", methods_option("Name or alias of a method, or all. Repeatable."))
@output_options()
def list_command(methods: tuple[str, ...], outputs: OutputOptions) -> None:
    """\b
    cudamm list                    every method
    cudamm list -m tiled,naive     two methods
    cudamm list --json -           for a program

    List the methods in the order in which they build on one another.

    The text comes from the headers of the kernels' files; cudamm show -m NAME prints a file.
    """
    from cudamm.devices.cpu_device import CpuDevice
    from cudamm.kernels.best_method import BEST
    from cudamm.kernels.ladder import methods as every_method
    from cudamm.kernels.selection import Selection
    from cudamm.output import list_table as tables

    named = {variant.method for variant in Selection(methods).variants()}
    chosen = [method for method in (*every_method(), BEST) if method in named]
    with AllAtOnce(outputs) as output:
        output.present(
            lambda console: tables.render(console, chosen, CpuDevice.limits.arch),
            tables.document(),
            map(tables.record, chosen),
        )
