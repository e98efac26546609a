"""Verification: broken kernels fail with a message about the mistake, and correct kernels pass."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cudamm.benchmark.verify import verify_all
from cudamm.devices.device import Device, poison_of
from cudamm.errors import RequirementError, UsageError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

Kernel = Callable[..., Any]
FIRST, SECOND = 0, 1


def broken(method: str, old: str, new: str, nth: int | None = None) -> str:
    """Return a method's source with one occurrence of a text replaced: the nth, or the only one."""
    source = find(method).source
    places = [match.start() for match in re.finditer(re.escape(old), source)]
    assert len(places) == 1 if nth is None else len(places) > nth, (
        f"{old!r} occurs {len(places)} times in {method}"
    )
    start = places[nth or 0]
    changed = source[:start] + new + source[start + len(old) :]
    assert changed != source
    return changed


@pytest.fixture
def reason(cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel) -> Kernel:
    """Return a function that verifies a broken source, asserts that it fails, and returns the reason."""

    def reason(
        source: str, shape: str = "40x24x33", dtype: str = "float32", fmad: bool = True, **values: int
    ) -> str:
        result = verify_one(cpu, write_kernel(source), shape, dtype, fmad=fmad, **{"BLOCK_SIZE": 8} | values)
        assert result.status == "failed"
        assert result.verdict.correct is False
        assert result.verdict.bit_equal is not True
        assert result.reason == result.verdict.reason
        assert result.timing.samples_ms == []
        assert "\n" not in result.reason
        text: str = result.reason
        return text

    return reason


def test_a_kernel_that_is_wrong_with_other_inputs_is_not_called_right_on_the_first_launch(
    reason: Kernel,
) -> None:
    problem = Problem(Shape(8, 8, 8), ELEMENT_TYPES["float32"])
    first = float(problem.inputs[0][0, 0])
    store = "C[row * N + col] = sum"
    message = reason(broken("coalesced", store, f"{store} * (A[0] == {first!r}f)"), "8x8x8")
    assert message.startswith("right with the first inputs, and wrong with others: 64 of 64 elements wrong")


STORES_NAN = "C[row * N + col] = col % 2 ? sum : (double)__int_as_float(0x{bits:08x})"


def test_an_element_that_holds_the_pattern_of_unwritten_memory_may_have_been_written(reason: Kernel) -> None:
    poison = int(poison_of(np.zeros(1, np.float32)))
    source = broken("coalesced", "C[row * N + col] = sum", STORES_NAN.format(bits=poison))
    assert "never written" not in reason(source, "8x8x8")


# Kernels of the ladder, each with one mistake.


@pytest.mark.parametrize(
    ("method", "nth", "dtype"),
    [
        ("tiled", FIRST, "float32"),
        ("tiled", SECOND, "float32"),
        ("tiled-bounds", FIRST, "float64"),
        ("double-buffer", SECOND, "int32"),
    ],
)
def test_a_missing_barrier_is_reported(reason: Kernel, method: str, nth: int, dtype: str) -> None:
    message = reason(broken(method, "        __syncthreads();", "        ", nth), "24x16x24", dtype)
    assert message.startswith("the result depends on the order in which threads run: the kernel has a race; ")
    assert re.search(
        r"\d+ of 384 elements wrong, first C\[\d+\]\[\d+\] \(tile \d+,\d+\): expected .*, got ", message
    )


@pytest.mark.parametrize("nth", [FIRST, SECOND], ids=["first", "second"])
def test_a_single_tile_needs_only_the_first_barrier(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, nth: int
) -> None:
    """With one tile the second barrier protects nothing. Without the first, only the last thread is right."""
    source = broken("tiled", "        __syncthreads();", "        ", nth)
    result = verify_one(cpu, write_kernel(source), "8x8x8", BLOCK_SIZE=8)
    assert (result.status == "ok") is (nth == SECOND)


def test_a_value_from_uninitialised_shared_memory_is_reported(reason: Kernel) -> None:
    message = reason(broken("tiled", "        __syncthreads();", "        ", FIRST), "8x8x8")
    assert "got nan, read from uninitialised shared memory" in message


