"""What `best` stands for: what was tuned here, what a table says, what the model computes."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.errors import CudammError, UsageError
from cudamm.kernels.architecture import ARCHITECTURES, find_architecture
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder, methods
from cudamm.kernels.launch import plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning import known_best, model, store
from cudamm.tuning.best_choice import choose, resolve
from cudamm.tuning.place import Place, of_architecture, of_target, on_host
from cudamm.tuning.store import Entry, Store

FLOAT = ELEMENT_TYPES["float32"]
HOPPER = of_architecture(find_architecture("sm_90"))
HERE = dataclasses.replace(HOPPER, device="NVIDIA H200")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of tables, and an empty data folder."""
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path / "data"))
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr(known_best, "TABLES", folder)
    return folder


def entry(method: str, edge: int | tuple[int, int, int], ms: float, **changes: Any) -> Entry:
    m, n, k = (edge, edge, edge) if isinstance(edge, int) else edge
    of = find(method)
    made = Entry(
        device="NVIDIA H200", arch="sm_90", method=method, source=store.source_hash(of), dtype="float32",
        m=m, n=n, k=k, params={parameter.name: parameter.default for parameter in of.parameters},
        median_ms=ms, cache="cold", confirmed=True, complete=True, tried=6, possible=6,
        date="2026-11-21T12:00:00+00:00",
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def keep(*entries: Entry) -> None:
    store = Store()
    for each in entries:
        store.put(each)


def ship(
    folder: Path, *entries: Entry, name: str = "h200.json", gpu: str = "NVIDIA H200", **more: Any
) -> None:
    """Write the table that `tune --list --json` would, of a GPU with 132 multiprocessors."""
    records = []
    for each in entries:
        record = {**dataclasses.asdict(each), "is_current": True, "state": "", **more}
        del record["device"], record["kernel_fields"], record["version"]
        records.append(record)
    device = {"name": gpu, "multiprocessors": 132}
    document = {"schema": "cudamm.tuned/1", "device": device, "results": records}
    (folder / name).write_text(json.dumps(document))


def chosen(edge: int | tuple[int, int, int], place: Place = HERE, dtype: str = "float32") -> tuple[str, str]:
    """The method, and what it was chosen by."""
    m, n, k = (edge, edge, edge) if isinstance(edge, int) else edge
    variant = choose(place, Shape(m, n, k), ELEMENT_TYPES[dtype]).variant
    return variant.method.name, variant.chosen_by


# What was tuned here.


def test_the_fastest_of_what_was_tuned_at_the_shape() -> None:
    keep(entry("tiled", 1024, 0.3), entry("coalesced", 1024, 0.2, params={"BLOCK_SIZE": 16}))
    choice = choose(HERE, Shape(1024, 1024, 1024), FLOAT)
    assert str(choice.variant) == "coalesced BLOCK_SIZE=16"
    assert choice.variant.chosen_by == "tuned" and choice.why == "tuned here on 2026-11-21"


def test_the_exact_shape_goes_before_a_faster_one_nearby() -> None:
    keep(entry("tiled", 1024, 0.3), entry("coalesced", 1100, 0.01))
    assert chosen(1024) == ("tiled", "tuned")
    # Between the two the rate there decides, and not which is nearer.
    assert chosen(1030) == ("coalesced", "tuned")
    assert "tuned here at 1100x1100x1100" in choose(HERE, Shape(1030, 1030, 1030), FLOAT).why


@pytest.mark.parametrize(
    ("shape", "is_near"),
    [
        (512, True), (2048, True), (500, False), (2100, False), ((1024, 1024, 500), False),
        ((600, 2000, 1024), True),
    ],
)  # fmt: skip
def test_near_is_a_factor_of_two_in_each_direction(shape: Any, is_near: bool) -> None:
    keep(entry("naive", 1024, 0.3))
    assert (chosen(shape)[1] == "tuned") == is_near


def test_of_one_method_the_nearest_counts() -> None:
    near = entry("tiled", 1024, 0.3, params={"BLOCK_SIZE": 16})
    keep(near, entry("tiled", 1900, 0.3, params={"BLOCK_SIZE": 8}))
    assert choose(HERE, Shape(1100, 1100, 1100), FLOAT).variant.params == {"BLOCK_SIZE": 16}


@pytest.mark.parametrize(
    "changes",
    [
        {"device": "Another"},
        {"arch": "sm_80"},
        {"dtype": "float64"},
        {"source": "0123456789abcdef"},
        {"params": {"BLOCK_SIZE": 2048}},
        {"params": {"EDGE": 8}},
        {"method": "tilted"},
        {"method": "numpy", "params": {}},
        {"kernel": "/home/somebody/tiled.cu"},
        {"median_ms": 0.0},
    ],
)
def test_what_is_of_something_else_or_cannot_be_launched_is_passed_over(changes: dict[str, Any]) -> None:
    keep(dataclasses.replace(entry("tiled", 1024, 0.001), **changes))
    assert chosen(1024)[1] == "model"


def test_times_from_a_cold_and_from_a_warm_cache_are_not_compared() -> None:
    keep(entry("naive", 1024, 0.3), entry("tiled", 1024, 0.1, cache="hot"))
    assert chosen(1024) == ("naive", "tuned")
    Store().forget(lambda e: e.cache == "cold")
    assert chosen(1024) == ("tiled", "tuned")


def test_a_changed_comment_changes_no_source_and_changed_code_does(
    write_kernel: Callable[..., Path],
) -> None:
    source = find("tiled").source
    plain = read_method(write_kernel(source, "a.cu"))
    commented = read_method(
        write_kernel(source.replace("__syncthreads();", "__syncthreads();  /* x */"), "b.cu")
    )
    changed = read_method(write_kernel(source.replace("sum = 0", "sum = 1"), "c.cu"))
    assert store.source_hash(plain) == store.source_hash(commented) != store.source_hash(changed)


def test_a_constant_belongs_to_how_it_is_launched(write_kernel: Callable[..., Path]) -> None:
    source = find("tiled-dynamic").source
    one = read_method(write_kernel(source, "a.cu"))
    other = read_method(write_kernel(source.replace("block_edge = BLOCK", "block_edge = 1 * BLOCK"), "b.cu"))
    assert store.source_hash(one) != store.source_hash(other)


def test_a_file_of_another_version_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tuned.json").write_text('{"schema": "cudamm.tuned/2", "entries": {}}')
    with pytest.raises(UsageError, match="another version of cudamm"):
        chosen(1024)


# Tables.


def test_a_table_of_this_gpu_goes_before_the_model(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3))
    choice = choose(HERE, Shape(1024, 1024, 1024), FLOAT)
    assert choice.variant.chosen_by == "table" and choice.variant.method.name == "naive"
    assert choice.why == "measured on NVIDIA H200 on 2026-11-21"
    assert chosen(1024, dtype="float64")[1] == "model"


