"""Executors: the same answers in this process and in a worker, and errors passed between processes."""

from __future__ import annotations

import os
import pickle
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_device import silent

from cudamm.compile.compile_cache import cache_folder
from cudamm.compile.compiler_process import CompilerKilled
from cudamm.compile.owned_folder import PREFIX, owned_folder
from cudamm.compile.process_group import thread_pool
from cudamm.devices.device import Device
from cudamm.errors import KernelError, NoDeviceError, UsageError
from cudamm.execution.case import Case
from cudamm.execution.executor import Executor, Facts
from cudamm.execution.executor_group import ExecutorGroup
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.execution.process_protocol import Failure, Success, WorkerLostError, answer_to, value_of
from cudamm.execution.worker_executor import WorkerExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

PROBLEM = Problem(Shape(8, 5, 6), ELEMENT_TYPES["float32"])


@pytest.fixture(scope="module", params=["in process", "worker"])
def executor(request: pytest.FixtureRequest, cpu: Device[Any]) -> Iterator[Executor]:
    """Yield each executor in turn, on the CPU device."""
    with InProcessExecutor(cpu) if request.param == "in process" else WorkerExecutor("cpu", 30) as opened:
        yield opened


def case_of(executor: Executor, method: Method) -> Case:
    """Prepare a method. Its case has position 0."""
    (variant,) = variants(method, {"BLOCK_SIZE": (4,)})
    (case,) = prepare(executor, [(variant, PROBLEM)], True, silent, verified=True)
    return case


@pytest.fixture
def wrong(write_kernel: Callable[..., Path]) -> Method:
    return read_method(write_kernel(find("coalesced").source.replace("= sum;", "= 2 * sum;")))


def test_a_case_is_verified_and_sampled(executor: Executor) -> None:
    case = case_of(executor, find("naive"))
    verdict = executor.verify(case, thorough=True)
    assert (verdict.correct, verdict.reason) == (True, "")
    batch = executor.sample(case, samples=3, launches_per_sample=2, cold=False, check=True)
    assert len(batch.samples_ms) == 3 and min(batch.samples_ms) > 0
    assert (batch.clock_mhz, batch.throttle_reasons) == (None, ())
    assert 1 <= batch.judged <= 2 and batch.judged_whole


def test_target_facts_and_free_memory_are_those_of_the_device(executor: Executor, cpu: Device[Any]) -> None:
    assert executor.target.info == cpu.info
    assert executor.facts() == Facts(None, None)
    assert executor.free_bytes() > 0


def test_cases_with_the_same_position_are_distinguished(executor: Executor, wrong: Method) -> None:
    for method, is_right in ((find("coalesced"), True), (wrong, False), (find("naive"), True)):
        case = case_of(executor, method)
        assert executor.verify(case, thorough=False).correct is is_right


def test_a_case_runs_again_after_its_matrices_were_freed(executor: Executor) -> None:
    case = case_of(executor, find("naive"))
    for _ in range(2):
        assert executor.verify(case, thorough=False).correct
        executor.release()


def test_a_dismissed_device_starts_again_only_if_it_is_used_again() -> None:
    with WorkerExecutor("cpu", 30) as executor:
        case = case_of(executor, find("naive"))
        assert executor.verify(case, thorough=False).correct
        first = executor._process
        executor.dismiss()
        executor.release()
        assert executor._process is first
        first.wait(10)  # killed, or it has seen the closed connection before
        assert executor.verify(case, thorough=False).correct
        assert executor.sample(case, samples=1, launches_per_sample=1, cold=False, check=True).samples_ms
        assert executor._process is not first


@pytest.mark.slow
def test_devices_that_do_not_open_are_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cudamm.execution.worker_executor.START_TIMEOUT_S", 0.5)
    members = [WorkerExecutor("cpu", 30) for _ in range(2)]
    for member in members:
        os.killpg(member._process.pid, signal.SIGSTOP)
    with ExecutorGroup(members) as group, pytest.raises(NoDeviceError, match="did not start: it hangs"):
        _ = group.target


