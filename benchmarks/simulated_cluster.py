"""A cluster of simulated GPUs: how busy cudamm keeps them, and what a case costs without its kernel.

Scheduler, Dask workers and the client are the real ones. Only the GPUs are simulated: a launch sleeps as
long as a kernel takes, and a compiled program is a block of random bytes. The script needs the extra
`cluster`, and no GPU. Run it with:
python benchmarks/simulated_cluster.py                             10,000 cases on 100 GPUs
python benchmarks/simulated_cluster.py --devices 2 --launch-ms 0   the overhead of a case

A GPU is busy while it sleeps. The share of busy time counts from the first launch on any GPU until 99% of
the cases are done.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cudamm.benchmark.measure import bench
from cudamm.benchmark.sampling_policy import Settings
from cudamm.devices.device import DeviceInfo, Load, LoadedUnit, Peak, Target
from cudamm.execution.case import Case, Verdict
from cudamm.execution.cluster import Cluster, connected_to
from cudamm.execution.cluster_executor import ClusterExecutor
from cudamm.execution.cluster_service import NAME, ClusterService, facts_of
from cudamm.execution.cluster_worker import DEVICE
from cudamm.execution.executor import Facts, LocalExecutor, Report, SampleBatch
from cudamm.execution.executor_group import ExecutorGroup
from cudamm.execution.scheduler_address import import_distributed, scheduler_address
from cudamm.kernels.header import read_method
from cudamm.kernels.launch_plan import Limits
from cudamm.kernels.method import ELEMENT_TYPES, Execution, Method
from cudamm.kernels.problem import Problem, Shape
from cudamm.kernels.variant import variants

KERNEL = """\
// A kernel with one parameter that changes nothing.
//
// param:   X = 0 in 0
// threads: 8, 8
// grid:    ceil(N / 8), ceil(M / 8)

__global__ void simulated(int M, int N, int K, const float *A, const float *B, float *C) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) C[row * N + col] = X;
}
"""

IMAGE_BYTES = 40_000
"""Size of a compiled program; those of `stream-k` have 30 to 60 KB."""

WORKERS_PER_PROCESS = 25
"""Number of Dask workers in a process of this script: a hundred processes would need much memory."""

LAST_SHARE = 0.01
"""Share of the cases, the last ones, that the share of busy time does not count."""


class SimulatedTarget(Target[bytes]):
    """The properties of a simulated GPU."""

    has_thread_order = False
    limits = Limits(1024, (1024, 1024, 64), (2**31 - 1, 65535, 65535), 48 * 1024)

    def __init__(self, name: str) -> None:
        self.info = DeviceInfo("gpu", name, "a simulated GPU")

    def execution(self, method: Method) -> Execution:
        """Return `gpu`."""
        return "gpu"

    def compile(self, program: Any) -> bytes:
        """Return random bytes."""
        return os.urandom(IMAGE_BYTES)

    def made_from(self, program: Any) -> list[str]:
        """Return the program's text."""
        return [program.text]


class SimulatedGpu(LocalExecutor):
    """An executor whose launches sleep.

    Attributes:
        busy: beginning and end of each sleep, by `time.time`, which all processes of this machine share.
    """

    timeout_s: float | None = None

    def __init__(self, name: str, launch_ms: float) -> None:
        self._target = SimulatedTarget(name)
        self._launch_ms = launch_ms
        self.busy: list[tuple[float, float]] = []

    @property
    def target(self) -> SimulatedTarget:
        """The properties of the GPU."""
        return self._target

    def _sleep_ms(self, case: Case, launches: int) -> float:
        """Sleep as long as some launches take; return the milliseconds of one launch."""
        # Between half and one and a half of the mean, always the same for a variant.
        launch_ms = self._launch_ms * (0.5 + random.Random(str(case.variant)).random())  # noqa: S311
        begun = time.time()
        time.sleep(launches * launch_ms / 1e3)
        self.busy.append((begun, time.time()))
        return launch_ms

    def verify(self, case: Case, *, thorough: bool) -> Verdict:
        """Launch once."""
        return Verdict(True, launch_ms=self._sleep_ms(case, 1))

    def sample(
        self, case: Case, *, samples: int, launches_per_sample: int, cold: bool, check: bool
    ) -> SampleBatch:
        """Launch once for each sample."""
        launch_ms = self._sleep_ms(case, samples * launches_per_sample)
        return SampleBatch([launch_ms] * samples, None, ())

    def _measure_facts(self) -> Facts:
        return Facts(None, None)

    def other_peaks(self) -> tuple[Peak, ...]:
        """Return no peaks: there are no units."""
        return ()

    def load(self, unit: LoadedUnit, seconds: float) -> Load | None:
        """Return None: there are no units."""
        return None

    def free_bytes(self) -> int:
        """Return the memory of a large GPU."""
        return 2**37

    def release(self) -> None:
        """Do nothing: there are no matrices."""

    def close(self) -> None:
        """Do nothing: there is no process."""


def busy_times(gpu: Any, cases: Iterable[Case], report: Report) -> Iterator[tuple[float, float]]:
    """Work for `carry_out`: yield `SimulatedGpu.busy`."""
    yield from gpu.busy