def test_a_gpu_takes_the_table_of_one_that_is_like_it_unless_it_has_its_own(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3))
    assert HERE.architecture.multiprocessors == 132
    another = dataclasses.replace(HERE, device="NVIDIA H100 80GB HBM3")
    assert chosen(1024, another) == ("naive", "table")
    assert choose(another, Shape(1024, 1024, 1024), FLOAT).why == "measured on NVIDIA H200 on 2026-11-21"
    smaller = dataclasses.replace(another.architecture, multiprocessors=114)
    assert chosen(1024, dataclasses.replace(another, architecture=smaller))[1] == "model"
    assert chosen(1024, dataclasses.replace(another, arch="sm_80"))[1] == "model"
    # Its rates are another GPU's: they say nothing against what was tuned here, however slow.
    keep(entry("coalesced", 1024, 0.9, device=another.device))
    assert chosen(1024, another) == ("coalesced", "tuned")
    Store().path.unlink()
    ship(tables, entry("tiled", 1024, 0.5), name="h100.json", gpu="NVIDIA H100 80GB HBM3")
    known_best._rows.cache_clear()
    assert chosen(1024, another) == ("tiled", "table")
    assert chosen(1024, HERE) == ("naive", "table")


def test_an_architecture_without_a_gpu_takes_the_table_of_one_that_has_it(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3))
    assert chosen(1024, HOPPER) == ("naive", "table")
    assert chosen(1024, of_architecture(find_architecture("sm_80")))[1] == "model"


