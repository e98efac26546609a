"""`cudamm grade`: the points of a student's kernel, by the problems and tests of an assignment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import cloup
from cloup import option_group

from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.output_options import GRADESCOPE, JUNIT, OutputOptions, output_options
from cudamm.cli.shared_options import device_option


@cloup.command()
@cloup.argument(
    "assignment", metavar="ASSIGNMENT.toml", shell_complete=complete_files,
    help="The assignment: its problems, its tests and their points.",
)  # fmt: skip
@cloup.argument(
    "submission", metavar="SUBMISSION.cu", shell_complete=complete_files,
    help="The student's kernel, or a folder with one file that ends in .cu.",
)  # fmt: skip
@option_group(
    "Grading",
    option("--public", is_flag=True, help="Run the public tests only, as students do before they hand in."),
    option(
        "--without", multiple=True, type=click.Choice(["gpu", "nvcc"]),
        help="Leave out tests that need a GPU, or nvcc, and their points, if it is missing here. Repeatable.",
    ),
    option(
        "--unconfined", is_flag=True,
        help="Grade also where neither Landlock nor bubblewrap keeps compilers from this machine's files.",
    ),
)  # fmt: skip
@option_group("Device", device_option)
@output_options(GRADESCOPE, JUNIT)
def grade_command(
    assignment: str,
    submission: str,
    public: bool,
    without: tuple[Any, ...],
    unconfined: bool,
    device_spec: str,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm grade hw.toml student.cu                     points, and what is wrong
    cudamm grade hw.toml student.cu --out results.json  for Gradescope
    cudamm grade hw.toml mine.cu --public               what a student may run

    Grade a kernel: right products, mistakes, memory accesses, occupancy and speed, each with points. Tests
    of speed run on a GPU. All others run on the CPU device, so that they give the same points everywhere.

    The kernel is untrusted. It is compiled and run by processes with limits on time, memory, files and system
    calls; a crash or a hang costs the submission its points, and nothing else. A submission that is no kernel
    of the assignment gets no points, with the reason. docs/grading.md describes the assignment's file, and
    what confines a submission.

    The exit status is 0 for all points and 1 for fewer.
    """
    from cudamm.cli.session import Session
    from cudamm.devices.find_device import host
    from cudamm.grading.assignment import read_assignment
    from cudamm.grading.grade import SCHEMA, Grade, grade
    from cudamm.output import grade_table
    from cudamm.output.gradescope import gradescope_results
    from cudamm.output.junit import junit_xml
    from cudamm.source.input_file import remember_input

    asked = read_assignment(Path(assignment))
    for file in (Path(submission), *Path(submission).glob("*")):  # a folder's files are the student's
        remember_input(file)
    with Session[Grade](SCHEMA, outputs, host().info) as session:
        session.collect(
            lambda report_progress: iter(
                [
                    grade(
                        asked,
                        Path(submission),
                        device_spec=device_spec,
                        public=public,
                        without=without,
                        unconfined=unconfined,
                        progress=report_progress,
                    )
                ]
            )
        )
        session.add_tables(grade_table.render)
        session.add_form("out", gradescope_results)
        session.add_form("junit", junit_xml)
        rows = [row for found in session.results for row in grade_table.records(found)]
        head = grade_table.head(session.results[0]) if session.results else {}
        session.write(rows, **head)
        return session.exit_status(all(found.is_full for found in session.results))
