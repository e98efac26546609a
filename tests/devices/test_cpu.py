"""Messages of the CPU device about kernels that crash, write outside their memory, or misuse a barrier."""

from __future__ import annotations

import gc
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
    """Return the number of the nth line that contains `mark`."""
    return [i for i, line in enumerate(path.read_text().splitlines(), 1) if mark in line][nth]


@pytest.fixture
def launch(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> Kernel:
    """Return a function that launches a kernel once, given its header and body, and returns the error."""

    def launch(
        head: str, body: str, shape: str = "12x16x5", before: str = "", descending: bool = False
    ) -> str:
        parameters = "int M, int N, int K, float *A, float *B, float *C"
        path = write_kernel(f"{head}{before}\n__global__ void k({parameters}) {{\n{body}\n}}\n")
        with pytest.raises(KernelError) as raised, open_run(cpu, path, shape) as run:
            run.launch(descending)
        return str(raised.value)

    return launch


# N is 16. The compiler cannot see that, so it does not remove the access.
NULL_POINTER = "float *nowhere = (float *)(size_t)(N - 16);"
IN_ONE_THREAD = "threadIdx.x == 5 && threadIdx.y == 2 && blockIdx.x == 1 && blockIdx.y == 2"


@pytest.mark.parametrize(
    ("k", "crash"),
    [
        (5, "crashed: bad memory access"),
        (6, "crashed: division by zero"),
        (7, "assertion failed in line 11 of kernel.cu: K != 7,"),
    ],
)
def test_a_crash_is_reported_with_the_thread(launch: Kernel, k: int, crash: str) -> None:
    body = f"""{NULL_POINTER}
    if ({IN_ONE_THREAD}) {{
        if (K == 5) nowhere[3] = 1;
        if (K == 6) C[0] = M / (N - 16);
        assert(K != 7);
    }}"""
    message = launch(header(), body, f"12x16x{k}")
    assert message == f"{crash} in thread (5,2) of block (1,2)"


def test_endless_recursion_is_reported_with_the_thread(launch: Kernel) -> None:
    before = """__device__ float deep(float x, int n) {
    volatile float y[64];
    y[n % 64] = x;
    return n < 0 ? 0 : deep(x, n + 1) + y[n % 64];
}"""
    message = launch(header(), f"if ({IN_ONE_THREAD}) C[0] = deep(A[0], 0);", before=before)
    assert message.startswith("crashed: bad memory access in thread (5,2) of block (1,2)")


@pytest.mark.parametrize("kilobytes", [600, 5000])  # a GPU has 512 KB a thread
def test_a_local_array_larger_than_the_stack_is_reported(launch: Kernel, kilobytes: int) -> None:
    """The first access is to the array's far end, far beyond the end of the stack."""
    body = f"volatile float big[{kilobytes} * 256];\n"
    body += f"if ({IN_ONE_THREAD}) {{ big[0] = A[0]; C[0] = big[0]; }}\n__syncthreads();"
    message = launch(header(), body)
    assert message.startswith("crashed: bad memory access in thread")


def test_a_local_array_that_fits_is_allowed(verify_one: Kernel, cpu: Device[Any]) -> None:
    """A kernel of the ladder has 24 KB of float64 sub-matrices per thread."""
    assert verify_one(cpu, "block-coarse-local", "33x40x35", "float64", BLOCK_SIZE=32).reason == ""


def test_threads_and_blocks_are_reported_in_three_dimensions(launch: Kernel) -> None:
    condition = "threadIdx.z && blockIdx.z && threadIdx.x && threadIdx.y && blockIdx.y"
    message = launch(header("2, 2, 2", "1, 2, 2"), f"{NULL_POINTER} if ({condition}) nowhere[3] = 1;")
    assert message == "crashed: bad memory access in thread (1,1,1) of block (0,1,1)"


def test_an_access_far_outside_is_reported_with_the_nearest_matrix(launch: Kernel) -> None:
    body = "if (K == 5) C[M * N + 200000] = 1; else C[0] = A[-200000];"
    message = launch(header("1", "1"), body)
    assert "bad memory access in thread (0,0) of block (0,0)" in message
    assert "past the end of C" in message
    message = launch(header("1", "1"), body, "12x16x6")
    assert "before the start of A" in message


WRITES = {
    "C[M * N] = 1;": "wrote past the end of C: 1 element beyond its 12 x 16, the first where C[12][0]",
    "C[M * N + 19] = C[M * N + 18] = 1;":
        "wrote past the end of C: 2 elements beyond its 12 x 16, the first where C[13][2]",
    "C[-1] = 1;": "wrote before the start of C: 1 element ahead of C[0][0]",
    "C[-16] = 1;": "wrote before the start of C: 16 elements ahead of C[0][0]",
    "A[2 * K + 1] += 1;": "wrote into the input A, first at A[2][1]",
    "B[N + 3] = 0; B[N + 4] = 0;": "wrote into the input B, first at B[1][3]",
    "A[M * K] = 1;": "wrote past the end of A: 1 element beyond its 12 x 5, the first where A[12][0]",
    "B[-2] = 1;": "wrote before the start of B: 2 elements",
}  # fmt: skip


@pytest.mark.parametrize("choice", range(len(WRITES)), ids=list(WRITES))
def test_writes_outside_their_matrix_are_reported(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, choice: int
) -> None:
    """The argument CHOICE is the index of the write, so one program is compiled for all."""
    cases = "\n".join(f"case {index}: {write} break;" for index, write in enumerate(WRITES))
    path = write_kernel(
        header("1", "1", param="CHOICE = 0", args="M, N, K, A, B, C, CHOICE")
        + f"__global__ void k(int M, int N, int K, float *A, float *B, float *C, int choice) {{\n"
        f"switch (choice) {{\n{cases}\n}}\n}}\n"
    )
    with pytest.raises(KernelError) as raised, open_run(cpu, path, "12x16x5", CHOICE=choice) as run:
        run.launch()
    assert list(WRITES.values())[choice] in str(raised.value)


ONE_WRITE = header("1", "1", types="float32, float64, int32", param="AT = 0", args="C, AT")
ONE_WRITE += "__global__ void k(element *C, int at) { C[at] = 1; }"


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_writes_outside_a_matrix_of_other_types_are_reported(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    """With an odd number of elements the guard does not begin at a multiple of eight bytes."""
    with (
        open_run(cpu, write_kernel(ONE_WRITE), "3x3x3", dtype, AT=9) as run,
        pytest.raises(KernelError, match=r"1 element beyond.*C\[3\]\[0\]"),
    ):
        run.launch()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_an_unwritten_element_does_not_look_like_a_product(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    with open_run(cpu, write_kernel(ONE_WRITE), "3x3x3", dtype, AT=4) as run:
        run.fill_output()
        run.launch()
        unwritten = np.delete(run.product().ravel(), 4)
        assert run.product()[1, 1] == 1
    if dtype == "int32":
        assert (np.abs(unwritten.astype(np.int64)) > 10**9).all()
    else:
        assert (np.abs(unwritten) > 10**6).all()


def test_writes_past_dynamic_shared_memory_are_reported(launch: Kernel) -> None:
    head = header("4", "2", shared_bytes="40")
    body = (
        "extern __shared__ float s[];\nif (K == 5 && blockIdx.x) s[10] = 1;\n"
        "if (K == 6 && !blockIdx.x) ((double *)s)[6] = 1;"
    )
    assert launch(head, body) == (
        "block (1,0) wrote past its dynamic shared memory: 40 bytes were requested, byte 40 was written"
    )
    assert "byte 48 was written" in launch(head, body, "12x16x6")


def test_dynamic_shared_memory_that_was_not_requested_is_reported(launch: Kernel) -> None:
    message = launch(header("4", "1", shared_bytes="4"), "extern __shared__ float s[]; s[threadIdx.x] = 1;")
    assert "4 bytes were requested, byte 4 was written" in message


@pytest.mark.parametrize("descending", [False, True])
def test_threads_at_different_barriers_are_reported(launch: Kernel, tmp_path: Path, descending: bool) -> None:
    body = "if (threadIdx.x < 4) {\n    __syncthreads();  // low\n} else {\n    __syncthreads();  // high\n}"
    message = launch(header(), body, descending=descending)
    path = tmp_path / "kernel.cu"
    assert "threads wait at different barriers" in message
    assert f"in line {line_of(path, '// low')} of kernel.cu" in message
    assert f"in line {line_of(path, '// high')} of kernel.cu" in message


LEAVERS = ["threadIdx.x < 4", "threadIdx.x >= 4", "threadIdx.y == 3", "threadIdx.y == 0"]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("k", range(1, 5), ids=LEAVERS)
def test_a_barrier_waits_for_the_threads_that_have_not_left(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, tmp_path: Path, k: int, descending: bool
) -> None:
    """So the CUDA C++ Programming Guide defines it from compute capability 7.0 on."""
    leaves = " || ".join(f"(K == {choice} && {leaver})" for choice, leaver in enumerate(LEAVERS, 1))
    parameters = "int M, int N, int K, float *A, float *B, float *C"
    body = f"if ({leaves}) return;\n__syncthreads();  // here\nC[0] = 1;"
    path = write_kernel(f"{header(grid='1')}__global__ void k({parameters}) {{\n{body}\n}}\n")
    with open_run(cpu, path, f"12x16x{k}") as run:
        run.launch(descending)
        message = run.missed_barrier
        assert run.product()[0, 0] == 1
    assert f"in line {line_of(tmp_path / 'kernel.cu', '// here')} of kernel.cu" in message
    assert "left the kernel" in message
    assert "a later one goes on without it" in message
    assert message.startswith("block (0,0)")


def test_a_continue_around_a_barrier_is_reported(launch: Kernel, tmp_path: Path) -> None:
    body = "for (int i = 0; i < 3; ++i) {\n    if (threadIdx.x == i) continue;\n"
    body += "    __syncthreads();  // in the loop\n}\n__syncthreads();"
    message = launch(header(), body)
    assert "threads wait at different barriers" in message
    assert f"in line {line_of(tmp_path / 'kernel.cu', 'in the loop')} of kernel.cu" in message


def test_correct_barriers_are_not_reported(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    """Two barriers alternate in a loop, whole blocks skip them, and threads leave after the last one."""
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


def test_a_wrong_number_of_arguments_is_refused(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(header(args="A, B, C") + "__global__ void k(float *A, int n) {}")
    with pytest.raises(UsageError, match=r"k takes 2 arguments, .*3 are given \(A, B, C\); .* --args"):
        verify_one(cpu, path)


def test_a_kernel_that_ends_its_process_is_reported(launch: Kernel) -> None:
    assert (
        launch(header("1", "1"), "_exit(9);", before='extern "C" void _exit(int);')
        == "the process running the kernel ended with status 9"
    )


def test_a_run_that_failed_fails_again(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    body = "__global__ void k(int zero, float *C) { C[0] = 41 / zero; }"
    path = write_kernel(header("1", "1", args="K - 3, C") + body)
    with open_run(cpu, path, "3x3x3") as run:
        for _ in range(2):
            with pytest.raises(KernelError):
                run.launch()


def test_a_kernels_output_goes_to_standard_error(
    cpu: Device[Any], verify_one: Kernel, kernels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert verify_one(cpu, kernels / "talkative.cu", "9x7x5").reason == ""
    printed = capfd.readouterr()
    # Standard output is for tables and JSON. Verification launches twice, in both thread orders.
    assert printed.out == ""
    assert printed.err == "talkative at 9x7x5 prints:\nok 12345\nfailed on purpose\n\nM=9\n"


def test_a_kernels_output_before_a_crash_is_shown(launch: Kernel, capfd: pytest.CaptureFixture[str]) -> None:
    launch(header("1", "1"), NULL_POINTER + 'printf("about to write\\n"); nowhere[3] = 1;')
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


def test_no_process_outlives_its_run(cpu: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    path = write_kernel(header("1", "1", args="C") + "__global__ void k(float *C) { C[0] = 1; }")

    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    if not listing.exists():
        pytest.skip("this system does not list a process's children")

    def children() -> set[str]:
        return set(listing.read_text().split())

    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    gc.collect()  # files of other tests must not be closed meanwhile
    before, files = children(), open_files()
    with open_run(cpu, path, "3x3x3") as run:
        run.launch()
        assert len(children() - before) == 1
    del run  # frees the shared memory, which is otherwise kept after the process has ended
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
