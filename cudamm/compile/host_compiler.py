"""Compile kernels for the CPU device, and native host methods, with the host's C++ compiler.

Each program becomes an executable of its own; `devices/cpu_runtime/runtime.cpp` gives the reason.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.compile_cache import cached
from cudamm.compile.compile_errors import check_unrolling, in_users_terms
from cudamm.compile.compiler_process import (
    CompileError,
    compile_failure,
    preprocessed,
    run_compiler,
    run_to_end,
    run_with_folder,
    temporary_folder,
)
from cudamm.compile.confinement import Confinement, confinement
from cudamm.compile.elf import THREAD_LOCAL, check_elf, is_guard, symbols
from cudamm.compile.identity import compiler_identity, finds_other_headers
from cudamm.compile.inline_ptx import has_inline_ptx, with_ptx_translated
from cudamm.compile.precompiled_headers import include_options
from cudamm.compile.program import Program
from cudamm.compile.refused_features import refused_feature
from cudamm.compile.runtime_headers import RUNTIME, headers_for
from cudamm.compile.untrusted_object import check_object
from cudamm.compile.untrusted_source import (
    check_preprocessed,
    with_headers,
    without_headers,
)
from cudamm.errors import KernelError, NoDeviceError
from cudamm.source.c_text import dynamic_arrays_in, without_comments
from cudamm.source.kernel_changes import SELECTED, without_selection

STATIC_SHARED_BYTES = 48 * 1024
"""Maximum static shared memory of a kernel on every GPU, in bytes."""

_OPTIMISED = ["-O3", "-march=native", "-fno-strict-aliasing", "-fstack-clash-protection", "-fwrapv", "-w"]

_INSTRUMENTED = ["-O0", "-gdwarf-4", "-fsanitize=thread", "-fsanitize-coverage=trace-pc", "-DCUDAMM_OBSERVED",
                 "-fno-strict-aliasing", "-fwrapv", "-w"]  # fmt: skip
"""Options that keep each memory access as written, preceded by a call of a function in `observe.cpp`."""


_CALLING = ["-O0", "-gdwarf-4", "-fsanitize=kernel-address", "-fasan-shadow-offset=0x7fff8000",
            "-fno-sanitize-address-use-after-scope", "--param", "asan-globals=0",
            "--param", "asan-instrumentation-with-call-threshold=0",
            "-fno-strict-aliasing", "-fwrapv", "-w"]  # fmt: skip
"""Options with which each access calls a function in `local_variables.cpp` first."""


@dataclass(frozen=True)
class Executable:
    """A program compiled for the host, an executable file that takes the commands listed in `runtime.cpp`."""

    path: Path


@dataclass(frozen=True)
class _Compiler:
    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version

    @property
    def fills_locals(self) -> bool:
        """Whether the compiler can fill local variables with a pattern: Clang, and GCC since version 12."""
        gcc_version = re.search(r"\) (\d+)\.", self.version)
        return self.is_clang or (gcc_version is not None and int(gcc_version[1]) >= 12)


def compile_for_host(program: Program) -> Executable:
    """Compile a program, or take it from the cache.

    Raises:
        KernelError: the program does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no C++ compiler.
    """
    check_unrolling(program)
    program = submitted(program)
    parts = _parts(program)
    kernel = _compiled_kernel(program, parts[0])
    static_bytes = _static_shared_bytes(kernel)
    if static_bytes > STATIC_SHARED_BYTES and not program.method.runs_on_host:
        raise KernelError(
            f"does not compile: it declares {static_bytes:,} bytes of static shared memory, more than the "
            f"{STATIC_SHARED_BYTES:,} that a kernel may declare; use dynamic shared memory instead"
        )
    return _linked(parts)


def _compiled_kernel(program: Program, part: _Part) -> Path:
    """Compile the kernel's part. Raises KernelError in the user's terms if it does not compile."""
    try:
        compiled = part.compiled()
    except CompileError as error:
        raise in_users_terms(error, program) from None
    if confinement() is not None and not program.method.builtin:
        code = dataclasses.replace(program, text=without_comments(program.text))
        check_object(compiled.read_bytes(), code.lines)
    return compiled


def made_from(program: Program) -> list[str]:
    """Return everything that determines the executable of `compile_for_host`: texts, options, compiler.

    Raises:
        NoDeviceError: there is no C++ compiler.
    """
    return [text for part in _parts(submitted(program)) for text in part.made_from]


def _parts(program: Program) -> list[_Part]:
    """Return the parts of an executable that runs a kernel: first the kernel, then the runtime."""
    # The compiler may use all instructions of this machine, including fused multiply-add, but may not
    # reorder sums. CUDA code casts between pointer types freely and relies on 32-bit ints wrapping around.
    options = [*_OPTIMISED, "-ffp-contract=fast" if program.fmad else "-ffp-contract=off"]
    if not compiler().is_clang:
        options.append("-fno-extern-tls-init")  # a dynamic array needs no initialisation on first use
    if compiler().fills_locals:  # a read of a variable that was never set must not give zero by chance
        options.append("-ftrivial-auto-var-init=pattern")
    return [
        _kernel_part(program, options),
        _part(_dynamic_shared_file(program), _RUNTIME_OPTIONS),
        _runtime_part("runtime.cpp"),
        _runtime_part("tensor_cores.cpp"),
    ]


def compile_to_observe(program: Program, *, checked: bool = False) -> Executable:
    """Compile a program with every memory access instrumented, or take it from the cache.

    The executable also accepts the commands that `observe.cpp` lists.

    Args:
        checked: instrument the indices of arrays too.

    Raises:
        KernelError: the program does not compile; the message has the file's own line numbers.
        NoDeviceError: there is no C++ compiler.
    """
    program = submitted(program)
    options = [*_INSTRUMENTED, *(["-fsanitize=bounds"] if checked else [])]
    if compiler().is_clang:  # by default Clang does not instrument the read in `x += y`
        options += ["-mllvm", "-tsan-instrument-read-before-write"]
    else:
        options.append("-fno-extern-tls-init")
    kernel_part = _kernel_part(program, options)
    try:
        _compiled_kernel(program, kernel_part)
    except KernelError as error:
        # A recursive function cannot be a part of its callers. A kernel may need vectors to be aggregates, as
        # in `float4 v[1] = {1, 2, 3, 4}`.
        more = "-DCUDAMM_RECURSIVE" if "always_inline" in str(error) else "-DCUDAMM_AGGREGATES"
        kernel_part = _kernel_part(program, [*options, more])
        _compiled_kernel(program, kernel_part)
    parts = [
        kernel_part,
        _part(_dynamic_shared_file(program), [*_RUNTIME_OPTIONS, "-DCUDAMM_OBSERVED"]),
        _runtime_part("runtime.cpp"),
        _runtime_part("tensor_cores.cpp"),
        _runtime_part("observe.cpp"),
    ]
    return _linked(parts, ["-Wl,--wrap=memcpy"] if compiler().is_clang else [])


def compile_to_watch_variables(program: Program) -> Executable:
    """Compile a program so that it ends at the first access beside a thread's local variables.

    The process needs terabytes of address space.

    Raises:
        KernelError: the program does not compile, or the compiler cannot watch local variables.
        NoDeviceError: there is no C++ compiler.
    """
    return _compiled_to_call(program, ["--param", "asan-stack=1"])


def compile_to_count(program: Program) -> Executable:
    """Compile a program so that it counts the bytes of its accesses to matrices.

    Raises:
        KernelError, NoDeviceError: as for `compile_to_watch_variables`.
    """
    return _compiled_to_call(program, ["--param", "asan-stack=0"])


def _compiled_to_call(program: Program, options: list[str]) -> Executable:
    """Compile a program so that each access calls a function in `local_variables.cpp` first."""
    if compiler().is_clang:
        raise KernelError("only GCC can watch local variables without a library")
    program = submitted(program)
    parts = [
        _kernel_part(program, [*_CALLING, *options, "-fno-extern-tls-init"]),
        _part(_dynamic_shared_file(program), _RUNTIME_OPTIONS),
        _runtime_part("runtime.cpp"),
        _runtime_part("tensor_cores.cpp"),
        _runtime_part("local_variables.cpp"),
    ]
    _compiled_kernel(program, parts[0])
    return _linked(parts)


@dataclass(frozen=True)
class CompilerWarning:
    """A warning of the host's compiler about a program.

    Attributes:
        file: name of the file as the program names it.
        option: the option that turns the warning on, such as `uninitialized`.
    """

    file: str
    line: int
    text: str
    option: str


@functools.lru_cache(maxsize=4)
def warnings_of(program: Program) -> tuple[CompilerWarning, ...]:
    """Return the compiler's warnings about unset variables, numbers cut to whole ones, needless conditions.

    It takes as long as to compile the program.

    Raises:
        NoDeviceError: there is no C++ compiler.
    """
    # Only an optimising compiler follows values from statement to statement.
    options = ["-O2", "-Wuninitialized", "-Wmaybe-uninitialized", "-Wfloat-conversion", "-Wtype-limits"]
    part = _kernel_part(submitted(program), options)
    printed = _run([*part.command, "-c", "-o", os.devnull], part.source).stderr
    found = re.findall(
        r"^(?:.*/)?([^/\n]+?):(\d+):\d+: warning: (.*) \[-W([\w-]+?)=?\]$", printed, re.MULTILINE
    )
    return tuple(CompilerWarning(file, int(line), text, option) for file, line, text, option in found)


_RUNTIME_OPTIONS = ["-O2", "-pthread"]


def _linked(parts: Sequence[_Part], options: Sequence[str] = ()) -> Executable:
    """Compile the parts of an executable, and link them."""
    objects = [part.compiled() for part in parts]
    name, *user_options = compiler().command

    def link(target: Path, linker: Sequence[str]) -> None:
        files = [*map(str, objects), "-o", str(target)]
        run_compiler([name, *linker, *user_options, "-pthread", *options, *files])

    def make(target: Path) -> None:
        fast_linker = _fast_linker()
        with contextlib.suppress(CompileError):  # the usual linker reports why
            if fast_linker:
                link(target, fast_linker)
                return _check_made(target)
        link(target, ())
        return _check_made(target)

    made_from = [*options, *(o.name for o in objects)]
    return Executable(cached(made_from, ".kernel", make, is_program=True))


def _check_made(file: Path) -> None:
    """Raise NoDeviceError if a compiler succeeded and made no complete file: the cache must not keep it."""
    try:
        check_elf(file.read_bytes())
    except (KernelError, FileNotFoundError) as error:
        reason = "it made no file" if isinstance(error, FileNotFoundError) else error
        raise NoDeviceError(f"the C++ compiler {compiler().command[0]} does not work: {reason}") from None


def _fast_linker() -> list[str]:
    """Return the option for gold, if it is installed: it reads the C++ library in a third of the time."""
    return ["-fuse-ld=gold"] if shutil.which("ld.gold") else []


@functools.cache
def compiler() -> _Compiler:
    """Return the host's C++ compiler: $CXX, else g++, c++ or clang++.

    Raises:
        NoDeviceError: no compiler is found, or it does not work.
    """
    chosen = os.environ.get("CXX")
    for name in [chosen] if chosen else ["g++", "c++", "clang++"]:
        try:
            command = shlex.split(name)
        except ValueError as error:
            raise NoDeviceError(f"$CXX is {name}, which is no command: {str(error).lower()}") from None
        if not command:
            raise NoDeviceError("$CXX is blank: unset it, or name a C++ compiler")
        if not shutil.which(command[0]):
            continue
        return _Compiler(tuple(command), _version(command))
    reason = (
        f"$CXX is {chosen}, which was not found"
        if chosen
        else "no C++ compiler was found (g++, c++, clang++)"
    )
    raise NoDeviceError(f"{reason}: install one, for example with: apt install g++")


def _version(command: Sequence[str]) -> str:
    """Return the first line that the compiler prints. Raises NoDeviceError if the compiler does not work."""
    version_command = [*command, "--version"]
    completed = run_to_end(version_command)
    if completed.returncode != 0:
        shown, status = shlex.join(version_command), completed.returncode
        raise NoDeviceError(
            f"the C++ compiler {version_command[0]} does not work: {shown} ends with status {status}"
        )
    return completed.stdout.split("\n")[0]


@functools.cache
def processor() -> str:
    """Return the processor's model and features, on which -march=native depends.

    Machines with different processors may share a cache; each needs object files of its own.
    """
    try:
        cpuinfo = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.machine()
    features = re.findall(r"^(?:model name|flags|Features)\s*:.*$", cpuinfo.split("\n\n")[0], re.MULTILINE)
    return "\n".join([platform.machine(), *features])


@dataclass(frozen=True)
class _Part:
    """A C++ file of an executable.

    Attributes:
        command: the compiler with its options, without those for the output.
        made_from: everything that determines the object file.
        headers: headers of cudamm that the source includes first, and that may be precompiled.
    """

    source: str
    command: tuple[str, ...]
    made_from: tuple[str, ...]
    headers: tuple[str, ...] = ()

    def compiled(self) -> Path:
        """Compile the file, or take the object file from the cache."""

        def make(target: Path) -> None:
            command = [*self.command, "-c", "-o", str(target)]
            precompiled = self._precompiled()
            completed = _run([*command, *precompiled], self.source)
            if completed.returncode != 0 and precompiled:  # messages must not name the precompiled file
                completed = _run(command, self.source)
            if completed.returncode != 0:
                raise refused_feature(completed.stderr) or compile_failure(self.command[0], completed.stderr)
            _check_made(target)

        return cached(self.made_from, ".o", make)

    def _precompiled(self) -> list[str]:
        """Return the options for precompiled headers, if there are any."""
        return include_options(self.headers, self.command, self.made_from[1:]) if self.headers else []


def _part(
    source: str,
    options: Sequence[str],
    reads_changing_headers: bool = False,
    headers: Sequence[str] = (),
) -> _Part:
    """Return a part.

    Args:
        reads_changing_headers: the source may include headers that neither cudamm nor the compiler's
            version determines.
        headers: the headers of cudamm that the source includes first.
    """
    command = _command(options)
    name, *user_options = compiler().command
    full_source = source
    if reads_changing_headers or finds_other_headers(user_options):
        full_source = preprocessed(_run([*command, "-E"], source), source)
    if compiler().is_clang or confinement() is not None or finds_other_headers(user_options):
        headers = ()
    identity = compiler_identity(name, compiler().version)
    made_from = (full_source, *_runtime_headers(), *command, *identity, processor())
    return _Part(source, command, made_from, tuple(headers))


def _command(options: Sequence[str]) -> tuple[str, ...]:
    """Return the compiler with its options, without those for the output."""
    folders = [f"-I{RUNTIME}", f"-I{RUNTIME / 'include'}"]
    plain = "-fno-diagnostics-show-caret"  # `compile_errors` shows the source
    return (*compiler().command, "-std=c++17", plain, *options, *folders, "-x", "c++")


def _run(command: Sequence[str], source: str) -> subprocess.CompletedProcess[str]:
    """Run a compiler on a source; return its exit status and its streams.

    The source lies in a folder of its own. A compiler that read it from standard input would look for
    included files in the current folder first, where a file of the same name may lie.

    Raises:
        CompilerKilled: the compiler was killed, or took too long.
        NoDeviceError: the compiler does not start, or the disk is full.
    """
    with temporary_folder() as folder:
        file = folder / "source"
        file.write_text(source, encoding="utf-8", errors="surrogateescape")
        completed = run_with_folder([*command, str(file)], "", folder)
        # The folder has another name each time.
        stdout, stderr = (text.replace(str(folder), "") for text in (completed.stdout, completed.stderr))
        return subprocess.CompletedProcess(completed.args, completed.returncode, stdout, stderr)


def _kernel_part(program: Program, options: list[str]) -> _Part:
    with_folders = [*options, *(f"-I{folder}" for folder in program.include_folders)]
    source = _main_file(program)
    if not program.method.runs_on_host and has_inline_ptx(program.text):
        completed = _run([*_command(with_folders), "-E"], source)
        if completed.returncode == 0:  # otherwise the compiler reports why not
            return _part(with_ptx_translated(completed.stdout), options)
    headers = () if program.include_folders else _first_headers(program)
    return _part(source, with_folders, program.reads_files, headers)


_END = "struct cudamm_end;"
"""The end of a preprocessed text: no submission may have such a name."""

_OF_CUDA = ("-D__CUDACC__=1", "-D__NVCC__=1", "-D__CUDA_ARCH__=800", "-D__CUDACC_VER_MAJOR__=13",
            "-D__CUDACC_VER_MINOR__=0", "-DCUDART_VERSION=13000", "-DCUDA_VERSION=13000")  # fmt: skip
"""The macros by which a text knows CUDA, of the version and architecture that the CPU device is like."""

_NEUTRAL = ("-w", "-E", "-undef", "-nostdinc", *_OF_CUDA)
_FLAVOURS = (tuple(_OPTIMISED), tuple(_INSTRUMENTED), tuple(_CALLING))
"""Options on which the macros of the compiler depend."""


def submitted(program: Program, others: Callable[[str], dict[str, str]] | None = None) -> Program:
    """Return a program with the one text that all compilers get, if it is an untrusted one.

    Directives have been followed, and macros expanded, as if no compiler had macros of its own but those of
    CUDA. So the text is the same whether a kernel is timed, watched or compiled for a GPU. Lines keep their
    numbers.

    Args:
        others: returns the macros of another compiler that gets the text, after some directives.

    Raises:
        KernelError: the text cannot be preprocessed, or is not accepted.
    """
    limits = confinement()
    return program if limits is None or program.method.builtin else _submitted(program, limits, others)


@functools.lru_cache(maxsize=64)
def _submitted(
    program: Program, limits: Confinement, others: Callable[[str], dict[str, str]] | None
) -> Program:
    """Do what `submitted` does. A confinement is that of one source, whose headers do not change."""
    own = {path.name: path for path in limits.folder.iterdir() if path.is_file()}
    includes = list[str]()
    with temporary_folder() as folder:
        for name, path in own.items():
            text = without_headers(path.read_text("utf-8", "surrogateescape"), own, includes)
            (folder / name).write_text(text, "utf-8", "surrogateescape")
        text = without_headers(program.text, own, includes)
        names = _revealing_names(tuple(_first_headers(program)), "\n".join([*includes, ""]), others)
        source = f"#pragma GCC poison {' '.join(sorted(names))}\n{text}{_END}"
        completed = _run([*_command(_NEUTRAL), "-iquote", str(folder)], source)
        made, stderr = (
            text.replace(f"{folder}{os.sep}", "") for text in (completed.stdout, completed.stderr)
        )
    if completed.returncode != 0:
        failure = compile_failure(compiler().command[0], _POISONED.sub(_IN_WORDS, stderr))
        raise in_users_terms(failure, program) if isinstance(failure, CompileError) else failure
    if not made.rstrip().endswith(_END):
        raise NoDeviceError(f"the C++ compiler {compiler().command[0]} does not work: its text has no end")
    made = made.rstrip().removesuffix(_END)
    # The submission alone has been checked before its changes are tried.
    has_selection = any(name == SELECTED for name, _ in program.method.constants)
    check_preprocessed(without_selection(made) if has_selection else made)
    return dataclasses.replace(program, text=with_headers(made, includes))


_POISONED = re.compile(r'(?:attempt to use poisoned "?|attempt to use a poisoned identifier:? ?)([^"\n]*)"?')
_IN_WORDS = r"\1 is not accepted: a submission must be the same code for each compiler"


@functools.lru_cache(maxsize=64)
def _revealing_names(
    headers: Sequence[str], includes: str, others: Callable[[str], dict[str, str]] | None
) -> frozenset[str]:
    """Return the macros that tell compilers apart, after some headers and directives of a submission."""
    alone = [_macros((), "", flavour) for flavour in (_NEUTRAL, *_FLAVOURS)]
    tables = [_macros(headers, includes, flavour) for flavour in _FLAVOURS]
    if others is not None:
        tables.append(others(includes))
    found = {name for t in (alone, tables) for name in set().union(*t) if len({m.get(name) for m in t}) > 1}
    return frozenset(found - _names_of_cuda() - alone[0].keys())


@functools.lru_cache(maxsize=64)
def _macros(headers: Sequence[str], includes: str, options: Sequence[str]) -> dict[str, str]:
    """Return the macros that the compiler has after some headers, with their values."""
    # A header that is missing is reported when the submission is compiled.
    source = "".join(f'#include "{header}"\n' for header in headers) + f'#line 1 "headers"\n{includes}'
    return macros_in(_run([*_command(options), "-E", "-dM"], source).stdout)


def macros_in(printed: str) -> dict[str, str]:
    """Return the macros with their values, as a compiler prints them with -dM."""
    return dict(re.findall(r"^#define (\w+)(.*)$", printed, re.MULTILINE))


@functools.cache
def _names_of_cuda() -> frozenset[str]:
    """Return the names in the headers that implement CUDA, without those on which the headers depend."""
    lines = [line for header in _runtime_headers() for line in header.splitlines()]
    conditions = [line for line in lines if re.match(r"\s*#\s*(?:el)?if", line)]
    names, revealing = (
        frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(found))) for found in (lines, conditions)
    )
    return names - revealing


def _runtime_part(name: str) -> _Part:
    return _part((RUNTIME / name).read_text(), _RUNTIME_OPTIONS)


@functools.cache
def _runtime_headers() -> tuple[str, ...]:
    headers = [*RUNTIME.glob("*.h"), *(RUNTIME / "include").rglob("*")]
    return tuple(path.read_text("utf-8") for path in sorted(headers) if path.is_file())


def _static_shared_bytes(object_file: Path) -> int:
    """Return the bytes of a kernel's `__shared__` variables, the thread-local variables of its object file.

    The guards of variables with constructors do not count: only the host's compiler makes them.
    """
    return sum(
        symbol.size_bytes
        for symbol in symbols(object_file.read_bytes())
        if symbol.kind == THREAD_LOCAL and symbol.is_defined and not is_guard(symbol.name)
    )


def _main_file(program: Program) -> str:
    """Return the kernel's file between the header that implements CUDA and a table for the runtime."""
    method = program.method
    constants = "".join(f'{{"{name}", (void*)&{name}, sizeof {name}}}, ' for name, _ in method.constants)
    includes = "\n".join(f'#include "{header}"' for header in _first_headers(program))
    text = _ALIGNAS.sub(r"\1__align__(", program.text)
    return f"""{includes}
{text}
namespace cudamm {{
static void call_kernel(const Argument* arguments) {{
    call<{min(program.element.bytes_of.values())}>(&::{program.entry}, arguments);
}}
static const Constant constants[] = {{ {constants}{{nullptr, nullptr, 0}} }};
const Kernel kernel = {{call_kernel, constants, {len(method.constants)}}};
}}
"""


