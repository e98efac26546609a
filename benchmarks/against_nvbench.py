"""Compare the medians of NVBench and of cudamm, which time the same compiled kernels in one process.

The script needs a GPU and NVBench's Python package: pip install 'cuda-bench[cu13]'. Run it with:
python benchmarks/against_nvbench.py [-n SIZE ...] [-m METHOD ...]

Cold: both overwrite the L2 cache before each sample. NVBench writes as many bytes as the cache has, and
cudamm twice as many. After NVBench's smaller write some data may stay in the cache. The amount depends on
the addresses of the written buffer and of the matrices, and changes the time of a short kernel by several
percent. The address of NVBench's buffer is unknown; its matrices stay where they are, while cudamm's move
from sample to sample. Therefore both measure three times, each time with matrices elsewhere, and cudamm also
with NVBench's rule for buffers at several addresses. The medians agree if the ranges of both meet, plus the
tolerance.

Hot: both launch in batches. NVBench reports only the mean of all launches, which is compared with the median
of cudamm's batches. Some kernels are 1% faster in one measurement than in the next. Therefore both measure
each kernel three times, in turn, and the medians of three are compared.
"""

from __future__ import annotations

import argparse
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
from cudamm.errors import KernelError
from cudamm.execution.case import Case
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import find
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import Variant, variants

SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
METHODS = ("coalesced", "tiled", "register-tile")
TURNS: tuple[Cache, ...] = ("cold", "hot") * 3
SHORT_US = 20.0
"""Differences are judged in microseconds for kernels shorter than this, otherwise in percent."""

SHORT_LAUNCHES = 200
"""Launches of a short kernel per call of NVBench into Python: it queues two calls, then starts its clock."""

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
"""Source of a launcher in C: Python needs up to 4 µs per launch, as much time as the shortest kernel."""

MAX_NOISE = 0.002

PLACES = 2
"""Number of buffers, each at another address, for the measurements with NVBench's rule in a turn."""

MOST_US, MOST_SHARE = 0.3, 0.01
"""Maximum difference that counts as agreement: in microseconds for short kernels, relative for others."""


@dataclass
class Row:
    """The times of one kernel on one problem, by cudamm and by NVBench, in microseconds."""

    name: str
    n: int
    cold_us: list[float] = field(default_factory=list)
    like_nvbench_us: list[float] = field(default_factory=list)
    nvbench_cold_us: list[float] = field(default_factory=list)
    hot_us: list[float] = field(default_factory=list)
    nvbench_hot_us: list[float] = field(default_factory=list)
    hot_launches: int = 1


