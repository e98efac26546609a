"""Timed launches that each do the work: on inputs that no launch has seen, and judged at random."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from cudamm.devices.device import DamagedMemoryError, Judged, Run, Slot, poison_of
from cudamm.errors import KernelError
from cudamm.execution.judge import describe_wrong, is_filled_with, where, wrong_elements
from cudamm.execution.precision_judge import PrecisionJudge, lower_precision_of
from cudamm.kernels.problem import UNSCALED, Matrix, Problem
from cudamm.kernels.variant import Variant

MOST_COMPARED = 2**29
"""Number of elements of earlier inputs that are drawn again, to see whether a wrong product is theirs."""


@dataclass(frozen=True)
class TimedSamples:
    """Samples in milliseconds per launch, and how they were judged.

    Attributes:
        judged: number of launches that were judged.
        judged_whole: whether every element of each of these was compared.
    """

    samples_ms: list[float]
    judged: int = 0
    judged_whole: bool = True


class TimedLaunches:
    """The timed launches of one run, of which some are judged.

    Attributes:
        wrong_problem: the problem whose product was wrong for an unknown reason; None if there is none.
    """

    def __init__(self, run: Run, problem: Problem, variant: Variant, precision: PrecisionJudge) -> None:
        """Begin without samples.

        Args:
            problem: the problem with which the run was verified.
            precision: judges the precision of its products.
        """
        self._run, self._problem, self._variant = run, problem, variant
        self._precision = precision
        # A kernel need not write the padding of C.
        self._rows, self._columns = problem.shape.m, problem.shape.n
        self._random = np.random.default_rng()  # not from the seed: no kernel can know what is judged
        # A kernel that knows the first draw could bring the products of the next ones along.
        self._draw = self._first_draw = int(self._random.integers(2**62))
        most_earlier = 1 + MOST_COMPARED // problem.shape.elements
        self._earlier: collections.deque[Problem] = collections.deque(maxlen=most_earlier)
        self._right = 0
        self.wrong_problem: Problem | None = None

    @property
    def has_begun(self) -> bool:
        """Return whether the run's inputs are not those of its problem any more."""
        return self._draw > self._first_draw

    def sample(self, samples: int, launches: int, cold: bool) -> TimedSamples:
        """Return samples, each on new inputs in another place in memory.

        The launches of one sample have inputs of their own too. A random sample and the last one are judged:
        of several launches, the last one and random others, as many as the run has outputs.

        Raises:
            KernelError: a launch failed, or its product is wrong.
        """
        plan = self._run.plan
        judged = {int(self._random.integers(samples)), samples - 1}
        samples_ms: list[float] = []
        judged_rows: list[int] = []
        while len(samples_ms) < samples:
            self._draw += 1
            problem = self._problem.redrawn(self._draw, plan.shape, plan.column_major)
            slots = self._slots(launches)
            finals = {slot.output: slot for slot in slots}  # the last launch that wrote each output
            self._run.redraw(problem, int(self._random.integers(len(self._run.windows))), len(finals))
            try:
                sample_ms = self._run.time(slots, cold)
            except DamagedMemoryError as error:
                raise self._wrong(f": a later launch {error}") from None
            if sample_ms is None:
                continue
            problems = {slot: _at_window(problem, slot.window) for slot in slots}
            self._earlier += problems.values()
            if len(samples_ms) in judged:
                judged_rows += (self._judge(problems[slot], slot.output) for slot in finals.values())
            samples_ms.append(sample_ms)
        whole = all(rows == self._rows for rows in judged_rows)
        return TimedSamples(samples_ms, len(judged_rows), whole)

    def check_once(self) -> None:
        """Launch once on new inputs, and judge the product. Raises KernelError as `sample` does."""
        self.sample(1, 1, cold=True)

    def _slots(self, launches: int) -> list[Slot]:
        """Return the memory of each launch of a sample: windows in order, and outputs at random.

        Which launches write each output last is random, but for the last launch. These are judged.
        """
        windows, outputs = self._run.windows, min(self._run.most_outputs, launches)
        first = windows[int(self._random.integers(max(1, len(windows) - launches)))]
        others: Iterable[int] = (
            self._random.choice(launches - 1, outputs - 1, replace=False) if outputs > 1 else []
        )
        finals = [*sorted(map(int, others)), launches - 1]
        slots = []
        for launch in range(launches):
            still_used = [output for output, final in enumerate(finals) if final >= launch]
            output = finals.index(launch) if launch in finals else int(self._random.choice(still_used))
            slots.append(Slot(first + launch if len(windows) > 1 else first, output))
        return slots

    def _judge(self, problem: Problem, output: int) -> int:
        """Return how many rows of a timed launch's product were compared in full.

        Raises:
            KernelError: the product is wrong.
        """
        run = self._run
        try:
            run.check_timed_memory(problem, output)
        except DamagedMemoryError as error:
            raise self._wrong(f": a later launch {error}") from None
        judged = run.judge(problem, output, self._rows, self._columns)
        if judged is None:
            judged = Judged(bool(wrong_elements(self._product(output), problem).any()), self._rows)
        if judged.wrong:
            self.wrong_problem = problem
            raise self._why_wrong(self._product(output), problem)
        too_low = self._precision.why_too_low(run, problem, output)
        if too_low:
            raise self._wrong(f": a later launch {too_low}")
        self._right += 1
        return judged.rows

    def _product(self, output: int) -> Matrix:
        return self._run.timed_product(output)[: self._rows, : self._columns]

    def _wrong(self, what: str) -> KernelError:
        """Return the error of a launch whose predecessors were right."""
        right = "the first launch" if self._right == 0 else "early launches"
        return KernelError(f"right on {right} only{what}")

    def _why_wrong(self, product: Matrix, problem: Problem) -> KernelError:
        """Return what is wrong with the product of a later launch, which was right in the first launch."""
        wrong = wrong_elements(product, problem)
        if not self._run.plan.adds_to_zeros and problem.scale == UNSCALED:
            unwritten = is_filled_with(product, poison_of(product))
            if unwritten.any():
                return self._wrong(f": a later launch did not write C{where(unwritten)}")
        for earlier in (self._problem, *reversed(self._earlier)):
            if earlier != problem and self._is_product_of(product, earlier, wrong):
                part = where(wrong) if not wrong.all() else ""
                self.wrong_problem = None  # no further launch has to tell why
                return KernelError(f"the result is that of an earlier launch, which had other inputs{part}")
        described = describe_wrong(product, problem, self._variant, wrong)
        lower = (
            lower_precision_of(product, problem, self._variant.method) if problem.element.is_integer else ""
        )
        return self._wrong(f"; in a later one {'; '.join(filter(None, (lower, described)))}")

    @staticmethod
    def _is_product_of(product: Matrix, problem: Problem, wrong: Matrix) -> bool:
        """Return whether every wrong element of C, without its padding, is that of another problem."""
        row = int(np.argmax(wrong.any(axis=1)))  # one row shows most problems not to be it
        a, b = problem.inputs
        rows, columns = problem.error_factors
        n = product.shape[1]
        expected = problem.nearest(problem.scale.alpha * (a[row].astype(np.float64) @ b[:, :n]))
        error = np.abs(product[row] - expected)
        bound = 2 * rows[row] * columns[:n] + problem.rounding_of_sums.of(product[row].astype(np.float64))
        is_near = error <= bound + abs(problem.scale.beta)
        of_problem = is_near[wrong[row]].all() and not wrong_elements(product, problem)[wrong].any()
        problem.release()
        return bool(of_problem)


def _at_window(problem: Problem, window: int) -> Problem:
    """Return the problem of a window; the problem itself, whose inputs exist already, if that is its own."""
    return problem if window == problem.window else dataclasses.replace(problem, window=window)
