"""The emulated kernels of benchmarks/summation_orders.py, compared with an H200 and with exact sums."""

from __future__ import annotations

import importlib.util
import re
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

ROOT = Path(__file__).resolve().parents[1]

Matrix = npt.NDArray[Any]


@pytest.fixture(scope="module")
def orders() -> ModuleType:
    path = ROOT / "benchmarks" / "summation_orders.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matrices(lowest: float, edge: int, k: int) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng(k)
    return (
        random.uniform(lowest, 1, (edge, k)).astype(np.float32),
        random.uniform(lowest, 1, (k, edge)).astype(np.float32),
    )


@pytest.mark.parametrize(("elements", "lowest"), [("-1 to 1", -1), ("0 to 1", 0)])
@pytest.mark.parametrize("k", [16, 64])
def test_emulated_errors_are_those_of_an_h200(orders: ModuleType, elements: str, lowest: int, k: int) -> None:
    """docs/measured.md has the errors of `naive`, a chain of FMAs, and of `bf16x9` in the same unit."""
    text = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")
    row = re.search(rf"\| {elements} \| {k} \| ([\d.]+), .* \| .* \| ([\d.]+),", text)
    assert row is not None
    a, b = matrices(lowest, 64, k)
    terms = orders.exact_terms(a, b)
    unit = np.abs(terms).sum(axis=0) * 2.0**-24
    for product, measured in ((orders.chain(terms, "float32"), row[1]), (orders.bf16x9(a, b), row[2])):
        error = np.sqrt(np.mean(((product - terms.sum(axis=0)) / unit) ** 2))
        assert error == pytest.approx(float(measured), rel=0.05)


def test_every_order_adds_every_term_once(orders: ModuleType) -> None:
    random = np.random.default_rng(0)
    for k in (1, 2, 5, 33, 70):
        terms = random.integers(-100, 101, (k, 6)).astype(np.float64)
        for name, order in orders.ORDERS.items():
            assert np.array_equal(order(terms, "float32"), terms.sum(axis=0)), (name, k)


def test_a_tensor_core_truncates_what_lies_25_bits_below_the_largest_exponent(orders: ModuleType) -> None:
    a = np.zeros((1, 1, 16, 1), np.float32)[0]
    a[0, :3, 0] = 1, 2.0**-25, 2.0**-26
    kept = orders._tensor_core_sum(a, np.ones((1, 16, 1), np.float32), np.zeros((1, 1)))
    assert kept == 1  # 1 + 2⁻²⁵, truncated to float32
    a[0, :3, 0] = -1, 1, 2.0**-25
    assert orders._tensor_core_sum(a, np.ones((1, 16, 1), np.float32), np.zeros((1, 1))) == 2.0**-25
    a[0, 2, 0] = 2.0**-26
    assert orders._tensor_core_sum(a, np.ones((1, 16, 1), np.float32), np.zeros((1, 1))) == 0


@pytest.mark.parametrize(("name", "bits"), [("to_half", 11), ("to_tf32", 11), ("to_bfloat16", 8)])
def test_roundings_keep_the_bits_of_their_format(orders: ModuleType, name: str, bits: int) -> None:
    numbers = np.random.default_rng(0).uniform(1, 2, 100)
    for number, rounded in zip(numbers, getattr(orders, name)(numbers), strict=True):
        assert rounded == float(Fraction(round(Fraction(number) * 2 ** (bits - 1)), 2 ** (bits - 1)))
