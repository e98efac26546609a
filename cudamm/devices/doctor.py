"""Whether `bench` can run on this machine, what stops it, and what would spoil its times.

What is there (functions that probe) is kept apart from what it means (functions named `judge_…`, which take
plain values and ask nothing). A finding with status `error` is one that stops bench on the device asked for;
all others let it run.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cudamm import __version__
from cudamm.devices.nvml import Monitor, open_monitor, why_no_monitor
from cudamm.errors import CudammError, NoDeviceError, UsageError
from cudamm.kernels.architecture import ARCHITECTURES

Status = Literal["ok", "warning", "error", "missing"]
Release = tuple[int, int]
"""Of CUDA, such as (13, 0)."""

GIB = 2**30

# Below these, a run may fail half-way. A program in the cache takes up to a megabyte, and there are hundreds.
LOW_DISK_BYTES = GIB // 2
LOW_MEMORY_BYTES = GIB

PROBE_BYTES = 64 * 1024
"""Written to a folder to see whether it takes files: more than a full disk has left for small ones."""

BUSY_SHARE = 0.5
"""Of the cores: a load average above it leaves the CPU device and the compilers too few."""

NEEDED = ("numpy", "click", "rich")

VARIABLES = {
    "CUDA_VISIBLE_DEVICES": "only the GPUs it lists are seen, renumbered from gpu:0",
    "CUDA_LAUNCH_BLOCKING": "every launch waits for its end, so short kernels seem slower",
    "NVCC_APPEND_FLAGS": "every kernel is compiled with these options too, which may change its speed",
    "NVCC_PREPEND_FLAGS": "every kernel is compiled with these options too, which may change its speed",
}


BROKEN: tuple[type[Exception], ...] = (
    CudammError,
    OSError,
    ImportError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RuntimeError,
)
"""What a check may end with on a machine that is not as it should be: a finding, and no traceback."""


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was looked at.

    Attributes:
        status: `error` where it stops bench; `missing` where it is not there and bench does without.
        found: what there is, on one line.
        advice: what the user can do; empty where there is nothing to do.
    """

    subject: str
    status: Status
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Gpu:
    """A GPU that CUDA lists.

    Attributes:
        pci_bus_id: as `0000:65:00.0`.
    """

    index: int
    name: str
    capability: Release
    pci_bus_id: str


@dataclass(frozen=True)
class Driver:
    """NVIDIA's driver.

    Attributes:
        version: such as `580.65.06`; empty where it is not known.
        cuda: the newest CUDA that it supports; None where its library cannot be loaded.
        failure: what the loader said then.
    """

    version: str
    cuda: Release | None
    failure: str = ""


@dataclass(frozen=True)
class PyCuda:
    """PyCUDA, and the GPUs that it finds.

    Attributes:
        version: None where it is not installed.
        built_for: the CUDA it was built with; None where it cannot be loaded.
        failure: why it finds no GPU.
    """

    version: str | None
    built_for: Release | None = None
    gpus: tuple[Gpu, ...] = ()
    failure: str = ""


@dataclass(frozen=True)
class Nvcc:
    """The CUDA compiler.

    Attributes:
        architectures: that it compiles for, such as `sm_90`.
        failure: why there is none, or why it does not work.
        host_failure: why it cannot use a C++ compiler.
    """

    path: str | None
    release: Release | None = None
    architectures: tuple[str, ...] = ()
    failure: str = ""
    host_failure: str = ""


@dataclass(frozen=True)
class GpuState:
    """What NVML says of a GPU; None where it does not tell."""

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


