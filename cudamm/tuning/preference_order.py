"""Which variant `best` takes if nobody measured: the first of an ordered list that suits and can be launched.

The order is that of the float32 rates measured on an H200 (docs/measured.md and tables/nvidia_h200.json). The
other element types have the same order, without the methods that exist for float32 only. A large tile is fast
only if there are enough tiles for the multiprocessors, and if C fills the tile. So each preference states how
many tiles it needs and how wide a product, and smaller tiles follow larger ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from cudamm.errors import UsageError
from cudamm.kernels.architecture import Architecture
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import check, plan
from cudamm.kernels.method import ElementType
from cudamm.kernels.problem import Shape
from cudamm.kernels.variant import Variant
from cudamm.tuning.place import Place


@dataclass(frozen=True)
class Preference:
    """A variant of the ladder, and the products for which it is preferred to those further down.

    Attributes:
        method: its name.
        parameters: all but BLOCKS.
        tile: rows and columns of C that a block computes.
        why: the conditions below, in words.
        tiles: minimum number of tiles, for each multiprocessor.
        k_step: length of the pieces along K that a tile is cut into, which count as tiles; 0: it is not cut.
        narrowest: minimum of M and of N: half a tile, and one.
        since: oldest compute capability; the method's header may need a newer one.
        blocks: of a grid that does not grow with C, for each multiprocessor; 0: the grid grows with C.
    """

    method: str
    parameters: dict[str, int]
    tile: tuple[int, int]
    why: str
    tiles: float = 0.0
    k_step: int = 0
    narrowest: int = 1
    since: tuple[int, int] = (1, 0)
    blocks: int = 0

    def suits(self, shape: Shape, architecture: Architecture) -> bool:
        """Return whether the architecture is new enough, and the product large enough."""
        rows, columns = self.tile
        tiles = -(-shape.m // rows) * -(-shape.n // columns)
        if self.k_step:
            tiles *= -(-shape.k // self.k_step)
        return (
            architecture.capability >= self.since
            and min(shape.m, shape.n) >= self.narrowest
            and tiles >= self.tiles * architecture.multiprocessors
        )

    def variant(self, architecture: Architecture) -> Variant:
        """Return the variant, with as many of the declared BLOCKS as the multiprocessors hold."""
        method = find(self.method)
        values = dict(self.parameters)
        for parameter in method.parameters:
            if parameter.name == "BLOCKS":
                most = self.blocks * architecture.multiprocessors
                declared = sorted(int(value) for value in parameter.values)
                values["BLOCKS"] = max((b for b in declared if b <= most), default=declared[0])
        return Variant(
            method, tuple((parameter.name, values[parameter.name]) for parameter in method.parameters)
        )


AMPERE, MAXWELL = (8, 0), (5, 0)
"""The first compute capability with cp.async, and the first of which every GPU has 255 registers a thread."""

_LARGE_SUMS = {"BM": 128, "BN": 128, "BK": 8, "WM": 32, "WN": 128, "TM": 8, "TN": 16, "STAGES": 4}
_SPLIT = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "SPLITS": 2, "STAGES": 4}
_CUT = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "TM": 4, "TN": 8, "STAGES": 4}
_TENSOR_MAPS = {"BM": 128, "BN": 128, "BK": 8, "WM": 32, "WN": 64, "TM": 8, "TN": 8, "STAGES": 4}
_WARP_TILE = {"BM": 128, "BN": 128, "BK": 16, "WM": 64, "WN": 32, "TM": 8, "TN": 8}
_SMALL_WARP_TILE = {"BM": 64, "BN": 64, "BK": 16, "WM": 32, "WN": 32, "TM": 4, "TN": 8}

PREFERENCES = (
    # float32 only. TFLOP/s on an H200, by its table: 78 at 4096; 31 at 768, 36 tiles, where split-k has 24;
    # 12 at 512, 16 tiles, where stream-k has 17; 35 at 8192x64x8192, where split-k has 45.
    Preference(
        "bf16x9", {"STAGES": 2}, (128, 128),
        "tensor cores, tiles of 128 x 128 for a fifth of the multiprocessors",
        tiles=0.2, narrowest=65, blocks=1,
    ),
    # 53 at 4096. stream-k has 54, with as many BLOCKS as 132 multiprocessors hold; few GPUs have 132.
    Preference(
        "async-copy", _LARGE_SUMS, (128, 128), "cp.async, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65, since=AMPERE,
    ),
    # 43 at 1024 with 256 tiles, 45 at 8192x64x8192 with 128.
    Preference(
        "split-k", _SPLIT, (64, 64), "cp.async, tiles of 64 x 64 for half of the multiprocessors",
        tiles=0.5, narrowest=33, since=AMPERE,
    ),
    # 17 at 64x64x65536, where bf16x9 has 10; 17 at 512.
    Preference(
        "stream-k", _CUT, (64, 64), "cp.async, few tiles of 64 x 64, cut along K for all multiprocessors",
        tiles=1, k_step=16, since=AMPERE, blocks=2,
    ),
    # All element types. 52 at 4096 in float32.
    Preference(
        "tma", _TENSOR_MAPS, (128, 128), "bulk copies, a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65,
    ),
    # 26 at 4096 in float32.
    Preference(
        "warp-tile", _WARP_TILE, (128, 128), "a tile of 128 x 128 for each multiprocessor",
        tiles=1, narrowest=65, since=MAXWELL,
    ),
    # From here on by the plain rule that smaller products need smaller tiles.
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
    # Its grid has M in x, whose limit is 2^31 - 1 blocks; the grids of the others have M in y.
    Preference("naive", {"BLOCK_SIZE": 8}, (8, 8), "more rows than the grids of the other methods allow"),
)  # fmt: skip
"""In the order in which they are tried: the fastest first."""


def preferred(place: Place, shape: Shape, element: ElementType) -> tuple[Variant, str] | None:
    """Return the first variant that suits the product and can be launched, and why; None if there is none."""
    for preference in PREFERENCES:
        element_types = find(preference.method).element_types
        if element.name not in element_types or not preference.suits(shape, place.architecture):
            continue
        variant = preference.variant(place.architecture)
        try:
            check(variant, plan(variant, shape, element), place.limits)
        except UsageError:
            continue
        return variant, preference.why
    return None
