"""The occupancy of compiled kernels and the best block size of each, against ptxas and NVIDIA's header."""

from __future__ import annotations

import math
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cudamm.compile.toolkit import find_nvcc
from cudamm.errors import UsageError
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method, Parameter, Value
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants
from cudamm.occupancy.block_size import best_block_sizes
from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels
from cudamm.occupancy.occupancy_curves import curves_of_results
from cudamm.occupancy.occupancy_questions import Questions, add_answers
from cudamm.occupancy.occupancy_result import OccupancyResult

pytestmark = pytest.mark.usefixtures("needs_nvcc")

WriteKernel = Callable[..., Path]
KB = 1024
BODY = "__global__ void k(const float *A, const float *B, float *C) { C[threadIdx.x] = 1; }\n"
SM_86 = find_architecture("sm_86")


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


def cases(
    method: str | Method, shape: str = "64x64x64", dtype: str = "float32", **chosen: Sequence[Value]
) -> list[tuple]:
    """Return variants on a problem. Parameters that are not given take all their values, as in a sweep."""
    found = find(method) if isinstance(method, str) else method
    swept = {p.name: p.values for p in found.parameters} | chosen
    problem = Problem(parse_shape(shape), ELEMENT_TYPES[dtype], 0)
    return [(variant, problem) for variant in variants(found, swept)]


def occupancy(planned: Sequence[tuple], *names: str) -> list[OccupancyResult]:
    architectures = [find_architecture(name) for name in names] or [SM_86]
    return list(occupancy_of_kernels(architectures, planned, True, None, silent))


def best(planned: Sequence[tuple]) -> list[OccupancyResult]:
    return list(best_block_sizes([SM_86], planned, True, None, silent))


def read(path: Path, **given: str | tuple[int, ...]) -> Method:
    """Read a file's kernel with header fields in lower case, and parameters with their values in capitals."""
    fields = {name.replace("_", "-"): text for name, text in given.items() if isinstance(text, str)}
    parameters = [Parameter(name, v[0], v) for name, v in given.items() if isinstance(v, tuple)]
    return read_method(path, Overrides({"grid": "3"} | fields, tuple(parameters)))


def ptxas(method: str, arch: str, tmp_path: Path, *defines: str) -> tuple[int, int]:
    """Return registers per thread and static shared memory, as ptxas prints them for the method's file."""
    types = tmp_path / "types.h"
    types.write_text("typedef float element, accumulator, result;")
    command = [find_nvcc(), f"-arch={arch}", "-cubin", "-Xptxas", "-v", "-include", types]
    command += defines
    command += ["-o", tmp_path / "o", find(method).path]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    registers, shared = re.search(r"Used (\d+) registers", log), re.search(r"(\d+) bytes smem", log)
    assert registers
    return int(registers[1]), int(shared[1]) if shared else 0


@pytest.mark.slow
def test_kernels_of_the_ladder_have_the_occupancy_of_nvidias_header(header, tmp_path: Path) -> None:
    planned = cases("tiled", "1000x500x70", BLOCK_SIZE=(16,))
    planned += cases("tiled-dynamic", "1000x500x70", BLOCK_SIZE=(16, 32))  # one program for both sizes
    printed_by_ptxas = {
        "tiled": ptxas("tiled", "sm_86", tmp_path, "-DBLOCK_SIZE=16"),
        "tiled-dynamic": ptxas("tiled-dynamic", "sm_86", tmp_path),
    }
    results = occupancy(planned)
    assert [(r.method, r.params["BLOCK_SIZE"]) for r in results] == [
        ("tiled", 16), ("tiled-dynamic", 16), ("tiled-dynamic", 32)
    ]  # fmt: skip
    for result in results:
        edge = result.params["BLOCK_SIZE"]
        assert isinstance(edge, int) and result.resources is not None
        tiles, is_dynamic = 2 * edge * edge * 4, result.method == "tiled-dynamic"
        registers, static = printed_by_ptxas[result.method or ""]
        assert static == (0 if is_dynamic else tiles)
        assert (result.registers_per_thread, result.resources.static_shared_bytes) == (registers, static)
        assert (result.dynamic_shared_bytes, result.shared_bytes_per_block) == (tiles - static, tiles)
        assert result.threads_per_block == edge * edge
        ((active, *limits, allocated),) = header.ask(
            SM_86, [f"{edge * edge} {registers} {static} {tiles - static} 1 -1 0 1024"]
        )
        assert result.active_blocks == active and list(result.limits.values()) == limits
        assert result.allocated_shared_bytes_per_block == allocated
        assert set(result.limited_by) == {n for n, limit in result.limits.items() if limit == active}
        # The grid covers 1000 rows and 500 columns.
        blocks = math.ceil(1000 / edge) * math.ceil(500 / edge)
        assert result.grid_blocks == blocks
        assert result.waves == pytest.approx(blocks / (active * SM_86.multiprocessors))
        assert (result.arch, result.gpu, result.dtype, result.reason) == (
            "sm_86",
            SM_86.gpu,
            "float32",
            "",
        )


