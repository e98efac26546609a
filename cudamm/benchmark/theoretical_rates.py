"""Rates that follow from a GPU's architecture and clocks; NVIDIA publishes them for the boost clock."""

from __future__ import annotations

from dataclasses import replace

from cudamm.devices.device import Ceilings, Peak, Unit
from cudamm.devices.gpu_device import GpuTarget
from cudamm.kernels.architecture import Architecture

TENSOR_TYPES = {
    "float16": ((7, 0), 1),
    "bfloat16": ((8, 0), 1),
    "tf32": ((8, 0), 1 / 2),
    "float8_e4m3": ((8, 9), 2),
    "int8": ((7, 2), 2),
}
"""Oldest compute capability whose tensor cores have a type, and its rate, relative to that of float16.

The rates are those of NVIDIA's whitepapers on Turing, the A100, the H100 and Ada, with sums in float32, or
in int32.
"""


def theoretical_peaks(
    architecture: Architecture, clock_mhz: float, tensor_clock_mhz: float | None = None, source: str = ""
) -> tuple[Peak, ...]:
    """Return the peaks that NVIDIA's documents imply at a clock, each with its formula in words.

    A multiply-add counts as two operations. NVIDIA publishes peaks at the boost clock.

    Args:
        tensor_clock_mhz: clock of the tensor cores in types of 32 bits and less, if it is another one.
        source: the document with the numbers, which is added to the formulas.
    """
    of_tensor_cores = "{} multiply-adds of the tensor cores"
    rows: list[tuple[Unit, str, int | None, str, float]] = [
        ("FMA", "float32", architecture.fp32_per_cycle, "{} lanes", clock_mhz),
        ("FMA", "float64", architecture.fp64_per_cycle, "{} lanes", clock_mhz),
        ("FMA", "int32", architecture.int32_per_cycle, "{} lanes", clock_mhz),
        ("tensor cores", "float64", architecture.tensor_fp64_per_cycle, of_tensor_cores, clock_mhz),
    ]
    for element_type, (since, times) in TENSOR_TYPES.items():
        if architecture.tensor_fp16_per_cycle is not None and architecture.capability >= since:
            rate = int(architecture.tensor_fp16_per_cycle * times)
            rows.append(("tensor cores", element_type, rate, of_tensor_cores, tensor_clock_mhz or clock_mhz))
    sms = architecture.multiprocessors
    return tuple(
        Peak(
            unit, element_type, 2 * per_cycle * sms * mhz / 1e3,
            f"2 x {per_cycle:,} {words.format(element_type)} x {sms} SMs x {mhz:,g} MHz"
            + (f", {source}" if source else ""),
        )
        for unit, element_type, per_cycle, words, mhz in rows
        if per_cycle is not None
    )  # fmt: skip


def theoretical_bandwidth(memory_clock_mhz: float, bus_bits: int) -> tuple[float, str]:
    """Return the bandwidth of device memory in GB/s, and its formula in words.

    Device memory transfers twice per cycle (CUDA C++ Best Practices Guide, “Theoretical Bandwidth
    Calculation”).
    """
    rate = 2 * memory_clock_mhz * (bus_bits / 8) / 1e3
    return rate, f"2 x {memory_clock_mhz:,g} MHz x {bus_bits:,} bits / 8"


def not_below_theoretical(ceilings: Ceilings, target: GpuTarget) -> Ceilings:
    """Return measured ceilings, raised to the theoretical rates at the highest clocks where these are higher.

    Ceilings that were measured while another program used the GPU are too low, and an honest kernel must not
    count as impossible because of them. A rate that the driver does not imply stays as it was measured.
    """
    properties = target.info.properties
    clock_mhz, memory_clock_mhz, bus_bits = (
        properties.get(name) or 0 for name in ("clock_mhz", "memory_clock_mhz", "memory_bus_bits")
    )
    fma = theoretical_peaks(target.architecture, clock_mhz)[0]
    return replace(
        ceilings,
        fma_gflops=max(ceilings.fma_gflops, fma.gflops),
        copy_gbytes_per_s=max(
            ceilings.copy_gbytes_per_s, theoretical_bandwidth(memory_clock_mhz, bus_bits)[0]
        ),
    )