async def serve(address: str, first: int, count: int, launch_ms: float) -> None:
    """Run Dask workers of simulated GPUs in this process until the scheduler ends."""
    distributed = import_distributed()
    import dask

    # A real worker has a host for itself, and looks at it twice a second.
    dask.config.set({"distributed.admin.system-monitor.interval": "60s"})
    facts = dataclasses.asdict(facts_of("gpu", "a simulated GPU", "", ""))
    info = dataclasses.asdict(SimulatedTarget("gpu").info)
    workers = []
    for number in range(first, first + count):
        name = f"node/gpu:{number}"
        service = ClusterService(SimulatedGpu(name, launch_ms))  # type: ignore[arg-type]
        workers.append(
            await distributed.Worker(
                address, name=name, nthreads=1, memory_limit=0, host="127.0.0.1",
                dashboard_address="127.0.0.1:0", extensions={NAME: lambda _, service=service: service},
                startup_information={NAME: lambda _: facts, DEVICE: lambda _: info},
            )
        )  # fmt: skip
    await asyncio.gather(*(worker.finished() for worker in workers))


@dataclass(frozen=True)
class Run:
    """What was seen of a sweep.

    Attributes:
        planned_s: duration from the start of the sweep to the first launch, in seconds.
        swept_s: duration from there to the last result, without the finalists.
        busy_share: share of the GPUs' time until the last cases in which they were busy.
    """

    planned_s: float
    swept_s: float
    busy_share: float


def sweep(cluster: Cluster, cases: int) -> Run:
    """Sweep over one kernel's variants on all GPUs of a cluster."""
    with tempfile.NamedTemporaryFile("w", suffix=".cu") as file:
        file.write(KERNEL)
        file.flush()
        method = read_method(Path(file.name))
    problem = Problem(Shape(8, 8, 8), ELEMENT_TYPES["float32"])
    chosen = [(variant, problem) for variant in variants(method, {"X": tuple(range(cases))})]
    members = [ClusterExecutor(cluster, device, None) for device in cluster.devices()]
    settings = Settings(shares_variants=True, finalists=8, each_may_fail=True, keep_matrices=True)
    begun = time.time()
    with ExecutorGroup(members) as group:
        results = bench(group, chosen, settings, lambda *_: None)
        done = [time.time() for result in results if not result.is_final and result.status == "ok"]
        busy = [interval for member in members for interval in member.carry_out(busy_times, (), print)]
    if len(done) != cases:
        raise SystemExit(f"{len(done)} of {cases} cases have a result")
    first = min(start for start, _ in busy)
    last = done[round(cases * (1 - LAST_SHARE)) - 1]
    busy_s = sum(max(0.0, min(end, last) - start) for start, end in busy)
    return Run(first - begun, done[-1] - first, busy_s / len(members) / (last - first))


@contextmanager
def simulated_cluster(devices: int, launch_ms: float) -> Iterator[tuple[Cluster, int]]:
    """Yield a connection to a scheduler with workers, and the number of the scheduler's process."""
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))

        def start(*words: str, stderr: int | None = None) -> subprocess.Popen[bytes]:
            process = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, stderr=stderr)
            opened.callback(process.wait)
            opened.callback(process.kill)
            return process

        file = folder / "scheduler.json"
        scheduler = start(
            "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
            "--scheduler-file", str(file), stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while not file.exists():
            time.sleep(0.05)
        address = scheduler_address(str(file), None, is_insecure=False)
        serving = [
            start(
                __file__, "--serve", address.uri, str(first), str(min(WORKERS_PER_PROCESS, devices - first)),
                str(launch_ms),
            )
            for first in range(0, devices, WORKERS_PER_PROCESS)
        ]  # fmt: skip
        cluster = opened.enter_context(connected_to(address))
        while len(cluster.joined()) < devices:
            if any(process.poll() is not None for process in serving):
                raise SystemExit("a process with Dask workers has ended")
            time.sleep(0.2)
        yield cluster, scheduler.pid


def memory_mb(process: int, name: str) -> float:
    """Return a figure of a process's memory in MB: `VmRSS` now, `VmHWM` at most so far."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    """Run the sweep and print what was seen."""
    if sys.argv[1:2] == ["--serve"]:
        address, first, count, launch_ms = sys.argv[2:]
        asyncio.run(serve(address, int(first), int(count), float(launch_ms)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--devices", type=int, default=100)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--launch-ms", type=float, default=30.0, help="mean duration of a launch")
    asked = parser.parse_args()
    with simulated_cluster(asked.devices, asked.launch_ms) as (cluster, scheduler):
        before_mb = memory_mb(scheduler, "VmRSS")
        run = sweep(cluster, asked.cases)
        most_mb = memory_mb(scheduler, "VmHWM")
    print(f"{asked.cases:,} cases on {asked.devices} simulated GPUs, {asked.launch_ms:g} ms a launch")
    print(f"from the start of the sweep to the first launch: {run.planned_s:.1f} s")
    case_ms = run.swept_s / asked.cases * 1e3
    print(f"from there to the last result: {run.swept_s:.1f} s, {case_ms:.2f} ms a case")
    print(f"busy until {1 - LAST_SHARE:.0%} of the cases were done: {run.busy_share:.1%} of the GPUs' time")
    print(f"memory of the scheduler: {before_mb:.0f} MB before the sweep, at most {most_mb:.0f} MB")


if __name__ == "__main__":
    main()
