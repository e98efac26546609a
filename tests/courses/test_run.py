"""Running a source's groups: what is run how, what is kept of an interrupted run, what is written."""

from __future__ import annotations

import json

import pytest
from made_up_outcomes import CPU, silent

from cudamm.benchmark.sampling_policy import Settings
from cudamm.courses.conclusions import case, right
from cudamm.courses.course_records import Conclusion, CourseReport, Group, Plan, Source
from cudamm.courses.reproduce import reproduce
from cudamm.errors import NoDeviceError
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.problem import Shape

SMALL, OTHER = Shape(8, 8, 8), Shape(16, 24, 8)


def one(label, method="tiled", shape=SMALL, dtype="float32"):
    return case(label, method, shape, CPU, dtype, {"BLOCK_SIZE": 8})


def source(*groups, name="made-up"):
    plan = Plan(CPU, groups, remarks=("a remark",))
    return Source(
        name,
        "A made-up course",
        lambda setting, progress: plan,
        lambda planned, outcomes: CourseReport(
            (), (right(outcomes), Conclusion("count", None, str(len(outcomes))))
        ),
    )


def timed(*cases, **how):
    return Group(cases, Settings(runs=2, warmup=0), **how)


@pytest.fixture
def here(cpu):
    with InProcessExecutor(cpu) as executor:
        yield executor


def test_groups_are_run_as_they_say(here):
    groups = (
        timed(one("first"), one("second", "coalesced"), one("other", shape=OTHER)),
        Group((one("exact"),), Settings(fmad=False), is_timed=False),
    )
    (found,) = reproduce(here, [source(*groups)], CPU, silent)
    assert [o.case.label for o in found.outcomes] == ["first", "second", "other", "exact"]
    assert [len(o.result.timing.samples_ms) for o in found.outcomes] == [2, 2, 2, 0]
    assert [o.result.fmad for o in found.outcomes] == [True, True, True, False]
    assert [o.result.verdict.bit_equal for o in found.outcomes] == [None, None, None, True]
    assert [str(Shape(o.result.m, o.result.n, o.result.k)) for o in found.outcomes][2] == "16x24x8"
    assert found.is_complete and found.is_right
    assert found.remarks == ("a remark",)


def test_what_is_not_to_be_run_is_told_and_is_no_failure(here):
    seen = []

    def why_not(earlier):
        seen.append([o.case.label for o in earlier])
        return "it would take a day"

    groups = (timed(one("first")), timed(one("second"), why_not=why_not))
    (found,) = reproduce(here, [source(*groups)], CPU, silent)
    assert seen == [["first"]]
    assert [o.result.status for o in found.outcomes] == ["ok", "skipped"]
    assert found.outcomes[1].result.reason == "it would take a day"
    assert found.is_right
    assert found.findings.checks[0].sentence.startswith("1 of 1 products")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), NoDeviceError("it fell off the bus")])
def test_what_was_run_is_kept_when_the_rest_is_not(here, error):
    def stop(earlier):
        raise error

    done, cut = source(timed(one("whole"))), source(timed(one("first")), timed(one("no"), why_not=stop))
    running = reproduce(here, [done, cut, done], CPU, silent)
    assert next(running).is_complete
    found = next(running)
    assert not found.is_complete
    assert [o.case.label for o in found.outcomes] == ["first"]
    with pytest.raises(type(error)):
        next(running)


def test_nothing_is_said_of_a_source_of_which_nothing_was_run(here):
    def stop(earlier):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(reproduce(here, [source(timed(one("no"), why_not=stop))], CPU, silent))


def test_the_record_is_json_with_every_measurement(here):
    (found,) = reproduce(here, [source(timed(one("first", dtype="int32")))], CPU, silent)
    record = json.loads(json.dumps(found.record()))
    assert record["source"] == "made-up" and record["complete"] is True
    assert [check["name"] for check in record["checks"]] == ["products-right", "count"]
    (measurement,) = record["measurements"]
    assert measurement["label"] == "first" and measurement["method"] == "tiled"
    assert len(measurement["samples_ms"]) == 2 and measurement["bit_equal"] is True
