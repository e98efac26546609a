"""bootstrap.py's decisions, with made-up drivers, and with commands recorded instead of run."""

from __future__ import annotations

import ast
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
SCRIPT = CHECKOUT / "bootstrap.py"


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module, for a checkout in `tmp_path`, on a machine without a driver or toolkit."""
    specification = importlib.util.spec_from_file_location("bootstrap", SCRIPT)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.syspath_prepend(str(CHECKOUT))
    specification.loader.exec_module(module)
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    inputs = (checkout / "pyproject.toml", checkout / "bootstrap.py")
    for path in inputs:
        path.write_text("first\n")
    venv = checkout / ".venv"
    for name, value in {
        "ROOT": checkout,
        "INPUTS": inputs,
        "VENV": venv,
        "VENV_PYTHON": venv / "bin" / "python",
        "PROGRAM": venv / "bin" / "cudamm",
        "STAMP": venv / "setup-stamp.json",
        "BUILD_LOG": venv / "pycuda-build.log",
        "DEVICE_FOLDER": tmp_path / "dev",
        "DRIVER_VERSION_FILE": tmp_path / "version",
    }.items():
        monkeypatch.setattr(module, name, value)
    # find_driver removes it: setting it here has it restored after the test.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(module.toolkit, "find_nvcc", lambda folders: None)
    monkeypatch.setattr(module.toolkit, "find_nvdisasm", lambda nvcc, folders: tmp_path / "nvdisasm")
    monkeypatch.setattr(module.toolkit, "header_folders", lambda nvcc, folders: [])
    monkeypatch.setattr(module.toolkit, "header_candidates", lambda nvcc, folders: [tmp_path / "include"])
    monkeypatch.setattr(module, "driver_library", lambda load=None: None)
    return module


class FakeCuda:
    """The driver's library: every call writes what it was made with and returns a status."""

    def __init__(self, init: int = 0, version: int = 13000, count: int = 1) -> None:
        self.init, self.version, self.count = init, version, count

    def __call__(self, name: str) -> FakeCuda:
        return self

    def cuInit(self, flags: int) -> int:  # noqa: N802 - CUDA's name
        return self.init

    def cuDriverGetVersion(self, reference: Any) -> int:  # noqa: N802
        reference._obj.value = self.version
        return 0

    def cuDeviceGetCount(self, reference: Any) -> int:  # noqa: N802
        reference._obj.value = self.count
        return 0


