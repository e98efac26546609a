"""Running the command line: in this process, in a process of its own, and on a terminal."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pty
import re
import shlex
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cudamm.benchmark.result import ExactFigures
from cudamm.cli import app
from cudamm.compile.compile_cache import cache_folder
from cudamm.compile.host_compiler import compiler
from cudamm.devices.find_device import find, host
from cudamm.errors import NoDeviceError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.kernels.architecture import Architecture

KERNEL = """\
// My kernel: a thread for each entry of C.
//
// param:   BLOCK_SIZE = 16 in 8, 16
// threads: BLOCK_SIZE, BLOCK_SIZE
// grid:    ceil(N / BLOCK_SIZE), ceil(M / BLOCK_SIZE)

__global__ void mine(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * BLOCK_SIZE + threadIdx.y, col = blockIdx.x * BLOCK_SIZE + threadIdx.x;
    if (row >= M || col >= N) return;
    float sum = 0;
    for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + col];
    C[row * N + col] = sum;
}
"""


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    status: int
    stdout: str
    stderr: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows of the JSON document on standard output."""
        rows: list[dict[str, Any]] = json.loads(self.stdout)["results"]
        return rows

    def refused(self, status: int, *words: str) -> None:
        """Assert that it ended with one clear line, below the source line of a compile error if it is one."""
        assert "Traceback" not in self.stderr, self.stderr
        assert self.stdout == ""
        *above, last = self.stderr.splitlines()
        assert last.startswith("cudamm: ") and self.stderr.endswith("\n")
        assert not above or "does not compile" in last, self.stderr
        assert all(re.match(r"cudamm: +\d* \| ", line) for line in above), self.stderr
        assert self.status == status, self.stderr
        missing = [word for word in words if word not in self.stderr]
        assert not missing, f"{self.stderr!r} does not say {missing}"


Run = Callable[..., Ended]

IN_A_WORKER = {"check", "profile", "interrupt"}
"""Modules, without `test_cli_`, whose commands run cases in a worker process, as those of users do."""


class InThisProcess(InProcessExecutor):
    """Takes the place of `WorkerExecutor`, and saves a process."""

    def __init__(self, device_spec: str, timeout_s: float, expected: Any = None) -> None:
        super().__init__(find(device_spec))


@pytest.fixture(autouse=True)
def no_worker_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands run cases in this process, if a test is about what the commands make of the results."""
    module = request.module.__name__.removeprefix("test_cli_")
    if module not in IN_A_WORKER and "interrupted_at" not in request.fixturenames:
        monkeypatch.setattr("cudamm.execution.worker_executor.WorkerExecutor", InThisProcess)


@pytest.fixture(autouse=True)
def no_exact_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `bench` and `sweep` compute no exact figures, two compilations per case, in most tests."""
    if request.module.__name__ != "test_cli_without_gpu":
        monkeypatch.setattr("cudamm.analysis.exact_figures.exact_figures", no_figures)


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands time each variant at once, without launching it for 100 ms first."""
    monkeypatch.setattr("cudamm.benchmark.measure_in_turn.WARM_UP_MS", 0.0)


def no_figures(cases: Sequence[Any], architecture: Architecture, *_: Any) -> list[ExactFigures]:
    return [ExactFigures(architecture.name, architecture.gpu)] * len(cases)


@pytest.fixture
def interrupted_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Have Ctrl-C come when the kernel of that number, counted from one, is about to be verified."""

    def arrange(number: int) -> None:
        from cudamm.execution import worker_executor

        executor = worker_executor.WorkerExecutor
        original, calls = executor.verify, []

        def verify(self: Any, *arguments: Any, **named: Any) -> Any:
            calls.append(arguments)
            if len(calls) == number:
                raise KeyboardInterrupt
            return original(self, *arguments, **named)

        monkeypatch.setattr(executor, "verify", verify)

    return arrange


