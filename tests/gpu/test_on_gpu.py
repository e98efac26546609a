"""Verifying, measuring and the occupancy calculator through PyCUDA on an NVIDIA GPU."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cudamm.benchmark.measure import bench
from cudamm.benchmark.sampling_policy import Settings
from cudamm.benchmark.verify import verify_all
from cudamm.compile.nvcc_compiler import compile_for_gpu
from cudamm.compile.program import program
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.judge import verify
from cudamm.execution.prepare import prepare
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import variants
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.block_size import every_block_size, suggest

pytestmark = pytest.mark.gpu

SHAPES = [parse_shape(s) for s in ("1x1x1", "17x31x13", "33x65x129", "100x1x50", "127x128x1", "64x64x64")]
FLOAT32 = ELEMENT_TYPES["float32"]
CUDA_METHODS = [method for method in ladder() if method.language == "cuda"]


def silent(doing, done, total):
    """Ignore the progress."""


def cudamm(*arguments):
    """Run the command line in a process."""
    command = [sys.executable, "-m", "cudamm", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("fmad", [True, False], ids=["fmad", "no-fmad"])
@pytest.mark.parametrize("element", ELEMENT_TYPES.values(), ids=lambda e: e.name)
def test_every_method_is_right_on_every_shape(gpu, element, fmad):
    methods = [m for m in ladder() if element.name in m.element_types]
    cases = [(v, Problem(s, element)) for m in methods for v in variants(m, {}) for s in SHAPES]
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, cases, fmad, silent))
    assert len(results) == len(cases)
    # A method is skipped only if the GPU is too old for it, or if its float64 tile exceeds the registers.
    may_be_skipped = {m.name for m in methods if m.needs and (gpu.lacks(m) or element.name == "float64")}
    skipped = {r.method for r in results if r.status == "skipped"}
    assert skipped <= may_be_skipped
    results = [r for r in results if r.method not in skipped]
    assert [r for r in results if r.status != "ok"] == []
    ordered = {m.name for m in methods if m.sums_in_k_order}
    if element.name == "int32" or not fmad:
        inexact = [r for r in results if r.method in ordered and not r.verdict.bit_equal]
        assert inexact == []


@pytest.mark.parametrize("method", CUDA_METHODS, ids=lambda m: m.name)
def test_every_method_is_right_with_every_parameter_value(gpu, method, worth_sweeping):
    if gpu.lacks(method):
        pytest.skip(gpu.lacks(method))
    problem = Problem(Shape(70, 90, 50), ELEMENT_TYPES[method.element_types[0]])
    with InProcessExecutor(gpu) as executor:
        results = list(verify_all(executor, [(v, problem) for v in worth_sweeping(method)], True, silent))
    assert [r for r in results if r.status != "ok"] == []


def test_methods_that_sum_in_k_order_agree_to_the_bit_on_gpu_and_cpu_device(gpu, cpu):
    problem = Problem(Shape(45, 67, 89), FLOAT32)
    products = {}
    for device in (gpu, cpu):
        for method in CUDA_METHODS:
            if not method.sums_in_k_order or gpu.lacks(method) or cpu.lacks(method):
                continue
            (variant,) = variants(method, {})
            launch = plan(variant, problem.shape, FLOAT32)
            source = program(variant, FLOAT32, False)
            from cudamm.devices.device import padded

            with device.open(source, device.compile(source), launch, *padded(launch, *problem.inputs)) as run:
                run.fill_output()
                run.launch()
                product = run.product()[:45, :67].copy()
            device.forget()
            products.setdefault(method.name, []).append(product)
    assert len(products) > 5
    for name, (on_gpu, on_cpu) in products.items():
        assert np.array_equal(on_gpu, on_cpu), name


def test_fused_multiply_add_changes_bits(gpu):
    """Without this difference --no-fmad would not be the reason for exact sums."""
    problem = Problem(Shape(64, 64, 64), FLOAT32)
    (variant,) = variants(next(m for m in ladder() if m.name == "tiled"), {})
    launch = plan(variant, problem.shape, FLOAT32)
    products = []
    for fmad in (True, False):
        source = program(variant, FLOAT32, fmad)
        with gpu.open(source, gpu.compile(source), launch, *problem.inputs) as run:
            run.launch()
            products.append(run.product().copy())
    gpu.forget()
    assert not np.array_equal(*products)
    assert np.allclose(*products, rtol=0, atol=1e-4)


of_the_driver = pytest.mark.xdist_group("driver")
"""Tests that share the compiled functions: --dist loadgroup runs them in one process."""


@pytest.fixture(scope="module")
def functions(gpu, worth_sweeping):
    """Yield the driver, and the compiled form, launch and function of variants with every parameter value."""
    bindings = pytest.importorskip("cuda.bindings.driver")
    methods = [method for method in CUDA_METHODS if not gpu.lacks(method)]
    chosen = [
        (variant, ELEMENT_TYPES[method.element_types[0]])
        for method in methods
        for variant in worth_sweeping(method)
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        cubins = list(pool.map(lambda case: compile_for_gpu(program(*case, True), gpu.arch), chosen))
    loaded = []
    for (variant, element), cubin in zip(chosen, cubins, strict=True):
        launch = plan(variant, Shape(1024, 1024, 1024), element)
        error, module = bindings.cuModuleLoadData(cubin.image)
        assert error == bindings.CUresult.CUDA_SUCCESS
        error, function = bindings.cuModuleGetFunction(module, cubin.kernel.encode())
        assert error == bindings.CUresult.CUDA_SUCCESS
        # A kernel must opt in to more than 48 KB per block; otherwise the driver reports no active block.
        opt_in = bindings.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = bindings.cuFuncSetAttribute(function, opt_in, launch.shared_bytes)
        assert error == bindings.CUresult.CUDA_SUCCESS
        loaded.append((str(variant), cubin, launch, function, module))
    assert len(loaded) > 80
    yield bindings, loaded
    for *_, module in loaded:
        bindings.cuModuleUnload(module)


def unwrap(answer):
    """Return the values of a driver call's answer, or fail if the answer is an error."""
    error, *values = answer
    assert error.value == 0, error
    return values[0] if len(values) == 1 else values


