"""Values of the macros and constants in C source that are whole numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping

from cudamm.errors import UsageError
from cudamm.kernels.expression import parse


class MacroValues:
    """The macros and constants of a source whose values are expressions of whole numbers."""

    def __init__(self, code: str, known: Mapping[str, int] | None = None) -> None:
        """Read the definitions.

        Args:
            code: C source without comments.
            known: values of other names, which come before those of the source.
        """
        lines = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(.+)$", code, re.MULTILINE)
        constants = re.findall(
            r"\bconst(?:expr)?\s+(?:unsigned\s+)?(?:int|unsigned|size_t)\s+(\w+)\s*=\s*([^;,]+);", code
        )
        self._texts: dict[str, str] = dict(constants) | dict(lines)
        self._values: dict[str, int | None] = dict(known or {})

    def value(self, text: str) -> int | None:
        """Return the value of a C expression; None if it cannot be computed."""
        # Division of whole numbers is / in C and // in `parse`; all other operators are the same.
        try:
            expression = parse(re.sub(r"/+", "//", text.strip()))
            values = {name: self._value_of(name) for name in expression.names}
            return expression.whole({name: value for name, value in values.items() if value is not None})
        except (UsageError, RecursionError):
            return None

    def _value_of(self, name: str) -> int | None:
        if name not in self._values:
            self._values[name] = None  # a macro that refers to itself has no value
            self._values[name] = self.value(self._texts[name]) if name in self._texts else None
        return self._values[name]
