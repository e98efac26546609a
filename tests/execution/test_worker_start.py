"""The driver of a worker process shows one GPU if it is certain which one; the driver is a stand-in."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from cudamm.devices import visible_gpu
from cudamm.devices.listed_gpus import ListedGpu
from cudamm.execution import worker_process

VARIABLE = "CUDA_VISIBLE_DEVICES"

NO_DEVICE = 100
"""CUDA_ERROR_NO_DEVICE."""

H200 = ListedGpu("NVIDIA H200", "sm_90", is_divided=False)
L4 = ListedGpu("NVIDIA L4", "sm_89", is_divided=False)
DIVIDED = ListedGpu("NVIDIA H200", "sm_90", is_divided=True)


@pytest.fixture(autouse=True)
def variable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Unset the variable, and restore it after the test."""
    monkeypatch.delenv(VARIABLE, raising=False)
    yield
    visible_gpu.restore()


class Driver:
    """A driver of a machine with some GPUs; it reads the variable as CUDA's programming guide describes."""

    def __init__(self, count: int) -> None:
        self._gpus = [*map(str, range(count)), *(f"GPU-{number}" for number in range(count))]
        self._count = count
        self.shown: list[str] = []
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: object) -> int:
            self.done.append(name)
            return 0

        return call

    def cuInit(self, flags: int) -> int:  # noqa: N802 - the driver's name
        self.done.append("cuInit")
        listed = os.environ.get(VARIABLE, ",".join(self._gpus[: self._count])).split(",")
        end = next((i for i, entry in enumerate(listed) if entry not in self._gpus), len(listed))
        self.shown = [] if len(set(listed)) < len(listed) else listed[:end]
        return 0 if self.shown else NO_DEVICE


@pytest.mark.parametrize(
    ("listed", "index", "gpu", "shown"),
    [
        (None, 0, "0", ["0"]),
        (None, 3, "3", ["3"]),
        ("2,0", 0, "2", ["2"]),
        ("2,0", 1, "0", ["0"]),
        ("3", 0, "3", ["3"]),
        # The driver shows what the user's variable lists, and reports how many GPUs these are.
        (None, 4, None, ["0", "1", "2", "3"]),
        ("2,0", 2, None, ["2", "0"]),
        ("2,-1,0", 2, None, ["2"]),
        ("0,x,1", 2, None, ["0"]),
        ("1,9,0", 2, None, ["1"]),
        ("0,0", 1, None, []),
        ("", 0, None, []),
        ("-1", 0, None, []),
        # Such names are not in NVML's list.
        ("GPU-1,GPU-3", 1, "GPU-3", ["GPU-1", "GPU-3"]),
    ],
)
def test_a_number_means_the_gpu_that_it_meant_without_a_worker_process(
    monkeypatch: pytest.MonkeyPatch, listed: str | None, index: int, gpu: str | None, shown: list[str]
) -> None:
    if listed is not None:
        monkeypatch.setenv(VARIABLE, listed)
    driver = Driver(4)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    started = worker_process._started_driver(index, [H200] * 4)
    assert driver.shown == shown and (started is None) == (not shown)
    number = visible_gpu.driver_number(index)
    assert (driver.shown[number] if number < len(driver.shown) else None) == gpu
    visible_gpu.restore()
    assert os.environ.get(VARIABLE) == listed


@pytest.mark.parametrize("gpus", [[], [H200, L4], [DIVIDED] * 2, [ListedGpu("", "", is_divided=False)] * 2])
def test_all_gpus_are_shown_if_their_order_may_differ(
    monkeypatch: pytest.MonkeyPatch, gpus: Sequence[ListedGpu]
) -> None:
    driver = Driver(2)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert worker_process._started_driver(1, gpus) is not None
    assert driver.shown == ["0", "1"] and visible_gpu.driver_number(1) == 1


def test_all_gpus_are_shown_if_the_driver_has_fewer_than_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(2)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    assert worker_process._started_driver(3, [H200] * 4) is not None
    assert driver.shown == ["0", "1"] and VARIABLE not in os.environ


def test_without_a_driver_the_variable_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert worker_process._started_driver(1, [H200] * 2) is None and VARIABLE not in os.environ


@pytest.fixture
def may_open(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Return the event that lets the worker process open its device."""
    event = threading.Event()
    monkeypatch.setattr(worker_process, "_may_open_device", event)
    return event


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    """Return the driver of two equal GPUs, which also notes the turns; nothing is compiled."""
    driver = Driver(2)

    @contextlib.contextmanager
    def noted_turn() -> Iterator[None]:
        driver.done.append("turn begins")
        yield
        driver.done.append("turn ends")

    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    monkeypatch.setattr(worker_process, "listed_gpus", lambda: [H200] * 2)
    monkeypatch.setattr(worker_process, "driver_turn", noted_turn)
    monkeypatch.setattr(worker_process, "_compile_own_modules", lambda arch, element_name: None)
    return driver


def test_a_process_keeps_its_turn_until_it_has_a_context(driver: Driver, may_open: threading.Event) -> None:
    worker_process._prepare("gpu:1")
    assert driver.done == ["turn begins", "cuInit", "cuDeviceGet", "cuDevicePrimaryCtxRetain", "turn ends"]
    assert may_open.is_set()


def test_a_driver_that_cannot_start_ends_the_turn(
    driver: Driver, may_open: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "7")
    worker_process._prepare("gpu")
    assert driver.done == ["turn begins", "cuInit", "turn ends"] and may_open.is_set()


def test_the_cpu_needs_no_driver(driver: Driver, may_open: threading.Event) -> None:
    worker_process._prepare("cpu")
    assert not driver.done and may_open.is_set()
