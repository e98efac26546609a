"""Compare the memory accesses that the CPU device counts with Nsight Compute's counters.

python benchmarks/against_ncu.py                       on a GPU with ncu: count with ncu, then compare
python benchmarks/against_ncu.py --counted FILE.json   compare with the counts in a file
python benchmarks/against_ncu.py --keep FILE.json      on a GPU with ncu: also write the counts to a file
    --only NAME,NAME    only these methods
    --also REGEX        also count and keep ncu's other counters with such names, to investigate a difference

The kernels are:
- every method that runs on both devices, at two problem sizes, one of which is divisible by no block size,
  and at two block sizes; a method without a block size at its defaults and at the smallest parameters that
  its header allows,
- the uncoalesced kernel at n = 1024,
- asynchronous copies from rows that begin in the middle of a sector, and of 4 bytes each,
- a kernel with vector accesses.

Requests, sectors, wavefronts and conflicts must be equal, each counter of each kernel. nvcc may merge
accesses to shared memory into wide ones, or unroll a loop of stores. The script finds such accesses in the
machine code and counts them in the same way; this needs nvcc and nvdisasm.

The hardware's counters of shared memory count more than accesses: also instructions that are predicated off
for all threads of a warp, and cycles lost to other traffic. If a counter is higher than the CPU device's
count, ncu's own count by instruction and address is compared instead, if the file contains one. If it does
not, the counter is left out, and the reason is printed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from cudamm.analysis.trace import as_compiled
from cudamm.compile.merged_accesses import merged_lines
from cudamm.compile.program import program
from cudamm.compile.toolkit import find_ncu, find_nvcc
from cudamm.devices.device import padded
from cudamm.devices.find_device import host
from cudamm.devices.observe import observe
from cudamm.errors import RequirementError
from cudamm.kernels.header import read_method
from cudamm.kernels.ladder import find, ladder
from cudamm.kernels.launch_plan import plan
from cudamm.kernels.method import ELEMENT_TYPES, Method
from cudamm.kernels.problem import Problem, parse_shape
from cudamm.kernels.variant import Variant, variants

ARCH = "sm_90"
SIZES = ("256", "100x136x72")
COPIES_AT = ("64x132x100", "45x77x33")
BLOCK_SIZES = (16, 32)
VECTORS = Path(__file__).parents[1] / "tests" / "example_kernels" / "vector_columns.cu"
MOST_FLOPS = 10**9
"""Maximum number of operations of a problem whose blocks are all traced. Of a larger problem only one row of
blocks is traced: its blocks are all alike."""

COUNTERS = {
    "load requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "load sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "store requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "store sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared load requests": "smsp__inst_executed_op_shared_ld.sum",
    "shared load wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared load conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared store requests": "smsp__inst_executed_op_shared_st.sum",
    "shared store wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared store conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}

BY_INSTRUCTION = {
    "shared load wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store wavefronts": "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
"""Counters that ncu computes from each instruction's addresses, without waits; not every ncu has them."""

COPIES = "copy requests"
PREDICATED_OFF = "the counter includes instructions that are predicated off for a whole warp"
WAITED = "the counter includes cycles lost to other traffic of L1"

Counts = dict[str, int]


def main() -> None:
    """Count accesses with ncu or read the counts, compare them with the CPU device's, and print."""
    options = argparse.ArgumentParser()
    options.add_argument("--counted", type=Path)
    options.add_argument("--keep", type=Path)
    options.add_argument("--only", default="")
    options.add_argument("--also", type=re.compile)
    options.add_argument("--launch", action="store_true")
    given = options.parse_args()
    if given.launch:
        _launch(given.only)
        return
    document = json.loads(given.counted.read_text()) if given.counted else _counted(given.only, given.also)
    if given.keep:
        _keep(document, given.keep)
    print(
        f"{document['device']}, driver {document['driver']}, CUDA {document['cuda']}, {document['date']}: "
        "requests, sectors, wavefronts and conflicts by Nsight Compute, compared with those of the CPU device"
    )
    equal = 0
    for row in document["rows"]:
        variant, problem = _case(row)
        different, left_out = compare(row, counts(variant, problem))
        equal += not different and not left_out
        remarks = [*different, *(f"{name} left out: {why}" for name, why in left_out.items())]
        print(f"{variant} at {row['size']}: {'; '.join(remarks) or 'equal'}")
    print(f"{equal} of {len(document['rows'])} kernels have all {len(COUNTERS)} counts equal")


