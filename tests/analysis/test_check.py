"""`check` finds each mistake of the course documents, with its kind and line, and none in correct kernels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from some_methods import every_other_long

from cudamm.analysis.check import CheckResult, SharedLimit, check_all
from cudamm.devices.cpu_device import CpuDevice
from cudamm.devices.device import Device
from cudamm.errors import UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.launch_plan import unsupported_reason
from cudamm.kernels.method import ELEMENT_TYPES, Method, Value
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import Variant, variants

KB = 1024
Checked = Callable[..., CheckResult]


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


@pytest.fixture
def checked(cpu: Device[Any], kernels: Path) -> Checked:
    """Return a function that checks a method, a file, or one of the example mistakes by its name."""

    def check(
        name: str | Path, *sizes: str, dtype: str = "float32", shared_kb: int = 227, **values: Value
    ) -> CheckResult:
        mistake = kernels / "mistakes" / f"{name}.cu"
        path = name if isinstance(name, Path) else mistake if mistake.exists() else None
        method = read_method(path) if path is not None else find(str(name))
        (variant,) = variants(method, {key: (value,) for key, value in values.items()})
        (result,) = results(cpu, [variant], sizes, dtype, shared_kb)
        return result

    return check


def results(
    cpu: Device[Any], chosen: list[Variant], sizes: tuple[str, ...], dtype: str, shared_kb: int = 227
) -> list[CheckResult]:
    problems = [Problem(parse_shape(size), ELEMENT_TYPES[dtype]) for size in sizes]
    cases = [(variant, problem) for problem in problems for variant in chosen]
    with InProcessExecutor(cpu) as executor:
        return list(check_all(executor, cases, True, SharedLimit(shared_kb * KB, "a test's GPU"), silent))


def line_of(
    result: CheckResult,
    text: str,
    nth: int = 1,
    kernels: Path = Path(__file__).parents[1] / "example_kernels",
) -> int:
    """Return the number of the nth line of a mistake's file that contains a text."""
    lines = (kernels / "mistakes" / result.file).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][nth - 1]


def errors_of(result: CheckResult) -> set[tuple[str, str, int]]:
    return {(f.kind, f.array, f.line) for f in result.errors}


@pytest.mark.long
def test_tiles_that_ignore_k_are_found(checked: Checked) -> None:
    result = checked("ignores_k", "17x31x13")
    (found,) = result.errors
    assert (found.kind, found.line) == ("wrong-result", line_of(result, "C[row"))
    assert "A[0][k] is used 16 times at k = 0" in found.message


@pytest.mark.slow
def test_bytes_taken_for_elements_are_found(checked: Checked) -> None:
    result = checked("bytes_as_elements", "17x31x13")
    assert errors_of(result) == {("out-of-bounds", "Mds_Nds", line_of(result, "*Nds ="))}
    assert "Mds_sz is a number of bytes" in result.errors[0].message
    assert "Mds_Nds[1024]" in result.errors[0].message and "512 elements" in result.errors[0].message


@pytest.mark.slow
def test_a_c_of_which_only_the_diagonal_is_set_to_zero_is_found(checked: Checked) -> None:
    result = checked("zeroes_the_diagonal", "16x24x9")
    (unset,) = result.errors
    assert (unset.kind, unset.array, unset.line) == ("wrong-result", "C", line_of(result, "] = 0;"))
    assert "adds to what C held before" in unset.message
    assert unset.cure.startswith("write C[(i + b")  # both indices of the loops are needed


def test_races_without_barriers_are_found(checked: Checked) -> None:
    result = checked("no_barriers", "33x20x40")
    read = line_of(result, "sum += subA")
    race, next_step = result.errors  # one barrier ends the races of both arrays
    # The example is a race between warps. Each row of subA is written and read by one warp.
    assert (race.array, race.line) == ("subB", read) and "the same holds for subA" in race.message
    assert race.other_line == line_of(result, "subB[ty][tx] =")
    assert race.threads[0].thread[1] // 2 != race.threads[1].thread[1] // 2  # a warp is two rows of 16
    assert {at.op for at in race.threads} == {"load", "store"}
    assert race.threads[0].thread != race.threads[1].thread
    last_write = line_of(result, "subB[ty][tx] =")
    assert f"between line {last_write}, which writes, and line {read}, which reads" in race.cure
    first_write = line_of(result, "subA[ty][tx] =")
    assert f"put __syncthreads() after line {read}, inside the loop" in next_step.cure
    assert f"before line {first_write} writes again" in next_step.cure


