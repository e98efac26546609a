"""A kernel's process ends with the program that started it, whatever either is doing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
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


def below(process: int) -> Iterator[int]:
    """The processes that one has started, and those that they have."""
    for task in Path(f"/proc/{process}/task").iterdir():
        for word in (task / "children").read_text().split():
            yield int(word)
            yield from below(int(word))


def runs(process: int) -> bool:
    """Whether a process does anything still: one that is dead and not waited for does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="there is no /proc")
def test_a_killed_program_leaves_no_kernel_running(tmp_path: Path) -> None:
    (tmp_path / "endless.cu").write_text(ENDLESS)
    line = "verify --device cpu -n 16 --kernel endless.cu"
    program = subprocess.Popen(
        [sys.executable, "-m", "cudamm", *line.split()],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert program.stderr is not None
        assert program.stderr.readline() == "spinning\n"
        kernels = list(below(program.pid))
        assert kernels and all(map(runs, kernels))
    finally:
        program.kill()  # SIGKILL: it cannot tidy up
        program.wait()
    deadline = time.monotonic() + 5
    while any(map(runs, kernels)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(runs, kernels))


def test_a_kernel_whose_program_is_gone_already_does_not_begin(tmp_path: Path) -> None:
    """As where it is killed between starting one and that one asking to be told."""
    from cudamm.compile.host_compiler import compile_for_host
    from cudamm.compile.program import program
    from cudamm.kernels.header import read_method
    from cudamm.kernels.method import ELEMENT_TYPES
    from cudamm.kernels.variant import Variant

    (tmp_path / "endless.cu").write_text(ENDLESS)
    method = read_method(tmp_path / "endless.cu")
    executable = compile_for_host(program(Variant(method, ()), ELEMENT_TYPES["float32"], True))
    # A command whose sender has gone before it is read.
    shell = 'printf "constant none 0\\n" | (sleep 0.3; exec "$0" 1 0 1)'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, executable.path], capture_output=True, text=True, timeout=5
    )
    assert (done.returncode, done.stdout) == (5, "")
