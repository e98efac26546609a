"""Read the types of a kernel's parameters and constants from C source."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cudamm.errors import UsageError
from cudamm.kernels.method import ELEMENT_TYPES, ElementType
from cudamm.source.c_text import closing_angle, closing_bracket, function_of, without_comments
from cudamm.source.expression import split_at_commas
from cudamm.source.struct_members import Member, Struct, find_struct

_FORMATS = {
    "bool": "?", "char": "b", "short": "h", "int": "i", "long": "l", "long long": "q",
    "float": "f", "double": "d", "half": "e", "__half": "e", "nv_bfloat16": "E", "__nv_bfloat16": "E",
    "int8_t": "b", "int16_t": "h", "int32_t": "i", "int64_t": "q", "ptrdiff_t": "q", "ssize_t": "q",
    "uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q", "size_t": "Q",
    "uchar": "B", "ushort": "H", "uint": "I", "ulong": "L",
}  # fmt: skip
"""C types with their letters in the struct module; `unsigned` makes a letter upper case.

The struct module has no bfloat16, whose letter here is `E`.
"""

REAL_LETTERS = "efdE"
"""Letters of the real numbers."""

TENSOR_MAP_LETTER = "T"
"""Letter of a tensor map passed by value; the struct module has none."""

TENSOR_MAP_POINTER_LETTER = "t"
"""Letter of a pointer to a tensor map in device memory."""

LONGEST_HEAD = 4000
"""Number of characters before a function's parameters in which its qualifiers have to occur."""

MOST_NAMES = 8
"""Number of names that are followed from a type to the type that it means."""

_STORAGE = r"\b(static|extern|inline|__constant__|__device__)\b"
_QUALIFIERS = r"\b(const|volatile|__restrict__|__restrict|__grid_constant__|register|struct|std::)"


@dataclass(frozen=True)
class _Declared:
    """The type in a declaration of a parameter or of a struct's member.

    Attributes:
        text: the declaration.
        words: the type without qualifiers; of a pointer, the type that it points to. The last word may be
            the declared name.
        pointers: number of times that it is a pointer; an array counts as a pointer to its elements.
    """

    text: str
    words: list[str]
    pointers: int


@dataclass(frozen=True)
class _Types:
    """What a file says about types.

    Attributes:
        code: the file, without comments.
        named: the words that each name stands for.
    """

    code: str
    named: Mapping[str, list[str]]

    def resolved(self, words: list[str]) -> list[str]:
        """Return the words that a type's own name stands for."""
        for _ in range(MOST_NAMES):
            words = self.named.get(" ".join(words), words)
        return words

    def struct(self, words: list[str]) -> tuple[Struct, _Types] | None:
        """Return a struct, and the types in it; None if the words name none that the file defines."""
        name, bracket, arguments = "".join(self.resolved(words)).rpartition("::")[2].partition("<")
        found = find_struct(self.code, name) if name.isidentifier() else None
        if found is None:
            return None
        given = split_at_commas(arguments.removesuffix(">"), brackets="([{<") if bracket else []
        values = {
            parameter: self.resolved(value.split())
            for parameter, value in zip(found.parameters, given, strict=False)
        }
        types = _Types(self.code, {**self.named, **values})
        members = tuple(part for member in found.members for part in types.parts(member))
        return dataclasses.replace(found, members=members), types

    def parts(self, member: Member) -> tuple[Member, ...]:
        """Return the members of a member that is a struct of numbers of one type; else the member itself.

        Numbers of one type have no padding between or behind them.
        """
        declared = _declared(member.declared)
        inner = None if declared.pointers else find_struct(self.code, "".join(_type_words(declared, self)))
        if inner is None or inner.unknown or not inner.members:
            return (member,)
        types = {" ".join(_declared(part.declared).words[:-1]) for part in inner.members}
        is_plain = len(types) == 1 and types <= _FORMATS.keys()
        names = tuple(Member(f"{member.name}.{part.name}", part.declared) for part in inner.members)
        return names if is_plain else (member,)


def parameter_formats(source: str, entry: str, element: ElementType) -> str:
    """Return one struct letter for each parameter of the kernel `entry`, with `P` for pointers: `iiiPPP`.

    A struct passed by value is the letters of its members in braces: `{iiP}`. The letter for
    `const __grid_constant__ CUtensorMap`, a tensor map passed by value, is `T`, and the letter for
    `const CUtensorMap *` is `t`.

    Raises:
        UsageError: the parameter list is not found, or contains a type that no argument can have.
    """
    code = without_comments(source)
    types = _Types(code, _named_types(code) | _template_types(code, entry))
    return "".join(_format(types, text, entry, element) for text in parameters_of(code, entry))


