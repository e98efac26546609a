"""`cudamm health`: load every GPU, and name those that are slower than their like."""

from __future__ import annotations

import contextlib

import cloup
from cloup import option_group

from cudamm.cli.completion_command import complete_words
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import DecimalNumber
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.devices.named_devices import ALL


@cloup.command()
@option_group(
    "Device",
    option(
        "--device", "device_spec", default=ALL, metavar="NAMES", shell_complete=complete_words(ALL, "gpu"),
        help="all GPUs, some as in gpu:0,2, or one as in gpu:1.",
    ),
    option(
        "--seconds", type=DecimalNumber(0, 3600, above=True), default=2.0, metavar="SECONDS",
        help="Duration of each load: three for each GPU alone, and three for all GPUs at once.",
    ),
)  # fmt: skip
@output_options()
def health_command(device_spec: str, seconds: float, outputs: OutputOptions) -> int:
    """\b
    cudamm health                             every GPU of this machine
    cudamm health --device gpu:0,2            some of them
    cudamm health --seconds 30 --json -       longer loads, for a program

    Keep fused multiply-adds, tensor cores and memory of each GPU busy with known kernels, first of one GPU
    after the other, then of all at once.

    A GPU whose rate is more than 3% below the median of its kind is named. Exit status: 0 if all GPUs are
    well, 1 if one is an outlier or fails, 3 if there is no GPU.
    """
    from cudamm.benchmark.health import SCHEMA, measure_health
    from cudamm.cli.progress_bar import progress_bar
    from cudamm.devices.named_devices import named_kinds
    from cudamm.errors import ALL_WELL, FAILED_RESULT, NoDeviceError
    from cudamm.execution.worker_executor import WorkerExecutor
    from cudamm.output import health_table as tables
    from cudamm.output.document import environment

    specs = [spec for kind in named_kinds(device_spec) for spec in kind.specs]
    with contextlib.ExitStack() as opened, AllAtOnce(outputs) as output:
        executors = [opened.enter_context(WorkerExecutor(spec, None)) for spec in specs]
        with progress_bar(outputs) as progress:
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
