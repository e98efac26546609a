"""The choice of `best`: parameters tuned on this machine, shipped tables, and the order of preference."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.errors import CudammError, UsageError
from cudamm.kernels.architecture import ARCHITECTURES, find_architecture
from cudamm.kernels.best_method import BEST
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.ladder import find, ladder, methods
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape, parse_shape
from cudamm.kernels.variant import Variant
from cudamm.tuning import known_best
from cudamm.tuning.best_choice import choose, resolve
from cudamm.tuning.place import Place, of_architecture, of_target, on_host
from cudamm.tuning.preference_order import PREFERENCES
from cudamm.tuning.tuned_store import Entry, Store, source_hash

FLOAT = ELEMENT_TYPES["float32"]
HOPPER = of_architecture(find_architecture("sm_90"))
H200 = dataclasses.replace(HOPPER, device="NVIDIA H200")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for tables, with an empty data folder beside it."""
    monkeypatch.setenv("CUDAMM_DATA", str(tmp_path / "data"))
    folder = tmp_path / "tables"
    folder.mkdir()
    monkeypatch.setattr(known_best, "TABLES", folder)
    return folder


def entry(method: str, edge: int | tuple[int, int, int], ms: float, **changes: Any) -> Entry:
    m, n, k = (edge, edge, edge) if isinstance(edge, int) else edge
    described = find(method)
    made = Entry(
        device="NVIDIA H200", arch="sm_90", method=method, source=source_hash(described), dtype="float32",
        m=m, n=n, k=k, params={parameter.name: parameter.default for parameter in described.parameters},
        median_ms=ms, cache="cold", confirmed=True, complete=True, tried=6, possible=6,
        date="2026-11-21T12:00:00+00:00",
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def store_entries(*entries: Entry) -> None:
    store = Store()
    for each in entries:
        store.put(each)


def write_table(
    folder: Path, *entries: Entry, name: str = "h200.json", gpu: str = "NVIDIA H200", **more: Any
) -> None:
    """Write the table that `tune --list --json` would write on a GPU with 132 multiprocessors."""
    records = []
    for each in entries:
        record = {**dataclasses.asdict(each), "is_current": True, "state": "", **more}
        del record["device"], record["kernel_fields"], record["version"]
        records.append(record)
    device = {"name": gpu, "multiprocessors": 132}
    document = {"schema": "cudamm.tuned/1", "device": device, "results": records}
    (folder / name).write_text(json.dumps(document))


def chosen(edge: int | tuple[int, int, int], place: Place = H200, dtype: str = "float32") -> tuple[str, str]:
    """Return the method that `best` chooses, and the reason for the choice."""
    m, n, k = (edge, edge, edge) if isinstance(edge, int) else edge
    variant = choose(place, Shape(m, n, k), ELEMENT_TYPES[dtype]).variant
    return variant.method.name, variant.chosen_by


# Tuned parameters.


def test_the_fastest_variant_tuned_at_the_shape_is_chosen() -> None:
    store_entries(entry("tiled", 1024, 0.3), entry("coalesced", 1024, 0.2, params={"BLOCK_SIZE": 16}))
    choice = choose(H200, Shape(1024, 1024, 1024), FLOAT)
    assert str(choice.variant) == "coalesced BLOCK_SIZE=16"
    assert choice.variant.chosen_by == "tuned" and choice.why == "tuned here on 2026-11-21"


def test_an_entry_of_the_exact_shape_precedes_a_faster_one_nearby() -> None:
    store_entries(entry("tiled", 1024, 0.3), entry("coalesced", 1100, 0.01))
    assert chosen(1024) == ("tiled", "tuned")
    # Between the two shapes the higher rate decides, not the distance.
    assert chosen(1030) == ("coalesced", "tuned")
    assert "tuned here at 1100x1100x1100" in choose(H200, Shape(1030, 1030, 1030), FLOAT).why


@pytest.mark.parametrize(
    ("shape", "is_near"),
    [
        (512, True), (2048, True), (500, False), (2100, False), ((1024, 1024, 500), False),
        ((600, 2000, 1024), True),
    ],
)  # fmt: skip
def test_a_shape_is_near_up_to_a_factor_of_two_in_each_dimension(shape: Any, is_near: bool) -> None:
    store_entries(entry("naive", 1024, 0.3))
    assert (chosen(shape)[1] == "tuned") == is_near


def test_of_two_entries_of_a_method_the_nearest_is_chosen() -> None:
    near = entry("tiled", 1024, 0.3, params={"BLOCK_SIZE": 16})
    store_entries(near, entry("tiled", 1900, 0.3, params={"BLOCK_SIZE": 8}))
    assert choose(H200, Shape(1100, 1100, 1100), FLOAT).variant.params == {"BLOCK_SIZE": 16}


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
def test_entries_of_other_gpus_types_and_sources_are_ignored(changes: dict[str, Any]) -> None:
    store_entries(dataclasses.replace(entry("tiled", 1024, 0.001), **changes))
    assert chosen(1024)[1] == "preference"


def test_cold_and_hot_times_are_not_compared() -> None:
    store_entries(entry("naive", 1024, 0.3), entry("tiled", 1024, 0.1, cache="hot"))
    assert chosen(1024) == ("naive", "tuned")
    Store().forget(lambda e: e.cache == "cold")
    assert chosen(1024) == ("tiled", "tuned")


def test_the_source_hash_depends_on_code_and_not_on_comments(
    write_kernel: Callable[..., Path],
) -> None:
    source = find("tiled").source
    plain = read_method(write_kernel(source, "a.cu"))
    commented = read_method(
        write_kernel(source.replace("__syncthreads();", "__syncthreads();  /* x */"), "b.cu")
    )
    changed = read_method(write_kernel(source.replace("sum = 0", "sum = 1"), "c.cu"))
    assert source_hash(plain) == source_hash(commented) != source_hash(changed)


def test_the_source_hash_depends_on_included_files(write_kernel: Callable[..., Path]) -> None:
    kernel = write_kernel('#include "edge.h"\n__global__ void k(float *C) {}\n')
    hashes = []
    for edge in ("#define EDGE 1\n", "#define EDGE 2\n", "#define EDGE 1  // one\n"):
        write_kernel(edge, "edge.h")
        hashes.append(source_hash(read_method(kernel, Overrides({"threads": "1", "grid": "1"}))))
    assert hashes[0] == hashes[2] != hashes[1]


def test_the_source_hash_depends_on_the_way_of_launching(write_kernel: Callable[..., Path]) -> None:
    kernel = "// threads: 1\n// grid: 1\n{}\n\n__global__ void own(float *A, float *B, float *C) {{}}\n"
    hashes = [
        source_hash(read_method(write_kernel(kernel.format(field))))
        for field in ("// needs: sm_90", "// needs: sm_90\n// dependent-launch: yes")
    ]
    assert hashes[0] != hashes[1]


def test_the_source_hash_depends_on_the_constants_of_the_header(write_kernel: Callable[..., Path]) -> None:
    source = find("tiled-dynamic").source
    one = read_method(write_kernel(source, "a.cu"))
    other = read_method(write_kernel(source.replace("block_edge = BLOCK", "block_edge = 1 * BLOCK"), "b.cu"))
    assert source_hash(one) != source_hash(other)


def test_a_store_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "tuned.json").write_text('{"schema": "cudamm.tuned/2", "entries": {}}')
    with pytest.raises(UsageError, match="another version of cudamm"):
        chosen(1024)


