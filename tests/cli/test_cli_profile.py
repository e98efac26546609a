"""`cudamm profile` with a script in place of ncu: its output, its command line, and each way it can fail."""

from __future__ import annotations

import csv
import io
import itertools
import json
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cudamm.compile import toolkit
from cudamm.devices.device import Device, DeviceInfo
from cudamm.devices.find_device import host
from cudamm.devices.gpu_device import GpuTarget
from cudamm.errors import CudammError, KernelError, NoDeviceError
from cudamm.execution.case import Verdict
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.process_protocol import Failure, Success
from cudamm.kernels.architecture import find_architecture

VALUES = {
    "gpu__time_duration.sum": ("nsecond", "2,500,000"),
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": ("%", "41.5"),
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": ("%", "92.25"),
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": ("%", "3.5"),
    "dram__bytes_read.sum": ("byte", "8,400,000"),
    "dram__bytes_write.sum": ("byte", "4,200,000"),
    "lts__t_sector_hit_rate.pct": ("%", "97.5"),
    "l1tex__t_sector_hit_rate.pct": ("%", "(!) n/a"),
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": ("sector/request", "16.5"),
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": ("sector/request", "4"),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum": ("", "1,000"),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum": ("", "0"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": ("", "4,000"),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": ("", "2,000"),
    "sm__warps_active.avg.pct_of_peak_sustained_active": ("%", "98.0"),
    "launch__waves_per_multiprocessor": ("", "3.79"),
    "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": ("inst", "1,073,741,824"),
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_active": ("%", "61.25"),
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": ("%", "0"),
}


def table(kernels: int = 1, values: dict[str, tuple[str, str]] = VALUES) -> str:
    """Return what ncu prints after it has profiled this number of equal kernels."""
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(["ID", "Process ID", "Kernel Name", *values])
    writer.writerow(["", "", "", *(unit for unit, _ in values.values())])
    for i in range(kernels):
        writer.writerow([i, "7", "tiled", *(value for _, value in values.values())])
    return (
        "==PROF== Connected to process 7 (/usr/bin/python3)\n"
        '==PROF== Profiling "tiled": 0%....100% - 9 passes\n'
        f"==PROF== Disconnected from process 7\n{text.getvalue()}"
    )


class _Gpu(GpuTarget, Device[Any]):
    """A stand-in for a GPU, which compiles and launches nothing."""

    def __init__(self) -> None:
        info = DeviceInfo("gpu", "gpu:0", "a test's GPU", {})
        super().__init__(info, host().limits, find_architecture("sm_80"))

    def compile(self, program: Any) -> Any:
        return "compiled"

    def open(self, *arguments: Any) -> Any:
        raise AssertionError("nothing is launched in this process")

    def free_bytes(self) -> int:
        return host().free_bytes()


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch, run: Any, tmp_path: Path) -> Any:
    """Return a function that runs a command line with a stand-in for a GPU and a script in place of ncu.

    `stdout`, `stderr` and `status` are those of ncu. `outcome` is the result of the process that ncu
    profiles, or its error. `body` is Python code that ncu runs first; its arguments are in `argv`.
    """
    folder = tmp_path / "ncu"
    folder.mkdir()
    monkeypatch.setattr(
        "cudamm.execution.worker_executor.WorkerExecutor", lambda spec, timeout_s: InProcessExecutor(_Gpu())
    )

    def run_there(
        line: str,
        stdout: str = "",
        stderr: str = "",
        status: int = 0,
        outcome: Any = None,
        body: str = "",
    ) -> Any:
        (folder / "stdout").write_text(stdout)
        (folder / "stderr").write_text(stderr)
        reply = Failure(outcome) if isinstance(outcome, CudammError) else Success(outcome)
        (folder / "outcome").write_bytes(pickle.dumps(reply))
        write_outcome = f"shutil.copy({str(folder / 'outcome')!r}, argv[-2])" if outcome is not None else ""
        ncu = folder / "ncu.py"
        ncu.write_text(
            f"#!{sys.executable} -IS\nimport json, os, shutil, signal, sys, time\nargv = sys.argv\n"
            f"with open({str(folder / 'commands')!r}, 'a') as f: print(json.dumps(argv[1:]), file=f)\n"
            f"{body}\n{write_outcome}\n"
            f"sys.stdout.write(open({str(folder / 'stdout')!r}).read())\n"
            f"sys.stderr.write(open({str(folder / 'stderr')!r}).read())\n"
            f"sys.exit({status})\n"
        )
        ncu.chmod(0o755)
        monkeypatch.setattr(toolkit, "find_ncu", lambda nvcc: ncu)
        return run(line)

    return run_there


