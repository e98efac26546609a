"""Checks of `cudamm doctor` for a GPU: the driver, PyCUDA, NVIDIA's packages, nvcc, and the GPU's state."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cudamm.compile import nvcc_compiler
from cudamm.compile.listing import INSTALL_NVDISASM
from cudamm.compile.toolkit import find_nvcc, find_nvdisasm, include_options, run_nvcc
from cudamm.devices import gpu_device
from cudamm.devices.diagnosis import (
    Diagnosis,
    Driver,
    Gpu,
    Machine,
    PyCuda,
    Release,
    judged,
    memory,
    on_one_line,
)
from cudamm.devices.machine_checks import version_of
from cudamm.devices.nvml import GpuState, Monitor, open_monitor
from cudamm.errors import NoDeviceError
from cudamm.kernels.architecture import ARCHITECTURES


def find_driver() -> Driver:
    """Find NVIDIA's driver, without initialising it."""
    try:
        # The file exists if the driver's kernel module is loaded and no container hides the file.
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        text = ""
    match = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", text)
    version = match[1] if match else ""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return Driver(version, None, str(error))
    number = ctypes.c_int()
    status = library.cuDriverGetVersion(ctypes.byref(number))
    if status != 0:
        return Driver(version, None, f"cuDriverGetVersion returns error {status}")
    return Driver(version, (number.value // 1000, number.value % 1000 // 10))


def find_pycuda() -> PyCuda:
    """Find PyCUDA and its GPUs. The driver is initialised, but no GPU is opened."""
    version = version_of("pycuda")
    try:
        cuda = gpu_device.import_driver()
    except (NoDeviceError, RuntimeError, SystemError, ValueError) as error:
        # PyCUDA raises the last three if its compiled part was built for another NumPy or Python.
        return PyCuda(version, failure=on_one_line(error))
    try:
        gpus = []
        for index in range(cuda.Device.count()):
            device = cuda.Device(index)
            capability = device.compute_capability()
            gpus.append(Gpu(index, device.name(), (capability[0], capability[1]), device.pci_bus_id()))
    except cuda.Error as error:
        return PyCuda(version, failure=f"no GPU answers ({on_one_line(error)})")
    built_for = cuda.get_version()
    return PyCuda(version or "of unknown version", (built_for[0], built_for[1]), tuple(gpus))


def driver(machine: Machine) -> Iterator[Diagnosis]:
    """Check that programs can use the driver."""
    subject, found = "NVIDIA driver", machine.driver
    if found.cuda is not None:
        version = found.version or "version unknown"
        yield Diagnosis(subject, "ok", f"{version}, for CUDA {_dotted(found.cuda)} and older")
    elif not machine.on_gpu:
        yield Diagnosis(subject, "not needed", "none: there is no GPU to use")
    elif found.version:
        advice = "give this container or user the driver's libraries (docker run --gpus all), or reinstall it"
        yield Diagnosis(subject, "error", f"{found.version}, but libcuda: {found.failure}", advice)
    else:
        advice = (
            "install NVIDIA's driver on a machine with a GPU, then run make setup; --device cpu needs no GPU"
        )
        yield Diagnosis(subject, "error", f"none ({found.failure})", advice)


def pycuda(machine: Machine) -> Iterator[Diagnosis]:
    """Check that PyCUDA finds a GPU and was built for the driver's CUDA, and report each GPU."""
    found, driver_cuda = machine.pycuda, machine.driver.cuda
    if found.version is None:
        advice = "run make setup, or pip install 'cudamm[gpu]'" if machine.on_gpu else ""
        yield Diagnosis("PyCUDA", machine.error_or("not needed"), "not installed", advice)
        return
    if not found.gpus:
        yield Diagnosis("PyCUDA", "ok", found.version)
        # If there is no driver, the driver's diagnosis has the advice.
        advice = found.failure if machine.on_gpu and driver_cuda is not None else ""
        yield Diagnosis("GPU", machine.error_or("not needed"), found.failure, advice)
        return
    built_for = found.built_for
    described = found.version + (f", built for CUDA {_dotted(built_for)}" if built_for else "")
    advice = ""
    if built_for and driver_cuda and built_for[0] != driver_cuda[0]:
        advice = (
            f"PyCUDA was built for CUDA {built_for[0]} and the driver is of CUDA {driver_cuda[0]}: "
            "if kernels do not load, rebuild PyCUDA: pip install --force-reinstall --no-cache-dir pycuda"
        )
    yield judged("PyCUDA", described, advice)
    for gpu in found.gpus:
        described = f"{gpu.name}, compute capability {_dotted(gpu.capability)}, at {gpu.pci_bus_id}"
        advice = (
            f"cudamm does not know {gpu.arch}: bench runs, and occupancy uses the rules of the nearest older "
            "architecture; a newer cudamm may know it"
        )
        yield judged(f"gpu:{gpu.index}", described, "" if gpu.arch in ARCHITECTURES else advice)


def nvidia_ml_py(machine: Machine) -> Iterator[Diagnosis]:
    """Check that NVML reports on the GPU through the package nvidia-ml-py."""
    subject, version = "nvidia-ml-py", version_of("nvidia-ml-py")
    reason = "without it, cudamm cannot read clocks, throttling and other programs on the GPU"
    if version is None:
        advice = f"pip install nvidia-ml-py: {reason}" if machine.on_gpu else ""
        yield Diagnosis(subject, machine.missing_for_gpu, "not installed", advice)
        return
    try:
        if machine.gpu:
            Monitor(machine.gpu.pci_bus_id).close()
        yield Diagnosis(subject, "ok", version)
    except NoDeviceError as error:
        yield Diagnosis(subject, "warning", f"{version}, but {error}", f"{error}; {reason}")


def nvmath_python(machine: Machine) -> Iterator[Diagnosis]:
    """Check that the package that calls cuBLAS is installed. bench runs without it."""
    version = version_of("nvmath-python")
    if version:
        yield Diagnosis("nvmath-python", "ok", version)
    else:
        advice = "pip install nvmath-python: without it, kernels cannot be compared with cuBLAS"
        status = machine.missing_for_gpu
        yield Diagnosis("nvmath-python", status, "not installed", advice if machine.on_gpu else "")


def nvcc(machine: Machine) -> Iterator[Diagnosis]:
    """Check that nvcc works for this driver and this GPU, and finds a C++ compiler that it accepts.

    A driver also loads programs of a newer minor release of CUDA. Source: NVIDIA's “CUDA Compatibility”,
    section “Minor Version Compatibility”.
    """
    path, trouble = find_nvcc(), machine.error_or("warning")
    if path is None:
        use = "bench compiles kernels with nvcc"
        if not machine.on_gpu:
            use = "registers, occupancy and machine code come from nvcc; kernels run here without it"
        advice = f"run make setup, or install the CUDA toolkit: {use}"
        yield Diagnosis("nvcc", machine.error_or("missing"), "not found", advice)
        return
    try:
        compiler = nvcc_compiler.nvcc()
        release = compiler.release
    except NoDeviceError as error:
        yield Diagnosis("nvcc", trouble, str(error), f"reinstall the CUDA toolkit: {error}")
        return
    found, advice = f"CUDA {_dotted(release)}, {path}", ""
    gpu, driver_cuda = machine.gpu, machine.driver.cuda
    if driver_cuda and release[0] > driver_cuda[0]:
        advice = (
            f"nvcc is of CUDA {release[0]} and the driver supports CUDA {_dotted(driver_cuda)}, so programs "
            f"will not load: update the driver, or put an nvcc of CUDA {driver_cuda[0]} on PATH"
        )
    elif gpu and gpu.arch not in compiler.architectures:
        listed = compiler.architectures
        found += f", for {f'{listed[0]} to {listed[-1]}' if listed else 'nothing'}"
        advice = f"nvcc {_dotted(release)} cannot compile for {gpu.arch}: install a CUDA toolkit that can"
    yield judged("nvcc", found, advice, trouble)
    try:
        # To preprocess an empty file nvcc includes CUDA's headers, which refuse an unknown C++ compiler.
        run_nvcc(path, "-E", *include_options(path), "-x", "cu", os.devnull)
        yield Diagnosis("nvcc's C++ compiler", "ok", "works")
    except NoDeviceError as error:
        advice = (
            f"install a C++ compiler that nvcc {_dotted(release)} accepts (apt install g++), "
            "or name one: NVCC_PREPEND_FLAGS='-ccbin g++-13'"
        )
        yield Diagnosis("nvcc's C++ compiler", trouble, str(error), advice)


def nvdisasm(machine: Machine) -> Iterator[Diagnosis]:
    """Check that nvdisasm, which reads machine code, is found. bench runs without it."""
    nvcc_path = find_nvcc()
    path = find_nvdisasm(nvcc_path)
    if path is not None:
        yield Diagnosis("nvdisasm", "ok", str(path))
        return
    advice = (
        f"{INSTALL_NVDISASM}: without it, trace and bench count loads from shared memory as the source has "
        "them, and show --sass has no machine code"
    )
    yield Diagnosis("nvdisasm", "missing", "not found", advice if nvcc_path is not None else "")


def gpu_state(machine: Machine) -> Iterator[Diagnosis]:
    """Judge the state of the GPU that NVML reports. If NVML cannot be used, `nvidia_ml_py` reports that."""
    monitor = open_monitor(machine.gpu.pci_bus_id) if machine.gpu else None
    if monitor is not None:
        with monitor:
            yield from judge_state(monitor.state())


def judge_state(state: GpuState) -> Iterator[Diagnosis]:
    """Judge everything that can disturb measurements; values that NVML does not report are left out."""
    yield from _clock(state)
    yield from _power(state)
    if state.temperature_c is not None:
        yield Diagnosis("temperature", "ok", f"{state.temperature_c} °C")
    if state.memory_free_bytes is not None:
        yield memory("GPU memory", state.memory_free_bytes, state.memory_total_bytes)
    if state.processes is not None:
        yield _other_programs(state.processes)
    if state.compute_mode is not None:
        yield _compute_mode(state.compute_mode)
    persistence = (
        "persistence mode is off, so the first launch waits for the driver; "
        "an administrator can turn it on: nvidia-smi -pm 1"
    )
    mig = "MIG is on: bench measures one instance, and the others share power and clock with it"
    for subject, is_on, advice in (
        ("persistence mode", state.persistence, "" if state.persistence else persistence),
        ("MIG", state.mig, mig if state.mig else ""),
        ("ECC", state.ecc, ""),
    ):
        if is_on is not None:
            yield judged(subject, "on" if is_on else "off", advice)


def _clock(state: GpuState) -> Iterator[Diagnosis]:
    """Judge the clock of the multiprocessors, and the reasons why it is throttled."""
    maximum = f" of at most {state.max_sm_clock_mhz}" if state.max_sm_clock_mhz is not None else ""
    found = f"{state.sm_clock_mhz}{maximum} MHz" if state.sm_clock_mhz is not None else ""
    if state.throttle_reasons:
        reasons = ", ".join(state.throttle_reasons)
        advice = (
            f"the GPU is slower than it could be ({reasons}), and times vary: "
            "let it cool, or wait for other work to end"
        )
        yield Diagnosis("SM clock", "warning", f"{found or 'unknown'}, throttled: {reasons}", advice)
    elif found:
        yield Diagnosis("SM clock", "ok", f"{found}, not throttled")


def _power(state: GpuState) -> Iterator[Diagnosis]:
    """Judge the GPU's power, and whether its limit is below the default."""
    limit, default = state.power_limit_w, state.default_power_limit_w
    drawn = f"{state.power_w:.0f} W" if state.power_w is not None else ""
    found = ", ".join(filter(None, (drawn, "" if limit is None else f"cap {limit:.0f} W")))
    advice = ""
    if limit is not None and default is not None and limit < default:
        found += f" (default {default:.0f} W)"
        advice = (
            f"the power cap is {limit:.0f} W instead of {default:.0f} W, so long kernels run slower; "
            f"an administrator can raise it: nvidia-smi -pl {default:.0f}"
        )
    if found:
        yield judged("power", found, advice)


def _other_programs(pids: Sequence[int]) -> Diagnosis:
    """Judge whether other programs compute on the GPU."""
    listed = ", ".join(map(str, pids[:8])) + (", …" if len(pids) > 8 else "")
    advice = f"other programs use the GPU and disturb the times (process {listed}): wait for them"
    found = f"{len(pids)}: process {listed}" if pids else "none"
    return judged("other programs on the GPU", found, advice if pids else "")


def _compute_mode(mode: str) -> Diagnosis:
    """Judge which programs may use the GPU."""
    if mode == "prohibited":
        advice = (
            "the compute mode lets no program use this GPU; "
            "an administrator can change it: nvidia-smi -c DEFAULT"
        )
        return Diagnosis("compute mode", "error", mode, advice)
    advice = f"the compute mode is {mode}: while another program uses the GPU, cudamm cannot use it"
    return judged("compute mode", mode, advice if mode.startswith("exclusive") else "")


def _dotted(release: Release) -> str:
    return f"{release[0]}.{release[1]}"
