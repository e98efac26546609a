"""What a worker process learns of the GPUs before the driver is initialised; NVML is a stand-in."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from cudamm.execution.worker_process import architectures_of_nvml

NOT_SUPPORTED = 3


class Nvml:
    """The functions of NVML that are called; a GPU without a capability does not tell it."""

    def __init__(self, capabilities: list[tuple[int, int] | None]) -> None:
        self.capabilities = capabilities

    def nvmlInit_v2(self) -> int:  # noqa: N802 - NVML's name
        return 0

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.capabilities)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, gpu: Any) -> int:  # noqa: N802
        gpu._obj.value = index + 1
        return 0

    def nvmlDeviceGetCudaComputeCapability(self, gpu: Any, major: Any, minor: Any) -> int:  # noqa: N802
        capability = self.capabilities[gpu.value - 1]
        if capability is None:
            return NOT_SUPPORTED
        major._obj.value, minor._obj.value = capability
        return 0


@pytest.mark.parametrize(
    ("capabilities", "expected"),
    [
        ([], set()),
        ([(9, 0)] * 4, {"sm_90"}),
        ([(9, 0), (8, 6)], {"sm_90", "sm_86"}),
        ([None, (12, 0), None], {"sm_120"}),
    ],
)
def test_the_architectures_are_those_that_nvml_tells(
    monkeypatch: pytest.MonkeyPatch, capabilities: Any, expected: set[str]
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Nvml(capabilities))
    assert architectures_of_nvml() == expected


@pytest.mark.parametrize("error", [OSError, AttributeError])
def test_without_nvml_no_architecture_is_known(monkeypatch: pytest.MonkeyPatch, error: Any) -> None:
    def load(name: str) -> Any:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert architectures_of_nvml() == set()
