"""Read a Python program that contains CUDA kernels as text, such as one for PyCUDA or CuPy, as CUDA source.

The source has the text of the kernels, and for each launch a C++ function that launches the kernel in the
same way. Each line has the number that it has in the program. Nothing of the program is executed or imported.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cudamm.errors import UsageError
from cudamm.source.c_text import function_of, kernels_in
from cudamm.source.host_values import HostArray, Kernel, Module, Unknown, Value, cpp_name
from cudamm.source.input_file import read_input
from cudamm.source.python_evaluation import Evaluation, Scope
from cudamm.source.python_names import ProgramTree, last_name
from cudamm.source.python_text import (
    HostNumber,
    KernelText,
    constants_in,
    defined_names,
    defined_numbers,
    placed,
    plain,
)

MOST_LAUNCHES = 40
"""Number of launches that are translated."""

MOST_ELEMENTS = 8
"""Number of elements of a list of kernels whose launches are translated."""

LARGEST_KERNEL_FILE = 1 << 20

_PREPARED = {"prepared_call": 2, "prepared_timed_call": 2, "prepared_async_call": 3}
"""The methods that launch a prepared kernel, with the number of arguments before the kernel's own."""

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


@dataclass(frozen=True)
class _Launch:
    """A launch, as C++."""

    kernel: Kernel
    line: int
    code: str


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

    def __init__(
        self, program: str, path: Path, tree: ast.Module, is_python_2: bool, element: int = 0
    ) -> None:
        self.path = path
        self._given = program, path, tree, is_python_2
        self.tree = ProgramTree(tree, element)
        self.evaluation = Evaluation(self.tree, program, self._file_text, is_python_2)

    def source(self, entry: str) -> str:
        """Return the whole program as CUDA source."""
        modules = self._modules()
        launches = list(self._launches())
        for launch in launches:  # of modules that a function of the program makes
            modules.setdefault(str(launch.kernel.module.text), launch.kernel.module)
        chosen = self._chosen([module for module in modules.values() if _has_kernels(module)], entry)
        texts = [module.text for module in chosen if isinstance(module.text, KernelText)]
        constants = constants_in(texts)
        linked = {number.text: name for name, number in constants.items()} | defined_numbers(texts)
        defined = {name: text for each in texts for name, text in defined_names(str(each)).items()}
        placement = placed(
            [(text, constants if n == 0 else {}) for n, text in enumerate(texts)], self.path.name
        )
        left = {name for text in texts for name in kernels_in(str(text))}
        for element in range(MOST_ELEMENTS):  # of a list of kernels that the program launches in a loop
            program = _Program(*self._given, element) if element else self
            found = program._launches() if element else launches
            found = [launch for launch in found if function_of(launch.kernel.name) in left]
            for launch in found:
                placement.add(f"{program._function(launch, linked, defined)}\n", launch.line, "")
            left -= {function_of(launch.kernel.name) for launch in found}
            if not left or (element and not found) or not self.tree.has_loops:
                break
        return placement.source()

    # The texts

    def _modules(self) -> dict[str, Module]:
        """Return the modules of the program by their texts.

        Raises:
            UsageError: there are none, or none whose text is known.
        """
        found: dict[str, Module] = {}
        unknown: list[Module] = []
        for node, scope in self._calls_in_scopes():
            value = self.evaluation.value(node, scope)
            module = value.module if isinstance(value, Kernel) else value
            if isinstance(module, Module) and module.node is node:
                if isinstance(module.text, KernelText):
                    found.setdefault(str(module.text), module)
                else:
                    unknown.append(module)
        if any(map(_has_kernels, found.values())):
            return found
        found |= self._texts_of_kernels()
        if not found and unknown:
            why = self._why_unknown(unknown[0])
            raise UsageError(
                f"{self.path}:{unknown[0].node.lineno}: the text of the kernel is not known without running "
                f"the program{why}: have the program print the text, and put it into a .cu file"
            )
        if not any(map(_has_kernels, found.values())):
            self._refuse()
        return found

    def _why_unknown(self, module: Module) -> str:
        value = module.text
        return f" ({value.what})" if isinstance(value, Unknown) and value.what else ""

    def _texts_of_kernels(self) -> dict[str, Module]:
        """Return the texts with kernels that the program gives to variables or to functions."""
        found: dict[str, Module] = {}
        for node in ast.walk(self.tree.tree):
            expressions: list[ast.expr] = []
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return) and node.value:
                expressions = [node.value]
            elif isinstance(node, ast.Call):
                expressions = [*node.args, *(each.value for each in node.keywords)]
            for expression in expressions:
                text = self.evaluation.value(expression, self._first_scope(expression))
                if isinstance(text, KernelText) and "__global__" in str(text):
                    call = ast.Call(func=expression, args=[], keywords=[], lineno=expression.lineno)
                    found.setdefault(str(text), Module(call, text))
        whole = [text for text in found if not any(text != other and text in other for other in found)]
        return {text: found[text] for text in whole}

    def _first_scope(self, node: ast.AST) -> Scope:
        return self.evaluation.scopes_of(self.tree.scope_of(node))[0]

    def _calls_in_scopes(self) -> Iterator[tuple[ast.Call, Scope]]:
        for calls in list(self.tree.calls.values()):
            for node in calls:
                for scope in self.evaluation.scopes_of(self.tree.scope_of(node)):
                    yield node, scope

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
        return plain(text, 1, name)

    def _chosen(self, modules: Sequence[Module], entry: str) -> list[Module]:
        """Return the modules that can be one source: those with the chosen kernel, or all.

        Raises:
            UsageError: several modules define the same names, and no kernel is chosen.
        """
        if entry:
            with_entry = [module for module in modules if entry in kernels_in(str(module.text))]
            if len(with_entry) > 1:
                lines = " and ".join(str(module.node.lineno) for module in with_entry)
                raise UsageError(
                    f"{self.path}: lines {lines} compile different texts with a kernel {entry}: put the one "
                    "to look at into a .cu file"
                )
            return with_entry or list(modules)
        seen: dict[str, str] = {}
        for module in modules:
            text = str(module.text)
            own = defined_names(text) | dict.fromkeys(kernels_in(text), f"{module.node.lineno}")
            own |= {name: str(number.value) for name, number in constants_in([_text(module)]).items()}
            clash = next((name for name, value in own.items() if seen.get(name, value) != value), None)
            if clash:
                kernels = sorted({name for each in modules for name in kernels_in(str(each.text))})
                cure = f"choose a kernel with --entry ({', '.join(kernels)})"
                if len(kernels) == 1:
                    cure = "put the one to look at into a .cu file"
                raise UsageError(f"{self.path} compiles several texts that each define {clash}: {cure}")
            seen |= own
        return list(modules)

    def _refuse(self) -> None:
        """Raise UsageError with the kind of kernels that the program has instead of text."""
        for node in ast.walk(self.tree.tree):
            for decorator in getattr(node, "decorator_list", ()):
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                full = self._full_name(called)
                for pattern, library in _DECORATED:
                    if re.search(pattern, full):
                        where = f"{self.path}:{getattr(node, 'lineno', 0)}"
                        kernel = getattr(node, "name", "this")
                        raise UsageError(
                            f"{where}: {kernel} is a kernel in Python, for {library}; {_IN_CUDA}"
                        )
        for name in _OTHER_KERNELS:
            for call in self.tree.calls.get(name, ()):
                what = f"the text of an {name} is an expression for one element"
                raise UsageError(f"{self.path}:{call.lineno}: {what}, not a kernel; {_IN_CUDA}")
        for call in self.tree.calls.get("load", ()):
            for part in ast.walk(call):
                if isinstance(part, ast.Constant) and str(part.value).endswith(".cu"):
                    raise UsageError(f"{self.path} compiles {part.value!s}: give cudamm that file")
        raise UsageError(
            f"{self.path} contains no CUDA kernel as text (SourceModule, RawKernel, RawModule, load_inline): "
            "name the .py or .cu file with the kernel"
        )

    def _full_name(self, node: ast.expr) -> str:
        """Return `cuda.jit` for a decorator, and `triton.jit` for a `jit` that is imported from there."""
        modules = [each for each in ast.walk(self.tree.tree) if isinstance(each, ast.ImportFrom)]
        for each in modules if isinstance(node, ast.Name) else ():
            if ast.unparse(node) in (alias.asname or alias.name for alias in each.names):
                return f"{each.module}.{self.tree.imported[ast.unparse(node)]}"
        return ast.unparse(node)

    # The launches

    def _launches(self) -> Iterator[_Launch]:
        """Yield the launches of the program, in order."""
        found: dict[tuple[str, str, int], _Launch] = {}
        for node, scope in self._calls_in_scopes():
            if len(found) >= MOST_LAUNCHES:
                break
            launch = self._launch(node, scope)
            if launch:
                found.setdefault((str(launch.kernel.module.text), launch.code, launch.line), launch)
        yield from sorted(found.values(), key=lambda launch: launch.line)

    def _launch(self, node: ast.Call, scope: Scope) -> _Launch | None:
        """Return the launch that a call is; None for other calls."""
        keywords = {each.arg or "": each.value for each in node.keywords}
        name = last_name(node.func)
        method = name if name in _PREPARED and isinstance(node.func, ast.Attribute) else ""
        is_of_pycuda = "block" in keywords and "args" not in keywords
        if not (method or "block" in keywords or len(node.args) in (2, 3)):
            return None
        kernel = self.evaluation.value(node.func.value if method else node.func, scope)  # type: ignore[attr-defined]
        if not isinstance(kernel, Kernel) or not isinstance(kernel.module.text, KernelText):
            return None
        given: Sequence[ast.expr] = node.args
        arguments: list[Value] | None
        if method:
            block_of_prepare = self._prepared_block(node.func.value, scope)  # type: ignore[attr-defined]
            grid = given[0] if given else None
            block = block_of_prepare or (given[1] if len(given) > 1 else None)
            arguments = self._values(given[_PREPARED[method] - bool(block_of_prepare) :], scope)
            shared = keywords.get("shared_size")
        elif is_of_pycuda:
            grid, block, shared = keywords.get("grid"), keywords["block"], keywords.get("shared")
            arguments = self._values(given, scope)
        else:
            parts = dict(zip(("grid", "block", "args", "shared_mem"), given, strict=False)) | keywords
            grid, block, shared = parts.get("grid"), parts.get("block"), parts.get("shared_mem")
            passed = parts.get("args")
            value = self.evaluation.value(passed, scope) if passed else ()
            arguments = list(value) if isinstance(value, tuple) else None
        if arguments is None:
            return None
        configuration = [self._extents(grid, scope, "grid"), self._extents(block, scope, "block")]
        if shared:
            number = self.evaluation.number(self.evaluation.value(shared, scope))
            configuration.append(number.text if number else "shared_bytes")
        texts = ", ".join(map(self._argument, arguments))
        launched = f"{kernel.name}<<<{', '.join(configuration)}>>>({texts});"
        code = " ".join([*self._conditions(scope), *self._allocations(arguments, node, scope), launched])
        return _Launch(kernel, node.lineno, code)

    def _prepared_block(self, function: ast.expr, scope: Scope) -> ast.expr | None:
        """Return the block that `prepare` gets, as in programs for old versions of PyCUDA."""
        for call in self.tree.calls.get("prepare", ()):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(function):
                return next((each.value for each in call.keywords if each.arg == "block"), None)
        return None

    def _values(self, nodes: Iterable[ast.expr], scope: Scope) -> list[Value] | None:
        """Return the values of arguments, of which `*args` may be several; None if these are not known."""
        found: list[Value] = []
        for node in nodes:
            value = self.evaluation.value(node.value if isinstance(node, ast.Starred) else node, scope)
            if isinstance(node, ast.Starred):
                if not isinstance(value, tuple):
                    return None
                found += value
            else:
                found.append(value)
        return found

    def _extents(self, node: ast.expr | None, scope: Scope, what: str) -> str:
        """Return C++ for a grid or a block; a variable of an unknown value for one that is not known."""
        if node is None:
            return "dim3(1)"
        value = self.evaluation.value(node, scope)
        if isinstance(value, tuple):
            numbers = [self.evaluation.number(each) for each in value]
            texts = [_whole(number) for number in numbers if number]
            if texts and len(texts) == len(numbers):
                return f"dim3({', '.join(texts)})"
        number = self.evaluation.number(value) if isinstance(value, HostNumber) else None
        return f"dim3({_whole(number)})" if number else what

    def _argument(self, value: Value) -> str:
        match value:
            case HostNumber(text=text):
                return text
            case HostArray(name=name) if name:
                return name
            case Unknown(name=name) if name:
                number = self.evaluation.number(value)
                return number.text if number else name
            case Unknown():
                return cpp_name(value.what)[:40]
        return "argument"

    def _allocations(self, arguments: Sequence[Value], node: ast.Call, scope: Scope) -> Iterator[str]:
        """Yield C++ that allocates the arrays that a launch gets, and that fills those that are zero."""
        for array in arguments:
            if not isinstance(array, HostArray) or not array.name:
                continue
            yield f"float *{array.name};"
            size = array.size_bytes.text if array.size_bytes else ""
            if array.shape:
                size = " * ".join((*(number.text for number in array.shape), "sizeof(float)"))
            if size:
                yield f"cudaMalloc(&{array.name}, {size});"
            if array.is_zero or self._is_cleared(array.name, node, scope):
                yield f"cudaMemset({array.name}, 0, {size or 1});"

    def _is_cleared(self, name: str, before: ast.Call, scope: Scope) -> bool:
        """Return whether the program copies zeros to an array, or sets it to zero, before a launch."""
        for called in ("memcpy_htod", "memcpy_htod_async", "memset_d8", "memset_d16", "memset_d32", "fill"):
            for call in self.tree.calls.get(called, ()):
                arguments = list(call.args)
                if called == "fill" and isinstance(call.func, ast.Attribute):
                    arguments.insert(0, call.func.value)
                is_here = len(arguments) > 1 and ast.unparse(arguments[0]) == name
                if not is_here or self.tree.scope_of(call) is not scope.node or call.lineno > before.lineno:
                    continue
                value = self.evaluation.value(arguments[1], scope)
                if isinstance(value, HostArray) and value.is_zero:
                    return True
                if isinstance(value, HostNumber) and value.value == 0:
                    return True
        return False

    def _conditions(self, scope: Scope) -> Iterator[str]:
        """Yield C++ for what the program asserts of its numbers."""
        own = scope.node.body if isinstance(scope.node.body, list) else []
        for node in dict.fromkeys([*own, *self.tree.tree.body]):
            ends = isinstance(node, ast.If) and any(isinstance(part, ast.Raise) for part in node.body)
            if not isinstance(node, ast.Assert | ast.If) or (isinstance(node, ast.If) and not ends):
                continue
            inner = scope if node in own else self.evaluation.module
            value = self.evaluation.value(node.test, inner)
            if isinstance(value, HostNumber) and "%" in value.text:
                yield (
                    f"assert({value.text});"
                    if isinstance(node, ast.Assert)
                    else f"if ({value.text}) exit(1);"
                )

    def _function(self, launch: _Launch, linked: dict[str, str], defined: dict[str, str]) -> str:
        """Return the C++ function with a launch, and with the variables that it needs.

        Args:
            linked: constants of the texts that a variable gives its value to, by variable.
            defined: the macros and constants of the texts.
        """
        variables = self.evaluation.variables
        unread, needed, unknown = [launch.code], set[str](), dict[str, str]()
        while unread:
            for name in re.findall(r"[A-Za-z_]\w*", unread.pop()):
                if name in variables.values and name not in needed:
                    needed.add(name)
                    unread.append(variables.values[name].text)
                elif name in variables.unknown:
                    unknown[name] = "int"
        configuration = launch.code.partition("<<<")[2].partition(">>>")[0]
        unknown |= dict.fromkeys(re.findall(r"\b(?:grid|block)\b", configuration), "dim3")
        declared = []
        for name, number in variables.values.items():
            is_defined = linked.get(name) == name or str(number.value) == defined.get(name, "").strip("()")
            if name in needed and not is_defined:
                text = linked.get(name, number.text)
                if text.startswith("(argc"):  # the reader of C++ expects a choice of the user like this
                    text = text[1:-1]
                declared.append(f"{'int' if number.is_whole else 'double'} {name} = {text};")
        parameters = ", ".join(f"{kind} {name}" for name, kind in unknown.items())
        return f"void launch_from_python({parameters}) {{ {' '.join(declared)} {launch.code} }}"


def _text(module: Module) -> KernelText:
    return module.text if isinstance(module.text, KernelText) else plain("")


def _has_kernels(module: Module) -> bool:
    return isinstance(module.text, KernelText) and bool(kernels_in(str(module.text)))


def _whole(number: HostNumber) -> str:
    return number.text if number.is_whole else f"(int)({number.text})"
