"""Each row of the table in docs/cuda_on_the_cpu.md has a test, in example_kernels/cuda_features or here."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.compile.program import program
from cudamm.devices.device import Device, padded
from cudamm.devices.observe import observe
from cudamm.errors import KernelError, UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

Kernel = Callable[..., Any]
TABLE = Path(__file__).parents[2] / "docs" / "cuda_on_the_cpu.md"
FEATURES = Path(__file__).parents[1] / "example_kernels" / "cuda_features"
FILES = ("functions.cu", "threads.cu", "inline_ptx.cu", "tensor_cores.cu")


@dataclass(frozen=True)
class Refused:
    """The body of a kernel that the CPU device refuses, and what its message contains."""

    body: str
    message: str
    before: str = ""
    element: str = "int"


HEADER = "// types: int32\n// args: C\n// threads: 32\n// grid: 1\n"

REFUSED = {
    "Inline PTX: `wgmma`, `stmatrix`, `mbarrier`, `cp.async.bulk`, `mma` of other types": Refused(
        'asm volatile("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 {%0, %0}, {%1}, {%1}, {%1, %1};" '
        ': "=r"(C[0]) : "r"(0));',
        "kernel.cu:LINE: the CPU device has no tensor core instruction "
        "mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32 (inline PTX): commands that compile with nvcc, ",
    ),
    "Tensor cores: `nvcuda::wmma::experimental`, numbers of 4 bits and of 1 bit": Refused(
        "nvcuda::wmma::fragment<int, 8, 8, 32, nvcuda::wmma::experimental::precision::s4> a;",
        "does not have tensor cores of numbers of 4 bits and of 1 bit",
        before="#include <mma.h>",
    ),
    "Matrices of half or bfloat16 where the header says `types: int32` or another": Refused(
        "C[0] = 1;",
        "the kernel's matrices are half or bfloat16, and cudamm would pass matrices of another type",
        before="#include <cuda_fp16.h>\n#define NUMBER half",
        element="NUMBER",
    ),
    "Other real numbers of 8 bits and fewer: `__nv_fp8_e5m2`, `__nv_fp8x2_e4m3`, `__nv_fp4_e2m1`, …": Refused(
        "__nv_fp8_e5m2 x; C[0] = x;",
        "does not have such real numbers of 8 bits or fewer",
        before="#include <cuda_fp8.h>",
    ),
    "Textures and surfaces, by object and by reference": Refused(
        "cudaTextureObject_t texture = 0; C[0] = tex2D<int>(texture, 0, 0);",
        "does not have textures and surfaces",
    ),
    "Dynamic parallelism: a launch by a kernel": Refused(
        "k<<<1, 1>>>(C);", "does not have dynamic parallelism"
    ),
    "Thread block clusters, distributed shared memory": Refused(
        "auto cluster = cooperative_groups::this_cluster(); cluster.sync();",
        "does not have thread block clusters",
        before="#include <cooperative_groups.h>",
    ),
    "Tensor maps and the copy engine of sm_90 (TMA)": Refused(
        "C[0] = sizeof(CUtensorMap);", "does not have tensor maps and the copy engine"
    ),
    "SIMD video instructions: `__vadd4` and the like": Refused(
        "C[0] = __vadd4(1, 2);", "does not have SIMD video instructions"
    ),
    "Warp functions without `_sync`, such as `__shfl_down`": Refused(
        "C[0] = __shfl_down(C[0], 1);", "CUDA has no warp functions without _sync any more: use __shfl_sync"
    ),
    "Cooperative groups: `this_grid().sync()`": Refused(
        "cooperative_groups::this_grid().sync();",
        "it was called in line LINE of kernel.cu, in thread (0,0) of block (0,0)",
        before="#include <cooperative_groups.h>",
    ),
    "Cooperative groups: tiles of more than 32 threads": Refused(
        "cooperative_groups::tiled_partition<64>(cooperative_groups::this_thread_block());",
        "a tile has 1, 2, 4, 8, 16 or 32 threads",
        before="#include <cooperative_groups.h>",
    ),
    "CUB, Thrust, CUTLASS, and headers of `cuda/` other than those above": Refused(
        "typedef cub::BlockReduce<float, 128> Reduce;",
        "kernel.cu:5: the CPU device does not have CUB, Thrust and CUTLASS",
        before="#include <cub/cub.cuh>",
    ),
    "`cuda::barrier` and `cuda::pipeline` of a whole device": Refused(
        "__shared__ cuda::barrier<cuda::thread_scope_device> b;",
        "blocks cannot wait for each other",
        before="#include <cuda/barrier>",
    ),
}
FAULTS = {
    "`__trap`": (
        "__trap();",
        "__trap() was called in line LINE of kernel.cu, in thread (3,0) of block (0,0)",
    ),
    "`__brkpt`": (
        "__brkpt();",
        "__brkpt() was called in line LINE of kernel.cu, in thread (3,0) of block (0,0)",
    ),
    "`assert`": (
        "assert(t != 3);",
        "assertion failed in line LINE of kernel.cu: t != 3, in thread (3,0) of block (0,0)",
    ),
}
OTHER_FAULTS = {
    "more threads": (
        "init(&b, 2); b.arrive_and_wait();",
        "block (0,0) is stuck: thread (3,0) waits in line LINE of kernel.cu at a barrier for 2 threads, "
        "at which 1 have arrived",
    ),
    "not initialised": (
        "b.arrive_and_wait();",
        "block (0,0): thread (3,0) uses a barrier in line LINE of kernel.cu that was not initialised",
    ),
    "__ldg of shared memory": (
        "__shared__ int s; C[0] = __ldg(&s);",
        "__ldg reads global memory only, and was given shared memory in line LINE of kernel.cu, "
        "in thread (3,0) of block (0,0)",
    ),
}
"""Faults of features that work."""
PRINTF = "`printf`"
"""Tested in test_cpu.py."""
MATRICES = "Matrices A, B and C of half and bfloat16"
"""Tested in test_tensor_cores.py."""


def features_in(file: str) -> dict[str, list[int]]:
    """Return the lines of the checks of each feature in a kernel's file."""
    features: dict[str, list[int]] = {}
    lines: list[int] = []
    for number, line in enumerate((FEATURES / file).read_text().splitlines(), 1):
        if line.startswith("    // feature: "):
            lines = features[line.removeprefix("    // feature: ")] = []
        elif line.startswith("    CHECK("):
            lines.append(number)
    return features