class _NvbenchStream:
    """A stream of PyCUDA with the method that NVBench requires."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self._stream.handle)


def main() -> None:
    """Measure, and print one row per kernel and size."""
    parser = argparse.ArgumentParser(description="Compare the medians of NVBench and of cudamm.")
    parser.add_argument("-n", type=int, action="append", help="size of square matrices; repeatable")
    parser.add_argument("-m", action="append", help="method; repeatable")
    arguments = parser.parse_args()
    with find_gpu() as device:
        executor = InProcessExecutor(device)
        problems = [Problem(Shape(n, n, n), ELEMENT_TYPES["float32"]) for n in arguments.n or SIZES]
        chosen = [variants(find(name), {})[0] for name in arguments.m or METHODS]
        cases = [(variant, problem) for problem in problems for variant in chosen]
        rows = [Row(str(variant), problem.shape.n) for variant, problem in cases]
        _measure(executor, cases, rows)
        _show(rows, f"{device.info.name}, driver {device.info.properties['driver']}", executor)


def _load(case: Case) -> ctypes.c_void_p:
    """Load a case's kernel and return its function.

    Both measure this one copy: the address of the code can change the time of a cold launch by 3%.
    """
    if isinstance(case.compiled, KernelError):
        sys.exit(f"{case.title}: {case.compiled}")
    cuda = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    if cuda.cuModuleLoadData(ctypes.byref(module), case.compiled.image) or cuda.cuModuleGetFunction(
        ctypes.byref(function), module, case.compiled.kernel.encode()
    ):
        sys.exit("the driver does not load the kernel again")
    return function


def _launches_in_c(folder: str) -> Any:
    """Compile `LAUNCHES_IN_C` and return its function."""
    source, library = Path(folder, "launches.c"), Path(folder, "launches.so")
    source.write_text(LAUNCHES_IN_C)
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return ctypes.CDLL(str(library)).launches


def _driver_call(
    in_c: Any, function: ctypes.c_void_p, run: Any, stream: int, count: int = 1
) -> Callable[[], None]:
    """Return a function that launches a kernel `count` times; all arguments are converted beforehand."""
    types = {"P": ctypes.c_uint64, "i": ctypes.c_int32}
    values = [types[kind](value) for kind, value in zip(run._kernel._formats, run._arguments, strict=True)]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    sizes = (ctypes.c_uint * 7)(*run.plan.grid, *run.plan.block, run.plan.shared_bytes)
    launch_kernel = ctypes.cast(ctypes.CDLL("libcuda.so.1").cuLaunchKernel, ctypes.c_void_p)
    arguments = (launch_kernel, ctypes.c_int(count), function, sizes, ctypes.c_void_p(stream), pointers)

    def launch(_keep_alive: Any = values) -> None:
        if in_c(*arguments):
            sys.exit("a launch failed")

    return launch


def _measure(executor: InProcessExecutor, cases: list[tuple[Variant, Problem]], rows: list[Row]) -> None:
    """Measure the cases and write the times into the rows."""
    import cuda.bench
    from pycuda import driver

    stream = driver.Stream()
    done: list[tuple[Row, Cache]] = []

    def measure(state: Any) -> None:
        index, cache = state.get_int64("case"), TURNS[state.get_int64("turn")]
        requested, row = [cases[index]], rows[index]
        (case,) = prepare(executor, requested, True, _ignore_progress, verified=True)
        # The generators stay unfinished, so that the run and its matrices stay allocated.
        settings = Settings(cache=cache, max_noise=MAX_NOISE)
        benches = [bench(executor, requested, settings, _ignore_progress) for _ in range(1 + PLACES)]
        state.set_stream(_NvbenchStream(stream))
        with executor.open(case) as run:
            function = _load(case)
            run._enqueue = _driver_call(in_c, function, run, 0)  # type: ignore[attr-defined]
            nvbench_stream = int(stream.handle)
            if cache == "hot":
                row.hot_us.append(_median_us(next(benches[0])))
                if row.hot_us[0] < SHORT_US:  # a batch of calls with one launch each would time Python
                    row.hot_launches = SHORT_LAUNCHES
                    state.set_min_samples(2)
                    state.set_batch_target_time(1e-6)
                launch = _driver_call(in_c, function, run, nvbench_stream, row.hot_launches)
                state.exec(lambda _: launch(), batched=True)
            else:
                row.cold_us.append(_median_us(next(benches[0])))
                support = run._device.support  # type: ignore[attr-defined]
                with contextlib.ExitStack() as buffers:  # all stay allocated, so each has another address
                    for unfinished in benches[1:]:
                        buffers.enter_context(support.flushing(executor.target.info.properties["l2_bytes"]))
                        row.like_nvbench_us.append(_median_us(next(unfinished)))
                launch = _driver_call(in_c, function, run, nvbench_stream)
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
            row.nvbench_cold_us.append(times_us["nv/cold/time/gpu/median"])


def _median_us(result: Result) -> float:
    if result.status != "ok" or result.median_ms is None:
        sys.exit(f"{result.method}: {result.reason}")
    return 1e3 * result.median_ms


def _ignore_progress(doing: str, done: int, total: int) -> None:
    """Report no progress."""


def _show(rows: list[Row], machine: str, executor: InProcessExecutor) -> None:
    import cuda.bench

    floor_us = 1e3 * (executor.facts().event_floor_ms or 0.0)
    table = Table(
        title=f"Medians by cudamm and by NVBench {cuda.bench.__version__}, µs, on {machine}, "
        f"{datetime.date.today()}; two events around an empty kernel are {floor_us:.2f} µs apart",
        title_justify="left",
    )
    table.add_column("kernel")
    for name in ("n", "cold, 2 L2", "cold, 1 L2", "NVBench", "difference", "hot", "NVBench", "difference"):
        table.add_column(name, justify="right")
    disagreements = 0
    for row in rows:
        cells = [_range(row.cold_us)]
        for ours_us, theirs_us in (
            (row.like_nvbench_us, row.nvbench_cold_us),
            ([median(row.hot_us)], [median(row.nvbench_hot_us)]),
        ):
            # The two times of the ranges that are nearest to each other.
            theirs_nearest_us = min(max(median(ours_us), min(theirs_us)), max(theirs_us))
            nearest_us = min(max(theirs_nearest_us, min(ours_us)), max(ours_us))
            difference, agrees = _difference(nearest_us, theirs_nearest_us)
            disagreements += not agrees
            cells += [_range(ours_us), _range(theirs_us), difference + ("" if agrees else " !")]
        table.add_row(row.name, str(row.n), *cells)
    Console(width=150).print(table)
    print(
        f"{2 * len(rows) - disagreements} of {2 * len(rows)} differ by at most {MOST_SHARE:.0%}, "
        f"or by at most {MOST_US} µs if shorter than {SHORT_US:.0f} µs"
    )


def _range(times_us: list[float]) -> str:
    low, high = f"{min(times_us):.2f}", f"{max(times_us):.2f}"
    return low if low == high else f"{low}–{high}"


def _difference(ours_us: float, theirs_us: float) -> tuple[str, bool]:
    """Return the difference in words, and whether the two times agree."""
    difference_us = ours_us - theirs_us
    if theirs_us < SHORT_US:
        return f"{difference_us:+.2f} µs", abs(difference_us) <= MOST_US
    return f"{difference_us / theirs_us:+.2%}", abs(difference_us) <= MOST_SHARE * theirs_us


if __name__ == "__main__":
    main()
