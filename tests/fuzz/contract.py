"""What every command line must keep to, as docs/faults.md promises: one function that any test can call."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena import Arena, Ended, Line, Snapshot

STATUSES = {0, 1, 2, 3}

PATIENCE_S = 5.0
"""Time after which a command that runs kernels or compilers is interrupted."""

QUICK = {"list", "report", "compare", "completion", "devices", "doctor", "health"}
"""Commands that run no kernel of the user's: they have to end by themselves."""

QUICK_S = 20.0
"""Time in which they have to end: a pipe may stay silent for ten seconds."""

ANSWER_S = 5.0
"""Time in which a command answers a signal: the contract's second, and four for a busy machine."""

MOST_BYTES = 1 << 30
"""Memory that a command with small sizes may take."""

UNWANTED = re.compile(
    r"Traceback \(most recent|^\S*Warning: |^.*: \w*Warning: |Exception ignored|Fatal Python error"
    r"|Segmentation fault|resource_tracker|terminate called",
    re.MULTILINE,
)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Characters that a terminal could take for a command."""


@dataclass(frozen=True)
class Attacked:
    """A command that was run, and what is wrong about how it ended."""

    line: Line
    ended: Ended
    violations: list[str]


def attack(arena: Arena, line: Line, patience_s: float = PATIENCE_S) -> Attacked:
    """Run a command line in the arena, and return all that breaks the contract."""
    for name, content in line.files.items():
        (arena.folder / name).write_bytes(content)
    before = arena.snapshot()
    if line.command in QUICK:
        patience_s = max(patience_s, QUICK_S)
    if not line.signals:
        line = Line(**vars(line) | {"signals": ((patience_s, signal.SIGINT),), "answer_s": 2 * ANSWER_S})
    ended = arena.run(line)
    after = arena.snapshot()
    found = [
        *_of_the_end(line, ended),
        *_of_messages(line, ended),
        *_of_files(arena.folder, line, ended, before, after),
        *_of_remains(arena),
    ]
    if before != after or list(arena.temporary.iterdir()):
        arena.fill()
    return Attacked(line, ended, found)


def _of_the_end(line: Line, ended: Ended) -> list[str]:
    found = []
    if ended.hung:
        found.append(f"no answer to a signal within {line.answer_s:g} s")
    elif ended.status not in STATUSES | {128 + number for number in ended.sent}:
        found.append(f"status {ended.status}")
    elif ended.answered_after_s is not None and ended.answered_after_s > ANSWER_S:
        found.append(f"answered a signal after {ended.answered_after_s:.1f} s")
    if ended.sent and line.command in QUICK:
        found.append(f"still running after {ended.seconds:.1f} s")
    if ended.most_bytes > MOST_BYTES:
        found.append(f"took {ended.most_bytes >> 20} MiB of memory")
    if ended.left:
        found.append(f"left processes: {ended.left}")
    return found


def _of_messages(line: Line, ended: Ended) -> list[str]:
    found = []
    if match := UNWANTED.search(ended.stderr):
        found.append(f"standard error has {match.group().strip()!r}")
    lines = [text for text in ended.stderr.splitlines() if text.strip()]
    if ended.status in (2, 3) and not ended.hung and "/dev/stderr" not in line.outputs.values():
        others = [text for text in lines if not text.startswith("cudamm: ")]
        if not lines or not lines[-1].startswith("cudamm: "):
            found.append(f"status {ended.status} without a last line that says why")
        elif others and not {"-v", "--verbose"} & set(line.words):
            found.append(f"status {ended.status} with lines that are not cudamm's, such as {others[0]!r}")
        if lines and (match := CONTROL.search(lines[-1])):
            found.append(f"the message contains {match.group()!r}")
    return found


def _of_files(folder: Path, line: Line, ended: Ended, before: Snapshot, after: Snapshot) -> list[str]:
    found = []
    wanted = {_inside(folder, name): option for option, name in line.outputs.items() if name != "-"}
    given = {_inside(folder, name): name for name in line.outputs.values()}
    if line.command == "report" and not {"--output", "--csv", "--markdown", "--svg"} & set(line.outputs):
        path = Path(line.words[1]) if len(line.words) > 1 else Path()
        if path.name:
            page = str(path.with_suffix(".html"))
            wanted[_inside(folder, page)], given[_inside(folder, page)] = "--output", page
    if "--save-launch" in line.words:
        for name in before:
            launch = str(Path(name).with_suffix(".launch.toml"))
            wanted[_inside(folder, launch)], given[_inside(folder, launch)] = "--save-launch", launch
    read = _inputs(folder, line)
    for name, content in before.items():
        may_change = _inside(folder, name) in wanted and _inside(folder, name) not in read
        if after.get(name) != content and not (may_change and name in after):
            found.append(f"the file {name!r} {'was changed' if name in after else 'is gone'}")
    journals = {f"{path}.journal" for path, option in wanted.items() if option in ("--json", "--resume")}
    for name in after.keys() - before.keys():
        path = _inside(folder, name)
        if path not in wanted and not (ended.sent and path in journals):
            found.append(f"the file {name!r} was not asked for")
    for path, option in wanted.items():
        if stat.S_ISREG(_mode(path)) and after.get(os.path.relpath(path, folder)) != before.get(
            os.path.relpath(path, folder)
        ):
            if why := why_not_whole(option, path, Path(path).read_bytes()):
                found.append(f"{option} {path!r}: {why}")
        elif (
            ended.status == 0
            and not Path(path).exists()
            and not given[path].startswith("/")
            and not _need_not_exist(option, line, ended)
        ):
            found.append(f"{option} {path!r} was not written")
    if line.stdout == "file" and ended.status == 0:
        printed = [option for option, name in line.outputs.items() if name == "-"]
        reasons = {option: why_not_whole(option, f"-{option}", ended.stdout) for option in printed}
        found += [f"{option} -: {why}" for option, why in reasons.items() if why]
    return found


def _need_not_exist(option: str, line: Line, ended: Ended) -> bool:
    """Return whether a successful command does not have to write the file of an option."""
    if option == "--plot":
        return "there is nothing to draw" in ended.stderr
    return option == "--resume" and line.outputs.get("--json", "-") != "-"


def _mode(path: str) -> int:
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (OSError, ValueError):
        return 0


def _inside(folder: Path, name: str) -> str:
    return os.path.realpath(folder / name)


def _inputs(folder: Path, line: Line) -> set[str]:
    """Return the files that a command line reads. `--resume` reads its own file, which it may replace."""
    given = {line.words[i + 1] for i, word in enumerate(line.words[:-1]) if word == "--kernel"}
    if line.command in ("report", "compare"):
        given |= {word for word in line.words[1:] if word not in line.outputs.values()}
        given |= set(line.words[1:3])
    if line.command == "grade":
        given |= set(line.words[1:3])
    return {_inside(folder, name) for name in given} | ({_inside(folder, "part.h")} if given else set())


def why_not_whole(option: str, path: str, content: bytes) -> str:
    """Return why an output is not what its option promises; nothing if it is."""
    try:
        if option in ("--json", "--resume", "--out"):
            json.loads(content.decode(), parse_constant=_refuse).__str__().encode()
        elif option == "--csv":
            widths = {len(row) for row in csv.reader(io.StringIO(content.decode(), newline=""), strict=True)}
            if len(widths) > 1:
                return f"rows of {sorted(widths)} fields"
        elif option in ("--svg", "--junit") or path.lower().endswith(".svg"):
            ElementTree.fromstring(content)  # noqa: S314
        elif option == "--output":
            if not content.decode().lstrip().lower().startswith("<!doctype html"):
                return "no page"
        elif option == "--markdown":
            content.decode()
        elif not content.startswith((b"\x89PNG", b"%PDF")) and path != "---plot":
            return "no picture"
    except (ValueError, csv.Error, ElementTree.ParseError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _of_remains(arena: Arena) -> list[str]:
    return [f"the temporary folder has {path.name}" for path in arena.temporary.iterdir()]


def simplest(arena: Arena, attacked: Attacked) -> Attacked:
    """Return the same finding with as few options as possible; a slow one stays as it is."""
    if attacked.ended.seconds > 1:
        return attacked
    for change in ({"environment": {}, "fresh": False}, {"stdout": "file"}):
        attacked = _if_the_same(arena, attacked, change)
    for i in range(len(attacked.line.groups) - 1, 0, -1):
        line = attacked.line
        start = 1 + sum(line.groups[:i])
        words = line.words[:start] + line.words[start + line.groups[i] :]
        groups = line.groups[:i] + line.groups[i + 1 :]
        change = {"words": words, "groups": groups, "outputs": _outputs(words, groups)}
        attacked = _if_the_same(arena, attacked, change)
    return attacked


def _outputs(words: tuple[str, ...], groups: tuple[int, ...]) -> dict[str, str]:
    """Return the output files of a line by option: the last one of each option counts."""
    first = words[1 : 1 + groups[0]]
    pairs = [first[i : i + 2] for i in range(len(first))]
    start = 1 + groups[0]
    for size in groups[1:]:
        pairs.append(words[start : start + size])
        start += size
    options = {
        "--json",
        "--csv",
        "--markdown",
        "--svg",
        "--resume",
        "--plot",
        "--output",
        "-o",
        "--out",
        "--junit",
    }
    known = [pair for pair in pairs if len(pair) == 2 and pair[0] in options]
    return {"--output" if option == "-o" else option: name for option, name in known}


def _if_the_same(arena: Arena, attacked: Attacked, change: dict[str, Any]) -> Attacked:
    other = attack(arena, Line(**vars(attacked.line) | change))
    return other if other.violations and kind(other) == kind(attacked) else attacked


def kind(attacked: Attacked) -> str:
    """Return what makes two findings the same: the command, and the last line of the error or the breach."""
    lines = attacked.ended.stderr.strip().splitlines() or [""]
    last = lines[-1] if "Traceback" in attacked.ended.stderr else ""
    breach = re.sub(r"[\d.]+", "0", re.sub(r"'.*'", "", attacked.violations[0]))
    return f"{attacked.line.command}: {breach[:60]} {last[:60]}"