def test_methods_are_compared_where_both_were_measured(tables: Path) -> None:
    """Larger sizes make higher rates: that of `coalesced` at 1536 says nothing against `tiled` at 1000."""
    ship(tables, entry("tiled", 1000, 0.4), entry("tiled", 1536, 0.9), entry("coalesced", 1536, 1.0))
    assert chosen(900) == ("tiled", "table")
    # Where only one of them was measured, what there is of the other is its own size's.
    ship(tables, entry("tiled", 1000, 0.4), entry("coalesced", 1536, 1.0))
    known_best._rows.cache_clear()
    assert chosen(900) == ("coalesced", "table")


def test_what_was_tuned_here_goes_before_a_table_unless_that_is_as_near_and_faster(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3))
    keep(entry("tiled", 1024, 0.2))
    assert chosen(1024) == ("tiled", "tuned")
    ship(tables, entry("naive", 1024, 0.1), name="another.json")
    known_best._rows.cache_clear()
    assert chosen(1024) == ("naive", "table")
    # At another shape than the table's the one that was tuned there counts.
    keep(entry("tiled", 1000, 0.2))
    assert chosen(1000) == ("tiled", "tuned")


def test_a_larger_shape_of_the_same_proportions_takes_the_tables_choice(tables: Path) -> None:
    ship(tables, entry("naive", 4096, 3.0))
    assert chosen(16384) == ("naive", "table")
    assert chosen((8192, 16384, 16384)) == ("naive", "table")
    for smaller_or_longer in (1024, (65536, 4096, 4096), (64, 64, 65536)):
        assert chosen(smaller_or_longer)[1] == "model"


def test_a_method_that_has_changed_is_used_and_said_to_have(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3, source="0123456789abcdef"))
    choice = choose(HERE, Shape(1024, 1024, 1024), FLOAT)
    assert choice.variant.chosen_by == "table" and choice.why.endswith("; the method has changed since")
    (row,) = known_best.rows()
    assert not row.is_current
    known_best._rows.cache_clear()
    now = store.source_hash(find("naive"))
    ship(tables, entry("naive", 1024, 0.3, source="0123456789abcdef"), accepted_source=now)
    assert "changed" not in choose(HERE, Shape(1024, 1024, 1024), FLOAT).why


def test_an_entry_whose_parameters_are_none_any_more_is_passed_over(tables: Path) -> None:
    ship(tables, entry("naive", 1024, 0.3, params={"EDGE": 32}))
    assert chosen(1024)[1] == "model"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"),
        ("[]", "expected `object`, got `array`"),
        ('{"schema": 1}', "its schema is not cudamm.tuned/1"),
        ('{"schema": "cudamm.tuned/2"}', "its schema is not cudamm.tuned/1"),
        ('{"schema": "cudamm.tuned/1", "results": []}', "missing required field `device`"),
        (
            '{"schema": "cudamm.tuned/1", "device": {"name": "x"}, "results": [3]}',
            "`results[0]`: expected `object`",
        ),
        (
            '{"schema": "cudamm.tuned/1", "device": {"name": "x"}, "results": [{"method": "naive"}]}',
            "the entry of naive: missing required field",
        ),
    ],
)
def test_a_damaged_table_is_named(tables: Path, text: str, why: str) -> None:
    (tables / "bad.json").write_text(text)
    with pytest.raises(CudammError, match=rf"the table .*bad\.json is damaged: .*{re.escape(why)}"):
        chosen(1024)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kernel": "/home/somebody/my.cu"}, "somebody's own kernel"),
        ({"median_ms": 0.0}, "a median of 0"),
        ({"method": "tilted"}, "unknown method tilted"),
        ({"m": -1}, "the entry of naive: `m`: expected `int` >= 1"),
    ],
)
def test_an_entry_that_no_table_may_have_is_named(tables: Path, changes: dict[str, Any], why: str) -> None:
    ship(tables, dataclasses.replace(entry("naive", 1024, 0.3), **changes))
    with pytest.raises(CudammError, match=why):
        chosen(1024)


