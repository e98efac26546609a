"""The process that Nsight Compute watches: verifies one case, which warms up, then launches it once more.

Started by ncu, on behalf of `profile` alone:

    python -m cudamm.analysis.profiled_process CASE OUTCOME SECONDS

CASE and OUTCOME are files of `watched.answer`: a `Case`, and what `outcome` returned. Only the last
launch lies between cuProfilerStart and cuProfilerStop, and ncu is told to look nowhere else: cudamm's own
kernels, which judge products and guards, are none that anybody asked about.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from cudamm.devices import find_device
from cudamm.devices.device import Device
from cudamm.errors import CudammError, KernelError
from cudamm.execution.case import Case, Verdict
from cudamm.execution.in_process import InProcessExecutor
from cudamm.execution.under_tool import answer


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """What is launched on the GPU meanwhile is profiled."""
    from cudamm.devices.gpu_device import import_driver

    driver = import_driver()
    driver.start_profiler()
    try:
        yield
    finally:
        driver.stop_profiler()


def launch(device: Device[Any], case: Case) -> Verdict:
    """Verify a case, and launch it once more, profiled, if it is right.

    Raises:
        KernelError: it cannot be launched, or it crashed.
    """
    here = InProcessExecutor(device)
    with here:
        verdict = here.verify(case, thread_order=False)
        if verdict.correct:
            with here.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()
    return verdict


def outcome(case: Case) -> Verdict | CudammError:
    """What came of a case on its device."""
    try:
        with find_device.find(case.target.info.spec) as device:
            return launch(device, case)
    except KernelError as error:
        return KernelError(str(error))
    except CudammError as error:
        return error
    except MemoryError:
        return KernelError("out of memory: a smaller size would do")


if __name__ == "__main__":
    answer(sys.argv[1:], outcome)
