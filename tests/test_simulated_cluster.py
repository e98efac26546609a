"""The script benchmarks/simulated_cluster.py, run with few cases."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "simulated_cluster.py"

pytest.importorskip("distributed")


@pytest.mark.slow
def test_simulated_gpus_run_every_case() -> None:
    command = [sys.executable, str(SCRIPT), "--devices", "2", "--launch-ms", "0", "--cases", "40"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout.startswith("40 cases on 2 simulated GPUs")
    assert completed.stderr == ""
