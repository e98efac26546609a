"""Faults that break a GPU's context: the faulty row fails, and later rows run in a new context."""

from __future__ import annotations

import os
import re

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.quiet]

KERNEL = """\
// A correct kernel with a fault for each value of FAULT; 0 and 99 have none.
//
// param:   BLOCK_SIZE = 16 in 16, 32
// param:   FAULT = 0 in 0, 99
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)

#undef NDEBUG
#include <assert.h>

__device__ unsigned long long launched;

__global__ void faults(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    const bool first = row + col == 0;
#if FAULT == 1
    if (first) *(volatile int *)(1ull << 60) = 1;
#elif FAULT == 2
    assert(!first);
#elif FAULT == 3
    if (first) while (*(volatile float *)A != 1e30f) {}
#elif FAULT == 4
    if (first) *(volatile double *)((char *)C + 4) = 1;
#elif FAULT == 5
    if (first) ((volatile float *)C)[1l << 36] = 1;
#elif FAULT == 6
    if (first) ((volatile float *)C)[M * N + 1] = 1;
#elif FAULT == 7
    if (first) __trap();
#elif FAULT == 8
    if (first && atomicAdd(&launched, 1) >= 1) *(volatile int *)(1ull << 60) = 1;
#elif FAULT == 9
    // All 96 values are live at once: too many registers for 1024 threads a block.
    float live[96];
    #pragma unroll
    for (int i = 0; i < 96; ++i) live[i] = A[(row + i) % (M * K)] * B[(col + i) % (K * N)];
    __syncthreads();
    float all = 0;
    #pragma unroll
    for (int i = 0; i < 96; ++i) all += live[i] * live[95 - i];
    if (all == 1e30f) C[0] = all;
#endif
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""

FAULTY = {  # value of FAULT, and what the reported reason matches
    "illegal address": (1, "illegal|invalid"),
    "device assert": (2, "assert"),
    "endless": (3, r"no answer within 3 s \(--timeout\)"),
    "misaligned": (4, "misaligned"),
    "write far past C": (5, "illegal|invalid"),
    "write past C": (6, "past the end of C"),
    "trap": (7, "launch failed|unspecified|illegal instruction|exception"),
    "illegal address when sampled": (8, "illegal|invalid"),
}


def bench(faults, block=16):
    return (
        "bench --device gpu -n 256 --runs 3 --timeout 3 -m tiled,coalesced --kernel faulty.cu "
        f"-D FAULT={faults} --block {block} --json out.json"
    )


@pytest.fixture
def gpu_workspace(workspace, needs_nvcc):
    """Return a workspace with the faulty kernel, in which the GPUs that this process may use are visible."""
    (workspace.folder / "faulty.cu").write_text(KERNEL)
    gpu_workspace = workspace.with_environment()
    del gpu_workspace.environment["CUDA_VISIBLE_DEVICES"]
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        gpu_workspace.environment["CUDA_VISIBLE_DEVICES"] = os.environ["CUDA_VISIBLE_DEVICES"]
    assert gpu_workspace.run(bench("0,99")).status == 0  # compiles, and is correct without a fault
    return gpu_workspace


def rows_by_variant(workspace):
    return {row["params"].get("FAULT", row["method"]): row for row in workspace.rows()}


def statuses(workspace):
    return {variant: row["status"] for variant, row in rows_by_variant(workspace).items()}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_costs_its_own_row_and_no_other(gpu_workspace, name):
    fault, reason = FAULTY[name]
    completed = gpu_workspace.run(bench(f"0,{fault},99"))
    assert completed.status == 1, completed.stderr
    assert statuses(gpu_workspace) == {"tiled": "ok", "coalesced": "ok", 0: "ok", fault: "failed", 99: "ok"}
    reported = rows_by_variant(gpu_workspace)[fault]["reason"]
    assert re.search(reason, reported), reported
    assert "Traceback" not in completed.stderr
    gpu_workspace.assert_nothing_left()


def test_each_fault_in_one_run_costs_its_own_row(gpu_workspace):
    faults = [fault for fault, _ in FAULTY.values()]
    completed = gpu_workspace.run(bench(",".join(map(str, [0, *faults, 99]))))
    assert completed.status == 1 and "Traceback" not in completed.stderr
    correct = {"tiled": "ok", "coalesced": "ok", 0: "ok", 99: "ok"}
    assert statuses(gpu_workspace) == correct | dict.fromkeys(faults, "failed")
    gpu_workspace.assert_nothing_left()


def test_a_kernel_with_too_many_registers_costs_its_own_row(gpu_workspace):
    """cudamm reports the row before the launch, or the driver refuses the launch."""
    completed = gpu_workspace.run(bench("0,9,99", block=32))
    rows = rows_by_variant(gpu_workspace)
    assert [rows[variant]["status"] for variant in ("tiled", "coalesced", 0, 99)] == ["ok"] * 4
    if rows[9]["status"] == "ok":
        pytest.skip(
            "nvcc spilled registers, so that 1024 threads have the 64 registers each that they may use"
        )
    assert rows[9]["status"] == "failed"
    assert re.search("register|resources", rows[9]["reason"]), rows[9]["reason"]
    assert completed.status == 1 and "Traceback" not in completed.stderr
    gpu_workspace.assert_nothing_left()