def test_each_row_of_the_table_has_a_test_and_each_test_a_row() -> None:
    table = TABLE.read_text().partition("|---|---|\n")[2].partition("\n\n")[0]
    rows = dict(
        re.fullmatch(r"\| (.*) \| (works|refused)(?:: .+)? \|", row).groups() for row in table.splitlines()
    )
    works = [feature for file in FILES for feature, lines in features_in(file).items() if lines]
    tests = dict.fromkeys([*works, *FAULTS, PRINTF, MATRICES], "works") | dict.fromkeys(REFUSED, "refused")
    assert rows == tests


@pytest.mark.sampled(2)
@pytest.mark.parametrize("file", FILES)
def test_features_give_the_results_of_a_gpu(device: Device[Any], open_run: Kernel, file: str) -> None:
    lines = (FEATURES / file).read_text().splitlines()
    with open_run(device, FEATURES / file, f"{len(lines) + 1}x64x1", "int32") as run:
        run.fill_output(np.uint32(0))
        run.launch()
        passed = (run.product() == 1).all(axis=1)
    checks = [number for feature in features_in(file).values() for number in feature]
    assert [lines[number - 1] for number in checks if not passed[number]] == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("feature", REFUSED)
def test_what_is_refused_is_named(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, feature: str
) -> None:
    refused = REFUSED[feature]
    text = f"{HEADER}{refused.before}\n__global__ void k({refused.element} *C) {{\n    {refused.body}\n}}\n"
    line = str(text.count("\n") - 1)
    try:
        reason = verify_one(cpu, write_kernel(text), "1x32x1", "int32").reason
    except UsageError as error:
        reason = str(error)
    assert refused.message.replace("LINE", line) in reason
    assert "\n" not in reason


FAULTY_KERNEL = """\
// types: int32
// param: CHOICE = 0
// args: C, CHOICE
// threads: 32
// grid: 1
#include <cassert>
#include <cuda/barrier>
__global__ void k(int *C, int choice) {
    __shared__ cuda::barrier<cuda::thread_scope_block> b;
    const int t = threadIdx.x;
    if (t != 3) return;
"""


@pytest.mark.parametrize("feature", FAULTS | OTHER_FAULTS)
def test_a_fault_names_line_and_thread(
    cpu: Device[Any], open_run: Kernel, write_kernel: Kernel, feature: str
) -> None:
    """The argument CHOICE is the number of the fault, so one program is compiled for all."""
    faults = FAULTS | OTHER_FAULTS
    cases = [f"    if (choice == {i}) {{ {body} }}\n" for i, (body, _) in enumerate(faults.values())]
    choice = list(faults).index(feature)
    line = FAULTY_KERNEL.count("\n") + 1 + choice
    path = write_kernel(FAULTY_KERNEL + "".join(cases) + "}\n")
    with (
        open_run(cpu, path, "1x32x1", "int32", CHOICE=choice) as run,
        pytest.raises(KernelError) as raised,
    ):
        run.launch()
    assert str(raised.value) == faults[feature][1].replace("LINE", str(line))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", ["threads.cu", "inline_ptx.cu", "tensor_cores.cu"])
def test_check_accuses_no_correct_use_of_a_feature(file: str) -> None:
    size = f"{len((FEATURES / file).read_text().splitlines()) + 1}x64x1"
    method = read_method(FEATURES / file)
    (variant,) = variants(method, {})
    problem = Problem(parse_shape(size), ELEMENT_TYPES["int32"])
    launch = plan(variant, problem.shape, problem.element)
    inputs = padded(launch, *problem.inputs)
    observation = observe(program(variant, problem.element, True), launch, *inputs, checked=True)
    assert (observation.faults, observation.ended) == ((), "")