def compare(row: dict[str, Any], seen: Counts) -> tuple[list[str], dict[str, str]]:
    """Compare the CPU device's counts with those of ncu.

    Returns:
        The differences in words, and the reason for each counter that is left out.
    """
    by_instruction: Counts = row.get("by_instruction", {})
    different: list[str] = []
    left_out: dict[str, str] = {}
    waits = ("shared store wavefronts", "shared store conflicts")
    without_waits = row["counts"][waits[0]] - row["counts"][waits[1]]
    for name, counted in row["counts"].items():
        is_higher = name.startswith("shared") and counted > seen[name]
        if seen[name] == counted or (is_higher and seen[name] == by_instruction.get(name)):
            continue
        if is_higher and name.endswith("requests") and seen[COPIES]:
            left_out[name] = PREDICATED_OFF
        elif is_higher and name in waits and seen[waits[0]] - seen[waits[1]] == without_waits:
            left_out[name] = WAITED
        else:
            different.append(f"{name} {seen[name]:,} (ncu {counted:,})")
    return different, left_out


def counts(variant: Variant, problem: Problem) -> Counts:
    """Return the CPU device's counts, by the names of `COUNTERS`, and the requests of copies by cp.async."""
    source, launch = program(variant, problem.element, True), plan(variant, problem.shape, problem.element)
    lines = merged_lines(source, ARCH)
    rows = launch.grid[1]
    is_partial = problem.shape.flops > MOST_FLOPS
    blocks = range(launch.grid[0]) if is_partial else None
    observed = observe(source, launch, *padded(launch, *problem.inputs), blocks=blocks)
    totals = dict.fromkeys([*COUNTERS, COPIES], 0)
    for access in as_compiled(observed.accesses, lines):
        if access.op == "atomic":
            continue  # ncu counts atomics neither as loads nor as stores
        if access.space == "global":
            totals[f"{access.op} requests"] += access.requests
            totals[f"{access.op} sectors"] += access.sectors
        elif access.by_copy:
            totals[COPIES] += access.requests  # ncu does not count copies as stores
        else:
            totals[f"shared {access.op} requests"] += access.requests
            totals[f"shared {access.op} wavefronts"] += access.wavefronts
            totals[f"shared {access.op} conflicts"] += access.wavefronts - access.ideal_wavefronts
    return {name: value * rows if is_partial else value for name, value in totals.items()}


def _cases(only: str) -> list[dict[str, Any]]:
    """Return the cases of the methods named in `only`, with commas; if empty, of all for both devices."""
    cpu = host()
    rows: list[dict[str, Any]] = [
        {"method": method.name, "params": variant.params, "size": size}
        for size in SIZES
        for method in ladder()
        if method.language == "cuda" and not cpu.lacks(method)
        for variant in _two_variants(method)
    ]
    rows.append({"method": "naive", "params": {"BLOCK_SIZE": 16}, "size": "1024"})
    smallest = _two_variants(find("async-copy"))[-1].params
    rows += [{"method": "async-copy", "params": smallest, "size": size} for size in COPIES_AT]
    rows.append({"method": "vector-columns", "params": {"W": 4, "BLOCK_SIZE": 16}, "size": "256"})
    return [row for row in rows if not only or row["method"] in only.split(",")]


def _two_variants(method: Method) -> list[Variant]:
    """Return a method at two block sizes; without a block size, at its defaults and its smallest parameters.

    The smallest parameters are the first combination of the header's values, in their order, that meets the
    header's requirements.
    """
    if any(parameter.name == "BLOCK_SIZE" for parameter in method.parameters):
        return variants(method, {"BLOCK_SIZE": BLOCK_SIZES})
    all_variants = variants(method, {parameter.name: parameter.values for parameter in method.parameters})
    return list(dict.fromkeys([*variants(method, {}), next(filter(_is_accepted, all_variants))]))


