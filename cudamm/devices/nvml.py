"""Read a GPU's clock, power, temperature and users from NVML, the management library of NVIDIA's driver.

NVML is called through nvidia-ml-py (the module `pynvml`). No call changes a setting. Names and units are
those of NVIDIA's NVML API Reference Guide, “Device Queries”.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import ModuleType, TracebackType
from typing import Any

from cudamm.errors import KernelError, NoDeviceError

# Reasons why a GPU is throttled: names of bits of nvmlClocksEventReasons (until driver 535:
# nvmlClocksThrottleReasons), and their descriptions. Idling, application clocks, display clocks and sync
# boost are left out: an idle GPU has no work, and the others are settings that somebody chose.
_REASONS = (
    ("SwPowerCap", "power cap"),
    ("SwThermalSlowdown", "thermal slowdown"),
    ("HwThermalSlowdown", "thermal slowdown"),
    ("HwSlowdown", "hardware slowdown"),
    ("HwPowerBrakeSlowdown", "power brake"),
)
_PREFIXES = ("nvmlClocksEventReason", "nvmlClocksThrottleReason")

# New and old name of the same call: drivers before 535 have only the old one.
_REASON_CALLS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")

# Errors of NVML if a GPU, a driver or a virtual machine does not support a query; other errors are failures.
_UNSUPPORTED = (
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
    """The state of a GPU at one moment; None for values that NVML does not report.

    Attributes:
        throttle_reasons: reasons why the GPU is throttled; empty if it is not.
        power_w: power of the board, in watts.
        power_limit_w: the smallest of all limits that are set.
        default_power_limit_w: the limit if nobody sets one.
        persistence: whether the driver stays loaded while no program uses the GPU.
        memory_free_bytes: device memory that no program has allocated.
        memory_total_bytes: device memory, including memory that the driver reserves.
        processes: ids of the other programs that compute on the GPU. The ids are those of the host: in a
            container, this program itself is listed as another program.
        compute_mode: programs that may use the GPU: `default` (all), `exclusive process`, `exclusive thread`,
            `prohibited` (none).
        ecc: whether memory errors are corrected.
        ecc_corrected: memory errors since the driver was loaded that were corrected.
        ecc_uncorrected: memory errors since the driver was loaded that were not corrected.
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
    ecc_corrected: int | None = None
    ecc_uncorrected: int | None = None
    mig: bool | None = None


def open_monitor(pci_bus_id: str) -> Monitor | None:
    """Return the monitor of the GPU at a PCI address such as `0000:65:00.0`.

    Return None if nvidia-ml-py is not installed, or if NVML does not work or does not list the GPU, as in
    some containers. `Monitor` raises an error with the reason.
    """
    try:
        return Monitor(pci_bus_id)
    except NoDeviceError:
        return None


class Monitor:
    """A connection to NVML for one GPU, until `close`.

    A query returns None if NVML does not support it on this machine, and raises KernelError if NVML fails.
    `sm_clock_mhz` and `throttle_reasons` are one NVML call each, so that they can be called between the
    samples of a measurement.
    """

    def __init__(self, pci_bus_id: str) -> None:
        """Connect to NVML. Raises NoDeviceError, with the reason, if NVML cannot be used for this GPU."""
        self._nvml = nvml = _import_nvml()
        self._unsupported = {getattr(nvml, name) for name in _UNSUPPORTED if hasattr(nvml, name)}
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
        """Return the current clock of the multiprocessors."""
        return self._integer("nvmlDeviceGetClockInfo", self._nvml.NVML_CLOCK_SM)

    def throttle_reasons(self) -> tuple[str, ...]:
        """Return the reasons why the GPU is throttled now; empty if it is not, or if NVML reports nothing."""
        bits = self._integer(self._reasons_call) if self._reasons_call else None
        return tuple(dict.fromkeys(words for bit, words in self._reasons if bits is not None and bits & bit))

    def state(self) -> GpuState:
        """Return the current values of everything that can disturb a measurement."""
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
            ecc_corrected=self._ecc_errors("NVML_MEMORY_ERROR_TYPE_CORRECTED"),
            ecc_uncorrected=self._ecc_errors("NVML_MEMORY_ERROR_TYPE_UNCORRECTED"),
            mig=self._current("nvmlDeviceGetMigMode"),
        )

    def uuid(self) -> str:
        """Return the GPU's unique name `GPU-…`, which does not depend on the machine."""
        return self._uuid

    def driver_version(self) -> str:
        """Return the driver's version, such as `580.65.06`."""
        return self._driver_version

    def close(self) -> None:
        """Close the connection; NVML counts its connections in the process."""
        if not self._is_open:
            return
        self._is_open = False
        try:
            self._nvml.nvmlShutdown()
        except self._nvml.NVMLError as error:
            raise KernelError(f"NVML cannot be shut down: {error}") from None

    def __enter__(self) -> Monitor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: str, *arguments: object) -> Any:
        """Return the result of a query; None if NVML does not support it or nvidia-ml-py has no such call."""
        function = getattr(self._nvml, call, None)
        if function is None:
            return None
        try:
            return function(self._handle, *arguments)
        except self._nvml.NVMLError as error:
            if getattr(error, "value", None) in self._unsupported:
                return None
            raise KernelError(f"the GPU's state cannot be read ({call}: {error})") from None

    def _integer(self, call: str, *arguments: object) -> int | None:
        answer = self._ask(call, *arguments)
        return None if answer is None else int(answer)

    def _ecc_errors(self, kind: str) -> int | None:
        """Return the number of memory errors of a kind since the driver was loaded."""
        constants = [getattr(self._nvml, name, None) for name in (kind, "NVML_VOLATILE_ECC")]
        return None if None in constants else self._integer("nvmlDeviceGetTotalEccErrors", *constants)

    def _current(self, call: str) -> bool | None:
        """Return the current state of a mode; NVML reports it together with the state after a reset."""
        modes = self._ask(call)
        return None if modes is None else bool(modes[0])

    def _working_reasons_call(self) -> str:
        """Return the name of the call for throttle reasons that this driver supports; empty if none."""
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
    """Return the bit and the description of each reason; the constants have new or old names."""
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