def each_format(formats: str) -> list[str]:
    """Split the formats of all parameters into those of each: `iP{iiP}` into `i`, `P` and `{iiP}`."""
    return re.findall(r"\{[^}]*\}|.", formats)


def member_names(source: str, entry: str, position: int) -> list[str]:
    """Return the names of the members of the struct that is the kernel's parameter at a position."""
    code = without_comments(source)
    types = _Types(code, _named_types(code) | _template_types(code, entry))
    found = types.struct(_type_words(_declared(parameters_of(code, entry)[position]), types))
    return [member.name for member in found[0].members] if found else []


def pointed_format(source: str, entry: str, position: int, element: ElementType) -> str:
    """Return the letter of the numbers to which a kernel's parameter points; empty if it points to none."""
    code = without_comments(source)
    types = _Types(code, _named_types(code) | _template_types(code, entry))
    return _resolve(types.named, _type_words(_declared(parameters_of(code, entry)[position]), types), element)


def launch_bound(source: str, entry: str) -> int | None:
    """Return the threads that a kernel's `__launch_bounds__` allows in a block; None if it has none."""
    code = without_comments(source)
    head = _head_before(code, _place_of_parameters(code, entry))
    found = re.search(r"__launch_bounds__\s*\(", head)
    if found is None:
        return None
    most, *_ = split_at_commas(head[found.end() : closing_bracket(head, found.end()) - 1])
    given = {
        name: int(words[0]) for name, words in _template_types(code, entry).items() if words[0].isdecimal()
    }
    from cudamm.source.c_numbers import number_in  # loads the parser of C++

    return number_in(code, most, given)


def matrix_types(source: str, entry: str, arguments: Sequence[str]) -> list[str]:
    """Return the C types of the elements of A, B and C, without repetitions.

    A type that the file names otherwise is replaced by its own name: `real` by `double`. Several elements at
    once, as in `float4 *` and `half2 *`, count as their element.

    Args:
        arguments: the arguments of the kernel `entry`, of which some are A, B and C.
    """
    code = without_comments(source)
    types = _Types(code, _named_types(code) | _template_types(code, entry))
    found: list[str] = []
    for text, argument in zip(parameters_of(code, entry), arguments, strict=False):
        if argument.startswith("{"):
            struct = types.struct(_type_words(_declared(text), types))
            values = split_at_commas(argument.strip("{} "))
            if struct is not None:
                members = [member.declared for member in struct[0].members]
                found += [_pointed(struct[1], m) for m, v in zip(members, values, strict=False) if v in "ABC"]
        elif argument in ("A", "B", "C"):
            found.append(_pointed(types, text))
    return list(dict.fromkeys(filter(None, found)))


def _pointed(types: _Types, text: str) -> str:
    """Return the C type of the elements to which a declaration points; empty if it points to none."""
    declared = _declared(text)
    if declared.pointers != 1:
        return ""
    name = " ".join(types.resolved(_type_words(declared, types)))
    vector = re.fullmatch(r"(u?(?:char|short|int|long|longlong)|float|double)[1-4]", name)
    name = vector[1].replace("longlong", "long long") if vector else name
    name = re.sub(r"^((?:__)?half|(?:__)?nv_bfloat16)2$", r"\1", name)
    known = {"f": "float", "d": "double", "i": "int", TENSOR_MAP_LETTER: ""}
    return known.get(_resolve(types.named, name.split(), None), name)


def is_number(c_type: str) -> bool:
    """Return whether a C type is that of a number."""
    return bool(_resolve({}, c_type.split(), None))


def _declared(text: str) -> _Declared:
    """Return the type in a declaration such as `const float *A`, `float (*A)[N]` or `double A[][64]`."""
    plain = re.sub(rf"=.*|{_QUALIFIERS}", " ", text)
    array = re.match(r"([^(\[]*)\(\s*\*[^()]*\)\s*\[", plain)
    if array:  # a pointer to rows
        return _Declared(text, array[1].split(), 1 + array[1].count("*"))
    base, bracket, _ = plain.partition("[")
    words = base.replace("*", " * ").replace("&", " & ").split()
    pointed = words[: words.index("*")] if "*" in words else words
    return _Declared(text, pointed, words.count("*") + bool(bracket))


