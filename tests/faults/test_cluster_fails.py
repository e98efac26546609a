"""Cases that run through a real Dask scheduler on the devices of real workers, some of which are killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cudamm.benchmark.journal import journal_path, read_journal
from cudamm.errors import NoDeviceError
from cudamm.execution.cluster import connected_to
from cudamm.execution.scheduler_address import scheduler_address
from tests.faults.test_several_devices_fail import (
    comparable,
    rows_of,
    wait_for_journal,
    write_kernel,
)

KILLS = 10
"""Number of random moments at which each kind of process is killed."""

SWEPT = 9
"""Number of variants for which a sweep takes two devices."""

StartCluster = Callable[..., "Started"]


class Started:
    """A scheduler and the command `cudamm worker` with its devices, which have joined."""

    def __init__(self, scheduler: subprocess.Popen[bytes], worker: subprocess.Popen[bytes]) -> None:
        self.scheduler, self.worker = scheduler, worker

    def close(self) -> None:
        for process in (self.scheduler, self.worker):
            process.kill()
            process.communicate()

    def dask_workers(self) -> list[int]:
        return children_of(self.worker.pid, "cluster_worker")

    def processes_with_kernels(self) -> list[int]:
        return [n for worker in self.dask_workers() for n in children_of(worker, "worker_process")]


def children_of(number: int, module: str) -> list[int]:
    paths = Path(f"/proc/{number}/task").glob("*/children")
    found = [int(child) for path in paths for child in path.read_text().split()]
    return [n for n in found if module.encode() in Path(f"/proc/{n}/cmdline").read_bytes()]


def start_scheduler(workspace: Any, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    files = ["--no-dashboard", "--scheduler-file", "scheduler.json"]
    return subprocess.Popen(
        [*command, *files, *options], cwd=workspace.folder, env=workspace.environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture
def start_cluster(workspace: Any, tmp_path: Path) -> Iterator[StartCluster]:
    """Return a function that starts a cluster whose workers have a compiler cache of their own."""
    with contextlib.ExitStack() as opened:

        def start(*scheduler_options: str, options: str = "", devices: int = 2) -> Started:
            (workspace.folder / "scheduler.json").unlink(missing_ok=True)
            scheduler = start_scheduler(workspace, *scheduler_options)
            elsewhere = workspace.with_environment(CUDAMM_CACHE=str(tmp_path / "cache of the workers"))
            line = (
                f"worker --scheduler-file scheduler.json --name node1 --device {','.join(['cpu'] * devices)}"
            )
            worker = elsewhere.start(f"{line} {options}")
            started = Started(scheduler, worker)
            opened.callback(started.close)
            assert worker.stderr is not None
            for _ in range(devices):
                assert b"has joined" in worker.stderr.readline()
            return started

        yield start


def positions(rows: list[dict[str, Any]]) -> list[int]:
    return [row["params"]["X"] for row in rows]


@pytest.mark.long
def test_a_cluster_gives_the_rows_of_one_process_while_its_processes_are_killed(
    workspace: Any, start_cluster: StartCluster
) -> None:
    write_kernel(workspace, sleep_us=100_000)
    cluster = start_cluster()
    sizes = " ".join(f"-n {size}" for size in range(8, 26))
    sweep = f"sweep --kernel variants.cu -n 8 -D X=0:{SWEPT - 1} --json"
    assert workspace.run(f"{sweep} alone.json --device cpu").status == 0
    for killed in (cluster.processes_with_kernels, cluster.dask_workers):
        process = workspace.start(f"{sweep} out.json --cluster scheduler.json")
        wait_for_journal(workspace, process, rows=2)
        numbers = killed()
        assert len(numbers) == 2 and process.poll() is None
        os.kill(numbers[0], signal.SIGKILL)
        completed = workspace.wait_for(process)
        assert completed.status == 0, completed.stderr
        assert comparable(rows_of(workspace)) == comparable(rows_of(workspace, "alone.json"))
        assert positions(rows_of(workspace)) == list(range(SWEPT))
        is_lost = "took no part, or dropped out, and the others went on" in completed.stdout
        assert is_lost == (killed == cluster.dask_workers)

    for place, name in (("--device cpu", "alone"), ("--cluster scheduler.json", "verified")):
        completed = workspace.run(f"verify -m naive --dtype int32 {sizes} {place} --json {name}.json")
        assert completed.status == 0, completed.stderr
    assert comparable(rows_of(workspace, "alone.json")) == comparable(rows_of(workspace, "verified.json"))

    other_version = "import cudamm\ncudamm.__version__ = '9.9.9'"
    completed = workspace.run("verify -m naive -n 8 --cluster scheduler.json", prefix=other_version)
    assert completed.status == 3 and len(completed.stderr_lines) == 1
    assert "(node1/cpu:" in completed.stderr and "and this machine has 9.9.9" in completed.stderr


@pytest.mark.long
def test_a_host_that_stands_still_is_lost_after_a_time(workspace: Any, start_cluster: StartCluster) -> None:
    """The network of a stopped process still answers, as that of a host whose programs hang."""
    write_kernel(workspace, sleep_us=100_000)
    cluster = start_cluster()
    impatient = "from cudamm.execution import cluster\ncluster.SILENCE_S = 3.0"
    line = f"sweep --kernel variants.cu -n 8 -D X=0:{SWEPT - 1} --json out.json --cluster scheduler.json"
    process = workspace.start(line, prefix=impatient)
    wait_for_journal(workspace, process, rows=2)
    stopped = cluster.dask_workers()[0]
    os.kill(stopped, signal.SIGSTOP)
    completed = workspace.wait_for(process)
    os.kill(stopped, signal.SIGCONT)
    assert completed.status == 0, completed.stderr
    assert positions(rows_of(workspace)) == list(range(SWEPT))
    assert "gives the scheduler no sign of life" in completed.stdout
    listed = json.loads(workspace.run("devices --cluster scheduler.json --json -").stdout)["results"]
    assert [row["spec"] for row in listed] == ["node1/cpu:0", "node1/cpu:1"]  # the host has come back


@pytest.mark.long
@pytest.mark.parametrize("place", ["--device cpu,cpu", "--cluster scheduler.json"])
def test_a_killed_scheduler_ends_its_workers_and_resume_goes_on_elsewhere(
    workspace: Any, start_cluster: StartCluster, place: str
) -> None:
    write_kernel(workspace, sleep_us=100_000)
    cluster = start_cluster()
    line = f"sweep --kernel variants.cu -n 8 -D X=0:{SWEPT - 1} --resume out.json"
    process = workspace.start(f"{line} --cluster scheduler.json")
    wait_for_journal(workspace, process, rows=3)
    cluster.scheduler.kill()
    completed = workspace.wait_for(process)
    assert completed.status == 3 and len(completed.stderr_lines) == 1, completed.stderr
    before = rows_of(workspace)
    assert 3 <= len(before) < SWEPT
    assert cluster.worker.wait(timeout=30) == 0
    workspace.assert_no_process_runs()

    if "cluster" in place:
        start_cluster()
    completed = workspace.run(f"{line} {place}")
    assert completed.status == 0, completed.stderr
    after = rows_of(workspace)
    assert positions(after) == list(range(SWEPT))
    assert all(row in comparable(after) for row in comparable(before))


@pytest.mark.long
def test_processes_killed_at_random_moments_cost_no_row(workspace: Any, start_cluster: StartCluster) -> None:
    """The moments are spread over a whole command: before it connects, while it sweeps, and as it ends."""
    write_kernel(workspace, sleep_us=30_000)
    sweep = f"sweep --kernel variants.cu -n 8 -D X=0:{SWEPT - 1}"
    assert workspace.run(f"{sweep} --device cpu --json alone.json").status == 0
    alone = comparable(rows_of(workspace, "alone.json"))
    cluster = start_cluster()
    begun = time.monotonic()
    assert workspace.run(f"{sweep} --cluster scheduler.json").status == 0
    duration_s = time.monotonic() - begun
    moments = random.Random(0)  # noqa: S311
    for _ in range(KILLS):
        for victims in ("processes_with_kernels", "dask_workers", "scheduler"):
            moment_s = moments.uniform(0, duration_s)
            process = workspace.start(f"{sweep} --cluster scheduler.json --resume out.json")
            time.sleep(moment_s)
            if victims == "scheduler":
                cluster.scheduler.kill()
            else:
                os.kill(moments.choice(getattr(cluster, victims)()), signal.SIGKILL)
            completed = workspace.wait_for(process)
            what = f"{victims} killed after {moment_s:.2f} of {duration_s:.2f} s: {completed.stderr}"
            if victims == "scheduler":
                cluster.close()
                assert completed.status in (0, 3), what
                is_saved = (workspace.folder / "out.json").exists()  # not if no row was finished
                found = comparable(rows_of(workspace)) if is_saved else []
                assert is_saved or completed.status == 3, what
                assert all(row in alone for row in found), what
                completed = workspace.run(f"{sweep} --device cpu,cpu --resume out.json")
            assert completed.status == 0, what
            assert comparable(rows_of(workspace)) == alone, what
            (workspace.folder / "out.json").unlink()
        cluster = start_cluster()


@pytest.mark.long
def test_a_killed_dask_worker_joins_again_three_times(workspace: Any, start_cluster: StartCluster) -> None:
    cluster = start_cluster(devices=1)
    verify = "verify -m naive -n 8 --dtype int32 --cluster scheduler.json"
    assert cluster.worker.stderr is not None
    for restart in (1, 2, 3):
        (number,) = cluster.dask_workers()
        os.kill(number, signal.SIGKILL)
        line = cluster.worker.stderr.readline().decode()
        assert f"node1/cpu:0 was killed by SIGKILL, and is started again ({restart} of 3)" in line
        assert b"node1/cpu:0 (" in cluster.worker.stderr.readline()  # it has joined
        assert workspace.run(verify).status == 0
        assert cluster.dask_workers() != [number] and len(cluster.dask_workers()) == 1
    os.kill(cluster.dask_workers()[0], signal.SIGKILL)
    assert cluster.worker.wait(timeout=30) == 1
    assert b"is not started again after 3 restarts" in cluster.worker.stderr.read()
    completed = workspace.run(verify)
    assert completed.status == 3 and "has no worker with a device" in completed.stderr


class Proxy:
    """A port of this machine through which a process is connected to another port, until `cut` is called."""

    def __init__(self, port: int) -> None:
        self._to, self._ends = port, list[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._forward, args=ends, daemon=True).start()

    @staticmethod
    def _forward(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)

    def cut(self, later_s: float) -> None:
        """End all connections of the process, and later those of the other port."""
        cut, self._ends = self._ends, []
        for ends in (cut[::2], cut[1::2]):
            for end in ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            time.sleep(later_s)


@pytest.mark.slow
def test_a_dask_worker_whose_connection_breaks_joins_again(workspace: Any) -> None:
    with contextlib.ExitStack() as opened:
        scheduler = start_scheduler(workspace)
        opened.callback(scheduler.wait)
        opened.callback(scheduler.kill)
        file = workspace.folder / "scheduler.json"
        while not file.exists():
            time.sleep(0.05)
        known = json.loads(file.read_text())
        proxy = Proxy(int(known["address"].rpartition(":")[2]))
        file.write_text(json.dumps({"address": f"tcp://127.0.0.1:{proxy.port}"}))
        worker = workspace.start("worker --scheduler-file scheduler.json --name node1 --device cpu")
        opened.callback(worker.wait)
        opened.callback(worker.kill)
        assert b"node1/cpu:0 (" in worker.stderr.readline()
        proxy.cut(later_s=2)
        assert b"its connection to the scheduler tcp://127.0.0.1:" in worker.stderr.readline()
        assert b"ended with status 1, and is started again (1 of 3)" in worker.stderr.readline()
        assert b"node1/cpu:0 (" in worker.stderr.readline()


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_an_ended_command_with_a_local_cluster_keeps_its_rows_and_leaves_no_process(
    workspace: Any, number: int, status: int
) -> None:
    write_kernel(workspace, sleep_us=100_000)
    line = f"sweep --kernel variants.cu -n 8 -D X=0:{SWEPT - 1} --resume out.json"
    process = workspace.start(f"{line} --cluster local --device cpu,cpu")
    wait_for_journal(workspace, process, rows=3)
    begun = time.monotonic()
    process.send_signal(number)
    assert workspace.wait_for(process).status == status and time.monotonic() - begun < 5
    if number == signal.SIGINT:
        assert 3 <= len(rows_of(workspace)) < SWEPT
        workspace.assert_nothing_left()
    else:
        rows = read_journal(journal_path(workspace.folder / "out.json"))["results"]
        assert 3 <= len(rows) < SWEPT
        workspace.assert_no_process_runs()


def make_certificate(workspace: Any) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=workspace.folder, check=True, capture_output=True,
    )  # fmt: skip


STANDINS = {
    "srun": 'for node in 1 2; do NODE=$node "$@" & done; wait',
    "cudamm": """case $1 in
        worker) set -- "$@" --device cpu,cpu --name node$NODE;;
        sweep) while [ "$1" != --resume ]; do shift; done; set -- sweep -m tiled -n 8 --dtype int32 "$@";;
    esac
    exec "$PYTHON" -m cudamm "$@" """,
}
"""What SLURM's command does with two nodes, and cudamm with two processes on the processor of each."""


