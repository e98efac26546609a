"""The description of a GPU that another process has opened."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from cudamm.compile.program import program
from cudamm.devices.device import Ceilings, DeviceInfo
from cudamm.devices.gpu_device import GpuTarget
from cudamm.devices.gpu_support import read_ceilings
from cudamm.errors import NoDeviceError
from cudamm.kernels.architecture import find_architecture
from cudamm.kernels.ladder import find
from cudamm.kernels.launch_plan import Limits
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import variants

LIMITS = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024)


def target(driver_cuda: str) -> GpuTarget:
    info = DeviceInfo("gpu", "gpu:0", "a GPU", {"driver_cuda": driver_cuda})
    # The worker process sends the target pickled.
    received: GpuTarget = pickle.loads(pickle.dumps(GpuTarget(info, LIMITS, find_architecture("sm_90"))))  # noqa: S301
    return received


def test_a_target_refuses_to_compile_code_that_the_driver_cannot_load(needs_nvcc: None) -> None:
    (variant,) = variants(find("tiled"), {})
    with pytest.raises(NoDeviceError, match=r"CUDA 11\.8"):
        target("11.8").compile(program(variant, ELEMENT_TYPES["float32"], True))


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", '{"fma_gflops": 1}', '{"fma_gflops": "x", "copy_gbytes_per_s": 1}',
     '{"fma_gflops": 0, "copy_gbytes_per_s": 1}', '{"fma_gflops": NaN, "copy_gbytes_per_s": 1e300}',
     '{"fma_gflops": null, "copy_gbytes_per_s": 4}'],
)  # fmt: skip
def test_damaged_ceilings_in_the_cache_are_not_used(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ceilings.json"
    path.write_text(text)
    assert read_ceilings(path) is None
    path.write_text('{"fma_gflops": 51000.5, "copy_gbytes_per_s": 4000}')
    assert read_ceilings(path) == Ceilings(51000.5, 4000)