# Tables.


def test_a_table_of_this_gpu_precedes_the_order_of_preference(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3))
    choice = choose(H200, Shape(1024, 1024, 1024), FLOAT)
    assert choice.variant.chosen_by == "table" and choice.variant.method.name == "naive"
    assert choice.why == "measured on NVIDIA H200 on 2026-11-21"
    assert chosen(1024, dtype="float64")[1] == "preference"


def test_a_gpu_uses_its_own_table_or_else_that_of_a_similar_gpu(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3))
    assert H200.architecture.multiprocessors == 132
    another = dataclasses.replace(H200, device="NVIDIA H100 80GB HBM3")
    assert chosen(1024, another) == ("naive", "table")
    assert choose(another, Shape(1024, 1024, 1024), FLOAT).why == "measured on NVIDIA H200 on 2026-11-21"
    smaller = dataclasses.replace(another.architecture, multiprocessors=114)
    assert chosen(1024, dataclasses.replace(another, architecture=smaller))[1] == "preference"
    assert chosen(1024, dataclasses.replace(another, arch="sm_80"))[1] == "preference"
    # The table's rates are another GPU's, so a tuned entry is chosen even if it is slower.
    store_entries(entry("coalesced", 1024, 0.9, device=another.device))
    assert chosen(1024, another) == ("coalesced", "tuned")
    Store().path.unlink()
    write_table(tables, entry("tiled", 1024, 0.5), name="h100.json", gpu="NVIDIA H100 80GB HBM3")
    known_best._rows.cache_clear()
    assert chosen(1024, another) == ("tiled", "table")
    assert chosen(1024, H200) == ("naive", "table")


