"""Read a Python program that contains CUDA kernels as text, such as one for PyCUDA or CuPy, as CUDA source.

The source has the text of the kernels, and for each launch a C++ function that launches the kernel in the
same way. Each line has the number that it has in the program. Nothing of the program is executed or imported.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Sequence, Set
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.source.c_text import function_of, kernels_in, without_comments
from cudamm.source.host_values import Kernel, Module, Unknown
from cudamm.source.input_file import read_input
from cudamm.source.python_interpreter import Interpreter
from cudamm.source.python_launch import extension_call
from cudamm.source.python_text import (
    KernelText,
    Placement,
    constants_in,
    defined_names,
    defined_numbers,
    plain,
)

LARGEST_KERNEL_FILE = 1 << 20
"""Number of bytes of a file that a program reads."""

MOST_EXTENSION_CALLS = 4
"""Number of calls of C++ functions that are looked at."""

_OTHER_KERNELS = ("ElementwiseKernel", "ReductionKernel")
"""Classes of CuPy and PyCUDA whose text is an expression for one element."""

_DECORATED = (
    (r"\bjit\.rawkernel$", "CuPy's JIT"),
    (r"\bcuda\.jit$|\bjit\.cuda$", "Numba"),
    (r"\btriton\.(jit|autotune)$", "Triton"),
    (r"\bti\.kernel$", "Taichi"),
    (r"\bwp\.kernel$", "Warp"),
)
"""Decorators of kernels that are written in Python, and whose they are."""

_IN_CUDA = "cudamm reads kernels in CUDA C++: write it as a __global__ function in a .cu file"

_PYTHON_2 = (
    (re.compile(r"^([ \t]*)print\b(?![ \t]*[(=.,\[]).*$|^([ \t]*)(?:%|!).*$", re.MULTILINE), r"\1\2pass"),
    (re.compile(r"^([ \t]*except\b[^:\n]*?),[ \t]*(\w+)[ \t]*:", re.MULTILINE), r"\1 as \2:"),
    (re.compile(r"<>"), "!="),
)
"""Statements of Python 2 and of notebooks, and what the parser of Python 3 takes instead."""


def cuda_source(program: str, path: Path, entry: str = "") -> str:
    """Return the kernels and the launches of a Python program as CUDA source.

    Args:
        program: the program's text.
        path: of its file; files that it reads are searched for beside it.
        entry: the kernel that the user chooses; empty for none.

    Raises:
        UsageError: the program is not Python, contains no kernel as text, or builds the text in a way that is
            not followed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about escapes in the program's strings
            tree, is_python_2 = _parsed(program, path)
            return _Program(program, path, tree, is_python_2).source(function_of(entry) if entry else "")
    except (RecursionError, MemoryError):
        raise UsageError(f"{path}: the program is nested too deeply to be read") from None


def _parsed(program: str, path: Path) -> tuple[ast.Module, bool]:
    """Return the tree of a program, and whether it is one for Python 2."""
    try:
        return ast.parse(program), False
    except (SyntaxError, ValueError) as error:
        first = error
    changed = program
    for pattern, replacement in _PYTHON_2:
        changed = pattern.sub(replacement, changed)
    is_python_2 = re.search(r"^[ \t]*print\b[ \t]*[^\s(]", program, re.MULTILINE) is not None
    try:
        return ast.parse(changed), is_python_2 and "import division" not in program
    except (SyntaxError, ValueError):
        line = getattr(first, "lineno", None)
        where = f"{path}:{line}" if line else str(path)
        reason = getattr(first, "msg", None) or str(first)
        raise UsageError(f"{where}: this is no Python 3: {reason}") from None


