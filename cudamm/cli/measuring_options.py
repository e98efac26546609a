"""What `bench` and `sweep` have in common: how to measure, and the way from cases to tables."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from cudamm.cli.fraction import FRACTION
from cudamm.cli.options import Command, device_option, seed_option, timeout_option
from cudamm.cli.output_options import OUTPUT_OPTIONS, Outputs, take_outputs
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from cudamm.benchmark.measure import Settings
    from cudamm.benchmark.result import Result
    from cudamm.devices.device import DeviceInfo
    from cudamm.execution.executor import Executor
    from cudamm.execution.worker import WorkerExecutor
    from cudamm.kernels.problem import Problem
    from cudamm.kernels.variant import Variant

Cases = list[tuple["Variant", "Problem"]]


@dataclass(frozen=True)
class Measuring:
    """What the options that say how to measure say, as given."""

    runs: int | None
    warmup: int | None
    cold: bool
    max_noise: float
    max_time_s: float
    timeout_s: float
    verify: bool
    seed: int
    device_spec: str
    outputs: Outputs
    resume: str | None
    plot: str | None = None

    def settings(self, fmad: bool, *, drop: bool = False, each_may_fail: bool = False) -> Settings:
        """The same for `measure`."""
        from cudamm.benchmark.measure import Settings

        return Settings(
            fmad=fmad,
            runs=self.runs,
            warmup=self.warmup,
            verify=self.verify,
            cache="cold" if self.cold else "hot",
            max_noise=self.max_noise,
            max_time_s=self.max_time_s,
            drop=drop,
            each_may_fail=each_may_fail,
        )


def measuring_options(command: Command) -> Command:
    """Add the options that say how to measure; the command receives them as `measuring`."""
    options = [
        click.option("--runs", type=click.IntRange(1, 100_000), help="Samples a variant, as many as this."),
        click.option(
            "--until-stable", is_flag=True, help="Sample until the median can be trusted (the default)."
        ),
        click.option(
            "--max-noise", type=FRACTION, default="0.5%", metavar="SHARE",
            help="Stable is what has less noise, or a median with a smaller standard error; 0.5% by default.",
        ),
        click.option(
            "--max-time", "max_time_s", type=click.FloatRange(0, 86_400), default=2.0, metavar="SECONDS",
            help="Of sampling a variant, after which it ends all the same; 2 by default.",
        ),
        click.option(
            "--cold/--hot", default=True,
            help="Write over the GPU's L2 cache before each sample (it is), or time launches back to back.",
        ),
        click.option(
            "--warmup", type=click.IntRange(0),
            help="Launches before the samples; by default until the device has been busy for 100 ms.",
        ),
        timeout_option,
        click.option(
            "--verify/--no-verify", default=True, help="Verify each variant before it is timed (it is)."
        ),
        seed_option,
        device_option,
        *OUTPUT_OPTIONS,
        click.option(
            "--resume", metavar="FILE",
            help="Go on where the run that wrote FILE stopped: what it holds is not measured again.",
        ),
        click.option(
            "--plot", metavar="FILE",
            help="Draw the results in a .png, .svg or .pdf file; - for the terminal.",
        ),
    ]  # fmt: skip

    @functools.wraps(command)
    def collect(**given: Any) -> Any:
        if given.pop("until_stable") and given["runs"] is not None:
            raise UsageError("--runs and --until-stable both say when to stop: give one of them")
        given["outputs"] = take_outputs(given)
        names = [field.name for field in dataclasses.fields(Measuring)]
        given["measuring"] = Measuring(**{name: given.pop(name) for name in names})
        return command(**given)

    wrapped: Any = collect
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]


def worker_for(sizes: Sequence[str], dtypes: Sequence[str], measuring: Measuring) -> WorkerExecutor:
    """A process that opens the device, and makes meanwhile what will be measured first, if that is known.

    To be called before what needs long imports: they are imported there at the same time.
    """
    from cudamm.execution.worker import WorkerExecutor

    expected = None
    if sizes and measuring.verify:
        expected = sizes[0], dtypes[0] if dtypes else "float32", measuring.seed
    return WorkerExecutor(measuring.device_spec, measuring.timeout_s, expected)


def measure_and_show(
    executor: Executor,
    cases: Cases,
    measuring: Measuring,
    settings: Settings,
    show: Callable[[Console, DeviceInfo, list[Result]], None],
    remarks: Sequence[str] = (),
) -> int:
    """Measure what no earlier run has, write results as they come, print tables; the exit status."""
    from cudamm.benchmark import measure
    from cudamm.benchmark.result import SCHEMA, bench_record_among
    from cudamm.cli.session import LiveSession
    from cudamm.output.plots.plot import Plot
    from cudamm.output.plots.result_charts import drawing_of

    info = executor.target.info
    options = _options(measuring, settings)
    kept, records = _resumed(measuring.resume, info, options, cases, settings)
    outputs = dataclasses.replace(
        measuring.outputs, json=measuring.outputs.json or measuring.resume
    ).checked()
    left = [position for position in range(len(cases)) if position not in kept]
    with contextlib.ExitStack() as closing:
        plot = None
        if measuring.plot is not None:
            others = {**measuring.outputs.named, "--resume": measuring.resume}
            plot = closing.enter_context(Plot(measuring.plot, others))

        def present(console: Console, results: list[Result]) -> None:
            show(console, info, results)
            if plot is not None:
                plot.show(console, drawing_of(info, results))

        session = closing.enter_context(LiveSession(SCHEMA, outputs, info, bench_record_among, options))
        session.restore(list(kept.values()), records)
        if left:
            chosen = [cases[position] for position in left]
            earlier = list(kept.values())
            session.collect(lambda tell: measure.bench(executor, chosen, settings, tell, left, earlier))
        executor.dismiss()
        session.show(present)
        if kept:
            session.say([f"{len(kept)} of {len(cases)} were in {measuring.resume} already"])
        session.say(remarks)
        session.finish()
        if plot is not None and session.results:
            plot.write(drawing_of(info, session.results))  # last: a full disk must not cost the results
        return session.status(all(result.status != "failed" for result in session.results))


def _options(measuring: Measuring, settings: Settings) -> dict[str, Any]:
    """What a file of results says of how they were measured."""
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
    path: str | None, info: DeviceInfo, options: dict[str, Any], cases: Cases, settings: Settings
) -> tuple[dict[int, Result], dict[int, dict[str, Any]]]:
    """Results of an earlier run by their position among the cases, and all its rows by their position.

    What failed there, or was measured of another source, is measured again, and stays in the file until then.
    Rows that are not among the cases come after them.

    Raises:
        UsageError: the file is none of ours, or of another device or other options.
    """
    from cudamm.benchmark.result_file import load_to_resume
    from cudamm.compile.program import program

    saved = None if path is None else load_to_resume(path)
    if saved is None:
        return {}, {}
    here = {"kind": info.kind, "name": info.name, "driver": info.properties.get("driver")}
    for what, then, now in (
        *((name, saved.document["device"].get(name), value) for name, value in here.items()),
        *((name, saved.document["options"].get(name), value) for name, value in options.items()),
    ):
        if then != now:
            raise UsageError(
                f"--resume {saved.path}: it was measured with {what} {then}, and this would be {now}"
            )
    rows = {_key(result): (result, row) for result, row in zip(saved.results, saved.rows, strict=True)}
    kept: dict[int, Result] = {}
    records: dict[int, dict[str, Any]] = {}
    for position, (variant, problem) in enumerate(cases):
        shape, dtype = str(problem.shape), problem.element.name
        wanted = variant.method.name, tuple(variant.params.items()), shape, dtype, variant.chosen_by
        if wanted not in rows:
            continue
        result, records[position] = rows.pop(wanted)
        if result.status not in (("ok", "dropped") if settings.drop else ("ok",)):
            continue
        if result.source == program(variant, problem.element, settings.fmad).hash:
            kept[position] = dataclasses.replace(result, position=position)
    others = (row for _, row in rows.values())
    return kept, records | dict(enumerate(others, len(cases)))


def _key(result: Result) -> tuple[Any, ...]:
    shape = f"{result.m}x{result.n}x{result.k}"
    return result.method, tuple(result.params.items()), shape, result.dtype, result.chosen_by