def test_an_architecture_without_a_gpu_uses_the_table_of_a_gpu_that_has_it(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3))
    assert chosen(1024, HOPPER) == ("naive", "table")
    assert chosen(1024, of_architecture(find_architecture("sm_80")))[1] == "preference"


def test_methods_are_compared_at_a_size_at_which_both_were_measured(tables: Path) -> None:
    """Rates grow with the size, so `coalesced` at 1536 is compared with `tiled` at 1536 and not at 1000."""
    write_table(tables, entry("tiled", 1000, 0.4), entry("tiled", 1536, 0.9), entry("coalesced", 1536, 1.0))
    assert chosen(900) == ("tiled", "table")
    # Without a common size each method is represented by its own nearest size.
    write_table(tables, entry("tiled", 1000, 0.4), entry("coalesced", 1536, 1.0))
    known_best._rows.cache_clear()
    assert chosen(900) == ("coalesced", "table")


def test_a_tuned_entry_precedes_a_table_that_is_farther_or_slower(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3))
    store_entries(entry("tiled", 1024, 0.2))
    assert chosen(1024) == ("tiled", "tuned")
    write_table(tables, entry("naive", 1024, 0.1), name="another.json")
    known_best._rows.cache_clear()
    assert chosen(1024) == ("naive", "table")
    # At a shape that is not in the table, the tuned entry is chosen.
    store_entries(entry("tiled", 1000, 0.2))
    assert chosen(1000) == ("tiled", "tuned")


def test_a_larger_shape_of_similar_proportions_uses_the_tables_choice(tables: Path) -> None:
    write_table(tables, entry("naive", 4096, 3.0))
    assert chosen(16384) == ("naive", "table")
    assert chosen((8192, 16384, 16384)) == ("naive", "table")
    for smaller_or_longer in (1024, (65536, 4096, 4096), (64, 64, 65536)):
        assert chosen(smaller_or_longer)[1] == "preference"


def test_an_entry_of_a_changed_method_is_used_with_a_remark(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3, source="0123456789abcdef"))
    choice = choose(H200, Shape(1024, 1024, 1024), FLOAT)
    assert choice.variant.chosen_by == "table" and choice.why.endswith("; the method has changed since")
    (row,) = known_best.rows()
    assert not row.is_current
    known_best._rows.cache_clear()
    now = source_hash(find("naive"))
    write_table(tables, entry("naive", 1024, 0.3, source="0123456789abcdef"), accepted_source=now)
    assert "changed" not in choose(H200, Shape(1024, 1024, 1024), FLOAT).why


def test_an_entry_with_parameters_that_no_longer_exist_is_ignored(tables: Path) -> None:
    write_table(tables, entry("naive", 1024, 0.3, params={"EDGE": 32}))
    assert chosen(1024)[1] == "preference"


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
def test_a_damaged_table_is_reported_with_its_name_and_the_reason(tables: Path, text: str, why: str) -> None:
    (tables / "bad.json").write_text(text)
    with pytest.raises(CudammError, match=rf"the table .*bad\.json is damaged: .*{re.escape(why)}"):
        chosen(1024)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kernel": "/home/somebody/my.cu"}, "a user's own kernel"),
        ({"median_ms": 0.0}, "a median of 0"),
        ({"method": "tilted"}, "unknown method tilted"),
        ({"m": -1}, "the entry of naive: `m`: expected `int` >= 1"),
    ],
)
def test_an_entry_that_is_not_allowed_in_a_table_is_reported(
    tables: Path, changes: dict[str, Any], why: str
) -> None:
    write_table(tables, dataclasses.replace(entry("naive", 1024, 0.3), **changes))
    with pytest.raises(CudammError, match=why):
        chosen(1024)


