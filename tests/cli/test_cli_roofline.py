"""`cudamm roofline`: bounds from given numbers, rates of a stand-in for a GPU, and what is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cudamm.devices.device import Ceilings, Device, DeviceInfo, Peak
from cudamm.devices.find_device import host
from cudamm.devices.gpu_device import GpuTarget
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.ladder import find

PAPER = "roofline --peak 19500 --bandwidth 1555 "
A100 = "roofline --arch sm_80 --sms 108 --clock 1410 --memory-clock 1215 --bus-width 5120 "


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def rows_of(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of a table by the row's first cell."""
    lines = [line for line in text.splitlines() if line.startswith("│")]
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def test_the_books_numbers_give_the_books_bounds(run):
    ended = run(PAPER + "-m tiled,naive --block 16")
    assert ended.status == 0 and ended.stderr == ""
    rows = rows_of(ended.stdout)
    assert rows["tiled"] == ["BLOCK_SIZE=16", "4.00", "3.97", "6220", "32%", "memory-bound"]
    assert rows["naive"] == ["BLOCK_SIZE=16", "0.250", "0.250", "389", "2.0%", "memory-bound"]
    assert rows["A and B once"] == ["", "256", "171", "19500", "100%", "compute-bound"]
    for words in ("19,500 GFLOP/s", "1,555 GB/s", "12.5 op/B", "1024 x 1024 x 1024"):
        assert words in ended.stdout
    assert "measured" not in ended.stdout


def test_every_kernel_of_the_ladder_has_a_row(run):
    rows = rows_of(run(PAPER).stdout)
    assert {"naive", "block-coarse", "register-tile", "tiled-dynamic", "double-buffer"} <= rows.keys()
    assert "numpy" not in rows and "cpu-simple" not in rows
    # The loads of these two depend on the borders of their tiles, so their bound is a question mark.
    assert [name for name, row in rows.items() if "?" in row] == ["stream-k", "bf16x9"]


def test_the_roofline_follows_from_the_clocks_of_a_gpu(run):
    document = json.loads(run(A100 + "-m tiled --block 16 --json -").stdout)
    device = document["device"]
    assert device["peak_gflops"] == 2 * 64 * 108 * 1410 / 1e3
    assert device["bandwidth_gbytes_per_s"] == 2 * 1215 * 5120 / 8 / 1e3
    assert "108 SMs" in device["peak_from"] and "5,120 bits" in device["bandwidth_from"]
    (row,) = document["results"]
    assert row["bound_gflops"] == 4 * device["bandwidth_gbytes_per_s"]
    with_bandwidth = json.loads(run("roofline --arch 8.0 --clock 1410 --bandwidth 1555 --json -").stdout)[
        "device"
    ]
    assert (with_bandwidth["peak_gflops"], with_bandwidth["bandwidth_gbytes_per_s"]) == (
        device["peak_gflops"],
        1555,
    )


def test_the_json_document_has_bytes_and_operations(run, tmp_path: Path):
    assert run(PAPER + "-m register-tile,tiled --dtype float64 -n 100 --json f.json").status == 0
    document = json.loads((tmp_path / "f.json").read_text())
    assert document["schema"] == "cudamm.roofline/1"
    assert document["device"]["ridge_intensity"] == 19500 / 1555
    tile, tiled = document["results"]
    assert tile["load_bytes"] == 2 * 100**3 // 4 * 8 and tile["store_bytes"] == 100**2 * 8
    assert tile["intensity"] == 0.5 and tile["region"] == "memory-bound"
    assert tile["compulsory_bytes"] == 2 * 100**2 * 8
    assert tiled["padded"] is True and tiled["operations"] == 2 * 100**3
    assert tiled["load_bytes"] == 2 * 128**3 // 32 * 8
    assert tiled["gflops"] is None and tiled["share_of_bound"] is None


def test_padding_is_mentioned_if_there_is_any(run):
    assert "padded with zeros" in run(PAPER + "-m tiled -n 100").stdout
    assert "padded with zeros" not in run(PAPER + "-m tiled -n 128").stdout


