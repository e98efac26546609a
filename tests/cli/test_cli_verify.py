"""`cudamm verify` and `devices`, and `occupancy` without a GPU."""

from __future__ import annotations

import json
import re

import pytest

VERIFY = "verify --device cpu "
TYPES = ("float32", "float64", "int32", "float16", "bfloat16", "float8_e4m3")


def test_every_type_and_shape_is_verified(run):
    ended = run(f"{VERIFY} -m tiled --block 16 -n 17x31x13 -n 16")
    assert ended.status == 0
    assert all(word in ended.stdout for word in (*TYPES, "17x31x13", "16x16x16"))
    assert "12 of 12 results are right, 6 with padded matrices. Success!" in ended.stdout
    assert "(✓=)" in ended.stdout
    assert ended.stderr == ""


def test_the_default_sizes_are_awkward_ones(run):
    ended = run(f"{VERIFY} -m naive --block 16 --dtype int32 --json -")
    assert ended.status == 0
    shapes = {(row["m"], row["n"], row["k"]) for row in ended.records}
    assert (1, 1, 1) in shapes and (17, 31, 13) in shapes
    assert any(m != n != k for m, n, k in shapes)


def test_bits_are_compared_if_nothing_is_fused(run):
    (fused,) = run(f"{VERIFY} -m naive --block 16 -n 33 --dtype float32 --fmad --json -").records
    (plain,) = run(f"{VERIFY} -m naive --block 16 -n 33 --dtype float32 --no-fmad --json -").records
    assert (fused["fmad"], fused["bit_equal"]) == (True, None)
    assert (plain["fmad"], plain["bit_equal"]) == (False, True)


@pytest.mark.slow
def test_the_wrong_kernel_of_several_is_named(run, kernel):
    kernel("wrong.cu", "= sum;", "= row == 3 && col == 2 ? 9 : sum;")
    ended = run(f"{VERIFY} -m naive --kernel wrong.cu -n 16 -n 17 --dtype float32 --json out.json")
    assert ended.status == 1
    assert "C[3][2]" in ended.stdout and "2 of 4 results are right." in ended.stdout
    assert "Success!" not in ended.stdout


def test_a_missing_barrier_is_the_first_thing_that_is_reported(run, kernel):
    # A thread writes its element, and its neighbour reads the element without a barrier between.
    race = (
        "__shared__ int rows[16][16]; rows[threadIdx.y][threadIdx.x] = 0;\n"
        "float sum = rows[threadIdx.y][(threadIdx.x + 1) % 16];"
    )
    kernel("race.cu", "float sum = 0;", race)
    ended = run(f"{VERIFY} -n 1 -n 16 --kernel race.cu")
    assert ended.status == 1
    first = next(line for line in ended.stdout.splitlines() if line.startswith("failed"))
    assert re.match(
        r"failed race BLOCK_SIZE=16 at 16x16x16 float32: a __syncthreads\(\) is missing in race.cu: "
        r"put __syncthreads\(\) between line \d+, which writes, and line \d+, which reads; the result ",
        first,
    ), first


def test_a_skipped_shape_is_not_counted_as_right(run, kernel):
    kernel()
    ended = run(f"{VERIFY} -n 16 -n 32 --kernel my.cu --requires M<20")
    assert "1 of 2 results are right." in ended.stdout and "Success!" not in ended.stdout
    run(f"{VERIFY} -n 16 -n 32 --kernel my.cu --requires M==17").refused(2, "M==17")


def test_devices_lists_the_cpu_device_and_the_reason_for_no_gpu(spawn):
    ended = spawn("devices")
    assert ended.status == 0
    assert all(
        words in ended.stdout for words in ("--device cpu", "cores", "max threads per block", "No GPU:")
    )
    assert ended.stderr == ""


@pytest.mark.usefixtures("no_gpu")
def test_occupancy_of_a_device_needs_a_gpu(run):
    run("occupancy -m tiled --block 16,32 --device gpu").refused(3)
    run("occupancy --device cpu").refused(2, "needs a GPU")


def test_occupancy_does_not_mention_options_that_were_not_given(run):
    # occupancy sweeps the block sizes by default, and the user has not given them.
    ended = run("occupancy -m cpu-simple")
    ended.refused(2)
    assert "BLOCK_SIZE" not in ended.stderr


def test_records_of_verify_have_no_times(run):
    ended = run(f"{VERIFY} -m naive --block 16 -n 16 --json -")
    document = json.loads(ended.stdout)
    assert document["schema"] == "cudamm.verify/1"
    assert not {"samples_ms", "median_ms", "gflops"} & set(document["results"][0])


def test_a_name_of_cuda_for_a_type_is_answered_with_that_of_the_option(run):
    for name, meant in (("half", "float16"), ("fp8", "float8_e4m3"), ("__nv_bfloat16", "bfloat16")):
        run(f"{VERIFY} -m tiled --dtype {name}").refused(
            2, f"unknown element type {name}: did you mean {meant}?"
        )


def test_a_list_of_types_verifies_each(run):
    rows = run(f"{VERIFY} -m tiled -n 16 --dtype float16,bfloat16 --json -").records
    assert [row["dtype"] for row in rows] == ["float16", "bfloat16"]
