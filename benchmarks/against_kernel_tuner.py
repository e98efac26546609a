"""Compare Kernel Tuner and cudamm: the duration of sweeping and of tuning at n = 4096, as whole commands.

The script needs a GPU and Kernel Tuner: pip install kernel-tuner. Run it with:
python benchmarks/against_kernel_tuner.py              sweep and tune
python benchmarks/against_kernel_tuner.py sweep        one case: sweep, tune or sweep-all
python benchmarks/against_kernel_tuner.py sweep-all    the sweep on every GPU; also needs pip install ray

sweep: both time all 40 configurations of one kernel. Both get the source tiled_xy.cu, the same values and 32
iterations. cudamm verifies every configuration and drops slow ones early; Kernel Tuner does neither.

sweep-all: the same with `--device all`, and `parallel=True` of Kernel Tuner, which starts a Ray actor a GPU.
cudamm measures its fastest eight configurations again, on one GPU.

cudamm's second run compiles nothing. For that run the script also prints an upper bound of the host's time:
the duration of the command without the timed launches and the warm-up. The command makes more launches than
these, so the host's time is shorter.

tune: both search for the fastest parameters of `warp-tile` among those that its header allows. Kernel Tuner
searches with STRATEGY until its budget is spent, and cudamm gets a third of that budget; all caches are empty
at the start. Then cudamm verifies the two winners, and times them in turn.

Kernel Tuner uses its PyCUDA backend, which compiles with nvcc as cudamm does. If it found cuda-python, Kernel
Tuner would use NVIDIA's runtime compiler instead, which makes other machine code of the same source.
"""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cudamm.benchmark.sampling_policy import WARM_UP_MS
from cudamm.kernels.ladder import find

KERNEL = Path(__file__).with_name("tiled_xy.cu")
N, ITERATIONS = 4096, 32
VALUES = {
    "block_size_x": [16, 32, 64],
    "block_size_y": [2, 4, 8, 16, 32],
    "tile_size_x": [1, 2, 4, 8],
    "tile_size_y": [1, 2, 4, 8],
}
CONDITIONS = (
    "block_size_x == block_size_y * tile_size_y",
    "block_size_x * tile_size_x <= 256",
    "block_size_x * tile_size_x * tile_size_y > 16",
)

TUNED = "warp-tile"
BUDGET_S = 45
"""Duration of Kernel Tuner's search, in seconds."""
BUDGET_RATIO = 3
"""Kernel Tuner's budget over that of cudamm."""
STRATEGY = {"strategy": "random_sample", "strategy_options": {"time_limit": BUDGET_S, "fraction": 1}}
"""Kernel Tuner's search strategy. Kernel Tuner treats the number of threads as one more parameter, although
the tiles determine it. Few variants therefore differ in a single parameter, and strategies that go from
neighbour to neighbour do not leave their start."""
REQUIRES = (
    "BM % WM == 0",
    "BN % WN == 0",
    "WM * WN == 32 * TM * TN",
    "block_size_x <= 1024",
)
"""Requirements in the method's header, without those that all of its values meet."""


def main() -> None:
    """Run the case that the command line names, or the two that need one GPU."""
    cases = sys.argv[1:] or ["sweep", "tune"]
    for case in cases:
        if case not in ("sweep", "sweep-all", "tune"):
            sys.exit(f"{case} is none of sweep, sweep-all and tune")
    for case in cases:
        if case == "tune":
            tune()
        else:
            sweep("all" if case == "sweep-all" else "gpu")


