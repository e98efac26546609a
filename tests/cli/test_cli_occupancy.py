"""`cudamm occupancy` of kernels and of bare numbers, for GPUs that need not be installed."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import platform
import re
import subprocess

import pytest

from cudamm.compile import nvcc_compiler
from cudamm.compile.program import program
from cudamm.errors import NoDeviceError
from cudamm.kernels.architecture import ARCHITECTURES
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Parameter
from cudamm.kernels.variant import variants
from cudamm.occupancy import configurations

BARE = "occupancy --arch sm_86 --threads 256 --registers 37 --shared 5000 "
MY_KERNEL = "occupancy --arch sm_86 --kernel my.cu "
NO_LIMIT = 2**31 - 1
"""Blocks per multiprocessor that a resource allows that a kernel does not use."""
BODY = "C[threadIdx.x] = A[0] * M;"
# The kernel spills registers and uses a second barrier and every kind of memory.
RICH_BODY = """
    extern __shared__ float dynamic[];
    __shared__ float fixed[100];
    float live[W], array[100], sum = table[K];
    for (int i = 0; i < 100; ++i) array[i] = A[i * N];
    for (int i = 0; i < W; ++i) live[i] = A[i * M + threadIdx.x];
    dynamic[threadIdx.x] = fixed[threadIdx.x] = A[threadIdx.x];
    asm volatile("bar.sync 1, 64;");
    __syncthreads();
    for (int k = 0; k < K; ++k)
        for (int i = 0; i < W; ++i) live[i] = live[i] * live[(i + 1) % W] + dynamic[k] * array[k % 100];
    for (int i = 0; i < W; ++i) sum += live[i] * fixed[i];
    C[threadIdx.x] = sum;
"""
CALLED_FUNCTION = """
__device__ __noinline__ float f(const float *A, int n) {
    float array[256];
    #pragma unroll 1
    for (int i = 0; i < 256; ++i) array[i] = A[i * n];
    return array[n % 256];
}
__constant__ float (*functions[2])(const float *, int) = {f, f};
"""


@pytest.fixture
def mine(write_kernel, needs_nvcc):
    """Return a function that writes a user's kernel with these header fields and this body."""

    def write(*fields, body=BODY, before="", bounds="", name="my.cu"):
        header = "\n".join(f"// {field}" for field in fields or ("threads: 64", "grid: ceil(M / 64)"))
        arguments = "int M, int N, int K, const float *A, const float *B, float *C"
        kernel = f"{before}\n__global__ void {bounds} mine({arguments}) {{ {body} }}\n"
        return write_kernel(f"// Mine.\n//\n{header}\n\n{kernel}", name)

    return write


def raise_no_device(*_):
    raise NoDeviceError("it was not found")


# The third case: a warp needs 37 x 32 = 1184 registers, allocated as 1280 in units of 256. The 16384
# registers of a partition hold 12 warps, so four partitions hold 48 warps, which are 6 blocks. A block needs
# 5000 bytes of shared memory and the driver's 1024, allocated as 6144 in units of 128.
@pytest.mark.parametrize(
    ("options", "blocks", "warps", "limited_by"),
    [
        ("--arch sm_10 --threads 256 --registers 10", 3, 24, ["warps", "registers"]),  # these two are SJTU's
        ("--arch sm_10 --threads 256 --registers 11", 2, 16, ["registers"]),
        ("--arch 8.6 --threads 256 --registers 37 --shared 5000", 6, 48, ["warps", "registers"]),
        ("--arch SM86 --threads 32 --registers 16", 16, 16, ["blocks"]),
        ("--arch sm_90 --threads 1000 --registers 64", 1, 32, ["registers"]),
        ("--arch sm_90a --threads 32 --barriers 5", 12, 12, ["barriers"]),  # 64 barriers
        ("--arch sm_75 --threads 128 --registers 32 --shared 20000", 3, 12, ["shared"]),
        ("--arch sm_60 --threads 320 --registers 40", 5, 50, ["registers"]),  # 2 x (32768 // 1280) warps
        ("--arch sm_61 --threads 320 --registers 40", 4, 40, ["registers"]),  # 4 x (16384 // 1280)
        (
            "--arch sm_86 --threads 32 --carveout 0 --shared 100",
            7,
            7,
            ["shared"],
        ),  # 8 KB hold 7 times 1152 bytes
    ],
)
def test_occupancy_is_that_computed_by_hand(run, options, blocks, warps, limited_by):
    (record,) = run(f"occupancy {options} --json -").records
    assert (record["active_blocks"], record["active_warps"]) == (blocks, warps)
    assert record["limited_by"] == limited_by
    threads = blocks * record["threads_per_block"]
    architecture = ARCHITECTURES[record["arch"].rstrip("a")]
    assert record["active_threads"] == threads
    assert record["occupancy"] == pytest.approx(warps * 32 / architecture.threads)
    assert record["device_occupancy"] == pytest.approx(threads / architecture.threads)


