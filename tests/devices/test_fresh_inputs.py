"""cudamm's own kernels that make new inputs and judge timed launches, on the CPU device and on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cudamm.devices
from cudamm.devices.device import Device
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.random_elements import (
    DISTRIBUTIONS,
    Distribution,
    ElementStream,
    normal_quantiles,
    stream,
)

FOLDER = Path(cudamm.devices.__file__).parent / "gpu_runtime"
SOURCE = "".join((FOLDER / name).read_text() for name in ("elements.cu", "fresh_inputs.cu"))
QUANTILES = "short normal_quantiles[65536]"
Kernel = Callable[..., Any]

DRAWN = """// entry: under_test
// threads: 64
// grid: 3
// args: C
// types: {type}

%s
__global__ void under_test({r} *C) {{
    draw(({c} *)C, {size_bytes}, Stream{{{{{first}ull, {second}ull}}, {distribution}, {largest}}});
}}
"""

COUNTED = """// entry: under_test
// threads: 64
// grid: 3
// args: A, C
// types: {type}

%s
// The first launch counts, the second one stores what was counted.
__device__ word64 found;
__device__ int launches;
__global__ void under_test(const {c} *A, {r} *C) {{
    const int launch = launches / 3;
    const Stream stream{{{{{first}ull, {second}ull}}, {distribution}, {largest}}};
    if (launch == 0) count_unlike(A, {size_bytes}, stream, &found);
    else if (threadIdx.x == 0) C[blockIdx.x] = found;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}}
"""

JUDGED = """// entry: under_test
// threads: 32, 32
// grid: 2, 2
// args: A, B, C
// types: {type}
// initial-c: 0

%s
__device__ FoundRows found;
__device__ int launches, rows[] = {{{rows}}};
__device__ double x[64], y[64], squares[64];
__global__ void under_test(const {c} *A, const {c} *B, {r} *C) {{
    const Strides a{{{k}, 1}}, b{{{n}, 1}}, c{{{n}, 1}};
    const int launch = launches / 4;
    if (launch == 0)
        judge_rows(A, a, B, b, C, c, rows, {row_count}, {n}, {k}, {gamma}, {rounding}, 0, &found);
    else if (blockIdx.x + blockIdx.y + threadIdx.x + threadIdx.y == 0) {{
        C[0] = found.wrong;
        C[1] = (unsigned)found.worst;
    }}
    __syncthreads();
    if (threadIdx.x + threadIdx.y == 0) atomicAdd(&launches, 1);
}}
"""

TIMES = """// entry: under_test
// threads: 64
// grid: 20
// args: A, C
// types: {type}

