"""Runs of bootstrap.py. A shell script replaces uv, pip and .venv's Python; a stub replaces the driver."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
SCRIPT = CHECKOUT / "bootstrap.py"

# The stand-in records each command, and makes the files that bootstrap.py expects the command to make.
STAND_IN = """#!/bin/sh
PATH=/usr/bin:/bin
case "$*" in
*"import pip,"*) exit;;
*"import sysconfig"*) echo "$PYTHON_HEADERS"; exit;;
*"import pycuda.driver"*) [ -e "$SITE/pycuda" ]; exit;;
esac
[ "$PIP_USER" = 0 ] || echo "PIP_USER is $PIP_USER" >>"$RECORD"
echo "${0##*/} $*" >>"$RECORD"
for last; do :; done
case "$*" in *"${FAIL:-no such command}"*) printf "$OUTPUT"; exit 1;; esac
case "$*" in
*"${INTERRUPT:-no such command}"*) kill -INT $PPID; sleep 1;;
*" download "*) cp "$PYCUDA" "$7";;
*/pycuda-1*) mkdir -p "$SITE/pycuda"; cp "$last/siteconf.py" "$RECORD.siteconf";;
venv*|*"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python;;
*".[dev]"*) touch .venv/bin/cudamm;;
*".[toolkit]"*) mkdir -p "$SITE" && cp -r "$WHEELS" "$SITE/nvidia";;
esac
exit 0
"""
STUB = """
#include <stdlib.h>
int cuInit(unsigned flags) { return getenv("CUDA_VISIBLE_DEVICES") ? 100 : atoi(getenv("INIT")); }
int cuDriverGetVersion(int *version) { *version = atoi(getenv("CUDA")); return 0; }
"""
VENV = ["making .venv with Python {}.{}.{}".format(*sys.version_info[:3])]
INSTALLING = ["installing cudamm and what it needs in .venv"]


def make_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def make_toolkit(root: Path, release: str, *without: str) -> Path:
    """Make a CUDA toolkit, or the part of one that NVIDIA's wheels contain."""
    version = f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.88'\n"
    for name in {"nvcc", "nvdisasm"} - {*without}:
        make_program(root / "bin" / name, version)
    (root / "include").mkdir()
    for name in {"cuda.h", "cudaProfiler.h", "cuda_occupancy.h"} - {*without}:
        (root / "include" / name).touch()
    return root