@pytest.mark.slow
def test_the_script_for_slurm_runs(workspace: Any) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    make_certificate(workspace)
    programs = workspace.folder / "programs"
    programs.mkdir()
    for name, text in STANDINS.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    completed = subprocess.run(
        ["bash", "-c", script.replace("SLURM_NNODES * 4", "SLURM_NNODES * 2")],
        cwd=workspace.folder,
        env={
            **workspace.environment, "PATH": path, "PYTHON": sys.executable,
            "SLURM_NNODES": "2", "SLURM_JOB_ID": "17",
        },
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert completed.returncode == 0, completed.stderr
    for device in ("node1/cpu:0", "node1/cpu:1", "node2/cpu:0", "node2/cpu:1"):
        assert device in completed.stdout
    assert all(row["status"] == "ok" for row in rows_of(workspace, "sweep.json"))
    workspace.assert_no_process_runs()


@pytest.mark.slow
def test_an_encrypted_cluster_needs_the_files_of_tls(workspace: Any, start_cluster: StartCluster) -> None:
    make_certificate(workspace)
    files = ("--tls-ca-file", "cert.pem", "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    options = "--tls-ca cert.pem --tls-cert cert.pem --tls-key key.pem"
    start_cluster("--protocol", "tls", *files, options=options, devices=1)
    assert json.loads((workspace.folder / "scheduler.json").read_text())["address"].startswith("tls://")
    line = "verify -m naive -n 8 --dtype int32 --cluster scheduler.json"
    completed = workspace.run(f"{line} {options}")
    assert completed.status == 0, completed.stderr
    completed = workspace.run(line)
    assert completed.status == 2 and "is encrypted: add --tls-ca" in completed.stderr


@pytest.mark.slow
def test_a_scheduler_without_workers_is_reported(workspace: Any) -> None:
    scheduler = start_scheduler(workspace)
    try:
        completed = workspace.run("verify -m naive -n 8 --cluster scheduler.json")
        impatient = "from cudamm.execution import cluster\ncluster.JOIN_S = 0.5"
        waiting = workspace.run("devices --cluster scheduler.json --wait-for 2", prefix=impatient)
    finally:
        scheduler.kill()
        scheduler.wait()
    assert waiting.status == 3 and "0 of 2 devices have joined the scheduler" in waiting.stderr
    assert completed.status == 3 and len(completed.stderr_lines) == 1
    assert "has no worker with a device: start cudamm worker --scheduler tcp://127.0.0.1:" in completed.stderr


@pytest.mark.slow
def test_a_scheduler_that_stands_still_is_not_waited_for(
    workspace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster.SILENCE_S", 0.5)
    scheduler = start_scheduler(workspace)
    file = workspace.folder / "scheduler.json"
    try:
        address = scheduler_address(str(file), None, is_insecure=False)
        with connected_to(address) as connection:
            os.kill(scheduler.pid, signal.SIGSTOP)
            with pytest.raises(NoDeviceError, match="does not answer any more"):
                connection.wait_for(2)
    finally:
        scheduler.kill()
        scheduler.wait()