def test_the_record_and_the_printed_sheet_agree(run):
    ended = run(BARE + "--grid 100,10 --json -")
    assert ended.stderr == "" and json.loads(ended.stdout)["schema"] == "cudamm.occupancy/1"
    (record,) = ended.records
    given = {"threads_per_block": 256, "registers_per_thread": 37, "shared_bytes_per_block": 5000}
    assert ({"arch": "sm_86", "method": None, "params": {}} | given).items() <= record.items()
    assert record["limits"] == {"warps": 6, "blocks": 16, "registers": 6, "shared": 16, "barriers": NO_LIMIT}
    assert record["waves"] == pytest.approx(1000 / (6 * 82))
    rows = [line.split("│") for line in run(BARE + "--grid 100,10").stdout.splitlines() if "│" in line]
    shown = {label.strip(): cell.strip() for _, label, cell, _ in rows}
    assert (shown["registers allocated per block"], shown["allocated in total"]) == ("10,240", "6,144")
    assert (shown["active blocks per SM"], shown["active warps per SM"], shown["waves"]) == (
        "6",
        "48",
        "2.03",
    )
    assert (shown["occupancy"], shown["by registers"], shown["by barriers"]) == ("100%", "6", "-")


def test_bare_numbers_need_no_compiler_and_no_process(run, monkeypatch):
    platform.platform()  # Python asks `uname` once for each process
    monkeypatch.setattr(nvcc_compiler, "nvcc", raise_no_device)
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setenv("CUDAMM_CACHE", "/proc/nowhere")
    assert run(BARE + "--why --ilp --curves").status == 0
    rows = run("occupancy --arch sm_86 --arch all --arch 8.6 --threads 64 --json -").records
    assert [row["arch"] for row in rows] == ["sm_86", *(name for name in ARCHITECTURES if name != "sm_86")]
    run("occupancy --arch sm_86 -m tiled").refused(3, "not found", "need no compiler")


def test_bare_numbers_beside_a_file_are_refused_with_the_command_that_answers(run):
    run("occupancy --arch sm_86 mine.cu --registers 64").refused(
        2,
        "leave out mine.cu",
        "cudamm occupancy mine.cu prints",
        "--threads 256 --registers 64 --shared 2048",
    )


def test_lists_and_ranges_make_every_combination(run):
    line = "occupancy --arch sm_86 --threads {} --registers 16,37,255 --shared {} --json -"
    rows = run(line.format("32:1024:32", "0,8")).records
    found = [(r["threads_per_block"], r["registers_per_thread"], r["shared_bytes_per_block"]) for r in rows]
    assert found == [(t, r, s) for t in range(32, 1025, 32) for r in (16, 37, 255) for s in (0, 8)]
    rows = run(line.format("1:1024:*4", "'max(8 * threads, 100)'")).records[::3]
    assert [row["shared_bytes_per_block"] for row in rows] == [100, 100, 128, 512, 2048, 8192]


def test_of_many_configurations_the_table_shows_forty_and_the_file_contains_all(run, tmp_path):
    line = "occupancy --arch sm_86 --threads 32:1024:32 --registers 0:255 {} --json all.json"
    ended = run(line.format(""))
    rows = json.loads((tmp_path / "all.json").read_text())["results"]
    assert len(rows) == 32 * 256 == 8192
    full = sum(row["occupancy"] == 1 for row in rows)
    assert "… and 8,152 more" in ended.stdout
    assert f"{full:,} of all 8,192 have the highest occupancy, 100%" in ended.stdout
    run(line.format("--shared 0:12000:2")).refused(2, "configurations are more than 2,000,000")


def test_a_configuration_that_cannot_run_is_a_row_with_the_reason(run):
    ended = run("occupancy --arch sm_86 --threads 288 --registers 255 --json -")
    (record,) = ended.records
    assert ended.status == 0 and (record["active_blocks"], record["occupancy"]) == (0, 0)
    assert (
        "9 warps of 255 registers per thread, spread evenly over 4 partitions, take 98,304"
        in record["reason"]
    )
    for given, reason in (
        ("--threads 1024", "1,024 threads per block; sm_10 allows 512"),
        ("--threads 64 --registers 128", "128 registers per thread; sm_10 allows 124"),
        ("--threads 64 --shared 20000", "20,000 bytes of shared memory per block; sm_10 allows 16,384"),
    ):
        old, new = run(f"occupancy --arch sm_10 --arch sm_86 {given} --json -").records
        assert (old["active_blocks"], old["reason"], new["reason"]) == (0, reason, "")


