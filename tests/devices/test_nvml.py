"""The GPU monitor, with a stand-in for nvidia-ml-py that answers as in NVML's reference guide."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cudamm.devices.nvml import GpuState, Monitor, open_monitor
from cudamm.errors import KernelError, NoDeviceError

PCI = "0000:65:00.0"
BITS = {
    "GpuIdle": 0x1, "ApplicationsClocksSetting": 0x2, "SwPowerCap": 0x4, "HwSlowdown": 0x8, "SyncBoost": 0x10,
    "SwThermalSlowdown": 0x20, "HwThermalSlowdown": 0x40, "HwPowerBrakeSlowdown": 0x80,
    "DisplayClockSetting": 0x100,
}  # fmt: skip
NOT_SUPPORTED, NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST = 3, 6, 13, 15


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


class Nvml(ModuleType):
    """A stand-in for nvidia-ml-py with one GPU. Calls return `answers` and raise `failures`, by name."""

    def __init__(self, names: str = "Event") -> None:
        super().__init__("pynvml")
        self.calls: list[str] = []
        self.depth = 0
        self.failures: dict[str, int] = {}
        self.answers: dict[str, Any] = {
            "nvmlDeviceGetHandleByPciBusId": "handle",
            "nvmlDeviceGetUUID": "GPU-1234",
            "nvmlSystemGetDriverVersion": "580.65.06",
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetMaxClockInfo": 2100,
            f"nvmlDeviceGetCurrentClocks{names}Reasons": 0,
            "nvmlDeviceGetPowerUsage": 68_500,
            "nvmlDeviceGetEnforcedPowerLimit": 500_000,
            "nvmlDeviceGetPowerManagementDefaultLimit": 700_000,
            "nvmlDeviceGetTemperature": 41,
            "nvmlDeviceGetPersistenceMode": 0,
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(free=70, total=80, used=10),
            "nvmlDeviceGetComputeRunningProcesses": [
                SimpleNamespace(pid=os.getpid(), usedGpuMemory=1),
                SimpleNamespace(pid=4_000_001, usedGpuMemory=512),
                SimpleNamespace(pid=4_000_002, usedGpuMemory=None),
            ],
            "nvmlDeviceGetComputeMode": 3,
            "nvmlDeviceGetEccMode": [1, 0],
            "nvmlDeviceGetMigMode": [0, 1],
            "nvmlDeviceGetTotalEccErrors": 5,
        }
        self.NVMLError = NVMLError
        self.NVML_CLOCK_SM, self.NVML_TEMPERATURE_GPU = 1, 0
        self.NVML_ERROR_NOT_SUPPORTED = NOT_SUPPORTED
        self.NVML_ERROR_FUNCTION_NOT_FOUND = FUNCTION_NOT_FOUND
        self.NVML_MEMORY_ERROR_TYPE_CORRECTED, self.NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 0, 1
        self.NVML_VOLATILE_ECC = 0
        self.NVML_COMPUTEMODE_DEFAULT, self.NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 0, 3
        for name, bit in BITS.items():
            setattr(self, f"nvmlClocks{names}Reason{name}", bit)

    def nvmlInit(self) -> None:  # noqa: N802 - as NVML calls it
        self._fail("nvmlInit")
        self.depth += 1

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.depth -= 1

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a function that the stand-in's version of nvidia-ml-py has."""
        if name not in self.__dict__.get("answers", {}) and name not in self.__dict__.get("failures", {}):
            raise AttributeError(name)
        return lambda *arguments: self._answer(name)

    def _answer(self, name: str) -> Any:
        self.calls.append(name)
        self._fail(name)
        return self.answers[name]

    def _fail(self, name: str) -> None:
        if name in self.failures:
            raise NVMLError(self.failures[name])


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Nvml:
    module = Nvml()
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def opened() -> Monitor:
    monitor = open_monitor(PCI)
    assert monitor is not None
    return monitor


def test_values_have_the_units_of_their_names(nvml: Nvml) -> None:
    with opened() as monitor:
        state = monitor.state()
        assert (monitor.sm_clock_mhz(), state.sm_clock_mhz, state.max_sm_clock_mhz) == (1980, 1980, 2100)
        assert (state.power_w, state.power_limit_w) == (68.5, 500.0)
        assert state.default_power_limit_w == 700.0
        assert state.temperature_c == 41
        assert (state.ecc_corrected, state.ecc_uncorrected) == (5, 5)
        assert (state.memory_free_bytes, state.memory_total_bytes) == (70, 80)
        assert (monitor.uuid(), monitor.driver_version()) == ("GPU-1234", "580.65.06")