def test_a_product_that_ignores_k_is_reported_with_the_uses_of_each_k(reason: Kernel) -> None:
    message = reason(
        broken(
            "tiled",
            "accumulator(As[ty][k]) * accumulator(Bs[k][tx])",
            "accumulator(As[ty][tx]) * accumulator(Bs[ty][tx])",
        ),
        "16x16x16",
    )
    assert message.startswith("256 of 256 elements wrong, first C[0][0] (tile 0,0): expected ")
    assert (
        "C[0][0] should use every k once: A[0][k] is used 8 times at k = 0, 8, "
        "never at k = 1, 2, 3, 4, … (14 in all)" in message
    )
    assert "B[k][0] is used 8 times at k = 0, 8" in message


def test_a_row_check_off_by_one_is_reported(reason: Kernel) -> None:
    message = reason(
        broken("tiled-bounds", "if (row < M && col < N)", "if (row <= M && col < N)"), "13x11x10"
    )
    assert message == (
        "wrote past the end of C: 11 elements beyond its 13 x 11, the first where C[13][0] would be"
    )


def test_a_column_check_off_by_one_is_reported(reason: Kernel) -> None:
    message = reason(
        broken("tiled-bounds", "if (row < M && col < N)", "if (row < M && col <= N)"), "13x11x10"
    )
    assert message.startswith(
        "wrote past the end of C: 1 element beyond its 13 x 11, the first where C[13][0] would be"
    )


@pytest.mark.parametrize(("method", "dtype"), [("naive", "float32"), ("coalesced", "int32")])
def test_a_write_of_values_that_were_read_beyond_the_edge_is_reported(
    reason: Kernel, method: str, dtype: str
) -> None:
    """The row beyond C is computed from the row beyond A, so the guards of A and C hold different values."""
    message = reason(broken(method, "row >= M || col >= N", "row > M || col >= N"), "13x11x10", dtype)
    assert message.startswith(
        "wrote past the end of C: 11 elements beyond its 13 x 11, the first where C[13][0] would be"
    )


def test_a_missing_row_check_is_reported(reason: Kernel) -> None:
    message = reason(broken("tiled-bounds", "if (row < M && col < N)", "if (col < N)"), "13x11x10")
    assert message.startswith("wrote past the end of C: 33 elements beyond its 13 x 11")


def test_an_unwritten_row_is_reported(reason: Kernel) -> None:
    message = reason(
        broken("tiled-bounds", "if (row < M && col < N)", "if (row < M - 1 && col < N)"), "13x11x10"
    )
    assert message == ("11 of 143 elements never written, first C[12][0] (tile 1,0), all in row 12")


def test_one_unwritten_element_is_reported(reason: Kernel) -> None:
    source = broken(
        "tiled-bounds", "if (row < M && col < N)", "if (row < M && col < N && !(row == 9 && col == 4))"
    )
    for dtype in ("float64", "int32"):
        message = reason(source, "13x11x10", dtype)
        assert message.startswith("1 of 143 elements never written, first C[9][4] (tile 1,0)")


def test_a_load_past_the_edge_is_reported(reason: Kernel) -> None:
    """Only the last row reads A's guard. The other rows read the next row, and multiply it by zero."""
    message = reason(broken("tiled-bounds", "k0 + tx < K ?", "k0 + tx <= K ?"), "13x11x10")
    assert message.startswith("11 of 143 elements wrong, first C[12][0] (tile 1,0), all in row 12: expected ")
    assert "got nan, read from beyond the edge of A" in message


def test_a_continue_around_the_barriers_is_reported_with_the_line(reason: Kernel) -> None:
    source = broken("tiled-bounds", "k0 += BLOCK_SIZE) {", "k0 += BLOCK_SIZE) { if (row >= M) continue;")
    message = reason(source, "13x11x10")
    barrier = next(i for i, line in enumerate(source.splitlines(), 1) if "__syncthreads();" in line)
    assert f"at the barrier in line {barrier} of kernel.cu" in message
    assert "left the kernel" in message
    assert "a later one goes on without it" in message


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_adding_to_the_previous_c_is_reported(reason: Kernel, dtype: str) -> None:
    message = reason(broken("tiled", "C[row * N + col] = sum", "C[row * N + col] += sum"), "16x16x16", dtype)
    assert message.startswith(
        "it adds to what C held before: C has to be set to zero first, or to an old C that it is to add to; "
        "256 of 256 "
    )
    # Every element was written. Reporting unwritten elements would point to another mistake.
    assert "never written" not in message


