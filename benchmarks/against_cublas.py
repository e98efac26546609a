"""Compare the rates of cudamm's kernels with those of cuBLAS.

The script needs a GPU, nvmath-python and cuBLAS. Run it with:
python benchmarks/against_cublas.py
python benchmarks/against_cublas.py -m best -m tiled-coarse -n 4096 -n 8192x64x8192 --cold --json ratios.json

The script runs `cudamm bench` once. Every row is verified; then all rows of a size take turns with their
samples until each median is stable, and NVML's clock is read after each batch. Without --cold the L2 cache is
hot: launches follow one another, and short launches share a sample, so that the event overhead is negligible.
The ratio is that of median times, with the 95% interval of a bootstrap; ~ marks ratios during whose
measurement the GPU was throttled. The last line is the geometric mean of the best ratio at each square size.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cudamm.benchmark.result import CUBLAS, CUBLASLT, YARDSTICKS
from cudamm.benchmark.sample_statistics import ratio_of_medians
from cudamm.errors import UsageError
from cudamm.kernels.problem import parse_shape

SIZES = (
    *("1024", "1536", "2048", "3072", "4096", "5120", "6144", "8192", "16384"),
    *("1000", "2049", "4095"),
    *("8192x64x8192", "64x64x65536", "256x8192x1024"),
)

DTYPES = ("float32", "float64", "float16", "bfloat16", "tf32", "float8_e4m3")
"""The element types that cuBLAS has, or cuBLASLt: float8_e4m3. Either is called cuBLAS in the results."""

TIMEOUT_S = 600
"""Timeout of each step, in seconds; verifying the largest size takes seconds."""

HEADS = (
    ("M x N x K", ":--"),
    ("method", ":--"),
    ("parameters", ":--"),
    ("TFLOP/s", "--:"),
    ("cuBLAS TFLOP/s", "--:"),
    ("ratio", "--:"),
    ("of FMA ceiling", "--:"),
    ("SM clock, cuBLAS's (MHz)", "--:"),
)


@dataclass(frozen=True)
class Row:
    """One variant compared with cuBLAS at one size.

    Attributes:
        ratio: the variant's rate over that of cuBLAS; None if either has no rate that counts.
        ratio_low, ratio_high: the confidence interval of the ratio.
        share_of_fma_ceiling: None if the ceiling is unknown or belongs to another element type.
        was_slowed: whether the GPU was throttled while either was measured.
        trouble: why the row has no ratio; empty if it has one.
    """

    size: str
    is_square: bool
    dtype: str
    method: str
    params: str
    tflops: float | None
    cublas_tflops: float | None
    ratio: float | None
    ratio_low: float | None
    ratio_high: float | None
    share_of_fma_ceiling: float | None
    clock_mhz: float | None
    cublas_clock_mhz: float | None
    was_slowed: bool
    trouble: str


def rows_of(results: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the rows of a `cudamm.bench/2` file, without those of cuBLAS, each compared with cuBLAS."""
    cublas = {_problem(result): result for result in results if result["method"] in YARDSTICKS}
    return [_row(r, cublas.get(_problem(r))) for r in results if r["method"] not in YARDSTICKS]


def _problem(result: dict[str, Any]) -> tuple[Any, ...]:
    return result["m"], result["n"], result["k"], result["dtype"]


def _row(result: dict[str, Any], cublas: dict[str, Any] | None) -> Row:
    m, n, k, dtype = _problem(result)
    trouble = _trouble(result) or ("no cublas" if cublas is None else _trouble(cublas))
    ratio = ratio_of_medians(cublas["samples_ms"], result["samples_ms"]) if cublas and not trouble else None
    return Row(
        size=f"{m}" if m == n == k else f"{m}x{n}x{k}",
        is_square=m == n == k,
        dtype=dtype,
        method=result["method"],
        params=" ".join(f"{name}={value}" for name, value in result["params"].items()),
        tflops=_tflops(result),
        cublas_tflops=_tflops(cublas),
        ratio=ratio.value if ratio else None,
        ratio_low=ratio.low if ratio else None,
        ratio_high=ratio.high if ratio else None,
        share_of_fma_ceiling=result["share_of_fma_ceiling"],
        clock_mhz=result["clock_mhz"],
        cublas_clock_mhz=cublas["clock_mhz"] if cublas else None,
        was_slowed=any(r["throttled"] for r in (result, cublas) if r),
        trouble=trouble,
    )


def _tflops(result: dict[str, Any] | None) -> float | None:
    return result["gflops"] / 1e3 if result is not None and result["gflops"] else None


def _trouble(result: dict[str, Any]) -> str:
    """Return why a row's time does not count; empty if it counts."""
    name = result["method"]
    if result["status"] != "ok":
        return f"{name} {result['status']}: {result['reason']}"
    return "" if result["correct"] is True else f"{name} was not verified"


