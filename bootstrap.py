#!/usr/bin/env python3
"""Set cudamm up in .venv, for `make setup`.

The setup has three parts. Parts that are done already are not repeated.

1. Make `.venv` with the running Python, and install cudamm in it, editable, with its test tools.
2. Install NVIDIA's wheels (the extra `toolkit`), unless the machine has a CUDA toolkit with everything that
   cudamm and its tests use.
3. If an NVIDIA driver finds a GPU, build PyCUDA and install the rest of the extra `gpu`. PyCUDA is published
   as source only, and its build needs the paths of CUDA's headers and of the driver's library.

If part 2 or 3 fails, the failure is reported and setup continues; the next `make setup` tries again. The
packages are installed with uv if it is on PATH, otherwise with pip. Both use their own configuration (index,
proxy, ...).

Python 3.6 must be able to parse this file, so that an old python3 prints a message, not a syntax error.
"""

import ctypes
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn


def report(message: str) -> None:
    """Print one message on stderr, so that `make bench >file` writes only the results to the file."""
    print("setup: " + message, file=sys.stderr, flush=True)


def use_newer_python() -> NoReturn:
    """Run this script again with a Python of at least 3.10 from PATH, or report that there is none."""
    for minor in range(19, 9, -1):
        python = shutil.which(f"python3.{minor}")
        # A name on PATH may be the placeholder of a version manager, which cannot run a program.
        if python and subprocess.call([python, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            report("python3 is older than 3.10; using " + python)
            os.execv(python, [python, *sys.argv])  # noqa: S606 - no shell is wanted
    version = ".".join(map(str, sys.version_info[:2]))
    report(
        f"cudamm needs Python 3.10 or newer, and {sys.executable} is Python {version}; "
        "install a newer one, or name it: make setup PYTHON=/path/to/python3"
    )
    sys.exit(1)


if sys.version_info < (3, 10):  # noqa: UP036 - python3 may be older than the project allows
    use_newer_python()

ROOT = Path(__file__).resolve().parent

# toolkit.py is imported without its package, which imports libraries that are not installed yet.
sys.path[:0] = [str(ROOT), str(ROOT / "cudamm" / "compile")]
import toolkit  # type: ignore[import-not-found]  # noqa: E402

from cudamm.errors import CudammError  # noqa: E402

VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
PROGRAM = VENV / "bin" / "cudamm"
LOG = VENV / "setup.log"
# A change of these files makes an installation out of date. A change of the sources does not, because the
# installation is editable.
INPUTS = (ROOT / "pyproject.toml", ROOT / "bootstrap.py")
# Results of cuInit: CUDA_ERROR_STUB_LIBRARY and CUDA_ERROR_NO_DEVICE.
NO_GPU = (34, 100)


class SetupError(Exception):
    """The failure of a part of the setup; the message contains the reason and what to do."""


class Driver(NamedTuple):
    """The NVIDIA driver's library, and the CUDA version that it supports."""

    cdll: ctypes.CDLL
    cuda: tuple[int, int]


def main() -> int:
    """Set up and return the exit status."""
    try:
        set_up()
    except SetupError as error:
        report(str(error))
        return 1
    except KeyboardInterrupt:
        report("interrupted; `make setup` goes on from here")
        return 130
    return 0


def set_up() -> None:
    """Do the parts that are not done yet, or that were done before the files or the machine changed."""
    driver = find_driver()
    inputs = hashlib.sha256(b"\0".join(path.read_bytes() for path in INPUTS)).hexdigest()
    base = f"{ROOT}\n{inputs}\n"
    # This does not call cuInit, which can take seconds on a machine with many GPUs.
    gpus = f"driver {driver.cuda}, {any(Path('/dev').glob('nvidia[0-9]*'))}" if driver else "no driver"
    machine = f"{base}{toolkit.find_nvcc([])}\n{gpus}\n"
    installed_base = read_stamp("cudamm")
    if installed_base != base or not (VENV_PYTHON.exists() and PROGRAM.exists()):
        # If .venv was copied together with its checkout, its scripts still use the original's Python.
        make_environment(keep=installed_base.partition("\n")[0] in ("", str(ROOT)))
        report("installing cudamm and what it needs in .venv")
        install("--editable", ".[dev]", failure="cudamm could not be installed")
        stamp("cudamm").write_text(base, encoding="utf-8")
    for part, add in (("toolkit", add_toolkit), ("gpu", add_gpu_support)):
        if read_stamp(part) != machine:
            try:
                add(driver)
                stamp(part).write_text(machine, encoding="utf-8")
            except (SetupError, CudammError, OSError) as error:
                report(f"{error}. The next `make setup` tries again")


def stamp(part: str) -> Path:
    """Return the file that records with which files and on which machine a part was done."""
    return VENV / f"setup-{part}.stamp"


def read_stamp(part: str) -> str:
    """Return the contents of a part's stamp; empty if the part is not done."""
    return stamp(part).read_text(encoding="utf-8", errors="replace") if stamp(part).exists() else ""


def make_environment(keep: bool) -> None:
    """Make a new `.venv`, unless `keep` is true and the present one works."""
    if keep and python_runs("import pip, sys; sys.exit(sys.version_info < (3, 10))"):
        return
    report("making .venv with Python {}.{}.{}".format(*sys.version_info[:3]))
    name = f"python3.{sys.version_info[1]}"
    in_environment = sys.prefix != sys.base_prefix
    # This script may run in the virtual environment that is replaced, so use the Python that made it.
    python = Path(sys.base_prefix, "bin", name) if in_environment else Path(sys.executable)
    shutil.rmtree(VENV, ignore_errors=True)
    uv = shutil.which("uv")
    if uv is None and importlib.util.find_spec("ensurepip") is None:
        require_package(f"{name}-venv", f"{python} cannot make virtual environments")
    # uv installs pip too, because users expect pip, and because uv cannot download PyCUDA's source.
    with_uv = [uv, "venv", "--quiet", "--seed", "--python", python]
    with_pip = [python, "-m", "venv", "--clear"]
    run([*(with_uv if uv else with_pip), VENV], ".venv could not be made")


def add_toolkit(driver: Driver | None) -> None:
    """Install NVIDIA's wheels, unless an installed CUDA toolkit has all the parts that cudamm uses."""
    if not (shutil.which("g++") or shutil.which("c++")):
        require_package("g++", "nvcc needs a C++ compiler, and there is none")
    nvcc = toolkit.find_nvcc([])
    folders = list(toolkit.header_candidates(nvcc, []))
    headers = (*toolkit.DRIVER_HEADERS, "cuda_occupancy.h")
    found = {
        "nvcc": nvcc is not None,
        "nvdisasm": toolkit.find_nvdisasm(nvcc, []) is not None,
        "CUDA's headers": all(any((folder / name).is_file() for folder in folders) for name in headers),
    }
    missing = ", ".join(name for name, present in found.items() if not present)
    if not missing:
        return
    report(f"this machine lacks {missing}; getting NVIDIA's wheels of nvcc and its tools (130 MB)")
    # A driver may refuse programs that the nvcc of a newer release compiled.
    limit = [f"cuda-toolkit<13.{driver.cuda[1] + 1}"] if driver and driver.cuda[0] == 13 else []
    failure = f"no {missing} (installing the CUDA Toolkit also helps): NVIDIA's wheels could not be installed"
    install("--editable", ".[toolkit]", *limit, failure=failure)


def find_driver() -> Driver | None:
    """Return the NVIDIA driver without initialising it; None if there is none."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    return Driver(library, (version.value // 1000, version.value % 1000 // 10))


def add_gpu_support(driver: Driver | None) -> None:
    """Build PyCUDA and install the rest of the extra `gpu`, if there is a driver that finds a GPU."""
    try:
        if driver is None or not has_gpu(driver):
            return
        add_pycuda(driver)
    except (SetupError, CudammError, OSError) as error:
        raise SetupError(f"no PyCUDA, so cudamm works without a GPU: {error}") from error
    install(
        "--editable",
        ".[gpu]",
        failure="no nvidia-ml-py, so cudamm cannot see the GPU's clock, power and temperature, "
        "or no nvmath-python, so it cannot compare kernels with cuBLAS",
    )


def has_gpu(driver: Driver) -> bool:
    """Return whether the driver finds a GPU."""
    # Setup is for the machine, so it also finds GPUs that are hidden from this shell.
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    status: int = driver.cdll.cuInit(0)
    if status not in (0, *NO_GPU):
        raise SetupError(
            f"the NVIDIA driver does not start (cuInit returns CUDA error {status}); "
            "if nvidia-smi fails too, reboot or reinstall the driver"
        )
    return status == 0


def add_pycuda(driver: Driver) -> None:
    """Build PyCUDA with the headers of a CUDA toolkit or of NVIDIA's wheels, unless it is there and works."""
    site_packages = sorted(VENV.glob("lib*/python3*/site-packages"))
    nvcc = toolkit.find_nvcc(site_packages)
    headers = toolkit.header_folders(nvcc, site_packages)
    if nvcc is None or not headers:
        raise SetupError("no nvcc, or no cuda.h and cudaProfiler.h; install the CUDA Toolkit")
    supported = "{}.{}".format(*driver.cuda)
    if toolkit.nvcc_version(nvcc)[0] > driver.cuda[0]:
        raise SetupError(
            f"the driver supports CUDA {supported} and does not load what the newer {nvcc} compiles; "
            f"install the CUDA Toolkit {supported} or a newer driver"
        )
    if python_runs("import pycuda.driver"):
        return
    include = "import sysconfig; print(sysconfig.get_path('include'))"
    python_headers = Path(run([VENV_PYTHON, "-c", include], "Python's headers were not found").strip())
    if not (python_headers / "Python.h").is_file():
        require_package(f"{python_headers.name}-dev", "PyCUDA needs Python.h, which is missing")
    report(f"adding PyCUDA for the GPU (the driver supports CUDA {supported}); a build takes some minutes")
    with tempfile.TemporaryDirectory(prefix="cudamm-setup-") as folder:
        run(
            [VENV_PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "pycuda"],
            "PyCUDA could not be downloaded (can pip reach its package index?)",
        )
        [package] = Path(folder).iterdir()
        # The user's package index may contain a wheel, which needs no build.
        if package.suffix != ".whl":
            shutil.unpack_archive(package, Path(folder, "source"))
            [package] = Path(folder, "source").iterdir()
            configure_pycuda(package, headers)
        install(package, failure="PyCUDA could not be built")
    run([VENV_PYTHON, "-c", "import pycuda.driver"], "PyCUDA is installed but fails")


def configure_pycuda(source: Path, headers: Sequence[Path]) -> None:
    """Write PyCUDA's build configuration, with the paths of CUDA's headers and of the driver's library."""
    with Path("/proc/self/maps").open(encoding="utf-8") as maps:
        library = next(line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/libcuda.so" in line)
    lines = (
        f"CUDA_INC_DIR = {[str(folder) for folder in headers]!r}\n"
        # -lcuda would search for libcuda.so, a name that only toolkits install: link to the driver's file.
        f"CUDADRV_LIBNAME = []\nLDFLAGS = [{library!r}]\n"
        # cudamm makes no random numbers on the GPU, so libcurand need not be found.
        "CUDA_ENABLE_CURAND = False\n"
    )
    (source / "siteconf.py").write_text(lines, encoding="utf-8")


def install(*arguments: object, failure: str) -> None:
    """Install packages in `.venv` with uv or pip."""
    uv = shutil.which("uv")
    with_uv = [uv, "pip", "install", "--quiet", "--python", VENV_PYTHON]
    with_pip = [VENV_PYTHON, "-m", "pip", "install", "--quiet"]
    run([*(with_uv if uv else with_pip), *arguments], failure)


def require_package(package: str, problem: str) -> None:
    """Install a Debian package if root runs this script on Debian or Ubuntu; otherwise raise SetupError."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(f"{problem}. On Debian and Ubuntu: sudo apt-get install {package}")
    report(f"{problem}; installing {package} through apt")
    for arguments in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        run(["apt-get", "-qq", *arguments], f"{problem}, and `apt-get install {package}` failed")


def python_runs(code: str) -> bool:
    """Return whether `.venv` has a Python that runs `code` without an error."""
    quiet = subprocess.DEVNULL
    return VENV_PYTHON.exists() and not subprocess.call([VENV_PYTHON, "-c", code], stdout=quiet, stderr=quiet)


def run(command: Sequence[object], failure: str) -> str:
    """Run a command and return its output; if it fails, log the output and raise a SetupError."""
    # These settings install packages into .venv and ask no questions, whatever the user has configured.
    overrides = {"PIP_USER": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV_VENV_CLEAR": "1"}
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
        env={**os.environ, **overrides, "DEBIAN_FRONTEND": "noninteractive"},
    )
    if done.returncode != 0:
        VENV.mkdir(exist_ok=True)
        LOG.write_text(done.stdout, encoding="utf-8")
        raise SetupError(f"{failure}: {failure_reason(done.stdout)} (all of it: {LOG.relative_to(ROOT)})")
    return done.stdout


def failure_reason(output: str) -> str:
    """Return the most specific line about a failure: an error of a compiler, pip or uv; or the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    unspecific = "subprocess-exited|command |metadata-|Failed to build"
    for pattern in (rf"\berror: (?!{unspecific})|^(ERROR|E): ", "^cause: (?!Failed|The build|Call to)"):
        matches = [line for line in lines if re.search(pattern, line)]
        if matches:
            return matches[0]
    return lines[-1] if lines else "it printed nothing"


if __name__ == "__main__":
    sys.exit(main())
