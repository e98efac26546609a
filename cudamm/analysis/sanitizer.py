"""Runs of NVIDIA's compute-sanitizer on a kernel, and the process that compute-sanitizer watches.

Only `check` has compute-sanitizer start this process, which needs a GPU:

    python -m cudamm.analysis.sanitizer CASE ANSWER SECONDS

CASE and ANSWER are files of `under_tool`. The process compiles the kernel with -lineinfo, so that the tools
can name lines, and launches it once.
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
from cudamm.source.c_text import function_of

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""Tools, each run on its own: invalid accesses, races in shared memory, unwritten memory, barriers."""

WHERE_TO_GET_IT = (
    "compute-sanitizer was not found: install the CUDA toolkit, which contains it (apt: "
    "cuda-sanitizer-VERSION; conda: nvidia::cuda-sanitizer-api), or run cudamm check without --with: it "
    "executes the kernel on the processor"
)

PADDING_BYTES = 1 << 20
"""Size of the memory behind each matrix that no kernel may access, in bytes."""

MOST_MESSAGES = 3
"""Maximum number of messages that are kept of a tool, which repeats a message for every thread."""

_FOUND = re.compile(
    r"^={9} (?:(?:Error|Warning): )?((?:Invalid|Misaligned|Uninitialized|Race reported|Potential|"
    r"Barrier error|Divergent|Program hit|Out-of-range|Address|Stack overflow|Leaked|Unused|"
    r"Host API|Cluster)[^\n]*)"
    r"((?:\n={9} (?: {4}|and )[^\n]*)*)",
    re.MULTILINE,
)
# For racecheck the pattern counts errors, not warnings. A second ERROR SUMMARY line, which the pattern does
# not match, counts the errors that were not printed.
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
    """The verdict of one tool of compute-sanitizer.

    Attributes:
        errors: number of errors that the tool reported.
        messages: the first different messages, a line each.
        failed: why the tool gave no verdict; empty if it did.
    """

    tool: str
    size: str
    errors: int = 0
    messages: tuple[str, ...] = ()
    failed: str = ""


def find_compute_sanitizer(nvcc: Path | None = None) -> Path:
    """Return the path of compute-sanitizer: on PATH, beside `nvcc`, or in a toolkit known to `find_nvcc`.

    Raises:
        NoDeviceError: compute-sanitizer was not found.
    """
    on_path = shutil.which("compute-sanitizer")
    if on_path is not None:
        return Path(on_path).absolute()
    nvcc = nvcc or find_nvcc()
    roots = ([] if nvcc is None else [toolkit_root(nvcc)]) + [*toolkit_roots(), *wheel_roots(None)]
    for root in roots:
        for path in (root / "bin" / "compute-sanitizer", root / "compute-sanitizer" / "compute-sanitizer"):
            if path.is_file() and os.access(path, os.X_OK):
                return path
    raise NoDeviceError(WHERE_TO_GET_IT)


def sanitizing(
    sanitizer: Path, executor: Executor, fmad: bool, timeout_s: float
) -> Callable[[Variant, Problem], tuple[ToolVerdict, ...]]:
    """Return a function that runs all tools on a variant and a problem.

    Args:
        executor: an executor on a GPU, used for planning only; it launches nothing.
    """

    def run_tools(variant: Variant, problem: Problem) -> tuple[ToolVerdict, ...]:
        try:
            (case,) = plan_all(executor, [(variant, problem)], fmad, verified=False, each_may_fail=True)
        except CudammError as error:
            return (ToolVerdict(TOOLS[0], str(problem.shape), failed=str(error)),)
        if case.launch is None:
            reason = case.skipped or str(case.compiled)
            return (ToolVerdict(TOOLS[0], str(problem.shape), failed=reason),)
        return sanitized(sanitizer, case, timeout_s)

    return run_tools


def sanitized(
    sanitizer: Path, case: Case, timeout_s: float, tools: Iterable[str] = TOOLS
) -> tuple[ToolVerdict, ...]:
    """Return the verdict of each tool on a case planned for a GPU.

    Args:
        timeout_s: maximum duration of each tool in seconds.

    Raises:
        NoDeviceError: compute-sanitizer cannot be run on this machine.
    """
    return tuple(_verdict(sanitizer, tool, case, timeout_s) for tool in tools)


def parse(tool: str, size: str, printed: str) -> ToolVerdict | None:
    """Return the verdict in a tool's output; None if the output has no summary."""
    summary = _SUMMARY.search(printed)
    if summary is None:
        return None
    messages = (" ".join(_one_line(*found)) for found in _FOUND.findall(printed))
    return ToolVerdict(
        tool, size, int(summary[1] or summary[2]), tuple(dict.fromkeys(messages))[:MOST_MESSAGES]
    )


def _one_line(first: str, details: str) -> list[str]:
    """Return the parts of a message, without the host's call stack, which contains only cudamm."""
    lines = [line.removeprefix("=========").strip() for line in details.splitlines()]
    parts = []
    for line in lines:
        if line.startswith(("Saved host backtrace", "Host Frame", "Device Frame")) or re.match(
            r"#\d+ ", line
        ):
            break
        if line:
            parts.append(re.sub(r"\+0x[0-9a-f]+", "", line))
    return [re.sub(r"\+0x[0-9a-f]+", "", first), *parts]


def _verdict(sanitizer: Path, tool: str, case: Case, timeout_s: float) -> ToolVerdict:
    size = str(case.problem.shape)
    options = ["--tool", tool, "--target-processes", "all"]
    options += ["--kernel-name", f"kernel_substring={function_of(case.program.method.entry)}"]
    if tool == "memcheck":  # without padding, an index far past one matrix would be inside the next one
        options += ["--padding", str(PADDING_BYTES)]
    ended = run_under(sanitizer, options, "cudamm.analysis.sanitizer", case, timeout_s)
    if ended is None:
        return ToolVerdict(tool, size, failed=f"no answer within {timeout_s:g} s (--timeout)")
    printed = f"{ended.stdout}\n{ended.stderr}"
    unusable = _UNUSABLE.search(printed)
    verdict = parse(tool, size, printed)
    if isinstance(ended.error, NoDeviceError):
        raise ended.error
    if verdict is not None and (verdict.errors or not (ended.error or unusable)):
        return verdict
    if ended.error:
        return ToolVerdict(tool, size, failed=str(ended.error))
    if unusable:
        raise NoDeviceError(f"{sanitizer} cannot be used on this machine: {unusable[0].strip('= ')}")
    end = f"killed by {signal_name(-ended.status)}" if ended.status < 0 else "no summary"
    lines = [line.strip() for line in printed.splitlines() if line.strip("= ")]
    last_line = lines[-1].strip("= ") if lines else "it printed nothing"
    return ToolVerdict(tool, size, failed=f"{last_line} ({end})")


def launch_once(case: Case) -> None:
    """Compile a case with line information and launch it once on its device.

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
