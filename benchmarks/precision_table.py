"""Compare the errors of correct kernels, and of kernels in lower precision, with `execution/precision.py`'s
yardstick.

The script needs no GPU: it emulates orders of summation in NumPy. Run it with:
python benchmarks/precision_table.py
python benchmarks/precision_table.py --largest-k 4096

It prints the tables of docs/trust.md, in Markdown. A number is an error in multiples of the yardstick's, and
is bold if the kernel is reported as computing in less than its type.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from summation_orders import (
    BORDERLINE,
    LEAST_BF16X9_K,
    LOWER_PRECISIONS,
    ORDERS,
    Lower,
    Matrix,
    bf16x9,
    exact_terms,
)

from cudamm.execution.precision import FACTOR, Precision, yardstick_of
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.reference_product import reference_product

KS = (1, 2, 3, 4, 7, 16, 64, 256, 1000, 4096, 16384, 65536)
FEW_KS = (1, 2, 3, 4, 7, 16, 64)
FEW_ELEMENTS = ((1, 1), (3, 5), (16, 16))
PROBLEMS_OF_FEW = 100
LOWER_KS = (4, 16, 64, 256, 1000, 4096, 16384, 65536)
LARGEST_FLOAT64_K = 4096

Random = np.random.Generator
Draw = Callable[[Random, tuple[int, int]], Matrix]
Inputs = Callable[[Random, int, int, int], tuple[Matrix, Matrix]]


def edge_of(k: int) -> int:
    """Return the number of rows and columns that are emulated: fewer for a long sum, which takes long."""
    return 64 if k <= 256 else 32 if k <= 1000 else 16 if k <= 16384 else 8


def uniform(random: Random, shape: tuple[int, int]) -> Matrix:
    return random.uniform(-1, 1, shape)


def positive(random: Random, shape: tuple[int, int]) -> Matrix:
    return random.uniform(0, 1, shape)


def wide(random: Random, shape: tuple[int, int]) -> Matrix:
    values: Matrix = np.exp2(random.uniform(-20, 20, shape)) * random.choice((-1, 1), shape)
    return values


def wide_positive(random: Random, shape: tuple[int, int]) -> Matrix:
    return np.exp2(random.uniform(-20, 20, shape))


def sparse(random: Random, shape: tuple[int, int]) -> Matrix:
    return uniform(random, shape) * (random.random(shape) < 0.1)


def tenths(random: Random, shape: tuple[int, int]) -> Matrix:
    return np.full(shape, 0.1)


def whole(random: Random, shape: tuple[int, int]) -> Matrix:
    return random.integers(-100, 101, shape)


def independent(draw: Draw, random: Random, m: int, n: int, k: int) -> tuple[Matrix, Matrix]:
    """Return two matrices with independent elements."""
    return draw(random, (m, k)), draw(random, (k, n))


def constant_rows(random: Random, m: int, n: int, k: int) -> tuple[Matrix, Matrix]:
    """Return A with equal elements in each row, and B in each column."""
    return np.repeat(positive(random, (m, 1)), k, 1), np.repeat(positive(random, (1, n)), k, 0)


def growing(random: Random, m: int, n: int, k: int) -> tuple[Matrix, Matrix]:
    """Return matrices whose terms grow with k, by 2⁴⁰."""
    scale = np.exp2(20 * np.arange(k) / k)
    return uniform(random, (m, k)) * scale, uniform(random, (k, n)) * scale[:, None]


def cancelling(neighbours: bool, draw: Draw, random: Random, m: int, n: int, k: int) -> tuple[Matrix, Matrix]:
    """Return matrices whose terms cancel but for a thousandth, with a neighbour or in the other half of k."""
    half = k - k // 2
    a, b = draw(random, (m, half)), draw(random, (half, n))
    opposite = -a * (1 + 2.0**-10 * uniform(random, a.shape))
    if not neighbours:
        return np.hstack((a, opposite))[:, :k], np.vstack((b, b))[:k]
    return np.stack((a, opposite), axis=2).reshape(m, -1)[:, :k], np.repeat(b, 2, axis=0)[:k]


INPUTS: dict[str, Inputs] = {
    "both signs (cudamm's own)": partial(independent, uniform),
    "all positive": partial(independent, positive),
    "2⁻²⁰ to 2²⁰, both signs": partial(independent, wide),
    "2⁻²⁰ to 2²⁰, positive": partial(independent, wide_positive),
    "growing with k": growing,
    "halves cancel": partial(cancelling, False, uniform),
    "positive half cancels": partial(cancelling, False, positive),
    "neighbours cancel": partial(cancelling, True, uniform),
    "+ − + − cancel": partial(cancelling, True, positive),
    "nine of ten are 0": partial(independent, sparse),
    "all 0.1": partial(independent, tenths),
    "constant rows": constant_rows,
    "whole numbers": partial(independent, whole),
}
OWN_INPUTS = next(iter(INPUTS))


def ratios_of(
    inputs: str, m: int, n: int, k: int, seed: int, kernels: Iterable[str], dtype: str = "float32"
) -> dict[str, Precision]:
    """Return the precision of kernels on one problem; nothing if it has no terms other than 0."""
    random = np.random.default_rng([seed, m, n, k])
    a, b = (matrix.astype(dtype) for matrix in INPUTS[inputs](random, m, n, k))
    high, low = reference_product(a, b, ELEMENT_TYPES[dtype])
    yardstick = yardstick_of(a, b, high, low, dtype)
    precisions: dict[str, Precision] = {}
    if yardstick is None:
        return precisions
    terms = exact_terms(a, b)
    lower = LOWER_PRECISIONS | BORDERLINE
    for kernel in kernels:
        with np.errstate(over="ignore", invalid="ignore"):
            if kernel in ORDERS:
                product = ORDERS[kernel](terms, dtype)
            else:
                compute: Lower = lower.get(kernel, bf16x9)
                product = compute(a, b)
            precision = yardstick.precision_of(product.reshape(m, n))
        if precision is not None:
            precisions[kernel] = precision
    return precisions


def honest_kernels(k: int) -> list[str]:
    """Return the correct kernels for this K; ours on tensor cores uses FMAs for short sums."""
    return [*ORDERS, *(["bf16x9"] if k >= LEAST_BF16X9_K else [])]


Row = dict[tuple[str, int], dict[str, Precision]]


def row_of(inputs: str, largest_k: int) -> Row:
    """Return the precision of all kernels on one kind of inputs, by the group of kernels and K."""
    row: Row = {}
    for k in (k for k in KS if k <= largest_k):
        edge = edge_of(k)
        row["honest", k] = ratios_of(inputs, edge, edge, k, 0, honest_kernels(k))
        if k in LOWER_KS:
            row["lower", k] = ratios_of(inputs, edge, edge, k, 0, LOWER_PRECISIONS)
            if inputs == OWN_INPUTS:
                row["borderline", k] = ratios_of(inputs, edge, edge, k, 0, BORDERLINE)
        if k <= LARGEST_FLOAT64_K:
            row["float64", k] = ratios_of(inputs, edge, edge, k, 0, ORDERS, "float64")
    for m, n in FEW_ELEMENTS:
        for k in FEW_KS:
            row[f"{m}x{n}", k] = {}
            for seed in range(PROBLEMS_OF_FEW if m * n < 256 else PROBLEMS_OF_FEW // 10):
                for kernel, precision in ratios_of(inputs, m, n, k, seed + 1, honest_kernels(k)).items():
                    row[f"{m}x{n}", k][f"{kernel} {seed}"] = precision
    return row


def cell(ratio: float) -> str:
    """Return a ratio with two digits, bold if the kernel is reported."""
    text = f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"
    return f"**{text}**" if ratio > FACTOR else text


def largest(precisions: dict[str, Precision]) -> float:
    """Return the largest ratio; 0 if there is none."""
    return max((precision.ratio for precision in precisions.values()), default=0.0)


def print_table(title: str, heads: Iterable[object], rows: dict[str, list[str]]) -> None:
    """Print a Markdown table under a line of text."""
    names = [str(head) for head in heads]
    print(f"\n{title}\n\n| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def main(largest_k: int) -> None:
    """Print the tables."""
    with ProcessPoolExecutor() as processes:
        rows = dict(zip(INPUTS, processes.map(row_of, INPUTS, [largest_k] * len(INPUTS)), strict=True))
    ks = [k for k in KS if k <= largest_k]
    print_table(
        "Correct kernels: the largest ratio of all orders, by inputs and K.",
        ks,
        {name: [cell(largest(row["honest", k])) for k in ks] for name, row in rows.items()},
    )
    print_table(
        "Correct kernels: the largest ratio of all inputs and K, by order.",
        ["ratio", "inputs", "K"],
        {
            kernel: [cell(ratio), name, str(k)]
            for kernel in honest_kernels(largest_k)
            for ratio, name, k in [
                max(
                    (row["honest", k][kernel].ratio, name, k)
                    for name, row in rows.items()
                    for k in ks
                    if kernel in row["honest", k]
                )
            ]
        },
    )
    few_ks = [k for k in FEW_KS if k <= largest_k]
    shapes = [f"{m}x{n}" for m, n in FEW_ELEMENTS]
    print_table(
        f"Correct kernels on products of few elements: the largest ratio of all orders, K ≤ {few_ks[-1]} and "
        f"{PROBLEMS_OF_FEW} problems ({PROBLEMS_OF_FEW // 10} of 16x16).",
        shapes,
        {
            name: [cell(max(largest(row[shape, k]) for k in few_ks)) for shape in shapes]
            for name, row in rows.items()
        },
    )
    lower_ks = [k for k in LOWER_KS if k <= largest_k]
    for group, kernels in (("lower", LOWER_PRECISIONS), ("borderline", BORDERLINE)):
        print_table(
            f"{'Lower precision' if group == 'lower' else 'Between'}, cudamm's own inputs, by K: ratio; "
            "effective bits of products, of sums.",
            lower_ks,
            {
                kernel: [cell_with_bits(rows[OWN_INPUTS][group, k].get(kernel)) for k in lower_ks]
                for kernel in kernels
            },
        )
    print_table(
        "Lower precision: the smallest ratio of the kernels above, by inputs and K "
        "(infinite results left out).",
        lower_ks,
        {
            name: [
                cell(min((p.ratio for p in row["lower", k].values()), default=float("inf"))) for k in lower_ks
            ]
            for name, row in rows.items()
        },
    )
    print_table(
        "Correct float64 kernels: the largest ratio of all orders, by inputs and K.",
        [k for k in ks if k <= LARGEST_FLOAT64_K],
        {
            name: [cell(largest(row["float64", k])) for k in ks if k <= LARGEST_FLOAT64_K]
            for name, row in rows.items()
        },
    )
    print_table(
        "The precision of products below which a kernel is reported, in bits, by inputs and K.",
        ks,
        {
            name: [f"{p.noticeable_bits:.0f}" for k in ks for p in [row["honest", k]["chain of FMAs"]]]
            for name, row in rows.items()
        },
    )


def cell_with_bits(precision: Precision | None) -> str:
    """Return the ratio with the effective bits of products and sums, if the kernel is reported."""
    if precision is None:
        return "not finite"
    if not precision.is_lower:
        return cell(precision.ratio)
    return f"{cell(precision.ratio)}; {precision.effective_bits:.1f}, {precision.effective_sum_bits:.1f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--largest-k", type=int, default=KS[-1], choices=KS, metavar="K")
    main(parser.parse_args().largest_k)
