"""`cudamm list`: the methods there are, and what each of them teaches."""

from __future__ import annotations

import click

from cudamm.cli.completion import complete_methods
from cudamm.cli.options import Selection, json_option


@click.command("list", short_help="List the methods, their parameters and what they teach.")
@click.option(
    "-m", "--method", "methods", multiple=True, metavar="NAME",
    help="A method or alias, or all (the default); repeatable.", shell_complete=complete_methods,
)  # fmt: skip
@json_option
def list_methods(methods: tuple[str, ...], json_path: str | None) -> None:
    """List the methods in the order in which they build on each other.

    All of it comes from the headers of the files in cuda_src; cudamm show prints a file.

    \b
    cudamm list                  all of them
    cudamm list -m tiled,naive   two
    cudamm list --json -         for a program
    """
    from cudamm.catalog import ladder
    from cudamm.report import list as tables
    from cudamm.report.console import console
    from cudamm.report.export import JsonFile

    selection = Selection(methods, block=None, tile=None, defines=(), kernel=None, kernel_fields={})
    named = {variant.method for variant in selection.variants()}
    chosen = [method for method in ladder() if method in named]
    file = JsonFile(json_path) if json_path is not None else None
    try:
        if not (file and file.is_standard_output):
            tables.render(console(), chosen)
        if file:
            file.write(tables.document(), map(tables.record, chosen))
    finally:
        if file:
            file.discard()
