"""Diagnoses of doctor, for made-up machines and for this machine with one part broken."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from cudamm.compile import nvcc_compiler
from cudamm.devices import doctor, gpu_checks, machine_checks
from cudamm.devices.diagnosis import (
    Diagnosis,
    Driver,
    Gpu,
    Machine,
    PyCuda,
    can_bench,
    memory,
    most_important,
)
from cudamm.devices.find_device import gpu_index
from cudamm.devices.nvml import GpuState
from cudamm.errors import NoDeviceError, UsageError

DRIVER = Driver("580.65.06", (13, 0))
H100 = Gpu(0, "NVIDIA H100", (9, 0), "0000:65:00.0")
PYCUDA = PyCuda("2025.1", (13, 0), (H100,))
WITH_GPU = Machine(True, DRIVER, PYCUDA, H100)
WITHOUT_GPU = Machine(False, Driver("", None, "libcuda.so.1: cannot open"), PyCuda(None), None)


def diagnosis_of(diagnoses: Iterable[Diagnosis], subject: str) -> Diagnosis:
    (diagnosis,) = [diagnosis for diagnosis in diagnoses if diagnosis.subject == subject]
    return diagnosis


def raising(error: Exception) -> Callable[[], None]:
    def function() -> None:
        raise error

    return function


@pytest.fixture
def put_nvcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Yield a function that puts a stand-in for nvcc on PATH, or hides nvcc if no release is given."""

    def put(release: str = "", architectures: str = "sm_75 sm_90", cpp: str = "exit 0") -> None:
        path = tmp_path / "nvcc"
        if release:
            path.write_text(
                f'#!/bin/sh\ncase "$1" in\n--version) echo "Cuda compilation tools, release {release}, V";;\n'
                f"--list-gpu-code) echo {architectures};;\n-E) {cpp};;\nesac\n"
            )
            path.chmod(0o755)
            monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        else:
            monkeypatch.setattr(gpu_checks, "find_nvcc", lambda: None)
        nvcc_compiler.nvcc.cache_clear()

    yield put
    monkeypatch.undo()
    nvcc_compiler.nvcc.cache_clear()


# ---- With and without a GPU


def test_a_sound_machine_gets_no_advice(put_nvcc: Callable[..., None]) -> None:
    put_nvcc("13.0")
    checks = (gpu_checks.driver, gpu_checks.pycuda, gpu_checks.nvcc, machine_checks.host_compiler)
    diagnoses = [diagnosis for check in checks for diagnosis in check(WITH_GPU)]
    assert len(diagnoses) == 6
    assert {(diagnosis.status, diagnosis.advice) for diagnosis in diagnoses} == {("ok", "")}


@pytest.mark.parametrize("on_gpu", [True, False])
def test_a_missing_gpu_part_is_no_error_on_the_cpu(put_nvcc: Callable[..., None], on_gpu: bool) -> None:
    put_nvcc()
    machine = Machine(on_gpu, WITHOUT_GPU.driver, WITHOUT_GPU.pycuda, None)
    for check, status in (
        (gpu_checks.driver, "not needed"),
        (gpu_checks.pycuda, "not needed"),
        (gpu_checks.nvcc, "missing"),
    ):
        (diagnosis,) = check(machine)
        assert diagnosis.status == ("error" if on_gpu else status)
        assert diagnosis.advice or not on_gpu


@pytest.mark.parametrize("is_found", [True, False])
@pytest.mark.parametrize("machine", [WITH_GPU, WITHOUT_GPU])
def test_nvdisasm_is_looked_for_and_bench_runs_without_it(
    put_nvcc: Callable[..., None], monkeypatch: pytest.MonkeyPatch, machine: Machine, is_found: bool
) -> None:
    put_nvcc("13.0")
    path = Path("/opt/cuda/bin/nvdisasm") if is_found else None
    monkeypatch.setattr(gpu_checks, "find_nvdisasm", lambda nvcc: path)
    (diagnosis,) = gpu_checks.nvdisasm(machine)
    assert (diagnosis.subject, diagnosis.status) == ("nvdisasm", "ok" if is_found else "missing")
    assert ("pip install nvidia-cuda-nvdisasm" in diagnosis.advice) is not is_found
    assert can_bench([diagnosis])


