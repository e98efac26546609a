"""Conclusions that several sources draw, held against outcomes; and how outcomes are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cudamm.courses.course_records import Conclusion, CourseCase, Outcome, Row, Setting
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Value
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

EQUAL_WITHIN = 0.02
"""Two times that differ by less count as equal: so little is no conclusion of a course's."""

EMULATED = "emulated times are no GPU's"


def case(
    label: str,
    method: str,
    shape: Shape,
    setting: Setting,
    dtype: str = "float32",
    params: Mapping[str, Value] | None = None,
) -> CourseCase:
    """A method with the parameters given, others at their default, on a problem."""
    (variant,) = variants(find(method), {name: (value,) for name, value in (params or {}).items()})
    return CourseCase(label, variant, Problem(shape, ELEMENT_TYPES[dtype], setting.seed))


def square(n: int) -> Shape:
    """A product of square matrices."""
    return Shape(n, n, n)


def outcome_of(outcomes: Sequence[Outcome], label: str) -> Outcome | None:
    """The first outcome of a label; None where there is none yet."""
    return next((o for o in outcomes if o.case.label == label), None)


def times_ms(outcomes: Sequence[Outcome]) -> list[float]:
    """The medians of those that are right and were timed."""
    return [o.result.median_ms for o in outcomes if is_timed(o) and o.result.median_ms is not None]


def is_timed(outcome: Outcome) -> bool:
    """Whether it was right and has a time."""
    return outcome.result.status == "ok" and outcome.result.median_ms is not None


def row_of(outcome: Outcome) -> Row:
    """What was found, of a source that publishes no figure of it."""
    return Row(
        label=outcome.case.label,
        quantity="median" if is_timed(outcome) else "verified",
        unit="ms",
        published=None,
        measured=outcome.result.median_ms,
        params=outcome.result.params,
        size=str(outcome.case.problem.shape),
        status=outcome.result.status,
    )


def missing(outcomes: Sequence[Outcome], *labels: str) -> str:
    """Why the times of these labels cannot be compared; empty where they can."""
    for label in labels:
        found = outcome_of(outcomes, label)
        if found is None:
            return f"{label} was not measured"
        if not is_timed(found):
            return f"{label} has no time: {found.result.reason or found.result.status}"
        if found.result.execution == "emulated":
            return EMULATED
    return ""


def faster(
    name: str,
    outcomes: Sequence[Outcome],
    fast: str,
    slow: str,
    *,
    called: tuple[str, str] | None = None,
    where: str = "",
    theirs: float | None = None,
    else_why: str = "",
) -> Conclusion:
    """Whether one label is faster than another, by more than the noise between runs.

    Args:
        called: the two in the sentence, where that is not their labels.
        where: what the sentence begins with.
        theirs: how many times as fast it was for the source.
        else_why: what explains it where it is not faster.
    """
    fast_name, slow_name = called or (fast, slow)
    why_not = missing(outcomes, fast, slow)
    published = f" (theirs: {theirs:.1f} times)" if theirs is not None else ""
    if why_not:
        return Conclusion(
            name, None, f"{where}whether {fast_name} is faster than {slow_name}{published}: {why_not}"
        )
    fast_ms, slow_ms = (
        times_ms([found])[0] for label in (fast, slow) if (found := outcome_of(outcomes, label))
    )
    times = f"{milliseconds(fast_ms)} ms against {milliseconds(slow_ms)} ms"
    why = f"; {else_why}" if else_why else ""
    factor = slow_ms / fast_ms
    if abs(factor - 1) < EQUAL_WITHIN:
        return Conclusion(
            name,
            False,
            f"{where}{fast_name} is as fast as {slow_name}, within 2%: {times}{published}{why}",
        )
    if factor > 1:
        return Conclusion(
            name,
            True,
            f"{where}{fast_name} is {factor_text(factor)} times as fast as {slow_name}: {times}{published}",
        )
    sentence = (
        f"{where}{fast_name} takes {factor_text(1 / factor)} times as long as {slow_name}: {times}{published}"
        f"{why}"
    )
    return Conclusion(name, False, sentence)


def right(outcomes: Sequence[Outcome]) -> Conclusion:
    """Whether every product is right; None where none was looked at."""
    judged = [o for o in outcomes if o.result.status != "skipped"]
    wrong = [o for o in judged if o.result.status == "failed"]
    if not judged:
        return Conclusion("products-right", None, "nothing was run")
    if wrong:
        first = wrong[0]
        return Conclusion(
            "products-right",
            False,
            f"{len(wrong)} of {len(judged)} products failed, first {first.case.label} "
            f"({first.case.variant} at {first.case.problem.shape}): {first.result.reason}",
        )
    verified = sum(o.result.verdict.correct is True for o in judged)
    how = (
        "equal the exact integers"
        if all(o.result.dtype == "int32" for o in judged)
        else "agree with the host's reference, every element within its rounding error"
    )
    sentence = f"{verified} of {len(judged)} products {how}"
    return Conclusion("products-right", verified == len(judged), sentence)


def milliseconds(value_ms: float) -> str:
    """Four significant digits, no digit before the point dropped."""
    return f"{value_ms:.4g}" if value_ms < 9999.5 else f"{value_ms:,.0f}"


def factor_text(value: float) -> str:
    """How many times as much: 1.37, 12.7, 1,234."""
    return f"{value:.2f}" if value < 2 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(names) if len(names) < 3 else ", ".join(names[:-1]) + " and " + names[-1]
