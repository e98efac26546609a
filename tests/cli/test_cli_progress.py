"""Progress of several devices: a line for each below the bar, and the device's name with `--verbose`."""

from __future__ import annotations

import io
import re
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from cudamm.cli import progress_bar as module
from cudamm.cli.chosen_devices import opened
from cudamm.cli.output_options import OutputOptions
from cudamm.execution.executor_group import device_threads

VERIFY = "verify -m naive --dtype int32 " + " ".join(f"-n {size}" for size in range(8, 18))
"""Ten cases, for which two devices pay."""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def has_shown(self, *texts: str) -> bool:
        """Wait until these texts have been written, in this order; return whether they have."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            written, place = self.getvalue(), 0
            for text in texts:
                place = written.find(text, place) + 1
                if not place:
                    break
            else:
                return True
            time.sleep(0.02)
        return False

    def last_frame(self) -> str:
        """Return what is written from now on, in two refreshes of the bar, or one on a busy machine."""
        begin, deadline = len(self.getvalue()), time.monotonic() + 10
        time.sleep(0.3)
        while len(self.getvalue()) == begin and time.monotonic() < deadline:
            time.sleep(0.02)
        return self.getvalue()[begin:]


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    console = Console(file=found, force_terminal=True, width=60, color_system=None, highlight=False)
    monkeypatch.setattr(module, "messages", lambda: console)
    return found


def executors(*names: str) -> Any:
    members = [SimpleNamespace(spec=name, is_open=lambda *_: True) for name in names]
    return SimpleNamespace(members=members)


@pytest.mark.slow
def test_each_device_has_a_line_with_what_it_runs_until_it_has_no_more(terminal: Terminal) -> None:
    both_report, first_has_ended = threading.Barrier(2), threading.Event()
    seen: list[bool] = []

    with module.progress_bar(OutputOptions()) as report:

        def work(member: Any) -> Iterator[str]:
            report(f"naive on {member.spec}", 3, 18)
            both_report.wait(10)
            if member.spec == "gpu:0":
                seen.append(terminal.has_shown("3/18", "  gpu:0        naive", "  node1/gpu:1  naive"))
                yield "done"
                return
            first_has_ended.wait(10)
            frame = terminal.last_frame()
            seen.append("  node1/gpu:1  naive on node1/gpu:1" in frame and "  gpu:0 " not in frame)
            yield "done"

        with device_threads(executors("gpu:0", "node1/gpu:1")) as threads:
            for _ in threads.run(work, lambda: False):
                first_has_ended.set()
        assert seen == [True, True]
        report("finalist naive", 17, 18)
        frame = terminal.last_frame()
        assert "finalist naive" in frame and "17/18" in frame and "gpu:" not in frame


def test_one_device_has_the_bar_alone(terminal: Terminal) -> None:
    with module.progress_bar(OutputOptions()) as report:

        def work(member: Any) -> Iterator[str]:
            report("naive", 3, 18)
            yield terminal.last_frame()

        with device_threads(executors("gpu:0")) as threads:
            (frame,) = threads.run(work, lambda: False)
    assert "naive" in frame and "3/18" in frame and "gpu:0" not in frame


def test_a_line_is_cut_at_the_width_of_the_terminal(terminal: Terminal) -> None:
    with module.progress_bar(OutputOptions()) as report:

        def work(member: Any) -> Iterator[bool]:
            report("x" * 100, 3, 18)
            yield terminal.has_shown("  gpu:1  " + "x" * 50 + "…")

        with device_threads(executors("gpu:0", "gpu:1")) as threads:
            assert list(threads.run(work, lambda: False)) == [True, True]


def filled(frame: str) -> int:
    """Return the number of characters of the last bar in a frame: without colours the rest is not drawn."""
    return len(re.findall("[━╸]+", frame)[-1])


@pytest.mark.slow
def test_the_bar_never_moves_back_and_its_clock_runs(terminal: Terminal) -> None:
    # The steps have names of one length, so that the bar always has the same room.
    steps = [
        ("compiling 01", 1, 2), ("verifying 01", 0, 3), ("compiling 02", 2, 2), ("timing 00001", 1, 3),
        ("tracing 0001", 0, 3), ("compiling 03", 1, 2),
    ]  # fmt: skip
    widths = []
    with module.progress_bar(OutputOptions(), part=(0.0, 0.5)) as report:
        for doing, done, total in steps:
            report(doing, done, total)
            frame = terminal.last_frame()
            assert f"{done}/{total}" in frame and re.search(r"\d:\d\d:\d\d", frame)
            widths.append(filled(frame))
    with module.progress_bar(OutputOptions(), part=(0.5, 1.0), first_step="tracing 0001") as report:
        frame = terminal.last_frame()
        assert "tracing" in frame
        widths.append(filled(frame))
    assert widths == sorted(widths) and 0 < widths[0] < widths[2] < widths[-1]


def test_the_device_that_is_being_opened_is_shown_until_it_is_open(terminal: Terminal) -> None:
    class Opening:
        @property
        def target(self) -> bool:
            return terminal.has_shown("opening the device")

    assert opened(Opening(), OutputOptions()) is True  # type: ignore[arg-type]


def test_steps_say_what_is_being_done(run: Any) -> None:
    lines = run("check -m naive -n 8 -v").stderr + run("verify -m naive -n 8 --dtype int32 -v").stderr
    for step in ("0 of 1: compiling naive", "checking naive BLOCK_SIZE=32 at 8x8x8", "verifying naive"):
        assert step in lines


@pytest.mark.long
def test_verbose_lines_name_the_device_if_there_are_several(run: Any) -> None:
    lines = run(f"{VERIFY} --device cpu,cpu -v").stderr.splitlines()
    cases = [line for line in lines if "naive at" in line or "naive BLOCK" in line]
    assert len(cases) == 10 and all(line.endswith(" int32 on cpu") for line in cases)
    assert " on cpu" not in run(f"{VERIFY} --device cpu -v").stderr
