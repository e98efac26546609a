"""A and B in half with C in float, factors in half, and memory that a kernel only writes, through PyCUDA."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gpu

HANDED_IN = Path(__file__).parent.parent / "handed_in" / "types"


def cudamm(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process."""
    command = [sys.executable, "-m", "cudamm", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def benched(tmp_path: Path, file: str, *options: str) -> dict[str, Any]:
    """Return the only result of a benchmark, whose timed launches are verified on other inputs."""
    out = tmp_path / "out.json"
    kernel = str(HANDED_IN / file)
    command = ("bench", kernel, *options, "--runs", "5", "--device", "gpu", "--json", str(out))
    ended = cudamm(*command)
    assert ended.returncode == 0, ended.stderr + ended.stdout
    (result,) = json.loads(out.read_text())["results"]
    found: dict[str, Any] = result
    return found


@pytest.mark.parametrize("file", ["half_tiles_to_float.cu", "bfloat16_wmma.cu", "int8_plain.cu"])
@pytest.mark.parametrize("size", ["192x128x320", "1024"])
def test_c_in_the_type_of_the_sums_is_right_in_timed_launches_too(
    gpu: Any, tmp_path: Path, file: str, size: str
) -> None:
    result = benched(tmp_path, file, "-n", size)
    assert (result["status"], result["reason"]) == ("ok", "")
    assert result["dtype"] in ("float16_to_float32", "bfloat16_to_float32", "int8")


@pytest.mark.parametrize("file", ["written_as_half.cu", "half_sums_to_float.cu", "int8_sums.cu"])
def test_a_c_in_another_type_is_wrong_on_the_gpu_too(gpu: Any, file: str) -> None:
    ended = cudamm("verify", str(HANDED_IN / file), "-n", "96x64x70", "--device", "gpu")
    assert ended.returncode == 1, ended.stderr + ended.stdout
    assert "0 of 1 results are right" in ended.stdout


def test_factors_of_16_bits_arrive_on_the_gpu(gpu: Any) -> None:
    file = str(HANDED_IN / "bfloat16_factors.cu")
    ended = cudamm("verify", file, "-n", "100x200x64", "--alpha", "-1.5", "--beta", "2", "--device", "gpu")
    assert ended.returncode == 0 and "1 of 1 results are right" in ended.stdout, ended.stderr + ended.stdout


def test_a_kernel_writes_to_memory_of_its_own_on_the_gpu(gpu: Any, tmp_path: Path) -> None:
    result = benched(tmp_path, "debug_pointer.cu", "-n", "200x300x100")
    assert (result["status"], result["reason"]) == ("ok", "")