class _Program:
    """One program, while it is translated."""

    def __init__(self, program: str, path: Path, tree: ast.Module, is_python_2: bool) -> None:
        self.path, self.tree = path, tree
        self.followed = Interpreter(program, path.name, self._file_text, is_python_2)
        self.followed.run(tree)

    def source(self, entry: str) -> str:
        """Return the whole program as CUDA source."""
        modules = self._modules()
        chosen = self._chosen(modules, entry)
        texts = [module.source for module in chosen]
        constants = constants_in(texts)
        linked = {number.text: name for name, number in constants.items()} | defined_numbers(texts)
        inserted = {piece.name for text in texts for piece in text.pieces if piece.number}
        fixed = inserted - constants.keys() - linked.keys() - {""}
        defined = {name: text for each in texts for name, text in defined_names(str(each)).items()}
        settable = constants.keys() | defined.keys()
        runs = {str(module.source): _runs(module, modules, settable) for module in chosen}
        placement = Placement(self.path.name)
        for text in texts:
            placement.add_text(text, constants if text is texts[0] else {})
        kernels = {name for text in texts for name in kernels_in(str(text))}
        for launches in sorted(self.followed.launches.values(), key=lambda of_call: of_call[0].line):
            kernel = launches[0].kernel
            if str(kernel.module.source) not in map(str, texts):
                continue
            instead = _only_kernel(kernel)
            if instead:
                launches = [launch.of_only_kernel(instead) for launch in launches]
            if instead or function_of(kernel.name) in kernels:
                code = " ".join(
                    launch.with_runs(runs[str(kernel.module.source)])
                    .with_product(self.followed.products)
                    .function(self.followed.variables, linked, defined, fixed)
                    for launch in launches
                )
                placement.add(f"{code}\n", launches[0].line, "")
        for call in self.followed.extension_calls[:MOST_EXTENSION_CALLS]:
            module = call.owner
            if isinstance(module, Module) and str(module.source) in map(str, texts):
                made = extension_call(call, module, self.followed.products, self.followed.frames)
                code = made.function(self.followed.variables, linked, defined) if made else ""
                placement.add(f"{code}\n" if code else "", call.line, "")
        return placement.source()

    def _modules(self) -> list[Module]:
        """Return the modules of the program, each text once.

        Raises:
            UsageError: there are none, or none whose text is known.
        """
        made = {str(module.text): module for module in reversed(self.followed.modules)}
        if not any(map(_has_kernels, made.values())):  # strings with kernels, without those in longer ones
            texts = {str(module.text): module for module in self.followed.texts}
            made |= {
                text: module
                for text, module in texts.items()
                if not any(text != other and text in other for other in texts)
            }
        known = [module for module in reversed(made.values()) if _has_kernels(module)]
        unknown = [module for module in self.followed.modules if isinstance(module.text, Unknown)]
        if not known and unknown:
            what = getattr(unknown[0].text, "what", "")
            raise UsageError(
                f"{self.path}:{unknown[0].line}: the text of the kernel is not known without running the "
                f"program ({what}): have the program print the text, and put it into a .cu file"
            )
        if not known:
            self._refuse()
        return sorted(known, key=lambda module: module.line)

    def _file_text(self, name: str, node: ast.AST) -> KernelText:
        """Return the text of a file that the program reads."""
        line, name = getattr(node, "lineno", 0), posixpath.normpath(name)
        file = self.path.parent / name
        try:
            content = read_input(file, "a file that the program reads", LARGEST_KERNEL_FILE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "its name is wrong"
            raise UsageError(
                f"{self.path}:{line}: the program reads {name}, and cudamm cannot: {reason}"
            ) from None
        text = content.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
        if "\0" in text:
            raise UsageError(f"{self.path}:{line}: {name} is not text")
        return plain(text, range(1, text.count("\n") + 2), name)

    def _chosen(self, modules: Sequence[Module], entry: str) -> list[Module]:
        """Return the modules that can be one source: those with the chosen kernel, or all.

        Raises:
            UsageError: several modules define the same names, and no kernel is chosen.
        """
        modules = _without_later_numbers(modules)
        with_entry = [module for module in modules if entry in kernels_in(str(module.text))]
        if len(with_entry) > 1:
            lines = " and ".join(str(module.line) for module in with_entry)
            raise UsageError(
                f"{self.path}: lines {lines} compile different texts with a kernel {entry}: put the one to "
                "look at into a .cu file"
            )
        if entry:
            return with_entry or list(modules)
        seen: dict[str, str] = {}
        for module in modules:
            text = str(module.text)
            own = defined_names(text) | dict.fromkeys(kernels_in(text), f"{module.line}")
            own |= {name: str(number.value) for name, number in constants_in([module.source]).items()}
            clash = next((name for name, value in own.items() if seen.get(name, value) != value), None)
            if clash:
                kernels = sorted({name for each in modules for name in kernels_in(str(each.text))})
                cure = f"choose a kernel with --entry ({', '.join(kernels)})"
                if len(kernels) == 1:
                    cure = "put the one to look at into a .cu file"
                raise UsageError(f"{self.path} compiles several texts that each define {clash}: {cure}")
            seen |= own
        return modules

    def _refuse(self) -> None:
        """Raise UsageError with the kind of kernels that the program has instead of text."""
        for node, decorator in self.followed.decorated:
            for pattern, library in _DECORATED:
                if re.search(pattern, decorator):
                    kernel = f"{self.path}:{node.lineno}: {node.name} is a kernel in Python"
                    raise UsageError(f"{kernel}, for {library}; {_IN_CUDA}")
        for call in self.followed.calls:
            if call.name in _OTHER_KERNELS:
                what = f"the text of an {call.name} is an expression for one element"
                raise UsageError(f"{self.path}:{call.line}: {what}, not a kernel; {_IN_CUDA}")
            sources = call.argument(1, "sources") if call.name == "load" else ()
            for source in sources if isinstance(sources, tuple) else (sources,):
                if str(source).endswith(".cu"):
                    raise UsageError(f"{self.path} compiles {source}: give cudamm that file")
        raise UsageError(
            f"{self.path} contains no CUDA kernel as text (SourceModule, RawKernel, RawModule, load_inline): "
            "name the .py or .cu file with the kernel"
        )


def _without_later_numbers(modules: Sequence[Module]) -> list[Module]:
    """Return modules without those of a loop that differ from an earlier one only in numbers."""
    first: dict[tuple[int, str], Module] = {}
    for module in modules:
        first.setdefault((module.line, re.sub(r"\d+", "0", str(module.text))), module)
    return list(first.values())


def _runs(module: Module, modules: Sequence[Module], settable: Set[str]) -> tuple[str, ...]:
    """Return `TILE=8,16,32` for each number that differs in the texts that a loop compiles in one line.

    Args:
        settable: the names that -D can set; the others come without a name before `=`.
    """
    own = re.sub(r"\d+", "0", str(module.text))
    values: dict[str, dict[str, None]] = {}
    for each in modules:
        if each.line == module.line and re.sub(r"\d+", "0", str(each.text)) == own:
            inserted = {p.name: str(p.number.value) for p in each.source.pieces if p.number}
            for name, value in (inserted | defined_names(str(each.text))).items():
                values.setdefault(name, {})[value] = None
    found = {name: ",".join(of) for name, of in values.items() if len(of) > 1 and all(map(str.isdigit, of))}
    texts = dict.fromkeys(found.values())
    return tuple(
        f"{next((n for n in found if found[n] == text and n in settable), '')}={text}" for text in texts
    )


def _only_kernel(kernel: Kernel) -> str:
    """Return the kernel of a text of which the program wants another one, which the text certainly lacks.

    Empty if the text may have it.
    """
    text, found = str(kernel.module.source), kernels_in(str(kernel.module.source))
    is_plain = re.fullmatch(r"[A-Za-z]\w*", kernel.name) and not re.search(
        r"##|^[ \t]*#[ \t]*include[ \t]*\"", text, re.M
    )
    is_lacking = is_plain and not re.search(rf"\b{kernel.name}\b", without_comments(text))
    return next(iter(found)) if is_lacking and len(found) == 1 else ""


def _has_kernels(module: Module) -> bool:
    return bool(kernels_in(str(module.source)))
