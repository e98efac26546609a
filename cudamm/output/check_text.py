"""The output of `check`: a headline per variant, then a paragraph per mistake and piece of advice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from cudamm.analysis.mistakes import ONCE_MENDED, brief
from cudamm.output.number_format import variant

if TYPE_CHECKING:
    from cudamm.analysis.check import CheckResult
    from cudamm.analysis.mistakes import Mistake
    from cudamm.analysis.sanitizer import ToolVerdict

_NOT_SEEN = (
    "The CPU device executed the kernels with these sizes and these inputs only. Code that no thread "
    "executed was not checked, nor was {}."
)
_NOT_RUN = "No kernel was executed. Not checked either: {}."
_HOST_CODE = (
    "host code, except a launch that the file shows and, beside it, the bytes and directions in plain "
    "calls of cudaMalloc and cudaMemcpy: not whether one is missing"
)
_PYTHON_CODE = (
    "Python code, except a launch and the arrays and sizes that it gets: not whether a copy is missing"
)

_SHOWS_NOTHING = "Only 1x1x1 was run, which shows nothing: name a size that the kernel accepts with -n."


def render(console: Console, results: Sequence[CheckResult]) -> None:
    """Print a block for each variant, then how many are clean."""
    for result in results:
        _print_result(console, result)
    looked_at = [result for result in results if result.status != "skipped"]
    clean = sum(result.all_well for result in looked_at)
    success = " Success!" if looked_at and clean == len(looked_at) else ""
    what = "are clean" if clean else "passed"
    count = f"{clean} of {len(looked_at)} variants {what}." if looked_at else "Nothing was checked."
    console.print(count + success)
    if any(result.shows_nothing for result in looked_at):
        console.print(_SHOWS_NOTHING, soft_wrap=True)
    is_python = bool(results) and all(result.file.endswith(".py") for result in results)
    ran = _NOT_SEEN if any(not result.was_not_run for result in results) else _NOT_RUN
    not_seen = ran.format(_PYTHON_CODE if is_python else _HOST_CODE)
    console.print(not_seen, style="dim", soft_wrap=True)


def csv_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a mistake's record with its threads in words, for a table's cell."""
    threads = [
        f"block {_index(at['block'])} thread {_index(at['thread'])} line {at['line']} {at['op']}".strip()
        for at in record["threads"]
    ]
    return record | {"threads": "; ".join(threads)}


def _index(index: Iterable[int]) -> str:
    return f"({','.join(map(str, index))})"


def _print_result(console: Console, result: CheckResult) -> None:
    name = variant(result.method, result.params)
    verdict = {
        "clean": "not checked" if result.shows_nothing else "[bold green]clean[/]",
        "wrong": f"[bold red]{_count(len(result.errors), 'error')}[/]",
        "failed": "[bold red]failed[/]",
        "skipped": "skipped",
    }[result.status]
    if result.advice:
        verdict += f", {_count(len(result.advice), 'piece')} of advice"
        counted_at = list(dict.fromkeys(size for advice in result.advice for size in advice.sizes))
        if len(result.sizes) > 1 and len(counted_at) == 1:
            verdict += f", counted at {counted_at[0]}"
    at = ""
    if result.sizes:
        at = f" at {result.sizes[0]}" if len(result.sizes) == 1 else f" at {len(result.sizes)} sizes"
    reason = f": {escape(result.reason)}" if result.reason else ""
    if result.errors and not reason:
        reason = f": {escape(brief(result.errors[0]))}"
    console.print(f"[bold]{escape(name)}[/], {result.dtype}{at}: {verdict}{reason}", soft_wrap=True)
    if result.right_where:
        console.print(f" [bold green]right[/]: the kernel is {escape(result.right_where)}", soft_wrap=True)
    for mistake in result.mistakes:
        _print_mistake(console, mistake, result)
    if result.remark:
        console.print(f" remark: {escape(result.remark)}", style="dim", soft_wrap=True)
    for size, counts in result.watched.items():
        if counts[0] < counts[1]:
            text = f" {counts[0]:,} of {counts[1]:,} blocks were searched for mistakes at {size}"
            if result.status == "clean":  # else a launch may have ended early
                text += "; the results of all blocks were verified"
            console.print(text, style="dim", soft_wrap=True)
    for text in _not_looked_at(result):
        console.print(f" not looked at: {escape(text)}", style="dim", soft_wrap=True)
    for tool_verdict in result.sanitizer:
        _print_tool(console, tool_verdict)


