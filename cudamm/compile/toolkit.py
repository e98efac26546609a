"""Find NVIDIA's compiler nvcc, its disassembler, its profiler, and the header files of its toolkit.

This module and those that it imports need only the standard library, because bootstrap.py loads this file
before any package is installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from cudamm.compile.owned_folder import owned_folder
from cudamm.compile.process_group import run_group
from cudamm.errors import NoDeviceError

TOOLKIT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT")
"""Environment variables that may contain a toolkit's folder, the most common first."""

INSTALLED_TOOLKIT = Path("/usr/local/cuda")
"""Folder into which NVIDIA's installer puts a toolkit."""

SYSTEM_HEADERS = Path("/usr/include")
"""Folder into which a Linux distribution's packages put headers."""

NSIGHT_COMPUTE = Path("/opt/nvidia/nsight-compute")
"""Folder into which NVIDIA's packages put Nsight Compute, with one folder for each version."""

DRIVER_HEADERS = ("cuda.h", "cudaProfiler.h")
"""Headers that a program needs to call the driver, as PyCUDA does."""

NVCC_TIMEOUT_S = 60
"""Time limit for a short run of a tool, in seconds."""


def find_nvcc(site_packages: Sequence[Path] | None = None) -> Path | None:
    """Return the nvcc to compile kernels with, or None. It is the first of these that can be executed:

    1. `nvcc` on PATH;
    2. `bin/nvcc` in the folder that CUDA_HOME, CUDA_PATH or CUDA_ROOT names;
    3. `/usr/local/cuda/bin/nvcc`;
    4. NVIDIA's wheels in `site_packages` (default: the running Python's folders):
       `nvidia/cu13/bin/nvcc`, newest CUDA first, then `nvidia/cuda_nvcc/bin/nvcc`, the layout of the
       wheels named `-cu12` (the wheels on PyPI contain ptxas but no nvcc).
    """
    on_path = shutil.which("nvcc")
    if on_path is not None:
        return Path(on_path).absolute()
    for root in (*toolkit_roots(), *wheel_roots(site_packages)):
        nvcc = root / "bin" / "nvcc"
        if nvcc.is_file() and os.access(nvcc, os.X_OK):
            return nvcc
    return None


def find_nvdisasm(nvcc: Path | None, site_packages: Sequence[Path] | None = None) -> Path | None:
    """Return NVIDIA's disassembler, or None. It is the first of these that can be executed:

    1. `nvdisasm` beside `nvcc`, in the toolkit of `nvcc`;
    2. `nvdisasm` on PATH;
    3. `nvdisasm` in the toolkits that `find_nvcc` searches;
    4. NVIDIA's wheel nvidia-cuda-nvdisasm in `site_packages` (default: the running Python's folders).
    """
    beside = [] if nvcc is None else [nvcc.parent, toolkit_root(nvcc) / "bin"]
    on_path = [] if (found := shutil.which("nvdisasm")) is None else [Path(found).absolute().parent]
    others = (root / "bin" for root in (*toolkit_roots(), *wheel_roots(site_packages)))
    for folder in (*beside, *on_path, *others):
        nvdisasm = folder / "nvdisasm"
        if nvdisasm.is_file() and os.access(nvdisasm, os.X_OK):
            return nvdisasm
    return None


def find_ncu(nvcc: Path | None, site_packages: Sequence[Path] | None = None) -> Path | None:
    """Return Nsight Compute's command-line tool ncu, or None. It is the first of these that can be executed:

    1. `ncu` on PATH;
    2. `ncu` beside `nvcc`, in the toolkit of `nvcc`;
    3. `ncu` in the toolkits that `find_nvcc` searches, and in `/usr/local/cuda-*/bin`, newest first;
    4. `/opt/nvidia/nsight-compute/*/ncu`, newest first, from NVIDIA's packages.
    """
    on_path = shutil.which("ncu")
    if on_path is not None:
        return Path(on_path).absolute()
    beside = [] if nvcc is None else [nvcc.parent, toolkit_root(nvcc) / "bin"]
    others = (root / "bin" for root in (*toolkit_roots(), *wheel_roots(site_packages)))
    versions = INSTALLED_TOOLKIT.parent.glob(f"{INSTALLED_TOOLKIT.name}-*/bin")
    packages = NSIGHT_COMPUTE.glob("*")
    for folder in (*beside, *others, *_newest_first(versions), *_newest_first(packages)):
        ncu = folder / "ncu"
        if ncu.is_file() and os.access(ncu, os.X_OK):
            return ncu
    return None


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    """Sort folders by the version numbers in their paths: 2025.10 comes before 2025.9."""
    return sorted(folders, key=lambda folder: [int(n) for n in re.findall(r"\d+", str(folder))], reverse=True)


def nvcc_version(nvcc: Path) -> tuple[int, int]:
    """Return the release of the CUDA toolkit that `nvcc` belongs to, such as (13, 0)."""
    return release_in(run_nvcc(nvcc, "--version"), nvcc)


