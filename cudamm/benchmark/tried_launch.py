"""Try the launch that is suggested for a kernel before a user sees the suggestion."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from cudamm.benchmark.verify import verify_all
from cudamm.errors import CudammError, MissingLaunchError
from cudamm.execution.worker_executor import SMALL_TIMEOUT_S, WorkerExecutor
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.selection import Selection
from cudamm.kernels.variant import Variant
from cudamm.source.c_text import without_comments

_TRIED_EDGES = (128, 256)
"""Edges of the square matrices on which a launch is tried; usual tiles divide them."""


def known_variants(selection: Selection) -> list[Variant]:
    """Return the chosen variants.

    Raises:
        UsageError: as `Selection.variants` does; an error suggests a launch only if the kernel runs with it.
    """
    try:
        return selection.variants()
    except MissingLaunchError as error:
        raise tried(error, selection) from None


def tried(error: MissingLaunchError, selection: Selection) -> MissingLaunchError:
    """Return the error with its suggestion only if the kernel runs with it on the CPU device."""
    kernels = [
        kernel for kernel in selection.kernels if not isinstance(kernel, Path) or str(kernel) == error.path
    ]
    if not error.suggested or len(kernels) != 1:
        return error.without_suggestion()
    fields = selection.kernel_fields | dict(error.suggested)
    alone = replace(selection, methods=(), kernels=tuple(kernels), kernel_fields=fields)
    try:
        variant = alone.variants()[0]
        element = ELEMENT_TYPES[variant.method.element_types[0]]
        with WorkerExecutor("cpu", SMALL_TIMEOUT_S) as worker:
            for edge in _TRIED_EDGES:
                problem = Problem(Shape(edge, edge, edge), element)
                for result in verify_all(worker, [(variant, problem)], True, lambda *_: None):
                    if result.status == "ok":
                        return error
                    if result.status == "failed":
                        size = f"{edge}x{edge}x{edge}"
                        is_doubtful = result.verdict.max_error is not None and _covers_all_axes(variant)
                        return error.doubted(size) if is_doubtful else error.without_suggestion()
    except CudammError:
        pass
    return error.without_suggestion()


def _covers_all_axes(variant: Variant) -> bool:
    """Return whether a variant's grid has an extent for each number of a block that its kernel uses."""
    axes = re.findall(r"\bblockIdx\s*\.\s*([xyz])", without_comments(variant.method.source))
    return all("xyz".index(axis) < len(variant.method.grid) for axis in axes)