@pytest.mark.slow
def test_a_block_too_large_for_one_architecture_can_run_on_another(write_kernel: WriteKernel) -> None:
    steps: list[tuple[int, int]] = []
    method = read(
        write_kernel(BODY), threads="BLOCK_SIZE", shared_bytes="1500 * BLOCK_SIZE", BLOCK_SIZE=(32, 64)
    )
    architectures = [find_architecture("sm_75"), SM_86]
    results = list(
        occupancy_of_kernels(
            architectures, cases(method), True, None, lambda doing, done, total: steps.append((done, total))
        )
    )
    assert [(r.arch, r.threads_per_block, bool(r.reason)) for r in results] == [
        ("sm_75", 32, False), ("sm_75", 64, True), ("sm_86", 32, False), ("sm_86", 64, False)
    ]  # fmt: skip
    assert "96,000 bytes of shared memory" in results[1].reason and "65,536" in results[1].reason
    assert (results[1].active_blocks, results[1].occupancy, results[1].waves) == (0, 0, None)
    assert steps == [(1, 1), (1, 1)]  # each architecture compiles one program for both sizes
    with pytest.raises(UsageError, match=r"96,000 bytes.*allows 65,536"):
        occupancy(cases(method, BLOCK_SIZE=(64,)), "sm_75")


def test_a_variant_that_does_not_compile_fails_only_its_own_row(write_kernel: WriteKernel) -> None:
    path = write_kernel("#if BLOCK_SIZE == 8\n#error not this one\n#endif\n" + BODY)
    method = read(path, threads="BLOCK_SIZE", BLOCK_SIZE=(8, 16))
    broken, sound = occupancy(cases(method))
    assert re.search(r"does not compile: kernel\.cu:2:.*not this one", broken.reason)
    assert (broken.active_blocks, broken.active_warps, broken.resources, broken.limited_by) == (
        0,
        0,
        None,
        (),
    )
    assert (sound.reason, sound.active_blocks) == ("", 16)
    with pytest.raises(UsageError, match=r"kernel\.cu does not compile"):
        occupancy(cases(method, BLOCK_SIZE=(8,)))


def test_launch_bounds_and_the_sum_of_shared_memory_are_limits(write_kernel: WriteKernel) -> None:
    source = BODY.replace("void k", "void __launch_bounds__(128) k").replace(
        "C[threadIdx.x] = 1",
        "__shared__ float s[10240]; s[threadIdx.x] = *A; __syncthreads(); *C = s[(int)*B]",
    )
    method = read(
        write_kernel(source),
        threads="BLOCK_SIZE", shared_bytes="MORE * 1024", BLOCK_SIZE=(128, 256), MORE=(0, 30),
    )  # fmt: skip
    results = {(r.params["BLOCK_SIZE"], r.params["MORE"]): r for r in occupancy(cases(method), "sm_75")}
    assert results[128, 0].reason == "" and results[128, 0].active_blocks == 1
    assert results[256, 0].reason == "256 threads per block; its __launch_bounds__ allow 128"
    # 40 KB static and 30 KB dynamic are each allowed; together they exceed the 64 KB of an SM.
    assert results[128, 30].reason == "71,680 bytes of shared memory per block; sm_75 allows 65,536"
    assert [r.active_blocks for key, r in results.items() if key != (128, 0)] == [0, 0, 0]