def test_the_shipped_tables_were_measured_with_the_current_methods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Stale entries have to be measured again or accepted (docs/tuning.md describes both)."""
    monkeypatch.setattr(known_best, "TABLES", ROOT / "cudamm" / "tuning" / "tables")
    shipped = known_best.rows()
    assert len(shipped) >= 15
    stale = {row.entry.method for row in shipped if not row.is_current}
    assert not stale, f"measured before a change of their sources: {', '.join(sorted(stale))}"
    for row in shipped:
        stored = row.entry
        place = dataclasses.replace(of_architecture(find_architecture(stored.arch)), device=stored.device)
        choice = choose(place, Shape(stored.m, stored.n, stored.k), ELEMENT_TYPES[stored.dtype])
        assert choice.variant.chosen_by == "table"


# The order of preference.

SHAPES = (
    "1x1x1", "1x4096x4096", "4096x1x17", "33x65x129", "64x64x65536", "9999x77x3", "8192x64x8192",
    "512x512x512", "2048x2048x2048", "8192x8192x8192", "10000000x1x1", "1x10000000x1",
)  # fmt: skip


def preferred_at(text: str, place: Place = HOPPER, dtype: str = "float32") -> Variant:
    """Return the variant that the order of preference chooses."""
    m, n, k = map(int, text.split("x"))
    variant = choose(place, Shape(m, n, k), ELEMENT_TYPES[dtype]).variant
    assert variant.chosen_by == "preference"
    return variant


@pytest.mark.sampled(6)
@pytest.mark.parametrize("arch", [name for name in ARCHITECTURES if int(name[3:]) >= 50])
@pytest.mark.parametrize("dtype", list(ELEMENT_TYPES))
def test_every_preferred_variant_can_be_launched(arch: str, dtype: str) -> None:
    place, element = of_architecture(find_architecture(arch)), ELEMENT_TYPES[dtype]
    for text in SHAPES:
        # Tensor cores before sm_80 have no tf32. The one method for it has too small a grid for so many rows.
        if dtype == "tf32" and (int(arch[3:]) < 80 or text == "10000000x1x1"):
            with pytest.raises(
                UsageError, match=f"no kernel of the ladder can compute {text} tf32 on {arch}"
            ):
                preferred_at(text, place, dtype)
            continue
        variant = preferred_at(text, place, dtype)
        method, values = variant.method, variant.params
        launch = plan(variant, Shape(*map(int, text.split("x"))), element)
        check(variant, launch, place.limits)
        assert method in ladder() and method.is_kernel and dtype in method.element_types
        assert not method.unsupported_reason(arch)
        for parameter in method.parameters:
            assert values[parameter.name] in parameter.values
        # Neither dynamic shared memory nor the tiles that the source declares may exceed the limit per block.
        tiles = (int(values.get("BM", 32)) + int(values.get("BN", 32))) * int(values.get("BK", 32))
        shared_bytes = launch.shared_bytes or tiles * element.size_bytes
        assert shared_bytes <= place.architecture.shared_bytes_per_block
        # Before sm_80 cp.async is emulated, and before sm_70 cuda_pipeline.h does not compile.
        if "cuda_pipeline.h" in method.source:
            assert place.architecture.capability >= (8, 0)


def test_the_order_follows_the_rates_measured_on_an_h200() -> None:
    """At no shape of the H200's table is another method of the table more than 1.4 times as fast."""
    table = json.loads((ROOT / "cudamm" / "tuning" / "tables" / "nvidia_h200.json").read_text())["results"]
    medians_ms: dict[str, dict[str, float]] = {}
    for row in table:
        medians_ms.setdefault("{m}x{n}x{k}".format(**row), {})[row["method"]] = row["median_ms"]
    chosen_at = {text: preferred_at(text).method.name for text in medians_ms}
    assert {name for text, name in chosen_at.items() if min(map(int, text.split("x"))) >= 768} == {"bf16x9"}
    for text, medians in medians_ms.items():
        assert medians[chosen_at[text]] <= 1.4 * min(medians.values()), text


