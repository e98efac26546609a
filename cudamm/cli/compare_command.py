"""`cudamm compare`: what became faster between two files of results, and what slower."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cloup
from cloup import option_group

from cudamm.cli.documented_option import option
from cudamm.cli.number_types import INCREASE, SHARE
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.errors import ALL_WELL, FAILED_RESULT, UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.result_file import Saved


@cloup.command()
@cloup.argument("old_path", metavar="OLD.json")
@cloup.argument("new_path", metavar="NEW.json")
@option_group(
    "Comparison",
    option(
        "--confidence", type=SHARE, metavar="SHARE", default="95%",
        help="Confidence of each speed-up's interval, such as 95% or 0.95.",
    ),
    option(
        "--fail-on", type=INCREASE, metavar="SHARE",
        help="Exit with status 1 if a variant fails now, or is slower by more than this share, such as 5% or "
        "0.05, even at the most favourable end of its interval.",
    ),
    option("--force", is_flag=True, help="Compare results of two different devices."),
)  # fmt: skip
@output_options()
def compare_command(
    old_path: str,
    new_path: str,
    confidence: float,
    fail_on: float | None,
    force: bool,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm compare old.json new.json               files of bench --json
    cudamm compare old.json new.json --fail-on 5%  status 1 if one is 5% slower
    cudamm compare old.json new.json --markdown -  the table as Markdown

    Print every variant's speed-up between two files of results, and whether it is more than noise.

    The speed-up is the old median divided by the new one, with its bootstrap interval. A variant is faster or
    slower if the interval excludes 1. Other changes (driver, compiler, clocks, options) cause a warning. The
    interval contains the noise within a run, but not the differences between runs: to see those, compare two
    files of the same kernels.
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
    with AllAtOnce(outputs) as output:
        for warning in warnings:
            messages().print(f"cudamm: {escape(warning)}", soft_wrap=True)
        output.present(
            lambda console: tables.render(console, old, new, comparisons, confidence),
            _document(old, new, confidence, fail_on, warnings),
            (c.record() for c in comparisons),
        )
    if fail_on is None:
        return ALL_WELL
    if not any(c.ratio or c.outcome in ("now fails", "works now") for c in comparisons):
        raise UsageError("--fail-on: the files have no variant that can be compared")
    return FAILED_RESULT if any(c.is_worse(fail_on) for c in comparisons) else ALL_WELL


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