%s
__device__ double x[{k}], y[40], squares[40];
__device__ int launches;
__global__ void under_test(const {c} *A, {r} *C) {{
    const int launch = launches / 20;
    if (launch == 0 && threadIdx.x == 0)
        for (int i = 0; i < {k}; ++i) x[i] = i % 3 - 1;
    if (launch == 1) times_vector(A, Strides{{{k}, 1}}, x, y, squares, 40, {k});
    if (launch == 2 && blockIdx.x == 0 && threadIdx.x < 40) {{
        C[threadIdx.x * 2] = y[threadIdx.x];
        C[threadIdx.x * 2 + 1] = squares[threadIdx.x];
    }}
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}}
"""

ONE_AND_LONG = [
    "float32",
    *(pytest.param(dtype, marks=pytest.mark.long) for dtype in ELEMENT_TYPES if dtype != "float32"),
]


# The distribution that each run draws in this type. `-m long` takes the others; float32 always has all.
SHORT = {
    "float64": "uniform",
    "int32": "integers",
    "float16": "uniform",
    "bfloat16": "integers",
    "tf32": "uniform",
    "float8_e4m3": "integers",
    "float16_to_float32": "normal",
    "bfloat16_to_float32": "uniform",
    "float8_e4m3_to_float32": "normal",
    "int8": "integers",
}


def dtype_of(name: str) -> np.dtype[Any]:
    return ELEMENT_TYPES[name].dtype


def dtype_of_c(name: str) -> np.dtype[Any]:
    return ELEMENT_TYPES[name].of_results.dtype


def text(template: str, dtype: str, **values: Any) -> str:
    c, r = ELEMENT_TYPES[dtype].c_name, ELEMENT_TYPES[dtype].of_results.c_name
    source = f"#define ELEMENT {c}\n#define RESULT {r}\n{SOURCE}"
    return template.format(type=dtype, c=c, r=r, **values).replace("%s", source)


def stream_values(of_stream: ElementStream, size_bytes: int) -> dict[str, int]:
    names = ("first", "second", "distribution", "largest")
    return {**dict(zip(names, of_stream.arguments, strict=True)), "size_bytes": size_bytes}


@pytest.mark.sampled(30, first=1)
@pytest.mark.parametrize(
    ("dtype", "distribution"),
    [
        pytest.param(
            dtype,
            distribution,
            marks=[] if dtype == "float32" or distribution == SHORT[dtype] else [pytest.mark.long],
        )
        for dtype in ELEMENT_TYPES
        for distribution in DISTRIBUTIONS
        if not ELEMENT_TYPES[dtype].is_integer or distribution == "integers"
    ],
)
def test_elements_are_those_of_the_host(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str, distribution: Distribution
) -> None:
    of_host = stream([7, 1], distribution, 93 if distribution == "integers" else 0)
    expected = np.empty((25, 64), dtype_of(dtype))
    of_host.fill(expected)
    source = text(DRAWN, dtype, **stream_values(of_host, expected.nbytes))
    if distribution == "normal":  # the host fills the table of a GPU
        source = source.replace(QUANTILES, f"{QUANTILES} = {{{', '.join(map(str, normal_quantiles()))}}}")
    with open_run(device, write_kernel(source), "25x64x1", dtype) as run:
        run.launch()
        drawn = (
            run.product().reshape(-1).view(expected.dtype)[: expected.size]
        )  # the elements of C may be larger
        assert np.array_equal(drawn, expected.reshape(-1))


@pytest.mark.parametrize("dtype", ONE_AND_LONG)
def test_changed_elements_are_counted(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    of_host = stream([7, 2], *(("integers", 93) if ELEMENT_TYPES[dtype].is_integer else ()))
    a, b = np.empty((25, 64), dtype_of(dtype)), np.zeros((64, 3), dtype_of(dtype))
    of_host.fill(a)
    a[3, 5:7] += 1
    values = stream_values(of_host, a.nbytes)
    with open_run(device, write_kernel(text(COUNTED, dtype, **values)), "25x3x64", dtype) as run:
        run.load(a, b)
        run.launch()
        run.launch()
        assert run.product()[0].tolist() == [2] * 3


@pytest.mark.long
@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
@pytest.mark.parametrize("wrong", [[], [(10, 39), (0, 0), (12, 7)]])
def test_wrong_elements_of_the_chosen_rows_are_counted(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str, wrong: list[tuple[int, int]]
) -> None:
    """The product that is judged is as exact as its type allows: no error may exceed half its last bit."""
    m, n, k, rows = 13, 40, 50, [0, 3, 10]
    random = np.random.default_rng(1)
    element, of_type = ELEMENT_TYPES[dtype], dtype_of(dtype)
    a, b = random.integers(-9, 9, (m, k)).astype(of_type), random.integers(-9, 9, (k, n)).astype(of_type)
    if not element.is_integer:
        a, b = a / of_type.type(7), b * of_type.type(1.1)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    size = np.abs(a.astype(np.longdouble)) @ np.abs(b.astype(np.longdouble))
    c = exact.astype(dtype_of_c(dtype))
    error = np.abs(c.astype(np.longdouble) - exact)
    gamma = (
        0.0
        if element.is_integer or element.rounds_sums
        else max(2.0**-22, float((error / size).max()) * 1.01)
    )
    rounding = float((error / np.abs(exact)).max() * 1.01) if element.rounds_sums else 0.0
    for row, column in wrong:
        allowed = gamma * float(size[row, column]) + rounding * abs(float(exact[row, column]))
        c[row, column] += c.dtype.type(1 if element.is_integer else 3 * allowed)
    values = {
        "rows": "0, 3, 10",
        "row_count": len(rows),
        "n": n,
        "k": k,
        "gamma": gamma,
        "rounding": rounding,
    }
    with open_run(device, write_kernel(text(JUDGED, dtype, **values)), f"{m}x{n}x{k}", dtype) as run:
        run.load(a, b)
        run.load_output(c)
        run.launch()
        run.launch()
        found, worst = run.product()[0, :2].astype(int).tolist()
    in_rows = [(rows.index(row), column) for row, column in wrong if row in rows]
    assert found == len(in_rows)
    if in_rows:
        assert divmod(worst, n) in in_rows


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_without_a_bound_only_the_exact_sum_rounded_once_is_right(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    m, n, k = 13, 40, 50
    random = np.random.default_rng(1)
    a, b = (random.integers(-100, 100, shape).astype(dtype_of(dtype)) for shape in ((m, k), (k, n)))
    c = (a.astype(np.float64) @ b.astype(np.float64)).astype(dtype_of(dtype))
    c.view(f"u{c.itemsize}")[3, 8] += 1
    values = {"rows": "0, 3, 10", "row_count": 3, "n": n, "k": k, "gamma": 0.0, "rounding": 0.0}
    with open_run(device, write_kernel(text(JUDGED, dtype, **values)), f"{m}x{n}x{k}", dtype) as run:
        run.load(a, b)
        run.load_output(c)
        run.launch()
        run.launch()
        assert run.product()[0, :2].astype(int).tolist() == [1, n + 8]


COMPARED = """// entry: under_test
// threads: 32
// grid: 2
// args: C
// types: {type}
// initial-c: 0