def examine(spec: str = "auto") -> list[Diagnosis]:
    """Look at everything that bench on a device needs, or that changes its times.

    Args:
        spec: the device, as `--device` takes it.

    Raises:
        UsageError: the name means no device.
    """
    from cudamm.devices.find_device import is_left_out

    findings = [judge_python(platform.python_version()), *map(judge_package, NEEDED, map(version_of, NEEDED))]
    driver, pycuda = probe_driver(), probe_pycuda()
    # A machine that has a GPU is to use it, working or not.
    on_gpu = spec != "cpu" and (spec != "auto" or bool(pycuda.gpus) or is_left_out())
    gpu = chosen(pycuda.gpus, spec)
    findings += _guarded("NVIDIA driver", lambda: [judge_driver(driver, on_gpu)])
    findings += _guarded("PyCUDA", lambda: judge_pycuda(pycuda, driver, on_gpu))
    findings += _guarded("nvidia-ml-py", lambda: [judge_nvml(version_of("nvidia-ml-py"), gpu, on_gpu)])
    findings += _guarded("nvmath-python", lambda: [judge_nvmath(version_of("nvmath-python"), on_gpu)])
    findings += _guarded("nvcc", lambda: judge_nvcc(probe_nvcc(), driver.cuda, gpu, on_gpu))
    findings += _guarded("C++ compiler", lambda: [judge_host_compiler(*probe_host_compiler(), on_gpu)])
    if gpu is not None and spec != "cpu":
        findings += _guarded("GPU's state", lambda: probe_and_judge_state(gpu))
    findings += _guarded("environment", lambda: judge_environment(os.environ))
    findings += _guarded("cache folder", lambda: [judge_folder("cache folder", *probe_cache_folder())])
    findings += _guarded("temporary folder", lambda: [judge_folder("temporary folder", *probe_temporary())])
    findings += _guarded("shared memory", lambda: [judge_shared_memory(probe_shared_memory(), on_gpu)])
    findings += _guarded("host memory", lambda: [judge_memory("host memory", probe_host_memory(), None)])
    findings += _guarded("processor", lambda: judge_processor(*probe_processor()))
    # Last, when all that NVML says has been read: it is what bench does first, and wakes the GPU.
    findings.append(judge_device(*probe_device(spec), findings))
    return findings


def can_bench(findings: Sequence[Diagnosis]) -> bool:
    """Whether bench can run on the device that was asked for."""
    return not any(finding.status == "error" for finding in findings)


def most_important(findings: Sequence[Diagnosis]) -> str:
    """Of what stops bench, the first advice: findings come in the order in which to mend them."""
    errors = [finding for finding in findings if finding.status == "error"]
    advised = [finding for finding in errors if finding.advice]
    return advised[0].advice if advised else errors[0].found if errors else ""


def _guarded(subject: str, check: Callable[[], Sequence[Diagnosis]]) -> Sequence[Diagnosis]:
    """A check's findings; where the check itself breaks, that is the finding."""
    try:
        return check()
    except BROKEN as error:
        return [Diagnosis(subject, "warning", f"could not be looked at ({_line(error)})")]


# Python and packages


def version_of(package: str) -> str | None:
    """An installed package's version."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def judge_python(version: str) -> Diagnosis:
    """What runs this."""
    return Diagnosis("Python", "ok", f"{version}, cudamm {__version__}")


def judge_package(package: str, version: str | None) -> Diagnosis:
    """A package that cudamm cannot do without; it can only be missing from a broken installation."""
    if version is None:
        return Diagnosis(package, "error", "not installed", "install cudamm anew: make setup")
    return Diagnosis(package, "ok", version)


# Driver, PyCUDA, NVML


def probe_driver() -> Driver:
    """The driver, without initialising it."""
    version = _driver_version_on_file()
    try:
        library = ctypes.CDLL("libcuda.so.1")
        number = ctypes.c_int()
        status = library.cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError) as error:
        return Driver(version, None, str(error))
    if status != 0:
        return Driver(version, None, f"cuDriverGetVersion answers with error {status}")
    return Driver(version, (number.value // 1000, number.value % 1000 // 10))


def _driver_version_on_file() -> str:
    """What the kernel's part of the driver says; empty where it is not loaded, or hidden in a container."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return ""
    match = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", text)
    return match[1] if match else ""


