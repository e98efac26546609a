"""A stand-in for `pycuda.driver`: device memory is memory of this process, and NumPy does what kernels do.

With it, tests without a GPU reach the code that allocates, draws inputs, launches and judges. It does not
show that cudamm's own kernels are right: `devices/test_fresh_inputs.py` executes those on the CPU device.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from cudamm.devices.own_module import OwnModule
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.random_elements import DISTRIBUTIONS, ElementStream, normal_quantiles

PAGE = 256
TYPES = {name: element.dtype for name, element in ELEMENT_TYPES.items() if element.of_inputs == element}
"""The types that names of kernels in `support.cu` end with."""

BY_C_NAME = {ELEMENT_TYPES[name].c_name: dtype for name, dtype in TYPES.items()}


class Error(Exception):
    """The driver's error."""


class Allocation:
    """Device memory."""

    def __init__(self, driver: FakeDriver, size_bytes: int) -> None:
        if driver.room_bytes < size_bytes:
            raise Error("cuMemAlloc failed: out of memory")
        self._driver, self.size_bytes = driver, size_bytes
        self._buffer = ctypes.create_string_buffer(size_bytes + PAGE)
        self._address = -(-ctypes.addressof(self._buffer) // PAGE) * PAGE
        driver.room_bytes -= size_bytes
        driver.allocations.append(self)

    def __int__(self) -> int:
        return self._address

    def free(self) -> None:
        self._driver.room_bytes += self.size_bytes
        self._driver.allocations.remove(self)


class FakeDriver:
    """The functions of `pycuda.driver` that cudamm uses."""

    Error = Error
    host_alloc_flags = SimpleNamespace(DEVICEMAP=1, PORTABLE=2)
    function_attribute = SimpleNamespace(MAX_DYNAMIC_SHARED_SIZE_BYTES=8)

    def __init__(self, room_bytes: int = 2**28) -> None:
        self.room_bytes = room_bytes
        self.allocations: list[Allocation] = []
        self.variables: dict[str, Allocation] = {}
        self.Context = SimpleNamespace(synchronize=lambda: None)
        self.now_ms = 0.0

    def Event(self) -> Any:  # noqa: N802 - PyCUDA's name
        driver = self

        class Event:
            def record(self) -> None:
                self.at_ms = driver.now_ms

            def synchronize(self) -> None:
                """Nothing runs in the background."""

            def time_till(self, end: Any) -> float:
                return float(end.at_ms - self.at_ms)

        return Event()

    class Device:
        """One GPU of compute capability 9.0."""

        def __init__(self, index: int) -> None:
            self.index = index

        @staticmethod
        def count() -> int:
            return 1

        def retain_primary_context(self) -> Any:
            return SimpleNamespace(push=lambda: None, pop=lambda: None, detach=lambda: None)

        def compute_capability(self) -> tuple[int, int]:
            return 9, 0

        def pci_bus_id(self) -> str:
            return "0000:00:00.0"

        def name(self) -> str:
            return "a stand-in"

        def total_memory(self) -> int:
            return 2**34

        def get_attributes(self) -> dict[str, int]:
            return {
                "max_threads_per_block": 1024, "max_block_dim_x": 1024, "max_block_dim_y": 1024,
                "max_block_dim_z": 64, "max_grid_dim_x": 2**31 - 1, "max_grid_dim_y": 65535,
                "max_grid_dim_z": 65535, "max_shared_memory_per_block": 49152, "multiprocessor_count": 4,
                "clock_rate": 1_500_000, "memory_clock_rate": 1_000_000, "global_memory_bus_width": 256,
                "l2_cache_size": 2**16, "max_threads_per_multiprocessor": 2048,
                "max_registers_per_multiprocessor": 65536, "max_registers_per_block": 65536,
                "max_shared_memory_per_multiprocessor": 233472,
            }  # fmt: skip

    def get_driver_version(self) -> int:
        return 13000

    def mem_get_info(self) -> tuple[int, int]:
        return self.room_bytes, 2**34

    def pagelocked_zeros(self, shape: int, dtype: Any, mem_flags: int) -> Any:
        class Flags(np.ndarray):
            base: Any = SimpleNamespace(get_device_pointer=lambda: 0)

        return np.zeros(shape, dtype).view(Flags)

    def mem_alloc(self, size_bytes: int) -> Allocation:
        return Allocation(self, size_bytes)

    def array(self, address: Any, dtype: Any, count: int) -> np.ndarray:
        """Return a view of device memory; fails if it is not all of one allocation, or is not aligned."""
        begin, size_bytes = int(address), np.dtype(dtype).itemsize * count
        assert begin % min(np.dtype(dtype).itemsize, 16) == 0, "misaligned address"
        owners = [
            a
            for a in (*self.allocations, *self.variables.values())
            if int(a) <= begin and begin + size_bytes <= int(a) + a.size_bytes
        ]
        assert len(owners) == 1, "an access outside of device memory"
        return np.frombuffer((ctypes.c_char * size_bytes).from_address(begin), dtype)

    def memset_d32(self, address: Any, word: int, count: int) -> None:
        self.array(address, np.uint32, count)[:] = word

    def memset_d16(self, address: Any, word: int, count: int) -> None:
        self.array(address, np.uint16, count)[:] = word

    def memset_d32_async(self, address: Any, word: int, count: int, stream: None) -> None:
        self.memset_d32(address, word, count)

    def memset_d8_async(self, address: Any, byte: int, count: int, stream: None) -> None:
        self.array(address, np.uint8, count)[:] = byte

    def memcpy_dtod_async(self, target: Any, source: Any, size_bytes: int) -> None:
        self.array(target, np.uint8, size_bytes)[:] = self.array(source, np.uint8, size_bytes)

    def memcpy_htod(self, address: Any, source: np.ndarray) -> None:
        assert source.flags.forc
        self.array(address, np.uint8, source.nbytes)[:] = source.reshape(-1, order="A").view(np.uint8)

    def memcpy_dtoh(self, target: np.ndarray, address: Any) -> None:
        target.reshape(-1).view(np.uint8)[:] = self.array(address, np.uint8, target.nbytes)

    def module(self, own: OwnModule) -> Any:
        """Return a module of cudamm's own kernels."""
        c_names = dict(macro.removeprefix("-D").split("=") for macro in own.macros)
        types = [BY_C_NAME[c_names[name]] for name in ("ELEMENT", "RESULT") if name in c_names]
        quantiles = self.variables["normal_quantiles"] = Allocation(self, 2 * 65536)
        self.allocations.remove(quantiles)
        return SimpleNamespace(
            get_function=lambda name: FakeFunction(self, name, types),
            get_global=lambda name: (int(self.variables[name]), self.variables[name].size_bytes),
        )


class FakeFunction:
    """A kernel of cudamm itself, done by NumPy."""

    def __init__(self, driver: FakeDriver, name: str, types: Sequence[Any]) -> None:
        """Make a kernel.

        Args:
            types: those of the elements of A and B, and of C; empty: the kernel's name ends with the type.
        """
        self.driver = driver
        element = "" if types else next((element for element in TYPES if name.endswith(f"_{element}")), "")
        self.name = name.removesuffix(f"_{element}")
        self.type, self.type_of_c = types or (TYPES.get(element), None)

    def prepare(self, formats: str) -> None:
        self.formats = formats

    def prepared_async_call(
        self, grid: tuple[int, ...], block: tuple[int, ...], stream: None, *arguments: Any
    ) -> None:
        assert len(arguments) == len(self.formats)
        assert all(isinstance(a, float) == (f == "d") for a, f in zip(arguments, self.formats, strict=True))
        assert math.prod(block) <= 1024
        work: Callable[..., None] | None = getattr(self, f"_{self.name}", None)
        if work is not None:
            work(*arguments)

    def _write_late(self, *arguments: int) -> None:
        for saved, address, size_bytes in (arguments[:3], arguments[3:6]):
            assert (self.driver.array(address, np.uint8, size_bytes) == 255).all()
            self.driver.memcpy_dtod_async(address, saved, size_bytes)

    def _stream(self, address: int, size_bytes: int, *arguments: int) -> tuple[np.ndarray, np.ndarray]:
        first, second, distribution, largest = arguments
        quantiles = self.driver.variables["normal_quantiles"]
        assert np.array_equal(self.driver.array(quantiles, np.int16, 65536), normal_quantiles())
        memory = self.driver.array(address, self.type, size_bytes // np.dtype(self.type).itemsize)
        expected = np.empty_like(memory)
        ElementStream((first, second), DISTRIBUTIONS[distribution], largest).fill(expected)
        return memory, expected

    def _draw(self, *arguments: int) -> None:
        memory, expected = self._stream(*arguments)
        memory[:] = expected

    def _count_unlike(self, *arguments: int) -> None:
        memory, expected = self._stream(*arguments[:-1])
        self.driver.array(arguments[-1], np.uint64, 1)[0] += np.count_nonzero(memory != expected)

    def _count_changed(self, address: int, count: int, expected: int, changed: int) -> None:
        words = self.driver.array(address, np.uint32, count)
        self.driver.array(changed, np.uint64, 1)[0] += np.count_nonzero(words != expected)

    def _matrix(
        self, address: int, row: int, column: int, rows: int, columns: int, of_type: Any
    ) -> np.ndarray:
        last = (rows - 1) * row + (columns - 1) * column
        flat = self.driver.array(address, of_type, last + 1)
        size = flat.itemsize
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), (row * size, column * size))

    def _matrices(self, arguments: Sequence[int], m: int, n: int, k: int) -> list[np.ndarray]:
        """Return A, B and C, with which the arguments of a kernel begin, in long double."""
        extents = ((m, k), self.type), ((k, n), self.type), ((m, n), self.type_of_c)
        places = arguments[:3], arguments[3:6], arguments[6:9]
        return [
            self._matrix(*place, *shape, of_type).astype(np.longdouble)
            for place, (shape, of_type) in zip(places, extents, strict=True)
        ]

    def _judge_rows(self, *arguments: Any) -> None:
        rows, count, n, k, bound, rounding, least, found = arguments[9:]
        chosen = self.driver.array(rows, np.int32, count)
        m = int(chosen.max()) + 1
        a, b, c = self._matrices(arguments, m, n, k)
        a, c = a[chosen], c[chosen]
        exact, sizes = a @ b, np.abs(a) @ np.abs(b)
        allowed = bound * sizes + rounding * np.abs(exact) + least
        of_c = self.type_of_c
        nearest = exact.astype(np.float32).astype(of_c) if of_c.itemsize == 2 else exact
        wrong = ~(np.abs(c - np.where(allowed == 0, nearest, exact)) <= allowed)
        words = self.driver.array(found, np.uint64, 2)
        words[0] += np.count_nonzero(wrong)
        words[1] = int(np.argmax(wrong))

    def _sample_product(self, *arguments: Any) -> None:
        rows, row_count, columns, column_count, k, sampled = arguments[9:]
        counted = (rows, row_count), (columns, column_count)
        of_rows, of_columns = (self.driver.array(address, np.int32, count) for address, count in counted)
        m, n = int(of_rows.max()) + 1, int(of_columns.max()) + 1
        a, b, c = self._matrices(arguments, m, n, k)
        a, b = a[of_rows], b[:, of_columns]
        exact = a @ b
        high = exact.astype(np.float64)
        out = self.driver.array(sampled, np.float64, 4 * row_count * column_count)
        parts = c[np.ix_(of_rows, of_columns)], high, exact - high, a**2 @ b**2
        out[:] = np.stack(parts).reshape(-1)

    def _input_times_vector(self, *arguments: Any) -> None:
        self._times(self.type, *arguments)

    def _result_times_vector(self, *arguments: Any) -> None:
        self._times(self.type_of_c, *arguments)

    def _times(self, of_type: Any, *arguments: Any) -> None:
        x, y, squares, rows, columns = arguments[3:]
        matrix = self._matrix(*arguments[:3], rows, columns, of_type).astype(np.float64)
        self.driver.array(y, np.float64, rows)[:] = matrix @ self.driver.array(x, np.float64, columns)
        self.driver.array(squares, np.float64, rows)[:] = (matrix**2).sum(axis=1)
