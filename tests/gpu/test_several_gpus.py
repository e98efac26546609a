"""`--device all` and `health` on two GPUs or more."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.named_devices import named_kinds
from cudamm.errors import NoDeviceError

pytestmark = [pytest.mark.gpu, pytest.mark.multi, pytest.mark.quiet]


@pytest.fixture(scope="module", autouse=True)
def several_gpus() -> None:
    try:
        kinds = named_kinds("all")
    except NoDeviceError as error:
        pytest.skip(f"no GPU: {error}")
    if len(kinds) != 1 or len(kinds[0].specs) < 2:
        pytest.skip("this needs two GPUs of one kind")


def start(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cudamm", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str], statuses: tuple[int, ...] = (0,)) -> str:
    stdout, stderr = process.communicate(timeout=600)
    assert process.returncode in statuses, stderr
    return stdout


def rows_of(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text())["results"]
    return rows


SWEEP = ("sweep", "-m", "register-tile,tiled-coarse", "-n", "2048", "--full", "--device")


def test_a_sweep_on_all_gpus_finds_the_best_of_one_gpu(tmp_path: Path) -> None:
    """The clocks of two measurements differ a little, so the two best need not be the same variant."""
    one, every = tmp_path / "one.json", tmp_path / "all.json"
    finished(start(*SWEEP, "gpu:0", "--json", str(one)), (0, 1))
    finished(start(*SWEEP, "all", "--json", str(every)), (0, 1))
    before, after = rows_of(one), rows_of(every)
    assert [(r["method"], r["params"], r["status"]) for r in before] == [
        (r["method"], r["params"], r["status"]) for r in after
    ]
    assert {r["device"] for r in before if r["status"] == "ok"} == {"gpu:0"}
    assert len({r["device"] for r in after if r["status"] == "ok"}) > 1
    final = [r for r in after if r["is_final"]]
    assert len(final) == 8 and len({r["device"] for r in final}) == 1
    times = {(r["method"], str(r["params"])): r["median_ms"] for r in before if r["status"] == "ok"}
    best = min(final, key=lambda r: r["median_ms"])
    assert times[best["method"], str(best["params"])] < 1.02 * min(times.values())


def test_a_worker_killed_in_a_sweep_costs_no_row(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    process = start(*SWEEP, "all", "--json", str(path))
    journal, deadline = Path(f"{path}.journal"), time.monotonic() + 300
    while not journal.exists() or journal.read_bytes().count(b"\n") < 10:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    numbers = [int(number) for child in children for number in child.read_text().split()]
    workers = [n for n in numbers if b"worker_process" in Path(f"/proc/{n}/cmdline").read_bytes()]
    assert len(workers) >= 2
    os.kill(workers[-1], signal.SIGKILL)
    finished(process, (0, 1))
    rows = rows_of(path)
    assert not [r for r in rows if "SIGKILL" in r["reason"]]
    assert len([r for r in rows if r["is_final"]]) == 8


def test_health_loads_every_gpu() -> None:
    rows = json.loads(finished(start("health", "--seconds", "1", "--json", "-"), (0, 1)))["results"]
    assert len(rows) >= 2
    for row in rows:
        assert row["failure"] == "" and len(row["loads"]) == 6
        for load in row["loads"]:
            assert load["rate"] > 100 and load["launches"] > 10
            assert load["clock_mhz"] and load["power_w"] > 50 and load["temperature_c"] > 10
