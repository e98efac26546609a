"""Kernels that cheat: each file of this folder says in its comment how, and what cudamm reports."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Result
from cudamm.benchmark.sampling_policy import Settings
from cudamm.devices.device import Device
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.kernels.header import read_method
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

FOLDER = Path(__file__).parent
SAMPLES = 60
NOTHING = "nothing"

REPORTS = re.compile(
    r"^// (?P<command>verify|bench)(?: at (?P<shape>\w+))?(?: with --dtype (?P<dtype>\w+))?"
    r" reports: (?P<what>.+)$",
    re.MULTILINE,
)
ON_A_GPU = re.compile(r"^// on a GPU: (?P<what>.+)$", re.MULTILINE)

NOT_ON_A_GPU = {"background_thread": "a kernel on a GPU cannot start threads of the host"}


@dataclasses.dataclass(frozen=True)
class Cheat:
    """A kernel of this folder, and what its comment says is reported."""

    path: Path
    command: str
    shape: str
    dtype: str
    reported: str
    reported_on_gpu: str


def _cheat(path: Path) -> Cheat:
    text = path.read_text()
    found, on_gpu = REPORTS.search(text), ON_A_GPU.search(text)
    assert found, f"{path.name} does not say what is reported"
    what = found["what"]
    return Cheat(
        path,
        found["command"],
        found["shape"] or "48x48x48",
        found["dtype"] or "float32",
        what,
        on_gpu["what"] if on_gpu else what,
    )


CHEATS = [_cheat(path) for path in sorted(FOLDER.glob("*.cu"))]


PARAMETERS = [pytest.param(cheat, id=cheat.path.stem) for cheat in CHEATS]


def _reported(result: Result, what: str) -> bool:
    if what == NOTHING:
        return result.status == "ok"
    return result.status == "failed" and what in result.reason


def _timed(device: Device[Any], cheat: Cheat, **settings: Any) -> Result:
    (variant,) = variants(read_method(cheat.path), {})
    problem = Problem(parse_shape(cheat.shape), ELEMENT_TYPES[cheat.dtype])
    with InProcessExecutor(device) as executor:
        chosen = Settings(runs=SAMPLES, warmup=0, **settings)
        (result,) = bench(executor, [(variant, problem)], chosen, lambda *_: None)
    return result


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "cheat",
    # Every other one is tested with the long tests, which CI runs too.
    [pytest.param(c, id=c.path.stem, marks=[pytest.mark.long] * (i % 2)) for i, c in enumerate(CHEATS)],
)
def test_a_cheat_is_reported(cpu: Device[Any], verify_one: Callable[..., Result], cheat: Cheat) -> None:
    if cheat.command == "bench":
        result = _timed(cpu, cheat)
    else:
        result = verify_one(cpu, cheat.path, cheat.shape, cheat.dtype)
    assert _reported(result, cheat.reported), (result.status, result.reason)


@pytest.mark.gpu
@pytest.mark.parametrize("cheat", PARAMETERS)
def test_a_cheat_is_reported_on_a_gpu(gpu: Device[Any], cheat: Cheat) -> None:
    if cheat.path.stem in NOT_ON_A_GPU:
        pytest.skip(NOT_ON_A_GPU[cheat.path.stem])
    result = _timed(gpu, cheat)
    # Chance decides which launches are judged, and so whether only the first one is known to be right.
    first, early = "right on the first launch", "right on early launches"
    result = dataclasses.replace(result, reason=result.reason.replace(early, first))
    assert _reported(result, cheat.reported_on_gpu.replace(early, first)), (result.status, result.reason)


def test_each_cheat_is_in_the_docs() -> None:
    text = (FOLDER.parents[1] / "docs" / "trust.md").read_text()
    assert [cheat.path.stem for cheat in CHEATS if f"`{cheat.path.stem}`" not in text] == []