class CudaError(Exception):
    """The stand-in for PyCUDA's error."""


def test_the_gpus_are_those_that_pycuda_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    device_name = SimpleNamespace(read=lambda: "NVIDIA H100")
    device = SimpleNamespace(
        name=lambda: device_name.read(), compute_capability=lambda: (9, 0), pci_bus_id=lambda: H100.pci_bus_id
    )
    cuda = SimpleNamespace(Error=CudaError, get_version=lambda: (13, 0, 0), Device=lambda index: device)
    cuda.Device.count = lambda: 1  # type: ignore[attr-defined]
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: cuda)
    pycuda = gpu_checks.find_pycuda()
    assert (pycuda.built_for, pycuda.gpus, pycuda.failure) == ((13, 0), (H100,), "")
    device_name.read = raising(CudaError("it is\nlost"))
    assert gpu_checks.find_pycuda().failure == "no GPU answers (it is lost)"


def test_a_driver_that_a_container_hides_is_no_missing_driver() -> None:
    hidden = Machine(True, Driver("580.65.06", None, "cannot open"), PyCuda(None), None)
    (diagnosis,) = gpu_checks.driver(hidden)
    assert diagnosis.status == "error" and "docker run --gpus all" in diagnosis.advice


def test_pycudas_error_is_advice_unless_there_is_no_driver() -> None:
    failing = PyCuda("2025.1", failure="no GPU answers (out of memory)")
    for driver, advice in ((DRIVER, failing.failure), (WITHOUT_GPU.driver, "")):
        diagnosis = diagnosis_of(gpu_checks.pycuda(Machine(True, driver, failing, None)), "GPU")
        assert (diagnosis.status, diagnosis.found, diagnosis.advice) == ("error", failing.failure, advice)


@pytest.mark.parametrize(("machine", "status"), [(WITHOUT_GPU, "error"), (WITH_GPU, "warning")])
def test_the_cpu_device_needs_shared_memory_between_processes(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, status: str
) -> None:
    monkeypatch.delattr(os, "memfd_create")  # as if Python was built for an old C library
    (diagnosis,) = machine_checks.shared_memory(machine)
    assert diagnosis.status == status
    assert "Linux 3.17" in diagnosis.advice


@pytest.mark.parametrize(
    ("machine", "status", "has_advice"), [(WITH_GPU, "missing", True), (WITHOUT_GPU, "not needed", False)]
)
def test_without_nvmath_bench_runs_and_the_package_is_reported(
    monkeypatch: pytest.MonkeyPatch, machine: Machine, status: str, has_advice: bool
) -> None:
    monkeypatch.setattr(gpu_checks, "version_of", lambda package: None)
    (diagnosis,) = gpu_checks.nvmath_python(machine)
    assert (diagnosis.subject, diagnosis.status) == ("nvmath-python", status)
    assert ("pip install nvmath-python" in diagnosis.advice and "cuBLAS" in diagnosis.advice) == has_advice
    assert can_bench([diagnosis])


# ---- Versions that must be compatible


@pytest.mark.parametrize(
    ("release", "driver", "status"),
    [
        ("13.0", (13, 0), "ok"),
        ("13.2", (13, 0), "ok"),  # minor version compatibility
        ("12.9", (13, 0), "ok"),
        ("13.0", (12, 8), "error"),
    ],
)
def test_nvcc_may_be_newer_than_the_driver_by_a_minor_release_only(
    put_nvcc: Callable[..., None], release: str, driver: tuple[int, int], status: str
) -> None:
    put_nvcc(release)
    diagnosis = diagnosis_of(gpu_checks.nvcc(Machine(True, Driver("", driver), PYCUDA, H100)), "nvcc")
    assert diagnosis.status == status
    assert ("nvcc of CUDA 12" in diagnosis.advice) == (status == "error")


