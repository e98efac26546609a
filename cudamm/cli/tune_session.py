"""The session of `tune`: a row a variant, what is last known of it, and which of them won."""

from __future__ import annotations

from typing import Any

from cudamm.cli.output_options import Outputs
from cudamm.cli.session import Session
from cudamm.devices.device import DeviceInfo
from cudamm.output.document import document
from cudamm.output.output_files import JsonFile
from cudamm.tuning.search import Trial, Tuner


class TuneSession(Session[Trial]):
    """Keeps one trial of each variant."""

    def __init__(
        self, schema: str, outputs: Outputs, device: DeviceInfo, options: dict[str, Any], tuner: Tuner
    ) -> None:
        """Raises UsageError where a file cannot be written."""
        self._options, self._tuner = options, tuner
        self._rows: dict[int, Trial] = {}
        super().__init__(schema, outputs, device)

    def keep(self, result: Trial) -> None:
        """Note a trial, in place of what was known of its variant."""
        self._rows[result.result.position] = result
        self.results = list(self._rows.values())

    def finish(self) -> None:
        """Write the files. After the tables: a full disk must not cost them."""
        outcomes = self._tuner.outcomes
        winners = [outcome.winner.position for outcome in outcomes if outcome.winner]
        self.results = [trial for outcome in outcomes for trial in outcome.trials]
        if isinstance(self._json, JsonFile) and (self.results or not self._interrupted):
            head = document(self._schema, self._device, self._options)
            head["outcomes"] = [outcome.record() for outcome in outcomes]
            self._json.write(head, (trial.record(winners) for trial in self.results))
        if self.results:
            self._forms.write(self._print_again, (trial.record(winners) for trial in self.results))
