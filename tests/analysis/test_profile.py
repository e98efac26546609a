"""Nsight Compute's output, read and judged; and the process that it watches, on the CPU device."""

from __future__ import annotations

import csv
import io
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from cudamm.analysis import profiled_process
from cudamm.analysis.profile import METRICS, bound_of, findings_of, in_base_unit, named, number, parse_ncu
from cudamm.compile import toolkit
from cudamm.execution.case import Verdict
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

COLUMNS = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")


def printed(metrics, *kernels):
    """What ncu prints of kernels: `metrics` are names and units, `kernels` their values as text."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow([*COLUMNS, *metrics])
    writer.writerow([""] * len(COLUMNS) + list(metrics.values()))
    for i, values in enumerate(kernels):
        writer.writerow(
            [i, "7", "python3.11", "127.0.0.1", "tiled(int, int)", "1", "7", "(16, 16, 1)", *values]
        )
    return text.getvalue()


UNITS = {
    "gpu__time_duration.sum": "nsecond",
    "dram__bytes_read.sum": "byte",
    "lts__t_sector_hit_rate.pct": "%",
}


def test_a_kernel_is_read_from_between_the_messages():
    text = (
        "==PROF== Connected to process 7 (/usr/bin/python3.11)\n"
        '==PROF== Profiling "tiled" - 0: 0%....50%....100% - 9 passes\n'
        'a kernel\'s own "words, in quotation marks\n' + printed(UNITS, ["1,234,567", "8,388,608", "93.25"]) +
        "==PROF== Disconnected from process 7\n"
    )  # fmt: skip
    (kernel,) = parse_ncu(text)
    assert kernel == {
        "gpu__time_duration.sum": (1_234_567.0, "nsecond"),
        "dram__bytes_read.sum": (8_388_608.0, "byte"),
        "lts__t_sector_hit_rate.pct": (93.25, "%"),
    }
    values = named(kernel)
    assert values["duration_ms"] == pytest.approx(1.234567)
    assert values["dram_read_bytes"] == 8_388_608 and values["l2_hit_percent"] == 93.25


def test_each_kernel_is_one():
    assert len(parse_ncu(printed(UNITS, ["1", "2", "3"], ["4", "5", "6"]))) == 2


def test_what_is_no_number_is_left_out():
    (kernel,) = parse_ncu(printed(UNITS, ["(!) n/a", "nan", "50"]))
    assert kernel == {"lts__t_sector_hit_rate.pct": (50.0, "%")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==PROF== Connected to process 7\n==WARNING== No kernels were profiled.\n",
        "\0\1garbage, \"unclosed\n,,,,\n",
        '"ID","Kernel Name","a__b"\n',
        '"ID","Kernel Name","a__b"\n"","","ns"\n',
        '"ID","Kernel Name","a__b"\n"0","k","5"\n"1","k","6"\n',  # a row of units is missing
        '"ID","Kernel Name","a__b"\n"","","ns"\n"0","k"\n',  # it broke off
    ],
)  # fmt: skip
def test_output_without_a_kernel_has_none(text):
    assert parse_ncu(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("1,234", 1234), ("1,234,567.5", 1234567.5), ("27.595.520", 27595520), ("1.234,5", 1234.5),
        ("0,125", 0.125), ("12.345", 12.345), ("4.0e-05", 4e-5), ("1 234".replace(" ", "\u202f"), 1234),
        ("n/a", None), ("", None), ("nan", None), ("inf", None), ("-3", -3),
    ],
)  # fmt: skip
def test_numbers_of_any_locale(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("value", "unit", "base"),
    [
        (5, "nsecond", 5e-9), (5, "ns", 5e-9), (5, "usecond", 5e-6), (5, "msecond", 5e-3), (5, "s", 5),
        (5, "Mbyte", 5e6), (5, "byte", 5), (5, "Kbyte", 5e3), (5, "%", 5), (5, "", 5),
        (5, "sector/request", 5), (5, "inst", 5), (5, "Kinst", 5e3), (5, "¿", None),
    ],
)  # fmt: skip
def test_units_of_any_version(value, unit, base):
    assert in_base_unit(value, unit) == (None if base is None else pytest.approx(base))


@pytest.mark.parametrize(
    ("compute", "memory", "bound"),
    [
        (59.9, 59.9, "latency"), (0, 0, "latency"), (60, 30, "compute"), (30, 60, "memory"),
        (70, 75, "balanced"), (60, 69.9, "balanced"), (60, 70, "memory"), (79, 70, "balanced"),
        (79.9, 69.9, "compute"), (80, 79, "compute"), (92, 95, "memory"),
    ],
)  # fmt: skip
def test_the_bound_is_that_of_nsights_rule(compute, memory, bound):
    values = {"compute_percent": compute, "memory_percent": memory}
    assert bound_of(values) == bound
    sentence = findings_of(values, 4)[0]
    assert f"{compute:.1f}%" in sentence and f"{memory:.1f}%" in sentence and bound in sentence


def test_nothing_is_said_of_what_is_not_known():
    assert bound_of({"compute_percent": 90}) is None
    assert findings_of({}, 4) == []


def test_a_small_grid_is_named():
    values = {"compute_percent": 3.0, "memory_percent": 5.0}
    assert "0.25 waves" in findings_of(values | {"waves": 0.25}, 4)[0]
    assert "waves" not in findings_of(values | {"waves": 4.0}, 4)[0]


@pytest.mark.parametrize(
    ("values", "element_bytes", "words"),
    [
        ({"load_sectors_per_request": 16.5}, 4, ["loads are not coalesced", "16.5 sectors", "need 4"]),
        ({"load_sectors_per_request": 8}, 4, []),
        ({"load_sectors_per_request": 16}, 8, []),
        ({"load_sectors_per_request": 17}, 8, ["need 8"]),
        ({"store_sectors_per_request": 32}, 4, ["stores are not coalesced", "32.0"]),
        ({"shared_load_conflicts": 750, "shared_load_wavefronts": 1000}, 4, ["loads", "750 of 1,000", "75%"]),
        ({"shared_store_conflicts": 5000, "shared_store_wavefronts": 10000}, 4, ["stores", "50%"]),
        ({"shared_load_conflicts": 99, "shared_load_wavefronts": 1000}, 4, []),
        ({"shared_load_conflicts": 0, "shared_load_wavefronts": 0}, 4, []),
        ({"achieved_occupancy_percent": 24.5}, 4, ["occupancy is low", "24.5%", "cudamm occupancy"]),
        ({"achieved_occupancy_percent": 50}, 4, []),
    ],
)
def test_a_number_names_its_cause(values, element_bytes, words):
    found = findings_of(values, element_bytes)
    assert len(found) == bool(words)
    for word in words:
        assert word in found[0]


def test_no_metric_is_asked_for_twice():
    for field in ("raw", "name", "label"):
        assert len({getattr(metric, field) for metric in METRICS}) == len(METRICS)


def silent(doing, done, total):
    """No progress to show."""


@pytest.fixture
def case(cpu):
    """Prepare a method, or a file, on the CPU device."""

    def make(method, size="32"):
        chosen = read_method(method) if isinstance(method, Path) else find(method)
        (variant,) = variants(chosen, {"BLOCK_SIZE": (8,)})
        problem = Problem(parse_shape(size), ELEMENT_TYPES["float32"])
        (prepared,) = prepare(InProcessExecutor(cpu), [(variant, problem)], True, silent)
        return prepared

    return make


class _Driver:
    """A made-up profiler that notes when it is started and stopped."""

    def __init__(self, noted):
        self.start_profiler = lambda: noted.append("start")
        self.stop_profiler = lambda: noted.append("stop")


@pytest.fixture
def noted(monkeypatch, cpu):
    """What was done, in turn: launches, and the profiler's start and stop."""
    done = []
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: _Driver(done))
    open_run = type(cpu).open

    def watched(self, *arguments):
        run = open_run(self, *arguments)
        original = run.launch
        run.launch = lambda descending=False: (done.append("launch"), original(descending))[1]
        return run

    monkeypatch.setattr(type(cpu), "open", watched)
    return done


