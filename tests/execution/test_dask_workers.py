"""Dask workers that end before they have joined a scheduler, or join it late."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from scripted_device import silent

from cudamm.benchmark.verify import verify_all
from cudamm.cli import chosen_devices
from cudamm.cli.cluster_options import ClusterChoice
from cudamm.cli.output_options import OutputOptions
from cudamm.devices.named_devices import DeviceKind
from cudamm.errors import NoDeviceError
from cudamm.execution import cluster_executor
from cudamm.execution.cluster import Cluster, local_cluster
from cudamm.execution.cluster_executor import ClusterExecutor
from cudamm.execution.dask_workers import DaskWorker, WorkerSettings, dask_workers
from cudamm.execution.executor import Executors
from cudamm.execution.executor_group import ExecutorGroup
from cudamm.execution.scheduler_address import SchedulerAddress
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

NOBODY = SchedulerAddress("tcp://127.0.0.1:1")

pytest.importorskip("distributed")


@pytest.mark.slow
def test_a_worker_that_has_ended_can_be_told_an_address_started_again_and_closed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = DaskWorker(WorkerSettings("no-device", "a", str(tmp_path), reports=False))
    assert worker.process.wait(60) == 2
    assert "no-device" in capfd.readouterr().err
    worker.join(NOBODY)
    worker.start_again()
    assert worker.process.wait(60) == 2
    worker.close()
    worker.close()


@pytest.mark.slow
def test_a_worker_that_gets_no_address_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = DaskWorker(WorkerSettings("cpu", "a", str(tmp_path), reports=False))
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(60) == 0
    worker.close()
    assert capfd.readouterr().err == ""


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a Dask worker have 20 seconds to join: a test that waits for one that never joins then fails."""
    monkeypatch.setattr(cluster_executor, "JOIN_S", 20.0)


def group_of(cluster: Cluster, workers: Sequence[DaskWorker]) -> ExecutorGroup:
    return ExecutorGroup([ClusterExecutor(cluster, worker, None) for worker in workers])


def statuses(group: Executors) -> list[str]:
    problem = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])
    cases = [(variant, problem) for variant in variants(find("naive"), {})]
    return [result.status for result in verify_all(group, cases, True, silent)]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("stopped_by", [signal.SIGSTOP, signal.SIGKILL])
@pytest.mark.slow
def test_devices_begin_before_every_worker_of_this_machine_has_joined(stopped_by: signal.Signals) -> None:
    with dask_workers(["cpu", "cpu"], "local", reports=False) as workers:
        os.kill(workers[0].process.pid, stopped_by)
        with local_cluster(workers) as cluster, group_of(cluster, workers) as group:
            assert statuses(group) == ["ok"]
            assert group.target.info.spec == "local/cpu:1"
            if stopped_by == signal.SIGKILL:
                assert [member.spec for member in group.members] == ["local/cpu:1"]
                assert "local/cpu:0 took no part" in group.losses[0]
            else:
                assert len(group.members) == 2  # the first may still join


@pytest.mark.slow
def test_a_worker_that_ends_after_it_has_joined_is_left_out() -> None:
    with (
        dask_workers(["cpu", "cpu"], "local", reports=False) as workers,
        local_cluster(workers) as cluster,
        group_of(cluster, workers) as group,
    ):
        assert all(member.is_open(60) for member in group.members)
        workers[0].process.kill()
        workers[0].process.wait()
        assert statuses(group) == ["ok"]
        assert [member.spec for member in group.members] == ["local/cpu:1"]


def test_the_command_ends_if_every_worker_of_this_machine_has_ended() -> None:
    with dask_workers(["cpu", "cpu"], "local", reports=False) as workers:
        for worker in workers:
            worker.process.kill()
        with (
            local_cluster(workers) as cluster,
            group_of(cluster, workers) as group,
            pytest.raises(NoDeviceError, match="has ended: run cudamm doctor"),
        ):
            _ = group.target


@pytest.mark.slow
def test_workers_that_do_not_join_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_executor, "JOIN_S", 0.5)
    monkeypatch.setattr(DaskWorker, "join", lambda worker, address: None)
    with (
        dask_workers(["cpu", "cpu"], "local", reports=False) as workers,
        local_cluster(workers) as cluster,
        group_of(cluster, workers) as group,
        pytest.raises(NoDeviceError, match=r"has not joined within 0\.5 s"),
    ):
        _ = group.target


@pytest.mark.slow
def test_a_cluster_of_this_machine_has_the_devices_that_pay_of_each_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kinds = [DeviceKind("one", ("cpu", "cpu")), DeviceKind("other", ("cpu", "cpu", "cpu"))]
    monkeypatch.setattr(chosen_devices, "named_kinds", lambda spec: kinds)
    monkeypatch.setattr("cudamm.execution.cluster.wait_for_workers", None)  # waits for every device
    run_on: list[tuple[str, bool]] = []

    def run(executors: Executors) -> int:
        assert statuses(executors) == ["ok"]
        run_on.extend((member.spec, member.runs_here) for member in executors.members)
        return len(run_on)

    local = ClusterChoice("local")
    status = chosen_devices.run_on_devices("auto", local, None, None, 2, OutputOptions(), run)
    assert status == 4
    assert run_on == [(f"local/cpu:{number}", True) for number in range(4)]
