"""Check a launch's arguments against the parameters of its kernel, and pack them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

import numpy as np

from cudamm.compile.program import Program
from cudamm.errors import KernelError, UsageError
from cudamm.kernels.array_file import FileArray
from cudamm.kernels.launch_plan import Argument, Launch, PlainArgument, Scratch, StructValue, TensorMap
from cudamm.kernels.method import Method
from cudamm.kernels.parameter_types import (
    REAL_LETTERS,
    TENSOR_MAP_LETTER,
    TENSOR_MAP_POINTER_LETTER,
    constant_format,
    each_format,
    launch_bound,
    member_names,
    parameter_formats,
    parameters_of,
    pointed_format,
)
from cudamm.kernels.problem import UNSCALED
from cudamm.source.c_text import dynamic_arrays_in, without_comments
from cudamm.source.device_code import device_code
from cudamm.source.expression import split_at_commas

_AS_BITS = str.maketrans("eE", "HH")
"""Letters of real numbers of 16 bits, and the letter as which their bits are packed."""

TENSOR_MAP_BYTES = 128
"""Size of a `CUtensorMap`, in bytes."""


def packed_formats(formats: str, offsets: Sequence[int] = ()) -> str:
    """Return a format for `struct.pack` from the parameters' formats; a tensor map takes 128 bytes.

    Args:
        offsets: offset of each parameter in bytes, from the cubin; if empty, each parameter follows the
            previous one at the next aligned offset.

    Raises:
        UsageError: a tensor map follows another parameter, and there are no offsets: its alignment depends on
            the CUDA release.
    """
    if not offsets and TENSOR_MAP_LETTER in formats.lstrip(TENSOR_MAP_LETTER):
        raise UsageError(
            "the compiled kernel does not contain the offsets of its parameters, and a tensor map follows "
            "another parameter: declare the tensor maps first"
        )
    packed = ""
    for index, part in enumerate(each_format(formats)):
        gap = offsets[index] - struct.calcsize(packed) if offsets else 0
        packed += f"{gap}x" if gap else ""
        if part == TENSOR_MAP_LETTER:
            packed += f"{TENSOR_MAP_BYTES}s"
        elif part == TENSOR_MAP_POINTER_LETTER:
            packed += "P"
        elif part[0] == "{":
            packed += f"{_alignment(part)}{struct.calcsize(_struct_format(part))}s"
        else:
            packed += part.translate(_AS_BITS)
    return packed


def _struct_format(part: str) -> str:
    """Return the format of a struct such as `{iiP}`, with the padding at its end."""
    return part[1:-1].translate(_AS_BITS) + _alignment(part)


def _alignment(part: str) -> str:
    """Return a format of no bytes, at an offset where a struct such as `{iiP}` may begin."""
    return f"0{max(part[1:-1].translate(_AS_BITS), key=struct.calcsize)}"


def passed_value(
    part: str, argument: PlainArgument | StructValue, addresses: Mapping[str, int]
) -> int | float | bytes:
    """Return what `struct.pack` takes for an argument.

    Args:
        part: the format of the argument's parameter, such as `i` or `{iiP}`.
        addresses: of A, B and C.
    """
    if isinstance(argument, StructValue):
        values = zip(part[1:-1], argument.members, strict=True)
        return struct.pack(_struct_format(part), *(passed_value(*value, addresses) for value in values))
    if isinstance(argument, str):
        return addresses[argument]
    return _real_bits(part, argument) if part in "eE" else float(argument) if part in "fd" else int(argument)


def _real_bits(letter: str, number: float) -> int:
    """Return the bits of a number in half or bfloat16, which PyCUDA's `struct` lacks."""
    if letter == "e":
        return int.from_bytes(struct.pack("<e", number), "little")
    bits = int.from_bytes(struct.pack("<f", number), "little")
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16  # to the nearest, ties to even


def _rounded(letter: str, number: float) -> float:
    """Return a number as half or bfloat16 holds it."""
    bits = _real_bits(letter, number)
    packed, kept = (
        (bits.to_bytes(2, "little"), "<e") if letter == "e" else ((bits << 16).to_bytes(4, "little"), "<f")
    )
    rounded: float = struct.unpack(kept, packed)[0]
    return rounded


