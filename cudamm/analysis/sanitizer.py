"""Asks NVIDIA's compute-sanitizer about a kernel, on a GPU; and the process that it watches.

Started by compute-sanitizer, on behalf of `check` alone:

    python -m cudamm.analysis.sanitizer CASE ANSWER SECONDS

CASE and ANSWER are files of `under_tool`. The kernel is compiled with -lineinfo there, so that the tools can
name lines, and launched once.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from cudamm.compile.toolkit import find_nvcc, toolkit_root, toolkit_roots, wheel_roots
from cudamm.errors import CudammError, KernelError, NoDeviceError, signal_name
from cudamm.execution.case import Case
from cudamm.execution.executor import Executor
from cudamm.execution.prepare import plan_all
from cudamm.execution.under_tool import answer_case, run_under
from cudamm.kernels.problem import Problem
from cudamm.kernels.variant import Variant

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""Each a run of its own: memory, shared memory's races, unwritten memory, barriers."""

WHERE_TO_GET_IT = (
    "compute-sanitizer was not found: it is part of the CUDA toolkit (apt: cuda-sanitizer-VERSION; conda: "
    "nvidia::cuda-sanitizer-api); without it, cudamm check executes the kernel on the processor"
)

PADDING_BYTES = 1 << 20
"""Behind each matrix, of memory that nothing may touch."""

MOST_MESSAGES = 3
"""Of a tool that are kept; it says the same of every thread."""

_FOUND = re.compile(
    r"^={9} (?:(?:Error|Warning): )?((?:Invalid|Misaligned|Uninitialized|Race reported|Potential|"
    r"Barrier error|Divergent|Program hit|Out-of-range|Address|Stack overflow|Leaked|Unused|"
    r"Host API|Cluster)[^\n]*)"
    r"((?:\n={9} (?: {4}|and )[^\n]*)*)",
    re.MULTILINE,
)
# Of races the errors, not the warnings; a second line says how many were not printed.
_SUMMARY = re.compile(
    r"^={9} (?:ERROR SUMMARY: (\d+) errors?$|RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?)",
    re.MULTILINE,
)
_UNUSABLE = re.compile(
    r"^={9} (?:Error|Internal error|Target application)[:\s].*?(?:not supported|unsupported|driver|debugger|"
    r"insufficient|initializ)[^\n]*",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True)
class ToolVerdict:
    """What one of compute-sanitizer's tools found.

    Attributes:
        errors: as the tool counts them.
        messages: the first different ones, a line each.
        failed: why it could not say anything; empty where it could.
    """

    tool: str
    size: str
    errors: int = 0
    messages: tuple[str, ...] = ()
    failed: str = ""


def find_compute_sanitizer(nvcc: Path | None = None) -> Path:
    """compute-sanitizer; on PATH, beside `nvcc`, or in the toolkits that `find_nvcc` would search.

    Raises:
        NoDeviceError: there is none.
    """
    on_path = shutil.which("compute-sanitizer")
    if on_path is not None:
        return Path(on_path).absolute()
    nvcc = nvcc or find_nvcc()
    roots = ([] if nvcc is None else [toolkit_root(nvcc)]) + [*toolkit_roots(), *wheel_roots(None)]
    for root in roots:
        for found in (root / "bin" / "compute-sanitizer", root / "compute-sanitizer" / "compute-sanitizer"):
            if found.is_file() and os.access(found, os.X_OK):
                return found
    raise NoDeviceError(WHERE_TO_GET_IT)


def sanitizing(
    sanitizer: Path, executor: Executor, fmad: bool, timeout_s: float
) -> Callable[[Variant, Problem], tuple[ToolVerdict, ...]]:
    """What asks all tools about a variant on a problem.

    Args:
        executor: on a GPU; it is asked what that is, and launches nothing.
    """

    def ask(variant: Variant, problem: Problem) -> tuple[ToolVerdict, ...]:
        try:
            (case,) = plan_all(executor, [(variant, problem)], fmad, each_may_fail=True)
        except CudammError as error:
            return (ToolVerdict(TOOLS[0], str(problem.shape), failed=str(error)),)
        if case.launch is None:
            reason = case.skipped or str(case.compiled)
            return (ToolVerdict(TOOLS[0], str(problem.shape), failed=reason),)
        return sanitized(sanitizer, case, timeout_s)

    return ask