def test_a_users_formula_takes_the_place_of_the_count(run, kernel, monkeypatch):
    monkeypatch.setattr(
        "cudamm.analysis.counted_traffic.trace", lambda *_: pytest.fail("a kernel was traced")
    )
    kernel()
    with_traffic = run(PAPER + '--kernel my.cu --traffic "8*M*N*K,4*M*N"')
    assert rows_of(with_traffic.stdout)["my"][1:] == ["0.250", "0.250", "389", "2.0%", "memory-bound"]
    assert "not known" not in with_traffic.stdout and "trace" not in with_traffic.stdout
    kernel("declared.cu", "// grid:", "// traffic: M * N * K * (4 + 4), 4 * M * N\n// grid:")
    assert rows_of(run(PAPER + "--kernel declared.cu").stdout)["declared"][1] == "0.250"


@pytest.mark.slow
def test_a_copy_of_a_ladders_kernel_has_its_op_per_byte_without_a_formula(run, tmp_path):
    """One definition for all rows: what `trace` counts is what the header of the ladder's kernel says."""
    for name in ("coalesced", "tiled"):
        text = find(name).path.read_text("utf-8")
        (tmp_path / f"my_{name}.cu").write_text(re.sub(r"// traffic:(.*,\n//)?.*\n", "", text), "utf-8")
    kernels = "--kernel my_coalesced.cu --kernel my_tiled.cu -m coalesced,tiled"
    ended = run(f"roofline {kernels} -n 128 --gpu a100")
    rows = rows_of(ended.stdout)
    assert "my-coalesced, my-tiled: the CPU device counted the bytes" in ended.stdout
    assert rows["my-coalesced"] == rows["coalesced"] and rows["my-tiled"] == rows["tiled"]
    assert "op/B, in every row: operations per byte that the threads load" in ended.stdout


@pytest.mark.slow
def test_without_a_formula_the_bytes_of_a_users_kernel_are_counted(run, kernel):
    kernel()
    ended = run("roofline my.cu -n 64 --gpu 'RTX 3090' --json f.json")
    assert ended.status == 0 and ended.stderr == ""
    assert "GeForce RTX 3090, 82 SMs" in ended.stdout and "GA102 architecture whitepaper" in ended.stdout
    assert "my: the CPU device counted the bytes, as cudamm trace does" in ended.stdout
    (row,) = json.loads(Path("f.json").read_text())["results"]
    (traced,) = json.loads(run("trace my.cu -n 64 --json -").stdout)["variants"]
    requested = [traced[f"global_{op}s"]["bytes_requested"] for op in ("load", "store")]
    assert [row["load_bytes"], row["store_bytes"]] == requested
    assert row["bytes_from"] == "trace" and row["intensity"] == 2 * 64**3 / row["load_bytes"]
    assert row["bound_gflops"] == row["intensity"] * 936


@pytest.mark.slow
def test_if_bytes_cannot_be_counted_the_reason_is_printed(run, kernel):
    kernel("broken.cu", "float sum = 0;", "float sum = undeclared;")
    ended = run("roofline broken.cu -n 64 --gpu a100")
    assert ended.status == 0 and rows_of(ended.stdout)["broken"][1] == "?"
    assert "broken: the bytes that its threads load are not known (" in ended.stdout
    assert "undeclared" in ended.stdout and "--traffic" in ended.stdout


def test_a_named_gpu_has_a_peak_for_each_floating_point_type(run):
    line = "roofline --gpu V100 -m naive -n 64 --json - "
    single, double = (json.loads(run(line + f"--dtype {t}").stdout)["device"] for t in ("float32", "float64"))
    assert (single["peak_gflops"], double["peak_gflops"]) == (15667.2, 7833.6)
    assert single["bandwidth_gbytes_per_s"] == 900 and "V100 data sheet" in single["bandwidth_from"]
    assert "float64 lanes" in double["peak_from"]


