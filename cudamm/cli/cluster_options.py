"""Options that name a cluster, and those that protect the connection to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloup import option_group
from cloup.constraints import AnySet

from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.option_rules import Command, Decorator, all_with, belongs_to
from cudamm.cli.shared_options import gathered

if TYPE_CHECKING:
    from cudamm.execution.scheduler_address import SchedulerAddress

LOCAL = "local"
"""Value of `--cluster` that means a scheduler and workers that cudamm starts on this machine."""

_SAFETY = ("tls_ca", "tls_cert", "tls_key", "insecure")

safety_options = (
    option(
        "--tls-ca", metavar="FILE", shell_complete=complete_files, show_default="as Dask is configured",
        help="Certificate of the authority that has signed the cluster's certificates (PEM).",
    ),
    option("--tls-cert", metavar="FILE", shell_complete=complete_files, help="Certificate of this process."),
    option("--tls-key", metavar="FILE", shell_complete=complete_files, help="Private key of this process."),
    option(
        "--insecure", is_flag=True,
        help="Connect to another machine without encryption. Whoever reaches the scheduler can run programs.",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class ClusterChoice:
    """The values of the options that name a cluster.

    Attributes:
        place: an address, the name of a scheduler's file, or `local`; empty if no cluster is named.
    """

    place: str
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False

    @property
    def is_local(self) -> bool:
        """Return whether cudamm starts the cluster on this machine."""
        return self.place == LOCAL

    def address(self) -> SchedulerAddress:
        """Return the address of the scheduler. Raises as `scheduler_address` does."""
        from cudamm.execution.scheduler_address import TlsFiles, scheduler_address

        tls = None
        if self.tls_ca and self.tls_cert and self.tls_key:
            tls = TlsFiles(self.tls_ca, self.tls_cert, self.tls_key)
        return scheduler_address(self.place, tls, is_insecure=self.insecure)


def _choice(cluster: str | None, **given: Any) -> ClusterChoice:
    return ClusterChoice(cluster or "", **given)


def tls_files_together() -> Decorator:
    """Return a rule that the three files of TLS are given together."""
    given = AnySet("tls_ca", "tls_cert", "tls_key")
    example = "--tls-ca ca.pem --tls-cert cert.pem --tls-key key.pem"
    return all_with(given, "tls_ca", "tls_cert", "tls_key", example=example)


def cluster_options(command: Command) -> Command:
    """Add the options that name a cluster; the command receives them as `cluster`."""
    options = option_group(
        "Cluster",
        option(
            "--cluster", metavar="ADDRESS", show_default="none",
            help="Use the devices of a cluster: the Dask scheduler tcp://HOST:PORT, the file that it has "
            "written, or local, which starts one for the GPUs of this machine, or for those of --device.",
        ),
        *safety_options,
    )  # fmt: skip
    rules = belongs_to("--cluster", *_SAFETY), tls_files_together()
    return gathered("cluster", _choice, ("cluster", *_SAFETY), options, *rules)(command)