def test_the_tables_that_come_with_cudamm_are_of_the_methods_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stale ones are to be measured again, or accepted (docs/tuning.md says how)."""
    monkeypatch.setattr(known_best, "TABLES", ROOT / "cudamm" / "tuning" / "tables")
    shipped = known_best.rows()
    assert len(shipped) >= 15
    stale = {row.entry.method for row in shipped if not row.is_current}
    assert not stale, f"measured before a change of their sources: {', '.join(sorted(stale))}"
    for row in shipped:
        of = row.entry
        place = dataclasses.replace(of_architecture(find_architecture(of.arch)), device=of.device)
        assert choose(place, Shape(of.m, of.n, of.k), ELEMENT_TYPES[of.dtype]).variant.chosen_by == "table"


# The model.


def gpu_rows() -> list[dict[str, Any]]:
    """What docs/measured.md was made of, of kernels that the model knows."""
    rows = json.loads((ROOT / "docs" / "pictures" / "h200.json").read_text())["results"]
    left_out = ("block-coarse", "block-coarse-local")  # as many results a thread as no register file holds
    return [row for row in rows if row["execution"] == "gpu" and row["method"] not in left_out]


def estimated_ms(row: dict[str, Any]) -> float:
    variant = Variant(find(row["method"]), tuple(row["params"].items()))
    work = model.work_of(variant, HOPPER.architecture, HOPPER.limits, FLOAT)
    assert work is not None
    shape = Shape(row["m"], row["n"], row["k"])
    cycles, _ = model.estimate(HOPPER.architecture, (work,), shape, FLOAT)
    return float(cycles[0]) / 1.98e6  # an H200's clock: 1980 MHz


def test_the_model_is_within_a_factor_of_two_of_an_h200() -> None:
    rows = gpu_rows()
    assert len(rows) >= 8
    off = {row["method"]: estimated_ms(row) / row["median_ms"] for row in rows}
    # docs/measured.md, “Tiles in registers”: GFLOP/s at n = 4096, with the default parameters.
    for method, gflops in (("tile-2d", 21461), ("vectorized", 25020), ("warp-tile", 25923)):
        params = {parameter.name: parameter.default for parameter in find(method).parameters}
        row = {"method": method, "params": params, "m": 4096, "n": 4096, "k": 4096}
        off[method] = estimated_ms(row) / (2 * 4096**3 / gflops / 1e6)
    assert all(0.5 < ratio < 2 for ratio in off.values()), off


def test_the_model_puts_the_rungs_in_their_order() -> None:
    def rate(method: str, **values: int) -> float:
        of = find(method)
        variant = Variant(of, tuple((p.name, values.get(p.name, p.default)) for p in of.parameters))
        work = model.work_of(variant, HOPPER.architecture, HOPPER.limits, FLOAT)
        assert work is not None
        return 1 / float(model.estimate(HOPPER.architecture, (work,), Shape(4096, 4096, 4096), FLOAT)[0][0])

    rungs = ["naive", "coalesced", "tiled", "tiled-coarse", "tile-1d", "tile-2d", "vectorized", "warp-tile"]
    rates = [rate(name) for name in rungs]
    assert rates == sorted(rates)
    assert rate("tiled", BLOCK_SIZE=4) < rate("tiled", BLOCK_SIZE=8) < rate("tiled", BLOCK_SIZE=32)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_90", "sm_120"])
@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_every_choice_can_be_launched(arch: str, dtype: str) -> None:
    place = of_architecture(find_architecture(arch))
    element = ELEMENT_TYPES[dtype]
    for text in (
        "1x1x1",
        "1x4096x4096",
        "4096x1x17",
        "33x65x129",
        "64x64x65536",
        "2048x2048x2048",
        "9999x77x3",
    ):
        m, n, k = map(int, text.split("x"))
        variant = choose(place, Shape(m, n, k), element).variant
        launch = plan(variant, Shape(m, n, k), element)
        assert launch.threads_per_block <= 1024
        assert launch.shared_bytes <= place.architecture.shared_bytes_per_block
        assert variant.method in ladder() and variant.method.is_kernel
        needs = variant.method.needs
        assert not needs or int(needs[3:]) <= int(arch[3:])


def test_large_products_get_large_tiles_and_small_ones_small() -> None:
    def tile(edge: int) -> int:
        shape = Shape(edge, edge, edge)
        return shape.m * shape.n // plan(choose(HOPPER, shape, FLOAT).variant, shape, FLOAT).blocks

    assert tile(64) < tile(1024) < tile(8192)
    assert tile(8192) >= 128 * 128


def test_a_smaller_gpu_gets_larger_tiles_for_the_same_product() -> None:
    """Fewer multiprocessors are filled by fewer blocks."""

    def blocks(sms: int) -> int:
        few = dataclasses.replace(HOPPER.architecture, multiprocessors=sms)
        shape = Shape(512, 512, 512)
        return plan(choose(of_architecture(few), shape, FLOAT).variant, shape, FLOAT).blocks

    assert blocks(8) < blocks(132)


SPLIT = """\
// K is cut.
//
// param:   BM = 64
// param:   BN = 64
// param:   BK = 16
// param:   TM = 8
// param:   TN = 4
// param:   SPLITS = 1 in 1, 4, 16
// threads: BM / TM * (BN / TN)
// grid:    ceil(N / BN), ceil(M / BM), SPLITS
struct alignas(16) Wide { element at[4]; };
__global__ void split(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ Wide tile[64];
}
"""


def test_a_long_k_is_cut_where_there_are_few_tiles(write_kernel: Callable[..., Path]) -> None:
    method = read_method(write_kernel(SPLIT))

    def cycles(splits: int, m: int, n: int, k: int) -> float:
        values = tuple((p.name, splits if p.name == "SPLITS" else p.default) for p in method.parameters)
        work = model.work_of(Variant(method, values), HOPPER.architecture, HOPPER.limits, FLOAT)
        assert work is not None and work.splits == splits and (work.rows, work.columns) == (64, 64)
        return float(model.estimate(HOPPER.architecture, (work,), Shape(m, n, k), FLOAT)[0][0])

    assert cycles(16, 64, 64, 65536) < cycles(4, 64, 64, 65536) < cycles(1, 64, 64, 65536)
    assert cycles(1, 8192, 8192, 512) < cycles(16, 8192, 8192, 512)


PERSISTENT = """\
// As many blocks as are asked for, whatever the size.
//
// param:   BM = 64
// param:   BN = 64
// param:   BK = 16
// param:   BLOCKS = 132
// threads: 256
// grid:    BLOCKS
__global__ void persistent(int M, int N, int K, const element *A, const element *B, element *C) {
    __shared__ element tile[64];
}
"""


def test_blocks_that_share_all_tiles_among_them_leave_no_tail(write_kernel: Callable[..., Path]) -> None:
    method = read_method(write_kernel(PERSISTENT))

    def cycles(blocks: int, edge: int) -> float:
        values = (("BM", 64), ("BN", 64), ("BK", 16), ("BLOCKS", blocks))
        work = model.work_of(Variant(method, values), HOPPER.architecture, HOPPER.limits, FLOAT)
        assert work is not None and work.fixed_blocks == blocks
        return float(model.estimate(HOPPER.architecture, (work,), Shape(edge, edge, edge), FLOAT)[0][0])

    assert cycles(132, 2048) < cycles(66, 2048)
    assert cycles(132, 2048) < cycles(133, 2048)  # one block more is a wave more


def test_what_does_not_fit_is_no_candidate() -> None:
    def work(method: str, dtype: str = "float32", **values: int) -> model.Work | None:
        of = find(method)
        variant = Variant(of, tuple((p.name, values.get(p.name, p.default)) for p in of.parameters))
        return model.work_of(variant, HOPPER.architecture, HOPPER.limits, ELEMENT_TYPES[dtype])

    assert work("register-tile", TILE_SIZE=8) is not None
    assert work("register-tile", TILE_SIZE=32) is None  # more results than registers
    assert work("tiled", BLOCK_SIZE=33) is None  # more threads than a block may have
    large = {"BM": 256, "BN": 256, "BK": 16, "WM": 64, "WN": 64, "TM": 8, "TN": 16}
    assert work("warp-tile", **{**large, "TN": 8}) is None  # its own conditions
    assert work("warp-tile", dtype="float64", BM=256, BN=256) is None  # 64 KB of static shared memory


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize(("arch", "dtype"), [("sm_80", "float32"), ("sm_90", "float64")])
def test_nvcc_gives_a_choice_no_more_registers_than_fit(arch: str, dtype: str) -> None:
    from cudamm.occupancy.kernel_occupancy import of_kernels

    architecture = find_architecture(arch)
    problem = Problem(Shape(2048, 2048, 2048), ELEMENT_TYPES[dtype], 0)
    (case,), _ = resolve([(Variant(BEST, ()), problem)], of_architecture(architecture))
    (result,) = of_kernels([architecture], [case], True, None, lambda doing, done, total: None)
    assert result.reason == "" and result.active_blocks >= 1
    assert result.chosen_by == "model" and result.record()["chosen_by"] == "model"
    assert result.resources is not None and result.resources.spill_store_bytes == 0


# The name, and where it stands.


def test_the_name_is_known_and_stands_beside_the_ladder() -> None:
    assert find("best") is BEST is find("BEST")
    assert BEST not in methods()
    with pytest.raises(UsageError, match="did you mean best"):
        find("bets")


def test_each_problem_gets_its_own_choice_and_others_stay(cpu: Any) -> None:
    tiled = Variant(find("tiled"), (("BLOCK_SIZE", 16),))
    problems = [Problem(Shape(edge, edge, edge), FLOAT, 0) for edge in (16, 4096)]
    asked = [(variant, problem) for problem in problems for variant in (Variant(BEST, ()), tiled)]
    cases, lines = resolve(asked, of_target(cpu))
    assert [problem for _, problem in cases] == [problem for _, problem in asked]
    assert cases[1][0] is cases[3][0] is tiled and tiled.chosen_by == ""
    small, large = cases[0][0], cases[2][0]
    assert small.chosen_by == large.chosen_by == "model" and small != large
    assert len(lines) == 2 and all("a small GPU, 16 SMs" in line and "not measured" in line for line in lines)
    assert lines[1].startswith(f"best at 4096x4096x4096 float32: {large}, ")
    assert resolve(asked[1:2], of_target(cpu)) == (asked[1:2], [])


def test_what_the_processor_executes_needs_nothing_that_it_does_not_know(cpu: Any) -> None:
    place = on_host(cpu, "sm_90")
    assert place.architecture.name == "sm_90" and place.limits.arch == cpu.limits.arch
    for edge in (64, 1024, 4096):
        needs = choose(place, Shape(edge, edge, edge), FLOAT).variant.method.needs
        assert not needs or int(needs[3:]) <= int(cpu.limits.arch[3:])
    with pytest.raises(UsageError, match="unknown architecture"):
        on_host(cpu, "sm_1")


def test_where_no_kernel_can_be_launched_it_says_so() -> None:
    none = dataclasses.replace(HOPPER, limits=dataclasses.replace(HOPPER.limits, threads_per_block=0))
    with pytest.raises(UsageError, match=r"no kernel of the ladder can compute 8x8x8 float32 on sm_90"):
        choose(none, Shape(8, 8, 8), FLOAT)


def test_every_architecture_has_a_choice() -> None:
    for architecture in ARCHITECTURES.values():
        variant = choose(of_architecture(architecture), Shape(512, 512, 512), FLOAT).variant
        assert variant.chosen_by == "model"
    assert math.isfinite(next(model.ranked(HOPPER, Shape(64, 64, 64), FLOAT))[1])
