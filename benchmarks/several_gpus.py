"""A sweep on one GPU, on every GPU of this machine, and on the same GPUs through Dask.

python benchmarks/several_gpus.py            every comparison
python benchmarks/several_gpus.py long       one of them: short, long, two or dask

`long` takes one GPU five minutes, `two` takes it two: use `long` for four GPUs, and `two` for two.

The script needs the extra `cluster` for Dask. What is timed compiles nothing: each sweep has run before with
a smaller size, on every GPU, and through Dask if that is timed, because a cluster's programs have a cache of
their own. The ratios are those of whole commands, of the mean if there are several runs. The ways take turns,
so that no way always follows a long load.

GPUs of one kind differ, mostly in how often they are throttled. The one GPU is therefore the one whose share
is nearest to the mean when all GPUs share the variants: neither a slow one nor a fast one decides the ratio.
The shares of two GPUs are equally near, so each of the two is timed, and the mean counts.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

COMPARISONS = {
    "short": ("-m stream-k -D BLOCKS=264 -n 2048", ("all", "one", "cluster") * 3),
    "long": ("-m async-copy,stream-k -n 8192 --full", ("all", "one")),
    "two": ("-m async-copy -n 8192 --full", ("all", "one", "cluster", "cluster", "all")),
    "dask": ("-m async-copy,stream-k -D BLOCKS=264 -n 8192 --full", ("all", "cluster", "cluster", "all")),
}
"""The options of each sweep, and the ways in which it is timed, in order. The first, `all`, chooses `one`."""

COMPILING = "1024"
"""The size of the sweeps that compile the programs; these do not depend on the size."""

Run = tuple[float, dict[str, Any]]
"""The duration of a run in seconds, and its JSON document."""


def main() -> None:
    """Run the comparisons that the arguments name, or all."""
    chosen = sys.argv[1:] or list(COMPARISONS)
    for name in chosen:
        if name not in COMPARISONS:
            sys.exit(f"{name} is none of {', '.join(COMPARISONS)}")
    for name in chosen:
        options, ways = COMPARISONS[name]
        compiling = re.sub(r"-n \d+", f"-n {COMPILING}", options.replace(" --full", ""))
        for way in dict.fromkeys(ways):
            if way != "one":
                _sweep(compiling, way)
        runs: dict[str, list[Run]] = {way: [] for way in ways}
        for way in ways:
            for place in _average_gpus(runs["all"][0]) if way == "one" else [way]:
                runs[way].append(_sweep(options, place))
                print(f"{name} on {place}: {runs[way][-1][0]:.1f} s", file=sys.stderr)
        _show(options, runs)


def _sweep(options: str, place: str) -> Run:
    """Run a sweep on a GPU, on `all`, or on the `cluster` of this machine's GPUs."""
    where = ["--cluster", "local"] if place == "cluster" else ["--device", place]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "sweep.json")
        command = [sys.executable, "-m", "cudamm", "sweep", *options.split(), *where, "--json", str(path)]
        begun = time.monotonic()
        ended = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        duration_s = time.monotonic() - begun
        if ended.returncode:
            sys.exit(f"the sweep ended with status {ended.returncode}")
        return duration_s, json.loads(path.read_text())


def _timed_rows(run: Run) -> list[dict[str, Any]]:
    return [row for row in run[1]["results"] if row["status"] in ("ok", "dropped")]


def _shares(run: Run) -> Counter[str]:
    """Return how many variants each GPU took; a finalist's row does not tell which GPU took it first."""
    return Counter(row["device"] for row in _timed_rows(run) if not row["is_final"])


def _average_gpus(run: Run) -> list[str]:
    """Return the GPU whose share of a sweep is nearest to the mean share; of two GPUs, both."""
    shares = _shares(run)
    by_distance = sorted(shares, key=lambda gpu: abs(shares[gpu] - mean(shares.values())))
    return by_distance if len(shares) == 2 else by_distance[:1]


def _show(options: str, runs: dict[str, list[Run]]) -> None:
    device = runs["all"][0][1]["device"]
    print(f"cudamm sweep {options}")
    print(f"{device['name']}, driver {device['driver']}, {datetime.date.today()}")
    mean_s = {way: mean(duration_s for duration_s, _ in runs_of_way) for way, runs_of_way in runs.items()}
    for way, runs_of_way in runs.items():
        durations = ", ".join(f"{duration_s:.1f}" for duration_s, _ in runs_of_way)
        print(f"{way:8} {durations} s: {mean_s[way] / mean_s['all']:.2f} times as long as on all")
        rows = _timed_rows(runs_of_way[-1])
        right = [row for row in rows if row["status"] == "ok"]
        best = min(right, key=lambda row: (not row["is_final"], float(row["median_ms"])))
        parameters = " ".join(f"{name}={value}" for name, value in best["params"].items())
        print(f"         best {best['median_ms']:.4f} ms: {best['method']} {parameters}")
        shares = ", ".join(f"{gpu} {count}" for gpu, count in sorted(_shares(runs_of_way[-1]).items()))
        retaken = sum(row["retaken"] for row in rows)
        print(
            f"         {len(rows)} rows, without the finalists {shares}; "
            f"{retaken} samples repeated, as the GPU was throttled"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