def _first_headers(program: Program) -> Sequence[str]:
    """Return the names of the headers that implement CUDA for a kernel, in the order of their inclusion."""
    headers = headers_for(program.text)
    if has_inline_ptx(program.text):
        headers.append("ptx.h")
        headers += [f"cuda_{kind}.h" for kind in ("fp16", "bf16") if kind.replace("p", "") in program.text]
    return headers


# nvcc accepts `__shared__ alignas(16) float s[32]`; C++ has `alignas` at the beginning of a declaration only.
_ALIGNAS = re.compile(r"(\b__shared__(?:\s+\w+)*?\s+)alignas\s*\(")


def _dynamic_shared_file(program: Program) -> str:
    """Return a file that defines one array, with the names of all `extern __shared__` arrays of a kernel.

    The array needs a file of its own, because its type differs from the types that the kernel declares.
    """
    names = dynamic_arrays_in(program.text)
    size = "cudamm::largest_dynamic_shared + cudamm::dynamic_shared_guard" if names else "0"
    aliases = "\n".join(
        f'extern __thread unsigned char {name}[1] __attribute__((alias("cudamm_dynamic_shared")));\n'
        f"void _ZTH{len(name)}{name}() {{}}  // the array's initialiser, which Clang calls\n"
        for name in names
    )
    return f"""#include "cuda_on_cpu.h"
namespace cudamm {{ const size_t dynamic_shared_bytes = {size}; }}
extern "C" {{
#if defined(CUDAMM_OBSERVED)  // far behind the kernel's variables: an index past their end reaches nothing
__thread unsigned char cudamm_dynamic_shared[{size} + 1] __attribute__((aligned(65536)));
#else
__thread unsigned char cudamm_dynamic_shared[{size} + 1] __attribute__((aligned(1024)));
#endif
{aliases}}}
"""
