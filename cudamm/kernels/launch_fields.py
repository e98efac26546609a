"""Find the fields of a kernel's launch that neither options nor the header of its file give.

They come from the launch that was saved beside the file, or else from the file's host code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cudamm.errors import MissingLaunchError, UsageError
from cudamm.kernels.launching_file import sources_with_launch
from cudamm.kernels.method import NOT_TRIED, SIZE_NAMES, LaunchRemark, Parameter
from cudamm.kernels.saved_launch import saved_launches, saved_path
from cudamm.source.c_numbers import number_in
from cudamm.source.c_text import function_of, kernels_in, without_comments
from cudamm.source.expression import Expression, parse, split_at_commas
from cudamm.source.included_files import with_own_headers
from cudamm.source.launch_roles import FEW_ARGUMENTS
from cudamm.source.variables_as_parameters import with_arrays_as_parameters, with_constants_as_parameters
from cudamm.source.worked_out_launch import (
    WorkedOutLaunch,
    file_numbers,
    launch_of_no_product,
    unlaunched,
    worked_out_launches,
)

EXTENTS = frozenset({"threads", "grid"})
"""The fields that say how many threads a launch has."""

_LAUNCH = EXTENTS | {"args"}
"""Fields without which no launch is complete."""

_MOST_NAMED = 4
"""Number of other launches that a remark names."""

_NAMES_OF_CUDAMM = frozenset({"M", "N", "K", "element"})
_MATRICES = frozenset({"A", "B", "C"})


@dataclass(frozen=True)
class FoundLaunch:
    """Fields of a launch that are not given.

    Attributes:
        kernel: the kernel that they are for; empty if none was found.
        fields: the fields, without those that are given.
        remark: says where they come from, for the user.
        worked_out: what the host code says; None if nothing had to be worked out.
        code: the source with the launch, in which names in the fields have their values; empty if no launch
            was looked for.
        products: of a file with several kernels and no launch, those that may multiply two matrices.
    """

    kernel: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    remark: str = ""
    worked_out: WorkedOutLaunch | None = None
    code: str = ""
    products: tuple[str, ...] = ()


def launched_kernels(path: Path, code: str, folders: Sequence[Path], *, with_instances: bool) -> list[str]:
    """Return the kernels whose launches are saved beside a file; else those that are launched.

    Args:
        code: the file with its own headers in it.
        folders: those that the user named with `-I`.
        with_instances: return all instances of a template, such as `mm<8>` and `mm<16>`, if several are
            launched.
    """
    if saved := list(saved_launches(path)):
        return saved
    found: list[str] = []
    for launch in _launches(path, code, folders)[0]:
        instances = (launch.fields.get("entry", launch.kernel), *launch.instances)
        found += instances if with_instances and launch.instances else [launch.kernel]
    return found


def _launches(
    path: Path, code: str, folders: Sequence[Path], entry: str = ""
) -> tuple[tuple[WorkedOutLaunch, ...], str]:
    """Return the launches of the kernels in a file, and the source with them.

    They are in the file itself, or else in another one of its project, which may also call a function of the
    file with the sizes or the template arguments of the launch.

    Args:
        entry: the kernel with the template arguments that the user names, whose own launch comes first.
    """
    kernels = frozenset(kernels_in(code))
    own = worked_out_launches(code, kernels, entry)
    if any(not launch.unknown or not launch.is_product for launch in own):
        return own, code
    best: tuple[tuple[WorkedOutLaunch, ...], str, str] = (own, code, path.name)
    launching: dict[str, set[str]] = {}  # the files that launch each kernel
    for name, source in sources_with_launch(path, code, folders):
        found = worked_out_launches(source, kernels, entry)
        for launch in found:
            if launch.place.endswith(f" of {name}"):
                launching.setdefault(launch.kernel, set()).add(name)
        if found and (not best[0] or _doubts(found) < _doubts(best[0])):
            best = found, source, name
    launches, source, name = best
    with_others = (
        replace(launch, others=(*launch.others, *sorted(launching.get(launch.kernel, set()) - {name})))
        for launch in launches
    )
    return tuple(with_others), source


def _doubts(launches: Sequence[WorkedOutLaunch]) -> tuple[bool, int]:
    """Return the doubts about the launch that can be read best."""
    return min(launch.doubts for launch in launches)


def complete_source(path: Path, source: str, folders: Sequence[Path]) -> str:
    """Return a file's text with its own headers in it, and with its matrices as parameters of its kernels."""
    return with_constants_as_parameters(with_arrays_as_parameters(with_own_headers(path, source, folders)))


