"""`--json`: the fields of the document, and the file, pipe or device that it is written to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import pytest

BENCH = "bench --device cpu --warmup 0 --runs 2 --times -n 16 -m naive --block 16 "
NUMPY_BENCH = "bench --device cpu --warmup 0 --runs 2 --times -n 16 -m numpy "
"""A command that measures without compiling a kernel."""

RECORD = {
    "method", "params", "m", "n", "k", "dtype", "fmad", "execution", "padded", "status", "reason",
    "inputs", "column_major", "device", "correct",
    "bit_equal", "max_error", "error_bound", "effective_bits", "cause",
}  # fmt: skip
TIMES = {
    "source", "identity", "is_final",
    "samples_ms", "cache", "launches_per_sample", "ended_by", "clock_mhz", "throttled",
    "throttle_reasons", "retaken", "judged_launches", "judged_whole", "event_floor_ms",
    "median_ms", "mean_ms", "min_ms", "q1_ms", "q3_ms",
    "noise", "outliers", "gflops", "fma_ceiling_gflops", "share_of_fma_ceiling", "share_of_cublas",
}  # fmt: skip
HEAD = ["schema", "device", "environment"]


@pytest.mark.parametrize(
    ("line", "schema", "head", "fields"),
    [
        (BENCH, "cudamm.bench/2", [*HEAD, "options"], RECORD | TIMES | {"exact"}),
        ("verify --device cpu -n 16 -m naive --block 16 ", "cudamm.verify/1", HEAD, RECORD),
    ],
)
def test_the_document_has_exactly_these_fields(run, line, schema, head, fields):
    result = run(f"{line} --dtype float32 --json -")
    document = json.loads(result.stdout)
    assert result.stderr == ""
    assert list(document) == [*head, "results"]
    assert document["schema"] == schema
    assert document["device"]["kind"] == "cpu" and document["device"]["name"]
    assert {"cudamm", "date", "python", "numpy"} <= set(document["environment"])
    (record,) = document["results"]
    assert fields == set(record)
    assert record["method"] == "naive" and record["params"] == {"BLOCK_SIZE": 16}
    assert (record["m"], record["n"], record["k"], record["dtype"]) == (16, 16, 16, "float32")
    assert (record["status"], record["correct"], record["reason"]) == ("ok", True, "")
    assert 0 <= record["max_error"] <= record["error_bound"]


def test_verify_writes_a_row_for_each_variant_size_and_type(run):
    sizes_and_types = "-n 16 -n 17x31x13 --dtype float32 --dtype int32"
    result = run(f"verify --device cpu -m naive --block 8,16 {sizes_and_types} --json -")
    rows = {(r["params"]["BLOCK_SIZE"], r["m"], r["dtype"]) for r in result.records}
    assert rows == {(b, m, t) for b in (8, 16) for m in (16, 17) for t in ("float32", "int32")}


def test_a_file_is_written_in_addition_to_the_table(run, tmp_path):
    result = run(f"{BENCH} --json out.json")
    assert result.status == 0 and "✓" in result.stdout
    assert json.loads((tmp_path / "out.json").read_text())["results"]
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "out.json").stat().st_mode & 0o777 == 0o666 & ~mask


def test_an_older_file_is_replaced_and_keeps_its_permissions(run, tmp_path):
    old = tmp_path / "out.json"
    old.write_text("old")
    old.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to("out.json")
    assert run(f"{BENCH} --json link.json").status == 0
    assert link.is_symlink()
    assert json.loads(old.read_text())["results"]
    assert old.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("wrong", ["-n 0", "-m tield", "--block 64", "--kernel nowhere.cu", "--runs 0"])
def test_an_older_file_survives_a_wrong_command_line(run, tmp_path, wrong):
    (tmp_path / "out.json").write_text("old")
    assert run(f"bench --device cpu -m naive {wrong} --json out.json").status == 2
    assert (tmp_path / "out.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


def test_the_file_contains_failed_results(run, kernel, tmp_path):
    kernel("wrong.cu", "= sum;", "= sum + 1;")
    assert run("bench --device cpu -n 16 --kernel wrong.cu --json out.json").status == 1
    (record,) = json.loads((tmp_path / "out.json").read_text())["results"]
    assert record["status"] == "failed" and "wrong" in record["reason"]


def test_the_table_is_printed_even_if_the_disk_is_full(run):
    result = run(f"{BENCH} --json /dev/full")
    assert result.status == 2 and "✓" in result.stdout
    assert result.stderr.startswith("cudamm: ") and result.stderr.count("\n") == 1
    assert "/dev/full" in result.stderr and "No space left" in result.stderr


def test_dev_null_stays_a_device(run):
    result = run(f"{BENCH} --json /dev/null")
    assert result.status == 0 and "✓" in result.stdout
    assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")  # noqa: PTH110, PTH113


@pytest.mark.slow
def test_a_named_pipe_gets_the_document_and_is_opened_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()), daemon=True)
    reader.start()
    command = [sys.executable, "-m", "cudamm", *NUMPY_BENCH.split(), "--json", str(pipe)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        # The reader ends when the writer closes the pipe. A writer that opens it again waits forever.
        assert process.wait(timeout=20) == 0
    except subprocess.TimeoutExpired:
        pytest.fail(f"cudamm still writes to the pipe, of which the reader got {texts!r}")
    finally:
        process.kill()
        process.wait()
    reader.join(timeout=5)
    assert json.loads(texts[0])["schema"] == "cudamm.bench/2"


def test_an_inherited_pipe_gets_the_document(run):
    reader, writer = os.pipe()
    result = run(f"{NUMPY_BENCH} --json /dev/fd/{writer}")
    os.close(writer)
    with os.fdopen(reader) as document:
        assert json.load(document)["schema"] == "cudamm.bench/2"
    assert result.status == 0


def test_a_file_name_that_is_not_utf_8_causes_no_traceback(run, tmp_path):
    result = run(f"{NUMPY_BENCH} --json \udcff.json")
    assert result.status in (0, 2)
    assert len(list(tmp_path.iterdir())) == (result.status == 0)


@pytest.mark.slow
def test_standard_output_in_ascii_gets_valid_json(spawn, kernel):
    kernel("ünï.cu")
    line = "bench --device cpu --warmup 0 --runs 1 --times --no-verify -n 16 --kernel ünï.cu --json -"
    result = spawn(line, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "Traceback" not in result.stderr
    assert result.records[0]["method"] == "ünï"
