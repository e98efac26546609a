"""Kernels of cudamm itself on a GPU: they help to time launches and to check memory."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cudamm.devices.own_kernels import OwnKernels
from cudamm.devices.own_module import SUPPORT
from cudamm.errors import NoDeviceError
from cudamm.kernels.error_bound import RoundingOfSums
from cudamm.kernels.method import ELEMENT_TYPES

MOST_QUEUED = 400
"""Maximum number of launches queued on a held stream: the driver's queue has room for about a thousand."""

HOLD_LIMIT_NS = 500_000_000
"""Time after which a stream is held no longer, in nanoseconds; queueing takes far less."""

MOST_GIVEN_UP = 3
"""Number of times that `HOLD_LIMIT_NS` may be exceeded before streams are not held any more."""

LATE_NS = 5_000_000
"""Delay before `write_late` writes, in nanoseconds: much longer than the host needs to queue a launch."""

MOST_LATE_BYTES = 1 << 16
"""Maximum number of bytes of a matrix that `write_late` writes."""

TILE = 32
"""Number of rows and of columns of a block of `product`."""

MOST_FLOPS_A_LAUNCH = 2 * 10**10
"""Maximum operations of a launch of `product`: a fifth of a second on a GPU with slow float64."""

FLOOR_SAMPLES = 50
"""Number of samples of an empty kernel."""


