"""The published figures are consistent: printed means with runs, printed rates with times."""

from __future__ import annotations

import pytest

from cudamm.courses import published_figures as published
from cudamm.kernels.ladder import find


@pytest.mark.parametrize("figure", published.TSINGHUA_FIGURES, ids=lambda f: f"{f.method}-{f.params}")
def test_a_printed_mean_is_the_mean_of_the_runs(figure):
    assert len(figure.runs_ms) == 5
    assert figure.mean_ms == pytest.approx(sum(figure.runs_ms) / 5)
    assert figure.mean_ms == pytest.approx(figure.time_ms, rel=2e-3)  # the report prints three or four digits


@pytest.mark.parametrize("figure", published.CMU_FIGURES, ids=lambda f: f"{f.method}-{f.n}")
def test_a_printed_rate_is_computed_from_the_time(figure):
    # The slides round times and rates to two or three digits.
    assert figure.gflops == pytest.approx(2 * figure.n**3 / figure.time_ms / 1e6, rel=0.03)
    assert figure.mean_ms == figure.time_ms


def test_every_published_method_and_parameter_exists_in_the_ladder():
    for figure in published.FIGURES:
        method = find(figure.method)
        assert set(figure.params) <= {parameter.name for parameter in method.parameters}, figure
        assert figure.source in published.SOURCES
    assert len(published.FIGURES) == 12 + 14
    # The courses' names find the same methods.
    for figure in published.CMU_FIGURES:
        assert find(figure.label).name == figure.method


def test_published_sweeps_are_found_by_method_and_parameter():
    tiles = published.swept("register-tile", "TILE_SIZE")
    assert [figure.params["TILE_SIZE"] for figure in tiles] == [1, 2, 4, 8, 16, 32, 64]
    assert min(tiles, key=lambda figure: figure.mean_ms).params == {"TILE_SIZE": 4}
    blocks = {f.params["BLOCK_SIZE"]: f.mean_ms for f in published.swept("tiled", "BLOCK_SIZE")}
    assert blocks[1] > 20 * blocks[8] and blocks[32] == pytest.approx(blocks[8], rel=0.02)
    assert published.swept("tiled", "TILE_SIZE") == () == published.swept("naive", "BLOCK_SIZE")


def test_the_numbers_of_the_lectures_are_consistent():
    for registers, blocks in published.SJTU_BLOCKS_BY_REGISTERS_PER_THREAD.items():
        block_registers = published.SJTU_REGISTERS_PER_BLOCK_BY_REGISTERS_PER_THREAD[registers]
        assert block_registers == registers * published.SJTU_THREADS_PER_BLOCK
        assert blocks == published.SJTU_REGISTERS_PER_SM // block_registers
    for latency in published.SJTU_LATENCIES:
        hidden = published.SJTU_INSTRUCTION_CYCLES * latency.independent_instructions * latency.warps
        assert latency.hidden_cycles == hidden
        assert latency.covered == (hidden >= published.SJTU_LOAD_CYCLES)
    bound = published.PMPP_BANDWIDTH_GBYTES_PER_S * published.PMPP_TILED_FLOP_PER_BYTE
    assert bound == pytest.approx(published.PMPP_TILED_BOUND_GFLOPS, rel=1e-3)
    assert bound / published.PMPP_PEAK_GFLOPS == pytest.approx(published.PMPP_TILED_BOUND_OF_PEAK, abs=0.005)
    bytes_per_thread = published.PMPP_SHARED_BYTES_PER_SM / published.PMPP_THREADS_PER_SM
    assert int(bytes_per_thread) == published.PMPP_SHARED_BYTES_PER_THREAD_AT_MOST
