"""Programs that the hosts of a cluster compile: a real scheduler, and real Dask workers with nvcc."""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cudamm.compile.compiler_process import CompileError
from cudamm.compile.nvcc_compiler import compile_for_gpu
from cudamm.compile.program import Program, program
from cudamm.execution import cluster_compiler
from cudamm.execution.cluster import Cluster, EventLoop
from cudamm.execution.cluster_compiler import HostCompilers
from cudamm.execution.dask_workers import DaskWorker, dask_workers
from cudamm.execution.scheduler_address import SchedulerAddress, import_distributed
from cudamm.kernels.header import Overrides, read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.variant import Variant

KERNEL = "__global__ void k(float *C) { C[threadIdx.x] = 1; }\n"


class Hosts:
    """A cluster whose hosts only compile.

    Attributes:
        workers: the Dask worker of each `cudamm worker`.
    """

    def __init__(self, cluster: Cluster, address: SchedulerAddress, opened: contextlib.ExitStack) -> None:
        self.cluster, self.workers = cluster, list[DaskWorker]()
        self.compilers = HostCompilers(cluster)
        self._address, self._opened = address, opened

    def start(self, host: str) -> DaskWorker:
        """Start what `cudamm worker` starts on a host to compile."""
        (worker,) = self._opened.enter_context(dask_workers([], host, reports=False, compiles=True))
        worker.join(self._address)
        self.workers.append(worker)
        return worker

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.cluster.compilers()) != count:
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.fixture
def hosts(needs_nvcc: None) -> Iterator[Callable[[int], Hosts]]:
    """Return a function that starts a cluster with a number of hosts."""
    distributed = import_distributed()
    with contextlib.ExitStack() as opened:
        loop = opened.enter_context(contextlib.closing(EventLoop()))

        async def start_scheduler() -> Any:
            return await distributed.Scheduler(
                host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0"
            )

        def start(count: int) -> Hosts:
            scheduler = loop.run(start_scheduler)
            opened.callback(lambda: loop.run(lambda: scheduler.close()))
            address = SchedulerAddress(scheduler.address)
            cluster = opened.enter_context(contextlib.closing(Cluster(loop, address)))
            started = Hosts(cluster, address, opened)
            for number in range(count):
                started.start(f"node{number}")
            started.wait_for(count)
            return started

        yield start


@pytest.fixture
def nothing_is_compiled_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("compiled on this machine")

    monkeypatch.setattr(cluster_compiler, "compile_with_nvcc", refuse)


def program_of(path: Path) -> Program:
    method = read_method(path, Overrides({"threads": "1", "grid": "1"}))
    return program(Variant(method, ()), ELEMENT_TYPES["float32"], True)


@pytest.mark.slow
def test_a_host_compiles(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path], nothing_is_compiled_here: None
) -> None:
    started = hosts(1)
    right = program_of(write_kernel(KERNEL))
    there = compile_for_gpu(right, "sm_90", started.compilers.compile)
    here = compile_for_gpu(right, "sm_80")
    assert (there.arch, there.kernel) == ("sm_90", here.kernel)
    assert there.resources.registers_per_thread > 0
    assert [compiler.name for compiler in started.cluster.compilers()] == ["node0/nvcc"]
    assert started.cluster.joined() == []  # it is no device


@pytest.mark.slow
def test_a_host_with_other_options_of_nvcc_does_not_compile(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = hosts(1)
    assert started.compilers.threads() >= 1
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "-O1")
    assert started.cluster.compilers() == []
    assert started.compilers.compile(program_of(write_kernel(KERNEL)), "sm_90")[0]


@pytest.mark.slow
def test_a_program_that_reads_a_file_is_compiled_where_the_file_is(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path], nothing_is_compiled_here: None
) -> None:
    """The text of a kernel contains its own headers already, and each host has those of CUDA."""
    started = hosts(1)
    write_kernel("#define VALUE 3\n", "value.h")
    for header in ('"value.h"', "<cuda_fp16.h>"):
        kernel = program_of(write_kernel(f"#include {header}\n{KERNEL}"))
        assert started.compilers.compile(kernel, "sm_90")[0]
    with pytest.raises(AssertionError, match="compiled on this machine"):
        started.compilers.compile(program_of(write_kernel("#include <cmath>\n" + KERNEL)), "sm_90")


@pytest.mark.slow
def test_another_host_compiles_for_one_that_is_lost_and_this_machine_for_the_last(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = hosts(2)
    kernel = program_of(write_kernel(KERNEL))
    with monkeypatch.context() as patch:
        patch.setattr(cluster_compiler, "compile_with_nvcc", lambda *_: pytest.fail("compiled here"))
        started.workers[0].close()  # the scheduler may still give it programs for a moment
        for _ in range(4):
            assert started.compilers.compile(kernel, "sm_90")[0]
    started.workers[1].close()
    assert started.compilers.compile(kernel, "sm_90")[0]
    started.wait_for(0)


@pytest.mark.slow
def test_what_fails_on_a_host_is_compiled_here(
    hosts: Callable[[int], Hosts],
    write_kernel: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The host's disk may be full; and an error of the kernel has the words and details of this machine."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        started = hosts(1)
    broken = program_of(write_kernel(KERNEL.replace("1;", "one;")))
    with pytest.raises(CompileError, match="one") as failed:
        started.compilers.compile(broken, "sm_90")
    assert "kernel.cu(1)" in failed.value.output
    shutil.rmtree(folder)  # now nothing compiles on the host
    assert started.cluster.compile(pickle.dumps(program_of(write_kernel(KERNEL))), "sm_90") is None
    assert started.compilers.compile(program_of(write_kernel(KERNEL)), "sm_90")[0]


@pytest.mark.slow
def test_a_program_of_a_lost_host_is_compiled_by_one_that_has_joined_since(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path]
) -> None:
    started = hosts(1)
    kernel = pickle.dumps(program_of(write_kernel(KERNEL)))
    os.killpg(started.workers[0].process.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        compiling = pool.submit(started.cluster.compile, kernel, "sm_90")
        started.start("node1")
        started.wait_for(2)
        started.workers[0].close()
        assert compiling.result(60)


@pytest.mark.slow
def test_programs_of_a_host_that_stands_still_are_compiled_by_another(
    hosts: Callable[[int], Hosts], write_kernel: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster.SILENCE_S", 2.0)
    started = hosts(2)
    kernel = pickle.dumps(program_of(write_kernel(KERNEL)))
    os.killpg(started.workers[0].process.pid, signal.SIGSTOP)
    with ThreadPoolExecutor(4) as pool:
        compiling = [pool.submit(started.cluster.compile, kernel, "sm_90") for _ in range(4)]
        assert all(future.result(60) for future in compiling)


@pytest.mark.slow
def test_two_commands_on_one_host_start_one_compiler(hosts: Callable[[int], Hosts]) -> None:
    started = hosts(1)
    second = started.start("node0").process
    assert second.wait(60) == 0
    assert [compiler.name for compiler in started.cluster.compilers()] == ["node0/nvcc"]
