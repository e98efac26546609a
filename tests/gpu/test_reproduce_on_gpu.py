"""`reproduce` on an NVIDIA GPU: all products are right, and measured times decide every conclusion."""

import json
import subprocess
import sys

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.quiet]


def reproduced(name, *options):
    """Run `cudamm reproduce` in a process and return its record and the value of each conclusion."""
    command = [sys.executable, "-m", "cudamm", "reproduce", name, "--device", "gpu", "--json", "-", *options]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    (record,) = json.loads(completed.stdout)["results"]
    assert record["complete"] is True
    assert all(measured["correct"] is True for measured in record["measurements"])
    return record, {check["name"]: check["holds"] for check in record["checks"]}


def test_cmu_coalescing_and_sharing_are_faster():
    record, conclusions = reproduced("cmu", "-n", "1024")
    for name in ("coalescing-1024", "sharing-1024", "attempt-1-one-block"):
        assert conclusions[name] is True, name
    assert conclusions["order-1024"] is not None
    ratios = {row["label"]: row["ratio"] for row in record["rows"] if row["unit"] == "GFLOP/s"}
    assert set(ratios) == {"simple", "cosimple", "csimple", "block", "ccblock", "cblock"}
    assert all(ratio is not None and ratio > 0 for ratio in ratios.values())


def test_tsinghua_has_five_runs_per_row_and_decides_every_conclusion():
    record, conclusions = reproduced("tsinghua")
    assert conclusions["success"] is True
    assert None not in conclusions.values()
    assert all(len(measured["samples_ms"]) == 5 for measured in record["measurements"])
    assert all(row["ratio"] is not None for row in record["rows"])


@pytest.mark.parametrize("name", ["sheffield", "sjtu", "pmpp"])
def test_every_conclusion_of_the_other_courses_is_decided(name):
    _, conclusions = reproduced(name)
    assert conclusions["products-right"] is True
    assert None not in conclusions.values()