def sanitized(
    sanitizer: Path, case: Case, timeout_s: float, tools: Iterable[str] = TOOLS
) -> tuple[ToolVerdict, ...]:
    """What each tool says of a case, prepared for a GPU.

    Args:
        timeout_s: how long a tool may take.

    Raises:
        NoDeviceError: compute-sanitizer cannot be run here.
    """
    return tuple(_verdict(sanitizer, tool, case, timeout_s) for tool in tools)


def parse(tool: str, size: str, printed: str) -> ToolVerdict | None:
    """What a tool's output says; None where it does not come to its summary."""
    summary = _SUMMARY.search(printed)
    if summary is None:
        return None
    messages = (" ".join(_one_line(*found)) for found in _FOUND.findall(printed))
    return ToolVerdict(
        tool, size, int(summary[1] or summary[2]), tuple(dict.fromkeys(messages))[:MOST_MESSAGES]
    )


def _one_line(first: str, rest: str) -> list[str]:
    """A message without the host's call stack, which is ours."""
    lines = [line.removeprefix("=========").strip() for line in rest.splitlines()]
    kept = []
    for line in lines:
        if line.startswith(("Saved host backtrace", "Host Frame", "Device Frame")) or re.match(
            r"#\d+ ", line
        ):
            break
        if line:
            kept.append(re.sub(r"\+0x[0-9a-f]+", "", line))
    return [re.sub(r"\+0x[0-9a-f]+", "", first), *kept]


def _verdict(sanitizer: Path, tool: str, case: Case, timeout_s: float) -> ToolVerdict:
    size = str(case.problem.shape)
    options = ["--tool", tool, "--target-processes", "all"]
    options += ["--kernel-name", f"kernel_substring={case.program.method.entry}"]
    if tool == "memcheck":  # else an index far past one matrix is in the next, and right
        options += ["--padding", str(PADDING_BYTES)]
    ended = run_under(sanitizer, options, "cudamm.analysis.sanitizer", case, timeout_s)
    if ended is None:
        return ToolVerdict(tool, size, failed=f"no answer within {timeout_s:g} s (--timeout)")
    printed = f"{ended.stdout}\n{ended.stderr}"
    unusable = _UNUSABLE.search(printed)
    found = parse(tool, size, printed)
    if isinstance(ended.error, NoDeviceError):
        raise ended.error
    if found is not None and (found.errors or not (ended.error or unusable)):
        return found
    if ended.error:
        return ToolVerdict(tool, size, failed=str(ended.error))
    if unusable:
        raise NoDeviceError(f"{sanitizer} cannot be used here: {unusable[0].strip('= ')}")
    how = f"killed by {signal_name(-ended.status)}" if ended.status < 0 else "no summary"
    lines = [line.strip() for line in printed.splitlines() if line.strip("= ")]
    return ToolVerdict(tool, size, failed=f"{lines[-1].strip('= ') if lines else 'it said nothing'} ({how})")


def launch_once(case: Case) -> None:
    """Compile a case with line information, and launch it once on its device.

    Raises:
        CudammError: the case cannot be launched, or the launch failed.
    """
    from cudamm.devices import find_device
    from cudamm.devices.device import padded

    os.environ["NVCC_APPEND_FLAGS"] = f"{os.environ.get('NVCC_APPEND_FLAGS', '')} -lineinfo".strip()
    with find_device.find(case.target.info.spec) as device:
        if case.launch is None:
            raise KernelError(case.skipped or "there is nothing to launch")
        inputs = padded(case.launch, *case.problem.inputs)
        device.launch_watched(case.program, device.compile(case.program), case.launch, *inputs)


if __name__ == "__main__":
    answer_case(sys.argv[1:], launch_once)