@pytest.mark.parametrize(("dtype", "size"), [("float64", 8), ("float32", 4)])
def test_the_suggestion_for_tiled_dynamic_is_that_of_nvidias_search(header, dtype: str, size: int) -> None:
    """The header of `tiled-dynamic` declares 2 tiles of edge² elements, which are 2 elements per thread."""
    (result,) = best(cases("tiled-dynamic", dtype=dtype))
    suggestion, registers = result.suggestion, result.registers_per_thread
    assert suggestion is not None
    ((grid, block),) = header.ask(SM_86, [f"0 {registers} 0 {2 * size} 1 -1 0 1024"])
    assert (suggestion.min_grid_blocks, suggestion.threads_per_block) == (grid, block)
    edge = suggestion.block_edge
    assert edge * edge == suggestion.rounded_threads == result.threads_per_block
    assert (result.params, result.dynamic_shared_bytes) == ({"BLOCK_SIZE": edge}, 2 * edge * edge * size)
    ((active, *_),) = header.ask(SM_86, [f"{edge * edge} {registers} 0 {2 * edge * edge * size} 1 -1 0 1024"])
    assert result.active_blocks == active


def test_shared_memory_is_evaluated_at_fractional_block_edges(header, write_kernel: WriteKernel) -> None:
    """A tile has a padded row, so the bytes of a block of 96 threads follow from its edge, √96."""
    square, padded = "BLOCK_SIZE, BLOCK_SIZE", "60 * BLOCK_SIZE * (BLOCK_SIZE + 1)"
    (result,) = best(cases(read(write_kernel(BODY), threads=square, shared_bytes=padded, BLOCK_SIZE=(8, 16))))
    sizes = range(32, 1025, 32)
    needed = [math.ceil(60 * (t + math.sqrt(t)) - 1e-6) for t in sizes]
    lines = [
        f"{t} {result.registers_per_thread} 0 {b} 0 -1 0 1024" for t, b in zip(sizes, needed, strict=True)
    ]
    active = [t * answer[0] for t, answer in zip(sizes, header.ask(SM_86, lines), strict=True)]
    assert result.suggestion is not None
    assert result.suggestion.threads_per_block == max(
        t for t, threads in zip(sizes, active, strict=True) if threads == max(active)
    )
    assert result.suggestion.occupancy == pytest.approx(max(active) / SM_86.threads)


def test_a_block_size_known_to_the_compiler_is_chosen_from_the_given_values() -> None:
    planned = cases("tiled", BLOCK_SIZE=(8, 16))
    (result,) = best(planned)
    rows = occupancy(planned)
    most = max(r.active_threads for r in rows)
    expected = [r for r in rows if r.active_threads == most][-1]
    assert result._replace(suggestion=None) == expected
    assert result.suggestion is not None
    assert result.suggestion.chosen_from == "compiled: 64, 256"
    assert result.suggestion.threads_per_block == expected.threads_per_block


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("header", "sizes", "largest", "chosen"),
    [
        ({"threads": "BLOCK_SIZE"}, (32, 64), 1024, 768),
        ({"threads": "BLOCK_SIZE", "requires": "BLOCK_SIZE <= 128"}, (32, 64), 128, 128),
        ({"threads": "256", "shared_bytes": "64 * BLOCK_SIZE"}, (8, 9), 9, 256),
        # 153 x 5 threads are 24 warps; one block of 25 warps fits.
        ({"threads": "BLOCK_SIZE, 5"}, (32, 64), 204, 765),
        ({"threads": "BLOCK_SIZE, BLOCK_SIZE / 4"}, (32, 64), 64, 256),  # 32 x 8; 48 x 12 are 18 warps
        ({"threads": "1, 2, BLOCK_SIZE"}, (32, 64), 64, 128),  # z may not exceed 64
        ({"threads": "min(BLOCK_SIZE, 8), min(BLOCK_SIZE, 8)"}, (4, 8), 8, 64),
    ],
)
def test_a_block_size_set_at_launch_is_chosen_from_all_sizes(
    write_kernel: WriteKernel, header: dict[str, str], sizes: tuple[int, ...], largest: int, chosen: int
) -> None:
    """`largest` is the largest BLOCK_SIZE whose block an SM can run, or above which threads do not change."""
    (result,) = best(cases(read(write_kernel(BODY), **header, BLOCK_SIZE=sizes)))
    assert result.suggestion is not None
    assert (result.reason, result.threads_per_block) == ("", chosen)
    assert result.suggestion.threads_per_block == chosen
    assert result.occupancy == result.suggestion.occupancy
    # No possible value keeps more threads active.
    method = read(write_kernel(BODY), **header, BLOCK_SIZE=tuple(range(1, largest + 1)))
    assert result.active_threads == max(r.active_threads for r in occupancy(cases(method)))


