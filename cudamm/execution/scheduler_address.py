"""The address of a Dask scheduler, and the rule which addresses are safe enough to connect to.

Dask executes whatever it is sent. cudamm therefore connects without encryption only to this machine, unless
the user allows more.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.errors import NoDeviceError, UsageError

CONNECT_S = 10.0
"""Time limit for the first answer of a scheduler, and for its file to appear, in seconds."""

_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})")


@dataclass(frozen=True)
class TlsFiles:
    """The files with which two processes of a cluster prove to each other who they are, in PEM format.

    Attributes:
        ca: certificate of the authority that has signed the others.
        certificate: certificate of this process.
        key: private key of this process.
    """

    ca: str
    certificate: str
    key: str


@dataclass(frozen=True)
class SchedulerAddress:
    """The address of a scheduler that may be connected to.

    Attributes:
        uri: the address as Dask writes it, such as `tcp://127.0.0.1:8786`.
        tls: None if the connection is not encrypted, or if Dask's own configuration names the files.
    """

    uri: str
    tls: TlsFiles | None = None

    @property
    def is_loopback(self) -> bool:
        """Return whether the scheduler runs on this machine, and other machines cannot reach it."""
        return _is_loopback(self.uri)

    def client(self) -> Any:
        """Return a Dask client, which waits for its scheduler CONNECT_S at most once it is awaited."""
        return import_distributed().Client(
            self.uri, asynchronous=True, timeout=CONNECT_S, security=self.security(), set_as_default=False
        )

    def security(self) -> Any:
        """Return Dask's `Security` for this address."""
        distributed = import_distributed()
        if not self.uri.startswith("tls://"):
            return distributed.Security(require_encryption=False)
        if self.tls is None:
            return distributed.Security(require_encryption=True)
        roles = ("client", "worker", "scheduler")
        files = {f"tls_{role}_cert": self.tls.certificate for role in roles}
        files |= {f"tls_{role}_key": self.tls.key for role in roles}
        return distributed.Security(require_encryption=True, tls_ca_file=self.tls.ca, **files)


def check_installed() -> None:
    """Raise NoDeviceError if the package `distributed` is not installed; import nothing."""
    if importlib.util.find_spec("distributed") is None:
        raise _not_importable("No module named 'distributed'")


def _not_importable(reason: object) -> NoDeviceError:
    return NoDeviceError(
        f"a cluster needs Dask, which cannot be imported ({reason}): pip install 'cudamm[cluster]'"
    )


def import_distributed() -> Any:
    """Return the package `distributed`, which logs nothing from now on.

    Raises:
        NoDeviceError: the package is not installed.
    """
    import logging
    import warnings

    try:
        import dask
        import distributed
        from distributed.versions import VersionMismatchWarning
    except ImportError as error:
        raise _not_importable(error) from None
    # Dask would look at each worker 50 to 100 times a second; kernels are timed on its host.
    dask.config.set({"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"})
    # Dask sets the levels of some loggers by their names; later loggers take those of their parents.
    parents = ("distributed", "tornado", "asyncio")
    for name in (*parents, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in parents:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    # cudamm compares the versions itself, and names the host.
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    return distributed


def scheduler_address(text: str, tls: TlsFiles | None, *, is_insecure: bool) -> SchedulerAddress:
    """Return the address that a user names.

    Args:
        text: an address, or the name of a file that the scheduler has written.
        is_insecure: whether the user allows an address of another machine without encryption.

    Raises:
        UsageError: the text is no address, or a connection would not be safe.
        NoDeviceError: the file does not exist after CONNECT_S.
    """
    uri = text if "://" in text else _address_in_file(text)
    if not _ADDRESS.fullmatch(uri):
        raise UsageError(
            f"{uri} is not the address of a scheduler: write tcp://HOST:PORT or tls://HOST:PORT, or the name "
            "of the file that dask scheduler --scheduler-file has written"
        )
    is_encrypted = uri.startswith("tls://")
    if tls is not None and not is_encrypted:
        raise UsageError(
            f"the address {uri} is not encrypted, and TLS files are given: start the scheduler with "
            "--tls-ca-file, --tls-cert and --tls-key, and its address begins with tls://"
        )
    if is_encrypted and tls is None and not _is_tls_configured():
        raise UsageError(
            f"the address {uri} is encrypted: add --tls-ca, --tls-cert and --tls-key, or configure them for "
            "Dask (distributed.comm.tls)"
        )
    if not (is_encrypted or is_insecure or _is_loopback(uri)):
        raise UsageError(
            f"the address {uri} is of another machine and not encrypted, and Dask executes whatever it is "
            "sent: use TLS (--tls-ca, --tls-cert, --tls-key), or --insecure in a network that you trust"
        )
    return SchedulerAddress(uri, tls)


def _is_tls_configured() -> bool:
    import_distributed()
    import dask

    return bool(dask.config.get("distributed.comm.tls.ca-file", None))


def _is_loopback(uri: str) -> bool:
    match = _ADDRESS.fullmatch(uri)
    host = match[2].strip("[]") if match else ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _address_in_file(name: str) -> str:
    """Return the address in a file that a scheduler writes when it starts; wait for the file."""
    if re.fullmatch(r"[\w.-]+:\d+", name) and not Path(name).exists():
        raise UsageError(f"{name} is neither an address nor a file: write tcp://{name}")
    deadline = time.monotonic() + CONNECT_S
    while True:
        try:
            found = json.loads(Path(name).read_text(encoding="utf-8"))["address"]
            return str(found)
        except FileNotFoundError:
            if time.monotonic() > deadline:
                raise NoDeviceError(
                    f"there is no file {name} after {CONNECT_S:g} s: start a scheduler that writes it, with "
                    f"dask scheduler --scheduler-file {name}"
                ) from None
        except (OSError, UnicodeError) as error:
            raise UsageError(f"{name} cannot be read: {error}") from None
        except (ValueError, KeyError, TypeError):
            if time.monotonic() > deadline:  # until then the scheduler may be writing it
                raise UsageError(
                    f"{name} is not a file of dask scheduler --scheduler-file: it names no address"
                ) from None
        time.sleep(0.1)
