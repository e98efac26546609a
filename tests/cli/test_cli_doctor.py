"""`cudamm doctor` on a machine without a GPU; the GPUs of another machine are hidden."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.parametrize("line", ["doctor", "doctor --device cpu"])
def test_the_cpu_device_needs_no_gpu(run, line: str) -> None:
    result = run(line)
    assert result.status == 0, result.stderr
    assert "can run on cpu" in result.stdout
    assert "nvdisasm" in result.stdout and "not needed: only a GPU makes use of it" in result.stdout
    assert result.stderr == ""


def test_a_missing_gpu_ends_with_3_and_the_last_line_is_the_remedy(spawn, tmp_path: Path) -> None:
    result = spawn("doctor --device gpu --json found.json", redirect="2>&1")
    assert result.status == 3
    assert "Traceback" not in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("cudamm: bench cannot run here: ") and len(last) > 40
    assert json.loads((tmp_path / "found.json").read_text())["usable"] is False


def test_a_missing_compiler_ends_with_3_and_the_remedy(run, setenv) -> None:
    setenv("CXX", "no-such-compiler")
    result = run("doctor --device cpu")
    assert result.status == 3
    assert result.stderr.startswith("cudamm: bench cannot run here: ")
    assert "no-such-compiler" in result.stderr and "apt install g++" in result.stderr


@pytest.mark.slow
def test_a_compiler_that_is_killed_ends_with_3_and_one_line(spawn, tmp_path: Path) -> None:
    killed = tmp_path / "my-g++"
    killed.write_text("#!/bin/sh\nkill -KILL $$\n")
    killed.chmod(0o755)
    result = spawn("doctor --device cpu", CXX=str(killed))
    assert result.status == 3
    assert result.stderr == (
        "cudamm: bench cannot run here: my-g++ was killed by SIGKILL: is there too little memory?\n"
    )
    assert "could not be checked" in result.stdout  # the host's memory


def test_the_json_document_has_every_finding(run, tmp_path: Path) -> None:
    assert run("doctor --device cpu --json found.json").status == 0
    document = json.loads((tmp_path / "found.json").read_text())
    assert (document["schema"], document["usable"]) == ("cudamm.doctor/1", True)
    assert all(set(row) == {"subject", "status", "found", "advice"} for row in document["results"])
    assert {"Python", "nvcc", "cache folder", "bench"} <= {row["subject"] for row in document["results"]}


def test_an_unknown_device_is_a_usage_error(run) -> None:
    run("doctor --device gpx").refused(2, "gpx")


def test_a_cache_folder_that_is_a_file_ends_with_3_and_is_named(run, setenv, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    setenv("CUDAMM_CACHE", str(tmp_path / "file"))
    result = run("doctor --device cpu")
    assert result.status == 3
    assert "CUDAMM_CACHE" in result.stderr


def test_doctor_takes_less_than_two_seconds(run) -> None:
    begin = time.monotonic()
    run("doctor --device cpu")
    assert time.monotonic() - begin < 2
