"""A GPU keeps its number for users if the driver shows no other one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cudamm.devices import visible_gpu
from cudamm.devices.find_device import find
from cudamm.devices.gpu_device import GpuDevice
from cudamm.errors import NoDeviceError
from tests.fake_cuda_driver import FakeDriver


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Install a driver that shows one GPU; return the driver's number of each GPU that is opened."""
    numbers: list[int] = []

    class Device(FakeDriver.Device):
        def __init__(self, index: int) -> None:
            super().__init__(index)
            numbers.append(index)

    driver = FakeDriver()
    monkeypatch.setattr(driver, "Device", Device)
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: driver)
    monkeypatch.setattr("cudamm.devices.gpu_device.open_monitor", lambda bus: None)
    monkeypatch.delenv(visible_gpu.VARIABLE, raising=False)
    yield numbers
    visible_gpu.restore()


def test_the_only_gpu_that_is_shown_keeps_its_number(opened: list[int]) -> None:
    assert visible_gpu.show_only(3, 4)
    with GpuDevice(3) as device:
        assert device.info.spec == device.target().info.spec == "gpu:3"
    assert opened == [0]


def test_a_gpu_that_does_not_exist_is_refused(opened: list[int]) -> None:
    words = "there is no gpu:3: this machine has 1, the last is gpu:0; --device cpu needs no GPU"
    with pytest.raises(NoDeviceError, match=words) as refused:
        find("gpu:3")
    assert refused.value.exit_status == 2 and opened == []


@pytest.mark.parametrize(
    ("value", "are_hidden"), [(None, False), ("0", False), ("x", False), ("", True), ("-1", True)]
)
def test_a_variable_may_hide_all_gpus(
    monkeypatch: pytest.MonkeyPatch, value: str | None, are_hidden: bool
) -> None:
    monkeypatch.delenv(visible_gpu.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(visible_gpu.VARIABLE, value)
    assert visible_gpu.are_hidden() == are_hidden
