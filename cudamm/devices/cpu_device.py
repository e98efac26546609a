"""The CPU device, which executes CUDA kernels on this machine's processor to check them, not to time them.

A CUDA kernel is compiled with a header that implements CUDA's execution model, and runs in a process of its
own (`cpu_runtime`). The host's own methods run natively: C++ in a process of its own, NumPy in this process.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import mmap
import os
import platform
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cudamm.compile.confinement import (
    is_delayed,
    kernel_command,
    kernel_environment,
    kernel_output,
    machine_fault,
)
from cudamm.compile.host_compiler import Executable, compile_for_host, compiler, made_from
from cudamm.compile.process_group import CORES, STEP_S, kill_group, start_group, stop_if_asked
from cudamm.compile.program import Program
from cudamm.compile.signature import passed_value
from cudamm.devices.device import (
    GUARD_BYTES,
    Device,
    DeviceInfo,
    Region,
    Run,
    fill,
    guarded,
    guards_of,
    region_bytes,
)
from cudamm.errors import HangError, KernelError, NoDeviceError, signal_name
from cudamm.kernels.array_file import FileArray
from cudamm.kernels.launch_plan import Argument, Launch, Limits, Scratch, StructValue
from cudamm.kernels.method import ElementType, Execution, MatrixName, Method
from cudamm.kernels.parameter_types import each_format, parameter_formats, parameters_of
from cudamm.kernels.problem import Matrix
from cudamm.source.c_text import without_comments

PAGE_BYTES = mmap.PAGESIZE

ALIGNED_BYTES = 256
"""Alignment of the memory that a GPU's driver allocates, in bytes."""

_WAKING = np.ones((256, 256), np.float32)
"""A matrix large enough for BLAS to multiply it in all its threads."""


LONGEST_ANSWER_BYTES = 1 << 20
"""Maximum size of what a process may send before it ends a line; an answer has at most 2,048 bytes."""

MatmulFunction = Callable[[Matrix, Matrix, Matrix], None]


@dataclass(frozen=True)
class PythonFunction:
    """A Python method's function, which the process that runs it loads."""

    path: Path
    entry: str


class CpuDevice(Device["Executable | PythonFunction"]):
    """This machine's processor."""

    has_thread_order = True
    # The limits are those of current GPUs, so that a kernel that runs here can run there too. The newest
    # feature that the CPU device implements is cp.async, which needs sm_80.
    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 227 * 1024, arch="sm_80")

    def __init__(self) -> None:
        self.workers = CORES
        try:
            version = compiler().version
        except NoDeviceError:
            version = "none found"
        self.info = DeviceInfo(
            kind="cpu",
            spec="cpu",
            name=_processor_name(),
            properties={
                "cores": self.workers,
                "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
                "compiler": version,
                "max_threads_per_block": self.limits.threads_per_block,
                "max_shared_bytes_per_block": self.limits.shared_bytes_per_block,
            },
        )

    def execution(self, method: Method) -> Execution:
        """Return `native` for host methods, and `emulated` for CUDA kernels."""
        return "native" if method.runs_on_host else "emulated"

    def compile(self, program: Program) -> Executable | PythonFunction:
        """Compile a program with the host's C++ compiler; a Python method needs no compiling."""
        if program.method.language == "python":
            return PythonFunction(program.method.path, program.method.entry)
        return compile_for_host(program)

    def made_from(self, program: Program) -> list[str]:
        """Return everything that determines the compiled program, and the number of threads that run it."""
        if program.method.language == "python":
            return [program.text, np.__version__, str(self.workers)]
        return [*made_from(program), str(self.workers)]

    def open(
        self, program: Program, compiled: Executable | PythonFunction, launch: Launch, a: Matrix, b: Matrix
    ) -> Run:
        """Start the kernel's process, and copy the matrices into memory shared with it."""
        if isinstance(compiled, Executable):
            return ProcessRun(program, compiled, launch, a, b, self.workers)
        return _FunctionRun(_load_function(compiled), launch, program.element, a, b)

    def free_bytes(self) -> int:
        """Return the available memory of the machine, or of this process's control group if that is less."""
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        try:
            match = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
            available = int(match[1]) * 1024 if match else available
            group = Path("/sys/fs/cgroup")
            limit = (group / "memory.max").read_text().strip()
            if limit.isdigit():
                # The control group counts cached files as used, but they can be evicted.
                cached = re.findall(
                    r"^(?:in)?active_file (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE
                )
                used = int((group / "memory.current").read_text()) - sum(map(int, cached))
                available = min(available, int(limit) - used)
        except OSError:
            pass  # not every system has these files
        return max(0, available)