def test_zeroing_only_the_diagonal_is_reported(reason: Kernel) -> None:
    source = broken(
        "block-coarse",
        "            C[row * N + col] = 0;",
        "            if (row == col) C[row * N + col] = 0;",
    )
    message = reason(source, "6x6x6", BLOCK_SIZE=2)
    assert "it adds to what C held before: C has to be set to zero first" in message
    assert "30 of 36 elements" in message
    assert "first C[0][1] (tile 0,0)" in message
    assert "never written" not in message


def test_a_transposed_result_is_reported(reason: Kernel) -> None:
    message = reason(broken("tiled", "C[row * N + col] = sum", "C[col * N + row] = sum"), "16x16x16")
    assert message.startswith(
        "row and column of C are swapped: C[col * M + row] instead of C[row * N + col]; "
        "240 of 256 elements wrong, first C[0][1] (tile 0,0)"
    )


def test_a_transposed_operand_is_reported(reason: Kernel) -> None:
    message = reason(broken("coalesced", "B[k * N + col]", "B[col * N + k]"), "16x16x16")
    assert message.startswith(
        "B is read as if it were column-major: B[col * K + k] instead of B[k * N + col] "
        "(if B is meant to be column-major: --layout B=column); 256 of 256 elements wrong"
    )


def test_one_term_too_many_is_reported(reason: Kernel) -> None:
    message = reason(broken("coalesced", "k < K; ++k", "k <= K; ++k"), "12x10x7")
    assert "120 of 120 elements wrong, first C[0][0]" in message
    assert "read from beyond the edge of B" in message


def test_one_term_too_few_is_reported(reason: Kernel) -> None:
    message = reason(broken("coalesced", "k < K; ++k", "k < K - 1; ++k"), "12x10x7")
    assert message.startswith(
        "the sums end too early: the last term is missing, k = 6; 120 of 120 elements wrong, first C[0][0]"
    )


def test_a_term_that_is_added_twice_is_reported(reason: Kernel) -> None:
    source = broken("coalesced", "sum += acc", "for (int i = 0; i < 1 + (k == 4); ++i) sum += acc")
    message = reason(source, "12x10x7")
    assert "is used 2 times at k = 4" in message


def test_a_wrong_element_far_from_the_first_is_named(reason: Kernel) -> None:
    source = broken("coalesced", "= sum;", "= row == 37 && col == 21 ? sum * element(2) : sum;")
    message = reason(source, "40x24x33")
    assert message.startswith("1 of 960 elements wrong, first C[37][21] (tile 4,2): expected ")


def test_expected_and_found_values_are_those_of_the_element(reason: Kernel) -> None:
    message = reason(
        broken("coalesced", "= sum;", "= row == 3 && col == 2 ? sum + 1000 : sum;"), "5x5x5", "int32"
    )
    a, b = Problem(Shape(5, 5, 5), ELEMENT_TYPES["int32"]).inputs
    exact = int((a.astype(object) @ b.astype(object))[3, 2])
    assert f"expected {exact}, got {exact + 1000}" in message


# The precision of verification.


