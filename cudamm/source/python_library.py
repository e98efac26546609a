"""What functions and methods of NumPy, PyCUDA, CuPy, PyTorch and of Python itself return."""

from __future__ import annotations

import ast
import math
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

from cudamm.source.host_values import (
    FOR_USER,
    NOTHING,
    HostArray,
    Kernel,
    Library,
    Module,
    NamedFile,
    Unknown,
    Value,
    Variables,
    combined,
    constant,
    cpp_name,
    dtype_of,
    rounded_up,
)
from cudamm.source.python_text import LONGEST_TEXT, HostNumber, KernelText, filled, number_text, plain

MODULES = {
    "SourceModule": (0, "source"),
    "DynamicSourceModule": (0, "source"),
    "RawModule": (0, "code"),
    "RawKernel": (0, "code"),
    "load_inline": (2, "cuda_sources"),
}
"""The functions that compile kernels, with the place and the name of the argument that is their text."""

_OPTIONS = ("options", "extra_cuda_cflags")

_WORDS = """
same array asarray ascontiguousarray asfortranarray asanyarray to_gpu to_gpu_async to_device In Out InOut
same astype copy get set data_ptr contiguous cuda to float half double bfloat16 gpudata data ptr ravel flatten
same from_numpy tensor squeeze view cpu numpy detach clone Parameter
row ascontiguousarray contiguous copy ravel flatten
view astype In InOut to_gpu to_gpu_async to_device from_numpy cuda to
view float half double bfloat16 gpudata data ptr data_ptr
given In Out InOut to_gpu to_device asarray
made zeros empty ones full rand randn random random_sample standard_normal eye identity uniform normal randint
typed zeros empty ones array asarray ascontiguousarray asfortranarray asanyarray
typed zeros_like empty_like ones_like pagelocked_empty pagelocked_zeros managed_empty managed_zeros
made integers pagelocked_empty pagelocked_zeros managed_empty managed_zeros
whole int int32 int64 uint32 uint64 int16 uint16 int8 uint8 intc uintc int_ intp c_int c_uint c_int32 c_size_t
real float float32 float64 float16 single double c_float c_double
text dedent strip lstrip rstrip encode decode cleandoc expandtabs
path abspath realpath expanduser Path resolve absolute str fspath open
"""
_KINDS = {(line.partition(" ")[0], name) for line in _WORDS.splitlines() for name in line.split()[1:]}
"""What functions, methods and attributes of these names return, wherever they are.

The `same` array, also if the array is not known but `given` to a kernel; the `view` that a transposed array
is also in the result; a copy that lies `row` by row; an array `made` of a shape, or `typed` by its second
argument; a `whole` or `real` number; the same `text`; the same `path`.
"""

NAMELESS = "the array"
"""What an array without a name is called in the words for a view of it."""