def test_a_named_gpu_has_peaks_of_its_tensor_cores(run):
    ended = run("roofline --gpu h100 -m naive --dtype float64 --dtype float16 -n 8192")
    for line in (
        r"peak of float64 FMA +33,454\.1 GFLOP/s",
        r"peak of float64 tensor cores +66,908\.2 GFLOP/s",
        r"peak of float16 tensor cores +989,429\.8 GFLOP/s  2 x 2,048 .* x 1,830 MHz, .*H100.* whitepaper",
        r"ridge of float64 tensor cores +20\.0 op/B",
    ):
        assert re.search(line, ended.stdout), line


@pytest.mark.parametrize(
    ("gpu", "line", "published_tflops"),
    [
        ("a100", "naive --dtype bfloat16", 312), ("a100", "mma-tf32 --dtype tf32", 156),
        ("h100", "mma-tf32 --dtype tf32", 495), ("h100", "float8 --dtype float8_e4m3", 1979),
        ("h200", "float8 --dtype float8_e4m3", 1979), ("rtx4090", "naive --dtype float8_e4m3", 330),
    ],
)  # fmt: skip
def test_peaks_of_tensor_cores_are_those_that_nvidia_publishes(run, gpu, line, published_tflops):
    """Without sparsity, by the whitepapers on the A100, the H100 and Ada; sums in float32."""
    ended = run(f"roofline --gpu {gpu} -m {line} --json -")
    assert ended.status == 0, ended.stderr
    (peak,) = json.loads(ended.stdout)["device"]["peaks"]
    assert peak["unit"] == "tensor cores"
    assert peak["gflops"] / 1e3 == pytest.approx(published_tflops, rel=0.002)


def test_a_type_that_the_tensor_cores_of_a_gpu_lack_has_no_peak(run):
    run("roofline --gpu a100 -m naive --dtype float8_e4m3").refused(2, "no peak of float8_e4m3", "--peak")


def test_the_least_traffic_has_a_row_for_each_kind_of_units(run):
    ended = run("roofline --gpu h100 -m naive,dmma --dtype float64 -n 8192")
    once = [line.split("│")[2:6:3] for line in ended.stdout.splitlines() if "A and B once │" in line]
    assert [[cell.strip() for cell in row] for row in once] == [["FMA", "33454"], ["tensor cores", "66908"]]


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("line", [PAPER, A100 + "-m register-tile,tiled-coarse"])
def test_tables_fit_the_terminal(on_terminal, columns, line):
    shown = on_terminal(line, COLUMNS=str(columns), NO_COLOR="1").stdout
    text = re.sub(r"\x1b\[[\d;]*m", "", shown)
    table = [
        line for line in text.splitlines() if not line.startswith(("op/B", "of th", "stream-k: ", "bf16x9: "))
    ]
    assert max(map(len, table)) <= columns
    (row,) = [line for line in table if line.strip("│ ").startswith("register-tile")]
    assert "…" not in row
    assert "1555" in text and "8.0%" in row and "memory" in row
    assert "TILE_SIZE=4" in text and "A and B once" in text


def test_on_the_cpu_device_no_rate_is_measured(run):
    ended = run(PAPER + "--device cpu -m naive")
    assert ended.status == 0
    assert "times on the CPU device are not those of a GPU" in ended.stderr
    assert "389" in ended.stdout