def test_independent_instructions_hide_latency_like_more_warps(run):
    """SJTU: 4 instructions x 4 cycles x 24 warps are 384 cycles, fewer than 400; 8 x 4 x 16 are 512."""
    rows = run("occupancy --arch sm_10 --threads 256 --registers 10,11 --ilp 4,8 --json -").records
    found = [[(x["hidden_cycles"], x["covered"]) for x in row["latency"]] for row in rows]
    assert found == [[(384, False), (768, True)], [(256, False), (512, True)]]
    assert [row["latency"][0]["independent_needed"] for row in rows] == [5, 7]
    run("occupancy --arch sm_50 --threads 32 --ilp").refused(2, "sm_50", "--load-cycles")
    exact = run(BARE + "--ilp 5 --load-cycles 168 --instruction-cycles 0.7 --json -").records[0]["latency"][0]
    assert exact["hidden_cycles"] == 168 and exact["covered"]


def test_the_suggested_block_size_fills_a_multiprocessor(run, needs_nvcc):
    (bare,) = run("occupancy --arch sm_86 --registers 37 --suggest --json -").records
    (kernel,) = run("occupancy --arch sm_86 -m tiled-dynamic --suggest --sms 10 --json -").records
    for record, sms in ((bare, 82), (kernel, 10)):
        # 768 is the largest block size that divides the 1536 threads of a multiprocessor.
        suggestion = record["suggestion"]
        assert (suggestion["threads_per_block"], suggestion["min_grid_blocks"]) == (768, 2 * sms)
        assert (suggestion["rounded_threads"], suggestion["block_edge"], record["threads_per_block"]) == (
            256,
            16,
            256,
        )
    assert kernel["params"] == {"BLOCK_SIZE": 16}
    old, new = run("occupancy --arch sm_10 --arch sm_86 --registers 200 --suggest --json -").records
    assert (old["active_blocks"], new["reason"]) == (0, "") and "124" in old["reason"]


@pytest.mark.slow
def test_a_block_size_that_is_compiled_in_is_the_only_suggestion(run, needs_nvcc):
    records = run("occupancy --arch sm_90 -m tile-1d,tile-2d --suggest --json -").records
    assert len(records) == 2
    for record in records:
        threads = record["threads_per_block"]
        assert record["suggestion"]["threads_per_block"] == threads
        assert record["suggestion"]["chosen_from"] == f"compiled: {threads}"


def test_why_names_the_change_that_raises_the_occupancy(run):
    shown = run("occupancy --arch sm_86 --threads 256 --registers 37,255 --shared 5000 --why").stdout
    assert "5,000 bytes on sm_86: the occupancy is full: an SM has room for 48 warps" in shown
    assert (
        "with 128 registers per thread (now 255), 2 blocks fit (now 1): 33.3% occupancy (now 16.7%); "
        "__launch_bounds__(256, 2) before the kernel's name, or nvcc -maxrregcount=128" in shown
    )
    (record,) = run("occupancy --arch sm_86 --threads 256 --shared 17000 --why --json -").records
    # 102400 // 18048 blocks. A sixth block could have 17024 bytes, 1024 of them for the driver.
    assert record["active_blocks"] == 5
    assert record["steps"][0]["shared_bytes_per_block"] == 16000


WIDE = """
__global__ void wide(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}
int main() {
    const int n = 512;
    float *a, *b, *c;
    cudaMalloc(&a, n * n * 4); cudaMalloc(&b, n * n * 4); cudaMalloc(&c, n * n * 4);
    wide<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(a, b, c, n);
    cudaDeviceSynchronize();
}
"""


@pytest.mark.slow
def test_why_proposes_only_blocks_that_the_kernel_can_have(run, needs_nvcc, tmp_path):
    line = "occupancy --arch sm_86 -m tiled,tile-2d --block 8,32 --why --json -"
    small, large, tile = (record["steps"] for record in run(line).records)
    assert [step["params"] for step in small if step["threads_per_block"]] == [{"BLOCK_SIZE": 16}]
    assert [step["params"] for step in large if step["threads_per_block"]] == [{"BLOCK_SIZE": 16}]
    assert tile and not any(step["threads_per_block"] for step in tile)  # BM * BN / (TM * TN) threads
    (sixteen,) = run("occupancy --arch sm_86 -m tiled --block 16 --json -").records
    assert all(step["occupancy"] == sixteen["occupancy"] for step in (*small, *large))


@pytest.mark.slow
def test_why_says_that_the_launch_has_to_change_if_it_fixes_the_block(run, needs_nvcc, tmp_path):
    (tmp_path / "wide.cu").write_text(WIDE)
    ended = run("occupancy wide.cu --arch sm_86 --why")
    assert (
        "blocks of 16 x 16 threads (now 1024 threads) would give 100% occupancy (now 66.7%)" in ended.stdout
    )
    assert "the launch fixes the block: change it there" in ended.stdout and "768" not in ended.stdout
    (tmp_path / "rows.cu").write_text(
        WIDE.replace("dim3(n / 32, n / 32), dim3(32, 32)", "dim3(n / 96 + 1, n), 96")
    )
    (record,) = run("occupancy rows.cu --arch sm_90 --why --json -").records
    assert all(step["threads_per_block"] % 32 == 0 for step in record["steps"])


