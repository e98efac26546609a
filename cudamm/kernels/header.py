"""Reading a method from its file's header, the comment at the top of the file.

The first line of the comment is the summary. The next paragraph contains the fields, one `key: value` per
line; long values continue on indented lines. The rest of the comment is prose for readers. Options with the
fields' names override the header of a `--kernel` file, or replace a missing one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from cudamm.errors import UsageError
from cudamm.kernels.method import (
    ELEMENT_TYPES,
    EXACT_PRODUCTS,
    FULL_WIDTH,
    ONE_TYPE,
    SIZE_NAMES,
    Language,
    MatrixName,
    Method,
    Parameter,
)
from cudamm.kernels.parameter_types import is_number, matrix_types
from cudamm.kernels.sibling_constants import sibling_constants
from cudamm.source.c_text import function_of, kernels_in, with_values, without_comments
from cudamm.source.device_code import compiled_code, instantiations, qualified
from cudamm.source.expression import (
    SCRATCH,
    Expression,
    parse,
    parse_conditions,
    parse_list,
    split_at_commas,
)
from cudamm.source.included_files import folders_of, included_files, line_directive, with_own_headers
from cudamm.source.input_file import read_input
from cudamm.source.preprocessed import preprocessed
from cudamm.source.variables_as_parameters import sizes_without_value

if TYPE_CHECKING:
    from cudamm.kernels.launch_fields import FoundLaunch
    from cudamm.source.worked_out_launch import WorkedOutLaunch

KERNEL_FILES = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".cxx", ".c", ".py")
"""Endings of the names of kernel files; a .cpp file without `__global__` is a host function.

A user's .py file is a program that contains a CUDA kernel as text.
"""

_ONCE = (
    "sources",
    "aliases",
    "entry",
    "args",
    "threads",
    "grid",
    "shared-bytes",
    "traffic",
    "requires",
    "layout",
    "initial-c",
    "dependent-launch",
    "sizes",
    "needs",
    "ceiling",
    "ptxas",
    "types",
    "library",
    "sum-order",
)
_REPEATED = ("param", "constant")
TENSOR_MAP = "tensor_map("
"""The beginning of an argument that is a tensor map, such as `tensor_map(B, BK, BN)`."""
ARRAY_FILE = "file("
"""The beginning of an argument that is an array in a file, such as `file(order.npy)`."""
SCRATCH_BYTES = 8
"""Bytes of `scratch` for each element of the largest matrix, or for each thread if there are more threads."""
PADDED_COPY = "padded("
"""The beginning of an argument that is memory for a copy of a matrix, such as `padded(B)`."""
HOPPER = "sm_90"
"""The oldest architecture with tensor maps and dependent launches."""
_WGMMA = re.compile(r"\bwgmma\.\w")
"""An instruction that only sm_90a has, in inline PTX."""
LARGEST_FILE_BYTES = 1 << 20

MOST_FOREIGN = 3
"""A file of which more than one character in 3 is not UTF-8 is not text."""

STANDARD_INPUT = "-"
"""The name by which a user means standard input."""

STREAM = "/dev/stdin"


@dataclass(frozen=True)
class Overrides:
    """Header fields from the options `--entry`, `--args`, `--threads`, …

    Attributes:
        fields: values by the header's field names; and `include`, the folders of `-I`, from `folders_field`.
        parameters: parameters from `-D`.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    parameters: tuple[Parameter, ...] = ()


def read_method(path: Path, overrides: Overrides | None = None, *, builtin: bool = False) -> Method:
    """Read the method that the file at `path` declares.

    Raises:
        UsageError: the file is missing, empty, not text or not a kernel; or its header is wrong, or lacks a
            required field that `overrides` lacks too.
    """
    entry = overrides.fields.get("entry", "") if overrides else ""
    return parse_method(read_source(path, entry, builtin=builtin), path, overrides, builtin=builtin)


def names_in(path: Path) -> tuple[str, ...]:
    """Return the name and the aliases of one of cudamm's own methods; the comment at the top has them."""
    source = read_source(path, builtin=True)
    _, fields, _ = _parse_comment(path, source, _language(path, source, builtin=True))
    return (name_of(path), *_words(fields.get("aliases", "")))