def found_launch(path: Path, code: str, given: Mapping[str, str], folders: Sequence[Path]) -> FoundLaunch:
    """Return the fields of a launch that are not given.

    Args:
        code: the file with its own headers in it.
        given: fields of the header and of options.
        folders: those that the user named with `-I`.

    Raises:
        UsageError: the file beside it that keeps launches is wrong.
    """
    kernels = kernels_in(code)
    if given.keys() >= _LAUNCH and ("entry" in given or len(kernels) == 1):
        return FoundLaunch()
    chosen = function_of(given["entry"]) if "entry" in given else kernels[0] if len(kernels) == 1 else ""
    saved = saved_launches(path)
    kernel = chosen or (next(iter(saved)) if len(saved) == 1 else "")
    if kernel in saved and saved[kernel].keys() | given.keys() >= _LAUNCH:
        return _found(saved_path(path), kernel, saved[kernel], given)
    launches, source = _launches(path, code, folders, given.get("entry", ""))
    kernel = kernel or (launches[0].kernel if len(launches) == 1 else "")
    note = ""
    if not kernel and not launches:
        products = [each for each in kernels if (found := unlaunched(code, each)) and found.is_product]
        if len(products) != 1:
            return FoundLaunch(products=tuple(products))
        kernel = products[0]
        note = f"of the {len(kernels)} kernels of {path.name}, {kernel} multiplies two matrices; "
    launch = next((launch for launch in launches if launch.kernel == kernel), None)
    launch = launch or (unlaunched(code, kernel) if kernel else None)
    if launch is None and kernel not in saved:
        return FoundLaunch(worked_out=launch_of_no_product(code, kernel) if kernel else None)
    if launch and not given.keys().isdisjoint(launch.conflict_fields):
        launch = replace(launch, type_conflict="", conflict_place="")
    fields = dict(launch.fields) if launch else {}
    if launch and "grid" in given and fields.pop("requires", "") and launch.requires_for_any_grid:
        fields["requires"] = launch.requires_for_any_grid
    fields |= saved.get(kernel, {})
    if source != code and "entry" in fields:
        fields["entry"] = _with_numbers(fields["entry"], source, code)
    others: dict[str, str] = {key: text for key, text in fields.items() if key in EXTENTS - given.keys()}
    if others and "entry" in given and _has_other_numbers(given["entry"], fields.get("entry", ""), source):
        raise UsageError(
            f"{path}: the program launches {fields['entry']} with {as_options(others)}, which need not fit "
            f"{given['entry']}: pass {' and '.join(f'--{key}' for key in others)} too"
        )
    result = _found(path, kernel, fields, given, launch)
    remark = LaunchRemark((note + result.remark).removesuffix("; "))
    return replace(result, remark=remark, code=source)


def _has_other_numbers(entry: str, launched: str, source: str) -> bool:
    """Return whether two instances of a template differ in a number, as `mm<16>` and `mm<TS>` do."""

    def numbers(text: str) -> list[int | None]:
        arguments = split_at_commas(text.partition("<")[2].rpartition(">")[0])
        return [number_in(source, argument.strip()) for argument in arguments]

    pairs = zip(numbers(entry), numbers(launched), strict=False)
    return any(launched is not None and given != launched for given, launched in pairs)


def _with_numbers(entry: str, source: str, code: str) -> str:
    """Return a kernel with its template arguments, in which constants that its own file lacks are numbers."""
    own = set(re.findall(r"\w+", code))

    def value(name: re.Match[str]) -> str:
        number = None if name[0] in own else number_in(source, name[0])
        return name[0] if number is None else str(number)

    return re.sub(r"(?<![\w.:])[A-Za-z_]\w*", value, entry)


def _found(
    source: Path,
    kernel: str,
    fields: Mapping[str, str],
    given: Mapping[str, str],
    launch: WorkedOutLaunch | None = None,
) -> FoundLaunch:
    """Return the fields that are not given, with a remark that names the file that says them."""
    others = {key: text for key, text in fields.items() if key not in given}
    if "<" not in given.get("entry", "<") and "entry" in fields:
        others["entry"] = fields["entry"]  # with its template arguments
    is_unlaunched = launch is not None and not launch.line
    if is_unlaunched and list(others) == ["args"] and _is_usual(others["args"]):
        others = {}
    file = (launch.place.partition(" of ")[2] if launch else "") or source.name
    notes = list(launch.assumptions) if launch else []
    if launch and launch.own_names:
        notes.insert(0, launch.own_names)
    if launch and launch.others:
        verb = "launch" if len(launch.others) > 1 else "launches"
        notes.append(f"{' and '.join(launch.others[:_MOST_NAMED])} {verb} it too")
    if launch and launch.instances and "entry" in others:
        untried = launch.instances[:_MOST_NAMED]
        verb = f"are {NOT_TRIED} one" if len(untried) > 1 else f"is {NOT_TRIED} it"
        notes.append(f"{' and '.join(untried)} {verb} with --entry")
    block, own_block = (
        split_at_commas(each["threads"]) if "threads" in each else [] for each in (given, fields)
    )
    if block and own_block and block != own_block and "grid" in others:
        notes.append(f"whose grid is made for blocks of {' x '.join(own_block)}; --grid changes it")
    note = f" ({'; '.join(notes)})" if notes else ""
    name = given["entry"] if "<" in given.get("entry", "") else kernel
    remark = f"{file} launches {name}{note} as {as_options(others)}" if others else ""
    if others and is_unlaunched:
        remark = f"by the names of its parameters, {kernel} takes {as_options(others)}{note}"
    return FoundLaunch(kernel, others, LaunchRemark(remark), launch)


