"""The same compiled kernels timed by NVBench and by cudamm, in one process: do the medians agree?

Needs a GPU and NVBench's Python package: pip install 'cuda-bench[cu13]'. Run with:
python benchmarks/against_nvbench.py

Cold, both write over the L2 cache before each sample: NVBench as many bytes as it holds, cudamm twice as
many. What the former leaves in place depends on where the memory lies, and is worth several percent of a
short kernel: cudamm is run both ways, as NVBench does with buffers at several places, since where NVBench's
lies is not known. They agree where NVBench's median is within the range of those, the tolerance added.

Hot, both launch in batches; NVBench then reports the mean of all launches, so that is what the median of
cudamm's batches is compared with. Some kernels are now 1% faster and now slower for as long as either looks:
each is measured three times, in turn, and the medians of those are compared.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from cudamm.benchmark.measure import bench
from cudamm.benchmark.result import Cache, Result
from cudamm.benchmark.sampling_policy import Settings
from cudamm.devices.find_device import find_gpu
from cudamm.execution.case import Case
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, variants

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
METHODS = ("coalesced", "tiled", "register-tile")
TURNS: tuple[Cache, ...] = ("cold", "hot", "hot", "hot")
SHORT_US = 20.0
"""Below it differences are judged in microseconds, above it in percent."""

SHORT_LAUNCHES = 200
"""Of a short kernel in one call of NVBench's into Python: two calls are queued before its clock runs."""

LAUNCHES_IN_C = """
typedef int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);
int launches(launch one, int count, void *kernel, const unsigned *sizes, void *stream, void **arguments) {
    int error = 0;
    while (count-- && !error)
        error = one(kernel, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5], sizes[6], stream,
                    arguments, 0);
    return error;
}
"""
"""Python takes 4 µs for a launch on some machines, as long as the shortest kernel here takes."""

MAX_NOISE = 0.002

PLACES = 4
"""Of the buffer that is written as NVBench writes it."""

MOST_US, MOST_SHARE = 0.3, 0.01


@dataclass
class Row:
    """One kernel on one problem, in microseconds by cudamm and by NVBench."""

    name: str
    n: int
    cold_us: float = 0.0
    like_nvbench_us: list[float] = field(default_factory=list)
    nvbench_cold_us: float = 0.0
    hot_us: list[float] = field(default_factory=list)
    nvbench_hot_us: list[float] = field(default_factory=list)
    hot_launches: int = 1


