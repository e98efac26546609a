"""Conclusions that several course documents draw, compared with the outcomes of this run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cudamm.courses.course_records import Conclusion, CourseCase, Outcome, Row, Setting
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Value
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

EQUAL_WITHIN = 0.02
"""Relative difference below which two times count as equal."""

NEEDS_GPU = "only the times of a GPU can show it"


def case(
    label: str,
    method: str,
    shape: Shape,
    setting: Setting,
    dtype: str = "float32",
    params: Mapping[str, Value] | None = None,
) -> CourseCase:
    """Return a case with the given parameters; all others have their default values."""
    (variant,) = variants(find(method), {name: (value,) for name, value in (params or {}).items()})
    return CourseCase(label, variant, Problem(shape, ELEMENT_TYPES[dtype], setting.seed))


def square(n: int) -> Shape:
    """Return the shape of a product of square matrices."""
    return Shape(n, n, n)


def outcome_of(outcomes: Sequence[Outcome], label: str) -> Outcome | None:
    """Return the first outcome with a label; None if there is none yet."""
    return next((o for o in outcomes if o.case.label == label), None)


def times_ms(outcomes: Sequence[Outcome]) -> list[float]:
    """Return the medians of the outcomes that are right and were timed, in milliseconds."""
    return [o.result.median_ms for o in outcomes if is_timed(o) and o.result.median_ms is not None]


def is_timed(outcome: Outcome) -> bool:
    """Return whether an outcome is right and has a time."""
    return outcome.result.status == "ok" and outcome.result.median_ms is not None


def row_of(outcome: Outcome) -> Row:
    """Return the row of an outcome for which the source publishes no figure."""
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
    """Return why the times of these labels cannot be compared; empty if they can."""
    for label in labels:
        outcome = outcome_of(outcomes, label)
        if outcome is None:
            return f"{label} was not measured"
        if outcome.result.status != "ok":
            return f"{label} has no time: {outcome.result.reason or outcome.result.status}"
        if outcome.result.execution == "emulated":
            return NEEDS_GPU
        if not is_timed(outcome):
            method = outcome.case.variant.method.name
            return f"reproduce times nothing without a GPU, and cudamm bench -m {method} times {label}"
    return ""


def faster(
    name: str,
    outcomes: Sequence[Outcome],
    fast: str,
    slow: str,
    *,
    names: tuple[str, str] | None = None,
    prefix: str = "",
    published_factor: float | None = None,
    explanation: str = "",
) -> Conclusion:
    """Conclude whether one label is faster than another, by more than `EQUAL_WITHIN`.

    Args:
        name: name of the conclusion.
        names: names of the two in the sentence; None: their labels.
        prefix: beginning of the sentence.
        published_factor: how many times as fast it was in the source.
        explanation: end of the sentence if it is not faster here.
    """
    fast_name, slow_name = names or (fast, slow)
    reason = missing(outcomes, fast, slow)
    published = f" (theirs: {published_factor:.1f} times)" if published_factor is not None else ""
    if reason:
        return Conclusion(
            name, None, f"{prefix}whether {fast_name} is faster than {slow_name}{published}: {reason}"
        )
    fast_ms, slow_ms = (
        times_ms([outcome])[0] for label in (fast, slow) if (outcome := outcome_of(outcomes, label))
    )
    times = f"{milliseconds(fast_ms)} ms against {milliseconds(slow_ms)} ms"
    suffix = f"; {explanation}" if explanation else ""
    factor = slow_ms / fast_ms
    if abs(factor - 1) < EQUAL_WITHIN:
        return Conclusion(
            name,
            False,
            f"{prefix}{fast_name} is as fast as {slow_name}, within 2%: {times}{published}{suffix}",
        )
    if factor > 1:
        return Conclusion(
            name,
            True,
            f"{prefix}{fast_name} is {factor_text(factor)} times as fast as {slow_name}: {times}{published}",
        )
    sentence = (
        f"{prefix}{fast_name} takes {factor_text(1 / factor)} times as long as {slow_name}: {times}"
        f"{published}{suffix}"
    )
    return Conclusion(name, False, sentence)


def right(outcomes: Sequence[Outcome]) -> Conclusion:
    """Conclude whether every product is right; `holds` is None if no case was run."""
    run = [o for o in outcomes if o.result.status != "skipped"]
    wrong = [o for o in run if o.result.status == "failed"]
    if not run:
        return Conclusion("products-right", None, "no kernel was run")
    if wrong:
        first = wrong[0]
        return Conclusion(
            "products-right",
            False,
            f"{len(wrong)} of {len(run)} products failed; the first is {first.case.label} "
            f"({first.case.variant} at {first.case.problem.shape}): {first.result.reason}",
        )
    verified = sum(o.result.verdict.correct is True for o in run)
    agreement = (
        "equal the exact integers"
        if all(o.result.dtype == "int32" for o in run)
        else "agree with the host's reference, every element within its error bound"
    )
    sentence = f"{verified} of {len(run)} products {agreement}"
    return Conclusion("products-right", verified == len(run), sentence)


def milliseconds(value_ms: float) -> str:
    """Return a time with four significant digits; all digits before the decimal point are kept."""
    return f"{value_ms:.4g}" if value_ms < 9999.5 else f"{value_ms:,.0f}"


def factor_text(value: float) -> str:
    """Return a factor as text, such as 1.37, 12.7 or 1,234."""
    return f"{value:.2f}" if value < 2 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def listed(texts: Sequence[str]) -> str:
    """Return the texts as `a, b and c`."""
    return " and ".join(texts) if len(texts) < 3 else ", ".join(texts[:-1]) + " and " + texts[-1]
