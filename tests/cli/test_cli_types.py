"""`--dtype` with every method: a method that lacks the type is left out, with a line on standard error."""

from __future__ import annotations

import re

import pytest

from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES

LEFT_OUT = "cudamm: these methods are omitted because they do not support int32: async-copy\n"

COMMANDS = [
    "bench -n 16 --runs 1 --warmup 0 --device cpu",
    "verify -n 16 --device cpu",
    "sweep -n 16 --block 8 --runs 1 --warmup 0 --device cpu",
    "tune -n 16 --block 8 --budget 1s --device cpu",
    "check -n 16",
    "trace -n 16 --as-written",
    "roofline --peak 19500 --bandwidth 1555",
]


@pytest.fixture(autouse=True)
def ladder_of_two_methods(monkeypatch, tmp_path):
    """Have the ladder contain a method of every type and a method of float32 only."""
    ladder = (find("naive"), find("async-copy"))
    monkeypatch.setattr("cudamm.kernels.ladder.methods", lambda: ladder)
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path / "data"))


@pytest.mark.parametrize("method", ["", "-m all"])
@pytest.mark.parametrize("line", COMMANDS)
def test_all_methods_are_those_with_the_type(run, line, method):
    ended = run(f"{line} {method} --dtype int32")
    assert (ended.status, ended.stderr) == (0, LEFT_OUT)
    assert "naive" in ended.stdout and "async-copy" not in ended.stdout


@pytest.mark.parametrize("line", COMMANDS)
def test_a_named_method_without_the_type_is_refused(run, line):
    run(f"{line} -m naive,async-copy --dtype int32").refused(
        2, "async-copy is written for float32, not int32"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
def test_occupancy_and_show_leave_out_methods_without_the_type(run):
    for line in ("occupancy --block 8 --arch sm_90", "show --resources --arch sm_90", "show"):
        ended = run(f"{line} --dtype int32")
        assert (ended.status, ended.stderr) == (0, LEFT_OUT)
        assert "naive" in ended.stdout and "async-copy" not in ended.stdout


def test_a_method_is_measured_in_the_types_that_it_has(run):
    ended = run(
        "bench -n 16 --runs 1 --warmup 0 --device cpu --dtype float32 --dtype int32 --dtype float64 --json -"
    )
    assert ended.status == 0
    assert [(r["method"], r["dtype"]) for r in ended.records] == [
        ("naive", "float32"),
        ("async-copy", "float32"),
        ("naive", "int32"),
        ("naive", "float64"),
    ]
    assert ended.stderr == LEFT_OUT + LEFT_OUT.replace("int32", "float64")


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "dtypes"), [("wmma", ("float16", "bfloat16")), ("mma", ("float16",)), ("dmma", ("float64",))]
)
def test_occupancy_and_resources_of_a_method_on_tensor_cores_name_its_type(run, needs_nvcc, method, dtypes):
    for dtype in dtypes:
        option = "" if dtype == dtypes[0] else f"--dtype {dtype}"
        for line in (f"occupancy -m {method}", f"show --resources -m {method}"):
            ended = run(f"{line} --arch sm_80 {option}")
            assert ended.status == 0 and ended.stderr == ""
            assert ended.stdout.splitlines()[0].strip().endswith(f", {dtype}")
    for line in (f"occupancy -m {method}", f"show --resources -m {method}"):
        advice = f"{method} is written for .*, not int32: choose another type with --dtype$"
        assert re.search(advice, run(f"{line} --arch sm_80 --dtype int32").stderr.strip())


def test_quiet_prints_no_remark_on_left_out_methods(run):
    assert run(f"{COMMANDS[0]} --dtype int32 -q").stderr == ""


def test_a_users_kernel_without_the_type_is_refused(run, kernel):
    kernel()
    ended = run(f"{COMMANDS[0]} -m all --kernel my.cu --dtype int32")
    assert ended.status == 2 and "my is written for float32, not int32" in ended.stderr


@pytest.mark.parametrize("command", ["bench", "verify", "trace", "tune"])
def test_the_help_names_every_type(run, command):
    text = " ".join(run(f"{command} --help").stdout.split())
    assert f"Element type: {', '.join(ELEMENT_TYPES)}. Repeatable." in text