def _type_words(declared: _Declared, types: _Types) -> list[str]:
    """Return the words of a type, without the declared name if it is among them."""
    if "*" in declared.text.partition("[")[0]:
        return declared.words
    unnamed = declared.words[:-1]
    any_element = next(iter(ELEMENT_TYPES.values()))  # which one does not matter to whether it is a type
    if _resolve(types.named, unnamed, any_element) or not _resolve(types.named, declared.words, any_element):
        return unnamed or declared.words
    return declared.words


def _format(types: _Types, text: str, entry: str, element: ElementType, *, in_struct: bool = False) -> str:
    """Return the letter of a parameter, or the letters of a struct's members in braces."""
    declared = _declared(text)
    what = f"its member “{text}”" if in_struct else f"its parameter “{text}”"
    if declared.pointers > 1:
        raise UsageError(
            f"{entry}: {what} is a pointer to pointers, and cudamm passes each matrix as one block of "
            "memory: declare it as a pointer to elements"
        )
    if "&" in text.partition("=")[0]:
        raise UsageError(f"{entry}: {what} is a reference, and a kernel has to take it by value")
    words = _type_words(declared, types)
    letter = _resolve(types.named, words, element)
    may_be_struct = not letter and not in_struct
    if declared.pointers:
        is_map = letter == TENSOR_MAP_LETTER and not in_struct
        letter = TENSOR_MAP_POINTER_LETTER if is_map else ""
    found = types.struct(words) if may_be_struct else None
    if declared.pointers and found and any(_declared(m.declared).pointers for m in found[0].members):
        raise UsageError(
            f"{entry}: {what} points to a struct with pointers, which cudamm cannot place in device memory: "
            "take the struct by value"
        )
    if declared.pointers:
        return letter or "P"
    if found:
        return f"{{{_member_formats(*found, entry, what, element)}}}"
    if not letter:
        kinds = "members are numbers and pointers" if in_struct else (
            "parameters are numbers, pointers, structs of these, and tensor maps"
        )  # fmt: skip
        raise UsageError(f"{entry}: no argument can be passed for {what}; {kinds}")
    return letter


def _member_formats(struct: Struct, types: _Types, entry: str, what: str, element: ElementType) -> str:
    """Return the letters of a struct's members. Raise UsageError if one cannot be passed."""
    if struct.unknown or not struct.members:
        raise UsageError(
            f"{entry}: the struct of {what} contains “{struct.unknown or 'nothing'}”; cudamm passes structs "
            "whose members are numbers and pointers"
        )
    return "".join(_format(types, m.declared, entry, element, in_struct=True) for m in struct.members)


def constant_format(code: str, name: str, element: ElementType) -> tuple[str, str]:
    """Return the struct letter of a symbol in constant memory, and its declaration without qualifiers.

    A symbol that the code does not declare, because an included file does, counts as an int.

    Args:
        code: C source without comments.

    Raises:
        UsageError: the symbol is not one whole number.
    """
    statements = re.split("[;{}]", re.sub(r"^[ \t]*#.*$", "", code, flags=re.MULTILINE))
    for statement in statements:
        words = re.findall(r"\w+", statement)
        if "__constant__" not in words or name not in words:
            continue
        plain = re.sub(rf"=[^,]*|\b(alignas|__align__)\s*\([^)]*\)|{_STORAGE}|{_QUALIFIERS}", " ", statement)
        first, *others = split_at_commas(plain)
        c_type = first.split()[:-1]
        declared = next((part for part in (first, *others) if name in re.findall(r"\w+", part)), "")
        if declared:
            is_simple = re.fullmatch(r"[\w\s]+", declared)
            letter = _resolve(_named_types(code), c_type, element) if is_simple else ""
            if letter in ("", TENSOR_MAP_LETTER, *REAL_LETTERS):
                raise UsageError(
                    f"“constant: {name}” cannot be set: it has to be one whole number, and is declared as "
                    f"“{' '.join(statement.split())}”"
                )
            return letter, " ".join((*c_type, name))
    return "i", f"int {name}"


def _resolve(
    types: Mapping[str, list[str]], words: list[str], element: ElementType | None, depth: int = 0
) -> str:
    """Return the letter of a type; empty if it is none that an argument can have.

    Args:
        element: the type that `element` means; None if it is not chosen yet.
    """
    signs = {"signed", "unsigned"}
    base = " ".join(word for word in words if word not in signs)
    if base != "int":
        base = " ".join(word for word in base.split() if word != "int")
    if base == "element" and element is not None:
        return _resolve(types, element.c_name.split(), None)
    if base == "result" and element is not None and element.result:
        return _resolve(types, element.of_results.c_name.split(), None)
    base = base or ("int" if words else "")
    if base == "CUtensorMap":
        return TENSOR_MAP_LETTER
    if base in _FORMATS:
        letter = _FORMATS[base]
        return letter.upper() if "unsigned" in words else letter
    return _resolve(types, types[base], element, depth + 1) if base in types and depth < MOST_NAMES else ""


