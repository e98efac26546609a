"""Storage of a search's outcomes as soon as each is known."""

from __future__ import annotations

from cudamm.benchmark.result import Cache
from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.tuning.search import Outcome
from cudamm.tuning.tuned_store import Entry, Store, arch_of, source_hash, today


class StoredOutcomes:
    """The outcomes that were put into the store, and what the store did with them.

    Attributes:
        found: the entry of each winner.
        faster: entries that stayed in the store because they are faster than the winners.
        error: the first error of the store; None if it stored every winner.
    """

    def __init__(
        self, store: Store | None, device: DeviceInfo, cache: Cache, kernel_fields: dict[str, str]
    ) -> None:
        """Create an empty collection.

        Args:
            store: None if no outcome can have a winner, as on the CPU device.
            kernel_fields: options that replace fields of a user's header, by the names of the fields.
        """
        self._store, self._device, self._cache, self._kernel_fields = store, device, cache, kernel_fields
        self.found: list[Entry] = []
        self.faster: list[Entry] = []
        self.error: UsageError | None = None

    def put(self, outcome: Outcome) -> None:
        """Store the winner of an outcome, if it has one."""
        entry = self._entry(outcome)
        if entry is None or self._store is None:
            return
        self.found.append(entry)
        try:
            stored = self._store.put(entry)
        except UsageError as error:  # a full disk must not cost the results
            self.error = self.error or error
            return
        if stored is not entry:
            self.faster.append(stored)

    def _entry(self, outcome: Outcome) -> Entry | None:
        winner, method, shape = outcome.winner, outcome.task.method, outcome.task.problem.shape
        if winner is None or winner.median_ms is None:
            return None
        return Entry(
            device=self._device.name,
            arch=arch_of(self._device),
            method=method.name,
            source=source_hash(method),
            dtype=winner.dtype,
            m=shape.m,
            n=shape.n,
            k=shape.k,
            params=winner.params,
            median_ms=winner.median_ms,
            cache=self._cache,
            confirmed=outcome.is_confirmed or outcome.runner_up is None,
            complete=outcome.ended == "complete",
            tried=len(outcome.trials),
            possible=len(outcome.task.cases),
            date=today(),
            kernel="" if method.builtin else str(method.path.resolve()),
            kernel_fields={} if method.builtin else self._kernel_fields,
        )
