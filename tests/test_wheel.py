"""The wheel contains all that a user needs: it runs from an empty folder, without the repository."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_runs_its_kernels_from_an_empty_folder(tmp_path: Path) -> None:
    wheels, installed, empty = tmp_path / "wheels", tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = wheels.glob("cudamm-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)

    def python(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(installed)}
        command = [sys.executable, *arguments]
        completed = subprocess.run(
            command, cwd=empty, env=environment, capture_output=True, text=True, check=True
        )
        return completed.stdout

    files = [path.name for path in (ROOT / "cuda_src").glob("*.*")]
    assert sorted(files) == sorted(path.name for path in (installed / "cudamm" / "cuda_src").glob("*.*"))
    names = python("-c", "from cudamm.kernels import ladder; print(ladder.__file__, ladder.methods())")
    assert names.startswith(str(installed)) and "bf16x9" in names
    verify = shlex.split("-m cudamm verify --device cpu -m tiled --block 8 -n 17x31x13 --dtype float32")
    assert "Success!" in python(*verify)
