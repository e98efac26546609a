"""`cudamm reproduce` on the CPU device: its output, its files and its exit statuses."""

from __future__ import annotations

import json
import re

import pytest

from cudamm.courses import reproduce_pmpp, reproduce_sheffield
from cudamm.execution.case import Verdict
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.problem import Shape

ON_CPU = "--device cpu -n 16"


@pytest.fixture(autouse=True)
def no_large_rectangle(monkeypatch):
    """Leave out the shape of 640x480x320, whose emulation takes seconds, and reduce the one of 96x160x64."""
    monkeypatch.setattr(reproduce_pmpp, "BOUNDARY_SHAPES", reproduce_pmpp.BOUNDARY_SHAPES[:2])
    monkeypatch.setattr(reproduce_sheffield, "RECTANGLE", Shape(32, 96, 64))


@pytest.mark.long
def test_every_course_is_reproduced_without_times(run, tmp_path):
    ended = run(f"reproduce all {ON_CPU} --json all.json")
    assert (ended.status, ended.stderr) == (0, "")
    document = json.loads((tmp_path / "all.json").read_text())
    assert document["schema"] == "cudamm.reproduce/1"
    sources = {row["source"]: row for row in document["results"]}
    assert list(sources) == ["cmu", "tsinghua", "sheffield", "sjtu", "pmpp"]
    for row in sources.values():
        assert row["complete"] is True
        assert all(measured["correct"] is True for measured in row["measurements"])
        for check in row["checks"]:
            assert check["sentence"] and check["sentence"] in " ".join(ended.stdout.split())
    # Arithmetic, geometry and results hold on the CPU device too. Emulated times decide nothing.
    assert {check["name"]: check["holds"] for check in sources["sjtu"]["checks"]} == {
        "products-right": True,
        "registers-cost-a-block": True,
        "registers-cost-a-block-here": False,
        "fewer-threads-hide-better": True,
        "a-warp-reads-fewer-sectors": True,
        "coalescing-faster": None,
        "coarsening-faster": None,
        "double-buffer-faster": None,
    }
    assert "does not hold" in ended.stdout  # which is no failure
    # The slides' table and the report's lines.
    assert "44.5" in ended.stdout and "cosimple †" in ended.stdout
    assert "method 3, BLOCK_SIZE = 32" in ended.stdout
    means = [row for row in sources["tsinghua"]["rows"] if row["quantity"] == "mean"]
    assert len(means) == 14
    assert {(row["measured"], row["ratio"]) for row in means} == {(None, None)}
    # No time of the processor is printed or kept, not even that of the host's loops.
    assert not any(m["samples_ms"] for row in sources.values() for m in row["measurements"])
    assert "(ms)" not in ended.stdout and not re.search(r"here\W+ms|[\d.]+ ms\b", ended.stdout)
    assert "only the times of a GPU can show it" in " ".join(ended.stdout.split())


def test_without_a_gpu_there_is_nothing_to_draw(run):
    run(f"reproduce tsinghua {ON_CPU} --plot x.svg").refused(2, "--plot x.svg", "a GPU")


@pytest.mark.parametrize("device", ["cpu", "cpu,cpu"])
def test_courses_are_reproduced_once_each_at_the_given_size(run, tmp_path, device):
    ended = run(f"reproduce sjtu cmu sjtu --device {device} -n 16 --json out.json")
    assert ended.status == 0
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [row["source"] for row in results] == ["sjtu", "cmu"]
    assert {m["m"] for row in results for m in row["measurements"]} == {16}
    assert "16x16x16 (M x N x K); theirs: 1024x1024x1024" in ended.stdout


def test_json_on_standard_output_replaces_the_tables(run):
    ended = run(f"reproduce sjtu {ON_CPU} --json -")
    assert ended.status == 0
    (record,) = ended.records
    assert record["source"] == "sjtu"


def test_a_wrong_product_is_a_failure(run, monkeypatch):
    original = InProcessExecutor.verify

    def verify(self, case, *, thorough):
        if case.variant.method.name == "double-buffer":
            return Verdict(False, "1 of 256 elements wrong")
        return original(self, case, thorough=thorough)

    monkeypatch.setattr(InProcessExecutor, "verify", verify)
    ended = run(f"reproduce sjtu {ON_CPU}")
    assert ended.status == 1
    assert "failed double buffering at 16x16x16: 1 of 256 elements wrong" in ended.stdout
    assert "1 of 5 products failed" in " ".join(ended.stdout.split())


def test_ctrl_c_keeps_the_courses_and_cases_so_far(run, monkeypatch, tmp_path):
    original = InProcessExecutor.verify

    def verify(self, case, *, thorough):
        if case.variant.method.name == "cpu-simple":  # CMU's first host loop, after its four kernels
            raise KeyboardInterrupt
        return original(self, case, thorough=thorough)

    monkeypatch.setattr(InProcessExecutor, "verify", verify)
    ended = run(f"reproduce sjtu cmu pmpp {ON_CPU} --json out.json")
    assert ended.status == 130
    assert ended.stderr.startswith("cudamm: interrupted") and ended.stderr.count("\n") == 1
    complete, interrupted = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (complete["source"], complete["complete"]) == ("sjtu", True)
    assert (interrupted["source"], interrupted["complete"]) == ("cmu", False)
    assert [m["label"] for m in interrupted["measurements"]] == ["cosimple", "csimple", "ccblock", "cblock"]
    assert "interrupted: some parts did not run" in ended.stdout and "cblock †" in ended.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("reproduce", ["COURSE"]),
        ("reproduce mit", ["mit", "cmu"]),
        ("reproduce cmu -n 0 --device cpu", ["at least 1"]),
        ("reproduce cmu -n big --device cpu", ["big", "1024"]),
        ("reproduce cmu --device tpu", ["unknown device tpu"]),
        ("reproduce cmu --device cpu --json nowhere/out.json", ["nowhere"]),
        ("reproduce cmu --device cpu --timeout 0", ["timeout"]),
        ("reproduce pmpp --device cpu --plot out.bmp", ["--plot out.bmp", ".png"]),
    ],
)
def test_a_wrong_command_line_is_refused(run, line, words):
    run(line).refused(2, *words)
