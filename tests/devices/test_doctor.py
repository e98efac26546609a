"""What doctor makes of what there is; the machine itself is asked in one test only."""

from __future__ import annotations

import importlib

import pytest

from cudamm.devices import doctor
from cudamm.devices.doctor import Diagnosis, Driver, Gpu, GpuState, Nvcc, PyCuda
from cudamm.errors import NoDeviceError, UsageError

DRIVER = Driver("580.65.06", (13, 0))
H100 = Gpu(0, "NVIDIA H100", (9, 0), "0000:65:00.0")
PYCUDA = PyCuda("2025.1", (13, 0), (H100,))
NVCC = Nvcc("/usr/local/cuda/bin/nvcc", (13, 0), ("sm_75", "sm_90"))


def of(findings: list[Diagnosis], subject: str) -> Diagnosis:
    (finding,) = [finding for finding in findings if finding.subject == subject]
    return finding


def test_a_machine_that_is_as_it_should_be_gives_no_advice() -> None:
    findings = [
        doctor.judge_driver(DRIVER, True),
        *doctor.judge_pycuda(PYCUDA, DRIVER, True),
        *doctor.judge_nvcc(NVCC, DRIVER.cuda, H100, True),
        doctor.judge_host_compiler("g++ 12", "", True),
    ]
    assert {finding.status for finding in findings} == {"ok"}
    assert [finding.advice for finding in findings if finding.advice] == []


@pytest.mark.parametrize(("on_gpu", "status"), [(True, "error"), (False, "missing")])
def test_what_only_a_gpu_needs_stops_nothing_on_the_cpu(on_gpu: bool, status: str) -> None:
    driver = Driver("", None, "libcuda.so.1: cannot open shared object file")
    assert doctor.judge_driver(driver, on_gpu).status == status
    assert of(doctor.judge_pycuda(PyCuda(None), driver, on_gpu), "PyCUDA").status == status
    assert of(doctor.judge_nvcc(Nvcc(None, failure="none"), None, None, on_gpu), "nvcc").status == status


def test_the_cpu_device_cannot_do_without_a_compiler_and_a_gpu_can() -> None:
    assert doctor.judge_host_compiler("", "no g++", False).status == "error"
    assert doctor.judge_host_compiler("", "no g++", True).status == "warning"


@pytest.mark.parametrize(
    ("nvcc", "driver", "status"),
    [
        ((13, 0), (13, 0), "ok"),
        ((13, 2), (13, 0), "ok"),  # minor version compatibility
        ((12, 9), (13, 0), "ok"),
        ((13, 0), (12, 8), "error"),
    ],
)
def test_nvcc_may_be_of_a_newer_minor_release_and_of_no_newer_major_one(
    nvcc: tuple[int, int], driver: tuple[int, int], status: str
) -> None:
    found = Nvcc("nvcc", nvcc, ("sm_90",))
    finding = of(doctor.judge_nvcc(found, driver, H100, True), "nvcc")
    assert finding.status == status
    assert ("nvcc of CUDA 12" in finding.advice) == (status == "error")


def test_nvcc_that_cannot_compile_for_the_gpu_is_an_error() -> None:
    finding = of(doctor.judge_nvcc(Nvcc("nvcc", (11, 4), ("sm_35", "sm_86")), (13, 0), H100, True), "nvcc")
    assert finding.status == "error"
    assert "sm_90" in finding.advice and "sm_35 to sm_86" in finding.found


def test_nvcc_without_a_cpp_compiler_is_an_error_of_its_own() -> None:
    nvcc = Nvcc("nvcc", (13, 0), ("sm_90",), host_failure="gcc: No such file")
    findings = doctor.judge_nvcc(nvcc, (13, 0), H100, True)
    assert of(findings, "nvcc").status == "ok"
    assert of(findings, "nvcc's C++ compiler").status == "error"


def test_without_nvmath_bench_runs_and_it_is_said_what_is_missing() -> None:
    assert doctor.judge_nvmath("1.0.0", True).status == "ok"
    finding = doctor.judge_nvmath(None, True)
    assert (finding.subject, finding.status) == ("nvmath-python", "missing")
    assert "pip install nvmath-python" in finding.advice and "cuBLAS" in finding.advice
    assert doctor.judge_nvmath(None, False).advice == ""  # nothing to be done without a GPU
    assert doctor.can_bench([finding])


@pytest.mark.parametrize(("built_for", "status"), [((13, 1), "ok"), ((12, 8), "warning")])
def test_pycuda_of_another_major_release_is_warned_of(built_for: tuple[int, int], status: str) -> None:
    assert doctor.judge_fit(PyCuda("2025.1", built_for, (H100,)), (13, 0)).status == status