def check_arguments(program: Program, launch: Launch) -> None:
    """Check a launch against its kernel: arguments, constants, number of threads and shared memory.

    Raises:
        UsageError: the number of arguments or the type of one does not match, or a value exceeds the range of
            its type; the block has no dynamic shared memory.
        KernelError: the block has more threads than the kernel allows.
    """
    method = program.method
    if method.is_kernel:
        check_block(program, launch)
    formats = each_format(parameter_formats(program.text, program.entry, program.element))
    given = ", ".join(method.arguments)
    if len(formats) != len(launch.arguments):
        in_braces = "; the values of a struct are in braces, as in {N, K, B}"
        raise UsageError(
            f"{method.entry} takes {len(formats)} arguments, and {len(launch.arguments)} are given "
            f"({given}); list its arguments with --args{in_braces if '{' in ''.join(formats) else ''}"
        )
    code = without_comments(program.text)
    declared = parameters_of(code, program.entry)
    for position, (part, argument) in enumerate(zip(formats, launch.arguments, strict=True)):
        name, text = f"argument {position + 1} of {method.entry}", method.arguments[position]
        if part[0] != "{":
            _check_value(name, part, argument, text, given, declared[position])
            if isinstance(argument, FileArray):
                letter = pointed_format(program.text, program.entry, position, program.element)
                if not letter or letter == "E" or np.dtype(letter) != argument.dtype:
                    raise UsageError(
                        f"{name}, {text}, is an array of {argument.dtype}, and its parameter is "
                        f"“{declared[position]}”: save the array with the type of the parameter's elements"
                    )
            continue
        members = member_names(program.text, program.entry, position)
        if not isinstance(argument, StructValue) or len(argument.members) != len(members):
            raise UsageError(
                f"{name} must be the members of “{declared[position]}”, {{{', '.join(members)}}}, not {text} "
                f"({given}); list its arguments with --args"
            )
        texts = split_at_commas(text.strip("{} "))
        for letter, value, of_value, member in zip(
            part[1:-1], argument.members, texts, members, strict=False
        ):
            _check_value(f"{member} in {name}", letter, value, of_value, given, member)
    for name, value in launch.constants:
        letter, symbol = constant_format(code, name, program.element)
        if not _fits(letter, value):
            raise UsageError(f"{method.name}: the constant {name} = {value} does not fit “{symbol}”")


_ARGUMENT_TYPES: dict[str, tuple[str, type | tuple[type, ...]]] = {
    "P": ("a matrix", (str, FileArray, Scratch)),
    **dict.fromkeys(
        (TENSOR_MAP_LETTER, TENSOR_MAP_POINTER_LETTER),
        ("a tensor map, as in tensor_map(A, 64, 32)", TensorMap),
    ),
    **dict.fromkeys(REAL_LETTERS, ("a number", (int, float))),
}
"""The arguments that fit each letter, in words and as Python types; other letters take whole numbers."""


def _check_value(name: str, letter: str, value: Argument, text: str, given: str, declared: str) -> None:
    """Check one value against the letter of its parameter, or of its member of a struct.

    Args:
        name: what the value is for, for messages.
        text: the value as the user wrote it, among all that are `given`.
        declared: the declaration of the parameter, or the name of the member.
    """
    expected, types = _ARGUMENT_TYPES.get(letter, ("a whole number", int))
    is_whole_factor = isinstance(value, float) and value.is_integer() and text.lower() in UNSCALED.names
    if not isinstance(value, types) and not (is_whole_factor and types is int):
        raise UsageError(f"{name} must be {expected}, not {text} ({given}); list its arguments with --args")
    if not isinstance(value, int | float):
        return
    shown = text if text == str(value) else f"{text} = {value}"
    if not _fits(letter, value):
        raise UsageError(f"{name}, {shown}, does not fit its parameter “{declared}”")
    if letter in "eE" and text.lower() in UNSCALED.names and _rounded(letter, value) != value:
        raise UsageError(
            f"{name}, {shown}, is rounded to {_rounded(letter, value):.6g} by its parameter “{declared}”, so "
            "the product would be that of another factor: choose a number that the type has, such as 0.5"
        )


def check_block(program: Program, launch: Launch) -> None:
    """Check the block of a launch of a kernel.

    Raises:
        UsageError: the kernel has dynamic shared memory, and no option gives it any.
        KernelError: the block has more threads than the kernel allows by its `__launch_bounds__`, or the
            program's own launch gives 0 bytes of dynamic shared memory.
    """
    method, text = program.method, program.text
    most = launch_bound(text, program.entry) if "__launch_bounds__" in text else None
    if most is not None and launch.threads_per_block > most:
        block = " x ".join(map(str, launch.block))
        raise KernelError(
            f"cannot be launched: {method.entry} allows {most} threads in a block by its __launch_bounds__, "
            f"and a block of {block} has {launch.threads_per_block}; launch at most {most} threads"
        )
    if launch.shared_bytes == 0:
        check_shared_bytes(method, text, program.entry)


def check_shared_bytes(method: Method, text: str, entry: str) -> None:
    """Check that a kernel which gets 0 bytes of dynamic shared memory has none.

    Raises:
        UsageError, KernelError: as for `check_block`.
    """
    names = dynamic_arrays_in(device_code(text, entry)) if dynamic_arrays_in(text) else ()
    if not names:
        return
    lacks = f"{method.entry} keeps {names[0]} in dynamic shared memory (extern __shared__)"
    if "grid" not in dict(method.found_fields):  # the launch is that of the options or the header
        raise UsageError(f"{lacks}: pass the number of bytes with --shared-bytes")
    advice = f"{lacks}, and the launch gives it 0 bytes: pass the number of bytes with --shared-bytes"
    cure = (
        "pass their number in the call: shared= in PyCUDA, shared_mem= in CuPy"
        if method.path.suffix == ".py"
        else "write their number as the third in <<<grid, block, bytes>>>"
    )
    raise KernelError(f"cannot run: {advice}; {cure}")


def _fits(letter: str, value: float) -> bool:
    """Return whether a type, given by its letter of the struct module, can hold a number."""
    try:
        number = float(value) if letter in REAL_LETTERS else int(value)
        # A native float takes any double. A bfloat16 has the range of a float.
        struct.pack({"f": "<f", "E": "<f"}.get(letter, letter), number)
    except (struct.error, OverflowError):
        return False
    return letter != "?" or value in (0, 1)