@dataclass
class Machine:
    """A made-up machine with a checkout of cudamm, and no toolkit, GPU or network."""

    folder: Path
    variables: dict[str, str]

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def set_up(self, options: str = "-IS", status: int = 0, **variables: str) -> tuple[list[str], list[str]]:
        """Run the script with the standard library only. Return its commands and the printed lines."""
        record = self.folder / "record"
        record.write_text("")
        command = [sys.executable, options, str(self.checkout / "bootstrap.py")]
        environment = {**self.variables, **variables, "RECORD": str(record)}
        completed = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert (completed.returncode, completed.stdout) == (status, ""), completed.stderr
        lines = completed.stderr.splitlines()
        assert all(line.startswith("setup: ") for line in lines), completed.stderr
        return record.read_text().splitlines(), [line.removeprefix("setup: ") for line in lines]

    def add(self, name: str, text: str = "#!/bin/sh\n") -> None:
        """Put a program on PATH."""
        make_program(self.folder / "bin" / name, text)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine with uv."""
    checkout = tmp_path / "checkout"
    modules = (
        "__init__", "compile/__init__", "occupancy/__init__",
        "errors", "compile/owned_folder", "compile/process_group", "compile/toolkit",
    )  # fmt: skip
    for name in ("bootstrap.py", "pyproject.toml", *(f"cudamm/{module}.py" for module in modules)):
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        text = (CHECKOUT / name).read_text()
        # The toolkit of the machine that runs the tests is not found.
        for folder in ("/usr/local/cuda", "/usr/include"):
            text = text.replace(f'Path("{folder}")', f'Path("{tmp_path}{folder}")')
        (checkout / name).write_text(text)
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "libcuda.so.1").touch()  # an empty file is no library, so no driver is loaded
    (tmp_path / "Python.h").touch()
    make_toolkit(tmp_path / "wheels" / "cu13", "13.5")
    with tarfile.open(tmp_path / "pycuda-1.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "Python.h", "pycuda-1/setup.py")
    variables = {
        "PATH": str(tmp_path / "bin"),
        "LD_LIBRARY_PATH": str(tmp_path / "driver"),
        "PIP_USER": "1",
        "PYTHON_HEADERS": str(tmp_path),
        "PYCUDA": str(tmp_path / "pycuda-1.tar.gz"),
        "SITE": str(checkout / ".venv" / "lib" / "python3.11" / "site-packages"),
        "WHEELS": str(tmp_path / "wheels"),
        "OUTPUT": "ERROR: No matching distribution\\nmore\\n",
    }
    new_machine = Machine(tmp_path, variables)
    new_machine.add("uv", STAND_IN)
    new_machine.add("g++")
    return new_machine


@pytest.fixture(scope="session")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a driver library that returns values of environment variables."""
    library = tmp_path_factory.mktemp("stub") / "libcuda.so.1"
    command = ["g++", "-x", "c", "-", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run(command, input=STUB, text=True, check=True)
    return library


@pytest.fixture
def gpu_machine(machine: Machine, stub: Path) -> Machine:
    """Return a machine with uv and a GPU, whose driver supports CUDA 13.0."""
    shutil.copy(stub, machine.folder / "driver")
    machine.variables |= {"INIT": "0", "CUDA": "13000"}
    return machine


def uv_install(machine: Machine, arguments: str) -> str:
    return f"uv pip install --quiet --python {machine.checkout}/.venv/bin/python {arguments}"


# Installation.


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_a_machine_without_gpu_gets_cudamm_and_nvidias_wheels_once(machine: Machine, installer: str) -> None:
    environment = f"uv venv --quiet --seed --python {sys.executable} {machine.checkout}/.venv"
    install, options = uv_install(machine, ""), "-IS"
    if installer == "pip":
        environment = f"python3 -m venv --clear {machine.checkout}/.venv"
        install, options = "python -m pip install --quiet ", "-S"
        stand_in = str((machine.folder / "bin" / "uv").rename(machine.folder / "python3"))
        module = f"import os, sys\nos.execv({stand_in!r}, ['python3', '-m', 'venv', *sys.argv[1:]])\n"
        (machine.folder / "venv.py").write_text(module)
        machine.variables["PYTHONPATH"] = str(machine.folder)
    commands, lines = machine.set_up(options)
    assert commands == [environment, f"{install}--editable .[dev]", f"{install}--editable .[toolkit]"]
    assert lines[:2] == VENV + INSTALLING
    assert "lacks nvcc, nvdisasm, CUDA's headers; getting NVIDIA's wheels" in lines[2]
    assert machine.set_up(options) == ([], [])


def test_cudamm_is_installed_again_if_a_file_of_the_setup_changed_or_is_gone(machine: Machine) -> None:
    machine.set_up()
    for name in ("pyproject.toml", "bootstrap.py", ".venv/setup-cudamm.stamp", ".venv/bin/cudamm"):
        path = machine.checkout / name
        if name == ".venv/bin/cudamm":
            path.unlink()
        else:
            with path.open("a") as file:
                file.write("\n# changed\n")
        commands, lines = machine.set_up()
        assert commands[0] == uv_install(machine, "--editable .[dev]"), name
        assert lines[0] == INSTALLING[0], name
        assert machine.set_up() == ([], []), name


def test_a_copied_environment_is_replaced(machine: Machine) -> None:
    """The scripts in the copy contain the path of the original's Python."""
    machine.set_up()
    original = machine.checkout.rename(machine.folder / "original")
    shutil.copytree(original, machine.checkout)
    assert machine.set_up() == ([], [])
    copy = Machine(machine.folder / "copy", machine.variables)
    copy.folder.mkdir()
    shutil.copytree(original, copy.checkout)
    assert copy.set_up()[1][:2] == VENV + INSTALLING


def test_a_failed_installation_is_reported_with_its_cause_and_tried_again(machine: Machine) -> None:
    causes_by_output = {
        "ERROR: No matching distribution\\nmore\\n": "ERROR: No matching distribution",
        "  error: subprocess-exited-with-error\\n  x.cpp:1: error: no y\\n": "x.cpp:1: error: no y",
        "error: Failed to build it\\n  cause: Failed\\n  cause: no hatchling": "cause: no hatchling",
        "one\\ntwo\\n\\n": "two",
    }
    for output, cause in causes_by_output.items():
        _, lines = machine.set_up(status=1, FAIL=".[dev]", OUTPUT=output)
        assert lines[-1] == f"cudamm could not be installed: {cause} (all of it: .venv/setup.log)"
        assert (machine.checkout / ".venv" / "setup.log").read_text() == output.replace("\\n", "\n")
    commands, _ = machine.set_up()
    assert commands[0] == uv_install(machine, "--editable .[dev]")


def test_an_interrupted_setup_continues_where_it_stopped(machine: Machine) -> None:
    commands, lines = machine.set_up(status=130, INTERRUPT=".[toolkit]")
    assert lines[-1] == "interrupted; `make setup` goes on from here"
    commands, _ = machine.set_up()
    assert commands == [uv_install(machine, "--editable .[toolkit]")]


# CUDA toolkits.


def test_a_complete_toolkit_needs_no_wheels(machine: Machine) -> None:
    root = make_toolkit(machine.folder / "toolkit", "12.4")
    commands, lines = machine.set_up(CUDA_HOME=str(root))
    assert commands[1:] == [uv_install(machine, "--editable .[dev]")]
    assert lines == VENV + INSTALLING


def test_missing_parts_of_a_toolkit_come_from_the_wheels(machine: Machine) -> None:
    root = make_toolkit(machine.folder / "toolkit", "13.0", "nvdisasm", "cuda_occupancy.h")
    commands, lines = machine.set_up(CUDA_HOME=str(root))
    assert commands[2:] == [uv_install(machine, "--editable .[toolkit]")]
    assert "lacks nvdisasm, CUDA's headers; getting" in lines[-1]
    (root / "bin" / "nvcc").unlink()
    commands, _ = machine.set_up(CUDA_HOME=str(root))
    assert commands == [uv_install(machine, "--editable .[toolkit]")]


def test_wheels_that_cannot_be_installed_are_reported_and_tried_again(machine: Machine) -> None:
    for _ in range(2):
        commands, lines = machine.set_up(FAIL=".[toolkit]")
        assert "no nvcc, nvdisasm, CUDA's headers (installing the CUDA Toolkit also helps)" in lines[-1]
        assert "ERROR: No matching distribution" in lines[-1]
        assert lines[-1].endswith("The next `make setup` tries again")
    assert commands == [uv_install(machine, "--editable .[toolkit]")]


def test_a_missing_cpp_compiler_is_reported(machine: Machine) -> None:
    (machine.folder / "bin" / "g++").unlink()
    _, lines = machine.set_up()
    assert "sudo apt-get install g++" in lines[-1]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's setup installs packages of the system")
def test_root_installs_the_cpp_compiler(machine: Machine) -> None:
    (machine.folder / "bin" / "g++").rename(machine.folder / "bin" / "apt-get")
    machine.add("apt-get", STAND_IN)
    commands, _ = machine.set_up()
    assert commands[2:4] == ["apt-get -qq update", "apt-get -qq install --yes --no-install-recommends g++"]
    assert commands[4].endswith(".[toolkit]")


# PyCUDA.


def test_pycuda_is_built_against_the_driver_and_headers_from_wheels(gpu_machine: Machine) -> None:
    machine = gpu_machine
    commands, _ = machine.set_up(CUDA_VISIBLE_DEVICES="")
    assert commands[2] == uv_install(machine, "--editable .[toolkit] cuda-toolkit<13.1")
    download, build, install = commands[3:]
    assert download.startswith("python -m pip download --quiet --no-deps --dest ")
    assert build.endswith("/source/pycuda-1")
    assert install == uv_install(machine, "--editable .[gpu]")
    settings: dict[str, object] = {}
    for statement in ast.parse((machine.folder / "record.siteconf").read_text()).body:
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        settings[statement.targets[0].id] = ast.literal_eval(statement.value)
    assert settings == {
        "CUDA_INC_DIR": [f"{machine.variables['SITE']}/nvidia/cu13/include"],
        "CUDADRV_LIBNAME": [],
        "LDFLAGS": [str(machine.folder / "driver" / "libcuda.so.1")],
        "CUDA_ENABLE_CURAND": False,
    }
    assert machine.set_up() == ([], [])


def test_a_working_pycuda_is_kept_when_the_driver_is_updated(gpu_machine: Machine) -> None:
    gpu_machine.set_up()
    commands, _ = gpu_machine.set_up(CUDA="13020")
    expected = ("--editable .[toolkit] cuda-toolkit<13.3", "--editable .[gpu]")
    assert commands == [uv_install(gpu_machine, arguments) for arguments in expected]


def test_a_gpu_with_a_toolkit_needs_no_wheels_of_nvidia(gpu_machine: Machine) -> None:
    root = make_toolkit(gpu_machine.folder / "toolkit", "12.4")
    commands, _ = gpu_machine.set_up(PATH=f"{gpu_machine.variables['PATH']}:{root}/bin")
    assert not any("toolkit]" in command for command in commands)
    assert f"CUDA_INC_DIR = ['{root}/include']" in (gpu_machine.folder / "record.siteconf").read_text()


def test_a_wheel_of_pycuda_is_installed_without_a_build(gpu_machine: Machine) -> None:
    wheel = gpu_machine.folder / "pycuda-1-py3-none-any.whl"
    wheel.touch()
    commands, _ = gpu_machine.set_up(PYCUDA=str(wheel))
    assert commands[4].endswith(f"/{wheel.name}")


@pytest.mark.slow
def test_a_failed_gpu_part_leaves_out_only_pycuda_and_is_tried_again(gpu_machine: Machine) -> None:
    failures = [
        ({"FAIL": ".[toolkit]"}, "no nvcc"),
        ({"CUDA": "12040"}, "install the CUDA Toolkit 12.4 or a newer driver"),
        ({"INIT": "999"}, "the NVIDIA driver does not start (cuInit returns CUDA error 999)"),
        ({"PYTHON_HEADERS": "/nonexistent/python3.11"}, "sudo apt-get install python3.11-dev"),
        ({"FAIL": " download "}, "(can pip reach its package index?): ERROR: No matching distribution"),
        ({"FAIL": "pycuda-1", "OUTPUT": "a\\nfatal error: no cuda.h\\n"}, "built: fatal error: no cuda.h"),
    ]
    for variables, reason in failures:
        _, lines = gpu_machine.set_up(**variables)
        assert "no PyCUDA, so cudamm works without a GPU: " in lines[-1], reason
        assert reason in lines[-1]
        assert lines[-1].endswith("The next `make setup` tries again"), reason
    commands, _ = gpu_machine.set_up()
    assert commands[-1] == uv_install(gpu_machine, "--editable .[gpu]")


def test_a_failed_gpu_extra_leaves_out_only_the_comparison_with_cublas(gpu_machine: Machine) -> None:
    _, lines = gpu_machine.set_up(FAIL=".[gpu]")
    assert "cannot compare kernels with cuBLAS: ERROR: No matching" in lines[-1]
    commands, _ = gpu_machine.set_up()
    assert commands == [uv_install(gpu_machine, "--editable .[gpu]")]


@pytest.mark.parametrize("status", ["100", "34"])
def test_a_driver_without_gpus_installs_no_pycuda(gpu_machine: Machine, status: str) -> None:
    commands, lines = gpu_machine.set_up(INIT=status)
    assert commands[-1].endswith("cuda-toolkit<13.1")
    assert "PyCUDA" not in " ".join(lines)


# Old and incomplete Pythons.


def test_a_python_without_ensurepip_reports_the_missing_package(machine: Machine) -> None:
    (machine.folder / "bin" / "uv").unlink()
    (machine.folder / "sitecustomize.py").write_text("import sys; sys.modules['ensurepip'] = None")
    _, lines = machine.set_up("-B", status=1, PYTHONPATH=str(machine.folder))
    assert lines[-1].endswith(f"sudo apt-get install python3.{sys.version_info[1]}-venv")


def test_an_old_python_starts_a_newer_one_or_reports_what_to_do(machine: Machine) -> None:
    (machine.folder / "sitecustomize.py").write_text("import sys; sys.version_info = (3, 9, 2)")
    _, lines = machine.set_up("-B", status=1, PYTHONPATH=str(machine.folder))
    assert "needs Python 3.10 or newer" in lines[0] and "make setup PYTHON=" in lines[0]
    machine.add("python3.12", "#!/bin/sh\nexit 127\n")
    machine.add("python3.11", STAND_IN)
    commands, lines = machine.set_up("-B", PYTHONPATH=str(machine.folder))
    assert commands[-1] == f"python3.11 {machine.checkout}/bootstrap.py"
    assert lines == [f"python3 is older than 3.10; using {machine.folder}/bin/python3.11"]


def test_an_old_python_can_parse_the_script() -> None:
    ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
    assert "from __future__" not in SCRIPT.read_text()
