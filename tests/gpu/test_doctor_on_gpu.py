"""`doctor` and the NVML monitor on a machine with a GPU."""

import subprocess
import sys

import pytest

from cudamm.devices.gpu_device import import_driver
from cudamm.devices.nvml import Monitor

pytestmark = pytest.mark.gpu


def test_doctor_reports_that_bench_can_run():
    command = [sys.executable, "-m", "cudamm", "doctor"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert "can run on gpu:0" in completed.stdout


def test_the_monitor_reads_this_gpu():
    pci_bus_id = import_driver().Device(0).pci_bus_id()
    with Monitor(pci_bus_id) as monitor:
        assert monitor.uuid().startswith("GPU-")
        clock_mhz = monitor.sm_clock_mhz()
        assert clock_mhz is not None and 100 <= clock_mhz <= 4000
        state = monitor.state()
        assert state.memory_total_bytes is None or state.memory_free_bytes <= state.memory_total_bytes
