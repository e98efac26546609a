"""What NVML tells of the GPUs before the driver starts; NVML and the driver are stand-ins."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cudamm.devices import named_devices
from cudamm.devices.listed_gpus import ListedGpu, listed_gpus
from cudamm.devices.named_devices import named_kinds
from cudamm.errors import NoDeviceError

NOT_SUPPORTED = 3

H200 = ListedGpu("NVIDIA H200", "sm_90", is_divided=False)
RTX_3090 = ListedGpu("NVIDIA GeForce RTX 3090", "sm_86", is_divided=False)
DIVIDED = ListedGpu("NVIDIA H200", "sm_90", is_divided=True)
UNKNOWN = ListedGpu("", "", is_divided=False)


class Nvml:
    """The functions of NVML that are called; it does not support what it does not know of a GPU."""

    def __init__(self, gpus: Sequence[ListedGpu | None], init: int = 0) -> None:
        self.gpus, self.init = gpus, init

    def nvmlInit_v2(self) -> int:  # noqa: N802 - NVML's name
        return self.init

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.gpus)
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index: int, gpu: Any) -> int:  # noqa: N802
        gpu._obj.value = index + 1
        return 0 if self.gpus[index] else NOT_SUPPORTED

    def nvmlDeviceGetName(self, gpu: Any, name: Any, length: int) -> int:  # noqa: N802
        name.value = self._of(gpu).name.encode()
        assert length == len(name)
        return 0 if name.value else NOT_SUPPORTED

    def nvmlDeviceGetCudaComputeCapability(self, gpu: Any, major: Any, minor: Any) -> int:  # noqa: N802
        arch = self._of(gpu).arch.removeprefix("sm_")
        if not arch:
            return NOT_SUPPORTED
        major._obj.value, minor._obj.value = int(arch[:-1]), int(arch[-1])
        return 0

    def nvmlDeviceGetMigMode(self, gpu: Any, current: Any, pending: Any) -> int:  # noqa: N802
        if "RTX" in self._of(gpu).name:
            return NOT_SUPPORTED
        current._obj.value, pending._obj.value = int(self._of(gpu).is_divided), 0
        return 0

    def _of(self, gpu: Any) -> ListedGpu:
        found = self.gpus[gpu.value - 1]
        assert found is not None
        return found


class Driver:
    """The functions of the driver that name GPUs."""

    def __init__(self, names: list[str]) -> None:
        self.names, self.has_started = names, False

    def cuInit(self, flags: int) -> int:  # noqa: N802
        self.has_started = True
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = len(self.names)
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        device._obj.value = index
        return 0

    def cuDeviceGetName(self, name: Any, length: int, device: Any) -> int:  # noqa: N802
        name.value = self.names[device.value].encode()
        return 0


Install = Callable[[Nvml | None, Driver | None], None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Return a function that installs stand-ins for NVML and the driver; None: the library is missing."""

    def put(nvml: Nvml | None, driver: Driver | None) -> None:
        def load(name: str) -> Any:
            library = nvml if "nvidia-ml" in name else driver
            if library is None:
                raise OSError(name)
            return library

        monkeypatch.setattr(ctypes, "CDLL", load)

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return put


@pytest.mark.parametrize("gpus", [[], [H200] * 4, [H200, RTX_3090], [UNKNOWN, DIVIDED]])
def test_the_list_has_what_nvml_tells_of_each_gpu(install: Install, gpus: list[ListedGpu]) -> None:
    install(Nvml(gpus), None)
    assert listed_gpus() == gpus


def test_a_gpu_that_has_fallen_off_the_bus_is_listed_without_a_name(install: Install) -> None:
    install(Nvml([H200, None]), None)
    assert listed_gpus() == [H200, UNKNOWN]


@pytest.mark.parametrize("nvml", [None, object(), Nvml([H200], init=9)])
def test_without_nvml_the_list_is_empty(install: Install, nvml: Any) -> None:
    install(nvml, None)
    assert listed_gpus() == []


def test_the_driver_need_not_start_to_list_gpus_that_are_all_alike(install: Install) -> None:
    driver = Driver([])
    install(Nvml([H200] * 3), driver)
    (kind,) = named_kinds("all")
    assert (kind.name, kind.specs) == ("NVIDIA H200", ("gpu:0", "gpu:1", "gpu:2"))
    assert not driver.has_started
    with pytest.raises(NoDeviceError, match=r"there is no gpu:3, this machine has 3"):
        named_kinds("gpu:0,3")


@pytest.mark.parametrize("gpus", [[H200, RTX_3090], [DIVIDED] * 2, [UNKNOWN] * 2, [H200, None], []])
def test_the_driver_numbers_gpus_that_may_differ(install: Install, gpus: list[ListedGpu | None]) -> None:
    install(Nvml(gpus), Driver(["B", "A", "B"]))
    assert [(kind.name, kind.specs) for kind in named_kinds("all")] == [
        ("B", ("gpu:0", "gpu:2")), ("A", ("gpu:1",)),
    ]  # fmt: skip


def test_the_driver_lists_the_gpus_that_a_variable_leaves(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(Nvml([H200] * 4), Driver(["NVIDIA H200"] * 2))
    monkeypatch.setenv(named_devices.visible_gpu.VARIABLE, "2,3")
    assert named_kinds("all")[0].specs == ("gpu:0", "gpu:1")


def test_without_nvml_and_a_driver_there_is_no_gpu(install: Install) -> None:
    install(None, None)
    with pytest.raises(NoDeviceError, match="there is no NVIDIA driver here"):
        named_kinds("all")
