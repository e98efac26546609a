"""The compiler cache: complete files, full disks, parallel writers; and compilers that are killed."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import pytest
from compile_cache_files import made_in

from cudamm.compile import compile_cache, compiler_process, host_compiler, nvcc_compiler
from cudamm.compile.owned_folder import PREFIX
from cudamm.compile.program import Program, program
from cudamm.errors import KernelError, NoDeviceError
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant

WriteKernel = Callable[..., Path]
MADE = b"\x7fELF" + bytes(range(256)) * 20


def make(path: Path) -> None:
    path.write_bytes(MADE)


def program_of(path: Path, **fields: str) -> Program:
    method = read_method(path, Overrides({"threads": "1", "grid": "1", **fields}))
    return program(Variant(method, ()), ELEMENT_TYPES["float32"], True)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Path]]:
    """Yield a function that makes a script the host compiler. With --version the script prints a version."""

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


def raise_disk_full(*arguments: object, **named: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---- Files in the cache are complete, and are not made again


def test_a_file_is_made_once(own_cache: Path) -> None:
    calls: list[Path] = []

    def count(path: Path) -> None:
        calls.append(path)
        make(path)

    cached_file = compile_cache.cached(["one"], ".o", count)
    assert compile_cache.cached(["one"], ".o", count) == cached_file
    assert compile_cache.cached(["another"], ".o", count) != cached_file
    assert len(calls) == 2
    assert cached_file.read_bytes() == MADE


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "another byte": lambda path: path.write_bytes(path.read_bytes()[:-1] + b"!"),
    "a script": lambda path: path.write_text("#!/bin/sh\nexit 0\n"),
    "not executable": lambda path: path.chmod(0o644),
    "without a hash": lambda path: path.with_name(f"{path.name}.hash").unlink(),
    "the file of another program": lambda path: path.write_bytes(b"other" * 1000),
    "of another user": lambda path: os.chown(path, 12345, -1),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_made_again(own_cache: Path, damage: Callable[[Path], object]) -> None:
    cached_file = compile_cache.cached(["one"], ".kernel", make, is_program=True)
    try:
        damage(cached_file)
    except PermissionError:
        pytest.skip("only root can give files to another user")
    assert compile_cache.cached(["one"], ".kernel", make, is_program=True) == cached_file
    assert cached_file.read_bytes() == MADE
    assert cached_file.stat().st_uid == os.geteuid() and os.access(cached_file, os.X_OK)


def test_a_file_in_the_place_of_another_is_made_again(own_cache: Path) -> None:
    one, two = (compile_cache.cached([name], ".o", lambda p, n=name: p.write_text(n)) for name in ("1", "2"))
    for path in (one, Path(f"{one}.hash")):
        Path(str(path).replace(one.name, two.name)).write_bytes(path.read_bytes())
    assert compile_cache.cached(["2"], ".o", lambda path: path.write_text("2")).read_text() == "2"


def test_a_folder_with_a_damaged_file_is_made_again(own_cache: Path) -> None:
    def fill(folder: Path) -> None:
        (folder / "one").write_bytes(MADE)
        (folder / "two").write_bytes(MADE)

    folder = compile_cache.cached_folder(["one"], fill)
    (folder / "two").write_bytes(MADE[:-1])
    assert compile_cache.find_cached_folder(["one"]) is None
    assert compile_cache.cached_folder(["one"], fill) == folder
    assert (folder / "two").read_bytes() == MADE and compile_cache.find_cached_folder(["one"]) == folder


def test_threads_that_need_the_same_file_make_it_once(own_cache: Path) -> None:
    made: list[Path] = []

    def make_slowly(path: Path) -> None:
        made.append(path)
        time.sleep(0.05)
        make(path)

    with ThreadPoolExecutor() as threads:
        paths = threads.map(lambda _: compile_cache.cached(["source"], ".o", make_slowly), range(4))
        assert len(set(paths)) == len(made) == 1


def test_threads_that_need_the_same_folder_make_it_once(own_cache: Path) -> None:
    made: list[Path] = []

    def fill_slowly(folder: Path) -> None:
        made.append(folder)
        time.sleep(0.05)
        (folder / "one").write_text(str(time.monotonic_ns()))  # as PyCUDA, never the same bytes twice

    with ThreadPoolExecutor() as threads:
        folders = threads.map(lambda _: compile_cache.cached_folder(["source"], fill_slowly), range(4))
        assert len(set(folders)) == len(made) == 1
    assert compile_cache.find_cached_folder(["source"]) is not None


def test_a_process_that_is_killed_leaves_no_partial_file(own_cache: Path) -> None:
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
    cached_file = compile_cache.cached(["one"], ".o", make)
    cached_file.unlink()
    cached_file.symlink_to("nowhere")
    assert compile_cache.cached(["one"], ".o", make).read_bytes() == MADE


def test_a_relative_cache_folder_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CUDAMM_CACHE", ".")
    compile_cache.cache_folder.cache_clear()
    cached_file = compile_cache.cached(["one"], ".o", make)
    assert cached_file.is_absolute() and cached_file.parent == tmp_path


# ---- Folders and disks to which nothing can be written


def test_a_cache_folder_that_cannot_be_made_is_reported(
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
def test_a_cache_folder_without_write_permission_is_reported(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setenv("CUDAMM_CACHE", "/sys/kernel")
    compile_cache.cache_folder.cache_clear()
    with pytest.raises(
        NoDeviceError,
        match=r"nothing can be written to the cache folder /sys/kernel \(.*\); set CUDAMM_CACHE",
    ):
        compile_cache.cached(["one"], ".o", make)


@pytest.mark.parametrize("at", ["mkdtemp", "make", "fsync"])
def test_a_full_disk_is_reported(own_cache: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    if at == "mkdtemp":
        monkeypatch.setattr(tempfile, "mkdtemp", raise_disk_full)
    if at == "fsync":
        monkeypatch.setattr(os, "fsync", raise_disk_full)
    with pytest.raises(NoDeviceError) as raised:
        compile_cache.cached(["one"], ".o", raise_disk_full if at == "make" else make)
    assert str(raised.value) == (
        f"nothing can be written to the cache folder {own_cache} (No space left on device); "
        "make room there, or set CUDAMM_CACHE to another"
    )
    assert made_in(own_cache) == []


@pytest.mark.usefixtures("needs_nvcc")
def test_a_full_temporary_folder_is_reported(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch, write_kernel: WriteKernel
) -> None:
    one = program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }"))
    nvcc_compiler.nvcc()  # writes a temporary file too, so it runs before the patch
    monkeypatch.setenv("TMPDIR", "/small")
    mkdtemp = tempfile.mkdtemp

    def mkdtemp_in_cache(*, prefix: str, dir: Path) -> str:
        return mkdtemp(prefix=prefix, dir=dir) if dir == own_cache else raise_disk_full()

    monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp_in_cache)
    with pytest.raises(NoDeviceError, match=r"the temporary folder /small \(No space left.*set TMPDIR"):
        nvcc_compiler.compile_for_gpu(one, "sm_90")
    assert made_in(own_cache) == []


def test_a_full_disk_that_the_compiler_finds_is_reported(
    own_cache: Path, write_kernel: WriteKernel, compiler: Callable[[str], Path]
) -> None:
    compiler('echo "/tmp/cc.s: fatal error: error writing to /tmp/cc.s: No space left on device" >&2; exit 1')
    with pytest.raises(NoDeviceError) as raised:
        host_compiler.compile_for_host(program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }")))
    message = str(raised.value)
    assert message.startswith("my-g++ reports: No space left on device")
    assert str(own_cache) in message and "CUDAMM_CACHE" in message and "TMPDIR" in message
    assert made_in(own_cache) == []


# ---- Several processes that write to the cache


@pytest.mark.slow
def test_processes_that_need_the_same_file_make_it_once(own_cache: Path, tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from cudamm.compile import compile_cache
def make(path):
    with Path(sys.argv[1]).open("a") as made:
        made.write("made\\n")
    path.write_bytes(b"x" * 100_000)
    time.sleep(0.05)
    with path.open("ab") as file:
        file.write(b"y" * 100_000)
for number in range(10):
    cached_file = compile_cache.cached([str(number)], ".o", make)
    assert cached_file.read_bytes() == b"x" * 100_000 + b"y" * 100_000
"""
    made = tmp_path / "made"
    running = [subprocess.Popen([sys.executable, "-c", code, str(made)]) for _ in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert len(made_in(own_cache)) == 10
    assert made.read_text() == "made\n" * 10


@pytest.mark.parametrize("has_locks", [True, False])
def test_a_process_that_never_finishes_a_file_is_not_waited_for(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_locks: bool
) -> None:
    def make_for_ever(path: Path) -> None:
        (tmp_path / "begun").touch()
        time.sleep(600)

    def fail_to_wait(seconds: float) -> NoReturn:
        raise AssertionError("it waits")

    begun = tmp_path / "begun"
    making = os.fork()
    if making == 0:
        compile_cache.cached(["one"], ".o", make_for_ever)
    try:
        while not begun.exists():
            time.sleep(0.01)
        if has_locks:
            monkeypatch.setattr(compile_cache, "LONGEST_WAIT_S", 0.1)
        else:
            monkeypatch.setattr(fcntl, "lockf", raise_disk_full)  # any error but that of a held lock
            monkeypatch.setattr(time, "sleep", fail_to_wait)
        assert compile_cache.cached(["one"], ".o", make).read_bytes() == MADE
    finally:
        os.kill(making, signal.SIGKILL)
        os.waitpid(making, 0)


def test_the_next_run_removes_the_folders_of_a_killed_run_and_no_others(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the cache folder and the folder of temporary files contain folders of a run that still runs."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (temporary / f"{PREFIX}of-the-user").mkdir()
    code = f"""
import sys, time
from pathlib import Path
from cudamm.compile.owned_folder import owned_folder
with owned_folder(Path({str(compile_cache.cache_folder())!r})) as one, owned_folder() as two:
    (one / "file").touch(), (two / "file").touch()
    print("made", flush=True)
    time.sleep(60)
"""
    environment = os.environ | {"TMPDIR": str(temporary)}
    runs = [subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=-1) for _ in range(2)]
    for run in runs:
        assert run.stdout is not None and run.stdout.readline() == b"made\n"
    killed, alive = runs
    killed.kill()
    killed.communicate()
    assert [len(made_in(folder)) for folder in (own_cache, temporary)] == [2, 3]
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    cached_file = compile_cache.cached(["one"], ".o", make)
    with compiler_process.temporary_folder() as own:
        assert len(list(temporary.iterdir())) == 3  # the user's, the living run's and the new one
    assert not own.exists()
    assert len(made_in(own_cache)) == 2 and cached_file.exists()
    alive.kill()
    alive.communicate()


# ---- Compilers that are killed


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
def test_a_killed_compiler_is_no_compile_error_of_the_kernel(
    own_cache: Path,
    write_kernel: WriteKernel,
    compiler: Callable[[str], Path],
    script: str,
    words: str,
    includes: bool,
) -> None:
    compiler(script)
    source = "#include <cstdio>\n" * includes + "__global__ void k(float *C) { C[0] = 1; }"
    with pytest.raises(compiler_process.CompilerKilled, match=words) as raised:
        host_compiler.compile_for_host(program_of(write_kernel(source)))
    assert isinstance(raised.value, KernelError)
    assert made_in(own_cache) == []


@pytest.mark.usefixtures("needs_nvcc")
def test_a_killed_program_of_nvcc_is_reported(
    own_cache: Path, write_kernel: WriteKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system kills a program like this when memory runs out. The message is the real nvcc's."""
    one = program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }"))
    run = compiler_process.run_group

    def run_with_killer(command: list[str], *arguments: Any, **named: Any) -> Any:
        if "-cubin" not in command:
            return run(command, *arguments, **named)
        killer = """
import os, subprocess, sys
from pathlib import Path
def descendants(process):
    try:
        for word in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            yield int(word)
            yield from descendants(word)
    except OSError:
        pass
nvcc = subprocess.Popen(sys.argv[1:])
while nvcc.poll() is None:
    for process in descendants(nvcc.pid):
        try:
            if Path(f"/proc/{process}/comm").read_text() == "cicc\\n":
                os.kill(process, 9)
        except OSError:
            pass
sys.exit(nvcc.returncode)
"""
        return run([sys.executable, "-c", killer, *command], *arguments, **named)

    monkeypatch.setattr(compiler_process, "run_group", run_with_killer)
    with pytest.raises(compiler_process.CompilerKilled, match="killed: is there too little memory"):
        nvcc_compiler.compile_for_gpu(one, "sm_90")
    assert made_in(own_cache) == []


def test_a_long_line_of_a_compiler_is_read_at_once() -> None:
    begin_s = time.process_time()
    failure = compiler_process.compile_failure("nvcc", f"kernel.cu(1): error: unexpected {'<' * 60_000}\n")
    assert time.process_time() - begin_s < 1
    assert str(failure).startswith("does not compile: kernel.cu(1): error: unexpected <<<")


def test_a_compiler_that_does_not_start_is_reported(
    own_cache: Path, write_kernel: WriteKernel, compiler: Callable[[str], Path]
) -> None:
    path = compiler("exit 1")
    host_compiler.compiler()
    path.unlink()
    with pytest.raises(NoDeviceError, match=r"the compiler my-g\+\+ cannot be run \(No such file"):
        host_compiler.compile_for_host(program_of(write_kernel("__global__ void k(float *C) { C[0] = 1; }")))


@pytest.mark.usefixtures("needs_nvcc")
def test_a_driver_older_than_nvcc_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    major, minor = nvcc_compiler.nvcc().release
    for supported in (None, (major, 0), (major, minor), (major + 1, 0)):
        nvcc_compiler.check_driver(supported)
    with pytest.raises(NoDeviceError) as raised:
        nvcc_compiler.check_driver((major - 1, 9))
    message = str(raised.value)
    assert f"CUDA {major}.{minor}" in message and f"CUDA {major - 1}.9" in message
    assert "update the driver" in message and "\n" not in message


# ---- What a compiled program is made from


KERNEL = "__global__ void k(float *C) { C[0] = VALUE; }\n"


@pytest.mark.parametrize(
    ("variable", "source"),
    [
        ("CPLUS_INCLUDE_PATH", "#inc\\\nlude <value.h>\n"),
        ("CPLUS_INCLUDE_PATH", "#include <cuda_fp16.h>\n#include <value.h>\n"),
        ("CXX", '#include "one.h"\n'),
    ],
)
def test_a_changed_header_changes_what_a_program_is_made_from(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, source: str
) -> None:
    headers = tmp_path / "headers"
    headers.mkdir()
    (tmp_path / "one.h").write_text("#include <value.h>\n")
    monkeypatch.setenv(variable, f"g++ -I{headers}" if variable == "CXX" else str(headers))
    host_compiler.compiler.cache_clear()
    made_from = []
    for text in ("#define VALUE 1\n", "#define VALUE 2\n"):
        (headers / "value.h").write_text(text)
        made_from.append(host_compiler.made_from(program_of(write_kernel(source + KERNEL))))
    monkeypatch.undo()
    host_compiler.compiler.cache_clear()
    assert made_from[0] != made_from[1]


@pytest.mark.sampled(2, first=1)
@pytest.mark.parametrize("name", ["cuda_fp16.h", "cooperative_groups/reduce.h"])
@pytest.mark.slow
def test_a_header_of_cuda_is_never_a_file_of_the_user(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("CPLUS_INCLUDE_PATH", str(tmp_path))
    kernel = program_of(write_kernel(f"#include <{name}>\n__global__ void k(float *C) {{}}\n"))
    before = host_compiler.made_from(kernel)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("#error a file of the user\n")
    assert host_compiler.made_from(kernel) == before
    host_compiler.compile_for_host(kernel)


def test_a_header_in_a_folder_of_the_user_comes_before_one_of_cuda(
    write_kernel: WriteKernel, tmp_path: Path
) -> None:
    path = write_kernel("#include <cuda_fp16.h>\n" + KERNEL)
    made_from = []
    for text in ("#define VALUE 1\n", "#define VALUE 2\n"):
        (tmp_path / "cuda_fp16.h").write_text(text)
        kernel = program_of(path, include=str(tmp_path))
        made_from.append(host_compiler.made_from(kernel))
        host_compiler.compile_for_host(kernel)
    assert made_from[0] != made_from[1]


@pytest.mark.usefixtures("needs_nvcc")
def test_a_changed_header_changes_what_machine_code_is_made_from(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CPATH", str(tmp_path))
    kernel = program_of(write_kernel("#include <value.h>\n" + KERNEL))
    made_from = []
    for text in ("#define VALUE 1\n", "#define VALUE 2\n"):
        (tmp_path / "value.h").write_text(text)
        made_from.append(nvcc_compiler.made_from(kernel, "sm_80"))
    assert made_from[0] != made_from[1]


def test_a_compiler_that_is_a_script_is_identified_by_its_text(
    compiler: Callable[[str], Path], write_kernel: WriteKernel
) -> None:
    kernel = program_of(write_kernel("__global__ void k(float *C) {}"))
    made_from = []
    for script in ('exec g++ "$@"', 'exec g++ -O0 "$@"'):
        compiler(script)
        made_from.append(host_compiler.made_from(kernel))
    assert made_from[0] != made_from[1]


def test_a_file_in_the_current_folder_is_not_taken_for_an_included_one(
    write_kernel: WriteKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("value.h", "cuda_on_cpu.h", "cuda_runtime.h"):
        (elsewhere / name).write_text("#error the wrong file\n")
    write_kernel("#define VALUE 1\n", "value.h")
    monkeypatch.chdir(elsewhere)
    host_compiler.compile_for_host(program_of(write_kernel('#include "value.h"\n' + KERNEL)))


def test_a_program_that_the_preprocessor_refuses_is_not_taken_for_another(write_kernel: WriteKernel) -> None:
    source = "#include <assert.h>\n#ifdef BROKEN\n#error no\n#endif\n__global__ void k(float *C) {}\n"
    host_compiler.compile_for_host(program_of(write_kernel(source)))
    with pytest.raises(KernelError, match="does not compile"):
        host_compiler.compile_for_host(program_of(write_kernel("#define BROKEN\n" + source)))