@of_the_driver
def test_resources_are_those_that_the_driver_reports(functions):
    """The resources read from the cubin and the compiler's output are those that the driver reports."""
    bindings, loaded = functions
    attributes = bindings.CUfunction_attribute
    for name, cubin, _, function, _ in loaded:
        used = cubin.resources
        for attribute, computed in (
            (attributes.CU_FUNC_ATTRIBUTE_NUM_REGS, used.registers_per_thread),
            (attributes.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, used.static_shared_bytes),
            (attributes.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, used.local_bytes_per_thread),
            (attributes.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, used.constant_bytes),
        ):
            reported = unwrap(bindings.cuFuncGetAttribute(attribute, function))
            assert computed == reported, (name, attribute)
        if used.max_threads_per_block is not None:
            attribute = attributes.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
            most = unwrap(bindings.cuFuncGetAttribute(attribute, function))
            assert most == used.max_threads_per_block, name


@of_the_driver
def test_occupancy_is_that_of_the_driver(gpu, functions):
    """Each method is compared at its own block size and at every multiple of 32 threads."""
    bindings, loaded = functions
    compared = 0
    for name, cubin, launch, function, _ in loaded:
        used = cubin.resources
        most = min(1024, used.max_threads_per_block or 1024)
        sizes = [launch.threads_per_block, *range(32, most + 1, 32)]
        shared = used.static_shared_bytes + launch.shared_bytes
        computed = active_blocks(gpu.architecture, sizes, used.registers_per_thread, shared, used.barriers)
        for size, active in zip(sizes, computed.active.tolist(), strict=True):
            reported = unwrap(
                bindings.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, size, launch.shared_bytes)
            )
            assert active == reported, (name, size)
            compared += 1
    assert compared > 2000


