"""The driver of a worker process shows one GPU, which keeps its number."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator

import pytest

from cudamm.devices import visible_gpu
from cudamm.devices.gpu_device import GpuDevice
from cudamm.errors import UsageError
from cudamm.execution import worker_process
from tests.fake_cuda_driver import FakeDriver

VARIABLE = "CUDA_VISIBLE_DEVICES"

NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE."""


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unset the variable, and show all GPUs again after the test."""
    monkeypatch.delenv(VARIABLE, raising=False)
    yield
    visible_gpu.show_all()


class Driver:
    """A driver of a machine with some GPUs; it reads the variable as CUDA's programming guide describes."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.shown: list[str] = []

    def cuInit(self, flags: int) -> int:  # noqa: N802 - the driver's name
        here = [str(number) for number in range(self._count)] + [f"GPU-{n}" for n in range(self._count)]
        listed = os.environ.get(VARIABLE, ",".join(here[: self._count])).split(",")
        end = next((i for i, entry in enumerate(listed) if entry not in here), len(listed))
        self.shown = listed[:end]
        return 0 if self.shown else NO_DEVICE


@pytest.mark.parametrize(
    ("listed", "index", "shown"),
    [
        (None, 0, ["0"]),
        (None, 3, ["3"]),
        ("2,0", 0, ["2"]),
        ("2, 0", 1, ["0"]),
        ("GPU-1,GPU-3", 1, ["GPU-3"]),
        # There is no such GPU. The driver then shows what it would have shown, and its count is reported.
        (None, 4, ["0", "1", "2", "3"]),
        ("2,0", 2, ["2", "0"]),
        ("2,-1,0", 1, ["2"]),
        ("1,9", 1, ["1"]),
        ("-1", 0, []),
        ("", 0, []),
    ],
)
def test_the_driver_shows_the_gpu_with_the_number_that_it_has_among_all(
    monkeypatch: pytest.MonkeyPatch, listed: str | None, index: int, shown: list[str]
) -> None:
    if listed is not None:
        monkeypatch.setenv(VARIABLE, listed)
    driver = Driver(4)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    started = worker_process._started_driver(index)
    assert driver.shown == shown and (started is None) == (not shown)
    is_only = visible_gpu.driver_number(index) == 0 and len(shown) == 1
    assert is_only or os.environ.get(VARIABLE) == listed
    if is_only and index:
        assert visible_gpu.driver_number(index - 1) == index - 1  # no other number means this GPU


def test_without_a_driver_the_variable_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert worker_process._started_driver(1) is None and VARIABLE not in os.environ


@pytest.mark.parametrize(
    ("value", "are_hidden"), [(None, False), ("0", False), ("x", False), ("", True), ("-1,0", True)]
)
def test_a_variable_may_hide_all_gpus(
    monkeypatch: pytest.MonkeyPatch, value: str | None, are_hidden: bool
) -> None:
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    assert visible_gpu.are_hidden() == are_hidden


def test_the_only_gpu_that_is_shown_keeps_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()  # has one GPU
    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", lambda: driver)
    monkeypatch.setattr("cudamm.devices.gpu_device.open_monitor", lambda bus: None)
    with pytest.raises(UsageError, match="there is no gpu:3: this machine has 1"):
        GpuDevice(3)
    visible_gpu.show_only(3)
    with GpuDevice(3) as device:
        assert device.info.spec == device.target().info.spec == "gpu:3"
