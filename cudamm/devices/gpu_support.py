"""What cudamm itself runs on a GPU: a stopwatch, judges of memory, and the device's ceilings."""

from __future__ import annotations

import contextlib
import json
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cudamm.compile.compile_cache import cached
from cudamm.compile.nvcc_compiler import nvcc
from cudamm.compile.toolkit import include_options
from cudamm.devices.device import Ceilings
from cudamm.devices.source_module import ModuleSource
from cudamm.errors import KernelError, NoDeviceError

SOURCE = Path(__file__).parent / "gpu_runtime" / "support.cu"

MOST_QUEUED = 400
"""Launches behind a held stream: the driver's queue holds about a thousand, and then the host waits too."""

HOLD_LIMIT_NS = 500_000_000
"""Far more than queueing takes; where each launch waits for the last, it passes once."""

MOST_GIVEN_UP = 3

TILE = 32
"""Of `product` in `support.cu`: a block has as many rows and columns."""

MOST_FLOPS_A_LAUNCH = 2 * 10**10
"""A fifth of a second where float64 is slow."""

FLOOR_SAMPLES = 50


class Support:
    """The module of `gpu_runtime/support.cu`, loaded into the current context."""

    def __init__(self, cuda: Any, arch: str, l2_bytes: int, multiprocessors: int) -> None:
        """Raises NoDeviceError where it cannot be compiled or loaded."""
        self._cuda = cuda
        self._blocks = 8 * multiprocessors
        self._l2_bytes = l2_bytes
        try:
            self._module = _module(arch)
            self._flags = cuda.pagelocked_zeros(
                2, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP | cuda.host_alloc_flags.PORTABLE
            )
            self._flags_address = int(self._flags.base.get_device_pointer())
            # NVBench writes as much as the cache holds, which can leave something of it in place.
            self._flush_words = max(1, 2 * l2_bytes // 4)
            self._flush = cuda.mem_alloc(4 * self._flush_words)
            self._words = cuda.mem_alloc(16)
            self._hold = self._function("hold", "PPQ")
            self._nothing = self._function("nothing", "")
            self._holds, self._gave_up = True, 0
            # A first launch may wait for the device, which must not happen behind `hold`.
            self._hold_stream()
            self._release()
            self._nothing.prepared_async_call((1, 1), (1, 1, 1), None)
            self._flush_l2()
            cuda.Context.synchronize()
            self.floor_ms = self._floor_ms()
        except cuda.Error as error:
            raise NoDeviceError(f"the GPU does not work: {error}") from None

    def _function(self, name: str, formats: str) -> Any:
        function = self._module.get_function(name)
        function.prepare(formats)
        return function

    # Timing

    def time(self, launch: Callable[[], None], samples: int, launches: int, cold: bool) -> list[float]:
        """Milliseconds a launch takes: `samples` readings over `launches` launches each.

        Everything is queued while the stream is held, so that no time of the host is in a reading.

        Args:
            launch: queues one launch on the default stream.
            cold: write over the L2 cache before each sample.
        """
        while True:
            if not cold:
                launch()  # whatever was done since the last one, the next finds what a launch leaves behind
            readings = [self._reading(launch, launches, cold) for _ in range(samples)]
            if not (self._holds and self._flags[1]):
                return readings
            # Once it may be this process that was held up. Under a profiler, or CUDA_LAUNCH_BLOCKING,
            # launches wait for one another, and holding is no use.
            self._flags[1], self._gave_up = 0, self._gave_up + 1
            self._holds = self._gave_up < MOST_GIVEN_UP

    def _reading(self, launch: Callable[[], None], launches: int, cold: bool) -> float:
        start, end = self._cuda.Event(), self._cuda.Event()
        if cold:
            self._flush_l2()
        # What is left of that must not reach into the reading.
        self._cuda.Context.synchronize()
        if self._holds:
            self._hold_stream()
        start.record()
        for queued in range(launches):
            if queued == MOST_QUEUED:
                self._release()
            launch()
        end.record()
        self._release()
        end.synchronize()
        elapsed_ms: float = start.time_till(end)
        return elapsed_ms / launches

    def _hold_stream(self) -> None:
        self._flags[0] = 0
        self._hold.prepared_async_call(
            (1, 1), (1, 1, 1), None, self._flags_address, self._flags_address + 4, HOLD_LIMIT_NS
        )

    def _release(self) -> None:
        self._flags[0] = 1

    @contextlib.contextmanager
    def flushing(self, flush_bytes: int) -> Iterator[None]:
        """Write over L2 with a buffer of another size meanwhile, to compare with what does so."""
        own = self._flush, self._flush_words
        self._flush, self._flush_words = self._cuda.mem_alloc(flush_bytes), flush_bytes // 4
        try:
            yield
        finally:
            self._flush.free()
            self._flush, self._flush_words = own

    def _flush_l2(self) -> None:
        self._cuda.memset_d32_async(self._flush, 0, self._flush_words, None)

    def _floor_ms(self) -> float:
        """What two events around an empty kernel read."""

        def launch() -> None:
            self._nothing.prepared_async_call((1, 1), (1, 1, 1), None)

        return statistics.median(self.time(launch, FLOOR_SAMPLES, 1, cold=False))

    # Judging

    def count_changed(self, address: int, count: int, expected: int) -> int:
        """How many of `count` words at an address are not `expected`."""
        self._cuda.memset_d32(self._words, 0, 4)
        self._launch("count_changed", "PQIP", address, count, expected, int(self._words))
        return self._word64(0)

    def fingerprint(self, address: int, count: int) -> int:
        """A number that any change of the `count` words at an address changes."""
        self._cuda.memset_d32(self._words, 0, 4)
        self._launch("fingerprint", "PQP", address, count, int(self._words))
        return self._word64(0)

    def judge(
        self,
        element: str,
        c: int,
        leading: int,
        rows: int,
        columns: int,
        reference: int,
        row_factors: int,
        column_factors: int,
    ) -> tuple[int, int]:
        """How many elements of C are further from the reference than their bound, and the worst one's index.

        The bound is the product of a factor of the row and one of the column.
        """
        self._cuda.memset_d32(self._words, 0, 4)
        formats = "PiiiPPPP"
        bound = row_factors, column_factors
        arguments = (c, leading, rows, columns, reference, *bound, int(self._words))
        self._launch(f"judge_{element}", formats, *arguments)
        return self._word64(0), self._word64(1) & 0xFFFFFFFF

    def product(self, element: str, a: int, b: int, c: int, m: int, n: int, k: int) -> None:
        """The float64 product (m x n), at c, of two matrices of another type at a and b; none is padded."""
        function = self._function(f"product_{element}", "PPPiii")
        size = np.dtype(element).itemsize
        # Some rows at a time: a GPU that also draws a screen ends kernels that take seconds.
        rows = max(TILE, MOST_FLOPS_A_LAUNCH // (2 * n * k) // TILE * TILE)
        for row in range(0, m, rows):
            count = min(rows, m - row)
            # Blocks of rows along x, where a grid may be longest.
            grid = -(-count // TILE), -(-n // TILE)
            first, out = a + row * k * size, c + row * n * 8
            function.prepared_async_call(grid, (TILE, TILE, 1), None, first, b, out, count, n, k)
        self._cuda.Context.synchronize()

    def times_vector(self, matrix: int, x: int, y: int, m: int, n: int) -> None:
        """Float64: a matrix (m x n) times x (n) at y (m)."""
        function, warps = self._function("times_vector", "PPPii"), 8
        function.prepared_async_call((-(-m // warps), 1), (32 * warps, 1, 1), None, matrix, x, y, m, n)

    def _launch(self, name: str, formats: str, *arguments: int) -> None:
        self._function(name, formats).prepared_async_call((self._blocks, 1), (256, 1, 1), None, *arguments)

    def _word64(self, index: int) -> int:
        words = np.zeros(2, np.uint64)
        self._cuda.memcpy_dtoh(words, self._words)
        return int(words[index])

    # Ceilings

    def ceilings(self, key: str) -> Ceilings:
        """The device's own, measured once and kept under `key`."""

        def measure(path: Path) -> None:
            found = {"fma_gflops": self._fma_gflops(), "copy_gbytes_per_s": self._copy_gbytes_per_s()}
            path.write_text(json.dumps(found))

        path = cached(["ceilings", key, SOURCE.read_text()], ".json", measure)
        found = json.loads(path.read_bytes())
        return Ceilings(found["fma_gflops"], found["copy_gbytes_per_s"])

    def _fma_gflops(self) -> float:
        function, steps = self._function("multiply_add", "Pif"), 2000

        def launch() -> None:
            function.prepared_async_call((self._blocks, 1), (256, 1, 1), None, int(self._words), steps, 0.5)

        launch()
        flops: int = 2 * 8 * 16 * steps * self._blocks * 256
        fastest_ms = min(self.time(launch, 10, 1, cold=False))
        return flops / fastest_ms / 1e6

    def _copy_gbytes_per_s(self) -> float:
        count = max(2**26, 8 * self._l2_bytes)
        free = self._cuda.mem_get_info()[0]
        count = min(count, free // 4) // 16 * 16
        from_, to = self._cuda.mem_alloc(count), self._cuda.mem_alloc(count)
        self._cuda.memset_d32(from_, 1, count // 4)
        function = self._function("copy", "PPQ")

        def launch() -> None:
            function.prepared_async_call(
                (self._blocks, 1), (256, 1, 1), None, int(from_), int(to), count // 16
            )

        launch()
        try:
            fastest_ms = min(self.time(launch, 10, 1, cold=False))
            return float(2 * count / fastest_ms / 1e6)
        finally:
            from_.free()
            to.free()

    def close(self) -> None:
        """Free what it holds."""
        self._flush.free()
        self._words.free()


def _module(arch: str) -> Any:
    """Return the module of `SOURCE`. Raises NoDeviceError if nvcc cannot compile it."""
    compiler, text = nvcc(), SOURCE.read_text(encoding="utf-8")
    options = tuple(include_options(compiler.path))
    source = ModuleSource(text, str(compiler.path), options, arch)
    try:
        return source.compiled([text, compiler.version, str(compiler.path), *options, arch]).load()
    except KernelError as error:
        raise NoDeviceError(f"nvcc does not work: {error}") from None
