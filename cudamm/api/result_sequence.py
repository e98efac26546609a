"""The return values of the functions of `import cudamm`: records that are displayed as tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, overload

from rich.console import Console
from rich.markup import escape

from cudamm.devices.device import DeviceInfo
from cudamm.output.text_formats import html, plain_text

Record = TypeVar("Record")


class Results(Sequence[Record]):
    """The records of one call, in order. Notebooks and `print` show them as the command's table.

    Attributes:
        device: the device on which the kernels ran, or to which the numbers apply.
        remarks: a line for each method that is left out, and for each method chosen for `best`.
    """

    def __init__(
        self,
        records: Sequence[Record],
        device: DeviceInfo,
        remarks: Sequence[str],
        rows: Callable[[Record], list[dict[str, Any]]],
        render: Callable[[Console, Sequence[Record]], None],
    ) -> None:
        """Take the records and how to show them.

        Args:
            rows: returns a record as plain values: the rows of the command's JSON file.
            render: prints the tables of the command.
        """
        self._records = tuple(records)
        self.device = device
        self.remarks = tuple(remarks)
        self._rows = rows
        self._render = render

    @overload
    def __getitem__(self, index: int) -> Record: ...
    @overload
    def __getitem__(self, index: slice) -> Results[Record]: ...
    def __getitem__(self, index: int | slice) -> Record | Results[Record]:
        """Return a record, or the results of a slice."""
        if isinstance(index, slice):
            return Results(self._records[index], self.device, self.remarks, self._rows, self._render)
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows that the command writes as JSON, for pandas.DataFrame or polars.DataFrame."""
        return [row for record in self._records for row in self._rows(record)]

    def __repr__(self) -> str:
        return plain_text(self._print).rstrip("\n")

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        return html(self._print)

    def _print(self, console: Console) -> None:
        if self._records:
            self._render(console, self._records)
        for line in self.remarks:
            console.print(escape(line), soft_wrap=True)