def test_a_missing_first_barrier_is_found(checked: Checked) -> None:
    result = checked("no_first_barrier", "20x16x24", BLOCK_SIZE=8)
    (race,) = (f for f in result.errors if f.kind == "race")
    assert "the barrier after writing is missing" in race.message
    assert f"between line {line_of(result, 'subB[ty][tx] =')}" in race.cure
    assert [f.kind for f in result.errors] == ["race"], "the wrong product follows from the race"


def test_a_missing_second_barrier_is_found(checked: Checked) -> None:
    result = checked("no_second_barrier", "33x20x40")
    (race,) = (f for f in result.errors if f.kind == "race")
    assert "the barrier after reading is missing" in race.message and "the same holds for sub" in race.message
    assert f"after line {line_of(result, 'sum += subA')}" in race.cure
    assert f"before line {line_of(result, 'subA[ty][tx] =')} writes again" in race.cure


def test_one_step_needs_no_second_barrier(checked: Checked) -> None:
    assert checked("no_second_barrier", "16x16x16").status == "clean"


def test_a_continue_past_barriers_is_found(checked: Checked) -> None:
    result = checked("continues_past_barriers", "20x16x16")
    (found,) = result.errors
    assert (found.kind, found.line) == ("divergent-barrier", line_of(result, "__syncthreads"))
    assert "left the kernel" in found.message and "continue" in found.cure
    assert {at.block for at in found.threads} == {(0, 1, 0)} and len(found.threads) == 2


def test_threads_that_wait_at_different_barriers_are_found(checked: Checked) -> None:
    result = checked("barriers_at_two_lines", "16x16x16")
    (found,) = result.errors
    assert found.kind == "divergent-barrier"
    assert {found.line, found.other_line} == {line_of(result, "__syncthreads", nth) for nth in (1, 2)}
    assert {at.thread for at in found.threads} == {(0, 0, 0), (0, 8, 0)}


def test_x_and_y_swapped_give_advice_and_no_error(checked: Checked) -> None:
    result = checked("swaps_x_and_y", "64x64x64", "17x31x13")
    assert result.status == "clean" and result.all_well
    found = {(f.kind, f.array, f.line): f for f in result.advice}
    conflict = found["bank-conflict", "As", line_of(result, "sum += As")]
    assert "32-way" in conflict.message and "As[32][33]" in conflict.cure
    spread = found["uncoalesced", "C", line_of(result, "C[(row0 + tx)")]
    assert (
        "32 sectors" in spread.message
        and "4 would be enough" in spread.message
        and "256 bytes apart" in spread.message
    )
    assert len(found) == 2


def test_one_row_too_many_is_out_of_bounds_because_of_its_condition(checked: Checked) -> None:
    result = checked("off_by_one", "17x31x13")
    (found,) = result.errors
    assert (found.kind, found.array, found.line) == ("out-of-bounds", "A", line_of(result, "if (row <= M"))
    assert "row <= M instead of row < M" in found.message and found.cure == "write row < M"


def test_a_missing_bounds_check_is_one_mistake_for_all_arrays(
    cpu: Device[Any], write_kernel: Any, kernels: Path
) -> None:
    text = (kernels / "mistakes" / "off_by_one.cu").read_text().replace("if (row <= M && col < N)", "")
    text = text.replace("M // BLOCK_SIZE + 1", "ceil(M / BLOCK_SIZE)")
    (result,) = results(cpu, [*variants(read_method(write_kernel(text)), {})], ("17x31x13",), "float32")
    (found,) = result.errors
    assert (found.kind, found.array) == (
        "out-of-bounds",
        "A",
    ) and "the same holds for B and C" in found.message
    assert "within the matrix" in found.cure and "M % 16 == 0" in found.cure and "in the header" in found.cure


