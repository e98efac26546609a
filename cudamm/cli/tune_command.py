"""`cudamm tune`: search for a method's fastest parameters on a GPU, and store them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.api.defaults import LARGEST_SEED, TIMED_SIZES
from cudamm.cli.chosen_devices import opened, run_on_devices, useful_devices
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import Duration, WholeNumber
from cudamm.cli.option_rules import contradict, excludes
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.cli.shared_options import (
    EVERY_VALUE,
    HEADER_FIELDS,
    SIZES_BY_DEVICE,
    cold_option,
    inputs_option,
    problem_options,
    selection_options,
    several_devices_options,
    where_option,
)
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executors
    from cudamm.kernels.chosen_cases import Cases
    from cudamm.kernels.input_kinds import AnyKind
    from cudamm.kernels.selection import Selection
    from cudamm.tuning.search import Request
    from cudamm.tuning.tuned_store import Entry, Store

_NEEDS_GPU = (
    "tune times variants on a GPU: run this command on a machine with one. Without a GPU, cudamm trace and "
    "cudamm occupancy compare variants, and tune --device cpu verifies them"
)

_NOT_STORED = "no parameters are stored: the variants are verified, and not timed"


@cloup.command()
@selection_options(where_option, block=EVERY_VALUE, values=EVERY_VALUE)
@problem_options(
    SIZES_BY_DEVICE, "float32",
    option(
        "--seed", type=WholeNumber(0, LARGEST_SEED), default=0, metavar="N",
        help="Seed of the random matrices, and of the variants with which the search starts.",
    ),
    inputs_option,
)  # fmt: skip
@option_group(
    "Search",
    option(
        "--budget", "budget_s", type=Duration(), default="60s", metavar="TIME",
        help="Time for each method, size and type, including compilation, such as 90s or 2m.",
    ),
    cold_option,
)  # fmt: skip
@option_group(
    "Store",
    option("--list", "listed", is_flag=True, help="List what is stored for this device."),
    option("--forget", is_flag=True, help="Remove what is stored for this device, or for -m on it."),
    contradict("listed", "forget"),
    excludes(
        ["listed", "forget"], "sizes", "dtypes", "conditions", "block", "tile", "defines", "kernels",
        "cluster", *HEADER_FIELDS, reason="--list and --forget take no option but -m and --device",
    ),
)  # fmt: skip
@several_devices_options
@cluster_options
@output_options()
def tune_command(
    selection: Selection,
    sizes: tuple[str, ...],
    dtypes: tuple[str, ...],
    conditions: tuple[str, ...],
    budget_s: float,
    seed: int,
    inputs: AnyKind,
    cold: bool,
    listed: bool,
    forget: bool,
    timeout_s: float,
    device_spec: str,
    cluster: ClusterChoice,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm tune -m tiled-coarse -n 4096               one method, at one size
    cudamm tune -m tiled-coarse -n 4096 --budget 10m  with more time
    cudamm tune --list                                list what is stored

    Search for the parameters with which a method is fastest on this GPU, and store them for -m best.

    If a method has few variants, all are tried. Otherwise some are drawn at random, and the neighbours of the
    best follow. At the end the two fastest are timed in turn. Only a verified variant can win.

    This needs a GPU. With --device cpu, the variants are verified, and none wins: times on the CPU device are
    not those of a GPU.

    \b
    cudamm tune --kernel my.cu -D TX=1:8:*2 -D TY=1:8:*2 --where 'TX*TY<=16'
    """
    if "best" in map(str.lower, selection.words):
        raise UsageError("best stands for what tune finds: name the methods to tune")
    if listed or forget:
        return _show_stored(selection, device_spec, outputs, forget)

    from cudamm.cli.asked_cases import asked_cases
    from cudamm.kernels.chosen_cases import kernels_of, restricted, restrictions_of, supported_cases
    from cudamm.tuning.tuned_store import Store

    why_refused = "have no launch to tune; cudamm sweep times their variants"
    every_value = dataclasses.replace(selection, swept=None).variants()
    variants = kernels_of(every_value, selection.is_named, why_refused, "tune")
    restrictions = restrictions_of(conditions)
    expected = (sizes[0], dtypes[0] if dtypes else "float32", seed, inputs) if sizes else None

    def tune(executors: Executors) -> int:
        from cudamm.tuning.search import Request

        info = opened(executors, outputs).info
        if info.kind != "gpu" and device_spec == "auto":
            raise NoDeviceError("; ".join(filter(None, (_NEEDS_GPU, info.note))))
        shapes = sizes or (TIMED_SIZES[info.kind],)
        asked = asked_cases(
            variants, selection.is_named, shapes, dtypes, seed, quiet=outputs.quiet, inputs=inputs
        )
        chosen, remarks = supported_cases(
            restricted(asked, restrictions), selection.is_named, executors.target.lacks
        )
        remarks += [_NOT_STORED] if info.kind != "gpu" else []
        request = Request(budget_s, seed, "cold" if cold else "hot")
        spec = None if device_spec == "auto" else device_spec
        store = Store() if info.kind == "gpu" else None
        return _tune_and_show(executors, chosen, request, store, selection, outputs, spec, remarks)

    return run_on_devices(
        device_spec, cluster, timeout_s, expected, useful_devices(len(variants)), outputs, tune
    )


