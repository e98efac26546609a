"""The sources of the kernels that were measured, what is substituted in them marked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from cudamm.kernels.header import without_comments
from cudamm.kernels.method import Method
from cudamm.output.console import parameters
from cudamm.output.page.elements import element, row, table
from cudamm.output.page.page_kernels import Kernel

MOST_UNFOLDED = 3
"""Rows of substitutions that are shown at once; more are folded."""

_SAID = {
    "as measured": "The source is that of this version of cudamm.",
    "changed since": "The source has changed since: what was measured is not quite what this version of "
    "cudamm shows here.",
    "not recorded": "The file does not say which source was measured; this is what this version of cudamm "
    "has.",
}


def sources(kernels: Sequence[Kernel]) -> list[Element]:
    """A part for each method: what it is, what was substituted, and its source where it is one of ours."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.row.method, []).append(kernel)
    return [part for name, group in groups.items() for part in _of_method(name, group, len(groups) == 1)]


def _of_method(name: str, kernels: Sequence[Kernel], is_open: bool) -> Iterator[Element]:
    method = kernels[0].method
    yield element("h3", element("code", name))
    if method is None:
        yield element(
            "p",
            "Not one of cudamm's own methods, and a file of results holds no source: that of a kernel of "
            "your own is in the file that --kernel named.",
            class_="quiet",
        )
        return
    yield element("p", method.summary)
    if method.sources:
        yield element("p", f"From: {method.sources}", class_="quiet")
    states = {kernel.state for kernel in kernels}
    if len(states) == 1:
        yield element("p", _SAID[kernels[0].state])
    if method.parameters or len(states) > 1:
        yield _substitutions(kernels, len(states) > 1)
    file = f"cuda_src/{'library/' * bool(method.package)}{method.path.name}"
    summary = element("summary", "Source, ", element("code", file))
    marked = _marked(method, kernels)
    yield element(
        "details",
        summary,
        element("pre", element("code", *marked), tabindex="0", aria_label=f"Source of {method.name}"),
        open=is_open,
    )


def _substitutions(kernels: Sequence[Kernel], with_states: bool) -> Element:
    """What stands before the source, for each set of parameters that was run."""
    lines: dict[tuple[str, str, str, str], Element] = {}
    for kernel in kernels:
        said = "\n".join(kernel.substitutions) or "these parameters are not the method's"
        key = (parameters(kernel.row.params), kernel.row.dtype, kernel.state, said)
        shown = " ".join(f"{line};" if line.startswith("#") else line for line in kernel.substitutions)
        cells = [
            element("code", key[0] or "none"),
            kernel.row.dtype,
            element("code", shown) if shown else said,
            *([kernel.state] if with_states else []),
        ]
        line = row(cells)
        line[2].set("class", "wrapped")
        lines.setdefault(key, line)
    heads = ["parameters", "type", "substituted", *(["source"] if with_states else [])]
    made = table(heads, list(lines.values()), f"Substitutions in {kernels[0].row.method}")
    if len(lines) <= MOST_UNFOLDED:
        return made
    return element("details", element("summary", f"What was substituted in {len(lines)} variants"), made)


def _marked(method: Method, kernels: Sequence[Kernel]) -> Iterator[Element | str]:
    """A method's source, comments set apart, and the names that are substituted marked."""
    source = method.source
    if method.language == "python":
        yield source
        return
    values = {
        parameter.name: ", ".join(
            dict.fromkeys(
                str(k.row.params[parameter.name]) for k in kernels if parameter.name in k.row.params
            )
        )
        for parameter in method.parameters
    }
    values["element"] = ", ".join(dict.fromkeys(kernel.row.dtype for kernel in kernels))
    names = re.compile(rf"\b({'|'.join(map(re.escape, values))})\b")
    code = without_comments(source)  # of the same length
    for is_comment, group in itertools.groupby(
        range(len(source)), key=lambda i: code[i] != source[i] and not source[i].isspace()
    ):
        places = list(group)
        text = source[places[0] : places[-1] + 1]
        if is_comment:
            yield element("span", text, class_="comment")
            continue
        for part in names.split(text):
            if part in values:
                yield element("b", part, class_="parameter", title=f"{part} = {values[part]}")
            elif part:
                yield part
