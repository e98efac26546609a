"""Several worker processes share the cases of a command, and one of them fails, hangs or is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

FAULTS = Path(__file__).with_name("faults.cu")
SIZES = range(101, 125)
VARIANTS = 18
COMPARED = 6
"""Number of variants whose rows of one process and of three are compared."""

KERNEL = """\
// A right kernel with a parameter that changes nothing, unless it is BAD.
//
// param:   X = 0 in {values}
// threads: 8, 8
// grid:    ceil(N / 8), ceil(M / 8)

#include <signal.h>
#include <unistd.h>

__global__ void variants(int M, int N, int K, const float *A, const float *B, float *C) {{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row + col == 0 && X == {bad}) kill(getppid(), SIGKILL);
    if (row + col == 0) usleep({sleep_us});
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}}
"""


def write_kernel(workspace: Any, bad: int = -1, sleep_us: int = 0) -> None:
    values = ", ".join(map(str, range(VARIANTS)))
    text = KERNEL.format(values=values, bad=bad, sleep_us=sleep_us)
    (workspace.folder / "variants.cu").write_text(text)


def rows_of(workspace: Any, name: str = "out.json") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((workspace.folder / name).read_text())["results"]
    return rows


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the worker processes of a command."""
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    numbers = [int(number) for path in children for number in path.read_text().split()]
    return [n for n in numbers if b"worker_process" in Path(f"/proc/{n}/cmdline").read_bytes()]


def wait_for_journal(workspace: Any, process: subprocess.Popen[bytes], rows: int) -> None:
    path, deadline = workspace.folder / "out.json.journal", time.monotonic() + 60
    while process.poll() is None and (not path.exists() or path.read_bytes().count(b"\n") <= rows):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows without durations, and without the figures that an interrupted run does not compute."""
    return [{k: value for k, value in row.items() if "ms" not in k and k != "exact"} for row in rows]


@pytest.mark.slow
def test_several_processes_give_the_rows_of_one(workspace: Any) -> None:
    write_kernel(workspace, bad=-1)
    sizes = " ".join(f"-n {size}" for size in (8, 9, 10))
    for device in ("cpu", "cpu,cpu,cpu"):
        for command in ("verify", "sweep"):
            line = f"{command} --kernel variants.cu {sizes} -D X=0:{COMPARED - 1} --device {device}"
            completed = workspace.run(f"{line} --json {command}-{len(device)}.json")
            assert completed.status == 0, completed.stderr
    for command in ("verify", "sweep"):
        one, three = (comparable(rows_of(workspace, f"{command}-{n}.json")) for n in (3, 11))
        assert one == three and len(one) == 3 * COMPARED
    workspace.assert_nothing_left()


@pytest.mark.slow
def test_a_variant_that_kills_three_workers_is_the_only_failed_row(workspace: Any) -> None:
    write_kernel(workspace, bad=7)
    completed = workspace.run("sweep --kernel variants.cu -n 8 --device cpu,cpu,cpu --json out.json")
    assert completed.status == 1, completed.stderr
    rows = rows_of(workspace)
    assert [row["params"]["X"] for row in rows if row["status"] != "ok"] == [7]
    assert "killed by SIGKILL (3 times in a row)" in rows[7]["reason"]
    assert len(rows) == VARIANTS
    workspace.assert_nothing_left()


@pytest.mark.slow
def test_a_hang_costs_its_row_while_the_other_processes_go_on(workspace: Any) -> None:
    sizes = " ".join(f"-n 32x32x{100 + fault}" for fault in (0, 9, *range(50, 70)))
    completed = workspace.run(
        f"verify --device cpu,cpu --timeout 1 --kernel {FAULTS} -D FAULT=100 {sizes} --json out.json"
    )
    assert completed.status == 1, completed.stderr
    rows = rows_of(workspace)
    assert [row["k"] for row in rows if row["status"] == "failed"] == [109]
    # The other process runs further sizes until the hang is known; then they are skipped.
    assert len(rows) == 22 and [row["status"] for row in rows].count("ok") > 2
    workspace.assert_nothing_left()


@pytest.mark.slow
@pytest.mark.parametrize("killed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_killed_workers_cost_no_row(workspace: Any, killed: int) -> None:
    write_kernel(workspace, sleep_us=100_000)
    process = workspace.start("sweep --kernel variants.cu -n 8 --device cpu,cpu,cpu --json out.json")
    wait_for_journal(workspace, process, rows=3)
    workers = workers_of(process)
    assert len(workers) == 3
    for number in workers[:killed]:
        os.kill(number, signal.SIGKILL)
    completed = workspace.wait_for(process)
    assert completed.status == 0, completed.stderr
    assert [row["params"]["X"] for row in rows_of(workspace)] == list(range(VARIANTS))
    workspace.assert_nothing_left()


@pytest.mark.long
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_keeps_the_rows_so_far_and_resume_goes_on(
    workspace: Any, number: int, status: int
) -> None:
    write_kernel(workspace, sleep_us=100_000)
    line = "sweep --kernel variants.cu -n 8 --resume out.json --device "
    process = workspace.start(f"{line} cpu,cpu,cpu")
    wait_for_journal(workspace, process, rows=3)
    begun = time.monotonic()
    process.send_signal(number)
    completed = workspace.wait_for(process)
    assert completed.status == status and time.monotonic() - begun < 3
    before = rows_of(workspace)
    assert 3 <= len(before) < VARIANTS
    workspace.assert_nothing_left()
    completed = workspace.run(f"{line} cpu,cpu")
    assert completed.status == 0, completed.stderr
    after = rows_of(workspace)
    assert [row["params"]["X"] for row in after] == list(range(VARIANTS))
    kept = comparable(after)
    assert all(row in kept for row in comparable(before))


@pytest.mark.long
def test_a_killed_command_leaves_its_journal_and_no_process(workspace: Any) -> None:
    write_kernel(workspace, sleep_us=100_000)
    line = "sweep --kernel variants.cu -n 8 --resume out.json --device cpu,cpu,cpu"
    process = workspace.start(line)
    wait_for_journal(workspace, process, rows=3)
    os.kill(workers_of(process)[0], signal.SIGKILL)  # its replacement is started by another thread
    time.sleep(0.5)
    process.kill()
    process.communicate()
    workspace.assert_no_process_runs()
    completed = workspace.run(line)
    assert completed.status == 0, completed.stderr
    assert [row["params"]["X"] for row in rows_of(workspace)] == list(range(VARIANTS))
    assert "results were in out.json already" in completed.stdout
