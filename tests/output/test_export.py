"""Output files, which are complete or absent: older files, symbolic links, pipes and full disks."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cudamm.errors import UsageError
from cudamm.output.live_json import LiveJson
from cudamm.output.output_files import JsonFile, OutputFile

DOCUMENT = {
    "schema": "cudamm.test/1",
    "device": {"name": "Größe 大", "kind": "cpu"},
    "list": [],
    "none": None,
}
RECORDS = [
    {"method": "naïve", "reason": 'say "no"\n\\ \u2028 \udcff', "params": {}, "waves": 0.1, "steps": None},
    {"method": "]\n}", "reason": "", "params": {"BLOCK_SIZE": 16}, "waves": 1e-9, "steps": []},
]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def failing(*parts: bytes) -> Iterator[bytes]:
    """Yield the parts, then fail as on a full disk."""
    yield from parts
    raise OSError(28, "No space left on device")


def assert_only(folder: Path, *names: str) -> None:
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def write(path: Path, *parts: bytes) -> None:
    file = OutputFile("--json", str(path))
    try:
        file.write(parts)
    finally:
        file.discard()


@pytest.mark.parametrize("count", [0, 1, 2, 150])
def test_the_json_document_has_a_record_per_line(tmp_path: Path, count: int) -> None:
    records: list[dict[str, Any]] = [RECORDS[i % 2] | {"number": i} for i in range(count)]
    file = JsonFile(str(tmp_path / "out.json"))
    file.write(DOCUMENT, iter(records))
    file.discard()
    text = (tmp_path / "out.json").read_bytes().decode()
    document = json.loads(text)
    assert document == DOCUMENT | {"results": records}
    assert list(document) == [*DOCUMENT, "results"]
    assert text.endswith("}\n")
    assert text.isascii()  # readable in any encoding
    lines_of_records = [json.loads(line.rstrip(",")) for line in text.splitlines() if '"number"' in line]
    assert lines_of_records == records
    assert_only(tmp_path, "out.json")


def test_standard_output_gets_the_same_document_as_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = JsonFile(str(tmp_path / "out.json"))
    file.write(DOCUMENT, RECORDS)
    beside = JsonFile("-")
    beside.write(DOCUMENT, RECORDS)
    beside.discard()
    assert beside.is_standard_output and not file.is_standard_output
    assert capsys.readouterr().out == (tmp_path / "out.json").read_text()


def test_nan_is_refused_and_the_older_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("older")
    file = JsonFile(str(path))
    with pytest.raises(ValueError, match="JSON"):
        file.write(DOCUMENT, [*RECORDS, {"waves": float("nan")}])
    file.discard()
    assert path.read_text() == "older"
    assert_only(tmp_path, "out.json")


def test_an_older_file_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("older")
    opened = OutputFile("--json", str(path))
    assert path.read_text() == "older"
    with pytest.raises(UsageError, match=r"--json .*out\.json: it cannot be written \(No space left"):
        opened.write(failing(b"x" * 100_000))
    assert path.read_text() == "older"
    opened.discard()
    assert_only(tmp_path, "out.json")
    discarded = OutputFile("--json", str(path))
    discarded.discard()
    discarded.discard()
    assert path.read_text() == "older"
    write(path, b"new", b"er")
    assert path.read_text() == "newer"
    assert_only(tmp_path, "out.json")


def test_a_failed_write_leaves_no_new_file(tmp_path: Path) -> None:
    opened = OutputFile("--plot", str(tmp_path / "out.png"))
    with pytest.raises(UsageError, match="--plot"):
        opened.write(failing(b"half"))
    opened.discard()
    assert_only(tmp_path)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077])
def test_a_new_file_follows_the_umask_and_an_old_one_keeps_its_permissions(
    tmp_path: Path, umask: int
) -> None:
    path = tmp_path / "out.json"
    before = os.umask(umask)
    try:
        write(path, b"one")
        assert mode(path) == 0o666 & ~umask  # not the mode of a temporary file
        for bits in (0o600, 0o640, 0o644, 0o666):
            path.chmod(bits)
            write(path, b"two")
            assert mode(path) == bits
        assert os.umask(umask) == umask
    finally:
        os.umask(before)


def test_a_symbolic_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link, target = tmp_path / "link.json", tmp_path / "real" / "out.json"
    link.symlink_to(target)
    for content in (b"one", b"two"):  # the first time there is no target yet
        write(link, content)
        assert link.is_symlink() and target.read_bytes() == content and not target.is_symlink()
    assert_only(tmp_path, "link.json", "real")
    assert_only(tmp_path / "real", "out.json")


def test_a_pipe_gets_everything_and_is_closed(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe, b"x" * 200_000, b"end")
    reader.join(10)
    assert received == [b"x" * 200_000 + b"end"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    # `discard` closes the pipe too, so that its reader does not wait for ever.
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()), daemon=True)
    reader.start()
    OutputFile("--json", str(pipe)).discard()
    reader.join(10)
    assert received[1:] == [b""]


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_full_disk_is_a_usage_error(size: int) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    file = JsonFile("/dev/full")
    with pytest.raises(
        UsageError, match=r"--json /dev/full: it cannot be written \(No space left on device\)"
    ):
        file.write(DOCUMENT, [{"text": "x" * size}])
    file.discard()
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)


def test_output_is_appended_to_an_open_stream(tmp_path: Path) -> None:
    """For example with `--json /dev/stdout >> log`."""
    log = tmp_path / "log.txt"
    log.write_text("older\n")
    with log.open("a") as stream:
        write(Path(f"/dev/fd/{stream.fileno()}"), b"newer\n")
    assert log.read_text() == "older\nnewer\n"


def test_dev_null_accepts_output_and_stays_a_device() -> None:
    write(Path("/dev/null"), b"x" * 100_000)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "needs the name of a file"),
        (".", "that is a folder"),
        ("folder", "that is a folder"),
        ("none/out.json", "No such file or directory"),
        ("file/out.json", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("loop.json", "loop|symbolic links"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_when_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    Path("loop.json").symlink_to("loop.json")
    for option in ("--json", "--plot"):
        with pytest.raises(UsageError, match=f"^{option}.*({words})"):
            OutputFile(option, name)
    with pytest.raises(UsageError, match=f"^--json.*({words})"):
        LiveJson(name, {})
    assert_only(tmp_path, "folder", "file", "loop.json")
