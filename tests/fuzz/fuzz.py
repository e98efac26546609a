"""Attack every command for a while, on all cores, and print what breaks the contract: `make fuzz`."""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from multiprocessing.connection import Connection, wait
from pathlib import Path

from arena import Arena, Line
from attacks import ATTACKS
from command_lines import BASES
from contract import Attacked, attack, kind, simplest
from hypothesis import HealthCheck, Phase, given, seed, settings

EXAMPLES_A_ROUND = 40


def one_round(name: str, number: int, arena: Arena, known: set[str]) -> tuple[int, list[Attacked]]:
    """Attack one command with examples of a seed; return their number, and findings of new kinds."""
    count = 0
    findings: list[Attacked] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES_A_ROUND,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(ATTACKS[name])
    def examples(line: Line) -> None:
        nonlocal count
        count += 1
        attacked = attack(arena, line)
        if attacked.violations and kind(attacked) not in known:
            known.add(kind(attacked))
            findings.append(simplest(arena, attacked))

    examples()
    return count, findings


def work(pipe: Connection, first_seed: int, until: float, cache: str, names: list[str]) -> None:
    """Attack one command after the other until the time is over; send counts and findings."""
    numbers = random.Random(first_seed)  # noqa: S311
    known: set[str] = set()
    folder = Path(tempfile.mkdtemp(prefix="cudamm-fuzz-"))
    arena = Arena(folder / "arena", Path(cache))
    try:
        while time.monotonic() < until:
            for name in numbers.sample(names, len(names)):
                if time.monotonic() > until:
                    break
                number = numbers.getrandbits(32)
                pipe.send((name, number, *one_round(name, number, arena, known)))
    finally:
        arena.close()
        shutil.rmtree(folder, ignore_errors=True)
        pipe.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="*", default=list(ATTACKS), choices=list(ATTACKS))
    parser.add_argument("--repeat", metavar="LINE", help="run one line of a finding again")
    given_ = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cudamm-fuzz-cache-") as cache:
        if given_.repeat:
            return repeat(given_.repeat, cache)
        print(f"seed {given_.seed}, {given_.seconds:g} s, {given_.workers} workers", flush=True)
        fill_cache(Path(cache))
        until = time.monotonic() + given_.seconds
        pipes, workers = [], []
        for i in range(given_.workers):
            pipe, theirs = multiprocessing.Pipe(duplex=False)
            arguments = (theirs, given_.seed + i, until, cache, given_.only)
            workers.append(multiprocessing.Process(target=work, args=arguments, daemon=True))
            workers[-1].start()
            theirs.close()
            pipes.append(pipe)
        status = report(pipes)
        for worker in workers:
            worker.join()
        return status or max(abs(worker.exitcode or 0) for worker in workers)


def fill_cache(cache: Path) -> None:
    """Compile what the command lines need, so that none waits for a compiler longer than its patience."""
    with tempfile.TemporaryDirectory(prefix="cudamm-fuzz-") as folder:
        arena = Arena(Path(folder) / "arena", cache)
        for name, bases in BASES.items():
            for words in bases:
                arena.run(Line((name, *words)))
        arena.close()


def report(pipes: list[Connection]) -> int:
    """Print findings as they come, then the number of examples of each command."""
    counts: collections.Counter[str] = collections.Counter()
    kinds: set[str] = set()
    while pipes:
        for pipe in wait(pipes):
            try:
                name, number, count, findings = pipe.recv()  # type: ignore[union-attr]
            except EOFError:
                pipes.remove(pipe)  # type: ignore[arg-type]
                continue
            counts[name] += count
            for found in findings:
                if kind(found) not in kinds:
                    kinds.add(kind(found))
                    print(f"\nFINDING in {name} (seed {number}): {'; '.join(found.violations)[:500]}")
                    show(found)
    for name in filter(counts.get, ATTACKS):
        print(f"{counts[name]:7} examples of {name}")
    print(f"{counts.total():7} examples, {len(kinds)} findings")
    return 1 if kinds else 0


def show(attacked: Attacked) -> None:
    """Print a command, what it printed, and how to repeat it."""
    changed = " ".join(f"{name}={value!r}" for name, value in attacked.line.environment.items())
    words = " ".join(ascii(word)[:200] for word in attacked.line.words)
    print(f"  {changed} cudamm {words} > {attacked.line.stdout}")
    print(f"  status {attacked.ended.status} after {attacked.ended.seconds:.1f} s")
    for text in attacked.ended.stderr.splitlines()[-4:]:
        print(f"  | {ascii(text)[1:200]}")
    print(f"  repeat: --repeat {attacked.line.as_json()!r}", flush=True)


def repeat(text: str, cache: str) -> int:
    """Run one command line again."""
    with tempfile.TemporaryDirectory(prefix="cudamm-fuzz-") as folder:
        arena = Arena(Path(folder) / "arena", Path(cache))
        attacked = attack(arena, Line.from_json(text))
        arena.close()
    print("; ".join(attacked.violations) or "It keeps to the contract.")
    show(attacked)
    return 1 if attacked.violations else 0


if __name__ == "__main__":
    sys.exit(main())
