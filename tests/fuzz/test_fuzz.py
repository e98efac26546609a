"""A few attacks on every command, always the same ones; `make fuzz` makes others for an hour."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from arena import Arena, Line
from attacks import ATTACKS
from contract import attack, simplest
from hypothesis import HealthCheck, Phase, given, settings

EXAMPLES = {
    **dict.fromkeys(ATTACKS, 8),
    **dict.fromkeys(("bench", "verify", "sweep", "tune", "trace", "check", "roofline", "grade"), 3),
    **dict.fromkeys(("profile", "doctor", "devices", "health"), 2),
    "reproduce": 2,
}
"""Number of examples; fewer for commands that start processes, or have few options."""


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory, compiler_cache: Path) -> Iterator[Arena]:
    arena = Arena(tmp_path_factory.mktemp("fuzz") / "arena", compiler_cache, compiles=False)
    yield arena
    arena.close()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attacked_command_keeps_to_the_contract(arena: Arena, name: str) -> None:
    @settings(
        max_examples=EXAMPLES[name],
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(ATTACKS[name])
    def examples(line: Line) -> None:
        attacked = attack(arena, line, patience_s=20)
        if attacked.violations:
            found = simplest(arena, attacked)
            raise AssertionError(f"{'; '.join(found.violations)}\n{found.line.as_json()}\n{found.ended}")

    examples()
