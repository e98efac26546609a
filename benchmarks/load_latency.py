"""Cycles that a load from global memory takes when it misses every cache, on the present GPU.

A single thread follows pointers through memory in random order, so that each load has to wait for the one
before it, and nothing else runs. Run with: python benchmarks/load_latency.py

This is where the figure of 9.0 in cudamm/occupancy/latency.py comes from.
"""

import datetime

import numpy as np

from cudamm.devices.find_device import find_gpu

KERNEL = """
extern "C" __global__ void chase(const unsigned *next, int loads, long long *cycles, unsigned *last) {
    unsigned at = 0;
    for (int i = 0; i < 64; ++i) at = next[at];  // the kernel's own code is in the cache from here on
    const long long start = clock64();
    for (int i = 0; i < loads; ++i) at = next[at];
    *cycles = clock64() - start;
    *last = at;  // or the compiler would leave the loads out
}
"""
LOADS = 20_000
LINE_WORDS = 64  # 256 bytes: no two loads in one line of any cache
RUNS = 5


def main() -> None:
    """Print the cycles a load for working sets from one in the first cache to one far beyond the last."""
    with find_gpu() as device:
        from pycuda import driver
        from pycuda.compiler import SourceModule

        chase = SourceModule(KERNEL, no_extern_c=True).get_function("chase")
        print(f"{device.info.name}, {datetime.date.today()}, {LOADS} loads in random order, median of {RUNS}")
        for megabytes in (0.0625, 1, 16, 256, 1024):
            lines = int(megabytes * 2**20) // (4 * LINE_WORDS)
            order = np.random.default_rng(0).permutation(lines)
            words = np.zeros(lines * LINE_WORDS, np.uint32)
            words[order * LINE_WORDS] = np.roll(order, -1) * LINE_WORDS  # one cycle through all lines
            memory, flush = driver.to_device(words), driver.mem_alloc(256 * 2**20)
            cycles, last = np.zeros(1, np.int64), np.zeros(1, np.uint32)
            found = []
            for _ in range(RUNS):
                if megabytes > 64:
                    driver.memset_d32(flush, 0, 64 * 2**20)  # the last run's lines leave the L2 cache
                chase(memory, np.int32(LOADS), driver.Out(cycles), driver.Out(last), block=(1, 1, 1))
                found.append(int(cycles[0]) / LOADS)
            print(f"{megabytes:8g} MiB: {np.median(found):6.0f} cycles a load")
            memory.free()
            flush.free()


if __name__ == "__main__":
    main()
