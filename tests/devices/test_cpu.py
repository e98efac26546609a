"""What the CPU device says of kernels that crash, miss their memory, or disagree about a barrier."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.devices.device import Device
from cudamm.errors import KernelError, UsageError

Kernel = Callable[..., Any]


def header(threads: str = "8, 4", grid: str = "2, 3", **fields: str) -> str:
    fields = {"types": "float32", "threads": threads, "grid": grid} | fields
    return "".join(f"// {key.replace('_', '-')}: {text}\n" for key, text in fields.items()) + "\n"


def line_of(path: Path, mark: str, nth: int = 0) -> int:
    """The number of the nth line that contains a mark."""
    return [i for i, line in enumerate(path.read_text().splitlines(), 1) if mark in line][nth]


@pytest.fixture
def launch(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> Kernel:
    """Launch a kernel once, given its header and body, on C of 12 x 16; returns what it raises."""

    def launch(
        head: str, body: str, shape: str = "12x16x5", before: str = "", descending: bool = False
    ) -> str:
        parameters = "int M, int N, int K, float *A, float *B, float *C"
        path = write_kernel(f"{head}{before}\n__global__ void k({parameters}) {{\n{body}\n}}\n")
        with pytest.raises(KernelError) as raised, open_run(cpu, path, shape) as run:
            run.launch(descending)
        return str(raised.value)

    return launch


# K is 5, which the compiler does not know.
NULL = "float *nowhere = (float *)(size_t)(K - 5);"
HERE = "threadIdx.x == 5 && threadIdx.y == 2 && blockIdx.x == 1 && blockIdx.y == 2"


def test_null_pointer(launch: Kernel) -> None:
    said = launch(header(), f"{NULL} if ({HERE}) nowhere[3] = 1;")
    assert said == "crashed: bad memory access in thread (5,2) of block (1,2)"


def test_division_by_zero(launch: Kernel) -> None:
    said = launch(header(), f"if ({HERE}) C[0] = M / (K - 5);")
    assert said == "crashed: division by zero in thread (5,2) of block (1,2)"


def test_failed_assertion(launch: Kernel, capfd: pytest.CaptureFixture[str]) -> None:
    said = launch(header(), f"assert(!({HERE}));")
    assert said == "crashed: failed assertion in thread (5,2) of block (1,2)"
    assert "k.cu" in (error := capfd.readouterr().err) or "kernel.cu" in error


def test_endless_recursion(launch: Kernel) -> None:
    before = """__device__ float deep(float x, int n) {
    volatile float y[64];
    y[n % 64] = x;
    return n < 0 ? 0 : deep(x, n + 1) + y[n % 64];
}"""
    said = launch(header(), f"if ({HERE}) C[0] = deep(A[0], 0);", before=before)
    assert said.startswith("crashed: bad memory access in thread (5,2) of block (1,2)")


@pytest.mark.parametrize("kilobytes", [600, 1024, 5000])  # a GPU has 512 KB a thread
def test_a_local_array_larger_than_the_stack(launch: Kernel, kilobytes: int) -> None:
    """Touched at its far end first, as a jump over whatever lies behind the stack."""
    body = f"volatile float big[{kilobytes} * 256];\n"
    body += f"if ({HERE}) {{ big[0] = A[0]; C[0] = big[0]; }}\n__syncthreads();"
    said = launch(header(), body)
    assert said.startswith("crashed: bad memory access in thread")


def test_a_local_array_that_fits(verify_one: Kernel, cpu: Device[Any]) -> None:
    """24 KB of float64 sub-matrices a thread, in the ladder's own kernel."""
    assert verify_one(cpu, "block-coarse-local", "33x40x35", "float64", BLOCK_SIZE=32).reason == ""


def test_three_dimensional_places(launch: Kernel) -> None:
    condition = "threadIdx.z && blockIdx.z && threadIdx.x && threadIdx.y && blockIdx.y"
    said = launch(header("2, 2, 2", "1, 2, 2"), f"{NULL} if ({condition}) nowhere[3] = 1;")
    assert said == "crashed: bad memory access in thread (1,1,1) of block (0,1,1)"


