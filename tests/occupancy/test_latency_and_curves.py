"""Hidden latency, against a lecture's figures and a count; curves, against NVIDIA's calculation."""

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


def result_of_numbers(name: str, threads: int, registers: int, shared: int = 0, percent: int | None = None):
    (result,) = occupancy_of_numbers(
        [find_architecture(name)], Numbers((threads,), (registers,), (shared,)), percent
    )
    return result


def answered(result: OccupancyResult, **questions) -> OccupancyResult:
    (result_with_answers,) = add_answers(
        [result], [find_architecture(result.arch)], Questions(**questions), None
    )
    return result_with_answers


def test_sjtus_two_cases_are_as_in_the_lecture() -> None:
    """CS427, lecture 8: one more register makes a third fewer threads active, and hides the load better."""
    ten = answered(result_of_numbers("sm_10", 256, 10), independent=(4,))
    eleven = answered(result_of_numbers("sm_10", 256, 11), independent=(8,))
    assert (ten.active_warps, eleven.active_warps) == (24, 16)
    assert ten.latency is not None and eleven.latency is not None
    ((four,), (eight,)) = ten.latency, eleven.latency
    assert (four.load_cycles, four.instruction_cycles) == (400, 4)
    assert (four.hidden_cycles, four.covered) == (384, False)
    assert (eight.hidden_cycles, eight.covered) == (512, True)
    # 25 x 16 = 400; 24 x 4 x 5 = 480. 13 x 32 = 416; 16 x 4 x 7 = 448.
    assert (four.warps_needed, four.independent_needed) == (25, 5)
    assert (eight.warps_needed, eight.independent_needed) == (13, 7)


def test_kirk_and_hwus_case_is_as_in_the_book() -> None:
    """Section 6.3: 7 warps hide a load of 200 cycles behind 8 independent instructions of 4 cycles."""
    (row,) = latencies(16, (8,), Fraction(200), Fraction(4))
    assert (row.warps_needed, row.covered) == (7, True)


def test_without_active_warps_no_latency_is_hidden() -> None:
    for row in latencies(0, (1, 1000), Fraction(400), Fraction(1, 4)):
        assert (row.hidden_cycles, row.covered, row.independent_needed) == (0, False, None)
        assert row.warps_needed >= 1


@settings(max_examples=400, deadline=None)
@given(
    warps=st.integers(1, 64),
    independent=st.integers(1, 64),
    load=st.integers(1, 2000),
    architecture=st.sampled_from(list(ARCHITECTURES.values())),
)
def test_needed_warps_and_instructions_are_the_fewest_that_hide_the_load(
    warps: int, independent: int, load: int, architecture
) -> None:
    cycles, cost = instruction_cycles(architecture), Fraction(load)
    (row,) = latencies(warps, (independent,), cost, cycles)
    assert row.covered == (row.hidden_cycles >= load)
    for warp_count, covered in ((row.warps_needed, True), (row.warps_needed - 1, False)):
        assert latencies(warp_count, (independent,), cost, cycles)[0].covered is covered
    assert row.independent_needed is not None
    for i, covered in ((row.independent_needed, True), (row.independent_needed - 1, False)):
        assert (i * cycles * warps >= load) is covered
    # Twice the warps hide twice the cycles, and so do twice the instructions.
    (more_warps,) = latencies(2 * warps, (independent,), cost, cycles)
    (more_instructions,) = latencies(warps, (2 * independent,), cost, cycles)
    assert more_warps.hidden_cycles == more_instructions.hidden_cycles == 2 * row.hidden_cycles
    assert more_warps.covered == more_instructions.covered >= row.covered


