"""Memory accesses that the CPU device observes, against counters of an H200 and against arithmetic."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from cudamm.compile.listing import nvdisasm
from cudamm.compile.merged_accesses import merged_lines
from cudamm.compile.program import program
from cudamm.devices.device import padded
from cudamm.devices.observation import Observation
from cudamm.devices.observe import Watch, observe
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

FLOAT32 = ELEMENT_TYPES["float32"]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
KERNELS = Path(__file__).parents[1] / "example_kernels"
NCU_ROWS = json.loads((BENCHMARKS / "ncu_h200.json").read_text())["rows"]


def observation_of(method: Method, size: str, dtype: str = "float32", **how: object) -> Observation:
    parameters = {name: (value,) for name, value in how.pop("params", {}).items()}  # type: ignore[attr-defined]
    (variant,) = variants(method, parameters)
    problem = Problem(parse_shape(size), ELEMENT_TYPES[dtype])
    launch = plan(variant, problem.shape, problem.element)
    inputs = padded(launch, *problem.inputs)
    return observe(program(variant, problem.element, True), launch, *inputs, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def against_ncu() -> ModuleType:
    """Import benchmarks/against_ncu.py, which sums the accesses of a launch and compares them with ncu's."""
    spec = importlib.util.spec_from_file_location("against_ncu", BENCHMARKS / "against_ncu.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def needs_nvdisasm(needs_nvcc: None) -> None:
    try:
        nvdisasm()
    except NoDeviceError as error:
        pytest.skip(str(error))


def counts_of(row: dict[str, Any], against_ncu: ModuleType) -> dict[str, int]:
    own = Path(__file__).parents[1] / "example_kernels" / "vector_columns.cu"
    method = read_method(own) if row["method"] == "vector-columns" else find(row["method"])
    (variant,) = variants(method, {name: (value,) for name, value in row["params"].items()})
    found: dict[str, int] = against_ncu.counts(variant, Problem(parse_shape(row["size"]), FLOAT32))
    return found


def sampled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return at least one row of each method, most of them at a size that no tile divides.

    Most rows have the default parameters, whose programs other tests compile too. In one row a line of
    threads is half a warp. `benchmarks/against_ncu.py` compares all rows.
    """
    ragged = [row for row in rows if row["size"] == "100x136x72" and row["method"] != "async-copy"]
    return [
        *(row for row in ragged if row["params"] == variants(find(row["method"]), {})[0].params),
        *(row for row in ragged if row["method"] == "tiled-transposed" and row["params"]["BLOCK_SIZE"] == 16),
        *(row for row in rows if row["size"] in ("64x132x100", "45x77x33")),  # asynchronous copies
        *(row for row in rows if row["method"] == "vector-columns"),
    ]


def test_the_sample_has_every_method_that_was_counted() -> None:
    assert {row["method"] for row in sampled(NCU_ROWS)} == {row["method"] for row in NCU_ROWS}


FOR_EACH_RUN = ("naive", "coalesced", "tiled", "register-tile", "vectorized", "async-copy", "vector-columns")
"""Methods that are compared in each run of the tests: one for each kind of access. The others are `long`."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(
            row,
            id="-".join([row["method"], *map(str, row["params"].values()), row["size"]]),
            marks=() if row["method"] in FOR_EACH_RUN else pytest.mark.long,
        )
        for row in sampled(NCU_ROWS)
    ],
)
def test_counts_are_those_of_nsight_compute(row, against_ncu, needs_nvdisasm, monkeypatch):
    """Only counters of shared memory are left out, and only for methods in HARDWARE_COUNTS_MORE."""
    # At n = 256 the blocks are all alike, so one row of blocks is enough.
    monkeypatch.setattr(against_ncu, "MOST_FLOPS", 2 * 200**3)
    different, left_out = against_ncu.compare(row, counts_of(row, against_ncu))
    assert different == []
    assert all(name.startswith("shared") for name in left_out)
    assert not left_out or row["method"] in HARDWARE_COUNTS_MORE


HARDWARE_COUNTS_MORE = {
    "tile-2d", "vectorized", "warp-tile",  # also cycles in which stores wait for other traffic of L1
    # Also instructions that are predicated off for a whole warp. split-k is the former name of sliced-k.
    "async-copy", "split-k", "stream-k",
}  # fmt: skip


