"""What the CPU device sees of a kernel's accesses to memory, held against Nsight Compute's counters.

python benchmarks/against_ncu.py                       on a GPU, with ncu: counts there, then compares
python benchmarks/against_ncu.py --counted FILE.json   compares with what was counted before
python benchmarks/against_ncu.py --keep FILE.json      on a GPU: keeps what was counted
    --only NAME,NAME    of these methods alone
    --also REGEX        counts what else ncu has by such names, and keeps it: to find out what a rule is

Every method that runs on both, at two block sizes, or where it has no block size at its defaults and at the
smallest parameters that its header allows, and at two problem sizes, one of which nothing divides; the
uncoalesced kernel at n = 1024; asynchronous copies from rows that begin in the middle of a sector, and of
4 bytes each; and a kernel with vector accesses. Requests, sectors, wavefronts and conflicts have to be equal,
each counter of each kernel. Where nvcc merges accesses to shared memory into wide ones, or unrolls a loop of
stores, which its machine code says, that is done here too; it needs nvcc and nvdisasm.

The hardware's counters of shared memory have more in them than accesses: instructions that are predicated off
for all threads of a warp, and cycles lost to other traffic. Where one is higher than what is seen here, ncu's
own count of the same by instruction and address decides, if it is in the file. If it is not, the counter is
left out for that reason, which is printed.
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
"""Of a problem whose blocks are all traced; of a larger one, whose blocks are all alike, one row of them."""

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
"""Worked out by ncu for each instruction, from its addresses, so without waits; an ncu may not have them."""

COPIES = "copy requests"
PREDICATED_OFF = "it has instructions predicated off for a whole warp, which the counter counts"
WAITED = "the counter has cycles lost to other traffic of L1"

Counts = dict[str, int]


def main() -> None:
    """Count or read, compare, print."""
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
        "requests, sectors, wavefronts and conflicts by Nsight Compute, and where the CPU device differs"
    )
    equal = 0
    for row in document["rows"]:
        variant, problem = _case(row)
        different, left_out = compare(row, counts(variant, problem))
        equal += not different and not left_out
        said = [*different, *(f"{name} left out: {why}" for name, why in left_out.items())]
        print(f"{variant} at {row['size']}: {'; '.join(said) or 'equal'}")
    print(f"{equal} of {len(document['rows'])} kernels have all {len(COUNTERS)} counts equal")


def compare(row: dict[str, Any], seen: Counts) -> tuple[list[str], dict[str, str]]:
    """Where what is seen differs from what ncu counted, in words; and counters left out, with the reason."""
    by_instruction: Counts = row.get("by_instruction", {})
    different: list[str] = []
    left_out: dict[str, str] = {}
    waits = ("shared store wavefronts", "shared store conflicts")
    without_waits = row["counts"][waits[0]] - row["counts"][waits[1]]
    for name, of in row["counts"].items():
        more = name.startswith("shared") and of > seen[name]
        if seen[name] == of or (more and seen[name] == by_instruction.get(name)):
            continue
        if more and name.endswith("requests") and seen[COPIES]:
            left_out[name] = PREDICATED_OFF
        elif more and name in waits and seen[waits[0]] - seen[waits[1]] == without_waits:
            left_out[name] = WAITED
        else:
            different.append(f"{name} {seen[name]:,} (ncu {of:,})")
    return different, left_out


def counts(variant: Variant, problem: Problem) -> Counts:
    """What the CPU device sees, by the names of `COUNTERS`; and the requests of copies by cp.async."""
    source, launch = program(variant, problem.element, True), plan(variant, problem.shape, problem.element)
    lines = merged_lines(source, ARCH)
    rows = launch.grid[1]
    in_part = problem.shape.flops > MOST_FLOPS
    blocks = range(launch.grid[0]) if in_part else None
    seen = observe(source, launch, *padded(launch, *problem.inputs), blocks=blocks)
    found = dict.fromkeys([*COUNTERS, COPIES], 0)
    for access in (as_compiled(access, lines) for access in seen.accesses):
        if access.op == "atomic":
            continue  # neither loads nor stores to ncu
        if access.space == "global":
            found[f"{access.op} requests"] += access.requests
            found[f"{access.op} sectors"] += access.sectors
        elif access.by_copy:
            found[COPIES] += access.requests  # no stores to ncu either
        else:
            found[f"shared {access.op} requests"] += access.requests
            found[f"shared {access.op} wavefronts"] += access.wavefronts
            found[f"shared {access.op} conflicts"] += access.wavefronts - access.ideal_wavefronts
    return {name: value * rows if in_part else value for name, value in found.items()}


def _cases(only: str) -> list[dict[str, Any]]:
    """Those of some methods, named with commas between, or of all that run here too."""
    here = host()
    rows: list[dict[str, Any]] = [
        {"method": method.name, "params": variant.params, "size": size}
        for size in SIZES
        for method in ladder()
        if method.language == "cuda" and not here.lacks(method)
        for variant in _two_variants(method)
    ]
    rows.append({"method": "naive", "params": {"BLOCK_SIZE": 16}, "size": "1024"})
    smallest = _two_variants(find("async-copy"))[-1].params
    rows += [{"method": "async-copy", "params": smallest, "size": size} for size in COPIES_AT]
    rows.append({"method": "vector-columns", "params": {"W": 4, "BLOCK_SIZE": 16}, "size": "256"})
    return [row for row in rows if not only or row["method"] in only.split(",")]


def _two_variants(method: Method) -> list[Variant]:
    """A method at both block sizes; one without a block size at its defaults, and at the smallest parameters.

    Those are the first combination of values worth sweeping, in their order, that the header accepts.
    """
    if any(parameter.name == "BLOCK_SIZE" for parameter in method.parameters):
        return variants(method, {"BLOCK_SIZE": BLOCK_SIZES})
    every = variants(method, {parameter.name: parameter.values for parameter in method.parameters})
    return list(dict.fromkeys([*variants(method, {}), next(filter(_is_accepted, every))]))


def _is_accepted(variant: Variant) -> bool:
    """Whether the header's requirements hold for the parameters at every size."""
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
    """Verify each case, then launch it once more where ncu looks."""
    from cudamm.analysis.profiled_process import profiled
    from cudamm.devices.find_device import find_gpu
    from cudamm.execution.in_process_executor import InProcessExecutor
    from cudamm.execution.prepare import prepare

    with find_gpu() as device, InProcessExecutor(device) as here:
        for case in prepare(here, [_case(row) for row in _cases(only)], True, lambda *_: None):
            if not here.verify(case, thread_order=False).correct:
                sys.exit(f"{case.variant} is wrong")
            with here.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()


