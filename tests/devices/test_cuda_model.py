"""CUDA's execution model: small kernels behave as in the Programming Guide, on the CPU device and a GPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.devices.device import SHARED, Device
from cudamm.errors import KernelError, UsageError

Kernel = Callable[..., Any]


def output(
    open_run: Kernel, device: Device[Any], path: Path, shape: str, dtype: str = "int32", **values: int
) -> np.ndarray:
    """Set C to zero, launch the kernel once, and return C."""
    with open_run(device, path, shape, dtype, **values) as run:
        run.fill_output(np.uint32(0))
        run.launch()
        run.check_memory()
        return run.product().copy()


def test_shuffles_return_the_values_of_the_other_lanes(
    device: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    actual = output(open_run, device, kernels / "shuffles.cu", "13x64x1")
    t = np.arange(64)
    warp, lane = t // 32 * 32, t % 32

    def v(thread: np.ndarray) -> np.ndarray:
        return 1000 * (thread // 32) + 7 * (thread % 32) + 3

    def group(width: int) -> np.ndarray:
        return lane // width * width

    expected = [
        v(warp + 5),
        v(warp + group(8) + (lane + 1) % 8),
        v(warp + np.where(lane < 3, lane, lane - 3)),
        v(warp + np.where(lane % 16 < 3, lane, lane - 3)),
        v(warp + np.where(lane + 5 > 31, lane, lane + 5)),
        v(warp + np.where(lane % 8 + 5 > 7, lane, lane + 5)),
        v(warp + (lane ^ 1)),
        v(warp + (lane ^ 16)),
        # A lane may read from a group before its own, and not from a group after it.
        v(warp + np.where(lane // 4 % 2 == 0, lane, lane - 4)),
        2 * v(warp + 31 - lane) + 1,
        v(warp + (lane ^ 3)),
        np.where(lane < 16, v(warp + np.where(lane % 16 + 8 > 15, lane, lane + 8)), -1),
        np.where(t < 32, v(t[:32]).sum(), v(t[32:]).sum()),
    ]
    for row, line in enumerate(expected):
        assert actual[row].tolist() == line.tolist(), f"row {row} of shuffles.cu"


def test_votes_and_warp_barriers_work_as_documented(
    device: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    actual = output(open_run, device, kernels / "votes.cu", "11x96x1")
    t = np.arange(96)
    warp, lane = t // 32, t % 32

    def mask(bits: Any) -> int:
        return int(np.uint32(sum(1 << int(bit) for bit in bits)).astype(np.int32))

    lanes = np.arange(32)
    ballots = [mask(lanes[lanes % 3 == w]) for w in range(3)]
    expected = [
        np.array(ballots)[warp],
        warp == 1,
        warp != 1,
        np.where(lane < 8, -1, mask(lanes[(lanes >= 8) & (lanes % 2 == 1)])),
        np.full(96, (t % 5 == 0).sum()),
        np.ones(96),
        np.zeros(96),
        np.zeros(96),
        np.ones(96),
        np.full(96, sum((i + 1) * min(96, 10 * i) for i in range(7))),
        10 * t + 1,
    ]
    for row, line in enumerate(expected):
        # CUDA does not define which number other than 0 is returned for `true`.
        got = actual[row] != 0 if row in (1, 2, 5, 6, 7, 8) else actual[row]
        assert got.astype(int).tolist() == line.astype(int).tolist(), f"row {row} of votes.cu"


def test_indices_and_sizes_have_three_dimensions(
    device: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    actual = output(open_run, device, kernels / "three_dimensions.cu", "12x24x1")
    assert np.unique(actual).tolist() == [234322032]


def test_atomics_of_all_threads_are_added(device: Device[Any], open_run: Kernel, kernels: Path) -> None:
    threads = 33 * 64
    actual = output(open_run, device, kernels / "atomics.cu", f"1x{threads + 8}x1").ravel()
    assert actual[0] == threads
    assert actual[1:8].tolist() == [threads // 2, threads // 4, threads, 0, 9, 7, 9]
    assert actual[8:].tolist() == [5] * threads  # every position was handed out once


def test_atomic_add_converts_its_value(device: Device[Any], open_run: Kernel, write_kernel: Kernel) -> None:
    """CUDA's overloads convert it. `atomicAdd(&counter, 1)` with an unsigned counter is common."""
    path = write_kernel(
        "// types: int32\n// args: C\n// threads: 32\n// grid: 1\n"
        "__device__ unsigned int counter;\n__device__ float sum;\n"
        "__global__ void k(int *C) {\n"
        "    atomicAdd(&counter, 1);\n    atomicAdd(&sum, 1);\n    __syncthreads();\n"
        "    C[threadIdx.x] = (int)atomicAdd(&counter, 0) + 1000 * (int)atomicAdd(&sum, 0);\n}\n"
    )
    assert output(open_run, device, path, "1x32x1").tolist() == [[32032] * 32]


