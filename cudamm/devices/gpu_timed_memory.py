"""Device memory of timed launches: inputs that no launch has seen, outputs, and the judge of the products."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cudamm.devices.device import GUARD_BYTES, DamagedMemoryError, Judged, Slot
from cudamm.devices.gpu_fresh_inputs import MOST_JUDGED_ROWS, FreshInputs
from cudamm.devices.gpu_support import Support
from cudamm.errors import KernelError
from cudamm.kernels.error_bound import RoundingOfSums, rounding_of_sums
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ElementType, MatrixName
from cudamm.kernels.problem import Matrix, Problem
from cudamm.kernels.random_elements import WINDOW_BYTES, ElementStream
from cudamm.kernels.sampled_product import SampledProduct

PLACES = 256
"""Number of places for each matrix, one every WINDOW_BYTES."""

WINDOWS = range(GUARD_BYTES // WINDOW_BYTES, GUARD_BYTES // WINDOW_BYTES + PLACES)
"""The windows for A and B of their streams, which begin in a margin before the first place."""

OUTPUTS = 3
"""Number of outputs of a sample of several launches."""

MOST_TERMS = 2**31
"""Maximum number of products that are added to judge a launch in full; else some rows are judged."""

FEWEST_ROWS = 8
"""Number of rows that are judged in full however long they are."""

SIGN_DEVIATIONS = 10.0
"""A sum of errors with random signs exceeds this many times its standard deviation in one of 10²¹ cases.

