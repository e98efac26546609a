"""`cudamm tune` on the CPU device verifies every variant, names no winner and stores nothing."""

from __future__ import annotations

import json

import pytest

TUNE = "tune --device cpu -n 16 --budget 20s "


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    """Return the data folder of the test, which does not exist yet."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CUDAMM_DATA", str(folder))
    return folder


def test_the_cpu_device_names_no_winner_and_stores_nothing(run, data, tmp_path):
    ended = run(f"{TUNE} -m naive --block 2,8,16 --json out.json")
    assert ended.status == 0
    assert "3 of 3" in ended.stdout and "no winner, because times on the CPU device" in ended.stdout
    assert "no parameters are stored" in ended.stdout
    for claim in ("fastest", "median", "GFLOP/s", "stored in", "cudamm bench"):
        assert claim not in ended.stdout
    document = json.loads((tmp_path / "out.json").read_text())
    assert [row["correct"] for row in document["results"]] == [True] * 3
    assert not any(row["winner"] or row["median_ms"] for row in document["results"])
    (outcome,) = document["outcomes"]
    assert (outcome["params"], outcome["median_ms"], outcome["ratio"]) == (None, None, None)
    assert not data.exists()


def test_without_a_gpu_tune_says_at_once_what_it_needs(run, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    compiled = "cudamm.execution.prepare.compile_each"
    monkeypatch.setattr(compiled, lambda *_: pytest.fail("a kernel was compiled"))
    ended = run("tune -m naive -n 16")
    ended.refused(3, "tune times variants on a GPU", "cudamm trace", "tune --device cpu verifies")
    assert ended.stdout == ""


def test_the_cpu_device_is_quiet_if_asked(run):
    assert run(f"{TUNE} -m naive --block 8 -q").stderr == ""


def test_the_cpu_device_reports_wrong_variants(run, kernel, data):
    kernel(
        "hasty.cu",
        "if (row >= M || col >= N) return;",
        "if (BLOCK_SIZE == 8 || row >= M || col >= N) return;",
    )
    ended = run(f"{TUNE} --kernel hasty.cu --block 8,16")
    assert ended.status == 0 and "1 of 2" in ended.stdout and "never written" in ended.stdout
    assert run(f"{TUNE} --kernel hasty.cu --block 8").status == 1


def test_the_cpu_device_needs_no_data_folder(run, data):
    data.write_text("a file")
    assert run(f"{TUNE} -m naive --block 8").status == 0


def test_a_stored_entry_of_the_cpu_device_is_listed_as_ignored_and_never_chosen(run, data):
    from cudamm.devices.find_device import host
    from cudamm.kernels.ladder import find
    from cudamm.tuning.tuned_store import arch_of, source_hash

    info = host().info
    entry = {
        "device": info.name, "arch": arch_of(info), "method": "naive", "source": source_hash(find("naive")),
        "dtype": "float32", "m": 16, "n": 16, "k": 16, "params": {"BLOCK_SIZE": 8}, "median_ms": 0.1,
        "cache": "cold", "confirmed": True, "complete": True, "tried": 1, "possible": 1, "date": "2026-11-21",
    }  # fmt: skip
    data.mkdir()
    (data / "tuned.json").write_text(json.dumps({"schema": "cudamm.tuned/1", "entries": [entry]}))
    assert "measured on the CPU device: ignored" in run("tune --device cpu --list").stdout
    (row,) = run("bench --device cpu -m best -n 16 --runs 1 --warmup 0 --json -").records
    assert row["chosen_by"] != "tuned"
    assert "1 entry of" in run("tune --device cpu --forget").stdout
