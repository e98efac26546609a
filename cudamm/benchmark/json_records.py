"""Reads records (dataclasses) from JSON, and checks the types and bounds that the dataclasses declare.

`json` parses the text: a text may contain a file name that is not valid Unicode, which msgspec refuses.
`msgspec.convert` makes the records. `dataclasses.asdict` writes them: `msgspec.to_builtins` refuses NumPy's
numbers, and omits the fields that `convert` filled from their defaults.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn, TypeVar

import msgspec

from cudamm.errors import CudammError

T = TypeVar("T")


class DamagedError(CudammError):
    """A text that is not JSON, or a value from which the wanted record cannot be made."""


def read_as(kind: type[T], value: Any) -> T:
    """Return a record made of a plain value; fields that `kind` does not have are ignored.

    Raises:
        DamagedError: a field is missing, of another type or out of bounds; the message names the field.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        field = where.rstrip("`").removeprefix(".")
        what = what.removeprefix("Object ")
        raise DamagedError(f"{f'`{field}`: ' if field else ''}{what[0].lower()}{what[1:]}") from None


def parse_json(text: str) -> Any:
    """Return the plain value of a JSON text. Raises DamagedError, saying what is wrong with it and where."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        what = f"{error.msg}, line {error.lineno} column {error.colno}" if text.strip() else "it is empty"
        raise DamagedError(what) from None
    except ValueError as error:  # a number that is too large for a float, or has too many digits
        raise DamagedError(str(error)) from None
    except RecursionError:
        raise DamagedError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large a number")
    return value
