"""The search for nvcc and CUDA's headers, in folders made up for each test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cudamm.compile import toolkit
from cudamm.errors import NoDeviceError

VERSION_13_0 = """\
nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release 13.0, V13.0.88
"""


def make_nvcc(path: Path, output: str = VERSION_13_0, status: int = 0) -> Path:
    """Write a program to `path` that prints `output` for any arguments."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{output}\nEND\nexit {status}\n")
    path.chmod(0o755)
    return path


def make_headers(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the toolkits of the machine that runs the tests."""
    monkeypatch.setenv("PATH", "/nonexistent")
    for variable in toolkit.TOOLKIT_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(toolkit, "INSTALLED_TOOLKIT", tmp_path / "usr-local-cuda")
    monkeypatch.setattr(toolkit, "SYSTEM_HEADERS", tmp_path / "usr-include")
    monkeypatch.setattr(toolkit.sysconfig, "get_path", lambda name: str(tmp_path / name))


@pytest.fixture
def with_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the programs that a made-up nvcc calls on PATH."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


def test_a_bare_machine_has_no_nvcc() -> None:
    assert toolkit.find_nvcc() is None


def test_each_place_is_preferred_to_those_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheels = tmp_path / "purelib" / "nvidia"
    places = {
        "path": make_nvcc(tmp_path / "path" / "nvcc"),
        "CUDA_HOME": make_nvcc(tmp_path / "home" / "bin" / "nvcc"),
        "CUDA_PATH": make_nvcc(tmp_path / "cuda-path" / "bin" / "nvcc"),
        "CUDA_ROOT": make_nvcc(tmp_path / "root" / "bin" / "nvcc"),
        "installed": make_nvcc(tmp_path / "usr-local-cuda" / "bin" / "nvcc"),
        "cu14": make_nvcc(wheels / "cu14" / "bin" / "nvcc"),
        "cu13": make_nvcc(wheels / "cu13" / "bin" / "nvcc"),
        "cu9": make_nvcc(wheels / "cu9" / "bin" / "nvcc"),
        "cu12": make_nvcc(wheels / "cuda_nvcc" / "bin" / "nvcc"),
    }
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for variable in toolkit.TOOLKIT_VARIABLES:
        monkeypatch.setenv(variable, str(places[variable].parent.parent))
    for nvcc in places.values():
        assert toolkit.find_nvcc() == nvcc
        nvcc.unlink()
    assert toolkit.find_nvcc() is None


def test_a_file_that_cannot_be_executed_is_ignored(tmp_path: Path) -> None:
    make_nvcc(tmp_path / "usr-local-cuda" / "bin" / "nvcc").chmod(0o644)
    wheel = make_nvcc(tmp_path / "platlib" / "nvidia" / "cu13" / "bin" / "nvcc")
    assert toolkit.find_nvcc() == wheel


def test_wheels_are_looked_for_in_the_given_folders_only(tmp_path: Path) -> None:
    make_nvcc(tmp_path / "purelib" / "nvidia" / "cu13" / "bin" / "nvcc")
    other = make_nvcc(tmp_path / "other" / "nvidia" / "cu13" / "bin" / "nvcc")
    assert toolkit.find_nvcc([tmp_path / "other"]) == other
    assert toolkit.find_nvcc([tmp_path / "empty"]) is None


def test_folders_of_other_wheels_are_not_searched(tmp_path: Path) -> None:
    make_nvcc(tmp_path / "purelib" / "nvidia" / "cublas" / "bin" / "nvcc")
    make_nvcc(tmp_path / "purelib" / "nvidia" / "cu" / "bin" / "nvcc")
    assert toolkit.find_nvcc() is None


def test_version_is_the_release(tmp_path: Path, with_shell: None) -> None:
    assert toolkit.nvcc_version(make_nvcc(tmp_path / "nvcc")) == (13, 0)
    later = make_nvcc(tmp_path / "later" / "nvcc", "Cuda compilation tools, release 12.10, V12.10.3")
    assert toolkit.nvcc_version(later) == (12, 10)


def test_a_program_that_prints_no_cuda_release_is_refused(tmp_path: Path, with_shell: None) -> None:
    with pytest.raises(NoDeviceError, match="names no CUDA release"):
        toolkit.nvcc_version(make_nvcc(tmp_path / "nvcc", "clang version 18"))
    with pytest.raises(NoDeviceError, match="names no CUDA release"):
        toolkit.nvcc_version(make_nvcc(tmp_path / "nvcc", f"release {'9' * 5000}.0"))


def test_an_nvcc_that_fails_is_reported_with_its_message(tmp_path: Path, with_shell: None) -> None:
    broken = make_nvcc(tmp_path / "nvcc", "nvcc fatal: no profile\nmore", status=3)
    with pytest.raises(NoDeviceError, match=r"status 3: nvcc fatal: no profile$"):
        toolkit.nvcc_version(broken)
    with pytest.raises(NoDeviceError, match="cannot be run"):
        toolkit.nvcc_version(tmp_path / "none")


def test_an_nvcc_that_hangs_is_stopped_after_the_timeout(
    tmp_path: Path, with_shell: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text("#!/bin/sh\nexec sleep 30\n")
    nvcc.chmod(0o755)
    monkeypatch.setattr(toolkit, "NVCC_TIMEOUT_S", 0.1)
    with pytest.raises(NoDeviceError, match="timed out"):
        toolkit.nvcc_version(nvcc)


def test_only_cu12_wheels_need_include_options(tmp_path: Path) -> None:
    nvidia = tmp_path / "nvidia"
    runtime = make_headers(nvidia / "cuda_runtime" / "include", "cuda.h")
    assert toolkit.include_options(nvidia / "cuda_nvcc" / "bin" / "nvcc") == [f"-I{runtime}"]
    cccl = make_headers(nvidia / "cuda_cccl" / "include")
    assert toolkit.include_options(nvidia / "cuda_nvcc" / "bin" / "nvcc") == [f"-I{runtime}", f"-I{cccl}"]
    assert toolkit.include_options(nvidia / "cu13" / "bin" / "nvcc") == []
    assert toolkit.include_options(tmp_path / "usr" / "local" / "cuda" / "bin" / "nvcc") == []


def test_headers_are_found_behind_a_wrapper(tmp_path: Path, with_shell: None) -> None:
    root = tmp_path / "opt" / "cuda"
    (root / "bin").mkdir(parents=True)
    headers = make_headers(root / "targets" / "x86_64-linux" / "include", *toolkit.DRIVER_HEADERS)
    wrapper = make_nvcc(tmp_path / "bin" / "nvcc", f"#$ _HERE_={root}/bin\n#$ TOP={root}/bin/..")
    assert toolkit.header_folders(wrapper) == [headers]


def test_headers_beside_an_nvcc_that_does_not_run_are_found(tmp_path: Path, with_shell: None) -> None:
    headers = make_headers(tmp_path / "cuda" / "include", *toolkit.DRIVER_HEADERS)
    broken = make_nvcc(tmp_path / "cuda" / "bin" / "nvcc", status=1)
    assert toolkit.header_folders(broken) == [headers]


def test_headers_of_cu12_wheels_are_found_in_two_folders(tmp_path: Path) -> None:
    nvidia = tmp_path / "purelib" / "nvidia"
    runtime = make_headers(nvidia / "cuda_runtime" / "include", "cuda.h")
    assert toolkit.header_folders(None) == []
    profiler = make_headers(nvidia / "cuda_profiler_api" / "include", "cudaProfiler.h")
    assert toolkit.header_folders(None) == [runtime, profiler]


@pytest.mark.parametrize("layout", ["cu13", "cuda_runtime"])
def test_the_folder_of_the_runtimes_headers_is_a_candidate(tmp_path: Path, layout: str) -> None:
    """bootstrap.py and the tests look for cuda_occupancy.h among the candidates."""
    headers = make_headers(tmp_path / "purelib" / "nvidia" / layout / "include", "cuda_occupancy.h")
    candidates = toolkit.header_candidates(None, None)
    assert [folder for folder in candidates if (folder / "cuda_occupancy.h").is_file()] == [headers]


def test_headers_packed_by_the_distribution_are_found(tmp_path: Path) -> None:
    system = make_headers(tmp_path / "usr-include", *toolkit.DRIVER_HEADERS)
    make_headers(tmp_path / "purelib" / "nvidia" / "cu13" / "include", *toolkit.DRIVER_HEADERS)
    assert toolkit.header_folders(None) == [system]


def test_only_the_standard_library_is_needed() -> None:
    """bootstrap.py loads the file, without its package, before anything is installed."""
    code = "import runpy, sys; sys.path.insert(0, sys.argv[1]); runpy.run_path(sys.argv[2])"
    module = Path(toolkit.__file__)
    command = [sys.executable, "-ISc", code, module.parents[2], module]
    completed = subprocess.run(command, capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
