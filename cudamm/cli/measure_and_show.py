"""The common part of `bench` and `sweep`: resume, measure, print, draw and write."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from cudamm.cli.measuring_options import Measuring
from cudamm.cli.output_options import OutputOptions
from cudamm.errors import UsageError
from cudamm.kernels.input_kinds import NOT_VERIFIED

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.benchmark.result import Result
    from cudamm.benchmark.sampling_policy import Settings
    from cudamm.devices.device import Target
    from cudamm.execution.executor import Executors
    from cudamm.execution.worker_executor import ExpectedProblem
    from cudamm.kernels.chosen_cases import Cases
    from cudamm.output.results_view import ResultsView

MEASURING_SHARE = 0.5
"""Share of the progress bar that measuring fills, if exact figures are computed after it."""


def expected_problem(
    sizes: Sequence[str], dtypes: Sequence[str], measuring: Measuring
) -> ExpectedProblem | None:
    """Return the problem that a worker process prepares while it opens the device; None if unknown."""
    if not sizes or not measuring.verifies:
        return None
    return sizes[0], dtypes[0] if dtypes else "float32", measuring.seed, measuring.inputs


def measure_and_show(
    executors: Executors,
    cases: Cases,
    measuring: Measuring,
    outputs: OutputOptions,
    settings: Settings,
    show: Callable[[Console, ResultsView], None],
    remarks: Sequence[str] = (),
    baseline: str | None = None,
) -> int:
    """Measure the cases that no earlier run has measured, and show all results; return the exit status.

    Args:
        show: prints the tables.
        remarks: lines to print below the tables.
        baseline: method that speed-ups are relative to; None: the default of `results_view`.
    """
    from cudamm.analysis.exact_figures import lacks_figures, with_exact_figures
    from cudamm.benchmark import measure
    from cudamm.benchmark.finalists import key_of, to_measure_again
    from cudamm.benchmark.result import SCHEMA, bench_record_among
    from cudamm.cli.session import LiveSession
    from cudamm.devices.observe import TIMEOUT_S
    from cudamm.kernels.architecture import find_architecture
    from cudamm.output.plots.result_charts import drawing_of
    from cudamm.output.results_view import BASELINE, results_view

    architecture = find_architecture(measuring.arch)
    info = executors.target.info
    if outputs.plot is not None and _are_untimed(info.kind, cases, settings):
        raise UsageError(
            f"--plot {outputs.plot} draws times, and kernels have times on a GPU only: run this command on a "
            "machine with a GPU; --times adds those of the CPU device, which say nothing about a GPU"
        )
    options = _options(measuring, settings) | {"times": settings.times or info.kind == "gpu"}
    kept, records = _resumed(outputs.resume, executors.target, options, cases, settings)
    unmeasured = {key_of(problem) for position, (_, problem) in enumerate(cases) if position not in kept}
    devices = [member.spec for member in executors.members]
    for position in to_measure_again([*kept.values()], unmeasured, devices, settings.finalists):
        del kept[position]
    remaining = [position for position in range(len(cases)) if position not in kept]
    with LiveSession(SCHEMA, outputs, info, bench_record_among, options) as session:
        session.restore(list(kept.values()), records)
        if remaining:
            chosen = [cases[position] for position in remaining]
            earlier = list(kept.values())
            session.collect(
                lambda report_progress: measure.bench(
                    executors, chosen, settings, report_progress, remaining, earlier
                ),
                part=(0.0, MEASURING_SHARE if info.kind == "cpu" else 1.0),
            )
        executors.dismiss()
        if any(lacks_figures(result, architecture) for result in session.results):
            results = list(session.results)
            # A few blocks are traced, also of a size that `--timeout` does not allow to verify.
            block_timeout_s = max(measuring.timeout_s, TIMEOUT_S)
            session.collect(
                lambda report_progress: with_exact_figures(
                    results, cases, architecture, settings.fmad, report_progress, block_timeout_s
                ),
                part=(MEASURING_SHARE, 1.0),
            )
        view = results_view(info.name, session.results, baseline or BASELINE)
        session.add_tables(lambda console, _: show(console, view), lambda _: drawing_of(view))
        if kept:
            session.add_remarks([f"{len(kept)} of {len(cases)} results were in {outputs.resume} already"])
        session.add_remarks([*remarks, *executors.losses])
        if measuring.inputs == "zeros":
            session.add_remarks([NOT_VERIFIED])
        session.finish()
        return session.exit_status(all(result.status != "failed" for result in session.results))


def _are_untimed(device_kind: str, cases: Cases, settings: Settings) -> bool:
    """Return whether no case is timed, because the CPU device executes all of them."""
    return (
        device_kind == "cpu"
        and not settings.times
        and not any(variant.method.runs_on_host for variant, _ in cases)
    )


def _options(measuring: Measuring, settings: Settings) -> dict[str, Any]:
    """Return the options of a file of results."""
    return {
        "fmad": settings.fmad,
        "cache": settings.cache,
        "runs": settings.runs,
        "max_noise": settings.max_noise,
        "max_time_s": settings.max_time_s,
        "warmup": settings.warmup,
        "verify": settings.verify,
        "seed": measuring.seed,
    }


def _resumed(
    path: str | None, target: Target[Any], options: dict[str, Any], cases: Cases, settings: Settings
) -> tuple[dict[int, Result], dict[int, dict[str, Any]]]:
    """Return the results to keep from an earlier run, and all rows of its file, both by position of the case.

    Failed results, and results whose kernel, included files, launch or compiler has changed, are measured
    again. Their rows stay in the file until then. Rows of cases that this run does not have come last.

    Raises:
        UsageError: cudamm did not write the file, or it was measured on another device or with other options.
    """
    from cudamm.benchmark.result_file import load_to_resume
    from cudamm.execution.prepare import identities

    saved = None if path is None else load_to_resume(path)
    if saved is None:
        return {}, {}
    options_then = {"times": True} | saved.document["options"]  # 0.1.0 always timed
    info = target.info
    here = {"kind": info.kind, "name": info.name, "driver": info.properties.get("driver")}
    for option, then, now in (
        *((name, saved.document["device"].get(name), value) for name, value in here.items()),
        *((name, options_then.get(name), value) for name, value in options.items()),
    ):
        if then != now:
            raise UsageError(
                f"--resume {saved.path}: the file has {option} {then}, and this run has {option} {now}: "
                "name another file, or use the same device and options"
            )
    rows = {_key(result): (result, row) for result, row in zip(saved.results, saved.rows, strict=True)}
    found: dict[int, Result] = {}
    records: dict[int, dict[str, Any]] = {}
    for position, (variant, problem) in enumerate(cases):
        shape, dtype = str(problem.shape), problem.element.name
        name, params = variant.method.name, tuple(variant.params.items())
        key = name, params, shape, dtype, problem.input_kind, variant.chosen_by
        if key not in rows:
            continue
        result, records[position] = rows.pop(key)
        if result.status in (("ok", "dropped") if settings.drop else ("ok",)):
            found[position] = dataclasses.replace(result, position=position)
    others = [row for _, row in rows.values()]
    today = identities(target, [cases[position] for position in found], settings.fmad)
    kept = {
        position: result
        for (position, result), identity in zip(found.items(), today, strict=True)
        if identity and result.identity == identity
    }
    return kept, records | dict(enumerate(others, len(cases)))


def _key(result: Result) -> tuple[Any, ...]:
    shape = f"{result.m}x{result.n}x{result.k}"
    params = tuple(result.params.items())
    return result.method, params, shape, result.dtype, result.inputs, result.chosen_by
