"""Results that survive a kill: the contents of journal and file at any end, and the lock on both."""

from __future__ import annotations

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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cudamm.benchmark.journal import journal_path, read_journal
from cudamm.errors import UsageError
from cudamm.output.live_json import LiveJson
from cudamm.output.output_files import JsonFile

DOCUMENT: dict[str, Any] = {"schema": "cudamm.test/1", "device": {"name": "Größe 大", "kind": "cpu"}}

# Appends records for ever, and prints the position of each record after appending it.
WRITER = """
import sys
from cudamm.output.live_json import LiveJson
live = LiveJson(sys.argv[1], {"schema": "cudamm.test/1"})
print("open", flush=True)
for position in range(1_000_000):
    live.append({position: {"number": position, "text": "x" * int(sys.argv[2])}})
    print(position, flush=True)
    if len(sys.argv) > 3:
        sys.stdin.readline()
"""


def start(path: Path, size: int = 100, *, step: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(size), *["step"] * step]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def record(number: int, **more: Any) -> dict[int, dict[str, Any]]:
    return {number: {"number": number, **more}}


def numbers(path: Path) -> list[int]:
    return [row["number"] for row in json.loads(path.read_text())["results"]]


def in_journal(path: Path) -> list[int]:
    return [row["number"] for row in read_journal(journal_path(path))["results"]]


