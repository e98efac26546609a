"""`cudamm grade`: the table, the files, the exit status, and what each file shows."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from small_assignment import KERNEL, RIGHT

TESTS = """
[[problem]]
size = 24
points = 1.5

[[problem]]
size = "19x23x29"
visibility = "hidden"
points = 2

[[problem]]
name = "the last one"
size = "31x37x41"
visibility = "secret"
points = 0.5

[[problem]]
size = 7
visibility = "after-due-date"
points = 1
"""
WRONG = RIGHT.replace("k < K", "k < K - K % 8").replace("sum = 0", "sum = 0 * K")


@pytest.fixture
def handed_in(tmp_path: Path) -> None:
    (tmp_path / "assignment.toml").write_text(
        "title = 'A <small> [bold]one[/]'\npoints = 5\n" + KERNEL + TESTS
    )
    (tmp_path / "right.cu").write_text(RIGHT)
    (tmp_path / "wrong.cu").write_text(WRONG)


FILES = "--out results.json --junit junit.xml --json out.json --markdown out.md"


@pytest.mark.long
def test_each_form_has_the_points_and_students_see_no_hidden_problem(run, handed_in, tmp_path):
    ended = run(f"grade assignment.toml wrong.cu --device cpu {FILES}")
    assert (ended.status, ended.stderr) == (1, "")
    assert "1.5 of 5 points for wrong.cu" in ended.stdout
    assert "failed right at 19x23x29 float32:" in ended.stdout
    assert "k < K - K % 8 instead of k < K (wrong.cu:7); 437 of 437 elements wrong" in ended.stdout
    assert "A <small> [bold]one[/]" in ended.stdout

    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == 1.5 and results["stdout_visibility"] == "hidden"
    assert isinstance(results["execution_time"], int)
    tests = {test["name"]: test for test in results["tests"]}
    assert [*tests] == ["right at 24x24x24 float32", "hidden test 2", "the last one", "hidden test 4"]
    assert [test["visibility"] for test in tests.values()] == [
        "visible",
        "visible",
        "hidden",
        "after_due_date",
    ]
    assert [test["status"] for test in tests.values()] == ["passed", "failed", "failed", "failed"]
    assert tests["hidden test 2"]["output"] == "" and tests["hidden test 2"]["max_score"] == 2
    shown_now = json.dumps([test for test in results["tests"] if test["visibility"] == "visible"])
    assert "19" not in shown_now and "29" not in shown_now
    assert sum(test["score"] for test in results["tests"]) == results["score"]

    suites = ElementTree.fromstring((tmp_path / "junit.xml").read_text())  # noqa: S314 - cudamm wrote it
    assert suites.get("tests") == "2" and suites.get("failures") == "1"
    cases = {case.get("name"): case.find("failure") for case in suites.iter("testcase")}
    assert cases["right at 24x24x24 float32"] is None
    failure = cases["hidden test 2"]
    assert failure is not None and failure.get("message") == "0 of 2 points" and not failure.text
    assert "K = 29" not in (tmp_path / "junit.xml").read_text()

    document = json.loads((tmp_path / "out.json").read_text())
    assert (document["schema"], document["score"], document["points"]) == ("cudamm.grade/1", 1.5, 5)
    assert [row["status"] for row in document["results"]] == ["passed", "failed", "failed", "failed"]
    assert "| right at 19x23x29 float32 | 0 of 2 | failed | the result |" in (tmp_path / "out.md").read_text()


@pytest.mark.slow
def test_all_points_end_with_status_0_and_the_public_part_is_for_students(run, handed_in, tmp_path):
    ended = run("grade assignment.toml right.cu --device cpu --out -")
    assert (ended.status, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["score"] == 5
    ended = run("grade assignment.toml wrong.cu --public --device cpu")
    assert ended.status == 0 and "1.5 of 1.5 public points for wrong.cu" in ended.stdout
    assert "19x23x29" not in ended.stdout and "students see" not in ended.stdout


def test_a_submission_that_cannot_be_graded_has_0_points_and_a_reason(run, handed_in, tmp_path):
    (tmp_path / "empty.cu").write_text("\n")
    ended = run(f"grade assignment.toml empty.cu --device cpu {FILES}")
    assert ended.status == 1 and ended.stdout.startswith("not graded: empty.cu is empty\n0 of 5 points")
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["score"] == 0 and results["output"] == "empty.cu was not graded: empty.cu is empty"
    assert "empty.cu is empty" in (tmp_path / "junit.xml").read_text()


def test_a_mistake_of_the_assignment_ends_with_status_2_before_anything_runs(run, handed_in, tmp_path):
    path = tmp_path / "assignment.toml"
    path.write_text(path.read_text().replace("points = 5", "points = 20"))
    run("grade assignment.toml right.cu --device cpu").refused(
        2, "assignment.toml:2: points is 20", "add up to 5"
    )
    run("grade assignment.toml missing.cu --out assignment.toml").refused(2)
    run("grade missing.toml right.cu").refused(2, "there is no assignment missing.toml")


@pytest.mark.slow
def test_what_the_machine_lacks_ends_with_status_3(run, handed_in, tmp_path):
    path = tmp_path / "assignment.toml"
    speed = "[[test]]\nkind = 'speed'\nof = 'tiled'\nfull_at = 0.9\npoints = 4\n"
    path.write_text(path.read_text().replace("points = 5\n", "") + speed)
    run("grade assignment.toml right.cu --device cpu --out results.json").refused(
        3, "needs a GPU", "--without gpu"
    )
    assert not (tmp_path / "results.json").exists()
    ended = run("grade assignment.toml right.cu --device cpu --without gpu --out results.json")
    assert (
        ended.status == 0 and "5 of 5 points" in ended.stdout and "its 4 points do not count" in ended.stdout
    )
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["output"] == "4 points were not graded on this machine" and len(results["tests"]) == 4


@pytest.mark.long
@pytest.mark.parametrize("option, own", [("--out", "results.json"), ("--junit", "junit.xml")])
def test_a_grade_replaces_an_earlier_grade_and_no_other_file(run, handed_in, tmp_path, option, own):
    for other, text in {
        "notes.txt": "1. Read K.\n",
        "data.json": '{"students": []}',
        "page.xml": "<html/>",
    }.items():
        (tmp_path / other).write_text(text)
        run(f"grade assignment.toml right.cu --device cpu {option} {other}").refused(
            2, other, "would replace"
        )
        assert (tmp_path / other).read_text() == text
    (tmp_path / own).touch()
    for name in ("wrong.cu", "right.cu"):
        run(f"grade assignment.toml {name} --device cpu {option} {own}")
    assert (
        "right.cu" in (tmp_path / own).read_text() or json.loads((tmp_path / own).read_text())["score"] == 5
    )


def test_no_output_replaces_a_file_of_a_submission_in_a_folder(run, handed_in, tmp_path):
    folder = tmp_path / "submission"
    folder.mkdir()
    (folder / "right.cu").write_text(RIGHT)
    (folder / "notes.md").write_text("my notes")
    run("grade assignment.toml submission --device cpu --markdown submission/notes.md").refused(2, "notes.md")
    assert (folder / "notes.md").read_text() == "my notes"


def test_no_output_replaces_the_assignment_or_the_submission(run, handed_in, tmp_path):
    before = (tmp_path / "assignment.toml").read_text()
    run("grade assignment.toml right.cu --device cpu --out assignment.toml").refused(2, "assignment.toml")
    run("grade assignment.toml right.cu --device cpu --junit right.cu").refused(2, "right.cu")
    assert (tmp_path / "assignment.toml").read_text() == before and (
        tmp_path / "right.cu"
    ).read_text() == RIGHT
