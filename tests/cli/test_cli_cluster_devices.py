"""The devices of a cluster: `devices --cluster`, from the scheduler's list and from real Dask workers."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.device import DeviceInfo
from cudamm.errors import NoDeviceError
from cudamm.execution import cluster_worker
from cudamm.execution.cluster import ClusterDevice
from cudamm.execution.cluster_compiler import ClusterCompiler
from cudamm.execution.cluster_service import WorkerFacts

ADDRESS = "tcp://127.0.0.1:8786"


def gpu(host: str, number: int = 0, *, driver: str = "580.65", compiler: str = "nvcc 13.0") -> ClusterDevice:
    properties = {
        "arch": "sm_90a", "clock_mhz": 1980, "memory_bytes": 141 * 2**30, "driver_cuda": "13.0",
        "driver": driver,
    }  # fmt: skip
    info = DeviceInfo("gpu", f"{host}/gpu:{number}", "NVIDIA H200", properties)
    facts = WorkerFacts("1", "hash", "3.12", host, "gpu", info.name, driver, compiler, "processor")
    return ClusterDevice(info.spec, f"tcp://{host}:{number}", facts, info)


@pytest.fixture
def scheduler_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return a function that has a scheduler list these devices, and returns the connected addresses."""

    def arrange(*devices: ClusterDevice, dashboard: str = "") -> list[str]:
        connected: list[str] = []

        class StandIn:
            def devices(self) -> list[ClusterDevice]:
                return list(devices)

            def compilers(self) -> list[ClusterCompiler]:
                return [ClusterCompiler(f"{d.facts.host}/nvcc", d.address, 64) for d in devices[:2]]

            def dashboard(self) -> str:
                return dashboard

        @contextlib.contextmanager
        def connected_to(address: Any) -> Iterator[StandIn]:
            connected.append(address.uri)
            yield StandIn()

        monkeypatch.setattr("cudamm.execution.cluster.connected_to", connected_to)
        return connected

    return arrange


def test_each_device_of_a_cluster_is_a_row_with_its_host_driver_and_compiler(
    run: Any, scheduler_with: Callable[..., list[str]]
) -> None:
    connected = scheduler_with(gpu("node1"), gpu("node2", 3, driver="535.1", compiler=""))
    ended = run(f"devices --cluster {ADDRESS}")
    assert ended.status == 0 and ended.stderr == "" and connected == [ADDRESS]
    first, second = (line for line in ended.stdout.splitlines() if "NVIDIA H200" in line)
    cells = [cell.strip() for cell in first.strip("│").split("│")]
    assert cells == [
        "node1", "node1/gpu:0", "NVIDIA H200", "580.65", "13.0", "nvcc 13.0", "1980 MHz", "141.0 GiB"
    ]  # fmt: skip
    assert [cell.strip() for cell in second.strip("│").split("│")][3:6] == ["535.1", "13.0", "-"]
    assert "Programs are compiled by node1/nvcc (64 cores), node2/nvcc (64 cores)." in ended.stdout


def test_a_row_of_a_cluster_has_the_fields_of_one_machine_and_two_more(
    run: Any, scheduler_with: Callable[..., list[str]]
) -> None:
    scheduler_with(gpu("node1"))
    (here,) = run("devices --json -").records[-1:]
    (there,) = run(f"devices --cluster {ADDRESS} --json -").records
    assert [*there] == [*here, "host", "compiler"]
    assert (there["spec"], there["host"], there["compiler"]) == ("node1/gpu:0", "node1", "nvcc 13.0")
    assert there["properties"]["clock_mhz"] == 1980
    (row,) = csv.DictReader(io.StringIO(run(f"devices --cluster {ADDRESS} --csv -").stdout))
    assert row["spec"] == "node1/gpu:0" and row["host"] == "node1"


@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        ("devices --device cpu", 2, "--device goes with --cluster: add --cluster"),
        ("devices --insecure", 2, "--insecure goes with --cluster: add --cluster"),
        (f"devices --cluster {ADDRESS} --device cpu", 2, "leave out --device, or use --cluster local"),
        ("devices --cluster tcp://10.0.0.7:8786", 2, "Dask executes whatever it is sent"),
        ("devices --cluster local --device tpu,cpu", 2, "tpu is not a device of a list"),
        ("devices --cluster", 2, "--cluster"),
    ],
)
def test_a_wrong_cluster_is_refused(
    run: Any, scheduler_with: Callable[..., list[str]], line: str, status: int, words: str
) -> None:
    connected = scheduler_with(gpu("node1"))
    run(line).refused(status, words)
    assert not connected


@pytest.mark.long
def test_a_real_dask_worker_reports_its_device(run: Any) -> None:
    ended = run("devices --cluster local --device cpu,cpu --json -")
    assert ended.status == 0
    assert [row["spec"] for row in ended.records] == ["local/cpu:0", "local/cpu:1"]
    (here,) = (row for row in run("devices --json -").records if row["kind"] == "cpu")
    for row in ended.records:
        assert row["properties"] == here["properties"] and row["name"] == here["name"]
        assert row["compiler"] == here["properties"]["compiler"] and row["host"]


def test_a_worker_names_the_compiler_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiler(info: DeviceInfo, nvcc: Path | None, release: Any = (13, 0)) -> str:
        def nvcc_version(_: Path) -> Any:
            if release is None:
                raise NoDeviceError("it cannot be run")
            return release

        monkeypatch.setattr(cluster_worker, "find_nvcc", lambda: nvcc)
        monkeypatch.setattr(cluster_worker, "nvcc_version", nvcc_version)
        return cluster_worker.compiler_for(info)

    info, nvcc = gpu("node1").info, Path("/opt/nvcc")
    assert compiler(info, nvcc) == "nvcc 13.0"
    assert compiler(info, None) == ""
    assert compiler(info, nvcc, None) == "/opt/nvcc, which does not run"
    assert compiler(DeviceInfo("cpu", "cpu", "EPYC", {"compiler": "g++ 12"}), nvcc) == "g++ 12"


def test_the_dashboard_is_named_once_on_standard_error(
    run: Any, scheduler_with: Callable[..., list[str]]
) -> None:
    scheduler_with(gpu("node1"), dashboard="http://node1:8787/status")
    ended = run(f"devices --cluster {ADDRESS} --json -")
    assert ended.stderr == "cudamm: the dashboard of the scheduler is http://node1:8787/status\n"
    assert len(ended.records) == 1 and "8787" not in ended.stdout
    assert run(f"devices --cluster {ADDRESS} --quiet").stderr == ""