class ProcessRun(Run):
    """A kernel in a process of its own, which takes the commands listed in `runtime.cpp`."""

    def __init__(
        self,
        program: Program,
        executable: Executable,
        launch: Launch,
        a: Matrix,
        b: Matrix,
        workers: int,
        *,
        timeout_s: float | None = None,
        inherited: Sequence[int] = (),
        shows_output: bool = True,
    ) -> None:
        """Start the process.

        Args:
            workers: number of the operating system's threads that run blocks.
            timeout_s: time limit in seconds for an answer or a sign of progress; None: no limit, because
                another process watches over this one.
            inherited: open files that the process inherits.
            shows_output: show what the kernel prints in its first launch; later launches repeat it.
        """
        super().__init__(launch, program.element, a, b)
        self._native = program.method.runs_on_host
        self._program = program
        self._timeout_s = timeout_s
        self._exited: int | None = None
        self._has_answered = False
        self._received = b""
        lengths = {
            name: -(-region_bytes(matrix) // PAGE_BYTES) * PAGE_BYTES
            for name, matrix in self.matrices.items()
        }
        self._file = os.memfd_create("cudamm")
        try:
            os.truncate(self._file, sum(lengths.values()))
            self._memory = mmap.mmap(self._file, sum(lengths.values()))
            self._regions: dict[MatrixName, Region] = {}
            offset = 0
            for name, length in lengths.items():
                region = np.frombuffer(self._memory, np.uint8, length, offset)
                fill(region, guards_of(self.matrices[name])[name])
                self._regions[name] = region
                offset += length
            self.load(a, b)
            self._start(executable, workers, inherited)
            try:
                self._prepare(lengths)
                if shows_output:
                    shape = launch.shape
                    label = "".join(c if c.isprintable() else "?" for c in program.method.name)
                    self.ask(f"prints {label} at {shape.m}x{shape.n}x{shape.k} prints:")
            except BaseException:
                self.close()
                raise
        except OSError as error:
            raise machine_fault(f"there is no process or memory for the kernel: {error.strerror}") from None
        finally:
            os.close(self._file)

    def _start(self, executable: Executable, workers: int, inherited: Sequence[int]) -> None:
        answers, child_end = os.pipe()
        self._answers = os.fdopen(answers, "rb", buffering=0)
        try:
            self._process = start_group(
                kernel_command(
                    [executable.path, str(child_end), str(self._file), str(workers)], is_short=True
                ),
                stdin=subprocess.PIPE,
                # The output of a kernel must not mix with the tables on standard output.
                stdout=kernel_output(2),
                stderr=kernel_output(2),
                env=kernel_environment(),
                pass_fds=[child_end, self._file, *inherited],
            )
        except BaseException:
            self._answers.close()
            raise
        finally:
            os.close(child_end)

    def _prepare(self, lengths: dict[MatrixName, int]) -> None:
        offset = 0
        self._addresses: dict[str, int] = {}  # in the process
        for name, length in lengths.items():
            size_bytes = self.matrices[name].nbytes
            self._addresses[name] = int(
                self.ask(f"buffer {name} {offset} {length} {GUARD_BYTES} {size_bytes}"), 16
            )
            offset += length
        for position, argument in enumerate(self.plan.arguments):
            if isinstance(argument, FileArray | Scratch):
                self._map_memory(position, argument)
        for symbol, value in self.plan.constants:
            self.ask(f"constant {symbol} {value}")

    def _map_memory(self, position: int, argument: FileArray | Scratch) -> None:
        """Give the process memory for an argument that is no matrix, with the name of its parameter.

        The memory ends where a page does, but for the alignment that a GPU's driver gives memory.
        """
        length = -(-argument.size_bytes // PAGE_BYTES) * PAGE_BYTES
        begin = length - -(-argument.size_bytes // ALIGNED_BYTES) * ALIGNED_BYTES
        offset = os.fstat(self._file).st_size
        os.truncate(self._file, offset + length)
        if isinstance(argument, FileArray):
            os.pwrite(self._file, argument.content, offset + begin)
        name = self.memory_names[position]
        self.ask(f"buffer {name} {offset} {length} {begin} {argument.size_bytes}")

    @functools.cached_property
    def memory_names(self) -> dict[int, str]:
        """Return the names of the parameters that get memory other than a matrix, by their positions."""
        declared = parameters_of(without_comments(self._program.text), self._program.entry)
        return {
            position: re.findall(r"\w+", declared[position].partition("[")[0])[-1]
            for position, argument in enumerate(self.plan.arguments)
            if isinstance(argument, FileArray | Scratch)
        }

    def launch(self, descending: bool = False) -> float:
        """Run the kernel once, check the guards, and return the launch's duration in milliseconds."""
        nanoseconds = self._time(self.launch_command(descending))
        self.check_memory()
        return nanoseconds / 1e6

    def launch_command(self, descending: bool = False) -> str:
        """Return the command that makes the process run the kernel once."""
        plan = self.plan
        arguments = " ".join(itertools.starmap(self._argument, enumerate(plan.arguments)))
        if self._native:
            return f"call {arguments}"
        numbers = " ".join(map(str, (*plan.grid, *plan.block, plan.shared_bytes)))
        return f"launch {numbers} {'descending' if descending else 'ascending'} {arguments}"

    def _argument(self, position: int, argument: Argument) -> str:
        """Return an argument as the process reads it: a matrix, the bytes of a struct, or a number."""
        if isinstance(argument, StructValue):
            passed = passed_value(self._formats[position], argument, self._addresses)
            assert isinstance(passed, bytes)  # noqa: S101 - a struct is packed
            return f"#{passed.hex()}"
        if isinstance(argument, FileArray | Scratch):
            return f"@{len('ABC') + list(self.memory_names).index(position)}"
        return f"@{'ABC'.index(argument)}" if isinstance(argument, str) else repr(argument)

    @functools.cached_property
    def _formats(self) -> list[str]:
        program = self._program
        return each_format(parameter_formats(program.text, program.entry, program.element))

    def _time(self, command: str) -> int:
        duration, _, remarks = self.ask(command).partition(" ")
        self.undefined_shuffle, _, self.missed_barrier = remarks.partition("\t")
        if not duration.isdecimal():
            raise KernelError(
                f"the process running the kernel answered “{duration[:40]}” instead of a duration"
            )
        return int(duration)

    def ask(self, command: str) -> str:
        """Send a command, and return its answer.

        Raises:
            KernelError: the kernel failed, the process died, or the answer takes too long.
        """
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101 - the process was started with a pipe
        with contextlib.suppress(BrokenPipeError):
            if self._exited is None:
                stdin.write(command.encode() + b"\n")
                stdin.flush()
        answer = self._next_line()
        while answer == "busy":
            stop_if_asked()  # answers may come so fast that `_next_line` never waits
            answer = self._next_line()
        kind, _, text = answer.partition(" ")
        self._has_answered |= bool(kind)
        if kind == "ok":
            return text
        self._stop()
        if kind == "failed":
            raise KernelError(text)
        status = self._exited or 0
        how = f"was killed by {signal_name(-status)}" if status < 0 else f"ended with status {status}"
        if status == -signal.SIGSYS:
            how += ": it tried to start a process"
        failure = f"the process running the kernel {how}"
        # Before the first answer nothing of the kernel runs; and no limit of a kernel ends in SIGKILL.
        is_of_machine = not self._has_answered or status == -signal.SIGKILL
        raise machine_fault(failure) if is_of_machine else KernelError(failure)

    def _next_line(self) -> str:
        """Return the next line from the process; empty if it has ended. Raises KernelError, as `ask` does."""
        start, limit_s = time.monotonic(), self._timeout_s
        waiting = select.poll()
        waiting.register(self._answers, select.POLLIN)
        while b"\n" not in self._received:
            if waiting.poll(STEP_S * 1000):
                received = self._answers.read(65536)
                if not received:
                    break
                self._received += received
                if len(self._received) > LONGEST_ANSWER_BYTES:
                    self.close()
                    raise KernelError("the process running the kernel answers without an end")
            elif self._process.poll() is not None:
                # A process that it started may have the other end of the pipe, so this end never ends.
                if waiting.poll(0):
                    continue
                break
            elif (
                limit_s is not None
                and (waited_s := time.monotonic() - start) > limit_s
                and not is_delayed(self._process.pid, limit_s, waited_s)
            ):
                self.close()
                raise HangError(
                    f"no answer within {limit_s:g} s (--timeout): it hangs, or needs longer than that"
                )
            else:
                stop_if_asked()
        line, _, self._received = self._received.partition(b"\n")
        return line.decode(errors="replace")

    def _stop(self) -> None:
        if self._exited is None:
            # After reporting a fault the process ends by itself, and its exit status is needed.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1)
            self._kill()

    def _kill(self) -> None:
        kill_group(self._process)
        self._exited = self._process.wait()

    def _place(self, name: MatrixName, elements: Matrix) -> None:
        self._regions[name][GUARD_BYTES : GUARD_BYTES + elements.nbytes] = elements.view(np.uint8)

    def fill_output(self, word: np.uint32 | None = None) -> None:
        """Fill C with a 32-bit pattern."""
        c = self._regions["C"][GUARD_BYTES : GUARD_BYTES + self.matrices["C"].nbytes]
        fill(c, self.poison if word is None else word)

    def region(self, name: MatrixName) -> Region:
        """Return a view of the shared memory of a matrix with its guards."""
        return self._regions[name][: region_bytes(self.matrices[name])]

    def close(self) -> None:
        """Kill the process, and those that it started; views of the shared memory stay valid."""
        if self._exited is None:
            self._kill()
        if self._process.stdin:
            with contextlib.suppress(BrokenPipeError):  # the process died before it read the last command
                self._process.stdin.close()
        self._answers.close()


class _FunctionRun(Run):
    """A Python function of the host, run in this process."""

    def __init__(
        self, function: MatmulFunction, launch: Launch, element: ElementType, a: Matrix, b: Matrix
    ) -> None:
        super().__init__(launch, element, a, b)
        self._function = function
        self._c = guarded("C", self.matrices["C"])

    def launch(self, descending: bool = False) -> float:
        """Call the function once, and return its duration in milliseconds."""
        out = self.product()
        for matrix in (self.matrices["A"], self.matrices["B"], out):
            matrix.max()  # new inputs have to be in the cache, as after an earlier call on them
        np.matmul(_WAKING, _WAKING)  # BLAS's threads fall asleep while inputs are drawn
        start = time.perf_counter_ns()
        self._function(self.matrices["A"], self.matrices["B"], out)
        return (time.perf_counter_ns() - start) / 1e6

    def _place(self, name: MatrixName, elements: Matrix) -> None:
        """Do nothing: the function is called with the matrices themselves."""

    def fill_output(self, word: np.uint32 | None = None) -> None:
        """Fill C with a 32-bit pattern."""
        self.product().view(np.uint32)[:] = self.poison if word is None else word

    def region(self, name: MatrixName) -> Region:
        """Return the memory of C with its guards; for an input, a copy between intact guards.

        An input has no guards of its own, because it is a matrix of this process.
        """
        if name == "C":
            return self._c
        matrix = self.matrices[name]
        region = guarded(name, matrix)
        region[GUARD_BYTES : GUARD_BYTES + matrix.nbytes] = matrix.reshape(-1).view(np.uint8)
        return region

    def close(self) -> None:
        """Do nothing: this run holds no resources."""


def _load_function(function: PythonFunction) -> MatmulFunction:
    spec = importlib.util.spec_from_file_location(f"cudamm_method_{function.path.stem}", function.path)
    assert spec is not None and spec.loader is not None  # noqa: S101 - a .py file always has them
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    loaded: MatmulFunction = getattr(module, function.entry)
    return loaded


def _processor_name() -> str:
    try:
        match = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else platform.processor() or platform.machine()