def test_a_far_miss_names_the_matrix(launch: Kernel) -> None:
    said = launch(header("1", "1"), "C[M * N + 200000] = 1;")
    assert "bad memory access in thread (0,0) of block (0,0)" in said
    assert "past the end of C" in said
    said = launch(header("1", "1"), "C[0] = A[-200000];")
    assert "before the start of A" in said


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("C[M * N] = 1;", "wrote past the end of C: 1 element beyond its 12 x 16, the first where C[12][0]"),
        (
            "C[M * N + 19] = C[M * N + 18] = 1;",
            "wrote past the end of C: 2 elements beyond its 12 x 16, the first where C[13][2]",
        ),
        ("C[-1] = 1;", "wrote before the start of C: 1 element ahead of C[0][0]"),
        ("C[-16] = 1;", "wrote before the start of C: 16 elements ahead of C[0][0]"),
        ("A[2 * K + 1] += 1;", "wrote into the input A, first at A[2][1]"),
        ("B[N + 3] = 0; B[N + 4] = 0;", "wrote into the input B, first at B[1][3]"),
        ("A[M * K] = 1;", "wrote past the end of A: 1 element beyond its 12 x 5, the first where A[12][0]"),
        ("B[-2] = 1;", "wrote before the start of B: 2 elements"),
    ],
)
def test_writes_that_miss_their_matrix(launch: Kernel, body: str, expected: str) -> None:
    assert expected in launch(header("1", "1"), body)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_writes_that_miss_in_other_types(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    """An odd number of elements: the guard begins in the middle of what is padded to eight bytes."""
    path = write_kernel(
        header("1", "1", types=dtype, args="C, M * N")
        + "__global__ void k(element *C, int at) { C[at] = 1; }"
    )
    with (
        open_run(cpu, path, "3x3x3", dtype) as run,
        pytest.raises(KernelError, match=r"1 element beyond.*C\[3\]\[0\]"),
    ):
        run.launch()


def test_writes_past_dynamic_shared_memory(launch: Kernel) -> None:
    head = header("4", "2", shared_bytes="40")
    said = launch(head, "extern __shared__ float s[]; if (blockIdx.x) s[10] = 1;")
    assert (
        said
        == "block (1,0) wrote past its dynamic shared memory: 40 bytes were requested, byte 40 was written"
    )
    said = launch(head, "extern __shared__ double s[]; if (!blockIdx.x) s[6] = 1;")
    assert "byte 48 was written" in said


def test_dynamic_shared_memory_that_nobody_asked_for(launch: Kernel) -> None:
    said = launch(header("4", "1"), "extern __shared__ float s[]; s[threadIdx.x] = 1;")
    assert "0 bytes were requested, byte 0 was written" in said


@pytest.mark.parametrize("descending", [False, True])
def test_different_barriers(launch: Kernel, tmp_path: Path, descending: bool) -> None:
    body = "if (threadIdx.x < 4) {\n    __syncthreads();  // low\n} else {\n    __syncthreads();  // high\n}"
    said = launch(header(), body, descending=descending)
    path = tmp_path / "kernel.cu"
    assert "threads wait at different barriers" in said
    assert f"in line {line_of(path, '// low')} of kernel.cu" in said
    assert f"in line {line_of(path, '// high')} of kernel.cu" in said


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    "leaver", ["threadIdx.x < 4", "threadIdx.x >= 4", "threadIdx.y == 3", "threadIdx.y == 0"]
)
def test_a_thread_that_left_before_a_barrier(
    launch: Kernel, tmp_path: Path, leaver: str, descending: bool
) -> None:
    said = launch(
        header(grid="1"),
        f"if ({leaver}) return;\n__syncthreads();  // here\nC[0] = 1;",
        descending=descending,
    )
    assert f"in line {line_of(tmp_path / 'kernel.cu', '// here')} of kernel.cu" in said
    assert "left the kernel" in said
    assert "all threads of a block must reach it" in said
    assert said.startswith("block (0,0)")


def test_a_continue_around_a_barrier(launch: Kernel, tmp_path: Path) -> None:
    body = "for (int i = 0; i < 3; ++i) {\n    if (threadIdx.x == i) continue;\n"
    body += "    __syncthreads();  // in the loop\n}"
    said = launch(header(), body)
    assert "the barrier in line" in said
    assert f"in line {line_of(tmp_path / 'kernel.cu', 'in the loop')} of kernel.cu" in said


def test_a_thread_that_passes_a_warp_barrier_it_is_not_part_of(launch: Kernel, tmp_path: Path) -> None:
    said = launch(header("32", "1"), "__syncwarp(0x0000ffffu);")
    assert "thread (16,0) is not in the mask 0x0000ffff it passes" in said
    assert f"in line {line_of(tmp_path / 'kernel.cu', '__syncwarp')} of kernel.cu" in said


