"""GPUs that users name, such as `a100` or `RTX 4090`: size, clock and memory bandwidth, with their sources.

NVIDIA computes the peak rates that it publishes as lanes x SMs x boost clock x 2. The tests compare the rates
that follow from this table with the published ones. A GPU is in the table only if a document of NVIDIA
contains its numbers. If a document gives a rate but no clock, the clock is the one that gives that rate.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace

from cudamm.errors import UsageError


@dataclass(frozen=True)
class NamedGpu:
    """A GPU, as NVIDIA describes it.

    Attributes:
        name: the name that users type, in lower case: `rtx4090`.
        product: the name of the product.
        arch: its architecture, such as `sm_89`.
        multiprocessors: number of SMs.
        clock_mhz: boost clock of the SMs.
        bandwidth_gbytes_per_s: bandwidth of device memory.
        source: the document that contains the numbers.
        also: names that the driver reports.
        tensor_per_cycle: multiply-adds of an SM's tensor cores in a clock cycle, in 16-bit types with sums in
            float32 and without sparsity; None without tensor cores, or if no document contains the rate.
        tensor_clock_mhz: boost clock of the tensor cores in these types; None if it is `clock_mhz`.
    """

    name: str
    product: str
    arch: str
    multiprocessors: int
    clock_mhz: int
    bandwidth_gbytes_per_s: float
    source: str
    also: tuple[str, ...] = ()
    tensor_per_cycle: int | None = None
    tensor_clock_mhz: int | None = None


_TENSOR_PER_CYCLE = {
    **dict.fromkeys(("v100", "v100-pcie", "t4", "a10", "a40", "a6000", "l4", "l40s"), 512),
    **dict.fromkeys(("rtx2080ti", "rtx3070", "rtx3080", "rtx3090", "rtx4080", "rtx4090"), 256),
    **dict.fromkeys(("l40", "rtx5080", "rtx5090"), 256),
    **dict.fromkeys(("a100", "a100-80gb", "a100-80gb-pcie", "a30"), 1024),
    **dict.fromkeys(("h100", "h100-pcie", "h200"), 2048),
}
"""`NamedGpu.tensor_per_cycle` by name: what the published rates without sparsity imply.

The tests contain the published rates and their documents. Two numbers are not from a document: the RTX 3070
and the RTX 4080 have those of the RTX 3090 and the RTX 4090. The data sheets give the L40 half the rate of
the L40S.
"""

_TENSOR_CLOCK_MHZ = {"h100": 1830, "h100-pcie": 1620, "h200": 1830}
"""`NamedGpu.tensor_clock_mhz` by name (NVIDIA H100 whitepaper, Table 3).

