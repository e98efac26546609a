"""`roofline` on a GPU."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu


def roofline(*arguments):
    """Run `cudamm roofline` on the GPU in a process and return its JSON document."""
    command = [sys.executable, "-m", "cudamm", "roofline", "--device", "gpu", "--json", "-", *arguments]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def test_every_method_lies_under_the_measured_rooflines():
    document = roofline("-n", "1024", "--runs", "5", "--timeout", "120")
    device = document["device"]
    assert device["peak_from"].startswith("measured") and device["bandwidth_from"].startswith("measured")
    rows = {row["method"]: row for row in document["results"] if row["method"] != "cublas"}
    assert "numpy" not in rows and "cpu-simple" not in rows
    for name, row in rows.items():
        assert row["status"] == "ok" and row["correct"] is True, (name, row["reason"])
        # A higher share fails as impossible; the tolerance is the error of the ceilings.
        assert 0 < row["share_of_compulsory_bound"] < 1.05, name
        # The traffic of these two depends on where tiles are cut, so they have only the compulsory bound.
        assert (row["bound_gflops"] is None) == (name in ("stream-k", "bf16x9")), name
        if row["bound_gflops"] is not None:
            assert row["share_of_bound"] == pytest.approx(row["gflops"] / row["bound_gflops"])
    assert rows["naive"]["intensity"] == rows["coalesced"]["intensity"] == 0.25
    # Threads of a warp share loads, and blocks share them through L2, so the rate exceeds the memory's bound.
    assert rows["coalesced"]["share_of_bound"] > 1
    assert rows["block-coarse-local"]["share_of_bound"] < 0.1


def test_theoretical_ceilings_are_near_the_measured_ones():
    measured = roofline("-m", "tiled", "-n", "256", "--runs", "2")["device"]
    theoretical = roofline("-m", "tiled", "-n", "256", "--runs", "2", "--theoretical")["device"]
    assert f"{theoretical['multiprocessors']} SMs" in theoretical["peak_from"]
    for name in ("peak_gflops", "bandwidth_gbytes_per_s"):
        assert 0.5 < measured[name] / theoretical[name] < 1.05, name


def test_float64_is_compared_with_the_given_peak():
    document = roofline("-m", "tiled", "-n", "256", "--runs", "2", "--dtype", "float64",
                        "--peak", "30000", "--bandwidth", "4000")  # fmt: skip
    (row,) = document["results"]
    assert row["intensity"] == 4.0 and row["bound_gflops"] == 16_000
    assert row["share_of_bound"] == pytest.approx(row["gflops"] / 16_000)
