"""Tracing: its counts are those of addresses computed with NumPy, and a few blocks represent the grid."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cudamm.analysis.trace import (
    Settings,
    WarpAccess,
    block_classes,
    combined,
    pattern,
    trace,
    varying,
    watched_of,
)
from cudamm.compile.merged_accesses import Lines
from cudamm.devices.observation import Access, Observation, Request, SharedArray
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Launch
from cudamm.kernels.matrix_layout import MatrixLayout
from cudamm.kernels.method import ELEMENT_TYPES, MatrixName
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import variants
from cudamm.output.warp_drawing import sentences

WARP = 32


def traced(method, shape="40x24x33", dtype="float32", settings=None, **values):
    chosen = read_method(method) if not isinstance(method, str) else find(method)
    (variant,) = variants(chosen, {name: (value,) for name, value in values.items()})
    problem = Problem(parse_shape(shape), ELEMENT_TYPES[dtype])
    (result,) = trace([(variant, problem)], settings or Settings(blocks=None), True, lambda *_: None)
    assert result.status == "ok", result.reason
    return result


def only_access(result, array, op):
    """Return the only access to an array with this operation."""
    (access,) = (a for a in result.accesses if (a.array, a.op) == (array, op))
    return access


def sectors_of(offsets):
    """Return the number of 32-byte sectors that warps touch. Each row is a warp; -1 is an inactive lane."""
    return sum(len(set((row[row >= 0] // 32).tolist())) for row in offsets)


def warps(shape, edge, row_from_x):
    """Return the rows and columns of C (warps x 32) that each lane computes; -1 for lanes beyond the edge."""
    extents = (shape.m, shape.n) if row_from_x else (shape.n, shape.m)
    blocks = [range(-(-extent // edge)) for extent in extents]
    x, y = np.meshgrid(np.arange(edge), np.arange(edge))
    pairs_by_block = []
    for by, bx in itertools.product(blocks[1], blocks[0]):
        in_x, in_y = (bx * edge + x).ravel(), (by * edge + y).ravel()
        row, col = (in_x, in_y) if row_from_x else (in_y, in_x)
        inside = (row < shape.m) & (col < shape.n)
        pairs = np.stack([np.where(inside, row, -1), np.where(inside, col, -1)]).reshape(2, -1, WARP)
        pairs_by_block.append(pairs)
    rows, cols = np.concatenate(pairs_by_block, axis=1)
    active = (rows >= 0).any(axis=1)
    return rows[active], cols[active]


@pytest.mark.parametrize(
    ("method", "shape", "dtype"),
    [
        ("naive", "40x24x33", "float32"),
        ("coalesced", "33x50x9", "float64"),
    ],
)
def test_requests_and_sectors_are_those_of_the_addresses(method, shape, dtype):
    result = traced(method, shape, dtype, BLOCK_SIZE=16)
    extents, size = parse_shape(shape), ELEMENT_TYPES[dtype].size_bytes
    rows, cols = warps(extents, 16, row_from_x=method == "naive")
    inside = rows >= 0
    a = [np.where(inside, (rows * extents.k + k) * size, -1) for k in range(extents.k)]
    b = [np.where(inside, (k * extents.n + cols) * size, -1) for k in range(extents.k)]
    c = np.where(inside, (rows * extents.n + cols) * size, -1)
    expected = {("A", "load"): np.concatenate(a), ("B", "load"): np.concatenate(b), ("C", "store"): c}
    assert len(result.accesses) == 3 and not result.scaled
    for (array, op), offsets in expected.items():
        access = only_access(result, array, op)
        assert access.requests == len(offsets)
        assert access.sectors == sectors_of(offsets)
        assert access.bytes_requested == size * (offsets >= 0).sum()
        assert access.bytes_used == size * sum(len(set(row[row >= 0].tolist())) for row in offsets)
        assert access.broadcasts == sum(
            len(set(row[row >= 0].tolist())) == 1 and (row >= 0).sum() > 1 for row in offsets
        )
    assert [a.line for a in result.accesses] == [25, 25, 26]
    assert result.total("global", "load").sectors == sectors_of(np.concatenate([*a, *b]))


@pytest.mark.parametrize(
    ("method", "values"),
    [
        ("tiled-bounds", {"BLOCK_SIZE": 16}),
        ("register-tile", {"BLOCK_SIZE": 16, "TILE_SIZE": 4}),
        ("tiled-padded", {"BLOCK_SIZE": 32, "PAD": 1}),
    ],
)
def test_requested_bytes_are_the_traffic_of_the_header(method, values):
    result = traced(method, "128x64x32", **values)
    (variant,) = variants(find(method), {name: (value,) for name, value in values.items()})
    traffic = variant.traffic(ELEMENT_TYPES["float32"], 128, 64, 32)
    assert traffic is not None
    assert result.total("global", "load").bytes_requested == traffic.load_bytes
    assert result.total("global", "store").bytes_requested == traffic.store_bytes
    assert result.intensity == result.operations / traffic.load_bytes
    assert result.intensity_with_stores == result.operations / (traffic.load_bytes + traffic.store_bytes)


def test_the_counts_of_a_few_blocks_are_scaled_to_the_grid():
    """The last row and column of blocks reach past the edge of C."""
    every = traced("tiled-bounds", "88x104x24", BLOCK_SIZE=16)
    few = traced("tiled-bounds", "88x104x24", BLOCK_SIZE=16, settings=Settings(blocks=7))
    assert few.scaled and few.blocks == (7, 42) and not every.scaled and every.blocks == (42, 42)
    assert few.accesses == every.accesses


def test_all_blocks_of_a_small_product_are_traced():
    small = traced("naive", "48x40x24", settings=Settings(blocks=8))
    large = traced("naive", "1024x512x16", settings=Settings(blocks=8))
    assert not small.scaled and large.scaled and large.blocks[0] == 8


def test_intensity_and_traffic_relative_to_naive_are_those_computed_by_hand():
    naive, tiled = traced("naive", "64"), traced("tiled", "64")
    assert naive.bytes_against_naive == naive.sectors_against_naive == 1
    # With 64 / 32 blocks per row, A and B are loaded twice instead of 64 times; C is stored once.
    assert tiled.bytes_against_naive == (2 + 2 + 1) / (64 + 64 + 1)
    sectors = 64 * 64 * 4 // 32
    assert tiled.total("global").sectors == 5 * sectors
    assert tiled.sector_intensity == 2 * 64**3 / (5 * sectors * 32)
    # For each warp: 32 sectors of A and one of B per step of k, and 32 of C.
    assert naive.total("global").sectors == (64 * 33 + 32) * (64 * 64 // WARP)
    assert tiled.sectors_against_naive == tiled.total("global").sectors / naive.total("global").sectors


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("naive", {}, None),  # has no shared memory
        ("tiled", {"BLOCK_SIZE": 16}, 4 + 4),  # a float of each tile for each multiply-add
        ("warp-tile", {"TM": 8, "TN": 8}, (8 + 8) * 4 / (8 * 8)),
    ],
)
def test_loads_of_shared_memory_per_multiply_add(method, params, expected):
    """A thread that computes T x U elements loads T + U floats for T U multiply-adds."""
    assert traced(method, "128", **params).shared_bytes_per_multiply_add == expected


def test_padding_removes_the_bank_conflicts_of_tiled_padded():
    conflicts, cured = (
        only_access(traced("tiled-padded", "32", BLOCK_SIZE=32, PAD=pad), "As", "load") for pad in (0, 1)
    )
    assert conflicts.requests == cured.requests == 32 * 32 * 32 // WARP
    assert conflicts.wavefronts == 32 * conflicts.requests and cured.wavefronts == cured.requests
    assert conflicts.ideal_wavefronts == cured.ideal_wavefronts == cured.requests
    assert pattern(conflicts) == "32-way conflict" and pattern(cured) == "no conflict"


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
def test_shared_loads_that_nvcc_merges_are_counted_as_merged():
    written = traced("tiled", "32")
    merged = traced("tiled", "32", settings=Settings(blocks=None, arch="sm_90"))
    as_written, as_compiled = (only_access(result, "As", "load") for result in (written, merged))
    assert written.wide_lines is None and merged.wide_lines == {as_compiled.line}
    assert as_compiled.requests == as_written.requests // 4
    assert as_compiled.bytes_requested == as_written.bytes_requested
    # Elements of Bs are one row apart, so nvcc merges nothing.
    assert only_access(written, "Bs", "load") == only_access(merged, "Bs", "load")


@pytest.mark.parametrize(("dtype", "merged"), [("float64", 2), ("float16", 4), ("float32", 4)])
def test_adjacent_elements_of_each_type_can_be_merged_up_to_four_and_to_16_bytes(dtype, merged):
    result = traced("tiled", "32", dtype)
    (left,), (right,) = ([a for a in result.accesses if (a.array, a.op) == (b, "load")] for b in ("As", "Bs"))
    assert left.requests == 32 * 32 * 32 // WARP and left.wide_requests == left.requests // merged
    assert left.wide_bytes == merged * left.size_bytes
    assert right.wide_requests == right.requests == left.requests  # one row apart


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize(("dtype", "merged", "size"), [("float64", 2, 16), ("float16", 4, 8)])
def test_merged_shared_loads_of_doubles_and_halves_are_counted_as_merged(dtype, merged, size):
    written = only_access(traced("tiled", "32", dtype), "As", "load")
    result = traced("tiled", "32", dtype, settings=Settings(blocks=None, arch="sm_90"))
    assert only_access(result, "As", "load").requests == written.requests // merged
    assert only_access(result, "Bs", "load").requests == written.requests
    assert result.merged_bytes == (size,) and result.wide_lines == {written.line}


def test_pairs_of_floats_are_counted_as_nvcc_merges_them(monkeypatch, tmp_path):
    """The line has loads of 8 bytes in the machine code. A thread reads three of four floats."""
    (tmp_path / "three.cu").write_text(
        """// args: M, N, K, A, B, C\n// threads: 32\n// grid: 1
