"""Judge the precision in which a run computed, by a random sample of its product."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection

import numpy as np

from cudamm.devices.device import Run
from cudamm.execution.case import Verdict
from cudamm.execution.precision import (
    RMS_OF_ROUNDING,
    SAMPLE_EDGE,
    SAMPLE_ELEMENTS,
    Precision,
    choose_sample,
    describe,
    yardstick_of,
    yardstick_with_error,
)
from cudamm.execution.usual_causes import LESS_THAN_TYPE
from cudamm.kernels.lower_precision import FORMAT_OF_TYPE, PRODUCT_BITS
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import UNSCALED, Matrix, Problem, Shape
from cudamm.kernels.reference_product import reference_product
from cudamm.kernels.sampled_product import SampledProduct, sampled_product
from cudamm.source.c_text import without_comments
from cudamm.source.sum_declaration import sum_declarations

FEWEST_BITS = 6.5
"""Fewest bits for which errors beyond the bound are taken for a precision; those of bfloat16 are 7.8."""

LEAST_OF_NARROW_SUMS = 1.1
"""Smallest error that is taken for one of sums in 16 bits, in roundings, if a product is beyond its bound."""

MOST_PER_ROOT_OF_TERMS = 3.0
"""Largest error that is taken for one of sums kept in 16 bits, in roundings and per root of the terms.

Such sums have 0.7 on inputs of both signs. Sums that lack one of K terms have 200 / K and more.
"""


class PrecisionJudge:
    """The judge of all products of one problem, also of those with other inputs."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._expected_errors: dict[int, float | None] = {}

    def judged(self, verdict: Verdict, run: Run, method: Method | None = None) -> Verdict:
        """Return the verdict on a product within its bound, with the precision of the last launch.

        Args:
            method: its source shows the line that keeps sums in less than the type; None: no line is named.
        """
        if not self.applies:
            return verdict
        rows, columns = _sample(self._problem.shape.m, self._problem.shape.n)
        sampled = run.sampled_product(self._problem, rows, columns)
        precision = self.precision_of(sampled, self._problem, rows, columns)
        if precision is None:
            return verdict
        verdict = dataclasses.replace(verdict, effective_bits=round(precision.effective_bits, 1))
        too_low = self._why_too_low(precision, method)
        return dataclasses.replace(verdict, correct=False).because_of(too_low) if too_low else verdict

    def why_too_low(self, run: Run, problem: Problem, output: int) -> str:
        """Return what is wrong with the precision of a timed launch; empty if nothing is.

        Args:
            problem: the launch's problem, with its draw and window.
            output: the output of its slot.
        """
        if not self.applies:
            return ""
        rows, columns = _sample(self._problem.shape.m, self._problem.shape.n)
        sampled = run.sampled_timed_product(problem, output, rows, columns)
        precision = self.precision_of(sampled, problem, rows, columns)
        return self._why_too_low(precision) if precision is not None else ""

    @property
    def applies(self) -> bool:
        """Return whether the products have a precision: whole numbers are exact."""
        problem = self._problem
        keeps_sums_narrow = problem.of_sums.rounds_sums  # the yardstick is for sums in float32
        # Sums that tensor cores add with few bits have errors like those of 16-bit sums.
        adds_few_bits = problem.element.keeps_sums and problem.partial_sum_error > 0
        has_none = problem.element.is_integer or keeps_sums_narrow or adds_few_bits
        return not has_none and problem.scale == UNSCALED

    def precision_of(
        self, sampled: SampledProduct, problem: Problem, rows: Matrix, columns: Matrix
    ) -> Precision | None:
        """Return the precision of sampled elements of a product; None if it is not known.

        Args:
            problem: the product's problem, which may have another draw and a padded shape.
            rows, columns: the numbers of the elements' rows and columns.
        """
        element, k = self._problem.element, problem.shape.k
        if sampled.elements.size < SAMPLE_ELEMENTS:
            # Without a copy, the launch's problem would keep its inputs in memory.
            a, b = (problem if problem.has_inputs else dataclasses.replace(problem)).inputs
            yardstick = yardstick_of(a[rows], b[:, columns], sampled.high, sampled.low, element.name)
            return yardstick.precision_of(sampled.elements) if yardstick is not None else None
        error = self._expected_error(k)
        yardstick = None if error is None else yardstick_with_error(error, sampled, element)
        precision = yardstick.precision_of(sampled.elements) if yardstick is not None else None
        if precision is not None and element.rounds_inputs:
            # Few inputs may all be rounded by much, by chance, however many elements they are factors of.
            inputs = min(len(rows), len(columns)) * k
            precision = dataclasses.replace(precision, elements=min(precision.elements, inputs))
        return precision

    def _expected_error(self, k: int) -> float | None:
        """Return the expected error of products of a K; None if no element has terms other than 0.

        The error takes long to compute. On as many elements as a sample has, it hardly depends on the inputs,
        so it is computed once, of inputs of the same kind.
        """
        if k not in self._expected_errors:
            shape = Shape(SAMPLE_EDGE, SAMPLE_EDGE, k)
            a, b = dataclasses.replace(self._problem, shape=shape, window=0, column_major=()).inputs
            element = self._problem.element
            yardstick = yardstick_of(a, b, *reference_product(a, b, element), element.name)
            self._expected_errors[k] = None if yardstick is None else yardstick.error
        return self._expected_errors[k]

    def _why_too_low(self, precision: Precision, method: Method | None = None) -> str:
        allowed = self._problem.allowed_precision
        if not precision.is_lower or (allowed and precision.is_allowed(PRODUCT_BITS[allowed])):
            return ""
        return _described(precision, self._problem, method)