def geometric_mean(rows: Iterable[Row]) -> tuple[float, int] | None:
    """Return the geometric mean of the best ratio at each square size, and their number; None without any."""
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        if row.is_square and row.ratio is not None:
            key = row.size, row.dtype
            best[key] = max(best.get(key, 0.0), row.ratio)
    if not best:
        return None
    return math.exp(sum(map(math.log, best.values())) / len(best)), len(best)


def markdown(rows: Sequence[Row]) -> str:
    """Return the table, the rows that do not count with their reasons, and the geometric mean."""
    lines = [
        "| " + " | ".join(name for name, _ in HEADS) + " |",
        "|" + "|".join(line for _, line in HEADS) + "|",
    ]
    for row in rows:
        clocks = [f"{mhz:.0f}" if mhz else "?" for mhz in (row.clock_mhz, row.cublas_clock_mhz)]
        cells = (
            row.size if row.dtype == "float32" else f"{row.size} {row.dtype}",
            f"`{row.method}`",
            row.params,
            _number(row.tflops),
            _number(row.cublas_tflops),
            _interval(row),
            "–" if row.share_of_fma_ceiling is None else f"{row.share_of_fma_ceiling:.1%}",
            ", ".join(clocks),
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", *(f"{row.size}: {row.trouble}" for row in rows if row.trouble)]
    mean = geometric_mean(rows)
    if mean is not None:
        lines.append(f"geometric mean of the ratios at {mean[1]} square sizes: {mean[0]:.3f}")
    return "\n".join(lines)


def _interval(row: Row) -> str:
    if row.ratio is None:
        return "–"
    return f"{row.ratio:.3f} ({row.ratio_low:.3f}–{row.ratio_high:.3f})" + " ~" * row.was_slowed


def _number(tflops: float | None) -> str:
    return "–" if tflops is None else f"{tflops:.2f}"


def measure(
    methods: Sequence[str], sizes: Sequence[str], dtype: str, cache: str, max_time_s: float
) -> tuple[int, dict[str, Any]]:
    """Run `cudamm bench`; return its exit status, and its results file, empty if it wrote none."""
    with tempfile.TemporaryDirectory(prefix="against-cublas-") as folder:
        file = Path(folder) / "rows.json"
        command = [
            sys.executable,
            "-m",
            "cudamm",
            "bench",
            "--device",
            "gpu",
            "-m",
            ",".join((*methods, CUBLASLT if dtype == "float8_e4m3" else CUBLAS)),
        ]
        for size in sizes:
            command += ["-n", size]
        command += [
            "--dtype",
            dtype,
            f"--{cache}",
            "--max-time",
            str(max_time_s),
            "--timeout",
            str(TIMEOUT_S),
        ]
        done = subprocess.run([*command, "--json", str(file)], stdout=subprocess.DEVNULL, check=False)
        return done.returncode, json.loads(file.read_text()) if file.exists() else {}


def cublas_version() -> str:
    """Return major, minor and patch level of the cuBLAS that nvmath-python finds."""
    from nvmath.bindings import cublas

    return ".".join(str(cublas.get_property(part)) for part in range(3))


def main() -> int:
    """Measure, print and write; return the exit status, 0 if every row counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-m", "--method", action="append", help="method of cudamm; repeatable [best]")
    parser.add_argument("-n", "--size", action="append", help="1024 or 640x480x320; repeatable")
    parser.add_argument("--dtype", default="float32", choices=DTYPES)
    parser.add_argument("--cold", action="store_const", const="cold", default="hot", dest="cache")
    parser.add_argument(
        "--max-time",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="maximum duration of a variant's samples",
    )
    parser.add_argument("--json", metavar="FILE", help="also write the ratios to a file")
    given = parser.parse_args()
    sizes = given.size or list(SIZES)
    try:
        for size in sizes:
            parse_shape(size)
    except UsageError as error:
        parser.error(str(error))
    methods = given.method or ["best"]
    try:
        version = cublas_version()
    except (ImportError, RuntimeError) as error:
        print(f"cuBLAS cannot be loaded through nvmath-python: {error}", file=sys.stderr)
        return 3
    status, document = measure(methods, sizes, given.dtype, given.cache, given.max_time)
    if not document.get("results"):
        return status or 1
    rows = rows_of(document["results"])
    device, environment = document["device"], document["environment"]
    machine = f"{device['name']}, driver {device.get('driver')}, cuBLAS {version}"
    print(f"{machine}, {given.dtype}, L2 {given.cache}, {environment['date'][:10]}\n")
    print(markdown(rows))
    if given.json:
        mean = geometric_mean(rows)
        record = {
            "device": device,
            "environment": environment,
            "cublas": version,
            "cache": given.cache,
            "rows": [asdict(row) for row in rows],
            "geometric_mean_of_square_sizes": mean and mean[0],
        }
        Path(given.json).write_text(json.dumps(record, indent=1) + "\n")
    return status or int(any(row.trouble for row in rows))


if __name__ == "__main__":
    sys.exit(main())