def test_a_grid_with_surplus_blocks_and_no_bounds_check_is_one_mistake(
    cpu: Device[Any], write_kernel: Any, kernels: Path
) -> None:
    text = (kernels / "mistakes" / "off_by_one.cu").read_text().replace("if (row <= M && col < N)", "")
    (result,) = results(cpu, [*variants(read_method(write_kernel(text)), {})], ("32x48x64",), "float32")
    (found,) = result.errors
    assert "tried at 32x48x64, the grid has 3 x 3 blocks, and 3 x 2 cover C" in found.message
    assert "within the matrix" in found.cure


def test_a_vector_from_an_odd_offset_is_misaligned(checked: Checked) -> None:
    result = checked("odd_float4", "5x8x16")
    (found,) = result.errors
    assert (found.kind, found.array, found.line) == ("misaligned", "A", line_of(result, "const float4 a"))
    assert "A[0][1] to A[0][4]" in found.message


def test_one_step_past_the_tile_is_out_of_bounds(checked: Checked) -> None:
    result = checked("past_the_tile", "17x31x13")
    (found,) = result.errors
    assert (found.kind, found.line) == ("out-of-bounds", line_of(result, "k <= BLOCK_SIZE"))
    assert "As[16][0]" in found.message and "As has 16 x 16" in found.message
    assert found.cure == "write k < BLOCK_SIZE"


@pytest.fixture(scope="module")
def second_looks(cpu: Device[Any], kernels: Path) -> dict[str, CheckResult]:
    """Return the check of a kernel that has another mistake for each K."""
    (variant,) = variants(read_method(kernels / "second_looks.cu"), {})
    return {size: results(cpu, [variant], (size,), "float32")[0] for size in MISTAKES_BY_SIZE}


OWN, INCLUDED = "second_looks.cu", "second_looks.h"
MISTAKES_BY_SIZE = {
    "8x16x5": (
        ("out-of-bounds", OWN, "if (K == 5) tile[ty][tx] = 1;"),
        "the block has 8 x 8 threads, and tile has 4 x 4 elements: thread (0,4) of block (0,0) indexes "
        "tile[ty][tx] with ty = 4",
    ),
    "8x8x9": (
        ("out-of-bounds", INCLUDED, "row[i] = a[i];  // K = 9: one element too many"),
        "thread (0,0) of block (0,0) indexes row[i] with i = 8, and row has 8 elements",
    ),
    "8x8x6": (
        ("wrong-result", OWN, "if (K == 6) sum = sum / (col - col) * 0;"),
        "thread (0,0) of block (0,0) computes a NaN here: 0/0, ∞ - ∞, 0·∞, or a function outside of its "
        "domain, such as the square root of a negative number",
    ),
    "8x8x7": (
        ("wrong-result", OWN, "for (int x = sum; x != 0; x = 0) sum = x;"),
        "a float becomes a whole number (int)",
    ),
}


@pytest.mark.parametrize("size", MISTAKES_BY_SIZE)
def test_the_cause_comes_first_with_its_file_and_line(
    second_looks: dict[str, CheckResult], kernels: Path, size: str
) -> None:
    first, *others = second_looks[size].errors
    (kind, file, text), message = MISTAKES_BY_SIZE[size]
    assert (first.kind, first.file, first.text, first.message) == (kind, file, text, message)
    assert (kernels / file).read_text().splitlines()[first.line - 1].strip() == text
    # The overrun of the tile at three lines is one mistake, and what follows from it is none.
    assert [mistake.kind for mistake in others] in ([], ["wrong-result"])


def test_an_index_into_the_next_row_is_no_mistake_of_a_right_kernel(checked: Checked, kernels: Path) -> None:
    assert checked(kernels / "second_looks.cu", "8x8x8").status == "clean"


@pytest.mark.slow
def test_reading_another_row_is_out_of_bounds_only_past_the_end(checked: Checked) -> None:
    inside = checked("reads_the_next_row", "16x8x16")
    assert {f.kind for f in inside.errors} == {"wrong-result"}
    (outside,) = checked("reads_the_next_row", "16x24x16").errors
    assert (outside.kind, outside.array) == ("out-of-bounds", "A") and "A has 16 x 16" in outside.message
    assert "A[row * N + k] instead of A[row * K + k]" in outside.message


