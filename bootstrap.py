#!/usr/bin/env python3
"""Sets cudamm up in .venv, for `make setup`; only what is missing or out of date is done.

1. `.venv` is made with the running Python, and cudamm is installed in it, editable, with its test tools.
2. Where an NVIDIA driver finds a GPU, PyCUDA is added. It is published as source only, and this script
   sees to what the build needs: a C++ compiler, and CUDA's headers and nvcc from an installed toolkit
   or else from NVIDIA's wheels, matched to the driver.
3. Where there is no GPU, the newest nvcc of CUDA 13 is added from NVIDIA's wheels if no other is found:
   `cudamm occupancy` compiles kernels for GPUs that are elsewhere. Everywhere, NVIDIA's cuda_occupancy.h
   is added if no toolkit has it: the tests compare with it.

A failure in the second or third part is reported and costs no more than what was to be added: cudamm runs
without it, and the next `make setup` tries again. pip reads its own configuration (index, find-links,
no-index, proxy, ...) as ever; if that leads it to a PyCUDA wheel, the wheel is taken and nothing is built.

Python 3.6 must be able to parse this file, so that an old python3 gets a message, not a syntax error.
"""

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn


def say(message: str) -> None:
    """Tell the user one thing; on stderr, so that `make bench >file` holds the results alone."""
    print("setup: " + message, file=sys.stderr, flush=True)


