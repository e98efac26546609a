"""`cudamm devices`: the devices of this machine, or those of a cluster."""

from __future__ import annotations

import dataclasses

import cloup
from cloup import option_group

from cudamm.cli.chosen_devices import connection_to
from cudamm.cli.cluster_options import ClusterChoice, cluster_options
from cudamm.cli.completion_command import complete_words
from cudamm.cli.documented_option import option
from cudamm.cli.number_types import WholeNumber
from cudamm.cli.option_rules import belongs_to
from cudamm.cli.output_options import AllAtOnce, OutputOptions, output_options
from cudamm.devices.named_devices import ALL
from cudamm.errors import UsageError


@cloup.command()
@option_group(
    "Device",
    option(
        "--device", "device_spec", metavar="NAMES", shell_complete=complete_words(ALL, "gpu", "cpu"),
        show_default=ALL,
        help="Devices that join --cluster local: all GPUs, some as in gpu:0,2, or cpu,cpu.",
    ),
    option(
        "--wait-for", metavar="N", type=WholeNumber(1, 1_000_000),
        help="With --cluster: wait until N devices have joined, at most two minutes.",
    ),
)  # fmt: skip
@cluster_options
@belongs_to("--cluster", "device_spec", "wait_for")
@output_options()
def devices_command(
    device_spec: str | None, wait_for: int | None, cluster: ClusterChoice, outputs: OutputOptions
) -> None:
    """\b
    cudamm devices                                    every device of this machine
    cudamm devices --json -                           for a program
    cudamm devices --cluster tcp://127.0.0.1:8786     those of a cluster

    List every GPU and the CPU device, with the properties that matter for matrix multiplication.

    With --cluster, each device of the cluster is a row, with its host, its driver, the CUDA version of the
    driver, and the compiler that cudamm finds on the host. A line below names the Dask workers that compile
    for this machine. The devices are not used, so the command answers also while they run kernels.
    """
    from cudamm.devices.device import SCHEMA
    from cudamm.devices.find_device import every
    from cudamm.output import devices_table as tables
    from cudamm.output.document import environment

    if wait_for is not None and cluster.is_local:
        raise UsageError("--wait-for is for a cluster that others start: leave it out with --cluster local")
    with AllAtOnce(outputs) as output:
        head = {"schema": SCHEMA, "environment": environment()}
        if cluster.place:
            with connection_to(cluster, device_spec, outputs) as found:
                if wait_for is not None:
                    found.wait_for(wait_for)
                rows = [tables.ClusterRow(d.info, d.facts.host, d.facts.compiler) for d in found.devices()]
                compilers = {compiler.name: compiler.cores for compiler in found.compilers()}
            output.present(
                lambda console: tables.render_cluster(console, rows, compilers),
                head,
                [row.record() for row in rows],
            )
            return
        infos, missing = every()
        output.present(
            lambda console: tables.render(console, infos, missing), head, map(dataclasses.asdict, infos)
        )
