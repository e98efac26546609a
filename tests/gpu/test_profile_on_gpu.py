"""Nsight Compute on a GPU. The tests skip themselves if ncu is missing or may not read the counters."""

import json
import subprocess
import sys

import pytest

from cudamm.compile.toolkit import find_ncu, find_nvcc

pytestmark = [pytest.mark.gpu, pytest.mark.quiet]


def profile(*arguments):
    """Run `cudamm profile` on the GPU in a process and return its rows."""
    if find_ncu(find_nvcc()) is None:
        pytest.skip("ncu was not found")
    command = [sys.executable, "-m", "cudamm", "profile", "--device", "gpu", "--json", "-", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if completed.returncode == 3 and (
        "ERR_NVGPUCTRPERM" in completed.stderr or "nothing here" in completed.stderr
    ):
        pytest.skip(completed.stderr.strip())
    assert completed.returncode == 0, completed.stderr + completed.stdout
    return json.loads(completed.stdout)["results"]


def test_coalesced_accesses_need_fewer_sectors_than_naive_ones():
    naive, coalesced = profile("-m", "naive,coalesced", "-n", "512")
    for row in (naive, coalesced):
        assert row["status"] == "ok" and row["correct"] is True and row["bound"] is not None
        # Each multiply-add of the product is one FFMA of a thread.
        assert row["ffma_instructions"] == pytest.approx(512**3, rel=0.01)
        assert 0 < row["duration_ms"] < 1000
        assert 0 < row["achieved_occupancy_percent"] <= 100
        assert row["dram_read_bytes"] > 0
    assert naive["load_sectors_per_request"] > 2 * coalesced["load_sectors_per_request"]
    assert naive["store_sectors_per_request"] > coalesced["store_sectors_per_request"] == 4
    assert any("not coalesced" in finding for finding in naive["findings"])
    assert not any("not coalesced" in finding for finding in coalesced["findings"])


def test_padding_removes_bank_conflicts():
    plain, padded = profile("-m", "tiled-padded", "-D", "PAD=0,1", "-n", "512")
    conflicts = [row["shared_load_conflicts"] + row["shared_store_conflicts"] for row in (plain, padded)]
    assert conflicts[0] > 2 * conflicts[1]


def test_methods_on_tensor_cores_keep_them_busy_and_others_do_not():
    mma, tiled = (profile("-m", name, "-n", "2048", "--dtype", "float16")[0] for name in ("mma", "tiled"))
    assert mma["tensor_pipe_percent"] > 20
    # Addresses are computed by the units of multiply-adds too.
    assert mma["tensor_pipe_percent"] > mma["fma_pipe_percent"]
    assert tiled["tensor_pipe_percent"] < 1 < tiled["fma_pipe_percent"]
    (dmma,) = profile("-m", "dmma", "-n", "2048")
    assert dmma["tensor_pipe_percent"] > 20
