"""`cudamm tune`: which parameters of a method are fastest here, found and kept."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cudamm.cli.bench_command import DEFAULT_SIZE
from cudamm.cli.chosen_cases import able, all_hold, cases, kernels_of, restrictions_of
from cudamm.cli.options import (
    Selection,
    device_option,
    dtype_option,
    selection_options,
    sizes_option,
    timeout_option,
)
from cudamm.cli.output_options import Output, Outputs, output_options
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.benchmark.result import Cache
    from cudamm.devices.device import DeviceInfo
    from cudamm.execution.executor import Executor
    from cudamm.kernels.expression import Expression
    from cudamm.kernels.variant import Variant
    from cudamm.tuning.search import Outcome, Request, Task
    from cudamm.tuning.store import Entry, Store

_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


class Duration(click.ParamType[float]):
    """A time such as 60s, 2m or 90, in seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds. Fails with a usage error for anything else."""
        if isinstance(value, float):
            return value
        match = re.fullmatch(r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(s|m|min|h|)\s*", str(value))
        seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
        if seconds <= 0:
            self.fail(f"“{value}” is not a duration such as 60s or 2m", param, ctx)
        return seconds


@click.command(short_help="Find the fastest parameters of a method, and keep them.")
@selection_options
@sizes_option("1024 on a GPU, 256 on the CPU device")
@dtype_option("float32")
@click.option(
    "--where", "conditions", multiple=True, metavar="EXPR",
    help="Only variants for which this holds, such as BM*BN<=8192; repeatable.",
)  # fmt: skip
@click.option(
    "--budget", "budget_s", type=Duration(), default="60s", metavar="TIME",
    help="Of each method and size, compiling included: 90s, 2m; 60s by default.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0), default=0,
    help="Of the variants to begin with, and of the random inputs; 0 by default.",
)  # fmt: skip
@click.option(
    "--cold/--hot", default=True,
    help="Write over the GPU's L2 cache before each sample (it is), or time launches back to back.",
)  # fmt: skip
@click.option("--list", "listed", is_flag=True, help="Show what is stored for this device.")
@click.option("--forget", is_flag=True, help="Remove what is stored for this device, all or of -m.")
@timeout_option
@device_option
@output_options
def tune(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    conditions: tuple[str, ...],
    budget_s: float,
    seed: int,
    cold: bool,
    listed: bool,
    forget: bool,
    timeout_s: float,
    device_spec: str,
    outputs: Outputs,
) -> int:
    """Search a method's parameters for the fastest, confirm them, and keep them for this device.

    All variants are tried where they are few; else some at random, then the neighbours of the best. The
    fastest takes turns with the next best, and its parameters are stored. Only what was verified wins.

    \b
    cudamm tune -m tiled-coarse -n 4096                      what its header finds worth trying
    cudamm tune -m register-tile -n 1024 -n 4096 --budget 2m
    cudamm tune --kernel my.cu -D TX=1:8:*2 -D TY=1:8:*2 --where "TX*TY<=16"
    cudamm tune --list                                       what is stored for this device
    """
    if "best" in map(str.lower, _words(selection)):
        raise UsageError("best is chosen by what tune finds: name the methods to be tuned")
    if listed or forget:
        _check_alone(selection, sizes, dtypes, conditions, listed and forget)
        return _stored(selection, device_spec, outputs, forget)

    variants, restrictions = _variants(selection), restrictions_of(conditions)

    from cudamm.execution.worker import WorkerExecutor
    from cudamm.tuning.store import Store

    store = Store()
    expected = (sizes[0], dtypes[0] if dtypes else "float32", seed) if sizes else None
    with WorkerExecutor(device_spec, timeout_s, expected) as worker:
        from cudamm.tuning.search import Request, tasks_of

        sizes = sizes or (DEFAULT_SIZE[worker.target.info.kind],)
        chosen = _cases(variants, sizes, dtypes, seed, restrictions)
        chosen, left_out = able(chosen, selection.names, worker.target.lacks)
        tasks = tasks_of(worker, chosen)
        request = Request(budget_s, seed, "cold" if cold else "hot")
        spec = None if device_spec == "auto" else device_spec
        return _tune_and_show(worker, tasks, request, store, selection, outputs, spec, left_out)


def _variants(selection: Selection) -> list[Variant]:
    """Those to choose among, every value worth trying where none is named; none of the host's own methods."""
    variants = dataclasses.replace(selection, swept=None).variants()
    untuned = "have no launch to choose; cudamm sweep times their variants"
    return kernels_of(variants, selection.names, untuned, "tune")


def _cases(
    variants: Sequence[Variant],
    sizes: Sequence[str],
    dtypes: Sequence[str],
    seed: int,
    restrictions: Sequence[Expression],
) -> list[Any]:
    """The variants on each problem for which all restrictions hold. Raises UsageError where none is left."""
    asked = cases(variants, sizes, dtypes, seed)
    chosen = [(variant, problem) for variant, problem in asked if all_hold(restrictions, variant, problem)]
    wanted = dict.fromkeys((variant.method.name, problem.shape) for variant, problem in asked)
    left = {(variant.method.name, problem.shape) for variant, problem in chosen}
    for name, shape in wanted:
        if (name, shape) not in left:
            raise UsageError(f"--where leaves none of the variants of {name} at {shape}")
    return chosen