def judge_driver(driver: Driver, on_gpu: bool) -> Diagnosis:
    """Whether programs reach the driver."""
    subject = "NVIDIA driver"
    if driver.cuda is not None:
        known = driver.version or "version unknown"
        return Diagnosis(subject, "ok", f"{known}, for CUDA {_dotted(driver.cuda)} and older")
    if not on_gpu:
        return Diagnosis(subject, "missing", "none: there is no GPU to use")
    if driver.version:
        advice = "give this container or user the driver's libraries (docker run --gpus all), or reinstall it"
        return Diagnosis(subject, "error", f"{driver.version}, but libcuda: {driver.failure}", advice)
    advice = "install NVIDIA's driver on a machine with a GPU, then run make setup; --device cpu does without"
    return Diagnosis(subject, "error", f"none ({driver.failure})", advice)


def probe_pycuda() -> PyCuda:
    """PyCUDA and its GPUs; the driver is initialised, but no GPU is opened."""
    version = version_of("pycuda")
    try:
        from cudamm.devices.gpu_device import import_driver

        cuda = import_driver()
    except BROKEN as error:
        return PyCuda(version, failure=_line(error))
    try:
        gpus = tuple(
            Gpu(index, device.name(), tuple(device.compute_capability()), device.pci_bus_id())
            for index, device in ((index, cuda.Device(index)) for index in range(cuda.Device.count()))
        )
        built_for = tuple(cuda.get_version())
    except (cuda.Error, *BROKEN) as error:
        return PyCuda(version, failure=f"no GPU answers ({_line(error)})")
    return PyCuda(version or "of unknown version", (built_for[0], built_for[1]), gpus)


def chosen(gpus: Sequence[Gpu], spec: str) -> Gpu | None:
    """The GPU that a device's name means, if it is among these."""
    match = re.fullmatch(r"auto|gpu(?::(\d{1,3}))?", spec)
    index = int(match[1] or 0) if match else len(gpus)
    return gpus[index] if index < len(gpus) else None


def judge_pycuda(pycuda: PyCuda, driver: Driver, on_gpu: bool) -> list[Diagnosis]:
    """PyCUDA, and each GPU that it finds."""
    trouble: Status = "error" if on_gpu else "missing"
    if pycuda.version is None:
        advice = "run make setup, or pip install 'cudamm[gpu]'" if on_gpu else ""
        return [Diagnosis("PyCUDA", trouble, "not installed", advice)]
    if not pycuda.gpus:
        # Without a driver that is the reason, and has its advice already.
        advice = pycuda.failure if on_gpu and driver.cuda is not None else ""
        return [Diagnosis("PyCUDA", "ok", pycuda.version), Diagnosis("GPU", trouble, pycuda.failure, advice)]
    return [judge_fit(pycuda, driver.cuda), *map(judge_gpu, pycuda.gpus)]


def judge_fit(pycuda: PyCuda, driver_cuda: Release | None) -> Diagnosis:
    """Whether PyCUDA was built for a CUDA that the driver is of."""
    built_for = pycuda.built_for
    found = f"{pycuda.version}" + (f", built for CUDA {_dotted(built_for)}" if built_for else "")
    if built_for and driver_cuda and built_for[0] != driver_cuda[0]:
        advice = (
            f"PyCUDA was built for CUDA {built_for[0]} and the driver is of CUDA {driver_cuda[0]}: "
            "if kernels do not load, build it anew: pip install --force-reinstall --no-cache-dir pycuda"
        )
        return Diagnosis("PyCUDA", "warning", found, advice)
    return Diagnosis("PyCUDA", "ok", found)


def judge_gpu(gpu: Gpu) -> Diagnosis:
    """Whether cudamm knows what a multiprocessor of this GPU has."""
    found = f"{gpu.name}, compute capability {_dotted(gpu.capability)}, at {gpu.pci_bus_id}"
    if _arch(gpu) in ARCHITECTURES:
        return Diagnosis(f"gpu:{gpu.index}", "ok", found)
    advice = (
        f"cudamm does not know {_arch(gpu)}: bench runs, and occupancy follows the rules of the nearest "
        "older one; look for a newer cudamm"
    )
    return Diagnosis(f"gpu:{gpu.index}", "warning", found, advice)