def test_modes_are_the_current_ones_and_not_those_after_a_reset(nvml: Nvml) -> None:
    with opened() as monitor:
        state = monitor.state()
        assert state.ecc is True
        assert state.mig is False
        assert state.persistence is False
        assert state.compute_mode == "exclusive process"


@pytest.mark.parametrize("names", ["Event", "Throttle"])
@pytest.mark.parametrize(
    ("set_", "words"),
    [
        ((), ()),
        (("GpuIdle", "ApplicationsClocksSetting", "DisplayClockSetting", "SyncBoost"), ()),
        (("SwPowerCap", "GpuIdle"), ("power cap",)),
        (("SwThermalSlowdown", "HwThermalSlowdown"), ("thermal slowdown",)),
        (("HwThermalSlowdown",), ("thermal slowdown",)),
        (("HwSlowdown", "HwPowerBrakeSlowdown"), ("hardware slowdown", "power brake")),
    ],
)
def test_only_conditions_that_slow_a_gpu_are_throttle_reasons(
    monkeypatch: pytest.MonkeyPatch, names: str, set_: tuple[str, ...], words: tuple[str, ...]
) -> None:
    module = Nvml(names)
    monkeypatch.setitem(sys.modules, "pynvml", module)
    module.answers[f"nvmlDeviceGetCurrentClocks{names}Reasons"] = sum(BITS[name] for name in set_)
    with opened() as monitor:
        assert monitor.throttle_reasons() == words


def test_a_new_nvidia_ml_py_on_an_old_driver_uses_the_old_call(nvml: Nvml) -> None:
    nvml.failures["nvmlDeviceGetCurrentClocksEventReasons"] = FUNCTION_NOT_FOUND
    nvml.answers["nvmlDeviceGetCurrentClocksThrottleReasons"] = BITS["SwPowerCap"]
    with opened() as monitor:
        assert monitor.throttle_reasons() == ("power cap",)


def test_the_clock_and_the_throttle_reasons_are_one_call_each(nvml: Nvml) -> None:
    with opened() as monitor:
        nvml.calls.clear()
        monitor.sm_clock_mhz()
        monitor.throttle_reasons()
    assert nvml.calls == ["nvmlDeviceGetClockInfo", "nvmlDeviceGetCurrentClocksEventReasons"]


def test_other_processes_exclude_the_own_process(nvml: Nvml) -> None:
    with opened() as monitor:
        assert monitor.state().processes == (4_000_001, 4_000_002)


def test_unsupported_values_are_none(nvml: Nvml) -> None:
    gpu_calls = [name for name in nvml.answers if name.startswith("nvmlDeviceGet")]
    opening = ("nvmlDeviceGetHandleByPciBusId", "nvmlDeviceGetUUID")
    nvml.failures = dict.fromkeys((n for n in gpu_calls if n not in opening), NOT_SUPPORTED)
    with opened() as monitor:
        assert monitor.state() == GpuState()
        assert monitor.sm_clock_mhz() is None


def test_a_lost_gpu_is_an_error(nvml: Nvml) -> None:
    with opened() as monitor:
        nvml.failures["nvmlDeviceGetClockInfo"] = GPU_IS_LOST
        with pytest.raises(KernelError, match="error 15"):
            monitor.sm_clock_mhz()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("nvmlInit", "does not answer"),
        ("nvmlDeviceGetHandleByPciBusId", PCI),
        ("nvmlDeviceGetCurrentClocksEventReasons", "state cannot be read"),
    ],
)
def test_a_monitor_that_cannot_open_leaves_nvml_closed(nvml: Nvml, call: str, words: str) -> None:
    nvml.failures[call] = NOT_FOUND
    assert open_monitor(PCI) is None
    with pytest.raises(NoDeviceError, match=words):
        Monitor(PCI)
    assert nvml.depth == 0


def test_closing_twice_shuts_nvml_down_once(nvml: Nvml) -> None:
    with opened() as other:
        monitor = opened()
        monitor.close()
        monitor.close()
        assert nvml.depth == 1
        assert other.sm_clock_mhz() == 1980
    assert nvml.depth == 0


def test_without_nvidia_ml_py_the_message_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert open_monitor(PCI) is None
    with pytest.raises(NoDeviceError, match="pip install nvidia-ml-py"):
        Monitor(PCI)
