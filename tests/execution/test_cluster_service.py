"""What a Dask worker does for its clients, one after the other, without a shared file system."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
import shutil
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cudamm.compile import compile_cache
from cudamm.devices.cpu_device import PythonFunction
from cudamm.errors import CudammError, DeviceLostError, KernelError
from cudamm.execution.case import Case
from cudamm.execution.cluster_service import (
    ClusterRequest,
    ClusterService,
    GetProgress,
    StartWork,
    StopWork,
    WorkProgress,
)
from cudamm.execution.executor import Report
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.portable_case import received, to_send
from cudamm.execution.prepare import prepare
from cudamm.execution.process_protocol import Success, value_of
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
    """An executor that records the work on it."""

    timeout_s: float | None = None

    def __init__(self) -> None:
        self.running, self.most, self.done, self.released = 0, 0, [], 0
        self._lock = threading.Lock()

    def use(self, position: int) -> None:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0.02)
        self.running -= 1
        self.done.append(position)

    def release(self) -> None:
        self.released += 1


@dataclass(frozen=True)
class Positions:
    """Work that yields the position of each case, and then fails if it has an error.

    Attributes:
        pause_s: duration of each case.
    """

    pause_s: float = 0.0
    error: CudammError | None = None

    def __call__(self, executor: Any, cases: Iterable[Case], report: Report) -> Iterator[int]:
        for case in cases:
            report(f"case {case.position}")
            executor.use(case.position)
            yield case.position
            time.sleep(self.pause_s)
        if self.error is not None:
            raise self.error


@dataclass(frozen=True)
class ManySteps:
    """Work that reports steps for ten seconds before it yields anything."""

    def __call__(self, executor: Any, cases: Iterable[Case], report: Report) -> Iterator[int]:
        for step in range(1000):
            report(f"step {step}")
            time.sleep(0.01)
        yield 0


class Client:
    """A client of a service, whose requests go through pickle as they do through Dask."""

    def __init__(self, service: ClusterService, session: str = "client") -> None:
        self.service, self.session = service, session

    async def ask(self, request: ClusterRequest) -> WorkProgress:
        answer = await self.service.answer(self.session, pickle.dumps(request))
        return pickle.loads(answer)  # noqa: S301

    async def carry_out(self, work: Positions, cases: Sequence[Case]) -> list[int]:
        progress = await self.ask(StartWork(work, cases, None))
        values = progress.values
        while progress.ended is None:
            progress = await self.ask(GetProgress())
            values += progress.values
        value_of(progress.ended)
        return values


def numbered(case: Case, count: int) -> list[Case]:
    return [dataclasses.replace(to_send(case), position=position) for position in range(count)]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def service(recorder: Recorder) -> Iterator[ClusterService]:
    service = ClusterService(recorder)  # type: ignore[arg-type]
    yield service
    service._thread.shutdown()


@pytest.fixture(scope="module")
def case(cpu: Any) -> Case:
    return compiled_case(cpu, "naive")


def test_work_of_several_clients_never_overlaps_on_one_device(
    service: ClusterService, recorder: Recorder, case: Case
) -> None:
    clients = [Client(service, f"client {n}") for n in range(4)]

    async def everything() -> list[list[int]]:
        return await asyncio.gather(*(c.carry_out(Positions(), numbered(case, 3)) for c in clients))

    assert asyncio.run(everything()) == [[0, 1, 2]] * 4
    assert recorder.most == 1 and recorder.done == [0, 1, 2] * 4


@pytest.mark.slow
def test_values_come_while_the_work_goes_on(
    service: ClusterService, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster_service.ANSWER_S", 0.05)
    client = Client(service)

    async def every_answer() -> list[WorkProgress]:
        answers = [await client.ask(StartWork(Positions(pause_s=0.3), numbered(case, 2), None))]
        while answers[-1].ended is None:
            answers.append(await client.ask(GetProgress()))
        return answers

    answers = asyncio.run(every_answer())
    assert (answers[0].values, answers[0].doing, answers[0].ended) == ([0], "case 0", None)
    assert [a.values for a in answers if a.values] == [[0], [1]]
    assert answers[-1].ended == Success(None)


@pytest.mark.parametrize("error", [DeviceLostError("it fell off the bus"), KernelError("it broke")])
def test_the_kind_of_an_error_travels(service: ClusterService, case: Case, error: CudammError) -> None:
    client = Client(service)
    with pytest.raises(type(error), match=str(error)):
        asyncio.run(client.carry_out(Positions(error=error), numbered(case, 1)))


def test_stopped_work_ends_after_its_current_case(
    service: ClusterService, recorder: Recorder, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster_service.ANSWER_S", 0.05)
    one, other = Client(service, "one"), Client(service, "other")

    async def stop_one() -> list[int]:
        await one.ask(StartWork(Positions(pause_s=0.1), numbered(case, 50), None))
        assert (await one.ask(StopWork())).ended == Success(None)
        return await other.carry_out(Positions(), numbered(case, 1))

    assert asyncio.run(stop_one()) == [0]
    assert len(recorder.done) < 5 and recorder.released == 1


def test_work_whose_client_has_vanished_ends(
    service: ClusterService, recorder: Recorder, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster_service.ANSWER_S", 0.05)
    monkeypatch.setattr("cudamm.execution.cluster_service.ABANDONED_S", 0.2)
    vanished, other = Client(service, "vanished"), Client(service, "other")

    async def vanish() -> WorkProgress:
        await vanished.ask(StartWork(Positions(pause_s=0.05), numbered(case, 100), None))
        assert await other.carry_out(Positions(), numbered(case, 1)) == [0]
        return await vanished.ask(GetProgress())

    progress = asyncio.run(vanish())
    assert len(recorder.done) < 20
    assert progress.ended is not None
    with pytest.raises(DeviceLostError):  # the client comes back, and must not take its work for done
        value_of(progress.ended)


def test_stopped_work_ends_before_its_next_step(
    service: ClusterService, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cudamm.execution.cluster_service.ANSWER_S", 0.05)
    one, other = Client(service, "one"), Client(service, "other")

    async def stop_one() -> list[int]:
        await one.ask(StartWork(ManySteps(), [], None))
        await one.ask(StopWork())
        return await other.carry_out(Positions(), numbered(case, 1))

    begun = time.monotonic()
    assert asyncio.run(stop_one()) == [0]
    assert time.monotonic() - begun < 5


def test_a_dask_worker_that_has_been_started_again_knows_no_earlier_work(service: ClusterService) -> None:
    progress = asyncio.run(Client(service).ask(GetProgress()))
    assert progress.ended is not None
    with pytest.raises(DeviceLostError, match="does not know this work"):
        value_of(progress.ended)


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
