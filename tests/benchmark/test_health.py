"""`cudamm health`: what is loaded and when, which GPUs are outliers, and what is printed."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from scripted_device import ScriptedDevice, silent

from cudamm.benchmark.health import UNITS, measure_health
from cudamm.cli import app
from cudamm.devices import named_devices
from cudamm.devices.device import DeviceInfo, Load, LoadedUnit
from cudamm.errors import DeviceLostError, KernelError, NoDeviceError, UsageError
from cudamm.execution.in_process_executor import InProcessExecutor

RATES: dict[LoadedUnit, float] = {"FMA": 60e3, "tensor cores": 700e3, "memory": 4000.0}


class Gpu(InProcessExecutor):
    """A GPU whose rates are known."""

    def __init__(
        self, number: int, factor: float = 1.0, *, name: str = "H200", fails: Exception | None = None,
        slow_together: bool = False, lacks: LoadedUnit | None = None, host: str = "",
    ) -> None:  # fmt: skip
        device = ScriptedDevice()
        device.info = DeviceInfo("gpu", f"{host}gpu:{number}", name)
        super().__init__(device)
        self.factor, self.fails, self.lacks, self.slow_together = factor, fails, lacks, slow_together
        self.barrier: threading.Barrier | None = None
        self.done: list[LoadedUnit] = []

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        self.done.append(unit)
        is_together = len(self.done) > len(UNITS)
        if is_together and self.barrier is not None:
            self.barrier.wait(10)  # fails if the GPUs are not loaded at the same time
        if self.fails is not None and is_together:
            raise self.fails
        if unit == self.lacks:
            return None
        factor = self.factor if is_together or not self.slow_together else 1.0
        return Load(unit, "a kernel", RATES[unit] * factor, 7, 1700.0 + self.factor, 650.0, 60, (), 3, 0)


def gpus(*members: Gpu) -> list[Gpu]:
    barrier = threading.Barrier(len(members))
    for member in members:
        member.barrier = barrier if len(members) > 1 else None
    return list(members)


def test_each_unit_is_loaded_on_each_gpu_alone_and_on_all_at_once() -> None:
    members = gpus(Gpu(0), Gpu(1), Gpu(2))
    steps: list[str] = []
    found = measure_health(members, 1.0, lambda doing, done, total: steps.append(doing))
    assert all(member.done == [*UNITS, *UNITS] for member in members)
    assert all(gpu.is_well and len(gpu.loads) == 6 for gpu in found)
    assert steps[:3] == ["FMA of gpu:0", "tensor cores of gpu:0", "memory of gpu:0"]
    assert steps[9:] == ["FMA of 3 GPUs", "tensor cores of 3 GPUs", "memory of 3 GPUs"]


def test_one_gpu_is_loaded_alone_only() -> None:
    (found,) = measure_health(gpus(Gpu(0)), 1.0, silent)
    assert {mode for _, mode in found.loads} == {"alone"} and found.is_well


@pytest.mark.parametrize(("factor", "outliers"), [(0.975, 0), (0.96, 6), (1.2, 0)])
def test_a_gpu_3_percent_below_the_median_of_its_kind_is_an_outlier(factor: float, outliers: int) -> None:
    found = measure_health(gpus(Gpu(0), Gpu(1, factor), Gpu(2), Gpu(3, 0.5, name="L4")), 1.0, silent)
    assert [len(gpu.outliers) for gpu in found] == [0, outliers, 0, 0]  # the only L4 has no like
    if outliers:
        assert found[1].outliers[0] == (
            "FMA alone: 57.6 TFLOP/s is 4.0% below the median of H200, 60.0 TFLOP/s"
        )
        assert "3,840 GB/s" in found[1].outliers[2]


def test_a_gpu_that_is_slow_only_beside_others_is_named() -> None:
    found = measure_health(gpus(Gpu(0), Gpu(1, 0.9, slow_together=True), Gpu(2)), 1.0, silent)
    assert [outlier.partition(":")[0] for outlier in found[1].outliers] == [f"{u} together" for u in UNITS]


@pytest.mark.parametrize("error", [KernelError("NVML fails"), DeviceLostError("it fell off the bus")])
def test_a_gpu_that_fails_keeps_what_was_measured(error: Exception) -> None:
    members = gpus(Gpu(0), Gpu(1), Gpu(2))
    members[1].fails = error
    members[0].barrier = members[1].barrier = members[2].barrier = None
    found = measure_health(members, 1.0, silent)
    assert [gpu.failure for gpu in found] == ["", str(error), ""]
    assert len(found[1].loads) == 3 and not found[1].is_well and len(found[0].loads) == 6


def test_a_unit_that_a_gpu_lacks_is_left_out() -> None:
    (found,) = measure_health(gpus(Gpu(0, lacks="tensor cores")), 1.0, silent)
    assert [unit for unit, _ in found.loads] == ["FMA", "memory"] and found.is_well


def test_a_processor_is_refused() -> None:
    executor = Gpu(0)
    executor.device.info = DeviceInfo("cpu", "cpu", "a processor")
    with pytest.raises(UsageError, match="health measures GPUs, and cpu is none"):
        measure_health([executor], 1.0, silent)


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs the command on these GPUs."""

    def run(members: list[Gpu], *options: str) -> Any:
        by_spec = {member.spec: member for member in members}
        monkeypatch.setattr(named_devices, "_gpu_names", lambda: [m.target.info.name for m in members])
        monkeypatch.setattr(
            "cudamm.execution.worker_executor.WorkerExecutor", lambda spec, timeout_s: by_spec[spec]
        )
        return CliRunner().invoke(app, ["health", *options], prog_name="cudamm")

    return run


