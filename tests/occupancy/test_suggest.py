"""The block size of highest occupancy, against NVIDIA's own search."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from cudamm.errors import UsageError
from cudamm.kernels.architecture import ARCHITECTURES, Architecture, find_architecture
from cudamm.occupancy.block_size import best_of_numbers, every_block_size, power_of_four, suggest
from cudamm.occupancy.configurations import Numbers

KB = 1024
KNOWN_TO_HEADER = [a for a in ARCHITECTURES.values() if a.capability >= (3, 0)]
REGISTERS = (0, 10, 16, 21, 24, 32, 33, 37, 40, 42, 48, 56, 63, 64, 65, 72, 80, 85, 96, 104, 128, 129, 168,
             200, 254, 255)  # fmt: skip
MOST_THREADS = (1024, 1023, 1000, 768, 640, 513, 256, 100, 65, 33, 32, 31, 1)


def suggested(
    architecture: Architecture, most: int, registers: int, static: int, per_thread: int, percent: int | None
):
    """Return the blocks that fill the GPU and the best block size, in the order of the header's answer."""
    suggestion = suggest(
        architecture, every_block_size(architecture, most), registers,
        lambda threads: static + per_thread * threads, 1, "", percent,
    )  # fmt: skip
    return (suggestion.min_grid_blocks, suggestion.threads_per_block) if suggestion else (0, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("architecture", KNOWN_TO_HEADER, ids=lambda a: a.name)
def test_the_suggestion_is_that_of_nvidias_search(header, architecture: Architecture) -> None:
    registers = [r for r in REGISTERS if r <= architecture.registers_per_thread]
    cases = [(most, r, 0, 0) for most, r in itertools.product(MOST_THREADS, registers)]
    memory = itertools.product((0, 100, 20_000, 48 * KB), (0, 1, 8, 33, 100, 1600))
    cases += [(most, r, s, d) for (s, d), most, r in itertools.product(memory, (1024, 500), (16, 40, 63))]
    cases.append((1024, 16, architecture.shared_bytes_per_block + 1, 0))
    answers = header.ask(architecture, [f"0 {r} {s} {d} 1 -1 0 {most}" for most, r, s, d in cases])
    ours = [suggested(architecture, *case, None) for case in cases]
    different = [(c, us, nvidia) for c, us, nvidia in zip(cases, ours, answers, strict=True) if us != nvidia]
    assert different == []
    # The answers contain large blocks, small ones, blocks of incomplete warps, and no block.
    sizes = {threads for _, threads in ours}
    assert {0, 1, 31, 33} <= sizes and max(sizes) >= 512
    assert len(set(ours)) > 20


@pytest.mark.parametrize("name", ["sm_70", "sm_75", "sm_86", "sm_90", "sm_121"])
def test_with_a_carveout_the_suggestion_is_that_of_nvidias_search(header, name: str) -> None:
    architecture = find_architecture(name)
    cases = list(itertools.product((1024, 700), (32, 80), (0, 3000), (0, 8, 50)))
    for percent in (0, 10, 50, 80):
        answers = header.ask(architecture, [f"0 {r} {s} {d} 1 {percent} 0 {m}" for m, r, s, d in cases])
        assert [suggested(architecture, *case, percent) for case in cases] == answers, percent


@pytest.mark.parametrize("name", ["sm_80", "sm_90", "sm_120"])
def test_with_many_barriers_the_suggestion_is_that_of_nvidias_search(header, name: str) -> None:
    architecture = find_architecture(name)
    for barriers in (0, 1, 2, 5, 16):
        for registers in (16, 80):
            ((grid, block),) = header.ask(architecture, [f"0 {registers} 0 0 {barriers} -1 0 1024"])
            suggestion = suggest(
                architecture, every_block_size(architecture), registers, lambda threads: 0, barriers, ""
            )
            assert suggestion is not None
            assert (suggestion.min_grid_blocks, suggestion.threads_per_block) == (grid, block)


@pytest.mark.parametrize(
    ("name", "registers", "required"),
    [
        ("sm_86", 40, lambda threads: 2 * threads * 4),  # the lab: two square tiles of floats
        ("sm_90", 32, lambda threads: 2 * threads * 8),
        ("sm_75", 64, lambda threads: 49_152 if threads > 512 else 1000),
        ("sm_61", 37, lambda threads: 12_288 * (threads % 96 == 0) + 40_000 * (threads % 96 != 0)),
        ("sm_120", 24, lambda threads: 200 * 1024 // threads),
    ],
)
def test_shared_memory_may_be_any_function_of_the_threads(
    header, name: str, registers: int, required: Callable[[int], int]
) -> None:
    """The suggestion is the best of all block sizes, for each of which the header is asked."""
    architecture = find_architecture(name)
    sizes = range(32, 1025, 32)
    blocks = [
        answer[0]
        for answer in header.ask(
            architecture, [f"{t} {registers} 0 {required(t)} 1 -1 0 1024" for t in sizes]
        )
    ]
    most = max(t * b for t, b in zip(sizes, blocks, strict=True))
    expected = max(t for t, b in zip(sizes, blocks, strict=True) if t * b == most)
    suggestion = suggest(architecture, every_block_size(architecture), registers, required, 1, "a list")
    assert suggestion is not None
    assert suggestion.threads_per_block == expected
    assert suggestion.min_grid_blocks == most // expected * architecture.multiprocessors
    assert suggestion.occupancy == pytest.approx(most / architecture.threads)
    assert suggestion.chosen_from == "a list"


def test_the_largest_of_the_best_sizes_is_suggested_in_any_order() -> None:
    architecture = find_architecture("sm_80")
    for sizes in itertools.permutations((64, 128, 256, 1024)):
        suggestion = suggest(architecture, sizes, 32, lambda threads: 0, 1, "")
        assert suggestion is not None and (suggestion.threads_per_block, suggestion.occupancy) == (1024, 1.0)
    assert suggest(architecture, (512, 1024), 200, lambda threads: 0, 1, "") is None
    assert suggest(architecture, every_block_size(architecture), 32, lambda threads: 164 * KB, 1, "") is None


@pytest.mark.parametrize("architecture", ARCHITECTURES.values(), ids=lambda a: a.name)
def test_every_block_size_is_one_that_nvidias_search_tries(architecture: Architecture) -> None:
    for most in MOST_THREADS:
        sizes = every_block_size(architecture, most)
        largest = min(most, architecture.threads_per_block)
        assert sizes[0] == largest
        assert set(sizes[1:]) == set(range(32, largest, 32))
        assert list(sizes) == sorted(sizes, reverse=True)
    assert every_block_size(architecture)[0] == architecture.threads_per_block


def test_square_blocks_are_rounded_down_to_the_labs_power_of_four() -> None:
    for threads in range(1, 1025):
        power = power_of_four(threads)
        assert power <= threads < 4 * power
        edge = math.isqrt(power)
        assert edge * edge == power and edge & (edge - 1) == 0
        # The lab's own formula, except that the rounding error of log(64) / log(4) is removed.
        assert power == 4 ** math.floor(round(math.log(threads) / math.log(4), 9))
    architecture = find_architecture("sm_86")
    suggestion = suggest(architecture, every_block_size(architecture), 32, lambda threads: 0, 1, "")
    assert suggestion is not None
    assert (suggestion.threads_per_block, suggestion.rounded_threads, suggestion.block_edge) == (768, 256, 16)


def test_bare_numbers_are_shown_at_the_rounded_size(header) -> None:
    architectures = [find_architecture(name) for name in ("sm_86", "sm_90")]
    numbers = Numbers((), (32, 70), (0, 10_000), grid_blocks=1000)
    results = list(best_of_numbers(architectures, numbers, None))
    assert [(r.arch, r.registers_per_thread, r.shared_bytes_per_block) for r in results] == list(
        itertools.product(("sm_86", "sm_90"), (32, 70), (0, 10_000))
    )
    for architecture, result in zip([architectures[0]] * 4 + [architectures[1]] * 4, results, strict=True):
        registers, shared = result.registers_per_thread, result.shared_bytes_per_block
        suggestion = result.suggestion
        (grid, block), at_rounded_size = header.ask(
            architecture, [f"0 {registers} {shared} 0 1 -1 0 1024",
                 f"{result.threads_per_block} {registers} {shared} 0 1 -1 0 1024"],
        )  # fmt: skip
        assert suggestion is not None
        assert (suggestion.min_grid_blocks, suggestion.threads_per_block) == (grid, block)
        assert result.threads_per_block == suggestion.rounded_threads == suggestion.block_edge**2
        assert result.active_blocks == at_rounded_size[0]
        assert result.waves == pytest.approx(1000 / (at_rounded_size[0] * architecture.multiprocessors))


def test_shared_memory_of_bare_numbers_may_be_a_function_of_the_threads(header) -> None:
    architecture = find_architecture("sm_75")
    (result,) = best_of_numbers([architecture], Numbers((), (32,), lambda threads: 100 * threads), None)
    ((grid, block),) = header.ask(architecture, ["0 32 0 100 1 -1 0 1024"])
    assert result.suggestion is not None
    assert (result.suggestion.min_grid_blocks, result.suggestion.threads_per_block) == (grid, block)
    assert result.shared_bytes_per_block == 100 * result.threads_per_block


def test_numbers_with_which_no_block_runs_are_an_error() -> None:
    architecture = find_architecture("sm_80")
    for numbers, words in (
        (Numbers((), (256,), (0,)), "256 registers"),
        (Numbers((), (32,), (164 * KB,)), "sm_80"),
    ):
        with pytest.raises(UsageError, match=words):
            list(best_of_numbers([architecture], numbers, None))
