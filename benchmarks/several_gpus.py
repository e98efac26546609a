"""A sweep on one GPU, on every GPU of this machine, and on the same GPUs through Dask.

python benchmarks/several_gpus.py            the short sweep, then the long one
python benchmarks/several_gpus.py short

The script needs the extra `cluster` for Dask. What is timed compiles nothing: each sweep has run before with
a smaller size, on every GPU and through Dask, because a cluster's programs have a cache of their own. The
ratios are those of whole commands, of the mean if there are several runs. The ways take turns, so that no way
always follows a long load.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import mean
from typing import Any

SWEEPS = {
    "short": ("-m stream-k -D BLOCKS=264 -n 2048", ("gpu:0", "all", "cluster") * 3),
    "long": (
        "-m async-copy,stream-k -D BLOCKS=264 -n 8192 --full",
        ("gpu:0", "all", "cluster", "cluster", "all"),
    ),
}
"""Each sweep's options, and the ways in which it is timed, in order."""

COMPILING = "1024"
"""The size with which the programs are compiled, which do not depend on it."""

WAYS = {"gpu:0": "--device gpu:0", "all": "--device all", "cluster": "--cluster local"}

Timed = dict[str, list[tuple[float, dict[str, Any]]]]
"""For each way, the duration of each run in seconds and its JSON document."""


def main() -> None:
    """Time the sweeps that the arguments name, or both."""
    chosen = sys.argv[1:] or list(SWEEPS)
    for name in chosen:
        if name not in SWEEPS:
            sys.exit(f"{name} is none of {', '.join(SWEEPS)}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CUDAMM_CACHE"] = f"{folder}/cache"
        for name in chosen:
            options, ways = SWEEPS[name]
            for way in ("all", "cluster"):
                compiling = re.sub(r"-n \d+", f"-n {COMPILING}", options.replace(" --full", ""))
                _sweep(compiling, way, folder)
            timed: Timed = {way: [] for way in WAYS}
            for way in ways:
                timed[way].append(_sweep(options, way, folder))
                print(f"{name} {way}: {timed[way][-1][0]:.1f} s", file=sys.stderr)
            _show(options, timed)


def _sweep(options: str, way: str, folder: str) -> tuple[float, dict[str, Any]]:
    """Run a sweep; return its duration in seconds and its JSON document."""
    path = Path(folder, "sweep.json")
    path.unlink(missing_ok=True)
    command = [sys.executable, "-m", "cudamm", "sweep", *options.split(), *WAYS[way].split()]
    begun = time.monotonic()
    ended = subprocess.run([*command, "--json", str(path)], check=False, stdout=subprocess.DEVNULL)
    duration_s = time.monotonic() - begun
    if ended.returncode:
        sys.exit(f"the sweep ended with status {ended.returncode}")
    return duration_s, json.loads(path.read_text())


def _show(options: str, timed: Timed) -> None:
    device = timed["all"][0][1]["device"]
    print(f"cudamm sweep {options}")
    print(f"{device['name']}, driver {device['driver']}, {datetime.date.today()}")
    mean_s = {way: mean(duration_s for duration_s, _ in runs) for way, runs in timed.items()}
    for way, runs in timed.items():
        durations = ", ".join(f"{duration_s:.1f}" for duration_s, _ in runs)
        print(f"{way:8} {durations} s: {mean_s['gpu:0'] / mean_s[way]:.2f} times as fast as gpu:0")
        _, document = runs[-1]
        rows = [row for row in document["results"] if row["status"] in ("ok", "dropped")]
        right = [row for row in rows if row["status"] == "ok"]
        best = min(right, key=lambda row: (not row["is_final"], float(row["median_ms"])))
        parameters = " ".join(f"{name}={value}" for name, value in best["params"].items())
        print(f"         best {best['median_ms']:.4f} ms: {best['method']} {parameters}")
        shares = ", ".join(f"{gpu} {n}" for gpu, n in sorted(Counter(row["device"] for row in rows).items()))
        retaken = sum(row["retaken"] for row in rows)
        print(f"         {len(rows)} rows: {shares}; {retaken} samples repeated, as the GPU was throttled")
    print(f"through Dask {mean_s['cluster'] / mean_s['all']:.3f} times as long as on all", flush=True)


if __name__ == "__main__":
    main()
