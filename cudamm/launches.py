"""The process that Nsight Compute watches: verifies one case, which warms up, then launches it once more.

Started by ncu, on behalf of `profile` alone: python -m cudamm.launches CASE OUTCOME SECONDS

CASE and OUTCOME are files of `watched.answer`: a `Prepared`, and what `outcome` returned. Only the last
launch lies between cuProfilerStart and cuProfilerStop, and ncu is told to look nowhere else: cudamm's own
kernels, which judge products and guards, are none that anybody asked about.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from cudamm import devices
from cudamm.devices import Device
from cudamm.errors import CudammError, KernelError
from cudamm.here import Here
from cudamm.prepare import Prepared
from cudamm.results import Verdict
from cudamm.watched import answer


@contextlib.contextmanager
def profiled() -> Iterator[None]:
    """What is launched on the GPU meanwhile is profiled."""
    from cudamm.devices.gpu import import_driver

    driver = import_driver()
    driver.start_profiler()
    try:
        yield
    finally:
        driver.stop_profiler()


def launch(device: Device[Any], case: Prepared) -> Verdict:
    """Verify a case, and launch it once more, profiled, if it is right.

    Raises:
        KernelError: it cannot be launched, or it crashed.
    """
    here = Here(device)
    with here:
        verdict = here.verify(case, thread_order=False)
        if verdict.correct:
            with here.open(case) as run:
                run.fill_output()
                with profiled():
                    run.launch()
    return verdict


def outcome(case: Prepared) -> Verdict | CudammError:
    """What came of a case on its device."""
    try:
        with devices.find(case.target.info.spec) as device:
            return launch(device, case)
    except KernelError as error:
        return KernelError(str(error))
    except CudammError as error:
        return error
    except MemoryError:
        return KernelError("out of memory: a smaller size would do")


if __name__ == "__main__":
    answer(sys.argv[1:], outcome)