@pytest.mark.parametrize(
    ("load", "cycles"), [("4.2", "1.4"), ("1.1", "0.1"), ("471.9", "0.3"), ("0.3", "0.1")]
)
def test_cycles_with_decimals_are_exact(load: str, cycles: str) -> None:
    """The load is hidden by `warps_needed` warps, and not by one fewer."""
    exact = Fraction(load) / Fraction(cycles)
    needed = -(-exact.numerator // exact.denominator)
    base = result_of_numbers("sm_80", 32, 16)
    for warps, covered in ((needed - 1, False), (needed, True)):
        result_with_answers = answered(
            base._replace(active_warps=warps),
            independent=(1,), load_cycles=Fraction(load), instruction_cycles=Fraction(cycles),
        )  # fmt: skip
        assert result_with_answers.latency is not None
        assert result_with_answers.latency[0].warps_needed == needed
        assert result_with_answers.latency[0].covered is covered


@pytest.mark.parametrize("option", ["--load-cycles", "--instruction-cycles"])
@pytest.mark.parametrize("value", ["nan", "inf", "0", "-1", "1e3"])
def test_cycles_must_be_a_positive_number(option: str, value: str) -> None:
    line = ["occupancy", "--arch", "sm_80", "--threads", "256", "--ilp", "1", option, value]
    completed = CliRunner().invoke(app, line)
    assert isinstance(completed.exception, SystemExit)
    assert completed.exit_code == 2


def test_load_cycles_must_be_given_if_none_are_published() -> None:
    known, unknown = find_architecture("sm_80"), find_architecture("sm_61")
    assert load_cycles(known)[0] > 0
    with pytest.raises(UsageError, match=r"sm_61.*--load-cycles"):
        load_cycles(unknown)
    with pytest.raises(UsageError, match="sm_61"):
        latency_sources([known, unknown], Questions(independent=(1,)))
    assert latency_sources([unknown], Questions(independent=(1,), load_cycles=Fraction(500))) == [
        "sm_61: cycles of a load: as given; "
        "of an instruction: 0.25 (32 / 128 float32 results per cycle and SM)"
    ]
    # Given cycles replace those of the table.
    result_with_answers = answered(
        result_of_numbers("sm_61", 1024, 32),
        independent=(1, 32),
        load_cycles=Fraction(500),
        instruction_cycles=Fraction(2),
    )
    assert result_with_answers.latency is not None
    assert [(row.load_cycles, row.hidden_cycles) for row in result_with_answers.latency] == [
        (500, 128),
        (500, 4096),
    ]
    assert [row.covered for row in result_with_answers.latency] == [False, True]


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
def test_every_point_of_a_curve_is_that_of_nvidias_calculation(
    header, name: str, threads: int, registers: int, shared: int, percent: int | None
) -> None:
    architecture = find_architecture(name)
    result = result_of_numbers(name, threads, registers, shared, percent)
    carveout = -1 if percent is None else percent
    curves = curves_through(architecture, result, percent)
    assert [curve.quantity.split()[0] for curve in curves] == ["threads", "registers", "shared"]
    for i, curve in enumerate(curves):
        point = [threads, registers, shared]
        lines = []
        for value in curve.values:
            point[i] = value
            lines.append(f"{point[0]} {point[1]} {point[2]} 0 1 {carveout} 0 1024")
        warps = [-(-(value if i == 0 else threads) // 32) for value in curve.values]
        blocks = [answer[0] for answer in header.ask(architecture, lines)]
        assert curve.active_warps == (np.array(blocks) * warps).tolist()
        assert curve.warps == architecture.warps and max(curve.active_warps) <= architecture.warps
        assert curve.present == ((threads, registers, shared)[i], result.active_warps)
        assert curve.values == sorted(set(curve.values))
    assert (curves[0].values[0], curves[0].values[-1]) == (1, architecture.threads_per_block)
    assert curves[1].values == list(range(1, architecture.registers_per_thread + 1))
    assert (curves[2].values[0], curves[2].values[-1]) == (0, architecture.shared_bytes_per_block)


def test_occupancy_between_two_points_is_that_of_the_next() -> None:
    """A curve omits most numbers of bytes and threads. They have the occupancy of the next point."""
    architecture = find_architecture("sm_90")
    result = result_of_numbers("sm_90", 192, 40, 20_000)
    threads, _, shared = curves_through(architecture, result, None)
    result_of_each_size = list(
        occupancy_of_numbers([architecture], Numbers(tuple(range(1, 1025)), (40,), (20_000,)), None)
    )
    assert [r.active_warps for r in result_of_each_size] == [
        threads.active_warps[-(-t // 32)] for t in range(1, 1025)
    ]
    neighbours = list(itertools.pairwise(shared.values))[:300]
    bytes_inside = tuple(byte for low, high in neighbours for byte in (low + 1, high))
    active_warps = [
        r.active_warps
        for r in occupancy_of_numbers([architecture], Numbers((192,), (40,), bytes_inside), None)
    ]
    assert active_warps[::2] == active_warps[1::2] == shared.active_warps[1 : len(neighbours) + 1]


def test_a_kernel_that_does_not_compile_has_no_curve() -> None:
    architecture = find_architecture("sm_80")
    sound, broken = (
        result_of_numbers("sm_80", 256, 32),
        result_of_numbers("sm_80", 1, 0)._replace(method="mine", reason="does not compile"),
    )
    assert [result for result, _ in curves_of_results([sound, broken, sound], [architecture], None)] == [
        sound,
        sound,
    ]