def test_too_much_static_shared_memory_is_found(checked: Checked) -> None:
    result = checked("too_much_shared", "17x31x13", "8x8x8")
    (found,) = result.errors
    assert (
        found.kind == "shared-memory-limit" and "80,000 bytes" in found.message and "49,152" in found.message
    )
    assert found.line == line_of(result, "__shared__") and len(found.sizes) == 2


def test_shared_memory_that_the_compiler_refuses_gives_the_same_error(
    checked: Checked, write_kernel: Any
) -> None:
    path = write_kernel(
        "// x.\n//\n// threads: 32\n// grid: 1\n\n"
        "__global__ void k(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    __shared__ float tile[20000];\n"
        "    tile[threadIdx.x * M] = A[threadIdx.x];\n    __syncthreads();\n"
        "    C[threadIdx.x] = tile[(31 - threadIdx.x) * M];\n}\n"
    )
    (found,) = checked(path, "8x8x8").errors
    assert (found.kind, found.line) == ("shared-memory-limit", 7)
    assert "80,000 bytes" in found.message and "49,152" in found.message


def test_dynamic_shared_memory_has_the_architectures_limit(checked: Checked) -> None:
    assert checked("tiled-dynamic", "8x8x8", BLOCK_SIZE=32, shared_kb=8).status == "clean"
    result = checked("tiled-dynamic", "8x8x8", BLOCK_SIZE=32, shared_kb=7)
    (found,) = result.errors
    assert found.kind == "shared-memory-limit" and "8,192 bytes" in found.message
    assert "the most that a test's GPU gives a block is 7,168" in found.message


def test_reads_of_unwritten_shared_memory_are_found(checked: Checked, kernels: Path) -> None:
    result = checked(kernels / "unwritten_shared.cu", "40x40x4")
    found = [f for f in result.errors if f.kind == "uninitialised"]
    assert {f.array for f in found} == {"statics", "dynamic"}
    assert all("was never written" in f.message and f.threads for f in found)


def test_shared_arrays_outside_functions_are_checked(checked: Checked, write_kernel: Any) -> None:
    path = write_kernel(
        "// Two arrays of the file, and an index past the end of one.\n//\n// threads: 32\n// grid:    1\n"
        "__shared__ float first[32];\nstatic __shared__ float second[32];\n"
        "__global__ void beyond(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    first[threadIdx.x] = second[threadIdx.x] = A[threadIdx.x];\n    __syncthreads();\n"
        "    C[threadIdx.x] = first[threadIdx.x + 1] + second[threadIdx.x];\n}\n"
    )
    found = [f for f in checked(path, "8x8x8").errors if f.kind == "out-of-bounds"]
    assert [(f.array, f.line) for f in found] == [("first", 10)]
    assert "first[32]" in found[0].message


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "name", ["barrier_in_function", "warp_product", "shuffles", "shared_memory", "votes"]
)
def test_correct_kernels_have_no_race_and_no_access_out_of_bounds(
    checked: Checked, kernels: Path, name: str
) -> None:
    """Some of these kernels do not compute the product, so a wrong result is no failure here."""
    method = read_method(kernels / f"{name}.cu")
    result = checked(method.path, "40x64x32", dtype=method.element_types[0])
    assert {f.kind for f in result.errors} <= {"wrong-result", "uninitialised"}
    if name in ("barrier_in_function", "warp_product"):
        assert result.errors == ()


@pytest.mark.long
@pytest.mark.parametrize(
    "method",
    every_other_long(
        [m for m in ladder() if not m.runs_on_host and not unsupported_reason(m, CpuDevice.limits)]
    ),
)
def test_the_ladder_is_clean(cpu: Device[Any], method: Method) -> None:
    """Sizes: the smallest; tiles that reach past every edge, in several steps; whole tiles."""
    (variant,) = variants(method, {})  # as in most tests: it is compiled once
    (result,) = results(cpu, [variant], ("1x1x1", "33x20x40", "64x64x64"), method.element_types[0])
    assert [f.message for f in result.errors] == [] and result.status == "clean"
    assert len(result.sizes) == 3


