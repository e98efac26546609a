"""Check a launch's arguments against the parameters of its kernel, and pack them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from cudamm.compile.program import Program
from cudamm.errors import UsageError
from cudamm.kernels.c_text import dynamic_arrays_in, without_comments
from cudamm.kernels.device_code import device_code
from cudamm.kernels.launch_plan import Launch, TensorMap
from cudamm.kernels.parameter_types import (
    TENSOR_MAP_LETTER,
    constant_format,
    launch_bound,
    parameter_formats,
    parameters_of,
)

TENSOR_MAP_BYTES = 128
"""Size of a `CUtensorMap`, in bytes."""


def packed_formats(formats: str, offsets: Sequence[int] = ()) -> str:
    """Return a format for `struct.pack` from a parameter's letters; a tensor map takes 128 bytes.

    Args:
        offsets: offset of each parameter in bytes, from the cubin; if empty, each parameter follows the
            previous one at the next aligned offset.
    """
    packed = ""
    for index, letter in enumerate(formats):
        gap = offsets[index] - struct.calcsize(packed) if offsets else 0
        packed += f"{gap}x" if gap else ""
        packed += f"{TENSOR_MAP_BYTES}s" if letter == TENSOR_MAP_LETTER else letter
    return packed


_ARGUMENT_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "P": ("a matrix", str),
    TENSOR_MAP_LETTER: ("a tensor map, as in tensor_map(A, 64, 32)", TensorMap),
    "f": ("a number", (int, float)),
    "d": ("a number", (int, float)),
}
"""The arguments that fit each letter, in words and as Python types; other letters take whole numbers."""


def check_arguments(program: Program, launch: Launch) -> None:
    """Check a launch against its kernel: arguments, constants, number of threads and shared memory.

    Raises:
        UsageError: the number of arguments or the type of one does not match, or a value exceeds the range of
            its type; the block has more threads than the kernel allows, or no dynamic shared memory.
    """
    method = program.method
    if method.is_kernel:
        _check_block(program, launch)
    formats = parameter_formats(program.text, program.entry, program.element)
    given = ", ".join(method.arguments)
    if len(formats) != len(launch.arguments):
        raise UsageError(
            f"{method.entry} takes {len(formats)} arguments, and {len(launch.arguments)} are given "
            f"({given}); list its arguments with --args"
        )
    code = without_comments(program.text)
    declared = parameters_of(code, program.entry)
    for position, (letter, argument) in enumerate(zip(formats, launch.arguments, strict=True), 1):
        text = method.arguments[position - 1]
        expected, types = _ARGUMENT_TYPES.get(letter, ("a whole number", int))
        if not isinstance(argument, types):
            raise UsageError(
                f"argument {position} of {method.entry} must be {expected}, not "
                f"{text} ({given}); list its arguments with --args"
            )
        if isinstance(argument, int | float) and not _fits(letter, argument):
            shown = text if text == str(argument) else f"{text} = {argument}"
            raise UsageError(
                f"argument {position} of {method.entry}, {shown}, does not fit its parameter "
                f"“{declared[position - 1]}”"
            )
    for name, value in launch.constants:
        letter, symbol = constant_format(code, name, program.element)
        if not _fits(letter, value):
            raise UsageError(f"{method.name}: the constant {name} = {value} does not fit “{symbol}”")


def _check_block(program: Program, launch: Launch) -> None:
    """Raise UsageError if `__launch_bounds__` or the dynamic shared memory do not fit the launch."""
    method, text = program.method, program.text
    most = launch_bound(text, program.entry) if "__launch_bounds__" in text else None
    if most is not None and launch.threads_per_block > most:
        block = " x ".join(map(str, launch.block))
        raise UsageError(
            f"{method.entry} allows {most} threads in a block by its __launch_bounds__, and a block of "
            f"{block} has {launch.threads_per_block}: a GPU refuses that launch"
        )
    if launch.shared_bytes == 0 and dynamic_arrays_in(text):
        names = dynamic_arrays_in(device_code(text, program.entry))
        if names:
            raise UsageError(
                f"{method.entry} keeps {names[0]} in dynamic shared memory (extern __shared__), and the "
                "launch gives it 0 bytes: pass the number of bytes with --shared-bytes"
            )


def _fits(letter: str, value: float) -> bool:
    """Return whether a type, given by its letter of the struct module, can hold a number."""
    try:
        struct.pack("<f" if letter == "f" else letter, value)  # a native float takes any double
    except (struct.error, OverflowError):
        return False
    return letter != "?" or value in (0, 1)
