"""Measure what fresh inputs and judged launches change: the medians, and the time that sampling takes.

The script needs a GPU and PyCUDA. Run it with:
python benchmarks/fresh_inputs.py
python benchmarks/fresh_inputs.py naive tiled --size 1024

Each method is sampled in two ways by turns, in batches of SAMPLES: on the same inputs each time, as with
--no-verify, and on inputs that no launch has seen, with judged launches. The script prints the ratio of the
medians, cold and hot, and how many times as long the batches take. --watch reads NVML every 2 ms meanwhile,
and prints for either way the mean power and the mean clock of the multiprocessors.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from collections.abc import Iterator
from statistics import mean, median

from cudamm.benchmark.sampling_policy import launches_per_sample
from cudamm.devices.find_device import find_gpu
from cudamm.errors import CudammError
from cudamm.execution.case import Case
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.prepare import prepare
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.method import ELEMENT_TYPES
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import variants

SAMPLES = 20
"""Number of samples of a batch, as in a turn of `cudamm bench`."""

ROUNDS = 5
"""Number of batches of each way."""


def main() -> None:
    """Print a row for each method, size and state of the cache."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("methods", nargs="*")
    arguments.add_argument("--size", action="append", help="a size, such as 1024; repeatable")
    arguments.add_argument("--watch", action="store_true", help="print power and clock")
    given = arguments.parse_args()
    methods = [find(name) for name in given.methods] or [m for m in ladder() if not m.runs_on_host]
    print("| method | size | L2 | same inputs (ms) | fresh inputs (ms) | ratio | time of a batch |")
    print("|---|---:|---|---:|---:|---:|---:|")
    with find_gpu() as device, InProcessExecutor(device) as executor:
        for size in given.size or ["1024", "4096"]:
            problem = Problem(parse_shape(size), ELEMENT_TYPES["float32"])
            cases = [(variant, problem) for method in methods for variant in variants(method, {})]
            for case in prepare(executor, cases, True, lambda *_: None, verified=True):
                for cold in (True, False):
                    try:
                        print(_row(executor, case, size, cold, given.watch), flush=True)
                    except CudammError as error:
                        print(f"| `{case.variant.method.name}` | {size} | | {error} |", flush=True)
            executor.release()


def _row(executor: InProcessExecutor, case: Case, size: str, cold: bool, watch: bool) -> str:
    verdict = executor.verify(case, thorough=False)
    if not verdict.correct:
        raise CudammError(verdict.reason)
    launches = 1
    if not cold:
        floor_ms = executor.facts().event_floor_ms or 0.0
        launches = launches_per_sample(_sampled(executor, case, 1, 1, cold, check=False)[0][0], floor_ms)
    samples_ms: dict[bool, list[float]] = {False: [], True: []}
    spent_s = {False: 0.0, True: 0.0}
    readings: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for _ in range(ROUNDS):
        for is_fresh in (False, True):
            with _read_nvml(readings[is_fresh]) if watch else contextlib.nullcontext():
                taken_ms, elapsed_s = _sampled(executor, case, SAMPLES, launches, cold, check=is_fresh)
            samples_ms[is_fresh] += taken_ms
            spent_s[is_fresh] += elapsed_s
    same_ms, fresh_ms = median(samples_ms[False]), median(samples_ms[True])
    cache = "cold" if cold else "hot"
    for is_fresh, read in readings.items() if watch else ():
        power_w, clock_mhz = (mean(column) for column in zip(*read, strict=True))
        print(f"{cache}, {'fresh' if is_fresh else 'same'} inputs: {power_w:.0f} W, {clock_mhz:.0f} MHz")
    return (
        f"| `{case.variant.method.name}` | {size} | {cache} | {same_ms:.4f} | {fresh_ms:.4f} "
        f"| {fresh_ms / same_ms:.4f} | {spent_s[True] / spent_s[False]:.2f}× |"
    )


@contextlib.contextmanager
def _read_nvml(readings: list[tuple[float, float]]) -> Iterator[None]:
    """Append power in watts and clock in MHz every 2 ms while the block runs."""
    import pynvml

    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    is_over = threading.Event()

    def read() -> None:
        while not is_over.wait(0.002):
            power_mw = pynvml.nvmlDeviceGetPowerUsage(gpu)
            readings.append((power_mw / 1e3, pynvml.nvmlDeviceGetClockInfo(gpu, pynvml.NVML_CLOCK_SM)))

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _sampled(
    executor: InProcessExecutor, case: Case, samples: int, launches: int, cold: bool, check: bool
) -> tuple[list[float], float]:
    """Return samples in milliseconds per launch, and the seconds that it took to get them."""
    begun = time.perf_counter()
    batch = executor.sample(case, samples=samples, launches_per_sample=launches, cold=cold, check=check)
    return batch.samples_ms, time.perf_counter() - begun


if __name__ == "__main__":
    main()