def test_resources_are_those_that_the_compiler_reports(run, mine):
    header = ("param: BLOCK_SIZE = 64", "threads: BLOCK_SIZE", "grid: 1", "shared-bytes: 4 * BLOCK_SIZE")
    before, bounds = "__constant__ float table[777];", "__launch_bounds__(256, 8)"
    path = mine(*header, body=RICH_BODY, before=before, bounds=bounds)
    ended = run("occupancy --arch sm_80 --kernel my.cu -D W=64 --block 64,512 --json -")
    record, too_large = ended.records
    (variant,) = variants(read_method(path, Overrides({}, (Parameter("W", 64, (64,)),))), {})
    compiled = nvcc_compiler.compile_for_gpu(program(variant, ELEMENT_TYPES["float32"], True), "sm_80")
    for field, minimum in (
        ("registers_per_thread", 32),
        ("spill_store_bytes", 4),
        ("spill_load_bytes", 4),
        ("local_bytes_per_thread", 400),
        ("barriers", 2),
    ):
        assert record[field] == getattr(compiled.resources, field) >= minimum
    assert (record["static_shared_bytes"], record["dynamic_shared_bytes"]) == (400, 256)
    assert (record["constant_bytes"], record["max_threads_per_block"]) == (4 * 777, 256)
    assert (record["shared_bytes_per_block"], record["active_blocks"]) == (656, 32)
    assert (ended.status, too_large["active_blocks"]) == (1, 0)
    assert too_large["reason"] == "512 threads per block; its __launch_bounds__ allow 256"


def test_local_memory_of_called_functions_is_counted(run, mine):
    mine(body="C[threadIdx.x] = functions[M](A, N);", before=CALLED_FUNCTION)
    (record,) = run(MY_KERNEL + "--json -").records
    assert record["local_bytes_per_thread"] >= 1024 and record["spill_store_bytes"] > 0


def test_each_problem_size_has_its_own_row(run, needs_nvcc):
    rows = run("occupancy --arch sm_90 -m naive --block 32 -n 64 -n 100x50x30 --json -").records
    assert [(row["dtype"], row["grid_blocks"]) for row in rows] == [("float32", 4), ("float32", 2 * 4)]
    assert [(row["m"], row["n"], row["k"]) for row in rows] == [(64, 64, 64), (100, 50, 30)]


@pytest.mark.slow
def test_architectures_are_limited_to_those_that_nvcc_supports(run, monkeypatch, needs_nvcc):
    monkeypatch.setattr(importlib.import_module("cudamm.devices.find_device"), "find_gpu", raise_no_device)
    nvcc = dataclasses.replace(nvcc_compiler.nvcc(), architectures=("sm_80", "sm_90"))
    monkeypatch.setattr(nvcc_compiler, "nvcc", lambda: nvcc)
    for options in ("", "--json -"):
        ended = run(f"occupancy -m tiled --block 32 {options}")
        assert ended.status == 0 and "sm_80" in ended.stdout
        assert re.fullmatch(r"cudamm: no GPU here, so results are for sm_80 \(A100.*\n", ended.stderr)
    rows = run("occupancy --arch sm_90 --arch all --arch 9.0 -m tiled --block 32 --json -").records
    assert [row["arch"] for row in rows] == ["sm_90", "sm_80"]
    run("occupancy --arch sm_100 -m tiled").refused(3, "for sm_100, only for sm_80, sm_90", "--threads")
    ended = run("occupancy --gpu b200,a100 -m tiled --block 32")
    assert ended.status == 0 and "Occupancy on sm_80 (A100" in ended.stdout
    assert re.search(r"left out: sm_100 \(B200.*\), for which nvcc cannot compile", ended.stderr)


@pytest.mark.slow
def test_a_gpu_before_those_that_nvcc_supports_has_an_estimate_of_registers(run, needs_nvcc):
    ended = run("occupancy --gpu v100,a100 -m tiled --block 32 --json -")
    v100, a100 = ended.records
    assert (v100["arch"], v100["compiled_for"]) == ("sm_70", "sm_80") and "compiled_for" not in a100
    assert v100["registers_per_thread"] == a100["registers_per_thread"]
    assert v100["reserved_shared_bytes_per_block"] == 0 < a100["reserved_shared_bytes_per_block"]
    ended = run("occupancy --gpu v100 -m tiled --block 32")
    estimate = r"registers are an estimate: nvcc \d.* cannot compile for sm_70.*for sm_80"
    assert re.search(estimate, ended.stdout.replace("\n", " ")) and "estimate" not in ended.stderr