def _tune_and_show(
    worker: Executor,
    tasks: Sequence[Task],
    request: Request,
    store: Store,
    selection: Selection,
    outputs: Outputs,
    device_spec: str | None,
    left_out: Sequence[str],
) -> int:
    """Search, store as results come, print; the exit status."""
    from cudamm.cli.tune_session import TuneSession
    from cudamm.output import tune_table as tables
    from cudamm.tuning.search import SCHEMA, Tuner

    info = worker.target.info
    stored: list[Entry] = []
    remarks = list(left_out)
    unstored: list[UsageError] = []

    def keep(outcome: Outcome) -> None:
        entry = _entry(outcome, info, selection, request.cache)
        if entry is None:
            return
        stored.append(entry)
        try:
            stays = store.put(entry)
        except UsageError as error:  # a full disk must not cost the results
            unstored.append(error)
            return
        if stays is not entry:
            remarks.append(
                f"not stored, since what was found on {stays.date[:10]} is faster: {tables.command(stays)}"
            )

    tuner = Tuner(worker, tasks, request, keep)
    options = {"budget_s": request.budget_s, "seed": request.seed, "cache": request.cache}
    with TuneSession(SCHEMA, outputs, info, options, tuner) as session:
        session.collect(tuner.run)
        tuner.conclude()  # after Ctrl-C: the best so far
        worker.dismiss()
        session.show(lambda console, trials: tables.render(console, info, tuner.outcomes))
        # Stored is where the file lies; said is what was given.
        given = [dataclasses.replace(e, kernel=selection.kernel or "") if e.kernel else e for e in stored]
        commands = [tables.command(entry, device_spec) for entry in given]
        if commands:
            session.say(["again:", *(f"    {command}" for command in commands)])
        if stored and not unstored:
            remarks.append(f"stored in {store.path}")
        session.say([*remarks, *store.remarks])
        session.finish()
        if unstored:
            raise unstored[0]
        return session.status(all(outcome.winner is not None for outcome in tuner.outcomes))


def _entry(outcome: Outcome, info: DeviceInfo, selection: Selection, cache: Cache) -> Entry | None:
    """What is stored of an outcome; None where there is no winner."""
    from cudamm.tuning import store

    won, method, shape = outcome.winner, outcome.task.method, outcome.task.problem.shape
    if won is None or won.median_ms is None:
        return None
    return store.Entry(
        device=info.name,
        arch=store.arch_of(info),
        method=method.name,
        source=store.source_hash(method),
        dtype=won.dtype,
        m=shape.m,
        n=shape.n,
        k=shape.k,
        params=won.params,
        median_ms=won.median_ms,
        cache=cache,
        confirmed=outcome.is_confirmed or outcome.runner_up is None,
        complete=outcome.ended == "complete",
        tried=len(outcome.trials),
        possible=len(outcome.task.cases),
        date=store.today(),
        kernel="" if method.builtin else str(method.path.resolve()),
        kernel_fields={} if method.builtin else selection.kernel_fields,
    )


def _check_alone(
    selection: Selection,
    sizes: Sequence[str],
    dtypes: Sequence[str],
    conditions: Sequence[str],
    both: bool,
) -> None:
    """Raise UsageError where --list or --forget stands beside what they do not look at."""
    if both:
        raise UsageError("--list and --forget: give one of them")
    given = {
        "-n": sizes, "--dtype": dtypes, "--where": conditions, "--block": selection.block,
        "--tile": selection.tile, "-D": selection.defines, "--kernel": selection.kernel,
    } | {f"--{name}": text for name, text in selection.kernel_fields.items()}  # fmt: skip
    for option, value in given.items():
        if value:
            raise UsageError(f"--list and --forget are of this device, all or of -m: leave out {option}")


def _stored(selection: Selection, device_spec: str, outputs: Outputs, forget: bool) -> int:
    """Show or remove what is stored for a device."""
    from rich.markup import escape

    from cudamm.devices.find_device import find
    from cudamm.output import tune_table as tables
    from cudamm.output.console import messages
    from cudamm.output.document import document
    from cudamm.tuning.store import SCHEMA, Store, arch_of, state_of

    with find(device_spec) as device:
        info = device.info
    store = Store()

    def is_here(entry: Entry) -> bool:
        return (entry.device, entry.arch) == (info.name, arch_of(info))

    names = _names(selection, [entry.method for entry in store.entries() if is_here(entry)])

    def is_meant(entry: Entry) -> bool:
        return is_here(entry) and (names is None or entry.method in names)

    entries = store.forget(is_meant) if forget else [e for e in store.entries() if is_meant(e)]
    for remark in store.remarks:
        messages().print(f"cudamm: {escape(remark)}", soft_wrap=True)
    rows = [(entry, state_of(entry)) for entry in entries]
    count = f"{len(entries)} entr{'y' if len(entries) == 1 else 'ies'}"
    with Output(outputs) as output:
        output.present(
            lambda console: (
                console.print(f"{count} of {escape(info.name)} removed", soft_wrap=True)
                if forget
                else tables.render_stored(console, info, rows)
                if rows
                else console.print(f"Nothing is stored for {escape(info.name)} yet.", soft_wrap=True)
            ),
            document(SCHEMA, info),
            [tables.stored_record(entry, state) for entry, state in rows],
        )
    return 0


def _words(selection: Selection) -> list[str]:
    return [word.strip() for text in selection.methods for word in text.split(",")]


def _names(selection: Selection, stored: Sequence[str]) -> set[str] | None:
    """The methods meant by -m, a user's own among them; None for all. Raises UsageError for none there is."""
    from cudamm.kernels.ladder import find

    words = _words(selection)
    if not words or "all" in words:
        return None
    return {word if word in stored else find(word).name for word in words}
