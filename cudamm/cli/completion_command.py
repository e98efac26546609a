"""`cudamm completion`: a shell that completes commands, options, methods and file names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import cloup
from click.shell_completion import CompletionItem, get_completion_class

PROGRAM = "cudamm"
VARIABLE = "_CUDAMM_COMPLETE"
"""In the environment where a shell asks for completions; click's."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_files(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names of files."""
    return [CompletionItem(incomplete, type="file")]


def complete_methods(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names and aliases of the ladder's methods; of a list, for its last."""
    from cudamm.kernels.best_method import BEST
    from cudamm.kernels.ladder import methods

    before, comma, last = incomplete.rpartition(",")
    names = {name: m.summary for m in (*methods(), BEST) for name in (m.name, *m.aliases)}
    names["all"] = "all of them"
    return [
        CompletionItem(before + comma + name, help=summary)
        for name, summary in names.items()
        if name.startswith(last)
    ]


def complete_words(*words: str) -> Complete:
    """Some fixed words."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


@cloup.command()
@cloup.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion_command(context: click.Context, shell: str) -> None:
    """Print a script after which the shell completes commands, options, methods and file names.

    \b
    bash: cudamm completion bash > ~/.local/share/bash-completion/completions/cudamm
    zsh:  cudamm completion zsh > FOLDER/_cudamm       a folder of $fpath, before compinit
    fish: cudamm completion fish > ~/.config/fish/completions/cudamm.fish
    """
    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"click completes nothing for {shell}")
    click.echo(_script(found, context.find_root().command))


def _script(shell: Any, app: click.Command) -> str:
    # Not `source()`, which runs the shell to see its version: it is written for the one it will run in.
    made = shell(app, {}, PROGRAM, VARIABLE)
    script: str = made.source_template % made.source_vars()
    return script
