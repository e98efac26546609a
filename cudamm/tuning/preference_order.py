"""Order of preference for `best` without a measurement: the first variant that suits and can be launched.

The order is that of the rates measured on an H200 (docs/measured.md and tables/nvidia_h200.json): those of
bfloat16 for the 16-bit types, those of float32 for int32, and their own for the other types. In float64 the
methods on tensor cores come first, on GPUs whose tensor cores have twice the rate of other units.
A large tile is fast only if there are enough tiles for the multiprocessors and if C fills the tile. So each
preference states the minimum number of tiles and the minimum width of the product, and smaller tiles follow
larger ones. Some preferences have several tiles, and take the one that fills whole waves best.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from cudamm.errors import UsageError
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning.place import Place

_LINE_ELEMENTS = 64
"""Number of 16-bit elements in 128 bytes."""


@dataclass(frozen=True)
class Tile:
    """A tile among which a preference chooses.

    Attributes:
        rows, columns: its size.
        parameters: the values that belong to it.
        rate: rate with whole waves of such tiles, as a share of that of the fastest ones.
    """

    rows: int
    columns: int
    parameters: dict[str, int]
    rate: float = 1.0

    def count(self, shape: Shape) -> int:
        """Return the number of tiles of a product."""
        return -(-shape.m // self.rows) * -(-shape.n // self.columns)

    def filled(self, shape: Shape, blocks: int) -> float:
        """Return the share of the room in whole waves, of so many blocks each, that C fills."""
        waves = -(-self.count(shape) // blocks)
        return shape.m * shape.n / (waves * blocks * self.rows * self.columns)


@dataclass(frozen=True)
class Preference:
    """A variant of the ladder, and the products for which it is preferred to later ones in the list.

    Attributes:
        method: name of the method.
        parameters: values of all parameters except BLOCKS.
        tile: rows and columns of C that a block computes.
        why: the conditions below, in words.
        tiles: minimum number of tiles for each multiprocessor.
        k_step: length of the pieces along K that a tile is cut into and that count as tiles; 0: tiles are not
            cut.
        narrowest: minimum of M and of N; half a tile, plus one.
        widest: maximum of the smaller one of M and N; 0: there is none.
        most_tiles: maximum number of tiles for each multiprocessor; 0: there is none.
        shortest_k: minimum of K.
        unless_multiples_of: a product is excluded if N and K are multiples of this number; 0: none is.
        choices: tiles, the best of which `fitted` chooses for a product.
        fill: minimum share of the room in whole waves of the chosen tile that C fills.
        in_one_wave: values that replace others if the tiles are no more than the blocks of a wave, and rows
            begin at multiples of the 128 bytes that the copy engine reads at a time. (If they do not, blocks
            that share what they load are faster even then: 220 TFLOP/s at 1000 instead of 187.)
        since: oldest compute capability; the method's header may require a newer one.
        only: compute capabilities, if others are excluded.
        blocks: maximum BLOCKS for each multiprocessor if the grid does not grow with C; 0: the grid grows
            with C.
    """

    method: str
    parameters: dict[str, int]
    tile: tuple[int, int]
    why: str
    tiles: float = 0.0
    k_step: int = 0
    narrowest: int = 1
    since: tuple[int, int] = (1, 0)
    only: tuple[tuple[int, int], ...] = ()
    blocks: int = 0
    widest: int = 0
    most_tiles: float = 0.0
    shortest_k: int = 1
    unless_multiples_of: int = 0
    choices: tuple[Tile, ...] = ()
    fill: float = 0.0
    in_one_wave: Mapping[str, int] = field(default_factory=dict)

    def fitted(self, shape: Shape, architecture: Architecture) -> Preference | None:
        """Return the preference with its best tile for a product; None if C fills less than `fill`.

        A preference without `choices` is returned as it is.
        """
        if not self.choices:
            return self
        blocks = self._blocks(architecture)
        best = max(self.choices, key=lambda tile: tile.filled(shape, blocks) * tile.rate)
        if best.filled(shape, blocks) < self.fill:
            return None
        is_aligned = math.gcd(shape.n, shape.k) % _LINE_ELEMENTS == 0
        in_one_wave = self.in_one_wave if best.count(shape) <= blocks and is_aligned else {}
        parameters = {**self.parameters, **best.parameters, **in_one_wave}
        return dataclasses.replace(self, tile=(best.rows, best.columns), parameters=parameters, choices=())

    def _blocks(self, architecture: Architecture) -> int:
        """Return the largest declared BLOCKS that the multiprocessors hold, else the smallest."""
        declared = next(p for p in find(self.method).parameters if p.name == "BLOCKS").values
        numbers = sorted(int(value) for value in declared)
        limit = self.blocks * architecture.multiprocessors
        return max((number for number in numbers if number <= limit), default=numbers[0])

    def suits(self, shape: Shape, architecture: Architecture) -> bool:
        """Return whether the architecture is one of those meant, and the product large enough."""
        tiles = Tile(*self.tile, {}).count(shape)
        if self.k_step:
            tiles *= -(-shape.k // self.k_step)
        return (
            architecture.capability >= self.since
            and (not self.only or architecture.capability in self.only)
            and min(shape.m, shape.n) >= self.narrowest
            and (not self.widest or min(shape.m, shape.n) <= self.widest)
            and shape.k >= self.shortest_k
            and (not self.most_tiles or tiles <= self.most_tiles * architecture.multiprocessors)
            and not (self.unless_multiples_of and math.gcd(shape.n, shape.k) % self.unless_multiples_of == 0)
            and tiles >= self.tiles * architecture.multiprocessors
        )

    def variant(self, architecture: Architecture) -> Variant:
        """Return the variant; its BLOCKS is the largest declared value that the multiprocessors hold."""
        method = find(self.method)
        values = dict(self.parameters)
        if any(parameter.name == "BLOCKS" for parameter in method.parameters):
            values["BLOCKS"] = self._blocks(architecture)
        return Variant(
            method, tuple((parameter.name, values[parameter.name]) for parameter in method.parameters)
        )


def _share_of_shared_memory_rate(rows: int) -> float:
    """Return the rate of `full-waves` with tiles of rows x 128, as a share of that with 256 x 128.

    For 64 values of k the tensor cores take 4 cycles a row. Shared memory takes in a tile of A, of 128
    bytes a row, and 16 KB of B; either warpgroup reads the tile of A and its half of B's. It moves 128 bytes
    a cycle.
    """
    return min(1.0, 4 * rows / ((3 * 128 * rows + 2 * 16384) / 128))


AMPERE, MAXWELL = (8, 0), (5, 0)
"""Oldest compute capabilities with cp.async, and with 255 registers for each thread on every GPU."""

DOUBLE_TENSOR_CORES = ((8, 0), (9, 0))
"""Compute capabilities whose tensor cores multiply float64 at twice the rate of the other units (A100, H100).