def test_without_a_gpu_the_message_names_the_missing_options(run):
    run("roofline -m naive").refused(3, "--peak", "--bandwidth", "no GPU")
    run("roofline -m naive --theoretical").refused(3, "--peak")
    run("roofline -m naive --device gpu").refused(3)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--device cpu", ["CPU device", "--peak", "--bandwidth"]),
        ("--peak 19500", ["--bandwidth"]),
        ("--gpu a1000000", ["unknown GPU", "rtx3090", "h100", "--arch sm_75 --sms 24"]),
        ("--gpu ''", ["unknown GPU"]),
        ("--gpu a100 --gpu t4", ["one GPU", "a100, t4"]),
        ("--gpu a100,t4", ["one GPU", "a100, t4"]),
        ("--gpu a100 --arch sm_80 --clock 1 --bandwidth 1", ["--gpu", "--arch"]),
        ("--gpu a100 --peak 1 --bandwidth 1", ["--gpu", "--peak"]),
        ("--gpu a100 --theoretical", ["--gpu", "--theoretical"]),
        ("--gpu gtx1080 -m naive --dtype int32", ["int32", "--peak"]),
        ("--gpu gtx1080 -m naive --dtype float16", ["float16", "--peak"]),
        ("--gpu gtx1080 -m naive --dtype float32 --dtype int32", ["int32", "--peak"]),
        ("--bandwidth 1555", ["--peak"]),
        ("--peak 0 --bandwidth 1", ["--peak"]),
        ("--peak nan --bandwidth 1", ["--peak"]),
        ("--peak inf --bandwidth 1", ["--peak"]),
        ("--peak 1 --bandwidth -1", ["--bandwidth"]),
        ("--peak many --bandwidth 1", ["--peak", "many"]),
        ("--peak 1 --bandwidth 1 --theoretical", ["--theoretical"]),
        ("--peak 1 --bandwidth 1 --sms 4", ["--sms", "--arch"]),
        ("--clock 1410", ["--clock", "--arch"]),
        ("--arch sm_80", ["--gpu", "--clock", "--memory-clock", "--bus-width"]),
        ("--arch sm_80 --clock 1410 --memory-clock 1215", ["--bus-width"]),
        ("--arch sm_80 --clock 1410 --bandwidth 1555 --bus-width 5120", ["--bus-width", "--bandwidth"]),
        ("--arch sm_80 --clock 1410 --bandwidth 1555 --peak 19500", ["--peak", "--arch"]),
        ("--arch sm_80 --clock 1410 --bandwidth 1555 --device gpu", ["--arch", "--device"]),
        ("--arch sm_81 --clock 1410 --bandwidth 1555", ["sm_81", "sm_80"]),
        ("--arch all --clock 1410 --bandwidth 1555", ["one GPU"]),
        (
            "-m naive --arch sm_86 --clock 1695 --bandwidth 936 --dtype float16",
            ["float16", "--peak"],
        ),
        ("--gpu t4 -m dmma", ["dmma needs sm_80"]),
        ("--arch sm_80 --clock 1410 --bandwidth 1555 -m bf16x9", ["bf16x9 runs on sm_90 only"]),
        ("--peak 1 --bandwidth 1 -m numpy", ["host"]),
        ("--peak 1 --bandwidth 1 -m tiled --block 64", ["4096 threads", "a GPU allows 1024"]),
        ("--peak 1 --bandwidth 1 --block auto", ["--block auto"]),
        ("--peak 1 --bandwidth 1 -m tild", ["did you mean tiled"]),
        ("--peak 1 --bandwidth 1 -n 0", ["at least 1"]),
        ("--peak 1 --bandwidth 1 --traffic 1,1", ["--traffic", "--kernel"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --traffic 8*M", ["1 number", "two"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --traffic M,N,K", ["3 numbers", "two"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --traffic X,N", ["unknown name X"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --traffic M//0,N", ["divides by zero"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --traffic ''", ["--traffic", "empty"]),
        ("--peak 1 --bandwidth 1 --kernel my.cu --dtype int32", ["float32", "int32"]),
        ("--peak 1 --bandwidth 1 --device gpx", ["gpx"]),
        ("--peak 1 --bandwidth 1 --json no/such/folder/f.json", ["--json"]),
    ],
)
def test_a_wrong_command_line_is_refused(run, kernel, line, words):
    kernel()
    run(f"roofline {line}").refused(2, *words)


class _Gpu(GpuTarget, Device[Any]):
    """A stand-in for a GPU: the CPU device with the times and ceilings that a test chooses."""

    def __init__(self, milliseconds: float, ceilings: Ceilings, other_peaks: tuple[Peak, ...]) -> None:
        clocks = {"clock_mhz": 1410, "memory_clock_mhz": 1215, "memory_bus_bits": 5120}
        info = DeviceInfo("gpu", "gpu:0", "a test's GPU", clocks)
        super().__init__(info, host().limits, find_architecture("sm_80"))
        self.milliseconds, self._ceilings, self._other_peaks = milliseconds, ceilings, other_peaks

    def compile(self, program: Any) -> Any:
        return host().compile(program)

    def open(self, *arguments: Any) -> Any:
        run = host().open(*arguments)
        launch = run.launch
        run.launch = lambda descending=False: launch(descending) * 0 + self.milliseconds
        return run

    def ceilings(self) -> Ceilings:
        return self._ceilings

    def other_peaks(self) -> tuple[Peak, ...]:
        return self._other_peaks

    def free_bytes(self) -> int:
        return host().free_bytes()


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch, run: Any) -> Any:
    """Return a function that runs a command line with a stand-in for a GPU; each launch takes 1 ms."""

    def run_there(line: str, ceilings: Ceilings, other_peaks: tuple[Peak, ...] = ()) -> Any:
        executor = InProcessExecutor(_Gpu(1.0, ceilings, other_peaks))
        monkeypatch.setattr(
            "cudamm.execution.worker_executor.WorkerExecutor", lambda spec, timeout_s: executor
        )
        return run(line)

    return run_there


MEASURED = "roofline --runs 3 -m naive,tiled --block 8 -n 64 "
RATE = 2 * 64**3 / 1e6
"""GFLOP/s of a launch that takes 1 ms."""


def test_measured_rates_stand_beside_their_bounds(on_gpu):
    # At 1 GB/s, 0.25 op/B allow 0.25 GFLOP/s and 2 op/B allow 2 GFLOP/s. The peak is 5 GFLOP/s.
    ended = on_gpu(MEASURED, Ceilings(5, 1))
    assert ended.status == 0, ended.stderr
    rows = rows_of(ended.stdout)
    assert rows["naive"][1:] == [
        "0.250",
        "0.248",
        "0.250",
        "5.0%",
        "0.524",
        "210%",
        "10%",
        "memory-bound",
    ]
    assert rows["tiled"][1:] == ["2.00", "1.88", "2.00", "40%", "0.524", "26%", "10%", "memory-bound"]
    assert list(rows) == ["naive", "tiled", "A and B once"]
    assert "L2 cold" in ended.stdout and "on a test's GPU" in ended.stdout
    above = [line for line in ended.stdout.splitlines() if "came from caches" in line]
    assert len(above) == 1
    for words in ("naive BLOCK_SIZE=8", "load 2 GB/s", "2.1 times", "at least 52%"):
        assert words in above[0]


def test_a_rate_above_the_compulsory_bound_is_reported(on_gpu):
    # Such a rate is possible, because all data can be in a hot cache.
    ended = on_gpu(MEASURED + "--hot", Ceilings(5, 0.02))
    assert ended.status == 0, ended.stderr
    assert "the bound of “A and B once”" in ended.stdout and "L2 hot" in ended.stdout


def test_measured_rows_have_the_fields_of_bench_and_their_bounds(on_gpu):
    document = json.loads(on_gpu(MEASURED + "--json -", Ceilings(5, 1)).stdout)
    assert document["device"]["peak_gflops"] == 5 and "measured" in document["device"]["peak_from"]
    for row, intensity in zip(document["results"], (0.25, 2.0), strict=True):
        assert row["samples_ms"] == [1.0] * 3 and row["correct"] is True and row["cache"] == "cold"
        assert row["gflops"] == pytest.approx(RATE)
        assert row["share_of_bound"] == pytest.approx(RATE / intensity)
        assert row["share_of_compulsory_bound"] == pytest.approx(RATE / 5)


def test_a_theoretical_roofline_follows_from_the_clocks_of_the_gpu(on_gpu):
    document = json.loads(on_gpu(MEASURED + "--theoretical --json -", Ceilings(5, 1)).stdout)
    assert document["device"]["peak_gflops"] == 2 * 64 * 108 * 1410 / 1e3
    assert document["device"]["bandwidth_gbytes_per_s"] == 2 * 1215 * 5120 / 8 / 1e3
    assert document["results"][0]["gflops"] == pytest.approx(RATE)


def test_theoretical_peaks_of_tensor_cores_follow_from_the_clock(on_gpu):
    line = "roofline --runs 3 -n 64 --theoretical --json - -m "
    (peak,) = json.loads(on_gpu(line + "tiled --dtype bfloat16", Ceilings(5, 1)).stdout)["device"]["peaks"]
    assert (peak["unit"], peak["gflops"]) == ("tensor cores", 2 * 1024 * 108 * 1410 / 1e3)
    peaks = json.loads(on_gpu(line + "tiled --dtype float64", Ceilings(5, 1)).stdout)["device"]["peaks"]
    assert [peak["gflops"] for peak in peaks] == [2 * 32 * 108 * 1410 / 1e3, 2 * 64 * 108 * 1410 / 1e3]


def test_types_other_than_float32_need_a_given_peak(on_gpu):
    # The measured peak is that of float32.
    line = MEASURED + "--dtype float64 "
    on_gpu(line, Ceilings(5, 1)).refused(2, "float64", "--peak")
    document = json.loads(
        on_gpu(line + "--device gpu --peak 4 --bandwidth 2 --json -", Ceilings(5, 1)).stdout
    )
    naive = document["results"][0]
    assert (naive["intensity"], naive["bound_gflops"]) == (0.125, 0.25)
    assert naive["gflops"] == pytest.approx(RATE)


@pytest.mark.slow
def test_measured_tensor_cores_are_the_roof_of_methods_that_use_them(on_gpu):
    peaks = (
        Peak("FMA", "float64", 2, "measured: float64 multiply-adds from registers", 1980),
        Peak("tensor cores", "float64", 4, "measured: float64 mma.sync m8n8k4 from registers", 1755),
    )
    line = "roofline --runs 3 -m tiled,dmma --block 8 -n 64 --dtype float64"
    ended = on_gpu(f"{line} --json f.json", Ceilings(5, 10, 1980), peaks)
    assert ended.status == 0, ended.stderr
    assert "measured: float64 multiply-adds from registers, at 1,980 MHz" in ended.stdout
    assert "measured: float64 mma.sync m8n8k4 from registers, at 1,755 MHz" in ended.stdout
    document = json.loads(Path("f.json").read_text())
    assert [peak["clock_mhz"] for peak in document["device"]["peaks"]] == [1980, 1755]
    tiled, dmma = document["results"]
    assert (tiled["unit"], tiled["share_of_compulsory_bound"]) == ("FMA", pytest.approx(RATE / 2))
    assert (dmma["unit"], dmma["share_of_compulsory_bound"]) == ("tensor cores", pytest.approx(RATE / 4))


def test_a_wrong_formula_is_refused_before_any_launch(on_gpu, kernel, monkeypatch):
    kernel()
    monkeypatch.setattr(InProcessExecutor, "verify", lambda *_: pytest.fail("a kernel was launched"))
    on_gpu("roofline --kernel my.cu --traffic X,N", Ceilings(5, 1)).refused(2, "unknown name X")


def test_a_wrong_kernel_has_no_rate_and_is_a_failure(on_gpu, kernel):
    kernel("wrong.cu", "float sum = 0;", "float sum = 1;")
    ended = on_gpu(MEASURED + "--kernel wrong.cu", Ceilings(5, 1))
    assert ended.status == 1
    assert rows_of(ended.stdout)["wrong"][5:8] == ["", "", ""]
    assert "failed wrong" in ended.stdout
