"""`cudamm doctor` as a user meets it, on a machine without a GPU or with all of them hidden."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hidden from CUDA, which counts as a machine without a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


@pytest.mark.parametrize("line", ["doctor", "doctor --device cpu"])
def test_the_cpu_device_is_enough(run, line: str) -> None:
    result = run(line)
    assert result.status == 0, result.stderr
    assert "can run on cpu" in result.stdout
    assert result.stderr == ""


def test_a_gpu_that_is_not_there_ends_with_3_and_says_what_to_do_last(spawn) -> None:
    result = spawn("doctor --device gpu", redirect="2>&1")
    assert result.status == 3
    assert "Traceback" not in result.stdout
    last = result.stdout.splitlines()[-1]
    assert last.startswith("cudamm: bench cannot run here: ") and len(last) > 40


def test_without_a_compiler_it_says_which_to_install(spawn) -> None:
    result = spawn("doctor --device cpu", CXX="no-such-compiler")
    assert result.status == 3
    assert result.stderr.startswith("cudamm: bench cannot run here: ")
    assert "no-such-compiler" in result.stderr and "apt install g++" in result.stderr


def test_a_compiler_that_is_killed_is_an_error_and_no_traceback(spawn, tmp_path: Path) -> None:
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


def test_the_json_document_is_written_where_bench_cannot_run(spawn) -> None:
    result = spawn("doctor --device gpu --json -")
    assert result.status == 3
    assert json.loads(result.stdout)["usable"] is False


def test_a_name_of_no_device_is_a_usage_error(run) -> None:
    run("doctor --device gpx").refused(2, "gpx")


def test_a_cache_folder_that_takes_no_file_is_named(spawn, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = spawn("doctor --device cpu", CUDAMM_CACHE=str(tmp_path / "file"))
    assert result.status == 3
    assert "CUDAMM_CACHE" in result.stderr


def test_it_takes_less_than_two_seconds(run) -> None:
    begin = time.monotonic()
    run("doctor --device cpu")
    assert time.monotonic() - begin < 2
