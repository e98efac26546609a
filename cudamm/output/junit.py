"""A grade as JUnit XML, which GitHub Classroom and every service for continuous integration reads.

The format has no official definition. The names are those of Ant's junit task, and of the schema of Apache
Maven Surefire: `testsuites`, `testsuite`, `testcase`, `failure` and `skipped`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from cudamm.grading.assignment import shown
from cudamm.grading.grade import Grade
from cudamm.grading.student_view import is_seen_now, seen_tests, shortened
from cudamm.output.readable_text import readable


def junit_xml(grade: Grade) -> str:
    """Return the text of a JUnit file. Students see it, so hidden tests have no details in it."""
    seen = [test for test in seen_tests(grade) if is_seen_now(test.visibility)]
    failures = [test for test in seen if test.status != "passed"]
    counts = {"tests": str(len(seen)), "failures": str(len(failures)), "errors": "0", "skipped": "0"}
    suites = ElementTree.Element("testsuites", counts)
    title = readable(grade.assignment.title)
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": title, "time": f"{grade.seconds:.3f}", **counts}
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (
        ("submission", grade.submission),
        ("score", shown(grade.score)),
        ("points", shown(grade.points)),
    ):
        ElementTree.SubElement(properties, "property", name=name, value=readable(value))
    for test in seen:
        case = ElementTree.SubElement(suite, "testcase", classname=title, name=readable(test.name), time="0")
        if test.status == "passed":
            continue
        detail = shortened(grade.refused) or test.detail
        first, _, _ = detail.partition("\n")
        points = f"{shown(test.score)} of {shown(test.points)} points"
        failure = ElementTree.SubElement(
            case, "failure", message=readable(f"{points}: {first}" if first else points), type="points"
        )
        failure.text = "\n".join(readable(line) for line in detail.splitlines())
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"
