"""The session of `check`: its files have a row a finding, and say beside the rows what was looked at."""

from __future__ import annotations

from cudamm.analysis.check import CheckResult
from cudamm.cli.session import Session
from cudamm.output.check_text import csv_record
from cudamm.output.document import document
from cudamm.output.output_files import JsonFile


class CheckSession(Session[CheckResult]):
    """Results are variants; what is written of them are their findings."""

    def save_findings(self) -> None:
        """Write the files that are wanted, as `save` does."""
        rows = [row for result in self.results for row in result.finding_records()]
        if isinstance(self._json, JsonFile) and (self.results or not self._interrupted):
            checked = {"checked": [result.record() for result in self.results]}
            self._json.write(document(self._schema, self._device) | checked, rows)
        if self.results:
            self._forms.write(self._print_again, map(csv_record, rows))
