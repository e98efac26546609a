"""Kernels that need a newer architecture than the device has are skipped or refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cudamm.kernels.ladder import find

WHY = "tma needs sm_90 or later, and this device executes kernels for sm_80 at most"


@pytest.mark.parametrize("command", ["bench -n 64", "verify -n 64", "sweep -n 64", "trace", "check"])
def test_tma_alone_is_refused(run, command: str) -> None:
    device = "" if command in ("trace", "check") else " --device cpu"
    run(f"{command} -m tma{device}").refused(2, WHY)


def test_tma_named_beside_another_method_is_a_skipped_row(run) -> None:
    result = run("bench -m naive,tma -n 16 --device cpu --runs 1 --warmup 0 --times --json -")
    assert result.status == 0, result.stderr
    assert [(r["method"], r["status"]) for r in result.records] == [("naive", "ok"), ("tma", "skipped")]
    assert result.records[1]["reason"] == WHY


def test_unsupported_cases_are_left_out_unless_their_method_is_named() -> None:
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
def ladder_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `all` stand for naive and tma."""
    chosen = (find("naive"), find("tma"))
    monkeypatch.setattr("cudamm.kernels.ladder.methods", lambda: chosen)


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("ladder_of_two")
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
def test_every_command_leaves_tma_out_of_all_with_the_same_remark(run, line: str) -> None:
    result = run(line)
    assert result.status == 0, result.stderr
    words = "tma needs sm_90 or later" if "roofline" in line else WHY
    assert result.stdout.count("tma") == 2 and f"tma is omitted: {words}" in result.stdout


def test_a_users_kernel_declares_what_it_needs(run, kernel: Callable[..., Path]) -> None:
    path = kernel("new.cu", "// threads:", "// needs:   sm_100\n// threads:")
    run(f"bench --kernel {path} -n 16 --device cpu").refused(2, "new needs sm_100 or later")
    path = kernel("older.cu", "// threads:", "// needs:   sm_80\n// threads:")
    assert run(f"verify --kernel {path} -n 16 --device cpu").status == 0


DEPENDENT = "// dependent-launch: yes\n// threads:"


@pytest.mark.parametrize("command", ["verify", "bench -n 64", "check", "trace"])
def test_a_dependent_launch_is_refused_before_the_kernel_is_compiled(
    run, kernel: Callable[..., Path], command: str
) -> None:
    path = kernel("own.cu", "// threads:", DEPENDENT)
    path.write_text(path.read_text() + "this does not compile\n")
    device = "" if command in ("trace", "check") else " --device cpu"
    run(f"{command} --kernel {path}{device}").refused(
        2, "own needs sm_90 or later, and this device executes kernels for sm_80 at most"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
def test_a_dependent_launch_is_refused_for_an_older_architecture(run, kernel: Callable[..., Path]) -> None:
    path = kernel("own.cu", "// threads:", DEPENDENT)
    ended = run(f"occupancy --kernel {path} --arch sm_80")
    assert (ended.status, ended.stdout, ended.stderr) == (2, "", "cudamm: own needs sm_90 or later\n")
    assert "registers per thread" in run(f"occupancy --kernel {path} --arch sm_90").stdout


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
def test_show_prints_the_machine_code_of_tma_without_a_gpu(run) -> None:
    result = run("show -m tma --sass --arch sm_90")
    assert result.status == 0, result.stderr
    # A bulk copy, a barrier, a load of four elements from shared memory, and a multiplication.
    assert all(word in result.stdout for word in ("UTMALDG.2D", "SYNCS", "LDS.128", "FFMA"))


WITHOUT_A_RUN = ["show --resources --arch", "show --sass --arch", "occupancy --gpu", "roofline --gpu"]
"""Commands about the code or the launches of a GPU that need not be present."""


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("command", WITHOUT_A_RUN)
@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("tma", "tma needs sm_90 or later"),
        ("naive,wgmma", "wgmma runs on sm_90 only (needs: sm_90a)"),
        ("dmma", "dmma BM=128 BN=128 BK=16 WM=64 WN=32 STAGES=3: 112,128 bytes of shared memory per block; "
                 "sm_86 allows 101,376"),
    ],
)  # fmt: skip
def test_a_named_method_that_a_gpu_cannot_launch_is_refused_alike(
    run, command: str, names: str, reason: str
) -> None:
    ended = run(f"{command} rtx3090 -m {names}")
    assert (ended.status, ended.stdout, ended.stderr) == (2, "", f"cudamm: {reason}\n")


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("command", ["show --resources --arch", "occupancy --gpu", "roofline --gpu"])
def test_a_method_that_a_gpu_cannot_launch_is_left_out_of_all(
    run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    chosen = (find("naive"), find("dmma"))
    monkeypatch.setattr("cudamm.kernels.ladder.methods", lambda: chosen)
    ended = run(f"{command} rtx3090 --dtype float64")
    assert ended.status == 0, ended.stderr
    said = " ".join((ended.stdout + ended.stderr).split())
    assert "dmma is omitted: dmma BM=128" in said and "sm_86 allows 101,376" in said
    assert said.count("dmma") == 2 and "naive" in said


@pytest.mark.sampled(3)
@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("command", WITHOUT_A_RUN)
def test_a_method_stays_with_parameters_that_fit(run, command: str) -> None:
    ended = run(f"{command} rtx3090 -m dmma -D STAGES=2")
    assert ended.status == 0 and "omitted" not in ended.stdout + ended.stderr, ended.stderr


def test_the_source_depends_on_no_architecture(run) -> None:
    assert run("show -m tma --arch rtx3090").status == 0


@pytest.mark.slow
@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("values", [{}, {"TM": (16,), "TN": (8,)}], ids=["8 x 16", "16 x 8"])
def test_the_largest_thread_tiles_of_tma_spill_no_registers(values: dict[str, tuple[int, ...]]) -> None:
    from cudamm.compile.nvcc_compiler import compile_for_gpu
    from cudamm.compile.program import program
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.variant import variants

    (variant,) = variants(find("tma"), values)
    used = compile_for_gpu(program(variant, ELEMENT_TYPES["float32"], True), "sm_90").resources
    assert used.spill_store_bytes == used.spill_load_bytes == used.local_bytes_per_thread == 0
    assert used.registers_per_thread > 200  # all sums are in registers
