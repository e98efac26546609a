"""What NVML, the NVIDIA driver's management library, says of a GPU: clock, power, temperature, who uses it.

It is asked through nvidia-ml-py (the module `pynvml`), and only asked: nothing here changes a setting.
Names and units are those of NVIDIA's NVML API Reference Guide, “Device Queries”.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from cudamm.errors import KernelError, NoDeviceError

# Why a GPU runs slower than it would by itself, in words: the bits of nvmlClocksEventReasons (until driver
# 535: nvmlClocksThrottleReasons). Idling, application clocks, display clocks and sync boost are no such
# reasons: the first is no work, the others are somebody's choice.
_REASONS = (
    ("SwPowerCap", "power cap"),
    ("SwThermalSlowdown", "thermal slowdown"),
    ("HwThermalSlowdown", "thermal slowdown"),
    ("HwSlowdown", "hardware slowdown"),
    ("HwPowerBrakeSlowdown", "power brake"),
)
_PREFIXES = ("nvmlClocksEventReason", "nvmlClocksThrottleReason")

# The same call under its new and its old name: drivers before 535 know the old one only.
_REASON_CALLS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")

# What NVML answers where a GPU, a driver or a virtual machine does not tell; the rest are failures.
_UNTOLD = (
    "NVML_ERROR_NOT_SUPPORTED",
    "NVML_ERROR_NO_PERMISSION",
    "NVML_ERROR_FUNCTION_NOT_FOUND",
    "NVML_ERROR_ARGUMENT_VERSION_MISMATCH",
)

_COMPUTE_MODES = {
    "NVML_COMPUTEMODE_DEFAULT": "default",
    "NVML_COMPUTEMODE_EXCLUSIVE_THREAD": "exclusive thread",
    "NVML_COMPUTEMODE_PROHIBITED": "prohibited",
    "NVML_COMPUTEMODE_EXCLUSIVE_PROCESS": "exclusive process",
}


@dataclass(frozen=True)
class GpuState:
    """What NVML says of a GPU at one moment; None for what it does not tell.

    Attributes:
        throttle_reasons: what makes the GPU slower than it would run by itself.
        power_w: what the board draws.
        power_limit_w: the smallest of all limits that are set.
        default_power_limit_w: the limit if nobody sets one.
        persistence: whether the driver stays loaded while no program uses the GPU.
        memory_free_bytes: device memory that no program has.
        memory_total_bytes: device memory, what the driver keeps for itself included.
        processes: ids of the other programs that compute on it. The ids are the host's: in a container, a
            program that uses the GPU itself is listed as another.
        compute_mode: who may use it: `default` (all), `exclusive process`, `exclusive thread`, `prohibited`.
        ecc: whether memory errors are corrected.
        mig: whether the GPU is divided into instances.
    """

    sm_clock_mhz: int | None = None
    max_sm_clock_mhz: int | None = None
    throttle_reasons: tuple[str, ...] = ()
    power_w: float | None = None
    power_limit_w: float | None = None
    default_power_limit_w: float | None = None
    temperature_c: int | None = None
    persistence: bool | None = None
    memory_free_bytes: int | None = None
    memory_total_bytes: int | None = None
    processes: tuple[int, ...] | None = None
    compute_mode: str | None = None
    ecc: bool | None = None
    mig: bool | None = None


def open_monitor(pci_bus_id: str) -> Monitor | None:
    """Return the monitor of the GPU at a PCI address such as `0000:65:00.0`.

    None if nvidia-ml-py is not installed, or NVML does not answer or does not know the GPU, as in some
    containers; `Monitor` raises, saying which.
    """
    try:
        return Monitor(pci_bus_id)
    except NoDeviceError:
        return None


class Monitor:
    """One GPU as NVML sees it, from here to `close`.

    Every question is answered with None where NVML says that it is not supported here, and raises
    KernelError where NVML fails. `sm_clock_mhz` and `throttle_reasons` are one NVML call each: they may be
    asked between the runs of a measurement.
    """

    def __init__(self, pci_bus_id: str) -> None:
        """Raises NoDeviceError, saying why, where NVML cannot be asked about this GPU."""
        self._nvml = nvml = _import_nvml()
        self._untold = {getattr(nvml, name) for name in _UNTOLD if hasattr(nvml, name)}
        self._reasons = _reason_bits(nvml)
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            raise NoDeviceError(f"NVML does not answer: {error}") from None
        self._is_open = True
        try:
            self._handle = nvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id)
            self._uuid = _text(nvml.nvmlDeviceGetUUID(self._handle))
            self._driver_version = _text(nvml.nvmlSystemGetDriverVersion())
        except nvml.NVMLError as error:
            self.close()
            raise NoDeviceError(f"NVML does not know the GPU at {pci_bus_id}: {error}") from None
        try:
            self._reasons_call = self._working_reasons_call()
        except KernelError as error:
            self.close()
            raise NoDeviceError(str(error)) from None

    def sm_clock_mhz(self) -> int | None:
        """The multiprocessors' clock at this moment."""
        return self._integer("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_SM)

    def throttle_reasons(self) -> tuple[str, ...]:
        """What makes the GPU slower at this moment than it would run by itself.

        Empty where nothing does, and where NVML does not tell.
        """
        bits = self._integer(self._reasons_call) if self._reasons_call else None
        return tuple(dict.fromkeys(words for bit, words in self._reasons if bits is not None and bits & bit))

    def state(self) -> GpuState:
        """Return everything that can disturb a measurement, read once."""
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses")
        mode = self._integer("nvmlDeviceGetComputeMode")
        modes = {getattr(self._nvml, name, None): words for name, words in _COMPUTE_MODES.items()}
        return GpuState(
            sm_clock_mhz=self.sm_clock_mhz(),
            max_sm_clock_mhz=self._integer("nvmlDeviceGetMaxClockInfo", self._nvml.NVML_CLOCK_SM),
            throttle_reasons=self.throttle_reasons(),
            power_w=_thousandth(self._integer("nvmlDeviceGetPowerUsage")),
            power_limit_w=_thousandth(self._integer("nvmlDeviceGetEnforcedPowerLimit")),
            default_power_limit_w=_thousandth(self._integer("nvmlDeviceGetPowerManagementDefaultLimit")),
            temperature_c=self._integer("nvmlDeviceGetTemperature", self._nvml.NVML_TEMPERATURE_GPU),
            persistence=_truth(self._integer("nvmlDeviceGetPersistenceMode")),
            memory_free_bytes=None if memory is None else int(memory.free),
            memory_total_bytes=None if memory is None else int(memory.total),
            processes=None
            if processes is None
            else tuple(int(process.pid) for process in processes if process.pid != os.getpid()),
            compute_mode=None if mode is None else modes.get(mode, f"mode {mode}"),
            ecc=self._current("nvmlDeviceGetEccMode"),
            mig=self._current("nvmlDeviceGetMigMode"),
        )

    def uuid(self) -> str:
        """The GPU's own name, `GPU-…`, the same on every machine it is put into."""
        return self._uuid

    def driver_version(self) -> str:
        """Such as `580.65.06`."""
        return self._driver_version

    def close(self) -> None:
        """Leave NVML, which counts how often it was entered."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError as error:
            raise KernelError(f"NVML cannot be left: {error}") from None

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: str, *arguments: object) -> Any:
        """NVML's answer; None where it does not tell, or where nvidia-ml-py has no such call."""
        function = getattr(self._nvml, call, None)
        if function is None:
            return None
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError as error:
            if getattr(error, "value", None) in self._untold:
                return None
            raise KernelError(f"the GPU's state cannot be read ({call}: {error})") from None

    def _integer(self, call: str, *arguments: object) -> int | None:
        answer = self._ask(call, *arguments)
        return None if answer is None else int(answer)

    def _current(self, call: str) -> bool | None:
        """Of a mode that is told as it is and as it will be after a reset, the first."""
        modes = self._ask(call)
        return None if modes is None else bool(modes[0])

    def _working_reasons_call(self) -> str:
        """Of the call's two names the one that this driver knows, found out once; empty if neither."""
        return next((call for call in _REASON_CALLS if self._ask(call) is not None), "")


def _import_nvml() -> Any:
    try:
        import pynvml
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "pynvml":
            raise NoDeviceError("nvidia-ml-py is not installed: pip install nvidia-ml-py") from None
        raise NoDeviceError(f"nvidia-ml-py cannot be loaded ({error}): reinstall it") from None
    return pynvml


def _reason_bits(nvml: ModuleType) -> tuple[tuple[int, str], ...]:
    """The bit of each reason, under the new name or the old one, and its words."""
    bits = (
        (next((getattr(nvml, p + name) for p in _PREFIXES if hasattr(nvml, p + name)), 0), words)
        for name, words in _REASONS
    )
    return tuple(bits)


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text  # bytes until nvidia-ml-py 11.5


def _thousandth(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _truth(state: int | None) -> bool | None:
    return None if state is None else bool(state)