def _named_types(code: str) -> dict[str, list[str]]:
    """Return the words of each type that a file names with `typedef`, `using` or `#define`.

    The first definition of a name counts, and a `typedef` before the other two.
    """
    typedefs: dict[str, list[str]] = {}
    aliases: dict[str, list[str]] = {}
    macros: dict[str, list[str]] = {}
    for statement in re.split("[;{}]", code):
        if "typedef" not in statement and "using" not in statement:
            continue
        words = re.sub(_QUALIFIERS, " ", statement.replace("=", " = ")).split()
        for keyword, *rest in (words[i:] for i in _last_places(words)):
            if keyword == "typedef" and len(rest) > 1:
                typedefs.setdefault(rest[-1], rest[:-1])
            elif keyword == "using" and rest[1:2] == ["="]:
                aliases.setdefault(rest[0], rest[2:])
    for line in code.splitlines():
        if line.lstrip(" \t").startswith("#"):
            directive, *rest = line.replace("#", "", 1).split() or [""]
            if directive == "define" and rest:
                macros.setdefault(rest[0], re.sub(_QUALIFIERS, " ", " ".join(rest[1:])).split())
    return macros | aliases | typedefs


def _last_places(words: list[str]) -> list[int]:
    """Return the last position of `typedef` and of `using`, without those that do not occur."""
    last = {word: position for position, word in enumerate(words) if word in ("typedef", "using")}
    return list(last.values())


def _template_types(code: str, entry: str) -> dict[str, list[str]]:
    """Return the words of each template argument, given or a default: `float` for the T of k<float>."""
    start = _place_of_parameters(code, entry)
    _, _, head = _head_before(code, start).partition("template")
    given = [text for text in split_at_commas(_in_angle_brackets(entry), brackets="([{<") if text]
    types: dict[str, list[str]] = {}
    for number, parameter in enumerate(split_at_commas(_in_angle_brackets(head), brackets="([{<")):
        declared, _, default = parameter.partition("=")
        names = re.findall(r"\w+", declared)
        value = given[number] if number < len(given) else default
        if names and value.strip():
            types[names[-1]] = value.split()
    return types


@functools.lru_cache(maxsize=8)  # several functions ask for that of the same kernel
def _place_of_parameters(code: str, entry: str) -> int:
    """Return the place after the bracket with which the parameters of a function begin; 0 if there is none.

    Of several functions of that name, and of what looks like one, a kernel with a body comes first.
    """
    name = function_of(entry)
    # A pattern that begins with plain letters is found faster than one that begins with `\b`.
    places = [match.end() for match in re.finditer(rf"{name}(?<=\b{name})\s*\(", code)]
    heads = (_head_before(code, place, max(0, place - LONGEST_HEAD)) for place in places)
    kernels = [place for place, head in zip(places, heads, strict=True) if "__global__" in head]
    defined = (place for place in kernels if code[closing_bracket(code, place) :].lstrip().startswith("{"))
    return next(defined, (kernels or places or [0])[0])


def _head_before(code: str, place: int, begin: int = 0) -> str:
    """Return the text before a place, from the end of the previous statement or function.

    Args:
        begin: place at which the text begins at the earliest.
    """
    end_of_previous = max(code.rfind(";", begin, place), code.rfind("}", begin, place))
    return code[max(begin, end_of_previous + 1) : place]


def _in_angle_brackets(text: str) -> str:
    """Return the text between the first angle bracket and the one that closes it."""
    start = text.find("<") + 1
    return text[start : closing_angle(text, start) - 1] if start and closing_angle(text, start) else ""


def parameters_of(code: str, entry: str) -> list[str]:
    """Return the declarations of a function's parameters. Raise UsageError if the function is not found."""
    start = _place_of_parameters(code, entry)
    if not start:
        raise UsageError(f"no parameter list of {entry} was found")
    declared = code[start : closing_bracket(code, start) - 1].strip()
    return [] if declared in ("", "void") else split_at_commas(declared, brackets="([{<")


def parameter_names(code: str, entry: str) -> list[str]:
    """Return the names of a function's parameters. Raise UsageError if the function is not found."""
    declared = (parameter.partition("[")[0] for parameter in parameters_of(code, entry))  # `float (*A)[K]`
    return [re.findall(r"\w+", each)[-1] for each in declared]
