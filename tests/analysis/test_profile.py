"""Reading and judging Nsight Compute's output, and the process that ncu watches, on the CPU device."""

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


def ncu_output(metrics, *kernels):
    """Return ncu's output. `metrics` contains each metric's unit, `kernels` the values of each kernel."""
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


def test_the_metrics_of_a_kernel_are_read_from_between_other_lines():
    text = (
        "==PROF== Connected to process 7 (/usr/bin/python3.11)\n"
        '==PROF== Profiling "tiled" - 0: 0%....50%....100% - 9 passes\n'
        'a kernel\'s own "words, in quotation marks\n'
        + ncu_output(UNITS, ["1,234,567", "8,388,608", "93.25"]) +
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


def test_each_profiled_kernel_is_returned():
    assert len(parse_ncu(ncu_output(UNITS, ["1", "2", "3"], ["4", "5", "6"]))) == 2


def test_metrics_without_a_number_are_left_out():
    (kernel,) = parse_ncu(ncu_output(UNITS, ["(!) n/a", "nan", "50"]))
    assert kernel == {"lts__t_sector_hit_rate.pct": (50.0, "%")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "==PROF== Connected to process 7\n==WARNING== No kernels were profiled.\n",
        "\0\1garbage, \"unclosed\n,,,,\n",
        '"ID","Kernel Name","a__b"\n',
        '"ID","Kernel Name","a__b"\n"","","ns"\n',
        '"ID","Kernel Name","a__b"\n"0","k","5"\n"1","k","6"\n',  # the row of units is missing
        '"ID","Kernel Name","a__b"\n"","","ns"\n"0","k"\n',  # the row is incomplete
    ],
)  # fmt: skip
def test_output_without_a_complete_kernel_is_read_as_no_kernel(text):
    assert parse_ncu(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5), ("1,234", 1234), ("1,234,567.5", 1234567.5), ("27.595.520", 27595520), ("1.234,5", 1234.5),
        ("0,125", 0.125), ("12.345", 12.345), ("4.0e-05", 4e-5), ("1 234".replace(" ", "\u202f"), 1234),
        ("n/a", None), ("", None), ("nan", None), ("inf", None), ("-3", -3),
    ],
)  # fmt: skip
def test_numbers_are_read_in_the_format_of_any_locale(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    ("value", "unit", "base"),
    [
        (5, "nsecond", 5e-9), (5, "ns", 5e-9), (5, "usecond", 5e-6), (5, "msecond", 5e-3), (5, "s", 5),
        (5, "Mbyte", 5e6), (5, "byte", 5), (5, "Kbyte", 5e3), (5, "%", 5), (5, "", 5),
        (5, "sector/request", 5), (5, "inst", 5), (5, "Kinst", 5e3), (5, "¿", None),
    ],
)  # fmt: skip
def test_units_of_all_versions_are_converted(value, unit, base):
    assert in_base_unit(value, unit) == (None if base is None else pytest.approx(base))


@pytest.mark.parametrize(
    ("compute", "memory", "bound"),
    [
        (59.9, 59.9, "latency"), (0, 0, "latency"), (60, 30, "compute"), (30, 60, "memory"),
        (70, 75, "balanced"), (60, 69.9, "balanced"), (60, 70, "memory"), (79, 70, "balanced"),
        (79.9, 69.9, "compute"), (80, 79, "compute"), (92, 95, "memory"),
    ],
)  # fmt: skip
def test_the_bound_follows_nsights_rule(compute, memory, bound):
    values = {"compute_percent": compute, "memory_percent": memory}
    assert bound_of(values) == bound
    sentence = findings_of(values, ELEMENT_TYPES["float32"])[0]
    assert f"{compute:.1f}%" in sentence and f"{memory:.1f}%" in sentence and bound in sentence


def test_missing_metrics_give_no_bound_and_no_finding():
    assert bound_of({"compute_percent": 90}) is None
    assert findings_of({}, ELEMENT_TYPES["float32"]) == []


def test_a_grid_smaller_than_one_wave_is_reported():
    values = {"compute_percent": 3.0, "memory_percent": 5.0}
    assert "0.25 waves" in findings_of(values | {"waves": 0.25}, ELEMENT_TYPES["float32"])[0]
    assert "waves" not in findings_of(values | {"waves": 4.0}, ELEMENT_TYPES["float32"])[0]


