"""Outcomes of a search, put into the store as they come."""

from __future__ import annotations

from cudamm.benchmark.result import Cache
from cudamm.devices.device import DeviceInfo
from cudamm.errors import UsageError
from cudamm.tuning.search import Outcome
from cudamm.tuning.tuned_store import Entry, Store, arch_of, source_hash, today


class StoredOutcomes:
    """What became of each outcome that has a winner.

    Attributes:
        found: the entry of each winner.
        faster: entries of the store that were kept, since they are faster than what was found.
        error: why the store took none; None if it took them.
    """

    def __init__(
        self, store: Store | None, device: DeviceInfo, cache: Cache, kernel_fields: dict[str, str]
    ) -> None:
        """Take what every entry needs beside its outcome.

        Args:
            store: None if no outcome can have a winner, as on the CPU device.
            kernel_fields: the options that replace fields of a user's header, by the fields' names.
        """
        self._store, self._device, self._cache, self._kernel_fields = store, device, cache, kernel_fields
        self.found: list[Entry] = []
        self.faster: list[Entry] = []
        self.error: UsageError | None = None

    def put(self, outcome: Outcome) -> None:
        """Store an outcome; without a winner there is nothing to store."""
        entry = self._entry(outcome)
        if entry is None or self._store is None:
            return
        self.found.append(entry)
        try:
            stays = self._store.put(entry)
        except UsageError as error:  # a full disk must not cost the results
            self.error = self.error or error
            return
        if stays is not entry:
            self.faster.append(stays)

    def _entry(self, outcome: Outcome) -> Entry | None:
        won, method, shape = outcome.winner, outcome.task.method, outcome.task.problem.shape
        if won is None or won.median_ms is None:
            return None
        return Entry(
            device=self._device.name,
            arch=arch_of(self._device),
            method=method.name,
            source=source_hash(method),
            dtype=won.dtype,
            m=shape.m,
            n=shape.n,
            k=shape.k,
            params=won.params,
            median_ms=won.median_ms,
            cache=self._cache,
            confirmed=outcome.is_confirmed or outcome.runner_up is None,
            complete=outcome.ended == "complete",
            tried=len(outcome.trials),
            possible=len(outcome.task.cases),
            date=today(),
            kernel="" if method.builtin else str(method.path.resolve()),
            kernel_fields={} if method.builtin else self._kernel_fields,
        )
