"""The two variants that `compare`, `show --diff` and `trace --compare` compare."""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.kernels.header import STANDARD_INPUT, read_standard_input
from cudamm.kernels.method import Method
from cudamm.kernels.selection import Selection, is_kernel_file
from cudamm.kernels.variant import Variant
from cudamm.source.c_text import without_comments


def pair(
    selection: Selection, texts: tuple[str, str], option: str, fields: Mapping[str, str] | None = None
) -> list[Variant]:
    """Return the two variants that an option names.

    A value from `--block`, `--tile` or `-D` applies to each variant that has the parameter.

    Args:
        texts: the two values: a method or kernel file, with values of parameters after commas.
        option: the name of the option or command that has them.
        fields: header fields for a kernel file whose header lacks them.

    Raises:
        UsageError: a text matches no variant or several, or neither variant has a parameter.
    """
    sizes = [("BLOCK_SIZE", selection.block), ("TILE_SIZE", selection.tile)]
    values = [(name, value) for name, value in sizes if value is not None]
    values += [(text.partition("=")[0], text.partition("=")[2]) for text in selection.defines]
    if selection.kernel_fields and not any(is_kernel_file(text.split(",")[0].strip()) for text in texts):
        given = " and ".join(f"--{name}" for name in selection.kernel_fields)
        raise UsageError(f"{given} describes a kernel file, and {option} names no kernel file")
    sides = [_side(selection, text, fields or {}) for text in texts]
    methods = [side.variants()[0].method for side in sides]
    for name, _ in values:
        if not any(_has_parameter(*of, name) for of in zip(methods, sides, strict=True)):
            raise UsageError(f"neither {texts[0]} nor {texts[1]} has the parameter {name}")
    found: list[Variant] = []
    for text, side, method in zip(texts, sides, methods, strict=True):
        own = {define.partition("=")[0] for define in side.defines}
        added = tuple(
            f"{name}={value}"
            for name, value in values
            if _has_parameter(method, side, name) and name not in own
        )
        variants = dataclasses.replace(side, defines=(*side.defines, *added)).variants()
        functions = list(dict.fromkeys(variant.method.entry for variant in variants))
        if len(functions) > 1 and side.kernels:
            raise UsageError(
                f"{text} has several kernels ({', '.join(functions)}): name one, as in "
                f"{shlex.quote(f'{text},entry={functions[0]}')}"
            )
        if len(variants) != 1:
            raise UsageError(
                f"{option} compares two variants, and {text} matches {len(variants)}: name one method and "
                "one value of each parameter"
            )
        found += variants
    return found


def _side(selection: Selection, text: str, fields: Mapping[str, str]) -> Selection:
    """Return the selection of one of the two texts: a method or file, and the values after it.

    `entry=NAME` among the values chooses a function of a file with several.
    """
    name, *values = (part.strip() for part in re.split(r",(?![^<]*>)", text))
    is_file = is_kernel_file(name)
    if is_file:
        fields = {**fields, **selection.kernel_fields}
        for value in [value for value in values if value.startswith("entry=")]:
            values.remove(value)
            fields["entry"] = value.partition("=")[2]
    return dataclasses.replace(
        selection,
        methods=() if is_file else (name,),
        kernels=(read_standard_input() if name == STANDARD_INPUT else Path(name),) if is_file else (),
        kernel_fields=dict(fields) if is_file else {},
        block=None,
        tile=None,
        defines=tuple(values),
    )


def _has_parameter(method: Method, side: Selection, name: str) -> bool:
    """Return whether a parameter changes the method's program; a user's file need not declare it."""
    declared = any(parameter.name == name for parameter in method.parameters)
    text = "\n".join((without_comments(method.code), *side.kernel_fields.values()))
    mentioned = name.isidentifier() and re.search(rf"\b{name}\b", text)
    return declared or (not method.builtin and mentioned is not None)
