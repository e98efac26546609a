"""`roofline` on a GPU."""

import json
import subprocess
import sys

import pytest

from cudamm.benchmark.theoretical_rates import TENSOR_TYPES

pytestmark = [pytest.mark.gpu, pytest.mark.quiet]


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


def test_theoretical_bandwidth_is_near_the_measured_one():
    measured, theoretical = (
        roofline("-m", "tiled", "-n", "256", "--runs", "2", *option)["device"]["bandwidth_gbytes_per_s"]
        for option in ([], ["--theoretical"])
    )
    assert 0.5 < measured / theoretical < 1.02


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "tf32", "float8_e4m3"])
def test_each_measured_peak_is_near_the_theoretical_one(gpu, dtype):
    if dtype in TENSOR_TYPES and gpu.architecture.capability < TENSOR_TYPES[dtype][0]:
        pytest.skip(f"the tensor cores of this GPU do not have {dtype}")
    run = "-m", "mma-tf32" if dtype == "tf32" else "naive", "-n", "256", "--runs", "2", "--dtype", dtype
    measured, theoretical = (
        {peak["unit"]: peak for peak in roofline(*run, *option)["device"]["peaks"]}
        for option in ([], ["--theoretical"])
    )
    # No document has the rate of the tensor cores of some GPUs, and no kernel measures that of some others.
    assert measured.keys() & theoretical.keys(), "no peak can be compared"
    for unit in measured.keys() & theoretical.keys():
        share = measured[unit]["gflops"] / theoretical[unit]["gflops"]
        assert 0.5 < share < 1.02, (unit, share, measured[unit])
        assert measured[unit]["clock_mhz"] is None or measured[unit]["clock_mhz"] > 500


def test_a_peak_follows_from_the_clock_that_was_read_under_its_load(gpu):
    """The operations of a multiprocessor in a clock cycle are a property of the architecture."""
    architecture = gpu.architecture
    per_cycle = {
        ("FMA", "float32"): architecture.fp32_per_cycle,
        ("FMA", "float64"): architecture.fp64_per_cycle,
        ("FMA", "int32"): architecture.int32_per_cycle,
        ("tensor cores", "float64"): architecture.tensor_fp64_per_cycle,
    }
    if architecture.tensor_fp16_per_cycle is not None:
        for element_type, (_, times) in TENSOR_TYPES.items():
            per_cycle["tensor cores", element_type] = architecture.tensor_fp16_per_cycle * times
    for peak in (gpu.ceilings().fma_peak, *gpu.other_peaks()):
        expected = per_cycle.get((peak.unit, peak.element_type))
        if expected is None or peak.clock_mhz is None:
            continue
        found = peak.gflops * 1e3 / (2 * architecture.multiprocessors * peak.clock_mhz)
        assert 0.5 < found / expected < 1.1, (peak, found, expected)


def test_dmma_is_compared_with_the_tensor_cores_and_tiled_with_multiply_adds():
    document = roofline("-m", "tiled,dmma", "-n", "1024", "--runs", "5", "--dtype", "float64")
    peaks = {peak["unit"]: peak["gflops"] for peak in document["device"]["peaks"]}
    tiled, dmma = document["results"]
    assert (tiled["unit"], tiled["peak_gflops"]) == ("FMA", peaks["FMA"])
    if "tensor cores" not in peaks:
        pytest.skip("this GPU has no tensor cores for float64")
    assert (dmma["unit"], dmma["peak_gflops"]) == ("tensor cores", peaks["tensor cores"])
    assert 0 < dmma["share_of_compulsory_bound"] < 1.02


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "tf32", "float8_e4m3"])
def test_methods_of_narrow_types_lie_under_the_peak_of_the_tensor_cores(dtype):
    document = roofline("-n", "2048", "--runs", "3", "--dtype", dtype, "--timeout", "120")
    for row in document["results"]:
        assert row["unit"] == "tensor cores" and row["status"] == "ok", (row["method"], row["reason"])
        assert 0 < row["share_of_compulsory_bound"] < 1.02, row["method"]


def test_float64_is_compared_with_the_given_peak():
    document = roofline("-m", "tiled", "-n", "256", "--runs", "2", "--dtype", "float64",
                        "--peak", "30000", "--bandwidth", "4000")  # fmt: skip
    (row,) = document["results"]
    assert row["intensity"] == 4.0 and row["bound_gflops"] == 16_000
    assert row["share_of_bound"] == pytest.approx(row["gflops"] / 16_000)