def test_a_counter_is_left_out_only_for_a_known_reason(against_ncu):
    """A counter of shared memory may be higher in hardware, unless ncu's count by instruction is known."""
    counted = dict.fromkeys(against_ncu.COUNTERS, 10)
    observation = counted | {against_ncu.COPIES: 0}
    wavefronts, requests, loads = "shared store wavefronts", "shared load requests", "load sectors"
    row: dict[str, Any] = {"counts": counted}
    assert against_ncu.compare(row, observation) == ([], {})
    both = {wavefronts: 9, "shared store conflicts": 9}
    assert against_ncu.compare(row, observation | both) == ([], dict.fromkeys(both, against_ncu.WAITED))
    assert against_ncu.compare(row, observation | {wavefronts: 9})[0] == [
        "shared store wavefronts 9 (ncu 10)"
    ]
    assert against_ncu.compare(row, observation | {wavefronts: 11})[0] == [
        "shared store wavefronts 11 (ncu 10)"
    ]
    assert against_ncu.compare(row, observation | {requests: 9})[0] == ["shared load requests 9 (ncu 10)"]
    with_copies = observation | {requests: 9, against_ncu.COPIES: 5}
    assert against_ncu.compare(row, with_copies) == ([], {requests: against_ncu.PREDICATED_OFF})
    assert against_ncu.compare(row, observation | {loads: 9}) == (["load sectors 9 (ncu 10)"], {})
    row["by_instruction"] = {wavefronts: 9}
    assert against_ncu.compare(row, observation | {wavefronts: 9}) == ([], {})
    assert against_ncu.compare(row, observation | {wavefronts: 8})[0] == [
        "shared store wavefronts 8 (ncu 10)"
    ]
    assert against_ncu.compare(row, observation | {wavefronts: 10})[0] == []


def test_a_threads_adjacent_reads_between_barriers_are_merged():
    """A thread's 8 x 8 words of A's tile are 16 wide reads. B's elements are a row apart, and stay narrow."""
    observation = observation_of(find("tile-1d"), "64x64x8")
    requests = {
        (a.array, a.op): (a.requests, a.wide_requests) for a in observation.accesses if a.space == "shared"
    }
    warps = 64 * 64 // 8 // 32
    assert requests["As", "load"] == (64 * warps, 16 * warps)
    assert requests["Bs", "load"] == (8 * warps, 8 * warps)


def test_four_words_are_one_access_and_repeated_reads_are_none():
    """K = 10 takes three steps. 16 different bytes per thread are four wavefronts."""
    rows = 4
    observation = observation_of(
        read_method(KERNELS / "four_words.cu"), f"{rows}x32x10", params={"ROWS": rows}
    )
    found = {a.op: a for a in observation.accesses if a.space == "shared"}
    assert (found["store"].requests, found["store"].wide_requests) == (12, 3)
    assert (found["load"].requests, found["load"].wide_requests) == (12 * rows, 3)
    assert [found[op].wide_wavefronts for op in ("store", "load")] == [12, 12]
    assert found["store"].wavefronts == 12 * 4  # the words of a warp are 16 bytes apart


@pytest.mark.slow
def test_merged_and_unrolled_lines_are_those_of_the_machine_code(needs_nvdisasm):
    def texts(name: str, kind: str) -> set[str]:
        (variant,) = variants(named(name), {})
        lines = getattr(merged_lines(program(variant, FLOAT32, True), "sm_90"), kind)
        return {variant.method.source.splitlines()[line - 1].split("=")[0].strip() for line in lines}

    assert texts("tile-1d", "wide_loads") == {"for (int i"}  # sum[i] += As[thread_row + i][dot_k] * reg_b
    assert texts("tile-1d", "wide_stores") == set()
    assert texts("four_words", "wide_stores") == {"for (int w"}
    assert texts("ragged_rows", "unrolled_stores") == {"for (int col"}
    assert texts("tile-1d", "unrolled_stores") == set()


def stores(length: int) -> set[tuple[int, ...]]:
    """Return the stores of an unrolled loop that a thread with `length` iterations executes.

    A store is the unrolled block's size, the block's number if there are several, and its position there.
    """
    found: set[tuple[int, ...]] = {(1, i) for i in range(length % 4)}
    remaining, block_number = length - length % 4, 0
    while remaining > 12:
        found |= {(16, block_number, i) for i in range(16)}
        remaining, block_number = remaining - 16, block_number + 1
    if remaining > 4:
        found |= {(8, i) for i in range(8)}
        remaining -= 8
    return found | {(4, i) for i in range(remaining)}


