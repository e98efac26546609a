"""What the CPU device sees of accesses to memory, against counters of an H200 and against arithmetic."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cudamm.catalog import ELEMENT_TYPES, Method, Variant, find, read_method, variants
from cudamm.compile import program
from cudamm.compile.listing import nvdisasm
from cudamm.devices.device import padded
from cudamm.devices.observing import Watch, observe
from cudamm.errors import NoDeviceError, UsageError
from cudamm.launch import plan
from cudamm.observed import Observation
from cudamm.problem import Problem, parse_shape

FLOAT32 = ELEMENT_TYPES["float32"]
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
COUNTED = json.loads((BENCHMARKS / "ncu_h200.json").read_text())["rows"]


def seen_of(method: Method, size: str, dtype: str = "float32", **how: object) -> Observation:
    parameters = {name: (value,) for name, value in how.pop("params", {}).items()}  # type: ignore[attr-defined]
    (variant,) = variants(method, parameters)
    problem = Problem(parse_shape(size), ELEMENT_TYPES[dtype])
    launch = plan(variant, problem.shape, problem.element)
    inputs = padded(launch, *problem.inputs)
    return observe(program(variant, problem.element, True), launch, *inputs, **how)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def counts() -> Callable[[Variant, Problem], dict[str, int]]:
    """The benchmark's own sum over the accesses of a launch."""
    spec = importlib.util.spec_from_file_location("against_ncu", BENCHMARKS / "against_ncu.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[[Variant, Problem], dict[str, int]] = module.counts
    return found


NOT_EQUAL = {("block-coarse", "100x136x72", "store requests")}
"""nvcc unrolls the loop that sets C to zero, and threads with fewer columns go another way through it."""


@pytest.mark.parametrize(
    "row", COUNTED, ids=lambda r: f"{r['method']}-{r['params']['BLOCK_SIZE']}-{r['size']}"
)
def test_counts_are_those_of_nsight_compute(row, counts, needs_nvcc):
    try:
        nvdisasm()
    except NoDeviceError as error:
        pytest.skip(str(error))
    own = Path(__file__).parents[1] / "kernels" / "vector_columns.cu"
    method = read_method(own) if row["method"] == "vector-columns" else find(row["method"])
    (variant,) = variants(method, {name: (value,) for name, value in row["params"].items()})
    seen = counts(variant, Problem(parse_shape(row["size"]), FLOAT32))
    expected = {name: value for name, value in row["counts"].items()
                if (row["method"], row["size"], name) not in NOT_EQUAL}  # fmt: skip
    assert {name: seen[name] for name in expected} == expected


@pytest.mark.parametrize(("size", "block"), [("100x136x72", 16), ("40x37x33", 8), ("130x67x5", 4)])
def test_threads_that_part_meet_again(size, block):
    """Of a warp the thread with most rows and that with most columns decide how often it reads A."""
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
    seen = seen_of(find("block-coarse"), size, params={"BLOCK_SIZE": block})
    of_a = [a for a in seen.accesses if a.array == "A"]
    assert [a.requests for a in of_a] == [expected]


def test_lines_arrays_and_bytes_of_a_tiled_kernel():
    seen = seen_of(find("tiled"), "64", params={"BLOCK_SIZE": 16})
    source = find("tiled").source.splitlines()
    found = {(a.array, a.op): a for a in seen.accesses}
    assert set(found) == {("A", "load"), ("B", "load"), ("C", "store"),
                          ("As", "load"), ("As", "store"), ("Bs", "load"), ("Bs", "store")}  # fmt: skip
    for (array, _), access in found.items():
        assert array in access.text
        assert source[access.line - 1].strip() == access.text
        assert access.bytes_requested == access.threads * 4
    # 16 blocks of 8 warps, 4 tiles each, every thread one element; two rows of 16 floats are 4 sectors.
    of_a = found["A", "load"]
    assert (of_a.requests, of_a.threads, of_a.sectors) == (16 * 8 * 4, 16 * 8 * 4 * 32, 16 * 8 * 4 * 4)
    assert of_a.ideal_sectors == of_a.sectors and of_a.bytes_used == of_a.bytes_requested
    assert (seen.warps, len(seen.blocks), seen.ended) == ((128, 128), 16, "")
    assert {(s.name, s.size_bytes) for s in seen.shared} == {("As", 1024), ("Bs", 1024)}


def test_the_requests_of_a_warp_that_is_watched():
    """Lane by lane, of the first steps of the second warp of block 1: threads 32 to 63 of a row of C."""
    seen = seen_of(find("coalesced"), "64", params={"BLOCK_SIZE": 32}, watch=Watch(1, 1, 4))
    arrays = {a.site: a.array for a in seen.accesses}
    assert [arrays[r.site] for r in seen.requests] == ["A", "B", "A", "B"]
    k, column = 0, 32  # block 1 begins at column 32; warp 1 is its row 1
    for request in seen.requests:
        if arrays[request.site] == "A":
            assert request.offsets == dict.fromkeys(range(32), 4 * (64 + k))
        else:
            assert request.offsets == {lane: 4 * (64 * k + column + lane) for lane in range(32)}
            k += 1


def test_blocks_and_warps_can_be_chosen():
    all_of_it = seen_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16})
    one = seen_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16}, blocks=[3])
    assert (one.blocks, one.warps) == ((3,), (8, 8))
    assert [16 * a.requests for a in one.accesses] == [a.requests for a in all_of_it.accesses]
    # Of so large a block one warp stands for all.
    part = seen_of(find("block-coarse"), "512", params={"BLOCK_SIZE": 32}, blocks=[0], every_warp=False)
    assert part.warps[0] < part.warps[1] == 32
    with pytest.raises(UsageError, match="there is no block 16 in a grid of 16"):
        seen_of(find("coalesced"), "64", params={"BLOCK_SIZE": 16}, blocks=[16])


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_other_types(dtype):
    seen = seen_of(find("coalesced"), "32", dtype, params={"BLOCK_SIZE": 32})
    size = 8 if dtype == "float64" else 4
    of_b = next(a for a in seen.accesses if a.array == "B")
    assert (of_b.size_bytes, of_b.sectors) == (size, of_b.requests * size)