def release_in(version: str, nvcc: Path) -> tuple[int, int]:
    """Return the release that `nvcc --version` printed. Raise NoDeviceError if there is none."""
    release = re.search(r"\brelease ([0-9]{1,4})\.([0-9]{1,4})\b", version)
    if release is None:
        raise NoDeviceError(f"{nvcc} --version names no CUDA release; is it NVIDIA's compiler?")
    return int(release[1]), int(release[2])


def include_options(nvcc: Path) -> list[str]:
    """Return the `-I` options for CUDA headers that `nvcc` does not find by itself.

    Toolkits and the wheels of CUDA 13 need no options, because their headers are beside the compiler. The
    wheels named `-cu12` have a folder for each package, so the runtime's headers are in another folder than
    the compiler: `nvidia/cuda_runtime/include` for `nvidia/cuda_nvcc/bin/nvcc`.
    """
    package = nvcc.parent.parent
    if package.name != "cuda_nvcc":
        return []
    folders = (package.parent / name / "include" for name in ("cuda_runtime", "cuda_cccl"))
    return [f"-I{folder}" for folder in folders if folder.is_dir()]


def header_folders(nvcc: Path | None, site_packages: Sequence[Path] | None = None) -> list[Path]:
    """Return the folders that contain cuda.h and cudaProfiler.h; empty if one of the headers is missing.

    The headers are searched for in the toolkit of `nvcc`, in the toolkits that `find_nvcc` searches, in
    `/usr/include`, and in NVIDIA's wheels in `site_packages`.
    """
    candidates = list(header_candidates(nvcc, site_packages))
    found: list[Path] = []
    for header in DRIVER_HEADERS:
        folder = next((folder for folder in candidates if (folder / header).is_file()), None)
        if folder is None:
            return []
        if folder not in found:
            found.append(folder)
    return found


def header_candidates(nvcc: Path | None, site_packages: Sequence[Path] | None) -> Iterator[Path]:
    """Yield every folder that may contain CUDA's headers, in the order of preference."""
    own_root = [] if nvcc is None else [toolkit_root(nvcc)]
    for root in (*own_root, *toolkit_roots()):
        yield root / "include"
        yield from sorted(root.glob("targets/*/include"))
    yield SYSTEM_HEADERS
    for root in wheel_roots(site_packages):
        yield root / "include"


def toolkit_root(nvcc: Path) -> Path:
    """Return the folder of the toolkit that `nvcc` belongs to.

    A dry run of nvcc prints this folder as `TOP`, also if `nvcc` is a link or a wrapper script outside the
    toolkit. If nvcc prints no `TOP`, the result is the folder above `bin`.
    """
    try:
        output = run_nvcc(nvcc, "--dryrun", "-E", "-x", "cu", os.devnull)
    except NoDeviceError:
        output = ""
    top = re.search(r"^#\$ TOP=(.+)$", output, re.MULTILINE)
    return Path(top[1].strip()).resolve() if top else nvcc.parent.parent


def toolkit_roots() -> Iterator[Path]:
    """Yield the folders in which toolkits are usually installed, whether they exist or not."""
    for variable in TOOLKIT_VARIABLES:
        folder = os.environ.get(variable)
        if folder:
            yield Path(folder).absolute()
    yield INSTALLED_TOOLKIT


def wheel_roots(site_packages: Sequence[Path] | None = None) -> Iterator[Path]:
    """Yield the folders into which NVIDIA's wheels install parts of a toolkit.

    `nvidia/cu13` and the like come first, newest CUDA first, then the folders of the wheels named `-cu12`.
    """
    if site_packages is None:
        # On some distributions these are two folders, and a wheel may be in either.
        site_packages = list(dict.fromkeys(Path(sysconfig.get_path(key)) for key in ("purelib", "platlib")))
    for folder in site_packages:
        versions = [
            (int(root.name[2:]), root) for root in folder.glob("nvidia/cu*") if root.name[2:].isdecimal()
        ]
        yield from (root for _, root in sorted(versions, reverse=True))
        for name in ("cuda_nvcc", "cuda_runtime", "cuda_profiler_api"):
            yield folder / "nvidia" / name


def run_nvcc(nvcc: Path, *options: str) -> str:
    """Run `nvcc` with `options`; return its standard output and standard error.

    Raises:
        NoDeviceError: `nvcc` does not start, fails, or exceeds the time limit.
    """
    try:
        with owned_folder() as folder:
            completed = run_group(
                [nvcc, *options],
                timeout_s=NVCC_TIMEOUT_S,
                environment={"TMPDIR": str(folder)},
                working_folder=folder,  # not the user's, whose files nvcc could take for CUDA's headers
                removed=folder,
                errors="replace",
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoDeviceError(f"{nvcc} cannot be run: {error}") from error
    if completed.returncode != 0:
        reason = (completed.stderr.strip() or completed.stdout.strip() or "no output").splitlines()[0]
        raise NoDeviceError(f"{nvcc} {options[0]} ended with status {completed.returncode}: {reason}")
    return completed.stdout + completed.stderr
