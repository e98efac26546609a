"""Look again at a kernel for mistakes that its accesses to the matrices and to shared memory do not show.

A second look compiles or runs the kernel once more, so it is taken only after a failure, or if the source
shows that the kernel may access memory beside its local variables.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from tree_sitter import Node

from cudamm.analysis.mistakes import Kind, Mistake, is_outside_of_matrix, nan_of, overrun_of
from cudamm.compile.host_compiler import warnings_of
from cudamm.devices.observation import Fault, Observation
from cudamm.errors import KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.judge import COMPUTED_NAN, UNSET_LOCAL
from cudamm.execution.usual_causes import ONLY_ZEROS, WHOLE_NUMBERS
from cudamm.kernels.launch_plan import Launch
from cudamm.source.c_text import dynamic_arrays_in, shared_arrays_in, without_comments
from cudamm.source.endless_loops import endless_loop_in
from cudamm.source.parsed_source import all_of, declared_name, file_and_line_of, parsed, text_of

IN_OWN_TYPE = "sum and store in variables of the matrices' type"
"""The cure of numbers that are cut to whole ones."""


BEFORE_SET = "is used before it is set"
"""What a message says of a local variable."""


def hidden_mistakes(
    case: Case,
    launch: Launch,
    verdict: Verdict,
    observe_again: Callable[[], Observation],
    find_overrun: Callable[[], Fault | None],
) -> list[Mistake]:
    """Return the mistakes that explain how a product is wrong.

    Args:
        observe_again: launches the kernel so that the first NaN that it computes ends it.
        find_overrun: launches the kernel so that the first access beside a local variable ends it.

    Raises:
        NoDeviceError: there is no C++ compiler.
    """
    if UNSET_LOCAL in verdict.reason:
        words = f"the local variable {{0}} {BEFORE_SET}"
        cure = "give it a value where it is declared, such as = 0 for a sum, or = {} for an array of sums"
        warned = _warned(case, _UNINITIALISED, "uninitialised", words, cure)
        warned = [_where_declared(m, case) for m in warned] or _warned_elsewhere(case, words, cure)
        return warned or _unset_arrays(case, words, cure)
    if WHOLE_NUMBERS in verdict.reason or ONLY_ZEROS in verdict.reason:
        return _warned(case, _CUT, "wrong-result", "a {0} becomes a whole number ({1})", IN_OWN_TYPE)
    if COMPUTED_NAN in verdict.reason:
        try:
            found = nan_of(observe_again(), case.program, launch, str(case.problem.shape))
        except KernelError:
            found = []
        if found:
            return found
    return [] if verdict.cause else _overrun(case, launch, find_overrun)


def endless_loop(case: Case) -> list[Mistake]:
    """Return why a kernel does not end: a loop without a step, or a condition that always holds.

    Raises:
        NoDeviceError: there is no C++ compiler.
    """
    found = endless_loop_in(case.program.text)
    if found is not None:
        why, cure, file, line = found
        text = case.program.line_text(line, file)
        file = file or case.program.method.path.name
        return [Mistake("crash", why, cure, file, line, text, sizes=(str(case.problem.shape),))]
    words = "the kernel does not end: an unsigned number is always {0}, as the largest number follows below 0"
    cure = "count down with a signed number, or begin one higher and let the condition alone count, `i-- > 0`"
    return _warned(case, _ALWAYS_TRUE, "crash", words, cure)


def local_variable_of(mistake: Mistake) -> str:
    """Return the local variable of a mistake whose message has BEFORE_SET."""
    return mistake.message.split()[3]


def _where_declared(mistake: Mistake, case: Case) -> Mistake:
    """Return a mistake at the last line before its own that declares its variable without a value."""
    name, own = local_variable_of(mistake), case.program.method.path.name
    places = _declared_without_value(case, name)
    lines = [line for file, line in places if (file or own) == mistake.file and line <= mistake.line]
    if not lines:
        return mistake
    text = case.program.line_text(max(lines), "" if mistake.file == own else mistake.file)
    return dataclasses.replace(mistake, line=max(lines), text=text)


def _declared_without_value(case: Case, name: str) -> list[tuple[str, int]]:
    """Return the files and the lines that declare a variable without a value."""
    return [
        file_and_line_of(declarator)
        for declared in all_of(parsed(case.program.text), "declaration")
        for declarator in declared.children_by_field_name("declarator")
        if declarator.type in ("identifier", "array_declarator") and declared_name(declarator) == name
    ]


def _warned_elsewhere(case: Case, words: str, cure: str) -> list[Mistake]:
    """Return the unset variable of a warning in a header of CUDA, such as that of `__float2half(sum)`."""
    found = (_UNINITIALISED.search(warning.text) for warning in warnings_of(case.program))
    for name in [match[1] for match in found if match]:
        places = _declared_without_value(case, name)
        if len(places) == 1:
            file, line = places[0]
            text = case.program.line_text(line, file)
            file = file or case.program.method.path.name
            size = str(case.problem.shape)
            return [Mistake("uninitialised", words.format(name), cure, file, line, text, sizes=(size,))]
    return []


def _overrun(case: Case, launch: Launch, find_overrun: Callable[[], Fault | None]) -> list[Mistake]:
    """Return the first access beside a thread's local variables, if a line of the user's files is known."""
    try:
        fault = find_overrun()
    except KernelError:
        return []
    if fault is None or not fault.line:
        return []
    nothing_else = Observation((), (), (0, 0))
    return [overrun_of(fault, nothing_else, case.program, launch, str(case.problem.shape))]


def with_overrun(
    mistakes: list[Mistake], case: Case, launch: Launch, find_overrun: Callable[[], Fault | None]
) -> list[Mistake]:
    """Return the mistakes of a launch, first an access beside a local variable if a pointer may make one.

    Args:
        find_overrun: as for `hidden_mistakes`.
    """
    if not _has_pointer_to_variable(case.program.text):
        return mistakes
    found = _overrun(case, launch, find_overrun)
    known = {(mistake.file, mistake.line) for mistake in mistakes if not is_outside_of_matrix(mistake)}
    return [*(mistake for mistake in found if (mistake.file, mistake.line) not in known), *mistakes]


def _has_pointer_to_variable(text: str) -> bool:
    """Return whether C++ source may take the address of a local variable: by `&`, a reference, or an array.

    The compiler checks each index of an array, but no index of a pointer.
    """
    tree = parsed(text)
    elsewhere = shared_arrays_in(text) | {*dynamic_arrays_in(text)}  # pointers, and what is no local variable
    arrays = set[str]()
    for node in all_of(tree, "parameter_declaration", "declaration"):
        for declarator in node.children_by_field_name("declarator"):
            if any(all_of(declarator, "pointer_declarator")):
                elsewhere.add(declared_name(declarator))
            elif any(all_of(declarator, "array_declarator")):
                is_pointer = node.type == "parameter_declaration"
                (elsewhere if is_pointer else arrays).add(declared_name(declarator))
    arrays -= elsewhere
    return (
        _ADDRESS_IN_MACRO.search(text) is not None
        or any(all_of(tree, "abstract_reference_declarator"))
        or any(_has_type(node.parent, "init_declarator") for node in all_of(tree, "reference_declarator"))
        or any(
            text_of(node).startswith("&") and _first_name(node) not in elsewhere
            for node in all_of(tree, "pointer_expression")
        )
        or any(
            text_of(node) in arrays and not _has_type(node.parent, "subscript_expression", "array_declarator")
            for node in all_of(tree, "identifier")
        )
    )


_ADDRESS_IN_MACRO = re.compile(r"^[ \t]*#[ \t]*define\b.*[(,=]\s*&", re.MULTILINE)


def _has_type(node: Node | None, *types: str) -> bool:
    return node is not None and node.type in types


def _first_name(node: Node) -> str:
    """Return the variable of an expression such as `&(v.x)` or `&acc[i]`."""
    return next((text_of(name) for name in all_of(node, "identifier")), "")


_UNINITIALISED = re.compile(
    r"[‘'](?:\*\(\([^‘’']*\)& ?)?([A-Za-z_]\w*)[^’']*[’'] (?:is|may be) used uninitialized"
)
_CUT = re.compile(
    r"conversion from [‘'](float|double)[’'] to [‘']((?:unsigned |signed )?(?:int|short|long|char)[\w ]*)[’']"
)

_ALWAYS_TRUE = re.compile(r"unsigned expression in [‘'](>= 0)[’'] is always true")

_LOCAL_ARRAY = re.compile(r"^\s*(?:float|double|int|element|\w*[Tt]ype|T)\s+(\w+)\s*(?:\[[^\]]*\]\s*)+;")


def _unset_arrays(case: Case, words: str, cure: str) -> list[Mistake]:
    """Return the only local array that is declared without values and to which the kernel only adds.

    Compilers warn about variables, but seldom about the elements of an array.
    """
    program = case.program
    code = without_comments(program.text)
    found = []
    for (file, number), line in program.lines.items():
        declared = _LOCAL_ARRAY.match(line)
        if declared and "__shared__" not in line:
            element = rf"\b{declared[1]}\s*(?:\[[^\]]*\]\s*)+"
            if re.search(element + r"\+=", code) and not re.search(element + r"=(?!=)", code):
                size = str(case.problem.shape)
                message = words.format(declared[1])
                found.append(
                    Mistake("uninitialised", message, cure, file, number, line.strip(), sizes=(size,))
                )
    return found if len(found) == 1 else []


def _warned(case: Case, pattern: re.Pattern[str], kind: Kind, words: str, cure: str) -> list[Mistake]:
    """Return the first warning of the compiler that a pattern matches, as a mistake."""
    program = case.program
    known = {file for file, _ in program.lines}
    for warning in warnings_of(program):
        found = pattern.search(warning.text)
        if found and warning.file in known:
            own = warning.file == program.method.path.name
            text = program.line_text(warning.line, "" if own else warning.file)
            size = str(case.problem.shape)
            return [
                Mistake(
                    kind, words.format(*found.groups()), cure, warning.file, warning.line, text, sizes=(size,)
                )
            ]
    return []