def test_the_command_prints_a_row_a_gpu_and_names_the_outlier(health: Callable[..., Any]) -> None:
    well = health(gpus(Gpu(0), Gpu(1)))
    assert well.exit_code == 0 and well.stdout.count("well") == 2
    slow = health(gpus(Gpu(0), Gpu(1, 0.9), Gpu(2)))
    assert slow.exit_code == 1
    assert "gpu:1: memory together: 3,600 GB/s is 10.0% below the median of H200, 4,000 GB/s" in slow.stdout
    assert "60.0 / 60.0" in slow.stdout and "3, 0" in slow.stdout and "650" in slow.stdout


def test_the_document_has_each_load(health: Callable[..., Any]) -> None:
    ended = health(gpus(Gpu(0), Gpu(1)), "--json", "-")
    document = json.loads(ended.stdout)
    assert document["schema"] == "cudamm.health/1" and document["options"] == {"seconds": 2.0}
    (first, _) = document["results"]
    assert first["spec"] == "gpu:0" and first["outliers"] == [] and first["failure"] == ""
    assert [(load["unit"], load["mode"]) for load in first["loads"]] == [
        (unit, mode) for mode in ("alone", "together") for unit in UNITS
    ]
    assert first["loads"][0]["rate"] == 60e3 and first["loads"][0]["ecc_corrected"] == 3


def test_a_csv_file_has_a_row_for_each_load(health: Callable[..., Any]) -> None:
    rows = list(csv.DictReader(io.StringIO(health(gpus(Gpu(0), Gpu(1)), "--csv", "-").stdout)))
    assert [row["spec"] for row in rows] == ["gpu:0"] * 6 + ["gpu:1"] * 6
    assert (rows[2]["unit"], rows[2]["mode"], float(rows[2]["rate"])) == ("memory", "alone", 4000.0)