@pytest.mark.parametrize(
    ("arch", "dtype", "text", "method"),
    [
        ("sm_90", "float32", "4096x4096x4096", "bf16x9"),
        ("sm_90", "float32", "512x512x512", "stream-k"),
        ("sm_90", "float32", "64x64x65536", "stream-k"),
        ("sm_90", "bfloat16", "4096x4096x4096", "dependent-launch"),
        ("sm_90", "bfloat16", "8192x64x8192", "full-waves"),
        ("sm_90", "bfloat16", "512x512x512", "tensor-stream-k"),
        ("sm_90", "float64", "4096x4096x4096", "dmma-specialized"),
        ("sm_90", "float64", "1024x1024x1024", "dmma-specialized"),
        ("sm_90", "float64", "512x512x512", "dmma-pipelined"),
        ("sm_86", "float64", "4096x4096x4096", "warp-tile"),
        ("sm_120", "float64", "4096x4096x4096", "tma"),
        ("sm_90", "float16", "64x64x65536", "tensor-split-k"),
        ("sm_90", "float16", "17x31x13", "mma"),
        ("sm_100", "bfloat16", "4096x4096x4096", "mma"),
        ("sm_80", "float16", "1024x1024x1024", "mma"),
        ("sm_75", "float16", "4096x4096x4096", "warp-tile"),
        ("sm_100", "float32", "4096x4096x4096", "async-copy"),
        ("sm_100", "int32", "4096x4096x4096", "tma"),
        ("sm_80", "float32", "4096x4096x4096", "async-copy"),
        ("sm_80", "float32", "1024x1024x1024", "sliced-k"),
        ("sm_80", "float64", "4096x4096x4096", "dmma-pipelined"),
        ("sm_80", "float64", "1x1x1", "tiled"),
        ("sm_75", "float32", "4096x4096x4096", "warp-tile"),
        ("sm_75", "float32", "256x256x256", "tile-1d"),
        ("sm_75", "float32", "8x8x8", "tiled"),
        ("sm_35", "float32", "4096x4096x4096", "tile-1d"),
        ("sm_35", "float32", "10000000x1x1", "naive"),
    ],
)
def test_the_first_method_whose_condition_holds_is_chosen(
    arch: str, dtype: str, text: str, method: str
) -> None:
    assert preferred_at(text, of_architecture(find_architecture(arch)), dtype).method.name == method


@pytest.mark.parametrize(
    ("text", "tile"),
    [
        ("1024x1024x1024", (128, 64)),  # 128 tiles on 132 multiprocessors
        ("1536x1536x1536", (144, 128)),  # 132
        ("5120x5120x5120", (224, 128)),  # 920 of 924
        ("256x8192x1024", (128, 128)),  # 128
        ("8192x64x8192", (64, 64)),  # 128
    ],
)
def test_the_height_of_a_tile_fills_the_waves(text: str, tile: tuple[int, int]) -> None:
    variant = preferred_at(text, HOPPER, "bfloat16")
    assert variant.method.name == "full-waves"
    assert (variant.params["BM"], variant.params["BN"]) == tile


@pytest.mark.parametrize(
    ("edge", "params"),
    [
        (2048, {"BN": 256, "STAGES": 4, "STRIP": 4}),  # 128 tiles, one wave
        (3072, {"BN": 192, "STAGES": 4, "STRIP": 8}),  # 384 of 396 in three waves
        (8192, {"BN": 256, "STAGES": 3, "STRIP": 16}),
    ],
)
def test_large_tiles_are_preferred_where_they_fill_the_waves(edge: int, params: dict[str, int]) -> None:
    variant = preferred_at(f"{edge}x{edge}x{edge}", HOPPER, "bfloat16")
    assert variant.method.name == "dependent-launch" and params.items() <= variant.params.items()


