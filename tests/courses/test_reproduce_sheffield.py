"""Sheffield's lab: times that confirm and contradict it, bits, banks, occupancy and block sizes."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from made_up_outcomes import CPU, GPU, conclusion_of, holds_by_name, make_outcomes, silent, with_verdict

from cudamm.courses import reproduce_sheffield
from cudamm.courses.reproduce_sheffield import SOURCE, bank_turns
from cudamm.execution.case import Verdict
from cudamm.kernels.architecture import ARCHITECTURES
from cudamm.occupancy.occupancy_result import Suggestion

FAST = {
    "one element per thread": 0.3478, "blocked": 0.2457, "conflicts (PAD = 0)": 1.2,
    "padded (PAD = 1)": 0.32, "transposed": 0.44, "sized at launch to edge 32": 0.2,
}  # fmt: skip


@pytest.fixture
def plan(no_nvcc):
    """Return the lab's plan without occupancy, which needs nvcc."""
    return SOURCE.plan(GPU, silent)


@pytest.fixture(scope="module")
def compiled(needs_nvcc):
    """Return the lab's plan with the occupancy of its kernels."""
    return SOURCE.plan(GPU, silent)


def test_fast_times_confirm_the_conclusions_of_the_lab(plan):
    holds = holds_by_name(SOURCE.conclude(plan, make_outcomes(plan, FAST)))
    for name in ("blocked-faster", "padding-cures", "transposing-cures", "products-right", "any-multiple"):
        assert holds[name] is True, name


def test_slow_times_contradict_the_conclusions_of_the_lab(plan):
    slow = FAST | {"blocked": 0.5, "padded (PAD = 1)": 1.5, "transposed": 1.21}
    report = SOURCE.conclude(plan, make_outcomes(plan, slow))
    holds = holds_by_name(report)
    for name in ("blocked-faster", "padding-cures", "transposing-cures"):
        assert holds[name] is False, name
    assert (
        "takes 1.44 times as long as one element per thread"
        in conclusion_of(report, "blocked-faster").sentence
    )


@pytest.mark.parametrize("stride", [1, 2, 3, 8, 16, 24, 31, 32, 33, 48, 64])
def test_bank_turns_are_the_largest_number_of_lanes_on_one_bank(stride):
    lanes_by_bank = Counter(lane * stride % 32 for lane in range(32))
    assert bank_turns(stride) == max(lanes_by_bank.values())


def test_padding_removes_the_conflict_on_any_device(plan):
    conclusion = conclusion_of(SOURCE.conclude(plan, []), "padding-removes-conflicts")
    assert conclusion.holds is True
    assert "take 32 turns" in conclusion.sentence and "1 turn" in conclusion.sentence


def test_products_without_fused_multiply_add_have_to_be_equal_in_every_bit(plan):
    outcomes = make_outcomes(plan, FAST)
    exact = [o for o in outcomes if not o.result.fmad]
    assert {o.case.variant.method.name for o in exact} == {"coalesced", "tiled"}
    conclusion = conclusion_of(SOURCE.conclude(plan, outcomes), "fmad-false-bit-equal")
    assert conclusion.holds is True
    assert "3 products" in conclusion.sentence and "96x160x64" in conclusion.sentence
    different = Verdict(False, "not the bits of a sum in k order", bit_equal=False)
    outcomes = with_verdict(outcomes, "-fmad=false: blocked", different)
    conclusion = conclusion_of(SOURCE.conclude(plan, outcomes), "fmad-false-bit-equal")
    assert conclusion.holds is False
    assert "not the bits" in conclusion.sentence


def test_a_wrong_rectangular_product_contradicts_the_lab(plan):
    outcomes = with_verdict(
        make_outcomes(plan, FAST), "blocked, not square", Verdict(False, "wrong at C[0][0]")
    )
    conclusion = conclusion_of(SOURCE.conclude(plan, outcomes), "any-multiple")
    assert conclusion.holds is False and "wrong at C[0][0]" in conclusion.sentence


def test_conclusions_on_occupancy_are_undecided_without_nvcc(plan):
    report = SOURCE.conclude(plan, make_outcomes(plan, FAST))
    for name in ("occupancy-formula", "rounded-to-square", "best-block-faster"):
        assert conclusion_of(report, name).holds is None
        assert "no nvcc anywhere" in conclusion_of(report, name).sentence
    assert report.printed == ()


