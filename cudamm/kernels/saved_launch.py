"""Keep how the kernels of a file are launched in a file beside it: `my.launch.toml` for `my.cu`.

It has a table for each kernel, with the fields of a header as texts. Options and the header of the kernel's
own file come before it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.source.input_file import read_input

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST_BYTES = 1 << 20

SAVED_FIELDS = (
    "entry",
    "args",
    "threads",
    "grid",
    "shared-bytes",
    "requires",
    "layout",
    "initial-c",
    "sizes",
)
"""Fields that may be saved."""


def saved_path(kernel_file: Path) -> Path:
    """Return the file that keeps the launches of a kernel file."""
    return kernel_file.with_suffix(".launch.toml")


def saved_launches(kernel_file: Path) -> dict[str, dict[str, str]]:
    """Return the fields that are saved for each kernel of a file, by the kernel's name.

    Raises:
        UsageError: the file beside it cannot be read, is not TOML, or has something else in it.
    """
    path = saved_path(kernel_file)
    try:
        content = read_input(path, "a saved launch", LARGEST_BYTES)
        tables = tomllib.loads(content.decode())
    except FileNotFoundError:
        return {}
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not TOML: {error}") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    for kernel, fields in tables.items():
        if not isinstance(fields, dict) or not all(isinstance(text, str) for text in fields.values()):
            raise UsageError(f'{path}: [{kernel}] must be a table of texts, such as threads = "16, 16"')
        unknown = [key for key in fields if key not in SAVED_FIELDS]
        if unknown:
            raise UsageError(f"{path}: [{kernel}] has {unknown[0]}; there are {', '.join(SAVED_FIELDS)}")
    return tables


def as_toml(kernel_file: Path, launches: Mapping[str, Mapping[str, str]]) -> str:
    """Return the text of a file that keeps launches, by the names of the kernels."""
    lines = [f"# How cudamm launches the kernels of {kernel_file.name}."]
    for kernel, fields in launches.items():
        saved = (f"{key} = {json.dumps(fields[key])}" for key in SAVED_FIELDS if key in fields)
        lines += ["", f"[{kernel}]", *saved]
    return "\n".join([*lines, ""])