def _is_accepted(variant: Variant) -> bool:
    """Return whether the parameters meet the header's requirements at every size."""
    try:
        for size in SIZES:
            shape = parse_shape(size)
            variant.padded(ELEMENT_TYPES["float32"], shape.m, shape.n, shape.k)
    except RequirementError:
        return False
    return True


def _case(row: dict[str, Any]) -> tuple[Variant, Problem]:
    method = read_method(VECTORS) if row["method"] == "vector-columns" else find(row["method"])
    (variant,) = variants(method, {name: (value,) for name, value in row["params"].items()})
    return variant, Problem(parse_shape(row["size"]), ELEMENT_TYPES["float32"])


def _launch(only: str) -> None:
    """Verify each case, then launch it once more while ncu profiles."""
    from cudamm.analysis.profiled_process import profiled
    from cudamm.devices.find_device import find_gpu
    from cudamm.execution.in_process_executor import InProcessExecutor
    from cudamm.execution.prepare import prepare

    with find_gpu() as device, InProcessExecutor(device) as executor:
        chosen = [_case(row) for row in _cases(only)]
        for case in prepare(executor, chosen, True, lambda *_: None, verified=True):
            if not executor.verify(case, thorough=False).correct:
                sys.exit(f"{case.variant} is wrong")
            with executor.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()


def _counted(only: str, also: re.Pattern[str] | None) -> dict[str, Any]:
    """Return ncu's counts of every case, with device, versions and date."""
    from cudamm.analysis.profile import parse_ncu
    from cudamm.devices.find_device import find_gpu

    ncu = find_ncu(find_nvcc())
    if ncu is None:
        sys.exit("ncu was not found: install Nsight Compute, or read earlier counts with --counted FILE.json")
    available = _available(ncu)
    exact = {name: raw for name, raw in BY_INSTRUCTION.items() if raw in available}
    others = sorted(raw for raw in available if also and also.search(raw))
    metrics = list(dict.fromkeys([*COUNTERS.values(), *exact.values(), *others]))
    command = [str(ncu), "--csv", "--page", "raw", "--profile-from-start", "off", "--target-processes", "all"]
    command += ["--metrics", ",".join(metrics), sys.executable, __file__, "--launch", "--only", only]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kernels, rows = parse_ncu(done.stdout), _cases(only)
    if len(kernels) != len(rows):
        sys.exit(
            f"ncu profiled {len(kernels)} of {len(rows)} kernels: {done.stdout[-500:]}{done.stderr[-500:]}"
        )
    for row, counted in zip(rows, kernels, strict=True):
        row["counts"] = {name: int(counted.get(raw, (0.0, ""))[0]) for name, raw in COUNTERS.items()}
        row["by_instruction"] = {name: int(counted[raw][0]) for name, raw in exact.items() if raw in counted}
        if others:
            row["also"] = {raw: counted[raw][0] for raw in others if raw in counted and counted[raw][0]}
    with find_gpu() as device:
        properties = device.info.properties
        return {"device": device.info.name, "driver": properties["driver"], "cuda": properties["driver_cuda"],
                "date": str(datetime.date.today()), "rows": rows}  # fmt: skip


def _available(ncu: Path) -> set[str]:
    """Return the counters that ncu has for this machine's GPU, as sums."""
    listed = subprocess.run([str(ncu), "--query-metrics"], capture_output=True, text=True, check=False).stdout
    return {
        f"{name}.sum" for name in re.findall(r"^(\w+__\w+)\s+(?!Ratio|Throughput)\S", listed, re.MULTILINE)
    }


def _keep(document: dict[str, Any], path: Path) -> None:
    """Write the counts to a file, one kernel per line."""
    head = json.dumps({name: value for name, value in document.items() if name != "rows"})
    lines = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    path.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
