"""Changes that raise occupancy by the next step, against a search of all changes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.compile.resources import Resources
from cudamm.kernels.architecture import ARCHITECTURES, Architecture, find_architecture
from cudamm.occupancy.active_blocks import active_blocks
from cudamm.occupancy.configurations import results
from cudamm.occupancy.occupancy_questions import next_steps
from cudamm.occupancy.occupancy_result import OccupancyResult, Step

KB = 1024


def result_of(
    architecture: Architecture,
    threads: int,
    registers: int,
    shared: int,
    barriers: int = 1,
    percent: int | None = None,
) -> OccupancyResult:
    numbers = [np.array([number]) for number in (threads, registers, shared, barriers)]
    (result,) = results(architecture, numbers[0], numbers[1], numbers[2], numbers[3], percent, None)
    return result


def kinds(steps: tuple[Step, ...]) -> list[tuple[bool, bool, bool]]:
    """Return, for each step, whether it changes the registers, the shared memory and the threads."""
    return [
        (
            s.registers_per_thread is not None,
            s.shared_bytes_per_block is not None,
            s.threads_per_block is not None,
        )
        for s in steps
    ]


@st.composite
def configurations(draw: st.DrawFn) -> tuple[Architecture, int, int, int, int, int | None]:
    architecture = ARCHITECTURES[draw(st.sampled_from(list(ARCHITECTURES)))]
    threads = draw(st.integers(1, architecture.threads_per_block))
    registers = draw(st.integers(0, architecture.registers_per_thread))
    edges = st.integers(1, 16).map(
        lambda blocks: architecture.shared_bytes // blocks - architecture.reserved_shared_bytes
    )
    shared = draw(st.integers(0, architecture.shared_bytes_per_block) | edges)
    percent = draw(st.none() | st.integers(0, 100))
    return architecture, threads, registers, max(0, shared), draw(st.sampled_from([0, 1, 1, 4, 16])), percent


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(configurations())
def test_steps_are_the_best_of_all_changes(case: tuple[Architecture, int, int, int, int, int | None]) -> None:
    architecture, threads, registers, shared, barriers, percent = case
    current = result_of(*case)
    steps = next_steps(architecture, current, percent)

    def blocks(threads, registers, shared):
        return active_blocks(architecture, threads, registers, shared, barriers, percent).active

    def largest(values, better):
        return int(values[better].max()) if better.any() else None

    # All smaller numbers of registers, all smaller numbers of bytes, all blocks of whole warps.
    fewer, less = np.arange(registers), np.arange(shared)
    by_registers = largest(fewer, blocks(threads, fewer, shared) > current.active_blocks)
    by_shared = largest(less, blocks(threads, registers, less) > current.active_blocks)
    expected: list[tuple[int | None, int | None, int | None]] = []
    expected += [(by_registers, None, None)] if by_registers is not None else []
    expected += [(None, by_shared, None)] if by_shared is not None else []
    both = [step for step, kind in zip(steps, kinds(steps), strict=True) if kind == (True, True, False)]
    if not expected:
        # Fewer registers and less memory never lower occupancy, so with 0 of both it is highest.
        possible = bool(registers and shared) and int(blocks(threads, 0, 0)) > current.active_blocks
        assert len(both) == possible
        expected += [(step.registers_per_thread, step.shared_bytes_per_block, None) for step in both]
    sizes = np.arange(32, architecture.threads_per_block + 1, 32)
    better = sizes[blocks(sizes, registers, shared) * (sizes // 32) > current.active_warps]
    expected += [(None, None, int(size)) for size in better[better < threads][-1:]]
    expected += [(None, None, int(size)) for size in better[better > threads][:1]]
    found = [(s.registers_per_thread, s.shared_bytes_per_block, s.threads_per_block) for s in steps]
    assert found == expected

    for step in steps:
        after = result_of(
            architecture,
            threads if step.threads_per_block is None else step.threads_per_block,
            registers if step.registers_per_thread is None else step.registers_per_thread,
            shared if step.shared_bytes_per_block is None else step.shared_bytes_per_block,
            barriers,
            percent,
        )
        assert (after.active_blocks, after.active_warps, after.occupancy) == (
            step.active_blocks,
            step.active_warps,
            step.occupancy,
        )
        assert step.active_warps > current.active_warps
    for step in both:
        # One of the two changes alone is not enough, and neither number may be larger.
        r, s = step.registers_per_thread, step.shared_bytes_per_block
        assert r is not None and s is not None
        for other in ((r, shared), (registers, s), (r + 1, 0), (r, s + 1)):
            assert int(blocks(threads, *other)) <= current.active_blocks


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["sm_30", "sm_53", "sm_60", "sm_86", "sm_100"])
def test_steps_agree_with_nvidias_calculation(header, name: str) -> None:
    """NVIDIA's header agrees with each step, and gives no better result with one register or byte more."""
    architecture = find_architecture(name)
    rng = random.Random(name)  # noqa: S311 - no secrets
    requests: list[str] = []
    expected: list[tuple[OccupancyResult, Step | None, int]] = []
    for _ in range(150):
        current = result_of(
            architecture, 32 * rng.randint(1, 32), rng.randint(16, architecture.registers_per_thread),
            rng.choice([0, rng.randint(1, architecture.shared_bytes_per_block)]),
        )  # fmt: skip
        for step in next_steps(architecture, current, None):
            t = step.threads_per_block or current.threads_per_block
            r, s = step.registers_per_thread, step.shared_bytes_per_block
            registers = current.registers_per_thread if r is None else r
            shared = current.shared_bytes_per_block if s is None else s
            requests.append(f"{t} {registers} {shared} 0 1 -1 0 1024")
            expected.append((current, step, t))
            if r is not None:
                requests.append(f"{t} {r + 1} {shared} 0 1 -1 0 1024")
                expected.append((current, None, t))
            if s is not None:
                requests.append(f"{t} {registers} {s + 1} 0 1 -1 0 1024")
                expected.append((current, None, t))
    assert len(requests) > 150
    for (current, step, threads), answer in zip(expected, header.ask(architecture, requests), strict=True):
        if step is None:
            assert answer[0] == current.active_blocks, (current, answer)
        else:
            assert answer[0] == step.active_blocks, (current, step, answer)
            assert step.active_warps == answer[0] * threads // 32 > current.active_warps


