"""`--device` with several devices: which are named, how many processes start, and a table for each kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import repeat
from typing import Any

import pytest
from scripted_device import ScriptedDevice

from cudamm.cli.chosen_devices import useful_devices
from cudamm.devices import named_devices
from cudamm.devices.device import Ceilings, DeviceInfo
from cudamm.devices.find_device import find
from cudamm.devices.named_devices import named_kinds
from cudamm.errors import NoDeviceError
from cudamm.execution.in_process_executor import InProcessExecutor

Opened = list[str]


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Opened]:
    """Return a function that pretends that there are GPUs with these names, and returns the opened ones."""

    def arrange(*names: str) -> Opened:
        opened: Opened = []

        class OnTheProcessor(InProcessExecutor):
            def __init__(self, spec: str, timeout_s: float, expected: Any = None) -> None:
                opened.append(spec)
                super().__init__(find("cpu"))

        monkeypatch.setattr(named_devices, "_gpu_names", lambda: list(names))
        monkeypatch.setattr("cudamm.execution.worker_executor.WorkerExecutor", OnTheProcessor)
        return opened

    return arrange


@pytest.mark.parametrize(
    ("spec", "kinds"),
    [
        ("auto", [("auto",)]),
        ("gpu:7", [("gpu:7",)]),  # opening it will tell whether it exists
        ("cpu,cpu", [("cpu", "cpu")]),
        ("all", [("gpu:0", "gpu:1", "gpu:3"), ("gpu:2",)]),
        ("gpu:1,0", [("gpu:1", "gpu:0")]),
        ("gpu:2,gpu:1", [("gpu:2",), ("gpu:1",)]),
    ],
)
def test_names_mean_devices_grouped_by_kind(
    gpus: Callable[..., Opened], spec: str, kinds: list[tuple[str, ...]]
) -> None:
    gpus("H200", "H200", "L4", "H200")
    assert [kind.specs for kind in named_kinds(spec)] == kinds


@pytest.mark.parametrize(
    ("devices", "status", "words"),
    [
        ("gpu:0,0", 2, "names gpu:0 twice"),
        ("gpu:0,7", 3, "there is no gpu:7, this machine has 2"),
        ("gpu,cpu,tpu", 2, "gpu is not a device of a list"),
        ("cpu,", 2, "an empty name is not a device"),
        ("all,cpu", 2, "all is not a device of a list"),
    ],
)
def test_a_wrong_list_is_refused_with_what_is_wrong(
    run: Any, gpus: Callable[..., Opened], devices: str, status: int, words: str
) -> None:
    opened = gpus("H200", "H200")
    run(f"verify -m naive -n 8 --device {devices}").refused(status, words)
    assert not opened


def test_all_is_refused_without_a_gpu(run: Any, monkeypatch: pytest.MonkeyPatch, gpus: Any) -> None:
    gpus()

    def no_gpu() -> list[str]:
        raise NoDeviceError("no GPU can be used (the driver finds none)")

    monkeypatch.setattr(named_devices, "_gpu_names", no_gpu)
    run("sweep -m naive -n 8 --device all").refused(3, "no GPU can be used")


@pytest.mark.parametrize("line", ["profile -m naive --device all", "roofline -m naive --device gpu:0,1"])
def test_a_command_for_one_device_refuses_several(run: Any, line: str) -> None:
    run(line).refused(2, "names several devices, and this command uses one")


def test_each_kind_has_its_own_table(run: Any, gpus: Callable[..., Opened]) -> None:
    opened = gpus("H200", "L4")
    ended = run("verify -m naive -n 8 --dtype float32 --device all")
    assert ended.status == 0 and ended.stdout.count("1 of 1 results are right") == 2
    assert opened == ["gpu:0", "gpu:1"]


def test_bench_prints_the_rate_of_each_method_on_each_kind(
    run: Any, gpus: Callable[..., Opened], monkeypatch: pytest.MonkeyPatch
) -> None:
    gpus("H200", "L4")
    milliseconds = {"gpu:0": {8: 2.0, 16: 1.0}, "gpu:1": {8: 4.0, 16: 8.0}}

    class Scripted(InProcessExecutor):
        def __init__(self, spec: str, timeout_s: float, expected: Any = None) -> None:
            scripts = {block: repeat(ms) for block, ms in milliseconds[spec].items()}
            device = ScriptedDevice(scripts=scripts, ceilings=Ceilings(1e6, 1e6))
            device.info = DeviceInfo("gpu", spec, {"gpu:0": "H200", "gpu:1": "L4"}[spec], {"driver": "580"})
            super().__init__(device)

    monkeypatch.setattr("cudamm.execution.worker_executor.WorkerExecutor", Scripted)
    ended = run("bench -m coalesced --block 8,16 -n 100 --device all --runs 3")
    assert ended.status == 0, ended.stderr
    table = ended.stdout.partition("GFLOP/s by GPU")[2].splitlines()
    cells = [[cell.strip() for cell in re.split("[│┃]", line)[1:-1]] for line in table]
    assert cells[2] == ["method", "H200", "L4"]
    assert cells[4] == ["coalesced BLOCK_SIZE=8", "1.00", "0.500 best"]
    assert cells[5] == ["coalesced BLOCK_SIZE=16", "2.00 best", "0.250"]


def test_files_are_refused_for_several_kinds(run: Any, gpus: Callable[..., Opened]) -> None:
    gpus("H200", "L4", "L4")
    ended = run("verify -m naive -n 8 --device all --json -")
    ended.refused(2, "2 kinds (H200, L4)", "--device gpu:1,gpu:2")


@pytest.mark.parametrize(("sizes", "devices"), [(8, 1), (9, 2), (16, 2), (17, 3), (40, 3)])
def test_only_as_many_processes_start_as_pay(
    run: Any, gpus: Callable[..., Opened], sizes: int, devices: int
) -> None:
    opened = gpus("H200", "H200", "H200")
    shapes = " ".join(f"-n {8 + n}" for n in range(sizes))
    ended = run(f"verify -m naive --dtype int32 {shapes} --device all --json -")
    assert ended.status == 0 and len(ended.records) == sizes
    assert opened == [f"gpu:{n}" for n in range(devices)]
    assert useful_devices(sizes) >= devices


def test_bench_starts_a_process_for_each_problem_at_most(run: Any, gpus: Callable[..., Opened]) -> None:
    opened = gpus("H200", "H200", "H200")
    assert run("bench -m naive -n 8 -n 9 --device gpu:0,1,2 --json -").status == 0
    assert opened == ["gpu:0", "gpu:1"]
