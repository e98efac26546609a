"""Measure the cycles of a load from global memory that misses every cache, on this machine's GPU.

One thread follows pointers through memory in random order, so that each load waits for the one before it.
Nothing else runs. Run the script with: python benchmarks/load_latency.py

The figure of compute capability 9.0 in cudamm/occupancy/latency.py was measured with this script.
"""

import datetime

import numpy as np

from cudamm.devices.find_device import find_gpu

KERNEL = """
extern "C" __global__ void chase(const unsigned *next, int loads, long long *cycles, unsigned *last) {
    unsigned index = 0;
    for (int i = 0; i < 64; ++i) index = next[index];  // brings the kernel's code into the cache
    const long long start = clock64();
    for (int i = 0; i < loads; ++i) index = next[index];
    *cycles = clock64() - start;
    *last = index;  // otherwise the compiler would remove the loads
}
"""
LOADS = 20_000
LINE_WORDS = 64  # distance of loads: 256 bytes, so that no two loads access the same cache line
RUNS = 5


def main() -> None:
    """Print the cycles per load for working sets from L1 cache size to far more than the L2 cache's size."""
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
            cycles_per_load = []
            for _ in range(RUNS):
                if megabytes > 64:
                    driver.memset_d32(flush, 0, 64 * 2**20)  # evicts the last run's lines from the L2 cache
                chase(memory, np.int32(LOADS), driver.Out(cycles), driver.Out(last), block=(1, 1, 1))
                cycles_per_load.append(int(cycles[0]) / LOADS)
            print(f"{megabytes:8g} MiB: {np.median(cycles_per_load):6.0f} cycles per load")
            memory.free()
            flush.free()


if __name__ == "__main__":
    main()
