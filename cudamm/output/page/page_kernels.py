"""The kernels of a file's rows, as this version of cudamm has them: source and occupancy."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cudamm.benchmark.result import Result
from cudamm.compile.program import Program, program
from cudamm.errors import UsageError
from cudamm.execution.prepare import Progress
from cudamm.kernels.architecture import Architecture, find_architecture
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method, Value
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, parse_values
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels
from cudamm.occupancy.occupancy_result import OccupancyResult

State = Literal["as measured", "changed since", "not recorded", "not known"]
"""State of a row's source. `not recorded`: the file has no hash, such as if the launch failed."""


@dataclass(frozen=True)
class Kernel:
    """A row's kernel, as far as it is known.

    Attributes:
        method: cudamm's method with the row's name; None if there is none.
        program: the method's present source with the row's parameters; None if they do not apply.
    """

    row: Result
    state: State
    method: Method | None = None
    variant: Variant | None = None
    program: Program | None = None

    @property
    def substitutions(self) -> list[str]:
        """Return the lines that the compiler reads before the method's own source."""
        if self.program is None:
            return []
        lines = self.program.text.split("\n")
        starts = [i for i, line in enumerate(lines) if line.startswith("#line 1 ")]
        return lines[starts[0] + 1 : starts[1]] if len(starts) > 1 else []


def kernel_of(row: Result) -> Kernel:
    """Return the kernel of a row: whether it is one of cudamm's, and whether its source is unchanged."""
    method = _method(row.method)
    if method is None:
        return Kernel(row, "not known")
    variant = _variant(method, row.params)
    try:
        found = program(variant, ELEMENT_TYPES[row.dtype], row.fmad) if variant else None
    except (KeyError, UsageError):  # not an element type, or not one of this method's
        found = None
    if not row.source:
        return Kernel(row, "not recorded", method, variant, found)
    state: State = "as measured" if found is not None and found.hash == row.source else "changed since"
    return Kernel(row, state, method, variant, found)


@functools.cache
def _method(name: str) -> Method | None:
    try:
        method = find(name)
    except UsageError:
        return None
    return method if method.name == name else None  # records never contain an alias


def _variant(method: Method, params: dict[str, Value]) -> Variant | None:
    """Return the variant of a record's parameters, if an option could have given them; else None.

    A file may come from anywhere, and its parameters go to a compiler.
    """
    if params.keys() != {parameter.name for parameter in method.parameters}:
        return None
    try:
        if any(parse_values(str(value)) != (value,) for value in params.values()):
            return None
    except UsageError:
        return None
    return Variant(method, tuple((p.name, params[p.name]) for p in method.parameters))


def architecture_of(device: dict[str, Any]) -> Architecture | None:
    """Return the architecture of a file's GPU, with that GPU's multiprocessors; None for another device."""
    if device["kind"] != "gpu" or not isinstance(device.get("arch"), str):
        return None
    try:
        found = find_architecture(device["arch"])
    except UsageError:
        return None
    multiprocessors = device.get("multiprocessors")
    if isinstance(multiprocessors, int) and 0 < multiprocessors < 100_000:
        found = dataclasses.replace(found, multiprocessors=multiprocessors)
    return dataclasses.replace(found, gpu=device["name"])


def on_gpu(kernels: Sequence[Kernel]) -> list[Kernel]:
    """Return the first row of each variant that was timed on the GPU and whose source is unchanged."""
    chosen: dict[tuple[Variant, str, bool], Kernel] = {}
    for kernel in kernels:
        row = kernel.row
        if (
            kernel.variant is not None
            and kernel.variant.method.is_kernel
            and kernel.state == "as measured"
            and row.execution == "gpu"
            and row.status in ("ok", "dropped")
        ):
            chosen.setdefault((kernel.variant, row.dtype, row.fmad), kernel)
    return list(chosen.values())


def occupancy_of(
    architecture: Architecture, kernels: Sequence[Kernel], progress: Progress
) -> Iterator[OccupancyResult]:
    """Yield the occupancy of kernels that `on_gpu` has chosen, each at its row's size.

    Raises:
        NoDeviceError: there is no nvcc, or it cannot compile for that architecture.
        UsageError: none of them can be launched there.
    """
    for fmad in (True, False):
        cases = [
            (k.variant, Problem(Shape(k.row.m, k.row.n, k.row.k), ELEMENT_TYPES[k.row.dtype], 0))
            for k in kernels
            if k.variant is not None and k.row.fmad is fmad
        ]
        if cases:
            yield from occupancy_of_kernels([architecture], cases, fmad, None, progress)
