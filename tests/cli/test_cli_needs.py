"""Kernels that need a newer architecture than there is: skipped or refused, with the reason in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.kernels.ladder import find

WHY = "tma needs sm_90 or later, and this device executes kernels for sm_80 at most"


@pytest.mark.parametrize("command", ["bench -n 64", "verify -n 64", "sweep -n 64", "trace", "check"])
def test_alone_it_is_refused(run, command: str) -> None:
    device = "" if command in ("trace", "check") else " --device cpu"
    run(f"{command} -m tma{device}").refused(2, WHY)


def test_among_others_that_are_named_it_is_a_skipped_row(run) -> None:
    done = run("bench -m naive,tma -n 16 --device cpu --runs 1 --warmup 0 --times --json -")
    assert done.status == 0, done.stderr
    assert [(r["method"], r["status"]) for r in done.records] == [("naive", "ok"), ("tma", "skipped")]
    assert done.records[1]["reason"] == WHY


def test_among_all_it_is_left_out_with_a_remark() -> None:
    from cudamm.devices.find_device import host
    from cudamm.kernels.chosen_cases import supported_cases, unsupported_on
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.problem import Problem, Shape
    from cudamm.kernels.variant import variants

    problem = Problem(Shape(8, 8, 8), ELEMENT_TYPES["float32"])
    chosen = [(v, problem) for name in ("naive", "tma") for v in variants(find(name), {})]
    lacks = host().lacks
    assert supported_cases(chosen, lambda method: False, lacks) == (chosen[:1], [f"tma is omitted: {WHY}"])
    assert supported_cases(chosen, lambda method: True, lacks) == (chosen, [])
    left_out = ["tma is omitted: tma needs sm_90 or later"]
    older = unsupported_on(["sm_80", "sm_86"])
    assert supported_cases(chosen, lambda method: False, older) == (chosen[:1], left_out)
    assert supported_cases(chosen, lambda method: False, unsupported_on(["sm_80", "sm_90"])) == (chosen, [])
    assert supported_cases(chosen, lambda method: method.name == "tma", older) == (chosen, [])


@pytest.fixture
def naive_and_tma_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = (find("naive"), find("tma"))
    monkeypatch.setattr("cudamm.kernels.ladder.methods", lambda: chosen)


@pytest.mark.usefixtures("naive_and_tma_are_all")
@pytest.mark.parametrize(
    "line",
    [
        "bench -n 16 --runs 1 --warmup 0 --times --device cpu",
        "verify -n 16 --device cpu",
        "sweep -n 16 --runs 1 --warmup 0 --times --block 8 -D BM=128 --device cpu",
        "tune -n 16 --block 8,16 -D BM=128 --budget 1s --device cpu",
        "trace -n 16",
        "check -n 16",
        "roofline --arch sm_80 --sms 108 --clock 1410 --bandwidth 1555",
    ],
)
def test_every_command_leaves_it_out_of_all_in_the_same_words(run, line: str) -> None:
    done = run(line)
    assert done.status == 0, done.stderr
    words = "tma needs sm_90 or later" if "roofline" in line else WHY
    assert done.stdout.count("tma") == 2 and f"tma is omitted: {words}" in done.stdout


def test_a_kernel_of_ones_own_says_what_it_needs(run, kernel: Callable[..., Path]) -> None:
    path = kernel("new.cu", "// threads:", "// needs:   sm_100\n// threads:")
    run(f"bench --kernel {path} -n 16 --device cpu").refused(2, "new needs sm_100 or later")
    path = kernel("older.cu", "// threads:", "// needs:   sm_80\n// threads:")
    assert run(f"verify --kernel {path} -n 16 --device cpu").status == 0


@pytest.mark.usefixtures("needs_nvcc")
def test_what_a_compiler_makes_of_it_needs_no_gpu(run) -> None:
    done = run("show -m tma --sass --arch sm_90")
    assert done.status == 0, done.stderr
    # The copy of a box, its barriers, and four elements a load from shared memory.
    assert all(word in done.stdout for word in ("UTMALDG.2D", "SYNCS", "LDS.128", "FFMA"))
    run("show -m tma --sass --arch sm_80").refused(1, "does not compile for sm_80: tma needs sm_90 or later")
    run("occupancy -m tma --arch sm_86").refused(2, "tma needs sm_90 or later")


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("values", [{}, {"TM": (16,), "TN": (8,)}], ids=["8 x 16", "16 x 8"])
def test_the_largest_thread_tiles_do_not_spill(values: dict[str, tuple[int, ...]]) -> None:
    from cudamm.compile.nvcc_compiler import compile_for_gpu
    from cudamm.compile.program import program
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.variant import variants

    (variant,) = variants(find("tma"), values)
    used = compile_for_gpu(program(variant, ELEMENT_TYPES["float32"], True), "sm_90").resources
    assert used.spill_store_bytes == used.spill_load_bytes == used.local_bytes_per_thread == 0
    assert used.registers_per_thread > 200  # all sums are in registers
