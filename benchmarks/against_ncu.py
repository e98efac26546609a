"""What the CPU device sees of a kernel's accesses to memory, held against Nsight Compute's counters.

python benchmarks/against_ncu.py                       on a GPU, with ncu: counts there, then compares
python benchmarks/against_ncu.py --counted FILE.json   compares with what was counted before
python benchmarks/against_ncu.py --keep FILE.json      on a GPU: keeps what was counted

Every method that runs on both, at two block sizes, or where it has no block size at its defaults and at the
smallest parameters that its header allows, and at two problem sizes, one of which nothing divides; the
uncoalesced kernel at n = 1024; and a kernel with vector accesses. Requests, sectors, wavefronts and conflicts
have to be equal, each counter of each kernel. Where nvcc merges reads of shared memory into wide ones, which
its machine code says, they are merged here too; that needs nvcc and nvdisasm.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from cudamm.catalog import ELEMENT_TYPES, Method, Variant, find, ladder, read_method, variants
from cudamm.compile import program
from cudamm.compile.toolkit import find_ncu, find_nvcc
from cudamm.compile.widths import wide_lines
from cudamm.devices.device import padded
from cudamm.devices.observing import observe
from cudamm.errors import RequirementError
from cudamm.launch import plan
from cudamm.problem import Problem, parse_shape

ARCH = "sm_90"
SIZES = ("256", "100x136x72")
BLOCK_SIZES = (16, 32)
VECTORS = Path(__file__).parents[1] / "tests" / "kernels" / "vector_columns.cu"
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

Counts = dict[str, int]


def main() -> None:
    """Count or read, compare, print."""
    options = argparse.ArgumentParser()
    options.add_argument("--counted", type=Path)
    options.add_argument("--keep", type=Path)
    options.add_argument("--launch", action="store_true")
    given = options.parse_args()
    if given.launch:
        _launch()
        return
    document = json.loads(given.counted.read_text()) if given.counted else _counted()
    if given.keep:
        _keep(document, given.keep)
    print(
        f"{document['device']}, driver {document['driver']}, CUDA {document['cuda']}, {document['date']}: "
        "requests, sectors, wavefronts and conflicts by Nsight Compute, and where the CPU device differs"
    )
    equal = 0
    for row in document["rows"]:
        variant, problem = _case(row)
        seen = counts(variant, problem)
        different = [f"{name} {seen[name]:,} (ncu {of:,})" for name, of in row["counts"].items()
                     if seen[name] != of]  # fmt: skip
        equal += not different
        print(f"{variant} at {row['size']}: {'; '.join(different) or 'equal'}")
    print(f"{equal} of {len(document['rows'])} kernels have all {len(COUNTERS)} counts equal")


def counts(variant: Variant, problem: Problem) -> Counts:
    """What the CPU device sees, by the names of `COUNTERS`."""
    source, launch = program(variant, problem.element, True), plan(variant, problem.shape, problem.element)
    wide = wide_lines(source, ARCH)
    rows = launch.grid[1]
    in_part = problem.shape.flops > MOST_FLOPS
    blocks = range(launch.grid[0]) if in_part else None
    seen = observe(source, launch, *padded(launch, *problem.inputs), blocks=blocks)
    found = dict.fromkeys(COUNTERS, 0)
    for access in seen.accesses:
        if access.space == "global":
            found[f"{access.op} requests"] += access.requests
            found[f"{access.op} sectors"] += access.sectors
            continue
        merged = access.op == "load" and access.line in wide
        wavefronts = access.wide_wavefronts if merged else access.wavefronts
        least = access.wide_ideal_wavefronts if merged else access.ideal_wavefronts
        found[f"shared {access.op} requests"] += access.wide_requests if merged else access.requests
        found[f"shared {access.op} wavefronts"] += wavefronts
        found[f"shared {access.op} conflicts"] += wavefronts - least
    return {name: value * rows if in_part else value for name, value in found.items()}


def _cases() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {"method": method.name, "params": variant.params, "size": size}
        for size in SIZES
        for method in ladder()
        if method.language == "cuda"
        for variant in _two_variants(method)
    ]
    rows.append({"method": "naive", "params": {"BLOCK_SIZE": 16}, "size": "1024"})
    rows.append({"method": "vector-columns", "params": {"W": 4, "BLOCK_SIZE": 16}, "size": "256"})
    return rows


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


def _launch() -> None:
    """Verify each case, then launch it once more where ncu looks."""
    from cudamm.devices.find import find_gpu
    from cudamm.here import Here
    from cudamm.launches import profiled
    from cudamm.prepare import prepare

    with find_gpu() as device, Here(device) as here:
        for case in prepare(here, [_case(row) for row in _cases()], True, lambda *_: None):
            if not here.verify(case, thread_order=False).correct:
                sys.exit(f"{case.variant} is wrong")
            with here.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()


def _counted() -> dict[str, Any]:
    """Every case's counters, by ncu."""
    from cudamm.devices.find import find_gpu
    from cudamm.profile import parse_ncu

    ncu = find_ncu(find_nvcc())
    if ncu is None:
        sys.exit("ncu was not found; --counted compares with what was counted before")
    command = [str(ncu), "--csv", "--page", "raw", "--profile-from-start", "off", "--target-processes", "all"]
    command += ["--metrics", ",".join(COUNTERS.values()), sys.executable, __file__, "--launch"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    kernels, rows = parse_ncu(done.stdout), _cases()
    if len(kernels) != len(rows):
        sys.exit(
            f"ncu profiled {len(kernels)} of {len(rows)} kernels: {done.stdout[-500:]}{done.stderr[-500:]}"
        )
    for row, counted in zip(rows, kernels, strict=True):
        row["counts"] = {name: int(counted.get(raw, (0.0, ""))[0]) for name, raw in COUNTERS.items()}
    with find_gpu() as device:
        of = device.info.properties
        return {"device": device.info.name, "driver": of["driver"], "cuda": of["driver_cuda"],
                "date": str(datetime.date.today()), "rows": rows}  # fmt: skip


def _keep(document: dict[str, Any], path: Path) -> None:
    """Write a kernel a line."""
    head = json.dumps({name: value for name, value in document.items() if name != "rows"})
    lines = ",\n".join(f"  {json.dumps(row)}" for row in document["rows"])
    path.write_text(f'{head[:-1]}, "rows": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
