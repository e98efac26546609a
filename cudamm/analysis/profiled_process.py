"""The process that Nsight Compute profiles: it verifies one case as a warm-up, then launches it once more.

Only `profile` has ncu start this process:

    python -m cudamm.analysis.profiled_process CASE ANSWER SECONDS

CASE and ANSWER are files of `under_tool`. ncu profiles only the last launch, which lies between
cuProfilerStart and cuProfilerStop, and not cudamm's own kernels, which verify products and guards.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from cudamm.devices import find_device
from cudamm.execution.case import Case, Verdict
from cudamm.execution.in_process_executor import InProcessExecutor
from cudamm.execution.under_tool import answer_case


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """Profile all launches on the GPU inside the `with` block."""
    from cudamm.devices.gpu_device import import_driver

    driver = import_driver()
    driver.start_profiler()
    try:
        yield
    finally:
        driver.stop_profiler()


def verify_then_profile(case: Case) -> Verdict:
    """Verify a case on its device; if its product is right, launch it once more and profile that launch.

    Raises:
        CudammError: the case cannot be launched, or the launch failed.
    """
    with find_device.find(case.target.info.spec) as device, InProcessExecutor(device) as executor:
        verdict = executor.verify(case, thorough=False)
        if verdict.correct:
            with executor.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()
    return verdict


if __name__ == "__main__":
    answer_case(sys.argv[1:], verify_then_profile)