@pytest.mark.parametrize("size", ["32x40x1", "20x37x1", "40x24x1"])
def test_stores_of_an_unrolled_loop_are_counted_per_warp(size):
    """Threads with different numbers of iterations diverge. A warp executes the stores of all its threads."""
    shape = parse_shape(size)
    observation = observation_of(read_method(KERNELS / "ragged_rows.cu"), size)
    first, second = (a for a in observation.accesses if a.op == "store" and "= 0" in a.text)
    expected = [0, 0]
    for row0 in range(0, shape.m, 32):
        lengths = [min(row % 32, shape.n) for row in range(row0, min(row0 + 32, shape.m))]
        expected[0] += len(set().union(*map(stores, lengths)))
        expected[1] += len(set().union(*(stores(shape.n - length) for length in lengths)))
    assert [first.unrolled_requests, second.unrolled_requests] == expected
    assert expected != [first.requests, second.requests]


def test_sectors_of_copies_are_counted_by_the_pieces_written():
    """Rows of 32 bytes start every 48 bytes, so every other row is written across two pieces of 32 bytes."""
    values = {"BM": 64, "BN": 64, "BK": 8, "WM": 32, "WN": 32, "TM": 4, "TN": 8, "STAGES": 2}
    observation = observation_of(find("async-copy"), "64x64x64", params=values)
    loads = {a.array: a for a in observation.accesses if a.space == "global" and a.op == "load"}
    assert (loads["A"].sectors, loads["A"].ideal_sectors) == (64 * 8 * 3 // 2, 64 * 8)
    assert loads["B"].sectors == loads["B"].ideal_sectors == 64 * 8
    halves = [a for a in observation.accesses if a.by_copy]
    assert {(a.array, a.op, a.size_bytes) for a in halves} == {
        ("A", "load", 16), ("B", "load", 16), ("ring", "store", 16),
    }  # fmt: skip
    assert len({a.line for a in halves}) == 2


def test_threads_reconverge_after_a_call_of_one_thread():
    """Variables in global memory are observed by name."""
    observation = observation_of(read_method(KERNELS / "one_thread_calls.cu"), "3x64x5")
    found = [(a.op, a.requests, a.threads) for a in observation.accesses if a.array == "sums"]
    warps = 6
    assert found == [("store", warps, warps), ("store", 2 * warps, 64 * warps), ("load", warps, 32 * warps)]


@pytest.mark.parametrize(("size", "block"), [("40x37x33", 8), ("130x67x5", 4)])
def test_diverged_threads_reconverge(size, block):
    """A warp's reads of A are the largest numbers of rows and of columns of its threads, times K."""
    shape = parse_shape(size)
    expected = 0
    blocks = [range(-(-extent // (block * block))) for extent in (shape.n, shape.m)]
    for bx in blocks[0]:
        for by in blocks[1]:
            for first in range(0, block * block, 32):
                warp = np.arange(first, min(first + 32, block * block))
                rows = np.clip(shape.m - (by * block + warp // block) * block, 0, block)
                columns = np.clip(shape.n - (bx * block + warp % block) * block, 0, block)
                expected += int(rows.max()) * int(columns.max()) * shape.k
    observation = observation_of(find("block-coarse"), size, params={"BLOCK_SIZE": block})
    of_a = [a for a in observation.accesses if a.array == "A"]
    assert [a.requests for a in of_a] == [expected]


def test_accesses_of_a_tiled_kernel_have_line_array_and_bytes():
    observation = observation_of(find("tiled"), "64", params={"BLOCK_SIZE": 32})
    source = find("tiled").source.splitlines()
    found = {(a.array, a.op): a for a in observation.accesses}
    assert set(found) == {("A", "load"), ("B", "load"), ("C", "store"),
                          ("As", "load"), ("As", "store"), ("Bs", "load"), ("Bs", "store")}  # fmt: skip
    for (array, _), access in found.items():
        assert array in access.text
        assert source[access.line - 1].strip() == access.text
        assert access.bytes_requested == access.threads * 4
    # 4 blocks of 32 warps load 2 tiles each, one element per thread; a row of 32 floats is 4 sectors.
    of_a = found["A", "load"]
    assert (of_a.requests, of_a.threads, of_a.sectors) == (4 * 32 * 2, 4 * 32 * 2 * 32, 4 * 32 * 2 * 4)
    assert of_a.ideal_sectors == of_a.sectors and of_a.bytes_used == of_a.bytes_requested
    assert (observation.warps, len(observation.blocks), observation.ended) == ((128, 128), 4, "")
    assert {(s.name, s.size_bytes) for s in observation.shared} == {("As", 4096), ("Bs", 4096)}


def test_requests_of_a_watched_warp_have_the_offset_of_each_lane():
    """The first requests of block 1's second warp, lane by lane: columns 32 to 63 of C's row 1."""
    observation = observation_of(find("coalesced"), "64", params={"BLOCK_SIZE": 32}, watch=Watch(1, 1, 4))
    arrays = {a.site: a.array for a in observation.accesses}
    assert [arrays[r.site] for r in observation.requests] == ["A", "B", "A", "B"]
    k, column = 0, 32  # block 1 begins at column 32; warp 1 is its row 1
    for request in observation.requests:
        if arrays[request.site] == "A":
            assert request.offsets == dict.fromkeys(range(32), 4 * (64 + k))
        else:
            assert request.offsets == {lane: 4 * (64 * k + column + lane) for lane in range(32)}
            k += 1


def test_blocks_and_warps_can_be_chosen(monkeypatch):
    all_of_it = observation_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16})
    one = observation_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16}, blocks=[3])
    assert (one.blocks, one.warps) == ((3,), (8, 8))
    assert [16 * a.requests for a in one.accesses] == [a.requests for a in all_of_it.accesses]
    # In a block with more work than the limit, some warps represent all.
    monkeypatch.setattr("cudamm.devices.observe.MOST_CALLS", 10_000)
    part = observation_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16}, blocks=[0], every_warp=False)
    assert part.warps[0] < part.warps[1] == 8
    with pytest.raises(UsageError, match="there is no block 16 in a grid of 16"):
        observation_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16}, blocks=[16])


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("float64", 8)])
def test_sectors_depend_on_the_element_size(dtype, size):
    observation = observation_of(find("coalesced"), "32", dtype, params={"BLOCK_SIZE": 32})
    of_b = next(a for a in observation.accesses if a.array == "B")
    assert (of_b.size_bytes, of_b.sectors) == (size, of_b.requests * size)


