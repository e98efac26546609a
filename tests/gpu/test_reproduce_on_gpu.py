"""The courses' runs on an NVIDIA GPU: all is right, and every conclusion is decided by measured times."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.gpu


def reproduced(name, *options):
    """The record of a source, run as a user does."""
    command = [sys.executable, "-m", "cudamm", "reproduce", name, "--device", "gpu", "--json", "-", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["results"]
    assert record["complete"] is True
    assert all(measured["correct"] is True for measured in record["measurements"])
    return record, {check["name"]: check["holds"] for check in record["checks"]}


def test_coalescing_and_sharing_are_faster():
    record, held = reproduced("cmu", "-n", "1024")
    assert held["coalescing-1024"] is held["sharing-1024"] is held["attempt-1-one-block"] is True
    assert held["order-1024"] is not None
    ratios = {row["label"]: row["ratio"] for row in record["rows"] if row["unit"] == "GFLOP/s"}
    assert set(ratios) == {"simple", "cosimple", "csimple", "block", "ccblock", "cblock"}
    assert all(ratio is not None and ratio > 0 for ratio in ratios.values())


def test_a_sweep_is_five_runs_and_has_a_shape():
    record, held = reproduced("tsinghua")
    assert held["success"] is True
    assert None not in held.values()
    assert all(len(measured["samples_ms"]) == 5 for measured in record["measurements"])
    assert all(row["ratio"] is not None for row in record["rows"])


@pytest.mark.parametrize("name", ["sheffield", "sjtu", "pmpp"])
def test_nothing_is_left_undecided(name):
    _, held = reproduced(name)
    assert held["products-right"] is True
    assert None not in held.values()
