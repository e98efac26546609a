"""`--cluster` and `cudamm worker`: what is refused, with what is wrong and what to do."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cudamm.execution import scheduler_address

VERIFY = "verify -m naive -n 8 --dtype int32 --cluster"
TLS = "--tls-ca a --tls-cert b --tls-key c"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("line", "status", "words"),
    [
        (f"{VERIFY} tcp://10.0.0.7:8786", 2, ("Dask executes whatever it is sent", "--insecure")),
        (f"{VERIFY} tcp://node7.example:8786", 2, ("of another machine and not encrypted",)),
        (f"{VERIFY} tcp://127.0.0.1.example:8786", 2, ("of another machine and not encrypted",)),
        (f"{VERIFY} tls://10.0.0.7:8786", 2, ("is encrypted: add --tls-ca, --tls-cert and --tls-key",)),
        (f"{VERIFY} tcp://10.0.0.7:8786 {TLS}", 2, ("is not encrypted, and TLS files are given",)),
        (f"{VERIFY} tcp://127.0.0.1:8786 --tls-ca a", 2, ("--tls-cert and --tls-key are missing",)),
        (f"{VERIFY} inproc://10.0.0.7/1", 2, ("is not the address of a scheduler",)),
        (f"{VERIFY} tcp://10.0.0.7", 2, ("is not the address of a scheduler",)),
        (f"{VERIFY} node1:8786", 2, ("write tcp://node1:8786",)),
        (f"{VERIFY} tcp://127.0.0.1:1 --device cpu,cpu", 2, ("leave out --device, or use --cluster local",)),
        (f"{VERIFY} local --device cpu,tpu", 2, ("tpu is not a device of a list",)),
        ("verify -m naive -n 8 --insecure", 2, ("--insecure goes with --cluster",)),
        ("tune --list --cluster local", 2, ("take no option but -m and --device",)),
        ("worker --device cpu", 2, ("--scheduler is missing",)),
        ("worker --scheduler tcp://10.0.0.7:8786 --device cpu", 2, ("Dask executes whatever it is sent",)),
        (
            "devices --cluster local --device cpu --wait-for 1",
            2,
            ("--wait-for is for a cluster that others",),
        ),
        ("devices --wait-for 2", 2, ("add --cluster",)),
        ("worker --scheduler tcp://127.0.0.1:1 --gpus 0-2", 2, ("--gpus 0-2 is not a list of GPUs",)),
        ("worker --scheduler tcp://127.0.0.1:1 --gpus 0 --device cpu", 2, ("contradict each other",)),
    ],
)
def test_a_wrong_cluster_is_refused_before_anything_is_connected(
    run: Any, monkeypatch: pytest.MonkeyPatch, line: str, status: int, words: tuple[str, ...]
) -> None:
    def connect(*_: Any) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr("cudamm.execution.cluster.EventLoop", connect)
    run(line).refused(status, *words)


class ScriptedWorker:
    """A Dask worker that is looked at once for each of these statuses; None: it still runs."""

    def __init__(self, name: str, *statuses: int | None) -> None:
        self.name, self._statuses, self.restarts = name, list(statuses), 0
        self.compiles = name.endswith("/nvcc")
        self.process = self

    def join(self, address: Any) -> None:
        assert address.uri == "tcp://127.0.0.1:8786"

    def poll(self) -> int | None:
        return self._statuses.pop(0)

    def start_again(self) -> None:
        self.restarts += 1


RESTARTED = "cudamm: the Dask worker {} was killed by SIGKILL, and is started again ({} of 3)"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("workers", "status", "lines"),
    [
        ([("a", 0), ("b", None, 0)], 0, []),
        ([("a", -9, 0)], 0, [RESTARTED.format("a", 1)]),
        ([("a", None, 3), ("a/nvcc", None, None)], 3, []),
        ([("a", None, 0), ("a/nvcc", 3)], 0, []),  # nvcc is broken, which clients see too
        ([("a", 1, 0)], 0, ["cudamm: the Dask worker a ended with status 1, and is started again (1 of 3)"]),
        ([("a", 3), ("b", 0)], 3, []),  # the worker itself has printed why
        ([("a", -9, 3)], 3, [RESTARTED.format("a", 1)]),
        (
            [("a", -9, -9, -9, -9), ("b", -9, None, None, None, 0)],
            1,
            [
                *(RESTARTED.format(*which) for which in [("a", 1), ("b", 1), ("a", 2), ("a", 3)]),
                "cudamm: the Dask worker a was killed by SIGKILL, and is not started again after 3 restarts"
                "; 1 of 2 Dask workers still run",
            ],
        ),
    ],
)
def test_a_dask_worker_that_dies_is_started_again_three_times(
    run: Any, monkeypatch: pytest.MonkeyPatch, workers: list[Any], status: int, lines: list[str]
) -> None:
    started = [ScriptedWorker(*worker) for worker in workers]
    for name, value in (
        ("cluster.connected_to", lambda _: contextlib.nullcontext()),
        ("dask_workers.dask_workers", lambda *_, **__: contextlib.nullcontext(started)),
    ):
        monkeypatch.setattr(f"cudamm.execution.{name}", value)
    ended = run("worker --scheduler tcp://127.0.0.1:8786 --device cpu")
    assert ended.status == status and ended.stdout == ""
    assert ended.stderr.splitlines() == lines
    assert all(worker.restarts <= 3 for worker in started)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "command", [f"{VERIFY} tcp://127.0.0.1:1", "worker --device cpu --scheduler tcp://127.0.0.1:1"]
)
def test_a_scheduler_that_does_not_answer_is_reported(
    run: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for module in ("cluster", "scheduler_address"):
        monkeypatch.setattr(f"cudamm.execution.{module}.CONNECT_S", 1.0)
    run(command).refused(3, "the scheduler tcp://127.0.0.1:1 did not answer within 1 s", "dask scheduler")


def test_a_missing_or_wrong_file_of_a_scheduler_is_reported(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_address, "CONNECT_S", 0.2)
    run(f"{VERIFY} cluster.json").refused(3, "there is no file cluster.json after 0.2 s")
    Path("cluster.json").write_text("{}")
    run(f"{VERIFY} cluster.json").refused(2, "names no address")
    Path("cluster.json").write_text(json.dumps({"address": "tcp://10.0.0.7:8786"}))
    run(f"{VERIFY} cluster.json").refused(2, "the address tcp://10.0.0.7:8786 is of another machine")


@pytest.mark.parametrize("place", ["tcp://127.0.0.1:8786", "local --device cpu,cpu"])
def test_without_the_extra_the_package_to_install_is_named(
    run: Any, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    run(f"{VERIFY} {place}").refused(3, "a cluster needs Dask", "pip install 'cudamm[cluster]'")


@pytest.mark.slow
def test_a_command_without_a_cluster_does_not_import_dask(spawn: Any) -> None:
    ended = spawn("verify -m naive -n 8 --dtype int32 --device cpu,cpu", PYTHONPROFILEIMPORTTIME="1")
    assert ended.status == 0
    assert "cudamm.execution.executor" in ended.stderr and "distributed" not in ended.stderr


def test_the_script_for_slurm_is_a_script_with_commands_that_exist(run: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    checked = subprocess.run(["bash", "-n"], input=script.encode(), capture_output=True, check=False)
    assert checked.returncode == 0 and not checked.stderr
    for command in ("worker", "devices", "sweep"):
        (line,) = re.findall(rf"cudamm {command} (.*?)(?: &)?$", script, re.MULTILINE)
        options = re.findall(r"--[a-z-]+", line)
        shown = run(f"{command} --help").stdout
        assert len(options) > 0 and all(option in shown for option in options)