@pytest.fixture
def cluster_health(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that runs the command on a cluster with these devices."""

    def run(members: list[Gpu], *options: str) -> Any:
        infos = [member.device.info for member in members]
        devices = [SimpleNamespace(name=info.spec, facts=SimpleNamespace(kind=info.kind)) for info in infos]
        by_name = dict(zip([info.spec for info in infos], members, strict=True))
        cluster = SimpleNamespace(devices=lambda: devices, dashboard=str)
        monkeypatch.setattr(
            "cudamm.execution.cluster.connected_to", lambda _: contextlib.nullcontext(cluster)
        )
        monkeypatch.setattr(
            "cudamm.execution.cluster_executor.ClusterExecutor",
            lambda _, device, timeout_s, runs_here: by_name[device.name],
        )
        line = ["health", "--cluster", "tcp://127.0.0.1:8786", *options]
        return CliRunner().invoke(app, line, prog_name="cudamm")

    return run


def processor() -> Gpu:
    member = Gpu(0)
    member.device.info = DeviceInfo("cpu", "node1/cpu:0", "a processor")
    return member


def test_an_outlier_is_judged_among_gpus_of_its_name_on_all_hosts(cluster_health: Callable[..., Any]) -> None:
    members = gpus(
        Gpu(0, host="node1/"), Gpu(0, host="node2/"), Gpu(1, 0.9, host="node2/"),
        Gpu(0, 0.5, host="node3/", name="L4"),
    )  # fmt: skip
    ended = cluster_health(members)
    assert ended.exit_code == 1 and ended.stdout.count("well") == 3
    assert "node2/gpu:1: memory alone: 3,600 GB/s is 10.0% below the median of H200" in ended.stdout
    ended = cluster_health(gpus(Gpu(0, host="node1/"), Gpu(0, host="node2/")), "--json", "-")
    assert ended.exit_code == 0
    assert [gpu["spec"] for gpu in json.loads(ended.stdout)["results"]] == ["node1/gpu:0", "node2/gpu:0"]


def test_a_processor_of_a_cluster_is_left_out_and_named(cluster_health: Callable[..., Any]) -> None:
    ended = cluster_health([*gpus(Gpu(0, host="node1/")), processor()])
    assert ended.exit_code == 0 and "node1/gpu:0" in ended.stdout and "cpu" not in ended.stdout
    assert ended.stderr == "cudamm: these devices are no GPUs, and are not measured: node1/cpu:0\n"
    assert not cluster_health([*gpus(Gpu(0, host="node1/")), processor()], "--quiet").stderr
    ended = cluster_health([processor()])
    assert ended.exit_code == 2 and "the cluster has none: its devices are node1/cpu:0" in ended.stderr


def test_devices_of_this_machine_are_refused_for_a_cluster(cluster_health: Callable[..., Any]) -> None:
    ended = cluster_health(gpus(Gpu(0)), "--device", "all")
    assert ended.exit_code == 2 and "--device all names devices of this machine" in ended.stderr


def test_a_gpu_of_a_cluster_that_is_lost_is_a_failed_row(cluster_health: Callable[..., Any]) -> None:
    members = gpus(Gpu(0, host="node1/"), Gpu(0, host="node2/", fails=DeviceLostError("it has ended")))
    for member in members:
        member.barrier = None
    ended = cluster_health(members)
    assert ended.exit_code == 1 and "node2/gpu:0: it has ended" in ended.stdout


@pytest.mark.long
def test_the_processors_of_a_real_cluster_are_refused() -> None:
    ended = CliRunner().invoke(
        app, ["health", "--cluster", "local", "--device", "cpu,cpu"], prog_name="cudamm"
    )
    assert ended.exit_code == 2 and "its devices are local/cpu:0, local/cpu:1" in ended.stderr


def test_without_a_usable_gpu_the_status_is_3(
    health: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class NeverOpens(Gpu):
        @property
        def target(self) -> Any:
            raise NoDeviceError("it is locked")

        @property
        def spec(self) -> str:
            return "gpu:0"

    member = NeverOpens(0)
    monkeypatch.setattr("cudamm.execution.worker_executor.WorkerExecutor", lambda spec, timeout_s: member)
    ended = CliRunner().invoke(app, ["health", "--device", "gpu:0"], prog_name="cudamm")
    assert ended.exit_code == 3 and "no GPU can be loaded: gpu:0: it is locked" in ended.stderr
