"""The sources of the kernels that were measured, with the substituted names marked."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cudamm.kernels.method import Method
from cudamm.output.number_format import parameters
from cudamm.output.page.page_kernels import Kernel, State
from cudamm.source.c_text import without_comments

STATES: dict[State, str] = {
    "as measured": "The source is that of this version of cudamm.",
    "changed since": "The source has changed since the measurement. The page shows the source of this "
    "version of cudamm.",
    "not recorded": "The file does not contain which source was measured. The page shows the source of this "
    "version of cudamm.",
}
"""Sentence on the page for each state of a source."""


@dataclass(frozen=True)
class Substitution:
    """The lines that the compiler reads before the source, for one set of parameters.

    Attributes:
        lines: in one line; empty if the parameters are not the method's.
    """

    parameters: str
    dtype: str
    state: State
    lines: str


@dataclass(frozen=True)
class Piece:
    """A part of a source.

    Attributes:
        is_comment: whether it is shown as a comment.
        title: the values of a name that is substituted; empty for other text.
    """

    text: str
    is_comment: bool = False
    title: str = ""


@dataclass(frozen=True)
class MethodSource:
    """A method as the page shows it.

    Attributes:
        method: None if it is not one of cudamm's own.
        states: the states of its rows, each once.
    """

    name: str
    method: Method | None
    states: tuple[State, ...]
    substitutions: tuple[Substitution, ...]
    pieces: tuple[Piece, ...]

    @property
    def file(self) -> str:
        """Return `cuda_src/04_tiled.cu`; empty if the method is not cudamm's own."""
        method = self.method
        return f"cuda_src/{'library/' * bool(method.package)}{method.path.name}" if method else ""


def method_sources(kernels: Sequence[Kernel]) -> list[MethodSource]:
    """Return the sources of the kernels' methods, in the order of their first kernels."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.row.method, []).append(kernel)
    found = []
    for name, group in groups.items():
        method = group[0].method
        states = tuple(dict.fromkeys(kernel.state for kernel in group))
        shown = method is not None and (method.parameters or len(states) > 1)
        substitutions = tuple(dict.fromkeys(map(_substitution, group))) if shown else ()
        pieces = tuple(_pieces(method, group)) if method else ()
        found.append(MethodSource(name, method, states, substitutions, pieces))
    return found


def _substitution(kernel: Kernel) -> Substitution:
    lines = " ".join(f"{line};" if line.startswith("#") else line for line in kernel.substitutions)
    return Substitution(parameters(kernel.row.params), kernel.row.dtype, kernel.state, lines)


def _pieces(method: Method, kernels: Sequence[Kernel]) -> Iterator[Piece]:
    """Yield a method's source in pieces: comments apart from code, substituted names marked."""
    source = method.file_text
    if method.language == "python":
        yield Piece(source)
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
            yield Piece(text, is_comment=True)
            continue
        for part in filter(None, names.split(text)):
            yield Piece(part, title=f"{part} = {values[part]}" if part in values else "")