def test_shared_and_constant_memory_hold_their_values(
    device: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    actual = output(open_run, device, kernels / "shared_memory.cu", "8x224x1")
    t = np.arange(224) % 32
    neighbour = (t + 1) % 32
    expected = [
        np.float32(1 + neighbour).view(np.int32),
        5 * neighbour,
        (ord("a") + neighbour % 26) * 10000 + neighbour**2,
        -neighbour,
        800 + 10 * (t % 4 + 1),
        np.full(224, 85),
        np.zeros(224),
        np.full(224, 77),
    ]
    for row, line in enumerate(expected):
        assert actual[row].tolist() == line.astype(int).tolist(), f"row {row} of shared_memory.cu"


def test_dynamic_arrays_may_be_declared_in_any_form(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    """All names are of the same memory."""
    in_file = (
        "extern __shared__ int a[];\nextern __shared__ volatile int b [ ] ;\n__shared__ extern int c[];\n"
    )
    in_kernel = (
        "extern __shared__ int d[]; extern __shared__ __align__(16) int e[];\n"
        "extern __align__(16) __shared__ int f[]; extern volatile __shared__ int g[];\n"
    )
    uses = "".join(
        f"{name}[t] = {row} + t; __syncthreads(); C[8 * {row} + t] = {name}[7 - t]; __syncthreads();\n"
        for row, name in enumerate("abcdefg")
    )
    path = write_kernel(
        "// types: int32\n// args: C\n// threads: 8\n// grid: 1\n// shared-bytes: 8 * element\n\n"
        f"{in_file}__global__ void k(int *C) {{\nconst int t = threadIdx.x;\n{in_kernel}{uses}}}\n"
    )
    expected = [[row + 7 - t for t in range(8)] for row in range(7)]
    assert output(open_run, device, path, "7x8x1").tolist() == expected


def test_shared_memory_starts_as_nan_in_every_block(
    cpu: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    """A GPU's shared memory contains values of an earlier block, which hides reads of unwritten memory."""
    actual = output(open_run, cpu, kernels / "unwritten_shared.cu", "80x16x1", "float32")
    assert np.isnan(actual).all()
    assert (actual.view(np.uint32) == SHARED).all()


UNWRITTEN = """\
// types: int32
// args: C
// threads: 16
// grid: 1
// shared-bytes: 64

struct Pair { int first, second; };
__shared__ int outside[2][16];
__device__ __forceinline__ int in_function(int i) { __shared__ int s[16]; return s[i]; }
template <int N> __device__ int in_template(int i) { __shared__ int s[N]; return s[i]; }
__global__ void k(int *C) {
    const int i = threadIdx.x;
    __shared__ int whole[16], half[32];
    volatile __shared__ int cell;
    __shared__ Pair pairs[16];
    extern __shared__ int dynamic[];
    half[i] = 1;
    pairs[i].first = 1;
    __syncthreads();
    C[i] = whole[i];
    C[16 + i] = half[16 + i];
    C[32 + i] = cell;
    C[48 + i] = pairs[i].second;
    C[64 + i] = outside[1][i];
    C[80 + i] = in_function(i);
    C[96 + i] = in_template<16>(i);
    C[112 + i] = dynamic[i];
}
"""


def test_shared_memory_that_no_thread_writes_is_never_zero(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    """The host compiler must not replace such a variable by zeros."""
    found = output(open_run, cpu, write_kernel(UNWRITTEN), "8x16x1").view(np.uint32)
    assert [row for row in range(8) if (found[row] != SHARED).any()] == []


@pytest.mark.parametrize(("dtype", "variable"), [("float32", "sum"), ("float64", "sum[2]")])
def test_a_sum_in_a_variable_that_was_never_set_is_wrong(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, dtype: str, variable: str
) -> None:
    path = write_kernel(
        "// threads: 4, 4\n// grid: ceil(N / 4), ceil(M / 4)\n"
        "__global__ void k(int M, int N, int K, const element *A, const element *B, element *C) {\n"
        "    const int x = blockIdx.x * 4 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;\n"
        f"    element {variable};\n    element &s = *(element *)&sum;\n"
        "    for (int k = 0; k < K && x < N && y < M; ++k) s += A[y * K + k] * B[k * N + x];\n"
        "    if (x < N && y < M) C[y * N + x] = s;\n}\n"
    )
    reason = verify_one(cpu, path, "5x6x7", dtype).reason
    assert reason.startswith("30 of 30 elements wrong")
    assert "read from a local variable that was never set" in reason


@pytest.mark.parametrize("shape", ["8x32x16", "13x44x18", "1x4x2"])
def test_vector_loads_and_stores_are_correct(
    device: Device[Any], verify_one: Kernel, kernels: Path, shape: str
) -> None:
    assert verify_one(device, kernels / "vectors.cu", shape).reason == ""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", ["5x3x100", "4x2x7"])
def test_a_product_by_shuffles_is_correct(
    device: Device[Any], verify_one: Kernel, kernels: Path, shape: str, dtype: str
) -> None:
    assert verify_one(device, kernels / "warp_product.cu", shape, dtype).reason == ""


def test_barriers_in_functions_synchronize_the_block(
    device: Device[Any], verify_one: Kernel, kernels: Path
) -> None:
    for shape in ("8x8x8", "20x13x17", "1x1x1"):
        assert verify_one(device, kernels / "barrier_in_function.cu", shape).reason == ""


def test_blocks_may_add_to_the_same_element(device: Device[Any], open_run: Kernel, kernels: Path) -> None:
    with open_run(device, kernels / "split_k.cu", "20x13x50") as run:
        run.fill_output(np.uint32(0))
        run.launch()
        a, b = (run.matrices[name].astype(np.float64) for name in ("A", "B"))
        assert np.abs(run.product() - a @ b).max() < 50 * 2**-23 * (np.abs(a) @ np.abs(b)).max()


def test_diverged_lanes_shuffle_under_a_mask(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    """A mask contains the lanes that participate. Lanes that have left the kernel need not participate."""
    path = write_kernel(
        """// types: int32
// args: C
// threads: 32
// grid: 1

__global__ void k(int *C) {
    const int lane = threadIdx.x;
    int v = lane;
    if (lane < 12)
        v = __shfl_xor_sync(0x00000fffu, v, 1);
    else if (lane < 24)
        v = 100 + __shfl_xor_sync(0x00fff000u, v, 1);
    C[lane] = v;
    __syncwarp();
    C[32 + lane] = C[31 - lane];
    if (lane % 2) return;
    C[64 + lane] = __shfl_down_sync(0x55555555u, lane, 2);
    if (lane >= 16) return;
    __syncwarp();
    C[64 + lane + 1] = __shfl_sync(0xffffffffu, 5 * lane, 4);
}
"""
    )
    actual = output(open_run, device, path, "3x32x1")
    lane = np.arange(32)
    parted = np.where(lane < 24, (lane ^ 1) + 100 * (lane >= 12), lane)
    assert actual[0].tolist() == parted.tolist()
    assert actual[1].tolist() == parted[::-1].tolist()
    assert actual[2, ::2].tolist() == [*range(2, 32, 2), 30]
    assert actual[2, 1::2].tolist() == [20] * 8 + [0] * 8


def one_of(write_kernel: Kernel, operations: Sequence[str]) -> tuple[Path, list[int]]:
    """Write a kernel that executes one of several operations on `v`; return the path and each one's line.

    The argument CHOICE is the index of the operation, so one program is compiled for all operations.
    """
    text = (
        "// types: int32\n// param: THREADS = 32\n// param: CHOICE = 0\n// args: C, CHOICE\n"
        "// threads: THREADS\n// grid: 1\n__global__ void k(int *C, int choice) {\n"
        "    const int t = threadIdx.x, lane = t % 32; int v = 100 + t;\n"
    )
    lines = []
    for choice, operation in enumerate(operations):
        text += f"    if (choice == {choice}) {{\n"
        lines.append(text.count("\n") + 1)
        text += f"        {operation}\n    }}\n"
    return write_kernel(text + "    C[t] = v;\n}\n"), lines


WRONG_MASKS = {
    "v = __shfl_sync(0x0000ffffu, v, 0);":
        r"thread \(16,0\) is not in the mask 0x0000ffff that it passes to __shfl_sync in line LINE",
    "__syncwarp(0x0000ffffu);": r"\(16,0\) is not in the mask 0x0000ffff .* __syncwarp in line LINE",
    "v = __ballot_sync(0u, 1);": r"\(0,0\) is not in the mask 0x00000000 .* __ballot_sync in line LINE",
    "v = __any_sync(0xfffffffeu, 1);": r"thread \(0,0\) is not in the mask 0xfffffffe .* __any_sync",
    "if (lane < 16) v = __shfl_sync(~0u, v, 0);\n        else v = __shfl_down_sync(~0u, v, 0);":
        r"different operations with the mask 0xffffffff, thread \(0,0\) in line LINE of .*__shfl_sync.* and "
        r"thread \(31,0\) in line NEXT of .*__shfl_down_sync",
    "if (lane < 16) v = __all_sync(~0u, v);\n        else __syncwarp();": "different operations with",
    "if (lane < 16) v = __shfl_sync(~0u, v, 0);\n        __syncthreads();":
        r"stuck: thread \(0,0\) waits in line LINE of .*__shfl_sync with the mask 0xffffffff, for thread "
        r"\(16,0\), which waits in line NEXT",
}  # fmt: skip
"""The message for each operation. LINE is the operation's first line, and NEXT the line after it."""


@pytest.mark.parametrize("choice", range(len(WRONG_MASKS)), ids=list(WRONG_MASKS))
def test_a_warp_operation_with_a_wrong_mask_is_a_fault(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, choice: int
) -> None:
    path, lines = one_of(write_kernel, list(WRONG_MASKS))
    message = list(WRONG_MASKS.values())[choice]
    message = message.replace("LINE", str(lines[choice])).replace("NEXT", str(lines[choice] + 1))
    with (
        open_run(cpu, path, "1x32x1", "int32", CHOICE=choice) as run,
        pytest.raises(KernelError, match=message),
    ):
        run.launch()


SHUFFLES = [
    "v = __shfl_sync(~0u, v, 20);",
    "v = __shfl_down_sync(~0u, v, 1);",
    "if (lane < 16) v = __shfl_sync(0x0000ffffu, v, 20);",
    "if (lane >= 16) return; v = __shfl_xor_sync(~0u, v, 16);",
]


@pytest.mark.parametrize(
    ("choice", "threads", "lane", "reason"),
    [
        (0, 48, 20, "has no thread"),
        (1, 48, 16, "has no thread"),
        (2, 32, 20, "is not in the mask"),
        (3, 32, 16, "has left the kernel"),
    ],
)
def test_a_shuffle_from_an_absent_lane_returns_a_value_that_is_wrong(
    cpu: Device[Any],
    open_run: Kernel,
    write_kernel: Kernel,
    choice: int,
    threads: int,
    lane: int,
    reason: str,
) -> None:
    """The Programming Guide leaves the value undefined, so a kernel may read it and must not use it."""
    path, lines = one_of(write_kernel, SHUFFLES)
    with open_run(cpu, path, f"1x{threads}x1", "int32", THREADS=threads, CHOICE=choice) as run:
        run.launch()
        assert 0x7FF81A4E in run.product()
        assert f"reads lane {lane} with __shfl" in run.undefined_shuffle
        assert f"that lane {reason}" in run.undefined_shuffle
        assert f"in line {lines[choice]}" in run.undefined_shuffle


def one_block(write_kernel: Kernel, threads: int, *lines: str) -> Path:
    """Write a kernel that computes `v` from its lane."""
    header = (
        f"// types: int32\n// args: C\n// threads: {threads}\n// grid: 1\n\n__global__ void k(int *C) {{\n"
    )
    start = "    const int t = threadIdx.x, lane = t % 32; int v = 100 + t;\n"
    path: Path = write_kernel(header + start + "\n".join(lines) + "\n    C[t] = v;\n}\n")
    return path


def test_full_masks_are_allowed_in_the_last_warp_of_a_block(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    """A mask may name lanes that do not exist, and an undefined value that is not used does no harm."""
    path = one_block(
        write_kernel,
        40,
        "    int sum = v;",
        "    for (int d = 4; d; d /= 2) sum += __shfl_down_sync(~0u, sum, d);",
        "    const int votes = __ballot_sync(~0u, 1);",
        "    __syncwarp();",
        "    v = lane % 8 ? votes : sum;",
    )
    t = np.arange(40)
    expected = np.where(t % 8, np.where(t < 32, -1, 255), 8 * (100 + t) + 28)
    assert output(open_run, device, path, "1x40x1").tolist() == [expected.tolist()]


def test_a_vote_counts_lanes_that_leave_the_kernel_after_it(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    path = one_block(write_kernel, 32, "    v = (int)__ballot_sync(~0u, lane != 3);")
    assert output(open_run, device, path, "1x32x1").tolist() == [[~8] * 32]


def test_a_wrong_product_names_the_shuffle_whose_value_is_undefined(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(
        "// threads: 48\n// grid: M\n// types: float32\n"
        "__global__ void k(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    float sum = 0;\n    const int row = blockIdx.x;\n"
        "    for (int k = threadIdx.x; k < K; k += 48) sum += A[row * K + k] * B[k * N];\n"
        "    for (int d = 16; d; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);\n"
        "    if (threadIdx.x % 32 == 0) atomicAdd(&C[row * N], sum);\n}\n"
    )
    reason = verify_one(cpu, path, "3x1x96").reason
    assert "in line 8 of" in reason
    assert (
        "reads lane 16 with __shfl_down_sync and the mask 0xffffffff, but that lane has no thread" in reason
    )


def test_cuda_keywords_that_change_no_result_are_accepted(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(
        """// types: int32
// args: C, 3
// threads: 4
// grid: 2

#include <stdio.h>
#include <cuda_runtime.h>
#define CELL(i) C[i]

struct __align__(8) Pair { int first, second; };
__device__ __constant__ int ten = 10;
__device__ int table[2] = {100, 200};
template <int FACTOR> __device__ __host__ __forceinline__ int times(int x) { return FACTOR * x; }
static __device__ __noinline__ int plus(int a, int b) { return a + b; }
__device__ int earlier(int n);

extern "C" __global__ void __launch_bounds__(4) k(int *__restrict__ C, const int step) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    volatile __shared__ int kept[4];
    Pair pair = {(int)i, step};
#pragma unroll
    for (int j = 0; j < 2; ++j) pair.first += j;
    kept[threadIdx.x] = times<2>(pair.first);
    __syncthreads();
    CELL(i) = plus(kept[threadIdx.x], earlier(pair.second)) + ten + table[blockIdx.x];
    CELL(i) += max(1, 2) + min(4u, i);
}

__device__ int earlier(int n) { return n > 0 ? 1 + earlier(n - 1) : 0; }
"""
    )
    expected = [2 * (i + 1) + 3 + 10 + (100, 200)[i // 4] + 2 + min(4, i) for i in range(8)]
    assert output(open_run, device, path, "1x8x1").tolist() == [expected]


def test_arguments_reach_parameters_of_every_type(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(
        "// types: int32\n// args: 3, C, -5, 2.5, M * N, 1e10, 7, 0\n// threads: 1\n// grid: 1\n"
        "__global__ void k(unsigned char a, int *C, short b, float c, long long d, double e, size_t f,\n"
        "                  bool g) {\n"
        "    C[0] = a; C[1] = b; C[2] = (int)(c * 2); C[3] = (int)d;\n"
        "    C[4] = (int)(e / 1e7); C[5] = (int)f; C[6] = g;\n}\n"
    )
    assert output(open_run, device, path, "1x7x1").tolist() == [[3, -5, 5, 7, 1000, 7, 0]]


def test_blocks_of_1024_threads_and_of_1_thread_run(device: Device[Any], verify_one: Kernel) -> None:
    assert verify_one(device, "tiled", "33x33x33", BLOCK_SIZE=32).reason == ""
    assert verify_one(device, "tiled", "3x3x3", BLOCK_SIZE=1).reason == ""


def test_more_shared_memory_than_a_kernel_may_declare_is_refused(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    declared = (
        "// types: int32\n// args: C\n// threads: 1\n// grid: 1\n"
        "__global__ void k(int *C) {{ __shared__ volatile int s[{}]; s[0] = 1; C[0] = s[0]; }}"
    )
    assert output(open_run, device, write_kernel(declared.format(12 * 1024)), "1x1x1").tolist() == [[1]]
    # The CPU device reports it when the kernel is opened, nvcc when it is compiled.
    with pytest.raises((KernelError, UsageError), match="shared"):
        output(open_run, device, write_kernel(declared.format(12 * 1024 + 1)), "1x1x1")


def test_large_dynamic_shared_memory_is_allowed(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(
        "// types: int32\n// args: C\n// threads: 1\n// grid: 1\n// shared-bytes: 90 * 1024\n"
        "__global__ void k(int *C) { extern __shared__ int s[]; s[23039] = 6; C[0] = s[23039]; }"
    )
    assert output(open_run, device, path, "1x1x1").tolist() == [[6]]


def test_a_header_beside_the_kernel_is_found_and_its_changes_are_compiled(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(
        "// types: int32\n// args: C\n// threads: 1\n// grid: 1\n\n"
        '#include "answer.h"\n__global__ void k(int *C) { C[0] = ANSWER; }\n'
    )
    for answer in (41, 42):
        (path.parent / "answer.h").write_text(f"#define ANSWER {answer}\n")
        assert output(open_run, device, path, "1x1x1").tolist() == [[answer]]


def test_asynchronous_copies_are_complete_after_the_wait(
    device: Device[Any], open_run: Kernel, kernels: Path
) -> None:
    with open_run(device, kernels / "async_copy.cu", "70x90x50", BK=8, TM=4) as run:
        run.fill_output(np.uint32(0))
        run.launch()
        run.check_memory()
        a, b = run.matrices["A"], run.matrices["B"]
        assert np.allclose(run.product(), a.astype(np.float64) @ b, atol=1e-4)


COPIES = """\
// types: float32
// param: MISTAKE = 0
// args: B, C, MISTAKE
// threads: 32
// grid: 1
#include <cuda_pipeline.h>
__global__ void two_copies(const float *B, float *C, int mistake) {
    __shared__ float to[2][32];
    const int t = threadIdx.x;
    for (int row = 0; row < 2; ++row) {
        __pipeline_memcpy_async(&to[row][t], &B[32 * row + t], 4);
        if (mistake != 1) __pipeline_commit();
    }
    if (mistake != 2) __pipeline_wait_prior(mistake == 3 ? 2 : 1);
    C[t] = to[0][t];
}
"""


@pytest.mark.parametrize(
    ("mistake", "complete"),
    [(0, True), (1, False), (2, False), (3, False)],
    ids=["correct", "no commit", "no wait", "a wait for too few groups"],
)
def test_an_asynchronous_copy_is_not_complete_without_a_wait(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, mistake: int, complete: bool
) -> None:
    with open_run(cpu, write_kernel(COPIES), "1x32x2", MISTAKE=mistake) as run:
        run.launch()
        # Shared memory that was not written contains NaN.
        assert np.array_equal(run.product()[0], run.matrices["B"][0]) is complete
        assert np.isnan(run.product()).all() != complete


@pytest.mark.parametrize(("offset", "size", "zeros"), [(0, 5, 0), (2, 4, 0), (0, 4, 5)])
def test_an_asynchronous_copy_that_the_hardware_does_not_support_is_refused(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, offset: int, size: int, zeros: int
) -> None:
    path = write_kernel(
        "// types: float32\n// param: OFFSET = 0\n// param: SIZE = 4\n// param: ZEROS = 0\n"
        "// args: C, OFFSET, SIZE, ZEROS\n// threads: 1\n// grid: 1\n#include <cuda_pipeline.h>\n"
        "__global__ void one(float *C, int offset, int size, int zeros) {\n    __shared__ float to[4];\n"
        "    __pipeline_memcpy_async(to, (char *)C + offset, size, zeros);\n    __pipeline_commit();\n"
        "    __pipeline_wait_prior(0);\n    C[1] = to[0];\n}\n"
    )
    with (
        open_run(cpu, path, "4x4x4", OFFSET=offset, SIZE=size, ZEROS=zeros) as run,
        pytest.raises(KernelError, match=r"begins a copy of \d bytes in line 11"),
    ):
        run.launch()
