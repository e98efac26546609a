"""Results that are written as they come: what is in the file whenever a run ends, and who may write it."""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cudamm.errors import UsageError
from cudamm.output.output_files import JsonFile, LiveJson

DOCUMENT: dict[str, Any] = {"schema": "cudamm.test/1", "device": {"name": "Größe 大", "kind": "cpu"}}

# Puts records for ever, and says after each that it is there.
WRITER = """
import sys
from cudamm.output.output_files import LiveJson
live = LiveJson(sys.argv[1], {"schema": "cudamm.test/1"})
print("open", flush=True)
for position in range(1_000_000):
    live.put(position, {"number": position, "text": "x" * int(sys.argv[2])})
    print(position, flush=True)
    if len(sys.argv) > 3:
        sys.stdin.readline()
"""


def start(path: Path, size: int = 100, *, step: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(size), *["step"] * step]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def numbers(path: Path) -> list[int]:
    return [record["number"] for record in json.loads(path.read_text())["results"]]


def only(folder: Path, *names: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(puts=st.lists(st.tuples(st.integers(0, 9), st.text(max_size=5)), max_size=20), older=st.booleans())
def test_after_each_record_the_file_holds_all_in_order(
    tmp_path: Path, puts: list[tuple[int, str]], older: bool
) -> None:
    path = tmp_path / "out.json"
    path.unlink(missing_ok=True)
    if older:
        path.write_text("older")
    live = LiveJson(str(path), DOCUMENT)
    expected: dict[int, dict[str, Any]] = {}
    for position, text in puts:
        expected[position] = {"position": position, "text": text}
        live.put(position, expected[position])
        results = [expected[position] for position in sorted(expected)]
        assert json.loads(path.read_text()) == DOCUMENT | {"results": results}
        only(tmp_path, "out.json")
    live.update(DOCUMENT | {"more": 1})
    live.finish()
    plain = JsonFile(str(tmp_path / "plain.json"))
    plain.write(DOCUMENT | {"more": 1}, [expected[position] for position in sorted(expected)])
    assert path.read_bytes() == (tmp_path / "plain.json").read_bytes()
    (tmp_path / "plain.json").unlink()
    only(tmp_path, "out.json")


def test_an_older_file_is_kept_until_there_is_a_record(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("older")
    live = LiveJson(str(path), DOCUMENT)
    live.update(DOCUMENT)
    assert path.read_text() == "older"
    live.discard()
    assert path.read_text() == "older"
    only(tmp_path, "out.json")
    live = LiveJson(str(path), DOCUMENT)
    live.put(0, {"number": 0})
    live.discard()
    live.discard()
    assert numbers(path) == [0]
    only(tmp_path, "out.json")


def test_a_file_without_records(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    assert json.loads(path.read_text())["results"] == []  # never less than a document
    live.discard()
    only(tmp_path)
    LiveJson(str(path), DOCUMENT).finish()
    assert json.loads(path.read_text()) == DOCUMENT | {"results": []}
    only(tmp_path, "out.json")


def test_what_is_no_number_is_never_written(tmp_path: Path) -> None:
    live = LiveJson(str(tmp_path / "out.json"), DOCUMENT)
    live.put(0, {"number": 0})
    with pytest.raises(ValueError, match="JSON"):
        live.put(1, {"number": float("nan")})
    live.put(2, {"number": 2})
    live.finish()
    assert numbers(tmp_path / "out.json") == [0, 2]


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_any_moment_it_leaves_a_document_with_all_that_was_put(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "out.json"
    if seed % 2:
        path.write_text('{"results": []}')
    choose = random.Random(seed)  # noqa: S311 - moments, no secrets
    writer = start(path, size=choose.choice([10, 20_000]))
    assert writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(writer.stdout or []))
    reader.start()
    deadline = time.monotonic() + choose.random() * 0.15
    while time.monotonic() < deadline:
        numbers(path)  # whoever reads meanwhile finds a document
    writer.kill()
    writer.wait()
    reader.join(10)
    writer.communicate()
    found = numbers(path)
    acknowledged = [int(line) for line in said if line.endswith("\n")]
    assert found == list(range(len(found)))
    assert len(acknowledged) <= len(found) <= len(acknowledged) + 1
    assert {entry.name for entry in tmp_path.iterdir()} <= {"out.json", ".out.json.partial"}
    # Its lock is gone with it, and the next run leaves nothing lying about.
    live = LiveJson(str(path), DOCUMENT)
    live.put(0, {"number": 7})
    live.finish()
    assert numbers(path) == [7]
    only(tmp_path, "out.json")


@pytest.mark.parametrize("link", [False, True])
def test_what_a_killed_run_left_beside_a_missing_file(tmp_path: Path, link: bool) -> None:
    (tmp_path / ".out.json.partial").write_text('{"resu')
    if link:  # killed between the two steps of making it
        (tmp_path / "out.json").hardlink_to(tmp_path / ".out.json.partial")
    live = LiveJson(str(tmp_path / "out.json"), DOCUMENT)
    live.put(3, {"number": 3})
    live.finish()
    assert numbers(tmp_path / "out.json") == [3]
    only(tmp_path, "out.json")


@pytest.mark.parametrize("older", [False, True])
def test_two_runs_on_one_file(tmp_path: Path, older: bool) -> None:
    path = tmp_path / "out.json"
    if older:
        path.write_text("older")
    writer = start(path, step=True)
    try:
        assert writer.stdout is not None and writer.stdin is not None
        assert writer.stdout.readline() == "open\n"
        for position in range(5):
            assert writer.stdout.readline() == f"{position}\n"
            words = rf"it is being written by another run of cudamm( \(process {writer.pid}\))?$"
            with pytest.raises(UsageError, match=rf"^--json .*out\.json: {words}"):
                LiveJson(str(path), DOCUMENT)
            assert numbers(path) == list(range(position + 1))
            writer.stdin.write("\n")
            writer.stdin.flush()
    finally:
        writer.kill()
        writer.communicate()
    LiveJson(str(path), DOCUMENT).discard()
    assert numbers(path)[:5] == list(range(5))
    only(tmp_path, "out.json")


def test_many_that_begin_and_end_at_once_do_not_trip_each_other(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    program = """
import pathlib, sys
from cudamm.errors import UsageError
from cudamm.output.output_files import LiveJson
sys.stdin.readline()
for turn in range(200):
    try:
        live = LiveJson(sys.argv[1], {})
        for position in range(turn % 3):  # at times none: then it is removed
            live.put(position, {"number": turn})
        live.finish() if turn % 5 else live.discard()
    except UsageError as error:
        assert "another run" in str(error), error
    if turn % 4 == 0:
        pathlib.Path(sys.argv[1]).unlink(missing_ok=True)  # as somebody may
print("well")
"""
    command = [sys.executable, "-c", program, str(path)]
    runs = [
        subprocess.Popen(command, **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE), text=True)
        for _ in range(4)
    ]
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("\n")
        run.stdin.flush()
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert (out, err) == ("well\n", "")
    left = {entry.name for entry in tmp_path.iterdir()}
    assert left <= {"out.json", ".out.json.partial"}


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """A disk that is full, or is not."""
    is_full = [False]
    replace = Path.replace

    def refusing(self: Path, target: Path) -> Path:
        if is_full[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refusing)
    return lambda now: is_full.__setitem__(0, now)


def test_a_full_disk_costs_no_record(tmp_path: Path, full: Callable[[bool], None]) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    live.put(0, {"number": 0})
    full(True)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    for position in range(1, 50):
        live.put(position, {"number": position})
        assert numbers(path) == [0]
        only(tmp_path, "out.json")
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files
    with pytest.raises(UsageError, match="another run"):
        LiveJson(str(path), DOCUMENT)
    full(False)
    live.put(50, {"number": 50})
    assert numbers(path) == list(range(51))
    full(True)
    live.put(51, {"number": 51})
    full(False)
    live.finish()
    assert numbers(path) == list(range(52))


def test_a_disk_that_stays_full_is_told_at_the_end(tmp_path: Path, full: Callable[[bool], None]) -> None:
    path = tmp_path / "out.json"
    for older in (None, "older"):
        if older:
            path.write_text(older)
        full(False)
        live = LiveJson(str(path), DOCUMENT)
        full(True)
        live.put(0, {"number": 0})
        with pytest.raises(
            UsageError, match=r"--json .*out\.json: it cannot be written \(No space left on dev"
        ):
            live.finish()
        assert (path.read_text() if path.exists() else None) == older
        only(tmp_path, *(["out.json"] if older else []))


def test_a_limit_in_the_middle_of_a_file(tmp_path: Path) -> None:
    """The system itself refuses, after some of it is written."""
    path = tmp_path / "out.json"
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    live = LiveJson(str(path), DOCUMENT)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        for position in range(5):
            live.put(position, {"number": position, "text": "x" * 6000})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert numbers(path) == [0, 1, 2]
    only(tmp_path, "out.json")
    live.finish()
    assert numbers(path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "out.json"
    before = os.umask(umask)
    try:
        live = LiveJson(str(path), DOCUMENT)
        for position in range(3):
            assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
            live.put(position, {})
        live.finish()
        path.chmod(0o640)
        live = LiveJson(str(path), DOCUMENT)
        live.put(0, {})
        live.finish()
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "out.json")
    for number in (1, 2):
        live = LiveJson(str(tmp_path / "link.json"), DOCUMENT)
        live.put(0, {"number": number})
        live.finish()
        assert numbers(tmp_path / "real" / "out.json") == [number]
    assert (tmp_path / "link.json").is_symlink()
    only(tmp_path / "real", "out.json")


def test_a_file_that_is_removed_meanwhile_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    live.put(0, {"number": 0})
    path.unlink()
    live.put(1, {"number": 1})
    assert numbers(path) == [0, 1]
    path.unlink()
    other = LiveJson(str(path), DOCUMENT)  # which has it now
    other.put(0, {"number": 9})
    live.put(2, {"number": 2})
    assert numbers(path) == [9]
    with pytest.raises(UsageError, match="another run"):
        live.finish()
    assert numbers(path) == [9]
    other.finish()
    only(tmp_path, "out.json")


def test_standard_output_and_streams_get_it_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = LiveJson("-", DOCUMENT)
    assert live.is_standard_output
    live.put(1, {"number": 1})
    live.put(0, {"number": 0})
    assert capsys.readouterr().out == ""
    live.finish()
    document = capsys.readouterr().out
    assert json.loads(document) == DOCUMENT | {"results": [{"number": 0}, {"number": 1}]}
    log = tmp_path / "log"
    log.write_text("older\n")
    with log.open("a") as stream:
        live = LiveJson(f"/dev/fd/{stream.fileno()}", DOCUMENT)
        live.put(1, {"number": 1})
        live.put(0, {"number": 0})
        assert log.read_text() == "older\n"
        live.finish()
    assert log.read_text() == "older\n" + document
    live = LiveJson("/dev/full", DOCUMENT)
    live.put(0, {"number": 0})
    with pytest.raises(
        UsageError, match=r"--json /dev/full: it cannot be written \(No space left on device\)"
    ):
        live.finish()


def test_a_folder_that_takes_no_files_is_known_at_once() -> None:
    with pytest.raises(UsageError, match=r"^--json.*(Permission denied|Read-only|Operation not permitted)"):
        LiveJson("/sys/out.json", DOCUMENT)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """A folder that this user may read and not write; root, who may, is another user meanwhile."""
    with tempfile.TemporaryDirectory() as name:  # tmp_path's parents are its owner's alone
        folder = Path(name)
        (folder / "older.json").write_text("older")
        (folder / "older.json").chmod(0o666)
        folder.chmod(0o555)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.parametrize("name", ["out.json", "older.json"])
def test_a_folder_that_takes_no_file(closed_folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"{name}: it cannot be written \(Permission denied\)"):
        LiveJson(str(closed_folder / name), DOCUMENT)
    only(closed_folder, "older.json")
    assert (closed_folder / "older.json").read_text() == "older"