def _place_of_launch(path: Path, launch: WorkedOutLaunch | None) -> tuple[str, int]:
    """Return the file and the line of a launch, or of what is wrong with it, as `Method.launched_at`."""
    return _file_and_line(path, (launch.conflict_place or launch.place) if launch and launch.line else "")


def _file_and_line(path: Path, place: str) -> tuple[str, int]:
    """Return the file and the line of `line 12` or `line 12 of mm.cuh`; an empty name for the own file."""
    found = re.fullmatch(r"line (\d+)(?: of (.+))?", place)
    if found is None:
        return "", 0
    return "" if found[2] in (None, path.name) else found[2], int(found[1])


def _keeps_shared_limit(path: Path, launch: WorkedOutLaunch | None, code: str) -> bool:
    """Return whether host code in C++ launches the kernel, and never raises the limit of shared memory."""
    is_read = launch is not None and launch.line > 0 and path.suffix != ".py"
    return is_read and re.search("MaxDynamicSharedMemorySize|MAX_DYNAMIC_SHARED", code) is None


def _conflict_of(launch: FoundLaunch | None) -> str:
    """Return `Method.type_conflict`; arguments that the user gives are not those that may be swapped."""
    found = launch.worked_out if launch else None
    if launch is None or found is None:
        return ""
    return found.type_conflict or (found.swapped if "args" in launch.fields else "")


def name_of(path: Path) -> str:
    """Return the name of the method in a file."""
    return re.sub(r"^\d+_", "", path.stem).replace("_", "-")