def tune() -> None:
    """Search with both, time the two winners in turn, and print."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"CUDAMM_CACHE": f"{folder}/cache", "CUDAMM_DATA": f"{folder}/data"}
        ours = [sys.executable, "-m", "cudamm", "tune", "-m", TUNED, "-n", str(N), "--hot", "--device", "gpu"]
        ours += ["--budget", f"{BUDGET_S // BUDGET_RATIO}s", "--json", f"{folder}/ours.json"]
        theirs = [sys.executable, __file__, "--kernel-tuner-search", f"{folder}/theirs.json"]
        seconds = {"cudamm tune": _run(ours, environment), "Kernel Tuner": _run(theirs, environment)}
        found = json.loads(Path(folder, "ours.json").read_text())
        searched = json.loads(Path(folder, "theirs.json").read_text())
        (outcome,) = found["outcomes"]
        tried = {"cudamm tune": outcome["tried"], "Kernel Tuner": searched["tried"]}
        winners = {"cudamm tune": outcome["params"], "Kernel Tuner": searched["best"]}
        timed = [sys.executable, "-m", "cudamm", "sweep", "-m", TUNED, "-n", str(N), "--hot", "--full"]
        timed += ["--runs", str(ITERATIONS), "--device", "gpu", "--json", f"{folder}/timed.json"]
        for name in outcome["params"]:
            values = sorted({params[name] for params in winners.values()})
            timed += ["-D", f"{name}=" + ",".join(map(str, values))]
        conditions = (
            " and ".join(f"{name} == {value}" for name, value in params.items())
            for params in winners.values()
        )
        timed += ["--where", " or ".join(f"({condition})" for condition in dict.fromkeys(conditions))]
        _run(timed, environment)
        rows = json.loads(Path(folder, "timed.json").read_text())["results"]
    device = found["device"]
    print(f"{device['name']}, driver {device['driver']}, {datetime.date.today()}: {TUNED}, n = {N}, hot")
    for name, params in winners.items():
        (row,) = (row for row in rows if row["params"] == params)
        print(
            f"{name:14} {seconds[name]:6.2f} s, {tried[name]} of {outcome['possible']} tried: "
            f"{row['median_ms']:.4f} ms, {'right' if row['correct'] else 'WRONG'} {params}"
        )


def _run(command: list[str], environment: dict[str, str]) -> float:
    """Run a command and return its duration in seconds. If the command fails, end the benchmark."""
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    duration_s = time.perf_counter() - begun
    is_sweep = "sweep" in command  # a sweep with configurations that cannot run ends with status 1
    if done.returncode not in ((0, 1) if is_sweep else (0,)):
        sys.exit(f"{' '.join(command)} ended with status {done.returncode}: {done.stdout}{done.stderr}")
    return duration_s


def kernel_tuner_search(path: str) -> None:
    """Search with Kernel Tuner among the same variants until its budget is spent; write the winner."""
    import kernel_tuner
    import numpy as np

    method = find(TUNED)
    values = {parameter.name: list(parameter.values) for parameter in method.parameters}
    values["block_size_x"] = [32 * warps for warps in range(1, 33)]
    a, b = (np.random.default_rng(i).random((N, N), np.float32) for i in range(2))
    source = method.path.read_text(encoding="utf-8")
    results, _ = kernel_tuner.tune_kernel(
        TUNED.replace("-", "_"),
        'extern "C" {\n' + source + "\n}",
        (N, N),
        [*[np.int32(N)] * 3, a, b, np.zeros_like(a)],
        values,
        restrictions=[*REQUIRES, "block_size_x == BM // WM * (BN // WN) * 32"],
        grid_div_x=["BN"],
        grid_div_y=["BM"],
        iterations=ITERATIONS,
        compiler_options=["-Delement=float"],
        **STRATEGY,
        lang="PyCUDA",
        quiet=True,
    )
    timed = [row for row in results if row and isinstance(row.get("time"), float)]
    best = min(timed, key=lambda row: float(row["time"]))
    params = {parameter.name: int(best[parameter.name]) for parameter in method.parameters}
    tried = {tuple(row[name] for name in values) for row in results if row}
    Path(path).write_text(json.dumps({"best": params, "tried": len(tried)}))


def sweep(device: str) -> None:
    """Sweep twice with both and once with `cudamm --full`; print the durations.

    Args:
        device: value of cudamm's `--device`; with `all`, Kernel Tuner uses every GPU too.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "CUDAMM_CACHE": f"{folder}/cache"}
        if device == "all":
            environment["KERNEL_TUNER_PARALLEL"] = "1"
        seconds: dict[str, float] = {}
        for name, command in (
            ("Kernel Tuner", [sys.executable, __file__, "--kernel-tuner", f"{folder}/theirs.json"]),
            ("cudamm", _command(device, f"{folder}/ours.json")),
            ("cudamm again", _command(device, f"{folder}/again.json")),
            ("cudamm --full", [*_command(device, f"{folder}/full.json"), "--full"]),
            ("Kernel Tuner again", [sys.executable, __file__, "--kernel-tuner", f"{folder}/theirs2.json"]),
        ):
            seconds[name] = _run(command, environment)
        theirs = json.loads(Path(folder, "theirs.json").read_text())
        ours = {
            name: json.loads(Path(folder, f"{name}.json").read_text()) for name in ("ours", "again", "full")
        }
    _show(seconds, theirs, ours)