@pytest.mark.parametrize(
    ("text", "method"), [("4096x4095x4096", "aligned-copy"), ("4095x4096x4096", "dependent-launch")]
)
def test_rows_that_begin_anywhere_are_not_padded(text: str, method: str) -> None:
    """N and K are the lengths of rows, and M is not."""
    variant, shape = preferred_at(text, HOPPER, "bfloat16"), parse_shape(text)
    assert variant.method.name == method
    assert plan(variant, shape, ELEMENT_TYPES["bfloat16"]).shape == shape


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("2304x64x1024", "tensor-split-k"),  # 36 tiles of 64 x 64 on 132 multiprocessors
        ("2305x64x1024", "tensor-stream-k"),
        ("2304x64x1016", "tensor-stream-k"),
    ],
)
def test_few_tiles_with_a_long_k_are_cut_for_clusters(text: str, method: str) -> None:
    assert preferred_at(text, HOPPER, "bfloat16").method.name == method


def test_blocks_share_loads_in_one_wave_if_rows_begin_within_lines() -> None:
    clusters = [preferred_at(f"{n}x{n}x{n}", HOPPER, "bfloat16").params["CLUSTER"] for n in (1000, 1024)]
    assert clusters == [2, 1]


def test_a_gpu_with_fewer_multiprocessors_gets_another_height() -> None:
    few = dataclasses.replace(HOPPER.architecture, multiprocessors=114)
    assert preferred_at("1536x1536x1536", of_architecture(few), "bfloat16").params["BM"] == 192  # 96 tiles


def test_the_order_of_preference_is_documented() -> None:
    text = (ROOT / "docs" / "tuning.md").read_text()
    rows = [
        [cell.strip() for cell in row.split("|")[2:-1]] for row in re.findall(r"^ +\| \d+ \|.*$", text, re.M)
    ]
    stated = []
    for preference in PREFERENCES:
        method, since = find(preference.method), "sm_{}{}".format(*preference.since)
        missing = [name for name in ELEMENT_TYPES if name not in method.element_types]
        few = f"all but {' and '.join(missing)}"
        types = few if len(missing) < 3 else ", ".join(method.element_types)
        needs = method.needs or (since if preference.since > (1, 0) else "")
        if preference.only and needs != "sm_90a":
            needs = " or ".join("sm_{}{}".format(*capability) for capability in preference.only)
        tile = "{} x {}".format(*preference.tile)
        stated.append([f"`{method.name}`", tile, types, needs, str(preference.narrowest)])
    assert [[*row[:4], row[5]] for row in rows] == stated


def test_a_variant_that_cannot_be_launched_is_skipped_for_the_next() -> None:
    few = dataclasses.replace(HOPPER.limits, shared_bytes_per_block=32 * 1024, threads_per_block=256)
    assert preferred_at("4096x4096x4096", dataclasses.replace(HOPPER, limits=few)).method.name == "warp-tile"


def test_large_products_get_larger_tiles_than_small_ones() -> None:
    def tile(edge: int, arch: str) -> int:
        shape, place = Shape(edge, edge, edge), of_architecture(find_architecture(arch))
        return shape.m * shape.n // plan(choose(place, shape, FLOAT).variant, shape, FLOAT).blocks

    for arch in ("sm_75", "sm_80", "sm_90"):
        assert tile(64, arch) < tile(1024, arch) <= tile(8192, arch)
        assert tile(8192, arch) >= 128 * 128


def test_a_smaller_gpu_gets_larger_tiles_for_the_same_product() -> None:
    """Fewer blocks fill fewer multiprocessors."""

    def blocks(sms: int) -> int:
        few = dataclasses.replace(find_architecture("sm_80"), multiprocessors=sms)
        shape = Shape(512, 512, 512)
        return plan(choose(of_architecture(few), shape, FLOAT).variant, shape, FLOAT).blocks

    assert blocks(8) < blocks(108)


