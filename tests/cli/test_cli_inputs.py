"""`--inputs`: which numbers the random matrices contain."""

import csv
import io

import pytest

import cudamm
from cudamm.errors import UsageError

BENCH = "bench -m naive --block 8 -n 16 --device cpu --times --runs 2 --warmup 0"
NOTE = "nothing was verified, because many wrong kernels have the right product of zeros"

KERNEL = """// threads: 16, 16
// grid: ceil(N / 16), ceil(M / 16)
// args: A, B, C, M, N, K

__global__ void product(const float *A, const float *B, float *C, int M, int N, int K) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = FACTOR * sum;
}
"""


@pytest.mark.parametrize(
    ("options", "kind", "heading"),
    [
        ("", "uniform", "float32"),
        ("--dtype int32", "integers", "int32"),
        ("--dtype bfloat16", "normal", "bfloat16, normal inputs"),
        ("--dtype bfloat16 --inputs uniform", "uniform", "bfloat16"),
        ("--inputs normal", "normal", "float32, normal inputs"),
        ("--inputs integers", "integers", "float32, integer inputs"),
    ],
)
def test_the_kind_of_inputs_is_in_the_heading_and_in_each_record(run, options, kind, heading):
    ended = run(f"{BENCH} {options} --json out.json")
    assert ended.status == 0 and f"16 x 16 x 16 (M x N x K), {heading}, accesses" in trimmed(ended.stdout)
    (record,) = run(f"{BENCH} {options} --json -").records
    assert (record["inputs"], record["correct"]) == (kind, True)
    (row,) = csv.DictReader(io.StringIO(run("report out.json --csv -").stdout))
    assert row["inputs"] == kind


def trimmed(text):
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_on_whole_numbers_every_type_is_verified_bit_for_bit(run):
    types = " ".join(f"--dtype {name}" for name in ("float32", "float64", "int32", "float16", "bfloat16"))
    ended = run(f"verify -m tiled --device cpu -n 33x17x50 {types} --inputs integers --json -")
    bits = {record["dtype"]: record["effective_bits"] for record in ended.records}
    assert bits == {"float32": 24, "float64": 53, "int32": None, "float16": 11, "bfloat16": 8}
    assert all(record["correct"] and record["bit_equal"] for record in ended.records)
    assert all(record["max_error"] == record["error_bound"] == 0 for record in ended.records)


@pytest.mark.slow
@pytest.mark.parametrize("fmad", ["--fmad", "--no-fmad"])
def test_on_whole_numbers_an_error_within_the_bound_of_rounding_is_wrong(run, tmp_path, fmad):
    (tmp_path / "kernel.cu").write_text(KERNEL.replace("FACTOR", "1.0000001f"))
    line = f"verify kernel.cu --device cpu -n 32x32x200 {fmad}"
    assert run(line).status == 0
    ended = run(f"{line} --inputs integers")
    assert ended.status == 1 and "✗" in ended.stdout and " elements wrong, first C[" in ended.stdout


def test_verify_leaves_out_types_without_such_numbers_unless_they_are_named(run):
    ended = run("verify -m naive --device cpu -n 16 --inputs normal --json -")
    assert [r["dtype"] for r in ended.records] == ["float32", "float64", "float16", "bfloat16", "float8_e4m3"]
    assert {r["inputs"] for r in ended.records} == {"normal"}
    title = run("verify -m naive --device cpu -n 16 --inputs normal").stdout.splitlines()[0]
    assert title.startswith("Verified on ") and title.rstrip().endswith(", normal inputs")
    run("verify -m naive -n 16 --dtype int32 --inputs normal").refused(2, "int32 has no normal inputs")


@pytest.mark.parametrize("line", [BENCH, BENCH.replace("bench", "sweep")])
def test_nothing_is_verified_on_zeros(run, line):
    ended = run(f"{line} --inputs zeros")
    assert ended.status == 0
    assert "16 x 16 x 16 (M x N x K), float32, zero inputs" in ended.stdout
    assert "not verified" in ended.stdout and ended.stdout.endswith(f"{NOTE}\n")
    (record,) = run(f"{line} --inputs zeros --json -").records
    assert (record["correct"], record["judged_launches"], record["inputs"]) == (None, 0, "zeros")
    assert record["samples_ms"]


@pytest.mark.parametrize("line", ["verify -m naive -n 16", "tune -m tiled -n 16 --block 8"])
def test_commands_that_have_to_verify_refuse_zeros(run, line):
    run(f"{line} --device cpu --inputs zeros").refused(2, "--inputs zeros verifies nothing")


def test_tune_searches_on_the_inputs_that_are_asked_for(run):
    line = "tune -m tiled -n 16 --block 8 --budget 1s --device cpu --inputs normal"
    assert {record["inputs"] for record in run(f"{line} --json -").records} == {"normal"}
    assert run(line).stdout.splitlines()[0].rstrip().endswith(", normal inputs")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--inputs gaussian", "'gaussian' is not one of 'normal', 'uniform', 'integers', 'zeros'"),
        ("--inputs normal --dtype int32", "int32 has no normal inputs: choose integers or zeros, or another"),
        ("--inputs uniform --dtype float32 --dtype int32", "int32 has no uniform inputs"),
        ("--inputs integers --dtype float16 -n 1x1x65505", "K is 65,505: sums of so many whole numbers can"),
    ],
)
def test_inputs_that_do_not_exist_are_refused(run, options, words):
    run(f"bench -m naive --device cpu {options}").refused(2, words)


def test_a_resumed_run_does_not_take_the_results_of_other_inputs(run):
    line = f"{BENCH} --resume all.json"
    assert run(line).status == 0
    ended = run(f"{line} --inputs normal")
    assert ended.status == 0 and "were in all.json already" not in ended.stdout
    assert "1 of 1 results were in all.json already" in run(f"{line} --inputs normal").stdout
    assert "1 of 1 results were in all.json already" in run(line).stdout


def test_the_python_interface_takes_it_too():
    (row,) = cudamm.bench("naive", n=16, device="cpu", inputs="integers").to_dicts()
    assert (row["inputs"], row["bit_equal"]) == ("integers", True)
    zeros = cudamm.bench("naive", n=16, device="cpu", inputs="zeros")
    assert (zeros[0].verdict.correct, zeros.remarks[-1]) == (None, NOTE)
    (verified,) = cudamm.verify("naive", n=16, dtype="float32", device="cpu", inputs="normal")
    assert (verified.status, verified.inputs) == ("ok", "normal")
    with pytest.raises(UsageError, match="inputs='n': it has to be one of normal, uniform, integers, zeros"):
        cudamm.verify("naive", inputs="n")
    with pytest.raises(UsageError, match="--inputs zeros verifies nothing"):
        cudamm.verify("naive", n=16, device="cpu", inputs="zeros")
