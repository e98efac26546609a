"""The description of a GPU that another process has opened."""

from __future__ import annotations

import pickle

import pytest

from cudamm.compile.program import program
from cudamm.devices.device import DeviceInfo
from cudamm.devices.gpu_device import GpuTarget
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