@pytest.fixture
def cpu_passes_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the CPU device pass for a GPU, so that `tune` chooses and stores winners on any machine."""
    device = host()
    info = dataclasses.replace(device.info, kind="gpu", properties=device.info.properties | {"arch": "sm_86"})
    monkeypatch.setattr(device, "info", info)
    monkeypatch.setattr("cudamm.execution.worker_executor.WorkerExecutor", InThisProcess)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no GPU answer."""

    def import_driver() -> None:
        raise NoDeviceError("the driver finds no GPU")

    monkeypatch.setattr("cudamm.devices.gpu_device.import_driver", import_driver)


@pytest.fixture
def setenv(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Return a function that sets a variable, and has the compiler and the cache folder found again."""
    cached = (compiler, cache_folder)

    def setenv(name: str, value: str) -> None:
        monkeypatch.setenv(name, value)
        for function in cached:
            function.cache_clear()

    yield setenv
    for function in cached:
        function.cache_clear()


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the caller's shell says about colours and widths must not decide a test."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONIOENCODING", "CXX"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    try:
        runner = CliRunner(mix_stderr=False)  # type: ignore[call-arg] # click < 8.2
    except TypeError:
        runner = CliRunner()

    def run_here(line: str) -> Ended:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a user would see it among the tables
            result = runner.invoke(app, shlex.split(line), prog_name="cudamm")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception  # what a user would see as a traceback
        return Ended(result.exit_code, result.stdout, result.stderr)

    return run_here


@pytest.fixture
def spawn(tmp_path: Path) -> Run:
    """Run a command line in a process of its own, without a GPU even where there is one."""

    def run_there(line: str, *, redirect: str = "", **environment: str) -> Ended:
        command = [sys.executable, "-m", "cudamm", *shlex.split(line)]
        if redirect:  # a redirection, which the shell sets up before it becomes the command
            command = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *command]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=tmp_path,
            env={**os.environ, "CUDA_VISIBLE_DEVICES": "", **environment},
            timeout=60,
            check=False,
        )
        return Ended(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        )

    return run_there


@pytest.fixture
def on_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command line in this process, with standard output or standard error on a pseudo-terminal."""
    monkeypatch.chdir(tmp_path)

    def run_here(line: str, *, stderr: bool = False, **environment: str) -> Ended:
        controller, terminal = pty.openpty()
        shown: list[bytes] = []
        reader = threading.Thread(target=read_terminal, args=(controller, shown), daemon=True)
        reader.start()
        with (
            monkeypatch.context() as patch,
            os.fdopen(terminal, "w", encoding="utf-8") as shown_stream,
            Path(os.devnull).open("w", encoding="utf-8") as other_stream,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("error")
            for name, value in {"TERM": "xterm-256color", "COLUMNS": "80", **environment}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdout", other_stream if stderr else shown_stream)
            patch.setattr(sys, "stderr", shown_stream if stderr else other_stream)
            with pytest.raises(SystemExit) as end:
                app.main(shlex.split(line), prog_name="cudamm")
        reader.join(timeout=60)
        os.close(controller)
        text = b"".join(shown).decode().replace("\r\n", "\n")
        status = end.value.code
        assert isinstance(status, int)
        return Ended(status, "" if stderr else text, text if stderr else "")

    return run_here


def read_terminal(controller: int, chunks: list[bytes]) -> None:
    """Append what is written to a pseudo-terminal, until its other end is closed."""
    with contextlib.suppress(OSError):  # how Linux reports that the other end is closed
        while chunk := os.read(controller, 65536):
            chunks.append(chunk)


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Path]:
    """Write a kernel of the user's: a correct one with a header, with some of its text replaced."""

    def write(name: str = "my.cu", replacing: str = "", by: str = "") -> Path:
        assert replacing in KERNEL
        path = tmp_path / name
        path.write_text(KERNEL.replace(replacing, by) if replacing else KERNEL)
        return path

    return write


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that the worker was asked to launch, as it happens."""
    from cudamm.execution.case import Case
    from cudamm.execution.worker_executor import WorkerExecutor

    launched: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        original = getattr(WorkerExecutor, name)

        def ask(self: WorkerExecutor, case: Case, *rest: Any, **named: Any) -> Any:
            launched.append(case.variant.method.name)
            return original(self, case, *rest, **named)

        return ask

    for name in ("verify", "sample"):
        monkeypatch.setattr(WorkerExecutor, name, watched(name))
    return launched
