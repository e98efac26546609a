"""Choose the headers that implement CUDA for a kernel on the CPU device.

Every kernel needs `cuda_on_cpu.h`. The others cost a compiler time, so a kernel gets only those of which it
contains a word.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from cudamm.source.c_text import without_comments, without_comments_and_literals
from cudamm.source.included_files import may_include

RUNTIME = Path(__file__).resolve().parents[1] / "devices" / "cpu_runtime"
"""Folder of the headers and sources that implement CUDA for a host compiler."""

_CORE = "cuda_on_cpu.h"
_WORD = re.compile(r"[A-Za-z_]\w*")
_INTRINSIC = re.compile(r"__\w*[a-zA-Z0-9]")
"""A name such as `__popc`; `__shared__` and the like belong to the language."""

_MATH = """
acosh? asinh? atanh? atan2 cosh? sinh? tanh? sincos cbrt ceil copysign erfc? exp(2|10|m1)? f?abs l?labs fdim
floor fma fmax fmin fmod frexp hypot ilogb [jy][01n] ldexp l?gamma tgamma l?l?rint l?l?round log(10|1p|2|b)?
modf nan nearbyint nextafter nexttoward pow remainder drem remquo roundeven scalb scalbl?n significand sqrt
trunc finite fpclassify signbit is(nan|inf|finite|normal|greater|greaterequal|unordered) is(less|lessequal)
islessgreater include NAN INFINITY MAXFLOAT HUGE_VAL\\w* M_\\w+ FP_\\w+ std
"""
"""Names of C++'s <math.h> without the suffixes of float and long double.

`std` stands for the names in that namespace, and `include` for headers that need it before `intrinsics.h`.
"""

_HEADERS = {
    "host_math.h": re.compile(f"(?:{'|'.join(_MATH.split())})[fl]?"),  # first: others define more names
    "atomics.h": re.compile(r"atomic[A-Z]\w*"),
    "clocks.h": re.compile(r"clock(?:64)?"),
    "directed_rounding.h": re.compile(r"__\w+_r[duz]"),
    "small_vectors.h": re.compile(r"(?:make_)?(?:u?char|u?short|u?long|u?longlong)[1-4]"),
    "warp_values.h": re.compile(r"__(?:match|reduce)_\w+"),
}
"""The names that each header declares. `intrinsics.h` declares the other names of CUDA's functions."""


def headers_for(text: str) -> list[str]:
    """Return the names of the headers that a kernel's text needs, in the order in which they are included."""
    words = set(_WORD.findall(without_comments_and_literals(text)))
    chosen = [name for name, pattern in _HEADERS.items() if any(map(pattern.fullmatch, words))]
    others = words - _words_of(_CORE)
    if any(map(_INTRINSIC.fullmatch, others)) or others & _functions_of("intrinsics.h"):
        chosen.append("intrinsics.h")
    return [_CORE, *chosen]


_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(\w[\w/]*(?:\.h)?)>[ \t]*$", re.MULTILINE)
_LINE = re.compile(r'^#line \d+ ".*"$', re.MULTILINE)
"""A directive with the name of the file that the next lines come from; the folder may be called `include`."""


def includes_others(text: str) -> bool:
    """Return whether a text may include files other than the headers of CUDA in `cpu_runtime/include`."""
    code = _LINE.sub("", without_comments(text))
    return may_include(_INCLUDE.sub(lambda m: "" if (RUNTIME / "include" / m[1]).is_file() else m[0], code))


@functools.cache
def _words_of(header: str) -> frozenset[str]:
    return frozenset(_WORD.findall((RUNTIME / header).read_text()))


@functools.cache
def _functions_of(header: str) -> frozenset[str]:
    """Return the names of the functions that a header defines at the beginning of a line."""
    return frozenset(re.findall(r"^inline [\w ]*?(\w+)\(", (RUNTIME / header).read_text(), re.MULTILINE))


def is_math_function(name: str) -> bool:
    """Return whether <math.h> has a function of this name, perhaps with a suffix of float or long double."""
    return re.fullmatch(rf"(?:__)?(?:{'|'.join(_MATH.split())})[fl]?(?:_finite)?", name) is not None