def test_a_warp_and_a_block_waiting_for_each_other(launch: Kernel, tmp_path: Path) -> None:
    said = launch(header("32", "1"), "if (threadIdx.x < 4)\n    __syncwarp();\nelse\n    __syncthreads();")
    assert "block (0,0) is stuck" in said
    assert "of kernel.cu" in said


def test_barriers_that_are_sound(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    """In one loop two barriers in turn, in one a whole block skips; leaving after the last one."""
    path = write_kernel(
        header("8, 4", "2")
        + """__global__ void k(int M, int N, int K, float *A, float *B, float *C) {
    for (int i = 0; i < 5; ++i) {
        if (blockIdx.x && i % 2) continue;
        __syncthreads();
        __syncthreads();
    }
    if (threadIdx.x) return;
    C[0] = 1;
}
"""
    )
    with open_run(cpu, path, "12x16x5") as run:
        assert run.launch() > 0
        assert run.launch(True) > 0


def test_a_wrong_number_of_arguments(cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel) -> None:
    path = write_kernel(header(args="A, B, C") + "__global__ void k(float *A, int n) {}")
    with pytest.raises(UsageError, match=r"k takes 2 arguments, .*3 are given \(A, B, C\); .* --args"):
        verify_one(cpu, path)


def test_a_kernel_that_ends_its_process(launch: Kernel) -> None:
    assert (
        launch(header("1", "1"), "_exit(9);", before='extern "C" void _exit(int);')
        == "the process running the kernel ended with status 9"
    )


def test_after_a_fault_the_run_says_so_again(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    body = "__global__ void k(int zero, float *C) { C[0] = 41 / zero; }"
    path = write_kernel(header("1", "1", args="K - 3, C") + body)
    with open_run(cpu, path, "3x3x3") as run:
        for _ in range(2):
            with pytest.raises(KernelError):
                run.launch()


def test_what_a_kernel_prints_disturbs_nothing(
    cpu: Device[Any], verify_one: Kernel, kernels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert verify_one(cpu, kernels / "talkative.cu", "9x7x5").reason == ""
    printed = capfd.readouterr()
    # Standard output is for tables and JSON. Twice: verifying launches in both orders.
    assert printed.out == ""
    assert printed.err.count("ok 12345\nfailed on purpose\n\nM=9\n") == 2


def test_what_a_kernel_printed_before_it_crashed_is_shown(
    launch: Kernel, capfd: pytest.CaptureFixture[str]
) -> None:
    launch(header("1", "1"), NULL + 'printf("about to write\\n"); nowhere[3] = 1;')
    assert "about to write" in capfd.readouterr().err


def test_a_kernel_that_does_not_compile_names_its_own_line(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    body = "__global__ void k(float *C) {\n    C[0] = nothing;\n}\n"
    path = write_kernel(header(args="C") + body, "mine.cu")
    with pytest.raises(UsageError) as raised:
        verify_one(cpu, path)
    assert f"mine.cu:{line_of(path, 'nothing')}:" in str(raised.value)
    assert str(path) in str(raised.value)


def test_regions_are_poisoned_and_guarded(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    """An element nobody writes must not look like a number, whatever the type."""
    path = write_kernel(
        header("1", "1", types="float32, float64, int32", args="C")
        + "__global__ void k(element *C) { C[4] = 1; }"
    )
    for dtype in ("float32", "float64", "int32"):
        with open_run(cpu, path, "3x3x3", dtype) as run:
            run.fill_output()
            run.launch()
            left = np.delete(run.product().ravel(), 4)
            assert run.product()[1, 1] == 1
            assert np.isnan(left).all() if dtype != "int32" else (np.abs(left.astype(np.int64)) > 10**9).all()


def test_no_process_outlives_its_run(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    path = write_kernel(header("1", "1", args="C") + "__global__ void k(float *C) { C[0] = 1; }")

    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    if not listing.exists():
        pytest.skip("this system does not list a process's children")

    def children() -> set[str]:
        return set(listing.read_text().split())

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before, files = children(), open_files()
    with open_run(cpu, path, "3x3x3") as run:
        run.launch()
        assert len(children() - before) == 1
    del run  # with it goes the memory, which outlives the process for whoever still looks at it
    deadline = time.monotonic() + 10
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert children() <= before
    assert open_files() == files


def test_limits_are_those_of_current_gpus(cpu: Device[Any]) -> None:
    assert cpu.limits.threads_per_block == 1024
    assert cpu.limits.block == (1024, 1024, 64)
    assert cpu.limits.grid == (2**31 - 1, 65535, 65535)
    assert cpu.info.kind == "cpu"
    assert cpu.free_bytes() > 0
