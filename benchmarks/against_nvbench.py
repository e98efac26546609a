"""The same compiled kernels timed by NVBench and by cudamm, in one process: do the medians agree?

Needs a GPU and NVBench's Python package: pip install 'cuda-bench[cu13]'. Run with:
python benchmarks/against_nvbench.py

Cold, both write over the L2 cache before each sample. Hot, both launch in batches; NVBench then reports the
mean of all launches, so that is what the median of cudamm's batches is compared with.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from cudamm.catalog import ELEMENT_TYPES, Variant, find, variants
from cudamm.devices.find import find_gpu
from cudamm.executor import Here
from cudamm.measure import Settings, bench
from cudamm.prepare import Prepared, prepare
from cudamm.problem import Problem, Shape

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
METHODS = ("coalesced", "tiled", "register-tile")
SHORT_US = 20.0
"""Below it differences are judged in microseconds, above it in percent."""

MOST_US, MOST_SHARE = 0.3, 0.01


@dataclass(frozen=True)
class Row:
    """One kernel, both ways."""

    name: str
    n: int
    cold_us: tuple[float, float]
    hot_us: tuple[float, float]


class _OfPyCuda:
    """PyCUDA's stream, as NVBench asks for one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self._stream.handle)


def main() -> None:
    """Measure and print a row a kernel and size."""
    with find_gpu() as device:
        here = Here(device)
        problems = [Problem(Shape(n, n, n), ELEMENT_TYPES["float32"]) for n in SIZES]
        chosen = [variants(find(name), {})[0] for name in METHODS]
        cases = [(variant, problem) for problem in problems for variant in chosen]
        ours: dict[str, list[float]] = {}
        for cache in ("cold", "hot"):
            results = bench(here, cases, Settings(cache=cache), lambda *_: None)  # type: ignore[arg-type]
            by_position = sorted(results, key=lambda r: r.position)
            failed = [r.reason for r in by_position if r.status != "ok"]
            if failed:
                sys.exit("\n".join(failed))
            ours[cache] = [1e3 * (r.median_ms or 0.0) for r in by_position]
        theirs = _nvbench(here, cases)
        rows = [
            Row(
                str(variant), problem.shape.n, (ours["cold"][i], theirs[i][0]), (ours["hot"][i], theirs[i][1])
            )
            for i, (variant, problem) in enumerate(cases)
        ]
        _show(rows, f"{device.info.name}, driver {device.info.properties['driver']}", here)


def _driver_call(case: Prepared, run: Any, stream: int) -> Callable[[], None]:
    """The launch as one call of the driver, everything converted beforehand.

    NVBench queues two launches before its clock runs, cudamm all of them: for kernels shorter than a call
    from Python takes, NVBench would time Python.
    """
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if cuda.cuModuleLoadData(ctypes.byref(module), case.compiled.image) or cuda.cuModuleGetFunction(
        ctypes.byref(function), module, case.compiled.kernel.encode()
    ):
        sys.exit("the driver does not load the kernel again")
    types = {"P": ctypes.c_uint64, "i": ctypes.c_int32}
    values = [types[kind](value) for kind, value in zip(run._kernel.formats, run._arguments, strict=True)]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    numbers = [ctypes.c_uint(x) for x in (*run.plan.grid, *run.plan.block, run.plan.shared_bytes)]
    fixed = (function, *numbers, ctypes.c_void_p(stream), pointers, None)
    call, _alive = cuda.cuLaunchKernel, values

    def launch(_alive: Any = _alive) -> None:
        if call(*fixed):
            sys.exit("a launch failed")

    return launch


def _nvbench(here: Here, cases: list[tuple[Variant, Problem]]) -> list[tuple[float, float]]:
    """NVBench's cold median and its mean over batches, microseconds."""
    import cuda.bench
    from pycuda import driver

    stream = driver.Stream()

    def measure(state: Any) -> None:
        case = prepared[state.get_int64("case")]
        state.set_stream(_OfPyCuda(stream))
        with here.open(case) as run:
            run.launch()
            launch = _driver_call(case, run, int(stream.handle))
            state.exec(lambda _: launch(), batched=True)

    prepared = prepare(here, cases, True, lambda *_: None)
    found: list[tuple[float, float]] = []
    benchmark = cuda.bench.register(measure)
    benchmark.add_int64_axis("case", list(range(len(cases))))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "nvbench.json")
        cuda.bench.run_all_benchmarks([sys.argv[0], "--json", str(path), "--quiet"])
        for state in json.loads(path.read_text())["benchmarks"][0]["states"]:
            times = {s["tag"]: float(s["data"][0]["value"]) for s in state["summaries"] or () if s.get("data")
                     and s["tag"].startswith(("nv/cold/time/gpu/", "nv/batch/time/gpu/"))}  # fmt: skip
            found.append((1e6 * times["nv/cold/time/gpu/median"], 1e6 * times["nv/batch/time/gpu/mean"]))
    return found


def _show(rows: list[Row], where: str, here: Here) -> None:
    import cuda.bench

    floor_us = 1e3 * (here.facts().event_floor_ms or 0.0)
    table = Table(
        title=f"Medians by cudamm and by NVBench {cuda.bench.__version__}, µs, on {where}, "
        f"{datetime.date.today()}; an event pair around an empty kernel reads {floor_us:.2f} µs",
        title_justify="left",
    )
    table.add_column("kernel")
    for name in ("n", "cold: cudamm", "NVBench", "difference", "hot: cudamm", "NVBench", "difference"):
        table.add_column(name, justify="right")
    missed = 0
    for row in rows:
        cells = []
        for ours_us, theirs_us in (row.cold_us, row.hot_us):
            difference, agrees = _difference(ours_us, theirs_us)
            missed += not agrees
            cells += [f"{ours_us:.2f}", f"{theirs_us:.2f}", difference + ("" if agrees else " !")]
        table.add_row(row.name, str(row.n), *cells)
    Console(width=150).print(table)
    print(f"{2 * len(rows) - missed} of {2 * len(rows)} within {MOST_SHARE:.0%}, or {MOST_US} µs below 20 µs")


def _difference(ours_us: float, theirs_us: float) -> tuple[str, bool]:
    apart_us = ours_us - theirs_us
    if theirs_us < SHORT_US:
        return f"{apart_us:+.2f} µs", abs(apart_us) <= MOST_US
    return f"{apart_us / theirs_us:+.2%}", abs(apart_us) <= MOST_SHARE * theirs_us


if __name__ == "__main__":
    main()