def test_a_host_method_cannot_be_observed():
    with pytest.raises(UsageError, match="numpy runs on the host"):
        observation_of(find("numpy"), "8")


def test_without_addr2line_the_message_names_what_to_install(monkeypatch):
    from cudamm.devices import observe

    observe._addr2line.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(NoDeviceError, match="apt install binutils"):
        observe._addr2line()


def named(name: str) -> Method:
    """Return a method of the ladder, or one of the tests' example kernels."""
    own = KERNELS / f"{name}.cu"
    return read_method(own) if own.exists() else find(name)


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        # A warp is two rows of 16 threads, elements 8 apart: threads 0, 4, 8 and 12 of a row read one bank.
        ("tile-2d", {"As": (4, 2, 1), "Bs": (4, 4, 1)}),
        # Each thread reads 16 of every 32 bytes: 8 threads reach half of the banks, each twice.
        ("vectorized", {"As": (16, 2, 2), "Bs": (16, 8, 4)}),
        ("warp-tile", {"As": (16, 2, 2), "Bs": (16, 4, 4)}),
        # In each tile a thread reads the same address as the next thread, or as the one after it.
        ("pipelined", {"ring": (16, 2, 2)}),
    ],
)
def test_bank_conflicts_of_larger_tiles_are_those_of_arithmetic(name, reads):
    """`reads` has bytes per thread, wavefronts per request, and the same without conflicts."""
    observation = observation_of(named(name), "128", every_warp=False)
    found = {
        a.array: (a.size_bytes, a.wavefronts / a.requests, a.ideal_wavefronts / a.requests)
        for a in observation.accesses
        if a.space == "shared" and a.op == "load"
    }
    assert found == reads


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", ["1x1x1", "130x67x33"])
@pytest.mark.parametrize("name", ["tile-1d", "tile-2d", "vectorized", "warp-tile", "pipelined", "async_copy"])
def test_correct_kernels_have_no_fault(name, size):
    observation = observation_of(named(name), size, checked=True)
    assert (observation.faults, observation.ended) == ((), "")


def test_atomics_of_different_blocks_are_no_race():
    """The one fault is that they add to C, which was not set to zero."""
    observation = observation_of(read_method(KERNELS / "split_k.cu"), "20x10x9", checked=True)
    assert [(f.kind, f.array, f.op) for f in observation.faults] == [("uninitialised", "C", "atomic")]