def test_nvcc_that_cannot_compile_for_the_gpu_is_an_error(put_nvcc: Callable[..., None]) -> None:
    put_nvcc("11.4", "sm_86 sm_35")
    diagnosis = diagnosis_of(gpu_checks.nvcc(WITH_GPU), "nvcc")
    assert diagnosis.status == "error"
    assert "sm_90" in diagnosis.advice and "sm_35 to sm_86" in diagnosis.found


def test_nvcc_without_a_cpp_compiler_is_an_error_of_its_own(put_nvcc: Callable[..., None]) -> None:
    put_nvcc("13.0", cpp='echo "gcc: No such file" >&2; exit 1')
    diagnoses = list(gpu_checks.nvcc(WITH_GPU))
    assert diagnosis_of(diagnoses, "nvcc").status == "ok"
    assert diagnosis_of(diagnoses, "nvcc's C++ compiler").status == "error"
    assert "gcc: No such file" in diagnosis_of(diagnoses, "nvcc's C++ compiler").found


def test_nvcc_without_a_release_is_to_be_reinstalled(put_nvcc: Callable[..., None]) -> None:
    put_nvcc("unknown")
    (diagnosis,) = gpu_checks.nvcc(WITHOUT_GPU)
    assert diagnosis.status == "warning" and diagnosis.advice.startswith("reinstall the CUDA toolkit: ")


@pytest.mark.parametrize(("built_for", "status"), [((13, 1), "ok"), ((12, 8), "warning")])
def test_pycuda_for_another_major_release_gives_a_warning(built_for: tuple[int, int], status: str) -> None:
    machine = Machine(True, DRIVER, PyCuda("2025.1", built_for, (H100,)), H100)
    assert diagnosis_of(gpu_checks.pycuda(machine), "PyCUDA").status == status


def test_a_gpu_newer_than_the_table_is_usable() -> None:
    new = Gpu(1, "NVIDIA X", (99, 0), "0000:01:00.0")
    assert diagnosis_of(
        gpu_checks.pycuda(Machine(True, DRIVER, PyCuda("1", (13, 0), (new,)), new)), "gpu:1"
    ).status == ("warning")


# ---- Conditions that disturb measurements


def test_an_idle_gpu_gets_no_warning() -> None:
    state = GpuState(345, 1980, (), 68.0, 700.0, 700.0, 30, True, 80 * 2**30, 80 * 2**30, (), "default", True,
                     False)  # fmt: skip
    diagnoses = list(gpu_checks.judge_state(state))
    assert {diagnosis.status for diagnosis in diagnoses} == {"ok"}
    assert "345 of at most 1980 MHz" in diagnosis_of(diagnoses, "SM clock").found


@pytest.mark.parametrize(
    ("state", "subject", "status", "words"),
    [
        (GpuState(900, 1980, ("power cap",)), "SM clock", "warning", "power cap"),
        (
            GpuState(power_limit_w=300.0, default_power_limit_w=700.0),
            "power",
            "warning",
            "nvidia-smi -pl 700",
        ),
        (GpuState(persistence=False), "persistence mode", "warning", "nvidia-smi -pm 1"),
        (GpuState(processes=(41, 42)), "other programs on the GPU", "warning", "41, 42"),
        (GpuState(memory_free_bytes=2**20), "GPU memory", "warning", "1 MiB"),
        (GpuState(compute_mode="exclusive process"), "compute mode", "warning", "cudamm cannot use it"),
        (GpuState(compute_mode="prohibited"), "compute mode", "error", "nvidia-smi -c DEFAULT"),
        (GpuState(mig=True), "MIG", "warning", "one instance"),
    ],
)
def test_a_state_that_disturbs_measurements_is_reported(
    state: GpuState, subject: str, status: str, words: str
) -> None:
    (diagnosis,) = gpu_checks.judge_state(state)
    assert (diagnosis.subject, diagnosis.status) == (subject, status)
    assert words in diagnosis.advice


def test_a_state_that_nvml_does_not_report_is_left_out() -> None:
    assert list(gpu_checks.judge_state(GpuState())) == []


