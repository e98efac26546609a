"""Doctor and the monitor on a machine with a GPU."""

import subprocess
import sys

import pytest

from cudamm.devices.doctor import probe_state
from cudamm.devices.gpu_device import import_driver
from cudamm.devices.nvml import open_monitor, why_no_monitor

pytestmark = pytest.mark.gpu


def test_doctor_says_that_bench_can_run():
    command = [sys.executable, "-m", "cudamm", "doctor"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "can run on gpu:0" in ended.stdout


def test_the_monitor_reads_this_gpu():
    pci_bus_id = import_driver().Device(0).pci_bus_id()
    monitor = open_monitor(pci_bus_id)
    assert monitor is not None, why_no_monitor(pci_bus_id)
    with monitor:
        assert monitor.uuid().startswith("GPU-")
        clock_mhz = monitor.sm_clock_mhz()
        assert clock_mhz is not None and 100 <= clock_mhz <= 4000
        state = probe_state(monitor)
        assert state.memory_total_bytes is None or state.memory_free_bytes <= state.memory_total_bytes