@pytest.mark.parametrize(("sms", "blocks"), [(132, 132), (114, 114), (120, 114), (40, 66), (200, 132)])
def test_a_grid_of_free_size_has_at_most_one_block_per_sm_if_possible(sms: int, blocks: int) -> None:
    gpu = dataclasses.replace(HOPPER.architecture, multiprocessors=sms)
    assert preferred_at("8192x8192x8192", of_architecture(gpu)).params["BLOCKS"] == blocks


def test_the_remark_contains_the_order_and_the_condition() -> None:
    why = choose(of_architecture(find_architecture("sm_80")), Shape(4096, 4096, 4096), FLOAT).why
    assert why == (
        "not measured on sm_80 (A100, 108 SMs); preference order: cp.async, a tile of 128 x 128 for each "
        "multiprocessor"
    )


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize(("arch", "dtype"), [("sm_80", "float32"), ("sm_90", "float64")])
def test_a_preferred_variant_compiles_to_registers_that_fit(arch: str, dtype: str) -> None:
    from cudamm.occupancy.kernel_occupancy import occupancy_of_kernels

    architecture = find_architecture(arch)
    problem = Problem(Shape(2048, 2048, 2048), ELEMENT_TYPES[dtype], 0)
    (case,), _ = resolve([(Variant(BEST, ()), problem)], of_architecture(architecture))
    (result,) = occupancy_of_kernels([architecture], [case], True, None, lambda doing, done, total: None)
    assert result.reason == "" and result.active_blocks >= 1
    assert result.chosen_by == "preference" and result.record()["chosen_by"] == "preference"
    assert result.resources is not None and result.resources.spill_store_bytes == 0


# The name `best`.


def test_best_is_a_known_name_and_not_a_method_of_the_ladder() -> None:
    assert find("best") is BEST is find("BEST")
    assert BEST not in methods()
    with pytest.raises(UsageError, match="did you mean best"):
        find("bets")


def test_best_is_resolved_for_each_problem_and_other_variants_stay(cpu: Any) -> None:
    tiled = Variant(find("tiled"), (("BLOCK_SIZE", 16),))
    problems = [Problem(Shape(edge, edge, edge), FLOAT, 0) for edge in (16, 4096)]
    requests = [(variant, problem) for problem in problems for variant in (Variant(BEST, ()), tiled)]
    cases, lines = resolve(requests, of_target(cpu))
    assert [problem for _, problem in cases] == [problem for _, problem in requests]
    assert cases[1][0] is cases[3][0] is tiled and tiled.chosen_by == ""
    small, large = cases[0][0], cases[2][0]
    assert small.chosen_by == large.chosen_by == "preference" and small != large
    assert len(lines) == 2 and all("a small GPU, 16 SMs" in line and "not measured" in line for line in lines)
    assert lines[1].startswith(f"best at 4096x4096x4096 float32: {large}, ")
    assert resolve(requests[1:2], of_target(cpu)) == (requests[1:2], [])


def test_the_cpu_device_chooses_only_methods_that_it_can_execute(cpu: Any) -> None:
    place = on_host(cpu, "sm_90")
    assert place.architecture.name == "sm_90" and place.limits.arch == cpu.limits.arch
    for edge in (64, 1024, 4096):
        needs = choose(place, Shape(edge, edge, edge), FLOAT).variant.method.needs
        assert not needs or int(needs[3:]) <= int(cpu.limits.arch[3:])
    with pytest.raises(UsageError, match="unknown architecture"):
        on_host(cpu, "sm_1")


def test_best_is_refused_if_no_kernel_can_be_launched() -> None:
    none = dataclasses.replace(HOPPER, limits=dataclasses.replace(HOPPER.limits, threads_per_block=0))
    with pytest.raises(UsageError, match=r"no kernel of the ladder can compute 8x8x8 float32 on sm_90"):
        choose(none, Shape(8, 8, 8), FLOAT)


def test_every_architecture_has_a_preferred_variant() -> None:
    for architecture in ARCHITECTURES.values():
        variant = choose(of_architecture(architecture), Shape(512, 512, 512), FLOAT).variant
        assert variant.chosen_by == "preference"