@pytest.fixture
def ncu_commands(tmp_path: Path) -> Any:
    """Return a function that returns the command lines with which ncu was started."""
    return lambda: [json.loads(line) for line in (tmp_path / "ncu" / "commands").read_text().splitlines()]


CORRECT = Verdict(True)
LINE = "profile -m tiled --block 16 -n 64 "


def rows_of(text: str) -> dict[str, list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_the_table_and_the_findings_are_printed(on_gpu):
    ended = on_gpu(LINE, table(), outcome=CORRECT)
    assert ended.status == 0, ended.stderr
    rows = rows_of(ended.stdout)
    assert rows["duration (ms)"] == ["2.50"] and rows["memory (% of peak)"] == ["92.2"]
    assert rows["device memory read (MB)"] == ["8.40"] and rows["FFMA (thread)"] == ["1,073,741,824"]
    assert "L1 hits (%)" not in rows  # ncu printed n/a
    assert rows["bound by"] == ["memory"]
    for words in (
        "tiled BLOCK_SIZE=16: memory bound: memory throughput 92.2% of its peak, compute 41.5%",
        "16.5 sectors",
        "1,000 of 4,000 wavefronts (25%)",
        "clocks to their base frequency",
        "64 x 64 x 64 (M x N x K), float32, on a test's GPU",
    ):
        assert words in ended.stdout
    assert "occupancy is low" not in ended.stdout


def test_busy_tensor_cores_are_shown_beside_the_units_of_multiply_adds(on_gpu):
    name = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"
    ended = on_gpu(LINE, table(values=VALUES | {name: ("%", "45.25")}), outcome=CORRECT)
    rows = rows_of(ended.stdout)
    assert rows["FMA pipe active (%)"] == ["61.2"] and rows["tensor cores active (%)"] == ["45.2"]
    for percent in ("0", "0.01"):  # an H200 counts 0.01% for some kernels without tensor cores
        idle = rows_of(on_gpu(LINE, table(values=VALUES | {name: ("%", percent)}), outcome=CORRECT).stdout)
        assert not any("active (%)" in label for label in idle)
    (row,) = json.loads(on_gpu(LINE + "--json -", table(), outcome=CORRECT).stdout)["results"]
    assert (row["fma_pipe_percent"], row["tensor_pipe_percent"]) == (61.25, 0)


def test_ncu_profiles_one_launch_with_cold_caches_at_base_clock(on_gpu, ncu_commands):
    on_gpu(LINE, table(), outcome=CORRECT)
    (command,) = ncu_commands()
    options = dict(itertools.pairwise(command))
    assert options["--page"] == "raw" and "--csv" in command
    assert options["--profile-from-start"] == "off" and options["--target-processes"] == "all"
    assert options["--cache-control"] == "all" and options["--clock-control"] == "base"
    assert set(options["--metrics"].split(",")) == VALUES.keys()
    profiled = command[command.index(sys.executable) :]
    assert profiled[-4] == "cudamm.analysis.profiled_process"


def test_json_has_the_names_and_values_that_ncu_printed(on_gpu):
    document = json.loads(on_gpu(LINE + "--json -", table(), outcome=CORRECT).stdout)
    assert document["schema"] == "cudamm.profile/1" and document["device"]["name"] == "a test's GPU"
    (row,) = document["results"]
    assert (row["method"], row["params"], row["m"], row["dtype"]) == (
        "tiled",
        {"BLOCK_SIZE": 16},
        64,
        "float32",
    )
    assert row["status"] == "ok" and row["correct"] is True and row["bound"] == "memory"
    assert row["duration_ms"] == pytest.approx(2.5) and row["l1_hit_percent"] is None
    assert row["metrics"]["gpu__time_duration.sum"] == 2_500_000
    assert row["units"]["gpu__time_duration.sum"] == "nsecond"
    assert "l1tex__t_sector_hit_rate.pct" not in row["metrics"]
    assert len(row["findings"]) == 3


def test_csv_markdown_and_svg_contain_the_profile(on_gpu, tmp_path: Path):
    ended = on_gpu(LINE + "--csv f.csv --markdown f.md --svg f.svg -q", table(), outcome=CORRECT)
    assert ended.status == 0 and ended.stderr == ""
    (row,) = csv.DictReader((tmp_path / "f.csv").read_text().splitlines())
    assert row["metrics.lts__t_sector_hit_rate.pct"] == "97.5" and row["bound"] == "memory"
    assert "| bound by | memory |" in (tmp_path / "f.md").read_text()
    assert (tmp_path / "f.svg").read_text().startswith("<svg")


def test_each_variant_has_a_column(on_gpu, ncu_commands):
    ended = on_gpu("profile -m tiled --block 8,16 -n 64 -v", table(), outcome=CORRECT)
    assert rows_of(ended.stdout)["bound by"] == ["memory", "memory"]
    assert len(ncu_commands()) == 2 and "1 of 2: tiled" in ended.stderr


def test_a_wrong_kernel_has_no_profile(on_gpu):
    ended = on_gpu(
        LINE, "==WARNING== No kernels were profiled.\n", outcome=Verdict(False, "7 elements wrong")
    )
    assert ended.status == 1 and "failed tiled" in ended.stdout and "7 elements wrong" in ended.stdout


def test_a_crashed_kernel_is_a_failed_row(on_gpu):
    ended = on_gpu(LINE, "==PROF== Connected to process 7\n", outcome=KernelError("launch failed: 700"))
    assert ended.status == 1 and "launch failed: 700" in ended.stdout


NOT_PROFILED = "==WARNING== No kernels were profiled.\n"


@pytest.mark.parametrize(
    ("stdout", "words"),
    [
        ("==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance "
         "Counters on the target device 0.\n" + NOT_PROFILED,
         ["NVreg_RestrictProfilingToAdminUsers=0", "https://developer.nvidia.com/ERR_NVGPUCTRPERM", "root"]),
        ("==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips "
         "option.\n" + NOT_PROFILED, ["not supported on device 0", "newer Nsight Compute"]),
        ("==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool "
         "(like DCGM) is concurrently collecting profiling data.\n", ["DCGM"]),
    ],
)  # fmt: skip
def test_an_error_that_prevents_all_profiling_is_one_message(on_gpu, stdout, words):
    on_gpu(LINE, "==PROF== Connected to process 7\n" + stdout, outcome=CORRECT, status=1).refused(3, *words)


@pytest.mark.parametrize(
    ("ncu", "words"),
    [
        ({"stdout": NOT_PROFILED, "outcome": CORRECT}, ["no kernel", "it printed no message (status 0)"]),
        ({"stdout": table(2), "outcome": CORRECT}, ["2 kernels"]),
        ({}, ["no kernel", "it printed no message (status 0)"]),
        ({"stdout": "\x01 garbage,\"\n,,,\n", "status": 9, "outcome": CORRECT}, ["status 9"]),
        ({"stderr": "ncu: cannot open libfoo.so\n", "status": 127}, ["cannot open libfoo.so (status 127)"]),
        ({"body": "os.kill(os.getpid(), signal.SIGSEGV)"}, ["SIGSEGV"]),
        ({"stdout": "==ERROR== Failed to prepare kernel for profiling\n" + NOT_PROFILED, "status": 1,
          "outcome": CORRECT}, ["Failed to prepare kernel"]),
        ({"stdout": table().replace("Kernel Name", "?"), "outcome": CORRECT}, ["no kernel"]),
    ],
)  # fmt: skip
def test_a_failing_ncu_is_a_failed_row_with_the_reason(on_gpu, ncu, words):
    ended = on_gpu(LINE, **ncu)
    assert ended.status == 1 and ended.stderr == ""
    assert ended.stdout.startswith("failed tiled BLOCK_SIZE=16 at 64x64x64 float32: ")
    for word in words:
        assert word in ended.stdout
    assert "Traceback" not in ended.stdout and ended.stdout.count("\n") == 1


def test_a_metric_that_the_gpu_lacks_is_left_out(on_gpu, ncu_commands):
    body = (
        "if 'dram__bytes_read.sum' in argv[argv.index('--metrics') + 1]:\n"
        "    print('==ERROR== Failed to find metric dram__bytes_read.sum'); sys.exit(1)"
    )
    ended = on_gpu(LINE, table(), outcome=CORRECT, body=body)
    assert ended.status == 0, ended.stdout
    assert len(ncu_commands()) == 2 and rows_of(ended.stdout)["bound by"] == ["memory"]


@pytest.mark.long
def test_a_hanging_ncu_is_killed_with_its_child_processes(on_gpu, tmp_path: Path):
    body = "if os.fork() == 0:\n    time.sleep(2)\n    open('outlived', 'w')\nelse: time.sleep(30)"
    start = time.monotonic()
    ended = on_gpu(LINE + "--timeout 0.5", body=body)
    assert time.monotonic() - start < 10
    assert ended.status == 1 and "no profile within 0.5 s" in ended.stdout
    time.sleep(2)
    assert not (tmp_path / "outlived").exists()


def test_an_ncu_that_cannot_be_started_is_refused(on_gpu, monkeypatch, run, tmp_path: Path):
    on_gpu(LINE, table(), outcome=CORRECT)
    (tmp_path / "broken").write_text("#!/nonexistent/interpreter\n")
    (tmp_path / "broken").chmod(0o755)
    monkeypatch.setattr(toolkit, "find_ncu", lambda nvcc: tmp_path / "broken")
    run(LINE).refused(3, "cannot be run", "broken")


def test_a_lost_device_ends_with_status_3(on_gpu):
    on_gpu(LINE, NOT_PROFILED, outcome=NoDeviceError("no GPU answers")).refused(3, "no GPU answers")


def test_without_ncu_the_message_names_sources_of_it(on_gpu, monkeypatch, run):
    on_gpu(LINE, table(), outcome=CORRECT)
    monkeypatch.setattr(toolkit, "find_ncu", lambda nvcc: None)
    run(LINE).refused(3, "Nsight Compute", "CUDA toolkit", "apt", "conda")


def test_without_a_gpu_the_message_names_other_commands(run, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run(LINE).refused(3, "GPU", "cudamm roofline", "cudamm occupancy")
    run(LINE + "--device gpu").refused(3)
    run(LINE + "--device cpu").refused(2, "CPU device", "cudamm roofline", "cudamm occupancy")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("-m numpy", ["host methods"]),
        ("-m naive,numpy", ["numpy: host methods"]),
        ("-m tild", ["did you mean tiled"]),
        ("-m tiled --block 64", ["4096 threads"]),
        ("-m tiled --dtype int4", ["unknown element type"]),
        ("-m tiled -n 0", ["at least 1"]),
        ("-m tiled --json f --csv f", ["--json and --csv"]),
        ("-m tiled -q -v", ["contradict"]),
        ("-m tiled --timeout 0", ["--timeout"]),
    ],
)
def test_a_wrong_command_line_is_refused_before_ncu_starts(on_gpu, tmp_path: Path, line, words):
    on_gpu(f"profile {line}").refused(2, *words)
    assert not (tmp_path / "ncu" / "commands").exists()
