"""Signals at random moments of every command."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from arena import KERNEL, Arena, Ended, Line, Snapshot
from contract import UNWANTED, why_not_whole

from cudamm.benchmark.journal import journal_path, read_journal

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)

KERNEL_OPTIONS = "--kernel mine.cu --block all -n 64"
COMMANDS = {
    "bench": (
        f"{KERNEL_OPTIONS} -m naive --runs 3",
        "-m tiled --block all -n 64 --times --max-time 5 --max-noise 0.0001%",
    ),
    "verify": (KERNEL_OPTIONS,),
    "sweep": (f"{KERNEL_OPTIONS} --runs 3", "-m tiled -n 64 --times --max-time 5 --max-noise 0.0001%"),
    "tune": (KERNEL_OPTIONS,),
    "trace": (f"{KERNEL_OPTIONS} --all", "-m tiled -n 256 --all"),
    "check": (KERNEL_OPTIONS, "-m tiled -n 100"),
    "grade": ("assignment.toml mine.cu",),
    "occupancy": ("-m tiled,naive --block all", "--threads 1:1024 --registers 1:255 --arch sm_86"),
    "roofline": ("--peak 19500 --bandwidth 1555",),
    "profile": ("-m naive",),
    "show": ("-m naive,tiled --block all", "-m tiled --ptx"),
    "report": ("gpu.json -o out.html",),
    "compare": ("old.json new.json",),
    "list": ("",),
    "reproduce": ("sjtu -n 64", "cmu -n 64"),
    "devices": ("",),
    "health": ("",),
    "worker": ("--scheduler tcp://127.0.0.1:9 --device cpu,cpu",),
    "doctor": ("",),
    "completion": ("bash",),
}
"""Command lines that take a second or two, so that a signal comes in time."""

WITHOUT_JSON = {"show", "report", "completion", "worker"}
RESUMING = {"bench", "sweep"}

LONGEST_S = {
    "bench": 4.0,
    "sweep": 4.0,
    "reproduce": 6.0,
    "trace": 3.0,
    "check": 3.0,
    "verify": 3.0,
    "tune": 3.0,
}
"""Time within which the signal is sent, in seconds; a second for the others."""


@dataclass(frozen=True)
class Kill:
    """A signal at a moment of a command.

    Attributes:
        is_cold: whether the cache of compiled programs is empty, so that compilers run.
    """

    line: Line
    is_cold: bool


def random_kill(numbers: random.Random, command: str, answer_s: float, cold_share: float) -> Kill:
    """Return a signal at a random moment of a command."""
    number = numbers.choice(SIGNALS)
    words = [command, *numbers.choice(COMMANDS[command]).split()]
    outputs = {}
    if command not in WITHOUT_JSON and numbers.random() < 0.7:
        outputs["--json"] = "out.json"
        if command in RESUMING and numbers.random() < 0.5:
            outputs = {"--resume": "out.json"}
        words += [word for pair in outputs.items() for word in pair]
    if command == "report":
        outputs["--output"] = "out.html"
    is_cold = numbers.random() < cold_share
    longest_s = LONGEST_S.get(command, 1.0) * (3 if is_cold else 1)
    moment_s = longest_s * numbers.random() ** 2  # more often early: most commands are short
    line = Line(
        tuple(words),
        outputs=outputs,
        fresh=numbers.random() < 0.3,
        signals=((moment_s, int(number)),),
        to_all=number in (signal.SIGINT, signal.SIGHUP) and numbers.random() < 0.5,
        answer_s=answer_s,
    )
    return Kill(line, is_cold)


def breaches(arena: Arena, kill: Kill) -> list[str]:
    """Kill a command, and return what it lost or left."""
    if kill.is_cold:
        shutil.rmtree(arena.cache, ignore_errors=True)
    before = arena.snapshot()
    ended = arena.run(kill.line)
    found = [*_of_the_end(kill.line, ended), *_lost(arena, kill.line, before)]
    if _is_sigkill(kill.line):
        _run_what_cleans_up(arena)
    after = arena.snapshot()
    new = after.keys() - before.keys() - _expected(kill.line)
    found += [f"left the file {name!r}" for name in new]
    found += [f"left {path.name} in {path.parent.name}" for path in _remains(arena)]
    for path in _remains(arena):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if before != after or found:
        arena.fill()
    return found


def _remains(arena: Arena) -> list[Path]:
    """Return temporary files outside of the working folder. Other tests write to a cache that is shared."""
    in_cache = arena.cache.glob("cudamm-temporary-*") if arena.owns_cache else ()
    return [*arena.temporary.iterdir(), *in_cache, *arena.data.rglob(".*")]


def _run_what_cleans_up(arena: Arena) -> None:
    """Run commands that write the same file, and compile, after SIGKILL: they remove what it left there."""
    program = arena.folder / "next.cu"
    text = KERNEL.replace("sum = START", f"sum = START + 0 * {time.time_ns() % 10**9}")  # in no cache
    program.write_text(text)
    words = "bench --kernel next.cu --block 4 -n 8 --runs 1 --warmup 0 --times --json out.json"
    arena.run(Line(tuple(words.split()), figures=False))
    program.unlink()


def _is_sigkill(line: Line) -> bool:
    return line.signals[0][1] == signal.SIGKILL


def _expected(line: Line) -> set[str]:
    """Return the names of files that may be new."""
    return {*line.outputs.values(), *(f"{name}.journal" for name in line.outputs.values()), "out.json"}


def _of_the_end(line: Line, ended: Ended) -> list[str]:
    """Return what is wrong about how a command ended."""
    number = line.signals[0][1]
    found = []
    if ended.hung:
        found.append(f"no answer within {line.answer_s:g} s")
    elif ended.status not in {0, 1, 2, 3, -number, 128 + number}:
        found.append(f"status {ended.status}")
    if ended.left:
        found.append(f"left processes: {ended.left}")
    if (match := UNWANTED.search(ended.stderr)) and not _came_before_main(line, ended):
        found.append(f"standard error has {match.group().strip()!r}, and ends {ended.stderr[-300:]!r}")
    return found


def _came_before_main(line: Line, ended: Ended) -> bool:
    """Return whether Python was still starting when the signal came, and answered in its own way."""
    messages = "Fatal Python error: init_", "failed to set __main__.__loader__"
    own = any(message in ended.stderr for message in messages)
    return line.fresh and (own or ended.status == -line.signals[0][1])


def _lost(arena: Arena, line: Line, before: Snapshot) -> list[str]:
    """Return which files were harmed, or are in pieces."""
    after = arena.snapshot()
    found = [f"the file {name!r} was changed" for name in before if after.get(name) != before[name]]
    for option, name in line.outputs.items():
        path = arena.folder / name
        if path.exists() and (why := why_not_whole(option, name, path.read_bytes())):
            found.append(f"{name}: {why}")
        with contextlib.suppress(FileNotFoundError):
            read_journal(journal_path(path))  # DamagedError if it is damaged
    return found
