"""The modules of cudamm's own kernels: nvcc compiles them at the same time, and each once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cudamm.compile.nvcc_compiler import made_by_nvcc
from cudamm.devices.own_module import (
    CEILINGS,
    PEAKS,
    SUPPORT,
    compile_own_modules,
    fresh_inputs_module,
    own_modules,
)
from cudamm.errors import NoDeviceError
from cudamm.kernels.method import ELEMENT_TYPES

pytestmark = pytest.mark.usefixtures("needs_nvcc", "own_cache")

FLOAT32 = ELEMENT_TYPES["float32"]
MODULES = own_modules(FLOAT32)


@pytest.mark.slow
def test_all_are_compiled_at_the_same_time_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    together, compiled = threading.Barrier(len(MODULES)), []

    def compile_with_the_others(command: Sequence[str], source: str, suffix: str) -> tuple[bytes, str]:
        together.wait(timeout=60)
        compiled.append(command[1])
        return made_by_nvcc(command, source, suffix)

    monkeypatch.setattr("cudamm.devices.own_module.CORES", len(MODULES))
    monkeypatch.setattr("cudamm.devices.own_module.made_by_nvcc", compile_with_the_others)
    compile_own_modules("sm_90", FLOAT32)
    assert compiled == ["-arch=sm_90"] * len(MODULES)
    monkeypatch.setattr("cudamm.devices.own_module.made_by_nvcc", None)
    compile_own_modules("sm_90", FLOAT32)
    for module in MODULES:
        assert module.image("sm_90").startswith(b"\x7fELF")


def test_code_with_wgmma_is_compiled_for_sm_90a(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: dict[str, bool] = {}

    def note(command: Sequence[str], source: str, suffix: str) -> tuple[bytes, str]:
        compiled[command[1]] = "wgmma.mma_async" in source
        return b"", ""

    monkeypatch.setattr("cudamm.devices.own_module.made_by_nvcc", note)
    for arch in ("sm_90", "sm_80"):
        PEAKS.image(arch)
    CEILINGS.image("sm_90")
    assert compiled == {"-arch=sm_90a": True, "-arch=sm_80": True, "-arch=sm_90": False}


@pytest.mark.slow
def test_a_thread_that_needs_one_waits_for_the_thread_that_compiles_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    has_begun, may_go_on, compiled = threading.Event(), threading.Event(), []

    def compile_slowly(command: Sequence[str], source: str, suffix: str) -> tuple[bytes, str]:
        compiled.append(source)
        has_begun.set()
        assert may_go_on.wait(timeout=60)
        return made_by_nvcc(command, source, suffix)

    monkeypatch.setattr("cudamm.devices.own_module.made_by_nvcc", compile_slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(SUPPORT.image, "sm_90")
        assert has_begun.wait(timeout=60)
        second = pool.submit(SUPPORT.image, "sm_90")
        may_go_on.set()
        assert first.result() == second.result()
    assert compiled == [SUPPORT.text]


@pytest.mark.slow
def test_one_that_does_not_compile_is_reported_when_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in SUPPORT.files:
        (tmp_path / name).write_text("not C++\n")
    for name in (*fresh_inputs_module(FLOAT32).files[1:], *CEILINGS.files):
        (tmp_path / name).write_text("")
    monkeypatch.setattr("cudamm.devices.own_module.FOLDER", tmp_path)
    compile_own_modules("sm_90", FLOAT32)
    with pytest.raises(NoDeviceError, match="nvcc does not work: does not compile"):
        SUPPORT.load("sm_90")
