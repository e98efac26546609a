"""Separate a kernel from the host code in the same file.

A program contains host code that no compiler for kernels needs: `main`, launches, calls of libraries, timers,
and the headers that these need. A kernel needs little: the declarations that it uses, those that they use,
and so on. `device_code` keeps these, and replaces the others by spaces, so that lines keep their numbers.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from cudamm.source.c_text import (
    ATTRIBUTE,
    DIRECTIVE,
    blanked,
    closing_angle,
    function_of,
    without_comments,
    without_comments_and_literals,
)

_ON_DEVICE = frozenset({"__global__", "__device__", "__constant__", "__shared__", "__managed__"})
_CONSTANT = frozenset({"const", "constexpr", "consteval"})
_TYPES = frozenset({"struct", "class", "union", "enum", "typedef", "concept"})
_NAMESPACES = frozenset({"std", "cuda", "nvcuda", "cooperative_groups"})
"""Namespaces of the headers that device code includes."""

_HEADERS = """
assert.h float.h inttypes.h limits.h math.h stdbool.h stddef.h stdint.h stdio.h string.h
algorithm array bit cassert cfloat cinttypes climits cmath concepts cstddef cstdint cstdio cstring functional
initializer_list limits numeric tuple type_traits utility
cuda.h cuda_bf16.h cuda_fp16.h cuda_fp8.h cuda_pipeline.h cuda_pipeline_primitives.h cuda_runtime.h
cuda_runtime_api.h cooperative_groups.h device_functions.h device_launch_parameters.h device_types.h
driver_types.h math_constants.h
math_functions.h mma.h vector_functions.h vector_types.h
"""
DEVICE_HEADERS = frozenset(_HEADERS.split())
"""Headers that stay in a file with host code; others, such as `iostream`, serve the host code."""

_DEVICE_FOLDERS = ("cuda/", "cooperative_groups/", "cub/", "cute/", "cutlass/")

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_LIBRARY = re.compile(
    r"cublas|cu(?:dnn|fft|rand|solver|sparse)|helper_|nccl|nvToolsExt|nvtx3/|thrust/|torch/"
)
"""Headers of libraries that only host code calls."""

_TORCH = re.compile(r"torch/|ATen/|c10/")
"""Headers of PyTorch, which bring its 16-bit types."""

_TORCH_TYPES = (
    (re.compile(r"\b(?:at|c10)\s*::\s*Half\b"), "half"),
    (re.compile(r"\b(?:at|c10)\s*::\s*BFloat16\b"), "__nv_bfloat16"),
    # The type of sums: `at::acc_type<scalar_t, true>` and `at::opmath_type<scalar_t>`.
    (
        re.compile(r"\bat\s*::\s*(?:acc_type|opmath_type)\s*<\s*(\w+)\s*(?:,\s*true\s*)?>"),
        r"std::conditional_t<sizeof(\1) == 2, float, \1>",
    ),
)
"""PyTorch's names of types, each with what they are for CUDA."""

_HOST_METHOD = re.compile(r"<<<|\bcuda[A-Z]\w*\s*\(|\bstd\s*::")
"""What a method of the host contains: a launch, a call of CUDA's functions, or a name of the C++ library."""

_ACCESS = re.compile(r"(?:\s*(?:public|private|protected)\s*:(?!:))*")