_DIVISION = re.compile(r"ceil_?div|div_?ceil|cdiv|div_?up|iceil", re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """A call in a line of the program."""

    name: str  # the last part of the name of what is called
    owner: Value  # whose method it is; for a function of a library, the library
    arguments: list[Value]
    keywords: dict[str, Value]
    line: int
    variables: Variables

    @property
    def first(self) -> Value | None:
        """Return the first argument; None if there is none."""
        return self.arguments[0] if self.arguments else None

    def argument(self, place: int, name: str) -> Value | None:
        """Return an argument by its place or its name; None if it is not passed."""
        passed = self.arguments[place] if len(self.arguments) > place else None
        return self.keywords.get(name, passed)

    def numbers(self) -> list[HostNumber | None]:
        """Return the arguments as numbers."""
        return [self.variables.number(each) for each in self.arguments]


def module_of(call: Call) -> Module | Kernel | None:
    """Return the module, or the kernel, that a call makes of a text."""
    text = call.argument(*MODULES[call.name])
    if text is None:
        return None
    text = joined(text, plain("\n")) if isinstance(text, tuple) else text
    options = next((call.keywords[name] for name in _OPTIONS if name in call.keywords), ())
    for option in reversed(options) if isinstance(options, tuple) else ():
        is_definition = isinstance(option, KernelText) and re.fullmatch(r"-D *\w+=\w+", str(option))
        if is_definition and isinstance(text, KernelText):
            define = option.with_replaced("-D", plain("#define ")).with_replaced("=", plain(" "))
            text = KernelText(f"{define.marked}\n{text.marked}")
    named = call.keywords.get("name_expressions", ())
    instances = (
        tuple(str(each) for each in named if isinstance(each, KernelText)) if isinstance(named, tuple) else ()
    )
    module = Module(call.line, text, instances)
    name = call.argument(1, "name")
    return module if call.name != "RawKernel" else Kernel(module, str(name)) if name else None


def method_value(call: Call) -> Value | None:
    """Return what a method of a value returns; None if it is not known."""
    owner, name, first = call.owner, call.name, call.first
    match owner:
        case Module() if name == "get_function" and isinstance(first, KernelText):
            return Kernel(owner, str(first))
        case Module(instances=(instance, *_)) if name == "get_function" and call.arguments:
            return Kernel(owner, instance)  # the program chooses one of them by its types
        case Kernel() if name == "prepare":
            return owner
        case KernelText():
            return _text_method(owner, call)
        case NamedFile(path=path) if name == "replace" and len(call.arguments) == 2:
            old, new = call.arguments
            is_known = isinstance(old, KernelText) and isinstance(new, KernelText)
            return NamedFile(path.replace(str(old), str(new))) if is_known else None
        case NamedFile(path=path) if name == "rsplit" and str(first) == ".":
            return NamedFile(path.rpartition(".")[0]), plain(path.rpartition(".")[2])
        case NamedFile(path=path) if isinstance(first, KernelText):
            made = {
                "with_name": posixpath.join(folder_of(path), str(first)),
                "with_suffix": posixpath.splitext(path)[0] + str(first),
                "joinpath": posixpath.join(path, *map(str, call.arguments)),
            }
            is_known = all(isinstance(each, KernelText) for each in call.arguments)
            return NamedFile(made[name]) if name in made and is_known else None
        case NamedFile() if ("path", name) in _KINDS:
            return owner
        case dict() if name in ("items", "values", "get"):
            if name == "get":
                return cast("Value", owner.get(str(first), call.argument(1, "default")))
            pairs = tuple((plain(key), value) for key, value in owner.items())
            return pairs if name == "items" else tuple(owner.values())
        case HostArray() | Unknown():
            return _array_method(owner, call)
    return None


def _text_method(owner: KernelText, call: Call) -> Value | None:
    first = call.first
    keywords = call.keywords | (first if isinstance(first, dict) else {})
    if call.name in ("substitute", "safe_substitute"):  # of a string.Template
        return filled(owner, "$", keywords)
    if call.name in ("format", "format_map"):
        return filled(owner, "{", {str(place): each for place, each in enumerate(call.arguments)} | keywords)
    if call.name == "replace" and len(call.arguments) >= 2:
        old, new = call.arguments[:2]
        is_known = isinstance(old, KernelText) and isinstance(new, KernelText)
        is_short = str(owner).count(str(old)) * len(str(new)) < LONGEST_TEXT
        return owner.with_replaced(str(old), new) if is_known and is_short else None  # type: ignore[arg-type]
    if call.name == "join":
        return joined(first, owner)
    return owner if ("text", call.name) in _KINDS else None


def joined(parts: Value, between: KernelText) -> KernelText | None:
    """Return texts with another one between them; None if one is not known."""
    known = [part for part in parts if isinstance(part, KernelText)] if isinstance(parts, tuple) else []
    length = sum(len(part.marked) + len(between.marked) for part in known)
    if not isinstance(parts, tuple) or len(known) != len(parts) or length > LONGEST_TEXT:
        return None
    return KernelText(between.marked.join(part.marked for part in known))


def path_attribute(path: str, name: str) -> Value | None:
    """Return an attribute of a `Path`; None if it is not known."""
    stem, suffix = posixpath.splitext(posixpath.basename(path))
    match name:
        case "parent":
            return NamedFile(folder_of(path))
        case "parents":
            above = [folder_of(path)]
            while len(above) < MOST_ELEMENTS:
                above.append(folder_of(above[-1]))
            return tuple(map(NamedFile, above))
        case "name" | "stem" | "suffix":
            return plain({"name": stem + suffix, "stem": stem}.get(name, suffix))
    return None


def folder_of(path: str) -> str:
    """Return the folder of a path; that of the program is `.`, the one above it `..`."""
    return posixpath.normpath(f"{path}/..")


def _array_method(owner: HostArray | Unknown, call: Call) -> Value | None:
    if call.name == "size":  # of a tensor
        shape, index = call.variables.shape_of(owner), call.argument(0, "dim")
        shape = None if shape is None else whole_extents(shape)
        return shape if index is None else element(shape, index)
    if call.name in ("t", "transpose") and isinstance(owner, HostArray) and not call.arguments:
        return transposed(owner, f"{owner.name or NAMELESS}.{call.name}()")
    if call.name == "reshape":
        return replace(owner, shape=_shape(call)) if isinstance(owner, HostArray) else HostArray(_shape(call))
    if call.name == "fill" and isinstance(owner, HostArray):
        owner.is_zero = is_zero(call.first)
    if ("same", call.name) not in _KINDS or not isinstance(owner, HostArray):
        return owner if ("same", call.name) in _KINDS else None
    owner = replace(_viewed(owner, call.name), made_by="numpy" if call.name == "get" else owner.made_by)
    is_place = isinstance(call.first, KernelText) and str(call.first).startswith(("cuda", "cpu"))
    if call.name in ("float", "half", "double", "bfloat16"):  # of a tensor
        return replace(owner, dtype=dtype_of(Library(f"torch.{call.name}")))
    if "dtype" in call.keywords or (call.name in ("astype", "to", "view") and not is_place):
        return replace(owner, dtype=dtype_of(call.argument(0, "dtype")))
    return owner


def whole_extents(shape: tuple[HostNumber, ...]) -> tuple[HostNumber, ...]:
    """Return extents as a program gets them of an array, which are numbers of Python."""
    return tuple(replace(extent, dtype="int") for extent in shape)


def transposed(array: HostArray, view: str) -> HostArray:
    """Return an array transposed; the result has the same memory.

    Args:
        array: the array.
        view: the program's words for the result.
    """
    shape = array.shape[::-1] if array.shape else None
    is_view = array.is_row_major and not array.view
    made = replace(array, shape=shape, is_transposed=not array.is_transposed)
    is_row_major = bool(array.view) and not array.has_gaps
    return replace(made, is_row_major=is_row_major, view=view if is_view else "")


def part_of_rows(array: HostArray, text: str) -> HostArray:
    """Return a part of each row of an array, such as `b[:, :n]`, whose rows have gaps between them."""
    return HostArray(dtype=array.dtype, is_numpy=array.is_numpy, made_by=array.made_by, view=text)


def _viewed(array: HostArray, name: str) -> HostArray:
    """Return what a function or method makes of an array, as far as it is about the order in memory."""
    is_kept = not array.view or ("view", name) in _KINDS
    is_row_major = ("row", name) in _KINDS or (array.is_row_major and name != "asfortranarray")
    return replace(array, view=array.view if is_kept else "", is_row_major=is_row_major)


def is_zero(value: Value) -> bool:
    """Return whether a value is zero, or an array of zeros."""
    return value.is_zero if isinstance(value, HostArray) else getattr(value, "value", None) == 0


def element(value: Value, index: Value) -> Value | None:
    """Return an element of a tuple; None if it is not known."""
    place = index.value if isinstance(index, HostNumber) else None
    is_known = isinstance(value, tuple) and isinstance(place, int) and -len(value) <= place < len(value)
    return cast("Value", value[place]) if is_known else None  # type: ignore[index]


def library_value(call: Call) -> Value | None:
    """Return what a function of a library returns; None if it is not known."""
    made = _TABLE[call.name](call) if call.name in _TABLE else None
    for rule in (_path, _text, _array, _number):
        made = rule(call) if made is None else made
    return made


def _path(call: Call) -> NamedFile | tuple[Value, ...] | None:
    if call.name in ("cwd", "getcwd") and not call.arguments:
        return NamedFile(".")  # a program is read as if it is started in its own folder
    first, others = call.first, [str(each) for each in call.arguments[1:] if isinstance(each, KernelText)]
    if isinstance(first, KernelText) and call.name in ("open", "Path", "join"):
        first = NamedFile(str(first))
    if not isinstance(first, NamedFile):
        return None
    if call.name in ("join", "Path") and len(others) == len(call.arguments) - 1:
        return NamedFile(posixpath.join(first.path, *others))
    if call.name == "basename":
        return NamedFile(posixpath.basename(first.path))
    if call.name == "splitext":
        stem, suffix = posixpath.splitext(first.path)
        return NamedFile(stem), plain(suffix)
    if call.name == "dirname":
        return NamedFile(folder_of(first.path))
    return first if ("path", call.name) in _KINDS else None


def _text(call: Call) -> KernelText | None:
    if call.name in ("str", "repr") and isinstance(call.first, HostNumber):
        return number_text(call.first)
    is_same = call.name in ("str", "Template") or ("text", call.name) in _KINDS
    return call.first if is_same and isinstance(call.first, KernelText) else None


def _array(call: Call) -> HostArray | Unknown | None:
    name, first = call.name, call.first
    if name == "mem_alloc":
        number = call.variables.number(first)
        return HostArray(size_bytes=number, dtype=number.bytes_of if number else "")
    if {("same", name), ("real", name)} & _KINDS and isinstance(first, HostArray):
        dtype = dtype_of(Library(name)) if ("real", name) in _KINDS else _dtype(call, first.dtype)
        is_same = first.view or name in ("In", "Out", "InOut")
        library = first.made_by if is_same else _library_of(call)
        is_numpy = first.is_numpy and _is_numpy(call)
        first = replace(_viewed(first, name), is_numpy=is_numpy, made_by=library)
        first.is_row_major &= "order" not in call.keywords
        is_out = name == "Out"
        return replace(first, is_zero=first.is_zero and not is_out, is_out=is_out, dtype=dtype)
    if name in ("t", "transpose") and isinstance(first, HostArray) and len(call.arguments) == 1:
        return transposed(first, f"{first.name or NAMELESS}.T")
    if name == "Out" and isinstance(first, Unknown) and first.name:
        return HostArray(name=cpp_name(first.name), is_out=True)
    if ("given", name) in _KINDS and isinstance(first, Unknown | Library):
        return first if isinstance(first, Unknown) else Unknown(first.path)
    if name.endswith("_like") and isinstance(first, HostArray | Unknown):
        dtype = _dtype(call, first.dtype if isinstance(first, HostArray) else "")
        made = HostArray(call.variables.shape_of(first), is_zero=name == "zeros_like", dtype=dtype)
    elif ("made", name) in _KINDS:
        made = HostArray(_shape(call), is_zero=name.endswith("zeros"), dtype=_dtype(call, _usual_dtype(call)))
        made.is_row_major = "order" not in call.keywords
    elif name in ("array", "tensor", "arange", "linspace"):
        made = HostArray(dtype=_dtype(call, ""))
    else:
        return None
    made.is_numpy, made.made_by = _is_numpy(call), _library_of(call)
    return made


def _library_of(call: Call) -> str:
    """Return the library of the array that a function makes; empty if it is not known."""
    library = call.owner.path.partition(".")[0] if isinstance(call.owner, Library) else ""
    return "numpy" if _is_numpy(call) else library


def _is_numpy(call: Call) -> bool:
    """Return whether a function is certainly one of NumPy itself."""
    if isinstance(call.owner, Unknown):
        return re.match(r"(np|numpy)\.random\.(default_rng|RandomState)\(", call.owner.what) is not None
    return isinstance(call.owner, Library) and call.owner.path.partition(".")[0] == "numpy"


def _dtype(call: Call, usual: str) -> str:
    """Return the type of elements that a call names, as in `DTYPES`; if it names none, the usual one."""
    place = 2 if call.name == "full" else 1 if ("typed", call.name) in _KINDS else len(call.arguments)
    named = call.argument(place, "dtype")
    is_extent = isinstance(named, HostNumber)  # `torch.zeros(n, n)`
    return usual if named is None or named is NOTHING or is_extent else dtype_of(named)


def _usual_dtype(call: Call) -> str:
    """Return the type of the elements of an array that a call makes and names no type for."""
    owner, name = call.owner, call.name
    library = owner.path.partition(".")[0] if isinstance(owner, Library) else ""
    is_generator = isinstance(owner, Unknown) and re.search(r"\b(default_rng|RandomState)\(", owner.what)
    if name in ("randint", "integers"):
        return "int" if library in ("numpy", "cupy") or is_generator else ""
    is_usual = library in ("numpy", "cupy") or is_generator or (library == "pycuda" and name == "zeros")
    return "float64" if is_usual and name != "full" else ""


def _shape(call: Call) -> tuple[HostNumber, ...] | None:
    """Return the extents that a call gets as a tuple, or as numbers one after the other."""
    size = call.keywords.get("size", call.keywords.get("shape"))
    places = call.arguments[2 * (call.name in ("uniform", "normal", "randint", "integers")) :]
    given: list[Value] = [size] if size is not None else places[:1] if call.name == "full" else places
    if given and isinstance(given[0], tuple):
        given = list(given[0])
    elif call.name in ("eye", "identity"):
        given = given[:1] * 2
    numbers = [call.variables.number(each) for each in given if not isinstance(each, Library)]
    extents = tuple(number for number in numbers if number and number.is_whole)
    return extents if extents and len(extents) == len(numbers) else None


def _number(call: Call) -> HostNumber | None:
    """Return the result of a conversion, or of a function of whole numbers."""
    name, numbers = call.name, call.numbers()
    first = numbers[0] if numbers else None
    if first is None:
        return None
    if len(numbers) == 2 and _DIVISION.search(name):
        return rounded_up(*numbers)
    if len(numbers) != 1:
        return None
    value = first.value
    first = replace(first, dtype=_dtype_of_number(call))
    is_whole = ("whole", name) in _KINDS
    if is_whole or name in ("ceil", "floor"):
        rounded: Callable[[float], int] = {"ceil": math.ceil, "floor": math.floor}.get(name, int)
        text = f"(int)({first.text})" if is_whole else f"(int){name}({first.text})"
        known = None if value is None else rounded(value)
        return first if first.is_whole else HostNumber(text, known, dtype=first.dtype)
    return replace(first, is_whole=False) if ("real", name) in _KINDS else None


def _dtype_of_number(call: Call) -> str:
    """Return the type of the number that a function of Python or NumPy returns; empty for others."""
    library = call.owner.path.partition(".")[0] if isinstance(call.owner, Library) else ""
    if call.name in ("ceil", "floor"):
        return {"math": "int", "numpy": "float64"}.get(library, "")
    if call.owner is not None and library not in ("numpy", "cupy"):
        return ""
    if call.name in ("int", "float"):
        return call.name
    usual = {"int_": "int64", "intp": "int64", "intc": "int32", "uintc": "uint32", "single": "float32"}
    name = usual.get(call.name, "float64" if call.name == "double" else call.name)
    return name if re.fullmatch(r"(u?int|float)\d+", name) else ""


def _divided(call: Call) -> tuple[HostNumber, HostNumber] | None:
    """Return the quotient and the remainder of `divmod`."""
    numbers = call.numbers()
    if len(numbers) != 2:
        return None
    quotient, rest = (combined(numbers[0], sign, numbers[1]) for sign in (ast.FloorDiv(), ast.Mod()))
    return (quotient, rest) if quotient and rest else None


def _length(call: Call) -> HostNumber | None:
    if call.first == Library("sys.argv"):
        return HostNumber("argc")
    if isinstance(call.first, HostArray) and call.first.shape:
        return whole_extents(call.first.shape)[0]
    return constant(len(call.first)) if isinstance(call.first, tuple) else None


def _chosen(call: Call) -> HostNumber | None:
    """Return the smallest or the largest of two or more whole numbers."""
    name, choose = ("min", min) if call.name in ("min", "minimum") else ("max", max)
    numbers = [number for number in call.numbers() if number is not None and number.is_whole]
    if len(numbers) < 2 or len(numbers) < len(call.arguments) or call.keywords:
        return None
    values = [number.value for number in numbers if number.value is not None]
    known = choose(values) if len(values) == len(numbers) else None
    dtype = "int" if {number.dtype for number in numbers} == {"int"} else ""
    return HostNumber(f"{name}({', '.join(number.text for number in numbers)})", known, dtype=dtype)


def _counted(call: Call) -> tuple[Value, ...] | HostArray | None:
    """Return the numbers of a `range` that begins at 0; of a long one, an array."""
    end = call.variables.number(call.first) if len(call.arguments) == 1 else None
    if end and isinstance(end.value, int) and end.value <= MOST_ELEMENTS:
        return tuple(constant(each) for each in range(end.value))
    return HostArray((end,)) if end else None


def _enumerated(call: Call) -> tuple[Value, ...] | None:
    first = call.first
    return tuple((constant(n), each) for n, each in enumerate(first)) if isinstance(first, tuple) else None


def _cleared(call: Call) -> None:
    """Note whether a copy or a `memset` fills an array with zeros, and the type of what is copied."""
    if isinstance(call.first, HostArray) and len(call.arguments) > 1:
        given = call.arguments[1]
        call.first.is_zero = is_zero(given)
        if isinstance(given, HostArray):
            call.first.shape = call.first.shape or given.shape
            call.first.is_row_major, call.first.elements = given.is_row_major, given.elements
        dtype = given.dtype if isinstance(given, HostArray) else ""
        call.first.dtype = dtype if call.first.dtype in ("", dtype) else ""


MOST_ELEMENTS = 8
"""Number of elements of a list or a range up to which a loop over it is followed element by element."""

_TABLE: dict[str, Callable[[Call], Value | None]] = {
    "min": _chosen, "max": _chosen, "minimum": _chosen, "maximum": _chosen,
    "len": _length, "divmod": _divided, "range": _counted, "enumerate": _enumerated,
    "dict": lambda call: None if call.arguments else dict(call.keywords),
    "tuple": lambda call: call.first if isinstance(call.first, tuple) else None,
    "list": lambda call: call.first if isinstance(call.first, tuple) else None,
    "reversed": lambda call: call.first[::-1] if isinstance(call.first, tuple) else None,
    "input": lambda call: FOR_USER, "raw_input": lambda call: FOR_USER,
    "getenv": lambda call: call.argument(1, "default"),
    "memcpy_htod": _cleared, "memcpy_htod_async": _cleared,
    "memset_d8": _cleared, "memset_d16": _cleared, "memset_d32": _cleared,
}  # fmt: skip
