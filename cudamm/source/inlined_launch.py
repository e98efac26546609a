"""Put a function that launches a kernel into the function that calls it.

The caller may be the one that allocates and copies the matrices: `run(d_A, d_B, d_C, n)` after cudaMemcpy.
"""

from __future__ import annotations

from cudamm.source.c_definitions import SourceFile, source_file
from cudamm.source.c_numbers import renamed
from cudamm.source.c_text import without_comments
from cudamm.source.host_code import LaunchStatement, launches
from cudamm.source.parsed_source import all_of, ancestors, text_of
from cudamm.source.preprocessed import preprocessed

_STATEMENTS = ("expression_statement", "declaration", "return_statement")


def launch_in_caller(
    file: SourceFile, statement: LaunchStatement
) -> tuple[SourceFile, LaunchStatement] | None:
    """Return a file, and a launch in it, as if the only caller of the launching function had its body.

    Each line keeps its number.

    Returns:
        None if there is no caller, if there are several, if one passes different arguments in several calls,
        or if the body has a line that the preprocessor reads.
    """
    function, body = statement.function, statement.function.node.child_by_field_name("body")
    calls = [
        (caller, call)
        for caller in file.functions
        for call in all_of(caller.node, "call_expression")
        if text_of(call.child_by_field_name("function")) == function.name and caller.name != function.name
    ]
    if body is None or not calls or len({(caller.name, text_of(call)) for caller, call in calls}) > 1:
        return None
    caller, call = calls[0]
    given = call.child_by_field_name("arguments")
    passed = [text_of(node) for node in (given.named_children if given else []) if node.type != "comment"]
    before = next((node for node in ancestors(call) if node.type in _STATEMENTS), None)
    code = without_comments(text_of(body))
    if before is None or len(passed) != len(function.parameter_names) or "#" in code or caller.is_kernel:
        return None
    names = {
        name: text if text.isidentifier() else f"({text})"
        for name, text in zip(function.parameter_names, passed, strict=True)
    }
    whole = preprocessed(file.text).encode()
    inlined = " ".join(renamed(code, names).split()).encode()
    found = source_file((whole[: before.start_byte] + inlined + b" " + whole[before.start_byte :]).decode())
    end = before.start_byte + len(inlined)
    in_caller = (
        each
        for each in launches(found)
        if each.kernel == statement.kernel and before.start_byte <= each.node.start_byte < end
    )
    launch = next(in_caller, None)
    return None if launch is None else (found, launch)