SLOW_BLOCKS = """\
// threads: 1
// grid:    N
#include <unistd.h>
__global__ void slow(int M, int N, int K, const float *A, const float *B, float *C) { usleep(250000); }
"""


@pytest.mark.slow
def test_the_time_limit_is_that_of_a_block(write_kernel: Callable[..., Path]) -> None:
    method = read_method(write_kernel(SLOW_BLOCKS))
    assert len(observation_of(method, "1x4x1", checked=True, timeout_s=0.9).blocks) == 4
    with pytest.raises(KernelError, match=r"no answer within 0\.1 s \(--timeout\)"):
        observation_of(method, "1x4x1", checked=True, timeout_s=0.1)


BOTH_WAYS = """\
// types: float32
// param: BARRIER = 1
// args: A, C, BARRIER
// threads: 64
// grid: 1
__global__ void both(const float *A, float *C, int barrier) {
    __shared__ float s[64], p[64];
    const int t = threadIdx.x;
    const unsigned at = (unsigned)__cvta_generic_to_shared(p);
    const float a = A[2 * t];
    float b;
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(b) : "l"(A + 2 * t));
    s[2 * t % 64] = a;
    asm volatile("{ .reg .pred q; setp.lt.s32 q, %2, 64;\\n"
                 "@q st.shared.f32 [%0], %1; }" :: "r"(at + 8 * t % 256), "f"(b), "r"(t));
    if (barrier) asm volatile("bar.sync 0;");
    const float c = s[63 - t];
    float d;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(d) : "r"(at + 4 * (63 - t)));
    C[t] = c;
    asm volatile("st.global.f32 [%0], %1;" :: "l"(C + t), "f"(d));
}
"""


def test_inline_ptx_is_recorded_as_the_same_accesses_in_cpp(write_kernel: Callable[..., Path]) -> None:
    method = read_method(write_kernel(BOTH_WAYS))
    with_barrier, without = (
        observation_of(method, "1x64x128", checked=True, params={"BARRIER": barrier}) for barrier in (1, 0)
    )
    pairs = list(zip(with_barrier.accesses[::2], with_barrier.accesses[1::2], strict=True))
    assert [(cpp.line, ptx.line) for cpp, ptx in pairs] == [(10, 12), (13, 14), (17, 19), (20, 21)]
    for cpp, ptx in pairs:
        same = {"site": 0, "line": 0, "text": "", "array": "" if cpp.space == "shared" else cpp.array}
        assert dataclasses.replace(cpp, **same) == dataclasses.replace(ptx, **same)
    races = [
        [(f.array, f.line, f.other_line) for f in o.faults if f.kind == "race"]
        for o in (with_barrier, without)
    ]
    assert ("p", 19, 14) not in races[0]
    assert ("p", 19, 14) in races[1]


RETURNED = """\
// types: float32
// args: C
// threads: 32
// grid: 1
#include <cuda_fp16.h>
struct Four { half2 pairs[2]; };
__device__ float4 four(float x) { return make_float4(x, x, x, x); }
__device__ Four halves(float x) { return {{__float2half2_rn(x), __float2half2_rn(x)}}; }
__global__ void k(float *C) {
    __shared__ float4 vectors[32];
    __shared__ half numbers[32];
    __shared__ half2 pairs[32];
    __shared__ Four structures[32];
    const int t = threadIdx.x;
    vectors[t] = four(t);
    numbers[t] = __float2half(t);
    pairs[t] = __hadd2(pairs_of(t), pairs_of(1));
    structures[t] = halves(t);
    __syncthreads();
    const int other = 31 - t;
    C[t] = vectors[other].w + (float)(numbers[other] + pairs[other].y + structures[other].pairs[1].x);
}
""".replace("pairs_of", "__float2half2_rn")


def test_the_store_of_what_a_function_returns_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "returned.cu"
    path.write_text(RETURNED)
    observation = observation_of(read_method(path), "1x32x1", checked=True)
    assert (observation.faults, observation.ended) == ((), "")
    stores = {a.array: (a.bytes_requested, a.requests) for a in observation.accesses if a.op == "store"}
    assert stores == {
        "C": (128, 1), "vectors": (512, 1), "numbers": (64, 1), "pairs": (128, 1), "structures": (256, 2)
    }  # fmt: skip
