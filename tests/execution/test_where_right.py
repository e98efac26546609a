"""The sizes at which a kernel is right, found by running it at others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.device import Device
from cudamm.errors import HangError, KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import plan_all
from cudamm.execution.where_right import where_right
from cudamm.kernels.header import parse_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

IsRight = Callable[[int, int, int], bool]
KERNEL = "__global__ void mm(int M, int N, int K, const float *A, const float *B, float *C) { C[0] = A[0]; }"
WRONG_AT = Shape(17, 31, 13)


class _Scripted(InProcessExecutor):
    """An executor whose products are right at the shapes that a function says."""

    def __init__(self, device: Device[Any], is_right: IsRight) -> None:
        super().__init__(device)
        self._is_right = is_right
        self.shapes: list[Shape] = []

    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        self.shapes.append(case.problem.shape)
        return Verdict(self._is_right(*case.problem.shape.extents))


def _found(
    device: Device[Any], is_right: IsRight, tile: int, *, requires: str = "", known: Any = None
) -> str:
    header = f"// threads: 16, 16\n// grid: ceil(N / {tile}), ceil(M / {tile})\n"
    header += f"// requires: {requires}\n" if requires else ""
    (variant,) = variants(parse_method(f"{header}{KERNEL}\n", Path("mm.cu")), {})
    executor = _Scripted(device, is_right)
    wrong_at = Shape(17, 17, 17) if requires else WRONG_AT
    cases = [(variant, Problem(wrong_at, ELEMENT_TYPES["float32"]))]
    (case,) = plan_all(executor, cases, True, verified=True)
    found = where_right(executor, case, {wrong_at: False} | (known or {}))
    return str(found) if found is not None else ""


@pytest.mark.parametrize(
    ("is_right", "tile", "where"),
    [
        (lambda m, n, k: m % 32 == n % 32 == 0, 32, "right where M and N are multiples of 32"),
        (lambda m, n, k: m % 128 == n % 128 == k % 8 == 0, 128,
         "right where M and N are multiples of 128 and K is a multiple of 8"),
        (lambda m, n, k: n % 48 == 0, 48, "right where N is a multiple of 48"),
        (lambda m, n, k: k % 4 == 0, 16, "right where K is a multiple of 4"),
        (lambda m, n, k: m == n, 16, "right where M = N"),
        (lambda m, n, k: n == k and m % 16 == 0, 16, "right where N = K and M is a multiple of 16"),
        (lambda m, n, k: m == n == k and m % 16 == 0, 16, "right where M = N = K is a multiple of 16"),
    ],
)  # fmt: skip
def test_the_weakest_condition_that_separates_right_from_wrong_is_found(
    cpu: Device[Any], is_right: IsRight, tile: int, where: str
) -> None:
    assert _found(cpu, is_right, tile) == where


@pytest.mark.parametrize(
    "is_right",
    [
        lambda m, n, k: False,
        lambda m, n, k: m < 64 and m % 32 == 0,  # not for all multiples
        lambda m, n, k: m % 32 == 0 and (m, n, k) != (32, 32, 32) and n * k != 1,  # not for the smallest
        lambda m, n, k: m > 17,  # no multiple
    ],
)
def test_a_condition_that_further_runs_do_not_confirm_is_not_claimed(
    cpu: Device[Any], is_right: IsRight
) -> None:
    assert _found(cpu, is_right, 32) == ""


@pytest.mark.parametrize(
    ("is_right", "where"),
    [
        (lambda m, n, k: k <= 16, "right where K is at most 16"),
        (lambda m, n, k: k <= 16 and m % 16, ""),
        (lambda m, n, k: k % 16 != 0 and k < 100, ""),  # whole tiles are wrong, however few
        (lambda m, n, k: k <= 12, ""),  # a K that is known to be right lies above one that is wrong
    ],
)
def test_the_largest_k_of_a_kernel_whose_steps_race_is_found(
    cpu: Device[Any], is_right: IsRight, where: str
) -> None:
    known = {Shape(17, 31, 13): True, Shape(33, 65, 129): False}
    assert _found(cpu, is_right, 16, known=known) == where


def test_a_known_size_that_is_wrong_refutes_a_condition(cpu: Device[Any]) -> None:
    def is_right(m: int, n: int, k: int) -> bool:
        return m % 32 == 0

    assert _found(cpu, is_right, 32) == "right where M is a multiple of 32"
    assert _found(cpu, is_right, 32, known={Shape(64, 64, 64): False}) == ""


def test_a_kernel_for_squares_is_run_at_squares_only(cpu: Device[Any]) -> None:
    shapes: list[tuple[int, int, int]] = []

    def is_right(m: int, n: int, k: int) -> bool:
        shapes.append((m, n, k))
        return m % 16 == 0

    where = _found(cpu, is_right, 16, requires="M == N, N == K")
    assert where == "right where M = N = K is a multiple of 16"
    assert all(m == n == k for m, n, k in shapes)


def test_a_kernel_that_hangs_is_run_once(cpu: Device[Any]) -> None:
    shapes: list[int] = []

    def hangs(m: int, n: int, k: int) -> bool:
        shapes.append(m)
        raise HangError("no answer")

    assert _found(cpu, hangs, 16) == "" and len(shapes) == 1


def test_a_launch_that_fails_counts_as_wrong(cpu: Device[Any]) -> None:
    def is_right(m: int, n: int, k: int) -> bool:
        if m % 8:
            raise KernelError("crashed")
        return True

    assert _found(cpu, is_right, 16) == "right where M is a multiple of 8"
