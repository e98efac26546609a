"""`cudamm health`: load every GPU, and name those that are slower than their like."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import cloup
from cloup import option_group

from cudamm.cli.chosen_devices import connection_to
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.completion_command import complete_words
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import DecimalNumber
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.devices.named_devices import ALL
from cudamm.errors import UsageError

if TYPE_CHECKING:
    from cudamm.execution.executor import Executor


@cloup.command()
@option_group(
    "Device",
    option(
        "--device", "device_spec", metavar="NAMES", show_default=ALL,
        shell_complete=complete_words(ALL, "gpu"),
        help="all GPUs, some as in gpu:0,2, or one as in gpu:1.",
    ),
    option(
        "--seconds", type=DecimalNumber(0, 3600, above=True), default=2.0, metavar="SECONDS",
        help="Duration of each load: three for each GPU alone, and three for all GPUs at once.",
    ),
)  # fmt: skip
@cluster_options
@output_options()
def health_command(
    device_spec: str | None, seconds: float, cluster: ClusterChoice, outputs: OutputOptions
) -> int:
    """\b
    cudamm health                                     every GPU of this machine
    cudamm health --seconds 30 --json -               longer loads, for a program
    cudamm health --cluster tcp://127.0.0.1:8786      the GPUs of a cluster

    Keep fused multiply-adds, tensor cores and memory of each GPU busy with known kernels, first of one GPU
    after the other, then of all at once.

    A GPU whose rate is more than 3% below the median of its kind is named, also among the hosts of a
    cluster. Exit status: 0 if all GPUs are well, 1 if one is an outlier or fails, 3 if there is no GPU.
    """
    from cudamm.benchmark.health import SCHEMA, measure_health
    from cudamm.cli.progress_bar import progress_bar
    from cudamm.errors import ALL_WELL, FAILED_RESULT, NoDeviceError
    from cudamm.output import health_table as tables
    from cudamm.output.document import environment

    with AllAtOnce(outputs) as output:
        chosen = _of_cluster(cluster, device_spec, outputs) if cluster.place else _of_machine(device_spec)
        with chosen as executors, progress_bar(outputs) as progress:
            gpus = measure_health(executors, seconds, progress)
        if not any(gpu.loads for gpu in gpus):
            raise NoDeviceError(f"no GPU can be loaded: {gpus[0].spec}: {gpus[0].failure}")
        output.present(
            lambda console: tables.render(console, gpus),
            {"schema": SCHEMA, "environment": environment(), "options": {"seconds": seconds}},
            [gpu.record() for gpu in gpus],
            [row for gpu in gpus for row in gpu.csv_rows()],
        )
    return ALL_WELL if all(gpu.is_well for gpu in gpus) else FAILED_RESULT


@contextlib.contextmanager
def _of_machine(device_spec: str | None) -> Iterator[list[Executor]]:
    """Yield an executor for each named GPU of this machine."""
    from cudamm.devices.named_devices import named_kinds
    from cudamm.execution.worker_executor import WorkerExecutor

    specs = [spec for kind in named_kinds(device_spec or ALL) for spec in kind.specs]
    with contextlib.ExitStack() as opened:
        yield [opened.enter_context(WorkerExecutor(spec, None)) for spec in specs]


@contextlib.contextmanager
def _of_cluster(
    cluster: ClusterChoice, device_spec: str | None, outputs: OutputOptions
) -> Iterator[list[Executor]]:
    """Yield an executor for each GPU of a cluster.

    Raises:
        UsageError: the cluster has devices, and none of them is a GPU.
    """
    from rich.markup import escape

    from cudamm.execution.cluster_executor import ClusterExecutor
    from cudamm.output.console import messages

    with connection_to(cluster, device_spec, outputs) as found, contextlib.ExitStack() as opened:
        devices = found.devices()
        others = ", ".join(device.name for device in devices if device.facts.kind != "gpu")
        gpus = [device for device in devices if device.facts.kind == "gpu"]
        if not gpus:
            raise UsageError(f"health measures GPUs, and the cluster has none: its devices are {others}")
        if others and not outputs.quiet:
            left_out = f"these devices are no GPUs, and are not measured: {escape(others)}"
            messages().print(f"cudamm: {left_out}", soft_wrap=True)
        yield [
            opened.enter_context(ClusterExecutor(found, device, None, runs_here=cluster.is_local))
            for device in gpus
        ]