_SCOPE = re.compile(r"(?:^|[\s;}])(?:(?:inline\s+)?namespace\b([\w\s:]*)|extern\s*)$")
_ARGUMENTS = frozenset(
    {"bool", "char", "double", "float", "int", "long", "short", "unsigned", "void", "true", "false"}
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_FUNCTION = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^(){};]{0,1000}>)?\s*\(")
_VARIABLE = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^(){};=]{0,1000}>)?\s*(?=[=\[{,;]|$)")
_LAST_NAME = re.compile(r"([A-Za-z_]\w*)\s*(?=[,;]|$)")
"""Each name that `using first::name, second::name;` declares."""

LONGEST_HEAD = 4000
"""Number of characters of a declaration in which its names have to occur."""

LONGEST_SCOPE = 1000
"""Number of characters in the names of nested namespaces; namespaces inside them have no name here."""


@dataclass(frozen=True)
class _Declaration:
    """A declaration or a definition at the top of a file or of a namespace.

    Attributes:
        start, end: its place in the source; empty for a macro, which always stays.
        names: the names that it declares.
        uses: the names that occur in it.
        scope: the namespaces that it is in, as in `outer::inner::`.
        is_host_code: whether it is a function or a variable that device code cannot use.
        host_methods: the places of the methods of a class that device code cannot contain.
    """

    start: int
    end: int
    names: frozenset[str]
    uses: frozenset[str]
    scope: str = ""
    is_host_code: bool = False
    host_methods: tuple[tuple[int, int], ...] = ()


def compiled_code(source: str, entry: str) -> str:
    """Return what a compiler needs of a kernel's text: the text itself if it contains no host code.

    Args:
        source: C source with the kernel's own headers in it.
        entry: the kernel, which may have template arguments.
    """
    includes = list(_INCLUDE.finditer(without_comments(source)))
    calls_libraries = any(_LIBRARY.match(include[1]) for include in includes)
    if not calls_libraries and not any(d.is_host_code or d.host_methods for d in _declarations(source)):
        return source
    unneeded = [
        include.span()
        for include in includes
        if include[1] not in DEVICE_HEADERS and not include[1].startswith(_DEVICE_FOLDERS)
    ]
    code = _blanked_at(source, unneeded)
    of_torch = [include.span() for include in includes if _TORCH.match(include[1])]
    replaced = zip(of_torch, ("cuda_fp16.h", "cuda_bf16.h"), strict=False)
    for (start, end), header in reversed([*replaced]):
        code = f"{code[:start]}#include <{header}>{code[end:]}"
    for name, c_type in _TORCH_TYPES if of_torch else ():
        code = name.sub(c_type, code)
    return device_code(code, entry)


def qualified(source: str, entry: str) -> str:
    """Return `my::gemm<float>` for `gemm<float>` if C source defines a kernel `gemm` in a namespace `my`."""
    if "::" in entry.partition("<")[0]:
        return entry
    function = function_of(entry)
    scopes = (d.scope for d in _declarations(source) if function in d.names and "__global__" in d.uses)
    return next(scopes, "") + entry


def declared_names(source: str) -> frozenset[str]:
    """Return the macros that C source defines, and the names that it declares outside of functions."""
    return frozenset[str]().union(*(declaration.names for declaration in _declarations(source)))


def instantiations(source: str, function: str) -> tuple[list[str], list[str]] | None:
    """Return the template arguments that C source gives to a kernel; None if the kernel is no template.

    Returns:
        The arguments that have a meaning for the whole file, such as `TILE, float`; and the others, such as
        `T, size` inside of a function.
    """
    code = without_comments_and_literals(source)
    declarations = _declarations(source)
    declared = (
        code[d.start : d.end].split("<")[0].strip()
        for d in declarations
        if function in d.names and "__global__" in d.uses
    )
    if "template" not in declared:
        return None
    known = _ARGUMENTS.union(*(d.names for d in declarations if not d.is_host_code))
    lists: tuple[list[str], list[str]] = [], []
    arguments = rf"\b{function}\s*<(|[^<>;(){{}}][^;(){{}}]{{0,500}}?)>\s*(?:<<<|\()"
    found = (re.sub(r"\s*,\s*", ", ", " ".join(given.split())) for given in re.findall(arguments, code))
    for given in dict.fromkeys(found):
        lists[not known.issuperset(_WORD.findall(given))].append(given)
    return lists


def host_function_line(source: str, name: str) -> int:
    """Return the line at which C source defines a function of the host; 0 if it defines none of that name."""
    for declaration in _declarations(source):
        if (
            declaration.is_host_code
            and name in declaration.names
            and "(" in source[declaration.start : declaration.end]
        ):
            return source.count("\n", 0, declaration.start) + 1
    return 0


def device_code(source: str, entry: str) -> str:
    """Return C source without the declarations that a kernel does not need, line for line.

    Args:
        entry: the kernel, which may have template arguments.
    """
    declarations = _declarations(source)
    declaring: defaultdict[str, list[_Declaration]] = defaultdict(list)
    for declaration in declarations:
        if not declaration.is_host_code:
            for name in declaration.names:
                declaring[name].append(declaration)
    needed: set[_Declaration] = set()
    known, unread = set[str](), ["operator", *_WORD.findall(entry)]  # the use of an operator has no name
    while unread:
        name = unread.pop()
        if name not in known:
            known.add(name)
            for declaration in declaring.get(name, ()):
                if declaration not in needed:
                    needed.add(declaration)
                    unread += declaration.uses
    if not any("__global__" in d.uses and function_of(entry) in d.names for d in needed):
        return source  # it is written in a way that is not understood here
    places = ([(d.start, d.end)] if d not in needed else d.host_methods for d in declarations)
    left_out = _blanked_at(source, itertools.chain(*places))
    # An #if may begin before a declaration and end in it.
    parts, position = [], 0
    for directive in DIRECTIVE.finditer(without_comments_and_literals(source)):
        if "pragma" not in directive[0]:
            parts += [left_out[position : directive.start()], source[directive.start() : directive.end()]]
            position = directive.end()
    return "".join([*parts, left_out[position:]])


def _blanked_at(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Replace parts of a text by spaces."""
    parts, position = [], 0
    for start, end in places:
        if start < end:
            parts += [text[position:start], blanked(text[start:end])]
            position = end
    return "".join([*parts, text[position:]])


@dataclass(frozen=True)
class _Words:
    """Words with a meaning in a file.

    Attributes:
        on_device, constant: words that make a declaration usable on the device, macros included.
        namespaces: those that a `using namespace` may name.
    """

    on_device: frozenset[str]
    constant: frozenset[str]
    macros: frozenset[str]
    namespaces: frozenset[str]


@functools.lru_cache(maxsize=4)
def _declarations(source: str) -> list[_Declaration]:
    """Return the macros and the declarations of C source, each in its order."""
    code = without_comments_and_literals(source)
    directives = list(DIRECTIVE.finditer(code))
    macros = _macros(directives)
    words = _Words(
        on_device=_meaning(_ON_DEVICE, macros),
        constant=_meaning(_CONSTANT, macros),
        macros=frozenset(macros),
        namespaces=_NAMESPACES | frozenset(re.findall(r"\bnamespace\s+(\w+)\s*(?:::\s*\w+\s*)*\{", code)),
    )
    plain = DIRECTIVE.sub(_without_directive, code)
    found = [_Declaration(0, 0, frozenset([name]), uses) for name, uses in macros.items()]
    for start, end, scope in _places(plain, directives):
        declaration = _declaration(plain[start:end], start, scope, words)
        if declaration is not None:
            found.append(declaration)
    return found


def _without_directive(directive: re.Match[str]) -> str:
    """Return the directive as spaces, but for the number in `#pragma unroll TILE`: it may be a constant."""
    unroll = re.match(r"\s*#\s*pragma\s+unroll\b", directive[0])
    end = unroll.end() if unroll else len(directive[0])
    return blanked(directive[0][:end]) + directive[0][end:]


def _macros(directives: Sequence[re.Match[str]]) -> dict[str, frozenset[str]]:
    """Return the names that each macro uses, over all its definitions."""
    macros: defaultdict[str, set[str]] = defaultdict(set)
    for directive in directives:
        define = re.match(r"\s*#\s*define\s+([A-Za-z_]\w*)(.*)", directive[0], re.DOTALL)
        if define:
            macros[define[1]].update(_WORD.findall(define[2]))
    return {name: frozenset(uses) for name, uses in macros.items()}


def _meaning(words: Set[str], macros: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return words, and the macros that contain one of them, directly or through others."""
    users: defaultdict[str, list[str]] = defaultdict(list)
    for name, uses in macros.items():
        for used in uses:
            users[used].append(name)
    found, unread = set[str](), list(words)
    while unread:
        word = unread.pop()
        if word not in found:
            found.add(word)
            unread += users.get(word, ())
    return frozenset(found)


def _places(code: str, directives: Sequence[re.Match[str]]) -> Iterator[tuple[int, int, str]]:
    """Yield the beginning, the end and the scope of each declaration in C source.

    Args:
        code: the source with spaces in the place of comments and directives.
        directives: of the alternatives between `#if` and `#endif`, each begins in the same brackets.
    """
    events = [(match.start(), match[0]) for match in re.finditer(r"[{}()\[\];]", code)]
    events += [(directive.start(), "".join(directive[0][:20].split())[:3]) for directive in directives]
    start, depth, has_body, is_function = 0, 0, False, False
    depths: list[tuple[int, bool]] = []  # at each `#if` that is open, and whether it has an `#else`
    scopes = [""]
    for position, event in sorted(events):
        ends = False
        if event == "#if":
            depths.append((depth, False))
        elif event == "#el" and depths:
            depth = depths[-1][0]
            depths[-1] = depth, True
        elif event == "#en" and depths:
            outer, has_else = depths.pop()
            if not has_else and depth != outer:  # perhaps `#if 0`, with text that is no code
                depth, start, has_body = outer, position, False
        elif event in ("(", "[", "{"):
            if event == "{" and depth == 0 and not has_body:
                head = code[max(start, position - LONGEST_HEAD) : position]
                scope = _SCOPE.search(ATTRIBUTE.sub(" ", head))
                if scope:
                    name = "".join(f"{name}::" for name in _WORD.findall(scope[1] or ""))
                    scopes.append(scopes[-1] + name if len(scopes[-1]) < LONGEST_SCOPE else scopes[-1])
                    start = position + 1
                    continue
                has_body, is_function = True, _is_function(head)
            depth += 1
        elif event in (")", "]"):
            depth = max(0, depth - 1)
        elif event == "}":
            if depth == 0:  # the end of a namespace
                start, has_body = position + 1, False
                if len(scopes) > 1:
                    scopes.pop()
            depth = max(0, depth - 1)
            ends = depth == 0 and has_body and is_function
        elif event == ";":
            ends = depth == 0
        if ends:
            yield start, position + 1, scopes[-1]
            start, has_body = position + 1, False
    yield start, len(code), scopes[-1]


def _head(text: str) -> str:
    """Return a declaration up to its body, without attributes and template parameters."""
    head = ATTRIBUTE.sub(" ", text.lstrip()[:LONGEST_HEAD].partition("{")[0]).strip()
    while head.startswith("template"):
        head = head.removeprefix("template").lstrip()
        if head.startswith("<"):  # otherwise it is an explicit instantiation
            head = head[closing_angle(head, 1) :].lstrip()
    return head


def _is_function(text: str) -> bool:
    head = _head(text)
    bracket, equals = head.find("("), head.find("=")
    return bracket > 0 and ("operator" in head or not 0 <= equals < bracket)


def _declaration(text: str, start: int, scope: str, known: _Words) -> _Declaration | None:
    """Return what a text declares; None if it declares nothing, or has to stay.

    Args:
        start: place of the text in the source.
    """
    end = start + len(text)
    start += len(text) - len(text.lstrip())
    head = _head(text)
    words = _WORD.findall(head)
    uses = frozenset(_WORD.findall(text))
    if not words or (words[:2] == ["using", "namespace"] and not known.namespaces.isdisjoint(words[2:])):
        return None
    if words[0] == "using" and "=" not in head and words[1:2] != ["namespace"]:
        return _Declaration(start, end, frozenset(_LAST_NAME.findall(head)), uses, scope)
    if words[0] in ("using", "namespace", "static_assert"):
        names = words[1:2] if words[0] == "namespace" or "=" in head else words[1:]
        return _Declaration(start, end, frozenset(names), uses, scope)
    is_on_device = not known.on_device.isdisjoint(words)
    if _is_function(text):
        names = ["operator"] if "operator" in words else _FUNCTION.findall(_outside(head, "()"))
        names += words if words[0] in known.macros else []  # a macro may make a function of that name
        # A function that is only declared does no harm; an operator would, because it is always kept.
        is_host_code = (
            not is_on_device
            and (known.constant - {"const"}).isdisjoint(words)
            and ("{" in text or "operator" in words)
        )
        return _Declaration(start, end, frozenset(names) - _ARGUMENTS, uses, scope, is_host_code)
    if not _TYPES.isdisjoint(words[:4]):
        # A typedef names its type after the body; an enum names its values in it.
        _, bracket, rest = text.partition("{")
        names = [*words, *_WORD.findall(rest if "enum" in words else _outside(bracket + rest, "{}"))]
        methods = tuple(_host_methods(text, end - len(text), known))
        return _Declaration(start, end, frozenset(names) - _TYPES, uses, scope, host_methods=methods)
    is_host_code = not is_on_device and known.constant.isdisjoint(words)
    return _Declaration(start, end, frozenset(_VARIABLE.findall(head)), uses, scope, is_host_code)


def _host_methods(text: str, start: int, known: _Words) -> Iterator[tuple[int, int]]:
    """Yield the places of the methods in the text of a class that are for the host alone.

    Args:
        start: place of the text in the source.
    """
    bracket = text.find("{") + 1
    for first, last, _ in _places(text[bracket:], ()) if bracket and _HOST_METHOD.search(text) else ():
        first, last = bracket + first, bracket + last
        access = _ACCESS.match(text, first, last)
        first = access.end() if access else first
        method = text[first:last]
        usable = known.on_device | known.constant - {"const"}
        is_on_device = not usable.isdisjoint(_WORD.findall(_head(method)))
        if "{" in method and _is_function(method) and not is_on_device and _HOST_METHOD.search(method):
            yield start + first, start + last


def _outside(text: str, brackets: str) -> str:
    """Return a text without what is inside a pair of brackets."""
    depth, outside = 0, []
    for character in text:
        if depth == 0:
            outside.append(character)
        depth += (character == brackets[0]) - (character == brackets[1])
    return "".join(outside)