def test_a_gpu_that_cannot_be_used_is_reported(run, monkeypatch):
    monkeypatch.setattr(importlib.import_module("cudamm.devices.find_device"), "find_gpu", raise_no_device)
    for left_out, message in ((True, r"no GPU is used \(it was not found\)"), (False, "no GPU here")):
        monkeypatch.setattr(
            importlib.import_module("cudamm.devices.find_device"),
            "is_left_out",
            functools.partial(bool, left_out),
        )
        ended = run("occupancy --threads 64")
        assert ended.status == 0
        assert re.match(rf"cudamm: {message}, so results are for sm_80", ended.stderr)


def test_a_suggestion_is_chosen_from_the_given_block_sizes(run, needs_nvcc):
    for given in ("--block 8,16", "-D BLOCK_SIZE=8,16"):
        (record,) = run(f"occupancy --arch sm_86 -m tiled-dynamic --suggest {given} --json -").records
        assert record["suggestion"]["threads_per_block"] == record["threads_per_block"] == 256
        assert record["suggestion"]["chosen_from"] == "given: 64, 256"
    run("occupancy --arch all --suggest --registers 0:255 --shared 0:9999").refused(
        2, "74,240,000 configurations"
    )


def test_a_kernel_for_some_architectures_only_fails_on_the_others(run, mine):
    mine(
        "threads: 64", "grid: 1", "shared-bytes: 150000",
        before="#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n#error not for Hopper\n#endif",
    )  # fmt: skip
    too_little, runs, no_code = run(MY_KERNEL + "--arch sm_80 --arch sm_90 --json -").records
    assert (runs["active_blocks"], too_little["active_blocks"]) == (1, 0)
    assert "150,000 bytes of shared memory" in too_little["reason"] and "101,376" in too_little["reason"]
    assert "not for Hopper" in no_code["reason"]


def test_the_tail_effect_is_reported_if_the_last_wave_is_small(run):
    shown = run(BARE + "--grid 1000").stdout
    assert (
        "the grid needs 2.03 waves. The last wave has only 16 of 492 blocks" in shown
        and "67.8% of the time is used" in shown
    )
    for launch, tail in (("1", 1), ("492", 0), ("493", 1), ("984", 0), ("48 --sms 1", 0), ("49 --sms 8", 1)):
        assert ("tail: 256 threads" in run(f"{BARE} --grid {launch}").stdout) == tail


@pytest.mark.slow
def test_curves_are_drawn_to_a_file_and_in_the_terminal(run, tmp_path):
    (tmp_path / "x.png").write_text("old")
    assert len(run(f"{BARE} --plot x.png --json -").records) == 1
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    shown = run(BARE + "--curves").stdout
    for point in (
        "threads per block; ● 256: 48",
        "registers per thread; ● 37: 48",
        "bytes per block; ● 5,000: 48",
    ):
        assert point in shown


@pytest.mark.slow
def test_a_plot_may_be_of_a_file_with_special_characters_in_its_name(run, mine):
    name = "a$b_{x$漢字.cu"
    mine(name=name)
    assert run(f"occupancy --arch sm_86 --kernel '{name}' --plot x.svg --json x.json").stderr == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--arch sm_85 --threads 32", ["nearest is sm_86"]), ("--arch '' --threads 32", ["architecture"]),
        ("--device gpu --threads 32", ["--arch and --device"]),
        *((f"--threads {v}", ["--threads"]) for v in ("0", "-1", "''", "abc", "1.5", "64:32", "9" * 30)),
        ("--threads 1025", ["1,025 threads", "sm_86 allows 1,024"]),
        ("--threads 32 --registers 256", ["256 registers", "sm_86 allows 255"]),
        ("--threads 32 --shared 101377", ["101,377 bytes", "sm_86 allows 101,376"]),
        ("--threads 32 --shared threads/0", ["by zero"]),
        ("--threads 32 --shared=-threads", ["-32 bytes at 32"]),
        ("--threads 32 --shared threads/3", ["10.6667, not a whole number"]),
        *((f"--threads 32 --{v}", [f"--{v.split()[0]}"]) for v in ("barriers 17", "sms 0", "carveout 101")),
        *((f"--threads 32 --{v} 0", [f"--{v}"]) for v in ("ilp", "grid", "load-cycles")),
        ("--threads 32 --load-cycles 400", ["goes with --ilp"]), ("--threads 32 -m tiled", ["bare numbers"]),
        ("--threads 32 -n 64", ["leave out -n"]), ("--threads 32 --suggest", ["leave out --threads"]),
        ("--threads 32:288:32", ["at most 8 configurations", "9"]),  # --plot is given
        ("--threads 32 --plot x.jpg", [".png, .svg, .pdf"]),
        ("--threads 32 --plot nowhere/x.png", ["nowhere/x.png", "cannot be written"]),
        ("--threads 32 --plot same.svg --json same.svg", ["--plot", "--json"]),
        ("--threads 32 --grid 1:4", ["--grid"]),  # a grid has at most 3 dimensions
        ("--registers 256 --suggest", ["allows 255"]), ("--shared 200000 --suggest", ["allows 101,376"]),
        ("--threads 32 --sms " + "9" * 20, ["--sms"]), ("--threads 32 --grid 99," + "9" * 18, ["--grid"]),
        ("--threads 32 --shared threads*" + "9" * 20, ["shared"]),
        *((f"--threads 32 --ilp 4 --{v}-cycles {x}", [f"--{v}-cycles"])
          for v in ("load", "instruction") for x in ("nan", "inf")),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_refused_and_replaces_no_file(run, tmp_path, options, words):
    for name in ("old.json", "old.png"):
        (tmp_path / name).write_text("old")
    arch = "" if "--arch" in options else "--arch sm_86 "
    files = "" if "--json" in options else "--json old.json " + "--plot old.png " * ("--plot" not in options)
    run(f"occupancy {arch}{files}{options}").refused(2, *words)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"old.json": "old", "old.png": "old"}