def test_one_launch_warms_up_and_one_is_profiled(case, noted):
    verdict = profiled_process.verify_then_profile(case("tiled"))
    assert isinstance(verdict, Verdict) and verdict.correct
    assert noted == ["launch", "start", "launch", "stop"]


def test_a_wrong_kernel_is_not_profiled(case, noted, write_kernel):
    source = find("tiled").path.read_text().replace("sum = 0", "sum = 1")
    verdict = profiled_process.verify_then_profile(case(write_kernel(source)))
    assert verdict.correct is False and verdict.reason
    assert "start" not in noted


def test_the_process_leaves_what_came_of_it_in_a_file(case, tmp_path):
    given, answer = tmp_path / "case", tmp_path / "answer"
    wrong = find("tiled").path.read_text().replace("sum = 0", "sum = 1")
    path = tmp_path / "wrong.cu"
    path.write_text(wrong)
    given.write_bytes(pickle.dumps(case(path)))
    command = [sys.executable, "-m", "cudamm.analysis.profiled_process", str(given), str(answer), "60"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == ""  # it is ncu's
    assert pickle.loads(answer.read_bytes()).value.correct is False  # noqa: S301 - made above


def make_ncu(folder: Path, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    ncu = folder / "ncu"
    ncu.write_text("#!/bin/sh\n")
    ncu.chmod(mode)
    return ncu


def test_ncu_is_found_where_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for variable in toolkit.TOOLKIT_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(toolkit, "INSTALLED_TOOLKIT", tmp_path / "cuda")
    monkeypatch.setattr(toolkit, "NSIGHT_COMPUTE", tmp_path / "nsight-compute")
    monkeypatch.setattr(toolkit.sysconfig, "get_path", lambda name: str(tmp_path / name))
    nvcc = tmp_path / "toolkit" / "bin" / "nvcc"
    assert toolkit.find_ncu(None) is None and toolkit.find_ncu(nvcc) is None
    make_ncu(tmp_path / "cuda-14.0" / "bin", 0o644)  # cannot be executed
    for folder in ("path", "toolkit/bin", "cuda/bin", "cuda-13.10/bin", "cuda-13.9/bin",
                   "nsight-compute/2025.10.0", "nsight-compute/2025.9.1"):  # fmt: skip
        make_ncu(tmp_path / folder)
    found = []
    while (ncu := toolkit.find_ncu(nvcc)) is not None:
        found.append(str(ncu.parent.relative_to(tmp_path)))
        ncu.unlink()
    assert found == ["path", "toolkit/bin", "cuda/bin", "cuda-13.10/bin", "cuda-13.9/bin",
                     "nsight-compute/2025.10.0", "nsight-compute/2025.9.1"]  # fmt: skip