def test_a_device_that_is_dismissed_before_it_opens_has_nothing_to_free() -> None:
    late, ready = members = [WorkerExecutor("cpu", 30) for _ in range(2)]
    os.killpg(late._process.pid, signal.SIGSTOP)
    with ExecutorGroup(members) as group:
        assert ready.is_open(30)
        late.dismiss()
        group.release()
        assert group.open_members() == [ready]


def test_a_wrong_product_is_an_error_when_it_is_timed(executor: Executor, wrong: Method) -> None:
    case = case_of(executor, wrong)
    with pytest.raises(KernelError, match="wrong with others: C is 2 times the product"):
        executor.sample(case, samples=1, launches_per_sample=1, cold=False, check=True)
    assert executor.sample(case, samples=1, launches_per_sample=1, cold=False, check=False).samples_ms


SLOW_AND_WRONG = """
// threads: 8, 8
// grid:    ceil(N / 8), ceil(M / 8)
#include <unistd.h>
__global__ void slow(int M, int N, int K, const float *A, const float *B, float *C) {
    if (threadIdx.x + threadIdx.y + blockIdx.x + blockIdx.y == 0) usleep(100000);
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = 0;
}
"""


@pytest.mark.slow
def test_the_answer_to_an_abandoned_request_is_no_answer_to_the_next_one(
    write_kernel: Callable[..., Path],
) -> None:
    """An error on one device stops the threads of the others in the middle of a request."""
    with WorkerExecutor("cpu", 30) as executor:
        right = case_of(executor, find("naive"))
        (variant,) = variants(read_method(write_kernel(SLOW_AND_WRONG)), {})
        (wrong,) = prepare(executor, [(variant, PROBLEM)], True, silent, verified=True)
        with pytest.raises(ZeroDivisionError), thread_pool(1) as pool:
            pool.submit(executor.verify, wrong, thorough=False)
            time.sleep(0.1)
            raise ZeroDivisionError
        assert executor.verify(right, thorough=False).correct is True
        assert executor.verify(wrong, thorough=False).correct is False


def fail_with(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (CompilerKilled("nvcc was killed"), KernelError, "nvcc was killed"),
        (UsageError("no such size"), UsageError, "no such size"),
        (NoDeviceError("no compiler"), NoDeviceError, "no compiler"),
        (MemoryError(), KernelError, "out of memory"),
    ],
)
def test_an_error_passes_to_the_other_process(error: BaseException, kind: type, words: str) -> None:
    answer = pickle.loads(pickle.dumps(answer_to(fail_with(error))))  # noqa: S301 - made here
    assert isinstance(answer, Failure)
    with pytest.raises(kind, match=words) as caught:
        value_of(answer)
    assert type(caught.value) is kind


def test_an_error_on_a_broken_device_ends_the_worker() -> None:
    answer = answer_to(fail_with(KernelError("illegal address")), lambda: True)
    with pytest.raises(WorkerLostError, match="illegal address"):
        value_of(answer)
    # Other errors do not depend on the device.
    assert isinstance(answer_to(fail_with(UsageError("no such size")), lambda: True), Failure)
    assert answer_to(lambda: 7, lambda: True) == Success(7)


@pytest.mark.usefixtures("compiler_cache")
def test_folders_of_a_killed_worker_are_removed_and_those_in_use_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with owned_folder() as in_use, owned_folder(cache_folder()) as in_use_in_cache:
        executor = WorkerExecutor("cpu", 30)  # removes what earlier runs have left
        left = [folder / f"{PREFIX}{'left':_<8}" for folder in (tmp_path, cache_folder())]
        for folder in left:
            (folder / "partial").mkdir(parents=True)
        executor.close()
        assert not any(folder.exists() for folder in left)
        assert in_use.is_dir() and in_use_in_cache.is_dir()


@pytest.mark.parametrize("missing", ["CUDAMM_CACHE", "TMPDIR"])
def test_a_worker_ends_if_there_is_no_cache_folder_or_none_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    executor = WorkerExecutor("cpu", 30)
    if missing == "CUDAMM_CACHE":
        monkeypatch.setenv(missing, str(tmp_path / "none"))
    else:
        monkeypatch.setattr(tempfile, "gettempdir", no_temporary_folder)
    executor.close()
    assert not (tmp_path / "none").exists()


def no_temporary_folder() -> str:
    raise FileNotFoundError("No usable temporary directory found")