def test_a_gpu_newer_than_the_table_is_usable() -> None:
    finding = doctor.judge_gpu(Gpu(1, "NVIDIA X", (99, 0), "0000:01:00.0"))
    assert (finding.subject, finding.status) == ("gpu:1", "warning")


def test_a_quiet_gpu_is_fine() -> None:
    state = GpuState(345, 1980, (), 68.0, 700.0, 700.0, 30, True, 80 * 2**30, 80 * 2**30, (), "default", True,
                     False)  # fmt: skip
    findings = doctor.judge_state(state)
    assert {finding.status for finding in findings} == {"ok"}
    assert "345 of at most 1980 MHz" in of(findings, "SM clock").found


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
        (GpuState(compute_mode="exclusive process"), "compute mode", "warning", "refused"),
        (GpuState(compute_mode="prohibited"), "compute mode", "error", "nvidia-smi -c DEFAULT"),
        (GpuState(mig=True), "MIG", "warning", "one instance"),
    ],
)
def test_what_spoils_a_measurement_is_found(state: GpuState, subject: str, status: str, words: str) -> None:
    finding = of(doctor.judge_state(state), subject)
    assert finding.status == status
    assert words in finding.advice


def test_what_nvml_does_not_tell_is_left_out() -> None:
    assert doctor.judge_state(GpuState()) == []


@pytest.mark.parametrize(
    ("environment", "subjects"),
    [
        ({}, []),
        ({"CUDA_VISIBLE_DEVICES": ""}, ["CUDA_VISIBLE_DEVICES"]),
        ({"CUDA_VISIBLE_DEVICES": "0"}, ["CUDA_VISIBLE_DEVICES"]),
        ({"CUDA_LAUNCH_BLOCKING": "0", "NVCC_APPEND_FLAGS": ""}, []),
        ({"CUDA_LAUNCH_BLOCKING": "1", "NVCC_PREPEND_FLAGS": "-G"}, ["CUDA_LAUNCH_BLOCKING",
                                                                     "NVCC_PREPEND_FLAGS"]),
    ],
)  # fmt: skip
def test_variables_count_where_they_do_something(environment: dict[str, str], subjects: list[str]) -> None:
    assert [finding.subject for finding in doctor.judge_environment(environment)] == subjects


@pytest.mark.parametrize(
    ("free_bytes", "failure", "status"),
    [(10 * 2**30, "", "ok"), (2**20, "", "warning"), (0, "/x cannot be written: set TMPDIR", "error")],
)
def test_a_folder_has_to_take_files(free_bytes: int, failure: str, status: str) -> None:
    assert doctor.judge_folder("cache folder", "/x", free_bytes, failure).status == status


@pytest.mark.parametrize(("load", "status"), [(0.5, "ok"), (7.0, "warning")])
def test_a_busy_processor_is_told(load: float, status: str) -> None:
    assert of(doctor.judge_processor(4, 8, load), "load").status == status


@pytest.mark.parametrize(
    ("spec", "index"), [("auto", 0), ("gpu", 0), ("gpu:1", 1), ("gpu:2", None), ("cpu", None), ("x", None)]
)
def test_a_device_name_means_the_gpu_that_bench_would_take(spec: str, index: int | None) -> None:
    gpus = (H100, Gpu(1, "other", (8, 0), "0000:66:00.0"))
    found = doctor.chosen(gpus, spec)
    assert (found.index if found else None) == index


def test_the_first_error_with_advice_is_the_most_important() -> None:
    findings = [
        Diagnosis("a", "warning", "slow", "wait"),
        Diagnosis("b", "error", "broken"),
        Diagnosis("c", "error", "broken too", "mend it"),
        Diagnosis("d", "error", "and this", "later"),
    ]
    assert doctor.most_important(findings) == "mend it"
    assert not doctor.can_bench(findings)
    assert doctor.can_bench(findings[:1])


def test_a_check_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks() -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(doctor, "probe_host_memory", breaks)
    finding = of(doctor.examine("cpu"), "host memory")
    assert finding.status == "warning"
    assert "Input/output error" in finding.found


def test_a_gpu_that_cannot_be_used_is_an_error_and_not_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_driver() -> None:
        raise NoDeviceError("there is no NVIDIA driver here")

    # By name, as the package has a function called find, too.
    module = importlib.import_module("cudamm.devices.find_device")
    monkeypatch.setattr(module, "is_left_out", lambda: True)
    # A device of its own: the note that it is given would stay with the shared one.
    monkeypatch.setattr(module, "host", module.host.__wrapped__)
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", no_driver)
    findings = doctor.examine("auto")
    assert of(findings, "bench").status == "error"
    assert not doctor.can_bench(findings)


def test_a_name_of_no_device_is_refused() -> None:
    with pytest.raises(UsageError, match="gpx"):
        doctor.examine("gpx")
