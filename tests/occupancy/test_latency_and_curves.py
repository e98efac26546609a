"""Whether a load is hidden, against a lecture's figures and a count; curves against NVIDIA's calculation."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from cudamm.cli import app
from cudamm.errors import UsageError
from cudamm.kernels.architecture import ARCHITECTURES, find_architecture
from cudamm.occupancy.configurations import Numbers, occupancy_of_numbers
from cudamm.occupancy.latency import instruction_cycles, latencies, load_cycles
from cudamm.occupancy.occupancy_curves import curves_of_results, curves_through
from cudamm.occupancy.occupancy_questions import Questions, add_answers, latency_sources
from cudamm.occupancy.occupancy_result import OccupancyResult

KB = 1024


def one(name: str, threads: int, registers: int, shared: int = 0, percent: int | None = None):
    (result,) = occupancy_of_numbers(
        [find_architecture(name)], Numbers((threads,), (registers,), (shared,)), percent
    )
    return result


def asked(result: OccupancyResult, **questions) -> OccupancyResult:
    (found,) = add_answers([result], [find_architecture(result.arch)], Questions(**questions), None)
    return found


def test_sjtus_two_cases() -> None:
    """CS427, lecture 8: one register more, a third of the threads less, and the load is hidden better."""
    ten = asked(one("sm_10", 256, 10), independent=(4,))
    eleven = asked(one("sm_10", 256, 11), independent=(8,))
    assert (ten.active_warps, eleven.active_warps) == (24, 16)
    assert ten.latency is not None and eleven.latency is not None
    ((four,), (eight,)) = ten.latency, eleven.latency
    assert (four.load_cycles, four.instruction_cycles) == (400, 4)
    assert (four.hidden_cycles, four.covered) == (384, False)
    assert (eight.hidden_cycles, eight.covered) == (512, True)
    # 25 x 16 = 400; 24 x 4 x 5 = 480. 13 x 32 = 416; 16 x 4 x 7 = 448.
    assert (four.warps_needed, four.independent_needed) == (25, 5)
    assert (eight.warps_needed, eight.independent_needed) == (13, 7)


def test_kirk_and_hwus_case() -> None:
    """Section 6.3: a load of 200 cycles, 8 independent instructions of 4 cycles: 7 warps are enough."""
    (row,) = latencies(16, (8,), Fraction(200), Fraction(4))
    assert (row.warps_needed, row.covered) == (7, True)


def test_without_active_warps_nothing_is_hidden() -> None:
    for row in latencies(0, (1, 1000), Fraction(400), Fraction(1, 4)):
        assert (row.hidden_cycles, row.covered, row.independent_needed) == (0, False, None)
        assert row.warps_needed >= 1


@settings(max_examples=400, deadline=None)
@given(
    warps=st.integers(1, 64),
    independent=st.integers(1, 64),
    load=st.integers(1, 2000),
    of=st.sampled_from(list(ARCHITECTURES.values())),
)
def test_needed_is_the_least_that_covers(warps: int, independent: int, load: int, of) -> None:
    cycles, cost = instruction_cycles(of), Fraction(load)
    (row,) = latencies(warps, (independent,), cost, cycles)
    assert row.covered == (row.hidden_cycles >= load)
    for w, covered in ((row.warps_needed, True), (row.warps_needed - 1, False)):
        assert latencies(w, (independent,), cost, cycles)[0].covered is covered
    assert row.independent_needed is not None
    for i, covered in ((row.independent_needed, True), (row.independent_needed - 1, False)):
        assert (i * cycles * warps >= load) is covered
    # More of either hides more, and as much of both together hides the same.
    (more_warps,) = latencies(2 * warps, (independent,), cost, cycles)
    (more_instructions,) = latencies(warps, (2 * independent,), cost, cycles)
    assert more_warps.hidden_cycles == more_instructions.hidden_cycles == 2 * row.hidden_cycles
    assert more_warps.covered == more_instructions.covered >= row.covered


@pytest.mark.parametrize(
    ("load", "cycles"), [("4.2", "1.4"), ("1.1", "0.1"), ("471.9", "0.3"), ("0.3", "0.1")]
)
def test_cycles_with_decimals(load: str, cycles: str) -> None:
    """As many warps as are said to be needed hide the load, and one less does not."""
    exact = Fraction(load) / Fraction(cycles)
    needed = -(-exact.numerator // exact.denominator)
    base = one("sm_80", 32, 16)
    for warps, covered in ((needed - 1, False), (needed, True)):
        found = asked(
            base._replace(active_warps=warps),
            independent=(1,), load_cycles=Fraction(load), instruction_cycles=Fraction(cycles),
        )  # fmt: skip
        assert found.latency is not None
        assert found.latency[0].warps_needed == needed
        assert found.latency[0].covered is covered


@pytest.mark.parametrize("option", ["--load-cycles", "--instruction-cycles"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "1e3"])
def test_cycles_that_are_no_number(option: str, value: str) -> None:
    line = ["occupancy", "--arch", "sm_80", "--threads", "256", "--ilp", "1", option, value]
    ended = CliRunner().invoke(app, line)
    assert isinstance(ended.exception, SystemExit)
    assert ended.exit_code == 2


def test_a_cost_that_nobody_published_has_to_be_given() -> None:
    known, unknown = find_architecture("sm_80"), find_architecture("sm_61")
    assert load_cycles(known)[0] > 0
    with pytest.raises(UsageError, match=r"sm_61.*--load-cycles"):
        load_cycles(unknown)
    with pytest.raises(UsageError, match="sm_61"):
        latency_sources([known, unknown], Questions(independent=(1,)))
    assert latency_sources([unknown], Questions(independent=(1,), load_cycles=Fraction(500))) == [
        "sm_61: cycles of a load: as given; of an instruction: 0.25 (32 / 128 float32 results a cycle and SM)"
    ]
    # Given, it counts in place of what is known.
    found = asked(
        one("sm_61", 1024, 32), independent=(1, 32), load_cycles=Fraction(500), instruction_cycles=Fraction(2)
    )
    assert found.latency is not None
    assert [(row.load_cycles, row.hidden_cycles) for row in found.latency] == [(500, 128), (500, 4096)]
    assert [row.covered for row in found.latency] == [False, True]


@pytest.mark.parametrize(
    ("name", "threads", "registers", "shared", "percent"),
    [
        ("sm_30", 256, 40, 5000, None),
        ("sm_60", 100, 63, 0, None),
        ("sm_75", 512, 64, 16_384, None),
        ("sm_86", 96, 37, 1, 50),
        ("sm_90", 1024, 255, 0, None),
        ("sm_90", 128, 32, 227 * KB, 20),
        ("sm_121", 32, 0, 0, None),
    ],
)
def test_every_point_of_a_curve_is_nvidias(
    header, name: str, threads: int, registers: int, shared: int, percent: int | None
) -> None:
    of = find_architecture(name)
    result = one(name, threads, registers, shared, percent)
    carveout = -1 if percent is None else percent
    curves = curves_through(of, result, percent)
    assert [curve.quantity.split()[0] for curve in curves] == ["threads", "registers", "shared"]
    for i, curve in enumerate(curves):
        here = [threads, registers, shared]
        lines = []
        for value in curve.values:
            here[i] = value
            lines.append(f"{here[0]} {here[1]} {here[2]} 0 1 {carveout} 0 1024")
        warps = [-(-(value if i == 0 else threads) // 32) for value in curve.values]
        blocks = [answer[0] for answer in header.ask(of, lines)]
        assert curve.active_warps == (np.array(blocks) * warps).tolist()
        assert curve.warps == of.warps and max(curve.active_warps) <= of.warps
        assert curve.present == ((threads, registers, shared)[i], result.active_warps)
        assert curve.values == sorted(set(curve.values))
    assert (curves[0].values[0], curves[0].values[-1]) == (1, of.threads_per_block)
    assert curves[1].values == list(range(1, of.registers_per_thread + 1))
    assert (curves[2].values[0], curves[2].values[-1]) == (0, of.shared_bytes_per_block)


def test_what_lies_between_two_points_is_what_the_next_has() -> None:
    """A curve leaves out most numbers of bytes and of threads, and nothing happens in between."""
    of = find_architecture("sm_90")
    result = one("sm_90", 192, 40, 20_000)
    threads, _, shared = curves_through(of, result, None)
    every = list(occupancy_of_numbers([of], Numbers(tuple(range(1, 1025)), (40,), (20_000,)), None))
    assert [r.active_warps for r in every] == [threads.active_warps[-(-t // 32)] for t in range(1, 1025)]
    ends = list(itertools.pairwise(shared.values))[:300]
    inside = tuple(byte for low, high in ends for byte in (low + 1, high))
    found = [r.active_warps for r in occupancy_of_numbers([of], Numbers((192,), (40,), inside), None)]
    assert found[::2] == found[1::2] == shared.active_warps[1 : len(ends) + 1]


def test_curves_are_drawn_of_each_result_that_has_numbers() -> None:
    of = find_architecture("sm_80")
    some, none = one("sm_80", 256, 32), one("sm_80", 1, 0)._replace(method="mine", reason="does not compile")
    assert [result for result, _ in curves_of_results([some, none, some], [of], None)] == [some, some]