def _is_usual(arguments: str) -> bool:
    """Return whether arguments are those that a header need not name."""
    return sorted(split_at_commas(arguments)) == ["A", "B", "C", "K", "M", "N"] and arguments.startswith("M")


def as_options(fields: Mapping[str, str]) -> str:
    """Return options that say the same as fields of a header, ready for a shell."""
    words: list[str] = []
    for key, text in fields.items():
        if key == "sizes":
            words += [word for part in split_at_commas(text) for word in ("-D", part)]
        else:
            words += [f"--{key}", text]
    return shlex.join(words)


def require_launch(path: Path, fields: Mapping[str, str], found: FoundLaunch) -> None:
    """Raise MissingLaunchError if the threads or the grid are unknown, with what to add."""
    missing = [key for key in ("threads", "grid") if key not in fields]
    if not missing:
        return
    launch = found.worked_out
    if launch and not launch.is_product:
        why = f"{launch.unknown}; cudamm runs kernels that multiply two matrices"
        if launch.suggestion.keys() >= {"threads", "grid"}:
            why += f"; cudamm occupancy takes any kernel, with {as_options(launch.suggestion)}"
        raise UsageError(f"{path}: {why}")
    if launch and launch.unknown.startswith(FEW_ARGUMENTS):
        raise UsageError(f"{path}: the launch in {launch.place} is wrong: {launch.unknown}")
    usual = launch.suggestion if launch else {"threads": "16, 16", "grid": "ceil(N / 16), ceil(M / 16)"}
    suggested = {
        key: usual[key]
        for key in ("args", *missing, "requires", "initial-c")
        if key in usual and key not in fields
    }
    why = "the file launches no kernel that multiplies two matrices"
    if launch:
        why = f"the file does not launch {launch.kernel}"
        if re.search(rf"\b{launch.kernel}\s*(?:<[^<>;]*>)?\s*<<<", without_comments(found.code)):
            why = f"the launch of {launch.kernel} could not be read, as a statement near it is incomplete"
    if launch and launch.line:
        why = f"the launch in {launch.place} could not be read"
    if launch and launch.unknown:
        why += f": {launch.unknown}"
    raise MissingLaunchError(str(path), missing, why, suggested, as_options(suggested))


def equal_sizes(
    code: str, fields: Mapping[str, str], arguments: Sequence[str], parameters: Iterable[Parameter]
) -> list[str]:
    """Return the conditions that make the matrices of a kernel square that gets one size only.

    The rule holds wherever the fields come from: host code, a header, options or a saved launch. A size that
    the kernel can have from elsewhere stays free.

    Args:
        code: what is compiled of the file.
        fields: those of the header, with the found ones.
        arguments: those of the kernel.
        parameters: names that are replaced when the kernel is compiled.
    """
    named = " ".join(arguments)
    passed = set(re.findall(r"\b[MNK]\b", named))
    is_product = set("ABC") <= {*re.findall(r"\b[ABC]\b", named)}
    if not is_product or len(passed) != 1 or "tensor_map" in named or re.search(r"\bgridDim\b", code):
        return []
    required = fields.get("requires", "")
    fixed = {*re.findall(r"\b([MNK])\s*==\s*\d", required), *re.findall(r"\d\s*==\s*([MNK])\b", required)}
    fixed |= {str(value) for parameter in parameters for value in (parameter.name, parameter.default)}
    text = without_comments(code)
    fixed |= {name for name in SIZE_NAMES if re.search(rf"\b{name}\b", text)} - passed
    # A kernel's matrix may be called M or N too.
    fixed -= {
        name for name in SIZE_NAMES if re.search(rf"\*\s*(?:const\s+|__restrict__\s+)*{name}\s*[,)]", text)
    }
    if re.search(r"\bM\s*%", required) and not re.search(r"\bM\s*==|==\s*M\b", required):
        fixed.add("M")  # the rows of a kernel without a bounds check may be any number of blocks
    (first,) = passed
    others = [name for name in SIZE_NAMES if name != first and name not in fixed]
    # Both orders of a condition say the same; the usual ones are those of `requires: M == N, N == K`.
    pairs = (sorted((first, other), key=SIZE_NAMES.index) for other in others)
    conditions = (f"{one} == {other}" for one, other in pairs)
    squeezed = re.sub(r"\s", "", required)
    return [each for each in conditions if each.replace(" ", "") not in squeezed]


def numbers_of_file(
    code: str, expressions: Iterable[Expression], arguments: Sequence[str], declared: Iterable[str]
) -> tuple[tuple[str, Expression], ...]:
    """Return the constants of a file that expressions and arguments use, directly or through others.

    Args:
        declared: names that are parameters, and so have other values.
    """
    unread = {*re.findall(r"[A-Za-z_]\w*", " ".join(arguments))} - _MATRICES
    unread |= {name for expression in expressions for name in expression.names}
    unread -= _NAMES_OF_CUDAMM.union(declared)
    numbers = file_numbers(code) if unread else {}
    found: dict[str, Expression] = {}
    while unread:
        name = unread.pop()
        if name in numbers and name not in found:
            found[name] = parse(numbers[name])
            unread |= found[name].names
    return tuple(found.items())