%s
__device__ Found found;
__device__ int launches;
__device__ double reference[] = {{{reference}}}, rows[] = {{0}}, columns[] = {{0, 0, 0, 0}};
__global__ void under_test({r} *C) {{
    const int launch = launches / 2;
    if (launch == 0) judge(C, 4, 1, 4, reference, rows, columns, 0, 0, &found);
    else if (blockIdx.x + threadIdx.x == 0) {{
        C[0] = found.wrong;
        C[1] = (unsigned)found.worst;
    }}
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}}
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["float32", "int32", "float16", "bfloat16"])
def test_without_a_bound_only_the_reference_rounded_once_is_right(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    """Of the references, 4097 and 8195 are not exact in 16 bits."""
    support = (FOLDER / "support.cu").read_text()
    judge = support[support.index("struct Found") : support.index("#define REFERENCE_FOR")]
    source = (FOLDER / "elements.cu").read_text() + judge
    reference = [4097, -3, 8195, 12]
    c = np.array([reference], dtype_of(dtype))
    c.view(f"u{c.itemsize}")[0, 2] += 1
    text = COMPARED.format(type=dtype, r=ELEMENT_TYPES[dtype].c_name, reference=str(reference)[1:-1])
    with open_run(device, write_kernel(text.replace("%s", source)), "1x4x1", dtype) as run:
        run.load_output(c)
        run.launch()
        run.launch()
        assert run.product()[0, :2].astype(int).tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ONE_AND_LONG)
def test_a_matrix_times_a_vector(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str
) -> None:
    k = 45
    a = np.random.default_rng(2).integers(-9, 9, (40, k)).astype(dtype_of(dtype))
    with open_run(device, write_kernel(text(TIMES, dtype, k=k)), f"40x2x{k}", dtype) as run:
        run.load(a, np.zeros((k, 2), dtype_of(dtype)))
        for _ in range(3):
            run.launch()
        x = np.arange(k) % 3 - 1
        whole = a.astype(int)
        expected = np.stack([whole @ x, (whole**2).sum(axis=1)], axis=1)
        assert run.product().tolist() == expected.astype(dtype_of_c(dtype)).tolist()


SAMPLED = """// entry: under_test
// threads: 64
// grid: 2
// args: A, B, C
// types: {type}
// initial-c: 0

%s
__device__ int rows[] = {{3, 7, 12}}, columns[] = {{0, 5, 8, 21}}, launches;
__device__ double sampled[48];
__global__ void under_test(const {c} *A, const {c} *B, {r} *C) {{
    const int launch = launches / 2;
    if (launch == 0)
        sample_product(A, Strides{{{a_row}, {a_column}}}, B, Strides{{22, 1}}, C, Strides{{22, 1}}, rows, 3,
                       columns, 4, {k}, sampled);
    else if (blockIdx.x == 0 && threadIdx.x < 48) C[threadIdx.x] = sampled[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&launches, 1);
}}
"""


@pytest.mark.parametrize("dtype", ONE_AND_LONG)
@pytest.mark.parametrize("by_column", [False, True])
def test_a_sample_has_elements_and_the_exact_sums_of_their_terms(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel, dtype: str, by_column: bool
) -> None:
    m, n, k, rows, columns = 13, 22, 37, [3, 7, 12], [0, 5, 8, 21]
    random = np.random.default_rng(4)
    a, b, c = (
        random.integers(-1, 2, shape).astype(of_type)
        for shape, of_type in (
            ((m, k), dtype_of(dtype)), ((k, n), dtype_of(dtype)), ((m, n), dtype_of_c(dtype)),
        )
    )  # fmt: skip
    a_row, a_column = (1, m) if by_column else (k, 1)
    source = text(SAMPLED, dtype, a_row=a_row, a_column=a_column, k=k)
    with open_run(device, write_kernel(source), f"{m}x{n}x{k}", dtype) as run:
        run.load(np.ascontiguousarray(a.T).reshape(m, k) if by_column else a, b)
        run.load_output(c)
        run.launch()
        run.launch()
        sampled = run.product().reshape(-1)[:48].reshape(4, 3, 4).astype(np.float64)
    a, b, c = a.astype(np.float64)[rows], b.astype(np.float64)[:, columns], c.astype(np.float64)
    expected = c[np.ix_(rows, columns)], a @ b, np.zeros((3, 4)), a**2 @ b**2
    assert np.array_equal(sampled, expected)


def test_a_sample_of_float64_has_the_rest_of_its_sums(
    device: Device[Any], open_run: Kernel, write_kernel: Kernel
) -> None:
    """One lane adds every 32nd product. One is lost beside 2⁶⁰, and comes back in the low part."""
    k = 65
    a, b = np.zeros((13, k)), np.ones((k, 22))
    a[7, ::32] = 2.0**60, 1, -(2.0**60)
    source = text(SAMPLED, "float64", a_row=k, a_column=1, k=k)
    with open_run(device, write_kernel(source), f"13x22x{k}", "float64") as run:
        run.load(a, b)
        run.launch()
        run.launch()
        sampled = run.product().reshape(-1)[:48].reshape(4, 3, 4)
    assert (sampled[1, 1, 2], sampled[2, 1, 2]) == (0, 1)