@pytest.mark.parametrize(
    ("variables", "subjects"),
    [
        ({}, []),
        ({"CUDA_VISIBLE_DEVICES": ""}, ["CUDA_VISIBLE_DEVICES"]),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["CUDA_VISIBLE_DEVICES"]),
        ({"CUDA_LAUNCH_BLOCKING": "0", "NVCC_APPEND_FLAGS": ""}, []),
        ({"CUDA_LAUNCH_BLOCKING": "1", "NVCC_PREPEND_FLAGS": "-G"}, ["CUDA_LAUNCH_BLOCKING",
                                                                     "NVCC_PREPEND_FLAGS"]),
    ],
)  # fmt: skip
def test_variables_are_reported_if_they_have_an_effect(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], subjects: list[str]
) -> None:
    for name in machine_checks.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert [diagnosis.subject for diagnosis in machine_checks.environment(WITH_GPU)] == subjects


def test_a_folder_must_be_writable_and_have_free_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    refused = machine_checks.folder("cache folder", tmp_path / "file", "CUDAMM_CACHE")
    assert refused.status == "error" and "set CUDAMM_CACHE to another folder" in refused.advice
    for least_bytes, status in ((1, "ok"), (2**63, "warning")):
        monkeypatch.setattr(machine_checks, "LOW_DISK_BYTES", least_bytes)
        assert machine_checks.folder("temporary folder", tmp_path, "TMPDIR").status == status


@pytest.mark.parametrize(("load", "status"), [(0.0, "ok"), (1e6, "warning")])
def test_a_busy_processor_gives_a_warning(monkeypatch: pytest.MonkeyPatch, load: float, status: str) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    assert diagnosis_of(machine_checks.processor(WITHOUT_GPU), "load").status == status


@pytest.mark.parametrize(("free_bytes", "status"), [(10 * 2**30, "ok"), (2**20, "warning")])
def test_little_memory_gives_a_warning(free_bytes: int, status: str) -> None:
    assert memory("host memory", free_bytes).status == status


# ---- The whole examination


@pytest.mark.parametrize(("spec", "index"), [("auto", 0), ("gpu", 0), ("gpu:1", 1), ("cpu", None)])
def test_a_device_name_means_the_gpu_that_bench_uses(spec: str, index: int | None) -> None:
    assert gpu_index(spec) == index


def test_the_first_error_with_advice_is_the_most_important() -> None:
    diagnoses = [
        Diagnosis("a", "warning", "slow", "wait"),
        Diagnosis("b", "error", "broken"),
        Diagnosis("c", "error", "broken too", "mend it"),
        Diagnosis("d", "error", "and this", "later"),
    ]
    assert most_important(diagnoses) == "mend it"
    assert not can_bench(diagnoses)
    assert can_bench(diagnoses[:1])


def test_a_check_that_fails_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", raising(OSError("Load averages are unobtainable")))
    diagnoses = doctor.examine("cpu")
    assert diagnosis_of(diagnoses, "processor").status == "warning"
    assert "unobtainable" in diagnosis_of(diagnoses, "processor").found
    assert diagnosis_of(diagnoses, "bench").status == "ok"


@pytest.mark.parametrize("error", [TypeError("a bug"), AttributeError("a bug"), ValueError("a bug")])
def test_a_bug_in_a_check_is_no_diagnosis(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(os, "getloadavg", raising(error))
    with pytest.raises(type(error), match="a bug"):
        doctor.examine("cpu")


@pytest.mark.parametrize(
    "error",
    [
        NoDeviceError("there is no NVIDIA driver here"),
        RuntimeError("numpy failed to initialize"),  # a PyCUDA that was built for another NumPy
    ],
)
def test_a_gpu_that_cannot_be_used_is_an_error_instead_of_the_cpu(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    # The module is imported by name, because the package also has a function called find.
    monkeypatch.setattr(importlib.import_module("cudamm.devices.find_device"), "is_left_out", lambda: True)
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", raising(error))
    diagnoses = doctor.examine("auto")
    assert diagnosis_of(diagnoses, "bench").status == "error"
    assert str(error) in diagnosis_of(diagnoses, "bench").found
    assert not can_bench(diagnoses)


def test_an_unknown_device_name_is_refused() -> None:
    with pytest.raises(UsageError, match="gpx"):
        doctor.examine("gpx")
