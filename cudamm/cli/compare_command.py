"""`cudamm compare`: is a variant faster than it was?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import cloup
from cloup import option, option_group

from cudamm.cli.fraction import FRACTION, INCREASE
from cudamm.cli.output_options import Output, Outputs, output_options
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.result_file import Saved


@cloup.command()
@cloup.argument("old_path", metavar="OLD.json")
@cloup.argument("new_path", metavar="NEW.json")
@option_group(
    "Comparison",
    option(
        "--confidence", type=FRACTION, metavar="SHARE", default="95%",
        help="Confidence of each speed-up's interval, as 95% or 0.95.",
    ),
    option(
        "--fail-on", type=INCREASE, metavar="SHARE",
        help="Exit with 1 if a variant fails now, or if it takes longer by more than this share, as 5% or "
        "0.05, even at the end of its interval that is nearest to no change.",
    ),
    option("--force", is_flag=True, help="Compare results of different devices too."),
)  # fmt: skip
@output_options()
def compare_command(
    old_path: str,
    new_path: str,
    confidence: float,
    fail_on: float | None,
    force: bool,
    outputs: Outputs,
) -> int:
    """Compare two files that bench --json wrote: every variant's speed-up, and whether it is more than noise.

    The speed-up is the old median over the new, with its bootstrap interval. A variant is faster or slower
    where that interval leaves out 1. What else changed (driver, compiler, clocks, options) is warned of.
    The interval knows how times vary within a run, not from one run to the next: two files of the same
    kernels show how much that is here.

    \b
    cudamm bench --json old.json
    cudamm bench --json new.json                 after a change
    cudamm compare old.json new.json
    cudamm compare old.json new.json --fail-on 5%
    """
    from rich.markup import escape

    from cudamm.benchmark import comparison
    from cudamm.benchmark.result_file import load
    from cudamm.output import compare_table as tables
    from cudamm.output.console import messages

    old, new = load(old_path), load(new_path)
    warnings = comparison.check_devices(old, new, force)
    comparisons = comparison.compare(old, new, confidence)
    warnings += comparison.differences(old, new, comparisons)
    inputs = {os.path.realpath(path) for path in (old_path, new_path)}
    for name, path in outputs.named.items():
        if os.path.realpath(path) in inputs:
            raise UsageError(f"{name} {path}: that is a file to compare, and would be replaced")
    with Output(outputs) as output:
        for line in warnings:
            messages().print(f"cudamm: {escape(line)}", soft_wrap=True)
        output.present(
            lambda console: tables.render(console, old, new, comparisons, confidence),
            _document(old, new, confidence, fail_on, warnings),
            (c.record() for c in comparisons),
        )
    return 1 if fail_on is not None and any(c.is_worse(fail_on) for c in comparisons) else 0


def _document(
    old: Saved, new: Saved, confidence: float, fail_on: float | None, warnings: list[str]
) -> dict[str, Any]:
    from cudamm.benchmark.comparison import SCHEMA
    from cudamm.output.document import environment

    return {
        "schema": SCHEMA,
        "environment": environment(),
        "old": {"path": old.path, **old.document},
        "new": {"path": new.path, **new.document},
        "options": {"confidence": confidence, "fail_on": fail_on},
        "warnings": warnings,
    }
