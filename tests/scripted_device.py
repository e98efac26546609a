"""A device with its own clock, on which each launch takes the duration that the test wrote into a script."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cudamm.devices.device import GUARD_BYTES, POISON, Ceilings, Device, DeviceInfo, Run, fill, guarded
from cudamm.errors import KernelError
from cudamm.kernels.launch_plan import Launch, Limits
from cudamm.kernels.method import ElementType, Method


class ScriptedRun(Run):
    """A run that computes the right product and takes the next duration of the script."""

    def __init__(
        self, device: ScriptedDevice, launch: Launch, element: ElementType, a: np.ndarray, b: np.ndarray
    ) -> None:
        super().__init__(launch, element, a, b)
        self.device = device
        self.block = launch.block[0]
        self.memory = {name: guarded(name, matrix) for name, matrix in self.matrices.items()}
        self.load(a, b)

    def launch(self, descending: bool = False) -> float:
        device = self.device
        device.launches.append("descending" if descending else "ascending")
        device.blocks.append(self.block)
        milliseconds = next(device.scripts.get(self.block, device.script))
        if milliseconds < 0:
            raise KernelError("it broke")
        device.now_s += milliseconds / 1e3
        error = device.error if len(device.launches) > device.right_launches else 0
        a, b = (self.matrices[name].astype(np.float64) for name in ("A", "B"))
        self.product()[:] = a @ b + error
        return milliseconds

    def sample(self, samples: int, launches: int = 1, cold: bool = False) -> list[float]:
        self.device.requested.append(samples * launches)
        return super().sample(samples, launches, cold)

    def _place(self, name: Any, matrix: np.ndarray) -> None:
        self.memory[name][GUARD_BYTES : GUARD_BYTES + matrix.nbytes] = matrix.reshape(-1).view(np.uint8)

    def fill_output(self, word: np.uint32 = POISON) -> None:
        c = self.matrices["C"]
        fill(self.memory["C"][GUARD_BYTES : GUARD_BYTES + c.nbytes], word)

    def region(self, name: Any) -> np.ndarray:
        return self.memory[name]

    def close(self) -> None:
        self.device.closed += 1


class ScriptedDevice(Device[str]):
    """A device on which each launch takes the next duration of a script."""

    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 * 1024)

    def __init__(
        self,
        milliseconds: Iterator[float] | None = None,
        kind: str = "gpu",
        error: float = 0,
        *,
        scripts: dict[int, Iterator[float]] | None = None,
        right_launches: int = 0,
        ceilings: Ceilings | None = None,
        floor_ms: float | None = None,
        throttled: Sequence[bool] | Iterator[bool] = (),
    ) -> None:
        """Take the durations of launches from one script for all variants, or from one for each BLOCK_SIZE.

        Args:
            milliseconds: durations of the launches of variants that are not in `scripts`. A launch with a
                negative duration raises KernelError.
            error: number added to each product, except those of the first `right_launches` launches.
            scripts: durations by BLOCK_SIZE.
            throttled: for each batch of samples, whether the device is throttled; False after the last.
        """
        self.script = milliseconds or iter(())
        self.scripts = scripts or {}
        self.right_launches = right_launches
        self._ceilings, self._floor_ms, self._throttled = ceilings, floor_ms, iter(throttled)
        self.now_s = 0.0
        self.pauses_s: list[float] = []
        self.blocks: list[int] = []
        self.info = DeviceInfo(kind, kind, "a script")
        self.has_thread_order = kind == "cpu"
        self.error = error
        self.launches: list[str] = []
        self.requested: list[int] = []  # number of launches of each request for samples
        self.opened = self.closed = 0

    def execution(self, method: Method) -> Any:
        return "gpu" if self.info.kind == "gpu" else "emulated"

    def compile(self, program: Any) -> str:
        return "compiled"

    def made_from(self, program: Any) -> list[str]:
        return [program.text]

    def open(self, program: Any, compiled: str, launch: Launch, a: np.ndarray, b: np.ndarray) -> Run:
        self.opened += 1
        return ScriptedRun(self, launch, program.element, a, b)

    def free_bytes(self) -> int:
        return 2**40

    def ceilings(self) -> Ceilings | None:
        return self._ceilings

    @property
    def event_floor_ms(self) -> float | None:
        return self._floor_ms

    def throttle_reasons(self) -> tuple[str, ...]:
        return ("power cap",) if next(self._throttled, False) else ()

    def clock_mhz(self) -> int | None:
        return 1500

    def sleep(self, seconds: float) -> None:
        self.pauses_s.append(seconds)
        self.now_s += seconds

    def with_own_clock(self, monkeypatch: pytest.MonkeyPatch) -> ScriptedDevice:
        """Replace the clock: only launches and pauses take time. Programs compile one after another."""
        clock = SimpleNamespace(monotonic=lambda: self.now_s, sleep=self.sleep)
        monkeypatch.setattr("cudamm.benchmark.measure_in_turn.time", clock)
        monkeypatch.setattr(
            "cudamm.execution.prepare.compile_each",
            lambda programs, compiled, *_: contextlib.nullcontext((p, compiled(p)) for p in programs),
        )
        return self


def silent(doing: str, done: int, total: int) -> None:
    """Ignore the progress."""