def test_blocks_that_end_in_the_middle_of_a_warp_are_clean(cpu: Device[Any]) -> None:
    """Kernels with bounded tiles, and with tiles in dynamic shared memory, are checked."""
    names = ("tiled-bounds", "tiled-dynamic")
    chosen = [v for name in names for v in variants(find(name), {"BLOCK_SIZE": (7,)})]
    for result in results(cpu, chosen, ("17x10x13",), "float32"):
        assert [(result.method, f.message) for f in result.errors] == []
        (odd,) = (f for f in result.advice if f.kind == "partial-warp")
        assert "not a multiple of 32" in odd.message


@pytest.mark.slow
def test_a_large_launch_is_checked_by_some_of_its_blocks(checked: Checked) -> None:
    result = checked("tiled", "512x512x64", BLOCK_SIZE=16)
    watched, blocks = result.watched["512x512x64"]
    assert blocks == 1024 and 1 <= watched < 30 and result.status == "clean"
    # The last row of blocks is among them. This kernel is wrong there.
    wrong = checked("off_by_one", "512x512x64")
    assert wrong.watched["512x512x64"][0] < 100 and any(f.kind == "out-of-bounds" for f in wrong.errors)


def test_a_kernel_that_compiles_nowhere_is_a_usage_error(checked: Checked, write_kernel: Any) -> None:
    path = write_kernel(
        "// x.\n//\n// threads: 1\n// grid: 1\n\n"
        "__global__ void k(int M, int N, int K, const float *A, const float *B, float *C) { C[0] = oops; }\n"
    )
    with pytest.raises(UsageError, match="oops"):
        checked(path, "8x8x8")


def test_sizes_that_a_kernel_does_not_take_are_skipped(checked: Checked, write_kernel: Any) -> None:
    path = write_kernel(
        "// x.\n//\n// threads: 32\n// grid: 1\n// requires: M < 5\n\n"
        "__global__ void k(int M, int N, int K, const float *A, const float *B, float *C) {\n"
        "    if (threadIdx.x) return;\n"
        "    for (int i = 0; i < M * N; ++i) {\n"
        "        float sum = 0;\n"
        "        for (int k = 0; k < K; ++k) sum += A[i / N * K + k] * B[k * N + i % N];\n"
        "        C[i] = sum;\n    }\n}\n"
    )
    result = checked(path, "4x4x4", "8x8x8")
    assert result.status == "clean" and result.sizes == ("4x4x4",)
    assert result.skipped[0][0] == "8x8x8" and "M < 5" in result.skipped[0][1]


def test_advice_comes_from_the_largest_size(checked: Checked) -> None:
    result = checked("naive", "1x1x1", "64x64x64", "8x8x8", BLOCK_SIZE=32)
    assert {f.array for f in result.advice} == {"A", "C"}
    assert {f.sizes for f in result.advice} == {("64x64x64",)}
    assert all("32 sectors" in f.message for f in result.advice)


WAITING = """\
// Waits for ever if its accesses are recorded, as a barrier over the grid can.
//
// threads: 1
// grid:    1
__global__ void waiting(int M, int N, int K, const float *A, const float *B, float *C) {
#ifdef CUDAMM_OBSERVED
    for (volatile const float *a = A; *a == A[0];) {}
#endif
    C[0] = A[0] * B[0];
}
"""


def test_a_launch_that_does_not_end_while_it_is_watched_is_ended(
    cpu: Device[Any], write_kernel: Callable[..., Path]
) -> None:
    (variant,) = variants(read_method(write_kernel(WAITING)), {})
    cases = [(variant, Problem(parse_shape("1"), ELEMENT_TYPES["float32"]))]
    limit = SharedLimit(227 * KB, "a test's GPU")
    with InProcessExecutor(cpu) as executor:
        (result,) = check_all(executor, cases, True, limit, silent, timeout_s=0.3)
    (found,) = result.errors
    assert (result.status, found.kind) == ("wrong", "crash")
    assert found.message.startswith("no answer within 0.3 s (--timeout)")