def _tune_and_show(
    executors: Executors,
    cases: Cases,
    request: Request,
    store: Store | None,
    selection: Selection,
    outputs: OutputOptions,
    device_spec: str | None,
    remarks: Sequence[str],
) -> int:
    """Search, store each winner when it is found, and print; return the exit status.

    Args:
        store: None if nothing can be stored, as on the CPU device.
    """
    from cudamm.cli.session import Session
    from cudamm.output import tune_table as tables
    from cudamm.tuning.search import SCHEMA, Trial, Tuner, tasks_of
    from cudamm.tuning.stored_outcomes import StoredOutcomes

    info = executors.target.info
    stored = StoredOutcomes(store, info, request.cache, selection.kernel_fields)
    tuner = Tuner(executors, tasks_of(executors, cases), request, stored.put)
    with Session[Trial](SCHEMA, outputs, info) as session:
        session.collect(tuner.run)
        if session.failure is not None and not any(outcome.right for outcome in tuner.outcomes):
            raise session.failure  # a kernel that does not compile has no trials to show
        tuner.conclude()  # after Ctrl-C: the best so far
        executors.dismiss()
        session.results = [trial for outcome in tuner.outcomes for trial in outcome.trials]
        session.add_tables(lambda console, trials: tables.render(console, info, tuner.outcomes))
        # An entry contains the whole path of a kernel file; the command contains the path that was given.
        given_paths = {str(Path(path).resolve()): str(path) for path in selection.kernels}
        as_given = [
            dataclasses.replace(entry, kernel=given_paths[entry.kernel]) if entry.kernel else entry
            for entry in stored.found
        ]
        if as_given:
            session.add_remarks(
                ["again:", *(f"    {tables.command(entry, device_spec)}" for entry in as_given)]
            )
        session.add_remarks([*remarks, *executors.losses])
        session.add_remarks(
            [
                f"not stored, because a faster one was found on {entry.date[:10]}: {tables.command(entry)}"
                for entry in stored.faster
            ]
        )
        if store is not None:
            if stored.found and stored.error is None:
                session.add_remarks([f"stored in {store.path}"])
            session.add_remarks(store.remarks)
        winners = [outcome.winner.position for outcome in tuner.outcomes if outcome.winner]
        session.write(
            [trial.record(winners) for trial in session.results],
            options={"budget_s": request.budget_s, "seed": request.seed, "cache": request.cache},
            outcomes=[outcome.record() for outcome in tuner.outcomes],
        )
        if stored.error is not None:
            raise stored.error
        return session.exit_status(all(outcome.right for outcome in tuner.outcomes))


def _show_stored(selection: Selection, device_spec: str, outputs: OutputOptions, forget: bool) -> int:
    """Show or remove what is stored for a device."""
    from rich.markup import escape

    from cudamm.devices.find_device import find
    from cudamm.output import tune_table as tables
    from cudamm.output.console import messages
    from cudamm.output.document import document
    from cudamm.tuning.tuned_store import SCHEMA, Store, arch_of, state_of

    with find(device_spec) as device:
        info = device.info
    store = Store()

    def is_here(entry: Entry) -> bool:
        return (entry.device, entry.arch) == (info.name, arch_of(info))

    names = _method_names(selection, [entry.method for entry in store.entries() if is_here(entry)])

    def is_chosen(entry: Entry) -> bool:
        return is_here(entry) and (names is None or entry.method in names)

    hint = "" if info.kind == "gpu" else " tune stores what is fastest on a GPU, and this is none."
    with AllAtOnce(outputs) as output:  # opened before anything is removed
        entries = store.forget(is_chosen) if forget else [e for e in store.entries() if is_chosen(e)]
        for remark in store.remarks:
            messages().print(f"cudamm: {escape(remark)}", soft_wrap=True)
        rows = [(entry, state_of(entry)) for entry in entries]
        count = f"{len(entries)} entr{'y' if len(entries) == 1 else 'ies'}"
        output.present(
            lambda console: (
                console.print(f"{count} of {escape(info.name)} removed", soft_wrap=True)
                if forget
                else tables.render_stored(console, info, rows)
                if rows
                else console.print(f"No parameters are stored for {escape(info.name)}.{hint}", soft_wrap=True)
            ),
            document(SCHEMA, info),
            [tables.stored_record(entry, state) for entry, state in rows],
        )
    return 0


def _method_names(selection: Selection, stored: Sequence[str]) -> set[str] | None:
    """Return the names of the methods of `-m`, which can be a user's own kernels; None for all.

    Raises:
        UsageError: there is no such method.
    """
    from cudamm.kernels.ladder import find

    if not selection.words or "all" in selection.words:
        return None
    return {word if word in stored else find(word).name for word in selection.words}
