"""The method `best`: a placeholder for the method and parameters that are chosen once the device is known."""

from __future__ import annotations

from pathlib import Path

from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.source.expression import parse

BEST = Method(
    name="best",
    path=Path("best"),
    source="",
    code="",
    language="cuda",
    summary="The kernel and the parameters that suit the device, the sizes and the element type.",
    sources="",
    aliases=(),
    parameters=(),
    entry="best",
    arguments=(),
    threads=(),
    grid=(),
    shared_bytes=parse("0"),
    traffic=None,
    constants=(),
    requires=(),
    needs="",
    element_types=tuple(ELEMENT_TYPES),
    sums_in_k_order=False,
    builtin=True,
)
"""The placeholder that `cudamm.tuning` replaces by the chosen method; `best` has no file."""
