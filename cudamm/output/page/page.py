"""The page: a template over the view, its style and script, and the policy that allows no other content."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import jinja2
import markupsafe

from cudamm import __version__
from cudamm.benchmark.result import Result
from cudamm.benchmark.result_file import Saved
from cudamm.benchmark.sample_statistics import outliers
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.check_text import sentence
from cudamm.output.exact_table import FIGURES, legend
from cudamm.output.number_format import parameters, percent, ratio, significant
from cudamm.output.occupancy_tables import UNUSED
from cudamm.output.page.page_charts import page_charts
from cudamm.output.page.page_kernels import Kernel
from cudamm.output.page.page_sources import STATES, method_sources
from cudamm.output.readable_text import REPLACEMENT, readable
from cudamm.output.result_marks import EMULATED
from cudamm.output.results_view import ResultsView

MOST_DRAWN = 100
"""Maximum number of samples that a line shows. Of more samples, evenly spaced ones are shown."""


def page(
    saved: Saved,
    view: ResultsView,
    kernels: Sequence[Kernel],
    occupancy: Sequence[OccupancyResult],
    occupancy_remark: str,
) -> str:
    """Return the whole page, as text in UTF-8.

    Args:
        saved: the file; its device, environment and options are shown.
        view: its rows.
        kernels: the kernels whose sources are shown.
        occupancy: the occupancy of each variant for which it is known.
        occupancy_remark: a sentence about the occupancy, or why it is not known.
    """
    shown = view.shortened()
    charts = page_charts(view)
    style, script = _own("page.css"), ""
    policy = [style]
    if charts:
        style = f"{_own('uPlot.min.css')}\n{style}"
        script = f"/*\n{_own('uPlot.LICENSE')}\n*/\n{_own('uPlot.iife.min.js')}\n{_own('page.js')}"
        policy = [style, script]
    sections = {"summary": "Summary", "results": "Results"}
    sections |= {"charts": "Charts"} if charts else {}
    sections |= {"kernels": "Kernels"}
    sections |= {"occupancy": "Occupancy"} if occupancy or occupancy_remark else {}
    sections |= {"samples": "Samples", "environment": ENVIRONMENT}
    return rendered(
        f"Matrix multiplication on {view.device}",
        sections,
        saved.path,
        view=shown,
        counts=view.counts,
        row_count=len(view.rows),
        problem_count=len(view.problems),
        charts=charts,
        sources=method_sources(kernels),
        occupancy=occupancy,
        occupancy_remark=occupancy_remark,
        document=saved.document,
        style=markupsafe.Markup(style),  # noqa: S704 - files of this package, allowed by their hashes
        script=markupsafe.Markup(script),  # noqa: S704
        policy=_policy(*policy),
        uplot=_own("uPlot.md").partition("\n")[0].removeprefix("# "),
    )


ENVIRONMENT = "Device, environment and options"
"""Heading of the last section."""


def rendered(title: str, sections: Mapping[str, str], path: str, **content: Any) -> str:
    """Return a page.

    Args:
        sections: headings by the names of the sections, which are those of their templates.
        path: the file that the page is about.
        content: what the templates contain. Without a style, the page has this folder's, and no script.
    """
    style = _own("page.css")
    plain = {"charts": [], "policy": _policy(style), "style": markupsafe.Markup(style)}  # noqa: S704
    text = _templates().get_template("page.html.jinja").render(
        **plain | content,
        title=title,
        sections=list(sections.items()),
        file_name=PurePath(path).name,
        version=__version__,
    )  # fmt: skip
    return readable(text.replace("\r\n", "\n").replace("\r", REPLACEMENT))


@functools.cache
def _templates() -> jinja2.Environment:
    """Return the templates beside this file. They escape all inserted text; a missing name is an error."""
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    templates.filters |= {
        "significant": significant,
        "percent": percent,
        "ratio": ratio,
        "parameters": parameters,
        "words": _words,
        "sentence": sentence,
        "course": _course,
    }
    templates.globals |= {
        "EMULATED": EMULATED,
        "FIGURES": FIGURES,
        "legend": legend,
        "UNUSED": UNUSED,
        "STATES": STATES,
    }
    return templates


def _own(name: str) -> str:
    """Return the text of a file in this folder."""
    return (importlib.resources.files(__package__) / name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str | None = None) -> str:
    """Return a policy that loads nothing and allows only the page's own style and script, by their hashes."""

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    rules = ["default-src 'none'", f"style-src {allowed(style)}", "base-uri 'none'", "form-action 'none'"]
    if script is not None:
        rules.insert(1, f"script-src {allowed(script)}")
    return "; ".join(rules)


def _words(value: Any, name: str) -> str:
    """Return a value of the file in words; a command as a user types it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if name == "command" and isinstance(value, list):
        return shlex.join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith("_bytes"):
        return f"{value:,}"
    return json.dumps(value, ensure_ascii=False)


def _course(result: Result) -> dict[str, str]:
    """Return the samples in order as a line of 100 by 20, and a description of the line."""
    every = result.timing.samples_ms
    low, high = min(every), max(every)
    step = max(1, -(-len(every) // MOST_DRAWN))
    drawn = every[::step]
    across = max(1, len(drawn) - 1)
    room = (high - low) or 1.0
    places = [
        f"{100 * i / across:.1f},{18 - 16 * (sample - low) / room:.1f}" for i, sample in enumerate(drawn)
    ]
    if len(places) == 1:
        places.append("100,18")
    name = (
        f"{len(every)} samples from {significant(low)} to {significant(high)} ms, "
        f"{sum(outliers(every))} outliers"
    )
    return {"points": " ".join(places), "name": name}