def assert_only(folder: Path, *names: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_each_record_is_in_the_journal_at_once_and_all_are_in_the_document(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    live.restore(record(7) | record(3))
    assert_only(tmp_path, ".out.json.lock")
    for number, expected in ((5, [3, 5, 7]), (1, [1, 3, 5, 7]), (5, [1, 3, 5, 7])):
        live.append(record(number))
        assert in_journal(path) == expected
        assert_only(tmp_path, ".out.json.lock", "out.json.journal")
    assert read_journal(journal_path(path)) == DOCUMENT | {"results": [{"number": n} for n in expected]}
    rows = [{"number": number} for number in (1, 2)]
    live.write(rows)
    live.discard()
    live.discard()
    plain = JsonFile(str(tmp_path / "plain.json"))
    plain.write(DOCUMENT, rows)
    assert path.read_bytes() == (tmp_path / "plain.json").read_bytes()
    assert_only(tmp_path, "out.json", "plain.json")


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("older")
    live = LiveJson(str(path), DOCUMENT)
    live.append(record(0))
    assert path.read_text() == "older"
    live.write([{"number": 0}])
    assert numbers(path) == [0]
    live.discard()
    assert_only(tmp_path, "out.json")


def test_an_older_journal_stays_until_the_first_new_record(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    live.append(record(0))
    live.discard()
    live = LiveJson(str(path), DOCUMENT)
    live.restore(record(4))
    live.discard()
    assert in_journal(path) == [0]
    live = LiveJson(str(path), DOCUMENT)
    live.append(record(1))
    live.discard()
    assert in_journal(path) == [1]
    assert_only(tmp_path, "out.json.journal")


def test_a_run_without_records_leaves_no_journal(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    LiveJson(str(path), DOCUMENT).discard()
    assert_only(tmp_path)
    live = LiveJson(str(path), DOCUMENT)
    live.write([])
    live.discard()
    assert json.loads(path.read_text()) == DOCUMENT | {"results": []}
    assert_only(tmp_path, "out.json")


def test_nan_is_refused_and_other_records_are_written(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    live = LiveJson(str(path), DOCUMENT)
    live.append(record(0))
    with pytest.raises(ValueError, match="JSON"):
        live.append(record(1, ms=float("nan")))
    with pytest.raises(ValueError, match="JSON"):
        live.write([{"ms": float("nan")}])
    live.append(record(2))
    assert in_journal(path) == [0, 2]
    live.discard()
    assert_only(tmp_path, "out.json.journal")


@pytest.mark.parametrize("seed", range(4))
def test_all_appended_records_survive_a_kill_at_any_moment(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "out.json"
    if seed % 2:
        path.write_text("older")
    random_numbers = random.Random(seed)  # noqa: S311 - no secrets
    writer = start(path, size=random_numbers.choice([10, 20_000]))
    assert writer.stdout is not None
    assert writer.stdout.readline() == "open\n"
    printed: list[str] = []
    reader = threading.Thread(target=lambda: printed.extend(writer.stdout or []))
    reader.start()
    time.sleep(random_numbers.random() * 0.15)
    writer.kill()
    writer.wait()
    reader.join(10)
    writer.communicate()
    found = in_journal(path) if journal_path(path).exists() else []
    acknowledged = [int(line) for line in printed if line.endswith("\n")]
    assert found == list(range(len(found)))
    assert len(acknowledged) <= len(found) <= len(acknowledged) + 1
    assert (path.read_text() if path.exists() else "older") == "older"
    # The kill released the lock, so the next run can write and leaves no other file.
    live = LiveJson(str(path), DOCUMENT)
    live.append(record(7))
    live.write([{"number": 7}])
    live.discard()
    assert numbers(path) == [7]
    assert_only(tmp_path, "out.json")


def test_a_second_run_on_the_same_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    writer = start(path, step=True)
    try:
        assert writer.stdout is not None and writer.stdin is not None
        assert writer.stdout.readline() == "open\n"
        (tmp_path / "link.json").symlink_to(path)
        for position in range(3):
            assert writer.stdout.readline() == f"{position}\n"
            words = rf"another run of cudamm \(process {writer.pid}\) is writing this file"
            for name in ("out.json", "link.json"):
                with pytest.raises(UsageError, match=rf"^--json .*{name}: {words}"):
                    LiveJson(str(tmp_path / name), DOCUMENT)
            assert in_journal(path) == list(range(position + 1))
            writer.stdin.write("\n")
            writer.stdin.flush()
    finally:
        writer.kill()
        writer.communicate()
    LiveJson(str(path), DOCUMENT).discard()
    assert in_journal(path)[:3] == list(range(3))


@pytest.mark.slow
def test_concurrent_runs_on_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    program = """
import os, sys
from pathlib import Path
from cudamm.errors import UsageError
from cudamm.output.live_json import LiveJson
path, exclusive = sys.argv[1], Path(sys.argv[1]).with_name("exclusive")
sys.stdin.readline()
written = 0
for turn in range(40):
    try:
        live = LiveJson(path, {})
    except UsageError as error:
        assert "another run" in str(error), error
        continue
    exclusive.touch(exist_ok=False)
    for position in range(turn % 3):
        live.append({position: {"number": turn}})
    if turn % 5:
        live.write([{"number": turn}])
    exclusive.unlink()
    live.discard()
    written += 1
print(written)
"""
    command = [sys.executable, "-c", program, str(path)]
    runs = [
        subprocess.Popen(command, **dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE), text=True)
        for _ in range(3)
    ]
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("\n")
        run.stdin.flush()
    written = 0
    for run in runs:
        out, err = run.communicate(timeout=60)
        assert err == ""
        written += int(out)
    assert written > 0
    assert {entry.name for entry in tmp_path.iterdir()} <= {"out.json", "out.json.journal"}


def test_a_full_disk_loses_only_records_that_do_not_fit(tmp_path: Path) -> None:
    """The system refuses to write after a part of the records is written."""
    path = tmp_path / "out.json"
    path.write_text("older")
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    live = LiveJson(str(path), DOCUMENT)
    records = [{"number": number, "text": "x" * 6000} for number in range(5)]
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        for number in range(5):
            live.append({number: records[number]})
        assert in_journal(path) == [0, 1, 2]
        with pytest.raises(UsageError, match=r"--json .*out\.json: it cannot be written \(File too large\)"):
            live.write(records)
        assert path.read_text() == "older" and in_journal(path) == [0, 1, 2]
        assert_only(tmp_path, ".out.json.lock", "out.json", "out.json.journal")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    live.append(record(5))
    assert in_journal(path) == [0, 1, 2, 3, 4, 5]
    live.write(records)
    live.discard()
    assert numbers(path) == [0, 1, 2, 3, 4]
    assert_only(tmp_path, "out.json")


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_journal_and_file_follow_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "out.json"
    before = os.umask(umask)
    try:
        live = LiveJson(str(path), DOCUMENT)
        live.append(record(0))
        assert stat.S_IMODE(journal_path(path).stat().st_mode) == 0o666 & ~umask
        live.write([])
        live.discard()
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    finally:
        os.umask(before)


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "out.json")
    for number in (1, 2):
        live = LiveJson(str(tmp_path / "link.json"), DOCUMENT)
        live.append(record(number))
        assert in_journal(tmp_path / "real" / "out.json") == in_journal(tmp_path / "link.json") == [number]
        live.write([{"number": number}])
        live.discard()
        assert numbers(tmp_path / "real" / "out.json") == [number]
    assert (tmp_path / "link.json").is_symlink()
    assert_only(tmp_path / "real", "out.json")


def test_standard_output_and_streams_get_the_document_at_the_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"number": 0}, {"number": 1}]
    live = LiveJson("-", DOCUMENT)
    assert live.is_standard_output
    live.append(record(1))
    assert capsys.readouterr().out == ""
    live.write(rows)
    live.discard()
    document = capsys.readouterr().out
    assert json.loads(document) == DOCUMENT | {"results": rows}
    log = tmp_path / "log"
    log.write_text("older\n")
    with log.open("a") as stream:
        live = LiveJson(f"/dev/fd/{stream.fileno()}", DOCUMENT)
        live.append(record(1))
        assert log.read_text() == "older\n"
        live.write(rows)
        live.discard()
    assert log.read_text() == "older\n" + document
    assert_only(tmp_path, "log")
    live = LiveJson("/dev/full", DOCUMENT)
    with pytest.raises(
        UsageError, match=r"--json /dev/full: it cannot be written \(No space left on device\)"
    ):
        live.write(rows)
    live.discard()


def test_a_system_folder_is_refused_when_the_file_is_opened() -> None:
    with pytest.raises(UsageError, match=r"^--json.*(Permission denied|Read-only|Operation not permitted)"):
        LiveJson("/sys/out.json", DOCUMENT)


@pytest.fixture
def closed_folder() -> Iterator[Path]:
    """Yield a folder that this user may read but not write; root acts as another user meanwhile."""
    with tempfile.TemporaryDirectory() as name:  # another user cannot read the parents of tmp_path
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
def test_a_folder_without_write_permission_is_refused(closed_folder: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"{name}: it cannot be written \(Permission denied\)"):
        LiveJson(str(closed_folder / name), DOCUMENT)
    assert_only(closed_folder, "older.json")
    assert (closed_folder / "older.json").read_text() == "older"
