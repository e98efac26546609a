"""The page: its sections, its style, its script, and the policy that lets nothing else run or load."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import math
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any
from xml.etree.ElementTree import Element

from cudamm import __version__
from cudamm.benchmark.result import Result, share_of_cublas
from cudamm.benchmark.result_file import Saved
from cudamm.occupancy.occupancy_result import OccupancyResult
from cudamm.output.bench_table import EXECUTION_NOTES, rate_unit
from cudamm.output.console import milliseconds, percent, significant
from cudamm.output.page import page_sources
from cudamm.output.page import page_tables as tables
from cudamm.output.page.elements import data, element, row, table, verbatim, written
from cudamm.output.page.page_charts import Chart, against_parameters, against_size, described, points, remarks
from cudamm.output.page.page_kernels import Kernel
from cudamm.output.page.page_rows import baseline, best, by_problem, name_of, rate, speed_up

LANGUAGE = "en"
HINT = "how-to-use-charts"


def page(
    saved: Saved,
    results: Sequence[Result],
    kernels: Sequence[Kernel],
    occupancy: Sequence[OccupancyResult],
    why_no_occupancy: str,
) -> str:
    """The whole page, as text in UTF-8.

    Args:
        saved: the file; its device, environment and options are shown.
        results: its rows.
        kernels: of each row.
        occupancy: of the variants whose occupancy is known.
        why_no_occupancy: a sentence to stand in its place.
    """
    charts = [*against_size(results), *against_parameters(results)]
    sections = [
        ("summary", "Summary", _summary(saved, results)),
        ("results", "Results", tables.ladder(results)),
        ("charts", "Charts", _charts(charts)),
        ("kernels", "Kernels", page_sources.sources(kernels)),
        ("occupancy", "Occupancy", _occupancy(occupancy, why_no_occupancy)),
        ("samples", "Samples", _samples(results)),
        ("environment", "Device, environment and options", _environment(saved)),
    ]
    shown = [section for section in sections if section[2]]
    title = f"Matrix multiplication on {saved.document['device']['name']}"
    links = [element("li", element("a", name, href=f"#{anchor}")) for anchor, name, _ in shown]
    body = element(
        "body",
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        element(
            "header",
            element("h1", title),
            _byline(saved),
            element("nav", element("ul", *links), aria_label="Sections"),
        ),
        element(
            "main",
            *(
                element("section", element("h2", name, id=f"{anchor}-name"), *parts, id=anchor,
                        aria_labelledby=f"{anchor}-name")
                for anchor, name, parts in shown
            ),
        ),
        _footer(saved, bool(charts)),
    )  # fmt: skip
    style = _own("page.css")
    scripts: list[Element] = []
    policy = [style]
    if charts:
        style = f"{_own('uPlot.min.css')}\n{style}"
        script = f"/*\n{_own('uPlot.LICENSE')}\n*/\n{_own('uPlot.iife.min.js')}\n{_own('page.js')}"
        scripts = [data("chart-data", [chart.record() for chart in charts]), verbatim("script", script)]
        policy = [style, script]
    body.extend(scripts)
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(*policy)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", title),
        verbatim("style", style),
    )
    return written(element("html", head, body, lang=LANGUAGE))


def _own(name: str) -> str:
    """A file that lies beside this one, as text."""
    return (importlib.resources.files(__package__) / name).read_text(encoding="utf-8").strip()


def _policy(style: str, script: str | None = None) -> str:
    """Nothing is loaded, and nothing runs or styles but what is here, by its hash."""

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    rules = ["default-src 'none'", f"style-src {allowed(style)}", "base-uri 'none'", "form-action 'none'"]
    if script is not None:
        rules.insert(1, f"script-src {allowed(script)}")
    return "; ".join(rules)


def _byline(saved: Saved) -> Element:
    environment = saved.document["environment"]
    said = [
        text
        for name in ("date", "command")
        if (text := _text(name, environment.get(name)))
    ]  # fmt: skip
    parts: list[Element | str] = [f"{said[0]}, " if len(said) > 1 else ""]
    parts += [element("code", said[-1])] if said else []
    return element("p", *parts, class_="quiet")


def _summary(saved: Saved, results: Sequence[Result]) -> list[Element]:
    parts: list[Element] = []
    if any(result.execution == "emulated" for result in results):
        note = EXECUTION_NOTES["emulated"].removeprefix("† ")
        parts.append(element("p", f"{note[0].upper()}{note[1:]}.", class_="warning"))
    cards = []
    for problem, rows in by_problem(results).items():
        top, over = best(rows), baseline(rows)
        found = rate(top) if top is not None else None
        lines: list[Element] = [element("span", str(problem), class_="quiet")]
        if top is None or found is None:
            lines.append(element("span", "No row was both timed and verified."))
        else:
            gain, share = speed_up(over, top), None if top.is_yardstick else share_of_cublas(top, rows)
            fastest = "the fastest that is verified"
            if share is not None:
                fastest += f" but for cuBLAS, {percent(share)} of its rate"
            lines += [
                element("span", element("code", name_of(top))),
                element("span", significant(found), element("small", f" {rate_unit(top)}"), class_="figure"),
                element("span", f"{milliseconds(top.median_ms)} ms, {fastest}"),
            ]
            if over is not None and top is not over and gain:
                lines.append(element("span", f"{gain} over ", element("code", name_of(over))))
        cards.append(element("li", *lines))
    parts.append(element("ul", *cards, class_="best"))
    parts.append(element("p", _counts(results)))
    troubles = tables.failures(results)
    if troubles is not None:
        parts += [element("h3", "What failed or was skipped"), troubles]
    return parts


def _counts(results: Sequence[Result]) -> str:
    """`15 rows: 13 right, 1 failed, 1 dropped early.`"""
    right = sum(r.status == "ok" and r.verdict.correct is True for r in results)
    counts = {
        "measured and right": right,
        "measured, not verified": sum(r.status == "ok" for r in results) - right,
        "failed": sum(r.status == "failed" for r in results),
        "skipped": sum(r.status == "skipped" for r in results),
        "dropped early, as clearly slower than the best": sum(r.status == "dropped" for r in results),
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"{len(results)} row{'s' * (len(results) > 1)}: {said}."


def _charts(charts: Sequence[Chart]) -> list[Element]:
    """Places for the charts, and how to use them."""
    if not charts:
        return []
    hint = (
        "Point at a chart, or go to it with Tab: the arrow keys move along a line and between lines. The "
        "names below it hide and show lines."
    )
    figures = element("div", *(_figure(i, chart) for i, chart in enumerate(charts)), class_="charts")
    return [element("p", hint, class_="hint", id=HINT), figures]


def _figure(number: int, chart: Chart) -> Element:
    """A place for a chart, and the same in a table."""
    heads = ["line", chart.label, "variant", chart.unit, "median (ms)", "remarks"]
    lines = [
        row(
            [
                name,
                value,
                element("code", name_of(result)),
                significant(rate(result) or math.nan) if rate(result) is not None else None,
                milliseconds(result.median_ms),
                ", ".join(remarks(result)),
            ],
            (3, 4),
        )
        for name, value, result in points(chart)
    ]
    picked = "Each point is the fastest row of its line at that value." if chart.picks else None
    return element(
        "figure",
        element("figcaption", chart.title),
        element("p", picked, class_="hint") if picked else None,
        element("div", class_="controls", data_number=str(number)),
        element(
            "div",
            element(
                "p", "The chart is drawn by a script; the table below has the same data.", class_="quiet"
            ),
            class_="plot",
            tabindex="0",
            role="group",
            aria_roledescription="chart",
            aria_label=described(chart),
            aria_describedby=HINT,
        ),
        element("p", class_="spoken unseen", role="status"),
        element(
            "details",
            element("summary", "The same as a table"),
            table(heads, lines, f"{chart.title}, as a table", (3, 4)),
        ),
        class_="chart",
    )


def _occupancy(results: Sequence[OccupancyResult], why_not: str) -> list[Element]:
    if not results:
        return [element("p", why_not)] if why_not else []
    first = results[0]
    where = (
        f"On {first.gpu} ({first.arch}, {first.multiprocessors} multiprocessors): active warps over the "
        "warps a multiprocessor has room for, of the kernels as nvcc compiles them here."
    )
    parts = [element("p", where), tables.occupancy(results)]
    return [*parts, element("p", why_not)] if why_not else parts


def _samples(results: Sequence[Result]) -> list[Element]:
    said = (
        "Noise is the standard deviation over the mean; outliers have a modified z-score above 3.5 and are "
        "counted, not removed. “In order” draws the samples as they were taken, "
        "from the lowest to the highest."
    )
    folded = element(
        "details",
        element("summary", "How far each product is from its reference"),
        tables.verification(results),
    )
    return [element("p", said), *tables.samples(results), folded]


def _environment(saved: Saved) -> list[Element]:
    parts: list[Element] = []
    for name in ("device", "environment", "options"):
        lines = [
            row([element("code", key), _text(key, value) or "–"])
            for key, value in saved.document[name].items()
        ]
        if lines:
            parts += [element("h3", name.capitalize()), table([name, "value"], lines, name.capitalize())]
    return parts


def _text(name: str, value: Any) -> str:
    """A value of the file in words; a command as one would type it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if name == "command" and isinstance(value, list):
        return shlex.join(map(str, value))
    if isinstance(value, int) and not isinstance(value, bool) and name.endswith("_bytes"):
        return f"{value:,}"
    return json.dumps(value, ensure_ascii=False)


def _uplot() -> str:
    """The name and version of what draws the charts, as its note's heading says."""
    return _own("uPlot.md").partition("\n")[0].removeprefix("# ")


def _footer(saved: Saved, has_charts: bool) -> Element:
    drawn = f", charts drawn by {_uplot()} (MIT licence, in this page's script)" if has_charts else ""
    name = PurePath(saved.path).name
    return element(
        "footer", "Made by cudamm ", __version__, " of ", element("code", name), drawn, ".", class_="quiet"
    )
