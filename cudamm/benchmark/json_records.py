"""Read records (dataclasses) from JSON, and check the types and bounds that the dataclasses declare.

`msgspec` parses the text, in a fifth of the time of `json`. `json` parses what `msgspec` refuses: a file name
in the text may be invalid Unicode, and the messages of `json` name the line. `msgspec.convert` makes the
records. They are written with `dataclasses.asdict`, because `msgspec.to_builtins` refuses NumPy's numbers and
omits the fields that `convert` filled from their defaults.
"""

from __future__ import annotations

import contextlib
import json
from typing import Any, NoReturn, TypeVar

import msgspec

from cudamm.errors import CudammError

T = TypeVar("T")


class DamagedError(CudammError):
    """The error of a text that is not JSON, or of a value that does not fit the record."""


def read_as(kind: type[T], value: Any) -> T:
    """Return a record of type `kind` made from a plain value; fields that `kind` lacks are ignored.

    Raises:
        DamagedError: a field is missing, of another type or out of bounds; the message names the field.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$")
        field = path.rstrip("`").removeprefix(".")
        reason = reason.removeprefix("Object ")
        raise DamagedError(f"{f'`{field}`: ' if field else ''}{reason[0].lower()}{reason[1:]}") from None
    except UnicodeEncodeError:
        raise DamagedError("a text in it is not valid Unicode") from None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text. Raise DamagedError with the mistake and its place if there is one."""
    with contextlib.suppress(msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return msgspec.json.decode(text)
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError as error:
        reason = f"{error.msg}, line {error.lineno} column {error.colno}" if text.strip() else "it is empty"
        raise DamagedError(reason) from None
    except ValueError as error:  # a number that is too large for a float, or has too many digits
        raise DamagedError(str(error)) from None
    except RecursionError:
        raise DamagedError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text} is too large a number")
    return value
