"""The tiles of the methods for tensor cores: their order in shared memory costs no bank conflict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.analysis.trace import Settings, trace
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants


def wavefronts(method: Method, **values: int) -> tuple[int, int]:
    """Return the passes through the banks that all accesses of shared memory take, and how few would do."""
    (variant,) = variants(method, {name: (value,) for name, value in values.items()})
    problem = Problem(Shape(128, 128, 128), ELEMENT_TYPES[method.element_types[0]])
    (result,) = trace([(variant, problem)], Settings(), True, lambda *_: None)
    assert result.status == "ok", result.reason
    total = result.total("shared")
    return total.wavefronts, total.ideal_wavefronts


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mma", {}),
        ("mma", {"BK": 64, "STAGES": 2}),
        ("mma", {"BM": 64, "BN": 64, "BK": 16, "WM": 32}),
        ("dmma", {}),
        ("dmma-pipelined", {}),
        ("dmma-pipelined", {"BM": 96, "BN": 96, "WM": 48, "WN": 48}),
        ("dmma-pipelined", {"BM": 64, "BN": 64, "BK": 32, "WN": 16, "STAGES": 2}),
        ("mma-tf32", {}),
        ("mma-tf32", {"BK": 32, "STAGES": 3}),
        ("mma-tf32", {"BM": 64, "BN": 64, "WM": 32, "WN": 32}),
    ],
)
def test_no_access_of_a_tile_has_a_bank_conflict(name: str, values: dict[str, int]) -> None:
    taken, needed = wavefronts(find(name), **values)
    assert taken == needed > 0


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("mma", "(piece ^ row / side_by_side % (ROW < 8 ? ROW : 8))", "piece"),
        ("mma-tf32", "(piece ^ row % 4 * 2)", "piece"),
        ("mma-tf32", "(piece ^ row / (8 / A_ROW) % A_ROW)", "piece"),
        ("dmma", "A_PITCH = BK + 4, B_PITCH = BN + 4", "A_PITCH = BK, B_PITCH = BN"),
    ],
)
def test_tiles_in_plain_order_have_conflicts(
    name: str, old: str, new: str, tmp_path: Path, write_kernel: Callable[..., Any]
) -> None:
    method = find(name)
    assert method.code.count(old) == 1
    header = method.source.partition("\n\n")[0]
    path = write_kernel(f"{header}\n\n{method.code.replace(old, new)}", "plain.cu")
    taken, needed = wavefronts(read_method(path))
    assert taken >= 2 * needed


@pytest.mark.slow
def test_a_method_of_tf32_is_compared_with_naive_in_float32() -> None:
    """Each block of 128 x 128 loads both matrices once; `naive` loads two elements for each product."""
    n = 128
    (variant,) = variants(find("mma-tf32"), {})
    problem = Problem(Shape(n, n, n), ELEMENT_TYPES["tf32"])
    (result,) = trace([(variant, problem)], Settings(), True, lambda *_: None)
    assert result.bytes_against_naive == pytest.approx(3 * n**2 / (2 * n**3 + n**2))