def use_newer_python() -> NoReturn:
    """Run this script again with a Python of at least 3.10 from PATH, or say that there is none."""
    for minor in range(19, 9, -1):
        python = shutil.which(f"python3.{minor}")
        # A name on PATH may be a version manager's placeholder that runs nothing.
        if python and subprocess.call([python, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            say("python3 is older than 3.10; using " + python)
            os.execv(python, [python, *sys.argv])  # noqa: S606 - no shell is wanted
    version = ".".join(map(str, sys.version_info[:2]))
    say(
        f"cudamm needs Python 3.10 or newer, and {sys.executable} is Python {version}; "
        "install a newer one, or name it: make setup PYTHON=/path/to/python3"
    )
    sys.exit(1)


if sys.version_info < (3, 10):  # noqa: UP036 - python3 may be older than the project allows
    use_newer_python()

from cudamm.errors import CudammError  # noqa: E402 - needs a Python that is new enough

ROOT = Path(__file__).resolve().parent


def load_toolkit() -> Any:
    """The module cudamm.compile.toolkit, from its file.

    It needs the standard library only, while the package around it may import what is yet to be installed.
    """
    path = ROOT / "cudamm" / "compile" / "toolkit.py"
    specification = importlib.util.spec_from_file_location("toolkit", path)
    if specification is None or specification.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


toolkit = load_toolkit()
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
PROGRAM = VENV / "bin" / "cudamm"
# What the last setup did and in which circumstances: while those are the same, there is nothing to do.
STAMP = VENV / "setup-stamp.json"
BUILD_LOG = VENV / "pycuda-build.log"

# Files whose change makes an installation out of date. The sources are not among them: it is editable.
INPUTS = (ROOT / "pyproject.toml", ROOT / "bootstrap.py")

# The wheels of CUDA 13 that compiling a kernel takes. cccl has <nv/target>, which cuda_fp16.h includes.
NVCC_WHEELS = (
    "nvidia-cuda-nvcc",
    "nvidia-cuda-crt",
    "nvidia-nvvm",
    "nvidia-cuda-runtime",
    "nvidia-cuda-cccl",
)
NVDISASM_WHEEL = "nvidia-cuda-nvdisasm>=13,<14"
# What cudamm cannot do where one of these packages of the extra `gpu` is missing.
DONE_WITHOUT = {
    "nvidia-ml-py": ", but cannot see the GPU's clock, power and temperature",
    "nvmath-python": ", but cannot compare kernels with cuBLAS",
}
WHEELS_FAILED = (
    "NVIDIA's wheels could not be installed (is pip's package index in reach? "
    "an installed CUDA Toolkit does as well)"
)

# NVIDIA's own occupancy calculator: the tests compare with it.
OCCUPANCY_HEADER = "cuda_occupancy.h"

DRIVER_LIBRARY = "libcuda.so.1"
DRIVER_VERSION_FILE = Path("/proc/driver/nvidia/version")
DEVICE_FOLDER = Path("/dev")

# Results of cuInit that mean that there is no GPU, rather than that something is wrong with it.
CUDA_ERROR_STUB_LIBRARY = 34
CUDA_ERROR_NO_DEVICE = 100


class SetupError(Exception):
    """Setup, or the part of it at hand, cannot go on; the message says why and what to do.

    `output` is what the failed command printed, if one did.
    """

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class Driver(NamedTuple):
    """An NVIDIA driver that found at least one GPU."""

    path: Path
    cuda_version: tuple[int, int]
    device_count: int


def main() -> int:
    """Set up and return the exit status."""
    try:
        set_up()
    except SetupError as error:
        if error.output:
            print(error.output, file=sys.stderr)
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted; `make setup` goes on from here")
        return 130
    return 0


def set_up() -> None:
    """Do what the stamp does not say is done."""
    stamp = read_stamp()
    base = {"checkout": str(ROOT), "inputs": inputs_digest()}
    if stamp.get("base") != base or not (VENV_PYTHON.exists() and PROGRAM.exists()):
        make_environment(keep=stamp.get("base", base).get("checkout") == str(ROOT))
        install_cudamm()
        stamp = {"base": base}
        write_stamp(stamp)
    # In this order: what the GPU part brings is matched to the driver, and what it lacks is seen to next.
    for part, set_up_part, circumstances in (
        ("gpu", set_up_gpu, gpu_circumstances),
        ("compiler", set_up_compiler, compiler_circumstances),
    ):
        if stamp.get(part) != circumstances():
            stamp.pop(part, None)
            if set_up_part():
                stamp[part] = circumstances()
            write_stamp(stamp)


# The stamp


def read_stamp() -> dict[str, Any]:
    """The last setup's stamp; empty if there is none that can be read."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(stamp: dict[str, Any]) -> None:
    """Remember what is done."""
    STAMP.write_text(json.dumps(stamp, indent=2) + "\n", encoding="utf-8")


def inputs_digest() -> str:
    """A digest of the files whose change makes an installation out of date."""
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in INPUTS)).hexdigest()


def gpu_circumstances() -> dict[str, str]:
    """What decides whether the GPU part is up to date: the driver and, where there is one, the compiler."""
    circumstances = compiler_circumstances()
    return circumstances if circumstances["driver"] != "none" else {"driver": "none"}


def compiler_circumstances() -> dict[str, str]:
    """What decides whether the compiler part is up to date: the driver and the compiler.

    cuInit is not called for it, as that can take seconds on a machine with many GPUs.
    """
    library = driver_library()
    driver = "none"
    if library is not None:
        version = DRIVER_VERSION_FILE.read_text() if DRIVER_VERSION_FILE.is_file() else ""
        devices = sorted(path.name for path in DEVICE_FOLDER.glob("nvidia[0-9]*"))
        driver = " ".join([str(library), *version.splitlines()[:1], *devices])
    return {"driver": driver, "nvcc": str(toolkit.find_nvcc(site_packages()))}


# The environment and cudamm in it


def make_environment(keep: bool) -> None:
    """Make `.venv`; one that is there and works is left as it is, if it is to be kept."""
    if keep and environment_works():
        return
    python = Path(sys.executable)
    if sys.prefix != sys.base_prefix:
        # Run by a virtual environment, which may be the one to replace: take the Python beneath it.
        python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info[1]}")
    if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
        package = f"python3.{sys.version_info[1]}-venv"
        install_debian_packages([package], f"{python} cannot make virtual environments")
    say("making .venv with Python {}.{}.{}".format(*sys.version_info[:3]))
    run([python, "-m", "venv", "--clear", VENV], f"{python} could not make .venv")


def environment_works() -> bool:
    """Whether `.venv` holds a Python that is new enough and has pip."""
    check = "import pip, sys; sys.exit(sys.version_info < (3, 10))"
    return VENV_PYTHON.exists() and python_status(check) == 0


def install_cudamm() -> None:
    """Install cudamm, editable, with what it needs and its test tools."""
    say("installing cudamm and what it needs in .venv")
    pip_install(["--editable", f"{ROOT}[dev]"], "cudamm could not be installed")


def site_packages() -> list[Path]:
    """The folders that packages in `.venv` go into."""
    return sorted(VENV.glob("lib*/python3*/site-packages"))


# The driver


def driver_library(load: Callable[[str], Any] = ctypes.CDLL) -> Path | None:
    """The file of the driver's library, as the loader finds it, or None without a driver."""
    try:
        load(DRIVER_LIBRARY)
    except OSError:
        return None
    return mapped_file("libcuda.so", Path("/proc/self/maps").read_text())


def mapped_file(prefix: str, maps: str) -> Path | None:
    """The first file in `maps`, the text of a /proc/PID/maps, whose name starts with `prefix`."""
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and Path(fields[5]).name.startswith(prefix):
            return Path(fields[5])
    return None


def find_driver(load: Callable[[str], Any] = ctypes.CDLL) -> Driver | None:
    """The NVIDIA driver, or None where there is none or it finds no GPU."""
    library = driver_library(load)
    if library is None:
        return None
    # GPUs hidden from this shell are still in the machine, and setup is for the machine.
    os.environ.pop("CUDA_VISIBLE_DEVICES", None)
    cuda = load(DRIVER_LIBRARY)
    status = cuda.cuInit(0)
    if status in (CUDA_ERROR_NO_DEVICE, CUDA_ERROR_STUB_LIBRARY):
        return None
    version, count = ctypes.c_int(), ctypes.c_int()
    status = (
        status or cuda.cuDriverGetVersion(ctypes.byref(version)) or cuda.cuDeviceGetCount(ctypes.byref(count))
    )
    if status != 0:
        raise SetupError(
            f"the NVIDIA driver ({library}) does not start: CUDA error {status}. "
            "If nvidia-smi fails too, reboot or reinstall the driver"
        )
    if count.value < 1:
        return None
    return Driver(library, (version.value // 1000, version.value % 1000 // 10), count.value)


# PyCUDA and what it needs


def set_up_gpu() -> bool:
    """Add PyCUDA if there is a GPU. A failure is reported and the answer is False: try again next time."""
    try:
        driver = find_driver()
        if driver is not None:
            add_gpu_support(driver)
    except (SetupError, CudammError, OSError) as error:
        say(f"no PyCUDA: {error}")
        output = getattr(error, "output", "")
        if output:
            BUILD_LOG.write_text(output + "\n", encoding="utf-8")
        details = f" Details: {BUILD_LOG.relative_to(ROOT)}" if output else ""
        say(f"cudamm works without a GPU meanwhile; the next `make setup` tries again.{details}")
        return False
    return True


def add_gpu_support(driver: Driver) -> None:
    """See to nvcc, CUDA's headers, a C++ compiler and PyCUDA."""
    provide_cpp_compiler()
    provide_toolkit(driver)
    if python_status("import pycuda.driver") != 0:
        provide_python_headers()
        add_pycuda(driver)
    completed = run_python("import pycuda.driver")
    if completed.returncode != 0:
        raise SetupError(
            f"PyCUDA is installed but fails: {failure_reason(completed.stdout)}", completed.stdout
        )
    BUILD_LOG.unlink(missing_ok=True)
    add_beside_pycuda()


def add_beside_pycuda() -> None:
    """Install what else the extra `gpu` has. A failure is reported, and costs nothing else."""
    for requirement in extra_requirements("gpu"):
        name = re.split(r"[^\w.-]", requirement)[0]
        if is_pycuda(name) or python_status(f"import importlib.metadata as m; m.version({name!r})") == 0:
            continue
        try:
            pip_install([requirement], f"{name} could not be installed")
        except SetupError as error:
            say(f"{error}; cudamm works without" + DONE_WITHOUT.get(name, ""))


def is_pycuda(requirement: str) -> bool:
    """Whether it is PyCUDA that is required, the one package of the extra `gpu` that is built here."""
    return requirement.lower().startswith("pycuda")


def provide_toolkit(driver: Driver) -> None:
    """See to nvcc and CUDA's headers: an installed toolkit's, or else those of NVIDIA's wheels."""
    nvcc = toolkit.find_nvcc(site_packages())
    # Wheels that are there already may not fit the driver any more, and pip knows.
    from_wheels = nvcc is not None and VENV in nvcc.parents
    if nvcc is None or from_wheels or not toolkit.header_folders(nvcc, site_packages()):
        wheels = toolkit_wheels(driver.cuda_version)
        if not from_wheels:
            say(
                "no CUDA toolkit on this machine; getting what PyCUDA and the kernels need as NVIDIA's wheels"
            )
        pip_install(wheels, WHEELS_FAILED)
        if driver.cuda_version[0] < 13:
            # Those of CUDA 13, from when there was no driver, would be found first.
            pip(["uninstall", "--yes", *NVCC_WHEELS], "NVIDIA's wheels of CUDA 13 could not be removed")
        nvcc = toolkit.find_nvcc(site_packages())
    if nvcc is None:
        say(
            "no nvcc: NVIDIA's wheels for CUDA {}.{} hold none. ".format(*driver.cuda_version)
            + "To compile kernels, install the CUDA Toolkit of that version or a driver for CUDA 13"
        )
    elif toolkit.nvcc_version(nvcc)[0] > driver.cuda_version[0]:
        say(
            "{} is of CUDA {}.{}, ".format(nvcc, *toolkit.nvcc_version(nvcc))
            + "but the driver of {}.{}, which may refuse its kernels; ".format(*driver.cuda_version)
            + "update the driver or install an older toolkit"
        )


def toolkit_wheels(cuda_version: tuple[int, int]) -> list[str]:
    """The requirements on NVIDIA's wheels for a driver of `cuda_version`.

    The newest release up to the driver's is taken, because a driver need not load what a newer nvcc
    compiled. Each wheel is bounded, because they name each other without a version.
    """
    major, minor = cuda_version
    if major >= 13:
        wheels = [*NVCC_WHEELS, "nvidia-cuda-profiler-api"]
        oldest = 13
    elif major == 12:
        # There is no nvcc in the wheels of CUDA 12, but headers enough for PyCUDA.
        wheels = ["nvidia-cuda-runtime-cu12", "nvidia-cuda-profiler-api-cu12"]
        oldest = 12
    else:
        raise SetupError(
            f"there is no CUDA toolkit, and NVIDIA has no wheels for this driver's CUDA {major}.{minor}; "
            "install that toolkit or a newer driver"
        )
    return [f"{wheel}>={oldest},<{major}.{minor + 1}" for wheel in wheels]


def provide_cpp_compiler() -> None:
    """See to the C++ compiler that nvcc calls."""
    if not (shutil.which("g++") or shutil.which("c++")):
        install_debian_packages(["g++"], "nvcc needs a C++ compiler, and there is none")


def provide_python_headers() -> None:
    """See to Python.h, which distributions pack apart from Python."""
    folder = Path(run_python("import sysconfig; print(sysconfig.get_path('include'))").stdout.strip())
    if not (folder / "Python.h").is_file():
        install_debian_packages([f"{folder.name}-dev"], "PyCUDA needs Python.h, and it is not there")


def add_pycuda(driver: Driver) -> None:
    """Install PyCUDA, as the extra `gpu` requires it: as it is if pip finds a wheel, else built here."""
    say(
        "adding PyCUDA for {} (driver of CUDA {}.{}); a build takes some minutes".format(
            "the GPU" if driver.device_count == 1 else f"{driver.device_count} GPUs", *driver.cuda_version
        )
    )
    with tempfile.TemporaryDirectory(prefix="cudamm-setup-") as name:
        folder = Path(name)
        pip(
            ["download", "--no-deps", "--dest", folder, *filter(is_pycuda, extra_requirements("gpu"))],
            "PyCUDA could not be downloaded (is pip's package index in reach?)",
        )
        [package] = folder.iterdir()
        if package.suffix != ".whl":
            package = unpack_pycuda(package, folder / "source", driver)
        pip_install([package], "PyCUDA could not be built")


def unpack_pycuda(archive: Path, folder: Path, driver: Driver) -> Path:
    """Unpack PyCUDA's source release and tell it, in its siteconf.py, where things are."""
    headers = toolkit.header_folders(toolkit.find_nvcc(site_packages()), site_packages())
    if not headers:
        raise SetupError("CUDA's headers cuda.h and cudaProfiler.h were not found; install the CUDA Toolkit")
    shutil.unpack_archive(archive, folder)
    [source] = folder.iterdir()
    # The linker wants libcuda.so, a name that only toolkits bring; the driver has libcuda.so.1.
    link_folder = folder.parent / "driver"
    link_folder.mkdir()
    (link_folder / "libcuda.so").symlink_to(driver.path)
    settings: dict[str, object] = {
        "CUDA_INC_DIR": [str(header_folder) for header_folder in headers],
        "CUDADRV_LIB_DIR": [str(link_folder)],
        # cudamm makes no random numbers on the GPU, and libcurand would be one more library to find.
        "CUDA_ENABLE_CURAND": False,
    }
    lines = [f"{key} = {value!r}\n" for key, value in settings.items()]
    (source / "siteconf.py").write_text("".join(lines), encoding="utf-8")
    return source


def extra_requirements(extra: str) -> list[str]:
    """What the extra `extra` of the installed cudamm requires."""
    listing = run_python("import importlib.metadata as m; print(*m.requires('cudamm'), sep='\\n')").stdout
    # Each line is like: pycuda>=2024.1; extra == 'gpu'
    belongs = re.compile(rf"extra == ['\"]{extra}['\"]")
    lines = [line.partition(";") for line in listing.splitlines()]
    return [requirement.strip() for requirement, _, marker in lines if belongs.search(marker)]


# The compiler where there is no GPU, and the header that the tests compare with


def set_up_compiler() -> bool:
    """See to nvcc and the header. A failure is reported and the answer is False: try again next time."""
    try:
        driver = find_driver()
    except SetupError:
        # The GPU part has said so. Until the driver works, this is a machine without a GPU.
        driver = None
    missing, cost = "usable nvcc", "`cudamm occupancy` takes bare numbers meanwhile, but no kernels"
    try:
        if driver is None:
            provide_nvcc()
        missing, cost = OCCUPANCY_HEADER, "The tests that compare with it cannot run meanwhile"
        provide_occupancy_header(driver)
        missing, cost = "nvdisasm", "`cudamm show --sass` cannot read machine code meanwhile"
        provide_nvdisasm()
    except (SetupError, CudammError, OSError) as error:
        say(f"no {missing}: {error}. {cost}; the next `make setup` tries again")
        return False
    return True


def provide_nvcc() -> None:
    """See to an nvcc that works: any that is found, or else the newest of CUDA 13 from NVIDIA's wheels."""
    provide_cpp_compiler()
    nvcc = toolkit.find_nvcc(site_packages())
    # One from the wheels may lack a part, if setup was interrupted, and pip knows.
    if nvcc is not None and VENV not in nvcc.parents:
        return
    if nvcc is None:
        say("no nvcc on this machine; getting it for `cudamm occupancy` as NVIDIA's wheels (about 130 MB)")
    # The parts of different minor releases do not work together, and the wheels name each other without a
    # version: the smallest comes first, and the others have to be of its release.
    pip_install([runtime_wheel(None)], WHEELS_FAILED)
    version = run_python("import importlib.metadata as m; print(m.version('nvidia-cuda-runtime'))").stdout
    release = ".".join(version.split(".")[:2])
    # cccl counts releases of its own after the 13, and each works with every toolkit of CUDA 13.
    others = [
        f"{wheel}>=13,<14" if wheel == "nvidia-cuda-cccl" else f"{wheel}=={release}.*"
        for wheel in NVCC_WHEELS
    ]
    pip_install(others, WHEELS_FAILED)


def provide_occupancy_header(driver: Driver | None) -> None:
    """See to cuda_occupancy.h: a toolkit's, or else that of the runtime's wheel."""
    folders = toolkit.header_candidates(toolkit.find_nvcc(site_packages()), site_packages())
    if not any((folder / OCCUPANCY_HEADER).is_file() for folder in folders):
        say(f"no {OCCUPANCY_HEADER} on this machine; getting it as NVIDIA's wheel for the tests")
        pip_install([runtime_wheel(driver)], WHEELS_FAILED)


def provide_nvdisasm() -> None:
    """See to the disassembler, which not every toolkit has: any of CUDA 13 reads what older ones compile."""
    nvcc = toolkit.find_nvcc(site_packages())
    if nvcc is not None and toolkit.find_nvdisasm(nvcc, site_packages()) is None:
        say("no nvdisasm on this machine; getting it for `cudamm show --sass` as NVIDIA's wheel (5 MB)")
        pip_install([NVDISASM_WHEEL], WHEELS_FAILED)


def runtime_wheel(driver: Driver | None) -> str:
    """The requirement on the wheel with the runtime's headers: PyCUDA's are to be of the driver's CUDA."""
    if driver is None:
        return "nvidia-cuda-runtime>=13,<14"
    return next(wheel for wheel in toolkit_wheels(driver.cuda_version) if "-runtime" in wheel)


# Running things


def install_debian_packages(packages: list[str], problem: str) -> None:
    """Install `packages` through apt when run as root on such a system; else say what to install."""
    names = " ".join(packages)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise SetupError(f"{problem}. On Debian and Ubuntu: sudo apt-get install {names}")
    say(f"{problem}; installing {names} through apt")
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        run(
            ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", *command],
            f"{problem}, and `apt-get install {names}` failed",
        )


def pip_install(arguments: Sequence[str | Path], failure: str) -> None:
    """`pip install` in `.venv`."""
    pip(["install", *arguments], failure)


def pip(arguments: Sequence[str | Path], failure: str) -> None:
    """Run the pip of `.venv`, which shows something only if it fails."""
    command, *rest = arguments
    run([VENV_PYTHON, "-m", "pip", command, "--quiet", "--disable-pip-version-check", *rest], failure)


def python_status(code: str) -> int:
    """The exit status of `code` in the Python of `.venv`."""
    return run_python(code).returncode


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in the Python of `.venv`; both its streams are in `stdout`."""
    return capture([VENV_PYTHON, "-c", code])


def run(command: Sequence[str | Path], failure: str) -> None:
    """Run `command`; if it fails, raise a SetupError of `failure` and the reason it gave."""
    completed = capture(command)
    if completed.returncode != 0:
        output = completed.stdout.strip()
        raise SetupError(f"{failure}: {failure_reason(output)}", output)


def capture(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run `command` with nothing to read, and with both its streams in `stdout`."""
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=ROOT,
        # Whatever the user's habits are elsewhere, packages go into .venv.
        env={**os.environ, "PIP_USER": "0"},
    )


def failure_reason(output: str) -> str:
    """The line of `output` that says best what went wrong: a compiler's error, pip's, or the last one."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for pattern in (r"\berror: (?!subprocess-exited|command |metadata-)", r"^(ERROR|E): "):
        found = [line for line in lines if re.search(pattern, line)]
        if found:
            return found[0].removeprefix("ERROR: ").removeprefix("E: ")
    return lines[-1] if lines else "it printed nothing"


if __name__ == "__main__":
    sys.exit(main())