@pytest.mark.parametrize(
    ("method", "values", "condition"),
    [
        ("wgmma", "BM=96", "BM % 64 == 0"), ("wgmma", "STAGES=0", "STAGES >= 1"),
        ("wgmma", "BN=320 -D BM=64 -D STAGES=2", "BN <= 256"),
        ("warp-specialized", "BN=320 -D STAGES=2", "BN <= 256"), ("persistent", "BN=0", "BN >= 64"),
        ("cluster", "BN=384 -D STAGES=2", "BN == 128 or BN == 256"),
        ("aligned-copy", "STRIP=0", "STRIP >= 1"),
        ("tensor-stream-k", "BN=320 -D STAGES=2", "BN <= 256"),
        ("register-operand", "STRIP=0", "STRIP >= 1"), ("float8", "STRIP=0", "STRIP >= 1"),
        ("dmma-specialized", "STRIP=0", "STRIP >= 1"),
        ("tensor-split-k", "CLUSTERS=0", "CLUSTERS >= 1"), ("tensor-split-k", "STAGES=1", "STAGES >= 2"),
        ("tensor-split-k", "CLUSTERS=33", "CLUSTERS <= 32"),
        *(("full-waves", f"CLUSTER={n}", "CLUSTER == 1 or CLUSTER == 2") for n in (0, 3, 4)),
        ("full-waves", "STORE_ROWS=0", "STORE_ROWS >= 16"),
        ("full-waves", "STORE_ROWS=40", "STORE_ROWS % 16 == 0"),
        ("full-waves", "BM=33 -D BN=64 -D STORE_ROWS=16", "BM * BN % (128 * STORE_ROWS) == 0"),
        ("full-waves", "BM=16 -D STORE_ROWS=16", "BM * BN // 128 >= 32"),
        ("full-waves", "BM=272 -D STORE_ROWS=16 -D STAGES=3", "BM * BN // 128 <= 256"),
    ],
)  # fmt: skip
def test_values_that_the_kernel_cannot_have_are_refused_before_it_is_compiled(
    run, monkeypatch, method, values, condition
):
    """Other values would not compile, compute a wrong product, or wait for ever."""
    monkeypatch.setattr(nvcc_compiler, "made_by_nvcc", lambda *a, **b: pytest.fail("compiled"))
    element = find(method).element_types[0]
    run(f"occupancy --arch sm_90 -m {method} --dtype {element} -D {values}").refused(2, method, condition)


@pytest.mark.slow
def test_a_kernel_without_occupancy_is_refused(run, mine):
    run("occupancy --arch sm_86 -m cpu-simple").refused(2, "host methods have no occupancy")
    run("occupancy --arch sm_86 -m tiled --block 33").refused(2, "1089 threads", "1024")
    mine(body="C[0] = undeclared;")
    run(MY_KERNEL).refused(2, "my.cu(", "undeclared")
    mine(body="__shared__ float s[20000]; s[threadIdx.x] = A[M]; C[0] = s[N];")
    run(MY_KERNEL).refused(2, "too much shared data")
    mine(before="__global__ void other(float *C) {}")
    run(MY_KERNEL).refused(2, "--entry", "mine", "other")
    run("occupancy --arch sm_86 -m tiled --block 16 --barriers 3").refused(2, "--barriers")


TILED = """#define TILE 32
#define THREADS (TILE * TILE)
__global__ void mm(const float *A, const float *B, float *C, int n) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int y = threadIdx.x / TILE, x = threadIdx.x % TILE;
    int row = blockIdx.y * TILE + y, col = blockIdx.x * TILE + x;
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        a[y][x] = A[row * n + t + x], b[y][x] = B[(t + y) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; k++) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    C[row * n + col] = sum;
}
void host(float *A, float *B, float *C, int n) {
    mm<<<dim3(n / TILE, n / TILE), THREADS>>>(A, B, C, n);
}
"""


