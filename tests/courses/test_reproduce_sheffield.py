"""Sheffield's lab: times both ways, bits, banks, occupancy and the rounding."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest
from made_up_outcomes import CPU, GPU, check, made_up, silent, verdicts, with_verdict

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
    """Without a compiler: what the lab's times and bits say needs none."""
    return SOURCE.plan(GPU, silent)


@pytest.fixture(scope="module")
def compiled(needs_nvcc):
    """With the kernels' occupancy."""
    return SOURCE.plan(GPU, silent)


def test_times_that_uphold_the_lab(plan):
    held = verdicts(SOURCE.conclude(plan, made_up(plan, FAST)))
    for name in ("blocked-faster", "padding-cures", "transposing-cures", "products-right", "any-multiple"):
        assert held[name] is True, name


def test_times_that_do_not(plan):
    slow = FAST | {"blocked": 0.5, "padded (PAD = 1)": 1.5, "transposed": 1.21}
    findings = SOURCE.conclude(plan, made_up(plan, slow))
    held = verdicts(findings)
    for name in ("blocked-faster", "padding-cures", "transposing-cures"):
        assert held[name] is False, name
    assert "takes 1.44 times as long as one element per thread" in check(findings, "blocked-faster").sentence


@pytest.mark.parametrize("stride", [1, 2, 3, 8, 16, 24, 31, 32, 33, 48, 64])
def test_bank_turns_are_the_most_lanes_on_one_bank(stride):
    lanes_by_bank = Counter(lane * stride % 32 for lane in range(32))
    assert bank_turns(stride) == max(lanes_by_bank.values())


def test_padding_removes_the_conflict_on_any_device(plan):
    found = check(SOURCE.conclude(plan, []), "padding-removes-conflicts")
    assert found.holds is True
    assert "take 32 turns" in found.sentence and "1 turn" in found.sentence


def test_bits_without_fused_multiply_add(plan):
    outcomes = made_up(plan, FAST)
    exact = [o for o in outcomes if not o.result.fmad]
    assert {o.case.variant.method.name for o in exact} == {"coalesced", "tiled"}
    found = check(SOURCE.conclude(plan, outcomes), "fmad-false-bit-equal")
    assert found.holds is True
    assert "3 products" in found.sentence and "96x160x64" in found.sentence
    different = Verdict(False, "not the bits of a sum in k order", bit_equal=False)
    outcomes = with_verdict(outcomes, "-fmad=false: blocked", different)
    found = check(SOURCE.conclude(plan, outcomes), "fmad-false-bit-equal")
    assert found.holds is False
    assert "not the bits" in found.sentence


def test_a_rectangle_that_is_wrong(plan):
    outcomes = with_verdict(made_up(plan, FAST), "blocked, not square", Verdict(False, "wrong at C[0][0]"))
    found = check(SOURCE.conclude(plan, outcomes), "any-multiple")
    assert found.holds is False and "wrong at C[0][0]" in found.sentence


def test_without_a_compiler_there_is_no_occupancy(plan):
    findings = SOURCE.conclude(plan, made_up(plan, FAST))
    for name in ("occupancy-formula", "rounded-to-square", "best-block-faster"):
        assert check(findings, name).holds is None
        assert "no nvcc anywhere" in check(findings, name).sentence
    assert findings.printed == ()


def test_the_occupancy_of_the_labs_kernels(compiled):
    findings = SOURCE.conclude(compiled, made_up(compiled, FAST))
    assert check(findings, "occupancy-formula").holds is True
    printed = "\n".join(findings.printed)
    # 1024 threads of at most 32 registers: two blocks of 32 warps fill the 64 of an SM; there are 132.
    assert "maxActiveBlocks: 2 per multiprocessor, 264 on the device" in printed
    assert "264 x 1,024 TPB / (2,048 x 132) = 100.0%" in printed
    assert "8,192 bytes of shared memory" in printed  # two tiles of 32 x 32 floats


def test_a_formula_that_counts_otherwise_does_not_hold(compiled):
    first, *others = compiled.known[reproduce_sheffield.OCCUPANCIES]
    known = compiled.known | {reproduce_sheffield.OCCUPANCIES: [first._replace(active_warps=48), *others]}
    findings = SOURCE.conclude(dataclasses.replace(compiled, known=known), [])
    assert check(findings, "occupancy-formula").holds is False
    assert "48 of 64 warps are 75.0%" in check(findings, "occupancy-formula").sentence


def test_the_best_block_is_rounded_to_a_square_and_timed(needs_nvcc):
    """On an RTX 3090 1536 threads fit: blocks of 768 fill it, which the lab rounds to 256, 16 x 16."""
    plan = SOURCE.plan(dataclasses.replace(GPU, architecture=ARCHITECTURES["sm_86"]), silent)
    times = FAST | {"sized at launch to edge 16": 0.2}
    findings = SOURCE.conclude(plan, made_up(plan, times))
    rounding = check(findings, "rounded-to-square")
    assert (
        rounding.holds is True and "768 threads" in rounding.sentence and "256 = 16 x 16" in rounding.sentence
    )
    assert check(findings, "best-block-faster").holds is True
    times = FAST | {"sized at launch to edge 16": 0.3}
    slower = check(SOURCE.conclude(plan, made_up(plan, times)), "best-block-faster")
    # The original with edge 32 has one block of 32 warps of 48: there was something to gain.
    assert slower.holds is False
    assert "cannot fully unroll" in slower.sentence and "nothing to gain" not in slower.sentence


def test_why_the_best_block_gains_nothing_is_said(compiled):
    times = FAST | {"blocked": 0.2461, "sized at launch to edge 32": 0.3428}
    found = check(SOURCE.conclude(compiled, made_up(compiled, times)), "best-block-faster")
    assert found.holds is False
    assert "1.39 times as long" in found.sentence and "with 100.0% occupancy" in found.sentence


@pytest.mark.parametrize(("threads", "rounded", "edge"), [(768, 512, 22), (768, 64, 8), (1024, 256, 16)])
def test_another_rounding_does_not_hold(compiled, threads, rounded, edge):
    suggested = compiled.known[reproduce_sheffield.SUGGESTED]._replace(
        suggestion=Suggestion(threads, 1.0, 264, rounded, edge, "made up")
    )
    known = compiled.known | {reproduce_sheffield.SUGGESTED: suggested}
    findings = SOURCE.conclude(dataclasses.replace(compiled, known=known), [])
    assert check(findings, "rounded-to-square").holds is False


def test_what_carries_over_to_the_cpu_device(no_nvcc):
    plan = SOURCE.plan(CPU, silent)
    findings = SOURCE.conclude(plan, made_up(plan, FAST))
    held = verdicts(findings)
    for name in ("products-right", "any-multiple", "padding-removes-conflicts", "fmad-false-bit-equal"):
        assert held[name] is True, name
    for name in ("blocked-faster", "padding-cures", "transposing-cures"):
        assert held[name] is None and "emulated" in check(findings, name).sentence
