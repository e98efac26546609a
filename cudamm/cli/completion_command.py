"""`cudamm completion`: have a shell complete commands, options, methods and file names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import cloup
from click.shell_completion import CompletionItem, get_completion_class

PROGRAM = "cudamm"
VARIABLE = "_CUDAMM_COMPLETE"
"""Environment variable by which a shell asks click for completions."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return a request to the shell to complete file names."""
    return [CompletionItem(incomplete, type="file")]


def complete_methods(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Return the names and aliases of methods that complete the last word of a list."""
    from cudamm.kernels.best_method import BEST
    from cudamm.kernels.ladder import methods

    earlier, comma, last = incomplete.rpartition(",")
    names = {name: m.summary for m in (*methods(), BEST) for name in (m.name, *m.aliases)}
    names["all"] = "every method"
    return [
        CompletionItem(earlier + comma + name, help=summary)
        for name, summary in names.items()
        if name.startswith(last)
    ]


def complete_words(*words: str) -> Complete:
    """Return a completion by fixed words."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


@cloup.command()
@cloup.argument("shell", metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """\b
    cudamm completion bash > ~/.local/share/bash-completion/completions/cudamm
    cudamm completion zsh > FOLDER/_cudamm     FOLDER is in $fpath before compinit
    cudamm completion fish > ~/.config/fish/completions/cudamm.fish

    Print a script that makes the shell complete commands, options, methods and file names.
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click completes nothing for {shell}")
    click.echo(_script(found, context.find_root().command))


def _script(shell: Any, app: click.Command) -> str:
    # `source()` would run the shell of this machine to read its version.
    completion = shell(app, {}, PROGRAM, VARIABLE)
    script: str = completion.source_template % completion.source_vars()
    return script
