"""`cudamm compare v1.cu v2.cu`: figures side by side without a GPU, what is better, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cudamm.cli.compared_kernels import short_names

COALESCED = "row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x"
SWAPPED = "row = blockIdx.y * BLOCK_SIZE + threadIdx.x, col = blockIdx.x * BLOCK_SIZE + threadIdx.y"


@pytest.fixture
def two_versions(tmp_path, kernel):
    """Write two files of one name: in v1, the threads of a warp are in one column; in v2, in one row."""
    for folder in ("v1", "v2"):
        (tmp_path / folder).mkdir()
    kernel("v1/gemm.cu", COALESCED, SWAPPED)
    kernel("v2/gemm.cu")


def cells(text: str, name: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"│  {name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


@pytest.mark.long
def test_two_files_of_one_name_are_compared(run, two_versions, needs_nvcc):
    ended = run("compare v1/gemm.cu v2/gemm.cu -n 64 --gpu rtx3080 --json f.json")
    assert (ended.status, ended.stderr) == (0, "")
    document = json.loads(Path("f.json").read_text())
    rows = {row["figure"]: row for row in document["results"]}
    sectors = rows["sectors loaded"]
    # Of 128 warps and 64 steps each: 16 rows of A and 1 sector of B, or 2 rows of A and 2 sectors of B.
    assert (sectors["old"], sectors["new"]) == (128 * 64 * 17, 128 * 64 * 4)
    assert (sectors["better_if"], sectors["verdict"]) == ("less", "better")
    assert rows["operations per byte loaded by threads"]["old"] == 0.25
    assert rows["registers per thread"]["verdict"] == "" and rows["registers per thread"]["new"] > 0
    assert rows["FFMA (float32 multiply-adds)"]["new"] > 0 and rows["instructions"]["verdict"] == ""
    assert "wavefronts" not in rows  # neither kernel uses shared memory
    assert (document["schema"], document["arch"]) == ("cudamm.compare-kernels/1", "sm_86")
    assert document["new"]["verified"]["correct"] and document["old"]["name"] == "v1/gemm.cu"

    assert cells(ended.stdout, "sectors loaded")[3] == "better"
    assert cells(ended.stdout, "occupancy")[0].endswith("%")
    for words in (
        "v1/gemm.cu", "64 x 64 x 64 (M x N x K), float32, sm_86 (GeForce RTX 3080 10GB, 68 SMs)",
        "counted on the CPU device at 64x64x64 float32", "Both products are right at 64x64x64",
        "v2/gemm.cu compared with v1/gemm.cu: better: sectors loaded (", "No time follows",
    ):  # fmt: skip
        assert words in ended.stdout
    assert document["conclusion"] == [
        line for line in ended.stdout.splitlines() if line in document["conclusion"]
    ]


@pytest.mark.slow
def test_without_nvcc_the_rows_say_so_and_a_wrong_kernel_is_not_judged(run, kernel, monkeypatch, request):
    from cudamm.compile import nvcc_compiler

    request.addfinalizer(nvcc_compiler.nvcc.cache_clear)
    monkeypatch.setattr(nvcc_compiler, "find_nvcc", lambda: None)
    nvcc_compiler.nvcc.cache_clear()
    kernel("right.cu")
    kernel("wrong.cu", "k < K", "k < K / 2")
    ended = run("compare right.cu wrong.cu -n 64")
    assert (ended.status, ended.stderr) == (1, "")
    for name in ("registers per thread", "occupancy", "instructions"):
        assert cells(ended.stdout, name)[:2] == ["needs nvcc", "needs nvcc"]
    assert cells(ended.stdout, "threads per block")[:2] == ["256", "256"]
    assert ended.stdout.count("are not known: nvcc was not found") == 1
    assert "failed wrong.cu at 64x64x64 float32" in ended.stdout
    assert cells(ended.stdout, "sectors loaded")[3] == "" and "better:" not in ended.stdout
    assert "wrong.cu failed, see above" in ended.stdout


def test_methods_parameters_and_functions_of_a_file_are_compared(run, tmp_path, monkeypatch):
    """Which kernels are compared is worked out before anything is compiled."""
    chosen = []

    def compare_kernels(executor, kernels, problem, *_):
        chosen.append(([(name, str(variant), variant.method.entry) for name, variant in kernels], problem))
        raise KeyboardInterrupt

    monkeypatch.setattr("cudamm.analysis.kernel_comparison.compare_kernels", compare_kernels)
    head = "// threads: BM, BM\n// grid: ceil(N / BM), ceil(M / BM)\n// param: BM = 16 in 8, 16\n\n"
    body = "(int M, int N, int K, const {0} *A, const {0} *B, {0} *C) {{ C[BM] = A[0] * B[0]; }}\n"
    functions = [f"__global__ void {name}{body.format('double')}" for name in ("one", "two")]
    (tmp_path / "my.cu").write_text(head + "".join(functions))
    (tmp_path / "any.cu").write_text(head + "__global__ void any" + body.format("element"))
    run("compare naive tiled --block 16 -n 32x48x64")
    run("compare my.cu,entry=one my.cu,entry=two,BM=8")
    run("compare any.cu my.cu,entry=two")
    run("compare any.cu,BM=8 any.cu,BM=16 --dtype int32")
    (methods, first), (functions, _), (_, second), (values, third) = chosen
    assert methods == [("naive", "naive BLOCK_SIZE=16", "naive"), ("tiled", "tiled BLOCK_SIZE=16", "tiled")]
    assert str(first.shape) == "32x48x64"
    assert [entry for _, _, entry in functions] == ["one", "two"]
    assert [name for name, _, _ in functions] == ["my.cu,entry=one", "my.cu,entry=two,BM=8"]
    assert second.element.name == "float64" and third.element.name == "int32"
    assert [variant.rpartition(" ")[2] for _, variant, _ in values] == ["BM=8", "BM=16"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", ["not none"]),
        ("my.cu", ["OLD.cu NEW.cu", "not 1"]),
        ("my.cu my.cu tiled", ["not 3", "cudamm bench"]),
        ("my.cu old.json", ["“my.cu” is a kernel", "“old.json” is neither"]),
        ("old.json my.cu", ["“my.cu” is a kernel", "“old.json” is neither"]),
        ("my.cu ''", ["“” is neither"]),
        ("naive tild", ["“tild” is neither a kernel file nor a method"]),
        ("my.cu my.cu", ["both kernels are my.cu"]),
        ("my.cu nowhere.cu", ["nowhere.cu"]),
        ("my.cu naive --fail-on 5%", ["--fail-on", "files of results"]),
        ("my.cu naive --confidence 90%", ["--confidence", "files of results"]),
        ("old.json new.json -n 64", ["--size", "kernels"]),
        ("old.json new.json --block 8", ["--block", "kernels"]),
        ("my.cu naive -n 32 -n 64", ["one size"]),
        ("my.cu naive --dtype float32 --dtype float64", ["one --dtype"]),
        ("my.cu double.cu", ["float32", "float64", "one element type"]),
        ("my.cu naive --arch all", ["--arch all", "one architecture"]),
        ("my.cu naive --gpu a1000000", ["a1000000", "rtx3090"]),
        ("my.cu naive -D BLOCK_SIZE=8,16", ["matches 2"]),
        ("my.cu,entry=none naive", ["none", "mine"]),
        ("two.cu naive", ["two.cu has several kernels", "(mine, copy)"]),
        ("naive numpy", ["numpy"]),
        ("naive tiled --entry mine", ["--entry"]),
    ],
)
def test_what_cannot_be_compared_is_refused(run, kernel, line, words):
    kernel()
    kernel(
        "double.cu", "const float *A, const float *B, float *C", "const double *A, const double *B, double *C"
    )
    text = kernel("two.cu").read_text()
    Path("two.cu").write_text(text + text.partition("\n\n")[2].replace("mine", "copy"))
    run(f"compare {line}").refused(2, *words)


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("v1.cu", "v2.cu", ("v1.cu", "v2.cu")),
        ("a/v1.cu", "../b/v2.cu", ("v1.cu", "v2.cu")),
        ("a/gemm.cu", "b/gemm.cu", ("a/gemm.cu", "b/gemm.cu")),
        ("my.cu,BM=8", "my.cu,BM=16", ("my.cu,BM=8", "my.cu,BM=16")),
        ("my.cu,BM=8", "other.cu,BM=8", ("my.cu", "other.cu")),
        ("-", "my.cu", ("standard input", "my.cu")),
    ],
)
def test_the_shortest_names_that_tell_the_kernels_apart_are_shown(old, new, names):
    assert short_names(old, new) == names