def parse_method(
    source: str, path: Path, overrides: Overrides | None = None, *, builtin: bool = False
) -> Method:
    """Return the method that a file's text declares.

    Args:
        path: of the file. A text that is in no file has a path too: it names the method and its messages.

    Raises:
        UsageError: as `read_method` does.
    """
    overrides = overrides or Overrides()
    if "\0" in source:
        from cudamm.kernels.misnamed_file import known_format

        known = f"; it is {found}" if (found := known_format(path)) else ": name a file with source code"
        raise UsageError(f"{path} is not text: it contains NUL bytes{known}")
    if re.search("[\ud800-\udfff]", source):
        raise UsageError(f"{path} is not text: it contains halves of surrogate pairs")
    if not source.strip():
        raise UsageError(f"{path} is empty: save the kernel in it first")
    language = _language(path, source, builtin=builtin)
    summary, fields, repeated = _parse_comment(path, source, language)
    if not builtin:
        _check_expressions(path, source, {k: text for k, text in fields.items() if k not in overrides.fields})
    own_requires, added_requires = fields.get("requires", ""), overrides.fields.get("requires", "")
    fields |= overrides.fields
    folders = folders_of(fields.get("include", ""))
    included = tuple(included_files(path, source, folders))
    parameters = [_parse_parameter(path, text) for text in repeated["param"]]
    constants = tuple(_parse_constant(path, text) for text in repeated["constant"])
    for key, names in (
        ("param", [p.name for p in parameters]),
        ("constant", [name for name, _ in constants]),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise UsageError(f"{path}: the header contains “{key}: {twice[0]}” twice")
    name = name_of(path)
    is_user_kernel = language == "cuda" and not builtin
    code, launch = source, None
    if is_user_kernel:
        from cudamm.kernels import launch_fields  # loads the parser, which only a user's kernel needs

        code = launch_fields.complete_source(path, source, folders)
        given = {key: text for key, text in fields.items() if key != "requires" or own_requires}
        launch = launch_fields.found_launch(path, code, given, folders)
        own_requires = own_requires or launch.fields.get("requires", "")
        fields |= launch.fields
    elif language == "cuda":
        code = with_own_headers(path, source)
    kernels = kernels_in(code) if language == "cuda" else []
    remarks = [launch.remark] if launch and launch.remark else []
    own = [str(condition) for condition in parse_conditions(own_requires)]
    added = [each for each in map(str, parse_conditions(added_requires)) if each not in own]
    if own and added_requires:
        fields["requires"] = ", ".join((*own, *added))
    if own and added:
        remarks.append(f"{path.name} requires {own_requires}, and --requires adds {', '.join(added)}")
    sizes = _parse_sizes(path, fields.get("sizes", ""))
    declared = {p.name: p for p in (*sizes, *parameters, *overrides.parameters)}
    entry = fields.get("entry") or (launch.kernel if launch else "")
    products = launch.products if launch else ()
    entry = entry or _find_entry(path, products or kernels, language, name)
    entry = entry.strip().removeprefix("::").lstrip()  # generated code names the kernel from the global scope
    function = function_of(entry)
    if not function:
        raise UsageError(
            f"{path}: “{entry}” is no name of a kernel, such as gemm, my::gemm or gemm<float, 32>"
        )
    if function not in (kernels or re.findall(r"\w+", without_comments(code))):
        found = ", ".join(kernels) or "none"
        raise UsageError(f"{path} has no function {entry} (kernels found: {found})")
    if is_user_kernel:
        entry = _instantiated(path, code, qualified(code, entry))
    whole = code
    worked_out = launch.worked_out if launch else None
    if launch:
        has_sizes = re.search(r"\b[MNK]\b", fields.get("args", ""))
        if worked_out and worked_out.line > 0 and not has_sizes:  # the kernel has them from elsewhere
            _check_constants(path, entry, compiled_code(code, entry), [name for name, _ in constants])
        launch_fields.require_launch(path, fields, launch)
        code = compiled_code(code, entry)
        taken = sibling_constants(path, code, declared.keys())
        if taken:
            definitions = " ".join(constant.definition for constant in taken)
            code = f"{definitions}\n{line_directive(path.name)}\n{code}"
            included = (*included, definitions)
            remarks += [
                f"{path.name} uses {constant.name} without a definition: {constant.file} beside it has "
                f"“{constant.definition.removeprefix('static constexpr ')}”"
                for constant in taken
            ]
    arguments = tuple(split_at_commas(fields.get("args", "M, N, K, A, B, C")))
    if SCRATCH in arguments:
        remarks.append(
            f"{entry} gets memory of its own for each argument {SCRATCH}, to which it may only write: "
            f"{SCRATCH_BYTES} bytes for each element of the largest matrix, or for each thread if these "
            "are more"
        )
    types = _words(fields.get("types", ""))
    plain = without_comments(code)
    if not types and (language == "python" or _names_type("element", plain, entry)):
        with_narrow = EXACT_PRODUCTS if names_result(plain) else ONE_TYPE
        types = with_narrow if _names_type("accumulator", plain, entry) else FULL_WIDTH
    elif not types and language == "cuda":
        default_entry = with_values(entry, {p.name: p.default for p in declared.values()})
        of_matrices = (
            arguments,
            *([re.sub(x, "0", text) for text in arguments] for x in (r"\bC\b", r"\b[AB]\b")),
        )
        c_types = [matrix_types(preprocessed(code), default_entry, matrices) for matrices in of_matrices]
        types = (_element_type(path, *c_types),)
        if not c_types[0] and any(argument.startswith(TENSOR_MAP) for argument in arguments):
            types = tuple(ELEMENT_TYPES)
            remarks.append(
                f"{path.name} gets its matrices as tensor maps, which have no C type: its element type is "
                "the one that --dtype names"
            )
    types = types or ("float32",)
    for unknown in set(types) - set(ELEMENT_TYPES):
        raise UsageError(f"{path}: unknown element type {unknown} (there are {', '.join(ELEMENT_TYPES)})")
    if fields.get("initial-c", "0") != "0":
        raise UsageError(
            f"{path}: initial-c must be 0; leave the field out for a kernel that does not read C"
        )
    if fields.get("dependent-launch", "yes") != "yes":
        raise UsageError(f"{path}: dependent-launch must be yes; leave the field out for an ordinary launch")
    if fields.get("sum-order", "k") != "k":
        raise UsageError(f"{path}: sum-order must be k; leave the field out for any other order")
    requires = list(filter(None, [fields.get("requires", "")]))
    if is_user_kernel:
        requires += launch_fields.equal_sizes(code, fields, arguments, declared.values())
    grid_of_gpu: tuple[Expression, ...] = ()
    grid_at = block_at = ("", 0)
    arguments_at: list[tuple[str, int]] = []
    if launch and worked_out and launch.fields.get("grid") == worked_out.fields.get("grid"):
        grid_of_gpu, grid_at = parse_list(worked_out.grid_of_gpu), _file_and_line(path, worked_out.grid_place)
    if launch and worked_out and launch.fields.get("threads") == worked_out.fields.get("threads"):
        block_at = _file_and_line(path, worked_out.block_place)
    if launch and worked_out and launch.fields.get("args") == worked_out.fields.get("args"):
        arguments_at = [_file_and_line(path, place) for place in worked_out.argument_places]
    expressions = (
        *grid_of_gpu,
        *parse_list(fields.get("threads", "")),
        *parse_list(fields.get("grid", "")),
        *parse_list(fields.get("requires", "")),
        parse(fields.get("shared-bytes", "0")),
    )
    wrong = worked_out.wrong_dimension if launch and worked_out and "args" in launch.fields else None
    return Method(
        name=name,
        path=path,
        source=source,
        code=code,
        included=included,
        language=language,
        summary=summary,
        sources=fields.get("sources", ""),
        aliases=_words(fields.get("aliases", "")),
        parameters=tuple(declared.values()),
        entry=entry,
        arguments=arguments,
        threads=parse_list(fields.get("threads", "")),
        grid=parse_list(fields.get("grid", "")),
        shared_bytes=parse(fields.get("shared-bytes", "0")),
        traffic=_parse_traffic(path, fields.get("traffic", "")),
        constants=constants,
        requires=parse_conditions(", ".join(requires)),
        needs=_parse_needs(path, fields, arguments, plain),
        element_types=types,
        sums_in_k_order="sum-order" in fields,
        builtin=builtin,
        package=_parse_package(path, fields.get("library", ""), language),
        ceiling=_parse_ceiling(path, fields.get("ceiling", "1")),
        ptxas=_parse_ptxas(path, fields.get("ptxas", "")),
        numbers=launch_fields.numbers_of_file(launch.code or whole, expressions, arguments, declared)
        if launch
        else (),
        program_size=worked_out.program_size if worked_out else None,
        further_sizes=worked_out.further_sizes if worked_out else (),
        size_names=tuple(worked_out.size_names.items()) if worked_out else (),
        program_scale=worked_out.program_scale if worked_out else None,
        has_options=bool(overrides.fields),
        launched_at=_place_of_launch(path, worked_out),
        grid_at=grid_at,
        block_at=block_at,
        arguments_at=tuple(arguments_at),
        type_conflict=_conflict_of(launch),
        wrong_dimension=wrong.text if wrong else "",
        wrong_dimension_of=wrong.matrices if wrong else "",
        wrong_dimension_at=_file_and_line(path, wrong.place) if wrong else ("", 0),
        copies_back_only=bool(worked_out and worked_out.copies_back_only),
        left_out=worked_out.left_out if worked_out else (),
        named_arguments=worked_out.named_arguments if worked_out else frozenset(),
        keeps_shared_limit=launch is not None
        and _keeps_shared_limit(path, launch.worked_out, launch.code or whole),
        grid_of_gpu=grid_of_gpu,
        found_fields=tuple(launch.fields.items()) if launch else (),
        include_folders=folders,
        remarks=tuple(remarks),
        column_major=_parse_layout(path, fields.get("layout", "")),
        adds_to_zeros="initial-c" in fields,
        dependent_launch="dependent-launch" in fields,
    )


def entries(source: str, path: Path, overrides: Overrides, *, with_instances: bool = True) -> list[str]:
    """Return the kernels of a file that multiply two matrices, if it launches several and names none.

    Args:
        with_instances: return the instances of a template too, unless a field says how it is launched.

    Returns:
        The names; an empty list if the file's only kernel, or the one that is named, is to be taken.
    """
    language = _language(path, source)
    fields = _parse_comment(path, source, language)[1] | dict(overrides.fields)
    if "entry" in fields or language != "cuda":
        return []
    from cudamm.kernels import launch_fields

    folders = folders_of(fields.get("include", ""))
    code = launch_fields.complete_source(path, source, folders)
    with_instances = with_instances and fields.keys().isdisjoint(("threads", "grid", "args"))
    if len(kernels_in(code)) == 1 and not with_instances:
        return []
    found = launch_fields.launched_kernels(path, code, folders, with_instances=with_instances)
    return found if len(found) > 1 else []


def read_standard_input() -> str:
    """Return the kernel on standard input.

    Raises:
        UsageError: it is not text, too large, or does not come.
    """
    return _text(STREAM, "standard input", streams=True)


def read_source(path: Path, entry: str = "", *, builtin: bool = False) -> str:
    """Return the text of a kernel file; of a user's Python program, the CUDA source that it contains.

    The first line of a notebook's cell, such as `%%writefile mine.cu`, becomes an empty line.

    Args:
        entry: the kernel that the user chooses; empty for none.

    Raises:
        UsageError: the file is missing, not text or not a kernel.
    """
    if path.suffix not in KERNEL_FILES:
        from cudamm.kernels.misnamed_file import why_no_kernel

        endings = ", ".join(KERNEL_FILES)
        raise UsageError(
            why_no_kernel(str(path)) or f"{path}: the name of a kernel file ends in one of {endings}"
        )
    text = re.sub(r"\A\s*%%\w[^\n]*", "", _text(path, str(path)))
    if path.suffix != ".py" or builtin or not text.strip():
        return text
    from cudamm.source.python_program import cuda_source  # which only a Python program needs

    return cuda_source(text, path, entry)


def _text(path: str | Path, name: str, *, streams: bool = False) -> str:
    try:
        content = read_input(path, "a kernel file", LARGEST_FILE_BYTES, streams=streams)
        # nvcc takes comments in any encoding; the code itself is ASCII.
        text = content.decode("utf-8-sig", errors="replace")
        if text.count("\ufffd") * MOST_FOREIGN > len(text):
            raise UsageError(f"{name} is not text (UTF-8)")
        return text.replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        from cudamm.kernels.misnamed_file import missing_kernel

        raise UsageError(missing_kernel(name)) from None
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None


def _language(path: Path, source: str, *, builtin: bool = False) -> Language:
    if path.suffix == ".py":
        return "python" if builtin else "cuda"  # the CUDA source in a user's program
    return "c++" if path.suffix == ".cpp" and "__global__" not in without_comments(source) else "cuda"


def _names_type(name: str, code: str, entry: str) -> bool:
    """Return whether C source without comments uses a name such as `element` as a type, not as a variable."""
    return re.search(rf"\b{name}\b", entry) is not None or (
        re.search(rf"\b{name}\b\s*(?:[*&]|\w)|[<(,]\s*{name}\s*[>),]", code) is not None
        and not re.search(rf"\b(?:auto|double|float|int|long|size_t|unsigned|u?int\d+_t)\s+{name}\b", code)
    )


def names_result(code: str) -> bool:
    """Return whether C source without comments has a matrix of type `result`.

    Many files have a variable of this name, which is no type.
    """
    return re.search(r"[(,]\s*result\s*\*", code) is not None


def _element_type(
    path: Path, c_types: Sequence[str], of_inputs: Sequence[str], of_results: Sequence[str]
) -> str:
    """Return the element type for the C types of A, B and C; float32 for types that are not known here.

    Args:
        of_inputs: the C types of A and B.
        of_results: that of C.

    Raises:
        UsageError: no element type has these types of A, B and C.
    """
    types = [ELEMENT_TYPES[name] for name in EXACT_PRODUCTS]
    known = {name: e for e in types if e.of_inputs == e for name in (e.c_name, *e.other_c_names)}
    for c_type in sorted(set(c_types) - known.keys()):
        if _NOT_SUPPORTED.fullmatch(c_type) or is_number(c_type):
            raise UsageError(f"{path}: cudamm cannot run kernels with matrices of {c_type} yet")
    inputs, results = ({known[name] for name in of if name in known} for of in (of_inputs, of_results))
    if len(inputs) > 1:
        raise UsageError(f"{path}: A and B must have one type, and are declared as {' and '.join(of_inputs)}")
    of_these = [e for e in types if not inputs or e.of_inputs in inputs]
    for element in of_these:
        if not results or element.of_results in results:
            return element.name if inputs or results else "float32"
    allowed = " or ".join((*e.of_results.other_c_names, e.of_results.c_name)[0] for e in of_these)
    raise UsageError(
        f"{path}: C is declared as {' and '.join(of_results)}; with A and B of {of_inputs[0]} cudamm runs "
        f"kernels whose C is {allowed}"
    )


_NOT_SUPPORTED = re.compile(r"__nv_fp[468]\w*")
"""Types of CUDA's headers that no element type of cudamm has, unless `_element_type` knows the type."""


def _parse_comment(
    path: Path, source: str, language: Language
) -> tuple[str, dict[str, str], dict[str, list[str]]]:
    """Return the summary, the fields that occur once, and the fields that may be repeated."""
    lines = _header_lines(source, language)
    once: dict[str, list[str]] = {}  # the lines of each field
    several: dict[str, list[list[str]]] = {key: [] for key in _REPEATED}
    if not lines:
        return "", {}, {key: [] for key in _REPEATED}
    paragraphs = "\n".join(lines).split("\n\n")
    field_start = re.compile(r"^ ([a-z-]+):\s+(.*)$")
    block = next((p for p in paragraphs if any(_is_field(field_start, line) for line in p.splitlines())), "")
    value: list[str] = []  # the lines of the last field
    for line in block.splitlines():
        match = field_start.match(line)
        if match and match[1] in (*_ONCE, *_REPEATED):
            if match[1] in once:
                raise UsageError(f"{path}: the header contains “{match[1]}:” twice")
            value = [match[2].strip()]
            if match[1] in _REPEATED:
                several[match[1]].append(value)
            else:
                once[match[1]] = value
        elif value and re.match(r"^\s{3,}\S", line):
            value.append(line.strip())
        elif line.strip() and line != lines[0]:
            known = ", ".join((*_ONCE, *_REPEATED))
            raise UsageError(f"{path}: “{line.strip()}” is not a field of the header (fields: {known})")
    summary = "" if _is_field(field_start, lines[0]) else lines[0].strip()
    fields = {key: " ".join(parts) for key, parts in once.items()}
    return summary, fields, {key: [" ".join(parts) for parts in values] for key, values in several.items()}


def _header_lines(source: str, language: Language) -> list[str]:
    """Return the lines of the comment that is the header, without the signs of a comment.

    It is the comment at the top of the file, or else the first with `threads:` and `grid:`, or `sum-order:`.
    """
    marker = "#" if language == "python" else "//"
    lines: list[str] = []
    for line in source.lstrip("\ufeff\n").splitlines():
        if not line.startswith(marker):
            break
        lines.append(line.removeprefix(marker).rstrip())
    if marker == "#" or _is_header(lines, source):
        return lines
    for comment in _COMMENT.finditer(source.partition("__global__")[0]):
        plain = [_SIGNS_OF_A_COMMENT.sub("", line) for line in comment[0].splitlines()]
        words = [line.partition(":")[0].strip() for line in plain]
        indented = [f" {line.rstrip()}" if line.strip() else "" for line in plain]
        if ({"threads", "grid"} <= set(words) or "sum-order" in words) and _is_header(indented, source):
            return indented
    return [line for line in lines if not _FIELD.match(line)]


_COMMENT = re.compile(r"/\*.*?\*/|(?:^[ \t]*//[^\n]*\n)+", re.DOTALL | re.MULTILINE)

_SIGNS_OF_A_COMMENT = re.compile(r"^[ \t]*(?:/\*+|//|\*+(?!/))?[ \t]?|\*+/\s*$")

_FIELD = re.compile(rf" ({'|'.join((*_ONCE, *_REPEATED))}):\s")


def _is_header(lines: Sequence[str], source: str) -> bool:
    """Return whether a comment has fields, and not only prose such as `grid: (n / 32, m / 32)`.

    Threads and a grid that are no arithmetic over M, N, K and constants are prose, if one of them stands
    alone, or if the file has a launch.
    """
    fields = {match[1]: line[match.end() :] for line in lines if (match := _FIELD.match(line))}
    if not fields or fields.keys() - {"threads", "grid"} or (len(fields) > 1 and "<<<" not in source):
        return bool(fields)
    try:
        names = {name for value in fields.values() for each in parse_list(value) for name in each.names}
    except UsageError:
        return False
    constant = r"#\s*define\s+{0}\b|\b(?:const|constexpr|enum)\b[^;()]*\b{0}\s*="
    return all(not name.islower() or re.search(constant.format(name), source) for name in names)


def _check_expressions(path: Path, source: str, fields: Mapping[str, str]) -> None:
    """Raise UsageError, with the line, if the comment of a user's file is no header."""
    for key in (key for key in ("threads", "grid", "requires", "shared-bytes") if key in fields):
        try:
            parse_conditions(fields[key]) if key == "requires" else parse_list(fields[key])
        except UsageError as error:
            before = re.split(rf"^[^\w\n]*{key}:", source, maxsplit=1, flags=re.MULTILINE)[0]
            raise UsageError(
                f"{path}:{before.count(chr(10)) + 1}: cudamm reads this comment as a field of its header, "
                f"and {error}; write “{key} = …” if it is none"
            ) from None


def _is_field(pattern: re.Pattern[str], line: str) -> bool:
    match = pattern.match(line)
    return bool(match and match[1] in (*_ONCE, *_REPEATED))


_PARAMETER = r"([A-Za-z_]\w*)\s*=\s*(\d+)(?:\s+in\s+(\d+(?:\s*,\s*\d+)*))?"


def _parse_parameter(path: Path, text: str) -> Parameter:
    """Parse `BLOCK_SIZE = 32 in 1, 2, 4, 8, 16, 32`; without `in` the default is the only value to sweep."""
    match = re.fullmatch(_PARAMETER, text, re.ASCII)
    if not match:
        raise UsageError(f"{path}: “param: {text}” must have the form “param: BLOCK_SIZE = 16 in 8, 16, 32”")
    if any(len(number) > 18 for number in re.findall(r"\d+", text)):
        raise UsageError(f"{path}: “param: {text}” has a number of more than 18 digits")
    default = int(match[2])
    values = tuple(int(v) for v in match[3].split(",")) if match[3] else (default,)
    if default not in values:
        raise UsageError(f"{path}: the default of {match[1]}, {default}, is not among its values")
    return Parameter(match[1], default, values)


def _check_constants(path: Path, entry: str, code: str, known: Sequence[str]) -> None:
    """Raise UsageError if a kernel reads numbers in constant memory to which cudamm copies nothing.

    Args:
        code: the kernel with what it uses.
        known: the variables in constant memory whose values the header says.
    """
    for name in sizes_without_value(code):
        if name not in known and len(re.findall(rf"\b{name}\b", code)) > 1:
            raise UsageError(
                f"{path}: {entry} reads {name} in constant memory, and cudamm does not know what the program "
                f"copies there: make {name} a parameter of the kernel, or, if it is one number, write "
                f"“// constant: {name} = N” above the kernel, with its value over M, N and K"
            )


def _parse_constant(path: Path, text: str) -> tuple[str, Expression]:
    name, _, expression = (part.strip() for part in text.partition("="))
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or not expression:
        raise UsageError(f"{path}: “constant: {text}” must have the form “constant: block_edge = BLOCK_SIZE”")
    return name, parse(expression)


def _parse_sizes(path: Path, text: str) -> list[Parameter]:
    """Parse `WIDTH=N, HEIGHT=M`: constants of the file that are sizes of the problem."""
    found = []
    for part in split_at_commas(text) if text else ():
        name, _, size = (word.strip() for word in part.partition("="))
        if size not in SIZE_NAMES or not name.isidentifier():
            raise UsageError(f"{path}: “sizes: {text}” must have the form “sizes: WIDTH=N, HEIGHT=M”")
        found.append(Parameter(name, size, (size,)))
    return found


def _parse_traffic(path: Path, text: str) -> tuple[Expression, Expression] | None:
    """Parse `loaded, stored`; they are separate because some courses count the loads only."""
    parts = parse_list(text)
    if not parts:
        return None
    if len(parts) != 2:
        raise UsageError(
            f"{path}: “traffic: {text}” has {len(parts)} number{'s' * (len(parts) > 1)}; it must have two, "
            "the bytes that all threads load from global memory and the bytes that they store"
        )
    return parts[0], parts[1]


def _parse_layout(path: Path, text: str) -> tuple[MatrixName, ...]:
    """Parse `A=column, B=row`, and return the matrices that are stored column by column."""
    layouts: dict[MatrixName, str] = {}
    for part in text.strip().removesuffix(",").split(",") if text.strip() else ():
        match = re.fullmatch(r"\s*([ABC])\s*[=:]\s*(row|column)\s*", part)
        name: MatrixName = match[1] if match else "A"  # type: ignore[assignment]
        if match is None or name in layouts:
            raise UsageError(f"{path}: “layout: {text}” must have the form “layout: A=column, B=column”")
        layouts[name] = match[2]
    return tuple(name for name in sorted(layouts) if layouts[name] == "column")


def _parse_needs(path: Path, fields: Mapping[str, str], arguments: Sequence[str], plain: str) -> str:
    """Parse an architecture such as `sm_80` or `sm_90a`.

    Tensor maps, padded copies and dependent launches need sm_90. Without the field, instructions `wgmma` need
    sm_90a.

    Args:
        plain: the kernel's code, without comments.
    """
    text = fields.get("needs", "")
    needs = text.strip()
    if needs and not re.fullmatch(r"sm_[0-9]{2,3}a?", needs):
        raise UsageError(f"{path}: “needs: {text}” is not an architecture such as sm_90")
    if not needs and _WGMMA.search(plain):
        return f"{HOPPER}a"
    has_maps = any(TENSOR_MAP in argument or PADDED_COPY in argument for argument in arguments)
    is_for_hopper = has_maps or "dependent-launch" in fields
    if is_for_hopper and (not needs or int(needs[3:].rstrip("a")) < int(HOPPER[3:])):
        return HOPPER
    return needs


def _parse_ceiling(path: Path, text: str) -> Fraction:
    """Parse a fraction such as `16 / 9`, or a whole number."""
    match = re.fullmatch(r"([1-9][0-9]{0,8})(?:\s*/\s*([1-9][0-9]{0,8}))?", text.strip())
    if not match:
        raise UsageError(f"{path}: “ceiling: {text}” must have the form “ceiling: 16 / 9”")
    return Fraction(int(match[1]), int(match[2] or 1))


def _parse_ptxas(path: Path, text: str) -> tuple[str, ...]:
    """Parse options such as `-O1`; options that name a file are refused."""
    options = tuple(text.split())
    for option in options:
        if not re.fullmatch(r"--?[A-Za-z][\w-]*(=\w+)?", option):
            raise UsageError(
                f"{path}: “ptxas: {text}” must have the form “ptxas: -O1 --register-usage-level=10”"
            )
    return options


def _parse_package(path: Path, text: str, language: Language) -> str:
    """Parse the name of a Python package, such as nvmath-python."""
    package = text.strip()
    if package and language != "python":
        raise UsageError(f"{path}: only a .py file can have “library: {text}”")
    return package


def _instantiated(path: Path, code: str, entry: str) -> str:
    """Return the name of a kernel with its template arguments.

    Raises:
        UsageError: there are none, and the file does not give the kernel the same ones everywhere; or the
            kernel takes accessors of tensors.
    """
    accessor = re.search(rf"\b{function_of(entry)}\s*\([^)]*?(?:\w+::)*(\w*TensorAccessor\w*)", code)
    if accessor:
        raise UsageError(
            f"{path}: {entry} takes {accessor[1]}, which cudamm cannot make: take a pointer and sizes, as in "
            "a.data_ptr<float>(), a.size(0)"
        )
    found = instantiations(code, function_of(entry))
    if found is None or "<" in entry:
        return entry
    given, others = found
    if len(given) == 1 and not others:
        return f"{entry}<{given[0]}>"
    given += others
    used = f"; the file has {', '.join(f'{entry}<{arguments}>' for arguments in given[:5])}" if given else ""
    raise UsageError(f"{path}: {entry} is a template: name its arguments, as in --entry '{entry}<…>'{used}")


def _find_entry(path: Path, kernels: Sequence[str], language: Language, name: str) -> str:
    if language == "python":
        return "matmul"
    if language == "c++":
        return name.replace("-", "_")
    if len(kernels) == 1:
        return kernels[0]
    if not kernels:
        raise UsageError(f"{path} defines no __global__ function: name the file that defines the kernel")
    raise UsageError(f"{path} has several kernels: choose one with --entry ({', '.join(kernels)})")


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