def lower_precision_of(product: Matrix, problem: Problem, method: Method) -> str:
    """Return the lower precision in which a product beyond its bound was computed; empty if it was not.

    Args:
        product: C in the problem's shape.
        method: its source shows the line that keeps sums in less than the type.
    """
    if problem.element.is_integer:
        return _summed_in_float(product, problem, method)
    judge = PrecisionJudge(problem)
    if not judge.applies:
        return ""
    rows, columns = _sample(*product.shape)
    precision = judge.precision_of(sampled_product(problem, product, rows, columns), problem, rows, columns)
    if precision is None:
        return ""
    if problem.element.keeps_sums:
        of_narrow_sums = RMS_OF_ROUNDING * 2.0**-problem.element.significant_bits * math.sqrt(problem.shape.k)
        is_near = precision.rms_error <= MOST_PER_ROOT_OF_TERMS * of_narrow_sums
        is_known = precision.is_lower and is_near
    elif problem.element.rounds_sums:  # beyond its bound, a product needs no further evidence
        most = MOST_PER_ROOT_OF_TERMS * math.sqrt(problem.shape.k)
        is_known = LEAST_OF_NARROW_SUMS <= precision.ratio <= most
    else:
        is_known = precision.is_lower and precision.effective_bits >= FEWEST_BITS
    return _described(precision, problem, method) if is_known else ""


def _summed_in_float(product: Matrix, problem: Problem, method: Method) -> str:
    """Return that whole numbers were summed in float32; empty if the product does not show it.

    Each element is a float32 number, and its error is that of such sums.
    """
    if problem.scale != UNSCALED:
        return ""
    a, b = (matrix.astype(np.float64) for matrix in problem.inputs)
    m, n = product.shape
    largest_sums = np.outer(np.linalg.norm(a, axis=1)[:m], np.linalg.norm(b, axis=0)[:n])
    unit = 2.0 ** -ELEMENT_TYPES["float32"].significant_bits
    error = np.abs(product.astype(np.float64) - problem.reference[0][:m, :n])
    is_near = error <= MOST_PER_ROOT_OF_TERMS * math.sqrt(problem.shape.k) * unit * largest_sums
    if not (is_near.all() and (product == product.astype(np.float32).astype(np.float64)).all()):
        return ""
    return f"whole numbers are summed in float, which holds 24 bits of them{_place(method, ('float',))}"


def _place(method: Method, types: Collection[str]) -> str:
    """Return ` (line 12 of mm.cu has half)` if only that line declares such a sum; else nothing."""
    found = _sums(method, types)
    return "".join(f" (line {n} of {method.path.name} has {t})" for n, t in found) if len(found) == 1 else ""


def _sums(method: Method, types: Collection[str]) -> set[tuple[int, str]]:
    """Return the lines that declare sums in one of the types, each with the type."""
    return {(line, name) for line, name in sum_declarations(method.source) if name in types}


def _described(precision: Precision, problem: Problem, method: Method | None) -> str:
    name = f" {FORMAT_OF_TYPE[problem.element.of_results.name]}" if problem.element.rounds_sums else ""
    advice = (
        ""
        if problem.allowed_precision or problem.element.keeps_sums
        else f" (if that is meant, cudamm verify allows it with --allow-precision{name})"
    )
    narrow = (e for e in ELEMENT_TYPES.values() if e.is_narrow)
    types = {name for e in narrow for name in (e.c_name, *e.other_c_names)} - {"float"}
    sums = _sums(method, types) if method is not None else set()
    if method is not None and len(sums) == 1 and problem.element.rounds_sums:
        ((line, kept_in),) = sums
        factors = (
            "" if "mma" in method.source else "convert the factors to float before they are multiplied, "
        )
        return (
            f"the sum is kept in {kept_in} (line {line} of {method.path.name}), which rounds it after each "
            f"addition: keep it in float, {factors}and round it once, when C is stored{advice}; "
            f"{describe(precision)}"
        )
    is_of_halves = problem.element.rounds_sums or problem.element.keeps_sums
    products = _rounded_products(method) if method is not None and is_of_halves else []
    if method is not None and len(products) == 1 and not sums:
        ((line, what),) = products
        return (
            f"{what} rounds each product (line {line} of {method.path.name}): convert the factors to "
            f"float before they are multiplied{advice}; {describe(precision)}"
        )
    place = _place(method, types) if method is not None else ""
    if place:
        place += f": keep it in {problem.element.of_results.c_name}"
    return f"{LESS_THAN_TYPE}: {describe(precision)}{place}{advice}"


def _rounded_products(method: Method) -> list[tuple[int, str]]:
    """Return the lines that add a product of two halves, which is rounded, with what multiplies there."""
    plain = without_comments(method.source)
    compiled = without_comments(method.code)  # has no other kernel of the file
    by_function = r"(?:\+=|add2?(?:_rn)?\s*\()[^;{}]*?\b(__hmul2?(?:_rn)?)\s*\("
    by_operator = r"\b__half2float\s*\(\s*([\w.\[\]\s+]+\*[\w.\[\]\s+]+)\)"
    return [
        (plain.count("\n", 0, each.start(1)) + 1, what or f"{each[1]}()")
        for pattern, what in ((by_function, ""), (by_operator, "the operator * of two halves"))
        for each in re.finditer(pattern, plain)
        if each[0] in compiled
    ]


def _sample(m: int, n: int) -> tuple[Matrix, Matrix]:
    """Return the rows and the columns of a sample, which no kernel can know."""
    rows, columns = choose_sample(m, n, np.random.default_rng())
    return rows.astype(np.int32), columns.astype(np.int32)