__global__ void three(int M, int N, int K, const float *A, const float *B, float *C) {
    __shared__ float tile[128];
    for (int i = 0; i < 4; i++) tile[threadIdx.x + 32 * i] = A[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 3; i++)
        sum += tile[threadIdx.x * 4 + i];
    C[threadIdx.x] = sum;
}
""",
        "utf-8",
    )
    lines = Lines(frozenset(), frozenset(), frozenset(), pair_loads=frozenset({10}))
    monkeypatch.setattr("cudamm.analysis.trace.merged_lines", lambda program, arch: lines)
    settings = Settings(blocks=None, arch="sm_90")
    load = only_access(traced(tmp_path / "three.cu", "32", settings=settings), "tile", "load")
    # A pair of 8 bytes 16 bytes apart: each half of the warp needs 2 passes. The third float: 4-way conflict.
    assert (load.requests, load.wavefronts, load.ideal_wavefronts) == (2, 4 + 4, 2 + 1)


@pytest.mark.parametrize("error", [NoDeviceError("no nvcc"), KernelError("nvcc does not take it")])
def test_shared_loads_are_counted_as_written_if_nvcc_is_missing_or_fails(monkeypatch, error):
    def refuse(program, arch):
        raise error

    monkeypatch.setattr("cudamm.analysis.trace.merged_lines", refuse)
    result = traced("tiled", "32", settings=Settings(blocks=None, arch="sm_90"))
    assert result.wide_lines is None and only_access(result, "As", "load").requests == 32 * 32 * 32 // WARP


GRIDS = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 5))


@given(GRIDS, st.integers(1, 40))
def test_classes_partition_the_grid_and_traced_blocks_are_spread_over_them(grid, most):
    """Each block of the grid is in one class. About as many blocks are traced as requested."""
    classes = block_classes(grid, most)
    whole = block_classes(grid, None)
    assert [(c.name, c.blocks) for c in classes] == [(c.name, c.blocks) for c in whole]
    assert sorted(itertools.chain(*(c.traced for c in whole))) == list(range(math.prod(grid)))
    for few, every in zip(classes, whole, strict=True):
        assert 1 <= len(few.traced) == len(set(few.traced)) <= few.blocks == len(every.traced)
        assert set(few.traced) <= set(every.traced)
        is_last = {
            tuple(at == extent - 1 and extent > 1 for at, extent in zip(index, grid, strict=True))
            for index in (np.unravel_index(i, grid[::-1])[::-1] for i in every.traced)
        }
        assert len(is_last) == 1
    traced_blocks = sum(len(c.traced) for c in classes)
    layers = max(1, grid[2] - 1)  # of the classes without the last layer; each has a traced block
    assert traced_blocks <= max(most, len(classes) * layers)
    layers_of_interior = {index // (grid[0] * grid[1]) for index in classes[0].traced}
    assert len(layers_of_interior) == min(layers, classes[0].blocks)
    # Other classes get what a small class leaves of its share.
    assert traced_blocks >= min(most, math.prod(grid)) - len(classes)


def test_a_plane_of_blocks_has_an_interior_two_edges_and_a_corner():
    classes = block_classes((32, 32, 1), 8)
    assert [(c.name, c.blocks) for c in classes] == [
        ("interior", 31 * 31), ("last column", 31), ("last row", 31), ("corner", 1),
    ]  # fmt: skip
    assert sum(len(c.traced) for c in classes) == 8
    assert classes[0].traced[0] == 0 and classes[3].traced == (1023,)
    assert {index % 32 for index in classes[1].traced} == {31}


@given(GRIDS, st.integers(1, 40), st.data())
def test_blocks_beyond_those_that_store_are_classes_of_their_own(grid, most, data):
    storing = data.draw(st.tuples(*(st.integers(1, extent) for extent in grid)))
    whole = block_classes(grid, None, storing)
    assert sorted(itertools.chain(*(c.traced for c in whole))) == list(range(math.prod(grid)))
    assert sum(c.blocks for c in whole if c.stores) == math.prod(storing)
    few = block_classes(grid, most, storing)
    assert [(c.name, c.blocks) for c in few] == [(c.name, c.blocks) for c in whole]
    # The blocks that store are traced as those of a grid that has no others.
    places = [np.unravel_index(i, grid[::-1])[::-1] for c in few if c.stores for i in c.traced]
    alone = [np.unravel_index(i, storing[::-1])[::-1] for c in block_classes(storing, most) for i in c.traced]
    assert sorted(places) == sorted(alone)


GUARDED = """__global__ void guarded(const float *A, const float *B, float *C, int m, int n, int k) {
    int row = blockIdx.y * 8 + threadIdx.y, col = (blockIdx.x * 8 + threadIdx.x) * 2;
    float first = A[min(row, m - 1) * k], sum = 0, other = 0;
    if (row >= m || col >= n) return;
    for (int i = 0; i < k; ++i) {
        sum += A[row * k + i] * B[i * n + col];
        if (col + 1 < n) other += A[row * k + i] * B[i * n + col + 1];
    }
    C[row * n + col] = sum;
    if (col + 1 < n) C[row * n + col + 1] = other + 0 * first;
}
"""


@pytest.mark.parametrize(
    "grid", ["ceil(N/2), M", "ceil(N/16) + 9, M", "ceil(N/16), ceil(M/8) * 3", "3 * N, ceil(M/8) + 1"]
)
def test_blocks_beyond_the_matrix_are_not_taken_for_blocks_that_compute(tmp_path, grid):
    """Blocks beyond the matrix load one element and store nothing."""
    (tmp_path / "guarded.cu").write_text(
        f"// args: A, B, C, M, N, K\n// threads: 8, 8\n// grid: {grid}\n{GUARDED}", "utf-8"
    )
    few, every = (
        traced(tmp_path / "guarded.cu", "44x70x9", settings=Settings(blocks=blocks)) for blocks in (7, None)
    )
    assert few.blocks[0] < every.blocks[0] and few.accesses == every.accesses


ACCESS = Access(
    site=0, line=7, text="x = A[i];", space="global", op="load", array="A", size_bytes=4,
    requests=10, threads=320, bytes_requested=1280, bytes_used=1280, sectors=40, ideal_sectors=40,
)  # fmt: skip


def observation_of(*accesses):
    return Observation(accesses, (0,), (1, 1))


def test_counts_are_scaled_and_added_for_each_access():
    """Accesses match by line, array, kind and order within the line, because sites differ by observation."""
    other = dataclasses.replace(ACCESS, site=1, requests=4, sectors=16)
    store = dataclasses.replace(ACCESS, site=2, line=9, op="store", array="C")
    without_requests = dataclasses.replace(ACCESS, site=0, line=3, requests=0)
    accesses = combined(
        [
            (Fraction(3), observation_of(ACCESS, other, store)),
            (Fraction(5, 2), observation_of(without_requests, dataclasses.replace(store, site=1))),
            (Fraction(1), observation_of(ACCESS)),
        ]
    )
    assert [(a.line, a.op, a.requests) for a in accesses] == [
        (7, "load", 3 * 10 + 10), (7, "load", 3 * 4), (9, "store", 30 + 25),
    ]  # fmt: skip
    assert [a.sectors for a in accesses] == [160, 48, 220]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "coalesced"),
        ({"sectors": 50}, "partly coalesced"),
        ({"sectors": 320}, "uncoalesced"),
        ({"broadcasts": 10, "sectors": 10, "ideal_sectors": 10}, "broadcast"),
        ({"broadcasts": 9, "sectors": 10, "ideal_sectors": 10}, "coalesced"),
        ({"broadcasts": 10, "threads": 10, "sectors": 10, "ideal_sectors": 10}, "coalesced"),
        ({"space": "shared", "wavefronts": 10, "ideal_wavefronts": 10}, "no conflict"),
        ({"space": "shared", "wavefronts": 25, "ideal_wavefronts": 10}, "2.5-way conflict"),
        ({"space": "shared", "wavefronts": 10, "ideal_wavefronts": 10, "broadcasts": 10}, "broadcast"),
    ],
)
def test_an_access_pattern_is_named_by_its_sectors_or_wavefronts(fields, words):
    assert pattern(dataclasses.replace(ACCESS, **fields)) == words


FLOATS: dict[MatrixName, int] = {"A": 4, "B": 4, "C": 4}
LAUNCH = Launch(Shape(64, 48, 32), (32, 1, 1), (2, 2, 1), 0, (), ())


def test_periods_of_a_watched_access_are_its_own_executions():
    load, store = ACCESS, dataclasses.replace(ACCESS, site=1, line=8, op="store", array="C")
    shared_load = dataclasses.replace(ACCESS, site=2, line=9, space="shared", array="As")
    unknown_array = dataclasses.replace(ACCESS, site=3, line=9, array="")
    requests = [
        Request(0, 0, {0: 0, 1: 128}), Request(1, 2, {0: 8}), Request(2, 3, {0: 0}), Request(3, 0, {0: 4}),
        Request(4, 1, {5: 192}), Request(5, 0, {0: 8}),
    ]  # fmt: skip
    accesses, shared = (load, store, shared_load, unknown_array), (SharedArray("As", 512),)
    observation = Observation(accesses, (3,), (1, 1), tuple(requests), (), shared)
    watched = watched_of(observation, LAUNCH, FLOATS, (1, 1, 0), 0, 2)
    assert watched.to_the_end and watched.block == (1, 1, 0)
    first, second, third = watched.accesses
    assert first.periods == ({0: 0, 1: 128}, {0: 4}) and first.layout == MatrixLayout(64, 32)
    assert first.cells(0) == {(0, 0): [0], (1, 0): [1]} and first.cells(1) == {(0, 1): [0]}
    assert second.layout == MatrixLayout(64, 48) and second.cells(0) == {(1, 0): [5]}
    assert third.layout == MatrixLayout(4, 32) and third.cells(0) == {(0, 2): [0]}


def test_the_cells_of_a_matrix_that_is_stored_by_column():
    observation = Observation((ACCESS,), (3,), (1, 1), (Request(0, 0, {0: 0, 1: 256}),), (), ())
    launch = dataclasses.replace(LAUNCH, column_major=("A",))
    (access,) = watched_of(observation, launch, FLOATS, (0, 0, 0), 0, 2).accesses
    assert access.layout == MatrixLayout(64, 32, by_column=True)
    assert access.cells(0) == {(0, 0): [0], (0, 1): [1]}
    assert "at a stride of 256 bytes (1 column)" in "".join(sentences(access))


def test_a_wide_access_touches_several_elements():
    access = WarpAccess(
        dataclasses.replace(ACCESS, size_bytes=16), MatrixLayout(8, 8), 4, ({0: 0, 1: 16, 2: 32},)
    )
    cells = access.cells(0)
    assert cells[0, 3] == [0] and cells[0, 4] == [1] and cells[1, 0] == [2]
    assert access.sectors(0) == 2


@pytest.mark.parametrize(
    ("size", "offsets", "words"),
    [
        (4, range(0, 128, 4), 1),
        (4, [0] * 32, 1),
        (4, range(0, 256, 8), 2),
        (4, range(0, 32 * 128, 128), 32),
        (4, range(0, 32 * 132, 132), 1),
        (8, range(0, 256, 8), 2),
        (8, range(0, 32 * 128, 128), 32),
        (16, range(0, 512, 16), 4),
    ],
)
def test_the_number_of_words_per_bank_follows_the_programming_guide(size, offsets, words):
    """CUDA C++ Programming Guide, “Shared Memory”: successive words of 4 bytes lie in successive banks."""
    access = dataclasses.replace(ACCESS, space="shared", array="As", size_bytes=size)
    warp_access = WarpAccess(access, MatrixLayout(8, 32), 4, (dict(enumerate(offsets)),))
    assert warp_access.words_of_a_bank(0) == words


@given(st.lists(st.integers(0, 4095), min_size=1, max_size=32))
def test_sectors_and_cells_of_a_random_request_are_counted(elements):
    access = WarpAccess(ACCESS, MatrixLayout(64, 64), 4, ({lane: 4 * e for lane, e in enumerate(elements)},))
    assert access.sectors(0) == len({4 * e // 32 for e in elements})
    assert sum(map(len, access.cells(0).values())) == len(elements)


def test_the_watched_warp_is_the_requested_one():
    settings = Settings(blocks=None, warp=1, of_block=(1, 0, 0), steps=2)
    result = traced("coalesced", "32x64x24", settings=settings, BLOCK_SIZE=16)
    assert result.watched is not None and result.watched.to_the_end
    by_array = {a.access.array: a for a in result.watched.accesses}
    lanes = range(WARP)  # warp 1 of a block of 16 x 16 has rows 2 and 3; block 1 begins at column 16
    assert by_array["A"].periods == tuple({i: 4 * ((2 + i // 16) * 24 + k) for i in lanes} for k in (0, 1))
    assert by_array["B"].periods == tuple({i: 4 * (k * 64 + 16 + i % 16) for i in lanes} for k in (0, 1))
    assert by_array["C"].periods == ({i: 4 * ((2 + i // 16) * 64 + 16 + i % 16) for i in lanes},)


@pytest.mark.slow
def test_the_counts_of_some_warps_are_scaled_to_the_block(monkeypatch):
    """A requested warp is watched even if another warp represents it in the counts."""
    monkeypatch.setattr("cudamm.devices.observe.MOST_CALLS", 10_000)
    every = traced("coalesced", "64", BLOCK_SIZE=16)
    settings = Settings(blocks=7, warp=7, steps=1)
    some = traced("coalesced", "64", BLOCK_SIZE=16, settings=settings)
    assert every.warps == (128, 128) and some.warps[0] < some.warps[1]
    assert some.scaled and not every.scaled and some.accesses == every.accesses
    assert some.watched is not None
    first = some.watched.accesses[0]
    assert first.access.array == "A" and first.cells(0).keys() == {(14, 0), (15, 0)}  # rows 14 and 15


def test_rows_that_begin_at_alternating_places_are_counted_exactly_from_some_warps(monkeypatch):
    """Rows of 68 floats begin at the middle of a sector in every second row."""
    monkeypatch.setattr("cudamm.devices.observe.MOST_CALLS", 30_000)
    every = traced("coalesced", "68", BLOCK_SIZE=32)
    some = traced("coalesced", "68", BLOCK_SIZE=32, settings=Settings(blocks=7))
    assert some.warps[0] < some.warps[1]
    assert some.accesses == every.accesses


def test_a_warp_or_block_that_does_not_exist_is_refused():
    with pytest.raises(UsageError, match="no warp 8: a block has 8 warps, 0 to 7"):
        traced("coalesced", "64", settings=Settings(warp=8), BLOCK_SIZE=16)
    with pytest.raises(UsageError, match="no block 4,0,0: the grid is 4 x 4 x 1"):
        traced("coalesced", "64", settings=Settings(warp=0, of_block=(4, 0, 0)), BLOCK_SIZE=16)


def test_accesses_whose_sectors_vary_with_the_size_are_found():
    """Rows of 24 floats begin at a sector. Some rows of 20 do not, so B and C need more sectors."""
    results = [traced("coalesced", f"16x{n}x8", BLOCK_SIZE=16) for n in (24, 20)]
    values = {
        (array, op): {round(value, 9) for _, value in values_by_size}
        for (_, array, op), values_by_size in varying(results).items()
    }
    assert len(values["B", "load"]) == 2 and len(values["C", "store"]) == 2
    assert values["A", "load"] == {2.0}


def test_atomics_are_counted_separately_from_stores(kernels):
    """Three layers of blocks add to each element of C."""
    result = traced(kernels / "split_k.cu", "32x32x32", settings=Settings(blocks=9))
    summary = result.summary()
    assert summary["global_stores"]["requests"] == 0
    assert summary["global_atomics"]["bytes_requested"] == 4 * 32 * 32 * result.grid[2]
    assert result.scaled and result.grid == (4, 4, 3)
    assert [c.blocks for c in result.classes if c.name.endswith("of the last layer")] == [9, 3, 3, 1]


def test_each_atomic_operation_is_counted_once_and_in_its_line(kernels):
    """Blocks run side by side, and an addition that another block overtakes is tried again."""
    for _ in range(3):
        result = traced(kernels / "split_k.cu", "64x64x96")
        atomics = [access for access in result.accesses if access.op == "atomic"]
        assert len({access.line for access in atomics}) == len(atomics) == 1
        assert atomics[0].threads == 64 * 64 * result.grid[2]