def test_what_runs_on_the_host_has_no_warps():
    with pytest.raises(UsageError, match="numpy runs on the host"):
        seen_of(find("numpy"), "8")


def test_without_addr2line_it_says_what_to_install(monkeypatch):
    from cudamm.devices import observing

    observing._addr2line.cache_clear()
    monkeypatch.setattr(shutil, "which", lambda *_: None)
    with pytest.raises(NoDeviceError, match="apt install binutils"):
        observing._addr2line()


KERNELS = Path(__file__).parents[1] / "kernels"


def named(name: str) -> Method:
    """A method of the ladder, or a kernel of the tests' own."""
    own = KERNELS / f"{name}.cu"
    return read_method(own) if own.exists() else find(name)


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        # A warp is two rows of 16 threads, elements 8 apart: threads 0, 4, 8 and 12 of a row read one bank.
        ("tile-2d", {"As": (4, 2, 1), "Bs": (4, 4, 1)}),
        # 16 bytes a thread with as many between them: 8 threads reach each of half the banks twice.
        ("vectorized", {"As": (16, 2, 2), "Bs": (16, 8, 4)}),
        ("warp-tile", {"As": (16, 2, 2), "Bs": (16, 4, 4)}),
        # Of either tile a thread shares its address with the next, or the next but one.
        ("pipelined", {"ring": (16, 2, 2)}),
    ],
)
def test_bank_conflicts_of_larger_tiles_are_those_of_arithmetic(name, reads):
    """Bytes a thread, wavefronts a request, and what they would be without conflicts."""
    seen = seen_of(named(name), "128", every_warp=False)
    found = {
        a.array: (a.size_bytes, a.wavefronts / a.requests, a.ideal_wavefronts / a.requests)
        for a in seen.accesses
        if a.space == "shared" and a.op == "load"
    }
    assert found == reads


@pytest.mark.parametrize("size", ["1x1x1", "130x67x33", "128x256x64"])
@pytest.mark.parametrize("name", ["tile-1d", "tile-2d", "vectorized", "warp-tile", "pipelined", "async_copy"])
def test_sound_kernels_show_no_fault(name, size):
    seen = seen_of(named(name), size, checked=True)
    assert (seen.faults, seen.ended) == ((), "")


def test_atomics_of_different_blocks_are_no_race():
    """They add to C, though, which nobody has set to zero."""
    seen = seen_of(read_method(KERNELS / "split_k.cu"), "20x10x9", checked=True)
    assert [(f.kind, f.array, f.op) for f in seen.faults] == [("uninitialised", "C", "atomic")]