def test_an_error_just_above_the_bound_is_found_and_one_below_is_not(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    """At 1 x 1 x 1 the bound is u |a b| and the product is rounded once, so an error of 2 ulp is wrong."""
    for steps, status in ((0, "ok"), (2, "failed"), (-2, "failed")):
        source = broken("coalesced", "= sum;", f"= sum + {steps} * sum * element(1.1920929e-7);")
        result = verify_one(cpu, write_kernel(source), "1x1x1", fmad=False, BLOCK_SIZE=1)
        assert result.status == status, steps
        assert result.verdict.max_error is not None
        assert (result.verdict.max_error <= result.verdict.error_bound) is (status == "ok")


@pytest.mark.parametrize(("dtype", "new"), [("float64", "float sum = 0;"), ("int32", "short sum = 0;")])
def test_a_type_that_is_too_narrow_is_reported(reason: Kernel, dtype: str, new: str) -> None:
    source = broken("coalesced", "accumulator sum = 0;", new)
    assert "elements wrong" in reason(source, "20x20x4000", dtype)


def test_inputs_cut_to_half_precision_are_reported(reason: Kernel) -> None:
    """Like tensor cores, the kernel uses eleven bits of each input and sums in float32."""
    half = """\
__device__ float half_of(float x) {
    unsigned bits;
    memcpy(&bits, &x, 4);
    bits &= 0xffffe000u;
    memcpy(&x, &bits, 4);
    return x;
}

__global__"""
    source = broken("coalesced", "A[row * K + k]", "half_of(A[row * K + k])").replace("__global__", half)
    assert "elements wrong" in reason(source, "20x20x50")


SUMS = {
    "backwards": "for (int k = K - 1; k >= 0; --k) sum += A[row * K + k] * B[k * N + col];",
    "in four parts": (
        "element p[4] = {};\n    for (int k = 0; k < K; ++k) p[k % 4] += A[row * K + k] * B[k * N + col];\n"
        "    sum = (p[0] + p[1]) + (p[2] + p[3]);"
    ),
}
TERM = "accumulator(A[row * K + k]) * accumulator(B[k * N + col])"
IN_ORDER = f"for (int k = 0; k < K; ++k)\n        sum += {TERM};"


@pytest.mark.parametrize(
    ("order", "dtype"),
    [("backwards", "float32"), ("in four parts", "float64"), ("in four parts", "int32")],
)
def test_sums_in_another_order_are_correct(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel, order: str, dtype: str
) -> None:
    source = broken("coalesced", IN_ORDER, SUMS[order])
    without = write_kernel(source.replace("// sum-order: k\n", ""), "without.cu")
    for shape in ("10x10x700", "3x3x1"):
        result = verify_one(cpu, without, shape, dtype, fmad=False)
        assert (result.status, result.reason) == ("ok", "")
        assert result.verdict.bit_equal is (True if dtype == "int32" else None)


@pytest.mark.parametrize(("order", "dtype"), [("backwards", "float32"), ("in four parts", "float64")])
def test_a_header_that_declares_the_wrong_order_is_reported(reason: Kernel, order: str, dtype: str) -> None:
    """The product is within the error bound, so only its bits show the other order."""
    message = reason(broken("coalesced", IN_ORDER, SUMS[order]), "10x10x70", dtype, fmad=False)
    assert re.match(
        r"within the error bound, but not the bits of a sum in k order, first at C\[\d+\]\[\d+\]", message
    )


def test_the_declared_order_is_not_checked_if_terms_may_be_fused(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    path = write_kernel(broken("coalesced", IN_ORDER, SUMS["backwards"]))
    result = verify_one(cpu, path, "10x10x70", fmad=True)
    assert result.status == "ok"
    assert result.verdict.bit_equal is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_long_sums_are_correct(cpu: Device[Any], verify_one: Kernel, seed: int) -> None:
    for fmad in (True, False):
        assert verify_one(cpu, "coalesced", "7x9x20000", fmad=fmad, seed=seed, BLOCK_SIZE=8).reason == ""


def test_integers_that_wrap_around_in_a_partial_sum_are_correct(
    cpu: Device[Any], verify_one: Kernel, write_kernel: Kernel
) -> None:
    source = broken("coalesced", "accumulator sum = 0;", "element sum = 2147483647;").replace(
        "= sum;", "= sum - 2147483647;"
    )
    assert verify_one(cpu, write_kernel(source), "5x5x50", "int32").reason == ""


# Several cases, and cases that are refused.


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""


def test_a_failing_case_fails_only_its_own_row(cpu: Device[Any], write_kernel: Kernel) -> None:
    problem = Problem(Shape(9, 9, 9), ELEMENT_TYPES["float32"])
    crash = read_method(
        write_kernel(broken("coalesced", "    accumulator sum = 0;", "    element sum = M / (K - 9);"))
    )
    syntax = read_method(
        write_kernel(broken("coalesced", "accumulator sum = 0;", "element sum = ;"), "syntax.cu")
    )
    with_requirement = broken("coalesced", "// threads:", "// requires: M == N + 1\n// threads:")
    square = read_method(write_kernel(with_requirement, "square.cu"))
    methods = [find("naive"), crash, syntax, square, find("numpy"), find("tiled")]
    cases = [(variants(m, {})[0], problem) for m in methods]
    progress: list[tuple[str, int, int]] = []
    results = list(verify_all(InProcessExecutor(cpu), cases, True, lambda *step: progress.append(step)))
    assert [r.status for r in results] == ["ok", "failed", "failed", "skipped", "ok", "ok"]
    assert results[1].reason.startswith("crashed: division by zero")
    assert results[2].reason.startswith("does not compile: syntax.cu:")
    assert "requires M == N + 1" in results[3].reason
    assert [r.method for r in results] == [m.name for m in methods]
    assert {(r.m, r.n, r.k, r.dtype) for r in results} == {(9, 9, 9, "float32")}
    assert [r.execution for r in results] == ["emulated"] * 4 + ["native", "emulated"]
    assert [r.padded for r in results] == [False] * 5 + [True]
    assert all(done <= total for _, done, total in progress)


def test_a_single_case_with_unmet_requirements_is_an_error(cpu: Device[Any], write_kernel: Kernel) -> None:
    problem = Problem(Shape(9, 9, 9), ELEMENT_TYPES["float32"])
    text = "// requires: M == N + 1\n// threads: 1\n// grid: 1\n__global__ void k(float *C) {}\n"
    method = read_method(write_kernel(text))
    with pytest.raises(RequirementError, match="requires M == N"):
        list(verify_all(InProcessExecutor(cpu), [(variants(method, {})[0], problem)], True, silent))


def test_a_launch_that_the_device_cannot_make_is_refused_before_any_case_runs(cpu: Device[Any]) -> None:
    problem = Problem(Shape(9, 9, 9), ELEMENT_TYPES["float32"])
    cases = [
        (variants(find(name), {"BLOCK_SIZE": (33,)})[0], problem) for name in ("cpu-simple", "coalesced")
    ]
    with pytest.raises(UsageError, match="1089 threads; this device allows 1024"):
        next(iter(verify_all(InProcessExecutor(cpu), cases, True, silent)))


def test_a_problem_larger_than_memory_is_refused(cpu: Device[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu, "free_bytes", lambda: 10**6)
    cases = [(variants(find("naive"), {})[0], Problem(Shape(1000, 1000, 1000), ELEMENT_TYPES["float32"]))]
    with pytest.raises(UsageError, match=r"1000x1000x1000 float32 needs 0\.0 GB"):
        list(verify_all(InProcessExecutor(cpu), cases, True, silent))


def test_mistakes_of_host_methods_are_reported(cpu: Device[Any], verify_one: Kernel, tmp_path: Path) -> None:
    source = find("cpu-simple").source.replace("void cpu_simple", "void loops")

    def reason_with(old: str, new: str) -> str:
        loops = tmp_path / "loops.cpp"
        loops.write_text(source.replace(old, new))
        text: str = verify_one(cpu, loops, "20x30x40").reason
        return text

    message = reason_with("= sum;", "= sum + (i == 3 && j == 4 ? sum : 0);")
    assert message.startswith("1 of 600 elements wrong, first C[3][4]")
    assert "wrote past the end of C" in reason_with("j < N", "j <= N")


def test_a_verdict_has_the_launch_time_and_the_largest_error(cpu: Device[Any], verify_one: Kernel) -> None:
    verdict = verify_one(cpu, "tiled", "20x30x40", BLOCK_SIZE=8).verdict
    assert verdict.launch_ms > 0
    problem = Problem(Shape(20, 30, 40), ELEMENT_TYPES["float32"])
    assert 0 < verdict.max_error <= verdict.error_bound
    # The verdict's bound is that of one element.
    assert np.isclose(problem.error_bound, verdict.error_bound, rtol=1e-12).any()
