"""The comparison of two kernels: which figure is better, and at which shape products are verified."""

from __future__ import annotations

import pytest

from cudamm.analysis.kernel_comparison import ComparedFigure, verified_shape
from cudamm.kernels.problem import parse_shape


@pytest.mark.parametrize(
    ("old", "new", "better", "verdict", "ratio"),
    [(8, 2, "less", "better", 0.25), (2, 8, "less", "worse", 4), (2, 8, "more", "better", 4),
     (3, 3, "less", "same", 1), (8, 2, "", "", 0.25), (None, 2, "less", "", None),
     (2, None, "less", "", None), (0, 2, "less", "worse", None), (2, 0, "less", "better", 0)],
)  # fmt: skip
def test_the_direction_of_a_figure_decides_its_verdict(old, new, better, verdict, ratio):
    figure = ComparedFigure("global memory", "sectors loaded", old, new, better)
    assert (figure.verdict, figure.ratio) == (verdict, ratio)


@pytest.mark.parametrize(
    ("asked", "verified"),
    [("64", "64x64x64"), ("1024", "256x256x256"), ("4096x256x1024", "256x256x256"), ("1536", "768x768x768"),
     ("100x200x300", "100x200x300"), ("1000", None), ("31x10000x10000", None)],
)  # fmt: skip
def test_large_multiples_of_256_are_verified_at_smaller_ones(asked, verified):
    """A kernel that needs multiples of its tile gets them at the smaller shape too."""
    shape = verified_shape(parse_shape(asked))
    assert (None if shape is None else str(shape)) == verified
