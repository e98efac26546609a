"""`cudamm list`: the methods there are, and what each of them teaches."""

from __future__ import annotations

import click

from cudamm.cli.completion_command import complete_methods
from cudamm.cli.options import Selection
from cudamm.cli.output_options import Output, Outputs, output_options


@click.command("list", short_help="List the methods, their parameters and what they teach.")
@click.option(
    "-m", "--method", "methods", multiple=True, metavar="NAME",
    help="A method or alias, or all (the default); repeatable.", shell_complete=complete_methods,
)  # fmt: skip
@output_options
def list_methods(methods: tuple[str, ...], outputs: Outputs) -> None:
    """List the methods in the order in which they build on each other.

    All of it comes from the headers of the files in cuda_src; cudamm show prints a file.

    \b
    cudamm list                  all of them
    cudamm list -m tiled,naive   two
    cudamm list --json -         for a program
    """
    from cudamm.devices.cpu_device import CpuDevice
    from cudamm.kernels.best_method import BEST
    from cudamm.kernels.ladder import methods as every_method
    from cudamm.output import list_table as tables

    selection = Selection(methods, block=None, tile=None, defines=(), kernel=None, kernel_fields={})
    named = {variant.method for variant in selection.variants()}
    chosen = [method for method in (*every_method(), BEST) if method in named]
    with Output(outputs) as output:
        output.present(
            lambda console: tables.render(console, chosen, CpuDevice.limits.arch),
            tables.document(),
            map(tables.record, chosen),
        )
