"""Files that users name are read within bounds, and are remembered so that no output replaces them."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from cudamm.errors import UsageError
from cudamm.source import input_file
from cudamm.source.included_files import included_files
from cudamm.source.input_file import read_input, remember_input, remembered_inputs, replaced_input


def test_a_regular_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * 3_000_000)
    assert read_input(path, "a file", 3_000_000) == b"x" * 3_000_000


def test_a_file_above_the_limit_is_refused_with_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with path.open("wb") as sparse:
        sparse.truncate(10 << 30)
    with pytest.raises(UsageError, match=r"a is larger than 1,000 bytes; is it a kernel file\?"):
        read_input(path, "a kernel file", 1000)


def test_a_stream_without_end_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "zero"
    link.symlink_to("/dev/zero")
    with pytest.raises(UsageError, match="zero is not a regular file, and a kernel file has to be one"):
        read_input(link, "a kernel file", 1000)
    with pytest.raises(UsageError, match="zero is larger than 1,000 bytes"):
        read_input(link, "a file of results", 1000, streams=True)


def test_a_pipe_without_bytes_is_refused_and_one_with_bytes_is_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(input_file, "SILENCE_S", 0.2)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UsageError, match=r"pipe is a stream from which nothing came for 0.2 s"):
        read_input(pipe, "results", 1000, streams=True)
    silent = os.open(pipe, os.O_RDWR)
    with pytest.raises(UsageError, match="nothing came"):
        read_input(pipe, "results", 1000, streams=True)
    os.close(silent)

    def write() -> None:
        time.sleep(0.05)
        pipe.write_bytes(b"late")

    writer = threading.Thread(target=write)
    writer.start()
    assert read_input(pipe, "results", 1000, streams=True) == b"late"
    writer.join()


def test_inputs_are_remembered_within_a_command_only(tmp_path: Path) -> None:
    path, hard, link = tmp_path / "a", tmp_path / "hard", tmp_path / "link"
    path.write_text("x")
    hard.hardlink_to(path)
    link.symlink_to(path)
    read_input(path, "a file", 10)
    assert replaced_input(path) is None
    with remembered_inputs():
        assert replaced_input(path) is None
        read_input(path, "a file", 10)
        remember_input(tmp_path / "new")
        assert {replaced_input(p) for p in (path, hard, link)} == {str(path)}
        assert replaced_input(tmp_path / "new") == str(tmp_path / "new")
        read_input(hard, "a file", 10, rewritten=True)
        assert replaced_input(tmp_path / "other") is None
    assert replaced_input(path) is None


def test_included_files_are_found_through_each_other(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "far").mkdir()
    files = {
        "part.h": '#include "data/deep.inl"\n#include "my.cu"',
        "data/deep.inl": '#include "beside.inl"\n#  include <far.h>',
        "data/beside.inl": '#include "../part.h"',
        "far/far.h": "",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    kernel = tmp_path / "my.cu"
    source = (
        '/* #include "no.h" */\n#inc\\\nlude /* x */ "part.h" // part\n#include <vector>\n#include "data"\n'
    )
    kernel.write_text(source)
    (tmp_path / "no.h").write_text("")
    monkeypatch.setenv("CPATH", str(tmp_path / "far"))
    assert sorted(included_files(kernel, source)) == sorted([*files.values(), source])


@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "large"])
def test_an_included_file_that_is_no_usual_file_is_refused(tmp_path: Path, target: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "large").open("wb") as sparse:
        sparse.truncate(10 << 30)
    (tmp_path / "part.h").write_text('#include "bad.h"')
    (tmp_path / "bad.h").symlink_to(target)
    with pytest.raises(UsageError, match=r"my.cu includes a file that cannot be used: .*bad.h is "):
        included_files(tmp_path / "my.cu", '#include "part.h"\n')