class _OfPyCuda:
    """PyCUDA's stream, as NVBench asks for one."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self._stream.handle)


def main() -> None:
    """Measure and print a row a kernel and size."""
    with find_gpu() as device:
        here = InProcessExecutor(device)
        problems = [Problem(Shape(n, n, n), ELEMENT_TYPES["float32"]) for n in SIZES]
        chosen = [variants(find(name), {})[0] for name in METHODS]
        cases = [(variant, problem) for problem in problems for variant in chosen]
        rows = [Row(str(variant), problem.shape.n) for variant, problem in cases]
        _measure(here, cases, rows)
        _show(rows, f"{device.info.name}, driver {device.info.properties['driver']}", here)


def _loaded(case: Case) -> ctypes.c_void_p:
    """The kernel, for both: where its code lies in memory can make 3% of a difference for a cold launch."""
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if cuda.cuModuleLoadData(ctypes.byref(module), case.compiled.image) or cuda.cuModuleGetFunction(
        ctypes.byref(function), module, case.compiled.kernel.encode()
    ):
        sys.exit("the driver does not load the kernel again")
    return function


def _launches_in_c(folder: str) -> Any:
    """`LAUNCHES_IN_C`, compiled."""
    source, library = Path(folder, "launches.c"), Path(folder, "launches.so")
    source.write_text(LAUNCHES_IN_C)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).launches


def _driver_call(
    in_c: Any, function: ctypes.c_void_p, run: Any, stream: int, count: int = 1
) -> Callable[[], None]:
    """So many launches by the driver, everything converted beforehand."""
    types = {"P": ctypes.c_uint64, "i": ctypes.c_int32}
    values = [types[kind](value) for kind, value in zip(run._kernel._formats, run._arguments, strict=True)]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    sizes = (ctypes.c_uint * 7)(*run.plan.grid, *run.plan.block, run.plan.shared_bytes)
    one = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p)
    fixed = (one, ctypes.c_int(count), function, sizes, ctypes.c_void_p(stream), pointers)

    def launch(_alive: Any = values) -> None:
        if in_c(*fixed):
            sys.exit("a launch failed")

    return launch


def _measure(here: InProcessExecutor, cases: list[tuple[Variant, Problem]], rows: list[Row]) -> None:
    """Fill in the rows."""
    import cuda.bench
    from pycuda import driver

    stream = driver.Stream()
    done: list[tuple[Row, Cache]] = []

    def measure(state: Any) -> None:
        index, cache = state.get_int64("case"), TURNS[state.get_int64("turn")]
        asked, row = [cases[index]], rows[index]
        (case,) = prepare(here, asked, True, _quiet)
        # Left where they are, they keep this run and its matrices.
        settings = Settings(cache=cache, max_noise=MAX_NOISE)
        ways = [bench(here, asked, settings, _quiet) for _ in range(1 + PLACES)]
        state.set_stream(_OfPyCuda(stream))
        with here.open(case) as run:
            function = _loaded(case)
            run._enqueue = _driver_call(in_c, function, run, 0)  # type: ignore[attr-defined]
            theirs = int(stream.handle)
            if cache == "hot":
                row.hot_us.append(_median_us(next(ways[0])))
                if row.hot_us[0] < SHORT_US:  # one launch a call, and a batch of many, would time Python
                    row.hot_launches = SHORT_LAUNCHES
                    state.set_min_samples(2)
                    state.set_batch_target_time(1e-6)
                launch = _driver_call(in_c, function, run, theirs, row.hot_launches)
                state.exec(lambda _: launch(), batched=True)
            else:
                row.cold_us = _median_us(next(ways[0]))
                support = run._device.support  # type: ignore[attr-defined]
                with contextlib.ExitStack() as held:  # each buffer lies elsewhere while the others are there
                    for way in ways[1:]:
                        held.enter_context(support.flushing(here.target.info.properties["l2_bytes"]))
                        row.like_nvbench_us.append(_median_us(next(way)))
                launch = _driver_call(in_c, function, run, theirs)
                state.exec(lambda _: launch(), batched=False)
        done.append((row, cache))

    benchmark = cuda.bench.register(measure)
    benchmark.add_int64_axis("case", list(range(len(cases))))
    benchmark.add_int64_axis("turn", list(range(len(TURNS))))
    with tempfile.TemporaryDirectory() as folder:
        in_c = _launches_in_c(folder)
        path = Path(folder, "nvbench.json")
        cuda.bench.run_all_benchmarks([sys.argv[0], "--json", str(path), "--quiet"])
        states = json.loads(path.read_text())["benchmarks"][0]["states"]
    for (row, cache), state in zip(done, states, strict=True):
        times_us = {s["tag"]: 1e6 * float(s["data"][0]["value"]) for s in state["summaries"] if s.get("data")
                    and s["tag"].startswith(("nv/cold/time/gpu/", "nv/batch/time/gpu/"))}  # fmt: skip
        if cache == "hot":
            row.nvbench_hot_us.append(times_us["nv/batch/time/gpu/mean"] / row.hot_launches)
        else:
            row.nvbench_cold_us = times_us["nv/cold/time/gpu/median"]


def _median_us(result: Result) -> float:
    if result.status != "ok" or result.median_ms is None:
        sys.exit(f"{result.method}: {result.reason}")
    return 1e3 * result.median_ms


def _quiet(doing: str, done: int, total: int) -> None:
    """No progress."""


def _show(rows: list[Row], where: str, here: InProcessExecutor) -> None:
    import cuda.bench

    floor_us = 1e3 * (here.facts().event_floor_ms or 0.0)
    table = Table(
        title=f"Medians by cudamm and by NVBench {cuda.bench.__version__}, µs, on {where}, "
        f"{datetime.date.today()}; an event pair around an empty kernel reads {floor_us:.2f} µs",
        title_justify="left",
    )
    table.add_column("kernel")
    for name in ("n", "cold, 2 L2", "cold, 1 L2", "NVBench", "difference", "hot", "NVBench", "difference"):
        table.add_column(name, justify="right")
    missed = 0
    for row in rows:
        cells = [f"{row.cold_us:.2f}"]
        for ours_us, theirs_us in (
            (row.like_nvbench_us, row.nvbench_cold_us),
            ([median(row.hot_us)], median(row.nvbench_hot_us)),
        ):
            low, high = min(ours_us), max(ours_us)
            difference, agrees = _difference(min(max(theirs_us, low), high), theirs_us)
            missed += not agrees
            shown = f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f}–{high:.2f}"
            cells += [shown, f"{theirs_us:.2f}", difference + ("" if agrees else " !")]
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