def judge_nvml(version: str | None, gpu: Gpu | None, on_gpu: bool) -> Diagnosis:
    """Whether NVML can be asked, through the package that does."""
    without = "without it, cudamm cannot see clocks, throttling and other programs on the GPU"
    if version is None:
        advice = f"pip install nvidia-ml-py: {without}" if on_gpu else ""
        return Diagnosis("nvidia-ml-py", "missing", "not installed", advice)
    why = why_no_monitor(gpu.pci_bus_id) if gpu else ""
    if why:
        return Diagnosis("nvidia-ml-py", "warning", f"{version}, but {why}", f"{why}; {without}")
    return Diagnosis("nvidia-ml-py", "ok", version)


def judge_nvmath(version: str | None, on_gpu: bool) -> Diagnosis:
    """Whether there is what calls cuBLAS; bench does without."""
    if version is None:
        advice = "pip install nvmath-python: without it, kernels cannot be compared with cuBLAS"
        return Diagnosis("nvmath-python", "missing", "not installed", advice if on_gpu else "")
    return Diagnosis("nvmath-python", "ok", version)


# Compilers


def probe_nvcc() -> Nvcc:
    """nvcc, what it compiles for, and whether it finds a C++ compiler that it takes."""
    from cudamm.compile.nvcc_compiler import nvcc
    from cudamm.compile.toolkit import find_nvcc, include_options, nvcc_version, run_nvcc

    path = find_nvcc()
    if path is None:
        return Nvcc(None, failure="none was found")
    try:
        release, architectures = nvcc_version(path), nvcc().architectures
    except CudammError as error:
        return Nvcc(str(path), failure=str(error))
    try:
        # An empty file, preprocessed: CUDA's headers are included, and refuse an unknown C++ compiler.
        run_nvcc(path, "-E", *include_options(path), "-x", "cu", os.devnull)
    except NoDeviceError as error:
        return Nvcc(str(path), release, architectures, host_failure=str(error))
    return Nvcc(str(path), release, architectures)


def judge_nvcc(
    nvcc: Nvcc, driver_cuda: Release | None, gpu: Gpu | None, on_gpu: bool
) -> list[Diagnosis]:  # fmt: skip
    """Whether kernels can be compiled, and whether driver and GPU will take them."""
    trouble: Status = "error" if on_gpu else "missing"
    if nvcc.path is None:
        use = "bench compiles kernels with it" if on_gpu else "cudamm occupancy compiles kernels with it"
        advice = f"run make setup, or install the CUDA toolkit, for nvcc: {use}"
        return [Diagnosis("nvcc", trouble, nvcc.failure, advice)]
    trouble = "error" if on_gpu else "warning"
    if nvcc.release is None:
        return [Diagnosis("nvcc", trouble, nvcc.failure, f"reinstall the CUDA toolkit: {nvcc.failure}")]
    findings = [judge_release(nvcc, nvcc.release, driver_cuda, gpu, on_gpu)]
    if nvcc.host_failure:
        advice = (
            f"install a C++ compiler that nvcc {_dotted(nvcc.release)} takes (apt install g++), "
            "or name one: NVCC_PREPEND_FLAGS='-ccbin g++-13'"
        )
        return [*findings, Diagnosis("nvcc's C++ compiler", trouble, nvcc.host_failure, advice)]
    return [*findings, Diagnosis("nvcc's C++ compiler", "ok", "works")]


def judge_release(
    nvcc: Nvcc, release: Release, driver_cuda: Release | None, gpu: Gpu | None, on_gpu: bool
) -> Diagnosis:
    """Whether what nvcc makes loads on this driver and GPU.

    Of a newer minor release it does: NVIDIA's “CUDA Compatibility”, section “Minor Version Compatibility”.
    """
    found = f"CUDA {_dotted(release)}, {nvcc.path}"
    trouble: Status = "error" if on_gpu else "warning"
    if driver_cuda and release[0] > driver_cuda[0]:
        advice = (
            f"nvcc is of CUDA {release[0]} and the driver supports CUDA {_dotted(driver_cuda)}, so programs "
            f"will not load: update the driver, or put an nvcc of CUDA {driver_cuda[0]} on PATH"
        )
        return Diagnosis("nvcc", trouble, found, advice)
    if gpu and _arch(gpu) not in nvcc.architectures:
        spoken = f"{nvcc.architectures[0]} to {nvcc.architectures[-1]}" if nvcc.architectures else "nothing"
        advice = f"nvcc {_dotted(release)} cannot compile for {_arch(gpu)}: install one of a CUDA that can"
        return Diagnosis("nvcc", trouble, f"{found}, for {spoken}", advice)
    return Diagnosis("nvcc", "ok", found)