class Support(OwnKernels):
    """The kernels of `support.cu`, loaded into the current context."""

    def __init__(self, cuda: Any, arch: str, l2_bytes: int, multiprocessors: int) -> None:
        """Load the kernels. Raises NoDeviceError if they cannot be compiled or loaded."""
        super().__init__(cuda, SUPPORT, arch, multiprocessors)
        self.l2_bytes = l2_bytes
        try:
            self._flags = cuda.pagelocked_zeros(
                2, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP | cuda.host_alloc_flags.PORTABLE
            )
            self._flags_address = int(self._flags.base.get_device_pointer())
            # NVBench writes as many bytes as the cache has, which can leave some lines in the cache.
            self._flush_words = max(1, 2 * l2_bytes // 4)
            self._flush = cuda.mem_alloc(4 * self._flush_words)
            self._late = cuda.mem_alloc(2 * MOST_LATE_BYTES)
            self._hold = self._function("hold", "PPQ")
            self._empty = self._function("empty", "")
            self._holds, self._gave_up = True, 0
            # A first launch may wait for the device, so it must not happen on a held stream.
            self._hold_stream()
            self._release_stream()
            self._empty.prepared_async_call((1, 1), (1, 1, 1), None)
            self._flush_l2()
            cuda.Context.synchronize()
            self.floor_ms = self._floor_ms()
        except cuda.Error as error:
            raise NoDeviceError(f"the GPU does not work: {error}") from None

    # Timing

    def sample(self, launches: Sequence[Callable[[], None]], cold: bool) -> float | None:
        """Return a sample of several launches, in milliseconds per launch; None if it is not to be used.

        Args:
            launches: each queues a launch on the default stream.
            cold: overwrite the L2 cache first.
        """
        sample_ms = self._sample(launches, cold)
        return None if self._was_given_up() else sample_ms

    def time(self, launch: Callable[[], None], samples: int, launches: int, cold: bool) -> list[float]:
        """Return `samples` samples, in milliseconds per launch, each over `launches` launches.

        All launches of a sample are queued while the stream is held, so that a sample contains no time of the
        host.

        Args:
            launch: queues one launch on the default stream.
            cold: overwrite the L2 cache before each sample.
        """
        while True:
            if not cold:
                launch()  # the first sample too must find the cache as a launch leaves it
            times_ms = [self._sample([launch] * launches, cold) for _ in range(samples)]
            if not self._was_given_up():
                return times_ms

    def _was_given_up(self) -> bool:
        """Return whether the stream was not held long enough for all launches to be queued.

        Once, this process may have been interrupted. Under a profiler, or with CUDA_LAUNCH_BLOCKING, each
        launch waits for the previous one, so holding the stream is useless: then no stream is held any more.
        """
        if not (self._holds and self._flags[1]):
            return False
        self._flags[1], self._gave_up = 0, self._gave_up + 1
        self._holds = self._gave_up < MOST_GIVEN_UP
        return True

    def _sample(self, launches: Sequence[Callable[[], None]], cold: bool) -> float:
        """Return the milliseconds per launch between two events around the launches."""
        start, end = self.cuda.Event(), self.cuda.Event()
        if cold:
            self._flush_l2()
        # Earlier work must have ended before the first event.
        self.cuda.Context.synchronize()
        if self._holds:
            self._hold_stream()
        start.record()
        for queued, launch in enumerate(launches):
            if queued == MOST_QUEUED:
                self._release_stream()
            launch()
        end.record()
        self._release_stream()
        end.synchronize()
        elapsed_ms: float = start.time_till(end)
        return elapsed_ms / len(launches)

    def _hold_stream(self) -> None:
        self._flags[0] = 0
        self._hold.prepared_async_call(
            (1, 1), (1, 1, 1), None, self._flags_address, self._flags_address + 4, HOLD_LIMIT_NS
        )

    def _release_stream(self) -> None:
        self._flags[0] = 1

    def hide(self, matrices: Iterable[tuple[int, int]]) -> list[int]:
        """Queue copies that save the beginnings of A and B, and fill these with bytes 255.

        That is NaN in every type that has it.

        Args:
            matrices: address and size in bytes of A and of B.

        Returns:
            The arguments of `write_late`.
        """
        saved, arguments = int(self._late), []
        for address, size_bytes in matrices:
            late_bytes = min(size_bytes, MOST_LATE_BYTES)
            self.cuda.memcpy_dtod_async(saved, address, late_bytes)
            self.cuda.memset_d8_async(address, 255, late_bytes, None)
            arguments += [saved, address, late_bytes]
            saved += MOST_LATE_BYTES
        return arguments

    def write_late(self, hidden: Sequence[int]) -> float:
        """Queue a kernel that lets the next one start at once, and later writes back what `hide` has saved.

        Returns:
            The milliseconds until the kernel writes.
        """
        function = self._function("write_late", "PPiPPiQ")
        function.prepared_async_call((1, 1), (1024, 1, 1), None, *hidden, LATE_NS)
        return LATE_NS / 1e6

    @contextlib.contextmanager
    def flushing(self, flush_bytes: int) -> Iterator[None]:
        """Use a buffer of another size to overwrite L2, to compare with a tool that uses that size."""
        default = self._flush, self._flush_words
        self._flush, self._flush_words = self.cuda.mem_alloc(flush_bytes), flush_bytes // 4
        try:
            yield
        finally:
            self._flush.free()
            self._flush, self._flush_words = default

    def _flush_l2(self) -> None:
        self.cuda.memset_d32_async(self._flush, 0, self._flush_words, None)

    def _floor_ms(self) -> float:
        """Return the median of the milliseconds between two events around an empty kernel."""

        def launch() -> None:
            self._empty.prepared_async_call((1, 1), (1, 1, 1), None)

        return statistics.median(self.time(launch, FLOOR_SAMPLES, 1, cold=False))

    # Judging

    def count_changed(self, address: int, size_bytes: int, expected: int) -> int:
        """Return how many words of memory differ from a 32-bit pattern, which began at a multiple of 4.

        The memory itself may begin in the middle of a word, behind elements of 8 or 16 bits.
        """
        gap = -address % 4
        differs = 0
        if gap:
            first = np.empty(gap, np.uint8)
            self.cuda.memcpy_dtoh(first, address)
            differs = int(first.tobytes() != expected.to_bytes(4, "little")[-gap:])
            address, size_bytes = address + gap, size_bytes - gap
        self.cuda.memset_d32(self._results, 0, 4)
        self._launch("count_changed", "PQIP", address, size_bytes // 4, expected, int(self._results))
        return differs + self._result(0)

    def fingerprint(self, address: int, count: int) -> int:
        """Return a hash of `count` words at an address."""
        self.cuda.memset_d32(self._results, 0, 4)
        self._launch("fingerprint", "PQP", address, count, int(self._results))
        return self._result(0)

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
        rounding: RoundingOfSums,
    ) -> tuple[int, int]:
        """Return the number of elements of C whose error exceeds its bound, and the index of the worst one.

        Matrices are given by their addresses. The bound of an element is the product of a factor of its row
        and a factor of its column, and the error of rounding the sum.

        Args:
            leading: leading dimension of C, in elements.
        """
        self.cuda.memset_d32(self._results, 0, 4)
        formats = "PiiiPPPddP"
        bound = row_factors, column_factors, rounding.relative, rounding.least
        arguments = (c, leading, rows, columns, reference, *bound, int(self._results))
        self._launch(f"judge_{element}", formats, *arguments)
        return self._result(0), self._result(1) & 0xFFFFFFFF

    def product(self, element: str, a: int, b: int, c: int, m: int, n: int, k: int) -> None:
        """Compute the float64 product (m x n) at address c of matrices at a and b, of any type but float64.

        No matrix is padded.
        """
        function = self._function(f"product_{element}", "PPPiii")
        size = ELEMENT_TYPES[element].size_bytes
        # A GPU that also drives a screen aborts kernels that take seconds, so a launch computes some rows.
        rows = max(TILE, MOST_FLOPS_A_LAUNCH // (2 * n * k) // TILE * TILE)
        for row in range(0, m, rows):
            count = min(rows, m - row)
            # Rows are along x, the dimension in which a grid may have the most blocks.
            grid = -(-count // TILE), -(-n // TILE)
            first, out = a + row * k * size, c + row * n * 8
            function.prepared_async_call(grid, (TILE, TILE, 1), None, first, b, out, count, n, k)
        self.cuda.Context.synchronize()

    def times_vector(self, matrix: int, x: int, y: int, m: int, n: int) -> None:
        """Compute y (m) as a matrix (m x n) times x (n), all float64 and given by their addresses."""
        function, warps = self._function("times_vector", "PPPii"), 8
        function.prepared_async_call((-(-m // warps), 1), (32 * warps, 1, 1), None, matrix, x, y, m, n)

    def close(self) -> None:
        """Free the module's buffers in device memory."""
        self._flush.free()
        self._late.free()
        super().close()