@pytest.mark.parametrize("options", ["", " -D TILE=32"])
def test_why_names_the_constant_that_gives_the_block(run, needs_nvcc, tmp_path, options):
    """The constant is in the file or given with -D, and the block may follow from it."""
    (tmp_path / "tiled.cu").write_text(TILED)
    shown = run(f"occupancy tiled.cu --arch sm_86 --why{options}").stdout
    assert "-D TILE=16, with blocks of 256 threads (now 1024), would give 100% occupancy (now 66.7%)" in shown
    assert "the launch fixes the block" not in shown


@pytest.mark.parametrize(
    "launch", ["dim3(n / 32, n / 32), THREADS", "dim3((n + 31) / 32, (n + TILE - 1) / TILE), THREADS"]
)
def test_why_proposes_no_value_of_a_constant_that_the_grid_has_as_a_number(run, needs_nvcc, tmp_path, launch):
    """With another TILE the grid would have the wrong number of blocks."""
    (tmp_path / "tiled.cu").write_text(TILED.replace("dim3(n / TILE, n / TILE), THREADS", launch))
    shown = run("occupancy tiled.cu --arch sm_86 --why").stdout
    assert "66.7%" in shown and "-D TILE" not in shown and "blocks of" not in shown


@pytest.mark.parametrize(
    ("change", "params", "threads", "tried"),
    [
        ({}, {"TILE": 16}, 256, "compiled: 16, 64, 256, 1024"),
        ({"n / TILE, n / TILE": "n / 32, n / 32"}, {}, 1024, "compiled: 1024"),
        (
            {
                "#define TILE 32\n#define THREADS (TILE * TILE)\n": "template <int TILE> ",
                "threadIdx.x / TILE, x = threadIdx.x % TILE": "threadIdx.y, x = threadIdx.x",
                "mm<<<dim3(n / TILE, n / TILE), THREADS>>>": "mm<8><<<dim3(n / 8, n / 8), dim3(8, 8)>>>",
            },
            {}, 64, "compiled: 64",
        ),
        (
            {"(TILE * TILE)": "(TILE * WIDE)\n#define WIDE 32"}, {}, 1024,
            "compiled: 1024; TILE, WIDE give the size: -D tries others",
        ),
    ],
)  # fmt: skip
def test_a_block_of_constants_that_the_kernel_has_is_suggested_for_their_values_alone(
    run, needs_nvcc, tmp_path, change, params, threads, tried
):
    """It is another kernel with each value, with other registers and another shared array."""
    text = TILED
    for old, changed in change.items():
        text = text.replace(old, changed)
    (tmp_path / "tiled_mm.cu").write_text(text)
    (record,) = run("occupancy tiled_mm.cu --arch sm_86 --suggest --json -").records
    found = record["params"], record["suggestion"]["threads_per_block"], record["suggestion"]["chosen_from"]
    assert found == (params, threads, tried)


def test_a_block_of_constants_that_the_launch_alone_has_is_searched_for_in_whole_warps(
    run, needs_nvcc, tmp_path
):
    text = WIDE.replace("dim3(n / 32, n / 32), dim3(32, 32)", "dim3(n / X, n / X), dim3(X, X)")
    (tmp_path / "wide_mm.cu").write_text(f"#define X 32\n{text}")
    (tmp_path / "bounded_mm.cu").write_text(
        f"#define X 16\n{text}".replace("void wide", "void __launch_bounds__(256) wide")
    )
    for name, threads, tried in (("wide", 768, "warps"), ("bounded", 256, "warps up to 256")):
        (record,) = run(f"occupancy {name}_mm.cu --arch sm_86 --suggest --json -").records
        assert record["suggestion"]["threads_per_block"] == threads
        assert record["suggestion"]["chosen_from"] == f"every number of whole {tried}"


STAYING = """#include <algorithm>
__global__ void stay(const float *A, const float *B, float *C, int M, int N, int K) {
    for (int row = blockIdx.x; row < M; row += gridDim.x)
        for (int col = threadIdx.x; col < N; col += blockDim.x) {
            float sum = 0;
            for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
            C[row * N + col] = sum;
        }
}
void start(int count, float *A, float *B, float *C, int M, int N, int K) {
    stay<<<GRID, 256>>>(A, B, C, M, N, K);
}
int main() {
    int M = 250, N = 200, K = 50;
    float *A, *B, *C;
    cudaMalloc(&A, M * K * 4); cudaMalloc(&B, K * N * 4); cudaMalloc(&C, M * N * 4);
    cudaDeviceProp prop;
    cudaGetDeviceProperties(&prop, 0);
    start(prop.multiProcessorCount, A, B, C, M, N, K);
}
"""
IN_MAIN = STAYING.replace("    start(prop", "    stay<<<GRID, 256>>>(A, B, C, M, N, K);\n    // (prop")