W. Hoeffding, "Probability inequalities for sums of bounded random variables", J. Amer. Statist. Assoc. 58
(1963), theorem 2: the probability is at most 2 exp(-t²/2) for t standard deviations.
"""


class TimedMemory:
    """Memory of a shape for timed launches, in which the matrices lie elsewhere for each sample."""

    def __init__(
        self,
        support: Support,
        fresh_inputs: FreshInputs,
        launch: Launch,
        element: ElementType,
        poison: int,
        outputs: int,
    ) -> None:
        """Allocate the memory. Raises KernelError if there is no room.

        Args:
            poison: 32-bit pattern that fills the outputs.
            outputs: number of outputs.
        """
        self._cuda, self._support, self._fresh_inputs = support.cuda, support, fresh_inputs
        self._layouts, self._element, self._poison = launch.layouts, element, poison
        self.outputs = outputs
        self._place = 0
        self._inputs: dict[MatrixName, Any] = {}
        self._outputs: list[Any] = []
        try:
            self._inputs["A"] = self._cuda.mem_alloc(self._region_bytes("A"))
            self._inputs["B"] = self._cuda.mem_alloc(self._region_bytes("B"))
            self._outputs += (self._cuda.mem_alloc(self._region_bytes("C")) for _ in range(outputs))
        except self._cuda.Error as error:
            self.free()
            raise KernelError(f"no device memory for the inputs of timed launches: {error}") from None

    def _matrix_bytes(self, name: MatrixName) -> int:
        layout = self._layouts[name]
        return layout.rows * layout.columns * self._element.bytes_of[name]

    def _region_bytes(self, name: MatrixName) -> int:
        """Return the bytes of a matrix with its possible places, and with a margin on both sides."""
        whole_windows = -(-self._matrix_bytes(name) // WINDOW_BYTES) * WINDOW_BYTES
        return GUARD_BYTES + whole_windows + PLACES * WINDOW_BYTES + GUARD_BYTES

    def redraw(self, problem: Problem, place: int) -> None:
        """Fill the outputs with the pattern, and draw new inputs; see `Run.redraw`.

        The inputs come last, so that the first of several hot launches finds them in the L2 cache.
        """
        for memory in self._outputs:
            self._cuda.memset_d32_async(memory, self._poison, self._region_bytes("C") // 4, None)
        for name, stream in self._streams(problem).items():
            region, size = int(self._inputs[name]), self._region_bytes(name)
            self._fresh_inputs.draw(region, size, *stream.arguments)
        self._place = place
        if problem.scale.beta:
            layout = self._layouts["C"]
            elements = layout.memory_of(layout.stored(problem.output))
            for output in range(self.outputs):
                self._cuda.memcpy_htod(self._output_address(output), elements)

    @staticmethod
    def _streams(problem: Problem) -> dict[MatrixName, ElementStream]:
        a, b = problem.streams
        return {"A": a, "B": b}

    def addresses(self, slot: Slot) -> dict[str, int]:
        """Return the addresses of A, B and C for a launch."""
        a, b = (int(self._inputs[name]) + slot.window * WINDOW_BYTES for name in ("A", "B"))
        return {"A": a, "B": b, "C": self._output_address(slot.output)}

    def _output_address(self, output: int) -> int:
        return int(self._outputs[output]) + GUARD_BYTES + self._place * WINDOW_BYTES

    def product(self, output: int) -> Matrix:
        """Return a copy of an output in the launch's shape."""
        layout = self._layouts["C"]
        elements: Matrix = np.empty(layout.rows * layout.columns, self._element.of_results.dtype)
        self._cuda.memcpy_dtoh(elements, self._output_address(output))
        return layout.matrix_in(elements)

    def check(self, problem: Problem, output: int) -> None:
        """Raise DamagedMemoryError if a launch wrote outside of an output or into an input."""
        for name, stream in self._streams(problem).items():
            region, size = int(self._inputs[name]), self._region_bytes(name)
            if self._fresh_inputs.count_unlike(region, size, *stream.arguments):
                raise DamagedMemoryError(f"wrote into the input {name}, or beyond its edge", name)
        begin, first = int(self._outputs[output]), self._output_address(output)
        after = first + self._matrix_bytes("C")
        end = begin + self._region_bytes("C")
        for side, address, size in (
            ("before the start", begin, first - begin),
            ("past the end", after, end - after),
        ):
            if self._support.count_changed(address, size, self._poison):
                raise DamagedMemoryError(f"wrote {side} of C", "C")

    def judge(self, problem: Problem, output: int, m: int, n: int) -> Judged:
        """Compare m x n elements of C with sums of higher precision: all, or some rows and random sums."""
        k = problem.shape.k
        count = min(m, MOST_JUDGED_ROWS, max(FEWEST_ROWS, MOST_TERMS // (n * k)))
        random = np.random.default_rng()  # nobody can know which rows are judged
        rows = np.sort(random.choice(m, count, replace=False)).astype(np.int32)
        places = self._places(problem, output)
        bound = problem.relative_bound * (1 + 2.0**-20)
        rounding = problem.rounding_of_sums
        # The error of a sum is rounded with the sum.
        bound *= 1 + rounding.relative
        wrong, _ = self._fresh_inputs.judge_rows(arguments_of(places), rows, n, k, bound, rounding)
        if not wrong and count < m:
            # The product with a vector rounds no sum, so that of C has the error even if C is exact.
            rounding = rounding_of_sums(self._element)
            wrong = not self._is_product(places, random.choice((-1.0, 1.0), n), m, k, bound, rounding)
        return Judged(bool(wrong), count)

    def _places(self, problem: Problem, output: int) -> dict[MatrixName, Place]:
        addresses = self.addresses(Slot(problem.window, output))
        return {name: Place(addresses[name], layout) for name, layout in self._layouts.items()}

    def sampled_product(self, problem: Problem, output: int, rows: Matrix, columns: Matrix) -> SampledProduct:
        """Return the elements of an output in some rows and columns, and the sums that they should be."""
        places = self._places(problem, output)
        return self._fresh_inputs.sample_product(arguments_of(places), rows, columns, problem.shape.k)

    def _is_product(
        self,
        places: dict[MatrixName, Place],
        x: Matrix,
        m: int,
        k: int,
        bound: float,
        rounding: RoundingOfSums,
    ) -> bool:
        """Return whether C x = A (B x) within the bound, for a vector x of random signs.

        |(C - A B) x| is a sum of errors with random signs. Each error is at most `bound` |aᵢ| |bⱼ|, and that
        of rounding the sum.
        R. Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
        """
        n = len(x)
        b_x, b_squares = self._times("B", places, x, k)
        expected, a_squares = self._times("A", places, b_x, m)
        actual, c_squares = self._times("C", places, x, m)
        # The second term covers the rounding errors of the three float64 products with a vector.
        share = SIGN_DEVIATIONS * bound + 4 * (n + k) * 2.0**-53 * np.sqrt(n)
        tolerance = share * np.sqrt(a_squares) * np.sqrt(b_squares.sum())
        of_rounding = rounding.relative**2 * c_squares + rounding.least**2 * n
        tolerance += SIGN_DEVIATIONS * (1 + rounding.relative) * np.sqrt(of_rounding)
        with np.errstate(invalid="ignore", over="ignore"):
            return bool((np.abs(actual - expected) <= tolerance).all())  # False for NaN

    def _times(
        self, name: MatrixName, places: dict[MatrixName, Place], x: Matrix, rows: int
    ) -> tuple[Matrix, Matrix]:
        return self._fresh_inputs.matrix_times(name, places[name].arguments, x, rows, len(x))

    def free(self) -> None:
        """Free the memory; after a crashed kernel the driver refuses, which is ignored."""
        for memory in (*self._inputs.values(), *self._outputs):
            with contextlib.suppress(self._cuda.Error):
                memory.free()
        self._inputs.clear()
        self._outputs.clear()


class Place:
    """A matrix in device memory: its address, and the distances between its elements."""

    def __init__(self, address: int, layout: MatrixLayout) -> None:
        self.layout = layout
        leading = layout.leading
        strides = (1, leading) if layout.by_column else (leading, 1)
        self.arguments = (address, *strides)


def arguments_of(places: Mapping[MatrixName, Place]) -> list[int]:
    """Return A, B and C as arguments of cudamm's own kernels: each an address and two strides."""
    return [argument for name in ("A", "B", "C") for argument in places[name].arguments]