def probe_host_compiler() -> tuple[str, str]:
    """The CPU device's C++ compiler, or why there is none."""
    from cudamm.compile.host_compiler import compiler

    try:
        return compiler().version, ""
    except CudammError as error:
        return "", str(error)


def judge_host_compiler(version: str, failure: str, on_gpu: bool) -> Diagnosis:
    """Beside a GPU only the host's own methods need it."""
    if version:
        return Diagnosis("C++ compiler", "ok", version)
    return Diagnosis("C++ compiler", "warning" if on_gpu else "error", failure or "none was found", failure)


# The GPU's state


def probe_and_judge_state(gpu: Gpu) -> list[Diagnosis]:
    """What NVML says of a GPU; nothing where it cannot be asked, which is another check's finding."""
    monitor = open_monitor(gpu.pci_bus_id)
    if monitor is None:
        return []
    with monitor:
        return judge_state(probe_state(monitor))


def probe_state(monitor: Monitor) -> GpuState:
    """Everything that is judged, read once."""
    processes = monitor.processes()
    return GpuState(
        sm_clock_mhz=monitor.sm_clock_mhz(),
        max_sm_clock_mhz=monitor.max_sm_clock_mhz(),
        throttle_reasons=monitor.throttle_reasons(),
        power_w=monitor.power_w(),
        power_limit_w=monitor.power_limit_w(),
        default_power_limit_w=monitor.default_power_limit_w(),
        temperature_c=monitor.temperature_c(),
        persistence=monitor.persistence(),
        memory_free_bytes=monitor.memory_free_bytes(),
        memory_total_bytes=monitor.memory_total_bytes(),
        processes=None if processes is None else tuple(pid for pid, _ in processes),
        compute_mode=monitor.compute_mode(),
        ecc=monitor.ecc(),
        mig=monitor.mig(),
    )


def judge_state(state: GpuState) -> list[Diagnosis]:
    """What of it disturbs measurements; what NVML does not tell is left out."""
    findings = [judge_clock(state), judge_power(state)]
    if state.temperature_c is not None:
        findings.append(Diagnosis("temperature", "ok", f"{state.temperature_c} °C"))
    findings.append(judge_persistence(state.persistence))
    if state.memory_free_bytes is not None:
        findings.append(judge_memory("GPU memory", state.memory_free_bytes, state.memory_total_bytes))
    findings += [judge_processes(state.processes), judge_mode(state.compute_mode), judge_mig(state.mig)]
    if state.ecc is not None:
        findings.append(Diagnosis("ECC", "ok", "on" if state.ecc else "off"))
    return [finding for finding in findings if finding.found]


def judge_clock(state: GpuState) -> Diagnosis:
    """The clock of the multiprocessors, and what holds it back."""
    of = f" of at most {state.max_sm_clock_mhz} MHz" if state.max_sm_clock_mhz is not None else " MHz"
    found = f"{state.sm_clock_mhz}{of}" if state.sm_clock_mhz is not None else ""
    if not state.throttle_reasons:
        return Diagnosis("SM clock", "ok", found and f"{found}, not held back")
    reasons = ", ".join(state.throttle_reasons)
    advice = f"the GPU is slower than it could be ({reasons}): let it cool or finish other work; times vary"
    return Diagnosis("SM clock", "warning", f"{found or 'unknown'}, held back: {reasons}", advice)


