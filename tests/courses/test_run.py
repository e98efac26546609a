"""Running the groups of a course: settings, interrupted runs and the record."""

from __future__ import annotations

import dataclasses
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


def cpu_setting(executor):
    return CPU


def make_case(label, method="tiled", shape=SMALL, dtype="float32"):
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


def timed(*cases, **fields):
    return Group(cases, Settings(runs=2, warmup=0), **fields)


@pytest.fixture
def executor(cpu):
    with InProcessExecutor(cpu) as executor:
        yield executor


@pytest.mark.slow
def test_groups_are_run_with_their_own_settings_and_timed_beside_a_gpu_only(executor):
    groups = (
        timed(make_case("first"), make_case("second", "coalesced"), make_case("other", shape=OTHER)),
        Group((make_case("exact"),), Settings(fmad=False), is_timed=False),
    )
    beside_gpu = dataclasses.replace(CPU, is_gpu=True)
    (reproduction,) = reproduce(executor, [source(*groups)], lambda _: beside_gpu, silent)
    assert [len(o.result.timing.samples_ms) for o in reproduction.outcomes] == [2, 2, 2, 0]
    (reproduction,) = reproduce(executor, [source(*groups)], cpu_setting, silent)
    assert [o.case.label for o in reproduction.outcomes] == ["first", "second", "other", "exact"]
    assert not any(o.result.timing.samples_ms for o in reproduction.outcomes)
    assert [o.result.fmad for o in reproduction.outcomes] == [True, True, True, False]
    assert [o.result.verdict.bit_equal for o in reproduction.outcomes] == [None, None, None, True]
    assert [str(Shape(o.result.m, o.result.n, o.result.k)) for o in reproduction.outcomes][2] == "16x24x8"
    assert reproduction.is_complete and reproduction.is_right
    assert reproduction.remarks == ("a remark",)


def test_a_group_that_is_not_run_is_skipped_with_its_reason(executor):
    earlier_labels = []

    def why_not(earlier):
        earlier_labels.append([o.case.label for o in earlier])
        return "it would take a day"

    groups = (timed(make_case("first")), timed(make_case("second"), why_not=why_not))
    (reproduction,) = reproduce(executor, [source(*groups)], cpu_setting, silent)
    assert earlier_labels == [["first"]]
    assert [o.result.status for o in reproduction.outcomes] == ["ok", "skipped"]
    assert reproduction.outcomes[1].result.reason == "it would take a day"
    assert reproduction.is_right
    assert reproduction.findings.checks[0].sentence.startswith("1 of 1 products")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), NoDeviceError("it fell off the bus")])
def test_outcomes_of_an_interrupted_course_are_kept(executor, error):
    def stop(earlier):
        raise error

    whole = source(timed(make_case("whole")))
    interrupted = source(timed(make_case("first")), timed(make_case("no"), why_not=stop))
    running = reproduce(executor, [whole, interrupted, whole], cpu_setting, silent)
    assert next(running).is_complete
    reproduction = next(running)
    assert not reproduction.is_complete
    assert [o.case.label for o in reproduction.outcomes] == ["first"]
    with pytest.raises(type(error)):
        next(running)


def test_a_course_interrupted_before_its_first_outcome_is_not_reported(executor):
    def stop(earlier):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(reproduce(executor, [source(timed(make_case("no"), why_not=stop))], cpu_setting, silent))


def test_the_record_is_json_with_every_measurement(executor):
    (reproduction,) = reproduce(
        executor,
        [source(timed(make_case("first", dtype="int32")))],
        lambda _: dataclasses.replace(CPU, is_gpu=True),
        silent,
    )
    record = json.loads(json.dumps(reproduction.record()))
    assert record["source"] == "made-up" and record["complete"] is True
    assert [check["name"] for check in record["checks"]] == ["products-right", "count"]
    (measurement,) = record["measurements"]
    assert measurement["label"] == "first" and measurement["method"] == "tiled"
    assert len(measurement["samples_ms"]) == 2 and measurement["bit_equal"] is True
