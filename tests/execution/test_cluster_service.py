"""A Dask worker's requests to its device: one after the other, and cases that need no shared file system."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from cudamm.compile import compile_cache
from cudamm.devices.cpu_device import PythonFunction
from cudamm.errors import HangError, KernelError
from cudamm.execution.case import Case
from cudamm.execution.cluster_service import CaseMissing, ClusterService
from cudamm.execution.executor import SampleBatch
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.portable_case import received, to_send
from cudamm.execution.prepare import prepare
from cudamm.execution.process_protocol import FreeBytes, RunCase, Sample, value_of
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants


def compiled_case(cpu: Any, name: str) -> Case:
    (variant,) = variants(find(name), {})
    problem = Problem(parse_shape("8"), ELEMENT_TYPES["float32"], 0)
    with InProcessExecutor(cpu) as executor:
        (case,) = prepare(executor, [(variant, problem)], True, lambda *_: None, verified=True)
    return case


class Recorder:
    """An executor that records how many requests run at the same time."""

    timeout_s: float | None = None

    def __init__(self) -> None:
        self.running, self.most, self.cases = 0, 0, []
        self._lock = threading.Lock()

    def sample(self, case: Case, **_: Any) -> SampleBatch:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.02)
        self.running -= 1
        self.cases.append(case.position)
        return SampleBatch([1.0], None, ())

    def free_bytes(self) -> int:
        raise HangError("no answer within 1 s (--timeout)")


def test_samples_of_several_clients_never_overlap_on_one_device(cpu: Any) -> None:
    recorder, case = Recorder(), compiled_case(cpu, "naive")
    service = ClusterService(recorder)  # type: ignore[arg-type]
    request = pickle.dumps(RunCase(0, to_send(case), Sample(1, 1, False, False)))

    async def ask() -> list[bytes]:
        return await asyncio.gather(*(service.answer(f"client {n}", None, request) for n in range(4)))

    answers = [value_of(pickle.loads(answer)) for answer in asyncio.run(ask())]  # noqa: S301
    assert recorder.most == 1 and len(answers) == 4 == len(recorder.cases)


def test_a_case_is_asked_for_again_after_another_client(cpu: Any) -> None:
    service = ClusterService(Recorder())  # type: ignore[arg-type]
    step = Sample(1, 1, False, False)

    def ask(session: str, case: Case | None) -> Any:
        answer = service.answer(session, None, pickle.dumps(RunCase(0, case, step)))
        return pickle.loads(asyncio.run(answer))  # noqa: S301

    case = to_send(compiled_case(cpu, "naive"))
    assert ask("one", None) == CaseMissing()
    assert value_of(ask("one", case)).samples_ms == [1.0]
    assert value_of(ask("one", None)).samples_ms == [1.0]
    assert value_of(ask("two", case)).samples_ms == [1.0]
    assert ask("one", None) == CaseMissing()


def test_the_kind_of_an_error_travels(cpu: Any) -> None:
    service = ClusterService(Recorder())  # type: ignore[arg-type]
    answer = pickle.loads(asyncio.run(service.answer("one", None, pickle.dumps(FreeBytes()))))  # noqa: S301
    with pytest.raises(HangError, match="no answer within 1 s"):
        value_of(answer)
    assert issubclass(HangError, KernelError)


@pytest.mark.parametrize("name", ["naive", "numpy"])
def test_a_case_runs_on_a_host_without_the_files_of_this_one(
    cpu: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = compiled_case(cpu, name)
    sent = pickle.dumps(to_send(case))
    monkeypatch.setenv("CUDAMM_CACHE", str(tmp_path / "elsewhere"))
    compile_cache.cache_folder.cache_clear()
    arrived = received(pickle.loads(sent))  # noqa: S301
    compile_cache.cache_folder.cache_clear()
    assert isinstance(case.compiled, PythonFunction) == (name == "numpy")
    assert arrived.compiled.path.is_relative_to(tmp_path / "elsewhere")
    assert arrived.compiled.path.read_bytes() == case.compiled.path.read_bytes()
    with InProcessExecutor(cpu) as executor:
        assert executor.verify(arrived, thorough=False).correct
    shutil.rmtree(tmp_path / "elsewhere")
    with InProcessExecutor(cpu) as executor, pytest.raises((KernelError, OSError)):
        executor.verify(arrived, thorough=False)