def judge_power(state: GpuState) -> Diagnosis:
    """What the GPU draws, and whether it may draw less than it was made for."""
    limit, default = state.power_limit_w, state.default_power_limit_w
    drawn = f"{state.power_w:.0f} W" if state.power_w is not None else ""
    found = drawn if limit is None else ", ".join(filter(None, (drawn, f"cap {limit:.0f} W")))
    if limit is None or default is None or limit >= default:
        return Diagnosis("power", "ok", found)
    advice = (
        f"the power cap is {limit:.0f} W instead of {default:.0f} W, so long kernels run slower; "
        f"an administrator can lift it: nvidia-smi -pl {default:.0f}"
    )
    return Diagnosis("power", "warning", f"{found} (default {default:.0f} W)", advice)


def judge_persistence(persistence: bool | None) -> Diagnosis:
    """Without it the driver unloads when the last program ends."""
    if persistence is not False:
        return Diagnosis("persistence mode", "ok", "on" if persistence else "")
    advice = (
        "persistence mode is off, so the first launch waits for the driver; "
        "an administrator can turn it on: nvidia-smi -pm 1"
    )
    return Diagnosis("persistence mode", "warning", "off", advice)


def judge_processes(pids: Sequence[int] | None) -> Diagnosis:
    """Who else computes on the GPU."""
    subject = "other programs on the GPU"
    if not pids:
        return Diagnosis(subject, "ok", "" if pids is None else "none")
    listed = ", ".join(map(str, pids[:8])) + (", …" if len(pids) > 8 else "")
    advice = f"other programs use the GPU and disturb the times (process {listed}): wait for them"
    return Diagnosis(subject, "warning", f"{len(pids)}: process {listed}", advice)


def judge_mode(mode: str | None) -> Diagnosis:
    """Who may use the GPU."""
    if mode == "prohibited":
        advice = "the compute mode lets no program use this GPU; an administrator can: nvidia-smi -c DEFAULT"
        return Diagnosis("compute mode", "error", mode, advice)
    if mode is not None and mode.startswith("exclusive"):
        advice = f"the compute mode is {mode}: while another program uses the GPU, cudamm is refused"
        return Diagnosis("compute mode", "warning", mode, advice)
    return Diagnosis("compute mode", "ok", mode or "")


def judge_mig(mig: bool | None) -> Diagnosis:
    """Whether it is only a part of a GPU that is measured."""
    if not mig:
        return Diagnosis("MIG", "ok", "" if mig is None else "off")
    advice = "MIG is on: what is measured is one instance, and its neighbours share power and clock with it"
    return Diagnosis("MIG", "warning", "on", advice)


# The machine


def judge_environment(environment: Mapping[str, str]) -> list[Diagnosis]:
    """Variables that change what is run, or how."""
    findings = []
    for name, effect in VARIABLES.items():
        value = environment.get(name)
        if value is None or (name != "CUDA_VISIBLE_DEVICES" and value in ("", "0")):
            continue
        said = effect if value else "it is empty, so every GPU is hidden"
        findings.append(
            Diagnosis(name, "warning", value or "(empty)", f"{name} is set: {said}; else unset it")
        )
    return findings


def probe_cache_folder() -> tuple[str, int, str]:
    """The cache folder, bytes free on its disk, and why it takes no files."""
    from cudamm.compile.compile_cache import cache_folder

    try:
        folder = cache_folder()
    except CudammError as error:
        return "", 0, str(error)
    return _probe_folder(folder, "set CUDAMM_CACHE to another folder")


def probe_temporary() -> tuple[str, int, str]:
    """The same of the folder for temporary files."""
    try:
        folder = Path(tempfile.gettempdir())
    except OSError as error:
        return "", 0, f"no folder for temporary files can be used ({error.strerror}); set TMPDIR"
    return _probe_folder(folder, "set TMPDIR to another folder")


def _probe_folder(folder: Path, remedy: str) -> tuple[str, int, str]:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
        return str(folder), shutil.disk_usage(folder).free, ""
    except OSError as error:
        return str(folder), 0, f"{folder} cannot be written ({error.strerror}): {remedy}"


def judge_folder(subject: str, folder: str, free_bytes: int, failure: str) -> Diagnosis:
    """Whether a folder takes what compilers write."""
    if failure:
        return Diagnosis(subject, "error", failure if not folder else f"{folder}, not writable", failure)
    found = f"{folder}, {_size(free_bytes)} free"
    if free_bytes < LOW_DISK_BYTES:
        advice = f"make room on the disk of {folder}: it has {_size(free_bytes)} free, and compiling may fail"
        return Diagnosis(subject, "warning", found, advice)
    return Diagnosis(subject, "ok", found)


