"""The dashboard of a scheduler: its address is only reported if there is a dashboard."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from cudamm.execution.cluster_executor import EventLoop, connected_to
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