def _not_looked_at(result: CheckResult) -> Iterator[str]:
    """Yield the sizes that were skipped, by reason, and what else was not looked at."""
    sizes: dict[str, list[str]] = {}
    for size, reason in result.skipped if result.status != "skipped" else ():
        sizes.setdefault(reason, []).append(size)
    yield from (f"{', '.join(names)}: {reason}" for reason, names in sizes.items())
    if result.was_not_run:
        yield "the kernel: it was not run; check again once this is mended, for there may be more mistakes"
    yield from result.untried


_ENDS_LAUNCHES = ("divergent-barrier", "crash")
"""Kinds of mistakes that end a launch, so that no other mistake is seen in it."""


def _print_mistake(console: Console, mistake: Mistake, result: CheckResult) -> None:
    style = "red" if mistake.severity == "error" else "yellow"
    where = f"{mistake.file}:{mistake.line}" if mistake.line else mistake.file
    console.print(f" [{style}]{mistake.severity}: {mistake.kind}[/], {escape(where)}", soft_wrap=True)
    if mistake.text:
        _print_below(console, Text(mistake.text, "cyan"))
    text = sentence(mistake.message)
    # A mistake of the host code is none of a size.
    is_of_sizes = mistake.kind != "launch" or len(mistake.sizes) < len(result.sizes)
    is_of_sizes = is_of_sizes and not mistake.message.startswith(ONCE_MENDED)  # at one size alone
    if mistake.severity == "error" and mistake.sizes and len(result.sizes) > 1 and is_of_sizes:
        ended = {
            size for other in result.errors if other.kind in _ENDS_LAUNCHES for size in other.sizes
        } - set(mistake.sizes)
        hidden = f"; at {len(ended)} others the kernel ended at another mistake" if ended else ""
        text += (
            f" This mistake was seen at {len(mistake.sizes)} of {len(result.sizes)} sizes, "
            f"first at {mistake.sizes[0]}{hidden if mistake.kind not in _ENDS_LAUNCHES else ''}."
        )
    _print_below(console, Text(text))
    if mistake.cure:
        _print_below(console, Text(f"Cure: {mistake.cure}."))


def _print_tool(console: Console, verdict: ToolVerdict) -> None:
    if verdict.failed:
        words = f"[bold red]no verdict[/]: {escape(verdict.failed)}"
    elif verdict.errors:
        words = f"[bold red]{_count(verdict.errors, 'error')}[/]"
    else:
        words = "[green]0 errors[/]"
    console.print(f" compute-sanitizer {verdict.tool} at {verdict.size}: {words}", soft_wrap=True)
    for message in verdict.messages:
        _print_below(console, Text(message))


def _print_below(console: Console, text: Text) -> None:
    """Print text below its headline: indented and folded on a terminal, as one line in a file."""
    if console.is_terminal:
        console.print(Padding(text, (0, 0, 0, 3), expand=False))
    else:
        console.print(Text("   ") + text, soft_wrap=True)


_BEGINS_WITH_NAME = re.compile(r"(?!it|this|there|nothing)\w+ is |[b-z]\b|\w*[_\d.A-Z(\[]")
"""The beginning of a text whose first word is a name of the program, such as `n is an int`."""


def capitalised(text: str) -> str:
    """Return the text with a capital; a name such as `n`, C[0][0] or mm.py at its beginning stays."""
    return text if _BEGINS_WITH_NAME.match(text) else text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return the text with a capital and a full stop."""
    return capitalised(text).removesuffix(".") + "."


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
