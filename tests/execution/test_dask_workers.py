"""Dask workers that end before they have joined a scheduler."""

from __future__ import annotations

from pathlib import Path

import pytest

from cudamm.execution.dask_workers import DaskWorker, WorkerSettings
from cudamm.execution.scheduler_address import SchedulerAddress

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
