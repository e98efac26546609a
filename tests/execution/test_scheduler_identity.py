"""What a client learns from a scheduler: its dashboard, and its workers, also those with another cudamm."""

from __future__ import annotations

import dataclasses
import http.server
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cudamm.devices.device import DeviceInfo
from cudamm.errors import NoDeviceError
from cudamm.execution.cluster import ClusterDevice, EventLoop, connected_to, of_each_kind
from cudamm.execution.cluster_service import NAME, facts_of
from cudamm.execution.cluster_worker import DEVICE
from cudamm.execution.scheduler_address import SchedulerAddress, import_distributed


@pytest.fixture
def scheduler() -> Iterator[Any]:
    """Yield a scheduler without a dashboard."""
    loop, distributed = EventLoop(), import_distributed()

    async def start() -> Any:
        return await distributed.Scheduler(
            host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0"
        )

    started = loop.run(start)
    yield started
    loop.run(lambda: started.close())
    loop.close()


@pytest.fixture
def answering() -> Iterator[Callable[[int, bytes], int]]:
    """Return a function that starts a server that answers each request alike, and returns its port."""
    servers: list[http.server.HTTPServer] = []

    def start(status: int, body: bytes) -> int:
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        servers.append(http.server.HTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return servers[-1].server_port

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def dashboard_of(scheduler: Any) -> str:
    with connected_to(SchedulerAddress(scheduler.address)) as cluster:
        return cluster.dashboard()


def test_a_scheduler_without_a_dashboard_has_no_address(scheduler: Any) -> None:
    assert scheduler.identity()["services"]["dashboard"]  # its HTTP server has a port nevertheless
    assert dashboard_of(scheduler) == ""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("status", "body", "has_dashboard"),
    [
        (200, b'{"Individual Workers": "/individual-workers"}', True),
        (200, b"{}", False),  # Bokeh is not installed on the scheduler's host
        (200, b"<p>a page</p>", False),
        (404, b"", False),
        (500, b"", False),
    ],
)
@pytest.mark.slow
def test_a_dashboard_is_recognised_by_its_plots(
    scheduler: Any, answering: Callable[[int, bytes], int], status: int, body: bytes, has_dashboard: bool
) -> None:
    port = answering(status, body)
    scheduler.services["dashboard"] = SimpleNamespace(port=port, stop=lambda: None)
    assert dashboard_of(scheduler) == (f"http://127.0.0.1:{port}/status" if has_dashboard else "")


def test_a_dashboard_that_cannot_be_reached_is_not_reported(scheduler: Any) -> None:
    scheduler.services["dashboard"] = SimpleNamespace(port=1, stop=lambda: None)
    assert dashboard_of(scheduler) == ""
    scheduler.services.clear()
    assert dashboard_of(scheduler) == ""


GPU = DeviceInfo("gpu", "gpu:0", "NVIDIA H200", {"driver": "580.65"}, "a note about this machine")


def devices_of(scheduler: Any, *workers: tuple[str, dict[str, str]]) -> list[ClusterDevice]:
    """Return the devices of a scheduler that has these workers, each with its name and some of its facts."""
    facts = dataclasses.asdict(facts_of("gpu", GPU.name, "580.65", "nvcc 13.0")) | {"host": "node1"}
    listed: dict[str, dict[str, Any]] = {
        f"tcp://node1:{position}": {"name": name, NAME: facts | others, DEVICE: dataclasses.asdict(GPU)}
        for position, (name, others) in enumerate(workers)
    }
    listed["tcp://node9:1"] = {"name": "a worker of another program"}
    heard = {address: {"last_seen": 1.0, **worker} for address, worker in listed.items()}
    identity = scheduler.identity() | {"workers": heard}
    scheduler.handlers["identity"] = lambda **_: identity
    with connected_to(SchedulerAddress(scheduler.address)) as cluster:
        return cluster.devices()


def test_devices_are_named_by_their_dask_workers_and_in_the_order_of_the_names(scheduler: Any) -> None:
    found = devices_of(scheduler, ("node1/gpu:1", {}), ("node1/gpu:0", {}))
    assert [device.name for device in found] == ["node1/gpu:0", "node1/gpu:1"]
    assert found[0].info == dataclasses.replace(GPU, spec="node1/gpu:0", note="")
    assert (found[0].facts.host, found[0].facts.compiler) == ("node1", "nvcc 13.0")


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (
            {"version": "9.9.9"},
            "node1 (node1/gpu:0; driver 580.65, nvcc 13.0) has cudamm 9.9.9, and this machine",
        ),
        (
            {"version": "9.9.9", "compiler": ""},
            "node1 (node1/gpu:0; driver 580.65, no compiler) has cudamm 9.9.9",
        ),
        ({"version": "9.9.9", "driver": ""}, "node1 (node1/gpu:0) has cudamm 9.9.9, and this machine has "),
        ({"sources": "another"}, "nvcc 13.0) has cudamm "),
    ],
)
def test_a_worker_with_another_cudamm_is_refused_with_its_host_driver_and_compiler(
    scheduler: Any, others: dict[str, str], message: str
) -> None:
    with pytest.raises(NoDeviceError) as refused:
        devices_of(scheduler, ("node1/gpu:0", others))
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert ("other source files" in str(refused.value)) == ("sources" in others)


def test_gpus_of_one_kind_need_one_driver(scheduler: Any) -> None:
    other_kind = {"device": "NVIDIA L4", "driver": "575.1"}
    others = [("node2/gpu:0", {"host": "node2"}), ("node3/gpu:0", other_kind)]
    found = of_each_kind(devices_of(scheduler, ("node1/gpu:0", {}), *others))
    assert [[device.name for device in kind] for kind in found] == [
        ["node1/gpu:0", "node2/gpu:0"], ["node3/gpu:0"]
    ]  # fmt: skip
    older = ("node2/gpu:0", {"host": "node2", "driver": "575.1"})
    with pytest.raises(NoDeviceError, match=r"drivers: node1 has 580\.65, and node2 has 575\.1: install"):
        of_each_kind(devices_of(scheduler, ("node1/gpu:0", {}), older))