@pytest.mark.parametrize(
    ("program", "grid", "blocks"),
    [
        (STAYING, "2 * count", [2 * 108, 2 * 132]),
        (IN_MAIN, "2 * prop.multiProcessorCount", [2 * 108, 2 * 132]),
        (IN_MAIN, "std::min(M, 2 * prop.multiProcessorCount)", [2 * 108, 250]),
    ],
)
def test_a_grid_for_the_multiprocessors_is_that_of_each_gpu(run, needs_nvcc, tmp_path, program, grid, blocks):
    (tmp_path / "stay.cu").write_text(program.replace("GRID", grid))
    line = "occupancy stay.cu -n 250x200x50 --arch sm_80 --arch sm_90"
    ended = run(f"{line} --json -")
    assert [record["grid_blocks"] for record in ended.records] == blocks
    a100, h100 = (r["waves"] * r["active_blocks"] * r["multiprocessors"] for r in ended.records)
    assert [a100, h100] == pytest.approx(blocks)
    shown = run(line).stdout
    assert f"it has {blocks[0]:,} blocks" in shown and "stay computes its grid from the number of" in shown
    (given,) = run("occupancy stay.cu --arch sm_80 --grid 12 --json -").records
    assert given["grid_blocks"] == 12


@pytest.mark.slow
def test_values_that_give_too_large_a_block_fail_only_their_own_rows(run, needs_nvcc, tmp_path):
    (tmp_path / "squares.cu").write_text(TILED)
    line = "occupancy squares.cu --arch sm_86 -D TILE"
    ended = run(f"{line}=8,64,16 --json -")
    assert ended.status == 1
    assert [(r["params"]["TILE"], bool(r["reason"]), r["occupancy"] > 0) for r in ended.records] == [
        (8, False, True), (64, True, False), (16, False, True),
    ]  # fmt: skip
    assert "4096" in ended.records[1]["reason"]
    shown = run(f"{line}=8,64,16").stdout
    assert "cannot run squares TILE=64" in shown and "cannot run squares TILE=8" not in shown
    assert "own size" not in shown
    why = run(f"{line}=64,32 --why").stdout.partition("Changes that")[2]
    assert "squares TILE=32 on sm_86: no change" in why and "TILE=64 on sm_86: " not in why
    alone = run(f"{line}=64")
    assert alone.status == 1 and "4096 threads" in alone.stderr and not alone.stdout


def test_ctrl_c_keeps_the_results_of_finished_architectures(run, monkeypatch, tmp_path):
    original = configurations.results

    def results(architecture, *rest):
        if architecture.name == "sm_90":
            raise KeyboardInterrupt
        return original(architecture, *rest)

    monkeypatch.setattr(configurations, "results", results)
    ended = run("occupancy --arch sm_86 --arch sm_90 --threads 32,64 --json out.json")
    assert ended.status == 130 and "sm_86" in ended.stdout and "sm_90" not in ended.stdout
    assert ended.stderr.startswith("cudamm: interrupted: 2 results") and ended.stderr.count("\n") == 1
    assert len(json.loads((tmp_path / "out.json").read_text())["results"]) == 2


@pytest.mark.parametrize(
    "options",
    [
        "--threads 64,96 --registers 37,38 --ilp",
        "-m tiled-transposed,tiled-dynamic --block 32 --suggest",
        "-m tiled-transposed,tiled-dynamic --block 32 -n 64 -n 128",
    ],
)
def test_tables_fit_the_terminal(on_terminal, needs_nvcc, options):
    shown = on_terminal(f"occupancy --arch sm_90 {options}", COLUMNS="80", NO_COLOR="1").stdout
    rows = [row for row in shown.splitlines() if re.search("[│─━]", row)]
    assert rows and max(map(len, rows)) <= 80
    assert "…" not in shown and "\x1b[" not in re.sub(r"\x1b\[\?25[hl]", "", shown)


def test_two_gpus_of_one_architecture_are_told_apart(run):
    """They differ in the number of multiprocessors, and so in the number of waves."""
    line = "occupancy --threads 256 --registers 32 --grid 1000 --gpu 'RTX 3080,rtx3090'"
    ended = run(line)
    assert ended.status == 0
    assert "GeForce RTX 3080 10GB" in ended.stdout and "GeForce RTX 3090" in ended.stdout
    small, large = run(f"{line} --json -").records
    assert (small["multiprocessors"], large["multiprocessors"]) == (68, 82)
    assert small["arch"] == large["arch"] == "sm_86" and small["waves"] > large["waves"]