def _counted(only: str, also: re.Pattern[str] | None) -> dict[str, Any]:
    """Every case's counters, by ncu."""
    from cudamm.analysis.profile import parse_ncu
    from cudamm.devices.find_device import find_gpu

    ncu = find_ncu(find_nvcc())
    if ncu is None:
        sys.exit("ncu was not found; --counted compares with what was counted before")
    offered = _offered(ncu)
    exact = {name: raw for name, raw in BY_INSTRUCTION.items() if raw in offered}
    others = sorted(raw for raw in offered if also and also.search(raw))
    asked = list(dict.fromkeys([*COUNTERS.values(), *exact.values(), *others]))
    command = [str(ncu), "--csv", "--page", "raw", "--profile-from-start", "off", "--target-processes", "all"]
    command += ["--metrics", ",".join(asked), sys.executable, __file__, "--launch", "--only", only]
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
        of = device.info.properties
        return {"device": device.info.name, "driver": of["driver"], "cuda": of["driver_cuda"],
                "date": str(datetime.date.today()), "rows": rows}  # fmt: skip


def _offered(ncu: Path) -> set[str]:
    """The counters that this ncu has for the GPU here, as sums."""
    listed = subprocess.run([str(ncu), "--query-metrics"], capture_output=True, text=True, check=False).stdout
    return {
        f"{name}.sum" for name in re.findall(r"^(\w+__\w+)\s+(?!Ratio|Throughput)\S", listed, re.MULTILINE)
    }


def _keep(document: dict[str, Any], path: Path) -> None:
    """Write a kernel a line."""
    head = json.dumps({name: value for name, value in document.items() if name != "rows"})
    lines = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    path.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
