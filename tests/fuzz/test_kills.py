"""A signal at a random moment of any command loses nothing and leaves nothing behind."""

from __future__ import annotations

import collections
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from arena import Arena
from command_lines import NAMES
from kills import COMMANDS, breaches, random_kill

KILLS = int(os.environ.get("CUDAMM_KILLS", "0"))
"""Number of kills of the long form, `make kills`."""


@pytest.fixture
def arena(tmp_path: Path, compiler_cache: Path) -> Iterator[Arena]:
    """Yield an arena; the long form has a cache of its own, which is cold now and then."""
    arena = Arena(tmp_path / "arena", None if KILLS else compiler_cache)
    yield arena
    arena.close()


def test_every_command_is_killed() -> None:
    assert set(COMMANDS) == set(NAMES)


@pytest.mark.slow
def test_kills_at_random_moments_leave_nothing_behind(arena: Arena) -> None:
    """In CI six kills of a fixed seed; `make kills N=200` prints its seed and each kill."""
    seed = int(os.environ.get("CUDAMM_FUZZ_SEED") or (random.SystemRandom().getrandbits(32) if KILLS else 7))
    numbers = random.Random(seed)  # noqa: S311
    print(f"seed {seed}")
    found = []
    statuses: collections.Counter[str] = collections.Counter()
    commands = sorted(COMMANDS)
    for i in range(KILLS or 6):
        command = commands[i % len(commands)] if KILLS else numbers.choice(commands)
        kill = random_kill(numbers, command, answer_s=10.0, cold_share=0.1 if KILLS else 0.0)
        broken = breaches(arena, kill)
        statuses[command] += 1
        if broken:
            found.append(
                f"{'; '.join(broken)}\n  {'cold cache, ' if kill.is_cold else ''}{kill.line.as_json()}"
            )
            print(f"{i}: {found[-1]}", flush=True)
    print(dict(statuses), flush=True)
    assert not found, "\n".join([f"seed {seed}", *found])