def test_the_occupancy_of_the_labs_kernels_is_that_of_its_formula(compiled):
    report = SOURCE.conclude(compiled, make_outcomes(compiled, FAST))
    assert conclusion_of(report, "occupancy-formula").holds is True
    printed = "\n".join(report.printed)
    # With at most 32 registers per thread, two blocks of 32 warps fill the 64 warps of each of 132 SMs.
    assert "maxActiveBlocks: 2 per multiprocessor, 264 on the device" in printed
    assert "264 x 1,024 TPB / (2,048 x 132) = 100.0%" in printed
    assert "8,192 bytes of shared memory" in printed  # two tiles of 32 x 32 floats


def test_a_different_occupancy_contradicts_the_formula(compiled):
    first, *others = compiled.known[reproduce_sheffield.OCCUPANCIES]
    known = compiled.known | {reproduce_sheffield.OCCUPANCIES: [first._replace(active_warps=48), *others]}
    report = SOURCE.conclude(dataclasses.replace(compiled, known=known), [])
    assert conclusion_of(report, "occupancy-formula").holds is False
    assert "48 of 64 warps are 75.0%" in conclusion_of(report, "occupancy-formula").sentence


def test_the_best_block_size_is_rounded_to_a_square_and_timed(needs_nvcc):
    """An SM of an RTX 3090 has 1536 threads. Blocks of 768 fill it, which the lab rounds to 256 = 16 x 16."""
    plan = SOURCE.plan(dataclasses.replace(GPU, architecture=ARCHITECTURES["sm_86"]), silent)
    times = FAST | {"sized at launch to edge 16": 0.2}
    report = SOURCE.conclude(plan, make_outcomes(plan, times))
    rounding = conclusion_of(report, "rounded-to-square")
    assert rounding.holds is True
    assert "768 threads" in rounding.sentence and "256 = 16 x 16" in rounding.sentence
    assert conclusion_of(report, "best-block-faster").holds is True
    times = FAST | {"sized at launch to edge 16": 0.3}
    slower = conclusion_of(SOURCE.conclude(plan, make_outcomes(plan, times)), "best-block-faster")
    # The lab's kernel with edge 32 has one block of 32 warps, of 48 possible, so it could be faster.
    assert slower.holds is False
    assert "cannot fully unroll" in slower.sentence and "nothing to gain" not in slower.sentence


def test_the_reason_is_reported_if_the_best_block_size_is_not_faster(compiled):
    times = FAST | {"blocked": 0.2461, "sized at launch to edge 32": 0.3428}
    conclusion = conclusion_of(SOURCE.conclude(compiled, make_outcomes(compiled, times)), "best-block-faster")
    assert conclusion.holds is False
    assert "1.39 times as long" in conclusion.sentence and "with 100.0% occupancy" in conclusion.sentence


@pytest.mark.parametrize(("threads", "rounded", "edge"), [(768, 512, 22), (768, 64, 8), (1024, 256, 16)])
def test_a_different_rounding_contradicts_the_lab(compiled, threads, rounded, edge):
    other_suggestion = compiled.known[reproduce_sheffield.SUGGESTED]._replace(
        suggestion=Suggestion(threads, 1.0, 264, rounded, edge, "made up")
    )
    known = compiled.known | {reproduce_sheffield.SUGGESTED: other_suggestion}
    report = SOURCE.conclude(dataclasses.replace(compiled, known=known), [])
    assert conclusion_of(report, "rounded-to-square").holds is False


def test_the_cpu_device_decides_only_conclusions_without_times(no_nvcc):
    plan = SOURCE.plan(CPU, silent)
    report = SOURCE.conclude(plan, make_outcomes(plan, FAST))
    holds = holds_by_name(report)
    for name in ("products-right", "any-multiple", "padding-removes-conflicts", "fmad-false-bit-equal"):
        assert holds[name] is True, name
    for name in ("blocked-faster", "padding-cures", "transposing-cures"):
        assert holds[name] is None
        assert "only the times of a GPU" in conclusion_of(report, name).sentence
