"""A kernel's process ends with the program that started it, even if the kernel is running."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ENDLESS = """\
// threads: 32
// grid:    4

#include <cstdio>
__global__ void endless(int M, int N, int K, const float *A, const float *B, float *C) {
    if (blockIdx.x + threadIdx.x == 0) std::fputs("spinning\\n", stderr);
    for (volatile int i = 0; i < 1;) {}
}
"""


def descendants(process: int) -> Iterator[int]:
    """Yield the child processes of a process and their descendants."""
    for task in Path(f"/proc/{process}/task").iterdir():
        for word in (task / "children").read_text().split():
            yield int(word)
            yield from descendants(int(word))


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc")
def test_a_killed_program_leaves_no_kernel_running(tmp_path: Path, is_running: Callable[[int], bool]) -> None:
    (tmp_path / "endless.cu").write_text(ENDLESS)
    line = "verify --device cpu -n 16 --kernel endless.cu"
    program = subprocess.Popen(
        [sys.executable, "-m", "cudamm", *line.split()],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert program.stderr is not None
        assert program.stderr.readline() == "spinning\n"
        kernels = list(descendants(program.pid))
        assert kernels and all(map(is_running, kernels))
    finally:
        program.kill()  # SIGKILL: the program cannot clean up
        program.wait()
    deadline = time.monotonic() + 5
    while any(map(is_running, kernels)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, kernels))


def test_a_kernel_does_not_start_if_its_program_has_ended(tmp_path: Path) -> None:
    """The program ends before the kernel's process has asked to be signalled at its end."""
    from cudamm.compile.host_compiler import compile_for_host
    from cudamm.compile.program import program
    from cudamm.kernels.header import read_method
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.variant import Variant

    (tmp_path / "endless.cu").write_text(ENDLESS)
    method = read_method(tmp_path / "endless.cu")
    executable = compile_for_host(program(Variant(method, ()), ELEMENT_TYPES["float32"], True))
    # The sender of the command ends before the command is read.
    shell = 'printf "constant none 0\\n" | (sleep 0.3; exec "$0" 1 0 1)'
    completed = subprocess.run(
        ["/bin/sh", "-c", shell, executable.path], capture_output=True, text=True, timeout=5
    )
    assert (completed.returncode, completed.stdout) == (5, "")
