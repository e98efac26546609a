"""Checks of `cudamm doctor` for every machine: packages, C++ compiler, folders, memory and processor."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cudamm import __version__
from cudamm.compile.compile_cache import cache_folder
from cudamm.compile.host_compiler import compiler
from cudamm.devices import find_device
from cudamm.devices.diagnosis import GIB, Diagnosis, Machine, judged, memory, size
from cudamm.errors import KernelError, NoDeviceError

LOW_DISK_BYTES = GIB // 2
"""Free disk space, in bytes, below which compiling may fail: hundreds of cached programs take 1 MB each."""

PROBE_BYTES = 64 * 1024
"""Size of a test file, in bytes: large enough that it cannot be written to a full disk."""

BUSY_SHARE = 0.5
"""Load average, as a share of the cores, above which the CPU device and the compilers have too few cores."""

VARIABLES = {
    "CUDA_VISIBLE_DEVICES": "only the GPUs it lists are used, renumbered from gpu:0",
    "CUDA_LAUNCH_BLOCKING": "every launch waits for its end, so short kernels seem slower",
    "NVCC_APPEND_FLAGS": "every kernel is compiled with these options too, which may change its speed",
    "NVCC_PREPEND_FLAGS": "every kernel is compiled with these options too, which may change its speed",
}


def version_of(package: str) -> str | None:
    """Return an installed package's version; None if the package is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def python(machine: Machine) -> Iterator[Diagnosis]:
    """Report the interpreter and the packages that cudamm needs."""
    yield Diagnosis("Python", "ok", f"{platform.python_version()}, cudamm {__version__}")
    for package in ("numpy", "click", "rich"):
        version = version_of(package)
        advice = "" if version else "reinstall cudamm: make setup"
        yield judged(package, version or "not installed", advice, "error")


def host_compiler(machine: Machine) -> Iterator[Diagnosis]:
    """Check that the C++ compiler works. On a machine with a GPU only the host's own methods need it."""
    try:
        yield Diagnosis("C++ compiler", "ok", compiler().version)
    except (NoDeviceError, KernelError) as error:
        yield Diagnosis("C++ compiler", "warning" if machine.on_gpu else "error", str(error), str(error))


def environment(machine: Machine) -> Iterator[Diagnosis]:
    """Report environment variables that change the kernels that bench runs, or their times."""
    for name, effect in VARIABLES.items():
        value = os.environ.get(name)
        if value is None or (name != "CUDA_VISIBLE_DEVICES" and value in ("", "0")):
            continue
        consequence = effect if value else "it is empty, so every GPU is hidden"
        advice = f"{name} is set: {consequence}; unset it if that is not intended"
        yield Diagnosis(name, "warning", value or "(empty)", advice)


def folder_for_cache(machine: Machine) -> Iterator[Diagnosis]:
    """Check the folder in which compiled programs are kept."""
    try:
        yield folder("cache folder", cache_folder(), "CUDAMM_CACHE")
    except NoDeviceError as error:
        yield Diagnosis("cache folder", "error", str(error), str(error))


def folder_for_temporary_files(machine: Machine) -> Iterator[Diagnosis]:
    """Check the folder in which compilers write temporary files."""
    try:
        yield folder("temporary folder", Path(tempfile.gettempdir()), "TMPDIR")
    except FileNotFoundError as error:
        failure = f"no folder for temporary files can be used ({error.strerror}); set TMPDIR"
        yield Diagnosis("temporary folder", "error", failure, failure)


def folder(subject: str, path: Path, variable: str) -> Diagnosis:
    """Judge whether compilers can write to a folder, which an environment variable can replace."""
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(PROBE_BYTES))
            file.flush()
        free_bytes = shutil.disk_usage(path).free
    except OSError as error:
        advice = f"{path} cannot be written ({error.strerror}): set {variable} to another folder"
        return Diagnosis(subject, "error", f"{path}, not writable", advice)
    advice = f"make room on the disk of {path}: it has {size(free_bytes)} free, and compiling may fail"
    return judged(subject, f"{path}, {size(free_bytes)} free", advice if free_bytes < LOW_DISK_BYTES else "")


def shared_memory(machine: Machine) -> Iterator[Diagnosis]:
    """Check that the CPU device can share matrices with the process that runs a kernel."""
    try:
        if not hasattr(os, "memfd_create"):
            raise OSError("this Python was built without memfd_create")
        os.close(os.memfd_create("cudamm"))
        yield Diagnosis("shared memory", "ok", "memfd_create works")
    except OSError as error:
        advice = f"the CPU device needs memfd_create of Linux 3.17 or newer, which fails here ({error})"
        yield Diagnosis("shared memory", "warning" if machine.on_gpu else "error", str(error), advice)


def host_memory(machine: Machine) -> Iterator[Diagnosis]:
    """Check the host memory that matrices may still take."""
    yield memory("host memory", find_device.host().free_bytes())


def processor(machine: Machine) -> Iterator[Diagnosis]:
    """Check whether other programs keep the processor busy."""
    usable, cores, load = len(os.sched_getaffinity(0)), os.cpu_count() or 1, os.getloadavg()[0]
    yield Diagnosis("cores", "ok", f"{usable}" if usable == cores else f"{usable} of {cores}")
    busy = (
        f"other programs keep the processor busy (load {load:.1f} on {cores} cores): times on the host vary"
    )
    yield judged("load", f"{load:.1f} over the last minute", busy if load > BUSY_SHARE * cores else "")