def test_steps_are_those_computed_by_hand() -> None:
    architecture = find_architecture("sm_86")
    # 256 threads, 48 registers: 5 blocks are active. 6 blocks need 40 registers, and fill the SM.
    steps = next_steps(architecture, result_of(architecture, 256, 48, 0), None)
    assert steps[0] == Step(6, 48, 1.0, registers_per_thread=40)
    # 100 KB / 6 in portions of 128, less the reserved 1024: 17 024 - 1024.
    (step,) = next_steps(architecture, result_of(architecture, 256, 32, 16_385), None)[:1]
    assert step == Step(6, 48, 1.0, shared_bytes_per_block=102_400 // 6 // 128 * 128 - 1024)
    # Registers and memory each allow 5 blocks, so both have to change.
    (both, *_) = next_steps(architecture, result_of(architecture, 256, 48, 16_385), None)
    assert (both.registers_per_thread, both.shared_bytes_per_block, both.active_blocks) == (40, 16_000, 6)
    assert next_steps(architecture, result_of(architecture, 256, 40, 0), None) == ()
    # Blocks of 32 threads are limited by the 16 blocks of an SM, so only a larger block helps.
    (larger,) = next_steps(architecture, result_of(architecture, 32, 16, 0), None)
    assert larger == Step(16, 32, 32 / 48, threads_per_block=64)


def test_a_configuration_that_cannot_run_gets_steps_that_can() -> None:
    architecture = find_architecture("sm_80")
    fewer, smaller = next_steps(architecture, result_of(architecture, 1024, 65, 0), None)
    assert (fewer.registers_per_thread, fewer.active_blocks) == (64, 1)
    assert smaller.threads_per_block == 896
    # A block may not have 2048 threads, so no other change helps.
    assert set(kinds(next_steps(architecture, result_of(architecture, 2048, 255, 1000), None))) == {
        (False, False, True)
    }


def kernel(max_threads: int | None) -> Resources:
    return Resources(16, 0, 0, 0, 0, 0, 1, max_threads)


def test_no_block_is_larger_than_the_launch_bounds() -> None:
    architecture = find_architecture("sm_86")
    current = result_of(architecture, 64, 16, 0)._replace(method="mine", resources=kernel(64))
    assert [s for s in next_steps(architecture, current, None) if (s.threads_per_block or 0) > 64] == []


def test_only_a_smaller_block_helps_a_launch_that_the_bounds_forbid() -> None:
    architecture = find_architecture("sm_86")
    current = result_of(architecture, 512, 16, 0)._replace(
        method="mine",
        resources=kernel(256),
        reason="512 threads per block; its __launch_bounds__ allow 256",
        active_blocks=0,
        active_warps=0,
        occupancy=0.0,
    )
    steps = next_steps(architecture, current, None)
    assert set(kinds(steps)) <= {(False, False, True)}
    assert all((s.threads_per_block or 0) <= 256 for s in steps)


@pytest.mark.parametrize("threads", [256, 0])
def test_a_kernel_that_does_not_compile_has_no_next_step(threads: int) -> None:
    architecture = find_architecture("sm_86")
    current = result_of(architecture, threads or 1, 0, 4096)._replace(
        threads_per_block=threads,
        method="mine",
        reason="does not compile: …",
        active_blocks=0,
        active_warps=0,
        occupancy=0.0,
    )
    with np.errstate(all="raise"):
        assert next_steps(architecture, current, None) == ()
