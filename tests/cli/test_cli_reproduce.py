"""`cudamm reproduce`: the courses' runs on the CPU device, as a user sees them."""

from __future__ import annotations

import json

import pytest

from cudamm.execution.case import Verdict
from cudamm.execution.in_process_executor import InProcessExecutor

ON_CPU = "--device cpu -n 32"


def test_all_of_them(run, tmp_path):
    ended = run("reproduce all --device cpu --json all.json")
    assert ended.status == 0, ended.stderr
    document = json.loads((tmp_path / "all.json").read_text())
    assert document["schema"] == "cudamm.reproduce/1"
    sources = {row["source"]: row for row in document["results"]}
    assert list(sources) == ["cmu", "tsinghua", "sheffield", "sjtu", "pmpp"]
    for row in sources.values():
        assert row["complete"] is True
        assert all(measured["correct"] is True for measured in row["measurements"])
        for check in row["checks"]:
            assert check["sentence"] and check["sentence"] in " ".join(ended.stdout.split())
    # What carries over: arithmetic, geometry, results. No emulated time decides anything.
    assert {c["name"]: c["holds"] for c in sources["sjtu"]["checks"]} == {
        "products-right": True,
        "registers-cost-a-block": True,
        "registers-cost-a-block-here": False,
        "fewer-threads-hide-better": True,
        "a-warp-reads-fewer-sectors": True,
        "coalescing-faster": None,
        "coarsening-faster": None,
        "double-buffer-faster": None,
    }
    # Each source in its own form: the slides' table, the report's lines.
    assert "44.5" in ended.stdout and "cosimple †" in ended.stdout
    assert "method 3, BLOCK_SIZE = 32" in ended.stdout
    means = [row for row in sources["tsinghua"]["rows"] if row["quantity"] == "mean"]
    assert len(means) == 14
    for row, measured in zip(means, sources["tsinghua"]["measurements"], strict=True):
        runs = measured["samples_ms"]
        assert len(runs) == 5
        assert row["measured"] == pytest.approx(sum(runs) / 5)
        written = " + ".join(f"{ms:.6f}" for ms in runs)
        assert f"(ms) ({written}) / 5 = {sum(runs) / 5:.6f}" in ended.stdout
    assert {row["ratio"] for row in means} == {None}


def test_one_at_a_size(run, tmp_path):
    ended = run(f"reproduce sjtu cmu sjtu {ON_CPU} --json out.json")
    assert ended.status == 0
    results = json.loads((tmp_path / "out.json").read_text())["results"]
    assert [row["source"] for row in results] == ["sjtu", "cmu"]
    assert {m["m"] for row in results for m in row["measurements"]} == {32}
    assert "32x32x32 (M x N x K); theirs: 1024x1024x1024" in ended.stdout


def test_json_alone(run):
    ended = run(f"reproduce sjtu {ON_CPU} --json -")
    assert ended.status == 0
    (record,) = ended.records
    assert record["source"] == "sjtu"


def test_a_wrong_product_fails_where_a_conclusion_does_not(run, monkeypatch):
    original = InProcessExecutor.verify

    def verify(self, case, *, thread_order):
        if case.variant.method.name == "double-buffer":
            return Verdict(False, "1 of 1024 elements wrong")
        return original(self, case, thread_order=thread_order)

    ended = run(f"reproduce sjtu {ON_CPU}")
    assert ended.status == 0 and "does not hold" in ended.stdout
    monkeypatch.setattr(InProcessExecutor, "verify", verify)
    ended = run(f"reproduce sjtu {ON_CPU}")
    assert ended.status == 1
    assert "failed double buffering at 32x32x32: 1 of 1024 elements wrong" in ended.stdout
    assert "1 of 5 products failed" in " ".join(ended.stdout.split())


def test_ctrl_c_keeps_what_was_done(run, monkeypatch, tmp_path):
    original = InProcessExecutor.verify

    def verify(self, case, *, thread_order):
        if case.variant.method.name == "cpu-simple":  # CMU's first host loop, after its four kernels
            raise KeyboardInterrupt
        return original(self, case, thread_order=thread_order)

    monkeypatch.setattr(InProcessExecutor, "verify", verify)
    ended = run(f"reproduce sjtu cmu pmpp {ON_CPU} --json out.json")
    assert ended.status == 130
    assert ended.stderr.startswith("cudamm: interrupted") and ended.stderr.count("\n") == 1
    whole, cut = json.loads((tmp_path / "out.json").read_text())["results"]
    assert (whole["source"], whole["complete"]) == ("sjtu", True)
    assert (cut["source"], cut["complete"]) == ("cmu", False)
    assert [m["label"] for m in cut["measurements"]] == ["cosimple", "csimple", "ccblock", "cblock"]
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
    ],
)
def test_what_makes_no_sense_is_refused(run, line, words):
    run(line).refused(2, *words)


def test_a_picture_has_the_published_curves_and_no_rate_of_an_emulated_kernel(run, tmp_path) -> None:
    ended = run("reproduce tsinghua sjtu --device cpu -n 16 --plot out.svg")
    assert (ended.status, ended.stderr) == (0, "")
    picture = (tmp_path / "out.svg").read_text()
    assert "tsinghua: 16 x 16 x 16, int32" in picture and "Tsinghua 2022, scaled" in picture
    assert "sjtu" not in picture  # nothing of it runs on the host
    run("reproduce pmpp --device cpu -n 16 --plot out.bmp").refused(2, "--plot out.bmp", ".png")
