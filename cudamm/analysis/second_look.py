"""Look again at a kernel whose product is wrong, for mistakes that its memory accesses do not show.

A second look compiles or runs the kernel once more, so it is taken only after a failure.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from cudamm.analysis.mistakes import Kind, Mistake, nan_of, overrun_of
from cudamm.compile.host_compiler import warnings_of
from cudamm.devices.observation import Fault, Observation
from cudamm.errors import KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.judge import COMPUTED_NAN, UNSET_LOCAL
from cudamm.execution.usual_causes import ONLY_ZEROS, WHOLE_NUMBERS
from cudamm.kernels.launch_plan import Launch
from cudamm.source.c_text import without_comments
from cudamm.source.parsed_source import all_of, declared_name, file_and_line_of, parsed


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
        words = "the local variable {0} is used before it is set"
        cure = "give it a value where it is declared, such as 0 for a sum"
        warned = _warned(case, _UNINITIALISED, "uninitialised", words, cure)
        return [_where_declared(m, case) for m in warned] or _unset_arrays(case, words, cure)
    if WHOLE_NUMBERS in verdict.reason or ONLY_ZEROS in verdict.reason:
        words, cure = "a {0} becomes a whole number ({1})", "sum and store in variables of the matrices' type"
        return _warned(case, _CUT, "wrong-result", words, cure)
    if COMPUTED_NAN in verdict.reason:
        try:
            found = nan_of(observe_again(), case.program, launch, str(case.problem.shape))
        except KernelError:
            found = []
        if found:
            return found
    return [] if verdict.cause else _overrun(case, launch, find_overrun)


def _where_declared(mistake: Mistake, case: Case) -> Mistake:
    """Return a mistake at the last line before its own that declares its variable without a value."""
    name, own = mistake.message.split()[3], case.program.method.path.name
    places = [
        file_and_line_of(declarator)
        for declared in all_of(parsed(case.program.text), "declaration")
        for declarator in declared.children_by_field_name("declarator")
        if declarator.type in ("identifier", "array_declarator") and declared_name(declarator) == name
    ]
    lines = [line for file, line in places if (file or own) == mistake.file and line <= mistake.line]
    if not lines:
        return mistake
    text = case.program.line_text(max(lines), "" if mistake.file == own else mistake.file)
    return dataclasses.replace(mistake, line=max(lines), text=text)


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


_UNINITIALISED = re.compile(
    r"[‘'](?:\*\(\([^‘’']*\)& ?)?([A-Za-z_]\w*)[^’']*[’'] (?:is|may be) used uninitialized"
)
_CUT = re.compile(
    r"conversion from [‘'](float|double)[’'] to [‘']((?:unsigned |signed )?(?:int|short|long|char)[\w ]*)[’']"
)


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