Others have none, or a few that are as slow as their units for float64.
"""

_LARGE_SUMS = {"BM": 128, "BN": 128, "BK": 8, "WM": 32, "WN": 128, "TM": 8, "TN": 16, "STAGES": 4}
_SPLIT = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "SPLITS": 2, "STAGES": 4}
_CUT = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "TM": 4, "TN": 8, "STAGES": 4}
_TENSOR_MAPS = {"BM": 128, "BN": 128, "BK": 8, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "STAGES": 4}
_WARP_TILE = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 32, "TM": 8, "TN": 8}
_SMALL_WARP_TILE = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "TM": 4, "TN": 8}
_TF32 = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 64, "STAGES": 4, "ROUND": 1}
_SMALL_TF32 = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "STAGES": 4, "ROUND": 1}
_DOUBLE = {"BM": 128, "BN": 128, "BK": 16, "WM": 32, "WN": 64, "STAGES": 4}
_FLAT_DOUBLE = {"BM": 64, "BN": 128, "BK": 16, "WM": 32, "WN": 32, "STAGES": 4}
_SMALL_DOUBLE = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "STAGES": 4}
# The rates are ratios of rates measured at sizes whose waves the tiles fill. Those of the heights 128 and 192
# in tf32, and of 64 columns in float8, are estimates.
_TF32_HEIGHTS = (
    Tile(256, 128, {"BM": 256, "STAGES": 4}),
    Tile(192, 128, {"BM": 192, "STAGES": 4}, 0.9),
    Tile(128, 128, {"BM": 128, "STAGES": 5}, 0.75),
    Tile(64, 128, {"BM": 64, "STAGES": 4}, 0.5),
)
_FLOAT8_TILES = (
    Tile(128, 256, {"BN": 256, "STAGES": 3, "STRIP": 8}),
    Tile(128, 192, {"BN": 192, "STAGES": 4, "STRIP": 16}),
    Tile(128, 128, {"BN": 128, "STAGES": 4, "STRIP": 16}, 0.92),
    Tile(128, 64, {"BN": 64, "STAGES": 5, "STRIP": 16}, 0.6),
)
_DOUBLE_TILES = (
    Tile(128, 128, {"BM": 128, "BN": 128, "WM": 32, "WN": 64, "STAGES": 5}),
    Tile(112, 128, {"BM": 112, "BN": 128, "WM": 56, "WN": 32, "STAGES": 5}),
    Tile(96, 192, {"BM": 96, "BN": 192, "WM": 48, "WN": 48, "STAGES": 5}),
    Tile(64, 128, {"BM": 64, "BN": 128, "WM": 32, "WN": 32, "STAGES": 6}, 0.93),
)

_HEIGHTS = tuple(
    Tile(
        rows, 128, {"BM": rows, "BN": 128, "STAGES": stages, "STORE_ROWS": stored},
        _share_of_shared_memory_rate(rows),
    )
    for rows, stages, stored in (
        (256, 4, 64), (224, 4, 32), (192, 4, 96), (160, 5, 32), (144, 4, 48), (128, 4, 64), (96, 6, 96),
        (64, 6, 64),
    )
)  # fmt: skip
# TFLOP/s at 1024: 338, and 313 with tiles of 64 x 128, which are as many.
_TALL_TILE = Tile(128, 64, {"BM": 128, "BN": 64, "STAGES": 6, "STORE_ROWS": 32}, 0.61)
_FEW_COLUMNS = {"BM": 64, "BN": 64, "STAGES": 10, "STORE_ROWS": 32, "CLUSTER": 1, "STRIP": 8}

_WIDE_TILES = (
    Tile(128, 256, {"BN": 256, "STAGES": 3, "STRIP": 16}),
    Tile(128, 192, {"BN": 192, "STAGES": 4, "STRIP": 8}, 0.98),
)
_WIDE_TILE = {"BN": 256, "STAGES": 3, "STRIP": 16}
_SQUARE_TILE = {"BN": 128, "STAGES": 5, "STRIP": 16}
_NARROW_TILE = {"BN": 64, "STAGES": 5, "STRIP": 16}
_FRAGMENTS = {"BM": 128, "BN": 128, "BK": 64, "WM": 64, "WN": 64, "STAGES": 3}
_FEW_FRAGMENTS = {"BM": 64, "BN": 64, "BK": 64, "WM": 32, "WN": 32, "STAGES": 3}

PREFERENCES = (
    # The other methods with tensor cores for 16-bit types need matrices that the host has padded.
    Preference(
        "aligned-copy", {"STAGES": 4, "STRIP": 8}, (128, 256), "wgmma, rows that begin anywhere",
        narrowest=33, blocks=1, unless_multiples_of=8,
        choices=(Tile(128, 256, {"BN": 256}), Tile(128, 128, {"BN": 128}, 0.92)),
    ),
    # Methods for 16-bit types only. TFLOP/s in bfloat16: 801 at 8192 (full-waves: 787), 758 at 3072.
    Preference(
        "dependent-launch", {}, (128, 256), "wgmma, large tiles that fill whole waves",
        narrowest=65, blocks=1, choices=_WIDE_TILES, fill=0.95, in_one_wave={"STAGES": 4, "STRIP": 4},
    ),
    # TFLOP/s in bfloat16: 585 at 1536 (tensor-stream-k: 445), 787 at 5120 (tensor-stream-k: 761).
    Preference(
        "full-waves", {"CLUSTER": 2, "STRIP": 16}, (256, 128),
        "wgmma, tiles that fill whole waves",
        narrowest=33, blocks=1, choices=(*_HEIGHTS, _TALL_TILE), fill=0.75,
        in_one_wave={"CLUSTER": 1, "STRIP": 4},
    ),
    # TFLOP/s at 8192x64x8192: 228 (tensor-stream-k: 195).
    Preference(
        "full-waves", {}, (64, 64), "wgmma, tiles of 64 x 64 that fill whole waves",
        narrowest=33, blocks=1, choices=(Tile(64, 64, _FEW_COLUMNS),), fill=0.75, widest=64,
    ),
    # TFLOP/s in bfloat16: 71 at 64x64x65536 (tensor-stream-k: 32), 59 at 384x384x2048 (52), but 114 at
    # 384x512x4096 (119), and 6.8 at 256x256x256 (7.5).
    Preference(
        "tensor-split-k", {"CLUSTERS": 8, "STAGES": 7}, (64, 64),
        "wgmma, few tiles, cut along K for clusters of blocks",
        narrowest=33, most_tiles=0.28, shortest_k=1024,
    ),
    Preference(
        "tensor-stream-k", _WIDE_TILE, (128, 256), "wgmma, tiles of 128 x 256 for most multiprocessors",
        tiles=0.9, narrowest=65, blocks=1,
    ),
    Preference(
        "tensor-stream-k", _SQUARE_TILE, (128, 128), "wgmma, tiles of 128 x 128 for most multiprocessors",
        tiles=0.9, narrowest=65, blocks=1,
    ),
    Preference(
        "tensor-stream-k", _NARROW_TILE, (128, 64), "wgmma, few tiles, cut along K",
        narrowest=33, blocks=1,
    ),
    # TFLOP/s in bfloat16: 303 at 4096.
    Preference(
        "mma", _FRAGMENTS, (128, 128), "tensor cores, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65,
    ),
    Preference("mma", _FEW_FRAGMENTS, (64, 64), "tensor cores, tiles of 64 x 64", narrowest=17),
    # Methods for float8_e4m3 only. TFLOP/s: 1367 at 4096, and 1430 at 8192 with 192 columns.
    Preference(
        "float8", {}, (128, 256), "wgmma, tiles of a width that fills whole waves",
        narrowest=33, blocks=1, choices=_FLOAT8_TILES,
    ),
    # Methods for float32 only. TFLOP/s of bf16x9 on an H200, by its table: 78 at 4096, and 31 at 768 with 36
    # tiles (sliced-k: 24). Others are faster at 512 with 16 tiles, 12 (stream-k: 17), and at 8192x64x8192, 35
    # (sliced-k: 45).
    Preference(
        "bf16x9", {"STAGES": 2}, (128, 128),
        "tensor cores, tiles of 128 x 128 for a fifth of the multiprocessors",
        tiles=0.2, narrowest=65, blocks=1,
    ),
    # TFLOP/s: 53 at 4096. stream-k reaches 54 with the BLOCKS for 132 multiprocessors, which few GPUs have.
    Preference(
        "async-copy", _LARGE_SUMS, (128, 128), "cp.async, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65, since=AMPERE,
    ),
    # TFLOP/s: 43 at 1024 with 256 tiles, and 45 at 8192x64x8192 with 128.
    Preference(
        "sliced-k", _SPLIT, (64, 64), "cp.async, tiles of 64 x 64 for half of the multiprocessors",
        tiles=0.5, narrowest=33, since=AMPERE,
    ),
    # TFLOP/s: 17 at 64x64x65536 (bf16x9: 10), and 17 at 512.
    Preference(
        "stream-k", _CUT, (64, 64), "cp.async, few tiles of 64 x 64, cut along K for all multiprocessors",
        tiles=1, k_step=16, since=AMPERE, blocks=2,
    ),
    # TFLOP/s in tf32: 384 at 4096, and 178 at 1024 with 64 rows.
    Preference(
        "register-operand", {"STRIP": 4}, (256, 128), "wgmma, tiles of a height that fills whole waves",
        narrowest=65, blocks=1, choices=_TF32_HEIGHTS,
    ),
    # TFLOP/s in tf32: 105 at 4096.
    Preference(
        "mma-tf32", _TF32, (128, 128), "tensor cores, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65,
    ),
    Preference("mma-tf32", _SMALL_TF32, (64, 64), "tensor cores, tiles of 64 x 64"),
    # Methods for float64 only. TFLOP/s: 54 at 1024 (dmma: 21), 59 at 1536, 62 at 3072, 61 at 4096 (dmma: 42).
    Preference(
        "dmma-specialized", {"DEPTH": 16, "STRIP": 8}, (128, 128),
        "tensor cores, tiles that fill whole waves",
        narrowest=33, only=DOUBLE_TENSOR_CORES, blocks=1, choices=_DOUBLE_TILES, fill=0.6,
    ),
    Preference(
        "dmma-pipelined", _DOUBLE, (128, 128), "tensor cores, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65, only=DOUBLE_TENSOR_CORES,
    ),
    Preference(
        "dmma-pipelined", _FLAT_DOUBLE, (64, 128),
        "tensor cores, tiles of 64 x 128 for half of the multiprocessors",
        tiles=0.5, narrowest=65, only=DOUBLE_TENSOR_CORES,
    ),
    Preference(
        "dmma-pipelined", _SMALL_DOUBLE, (64, 64),
        "tensor cores, tiles of 64 x 64 for a quarter of the multiprocessors",
        tiles=0.25, narrowest=33, only=DOUBLE_TENSOR_CORES,
    ),
    # Methods for several element types. TFLOP/s: 52 at 4096 in float32.
    Preference(
        "tma", _TENSOR_MAPS, (128, 128), "bulk copies, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65,
    ),
    # TFLOP/s: 26 at 4096 in float32.
    Preference(
        "warp-tile", _WARP_TILE, (128, 128), "a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65, since=MAXWELL,
    ),
    # The rest follows a plain rule: smaller products need smaller tiles.
    Preference(
        "warp-tile", _SMALL_WARP_TILE, (64, 64), "tiles of 64 x 64 for half of the multiprocessors",
        tiles=0.5, narrowest=33, since=MAXWELL,
    ),
    Preference(
        "tile-1d", {"BM": 32, "BN": 32, "BK": 8, "TM": 4}, (32, 32),
        "a tile of 32 x 32 for each multiprocessor", tiles=1, narrowest=17,
    ),
    Preference(
        "tiled", {"BLOCK_SIZE": 16}, (16, 16), "a tile of 16 x 16 for each multiprocessor",
        tiles=1, narrowest=9,
    ),
    Preference("tiled", {"BLOCK_SIZE": 8}, (8, 8), "a small or narrow product"),
    # The grid of naive has M in x, whose limit is 2^31 - 1 blocks; the other grids have M in y.
    Preference("naive", {"BLOCK_SIZE": 8}, (8, 8), "more rows than the grids of the other methods allow"),
)  # fmt: skip
"""Preferences in the order in which they are tried, the fastest first."""


def preferred(place: Place, shape: Shape, element: ElementType) -> tuple[Variant, str] | None:
    """Return the first variant that suits the product and can be launched, and why it suits.

    Returns:
        None if there is no such variant.
    """
    for preference in PREFERENCES:
        element_types = find(preference.method).element_types
        if element.name not in element_types:
            continue
        fitted = preference.fitted(shape, place.architecture)
        if fitted is None or not fitted.suits(shape, place.architecture):
            continue
        variant = fitted.variant(place.architecture)
        try:
            check(variant, plan(variant, shape, element), place.limits)
        except UsageError:
            continue
        return variant, fitted.why
    return None