def probe_shared_memory() -> str:
    """Why the CPU device cannot share memory with a kernel's process; empty where it can."""
    try:
        os.close(os.memfd_create("cudamm"))
    except (OSError, AttributeError) as error:
        return str(error)
    return ""


def judge_shared_memory(failure: str, on_gpu: bool) -> Diagnosis:
    """What the CPU device keeps its matrices in."""
    if not failure:
        return Diagnosis("shared memory", "ok", "memfd_create works")
    advice = f"the CPU device needs memfd_create, of Linux 3.17 or newer, and it fails here ({failure})"
    return Diagnosis("shared memory", "warning" if on_gpu else "error", failure, advice)


def probe_host_memory() -> int:
    """Bytes that matrices may still take."""
    from cudamm.devices.find_device import host

    return host().free_bytes()


def judge_memory(subject: str, free_bytes: int, total_bytes: int | None) -> Diagnosis:
    """Whether there is room for more than small matrices."""
    of = f" of {_size(total_bytes)}" if total_bytes is not None else ""
    found = f"{_size(free_bytes)}{of} free"
    if free_bytes >= LOW_MEMORY_BYTES:
        return Diagnosis(subject, "ok", found)
    advice = f"{subject}: only {_size(free_bytes)} free; end what uses it, or stay with small matrices"
    return Diagnosis(subject, "warning", found, advice)


def probe_processor() -> tuple[int, int, float]:
    """Cores that this process may use, cores of the machine, and its load average of the last minute."""
    return len(os.sched_getaffinity(0)), os.cpu_count() or 1, os.getloadavg()[0]


def judge_processor(usable: int, cores: int, load: float) -> list[Diagnosis]:
    """Whether others keep it busy."""
    counted = Diagnosis("cores", "ok", f"{usable}" if usable == cores else f"{usable} of {cores}")
    if load <= BUSY_SHARE * cores:
        return [counted, Diagnosis("load", "ok", f"{load:.1f} over the last minute")]
    advice = (
        f"other programs keep the processor busy (load {load:.1f} on {cores} cores): the host's times vary"
    )
    return [counted, Diagnosis("load", "warning", f"{load:.1f} over the last minute", advice)]


# What bench does first


def probe_device(spec: str) -> tuple[str, str]:
    """Open the device as bench does: its name, or why that fails. Raises UsageError for no device."""
    from cudamm.devices.find_device import find

    try:
        with find(spec) as device:
            info = device.info
    except UsageError:
        raise
    except BROKEN + _pycuda_errors() as error:
        return "", _line(error)
    # `auto` falls back to the CPU beside a GPU that cannot be used, and notes why.
    return ("", info.note) if info.note else (f"{info.spec}, {info.name}", "")


def _pycuda_errors() -> tuple[type[Exception], ...]:
    """What PyCUDA raises, which is no built-in error's kind; nothing where it is not loaded."""
    driver = sys.modules.get("pycuda.driver")
    return () if driver is None else (driver.Error,)


def judge_device(opened: str, failure: str, others: Iterable[Diagnosis]) -> Diagnosis:
    """The answer; the advice is an earlier finding's where one has it."""
    errors = [finding for finding in others if finding.status == "error"]
    if failure:
        advised = any(finding.advice for finding in errors)
        return Diagnosis("bench", "error", failure, "" if advised else failure)
    if errors:
        return Diagnosis("bench", "error", f"cannot run on {opened}: {', '.join(e.subject for e in errors)}")
    return Diagnosis("bench", "ok", f"can run on {opened}")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _arch(gpu: Gpu) -> str:
    return "sm_{}{}".format(*gpu.capability)


def _dotted(release: Release) -> str:
    return f"{release[0]}.{release[1]}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes / GIB:.1f} GiB" if size_bytes >= GIB else f"{size_bytes // 2**20} MiB"