@pytest.mark.parametrize(
    ("values", "dtype", "words"),
    [
        (
            {"load_sectors_per_request": 16.5},
            "float32",
            ["loads are not coalesced", "16.5 sectors", "need 4"],
        ),
        ({"load_sectors_per_request": 8}, "float32", []),
        ({"load_sectors_per_request": 16}, "float64", []),
        ({"load_sectors_per_request": 17}, "float64", ["need 8"]),
        ({"store_sectors_per_request": 32}, "float32", ["stores are not coalesced", "32.0"]),
        ({"load_sectors_per_request": 3, "store_sectors_per_request": 4}, "float8_e4m3", ["loads", "need 1"]),
        (
            {"load_sectors_per_request": 2, "store_sectors_per_request": 9},
            "float8_e4m3",
            ["stores", "need 2"],
        ),
        (
            {"shared_load_conflicts": 750, "shared_load_wavefronts": 1000},
            "float32",
            ["loads", "750 of 1,000", "75%"],
        ),
        ({"shared_store_conflicts": 5000, "shared_store_wavefronts": 10000}, "float32", ["stores", "50%"]),
        ({"shared_load_conflicts": 99, "shared_load_wavefronts": 1000}, "float32", []),
        ({"shared_load_conflicts": 0, "shared_load_wavefronts": 0}, "float32", []),
        ({"achieved_occupancy_percent": 24.5}, "float32", ["occupancy is low", "24.5%", "cudamm occupancy"]),
        ({"achieved_occupancy_percent": 50}, "float32", []),
    ],
)
def test_a_metric_beyond_its_threshold_is_reported_with_its_cause(values, dtype, words):
    findings = findings_of(values, ELEMENT_TYPES[dtype])
    assert len(findings) == bool(words)
    for word in words:
        assert word in findings[0]


def test_no_two_metrics_have_the_same_name():
    for field in ("raw", "name", "label"):
        assert len({getattr(metric, field) for metric in METRICS}) == len(METRICS)


def silent(doing, done, total):
    """Ignore the progress."""


@pytest.fixture
def case(cpu):
    """Return a function that prepares a method or a file on the CPU device."""

    def make(method, size="32"):
        chosen = read_method(method) if isinstance(method, Path) else find(method)
        (variant,) = variants(chosen, {"BLOCK_SIZE": (8,)})
        problem = Problem(parse_shape(size), ELEMENT_TYPES["float32"])
        (prepared,) = prepare(InProcessExecutor(cpu), [(variant, problem)], True, silent, verified=True)
        return prepared

    return make


class _Driver:
    """A made-up profiler that records when it is started and stopped."""

    def __init__(self, events):
        self.start_profiler = lambda: events.append("start")
        self.stop_profiler = lambda: events.append("stop")


@pytest.fixture
def events(monkeypatch, cpu):
    """Return the list to which launches and the profiler's start and stop are appended."""
    recorded = []
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: _Driver(recorded))
    open_run = type(cpu).open

    def open_recorded(self, *arguments):
        run = open_run(self, *arguments)
        launch = run.launch
        run.launch = lambda descending=False: (recorded.append("launch"), launch(descending))[1]
        return run

    monkeypatch.setattr(type(cpu), "open", open_recorded)
    return recorded


def test_the_first_launch_verifies_and_the_second_is_profiled(case, events):
    verdict = profiled_process.verify_then_profile(case("tiled"))
    assert isinstance(verdict, Verdict) and verdict.correct
    assert events == ["launch", "start", "launch", "stop"]


def test_a_wrong_kernel_is_not_profiled(case, events, write_kernel):
    source = find("tiled").path.read_text().replace("sum = 0", "sum = 1")
    verdict = profiled_process.verify_then_profile(case(write_kernel(source)))
    assert verdict.correct is False and verdict.reason
    assert "start" not in events


def test_the_profiled_process_writes_its_verdict_to_a_file(case, tmp_path, write_kernel):
    case_file, answer = tmp_path / "case", tmp_path / "answer"
    path = write_kernel(find("tiled").path.read_text().replace("sum = 0", "sum = 1"))
    case_file.write_bytes(pickle.dumps(case(path)))
    command = [sys.executable, "-m", "cudamm.analysis.profiled_process", str(case_file), str(answer), "60"]
    completed = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env=os.environ, check=False
    )
    assert completed.returncode == 0, completed.stderr
    assert completed.stdout == ""  # ncu prints its report there
    assert pickle.loads(answer.read_bytes()).value.correct is False  # noqa: S301 - written by this test


def make_ncu(folder: Path, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    ncu = folder / "ncu"
    ncu.write_text("#!/bin/sh\n")
    ncu.chmod(mode)
    return ncu


def test_ncu_is_found_on_path_then_in_toolkits_newest_version_first(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    for variable in toolkit.TOOLKIT_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(toolkit, "INSTALLED_TOOLKIT", tmp_path / "cuda")
    monkeypatch.setattr(toolkit, "NSIGHT_COMPUTE", tmp_path / "nsight-compute")
    monkeypatch.setattr(toolkit.sysconfig, "get_path", lambda name: str(tmp_path / name))
    nvcc = tmp_path / "toolkit" / "bin" / "nvcc"
    assert toolkit.find_ncu(None) is None and toolkit.find_ncu(nvcc) is None
    make_ncu(tmp_path / "cuda-14.0" / "bin", 0o644)  # this ncu cannot be executed
    for folder in ("path", "toolkit/bin", "cuda/bin", "cuda-13.10/bin", "cuda-13.9/bin",
                   "nsight-compute/2025.10.0", "nsight-compute/2025.9.1"):  # fmt: skip
        make_ncu(tmp_path / folder)
    order = []
    while (ncu := toolkit.find_ncu(nvcc)) is not None:
        order.append(str(ncu.parent.relative_to(tmp_path)))
        ncu.unlink()
    assert order == ["path", "toolkit/bin", "cuda/bin", "cuda-13.10/bin", "cuda-13.9/bin",
                     "nsight-compute/2025.10.0", "nsight-compute/2025.9.1"]  # fmt: skip
