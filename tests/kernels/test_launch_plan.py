"""Launch plans: geometry, arguments and padding from a header, and launches that a device refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cudamm.errors import KernelError, RequirementError, UsageError
from cudamm.kernels.header import Overrides, parse_method, read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Launch, Limits, StructValue, TensorMap, check, padded_row_bytes, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Shape
from cudamm.kernels.usual_sizes import SQUARE_SIZES, VERIFIED_SIZES, usual_sizes
from cudamm.kernels.variant import Variant, variants

FLOAT32, FLOAT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["float64"]
LIMITS = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 * 1024)
WriteKernel = Callable[..., Path]


def one_variant(name: str, **values: int) -> Variant:
    (variant,) = variants(find(name), {key: (value,) for key, value in values.items()})
    return variant


def headerless(write_kernel: WriteKernel, **fields: str) -> Variant:
    """Return a variant of a kernel without a header; the fields are options."""
    path = write_kernel("__global__ void k(float *C) { C[0] = 1; }")
    fields = {"threads": "1", "grid": "1"} | {key.replace("_", "-"): text for key, text in fields.items()}
    return Variant(read_method(path, Overrides(fields)), ())


def test_a_launch_covers_the_matrix_in_whole_blocks() -> None:
    launch = plan(one_variant("coalesced", BLOCK_SIZE=16), Shape(100, 33, 7), FLOAT32)
    assert launch == Launch(
        shape=Shape(100, 33, 7),
        block=(16, 16, 1),
        grid=(3, 7, 1),
        shared_bytes=0,
        constants=(),
        arguments=(100, 33, 7, "A", "B", "C"),
    )
    assert launch.threads_per_block == 256
    assert launch.blocks == 21


def test_the_kernel_gets_the_padded_shape() -> None:
    launch = plan(one_variant("tiled", BLOCK_SIZE=16), Shape(100, 33, 7), FLOAT32)
    assert launch.shape == Shape(112, 48, 16)
    assert launch.arguments[:3] == (112, 48, 16)
    assert launch.grid == (3, 7, 1)


def test_dynamic_shared_memory_and_constants_are_those_of_the_header() -> None:
    for element, bytes_ in ((FLOAT32, 4), (FLOAT64, 8)):
        launch = plan(one_variant("tiled-dynamic", BLOCK_SIZE=8), Shape(10, 10, 10), element)
        assert launch.shared_bytes == 2 * 8 * 8 * bytes_
        assert launch.constants == (("block_edge", 8),)


def test_a_host_function_has_no_geometry() -> None:
    launch = plan(one_variant("cpu-simple"), Shape(10**4, 3, 5), FLOAT32)
    assert launch.block == launch.grid == (1, 1, 1)
    check(one_variant("cpu-simple"), launch, Limits(0, (0, 0, 0), (0, 0, 0), 0))


def test_threads_and_grid_may_have_three_dimensions(write_kernel: WriteKernel) -> None:
    launch = plan(headerless(write_kernel, threads="2, 3, 4", grid="M, N, K"), Shape(5, 6, 7), FLOAT32)
    assert launch.block == (2, 3, 4)
    assert launch.grid == (5, 6, 7)


def test_arguments_are_matrices_numbers_and_arithmetic(write_kernel: WriteKernel) -> None:
    variant = headerless(write_kernel, args="C, B, A, 3, -2, 0.5, 1e-3, M * K, ceil(N / 4), element")
    launch = plan(variant, Shape(5, 6, 7), FLOAT64)
    assert launch.arguments == ("C", "B", "A", 3, -2, 0.5, 0.001, 35, 2, 8)
    assert [type(a) for a in launch.arguments[3:7]] == [int, int, float, float]


def test_arguments_may_be_tensor_maps(write_kernel: WriteKernel) -> None:
    variant = headerless(write_kernel, args="tensor_map(A, 64, 32, 32 * element), tensor_map(B, 8, N), C, K")
    launch = plan(variant, Shape(5, 64, 36), FLOAT32)
    assert launch.arguments == (TensorMap("A", 64, 32, 128), TensorMap("B", 8, 64, 0), "C", 36)


def test_a_tensor_map_may_cut_the_columns_into_bands(write_kernel: WriteKernel) -> None:
    arguments = (
        "tensor_map(A, 64, 8, 32, 8), tensor_map(A, 8, 12, 0, 8, 3), tensor_map(B, 8, 8, 0, 0, 1, 4), C"
    )
    launch = plan(headerless(write_kernel, args=arguments), Shape(5, 16, 24), FLOAT32)
    banded = {"band_columns": 8, "dimensions": 3}
    assert launch.arguments == (
        TensorMap("A", 64, 8, 32, **banded),
        TensorMap("A", 8, 12, 0, box_bands=3, **banded),
        TensorMap("B", 8, 8, 0, dimensions=4),
        "C",
    )


def test_padding_makes_whole_bands(write_kernel: WriteKernel) -> None:
    fields = {"args": "tensor_map(A, 8, 8, 0, 32), C"}
    with pytest.raises(UsageError, match=r"bands of 32, and K is 40: add K % 32 == 0 to .* --requires"):
        plan(headerless(write_kernel, **fields), Shape(5, 6, 40), FLOAT32)
    launch = plan(headerless(write_kernel, requires="K % 32 == 0", **fields), Shape(5, 6, 40), FLOAT32)
    assert launch.shape == Shape(5, 6, 64)


def test_arguments_may_be_padded_copies_and_their_tensor_maps(write_kernel: WriteKernel) -> None:
    """The rows of the matrix itself, of 28 bytes, are too irregular for a tensor map."""
    variant = headerless(write_kernel, args="tensor_map(padded(A), 8, 32, 128), A, {padded(B), K}, C")
    launch = plan(variant, Shape(5, 6, 7), FLOAT32)
    assert launch.shape == Shape(5, 6, 7)
    copy = TensorMap("A", 8, 32, 128, of_copy=True)
    assert launch.arguments == (copy, "A", StructValue(("padded(B)", 7)), "C")
    assert {name: (of.lines, of.leading) for name, of in launch.padded_copies.items()} == {
        "padded(A)": (5, 7), "padded(B)": (7, 6),
    }  # fmt: skip
    assert [padded_row_bytes(columns, FLOAT32) for columns in (1, 32, 33)] == [128, 128, 256]
    assert variant.method.needs == "sm_90"


def test_there_is_no_padded_copy_of_the_output(write_kernel: WriteKernel) -> None:
    for argument in ("padded(C)", "tensor_map(padded(C), 8, 8)"):
        with pytest.raises(UsageError, match=r"padded\(C\)"):
            plan(headerless(write_kernel, args=argument), Shape(8, 8, 8), FLOAT32)


def test_a_tensor_map_of_a_matrix_stored_by_column_describes_its_transpose(write_kernel: WriteKernel) -> None:
    """Rows of the transpose are columns: these have to be long enough, and rows need not."""
    maps = {"A": "M", "B": "K", "C": "M"}
    for matrix, column in maps.items():
        fields = {"args": f"tensor_map({matrix}, 8, 4)", "layout": f"{matrix}=column"}
        sizes = {"M": 5, "N": 6, "K": 7} | {column: 8}
        launch = plan(headerless(write_kernel, **fields), Shape(*sizes.values()), FLOAT32)
        assert launch.arguments == (TensorMap(matrix, 8, 4),)  # type: ignore[arg-type]
        layout = launch.layouts[matrix]  # type: ignore[index]
        assert (layout.leading, layout.lines) == (8, layout.columns)
        with pytest.raises(UsageError, match=rf"a column of {matrix} has .* {column} % 4 == 0 to the header"):
            plan(
                headerless(write_kernel, **fields),
                Shape(5, 8, 7) if column != "N" else Shape(8, 5, 8),
                FLOAT32,
            )


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("tensor_map(D, 8, 8)", r"must have the form “tensor_map\(A, BM, BK\)”"),
        ("tensor_map(A, 8)", "must have the form"),
        ("tensor_map(A, 8, 8, 32, 4, 1, 3, 1)", "must have the form"),
        ("tensor_map(A, 8, 8, 32, 2)", "bands of 2 columns, or 8 bytes; choose a multiple of 16 bytes"),
        ("tensor_map(A, 8, 8, 32, -4)", "bands of -4 columns"),
        ("tensor_map(A, 8, 8, 32, 4, 0)", "boxes of 0 bands; a box has 1 to 256 bands"),
        ("tensor_map(A, 8, 8, 32, 0, 2)", "boxes of 2 bands; .* 1 if the matrix is not cut"),
        ("tensor_map(A, 8, 8, 32, 4, 1, 2)", "has 2 dimensions; with bands it has 3 to 5"),
        ("tensor_map(A, 8, 8, 32, 0, 1, 6)", "has 6 dimensions; without bands it has 2 to 5"),
        ("tensor_map(A, 8, 8) + 1", "must have the form"),
        ("tensor_map(A, 257, 8)", "boxes of 257 x 8; a side is 1 to 256"),
        ("tensor_map(A, 0, 8)", "boxes of 0 x 8"),
        ("tensor_map(A, 8, 6)", "a row of a box of .* has 24 bytes"),
        ("tensor_map(A, 8, 8, 48)", "a swizzle of 48 bytes; choose one of"),
        ("tensor_map(A, 8, 16, 32)", "a row of a box of .* has 64 bytes, and its swizzle allows at most 32"),
        ("tensor_map(B, 8, 8)", r"a row of B has 24 bytes, .* N % 4 == 0"),
        ("tensor_map(C, 8, 8)", r"a row of C has 24 bytes, .* N % 4 == 0"),
    ],
)
def test_tensor_maps_that_the_hardware_does_not_support_are_refused(
    write_kernel: WriteKernel, argument: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan(headerless(write_kernel, args=argument), Shape(5, 6, 8), FLOAT32)


def test_padding_makes_rows_long_enough_for_a_tensor_map(write_kernel: WriteKernel) -> None:
    fields = {"args": "tensor_map(A, 8, 8), C", "requires": "K % (16 // sizeof(element)) == 0"}
    for element, padded_k in ((FLOAT32, 8), (FLOAT64, 6)):
        launch = plan(headerless(write_kernel, **fields), Shape(5, 6, 5), element)
        assert launch.shape == Shape(5, 6, padded_k)


def test_only_a_device_that_is_known_to_be_too_old_is_refused(
    write_kernel: WriteKernel,
) -> None:
    variant = headerless(write_kernel, needs="sm_80")
    launch = plan(variant, Shape(5, 6, 7), FLOAT32)
    for arch in ("", "sm_80", "sm_90a", "sm_103"):
        check(variant, launch, replace(LIMITS, arch=arch))
    with pytest.raises(RequirementError, match=r"^kernel needs sm_80 or later, and this .*sm_75"):
        check(variant, launch, replace(LIMITS, arch="sm_75"))


@pytest.mark.parametrize("word", ["D", "a", "nan + 1", "M / 4", "sqrt(M)", ""])
def test_arguments_without_a_meaning_are_refused(write_kernel: WriteKernel, word: str) -> None:
    with pytest.raises(UsageError):
        plan(headerless(write_kernel, args=f"A, B, C, {word}"), Shape(5, 6, 7), FLOAT32)


@pytest.mark.parametrize("field", ["threads", "grid"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "at least 1"),
        ("4, 0", "at least 1"),
        ("-1", "at least 1"),
        ("1, 2, 3, 4", "one to three numbers, not 4"),
        ("", "one to three numbers, not 0"),
        ("M / 4", "not a whole number"),
        ("M // 0", "divides by zero"),
        ("TILE", "unknown name TILE"),
    ],
)
def test_impossible_threads_and_grids_are_refused(
    write_kernel: WriteKernel, field: str, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        plan(headerless(write_kernel, **{field: text}), Shape(5, 6, 7), FLOAT32)


def test_negative_shared_memory_is_refused(write_kernel: WriteKernel) -> None:
    with pytest.raises(UsageError, match="shared-bytes is -4"):
        plan(headerless(write_kernel, shared_bytes="-4"), Shape(5, 6, 7), FLOAT32)


def test_padding_that_makes_a_matrix_too_large_to_index_is_refused() -> None:
    plan(one_variant("tiled", BLOCK_SIZE=1), Shape(46340, 46340, 1), FLOAT32)
    with pytest.raises(UsageError, match="32-bit int"):
        plan(one_variant("tiled", BLOCK_SIZE=32), Shape(46340, 46340, 1), FLOAT32)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"block": (1025, 1, 1)}, "1025 threads; this device allows 1024"),
        ({"block": (32, 8, 5)}, "1280 threads"),
        ({"block": (1, 1, 65)}, "too long in z; this device allows 64"),
        ({"grid": (2**31, 1, 1)}, "too long in x"),
        ({"grid": (1, 65536, 1)}, "too long in y; this device allows 65,535"),
        ({"grid": (1, 1, 65536)}, "too long in z"),
        (
            {"shared_bytes": 48 * 1024 + 1},
            "49,153 bytes of shared memory per block; this device allows 49,152",
        ),
    ],
)
def test_a_launch_beyond_a_limit_of_the_device_is_refused(change: dict, message: str) -> None:
    variant = one_variant("coalesced")
    largest = Launch(Shape(1, 1, 1), (32, 32, 1), (2**31 - 1, 65535, 65535), 48 * 1024, (), ())
    check(variant, largest, LIMITS)
    with pytest.raises(UsageError, match=message):
        check(variant, replace(largest, **change), LIMITS)


TILED = """
__global__ void tiled(const float *A, const float *B, float *C, int M, int N, int K) {}
"""


def method_of(header: str) -> Variant:
    (variant,) = variants(parse_method(f"// args: A, B, C, M, N, K\n{header}{TILED}", Path("k.cu")), {})
    return variant


def test_a_grid_without_blocks_is_the_failure_of_its_size() -> None:
    variant = method_of("// threads: 16, 16\n// grid: N // 16, M // 16\n")
    assert plan(variant, Shape(16, 32, 1), FLOAT32).grid == (2, 1, 1)
    with pytest.raises(KernelError, match="cannot be launched: the grid is 0 x 1 x 1 blocks"):
        plan(variant, Shape(16, 15, 1), FLOAT32)


def test_equal_sizes_are_padded_together() -> None:
    variant = method_of("// threads: 16, 16\n// grid: 1\n// requires: M == N, N == K, N % 16 == 0\n")
    assert variant.padded(FLOAT32, 17, 17, 17) == (32, 32, 32)


@pytest.mark.parametrize(
    ("header", "sizes"),
    [
        ("// threads: 16, 16\n// grid: ceil(N / 16), ceil(M / 16)\n", VERIFIED_SIZES),
        ("// threads: 64, 4\n// grid: ceil(N / 64), ceil(M / 32)\n", VERIFIED_SIZES),
        ("// threads: 256\n// grid: ceil(M / 64)\n", VERIFIED_SIZES),
        ("// threads: 256\n// grid: ceil(M * N / 256)\n", VERIFIED_SIZES),
        (
            "// threads: 16, 16\n// grid: ceil(N / 128), ceil(M / 128)\n",
            ("33x65x129", "100x1x50", "5x130x1", "1x1x1", "258x507x33", "128x256x32", "256x384x64"),
        ),
        (
            "// threads: 64, 4\n// grid: ceil(N / 96), ceil(M / 64)\n",
            ("33x65x129", "100x1x50", "5x130x1", "1x1x1", "130x379x33", "64x192x32", "128x288x64"),
        ),
        (
            "// threads: 8, 8\n// grid: N // 48, M // 48\n// requires: M % 48 == 0, N % 48 == 0\n",
            ("33x65x129", "100x1x50", "5x130x1", "1x1x1", "98x187x33", "48x96x32", "96x144x64"),
        ),
    ],
)
def test_sizes_suit_the_tile(header: str, sizes: tuple[str, ...]) -> None:
    assert usual_sizes([method_of(header)]) == sizes


@pytest.mark.parametrize(
    ("header", "sizes"),
    [
        # Only its own size.
        ("// threads: 16, 16\n// grid: 4, 4\n// requires: M == 64, N == 64\n", ("64x64x64",)),
        # Squares, of which one block can compute the first four.
        ("// threads: N, N\n// grid: 1\n// requires: M == N, N == K\n", ("17", "1", "32", "24")),
        ("// threads: 16, 16\n// grid: N // 16, N // 16\n// requires: M == N, N == K\n", SQUARE_SIZES),
        ("// threads: N, M\n// grid: 1\n", ("17x31x13", "100x1x50", "5x130x1", "1x1x1")),
    ],
)
def test_only_sizes_that_a_kernel_allows_are_tried_and_never_the_smallest_alone(
    header: str, sizes: tuple[str, ...]
) -> None:
    assert usual_sizes([method_of(header)]) == sizes
