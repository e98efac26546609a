"""Refuse the object file of an untrusted kernel that calls more than CUDA's functions, or runs too early.

The object file shows what a source really calls, whatever it looks like: each function of a library is an
undefined symbol. Its sections show code that would run before `main`.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping

from cudamm.compile.elf import INDIRECT_FUNCTION, THREAD_LOCAL, Symbol, sections, symbols
from cudamm.compile.runtime_headers import RUNTIME, is_math_function
from cudamm.errors import KernelError

_SECTIONS = re.compile(
    r"|\.(?:text|rodata|data|bss|tdata|tbss|eh_frame|gcc_except_table|comment|symtab|strtab|shstrtab|symtab_shndx|group"
    r"|note\.[\w.-]+|debug_\w+|llvm_addrsig|rela?\.[\w.]+|data\.rel\.ro|relr\.\w+)(?:\..*)?"
)
_OF_SANITIZER = re.compile(r"(?:\.rela)?\.init_array\.(?:00099|00000|0|1)|\.text\.startup|\.ctors\.65436")
"""The section in which a compiler that instruments accesses registers itself."""

_POINTER_BYTES = 8

_LIBRARY_FUNCTIONS = """
memcpy memmove memset memcmp printf puts putchar vprintf malloc free abort clock __assert_fail
__printf_chk __vprintf_chk __stack_chk_fail __tls_get_addr
cudamm_memcpy cudamm_memmove cudamm_memset cudamm_memcmp
__gxx_personality_v0 _Unwind_Resume __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort
__cxa_throw_bad_array_new_length __cxa_begin_catch __cxa_pure_virtual _ZSt9terminatev
_GLOBAL_OFFSET_TABLE_ __dso_handle __cxa_thread_atexit cudamm_dynamic_shared __emutls_get_address
"""
"""Functions of libraries that the code of a kernel may call, and symbols of the compiler."""

_COMPILER_FUNCTIONS = re.compile(
    r"__tsan_\w+|__sanitizer_cov_\w+|__ubsan_handle_\w+|__asan_\w+|_ZTH\w+|_ZTW\w+|_ZTVN10__cxxabiv1\w+"
    r"|_Zn[wa]m(?:St11align_val_t)?|_Zd[la]Pv(?:m|St11align_val_t|mSt11align_val_t)?|_ZSt\d+__throw_\w+"
    r"|__\w+[sdt][ifc][234]?|__(?:extend|trunc|float|fix|mul|div)\w+"
)

_RUNTIME_FUNCTION = re.compile(r"_ZN6cudamm(?:3ptx)?(\d+)(\w+)")
_NOT_FOR_KERNELS = "observe.h"
_ENTRY_TABLE = "_ZN6cudamm6kernelE"


def check_object(image: bytes, lines: Mapping[tuple[str, int], str]) -> None:
    """Raise KernelError if the object file of a kernel has more than a kernel's code.

    Args:
        image: the object file, with the kernel and the table by which the runtime finds the kernel.
        lines: the lines of the source without comments, by the name of their file and their number in it.
    """
    for section in sections(image):
        if _OF_SANITIZER.fullmatch(section.name) and section.size_bytes <= 3 * _POINTER_BYTES:
            if section.name.startswith(".init_array") and section.size_bytes != _POINTER_BYTES:
                raise KernelError(_REFUSED_START)
            continue
        if section.name.startswith(
            (".init", ".fini", ".preinit", ".ctors", ".dtors", ".rela.init", ".rela.fini")
        ):
            raise KernelError(_REFUSED_START)
        if not _SECTIONS.fullmatch(section.name):
            raise KernelError(f"the compiled file has a section {section.name[:60]}, which no kernel needs")
    for symbol in symbols(image):
        if symbol.kind == INDIRECT_FUNCTION:
            raise KernelError(f"{_named(symbol.name, lines)} is chosen while the program starts")
        if symbol.is_local:
            continue
        if not symbol.is_defined and not _may_call(symbol):
            raise KernelError(
                f"{_named(symbol.name, lines)} is no function of CUDA's device code, and no kernel can use it"
            )
        if symbol.is_defined and _takes_place_of_another(symbol):
            raise KernelError(
                f"{_named(symbol.name, lines)} is a name of the system's libraries: choose another name"
            )


_REFUSED_START = (
    "code would run before the kernel: there is a constructor, or a variable that code initialises"
)


def _may_call(symbol: Symbol) -> bool:
    name = symbol.name
    if (
        symbol.kind == THREAD_LOCAL
        or name in _LIBRARY_FUNCTIONS.split()
        or _COMPILER_FUNCTIONS.fullmatch(name)
    ):
        return True
    of_runtime = _RUNTIME_FUNCTION.match(name)
    if of_runtime:
        return of_runtime[2][: int(of_runtime[1])] in _runtime_names()
    return is_math_function(name)


def _takes_place_of_another(symbol: Symbol) -> bool:
    """Return whether other object files or libraries would use a kernel's symbol in place of another."""
    name = symbol.name
    if name.startswith("_ZN6cudamm"):
        return name != _ENTRY_TABLE and not symbol.is_weak
    if name.startswith(("_Zn", "_Zd")):
        return True
    if name.startswith(("_ZNSt", "_ZSt", "_ZNKSt")):
        return not symbol.is_weak
    return not name.startswith("_Z") and _is_in_library(name)


@functools.cache
def _is_in_library(name: str) -> bool:
    return hasattr(ctypes.CDLL(None), name)


@functools.cache
def _runtime_names() -> frozenset[str]:
    """Return the words of the headers that kernels include: functions in no header are not for kernels."""
    headers = [path for path in RUNTIME.glob("*.h") if path.name != _NOT_FOR_KERNELS]
    headers += [path for path in (RUNTIME / "include").rglob("*") if path.is_file()]
    return frozenset(word for path in headers for word in re.findall(r"\w+", path.read_text("utf-8")))


def _named(name: str, lines: Mapping[tuple[str, int], str]) -> str:
    """Return a symbol's name behind the first line that has it as a word, a declaration after all others."""
    readable = _readable(name)
    word = re.compile(rf"\b{re.escape(readable.rpartition('::')[2])}\b")
    found = [(file, number, line) for (file, number), line in lines.items() if word.search(line)]
    for file, number, _ in sorted(found, key=lambda place: "extern" in place[2]):
        return f"{file}:{number}: {readable}"
    return readable


def _readable(name: str) -> str:
    """Return a name as its source has it, as far as a mangled name shows it."""
    nested = re.findall(r"\d+([A-Za-z_]\w*?)(?=\d|E|$)", name) if name.startswith("_Z") else []
    return "::".join(nested) or name[:60]
