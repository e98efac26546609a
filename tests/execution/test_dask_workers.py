"""Dask workers that end before they have joined a scheduler, or join it late."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from scripted_device import silent

from cudamm.benchmark.verify import verify_all
from cudamm.errors import NoDeviceError
from cudamm.execution.cluster import local_cluster
from cudamm.execution.cluster_executor import ClusterExecutor
from cudamm.execution.dask_workers import DaskWorker, WorkerSettings, dask_workers
from cudamm.execution.executor_group import ExecutorGroup
from cudamm.execution.scheduler_address import SchedulerAddress
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

NOBODY = SchedulerAddress("tcp://127.0.0.1:1")

pytest.importorskip("distributed")


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


def test_a_worker_that_gets_no_address_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = DaskWorker(WorkerSettings("cpu", "a", str(tmp_path), reports=False))
    assert worker.process.stdin is not None
    worker.process.stdin.close()
    assert worker.process.wait(60) == 0
    worker.close()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("stopped_by", [signal.SIGSTOP, signal.SIGKILL])
def test_devices_begin_before_every_worker_of_this_machine_has_joined(stopped_by: signal.Signals) -> None:
    problem = Problem(Shape(4, 5, 6), ELEMENT_TYPES["float32"])
    cases = [(variant, problem) for variant in variants(find("naive"), {})]
    with dask_workers(["cpu", "cpu"], "local", reports=False) as workers:
        os.kill(workers[0].process.pid, stopped_by)
        with (
            local_cluster(workers) as cluster,
            ExecutorGroup([ClusterExecutor(cluster, worker, None) for worker in workers]) as group,
        ):
            results = list(verify_all(group, cases, True, silent))
            assert [result.status for result in results] == ["ok"]
            assert group.target.info.spec == "local/cpu:1"
            if stopped_by == signal.SIGKILL:
                assert [member.spec for member in group.members] == ["local/cpu:1"]
                assert "local/cpu:0 took no part" in group.losses[0]


def test_the_command_ends_if_every_worker_of_this_machine_has_ended() -> None:
    with dask_workers(["cpu", "cpu"], "local", reports=False) as workers:
        for worker in workers:
            worker.process.kill()
        with (
            local_cluster(workers) as cluster,
            ExecutorGroup([ClusterExecutor(cluster, worker, None) for worker in workers]) as group,
            pytest.raises(NoDeviceError, match="its Dask worker has ended"),
        ):
            _ = group.target