def test_square_blocks_are_rounded_and_fixed_blocks_do_not_change(write_kernel: WriteKernel) -> None:
    path = write_kernel(BODY)
    (square,) = best(cases(read(path, threads="BLOCK_SIZE, BLOCK_SIZE", BLOCK_SIZE=(8, 16))))
    assert square.suggestion is not None
    assert (square.suggestion.threads_per_block, square.threads_per_block) == (768, 256)
    (fixed,) = best(cases(read(path, threads="192")))
    assert fixed.suggestion is not None
    assert (fixed.suggestion.threads_per_block, fixed.threads_per_block) == (768, 192)


@pytest.mark.parametrize("method", ["tiled", "tiled-dynamic"])
def test_a_carveout_applies_to_the_suggestion(method: str) -> None:
    (result,) = best_block_sizes([SM_86], cases(method, BLOCK_SIZE=(16,)), True, 5, silent, True)
    (row,) = occupancy_of_kernels([SM_86], cases(method, BLOCK_SIZE=(16,)), True, 5, silent)
    assert result.suggestion is not None
    assert result._replace(suggestion=None) == row
    assert result.suggestion.occupancy == row.occupancy < 1
    assert result.suggestion.min_grid_blocks == row.active_blocks * SM_86.multiprocessors


def test_an_impossible_launch_has_no_steps_and_no_curves(write_kernel: WriteKernel) -> None:
    """The program is compiled nevertheless, because a possible launch shares it."""
    method = read(write_kernel(BODY), threads="BLOCK_SIZE, BLOCK_SIZE / 4", BLOCK_SIZE=(6, 8))
    broken, sound = add_answers(occupancy(cases(method)), [SM_86], Questions(steps=True), None)
    assert "“BLOCK_SIZE / 4” is 1.5" in broken.reason and broken.threads_per_block == 0
    assert broken.steps == ()
    assert sound.steps
    assert [result for result, _ in curves_of_results([broken, sound], [SM_86], None)] == [sound]


@pytest.mark.slow
def test_the_suggestion_respects_the_launch_bounds(header, write_kernel: WriteKernel) -> None:
    path = write_kernel(BODY.replace("void k", "void __launch_bounds__(200) k"))
    (result,) = best(cases(read(path, threads="BLOCK_SIZE", BLOCK_SIZE=(32, 64))))
    ((grid, block),) = header.ask(SM_86, [f"0 {result.registers_per_thread} 0 0 0 -1 0 200"])
    assert result.suggestion is not None
    assert (result.suggestion.min_grid_blocks, result.suggestion.threads_per_block) == (grid, block)
    assert (result.threads_per_block, result.reason) == (block, "")


def test_each_combination_of_other_parameters_has_its_own_best_block_size(write_kernel: WriteKernel) -> None:
    path = write_kernel(BODY.replace("= 1", "= BLOCK_SIZE"))
    method = read(path, threads="BLOCK_SIZE, BLOCK_SIZE", BLOCK_SIZE=(8, 16), COARSE=(1, 2))
    found = [r.params for r in best(cases(method))]
    assert found == [{"BLOCK_SIZE": 16, "COARSE": coarse} for coarse in (1, 2)]


@pytest.mark.slow
def test_the_suggestion_is_the_best_of_variants_with_equal_block_sizes(write_kernel: WriteKernel) -> None:
    source = BODY.replace(
        "C[threadIdx.x] = 1",
        "__shared__ float s[BLOCK_SIZE][80]; s[0][threadIdx.x] = *A; __syncthreads(); *C = s[0][(int)*B]",
    )
    (result,) = best(cases(read(write_kernel(source), threads="256", BLOCK_SIZE=(64, 32))))
    assert result.suggestion is not None
    assert result.occupancy == result.suggestion.occupancy


def test_a_method_without_a_possible_block_size_is_an_error(write_kernel: WriteKernel) -> None:
    method = read(write_kernel(BODY), threads="BLOCK_SIZE, 32", BLOCK_SIZE=(64, 128))
    with pytest.raises(UsageError, match=r"no block size can run.*2048 threads.*allows 1024"):
        best(cases(method))
