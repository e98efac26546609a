"""Arguments of kernels on a GPU: tensor maps by value and by address, on a stand-in for the driver."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cudamm.compile.nvcc_compiler import compile_for_gpu
from cudamm.compile.program import program
from cudamm.devices.device import Slot
from cudamm.devices.gpu_device import GpuDevice
from cudamm.devices.gpu_timed_memory import WINDOWS
from cudamm.devices.source_module import CompiledSource
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import TensorMap, plan
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant
from tests.fake_cuda_driver import FakeDriver

FLOAT32 = ELEMENT_TYPES["float32"]
TWO_MAPS = """\
// args:    M, tensor_map(A, 8, 8), C, tensor_map(A, 8, 4), file(order.npy)
// threads: 1
// grid:    1

#include <cuda.h>

__global__ void two_maps(int M, const CUtensorMap *in_memory, float *C,
                         const __grid_constant__ CUtensorMap map, const short *order) {
    C[M] = *(const int *)in_memory + *(const int *)&map + order[0];
}
"""


class Function:
    """A loaded kernel that keeps the arguments of its launches."""

    max_threads_per_block, num_regs, shared_size_bytes = 1024, 8, 0

    def __init__(self) -> None:
        self.launches: list[tuple[Any, ...]] = []

    def prepare(self, formats: str) -> None:
        self.formats = formats

    def prepared_async_call(self, grid: Any, block: Any, stream: None, *arguments: Any, **_: Any) -> None:
        self.launches.append(arguments)


def encoded(spec: TensorMap, address: int, *_: object) -> bytes:
    """Return bytes that tell the map's matrix and box, in place of what the driver makes."""
    return np.array([address, spec.box_columns], np.int64).tobytes() + bytes(112)


@pytest.mark.usefixtures("needs_nvcc")
def test_pointers_to_tensor_maps_and_to_arrays_of_files_get_addresses_in_device_memory(
    monkeypatch: pytest.MonkeyPatch, write_kernel: Callable[..., Path], tmp_path: Path
) -> None:
    np.save(tmp_path / "order.npy", np.array([3, 1, 2], np.int16))
    driver, function = FakeDriver(), Function()
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: driver)
    monkeypatch.setattr("cudamm.devices.gpu_device.open_monitor", lambda bus: None)
    monkeypatch.setattr(
        "cudamm.devices.own_module.OwnModule.load", lambda module, arch: driver.module(module)
    )
    monkeypatch.setattr("cudamm.devices.gpu_device.encode", encoded)
    source = program(Variant(read_method(write_kernel(TWO_MAPS)), ()), FLOAT32, True)
    cubin = compile_for_gpu(source, "sm_90")
    module: Any = SimpleNamespace(load=lambda: SimpleNamespace(get_function=lambda name: function))
    compiled = CompiledSource(cubin.image, cubin.arch, cubin.kernel, module)
    problem = Problem(Shape(8, 8, 8), FLOAT32)
    launch = plan(Variant(source.method, ()), problem.shape, FLOAT32)
    with GpuDevice(0) as device:
        run = device.open(source, compiled, launch, *problem.inputs)
        run.launch()
        run.launch()
        first, second = function.launches
        assert first == second
        rows, in_memory, _, by_value, order = first
        assert driver.array(order, np.int16, 3).tolist() == [3, 1, 2]
        assert rows == 8 and function.formats.count("128s") == 1
        assert in_memory % 64 == 0
        kept = driver.array(in_memory, np.int64, 16)
        assert (kept[1], kept[2:].any()) == (8, False)
        assert np.frombuffer(by_value, np.int64)[:2].tolist() == [kept[0], 4]
        # Launches on other matrices may be queued together, so each has a map of its own.
        run.redraw(problem)
        slots = [Slot(WINDOWS[0]), Slot(WINDOWS[1]), Slot(WINDOWS[0])]
        run.time(slots)
        assert {arguments[4] for arguments in function.launches} == {order}
        others = {arguments[1] for arguments in function.launches[2:]}
        assert in_memory not in others
        described = {int(driver.array(address, np.int64, 1)[0]) for address in others}
        assert len(described) == len(others) == 2