def _command(device: str, json_path: str) -> list[str]:
    command = [sys.executable, "-m", "cudamm", "sweep", "--kernel", str(KERNEL), "-n", str(N), "--hot"]
    command += ["--runs", str(ITERATIONS), "--device", device, "--json", json_path]
    for name, values in VALUES.items():
        command += ["-D", f"{name}={','.join(map(str, values))}"]
    for condition in CONDITIONS:
        command += ["--where", condition]
    return command


class _Objective(list[str]):
    """A list with one name that is equal to the name.

    Kernel Tuner 1.5.0 makes a list of the objective, and its parallel runner then looks for this list among
    the names of a result, which ends with a TypeError.
    """

    def __eq__(self, other: object) -> bool:
        return other == self[0] or super().__eq__(other)

    def __hash__(self) -> int:  # type: ignore[override]  # a list has none
        return hash(self[0])


def kernel_tuner(path: str) -> None:
    """Sweep with Kernel Tuner as its own matrix multiplication example does; write the rows to `path`."""
    import kernel_tuner
    import numpy as np

    a, b = (np.random.default_rng(i).random((N, N), np.float32) for i in range(2))
    results, _ = kernel_tuner.tune_kernel(
        "tiled_xy",
        'extern "C" {\n' + KERNEL.read_text() + "\n}",
        (N, N),
        [np.zeros_like(a), a, b],
        VALUES,
        restrictions=list(CONDITIONS),
        grid_div_x=["block_size_x", "tile_size_x"],
        grid_div_y=["block_size_y", "tile_size_y"],
        iterations=ITERATIONS,
        lang="PyCUDA",
        quiet=True,
        objective=_Objective(["time"]),
    )
    rows = [
        {"params": {name: row[name] for name in VALUES}, "time_ms": row.get("time")}
        | {part: row.get(part) for part in ("compile_time", "benchmark_time")}
        for row in results
    ]
    for row in rows:
        if not isinstance(row["time_ms"], float):
            row["time_ms"] = None
    Path(path).write_text(json.dumps({"rows": rows, "version": kernel_tuner.__version__}))


def _show(seconds: dict[str, float], theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    device = ours["ours"]["device"]
    print(
        f"{device['name']}, driver {device['driver']}, {datetime.date.today()}, n = {N}, "
        f"{ITERATIONS} iterations"
    )
    for name, duration_s in seconds.items():
        ratio = seconds["Kernel Tuner"] / duration_s
        print(f"{name:20} {duration_s:6.2f} s   {ratio:5.2f} times as fast as Kernel Tuner")
    timed = [row for row in theirs["rows"] if row["time_ms"]]
    best = min(timed, key=lambda row: float(row["time_ms"]))
    for row in sorted(timed, key=lambda row: float(row["time_ms"]))[:3]:
        print(
            f"Kernel Tuner {theirs['version']}: {len(timed)} timed, {row['time_ms']:.4f} ms {row['params']}"
        )
    for name, document in ours.items():
        rows = document["results"]
        right = [row for row in rows if row["status"] == "ok"]
        counts = {s: sum(r["status"] == s for r in rows) for s in ("ok", "dropped", "failed", "skipped")}
        first = min(right, key=lambda row: (not row["is_final"], float(row["median_ms"])))
        same = first["params"] == best["params"]
        print(f"cudamm ({name}): {len(rows)} configurations, {counts}")
        print(f"  best {first['median_ms']:.4f} ms {first['params']}: {'the same' if same else 'ANOTHER'}")
        gpu_s = sum(sum(row["samples_ms"]) * row["launches_per_sample"] for row in rows) / 1e3
        print(f"  {gpu_s:.2f} s of timed launches")
        if name == "again":
            host_s = seconds["cudamm again"] - gpu_s - WARM_UP_MS / 1e3
            print(f"  at most {host_s:.2f} s of the host's time")
    for row in ours["ours"]["results"]:
        if row["status"] == "failed":
            print(f"  failed {row['params']}: {row['reason'][:150]}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kernel-tuner"]:
        kernel_tuner(sys.argv[2])
    elif sys.argv[1:2] == ["--kernel-tuner-search"]:
        kernel_tuner_search(sys.argv[2])
    else:
        main()
