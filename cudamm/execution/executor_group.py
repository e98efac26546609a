"""Several devices of one kind: their executors, and the threads in which these run cases at the same time."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass
from queue import SimpleQueue
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

from cudamm.compile.process_group import STEP_S, stop_if_asked, thread_pool
from cudamm.errors import DeviceLostError, NoDeviceError
from cudamm.execution.executor import OPENING_STEP_S, Executor, Executors

if TYPE_CHECKING:
    from cudamm.devices.device import Target

T = TypeVar("T")
U = TypeVar("U")


class ExecutorGroup(Executors):
    """The executors of several devices of one kind. A member whose device fails is removed."""

    def __init__(self, members: Iterable[Executor]) -> None:
        """Take over executors, whose devices may still be opening."""
        self._members = list(members)
        self._losses: list[str] = []
        self._target: Target[Any] | None = None

    @property
    def members(self) -> Sequence[Executor]:
        """The executors, one per device."""
        return tuple(self._members)

    @property
    def losses(self) -> Sequence[str]:
        """What became of members that are no members any more, each in a sentence."""
        return self._losses

    @property
    def target(self) -> Target[Any]:
        """The properties of a device that is open; waits for the first one. Later calls return the same.

        Raises:
            NoDeviceError: no device can be used.
        """
        while self._target is None:
            member = self.open_members()[0]
            try:
                self._target = member.target
            except NoDeviceError as error:
                self.remove(member, error)
        return self._target

    def open_members(self) -> Sequence[Executor]:
        """Return the members whose devices are open; wait for the first one.

        Members whose devices cannot be used are removed.

        Raises:
            NoDeviceError: no device can be used.
        """
        while True:
            found = []
            for member in self.members:
                try:
                    if member.is_open():
                        found.append(member)
                except NoDeviceError as error:
                    self.remove(member, error)
            if found:
                return found
            stop_if_asked()
            time.sleep(OPENING_STEP_S)

    def free_bytes(self) -> int:
        """Return the smallest number of free bytes among the devices that are open."""
        return min(free for _, free in asked_of_each(self, lambda member: member.free_bytes()))

    def remove(self, member: Executor, error: NoDeviceError) -> None:
        """Close a member whose device cannot be used. Raise the error if it is the only member."""
        if self._members == [member]:
            raise error
        self._members.remove(member)
        self._losses.append(f"{member.spec} took no part, or dropped out, and the others went on: {error}")
        member.close()

    def release(self) -> None:
        """Free the matrices of each device that is open."""
        asked_of_each(self, lambda member: member.release())

    def dismiss(self) -> None:
        """Start to shut down every member."""
        for member in self._members:
            member.dismiss()

    def close(self) -> None:
        """Close every member."""
        self.dismiss()
        for member in self._members:
            member.close()


def most_typical(executors: Executors) -> Executor:
    """Return the member whose measured FMA rate is nearest to the median of all; without rates, the first."""
    if len(executors.members) == 1:
        return executors.open_members()[0]
    ceilings = asked_of_each(executors, lambda member: member.facts().ceilings)
    rates = [(member, 0.0 if found is None else found.fma_gflops) for member, found in ceilings]
    middle = median(rate for _, rate in rates)
    return min(rates, key=lambda pair: abs(pair[1] - middle))[0]


def asked_of_each(executors: Executors, ask: Callable[[Executor], T]) -> list[tuple[Executor, T]]:
    """Return each open member with its answer; remove members whose devices are lost.

    Raises:
        NoDeviceError: the last device is lost.
    """
    answers = []
    for member in executors.open_members():
        try:
            answers.append((member, ask(member)))
        except DeviceLostError as error:
            executors.remove(member, error)
    return answers


@dataclass(eq=False)
class DeviceAtWork:
    """One of several devices, while its thread runs cases.

    Attributes:
        position: position of the device among the members.
        name: the device's name for `--device`, or in the cluster.
        has_ended: whether the thread has no more cases.
    """

    position: int
    name: str
    has_ended: bool = False


_at_work: ContextVar[DeviceAtWork | None] = ContextVar("device at work", default=None)


def device_at_work() -> DeviceAtWork | None:
    """Return the device for which this thread runs cases; None if the command has only one device."""
    return _at_work.get()


@contextlib.contextmanager
def _at_work_on(position: int, member: Executor) -> Iterator[None]:
    """Have `device_at_work` return a member in this thread until the end of the block."""
    device = DeviceAtWork(position, member.spec)
    token = _at_work.set(device)
    try:
        yield
    finally:
        _at_work.reset(token)
        device.has_ended = True


class DeviceThreads:
    """A thread for each member of `Executors`, in which it runs cases; no threads for a single member."""

    def __init__(self, executors: Executors, pool: ThreadPoolExecutor) -> None:
        self._executors, self._pool = executors, pool

    def run(
        self, work: Callable[[Executor], Iterator[T]], may_have_work: Callable[[], bool]
    ) -> Generator[T, None, None]:
        """Call `work` with each member at the same time; yield all values in the order in which they come.

        A member takes part when its device is open. If a device is lost, `work` leaves what it has not
        finished to the other members, and raises DeviceLostError.

        Args:
            may_have_work: returns whether there can be something left to do.

        Raises:
            NoDeviceError: the last device is lost.
        """
        while True:
            if len(self._executors.members) == 1:
                yield from work(self._executors.members[0])
            else:
                yield from self._run_once(work, may_have_work)
            if not may_have_work():
                return

    def share(
        self, items: Iterable[U], work: Callable[[Executor, U], Iterator[T]]
    ) -> Generator[tuple[U, T], None, None]:
        """Call `work` with each item and one of the members; yield each item with each of its values.

        An item whose device is lost begins again on another one.

        Raises:
            NoDeviceError: the last device is lost.
        """
        waiting = deque(items)

        def take(member: Executor) -> Iterator[tuple[U, T]]:
            while True:
                try:
                    item = waiting.popleft()
                except IndexError:  # another device has taken the last one
                    return
                try:
                    for value in work(member, item):
                        yield item, value
                except DeviceLostError:
                    waiting.append(item)
                    raise

        yield from self.run(take, lambda: bool(waiting))

    def _run_once(
        self, work: Callable[[Executor], Iterator[T]], may_have_work: Callable[[], bool]
    ) -> Generator[T, None, None]:
        queue: SimpleQueue[tuple[T] | Future[None]] = SimpleQueue()

        def run(position: int, member: Executor) -> None:
            try:
                while not member.is_open(STEP_S):
                    stop_if_asked()
                    if not may_have_work():
                        return
            except NoDeviceError as error:
                raise DeviceLostError(str(error)) from None
            with _at_work_on(position, member):
                for value in work(member):
                    queue.put((value,))

        running = {
            self._pool.submit(run, position, member): member
            for position, member in enumerate(self._executors.members)
        }
        for future in running:
            future.add_done_callback(queue.put)
        while running:
            item = queue.get()
            if isinstance(item, tuple):
                yield item[0]
                continue
            member = running.pop(item)
            try:
                item.result()
            except DeviceLostError as error:
                self._executors.remove(member, error)


@contextlib.contextmanager
def device_threads(executors: Executors) -> Iterator[DeviceThreads]:
    """Yield threads for all members; after the block no thread runs, as for `thread_pool`."""
    with thread_pool(len(executors.members)) as pool:
        yield DeviceThreads(executors, pool)