@of_the_driver
def test_occupancy_with_over_48_kb_of_shared_memory_is_that_of_the_driver(gpu, functions):
    """The kernel has opted in to more than 48 KB."""
    bindings, loaded = functions
    name, cubin, _, function, _ = next(row for row in loaded if "tiled-dynamic BLOCK_SIZE=16" in row[0])
    most = gpu.architecture.shared_bytes_per_block
    opt_in = bindings.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    bindings.cuFuncSetAttribute(function, opt_in, most)
    used = cubin.resources
    for size in (32, 256, 1024):
        for shared in (0, 1, 1000, 48 * 1024, 48 * 1024 + 1, 70_000, most // 2, most // 2 - 1024, most):
            computed = active_blocks(gpu.architecture, size, used.registers_per_thread, shared, used.barriers)
            reported = unwrap(bindings.cuOccupancyMaxActiveBlocksPerMultiprocessor(function, size, shared))
            assert int(computed.active) == reported, (name, size, shared)


@of_the_driver
def test_the_suggested_block_size_is_that_of_the_driver(gpu, functions):
    bindings, loaded = functions
    for name, cubin, launch, function, _ in loaded:
        used = cubin.resources
        shared = launch.shared_bytes
        computed = suggest(
            gpu.architecture,
            every_block_size(gpu.architecture, used.max_threads_per_block),
            used.registers_per_thread,
            lambda threads, all_=used.static_shared_bytes + shared: all_,
            used.barriers,
            "",
        )
        grid, block = unwrap(bindings.cuOccupancyMaxPotentialBlockSize(function, None, shared, 0))
        assert (computed.min_grid_blocks, computed.threads_per_block) == (grid, block), name


def test_bench_measures_on_the_gpu(gpu):
    chosen = [
        (v, Problem(Shape(256, 256, 256), FLOAT32))
        for m in ladder()
        if m.name in ("numpy", "tiled")
        for v in variants(m, {})
    ]
    with InProcessExecutor(gpu) as executor:
        results = bench(executor, chosen, Settings(runs=7), silent)
        on_host, on_gpu = sorted(results, key=lambda result: result.position)
    assert (on_host.execution, on_gpu.execution) == ("native", "gpu")
    assert len(on_gpu.timing.samples_ms) == 7
    assert all(0 < sample < 1000 for sample in on_gpu.timing.samples_ms)
    assert (on_gpu.timing.cache, on_gpu.timing.ended_by) == ("cold", "runs")
    assert on_gpu.timing.event_floor_ms > 0
    assert on_gpu.verdict.correct


def test_rows_on_the_gpu_come_first_at_a_size_at_which_the_hosts_loops_take_minutes(gpu):
    chosen = [(v, Problem(Shape(2048, 2048, 2048), FLOAT32)) for m in ladder() for v in variants(m, {})
              if m.name in ("cpu-simple", "cpu-block", "numpy", "naive", "tiled")]  # fmt: skip
    with InProcessExecutor(gpu) as executor:
        begun = time.monotonic()
        results = [(r, time.monotonic() - begun) for r in bench(executor, chosen, Settings(), silent)]
    assert [r.execution for r, _ in results] == ["gpu"] * 2 + ["native"] * 3
    assert all(r.status == "ok" for r, _ in results[:2])
    assert results[1][1] < 60  # seconds until the last row of the GPU; nvcc compiles meanwhile
    for row, _ in results[2:]:
        assert row.status == "ok" or "would take about" in row.reason


def test_naive_coalesced_and_tiled_are_in_order_and_the_process_exits_cleanly():
    """A context left on PyCUDA's stack would abort the process when it exits."""
    completed = cudamm("bench", "-m", "naive,coalesced,tiled", "-n", 1024, "--json", "-")
    assert (completed.returncode, completed.stderr) == (0, "")
    rates = {r["method"]: r["gflops"] for r in json.loads(completed.stdout)["results"]}
    # The factors are 13 and 1.5 on an H200, so large that the order is the same on any GPU.
    assert rates["naive"] < rates["coalesced"] < rates["tiled"]


def test_a_launch_with_too_many_registers_fails_only_its_own_row(tmp_path):
    greedy = tmp_path / "greedy.cu"
    greedy.write_text(
        (Path(__file__).parents[2] / "cuda_src" / "08_register_tile.cu")
        .read_text()
        .replace("__launch_bounds__(BLOCK_SIZE * BLOCK_SIZE)", "")
    )
    completed = cudamm(
        *("bench", "--kernel", greedy, "--block", "8,32", "--tile", "8", "-n", 256, "--json", "-")
    )
    assert completed.returncode == 1
    assert [r["status"] for r in json.loads(completed.stdout)["results"]] == ["ok", "failed"]
    assert "a block has 1024 threads" in json.loads(completed.stdout)["results"][1]["reason"]


def test_a_crash_on_the_gpu_is_a_failed_row_without_a_traceback(tmp_path):
    crash = tmp_path / "crash.cu"
    crash.write_text(
        "// writes nowhere\n//\n// threads: 16, 16\n// grid: 1\n\n"
        "__global__ void crash(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    C[(1ull << 40) + threadIdx.x] = A[0];\n}\n"
    )
    completed = cudamm("bench", "--kernel", crash, "-n", 64, "--json", "-")
    assert completed.returncode == 1
    assert "Traceback" not in completed.stderr
    (row,) = json.loads(completed.stdout)["results"]
    assert row["status"] == "failed"
    assert "illegal" in row["reason"]


def test_a_write_past_the_end_of_c_is_found_on_the_gpu(tmp_path):
    wrong = tmp_path / "wrong.cu"
    source = (Path(__file__).parents[2] / "cuda_src" / "12_tiled_bounds.cu").read_text()
    wrong.write_text(source.replace("if (row < M && col < N)", "if (row <= M && col < N)"))
    completed = cudamm("verify", "--kernel", wrong, "-n", "17x31x13", "--dtype", "float32", "--json", "-")
    assert completed.returncode == 1
    (row,) = json.loads(completed.stdout)["results"]
    assert "past the end of C" in row["reason"]
    assert "C[17][0]" in row["reason"]


def test_a_third_party_kernel_runs_unchanged(tmp_path):
    """The kernel has C++ linkage, real arguments, its own #define and more than 48 KB of shared memory."""
    kernel = tmp_path / "sgemm.cu"
    kernel.write_text(
        "#include <cuda_runtime.h>\n"
        "#define EDGE 32\n"
        "__global__ void sgemm(int M, int N, int K, float alpha, const float *A, const float *B,\n"
        "                      float beta, float *C) {\n"
        "    extern __shared__ float row_of_a[];\n"
        "    const unsigned x = blockIdx.x * EDGE + threadIdx.x, y = blockIdx.y;\n"
        "    for (int k = threadIdx.x; k < K; k += EDGE) row_of_a[k] = A[y * K + k];\n"
        "    __syncthreads();\n"
        "    if (x >= N) return;\n"
        "    float sum = 0;\n"
        "    for (int k = 0; k < K; ++k) sum += row_of_a[k] * B[k * N + x];\n"
        "    C[y * N + x] = alpha * sum + (beta == 0 ? 0 : beta * C[y * N + x]);\n"
        "}\n"
    )
    completed = cudamm(
        *("verify", "--kernel", kernel, "--args", "M,N,K,1.0,A,B,0.0,C", "--threads", "EDGE"),
        *("--grid", "ceil(N/EDGE),M", "-D", "EDGE=32,64", "--shared-bytes", "100000"),
        *("-n", "50x70x90", "--json", "-"),
    )
    assert (completed.returncode, completed.stderr) == (0, "")
    results = json.loads(completed.stdout)["results"]
    assert [r["params"] for r in results] == [{"EDGE": 32}, {"EDGE": 64}]
    assert all(r["correct"] for r in results)


def test_a_gpu_number_that_does_not_exist_is_refused(gpu):
    completed = cudamm("bench", "--device", "gpu:99")
    assert completed.returncode == 2
    assert completed.stderr.startswith("cudamm: there is no gpu:99")
    assert completed.stderr.count("\n") == 1


def test_block_auto_measures_the_default_and_the_drivers_block_size(gpu, tmp_path):
    """The kernel gets its block size in constant memory, and its default is not the best."""
    source = (Path(__file__).parents[2] / "cuda_src" / "13_tiled_dynamic.cu").read_text()
    small = tmp_path / "small.cu"
    small.write_text(source.replace("BLOCK_SIZE = 32 in", "BLOCK_SIZE = 8 in"))
    completed = cudamm("bench", "--kernel", small, "--block", "auto", "-n", 300, "--json", "-")
    assert (completed.returncode, completed.stderr) == (0, "")
    rows = json.loads(completed.stdout)["results"]
    bindings = pytest.importorskip("cuda.bindings.driver")
    (variant,) = variants(read_method(small), {})
    cubin = compile_for_gpu(program(variant, FLOAT32, True), gpu.arch)
    module = unwrap(bindings.cuModuleLoadData(cubin.image))
    function = unwrap(bindings.cuModuleGetFunction(module, cubin.kernel.encode()))
    _, threads = unwrap(bindings.cuOccupancyMaxPotentialBlockSize(function, None, 0, 0))
    edge = next(2**i for i in range(5, -1, -1) if 4**i <= threads)
    assert [row["params"]["BLOCK_SIZE"] for row in rows] == [8, edge]
    assert all(row["correct"] for row in rows)


def test_occupancy_and_devices_run_on_the_gpu(gpu):
    completed = cudamm("occupancy", "-m", "tiled")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert "BLOCK_SIZE=32" in completed.stdout
    completed = cudamm("devices")
    assert (completed.returncode, completed.stderr) == (0, "")
    assert gpu.info.name in completed.stdout


@pytest.mark.parametrize("element", [FLOAT32, ELEMENT_TYPES["int32"]], ids=["float32", "int32"])
def test_the_reference_of_a_large_problem_is_the_product_of_numpy(gpu, element):
    problem = Problem(parse_shape("1100x901x1003"), element)
    gpu.make_ready(problem)
    assert not problem.has_reference  # the reference stays on the GPU until the host requests it
    gpu.reference(problem).offer_to_problem()
    assert problem.has_reference
    reference, _ = problem.reference
    a, b = (x.astype(np.float64) for x in problem.inputs)
    expected = a @ b
    assert np.abs(reference - expected).max() <= (0 if element.name == "int32" else 1e-11)
    gpu.forget()


@pytest.mark.parametrize("size", ["33x65x129", "1100x901x1003"])
@pytest.mark.parametrize("element", [FLOAT32, ELEMENT_TYPES["int32"]], ids=["float32", "int32"])
def test_errors_and_bounds_are_those_computed_on_the_host(gpu, element, size):
    problem = Problem(parse_shape(size), element)
    (case,) = prepare(
        InProcessExecutor(gpu), [(variants(find("tiled"), {})[0], problem)], True, silent, verified=True
    )
    executor = InProcessExecutor(gpu)
    with executor.open(case) as run:
        verdict = verify(run, problem, case.variant, fmad=True, thread_order=False)
        errors = np.abs(run.product()[: problem.shape.m, : problem.shape.n] - problem.reference[0])
        deviation = run.deviation(problem)
        run.fill_output()
        all_wrong = run.deviation(problem)
    assert verdict.correct
    assert (verdict.max_error, verdict.error_bound) == (deviation.error, deviation.bound)
    if element is FLOAT32:
        row, column = np.unravel_index(int(np.argmax(errors / problem.error_bound)), errors.shape)
        assert deviation.error == pytest.approx(errors[row, column], abs=1e-10)
        assert deviation.bound == pytest.approx(problem.error_bound[row, column])
    assert all_wrong.wrong == errors.size
    executor.close()


def test_a_wrong_reference_of_the_gpu_is_replaced_by_that_of_the_host(gpu, monkeypatch):
    problem = Problem(parse_shape("1024"), FLOAT32)
    monkeypatch.setattr(gpu.support, "product", lambda *_: None)  # the memory stays as it is
    gpu.make_ready(problem)
    a, b = (x.astype(np.float64) for x in problem.inputs)
    assert np.array_equal(problem.reference[0], a @ b)
    gpu.forget()


def test_a_kernel_gets_an_array_from_a_file(gpu, write_kernel, tmp_path):
    """The rows of C are computed in the order of the file; a row that the file lacks is not computed."""
    path = write_kernel("""// args: M, N, K, A, B, C, file(rows-{M}.npy)
// threads: 32
// grid: M

__global__ void in_order(int M, int N, int K, const float *A, const float *B, float *C, const int *rows) {
    const int row = rows[blockIdx.x];
    for (int col = threadIdx.x; col < N; col += 32) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}
""")
    rows = np.random.default_rng(1).permutation(100).astype(np.int32)
    np.save(tmp_path / "rows-100.npy", rows)
    options = ("--kernel", path, "-n", "100")
    for command in (("verify", *options), ("bench", *options, "--runs", "3")):
        completed = cudamm(*command)
        assert completed.returncode == 0, completed.stderr + completed.stdout
    np.save(tmp_path / "rows-100.npy", np.where(rows == 7, 0, rows).astype(np.int32))
    assert cudamm("verify", *options).returncode == 1
