"""`cudamm grade`: the points of a student's kernel, by the problems and tests of an assignment."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import cloup
from cloup import option_group

from cudamm.cli.completion_command import complete_files
from cudamm.cli.documented_option import option
from cudamm.cli.output_options import FEEDBACK, GRADESCOPE, JUNIT, OutputOptions, output_options
from cudamm.cli.shared_options import device_option
from cudamm.errors import NoDeviceError, UsageError

if TYPE_CHECKING:
    from cudamm.cli.progress_bar import ReportProgress
    from cudamm.grading.assignment import Assignment
    from cudamm.grading.class_grades import ClassRow, Handed


@cloup.command()
@cloup.argument(
    "assignment", metavar="ASSIGNMENT.toml", shell_complete=complete_files,
    help="The assignment: its problems, its tests and their points.",
)  # fmt: skip
@cloup.argument(
    "submission", metavar="SUBMISSION.cu", shell_complete=complete_files,
    help="The student's kernel, a folder with one file that ends in .cu, or a folder with those of a class.",
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
@option_group(
    "Class",
    option(
        "--grades", metavar="FOLDER", default="grades",
        help="Folder for the grades of a class: NAME.json for the teacher, NAME.md for students. Grades of "
        "submissions that have not changed are kept.",
    ),
)  # fmt: skip
@option_group("Device", device_option)
@output_options(GRADESCOPE, JUNIT, FEEDBACK)
def grade_command(
    assignment: str,
    submission: str,
    public: bool,
    without: tuple[Any, ...],
    unconfined: bool,
    grades: str,
    device_spec: str,
    outputs: OutputOptions,
) -> int:
    """\b
    cudamm grade hw.toml student.cu                     points, and what is wrong
    cudamm grade hw.toml student.cu --out results.json  for Gradescope
    cudamm grade hw.toml submissions/ --csv points.csv  a class

    Grade a kernel: right products, mistakes, memory accesses, occupancy and speed, each with points. Tests
    of speed run on a GPU. All others run on the CPU device, so that they give the same points everywhere.

    The kernel is untrusted. It is compiled and run by processes with limits on time, memory, files and system
    calls; a crash or a hang costs the submission its points, and nothing else. A submission that is no kernel
    of the assignment gets no points, with the reason. docs/grading.md describes the assignment's file, and
    what confines a submission.

    The exit status is 0 for all points and 1 for fewer; of a class 0 if each submission was graded.
    """
    from cudamm.cli.session import Session
    from cudamm.devices.find_device import host
    from cudamm.grading.assignment import read_assignment
    from cudamm.grading.class_grades import handed_in, made_from
    from cudamm.grading.grade import SCHEMA, Grade, grade
    from cudamm.output import grade_table
    from cudamm.output.feedback import feedback
    from cudamm.output.gradescope import gradescope_results
    from cudamm.output.junit import junit_xml
    from cudamm.source.input_file import remember_input

    asked = read_assignment(Path(assignment))
    options = [*(["--public"] if public else []), *(["--unconfined"] if unconfined else [])]
    options += [f"--without={need}" for need in without]
    options += [f"--device={device_spec}"]
    submissions = handed_in(Path(submission))
    if submissions:
        return _grade_class(asked, Path(assignment), submissions, Path(grades), options, outputs)
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
        session.add_form("feedback", feedback)
        rows = [row for found in session.results for row in grade_table.records(found)]
        head = grade_table.head(session.results[0]) if session.results else {}
        session.write(rows, made_from=made_from(Path(assignment), Path(submission), options), **head)
        return session.exit_status(all(found.is_full for found in session.results))


def _grade_class(
    asked: Assignment,
    assignment: Path,
    submissions: Sequence[Handed],
    grades: Path,
    options: Sequence[str],
    outputs: OutputOptions,
) -> int:
    """Grade the submissions of a class, and return the exit status.

    Raises:
        UsageError: an option is for a single submission, or the folder of grades cannot be made.
        NoDeviceError: some could not be graded.
    """
    from cudamm.cli.session import Session
    from cudamm.compile.process_group import CORES
    from cudamm.devices.find_device import has_driver, host
    from cudamm.grading.class_grades import ClassRow, grade_class
    from cudamm.output import class_table

    for form in ("out", "junit", "feedback"):
        if form in outputs.texts:
            raise UsageError(
                f"--{form} is for one submission; --grades names the folder for those of a class"
            )
    # Two kernels at a time on one GPU would slow each other.
    is_timed = has_driver() and any(test.needs == "gpu" for test in asked.tests)

    def graded(report_progress: ReportProgress) -> Iterator[ClassRow]:
        rows = grade_class(assignment, submissions, grades, options, 1 if is_timed else CORES)
        with contextlib.closing(rows):
            for done, row in enumerate(rows, 1):
                report_progress(row.name, done, len(submissions))
                yield row

    with Session[ClassRow]("cudamm.class/1", outputs, host().info) as session:
        session.collect(graded)
        session.results.sort(key=lambda row: row.name)
        session.add_tables(class_table.render)
        session.write([class_table.record(row) for row in session.results], assignment=asked.title)
        status = session.exit_status(all_well=True)
        problems = [row for row in session.results if row.problem]
        if problems:
            raise NoDeviceError(
                f"{len(problems)} of {len(submissions)} submissions were not graded, such as "
                f"{problems[0].name}: {problems[0].problem}; the same command grades only these again"
            )
        return status