The data sheet of the H200 contains no clock. Its rates are those of the H100 SXM.
"""

_P100 = "NVIDIA Tesla P100 whitepaper"
_PASCAL = "NVIDIA GeForce GTX 1080 whitepaper"
_V100 = "NVIDIA V100 data sheet"
_TURING = "NVIDIA Turing architecture whitepaper"
_A100 = "NVIDIA A100 data sheet"
_AMPERE = "NVIDIA Ampere GA102 architecture whitepaper"
_ADA = "NVIDIA Ada architecture whitepaper"
_H100 = "NVIDIA H100 data sheet and whitepaper"
_BLACKWELL = "NVIDIA RTX Blackwell architecture whitepaper"

NAMED_GPUS = tuple(
    replace(
        NamedGpu(*row),
        tensor_per_cycle=_TENSOR_PER_CYCLE.get(row[0]),
        tensor_clock_mhz=_TENSOR_CLOCK_MHZ.get(row[0]),
    )
    for row in (
        ("p100", "Tesla P100 SXM2", "sm_60", 56, 1480, 732, _P100,
         ("p100-sxm2-16gb",)),
        ("gtx1080", "GeForce GTX 1080", "sm_61", 20, 1733, 320, _PASCAL),
        ("gtx1080ti", "GeForce GTX 1080 Ti", "sm_61", 28, 1582, 484, "NVIDIA GeForce GTX 1080 Ti page"),
        ("v100", "Tesla V100 SXM2", "sm_70", 80, 1530, 900, _V100,
         ("v100-sxm2-16gb", "v100-sxm2-32gb")),
        ("v100-pcie", "Tesla V100 PCIe", "sm_70", 80, 1380, 900, _V100,
         ("v100-pcie-16gb", "v100-pcie-32gb")),
        ("t4", "Tesla T4", "sm_75", 40, 1590, 320, _TURING),
        ("rtx2060", "GeForce RTX 2060", "sm_75", 30, 1680, 336, "NVIDIA GeForce RTX 2060 page"),
        ("rtx2080", "GeForce RTX 2080", "sm_75", 46, 1710, 448, _TURING),
        ("rtx2080ti", "GeForce RTX 2080 Ti", "sm_75", 68, 1545, 616, _TURING),
        ("a100", "A100 40GB", "sm_80", 108, 1410, 1555, _A100,
         ("a100-sxm4-40gb", "a100-pcie-40gb")),
        ("a100-80gb", "A100 80GB SXM", "sm_80", 108, 1410, 2039, _A100,
         ("a100-sxm4-80gb",)),
        ("a100-80gb-pcie", "A100 80GB PCIe", "sm_80", 108, 1410, 1935, _A100),
        ("a30", "A30", "sm_80", 56, 1440, 933, "NVIDIA A30 data sheet"),
        ("a10", "A10", "sm_86", 72, 1695, 600, "NVIDIA A10 data sheet"),
        ("a40", "A40", "sm_86", 84, 1740, 696, "NVIDIA A40 data sheet"),
        ("a6000", "RTX A6000", "sm_86", 84, 1800, 768, "NVIDIA RTX A6000 data sheet"),
        ("rtx3060", "GeForce RTX 3060", "sm_86", 28, 1780, 360, "NVIDIA GeForce RTX 3060 page"),
        ("rtx3070", "GeForce RTX 3070", "sm_86", 46, 1725, 448, _AMPERE),
        ("rtx3080", "GeForce RTX 3080 10GB", "sm_86", 68, 1710, 760, _AMPERE),
        ("rtx3090", "GeForce RTX 3090", "sm_86", 82, 1695, 936, _AMPERE),
        ("l4", "L4", "sm_89", 58, 2040, 300, "NVIDIA L4 data sheet"),
        ("l40", "L40", "sm_89", 142, 2490, 864, "NVIDIA L40 data sheet"),
        ("l40s", "L40S", "sm_89", 142, 2520, 864, "NVIDIA L40S data sheet"),
        ("rtx4060", "GeForce RTX 4060", "sm_89", 24, 2460, 272, "NVIDIA GeForce RTX 4060 page"),
        ("rtx4070", "GeForce RTX 4070", "sm_89", 46, 2475, 504, "NVIDIA GeForce RTX 4070 page"),
        ("rtx4080", "GeForce RTX 4080", "sm_89", 76, 2505, 716.8, _ADA),
        ("rtx4090", "GeForce RTX 4090", "sm_89", 128, 2520, 1008, _ADA),
        ("h100", "H100 SXM", "sm_90", 132, 1980, 3350, _H100,
         ("h100-80gb-hbm3",)),
        ("h100-pcie", "H100 PCIe", "sm_90", 114, 1755, 2000, _H100),
        ("h200", "H200 SXM", "sm_90", 132, 1980, 4800, "NVIDIA H200 data sheet"),
        ("rtx5080", "GeForce RTX 5080", "sm_120", 84, 2617, 960, _BLACKWELL),
        ("rtx5090", "GeForce RTX 5090", "sm_120", 170, 2407, 1792, _BLACKWELL),
    )
)  # fmt: skip
"""All named GPUs, oldest architecture first."""

_BRANDS = re.compile(r"nvidia|geforce|tesla|quadro")


def named_gpu(text: str) -> NamedGpu:
    """Return the GPU for a name such as `RTX 3090`; case, spaces, hyphens and brands do not matter.

    Raises:
        UsageError: there is no such GPU in the table; the message lists those in the table.
    """
    found = known_gpu(text)
    if found is not None:
        return found
    names = ", ".join(gpu.name for gpu in NAMED_GPUS)
    raise UsageError(
        f"unknown GPU “{text}”: {nearest_gpu(text)}known are {names}; give the numbers of another GPU's data "
        "sheet in place of --gpu, such as --arch sm_75 --sms 24 --clock 1770 --bandwidth 288"
    )


def nearest_gpu(text: str) -> str:
    """Return `did you mean rtx2080ti? ` for a name that is near that of a GPU; else nothing.

    Another number of four digits is another GPU: GTX 1660 Ti is no name of a GTX 1080 Ti.
    """
    number = sorted("".join(re.findall(r"\d{4}", text)))
    names = [gpu.name for gpu in NAMED_GPUS if number in ([], sorted(re.sub(r"\D", "", gpu.name)))]
    close = difflib.get_close_matches(_key(text), names, n=1, cutoff=0.7)
    return f"did you mean {close[0]}? " if close else ""


def known_gpu(text: str) -> NamedGpu | None:
    """Return the GPU for a name such as `RTX 3090`; None if it is not in the table."""
    key = _key(text)
    return next((gpu for gpu in NAMED_GPUS if key in _keys(gpu)), None)


def _keys(gpu: NamedGpu) -> set[str]:
    """Return the texts that mean a GPU: its name with or without `rtx`, its product, the driver's names."""
    name = _key(gpu.name)
    return {name, re.sub("^[rg]tx", "", name), *map(_key, (gpu.product, *gpu.also))}


def _key(text: str) -> str:
    return _BRANDS.sub("", re.sub(r"[\s_-]", "", text.lower()))