@pytest.fixture
def with_library(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose loader finds a driver's library."""
    library = Path("/usr/lib/libcuda.so.580.1")
    monkeypatch.setattr(bootstrap, "driver_library", lambda load=None: library)
    return library


def setup_steps(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, gpu: bool = True, compiler: bool = True
) -> list[str]:
    """Replace what setup does by notes of it; the parts that may fail succeed or fail as told."""
    steps: list[str] = []

    def make_environment(keep: bool) -> None:
        steps.append("keep" if keep else "replace")
        bootstrap.VENV_PYTHON.parent.mkdir(parents=True, exist_ok=True)
        bootstrap.VENV_PYTHON.touch()

    def install_cudamm() -> None:
        steps.append("install")
        bootstrap.PROGRAM.touch()

    def set_up_gpu() -> bool:
        steps.append("gpu")
        return gpu

    def set_up_compiler() -> bool:
        steps.append("compiler")
        return compiler

    for step in (make_environment, install_cudamm, set_up_gpu, set_up_compiler):
        monkeypatch.setattr(bootstrap, step.__name__, step)
    return steps


# What is done again and what is not


def test_setup_twice_does_nothing_the_second_time(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    assert bootstrap.main() == 0
    assert steps == ["keep", "install", "gpu", "compiler"]
    steps.clear()
    assert bootstrap.main() == 0
    assert steps == []


@pytest.mark.parametrize("name", ["pyproject.toml", "bootstrap.py"])
def test_a_changed_input_installs_again(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    steps.clear()
    (bootstrap.ROOT / name).write_text("second\n")
    bootstrap.main()
    assert steps == ["keep", "install", "gpu", "compiler"]


def test_a_missing_program_installs_again(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    steps.clear()
    bootstrap.PROGRAM.unlink()
    bootstrap.main()
    assert steps == ["keep", "install", "gpu", "compiler"]


def test_an_environment_of_another_checkout_is_replaced(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Scripts in a copied .venv still name the original's Python."""
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    steps.clear()
    monkeypatch.setattr(bootstrap, "ROOT", tmp_path / "copy")
    bootstrap.main()
    assert steps == ["replace", "install", "gpu", "compiler"]


def test_an_unreadable_stamp_is_no_stamp(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    steps.clear()
    bootstrap.STAMP.write_text("{")
    assert bootstrap.main() == 0
    assert steps == ["keep", "install", "gpu", "compiler"]


@pytest.mark.parametrize("part", ["gpu", "compiler"])
def test_a_failed_part_alone_is_tried_again(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, with_library: Path, part: str
) -> None:
    steps = setup_steps(bootstrap, monkeypatch, **{part: False})
    assert bootstrap.main() == 0
    assert steps == ["keep", "install", "gpu", "compiler"]
    for _ in range(2):
        steps.clear()
        assert bootstrap.main() == 0
        assert steps == [part]


def test_an_interrupted_gpu_part_keeps_the_installation(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup_steps(bootstrap, monkeypatch)

    def set_up_gpu() -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "set_up_gpu", set_up_gpu)
    assert bootstrap.main() == 130
    steps = setup_steps(bootstrap, monkeypatch)
    assert bootstrap.main() == 0
    assert steps == ["gpu", "compiler"]


def test_both_parts_follow_driver_devices_and_compiler(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    changes: list[Callable[[], object]] = [
        lambda: monkeypatch.setattr(bootstrap, "driver_library", lambda load=None: Path("/lib/libcuda.so.1")),
        lambda: bootstrap.DRIVER_VERSION_FILE.write_text("NVRM version: 580.1\nGCC version: 12\n"),
        lambda: (bootstrap.DEVICE_FOLDER.mkdir(), (bootstrap.DEVICE_FOLDER / "nvidia0").touch()),
        lambda: monkeypatch.setattr(
            bootstrap.toolkit, "find_nvcc", lambda folders: Path("/opt/cuda/bin/nvcc")
        ),
    ]
    for change in changes:
        steps.clear()
        change()
        bootstrap.main()
        assert steps == ["gpu", "compiler"]
        bootstrap.main()
        assert steps == ["gpu", "compiler"]


def test_without_a_driver_the_compiler_concerns_its_own_part_only(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = setup_steps(bootstrap, monkeypatch)
    bootstrap.main()
    steps.clear()
    monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: Path("/opt/cuda/bin/nvcc"))
    bootstrap.main()
    assert steps == ["compiler"]


def test_what_a_part_brings_does_not_make_it_out_of_date(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = setup_steps(bootstrap, monkeypatch)

    def set_up_compiler() -> bool:
        steps.append("compiler")
        monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: bootstrap.VENV / "nvcc")
        return True

    monkeypatch.setattr(bootstrap, "set_up_compiler", set_up_compiler)
    bootstrap.main()
    assert steps == ["keep", "install", "gpu", "compiler"]
    steps.clear()
    bootstrap.main()
    assert steps == []


def test_a_failed_installation_is_told_and_not_remembered(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setup_steps(bootstrap, monkeypatch)

    def install_cudamm() -> None:
        raise bootstrap.SetupError("cudamm could not be installed: no network", "pip's words")

    monkeypatch.setattr(bootstrap, "install_cudamm", install_cudamm)
    assert bootstrap.main() == 1
    assert capsys.readouterr().err == "pip's words\nsetup: cudamm could not be installed: no network\n"
    assert not bootstrap.STAMP.exists()


# The driver


def test_no_library_means_no_driver(bootstrap: ModuleType) -> None:
    assert bootstrap.find_driver(FakeCuda()) is None


@pytest.mark.parametrize("cuda", [FakeCuda(init=100), FakeCuda(init=34), FakeCuda(count=0)])
def test_a_driver_without_gpus_is_no_driver(
    bootstrap: ModuleType, with_library: Path, cuda: FakeCuda
) -> None:
    assert bootstrap.find_driver(cuda) is None


def test_driver_tells_its_cuda_version(bootstrap: ModuleType, with_library: Path) -> None:
    assert bootstrap.find_driver(FakeCuda(version=12080, count=4)) == (with_library, (12, 8), 4)


def test_hidden_gpus_are_set_up_all_the_same(
    bootstrap: ModuleType, with_library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert bootstrap.find_driver(FakeCuda()) is not None
    assert "CUDA_VISIBLE_DEVICES" not in os.environ


def test_a_driver_that_does_not_start_costs_pycuda_only(
    bootstrap: ModuleType,
    with_library: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    find_driver = bootstrap.find_driver
    monkeypatch.setattr(bootstrap, "find_driver", lambda: find_driver(FakeCuda(init=999)))
    assert bootstrap.set_up_gpu() is False
    first, second = capsys.readouterr().err.splitlines()
    assert "CUDA error 999" in first
    assert "works without a GPU" in second


def test_the_library_is_found_among_mapped_files(bootstrap: ModuleType) -> None:
    maps = (
        "7f00-7f01 r-xp 00000000 08:01 12 \n"
        "7f01-7f02 r--p 00000000 08:01 13                         /usr/lib/libcudart.so.13\n"
        "7f02-7f03 r--p 00000000 08:01 14                         /opt/with space/libcuda.so.580.1\n"
    )
    assert bootstrap.mapped_file("libcuda.so", maps) == Path("/opt/with space/libcuda.so.580.1")
    assert bootstrap.mapped_file("libother.so", maps) is None


# The toolkit and PyCUDA


def test_wheels_are_no_newer_than_the_driver(bootstrap: ModuleType) -> None:
    wheels = bootstrap.toolkit_wheels((13, 0))
    assert "nvidia-cuda-nvcc>=13,<13.1" in wheels
    assert "nvidia-nvvm>=13,<13.1" in wheels
    assert {wheel.partition(">=")[2] for wheel in bootstrap.toolkit_wheels((14, 2))} == {"13,<14.3"}
    assert "nvidia-cuda-runtime-cu12>=12,<12.9" in bootstrap.toolkit_wheels((12, 8))
    with pytest.raises(bootstrap.SetupError, match=r"CUDA 11\.4"):
        bootstrap.toolkit_wheels((11, 4))


@pytest.fixture
def removed(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What pip was told to remove; removing nvcc's wheel leaves no nvcc."""
    names: list[str] = []

    def pip(arguments: list[Any], failure: str) -> None:
        command, assent, *rest = arguments
        assert (command, assent) == ("uninstall", "--yes")
        names.extend(rest)
        monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: None)

    monkeypatch.setattr(bootstrap, "pip", pip)
    return names


@pytest.fixture
def installed(
    bootstrap: ModuleType, removed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> list[str]:
    """What pip was told to install; nvcc's wheel brings an nvcc, the runtime's, of CUDA 13.7, its headers."""
    names: list[str] = []

    def pip_install(arguments: list[Any], failure: str) -> None:
        names.extend(map(str, arguments))
        for name in map(str, arguments):
            if name.startswith("nvidia-cuda-nvcc"):
                monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: bootstrap.VENV / "nvcc")
            if name.startswith("nvidia-cuda-runtime"):
                (tmp_path / "include").mkdir(exist_ok=True)
                (tmp_path / "include" / "cuda_occupancy.h").touch()

    monkeypatch.setattr(bootstrap, "pip_install", pip_install)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "run_python", lambda code: SimpleNamespace(stdout="13.7.29\n"))
    monkeypatch.setattr(bootstrap.toolkit, "nvcc_version", lambda nvcc: (13, 0))
    return names


def test_wheels_are_installed_where_there_is_no_toolkit(
    bootstrap: ModuleType, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (13, 0), 1))
    assert installed == bootstrap.toolkit_wheels((13, 0))
    assert "no nvcc" not in capsys.readouterr().err


def test_an_installed_toolkit_is_used_as_it_is(
    bootstrap: ModuleType,
    installed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: Path("/opt/cuda/bin/nvcc"))
    monkeypatch.setattr(
        bootstrap.toolkit, "header_folders", lambda nvcc, folders: [Path("/opt/cuda/include")]
    )
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (13, 0), 1))
    assert installed == []
    assert capsys.readouterr().err == ""
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (12, 4), 1))
    assert "is of CUDA 13.0, but the driver of 12.4" in capsys.readouterr().err


def test_a_missing_compiler_for_cuda_12_is_told(
    bootstrap: ModuleType, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (12, 4), 1))
    assert installed == bootstrap.toolkit_wheels((12, 4))
    assert "no nvcc: NVIDIA's wheels for CUDA 12.4 hold none" in capsys.readouterr().err


def test_wheels_of_cuda_13_give_way_to_a_driver_of_cuda_12(
    bootstrap: ModuleType, installed: list[str], removed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """They came while there was no driver, and PyCUDA would be built with their headers."""
    bootstrap.provide_nvcc()
    installed.clear()
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (13, 0), 1))
    assert removed == []
    installed.clear()
    bootstrap.provide_toolkit(bootstrap.Driver(Path("libcuda"), (12, 4), 1))
    assert installed == bootstrap.toolkit_wheels((12, 4))
    assert set(removed) == set(bootstrap.NVCC_WHEELS)
    assert "hold none" in capsys.readouterr().err


def make_source_release(folder: Path) -> Path:
    """An archive with the one folder pycuda-1."""
    archive = folder / "pycuda-1.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        setup = tarfile.TarInfo("pycuda-1/setup.py")
        tar.addfile(setup, io.BytesIO(b""))
    return archive


def test_pycuda_is_told_where_headers_and_driver_are(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    library = tmp_path / "libcuda.so.580.1"
    library.touch()
    monkeypatch.setattr(
        bootstrap.toolkit, "header_folders", lambda nvcc, folders: [Path("/opt/cuda's/include")]
    )
    source = bootstrap.unpack_pycuda(
        make_source_release(tmp_path), tmp_path / "source", bootstrap.Driver(library, (13, 0), 1)
    )
    assert (source / "setup.py").is_file()
    module = ast.parse((source / "siteconf.py").read_text())
    settings = {
        statement.targets[0].id: ast.literal_eval(statement.value)  # type: ignore[attr-defined]
        for statement in module.body
    }
    assert settings["CUDA_INC_DIR"] == ["/opt/cuda's/include"]
    assert settings["CUDA_ENABLE_CURAND"] is False
    [link_folder] = settings["CUDADRV_LIB_DIR"]
    assert (Path(link_folder) / "libcuda.so").resolve() == library


@pytest.mark.parametrize("kind", ["wheel", "source"])
def test_a_pycuda_wheel_is_installed_as_it_is(
    bootstrap: ModuleType, installed: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str
) -> None:
    def pip(arguments: list[Any], failure: str) -> None:
        assert arguments[0] == "download"
        folder = arguments[arguments.index("--dest") + 1]
        if kind == "wheel":
            (folder / "pycuda-1-cp311.whl").touch()
        else:
            make_source_release(folder)

    monkeypatch.setattr(bootstrap, "pip", pip)
    monkeypatch.setattr(bootstrap, "extra_requirements", lambda extra: ["pycuda>=1"])
    monkeypatch.setattr(bootstrap.toolkit, "header_folders", lambda nvcc, folders: [tmp_path])
    bootstrap.add_pycuda(bootstrap.Driver(tmp_path / "libcuda", (13, 0), 1))
    assert [Path(name).name for name in installed] == [
        "pycuda-1-cp311.whl" if kind == "wheel" else "pycuda-1"
    ]


def test_what_else_the_extra_has_is_added_one_by_one(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is there already stays, and what cannot be had costs nothing else."""
    asked: list[str] = []

    def pip_install(arguments: list[str], failure: str) -> None:
        asked.extend(arguments)
        if arguments[0].startswith("nvmath-python"):
            raise bootstrap.SetupError(failure)

    extra = ["pycuda>=1", "pip>=20", "nvmath-python>=1.0", "nvidia-ml-py>=13"]
    monkeypatch.setattr(bootstrap, "extra_requirements", lambda name: extra if name == "gpu" else [])
    monkeypatch.setattr(bootstrap, "python_status", lambda code: 0 if "'pip'" in code else 1)
    monkeypatch.setattr(bootstrap, "pip_install", pip_install)
    bootstrap.add_beside_pycuda()
    assert asked == ["nvmath-python>=1.0", "nvidia-ml-py>=13"]
    said = "".join(capsys.readouterr())
    assert "nvmath-python could not be installed" in said and "cuBLAS" in said


def test_a_failed_build_is_told_in_two_lines_and_logged(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bootstrap.VENV.mkdir()
    output = "compiling\nsrc/cuda.hpp:14:10: fatal error: cuda.h: No such file\nerror: command 'gcc' failed"
    command = [sys.executable, "-c", f"print({output!r}); raise SystemExit(1)"]
    monkeypatch.setattr(bootstrap, "find_driver", lambda: bootstrap.Driver(Path("libcuda"), (13, 0), 1))
    monkeypatch.setattr(
        bootstrap, "add_gpu_support", lambda driver: bootstrap.run(command, "PyCUDA could not be built")
    )
    assert bootstrap.set_up_gpu() is False
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("PyCUDA could not be built: src/cuda.hpp:14:10: fatal error: cuda.h: No such file")
    assert "works without a GPU" in second
    assert ".venv/pycuda-build.log" in second
    assert bootstrap.BUILD_LOG.read_text().rstrip() == output


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("a\nERROR: No matching distribution\nb", "No matching distribution"),
        ("  error: subprocess-exited-with-error\n  x.cpp:1: error: no y\n", "x.cpp:1: error: no y"),
        ("E: Unable to locate package\n", "Unable to locate package"),
        ("one\ntwo\n\n", "two"),
        ("", "it printed nothing"),
    ],
)
def test_the_reason_is_the_line_that_says_most(bootstrap: ModuleType, output: str, reason: str) -> None:
    assert bootstrap.failure_reason(output) == reason


# The compiler where there is no GPU, and the header that the tests compare with


def test_nvcc_comes_from_wheels_of_one_release_where_there_is_no_gpu(
    bootstrap: ModuleType, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert bootstrap.set_up_compiler() is True
    assert installed == [
        "nvidia-cuda-runtime>=13,<14",
        "nvidia-cuda-nvcc==13.7.*",
        "nvidia-cuda-crt==13.7.*",
        "nvidia-nvvm==13.7.*",
        "nvidia-cuda-runtime==13.7.*",
        "nvidia-cuda-cccl>=13,<14",
    ]
    [line] = capsys.readouterr().err.splitlines()
    assert "no nvcc on this machine" in line


def test_an_interrupted_installation_of_nvcc_is_completed(
    bootstrap: ModuleType, installed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """pip put nvcc in place, but not what it calls."""
    bootstrap.set_up_compiler()
    asked = installed.copy()
    assert bootstrap.set_up_compiler() is True
    assert installed == asked * 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.fixture
def with_nvcc(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed toolkit whose folder of headers is the one that the fixture `bootstrap` names."""
    monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: Path("/opt/cuda/bin/nvcc"))


@pytest.fixture
def with_header(tmp_path: Path) -> None:
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda_occupancy.h").touch()


def test_a_toolkit_with_nvidias_header_lacks_nothing(
    bootstrap: ModuleType,
    installed: list[str],
    with_nvcc: None,
    with_header: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bootstrap.set_up_compiler() is True
    assert installed == []
    assert capsys.readouterr().err == ""


def test_a_missing_disassembler_comes_from_its_wheel(
    bootstrap: ModuleType,
    installed: list[str],
    with_nvcc: None,
    with_header: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bootstrap.toolkit, "find_nvdisasm", lambda nvcc, folders: None)
    assert bootstrap.set_up_compiler() is True
    assert installed == ["nvidia-cuda-nvdisasm>=13,<14"]
    [line] = capsys.readouterr().err.splitlines()
    assert "no nvdisasm on this machine" in line


@pytest.mark.parametrize(
    ("cuda_version", "wheel"),
    [
        (None, "nvidia-cuda-runtime>=13,<14"),
        ((13, 0), "nvidia-cuda-runtime>=13,<13.1"),
        ((12, 4), "nvidia-cuda-runtime-cu12>=12,<12.5"),
    ],
)
def test_a_missing_header_comes_from_the_wheel_that_suits_the_driver(
    bootstrap: ModuleType,
    installed: list[str],
    with_nvcc: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    cuda_version: tuple[int, int] | None,
    wheel: str,
) -> None:
    driver = cuda_version and bootstrap.Driver(Path("libcuda"), cuda_version, 1)
    monkeypatch.setattr(bootstrap, "find_driver", lambda: driver)
    assert bootstrap.set_up_compiler() is True
    assert installed == [wheel]
    [line] = capsys.readouterr().err.splitlines()
    assert "no cuda_occupancy.h on this machine" in line


@pytest.mark.parametrize("cuda_version", [(13, 0), (12, 4)])
def test_nvcc_for_a_gpu_is_left_to_the_gpu_part(
    bootstrap: ModuleType,
    installed: list[str],
    with_header: None,
    monkeypatch: pytest.MonkeyPatch,
    cuda_version: tuple[int, int],
) -> None:
    monkeypatch.setattr(bootstrap, "find_driver", lambda: bootstrap.Driver(Path("libcuda"), cuda_version, 1))
    assert bootstrap.set_up_compiler() is True
    assert installed == []


def test_a_driver_that_does_not_start_does_not_keep_nvcc_away(
    bootstrap: ModuleType,
    installed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def find_driver() -> None:
        raise bootstrap.SetupError("the NVIDIA driver does not start")

    monkeypatch.setattr(bootstrap, "find_driver", find_driver)
    assert bootstrap.set_up_compiler() is True
    assert "nvidia-cuda-nvcc==13.7.*" in installed
    assert "does not start" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("nvcc", "missing", "cost"),
    [
        (None, "no usable nvcc", "takes bare numbers"),
        (Path("/opt/cuda/bin/nvcc"), "no cuda_occupancy.h", "tests that compare with it"),
    ],
)
def test_wheels_that_cannot_be_had_cost_one_line_and_are_tried_again(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    nvcc: Path | None,
    missing: str,
    cost: str,
) -> None:
    set_up_compiler = bootstrap.set_up_compiler
    setup_steps(bootstrap, monkeypatch)
    monkeypatch.setattr(bootstrap, "set_up_compiler", set_up_compiler)
    monkeypatch.setattr(bootstrap.toolkit, "find_nvcc", lambda folders: nvcc)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    command = [
        sys.executable,
        "-c",
        "print('WARNING: x\\nERROR: No matching distribution'); raise SystemExit(1)",
    ]
    monkeypatch.setattr(bootstrap, "pip", lambda arguments, failure: bootstrap.run(command, failure))
    for _ in range(2):
        assert bootstrap.main() == 0
        announced, failed = capsys.readouterr().err.splitlines()
        assert "on this machine; getting it" in announced
        assert missing in failed
        assert "No matching distribution" in failed
        assert cost in failed
        assert "the next `make setup` tries again" in failed


def test_a_cpp_compiler_for_nvcc_is_asked_for(
    bootstrap: ModuleType,
    installed: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert bootstrap.set_up_compiler() is False
    assert installed == []
    [line] = capsys.readouterr().err.splitlines()
    assert "apt-get install g++" in line


def test_root_installs_the_cpp_compiler(
    bootstrap: ModuleType, installed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: name if name == "apt-get" else None)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(bootstrap, "run", lambda command, failure: commands.append(command))
    assert bootstrap.set_up_compiler() is True
    assert commands[-1][-1] == "g++"
    assert "nvidia-cuda-nvcc==13.7.*" in installed


# Python and the system's packages


def test_requirements_of_an_extra_come_from_the_installed_package(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = (
        "numpy>=1.24\ncudamm[plot]; extra == 'dev'\nmypy; extra == 'dev'\n"
        "pycuda>=2024.1; extra == 'gpu'\nmatplotlib>=3.7; extra == 'plot'\n"
    )
    monkeypatch.setattr(bootstrap, "run_python", lambda code: SimpleNamespace(stdout=listing))
    assert bootstrap.extra_requirements("gpu") == ["pycuda>=2024.1"]


def test_pip_keeps_the_users_configuration(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/some/wheels")
    monkeypatch.setenv("PIP_USER", "1")
    code = "import os; print(os.environ['PIP_FIND_LINKS'], os.environ['PIP_USER'])"
    assert bootstrap.capture([sys.executable, "-c", code]).stdout == "/some/wheels 0\n"


@pytest.fixture
def without_ensurepip(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda name: name != "ensurepip" or None)


def test_a_user_is_told_which_package_lacks(
    bootstrap: ModuleType, without_ensurepip: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(bootstrap.SetupError, match=r"apt-get install python3\.\d+-venv$"):
        bootstrap.make_environment(keep=True)


def test_root_installs_the_package_that_lacks(
    bootstrap: ModuleType,
    without_ensurepip: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(bootstrap.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(bootstrap, "run", lambda command, failure: commands.append([*map(str, command)]))
    bootstrap.make_environment(keep=True)
    package = f"python3.{sys.version_info[1]}-venv"
    assert ["apt-get" in command for command in commands] == [True, True, False]
    assert commands[1][-1] == package
    assert commands[2][1:3] == ["-m", "venv"]
    assert f"installing {package} through apt" in capsys.readouterr().err


def test_an_environment_that_works_is_kept(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "run", lambda command, failure: commands.append(command))
    bootstrap.VENV_PYTHON.parent.mkdir(parents=True)
    bootstrap.VENV_PYTHON.symlink_to("/bin/true")
    bootstrap.make_environment(keep=True)
    assert commands == []
    bootstrap.make_environment(keep=False)
    assert len(commands) == 1
    bootstrap.VENV_PYTHON.unlink()
    bootstrap.VENV_PYTHON.symlink_to("/bin/false")
    bootstrap.make_environment(keep=True)
    assert len(commands) == 2


def test_an_old_python_can_parse_the_script() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
    assert "from __future__" not in SCRIPT.read_text()


def test_an_old_python_hands_over_to_a_newer_one(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, status in {"python3.9": 0, "python3.11": 0, "python3.12": 127}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["bootstrap.py"])

    def execv(program: str, arguments: list[str]) -> None:
        raise SystemExit([program, *arguments])

    monkeypatch.setattr(os, "execv", execv)
    newer = str(tmp_path / "python3.11")
    with pytest.raises(SystemExit) as stopped:
        bootstrap.use_newer_python()
    assert stopped.value.code == [newer, newer, "bootstrap.py"]


def test_an_old_python_alone_is_told(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SystemExit) as stopped:
        bootstrap.use_newer_python()
    assert stopped.value.code == 1
    assert "needs Python 3.10 or newer" in capsys.readouterr().err


def test_the_script_needs_only_the_standard_library() -> None:
    code = "import sys; sys.path.insert(0, sys.argv[1]); import bootstrap"
    completed = subprocess.run([sys.executable, "-ISc", code, CHECKOUT], capture_output=True, text=True)
    assert completed.returncode == 0, completed.stderr
