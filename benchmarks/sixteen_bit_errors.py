"""Measure the errors of float16 and bfloat16 kernels against the yardstick; the table is in docs/trust.md.

The script needs no GPU, because it emulates the kernels. Run it with:
python benchmarks/sixteen_bit_errors.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cudamm.execution.precision import yardstick_of
from cudamm.kernels.method import ELEMENT_TYPES, ElementType

Matrix = npt.NDArray[np.generic]

LENGTHS = (1, 4, 16, 64, 256, 1024, 4096, 16384)
EDGE = 64
INPUTS = ("both signs", "positive", "normal")
KERNELS = ("sums in float32", "sums in the element type")


def main() -> None:
    """Print a row for each type, kind of inputs and kernel: the ratio of its error to the yardstick, by K."""
    random = np.random.default_rng(1)
    print("| type | inputs | kernel |", " | ".join(map(str, LENGTHS)), "|")
    print("|---|---|---|" + "---:|" * len(LENGTHS))
    for name in ("float16", "bfloat16"):
        element = ELEMENT_TYPES[name]
        for inputs in INPUTS:
            ratios = [_ratios(element, inputs, k, random) for k in LENGTHS]
            for kernel, of_kernel in zip(KERNELS, zip(*ratios, strict=True), strict=True):
                print(f"| {name} | {inputs} | {kernel} |", " | ".join(f"{r:.2f}" for r in of_kernel), "|")


def _ratios(element: ElementType, inputs: str, k: int, random: np.random.Generator) -> list[float]:
    """Return the ratio of each kernel."""
    a, b = (_drawn(inputs, shape, random).astype(element.dtype) for shape in ((EDGE, k), (k, EDGE)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    yardstick = yardstick_of(a, b, exact, np.zeros_like(exact), element.name)
    in_float32 = np.zeros((EDGE, EDGE), np.float32)
    in_element = np.zeros((EDGE, EDGE), element.dtype)
    for i in range(k):
        terms = a[:, i : i + 1].astype(np.float32) * b[i].astype(np.float32)  # exact
        in_float32 += terms
        in_element = (in_element.astype(np.float32) + terms).astype(element.dtype)
    found = [
        yardstick.precision_of(product) if yardstick else None
        for product in (in_float32.astype(element.dtype), in_element)
    ]
    return [precision.ratio if precision else float("nan") for precision in found]


def _drawn(inputs: str, shape: tuple[int, int], random: np.random.Generator) -> npt.NDArray[np.float64]:
    if inputs == "normal":
        return random.standard_normal(shape)
    return random.uniform(0 if inputs == "positive" else -1, 1, shape)


if __name__ == "__main__":
    main()
