"""The cache of what was compiled: full disks, other writers; and compilers that die."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cudamm.compile import compile_cache, host_compiler, nvcc_compiler
from cudamm.compile.program import Program, program
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant

WriteKernel = Callable[..., Path]
MADE = b"\x7fELF" + bytes(range(256)) * 20


def make(path: Path) -> None:
    path.write_bytes(MADE)


def program_of(path: Path) -> Program:
    method = read_method(path, Overrides({"threads": "1", "grid": "1"}))
    return program(Variant(method, ()), ELEMENT_TYPES["float32"], True)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """A host compiler of the test's own: a script that knows its version, and else does as it is told."""

    def write(script: str) -> Path:
        path = tmp_path / "my-g++"
        path.write_text(f'#!/bin/sh\nif [ "$*" = --version ]; then echo mine; exit; fi\n{script}\n')
        path.chmod(0o755)
        monkeypatch.setenv("CXX", str(path))
        host_compiler.compiler.cache_clear()
        return path

    yield write
    monkeypatch.undo()
    host_compiler.compiler.cache_clear()


def full(*arguments: object, **named: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---- What is there is whole, and is not made again


def test_a_file_is_made_once(own_cache: Path) -> None:
    calls: list[Path] = []

    def count(path: Path) -> None:
        calls.append(path)
        make(path)

    kept = compile_cache.cached(["one"], ".o", count)
    assert compile_cache.cached(["one"], ".o", count) == kept
    assert compile_cache.cached(["another"], ".o", count) != kept
    assert len(calls) == 2
    assert kept.read_bytes() == MADE


def test_a_process_that_is_killed_leaves_no_half_behind(own_cache: Path) -> None:
    code = """
import os
from cudamm.compile import compile_cache
def make(path):
    path.write_bytes(b"half")
    os.kill(os.getpid(), 9)
compile_cache.cached(["one"], ".o", make)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert compile_cache.cached(["one"], ".o", make).read_bytes() == MADE


def test_a_dead_link_is_replaced(own_cache: Path) -> None:
    kept = compile_cache.cached(["one"], ".o", make)
    kept.unlink()
    kept.symlink_to("nowhere")
    assert compile_cache.cached(["one"], ".o", make).read_bytes() == MADE


def test_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDAMM_CACHE", ".")
    compile_cache.cache_folder.cache_clear()
    kept = compile_cache.cached(["one"], ".o", make)
    assert kept.is_absolute() and kept.parent == tmp_path


# ---- A cache that takes nothing


def test_a_folder_that_cannot_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    (tmp_path / "file").touch()
    for folder, words in (("file", "is a file"), ("file/cache", "cannot be made")):
        monkeypatch.setenv("CUDAMM_CACHE", str(tmp_path / folder))
        compile_cache.cache_folder.cache_clear()
        with pytest.raises(
            NoDeviceError, match=rf"the cache folder .*/{folder} {words}.*; set CUDAMM_CACHE to"
        ):
            compile_cache.cached(["one"], ".o", make)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="there is no /sys")
def test_a_folder_that_nobody_may_write_to(monkeypatch: pytest.MonkeyPatch, own_cache: Path) -> None:
    monkeypatch.setenv("CUDAMM_CACHE", "/sys/kernel")
    compile_cache.cache_folder.cache_clear()
    with pytest.raises(
        NoDeviceError,
        match=r"nothing can be written to the cache folder /sys/kernel \(.*\); set CUDAMM_CACHE",
    ):
        compile_cache.cached(["one"], ".o", make)


@pytest.mark.parametrize("at", ["mkstemp", "make", "fsync"])
def test_a_full_disk(own_cache: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    if at == "mkstemp":
        monkeypatch.setattr(tempfile, "mkstemp", full)
    if at == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoDeviceError) as raised:
        compile_cache.cached(["one"], ".o", full if at == "make" else make)
    assert str(raised.value) == (
        f"nothing can be written to the cache folder {own_cache} (No space left on device); "
        "make room there, or set CUDAMM_CACHE to another"
    )
    assert list(own_cache.iterdir()) == []


@pytest.mark.usefixtures("needs_nvcc")
def test_a_full_temporary_folder(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, write_kernel: WriteKernel
) -> None:
    one = program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }"))
    nvcc_compiler.nvcc()  # writes a temporary file too when it is asked what it compiles for
    monkeypatch.setenv("TMPDIR", "/small")
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full)
    with pytest.raises(NoDeviceError, match=r"the temporary folder /small \(No space left.*set TMPDIR"):
        nvcc_compiler.compile_for_gpu(one, "sm_90")
    assert list(own_cache.iterdir()) == []


def test_a_compiler_that_finds_the_disk_full(
    own_cache: Path, write_kernel: WriteKernel, compiler: Callable[[str], Path]
) -> None:
    compiler('echo "/tmp/cc.s: fatal error: error writing to /tmp/cc.s: No space left on device" >&2; exit 1')
    with pytest.raises(NoDeviceError) as raised:
        host_compiler.compile_for_host(program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }")))
    message = str(raised.value)
    assert message.startswith("my-g++ reports: No space left on device")
    assert str(own_cache) in message and "CUDAMM_CACHE" in message and "TMPDIR" in message
    assert list(own_cache.iterdir()) == []


# ---- Others who write it


def test_two_processes_that_make_the_same(own_cache: Path, write_kernel: WriteKernel) -> None:
    code = """
import sys, time
from pathlib import Path
from cudamm.compile import compile_cache
def make(path):
    path.write_bytes(b"x" * 100_000)
    time.sleep(0.05)
    with path.open("ab") as file:
        file.write(b"y" * 100_000)
for number in range(10):
    kept = compile_cache.cached([str(number)], ".o", make)
    assert kept.read_bytes() == b"x" * 100_000 + b"y" * 100_000
"""
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(list(own_cache.iterdir())) == 10


def test_what_killed_runs_left_behind_is_removed_after_a_day(own_cache: Path) -> None:
    compile_cache.cache_folder()
    old, new, other = (own_cache / name for name in (".partial-old.o", ".partial-new.o", "other"))
    for path, age_h in ((old, 25), (new, 23), (other, 1000)):
        path.touch()
        os.utime(path, times=(time.time() - age_h * 3600,) * 2)
    seen: list[str] = []
    kept = compile_cache.cached(["one"], ".o", lambda path: (seen.append(path.name), make(path)))
    assert {path.name for path in own_cache.iterdir()} == {new.name, other.name, kept.name}
    assert seen[0].startswith(".partial-")


# ---- Compilers that die


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("kill -KILL $$", r"^my-g\+\+ was killed by SIGKILL: is there too little memory\?$"),
        ("kill -SEGV $$", r"^my-g\+\+ was killed by SIGSEGV$"),
        (
            "echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1",
            r"^cc1plus, run by my-g\+\+, was killed: is there too little memory\?$",
        ),
        (
            "echo 'collect2: fatal error: ld terminated with signal 9 [Killed]' >&2; exit 1",
            r"^ld, run by my-g\+\+, was killed",
        ),
        (
            "echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\" >&2; exit 9",
            r"^cicc, run by my-g\+\+, was killed",
        ),
        (
            "clang() { echo 'clang: error: unable to execute command: Killed' >&2; exit 254; }; clang",
            "killed",
        ),
        ("sh -c 'kill -KILL $$'; exit $?", r"^a program run by my-g\+\+ was killed"),
    ],
)
@pytest.mark.parametrize("includes", [False, True])
def test_a_killed_compiler_has_said_nothing_about_the_kernel(
    own_cache: Path,
    write_kernel: WriteKernel,
    compiler: Callable[[str], Path],
    script: str,
    words: str,
    includes: bool,
) -> None:
    compiler(script)
    source = "#include <cstdio>\n" * includes + "__global__ void k(float *C) { C[0] = 1; }"
    with pytest.raises(compile_cache.CompilerKilled, match=words) as raised:
        host_compiler.compile_for_host(program_of(write_kernel(source)))
    assert isinstance(raised.value, KernelError)
    assert list(own_cache.iterdir()) == []


@pytest.mark.usefixtures("needs_nvcc")
@pytest.mark.parametrize("name", ["cicc", "ptxas"])
def test_nvccs_own_programs_being_killed(
    own_cache: Path, write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As the system does it where memory runs out: with what nvcc really says then."""
    one = program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }"))
    run = subprocess.run

    def with_a_killer(command, *arguments, **named):
        if "-cubin" not in command:
            return run(command, *arguments, **named)
        killer = f"""
import os, subprocess, sys
from pathlib import Path
def below(process):
    try:
        for word in Path(f"/proc/{{process}}/task/{{process}}/children").read_text().split():
            yield int(word)
            yield from below(word)
    except OSError:
        pass
nvcc = subprocess.Popen(sys.argv[1:])
while nvcc.poll() is None:
    for process in below(nvcc.pid):
        try:
            if Path(f"/proc/{{process}}/comm").read_text() == "{name}\\n":
                os.kill(process, 9)
        except OSError:
            pass
sys.exit(nvcc.returncode)
"""
        return run([sys.executable, "-c", killer, *command], *arguments, **named)

    monkeypatch.setattr(subprocess, "run", with_a_killer)
    with pytest.raises(compile_cache.CompilerKilled, match="killed: is there too little memory"):
        nvcc_compiler.compile_for_gpu(one, "sm_90")
    assert list(own_cache.iterdir()) == []


def test_a_compiler_that_does_not_start(
    own_cache: Path, write_kernel: WriteKernel, compiler: Callable[[str], Path]
) -> None:
    path = compiler("exit 1")
    host_compiler.compiler()
    path.unlink()
    with pytest.raises(NoDeviceError, match=r"the compiler my-g\+\+ cannot be run \(No such file"):
        host_compiler.compile_for_host(program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }")))


@pytest.mark.usefixtures("needs_nvcc")
def test_a_driver_older_than_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    major, minor = nvcc_compiler.nvcc().release
    for enough in (None, (major, 0), (major, minor), (major + 1, 0)):
        nvcc_compiler.check_driver(enough)
    with pytest.raises(NoDeviceError) as raised:
        nvcc_compiler.check_driver((major - 1, 9))
    message = str(raised.value)
    assert f"CUDA {major}.{minor}" in message and f"CUDA {major - 1}.9" in message
    assert "update the driver" in message and "\n" not in message
